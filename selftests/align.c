// SPDX-License-Identifier: GPL-2.0
/*
 * Where text is placed: congruent for every linker and loader, still random,
 * and nothing is moved that was told where to be.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/personality.h>

#include "kselftest_harness.h"

#include "guest.h"

#define RUNS	20

/* What program headers ask of the load base. */
struct wish {
	unsigned long residue;	/* p_offset - p_vaddr of the largest text, modulo 2 MiB */
	unsigned long align;	/* the largest p_align, at least a page */
};

/* False when the file cannot be read. */
static bool read_wish(const char *path, struct wish *wish)
{
	Elf64_Xword largest = 0;
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdr;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	wish->align = 4096;
	if (pread(fd, &ehdr, sizeof(ehdr), 0) != sizeof(ehdr))
		return false;
	for (int i = 0; i < ehdr.e_phnum; i++) {
		if (pread(fd, &phdr, sizeof(phdr), ehdr.e_phoff + i * sizeof(phdr)) != sizeof(phdr))
			return false;
		if (phdr.p_type != PT_LOAD)
			continue;
		if (phdr.p_align > wish->align)
			wish->align = phdr.p_align;
		if ((phdr.p_flags & PF_X) && phdr.p_filesz > largest) {
			largest = phdr.p_filesz;
			wish->residue = (phdr.p_offset - phdr.p_vaddr) % REGION;
		}
	}
	close(fd);
	return largest > 0;
}

/* The load base of a program, or of the library that the first command opens. */
static unsigned long base_of(const char *program, const char *first, const char *second)
{
	const char *answer = run_fixture(program, first, second);
	unsigned long base;

	return answer && sscanf(answer, "base %lx", &base) == 1 ? base : ~0ul;
}

static int count_different(unsigned long *base, int nr)
{
	int different = 0;

	for (int i = 0; i < nr; i++) {
		bool seen = false;

		for (int j = 0; j < i; j++)
			seen |= base[i] == base[j];
		different += !seen;
	}
	return different;
}

FIXTURE(placed) {
	char path[512];
	char command[600];
	struct wish wish;
	unsigned long base[RUNS];
};

FIXTURE_VARIANT(placed) {
	const char *program;
	const char *library;	/* NULL: the program itself is looked at */
	int by_chance;		/* not moved: so many of the runs may be congruent; 0: moved */
};

#define PROGRAM(name_, file)							\
	FIXTURE_VARIANT_ADD(placed, name_) { .program = file }
#define LIBRARY(name_, file)							\
	FIXTURE_VARIANT_ADD(placed, name_) { .program = "prog-pie", .library = file }

PROGRAM(pie, "prog-pie");
PROGRAM(static_pie, "prog-static-pie");
PROGRAM(pie_lld, "prog-lld");
PROGRAM(pie_gold, "prog-gold");
PROGRAM(pie_mold, "prog-mold");
PROGRAM(pie_musl, "prog-musl");
PROGRAM(pie_ld_align, "prog-align");
PROGRAM(pie_noseparate, "prog-noseparate");
PROGRAM(pie_64k, "prog-64k");
PROGRAM(pie_2m, "prog-2m");
/* The kernel maps it twice: to find a place, and there. */
PROGRAM(static_pie_2m, "prog-static-pie-2m");
PROGRAM(pie_1g, "prog-1g");
PROGRAM(pie_bolt, "prog-bolt");
PROGRAM(pie_patchelf, "prog-patchelf");
PROGRAM(pie_nosections, "prog-nosections");
PROGRAM(pie_rust, "prog-rust");
PROGRAM(pie_go, "prog-go-pie");
LIBRARY(library, "libtext.so");
LIBRARY(library_lld, "libtext-lld.so");
LIBRARY(library_gold, "libtext-gold.so");
LIBRARY(library_mold, "libtext-mold.so");
LIBRARY(library_noseparate, "libtext-noseparate.so");
LIBRARY(library_2m, "libtext-2m.so");
LIBRARY(library_1g, "libtext-1g.so");
LIBRARY(library_bolt, "libtext-bolt.so");
LIBRARY(library_patchelf, "libtext-patchelf.so");
LIBRARY(library_nosections, "libtext-nosections.so");
/* glibc's loader places it before it names the file: one run in 32. */
FIXTURE_VARIANT_ADD(placed, library_64k_stays) {
	.program = "prog-pie", .library = "libtext-64k.so", .by_chance = 6,
};
FIXTURE_VARIANT_ADD(placed, library_musl) {
	.program = "prog-musl", .library = "libtext-musl.so",
};
/* Too small to be moved: one run in 512. */
FIXTURE_VARIANT_ADD(placed, small_stays) {
	.program = "prog-small", .by_chance = 2,
};

FIXTURE_SETUP(placed)
{
	snprintf(self->path, sizeof(self->path), FIXTURES "/%s",
		 variant->library ?: variant->program);
	snprintf(self->command, sizeof(self->command), "dlopen %s", self->path);
	ASSERT_TRUE(read_wish(self->path, &self->wish));
	ASSERT_EQ(0, module_load("hugetext=1"));
}

FIXTURE_TEARDOWN(placed)
{
	EXPECT_EQ(0, module_unload());
}

TEST_F_TIMEOUT(placed, congruent_and_random, 900)
{
	int congruent = 0;

	for (int i = 0; i < RUNS; i++) {
		self->base[i] = variant->library ?
			base_of(variant->program, self->command, "addrlib") :
			base_of(variant->program, "addr", NULL);
		ASSERT_NE(~0ul, self->base[i]);
		EXPECT_EQ(0, self->base[i] % self->wish.align);
		congruent += self->base[i] % REGION == self->wish.residue;
	}
	EXPECT_LE(variant->by_chance ? 0 : RUNS, congruent);
	EXPECT_GE(variant->by_chance ?: RUNS, congruent);
	/*
	 * 19 bits are left to chance: a single collision is rare, two are a fault. Where the
	 * file itself asks for 1 GiB, 10 bits are left, with or without the module.
	 */
	EXPECT_LE(self->wish.align > REGION ? RUNS - 5 : RUNS - 1,
		  count_different(self->base, RUNS));
}

/* Whoever turns randomization off gets the same address every time. */
TEST_F_TIMEOUT(placed, repeatable_without_randomization, 900)
{
	ASSERT_NE(-1, personality(ADDR_NO_RANDOMIZE));
	for (int i = 0; i < 2; i++)
		self->base[i] = variant->library ?
			base_of(variant->program, self->command, "addrlib") :
			base_of(variant->program, "addr", NULL);
	EXPECT_NE(~0ul, self->base[0]);
	EXPECT_EQ(self->base[0], self->base[1]);
	if (!variant->by_chance)
		EXPECT_EQ(self->wish.residue, self->base[0] % REGION);
}

FIXTURE(left_alone) {
	int fd;
};

FIXTURE_SETUP(left_alone)
{
	self->fd = open(FIXTURES "/libtext-lld.so", O_RDONLY | O_CLOEXEC);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, module_load("hugetext=1"));
}

FIXTURE_TEARDOWN(left_alone)
{
	close(self->fd);
	EXPECT_EQ(0, module_unload());
}

TEST_F(left_alone, off_means_off)
{
	int congruent = 0;
	struct wish wish;

	ASSERT_TRUE(read_wish(FIXTURES "/prog-pie", &wish));
	ASSERT_EQ(0, write_text(ENABLED, "2"));
	for (int i = 0; i < RUNS; i++) {
		unsigned long base = base_of("prog-pie", "addr", NULL);

		ASSERT_NE(~0ul, base);
		congruent += base % REGION == wish.residue;
	}
	EXPECT_GE(2, congruent);
}

static void *odd_place(size_t size)
{
	char *place = mmap(NULL, size + 2 * REGION, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(place, size + 2 * REGION);
	return (void *)(((unsigned long)place + REGION) / REGION * REGION + 0x5000);
}

TEST_F(left_alone, hints_and_fixed_addresses)
{
	static const int flags[] = { 0, MAP_FIXED, MAP_FIXED_NOREPLACE };
	size_t size = lseek(self->fd, 0, SEEK_END);

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		/* Some kernels give up a hint where there is no room to align in behind it. */
		void *wanted = odd_place(size + REGION);
		void *got = mmap(wanted, size, PROT_READ | PROT_EXEC, MAP_PRIVATE | flags[i],
				 self->fd, 0);

		EXPECT_EQ(wanted, got);
		munmap(got, size);
	}
	EXPECT_LE(1, counter("address_hint"));
	EXPECT_LE(2, counter("fixed_address"));
}

TEST_F(left_alone, programs_that_cannot_move)
{
	struct child child;

	ASSERT_TRUE(child_start(&child, "prog-nopie-odd"));
	EXPECT_STREQ(expected("prog-nopie-odd", "sum"), child_ask(&child, "sum"));
	EXPECT_EQ(0, text_of(child.pid, "prog-nopie-odd").whole);
	EXPECT_TRUE(child_quit(&child));
}

TEST_F(left_alone, tasks_of_32_bits)
{
	struct child child;

	ASSERT_TRUE(child_start(&child, "prog-32"));
	EXPECT_STREQ(expected("prog-32", "sum"), child_ask(&child, "sum"));
	EXPECT_STREQ(expected("prog-32", "call"), child_ask(&child, "call"));
	EXPECT_LE(1, counter("compat_task"));
	EXPECT_TRUE(child_quit(&child));
}

/* Whoever maps text without a loader still gets the congruence of the offset. */
TEST_F(left_alone, but_not_an_open_address)
{
	char *got = mmap(NULL, 3 * REGION, PROT_READ | PROT_EXEC, MAP_PRIVATE, self->fd, 0x3000);

	ASSERT_NE(MAP_FAILED, got);
	EXPECT_EQ(0x3000, (unsigned long)got % REGION);
}

TEST_HARNESS_MAIN
