// SPDX-License-Identifier: GPL-2.0
/*
 * After a crash in the middle of writers.c: the file system recovers, and each
 * file that was synced and not touched after that holds what was recorded.
 *
 * HUGETEXT_WRITERS_DISK is the disk that the writers had, HUGETEXT_RECORD_DISK
 * one that holds the lines which they wrote to their port.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "kselftest_harness.h"

#include "guest.h"

#define MOUNTED		"/tests/crashed"
#define MAX_FILES	64

struct durable {
	char name[80];
	bool is;		/* not begun to be changed since */
	size_t size;
	unsigned long sum;
};

static struct durable *find(struct durable *files, const char *name)
{
	for (int i = 0; i < MAX_FILES; i++) {
		if (!strcmp(files[i].name, name))
			return &files[i];
		if (!*files[i].name) {
			snprintf(files[i].name, sizeof(files[i].name), "%s", name);
			return &files[i];
		}
	}
	fprintf(stderr, "# more than %d files\n", MAX_FILES);
	exit(1);
}

/* Read the record; a line without an end was cut off, and what it tells did not begin. */
static void read_record(const char *path, struct durable *files)
{
	FILE *record = fopen(path, "re");
	struct durable *file;
	char line[256], name[80];
	unsigned long sum;
	size_t size;

	while (record && fgets(line, sizeof(line), record) && strchr(line, '\n')) {
		if (sscanf(line, "begins %79s", name) == 1) {
			find(files, name)->is = false;
		} else if (sscanf(line, "durable %79s %zu %lx", name, &size, &sum) == 3) {
			file = find(files, name);
			file->is = true;
			file->size = size;
			file->sum = sum;
		}
	}
	if (record)
		fclose(record);
}

static bool holds(const struct durable *file)
{
	char path[200];
	struct stat st;
	bool same;
	void *bytes;
	int fd;

	snprintf(path, sizeof(path), MOUNTED "/%.79s", file->name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st)) {
		fprintf(stderr, "# %s: %m\n", path);
		return false;
	}
	bytes = malloc(st.st_size + 1);
	same = (size_t)st.st_size == file->size &&
	       read(fd, bytes, st.st_size) == (ssize_t)st.st_size &&
	       fnv(bytes, st.st_size) == file->sum;
	if (!same)
		fprintf(stderr, "# %s, size %zu, should have size %zu and sum %016lx\n", path,
			(size_t)st.st_size, file->size, file->sum);
	free(bytes);
	close(fd);
	return same;
}

TEST(recovered)
{
	const char *disk = getenv("HUGETEXT_WRITERS_DISK"), *record = getenv("HUGETEXT_RECORD_DISK");
	struct durable files[MAX_FILES] = { 0 };
	int durable = 0, changing = 0;
	char command[128];

	ASSERT_NE(NULL, disk);
	ASSERT_NE(NULL, record);
	read_record(record, files);
	mkdir(MOUNTED, 0755);
	/* The first mount replays the journal. */
	ASSERT_EQ(0, mount(disk, MOUNTED, "ext4", 0, NULL));
	ASSERT_EQ(0, umount(MOUNTED));
	snprintf(command, sizeof(command), "e2fsck -f -n %s", disk);
	EXPECT_EQ(0, system(command));
	ASSERT_EQ(0, mount(disk, MOUNTED, "ext4", MS_RDONLY, NULL));
	for (int i = 0; i < MAX_FILES && *files[i].name; i++) {
		durable += files[i].is;
		changing += !files[i].is;
		if (files[i].is)
			EXPECT_TRUE(holds(&files[i]));
	}
	EXPECT_EQ(0, umount(MOUNTED));
	fprintf(stderr, "# %d files were durable, %d were being changed\n", durable, changing);
	EXPECT_LT(0, durable);
}

TEST_HARNESS_MAIN
