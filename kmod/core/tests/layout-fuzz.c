// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzer of core/layout, core/pad and core/plan: bytes taken for the start of a file.
 * Beyond not crashing, what comes out must keep its promises.
 */
#include <stdlib.h>
#include <string.h>

#include "../pad.h"
#include "../plan.h"

#define REGION_MASK	(HUGETEXT_REGION_SIZE - 1)
#define PAGE_OFFSET	(HUGETEXT_PAGE_SIZE - 1)
#define MAX_EXTENTS	64

#define must(condition)		\
do {				\
	if (!(condition))	\
		abort();	\
} while (0)

static void check_layout(const struct hugetext_layout *layout)
{
	uint64_t residue, regions, total = 0;
	unsigned int i;

	must(layout->nr_deltas <= HUGETEXT_MAX_DELTAS);
	must(layout->nr_deltas <= layout->nr_loads);
	must(!layout->nr_loads || layout->low <= layout->high);
	must(!(layout->low & PAGE_OFFSET) && !(layout->first_offset & PAGE_OFFSET));
	for (i = 0; i < layout->nr_deltas; i++)
		total += layout->delta[i].regions;
	/* The first and the last page of a segment count in full, or both its edges. */
	must(total * HUGETEXT_REGION_SIZE <= layout->text_bytes +
	     2 * (layout->pad_threshold ? HUGETEXT_REGION_SIZE : HUGETEXT_PAGE_SIZE) *
	     layout->nr_loads);

	switch (hugetext_layout_wanted(layout, &residue, &regions)) {
	case HUGETEXT_WHY_OK:
		break;
	case HUGETEXT_WHY_OFFSET:
		must(total && layout->max_align > HUGETEXT_PAGE_SIZE);
		return;
	default:
		must(!total);
		return;
	}
	must(!layout->max_align || !(residue & (layout->max_align - 1)));
	must(residue < HUGETEXT_REGION_SIZE && !(residue & PAGE_OFFSET));
	must(regions && regions <= total);
}

static void fuzz_headers(const uint8_t *data, size_t size, uint64_t pad_threshold)
{
	struct hugetext_segment segment;
	struct hugetext_layout layout;
	struct hugetext_elf elf;
	unsigned int i;

	if (hugetext_elf_header(data, size, &elf) != HUGETEXT_WHY_OK)
		return;
	must(elf.phnum >= 1 && elf.phnum <= HUGETEXT_MAX_PHNUM);
	hugetext_layout_init(&layout, pad_threshold);
	for (i = 0; i < elf.phnum; i++) {
		uint64_t at = elf.phoff + i * sizeof(Elf64_Phdr);

		if (at > size || size - at < sizeof(Elf64_Phdr))
			break;
		if (hugetext_elf_segment(data + at, &segment) &&
		    hugetext_layout_add(&layout, &segment) != HUGETEXT_WHY_OK)
			break;
	}
	check_layout(&layout);
}

/* The next number of at most @bits bits from the bytes, or 0. */
static uint64_t take(const uint8_t **data, size_t *size, unsigned int bits)
{
	uint64_t number = 0;
	size_t length = *size < sizeof(number) ? *size : sizeof(number);

	memcpy(&number, *data, length);
	*data += length;
	*size -= length;
	return number & ((1ULL << bits) - 1);
}

static void fuzz_mapping(const uint8_t *data, size_t size)
{
	uint64_t start = take(&data, &size, 56) & ~PAGE_OFFSET;
	uint64_t end = start + ((take(&data, &size, 40) & ~PAGE_OFFSET) | HUGETEXT_PAGE_SIZE);
	uint64_t offset = take(&data, &size, 56) & ~PAGE_OFFSET;
	uint64_t first, last;

	switch (hugetext_whole_regions(start, end, offset, &first, &last)) {
	case HUGETEXT_WHY_OK:
		must(start <= first && first < last && last <= end);
		must(!(first & REGION_MASK) && !(last & REGION_MASK));
		must(!((offset + (first - start)) & REGION_MASK));
		must(first - start < HUGETEXT_REGION_SIZE && end - last < HUGETEXT_REGION_SIZE);
		break;
	case HUGETEXT_WHY_OFFSET:
		must((start - offset) & REGION_MASK);
		must(end - start >= HUGETEXT_REGION_SIZE);
		break;
	case HUGETEXT_WHY_NO_REGION:
		must(end - start < 2 * HUGETEXT_REGION_SIZE);
		break;
	default:
		abort();
	}
}

/* Each byte is an extent: length, a gap or none, huge, a reason. */
static size_t make_map(const uint8_t *data, size_t size, struct hugetext_extent *map)
{
	uint64_t at = HUGETEXT_REGION_SIZE;
	size_t i;

	for (i = 0; i < size && i < MAX_EXTENTS; i++) {
		at += data[i] & 1 ? HUGETEXT_REGION_SIZE : 0;
		map[i].start = at;
		at += (1 + (data[i] >> 1 & 3)) * HUGETEXT_REGION_SIZE;
		map[i].end = at;
		map[i].offset = 0;
		map[i].huge = data[i] >> 3 & 1;
		map[i].why = data[i] & 0x10 ? (data[i] >> 5) % HUGETEXT_WHY_NR : HUGETEXT_WHY_OK;
	}
	return i;
}

static void fuzz_plan(const uint8_t *data, size_t size)
{
	struct hugetext_extent map[MAX_EXTENTS];
	struct hugetext_action action[MAX_EXTENTS];
	uint64_t small = 0, planned = 0, before = 0;
	size_t i, a = 0, nr = make_map(data, size, map);
	size_t actions = hugetext_plan(map, nr, action, MAX_EXTENTS);
	size_t max = size ? data[0] % MAX_EXTENTS : 0;

	must(actions <= nr);
	for (i = 0; i < actions; i++) {
		/* Ascending, never touching: touching ones are joined. */
		must(action[i].start > before && action[i].start < action[i].end);
		before = action[i].end;
		planned += action[i].end - action[i].start;
	}
	for (i = 0; i < nr; i++) {
		if (map[i].huge || map[i].why != HUGETEXT_WHY_OK)
			continue;
		small += map[i].end - map[i].start;
		while (a < actions && action[a].end <= map[i].start)
			a++;
		must(a < actions && action[a].start <= map[i].start &&
		     map[i].end <= action[a].end);
	}
	must(small == planned);
	must(hugetext_plan(map, nr, action, max) == (actions < max ? actions : max));
}

/* Each byte is a piece: its use, and its length in steps of 4 pages; the last takes the rest. */
static size_t make_pieces(const uint8_t *data, size_t size, uint64_t region,
			  struct hugetext_piece *piece)
{
	uint64_t at = region, end = region + HUGETEXT_REGION_SIZE;
	size_t nr = 0;

	while (at < end) {
		uint8_t byte = nr < size && nr < MAX_EXTENTS - 1 ? data[nr] : 0;
		uint64_t length = ((byte >> 3) * 4 + 4) * HUGETEXT_PAGE_SIZE;

		piece[nr].start = at;
		at = nr >= size || nr == MAX_EXTENTS - 1 || length > end - at ? end : at + length;
		piece[nr].end = at;
		piece[nr].use = (byte & 7) % (HUGETEXT_USE_OTHER + 1);
		nr++;
	}
	return nr;
}

static void fuzz_pad(const uint8_t *data, size_t size)
{
	uint64_t region = (take(&data, &size, 20) + 1) * HUGETEXT_REGION_SIZE;
	uint64_t offset = take(&data, &size, 56) & ~REGION_MASK;
	uint64_t file_size = take(&data, &size, 57);
	struct hugetext_padding padding = {
		.threshold = take(&data, &size, 21), .rodata = size & 1,
	};
	struct hugetext_piece piece[MAX_EXTENTS];
	size_t nr = make_pieces(data, size, region, piece), i;
	uint64_t of_use[HUGETEXT_USE_OTHER + 1] = { 0 };

	for (i = 0; i < nr; i++)
		of_use[piece[i].use] += piece[i].end - piece[i].start;
	if (hugetext_pad(region, offset, file_size, piece, nr, &padding) != HUGETEXT_WHY_OK ||
	    of_use[HUGETEXT_USE_TEXT] == HUGETEXT_REGION_SIZE)
		return;
	must(!of_use[HUGETEXT_USE_OTHER] && (padding.rodata || !of_use[HUGETEXT_USE_RODATA]));
	must(padding.threshold && of_use[HUGETEXT_USE_TEXT] > padding.threshold);
	must(offset + HUGETEXT_REGION_SIZE <= file_size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_headers(data, size, 0);
	fuzz_headers(data, size, size % HUGETEXT_REGION_SIZE);
	fuzz_pad(data, size);
	fuzz_mapping(data, size);
	fuzz_plan(data, size);
	return 0;
}
