// SPDX-License-Identifier: GPL-2.0
/*
 * Text on a file system that cannot have it huge on this kernel: it stays as
 * it is, the reason says so, and nothing else is different.
 */
#include "kselftest_harness.h"

#include "guest.h"

FIXTURE(small) {
	struct child child;
};

FIXTURE_VARIANT(small) {
	const char *program;
	const char *library;
};

FIXTURE_VARIANT_ADD(small, pie) {
	.program = "prog-pie", .library = "libtext.so",
};

FIXTURE_VARIANT_ADD(small, nopie) {
	.program = "prog-nopie", .library = "libtext-lld.so",
};

FIXTURE_VARIANT_ADD(small, mold) {
	.program = "prog-mold", .library = "libtext-mold.so",
};

FIXTURE_SETUP(small)
{
	ASSERT_EQ(0, module_load("hugetext=1"));
}

FIXTURE_TEARDOWN(small)
{
	child_kill(&self->child);
	EXPECT_EQ(0, module_unload());
}

TEST_F_TIMEOUT(small, stays_small_and_the_reason_says_so, 900)
{
	char dlopen[256];

	ASSERT_TRUE(child_start(&self->child, variant->program));
	EXPECT_TRUE(wait_counter("filesystem", 1));
	snprintf(dlopen, sizeof(dlopen), "dlopen " FIXTURES "/%s", variant->library);
	ASSERT_STREQ(dlopen, child_ask(&self->child, dlopen));
	EXPECT_TRUE(wait_counter("filesystem", 2));
	EXPECT_STREQ(expected(variant->program, "sum"), child_ask(&self->child, "sum"));
	EXPECT_STREQ(expected(variant->program, "call"), child_ask(&self->child, "call"));
	EXPECT_STREQ(expected(variant->library, "sum"), child_ask(&self->child, "sumlib"));
	/* Not even tried. */
	EXPECT_EQ(0, counter("refused"));
	EXPECT_EQ(0, counter("collapsed_regions"));
	EXPECT_EQ(0, counter("served_files"));
	EXPECT_EQ(0, text_of(self->child.pid, NULL).huge);
	EXPECT_EQ(0, read_number("/proc/meminfo", "FileHugePages"));
	EXPECT_TRUE(child_quit(&self->child));
}

TEST_HARNESS_MAIN
