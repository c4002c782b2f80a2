/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Every difference between kernels and architectures.
 * The other files read as if written for one kernel; only this one and
 * ksym.c look at versions and at registers.
 */
#ifndef HUGETEXT_COMPAT_H
#define HUGETEXT_COMPAT_H

#include <linux/dcache.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/fsnotify_backend.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/module.h>
#include <linux/pagemap.h>
#include <linux/ptrace.h>
#include <linux/rcupdate.h>
#include <linux/version.h>

/* The range that the tests prove: the first and the last kernel. */
#define HUGETEXT_OLDEST	KERNEL_VERSION(6, 1, 0)
#define HUGETEXT_NEWEST	KERNEL_VERSION(7, 3, 255)

#if !defined(HUGETEXT_ANY_KERNEL) && \
	(LINUX_VERSION_CODE < HUGETEXT_OLDEST || LINUX_VERSION_CODE > HUGETEXT_NEWEST)
#error "hugetext supports Linux 6.1 to 7.3; KCFLAGS=-DHUGETEXT_ANY_KERNEL builds it all the same"
#endif

#ifndef CONFIG_X86_64
#error "hugetext supports x86-64"
#endif

#ifndef CONFIG_TRANSPARENT_HUGEPAGE
#error "hugetext needs a kernel with CONFIG_TRANSPARENT_HUGEPAGE"
#endif

/* Before 6.6, do_mmap() took its VMA flags from nobody. */
typedef unsigned long hugetext_mmap_without_flags(struct file *file, unsigned long addr,
						  unsigned long len, unsigned long prot,
						  unsigned long flags, unsigned long pgoff,
						  unsigned long *populate, struct list_head *uf);
#define HUGETEXT_MMAP_PGOFF \
	(__builtin_types_compatible_p(typeof(do_mmap), hugetext_mmap_without_flags) ? 5 : 6)

/* What do_mmap() is called with where it takes such flags: none. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
#define HUGETEXT_MMAP_NO_FLAGS
#elif defined(EMPTY_VMA_FLAGS)
#define HUGETEXT_MMAP_NO_FLAGS	EMPTY_VMA_FLAGS,
#else
#define HUGETEXT_MMAP_NO_FLAGS	0,
#endif

/* Take the mmap lock for writing if it is free; mmap_write_unlock() lets go of it. */
static inline bool hugetext_mmap_write_trylock(struct mm_struct *mm)
{
	if (!down_write_trylock(&mm->mmap_lock))
		return false;
#ifdef HUGETEXT_LOCK_SEQCOUNT
	/* Whoever goes without this lock looks at that; see Kbuild. */
	mm_lock_seqcount_begin(mm);
#endif
	return true;
}

/*
 * Where mprotect_fixup() is to work: since 6.3 it gets an iterator that stands at
 * the mapping. Returns the mapping before it, or NULL. Locking: mmap lock.
 */
static inline struct vm_area_struct *hugetext_stand_at(struct vma_iterator *vmi,
						       struct vm_area_struct *vma)
{
	struct vm_area_struct *prev;

	vma_iter_init(vmi, vma->vm_mm, vma->vm_start);
	vma_find(vmi, vma->vm_end);
	prev = vma_prev(vmi);
	vma_find(vmi, vma->vm_end);
	return prev;
}

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
#define HUGETEXT_PROTECT_AT(vmi)
#else
#define HUGETEXT_PROTECT_AT(vmi)	(vmi),
#endif

/* The file offset, in pages, that do_mmap() was called with, at its entry. */
static inline unsigned long hugetext_mmap_pgoff(struct pt_regs *regs)
{
	return regs_get_kernel_argument(regs, HUGETEXT_MMAP_PGOFF);
}

static inline void hugetext_set_argument_1(struct pt_regs *regs, unsigned long value)
{
	regs->si = value;
}

/*
 * At the entry of a function that a probe interrupted: run another function
 * of the same arguments instead. The handler must then return 1. Only the
 * instruction pointer can be changed: ftrace restores the old stack pointer.
 */
static inline void hugetext_call_instead(struct pt_regs *regs, void *function)
{
	instruction_pointer_set(regs, (unsigned long)function);
}

/* At the entry of a function: was it called by this module's own code? */
static inline bool hugetext_called_from(struct pt_regs *regs, const struct module *module)
{
	return within_module(regs_get_kernel_stack_nth(regs, 0), module);
}

/* Wait until no task is in a function that it was sent to like that. Sleeps. */
static inline void hugetext_wait_called_instead(void)
{
#ifdef CONFIG_TASKS_RCU
	synchronize_rcu_tasks();
#else
	synchronize_rcu();
#endif
}

/* The folio at @index with a reference, or NULL. Does not sleep. */
static inline struct folio *hugetext_cached_folio(struct address_space *mapping, pgoff_t index)
{
	struct folio *folio = filemap_get_folio(mapping, index);

	return IS_ERR_OR_NULL(folio) ? NULL : folio;
}

/* Let go of a reference, unless it is the last one: then false. Does not sleep. */
static inline bool hugetext_unpin_unless_last(struct folio *folio)
{
	return atomic_add_unless(&folio->_refcount, -1, 1);
}

/*
 * Where the pages of a file are cached: those of a file opened through
 * overlayfs are the underlying file's. Does not sleep.
 */
static inline struct address_space *hugetext_data_mapping(struct file *file)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
	struct dentry *real = d_real(file->f_path.dentry, NULL);
#elif LINUX_VERSION_CODE < KERNEL_VERSION(6, 9, 0)
	/* d_real() may sleep: no headers are found there, and the file offset has to do. */
	struct dentry *real = file->f_path.dentry;
#else
	/* The other type may sleep, and differs only where data and metadata lie apart. */
	struct dentry *real = d_real(file->f_path.dentry, D_REAL_METADATA);
#endif

	return d_inode(real)->i_mapping;
}

/*
 * Fault in a page of another process's memory, also where it may only execute it,
 * unless that would have to wait.
 * Locking: mmap lock, for reading.
 */
static inline void hugetext_fault_in(struct mm_struct *mm, unsigned long addr)
{
	struct page *page;
	long nr;

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
	nr = get_user_pages_remote(mm, addr, 1, FOLL_NOWAIT | FOLL_FORCE, &page, NULL, NULL);
#else
	nr = get_user_pages_remote(mm, addr, 1, FOLL_NOWAIT | FOLL_FORCE, &page, NULL);
#endif
	if (nr == 1)
		put_page(page);
}

/* Do faults map no huge page of a file where VM_NOHUGEPAGE is set? */
#define HUGETEXT_FAULTS_REGARD_NOHUGEPAGE (LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0))

/* What MADV_NOHUGEPAGE does to one mapping. Locking: mmap lock, for writing. */
static inline void hugetext_mark_nohugepage(struct vm_area_struct *vma)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
	vma->vm_flags = (vma->vm_flags & ~VM_HUGEPAGE) | VM_NOHUGEPAGE;
#else
	vm_flags_mod(vma, VM_NOHUGEPAGE, VM_HUGEPAGE);
#endif
}

/* Does the kernel collapse text of any file that takes folios of PMD size? See Kbuild. */
#ifdef HUGETEXT_NATIVE_KERNEL
#define HUGETEXT_NATIVE	true
static inline bool hugetext_takes_huge_folios(struct address_space *mapping)
{
	return mapping_pmd_folio_support(mapping);
}
#else
#define HUGETEXT_NATIVE	false
static inline bool hugetext_takes_huge_folios(struct address_space *mapping)
{
	return false;
}
#endif

/*
 * PR_SET_THP_DISABLE, for the whole process or for all that was not advised
 * otherwise. Locking: mmap lock, for reading.
 */
static inline bool hugetext_thp_disabled(struct vm_area_struct *vma)
{
#ifdef MMF_DISABLE_THP
	return test_bit(MMF_DISABLE_THP, &vma->vm_mm->flags);
#else
	return mm_flags_test(MMF_DISABLE_THP_COMPLETELY, vma->vm_mm) ||
	       (mm_flags_test(MMF_DISABLE_THP_EXCEPT_ADVISED, vma->vm_mm) &&
		!(vma->vm_flags & VM_HUGEPAGE));
#endif
}

/* PR_SET_MDWE: has the process decided that nothing of it becomes executable any more? */
static inline bool hugetext_denies_exec(struct mm_struct *mm)
{
#ifndef MMF_HAS_MDWE
	return false;
#elif defined(MMF_DISABLE_THP)
	return test_bit(MMF_HAS_MDWE, &mm->flags);
#else
	return mm_flags_test(MMF_HAS_MDWE, mm);
#endif
}

/* Does a program fill the file's pages when they are first read (FAN_PRE_ACCESS)? */
static inline bool hugetext_filled_on_access(const struct file *file)
{
#ifdef FMODE_FSNOTIFY_HSM
	return FMODE_FSNOTIFY_HSM(file->f_mode);
#else
	return false;
#endif
}

/* Read a PMD that may change meanwhile; the caller holds the mmap lock. */
static inline pmd_t hugetext_read_pmd(pmd_t *pmd)
{
	return READ_ONCE(*pmd);
}

/*
 * A group for FS_OPEN_PERM. Since 6.10 opens are only told to groups of that
 * priority where the file system has a mark of one. Returns it or an ERR_PTR().
 */
static inline struct fsnotify_group *hugetext_alloc_open_group(const struct fsnotify_ops *ops)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)
	return fsnotify_alloc_group(ops, FSNOTIFY_GROUP_NOFS);
#else
	struct fsnotify_group *group = fsnotify_alloc_group(ops, 0);

	if (!IS_ERR(group))
		group->priority = FSNOTIFY_PRIO_CONTENT;
	return group;
#endif
}

/* The group's mark of an inode with a reference, or NULL. May sleep. */
static inline struct fsnotify_mark *hugetext_find_inode_mark(struct inode *inode,
							     struct fsnotify_group *group)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)
	return fsnotify_find_mark(&inode->i_fsnotify_marks, group);
#else
	return fsnotify_find_inode_mark(inode, group);
#endif
}

/* Add a mark to an inode. May sleep. Returns 0 or a negative errno. */
static inline int hugetext_add_inode_mark(struct fsnotify_mark *mark, struct inode *inode)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)
	return fsnotify_add_mark(mark, &inode->i_fsnotify_marks, FSNOTIFY_OBJ_TYPE_INODE, 0, NULL);
#else
	return fsnotify_add_inode_mark(mark, inode, 0);
#endif
}

/* Will an open of this kind be missed by fsnotify? */
static inline bool hugetext_opened_unseen(const struct file *file)
{
#ifdef FMODE_FSNOTIFY_NONE
	/* Two bits there, and only one of their combinations means this. */
	return FMODE_FSNOTIFY_NONE(file->f_mode);
#else
	return file->f_mode & FMODE_NONOTIFY;
#endif
}

/* ---- For rothp.c alone, on the kernels that need it ---- */

#ifndef HUGETEXT_NATIVE_KERNEL

/* Does collapse_file() take folios that are large, but not huge, as it finds them? */
#define HUGETEXT_COLLAPSES_LARGE_FOLIOS	(LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0))

/*
 * The function that keeps the collapse code from text, and its answer: that
 * it may, or the set of folio orders that it may.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 8, 0)
#define HUGETEXT_THP_CHECK	"hugepage_vma_check"

static inline bool hugetext_thp_check_says_yes(struct pt_regs *regs)
{
	return regs_return_value(regs) & 0xff;
}

static inline void hugetext_thp_check_say_yes(struct pt_regs *regs)
{
	regs_set_return_value(regs, true);
}
#else
#define HUGETEXT_THP_CHECK	"__thp_vma_allowable_orders"

static inline bool hugetext_thp_check_says_yes(struct pt_regs *regs)
{
	return regs_return_value(regs) & BIT(HPAGE_PMD_ORDER);
}

static inline void hugetext_thp_check_say_yes(struct pt_regs *regs)
{
	regs_set_return_value(regs, BIT(HPAGE_PMD_ORDER));
}
#endif

#endif /* !HUGETEXT_NATIVE_KERNEL */

#endif /* HUGETEXT_COMPAT_H */
