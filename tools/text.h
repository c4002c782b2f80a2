/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The text of a process, run by run: its state, and the reason for it.
 * The module tells it; what it does not tell is worked out from /proc as far as
 * that is certain, and unknown otherwise.
 */
#ifndef HUGETEXT_TEXT_H
#define HUGETEXT_TEXT_H

#include "process.h"
#include "state.h"

/* X(NAME, word): words of debugfs, tables and JSON. */
#define TEXT_STATE_TABLE(X)						\
	X(HUGE, "huge")		/* on 2 MiB pages */			\
	X(SMALL, "small")						\
	X(SETTLING, "settling")	/* small, and about to be served */	\
	X(RETRYING, "retrying")	/* small, to be tried again */		\
	X(PARTLY, "partly")	/* some of its regions are huge */	\
	X(UNKNOWN, "unknown")

enum text_state {
#define TEXT_STATE_ENUM(name, word) TEXT_##name,
	TEXT_STATE_TABLE(TEXT_STATE_ENUM)
#undef TEXT_STATE_ENUM
	TEXT_STATE_NR
};

/* A run of text in one state for one reason, all in one mapping. */
struct text_run {
	uint64_t start;
	uint64_t end;
	enum text_state state;
	const char *reason;		/* a word; "unknown" where it is that */
	bool told;			/* by the module */
	const struct text_mapping *mapping;
};

struct text {
	struct text_run *run;		/* ascending by address */
	size_t nr;
};

/* What the module tells of all processes, those of one together and ascending. */
struct kernel_text {
	struct kernel_line *line;
	size_t nr;
	char *buffer;			/* with the words */
	int error;			/* errno of reading it, 0: it was read */
	unsigned long not_understood;	/* lines */
};

void kernel_text_read(struct kernel_text *kernel);
void kernel_text_free(struct kernel_text *kernel);

/* The process must outlive the text, and so must what the module tells. */
void text_read(struct text *text, const struct process *process, const struct state *state,
	       const struct kernel_text *kernel);
void text_free(struct text *text);

const char *text_state_word(enum text_state state);

/* The word of a reason that nobody knows. */
#define REASON_UNKNOWN	"unknown"

#endif /* HUGETEXT_TEXT_H */
