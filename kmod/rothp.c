// SPDX-License-Identifier: GPL-2.0
/*
 * Text of files on huge pages, on kernels built without
 * CONFIG_READ_ONLY_THP_FOR_FS: what that option adds, added from outside.
 *
 * The kernel's collapse code is there in any case. It is kept from text by
 * one check, which a kretprobe answers for khugetextd and the file at hand.
 * What the option does for writers is done in files.c and guard.c. A file system
 * that does not know large folios must never write to one, so:
 *
 *  - Somebody who opens the file for writing is counted in i_writecount, then
 *    waits for a collapse under way, and then takes the huge folios out of the
 *    page cache before his open returns.
 *  - collapse_file() puts its folio into the page cache and then looks at
 *    i_writecount. Either it sees the writer and fails, or he sees the folio.
 *  - Nobody who can write has the file open while a huge folio of it exists.
 *    So a huge folio is never dirty, and dropping it loses nothing. Only the
 *    huge folios are dropped; other pages, perhaps dirty, stay.
 *  - Unloading drops what is left.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bug.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/module.h>

#include "compat.h"
#include "hugetext.h"
#include "vma.h"

/* What does not work without any one of this room's hooks. */
static const char lost[] = "text stays small on file systems without large folios";

/* ---- The check that keeps the collapse code from text ---- */

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
	if (!hugetext_vma_is_text(vma) || !hugetext_files_collapsing(file_inode(vma->vm_file)))
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

void hugetext_rothp_exit(void)
{
	restore_warnings();
}

bool hugetext_rothp_possible(void)
{
	/* With DEBUG_VM the collapse of a file is a BUG in such a kernel. */
	return !IS_ENABLED(CONFIG_DEBUG_VM) && IS_ENABLED(CONFIG_FANOTIFY_ACCESS_PERMISSIONS);
}

int hugetext_rothp_arm(void)
{
	int err = nr_silenced ? 0 : hugetext_hook("bug_table", lost, silence_warnings());

	if (err) {
		restore_warnings();
		return err;
	}
	err = hugetext_hook(HUGETEXT_THP_CHECK, lost, arm_check_probe());
	/* Without it no file is served, see hugetext_rothp_file_why(). */
	return err == -ENOMEM ? err : 0;
}

void hugetext_rothp_disarm(void)
{
	if (!check_armed)
		return;
	check_armed = false;
	unregister_kretprobe(&check_probe);
	hugetext_tally_total(HUGETEXT_TOTAL_MISSED_PROBES, check_probe.nmissed);
}

/* What a file system does with the huge folios that it never asked for. */
static const struct {
	const char *name;
	bool large_folios;	/* it knows large ones, this is not its largest */
} proven[] = {
	/*
	 * These never write to a file that nobody has open for writing, or is
	 * about to truncate: guard.c knows of both.
	 */
	{ "ext4", false },
	{ "ext3", false },	/* a name that the ext4 driver answers to as well */
	{ "xfs", true },
	/* Nobody writes to these. */
	{ "squashfs", false },
	{ "erofs", false },
	{ "erofs", true },
};

static bool is_proven(struct inode *inode)
{
	bool large_folios = mapping_large_folio_support(inode->i_mapping);
	unsigned int i;

	if (large_folios && !HUGETEXT_COLLAPSES_LARGE_FOLIOS)
		return false;
	for (i = 0; i < ARRAY_SIZE(proven); i++)
		if (proven[i].large_folios == large_folios &&
		    !strcmp(proven[i].name, inode->i_sb->s_type->name))
			return true;
	return false;
}

enum hugetext_why hugetext_rothp_file_why(struct file *file)
{
	if (!check_armed)
		return HUGETEXT_WHY_NO_HOOK;
	return is_proven(file_inode(file)) ? HUGETEXT_WHY_OK : HUGETEXT_WHY_FILESYSTEM;
}
