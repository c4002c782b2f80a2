// SPDX-License-Identifier: GPL-2.0
/*
 * Looks into the page cache from probe handlers, which neither sleep nor wait
 * for a lock. A folio that is looked at is pinned; if it was removed meanwhile
 * and the pin is the last, freeing it takes locks, and is left to an interrupt.
 */
#include <linux/highmem.h>
#include <linux/irq_work.h>

#include "compat.h"
#include "hugetext.h"

#define REGION_PAGES	(HUGETEXT_REGION_SIZE >> PAGE_SHIFT)

/* Looked at in one go: more in the cache counts as huge unseen. */
#define MAX_REGIONS	65536

/* Folios whose last pin is ours: more than one at a time is very bad luck. */
static struct folio *last_pins[8];

static void put_last_pins(struct irq_work *unused)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(last_pins); i++) {
		struct folio *folio = xchg(&last_pins[i], NULL);

		if (folio)
			folio_put(folio);
	}
}

static struct irq_work last_pins_work = IRQ_WORK_INIT(put_last_pins);

static void unpin(struct folio *folio)
{
	unsigned int i;

	if (hugetext_unpin_unless_last(folio))
		return;
	for (i = 0; i < ARRAY_SIZE(last_pins); i++) {
		if (!cmpxchg(&last_pins[i], NULL, folio)) {
			irq_work_queue(&last_pins_work);
			return;
		}
	}
	folio_put(folio);
}

void hugetext_peek_exit(void)
{
	irq_work_sync(&last_pins_work);
}

bool hugetext_peek(struct address_space *mapping, loff_t from, void *to, size_t len)
{
	while (len) {
		size_t in_page = offset_in_page(from);
		size_t now = min_t(size_t, len, PAGE_SIZE - in_page);
		struct folio *folio = hugetext_cached_folio(mapping, from >> PAGE_SHIFT);
		bool uptodate;

		if (!folio)
			return false;
		uptodate = folio_test_uptodate(folio);
		if (uptodate) {
			size_t in_folio = offset_in_folio(folio, from);
			char *page = kmap_local_folio(folio, round_down(in_folio, PAGE_SIZE));

			memcpy(to, page + in_page, now);
			kunmap_local(page);
		}
		unpin(folio);
		if (!uptodate)
			return false;
		from += now;
		to += now;
		len -= now;
	}
	return true;
}

static bool is_huge(struct address_space *mapping, pgoff_t index)
{
	struct folio *folio = hugetext_cached_folio(mapping, index);
	bool huge;

	if (!folio)
		return false;
	huge = folio_order(folio) >= HPAGE_PMD_ORDER;
	unpin(folio);
	return huge;
}

bool hugetext_peek_huge(struct address_space *mapping)
{
	unsigned int seen = 0;
	pgoff_t index;

	for (index = hugetext_next_region(mapping, 0); index != ULONG_MAX;
	     index = hugetext_next_region(mapping, index + REGION_PAGES))
		if (seen++ == MAX_REGIONS || is_huge(mapping, index))
			return true;
	return false;
}

pgoff_t hugetext_next_region(struct address_space *mapping, pgoff_t index)
{
	unsigned long found = index;

	if (!xa_find(&mapping->i_pages, &found, ULONG_MAX, XA_PRESENT))
		return ULONG_MAX;
	return round_down(found, REGION_PAGES);
}
