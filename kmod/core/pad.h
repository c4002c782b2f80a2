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
	HUGETEXT_USE_FILLER,	/* a mapping of the file without any access: ld.so's */
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

/* No region needs more: text has two edges, and odd files a few more. */
#define HUGETEXT_MAX_FILLS	4

/* A range to map from the file, executable. */
struct hugetext_fill {
	uint64_t start;
	uint64_t end;
	uint64_t rodata;	/* bytes of it that were readable before, and not executable */
};

/**
 * hugetext_pad() - decide how to fill up one region
 * @region: its address, a multiple of 2 MiB
 * @offset: the file offset that belongs there
 * @size: of the file, bytes
 * @piece: what the region is used for: ascending, without gaps, from @region to its end
 * @nr: how many pieces
 * @padding: what is allowed
 * @fill: room for HUGETEXT_MAX_FILLS ranges, ascending
 * @nr_fills: set on success: how many there are, 0 where all of the region is text
 *
 * Any context.
 *
 * Return: HUGETEXT_WHY_OK, or the reason why the region stays as it is.
 */
enum hugetext_why hugetext_pad(uint64_t region, uint64_t offset, uint64_t size,
			       const struct hugetext_piece *piece, size_t nr,
			       const struct hugetext_padding *padding,
			       struct hugetext_fill *fill, size_t *nr_fills);

#endif /* HUGETEXT_CORE_PAD_H */
