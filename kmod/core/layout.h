/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From program headers to congruence and regions.
 * Pure: no lock, no allocation, no kernel call. The module, the command,
 * the unit tests and the fuzzers are built from the same file.
 */
#ifndef HUGETEXT_CORE_LAYOUT_H
#define HUGETEXT_CORE_LAYOUT_H

#ifdef __KERNEL__
#include <linux/elf.h>
#include <linux/types.h>
#else
#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#endif

#include "../why.h"

#define HUGETEXT_PAGE_SIZE	4096ULL
#define HUGETEXT_REGION_SIZE	(2ULL << 20)

/* More program headers than this in one file are taken for nonsense. */
#define HUGETEXT_MAX_PHNUM	256

/* What the layout needs of an ELF header. Byte offsets and counts. */
struct hugetext_elf {
	uint64_t phoff;		/* file offset of the program headers */
	uint16_t phnum;		/* 1 to HUGETEXT_MAX_PHNUM */
	bool dynamic;		/* ET_DYN: the file may be moved */
};

/* One PT_LOAD, as the file says it. Bytes; nothing is rounded. */
struct hugetext_segment {
	uint64_t offset;
	uint64_t vaddr;
	uint64_t filesz;
	uint64_t memsz;
	uint64_t align;
	bool exec;
};

/* Text segments of one file may differ in their congruence: lld's do. */
#define HUGETEXT_MAX_DELTAS	8

/*
 * The sum of a file's PT_LOADs. Start with hugetext_layout_init(), add every
 * PT_LOAD in the order of the file, then read.
 */
struct hugetext_layout {
	uint64_t low;		/* lowest address, rounded down to a page */
	uint64_t high;		/* end of the highest segment, not rounded */
	uint64_t first_offset;	/* file offset mapped first, rounded down */
	uint64_t pad_threshold;	/* see hugetext_layout_init() */
	uint64_t text_bytes;	/* p_filesz of all executable segments */
	uint64_t max_align;	/* largest p_align: what the load base is aligned to */
	unsigned int nr_loads;
	unsigned int nr_deltas;
	struct {
		uint64_t delta;	/* p_offset - p_vaddr modulo 2 MiB */
		uint64_t regions;
	} delta[HUGETEXT_MAX_DELTAS];
};

/**
 * hugetext_elf_header() - read an ELF header
 * @buf: the first bytes of the file, of any alignment
 * @size: how many there are
 * @elf: set on success only
 *
 * Takes 64-bit files of the native byte order, of the types ET_DYN and
 * ET_EXEC, with at most HUGETEXT_MAX_PHNUM program headers.
 *
 * Any context. Source of facts: the System V ABI, chapter 4.
 *
 * Return: HUGETEXT_WHY_OK or HUGETEXT_WHY_BAD_HEADERS.
 */
enum hugetext_why hugetext_elf_header(const void *buf, size_t size, struct hugetext_elf *elf);

/**
 * hugetext_elf_segment() - read one program header
 * @buf: sizeof(Elf64_Phdr) bytes of native byte order, of any alignment
 * @segment: set when it is a PT_LOAD
 *
 * Any context.
 *
 * Return: true when it is a PT_LOAD.
 */
bool hugetext_elf_segment(const void *buf, struct hugetext_segment *segment);

/**
 * hugetext_layout_init() - start the sum of a file's segments
 * @layout: set to "no segments yet"
 * @pad_threshold: regions with more text than so many bytes will be filled up,
 *		   and count like whole ones; 0: none will be
 */
void hugetext_layout_init(struct hugetext_layout *layout, uint64_t pad_threshold);

/**
 * hugetext_layout_add() - add the next PT_LOAD of a file
 * @layout: the sum so far
 * @segment: the next PT_LOAD, of ascending addresses as the ABI asks
 *
 * Any context.
 *
 * Return: HUGETEXT_WHY_OK, or HUGETEXT_WHY_BAD_HEADERS when the segment
 * overflows, overlaps or precedes the one before, has more file than memory,
 * or breaks p_vaddr ≡ p_offset modulo the page size or p_align.
 */
enum hugetext_why hugetext_layout_add(struct hugetext_layout *layout,
				      const struct hugetext_segment *segment);

/**
 * hugetext_layout_wanted() - the congruence that serves most of the text
 * @layout: the sum of all segments
 * @residue: set on success: load base modulo 2 MiB, 0 to 2 MiB - 1
 * @regions: set on success: whole 2 MiB regions of text with that base, and
 *	     those that may become whole by padding
 *
 * With a load base ≡ *@residue, p_vaddr + base ≡ p_offset modulo 2 MiB for the
 * executable segments that hold the most such regions, among those whose
 * residue keeps the base a multiple of every p_align.
 *
 * Any context.
 *
 * Return: HUGETEXT_WHY_OK; HUGETEXT_WHY_SMALL_TEXT when no base gives a whole
 * region; HUGETEXT_WHY_OFFSET when only bases would that break an alignment.
 */
enum hugetext_why hugetext_layout_wanted(const struct hugetext_layout *layout,
					 uint64_t *residue, uint64_t *regions);

/**
 * hugetext_whole_regions() - the whole 2 MiB regions of one mapping
 * @start: first address, a multiple of the page size
 * @end: first address behind, a multiple of the page size, above @start
 * @offset: the file offset mapped at @start, a multiple of the page size
 * @first: set on success: address of the first whole region
 * @last: set on success: first address behind the last whole region
 *
 * Any context.
 *
 * Return: HUGETEXT_WHY_OK; HUGETEXT_WHY_NO_REGION where the mapping could
 * hold none with any address; HUGETEXT_WHY_OFFSET where a better address
 * could have given one.
 */
enum hugetext_why hugetext_whole_regions(uint64_t start, uint64_t end, uint64_t offset,
					 uint64_t *first, uint64_t *last);

#endif /* HUGETEXT_CORE_LAYOUT_H */
