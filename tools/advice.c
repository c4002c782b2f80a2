// SPDX-License-Identifier: GPL-2.0
/*
 * What would change that a run of text is small.
 * Facts of the process and of its files are looked up where an answer needs
 * them; what cannot be found out is not claimed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "advice.h"
#include "judge.h"
#include "reasons.h"
#include "util.h"

/* Writers that are named; more are just more. */
#define MAX_WRITERS	3

/* ---- Where the text is linked to ---- */

static int open_and_free(char *path, uint64_t *size)
{
	int fd = open_regular(path, size);

	free(path);
	return fd;
}

static int open_mapped(const struct process *process, const struct smaps_mapping *mapping,
		       uint64_t *size)
{
	/* The first is the file itself even when its name is another's by now. */
	int fd = open_and_free(sysroot_path("/proc/%u/map_files/%" PRIx64 "-%" PRIx64, process->pid,
					    mapping->start, mapping->end), size);

	if (fd < 0)
		fd = open_and_free(sysroot_path("/proc/%u/root%s", process->pid, mapping->path),
				   size);
	if (fd < 0)
		fd = open_and_free(sysroot_path("%s", mapping->path), size);
	return fd;
}

/* The verdict of "hugetext check", and how far the linker put the text off. */
static enum verdict judge_mapped(const struct process *process,
				 const struct smaps_mapping *mapping, uint64_t *off)
{
	const struct hugetext_padding none = { 0 };
	struct judgement judgement;
	struct elf_file file;
	uint64_t size;
	size_t i;
	int fd = open_mapped(process, mapping, &size);

	*off = 0;
	if (fd < 0)
		return VERDICT_UNREADABLE;
	elf_version(EV_CURRENT);
	elf_file_read(&file, fd, size);
	judge(&file, &none, &judgement);
	for (i = 0; i < file.nr_segments; i++)
		if ((file.segment[i].p_flags & PF_X) && judgement.segment[i].delta)
			*off = HUGETEXT_REGION_SIZE - judgement.segment[i].delta;
	elf_file_free(&file);
	close(fd);
	return judgement.verdict;
}

static char *about_offset(const struct text_run *run, const struct process *process,
			  const struct state *state)
{
	const struct smaps_mapping *mapping = &run->mapping->smaps;
	uint64_t off = (mapping->start - mapping->offset) & (HUGETEXT_REGION_SIZE - 1);
	uint64_t started = process_start(process->pid), linked_off;
	enum verdict verdict = judge_mapped(process, mapping, &linked_off);
	char *how = linked_off ?
		say(", linked 0x%" PRIx64 " off (lld and mold do that)", linked_off) : say("%s", "");
	char *text;

	if (verdict == VERDICT_FIXED_BAD)
		text = say("the address is 0x%" PRIx64 " off%s: %s", off, how,
			   verdict_text(verdict));
	else if (!verdict_passes(verdict))
		text = say("the address is 0x%" PRIx64 " off: %s", off,
			   reason_change(HUGETEXT_WHY_OFFSET));
	else if (!started || !state->since)
		text = say("the address is 0x%" PRIx64 " off%s: restart the process with hugetext on",
			   off, how);
	else if (started < state->since)
		text = say("the address is 0x%" PRIx64
			   " off%s, mapped before hugetext was turned on: restart the process",
			   off, how);
	else
		text = say("the address is 0x%" PRIx64
			   " off%s: its loader or the application chose it, it is not known why",
			   off, how);
	free(how);
	return text;
}

/* ---- Who writes ---- */

/* What fdinfo says: "flags:	0100002", "ino:	1234"; 0 where it does not say. */
struct open_file {
	unsigned long flags;
	uint64_t inode;
};

static bool read_open_file(unsigned int pid, const char *fd, struct open_file *open)
{
	FILE *file = sysroot_open("/proc/%u/fdinfo/%s", pid, fd);
	char *line = NULL;
	size_t size = 0;

	memset(open, 0, sizeof(*open));
	if (!file)
		return false;
	while (getline(&line, &size, file) > 0) {
		if (strncmp(line, "flags:", 6) == 0)
			open->flags = strtoul(line + 6, NULL, 8);
		if (strncmp(line, "ino:", 4) == 0)
			open->inode = strtoull(line + 4, NULL, 10);
	}
	free(line);
	fclose(file);
	return true;
}

/*
 * In stored trees links lead nowhere, but they have the name. Nor is any followed
 * that may lead to a server which does not answer.
 */
static bool leads_to(const char *path, const struct smaps_mapping *mapping)
{
	char target[PATH_MAX];
	struct statx status;
	ssize_t length;

	length = readlink(path, target, sizeof(target) - 1);
	if (length < 0)
		return false;
	target[length] = '\0';
	if (strcmp(target, mapping->path) == 0)
		return true;
	return statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_INO, &status) == 0 &&
	       status.stx_ino == mapping->inode && status.stx_dev_major == mapping->major &&
	       status.stx_dev_minor == mapping->minor;
}

static bool is_open_for_writing(unsigned int pid, const char *fd, const char *path,
				const struct smaps_mapping *mapping)
{
	struct open_file open;

	return read_open_file(pid, fd, &open) && (open.flags & O_ACCMODE) != O_RDONLY &&
	       (!open.inode || open.inode == mapping->inode) && leads_to(path, mapping);
}

static bool has_open_for_writing(unsigned int pid, const struct smaps_mapping *mapping)
{
	char *path = sysroot_path("/proc/%u/fd", pid), *link;
	DIR *directory = opendir(path);
	struct dirent *entry;
	bool found = false;

	while (directory && !found && (entry = readdir(directory))) {
		link = say("%s/%s", path, entry->d_name);
		found = entry->d_name[0] != '.' &&
			is_open_for_writing(pid, entry->d_name, link, mapping);
		free(link);
	}
	if (directory)
		closedir(directory);
	free(path);
	return found;
}

struct search {
	const struct smaps_mapping *file;
	bool found;
};

static void look_for_writable(const struct smaps_mapping *mapping, void *data)
{
	struct search *search = data;

	if (mapping->write && mapping->shared && smaps_same_file(mapping, search->file))
		search->found = true;
}

static bool has_mapped_for_writing(unsigned int pid, const struct smaps_mapping *mapping)
{
	struct search search = { .file = mapping };
	FILE *file = sysroot_open("/proc/%u/maps", pid);
	unsigned long not_understood;

	if (!file)
		return false;
	smaps_read(file, look_for_writable, &search, &not_understood);
	fclose(file);
	return search.found;
}

static char *append(char *list, char *item)
{
	char *longer = say("%s%s%s", list ? list : "", list ? ", " : "", item);

	free(list);
	free(item);
	return longer;
}

static char *about_writers(const struct smaps_mapping *mapping)
{
	unsigned int *pids, nr_found = 0;
	char *list = NULL, *text;
	size_t i, nr = 0;

	pids = process_list(&nr);
	for (i = 0; pids && i < nr && nr_found <= MAX_WRITERS; i++) {
		char *name;

		if (!has_open_for_writing(pids[i], mapping) &&
		    !has_mapped_for_writing(pids[i], mapping))
			continue;
		if (nr_found++ == MAX_WRITERS) {
			list = append(list, say("more"));
			break;
		}
		name = sysroot_line("/proc/%u/comm", pids[i]);
		list = append(list, say("pid %u (%s)", pids[i], name ? name : "?"));
		free(name);
	}
	free(pids);
	if (!list)
		return say("%s; no process was found that has it open",
			   reason_change(HUGETEXT_WHY_OPEN_FOR_WRITE));
	text = say("open for writing by %s: %s", list,
		   reason_change(HUGETEXT_WHY_OPEN_FOR_WRITE));
	free(list);
	return text;
}

/* ---- File systems, hooks, cgroups, the module itself ---- */

/* The type of the file system of a device, or NULL: after the " - " of mountinfo. */
static char *file_system(unsigned int pid, const struct smaps_mapping *mapping)
{
	FILE *file = sysroot_open("/proc/%u/mountinfo", pid);
	char *line = NULL, *type = NULL, *device;
	size_t size = 0;

	if (!file)
		return NULL;
	device = say(" %" PRIu64 ":%" PRIu64 " ", mapping->major, mapping->minor);
	while (!type && getline(&line, &size, file) > 0) {
		char *dash = strstr(line, " - ");

		/* The device is the third field, before any name. */
		if (dash && strstr(line, device) && strstr(line, device) < strchr(line, '/'))
			type = must_alloc(strndup(dash + 3, strcspn(dash + 3, " ")));
	}
	free(device);
	free(line);
	fclose(file);
	return type;
}

static char *about_file_system(const struct text_run *run, const struct process *process,
			       const struct state *state)
{
	char *type = file_system(process->pid, &run->mapping->smaps);
	const char *rothp = state_knob(state, "rothp");
	char *text;

	text = say("%s, mechanism %s%s: %s", type ? type : "a file system not known by name",
		   state->mechanism ? state->mechanism : "unknown",
		   rothp && strcmp(rothp, "N") == 0 ? ", rothp=N" : "",
		   reason_change(HUGETEXT_WHY_FILESYSTEM));
	free(type);
	return text;
}

static char *about_hooks(const struct state *state)
{
	char *list = NULL, *text;
	size_t i;

	for (i = 0; i < state->hooks.nr; i++)
		if (strncmp(state->hooks.pair[i].value, "missing", strlen("missing")) == 0)
			list = append(list, say("%s", state->hooks.pair[i].name));
	if (!list)
		return say("%s", reason_change(HUGETEXT_WHY_NO_HOOK));
	text = say("missing: %s; another kernel", list);
	free(list);
	return text;
}

/* 0::/system.slice/mariadb.service, or the line of the memory controller. */
static char *about_cgroup(unsigned int pid)
{
	FILE *file = sysroot_open("/proc/%u/cgroup", pid);
	char *line = NULL, *group = NULL, *text;
	size_t size = 0;
	ssize_t length;

	while (file && (length = getline(&line, &size, file)) > 0) {
		char *name = strchr(line, ':');

		if (line[length - 1] == '\n')
			line[length - 1] = '\0';
		if (name && (strncmp(name, "::", 2) == 0 || strncmp(name, ":memory:", 8) == 0)) {
			free(group);
			group = must_alloc(strdup(strchr(name + 1, ':') + 1));
		}
	}
	if (file)
		fclose(file);
	free(line);
	text = group ? say("a higher memory.max and memory.high of %s", group) :
		       say("%s", reason_change(HUGETEXT_WHY_MEMCG_LIMIT));
	free(group);
	return text;
}

static char *about_unknown(const struct text_run *run, const struct kernel_text *kernel,
			   const struct state *state)
{
	if (!state->loaded)
		return say("%s", REMEDY_LOAD);
	if (kernel->error == EACCES || kernel->error == EPERM)
		return say("only root may ask the module: run it as root");
	if (kernel->error == ENOENT && state->debug_trouble)
		return say("%s", state->debug_trouble);
	if (kernel->error)
		return say("the module could not be asked: %s", error_text(kernel->error));
	if (!run->told)
		return say("the module did not tell of it: ask again");
	return say("nothing stands against it now; memory pressure may have taken it back, and "
		   "turning hugetext off and on again looks at all processes anew");
}

char *advice(const struct text_run *run, const struct process *process,
	     const struct state *state, const struct kernel_text *kernel)
{
	enum hugetext_why why = reason_of_word(run->reason);

	switch (why) {
	case HUGETEXT_WHY_NR:
		if (strcmp(run->reason, REASON_UNKNOWN) == 0)
			return about_unknown(run, kernel, state);
		return say("a reason of a later version of the module");
	case HUGETEXT_WHY_OK:
		return say("%s", run->state == TEXT_HUGE ? "nothing" : "it passes");
	case HUGETEXT_WHY_OFFSET:
		return about_offset(run, process, state);
	case HUGETEXT_WHY_OPEN_FOR_WRITE:
		return about_writers(&run->mapping->smaps);
	case HUGETEXT_WHY_FILESYSTEM:
		return about_file_system(run, process, state);
	case HUGETEXT_WHY_NO_HOOK:
		return about_hooks(state);
	case HUGETEXT_WHY_MEMCG_LIMIT:
		return about_cgroup(process->pid);
	case HUGETEXT_WHY_OFF:
		if (!state->loaded)
			return say("%s", REMEDY_LOAD);
		return say("%s", reason_change(why));
	default:
		return say("%s", reason_change(why));
	}
}
