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
#include <linux/sysfs.h>

#include "hugetext.h"

struct hugetext_settings hugetext_settings;

static unsigned int enabled_at_load;
static int (*change_enabled)(unsigned int enabled);

/* The folder transparent_hugepage, pinned while the module is loaded. */
static struct kernfs_node *thp_node;

/* Any number that is not one of ours is EINVAL, however it is wrong. */
static int parse_enabled(const char *text, unsigned int *enabled)
{
	unsigned int value;

	if (kstrtouint(text, 0, &value) || value > HUGETEXT_ALL)
		return -EINVAL;
	*enabled = value;
	return 0;
}

static int set_at_load(const char *text, const struct kernel_param *param)
{
	if (!text || parse_enabled(text, &enabled_at_load)) {
		pr_err("parameter hugetext=%s: 0 to 3 is accepted\n", text ?: "");
		return -EINVAL;
	}
	return 0;
}

static int get_at_load(char *buffer, const struct kernel_param *param)
{
	return sysfs_emit(buffer, "%u\n", enabled_at_load);
}

static const struct kernel_param_ops at_load_ops = {
	.set = set_at_load,
	.get = get_at_load,
};
module_param_cb(hugetext, &at_load_ops, NULL, 0444);
MODULE_PARM_DESC(hugetext, "hugetext_enabled at load: bit 0 file text, bit 1 anonymous");

unsigned int hugetext_knobs_at_load(void)
{
	return enabled_at_load;
}

static ssize_t hugetext_enabled_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(hugetext_settings.enabled));
}

static ssize_t hugetext_enabled_store(struct kobject *kobj, struct kobj_attribute *attr,
				      const char *buf, size_t count)
{
	unsigned int enabled;
	int err;

	err = parse_enabled(buf, &enabled);
	if (!err)
		err = change_enabled(enabled);
	return err ?: count;
}

static struct kobj_attribute hugetext_enabled_attr = __ATTR_RW(hugetext_enabled);

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

int hugetext_knobs_init(int (*change)(unsigned int enabled))
{
	int err;

	change_enabled = change;
	thp_node = find_thp_node();
	if (!thp_node) {
		pr_err("/sys/kernel/mm/transparent_hugepage not found\n");
		return -ENODEV;
	}
	err = sysfs_create_file(thp_node->priv, &hugetext_enabled_attr.attr);
	if (err)
		kernfs_put(thp_node);
	return err;
}

void hugetext_knobs_exit(void)
{
	sysfs_remove_file(thp_node->priv, &hugetext_enabled_attr.attr);
	kernfs_put(thp_node);
}
