// SPDX-License-Identifier: GPL-2.0
/*
 * Knobs and parameters: the values they take, the errors they give, loading
 * and unloading in any state, and what is left when a hook is missing.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/klog.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "kselftest_harness.h"

#include "../kmod/why.h"
#include "guest.h"

FIXTURE(knobs) {
};

FIXTURE_SETUP(knobs)
{
	ASSERT_EQ(0, module_load(""));
}

FIXTURE_TEARDOWN(knobs)
{
	EXPECT_EQ(0, module_unload());
}

TEST_F(knobs, off_by_default)
{
	EXPECT_STREQ("0", read_text(ENABLED));
}

TEST_F(knobs, takes_0_to_3_in_any_base)
{
	static const struct {
		const char *written, *read;
	} values[] = {
		{ "1", "1" }, { "2", "2" }, { "3", "3" }, { "0", "0" },
		{ "0x3", "3" }, { "0X1", "1" }, { "02", "2" }, { "+3", "3" },
		{ "1\n", "1" }, { "00", "0" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		EXPECT_EQ(0, write_text(ENABLED, values[i].written));
		EXPECT_STREQ(values[i].read, read_text(ENABLED));
	}
}

TEST_F(knobs, anything_else_is_einval_and_changes_nothing)
{
	static const char * const wrong[] = {
		"4", "-1", "-0", "\n", " ", "abc", "1 2", "0x", "0x4", "08", "3x", "1.0", "0b1",
		"4294967296", "4294967299", "18446744073709551619", "99999999999999999999999",
	};

	ASSERT_EQ(0, write_text(ENABLED, "2"));
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		EXPECT_EQ(-EINVAL, write_text(ENABLED, wrong[i])) {
			TH_LOG("written: '%s'", wrong[i]);
		}
		EXPECT_STREQ("2", read_text(ENABLED));
	}
}

TEST_F(knobs, only_root_writes)
{
	struct stat st;

	ASSERT_EQ(0, stat(ENABLED, &st));
	EXPECT_EQ(0644, st.st_mode & 07777);
	EXPECT_EQ(0, st.st_uid);
}

TEST_F(knobs, counters_have_the_words_of_the_table)
{
	static const char * const words[] = {
#define WORD(name, word, passing, text, change) word,
		HUGETEXT_WHY_TABLE(WORD)
	};

	/* "ok" is no reason. */
	for (size_t i = 1; i < ARRAY_SIZE(words); i++)
		EXPECT_LE(0, counter(words[i]));
}

TEST_F(knobs, padding_takes_its_ranges)
{
	static const char * const wrong[] = { "2097152", "-1", "x", "0x10", "1 2", "99999999999" };

	EXPECT_STREQ("0", read_text(PAD_THRESHOLD));
	EXPECT_STREQ("0", read_text(PAD_RODATA));
	EXPECT_EQ(0, write_text(PAD_THRESHOLD, "2097151"));
	EXPECT_STREQ("2097151", read_text(PAD_THRESHOLD));
	EXPECT_EQ(0, write_text(PAD_THRESHOLD, "4096\n"));
	EXPECT_EQ(0, write_text(PAD_RODATA, "1"));
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		EXPECT_EQ(-EINVAL, write_text(PAD_THRESHOLD, wrong[i]));
		EXPECT_EQ(-EINVAL, write_text(PAD_RODATA, wrong[i]));
	}
	EXPECT_EQ(-EINVAL, write_text(PAD_RODATA, "2"));
	EXPECT_STREQ("4096", read_text(PAD_THRESHOLD));
	EXPECT_STREQ("1", read_text(PAD_RODATA));
	EXPECT_EQ(0, write_text(PAD_THRESHOLD, "0"));
	EXPECT_EQ(0, write_text(PAD_RODATA, "0"));
}

TEST_F(knobs, padding_can_be_given_at_load)
{
	ASSERT_EQ(0, module_unload());
	EXPECT_EQ(-EINVAL, module_load("pad_threshold=2097152"));
	EXPECT_EQ(-EINVAL, module_load("pad_rodata=2"));
	EXPECT_EQ(-EINVAL, module_load("pad_threshold=0x10"));
	ASSERT_EQ(0, module_load("pad_threshold=8192 pad_rodata=1"));
	EXPECT_STREQ("8192", read_text(PAD_THRESHOLD));
	EXPECT_STREQ("1", read_text(PAD_RODATA));
}

TEST(parameter_takes_the_same_values)
{
	static const struct {
		const char *parameters, *read;
	} good[] = {
		{ "hugetext=0", "0" }, { "hugetext=1", "1" }, { "hugetext=0x2", "2" },
		{ "hugetext=3", "3" },
	};
	static const char * const wrong[] = {
		"hugetext=4", "hugetext=-1", "hugetext=", "hugetext=x", "hugetext",
		"hugetext=4294967297", "rothp=7",
	};

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		ASSERT_EQ(0, module_load(good[i].parameters));
		EXPECT_STREQ(good[i].read, read_text(ENABLED));
		EXPECT_EQ(0, module_unload());
	}
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		EXPECT_EQ(-EINVAL, module_load(wrong[i])) {
			TH_LOG("parameters: '%s'", wrong[i]);
			module_unload();
		}
		EXPECT_EQ(-1, access(ENABLED, F_OK));
	}
}

TEST(loads_and_unloads_in_any_state)
{
	char text[16];

	for (int i = 0; i < 4; i++) {
		snprintf(text, sizeof(text), "hugetext=%d", i);
		ASSERT_EQ(0, module_load(text));
		EXPECT_EQ(-EEXIST, module_load(""));
		for (int j = 0; j < 16; j++) {
			snprintf(text, sizeof(text), "%d", (i * 5 + j * 7) % 4);
			ASSERT_EQ(0, write_text(ENABLED, text));
		}
		snprintf(text, sizeof(text), "%d", 3 - i);
		ASSERT_EQ(0, write_text(ENABLED, text));
		ASSERT_EQ(0, module_unload());
		EXPECT_EQ(-1, access(ENABLED, F_OK));
		EXPECT_EQ(-1, access(COUNTERS, F_OK));
	}
	EXPECT_EQ(-ENOENT, module_unload());
}

/* How many lines of the kernel log hold all of the words? */
static int log_lines(const char *first, const char *second, const char *third)
{
	static char log[1 << 20];
	int size = klogctl(3, log, sizeof(log) - 1), found = 0;
	char *line, *rest = log;

	log[size > 0 ? size : 0] = '\0';
	while ((line = strsep(&rest, "\n")))
		found += strstr(line, first) && strstr(line, second) && strstr(line, third);
	return found;
}

/*
 * A build for another kernel: the same module with another word for SMP. The
 * release is not compared where each symbol has a version.
 */
TEST(build_for_another_kernel_is_refused)
{
	char path[] = "/tmp/other.ko", *version;
	struct stat st;
	char *bytes;
	int fd, before;

	ASSERT_EQ(0, copy_file(getenv("HUGETEXT_MODULE"), path));
	fd = open(path, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, fstat(fd, &st));
	bytes = mmap(NULL, st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ASSERT_NE(MAP_FAILED, bytes);
	version = memmem(bytes, st.st_size, "vermagic=", strlen("vermagic="));
	ASSERT_NE(NULL, version);
	ASSERT_NE(NULL, strstr(version, " SMP "));
	memcpy(strstr(version, " SMP "), " UPM ", 5);
	munmap(bytes, st.st_size);
	close(fd);

	before = log_lines("hugetext: version magic", " UPM ", "should be");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	EXPECT_EQ(-1, syscall(SYS_finit_module, fd, "", 0));
	EXPECT_EQ(ENOEXEC, errno);
	EXPECT_EQ(before + 1, log_lines("hugetext: version magic", " UPM ", "should be"));
	EXPECT_EQ(-1, access(ENABLED, F_OK));
	close(fd);
	unlink(path);
}

/* Root of a user namespace, as in a container, may neither load nor switch. */
TEST(root_of_a_container_is_refused)
{
	int status;
	pid_t pid;

	ASSERT_EQ(0, module_load(""));
	pid = fork();
	if (!pid) {
		int fd = open(getenv("HUGETEXT_MODULE"), O_RDONLY | O_CLOEXEC);
		int wrong = 0;

		if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
			_exit(100);
		write_text("/proc/self/setgroups", "deny");
		if (write_text("/proc/self/uid_map", "0 0 1") ||
		    write_text("/proc/self/gid_map", "0 0 1") || setuid(0))
			_exit(101);
		wrong += !syscall(SYS_finit_module, fd, "", 0) || errno != EPERM;
		wrong += !syscall(SYS_delete_module, "hugetext", 0) || errno != EPERM;
		_exit(wrong);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	/* The file is root's: nobody else can even open it for writing. */
	pid = fork();
	if (!pid) {
		if (setgid(65534) || setuid(65534))
			_exit(100);
		_exit(write_text(ENABLED, "1") != -EACCES);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_STREQ("0", read_text(ENABLED));
	EXPECT_EQ(0, module_unload());
}



#define STATUS	"/sys/kernel/debug/hugetext/status"

/* The word behind "mechanism" in the module's status. */
static const char *mechanism(void)
{
	static char word[32];

	if (sscanf(read_text(STATUS), "mechanism %31s", word) != 1)
		word[0] = '\0';
	return word;
}

TEST_F(knobs, mechanism_is_the_one_for_this_kernel)
{
	EXPECT_STREQ(kernel_is_native() ? "native" : kernel_has_option() ? "READ_ONLY_THP" :
		     "rothp", mechanism());
}

FIXTURE(missing) {
	struct child child;
};

FIXTURE_VARIANT(missing) {
	const char *hook;
	const char *other;	/* its name on other kernels */
	bool running_text_is_served;
	bool rothp;		/* a hook of what native kernels do not need */
};

FIXTURE_VARIANT_ADD(missing, do_mmap) {
	.hook = "do_mmap", .running_text_is_served = true,
};

FIXTURE_VARIANT_ADD(missing, sched_process_fork) {
	.hook = "sched_process_fork", .running_text_is_served = true,
};

FIXTURE_VARIANT_ADD(missing, do_madvise) {
	.hook = "do_madvise",
};

FIXTURE_VARIANT_ADD(missing, fsnotify) {
	.hook = "fsnotify",
};

FIXTURE_VARIANT_ADD(missing, thp_check) {
	.hook = "hugepage_vma_check", .other = "__thp_vma_allowable_orders", .rothp = true,
};

FIXTURE_VARIANT_ADD(missing, security_file_open) {
	.hook = "security_file_open",
};

FIXTURE_VARIANT_ADD(missing, notify_change) {
	.hook = "notify_change",
};

FIXTURE_VARIANT_ADD(missing, page_cache_sync_ra) {
	.hook = "page_cache_sync_ra",
};

FIXTURE_VARIANT_ADD(missing, kallsyms_lookup_name) {
	.hook = "kallsyms_lookup_name", .rothp = true,
};

/* A whole name in the table of the kernel's symbols. */
static bool kernel_has(const char *symbol)
{
	char line[512], name[256];
	FILE *file = fopen("/proc/kallsyms", "r");
	bool found = false;

	while (!found && fgets(line, sizeof(line), file))
		found = sscanf(line, "%*s %*s %255s", name) == 1 && !strcmp(name, symbol);
	fclose(file);
	return found;
}

FIXTURE_SETUP(missing)
{
	ASSERT_TRUE(child_start(&self->child, "prog-nopie"));
}

FIXTURE_TEARDOWN(missing)
{
	child_kill(&self->child);
	/* It is not there when there was nothing to do without. */
	module_unload();
	EXPECT_EQ(-1, access(ENABLED, F_OK));
}

/* One line that names hook, kernel and loss; what does not need it works. */
TEST_F_TIMEOUT(missing, hook_is_named_and_the_rest_works, 900)
{
	char parameters[64], release[64], hook[64];
	const char *name = variant->hook;
	int before;

	if (variant->rothp && kernel_collapses_text())
		SKIP(return, "this kernel does not need it");
	if (variant->other && !kernel_has(name))
		name = variant->other;

	snprintf(release, sizeof(release), "%s", read_text("/proc/sys/kernel/osrelease"));
	snprintf(hook, sizeof(hook), "hook %s is missing", name);
	before = log_lines(hook, release, "hugetext: ");
	snprintf(parameters, sizeof(parameters), "without=%s", name);
	ASSERT_EQ(0, module_load(parameters));
	for (int i = 0; i < 3; i++) {
		ASSERT_EQ(0, write_text(ENABLED, "3"));
		ASSERT_EQ(0, write_text(ENABLED, "0"));
	}
	ASSERT_EQ(0, write_text(ENABLED, "1"));
	EXPECT_EQ(before + 1, log_lines(hook, release, "hugetext: "));

	snprintf(hook, sizeof(hook), "hook %s missing", name);
	EXPECT_NE(NULL, strstr(read_text(STATUS), hook));
	if (variant->running_text_is_served) {
		EXPECT_TRUE(wait_all_huge(self->child.pid, "prog-nopie"));
	} else {
		sleep_ms(1000);
		if (!kernel_collapses_text()) {
			EXPECT_EQ(0, text_of(self->child.pid, "prog-nopie").huge);
		}
		EXPECT_LT(0, counter("no_hook") + counter("filesystem"));
	}
	EXPECT_STREQ(expected("prog-nopie", "sum"), child_ask(&self->child, "sum"));
}

TEST_HARNESS_MAIN
