// SPDX-License-Identifier: GPL-2.0
/*
 * hugetext status: kernel, module, knobs, mechanism, hooks, counters, totals.
 * Also the overview that the command gives when it is called alone.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "hugetext.h"
#include "output.h"
#include "state.h"
#include "util.h"

/* What stands behind the value of a knob. */
static const char *knob_remark(const struct state *state, const struct state_pair *knob)
{
	if (strcmp(knob->name, "hugetext_enabled") == 0 && state_enabled(state) >= 0)
		return enabled_words(state_enabled(state));
	if (strcmp(knob->name, "hugetext_pad_rodata") == 0 && strcmp(knob->value, "0") != 0)
		return "(warning: read-only data beside text becomes executable)";
	if (strcmp(knob->name, "hugetext_pad_threshold") == 0)
		return strcmp(knob->value, "0") == 0 ? "bytes: no padding" : "bytes";
	if (strcmp(knob->name, "rothp") == 0)
		return "(module parameter)";
	return "";
}

static int longest(const struct state_pairs *pairs, bool values)
{
	size_t i, length, max = 0;

	for (i = 0; i < pairs->nr; i++) {
		length = strlen(values ? pairs->pair[i].value : pairs->pair[i].name);
		max = length > max ? length : max;
	}
	return max;
}

static void print_pairs(const char *title, const struct state_pairs *pairs,
			const struct state *state, const char *unit)
{
	int names = longest(pairs, false), values = longest(pairs, true);
	size_t i;

	if (pairs->nr)
		printf("\n%s:\n", title);
	for (i = 0; i < pairs->nr; i++) {
		const struct state_pair *pair = &pairs->pair[i];
		const char *remark = state ? knob_remark(state, pair) : unit;

		printf("   %-*s %*s%s%s\n", names, pair->name, values, pair->value,
		       *remark ? " " : "", remark);
	}
}

/* Hooks are sentences rather than columns: what is lost may be long. */
static void print_hooks(const struct state_pairs *hooks)
{
	size_t i;

	if (hooks->nr)
		puts("\nhooks:");
	for (i = 0; i < hooks->nr; i++)
		printf("   %s %s\n", hooks->pair[i].name, hooks->pair[i].value);
}

static void print_status(const struct state *state)
{
	printf("kernel: %s\n", state->kernel ? state->kernel : "unknown");
	if (!state->loaded)
		puts(REMEDY_LOAD);
	else if (state->version)
		printf("module: loaded, version %s\n", state->version);
	else
		puts("module: loaded");
	if (state->mechanism)
		printf("mechanism: %s\n", state->mechanism);
	if (state->debug_trouble)
		printf("mechanism, hooks, counters: %s\n", state->debug_trouble);
	printf("transparent_hugepage/enabled: %s\n",
	       state->thp ? state->thp : "missing, this kernel has no transparent huge pages");
	print_pairs("knobs (" KNOB_DIRECTORY ")", &state->knobs, state, "");
	print_hooks(&state->hooks);
	print_pairs("counters", &state->counters, NULL, "");
	print_pairs("totals", &state->totals, NULL, "kB");
}

static void json_value(struct json *json, const char *name, const char *value)
{
	uint64_t number;

	if (parse_decimal(value, &number))
		json_number(json, name, number);
	else
		json_string(json, name, value);
}

static void json_pairs(struct json *json, const char *title, const struct state_pairs *pairs,
		       const char *suffix)
{
	char name[64];
	size_t i;

	json_open(json, title, '{');
	for (i = 0; i < pairs->nr; i++) {
		snprintf(name, sizeof(name), "%s%s", pairs->pair[i].name, suffix);
		json_value(json, name, pairs->pair[i].value);
	}
	json_close(json, '}');
}

static void json_hooks(struct json *json, const struct state_pairs *hooks)
{
	size_t i, length;
	char *state;

	json_open(json, "hooks", '[');
	for (i = 0; i < hooks->nr; i++) {
		const char *value = hooks->pair[i].value;

		length = strcspn(value, " ");
		state = must_alloc(strndup(value, length));
		json_open(json, NULL, '{');
		json_string(json, "name", hooks->pair[i].name);
		json_string(json, "state", state);
		json_string(json, "lost", value[length] ? value + length + 1 : NULL);
		json_close(json, '}');
		free(state);
	}
	json_close(json, ']');
}

static void print_json(const struct state *state)
{
	struct json json;

	json_begin(&json, stdout);
	json_string(&json, "kernel", state->kernel);
	json_open(&json, "module", '{');
	json_bool(&json, "loaded", state->loaded);
	json_string(&json, "version", state->version);
	json_close(&json, '}');
	json_string(&json, "mechanism", state->mechanism);
	json_string(&json, "debugfs_trouble", state->debug_trouble);
	json_string(&json, "transparent_hugepage", state->thp);
	json_pairs(&json, "knobs", &state->knobs, "");
	json_hooks(&json, &state->hooks);
	json_pairs(&json, "counters", &state->counters, "");
	json_pairs(&json, "totals", &state->totals, "_kb");
	json_end(&json);
}

static void usage(void)
{
	fputs("Usage: hugetext status [options]\n\n"
	      "Shows the kernel, the module, its knobs, the mechanism in use, what is hooked,\n"
	      "counters and totals. As root it shows everything.\n\n"
	      "Options:\n"
	      " -J, --json           as JSON\n"
	      SYSROOT_USAGE COMMON_USAGE, stdout);
}

int status_main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'J' },
		SYSROOT_OPTION, COMMON_OPTIONS, { 0 }
	};
	struct state state;
	bool json = false;
	int c, result;

	while ((c = getopt_long(argc, argv, "Js:hV", options, NULL)) != -1) {
		switch (c) {
		case 'J':
			json = true;
			break;
		default:
			if (!common_option(c, usage, &result))
				return result;
		}
	}
	if (optind < argc) {
		complain("status: '%s' is one argument too many", argv[optind]);
		return HUGETEXT_TROUBLE;
	}

	state_read(&state);
	if (!state.kernel) {
		char *path = sysroot_path("/proc/sys/kernel/osrelease");

		complain("%s: cannot be read: is /proc mounted, is --sysroot right?", path);
		free(path);
		state_free(&state);
		return HUGETEXT_TROUBLE;
	}
	if (json)
		print_json(&state);
	else
		print_status(&state);
	state_free(&state);
	return HUGETEXT_FINE;
}

int overview_main(void)
{
	struct state state;
	int enabled;

	state_read(&state);
	enabled = state_enabled(&state);
	printf("hugetext: program text on 2 MiB pages, kernel %s\n",
	       state.kernel ? state.kernel : "unknown");
	if (!state.loaded) {
		puts("state: the module is not loaded\n"
		     "next:  modprobe hugetext (as root)");
	} else if (enabled < 0) {
		puts("state: the module is loaded, but hugetext_enabled cannot be read\n"
		     "next:  dmesg | grep hugetext (as root)");
	} else if (!(enabled & ENABLED_FILE)) {
		printf("state: the module is loaded, hugetext_enabled is %d: %s\n"
		       "next:  hugetext enable (as root)\n", enabled, enabled_words(enabled));
	} else if (state.mechanism && strcmp(state.mechanism, "none") == 0) {
		printf("state: hugetext_enabled is %d, on this kernel only text on tmpfs is served\n"
		       "next:  hugetext status\n", enabled);
	} else {
		printf("state: hugetext_enabled is %d: %s\n"
		       "next:  hugetext stat\n", enabled, enabled_words(enabled));
	}
	puts("See also: hugetext --help");
	state_free(&state);
	return HUGETEXT_FINE;
}
