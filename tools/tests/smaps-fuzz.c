// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzer of the reader of smaps: bytes taken for such a file.
 * What it reports must be mappings that could exist.
 */
#include <stdlib.h>
#include <string.h>

#include "../smaps.h"

#define must(condition)		\
do {				\
	if (!(condition))	\
		abort();	\
} while (0)

static void check_mapping(const struct smaps_mapping *mapping, void *data)
{
	uint64_t size_kb = (mapping->end - mapping->start) / 1024;

	must(mapping->start < mapping->end);
	must(!((mapping->start | mapping->end | mapping->offset) & 4095));
	must(mapping->file_huge_kb <= size_kb && mapping->shmem_huge_kb <= size_kb);
	must(mapping->path && !strchr(mapping->path, '\n') && *mapping->path != ' ');
	(*(unsigned long *)data)++;
}

static unsigned long count_lines(const uint8_t *data, size_t size)
{
	unsigned long lines = 1;
	size_t i;

	for (i = 0; i < size; i++)
		lines += data[i] == '\n';
	return lines;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned long mappings = 0, not_understood;
	FILE *file;

	if (!size)
		return 0;
	file = fmemopen((void *)data, size, "rb");
	must(file);
	must(smaps_read(file, check_mapping, &mappings, &not_understood) == 0);
	must(mappings + not_understood <= count_lines(data, size));
	fclose(file);
	return 0;
}
