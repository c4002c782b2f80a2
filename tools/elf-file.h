/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The reader of ELF files.
 * Any class and byte order; takes nothing in the file for granted, and names
 * the first thing that is wrong instead of guessing.
 */
#ifndef HUGETEXT_ELF_FILE_H
#define HUGETEXT_ELF_FILE_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum elf_kind {
	ELF_FILE_PROGRAM,	/* ET_EXEC or ET_DYN, segments are set */
	ELF_FILE_OTHER,		/* object file, core dump: never mapped as text */
	ELF_FILE_NOT_ELF,
	ELF_FILE_BAD,		/* @problem says what is wrong */
	ELF_FILE_UNREADABLE,	/* @error says why */
};

struct elf_file {
	enum elf_kind kind;
	char *problem;
	uint64_t size;		/* bytes */
	int error;		/* errno of the read that failed */
	GElf_Ehdr header;	/* in native byte order; not set for NOT_ELF */
	GElf_Phdr *segment;	/* the PT_LOADs, in the order of the file */
	size_t nr_segments;
	bool interp;		/* names a dynamic loader: PT_INTERP */
	bool pie;		/* says that it is a program: DF_1_PIE */
};

/*
 * @fd is a regular file, @size its size; elf_version() has been called. To be
 * freed in every case.
 */
void elf_file_read(struct elf_file *file, int fd, uint64_t size);
void elf_file_free(struct elf_file *file);

#endif /* HUGETEXT_ELF_FILE_H */
