// SPDX-License-Identifier: GPL-2.0
/*
 * Unit tests of core/pad.
 * The pieces of a region go in, what is to be filled is written beside them.
 */
#include "../pad.h"
#include "tap.h"

#define KB	1024ULL
#define PAGE	HUGETEXT_PAGE_SIZE
#define REGION	HUGETEXT_REGION_SIZE
#define BASE	(7 * REGION)
#define NR(array)	(sizeof(array) / sizeof(*(array)))

/* Pages @from to @to of the region. */
#define PIECE(from, to, use_)	\
	{ .start = BASE + (from) * PAGE, .end = BASE + (to) * PAGE, .use = HUGETEXT_USE_##use_ }

static const struct hugetext_padding off = { 0, true }, text_only = { 4 * KB, false },
				     rodata_too = { 4 * KB, true };

static enum hugetext_why pad(const struct hugetext_piece *piece, size_t nr,
			     const struct hugetext_padding *padding)
{
	return hugetext_pad(BASE, 3 * REGION, 4 * REGION, piece, nr, padding);
}

static void edges_of_mappings(void)
{
	static const struct {
		uint64_t from, to, offset;	/* pages */
		unsigned int nr;
		uint64_t edge[2];		/* regions */
	} row[] = {
		{ 512, 1536, 0, 0, { 0, 0 } },
		{ 513, 1536, 1, 1, { 1, 0 } },
		{ 512, 1537, 0, 1, { 3, 0 } },
		{ 513, 1535, 513, 2, { 1, 2 } },
		{ 1000, 1030, 488, 2, { 1, 2 } },
		/* One region holds both edges. */
		{ 513, 700, 1, 1, { 1, 0 } },
		{ 512, 700, 0, 1, { 1, 0 } },
		{ 513, 1024, 1, 1, { 1, 0 } },
		/* Not congruent. */
		{ 513, 1536, 2, 0, { 0, 0 } },
	};
	unsigned int i, k;

	for (i = 0; i < NR(row); i++) {
		uint64_t edge[2] = { 0, 0 };

		expect(hugetext_edges(row[i].from * PAGE, row[i].to * PAGE, row[i].offset * PAGE,
				      edge), row[i].nr);
		for (k = 0; k < 2; k++)
			expect(edge[k], row[i].edge[k] * REGION);
	}
}

static void whole_text_needs_nothing(void)
{
	const struct hugetext_piece one[] = { PIECE(0, 512, TEXT) };
	const struct hugetext_piece two[] = { PIECE(0, 7, TEXT), PIECE(7, 512, TEXT) };

	expect(pad(one, NR(one), &off), HUGETEXT_WHY_OK);
	expect(pad(two, NR(two), &text_only), HUGETEXT_WHY_OK);
}

static void holes_and_fillers_are_filled(void)
{
	const struct hugetext_piece piece[] = {
		PIECE(0, 1, FILLER), PIECE(1, 100, TEXT), PIECE(100, 300, HOLE),
		PIECE(300, 512, CLOSED),
	};

	expect(pad(piece, NR(piece), &off), HUGETEXT_WHY_PADDING_OFF);
	expect(pad(piece, NR(piece), &text_only), HUGETEXT_WHY_OK);
}

static void rodata_must_be_allowed(void)
{
	const struct hugetext_piece piece[] = {
		PIECE(0, 3, RODATA), PIECE(3, 500, TEXT), PIECE(500, 502, HOLE),
		PIECE(502, 512, RODATA),
	};

	expect(pad(piece, NR(piece), &text_only), HUGETEXT_WHY_RODATA);
	expect(pad(piece, NR(piece), &rodata_too), HUGETEXT_WHY_OK);
}

static void all_or_nothing(void)
{
	const struct hugetext_piece piece[] = {
		PIECE(0, 10, HOLE), PIECE(10, 500, TEXT), PIECE(500, 512, OTHER),
	};

	expect(pad(piece, NR(piece), &rodata_too), HUGETEXT_WHY_NEIGHBOUR);
}

static void gaps_within_text_stay(void)
{
	struct hugetext_piece piece[] = {
		PIECE(0, 10, RODATA), PIECE(10, 100, TEXT), PIECE(100, 101, HOLE),
		PIECE(101, 102, RODATA), PIECE(102, 512, TEXT),
	};

	expect(pad(piece, NR(piece), &rodata_too), HUGETEXT_WHY_NEIGHBOUR);
	piece[2].use = HUGETEXT_USE_TEXT;
	expect(pad(piece, NR(piece), &rodata_too), HUGETEXT_WHY_NEIGHBOUR);
	piece[3].use = HUGETEXT_USE_TEXT;
	expect(pad(piece, NR(piece), &rodata_too), HUGETEXT_WHY_OK);
}

static void more_than_the_threshold(void)
{
	const struct hugetext_piece piece[] = { PIECE(0, 2, TEXT), PIECE(2, 512, HOLE) };
	struct hugetext_padding padding = { 2 * PAGE, false };

	expect(pad(piece, NR(piece), &padding), HUGETEXT_WHY_LITTLE_TEXT);
	padding.threshold--;
	expect(pad(piece, NR(piece), &padding), HUGETEXT_WHY_OK);
	padding.threshold = REGION - 1;
	expect(pad(piece, NR(piece), &padding), HUGETEXT_WHY_LITTLE_TEXT);
}

static void never_past_the_end_of_the_file(void)
{
	const struct hugetext_piece piece[] = { PIECE(0, 100, TEXT), PIECE(100, 512, HOLE) };
	static const struct {
		uint64_t offset, size;
		enum hugetext_why why;
	} row[] = {
		{ 0, REGION, HUGETEXT_WHY_OK },
		{ 0, REGION - 1, HUGETEXT_WHY_PAST_EOF },
		{ 0, 0, HUGETEXT_WHY_PAST_EOF },
		{ REGION, 2 * REGION, HUGETEXT_WHY_OK },
		/* Nor is a page that the file fills in part. */
		{ REGION, 2 * REGION - 1, HUGETEXT_WHY_PAST_EOF },
		{ REGION, REGION, HUGETEXT_WHY_PAST_EOF },
		{ 5 * REGION, 2 * REGION, HUGETEXT_WHY_PAST_EOF },
		{ REGION + PAGE, 9 * REGION, HUGETEXT_WHY_OFFSET },
		{ -REGION, 9 * REGION, HUGETEXT_WHY_PAST_EOF },
	};
	unsigned int i;

	for (i = 0; i < NR(row); i++)
		expect(hugetext_pad(BASE, row[i].offset, row[i].size, piece, NR(piece), &text_only),
		       row[i].why);
	expect(hugetext_pad(BASE + PAGE, 0, REGION, piece, NR(piece), &text_only),
	       HUGETEXT_WHY_OFFSET);
}

int main(void)
{
	static const struct tap_test tests[] = {
		{ "edges of mappings", edges_of_mappings },
		{ "whole text needs nothing", whole_text_needs_nothing },
		{ "holes and fillers are filled", holes_and_fillers_are_filled },
		{ "read-only data must be allowed", rodata_must_be_allowed },
		{ "all or nothing", all_or_nothing },
		{ "gaps within text stay", gaps_within_text_stay },
		{ "more than the threshold", more_than_the_threshold },
		{ "never past the end of the file", never_past_the_end_of_the_file },
	};

	return tap_run(tests, NR(tests));
}
