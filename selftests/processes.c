// SPDX-License-Identifier: GPL-2.0
/*
 * What others do to a process whose text becomes huge, and what it does to
 * itself: breakpoints, probes, relocations, changed mappings, locked memory,
 * exec from a thread, core dumps, profiles. Everybody sees the bytes that he
 * would see without hugetext.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>

#include "kselftest_harness.h"

#include "guest.h"

#define FOLDER		"/tests/work"
#define PROGRAM		FOLDER "/prog-nopie"
#define LIBRARY		FOLDER "/libtext.so"
#define TRACING		"/sys/kernel/tracing/"

/* An instruction of the big text: one byte, and a number that it returns. */
#define MOV		0xb8
#define MOV_LENGTH	5
#define BREAKPOINT	0xcc

/* Newer than the headers of the Debian that builds this. */
#ifndef PR_THP_DISABLE_EXCEPT_ADVISED
#define PR_THP_DISABLE_EXCEPT_ADVISED	(1 << 1)
#endif
#ifndef UFFD_FEATURE_WP_ASYNC
#define UFFD_FEATURE_WP_ASYNC		(1 << 15)
#endif

extern char **environ;

/* The address of the big text of a child's program, or of its library; 0: no answer. */
static unsigned long big_text(struct child *child, const char *command)
{
	const char *answer = child_ask(child, command);
	unsigned long start;

	return answer && sscanf(answer, "base %*x start %lx", &start) == 1 ? start : 0;
}

/* A page of the big text that lies in the middle of a whole region. */
static unsigned long inner_page(unsigned long text)
{
	return text + 3 * REGION / 2;
}

/* @answer may be NULL, of a child that is gone. */
static bool is_right(const char *answer, const char *fixture, const char *kind)
{
	return answer && !strcmp(answer, expected(fixture, kind));
}

/* The program reads all its text, and calls it. */
static bool works(struct child *child, const char *fixture)
{
	return is_right(child_ask(child, "sum"), fixture, "sum") &&
	       is_right(child_ask(child, "call"), fixture, "call");
}

static unsigned char byte_at(pid_t pid, unsigned long addr)
{
	unsigned char byte = 0;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (pread(fd, &byte, 1, addr) != 1)
		byte = 0;
	close(fd);
	return byte;
}

/*
 * khugetextd looks at a process again when it maps text, and is done with it
 * when it is out of the set.
 */
static bool look_again(struct child *child)
{
	const char *answer = child_ask(child, "dlopen " LIBRARY);

	return answer && !strcmp(answer, "dlopen " LIBRARY) &&
	       wait_all_huge(child->pid, "libtext.so") && wait_settled();
}

FIXTURE(process) {
	struct child child;
	struct child other;	/* of the same program */
};

FIXTURE_SETUP(process)
{
	ASSERT_TRUE(fresh_copy(FOLDER, "prog-nopie"));
	ASSERT_TRUE(fresh_copy(FOLDER, "libtext.so"));
	ASSERT_TRUE(khugepaged_off());
	ASSERT_EQ(0, module_load(""));
}

FIXTURE_TEARDOWN(process)
{
	child_kill(&self->child);
	child_kill(&self->other);
	EXPECT_EQ(0, module_unload());
	EXPECT_TRUE(khugepaged_as_before());
}

/* ---- A debugger's breakpoints ---- */

/* The tracee is stopped. */
static bool set_byte(pid_t pid, unsigned long addr, unsigned char byte)
{
	long word;

	errno = 0;
	word = ptrace(PTRACE_PEEKTEXT, pid, addr, 0);
	if (errno)
		return false;
	return !ptrace(PTRACE_POKETEXT, pid, addr, (word & ~0xffl) | byte);
}

static bool stopped_by(pid_t pid, int wanted)
{
	int status;

	return waitpid(pid, &status, 0) == pid && WIFSTOPPED(status) && WSTOPSIG(status) == wanted;
}

static bool attach(pid_t pid)
{
	return !ptrace(PTRACE_ATTACH, pid, 0, 0) && stopped_by(pid, SIGSTOP);
}

/* Change a byte of a running tracee. */
static bool poke_running(pid_t pid, unsigned long addr, unsigned char byte)
{
	return attach(pid) && set_byte(pid, addr, byte) && !ptrace(PTRACE_DETACH, pid, 0, 0);
}

/* Wait for the tracee at its breakpoint, step over it as a debugger does, and let it run. */
static bool hit_and_go_on(pid_t pid, unsigned long addr)
{
	struct user_regs_struct regs;

	if (!stopped_by(pid, SIGTRAP) || ptrace(PTRACE_GETREGS, pid, 0, &regs) ||
	    regs.rip != addr + 1)
		return false;
	regs.rip = addr;
	if (!set_byte(pid, addr, MOV) || ptrace(PTRACE_SETREGS, pid, 0, &regs) ||
	    ptrace(PTRACE_SINGLESTEP, pid, 0, 0) || !stopped_by(pid, SIGTRAP) ||
	    ptrace(PTRACE_GETREGS, pid, 0, &regs) || regs.rip != addr + MOV_LENGTH)
		return false;
	return set_byte(pid, addr, BREAKPOINT) && !ptrace(PTRACE_CONT, pid, 0, 0);
}

/* Calls one function of every page: one of them is hit, and the sum is right. */
static bool call_with_breakpoint(struct child *child, unsigned long addr)
{
	return dprintf(child->in, "call\n") > 0 && hit_and_go_on(child->pid, addr) &&
	       is_right(child_ask(child, NULL), "prog-nopie", "call");
}

/*
 * All of a mapping with a private copy is left alone. Removed, a breakpoint
 * leaves the mapping as it is, but every other process goes its own way.
 */
TEST_F_TIMEOUT(process, breakpoint_before, 900)
{
	unsigned long addr;

	ASSERT_TRUE(child_start(&self->child, PROGRAM));
	ASSERT_TRUE(works(&self->child, "prog-nopie"));
	addr = inner_page(big_text(&self->child, "addr"));
	ASSERT_TRUE(attach(self->child.pid));
	ASSERT_TRUE(set_byte(self->child.pid, addr, BREAKPOINT));
	ASSERT_EQ(0, ptrace(PTRACE_CONT, self->child.pid, 0, 0));

	ASSERT_EQ(0, write_text(ENABLED, "1"));
	EXPECT_TRUE(wait_counter("private_copy", 1));
	ASSERT_TRUE(child_start(&self->other, PROGRAM));
	EXPECT_TRUE(wait_all_huge(self->other.pid, "prog-nopie"));
	EXPECT_TRUE(works(&self->other, "prog-nopie"));
	for (int i = 0; i < 3; i++)
		ASSERT_TRUE(call_with_breakpoint(&self->child, addr));
	EXPECT_EQ(0, text_of(self->child.pid, "prog-nopie").huge);
	EXPECT_EQ(BREAKPOINT, byte_at(self->child.pid, addr));
	EXPECT_EQ(1, wrong_bytes(self->child.pid, "prog-nopie"));

	ASSERT_EQ(0, module_unload());
	EXPECT_TRUE(call_with_breakpoint(&self->child, addr));
	EXPECT_EQ(1, wrong_bytes(self->child.pid, "prog-nopie"));
	EXPECT_TRUE(works(&self->other, "prog-nopie"));
	ASSERT_EQ(0, module_load(""));

	ASSERT_EQ(0, kill(self->child.pid, SIGSTOP));
	ASSERT_TRUE(stopped_by(self->child.pid, SIGSTOP));
	ASSERT_TRUE(set_byte(self->child.pid, addr, MOV));
	ASSERT_EQ(0, ptrace(PTRACE_DETACH, self->child.pid, 0, 0));
	EXPECT_TRUE(works(&self->child, "prog-nopie"));
	EXPECT_TRUE(child_quit(&self->child));
	EXPECT_TRUE(child_quit(&self->other));
}

/* The one region becomes small and stays so; all others stay huge. */
TEST_F_TIMEOUT(process, breakpoint_after, 900)
{
	unsigned long addr;
	long whole;

	ASSERT_EQ(0, write_text(ENABLED, "1"));
	ASSERT_TRUE(child_start(&self->child, PROGRAM));
	ASSERT_TRUE(child_start(&self->other, PROGRAM));
	ASSERT_TRUE(wait_all_huge(self->child.pid, "prog-nopie"));
	ASSERT_TRUE(wait_all_huge(self->other.pid, "prog-nopie"));
	whole = text_of(self->child.pid, "prog-nopie").whole;
	addr = inner_page(big_text(&self->child, "addr"));
	ASSERT_TRUE(attach(self->child.pid));
	ASSERT_TRUE(set_byte(self->child.pid, addr, BREAKPOINT));
	ASSERT_EQ(0, ptrace(PTRACE_CONT, self->child.pid, 0, 0));
	ASSERT_TRUE(call_with_breakpoint(&self->child, addr));
	EXPECT_EQ(whole - 2048, text_of(self->child.pid, "prog-nopie").huge);

	ASSERT_TRUE(look_again(&self->child));
	EXPECT_LE(1, counter("private_copy"));
	ASSERT_TRUE(call_with_breakpoint(&self->child, addr));
	EXPECT_EQ(whole - 2048, text_of(self->child.pid, "prog-nopie").huge);
	EXPECT_EQ(1, wrong_bytes(self->child.pid, "prog-nopie"));
	EXPECT_EQ(whole, text_of(self->other.pid, "prog-nopie").huge);
	EXPECT_TRUE(works(&self->other, "prog-nopie"));

	ASSERT_EQ(0, module_unload());
	EXPECT_TRUE(call_with_breakpoint(&self->child, addr));
	EXPECT_EQ(1, wrong_bytes(self->child.pid, "prog-nopie"));
	EXPECT_TRUE(works(&self->other, "prog-nopie"));
	ASSERT_EQ(0, module_load(""));
}

/* ---- Text that a tracer changes ---- */

FIXTURE(poked) {
	struct child child;
	struct child other;
	unsigned long addr;
	char wanted[64];	/* what a call of all pages gives then */
};

FIXTURE_VARIANT(poked) {
	bool huge;
};

FIXTURE_VARIANT_ADD(poked, while_small) { .huge = false };
FIXTURE_VARIANT_ADD(poked, while_huge) { .huge = true };

FIXTURE_SETUP(poked)
{
	ASSERT_TRUE(fresh_copy(FOLDER, "prog-nopie"));
	ASSERT_TRUE(fresh_copy(FOLDER, "libtext.so"));
	ASSERT_TRUE(khugepaged_off());
	ASSERT_EQ(0, module_load(""));
	ASSERT_TRUE(child_start(&self->child, PROGRAM));
	ASSERT_TRUE(child_start(&self->other, PROGRAM));
	/* The lowest byte of the number that the page's first function returns. */
	self->addr = inner_page(big_text(&self->child, "addr")) + 1;
}

FIXTURE_TEARDOWN(poked)
{
	child_kill(&self->child);
	child_kill(&self->other);
	EXPECT_EQ(0, module_unload());
	EXPECT_TRUE(khugepaged_as_before());
}

TEST_F_TIMEOUT(poked, seen_by_one_process, 900)
{
	unsigned char before = byte_at(self->child.pid, self->addr);
	long whole = text_of(self->child.pid, "prog-nopie").whole;

	snprintf(self->wanted, sizeof(self->wanted), "%016llx",
		 strtoull(expected("prog-nopie", "call"), NULL, 16) + (before & 1 ? -1 : 1));
	ASSERT_TRUE(works(&self->child, "prog-nopie"));
	if (variant->huge) {
		ASSERT_EQ(0, write_text(ENABLED, "1"));
		ASSERT_TRUE(wait_all_huge(self->child.pid, "prog-nopie"));
	}
	ASSERT_TRUE(poke_running(self->child.pid, self->addr, before ^ 1));
	EXPECT_STREQ(self->wanted, child_ask(&self->child, "call"));
	ASSERT_EQ(0, write_text(ENABLED, "1"));
	ASSERT_TRUE(look_again(&self->child));
	EXPECT_LE(1, counter("private_copy"));

	EXPECT_EQ(variant->huge ? whole - 2048 : 0, text_of(self->child.pid, "prog-nopie").huge);
	EXPECT_STREQ(self->wanted, child_ask(&self->child, "call"));
	EXPECT_EQ(1, wrong_bytes(self->child.pid, "prog-nopie"));
	EXPECT_TRUE(wait_all_huge(self->other.pid, "prog-nopie"));
	EXPECT_EQ(0, wrong_bytes(self->other.pid, "prog-nopie"));
	EXPECT_TRUE(works(&self->other, "prog-nopie"));

	ASSERT_EQ(0, module_unload());
	EXPECT_STREQ(self->wanted, child_ask(&self->child, "call"));
	EXPECT_EQ(1, wrong_bytes(self->child.pid, "prog-nopie"));
	EXPECT_TRUE(works(&self->other, "prog-nopie"));
	ASSERT_EQ(0, module_load(""));
}

/* At another moment in each round: before, in the middle of, and after the collapse. */
TEST_F_TIMEOUT(process, poked_during_a_collapse, 900)
{
	unsigned char before;
	unsigned long addr;

	ASSERT_EQ(0, write_text(ENABLED, "1"));
	for (int i = 0; i < 16; i++) {
		ASSERT_TRUE(fresh_copy(FOLDER, "prog-nopie"));
		ASSERT_TRUE(child_start(&self->child, PROGRAM));
		addr = inner_page(big_text(&self->child, "addr")) + i * 4096 + 1;
		before = byte_at(self->child.pid, addr);
		sleep_ms(i * 4);
		ASSERT_TRUE(poke_running(self->child.pid, addr, before ^ 0x80));
		ASSERT_TRUE(child_start(&self->other, PROGRAM));
		EXPECT_TRUE(wait_all_huge(self->other.pid, PROGRAM));
		EXPECT_TRUE(works(&self->other, "prog-nopie"));
		EXPECT_EQ(before ^ 0x80, byte_at(self->child.pid, addr));
		EXPECT_EQ(1, wrong_bytes(self->child.pid, PROGRAM));
		EXPECT_FALSE(is_right(child_ask(&self->child, "call"), "prog-nopie", "call"));
		ASSERT_TRUE(child_quit(&self->other));
		ASSERT_TRUE(child_quit(&self->child));
	}
	EXPECT_TRUE(wait_settled());
}

/* ---- uprobes ---- */

#define UPROBE_EVENT	"hugetext_test/page"

/* On the first function of one page of the program, which every "call" calls. */
FIXTURE(uprobe) {
	struct child child;
	struct child other;
	unsigned long addr;
	long whole;
};

static bool uprobe_on(void)
{
	return !write_text(TRACING "events/" UPROBE_EVENT "/enable", "1");
}

static bool uprobe_off(void)
{
	return !write_text(TRACING "events/" UPROBE_EVENT "/enable", "0");
}

static long uprobe_hits(void)
{
	const char *name = strchr(UPROBE_EVENT, '/') + 1;
	const char *line = strstr(read_text(TRACING "uprobe_profile"), name);

	return line ? strtol(line + strlen(name), NULL, 10) : -1;
}

FIXTURE_SETUP(uprobe)
{
	struct text_mapping text;
	char definition[512];

	ASSERT_TRUE(fresh_copy(FOLDER, "prog-nopie"));
	ASSERT_TRUE(fresh_copy(FOLDER, "libtext.so"));
	ASSERT_TRUE(khugepaged_off());
	ASSERT_EQ(0, module_load(""));
	ASSERT_TRUE(child_start(&self->child, PROGRAM));
	ASSERT_TRUE(find_text(self->child.pid, PROGRAM, &text));
	self->addr = inner_page(big_text(&self->child, "addr"));
	self->whole = text_of(self->child.pid, PROGRAM).whole;
	snprintf(definition, sizeof(definition), "p:" UPROBE_EVENT " " PROGRAM ":%#lx",
		 self->addr - text.start + text.offset);
	ASSERT_EQ(0, write_text(TRACING "uprobe_events", definition));
}

FIXTURE_TEARDOWN(uprobe)
{
	child_kill(&self->child);
	child_kill(&self->other);
	uprobe_off();
	EXPECT_EQ(0, write_text(TRACING "uprobe_events", "-:" UPROBE_EVENT));
	EXPECT_EQ(0, module_unload());
	EXPECT_TRUE(khugepaged_as_before());
}

static bool is_probed(pid_t pid, unsigned long addr)
{
	return byte_at(pid, addr) == BREAKPOINT && wrong_bytes(pid, PROGRAM) == 1;
}

/* Without the probe its processes have their bytes back, and new ones become huge. */
#define CHECK_AFTER_PROBE()							\
do {										\
	ASSERT_TRUE(uprobe_off());						\
	EXPECT_TRUE(works(&self->child, "prog-nopie"));				\
	EXPECT_EQ(0, wrong_bytes(self->child.pid, PROGRAM));			\
	child_kill(&self->other);						\
	ASSERT_TRUE(child_start(&self->other, PROGRAM));			\
	EXPECT_TRUE(wait_all_huge(self->other.pid, PROGRAM));			\
	EXPECT_TRUE(works(&self->other, "prog-nopie"));				\
	EXPECT_EQ(0, wrong_bytes(self->other.pid, PROGRAM));			\
} while (0)

TEST_F_TIMEOUT(uprobe, set_before_exec, 900)
{
	ASSERT_TRUE(child_quit(&self->child));
	ASSERT_TRUE(uprobe_on());
	ASSERT_EQ(0, write_text(ENABLED, "1"));
	ASSERT_TRUE(child_start(&self->child, PROGRAM));
	EXPECT_TRUE(wait_counter("private_copy", 1));
	for (int i = 1; i <= 3; i++) {
		EXPECT_TRUE(is_right(child_ask(&self->child, "call"), "prog-nopie", "call"));
		EXPECT_EQ(i, uprobe_hits());
	}
	EXPECT_EQ(0, counter("collapsed_regions"));
	EXPECT_EQ(0, text_of(self->child.pid, PROGRAM).huge);
	EXPECT_TRUE(is_probed(self->child.pid, self->addr));
	CHECK_AFTER_PROBE();
	EXPECT_EQ(3, uprobe_hits());
}

TEST_F_TIMEOUT(uprobe, set_while_small, 900)
{
	ASSERT_TRUE(works(&self->child, "prog-nopie"));
	ASSERT_TRUE(uprobe_on());
	ASSERT_EQ(0, write_text(ENABLED, "1"));
	EXPECT_TRUE(wait_counter("private_copy", 1));
	ASSERT_TRUE(look_again(&self->child));
	EXPECT_TRUE(is_right(child_ask(&self->child, "call"), "prog-nopie", "call"));
	EXPECT_EQ(1, uprobe_hits());
	EXPECT_EQ(0, text_of(self->child.pid, PROGRAM).huge);
	EXPECT_TRUE(is_probed(self->child.pid, self->addr));
	CHECK_AFTER_PROBE();
	EXPECT_EQ(1, uprobe_hits());
}

TEST_F_TIMEOUT(uprobe, set_while_huge, 900)
{
	ASSERT_EQ(0, write_text(ENABLED, "1"));
	ASSERT_TRUE(child_start(&self->other, PROGRAM));
	ASSERT_TRUE(wait_all_huge(self->child.pid, PROGRAM));
	ASSERT_TRUE(wait_all_huge(self->other.pid, PROGRAM));
	for (int i = 0; i < 3; i++) {
		ASSERT_TRUE(uprobe_on());
		EXPECT_TRUE(is_right(child_ask(&self->child, "call"), "prog-nopie", "call"));
		EXPECT_TRUE(is_right(child_ask(&self->other, "call"), "prog-nopie", "call"));
		EXPECT_EQ(2 * i + 2, uprobe_hits());
		EXPECT_EQ(self->whole - 2048, text_of(self->child.pid, PROGRAM).huge);
		EXPECT_EQ(self->whole - 2048, text_of(self->other.pid, PROGRAM).huge);
		EXPECT_TRUE(is_probed(self->child.pid, self->addr));
		EXPECT_TRUE(is_probed(self->other.pid, self->addr));
		ASSERT_TRUE(uprobe_off());
		EXPECT_TRUE(works(&self->child, "prog-nopie"));
		EXPECT_LE(self->whole - 2048, text_of(self->child.pid, PROGRAM).huge);
	}
	CHECK_AFTER_PROBE();
}

/*
 * At another moment in each round, set and cleared. Where unloading drops what
 * is huge, each round begins with small pages.
 */
TEST_F_TIMEOUT(uprobe, set_during_a_collapse, 900)
{
	long hits;

	ASSERT_TRUE(child_start(&self->other, PROGRAM));
	for (int i = 0; i < 16; i++) {
		ASSERT_EQ(0, write_text(ENABLED, "1"));
		sleep_ms(i * 3);
		ASSERT_TRUE(uprobe_on());
		hits = uprobe_hits();
		EXPECT_TRUE(is_right(child_ask(&self->child, "call"), "prog-nopie", "call"));
		EXPECT_TRUE(is_right(child_ask(&self->other, "call"), "prog-nopie", "call"));
		EXPECT_EQ(hits + 2, uprobe_hits());
		EXPECT_TRUE(is_probed(self->child.pid, self->addr));
		EXPECT_TRUE(is_probed(self->other.pid, self->addr));
		ASSERT_TRUE(uprobe_off());
		EXPECT_EQ(0, wrong_bytes(self->child.pid, PROGRAM));
		EXPECT_EQ(0, wrong_bytes(self->other.pid, PROGRAM));
		child_kill(&self->other);
		ASSERT_EQ(0, module_unload());
		ASSERT_EQ(0, module_load(""));
		ASSERT_TRUE(child_start(&self->other, PROGRAM));
	}
	ASSERT_EQ(0, write_text(ENABLED, "1"));
	CHECK_AFTER_PROBE();
}

/* Unloading takes the huge pages away under the probe, which stays. */
TEST_F_TIMEOUT(uprobe, unloaded_while_set, 900)
{
	ASSERT_EQ(0, write_text(ENABLED, "1"));
	ASSERT_TRUE(wait_all_huge(self->child.pid, PROGRAM));
	ASSERT_TRUE(uprobe_on());
	ASSERT_EQ(0, module_unload());
	EXPECT_TRUE(is_right(child_ask(&self->child, "call"), "prog-nopie", "call"));
	EXPECT_EQ(1, uprobe_hits());
	EXPECT_TRUE(is_probed(self->child.pid, self->addr));
	ASSERT_EQ(0, module_load("hugetext=1"));
	CHECK_AFTER_PROBE();
}

/* ---- Text relocations ---- */

/*
 * The word that the loader relocated, its own address, is in the page before
 * the big text; nothing else of the text differs from the file.
 */
static bool is_relocated(pid_t pid, unsigned long text)
{
	const unsigned long addr = text - sizeof(addr);

	return peek(pid, addr) == (long)addr &&
	       wrong_bytes(pid, "libtext-textrel.so") <= (long)sizeof(addr);
}

TEST_F_TIMEOUT(process, text_relocations, 900)
{
	const char *library = "dlopen " FOLDER "/libtext-textrel.so";
	unsigned long text[2];
	long whole;

	ASSERT_TRUE(fresh_copy(FOLDER, "libtext-textrel.so"));
	ASSERT_EQ(0, write_text(ENABLED, "1"));
	ASSERT_TRUE(child_start(&self->child, PROGRAM));
	ASSERT_TRUE(child_start(&self->other, PROGRAM));
	ASSERT_STREQ(library, child_ask(&self->child, library));
	ASSERT_STREQ(library, child_ask(&self->other, library));
	text[0] = big_text(&self->child, "addrlib");
	text[1] = big_text(&self->other, "addrlib");
	EXPECT_TRUE(is_relocated(self->child.pid, text[0]));
	whole = text_of(self->child.pid, "libtext-textrel.so").whole;

	/* The program has other text that is served, and this library is passed over. */
	EXPECT_TRUE(wait_all_huge(self->child.pid, PROGRAM));
	EXPECT_TRUE(wait_all_huge(self->other.pid, PROGRAM));
	EXPECT_TRUE(wait_settled());
	EXPECT_LE(1, counter("private_copy"));
	for (int i = 0; i < 2; i++) {
		struct child *child = i ? &self->other : &self->child;

		EXPECT_GT(whole, text_of(child->pid, "libtext-textrel.so").huge);
		EXPECT_TRUE(is_right(child_ask(child, "sumlib"), "libtext-textrel.so", "sum"));
		EXPECT_TRUE(is_right(child_ask(child, "calllib"), "libtext-textrel.so", "call"));
		EXPECT_TRUE(is_relocated(child->pid, text[i]));
	}
	ASSERT_EQ(0, module_unload());
	EXPECT_TRUE(is_relocated(self->child.pid, text[0]));
	EXPECT_TRUE(is_relocated(self->other.pid, text[1]));
	EXPECT_TRUE(child_quit(&self->child));
	EXPECT_TRUE(child_quit(&self->other));
	ASSERT_EQ(0, module_load(""));
}

/* ---- Text that this process maps itself ---- */

FIXTURE(mapped) {
	int fd;
	size_t size;
	unsigned char *bytes;	/* what the file holds */
	struct child child;
};

FIXTURE_SETUP(mapped)
{
	struct stat st;

	ASSERT_TRUE(fresh_copy(FOLDER, "libtext.so"));
	ASSERT_TRUE(fresh_copy(FOLDER, "libtext-2m.so"));
	self->fd = open(LIBRARY, O_RDONLY | O_CLOEXEC);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, fstat(self->fd, &st));
	self->size = st.st_size / REGION * REGION;
	self->bytes = malloc(self->size);
	ASSERT_EQ(self->size, pread(self->fd, self->bytes, self->size, 0));
	ASSERT_TRUE(khugepaged_off());
	ASSERT_EQ(0, module_load("hugetext=1"));
}

FIXTURE_TEARDOWN(mapped)
{
	child_kill(&self->child);
	close(self->fd);
	EXPECT_EQ(0, module_unload());
	EXPECT_TRUE(khugepaged_as_before());
}

/* A free place that huge pages can cover; nobody else maps anything meanwhile. */
static unsigned char *free_place(size_t size)
{
	void *place = mmap(NULL, size + REGION, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(place, size + REGION);
	return (void *)(((unsigned long)place + REGION - 1) / REGION * REGION);
}

static unsigned char *map_text(int fd, size_t size)
{
	return mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
}

#define CHANGE_SECONDS	8

/* What the threads of the process that changes its mappings share. */
static struct {
	int fd;
	size_t size;
	const unsigned char *bytes;
	bool stop;
	long wrong;
} changed;

static void compare(const unsigned char *text, size_t from, size_t to)
{
	if (memcmp(text + from, changed.bytes + from, to - from))
		changed.wrong++;
}

/* One mapping that stays, read all the time. */
static void *read_text_all_the_time(void *text)
{
	while (!__atomic_load_n(&changed.stop, __ATOMIC_RELAXED))
		compare(text, 0, changed.size);
	return NULL;
}

/* A private copy of one page, made as a loader with text relocations makes it. */
static void change_page(unsigned char *text, size_t at)
{
	const int text_again = PROT_READ | PROT_EXEC;

	changed.wrong += mprotect(text + at, 4096, PROT_READ | PROT_WRITE | PROT_EXEC) != 0;
	text[at + 17] ^= 0xff;
	changed.wrong += mprotect(text + at, 4096, text_again) != 0;
	sleep_ms(30);
	changed.wrong += text[at + 17] != (changed.bytes[at + 17] ^ 0xff);
	compare(text, at + 18, at + 4096);
	compare(text, 0, at + 17);
}

static unsigned char *move(unsigned char *text)
{
	unsigned char *moved = mremap(text, changed.size, changed.size,
				      MREMAP_MAYMOVE | MREMAP_FIXED, free_place(changed.size));

	changed.wrong += moved == MAP_FAILED;
	return moved;
}

/* Map the text, change it at another moment in each round, and let it go. */
static void change_once(unsigned int round)
{
	size_t at = (round * 37 % (changed.size / 4096)) * 4096, middle = changed.size / 2;
	unsigned char *text = map_text(changed.fd, changed.size);

	compare(text, 0, changed.size);
	sleep_ms(round * 7 % 60);
	switch (round % 4) {
	case 0:
		changed.wrong += mprotect(text + at, 4096, PROT_READ) != 0;
		compare(text, 0, changed.size);
		changed.wrong += mprotect(text + at, 4096, PROT_READ | PROT_EXEC) != 0;
		sleep_ms(30);
		compare(text, 0, changed.size);
		break;
	case 1:
		change_page(text, at);
		compare(text, 0, at);
		compare(text, at + 4096, changed.size);
		break;
	case 2:
		changed.wrong += munmap(text + middle - 4096, 3 * 4096) != 0;
		sleep_ms(30);
		compare(text, 0, middle - 4096);
		compare(text, middle + 2 * 4096, changed.size);
		break;
	case 3:
		text = move(text);
		sleep_ms(30);
		compare(text, 0, changed.size);
		break;
	}
	munmap(text, changed.size);
}

static int change_all_the_time(void)
{
	time_t end = time(NULL) + CHANGE_SECONDS;
	unsigned int rounds = 0;
	pthread_t reader;
	void *stays;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	stays = map_text(changed.fd, changed.size);
	pthread_create(&reader, NULL, read_text_all_the_time, stays);
	while (time(NULL) < end)
		change_once(rounds++);
	__atomic_store_n(&changed.stop, true, __ATOMIC_RELAXED);
	pthread_join(reader, NULL);
	fprintf(stderr, "# %u rounds, %ld wrong\n", rounds, changed.wrong);
	return changed.wrong || rounds < 4;
}

/* A writer comes and goes, so that there is always something to collapse. */
TEST_F_TIMEOUT(mapped, changed_under_khugetextd, 900)
{
	int status;
	pid_t pid;

	changed.fd = self->fd;
	changed.size = self->size;
	changed.bytes = self->bytes;
	pid = fork();
	if (!pid)
		_exit(change_all_the_time());
	while (!waitpid(pid, &status, WNOHANG)) {
		close(open(LIBRARY, O_RDWR | O_CLOEXEC));
		sleep_ms(150);
	}
	EXPECT_TRUE(WIFEXITED(status));
	EXPECT_EQ(0, status);
	EXPECT_LT(0, counter("collapsed_regions"));
	EXPECT_TRUE(wait_settled());
}

/* Moved to where no huge page fits, and back to where one does. */
TEST_F_TIMEOUT(mapped, moved, 900)
{
	unsigned char *text = map_text(self->fd, self->size);
	unsigned char *place = free_place(self->size + REGION);

	ASSERT_TRUE(wait_huge(getpid(), LIBRARY, self->size / 1024));
	ASSERT_EQ(place + 4096, mremap(text, self->size, self->size,
				       MREMAP_MAYMOVE | MREMAP_FIXED, place + 4096));
	EXPECT_EQ(0, memcmp(place + 4096, self->bytes, self->size));
	EXPECT_EQ(0, text_of(getpid(), LIBRARY).huge);
	ASSERT_EQ(text, mremap(place + 4096, self->size, self->size,
			       MREMAP_MAYMOVE | MREMAP_FIXED, text));
	EXPECT_EQ(0, memcmp(text, self->bytes, self->size));
	/* It is looked at again when the process maps something. */
	ASSERT_NE(MAP_FAILED, map_text(self->fd, self->size));
	EXPECT_TRUE(wait_huge(getpid(), LIBRARY, 2 * self->size / 1024));
	EXPECT_EQ(0, memcmp(text, self->bytes, self->size));
}

/* ---- userfaultfd ---- */

static int open_userfaultfd(uint64_t features)
{
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	struct uffdio_api api = { .api = UFFD_API, .features = features };

	if (fd >= 0 && ioctl(fd, UFFDIO_API, &api)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static int watch(int uffd, void *start, size_t size, uint64_t mode)
{
	struct uffdio_register range = {
		.range = { (unsigned long)start, size }, .mode = mode,
	};

	return ioctl(uffd, UFFDIO_REGISTER, &range) ? -errno : 0;
}

/* Only write protection can be watched on text of a disk, and only since 6.7. */
TEST_F_TIMEOUT(mapped, userfaultfd_on_a_disk, 900)
{
	struct uffdio_range range;
	unsigned char *text;
	int uffd;

	ASSERT_EQ(0, write_text(ENABLED, "0"));
	text = mmap(free_place(self->size), self->size, PROT_READ | PROT_EXEC,
		    MAP_PRIVATE | MAP_FIXED, self->fd, 0);
	uffd = open_userfaultfd(0);
	ASSERT_LE(0, uffd);
	EXPECT_EQ(-EINVAL, watch(uffd, text, self->size, UFFDIO_REGISTER_MODE_MISSING));
	close(uffd);

	uffd = open_userfaultfd(UFFD_FEATURE_WP_ASYNC);
	if (uffd >= 0) {
		ASSERT_EQ(0, watch(uffd, text, self->size, UFFDIO_REGISTER_MODE_WP));
		ASSERT_EQ(0, write_text(ENABLED, "1"));
		EXPECT_TRUE(wait_counter("userfaultfd", 1));
		EXPECT_TRUE(wait_settled());
		EXPECT_EQ(0, text_of(getpid(), LIBRARY).huge);
		range = (struct uffdio_range){ (unsigned long)text, self->size };
		ASSERT_EQ(0, ioctl(uffd, UFFDIO_UNREGISTER, &range));
		close(uffd);
		ASSERT_EQ(0, write_text(ENABLED, "0"));
	}
	/* Nobody watches it any more. */
	ASSERT_EQ(0, write_text(ENABLED, "1"));
	EXPECT_TRUE(wait_huge(getpid(), LIBRARY, self->size / 1024));
	EXPECT_EQ(0, memcmp(text, self->bytes, self->size));
}

struct reading {
	const unsigned char *at;
	unsigned char byte;
};

static void *read_byte(void *data)
{
	struct reading *reading = data;

	reading->byte = __atomic_load_n(reading->at, __ATOMIC_RELAXED);
	return NULL;
}

/* A hole whose reader waits for the watcher must not be filled by anybody else. */
TEST_F_TIMEOUT(mapped, userfaultfd_on_tmpfs, 900)
{
	static unsigned char page[4096];
	struct reading reading;
	struct uffdio_copy copy;
	struct uffd_msg message;
	struct pollfd poll_fd;
	unsigned char *text;
	pthread_t reader;
	struct stat st;
	int uffd, fd;

	fd = open("/dev/shm/text", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
	ASSERT_EQ(0, ftruncate(fd, 3 * REGION));
	close(fd);
	fd = open("/dev/shm/text", O_RDONLY | O_CLOEXEC);
	ASSERT_EQ(0, unlink("/dev/shm/text"));
	ASSERT_EQ(0, write_text(ENABLED, "0"));
	text = mmap(free_place(3 * REGION), 3 * REGION, PROT_READ | PROT_EXEC,
		    MAP_PRIVATE | MAP_FIXED, fd, 0);
	uffd = open_userfaultfd(0);
	ASSERT_EQ(0, watch(uffd, text, 3 * REGION, UFFDIO_REGISTER_MODE_MISSING));
	ASSERT_EQ(0, write_text(ENABLED, "1"));
	EXPECT_TRUE(wait_counter("userfaultfd", 1));
	EXPECT_TRUE(wait_settled());
	ASSERT_EQ(0, fstat(fd, &st));
	EXPECT_EQ(0, st.st_blocks);

	reading.at = text + REGION + 5;
	ASSERT_EQ(0, pthread_create(&reader, NULL, read_byte, &reading));
	poll_fd = (struct pollfd){ uffd, POLLIN, 0 };
	ASSERT_EQ(1, poll(&poll_fd, 1, PATIENCE * 1000));
	ASSERT_EQ(sizeof(message), read(uffd, &message, sizeof(message)));
	EXPECT_EQ(UFFD_EVENT_PAGEFAULT, message.event);
	EXPECT_EQ((unsigned long)text + REGION, message.arg.pagefault.address & ~4095ul);
	memset(page, 0x5a, sizeof(page));
	copy = (struct uffdio_copy){
		(unsigned long)text + REGION, (unsigned long)page, sizeof(page), 0, 0,
	};
	ASSERT_EQ(0, ioctl(uffd, UFFDIO_COPY, &copy));
	ASSERT_EQ(0, pthread_join(reader, NULL));
	EXPECT_EQ(0x5a, reading.byte);
	close(uffd);
	close(fd);
}

/* ---- Locked memory ---- */

/* Locked text is collapsed too, stays locked, and is no longer locked at the end. */
TEST_F_TIMEOUT(mapped, mlockall_before_and_after, 900)
{
	long before = read_number("/proc/meminfo", "Mlocked");
	long locked_kb = self->size / 1024;
	unsigned char *text[2];
	int other = open(FOLDER "/libtext-2m.so", O_RDONLY | O_CLOEXEC);

	text[0] = map_text(self->fd, self->size);
	ASSERT_TRUE(wait_huge(getpid(), LIBRARY, locked_kb));
	ASSERT_EQ(0, mlockall(MCL_CURRENT | MCL_FUTURE));
	EXPECT_EQ(locked_kb, text_of(getpid(), LIBRARY).huge);
	text[1] = map_text(other, self->size);
	ASSERT_NE(MAP_FAILED, text[1]);
	EXPECT_TRUE(wait_huge(getpid(), "libtext-2m.so", locked_kb));
	EXPECT_EQ(locked_kb, text_of(getpid(), LIBRARY).huge);
	EXPECT_EQ(0, memcmp(text[0], self->bytes, self->size));
	EXPECT_EQ(0, wrong_bytes(getpid(), "libtext-2m.so"));
	EXPECT_LE(2 * locked_kb, read_number("/proc/self/status", "VmLck"));
	EXPECT_LE(before + 2 * locked_kb, read_number("/proc/meminfo", "Mlocked"));

	/* A writer's open takes locked huge pages away as well. */
	close(open(LIBRARY, O_RDWR | O_CLOEXEC));
	EXPECT_EQ(0, memcmp(text[0], self->bytes, self->size));
	ASSERT_EQ(0, munlockall());
	EXPECT_GT(before + locked_kb, read_number("/proc/meminfo", "Mlocked"));
	EXPECT_EQ(0, memcmp(text[0], self->bytes, self->size));
	EXPECT_EQ(0, wrong_bytes(getpid(), "libtext-2m.so"));
	close(other);
}

/* ---- Small pages asked for ---- */

/* The kernel splits the region in which the answers differ; it must stay split. */
TEST_F_TIMEOUT(mapped, nohugepage_after, 900)
{
	long kb = self->size / 1024;
	unsigned char *text;

	text = map_text(self->fd, self->size);
	ASSERT_TRUE(wait_huge(getpid(), LIBRARY, kb));
	ASSERT_EQ(0, madvise(text + REGION + 4096, REGION - 4096, MADV_NOHUGEPAGE));
	EXPECT_EQ(0, memcmp(text, self->bytes, self->size));
	EXPECT_EQ(kb - 2048, text_of(getpid(), LIBRARY).huge);
	ASSERT_EQ(0, madvise(text + REGION, 4096, MADV_NOHUGEPAGE));

	ASSERT_NE(MAP_FAILED, map_text(self->fd, self->size));
	EXPECT_TRUE(wait_huge(getpid(), LIBRARY, 2 * kb - 2048));
	EXPECT_TRUE(wait_settled());
	EXPECT_EQ(2 * kb - 2048, text_of(getpid(), LIBRARY).huge);
	EXPECT_LE(1, counter("nohugepage"));
	EXPECT_EQ(0, memcmp(text, self->bytes, self->size));

	/* Whoever changes his mind is served again. */
	ASSERT_EQ(0, madvise(text + REGION, REGION, MADV_HUGEPAGE));
	ASSERT_NE(MAP_FAILED, map_text(self->fd, self->size));
	EXPECT_TRUE(wait_huge(getpid(), LIBRARY, 3 * kb));
	EXPECT_EQ(0, memcmp(text, self->bytes, self->size));
}

/* What is huge may stay; what is mapped from then on is small. */
TEST_F_TIMEOUT(mapped, thp_disabled_after, 900)
{
	int other = open(FOLDER "/libtext-2m.so", O_RDONLY | O_CLOEXEC);
	long kb = self->size / 1024;
	unsigned char *text[2];

	text[0] = map_text(self->fd, self->size);
	ASSERT_TRUE(wait_huge(getpid(), LIBRARY, kb));
	ASSERT_EQ(0, prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0));
	text[1] = map_text(other, self->size);
	EXPECT_TRUE(wait_counter("thp_disabled", 1));
	EXPECT_TRUE(wait_settled());
	EXPECT_EQ(0, text_of(getpid(), "libtext-2m.so").huge);
	EXPECT_EQ(0, memcmp(text[0], self->bytes, self->size));
	EXPECT_EQ(0, wrong_bytes(getpid(), "libtext-2m.so"));

	ASSERT_EQ(0, prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0));
	ASSERT_NE(MAP_FAILED, map_text(other, self->size));
	EXPECT_TRUE(wait_huge(getpid(), "libtext-2m.so", 2 * kb));
	EXPECT_EQ(0, memcmp(text[0], self->bytes, self->size));
	EXPECT_EQ(0, wrong_bytes(getpid(), "libtext-2m.so"));
	ASSERT_NE(MAP_FAILED, text[1]);
	close(other);
}

/* Newer kernels let a process disable huge pages but where it asks for them. */
TEST_F_TIMEOUT(mapped, thp_disabled_except_advised, 900)
{
	unsigned char *text[2];
	long kb = self->size / 1024;

	if (prctl(PR_SET_THP_DISABLE, 1, PR_THP_DISABLE_EXCEPT_ADVISED, 0, 0)) {
		/* A kernel that does not know it must not have taken it for the old call. */
		ASSERT_EQ(EINVAL, errno);
		ASSERT_EQ(0, prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0));
		SKIP(return, "PR_THP_DISABLE_EXCEPT_ADVISED is of later kernels");
	}
	ASSERT_EQ(0, write_text(ENABLED, "0"));
	for (int i = 0; i < 2; i++)
		text[i] = map_text(self->fd, self->size);
	ASSERT_EQ(0, madvise(text[1], self->size, MADV_HUGEPAGE));
	ASSERT_EQ(0, write_text(ENABLED, "1"));
	EXPECT_TRUE(wait_huge(getpid(), LIBRARY, kb));
	EXPECT_TRUE(wait_settled());
	EXPECT_EQ(kb, text_of(getpid(), LIBRARY).huge);
	EXPECT_LE(1, counter("thp_disabled"));
	EXPECT_EQ(0, memcmp(text[0], self->bytes, self->size));
	EXPECT_EQ(0, memcmp(text[1], self->bytes, self->size));
}

static void disable_but_advised(void)
{
	prctl(PR_SET_THP_DISABLE, 1, PR_THP_DISABLE_EXCEPT_ADVISED, 0, 0);
}

static void disable_thp(void)
{
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
}

/* Inherited over exec, and by the children of who was executed. */
TEST_F_TIMEOUT(process, thp_disabled_before_exec, 900)
{
	static void (* const how[])(void) = { disable_thp, disable_but_advised };
	int forked = 0;

	for (int i = 0; i < 2; i++) {
		if (i && prctl(PR_SET_THP_DISABLE, 1, PR_THP_DISABLE_EXCEPT_ADVISED, 0, 0))
			break;
		ASSERT_EQ(0, prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0));
		ASSERT_TRUE(child_start_prepared(&self->child, PROGRAM, how[i]));
		ASSERT_TRUE(sscanf(child_ask(&self->child, "fork"), "child %d", &forked) == 1);
		/* Now all processes are looked at, these two among them. */
		ASSERT_EQ(0, write_text(ENABLED, "1"));
		EXPECT_TRUE(wait_counter("thp_disabled", 2 * i + 2));
		EXPECT_TRUE(wait_settled());
		EXPECT_TRUE(works(&self->child, "prog-nopie"));
		EXPECT_EQ(0, text_of(self->child.pid, PROGRAM).huge);
		EXPECT_EQ(0, wrong_bytes(forked, PROGRAM));
		EXPECT_EQ(0, text_of(forked, PROGRAM).huge);
		ASSERT_EQ(0, write_text(ENABLED, "0"));
		child_kill(&self->child);
	}
}

/*
 * Another process made the program huge. What maps a huge page then is not
 * khugetextd but a fault; kernels since 6.12 ask the process there, 6.1 does not.
 */
TEST_F_TIMEOUT(process, thp_disabled_beside_a_huge_one, 900)
{
	struct utsname name;
	long collapsed;

	ASSERT_EQ(0, uname(&name));
	ASSERT_EQ(0, write_text(ENABLED, "1"));
	ASSERT_TRUE(child_start(&self->other, PROGRAM));
	ASSERT_TRUE(wait_all_huge(self->other.pid, PROGRAM));
	ASSERT_TRUE(wait_settled());
	collapsed = counter("collapsed_regions");
	ASSERT_TRUE(child_start_prepared(&self->child, PROGRAM, disable_thp));
	EXPECT_TRUE(wait_counter("thp_disabled", 1));
	EXPECT_TRUE(wait_settled());
	EXPECT_TRUE(works(&self->child, "prog-nopie"));
	EXPECT_EQ(collapsed, counter("collapsed_regions"));
	if (strncmp(name.release, "6.1.", 4))
		EXPECT_EQ(0, text_of(self->child.pid, PROGRAM).huge);
	EXPECT_EQ(text_of(self->other.pid, PROGRAM).whole, text_of(self->other.pid, PROGRAM).huge);
}

/* ---- exec, in odd ways ---- */

/* Start as child_start() does, but with vfork() from a process with huge text. */
static bool child_start_vfork(struct child *child, char *path)
{
	char * const arguments[] = { path, "wait", NULL };
	posix_spawn_file_actions_t actions;
	int in[2], out[2];
	bool ok;

	*child = (struct child){ 0 };
	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		return false;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
	ok = !posix_spawn(&child->pid, path, &actions, NULL, arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(in[0]);
	close(out[1]);
	child->in = in[1];
	child->out = out[0];
	return ok && child_ask(child, NULL) && !strncmp(child->answer, "ready ", 6);
}

TEST_F_TIMEOUT(mapped, vfork_and_exec, 900)
{
	unsigned char *text = map_text(self->fd, self->size);

	ASSERT_NE(MAP_FAILED, text);
	/* Before its own text is huge, while it becomes so, and after. */
	for (int i = 0; i < 6; i++) {
		ASSERT_TRUE(child_start_vfork(&self->child, FIXTURES "/prog-nopie"));
		EXPECT_TRUE(works(&self->child, "prog-nopie"));
		if (i == 5)
			EXPECT_TRUE(wait_all_huge(self->child.pid, "prog-nopie"));
		EXPECT_TRUE(child_quit(&self->child));
	}
	EXPECT_TRUE(wait_huge(getpid(), LIBRARY, self->size / 1024));
	EXPECT_EQ(0, memcmp(text, self->bytes, self->size));
	EXPECT_TRUE(wait_settled());
}

/* What the threads before exec share. */
static struct {
	const char *path;
	unsigned int pause;	/* ms before exec */
	int fd;
	size_t size;
	uint64_t sum;		/* of what one of them reads */
} before_exec;

static void *exec_now(void *unused)
{
	(void)unused;
	sleep_ms(before_exec.pause);
	execl(before_exec.path, before_exec.path, "wait", NULL);
	_exit(127);
}

static void *read_for_ever(void *text)
{
	for (;;)
		__atomic_store_n(&before_exec.sum, fnv(text, 65536), __ATOMIC_RELAXED);
	return NULL;
}

/* A process with text of its own, whose leader is not the one that execs. */
static void exec_from_a_thread(void)
{
	void *text = map_text(before_exec.fd, before_exec.size);
	pthread_t thread;

	pthread_create(&thread, NULL, read_for_ever, text);
	pthread_create(&thread, NULL, exec_now, NULL);
	for (;;)
		pause();
}

TEST_F_TIMEOUT(mapped, exec_from_a_thread, 900)
{
	static const char * const programs[] = { "prog-pie", "prog-nopie", "prog-static-pie" };
	const char *program;
	char path[512];
	int pid;

	for (int i = 0; i < 12; i++) {
		program = programs[i % ARRAY_SIZE(programs)];
		snprintf(path, sizeof(path), FIXTURES "/%s", program);
		before_exec.path = path;
		before_exec.pause = i * 11;
		before_exec.fd = self->fd;
		before_exec.size = self->size;
		ASSERT_TRUE(child_start_prepared(&self->child, path, exec_from_a_thread));
		/* The thread became the process: same number, and that of its slot. */
		ASSERT_TRUE(sscanf(self->child.answer, "ready %d", &pid) == 1);
		EXPECT_EQ(self->child.pid, pid);
		EXPECT_EQ(0, text_of(pid, LIBRARY).text);
		EXPECT_TRUE(works(&self->child, program));
		if (i >= 9) {
			EXPECT_TRUE(wait_all_huge(pid, program));
			EXPECT_TRUE(works(&self->child, program));
		}
		EXPECT_TRUE(child_quit(&self->child));
		/* Somebody has to begin anew with small pages. */
		close(open(LIBRARY, O_RDWR | O_CLOEXEC));
	}
	EXPECT_TRUE(wait_settled());
}

/* ---- Core dumps ---- */

#define CORE		FOLDER "/core"
#define DUMP_FILE_PAGES	0x3f	/* private and shared mappings of files as well */

/* How many bytes of text in the core differ from memory as the file has it; -1: not all there. */
static long core_differs(const char *core, const struct text_mapping *text,
			 const unsigned char *wanted)
{
	int fd = open(core, O_RDONLY | O_CLOEXEC);
	static unsigned char bytes[65536];
	unsigned long at, end;
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdr;
	long wrong = 0, seen = 0;

	if (pread(fd, &ehdr, sizeof(ehdr), 0) != sizeof(ehdr))
		return -1;
	for (int i = 0; i < ehdr.e_phnum; i++) {
		if (pread(fd, &phdr, sizeof(phdr), ehdr.e_phoff + i * sizeof(phdr)) != sizeof(phdr))
			return -1;
		end = phdr.p_vaddr + phdr.p_filesz;
		if (phdr.p_type != PT_LOAD || phdr.p_vaddr < text->start || end > text->end)
			continue;
		for (at = phdr.p_vaddr; at < end; at += sizeof(bytes)) {
			long n = end - at < sizeof(bytes) ? end - at : sizeof(bytes);

			if (pread(fd, bytes, n, phdr.p_offset + at - phdr.p_vaddr) != n)
				return -1;
			for (long j = 0; j < n; j++)
				wrong += bytes[j] != wanted[at - text->start + j];
			seen += n;
		}
	}
	close(fd);
	return seen == (long)(text->end - text->start) ? wrong : -1;
}

/* With a breakpoint in one region the core has it, and all else as in the file. */
TEST_F_TIMEOUT(process, core_dump, 900)
{
	const struct rlimit no_limit = { RLIM_INFINITY, RLIM_INFINITY };
	struct text_mapping text;
	char path[64], filter[16];
	unsigned char *wanted;
	unsigned long addr;
	int status, fd;

	ASSERT_EQ(0, write_text("/proc/sys/kernel/core_pattern", CORE));
	ASSERT_EQ(0, write_text(ENABLED, "1"));
	for (int i = 0; i < 2; i++) {
		unlink(CORE);
		ASSERT_TRUE(child_start(&self->child, PROGRAM));
		ASSERT_TRUE(wait_all_huge(self->child.pid, PROGRAM));
		ASSERT_TRUE(find_text(self->child.pid, PROGRAM, &text));
		wanted = malloc(text.end - text.start);
		memset(wanted, 0, text.end - text.start);
		fd = open(PROGRAM, O_RDONLY | O_CLOEXEC);
		ASSERT_LT(0, pread(fd, wanted, text.end - text.start, text.offset));
		close(fd);
		addr = inner_page(text.start);
		if (i) {
			ASSERT_TRUE(poke_running(self->child.pid, addr, BREAKPOINT));
			wanted[addr - text.start] = BREAKPOINT;
		}

		snprintf(path, sizeof(path), "/proc/%d/coredump_filter", self->child.pid);
		snprintf(filter, sizeof(filter), "%#x", DUMP_FILE_PAGES);
		ASSERT_EQ(0, write_text(path, filter));
		ASSERT_EQ(0, prlimit(self->child.pid, RLIMIT_CORE, &no_limit, NULL));
		ASSERT_EQ(0, kill(self->child.pid, SIGABRT));
		ASSERT_EQ(self->child.pid, waitpid(self->child.pid, &status, 0));
		self->child.pid = 0;
		ASSERT_TRUE(WIFSIGNALED(status));
		EXPECT_EQ(SIGABRT, WTERMSIG(status));
		EXPECT_TRUE(WCOREDUMP(status));
		EXPECT_EQ(0, core_differs(CORE, &text, wanted));
		free(wanted);
	}
	EXPECT_EQ(0, write_text("/proc/sys/kernel/core_pattern", "core"));
	unlink(CORE);
}

/* ---- Profiles ---- */

#define RING_PAGES	64
#define CALLS		400

struct sample {
	struct perf_event_header header;
	uint64_t ip;
};

static int open_clock(pid_t pid)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr),
		.config = PERF_COUNT_SW_TASK_CLOCK, .sample_period = 500000,
		.sample_type = PERF_SAMPLE_IP, .exclude_kernel = 1, .exclude_hv = 1,
	};

	return syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Of a new page of the ring: where the samples are. */
struct counts {
	long big_text;		/* in the big text */
	long misplaced;		/* there, but not at an instruction that was called */
	long nowhere;		/* in no text of the process */
};

/*
 * A tool finds the symbol from the mapping that holds the address. Of each page
 * only the first function is called, which has two instructions.
 */
static void count_samples(struct perf_event_mmap_page *ring, const struct text_mapping *text,
			  const struct text_mapping *big, struct counts *counts)
{
	const unsigned char *data = (unsigned char *)ring + ring->data_offset;
	uint64_t head = __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->data_tail;
	struct sample sample;

	while (tail < head) {
		for (size_t i = 0; i < sizeof(sample); i++)
			((unsigned char *)&sample)[i] = data[(tail + i) % ring->data_size];
		tail += sample.header.size;
		if (sample.header.type != PERF_RECORD_SAMPLE)
			continue;
		if (sample.ip >= big->start && sample.ip < big->end) {
			size_t in_page = (sample.ip - big->start) % 4096;

			counts->big_text++;
			counts->misplaced += in_page != 0 && in_page != MOV_LENGTH;
		}
		counts->nowhere += sample.ip < text->start || sample.ip >= text->end;
	}
	__atomic_store_n(&ring->data_tail, tail, __ATOMIC_RELEASE);
}

TEST_F_TIMEOUT(process, profile, 900)
{
	struct perf_event_mmap_page *ring;
	struct counts counts = { 0 };
	struct text_mapping text, big = { 0 };
	int clock;

	ASSERT_EQ(0, write_text(ENABLED, "1"));
	ASSERT_TRUE(child_start(&self->child, PROGRAM));
	ASSERT_TRUE(wait_all_huge(self->child.pid, PROGRAM));
	ASSERT_TRUE(find_text(self->child.pid, PROGRAM, &text));
	ASSERT_TRUE(sscanf(child_ask(&self->child, "addr"), "base %*x start %lx end %lx",
			   &big.start, &big.end) == 2);
	clock = open_clock(self->child.pid);
	ASSERT_LE(0, clock);
	ring = mmap(NULL, (1 + RING_PAGES) * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, clock, 0);
	ASSERT_NE(MAP_FAILED, ring);

	for (int i = 0; i < CALLS; i++) {
		ASSERT_TRUE(is_right(child_ask(&self->child, "call"), "prog-nopie", "call"));
		count_samples(ring, &text, &big, &counts);
	}
	EXPECT_EQ(text_of(self->child.pid, PROGRAM).whole, text_of(self->child.pid, PROGRAM).huge);
	fprintf(stderr, "# %ld samples in the big text, %ld not in the program\n",
		counts.big_text, counts.nowhere);
	EXPECT_LT(10, counts.big_text);
	EXPECT_EQ(0, counts.misplaced);
	/* The C library prints the answers. */
	EXPECT_GT(counts.big_text, counts.nowhere);
	close(clock);
}

TEST_HARNESS_MAIN
