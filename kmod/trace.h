/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The tracepoints of the system hugetext.
 * Reasons are printed with the words of why.h.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM hugetext

#if !defined(HUGETEXT_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define HUGETEXT_TRACE_H

#include <linux/tracepoint.h>

#include "why.h"

/* perf and trace-cmd print the words only if the numbers are exported. */
#define HUGETEXT_WHY_EXPORT(name, word, passing, text, change)	\
	TRACE_DEFINE_ENUM(HUGETEXT_WHY_##name);
HUGETEXT_WHY_TABLE(HUGETEXT_WHY_EXPORT)
#undef HUGETEXT_WHY_EXPORT

#undef HUGETEXT_WHY_SYMBOL
#define HUGETEXT_WHY_SYMBOL(name, word, passing, text, change)	{ HUGETEXT_WHY_##name, word },
#undef show_why
#define show_why(why)	\
	__print_symbolic(why, HUGETEXT_WHY_TABLE(HUGETEXT_WHY_SYMBOL) { -1, "?" })

TRACE_EVENT(hugetext_align,
	TP_PROTO(unsigned long ino, unsigned long from, unsigned long to, unsigned long len,
		 enum hugetext_why why),
	TP_ARGS(ino, from, to, len, why),
	TP_STRUCT__entry(
		__field(unsigned long, ino)
		__field(unsigned long, from)
		__field(unsigned long, to)
		__field(unsigned long, len)
		__field(int, why)
	),
	TP_fast_assign(
		__entry->ino = ino;
		__entry->from = from;
		__entry->to = to;
		__entry->len = len;
		__entry->why = why;
	),
	TP_printk("ino=%lu from=0x%lx to=0x%lx len=0x%lx why=%s",
		  __entry->ino, __entry->from, __entry->to, __entry->len,
		  show_why(__entry->why))
);

DECLARE_EVENT_CLASS(hugetext_range,
	TP_PROTO(pid_t tgid, unsigned long start, unsigned long end, enum hugetext_why why),
	TP_ARGS(tgid, start, end, why),
	TP_STRUCT__entry(
		__field(pid_t, tgid)
		__field(unsigned long, start)
		__field(unsigned long, end)
		__field(int, why)
	),
	TP_fast_assign(
		__entry->tgid = tgid;
		__entry->start = start;
		__entry->end = end;
		__entry->why = why;
	),
	TP_printk("tgid=%d start=0x%lx end=0x%lx why=%s",
		  __entry->tgid, __entry->start, __entry->end, show_why(__entry->why))
);

/* Text was collapsed (why=ok), or could not be. */
DEFINE_EVENT(hugetext_range, hugetext_collapse,
	TP_PROTO(pid_t tgid, unsigned long start, unsigned long end, enum hugetext_why why),
	TP_ARGS(tgid, start, end, why)
);

/* A range beside text was filled up (why=ok), or text at an edge is left as it is. */
DEFINE_EVENT(hugetext_range, hugetext_pad,
	TP_PROTO(pid_t tgid, unsigned long start, unsigned long end, enum hugetext_why why),
	TP_ARGS(tgid, start, end, why)
);

/* Text is left as it is. */
DEFINE_EVENT(hugetext_range, hugetext_skip,
	TP_PROTO(pid_t tgid, unsigned long start, unsigned long end, enum hugetext_why why),
	TP_ARGS(tgid, start, end, why)
);

/* Huge pages of a file were dropped from the page cache. */
TRACE_EVENT(hugetext_drop,
	TP_PROTO(unsigned long ino, unsigned int regions, int err),
	TP_ARGS(ino, regions, err),
	TP_STRUCT__entry(
		__field(unsigned long, ino)
		__field(unsigned int, regions)
		__field(int, err)
	),
	TP_fast_assign(
		__entry->ino = ino;
		__entry->regions = regions;
		__entry->err = err;
	),
	TP_printk("ino=%lu regions=%u err=%d", __entry->ino, __entry->regions, __entry->err)
);

#endif /* HUGETEXT_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
