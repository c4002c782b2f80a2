/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What would change that a run of text is small: the table's general answer, or
 * a better one where the files of the system give it.
 */
#ifndef HUGETEXT_ADVICE_H
#define HUGETEXT_ADVICE_H

#include "text.h"

/* The caller frees it. */
char *advice(const struct text_run *run, const struct process *process,
	     const struct state *state, const struct kernel_text *kernel);

#endif /* HUGETEXT_ADVICE_H */
