// SPDX-License-Identifier: GPL-2.0
/*
 * Writers, evictors and dozens of processes with the same text.
 *
 * Files are changed in every way there is while processes have them mapped as
 * text, hugetext collapses them, and others evict what it made. After every
 * action the file holds what its reference holds, see reference.h, and nobody
 * ever sees anything else in a mapping. Text that is really executed is of
 * files that are replaced by rename alone, as a package manager does.
 *
 * From the environment, which the kernel command line adds to:
 *   HUGETEXT_TEST_FOLDER	where the files lie: /tests/work
 *   HUGETEXT_WRITERS_SECONDS	how long: 60
 *   HUGETEXT_WRITERS_SEED	of the actions, to repeat them
 *   HUGETEXT_WRITERS_TYPE	the file system made on a disk: ext4
 *   HUGETEXT_WRITERS_DISK	a disk of the VM with such a file system, else a loop device
 *
 * On a virtio port named org.hugetext.record it is told which file is about to
 * change, and what a file holds that was synced, for crash.c.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "kselftest_harness.h"

#include "actions.h"
#include "guest.h"
#include "reference.h"

#define NR_FILES	8
#define NR_THROUGH	2	/* of them also have a name in an overlayfs */
#define NR_WRITERS	3
#define NR_READERS	24
#define NR_EXECUTORS	3
#define MAX_PROCESSES	40

#define RECORD_PORT	"org.hugetext.record"

struct world {
	bool stop;
	bool wrong;
	char folder[64];
	char donor_path[96];
	char program[96];
	char library[96];
	uint64_t seed;
	int record;		/* descriptor, or -1 */
	/* What was done. */
	long rounds;
	long bytes;
	long refused;		/* opens that fsnotify does not see, ETXTBSY */
	long not_here;		/* actions that the file system cannot */
	long met_huge;		/* regions, just before an action */
	long pages;		/* looked at in mappings */
	long passed_over;	/* the reference changed too often meanwhile */
	long programs;
	long loads;
	long collapsed;
	long dropped;
	long small;		/* regions left small because of their file system */
	long done[MAX_ACTIONS];
	struct contents donor;
	struct reference file[NR_FILES];
};

static const char * const programs[] = { "prog-nopie", "prog-lld" };
static const char * const libraries[] = { "libtext.so", "libtext-lld.so" };

static bool stopped(struct world *world)
{
	return __atomic_load_n(&world->stop, __ATOMIC_RELAXED);
}

static void add(long *count, long n)
{
	__atomic_add_fetch(count, n, __ATOMIC_RELAXED);
}

/* The first who sees something wrong says so; all stop, so that it can be looked at. */
static __attribute__((format(printf, 2, 3), noreturn)) void wrong(struct world *world,
								  const char *format, ...)
{
	va_list args;

	if (!__atomic_exchange_n(&world->wrong, true, __ATOMIC_SEQ_CST)) {
		char text[1000];

		va_start(args, format);
		vsnprintf(text, sizeof(text), format, args);
		va_end(args);
		fprintf(stderr, "# WRONG: %s\n", text);
	}
	__atomic_store_n(&world->stop, true, __ATOMIC_SEQ_CST);
	_exit(1);
}

/* The same with what was done to a file lately. */
static __attribute__((noreturn)) void wrong_file(struct world *world, struct reference *file,
						 const char *who, const char *what)
{
	char text[HISTORY * 170] = "";
	/* The last one may be under way. */
	unsigned int i = file->actions >= HISTORY ? file->actions - HISTORY + 1 : 0;

	for (; i <= file->actions; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "#   %s\n",
			 file->history[i % HISTORY]);
	if (!__atomic_load_n(&world->wrong, __ATOMIC_SEQ_CST))
		fprintf(stderr, "# done to %s, generation %u, sequence %u:\n%s", file->path,
			file->generation, file->sequence, text);
	wrong(world, "%s: %s: %s", who, file->path, what);
}

/* ---- Looking at mappings ---- */

static bool look(struct world *world, const struct view *view, size_t page, size_t count,
		 const char *who)
{
	char why[200];

	for (; count && page < MOST / PAGE && !stopped(world); page++, count--) {
		switch (view_look(view, page, why, sizeof(why))) {
		case SIGHT_RIGHT:
			add(&world->pages, 1);
			break;
		case SIGHT_LATER:
			add(&world->passed_over, 1);
			break;
		case SIGHT_LOST:
			return false;
		case SIGHT_WRONG:
			wrong_file(world, (struct reference *)view->file, who, why);
		}
	}
	return true;
}

/* What a process may do to its mapping, and that cuts up or throws out what is huge in it. */
static void disturb(const struct view *view, uint64_t *random)
{
	size_t at = REGION + 17 * PAGE;

	switch (random_below(random, 16)) {
	case 0:
	case 1:
		madvise(view->start, MOST, MADV_PAGEOUT);
		break;
	case 2:
		madvise(view->start, at, MADV_DONTNEED);
		break;
	case 3:
		mlock(view->start, at);
		break;
	case 4:
		munlock(view->start, MOST);
		break;
	case 5:
		mprotect(view->start + at, REGION / 2, PROT_READ);
		mprotect(view->start + at, REGION / 2, PROT_READ | PROT_EXEC);
		break;
	}
}

/* One more process with this text, that looks at it, now here, now there. */
static void read_files(struct world *world, int number)
{
	uint64_t random = random_start(world->seed, 1000 + number);

	view_prepare();
	while (!stopped(world)) {
		struct reference *file = &world->file[random_below(&random, NR_FILES)];
		bool through = file->through[0] && !random_below(&random, 3);
		struct view view;

		if (!view_open(&view, file, through)) {
			if (stopped(world))
				break;
			wrong_file(world, file, "reader", "cannot be mapped");
		}
		for (int i = random_below(&random, 12); i >= 0; i--) {
			if (!look(world, &view, random_below(&random, MOST / PAGE),
				  1 + random_below(&random, 300), "reader"))
				break;
			disturb(&view, &random);
			sleep_ms(50 + random_below(&random, 800));
		}
		view_close(&view);
	}
}

/* ---- Changing files ---- */

static __attribute__((format(printf, 2, 3))) void record(struct world *world, const char *format,
							 ...)
{
	char line[200];
	va_list args;
	int length;

	if (world->record < 0)
		return;
	va_start(args, format);
	length = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	/* The host has it when this returns. */
	if (write(world->record, line, length) != length)
		wrong(world, "record: %m");
}

static const char *name_of(const struct world *world, const struct reference *file)
{
	return file->path + strlen(world->folder) + 1;
}

static void sync_path(struct world *world, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fsync(fd))
		wrong(world, "fsync %s: %m", path);
	close(fd);
}

static void record_durable(struct world *world, struct reference *file)
{
	if (world->record < 0)
		return;
	sync_path(world, file->path);
	sync_path(world, world->folder);
	record(world, "durable %s %zu %016lx\n", name_of(world, file), file->now.size,
	       (unsigned long)fnv(file->now.bytes, file->now.size));
}

/* What read(2) finds, by any of the names. */
static void check_file(struct world *world, struct reference *file, bool through, int flags)
{
	static unsigned char bytes[MOST + REGION] __attribute__((aligned(4096)));
	int fd = open(through ? file->through : file->path, O_RDONLY | O_CLOEXEC | flags);
	const char *difference;
	size_t used = 0;
	ssize_t n;

	/* tmpfs has nothing to be read directly. */
	if (fd < 0 && flags & O_DIRECT && errno == EINVAL)
		return;
	if (fd < 0)
		wrong_file(world, file, "open to check", strerror(errno));
	while ((n = read(fd, bytes + used, sizeof(bytes) - used)) > 0)
		used += n;
	close(fd);
	difference = n < 0 ? strerror(errno) : reference_compare(file, bytes, used);
	if (difference)
		wrong_file(world, file, flags & O_DIRECT ? "direct read" : "read", difference);
}

/* Let the file's text become huge, which is what a writer should meet. */
static void wait_for_huge(struct world *world, struct view *view, uint64_t *random)
{
	unsigned int whole = view->file->now.size / REGION, huge = 0;
	/* Sometimes in the middle of it; where text stays small there is nothing to wait for. */
	int tries = world->met_huge || world->rounds < 30 ? random_below(random, 24) : 1;

	look(world, view, 0, random_below(random, 2) ? MOST / PAGE : 1, "writer before");
	for (int i = 0; i < tries && !stopped(world); i++) {
		huge = view_huge_regions(view);
		if (huge >= whole)
			break;
		sleep_ms(25);
	}
	add(&world->met_huge, huge);
}

static void change_file(struct world *world, struct reference *file)
{
	struct turn turn = {
		.file = file,
		.donor = &world->donor,
		.donor_path = world->donor_path,
		.random = random_start(world->seed,
				       (file - world->file + 1) * 1000000 + file->actions),
	};
	uint64_t random = random_number(&turn.random);
	enum outcome outcome;
	struct view view = { 0 };

	if (random_below(&random, 4) && view_open(&view, file, false))
		wait_for_huge(world, &view, &random);
	record(world, "begins %s\n", name_of(world, file));
	outcome = act(&turn);
	if (outcome == OUTCOME_BROKEN)
		wrong_file(world, file, "writer", turn.note);
	add(&world->done[turn.action], outcome == OUTCOME_DONE);
	add(&world->refused, outcome == OUTCOME_REFUSED);
	add(&world->not_here, outcome == OUTCOME_NOT_HERE);
	add(&world->bytes, turn.written);
	check_file(world, file, file->through[0] && random_below(&random, 2), 0);
	if (view.reserved)
		look(world, &view, 0, MOST / PAGE, "writer after");
	view_close(&view);
	record_durable(world, file);
	if (!random_below(&random, 10)) {
		sync_path(world, file->path);
		check_file(world, file, false, O_DIRECT);
	}
	add(&world->rounds, 1);
}

static void write_files(struct world *world, int number)
{
	uint64_t random = random_start(world->seed, 2000 + number);

	view_prepare();
	while (!stopped(world)) {
		int file = number + NR_WRITERS * random_below(&random, NR_FILES / NR_WRITERS + 1);

		if (file < NR_FILES)
			change_file(world, &world->file[file]);
	}
}

/* ---- Executing text ---- */

/* Which of the fixtures gives this answer, -1 for none. */
static int which(const char * const *names, const char *kind, const char *answer)
{
	for (int i = 0; i < 2; i++)
		if (answer && !strcmp(expected(names[i], kind), answer))
			return i;
	return -1;
}

/* Both ways to ask for text must say that it is the same fixture's, the whole time. */
static void ask(struct world *world, struct child *child, const char *command,
		const char * const *names, const char *kind, int *is)
{
	int now = which(names, kind, child_ask(child, command));

	if (now < 0 || (*is >= 0 && now != *is))
		wrong(world, "pid %d says to %s %s, fixture %d before", child->pid, command,
		      child->answer, *is);
	*is = now;
}

static void execute(struct world *world, int number)
{
	uint64_t random = random_start(world->seed, 3000 + number);
	char command[128];

	snprintf(command, sizeof(command), "dlopen %s", world->library);
	while (!stopped(world)) {
		int program = -1, library = -1;
		struct child child;

		if (!child_start(&child, world->program))
			wrong(world, "%s does not start", world->program);
		if (strcmp(command, child_ask(&child, command) ?: "died"))
			wrong(world, "%s: %s", command, child.answer);
		for (int i = random_below(&random, 3); i >= 0 && !stopped(world); i--) {
			ask(world, &child, "call", programs, "call", &program);
			ask(world, &child, "calllib", libraries, "call", &library);
			sleep_ms(random_below(&random, 1500));
		}
		if (!random_below(&random, 6)) {
			ask(world, &child, "sum", programs, "sum", &program);
			ask(world, &child, "sumlib", libraries, "sum", &library);
		}
		add(&world->programs, 1);
		if (random_below(&random, 2))
			child_kill(&child);
		else if (!child_quit(&child))
			wrong(world, "%s does not end well", world->program);
	}
}

/* A new version under an old name, its pages dirty when it is first executed. */
static void replace_fixture(struct world *world, const char *path, const char *fixture)
{
	char from[128], to[128];
	struct stat st;
	int in, out;

	snprintf(from, sizeof(from), FIXTURES "/%s", fixture);
	snprintf(to, sizeof(to), "%s.new", path);
	in = open(from, O_RDONLY | O_CLOEXEC);
	out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	if (in < 0 || out < 0 || fstat(in, &st))
		wrong(world, "%s: %m", to);
	while (st.st_size) {
		void *bytes = malloc(st.st_size < REGION ? st.st_size : REGION);
		ssize_t n = read(in, bytes, st.st_size < REGION ? st.st_size : REGION);

		if (n <= 0 || write(out, bytes, n) != n)
			wrong(world, "%s: %m", to);
		st.st_size -= n;
		free(bytes);
	}
	close(in);
	close(out);
	if (rename(to, path))
		wrong(world, "%s: %m", path);
}

static void replace_fixtures(struct world *world, int number)
{
	uint64_t random = random_start(world->seed, 4000 + number);

	while (!stopped(world)) {
		if (random_below(&random, 2))
			replace_fixture(world, world->program, programs[random_below(&random, 2)]);
		else
			replace_fixture(world, world->library, libraries[random_below(&random, 2)]);
		sleep_ms(500 + random_below(&random, 3000));
	}
}

/* ---- Evicting, and hugetext itself ---- */

static void drop_from_cache(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	close(fd);
}

static void evict(struct world *world, int number)
{
	uint64_t random = random_start(world->seed, 5000 + number);

	while (!stopped(world)) {
		switch (random_below(&random, 8)) {
		case 0:
			sync();
			/* fall through */
		case 1:
			write_text("/proc/sys/vm/drop_caches", "3");
			break;
		case 2:
			write_text("/proc/sys/vm/drop_caches", "1");
			break;
		case 3:
			write_text("/proc/sys/vm/compact_memory", "1");
			break;
		case 4:
		case 5:
			write_text("/sys/fs/cgroup/test/memory.reclaim", "24M");
			break;
		default:
			drop_from_cache(world->file[random_below(&random, NR_FILES)].path);
		}
		sleep_ms(50 + random_below(&random, 700));
	}
}

/* Counters start anew with each load. */
static void keep_counters(struct world *world)
{
	add(&world->collapsed, counter("collapsed_regions"));
	add(&world->dropped, counter("dropped_regions"));
	add(&world->small, counter("filesystem"));
}

static void toggle(struct world *world, int number)
{
	uint64_t random = random_start(world->seed, 6000 + number);

	while (!stopped(world)) {
		for (int i = 20 + random_below(&random, 60); i && !stopped(world); i--)
			sleep_ms(100);
		if (random_below(&random, 2)) {
			write_text(ENABLED, "0");
			sleep_ms(random_below(&random, 500));
			write_text(ENABLED, random_below(&random, 2) ? "1" : "3");
			continue;
		}
		keep_counters(world);
		if (module_unload())
			wrong(world, "the module does not unload");
		sleep_ms(random_below(&random, 500));
		if (module_load(random_below(&random, 2) ? "hugetext=1" : "hugetext=1" PADDING))
			wrong(world, "the module does not load");
		add(&world->loads, 1);
	}
}

/* ---- The test ---- */

struct crew {
	struct world *world;
	pid_t process[MAX_PROCESSES];	/* 0 when it has ended */
	const char *job[MAX_PROCESSES];
	int count;
};

/* With a file system of our own. */
struct disk {
	char device[64];
	char image[96];		/* of the loop device, "" if it is none */
	const char *type;
};

FIXTURE(writers) {
	struct world *world;
	struct crew crew;
	struct disk disk;
	bool overlay;
};

FIXTURE_VARIANT(writers) {
	bool disk;
};

/* First the one that ends with a remount. */
FIXTURE_VARIANT_ADD(writers, on_a_disk) {
	.disk = true,
};

FIXTURE_VARIANT_ADD(writers, in_a_folder) {
};

static const char *setting(const char *name, const char *otherwise)
{
	const char *value = getenv(name);

	return value && *value ? value : otherwise;
}

/* The exit status of a command made of words. */
static __attribute__((format(printf, 1, 2))) int run(const char *format, ...)
{
	char command[400];
	va_list args;

	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	return system(command);
}

static const struct {
	const char *type;
	const char *make;
	const char *check;
} disk_types[] = {
	{ "ext4", "mke2fs -q -t ext4 -F -b 4096", "e2fsck -fn" },
	{ "xfs", "mkfs.xfs -q -f", "xfs_repair -n" },
	{ "btrfs", "mkfs.btrfs -q -f", "btrfs check --readonly" },
};

/* The exit status of making or checking the disk's file system. */
static int with_disk(const struct disk *disk, bool make)
{
	for (size_t i = 0; i < ARRAY_SIZE(disk_types); i++)
		if (!strcmp(disk_types[i].type, disk->type))
			return run("%s %s > /tmp/disk.log 2>&1 || { cat /tmp/disk.log; exit 1; }",
				   make ? disk_types[i].make : disk_types[i].check,
				   *disk->image ? disk->image : disk->device);
	return -1;
}

/*
 * The loop device goes with its file system: its descriptor's close and the unmount free it.
 * What is freed there is freed below, too, so that the image may be bigger than the space left.
 */
static int mount_disk(struct disk *disk, const char *where)
{
	int image, loop = -1, err;

	if (*disk->image) {
		image = open(disk->image, O_RDWR | O_CLOEXEC);
		loop = loop_attach(image, LO_FLAGS_AUTOCLEAR, disk->device, sizeof(disk->device));
		close(image);
	}
	err = mount(disk->device, where, disk->type, 0, "discard") ? errno : 0;
	close(loop);
	return err;
}

static int open_record_port(void)
{
	struct dirent *entry;
	DIR *dir = opendir("/sys/class/virtio-ports");
	int fd = -1;

	while (dir && (entry = readdir(dir))) {
		char path[300];

		snprintf(path, sizeof(path), "/sys/class/virtio-ports/%s/name", entry->d_name);
		if (strcmp(read_text(path), RECORD_PORT))
			continue;
		snprintf(path, sizeof(path), "/dev/%s", entry->d_name);
		fd = open(path, O_WRONLY | O_CLOEXEC);
	}
	if (dir)
		closedir(dir);
	return fd;
}

/* Bytes of real text, some of them, at @from of the library. */
static bool load(struct contents *contents, size_t from, size_t size)
{
	int fd = open(FIXTURES "/libtext.so", O_RDONLY | O_CLOEXEC);
	bool whole = pread(fd, contents->bytes, size, from) == (ssize_t)size;

	close(fd);
	contents->size = size;
	return whole;
}

static bool store(const char *path, const struct contents *contents)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	bool whole = write(fd, contents->bytes, contents->size) == (ssize_t)contents->size;

	return !close(fd) && whole;
}

static bool make_file(struct world *world, int number)
{
	struct reference *file = &world->file[number];
	bool through = number >= NR_FILES - NR_THROUGH;

	snprintf(file->path, sizeof(file->path), "%s/%stext%d", world->folder,
		 through ? "upper/" : "", number);
	if (through)
		snprintf(file->through, sizeof(file->through), "%s/merged/text%d", world->folder,
			 number);
	if (!load(&file->now, number * 4096, 2 * REGION + number * 100000 + 123))
		return false;
	memcpy(&file->next, &file->now, sizeof(file->next));
	return store(file->path, &file->now);
}

static bool mount_overlay(struct world *world)
{
	char options[300], merged[96];

	snprintf(options, sizeof(options), "lowerdir=%1$s/lower,upperdir=%1$s/upper,workdir=%1$s/work",
		 world->folder);
	snprintf(merged, sizeof(merged), "%s/merged", world->folder);
	return !run("modprobe overlay") && !mount("overlay", merged, "overlay", 0, options);
}

/* An overlayfs cannot lie on every file system; without it those files have one name. */
static bool make_files(struct world *world)
{
	static const char * const folders[] = { "", "/lower", "/upper", "/work", "/merged" };
	char path[96];

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		snprintf(path, sizeof(path), "%s%s", world->folder, folders[i]);
		if (mkdir(path, 0755) && errno != EEXIST)
			return false;
	}
	for (int i = 0; i < NR_FILES; i++)
		if (!make_file(world, i))
			return false;
	snprintf(world->donor_path, sizeof(world->donor_path), "%s/donor", world->folder);
	snprintf(world->program, sizeof(world->program), "%s/program", world->folder);
	snprintf(world->library, sizeof(world->library), "%s/library.so", world->folder);
	replace_fixture(world, world->program, programs[0]);
	replace_fixture(world, world->library, libraries[0]);
	return load(&world->donor, 54321, MOST - 777) && store(world->donor_path, &world->donor);
}

static bool make_disk(struct disk *disk, const char *folder)
{
	const char *device = setting("HUGETEXT_WRITERS_DISK", "");

	disk->type = setting("HUGETEXT_WRITERS_TYPE", "ext4");
	snprintf(disk->device, sizeof(disk->device), "%s", device);
	if (run("modprobe %s", disk->type))
		return false;
	if (*device)
		return true;
	snprintf(disk->image, sizeof(disk->image), "%s/writers.img", folder);
	return !run("rm -f %1$s && truncate -s 500M %1$s", disk->image) && !with_disk(disk, true);
}

FIXTURE_SETUP(writers)
{
	const char *folder = setting("HUGETEXT_TEST_FOLDER", "/tests/work");
	const char *seed = setting("HUGETEXT_WRITERS_SEED", "");
	struct world *world;

	world = mmap(NULL, sizeof(*world), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, world);
	self->world = world;
	self->crew.world = world;
	world->record = open_record_port();
	world->seed = strtoul(seed, NULL, 0);
	if (!*seed)
		ASSERT_EQ(4, getrandom(&world->seed, 4, 0));
	mkdir(folder, 0755);
	snprintf(world->folder, sizeof(world->folder), "%s/%s", folder,
		 variant->disk ? "mounted" : "writers");
	mkdir(world->folder, 0755);
	ASSERT_EQ(0, system("modprobe loop"));
	if (variant->disk) {
		ASSERT_TRUE(make_disk(&self->disk, folder));
		ASSERT_EQ(0, mount_disk(&self->disk, world->folder));
	}
	ASSERT_TRUE(make_files(world));
	self->overlay = mount_overlay(world);
	for (int i = 0; i < NR_FILES && !self->overlay; i++)
		world->file[i].through[0] = '\0';
	for (int i = 0; i < NR_FILES; i++)
		world->file[i].shows_zeros = shows_zeros(world->folder);
	ASSERT_EQ(0, module_load("hugetext=1"));
	fprintf(stderr, "# seed %lu, files in %s%s\n", (unsigned long)world->seed, world->folder,
		self->overlay ? "" : ", no overlayfs there");
}

FIXTURE_TEARDOWN(writers)
{
	for (int i = 0; i < self->crew.count; i++)
		if (self->crew.process[i])
			kill(self->crew.process[i], SIGKILL);
	while (wait(NULL) > 0)
		;
	module_unload();
	run("umount %s/merged 2>/dev/null", self->world->folder);
	if (variant->disk)
		umount(self->world->folder);
	if (*self->disk.image)
		unlink(self->disk.image);
	if (!variant->disk)
		run("rm -rf %s", self->world->folder);
	munmap(self->world, sizeof(*self->world));
}

static void start(struct crew *crew, const char *job, int count,
		  void (*work)(struct world *world, int number))
{
	pid_t parent = getpid();

	for (int i = 0; i < count; i++) {
		pid_t pid = fork();

		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (getppid() == parent)
				work(crew->world, i);
			_exit(0);
		}
		crew->job[crew->count] = job;
		crew->process[crew->count++] = pid;
	}
}

/* Forget the processes that ended; false if one of them did not end well. */
static bool reap(struct crew *crew)
{
	bool well = true;
	int status;

	for (int i = 0; i < crew->count; i++) {
		if (!crew->process[i] || waitpid(crew->process[i], &status, WNOHANG) <= 0)
			continue;
		if (status) {
			fprintf(stderr, "# a %s ended with status %#x\n", crew->job[i], status);
			well = false;
		}
		crew->process[i] = 0;
	}
	return well;
}

static int left(struct crew *crew)
{
	int count = 0;

	for (int i = 0; i < crew->count; i++)
		count += crew->process[i] != 0;
	return count;
}

static bool all_ended(struct crew *crew)
{
	time_t end = time(NULL) + PATIENCE;
	bool well = true;

	while (left(crew) && time(NULL) < end) {
		well &= reap(crew);
		sleep_ms(20);
	}
	for (int i = 0; i < crew->count; i++)
		if (crew->process[i])
			fprintf(stderr, "# a %s, pid %d, hangs\n", crew->job[i], crew->process[i]);
	/* The kernel log shows where. */
	if (left(crew))
		write_text("/proc/sysrq-trigger", "w");
	return well && !left(crew);
}

static void check_all(struct world *world)
{
	int program = -1, library = -1;
	struct child child;
	char command[128];

	for (int i = 0; i < NR_FILES; i++) {
		check_file(world, &world->file[i], false, 0);
		if (world->file[i].through[0])
			check_file(world, &world->file[i], true, 0);
	}
	snprintf(command, sizeof(command), "dlopen %s", world->library);
	if (!child_start(&child, world->program) || !child_ask(&child, command))
		wrong(world, "%s does not start", world->program);
	ask(world, &child, "sum", programs, "sum", &program);
	ask(world, &child, "sumlib", libraries, "sum", &library);
	child_kill(&child);
}

static void print_result(const struct world *world)
{
	fprintf(stderr, "# %ld rounds, %ld bytes written, %ld regions collapsed\n", world->rounds,
		world->bytes, world->collapsed);
	fprintf(stderr, "# writers met %ld huge regions; %ld dropped, %ld opens refused, %ld actions not possible here\n",
		world->met_huge, world->dropped, world->refused, world->not_here);
	fprintf(stderr, "# %ld pages looked at, %ld passed over; %ld programs ran; %ld loads\n",
		world->pages, world->passed_over, world->programs, world->loads + 1);
	fprintf(stderr, "#");
	for (unsigned int i = 0; action_name(i); i++)
		fprintf(stderr, " %s %ld", action_name(i), world->done[i]);
	fprintf(stderr, "\n");
}

/* init.c knows how long this may take. */
TEST_F_TIMEOUT(writers, bytes_stay_right, 1000000)
{
	struct world *world = self->world;
	long seconds = strtol(setting("HUGETEXT_WRITERS_SECONDS", "60"), NULL, 0);
	time_t end = time(NULL) + (seconds + 1) / 2;
	char merged[96];
	bool well;

	start(&self->crew, "writer", NR_WRITERS, write_files);
	start(&self->crew, "reader", NR_READERS, read_files);
	start(&self->crew, "executor", NR_EXECUTORS, execute);
	start(&self->crew, "replacer", 1, replace_fixtures);
	start(&self->crew, "evictor", 1, evict);
	start(&self->crew, "toggler", 1, toggle);
	while (time(NULL) < end && !stopped(world) && reap(&self->crew))
		sleep_ms(100);
	__atomic_store_n(&world->stop, true, __ATOMIC_SEQ_CST);
	well = all_ended(&self->crew);
	/* Whoever hangs does so for good, and what else there is to look at may hang, too. */
	if (left(&self->crew)) {
		print_result(world);
		_exit(1);
	}
	keep_counters(world);
	print_result(world);
	ASSERT_FALSE(world->wrong);
	ASSERT_TRUE(well);
	EXPECT_LT(0, world->rounds);
	EXPECT_LT(0, world->programs);
	if (!world->collapsed) {
		fprintf(stderr, "# nothing collapsed: %ld regions refused for their file system\n",
			world->small);
		EXPECT_TRUE(world->small || !takes_overlay(world->folder));
	}

	/* With pages that are huge, without any, without the module, from the disk. */
	check_all(world);
	sync();
	for (int i = 0; i < NR_FILES; i++)
		check_file(world, &world->file[i], false, O_DIRECT);
	write_text("/proc/sys/vm/drop_caches", "3");
	check_all(world);
	EXPECT_EQ(0, module_unload());
	check_all(world);
	if (!variant->disk)
		return;

	snprintf(merged, sizeof(merged), "%s/merged", world->folder);
	if (self->overlay)
		EXPECT_EQ(0, unmount_within(merged, PATIENCE * 1000));
	ASSERT_EQ(0, unmount_within(world->folder, PATIENCE * 1000));
	EXPECT_EQ(0, with_disk(&self->disk, false));
	ASSERT_EQ(0, mount_disk(&self->disk, world->folder));
	if (self->overlay)
		ASSERT_TRUE(mount_overlay(world));
	check_all(world);
}

TEST_HARNESS_MAIN
