// SPDX-License-Identifier: GPL-2.0
/*
 * The sysfs files and module parameters.
 * Text comes in, numbers within their range go out; what a number does is
 * none of this room's business.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kernel.h>
#include <linux/kernfs.h>
#include <linux/kobject.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "hugetext.h"

struct hugetext_settings hugetext_settings;

/* One setting: its file, and the parameter that is its value at load. */
struct knob {
	struct kobj_attribute file;
	const char *parameter;
	unsigned int max;
	unsigned int base;	/* of the numbers it takes, 0: any that C has */
	unsigned int *setting;
	unsigned int at_load;
};

static int (*change_setting)(unsigned int *setting, unsigned int value);
static int (*take_back)(const char *what);

/* The folder transparent_hugepage, pinned while the module is loaded. */
static struct kernfs_node *thp_node;

/* Any number that is not one of ours is EINVAL, however it is wrong. */
static int parse(const struct knob *knob, const char *text, unsigned int *value)
{
	unsigned int number;

	if (kstrtouint(text, knob->base, &number) || number > knob->max)
		return -EINVAL;
	*value = number;
	return 0;
}

static ssize_t knob_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	struct knob *knob = container_of(attr, struct knob, file);

	return sysfs_emit(buf, "%u\n", READ_ONCE(*knob->setting));
}

static ssize_t knob_store(struct kobject *kobj, struct kobj_attribute *attr, const char *buf,
			  size_t count)
{
	struct knob *knob = container_of(attr, struct knob, file);
	unsigned int value;
	int err;

	err = parse(knob, buf, &value);
	if (!err)
		err = change_setting(knob->setting, value);
	return err ?: count;
}

#define KNOB(file_name, field, parameter_name, most, number_base)		\
	{									\
		.file = __ATTR(file_name, 0644, knob_show, knob_store),		\
		.parameter = parameter_name,					\
		.max = most,							\
		.base = number_base,						\
		.setting = &hugetext_settings.field,				\
	}

/* The file that takes no number is the last. */
enum { ENABLED, PAD_THRESHOLD, PAD_RODATA, NR_KNOBS, NR_FILES };

static struct knob knobs[NR_KNOBS] = {
	[ENABLED] = KNOB(hugetext_enabled, enabled, "hugetext", HUGETEXT_ALL, 0),
	[PAD_THRESHOLD] = KNOB(hugetext_pad_threshold, pad_threshold, "pad_threshold",
			       HUGETEXT_REGION_SIZE - 1, 10),
	[PAD_RODATA] = KNOB(hugetext_pad_rodata, pad_rodata, "pad_rodata", 1, 10),
};

static ssize_t rollback_store(struct kobject *kobj, struct kobj_attribute *attr, const char *buf,
			      size_t count)
{
	char *what;
	int err;

	if (!count || strlen(buf) != count)
		return -EINVAL;
	/* A path may end with anything but the newline that echo adds. */
	what = kmemdup_nul(buf, count - (buf[count - 1] == '\n'), GFP_KERNEL);
	if (!what)
		return -ENOMEM;
	err = take_back(what);
	kfree(what);
	return err ?: count;
}

static struct kobj_attribute rollback = __ATTR(hugetext_rollback, 0200, NULL, rollback_store);

static int set_at_load(const char *text, const struct kernel_param *param)
{
	struct knob *knob = param->arg;

	if (!text || parse(knob, text, &knob->at_load)) {
		pr_err("parameter %s=%s: 0 to %u is accepted\n", knob->parameter, text ?: "",
		       knob->max);
		return -EINVAL;
	}
	return 0;
}

static int get_at_load(char *buffer, const struct kernel_param *param)
{
	const struct knob *knob = param->arg;

	return sysfs_emit(buffer, "%u\n", knob->at_load);
}

static const struct kernel_param_ops at_load_ops = {
	.set = set_at_load,
	.get = get_at_load,
};
module_param_cb(hugetext, &at_load_ops, &knobs[ENABLED], 0444);
MODULE_PARM_DESC(hugetext, "hugetext_enabled at load: bit 0 file text, bit 1 anonymous");
module_param_cb(pad_threshold, &at_load_ops, &knobs[PAD_THRESHOLD], 0444);
MODULE_PARM_DESC(pad_threshold, "hugetext_pad_threshold at load, in bytes");
module_param_cb(pad_rodata, &at_load_ops, &knobs[PAD_RODATA], 0444);
MODULE_PARM_DESC(pad_rodata, "hugetext_pad_rodata at load: 0 or 1");

/*
 * The kobject of /sys/kernel/mm/transparent_hugepage is not exported, and
 * that of /sys/kernel/mm only by some kernels; both are found by their names.
 */
static struct kernfs_node *find_thp_node(void)
{
	struct kernfs_node *mm, *thp;

	mm = kernfs_find_and_get_ns(kernel_kobj->sd, "mm", NULL);
	if (!mm)
		return NULL;
	thp = kernfs_find_and_get_ns(mm, "transparent_hugepage", NULL);
	kernfs_put(mm);
	return thp;
}

unsigned int hugetext_knobs_at_load(void)
{
	unsigned int i;

	for (i = 0; i < NR_KNOBS; i++)
		if (i != ENABLED)
			*knobs[i].setting = knobs[i].at_load;
	return knobs[ENABLED].at_load;
}

static struct attribute *file(unsigned int i)
{
	return i < NR_KNOBS ? &knobs[i].file.attr : &rollback.attr;
}

int hugetext_knobs_init(int (*change)(unsigned int *setting, unsigned int value),
			int (*roll_back)(const char *what))
{
	unsigned int made;
	int err = 0;

	change_setting = change;
	take_back = roll_back;
	thp_node = find_thp_node();
	if (!thp_node) {
		pr_err("/sys/kernel/mm/transparent_hugepage not found\n");
		return -ENODEV;
	}
	for (made = 0; made < NR_FILES; made++) {
		err = sysfs_create_file(thp_node->priv, file(made));
		if (err)
			break;
	}
	if (!err)
		return 0;
	while (made--)
		sysfs_remove_file(thp_node->priv, file(made));
	kernfs_put(thp_node);
	return err;
}

void hugetext_knobs_exit(void)
{
	unsigned int i;

	for (i = 0; i < NR_FILES; i++)
		sysfs_remove_file(thp_node->priv, file(i));
	kernfs_put(thp_node);
}
