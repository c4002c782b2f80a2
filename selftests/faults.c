// SPDX-License-Identifier: GPL-2.0
/*
 * The N-th allocation fails, for every N that loading, turning on and a collapse
 * reach: errors are clean, nothing is left behind (the kernel of this test looks
 * for leaks at its end), and what can be tried again succeeds. Turning off and
 * unloading allocate nothing but what the kernel needs to disarm a kprobe, and it
 * warns by itself where that fails.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "kselftest_harness.h"

#include "guest.h"

#define DEBUG		"/sys/kernel/debug/"
/* More than any of these calls makes: an end for a loop that has none. */
#define MANY		20000

FIXTURE(faults) {
	struct child child;
};

/* Allocations that may wait count as well, and single pages; the log stays quiet. */
static bool prepare(void)
{
	return !write_text(DEBUG "failslab/ignore-gfp-wait", "N") &&
	       !write_text(DEBUG "failslab/verbose", "0") &&
	       !write_text(DEBUG "fail_page_alloc/ignore-gfp-wait", "N") &&
	       !write_text(DEBUG "fail_page_alloc/min-order", "0") &&
	       !write_text(DEBUG "fail_page_alloc/verbose", "0");
}

FIXTURE_SETUP(faults)
{
	ASSERT_TRUE(prepare());
}

FIXTURE_TEARDOWN(faults)
{
	child_kill(&self->child);
	module_unload();
	EXPECT_EQ(-1, access(ENABLED, F_OK));
}

/* The N-th allocation that the thread behind @path makes from now on fails. */
static void fail_nth(const char *path, int n)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", n);
	if (write_text(path, text))
		fprintf(stderr, "# %s: %m\n", path);
}

#define SELF	"/proc/thread-self/fail-nth"

/* Takes the order back; true if it had been carried out. */
static bool failed_one(const char *path)
{
	bool failed = !strcmp(read_text(path), "0");

	fail_nth(path, 0);
	return failed;
}

/* Not open(): that one's allocations are no business of ours. */
static int write_again(int fd, const char *text)
{
	return pwrite(fd, text, strlen(text), 0) < 0 ? -errno : 0;
}

static bool is_clean(int error)
{
	return !error || error == -ENOMEM;
}

/*
 * What the kernel itself allocates for a module before it runs any of its code:
 * as far as it gets with one whose parameter is wrong. Not all of the kernel
 * takes a failure there well: its tracing warns.
 */
static int allocations_before_init(int fd)
{
	int left;

	fail_nth(SELF, MANY);
	if (!syscall(SYS_finit_module, fd, "hugetext=9", 0) || errno != EINVAL)
		return MANY;
	left = atoi(read_text(SELF));
	fail_nth(SELF, 0);
	return MANY - left;
}

TEST_F_TIMEOUT(faults, loading, 2400)
{
	int fd = open(getenv("HUGETEXT_MODULE"), O_RDONLY | O_CLOEXEC);
	int first = allocations_before_init(fd);
	int n, error, clean = 0;
	bool failed;

	for (n = first + 1; n < MANY; n++) {
		fail_nth(SELF, n);
		error = syscall(SYS_finit_module, fd, "hugetext=3", 0) ? -errno : 0;
		failed = failed_one(SELF);
		EXPECT_TRUE(is_clean(error)) {
			TH_LOG("allocation %d: error %d", n, error);
		}
		clean += !error;
		if (!error) {
			ASSERT_EQ(0, module_unload());
		}
		if (!failed)
			break;
	}
	close(fd);
	fprintf(stderr, "# %d allocations, %d of them not needed, after %d\n", n - first - 1,
		clean - 1, first);
	EXPECT_LT(20, n - first);
	EXPECT_GT(MANY, n);
	EXPECT_LE(1, clean);
}

TEST_F_TIMEOUT(faults, turning_on, 2400)
{
	int n, fd, on, refused = 0;
	bool failed = true;

	for (n = 1; n < MANY && failed; n++) {
		ASSERT_EQ(0, module_load(""));
		fd = open(ENABLED, O_WRONLY | O_CLOEXEC);
		ASSERT_LE(0, fd);
		fail_nth(SELF, n);
		on = write_again(fd, "1");
		failed = failed_one(SELF);
		EXPECT_TRUE(is_clean(on)) {
			TH_LOG("allocation %d: error %d", n, on);
		}
		EXPECT_STREQ(on ? "0" : "1", read_text(ENABLED));
		refused += !!on;
		/* The second time there is memory. */
		EXPECT_EQ(0, write_again(fd, "1"));
		close(fd);
		ASSERT_EQ(0, module_unload());
	}
	fprintf(stderr, "# %d allocations, refused %d times\n", n - 2, refused);
	EXPECT_LT(5, n);
	EXPECT_GT(MANY, n);
}

FIXTURE(served) {
	struct child child;
};

FIXTURE_VARIANT(served) {
	const char *parameters;
	const char *program;
	long kb;	/* of it that becomes huge */
};

FIXTURE_VARIANT_ADD(served, collapse) {
	.parameters = "hugetext=1", .program = "prog-nopie", .kb = 8192,
};

FIXTURE_VARIANT_ADD(served, padding) {
	.parameters = "hugetext=1" PADDING, .program = "prog-edges", .kb = 4096,
};

FIXTURE_SETUP(served)
{
	ASSERT_TRUE(prepare());
}

FIXTURE_TEARDOWN(served)
{
	child_kill(&self->child);
	module_unload();
}

/* Whatever fails once is tried again: in the end all text is huge. */
TEST_F_TIMEOUT(served, in_the_end, 2400)
{
	bool failed = true;
	char path[64];
	int n;

	for (n = 1; n < MANY && failed; n++) {
		ASSERT_EQ(0, module_load(variant->parameters));
		ASSERT_LT(0, find_khugetextd());
		ASSERT_TRUE(wait_settled());
		snprintf(path, sizeof(path), "/proc/%d/task/%d/fail-nth", find_khugetextd(),
			 find_khugetextd());
		fail_nth(path, n);
		ASSERT_TRUE(child_start(&self->child, variant->program));
		EXPECT_TRUE(wait_huge(self->child.pid, variant->program, variant->kb)) {
			TH_LOG("allocation %d", n);
		}
		failed = failed_one(path);
		EXPECT_STREQ(expected(variant->program, "sum"), child_ask(&self->child, "sum"));
		EXPECT_TRUE(child_quit(&self->child));
		ASSERT_EQ(0, module_unload());
	}
	fprintf(stderr, "# %d allocations\n", n - 2);
	EXPECT_LT(5, n);
	EXPECT_GT(MANY, n);
}

FIXTURE(rollback) {
	struct child child;
};

FIXTURE_VARIANT(rollback) {
	bool of_file;
};

FIXTURE_VARIANT_ADD(rollback, process) { .of_file = false };
FIXTURE_VARIANT_ADD(rollback, file) { .of_file = true };

FIXTURE_SETUP(rollback)
{
	ASSERT_TRUE(prepare());
}

FIXTURE_TEARDOWN(rollback)
{
	child_kill(&self->child);
	module_unload();
}

/* What is refused for want of memory can be asked for again. */
TEST_F_TIMEOUT(rollback, asked_again, 2400)
{
	char what[64] = FIXTURES "/prog-nopie";
	int n, fd, error, refused = 0;
	bool failed = true;

	fd = -1;
	for (n = 1; n < MANY && failed; n++) {
		ASSERT_EQ(0, module_load("hugetext=1"));
		ASSERT_TRUE(child_start(&self->child, "prog-nopie"));
		ASSERT_TRUE(wait_all_huge(self->child.pid, "prog-nopie"));
		if (!variant->of_file)
			snprintf(what, sizeof(what), "%d", self->child.pid);
		fd = open(ROLLBACK, O_WRONLY | O_CLOEXEC);
		ASSERT_LE(0, fd);
		fail_nth(SELF, n);
		error = write_again(fd, what);
		failed = failed_one(SELF);
		EXPECT_TRUE(is_clean(error) || error == -EBUSY) {
			TH_LOG("allocation %d: error %d", n, error);
		}
		if (!error) {
			EXPECT_EQ(0, text_of(self->child.pid, "prog-nopie").huge);
		}
		refused += !!error;
		EXPECT_EQ(0, write_again(fd, what));
		EXPECT_EQ(0, text_of(self->child.pid, "prog-nopie").huge);
		close(fd);
		EXPECT_STREQ(expected("prog-nopie", "sum"), child_ask(&self->child, "sum"));
		EXPECT_TRUE(child_quit(&self->child));
		ASSERT_EQ(0, module_unload());
	}
	fprintf(stderr, "# %d allocations, refused %d times\n", n - 2, refused);
	EXPECT_LT(3, n);
	EXPECT_GT(MANY, n);
}

TEST_HARNESS_MAIN
