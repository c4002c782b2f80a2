// SPDX-License-Identifier: GPL-2.0
/*
 * Take huge text back: of a process, of a file, or of all files.
 * Works in the process of whoever asks, who may be killed while he waits for an
 * mmap lock or for a disk.
 */
#include <linux/dcache.h>
#include <linux/kstrtox.h>
#include <linux/namei.h>
#include <linux/path.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/string.h>

#include "hugetext.h"

static int roll_back_process(pid_t tgid)
{
	struct mm_struct *mm = hugetext_process_mm(tgid, task_active_pid_ns(current));
	int err;

	if (!mm)
		return -ESRCH;
	err = hugetext_apply_small(mm);
	mmput_async(mm);
	return err;
}

static int roll_back_inode(struct inode *inode)
{
	if (!S_ISREG(inode->i_mode))
		return -EINVAL;
	/*
	 * Huge pages of a tmpfs are the only copy of what they hold; those of hugetlbfs
	 * are of another kind; and nobody shall wait for a server.
	 */
	if (!hugetext_mechanism_could_serve(inode))
		return -EOPNOTSUPP;
	return hugetext_files_roll_back(inode);
}

static int roll_back_file(const char *name)
{
	struct path path;
	int err = kern_path(name, LOOKUP_FOLLOW, &path);

	if (err)
		return err;
	err = roll_back_inode(d_real_inode(path.dentry));
	path_put(&path);
	return err;
}

int hugetext_roll_back(const char *what)
{
	unsigned int tgid;

	if (what[0] == '/')
		return roll_back_file(what);
	if (!strcmp(what, "all"))
		return hugetext_files_roll_back_all();
	if (kstrtouint(what, 10, &tgid) || !tgid || tgid > PID_MAX_LIMIT)
		return -EINVAL;
	return roll_back_process(tgid);
}
