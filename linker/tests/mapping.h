/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where in memory an address is, as the kernel says.
 * For programs that look whether they were loaded as they were linked.
 */
#ifndef MAPPING_H
#define MAPPING_H

#include <stdio.h>
#include <stdlib.h>

struct mapping {
	unsigned long start;
	unsigned long end;
	unsigned long offset;
	char permissions[5];
};

static inline struct mapping mapping_of(const void *address)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	struct mapping mapping;
	char line[4200];

	if (!maps) {
		perror("/proc/self/maps");
		exit(2);
	}
	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %4s %lx", &mapping.start, &mapping.end,
			   mapping.permissions, &mapping.offset) == 4 &&
		    (unsigned long)address - mapping.start < mapping.end - mapping.start) {
			fclose(maps);
			return mapping;
		}
	}
	fprintf(stderr, "%p is not mapped\n", address);
	exit(2);
}

#endif /* MAPPING_H */
