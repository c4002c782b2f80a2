// SPDX-License-Identifier: GPL-2.0
/*
 * Load and unload again and again while programs with large text start, work and
 * end all the time, and others are written to between their lives. Every one of them
 * must work right. HUGETEXT_STORM_ROUNDS in the environment: how often (50).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "kselftest_harness.h"

#include "guest.h"

#define WORKERS		6
/* Of these. */
#define WRITERS		2

struct shared {
	bool stop;
	long runs[WORKERS];
	long wrong[WORKERS];
};

static bool run_right(const char *program)
{
	const char *answer = run_fixture(program, "call", NULL);

	return answer && !strcmp(answer, expected(program, "call"));
}

/*
 * Write a program anew, or some of it in place with the bytes it has; then it must
 * run as ever. Who just ended may still be held, and what runs is not written to.
 */
static bool write_and_run(const char *folder, const char *name, bool anew)
{
	char path[256], block[4096];
	struct child child;
	bool right;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0 && errno != ETXTBSY && errno != ENOENT)
		return false;
	if (fd >= 0) {
		if (pread(fd, block, sizeof(block), REGION) != sizeof(block) ||
		    pwrite(fd, block, sizeof(block), REGION) != sizeof(block))
			return false;
		close(fd);
	}
	if (anew && !fresh_copy(folder, name))
		return false;
	if (!child_start(&child, path))
		return false;
	right = !strcmp(expected(name, "call"), child_ask(&child, "call") ?: "nothing");
	return child_quit(&child) && right;
}

static void write_all_the_time(struct shared *shared, int number)
{
	char folder[64];

	snprintf(folder, sizeof(folder), "/tests/storm-%d", number);
	for (int i = 0; !__atomic_load_n(&shared->stop, __ATOMIC_RELAXED); i++) {
		shared->wrong[number] += !write_and_run(folder, "prog-pie", i % 4 == 0);
		shared->runs[number]++;
	}
	_exit(0);
}

static void work(struct shared *shared, int number)
{
	static const char * const programs[] = {
		"prog-pie", "prog-lld", "prog-static-pie", "prog-nopie", "prog-musl",
	};

	for (int i = number; !__atomic_load_n(&shared->stop, __ATOMIC_RELAXED); i++) {
		shared->wrong[number] += !run_right(programs[i % ARRAY_SIZE(programs)]);
		shared->runs[number]++;
	}
	_exit(0);
}

FIXTURE(storm) {
	struct shared *shared;
	pid_t worker[WORKERS];
};

FIXTURE_SETUP(storm)
{
	self->shared = mmap(NULL, sizeof(*self->shared), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->shared);
	for (int i = 0; i < WORKERS; i++) {
		self->worker[i] = fork();
		if (!self->worker[i] && i < WRITERS)
			write_all_the_time(self->shared, i);
		if (!self->worker[i])
			work(self->shared, i);
	}
}

FIXTURE_TEARDOWN(storm)
{
	long runs = 0;

	__atomic_store_n(&self->shared->stop, true, __ATOMIC_RELAXED);
	for (int i = 0; i < WORKERS; i++) {
		waitpid(self->worker[i], NULL, 0);
		EXPECT_LT(0, self->shared->runs[i]);
		EXPECT_EQ(0, self->shared->wrong[i]);
		runs += self->shared->runs[i];
	}
	fprintf(stderr, "# %ld programs ran\n", runs);
}

TEST_F_TIMEOUT(storm, load_and_unload, 7200)
{
	int rounds = atoi(getenv("HUGETEXT_STORM_ROUNDS") ?: "50");
	long collapsed = 0;

	ASSERT_LT(0, rounds);
	for (int i = 0; i < rounds; i++) {
		ASSERT_EQ(0, module_load(i % 2 ? "hugetext=1" : "hugetext=3" PADDING));
		sleep_ms(i % 10 * 40);
		if (i % 5 == 4) {
			ASSERT_EQ(0, write_text(ENABLED, "0"));
			ASSERT_EQ(0, write_text(ENABLED, "1"));
		}
		collapsed += counter("collapsed_regions");
		ASSERT_EQ(0, module_unload());
		sleep_ms(i % 3 * 20);
	}
	fprintf(stderr, "# %d rounds, %ld regions collapsed\n", rounds, collapsed);
	EXPECT_LT(0, collapsed);
	if (!kernel_collapses_text() && unload_drops(FIXTURES)) {
		EXPECT_EQ(0, read_number("/proc/meminfo", "FileHugePages"));
	}
}

TEST_HARNESS_MAIN
