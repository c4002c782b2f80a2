// SPDX-License-Identifier: GPL-2.0
/*
 * What the tests in the VM share.
 * Errors that can only be the test's own fault end it with a message.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../kmod/core/layout.h"
#include "guest.h"

static void die(const char *what)
{
	fprintf(stderr, "# %s: %m\n", what);
	exit(1);
}

void sleep_ms(unsigned int ms)
{
	struct timespec time = { ms / 1000, ms % 1000 * 1000000L };

	while (nanosleep(&time, &time) && errno == EINTR)
		;
}

int module_load(const char *parameters)
{
	const char *path = getenv("HUGETEXT_MODULE");
	int fd, err;

	if (!path) {
		errno = ENOENT;
		die("HUGETEXT_MODULE");
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		die(path);
	err = syscall(SYS_finit_module, fd, parameters, 0) ? -errno : 0;
	close(fd);
	return err;
}

int module_unload(void)
{
	return syscall(SYS_delete_module, "hugetext", O_NONBLOCK) ? -errno : 0;
}

static char thp_before[64];

bool thp_set(const char *word)
{
	const char *brackets = strchr(read_text(THP "/enabled"), '[');

	return brackets && sscanf(brackets, "[%63[a-z]", thp_before) == 1 &&
	       !write_text(THP "/enabled", word);
}

bool khugepaged_off(void)
{
	return thp_set("never");
}

bool khugepaged_as_before(void)
{
	return !write_text(THP "/enabled", thp_before);
}

int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int err = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		err = -errno;
	close(fd);
	return err;
}

const char *read_text(const char *path)
{
	static char text[65536];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n, used = 0;

	text[0] = '\0';
	if (fd < 0)
		return text;
	while ((n = read(fd, text + used, sizeof(text) - 1 - used)) > 0)
		used += n;
	close(fd);
	text[used] = '\0';
	if (used && text[used - 1] == '\n')
		text[used - 1] = '\0';
	return text;
}

long read_number(const char *path, const char *name)
{
	const char *line = read_text(path);
	size_t length = strlen(name);

	while (line && *line) {
		if (!strncmp(line, name, length) && (line[length] == ' ' || line[length] == ':'))
			return strtol(line + length + 1, NULL, 10);
		line = strchr(line, '\n');
		if (line)
			line++;
	}
	return -1;
}

long counter(const char *name)
{
	return read_number(COUNTERS, name);
}

int copy_file(const char *from, const char *to)
{
	int in = open(from, O_RDONLY | O_CLOEXEC);
	struct stat st;
	ssize_t n = 0;
	int out;

	if (in < 0 || fstat(in, &st))
		return -errno;
	out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, st.st_mode & 0777);
	if (out < 0)
		return -errno;
	while (st.st_size && (n = sendfile64(out, in, NULL, st.st_size)) > 0)
		st.st_size -= n;
	if (n < 0 || fsync(out) || close(out))
		return -errno;
	close(in);
	return 0;
}

bool fresh_copy(const char *folder, const char *fixture)
{
	char from[512], to[512];

	mkdir(folder, 0755);
	snprintf(from, sizeof(from), FIXTURES "/%s", fixture);
	snprintf(to, sizeof(to), "%s/%s", folder, fixture);
	unlink(to);
	return !copy_file(from, to);
}

uint64_t fnv(const void *bytes, size_t size)
{
	const unsigned char *at = bytes;
	uint64_t hash = 0xcbf29ce484222325ull;

	while (size--)
		hash = (hash ^ *at++) * 0x100000001b3ull;
	return hash;
}

bool kernel_is_native(void)
{
	struct utsname name;
	int major = 0;

	uname(&name);
	return sscanf(name.release, "%d.", &major) == 1 && major >= 7;
}

bool kernel_has_option(void)
{
	static int has = -1;

	if (has < 0)
		has = !system("grep -q ^CONFIG_READ_ONLY_THP_FOR_FS=y "
			      "/lib/modules/$(uname -r)/config");
	return has;
}

bool kernel_collapses_text(void)
{
	return kernel_is_native() || kernel_has_option();
}

static long filesystem_of(const char *path)
{
	struct statfs st = { 0 };

	if (statfs(path, &st))
		fprintf(stderr, "# statfs %s: %m\n", path);
	return st.f_type;
}

enum writers writers_of(const char *path)
{
	if (filesystem_of(path) == TMPFS_MAGIC)
		return WRITERS_FREE;
	return kernel_is_native() ? WRITERS_DROP_ONCE : WRITERS_DROP;
}

/* Where folios are large: truncate_inode_partial_folio() clears before it unmaps. */
bool shows_zeros(const char *path)
{
	long filesystem = filesystem_of(path);

	return filesystem == XFS_SUPER_MAGIC ||
	       (kernel_is_native() && filesystem != TMPFS_MAGIC);
}

bool takes_overlay(const char *path)
{
	return filesystem_of(path) != OVERLAYFS_SUPER_MAGIC;
}

bool unload_drops(const char *path)
{
	return filesystem_of(path) != TMPFS_MAGIC;
}

int unmount_within(const char *path, unsigned int ms)
{
	int err = 0;

	for (unsigned int waited = 0; waited < ms; waited += 20) {
		err = umount(path) ? errno : 0;
		if (err != EBUSY)
			break;
		sleep_ms(20);
	}
	return err;
}

pid_t find_khugetextd(void)
{
	struct dirent *entry;
	DIR *dir = opendir("/proc");
	char path[300];
	pid_t pid = 0;

	while (!pid && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
		if (!strcmp(read_text(path), "khugetextd"))
			pid = atoi(entry->d_name);
	}
	closedir(dir);
	return pid;
}

long peek(pid_t pid, unsigned long addr)
{
	char path[64];
	long value = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (pread(fd, &value, sizeof(value), addr) != sizeof(value))
		value = 0;
	close(fd);
	return value;
}

bool poke(pid_t pid, unsigned long addr, long value)
{
	bool ok = !ptrace(PTRACE_ATTACH, pid, 0, 0) && waitpid(pid, NULL, 0) == pid &&
		  !ptrace(PTRACE_POKETEXT, pid, addr, value);

	return !ptrace(PTRACE_DETACH, pid, 0, 0) && ok;
}

unsigned char *reserve_regions(size_t size, unsigned char **reserved)
{
	*reserved = mmap(NULL, size + 2 * REGION, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (*reserved == MAP_FAILED) {
		*reserved = NULL;
		return NULL;
	}
	return (void *)(((uintptr_t)*reserved + REGION) & ~(REGION - 1));
}

void release_regions(unsigned char *reserved, size_t size)
{
	if (reserved)
		munmap(reserved, size + 2 * REGION);
}

const char *run_fixture(const char *name, const char *first, const char *second)
{
	static char line[4200];
	int out[2], status;
	char path[512];
	FILE *answers;
	pid_t pid;

	snprintf(path, sizeof(path), FIXTURES "/%s", name);
	if (pipe2(out, O_CLOEXEC))
		die("pipe");
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid) {
		dup2(out[1], STDOUT_FILENO);
		execl(path, path, first, second, NULL);
		_exit(127);
	}
	close(out[1]);
	line[0] = '\0';
	answers = fdopen(out[0], "r");
	while (fgets(line, sizeof(line), answers))
		line[strcspn(line, "\n")] = '\0';
	fclose(answers);
	waitpid(pid, &status, 0);
	return WIFEXITED(status) && !WEXITSTATUS(status) ? line : NULL;
}

bool child_start_prepared(struct child *child, const char *path, void (*prepare)(void))
{
	char full[512];
	int in[2], out[2];
	pid_t parent = getpid();

	snprintf(full, sizeof(full), "%s%s", *path == '/' ? "" : FIXTURES "/", path);
	memset(child, 0, sizeof(*child));
	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		die("pipe");
	child->pid = fork();
	if (child->pid < 0)
		die("fork");
	if (!child->pid) {
		/* Nothing may outlive a test that fails. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		if (prepare)
			prepare();
		execl(full, full, "wait", NULL);
		die(full);
	}
	close(in[0]);
	close(out[1]);
	child->in = in[1];
	child->out = out[0];
	return child_ask(child, NULL) && !strncmp(child->answer, "ready ", 6);
}

bool child_start(struct child *child, const char *path)
{
	return child_start_prepared(child, path, NULL);
}

const char *child_ask(struct child *child, const char *command)
{
	size_t used = 0;

	if (command && dprintf(child->in, "%s\n", command) < 0)
		return NULL;
	while (used < sizeof(child->answer) - 1) {
		if (read(child->out, child->answer + used, 1) != 1)
			return NULL;
		if (child->answer[used] == '\n')
			break;
		used++;
	}
	child->answer[used] = '\0';
	return child->answer;
}

static void child_close(struct child *child)
{
	close(child->in);
	close(child->out);
	child->pid = 0;
}

bool child_quit(struct child *child)
{
	int status;

	dprintf(child->in, "quit\n");
	if (waitpid(child->pid, &status, 0) != child->pid)
		return false;
	child_close(child);
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

void child_kill(struct child *child)
{
	if (!child->pid)
		return;
	kill(child->pid, SIGKILL);
	waitpid(child->pid, NULL, 0);
	child_close(child);
}

const char *expected(const char *fixture, const char *kind)
{
	char path[512];

	snprintf(path, sizeof(path), FIXTURES "/%s.%s", fixture, kind);
	return read_text(path);
}

static bool ends_in(const char *text, const char *end)
{
	size_t length = strlen(text), tail = strlen(end);

	return length >= tail && !strcmp(text + length - tail, end);
}

struct text_size text_of(pid_t pid, const char *name)
{
	struct text_size size = { 0 };
	unsigned long start, end, offset, inode;
	char path[64], line[4096], mode[8];
	bool counts = false;
	FILE *file;
	long kb;

	snprintf(path, sizeof(path), "/proc/%d/smaps", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%lx-%lx %7s %lx %*s %lu", &start, &end, mode, &offset,
			   &inode) == 5) {
			uint64_t first, last;

			counts = inode && !strcmp(mode, "r-xp") && (!name || ends_in(line, name));
			if (!counts)
				continue;
			size.text += (end - start) / 1024;
			if (!hugetext_whole_regions(start, end, offset, &first, &last))
				size.whole += (last - first) / 1024;
		} else if (counts && sscanf(line, "FilePmdMapped: %ld kB", &kb) == 1) {
			size.huge += kb;
		} else if (counts && sscanf(line, "ShmemPmdMapped: %ld kB", &kb) == 1) {
			size.huge += kb;
		}
	}
	if (file)
		fclose(file);
	return size;
}

bool find_text(pid_t pid, const char *name, struct text_mapping *text)
{
	struct text_mapping now;
	char path[64], line[4096], mode[8];
	FILE *file;

	*text = (struct text_mapping){ 0 };
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%lx-%lx %7s %lx", &now.start, &now.end, mode, &now.offset) == 4 &&
		    !strcmp(mode, "r-xp") && ends_in(line, name) &&
		    now.end - now.start > text->end - text->start)
			*text = now;
	}
	if (file)
		fclose(file);
	return text->end;
}

/* Bytes of one mapping of @path that differ; both are read in pieces. */
static long differing(pid_t pid, const char *path, const struct text_mapping *text)
{
	static unsigned char seen[65536], wanted[65536];
	char memory[64];
	unsigned long at;
	long wrong = 0;
	int mem, file;

	snprintf(memory, sizeof(memory), "/proc/%d/mem", pid);
	mem = open(memory, O_RDONLY | O_CLOEXEC);
	file = open(path, O_RDONLY | O_CLOEXEC);
	for (at = text->start; at < text->end && wrong >= 0; at += sizeof(seen)) {
		size_t size = text->end - at < sizeof(seen) ? text->end - at : sizeof(seen);

		/* The last page of a file is filled up with zeros. */
		memset(wanted, 0, size);
		if (pread(mem, seen, size, at) != (ssize_t)size ||
		    pread(file, wanted, size, at - text->start + text->offset) <= 0)
			wrong = -1;
		for (size_t i = 0; i < size && wrong >= 0; i++)
			wrong += seen[i] != wanted[i];
	}
	close(file);
	close(mem);
	return wrong;
}

long wrong_bytes(pid_t pid, const char *name)
{
	struct text_mapping text;
	char maps[64], line[4096], mode[8];
	long wrong = -1, more = 0;
	FILE *file;

	snprintf(maps, sizeof(maps), "/proc/%d/maps", pid);
	file = fopen(maps, "re");
	while (file && more >= 0 && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%lx-%lx %7s %lx", &text.start, &text.end, mode,
			   &text.offset) != 4 || strcmp(mode, "r-xp") || !ends_in(line, name))
			continue;
		more = differing(pid, strchr(line, '/'), &text);
		wrong = more < 0 ? -1 : (wrong < 0 ? 0 : wrong) + more;
	}
	if (file)
		fclose(file);
	return wrong;
}

static void print_counters(void)
{
	const char *line = read_text(COUNTERS);
	char name[64];
	long value;

	while (line && sscanf(line, "%63s %ld", name, &value) == 2) {
		if (value)
			fprintf(stderr, " %s=%ld", name, value);
		line = strchr(line, '\n');
		if (line)
			line++;
	}
	fprintf(stderr, "\n");
}

/* The harness ends its children without a flush, so to stderr. */
bool wait_huge(pid_t pid, const char *name, long kb)
{
	time_t end = time(NULL) + PATIENCE;
	struct text_size size;

	do {
		size = text_of(pid, name);
		if (size.huge >= kb)
			return true;
		sleep_ms(20);
	} while (time(NULL) < end);
	fprintf(stderr, "# pid %d %s: %ld kB of %ld kB huge, text %ld kB; not 0:", pid, name ?: "all",
	       size.huge, size.whole, size.text);
	print_counters();
	return false;
}

bool wait_all_huge(pid_t pid, const char *name)
{
	struct text_size size = text_of(pid, name);

	if (!size.whole)
		fprintf(stderr, "# pid %d %s: no whole region in %ld kB of text\n", pid, name ?: "all",
		       size.text);
	return size.whole && wait_huge(pid, name, size.whole);
}

bool wait_settled(void)
{
	time_t end = time(NULL) + PATIENCE;

	do {
		/* A line of headings, and one per process. */
		if (!strchr(read_text(PROCESSES), '\n'))
			return true;
		sleep_ms(20);
	} while (time(NULL) < end);
	fprintf(stderr, "# not dealt with: %s\n", read_text(PROCESSES));
	return false;
}

bool wait_counter(const char *name, long value)
{
	time_t end = time(NULL) + PATIENCE;

	do {
		if (counter(name) >= value)
			return true;
		sleep_ms(20);
	} while (time(NULL) < end);
	fprintf(stderr, "# %s stays at %ld\n", name, counter(name));
	return false;
}

long command_says(const char *format, const char *argument, const char *column)
{
	char command[512], line[512], head[512] = "", last[512] = "";
	char *word, *number, *rest_head = head, *rest_last = last;
	FILE *out;

	snprintf(command, sizeof(command), format, argument);
	out = popen(command, "r");
	while (out && fgets(line, sizeof(line), out))
		strcpy(*head ? last : head, line);
	if (!out || pclose(out))
		return -1;
	while ((word = strsep(&rest_head, "\n ")) && (number = strsep(&rest_last, "\n ")))
		if (!strcmp(word, column))
			return strtol(number, NULL, 10);
	return -1;
}
