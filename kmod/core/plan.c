// SPDX-License-Identifier: GPL-2.0
/*
 * From a text map to actions.
 * The decision stands alone here so that the checker predicts with the very
 * code that the module runs.
 */
#include "plan.h"

size_t hugetext_plan(const struct hugetext_extent *extent, size_t nr,
		     struct hugetext_action *action, size_t max)
{
	size_t i, done = 0;

	for (i = 0; i < nr; i++) {
		if (extent[i].huge || extent[i].why != HUGETEXT_WHY_OK)
			continue;
		if (done && action[done - 1].end == extent[i].start) {
			action[done - 1].end = extent[i].end;
			continue;
		}
		if (done == max)
			break;
		action[done].start = extent[i].start;
		action[done].end = extent[i].end;
		done++;
	}
	return done;
}
