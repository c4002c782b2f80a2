// SPDX-License-Identifier: GPL-2.0
/*
 * Text becomes huge: every whole region, of every kind of program, whatever
 * transparent_hugepage/enabled says; the bytes stay right all the time, and
 * what must be left alone is.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "kselftest_harness.h"

#include "guest.h"

#define LIBRARY(name)	FIXTURES "/" name
#define TRACING		"/sys/kernel/tracing/"

/* ---- Every kind of program and library ---- */

FIXTURE(kind) {
	struct child child;
};

FIXTURE_VARIANT(kind) {
	const char *program;
	const char *library;
	long at_least;		/* kB of whole regions that this layout holds */
};

#define PROGRAM(name_, file, kb)						\
	FIXTURE_VARIANT_ADD(kind, name_) { .program = file, .at_least = kb }
#define SHARED(name_, file, kb)							\
	FIXTURE_VARIANT_ADD(kind, name_) {					\
		.program = "prog-pie", .library = file, .at_least = kb }

PROGRAM(pie, "prog-pie", 14336);
PROGRAM(nopie, "prog-nopie", 8192);
PROGRAM(static_nopie, "prog-static", 6144);
PROGRAM(static_pie, "prog-static-pie", 6144);
PROGRAM(pie_lld, "prog-lld", 6144);
PROGRAM(pie_gold, "prog-gold", 6144);
PROGRAM(pie_mold, "prog-mold", 6144);
PROGRAM(pie_musl, "prog-musl", 6144);
PROGRAM(pie_ld_align, "prog-align", 8192);
PROGRAM(pie_1g, "prog-1g", 4096);
PROGRAM(pie_bolt, "prog-bolt", 8192);
PROGRAM(pie_rust, "prog-rust", 2048);
PROGRAM(go, "prog-go", 4096);
PROGRAM(pie_go, "prog-go-pie", 4096);
SHARED(library, "libtext.so", 6144);
SHARED(library_lld, "libtext-lld.so", 6144);
SHARED(library_gold, "libtext-gold.so", 6144);
SHARED(library_mold, "libtext-mold.so", 6144);
SHARED(library_noseparate, "libtext-noseparate.so", 6144);
SHARED(library_2m, "libtext-2m.so", 8192);
SHARED(library_1g, "libtext-1g.so", 4096);
SHARED(library_bolt, "libtext-bolt.so", 8192);
FIXTURE_VARIANT_ADD(kind, library_musl) {
	.program = "prog-musl", .library = "libtext-musl.so", .at_least = 6144,
};

FIXTURE_SETUP(kind)
{
	ASSERT_EQ(0, module_load("hugetext=3"));
	ASSERT_TRUE(child_start(&self->child, variant->program));
}

FIXTURE_TEARDOWN(kind)
{
	child_kill(&self->child);
	EXPECT_EQ(0, module_unload());
}

TEST_F_TIMEOUT(kind, every_whole_region_and_right_bytes, 900)
{
	const char *name = variant->library ?: variant->program;
	char command[512];

	if (variant->library) {
		/* Settled and served before the library comes. */
		ASSERT_TRUE(wait_all_huge(self->child.pid, variant->program));
		snprintf(command, sizeof(command), "dlopen " FIXTURES "/%s", name);
		ASSERT_EQ(0, strncmp("dlopen ", child_ask(&self->child, command), 7));
	}
	ASSERT_TRUE(wait_all_huge(self->child.pid, name));
	EXPECT_LE(variant->at_least, text_of(self->child.pid, name).huge);

	/* What the checker foretold, and what the command sees. */
	EXPECT_EQ(text_of(self->child.pid, name).huge,
		  command_says("hugetext check --raw --summary " FIXTURES "/%s", name, "HUGE_KB"));
	snprintf(command, sizeof(command), "%d", self->child.pid);
	EXPECT_EQ(text_of(self->child.pid, NULL).huge,
		  command_says("hugetext stat --raw -p %s", command, "HUGE_KB"));
	EXPECT_STREQ(expected(name, "sum"),
		     child_ask(&self->child, variant->library ? "sumlib" : "sum"));
	EXPECT_STREQ(expected(name, "call"),
		     child_ask(&self->child, variant->library ? "calllib" : "call"));
	EXPECT_TRUE(child_quit(&self->child));
}

/* ---- Whatever the administrator set for huge pages at large ---- */

FIXTURE(thp) {
	struct child child;
};

FIXTURE_VARIANT(thp) {
	const char *enabled;
};

FIXTURE_VARIANT_ADD(thp, always) { .enabled = "always" };
FIXTURE_VARIANT_ADD(thp, madvise) { .enabled = "madvise" };
FIXTURE_VARIANT_ADD(thp, never) { .enabled = "never" };

FIXTURE_SETUP(thp)
{
	ASSERT_TRUE(thp_set(variant->enabled));
	ASSERT_EQ(0, module_load(""));
}

FIXTURE_TEARDOWN(thp)
{
	child_kill(&self->child);
	EXPECT_EQ(0, module_unload());
	EXPECT_TRUE(khugepaged_as_before());
}

TEST_F_TIMEOUT(thp, program_and_0644_library, 900)
{
	ASSERT_EQ(0, write_text(ENABLED, "1"));
	ASSERT_TRUE(child_start(&self->child, "prog-pie"));
	child_ask(&self->child, "dlopen " LIBRARY("libtext-lld.so"));
	EXPECT_TRUE(wait_all_huge(self->child.pid, "prog-pie"));
	EXPECT_TRUE(wait_all_huge(self->child.pid, "libtext-lld.so"));
}

TEST_F_TIMEOUT(thp, nothing_happens_while_off, 900)
{
	if (!unload_drops(FIXTURES))
		SKIP(return, "huge pages of a tmpfs stay, also those of the test before");
	ASSERT_TRUE(child_start(&self->child, "prog-nopie"));
	ASSERT_STREQ(expected("prog-nopie", "sum"), child_ask(&self->child, "sum"));
	sleep_ms(500);
	EXPECT_EQ(0, text_of(self->child.pid, "prog-nopie").huge);
	ASSERT_EQ(0, write_text(ENABLED, "2"));
	sleep_ms(500);
	EXPECT_EQ(0, text_of(self->child.pid, "prog-nopie").huge);
}

/* ---- Lives of a process ---- */

FIXTURE(life) {
	struct child child;
};

FIXTURE_SETUP(life)
{
	ASSERT_TRUE(khugepaged_off());
	ASSERT_EQ(0, module_load(""));
}

FIXTURE_TEARDOWN(life)
{
	child_kill(&self->child);
	EXPECT_EQ(0, module_unload());
	EXPECT_TRUE(khugepaged_as_before());
}

/* Not aligned at exec, but a program that lies right by itself is served. */
TEST_F_TIMEOUT(life, already_running, 900)
{
	ASSERT_TRUE(child_start(&self->child, "prog-nopie"));
	ASSERT_STREQ(expected("prog-nopie", "call"), child_ask(&self->child, "call"));
	ASSERT_EQ(0, write_text(ENABLED, "1"));
	EXPECT_TRUE(wait_all_huge(self->child.pid, "prog-nopie"));
	EXPECT_STREQ(expected("prog-nopie", "sum"), child_ask(&self->child, "sum"));
}

TEST_F_TIMEOUT(life, found_again_after_off_and_on, 900)
{
	if (!unload_drops(FIXTURES))
		SKIP(return, "huge pages of a tmpfs stay, also those of the test before");
	ASSERT_EQ(0, write_text(ENABLED, "1"));
	ASSERT_EQ(0, write_text(ENABLED, "0"));
	ASSERT_TRUE(child_start(&self->child, "prog-nopie"));
	sleep_ms(300);
	if (!kernel_collapses_text()) {
		ASSERT_EQ(0, text_of(self->child.pid, "prog-nopie").huge);
	}
	ASSERT_EQ(0, write_text(ENABLED, "1"));
	EXPECT_TRUE(wait_all_huge(self->child.pid, "prog-nopie"));
	/* Turning it off undoes nothing. */
	ASSERT_EQ(0, write_text(ENABLED, "0"));
	sleep_ms(300);
	EXPECT_LT(0, text_of(self->child.pid, "prog-nopie").huge);
}

static unsigned long text_start(pid_t pid)
{
	char path[64];
	unsigned long start = 0, end;
	char line[512], mode[8];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%lx-%lx %7s", &start, &end, mode) == 3 &&
		    !strcmp(mode, "r-xp") && end - start > REGION)
			break;
	if (file)
		fclose(file);
	return start;
}

static pid_t fork_of(struct child *child)
{
	const char *answer = child_ask(child, "fork");
	int pid = 0;

	return answer && sscanf(answer, "child %d", &pid) == 1 ? pid : 0;
}

/* Before the parent has settled: the child has small pages of its own by then. */
TEST_F_TIMEOUT(life, early_fork, 900)
{
	pid_t forked;

	if (!unload_drops(FIXTURES))
		SKIP(return, "huge pages of a tmpfs stay, also those of the test before");
	ASSERT_EQ(0, write_text(ENABLED, "1"));
	ASSERT_TRUE(child_start(&self->child, "prog-pie"));
	forked = fork_of(&self->child);
	ASSERT_LT(0, forked);
	EXPECT_TRUE(wait_all_huge(self->child.pid, "prog-pie"));
	EXPECT_TRUE(wait_all_huge(forked, "prog-pie"));
}

/* A daemon's start: who was executed forks at once and is gone. */
TEST_F_TIMEOUT(life, early_fork_of_a_parent_that_exits, 900)
{
	char path[] = FIXTURES "/prog-pie";
	int in[2], out[2];
	char line[64] = "";
	int forked = 0;
	pid_t parent;

	ASSERT_EQ(0, prctl(PR_SET_CHILD_SUBREAPER, 1));
	ASSERT_EQ(0, write_text(ENABLED, "1"));
	ASSERT_EQ(0, pipe(in));
	ASSERT_EQ(0, pipe(out));
	parent = fork();
	if (!parent) {
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		execl(path, path, "daemon", NULL);
		_exit(127);
	}
	ASSERT_EQ(parent, waitpid(parent, NULL, 0));
	ASSERT_LT(0, read(out[0], line, sizeof(line) - 1));
	ASSERT_TRUE(sscanf(line, "daemon %d", &forked) == 1);
	EXPECT_TRUE(wait_all_huge(forked, "prog-pie"));
	kill(forked, SIGKILL);
	waitpid(forked, NULL, 0);
}

TEST_F_TIMEOUT(life, late_fork_and_dlclose, 900)
{
	unsigned long addr;
	pid_t forked;

	ASSERT_EQ(0, write_text(ENABLED, "1"));
	ASSERT_TRUE(child_start(&self->child, "prog-pie"));
	for (int i = 0; i < 3; i++) {
		child_ask(&self->child, "dlopen " LIBRARY("libtext.so"));
		ASSERT_TRUE(wait_all_huge(self->child.pid, "libtext.so"));
		EXPECT_STREQ(expected("libtext.so", "sum"), child_ask(&self->child, "sumlib"));
		EXPECT_STREQ("dlclose", child_ask(&self->child, "dlclose"));
		EXPECT_EQ(0, text_of(self->child.pid, "libtext.so").text);
	}
	/* A child of huge text has no page tables yet: each fault maps a huge page. */
	forked = fork_of(&self->child);
	ASSERT_LT(0, forked);
	for (addr = text_start(forked); addr < text_start(forked) + 7 * REGION; addr += REGION)
		EXPECT_EQ(peek(self->child.pid, addr), peek(forked, addr));
	EXPECT_LE(6 * REGION / 1024, text_of(forked, "prog-pie").huge);
	EXPECT_STREQ(expected("prog-pie", "sum"), child_ask(&self->child, "sum"));
}

/* Two processes of one program: the second finds the page cache huge. */
TEST_F_TIMEOUT(life, second_process, 900)
{
	struct child second;

	ASSERT_EQ(0, write_text(ENABLED, "1"));
	ASSERT_TRUE(child_start(&self->child, "prog-pie"));
	ASSERT_TRUE(wait_all_huge(self->child.pid, "prog-pie"));
	ASSERT_TRUE(child_start(&second, "prog-pie"));
	EXPECT_TRUE(wait_all_huge(second.pid, "prog-pie"));
	EXPECT_STREQ(expected("prog-pie", "sum"), child_ask(&second, "sum"));
	EXPECT_TRUE(child_quit(&second));
}

/* ---- The bytes are right before, during and after ---- */

static bool stop_reading;
static long readings, wrong_readings;

static void *read_all_the_time(void *data)
{
	struct child *child = data;
	char want[2][64];

	snprintf(want[0], sizeof(want[0]), "%s", expected("prog-nopie", "sum"));
	snprintf(want[1], sizeof(want[1]), "%s", expected("prog-nopie", "call"));
	while (!__atomic_load_n(&stop_reading, __ATOMIC_RELAXED)) {
		const char *answer = child_ask(child, readings % 2 ? "call" : "sum");

		wrong_readings += !answer || strcmp(answer, want[readings % 2]);
		readings++;
	}
	return NULL;
}

TEST_F_TIMEOUT(life, bytes_are_right_all_the_time, 900)
{
	pthread_t reader;
	int round;

	ASSERT_TRUE(child_start(&self->child, "prog-nopie"));
	ASSERT_EQ(0, pthread_create(&reader, NULL, read_all_the_time, &self->child));
	for (round = 0; round < 6; round++) {
		sleep_ms(200);
		EXPECT_EQ(0, write_text(ENABLED, "3"));
		EXPECT_TRUE(wait_all_huge(self->child.pid, "prog-nopie"));
		sleep_ms(200);
		EXPECT_EQ(0, module_unload());
		/* Some kernels read text that is wanted all the time into huge pages again. */
		if (!kernel_collapses_text() && unload_drops(FIXTURES)) {
			EXPECT_EQ(0, text_of(self->child.pid, "prog-nopie").huge);
		}
		ASSERT_EQ(0, module_load(""));
	}
	__atomic_store_n(&stop_reading, true, __ATOMIC_RELAXED);
	pthread_join(reader, NULL);
	fprintf(stderr, "# %ld readings\n", readings);
	EXPECT_LT(6, readings);
	EXPECT_EQ(0, wrong_readings);
}

/*
 * A mapping of a terabyte of nothing: others are served meanwhile, and the
 * module can be unloaded.
 */
TEST_F_TIMEOUT(life, sparse_terabyte, 900)
{
	int fd = open("/tests/sparse", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	const size_t terabyte = 1ul << 40;
	void *mapped;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ftruncate(fd, 3 * REGION / 2));
	close(fd);
	fd = open("/tests/sparse", O_RDONLY | O_CLOEXEC);
	ASSERT_EQ(0, write_text(ENABLED, "1"));
	mapped = mmap(NULL, terabyte, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	ASSERT_NE(MAP_FAILED, mapped);
	EXPECT_TRUE(wait_huge(getpid(), "sparse", 2048));
	EXPECT_EQ(2048, text_of(getpid(), "sparse").huge);
	EXPECT_LE(1, counter("past_eof"));

	/* Now with a file of that length behind it, all holes. */
	ASSERT_EQ(0, truncate("/tests/sparse", terabyte));
	ASSERT_NE(MAP_FAILED, mmap(NULL, terabyte, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0));
	sleep_ms(500);
	EXPECT_LE(2, counter("collapsed_regions"));
	ASSERT_TRUE(child_start(&self->child, "prog-pie"));
	EXPECT_TRUE(wait_all_huge(self->child.pid, "prog-pie"));
	ASSERT_EQ(0, module_unload());
	ASSERT_EQ(0, module_load(""));
	unlink("/tests/sparse");
}

/* ---- What is left alone ---- */

#define BREAKPOINT	0x5ca1ab1ecccccccc

TEST_F_TIMEOUT(life, breakpoint_set_before, 900)
{
	unsigned long addr;

	if (!unload_drops(FIXTURES))
		SKIP(return, "huge pages of a tmpfs stay, also those of the test before");
	ASSERT_TRUE(child_start(&self->child, "prog-nopie"));
	addr = text_start(self->child.pid) + 3 * REGION / 2;
	ASSERT_TRUE(poke(self->child.pid, addr, BREAKPOINT));
	ASSERT_EQ(0, write_text(ENABLED, "1"));
	sleep_ms(1000);
	EXPECT_LE(1, counter("private_copy"));
	EXPECT_GE(kernel_collapses_text() ? text_of(self->child.pid, "prog-nopie").whole - 2048 : 0,
		  text_of(self->child.pid, "prog-nopie").huge);
	EXPECT_EQ(BREAKPOINT, peek(self->child.pid, addr));
	ASSERT_EQ(0, module_unload());
	EXPECT_EQ(BREAKPOINT, peek(self->child.pid, addr));
	ASSERT_EQ(0, module_load(""));
}

TEST_F_TIMEOUT(life, breakpoint_set_after, 900)
{
	unsigned long addr;
	struct child other;

	ASSERT_EQ(0, write_text(ENABLED, "1"));
	ASSERT_TRUE(child_start(&self->child, "prog-nopie"));
	ASSERT_TRUE(child_start(&other, "prog-nopie"));
	ASSERT_TRUE(wait_all_huge(self->child.pid, "prog-nopie"));
	ASSERT_TRUE(wait_all_huge(other.pid, "prog-nopie"));
	addr = text_start(self->child.pid) + 3 * REGION / 2;
	ASSERT_TRUE(poke(self->child.pid, addr, BREAKPOINT));

	/* A new event of the process brings khugetextd to it again. */
	child_ask(&self->child, "dlopen " LIBRARY("libtext.so"));
	ASSERT_TRUE(wait_all_huge(self->child.pid, "libtext.so"));
	EXPECT_EQ(BREAKPOINT, peek(self->child.pid, addr));
	EXPECT_STREQ(expected("prog-nopie", "sum"), child_ask(&other, "sum"));
	ASSERT_EQ(0, module_unload());
	EXPECT_EQ(BREAKPOINT, peek(self->child.pid, addr));
	EXPECT_STREQ(expected("prog-nopie", "sum"), child_ask(&other, "sum"));
	ASSERT_EQ(0, module_load(""));
	child_kill(&other);
}

static void disable_thp(void)
{
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
}

TEST_F_TIMEOUT(life, prctl_thp_disable, 900)
{
	ASSERT_EQ(0, write_text(ENABLED, "1"));
	ASSERT_TRUE(child_start_prepared(&self->child, "prog-pie", disable_thp));
	sleep_ms(1000);
	EXPECT_EQ(0, text_of(self->child.pid, "prog-pie").huge);
	EXPECT_LE(1, counter("thp_disabled"));
	EXPECT_STREQ(expected("prog-pie", "call"), child_ask(&self->child, "call"));
}

TEST_F_TIMEOUT(life, madv_nohugepage, 900)
{
	int fd = open(LIBRARY("libtext.so"), O_RDONLY | O_CLOEXEC);
	char *text[2];

	ASSERT_EQ(0, write_text(ENABLED, "1"));
	for (int i = 0; i < 2; i++) {
		text[i] = mmap(NULL, 3 * REGION, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		ASSERT_NE(MAP_FAILED, text[i]);
		if (!i) {
			ASSERT_EQ(0, madvise(text[i], 3 * REGION, MADV_NOHUGEPAGE));
		}
	}
	/* One of both becomes huge, though no page of it was ever touched. */
	EXPECT_TRUE(wait_huge(getpid(), "libtext.so", 6144));
	sleep_ms(300);
	EXPECT_EQ(6144, text_of(getpid(), "libtext.so").huge);
	ASSERT_EQ(0, munmap(text[0], 3 * REGION));
	EXPECT_EQ(6144, text_of(getpid(), "libtext.so").huge);
	EXPECT_LE(1, counter("nohugepage"));
}

/* What a JIT reserves in a memfd is no text of a file, and must not be filled. */
TEST_F_TIMEOUT(life, memfd, 900)
{
	int fd = memfd_create("code", MFD_CLOEXEC);
	struct stat st;

	ASSERT_EQ(0, write_text(ENABLED, "1"));
	ASSERT_EQ(0, ftruncate(fd, 3 * REGION));
	ASSERT_NE(MAP_FAILED, mmap(NULL, 3 * REGION, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0));
	sleep_ms(1000);
	EXPECT_LE(1, counter("anonymous_file"));
	ASSERT_EQ(0, fstat(fd, &st));
	EXPECT_EQ(0, st.st_blocks);
}

/* ---- Passing reasons ---- */

TEST_F_TIMEOUT(life, retried_until_the_writer_is_gone, 900)
{
	const char *copy = "/tests/libwritten.so";
	int fd;

	ASSERT_EQ(0, copy_file(LIBRARY("libtext.so"), copy));
	ASSERT_EQ(0, write_text(ENABLED, "1"));
	fd = open(copy, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, fd);
	ASSERT_TRUE(child_start(&self->child, "prog-pie"));
	child_ask(&self->child, "dlopen /tests/libwritten.so");
	if (writers_of(copy) == WRITERS_FREE) {
		EXPECT_TRUE(wait_all_huge(self->child.pid, "libwritten.so"));
	} else {
		sleep_ms(1500);
		EXPECT_EQ(0, text_of(self->child.pid, "libwritten.so").huge);
		EXPECT_LE(2, counter("open_for_write"));
		EXPECT_NE(NULL, strstr(read_text("/sys/kernel/debug/hugetext/processes"),
				       "open_for_write"));
	}
	close(fd);
	EXPECT_TRUE(wait_all_huge(self->child.pid, "libwritten.so"));
	EXPECT_STREQ(expected("libtext.so", "sum"), child_ask(&self->child, "sumlib"));
	unlink(copy);
}

/* Pauses grow, and there is an end to it: about 80 seconds. */
TEST_F_TIMEOUT(life, given_up_while_a_writer_stays, 900)
{
	long tries_early, tries_late;
	int fd, waited;

	if (writers_of(FIXTURES) == WRITERS_FREE)
		SKIP(return, "no writer stands in the way on this kernel or file system");
	ASSERT_EQ(0, copy_file(LIBRARY("libtext.so"), "/tests/libwritten.so"));
	ASSERT_EQ(0, write_text(ENABLED, "1"));
	fd = open("/tests/libwritten.so", O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, fd);
	ASSERT_TRUE(child_start(&self->child, "prog-small"));
	child_ask(&self->child, "dlopen /tests/libwritten.so");
	sleep_ms(3000);
	tries_early = counter("retries");
	EXPECT_LE(3, tries_early);
	for (waited = 0; waited < 180 && !counter("given_up"); waited++)
		sleep_ms(1000);
	EXPECT_EQ(1, counter("given_up"));
	tries_late = counter("retries");
	EXPECT_GE(20, tries_late);
	EXPECT_EQ(tries_late + 1, counter("open_for_write"));
	EXPECT_EQ(0, text_of(self->child.pid, "libwritten.so").huge);
	close(fd);
	unlink("/tests/libwritten.so");
}

TEST_F_TIMEOUT(life, dirty_pages_are_written_back_first, 900)
{
	const char *copy = "/tests/libdirty.so";

	if (!unload_drops(FIXTURES))
		SKIP(return, "a tmpfs has nothing to write back to");
	/* Without fsync: its pages are dirty when it is mapped. */
	ASSERT_EQ(0, write_text(ENABLED, "1"));
	ASSERT_EQ(0, system("cp --reflink=never " LIBRARY("libtext.so") " /tests/libdirty.so"));
	EXPECT_LE(4096, read_number("/proc/meminfo", "Dirty"));
	ASSERT_TRUE(child_start(&self->child, "prog-pie"));
	child_ask(&self->child, "dlopen /tests/libdirty.so");
	EXPECT_TRUE(wait_all_huge(self->child.pid, "libdirty.so"));
	EXPECT_STREQ(expected("libtext.so", "sum"), child_ask(&self->child, "sumlib"));
	unlink(copy);
}

/* ---- Traces ---- */

/* Is there a line that holds both? */
static bool trace_tells(const char *first, const char *second)
{
	const char *line = read_text(TRACING "trace");
	size_t length;

	for (; *line; line += length + !!line[length]) {
		length = strcspn(line, "\n");
		if (memmem(line, length, first, strlen(first)) &&
		    memmem(line, length, second, strlen(second)))
			return true;
	}
	return false;
}

TEST_F_TIMEOUT(life, tracepoints_tell_it, 900)
{
	char words[64];
	int fd;

	ASSERT_EQ(0, copy_file(LIBRARY("libtext.so"), "/tests/libtraced.so"));
	ASSERT_EQ(0, write_text(TRACING "events/hugetext/enable", "1"));
	ASSERT_EQ(0, write_text(ENABLED, "1"));
	ASSERT_TRUE(child_start(&self->child, "prog-nopie-odd"));
	snprintf(words, sizeof(words), "hugetext_skip: tgid=%d start=0x402000", self->child.pid);
	for (int i = 0; i < 100 && !trace_tells(words, "why=offset"); i++)
		sleep_ms(50);
	EXPECT_TRUE(trace_tells(words, "why=offset"));

	snprintf(words, sizeof(words), "hugetext_collapse: tgid=%d start=0x", self->child.pid);
	child_ask(&self->child, "dlopen /tests/libtraced.so");
	ASSERT_TRUE(wait_all_huge(self->child.pid, "libtraced.so"));
	fd = open("/tests/libtraced.so", O_WRONLY | O_CLOEXEC);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, write_text(TRACING "events/hugetext/enable", "0"));
	EXPECT_TRUE(trace_tells(words, "why=ok"));
	EXPECT_TRUE(trace_tells("hugetext_align: ino=", "why=ok"));
	if (writers_of(FIXTURES) != WRITERS_FREE) {
		EXPECT_TRUE(trace_tells("hugetext_drop: ino=", "err=0"));
	}
	EXPECT_LE(3, counter("collapsed_regions"));
	EXPECT_LE(1, counter("aligned_libraries"));
	EXPECT_LE(1, counter("processes_settled"));
	unlink("/tests/libtraced.so");
}

TEST_HARNESS_MAIN
