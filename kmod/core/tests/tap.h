/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The little that unit tests need: expectations, and results as TAP.
 * A test is a function; it fails when one of its expectations does, and goes
 * on, so that all that is wrong is seen at once.
 */
#ifndef TAP_H
#define TAP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct tap_test {
	const char *name;
	void (*run)(void);
};

static bool tap_failed;

/* Any integers; compared and shown as 64-bit ones. */
#define expect(is, should)							\
do {										\
	unsigned long long is_ = (is), should_ = (should);			\
										\
	if (is_ != should_) {							\
		printf("# %s:%d: %s is 0x%llx instead of 0x%llx\n",		\
		       __FILE__, __LINE__, #is, is_, should_);			\
		tap_failed = true;						\
	}									\
} while (0)

static inline int tap_run(const struct tap_test *tests, unsigned int nr)
{
	unsigned int i, failed = 0;

	printf("TAP version 13\n1..%u\n", nr);
	for (i = 0; i < nr; i++) {
		tap_failed = false;
		tests[i].run();
		printf("%sok %u - %s\n", tap_failed ? "not " : "", i + 1, tests[i].name);
		failed += tap_failed;
	}
	return failed != 0;
}

#endif /* TAP_H */
