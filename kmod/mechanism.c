// SPDX-License-Identifier: GPL-2.0
/*
 * How this kernel can keep text of files on huge pages, and of which files.
 * A kernel does it by itself for file systems with folios of that size, or
 * with an option for read-only files, or needs rothp, which adds that option.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/magic.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/user_namespace.h>

#include "compat.h"
#include "hugetext.h"

static bool use_rothp = true;
module_param_named(rothp, use_rothp, bool, 0444);
MODULE_PARM_DESC(rothp, "supply READ_ONLY_THP_FOR_FS where the kernel lacks it");

enum mechanism {
	NONE,		/* only tmpfs, whose large folios every kernel knows */
	NATIVE,		/* file systems with folios of PMD size */
	READ_ONLY_THP,	/* the kernel's own option */
	ROTHP,		/* ours */
};

static enum mechanism mechanism;

/* Is there a set of files, and are they guarded? */
static bool guarding;

static const char lost[] = "only text on tmpfs becomes huge";

const char *hugetext_mechanism_word(void)
{
	static const char * const words[] = {
		[NONE] = "none",
		[NATIVE] = "native",
		[READ_ONLY_THP] = "READ_ONLY_THP",
		[ROTHP] = "rothp",
	};

	return words[READ_ONCE(mechanism)];
}

void hugetext_mechanism_init(void)
{
	if (HUGETEXT_NATIVE) {
		mechanism = NATIVE;
		return;
	}
	if (IS_ENABLED(CONFIG_READ_ONLY_THP_FOR_FS)) {
		mechanism = READ_ONLY_THP;
		return;
	}
	if (use_rothp && hugetext_rothp_possible())
		mechanism = ROTHP;
	else if (use_rothp)
		pr_info("rothp is not possible on this kernel: only text on tmpfs is served\n");
}

void hugetext_mechanism_exit(void)
{
	if (guarding) {
		hugetext_files_take_back();
		hugetext_guard_disarm();
		hugetext_files_exit();
	}
	guarding = false;
	hugetext_rothp_exit();
}

/*
 * Everything that guards files must be in place before any text is collapsed;
 * it stays until the last huge folio is gone.
 */
static int start_guarding(void)
{
	int err = hugetext_guard_arm();

	if (err)
		return err;
	err = hugetext_hook("fsnotify", lost,
			    hugetext_hook_wanted("fsnotify") ? hugetext_files_init() : -ENOENT);
	if (err)
		hugetext_guard_disarm();
	guarding = !err;
	return err;
}

int hugetext_mechanism_arm(void)
{
	int err = 0;

	hugetext_files_let_go();
	if (mechanism != NONE && !guarding)
		err = start_guarding();
	if (!err && mechanism == ROTHP)
		err = hugetext_rothp_arm();
	if (err == -ENOMEM)
		return err;
	if (err)
		WRITE_ONCE(mechanism, NONE);
	return 0;
}

void hugetext_mechanism_disarm(void)
{
	hugetext_rothp_disarm();
}

static bool is_tmpfs(struct inode *inode)
{
	return inode->i_sb->s_magic == TMPFS_MAGIC;
}

/*
 * Is it for a program, a server elsewhere, or somebody who may mount where root
 * would not, to say when a page is read? khugetextd, who reads for all, would wait.
 */
static bool is_at_mercy(struct super_block *sb)
{
	return !(sb->s_type->fs_flags & FS_REQUIRES_DEV) || sb->s_user_ns != &init_user_ns ||
	       !strncmp(sb->s_type->name, "fuse", strlen("fuse"));
}

bool hugetext_mechanism_minds_writers(struct inode *inode)
{
	return !is_tmpfs(inode);
}

bool hugetext_mechanism_could_serve(struct inode *inode)
{
	return !is_tmpfs(inode) && !is_at_mercy(inode->i_sb);
}

enum hugetext_why hugetext_mechanism_file_why(struct file *file)
{
	struct inode *inode = file_inode(file);

	if (!hugetext_can_madvise())
		return HUGETEXT_WHY_NO_HOOK;
	/* memfds are on a tmpfs of the kernel's own; code there is a JIT's. */
	if (is_tmpfs(inode))
		return inode->i_sb->s_flags & SB_KERNMOUNT ? HUGETEXT_WHY_ANONYMOUS_FILE :
							     HUGETEXT_WHY_OK;
	if (is_at_mercy(inode->i_sb) || hugetext_filled_on_access(file))
		return HUGETEXT_WHY_FILESYSTEM;
	if (hugetext_files_kept_small(inode))
		return HUGETEXT_WHY_ROLLED_BACK;
	switch (READ_ONCE(mechanism)) {
	case NATIVE:
		return hugetext_takes_huge_folios(file->f_mapping) ? HUGETEXT_WHY_OK :
								      HUGETEXT_WHY_FILESYSTEM;
	case READ_ONLY_THP:
		return HUGETEXT_WHY_OK;
	case ROTHP:
		return hugetext_rothp_file_why(file);
	case NONE:
		break;
	}
	return HUGETEXT_WHY_FILESYSTEM;
}

enum hugetext_why hugetext_mechanism_begin(struct file *file)
{
	enum hugetext_why why = hugetext_mechanism_file_why(file);
	struct inode *inode = file_inode(file);

	/* Huge pages of tmpfs are the only copy of what they hold: they stay. */
	if (why != HUGETEXT_WHY_OK || is_tmpfs(inode))
		return why;
	return hugetext_files_begin(inode);
}

void hugetext_mechanism_end(void)
{
	hugetext_files_end();
}
