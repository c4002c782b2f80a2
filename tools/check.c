// SPDX-License-Identifier: GPL-2.0
/*
 * hugetext check: whether the text of a file can be on 2 MiB pages.
 * A file that is odd or cannot be read is said to be so, and the next one
 * follows.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hugetext.h"
#include "judge.h"
#include "output.h"
#include "reasons.h"
#include "util.h"

struct report {
	enum output_form form;
	bool summary;
	struct hugetext_padding padding;
	struct table *table;		/* not for JSON, nor for people with segments */
	struct json json;
};

/* The first columns are those of the summary. */
#define NR_SUMMARY_COLUMNS	5
static const struct table_column columns[] = {
	{ "FILE", false }, { "VERDICT", false }, { "WHY", false },
	{ "TEXT_KB", true }, { "HUGE_KB", true },
	{ "ADDRESS", true }, { "OFFSET", true }, { "FILE_SIZE", true }, { "MEMORY_SIZE", true },
	{ "FLAGS", false }, { "ALIGN", true }, { "DELTA", true }, { "REGIONS", true },
	{ "SEGMENT_HUGE_KB", true },
};

static const struct table_column people_columns[] = {
	{ "   ADDRESS", true }, { "OFFSET", true }, { "FILE_SIZE", true },
	{ "MEMORY_SIZE", true }, { "FLAGS", false }, { "ALIGN", true }, { "DELTA", true },
	{ "REGIONS", true }, { "HUGE_KB", true },
};

static const char *flags_text(uint32_t flags, char text[4])
{
	text[0] = flags & PF_R ? 'r' : '-';
	text[1] = flags & PF_W ? 'w' : '-';
	text[2] = flags & PF_X ? 'x' : '-';
	text[3] = '\0';
	return text;
}

static void segment_cells(struct table *table, const GElf_Phdr *segment,
			  const struct judged_segment *judged)
{
	char flags[4];

	table_cell(table, "0x%" PRIx64, segment->p_vaddr);
	table_cell(table, "0x%" PRIx64, segment->p_offset);
	table_cell(table, "0x%" PRIx64, segment->p_filesz);
	table_cell(table, "0x%" PRIx64, segment->p_memsz);
	table_cell(table, "%s", flags_text(segment->p_flags, flags));
	table_cell(table, "0x%" PRIx64, segment->p_align);
	table_cell(table, "0x%" PRIx64, judged->delta);
	table_cell(table, "%" PRIu64, judged->regions);
	table_cell(table, "%" PRIu64, judged->huge_bytes / 1024);
}

static void print_for_people(const char *path, const struct elf_file *file,
			     const struct judgement *judgement)
{
	char *name = printable(path);
	struct table *table;
	size_t i;

	printf("%s: %s: %s", name, verdict_word(judgement->verdict),
	       file->problem ? file->problem : verdict_text(judgement->verdict));
	if (judgement->text_bytes)
		printf("; %" PRIu64 " of %" PRIu64 " kB text will be huge",
		       judgement->huge_bytes / 1024, judgement->text_bytes / 1024);
	putchar('\n');
	free(name);
	if (!file->nr_segments)
		return;
	fflush(stdout);
	table = table_new(people_columns, 9, false);
	for (i = 0; i < file->nr_segments; i++) {
		table_row(table);
		segment_cells(table, &file->segment[i], &judgement->segment[i]);
	}
	table_print_and_free(table);
}

static void summary_cells(struct table *table, const char *path,
			  const struct judgement *judgement)
{
	table_row(table);
	table_cell(table, "%s", path);
	table_cell(table, "%s", verdict_word(judgement->verdict));
	table_cell(table, "%s", reason_word(judgement->why));
	table_cell(table, "%" PRIu64, judgement->text_bytes / 1024);
	table_cell(table, "%" PRIu64, judgement->huge_bytes / 1024);
}

static void add_rows(struct report *report, const char *path, const struct elf_file *file,
		     const struct judgement *judgement)
{
	size_t i;
	int empty;

	if (report->summary || !file->nr_segments) {
		summary_cells(report->table, path, judgement);
		for (empty = report->summary ? 9 : 0; empty < 9; empty++)
			table_cell(report->table, "-");
		return;
	}
	for (i = 0; i < file->nr_segments; i++) {
		summary_cells(report->table, path, judgement);
		segment_cells(report->table, &file->segment[i], &judgement->segment[i]);
	}
}

static void json_hex(struct json *json, const char *name, uint64_t value)
{
	char text[19];

	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	json_string(json, name, text);
}

static void json_segment(struct json *json, const GElf_Phdr *segment,
			 const struct judged_segment *judged)
{
	char flags[4];

	json_open(json, NULL, '{');
	/* As strings: many readers of JSON lose bits of numbers above 2^53. */
	json_hex(json, "address", segment->p_vaddr);
	json_hex(json, "offset", segment->p_offset);
	json_hex(json, "file_size", segment->p_filesz);
	json_hex(json, "memory_size", segment->p_memsz);
	json_string(json, "flags", flags_text(segment->p_flags, flags));
	json_hex(json, "align", segment->p_align);
	json_hex(json, "delta", judged->delta);
	json_number(json, "regions", judged->regions);
	json_number(json, "huge_bytes", judged->huge_bytes);
	json_close(json, '}');
}

static void json_file(struct report *report, const char *path, const struct elf_file *file,
		      const struct judgement *judgement)
{
	struct json *json = &report->json;
	size_t i;

	json_open(json, NULL, '{');
	json_string(json, "file", path);
	json_string(json, "verdict", verdict_word(judgement->verdict));
	json_string(json, "why", reason_word(judgement->why));
	json_string(json, "problem", file->problem);
	json_number(json, "text_bytes", judgement->text_bytes);
	json_number(json, "huge_bytes", judgement->huge_bytes);
	if (!report->summary) {
		json_open(json, "segments", '[');
		for (i = 0; i < file->nr_segments; i++)
			json_segment(json, &file->segment[i], &judgement->segment[i]);
		json_close(json, ']');
	}
	json_close(json, '}');
}

static void report_file(struct report *report, const char *path, const struct elf_file *file,
			const struct judgement *judgement)
{
	if (report->form == OUTPUT_JSON)
		json_file(report, path, file, judgement);
	else if (report->table)
		add_rows(report, path, file, judgement);
	else if (judgement->verdict != VERDICT_UNREADABLE)
		print_for_people(path, file, judgement);
}

static enum verdict check_file(struct report *report, const char *path)
{
	struct judgement judgement = { .verdict = VERDICT_UNREADABLE };
	struct elf_file file = { 0 };
	uint64_t size;
	int fd = open_regular(path, &size);

	if (fd < 0) {
		complain("check: %s: %s", path, errno == EISDIR ?
			 "a directory: name the files in it" : error_text(errno));
		judgement.why = HUGETEXT_WHY_NO_HEADERS;
		report_file(report, path, &file, &judgement);
		return judgement.verdict;
	}
	elf_file_read(&file, fd, size);
	if (file.kind == ELF_FILE_UNREADABLE)
		complain("check: %s: %s", path, strerror(file.error));
	judge(&file, &report->padding, &judgement);
	report_file(report, path, &file, &judgement);
	elf_file_free(&file);
	close(fd);
	return judgement.verdict;
}

static int check_files(struct report *report, char **paths, int nr)
{
	int i, result = HUGETEXT_FINE;

	for (i = 0; i < nr; i++) {
		enum verdict verdict = check_file(report, paths[i]);

		if (verdict == VERDICT_UNREADABLE)
			result = HUGETEXT_TROUBLE;
		else if (!verdict_passes(verdict) && result == HUGETEXT_FINE)
			result = HUGETEXT_FAILED;
	}
	return result;
}

static int check_and_print(struct report *report, char **paths, int nr)
{
	unsigned int nr_columns = sizeof(columns) / sizeof(*columns);
	int result;

	elf_version(EV_CURRENT);
	if (report->form == OUTPUT_JSON) {
		json_begin(&report->json, stdout);
		json_open(&report->json, "files", '[');
	} else if (report->form == OUTPUT_RAW || report->summary) {
		report->table = table_new(columns,
					  report->summary ? NR_SUMMARY_COLUMNS : nr_columns,
					  report->form == OUTPUT_RAW);
	}
	result = check_files(report, paths, nr);
	if (report->form == OUTPUT_JSON) {
		json_close(&report->json, ']');
		json_end(&report->json);
	} else if (report->table) {
		table_print_and_free(report->table);
	}
	return result;
}

static void usage(void)
{
	size_t i;

	fputs("Usage: hugetext check [options] FILE...\n\n"
	      "Shows whether the text of programs and libraries can be on 2 MiB pages.\n\n"
	      "Options:\n"
	      " -S, --summary        one line per file, no segments\n"
	      " -p, --pad-threshold BYTES\n"
	      "                      as if hugetext_pad_threshold had this value; default 0\n"
	      "     --pad-rodata     as if hugetext_pad_rodata were 1\n"
	      " -J, --json           as JSON\n"
	      " -r, --raw            for scripts: a header, one space between columns\n"
	      COMMON_USAGE
	      "\nVerdicts:\n", stdout);
	for (i = 0; i < VERDICT_NR; i++)
		printf(" %-12s %s\n", verdict_word(i), verdict_text(i));
	fputs("\nDELTA is offset minus address modulo 2 MiB, REGIONS how many whole 2 MiB regions\n"
	      "the segment holds at the best address.\n"
	      "Exit status: 0 each file is aligned or movable, 1 one is not, 2 one could not be\n"
	      "read.\n", stdout);
}

int check_main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "summary", no_argument, NULL, 'S' },
		{ "pad-threshold", required_argument, NULL, 'p' },
		{ "pad-rodata", no_argument, NULL, OPTION_PAD_RODATA },
		{ "json", no_argument, NULL, 'J' },
		{ "raw", no_argument, NULL, 'r' },
		COMMON_OPTIONS, { 0 }
	};
	struct report report = { .form = OUTPUT_TABLE };
	int c, result;

	while ((c = getopt_long(argc, argv, "Sp:JrhV", options, NULL)) != -1) {
		switch (c) {
		case 'S':
			report.summary = true;
			break;
		case 'p':
			if (!parse_decimal(optarg, &report.padding.threshold) ||
			    report.padding.threshold >= HUGETEXT_REGION_SIZE) {
				complain("check: --pad-threshold: '%s' is no number from 0 to %llu",
					 optarg, HUGETEXT_REGION_SIZE - 1);
				return HUGETEXT_TROUBLE;
			}
			break;
		case OPTION_PAD_RODATA:
			report.padding.rodata = true;
			break;
		case 'J':
			report.form = OUTPUT_JSON;
			break;
		case 'r':
			report.form = OUTPUT_RAW;
			break;
		default:
			if (!common_option(c, usage, &result))
				return result;
		}
	}
	if (optind == argc) {
		complain("check: no file named: hugetext check --help");
		return HUGETEXT_TROUBLE;
	}
	return check_and_print(&report, argv + optind, argc - optind);
}
