/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What stands against huge text in one mapping, whatever the file.
 * survey asks when it reads a process, rothp asks once more in the middle of
 * a collapse, since mappings change meanwhile.
 */
#ifndef HUGETEXT_VMA_H
#define HUGETEXT_VMA_H

#include <linux/dax.h>
#include <linux/mmap_lock.h>
#include <linux/userfaultfd_k.h>

#include "compat.h"
#include "core/layout.h"

/* With the debug option, what the comments below say of locking is checked. */
static inline void hugetext_assert_locked(struct mm_struct *mm)
{
#ifdef HUGETEXT_DEBUG
	mmap_assert_locked(mm);
#endif
}

/* Is this a text mapping of a file? Locking: mmap lock, for reading. */
static inline bool hugetext_vma_is_text(struct vm_area_struct *vma)
{
	hugetext_assert_locked(vma->vm_mm);
	return (vma->vm_flags & VM_EXEC) && vma->vm_file;
}

/* hugetext_whole_regions() of a mapping. Locking: mmap lock, for reading. */
static inline enum hugetext_why hugetext_vma_regions(struct vm_area_struct *vma, uint64_t *first,
						     uint64_t *last)
{
	hugetext_assert_locked(vma->vm_mm);
	return hugetext_whole_regions(vma->vm_start, vma->vm_end, vma->vm_pgoff << PAGE_SHIFT,
				      first, last);
}

/*
 * Where the file would begin in memory: address minus offset, the same for all mappings
 * that lie in memory as they do in the file. May be below 0, as an unsigned number.
 * Locking: mmap lock, for reading.
 */
static inline unsigned long hugetext_vma_base(struct vm_area_struct *vma)
{
	hugetext_assert_locked(vma->vm_mm);
	return vma->vm_start - (vma->vm_pgoff << PAGE_SHIFT);
}

/*
 * The reason why a text mapping must stay as it is, or HUGETEXT_WHY_OK.
 * Locking: mmap lock, for reading. Does not sleep.
 */
static inline enum hugetext_why hugetext_vma_why(struct vm_area_struct *vma)
{
	hugetext_assert_locked(vma->vm_mm);
	if (vma->vm_flags & (VM_NO_KHUGEPAGED | VM_GROWSDOWN | VM_GROWSUP))
		return HUGETEXT_WHY_SPECIAL;
	if (vma->vm_flags & (VM_WRITE | VM_SHARED))
		return HUGETEXT_WHY_WRITABLE;
	if (!S_ISREG(file_inode(vma->vm_file)->i_mode))
		return HUGETEXT_WHY_NOT_REGULAR;
	if (vma_is_dax(vma))
		return HUGETEXT_WHY_FILESYSTEM;
	if (vma->vm_flags & VM_NOHUGEPAGE)
		return HUGETEXT_WHY_NO_HUGEPAGE;
	if (hugetext_thp_disabled(vma))
		return HUGETEXT_WHY_THP_DISABLED;
	if (userfaultfd_armed(vma))
		return HUGETEXT_WHY_USERFAULTFD;
	if (READ_ONCE(vma->anon_vma))
		return HUGETEXT_WHY_PRIVATE_COPY;
	return HUGETEXT_WHY_OK;
}

#endif /* HUGETEXT_VMA_H */
