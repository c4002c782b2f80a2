// SPDX-License-Identifier: GPL-2.0
/*
 * From program headers to congruence and regions.
 * Every number comes from a file that an attacker may have written: nothing
 * here indexes with one, and every sum is checked before it is made.
 */
#ifdef __KERNEL__
#include <linux/string.h>
#else
#include <string.h>
#endif

#include "layout.h"

#define REGION_MASK	(HUGETEXT_REGION_SIZE - 1)
#define PAGE_OFFSET_MASK	(HUGETEXT_PAGE_SIZE - 1)

/* No user address reaches 2^56; keeps every sum below far from wrapping. */
#define HIGHEST_ADDRESS	(1ULL << 56)

static uint64_t region_down(uint64_t x)
{
	return x & ~REGION_MASK;
}

static uint64_t region_up(uint64_t x)
{
	return region_down(x + REGION_MASK);
}

enum hugetext_why hugetext_elf_header(const void *buf, size_t size, struct hugetext_elf *elf)
{
	Elf64_Ehdr ehdr;

	if (size < sizeof(ehdr))
		return HUGETEXT_WHY_BAD_HEADERS;
	memcpy(&ehdr, buf, sizeof(ehdr));

	if (memcmp(ehdr.e_ident, ELFMAG, SELFMAG) != 0 ||
	    ehdr.e_ident[EI_CLASS] != ELFCLASS64)
		return HUGETEXT_WHY_BAD_HEADERS;
#ifdef __BYTE_ORDER__
	if (ehdr.e_ident[EI_DATA] !=
	    (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB))
		return HUGETEXT_WHY_BAD_HEADERS;
#endif
	if (ehdr.e_type != ET_DYN && ehdr.e_type != ET_EXEC)
		return HUGETEXT_WHY_BAD_HEADERS;
	if (ehdr.e_phentsize != sizeof(Elf64_Phdr))
		return HUGETEXT_WHY_BAD_HEADERS;
	if (ehdr.e_phnum < 1 || ehdr.e_phnum > HUGETEXT_MAX_PHNUM)
		return HUGETEXT_WHY_BAD_HEADERS;
	if (ehdr.e_phoff > HIGHEST_ADDRESS)
		return HUGETEXT_WHY_BAD_HEADERS;

	elf->phoff = ehdr.e_phoff;
	elf->phnum = ehdr.e_phnum;
	elf->dynamic = ehdr.e_type == ET_DYN;
	return HUGETEXT_WHY_OK;
}

bool hugetext_elf_segment(const void *buf, struct hugetext_segment *segment)
{
	Elf64_Phdr phdr;

	memcpy(&phdr, buf, sizeof(phdr));
	if (phdr.p_type != PT_LOAD)
		return false;

	segment->offset = phdr.p_offset;
	segment->vaddr = phdr.p_vaddr;
	segment->filesz = phdr.p_filesz;
	segment->memsz = phdr.p_memsz;
	segment->align = phdr.p_align;
	segment->exec = phdr.p_flags & PF_X;
	return true;
}

void hugetext_layout_init(struct hugetext_layout *layout, uint64_t pad_threshold)
{
	memset(layout, 0, sizeof(*layout));
	layout->pad_threshold = pad_threshold;
}

static bool segment_makes_sense(const struct hugetext_segment *segment)
{
	uint64_t difference = segment->vaddr - segment->offset;

	if (segment->offset > HIGHEST_ADDRESS || segment->vaddr > HIGHEST_ADDRESS ||
	    segment->memsz > HIGHEST_ADDRESS || segment->filesz > segment->memsz)
		return false;
	if (segment->align & (segment->align - 1))
		return false;
	if (difference & PAGE_OFFSET_MASK)
		return false;
	return segment->align <= 1 || !(difference & (segment->align - 1));
}

static void add_regions(struct hugetext_layout *layout, uint64_t delta, uint64_t regions)
{
	unsigned int i;

	for (i = 0; i < layout->nr_deltas; i++) {
		if (layout->delta[i].delta == delta) {
			layout->delta[i].regions += regions;
			return;
		}
	}
	/* Beyond the table: the text of stranger files stays where it is. */
	if (i == HUGETEXT_MAX_DELTAS)
		return;
	layout->delta[i].delta = delta;
	layout->delta[i].regions = regions;
	layout->nr_deltas++;
}

/* Will a region with so much text be filled up, as far as that is possible? */
static bool is_padded(const struct hugetext_layout *layout, uint64_t text)
{
	return layout->pad_threshold && text > layout->pad_threshold;
}

/* The regions of the pages from @start to @end of the file, at the best address. */
static uint64_t count_regions(const struct hugetext_layout *layout, uint64_t start, uint64_t end)
{
	uint64_t first = region_up(start), last = region_down(end);

	if (first > last)
		return is_padded(layout, end - start);
	return (last - first) / HUGETEXT_REGION_SIZE + is_padded(layout, first - start) +
	       is_padded(layout, end - last);
}

enum hugetext_why hugetext_layout_add(struct hugetext_layout *layout,
				      const struct hugetext_segment *segment)
{
	uint64_t low, regions;

	if (!segment_makes_sense(segment))
		return HUGETEXT_WHY_BAD_HEADERS;

	low = segment->vaddr & ~PAGE_OFFSET_MASK;
	if (!layout->nr_loads) {
		layout->low = low;
		layout->first_offset = segment->offset & ~PAGE_OFFSET_MASK;
	} else if (segment->vaddr < layout->high) {
		return HUGETEXT_WHY_BAD_HEADERS;
	}
	layout->high = segment->vaddr + segment->memsz;
	layout->nr_loads++;
	if (segment->align > layout->max_align)
		layout->max_align = segment->align;

	if (!segment->exec || !segment->filesz)
		return HUGETEXT_WHY_OK;

	layout->text_bytes += segment->filesz;
	regions = count_regions(layout, segment->offset & ~PAGE_OFFSET_MASK,
				(segment->offset + segment->filesz + PAGE_OFFSET_MASK) &
				~PAGE_OFFSET_MASK);
	if (regions)
		add_regions(layout, (segment->offset - segment->vaddr) & REGION_MASK, regions);
	return HUGETEXT_WHY_OK;
}

enum hugetext_why hugetext_layout_wanted(const struct hugetext_layout *layout,
					 uint64_t *residue, uint64_t *regions)
{
	uint64_t below_align = layout->max_align ? layout->max_align - 1 : 0;
	uint64_t most = 0;
	unsigned int i;

	if (!layout->nr_deltas)
		return HUGETEXT_WHY_SMALL_TEXT;

	for (i = 0; i < layout->nr_deltas; i++) {
		if (layout->delta[i].delta & below_align || layout->delta[i].regions <= most)
			continue;
		most = layout->delta[i].regions;
		*residue = layout->delta[i].delta;
		*regions = most;
	}
	return most ? HUGETEXT_WHY_OK : HUGETEXT_WHY_OFFSET;
}

enum hugetext_why hugetext_whole_regions(uint64_t start, uint64_t end, uint64_t offset,
					 uint64_t *first, uint64_t *last)
{
	uint64_t length = end - start;

	if (region_down(offset + length) < region_up(offset) + HUGETEXT_REGION_SIZE)
		return HUGETEXT_WHY_NO_REGION;
	if ((start - offset) & REGION_MASK)
		return HUGETEXT_WHY_OFFSET;

	*first = region_up(start);
	*last = region_down(end);
	return HUGETEXT_WHY_OK;
}
