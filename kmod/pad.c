// SPDX-License-Identifier: GPL-2.0
/*
 * Fill up regions at the edges of text, so that they can be huge.
 *
 * khugetextd looks at the mappings of a region, has core/pad decide, and maps the
 * same file over what is not text yet, as the process could do itself. Between
 * the look and the mapping the process may change everything, so the range is
 * given to do_mmap() with an address that it refuses. The probe there, with the
 * mmap lock held for writing, looks and decides again, and only where the answer
 * is still the same makes the address a good one.
 */
#include <linux/file.h>
#include <linux/kthread.h>
#include <linux/memcontrol.h>
#include <linux/mempolicy.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/mmap_lock.h>
#include <linux/sched/signal.h>

#include "compat.h"
#include "core/pad.h"
#include "hugetext.h"
#include "trace.h"
#include "vma.h"

#define REGION_MASK	(HUGETEXT_REGION_SIZE - 1)

/* What do_mmap() never takes as an address for MAP_FIXED, and the probe repairs. */
#define NOT_YET		1UL

/* For a mapping that finds no memory. */
#define MAX_TRIES	10

/* Looked at in one hold of the mmap lock: mappings, and regions to fill up. */
#define MAX_LOOKS	1024
#define MAX_FOUND	16

/* A region of a file's text, and what is to be mapped there. */
struct edge {
	struct file *file;
	unsigned long region;
	unsigned long offset;	/* in the file, of the region */
	struct hugetext_fill fill[HUGETEXT_MAX_FILLS];
	size_t nr_fills;
};

/* khugetextd's own: what it found, and what do_mmap() is being called for. */
static struct edge found[MAX_FOUND];
static const struct edge *wanted;
static unsigned int wanted_fill;

/* ---- Looking at a region ---- */

#define MAY_FLAGS	(VM_MAYREAD | VM_MAYWRITE | VM_MAYEXEC)

/* Has the mapping this access, as a loader gives it, and nothing else about it? */
static bool is_plain(struct vm_area_struct *vma, unsigned long access)
{
	if ((vma->vm_flags & ~VM_SOFTDIRTY) != (access | MAY_FLAGS))
		return false;
#ifdef CONFIG_NUMA
	if (vma->vm_policy)
		return false;
#endif
	return !READ_ONCE(vma->anon_vma);
}

static bool is_plain_text(struct vm_area_struct *vma)
{
	return hugetext_vma_is_text(vma) && is_plain(vma, VM_READ | VM_EXEC) &&
	       hugetext_vma_why(vma) == HUGETEXT_WHY_OK;
}

/* The offset in its file that a mapping has, or would have, at an address. */
static unsigned long offset_at(struct vm_area_struct *vma, unsigned long addr)
{
	return (vma->vm_pgoff << PAGE_SHIFT) + (addr - vma->vm_start);
}

static enum hugetext_use use_of(struct vm_area_struct *vma, const struct edge *edge)
{
	bool fits;

	if (vma->vm_file != edge->file)
		return HUGETEXT_USE_OTHER;
	fits = offset_at(vma, edge->region) == edge->offset;
	if (fits && is_plain_text(vma))
		return HUGETEXT_USE_TEXT;
	if (fits && is_plain(vma, VM_READ))
		return HUGETEXT_USE_RODATA;
	return is_plain(vma, 0) ? HUGETEXT_USE_FILLER : HUGETEXT_USE_OTHER;
}

/*
 * A hole is part of a file's image where mappings of that file lie on both sides;
 * then it goes when a loader unmaps the whole.
 */
static enum hugetext_use use_of_hole(struct vm_area_struct *before, struct vm_area_struct *behind,
				     const struct edge *edge)
{
	if (before && behind && before->vm_file == edge->file && behind->vm_file == edge->file)
		return HUGETEXT_USE_HOLE;
	return HUGETEXT_USE_OTHER;
}

static bool add_piece(struct hugetext_piece *piece, size_t *nr, unsigned long start,
		      unsigned long end, enum hugetext_use use)
{
	if (*nr == HUGETEXT_MAX_PIECES)
		return false;
	piece[(*nr)++] = (struct hugetext_piece){ .start = start, .end = end, .use = use };
	return true;
}

/* Returns how many pieces there are, or 0 for too many. Locking: mmap lock. */
static size_t list_pieces(struct mm_struct *mm, const struct edge *edge,
			  struct hugetext_piece *piece)
{
	MA_STATE(mas, &mm->mm_mt, edge->region, edge->region);
	unsigned long end = edge->region + HUGETEXT_REGION_SIZE, at = edge->region;
	struct vm_area_struct *before, *vma = find_vma(mm, at);
	size_t nr = 0;

	/* Of use where a hole is at the start: the last mapping at or below it. */
	before = mas_find_rev(&mas, 0);

	while (at < end) {
		unsigned long next = vma ? min(vma->vm_start, end) : end;

		if (next > at && !add_piece(piece, &nr, at, next, use_of_hole(before, vma, edge)))
			return 0;
		at = max(at, next);
		if (at == end)
			break;
		next = min(vma->vm_end, end);
		if (!add_piece(piece, &nr, at, next, use_of(vma, edge)))
			return 0;
		at = next;
		before = vma;
		vma = find_vma(mm, vma->vm_end);
	}
	return nr;
}

static bool has_hole(const struct hugetext_piece *piece, size_t nr)
{
	while (nr--)
		if (piece[nr].use == HUGETEXT_USE_HOLE)
			return true;
	return false;
}

/* Whoever limits his address space has counted on what he maps himself. */
static bool limits_address_space(struct mm_struct *mm)
{
	bool limits = true;
#ifdef CONFIG_MEMCG
	struct task_struct *owner;

	rcu_read_lock();
	owner = rcu_dereference(mm->owner);
	if (owner)
		limits = task_rlimit(owner, RLIMIT_AS) != RLIM_INFINITY;
	rcu_read_unlock();
#endif
	return limits;
}

/*
 * Decide about the region of @edge, whose file and place are set, and set what is
 * to be filled. Locking: mmap lock, for reading or writing; does not sleep.
 */
static enum hugetext_why decide(struct mm_struct *mm, struct edge *edge)
{
	const struct hugetext_padding padding = {
		.threshold = READ_ONCE(hugetext_settings.pad_threshold),
		.rodata = READ_ONCE(hugetext_settings.pad_rodata),
	};
	struct hugetext_piece piece[HUGETEXT_MAX_PIECES];
	enum hugetext_why why;
	size_t nr;

	edge->nr_fills = 0;
	/* Nothing is ever mapped where a null pointer leads. */
	if (edge->region < HUGETEXT_REGION_SIZE ||
	    edge->region > TASK_SIZE_MAX - HUGETEXT_REGION_SIZE)
		return HUGETEXT_WHY_NEIGHBOUR;
	nr = list_pieces(mm, edge, piece);
	if (!nr)
		return HUGETEXT_WHY_NEIGHBOUR;
	why = hugetext_pad(edge->region, edge->offset, i_size_read(file_inode(edge->file)),
			   piece, nr, &padding, edge->fill, &edge->nr_fills);
	if (why == HUGETEXT_WHY_OK && has_hole(piece, nr) && limits_address_space(mm))
		why = HUGETEXT_WHY_ADDRESS_LIMIT;
	return why;
}

/* ---- The last look, from the probe ---- */

unsigned long hugetext_pad_check(struct mm_struct *mm, struct file *file, unsigned long addr,
				 unsigned long len, unsigned long offset)
{
	const struct hugetext_fill *fill;
	struct edge now;

	if (!wanted || addr != (wanted->fill[wanted_fill].start | NOT_YET))
		return addr;
	now = *wanted;
	if (file != now.file || decide(mm, &now) != HUGETEXT_WHY_OK)
		return addr;
	addr &= ~NOT_YET;
	for (fill = now.fill; fill < now.fill + now.nr_fills; fill++)
		if (fill->start == addr && fill->end - addr == len &&
		    offset == now.offset + (addr - now.region))
			return addr;
	return addr | NOT_YET;
}

/* ---- Filling up ---- */

static enum hugetext_why fill_up(struct mm_struct *mm, const struct edge *edge, unsigned int i)
{
	const struct hugetext_fill *fill = &edge->fill[i];
	unsigned int tries = 0;
	unsigned long ret;

	wanted = edge;
	wanted_fill = i;
	kthread_use_mm(mm);
	/* Some kernels have unmapped what was there when they run out of memory. */
	do {
		ret = vm_mmap(edge->file, fill->start | NOT_YET, fill->end - fill->start,
			      PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED,
			      edge->offset + (fill->start - edge->region));
	} while (ret == -ENOMEM && tries++ < MAX_TRIES);
	kthread_unuse_mm(mm);
	wanted = NULL;

	if (!IS_ERR_VALUE(ret)) {
		hugetext_tally_total(HUGETEXT_TOTAL_PADDED_KB, (fill->end - fill->start) >> 10);
		hugetext_tally_total(HUGETEXT_TOTAL_PADDED_RODATA_KB, fill->rodata >> 10);
		return HUGETEXT_WHY_OK;
	}
	switch ((long)ret) {
	case -EINVAL:	/* the probe did not agree any more */
		return HUGETEXT_WHY_MMAP_LOCK;
	case -ENOMEM:
		return HUGETEXT_WHY_NO_MEMORY;
	default:
		return HUGETEXT_WHY_REFUSED;
	}
}

static enum hugetext_why fill_edge(struct mm_struct *mm, pid_t tgid, const struct edge *edge)
{
	enum hugetext_why why = HUGETEXT_WHY_OK;
	unsigned int i;

	for (i = 0; i < edge->nr_fills && why == HUGETEXT_WHY_OK; i++) {
		why = fill_up(mm, edge, i);
		trace_hugetext_pad(tgid, edge->fill[i].start, edge->fill[i].end, why);
	}
	if (why == HUGETEXT_WHY_OK)
		hugetext_tally_total(HUGETEXT_TOTAL_PADDED, 1);
	return why;
}

/* ---- Finding edges ---- */

/* Decide about one region of a text mapping; keep it if there is something to fill. */
static void look_at(struct vm_area_struct *vma, unsigned long region, pid_t tgid,
		    unsigned int *nr_found)
{
	struct edge *edge = &found[*nr_found];
	unsigned long end = region + HUGETEXT_REGION_SIZE;
	enum hugetext_why why;

	/* Seen with the text before it. */
	if (*nr_found && edge[-1].region == region)
		return;
	edge->file = vma->vm_file;
	edge->region = region;
	edge->offset = offset_at(vma, region);
	why = decide(vma->vm_mm, edge);
	if (why != HUGETEXT_WHY_OK) {
		trace_hugetext_pad(tgid, max(region, vma->vm_start), min(end, vma->vm_end), why);
		hugetext_tally_why(why, 1);
	} else if (edge->nr_fills) {
		get_file(edge->file);
		(*nr_found)++;
	}
}

static void look_at_text(struct vm_area_struct *vma, pid_t tgid, unsigned int *nr_found)
{
	unsigned long first = round_down(vma->vm_start, HUGETEXT_REGION_SIZE);
	unsigned long last = round_down(vma->vm_end, HUGETEXT_REGION_SIZE);

	if ((offset_at(vma, 0) & REGION_MASK) || !is_plain_text(vma) ||
	    hugetext_mechanism_file_why(vma->vm_file) != HUGETEXT_WHY_OK)
		return;
	if (vma->vm_start & REGION_MASK)
		look_at(vma, first, tgid, nr_found);
	if ((vma->vm_end & REGION_MASK) && (last != first || !(vma->vm_start & REGION_MASK)))
		look_at(vma, last, tgid, nr_found);
}

/* Returns where to go on, or 0 at the end. Locking: mmap lock, for reading. */
static unsigned long find_edges(struct mm_struct *mm, pid_t tgid, unsigned long from,
				unsigned int *nr_found)
{
	VMA_ITERATOR(vmi, mm, from);
	struct vm_area_struct *vma;
	unsigned int looks = 0;

	*nr_found = 0;
	for_each_vma(vmi, vma) {
		/* There may be two in one mapping. */
		if (looks++ == MAX_LOOKS || *nr_found >= MAX_FOUND - 1)
			return vma->vm_start;
		if (hugetext_vma_is_text(vma))
			look_at_text(vma, tgid, nr_found);
	}
	return 0;
}

enum hugetext_why hugetext_pad_process(struct mm_struct *mm, pid_t tgid, unsigned long *from,
				       unsigned int *nr_padded)
{
	enum hugetext_why result = HUGETEXT_WHY_OK;
	unsigned int nr_found, i;

	if (!READ_ONCE(hugetext_settings.pad_threshold)) {
		*from = 0;
		return result;
	}
	do {
		if (!mmap_read_trylock(mm)) {
			*from = 0;
			return hugetext_why_weightier(result, HUGETEXT_WHY_MMAP_LOCK);
		}
		*from = find_edges(mm, tgid, *from, &nr_found);
		mmap_read_unlock(mm);

		for (i = 0; i < nr_found; i++) {
			result = hugetext_why_weightier(result, fill_edge(mm, tgid, &found[i]));
			fput(found[i].file);
		}
		*nr_padded += nr_found;
		cond_resched();
	} while (*from && !hugetext_track_turn_is_over() && !hugetext_track_is_exiting(mm));
	return result;
}
