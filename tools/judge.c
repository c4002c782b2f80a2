// SPDX-License-Identifier: GPL-2.0
/*
 * From the segments of an ELF file to what hugetext will make of it.
 * Imagines the mappings that a loader would make, and asks the planner.
 */
#include <string.h>

#include "../kmod/core/plan.h"
#include "judge.h"

#define REGION_MASK	(HUGETEXT_REGION_SIZE - 1)
#define PAGE_MASK	(~(HUGETEXT_PAGE_SIZE - 1))

/* Where the imagined loader puts what may be moved. A multiple of 2 MiB. */
#define IMAGINED_BASE	0x7f0000000000ULL

static const char *const words[] = {
#define VERDICT_WORD(name, word, text) word,
	VERDICT_TABLE(VERDICT_WORD)
};

static const char *const texts[] = {
#define VERDICT_TEXT(name, word, text) text,
	VERDICT_TABLE(VERDICT_TEXT)
};

bool verdict_passes(enum verdict verdict)
{
	return verdict == VERDICT_ALIGNED || verdict == VERDICT_MOVABLE;
}

const char *verdict_word(enum verdict verdict)
{
	return words[verdict];
}

const char *verdict_text(enum verdict verdict)
{
	return texts[verdict];
}

static bool is_text(const GElf_Phdr *segment)
{
	return (segment->p_flags & PF_X) && segment->p_filesz;
}

/* What this version of the module serves. */
static bool is_served(const GElf_Ehdr *header)
{
	return header->e_machine == EM_X86_64 &&
	       header->e_ident[EI_CLASS] == ELFCLASS64 &&
	       header->e_ident[EI_DATA] == ELFDATA2LSB;
}

static uint64_t whole_regions(const GElf_Phdr *segment)
{
	uint64_t start = segment->p_offset & PAGE_MASK;
	uint64_t end = (segment->p_offset + segment->p_filesz + ~PAGE_MASK) & PAGE_MASK;
	uint64_t first, last;

	if (!segment->p_filesz ||
	    hugetext_whole_regions(start, end, start, &first, &last) != HUGETEXT_WHY_OK)
		return 0;
	return (last - first) / HUGETEXT_REGION_SIZE;
}

static void look_at_segments(const struct elf_file *file, struct judgement *judgement)
{
	size_t i;

	for (i = 0; i < file->nr_segments; i++) {
		const GElf_Phdr *segment = &file->segment[i];
		struct judged_segment *judged = &judgement->segment[i];

		judged->delta = (segment->p_offset - segment->p_vaddr) & REGION_MASK;
		judged->regions = whole_regions(segment);
		if (is_text(segment))
			judgement->text_bytes += segment->p_filesz;
	}
}

static bool sum_layout(const struct elf_file *file, uint64_t pad_threshold,
		       struct hugetext_layout *layout)
{
	struct hugetext_segment segment;
	size_t i;

	hugetext_layout_init(layout, pad_threshold);
	for (i = 0; i < file->nr_segments; i++) {
		const GElf_Phdr *phdr = &file->segment[i];

		segment = (struct hugetext_segment) {
			.offset = phdr->p_offset,
			.vaddr = phdr->p_vaddr,
			.filesz = phdr->p_filesz,
			.memsz = phdr->p_memsz,
			.align = phdr->p_align,
			.exec = phdr->p_flags & PF_X,
		};
		if (hugetext_layout_add(layout, &segment) != HUGETEXT_WHY_OK)
			return false;
	}
	return true;
}

/*
 * For a library linked for pages above 4 KiB, glibc's loader reserves room
 * before it names the file, and rounds up to the alignment within that: the
 * module sees neither. Programs are placed by the kernel.
 */
static bool placed_by_loader(const struct elf_file *file, const struct hugetext_layout *layout)
{
	return file->header.e_type == ET_DYN && !file->interp && !file->pie &&
	       layout->max_align > HUGETEXT_PAGE_SIZE;
}

/* The pages of segment @i as far as they are mapped from the file; a shared one is the next's. */
static void segment_pages(const struct elf_file *file, size_t i, uint64_t base,
			  uint64_t *start, uint64_t *end)
{
	const GElf_Phdr *segment = &file->segment[i];
	uint64_t next;

	*start = base + (segment->p_vaddr & PAGE_MASK);
	*end = base + ((segment->p_vaddr + segment->p_filesz + ~PAGE_MASK) & PAGE_MASK);
	if (i + 1 < file->nr_segments) {
		next = base + (file->segment[i + 1].p_vaddr & PAGE_MASK);
		*end = *end < next ? *end : next;
	}
}

/* The mapping that a loader makes of segment @i, with what stands against it. */
static struct hugetext_extent imagine(const struct elf_file *file, size_t i, uint64_t base)
{
	const GElf_Phdr *segment = &file->segment[i];
	struct hugetext_extent extent = { .offset = segment->p_offset & PAGE_MASK };
	uint64_t first, last;

	segment_pages(file, i, base, &extent.start, &extent.end);
	if (extent.start >= extent.end) {
		extent.why = HUGETEXT_WHY_NO_REGION;
		return extent;
	}
	extent.why = hugetext_whole_regions(extent.start, extent.end, extent.offset,
					    &first, &last);
	if (extent.why == HUGETEXT_WHY_OK) {
		extent.offset += first - extent.start;
		extent.start = first;
		extent.end = last;
		if (segment->p_flags & PF_W)
			extent.why = HUGETEXT_WHY_WRITABLE;
	}
	return extent;
}

static enum hugetext_use segment_use(const GElf_Phdr *segment, uint64_t start, uint64_t region,
				     uint64_t offset)
{
	bool fits = (segment->p_offset & PAGE_MASK) - (start - region) == offset;

	if (!fits || (segment->p_flags & PF_W) || !(segment->p_flags & PF_R))
		return HUGETEXT_USE_OTHER;
	return segment->p_flags & PF_X ? HUGETEXT_USE_TEXT : HUGETEXT_USE_RODATA;
}

static void add_piece(struct hugetext_piece *piece, size_t *nr, uint64_t start, uint64_t end,
		      enum hugetext_use use)
{
	/* What finds no room counts, and that is the end of it. */
	if (*nr < HUGETEXT_MAX_PIECES)
		piece[*nr] = (struct hugetext_piece) { .start = start, .end = end, .use = use };
	++*nr;
}

/*
 * What a loader makes of a region; between segments it leaves holes or fillers.
 * Returns how many pieces there are, perhaps more than find room.
 */
static size_t list_pieces(const struct elf_file *file, uint64_t base, uint64_t region,
			  uint64_t offset, struct hugetext_piece *piece)
{
	uint64_t at = region, region_end = region + HUGETEXT_REGION_SIZE;
	enum hugetext_use between = HUGETEXT_USE_OTHER;
	size_t i, nr = 0;

	for (i = 0; i < file->nr_segments && at < region_end; i++) {
		const GElf_Phdr *segment = &file->segment[i];
		uint64_t start, end, bss;

		segment_pages(file, i, base, &start, &end);
		if (start > at) {
			uint64_t to = start < region_end ? start : region_end;

			add_piece(piece, &nr, at, to, between);
			at = to;
		}
		if (end > at && at < region_end) {
			end = end < region_end ? end : region_end;
			add_piece(piece, &nr, at, end, segment_use(segment, start, region, offset));
			at = end;
		}
		/* Memory that no file is behind. */
		bss = base + ((segment->p_vaddr + segment->p_memsz + ~PAGE_MASK) & PAGE_MASK);
		bss = bss < region_end ? bss : region_end;
		if (segment->p_memsz > segment->p_filesz && bss > at) {
			add_piece(piece, &nr, at, bss, HUGETEXT_USE_OTHER);
			at = bss;
		}
		between = HUGETEXT_USE_HOLE;
	}
	if (at < region_end)
		add_piece(piece, &nr, at, region_end, HUGETEXT_USE_OTHER);
	return nr;
}

/* Bytes of segment @i in a region at its edge, if that is filled up; else 0. */
static uint64_t padded_bytes(const struct elf_file *file, size_t i, uint64_t base, uint64_t region,
			     const struct hugetext_padding *padding)
{
	struct hugetext_piece piece[HUGETEXT_MAX_PIECES];
	uint64_t start, end, offset;
	size_t nr;

	segment_pages(file, i, base, &start, &end);
	offset = (file->segment[i].p_offset & PAGE_MASK) - (start - region);
	nr = list_pieces(file, base, region, offset, piece);
	if (!region || nr > HUGETEXT_MAX_PIECES ||
	    hugetext_pad(region, offset, file->size, piece, nr, padding) != HUGETEXT_WHY_OK)
		return 0;
	start = start > region ? start : region;
	end = end < region + HUGETEXT_REGION_SIZE ? end : region + HUGETEXT_REGION_SIZE;
	return end - start;
}

/* The regions at the edges of text that padding completes. */
static void predict_padding(const struct elf_file *file, size_t i, uint64_t base,
			    const struct hugetext_padding *padding, struct judgement *judgement)
{
	uint64_t start, end, edge[2], bytes = 0;
	unsigned int k, nr;

	segment_pages(file, i, base, &start, &end);
	if (start >= end)
		return;
	nr = hugetext_edges(start, end, file->segment[i].p_offset & PAGE_MASK, edge);
	for (k = 0; k < nr; k++)
		bytes += padded_bytes(file, i, base, edge[k], padding);
	judgement->segment[i].huge_bytes += bytes;
	judgement->huge_bytes += bytes;
}

static void predict(const struct elf_file *file, uint64_t base,
		    const struct hugetext_padding *padding, struct judgement *judgement)
{
	struct hugetext_extent extent;
	struct hugetext_action action;
	size_t i;

	judgement->why = HUGETEXT_WHY_SMALL_TEXT;
	for (i = 0; i < file->nr_segments; i++) {
		if (!is_text(&file->segment[i]))
			continue;
		extent = imagine(file, i, base);
		if (hugetext_plan(&extent, 1, &action, 1)) {
			judgement->segment[i].huge_bytes = action.end - action.start;
			judgement->huge_bytes += action.end - action.start;
		} else if (extent.why != HUGETEXT_WHY_NO_REGION) {
			judgement->why = extent.why;
		}
		if (!(file->segment[i].p_flags & PF_W))
			predict_padding(file, i, base, padding, judgement);
	}
	if (judgement->huge_bytes)
		judgement->why = HUGETEXT_WHY_OK;
}

static void nothing_huge(const struct elf_file *file, struct judgement *judgement)
{
	size_t i;

	for (i = 0; i < file->nr_segments; i++)
		judgement->segment[i].huge_bytes = 0;
	judgement->huge_bytes = 0;
}

static void judge_program(const struct elf_file *file, const struct hugetext_padding *padding,
			  struct judgement *judgement)
{
	bool movable = file->header.e_type == ET_DYN;
	struct hugetext_layout layout;
	uint64_t residue, regions;
	struct hugetext_elf elf;

	if (hugetext_elf_header(&file->header, sizeof(file->header), &elf) != HUGETEXT_WHY_OK ||
	    !sum_layout(file, padding->threshold, &layout)) {
		judgement->verdict = VERDICT_BAD;
		judgement->why = HUGETEXT_WHY_BAD_HEADERS;
		return;
	}
	judgement->why = hugetext_layout_wanted(&layout, &residue, &regions);
	if (judgement->why != HUGETEXT_WHY_OK) {
		judgement->verdict = judgement->why == HUGETEXT_WHY_OFFSET ? VERDICT_FIXED_BAD :
									     VERDICT_TOO_SMALL;
		return;
	}

	predict(file, movable ? IMAGINED_BASE + residue : 0, padding, judgement);
	if (!judgement->huge_bytes) {
		if (judgement->why == HUGETEXT_WHY_WRITABLE) {
			judgement->verdict = VERDICT_WRITABLE;
		} else if (judgement->why == HUGETEXT_WHY_OFFSET) {
			judgement->verdict = VERDICT_FIXED_BAD;
			judgement->why = HUGETEXT_WHY_FIXED_ADDRESS;
		} else {
			judgement->verdict = VERDICT_TOO_SMALL;
		}
	} else if (!movable || layout.max_align >= HUGETEXT_REGION_SIZE) {
		judgement->verdict = VERDICT_ALIGNED;
	} else if (placed_by_loader(file, &layout)) {
		nothing_huge(file, judgement);
		judgement->verdict = VERDICT_FIXED_BAD;
		judgement->why = HUGETEXT_WHY_FIXED_ADDRESS;
	} else {
		judgement->verdict = VERDICT_MOVABLE;
	}
}

void judge(const struct elf_file *file, const struct hugetext_padding *padding,
	   struct judgement *judgement)
{
	memset(judgement, 0, sizeof(*judgement));
	if (file->kind != ELF_FILE_NOT_ELF && file->kind != ELF_FILE_UNREADABLE)
		look_at_segments(file, judgement);

	switch (file->kind) {
	case ELF_FILE_NOT_ELF:
		judgement->verdict = VERDICT_NOT_ELF;
		judgement->why = HUGETEXT_WHY_BAD_HEADERS;
		break;
	case ELF_FILE_BAD:
		judgement->verdict = VERDICT_BAD;
		judgement->why = HUGETEXT_WHY_BAD_HEADERS;
		break;
	case ELF_FILE_UNREADABLE:
		judgement->verdict = VERDICT_UNREADABLE;
		judgement->why = HUGETEXT_WHY_NO_HEADERS;
		break;
	case ELF_FILE_OTHER:
		judgement->verdict = VERDICT_NOT_PROGRAM;
		judgement->why = HUGETEXT_WHY_BAD_HEADERS;
		break;
	case ELF_FILE_PROGRAM:
		if (is_served(&file->header)) {
			judge_program(file, padding, judgement);
			break;
		}
		judgement->verdict = VERDICT_FOREIGN;
		judgement->why = file->header.e_ident[EI_CLASS] == ELFCLASS32 ?
				 HUGETEXT_WHY_COMPAT_TASK : HUGETEXT_WHY_BAD_HEADERS;
		break;
	}
}
