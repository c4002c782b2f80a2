// SPDX-License-Identifier: GPL-2.0
/*
 * Carry out a plan: the only room that changes a process.
 * All it does to one goes through do_madvise(), which takes the locks and
 * makes the checks that it makes for the process itself.
 */
#include <linux/file.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/mmap_lock.h>
#include <linux/sched/mm.h>

#include "hugetext.h"
#include "trace.h"
#include "vma.h"

/*
 * One call collapses at most so many regions, so that khugetextd looks up
 * now and then whether it should stop. Each call costs the kernel a visit to
 * every CPU, which is why it is not one.
 */
#define REGIONS_AT_ONCE	16

/* Room for a look at what one call did. khugetextd alone uses it. */
static struct hugetext_text_map after;

/* A piece of an action that lies in one mapping, and that mapping's file. */
struct piece {
	unsigned long start;
	unsigned long end;
	struct file *file;
};

/* Things change between plan and action: look at the mapping again, keep its file. */
static enum hugetext_why take_piece(struct mm_struct *mm, unsigned long start, unsigned long end,
				    struct piece *piece)
{
	enum hugetext_why why = HUGETEXT_WHY_NO_REGION;
	struct vm_area_struct *vma;
	uint64_t first, last;

	if (!mmap_read_trylock(mm))
		return HUGETEXT_WHY_MMAP_LOCK;
	vma = find_vma(mm, start);
	if (vma && vma->vm_start <= start && hugetext_vma_is_text(vma)) {
		why = hugetext_whole_regions(vma->vm_start, vma->vm_end,
					     vma->vm_pgoff << PAGE_SHIFT, &first, &last);
		if (why == HUGETEXT_WHY_OK && (start < first || start >= last))
			why = HUGETEXT_WHY_NO_REGION;
		if (why == HUGETEXT_WHY_OK)
			why = hugetext_vma_why(vma);
	}
	if (why == HUGETEXT_WHY_OK) {
		piece->start = start;
		piece->end = min_t(unsigned long, end, last);
		piece->end = min_t(unsigned long, piece->end,
				   start + REGIONS_AT_ONCE * HUGETEXT_REGION_SIZE);
		piece->file = get_file(vma->vm_file);
	}
	mmap_read_unlock(mm);
	return why;
}

/* What stood in the way, from the errno and from the state of the file. */
static enum hugetext_why why_failed(struct file *file, int err)
{
	if (inode_is_open_for_write(file_inode(file)))
		return HUGETEXT_WHY_OPEN_FOR_WRITE;
	switch (err) {
	case -ENOSYS:
		return HUGETEXT_WHY_NO_HOOK;
	case -ENOMEM:
		return HUGETEXT_WHY_NO_MEMORY;
	case -EBUSY:
		return HUGETEXT_WHY_MEMCG_LIMIT;
	case -EAGAIN:
		return HUGETEXT_WHY_BUSY;
	}
	if (mapping_tagged(file->f_mapping, PAGECACHE_TAG_DIRTY) ||
	    mapping_tagged(file->f_mapping, PAGECACHE_TAG_WRITEBACK))
		return HUGETEXT_WHY_DIRTY;
	return HUGETEXT_WHY_REFUSED;
}

/* Is it the file, or the machine, rather than this one region? */
static bool concerns_all(enum hugetext_why why)
{
	return why == HUGETEXT_WHY_OPEN_FOR_WRITE || why == HUGETEXT_WHY_NO_HOOK ||
	       why == HUGETEXT_WHY_NO_MEMORY || why == HUGETEXT_WHY_MEMCG_LIMIT;
}

/* A passing reason asks for a retry, so it outweighs one that stays. */
static enum hugetext_why weightier(enum hugetext_why a, enum hugetext_why b)
{
	if (a == HUGETEXT_WHY_OK || (hugetext_why_passing(b) && !hugetext_why_passing(a)))
		return b;
	return a;
}

static void report(pid_t tgid, unsigned long start, unsigned long end, enum hugetext_why why)
{
	trace_hugetext_collapse(tgid, start, end, why);
	if (why == HUGETEXT_WHY_OK)
		hugetext_tally_total(HUGETEXT_TOTAL_COLLAPSED,
				     (end - start) / HUGETEXT_REGION_SIZE);
}

/* Nobody but khugetextd is left in there: its memory is about to be freed. */
static bool is_exiting(struct mm_struct *mm)
{
	return atomic_read(&mm->mm_users) <= 1;
}

/*
 * The kernel gives up at the first region that it cannot collapse, and tells
 * one errno for all. So after a failure every region left small is tried alone.
 */
static enum hugetext_why collapse_one_by_one(struct mm_struct *mm, pid_t tgid,
					     const struct piece *piece)
{
	enum hugetext_why result = HUGETEXT_WHY_OK;
	enum hugetext_why why;
	unsigned int i;
	unsigned long addr;
	int err;

	why = hugetext_survey(mm, piece->start, piece->end, &after);
	if (why != HUGETEXT_WHY_OK)
		return why;

	for (i = 0; i < after.nr; i++) {
		struct hugetext_extent *extent = &after.extent[i];

		if (extent->huge) {
			report(tgid, extent->start, extent->end, HUGETEXT_WHY_OK);
			continue;
		}
		if (extent->why != HUGETEXT_WHY_OK) {
			result = weightier(result, extent->why);
			continue;
		}
		for (addr = extent->start; addr < extent->end; addr += HUGETEXT_REGION_SIZE) {
			if (hugetext_track_stopping() || is_exiting(mm))
				return result;
			err = hugetext_do_madvise(mm, addr, HUGETEXT_REGION_SIZE, MADV_COLLAPSE);
			why = err ? why_failed(piece->file, err) : HUGETEXT_WHY_OK;
			report(tgid, addr, addr + HUGETEXT_REGION_SIZE, why);
			result = weightier(result, why);
			if (concerns_all(why))
				return result;
		}
	}
	return result;
}

static enum hugetext_why collapse(struct mm_struct *mm, pid_t tgid, const struct piece *piece)
{
	int err;

	err = hugetext_do_madvise(mm, piece->start, piece->end - piece->start, MADV_COLLAPSE);
	if (err)
		return collapse_one_by_one(mm, tgid, piece);
	report(tgid, piece->start, piece->end, HUGETEXT_WHY_OK);
	return HUGETEXT_WHY_OK;
}

enum hugetext_why hugetext_apply(struct mm_struct *mm, pid_t tgid,
				 const struct hugetext_action *action)
{
	enum hugetext_why result = HUGETEXT_WHY_OK;
	unsigned long start = action->start;

	while (start < action->end && !hugetext_track_stopping() && !is_exiting(mm)) {
		struct piece piece;
		enum hugetext_why why;

		why = take_piece(mm, start, action->end, &piece);
		if (why != HUGETEXT_WHY_OK)
			return weightier(result, why);

		why = hugetext_rothp_begin(piece.file);
		if (why == HUGETEXT_WHY_OK) {
			why = collapse(mm, tgid, &piece);
			hugetext_rothp_end();
		}
		result = weightier(result, why);
		start = piece.end;
		fput(piece.file);
	}
	return result;
}
