/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the rooms of the module offer each other.
 * Nothing here is more than a declaration: each room is in its own file.
 */
#ifndef HUGETEXT_H
#define HUGETEXT_H

#include <linux/fs.h>
#include <linux/mm_types.h>
#include <linux/sched.h>

#include "core/plan.h"

/* The bits of hugetext_enabled. */
#define HUGETEXT_FILE	1u	/* text of files */
#define HUGETEXT_ANON	2u	/* executable anonymous memory */
#define HUGETEXT_ALL	(HUGETEXT_FILE | HUGETEXT_ANON)

/* Settings, written by knobs.c and main.c alone and read anywhere with READ_ONCE(). */
struct hugetext_settings {
	unsigned int enabled;
	unsigned int pad_threshold;	/* bytes, below 2 MiB; 0: no padding */
	unsigned int pad_rodata;	/* 0 or 1 */
	u64 since;			/* when HUGETEXT_FILE was turned on, ns since boot */
};
extern struct hugetext_settings hugetext_settings;

/* ---- knobs.c ---- */

/**
 * hugetext_knobs_init() - create the sysfs files
 * @change: called for every accepted write to the file of a setting, may sleep;
 *	    it alone decides what to do about the new value and stores it
 * @roll_back: called for every write to hugetext_rollback, without its newline, may sleep
 *
 * May sleep. Return: 0 or a negative errno; nothing is left behind then.
 */
int hugetext_knobs_init(int (*change)(unsigned int *setting, unsigned int value),
			int (*roll_back)(const char *what));

/* Remove the sysfs files; no write is under way when it returns. May sleep. */
void hugetext_knobs_exit(void);

/* Take over what insmod asked for; enabled, 0 to 3, is returned instead of stored. */
unsigned int hugetext_knobs_at_load(void);

/* ---- align.c ---- */

/**
 * hugetext_align_arm() - start choosing addresses for new text mappings
 *
 * May sleep; not to be called twice without hugetext_align_disarm() between.
 * Where the hook is missing, that is reported and nothing is aligned.
 *
 * Return: 0 or -ENOMEM.
 */
int hugetext_align_arm(void);

/* Stop, if it was started; no handler runs any more when it returns. May sleep. */
void hugetext_align_disarm(void);

/* ---- track.c ---- */

/**
 * hugetext_track_init() - make the set of processes and start khugetextd
 *
 * May sleep. Return: 0 or a negative errno.
 */
int hugetext_track_init(void);

/* Stop khugetextd and let go of all processes. May sleep. */
void hugetext_track_exit(void);

/* Follow forks, and look once for processes that already run. May sleep. 0 or -ENOMEM. */
int hugetext_track_arm(void);

/* Forget all processes; no fork is noticed any more. May sleep. */
void hugetext_track_disarm(void);

/**
 * hugetext_track_note() - an executable mapping appeared in a process
 * @mm: its address space, which the caller knows to be alive
 * @tgid: its number in the initial PID namespace, for people
 *
 * Any context but NMI: takes no lock, does not sleep or allocate. When the
 * set is full, all processes are looked through once there is room.
 */
void hugetext_track_note(struct mm_struct *mm, pid_t tgid);

/*
 * Processes may have lost huge pages: look through all of them within a second
 * or so. May sleep, also when khugetextd is no more.
 */
void hugetext_track_look_again(void);

/* Is current khugetextd? Any context. */
bool hugetext_track_is_worker(void);

/*
 * Should khugetextd leave off what it does: because it is told to stop, the
 * system goes to sleep, or others wait for their turn? khugetextd only.
 */
bool hugetext_track_turn_is_over(void);

/*
 * Is nobody but khugetextd, who holds one mm_users, left in there? Its memory
 * is about to be freed. khugetextd only.
 */
bool hugetext_track_is_exiting(struct mm_struct *mm);

/* How often was this process tried without success since it changed? -1: it is at rest. */
int hugetext_track_tries(struct mm_struct *mm);

/* ---- survey.c ---- */

#define HUGETEXT_MAP_EXTENTS	64

/* A piece of the text map of a process: as much as fits. */
struct hugetext_text_map {
	unsigned int nr;
	unsigned long next;	/* where to go on, 0 when this was the end */
	struct hugetext_extent extent[HUGETEXT_MAP_EXTENTS];
};

/**
 * hugetext_survey() - read mappings and page tables into a text map
 * @mm: an address space with mm_users held
 * @from: first address to look at
 * @to: first address not to look at
 * @map: filled with extents of text mappings of 2 MiB and more
 *
 * Takes the mmap lock for reading if it is free. May sleep.
 *
 * Return: HUGETEXT_WHY_OK, or HUGETEXT_WHY_MMAP_LOCK with @map untouched.
 */
enum hugetext_why hugetext_survey(struct mm_struct *mm, unsigned long from, unsigned long to,
				  struct hugetext_text_map *map);

/*
 * Is the 2 MiB region at @addr mapped by one PMD? Locking: mmap lock, for reading; the
 * region lies in one mapping that was found under it, else its tables may be gone.
 */
bool hugetext_region_is_huge(struct mm_struct *mm, unsigned long addr);

/* Is nothing of it mapped, and no page table there that could map it? Locking as above. */
bool hugetext_region_is_untouched(struct mm_struct *mm, unsigned long addr);

/**
 * hugetext_explain() - the same for people: all text, and what keeps it small
 * @mm: an address space with mm_users held
 * @from: first address to look at
 * @map: filled with extents of all text mappings of files, with the regions at their
 *	 edges; OK in one that is not huge: nothing stands against it now
 *
 * Locking and return value as above.
 */
enum hugetext_why hugetext_explain(struct mm_struct *mm, unsigned long from,
				   struct hugetext_text_map *map);

/* ---- pad.c ---- */

/**
 * hugetext_pad_why() - why is a region at the edge of text not filled up?
 * @vma: the text mapping
 * @region: its address, a multiple of 2 MiB; address and offset agree modulo 2 MiB
 *
 * Locking: mmap lock, for reading; does not sleep. Return: the reason, or
 * HUGETEXT_WHY_OK where it may be filled up.
 */
enum hugetext_why hugetext_pad_why(struct vm_area_struct *vma, unsigned long region);

/**
 * hugetext_pad_process() - fill up the regions at the edges of a process's text
 * @mm: an address space with mm_users held
 * @tgid: the number of its process, for the trace
 * @report: count and trace what is left as it is
 * @from: where to begin, 0 at first; where to go on, 0 when all was seen
 * @nr_padded: grows by the regions that were tried
 *
 * Goes on until the turn is over. Nothing is done while hugetext_pad_threshold is
 * 0. khugetextd only: sleeps, takes the mmap lock for writing if it is free.
 *
 * Return: HUGETEXT_WHY_OK, or what stood against one of the regions that could be
 * filled up, a passing reason before any other.
 */
enum hugetext_why hugetext_pad_process(struct mm_struct *mm, pid_t tgid, bool report,
				       unsigned long *from, unsigned int *nr_padded);

/* ---- apply.c ---- */

/**
 * hugetext_apply() - carry out one action of a plan, or a part of it
 * @mm: an address space with mm_users held
 * @tgid: the number of its process, for the trace
 * @action: what to do; its start moves on to where it stopped
 *
 * At least one region is dealt with, and then as many as fit in the turn.
 * khugetextd only: sleeps, takes the mmap lock.
 *
 * Return: HUGETEXT_WHY_OK when all those regions are huge now, else the reason
 * of the region that failed, a passing reason before any other.
 */
enum hugetext_why hugetext_apply(struct mm_struct *mm, pid_t tgid,
				 struct hugetext_action *action);

/* Of two reasons the one to go by: a passing one asks for a retry. Any context. */
enum hugetext_why hugetext_why_weightier(enum hugetext_why a, enum hugetext_why b);

/**
 * hugetext_apply_small() - take huge pages of text away from one process
 * @mm: an address space with mm_users held
 *
 * Its text is mapped by small pages from then on and marked with MADV_NOHUGEPAGE, as
 * the process could do itself. Linux before 6.12 does not regard that mark in faults:
 * there a region may become huge that is collapsed for others later. No page is unmapped
 * that is a private copy; the page cache stays as it is. Sleeps, takes the mmap lock.
 *
 * Return: 0, -EINTR when the caller is killed, -EOPNOTSUPP where the kernel's
 * do_madvise() was not found, -EBUSY where some page stayed huge, -ENOMEM.
 */
int hugetext_apply_small(struct mm_struct *mm);

/* ---- explain.c ---- */

/* An attempt on a region failed for this reason, which may pass. khugetextd only. */
void hugetext_explain_failed(struct mm_struct *mm, unsigned long start, unsigned long end,
			     enum hugetext_why why);

/* Failures of this address space are of the past. Process context; does not sleep. */
void hugetext_explain_forget(struct mm_struct *mm);

/* The address space of a process with mm_users held, or NULL. Does not sleep. */
struct mm_struct *hugetext_process_mm(pid_t tgid, struct pid_namespace *namespace);

/* debugfs hugetext/text. */
extern const struct file_operations hugetext_text_fops;

/* ---- rollback.c ---- */

/**
 * hugetext_roll_back() - take huge text back
 * @what: a process id of the caller's namespace, the absolute path of a file, or "all"
 *
 * May sleep. Return: 0; -EINVAL for anything else, -ESRCH for a process that is gone or
 * has no memory, an errno of the look-up of the path, -EINTR when the caller is killed,
 * -EBUSY where something stayed huge, -ENOMEM, -EOPNOTSUPP for files that are never
 * served or on tmpfs.
 */
int hugetext_roll_back(const char *what);

/* ---- peek.c ---- */

/**
 * hugetext_peek() - copy bytes of a file out of the page cache
 * @mapping: the cache
 * @from: offset in the file, in bytes
 * @to: where to copy them
 * @len: how many bytes
 *
 * Any context but NMI: does not sleep or wait, and never reads the disk.
 *
 * Return: true, or false where a page is not in the cache or not read yet.
 */
bool hugetext_peek(struct address_space *mapping, loff_t from, void *to, size_t len);

/* Has the file huge pages in the cache, for all we know? Context as above. */
bool hugetext_peek_huge(struct address_space *mapping);

/*
 * The page offset of the first 2 MiB region at or after that of @index with
 * anything in the cache; ULONG_MAX: there is none. Context as above.
 */
pgoff_t hugetext_next_region(struct address_space *mapping, pgoff_t index);

/* The last thing that was looked at is let go; no handler runs any more. May sleep. */
void hugetext_peek_exit(void);

/* ---- mechanism.c ---- */

/* Decide how this kernel can keep text of files on huge pages. May sleep. */
void hugetext_mechanism_init(void);

/* Drop every huge page that the kernel could not have made alone. May sleep. */
void hugetext_mechanism_exit(void);

/* Make the kernel's own collapse code accept text. May sleep. Return: 0 or -ENOMEM. */
int hugetext_mechanism_arm(void);

/* Let in no more. What is huge stays huge and guarded. May sleep. */
void hugetext_mechanism_disarm(void);

/**
 * hugetext_mechanism_file_why() - can text of this file be on huge pages?
 * @file: a mapped file
 *
 * Any context. Return: HUGETEXT_WHY_OK or the reason.
 */
enum hugetext_why hugetext_mechanism_file_why(struct file *file);

/* Does text of the file stay small while somebody can write to it? Any context. */
bool hugetext_mechanism_minds_writers(struct inode *inode);

/* Is the file where huge pages can be dropped, and nobody has to be waited for? Any context. */
bool hugetext_mechanism_could_serve(struct inode *inode);

/**
 * hugetext_mechanism_begin() - prepare a file before its text is collapsed
 * @file: a mapped file, the caller holds a reference
 *
 * Where the kernel needs rothp for the file, writers are noticed from here
 * on. khugetextd only, may sleep; pair with hugetext_mechanism_end().
 *
 * Return: HUGETEXT_WHY_OK, or the reason why its text must stay small.
 */
enum hugetext_why hugetext_mechanism_begin(struct file *file);

/* The collapse is over. khugetextd only. */
void hugetext_mechanism_end(void);

/* native, READ_ONLY_THP, rothp or none; set by hugetext_mechanism_init(). */
const char *hugetext_mechanism_word(void);

/* ---- files.c ---- */

/* Make the set of files. May sleep. Return: 0 or a negative errno. */
int hugetext_files_init(void);

/* Take back all huge pages of all files; khugetextd has stopped. May sleep. */
void hugetext_files_take_back(void);

/* Forget the set; nobody looks for his file in it any more. May sleep. */
void hugetext_files_exit(void);

/**
 * hugetext_files_begin() - remember a file before its text is collapsed
 * @inode: the file, the caller holds a reference
 *
 * There must be nobody who can write to it, and whoever wants to waits until
 * hugetext_files_end(). khugetextd only, may sleep.
 *
 * Return: HUGETEXT_WHY_OK or why it must not be collapsed.
 */
enum hugetext_why hugetext_files_begin(struct inode *inode);

/* The collapse is over. khugetextd only. */
void hugetext_files_end(void);

/* Is text of this file being collapsed at this moment? Any context. */
bool hugetext_files_collapsing(struct inode *inode);

/*
 * Need nothing be done before somebody, counted in i_writecount, may write to
 * this file? Does not sleep.
 */
bool hugetext_files_writable(struct inode *inode);

/**
 * hugetext_files_make_writable() - somebody is about to be able to write or cut
 * @inode: the file, with that somebody counted in i_writecount
 *
 * May sleep. Return: 0, or -ETXTBSY when that is not safe.
 */
int hugetext_files_make_writable(struct inode *inode);

/* Was this file rolled back since hugetext was turned on? Does not sleep. */
bool hugetext_files_kept_small(struct inode *inode);

/* Files that were rolled back may be huge again. Does not sleep. */
void hugetext_files_let_go(void);

/**
 * hugetext_files_roll_back() - drop the huge pages of one file, and make no more
 * @inode: a regular file, the caller holds a reference
 *
 * It stays small until hugetext_files_let_go(), or until its inode leaves memory.
 * May sleep.
 *
 * Return: 0 or a negative errno: -EBUSY where huge pages stay, -ENOMEM, or that of
 * writing its dirty pages.
 */
int hugetext_files_roll_back(struct inode *inode);

/* Drop the huge pages of all files that were served. Context as above; also -EINTR. */
int hugetext_files_roll_back_all(void);

/* ---- guard.c ---- */

/*
 * Notice writers that fsnotify does not tell of, and the read-ahead of a
 * collapse. May sleep. Return: 0, or the negative errno of a missing hook.
 */
int hugetext_guard_arm(void);

/* Stop; nobody is in this module because of it when it returns. May sleep. */
void hugetext_guard_disarm(void);

/* Shall page_cache_sync_ra() do nothing when khugetextd calls it? khugetextd only. */
void hugetext_guard_read_nothing(bool nothing);

/* ---- rothp.c, not built for kernels that need no help; mechanism.c alone calls it ---- */

#ifndef HUGETEXT_NATIVE_KERNEL

/* Can it work on this kernel? Any context. */
bool hugetext_rothp_possible(void);

/* Answer for the kernel. May sleep. Return: 0 or a negative errno. */
int hugetext_rothp_arm(void);

/* The other half of hugetext_mechanism_disarm(). May sleep. */
void hugetext_rothp_disarm(void);

/* Undo the rest, after the last huge page is gone. Any context. */
void hugetext_rothp_exit(void);

/* hugetext_mechanism_file_why() of a file that is not on tmpfs. Any context. */
enum hugetext_why hugetext_rothp_file_why(struct file *file);

#else

static inline bool hugetext_rothp_possible(void) { return false; }
static inline int hugetext_rothp_arm(void) { return -ENOENT; }
static inline void hugetext_rothp_disarm(void) { }
static inline void hugetext_rothp_exit(void) { }

static inline enum hugetext_why hugetext_rothp_file_why(struct file *file)
{
	return HUGETEXT_WHY_FILESYSTEM;
}

#endif /* HUGETEXT_NATIVE_KERNEL */

/* ---- tally.c ---- */

/* Totals beside the counters of reasons. X(NAME, word) */
#define HUGETEXT_TOTAL_TABLE(X)							\
	X(PROCESSES,		"processes_settled")				\
	X(ALIGNED_PROGRAMS,	"aligned_programs")				\
	X(ALIGNED_LIBRARIES,	"aligned_libraries")				\
	X(PADDED,		"padded_regions")				\
	X(PADDED_KB,		"padded_kb")					\
	X(PADDED_RODATA_KB,	"padded_rodata_kb")				\
	X(COLLAPSED,		"collapsed_regions")				\
	X(RETRIES,		"retries")					\
	X(SWEEPS,		"sweeps")					\
	X(SERVED_FILES,		"served_files")				\
	X(DROPPED,		"dropped_regions")				\
	X(REFUSED_OPENS,	"refused_opens")				\
	X(MISSED_PROBES,	"missed_probes")

enum hugetext_total {
#define HUGETEXT_TOTAL_ENUM(name, word) HUGETEXT_TOTAL_##name,
	HUGETEXT_TOTAL_TABLE(HUGETEXT_TOTAL_ENUM)
#undef HUGETEXT_TOTAL_ENUM
	HUGETEXT_TOTAL_NR
};

/* Make the debugfs files; the module works without them. May sleep. */
void hugetext_tally_init(void);
/* Remove the debugfs files. May sleep. */
void hugetext_tally_exit(void);
/* Count a reason. Any context. */
void hugetext_tally_why(enum hugetext_why why, unsigned long nr);
/* Add to a total. Any context. */
void hugetext_tally_total(enum hugetext_total total, unsigned long nr);
/* The word of a reason, never NULL. Any context. */
const char *hugetext_why_word(enum hugetext_why why);
/* Will a retry help? Any context. */
bool hugetext_why_passing(enum hugetext_why why);

struct seq_file;
/* Print the processes being worked on, for debugfs. May sleep. */
void hugetext_track_show(struct seq_file *m);

/* ---- ksym.c ---- */

/**
 * hugetext_hook() - report the state of a hook
 * @name: the kernel function or event
 * @lost: what does not work without it
 * @err: 0, or the negative errno of the attempt
 *
 * A missing hook gives one line in the log, the first time. May sleep.
 *
 * Return: @err.
 */
int hugetext_hook(const char *name, const char *lost, int err);

/* Print the hooks and their state, for debugfs. May sleep. */
void hugetext_hooks_show(struct seq_file *m);

/**
 * hugetext_hook_wanted() - may this hook be used?
 * @name: the kernel function or event
 *
 * Return: false where the parameter "without" names it, for tests.
 */
bool hugetext_hook_wanted(const char *name);

struct kprobe;
/* register_kprobe(), or -ENOENT where the hook is not to be used. May sleep. */
int hugetext_register_probe(struct kprobe *probe);

/* Find what is called and not exported. May sleep. */
void hugetext_ksym_init(void);

/* The kernel's do_madvise(), or -EOPNOTSUPP where it was not found. May sleep. */
int hugetext_do_madvise(struct mm_struct *mm, unsigned long start, size_t len, int behavior);

/**
 * hugetext_map_text() - map a file, executable, over whatever is there
 * @file: the file
 * @addr: where, a multiple of the page size
 * @len: bytes
 * @offset: in the file, bytes
 *
 * Locking: mmap lock of current->mm, for writing. May sleep. No security module is
 * asked: the file is mapped so in that process already.
 *
 * Return: 0 or a negative errno, -EOPNOTSUPP where the kernel's do_mmap() was not found.
 */
int hugetext_map_text(struct file *file, unsigned long addr, unsigned long len,
		      unsigned long offset);

/*
 * Map memory without access and without file, for a gap that must not stay one. Locking
 * as above. Nothing can be done where this fails, too.
 */
void hugetext_map_filler(unsigned long addr, unsigned long len);

/**
 * hugetext_protect_text() - make a part of a mapping readable and executable
 * @vma: the mapping
 * @start: of the part
 * @end: first address behind
 *
 * Locking and security modules as above. Nothing is unmapped, whatever fails.
 *
 * Return: 0 or a negative errno, -EOPNOTSUPP where the kernel's mprotect_fixup() or
 * what it needs was not found.
 */
int hugetext_protect_text(struct vm_area_struct *vma, unsigned long start, unsigned long end);

/* Is hugetext_do_madvise() of any use? Any context. */
bool hugetext_can_madvise(void);

/*
 * The kernel's security_file_open(), for who was called in its place. Context
 * and return value are that function's.
 */
int hugetext_security_file_open(struct file *file);
/* Say where it is, before anybody is called in its place. May sleep. */
void hugetext_set_security_file_open(void *address);

/* The same of notify_change(). */
int hugetext_notify_change(void *idmap, struct dentry *dentry, struct iattr *attr, void *delegated);
void hugetext_set_notify_change(void *address);

/* The address of a kernel symbol, data too, or 0. May sleep. */
unsigned long hugetext_symbol(const char *name);

#endif /* HUGETEXT_H */
