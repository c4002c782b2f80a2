// SPDX-License-Identifier: GPL-2.0
/*
 * The files whose text was collapsed, so that writers can be kept apart from a
 * collapse, and huge pages be taken back: before somebody writes, and when the
 * module goes. Many file systems cannot write to huge pages at all. Those that
 * know large folios can, but whoever has a part of one mapped may see zeros for
 * a moment when another part is cut out, as truncate_inode_partial_folio() does.
 * The larger the folio, the more there is to see, so a writer finds no huge one.
 *
 * Each has an fsnotify mark for as long as its inode is in memory, which the
 * mark does not pin. The mark's handler runs in every open, after the opener
 * was counted in i_writecount.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/fsnotify_backend.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include "compat.h"
#include "hugetext.h"
#include "trace.h"

#define REGION_PAGES	(HUGETEXT_REGION_SIZE >> PAGE_SHIFT)

/* A folio that cannot be dropped is one that somebody just looks at. */
#define MAX_DROP_TRIES	10
#define DROP_PAUSE	20	/* ms */

/* A collapse takes milliseconds; a writer who waited so long is turned away. */
#define COLLAPSE_PATIENCE	msecs_to_jiffies(10000)

/* @inode is NULL once the mark left it. */
struct served_file {
	struct fsnotify_mark mark;
	struct inode *inode;		/* list_lock */
	struct list_head list;		/* list_lock */
	struct mutex drop_lock;		/* one dropper at a time */
	bool kept_small;		/* was rolled back; list_lock for changes */
	unsigned int rolled_back;	/* in which round of all; list_lock */
};

static struct fsnotify_group *group;
static LIST_HEAD(served_files);
static DEFINE_SPINLOCK(list_lock);
static atomic_t nr_served;		/* not freed yet */
static atomic_t nr_kept_small;
static unsigned int rollback_round;	/* rollback_lock */
static DEFINE_MUTEX(rollback_lock);	/* one round at a time */

/* The inode whose text khugetextd collapses at this moment, or NULL. */
static struct inode *collapsing;
static DECLARE_WAIT_QUEUE_HEAD(collapse_over);

bool hugetext_files_collapsing(struct inode *inode)
{
	return inode == READ_ONCE(collapsing);
}

/* ---- Huge folios of a file ---- */

/*
 * Is there a huge folio to drop at @index once a collapse under way there is over?
 * It keeps its folio locked, and takes it out again when it fails. Where huge folios
 * can be written to, those that are dirty are of a writer's own making.
 */
static bool has_settled_huge_folio(struct address_space *mapping, pgoff_t index)
{
	struct folio *folio = hugetext_cached_folio(mapping, index);
	bool huge = false;

	if (!folio)
		return false;
	if (folio_order(folio) >= HPAGE_PMD_ORDER) {
		folio_lock(folio);
		huge = folio->mapping == mapping &&
		       !(mapping_large_folio_support(mapping) &&
			 (folio_test_dirty(folio) || folio_test_writeback(folio)));
		folio_unlock(folio);
	}
	folio_put(folio);
	return huge;
}

/*
 * Returns 1 when there was a huge folio, 0 when not, else a negative errno. An
 * error of one try may be of a small page in the range, and counts for nothing
 * once the huge folio is gone.
 */
static int drop_huge_folio(struct address_space *mapping, pgoff_t index)
{
	int err = 0, tries = 0;

	while (has_settled_huge_folio(mapping, index)) {
		if (tries++ == MAX_DROP_TRIES)
			return err ?: -EBUSY;
		if (err)
			msleep(DROP_PAUSE);
		err = invalidate_inode_pages2_range(mapping, index, index + REGION_PAGES - 1);
	}
	return tries > 0;
}

/*
 * Take the huge folios of a file out of the page cache and all page tables.
 * The caller keeps the inode alive. Unless he has it open for writing, has stopped
 * khugetextd or keeps the file small, new ones may appear. Nothing is lost: the kernel
 * refuses to drop a dirty folio, and then so do we. Returns how many were dropped,
 * or a negative errno.
 */
static int drop_huge_folios(struct served_file *served, struct inode *inode)
{
	struct address_space *mapping = inode->i_mapping;
	int ret = 0, dropped = 0;
	pgoff_t index;

	mutex_lock(&served->drop_lock);
	for (index = hugetext_next_region(mapping, 0); index != ULONG_MAX;
	     index = hugetext_next_region(mapping, index + REGION_PAGES)) {
		ret = drop_huge_folio(mapping, index);
		if (ret < 0)
			break;
		dropped += ret;
		cond_resched();
	}
	mutex_unlock(&served->drop_lock);

	ret = min(ret, 0);
	if (dropped || ret) {
		hugetext_tally_total(HUGETEXT_TOTAL_DROPPED, dropped);
		trace_hugetext_drop(inode->i_ino, dropped, ret);
	}
	return ret ?: dropped;
}

/* ---- Writers ---- */

bool hugetext_files_writable(struct inode *inode)
{
	/* The counting before the look; collapse_file() has it the other way round. */
	smp_mb();
	return !hugetext_files_collapsing(inode) && !hugetext_peek_huge(inode->i_mapping);
}

/* Wait for a collapse under way to end, for a while. Is it over? */
static bool wait_for_collapse(struct inode *inode)
{
	smp_mb(); /* as above */
	return wait_event_killable_timeout(collapse_over, !hugetext_files_collapsing(inode),
					   COLLAPSE_PATIENCE) > 0;
}

/*
 * Somebody who is counted as a writer is about to get his open file, or to
 * change the file's size: a file system that does not know large folios takes
 * one at the end of the file for a small page, also when the file grows. Whoever
 * comes while a writer is open finds nothing to drop, or helps the writer who
 * is still in his open.
 */
static int make_writable(struct served_file *served, struct inode *inode)
{
	int ret = -ETXTBSY;

	if (wait_for_collapse(inode))
		ret = drop_huge_folios(served, inode);
	/* Who used them shall have them back when the writer is gone. */
	if (ret)
		hugetext_track_look_again();
	/* Where huge folios can be written to, one that stays is no reason to refuse. */
	if (ret >= 0 || (ret != -ETXTBSY && mapping_large_folio_support(inode->i_mapping)))
		return 0;
	hugetext_tally_total(HUGETEXT_TOTAL_REFUSED_OPENS, 1);
	return -ETXTBSY;
}

int hugetext_files_make_writable(struct inode *inode)
{
	struct fsnotify_mark *mark = hugetext_find_inode_mark(inode, group);
	int err;

	/* Without mark there is nothing huge any more. */
	if (!mark)
		return 0;
	err = make_writable(container_of(mark, struct served_file, mark), inode);
	fsnotify_put_mark(mark);
	return err;
}

/* The event does not say how the file is opened, but a writer is counted by now. */
static int open_event(struct fsnotify_group *group, u32 mask, const void *data, int data_type,
		      struct inode *dir, const struct qstr *name, u32 cookie,
		      struct fsnotify_iter_info *iter_info)
{
	struct fsnotify_mark *mark = fsnotify_iter_inode_mark(iter_info);
	struct inode *inode = fsnotify_data_inode(data, data_type);

	/* Whoever only reads may find other writers there; they see to themselves. */
	if (!mark || !inode || !inode_is_open_for_write(inode))
		return 0;
	return make_writable(container_of(mark, struct served_file, mark), inode);
}

/* ---- The set of files ---- */

/* Locking: list_lock. */
static void keep_small(struct served_file *served, bool keep)
{
	if (served->kept_small == keep)
		return;
	WRITE_ONCE(served->kept_small, keep);
	atomic_add(keep ? 1 : -1, &nr_kept_small);
}

bool hugetext_files_kept_small(struct inode *inode)
{
	struct fsnotify_mark *mark;
	bool kept;

	/* Most of the time there are none. */
	if (!atomic_read(&nr_kept_small))
		return false;
	mark = hugetext_find_inode_mark(inode, group);
	if (!mark)
		return false;
	kept = READ_ONCE(container_of(mark, struct served_file, mark)->kept_small);
	fsnotify_put_mark(mark);
	return kept;
}

void hugetext_files_let_go(void)
{
	struct served_file *served;

	spin_lock(&list_lock);
	list_for_each_entry(served, &served_files, list)
		keep_small(served, false);
	spin_unlock(&list_lock);
}

/* The mark leaves its inode, which is still in one piece until we return. */
static void freeing_mark(struct fsnotify_mark *mark, struct fsnotify_group *group)
{
	struct served_file *served = container_of(mark, struct served_file, mark);

	spin_lock(&list_lock);
	served->inode = NULL;
	list_del_init(&served->list);
	keep_small(served, false);
	spin_unlock(&list_lock);
}

static void free_mark(struct fsnotify_mark *mark)
{
	kfree(container_of(mark, struct served_file, mark));
	atomic_dec(&nr_served);
}

static const struct fsnotify_ops mark_ops = {
	.handle_event = open_event,
	.freeing_mark = freeing_mark,
	.free_mark = free_mark,
};

/* khugetextd adds, and who rolls a file back: one of two that meet finds the other's. */
static enum hugetext_why add(struct inode *inode)
{
	struct served_file *served;
	struct fsnotify_mark *mark;
	int err;

	mark = hugetext_find_inode_mark(inode, group);
	if (mark) {
		fsnotify_put_mark(mark);
		return HUGETEXT_WHY_OK;
	}

	served = kzalloc(sizeof(*served), GFP_KERNEL);
	if (!served)
		return HUGETEXT_WHY_NO_MEMORY;
	atomic_inc(&nr_served);
	mutex_init(&served->drop_lock);
	served->inode = inode;
	fsnotify_init_mark(&served->mark, group);
	served->mark.mask = FS_OPEN_PERM;
	served->mark.flags |= FSNOTIFY_MARK_FLAG_NO_IREF;

	spin_lock(&list_lock);
	list_add(&served->list, &served_files);
	spin_unlock(&list_lock);

	err = hugetext_add_inode_mark(&served->mark, inode);
	if (err) {
		freeing_mark(&served->mark, group);
		fsnotify_put_mark(&served->mark);
		if (err == -EEXIST)
			return HUGETEXT_WHY_OK;
		return err == -ENOMEM ? HUGETEXT_WHY_NO_MEMORY : HUGETEXT_WHY_REFUSED;
	}
	/* The inode's list holds a reference of its own. */
	fsnotify_put_mark(&served->mark);
	hugetext_tally_total(HUGETEXT_TOTAL_SERVED_FILES, 1);
	return HUGETEXT_WHY_OK;
}

void hugetext_files_end(void)
{
	WRITE_ONCE(collapsing, NULL);
	wake_up_all(&collapse_over);
}

enum hugetext_why hugetext_files_begin(struct inode *inode)
{
	enum hugetext_why why = add(inode);

	if (why != HUGETEXT_WHY_OK)
		return why;
	WRITE_ONCE(collapsing, inode);
	smp_mb(); /* before any look at i_writecount, see wait_for_collapse() */
	/* Whoever turned it off and then took all back has seen the last of it. */
	if (!(READ_ONCE(hugetext_settings.enabled) & HUGETEXT_FILE))
		why = HUGETEXT_WHY_OFF;
	else if (inode_is_open_for_write(inode))
		why = HUGETEXT_WHY_OPEN_FOR_WRITE;
	else if (hugetext_files_kept_small(inode))
		why = HUGETEXT_WHY_ROLLED_BACK;
	if (why != HUGETEXT_WHY_OK)
		hugetext_files_end();
	return why;
}

/*
 * Pin a file of the set, its inode and the superblock. An inode that is being
 * evicted takes its pages and its mark along by itself: -EAGAIN. With a @round only
 * such files are taken that were not in it yet. NULL: there is none.
 */
static struct served_file *take_one(struct inode **inode, unsigned int round)
{
	struct super_block *sb = NULL;
	struct served_file *served;

	*inode = NULL;
	spin_lock(&list_lock);
	list_for_each_entry(served, &served_files, list) {
		if (round && served->rolled_back == round)
			continue;
		served->rolled_back = round;
		sb = served->inode->i_sb;
		if (!atomic_inc_not_zero(&sb->s_active))
			continue;
		*inode = igrab(served->inode);
		if (*inode)
			refcount_inc(&served->mark.refcnt);
		break;
	}
	if (list_entry_is_head(served, &served_files, list))
		sb = NULL;
	spin_unlock(&list_lock);

	if (*inode)
		return served;
	if (!sb)
		return NULL;
	/* This one goes by itself; letting go of its superblock may sleep. */
	deactivate_super(sb);
	return ERR_PTR(-EAGAIN);
}

static bool any_left(void)
{
	bool left;

	spin_lock(&list_lock);
	left = !list_empty(&served_files);
	spin_unlock(&list_lock);
	return left;
}

/* Drop what can be dropped; what is dirty first gets written. Return: 0 or an errno. */
static int drop_all(struct served_file *served, struct inode *inode)
{
	int err;

	if (drop_huge_folios(served, inode) >= 0)
		return 0;
	err = filemap_write_and_wait(inode->i_mapping);
	return err ?: min(drop_huge_folios(served, inode), 0);
}

static void take_back(struct served_file *served, struct inode *inode)
{
	/* Where huge folios can be written to, somebody may do so all the time. */
	if (drop_all(served, inode) && !mapping_large_folio_support(inode->i_mapping))
		pr_warn("inode %lu on %s keeps huge pages\n", (unsigned long)inode->i_ino,
			inode->i_sb->s_id);
}

/*
 * Where huge folios can be written to, dirty ones count as a writer's own; here
 * they shall go as well.
 */
static int write_and_drop(struct served_file *served, struct inode *inode)
{
	int err = filemap_write_and_wait(inode->i_mapping);

	if (err)
		return err;
	return wait_for_collapse(inode) ? drop_all(served, inode) : -EBUSY;
}

int hugetext_files_roll_back(struct inode *inode)
{
	struct fsnotify_mark *mark;
	struct served_file *served;
	enum hugetext_why why;
	int err;

	/* Nobody was ever served. */
	if (!smp_load_acquire(&group)) /* pairs with hugetext_files_init() */
		return 0;
	why = add(inode);
	if (why != HUGETEXT_WHY_OK)
		return why == HUGETEXT_WHY_NO_MEMORY ? -ENOMEM : -EBUSY;
	mark = hugetext_find_inode_mark(inode, group);
	if (!mark)
		return -EBUSY;
	served = container_of(mark, struct served_file, mark);
	spin_lock(&list_lock);
	keep_small(served, served->inode);
	spin_unlock(&list_lock);
	/* Whoever begins a collapse after this sees it; see hugetext_files_begin(). */
	err = write_and_drop(served, inode);
	fsnotify_put_mark(mark);
	return err;
}

int hugetext_files_roll_back_all(void)
{
	struct served_file *served;
	struct super_block *sb;
	struct inode *inode;
	unsigned int round;
	int err = 0;

	if (mutex_lock_killable(&rollback_lock))
		return -EINTR;
	/* 0 is no round. */
	rollback_round = rollback_round + 1 ?: 1;
	round = rollback_round;
	while (!fatal_signal_pending(current) && (served = take_one(&inode, round))) {
		if (IS_ERR(served))
			continue;
		sb = inode->i_sb;
		err = write_and_drop(served, inode) ?: err;
		fsnotify_put_mark(&served->mark);
		iput(inode);
		deactivate_super(sb);
	}
	mutex_unlock(&rollback_lock);
	return fatal_signal_pending(current) ? -EINTR : err;
}

void hugetext_files_take_back(void)
{
	struct served_file *served;
	struct super_block *sb;
	struct inode *inode;

	while (any_left()) {
		served = take_one(&inode, 0);
		if (IS_ERR_OR_NULL(served)) {
			msleep(DROP_PAUSE);
			continue;
		}
		sb = inode->i_sb;
		take_back(served, inode);
		fsnotify_destroy_mark(&served->mark, group);
		fsnotify_put_mark(&served->mark);
		iput(inode);
		deactivate_super(sb);
	}

	/*
	 * An fsnotify listener that waits for user space may still hold our
	 * marks in its list, and will call our handler when it goes on.
	 */
	while (atomic_read(&group->user_waits) || atomic_read(&nr_served)) {
		fsnotify_wait_marks_destroyed();
		msleep(DROP_PAUSE);
	}
	/* The last free_mark() may just be returning. */
	fsnotify_wait_marks_destroyed();
}

int hugetext_files_init(void)
{
	struct fsnotify_group *new = hugetext_alloc_open_group(&mark_ops);

	if (IS_ERR(new))
		return PTR_ERR(new);
	smp_store_release(&group, new); /* pairs with hugetext_files_roll_back() */
	return 0;
}

void hugetext_files_exit(void)
{
	fsnotify_put_group(group);
	group = NULL;
}
