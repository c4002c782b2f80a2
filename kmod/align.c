// SPDX-License-Identifier: GPL-2.0
/*
 * The probe on do_mmap: choose an address that huge pages can cover.
 * It runs with the mmap lock of current held for writing. It changes nothing
 * but the address asked for, which do_mmap then treats like any other.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kprobes.h>
#include <linux/mman.h>
#include <linux/sizes.h>

#include "compat.h"
#include "hugetext.h"
#include "trace.h"

#define REGION_MASK	(HUGETEXT_REGION_SIZE - 1)

/* Program headers are read in groups, to keep the stack and the work small. */
#define HEADERS_AT_ONCE	4

static bool armed;
static struct kprobe mmap_probe;

/* A mapping about to be made, and where its file would like to be. */
struct request {
	struct file *file;
	unsigned long addr;
	unsigned long len;
	unsigned long prot;
	unsigned long flags;
	unsigned long offset;
};

/*
 * The headers come out of the page cache, never from the disk: exec and ld.so
 * have just looked at them, so they are there in all but odd cases.
 */
static enum hugetext_why read_layout(struct file *file, struct hugetext_layout *layout,
				     bool *dynamic)
{
	char headers[HEADERS_AT_ONCE * sizeof(Elf64_Phdr)];
	struct address_space *mapping = hugetext_data_mapping(file);
	struct hugetext_elf elf;
	unsigned int i;

	if (!hugetext_peek(mapping, 0, headers, sizeof(Elf64_Ehdr)))
		return HUGETEXT_WHY_NO_HEADERS;
	if (hugetext_elf_header(headers, sizeof(Elf64_Ehdr), &elf))
		return HUGETEXT_WHY_BAD_HEADERS;

	*dynamic = elf.dynamic;
	hugetext_layout_init(layout, READ_ONCE(hugetext_settings.pad_threshold));
	for (i = 0; i < elf.phnum; i++) {
		unsigned int in_group = i % HEADERS_AT_ONCE;
		unsigned int group = min_t(unsigned int, elf.phnum - i, HEADERS_AT_ONCE);
		struct hugetext_segment segment;

		if (!in_group && !hugetext_peek(mapping, elf.phoff + i * sizeof(Elf64_Phdr),
						headers, group * sizeof(Elf64_Phdr)))
			return HUGETEXT_WHY_NO_HEADERS;
		if (hugetext_elf_segment(headers + in_group * sizeof(Elf64_Phdr), &segment) &&
		    hugetext_layout_add(layout, &segment))
			return HUGETEXT_WHY_BAD_HEADERS;
	}
	return HUGETEXT_WHY_OK;
}

/*
 * Is this the mapping with which a loader claims room for the whole file? All
 * loaders start so; other mappings of a file with program headers are not text.
 */
static bool is_first_mapping(const struct request *request, const struct hugetext_layout *layout)
{
	return request->offset == layout->first_offset &&
	       request->len == PAGE_ALIGN(layout->high) - layout->low;
}

/*
 * The wanted address modulo 2 MiB.
 * Whoever maps executable pages in another way than a loader, or before its
 * headers are in the page cache, gets the file offset's own congruence.
 */
static enum hugetext_why wanted_address(const struct request *request, unsigned long *wanted,
					bool *program)
{
	struct hugetext_layout layout;
	enum hugetext_why why;
	uint64_t residue, regions;
	bool dynamic = false;

	*program = false;
	why = read_layout(request->file, &layout, &dynamic);
	if (why == HUGETEXT_WHY_OK && is_first_mapping(request, &layout)) {
		why = hugetext_layout_wanted(&layout, &residue, &regions);
		if (why != HUGETEXT_WHY_OK)
			return why;
		*program = dynamic;
		*wanted = (residue + layout.low) & REGION_MASK;
		return HUGETEXT_WHY_OK;
	}
	if (!(request->prot & PROT_EXEC))
		return why ?: HUGETEXT_WHY_SMALL_TEXT;
	if (why == HUGETEXT_WHY_BAD_HEADERS)
		return why;
	*wanted = request->offset & REGION_MASK;
	return HUGETEXT_WHY_OK;
}

/*
 * A free place for a mapping that names no address. Asking for 2 MiB more
 * than needed leaves the place valid when the file system's own
 * get_unmapped_area looks for room to align in.
 */
static enum hugetext_why find_place(const struct request *request, unsigned long wanted,
				    unsigned long *addr)
{
	unsigned long found;

	found = thp_get_unmapped_area(request->file, 0, request->len + HUGETEXT_REGION_SIZE,
				      wanted >> PAGE_SHIFT, request->flags);
	if (IS_ERR_VALUE(found) || (found & REGION_MASK) != wanted)
		return HUGETEXT_WHY_NO_ROOM;
	*addr = found;
	return HUGETEXT_WHY_OK;
}

/* exec chose an address for a program that may lie anywhere: a lower one does as well. */
static enum hugetext_why lower_address(const struct request *request, unsigned long wanted,
				       unsigned long *addr)
{
	unsigned long lower = request->addr - ((request->addr - wanted) & REGION_MASK);

	if (lower > request->addr || lower < HUGETEXT_REGION_SIZE)
		return HUGETEXT_WHY_NO_ROOM;
	if (find_vma_intersection(current->mm, lower, request->addr + request->len))
		return HUGETEXT_WHY_NO_ROOM;
	*addr = lower;
	return HUGETEXT_WHY_OK;
}

static enum hugetext_why choose_address(const struct request *request, unsigned long *addr)
{
	bool exec = current->in_execve && (request->flags & MAP_FIXED_NOREPLACE);
	enum hugetext_why why;
	unsigned long wanted;
	bool program;

	/* task_size tells what exec made of the process, also while it makes it. */
	if (current->mm->task_size <= SZ_4G)
		return HUGETEXT_WHY_COMPAT_TASK;
	if (request->flags & MAP_FIXED || (request->flags & MAP_FIXED_NOREPLACE && !exec))
		return HUGETEXT_WHY_FIXED_ADDRESS;
	if (request->addr && !exec)
		return HUGETEXT_WHY_HINT;

	why = wanted_address(request, &wanted, &program);
	if (why != HUGETEXT_WHY_OK)
		return why;
	if (!exec)
		return find_place(request, wanted, addr);
	if (!program || !request->addr)
		return HUGETEXT_WHY_FIXED_ADDRESS;
	return lower_address(request, wanted, addr);
}

/*
 * Text that lies right for padding although it is less than a region: its loader
 * maps it where this probe placed the whole file.
 */
static void note_small(const struct request *request)
{
	unsigned int threshold = READ_ONCE(hugetext_settings.pad_threshold);

	if (threshold && (request->prot & PROT_EXEC) && request->len > threshold && request->addr &&
	    !((request->addr - request->offset) & REGION_MASK) && current->mm)
		hugetext_track_note(current->mm, task_tgid_nr(current));
}

static int mmap_handler(struct kprobe *probe, struct pt_regs *regs)
{
	struct request request = {
		.file = (struct file *)regs_get_kernel_argument(regs, 0),
		.addr = regs_get_kernel_argument(regs, 1),
		.len = regs_get_kernel_argument(regs, 2),
		.prot = regs_get_kernel_argument(regs, 3),
		.flags = regs_get_kernel_argument(regs, 4),
		.offset = hugetext_mmap_pgoff(regs) << PAGE_SHIFT,
	};
	struct inode *inode;
	unsigned long addr = request.addr;
	enum hugetext_why why;

	/* Padding knows the address. */
	if (hugetext_track_is_worker())
		return 0;
	if (!request.file || request.len > TASK_SIZE)
		return 0;
	if (request.len < HUGETEXT_REGION_SIZE) {
		note_small(&request);
		return 0;
	}
	if ((request.flags & MAP_TYPE) != MAP_PRIVATE || (request.prot & PROT_WRITE) ||
	    !(request.prot & (PROT_READ | PROT_EXEC)))
		return 0;
	request.len = PAGE_ALIGN(request.len);
	inode = file_inode(request.file);
	if (!current->mm || !S_ISREG(inode->i_mode))
		return 0;

	why = choose_address(&request, &addr);
	if (request.prot & PROT_EXEC)
		hugetext_track_note(current->mm, task_tgid_nr(current));

	if (why != HUGETEXT_WHY_OK) {
		/*
		 * Neither read-only mappings of files that are no programs are
		 * news, nor text that a loader maps where its file was placed.
		 */
		if ((request.prot & PROT_EXEC) &&
		    !(request.addr && !((request.addr - request.offset) & REGION_MASK))) {
			hugetext_tally_why(why, 1);
			trace_hugetext_align(inode->i_ino, request.addr, request.addr,
					     request.len, why);
		}
		return 0;
	}
	if (addr != request.addr)
		hugetext_set_argument_1(regs, addr);
	hugetext_tally_total(request.addr ? HUGETEXT_TOTAL_ALIGNED_PROGRAMS :
			     HUGETEXT_TOTAL_ALIGNED_LIBRARIES, 1);
	trace_hugetext_align(inode->i_ino, request.addr, addr, request.len, why);
	return 0;
}
NOKPROBE_SYMBOL(mmap_handler);

int hugetext_align_arm(void)
{
	int err;

	/* A kprobe keeps the address of its last registration. */
	mmap_probe = (struct kprobe){
		.symbol_name = "do_mmap",
		.pre_handler = mmap_handler,
	};
	err = hugetext_hook("do_mmap", "new text is neither aligned nor noticed",
			    hugetext_register_probe(&mmap_probe));
	armed = !err;
	return err == -ENOMEM ? err : 0;
}

void hugetext_align_disarm(void)
{
	if (!armed)
		return;
	armed = false;
	unregister_kprobe(&mmap_probe);
	hugetext_tally_total(HUGETEXT_TOTAL_MISSED_PROBES, mmap_probe.nmissed);
}
