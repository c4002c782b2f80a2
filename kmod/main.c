// SPDX-License-Identifier: GPL-2.0
/*
 * Load and unload, in order.
 * What is armed first is disarmed last, and nothing is armed while
 * hugetext_enabled is 0: a module that is loaded and off costs nothing.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/timekeeping.h>

#include "compat.h"
#include "hugetext.h"

/* Serializes the switching; the sysfs file may be written by many at once. */
static DEFINE_MUTEX(switch_lock);

static void stop_file_text(void)
{
	hugetext_align_disarm();
	hugetext_track_disarm();
	hugetext_mechanism_disarm();
}

/* A hook that is missing is no error; having no memory for it is. */
static int start_file_text(void)
{
	int err;

	err = hugetext_mechanism_arm();
	if (!err)
		err = hugetext_track_arm();
	if (!err)
		err = hugetext_align_arm();
	if (err)
		stop_file_text();
	return err;
}

static int switch_to(unsigned int enabled)
{
	unsigned int before;
	int err = 0;

	mutex_lock(&switch_lock);
	before = hugetext_settings.enabled;
	WRITE_ONCE(hugetext_settings.enabled, enabled);
	if (enabled & ~before & HUGETEXT_FILE)
		err = start_file_text();
	else if (before & ~enabled & HUGETEXT_FILE)
		stop_file_text();
	if (err)
		WRITE_ONCE(hugetext_settings.enabled, before);
	else if (enabled & ~before & HUGETEXT_FILE)
		WRITE_ONCE(hugetext_settings.since, ktime_get_boottime_ns());
	mutex_unlock(&switch_lock);
	return err;
}

/* Processes that already run get what they would get now. */
static int change(unsigned int *setting, unsigned int value)
{
	if (setting == &hugetext_settings.enabled)
		return switch_to(value);
	if (xchg(setting, value) != value)
		hugetext_track_look_again();
	return 0;
}

static int __init hugetext_init(void)
{
	int err;

	if (!has_transparent_hugepage()) {
		pr_err("this processor has no 2 MiB pages\n");
		return -ENODEV;
	}
	hugetext_ksym_init();
	hugetext_mechanism_init();
	err = hugetext_track_init();
	if (err)
		goto undo_mechanism;
	/* Before the file is there: a write must not be undone by this. */
	err = switch_to(hugetext_knobs_at_load());
	if (err)
		goto undo_track;
	err = hugetext_knobs_init(change, hugetext_roll_back);
	if (err)
		goto undo_switch;
	hugetext_tally_init();
	pr_info("loaded, mechanism %s, hugetext_enabled %u\n",
		hugetext_mechanism_word(), READ_ONCE(hugetext_settings.enabled));
	return 0;

undo_switch:
	switch_to(0);
undo_track:
	hugetext_track_exit();
undo_mechanism:
	hugetext_mechanism_exit();
	hugetext_peek_exit();
	return err;
}

static void __exit hugetext_exit(void)
{
	hugetext_knobs_exit();
	switch_to(0);
	hugetext_tally_exit();
	hugetext_track_exit();
	hugetext_mechanism_exit();
	hugetext_peek_exit();
}

module_init(hugetext_init);
module_exit(hugetext_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Program text on 2 MiB pages");
MODULE_VERSION("0.1.0");
