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

/* Looked at in one hold of the mmap lock: 2 GiB of text. */
#define MAX_REGIONS	1024

/* Is the 2 MiB region at @addr mapped by one PMD? Mmap lock held for reading. */
static bool region_is_huge(struct mm_struct *mm, unsigned long addr)
{
	pgd_t *pgd = pgd_offset(mm, addr);
	p4d_t *p4d;
	pud_t *pud;
	pmd_t pmd;

	if (pgd_none(*pgd) || pgd_bad(*pgd))
		return false;
	p4d = p4d_offset(pgd, addr);
	if (p4d_none(*p4d) || p4d_bad(*p4d))
		return false;
	pud = pud_offset(p4d, addr);
	if (!pud_present(*pud) || pud_bad(*pud))
		return false;
	pmd = hugetext_read_pmd(pmd_offset(pud, addr));
	return pmd_present(pmd) && pmd_trans_huge(pmd);
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

/*
 * Returns the address to go on from when the map is full or this was enough
 * for one hold of the mmap lock, else 0.
 */
static unsigned long survey_vma(struct vm_area_struct *vma, unsigned long from, unsigned long to,
				struct hugetext_text_map *map)
{
	unsigned long offset = vma->vm_pgoff << PAGE_SHIFT;
	unsigned long addr, in_file, regions = 0;
	uint64_t first, last, size;
	enum hugetext_why why;

	if (map_is_full(map))
		return max(from, vma->vm_start);

	why = hugetext_vma_regions(vma, &first, &last);
	if (why != HUGETEXT_WHY_OK) {
		add(map, vma->vm_start, vma->vm_end, offset, false, why);
		return 0;
	}

	why = hugetext_vma_why(vma);
	if (why == HUGETEXT_WHY_OK)
		why = hugetext_mechanism_file_why(vma->vm_file);

	/* Pages past the end of the file are SIGBUS; nor is the end itself ever huge. */
	size = round_down(i_size_read(file_inode(vma->vm_file)), PAGE_SIZE);
	in_file = size > offset ? min_t(uint64_t, last, vma->vm_start + (size - offset)) : first;
	in_file = max_t(unsigned long, first, round_down(in_file, HUGETEXT_REGION_SIZE));

	for (addr = round_up(max_t(unsigned long, first, from), HUGETEXT_REGION_SIZE);
	     addr < in_file && addr < to; addr += HUGETEXT_REGION_SIZE) {
		if (map_is_full(map) || regions++ == MAX_REGIONS)
			return addr;
		add(map, addr, addr + HUGETEXT_REGION_SIZE, offset + (addr - vma->vm_start),
		    region_is_huge(vma->vm_mm, addr), why);
	}
	if (addr < last && addr < to) {
		if (map_is_full(map))
			return addr;
		add(map, addr, last, offset + (addr - vma->vm_start), false,
		    why == HUGETEXT_WHY_OK ? HUGETEXT_WHY_PAST_EOF : why);
	}
	return 0;
}

enum hugetext_why hugetext_survey(struct mm_struct *mm, unsigned long from, unsigned long to,
				  struct hugetext_text_map *map)
{
	VMA_ITERATOR(vmi, mm, from);
	struct vm_area_struct *vma;

	if (!mmap_read_trylock(mm))
		return HUGETEXT_WHY_MMAP_LOCK;

	map->nr = 0;
	map->next = 0;
	for_each_vma(vmi, vma) {
		if (vma->vm_start >= to)
			break;
		if (!hugetext_vma_is_text(vma) ||
		    vma->vm_end - vma->vm_start < HUGETEXT_REGION_SIZE)
			continue;
		map->next = survey_vma(vma, from, to, map);
		if (map->next)
			break;
	}
	mmap_read_unlock(mm);
	return HUGETEXT_WHY_OK;
}
