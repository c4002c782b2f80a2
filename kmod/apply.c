// SPDX-License-Identifier: GPL-2.0
/*
 * Carry out a plan: the only room that changes a process.
 * All it does to one goes through do_madvise(), which takes the locks and
 * makes the checks that it makes for the process itself.
 */
#include <linux/file.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/mmap_lock.h>
#include <linux/pagemap.h>
#include <linux/sched/signal.h>
#include <linux/sched/mm.h>

#include "hugetext.h"
#include "trace.h"
#include "vma.h"

/*
 * One call collapses at most so many regions. While it runs, a process that
 * exits is not quite gone: its program cannot be written to, its file system
 * not be unmounted. Each call costs the kernel a visit to every CPU, which is
 * why it is not one.
 */
#define REGIONS_AT_ONCE	4

/* Room for a look at what one call did. khugetextd alone uses it. */
static struct hugetext_text_map after;

/* A piece of an action that lies in one mapping, and that mapping's file. */
struct piece {
	unsigned long start;
	unsigned long end;
	unsigned long offset;	/* of start in the file */
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
		why = hugetext_vma_regions(vma, &first, &last);
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
		piece->offset = start - hugetext_vma_base(vma);
		piece->file = get_file(vma->vm_file);
	}
	mmap_read_unlock(mm);
	return why;
}

/*
 * Would a cgroup that pays for this piece be beyond its memory.high? The limit
 * memory.max the kernel checks by itself. Beyond this mark it lets khugetextd go
 * on, which belongs to no such group, and slows the group's processes down for it.
 */
static noinline bool beyond_high_mark(struct mm_struct *mm, const struct piece *piece)
{
	bool beyond = false;
#ifdef CONFIG_MEMCG
	unsigned long pages = (piece->end - piece->start) >> PAGE_SHIFT;
	struct mem_cgroup *own = get_mem_cgroup_from_mm(mm);
	struct mem_cgroup *group;

	for (group = own; group && !beyond; group = parent_mem_cgroup(group))
		beyond = page_counter_read(&group->memory) + pages > READ_ONCE(group->memory.high);
	mem_cgroup_put(own);
#endif
	return beyond;
}

/* What stood in the way, from the errno and from the state of the file. */
static enum hugetext_why why_failed(struct file *file, int err)
{
	if (inode_is_open_for_write(file_inode(file)))
		return HUGETEXT_WHY_OPEN_FOR_WRITE;
	switch (err) {
	case -EOPNOTSUPP:
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

enum hugetext_why hugetext_why_weightier(enum hugetext_why a, enum hugetext_why b)
{
	if (a == HUGETEXT_WHY_OK || (hugetext_why_passing(b) && !hugetext_why_passing(a)))
		return b;
	return a;
}

static void report(struct mm_struct *mm, pid_t tgid, unsigned long start, unsigned long end,
		   enum hugetext_why why)
{
	trace_hugetext_collapse(tgid, start, end, why);
	if (why == HUGETEXT_WHY_OK)
		hugetext_tally_total(HUGETEXT_TOTAL_COLLAPSED,
				     (end - start) / HUGETEXT_REGION_SIZE);
	else if (hugetext_why_passing(why))
		hugetext_explain_failed(mm, start, end, why);
}

/* Report what is huge, up to the first extent of a piece that is small; NULL: none is. */
static struct hugetext_extent *first_small(struct mm_struct *mm, pid_t tgid)
{
	unsigned int i;

	for (i = 0; i < after.nr; i++) {
		if (!after.extent[i].huge)
			return &after.extent[i];
		report(mm, tgid, after.extent[i].start, after.extent[i].end,
		       HUGETEXT_WHY_OK);
	}
	return NULL;
}

/* Read pages ahead as far as there is nothing, for the account of the process. */
static noinline void read_ahead(struct mm_struct *mm, struct file *file,
				struct file_ra_state *state, pgoff_t index, pgoff_t end)
{
	struct mem_cgroup *group = get_mem_cgroup_from_mm(mm);
	struct mem_cgroup *before = set_active_memcg(group);

	page_cache_sync_readahead(file->f_mapping, state, file, index, end - index);
	set_active_memcg(before);
	mem_cgroup_put(group);
}

/*
 * Have the pages there that a collapse needs: it must not read itself, see
 * guard.c. They are read through the file, since what is mapped where may change
 * to something that makes a reader wait. Some file systems leave holes out when
 * they read ahead.
 */
static void read_in(struct mm_struct *mm, const struct piece *piece)
{
	struct address_space *mapping = piece->file->f_mapping;
	pgoff_t index = piece->offset >> PAGE_SHIFT;
	pgoff_t end = index + ((piece->end - piece->start) >> PAGE_SHIFT);
	struct file_ra_state state;

	file_ra_state_init(&state, mapping);
	while (index < end) {
		struct folio *folio = hugetext_cached_folio(mapping, index);

		if (!folio) {
			read_ahead(mm, piece->file, &state, index, end);
			folio = hugetext_cached_folio(mapping, index);
		}
		if (folio && !folio_test_uptodate(folio)) {
			folio_put(folio);
			folio = read_mapping_folio(mapping, index, piece->file);
		}
		if (IS_ERR_OR_NULL(folio))
			return;
		index = folio->index + folio_nr_pages(folio);
		folio_put(folio);
		cond_resched();
	}
}

/*
 * Where nothing near an address was ever touched, there is not even a table that
 * a PMD could be in, and only a fault makes one. Its page was just read.
 */
static void touch(struct mm_struct *mm, unsigned long addr, struct file *file)
{
	struct vm_area_struct *vma;

	if (!mmap_read_trylock(mm))
		return;
	vma = find_vma(mm, addr);
	if (vma && vma->vm_start <= addr && vma->vm_file == file)
		hugetext_fault_in(mm, addr);
	mmap_read_unlock(mm);
}

static int collapse_range(struct mm_struct *mm, unsigned long start, unsigned long end)
{
	int err;

	hugetext_guard_read_nothing(true);
	err = hugetext_do_madvise(mm, start, end - start, MADV_COLLAPSE);
	hugetext_guard_read_nothing(false);
	return err;
}

/*
 * Where the kernel stops at a region that it cannot collapse, it tells one
 * errno for all, and it says nothing of mappings that went meanwhile; the page
 * tables tell what became of which. A region is tried twice: 6.1 makes the huge
 * page of a region without page table, fails, and maps it the second time.
 */
static enum hugetext_why collapse(struct mm_struct *mm, pid_t tgid, const struct piece *piece)
{
	enum hugetext_why result = HUGETEXT_WHY_OK;
	unsigned long start = piece->start;
	unsigned long tried = 0;

	while (start < piece->end && !hugetext_track_is_exiting(mm)) {
		struct hugetext_extent *small;
		enum hugetext_why why;
		int err;

		err = collapse_range(mm, start, piece->end);
		why = hugetext_survey(mm, start, piece->end, &after);
		if (why != HUGETEXT_WHY_OK)
			return hugetext_why_weightier(result, why);

		small = first_small(mm, tgid);
		if (!small)
			return result;
		start = small->start;
		if (small->why != HUGETEXT_WHY_OK) {
			report(mm, tgid, start, small->end, small->why);
			result = hugetext_why_weightier(result, small->why);
			start = small->end;
			continue;
		}
		if (tried != start) {
			tried = start;
			touch(mm, start, piece->file);
			continue;
		}

		why = why_failed(piece->file, err);
		report(mm, tgid, start, start + HUGETEXT_REGION_SIZE, why);
		result = hugetext_why_weightier(result, why);
		if (concerns_all(why))
			return result;
		start += HUGETEXT_REGION_SIZE;
	}
	return result;
}

enum hugetext_why hugetext_apply(struct mm_struct *mm, pid_t tgid,
				 struct hugetext_action *action)
{
	enum hugetext_why result = HUGETEXT_WHY_OK;

	do {
		struct piece piece;
		enum hugetext_why why;

		why = take_piece(mm, action->start, action->end, &piece);
		if (why != HUGETEXT_WHY_OK) {
			unsigned long from = action->start;

			/* Locked is all of it; gone is this region, for all we know. */
			action->start = hugetext_why_passing(why) ? action->end :
							    from + HUGETEXT_REGION_SIZE;
			report(mm, tgid, from, action->start, why);
			result = hugetext_why_weightier(result, why);
			continue;
		}

		why = HUGETEXT_WHY_MEMCG_LIMIT;
		if (!beyond_high_mark(mm, &piece))
			why = hugetext_mechanism_file_why(piece.file);
		/* Before writers have to wait: a disk may be slow. */
		if (why == HUGETEXT_WHY_OK) {
			read_in(mm, &piece);
			why = hugetext_mechanism_begin(piece.file);
		}
		if (why == HUGETEXT_WHY_OK) {
			why = collapse(mm, tgid, &piece);
			hugetext_mechanism_end();
		} else {
			report(mm, tgid, piece.start, piece.end, why);
		}
		result = hugetext_why_weightier(result, why);
		action->start = piece.end;
		fput(piece.file);
	} while (action->start < action->end && !hugetext_track_turn_is_over() &&
		 !hugetext_track_is_exiting(mm));
	return result;
}

/* ---- Taking back ---- */

/* So often a region is tried that stays huge. */
#define MAX_TRIES	4

/* A text mapping, as it was when somebody looked. */
struct text {
	unsigned long end;
	bool locked;		/* mlock() */
	int advice;		/* of MADV_NORMAL, MADV_RANDOM and MADV_SEQUENTIAL */
	uint64_t first;		/* whole regions; none where both are 0 */
	uint64_t last;
};

static int advice_of(struct vm_area_struct *vma)
{
	if (vma->vm_flags & VM_RAND_READ)
		return MADV_RANDOM;
	return vma->vm_flags & VM_SEQ_READ ? MADV_SEQUENTIAL : MADV_NORMAL;
}

/*
 * Mark the first text mapping that ends above @from, as MADV_NOHUGEPAGE does. Here,
 * since it must be this very mapping: the mark cannot be taken back from another.
 * Return: 1, 0: there is none, or -EINTR.
 */
static int mark_next_text(struct mm_struct *mm, unsigned long from, struct text *text)
{
	VMA_ITERATOR(vmi, mm, from);
	struct vm_area_struct *vma;
	int found = 0;

	if (fatal_signal_pending(current) || mmap_write_lock_killable(mm))
		return -EINTR;
	for_each_vma(vmi, vma) {
		if (!hugetext_vma_is_text(vma) || hugetext_vma_why(vma) == HUGETEXT_WHY_SPECIAL)
			continue;
		hugetext_mark_nohugepage(vma);
		*text = (struct text){
			.end = vma->vm_end,
			.locked = vma->vm_flags & VM_LOCKED,
			.advice = advice_of(vma),
		};
		if (hugetext_vma_regions(vma, &text->first, &text->last) != HUGETEXT_WHY_OK)
			text->first = text->last = 0;
		found = 1;
		break;
	}
	mmap_write_unlock(mm);
	return found;
}

/* Would the next fault map a huge page? Locking: mmap lock, for reading. */
static bool would_be_huge(struct vm_area_struct *vma, unsigned long region)
{
	struct folio *folio;
	bool huge;

	if (HUGETEXT_FAULTS_REGARD_NOHUGEPAGE ||
	    !hugetext_region_is_untouched(vma->vm_mm, region))
		return false;
	folio = hugetext_cached_folio(vma->vm_file->f_mapping, linear_page_index(vma, region));
	if (!folio)
		return false;
	huge = folio_order(folio) >= HPAGE_PMD_ORDER;
	folio_put(folio);
	return huge;
}

/* Is a region of text huge, or at the next fault? 1, 0, or -EINTR. */
static int is_huge(struct mm_struct *mm, unsigned long region)
{
	struct vm_area_struct *vma;
	int huge = 0;

	if (fatal_signal_pending(current) || mmap_read_lock_killable(mm))
		return -EINTR;
	vma = find_vma(mm, region);
	if (vma && vma->vm_start <= region && vma->vm_end - region >= HUGETEXT_REGION_SIZE &&
	    hugetext_vma_is_text(vma))
		huge = hugetext_region_is_huge(mm, region) || would_be_huge(vma, region);
	mmap_read_unlock(mm);
	return huge;
}

/* Have pages of text mapped that are in the page cache. Return: 0 or -EINTR. */
static int touch_text(struct mm_struct *mm, unsigned long from, unsigned long to)
{
	struct vm_area_struct *vma;
	unsigned long addr;

	if (mmap_read_lock_killable(mm))
		return -EINTR;
	vma = find_vma(mm, from);
	if (vma && vma->vm_start <= from && to <= vma->vm_end && hugetext_vma_is_text(vma))
		for (addr = from; addr < to; addr += PAGE_SIZE)
			hugetext_fault_in(mm, addr);
	mmap_read_unlock(mm);
	return 0;
}

/*
 * A region of which only a part is in one mapping cannot be one page: as soon as
 * the mapping is split there, the kernel takes it out, and a fault makes a page
 * table instead, which stays when the parts join again. For that moment they
 * differ in nothing but how the file would be read ahead from the first page. Should
 * the process have mapped something else there since the last look, it is that.
 */
static int make_region_small(struct mm_struct *mm, unsigned long region, const struct text *text)
{
	int other = text->advice == MADV_RANDOM ? MADV_NORMAL : MADV_RANDOM;
	int err, err_back;

	err = hugetext_do_madvise(mm, region, PAGE_SIZE, other);
	if (err)
		return err;
	err = touch_text(mm, region, region + PAGE_SIZE);
	err_back = hugetext_do_madvise(mm, region, PAGE_SIZE, text->advice);
	/* What is locked in memory shall not be missed by anybody. */
	if (!err && text->locked)
		err = touch_text(mm, region, region + HUGETEXT_REGION_SIZE);
	return err ?: err_back;
}

/* Return: how many regions stay huge, or a negative errno. */
static int make_mapping_small(struct mm_struct *mm, const struct text *text)
{
	unsigned long region;
	int nr_huge = 0;

	for (region = text->first; region < text->last; region += HUGETEXT_REGION_SIZE) {
		unsigned int tries = 0;
		int huge, err;

		/* A page that somebody holds locked cannot be touched. */
		while ((huge = is_huge(mm, region)) > 0 && tries++ < MAX_TRIES) {
			err = make_region_small(mm, region, text);
			if (err == -EAGAIN)	/* what madvise(2) calls want of memory */
				return -ENOMEM;
			if (err == -ENOMEM)	/* nor is everything mapped there any more */
				continue;
			if (err)
				return err;
		}
		if (huge < 0)
			return huge;
		nr_huge += huge;
		cond_resched();
	}
	return nr_huge;
}

int hugetext_apply_small(struct mm_struct *mm)
{
	unsigned long from = 0;
	bool left = false;
	struct text text;
	int ret = 0;

	while (!hugetext_track_is_exiting(mm) && (ret = mark_next_text(mm, from, &text)) > 0) {
		ret = make_mapping_small(mm, &text);
		if (ret < 0)
			return ret;
		left |= ret;
		from = text.end;
	}
	if (ret < 0)
		return ret;
	return left ? -EBUSY : 0;
}
