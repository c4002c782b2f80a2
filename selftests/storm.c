// SPDX-License-Identifier: GPL-2.0
/*
 * Load and unload 50 times while programs with large text start, work and end
 * all the time. Every one of them must work right.
 */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/wait.h>

#include "kselftest_harness.h"

#include "guest.h"

#define WORKERS		4
#define ROUNDS		50

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

TEST_F_TIMEOUT(storm, load_and_unload_50_times, 1200)
{
	long collapsed = 0;

	for (int i = 0; i < ROUNDS; i++) {
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
	fprintf(stderr, "# %ld regions collapsed\n", collapsed);
	EXPECT_LT(0, collapsed);
	if (!kernel_collapses_text() && unload_drops(FIXTURES)) {
		EXPECT_EQ(0, read_number("/proc/meminfo", "FileHugePages"));
	}
}

TEST_HARNESS_MAIN
