// SPDX-License-Identifier: GPL-2.0
/*
 * Tell people what became of each piece of text, and why: debugfs hugetext/text.
 * What stands against a region now is looked up when the file is read. Only what
 * the kernel answered to attempts of late is remembered, in a small ring.
 */
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/pid_namespace.h>
#include <linux/rcupdate.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/spinlock.h>

#include "hugetext.h"

/* Failures of this kind pass, so that few are remembered at any time. */
#define MAX_FAILURES	256

/* Those who hold mmap locks are waited for, but all of them only for so long. */
#define LOCK_TRIES	100
#define LOCK_PAUSE	5	/* ms */

/* ---- Attempts that failed ---- */

struct failure {
	struct mm_struct *mm;	/* to compare, not to look into; NULL: none */
	unsigned long start;
	unsigned long end;
	enum hugetext_why why;
};

static struct failure failures[MAX_FAILURES];
static unsigned int next_failure;
static bool any_failure;		/* since the module was loaded */
static DEFINE_SPINLOCK(failures_lock);

static bool concerns(const struct failure *failure, struct mm_struct *mm, unsigned long addr)
{
	return failure->mm == mm && failure->start <= addr && addr < failure->end;
}

void hugetext_explain_failed(struct mm_struct *mm, unsigned long start, unsigned long end,
			     enum hugetext_why why)
{
	unsigned int i;

	spin_lock(&failures_lock);
	for (i = 0; i < MAX_FAILURES; i++)
		if (failures[i].mm == mm && failures[i].start == start)
			break;
	if (i == MAX_FAILURES) {
		i = next_failure;
		next_failure = (next_failure + 1) % MAX_FAILURES;
	}
	failures[i] = (struct failure){ .mm = mm, .start = start, .end = end, .why = why };
	WRITE_ONCE(any_failure, true);
	spin_unlock(&failures_lock);
}

void hugetext_explain_forget(struct mm_struct *mm)
{
	unsigned int i;

	if (!READ_ONCE(any_failure))
		return;
	spin_lock(&failures_lock);
	for (i = 0; i < MAX_FAILURES; i++)
		if (failures[i].mm == mm)
			failures[i].mm = NULL;
	spin_unlock(&failures_lock);
}

static enum hugetext_why last_failure(struct mm_struct *mm, unsigned long addr)
{
	enum hugetext_why why = HUGETEXT_WHY_OK;
	unsigned int i;

	spin_lock(&failures_lock);
	for (i = 0; i < MAX_FAILURES; i++)
		if (concerns(&failures[i], mm, addr))
			why = failures[i].why;
	spin_unlock(&failures_lock);
	return why;
}

/* ---- Processes ---- */

/* The first thread may have exited, the others not. */
struct mm_struct *hugetext_process_mm(pid_t tgid, struct pid_namespace *namespace)
{
	struct task_struct *process, *thread;
	struct mm_struct *mm = NULL;

	rcu_read_lock();
	process = pid_task(find_pid_ns(tgid, namespace), PIDTYPE_TGID);
	if (process && !(process->flags & PF_KTHREAD)) {
		for_each_thread(process, thread) {
			task_lock(thread);
			mm = thread->mm;
			if (mm)
				mmget(mm);
			task_unlock(thread);
			if (mm)
				break;
		}
	}
	rcu_read_unlock();
	return mm;
}

/* ---- debugfs ---- */

/* One reader: the processes that ran when the file was opened. */
struct reader {
	struct hugetext_text_map map;
	unsigned int lock_tries;
	unsigned int nr;
	pid_t *tgid;
};

static int list_processes(struct reader *reader)
{
	struct task_struct *process;
	unsigned int max = 0;

	rcu_read_lock();
	for_each_process(process)
		max++;
	rcu_read_unlock();

	reader->tgid = kvmalloc_array(max + 1, sizeof(*reader->tgid), GFP_KERNEL);
	if (!reader->tgid)
		return -ENOMEM;
	rcu_read_lock();
	for_each_process(process) {
		if (reader->nr == max)
			break;
		if (!(process->flags & PF_KTHREAD))
			reader->tgid[reader->nr++] = task_tgid_nr(process);
	}
	rcu_read_unlock();
	return 0;
}

static void *text_start(struct seq_file *m, loff_t *pos)
{
	struct reader *reader = m->private;

	if (!*pos)
		return SEQ_START_TOKEN;
	return *pos <= reader->nr ? &reader->tgid[*pos - 1] : NULL;
}

static void *text_next(struct seq_file *m, void *v, loff_t *pos)
{
	++*pos;
	return text_start(m, pos);
}

static void text_stop(struct seq_file *m, void *v)
{
}

static const char *state(struct mm_struct *mm, const struct hugetext_extent *extent,
			 enum hugetext_why why)
{
	int tries;

	if (extent->huge)
		return "huge";
	/* What never passes is not tried again. */
	tries = why == HUGETEXT_WHY_OK || hugetext_why_passing(why) ? hugetext_track_tries(mm) : -1;
	if (tries < 0)
		return "small";
	return tries ? "retrying" : "settling";
}

static void show_part(struct seq_file *m, pid_t tgid, struct mm_struct *mm,
		      const struct hugetext_extent *extent, uint64_t start, uint64_t end,
		      enum hugetext_why why)
{
	seq_printf(m, "%d %llx %llx %s %s\n", tgid, start, end, state(mm, extent, why),
		   hugetext_why_word(extent->huge ? HUGETEXT_WHY_OK : why));
}

/* Attempts fail for each region by itself. */
static void show_extent(struct seq_file *m, pid_t tgid, struct mm_struct *mm,
			const struct hugetext_extent *extent)
{
	enum hugetext_why why, why_next;
	uint64_t start = extent->start, addr;

	if (extent->huge || extent->why != HUGETEXT_WHY_OK || !READ_ONCE(any_failure)) {
		show_part(m, tgid, mm, extent, start, extent->end, extent->why);
		return;
	}
	why = last_failure(mm, start);
	for (addr = round_down(start, HUGETEXT_REGION_SIZE) + HUGETEXT_REGION_SIZE;
	     addr < extent->end; addr += HUGETEXT_REGION_SIZE) {
		why_next = last_failure(mm, addr);
		if (why_next == why)
			continue;
		show_part(m, tgid, mm, extent, start, addr, why);
		start = addr;
		why = why_next;
		cond_resched();
	}
	show_part(m, tgid, mm, extent, start, extent->end, why);
}

static enum hugetext_why explain(struct mm_struct *mm, unsigned long from, struct reader *reader)
{
	enum hugetext_why why;

	while ((why = hugetext_explain(mm, from, &reader->map)) != HUGETEXT_WHY_OK) {
		if (reader->lock_tries == LOCK_TRIES || fatal_signal_pending(current))
			break;
		reader->lock_tries++;
		msleep(LOCK_PAUSE);
	}
	return why;
}

static void show_process(struct seq_file *m, pid_t tgid, struct mm_struct *mm)
{
	struct reader *reader = m->private;
	unsigned long from = 0;
	unsigned int i;

	do {
		enum hugetext_why why = explain(mm, from, reader);

		if (why != HUGETEXT_WHY_OK) {
			seq_printf(m, "%d %lx %lx unknown %s\n", tgid, from, TASK_SIZE_MAX,
				   hugetext_why_word(why));
			return;
		}
		for (i = 0; i < reader->map.nr; i++)
			show_extent(m, tgid, mm, &reader->map.extent[i]);
		from = reader->map.next;
		cond_resched();
	} while (from && !seq_has_overflowed(m) && !fatal_signal_pending(current) &&
		 !hugetext_track_is_exiting(mm));
}

static int text_show(struct seq_file *m, void *v)
{
	struct mm_struct *mm;
	pid_t tgid;

	if (v == SEQ_START_TOKEN) {
		seq_puts(m, "pid start end state reason\n");
		return 0;
	}
	tgid = *(pid_t *)v;
	mm = hugetext_process_mm(tgid, &init_pid_ns);
	if (!mm)
		return 0;
	show_process(m, tgid, mm);
	mmput_async(mm);
	return 0;
}

static const struct seq_operations text_operations = {
	.start = text_start,
	.next = text_next,
	.stop = text_stop,
	.show = text_show,
};

static int text_release(struct inode *inode, struct file *file)
{
	struct seq_file *m = file->private_data;
	struct reader *reader = m->private;

	kvfree(reader->tgid);
	return seq_release_private(inode, file);
}

static int text_open(struct inode *inode, struct file *file)
{
	struct reader *reader = __seq_open_private(file, &text_operations, sizeof(*reader));
	int err;

	if (!reader)
		return -ENOMEM;
	err = list_processes(reader);
	if (err)
		seq_release_private(inode, file);
	return err;
}

const struct file_operations hugetext_text_fops = {
	.owner = THIS_MODULE,
	.open = text_open,
	.read = seq_read,
	.llseek = seq_lseek,
	.release = text_release,
};
