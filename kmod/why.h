/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The one table of reasons why text is, or is not, on 2 MiB pages.
 * Trace text, counter names, the words of the command and of its JSON, and
 * the documentation are all made from it; it is shared with user space.
 */
#ifndef HUGETEXT_WHY_H
#define HUGETEXT_WHY_H

/*
 * X(NAME, word, passing, text)
 *
 * word:    the counter's name in debugfs, the word of trace and command;
 *          it never changes once released
 * passing: 1 where trying again later may succeed without anybody doing
 *          anything about it; such regions are retried with growing pauses
 */
#define HUGETEXT_WHY_TABLE(X)							\
	X(OK,		 "ok",			0, "nothing stands against it")	\
	X(NO_REGION,	 "no_region",		0,				\
	  "the mapping holds no whole 2 MiB region")				\
	X(OFFSET,	 "offset",		0,				\
	  "address and file offset differ modulo 2 MiB")			\
	X(PRIVATE_COPY,	 "private_copy",	0,				\
	  "the mapping has private pages (breakpoint, text relocation)")	\
	X(NO_HUGEPAGE,	 "nohugepage",		0,				\
	  "the application asked for small pages (MADV_NOHUGEPAGE)")		\
	X(THP_DISABLED,	 "thp_disabled",	0,				\
	  "the process disabled huge pages (PR_SET_THP_DISABLE)")		\
	X(SPECIAL,	 "special_mapping",	0,				\
	  "the mapping is of a special kind")					\
	X(USERFAULTFD,	 "userfaultfd",		0,				\
	  "the mapping is watched by userfaultfd")				\
	X(WRITABLE,	 "writable",		0,				\
	  "the mapping is writable or shared for writing")			\
	X(PAST_EOF,	 "past_eof",		0,				\
	  "the region reaches past the end of the file")			\
	X(NOT_REGULAR,	 "not_regular",		0, "not a regular file")	\
	X(FILESYSTEM,	 "filesystem",		0,				\
	  "this kernel cannot keep huge pages of this file system's files")	\
	X(ANONYMOUS_FILE, "anonymous_file",	0,				\
	  "executable memory of a memfd, which is no text of a file")		\
	X(NO_HOOK,	 "no_hook",		0,				\
	  "a kernel function that is needed was not found")			\
	X(OPEN_FOR_WRITE, "open_for_write",	1,				\
	  "the file is open for writing")					\
	X(DIRTY,	 "dirty_pages",		1,				\
	  "pages of the file are not written back yet")				\
	X(BUSY,		 "busy_pages",		1,				\
	  "pages are locked or in use by somebody else")			\
	X(MMAP_LOCK,	 "mmap_lock",		1,				\
	  "the process was changing its mappings")				\
	X(NO_MEMORY,	 "no_memory",		1,				\
	  "no free 2 MiB of memory")						\
	X(MEMCG_LIMIT,	 "memcg_limit",		1,				\
	  "the memory cgroup is at its limit")					\
	X(REFUSED,	 "refused",		1,				\
	  "the kernel refused and did not tell why")				\
	X(FIXED_ADDRESS, "fixed_address",	0,				\
	  "the address is fixed by the program or its loader")			\
	X(HINT,		 "address_hint",	0,				\
	  "the application asked for an address")				\
	X(COMPAT_TASK,	 "compat_task",		0, "a 32-bit task")		\
	X(SMALL_TEXT,	 "small_text",		0,				\
	  "less than one whole 2 MiB region of text")				\
	X(NO_HEADERS,	 "no_headers",		0,				\
	  "the program headers were not in the page cache")			\
	X(BAD_HEADERS,	 "bad_headers",		0,				\
	  "the program headers make no sense")					\
	X(TOO_MUCH,	 "too_much_text",	0,				\
	  "the process maps more text than is ever served, 4 GiB")		\
	X(NO_ROOM,	 "no_room",		0,				\
	  "no free address range of that alignment")				\
	X(PADDING_OFF,	 "padding_off",		0,				\
	  "the region is only partly text, and padding is off")		\
	X(LITTLE_TEXT,	 "little_text",		0,				\
	  "the region holds no more text than hugetext_pad_threshold")		\
	X(RODATA,	 "rodata",		0,				\
	  "the region holds read-only data, and hugetext_pad_rodata is 0")	\
	X(NEIGHBOUR,	 "neighbour",		0,				\
	  "the region holds memory beside the text that is not to be touched")	\
	X(ADDRESS_LIMIT, "address_limit",	0,				\
	  "the process limits its address space (RLIMIT_AS)")			\
	X(NO_EXEC,	 "no_exec",		0,				\
	  "the process lets no more memory become executable (PR_SET_MDWE)")	\
	X(GIVEN_UP,	 "given_up",		0,				\
	  "tried too often, see the reason before it")

enum hugetext_why {
#define HUGETEXT_WHY_ENUM(name, word, passing, text) HUGETEXT_WHY_##name,
	HUGETEXT_WHY_TABLE(HUGETEXT_WHY_ENUM)
#undef HUGETEXT_WHY_ENUM
	HUGETEXT_WHY_NR
};

#endif /* HUGETEXT_WHY_H */
