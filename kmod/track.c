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
#include <linux/time64.h>
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
/* Between two looks at all processes when somebody asks for one. */
#define SWEEP_PAUSE	msecs_to_jiffies(1000)
#define START_SLACK	(10 * (u64)NSEC_PER_MSEC)
#define MAX_LEFT_OUT	64
/* One process is served for so long, then the next, so that none can take all. */
#define TURN		msecs_to_jiffies(50)
/* After so many passing failures in a process the rest of it waits for the retry. */
#define MAX_FAILURES	64
/* So much text of one process, 4 GiB: more is an accident, or an attack. */
#define MAX_REGIONS	2048

struct slot {
	struct mm_struct *mm;	/* NULL: free; claimed with cmpxchg() */
	atomic_t events;	/* grows with each executable mapping */
	unsigned long last;	/* jiffies of the last event */
	pid_t tgid;
	/* khugetextd's own: */
	int seen;		/* events when the process was last begun with */
	unsigned long first;	/* jiffies of the first event not dealt with */
	unsigned long due;	/* jiffies of the next try, when tries > 0 */
	unsigned long from;	/* where to go on in an unfinished round, or 0 */
	unsigned long pad_from;	/* where to go on with padding, when it is not done */
	unsigned short regions;	/* tried in this round */
	unsigned char failures;	/* in this round, for passing reasons */
	unsigned char tries;
	bool padded;		/* done with in this round */
	bool reported;		/* what is left alone was counted since the last event */
	unsigned char why;	/* the weightiest reason of this or the last round */
};

static struct slot *slots;
static struct task_struct *worker;
static DECLARE_WAIT_QUEUE_HEAD(wait);
static struct irq_work waker;
static bool asleep;		/* khugetextd sleeps longer than SETTLE */
static bool sweep_soon;		/* somebody found no slot, or lost huge pages */
static bool sweep_wanted;
static u64 swept_until;		/* start time where an unfinished sweep goes on */
static unsigned long turn_end;		/* jiffies */
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

static bool must_stop(void)
{
	return kthread_should_stop() || !READ_ONCE(following);
}

bool hugetext_track_turn_is_over(void)
{
	return must_stop() || freezing(current) || time_after(jiffies, turn_end);
}

bool hugetext_track_is_exiting(struct mm_struct *mm)
{
	return atomic_read(&mm->mm_users) <= 1;
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
	smp_mb__after_atomic(); /* pairs with release() */
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

static bool note(struct mm_struct *mm, pid_t tgid)
{
	struct slot *slot = find_slot(mm);

	return (slot && count_event(slot, mm)) || claim_slot(mm, tgid);
}

int hugetext_track_tries(struct mm_struct *mm)
{
	struct slot *slot = find_slot(mm);

	return slot ? READ_ONCE(slot->tries) : -1;
}

void hugetext_track_note(struct mm_struct *mm, pid_t tgid)
{
	if (!note(mm, tgid))
		WRITE_ONCE(sweep_soon, true);
	kick();
}

void hugetext_track_look_again(void)
{
	WRITE_ONCE(sweep_soon, true);
	WRITE_ONCE(asleep, false);
	wake_up(&wait);
}

/* A child that does not exec shares none of the huge mappings made later. */
static void fork_handler(void *data, struct task_struct *parent, struct task_struct *child)
{
	if (child->mm && child->mm != parent->mm)
		hugetext_explain_forget(child->mm);
	if (child->mm && child->mm != parent->mm && parent->mm && find_slot(parent->mm))
		hugetext_track_note(child->mm, task_tgid_nr(child));
}

/* So much text makes a process worth a look: pages. */
static unsigned long worthwhile(void)
{
	unsigned long threshold = READ_ONCE(hugetext_settings.pad_threshold);

	return (threshold ?: HUGETEXT_REGION_SIZE) >> PAGE_SHIFT;
}

/* Put a process in if it may hold text that can be huge; false: there is no room. */
static bool sweep_process(struct task_struct *process)
{
	struct task_struct *thread;
	bool fits = true;

	if (process->flags & PF_KTHREAD)
		return true;
	/* The first thread may have exited, the others not. */
	for_each_thread(process, thread) {
		struct mm_struct *mm;

		task_lock(thread);
		mm = thread->mm;
		if (mm && mm->exec_vm >= worthwhile())
			fits = note(mm, task_tgid_nr(process));
		task_unlock(thread);
		if (mm)
			break;
	}
	return fits;
}

/*
 * All processes, in the order of their start, until the set is full. Then the
 * next sweep goes on with those that started when the first one without room
 * did: numbers of processes move as some end, start times do not. Two that
 * start at once may be in the list the other way round, hence a little before.
 */
static void sweep(void)
{
	struct task_struct *process;
	unsigned int left_out = 0;
	u64 from = swept_until;

	hugetext_tally_total(HUGETEXT_TOTAL_SWEEPS, 1);
	swept_until = 0;
	rcu_read_lock();
	for_each_process(process) {
		if (process->start_time < from || sweep_process(process))
			continue;
		if (!left_out)
			swept_until = process->start_time - min(process->start_time, START_SLACK);
		/* One without room may just have many neighbours in the table. */
		if (++left_out == MAX_LEFT_OUT)
			break;
	}
	rcu_read_unlock();
	if (left_out)
		WRITE_ONCE(sweep_soon, true);
}

static void report_skipped(pid_t tgid)
{
	unsigned int i;

	for (i = 0; i < map.nr; i++) {
		struct hugetext_extent *extent = &map.extent[i];

		if (extent->huge || extent->why == HUGETEXT_WHY_OK)
			continue;
		hugetext_tally_why(extent->why, 1);
		trace_hugetext_skip(tgid, extent->start, extent->end, extent->why);
	}
}

/* Returns false when this was enough of the process for this round. */
static bool apply_part(struct slot *slot, struct hugetext_action *action)
{
	unsigned long start = action->start;
	enum hugetext_why why;

	why = hugetext_apply(slot->mm, slot->tgid, action);
	slot->why = hugetext_why_weightier(slot->why, why);
	slot->regions += (action->start - start) / HUGETEXT_REGION_SIZE;
	if (slot->regions >= MAX_REGIONS) {
		slot->why = hugetext_why_weightier(slot->why, HUGETEXT_WHY_TOO_MUCH);
		return false;
	}
	if (hugetext_why_passing(why) && ++slot->failures == MAX_FAILURES)
		return false;
	return !hugetext_track_is_exiting(slot->mm);
}

/* Fill up what is only partly text; false when the turn was over before the end. */
static bool pad(struct slot *slot)
{
	unsigned int padded = 0;
	enum hugetext_why why;

	why = hugetext_pad_process(slot->mm, slot->tgid, !slot->reported, &slot->pad_from,
				   &padded);
	slot->why = hugetext_why_weightier(slot->why, why);
	slot->regions += padded;
	/* What was padded shall at least become huge. */
	if (slot->regions >= MAX_REGIONS / 2)
		slot->pad_from = 0;
	return !slot->pad_from;
}

/*
 * Pad, survey, plan, apply: a piece of the map at a time, until the text of the
 * process or the turn is at its end. Returns where to go on, or 0.
 */
static unsigned long serve(struct slot *slot)
{
	unsigned long from = slot->from;
	enum hugetext_why why;
	size_t nr, i;

	if (!slot->padded) {
		slot->padded = pad(slot);
		/* No mapping begins at this address. */
		if (!slot->padded || hugetext_track_turn_is_over())
			return 1;
	}
	do {
		why = hugetext_survey(slot->mm, from, TASK_SIZE_MAX, &map);
		if (why != HUGETEXT_WHY_OK) {
			slot->why = hugetext_why_weightier(slot->why, why);
			return 0;
		}
		if (!slot->reported)
			report_skipped(slot->tgid);
		nr = hugetext_plan(map.extent, map.nr, actions, ARRAY_SIZE(actions));
		for (i = 0; i < nr; i++) {
			while (actions[i].start < actions[i].end) {
				if (hugetext_track_turn_is_over())
					return actions[i].start;
				if (!apply_part(slot, &actions[i]))
					return 0;
			}
		}
		from = map.next;
		cond_resched();
	} while (from && !hugetext_track_turn_is_over());
	return from;
}

static void release(struct slot *slot)
{
	struct mm_struct *mm = slot->mm;
	pid_t tgid = slot->tgid;
	int seen = slot->seen;

	slot->tries = 0;
	slot->reported = false;
	slot->from = 0;
	slot->why = HUGETEXT_WHY_OK;
	slot->first = 0;
	smp_store_release(&slot->mm, NULL); /* the slot is clean for claim_slot() */
	smp_mb(); /* pairs with count_event() */
	if (atomic_read(&slot->events) != seen && READ_ONCE(following) && mmget_not_zero(mm)) {
		hugetext_track_note(mm, tgid);
		mmput_async(mm);
	}
	mmdrop(mm);
}

static void try_again_later(struct slot *slot)
{
	slot->due = jiffies + min(FIRST_PAUSE << slot->tries, LAST_PAUSE);
	slot->tries++;
	hugetext_tally_total(HUGETEXT_TOTAL_RETRIES, 1);
}

static void begin_round(struct slot *slot)
{
	int events = atomic_read(&slot->events);

	/* New mappings deserve the full number of tries. */
	if (events != slot->seen) {
		slot->tries = 0;
		slot->reported = false;
		hugetext_explain_forget(slot->mm);
	}
	slot->seen = events;
	slot->first = 0;
	slot->failures = 0;
	slot->regions = 0;
	slot->padded = false;
	slot->pad_from = 0;
	slot->why = HUGETEXT_WHY_OK;
}

/* All text was looked at once: retry later, or let go. */
static void end_round(struct slot *slot)
{
	slot->reported = slot->why != HUGETEXT_WHY_MMAP_LOCK;
	if (slot->why != HUGETEXT_WHY_OK)
		hugetext_tally_why(slot->why, 1);
	if (hugetext_why_passing(slot->why)) {
		if (slot->tries < MAX_TRIES) {
			try_again_later(slot);
			return;
		}
		hugetext_tally_why(HUGETEXT_WHY_GIVEN_UP, 1);
		trace_hugetext_skip(slot->tgid, 0, TASK_SIZE_MAX, HUGETEXT_WHY_GIVEN_UP);
	}
	hugetext_tally_total(HUGETEXT_TOTAL_PROCESSES, 1);
	release(slot);
}

static void take_turn(struct slot *slot)
{
	struct mm_struct *mm = slot->mm;

	if (!mmget_not_zero(mm)) {
		release(slot);
		return;
	}
	if (!slot->from)
		begin_round(slot);
	turn_end = jiffies + TURN;
	slot->from = serve(slot);
	mmput_async(mm);

	if (!slot->from && !must_stop())
		end_round(slot);
}

/* When is this process to be looked at? */
static unsigned long due(struct slot *slot)
{
	unsigned long last = READ_ONCE(slot->last);
	unsigned long settled;

	if (slot->from)
		return jiffies;
	if (atomic_read(&slot->events) == slot->seen && slot->tries)
		return slot->due;
	if (!slot->first)
		slot->first = jiffies ?: 1;
	settled = last + SETTLE;
	if (time_after(settled, slot->first + SETTLE_AT_MOST))
		settled = slot->first + SETTLE_AT_MOST;
	return settled;
}

/* A turn for every process that is due; returns how long to sleep then. */
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
		if (left <= 0 && !only_look && !must_stop() && !freezing(current)) {
			take_turn(slot);
			if (!READ_ONCE(slot->mm))
				continue;
			left = (long)(due(slot) - jiffies);
		}
		/* Who has not finished goes on at once. */
		pause = min(pause, slot->from ? 0L : max(left, 1L));
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
		if (READ_ONCE(sweep_soon) && time_after(jiffies, swept + SWEEP_PAUSE)) {
			WRITE_ONCE(sweep_soon, false);
			WRITE_ONCE(sweep_wanted, true);
		}
		if (xchg(&sweep_wanted, false) && READ_ONCE(following)) {
			sweep();
			swept = jiffies;
		}

		pause = serve_all(false);
		if (!pause) {
			try_to_freeze();
			cond_resched();
			continue;
		}
		if (READ_ONCE(sweep_soon))
			pause = min_t(long, pause, SWEEP_PAUSE);
		long_sleep = pause > (long)SETTLE;
		if (long_sleep) {
			/* Whoever came before this is seen by the second look. */
			WRITE_ONCE(asleep, true);
			smp_mb(); /* pairs with xchg() in kick() */
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

int hugetext_track_arm(void)
{
	int err = -ENOENT;

	swept_until = 0;
	WRITE_ONCE(following, true);
	fork_event = NULL;
	if (hugetext_hook_wanted("sched_process_fork"))
		for_each_kernel_tracepoint(look_for_fork_event, NULL);
	if (fork_event)
		err = tracepoint_probe_register(fork_event, fork_handler, NULL);
	err = hugetext_hook("sched_process_fork",
			    "children forked before their parent settled stay small", err);
	fork_armed = !err;
	if (err == -ENOMEM)
		return err;

	WRITE_ONCE(sweep_wanted, true);
	wake_up(&wait);
	return 0;
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

	kthread_stop(worker);
	irq_work_sync(&waker);
	WRITE_ONCE(worker, NULL);
	for (i = 0; i < NR_SLOTS; i++)
		if (slots[i].mm)
			release(&slots[i]);
	vfree(slots);
}
