// SPDX-License-Identifier: GPL-2.0
/*
 * The reader of ELF files.
 * Only the ELF header and the program headers are read; sections are of no
 * interest to whoever maps a file.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../kmod/core/layout.h"
#include "elf-file.h"
#include "util.h"

/* A dynamic section has some dozens of entries; no file makes us read more. */
#define MAX_DYNAMIC_SIZE	65536

static void bad(struct elf_file *file, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void bad(struct elf_file *file, const char *format, ...)
{
	va_list arguments;

	file->kind = ELF_FILE_BAD;
	va_start(arguments, format);
	if (vasprintf(&file->problem, format, arguments) < 0)
		must_alloc(NULL);
	va_end(arguments);
}

/* How many program headers there are; false when that makes no sense. */
static bool count_headers(struct elf_file *file, Elf *elf, size_t *nr)
{
	const GElf_Ehdr *header = &file->header;
	uint64_t expected;

	if (!header->e_phnum) {
		bad(file, "no program headers");
		return false;
	}
	if (elf_getphdrnum(elf, nr)) {
		bad(file, "the program headers are outside the file");
		return false;
	}
	expected = header->e_ident[EI_CLASS] == ELFCLASS64 ? sizeof(Elf64_Phdr) :
		   sizeof(Elf32_Phdr);
	if (header->e_phentsize != expected) {
		bad(file, "a program header has %u bytes instead of %u",
		    header->e_phentsize, (unsigned int)expected);
		return false;
	}
	/*
	 * More than fit into e_phnum are counted in section 0. Neither the
	 * kernel nor any dynamic loader takes such a file.
	 */
	if (header->e_phnum == PN_XNUM) {
		bad(file, "more program headers than any loader takes");
		return false;
	}
	/* libelf reports only as many as fit into the file. */
	if (*nr != header->e_phnum) {
		bad(file, "the program headers are outside the file");
		return false;
	}
	if (*nr > HUGETEXT_MAX_PHNUM) {
		bad(file, "%zu program headers, more than %u make no sense", *nr,
		    HUGETEXT_MAX_PHNUM);
		return false;
	}
	return true;
}

/* A static PIE is told from a library by nothing else. */
static bool says_pie(Elf *elf, const GElf_Phdr *dynamic)
{
	Elf_Data *data;
	GElf_Dyn entry;
	int i;

	if (!dynamic->p_filesz || dynamic->p_filesz > MAX_DYNAMIC_SIZE)
		return false;
	data = elf_getdata_rawchunk(elf, dynamic->p_offset, dynamic->p_filesz, ELF_T_DYN);
	for (i = 0; data && gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++)
		if (entry.d_tag == DT_FLAGS_1)
			return entry.d_un.d_val & DF_1_PIE;
	return false;
}

static bool read_segments(struct elf_file *file, Elf *elf, uint64_t size, size_t nr)
{
	GElf_Phdr *segment;
	size_t i;

	file->segment = must_alloc(calloc(nr, sizeof(*segment)));
	for (i = 0; i < nr; i++) {
		segment = &file->segment[file->nr_segments];
		if (!gelf_getphdr(elf, i, segment)) {
			bad(file, "program header %zu cannot be read", i);
			return false;
		}
		if (segment->p_type == PT_INTERP)
			file->interp = true;
		if (segment->p_type == PT_DYNAMIC)
			file->pie = says_pie(elf, segment);
		if (segment->p_type != PT_LOAD)
			continue;
		file->nr_segments++;
		if (segment->p_filesz > size || segment->p_offset > size - segment->p_filesz) {
			bad(file, "PT_LOAD %zu reaches past the end of the file",
			    file->nr_segments - 1);
			return false;
		}
	}
	return true;
}

static void read_headers(struct elf_file *file, Elf *elf, uint64_t size)
{
	size_t nr;

	if (!elf || elf_kind(elf) != ELF_K_ELF) {
		file->kind = ELF_FILE_NOT_ELF;
		return;
	}
	if (!gelf_getehdr(elf, &file->header)) {
		bad(file, "the ELF header cannot be read");
		return;
	}
	if (file->header.e_type != ET_EXEC && file->header.e_type != ET_DYN) {
		file->kind = ELF_FILE_OTHER;
		return;
	}
	if (!count_headers(file, elf, &nr) || !read_segments(file, elf, size, nr))
		return;
	file->kind = ELF_FILE_PROGRAM;
}

static void unreadable(struct elf_file *file, int error)
{
	file->kind = ELF_FILE_UNREADABLE;
	file->error = error;
	file->nr_segments = 0;
	free(file->problem);
	file->problem = NULL;
}

/*
 * libelf takes a file that cannot be read for a file that is wrong; what the
 * kernel said of it is left in errno. Files of /proc say that they are empty,
 * and libelf reads nothing of them.
 */
void elf_file_read(struct elf_file *file, int fd, uint64_t size)
{
	char first;
	Elf *elf;

	memset(file, 0, sizeof(*file));
	file->size = size;
	errno = 0;
	if (pread(fd, &first, 1, 0) < 0) {
		unreadable(file, errno);
		return;
	}
	elf = elf_begin(fd, ELF_C_READ, NULL);
	read_headers(file, elf, size);
	/* After EINTR libelf tries again. */
	if (errno && errno != EINTR)
		unreadable(file, errno);
	elf_end(elf);
}

void elf_file_free(struct elf_file *file)
{
	free(file->problem);
	free(file->segment);
}
