/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What every part of the command knows: subcommands and exit codes.
 * A subcommand takes its own arguments, prints to stdout, complains to
 * stderr, and returns one of the exit codes.
 */
#ifndef HUGETEXT_H
#define HUGETEXT_H

#include <getopt.h>
#include <stdbool.h>

enum {
	HUGETEXT_FINE = 0,
	HUGETEXT_FAILED = 1,	/* a check failed, nothing matched */
	HUGETEXT_TROUBLE = 2,	/* wrong usage, something could not be read */
};

int overview_main(void);
int status_main(int argc, char **argv);
int stat_main(int argc, char **argv);
int why_main(int argc, char **argv);
int rollback_main(int argc, char **argv);
int enable_main(int argc, char **argv);
int disable_main(int argc, char **argv);
int check_main(int argc, char **argv);

/*
 * Does what an option that several commands take asks for: --sysroot, --help,
 * --version. False: the command is to end with *result.
 */
bool common_option(int c, void (*usage)(void), int *result);

/* Long options that have no letter. */
enum {
	OPTION_FILE = 256,
	OPTION_ANON,
	OPTION_PAD_RODATA,
};

#define COMMON_OPTIONS						\
	{ "help", no_argument, NULL, 'h' },			\
	{ "version", no_argument, NULL, 'V' }

#define COMMON_USAGE						\
	" -h, --help           show this help\n"		\
	" -V, --version        show the version\n"

#define SYSROOT_OPTION	{ "sysroot", required_argument, NULL, 's' }
#define SYSROOT_USAGE						\
	" -s, --sysroot DIR    read DIR/proc and DIR/sys\n"

#endif /* HUGETEXT_H */
