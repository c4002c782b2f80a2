// SPDX-License-Identifier: GPL-2.0
/*
 * The words of the table of reasons, for the command.
 */
#include <string.h>

#include "reasons.h"

static const struct {
	const char *word;
	const char *text;
	const char *change;
} reasons[] = {
#define REASON(name, word, passing, text, change) { word, text, change },
	HUGETEXT_WHY_TABLE(REASON)
};

const char *reason_word(enum hugetext_why why)
{
	return reasons[why].word;
}

const char *reason_text(enum hugetext_why why)
{
	return reasons[why].text;
}

const char *reason_change(enum hugetext_why why)
{
	return reasons[why].change;
}

enum hugetext_why reason_of_word(const char *word)
{
	unsigned int why;

	for (why = 0; why < HUGETEXT_WHY_NR; why++)
		if (strcmp(reasons[why].word, word) == 0)
			break;
	return why;
}
