// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzer of the checker: bytes taken for a whole file.
 * They go through a real file, as in hugetext check: libelf reads those in
 * another way than memory.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../judge.h"

#define must(condition)		\
do {				\
	if (!(condition))	\
		abort();	\
} while (0)

static void check_judgement(const struct elf_file *file, const struct judgement *judgement,
			    bool padded)
{
	uint64_t huge = 0, text = 0;
	size_t i;

	for (i = 0; i < file->nr_segments; i++) {
		const struct judged_segment *judged = &judgement->segment[i];

		must(judged->delta < HUGETEXT_REGION_SIZE);
		must(judged->huge_bytes % HUGETEXT_PAGE_SIZE == 0);
		must(judged->huge_bytes < file->segment[i].p_filesz + 2 * HUGETEXT_PAGE_SIZE);
		must(!judged->huge_bytes || (file->segment[i].p_flags & (PF_X | PF_W)) == PF_X);
		huge += judged->huge_bytes;
		if (file->segment[i].p_flags & PF_X)
			text += file->segment[i].p_filesz;
	}
	must(judgement->huge_bytes == huge);
	/* Text segments side by side are one mapping, and have regions in common. */
	must(padded || huge % HUGETEXT_REGION_SIZE == 0);
	must(judgement->text_bytes == text);
	must(verdict_passes(judgement->verdict) == (huge != 0));
	must((judgement->why == HUGETEXT_WHY_OK) == (huge != 0));
	must(!huge || file->kind == ELF_FILE_PROGRAM);
}

static void check_segments(const struct elf_file *file, size_t size)
{
	size_t i;

	must(file->nr_segments <= HUGETEXT_MAX_PHNUM);
	must((file->kind == ELF_FILE_BAD) == (file->problem != NULL));
	if (file->kind != ELF_FILE_PROGRAM)
		return;
	for (i = 0; i < file->nr_segments; i++) {
		must(file->segment[i].p_type == PT_LOAD);
		must(file->segment[i].p_filesz <= size);
		must(file->segment[i].p_offset <= size - file->segment[i].p_filesz);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct judgement judgement;
	struct elf_file file;
	size_t pretended = size;
	int fd;

	elf_version(EV_CURRENT);
	fd = memfd_create("elf-fuzz", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	/* A long hole behind the bytes makes room for text of several regions. */
	if (size && data[size - 1] & 1) {
		pretended = 64 << 20;
		if (ftruncate(fd, pretended))
			abort();
	}
	elf_file_read(&file, fd, pretended);
	must(file.kind != ELF_FILE_UNREADABLE);
	check_segments(&file, pretended);
	judge(&file, &(struct hugetext_padding) { 0 }, &judgement);
	check_judgement(&file, &judgement, false);
	judge(&file, &(struct hugetext_padding) { .threshold = 1 + size, .rodata = size & 1 },
	      &judgement);
	check_judgement(&file, &judgement, true);
	elf_file_free(&file);
	close(fd);
	return 0;
}
