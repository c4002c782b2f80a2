/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The processes that somebody names: by process id, or by name.
 */
#ifndef HUGETEXT_SELECTION_H
#define HUGETEXT_SELECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct selection {
	uint64_t *pids;
	size_t nr_pids;
	char **names;		/* the caller's */
	size_t nr_names;
	bool all;		/* also those that there is little to say of */
};

/* False: that is no process id. */
bool selection_add_pid(struct selection *selection, const char *string);
bool selection_is_empty(const struct selection *selection);
bool selection_has(const struct selection *selection, unsigned int pid);
/* Complains, once per run, that there is nothing of what was named. */
void selection_complain(const struct selection *selection);
void selection_free(struct selection *selection);

#endif /* HUGETEXT_SELECTION_H */
