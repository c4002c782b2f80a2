// SPDX-License-Identifier: GPL-2.0
/*
 * Calling what the kernel does not export, and the list of hooks.
 * Addresses come from a kprobe that is registered and dropped at once; calls
 * go through static_call(), since an indirect call to a function that the
 * kernel itself never calls so is a crash where indirect branches are tracked.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kprobes.h>
#include <linux/mman.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/static_call.h>
#include <linux/string.h>
#include <linux/utsname.h>

/*
 * Kept from modules, and needed by inline functions of the next file that are not
 * used here: only the size of its struct mmu_gather is.
 */
void flush_tlb_mm_range(struct mm_struct *mm, unsigned long start, unsigned long end,
			unsigned int stride_shift, bool freed_tables);
#include <asm/tlb.h>

#include "compat.h"
#include "hugetext.h"

static char *without;
module_param(without, charp, 0444);
MODULE_PARM_DESC(without, "for tests: comma-separated hooks to do without");

struct hook_state {
	const char *name;
	const char *lost;
	int err;
};

#define MAX_HOOKS	16
static struct hook_state hooks[MAX_HOOKS];
static unsigned int nr_hooks;
static DEFINE_MUTEX(hooks_lock);

typedef unsigned long lookup_name_fn(const char *name);
typedef int madvise_fn(struct mm_struct *mm, unsigned long start, size_t len, int behavior);
typedef int file_open_fn(struct file *file);
typedef int change_fn(void *idmap, struct dentry *dentry, struct iattr *attr, void *delegated);

static madvise_fn madvise_not_found;
static lookup_name_fn name_not_found;
static file_open_fn file_open_not_found;
static change_fn change_not_found;

DEFINE_STATIC_CALL(hugetext_kernel_madvise, madvise_not_found);
DEFINE_STATIC_CALL(hugetext_kernel_lookup_name, name_not_found);
DEFINE_STATIC_CALL(hugetext_kernel_security_file_open, file_open_not_found);
DEFINE_STATIC_CALL(hugetext_kernel_notify_change, change_not_found);

/* Never called before they are found. */
DEFINE_STATIC_CALL_NULL(hugetext_kernel_mmap, do_mmap);
DEFINE_STATIC_CALL_NULL(hugetext_kernel_protect, mprotect_fixup);
DEFINE_STATIC_CALL_NULL(hugetext_kernel_gather, tlb_gather_mmu);
DEFINE_STATIC_CALL_NULL(hugetext_kernel_finish, tlb_finish_mmu);

static bool madvise_found, mmap_found, protect_found;

static int madvise_not_found(struct mm_struct *mm, unsigned long start, size_t len, int behavior)
{
	return -EOPNOTSUPP;
}

static unsigned long name_not_found(const char *name)
{
	return 0;
}

static int file_open_not_found(struct file *file)
{
	return -ETXTBSY;
}

static int change_not_found(void *idmap, struct dentry *dentry, struct iattr *attr, void *delegated)
{
	return -ETXTBSY;
}

bool hugetext_hook_wanted(const char *name)
{
	const char *at = without;
	size_t len = strlen(name);

	while (at && *at) {
		if (!strncmp(at, name, len) && (at[len] == ',' || !at[len]))
			return false;
		at = strchrnul(at, ',');
		if (*at)
			at++;
	}
	return true;
}

int hugetext_hook(const char *name, const char *lost, int err)
{
	unsigned int i;
	bool news = true;

	mutex_lock(&hooks_lock);
	for (i = 0; i < nr_hooks; i++) {
		if (!strcmp(hooks[i].name, name)) {
			news = hooks[i].err != err;
			break;
		}
	}
	if (i < MAX_HOOKS) {
		hooks[i] = (struct hook_state){ name, lost, err };
		nr_hooks = max(nr_hooks, i + 1);
	}
	mutex_unlock(&hooks_lock);

	if (err && news)
		pr_warn("hook %s is missing on %s (error %d): %s\n",
			name, init_utsname()->release, err, lost);
	return err;
}

void hugetext_hooks_show(struct seq_file *m)
{
	unsigned int i;

	mutex_lock(&hooks_lock);
	for (i = 0; i < nr_hooks; i++) {
		if (hooks[i].err)
			seq_printf(m, "hook %s missing %s\n", hooks[i].name, hooks[i].lost);
		else
			seq_printf(m, "hook %s ok\n", hooks[i].name);
	}
	mutex_unlock(&hooks_lock);
}

int hugetext_register_probe(struct kprobe *probe)
{
	return hugetext_hook_wanted(probe->symbol_name) ? register_kprobe(probe) : -ENOENT;
}

/*
 * The address of a function of the kernel's text, or a negative errno. The probe
 * stays disabled: nothing is ever patched for it.
 */
static int find_function(const char *name, void **address)
{
	struct kprobe probe = { .symbol_name = name, .flags = KPROBE_FLAG_DISABLED };
	int err = hugetext_register_probe(&probe);

	if (err)
		return err;
	*address = probe.addr;
	unregister_kprobe(&probe);
	return 0;
}

static void find_protect(void)
{
	static const char lost[] = "read-only data beside text stays as it is";
	void *protect, *gather, *finish;

	if (hugetext_hook("mprotect_fixup", lost, find_function("mprotect_fixup", &protect)) ||
	    hugetext_hook("tlb_gather_mmu", lost, find_function("tlb_gather_mmu", &gather)) ||
	    hugetext_hook("tlb_finish_mmu", lost, find_function("tlb_finish_mmu", &finish)))
		return;
	static_call_update(hugetext_kernel_protect, (typeof(&mprotect_fixup))protect);
	static_call_update(hugetext_kernel_gather, (typeof(&tlb_gather_mmu))gather);
	static_call_update(hugetext_kernel_finish, (typeof(&tlb_finish_mmu))finish);
	protect_found = true;
}

void hugetext_ksym_init(void)
{
	void *address;

	if (!hugetext_hook("do_madvise", "no text can be collapsed",
			   find_function("do_madvise", &address))) {
		static_call_update(hugetext_kernel_madvise, (madvise_fn *)address);
		madvise_found = true;
	}
	if (!hugetext_hook("kallsyms_lookup_name", "rothp cannot be used",
			   find_function("kallsyms_lookup_name", &address)))
		static_call_update(hugetext_kernel_lookup_name, (lookup_name_fn *)address);
	/* The hook of this name is that of align.c. */
	if (!find_function("do_mmap", &address)) {
		static_call_update(hugetext_kernel_mmap, (typeof(&do_mmap))address);
		mmap_found = true;
	}
	find_protect();
}

int hugetext_do_madvise(struct mm_struct *mm, unsigned long start, size_t len, int behavior)
{
	return static_call(hugetext_kernel_madvise)(mm, start, len, behavior);
}

bool hugetext_can_madvise(void)
{
	return madvise_found;
}

void hugetext_set_security_file_open(void *address)
{
	static_call_update(hugetext_kernel_security_file_open, (file_open_fn *)address);
}

int hugetext_security_file_open(struct file *file)
{
	return static_call(hugetext_kernel_security_file_open)(file);
}

void hugetext_set_notify_change(void *address)
{
	static_call_update(hugetext_kernel_notify_change, (change_fn *)address);
}

int hugetext_notify_change(void *idmap, struct dentry *dentry, struct iattr *attr, void *delegated)
{
	return static_call(hugetext_kernel_notify_change)(idmap, dentry, attr, delegated);
}

unsigned long hugetext_symbol(const char *name)
{
	return static_call(hugetext_kernel_lookup_name)(name);
}

static int map_fixed(struct file *file, unsigned long addr, unsigned long len, unsigned long prot,
		     unsigned long flags, unsigned long pgoff)
{
	unsigned long populate, ret;
	LIST_HEAD(watched);

	if (!mmap_found)
		return -EOPNOTSUPP;
	/* Nothing that is watched by userfaultfd is ever mapped over, nor anything locked. */
	ret = static_call(hugetext_kernel_mmap)(file, addr, len, prot,
						MAP_PRIVATE | MAP_FIXED | flags,
						HUGETEXT_MMAP_NO_FLAGS pgoff, &populate, &watched);
	return IS_ERR_VALUE(ret) ? (int)ret : 0;
}

int hugetext_map_text(struct file *file, unsigned long addr, unsigned long len,
		      unsigned long offset)
{
	return map_fixed(file, addr, len, PROT_READ | PROT_EXEC, 0, offset >> PAGE_SHIFT);
}

void hugetext_map_filler(unsigned long addr, unsigned long len)
{
	map_fixed(NULL, addr, len, PROT_NONE, MAP_ANONYMOUS, 0);
}

int hugetext_protect_text(struct vm_area_struct *vma, unsigned long start, unsigned long end)
{
	unsigned long flags = (vma->vm_flags & ~VM_WRITE) | VM_READ | VM_EXEC;
	struct vm_area_struct *prev;
	struct vma_iterator vmi;
	struct mmu_gather gather, *tlb = &gather;
	int err;

	if (!protect_found)
		return -EOPNOTSUPP;
	prev = hugetext_stand_at(&vmi, vma);
	if (start > vma->vm_start)
		prev = vma;
	static_call(hugetext_kernel_gather)(tlb, vma->vm_mm);
	err = static_call(hugetext_kernel_protect)(HUGETEXT_PROTECT_AT(&vmi) tlb, vma, &prev,
						   start, end, flags);
	static_call(hugetext_kernel_finish)(tlb);
	return err;
}
