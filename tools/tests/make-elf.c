// SPDX-License-Identifier: GPL-2.0
/*
 * Writes ELF files of any layout, however wrong, for the tests.
 * Byte by byte and without <elf.h>, so that it shares no mistake with what
 * it tests; everything behind the headers is a hole.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_LOADS	64
#define MAX_HEADERS	(MAX_LOADS + 2)

#define PT_LOAD		1
#define PT_DYNAMIC	2
#define PT_INTERP	3

struct load {
	uint64_t type, vaddr, offset, filesz, memsz, flags, align;
};

struct elf {
	bool is_32, is_msb;
	uint64_t type, machine, phoff, table, phnum, phentsize, size, xnum, flags_1;
	bool phnum_given, phentsize_given, size_given, interp, dynamic;
	struct load load[MAX_HEADERS];
	unsigned int nr_loads;
};

static unsigned char bytes[64 + MAX_HEADERS * 56 + 64 + 64];
static bool is_msb;

static void put(size_t at, unsigned int width, uint64_t value)
{
	unsigned int i;

	for (i = 0; i < width; i++)
		bytes[at + (is_msb ? width - 1 - i : i)] = value >> (8 * i);
}

static void put_header(const struct elf *elf, uint64_t phnum, uint64_t shoff)
{
	unsigned int word = elf->is_32 ? 4 : 8;
	size_t at = 24 + word;			/* behind e_entry */

	memcpy(bytes, "\177ELF", 4);
	bytes[4] = elf->is_32 ? 1 : 2;
	bytes[5] = elf->is_msb ? 2 : 1;
	bytes[6] = 1;
	put(16, 2, elf->type);
	put(18, 2, elf->machine);
	put(20, 4, 1);
	put(at, word, elf->phoff);
	put(at + word, word, shoff);
	at += 2 * word + 4;			/* behind e_flags */
	put(at, 2, elf->is_32 ? 52 : 64);
	put(at + 2, 2, elf->phentsize_given ? elf->phentsize : elf->is_32 ? 32 : 56);
	put(at + 4, 2, phnum);
	put(at + 6, 2, elf->is_32 ? 40 : 64);
	put(at + 8, 2, shoff ? 1 : 0);
}

static void put_load(const struct elf *elf, const struct load *load, size_t at)
{
	put(at, 4, load->type);
	if (elf->is_32) {
		put(at + 4, 4, load->offset);
		put(at + 8, 4, load->vaddr);
		put(at + 12, 4, load->vaddr);
		put(at + 16, 4, load->filesz);
		put(at + 20, 4, load->memsz);
		put(at + 24, 4, load->flags);
		put(at + 28, 4, load->align);
		return;
	}
	put(at + 4, 4, load->flags);
	put(at + 8, 8, load->offset);
	put(at + 16, 8, load->vaddr);
	put(at + 24, 8, load->vaddr);
	put(at + 32, 8, load->filesz);
	put(at + 40, 8, load->memsz);
	put(at + 48, 8, load->align);
}

/* load=VADDR,OFFSET,FILESZ,MEMSZ,FLAGS,ALIGN */
static bool parse_load(struct elf *elf, const char *text)
{
	struct load *load = &elf->load[elf->nr_loads];
	uint64_t *fields[] = { &load->vaddr, &load->offset, &load->filesz, &load->memsz,
			       &load->flags, &load->align };
	char *end = (char *)text;
	unsigned int i;

	if (elf->nr_loads == MAX_LOADS)
		return false;
	for (i = 0; i < 6; i++) {
		*fields[i] = strtoull(i ? end + 1 : end, &end, 0);
		if (*end != (i < 5 ? ',' : '\0'))
			return false;
	}
	load->type = PT_LOAD;
	elf->nr_loads++;
	return true;
}

static bool parse(struct elf *elf, const char *word)
{
	const char *value = strchr(word, '=');
	char *end;
	uint64_t number;
	size_t length;

	if (!value)
		return false;
	length = value++ - word;
	if (!strncmp(word, "load", length))
		return parse_load(elf, value);
	number = strtoull(value, &end, 0);
	if (*end || end == value)
		return false;

	if (!strncmp(word, "bits", length)) {
		elf->is_32 = number == 32;
	} else if (!strncmp(word, "msb", length)) {
		elf->is_msb = number;
	} else if (!strncmp(word, "type", length)) {
		elf->type = number;
	} else if (!strncmp(word, "machine", length)) {
		elf->machine = number;
	} else if (!strncmp(word, "phoff", length)) {
		elf->phoff = number;
	} else if (!strncmp(word, "table", length)) {
		elf->table = number;
	} else if (!strncmp(word, "phnum", length)) {
		elf->phnum = number;
		elf->phnum_given = true;
	} else if (!strncmp(word, "phentsize", length)) {
		elf->phentsize = number;
		elf->phentsize_given = true;
	} else if (!strncmp(word, "size", length)) {
		elf->size = number;
		elf->size_given = true;
	} else if (!strncmp(word, "xnum", length)) {
		elf->xnum = number;
	} else if (!strncmp(word, "interp", length)) {
		elf->interp = number;
	} else if (!strncmp(word, "flags_1", length)) {
		elf->flags_1 = number;
		elf->dynamic = true;
	} else {
		return false;
	}
	return true;
}

static void add_header(struct elf *elf, uint64_t type)
{
	elf->load[elf->nr_loads++] = (struct load){ .type = type, .flags = 4, .align = 8 };
}

/* DT_FLAGS_1 and the DT_NULL that ends it, for 64-bit files only. */
static size_t put_dynamic(struct elf *elf, size_t at)
{
	struct load *dynamic = &elf->load[elf->nr_loads - 1];

	put(at, 8, 0x6ffffffb);
	put(at + 8, 8, elf->flags_1);
	dynamic->vaddr = at;
	dynamic->offset = at;
	dynamic->filesz = 32;
	dynamic->memsz = 32;
	return at + 32;
}

/* The first @at bytes are the ELF header; what is behind it may lie elsewhere in the file. */
static int write_file(const struct elf *elf, const char *path, size_t at, size_t length)
{
	uint64_t size = length;
	unsigned int i;
	int fd;

	for (i = 0; i < elf->nr_loads; i++)
		if (elf->load[i].offset + elf->load[i].filesz > size)
			size = elf->load[i].offset + elf->load[i].filesz;
	if (elf->size_given)
		size = elf->size;
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (fd < 0 || pwrite(fd, bytes, at, 0) != (ssize_t)at ||
	    pwrite(fd, bytes + at, length - at, elf->table ? elf->table : at) !=
	    (ssize_t)(length - at) || ftruncate(fd, size) || close(fd)) {
		perror(path);
		return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct elf elf = { .type = 3, .machine = 62 };
	size_t at, length;
	unsigned int i;
	int a;

	for (a = 2; a < argc; a++) {
		if (!parse(&elf, argv[a])) {
			fprintf(stderr, "make-elf: '%s' is not understood\n", argv[a]);
			return 2;
		}
	}
	if (argc < 2) {
		fputs("Usage: make-elf FILE [bits=32] [msb=1] [type=N] [machine=N] [phoff=N]\n"
		      "       [table=OFFSET] [phnum=N] [phentsize=N] [xnum=N] [size=N] [interp=1] [flags_1=N]\n"
		      "       [load=VADDR,OFFSET,FILESZ,MEMSZ,FLAGS,ALIGN]...\n", stderr);
		return 2;
	}

	is_msb = elf.is_msb;
	at = elf.is_32 ? 52 : 64;
	if (elf.interp)
		add_header(&elf, PT_INTERP);
	if (elf.dynamic)
		add_header(&elf, PT_DYNAMIC);
	length = at + elf.nr_loads * (elf.is_32 ? 32 : 56);
	if (elf.dynamic)
		length = put_dynamic(&elf, length);
	for (i = 0; i < elf.nr_loads; i++)
		put_load(&elf, &elf.load[i], at + i * (elf.is_32 ? 32 : 56));
	if (!elf.phoff)
		elf.phoff = elf.table ? elf.table : at;
	/* With too many program headers their number is in section 0. */
	if (elf.xnum)
		put(length + (elf.is_32 ? 28 : 44), 4, elf.xnum);
	put_header(&elf, elf.xnum ? 0xffff : elf.phnum_given ? elf.phnum : elf.nr_loads,
		   elf.xnum ? length : 0);
	if (elf.xnum)
		length += elf.is_32 ? 40 : 64;
	return write_file(&elf, argv[1], at, length);
}
