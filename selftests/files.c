// SPDX-License-Identifier: GPL-2.0
/*
 * Files whose text is huge: written to, cut, punched, replaced, unmounted,
 * and opened behind fsnotify's back. File and processes must hold the bytes
 * that they would hold without hugetext.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/fanotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <linux/loop.h>

#include "kselftest_harness.h"

#include "guest.h"

#define FOLDER		"/tests/work"
#define LIBRARY		FOLDER "/libtext.so"
#define ORIGINAL	FIXTURES "/libtext.so"
#define MEMINFO		"/proc/meminfo"

/*
 * A library in use with all its text huge, and what its file should hold.
 * The reference copy is in this process's memory alone.
 */
FIXTURE(library) {
	struct child child;
	unsigned char *bytes;
	size_t size;
	unsigned long text;	/* file offset of the big text */
	unsigned long length;	/* and its bytes */
};

static void read_whole(const char *path, unsigned char *bytes, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t n;

	while (used < size && (n = pread(fd, bytes + used, size - used, used)) > 0)
		used += n;
	memset(bytes + used, 0, size - used);
	close(fd);
}

static bool file_is(const char *path, const unsigned char *bytes, size_t size)
{
	unsigned char *now = malloc(size);
	struct stat st;
	bool same;

	read_whole(path, now, size);
	same = !stat(path, &st) && (size_t)st.st_size == size && !memcmp(now, bytes, size);
	free(now);
	return same;
}

static bool disk_is(const char *path, const unsigned char *bytes, size_t size)
{
	size_t rounded = (size + 4095) & ~4095ul, used = 0;
	unsigned char *now = aligned_alloc(4096, rounded);
	int fd = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	ssize_t n;
	bool same;

	/* Where nothing can be read directly there is no disk. */
	if (fd < 0 && errno == EINVAL)
		fd = open(path, O_RDONLY | O_CLOEXEC);
	while (used < size && (n = pread(fd, now + used, rounded - used, used)) > 0)
		used += n;
	same = used == size && !memcmp(now, bytes, size);
	close(fd);
	free(now);
	return same;
}

/* The library's text as a process sees it is what @bytes say. */
static bool process_sees(struct child *child, const unsigned char *text, size_t length)
{
	char want[64];
	const char *got = child_ask(child, "sumlib");

	snprintf(want, sizeof(want), "%016lx", (unsigned long)fnv(text, length));
	if (got && !strcmp(got, want))
		return true;
	fprintf(stderr, "# process has %s, file %s\n", got ?: "died", want);
	return false;
}

static void drop_caches(void)
{
	sync();
	write_text("/proc/sys/vm/drop_caches", "3");
}

FIXTURE_SETUP(library)
{
	unsigned long bias, start, end;
	char line[512], mode[8], maps[64];
	struct stat st;
	FILE *file;

	mkdir(FOLDER, 0755);
	unlink(LIBRARY);
	ASSERT_EQ(0, copy_file(ORIGINAL, LIBRARY));
	ASSERT_EQ(0, stat(LIBRARY, &st));
	self->size = st.st_size;
	self->bytes = malloc(self->size + REGION);
	read_whole(LIBRARY, self->bytes, self->size);

	ASSERT_EQ(0, module_load("hugetext=1"));
	ASSERT_TRUE(child_start(&self->child, "prog-pie"));
	ASSERT_STREQ("dlopen " LIBRARY, child_ask(&self->child, "dlopen " LIBRARY));
	ASSERT_TRUE(sscanf(child_ask(&self->child, "addrlib"), "base %lx start %lx end %lx",
			   &bias, &start, &end) == 3);
	snprintf(maps, sizeof(maps), "/proc/%d/maps", self->child.pid);
	file = fopen(maps, "r");
	while (fgets(line, sizeof(line), file)) {
		unsigned long from, to, offset;

		if (sscanf(line, "%lx-%lx %7s %lx", &from, &to, mode, &offset) == 4 &&
		    from <= start && start < to)
			self->text = start - from + offset;
	}
	fclose(file);
	self->length = end - start;
	ASSERT_TRUE(wait_all_huge(self->child.pid, "libtext.so"));
}

FIXTURE_TEARDOWN(library)
{
	child_kill(&self->child);
	EXPECT_EQ(0, module_unload());
	free(self->bytes);
}

/* The library's text while somebody has it open for writing. */
#define EXPECT_HUGE_FOR_WRITER()						\
do {										\
	if (writers_of(LIBRARY) == WRITERS_DROP)				\
		EXPECT_EQ(0, text_of(self->child.pid, "libtext.so").huge);	\
} while (0)

#define CHECK_LIBRARY()								\
do {										\
	EXPECT_TRUE(file_is(LIBRARY, self->bytes, self->size));			\
	EXPECT_TRUE(process_sees(&self->child, self->bytes + self->text,	\
				 self->length));				\
} while (0)

/*
 * What is on the disk, without the page cache: mapped pages are not dropped by
 * drop_caches, and would hide a page that was lost before it was written.
 */
#define CHECK_DISK()								\
do {										\
	sync();									\
	EXPECT_TRUE(disk_is(LIBRARY, self->bytes, self->size));			\
} while (0)

TEST_F_TIMEOUT(library, written_in_place_while_in_use, 900)
{
	unsigned long at = self->text + 5 * REGION / 2;
	int fd, i;

	for (i = 0; i < 3; i++) {
		fd = open(LIBRARY, O_RDWR | O_CLOEXEC);
		ASSERT_LE(0, fd);
		/* The open took the huge pages away, before any byte is written. */
		EXPECT_HUGE_FOR_WRITER();
		CHECK_LIBRARY();
		memset(self->bytes + at, 0x90 + i, 10000);
		ASSERT_EQ(10000, pwrite(fd, self->bytes + at, 10000, at));
		CHECK_LIBRARY();

		/* New users while the writer is there stay on small pages. */
		child_ask(&self->child, "dlclose");
		child_ask(&self->child, "dlopen " LIBRARY);
		sleep_ms(300);
		EXPECT_HUGE_FOR_WRITER();
		CHECK_LIBRARY();
		close(fd);

		EXPECT_TRUE(wait_all_huge(self->child.pid, "libtext.so"));
		CHECK_LIBRARY();
		at -= REGION - 4096;
	}
	EXPECT_LE(writers_of(LIBRARY) == WRITERS_FREE ? 0 : 9, counter("dropped_regions"));
	CHECK_DISK();
	CHECK_LIBRARY();
	ASSERT_EQ(0, module_unload());
	CHECK_DISK();
	CHECK_LIBRARY();
	ASSERT_EQ(0, module_load(""));
}

TEST_F_TIMEOUT(library, appended, 900)
{
	int fd = open(LIBRARY, O_WRONLY | O_APPEND | O_CLOEXEC);

	memset(self->bytes + self->size, 0x5a, 5000);
	ASSERT_EQ(5000, write(fd, self->bytes + self->size, 5000));
	self->size += 5000;
	close(fd);
	CHECK_LIBRARY();
	CHECK_DISK();
	CHECK_LIBRARY();
}

TEST_F_TIMEOUT(library, written_through_a_shared_mapping, 900)
{
	unsigned long at = self->text + 3 * REGION / 2;
	int fd = open(LIBRARY, O_RDWR | O_CLOEXEC);
	unsigned char *map;

	map = mmap(NULL, self->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ASSERT_NE(MAP_FAILED, map);
	/* The mapping alone keeps the file open for writing. */
	close(fd);
	memset(map + at, 0xcd, 3 * 4096);
	memset(self->bytes + at, 0xcd, 3 * 4096);
	CHECK_LIBRARY();
	sleep_ms(300);
	EXPECT_HUGE_FOR_WRITER();
	ASSERT_EQ(0, msync(map, self->size, MS_SYNC));
	ASSERT_EQ(0, munmap(map, self->size));
	CHECK_LIBRARY();
	CHECK_DISK();
	CHECK_LIBRARY();
}

/* truncate(2) by name opens nothing, so no open is there to be noticed. */
TEST_F_TIMEOUT(library, truncated_by_name, 900)
{
	size_t shorter = self->text + 5 * REGION / 2 + 1234;

	ASSERT_EQ(0, truncate(LIBRARY, shorter));
	EXPECT_TRUE(file_is(LIBRARY, self->bytes, shorter));
	ASSERT_EQ(0, truncate(LIBRARY, self->size));
	memset(self->bytes + shorter, 0, self->size - shorter);
	CHECK_LIBRARY();
	CHECK_DISK();
	CHECK_LIBRARY();
}

/*
 * A file that grows by name from a size in the middle of a block: some kernels
 * write to the page at its old end, which must not be one of a huge page.
 */
TEST_F_TIMEOUT(library, grown_by_name, 900)
{
	const size_t size = 2 * REGION - 100, larger = 3 * REGION + 7;
	const char *path = FOLDER "/grown";
	unsigned char *bytes = calloc(1, larger);
	unsigned char *reserved, *mapped;
	int fd;

	for (size_t i = 0; i < size; i++)
		bytes[i] = i * 2654435761u >> 13;
	/* Not every file system chooses an address that huge pages can cover. */
	mapped = reserve_regions(2 * REGION, &reserved);
	ASSERT_NE(NULL, mapped);
	for (int i = 0; i < 3; i++) {
		unlink(path);
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0755);
		ASSERT_EQ(size, write(fd, bytes, size));
		ASSERT_EQ(0, fsync(fd));
		close(fd);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		ASSERT_EQ(mapped, mmap(mapped, 2 * REGION, PROT_READ | PROT_EXEC,
				       MAP_PRIVATE | MAP_FIXED, fd, 0));
		close(fd);
		EXPECT_TRUE(wait_huge(getpid(), "grown", 2048));
		sleep_ms(200);
		ASSERT_EQ(0, truncate(path, larger));
		EXPECT_EQ(0, memcmp(mapped, bytes, size));
		EXPECT_TRUE(file_is(path, bytes, larger));
		sync();
		EXPECT_TRUE(disk_is(path, bytes, larger));
		munmap(mapped, 2 * REGION);
		drop_caches();
		EXPECT_TRUE(file_is(path, bytes, larger));
	}
	release_regions(reserved, 2 * REGION);
	unlink(path);
	free(bytes);
}

TEST_F_TIMEOUT(library, truncated_through_a_file, 900)
{
	size_t shorter = self->text + REGION + 77;
	int fd = open(LIBRARY, O_WRONLY | O_CLOEXEC);

	ASSERT_EQ(0, ftruncate(fd, shorter));
	EXPECT_TRUE(file_is(LIBRARY, self->bytes, shorter));
	ASSERT_EQ(0, ftruncate(fd, self->size));
	close(fd);
	memset(self->bytes + shorter, 0, self->size - shorter);
	CHECK_LIBRARY();
	CHECK_DISK();
	CHECK_LIBRARY();
}

TEST_F_TIMEOUT(library, truncated_by_open, 900)
{
	int fd = open(LIBRARY, O_WRONLY | O_TRUNC | O_CLOEXEC);

	ASSERT_LE(0, fd);
	EXPECT_TRUE(file_is(LIBRARY, self->bytes, 0));
	ASSERT_EQ(self->size, write(fd, self->bytes, self->size));
	close(fd);
	CHECK_LIBRARY();
	CHECK_DISK();
	CHECK_LIBRARY();
}

TEST_F_TIMEOUT(library, hole_punched, 900)
{
	unsigned long at = self->text + REGION + 3000;
	int fd = open(LIBRARY, O_RDWR | O_CLOEXEC);

	ASSERT_EQ(0, fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, REGION));
	memset(self->bytes + at, 0, REGION);
	CHECK_LIBRARY();
	if (!fallocate(fd, FALLOC_FL_ZERO_RANGE, at - 9000, 9000))
		memset(self->bytes + at - 9000, 0, 9000);
	else
		ASSERT_EQ(EOPNOTSUPP, errno);
	close(fd);
	CHECK_LIBRARY();
	CHECK_DISK();
	CHECK_LIBRARY();
}

TEST_F_TIMEOUT(library, replaced_by_rename, 900)
{
	unsigned char *other = malloc(self->size);
	struct child newcomer;
	int fd;

	memcpy(other, self->bytes, self->size);
	memset(other + self->text + 4096 + 100, 0x11, 200);
	fd = open(FOLDER "/new.so", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	ASSERT_EQ(self->size, write(fd, other, self->size));
	close(fd);
	ASSERT_EQ(0, rename(FOLDER "/new.so", LIBRARY));

	ASSERT_TRUE(child_start(&newcomer, "prog-pie"));
	child_ask(&newcomer, "dlopen " LIBRARY);
	EXPECT_TRUE(wait_all_huge(newcomer.pid, "libtext.so"));
	EXPECT_TRUE(process_sees(&newcomer, other + self->text, self->length));
	EXPECT_TRUE(process_sees(&self->child, self->bytes + self->text, self->length));
	EXPECT_TRUE(file_is(LIBRARY, other, self->size));
	child_kill(&newcomer);
	free(other);
}

TEST_F_TIMEOUT(library, direct_writes, 900)
{
	unsigned long at = (self->text + 2 * REGION) & ~4095ul;
	int fd = open(LIBRARY, O_RDWR | O_DIRECT | O_CLOEXEC);
	void *page = aligned_alloc(4096, 4096);

	if (fd < 0 && errno == EINVAL)
		SKIP(return, "nothing is written directly there");
	ASSERT_LE(0, fd);
	memset(page, 0x42, 4096);
	memset(self->bytes + at, 0x42, 4096);
	ASSERT_EQ(4096, pwrite(fd, page, 4096, at));
	close(fd);
	free(page);
	CHECK_LIBRARY();
	CHECK_DISK();
	CHECK_LIBRARY();
}

/*
 * A pipe holds pages of the text, as whoever may read it can arrange. That
 * keeps neither a writer out, nor a huge page in the file after the module is gone.
 */
TEST_F_TIMEOUT(library, pinned_by_a_pipe, 900)
{
	unsigned char in_pipe[4096];
	struct iovec part;
	int pipes[2][2], fd;
	unsigned char *map;

	fd = open(LIBRARY, O_RDONLY | O_CLOEXEC);
	map = mmap(NULL, self->size, PROT_READ, MAP_PRIVATE, fd, 0);
	ASSERT_NE(MAP_FAILED, map);
	close(fd);
	for (int i = 0; i < 2; i++) {
		unsigned long at = self->text + 5 * REGION / 2 + i * 8192;

		ASSERT_TRUE(wait_all_huge(self->child.pid, "libtext.so"));
		ASSERT_EQ(0, pipe(pipes[i]));
		part = (struct iovec){ map + (at & ~4095ul), 4096 };
		ASSERT_EQ(4096, vmsplice(pipes[i][1], &part, 1, 0));
		if (i)
			break;
		fd = open(LIBRARY, O_RDWR | O_CLOEXEC);
		ASSERT_LE(0, fd);
		EXPECT_HUGE_FOR_WRITER();
		CHECK_LIBRARY();
		memset(self->bytes + at, 0x44, 5000);
		EXPECT_EQ(5000, pwrite(fd, self->bytes + at, 5000, at));
		close(fd);
		CHECK_LIBRARY();
	}
	ASSERT_EQ(0, module_unload());
	if (unload_drops(LIBRARY) && !kernel_collapses_text()) {
		EXPECT_EQ(0, read_number(MEMINFO, "FileHugePages"));
	}
	CHECK_LIBRARY();
	ASSERT_EQ(4096, read(pipes[0][0], in_pipe, 4096));
	CHECK_DISK();
	CHECK_LIBRARY();
	for (int i = 0; i < 2; i++) {
		close(pipes[i][0]);
		close(pipes[i][1]);
	}
	munmap(map, self->size);
	ASSERT_EQ(0, module_load(""));
}

/* Unloading takes back all that rothp let in, also under a running process. */
TEST_F_TIMEOUT(library, unload_drops_what_is_huge, 900)
{
	if (unload_drops(LIBRARY)) {
		EXPECT_LT(0, read_number(MEMINFO, "FileHugePages"));
	}
	ASSERT_EQ(0, module_unload());
	if (unload_drops(LIBRARY)) {
		EXPECT_EQ(0, read_number(MEMINFO, "FileHugePages"));
		EXPECT_EQ(0, text_of(self->child.pid, NULL).huge);
	}
	CHECK_LIBRARY();
	/* And a writer after that meets small pages only. */
	int fd = open(LIBRARY, O_RDWR | O_CLOEXEC);

	memset(self->bytes + self->text + REGION, 0x77, 100);
	ASSERT_EQ(100, pwrite(fd, self->bytes + self->text + REGION, 100, self->text + REGION));
	close(fd);
	CHECK_LIBRARY();
	ASSERT_EQ(0, module_load(""));
}

/* Turned off is not unloaded: what is huge stays, and stays guarded. */
TEST_F_TIMEOUT(library, written_while_turned_off, 900)
{
	int fd;

	ASSERT_EQ(0, write_text(ENABLED, "0"));
	EXPECT_LT(0, text_of(self->child.pid, "libtext.so").huge);
	fd = open(LIBRARY, O_RDWR | O_CLOEXEC);
	EXPECT_HUGE_FOR_WRITER();
	memset(self->bytes + self->text + REGION, 0x66, 8192);
	ASSERT_EQ(8192, pwrite(fd, self->bytes + self->text + REGION, 8192, self->text + REGION));
	close(fd);
	CHECK_LIBRARY();
	CHECK_DISK();
	CHECK_LIBRARY();
}

/*
 * The descriptors that fanotify hands out are opened behind fsnotify's back:
 * they too must find no huge page where they could not write to one.
 */
TEST_F_TIMEOUT(library, fanotify_descriptor_for_writing, 900)
{
	int group = fanotify_init(FAN_CLASS_NOTIF | FAN_CLOEXEC | FAN_NONBLOCK,
				  O_RDWR | O_LARGEFILE | O_CLOEXEC);
	struct fanotify_event_metadata event = { .fd = FAN_NOFD };
	int fd;

	ASSERT_LE(0, group);
	ASSERT_EQ(0, fanotify_mark(group, FAN_MARK_ADD, FAN_OPEN, AT_FDCWD, LIBRARY));
	for (int i = 0; i < 3; i++) {
		unsigned long at = self->text + REGION + i * 100000;

		ASSERT_TRUE(wait_all_huge(self->child.pid, "libtext.so"));
		fd = open(LIBRARY, O_RDONLY | O_CLOEXEC);
		ASSERT_LE(0, fd);
		ASSERT_EQ(sizeof(event), read(group, &event, sizeof(event)));
		ASSERT_LE(0, event.fd);
		EXPECT_HUGE_FOR_WRITER();
		CHECK_LIBRARY();
		memset(self->bytes + at, 0x33 + i, 4096);
		EXPECT_EQ(4096, pwrite(event.fd, self->bytes + at, 4096, at));
		close(event.fd);
		close(fd);
		CHECK_LIBRARY();
		/*
		 * Huge again by itself once the writer is gone, for which the next
		 * round waits; the kernel's own option tells nobody.
		 */
		if (kernel_has_option()) {
			child_ask(&self->child, "dlclose");
			child_ask(&self->child, "dlopen " LIBRARY);
		}
	}
	EXPECT_EQ(0, counter("refused_opens"));
	close(group);
	CHECK_DISK();
	CHECK_LIBRARY();
	/* Whoever was sent behind the probe has left it: this must not hang. */
	ASSERT_EQ(0, module_unload());
	ASSERT_EQ(0, module_load(""));
}

/* ---- Programs, and file systems of their own ---- */

FIXTURE(program) {
	struct child child;
};

FIXTURE_SETUP(program)
{
	mkdir(FOLDER, 0755);
	unlink(FOLDER "/prog");
	ASSERT_EQ(0, copy_file(FIXTURES "/prog-pie", FOLDER "/prog"));
	ASSERT_EQ(0, module_load("hugetext=1"));
}

FIXTURE_TEARDOWN(program)
{
	child_kill(&self->child);
	EXPECT_EQ(0, module_unload());
}

/*
 * A process that exits while khugetextd is at it lets go of its program and its
 * mappings a moment after it is reaped.
 */
static int open_soon(const char *path)
{
	int fd = -1;

	for (int i = 0; i < 100; i++) {
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd >= 0 || errno != ETXTBSY)
			break;
		sleep_ms(20);
	}
	return fd;
}

TEST_F_TIMEOUT(program, written_after_its_exit, 900)
{
	struct stat st;
	unsigned char *bytes;
	int fd;

	ASSERT_EQ(0, stat(FOLDER "/prog", &st));
	bytes = malloc(st.st_size);
	read_whole(FOLDER "/prog", bytes, st.st_size);
	for (int i = 0; i < 3; i++) {
		unsigned long at = 3 * REGION + i * 12345;

		ASSERT_TRUE(child_start(&self->child, FOLDER "/prog"));
		ASSERT_TRUE(wait_all_huge(self->child.pid, FOLDER "/prog"));
		EXPECT_EQ(-1, open(FOLDER "/prog", O_RDWR));
		EXPECT_EQ(ETXTBSY, errno);
		ASSERT_TRUE(child_quit(&self->child));
		if (unload_drops(FOLDER)) {
			EXPECT_LT(0, read_number(MEMINFO, "FileHugePages"));
		}

		fd = open_soon(FOLDER "/prog");
		ASSERT_LE(0, fd);
		if (writers_of(FOLDER) == WRITERS_DROP) {
			EXPECT_EQ(0, read_number(MEMINFO, "FileHugePages"));
		}
		memset(bytes + at, i, 600);
		ASSERT_EQ(600, pwrite(fd, bytes + at, 600, at));
		close(fd);
		EXPECT_TRUE(file_is(FOLDER "/prog", bytes, st.st_size));
		drop_caches();
		EXPECT_TRUE(file_is(FOLDER "/prog", bytes, st.st_size));
	}
	free(bytes);
}

/* Unmounting must neither find a pinned file nor lose the guard's mark. */
#define DISK		"/tests/disk.img"
#define MOUNTED		"/tests/mounted"

static bool attach_disk(char *device, size_t size)
{
	int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
	int number, loop, disk;
	bool ok;

	number = ioctl(control, LOOP_CTL_GET_FREE);
	close(control);
	snprintf(device, size, "/dev/loop%d", number);
	loop = open(device, O_RDWR | O_CLOEXEC);
	disk = open(DISK, O_RDWR | O_CLOEXEC);
	ok = !ioctl(loop, LOOP_SET_FD, disk);
	close(disk);
	close(loop);
	return ok;
}

/* The exit status of what makes an empty file system of a type in DISK. */
static int make_disk(const char *type)
{
	char command[256];

	mkdir(MOUNTED, 0755);
	snprintf(command, sizeof(command), "modprobe loop && truncate -s 64M " DISK
		 " && mke2fs -q -t %s -F -b 4096 " DISK, type);
	return system(command);
}

static int detach_disk(const char *device)
{
	char command[128];

	snprintf(command, sizeof(command), "losetup -d %s", device);
	return system(command);
}

TEST_F_TIMEOUT(program, unmounted, 900)
{
	char device[64];

	ASSERT_EQ(0, make_disk("ext4"));
	for (int i = 0; i < 4; i++) {
		struct child late;

		ASSERT_TRUE(attach_disk(device, sizeof(device)));
		ASSERT_EQ(0, mount(device, MOUNTED, "ext4", 0, NULL));
		if (!i) {
			ASSERT_EQ(0, copy_file(FIXTURES "/prog-nopie", MOUNTED "/prog"));
		}
		ASSERT_TRUE(child_start(&self->child, MOUNTED "/prog"));
		if (i < 2) {
			ASSERT_TRUE(wait_all_huge(self->child.pid, MOUNTED "/prog"));
		}
		/* Half of the times it is unmounted while khugetextd is at it. */
		if (i % 2)
			child_kill(&self->child);
		else
			ASSERT_TRUE(child_quit(&self->child));
		EXPECT_EQ(0, unmount_within(MOUNTED, 2000));
		EXPECT_EQ(0, detach_disk(device));
		EXPECT_EQ(0, system("e2fsck -fn " DISK " >/dev/null 2>&1"));
		/* The module goes on with others. */
		ASSERT_TRUE(child_start(&late, "prog-nopie"));
		EXPECT_TRUE(wait_all_huge(late.pid, "prog-nopie"));
		child_kill(&late);
	}
	unlink(DISK);
}

/* Unloaded while the file system with guarded files is mounted, then unmounted. */
TEST_F_TIMEOUT(program, unloaded_then_unmounted, 900)
{
	char device[64];

	ASSERT_EQ(0, make_disk("ext4"));
	ASSERT_TRUE(attach_disk(device, sizeof(device)));
	ASSERT_EQ(0, mount(device, MOUNTED, "ext4", 0, NULL));
	ASSERT_EQ(0, copy_file(FIXTURES "/prog-nopie", MOUNTED "/prog"));
	ASSERT_TRUE(child_start(&self->child, MOUNTED "/prog"));
	ASSERT_TRUE(wait_all_huge(self->child.pid, MOUNTED "/prog"));
	ASSERT_EQ(0, module_unload());
	EXPECT_EQ(0, text_of(self->child.pid, NULL).huge);
	ASSERT_TRUE(child_quit(&self->child));
	EXPECT_EQ(0, umount(MOUNTED));
	EXPECT_EQ(0, detach_disk(device));
	ASSERT_EQ(0, module_load(""));
	unlink(DISK);
}

/*
 * Text of both layers, and a writer through overlayfs: on 6.1 fsnotify sees
 * nothing of his open of the upper file.
 */
TEST_F_TIMEOUT(program, on_overlayfs, 900)
{
	const char *library = FOLDER "/merged/libtext.so";
	struct stat st;
	unsigned char *bytes;
	int fd;

	if (!takes_overlay(FOLDER))
		SKIP(return, "an overlayfs cannot be the upper layer of another");
	ASSERT_EQ(0, system("modprobe overlay"));
	mkdir(FOLDER "/upper", 0755);
	mkdir(FOLDER "/work", 0755);
	mkdir(FOLDER "/merged", 0755);
	ASSERT_EQ(0, mount("overlay", FOLDER "/merged", "overlay", 0,
			   "lowerdir=" FIXTURES ",upperdir=" FOLDER "/upper,workdir="
			   FOLDER "/work"));
	/* Aligned, too: its program headers are read through overlayfs. */
	ASSERT_TRUE(child_start(&self->child, FOLDER "/merged/prog-pie"));
	EXPECT_TRUE(wait_all_huge(self->child.pid, "prog-pie"));
	EXPECT_STREQ(expected("prog-pie", "sum"), child_ask(&self->child, "sum"));

	/* Copied up while nobody uses it, and then written to while in use. */
	fd = open(library, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, fstat(fd, &st));
	bytes = malloc(st.st_size);
	read_whole(library, bytes, st.st_size);
	ASSERT_EQ(1, pwrite(fd, bytes, 1, 0));
	close(fd);
	child_ask(&self->child, "dlopen " FOLDER "/merged/libtext.so");
	EXPECT_TRUE(wait_all_huge(self->child.pid, "libtext.so"));
	EXPECT_STREQ(expected("libtext.so", "sum"), child_ask(&self->child, "sumlib"));
	fd = open(library, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, fd);
	if (writers_of(FOLDER) == WRITERS_DROP) {
		EXPECT_EQ(0, text_of(self->child.pid, "libtext.so").huge);
	}
	memset(bytes + 5 * REGION / 2, 0x90, 5000);
	EXPECT_EQ(5000, pwrite(fd, bytes + 5 * REGION / 2, 5000, 5 * REGION / 2));
	close(fd);
	EXPECT_TRUE(file_is(library, bytes, st.st_size));
	EXPECT_TRUE(file_is(FOLDER "/upper/libtext.so", bytes, st.st_size));
	drop_caches();
	EXPECT_TRUE(file_is(library, bytes, st.st_size));
	EXPECT_STRNE(expected("libtext.so", "sum"), child_ask(&self->child, "sumlib"));
	EXPECT_EQ(0, counter("refused_opens"));

	EXPECT_TRUE(child_quit(&self->child));
	EXPECT_EQ(0, unmount_within(FOLDER "/merged", 2000));
	free(bytes);
}

/*
 * File systems that nobody has proven are left alone; this one is the same
 * driver under its oldest name.
 */
TEST_F_TIMEOUT(program, on_a_file_system_not_known, 900)
{
	char device[64];

	if (kernel_collapses_text())
		SKIP(return, "this kernel says by itself which file systems can");
	ASSERT_EQ(0, make_disk("ext2"));
	ASSERT_TRUE(attach_disk(device, sizeof(device)));
	ASSERT_EQ(0, mount(device, MOUNTED, "ext2", 0, NULL));
	ASSERT_EQ(0, copy_file(FIXTURES "/prog-nopie", MOUNTED "/prog"));
	ASSERT_TRUE(child_start(&self->child, MOUNTED "/prog"));
	sleep_ms(1000);
	EXPECT_EQ(0, text_of(self->child.pid, NULL).huge);
	EXPECT_LE(1, counter("filesystem"));
	ASSERT_TRUE(child_quit(&self->child));
	EXPECT_EQ(0, unmount_within(MOUNTED, 2000));
	EXPECT_EQ(0, detach_disk(device));
	unlink(DISK);
}

/* tmpfs knows large folios on every kernel, and nobody needs to be guarded. */
TEST_F_TIMEOUT(program, on_tmpfs, 900)
{
	mkdir(MOUNTED, 0755);
	ASSERT_EQ(0, mount("tmpfs", MOUNTED, "tmpfs", 0, "size=64M"));
	ASSERT_EQ(0, copy_file(FIXTURES "/prog-pie", MOUNTED "/prog"));
	ASSERT_TRUE(child_start(&self->child, MOUNTED "/prog"));
	EXPECT_TRUE(wait_all_huge(self->child.pid, MOUNTED "/prog"));
	EXPECT_STREQ(expected("prog-pie", "sum"), child_ask(&self->child, "sum"));
	EXPECT_TRUE(child_quit(&self->child));
	EXPECT_EQ(0, unmount_within(MOUNTED, 2000));
}

TEST_HARNESS_MAIN
