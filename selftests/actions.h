/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The ways there are to change a file, each as one function that takes the
 * file's reference along.
 */
#ifndef HUGETEXT_ACTIONS_H
#define HUGETEXT_ACTIONS_H

#include "reference.h"

/* ---- Numbers that look random, the same for the same seed ---- */

uint64_t random_start(uint64_t seed, uint64_t stream);
uint64_t random_number(uint64_t *state);
/* One of 0 .. @limit - 1. */
size_t random_below(uint64_t *state, size_t limit);
void random_bytes(uint64_t *state, void *bytes, size_t length);

/* ---- Actions ---- */

struct turn {
	struct reference *file;
	const struct contents *donor;	/* what the file at @donor_path holds, for good */
	const char *donor_path;
	uint64_t random;
	unsigned int action;		/* what it was */
	size_t written;			/* bytes */
	char *note;			/* what is done, in the file's history */
};

enum outcome {
	OUTCOME_DONE,
	OUTCOME_REFUSED,	/* ETXTBSY of an open that fsnotify does not see */
	OUTCOME_NOT_HERE,	/* the file system or the kernel cannot */
	OUTCOME_BROKEN,		/* failed in a way that it must not */
};

/* A random action on the turn's file, the same for the same @random. */
enum outcome act(struct turn *turn);

#define MAX_ACTIONS	32
/* NULL behind the last. */
const char *action_name(unsigned int action);

/* A loop device on an open file; its descriptor and its path, or -1. */
int loop_attach(int fd, unsigned int flags, char *path, size_t size);

#endif /* HUGETEXT_ACTIONS_H */
