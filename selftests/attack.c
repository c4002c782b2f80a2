// SPDX-License-Identifier: GPL-2.0
/*
 * What somebody without rights may throw at the module: files with crafted ELF
 * headers, mapped and executed; files that shrink, or answer slowly; more
 * mappings than anybody needs. Everybody else must be served meanwhile.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#include "kselftest_harness.h"

#include "guest.h"

#define CORPUS	"/tests/corpus"
/* Whether the kernel's log tells of each program that crashes: here many do. */
#define CRASHES	"/proc/sys/debug/exception-trace"
#define FOLDER	"/tests/nobodys"
#define NOBODY	65534
#define WORKERS	3

struct shared {
	bool stop;
	bool ready;
	long done;
};

FIXTURE(attack) {
	struct shared *shared;
	struct child child;
	pid_t worker[WORKERS];
	long cpu;		/* of khugetextd, in clock ticks */
	struct timespec start;
};

static bool stopped(struct shared *shared)
{
	return __atomic_load_n(&shared->stop, __ATOMIC_RELAXED);
}

static void count(struct shared *shared, long n)
{
	__atomic_add_fetch(&shared->done, n, __ATOMIC_RELAXED);
}

static void become_nobody(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (setgid(NOBODY) || setuid(NOBODY) || chdir(FOLDER))
		_exit(100);
}

/* What khugetextd has used of a processor, in clock ticks. */
static long khugetextd_cpu(void)
{
	long user = 0, system = 0;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/stat", find_khugetextd());
	if (sscanf(read_text(path), "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %ld %ld",
		   &user, &system) != 2)
		return 0;
	return user + system;
}

static double seconds_since(const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec - start->tv_sec + (now.tv_nsec - start->tv_nsec) / 1e9;
}

static void start_workers(struct shared *shared, pid_t *worker,
			  void (*work)(struct shared *shared, int number))
{
	for (int i = 0; i < WORKERS; i++) {
		worker[i] = fork();
		if (!worker[i]) {
			become_nobody();
			work(shared, i);
			_exit(0);
		}
	}
}

FIXTURE_SETUP(attack)
{
	self->shared = mmap(NULL, sizeof(*self->shared), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->shared);
	ASSERT_EQ(0, system("rm -rf " FOLDER));
	ASSERT_EQ(0, mkdir(FOLDER, 0755));
	ASSERT_EQ(0, chown(FOLDER, NOBODY, NOBODY));
	ASSERT_EQ(0, write_text(CRASHES, "0"));
	ASSERT_EQ(0, module_load("hugetext=1" PADDING));
	self->cpu = khugetextd_cpu();
	clock_gettime(CLOCK_MONOTONIC, &self->start);
}

FIXTURE_TEARDOWN(attack)
{
	double seconds = seconds_since(&self->start);
	double cpu = (double)(khugetextd_cpu() - self->cpu) / sysconf(_SC_CLK_TCK);
	int status;

	__atomic_store_n(&self->shared->stop, true, __ATOMIC_RELAXED);
	fprintf(stderr, "# %ld attacks; khugetextd used %.2f s of %.1f s; %ld files kept in mind\n",
		self->shared->done, cpu, seconds, counter("served_files"));
	for (int i = 0; i < WORKERS; i++) {
		if (!self->worker[i])
			continue;
		EXPECT_EQ(self->worker[i], waitpid(self->worker[i], &status, 0));
		EXPECT_EQ(0, status);
	}
	child_kill(&self->child);
	EXPECT_EQ(0, module_unload());
	EXPECT_EQ(0, write_text(CRASHES, "1"));
	EXPECT_EQ(0, system("rm -rf " FOLDER));
}

/* While it goes on, an ordinary program of somebody else becomes huge, and is right. */
#define EXPECT_OTHERS_SERVED()							\
do {										\
	struct timespec begun;							\
										\
	clock_gettime(CLOCK_MONOTONIC, &begun);					\
	ASSERT_TRUE(child_start(&self->child, "prog-pie"));			\
	EXPECT_TRUE(wait_all_huge(self->child.pid, "prog-pie"));		\
	fprintf(stderr, "# another user's program was huge after %.2f s\n",	\
		seconds_since(&begun));						\
	EXPECT_STREQ(expected("prog-pie", "sum"), child_ask(&self->child, "sum"));	\
	EXPECT_TRUE(child_quit(&self->child));					\
} while (0)

static bool attacks_reach(struct shared *shared, long wanted)
{
	for (int i = 0; i < PATIENCE * 10; i++) {
		if (__atomic_load_n(&shared->done, __ATOMIC_RELAXED) >= wanted)
			return true;
		sleep_ms(100);
	}
	return false;
}

/* ---- Crafted headers ---- */

/* Map the file as loaders do and as they do not, then execute it. */
static void map_and_execute(const char *name)
{
	static const struct {
		size_t len;
		int prot;
		off_t offset;
	} ways[] = {
		{ 16 * REGION, PROT_READ, 0 }, { 16 * REGION, PROT_READ | PROT_EXEC, 0 },
		{ 2 * REGION, PROT_READ | PROT_EXEC, 4096 }, { REGION, PROT_EXEC, 3 * REGION },
		{ 1ul << 40, PROT_READ | PROT_EXEC, 0 }, { 1ul << 46, PROT_READ, 0 },
		{ 4096, PROT_READ | PROT_EXEC, 0 },
	};
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	pid_t pid;

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		void *mapped = mmap(NULL, ways[i].len, ways[i].prot, MAP_PRIVATE, fd,
				    ways[i].offset);

		if (mapped != MAP_FAILED)
			munmap(mapped, ways[i].len);
	}
	close(fd);
	pid = vfork();
	if (!pid) {
		execl(name, name, NULL);
		_exit(0);
	}
	/* Whatever becomes of it: an error, a signal, or even a program that runs. */
	waitpid(pid, NULL, 0);
}

static bool write_file(const char *name, const void *bytes, size_t size, off_t length)
{
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	bool good;

	good = fd >= 0 && write(fd, bytes, size) == (ssize_t)size && !ftruncate(fd, length);
	close(fd);
	return good;
}

static void replay(struct shared *shared, int number)
{
	DIR *dir = opendir(CORPUS);
	char name[300], bytes[8192];
	struct dirent *entry;
	long n = 0;

	while (dir && (entry = readdir(dir))) {
		ssize_t size;
		int fd;

		if (entry->d_name[0] == '.' || n++ % WORKERS != number)
			continue;
		snprintf(name, sizeof(name), CORPUS "/%s", entry->d_name);
		fd = open(name, O_RDONLY | O_CLOEXEC);
		size = read(fd, bytes, sizeof(bytes));
		close(fd);
		snprintf(name, sizeof(name), FOLDER "/crafted-%d", number);
		if (size <= 0 || !write_file(name, bytes, size, 32 * REGION))
			continue;
		map_and_execute(name);
		count(shared, 1);
	}
	closedir(dir);
}

/* What the fuzzers of core/layout found worth keeping, through the kernel's own doors. */
TEST_F_TIMEOUT(attack, corpus_of_the_fuzzers, 900)
{
	int status;

	start_workers(self->shared, self->worker, replay);
	EXPECT_OTHERS_SERVED();
	for (int i = 0; i < WORKERS; i++) {
		EXPECT_EQ(self->worker[i], waitpid(self->worker[i], &status, 0));
		EXPECT_EQ(0, status);
		self->worker[i] = 0;
	}
	EXPECT_LE(7, self->shared->done);
}

struct headers {
	Elf64_Ehdr elf;
	Elf64_Phdr program[65];
};

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return *state >> 24;
}

static uint64_t odd_number(uint64_t *state)
{
	static const uint64_t numbers[] = {
		0, 1, 0xfff, 0x1000, 0x1001, REGION - 1, REGION, REGION + 1, 8 * REGION,
		1ull << 31, 1ull << 32, 1ull << 46, 1ull << 47, 1ull << 62, 1ull << 63,
		-1ull, -0x1000ull, -REGION,
	};

	return numbers[next_random(state) % ARRAY_SIZE(numbers)];
}

static void craft(struct shared *shared, int number)
{
	uint64_t state = 20261130 + number;
	struct headers file;
	char name[64];

	snprintf(name, sizeof(name), FOLDER "/random-%d", number);
	while (!stopped(shared)) {
		memset(&file, 0, sizeof(file));
		memcpy(file.elf.e_ident, ELFMAG "\2\1\1", 7);
		file.elf.e_type = next_random(&state) % 4 ? ET_DYN : ET_EXEC;
		file.elf.e_machine = EM_X86_64;
		file.elf.e_version = 1;
		file.elf.e_ehsize = sizeof(Elf64_Ehdr);
		file.elf.e_phentsize = next_random(&state) % 8 ? sizeof(Elf64_Phdr) : 1;
		file.elf.e_phoff = next_random(&state) % 4 ? sizeof(Elf64_Ehdr) :
							     odd_number(&state);
		file.elf.e_phnum = next_random(&state) % 4 ? next_random(&state) % 8 :
				   next_random(&state) % 65536;
		for (size_t i = 0; i < ARRAY_SIZE(file.program); i++) {
			Elf64_Phdr *program = &file.program[i];

			program->p_type = next_random(&state) % 4 ? PT_LOAD : PT_INTERP;
			program->p_flags = next_random(&state) % 8;
			program->p_vaddr = i * 8 * REGION + odd_number(&state) % (4 * REGION);
			program->p_offset = program->p_vaddr;
			program->p_filesz = 4 * REGION;
			program->p_memsz = 4 * REGION;
			program->p_align = 0x1000;
			for (int j = 0; j < 2; j++)
				memcpy((char *)program + 8 * (next_random(&state) % 7),
				       &(uint64_t){ odd_number(&state) }, 8);
		}
		/* Text busy, while khugetextd lets go of the one before. */
		if (!write_file(name, &file, sizeof(file), 64 * REGION)) {
			sleep_ms(5);
			continue;
		}
		map_and_execute(name);
		count(shared, 1);
	}
}

TEST_F_TIMEOUT(attack, random_headers, 900)
{
	start_workers(self->shared, self->worker, craft);
	EXPECT_TRUE(attacks_reach(self->shared, 200));
	EXPECT_OTHERS_SERVED();
}

/* ---- Files and mappings ---- */

/* The file's length is another one at every look. */
static void truncate_meanwhile(struct shared *shared, int number)
{
	uint64_t state = number;
	int fd = open(FOLDER "/shrinking", O_RDONLY | O_CLOEXEC);
	void *mapped;

	while (!stopped(shared)) {
		if (!number) {
			if (truncate(FOLDER "/shrinking", next_random(&state) % (16 * REGION)))
				_exit(102);
			count(shared, 1);
			continue;
		}
		mapped = mmap(NULL, 16 * REGION, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		if (mapped == MAP_FAILED)
			_exit(103);
		sleep_ms(next_random(&state) % 60);
		munmap(mapped, 16 * REGION);
	}
}

TEST_F_TIMEOUT(attack, file_that_shrinks, 900)
{
	ASSERT_TRUE(write_file(FOLDER "/shrinking", "", 1, 16 * REGION));
	ASSERT_EQ(0, chown(FOLDER "/shrinking", NOBODY, NOBODY));
	start_workers(self->shared, self->worker, truncate_meanwhile);
	EXPECT_TRUE(attacks_reach(self->shared, 1000));
	EXPECT_OTHERS_SERVED();
}

/* As many text mappings as a process may have, each with something to collapse. */
static void map_thousands(struct shared *shared, int number)
{
	char name[64];
	int fd;

	snprintf(name, sizeof(name), FOLDER "/many-%d", number);
	if (!write_file(name, "", 1, 4 * REGION))
		_exit(104);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	for (int i = 0; !stopped(shared); i++) {
		/* Apart from each other, so that they stay as many. */
		void *mapped = mmap(NULL, 3 * REGION, PROT_READ | (i % 2 ? PROT_EXEC : 0),
				    MAP_PRIVATE, fd, 0);

		if (mapped == MAP_FAILED)
			sleep_ms(50);
		else
			count(shared, 1);
	}
}

TEST_F_TIMEOUT(attack, thousands_of_mappings, 900)
{
	start_workers(self->shared, self->worker, map_thousands);
	EXPECT_TRUE(attacks_reach(self->shared, 20000));
	EXPECT_OTHERS_SERVED();
}

/* ---- A file whose owner answers when he likes ---- */

#define SLOW_SIZE	(16 * REGION)

static void answer(int fd, uint64_t unique, int error, void *data, size_t size)
{
	struct fuse_out_header header = {
		.len = sizeof(header) + size, .error = error, .unique = unique,
	};
	struct iovec parts[] = { { &header, sizeof(header) }, { data, size } };

	if (writev(fd, parts, 2) < 0 && errno != ENOENT)
		fprintf(stderr, "# fuse: %m\n");
}

/* The root folder and one file in it; a read is never answered. */
static void serve(int fd, struct shared *shared)
{
	static char request[1 << 20];
	struct fuse_in_header *in = (struct fuse_in_header *)request;
	struct fuse_attr root = { .ino = 1, .mode = S_IFDIR | 0755, .nlink = 2 };
	struct fuse_attr file = { .ino = 2, .mode = S_IFREG | 0755, .nlink = 1,
				  .size = SLOW_SIZE, .blocks = SLOW_SIZE / 512 };

	while (read(fd, request, sizeof(request)) > 0) {
		struct fuse_attr attr = in->nodeid == 1 ? root : file;

		switch (in->opcode) {
		case FUSE_INIT: {
			struct fuse_init_in *asked = (struct fuse_init_in *)(in + 1);
			struct fuse_init_out init = {
				.major = FUSE_KERNEL_VERSION,
				.minor = FUSE_KERNEL_MINOR_VERSION,
				.max_readahead = asked->max_readahead, .max_write = 4096,
			};

			answer(fd, in->unique, 0, &init, sizeof(init));
			break;
		}
		case FUSE_LOOKUP: {
			struct fuse_entry_out entry = {
				.nodeid = 2, .entry_valid = 1000, .attr_valid = 1000, .attr = file,
			};

			answer(fd, in->unique, 0, &entry, sizeof(entry));
			break;
		}
		case FUSE_GETATTR: {
			struct fuse_attr_out out = { .attr_valid = 1000, .attr = attr };

			answer(fd, in->unique, 0, &out, sizeof(out));
			break;
		}
		case FUSE_OPEN: {
			struct fuse_open_in *asked = (struct fuse_open_in *)(in + 1);
			struct fuse_open_out out = { .fh = 1 };

			/* Who opens it so has it past the page cache. */
			if (asked->flags & O_NONBLOCK)
				out.open_flags = FOPEN_DIRECT_IO;

			answer(fd, in->unique, 0, &out, sizeof(out));
			break;
		}
		case FUSE_READ:
			count(shared, 1);
			break;
		case FUSE_FORGET:
		case FUSE_BATCH_FORGET:
		case FUSE_INTERRUPT:
			break;
		default:
			answer(fd, in->unique, -ENOSYS, NULL, 0);
		}
	}
}

struct slow {
	int fuse;
	pid_t server;
};

static bool start_slow(struct slow *slow, struct shared *shared)
{
	char options[128];

	if (system("modprobe fuse 2> /dev/null; true"))
		return false;
	slow->fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40755,user_id=%d,group_id=%d,allow_other",
		 slow->fuse, NOBODY, NOBODY);
	if (slow->fuse < 0 || mkdir(FOLDER "/slow", 0755) ||
	    mount("slow", FOLDER "/slow", "fuse", MS_NOSUID | MS_NODEV, options))
		return false;
	slow->server = fork();
	if (!slow->server) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		serve(slow->fuse, shared);
		_exit(0);
	}
	return slow->server > 0;
}

/* Whoever waits for an answer gets an error. */
static void end_slow(struct slow *slow)
{
	kill(slow->server, SIGKILL);
	waitpid(slow->server, NULL, 0);
	close(slow->fuse);
	umount2(FOLDER "/slow", MNT_FORCE | MNT_DETACH);
	rmdir(FOLDER "/slow");
}

TEST_F_TIMEOUT(attack, slow_file, 900)
{
	struct slow slow;
	void *mapped;
	int fd;

	ASSERT_TRUE(start_slow(&slow, self->shared));
	fd = open(FOLDER "/slow/file", O_RDONLY | O_CLOEXEC);
	ASSERT_LE(0, fd);
	mapped = mmap(NULL, SLOW_SIZE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	ASSERT_NE(MAP_FAILED, mapped);
	sleep_ms(1000);
	EXPECT_OTHERS_SERVED();
	EXPECT_LE(1, counter("filesystem"));
	/* Nobody asked for a byte of it. */
	EXPECT_EQ(0, self->shared->done);

	munmap(mapped, SLOW_SIZE);
	close(fd);
	end_slow(&slow);
}

/*
 * The lock of a process's mappings, held for as long as that server likes: mmap() of
 * a file that goes past the page cache first throws out what is in there, and a page
 * that somebody reads is locked until the server answers.
 */
static void hold_the_lock(struct shared *shared)
{
	int text = open(FIXTURES "/libtext.so", O_RDONLY | O_CLOEXEC);
	int slow = open(FOLDER "/slow/file", O_RDONLY | O_CLOEXEC);
	int direct = open(FOLDER "/slow/file", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	char byte;

	if (text < 0 || slow < 0 || direct < 0)
		_exit(101);
	if (!fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(read(slow, &byte, 1));
	}
	while (!__atomic_load_n(&shared->done, __ATOMIC_RELAXED))
		sleep_ms(10);
	mmap(NULL, 4 * REGION, PROT_READ | PROT_EXEC, MAP_PRIVATE, text, 0);
	mmap(NULL, REGION, PROT_READ, MAP_PRIVATE, direct, 0);
	while (!stopped(shared))
		sleep_ms(50);
	_exit(0);
}

/* What hugetext/text says of a process with that word in it. */
static bool text_says(pid_t pid, const char *word)
{
	FILE *file = fopen(TOLD, "r");
	char line[256];
	bool found = false;

	while (file && fgets(line, sizeof(line), file))
		found |= atoi(line) == pid && strstr(line, word);
	if (file)
		fclose(file);
	return found;
}

static bool wait_text_says(pid_t pid, const char *word)
{
	int i;

	for (i = 0; i < PATIENCE * 4 && !text_says(pid, word); i++)
		sleep_ms(250);
	return text_says(pid, word);
}

TEST_F_TIMEOUT(attack, mapping_lock_held, 900)
{
	char what[16];
	struct slow slow;
	pid_t asking;

	ASSERT_EQ(0, write_text(PAD_THRESHOLD, "4096"));
	ASSERT_EQ(0, write_text(PAD_RODATA, "1"));
	ASSERT_TRUE(start_slow(&slow, self->shared));
	self->worker[0] = fork();
	if (!self->worker[0]) {
		become_nobody();
		hold_the_lock(self->shared);
	}
	EXPECT_TRUE(wait_text_says(self->worker[0], "unknown mmap_lock"));
	EXPECT_OTHERS_SERVED();
	EXPECT_LE(1, counter("mmap_lock"));

	/* Whoever asks for it by name waits, and may be killed. */
	asking = fork();
	if (!asking) {
		snprintf(what, sizeof(what), "%d", self->worker[0]);
		_exit(!!write_text(ROLLBACK, what));
	}
	sleep_ms(1000);
	EXPECT_EQ(0, waitpid(asking, NULL, WNOHANG));
	kill(asking, SIGKILL);
	EXPECT_EQ(asking, waitpid(asking, NULL, 0));

	/* Nor is the module kept. */
	EXPECT_EQ(0, module_unload());
	ASSERT_EQ(0, module_load("hugetext=1"));
	EXPECT_TRUE(text_says(self->worker[0], "unknown mmap_lock"));
	end_slow(&slow);
	EXPECT_TRUE(wait_text_says(self->worker[0], "huge ok"));
}

TEST_HARNESS_MAIN
