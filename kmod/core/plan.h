/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From a text map to actions.
 * Pure: what survey saw (or the checker imagines) goes in, what apply shall
 * do comes out; the same input always gives the same plan.
 */
#ifndef HUGETEXT_CORE_PLAN_H
#define HUGETEXT_CORE_PLAN_H

#include "layout.h"

/*
 * A run of executable memory all in one state. Text that holds no whole
 * region, or that must be left alone, is an extent too: its @why says it.
 */
struct hugetext_extent {
	uint64_t start;		/* address, a multiple of 2 MiB when @why is OK */
	uint64_t end;		/* first address behind */
	uint64_t offset;	/* file offset at @start, bytes */
	bool huge;		/* mapped by 2 MiB pages now */
	enum hugetext_why why;	/* OK, or why these regions stay as they are */
};

/* One thing for apply to do: collapse [@start, @end), whole regions. */
struct hugetext_action {
	uint64_t start;
	uint64_t end;
};

/**
 * hugetext_plan() - decide what to do with a text map
 * @extent: the map, ascending by address
 * @nr: how many extents
 * @action: where to put the actions
 * @max: room for that many actions, at least @nr for a complete plan
 *
 * Small regions against which nothing stands are collapsed. Neighbouring
 * extents of one state become one action when they touch.
 *
 * Any context.
 *
 * Return: how many actions were written, ascending by address.
 */
size_t hugetext_plan(const struct hugetext_extent *extent, size_t nr,
		     struct hugetext_action *action, size_t max);

#endif /* HUGETEXT_CORE_PLAN_H */
