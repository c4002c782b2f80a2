/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What files should hold while others change them, kept in memory that all
 * processes of a test share, and mappings of such files that are compared with
 * it page by page.
 */
#ifndef HUGETEXT_REFERENCE_H
#define HUGETEXT_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "guest.h"

#define PAGE		4096ul
/* No file grows bigger: three regions of text and a bit that is none. */
#define MOST		(3 * REGION + 16 * PAGE)
#define HISTORY		12

/* Bytes behind @size are zero, as those of a file's last page are. */
struct contents {
	size_t size;
	unsigned char bytes[MOST];
};

/*
 * A file is changed in steps, each of which leads from @now to @next. While a
 * step is under way every byte may be that of either, or zero where the kernel
 * shows that when a file is cut. A file that replaces
 * another under its name is the next generation; who has the one before that
 * mapped must see @old. One process at a time makes steps; anybody may look.
 */
struct reference {
	char path[160];
	char through[160];	/* the same file through overlayfs, or "" */
	unsigned int sequence;	/* odd: this is being edited; 2 more: a step is under way */
	unsigned int generation;
	bool replacing;
	bool shows_zeros;	/* in its mappings while it is cut, see shows_zeros() */
	bool cutting;
	struct contents now;
	struct contents next;
	struct contents old;
	size_t from;		/* where @next differs from @now */
	size_t to;
	char history[HISTORY][160];
	unsigned int actions;
};

/* ---- For the one who changes the file ---- */

/* Edit the next contents between reference_begin() and reference_go(). */
void reference_begin(struct reference *file);
void reference_fill(struct reference *file, size_t at, const void *bytes, size_t length);
void reference_zero(struct reference *file, size_t at, size_t length);
void reference_resize(struct reference *file, size_t size);
void reference_remove(struct reference *file, size_t at, size_t length);
void reference_insert(struct reference *file, size_t at, size_t length);
/* The name will stand for another file that holds the next contents. */
void reference_replace(struct reference *file);
/* The step throws out a part of the page cache, as if the file were cut there. */
void reference_cut(struct reference *file);
/* From here to the end the file may be either. */
void reference_go(struct reference *file);
/* The step is over: it was done, or all is as it was. */
void reference_end(struct reference *file, bool done);

/* Is this what the file holds when nothing is under way? NULL: yes, else what is wrong. */
const char *reference_compare(const struct reference *file, const unsigned char *bytes,
			      size_t size);

/* ---- For those who look ---- */

/* A private mapping of the file as text, where it can be huge. */
struct view {
	const struct reference *file;
	unsigned char *start;
	unsigned char *reserved;
	unsigned int generation;
};

enum sight {
	SIGHT_RIGHT,
	SIGHT_WRONG,
	SIGHT_LATER,	/* the reference kept changing */
	SIGHT_LOST,	/* the mapping is of a file replaced too long ago */
};

/* Needed once in each process that looks: beyond the end of a file is a SIGBUS. */
void view_prepare(void);
bool view_open(struct view *view, const struct reference *file, bool through);
void view_close(struct view *view);
/* Look at one page; @why gets what is wrong. */
enum sight view_look(const struct view *view, size_t page, char *why, size_t size);
/* Regions that are one huge page in the page cache, as far as can be told. */
unsigned int view_huge_regions(const struct view *view);

#endif /* HUGETEXT_REFERENCE_H */
