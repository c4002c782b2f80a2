// SPDX-License-Identifier: GPL-2.0
/*
 * Fill up regions at the edges of text, so that they can be huge.
 *
 * What is mapped at the right offset of the file, but read-only or without access,
 * gets another protection; nothing of it is unmapped at any moment. In holes, and
 * where ld.so leaves other pages of the file without access, the file is mapped.
 * That is what the process could do itself.
 *
 * khugetextd first looks while others may read the mappings, and then, with the
 * mmap lock for writing, decides once more by what is there now. It never waits
 * for that lock: who holds it may wait for a program that never answers.
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

/* Looked at in one hold of the mmap lock: mappings, and regions to fill up. */
#define MAX_LOOKS	1024
#define MAX_FOUND	16

/* A region of a file's text, and what it was used for at the last look. */
struct edge {
	struct file *file;
	unsigned long base;	/* where the file would begin in memory, by its text */
	unsigned long region;
	size_t nr_pieces;
	struct hugetext_piece piece[HUGETEXT_MAX_PIECES];
};

/* khugetextd's own. */
static struct edge found[MAX_FOUND];

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

/* The mapping of the file at an address, or NULL. */
static struct vm_area_struct *mapping_at(struct mm_struct *mm, const struct edge *edge,
					 unsigned long addr)
{
	struct vm_area_struct *vma = find_vma(mm, addr);

	return vma && vma->vm_start <= addr && vma->vm_file == edge->file ? vma : NULL;
}

/*
 * What a loader leaves without access is a part of its first mapping of the file. A
 * process that takes access from pages in the middle of its text has a reason.
 */
static enum hugetext_use use_without_text(struct vm_area_struct *vma, const struct edge *edge)
{
	struct vm_area_struct *before = mapping_at(vma->vm_mm, edge, vma->vm_start - 1);
	struct vm_area_struct *behind = mapping_at(vma->vm_mm, edge, vma->vm_end);
	unsigned long base = hugetext_vma_base(vma);
	bool fits = base == edge->base;

	if (before && behind && is_plain_text(before) && is_plain_text(behind))
		return HUGETEXT_USE_OTHER;
	if (fits && is_plain(vma, VM_READ))
		return HUGETEXT_USE_RODATA;
	if (!is_plain(vma, 0))
		return HUGETEXT_USE_OTHER;
	if (fits)
		return HUGETEXT_USE_CLOSED;
	if ((before && hugetext_vma_base(before) == base) ||
	    (behind && hugetext_vma_base(behind) == base))
		return HUGETEXT_USE_FILLER;
	return HUGETEXT_USE_OTHER;
}

static enum hugetext_use use_of(struct vm_area_struct *vma, const struct edge *edge)
{
	if (vma->vm_file != edge->file)
		return HUGETEXT_USE_OTHER;
	if (hugetext_vma_base(vma) == edge->base && is_plain_text(vma))
		return HUGETEXT_USE_TEXT;
	return use_without_text(vma, edge);
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

static bool add_piece(struct edge *edge, unsigned long start, unsigned long end,
		      enum hugetext_use use)
{
	if (edge->nr_pieces == HUGETEXT_MAX_PIECES)
		return false;
	edge->piece[edge->nr_pieces++] = (struct hugetext_piece){
		.start = start, .end = end, .use = use,
	};
	return true;
}

/* List the pieces of a region; false: there are too many. Locking: mmap lock. */
static bool list_pieces(struct mm_struct *mm, struct edge *edge)
{
	MA_STATE(mas, &mm->mm_mt, edge->region, edge->region);
	unsigned long end = edge->region + HUGETEXT_REGION_SIZE, at = edge->region;
	struct vm_area_struct *before, *vma = find_vma(mm, at);

	edge->nr_pieces = 0;
	/* Of use where a hole is at the start: the last mapping at or below it. */
	before = mas_find_rev(&mas, 0);

	while (at < end) {
		unsigned long next = vma ? min(vma->vm_start, end) : end;

		if (next > at && !add_piece(edge, at, next, use_of_hole(before, vma, edge)))
			return false;
		at = max(at, next);
		if (at == end)
			break;
		next = min(vma->vm_end, end);
		if (!add_piece(edge, at, next, use_of(vma, edge)))
			return false;
		at = next;
		before = vma;
		vma = find_vma(mm, vma->vm_end);
	}
	return true;
}

static bool has(const struct edge *edge, enum hugetext_use use)
{
	size_t i;

	for (i = 0; i < edge->nr_pieces; i++)
		if (edge->piece[i].use == use)
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
 * May the region be filled up? Its pieces are listed then.
 * Locking: mmap lock, for reading or writing; does not sleep.
 */
static enum hugetext_why decide(struct mm_struct *mm, struct edge *edge)
{
	const struct hugetext_padding padding = {
		.threshold = READ_ONCE(hugetext_settings.pad_threshold),
		.rodata = READ_ONCE(hugetext_settings.pad_rodata),
	};
	enum hugetext_why why;

	/* Nothing is ever mapped where a null pointer leads. */
	if (edge->region < HUGETEXT_REGION_SIZE ||
	    edge->region > TASK_SIZE_MAX - HUGETEXT_REGION_SIZE)
		return HUGETEXT_WHY_NEIGHBOUR;
	/* What is mapped from now on shall be locked, which text is not. */
	if (mm->def_flags & VM_LOCKED)
		return HUGETEXT_WHY_SPECIAL;
	if (!list_pieces(mm, edge))
		return HUGETEXT_WHY_NEIGHBOUR;
	why = hugetext_pad(edge->region, edge->region - edge->base,
			   i_size_read(file_inode(edge->file)), edge->piece, edge->nr_pieces,
			   &padding);
	if (why != HUGETEXT_WHY_OK)
		return why;
	if (has(edge, HUGETEXT_USE_HOLE) && limits_address_space(mm))
		return HUGETEXT_WHY_ADDRESS_LIMIT;
	if ((has(edge, HUGETEXT_USE_RODATA) || has(edge, HUGETEXT_USE_CLOSED)) &&
	    hugetext_denies_exec(mm))
		return HUGETEXT_WHY_NO_EXEC;
	return HUGETEXT_WHY_OK;
}

/* Is there anything in the region that is not text yet? */
static bool has_something_to_fill(const struct edge *edge)
{
	size_t i;

	for (i = 0; i < edge->nr_pieces; i++)
		if (edge->piece[i].use != HUGETEXT_USE_TEXT)
			return true;
	return false;
}

static void set_edge(struct edge *edge, struct vm_area_struct *vma, unsigned long region)
{
	edge->file = vma->vm_file;
	edge->base = hugetext_vma_base(vma);
	edge->region = region;
}

enum hugetext_why hugetext_pad_why(struct vm_area_struct *vma, unsigned long region)
{
	enum hugetext_why why;
	struct edge edge;

	if (!READ_ONCE(hugetext_settings.pad_threshold))
		return HUGETEXT_WHY_PADDING_OFF;
	if (!is_plain_text(vma))
		return HUGETEXT_WHY_NOT_PLAIN;
	set_edge(&edge, vma, region);
	why = decide(vma->vm_mm, &edge);
	/* All text, and yet more than one mapping. */
	if (why == HUGETEXT_WHY_OK && !has_something_to_fill(&edge))
		return HUGETEXT_WHY_NO_REGION;
	return why;
}

/* ---- Filling up ---- */

/* Is the piece mapped anew, rather than only protected in another way? */
static bool is_mapped_anew(const struct hugetext_piece *piece)
{
	return piece->use == HUGETEXT_USE_HOLE || piece->use == HUGETEXT_USE_FILLER;
}

static int map_anew(struct mm_struct *mm, const struct edge *edge,
		    const struct hugetext_piece *piece)
{
	unsigned long len = piece->end - piece->start;
	int err = hugetext_map_text(edge->file, piece->start, len, piece->start - edge->base);

	/* A loader that unmaps the whole image must not find anybody else in it. */
	if (err && piece->use == HUGETEXT_USE_FILLER &&
	    !find_vma_intersection(mm, piece->start, piece->end))
		hugetext_map_filler(piece->start, len);
	return err;
}

/* Make one piece text. Locking: mmap lock, for writing; current uses @mm. */
static enum hugetext_why make_text(struct mm_struct *mm, const struct edge *edge,
				   const struct hugetext_piece *piece)
{
	int err;

	if (is_mapped_anew(piece))
		err = map_anew(mm, edge, piece);
	else
		err = hugetext_protect_text(find_vma(mm, piece->start), piece->start, piece->end);
	switch (err) {
	case 0:
		break;
	case -ENOMEM:
		return HUGETEXT_WHY_NO_MEMORY;
	case -EOPNOTSUPP:
		return HUGETEXT_WHY_NO_HOOK;
	default:
		return HUGETEXT_WHY_REFUSED;
	}
	hugetext_tally_total(HUGETEXT_TOTAL_PADDED_KB, (piece->end - piece->start) >> 10);
	if (piece->use == HUGETEXT_USE_RODATA)
		hugetext_tally_total(HUGETEXT_TOTAL_PADDED_RODATA_KB,
				     (piece->end - piece->start) >> 10);
	return HUGETEXT_WHY_OK;
}

/* The pieces stay listed as they were, while what they stand for changes. */
static enum hugetext_why make_all_text(struct mm_struct *mm, pid_t tgid, const struct edge *edge,
				       bool anew)
{
	enum hugetext_why why = HUGETEXT_WHY_OK;
	size_t i;

	for (i = 0; i < edge->nr_pieces && why == HUGETEXT_WHY_OK; i++) {
		const struct hugetext_piece *piece = &edge->piece[i];

		if (piece->use == HUGETEXT_USE_TEXT || is_mapped_anew(piece) != anew)
			continue;
		why = make_text(mm, edge, piece);
		trace_hugetext_pad(tgid, piece->start, piece->end, why);
	}
	return why;
}

/* First what may fail for more reasons than memory. */
static enum hugetext_why fill_up(struct mm_struct *mm, pid_t tgid, struct edge *edge)
{
	enum hugetext_why why = decide(mm, edge);

	if (why == HUGETEXT_WHY_OK)
		why = make_all_text(mm, tgid, edge, true);
	if (why == HUGETEXT_WHY_OK)
		why = make_all_text(mm, tgid, edge, false);
	return why;
}

static enum hugetext_why fill_edge(struct mm_struct *mm, pid_t tgid, struct edge *edge)
{
	enum hugetext_why why = HUGETEXT_WHY_MMAP_LOCK;

	kthread_use_mm(mm);
	if (hugetext_mmap_write_trylock(mm)) {
		why = fill_up(mm, tgid, edge);
		mmap_write_unlock(mm);
	}
	kthread_unuse_mm(mm);
	if (why == HUGETEXT_WHY_OK)
		hugetext_tally_total(HUGETEXT_TOTAL_PADDED, 1);
	return why;
}

/* ---- Finding edges ---- */

/* Decide about one region of a text mapping; keep it if there is something to fill. */
static void look_at(struct vm_area_struct *vma, unsigned long region, pid_t tgid, bool report,
		    unsigned int *nr_found)
{
	struct edge *edge = &found[*nr_found];
	unsigned long end = region + HUGETEXT_REGION_SIZE;
	enum hugetext_why why;

	/* Seen with the text before it. */
	if (*nr_found && edge[-1].region == region)
		return;
	set_edge(edge, vma, region);
	why = decide(vma->vm_mm, edge);
	if (why == HUGETEXT_WHY_OK && has_something_to_fill(edge)) {
		get_file(edge->file);
		(*nr_found)++;
	} else if (why != HUGETEXT_WHY_OK && report) {
		trace_hugetext_pad(tgid, max(region, vma->vm_start), min(end, vma->vm_end), why);
		hugetext_tally_why(why, 1);
	}
}

static void look_at_text(struct vm_area_struct *vma, pid_t tgid, bool report,
			 unsigned int *nr_found)
{
	uint64_t edge[2];
	unsigned int i, nr = hugetext_edges(vma->vm_start, vma->vm_end,
					    vma->vm_pgoff << PAGE_SHIFT, edge);

	if (!nr || !is_plain_text(vma) ||
	    hugetext_mechanism_file_why(vma->vm_file) != HUGETEXT_WHY_OK)
		return;
	for (i = 0; i < nr; i++)
		look_at(vma, edge[i], tgid, report, nr_found);
}

/* Returns where to go on, or 0 at the end. Locking: mmap lock, for reading. */
static unsigned long find_edges(struct mm_struct *mm, pid_t tgid, bool report,
				unsigned long from, unsigned int *nr_found)
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
			look_at_text(vma, tgid, report, nr_found);
	}
	return 0;
}

enum hugetext_why hugetext_pad_process(struct mm_struct *mm, pid_t tgid, bool report,
				       unsigned long *from, unsigned int *nr_padded)
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
		*from = find_edges(mm, tgid, report, *from, &nr_found);
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
