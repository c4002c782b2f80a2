/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How to fill up a 2 MiB region that is only partly text.
 * Pure, and built from one file into module, command, tests and fuzzers.
 */
#ifndef HUGETEXT_CORE_PAD_H
#define HUGETEXT_CORE_PAD_H

#include "layout.h"

/* What a piece of a region is used for. */
enum hugetext_use {
	HUGETEXT_USE_TEXT,	/* executable, of the file, at the offset that belongs there */
	HUGETEXT_USE_HOLE,	/* nothing, between two mappings of the file */
	HUGETEXT_USE_FILLER,	/* of the file, without any access, at another offset: ld.so's */
	HUGETEXT_USE_CLOSED,	/* as text, but without any access */
	HUGETEXT_USE_RODATA,	/* as text, but read-only */
	HUGETEXT_USE_OTHER,	/* all else, which must stay as it is */
};

/* A run of pages of one use. */
struct hugetext_piece {
	uint64_t start;		/* address, a multiple of the page size */
	uint64_t end;		/* first address behind */
	enum hugetext_use use;
};

/* What the administrator set. */
struct hugetext_padding {
	uint64_t threshold;	/* bytes of text that a region must exceed, 0: never pad */
	bool rodata;		/* read-only neighbours may become executable */
};

/* A region of more pieces than this is not the edge of any text. */
#define HUGETEXT_MAX_PIECES	16

/**
 * hugetext_edges() - the regions that a text mapping fills only in part
 * @start: first address, a multiple of the page size
 * @end: first address behind, a multiple of the page size, above @start
 * @offset: the file offset mapped at @start, a multiple of the page size
 * @edge: set to the addresses of those regions, ascending
 *
 * Any context.
 *
 * Return: how many there are, 0 to 2; 0 also where address and offset differ modulo
 * 2 MiB, so that no region can be huge.
 */
unsigned int hugetext_edges(uint64_t start, uint64_t end, uint64_t offset, uint64_t edge[2]);

/**
 * hugetext_pad() - may one region be filled up?
 * @region: its address, a multiple of 2 MiB
 * @offset: the file offset that belongs there
 * @size: of the file, bytes
 * @piece: what the region is used for: ascending, without gaps, from @region to its end
 * @nr: how many pieces
 * @padding: what is allowed
 *
 * A region is filled up as a whole, by making every piece of it text, or not at all.
 *
 * Any context.
 *
 * Return: HUGETEXT_WHY_OK, also where all of it is text already, or the reason why
 * the region stays as it is.
 */
enum hugetext_why hugetext_pad(uint64_t region, uint64_t offset, uint64_t size,
			       const struct hugetext_piece *piece, size_t nr,
			       const struct hugetext_padding *padding);

#endif /* HUGETEXT_CORE_PAD_H */
