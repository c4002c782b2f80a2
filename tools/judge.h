/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From the segments of an ELF file to what hugetext will make of it.
 * Predicts with core/layout, core/pad and core/plan, the files the module is built from.
 */
#ifndef HUGETEXT_JUDGE_H
#define HUGETEXT_JUDGE_H

#include "../kmod/core/pad.h"
#include "elf-file.h"

/* X(NAME, word, text): the words never change once released. */
#define VERDICT_TABLE(X)								\
	X(ALIGNED, "aligned",								\
	  "address and file offset agree modulo 2 MiB, no placing needed")		\
	X(MOVABLE, "movable",								\
	  "the module places it so that 2 MiB pages fit")				\
	X(FIXED_BAD, "fixed-bad",							\
	  "no 2 MiB page fits at the addresses it may have: link it as PIE, "		\
	  "or with -z max-page-size=0x200000")						\
	X(TOO_SMALL, "too-small",							\
	  "less than one whole 2 MiB region of text")					\
	X(WRITABLE, "writable",								\
	  "the text is writable: hugetext leaves such text alone")			\
	X(FOREIGN, "foreign",								\
	  "not for a machine that hugetext serves")					\
	X(NOT_PROGRAM, "not-program",							\
	  "an ELF file, but neither program nor library")				\
	X(NOT_ELF, "not-elf",								\
	  "no ELF file, or one cut off within its header")								\
	X(BAD, "bad",									\
	  "the program headers make no sense")						\
	X(UNREADABLE, "unreadable",							\
	  "could not be read")

enum verdict {
#define VERDICT_ENUM(name, word, text) VERDICT_##name,
	VERDICT_TABLE(VERDICT_ENUM)
#undef VERDICT_ENUM
	VERDICT_NR
};

struct judged_segment {
	uint64_t delta;		/* p_offset - p_vaddr modulo 2 MiB */
	uint64_t regions;	/* whole 2 MiB regions at the best address */
	uint64_t huge_bytes;	/* what will be on 2 MiB pages */
};

struct judgement {
	enum verdict verdict;
	enum hugetext_why why;
	uint64_t text_bytes;
	uint64_t huge_bytes;
	/* One for each segment of the file. */
	struct judged_segment segment[HUGETEXT_MAX_PHNUM];
};

/* True for a verdict with which a check passes. */
bool verdict_passes(enum verdict verdict);
const char *verdict_word(enum verdict verdict);
const char *verdict_text(enum verdict verdict);

void judge(const struct elf_file *file, const struct hugetext_padding *padding,
	   struct judgement *judgement);

#endif /* HUGETEXT_JUDGE_H */
