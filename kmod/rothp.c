// SPDX-License-Identifier: GPL-2.0
/*
 * Text of files on huge pages, on kernels built without
 * CONFIG_READ_ONLY_THP_FOR_FS: what that option adds, added from outside.
 *
 * The kernel's collapse code is there in any case. It is kept from text by
 * one check, which a kretprobe answers for khugetextd and the file at hand.
 * What the option does for writers is done here as well. A file system that
 * does not know large folios must never write to one, so:
 *
 *  - The file gets an fsnotify mark before its text is collapsed. The mark's
 *    handler runs in every open, after the opener was counted in i_writecount.
 *    It takes the huge folios out of the page cache before the open returns.
 *  - collapse_file() puts its folio into the page cache and then looks at
 *    i_writecount. Counting there and marking here are both ordered before
 *    the look at the other side, so either the collapse fails or the handler
 *    sees the folio.
 *  - Nobody who can write has the file open while a huge folio of it exists.
 *    So a huge folio is never dirty, and dropping it loses nothing. Only the
 *    huge folios are dropped; other pages, perhaps dirty, stay.
 *  - Opens that skip fsnotify (FMODE_NONOTIFY) are refused by a kprobe as
 *    long as the file has huge folios. Files that are mapped through a file
 *    system on top (overlayfs) are not collapsed at all.
 *  - Unloading drops what is left.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bug.h>
#include <linux/delay.h>
#include <linux/fsnotify_backend.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "compat.h"
#include "hugetext.h"
#include "trace.h"
#include "vma.h"

#define REGION_PAGES	(HUGETEXT_REGION_SIZE >> PAGE_SHIFT)

/* Looked at without sleeping, in the probe: more in the cache is refused unseen. */
#define MAX_PROBED_REGIONS	65536

/* A folio that cannot be dropped is one that somebody just looks at. */
#define MAX_DROP_TRIES	10
#define DROP_PAUSE	20	/* ms */

/* What does not work without any one of this room's hooks. */
static const char lost[] = "text stays small on file systems without large folios";

/* ---- Guarded files ---- */

/*
 * One per file whose text was collapsed, until the inode is evicted. The mark
 * does not pin the inode. @inode is NULL once the mark left it.
 */
struct guard {
	struct fsnotify_mark mark;
	struct inode *inode;		/* guards_lock */
	struct list_head list;		/* guards_lock */
	struct mutex drop_lock;		/* one dropper at a time */
};

static struct fsnotify_group *group;
static LIST_HEAD(guards);
static DEFINE_SPINLOCK(guards_lock);
static atomic_t nr_guards;		/* not freed yet */

/* The start of the next region with anything in the page cache; ULONG_MAX: none. */
static pgoff_t next_cached_region(struct address_space *mapping, pgoff_t index)
{
	unsigned long found = index;

	if (!xa_find(&mapping->i_pages, &found, ULONG_MAX, XA_PRESENT))
		return ULONG_MAX;
	return round_down(found, REGION_PAGES);
}

/* Is a huge folio in the page cache at @index? Does not sleep. */
static bool has_huge_folio(struct address_space *mapping, pgoff_t index)
{
	struct folio *folio = hugetext_cached_folio(mapping, index);
	bool huge;

	if (!folio)
		return false;
	huge = folio_order(folio) >= HPAGE_PMD_ORDER;
	folio_put(folio);
	return huge;
}

/*
 * The same once a collapse under way at @index is over: it keeps its folio
 * locked, and takes it out again when it fails.
 */
static bool has_settled_huge_folio(struct address_space *mapping, pgoff_t index)
{
	struct folio *folio = hugetext_cached_folio(mapping, index);
	bool huge = false;

	if (!folio)
		return false;
	if (folio_order(folio) >= HPAGE_PMD_ORDER) {
		folio_lock(folio);
		huge = folio->mapping == mapping;
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
 * The caller keeps the inode alive, and either has it open for writing or has
 * stopped khugetextd, so no new ones appear. Nothing is lost: the kernel
 * refuses to drop a dirty folio, and then so do we. Returns 0 or an errno.
 */
static int drop_huge_folios(struct guard *guard, struct inode *inode)
{
	struct address_space *mapping = inode->i_mapping;
	unsigned int dropped = 0;
	pgoff_t index;
	int ret = 0;

	mutex_lock(&guard->drop_lock);
	for (index = next_cached_region(mapping, 0); index != ULONG_MAX;
	     index = next_cached_region(mapping, index + REGION_PAGES)) {
		ret = drop_huge_folio(mapping, index);
		if (ret < 0)
			break;
		dropped += ret;
		cond_resched();
	}
	mutex_unlock(&guard->drop_lock);

	ret = min(ret, 0);
	if (dropped || ret) {
		hugetext_tally_total(HUGETEXT_TOTAL_DROPPED, dropped);
		trace_hugetext_drop(inode->i_ino, dropped, ret);
	}
	return ret;
}

/*
 * Somebody opens a guarded file. The event does not say how, but a writer is
 * counted by now. Whoever comes while a writer is open finds nothing to drop,
 * or helps the writer who is still in his open.
 */
static int open_event(struct fsnotify_group *group, u32 mask, const void *data, int data_type,
		      struct inode *dir, const struct qstr *name, u32 cookie,
		      struct fsnotify_iter_info *iter_info)
{
	struct fsnotify_mark *mark = fsnotify_iter_inode_mark(iter_info);
	struct inode *inode = fsnotify_data_inode(data, data_type);

	if (!mark || !inode || !inode_is_open_for_write(inode))
		return 0;
	/* Pairs with the barrier in collapse_file(), see the top. */
	smp_mb();
	if (drop_huge_folios(container_of(mark, struct guard, mark), inode)) {
		hugetext_tally_total(HUGETEXT_TOTAL_REFUSED_OPENS, 1);
		return -ETXTBSY;
	}
	return 0;
}

/* The mark leaves its inode, which is still in one piece until we return. */
static void freeing_mark(struct fsnotify_mark *mark, struct fsnotify_group *group)
{
	struct guard *guard = container_of(mark, struct guard, mark);

	spin_lock(&guards_lock);
	guard->inode = NULL;
	list_del_init(&guard->list);
	spin_unlock(&guards_lock);
}

static void free_mark(struct fsnotify_mark *mark)
{
	kfree(container_of(mark, struct guard, mark));
	atomic_dec(&nr_guards);
}

static const struct fsnotify_ops guard_ops = {
	.handle_event = open_event,
	.freeing_mark = freeing_mark,
	.free_mark = free_mark,
};

/* khugetextd alone adds guards, so two never meet. */
static enum hugetext_why guard_file(struct file *file)
{
	struct inode *inode = file_inode(file);
	struct fsnotify_mark *mark;
	struct guard *guard;
	int err;

	mark = hugetext_find_inode_mark(inode, group);
	if (mark) {
		fsnotify_put_mark(mark);
		return HUGETEXT_WHY_OK;
	}

	guard = kzalloc(sizeof(*guard), GFP_KERNEL);
	if (!guard)
		return HUGETEXT_WHY_NO_MEMORY;
	atomic_inc(&nr_guards);
	mutex_init(&guard->drop_lock);
	guard->inode = inode;
	fsnotify_init_mark(&guard->mark, group);
	guard->mark.mask = FS_OPEN_PERM;
	guard->mark.flags |= FSNOTIFY_MARK_FLAG_NO_IREF;

	spin_lock(&guards_lock);
	list_add(&guard->list, &guards);
	spin_unlock(&guards_lock);

	err = hugetext_add_inode_mark(&guard->mark, inode);
	if (err) {
		freeing_mark(&guard->mark, group);
		fsnotify_put_mark(&guard->mark);
		return err == -ENOMEM ? HUGETEXT_WHY_NO_MEMORY : HUGETEXT_WHY_REFUSED;
	}
	/* The inode's list holds a reference of its own. */
	fsnotify_put_mark(&guard->mark);
	hugetext_tally_total(HUGETEXT_TOTAL_GUARDED_FILES, 1);
	return HUGETEXT_WHY_OK;
}

/*
 * Pin a guard, its inode and the superblock. An inode that is being evicted
 * takes its pages and its mark along by itself, so it is passed over.
 */
static struct guard *take_guard(struct inode **inode)
{
	struct super_block *sb = NULL;
	struct guard *guard;

	*inode = NULL;
	spin_lock(&guards_lock);
	list_for_each_entry(guard, &guards, list) {
		sb = guard->inode->i_sb;
		if (!atomic_inc_not_zero(&sb->s_active))
			continue;
		*inode = igrab(guard->inode);
		if (*inode)
			refcount_inc(&guard->mark.refcnt);
		break;
	}
	if (list_entry_is_head(guard, &guards, list))
		sb = NULL;
	spin_unlock(&guards_lock);

	if (*inode)
		return guard;
	/* This one goes by itself; letting go of its superblock may sleep. */
	if (sb)
		deactivate_super(sb);
	return NULL;
}

static bool guards_left(void)
{
	bool left;

	spin_lock(&guards_lock);
	left = !list_empty(&guards);
	spin_unlock(&guards_lock);
	return left;
}

static void release_all_guards(void)
{
	struct super_block *sb;
	struct inode *inode;
	struct guard *guard;

	while (guards_left()) {
		guard = take_guard(&inode);
		if (!guard) {
			msleep(DROP_PAUSE);
			continue;
		}
		sb = inode->i_sb;
		/* Once more with nothing dirty, since nobody guards it from here on. */
		if (drop_huge_folios(guard, inode) &&
		    (filemap_write_and_wait(inode->i_mapping) || drop_huge_folios(guard, inode)))
			pr_warn("inode %lu on %s keeps huge pages\n", inode->i_ino, sb->s_id);
		fsnotify_destroy_mark(&guard->mark, group);
		fsnotify_put_mark(&guard->mark);
		iput(inode);
		deactivate_super(sb);
	}

	/*
	 * An fsnotify listener that waits for user space may still hold our
	 * marks in its list, and will call our handler when it goes on.
	 */
	while (atomic_read(&group->user_waits) || atomic_read(&nr_guards)) {
		fsnotify_wait_marks_destroyed();
		msleep(DROP_PAUSE);
	}
	/* The last free_mark() may just be returning. */
	fsnotify_wait_marks_destroyed();
}

/* ---- Opens that fsnotify does not see ---- */

/* Set before the first task is sent to refuse_open(). */
static bool open_was_refused;

/* What runs in place of security_file_open(), in the same context. */
static int refuse_open(struct file *file)
{
	return -ETXTBSY;
}

static int open_handler(struct kprobe *probe, struct pt_regs *regs)
{
	struct file *file = (struct file *)regs_get_kernel_argument(regs, 0);
	struct inode *inode = file_inode(file);
	struct address_space *mapping = inode->i_mapping;
	unsigned int seen = 0;
	pgoff_t index;

	if (!(file->f_mode & FMODE_WRITE) || !hugetext_opened_unseen(file))
		return 0;
	if (!(READ_ONCE(inode->i_fsnotify_mask) & FS_OPEN_PERM))
		return 0;

	/* The opener is counted; see the top for what this pairs with. */
	smp_mb();
	for (index = next_cached_region(mapping, 0); index != ULONG_MAX;
	     index = next_cached_region(mapping, index + REGION_PAGES))
		if (seen++ == MAX_PROBED_REGIONS || has_huge_folio(mapping, index))
			break;
	if (index == ULONG_MAX)
		return 0;

	hugetext_tally_total(HUGETEXT_TOTAL_REFUSED_OPENS, 1);
	WRITE_ONCE(open_was_refused, true);
	hugetext_call_instead(regs, refuse_open);
	return 1;
}
NOKPROBE_SYMBOL(open_handler);

/*
 * Does nothing, but a kprobe with a post handler is one that tells ftrace that
 * it changes the instruction pointer, so that no other user of ftrace may.
 */
static void open_post_handler(struct kprobe *probe, struct pt_regs *regs, unsigned long flags)
{
}
NOKPROBE_SYMBOL(open_post_handler);

static struct kprobe open_probe;
static bool open_armed;

static int arm_open_probe(void)
{
	int err;

	open_probe = (struct kprobe){
		.symbol_name = "security_file_open",
		.pre_handler = open_handler,
		.post_handler = open_post_handler,
	};
	err = hugetext_register_probe(&open_probe);
	open_armed = !err;
	return err;
}

/* ---- The check that keeps the collapse code from text ---- */

/* The inode whose text khugetextd collapses at this moment, or NULL. */
static struct inode *collapsing;

static int check_entry(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct vm_area_struct **vma = (struct vm_area_struct **)instance->data;

	if (!hugetext_track_is_worker())
		return 1;
	*vma = (struct vm_area_struct *)regs_get_kernel_argument(regs, 0);
	return 0;
}
NOKPROBE_SYMBOL(check_entry);

/*
 * The kernel said no. Say yes only where all its other conditions hold, and
 * the one that does not is its configuration. The mmap lock is held.
 */
static int check_return(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct vm_area_struct *vma = *(struct vm_area_struct **)instance->data;
	uint64_t first, last;

	if (hugetext_thp_check_says_yes(regs))
		return 0;
	if (!hugetext_vma_is_text(vma) || file_inode(vma->vm_file) != READ_ONCE(collapsing))
		return 0;
	if (hugetext_vma_why(vma) != HUGETEXT_WHY_OK ||
	    inode_is_open_for_write(file_inode(vma->vm_file)))
		return 0;
	if (hugetext_vma_regions(vma, &first, &last) != HUGETEXT_WHY_OK)
		return 0;
	hugetext_thp_check_say_yes(regs);
	return 0;
}
NOKPROBE_SYMBOL(check_return);

static struct kretprobe check_probe;
static bool check_armed;

static int arm_check_probe(void)
{
	int err = -ENOENT;

	memset(&check_probe, 0, sizeof(check_probe));
	check_probe.kp.symbol_name = HUGETEXT_THP_CHECK;
	check_probe.entry_handler = check_entry;
	check_probe.handler = check_return;
	check_probe.data_size = sizeof(struct vm_area_struct *);
	if (hugetext_hook_wanted(HUGETEXT_THP_CHECK))
		err = register_kretprobe(&check_probe);
	check_armed = !err;
	return err;
}

/* ---- Warnings of a kernel that does not expect this ---- */

/*
 * Without the option, filemap_nr_thps_inc() and _dec() warn once. They are
 * inline, so each place that uses them has its own entry in the kernel's
 * table of bugs; all are marked as if they had warned already. Which entries
 * they are is told by file and line of those in collapse_file().
 */
#define MAX_SILENCED	16
static struct bug_entry *silenced[MAX_SILENCED];
static unsigned int nr_silenced;

#if defined(CONFIG_DEBUG_BUGVERBOSE) && defined(CONFIG_GENERIC_BUG_RELATIVE_POINTERS)

static bool is_candidate(const struct bug_entry *bug)
{
	static const char suffix[] = "linux/pagemap.h";
	const char *file = (const char *)&bug->file_disp + bug->file_disp;
	size_t len;

	/* A string elsewhere, and not a part of the entry as a checking strlen() thinks. */
	OPTIMIZER_HIDE_VAR(file);
	len = strlen(file);
	if (!(bug->flags & BUGFLAG_WARNING) || !(bug->flags & BUGFLAG_ONCE))
		return false;
	return len >= strlen(suffix) && !strcmp(file + len - strlen(suffix), suffix);
}

static bool is_in_collapse_file(const struct bug_entry *bug)
{
	unsigned long addr = (unsigned long)&bug->bug_addr_disp + bug->bug_addr_disp;
	char name[KSYM_SYMBOL_LEN];

	sprint_symbol_no_offset(name, addr);
	return !strncmp(name, "collapse_file", strlen("collapse_file"));
}

static int silence_warnings(void)
{
	struct bug_entry *start = (void *)hugetext_symbol("__start___bug_table");
	struct bug_entry *stop = (void *)hugetext_symbol("__stop___bug_table");
	struct bug_entry *bug;
	unsigned short lines[4];
	unsigned int i, nr_lines = 0;

	if (!start || !stop)
		return -ENOENT;
	for (bug = start; bug < stop; bug++)
		if (is_candidate(bug) && is_in_collapse_file(bug) && nr_lines < ARRAY_SIZE(lines))
			lines[nr_lines++] = bug->line;
	if (!nr_lines)
		return -ENOENT;

	for (bug = start; bug < stop; bug++) {
		if (!is_candidate(bug) || (bug->flags & BUGFLAG_DONE))
			continue;
		for (i = 0; i < nr_lines && bug->line != lines[i]; i++)
			;
		if (i == nr_lines)
			continue;
		if (nr_silenced == MAX_SILENCED)
			return -E2BIG;
		silenced[nr_silenced++] = bug;
		bug->flags |= BUGFLAG_DONE;
	}
	return 0;
}

#else

static int silence_warnings(void)
{
	return -EOPNOTSUPP;
}

#endif

static void restore_warnings(void)
{
	while (nr_silenced)
		silenced[--nr_silenced]->flags &= ~BUGFLAG_DONE;
}

/* ---- The room's doors ---- */

/*
 * Everything that guards writers must be in place before anything is let in;
 * it stays until the last huge folio is gone.
 */
static int start_guarding(void)
{
	int err;

	if (hugetext_hook("bug_table", lost, silence_warnings()))
		return -ENOENT;
	err = hugetext_hook("security_file_open", lost, arm_open_probe());
	if (err)
		return err;
	group = hugetext_alloc_open_group(&guard_ops);
	if (IS_ERR(group)) {
		err = PTR_ERR(group);
		group = NULL;
	}
	return hugetext_hook("fsnotify", lost, err);
}

void hugetext_rothp_exit(void)
{
	if (group) {
		release_all_guards();
		fsnotify_put_group(group);
		group = NULL;
	}
	if (open_armed) {
		unregister_kprobe(&open_probe);
		/* A wait for all tasks can take long under load, and mostly is for none. */
		if (READ_ONCE(open_was_refused))
			hugetext_wait_called_instead();
		hugetext_tally_total(HUGETEXT_TOTAL_MISSED_PROBES, open_probe.nmissed);
		open_armed = false;
	}
	restore_warnings();
}

bool hugetext_rothp_possible(void)
{
	/* With DEBUG_VM the collapse of a file is a BUG in such a kernel. */
	return !IS_ENABLED(CONFIG_DEBUG_VM) && IS_ENABLED(CONFIG_FANOTIFY_ACCESS_PERMISSIONS);
}

int hugetext_rothp_arm(void)
{
	if (!group && start_guarding()) {
		hugetext_rothp_exit();
		return -ENOENT;
	}
	hugetext_hook(HUGETEXT_THP_CHECK, lost, arm_check_probe());
	return 0;
}

void hugetext_rothp_disarm(void)
{
	if (!check_armed)
		return;
	check_armed = false;
	unregister_kretprobe(&check_probe);
	hugetext_tally_total(HUGETEXT_TOTAL_MISSED_PROBES, check_probe.nmissed);
}

/*
 * File systems known to take the page cache of a truncated file away before
 * they look at its last page, also for truncate(2), which opens nothing; and
 * never to write to a file that nobody has open for writing.
 */
static bool is_proven(struct inode *inode)
{
	const char *name = inode->i_sb->s_type->name;

	/* ext3 is a name that the ext4 driver answers to as well. */
	return !strcmp(name, "ext4") || !strcmp(name, "ext3");
}

enum hugetext_why hugetext_rothp_file_why(struct file *file)
{
	struct inode *inode = file_inode(file);

	if (!check_armed)
		return HUGETEXT_WHY_NO_HOOK;
	/* Opened through a file system on top, whose opens fsnotify sees there. */
	if (hugetext_opened_unseen(file) || d_inode(file->f_path.dentry) != inode)
		return HUGETEXT_WHY_UNSEEN_WRITER;
	/* Large folios of its own: their warnings and writers are other ones. */
	if (!is_proven(inode) || mapping_large_folio_support(file->f_mapping))
		return HUGETEXT_WHY_FILESYSTEM;
	return HUGETEXT_WHY_OK;
}

enum hugetext_why hugetext_rothp_begin(struct file *file)
{
	enum hugetext_why why = guard_file(file);

	if (why == HUGETEXT_WHY_OK)
		WRITE_ONCE(collapsing, file_inode(file));
	return why;
}

void hugetext_rothp_end(void)
{
	WRITE_ONCE(collapsing, NULL);
}
