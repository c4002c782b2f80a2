// SPDX-License-Identifier: GPL-2.0
/*
 * The command hugetext: finds the subcommand and lets it work.
 * Called alone it tells the state and the next sensible step.
 */
#include <errno.h>
#include <locale.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "hugetext.h"
#include "util.h"

struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *job;
};

static const struct command commands[] = {
	{ "status", status_main, "kernel, module, knobs, mechanism, counters" },
	{ "stat", stat_main, "which text is on 2 MiB pages, per process and mapping" },
	{ "why", why_main, "why text of a process is not on 2 MiB pages" },
	{ "enable", enable_main, "turn it on (hugetext_enabled)" },
	{ "disable", disable_main, "turn it off" },
	{ "rollback", rollback_main, "take huge text back from a process, a file or all" },
	{ "check", check_main, "whether the text of a file can be on 2 MiB pages" },
};

#define NR_COMMANDS	(sizeof(commands) / sizeof(*commands))

static void print_version(void)
{
	puts("hugetext " HUGETEXT_VERSION);
}

bool common_option(int c, void (*usage)(void), int *result)
{
	*result = HUGETEXT_FINE;
	switch (c) {
	case 's':
		sysroot_set(optarg);
		return true;
	case 'h':
		usage();
		break;
	case 'V':
		print_version();
		break;
	default:
		*result = HUGETEXT_TROUBLE;
	}
	return false;
}

static void usage(void)
{
	size_t i;

	fputs("Usage: hugetext [options] [COMMAND [arguments]]\n\n"
	      "Program text on 2 MiB pages. Alone: the state and the next step.\n\n"
	      "Commands:\n", stdout);
	for (i = 0; i < NR_COMMANDS; i++)
		printf(" %-20s %s\n", commands[i].name, commands[i].job);
	fputs("\nOptions:\n" SYSROOT_USAGE COMMON_USAGE
	      "\nEvery command has --help. Exit status: 0 fine, 1 a check failed or nothing\n"
	      "matched, 2 trouble.\n", stdout);
}

static int run_command(int argc, char **argv)
{
	static char whole_name[32];
	size_t i;

	for (i = 0; i < NR_COMMANDS; i++) {
		if (strcmp(argv[0], commands[i].name) == 0) {
			/* getopt_long() complains in the name of argv[0]. */
			snprintf(whole_name, sizeof(whole_name), "hugetext %s", argv[0]);
			argv[0] = whole_name;
			optind = 0;
			return commands[i].run(argc, argv);
		}
	}
	complain("'%s' is not a command: hugetext --help lists them", argv[0]);
	return HUGETEXT_TROUBLE;
}

static int run(int argc, char **argv)
{
	static const struct option options[] = {
		SYSROOT_OPTION, COMMON_OPTIONS, { 0 }
	};
	int c, result;

	while ((c = getopt_long(argc, argv, "+s:hV", options, NULL)) != -1)
		if (!common_option(c, usage, &result))
			return result;
	if (optind == argc)
		return overview_main();
	return run_command(argc - optind, argv + optind);
}

int main(int argc, char **argv)
{
	int result;

	/* For file names in tables; numbers stay as they are. */
	setlocale(LC_CTYPE, "");
	result = run(argc, argv);
	if (fflush(stdout) || ferror(stdout)) {
		complain("the output could not be written: %s", strerror(errno));
		return HUGETEXT_TROUBLE;
	}
	return result;
}
