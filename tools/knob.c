// SPDX-License-Identifier: GPL-2.0
/*
 * hugetext enable, hugetext disable: write hugetext_enabled.
 * What is reported is what was read back, not what was meant.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hugetext.h"
#include "knob.h"
#include "state.h"
#include "util.h"

int complain_unwritable(const char *knob, int error)
{
	char *path = sysroot_path("%s", knob);

	if (error == ENOENT && !sysroot_exists(MODULE_DIRECTORY))
		complain(REMEDY_LOAD);
	else if (error == ENOENT)
		complain("%s: the module is loaded but this file is missing: see dmesg", path);
	else if (error == EACCES || error == EPERM)
		complain("%s: %s: run it as root", path, strerror(error));
	else
		complain("%s: %s", path, error_text(error));
	free(path);
	return HUGETEXT_TROUBLE;
}

int set_enabled(unsigned int value)
{
	char *before = sysroot_line(KNOB_ENABLED), *after = NULL;
	char text[] = { '0' + value, '\n', '\0' };
	int error = before ? sysroot_write(KNOB_ENABLED, text) : errno;
	int result = HUGETEXT_FINE;
	uint64_t is;

	if (error) {
		result = complain_unwritable(KNOB_ENABLED, error);
		goto out;
	}
	after = sysroot_line(KNOB_ENABLED);
	if (!after || !parse_decimal(after, &is) || is != value) {
		char *path = sysroot_path(KNOB_ENABLED);

		complain("%s: %u was written, but it reads %s", path, value,
			 after ? after : error_text(errno));
		free(path);
		result = HUGETEXT_TROUBLE;
		goto out;
	}
	printf("hugetext_enabled: %s written, was %s: %s\n", after, before, enabled_words(value));
out:
	free(before);
	free(after);
	return result;
}

static void enable_usage(void)
{
	fputs("Usage: hugetext enable [options] [VALUE]\n\n"
	      "Writes hugetext_enabled: 1 for text of files, 2 for executable anonymous memory,\n"
	      "3 (the default) for both.\n\n"
	      "Options:\n"
	      "     --file           the same as 1, with --anon 3\n"
	      "     --anon           the same as 2, with --file 3\n"
	      " -s, --sysroot DIR    write to DIR/sys\n"
	      COMMON_USAGE, stdout);
}

static int enable_value(int argc, char **argv, unsigned int bits)
{
	uint64_t value;

	if (argc > 1 || (argc == 1 && bits)) {
		complain("enable: one VALUE, or --file and --anon");
		return -1;
	}
	if (!argc)
		return bits ? bits : ENABLED_MAX;
	if (!parse_decimal(argv[0], &value) || value > ENABLED_MAX) {
		complain("enable: '%s' is not 1, 2 or 3", argv[0]);
		return -1;
	}
	if (!value) {
		complain("enable: 0 is off: hugetext disable");
		return -1;
	}
	return value;
}

int enable_main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "file", no_argument, NULL, OPTION_FILE },
		{ "anon", no_argument, NULL, OPTION_ANON },
		SYSROOT_OPTION, COMMON_OPTIONS, { 0 }
	};
	unsigned int bits = 0;
	int c, value, result;

	while ((c = getopt_long(argc, argv, "s:hV", options, NULL)) != -1) {
		switch (c) {
		case OPTION_FILE:
			bits |= ENABLED_FILE;
			break;
		case OPTION_ANON:
			bits |= ENABLED_ANON;
			break;
		default:
			if (!common_option(c, enable_usage, &result))
				return result;
		}
	}
	value = enable_value(argc - optind, argv + optind, bits);
	return value < 0 ? HUGETEXT_TROUBLE : set_enabled(value);
}

static void disable_usage(void)
{
	fputs("Usage: hugetext disable [options]\n\n"
	      "Writes 0 to hugetext_enabled: no new work. What is huge already stays so.\n\n"
	      "Options:\n"
	      " -s, --sysroot DIR    write to DIR/sys\n"
	      COMMON_USAGE, stdout);
}

int disable_main(int argc, char **argv)
{
	static const struct option options[] = {
		SYSROOT_OPTION, COMMON_OPTIONS, { 0 }
	};
	int c, result;

	while ((c = getopt_long(argc, argv, "s:hV", options, NULL)) != -1)
		if (!common_option(c, disable_usage, &result))
			return result;
	if (optind < argc) {
		complain("disable: '%s' is one argument too many", argv[optind]);
		return HUGETEXT_TROUBLE;
	}
	return set_enabled(0);
}
