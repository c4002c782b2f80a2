// SPDX-License-Identifier: GPL-2.0
/*
 * Padding: regions at the edges of text are filled up from the file, where that
 * takes nothing from anybody, and nowhere else.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "kselftest_harness.h"

#include "guest.h"

#define PAGE		4096ul
#define FOLDER		"/tests/work"
#define COPY		FOLDER "/padded"

/* ---- Layouts of linkers ---- */

FIXTURE(layout) {
	struct child child;
	char name[64];
};

FIXTURE_VARIANT(layout) {
	const char *program;
	const char *library;		/* NULL: the program itself is looked at */
	long regions[3];		/* huge without padding, with it, and with read-only data */
};

#define PROGRAM(name_, file, ...)						\
	FIXTURE_VARIANT_ADD(layout, name_) { .program = file, .regions = { __VA_ARGS__ } }
#define LIBRARY(name_, file, ...)						\
	FIXTURE_VARIANT_ADD(layout, name_) {					\
		.program = "prog-pie", .library = file, .regions = { __VA_ARGS__ } }

/* The headers, read-only, share the first region with the text. */
PROGRAM(pie, "prog-pie", 7, 7, 8);
PROGRAM(fixed_static, "prog-static", 3, 3, 4);
PROGRAM(static_pie, "prog-static-pie", 3, 3, 4);
PROGRAM(rust, "prog-rust", 1, 1, 2);
PROGRAM(musl, "prog-musl", 3, 3, 4);
LIBRARY(library, "libtext.so", 3, 3, 4);
FIXTURE_VARIANT_ADD(layout, library_musl) {
	.program = "prog-musl", .library = "libtext-musl.so", .regions = { 3, 3, 4 },
};
/* The same without section headers. */
PROGRAM(nosections, "prog-nosections", 1, 1, 2);
LIBRARY(library_nosections, "libtext-nosections.so", 1, 1, 2);
/* The same with one more writable segment behind the others. */
PROGRAM(patchelf, "prog-patchelf", 1, 1, 2);
LIBRARY(library_patchelf, "libtext-patchelf.so", 1, 1, 2);
/* A hole of 15 pages between headers and text. */
PROGRAM(pages_of_64k, "prog-64k", 1, 1, 2);
/* A hole of a page, or ld.so's filler there, since offset and address differ. */
PROGRAM(lld, "prog-lld", 3, 4, 4);
LIBRARY(library_lld, "libtext-lld.so", 3, 4, 4);
/* Text from offset 0 on. */
PROGRAM(gold, "prog-gold", 4, 4, 4);
PROGRAM(mold, "prog-mold", 4, 4, 4);
PROGRAM(noseparate, "prog-noseparate", 2, 2, 2);
LIBRARY(library_gold, "libtext-gold.so", 4, 4, 4);
LIBRARY(library_mold, "libtext-mold.so", 4, 4, 4);
LIBRARY(library_noseparate, "libtext-noseparate.so", 4, 4, 4);
/* The same, and 800 KiB of text before much read-only data, or before little and data. */
PROGRAM(go, "prog-go", 2, 2, 3);
PROGRAM(go_pie, "prog-go-pie", 2, 2, 2);
/* The same, and a hole of 1 GiB with no file behind. */
PROGRAM(pages_of_1g, "prog-1g", 2, 2, 2);
LIBRARY(library_1g, "libtext-1g.so", 2, 2, 2);
/* Room up to the next region behind a tail. */
PROGRAM(nopie, "prog-nopie", 4, 5, 5);
PROGRAM(pages_of_2m, "prog-2m", 2, 3, 3);
PROGRAM(static_pie_2m, "prog-static-pie-2m", 2, 3, 3);
LIBRARY(library_2m, "libtext-2m.so", 4, 5, 5);
/* All of it in whole regions. */
PROGRAM(ld_align, "prog-align", 5, 5, 5);
/* Two texts: one behind the headers, and one of three regions and a tail behind all. */
PROGRAM(bolt, "prog-bolt", 4, 4, 5);
LIBRARY(library_bolt, "libtext-bolt.so", 4, 4, 5);
/* Not to be moved, and a page further in the file than in memory. */
PROGRAM(nopie_patchelf, "prog-nopie-patchelf", 0, 0, 0);
/* No whole region, and much read-only data. */
PROGRAM(edges, "prog-edges", 0, 0, 2);
LIBRARY(library_edges, "libtext-edges.so", 0, 0, 2);
/* Its data is in the same region. */
PROGRAM(small, "prog-small", 0, 0, 0);

FIXTURE_SETUP(layout)
{
	snprintf(self->name, sizeof(self->name), "%s", variant->library ?: variant->program);
	ASSERT_TRUE(khugepaged_off());
}

FIXTURE_TEARDOWN(layout)
{
	child_kill(&self->child);
	EXPECT_EQ(0, module_unload());
	khugepaged_as_before();
}

static bool start(struct child *child, const char *program, const char *library)
{
	char command[600];

	if (!child_start(child, program))
		return false;
	if (!library)
		return true;
	snprintf(command, sizeof(command), "dlopen " FIXTURES "/%s", library);
	return !strcmp(command, child_ask(child, command) ?: "died");
}

/* Answers of the text, by reading and by calling, are right. */
static bool answers(struct child *child, const char *name, bool library)
{
	const char *got = child_ask(child, library ? "sumlib" : "sum");

	if (!got || strcmp(got, expected(name, "sum")))
		return false;
	got = child_ask(child, library ? "calllib" : "call");
	return got && !strcmp(got, expected(name, "call"));
}

TEST_F_TIMEOUT(layout, gets_its_regions, 900)
{
	static const char * const settings[] = {
		"hugetext=1", "hugetext=1 pad_threshold=4096",
		"hugetext=1" PADDING,
	};
	static const char * const foretell[] = {
		"hugetext check -Sr " FIXTURES "/%s", "hugetext check -Sr -p 4096 " FIXTURES "/%s",
		"hugetext check -Sr -p 4096 --pad-rodata " FIXTURES "/%s",
	};

	for (int i = 0; i < 3; i++) {
		long padded = variant->regions[i] - variant->regions[0];
		long text_kb = command_says(foretell[i], self->name, "HUGE_KB");

		/* The command counts text alone; no fixture has two regions with little. */
		EXPECT_EQ(variant->regions[i], (text_kb + 2047) / 2048);

		ASSERT_EQ(0, module_load(settings[i]));
		ASSERT_TRUE(start(&self->child, variant->program, variant->library));
		EXPECT_TRUE(wait_huge(self->child.pid, self->name, variant->regions[i] * 2048));
		EXPECT_TRUE(wait_settled());
		EXPECT_EQ(variant->regions[i] * 2048, text_of(self->child.pid, self->name).huge);
		EXPECT_LE(padded, counter("padded_regions"));
		if (!i) {
			EXPECT_EQ(0, counter("padded_regions"));
		}
		if (i < 2) {
			EXPECT_EQ(0, counter("padded_rodata_kb"));
		}
		EXPECT_EQ(0, wrong_bytes(self->child.pid, self->name));
		EXPECT_TRUE(answers(&self->child, self->name, variant->library));
		if (i == 2)
			break;
		child_kill(&self->child);
		ASSERT_EQ(0, module_unload());
	}
	/* What was filled up stays, and holds what it held. */
	ASSERT_EQ(0, module_unload());
	EXPECT_EQ(0, wrong_bytes(self->child.pid, self->name));
	EXPECT_TRUE(answers(&self->child, self->name, variant->library));
	EXPECT_TRUE(child_quit(&self->child));
	ASSERT_EQ(0, module_load(""));
}

/* ---- Processes ---- */

FIXTURE(process) {
	struct child child;
};

FIXTURE_SETUP(process)
{
	ASSERT_TRUE(khugepaged_off());
	ASSERT_EQ(0, module_load("hugetext=1"));
}

FIXTURE_TEARDOWN(process)
{
	child_kill(&self->child);
	EXPECT_EQ(0, module_unload());
	khugepaged_as_before();
}

TEST_F_TIMEOUT(process, that_runs_already_is_padded, 900)
{
	ASSERT_TRUE(start(&self->child, "prog-pie", NULL));
	ASSERT_TRUE(wait_huge(self->child.pid, "prog-pie", 7 * 2048));
	ASSERT_TRUE(wait_settled());
	ASSERT_EQ(0, write_text(PAD_THRESHOLD, "4096"));
	ASSERT_EQ(0, write_text(PAD_RODATA, "1"));
	EXPECT_TRUE(wait_huge(self->child.pid, "prog-pie", 8 * 2048));
	EXPECT_TRUE(answers(&self->child, "prog-pie", false));
	EXPECT_EQ(0, wrong_bytes(self->child.pid, "prog-pie"));
}

/* Its tail is 12288 bytes, and "more than" means more. */
TEST_F_TIMEOUT(process, holds_more_text_than_the_threshold, 900)
{
	ASSERT_EQ(0, write_text(PAD_THRESHOLD, "12288"));
	ASSERT_TRUE(start(&self->child, "prog-nopie", NULL));
	EXPECT_TRUE(wait_huge(self->child.pid, "prog-nopie", 4 * 2048));
	EXPECT_TRUE(wait_settled());
	EXPECT_EQ(4 * 2048, text_of(self->child.pid, "prog-nopie").huge);
	EXPECT_LE(1, counter("little_text"));
	ASSERT_EQ(0, write_text(PAD_THRESHOLD, "12287"));
	EXPECT_TRUE(wait_huge(self->child.pid, "prog-nopie", 5 * 2048));
}

/* All that was mapped within the library's room goes with it. */
TEST_F_TIMEOUT(process, unmaps_what_was_filled_up, 900)
{
	static const struct {
		const char *library;
		long regions;
	} rows[] = { { "libtext-edges.so", 2 }, { "libtext-lld.so", 4 }, { "libtext-edges.so", 2 } };
	struct text_mapping text;

	ASSERT_EQ(0, write_text(PAD_THRESHOLD, "4096"));
	ASSERT_EQ(0, write_text(PAD_RODATA, "1"));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		child_kill(&self->child);
		ASSERT_TRUE(start(&self->child, "prog-pie", rows[i].library));
		EXPECT_TRUE(wait_huge(self->child.pid, rows[i].library, rows[i].regions * 2048));
		child_ask(&self->child, "dlclose");
		EXPECT_FALSE(find_text(self->child.pid, rows[i].library, &text));
	}
}

/* A limit of the address space counts holes that are filled. */
static void limit_address_space(void)
{
	struct rlimit limit = { 1ul << 30, 1ul << 30 };

	setrlimit(RLIMIT_AS, &limit);
}

TEST_F_TIMEOUT(process, with_a_limit_keeps_its_holes, 900)
{
	ASSERT_EQ(0, write_text(PAD_THRESHOLD, "4096"));
	ASSERT_TRUE(child_start_prepared(&self->child, "prog-nopie", limit_address_space));
	EXPECT_TRUE(wait_huge(self->child.pid, "prog-nopie", 4 * 2048));
	EXPECT_TRUE(wait_settled());
	EXPECT_EQ(4 * 2048, text_of(self->child.pid, "prog-nopie").huge);
	EXPECT_LE(1, counter("address_limit"));
}

static void deny_exec(void)
{
	/* Of Linux 6.3; it goes on through exec. */
	prctl(65 /* PR_SET_MDWE */, 1ul, 0ul, 0ul, 0ul);
}

TEST_F_TIMEOUT(process, that_denies_exec_keeps_its_read_only_data, 900)
{
	if (prctl(66 /* PR_GET_MDWE */, 0ul, 0ul, 0ul, 0ul) < 0)
		SKIP(return, "PR_SET_MDWE is of later kernels");
	ASSERT_EQ(0, write_text(PAD_THRESHOLD, "4096"));
	ASSERT_EQ(0, write_text(PAD_RODATA, "1"));
	ASSERT_TRUE(child_start_prepared(&self->child, "prog-edges", deny_exec));
	EXPECT_TRUE(wait_counter("no_exec", 2));
	EXPECT_TRUE(wait_settled());
	EXPECT_EQ(0, text_of(self->child.pid, "prog-edges").huge);
	EXPECT_EQ(0, counter("padded_rodata_kb"));
	EXPECT_TRUE(answers(&self->child, "prog-edges", false));
}

/* A debugger's word in the read-only data: a private copy, which must stay. */
TEST_F_TIMEOUT(process, keeps_private_copies_beside_its_text, 900)
{
	struct text_mapping text;
	unsigned long at;

	ASSERT_EQ(0, write_text(PAD_THRESHOLD, "4096"));
	ASSERT_TRUE(start(&self->child, "prog-edges", NULL));
	ASSERT_TRUE(find_text(self->child.pid, "prog-edges", &text));
	at = text.end + 8 * PAGE + 64;
	ASSERT_TRUE(poke(self->child.pid, at, 0x1122334455667788));

	ASSERT_EQ(0, write_text(PAD_RODATA, "1"));
	/* The read-only data before the text is another mapping. */
	EXPECT_TRUE(wait_huge(self->child.pid, "prog-edges", 2048));
	EXPECT_TRUE(wait_settled());
	EXPECT_EQ(0x1122334455667788, peek(self->child.pid, at));
	EXPECT_EQ(2048, text_of(self->child.pid, "prog-edges").huge);
	EXPECT_TRUE(answers(&self->child, "prog-edges", false));
}

/* ---- Neighbours of every kind ---- */

/* Room in this very process for three regions of text, and a file for them. */
struct room {
	unsigned char *reserved;
	unsigned char *text;	/* a multiple of 2 MiB */
	int fd;
};

static bool make_room(struct room *room)
{
	mkdir(FOLDER, 0755);
	if (copy_file(FIXTURES "/libtext.so", COPY))
		return false;
	room->fd = open(COPY, O_RDONLY | O_CLOEXEC);
	room->text = reserve_regions(3 * REGION, &room->reserved);
	return !fsync(room->fd) && room->text;
}

static void clear_room(struct room *room)
{
	release_regions(room->reserved, 3 * REGION);
	close(room->fd);
	unlink(COPY);
}

/* Text but for the first page, which is something else. */
FIXTURE(neighbour) {
	struct room room;
};

enum beside {
	BESIDE_NOTHING,
	BESIDE_FILLER,
	BESIDE_RODATA,
	BESIDE_OTHER_OFFSET,
	BESIDE_OTHER_FILLER,
	BESIDE_CLOSED_TEXT,
	BESIDE_HOLE_IN_TEXT,
	BESIDE_OTHER_FILE,
	BESIDE_ANONYMOUS,
	BESIDE_GUARD,
	BESIDE_WRITABLE,
	BESIDE_SHARED,
	BESIDE_PRIVATE_COPY,
	BESIDE_NO_DUMP,
	BESIDE_LOCKED,
	BESIDE_END_OF_FILE,
};

FIXTURE_VARIANT(neighbour) {
	enum beside beside;
	bool fills;		/* may it be filled up, with read-only data allowed? */
	const char *why;	/* if not, what is counted */
};

#define NEIGHBOUR(name_, beside_, fills_, why_)					\
	FIXTURE_VARIANT_ADD(neighbour, name_) {					\
		.beside = beside_, .fills = fills_, .why = why_ }

/* A hole that is not within the image of the file may be anybody's. */
NEIGHBOUR(nothing, BESIDE_NOTHING, false, "neighbour");
NEIGHBOUR(filler, BESIDE_FILLER, true, NULL);
NEIGHBOUR(rodata, BESIDE_RODATA, true, NULL);
NEIGHBOUR(other_offset, BESIDE_OTHER_OFFSET, false, "neighbour");
/* Pages of the file without access, but not as a loader leaves them. */
NEIGHBOUR(other_filler, BESIDE_OTHER_FILLER, false, "neighbour");
NEIGHBOUR(closed_text, BESIDE_CLOSED_TEXT, false, "neighbour");
NEIGHBOUR(hole_in_text, BESIDE_HOLE_IN_TEXT, false, "neighbour");
NEIGHBOUR(other_file, BESIDE_OTHER_FILE, false, "neighbour");
NEIGHBOUR(anonymous, BESIDE_ANONYMOUS, false, "neighbour");
NEIGHBOUR(guard, BESIDE_GUARD, false, "neighbour");
NEIGHBOUR(writable, BESIDE_WRITABLE, false, "neighbour");
NEIGHBOUR(shared, BESIDE_SHARED, false, "neighbour");
NEIGHBOUR(private_copy, BESIDE_PRIVATE_COPY, false, "neighbour");
NEIGHBOUR(no_dump, BESIDE_NO_DUMP, false, "neighbour");
NEIGHBOUR(locked, BESIDE_LOCKED, false, "neighbour");
NEIGHBOUR(end_of_file, BESIDE_END_OF_FILE, false, "past_eof");

FIXTURE_SETUP(neighbour)
{
	ASSERT_TRUE(khugepaged_off());
	ASSERT_TRUE(make_room(&self->room));
}

FIXTURE_TEARDOWN(neighbour)
{
	clear_room(&self->room);
	EXPECT_EQ(0, module_unload());
	khugepaged_as_before();
}

/* Make the page beside the text what the variant says; false when that failed. */
static bool make_neighbour(unsigned char *page, int fd, enum beside beside)
{
	int prot = PROT_READ, flags = MAP_PRIVATE | MAP_FIXED;
	off_t offset = 0;
	bool made = true;

	switch (beside) {
	case BESIDE_NOTHING:
		return !munmap(page, PAGE);
	case BESIDE_GUARD:
		return true;
	case BESIDE_FILLER:
		prot = PROT_NONE;
		break;
	case BESIDE_OTHER_FILLER:
		prot = PROT_NONE;
		offset = 5 * PAGE;
		break;
	case BESIDE_OTHER_OFFSET:
		offset = 5 * PAGE;
		break;
	case BESIDE_OTHER_FILE:
		fd = open(FIXTURES "/prog-pie", O_RDONLY | O_CLOEXEC);
		break;
	case BESIDE_ANONYMOUS:
		flags |= MAP_ANONYMOUS;
		fd = -1;
		break;
	case BESIDE_WRITABLE:
	case BESIDE_PRIVATE_COPY:
		prot |= PROT_WRITE;
		break;
	case BESIDE_SHARED:
		flags = MAP_SHARED | MAP_FIXED;
		break;
	default:
		break;
	}
	if (mmap(page, PAGE, prot, flags, fd, offset) != page)
		return false;
	switch (beside) {
	case BESIDE_OTHER_FILE:
		close(fd);
		break;
	case BESIDE_PRIVATE_COPY:
		page[17] = 0x5a;
		made = !mprotect(page, PAGE, PROT_READ);
		break;
	case BESIDE_NO_DUMP:
		made = !madvise(page, PAGE, MADV_DONTDUMP);
		break;
	case BESIDE_LOCKED:
		made = !mlock(page, PAGE);
		break;
	default:
		break;
	}
	return made;
}

/* The line of /proc/self/maps that @address is in, from the protection on; "" for none. */
static const char *line_of(const void *address)
{
	static char line[4400];
	unsigned long start, end;
	FILE *maps = fopen("/proc/self/maps", "re");

	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx", &start, &end) == 2 && start <= (uintptr_t)address &&
		    (uintptr_t)address < end) {
			fclose(maps);
			return strchr(line, ' ') + 1;
		}
	}
	fclose(maps);
	return "";
}

TEST_F_TIMEOUT(neighbour, is_left_alone_or_filled_up, 900)
{
	/* The first line of text is the second page of a region. */
	unsigned char *text = self->room.text, *at = text;
	size_t length = 3 * REGION - PAGE;
	unsigned char first[64] = "";
	char before[4400];

	if (variant->beside == BESIDE_END_OF_FILE) {
		/* The file ends with the text, and so would whoever touched what lies behind. */
		length = 2 * REGION + 15 * PAGE;
		at = text + PAGE + length;
		ASSERT_EQ(0, truncate(COPY, PAGE + length));
		ASSERT_EQ(at, mmap(at, REGION - 16 * PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED,
				   self->room.fd, PAGE + length));
	} else {
		ASSERT_TRUE(make_neighbour(at, self->room.fd, variant->beside));
	}
	ASSERT_EQ(text + PAGE, mmap(text + PAGE, length, PROT_READ | PROT_EXEC,
				    MAP_PRIVATE | MAP_FIXED, self->room.fd, PAGE));
	/* A page that the application took access from itself, in the middle. */
	if (variant->beside == BESIDE_CLOSED_TEXT) {
		at = text + 9 * PAGE;
		ASSERT_EQ(0, mprotect(at, PAGE, PROT_NONE));
	} else if (variant->beside == BESIDE_HOLE_IN_TEXT) {
		at = text + 9 * PAGE;
		ASSERT_EQ(0, munmap(at, PAGE));
	}
	snprintf(before, sizeof(before), "%s", line_of(at));
	if (before[0] == 'r' && at == text)
		memcpy(first, at, sizeof(first));

	ASSERT_EQ(0, module_load("hugetext=1 pad_threshold=4096"));
	EXPECT_TRUE(wait_huge(getpid(), COPY, variant->beside == BESIDE_END_OF_FILE ? 2048 :
									       2 * 2048));
	EXPECT_TRUE(wait_settled());
	if (variant->beside != BESIDE_FILLER) {
		EXPECT_STREQ(before, line_of(at));
	}
	if (variant->beside == BESIDE_RODATA) {
		EXPECT_LE(1, counter("rodata"));
	}

	ASSERT_EQ(0, write_text(PAD_RODATA, "1"));
	if (variant->fills) {
		EXPECT_TRUE(wait_huge(getpid(), COPY, 3 * 2048));
		EXPECT_EQ(0, wrong_bytes(getpid(), COPY));
	} else {
		EXPECT_TRUE(wait_counter(variant->why, variant->beside == BESIDE_END_OF_FILE ?
						       1 : 2));
		EXPECT_TRUE(wait_settled());
		EXPECT_STREQ(before, line_of(at));
		EXPECT_EQ(0, counter("padded_rodata_kb"));
	}
	if (before[0] == 'r' && at == text) {
		EXPECT_EQ(0, memcmp(first, at, sizeof(first)));
	}
}

/* ---- A race ---- */

/*
 * What an application maps, protects and unmaps beside its text is its own, however
 * often khugetextd looks. Returns what went wrong, or NULL.
 */
static const char *change_neighbours(unsigned char *text, int fd, unsigned int seconds)
{
	time_t end = time(NULL) + seconds;

	for (unsigned int i = 0; time(NULL) < end; i++) {
		unsigned char *page = text;

		/* The executable mapping has khugetextd look again. */
		if (mmap(text + PAGE, 3 * REGION - PAGE, PROT_READ | PROT_EXEC,
			 MAP_PRIVATE | MAP_FIXED, fd, PAGE) == MAP_FAILED)
			return "text cannot be mapped";
		if (mmap(text, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) != text)
			return "headers cannot be mapped";
		if (page[1] != 'E')
			return "other headers";
		sleep_ms(i * 7 % 40);
		switch (i % 4) {
		case 0:
			if (mmap(text, PAGE, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != text)
				return "no anonymous page";
			page[1] = i;
			break;
		case 1:
			/* Perhaps padded already, which is no reason to fail. */
			if (mprotect(text, PAGE, PROT_READ | PROT_WRITE))
				return "not to be protected";
			page[1] = i;
			break;
		case 2:
			if (mprotect(text, PAGE, PROT_READ | PROT_WRITE))
				return "not to be protected";
			page[1] = i;
			if (mprotect(text, PAGE, PROT_READ))
				return "not to be protected again";
			break;
		case 3:
			if (munmap(text, PAGE))
				return "not to be unmapped";
			if (mmap(text, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS |
				 MAP_FIXED_NOREPLACE, -1, 0) != text)
				return "the hole is taken";
			page[1] = i;
			break;
		}
		for (int k = 0; k < 20; k++) {
			if (__atomic_load_n(&page[1], __ATOMIC_RELAXED) != (unsigned char)i)
				return "another byte";
			if (!(k % 10))
				sleep_ms(i % 3);
		}
	}
	return NULL;
}

FIXTURE(race) {
	struct room room;
};

FIXTURE_SETUP(race)
{
	ASSERT_TRUE(khugepaged_off());
	ASSERT_TRUE(make_room(&self->room));
	ASSERT_EQ(0, module_load("hugetext=1" PADDING));
}

FIXTURE_TEARDOWN(race)
{
	clear_room(&self->room);
	EXPECT_EQ(0, module_unload());
	khugepaged_as_before();
}

TEST_F_TIMEOUT(race, neighbours_are_never_taken_while_they_change, 900)
{
	const char *wrong = change_neighbours(self->room.text, self->room.fd, 20);

	EXPECT_STREQ("nothing", wrong ?: "nothing");
	fprintf(stderr, "# %ld regions padded, %ld times the application was faster\n",
		counter("padded_regions"), counter("mmap_lock"));
	EXPECT_LT(0, counter("padded_regions"));
}

TEST_HARNESS_MAIN
