/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Every difference between kernels and architectures.
 * The other files read as if written for one kernel; only this one and
 * ksym.c look at versions and at registers.
 */
#ifndef HUGETEXT_COMPAT_H
#define HUGETEXT_COMPAT_H

#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/ptrace.h>
#include <linux/rcupdate.h>
#include <linux/version.h>

/* The range that the tests prove. */
#if !defined(HUGETEXT_ANY_KERNEL) && \
	(LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0) || \
	 LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0))
#error "hugetext supports Linux 6.1; KCFLAGS=-DHUGETEXT_ANY_KERNEL builds it all the same"
#endif

#ifndef CONFIG_X86_64
#error "hugetext supports x86-64"
#endif

#ifndef CONFIG_TRANSPARENT_HUGEPAGE
#error "hugetext needs a kernel with CONFIG_TRANSPARENT_HUGEPAGE"
#endif

/* do_mmap(file, addr, len, prot, flags, pgoff, ...) at its entry. */
static inline unsigned long hugetext_mmap_pgoff(struct pt_regs *regs)
{
	return regs_get_kernel_argument(regs, 5);
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
	return filemap_get_folio(mapping, index);
}

/* PR_SET_THP_DISABLE */
static inline bool hugetext_thp_disabled(struct mm_struct *mm)
{
	return test_bit(MMF_DISABLE_THP, &mm->flags);
}

/* Read a PMD that may change meanwhile; the caller holds the mmap lock. */
static inline pmd_t hugetext_read_pmd(pmd_t *pmd)
{
	return READ_ONCE(*pmd);
}

#endif /* HUGETEXT_COMPAT_H */
