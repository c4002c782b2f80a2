// SPDX-License-Identifier: GPL-2.0
/*
 * The text of a process, run by run: its state, and the reason for it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../kmod/core/pad.h"
#include "reasons.h"
#include "text.h"
#include "util.h"

#define REGION_MASK	(HUGETEXT_REGION_SIZE - 1)

struct kernel_line {
	unsigned int pid;
	uint64_t start;
	uint64_t end;
	enum text_state state;
	const char *reason;
};

static const char *const state_words[] = {
#define STATE_WORD(name, word) [TEXT_##name] = word,
	TEXT_STATE_TABLE(STATE_WORD)
};

const char *text_state_word(enum text_state state)
{
	return state_words[state];
}

/* ---- What the module tells ---- */

static bool parse_hex(const char *string, uint64_t *value)
{
	char *end;

	if (!string || strspn(string, "0123456789abcdef") != strlen(string) || !*string)
		return false;
	errno = 0;
	*value = strtoull(string, &end, 16);
	return !errno && !*end;
}

/* pid start end state reason, and perhaps more some day. */
static bool parse_line(char *text, struct kernel_line *line)
{
	char *at = NULL, *word = strtok_r(text, " ", &at);
	uint64_t pid;
	unsigned int i;

	if (!word || !parse_decimal(word, &pid) || pid != (unsigned int)pid)
		return false;
	line->pid = pid;
	if (!parse_hex(strtok_r(NULL, " ", &at), &line->start) ||
	    !parse_hex(strtok_r(NULL, " ", &at), &line->end) || line->start >= line->end)
		return false;
	word = strtok_r(NULL, " ", &at);
	line->reason = strtok_r(NULL, " ", &at);
	if (!word || !line->reason)
		return false;
	line->state = TEXT_UNKNOWN;
	for (i = 0; i < TEXT_STATE_NR; i++)
		if (strcmp(word, state_words[i]) == 0)
			line->state = i;
	return true;
}

static char *read_all(FILE *file, int *error)
{
	size_t size = 0, room = 1 << 16;
	char *buffer = must_alloc(malloc(room));

	for (;;) {
		size += fread(buffer + size, 1, room - size - 1, file);
		if (size < room - 1)
			break;
		room *= 2;
		buffer = must_alloc(realloc(buffer, room));
	}
	*error = ferror(file) ? errno : 0;
	buffer[size] = '\0';
	return buffer;
}

void kernel_text_read(struct kernel_text *kernel)
{
	FILE *file = sysroot_open(DEBUG_DIRECTORY "/hugetext/text");
	char *line, *next;
	size_t room = 0;

	memset(kernel, 0, sizeof(*kernel));
	if (!file) {
		kernel->error = errno;
		return;
	}
	kernel->buffer = read_all(file, &kernel->error);
	fclose(file);
	/* The first line names the columns. */
	line = strchr(kernel->buffer, '\n');
	for (line = line ? line + 1 : NULL; line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (kernel->nr == room) {
			room = room ? 2 * room : 256;
			kernel->line = must_alloc(reallocarray(kernel->line, room,
							       sizeof(*kernel->line)));
		}
		if (parse_line(line, &kernel->line[kernel->nr]))
			kernel->nr++;
		else
			kernel->not_understood++;
	}
}

void kernel_text_free(struct kernel_text *kernel)
{
	free(kernel->line);
	free(kernel->buffer);
}

/* ---- Runs ---- */

static struct text_run *add(struct text *text, uint64_t start, uint64_t end, enum text_state state,
			    const char *reason, const struct text_mapping *mapping)
{
	if (start >= end)
		return NULL;
	if (!(text->nr & (text->nr - 1)))
		text->run = must_alloc(reallocarray(text->run, text->nr ? 2 * text->nr : 1,
						    sizeof(*text->run)));
	text->run[text->nr++] = (struct text_run){
		.start = start, .end = end, .state = state, .reason = reason,
		.mapping = mapping,
	};
	return &text->run[text->nr - 1];
}

/* What is certain of a whole mapping, or HUGETEXT_WHY_NR. */
static enum hugetext_why why_not_mapping(const struct smaps_mapping *mapping, bool thp_disabled)
{
	if (mapping->flags & SMAPS_SPECIAL)
		return HUGETEXT_WHY_SPECIAL;
	if (mapping->write || mapping->shared)
		return HUGETEXT_WHY_WRITABLE;
	if (strncmp(mapping->path, "/memfd:", strlen("/memfd:")) == 0)
		return HUGETEXT_WHY_ANONYMOUS_FILE;
	if (mapping->flags & SMAPS_NOHUGEPAGE)
		return HUGETEXT_WHY_NO_HUGEPAGE;
	if (thp_disabled)
		return HUGETEXT_WHY_THP_DISABLED;
	if (mapping->flags & SMAPS_USERFAULTFD)
		return HUGETEXT_WHY_USERFAULTFD;
	if (mapping->anonymous_kb)
		return HUGETEXT_WHY_PRIVATE_COPY;
	return HUGETEXT_WHY_NR;
}

static const char *certain(enum hugetext_why why)
{
	return why == HUGETEXT_WHY_NR ? REASON_UNKNOWN : reason_word(why);
}

/* The whole regions of a mapping: how many of them are huge is told, but not which. */
static void add_whole(struct text *text, const struct text_mapping *mapping, uint64_t first,
		      uint64_t last, const char *reason)
{
	enum text_state state = TEXT_PARTLY;

	if (!mapping->huge_kb)
		state = TEXT_SMALL;
	else if (mapping->huge_kb >= mapping->possible_kb)
		state = TEXT_HUGE;
	add(text, first, last, state,
	    state == TEXT_HUGE ? reason_word(HUGETEXT_WHY_OK) : reason, mapping);
}

/*
 * Without the module's word: what stands against the mapping for all to see, and
 * that hugetext is off where it is. The rest is known to the kernel alone.
 */
static void work_out(struct text *text, const struct text_mapping *mapping,
		     const struct state *state, bool thp_disabled)
{
	const struct smaps_mapping *smaps = &mapping->smaps;
	enum hugetext_why why, edge;
	const char *threshold = state_knob(state, "hugetext_pad_threshold");
	uint64_t first, last;
	int enabled = state_enabled(state);

	why = hugetext_whole_regions(smaps->start, smaps->end, smaps->offset, &first, &last);
	if ((smaps->start - smaps->offset) & REGION_MASK) {
		add(text, smaps->start, smaps->end, TEXT_SMALL, reason_word(why), mapping);
		return;
	}
	if (why != HUGETEXT_WHY_OK)
		first = last = smaps->end;

	why = why_not_mapping(smaps, thp_disabled);
	if (why == HUGETEXT_WHY_NR && !(enabled > 0 && (enabled & ENABLED_FILE)))
		why = HUGETEXT_WHY_OFF;
	edge = why;
	if (why == HUGETEXT_WHY_NR && threshold && strcmp(threshold, "0") == 0)
		edge = HUGETEXT_WHY_PADDING_OFF;

	add(text, smaps->start, first, TEXT_SMALL, certain(edge), mapping);
	add_whole(text, mapping, first, last, certain(why));
	add(text, last, smaps->end, TEXT_SMALL, certain(edge), mapping);
}

static uint64_t max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Nothing stands against it, and yet it is small. */
static const char *reason_told(const struct kernel_line *line)
{
	if (line->state == TEXT_SMALL && strcmp(line->reason, reason_word(HUGETEXT_WHY_OK)) == 0)
		return REASON_UNKNOWN;
	return line->reason;
}

/* False: the module said nothing of this mapping. */
static bool add_told(struct text *text, unsigned int pid, const struct text_mapping *mapping,
		     const struct kernel_text *kernel, size_t first_line)
{
	size_t i, before = text->nr;

	for (i = first_line; i < kernel->nr && kernel->line[i].pid == pid &&
	     kernel->line[i].start < mapping->smaps.end; i++) {
		const struct kernel_line *line = &kernel->line[i];
		struct text_run *run;

		run = add(text, max(line->start, mapping->smaps.start),
			  min(line->end, mapping->smaps.end), line->state,
			  reason_told(line), mapping);
		if (run)
			run->told = true;
	}
	return text->nr > before;
}

void text_read(struct text *text, const struct process *process, const struct state *state,
	       const struct kernel_text *kernel)
{
	bool thp_disabled = process_disables_thp(process->pid);
	size_t i, line = 0;

	memset(text, 0, sizeof(*text));
	while (line < kernel->nr && kernel->line[line].pid != process->pid)
		line++;
	for (i = 0; i < process->nr_mappings; i++) {
		const struct text_mapping *mapping = &process->mapping[i];

		/* Both ascend by address. */
		while (line < kernel->nr && kernel->line[line].pid == process->pid &&
		       kernel->line[line].end <= mapping->smaps.start)
			line++;
		if (!add_told(text, process->pid, mapping, kernel, line))
			work_out(text, mapping, state, thp_disabled);
	}
}

void text_free(struct text *text)
{
	free(text->run);
}
