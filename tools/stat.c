// SPDX-License-Identifier: GPL-2.0
/*
 * hugetext stat: which text is on 2 MiB pages, per process and per mapping.
 * Everything comes from /proc; the module is not needed for it.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "hugetext.h"
#include "output.h"
#include "process.h"
#include "selection.h"
#include "util.h"

struct listing {
	struct process *process;
	size_t nr;
	size_t denied;
	unsigned int denied_pid;	/* the first of them */
	size_t failed;			/* for other reasons */
	unsigned int failed_pid;	/* the first of them */
	int failed_error;
	unsigned long not_understood;
};

static const struct table_column process_columns[] = {
	{ "PID", true }, { "NAME", false }, { "TEXT_KB", true }, { "HUGE_KB", true },
	{ "PERCENT", true }, { "POSSIBLE_KB", true },
};

static const struct table_column mapping_columns[] = {
	{ "PID", true }, { "NAME", false }, { "RANGE", false }, { "TEXT_KB", true },
	{ "HUGE_KB", true }, { "PERCENT", true }, { "POSSIBLE_KB", true }, { "FILE", false },
};

/* Huge text in tenths of a per cent of all text. */
static uint64_t tenths(uint64_t huge_kb, uint64_t text_kb)
{
	return text_kb ? huge_kb * 1000 / text_kb : 0;
}

static bool is_selected(const struct selection *selection, unsigned int pid)
{
	if (!selection_is_empty(selection))
		return selection_has(selection, pid);
	/* What has nothing huge is not shown unless asked for. */
	return selection->all || process_may_have_huge(pid);
}

static bool is_shown(const struct selection *selection, const struct process *process)
{
	/* Kernel threads have no text of their own. */
	return selection_is_empty(selection) && !selection->all ? process->huge_kb : process->text_kb;
}

static void add_process(struct listing *listing, const struct selection *selection,
			unsigned int pid)
{
	struct process process;
	unsigned long not_understood = 0;
	int error;

	if (!is_selected(selection, pid))
		return;
	error = process_read(&process, pid, &not_understood);
	listing->not_understood += not_understood;
	if (error == EACCES || error == EPERM) {
		if (!listing->denied++)
			listing->denied_pid = pid;
	} else if (error && error != ENOENT && error != ESRCH) {
		if (!listing->failed++) {
			listing->failed_pid = pid;
			listing->failed_error = error;
		}
	}
	if (error || !is_shown(selection, &process)) {
		process_free(&process);
		return;
	}
	listing->process[listing->nr++] = process;
}

static int listing_read(struct listing *listing, const struct selection *selection)
{
	unsigned int *pids;
	size_t i, nr;

	memset(listing, 0, sizeof(*listing));
	pids = process_list(&nr);
	if (!pids)
		return HUGETEXT_TROUBLE;
	listing->process = must_alloc(calloc(nr + 1, sizeof(*listing->process)));
	for (i = 0; i < nr; i++)
		add_process(listing, selection, pids[i]);
	free(pids);
	return HUGETEXT_FINE;
}

static void listing_free(struct listing *listing)
{
	size_t i;

	for (i = 0; i < listing->nr; i++)
		process_free(&listing->process[i]);
	free(listing->process);
}

static void print_percent(struct table *table, uint64_t huge_kb, uint64_t text_kb)
{
	uint64_t share = tenths(huge_kb, text_kb);

	table_cell(table, "%" PRIu64 ".%" PRIu64, share / 10, share % 10);
}

static void print_processes(const struct listing *listing, bool raw)
{
	struct table *table = table_new(process_columns, 6, raw);
	size_t i;

	for (i = 0; i < listing->nr; i++) {
		const struct process *process = &listing->process[i];

		table_row(table);
		table_cell(table, "%u", process->pid);
		table_cell(table, "%s", process->name);
		table_cell(table, "%" PRIu64, process->text_kb);
		table_cell(table, "%" PRIu64, process->huge_kb);
		print_percent(table, process->huge_kb, process->text_kb);
		table_cell(table, "%" PRIu64, process->possible_kb);
	}
	table_print_and_free(table);
}

static void print_mappings(const struct listing *listing, bool raw)
{
	struct table *table = table_new(mapping_columns, 8, raw);
	size_t i, j;

	for (i = 0; i < listing->nr; i++) {
		const struct process *process = &listing->process[i];

		for (j = 0; j < process->nr_mappings; j++) {
			const struct text_mapping *text = &process->mapping[j];

			table_row(table);
			table_cell(table, "%u", process->pid);
			table_cell(table, "%s", process->name);
			table_cell(table, "%" PRIx64 "-%" PRIx64, text->smaps.start, text->smaps.end);
			table_cell(table, "%" PRIu64, text->text_kb);
			table_cell(table, "%" PRIu64, text->huge_kb);
			print_percent(table, text->huge_kb, text->text_kb);
			table_cell(table, "%" PRIu64, text->possible_kb);
			table_cell(table, "%s", text->smaps.path);
		}
	}
	table_print_and_free(table);
}

static void json_counts(struct json *json, uint64_t text_kb, uint64_t huge_kb,
			uint64_t possible_kb)
{
	json_number(json, "text_kb", text_kb);
	json_number(json, "huge_kb", huge_kb);
	json_tenths(json, "percent", tenths(huge_kb, text_kb));
	json_number(json, "possible_kb", possible_kb);
}

static void json_mapping(struct json *json, const struct text_mapping *text)
{
	char start[17], end[17];

	snprintf(start, sizeof(start), "%" PRIx64, text->smaps.start);
	snprintf(end, sizeof(end), "%" PRIx64, text->smaps.end);
	json_open(json, NULL, '{');
	/* As strings: many readers of JSON lose bits of numbers above 2^53. */
	json_string(json, "start", start);
	json_string(json, "end", end);
	json_counts(json, text->text_kb, text->huge_kb, text->possible_kb);
	json_string(json, "file", text->smaps.path);
	json_close(json, '}');
}

static void print_json(const struct listing *listing, bool mappings)
{
	struct json json;
	size_t i, j;

	json_begin(&json, stdout);
	json_open(&json, "processes", '[');
	for (i = 0; i < listing->nr; i++) {
		const struct process *process = &listing->process[i];

		json_open(&json, NULL, '{');
		json_number(&json, "pid", process->pid);
		json_string(&json, "name", process->name);
		json_counts(&json, process->text_kb, process->huge_kb, process->possible_kb);
		if (mappings) {
			json_open(&json, "mappings", '[');
			for (j = 0; j < process->nr_mappings; j++)
				json_mapping(&json, &process->mapping[j]);
			json_close(&json, ']');
		}
		json_close(&json, '}');
	}
	json_close(&json, ']');
	json_end(&json);
}

/* Said once per run: a watch would repeat it for ever. */
static void complain_once(const struct listing *listing)
{
	static bool said_denied, said_failed, said_odd;

	if (listing->denied && !said_denied) {
		complain("no permission to read process %u (%zu in all)%s", listing->denied_pid,
			 listing->denied, geteuid() ? ": run it as root" : "");
		said_denied = true;
	}
	if (listing->failed && !said_failed) {
		complain("process %u could not be read (%zu in all): %s", listing->failed_pid,
			 listing->failed, error_text(listing->failed_error));
		said_failed = true;
	}
	if (listing->not_understood && !said_odd) {
		complain("%lu lines of smaps files were not understood and passed over",
			 listing->not_understood);
		said_odd = true;
	}
}

/* Nothing is claimed of processes that could not be read. */
static void say_nothing_shown(const struct listing *listing, bool all)
{
	size_t unread = listing->denied + listing->failed;

	if (unread)
		printf("No process that could be read has text %s; %zu could not be read%s.\n",
		       all ? "of a file" : "on 2 MiB pages", unread,
		       !listing->failed && geteuid() ? ": root can" : "");
	else
		puts(all ? "No process has text of a file." :
		     "No process has text on 2 MiB pages; --all shows the others too.");
}

static void print_listing(const struct listing *listing, enum output_form form, bool mappings)
{
	if (form == OUTPUT_JSON)
		print_json(listing, mappings);
	else if (mappings)
		print_mappings(listing, form == OUTPUT_RAW);
	else
		print_processes(listing, form == OUTPUT_RAW);
}

/* @found: whether there was anything of what is looked for. */
static int show(const struct selection *selection, enum output_form form, bool mappings,
		bool *found)
{
	struct listing listing;
	int result = listing_read(&listing, selection);

	*found = false;
	if (result)
		return result;
	print_listing(&listing, form, mappings);
	complain_once(&listing);

	*found = listing.nr || selection_is_empty(selection);
	if (listing.denied || listing.failed) {
		result = HUGETEXT_TROUBLE;
	} else if (!*found) {
		result = HUGETEXT_FAILED;
		selection_complain(selection);
	}
	if (!listing.nr && selection_is_empty(selection) && form == OUTPUT_TABLE)
		say_nothing_shown(&listing, selection->all);
	listing_free(&listing);
	return result;
}

static int watch(const struct selection *selection, enum output_form form, bool mappings,
		 double seconds)
{
	struct timespec pause = {
		.tv_sec = (time_t)seconds,
		.tv_nsec = (long)((seconds - floor(seconds)) * 1e9),
	};
	bool found;
	int result;

	for (;;) {
		result = show(selection, form, mappings, &found);
		if (fflush(stdout))
			return result;
		/* A name may come back, a process id does not. */
		if (!found && (result == HUGETEXT_TROUBLE || !selection->nr_names))
			return result;
		nanosleep(&pause, NULL);
		if (form == OUTPUT_TABLE)
			putchar('\n');
	}
}

static bool parse_seconds(const char *string, double *seconds)
{
	char *end;

	errno = 0;
	*seconds = strtod(string, &end);
	return end != string && !*end && !errno && isfinite(*seconds) &&
	       *seconds >= 0.01 && *seconds <= 86400;
}

static void usage(void)
{
	fputs("Usage: hugetext stat [options] [-p PID | NAME | --all]...\n\n"
	      "Shows how much text of each process is mapped by 2 MiB pages. Without a\n"
	      "process named, those that have any.\n\n"
	      "Options:\n"
	      " -p, --pid PID        this process; may be given several times\n"
	      " -a, --all            every process with text\n"
	      " -m, --mappings       per mapping instead of per process\n"
	      " -J, --json           as JSON\n"
	      " -r, --raw            for scripts: a header, one space between columns\n"
	      " -w, --watch SECONDS  again and again\n"
	      SYSROOT_USAGE COMMON_USAGE
	      "\nNAME is the name of a process or of its program file.\n", stdout);
}

static int stat_run(int argc, char **argv, struct selection *selection)
{
	static const struct option options[] = {
		{ "pid", required_argument, NULL, 'p' },
		{ "all", no_argument, NULL, 'a' },
		{ "mappings", no_argument, NULL, 'm' },
		{ "json", no_argument, NULL, 'J' },
		{ "raw", no_argument, NULL, 'r' },
		{ "watch", required_argument, NULL, 'w' },
		SYSROOT_OPTION, COMMON_OPTIONS, { 0 }
	};
	enum output_form form = OUTPUT_TABLE;
	bool mappings = false, found;
	double seconds = 0;
	int c, result;

	while ((c = getopt_long(argc, argv, "p:amJrw:s:hV", options, NULL)) != -1) {
		switch (c) {
		case 'p':
			if (!selection_add_pid(selection, optarg)) {
				complain("stat: '%s' is not a process id", optarg);
				return HUGETEXT_TROUBLE;
			}
			break;
		case 'a':
			selection->all = true;
			break;
		case 'm':
			mappings = true;
			break;
		case 'J':
			form = OUTPUT_JSON;
			break;
		case 'r':
			form = OUTPUT_RAW;
			break;
		case 'w':
			if (!parse_seconds(optarg, &seconds)) {
				complain("stat: '%s' is not a number of seconds (0.01 to 86400)",
					 optarg);
				return HUGETEXT_TROUBLE;
			}
			break;
		default:
			if (!common_option(c, usage, &result))
				return result;
		}
	}
	selection->names = argv + optind;
	selection->nr_names = argc - optind;
	if (selection->all && !selection_is_empty(selection)) {
		complain("stat: --all goes without PID and NAME");
		return HUGETEXT_TROUBLE;
	}
	if (seconds > 0)
		return watch(selection, form, mappings, seconds);
	return show(selection, form, mappings, &found);
}

int stat_main(int argc, char **argv)
{
	struct selection selection = { 0 };
	int result = stat_run(argc, argv, &selection);

	selection_free(&selection);
	return result;
}
