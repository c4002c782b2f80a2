// SPDX-License-Identifier: GPL-2.0
/*
 * How to fill up a 2 MiB region that is only partly text.
 */
#include "pad.h"

unsigned int hugetext_edges(uint64_t start, uint64_t end, uint64_t offset, uint64_t edge[2])
{
	uint64_t first = start & ~(HUGETEXT_REGION_SIZE - 1);
	uint64_t last = end & ~(HUGETEXT_REGION_SIZE - 1);
	unsigned int nr = 0;

	if ((start - offset) % HUGETEXT_REGION_SIZE)
		return 0;
	if (first != start)
		edge[nr++] = first;
	/* Both edges may be in one region. */
	if (last != end && (!nr || last != first))
		edge[nr++] = last;
	return nr;
}

/* All or nothing: a region that stays small in part gains nothing by the rest. */
static enum hugetext_why why_not(uint64_t text, bool rodata, bool other,
				 const struct hugetext_padding *padding)
{
	if (!padding->threshold)
		return HUGETEXT_WHY_PADDING_OFF;
	if (text <= padding->threshold)
		return HUGETEXT_WHY_LITTLE_TEXT;
	if (other)
		return HUGETEXT_WHY_NEIGHBOUR;
	if (rodata && !padding->rodata)
		return HUGETEXT_WHY_RODATA;
	return HUGETEXT_WHY_OK;
}

enum hugetext_why hugetext_pad(uint64_t region, uint64_t offset, uint64_t size,
			       const struct hugetext_piece *piece, size_t nr,
			       const struct hugetext_padding *padding)
{
	bool rodata = false, other = false, behind = false;
	enum hugetext_why why;
	uint64_t text = 0;
	size_t i;

	for (i = 0; i < nr; i++) {
		/* No loader leaves a gap in the middle of text: the process made it. */
		if (piece[i].use == HUGETEXT_USE_TEXT) {
			other |= behind;
			text += piece[i].end - piece[i].start;
		} else {
			behind = text > 0;
		}
		rodata |= piece[i].use == HUGETEXT_USE_RODATA;
		other |= piece[i].use == HUGETEXT_USE_OTHER;
	}
	if (text == HUGETEXT_REGION_SIZE)
		return HUGETEXT_WHY_OK;
	why = why_not(text, rodata, other, padding);
	if (why != HUGETEXT_WHY_OK)
		return why;
	/* Whoever touched what lies behind the end would get a SIGBUS. */
	if (size < HUGETEXT_REGION_SIZE ||
	    offset > (size & ~(HUGETEXT_PAGE_SIZE - 1)) - HUGETEXT_REGION_SIZE)
		return HUGETEXT_WHY_PAST_EOF;
	if (region % HUGETEXT_REGION_SIZE || offset % HUGETEXT_REGION_SIZE)
		return HUGETEXT_WHY_OFFSET;
	return HUGETEXT_WHY_OK;
}
