// SPDX-License-Identifier: GPL-2.0
/*
 * Text that is collapsed while pages of it are missing from the page cache,
 * against truncate(2).
 *
 * collapse_file() keeps the pages that it found locked, and reads in those that
 * are missing with the mapping's invalidate_lock. Who truncates takes that lock
 * first and the pages' after it; a page fault has it shared. So a collapse that
 * has to read in can stop the file for good, on every kernel. hugetext must not
 * ask for such a collapse.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "guest.h"

#define TEXT		"/tests/work/readin"
#define PAGE		4096ul
#define SECONDS		40
#define STANDSTILL	20	/* s */

struct counts {
	long mapped;
	long truncated;
	long evicted;
};

FIXTURE(text) {
	struct counts *counts;
	pid_t process[3];
};

static void map_text(struct counts *counts)
{
	unsigned char *reserved, *start = reserve_regions(REGION, &reserved);
	int fd = open(TEXT, O_RDONLY | O_CLOEXEC);

	for (;;) {
		mmap(start, REGION, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0);
		/* No fault brings in more than its own page. */
		madvise(start, REGION, MADV_RANDOM);
		madvise(start, PAGE, MADV_POPULATE_READ);
		counts->mapped++;
		sleep_ms(30 + counts->mapped % 7 * 10);
	}
}

/* By name: who opens for writing is seen by hugetext, and waits for it. */
static void truncate_text(struct counts *counts)
{
	for (;;) {
		long n = counts->truncated++;

		if (truncate(TEXT, REGION - PAGE * (1 + n % 400)) || truncate(TEXT, 2 * REGION))
			_exit(1);
		sleep_ms(n % 40);
	}
}

static void evict_text(struct counts *counts)
{
	int fd = open(TEXT, O_RDONLY | O_CLOEXEC);

	for (;;) {
		long n = counts->evicted++;

		posix_fadvise(fd, PAGE * (n % 500), 0, POSIX_FADV_DONTNEED);
	}
}

FIXTURE_SETUP(text)
{
	static void (*const works[])(struct counts *counts) = {
		map_text, truncate_text, evict_text,
	};
	pid_t parent = getpid();

	self->counts = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->counts);
	mkdir("/tests/work", 0755);
	ASSERT_EQ(0, copy_file(FIXTURES "/libtext.so", TEXT));
	/* What the kernel does by itself is not what is tried here. */
	ASSERT_EQ(0, write_text(THP "/enabled", "never"));
	ASSERT_EQ(0, module_load("hugetext=1"));
	for (int i = 0; i < 3; i++) {
		self->process[i] = fork();
		if (self->process[i])
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() == parent)
			works[i](self->counts);
		_exit(1);
	}
}

FIXTURE_TEARDOWN(text)
{
	for (int i = 0; i < 3; i++) {
		kill(self->process[i], SIGKILL);
		waitpid(self->process[i], NULL, 0);
	}
	EXPECT_EQ(0, module_unload());
}

TEST_F_TIMEOUT(text, does_not_stand_still, 300)
{
	time_t end = time(NULL) + SECONDS, moved = time(NULL);
	struct counts last = { 0 };

	while (time(NULL) < end || time(NULL) - moved > 2) {
		sleep_ms(200);
		if (last.mapped != self->counts->mapped &&
		    last.truncated != self->counts->truncated) {
			last = *self->counts;
			moved = time(NULL);
		}
		if (time(NULL) - moved < STANDSTILL)
			continue;
		write_text("/proc/sysrq-trigger", "w");
		fprintf(stderr, "# stands still after %ld mappings, %ld truncations\n",
			last.mapped, last.truncated);
		/* Nobody can end these processes any more, so nobody waits for them. */
		_exit(1);
	}
	fprintf(stderr, "# %ld mappings, %ld truncations, %ld evictions, %ld regions collapsed\n",
		self->counts->mapped, self->counts->truncated, self->counts->evicted,
		counter("collapsed_regions"));
}

TEST_HARNESS_MAIN
