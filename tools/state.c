// SPDX-License-Identifier: GPL-2.0
/*
 * The state of the module and of the kernel, as their files tell it.
 * Reads only; a file that is missing is a fact and not an error.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "state.h"
#include "util.h"

static const char *const knobs[] = {
	"hugetext_enabled", "hugetext_pad_threshold", "hugetext_pad_rodata",
	"khugepaged/max_nr_hugetext", "khugepaged/sample_period_millisecs",
};

static void add_pair(struct state_pairs *pairs, const char *name, size_t name_length,
		     const char *value)
{
	struct state_pair *pair;

	pairs->pair = must_alloc(reallocarray(pairs->pair, pairs->nr + 1, sizeof(*pair)));
	pair = &pairs->pair[pairs->nr++];
	pair->name = must_alloc(strndup(name, name_length));
	pair->value = must_alloc(strdup(value));
}

static void free_pairs(struct state_pairs *pairs)
{
	size_t i;

	for (i = 0; i < pairs->nr; i++) {
		free(pairs->pair[i].name);
		free(pairs->pair[i].value);
	}
	free(pairs->pair);
}

static void read_knobs(struct state *state)
{
	char *value;
	size_t i;

	for (i = 0; i < sizeof(knobs) / sizeof(*knobs); i++) {
		value = sysroot_line(KNOB_DIRECTORY "/%s", knobs[i]);
		if (value)
			add_pair(&state->knobs, knobs[i], strlen(knobs[i]), value);
		free(value);
	}
	value = sysroot_line(MODULE_DIRECTORY "/parameters/rothp");
	if (value)
		add_pair(&state->knobs, "rothp", strlen("rothp"), value);
	free(value);
}

/* The word in brackets: "always [madvise] never". */
static char *chosen_word(char *line)
{
	char *open = line ? strchr(line, '[') : NULL;
	char *close = open ? strchr(open, ']') : NULL;
	char *word = close ? must_alloc(strndup(open + 1, close - open - 1)) : NULL;

	free(line);
	return word;
}

static void take_status_line(struct state *state, char *line)
{
	char *word;
	size_t length;

	if (strncmp(line, "mechanism ", 10) == 0) {
		free(state->mechanism);
		state->mechanism = must_alloc(strdup(line + 10));
	} else if (strncmp(line, "enabled_since ", 14) == 0) {
		parse_decimal(line + 14, &state->since);
	} else if (strncmp(line, "hook ", 5) == 0) {
		word = line + 5;
		length = strcspn(word, " ");
		add_pair(&state->hooks, word, length, word + length + strspn(word + length, " "));
	}
}

static void take_counter_line(struct state *state, char *line)
{
	size_t length = strcspn(line, " ");
	uint64_t value;

	if (length && line[length] && parse_decimal(line + length + 1, &value))
		add_pair(&state->counters, line, length, line + length + 1);
}

/* 0 or an errno. */
static int each_line(struct state *state, const char *path,
		     void (*take)(struct state *state, char *line))
{
	FILE *file = sysroot_open("%s", path);
	char *line = NULL;
	size_t size = 0;
	ssize_t length;

	if (!file)
		return errno;
	while ((length = getline(&line, &size, file)) > 0) {
		if (line[length - 1] == '\n')
			line[length - 1] = '\0';
		take(state, line);
	}
	free(line);
	fclose(file);
	return 0;
}

static void read_debugfs(struct state *state)
{
	int error = each_line(state, DEBUG_DIRECTORY "/hugetext/status", take_status_line);

	if (!error)
		error = each_line(state, DEBUG_DIRECTORY "/hugetext/counters", take_counter_line);
	if (!error)
		return;
	if (error == EACCES || error == EPERM)
		state->debug_trouble = "only root may read debugfs: run it as root";
	else if (error == ENOENT && !sysroot_exists(DEBUG_DIRECTORY "/hugetext"))
		state->debug_trouble =
			"debugfs is not mounted: mount -t debugfs none " DEBUG_DIRECTORY;
	else
		state->debug_trouble = error_text(error);
}

/* FileHugePages:      8192 kB */
static void take_meminfo_line(struct state *state, char *line)
{
	size_t length = strcspn(line, ":");
	char *value, *end;

	if ((length != 13 || memcmp(line, "FileHugePages", 13) != 0) &&
	    (length != 13 || memcmp(line, "FilePmdMapped", 13) != 0))
		return;
	if (!line[length])
		return;
	value = line + length + 1;
	value += strspn(value, " ");
	end = strstr(value, " kB");
	if (!end)
		return;
	*end = '\0';
	add_pair(&state->totals, line, length, value);
}

void state_read(struct state *state)
{
	memset(state, 0, sizeof(*state));
	state->kernel = sysroot_line("/proc/sys/kernel/osrelease");
	state->loaded = sysroot_exists(MODULE_DIRECTORY);
	state->version = sysroot_line(MODULE_DIRECTORY "/version");
	read_knobs(state);
	state->thp = chosen_word(sysroot_line(KNOB_DIRECTORY "/enabled"));
	if (state->loaded)
		read_debugfs(state);
	each_line(state, "/proc/meminfo", take_meminfo_line);
}

void state_free(struct state *state)
{
	free(state->kernel);
	free(state->version);
	free_pairs(&state->knobs);
	free(state->thp);
	free(state->mechanism);
	free_pairs(&state->hooks);
	free_pairs(&state->counters);
	free_pairs(&state->totals);
}

const char *state_knob(const struct state *state, const char *name)
{
	size_t i;

	for (i = 0; i < state->knobs.nr; i++)
		if (strcmp(state->knobs.pair[i].name, name) == 0)
			return state->knobs.pair[i].value;
	return NULL;
}

int state_enabled(const struct state *state)
{
	const char *knob = state_knob(state, "hugetext_enabled");
	uint64_t value;

	if (!knob || !parse_decimal(knob, &value) || value > ENABLED_MAX)
		return -1;
	return value;
}

const char *enabled_words(unsigned int value)
{
	switch (value) {
	case 0:
		return "off";
	case ENABLED_FILE:
		return "file text";
	case ENABLED_ANON:
		return ANON_NOT_SERVED;
	default:
		return "file text; " ANON_NOT_SERVED;
	}
}
