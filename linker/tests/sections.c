// SPDX-License-Identifier: GPL-2.0
/*
 * The C half of the test program: every kind of section that a linker script
 * can forget. Each is used at run time, so a forgotten one shows.
 */
#include <string.h>

#include "mapping.h"
#include "sections.h"

/* Run before main(), in three ways; a C library may not be ready for output yet. */
int preinit_runs, init_piece_runs, old_constructor_runs;

void preinit(void);
void init_piece(void);
void old_constructor(void);

__attribute__((used)) void preinit(void)
{
	preinit_runs++;
}

__attribute__((used)) void init_piece(void)
{
	init_piece_runs++;
}

__attribute__((used)) void old_constructor(void)
{
	old_constructor_runs++;
}

__attribute__((section(".preinit_array"), used)) static void (*preinit_entry)(void) = preinit;

__asm__(".pushsection .init, \"ax\", @progbits\n\t"
	"call init_piece\n\t"
	".popsection\n\t"
	".pushsection .ctors, \"aw\", @progbits\n\t"
	".balign 8\n\t"
	".quad old_constructor\n\t"
	".popsection\n\t"
	".pushsection .note.hugetext, \"a\", @note\n\t"
	".balign 4\n\t"
	".long 5, 4, 1\n\t"
	".asciz \"test\"\n\t"
	".balign 4\n\t"
	".long 42\n\t"
	".popsection");

void print_early(void)
{
	printf("before main: preinit %d init %d ctors %d\n", preinit_runs, init_piece_runs,
	       old_constructor_runs);
}

/* Sections that no script names, found by the symbols that ld makes for them. */
#define IN_SET(name)	__attribute__((section(name), used))

IN_SET("set_const") static const int const_1 = 1;
IN_SET("set_const") static const int const_2 = 20;
IN_SET("set_data") static int data_1 = 300;
IN_SET("set_data") static int data_2 = 4000;
IN_SET("set_text") static int text_function(void)
{
	return 50000;
}

extern const int __start_set_const[], __stop_set_const[];
extern int __start_set_data[], __stop_set_data[];
extern const char __start_set_text[], __stop_set_text[];

void print_sets(void)
{
	const int *constant;
	int *datum;
	int sum = 0;

	for (constant = __start_set_const; constant < __stop_set_const; constant++)
		sum += *constant;
	for (datum = __start_set_data; datum < __stop_set_data; datum++)
		sum += (*datum)++;
	sum += data_1 - 300 + data_2 - 4000;
	if ((const char *)text_function >= __start_set_text &&
	    (const char *)text_function < __stop_set_text)
		sum += text_function();
	printf("sets %d\n", sum);
}

static int chosen_implementation(void)
{
	return 6;
}

__attribute__((used)) static int (*choose(void))(void)
{
	return chosen_implementation;
}

int chosen(void) __attribute__((ifunc("choose")));
int (*volatile chosen_pointer)(void) = chosen;

void print_ifunc(void)
{
	printf("ifunc %d %d\n", chosen(), chosen_pointer());
}

/* Read only, but only after relocation. */
const char *const words[] = { "read only", "after", "relocation" };
static const char literal[] = "plain read only";
static int written = 1;

static void print_permissions(const char *what, const void *address)
{
	printf("%s %s\n", what, mapping_of(address).permissions);
}

void print_mappings(void)
{
	const char *const *volatile word = words;

	print_permissions("text", (const void *)print_mappings);
	print_permissions("set_text", __start_set_text);
	print_permissions("rodata", literal);
	print_permissions("set_const", __start_set_const);
#ifdef NORELRO
	printf("relro off\n");
#else
	print_permissions("relro", word);
#endif
	print_permissions("data", &written);
	printf("word %s\n", word[0]);
}

static char zeroes[5 << 20];

void print_zeroes(void)
{
	size_t i, others = 0;

	for (i = 0; i < sizeof(zeroes); i++)
		others += zeroes[i] != 0;
	memset(zeroes, 1, sizeof(zeroes));
	printf("bss not zero %zu\n", others);
}
