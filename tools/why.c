// SPDX-License-Identifier: GPL-2.0
/*
 * hugetext why: each run of text of a process, whether it is on 2 MiB pages, and
 * if not, the reason and what would change it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "advice.h"
#include "hugetext.h"
#include "output.h"
#include "reasons.h"
#include "selection.h"
#include "util.h"

/* What all processes have in common. */
struct answer {
	enum output_form form;
	struct state state;
	struct kernel_text kernel;
	struct table *raw;
	struct json json;
	size_t nr;			/* processes answered for */
	bool trouble;			/* said already */
};

static const struct table_column columns[] = {
	{ "RANGE", false }, { "KB", true }, { "STATE", false }, { "REASON", false },
	{ "FILE", false },
};

static const struct table_column raw_columns[] = {
	{ "PID", true }, { "RANGE", false }, { "KB", true }, { "STATE", false },
	{ "REASON", false }, { "FILE", false }, { "CHANGE", false },
};

static const char *text_of_reason(const char *word)
{
	enum hugetext_why why = reason_of_word(word);

	if (why != HUGETEXT_WHY_NR)
		return reason_text(why);
	return strcmp(word, REASON_UNKNOWN) == 0 ? "it is not known why" : word;
}

static uint64_t kb(const struct text_run *run)
{
	return (run->end - run->start) / 1024;
}

static void run_cells(struct table *table, const struct text_run *run)
{
	table_cell(table, "%" PRIx64 "-%" PRIx64, run->start, run->end);
	table_cell(table, "%" PRIu64, kb(run));
	table_cell(table, "%s", text_state_word(run->state));
	table_cell(table, "%s", run->state == TEXT_HUGE ? "" : run->reason);
	table_cell(table, "%s", run->mapping->smaps.path);
}

/* Files of one process may be small for one reason, and each wants another answer. */
struct note {
	const char *reason;
	char *change;
	const char *file;	/* the first */
	unsigned int more;	/* other files */
};

static bool is_about_file(const struct note *note, const char *reason, const char *change)
{
	return strcmp(note->reason, reason) == 0 && strcmp(note->change, change) == 0;
}

static size_t take_notes(const struct answer *answer, const struct process *process,
			 const struct text *text, struct note *note)
{
	size_t i, k, nr = 0;

	for (i = 0; i < text->nr; i++) {
		const struct text_run *run = &text->run[i];
		char *change;

		if (run->state == TEXT_HUGE)
			continue;
		/* Asking costs more than comparing. */
		if (i && strcmp(run[-1].reason, run->reason) == 0 &&
		    strcmp(run[-1].mapping->smaps.path, run->mapping->smaps.path) == 0 &&
		    run[-1].state != TEXT_HUGE)
			continue;
		change = advice(run, process, &answer->state, &answer->kernel);
		for (k = 0; k < nr && !is_about_file(&note[k], run->reason, change); k++)
			;
		if (k == nr) {
			note[nr++] = (struct note){
				.reason = run->reason, .change = change,
				.file = run->mapping->smaps.path,
			};
			continue;
		}
		note[k].more += strcmp(note[k].file, run->mapping->smaps.path) != 0;
		free(change);
	}
	return nr;
}

static void print_note(const struct note *note)
{
	char *file = printable(note->file), *change = printable(note->change);

	printf("\n%s: %s\n   %s", note->reason, text_of_reason(note->reason), file);
	if (note->more)
		printf(" and %u more", note->more);
	printf("\n   what would change it: %s\n", change);
	free(file);
	free(change);
}

static void print_people(const struct answer *answer, const struct process *process,
			 const struct text *text)
{
	struct table *table = table_new(columns, 5, false);
	struct note *note = must_alloc(calloc(text->nr + 1, sizeof(*note)));
	char *name = printable(process->name);
	size_t i, nr;

	printf("%s%s (pid %u): %" PRIu64 " kB of text, %" PRIu64 " kB on 2 MiB pages\n\n",
	       answer->nr ? "\n" : "", name, process->pid, process->text_kb, process->huge_kb);
	free(name);
	for (i = 0; i < text->nr; i++) {
		table_row(table);
		run_cells(table, &text->run[i]);
	}
	table_print_and_free(table);
	nr = take_notes(answer, process, text, note);
	for (i = 0; i < nr; i++) {
		print_note(&note[i]);
		free(note[i].change);
	}
	free(note);
}

static void add_raw(const struct answer *answer, const struct process *process,
		    const struct text *text)
{
	size_t i;

	for (i = 0; i < text->nr; i++) {
		const struct text_run *run = &text->run[i];
		char *change = run->state == TEXT_HUGE ? NULL :
			       advice(run, process, &answer->state, &answer->kernel);

		table_row(answer->raw);
		table_cell(answer->raw, "%u", process->pid);
		run_cells(answer->raw, run);
		table_cell(answer->raw, "%s", change ? change : "");
		free(change);
	}
}

static void json_run(struct answer *answer, const struct process *process,
		     const struct text_run *run)
{
	struct json *json = &answer->json;
	char start[17], end[17], *change;

	snprintf(start, sizeof(start), "%" PRIx64, run->start);
	snprintf(end, sizeof(end), "%" PRIx64, run->end);
	json_open(json, NULL, '{');
	/* As strings, as in "hugetext stat". */
	json_string(json, "start", start);
	json_string(json, "end", end);
	json_number(json, "kb", kb(run));
	json_string(json, "state", text_state_word(run->state));
	if (run->state == TEXT_HUGE) {
		json_string(json, "reason", NULL);
	} else {
		change = advice(run, process, &answer->state, &answer->kernel);
		json_string(json, "reason", run->reason);
		json_string(json, "text", text_of_reason(run->reason));
		json_string(json, "change", change);
		free(change);
	}
	json_string(json, "file", run->mapping->smaps.path);
	json_close(json, '}');
}

static void print_json(struct answer *answer, const struct process *process,
		       const struct text *text)
{
	struct json *json = &answer->json;
	size_t i;

	json_open(json, NULL, '{');
	json_number(json, "pid", process->pid);
	json_string(json, "name", process->name);
	json_number(json, "text_kb", process->text_kb);
	json_number(json, "huge_kb", process->huge_kb);
	json_open(json, "runs", '[');
	for (i = 0; i < text->nr; i++)
		json_run(answer, process, &text->run[i]);
	json_close(json, ']');
	json_close(json, '}');
}

static void print_answer(struct answer *answer, const struct process *process,
			 const struct text *text)
{
	switch (answer->form) {
	case OUTPUT_TABLE:
		print_people(answer, process, text);
		break;
	case OUTPUT_RAW:
		add_raw(answer, process, text);
		break;
	case OUTPUT_JSON:
		print_json(answer, process, text);
		break;
	}
}

static void answer_for(struct answer *answer, unsigned int pid)
{
	unsigned long not_understood = 0;
	struct process process;
	struct text text;
	int error = process_read(&process, pid, &not_understood);

	if (not_understood)
		complain("%lu lines of the smaps file of process %u were not understood and "
			 "passed over", not_understood, pid);
	if (error && error != ENOENT && error != ESRCH) {
		complain("process %u could not be read: %s%s", pid, error_text(error),
			 error == EACCES || error == EPERM ? ": run it as root" : "");
		answer->trouble = true;
	}
	if (!error && process.text_kb) {
		text_read(&text, &process, &answer->state, &answer->kernel);
		print_answer(answer, &process, &text);
		answer->nr++;
		text_free(&text);
	}
	process_free(&process);
}

static int answer_all(struct answer *answer, const struct selection *selection)
{
	unsigned int *pids;
	size_t i, nr;

	pids = process_list(&nr);
	if (!pids)
		return HUGETEXT_TROUBLE;
	for (i = 0; i < nr; i++)
		if (selection_has(selection, pids[i]))
			answer_for(answer, pids[i]);
	free(pids);
	if (answer->trouble)
		return HUGETEXT_TROUBLE;
	if (answer->nr)
		return HUGETEXT_FINE;
	selection_complain(selection);
	return HUGETEXT_FAILED;
}

static int why(enum output_form form, const struct selection *selection)
{
	struct answer answer = { .form = form };
	int result;

	state_read(&answer.state);
	kernel_text_read(&answer.kernel);
	if (answer.kernel.not_understood)
		complain("%s: %lu lines were not understood and passed over",
			 DEBUG_DIRECTORY "/hugetext/text", answer.kernel.not_understood);
	if (form == OUTPUT_RAW)
		answer.raw = table_new(raw_columns, 7, true);
	if (form == OUTPUT_JSON) {
		json_begin(&answer.json, stdout);
		json_open(&answer.json, "processes", '[');
	}
	result = answer_all(&answer, selection);
	if (form == OUTPUT_RAW)
		table_print_and_free(answer.raw);
	if (form == OUTPUT_JSON) {
		json_close(&answer.json, ']');
		json_end(&answer.json);
	}
	kernel_text_free(&answer.kernel);
	state_free(&answer.state);
	return result;
}

static void print_reasons(void)
{
	unsigned int i;

	for (i = HUGETEXT_WHY_OK + 1; i < HUGETEXT_WHY_NR; i++)
		printf("%s\n   %s\n   what would change it: %s\n", reason_word(i), reason_text(i),
		       reason_change(i));
}

static void usage(void)
{
	fputs("Usage: hugetext why [options] PID | NAME...\n\n"
	      "Shows each run of text of a process: its state, and if it is small, the reason\n"
	      "and what would change it. The module tells it to root; without, it is worked\n"
	      "out as far as that is certain.\n\n"
	      "Options:\n"
	      " -l, --list-reasons   all reasons there are\n"
	      " -J, --json           as JSON\n"
	      " -r, --raw            for scripts: a header, one space between columns\n"
	      SYSROOT_USAGE COMMON_USAGE
	      "\nNAME is the name of a process or of its program file.\n\nStates:\n"
	      " huge                 on 2 MiB pages\n"
	      " small                on small pages\n"
	      " settling             small, and about to be served\n"
	      " retrying             small, and to be tried again\n"
	      " partly               some of it is huge; only the module knows which\n"
	      " unknown              it could not be looked at\n", stdout);
}

static int why_run(int argc, char **argv, struct selection *selection)
{
	static const struct option options[] = {
		{ "list-reasons", no_argument, NULL, 'l' },
		{ "json", no_argument, NULL, 'J' },
		{ "raw", no_argument, NULL, 'r' },
		SYSROOT_OPTION, COMMON_OPTIONS, { 0 }
	};
	enum output_form form = OUTPUT_TABLE;
	int c, result;

	while ((c = getopt_long(argc, argv, "lJrs:hV", options, NULL)) != -1) {
		switch (c) {
		case 'l':
			print_reasons();
			return HUGETEXT_FINE;
		case 'J':
			form = OUTPUT_JSON;
			break;
		case 'r':
			form = OUTPUT_RAW;
			break;
		default:
			if (!common_option(c, usage, &result))
				return result;
		}
	}
	if (optind == argc) {
		complain("why: no PID and no NAME: which process?");
		return HUGETEXT_TROUBLE;
	}
	/* What is all digits is a process id. */
	selection->names = argv + optind;
	for (; optind < argc; optind++)
		if (!selection_add_pid(selection, argv[optind]))
			selection->names[selection->nr_names++] = argv[optind];
	return why(form, selection);
}

int why_main(int argc, char **argv)
{
	struct selection selection = { 0 };
	int result = why_run(argc, argv, &selection);

	selection_free(&selection);
	return result;
}
