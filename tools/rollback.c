// SPDX-License-Identifier: GPL-2.0
/*
 * hugetext rollback: takes huge text back from a process, a file or all files,
 * and says what remains and why. What is said is what /proc says afterwards.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hugetext.h"
#include "knob.h"
#include "process.h"
#include "state.h"
#include "util.h"

/* What is counted: the huge text of one process, of one file, or of all. */
struct scope {
	unsigned int pid;			/* 0: of all processes */
	const struct smaps_mapping *file;	/* a mapping of it; NULL: of all files */
};

struct count {
	uint64_t kb;
	uint64_t shmem_kb;	/* of these on tmpfs */
	size_t processes;	/* with any */
	size_t unread;
};

/* For the mapping that starts at @start. */
static void take_mapping(const struct smaps_mapping *mapping, void *data)
{
	struct smaps_mapping *wanted = data;

	if (mapping->start == wanted->start)
		*wanted = *mapping;
}

/*
 * The file as /proc names it: the device of stat(2) is another one on btrfs and
 * overlayfs, so a mapping of our own has to tell. False with errno set.
 */
static bool identify(const char *path, struct smaps_mapping *file)
{
	unsigned long not_understood;
	FILE *maps = NULL;
	uint64_t size;
	void *mapped;
	int fd = open_regular(path, &size);

	if (fd < 0)
		return false;
	memset(file, 0, sizeof(*file));
	mapped = mmap(NULL, 1, PROT_READ, MAP_PRIVATE, fd, 0);
	if (mapped != MAP_FAILED)
		maps = fopen("/proc/self/maps", "re");
	if (maps) {
		file->start = (uintptr_t)mapped;
		smaps_read(maps, take_mapping, file, &not_understood);
		fclose(maps);
	}
	if (mapped != MAP_FAILED)
		munmap(mapped, 1);
	close(fd);
	return file->inode;
}

static void count_process(struct count *count, unsigned int pid,
			  const struct smaps_mapping *file)
{
	unsigned long not_understood;
	struct process process;
	uint64_t kb = 0;
	size_t i;
	int error = process_read(&process, pid, &not_understood);

	if (error && error != ENOENT && error != ESRCH)
		count->unread++;
	for (i = 0; !error && i < process.nr_mappings; i++) {
		const struct text_mapping *text = &process.mapping[i];

		if (file && !smaps_same_file(&text->smaps, file))
			continue;
		kb += text->huge_kb;
		count->shmem_kb += text->smaps.shmem_huge_kb;
	}
	count->kb += kb;
	count->processes += kb > 0;
	process_free(&process);
}

static void count_scope(struct count *count, const struct scope *scope)
{
	unsigned int *pids;
	size_t i, nr = 0;

	memset(count, 0, sizeof(*count));
	if (scope->pid) {
		count_process(count, scope->pid, NULL);
		return;
	}
	pids = process_list(&nr);
	count->unread = !pids;
	for (i = 0; pids && i < nr; i++)
		if (process_may_have_huge(pids[i]))
			count_process(count, pids[i], scope->file);
	free(pids);
}

/* Why is there anything left? The answer of the kernel, and what is mapped, tell. */
static const char *why_left(const struct count *after, const struct scope *scope, int error)
{
	if (error == EOPNOTSUPP || (after->kb && after->shmem_kb == after->kb))
		return "hugetext serves no files there; on a tmpfs they are the only copy of the file";
	if (error == ENOMEM)
		return "no memory, or the process changes its mappings all the time: try again";
	if (error == EBUSY)
		return "pages are in use or being written at this moment: try again";
	if (scope->pid)
		return "the process changed its mappings meanwhile: try again";
	if (scope->file)
		return "the kernel or the file system made them without hugetext";
	return "on a tmpfs, in use at this moment, or made without hugetext: hugetext why PID";
}

/* Returns an exit code. */
static int report(const char *what, const struct scope *scope, const struct count *before,
		  int error)
{
	struct count after;
	char *safe = printable(what);

	count_scope(&after, scope);
	printf("%s: %" PRIu64 " kB of text were on 2 MiB pages in %zu process%s, "
	       "%" PRIu64 " kB remain", safe, before->kb, before->processes,
	       before->processes == 1 ? "" : "es", after.kb);
	free(safe);
	if (after.kb || error)
		printf(": %s", why_left(&after, scope, error));
	putchar('\n');
	if (after.unread) {
		complain("%zu processes could not be read: run it as root", after.unread);
		return HUGETEXT_TROUBLE;
	}
	return after.kb || error ? HUGETEXT_FAILED : HUGETEXT_FINE;
}

/* With these the answer is the rest of the story rather than the end of it. */
static bool is_answer(int error)
{
	return !error || error == EBUSY || error == ENOMEM || error == EOPNOTSUPP;
}

static int roll_back(const char *what, const struct scope *scope)
{
	struct count before;
	int error;

	count_scope(&before, scope);
	error = sysroot_write(KNOB_ROLLBACK, what);
	if (is_answer(error))
		return report(what, scope, &before, error);
	if (error == ESRCH) {
		complain("rollback: no process %s with memory of its own", what);
		return HUGETEXT_TROUBLE;
	}
	if (error == EINVAL) {
		complain("rollback: %s: neither a process nor a regular file", what);
		return HUGETEXT_TROUBLE;
	}
	return complain_unwritable(KNOB_ROLLBACK, error);
}

static int roll_back_process(const char *argument, uint64_t pid)
{
	struct scope scope = { .pid = pid };

	if (!pid || pid > INT_MAX) {
		complain("rollback: '%s' is not a process id", argument);
		return HUGETEXT_TROUBLE;
	}
	return roll_back(argument, &scope);
}

static int roll_back_file(const char *argument)
{
	struct smaps_mapping file;
	struct scope scope = { .file = &file };
	char *path;
	int result;

	errno = 0;
	path = realpath(argument, NULL);
	if (!path || !identify(path, &file)) {
		complain("rollback: '%s' is neither a process id nor a file that can be mapped: %s",
			 argument, errno ? error_text(errno) : "/proc does not tell of it");
		free(path);
		return HUGETEXT_TROUBLE;
	}
	result = roll_back(path, &scope);
	free(path);
	return result;
}

/* What is on would begin anew at once. */
static int roll_back_all(void)
{
	static const struct scope scope;
	char *enabled = sysroot_line(KNOB_ENABLED);
	int result = HUGETEXT_FINE;

	if (!enabled)
		return complain_unwritable(KNOB_ENABLED, errno);
	if (strcmp(enabled, "0") != 0)
		result = set_enabled(0);
	free(enabled);
	return result ? result : roll_back("all", &scope);
}

static void usage(void)
{
	fputs("Usage: hugetext rollback [options] PID | FILE | --all\n\n"
	      "Takes huge text back, and says what remains and why.\n\n"
	      " PID    its text is on small pages from now on, until it executes another\n"
	      "        program; the page cache stays as it is\n"
	      " FILE   its huge pages leave the page cache, and it stays small until hugetext\n"
	      "        is turned on anew or nobody uses the file any more\n\n"
	      "Options:\n"
	      "     --all            of all files; turns hugetext off\n"
	      SYSROOT_USAGE COMMON_USAGE, stdout);
}

int rollback_main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "all", no_argument, NULL, 'a' },
		SYSROOT_OPTION, COMMON_OPTIONS, { 0 }
	};
	bool all = false;
	uint64_t pid;
	int c, result;

	while ((c = getopt_long(argc, argv, "s:hV", options, NULL)) != -1) {
		if (c == 'a')
			all = true;
		else if (!common_option(c, usage, &result))
			return result;
	}
	if (argc - optind != !all) {
		complain("rollback: one PID, one FILE, or --all");
		return HUGETEXT_TROUBLE;
	}
	if (all)
		return roll_back_all();
	if (parse_decimal(argv[optind], &pid))
		return roll_back_process(argv[optind], pid);
	return roll_back_file(argv[optind]);
}
