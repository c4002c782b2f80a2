/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The state of the module and of the kernel, as their files tell it.
 * Files of later versions are read where they exist and not missed otherwise.
 */
#ifndef HUGETEXT_STATE_H
#define HUGETEXT_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KNOB_DIRECTORY	"/sys/kernel/mm/transparent_hugepage"
#define KNOB_ENABLED	KNOB_DIRECTORY "/hugetext_enabled"
#define KNOB_ROLLBACK	KNOB_DIRECTORY "/hugetext_rollback"
#define MODULE_DIRECTORY "/sys/module/hugetext"
#define DEBUG_DIRECTORY	"/sys/kernel/debug"

/* Bits of hugetext_enabled. */
#define ENABLED_FILE	1
#define ENABLED_ANON	2
#define ENABLED_MAX	3

/* What to do about a module that is not there. */
#define REMEDY_LOAD	"module not loaded: modprobe hugetext"
/* Said wherever bit 1 is shown or set. */
#define ANON_NOT_SERVED	"executable anonymous memory is remembered but not served by this version"

struct state_pair {
	char *name;
	char *value;
};

struct state_pairs {
	struct state_pair *pair;
	size_t nr;
};

struct state {
	char *kernel;			/* release, NULL if not readable */
	bool loaded;
	char *version;			/* NULL if the module does not say */
	struct state_pairs knobs;	/* names below KNOB_DIRECTORY or "rothp" */
	char *thp;			/* always, madvise, never; NULL without THP */
	const char *debug_trouble;	/* why debugfs is not readable, or NULL */
	char *mechanism;		/* NULL if debugfs is not readable */
	uint64_t since;			/* file text was turned on, clock ticks since boot; 0: unknown */
	struct state_pairs hooks;	/* value: ok, off, missing and what is lost */
	struct state_pairs counters;
	struct state_pairs totals;	/* kB, of /proc/meminfo */
};

void state_read(struct state *state);
void state_free(struct state *state);

/* The value of a knob, or NULL where its file is missing. */
const char *state_knob(const struct state *state, const char *name);

/* The value of hugetext_enabled, 0 to 3, or -1 where the file is missing or odd. */
int state_enabled(const struct state *state);

/* What a value of hugetext_enabled means. */
const char *enabled_words(unsigned int value);

#endif /* HUGETEXT_STATE_H */
