/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The processes of /proc and their text.
 * Counts in kB; what cannot be read is told apart from what is not there.
 */
#ifndef HUGETEXT_PROCESS_H
#define HUGETEXT_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "smaps.h"

struct text_mapping {
	struct smaps_mapping smaps;	/* with a path of its own */
	uint64_t text_kb;
	uint64_t huge_kb;
	uint64_t possible_kb;	/* in whole regions where it lies now */
};

struct process {
	unsigned int pid;
	char *name;		/* as in /proc/PID/comm */
	uint64_t text_kb;	/* executable mappings of files */
	uint64_t huge_kb;	/* of these, what is mapped by 2 MiB pages */
	uint64_t possible_kb;
	struct text_mapping *mapping;
	size_t nr_mappings;
};

/* The process ids below /proc, ascending; the caller frees them. NULL: complained. */
unsigned int *process_list(size_t *nr);

/* True when @name is the process's comm or the last part of its executable. */
bool process_has_name(unsigned int pid, const char *name);

/*
 * Return 0, or an errno: ENOENT or ESRCH for a process that has gone, EACCES
 * or EPERM for one of somebody else. To be freed in either case.
 */
int process_read(struct process *process, unsigned int pid, unsigned long *not_understood);

/* When it started, in clock ticks since boot; 0: that cannot be told. */
uint64_t process_start(unsigned int pid);

/* PR_SET_THP_DISABLE, as far as the kernel tells. */
bool process_disables_thp(unsigned int pid);

/*
 * A quick look: does the process map any file or tmpfs by 2 MiB pages?
 * Where that cannot be told, the answer is yes.
 */
bool process_may_have_huge(unsigned int pid);

void process_free(struct process *process);

#endif /* HUGETEXT_PROCESS_H */
