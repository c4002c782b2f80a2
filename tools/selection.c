// SPDX-License-Identifier: GPL-2.0
/*
 * The processes that somebody names: by process id, or by name.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "process.h"
#include "selection.h"
#include "util.h"

bool selection_add_pid(struct selection *selection, const char *string)
{
	uint64_t pid;

	if (!parse_decimal(string, &pid) || !pid)
		return false;
	selection->pids = must_alloc(reallocarray(selection->pids, selection->nr_pids + 1,
						  sizeof(*selection->pids)));
	selection->pids[selection->nr_pids++] = pid;
	return true;
}

bool selection_is_empty(const struct selection *selection)
{
	return !selection->nr_pids && !selection->nr_names;
}

bool selection_has(const struct selection *selection, unsigned int pid)
{
	size_t i;

	for (i = 0; i < selection->nr_pids; i++)
		if (selection->pids[i] == pid)
			return true;
	for (i = 0; i < selection->nr_names; i++)
		if (process_has_name(pid, selection->names[i]))
			return true;
	return false;
}

void selection_complain(const struct selection *selection)
{
	static bool said;
	size_t i;

	if (said)
		return;
	said = true;
	for (i = 0; i < selection->nr_pids; i++)
		complain("no process %" PRIu64 " with text of a file", selection->pids[i]);
	for (i = 0; i < selection->nr_names; i++)
		complain("no process '%s' with text of a file", selection->names[i]);
}

void selection_free(struct selection *selection)
{
	free(selection->pids);
}
