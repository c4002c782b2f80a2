/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The words of the table of reasons, for the command.
 */
#ifndef HUGETEXT_REASONS_H
#define HUGETEXT_REASONS_H

#include "../kmod/why.h"

const char *reason_word(enum hugetext_why why);
const char *reason_text(enum hugetext_why why);
/* What would change it, in general. */
const char *reason_change(enum hugetext_why why);

/* HUGETEXT_WHY_NR for a word that is not in the table. */
enum hugetext_why reason_of_word(const char *word);

#endif /* HUGETEXT_REASONS_H */
