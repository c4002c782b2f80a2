// SPDX-License-Identifier: GPL-2.0
/*
 * Many processes, and what the system does to processes at large: ten thousand
 * short lives, two thousand of one program, memory cgroups with their limits
 * and their killer, the freezer, and the system going to sleep.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>

#include "kselftest_harness.h"

#include "guest.h"

#define FOLDER		"/tests/work"
#define SHORT		FOLDER "/prog-short"
#define PROGRAM		FOLDER "/prog-nopie"
#define LIBRARY		FOLDER "/libtext.so"
#define CGROUPS		"/sys/fs/cgroup"
#define GROUP		CGROUPS "/hugetext-crowd"

extern char **environ;

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

static bool works(struct child *child, const char *fixture)
{
	const char *answer = child_ask(child, "sum");

	if (!answer || strcmp(answer, expected(fixture, "sum")))
		return false;
	answer = child_ask(child, "call");
	return answer && !strcmp(answer, expected(fixture, "call"));
}

/* Nobody is left who keeps the program's file: a moment after the last exit. */
static bool written_soon(const char *path)
{
	time_t end = time(NULL) + PATIENCE;
	int fd;

	do {
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd >= 0) {
			close(fd);
			return true;
		}
		sleep_ms(50);
	} while (errno == ETXTBSY && time(NULL) < end);
	return false;
}

/* ---- Crowds ---- */

FIXTURE(crowd) {
	struct child child;
};

FIXTURE_SETUP(crowd)
{
	ASSERT_TRUE(fresh_copy(FOLDER, "prog-short"));
	ASSERT_TRUE(khugepaged_off());
	ASSERT_EQ(0, module_load("hugetext=1"));
}

FIXTURE_TEARDOWN(crowd)
{
	child_kill(&self->child);
	EXPECT_EQ(0, module_unload());
	EXPECT_TRUE(khugepaged_as_before());
}

#define LIVES		10000
#define STARTERS	4
/* Kept by the allocator of each processor, and not yet freed by RCU. */
#define SPARE_MMS	200

/* The exit status of prog-short: the last byte of what a call of each page gives. */
static int short_status(void)
{
	const char *call = expected("prog-short", "call");

	return strtol(call + strlen(call) - 2, NULL, 16);
}

/* Run it so often; returns how often it was wrong. posix_spawn() is vfork() and exec. */
static long live_and_die(int times)
{
	char * const arguments[] = { SHORT, NULL };
	int right = short_status(), status;
	long wrong = 0;
	pid_t pid;

	while (times--) {
		if (posix_spawn(&pid, SHORT, NULL, NULL, arguments, environ) ||
		    waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
		    WEXITSTATUS(status) != right)
			wrong++;
	}
	return wrong;
}

/* That by several at once; returns the microseconds that each life took. */
static double live_and_die_at_once(int times, long *wrong)
{
	double begin = seconds();
	int i, status;

	for (i = 0; i < STARTERS; i++) {
		if (fork())
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(live_and_die(times / STARTERS) != 0);
	}
	while (wait(&status) > 0)
		*wrong += status != 0;
	return (seconds() - begin) / times * 1e6;
}

TEST_F_TIMEOUT(crowd, ten_thousand_short_lives, 900)
{
	double without, with;
	long mms, wrong = 0;

	ASSERT_EQ(0, write_text(ENABLED, "0"));
	without = live_and_die_at_once(LIVES / 20, &wrong);
	mms = read_number("/proc/slabinfo", "mm_struct");
	ASSERT_LT(0, mms);
	ASSERT_EQ(0, write_text(ENABLED, "1"));
	with = live_and_die_at_once(LIVES, &wrong);
	fprintf(stderr, "# %.0f us per life, without hugetext %.0f us\n", with, without);
	EXPECT_EQ(0, wrong);
	EXPECT_TRUE(wait_settled());
	EXPECT_TRUE(written_soon(SHORT));
	EXPECT_GT(mms + SPARE_MMS, read_number("/proc/slabinfo", "mm_struct"));
	/* Each was noticed; a program without a loader is placed as a library is. */
	EXPECT_LT(0, counter("collapsed_regions"));
	EXPECT_LE(LIVES, counter("aligned_libraries"));
}

#define CROWD		2000

TEST_F_TIMEOUT(crowd, two_thousand_of_one_program, 900)
{
	char * const arguments[] = { SHORT, "stay", NULL };
	pid_t *pid = calloc(CROWD, sizeof(*pid));
	double begin = seconds(), started;
	int huge = 0, killed = 0, status;
	struct text_size text;

	for (int i = 0; i < CROWD; i++)
		ASSERT_EQ(0, posix_spawn(&pid[i], SHORT, NULL, NULL, arguments, environ));
	started = seconds();
	for (int i = 0; i < CROWD; i++) {
		if (!wait_all_huge(pid[i], "prog-short"))
			break;
		text = text_of(pid[i], "prog-short");
		huge += text.huge == text.whole && text.whole == 2048;
	}
	EXPECT_EQ(CROWD, huge);
	EXPECT_TRUE(wait_settled());
	fprintf(stderr, "# %.0f us to start each, %.0f us more until it is huge\n",
		(started - begin) / CROWD * 1e6, (seconds() - started) / CROWD * 1e6);
	EXPECT_EQ(0, wrong_bytes(pid[0], "prog-short"));
	EXPECT_EQ(0, wrong_bytes(pid[CROWD - 1], "prog-short"));
	/* All of them share one huge page. */
	EXPECT_LE(1, counter("guarded_files") + read_number("/proc/meminfo", "FileHugePages"));

	for (int i = 0; i < CROWD; i++)
		kill(pid[i], SIGKILL);
	for (int i = 0; i < CROWD; i++)
		killed += waitpid(pid[i], &status, 0) == pid[i] && WIFSIGNALED(status) &&
			  WTERMSIG(status) == SIGKILL;
	EXPECT_EQ(CROWD, killed);
	EXPECT_TRUE(wait_settled());
	EXPECT_TRUE(written_soon(SHORT));
	free(pid);
}

/* ---- A cgroup ---- */

FIXTURE(group) {
	struct child child;	/* in the group */
	struct child other;	/* not in it */
	char printk[64];
};

/* Called in the child before exec. */
static void enter_group(void)
{
	if (write_text(GROUP "/cgroup.procs", "0"))
		_exit(1);
}

static bool make_group(void)
{
	return !mkdir(GROUP, 0755);
}

/* Its last process is gone a moment after it was reaped. */
static bool remove_group(void)
{
	time_t end = time(NULL) + PATIENCE;

	write_text(GROUP "/cgroup.kill", "1");
	while (rmdir(GROUP)) {
		if (errno != EBUSY || time(NULL) >= end)
			return false;
		sleep_ms(20);
	}
	return true;
}

static bool wait_number(const char *path, const char *name, long value)
{
	time_t end = time(NULL) + PATIENCE;

	while (read_number(path, name) != value) {
		if (time(NULL) >= end) {
			fprintf(stderr, "# %s of %s stays at %ld, not %ld\n", name, path,
				read_number(path, name), value);
			return false;
		}
		sleep_ms(20);
	}
	return true;
}

FIXTURE_SETUP(group)
{
	ASSERT_TRUE(fresh_copy(FOLDER, "prog-nopie"));
	ASSERT_TRUE(fresh_copy(FOLDER, "libtext.so"));
	snprintf(self->printk, sizeof(self->printk), "%s", read_text("/proc/sys/kernel/printk"));
	ASSERT_TRUE(make_group());
	ASSERT_TRUE(khugepaged_off());
	ASSERT_EQ(0, module_load(""));
}

FIXTURE_TEARDOWN(group)
{
	write_text(GROUP "/cgroup.freeze", "0");
	child_kill(&self->child);
	child_kill(&self->other);
	EXPECT_TRUE(remove_group());
	EXPECT_EQ(0, module_unload());
	EXPECT_TRUE(khugepaged_as_before());
	EXPECT_EQ(0, write_text("/proc/sys/kernel/printk", self->printk));
}

/* Who made the pages first pays for the small ones, whose text it is for the huge ones. */
TEST_F_TIMEOUT(group, pays_for_its_huge_text, 900)
{
	long here = read_number(CGROUPS "/test/memory.stat", "file_thp");
	struct text_size text;
	struct utsname name;

	ASSERT_LE(0, here);
	ASSERT_TRUE(child_start_prepared(&self->child, PROGRAM, enter_group));
	ASSERT_TRUE(works(&self->child, "prog-nopie"));
	EXPECT_EQ(0, read_number(GROUP "/memory.stat", "file_thp"));
	ASSERT_EQ(0, write_text(ENABLED, "1"));
	ASSERT_TRUE(wait_all_huge(self->child.pid, PROGRAM));
	text = text_of(self->child.pid, NULL);
	EXPECT_TRUE(wait_number(GROUP "/memory.stat", "file_thp", text.huge * 1024));
	EXPECT_LE(text.huge * 1024, strtol(read_text(GROUP "/memory.current"), NULL, 10));
	EXPECT_EQ(here, read_number(CGROUPS "/test/memory.stat", "file_thp"));
	/*
	 * The charge moves on all kernels. The number of file pages that is shown
	 * does not on 6.1 and 6.12, which count it where the small pages were.
	 */
	ASSERT_EQ(0, uname(&name));
	if (strncmp(name.release, "6.", 2))
		EXPECT_LE(text.huge * 1024, read_number(GROUP "/memory.stat", "file"));
	EXPECT_TRUE(works(&self->child, "prog-nopie"));

	/* What a writer's open drops is given back. */
	ASSERT_TRUE(child_quit(&self->child));
	EXPECT_TRUE(written_soon(PROGRAM));
	if (strstr(read_text("/sys/kernel/debug/hugetext/status"), "mechanism rothp"))
		EXPECT_TRUE(wait_number(GROUP "/memory.stat", "file_thp", 0));
}

TEST_F_TIMEOUT(group, at_its_limit_is_left_alone, 900)
{
	ASSERT_TRUE(child_start_prepared(&self->child, PROGRAM, enter_group));
	ASSERT_TRUE(works(&self->child, "prog-nopie"));
	/* Room for what it has, and for no 2 MiB beside that. */
	ASSERT_EQ(0, write_text(GROUP "/memory.max", "2M"));
	ASSERT_EQ(0, write_text(ENABLED, "1"));
	ASSERT_TRUE(wait_counter("memcg_limit", 2));
	EXPECT_NE(NULL, strstr(read_text(PROCESSES), "memcg_limit"));
	EXPECT_EQ(0, text_of(self->child.pid, PROGRAM).huge);
	EXPECT_TRUE(works(&self->child, "prog-nopie"));

	/* Others are served meanwhile. */
	ASSERT_TRUE(child_start(&self->other, "prog-pie"));
	EXPECT_TRUE(wait_all_huge(self->other.pid, "prog-pie"));
	EXPECT_EQ(0, text_of(self->child.pid, PROGRAM).huge);
	EXPECT_EQ(0, read_number(GROUP "/memory.events", "oom"));
	EXPECT_EQ(0, read_number(GROUP "/memory.events", "oom_kill"));
	EXPECT_EQ(0, counter("given_up"));

	/* With no other event than the clock's. */
	ASSERT_EQ(0, write_text(GROUP "/memory.max", "max"));
	EXPECT_TRUE(wait_all_huge(self->child.pid, PROGRAM));
	EXPECT_TRUE(works(&self->child, "prog-nopie"));
	EXPECT_TRUE(child_quit(&self->child));
}

/* Work that charges memory now and then: the seconds that it takes, or less than 0. */
static double open_libraries(struct child *child)
{
	double begin = seconds();
	const char *answer;

	for (int i = 0; i < 20; i++) {
		answer = child_ask(child, "dlopen " LIBRARY);
		if (!answer || strcmp(answer, "dlopen " LIBRARY))
			return -1;
		answer = child_ask(child, "sumlib");
		if (!answer || strcmp(answer, expected("libtext.so", "sum")))
			return -1;
		child_ask(child, "dlclose");
	}
	return seconds() - begin;
}

/*
 * Beyond memory.high whoever charges is slowed down, so nobody must get there
 * because of his text.
 */
TEST_F_TIMEOUT(group, below_its_high_mark, 900)
{
	double before, after;

	ASSERT_TRUE(child_start_prepared(&self->child, PROGRAM, enter_group));
	ASSERT_TRUE(works(&self->child, "prog-nopie"));
	ASSERT_EQ(0, write_text(GROUP "/memory.high", "3M"));
	before = open_libraries(&self->child);
	ASSERT_EQ(0, write_text(ENABLED, "1"));
	ASSERT_TRUE(wait_counter("memcg_limit", 1));
	after = open_libraries(&self->child);
	fprintf(stderr, "# %.2f s before, %.2f s with hugetext\n", before, after);
	ASSERT_LE(0, before);
	ASSERT_LE(0, after);
	EXPECT_EQ(0, text_of(self->child.pid, PROGRAM).huge);
	EXPECT_EQ(0, read_number(GROUP "/memory.events", "high"));
	EXPECT_TRUE(works(&self->child, "prog-nopie"));
	ASSERT_TRUE(child_start(&self->other, "prog-pie"));
	EXPECT_TRUE(wait_all_huge(self->other.pid, "prog-pie"));

	ASSERT_EQ(0, write_text(GROUP "/memory.high", "max"));
	EXPECT_TRUE(wait_all_huge(self->child.pid, PROGRAM));
	EXPECT_TRUE(works(&self->child, "prog-nopie"));
	EXPECT_TRUE(child_quit(&self->child));
}

#define OOM_ROUNDS	8

/* Map text, leave khugetextd some time for it, and eat all memory there is. */
static void eat(unsigned int pause)
{
	const size_t size = 4096 * 256;
	int fd = open(LIBRARY, O_RDONLY | O_CLOEXEC);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	enter_group();
	mmap(NULL, 4 * REGION, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	sleep_ms(pause);
	for (;;) {
		char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (memory == MAP_FAILED)
			_exit(1);
		memset(memory, 1, size);
	}
}

/*
 * The killer's report has a trace in it, which must not look like a fault: the
 * console is told of emergencies alone. Warnings still panic, and taint.
 */
TEST_F_TIMEOUT(group, out_of_memory_during_a_collapse, 900)
{
	ASSERT_EQ(0, write_text("/proc/sys/kernel/printk", "1"));
	ASSERT_EQ(0, write_text(GROUP "/memory.max", "24M"));
	ASSERT_EQ(0, write_text(GROUP "/memory.oom.group", "1"));
	ASSERT_EQ(0, write_text(ENABLED, "1"));
	for (int i = 0; i < OOM_ROUNDS; i++) {
		pid_t pid = fork();
		int status;

		if (!pid)
			eat(i * 8);
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_TRUE(WIFSIGNALED(status));
		EXPECT_EQ(SIGKILL, WTERMSIG(status));
		/* Small pages again, for the next one. */
		ASSERT_TRUE(fresh_copy(FOLDER, "libtext.so"));
	}
	EXPECT_LE(OOM_ROUNDS, read_number(GROUP "/memory.events", "oom_kill"));
	/* Some of them were killed when khugetextd had begun. */
	fprintf(stderr, "# %ld regions collapsed, at the limit %ld times\n",
		counter("collapsed_regions"), counter("memcg_limit"));
	EXPECT_LT(0, counter("collapsed_regions") + counter("memcg_limit"));
	EXPECT_TRUE(wait_settled());
	EXPECT_TRUE(written_soon(LIBRARY));
	ASSERT_TRUE(child_start(&self->other, PROGRAM));
	EXPECT_TRUE(wait_all_huge(self->other.pid, PROGRAM));
	EXPECT_TRUE(works(&self->other, "prog-nopie"));
}

static bool freeze_group(void)
{
	return !write_text(GROUP "/cgroup.freeze", "1") &&
	       wait_number(GROUP "/cgroup.events", "frozen", 1);
}

static bool thaw_group(void)
{
	return !write_text(GROUP "/cgroup.freeze", "0") &&
	       wait_number(GROUP "/cgroup.events", "frozen", 0);
}

/* Frozen before khugetextd comes to it: neither it nor the others wait. */
TEST_F_TIMEOUT(group, frozen_before_a_collapse, 900)
{
	ASSERT_TRUE(child_start_prepared(&self->child, PROGRAM, enter_group));
	ASSERT_TRUE(freeze_group());
	ASSERT_EQ(0, write_text(ENABLED, "1"));
	ASSERT_TRUE(child_start(&self->other, "prog-pie"));
	EXPECT_TRUE(wait_all_huge(self->other.pid, "prog-pie"));
	EXPECT_TRUE(works(&self->other, "prog-pie"));
	EXPECT_TRUE(wait_settled());
	ASSERT_TRUE(thaw_group());
	EXPECT_TRUE(wait_all_huge(self->child.pid, PROGRAM));
	EXPECT_TRUE(works(&self->child, "prog-nopie"));
	EXPECT_TRUE(child_quit(&self->child));
}

TEST_F_TIMEOUT(group, frozen_during_a_collapse, 900)
{
	ASSERT_EQ(0, write_text(ENABLED, "1"));
	for (int i = 0; i < 10; i++) {
		ASSERT_TRUE(fresh_copy(FOLDER, "prog-nopie"));
		ASSERT_TRUE(child_start_prepared(&self->child, PROGRAM, enter_group));
		sleep_ms(i * 5);
		ASSERT_TRUE(freeze_group());
		sleep_ms(50);
		ASSERT_TRUE(thaw_group());
		EXPECT_TRUE(works(&self->child, "prog-nopie"));
		EXPECT_TRUE(wait_all_huge(self->child.pid, PROGRAM));
		EXPECT_TRUE(works(&self->child, "prog-nopie"));
		ASSERT_TRUE(child_quit(&self->child));
	}
	EXPECT_TRUE(wait_settled());
	EXPECT_TRUE(written_soon(PROGRAM));
}

/* ---- The system goes to sleep, as far as it says ---- */

#define POWER		"/sys/power/"
#define TEST_DELAY	"/sys/module/suspend/parameters/pm_test_delay"

FIXTURE(asleep) {
	struct child child;
	char delay[16];
};

/* How far: only processes, devices as well, or all but the machine itself. */
FIXTURE_VARIANT(asleep) {
	const char *level;
	const char *state;
};

FIXTURE_VARIANT_ADD(asleep, processes) { .level = "freezer", .state = "freeze" };
FIXTURE_VARIANT_ADD(asleep, devices) { .level = "devices", .state = "freeze" };
FIXTURE_VARIANT_ADD(asleep, processors) { .level = "core", .state = "mem" };

FIXTURE_SETUP(asleep)
{
	snprintf(self->delay, sizeof(self->delay), "%s", read_text(TEST_DELAY));
	ASSERT_TRUE(khugepaged_off());
	ASSERT_EQ(0, module_load("hugetext=1"));
	/* Stays so long in the state, then comes back by itself. */
	ASSERT_EQ(0, write_text(TEST_DELAY, "1"));
	ASSERT_EQ(0, write_text(POWER "pm_test", variant->level));
}

FIXTURE_TEARDOWN(asleep)
{
	child_kill(&self->child);
	EXPECT_EQ(0, write_text(POWER "pm_test", "none"));
	EXPECT_EQ(0, write_text(TEST_DELAY, self->delay));
	EXPECT_EQ(0, module_unload());
	EXPECT_TRUE(khugepaged_as_before());
}

/* khugetextd is caught at work: it must not keep the system from sleeping. */
TEST_F_TIMEOUT(asleep, in_the_middle_of_work, 900)
{
	struct utsname name;

	/* On 7.3 the port that the results go to does not survive it. */
	ASSERT_EQ(0, uname(&name));
	if (strcmp(variant->level, "freezer") && strncmp(name.release, "6.", 2))
		SKIP(return, "devices of this machine do not come back on this kernel");
	for (int i = 0; i < 4; i++) {
		ASSERT_TRUE(fresh_copy(FOLDER, "prog-nopie"));
		ASSERT_TRUE(child_start(&self->child, PROGRAM));
		sleep_ms(i * 15);
		EXPECT_EQ(0, write_text(POWER "state", variant->state));
		EXPECT_TRUE(wait_all_huge(self->child.pid, PROGRAM));
		EXPECT_TRUE(works(&self->child, "prog-nopie"));
		ASSERT_TRUE(child_quit(&self->child));
	}
	EXPECT_TRUE(wait_settled());
}

TEST_HARNESS_MAIN
