/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests in the VM share: loading the module, writing knobs, running
 * the fixtures as child processes, and reading what the kernel says of them.
 */
#ifndef HUGETEXT_GUEST_H
#define HUGETEXT_GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define FIXTURES	"/tests/fixtures"
#define THP		"/sys/kernel/mm/transparent_hugepage"
#define ENABLED		THP "/hugetext_enabled"
#define PAD_THRESHOLD	THP "/hugetext_pad_threshold"
#define PAD_RODATA	THP "/hugetext_pad_rodata"
/* Behind another parameter of the module. */
#define PADDING		" pad_threshold=4096 pad_rodata=1"
#define COUNTERS	"/sys/kernel/debug/hugetext/counters"
#define PROCESSES	"/sys/kernel/debug/hugetext/processes"
#define TOLD		"/sys/kernel/debug/hugetext/text"
#define ROLLBACK	THP "/hugetext_rollback"
#define REGION		(2ul << 20)

/*
 * Longest wait for something that takes milliseconds on real hardware. Under
 * emulation, memory that held code is now and then a thousand times slower.
 */
#define PATIENCE	240	/* s */

/* ---- The module. All return 0 or a negative errno. ---- */

int module_load(const char *parameters);
int module_unload(void);

/* Write transparent_hugepage/enabled, until khugepaged_as_before(). */
bool thp_set(const char *word);
/*
 * The kernel's own khugepaged finds text too on newer kernels, some seconds
 * later. Where a test says what stays small, it must be out of the way.
 */
bool khugepaged_off(void);
bool khugepaged_as_before(void);

/* ---- Small files ---- */

/* 0, or the negative errno of open or write. */
int write_text(const char *path, const char *text);
/* What the file holds, without the last newline; "" when it cannot be read. */
const char *read_text(const char *path);
/* The number behind @name in a file of lines "name[:] number", -1 if it is not there. */
long read_number(const char *path, const char *name);
/* A counter of the module, -1 if it is not there. */
long counter(const char *name);
/* Copy a file with its mode; 0 or a negative errno. */
int copy_file(const char *from, const char *to);
/* A copy of a fixture, whose pages are small whatever became of the fixture's own. */
bool fresh_copy(const char *folder, const char *fixture);
/* FNV-1a of bytes, the fixtures' checksum. */
uint64_t fnv(const void *bytes, size_t size);
void sleep_ms(unsigned int ms);

/* umount(2), tried again while it is busy; 0 or an errno. Who just ended may hold it still. */
int unmount_within(const char *path, unsigned int ms);
/* khugetextd, since no one else has that name; 0 if it is not there. */
pid_t find_khugetextd(void);
/* A word of a process's memory, 0 if it cannot be read. */
long peek(pid_t pid, unsigned long addr);
/* Change one as a debugger does, which makes a private copy of its page. */
bool poke(pid_t pid, unsigned long addr, long value);

/*
 * Address space for @size bytes from a multiple of 2 MiB on, reserved without access as
 * what lies around it is; *reserved is for release_regions(). NULL: there is none.
 */
unsigned char *reserve_regions(size_t size, unsigned char **reserved);
void release_regions(unsigned char *reserved, size_t size);

/* ---- What kernels and file systems differ in ---- */

/* What it means for huge text that somebody opens its file for writing. */
enum writers {
	WRITERS_DROP,	/* it is small before the open returns, and as long as it is open */
	WRITERS_DROP_ONCE,	/* the same, but the kernel may make it huge by itself */
	WRITERS_FREE,	/* nothing: huge pages are written to like others */
};

enum writers writers_of(const char *path);
/* Can file systems write to huge pages, and does the kernel collapse their text for that? */
bool kernel_is_native(void);
/* Was the kernel built with READ_ONLY_THP_FOR_FS? */
bool kernel_has_option(void);
/* Does text become huge without the module, when the kernel feels like it? */
bool kernel_collapses_text(void);
/*
 * May whoever has a file mapped see zeros for a moment, with no module loaded, when a
 * part of it is cut out that ends within a large folio?
 */
bool shows_zeros(const char *path);
/* Can the upper layer of an overlayfs be there? */
bool takes_overlay(const char *path);
/* Does unloading the module take back what is huge of the file? */
bool unload_drops(const char *path);

/* ---- Fixtures ---- */

struct child {
	pid_t pid;
	int in;			/* commands go here */
	int out;		/* answers come from here */
	char answer[4200];	/* the last one */
};

/* Run a fixture with one or two commands; its last line, NULL unless it ended well. */
const char *run_fixture(const char *name, const char *first, const char *second);
/* Start a fixture with "wait"; @path absolute or a fixture's name. */
bool child_start(struct child *child, const char *path);
/* The same with a function called in the child before exec. */
bool child_start_prepared(struct child *child, const char *path, void (*prepare)(void));
/* Send a command, read one line; NULL when the child is gone. */
const char *child_ask(struct child *child, const char *command);
/* Let it quit; true if it ended with status 0. */
bool child_quit(struct child *child);
/* Kill it, if it is there. */
void child_kill(struct child *child);
/* The known right answer to "sum" or "call" of a fixture: kind is the suffix. */
const char *expected(const char *fixture, const char *kind);

/* ---- Text of a process ---- */

/* kB on 2 MiB pages and in whole regions, over file mappings r-x. */
struct text_size {
	long huge;	/* FilePmdMapped */
	long whole;	/* what could be */
	long text;	/* their size */
};

/* The largest text mapping of a file. */
struct text_mapping {
	unsigned long start;
	unsigned long end;
	unsigned long offset;
};

/* Of the file whose name ends in @name; false when @pid maps no text of it. */
bool find_text(pid_t pid, const char *name, struct text_mapping *text);
/* Text bytes that @pid has other than in its file, whose name ends in @name; -1: unreadable. */
long wrong_bytes(pid_t pid, const char *name);
/* Wait until khugetextd has dealt with all processes; false when PATIENCE ends before. */
bool wait_settled(void);
/* Wait until a counter of the module is at least @value. */
bool wait_counter(const char *name, long value);

/* Of all text of @pid, or of the mappings whose file name ends in @name. */
struct text_size text_of(pid_t pid, const char *name);
/* Wait until huge == whole > 0; false when PATIENCE ends before. */
bool wait_all_huge(pid_t pid, const char *name);
/* Wait until at least @kb are huge. */
bool wait_huge(pid_t pid, const char *name, long kb);

/*
 * A number from the last line of what the command prints for scripts, in the column of that
 * name; @format with one %s for @argument. -1: it failed, or there is none.
 */
long command_says(const char *format, const char *argument, const char *column);

#endif /* HUGETEXT_GUEST_H */
