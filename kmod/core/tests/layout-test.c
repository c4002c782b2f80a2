// SPDX-License-Identifier: GPL-2.0
/*
 * Unit tests of core/layout.
 * The expected numbers are worked out by hand from the ELF files of GNU ld
 * and lld, or counted in the plainest way by the test itself.
 */
#include <stdlib.h>
#include <string.h>

#include "../layout.h"
#include "tap.h"

#define MB	(1ULL << 20)
#define KB	1024ULL
#define TOP	(1ULL << 56)

static Elf64_Ehdr good_header(void)
{
	Elf64_Ehdr header = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB },
		.e_type = ET_DYN,
		.e_phoff = 64,
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 11,
	};

	return header;
}

static enum hugetext_why read_header(const Elf64_Ehdr *header)
{
	struct hugetext_elf elf;

	return hugetext_elf_header(header, sizeof(*header), &elf);
}

static void header_is_read(void)
{
	Elf64_Ehdr header = good_header();
	char unaligned[sizeof(header) + 1];
	struct hugetext_elf elf;

	memcpy(unaligned + 1, &header, sizeof(header));
	expect(hugetext_elf_header(unaligned + 1, sizeof(header), &elf), HUGETEXT_WHY_OK);
	expect(elf.phoff, 64);
	expect(elf.phnum, 11);
	expect(elf.dynamic, true);

	header.e_type = ET_EXEC;
	header.e_phoff = TOP;
	header.e_phnum = HUGETEXT_MAX_PHNUM;
	expect(hugetext_elf_header(&header, sizeof(header), &elf), HUGETEXT_WHY_OK);
	expect(elf.phoff, TOP);
	expect(elf.phnum, 256);
	expect(elf.dynamic, false);

	header.e_phnum = 1;
	expect(hugetext_elf_header(&header, sizeof(header), &elf), HUGETEXT_WHY_OK);
	expect(elf.phnum, 1);
}

static void header_too_short(void)
{
	Elf64_Ehdr header = good_header();
	struct hugetext_elf elf = { .phnum = 77 };
	size_t size;

	for (size = 0; size < sizeof(header); size++) {
		char *copy = malloc(size);	/* ASan sees a byte read too much */

		memcpy(copy, &header, size);
		expect(hugetext_elf_header(copy, size, &elf), HUGETEXT_WHY_BAD_HEADERS);
		free(copy);
	}
	expect(elf.phnum, 77);
}

#define with(field, value)							\
do {										\
	Elf64_Ehdr header = good_header();					\
										\
	header.field = value;							\
	expect(read_header(&header), HUGETEXT_WHY_BAD_HEADERS);			\
} while (0)

static void header_is_wrong(void)
{
	with(e_ident[0], 0x7e);
	with(e_ident[3], 'f');
	with(e_ident[EI_CLASS], ELFCLASS32);
	with(e_ident[EI_CLASS], ELFCLASSNONE);
	with(e_ident[EI_DATA], ELFDATA2MSB);
	with(e_ident[EI_DATA], ELFDATANONE);
	with(e_type, ET_REL);
	with(e_type, ET_CORE);
	with(e_type, ET_NONE);
	with(e_phentsize, sizeof(Elf64_Phdr) - 1);
	with(e_phentsize, sizeof(Elf64_Phdr) + 1);
	with(e_phentsize, 0);
	with(e_phnum, 0);
	with(e_phnum, HUGETEXT_MAX_PHNUM + 1);
	with(e_phnum, PN_XNUM);
	with(e_phoff, TOP + 1);
	with(e_phoff, UINT64_MAX);
}

static void segment_is_read(void)
{
	Elf64_Phdr phdr = {
		.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_offset = 0x1000, .p_vaddr = 0x2000,
		.p_filesz = 0x3000, .p_memsz = 0x4000, .p_align = 0x5000,
	};
	struct hugetext_segment segment;
	char unaligned[sizeof(phdr) + 1];

	memcpy(unaligned + 1, &phdr, sizeof(phdr));
	expect(hugetext_elf_segment(unaligned + 1, &segment), true);
	expect(segment.offset, 0x1000);
	expect(segment.vaddr, 0x2000);
	expect(segment.filesz, 0x3000);
	expect(segment.memsz, 0x4000);
	expect(segment.align, 0x5000);
	expect(segment.exec, true);

	phdr.p_flags = PF_R | PF_W;
	expect(hugetext_elf_segment(&phdr, &segment), true);
	expect(segment.exec, false);

	phdr.p_type = PT_GNU_STACK;
	expect(hugetext_elf_segment(&phdr, &segment), false);
	phdr.p_type = PT_PHDR;
	expect(hugetext_elf_segment(&phdr, &segment), false);
}

static enum hugetext_why add(struct hugetext_layout *layout, uint64_t vaddr, uint64_t offset,
			     uint64_t size, bool exec)
{
	struct hugetext_segment segment = {
		.vaddr = vaddr, .offset = offset, .filesz = size, .memsz = size,
		.align = HUGETEXT_PAGE_SIZE, .exec = exec,
	};

	return hugetext_layout_add(layout, &segment);
}

static void layout_of_gnu_ld(void)
{
	struct hugetext_layout layout;
	uint64_t residue = 7, regions = 7;

	hugetext_layout_init(&layout, 0);
	expect(add(&layout, 0, 0, 0x2ed48, false), HUGETEXT_WHY_OK);
	expect(add(&layout, 0x2f000, 0x2f000, 8 * MB, true), HUGETEXT_WHY_OK);
	expect(add(&layout, 0x830000, 0x830000, 0x1000, false), HUGETEXT_WHY_OK);
	expect(add(&layout, 0x832af0, 0x831af0, 0x2345, false), HUGETEXT_WHY_OK);
	expect(layout.low, 0);
	expect(layout.high, 0x832af0 + 0x2345);
	expect(layout.first_offset, 0);
	expect(layout.text_bytes, 8 * MB);
	expect(layout.nr_loads, 4);
	expect(hugetext_layout_wanted(&layout, &residue, &regions), HUGETEXT_WHY_OK);
	expect(residue, 0);
	/* From 2 MiB to 8 MiB: the ends of the segment lie inside regions. */
	expect(regions, 3);
}

static void layout_of_lld(void)
{
	struct hugetext_layout layout;
	uint64_t residue, regions;

	/* lld leaves a page of addresses between segments, and none in the file. */
	hugetext_layout_init(&layout, 0);
	expect(add(&layout, 0, 0, 0x1234, false), HUGETEXT_WHY_OK);
	expect(add(&layout, 0x2240, 0x1240, 16 * MB, true), HUGETEXT_WHY_OK);
	expect(hugetext_layout_wanted(&layout, &residue, &regions), HUGETEXT_WHY_OK);
	expect(residue, 0x1ff000);
	expect(regions, 7);
	expect((residue + 0x2240) & (2 * MB - 1), 0x1240);
}

/* Data of 64 KiB alignment: a base that is right for lld's text would break it. */
static void layout_keeps_alignments(void)
{
	struct hugetext_segment data = {
		.vaddr = 0x2000000, .offset = 0x1010000, .filesz = 100, .memsz = 100,
		.align = 0x10000,
	};
	struct hugetext_layout layout;
	uint64_t residue = 7, regions = 7;

	hugetext_layout_init(&layout, 0);
	expect(add(&layout, 0x2240, 0x1240, 16 * MB, true), HUGETEXT_WHY_OK);
	expect(hugetext_layout_add(&layout, &data), HUGETEXT_WHY_OK);
	expect(layout.max_align, 0x10000);
	expect(hugetext_layout_wanted(&layout, &residue, &regions), HUGETEXT_WHY_OFFSET);
	expect(residue, 7);
	expect(regions, 7);

	/* Other text, of which there is less, is placed right then. */
	data = (struct hugetext_segment){
		.vaddr = 0x4000000, .offset = 0x2010000, .filesz = 5 * MB, .memsz = 5 * MB,
		.align = 0x1000, .exec = true,
	};
	expect(hugetext_layout_add(&layout, &data), HUGETEXT_WHY_OK);
	expect(hugetext_layout_wanted(&layout, &residue, &regions), HUGETEXT_WHY_OK);
	expect(residue, 0x10000);
	expect(regions, 1);
}

static void layout_of_fixed_program(void)
{
	struct hugetext_layout layout;
	uint64_t residue, regions;

	hugetext_layout_init(&layout, 0);
	expect(add(&layout, 0x400000, 0, 4 * MB, true), HUGETEXT_WHY_OK);
	expect(layout.low, 0x400000);
	expect(layout.first_offset, 0);
	expect(hugetext_layout_wanted(&layout, &residue, &regions), HUGETEXT_WHY_OK);
	expect(residue, 0);
	expect(regions, 2);
}

static void layout_rounds_low_and_offset(void)
{
	struct hugetext_layout layout;

	hugetext_layout_init(&layout, 0);
	expect(add(&layout, 0x10010, 0x3010, 0x20, false), HUGETEXT_WHY_OK);
	expect(layout.low, 0x10000);
	expect(layout.first_offset, 0x3000);
	expect(layout.high, 0x10030);
}

static void memory_may_be_larger_than_file(void)
{
	struct hugetext_segment segment = {
		.vaddr = 0x1000, .filesz = 0x100, .memsz = 0x5000, .offset = 0x1000,
		.align = HUGETEXT_PAGE_SIZE, .exec = true,
	};
	struct hugetext_layout layout;

	hugetext_layout_init(&layout, 0);
	expect(hugetext_layout_add(&layout, &segment), HUGETEXT_WHY_OK);
	expect(layout.high, 0x6000);
	expect(layout.text_bytes, 0x100);
	expect(add(&layout, 0x5fff, 0x2fff, 0x1000, false), HUGETEXT_WHY_BAD_HEADERS);
	expect(add(&layout, 0x6000, 0x3000, 0x1000, false), HUGETEXT_WHY_OK);
}

static void layout_counts_whole_regions(void)
{
	static const struct {
		uint64_t offset, size, regions;
	} row[] = {
		{ 0, 2 * MB, 1 },
		{ 0, 2 * MB - 1, 1 },		/* the last page is mapped in full */
		{ 0, 2 * MB - 4 * KB, 0 },
		{ 1, 2 * MB - 1, 1 },		/* and so is the first */
		{ 4 * KB, 2 * MB, 0 },
		{ 4 * KB, 4 * MB - 4 * KB, 1 },
		{ 4 * KB, 4 * MB - 8 * KB, 0 },
		{ 2 * MB, 6 * MB + 1, 3 },
		{ 2 * MB - 1, 2 * MB + 1, 1 },
		{ 0, 0, 0 },
		{ 123 * 4 * KB, 1, 0 },
	};
	unsigned int i;

	for (i = 0; i < sizeof(row) / sizeof(*row); i++) {
		uint64_t residue, regions = 0;
		struct hugetext_layout layout;

		hugetext_layout_init(&layout, 0);
		expect(add(&layout, row[i].offset, row[i].offset, row[i].size, true),
		       HUGETEXT_WHY_OK);
		expect(hugetext_layout_wanted(&layout, &residue, &regions),
		       row[i].regions ? HUGETEXT_WHY_OK : HUGETEXT_WHY_SMALL_TEXT);
		expect(regions, row[i].regions);
	}
}

static void data_is_not_counted(void)
{
	struct hugetext_layout layout;
	uint64_t residue = 7, regions = 7;

	hugetext_layout_init(&layout, 0);
	expect(hugetext_layout_wanted(&layout, &residue, &regions), HUGETEXT_WHY_SMALL_TEXT);
	expect(add(&layout, 0, 0, 64 * MB, false), HUGETEXT_WHY_OK);
	expect(hugetext_layout_wanted(&layout, &residue, &regions), HUGETEXT_WHY_SMALL_TEXT);
	expect(layout.text_bytes, 0);
	expect(residue, 7);
	expect(regions, 7);
}

/* With padding, regions that are partly text count when that is enough text. */
static void padding_counts_edges(void)
{
	static const struct {
		uint64_t offset, size, threshold, regions;
	} row[] = {
		{ 4 * KB, 4 * MB, 0, 1 },
		{ 4 * KB, 4 * MB, 4 * KB, 2 },
		{ 4 * KB, 4 * MB, 4 * KB - 1, 3 },
		{ 4 * KB, MB, 4 * KB, 1 },
		{ 4 * KB, MB, 0, 0 },
		{ 4 * KB, MB, MB, 0 },
		{ 0, 4 * MB, 4 * KB, 2 },
		{ MB, 2 * MB, MB - 1, 2 },
		{ MB, 2 * MB, MB, 0 },
		{ 4 * KB, 2 * MB - 4 * KB, 4 * KB, 1 },
	};
	unsigned int i;

	for (i = 0; i < sizeof(row) / sizeof(*row); i++) {
		uint64_t residue, regions = 0;
		struct hugetext_layout layout;

		hugetext_layout_init(&layout, row[i].threshold);
		expect(add(&layout, row[i].offset, row[i].offset, row[i].size, true),
		       HUGETEXT_WHY_OK);
		expect(hugetext_layout_wanted(&layout, &residue, &regions),
		       row[i].regions ? HUGETEXT_WHY_OK : HUGETEXT_WHY_SMALL_TEXT);
		expect(regions, row[i].regions);
	}
}

static void most_text_wins(void)
{
	struct hugetext_layout layout;
	uint64_t residue, regions;

	hugetext_layout_init(&layout, 0);
	expect(add(&layout, 0x1000, 0, 4 * MB, true), HUGETEXT_WHY_OK);
	expect(add(&layout, 64 * MB, 8 * MB, 4 * MB, true), HUGETEXT_WHY_OK);
	expect(add(&layout, 128 * MB, 16 * MB, 2 * MB, true), HUGETEXT_WHY_OK);
	expect(add(&layout, 256 * MB + 0x3000, 32 * MB, 5 * MB, true), HUGETEXT_WHY_OK);
	expect(hugetext_layout_wanted(&layout, &residue, &regions), HUGETEXT_WHY_OK);
	/* Two segments share it: together they have three regions. */
	expect(residue, 0);
	expect(regions, 3);
	expect(layout.nr_deltas, 3);
}

static void more_deltas_than_room(void)
{
	struct hugetext_layout layout;
	uint64_t residue, regions;
	unsigned int i;

	hugetext_layout_init(&layout, 0);
	for (i = 0; i < 20; i++)
		expect(add(&layout, i * 64 * MB + i * 4 * KB, i * 8 * MB, 2 * MB, true),
		       HUGETEXT_WHY_OK);
	expect(layout.nr_deltas, HUGETEXT_MAX_DELTAS);
	expect(add(&layout, 40 * 64 * MB + 3 * 4 * KB, 400 * MB, 2 * MB, true), HUGETEXT_WHY_OK);
	expect(hugetext_layout_wanted(&layout, &residue, &regions), HUGETEXT_WHY_OK);
	expect(residue, 2 * MB - 3 * 4 * KB);
	expect(regions, 2);
}

static enum hugetext_why add_odd(uint64_t vaddr, uint64_t offset, uint64_t filesz,
				 uint64_t memsz, uint64_t align)
{
	struct hugetext_segment segment = {
		.vaddr = vaddr, .offset = offset, .filesz = filesz, .memsz = memsz,
		.align = align, .exec = true,
	};
	struct hugetext_layout layout;

	hugetext_layout_init(&layout, 0);
	return hugetext_layout_add(&layout, &segment);
}

static void segments_that_make_no_sense(void)
{
	expect(add_odd(0, 0, 1, 1, 0), HUGETEXT_WHY_OK);
	expect(add_odd(0, 0, 1, 1, 1), HUGETEXT_WHY_OK);
	expect(add_odd(0, 0, 1, 1, 2 * MB), HUGETEXT_WHY_OK);
	expect(add_odd(0, 0, 1, 1, 1ULL << 63), HUGETEXT_WHY_OK);
	expect(add_odd(0, 0, 1, 1, 3), HUGETEXT_WHY_BAD_HEADERS);
	expect(add_odd(0, 0, 1, 1, UINT64_MAX), HUGETEXT_WHY_BAD_HEADERS);

	expect(add_odd(0x1000, 0x1000, 2, 1, 0x1000), HUGETEXT_WHY_BAD_HEADERS);
	expect(add_odd(0x1000, 0x1000, 1, 2, 0x1000), HUGETEXT_WHY_OK);

	expect(add_odd(0x1010, 0x1000, 1, 1, 0), HUGETEXT_WHY_BAD_HEADERS);
	expect(add_odd(0x1000, 0x1010, 1, 1, 0x10), HUGETEXT_WHY_BAD_HEADERS);
	expect(add_odd(0x3000, 0x1000, 1, 1, 0x2000), HUGETEXT_WHY_OK);
	expect(add_odd(0x2000, 0x1000, 1, 1, 0x2000), HUGETEXT_WHY_BAD_HEADERS);
	expect(add_odd(0x1000, 0x2000, 1, 1, 1ULL << 63), HUGETEXT_WHY_BAD_HEADERS);

	expect(add_odd(TOP, 0, 1, 1, 1), HUGETEXT_WHY_OK);
	expect(add_odd(TOP + 0x1000, 0, 1, 1, 1), HUGETEXT_WHY_BAD_HEADERS);
	expect(add_odd(0, TOP, 1, 1, 1), HUGETEXT_WHY_OK);
	expect(add_odd(0, TOP + 0x1000, 1, 1, 1), HUGETEXT_WHY_BAD_HEADERS);
	expect(add_odd(0, 0, TOP, TOP, 1), HUGETEXT_WHY_OK);
	expect(add_odd(0, 0, 1, TOP + 1, 1), HUGETEXT_WHY_BAD_HEADERS);
	expect(add_odd(-4096ULL, -4096ULL, 4096, 4096, 1), HUGETEXT_WHY_BAD_HEADERS);
}

static void segments_in_a_wrong_order(void)
{
	struct hugetext_layout layout;

	hugetext_layout_init(&layout, 0);
	expect(add(&layout, 0x10000, 0x10000, 0x1000, false), HUGETEXT_WHY_OK);
	expect(add(&layout, 0x10000, 0x10000, 0x1000, true), HUGETEXT_WHY_BAD_HEADERS);
	expect(add(&layout, 0x10fff, 0x10fff, 0x1000, true), HUGETEXT_WHY_BAD_HEADERS);
	expect(add(&layout, 0x1000, 0x1000, 0x1000, true), HUGETEXT_WHY_BAD_HEADERS);
	expect(add(&layout, 0x11000, 0x11000, 0x1000, true), HUGETEXT_WHY_OK);
	expect(layout.nr_loads, 2);
}

/* How many whole regions a base with @residue gives, counted one by one. */
static uint64_t count_regions(const struct hugetext_segment *segment, unsigned int nr,
			      uint64_t residue)
{
	uint64_t sum = 0, offset, end, address;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (!segment[i].exec || !segment[i].filesz)
			continue;
		end = segment[i].offset + segment[i].filesz;
		for (offset = 0; offset < end; offset += 2 * MB) {
			address = offset - segment[i].offset + segment[i].vaddr + residue;
			if (address % (2 * MB))
				continue;
			/* Its first and its last page belong to the segment. */
			if (offset / (4 * KB) >= segment[i].offset / (4 * KB) &&
			    (offset + 2 * MB - 1) / (4 * KB) <= (end - 1) / (4 * KB))
				sum++;
		}
	}
	return sum;
}

static void no_base_is_better(void)
{
	struct hugetext_segment segment[4];
	uint64_t residue, regions, best, count, vaddr, offset;
	unsigned int seed = 1, round, i, page;

	for (round = 0; round < 3000; round++) {
		struct hugetext_layout layout;

		hugetext_layout_init(&layout, 0);
		vaddr = offset = 0;
		for (i = 0; i < 4; i++) {
			uint64_t inside = rand_r(&seed) % 3 ? 0 : rand_r(&seed) % 4096;

			vaddr += rand_r(&seed) % 3 * 4096;
			segment[i] = (struct hugetext_segment) {
				.vaddr = vaddr + inside,
				.offset = offset + inside,
				.filesz = rand_r(&seed) % (9 * MB),
				.align = 4096,
				.exec = rand_r(&seed) % 4,
			};
			segment[i].memsz = segment[i].filesz;
			vaddr = (segment[i].vaddr + segment[i].memsz + 4095) & ~4095ULL;
			offset = (segment[i].offset + segment[i].filesz + 4095) & ~4095ULL;
			expect(hugetext_layout_add(&layout, &segment[i]), HUGETEXT_WHY_OK);
		}
		best = 0;
		for (page = 0; page < 512; page++) {
			count = count_regions(segment, 4, page * 4096);
			best = count > best ? count : best;
		}
		residue = regions = 0;
		expect(hugetext_layout_wanted(&layout, &residue, &regions),
		       best ? HUGETEXT_WHY_OK : HUGETEXT_WHY_SMALL_TEXT);
		expect(regions, best);
		if (best)
			expect(count_regions(segment, 4, residue), best);
	}
}

static void whole_regions_of_mappings(void)
{
	static const struct {
		uint64_t start, end, offset, first, last;
		enum hugetext_why why;
	} row[] = {
		{ 2 * MB, 4 * MB, 0, 2 * MB, 4 * MB, HUGETEXT_WHY_OK },
		{ 2 * MB, 4 * MB, 2 * MB, 2 * MB, 4 * MB, HUGETEXT_WHY_OK },
		{ 3 * MB, 9 * MB, 1 * MB, 4 * MB, 8 * MB, HUGETEXT_WHY_OK },
		{ 0x1ff000, 4 * MB, 0x3ff000, 2 * MB, 4 * MB, HUGETEXT_WHY_OK },
		{ 2 * MB, 4 * MB - 4096, 0, 7, 7, HUGETEXT_WHY_NO_REGION },
		{ 2 * MB, 4 * MB, 4096, 7, 7, HUGETEXT_WHY_NO_REGION },
		{ 3 * MB, 5 * MB, 1 * MB, 7, 7, HUGETEXT_WHY_NO_REGION },
		{ 2 * MB + 4096, 4 * MB + 4096, 0, 7, 7, HUGETEXT_WHY_OFFSET },
		{ 2 * MB, 6 * MB, 1 * MB, 7, 7, HUGETEXT_WHY_OFFSET },
		{ 0x7f0000000000, 0x7f0040000000, 1ULL << 40, 0x7f0000000000, 0x7f0040000000,
		  HUGETEXT_WHY_OK },
	};
	unsigned int i;

	for (i = 0; i < sizeof(row) / sizeof(*row); i++) {
		uint64_t first = 7, last = 7;

		expect(hugetext_whole_regions(row[i].start, row[i].end, row[i].offset,
					      &first, &last), row[i].why);
		expect(first, row[i].first);
		expect(last, row[i].last);
	}
}

static void reasons_have_words(void)
{
	static const char *const words[] = {
#define WORD(name, word, passing, text, change) word,
		HUGETEXT_WHY_TABLE(WORD)
	};
	unsigned int i, j;

	expect(sizeof(words) / sizeof(*words), HUGETEXT_WHY_NR);
	expect(HUGETEXT_WHY_OK, 0);
	for (i = 0; i < HUGETEXT_WHY_NR; i++) {
		expect(strspn(words[i], "abcdefghijklmnopqrstuvwxyz_"), strlen(words[i]));
		for (j = 0; j < i; j++)
			expect(strcmp(words[i], words[j]) == 0, false);
	}
}

int main(void)
{
	static const struct tap_test tests[] = {
		{ "layout: a header is read", header_is_read },
		{ "layout: a short header is refused", header_too_short },
		{ "layout: a wrong header is refused", header_is_wrong },
		{ "layout: a segment is read", segment_is_read },
		{ "layout: GNU ld", layout_of_gnu_ld },
		{ "layout: lld", layout_of_lld },
		{ "layout: every alignment is kept", layout_keeps_alignments },
		{ "layout: a program at a fixed address", layout_of_fixed_program },
		{ "layout: lowest address and offset are rounded", layout_rounds_low_and_offset },
		{ "layout: more memory than file", memory_may_be_larger_than_file },
		{ "layout: whole regions are counted", layout_counts_whole_regions },
		{ "layout: data is not counted", data_is_not_counted },
		{ "padding counts edges", padding_counts_edges },
		{ "layout: most text wins", most_text_wins },
		{ "layout: more deltas than there is room for", more_deltas_than_room },
		{ "layout: senseless segments are refused", segments_that_make_no_sense },
		{ "layout: overlaps and wrong order are refused", segments_in_a_wrong_order },
		{ "layout: no other base is better (3000 files)", no_base_is_better },
		{ "layout: whole regions of mappings", whole_regions_of_mappings },
		{ "why: each reason has a word of its own", reasons_have_words },
	};

	return tap_run(tests, sizeof(tests) / sizeof(*tests));
}
