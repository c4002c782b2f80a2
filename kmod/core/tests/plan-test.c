// SPDX-License-Identifier: GPL-2.0
/*
 * Unit tests of core/plan.
 * A text map goes in, the actions that must come out are written beside it.
 */
#include "../plan.h"
#include "tap.h"

#define REGION(n)	((n) * HUGETEXT_REGION_SIZE)
#define MAX_ACTIONS	8
#define NR(array)	(sizeof(array) / sizeof(*(array)))

static struct hugetext_extent extent(uint64_t from, uint64_t to, bool huge,
				     enum hugetext_why why)
{
	struct hugetext_extent made = {
		.start = REGION(from), .end = REGION(to), .huge = huge, .why = why,
	};

	return made;
}

static void nothing_to_do(void)
{
	struct hugetext_extent map[] = {
		extent(1, 3, true, HUGETEXT_WHY_OK),
		extent(5, 6, false, HUGETEXT_WHY_PRIVATE_COPY),
		extent(6, 7, false, HUGETEXT_WHY_PAST_EOF),
		extent(7, 8, true, HUGETEXT_WHY_WRITABLE),
	};
	struct hugetext_action action = { 7, 7 };

	expect(hugetext_plan(map, 0, &action, 1), 0);
	expect(hugetext_plan(map, NR(map), &action, 1), 0);
	expect(action.start, 7);
}

static void small_text_is_collapsed(void)
{
	struct hugetext_extent map[] = {
		extent(1, 2, false, HUGETEXT_WHY_PRIVATE_COPY),
		extent(2, 6, false, HUGETEXT_WHY_OK),
		extent(6, 8, true, HUGETEXT_WHY_OK),
		extent(8, 9, false, HUGETEXT_WHY_OK),
	};
	struct hugetext_action action[MAX_ACTIONS];

	expect(hugetext_plan(map, NR(map), action, MAX_ACTIONS), 2);
	expect(action[0].start, REGION(2));
	expect(action[0].end, REGION(6));
	expect(action[1].start, REGION(8));
	expect(action[1].end, REGION(9));
}

static void neighbours_become_one(void)
{
	struct hugetext_extent map[] = {
		extent(1, 2, false, HUGETEXT_WHY_OK),
		extent(2, 3, false, HUGETEXT_WHY_OK),
		extent(3, 4, false, HUGETEXT_WHY_OK),
		extent(5, 6, false, HUGETEXT_WHY_OK),
		extent(6, 7, true, HUGETEXT_WHY_OK),
		extent(7, 8, false, HUGETEXT_WHY_OK),
	};
	struct hugetext_action action[MAX_ACTIONS];

	expect(hugetext_plan(map, NR(map), action, MAX_ACTIONS), 3);
	expect(action[0].start, REGION(1));
	expect(action[0].end, REGION(4));
	expect(action[1].start, REGION(5));
	expect(action[1].end, REGION(6));
	expect(action[2].start, REGION(7));
	expect(action[2].end, REGION(8));
}

static void room_is_respected(void)
{
	struct hugetext_extent map[] = {
		extent(1, 2, false, HUGETEXT_WHY_OK),
		extent(3, 4, false, HUGETEXT_WHY_OK),
		extent(4, 5, false, HUGETEXT_WHY_OK),
		extent(6, 7, false, HUGETEXT_WHY_OK),
		extent(7, 8, false, HUGETEXT_WHY_OK),
	};
	struct hugetext_action action[3] = { [2] = { 7, 7 } };

	expect(hugetext_plan(map, NR(map), action, 0), 0);
	expect(action[0].end, 0);
	expect(hugetext_plan(map, NR(map), action, 2), 2);
	expect(action[1].start, REGION(3));
	expect(action[1].end, REGION(5));
	expect(action[2].start, 7);
	expect(action[2].end, 7);
}

static void every_reason_holds(void)
{
	struct hugetext_action action;
	unsigned int why;

	for (why = 0; why < HUGETEXT_WHY_NR; why++) {
		struct hugetext_extent one = extent(1, 2, false, why);

		expect(hugetext_plan(&one, 1, &action, 1), why == HUGETEXT_WHY_OK);
	}
}

int main(void)
{
	static const struct tap_test tests[] = {
		{ "plan: nothing to do", nothing_to_do },
		{ "plan: small text is collapsed", small_text_is_collapsed },
		{ "plan: neighbours become one", neighbours_become_one },
		{ "plan: no more actions than there is room for", room_is_respected },
		{ "plan: each reason keeps text as it is", every_reason_holds },
	};

	return tap_run(tests, NR(tests));
}
