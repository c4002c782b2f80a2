// SPDX-License-Identifier: GPL-2.0
/*
 * hugetext why and hugetext rollback: what the module tells of each piece of
 * text is the truth, and what is taken back is small, right and stays so.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "kselftest_harness.h"

#include "guest.h"

#define BREAKPOINT	0x5ca1ab1ecccccccc

/* What the module tells of one address of a process. */
struct told {
	unsigned long start;
	unsigned long end;
	char state[32];
	char reason[32];
};

/* ---- Reading what is told ---- */

static bool next_told(FILE *file, pid_t pid, struct told *told)
{
	char line[256];
	int of;

	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "%d %lx %lx %31s %31s", &of, &told->start, &told->end,
			   told->state, told->reason) == 5 && of == pid)
			return true;
	return false;
}

static bool told_of(pid_t pid, unsigned long addr, struct told *told)
{
	FILE *file = fopen(TOLD, "r");
	bool found = false;

	while (file && !found && next_told(file, pid, told))
		found = told->start <= addr && addr < told->end;
	if (file)
		fclose(file);
	return found;
}

/* "state reason" of an address, waited for; what it is at last if it never comes. */
static const char *wait_told(pid_t pid, unsigned long addr, const char *wanted)
{
	static char is[80];
	struct told told;
	int i;

	for (i = 0; i < PATIENCE * 2; i++) {
		strcpy(is, "nothing");
		if (told_of(pid, addr, &told))
			snprintf(is, sizeof(is), "%s %s", told.state, told.reason);
		if (!strcmp(is, wanted))
			break;
		sleep_ms(500);
	}
	return is;
}

/* Does a command print this? Its output goes to the log if not. */
static bool says(const char *wanted, const char *format, ...)
{
	char command[512], line[1024];
	bool found = false;
	va_list arguments;
	FILE *out;

	va_start(arguments, format);
	vsnprintf(command, sizeof(command), format, arguments);
	va_end(arguments);
	out = popen(command, "r");
	while (out && fgets(line, sizeof(line), out))
		found |= !!strstr(line, wanted);
	if (out)
		pclose(out);
	if (!found) {
		out = popen(command, "r");
		printf("# no '%s' in what %s prints:\n", wanted, command);
		while (out && fgets(line, sizeof(line), out))
			printf("#   %s", line);
		if (out)
			pclose(out);
	}
	return found;
}

/* ---- One process ---- */

FIXTURE(process) {
	struct child child;
	struct text_mapping text;
};

FIXTURE_SETUP(process)
{
	ASSERT_TRUE(khugepaged_off());
	ASSERT_EQ(0, module_load(""));
}

FIXTURE_TEARDOWN(process)
{
	child_kill(&self->child);
	EXPECT_EQ(0, module_unload());
	EXPECT_TRUE(khugepaged_as_before());
}

static unsigned long inner_region(const struct text_mapping *text)
{
	return (text->start + REGION - 1) / REGION * REGION + REGION;
}

static bool start(struct child *child, const char *name, struct text_mapping *text)
{
	return child_start(child, name) && find_text(child->pid, name, text);
}

/* Every page of text is told of once, and as much is huge as the kernel counts. */
TEST_F_TIMEOUT(process, all_text_is_told_and_what_is_huge, 900)
{
	unsigned long at = 0, huge = 0, bytes = 0;
	struct told told;
	FILE *file;

	ASSERT_EQ(0, write_text(ENABLED, "1"));
	ASSERT_TRUE(start(&self->child, "prog-nopie", &self->text));
	ASSERT_TRUE(wait_all_huge(self->child.pid, "prog-nopie"));
	ASSERT_TRUE(wait_settled());
	file = fopen(TOLD, "r");
	ASSERT_NE(NULL, file);
	while (next_told(file, self->child.pid, &told)) {
		EXPECT_LE(at, told.start);
		EXPECT_LT(told.start, told.end);
		at = told.end;
		bytes += told.end - told.start;
		if (!strcmp(told.state, "huge")) {
			EXPECT_STREQ("ok", told.reason);
			huge += told.end - told.start;
		}
	}
	fclose(file);
	/* The vdso is text of no file, and ld.so's and libc's counts. */
	EXPECT_EQ(text_of(self->child.pid, NULL).huge, huge / 1024);
	EXPECT_EQ(text_of(self->child.pid, NULL).text, bytes / 1024);
	EXPECT_STREQ("huge ok", wait_told(self->child.pid, inner_region(&self->text), "huge ok"));
	EXPECT_TRUE(says("padding_off: the region is only partly text", "hugetext why %d",
			 self->child.pid));
	EXPECT_TRUE(says("\"state\": \"huge\"", "hugetext why --json prog-nopie"));
}

TEST_F_TIMEOUT(process, edges, 900)
{
	unsigned long edge;

	/* Placed for padding, or there is nothing to pad. */
	ASSERT_EQ(0, write_text(PAD_THRESHOLD, "4096"));
	ASSERT_EQ(0, write_text(ENABLED, "1"));
	ASSERT_TRUE(start(&self->child, "prog-edges", &self->text));
	edge = self->text.start;
	ASSERT_NE(0, edge % REGION);
	EXPECT_STREQ("small rodata", wait_told(self->child.pid, edge, "small rodata"));
	EXPECT_TRUE(says("echo 1 > hugetext_pad_rodata", "hugetext why prog-edges"));
	ASSERT_EQ(0, write_text(PAD_THRESHOLD, "0"));
	EXPECT_STREQ("small padding_off",
		     wait_told(self->child.pid, edge, "small padding_off"));
	ASSERT_EQ(0, write_text(PAD_THRESHOLD, "2097151"));
	EXPECT_STREQ("small little_text",
		     wait_told(self->child.pid, edge, "small little_text"));
	ASSERT_EQ(0, write_text(PAD_THRESHOLD, "4096"));
	ASSERT_EQ(0, write_text(PAD_RODATA, "1"));
	EXPECT_STREQ("huge ok", wait_told(self->child.pid, edge, "huge ok"));
}

TEST_F_TIMEOUT(process, off, 900)
{
	ASSERT_TRUE(start(&self->child, "prog-nopie", &self->text));
	EXPECT_STREQ("small off", wait_told(self->child.pid, inner_region(&self->text), "small off"));
	EXPECT_TRUE(says("hugetext enable", "hugetext why %d", self->child.pid));
	ASSERT_EQ(0, write_text(ENABLED, "1"));
	EXPECT_STREQ("huge ok", wait_told(self->child.pid, inner_region(&self->text), "huge ok"));
	ASSERT_EQ(0, write_text(ENABLED, "0"));
	/* Off is not undone. */
	EXPECT_STREQ("huge ok", wait_told(self->child.pid, inner_region(&self->text), "huge ok"));
}

/* A library of lld's in a process that was there before: its address is wrong for good. */
TEST_F_TIMEOUT(process, mapped_before_it_was_on, 900)
{
	struct text_mapping library;

	ASSERT_TRUE(start(&self->child, "prog-nopie", &self->text));
	ASSERT_NE(NULL, child_ask(&self->child, "dlopen " FIXTURES "/libtext-lld.so"));
	ASSERT_TRUE(find_text(self->child.pid, "libtext-lld.so", &library));
	sleep_ms(1100);
	ASSERT_EQ(0, write_text(ENABLED, "1"));
	EXPECT_STREQ("small offset",
		     wait_told(self->child.pid, library.start, "small offset"));
	EXPECT_TRUE(says("0x1000 off (lld and mold do that), mapped before hugetext was turned on",
			 "hugetext why %d", self->child.pid));
}

TEST_F_TIMEOUT(process, open_for_writing, 900)
{
	char who[32];
	int fd;

	if (writers_of(FIXTURES) == WRITERS_FREE)
		SKIP(return, "writers are no reason here");
	/* A library, since nobody can write to a program that runs. */
	ASSERT_EQ(0, copy_file(FIXTURES "/libtext.so", "/tests/open.so"));
	ASSERT_EQ(0, write_text(ENABLED, "1"));
	ASSERT_TRUE(start(&self->child, "prog-nopie", &self->text));
	fd = open("/tests/open.so", O_RDWR);
	ASSERT_LE(0, fd);
	ASSERT_NE(NULL, child_ask(&self->child, "dlopen /tests/open.so"));
	ASSERT_TRUE(find_text(self->child.pid, "open.so", &self->text));
	EXPECT_STREQ("retrying open_for_write",
		     wait_told(self->child.pid, inner_region(&self->text), "retrying open_for_write"));
	snprintf(who, sizeof(who), "open for writing by pid %d (why)", getpid());
	EXPECT_TRUE(says(who, "hugetext why %d", self->child.pid));
	close(fd);
	EXPECT_STREQ("huge ok", wait_told(self->child.pid, inner_region(&self->text), "huge ok"));
	unlink("/tests/open.so");
}

static void disable_thp(void)
{
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
}

TEST_F_TIMEOUT(process, thp_disabled, 900)
{
	ASSERT_EQ(0, write_text(ENABLED, "1"));
	ASSERT_TRUE(child_start_prepared(&self->child, "prog-nopie", disable_thp));
	ASSERT_TRUE(find_text(self->child.pid, "prog-nopie", &self->text));
	EXPECT_STREQ("small thp_disabled",
		     wait_told(self->child.pid, inner_region(&self->text), "small thp_disabled"));
}

TEST_F_TIMEOUT(process, private_copy, 900)
{
	ASSERT_TRUE(start(&self->child, "prog-nopie", &self->text));
	ASSERT_TRUE(poke(self->child.pid, inner_region(&self->text) + 64, BREAKPOINT));
	EXPECT_STREQ("small private_copy",
		     wait_told(self->child.pid, inner_region(&self->text), "small private_copy"));
}

/* The table may be read while processes come and go, and its readers be killed. */
TEST_F_TIMEOUT(process, read_under_load, 900)
{
	unsigned int rounds;
	struct told told;
	pid_t reader;

	ASSERT_EQ(0, write_text(ENABLED, "1"));
	reader = fork();
	while (!reader)
		told_of(getpid(), 0, &told);
	for (rounds = 0; rounds < 20; rounds++)
		EXPECT_STREQ(expected("prog-pie", "sum"), run_fixture("prog-pie", "sum", NULL));
	kill(reader, SIGKILL);
	EXPECT_EQ(reader, waitpid(reader, NULL, 0));
}

/* ---- Rollback ---- */

FIXTURE(rollback) {
	struct child child;
	struct child other;
};

FIXTURE_SETUP(rollback)
{
	ASSERT_TRUE(khugepaged_off());
	ASSERT_EQ(0, module_load("hugetext=1"));
	ASSERT_TRUE(child_start(&self->child, "prog-nopie"));
	ASSERT_TRUE(child_start(&self->other, "prog-nopie"));
	ASSERT_TRUE(wait_all_huge(self->child.pid, "prog-nopie"));
	ASSERT_TRUE(wait_all_huge(self->other.pid, "prog-nopie"));
}

FIXTURE_TEARDOWN(rollback)
{
	child_kill(&self->child);
	child_kill(&self->other);
	EXPECT_EQ(0, module_unload());
	EXPECT_TRUE(khugepaged_as_before());
}

static int roll_back(long what)
{
	char text[32];

	snprintf(text, sizeof(text), "%ld\n", what);
	return write_text(ROLLBACK, text);
}

static unsigned int count_mappings(pid_t pid)
{
	char path[64], line[4096];
	unsigned int nr = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file))
		nr++;
	if (file)
		fclose(file);
	return nr;
}

static bool is_right(struct child *child)
{
	return !strcmp(expected("prog-nopie", "sum"), child_ask(child, "sum")) &&
	       !strcmp(expected("prog-nopie", "call"), child_ask(child, "call"));
}

TEST_F_TIMEOUT(rollback, of_a_process, 900)
{
	long whole = text_of(self->other.pid, "prog-nopie").whole;
	unsigned int mappings = count_mappings(self->child.pid);
	struct text_mapping text;

	ASSERT_EQ(0, roll_back(self->child.pid));
	EXPECT_EQ(0, text_of(self->child.pid, NULL).huge);
	EXPECT_EQ(mappings, count_mappings(self->child.pid));
	/* Faults do not bring it back, nor a new event of the process. */
	EXPECT_TRUE(is_right(&self->child));
	ASSERT_NE(NULL, child_ask(&self->child, "dlopen " FIXTURES "/libtext.so"));
	ASSERT_TRUE(wait_all_huge(self->child.pid, "libtext.so"));
	EXPECT_EQ(0, text_of(self->child.pid, "prog-nopie").huge);
	ASSERT_TRUE(find_text(self->child.pid, "prog-nopie", &text));
	EXPECT_STREQ("small nohugepage",
		     wait_told(self->child.pid, text.start, "small nohugepage"));
	EXPECT_TRUE(is_right(&self->child));
	EXPECT_EQ(0, wrong_bytes(self->child.pid, "prog-nopie"));
	/* The other one has lost nothing. */
	EXPECT_EQ(whole, text_of(self->other.pid, "prog-nopie").huge);
	EXPECT_TRUE(is_right(&self->other));
	/* Once more is no harm. */
	EXPECT_EQ(0, roll_back(self->child.pid));
	EXPECT_EQ(0, text_of(self->child.pid, NULL).huge);
	EXPECT_TRUE(says("0 kB remain", "hugetext rollback %d", self->other.pid));
	EXPECT_EQ(0, text_of(self->other.pid, NULL).huge);
}

/* What it has not touched yet is huge in the page cache, and yet not for it. */
TEST_F_TIMEOUT(rollback, of_a_process_that_has_touched_little, 900)
{
	struct child third;

	ASSERT_EQ(0, write_text(ENABLED, "0"));
	ASSERT_TRUE(child_start(&third, "prog-nopie"));
	ASSERT_EQ(0, roll_back(third.pid));
	EXPECT_TRUE(is_right(&third));
	EXPECT_EQ(0, text_of(third.pid, NULL).huge);
	EXPECT_LT(0, text_of(self->child.pid, "prog-nopie").huge);
	child_kill(&third);
}

TEST_F_TIMEOUT(rollback, of_a_process_with_a_breakpoint, 900)
{
	struct text_mapping text;
	unsigned long addr;

	ASSERT_TRUE(find_text(self->child.pid, "prog-nopie", &text));
	addr = text.start + 3 * REGION / 2;
	ASSERT_TRUE(poke(self->child.pid, addr, BREAKPOINT));
	ASSERT_LT(0, text_of(self->child.pid, NULL).huge);
	ASSERT_EQ(0, roll_back(self->child.pid));
	EXPECT_EQ(0, text_of(self->child.pid, NULL).huge);
	EXPECT_EQ(BREAKPOINT, peek(self->child.pid, addr));
}

TEST_F_TIMEOUT(rollback, of_a_file, 900)
{
	struct text_mapping text;
	struct child third;

	if (!unload_drops(FIXTURES)) {
		EXPECT_EQ(-EOPNOTSUPP, write_text(ROLLBACK, FIXTURES "/prog-nopie\n"));
		EXPECT_TRUE(is_right(&self->child));
		return;
	}
	ASSERT_EQ(0, write_text(ROLLBACK, FIXTURES "/prog-nopie\n"));
	EXPECT_EQ(0, text_of(self->child.pid, "prog-nopie").huge);
	EXPECT_EQ(0, text_of(self->other.pid, "prog-nopie").huge);
	EXPECT_EQ(0, read_number("/proc/meminfo", "FileHugePages"));
	EXPECT_TRUE(is_right(&self->child));
	/* Nor do new processes get it back, nor old ones with news. */
	ASSERT_TRUE(child_start(&third, "prog-nopie"));
	ASSERT_TRUE(find_text(third.pid, "prog-nopie", &text));
	EXPECT_STREQ("small rolled_back",
		     wait_told(third.pid, text.start + REGION, "small rolled_back"));
	ASSERT_NE(NULL, child_ask(&self->other, "dlopen " FIXTURES "/libtext.so"));
	ASSERT_TRUE(wait_all_huge(self->other.pid, "libtext.so"));
	EXPECT_EQ(0, text_of(self->other.pid, "prog-nopie").huge);
	EXPECT_EQ(0, text_of(third.pid, "prog-nopie").huge);
	EXPECT_TRUE(is_right(&self->other));
	EXPECT_TRUE(is_right(&third));
	/* Until it is turned on anew. */
	ASSERT_EQ(0, write_text(ENABLED, "0"));
	ASSERT_EQ(0, write_text(ENABLED, "1"));
	EXPECT_TRUE(wait_all_huge(third.pid, "prog-nopie"));
	EXPECT_TRUE(says("0 kB remain", "hugetext rollback " FIXTURES "/prog-nopie"));
	EXPECT_EQ(0, text_of(third.pid, "prog-nopie").huge);
	child_kill(&third);
}

TEST_F_TIMEOUT(rollback, of_all, 900)
{
	ASSERT_NE(NULL, child_ask(&self->child, "dlopen " FIXTURES "/libtext.so"));
	ASSERT_TRUE(wait_all_huge(self->child.pid, "libtext.so"));
	if (!unload_drops(FIXTURES))
		SKIP(return, "huge pages of a tmpfs stay");
	EXPECT_TRUE(says("0 kB remain", "hugetext rollback --all"));
	EXPECT_STREQ("0", read_text(ENABLED));
	EXPECT_EQ(0, read_number("/proc/meminfo", "FileHugePages"));
	EXPECT_EQ(0, text_of(self->child.pid, NULL).huge);
	EXPECT_EQ(0, text_of(self->other.pid, NULL).huge);
	EXPECT_TRUE(is_right(&self->child));
	EXPECT_TRUE(is_right(&self->other));
	ASSERT_EQ(0, write_text(ENABLED, "1"));
	EXPECT_TRUE(wait_all_huge(self->other.pid, "prog-nopie"));
}

/* Huge pages of another kind, which the page cache's functions are not for. */
static void refuse_hugetlbfs(struct __test_metadata *_metadata)
{
	int fd;

	mkdir("/tests/hugetlb", 0755);
	if (mount("none", "/tests/hugetlb", "hugetlbfs", 0, NULL)) {
		/* The small kernels built here have none. */
		EXPECT_EQ(ENODEV, errno);
		return;
	}
	fd = open("/tests/hugetlb/file", O_RDWR | O_CREAT | O_CLOEXEC, 0755);
	ASSERT_LE(0, fd);
	close(fd);
	EXPECT_EQ(-EOPNOTSUPP, write_text(ROLLBACK, "/tests/hugetlb/file\n"));
	EXPECT_EQ(0, umount("/tests/hugetlb"));
}

TEST_F_TIMEOUT(rollback, what_it_refuses, 900)
{
	pid_t gone = fork();
	char zeros[4000];
	int fd;

	if (!gone)
		_exit(0);
	ASSERT_EQ(gone, waitpid(gone, NULL, 0));
	EXPECT_EQ(-ESRCH, roll_back(gone));
	EXPECT_EQ(-ESRCH, roll_back(find_khugetextd()));
	EXPECT_EQ(-EINVAL, roll_back(0));
	EXPECT_EQ(-EINVAL, roll_back(-1));
	EXPECT_EQ(-EINVAL, write_text(ROLLBACK, "99999999999\n"));
	EXPECT_EQ(-EINVAL, write_text(ROLLBACK, "everything\n"));
	EXPECT_EQ(-EINVAL, write_text(ROLLBACK, "\n"));
	EXPECT_EQ(-EINVAL, write_text(ROLLBACK, "/dev\n"));
	EXPECT_EQ(-EINVAL, write_text(ROLLBACK, "/dev/null\n"));
	EXPECT_EQ(-ENOENT, write_text(ROLLBACK, "/no/such/file\n"));
	memset(zeros, 'a', sizeof(zeros));
	zeros[1] = '\0';
	fd = open(ROLLBACK, O_WRONLY | O_CLOEXEC);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-1, write(fd, zeros, sizeof(zeros)));
	EXPECT_EQ(EINVAL, errno);
	close(fd);
	refuse_hugetlbfs(_metadata);
	EXPECT_EQ(-EACCES, open(ROLLBACK, O_RDONLY) < 0 ? -errno : 0);
	EXPECT_LT(0, text_of(self->child.pid, NULL).huge);
}

/* Maps text alone in its span of page tables, and takes it away, again and again. */
static void map_and_unmap(void)
{
	int fd = open(FIXTURES "/libtext.so", O_RDONLY | O_CLOEXEC);
	unsigned char *there = (unsigned char *)(1ul << 45), *text;

	for (;;) {
		text = mmap(there, 4 * REGION, PROT_READ | PROT_EXEC,
			    MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd, 0);
		if (text != there)
			_exit(1);
		__asm__ volatile("" : : "r"(text[REGION]), "r"(text[2 * REGION]));
		munmap(text, 4 * REGION);
	}
}

TEST_F_TIMEOUT(rollback, of_a_process_that_unmaps, 900)
{
	int rounds, status, err;
	pid_t pid = fork();

	if (!pid)
		map_and_unmap();
	for (rounds = 0; rounds < 500; rounds++) {
		err = roll_back(pid);
		EXPECT_TRUE(!err || err == -EBUSY) {
			TH_LOG("error %d", err);
		}
	}
	kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status));
}

/* Killed in the middle, it leaves nothing pinned: the module must go, see the teardown. */
TEST_F_TIMEOUT(rollback, of_all_and_killed, 900)
{
	int rounds;
	pid_t pid;

	if (!unload_drops(FIXTURES))
		SKIP(return, "huge pages of a tmpfs stay");
	for (rounds = 0; rounds < 50; rounds++) {
		pid = fork();
		if (!pid) {
			for (;;)
				write_text(ROLLBACK, "all\n");
		}
		sleep_ms(rounds % 10);
		kill(pid, SIGKILL);
		ASSERT_EQ(pid, waitpid(pid, NULL, 0));
	}
	EXPECT_TRUE(is_right(&self->child));
}

/* Threads of text that is taken away, made huge and taken away again notice nothing. */
TEST_F_TIMEOUT(rollback, again_and_again, 900)
{
	unsigned int rounds;

	for (rounds = 0; rounds < 20; rounds++) {
		EXPECT_TRUE(is_right(&self->other));
		dprintf(self->child.in, "call\n");
		if (rounds % 2) {
			ASSERT_EQ(0, roll_back(self->child.pid));
		} else if (unload_drops(FIXTURES)) {
			ASSERT_EQ(0, write_text(ROLLBACK, "all\n"));
		}
		ASSERT_EQ(0, write_text(ENABLED, "0"));
		ASSERT_EQ(0, write_text(ENABLED, "1"));
		EXPECT_STREQ(expected("prog-nopie", "call"), child_ask(&self->child, NULL));
	}
	EXPECT_TRUE(wait_all_huge(self->other.pid, "prog-nopie"));
	EXPECT_EQ(0, text_of(self->child.pid, "prog-nopie").huge);
}

TEST_HARNESS_MAIN
