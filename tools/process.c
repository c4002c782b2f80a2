// SPDX-License-Identifier: GPL-2.0
/*
 * The processes of /proc and their text.
 * A process may vanish between any two reads; that is no error here.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../kmod/core/layout.h"
#include "process.h"
#include "util.h"

static int compare_pids(const void *a, const void *b)
{
	unsigned int x = *(const unsigned int *)a, y = *(const unsigned int *)b;

	return x < y ? -1 : x > y;
}

unsigned int *process_list(size_t *nr)
{
	char *path = sysroot_path("/proc");
	DIR *directory = opendir(path);
	unsigned int *pids = NULL;
	struct dirent *entry;
	size_t room = 0;
	uint64_t pid;

	*nr = 0;
	if (!directory)
		complain("%s: %s: is /proc mounted, is --sysroot right?", path, strerror(errno));
	free(path);
	if (!directory)
		return NULL;

	for (;;) {
		if (*nr == room) {
			room = room ? 2 * room : 256;
			pids = must_alloc(reallocarray(pids, room, sizeof(*pids)));
		}
		entry = readdir(directory);
		if (!entry)
			break;
		if (parse_decimal(entry->d_name, &pid) && pid <= INT_MAX)
			pids[(*nr)++] = pid;
	}
	closedir(directory);
	qsort(pids, *nr, sizeof(*pids), compare_pids);
	return pids;
}

static bool executable_has_name(unsigned int pid, const char *name)
{
	static const char deleted[] = " (deleted)";
	char *path = sysroot_path("/proc/%u/exe", pid);
	char target[PATH_MAX + sizeof(deleted)], *base;
	ssize_t length = readlink(path, target, sizeof(target) - 1);

	free(path);
	if (length < 0)
		return false;
	target[length] = '\0';
	base = strrchr(target, '/');
	base = base ? base + 1 : target;
	if (strcmp(base, name) == 0)
		return true;

	length = strlen(base) - strlen(deleted);
	if (length <= 0 || strcmp(base + length, deleted) != 0)
		return false;
	base[length] = '\0';
	return strcmp(base, name) == 0;
}

bool process_has_name(unsigned int pid, const char *name)
{
	char *comm = sysroot_line("/proc/%u/comm", pid);
	bool same = comm && strcmp(comm, name) == 0;

	free(comm);
	return same || executable_has_name(pid, name);
}

static void add_mapping(const struct smaps_mapping *mapping, void *data)
{
	struct process *process = data;
	struct text_mapping *text;
	uint64_t first, last;

	if (!mapping->exec || !mapping->inode)
		return;

	/* One more at a time would be slow, a doubling needs no counter of its own. */
	if (!(process->nr_mappings & (process->nr_mappings - 1)))
		process->mapping = must_alloc(reallocarray(process->mapping,
				process->nr_mappings ? 2 * process->nr_mappings : 1,
				sizeof(*process->mapping)));
	text = &process->mapping[process->nr_mappings++];
	text->smaps = *mapping;
	text->smaps.path = must_alloc(strdup(mapping->path));
	text->text_kb = (mapping->end - mapping->start) / 1024;
	text->huge_kb = mapping->file_huge_kb + mapping->shmem_huge_kb;
	text->possible_kb = 0;
	if (hugetext_whole_regions(mapping->start, mapping->end, mapping->offset,
				   &first, &last) == HUGETEXT_WHY_OK)
		text->possible_kb = (last - first) / 1024;

	process->text_kb += text->text_kb;
	process->huge_kb += text->huge_kb;
	process->possible_kb += text->possible_kb;
}

/* THP_enabled:	1 */
bool process_disables_thp(unsigned int pid)
{
	static const char name[] = "THP_enabled:";
	FILE *file = sysroot_open("/proc/%u/status", pid);
	bool disabled = false;
	char *line = NULL;
	size_t size = 0;

	if (!file)
		return false;
	while (getline(&line, &size, file) > 0)
		if (strncmp(line, name, strlen(name)) == 0)
			disabled = line[strlen(name) + strspn(line + strlen(name), " \t")] == '0';
	free(line);
	fclose(file);
	return disabled;
}

int process_read(struct process *process, unsigned int pid, unsigned long *not_understood)
{
	FILE *file;
	int error;

	memset(process, 0, sizeof(*process));
	process->pid = pid;
	process->name = sysroot_line("/proc/%u/comm", pid);
	if (!process->name)
		return errno == ENODATA ? ESRCH : errno;
	file = sysroot_open("/proc/%u/smaps", pid);
	if (!file)
		return errno;
	error = smaps_read(file, add_mapping, process, not_understood);
	fclose(file);
	return error;
}

uint64_t process_start(unsigned int pid)
{
	char *line = sysroot_line("/proc/%u/stat", pid);
	/* The name in brackets may hold anything, brackets too. */
	char *field = line ? strrchr(line, ')') : NULL;
	uint64_t start = 0;
	unsigned int i;

	/* It stands 20 fields behind. */
	for (i = 0; field && i < 20; i++) {
		field = strchr(field, ' ');
		field = field ? field + 1 : NULL;
	}
	if (field) {
		field[strcspn(field, " ")] = '\0';
		if (!parse_decimal(field, &start))
			start = 0;
	}
	free(line);
	return start;
}

static void add_huge(const struct smaps_mapping *mapping, void *data)
{
	*(uint64_t *)data += mapping->file_huge_kb + mapping->shmem_huge_kb;
}

bool process_may_have_huge(unsigned int pid)
{
	FILE *file = sysroot_open("/proc/%u/smaps_rollup", pid);
	unsigned long not_understood;
	uint64_t huge_kb = 0;
	int error;

	if (!file)
		return true;
	error = smaps_read(file, add_huge, &huge_kb, &not_understood);
	fclose(file);
	return error || not_understood || huge_kb;
}

void process_free(struct process *process)
{
	size_t i;

	for (i = 0; i < process->nr_mappings; i++)
		free((char *)process->mapping[i].smaps.path);
	free(process->mapping);
	free(process->name);
}
