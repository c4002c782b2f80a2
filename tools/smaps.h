/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The reader of /proc/PID/maps, smaps and smaps_rollup.
 * Takes what it knows and passes over what it does not: later kernels add
 * fields, and file names may hold nearly anything.
 */
#ifndef HUGETEXT_SMAPS_H
#define HUGETEXT_SMAPS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* What VmFlags says of a mapping, as far as it is of interest. */
#define SMAPS_NOHUGEPAGE	1u
#define SMAPS_USERFAULTFD	2u
#define SMAPS_SPECIAL		4u	/* of devices, or huge pages of another kind */

struct smaps_mapping {
	uint64_t start;		/* multiples of the page size, start < end */
	uint64_t end;
	uint64_t offset;	/* bytes, a multiple of the page size */
	uint64_t major;		/* of the device that the file is on */
	uint64_t minor;
	uint64_t inode;		/* 0 where no file is mapped */
	bool exec;
	bool write;
	bool shared;
	/* All below are 0 in maps, which has no fields. */
	uint64_t file_huge_kb;	/* FilePmdMapped */
	uint64_t shmem_huge_kb;	/* ShmemPmdMapped: text on tmpfs */
	uint64_t anonymous_kb;	/* private copies */
	unsigned int flags;	/* of SMAPS_, from VmFlags */
	const char *path;	/* as the kernel writes it: a newline is \012 */
};

/* Are both mappings of one file? */
bool smaps_same_file(const struct smaps_mapping *a, const struct smaps_mapping *b);

/**
 * smaps_read() - read maps, smaps or smaps_rollup
 * @file: where from
 * @each: called once for each mapping when all its fields are known
 * @data: for @each
 * @not_understood: how many lines were passed over
 *
 * Return: 0, or the errno of a read that failed, ESRCH for a process that
 * has gone meanwhile.
 */
int smaps_read(FILE *file, void (*each)(const struct smaps_mapping *mapping, void *data),
	       void *data, unsigned long *not_understood);

#endif /* HUGETEXT_SMAPS_H */
