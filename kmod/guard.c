// SPDX-License-Identifier: GPL-2.0
/*
 * Keeps a collapse and those who change its file out of each other's way.
 *
 * collapse_file() holds folios locked while it takes the invalidate_lock of the
 * mapping: to read in what is missing, and on some kernels once more at its end.
 * Whoever cuts a file takes the two the other way round, so each would wait for
 * the other for ever. Therefore:
 *
 *  - Nobody can write to the file during a collapse, and none begins while
 *    somebody can. files.c has opens wait, as far as fsnotify tells of them.
 *    Opens that skip fsnotify (FMODE_NONOTIFY: those of overlayfs on 6.1, and
 *    fanotify's own) are sent by a kprobe to a function that does the same.
 *  - truncate(2) opens nothing, but it counts as a writer. Another kprobe sends
 *    it there as well.
 *  - The collapse itself reads nothing. A third kprobe turns its read-ahead into
 *    nothing; apply.c had everything read in before.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/module.h>

#include "compat.h"
#include "hugetext.h"

/* What does not work without any one of these hooks. */
static const char lost[] = "only text on tmpfs becomes huge";

/*
 * Tasks that were sent to a function below and have not left it; and whether
 * one ever was, which is set before the first is sent.
 */
static atomic_t nr_sent;
static bool any_sent;

/* From a probe handler, which returns what this returns. */
static int send_to(struct pt_regs *regs, void *function)
{
	WRITE_ONCE(any_sent, true);
	atomic_inc(&nr_sent);
	hugetext_call_instead(regs, function);
	return 1;
}

/* May this be one of ours? There are others who want to know of opens. */
static bool is_guarded(struct inode *inode)
{
	return READ_ONCE(inode->i_fsnotify_mask) & FS_OPEN_PERM;
}

/* ---- Opens that fsnotify does not see ---- */

/*
 * What runs in place of security_file_open(), in the same context: what the
 * mark's handler does for other opens, and then that function after all.
 */
static int open_unseen(struct file *file)
{
	int err = hugetext_files_make_writable(file_inode(file));

	if (!err)
		err = hugetext_security_file_open(file);
	atomic_dec(&nr_sent);
	return err;
}

static int open_handler(struct kprobe *probe, struct pt_regs *regs)
{
	struct file *file = (struct file *)regs_get_kernel_argument(regs, 0);
	struct inode *inode = file_inode(file);

	if (!(file->f_mode & FMODE_WRITE) || !hugetext_opened_unseen(file))
		return 0;
	if (!is_guarded(inode))
		return 0;
	/* The second time, called by open_unseen(). */
	if (hugetext_called_from(regs, THIS_MODULE) || hugetext_files_writable(inode))
		return 0;
	return send_to(regs, open_unseen);
}
NOKPROBE_SYMBOL(open_handler);

/* ---- Truncations by name ---- */

/* The same in place of notify_change(). */
static int change_later(void *idmap, struct dentry *dentry, struct iattr *attr, void *delegated)
{
	int err = hugetext_files_make_writable(d_inode(dentry));

	if (!err)
		err = hugetext_notify_change(idmap, dentry, attr, delegated);
	atomic_dec(&nr_sent);
	return err;
}

/* Everybody who gets here with a size was counted in i_writecount, a full barrier. */
static int change_handler(struct kprobe *probe, struct pt_regs *regs)
{
	struct dentry *dentry = (struct dentry *)regs_get_kernel_argument(regs, 1);
	struct iattr *attr = (struct iattr *)regs_get_kernel_argument(regs, 2);

	if (!(attr->ia_valid & ATTR_SIZE) || !is_guarded(d_inode(dentry)))
		return 0;
	if (hugetext_called_from(regs, THIS_MODULE) || hugetext_files_writable(d_inode(dentry)))
		return 0;
	return send_to(regs, change_later);
}
NOKPROBE_SYMBOL(change_handler);

/* ---- Read-ahead of the collapse itself ---- */

/* Set and seen by khugetextd alone. */
static bool reading_nothing;

void hugetext_guard_read_nothing(bool nothing)
{
	reading_nothing = nothing;
}

/* Only khugetextd comes here, and it has ended before this code goes. */
static void read_nothing(void *control, unsigned long count)
{
}

static int read_handler(struct kprobe *probe, struct pt_regs *regs)
{
	if (!hugetext_track_is_worker() || !reading_nothing)
		return 0;
	hugetext_call_instead(regs, read_nothing);
	return 1;
}
NOKPROBE_SYMBOL(read_handler);

/* ---- The probes ---- */

/*
 * Does nothing, but a kprobe with a post handler is one that tells ftrace that
 * it changes the instruction pointer, so that no other user of ftrace may.
 */
static void post_handler(struct kprobe *probe, struct pt_regs *regs, unsigned long flags)
{
}
NOKPROBE_SYMBOL(post_handler);

enum { ON_OPEN, ON_CHANGE, ON_READ };

static const struct {
	const char *function;
	kprobe_pre_handler_t handler;
} hooks[] = {
	[ON_OPEN] = { "security_file_open", open_handler },
	[ON_CHANGE] = { "notify_change", change_handler },
	[ON_READ] = { "page_cache_sync_ra", read_handler },
};

static struct kprobe probes[ARRAY_SIZE(hooks)];
static unsigned int nr_armed;

static int arm(unsigned int i)
{
	/* A kprobe keeps the address of its last registration. */
	probes[i] = (struct kprobe){
		.symbol_name = hooks[i].function,
		.pre_handler = hooks[i].handler,
		.post_handler = post_handler,
	};
	return hugetext_hook(hooks[i].function, lost, hugetext_register_probe(&probes[i]));
}

int hugetext_guard_arm(void)
{
	int err = 0;

	while (!err && nr_armed < ARRAY_SIZE(hooks)) {
		err = arm(nr_armed);
		if (!err)
			nr_armed++;
	}
	if (err) {
		hugetext_guard_disarm();
		return err;
	}
	/* There is no file yet for whose sake anybody could be sent away. */
	hugetext_set_security_file_open(probes[ON_OPEN].addr);
	hugetext_set_notify_change(probes[ON_CHANGE].addr);
	return 0;
}

void hugetext_guard_disarm(void)
{
	while (nr_armed) {
		struct kprobe *probe = &probes[--nr_armed];

		unregister_kprobe(probe);
		hugetext_tally_total(HUGETEXT_TOTAL_MISSED_PROBES, probe->nmissed);
	}
	/* Until nobody is in one of the functions, not even in its last instructions. */
	if (!READ_ONCE(any_sent))
		return;
	while (atomic_read(&nr_sent))
		msleep(20);
	/* This can take long under load, and mostly is for none. */
	hugetext_wait_called_instead();
	any_sent = false;
}
