// SPDX-License-Identifier: GPL-2.0
/*
 * Read a process's mappings and page tables into a flat text map.
 * The mmap lock is all it takes, for reading, and only if it is free: whoever
 * holds it is changing the mappings, and they are looked at again later.
 */
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/pgtable.h>

#include "hugetext.h"
#include "vma.h"

/* Looked at in one hold of the mmap lock: mappings and regions, of these 2 GiB of text. */
#define MAX_LOOKS	1024

/* The entry for the 2 MiB region at @addr, or one that is none. Mmap lock held for reading. */
static pmd_t region_entry(struct mm_struct *mm, unsigned long addr)
{
	pgd_t *pgd = pgd_offset(mm, addr);
	p4d_t *p4d;
	pud_t *pud;

	if (pgd_none(*pgd) || pgd_bad(*pgd))
		return __pmd(0);
	p4d = p4d_offset(pgd, addr);
	if (p4d_none(*p4d) || p4d_bad(*p4d))
		return __pmd(0);
	pud = pud_offset(p4d, addr);
	if (!pud_present(*pud) || pud_bad(*pud))
		return __pmd(0);
	return hugetext_read_pmd(pmd_offset(pud, addr));
}

bool hugetext_region_is_huge(struct mm_struct *mm, unsigned long addr)
{
	pmd_t pmd = region_entry(mm, addr);

	return pmd_present(pmd) && pmd_trans_huge(pmd);
}

bool hugetext_region_is_untouched(struct mm_struct *mm, unsigned long addr)
{
	return pmd_none(region_entry(mm, addr));
}

static bool map_is_full(const struct hugetext_text_map *map)
{
	return map->nr == HUGETEXT_MAP_EXTENTS;
}

/* Add a run to the map, joining it to the last one of the same state. */
static void add(struct hugetext_text_map *map, unsigned long start, unsigned long end,
		unsigned long offset, bool huge, enum hugetext_why why)
{
	struct hugetext_extent *last = map->nr ? &map->extent[map->nr - 1] : NULL;

	if (last && last->end == start && last->huge == huge && last->why == why &&
	    last->offset + (last->end - last->start) == offset) {
		last->end = end;
		return;
	}
	map->extent[map->nr++] = (struct hugetext_extent){
		.start = start, .end = end, .offset = offset, .huge = huge, .why = why,
	};
}

/* What stands against all of a text mapping. */
static enum hugetext_why why_not_mapping(struct vm_area_struct *vma)
{
	enum hugetext_why why = hugetext_vma_why(vma);

	return why == HUGETEXT_WHY_OK ? hugetext_mechanism_file_why(vma->vm_file) : why;
}

/*
 * Pages past the end of the file are SIGBUS; nor is the end itself ever huge. The
 * address where regions of the mapping that are all in the file end.
 */
static unsigned long end_in_file(struct vm_area_struct *vma)
{
	uint64_t size = round_down(i_size_read(file_inode(vma->vm_file)), PAGE_SIZE);
	uint64_t offset = (uint64_t)vma->vm_pgoff << PAGE_SHIFT;

	if (size <= offset)
		return vma->vm_start;
	return round_down(min_t(uint64_t, vma->vm_end, vma->vm_start + (size - offset)),
			  HUGETEXT_REGION_SIZE);
}

/*
 * Returns the address to go on from when the map is full or this was enough
 * for one hold of the mmap lock, else 0. Each look takes one of *@left.
 */
static unsigned long survey_vma(struct vm_area_struct *vma, unsigned long from, unsigned long to,
				unsigned int *left, struct hugetext_text_map *map)
{
	unsigned long offset = vma->vm_pgoff << PAGE_SHIFT;
	unsigned long addr, in_file;
	uint64_t first, last;
	enum hugetext_why why;

	if (map_is_full(map))
		return max(from, vma->vm_start);

	why = hugetext_vma_regions(vma, &first, &last);
	if (why != HUGETEXT_WHY_OK) {
		add(map, vma->vm_start, vma->vm_end, offset, false, why);
		return 0;
	}

	why = why_not_mapping(vma);
	in_file = clamp_t(unsigned long, end_in_file(vma), first, last);
	for (addr = round_up(max_t(unsigned long, first, from), HUGETEXT_REGION_SIZE);
	     addr < in_file && addr < to; addr += HUGETEXT_REGION_SIZE) {
		if (map_is_full(map) || !*left)
			return addr;
		--*left;
		add(map, addr, addr + HUGETEXT_REGION_SIZE, offset + (addr - vma->vm_start),
		    hugetext_region_is_huge(vma->vm_mm, addr), why);
	}
	if (addr < last && addr < to) {
		if (map_is_full(map))
			return addr;
		add(map, addr, last, offset + (addr - vma->vm_start), false,
		    why == HUGETEXT_WHY_OK ? HUGETEXT_WHY_PAST_EOF : why);
	}
	return 0;
}

/* As survey_vma(), for people: all of the mapping, with the regions at its edges. */
static unsigned long explain_vma(struct vm_area_struct *vma, unsigned long from,
				 unsigned int *left, struct hugetext_text_map *map)
{
	unsigned long base = hugetext_vma_base(vma), in_file = end_in_file(vma);
	unsigned long addr, next;
	enum hugetext_why of_mapping;
	uint64_t first, last;

	if (map_is_full(map))
		return max(from, vma->vm_start);
	if (base % HUGETEXT_REGION_SIZE) {
		add(map, vma->vm_start, vma->vm_end, vma->vm_start - base, false,
		    hugetext_vma_regions(vma, &first, &last));
		return 0;
	}

	of_mapping = why_not_mapping(vma);
	/* What the file lacks then is no news. */
	if (!(READ_ONCE(hugetext_settings.enabled) & HUGETEXT_FILE) &&
	    hugetext_vma_why(vma) == HUGETEXT_WHY_OK)
		of_mapping = HUGETEXT_WHY_OFF;
	for (addr = max(from, vma->vm_start); addr < vma->vm_end; addr = next) {
		unsigned long region = round_down(addr, HUGETEXT_REGION_SIZE);
		enum hugetext_why why = of_mapping;
		bool whole, huge;

		next = min(region + HUGETEXT_REGION_SIZE, vma->vm_end);
		if (map_is_full(map) || !*left)
			return addr;
		--*left;
		whole = next - addr == HUGETEXT_REGION_SIZE;
		huge = whole && hugetext_region_is_huge(vma->vm_mm, addr);
		if (why == HUGETEXT_WHY_OK && !whole)
			why = hugetext_pad_why(vma, region);
		if (why == HUGETEXT_WHY_OK && whole && addr >= in_file) {
			why = HUGETEXT_WHY_PAST_EOF;
			next = round_down(vma->vm_end, HUGETEXT_REGION_SIZE);
		}
		if (why == HUGETEXT_WHY_OK && !huge &&
		    hugetext_mechanism_minds_writers(file_inode(vma->vm_file)) &&
		    inode_is_open_for_write(file_inode(vma->vm_file)))
			why = HUGETEXT_WHY_OPEN_FOR_WRITE;
		add(map, addr, next, addr - base, huge, why);
	}
	return 0;
}

/* The text mappings of a process, one after the other: regions alone, or all for people. */
static enum hugetext_why survey(struct mm_struct *mm, unsigned long from, unsigned long to,
				bool for_people, struct hugetext_text_map *map)
{
	VMA_ITERATOR(vmi, mm, from);
	struct vm_area_struct *vma;
	unsigned int left = MAX_LOOKS;

	if (!mmap_read_trylock(mm))
		return HUGETEXT_WHY_MMAP_LOCK;

	map->nr = 0;
	map->next = 0;
	for_each_vma(vmi, vma) {
		if (vma->vm_start >= to)
			break;
		/* The first mapping always gets a look, or there would be no end. */
		if (left <= 1) {
			map->next = max(from, vma->vm_start);
			break;
		}
		left--;
		if (!hugetext_vma_is_text(vma))
			continue;
		if (for_people)
			map->next = explain_vma(vma, from, &left, map);
		else if (vma->vm_end - vma->vm_start >= HUGETEXT_REGION_SIZE)
			map->next = survey_vma(vma, from, to, &left, map);
		if (map->next)
			break;
	}
	mmap_read_unlock(mm);
	return HUGETEXT_WHY_OK;
}

enum hugetext_why hugetext_survey(struct mm_struct *mm, unsigned long from, unsigned long to,
				  struct hugetext_text_map *map)
{
	return survey(mm, from, to, false, map);
}

enum hugetext_why hugetext_explain(struct mm_struct *mm, unsigned long from,
				   struct hugetext_text_map *map)
{
	return survey(mm, from, TASK_SIZE_MAX, true, map);
}
