// SPDX-License-Identifier: GPL-2.0
/*
 * The ways there are to change a file. Each action is one or more steps of the
 * reference, see reference.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <linux/io_uring.h>
#include <linux/loop.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "actions.h"

/* ---- Random numbers ---- */

/* The end of splitmix64: neighbours must not begin alike. */
uint64_t random_start(uint64_t seed, uint64_t stream)
{
	uint64_t x = seed * 0x9e3779b97f4a7c15ull + stream + 1;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

/* xorshift64*; a state of 0 would stay 0. */
uint64_t random_number(uint64_t *state)
{
	uint64_t x = *state ?: 0x9e3779b97f4a7c15ull;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * 0x2545f4914f6cdd1dull;
}

size_t random_below(uint64_t *state, size_t limit)
{
	return limit ? (random_number(state) >> 16) % limit : 0;
}

void random_bytes(uint64_t *state, void *bytes, size_t length)
{
	unsigned char *to = bytes;

	while (length) {
		uint64_t number = random_number(state);
		size_t n = length < sizeof(number) ? length : sizeof(number);

		memcpy(to, &number, n);
		to += n;
		length -= n;
	}
}

/* ---- What actions have in common ---- */

static size_t below(struct turn *turn, size_t limit)
{
	return random_below(&turn->random, limit);
}

static __attribute__((format(printf, 2, 3))) void note(struct turn *turn, const char *format, ...)
{
	size_t used = strlen(turn->note);
	va_list args;

	va_start(args, format);
	vsnprintf(turn->note + used, sizeof(turn->file->history[0]) - used, format, args);
	va_end(args);
}

/* What became of an action that stopped with errno. */
static enum outcome failed(struct turn *turn, const char *what)
{
	int err = errno;

	note(turn, " %s: %m", what);
	errno = err;
	switch (err) {
	case EOPNOTSUPP:
	case ENOTTY:
	case ENOSYS:
	case EXDEV:
		return OUTCOME_NOT_HERE;
	}
	return OUTCOME_BROKEN;
}

/*
 * Open the file for a change, by its own name or through overlayfs, whose opens
 * fsnotify may not see. Returns the descriptor, or -1 with *outcome set.
 */
static int open_file(struct turn *turn, int flags, enum outcome *outcome)
{
	bool through = turn->file->through[0] && below(turn, 2);
	int fd = open(through ? turn->file->through : turn->file->path, flags | O_CLOEXEC);

	*outcome = OUTCOME_DONE;
	if (through)
		note(turn, " through overlayfs");
	if (fd >= 0)
		return fd;
	*outcome = failed(turn, "open");
	if (through && errno == ETXTBSY)
		*outcome = OUTCOME_REFUSED;
	return -1;
}

/* A length of any magnitude, from a byte to a bit more than a region. */
static size_t some_length(struct turn *turn)
{
	static const size_t limits[] = { 16, 5000, 5000, 70000, 70000, 700000, REGION + 9000 };

	return 1 + below(turn, limits[below(turn, sizeof(limits) / sizeof(limits[0]))]);
}

/* A span in the file, @unit aligned; an empty one if there is no such. */
static void some_span(struct turn *turn, size_t unit, size_t *at, size_t *length)
{
	size_t size = turn->file->now.size;

	*at = below(turn, size) / unit * unit;
	*length = (some_length(turn) + unit - 1) / unit * unit;
	if (*length > size - *at)
		*length = (size - *at) / unit * unit;
	note(turn, " %#zx+%#zx", *at, *length);
}

/* Edit a step's next contents: bytes of this turn at @at. */
static const unsigned char *fill(struct turn *turn, size_t at, size_t length)
{
	static unsigned char bytes[MOST];

	random_bytes(&turn->random, bytes, length);
	reference_fill(turn->file, at, bytes, length);
	turn->written += length;
	return bytes;
}

static bool write_all(int fd, const unsigned char *bytes, size_t length, off_t at)
{
	while (length) {
		ssize_t n = at < 0 ? write(fd, bytes, length) : pwrite(fd, bytes, length, at);

		if (n <= 0)
			return false;
		bytes += n;
		length -= n;
		at += at < 0 ? 0 : n;
	}
	return true;
}

/* Time for others to look, to map and to evict while the file is open for writing. */
static void linger(struct turn *turn)
{
	if (!below(turn, 4))
		sleep_ms(below(turn, 60));
}

static bool settle(struct turn *turn, int fd)
{
	switch (below(turn, 6)) {
	case 0:
		note(turn, " fsync");
		return !fsync(fd);
	case 1:
		note(turn, " sync_file_range");
		return !sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
	case 2:
		note(turn, " dontneed");
		return !posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	}
	return true;
}

/* The end of a step and of its descriptor. */
static enum outcome finish(struct turn *turn, int fd, bool done, const char *what)
{
	enum outcome outcome = OUTCOME_DONE;

	if (!done)
		outcome = failed(turn, what);
	reference_end(turn->file, done);
	if (done && fd >= 0 && !settle(turn, fd))
		outcome = failed(turn, "settle");
	linger(turn);
	if (fd >= 0)
		close(fd);
	return outcome;
}

/* ---- The actions ---- */

static enum outcome open_only(struct turn *turn)
{
	enum outcome outcome;
	int fd = open_file(turn, O_RDWR, &outcome);

	if (fd < 0)
		return outcome;
	sleep_ms(below(turn, 100));
	close(fd);
	return OUTCOME_DONE;
}

static enum outcome write_in_place(struct turn *turn)
{
	static const int flags[] = { O_RDWR, O_RDWR, O_WRONLY, O_WRONLY | O_DSYNC };
	enum outcome outcome;
	int fd = open_file(turn, flags[below(turn, 4)], &outcome);
	const unsigned char *bytes;
	size_t at, length;
	bool done;

	if (fd < 0)
		return outcome;
	linger(turn);
	for (int i = below(turn, 3); i >= 0; i--) {
		some_span(turn, 1, &at, &length);
		reference_begin(turn->file);
		bytes = fill(turn, at, length);
		reference_go(turn->file);
		done = write_all(fd, bytes, length, at);
		if (!done || !i)
			return finish(turn, fd, done, "write");
		reference_end(turn->file, true);
	}
	return OUTCOME_BROKEN;
}

/* Behind the end, with or without a hole before it. */
static enum outcome append(struct turn *turn)
{
	size_t size = turn->file->now.size, length = some_length(turn);
	size_t gap = below(turn, 3) ? 0 : below(turn, 20000);
	enum outcome outcome;
	const unsigned char *bytes;
	int fd;

	if (size + gap + length > MOST)
		return OUTCOME_NOT_HERE;
	note(turn, " %#zx+%#zx", size + gap, length);
	fd = open_file(turn, gap ? O_WRONLY : O_WRONLY | O_APPEND, &outcome);
	if (fd < 0)
		return outcome;
	reference_begin(turn->file);
	bytes = fill(turn, size + gap, length);
	reference_go(turn->file);
	return finish(turn, fd, write_all(fd, bytes, length, gap ? (off_t)(size + gap) : -1),
		      "append");
}

/* Mostly near the old size, so that text is left; now and then all goes. */
static size_t other_size(struct turn *turn)
{
	size_t size = turn->file->now.size, less = below(turn, REGION + 10000);

	if (!below(turn, 12))
		size = below(turn, MOST);
	else if (below(turn, 3))
		size -= size < less ? size : less;
	else
		size += below(turn, MOST - size);
	note(turn, " to %#zx", size);
	return size;
}

/* Opens nothing, so no open is there to be noticed. */
static enum outcome truncate_by_name(struct turn *turn)
{
	bool through = turn->file->through[0] && below(turn, 2);
	size_t size = other_size(turn);

	reference_begin(turn->file);
	reference_resize(turn->file, size);
	reference_go(turn->file);
	return finish(turn, -1,
		      !truncate(through ? turn->file->through : turn->file->path, size),
		      "truncate");
}

static enum outcome truncate_open_file(struct turn *turn)
{
	enum outcome outcome;
	int fd = open_file(turn, O_RDWR, &outcome);
	size_t size = other_size(turn);

	if (fd < 0)
		return outcome;
	reference_begin(turn->file);
	reference_resize(turn->file, size);
	reference_go(turn->file);
	return finish(turn, fd, !ftruncate(fd, size), "ftruncate");
}

static enum outcome rewrite(struct turn *turn)
{
	size_t length = REGION + below(turn, MOST - REGION);
	const unsigned char *bytes;
	enum outcome outcome;
	int fd;

	note(turn, " %#zx", length);
	reference_begin(turn->file);
	reference_resize(turn->file, 0);
	reference_go(turn->file);
	fd = open_file(turn, O_WRONLY | O_TRUNC, &outcome);
	reference_end(turn->file, fd >= 0);
	if (fd < 0)
		return outcome;
	reference_begin(turn->file);
	bytes = fill(turn, 0, length);
	reference_go(turn->file);
	return finish(turn, fd, write_all(fd, bytes, length, 0), "write");
}

static enum outcome change_range(struct turn *turn)
{
	static const struct {
		const char *name;
		int mode;
	} modes[] = {
		{ "punch", FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE },
		{ "punch", FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE },
		{ "zero", FALLOC_FL_ZERO_RANGE },
		{ "zero", FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE },
		{ "allocate", 0 },
		{ "collapse", FALLOC_FL_COLLAPSE_RANGE },
		{ "insert", FALLOC_FL_INSERT_RANGE },
	};
	size_t which = below(turn, sizeof(modes) / sizeof(modes[0])), at, length;
	int mode = modes[which].mode;
	bool moves = mode == FALLOC_FL_COLLAPSE_RANGE || mode == FALLOC_FL_INSERT_RANGE;
	enum outcome outcome;
	int fd;

	note(turn, " %s", modes[which].name);
	some_span(turn, moves ? PAGE : 1, &at, &length);
	if (!length || (mode == FALLOC_FL_COLLAPSE_RANGE && at + length >= turn->file->now.size) ||
	    (mode == FALLOC_FL_INSERT_RANGE && turn->file->now.size + length > MOST))
		return OUTCOME_NOT_HERE;
	fd = open_file(turn, O_RDWR, &outcome);
	if (fd < 0)
		return outcome;
	reference_begin(turn->file);
	if (mode == FALLOC_FL_COLLAPSE_RANGE)
		reference_remove(turn->file, at, length);
	else if (mode == FALLOC_FL_INSERT_RANGE)
		reference_insert(turn->file, at, length);
	else if (mode)
		reference_zero(turn->file, at, length);
	reference_cut(turn->file);
	reference_go(turn->file);
	return finish(turn, fd, !fallocate(fd, mode, at, length), "fallocate");
}

static enum outcome preallocate_behind(struct turn *turn)
{
	size_t size = turn->file->now.size, length = some_length(turn);
	int mode = below(turn, 2) ? FALLOC_FL_KEEP_SIZE : 0;
	enum outcome outcome;
	int fd;

	if (size + length > MOST)
		return OUTCOME_NOT_HERE;
	fd = open_file(turn, O_RDWR, &outcome);
	if (fd < 0)
		return outcome;
	reference_begin(turn->file);
	if (!mode)
		reference_resize(turn->file, size + length);
	reference_go(turn->file);
	return finish(turn, fd, !fallocate(fd, mode, size, length), "fallocate");
}

/* The mapping alone keeps the file open for writing. */
static enum outcome write_shared_mapping(struct turn *turn)
{
	enum outcome outcome;
	unsigned char *shared;
	size_t at, length;
	int fd;

	some_span(turn, 1, &at, &length);
	if (!length)
		return OUTCOME_NOT_HERE;
	fd = open_file(turn, O_RDWR, &outcome);
	if (fd < 0)
		return outcome;
	shared = mmap(NULL, MOST, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (shared == MAP_FAILED)
		return failed(turn, "mmap");
	linger(turn);
	reference_begin(turn->file);
	fill(turn, at, length);
	reference_go(turn->file);
	memcpy(shared + at, turn->file->next.bytes + at, length);
	reference_end(turn->file, true);
	linger(turn);
	if (below(turn, 2)) {
		note(turn, " msync");
		if (msync(shared, MOST, below(turn, 2) ? MS_SYNC : MS_ASYNC))
			return failed(turn, "msync");
	}
	munmap(shared, MOST);
	return OUTCOME_DONE;
}

static enum outcome write_direct(struct turn *turn)
{
	static unsigned char bytes[MOST] __attribute__((aligned(4096)));
	enum outcome outcome;
	size_t at, length;
	int fd;

	some_span(turn, PAGE, &at, &length);
	if (!length)
		return OUTCOME_NOT_HERE;
	fd = open_file(turn, O_WRONLY | O_DIRECT, &outcome);
	if (fd < 0)
		return errno == EINVAL ? OUTCOME_NOT_HERE : outcome;
	reference_begin(turn->file);
	memcpy(bytes, fill(turn, at, length), length);
	reference_go(turn->file);
	return finish(turn, fd, write_all(fd, bytes, length, at), "direct write");
}

static enum outcome copy_from_donor(struct turn *turn)
{
	int from = open(turn->donor_path, O_RDONLY | O_CLOEXEC), fd;
	size_t at, length, done = 0;
	enum outcome outcome;
	loff_t in, out;
	ssize_t n = 0;

	some_span(turn, 1, &at, &length);
	if (at + length > turn->donor->size)
		length = turn->donor->size > at ? turn->donor->size - at : 0;
	fd = open_file(turn, O_WRONLY, &outcome);
	if (fd < 0) {
		close(from);
		return outcome;
	}
	in = at;
	out = at;
	reference_begin(turn->file);
	reference_fill(turn->file, at, turn->donor->bytes + at, length);
	reference_cut(turn->file);
	reference_go(turn->file);
	while (done < length && (n = copy_file_range(from, &in, fd, &out, length - done, 0)) > 0)
		done += n;
	turn->written += done;
	close(from);
	if (n < 0 && done)
		errno = EIO;
	return finish(turn, fd, done == length, "copy_file_range");
}

/* The file shares extents with the donor from here on, where the file system can. */
static enum outcome reflink_range(struct turn *turn)
{
	int from = open(turn->donor_path, O_RDONLY | O_CLOEXEC), fd;
	struct file_clone_range range = { .src_fd = from };
	enum outcome outcome;
	size_t at, length;
	bool done;

	some_span(turn, 65536, &at, &length);
	if (at + length > turn->donor->size)
		length = 0;
	fd = length ? open_file(turn, O_WRONLY, &outcome) : -1;
	if (fd < 0) {
		close(from);
		return length ? outcome : OUTCOME_NOT_HERE;
	}
	range.src_offset = at;
	range.src_length = length;
	range.dest_offset = at;
	reference_begin(turn->file);
	reference_fill(turn->file, at, turn->donor->bytes + at, length);
	reference_cut(turn->file);
	reference_go(turn->file);
	done = !ioctl(fd, FICLONERANGE, &range);
	turn->written += done ? length : 0;
	/* finish() wants the errno, which close() leaves alone when it succeeds. */
	close(from);
	return finish(turn, fd, done, "reflink");
}

static enum outcome write_spliced(struct turn *turn)
{
	const unsigned char *bytes;
	size_t at, length, done = 0;
	enum outcome outcome;
	int pipe[2], fd;
	ssize_t n = 0;

	some_span(turn, 1, &at, &length);
	if (pipe2(pipe, O_CLOEXEC))
		return failed(turn, "pipe");
	fd = open_file(turn, O_WRONLY, &outcome);
	if (fd >= 0) {
		reference_begin(turn->file);
		bytes = fill(turn, at, length);
		reference_go(turn->file);
		while (done < length && n >= 0) {
			size_t some = length - done < 32768 ? length - done : 32768;
			loff_t offset = at + done;

			if (write(pipe[1], bytes + done, some) != (ssize_t)some)
				break;
			while (some && (n = splice(pipe[0], NULL, fd, &offset, some, 0)) > 0) {
				some -= n;
				done += n;
			}
		}
		outcome = finish(turn, fd, done == length, "splice");
	}
	close(pipe[0]);
	close(pipe[1]);
	return outcome;
}

/*
 * A new file takes the name, its pages still dirty. Where the file system can,
 * it is first a reflink of the old one, whose text is perhaps huge.
 */
static enum outcome replace(struct turn *turn)
{
	size_t length = REGION + below(turn, MOST - REGION), at = 0;
	int from, fd, cloned = -1;
	const unsigned char *bytes;
	char path[200];
	bool done;

	/* Behind the back of overlayfs only contents may change. */
	if (turn->file->through[0])
		return OUTCOME_NOT_HERE;
	snprintf(path, sizeof(path), "%s.new", turn->file->path);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	if (fd < 0)
		return failed(turn, "open new");
	if (below(turn, 2)) {
		from = open(turn->file->path, O_RDONLY | O_CLOEXEC);
		cloned = ioctl(fd, FICLONE, from);
		close(from);
	}
	if (!cloned) {
		some_span(turn, 1, &at, &length);
		note(turn, " reflink");
	}
	reference_begin(turn->file);
	reference_replace(turn->file);
	if (cloned)
		reference_resize(turn->file, length);
	bytes = fill(turn, at, length);
	reference_go(turn->file);
	done = write_all(fd, bytes, length, at);
	if (done && below(turn, 2))
		done = !fsync(fd);
	if (done)
		done = !rename(path, turn->file->path);
	return finish(turn, fd, done, "replace");
}

/* Through the descriptor that fanotify opened, behind fsnotify's back. */
static enum outcome write_fanotify(struct turn *turn)
{
	struct fanotify_event_metadata event = { .fd = FAN_NOFD };
	int group = fanotify_init(FAN_CLASS_NOTIF | FAN_CLOEXEC | FAN_NONBLOCK,
				  O_RDWR | O_LARGEFILE | O_CLOEXEC);
	enum outcome outcome = OUTCOME_BROKEN;
	const unsigned char *bytes;
	size_t at, length;
	int fd = -1;

	if (group < 0)
		return failed(turn, "fanotify_init");
	some_span(turn, 1, &at, &length);
	if (!fanotify_mark(group, FAN_MARK_ADD, FAN_OPEN, AT_FDCWD, turn->file->path))
		fd = open(turn->file->path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		outcome = failed(turn, "mark");
	} else if (read(group, &event, sizeof(event)) != sizeof(event) || event.fd < 0) {
		outcome = failed(turn, "event");
		if (errno == ETXTBSY)
			outcome = OUTCOME_REFUSED;
	} else {
		reference_begin(turn->file);
		bytes = fill(turn, at, length);
		reference_go(turn->file);
		outcome = finish(turn, event.fd, write_all(event.fd, bytes, length, at), "write");
	}
	close(fd);
	close(group);
	return outcome;
}

/* ---- A loop device on the file ---- */

int loop_attach(int fd, unsigned int flags, char *path, size_t size)
{
	struct loop_config config = { .fd = fd, .info.lo_flags = flags };
	int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC), device = -1;

	/* Between asking for a free one and taking it another may be faster. */
	for (int i = 0; i < 50 && control >= 0; i++) {
		snprintf(path, size, "/dev/loop%d", ioctl(control, LOOP_CTL_GET_FREE));
		device = open(path, O_RDWR | O_CLOEXEC);
		if (device >= 0 && !ioctl(device, LOOP_CONFIGURE, &config))
			break;
		if (device >= 0)
			close(device);
		device = -1;
		if (errno != EBUSY)
			break;
		sleep_ms(5);
	}
	if (control >= 0)
		close(control);
	return device;
}

static enum outcome write_loop(struct turn *turn)
{
	bool direct = !below(turn, 3);
	size_t at, length, usable;
	uint64_t capacity;
	const unsigned char *bytes;
	enum outcome outcome;
	char path[32];
	int fd, device;
	bool done;

	some_span(turn, 1, &at, &length);
	/* A loop device ends with the last whole sector. */
	usable = turn->file->now.size & ~511ul;
	if (at >= usable)
		return OUTCOME_NOT_HERE;
	if (length > usable - at)
		length = usable - at;
	fd = open_file(turn, O_RDWR, &outcome);
	if (fd < 0)
		return outcome;
	/* It goes with the last descriptor. */
	device = loop_attach(fd, LO_FLAGS_AUTOCLEAR | (direct ? LO_FLAGS_DIRECT_IO : 0), path,
			     sizeof(path));
	close(fd);
	if (device < 0 || ioctl(device, BLKGETSIZE64, &capacity))
		return failed(turn, "loop");
	/* An overlayfs learns late of a size that changed behind its back, and tells the old one. */
	if (turn->file->through[0] && at + length > capacity) {
		close(device);
		return OUTCOME_NOT_HERE;
	}
	reference_begin(turn->file);
	bytes = fill(turn, at, length);
	reference_go(turn->file);
	done = write_all(device, bytes, length, at) && !fsync(device);
	outcome = finish(turn, -1, done, "write loop");
	close(device);
	return outcome;
}

/* ---- io_uring, without its library ---- */

struct ring {
	int fd;
	struct io_uring_params params;
	unsigned char *queues;
	size_t length;
	struct io_uring_sqe *entries;
};

static bool ring_open(struct ring *ring)
{
	struct io_uring_params *params = &ring->params;
	size_t submissions, completions;

	memset(ring, 0, sizeof(*ring));
	ring->queues = MAP_FAILED;
	ring->entries = MAP_FAILED;
	ring->fd = syscall(SYS_io_uring_setup, 4, params);
	if (ring->fd < 0)
		return false;
	/* Both queues are in one mapping since 5.4. */
	submissions = params->sq_off.array + params->sq_entries * sizeof(unsigned int);
	completions = params->cq_off.cqes + params->cq_entries * sizeof(struct io_uring_cqe);
	ring->length = submissions > completions ? submissions : completions;
	ring->queues = mmap(NULL, ring->length, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd,
			    IORING_OFF_SQ_RING);
	ring->entries = mmap(NULL, params->sq_entries * sizeof(*ring->entries),
			     PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, IORING_OFF_SQES);
	return ring->queues != MAP_FAILED && ring->entries != MAP_FAILED;
}

static void ring_close(struct ring *ring)
{
	if (ring->entries != MAP_FAILED)
		munmap(ring->entries, ring->params.sq_entries * sizeof(*ring->entries));
	if (ring->queues != MAP_FAILED)
		munmap(ring->queues, ring->length);
	if (ring->fd >= 0)
		close(ring->fd);
}

static unsigned int *ring_word(struct ring *ring, unsigned int offset)
{
	return (unsigned int *)(ring->queues + offset);
}

/* Do one thing and wait for it; its result, as a system call's in the kernel. */
static int ring_do(struct ring *ring, const struct io_uring_sqe *entry)
{
	unsigned int *tail = ring_word(ring, ring->params.sq_off.tail);
	unsigned int *head = ring_word(ring, ring->params.cq_off.head);
	unsigned int *end = ring_word(ring, ring->params.cq_off.tail);
	unsigned int index = *tail & *ring_word(ring, ring->params.sq_off.ring_mask);
	struct io_uring_cqe *done;

	ring->entries[index] = *entry;
	ring_word(ring, ring->params.sq_off.array)[index] = index;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, ring->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1)
		return -errno;
	while (*head == __atomic_load_n(end, __ATOMIC_ACQUIRE))
		if (syscall(SYS_io_uring_enter, ring->fd, 0, 1, IORING_ENTER_GETEVENTS, NULL,
			    0) < 0 && errno != EINTR)
			return -errno;
	done = (struct io_uring_cqe *)(ring->queues + ring->params.cq_off.cqes);
	index = *head & *ring_word(ring, ring->params.cq_off.ring_mask);
	__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
	return done[index].res;
}

static bool ring_write(struct ring *ring, int fd, const unsigned char *bytes, size_t length,
		       size_t at)
{
	while (length) {
		struct io_uring_sqe entry = {
			.opcode = IORING_OP_WRITE,
			.fd = fd,
			.addr = (uintptr_t)bytes,
			.len = length,
			.off = at,
		};
		int n = ring_do(ring, &entry);

		if (n <= 0) {
			errno = -n;
			return false;
		}
		bytes += n;
		at += n;
		length -= n;
	}
	return true;
}

/* Opened and written by io_uring, sometimes by its worker threads. */
static enum outcome write_ring(struct turn *turn)
{
	struct io_uring_sqe opening = {
		.opcode = IORING_OP_OPENAT,
		.flags = below(turn, 2) ? IOSQE_ASYNC : 0,
		.fd = AT_FDCWD,
		.addr = (uintptr_t)turn->file->path,
		.open_flags = O_RDWR | O_CLOEXEC,
	};
	enum outcome outcome;
	const unsigned char *bytes;
	size_t at, length;
	struct ring ring;
	int fd;

	if (!ring_open(&ring)) {
		outcome = failed(turn, "io_uring_setup");
		ring_close(&ring);
		return outcome;
	}
	some_span(turn, 1, &at, &length);
	fd = ring_do(&ring, &opening);
	if (fd < 0) {
		errno = -fd;
		ring_close(&ring);
		return failed(turn, "open by io_uring");
	}
	reference_begin(turn->file);
	bytes = fill(turn, at, length);
	reference_go(turn->file);
	outcome = finish(turn, fd, ring_write(&ring, fd, bytes, length, at), "write by io_uring");
	ring_close(&ring);
	return outcome;
}

/* ---- The table ---- */

#define REWRITE		0

static const struct action {
	const char *name;
	enum outcome (*act)(struct turn *turn);
	unsigned int weight;
} actions[] = {
	[REWRITE] = { "rewrite", rewrite, 1 },
	{ "open", open_only, 1 },
	{ "write", write_in_place, 5 },
	{ "append", append, 2 },
	{ "truncate", truncate_by_name, 2 },
	{ "ftruncate", truncate_open_file, 1 },
	{ "range", change_range, 5 },
	{ "preallocate", preallocate_behind, 1 },
	{ "mapping", write_shared_mapping, 4 },
	{ "direct", write_direct, 3 },
	{ "copy", copy_from_donor, 1 },
	{ "reflink", reflink_range, 2 },
	{ "splice", write_spliced, 1 },
	{ "replace", replace, 4 },
	{ "fanotify", write_fanotify, 3 },
	{ "loop", write_loop, 3 },
	{ "io_uring", write_ring, 3 },
};

#define NR_ACTIONS	(sizeof(actions) / sizeof(actions[0]))

static unsigned int choose(struct turn *turn)
{
	unsigned int total = 0, i;
	size_t chosen;

	for (i = 0; i < NR_ACTIONS; i++)
		total += actions[i].weight;
	chosen = below(turn, total);
	for (i = 0; chosen >= actions[i].weight; i++)
		chosen -= actions[i].weight;
	/* Without a whole region there is nothing to be huge. */
	return turn->file->now.size < REGION && below(turn, 2) ? REWRITE : i;
}

const char *action_name(unsigned int action)
{
	return action < NR_ACTIONS ? actions[action].name : NULL;
}

enum outcome act(struct turn *turn)
{
	unsigned int turns = turn->file->actions;
	enum outcome outcome;

	turn->note = turn->file->history[turns % HISTORY];
	turn->note[0] = '\0';
	turn->written = 0;
	turn->action = choose(turn);
	note(turn, "%u: %s", turns, actions[turn->action].name);
	outcome = actions[turn->action].act(turn);
	note(turn, "%s", outcome == OUTCOME_DONE ? "" : ", not done");
	/* The next one's note is empty until it begins. */
	turn->file->history[(turns + 1) % HISTORY][0] = '\0';
	turn->file->actions = turns + 1;
	return outcome;
}
