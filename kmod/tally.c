// SPDX-License-Identifier: GPL-2.0
/*
 * Counters, the words of the table of reasons, and the debugfs files.
 * Also the one place where the tracepoints are made.
 */
#include <linux/atomic.h>
#include <linux/debugfs.h>
#include <linux/math64.h>
#include <linux/seq_file.h>
#include <linux/time64.h>
#include <linux/utsname.h>

#include "hugetext.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

static const struct {
	const char *word;
	bool passing;
} reasons[HUGETEXT_WHY_NR] = {
#define REASON(name, word, passing, text, change) [HUGETEXT_WHY_##name] = { word, passing },
	HUGETEXT_WHY_TABLE(REASON)
};

static const char * const total_words[HUGETEXT_TOTAL_NR] = {
#define TOTAL(name, word) [HUGETEXT_TOTAL_##name] = word,
	HUGETEXT_TOTAL_TABLE(TOTAL)
};

static atomic_long_t why_count[HUGETEXT_WHY_NR];
static atomic_long_t total_count[HUGETEXT_TOTAL_NR];
static struct dentry *folder;

void hugetext_tally_why(enum hugetext_why why, unsigned long nr)
{
	atomic_long_add(nr, &why_count[why]);
}

void hugetext_tally_total(enum hugetext_total total, unsigned long nr)
{
	atomic_long_add(nr, &total_count[total]);
}

const char *hugetext_why_word(enum hugetext_why why)
{
	return reasons[why].word;
}

bool hugetext_why_passing(enum hugetext_why why)
{
	return reasons[why].passing;
}

static int counters_show(struct seq_file *m, void *unused)
{
	unsigned int i;

	for (i = 0; i < HUGETEXT_TOTAL_NR; i++)
		seq_printf(m, "%s %ld\n", total_words[i], atomic_long_read(&total_count[i]));
	for (i = HUGETEXT_WHY_OK + 1; i < HUGETEXT_WHY_NR; i++)
		seq_printf(m, "%s %ld\n", reasons[i].word, atomic_long_read(&why_count[i]));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(counters);

static int status_show(struct seq_file *m, void *unused)
{
	seq_printf(m, "mechanism %s\n", hugetext_mechanism_word());
	seq_printf(m, "kernel %s\n", init_utsname()->release);
	/* As starttime in /proc/PID/stat, which people compare it with. */
	if (READ_ONCE(hugetext_settings.enabled) & HUGETEXT_FILE)
		seq_printf(m, "enabled_since %llu\n",
			   div_u64(READ_ONCE(hugetext_settings.since), NSEC_PER_SEC / USER_HZ));
	hugetext_hooks_show(m);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(status);

static int processes_show(struct seq_file *m, void *unused)
{
	hugetext_track_show(m);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(processes);

void hugetext_tally_init(void)
{
	folder = debugfs_create_dir("hugetext", NULL);
	debugfs_create_file("counters", 0400, folder, NULL, &counters_fops);
	debugfs_create_file("status", 0400, folder, NULL, &status_fops);
	debugfs_create_file("processes", 0400, folder, NULL, &processes_fops);
	debugfs_create_file("text", 0400, folder, NULL, &hugetext_text_fops);
}

void hugetext_tally_exit(void)
{
	debugfs_remove(folder);
}
