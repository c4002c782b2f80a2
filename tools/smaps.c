// SPDX-License-Identifier: GPL-2.0
/*
 * The reader of /proc/PID/maps, smaps and smaps_rollup.
 * Line by line: a mapping starts with its address range, its fields follow.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../kmod/core/layout.h"
#include "smaps.h"

/* The number at *@text in @base 10 or 16, as the kernel prints it. */
static bool take_number(const char **text, unsigned int base, uint64_t *value)
{
	const char *s = *text;
	unsigned int digit;
	uint64_t sum = 0;

	for (;; s++) {
		if (*s >= '0' && *s <= '9')
			digit = *s - '0';
		else if (base == 16 && *s >= 'a' && *s <= 'f')
			digit = *s - 'a' + 10;
		else
			break;
		if (__builtin_mul_overflow(sum, base, &sum) ||
		    __builtin_add_overflow(sum, digit, &sum))
			return false;
	}
	if (s == *text)
		return false;
	*text = s;
	*value = sum;
	return true;
}

static bool take(const char **text, char c)
{
	if (**text != c)
		return false;
	(*text)++;
	return true;
}

/* start-end rwxp offset major:minor inode      path */
static bool parse_header(const char *text, struct smaps_mapping *mapping)
{
	const char *flags;

	if (!take_number(&text, 16, &mapping->start) || !take(&text, '-') ||
	    !take_number(&text, 16, &mapping->end) || !take(&text, ' '))
		return false;

	flags = text;
	if (strnlen(flags, 4) < 4)
		return false;
	text += 4;
	if (!take(&text, ' ') || !take_number(&text, 16, &mapping->offset) ||
	    !take(&text, ' ') || !take_number(&text, 16, &mapping->major) ||
	    !take(&text, ':') || !take_number(&text, 16, &mapping->minor) ||
	    !take(&text, ' ') || !take_number(&text, 10, &mapping->inode))
		return false;
	if (*text && *text != ' ')
		return false;
	if (mapping->start >= mapping->end ||
	    (mapping->start | mapping->end | mapping->offset) & (HUGETEXT_PAGE_SIZE - 1))
		return false;

	mapping->write = flags[1] == 'w';
	mapping->exec = flags[2] == 'x';
	mapping->shared = flags[3] == 's';
	mapping->path = text + strspn(text, " ");
	return true;
}

/* Fields begin with a capital letter, headers with a lower case hex digit. */
static bool is_field(const char *line)
{
	return *line >= 'A' && *line <= 'Z';
}

static const struct {
	char word[3];
	unsigned int flag;
} vm_flags[] = {
	{ "nh", SMAPS_NOHUGEPAGE },
	{ "um", SMAPS_USERFAULTFD }, { "uw", SMAPS_USERFAULTFD }, { "ui", SMAPS_USERFAULTFD },
	{ "io", SMAPS_SPECIAL }, { "pf", SMAPS_SPECIAL }, { "ht", SMAPS_SPECIAL },
	{ "mm", SMAPS_SPECIAL }, { "de", SMAPS_SPECIAL }, { "gd", SMAPS_SPECIAL },
};

/* Words of two letters, of which later kernels add some. */
static unsigned int parse_flags(const char *text)
{
	unsigned int flags = 0;
	size_t i, length;

	for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
		length = strcspn(text, " ");
		for (i = 0; i < sizeof(vm_flags) / sizeof(*vm_flags); i++)
			if (length == 2 && memcmp(text, vm_flags[i].word, 2) == 0)
				flags |= vm_flags[i].flag;
		text += length;
	}
	return flags;
}

static uint64_t *field_of(struct smaps_mapping *mapping, const char *name, size_t length)
{
	const struct {
		const char *name;
		uint64_t *value;
	} fields[] = {
		{ "FilePmdMapped", &mapping->file_huge_kb },
		{ "ShmemPmdMapped", &mapping->shmem_huge_kb },
		{ "Anonymous", &mapping->anonymous_kb },
	};
	size_t i;

	for (i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		if (strlen(fields[i].name) == length && memcmp(fields[i].name, name, length) == 0)
			return fields[i].value;
	return NULL;
}

/* Name:    value kB, or VmFlags: rd ex mr. Most are of no interest. */
static bool parse_field(const char *text, struct smaps_mapping *mapping)
{
	size_t length = strcspn(text, ": ");
	uint64_t *to, value;
	const char *s;

	if (!length || text[length] != ':')
		return false;
	s = text + length + 1;
	if (length == strlen("VmFlags") && memcmp(text, "VmFlags", length) == 0) {
		mapping->flags = parse_flags(s);
		return true;
	}
	to = field_of(mapping, text, length);
	if (!to)
		return true;
	s += strspn(s, " ");
	if (!take_number(&s, 10, &value) || strcmp(s, " kB") != 0)
		return false;
	if (value > (mapping->end - mapping->start) / 1024)
		return false;
	*to = value;
	return true;
}

static bool read_line(char **line, size_t *size, FILE *file)
{
	ssize_t length = getline(line, size, file);

	if (length < 0)
		return false;
	if (length && (*line)[length - 1] == '\n')
		(*line)[length - 1] = '\0';
	return true;
}

static void swap_lines(char **a, size_t *a_size, char **b, size_t *b_size)
{
	char *line = *a;
	size_t size = *a_size;

	*a = *b;
	*a_size = *b_size;
	*b = line;
	*b_size = size;
}

bool smaps_same_file(const struct smaps_mapping *a, const struct smaps_mapping *b)
{
	return a->inode == b->inode && a->major == b->major && a->minor == b->minor;
}

int smaps_read(FILE *file, void (*each)(const struct smaps_mapping *mapping, void *data),
	       void *data, unsigned long *not_understood)
{
	char *line = NULL, *header = NULL;
	size_t size = 0, header_size = 0;
	struct smaps_mapping mapping, next;
	bool inside = false;
	int error;

	*not_understood = 0;
	while (read_line(&line, &size, file)) {
		memset(&next, 0, sizeof(next));
		if (is_field(line)) {
			/* Fields of a header not understood belong to nobody. */
			if (inside && !parse_field(line, &mapping))
				(*not_understood)++;
			continue;
		}

		if (inside)
			each(&mapping, data);
		inside = parse_header(line, &next);
		if (!inside) {
			(*not_understood)++;
			continue;
		}
		mapping = next;
		/* The path points into this line: read on into the other. */
		swap_lines(&line, &size, &header, &header_size);
	}
	error = ferror(file) ? errno : 0;
	if (inside)
		each(&mapping, data);
	free(line);
	free(header);
	return error;
}
