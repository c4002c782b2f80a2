// SPDX-License-Identifier: GPL-2.0
/*
 * The set of processes with new text, and khugetextd, which serves it.
 * A process is in the set from its first executable mapping until its text
 * has been dealt with; forks of such a process and, once, all processes that
 * already run are put in as well.
 *
 * The set is a small open-addressed hash table. Probes add to it without any
 * lock; khugetextd alone takes out. Whoever claims a slot owns one mm_count
 * of the mm in it, which khugetextd drops.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/freezer.h>
#include <linux/hash.h>
#include <linux/irq_work.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/pid_namespace.h>
#include <linux/rcupdate.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/seq_file.h>
#include <linux/tracepoint.h>
#include <linux/vmalloc.h>
#include <linux/wait.h>

#include "hugetext.h"
#include "trace.h"

#define SLOT_BITS	12
#define NR_SLOTS	(1u << SLOT_BITS)
/* How far from its hash a process may lie; keeps the probes' work bounded. */
#define MAX_DISTANCE	32

/* Mappings have settled after so long without a new executable one ... */
#define SETTLE		msecs_to_jiffies(20)
/* ... but a process that never stops mapping is served all the same. */
#define SETTLE_AT_MOST	msecs_to_jiffies(500)
/* After a passing failure: pauses grow from the first to the last. */
#define FIRST_PAUSE	msecs_to_jiffies(40)
#define LAST_PAUSE	msecs_to_jiffies(10000)
#define MAX_TRIES	14
/* Between two looks at all processes when the set was full. */
#define SWEEP_PAUSE	msecs_to_jiffies(1000)

struct slot {
	struct mm_struct *mm;	/* NULL: free; claimed with cmpxchg() */
	atomic_t events;	/* grows with each executable mapping */
	unsigned long last;	/* jiffies of the last event */
	pid_t tgid;
	/* khugetextd's own: */
	int seen;		/* events when the process was last begun with */
	unsigned long first;	/* jiffies of the first event not dealt with */
	unsigned long due;	/* jiffies of the next try, when tries > 0 */
	unsigned char tries;
	unsigned char why;
};

static struct slot *slots;
static struct task_struct *worker;
static DECLARE_WAIT_QUEUE_HEAD(wait);
static struct irq_work waker;
static bool asleep;		/* khugetextd sleeps longer than SETTLE */
static bool full;		/* somebody found no slot */
static bool sweep_wanted;
static bool following;		/* set by arm, cleared by disarm */

static struct tracepoint *fork_event;
static bool fork_armed;

/* Kept off khugetextd's stack; it alone uses them. */
static struct hugetext_text_map map;
static struct hugetext_action actions[HUGETEXT_MAP_EXTENTS];

bool hugetext_track_is_worker(void)
{
	return current == READ_ONCE(worker);
}

bool hugetext_track_stopping(void)
{
	return kthread_should_stop() || !READ_ONCE(following);
}

static void wake_worker(struct irq_work *unused)
{
	wake_up(&wait);
}

/* From a probe: the wake-up takes locks, so an interrupt does it. */
static void kick(void)
{
	if (READ_ONCE(asleep) && xchg(&asleep, false))
		irq_work_queue(&waker);
}

static struct slot *slot_at(struct mm_struct *mm, unsigned int distance)
{
	return &slots[(hash_ptr(mm, SLOT_BITS) + distance) & (NR_SLOTS - 1)];
}

static struct slot *find_slot(struct mm_struct *mm)
{
	unsigned int i;

	for (i = 0; i < MAX_DISTANCE; i++)
		if (READ_ONCE(slot_at(mm, i)->mm) == mm)
			return slot_at(mm, i);
	return NULL;
}

/*
 * khugetextd may free the slot between the look and the count. It compares
 * the count after it has freed a slot, and puts the process in again if that
 * moved; here the slot is looked at again after counting. One of both sees it.
 */
static bool count_event(struct slot *slot, struct mm_struct *mm)
{
	WRITE_ONCE(slot->last, jiffies);
	atomic_inc(&slot->events);
	smp_mb__after_atomic();
	return READ_ONCE(slot->mm) == mm;
}

static bool claim_slot(struct mm_struct *mm, pid_t tgid)
{
	unsigned int i;

	for (i = 0; i < MAX_DISTANCE; i++) {
		struct slot *slot = slot_at(mm, i);

		if (READ_ONCE(slot->mm))
			continue;
		mmgrab(mm);
		/* Before the claim: khugetextd must not take it for settled. */
		WRITE_ONCE(slot->last, jiffies);
		if (!cmpxchg(&slot->mm, NULL, mm)) {
			WRITE_ONCE(slot->tgid, tgid);
			count_event(slot, mm);
			return true;
		}
		/* The caller keeps it alive: this is never the last one. */
		mmdrop(mm);
	}
	return false;
}

void hugetext_track_note(struct mm_struct *mm, pid_t tgid)
{
	struct slot *slot = find_slot(mm);

	if (!(slot && count_event(slot, mm)) && !claim_slot(mm, tgid))
		WRITE_ONCE(full, true);
	kick();
}

/* A child that does not exec shares none of the huge mappings made later. */
static void fork_handler(void *data, struct task_struct *parent, struct task_struct *child)
{
	if (child->mm && child->mm != parent->mm && parent->mm && find_slot(parent->mm))
		hugetext_track_note(child->mm, task_tgid_nr(child));
}

/* All processes that may hold a whole region of text. */
static void sweep(void)
{
	struct task_struct *process, *thread;

	hugetext_tally_total(HUGETEXT_TOTAL_SWEEPS, 1);
	rcu_read_lock();
	for_each_process(process) {
		if (process->flags & PF_KTHREAD)
			continue;
		/* The first thread may have exited, the others not. */
		for_each_thread(process, thread) {
			struct mm_struct *mm;

			task_lock(thread);
			mm = thread->mm;
			if (mm && mm->exec_vm >= HUGETEXT_REGION_SIZE >> PAGE_SHIFT)
				hugetext_track_note(mm, task_tgid_nr(process));
			task_unlock(thread);
			if (mm)
				break;
		}
	}
	rcu_read_unlock();
}

/* Survey, plan, apply: all the text of a process, a piece of the map at a time. */
static enum hugetext_why serve(struct mm_struct *mm, pid_t tgid)
{
	enum hugetext_why result = HUGETEXT_WHY_OK;
	unsigned long from = 0;

	do {
		enum hugetext_why why;
		size_t nr, i;

		why = hugetext_survey(mm, from, TASK_SIZE_MAX, &map);
		if (why != HUGETEXT_WHY_OK)
			return why;
		for (i = 0; i < map.nr; i++) {
			struct hugetext_extent *extent = &map.extent[i];

			if (extent->huge || extent->why == HUGETEXT_WHY_OK)
				continue;
			hugetext_tally_why(extent->why, 1);
			trace_hugetext_skip(tgid, extent->start, extent->end, extent->why);
		}
		nr = hugetext_plan(map.extent, map.nr, actions, ARRAY_SIZE(actions));
		for (i = 0; i < nr; i++) {
			why = hugetext_apply(mm, tgid, &actions[i]);
			if (hugetext_why_passing(why) || result == HUGETEXT_WHY_OK)
				result = why;
		}
		from = map.next;
		cond_resched();
	} while (from && !hugetext_track_stopping());
	return result;
}

static void release(struct slot *slot)
{
	struct mm_struct *mm = slot->mm;
	pid_t tgid = slot->tgid;
	int seen = slot->seen;

	slot->tries = 0;
	slot->why = HUGETEXT_WHY_OK;
	slot->first = 0;
	smp_store_release(&slot->mm, NULL);
	smp_mb(); /* pairs with count_event() */
	if (atomic_read(&slot->events) != seen && READ_ONCE(following) && mmget_not_zero(mm)) {
		hugetext_track_note(mm, tgid);
		mmput_async(mm);
	}
	mmdrop(mm);
}

static void try_again_later(struct slot *slot, enum hugetext_why why)
{
	unsigned long pause = min(FIRST_PAUSE << slot->tries, LAST_PAUSE);

	slot->why = why;
	slot->tries++;
	slot->due = jiffies + pause;
	hugetext_tally_total(HUGETEXT_TOTAL_RETRIES, 1);
}

static void begin(struct slot *slot)
{
	struct mm_struct *mm = slot->mm;
	int events = atomic_read(&slot->events);
	enum hugetext_why why;

	/* New mappings deserve the full number of tries. */
	if (events != slot->seen)
		slot->tries = 0;
	slot->seen = events;
	slot->first = 0;

	if (!mmget_not_zero(mm)) {
		release(slot);
		return;
	}
	why = serve(mm, slot->tgid);
	mmput_async(mm);

	if (hugetext_why_passing(why) && !hugetext_track_stopping()) {
		hugetext_tally_why(why, 1);
		if (slot->tries < MAX_TRIES) {
			try_again_later(slot, why);
			return;
		}
		hugetext_tally_why(HUGETEXT_WHY_GIVEN_UP, 1);
	} else if (why != HUGETEXT_WHY_OK) {
		hugetext_tally_why(why, 1);
	}
	hugetext_tally_total(HUGETEXT_TOTAL_PROCESSES, 1);
	release(slot);
}

/* When is this process to be looked at? */
static unsigned long due(struct slot *slot)
{
	unsigned long last = READ_ONCE(slot->last);
	unsigned long settled;

	if (atomic_read(&slot->events) == slot->seen && slot->tries)
		return slot->due;
	if (!slot->first)
		slot->first = jiffies ?: 1;
	settled = last + SETTLE;
	if (time_after(settled, slot->first + SETTLE_AT_MOST))
		settled = slot->first + SETTLE_AT_MOST;
	return settled;
}

/* Begin with every process that is due; returns how long to sleep then. */
static long serve_all(bool only_look)
{
	long pause = MAX_SCHEDULE_TIMEOUT;
	unsigned int i;

	for (i = 0; i < NR_SLOTS; i++) {
		struct slot *slot = &slots[i];
		long left;

		if (!READ_ONCE(slot->mm))
			continue;
		if (!READ_ONCE(following)) {
			release(slot);
			continue;
		}
		left = (long)(due(slot) - jiffies);
		if (left <= 0 && !only_look && !kthread_should_stop()) {
			begin(slot);
			if (!READ_ONCE(slot->mm))
				continue;
			left = (long)(due(slot) - jiffies);
		}
		pause = min(pause, max(left, 1L));
	}
	return pause;
}

static bool must_wake(bool long_sleep)
{
	return kthread_should_stop() || READ_ONCE(sweep_wanted) ||
	       (long_sleep && !READ_ONCE(asleep));
}

static int khugetextd(void *unused)
{
	unsigned long swept = jiffies;

	set_freezable();
	while (!kthread_should_stop()) {
		bool long_sleep;
		long pause;

		WRITE_ONCE(asleep, false);
		if (READ_ONCE(full) && time_after(jiffies, swept + SWEEP_PAUSE)) {
			WRITE_ONCE(full, false);
			WRITE_ONCE(sweep_wanted, true);
		}
		if (xchg(&sweep_wanted, false) && READ_ONCE(following)) {
			sweep();
			swept = jiffies;
		}

		pause = serve_all(false);
		if (READ_ONCE(full))
			pause = min_t(long, pause, SWEEP_PAUSE);
		long_sleep = pause > (long)SETTLE;
		if (long_sleep) {
			/* Whoever came before this is seen by the second look. */
			WRITE_ONCE(asleep, true);
			smp_mb();
			pause = min(pause, serve_all(true));
		}
		wait_event_freezable_timeout(wait, must_wake(long_sleep), pause);
	}
	return 0;
}

void hugetext_track_show(struct seq_file *m)
{
	unsigned int i;

	seq_puts(m, "pid comm state tries reason\n");
	for (i = 0; i < NR_SLOTS; i++) {
		struct slot *slot = &slots[i];
		char comm[TASK_COMM_LEN] = "?";
		struct task_struct *task;

		if (!READ_ONCE(slot->mm))
			continue;
		rcu_read_lock();
		task = pid_task(find_pid_ns(slot->tgid, &init_pid_ns), PIDTYPE_PID);
		if (task)
			strscpy(comm, task->comm, sizeof(comm));
		rcu_read_unlock();
		seq_printf(m, "%d ", slot->tgid);
		seq_escape(m, comm, " \t\n\\");
		seq_printf(m, " %s %u %s\n", slot->tries ? "retrying" : "settling",
			   slot->tries, hugetext_why_word(slot->why));
	}
}

static void look_for_fork_event(struct tracepoint *tp, void *unused)
{
	if (!strcmp(tp->name, "sched_process_fork"))
		fork_event = tp;
}

void hugetext_track_arm(void)
{
	int err = -ENOENT;

	WRITE_ONCE(following, true);
	fork_event = NULL;
	if (hugetext_hook_wanted("sched_process_fork"))
		for_each_kernel_tracepoint(look_for_fork_event, NULL);
	if (fork_event)
		err = tracepoint_probe_register(fork_event, fork_handler, NULL);
	fork_armed = !hugetext_hook("sched_process_fork",
				    "children forked before their parent settled stay small", err);

	WRITE_ONCE(sweep_wanted, true);
	wake_up(&wait);
}

void hugetext_track_disarm(void)
{
	WRITE_ONCE(following, false);
	if (fork_armed) {
		tracepoint_probe_unregister(fork_event, fork_handler, NULL);
		tracepoint_synchronize_unregister();
		fork_armed = false;
	}
	/* khugetextd lets go of the processes on its next round: now. */
	WRITE_ONCE(asleep, false);
	wake_up(&wait);
}

int hugetext_track_init(void)
{
	slots = vcalloc(NR_SLOTS, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	init_irq_work(&waker, wake_worker);
	worker = kthread_run(khugetextd, NULL, "khugetextd");
	if (IS_ERR(worker)) {
		int err = PTR_ERR(worker);

		vfree(slots);
		return err;
	}
	return 0;
}

void hugetext_track_exit(void)
{
	unsigned int i;

	irq_work_sync(&waker);
	kthread_stop(worker);
	WRITE_ONCE(worker, NULL);
	for (i = 0; i < NR_SLOTS; i++)
		if (slots[i].mm)
			release(&slots[i]);
	vfree(slots);
}
