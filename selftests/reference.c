// SPDX-License-Identifier: GPL-2.0
/*
 * Files that change, what they should hold, and mappings of them as text.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "reference.h"

#define MAX_TRIES	2000

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t bigger(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* ---- Changing ---- */

static void advance(struct reference *file)
{
	__atomic_add_fetch(&file->sequence, 1, __ATOMIC_SEQ_CST);
}

static void differs(struct reference *file, size_t from, size_t to)
{
	file->from = smaller(file->from, from);
	file->to = bigger(file->to, to);
}

void reference_begin(struct reference *file)
{
	advance(file);
	file->from = MOST;
	file->to = 0;
	file->cutting = false;
}

void reference_fill(struct reference *file, size_t at, const void *bytes, size_t length)
{
	memcpy(file->next.bytes + at, bytes, length);
	file->next.size = bigger(file->next.size, at + length);
	differs(file, at, at + length);
}

void reference_zero(struct reference *file, size_t at, size_t length)
{
	memset(file->next.bytes + at, 0, length);
	differs(file, at, at + length);
}

void reference_resize(struct reference *file, size_t size)
{
	if (size < file->next.size)
		reference_zero(file, size, file->next.size - size);
	file->next.size = size;
}

void reference_remove(struct reference *file, size_t at, size_t length)
{
	size_t size = file->next.size;

	memmove(file->next.bytes + at, file->next.bytes + at + length, size - at - length);
	differs(file, at, size);
	reference_resize(file, size - length);
}

void reference_insert(struct reference *file, size_t at, size_t length)
{
	size_t size = file->next.size;

	memmove(file->next.bytes + at + length, file->next.bytes + at, size - at);
	file->next.size = size + length;
	differs(file, at, size + length);
	reference_zero(file, at, length);
}

void reference_replace(struct reference *file)
{
	file->replacing = true;
}

void reference_cut(struct reference *file)
{
	file->cutting = file->shows_zeros;
}

void reference_go(struct reference *file)
{
	advance(file);
}

void reference_end(struct reference *file, bool done)
{
	struct contents *from = done ? &file->next : &file->now;
	struct contents *to = done ? &file->now : &file->next;

	advance(file);
	if (file->replacing && done) {
		memcpy(&file->old, &file->now, sizeof(file->old));
		file->generation++;
	}
	file->replacing = false;
	if (file->from < file->to)
		memcpy(to->bytes + file->from, from->bytes + file->from, file->to - file->from);
	to->size = from->size;
	advance(file);
}

static void describe(char *text, size_t size, size_t at, const unsigned char *want,
		     const unsigned char *seen)
{
	snprintf(text, size, "byte %#zx (region %zu, page %zu of it) is %02x %02x %02x %02x, "
		 "should be %02x %02x %02x %02x", at, at / REGION, at % REGION / PAGE,
		 seen[0], seen[1], seen[2], seen[3], want[0], want[1], want[2], want[3]);
}

const char *reference_compare(const struct reference *file, const unsigned char *bytes,
			      size_t size)
{
	static char why[200];
	size_t at;

	if (size == file->now.size && !memcmp(bytes, file->now.bytes, size))
		return NULL;
	if (size != file->now.size) {
		snprintf(why, sizeof(why), "size %#zx, should be %#zx", size, file->now.size);
		return why;
	}
	for (at = 0; bytes[at] == file->now.bytes[at]; at++)
		;
	at = smaller(at, MOST - 4);
	describe(why, sizeof(why), at, file->now.bytes + at, bytes + at);
	return why;
}

/* ---- Looking ---- */

static sigjmp_buf beyond_end;

static void on_bus_error(int signal)
{
	(void)signal;
	siglongjmp(beyond_end, 1);
}

void view_prepare(void)
{
	struct sigaction action = { .sa_handler = on_bus_error, .sa_flags = SA_NODEFER };

	sigaction(SIGBUS, &action, NULL);
}

static bool copy_page(unsigned char *to, const unsigned char *from)
{
	/* The mask stays as it is, see SA_NODEFER, which saves two system calls. */
	if (sigsetjmp(beyond_end, 0))
		return false;
	memcpy(to, from, PAGE);
	return true;
}

static unsigned int sequence_of(const struct reference *file)
{
	return __atomic_load_n(&file->sequence, __ATOMIC_SEQ_CST);
}

static bool map(struct view *view, int fd)
{
	view->start = reserve_regions(MOST, &view->reserved);
	if (!view->start)
		return false;
	return mmap(view->start, MOST, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0) !=
	       MAP_FAILED;
}

bool view_open(struct view *view, const struct reference *file, bool through)
{
	/* Replacing takes as long as a slow disk lets it. */
	time_t end = time(NULL) + PATIENCE;

	view->file = file;
	while (time(NULL) < end) {
		unsigned int sequence = sequence_of(file);
		bool mapped = false;
		int fd;

		if (sequence & 1 || file->replacing) {
			sleep_ms(1);
			continue;
		}
		view->generation = file->generation;
		fd = open(through ? file->through : file->path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0) {
			mapped = map(view, fd);
			close(fd);
		}
		/* Another step is no harm; only the file must be the same. */
		if (sequence == sequence_of(file) ||
		    (mapped && view->generation == file->generation && !file->replacing &&
		     !(sequence_of(file) & 1)))
			return mapped;
		view_close(view);
	}
	return false;
}

void view_close(struct view *view)
{
	release_regions(view->reserved, MOST);
	view->reserved = NULL;
}

/* Is @seen, NULL for a SIGBUS, what a page of @a on its way to @b may be, perhaps @cutting? */
static bool fits(const struct contents *a, const struct contents *b, bool cutting, size_t page,
		 const unsigned char *seen)
{
	size_t at = page * PAGE, i;

	if (!seen)
		return at >= smaller(a->size, b->size);
	if (at >= bigger(a->size, b->size))
		return false;
	if (!memcmp(seen, b->bytes + at, PAGE) || !memcmp(seen, a->bytes + at, PAGE))
		return true;
	for (i = 0; a != b && i < PAGE; i++)
		if (seen[i] != a->bytes[at + i] && seen[i] != b->bytes[at + i] &&
		    !(cutting && !seen[i]))
			return false;
	return a != b;
}

static void describe_page(const struct contents *want, size_t page, const unsigned char *seen,
			  char *why, size_t size)
{
	size_t at = page * PAGE, i;

	if (!seen) {
		snprintf(why, size, "SIGBUS at %#zx, size is %#zx", at, want->size);
		return;
	}
	if (at >= want->size) {
		snprintf(why, size, "a page at %#zx, size is %#zx", at, want->size);
		return;
	}
	for (i = 0; i < PAGE - 4 && seen[i] == want->bytes[at + i]; i++)
		;
	describe(why, size, at + i, want->bytes + at + i, seen + i);
}

enum sight view_look(const struct view *view, size_t page, char *why, size_t size)
{
	const struct reference *file = view->file;

	for (int i = 0; i < MAX_TRIES; i++) {
		unsigned int sequence = sequence_of(file);
		const struct contents *a = &file->now, *b = &file->now;
		unsigned char copy[PAGE];
		unsigned char *seen;
		bool right;

		if (sequence & 1) {
			sleep_ms(1);
			continue;
		}
		if (view->generation + 1 == file->generation)
			a = b = &file->old;
		else if (view->generation != file->generation)
			return SIGHT_LOST;
		else if (sequence & 2 && !file->replacing)
			b = &file->next;
		seen = copy_page(copy, view->start + page * PAGE) ? copy : NULL;
		right = fits(a, b, file->cutting, page, seen);
		if (!right)
			describe_page(a, page, seen, why, size);
		if (sequence_of(file) != sequence)
			continue;
		return right ? SIGHT_RIGHT : SIGHT_WRONG;
	}
	return SIGHT_LATER;
}

/* The frame number of a page, 0 if it is not mapped. */
static uint64_t frame_of(int pagemap, const unsigned char *address)
{
	uint64_t entry = 0;

	if (pread(pagemap, &entry, sizeof(entry), (uintptr_t)address / PAGE * 8) != sizeof(entry) ||
	    !(entry >> 63))
		return 0;
	return entry & ((1ull << 55) - 1);
}

unsigned int view_huge_regions(const struct view *view)
{
	int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	unsigned int huge = 0;
	size_t at;

	for (at = 0; at + REGION <= MOST; at += REGION) {
		uint64_t first = frame_of(pagemap, view->start + at);

		if (first && !(first % (REGION / PAGE)) &&
		    frame_of(pagemap, view->start + at + REGION - PAGE) == first + REGION / PAGE - 1)
			huge++;
	}
	close(pagemap);
	return huge;
}
