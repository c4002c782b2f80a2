/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The one table of reasons why text is, or is not, on 2 MiB pages.
 * Trace text, counter names, the words of the command and of its JSON, and
 * the documentation are all made from it; it is shared with user space.
 */
#ifndef HUGETEXT_WHY_H
#define HUGETEXT_WHY_H

/*
 * X(NAME, word, passing, text, change)
 *
 * word:    the counter's name in debugfs, the word of trace and command;
 *          it never changes once released
 * passing: 1 where trying again later may succeed without anybody doing
 *          anything about it; such regions are retried with growing pauses
 * change:  what would change it, in general
 */
#define HUGETEXT_WHY_TABLE(X)							\
	X(OK, "ok", 0,								\
	  "nothing stands against it",						\
	  "nothing")								\
	X(NO_REGION, "no_region", 0,						\
	  "the mapping holds no whole 2 MiB region",				\
	  "only text of 2 MiB and more, or hugetext_pad_threshold")		\
	X(OFFSET, "offset", 0,							\
	  "address and file offset differ modulo 2 MiB",			\
	  "another address: restart what was mapped before hugetext was on")	\
	X(PRIVATE_COPY, "private_copy", 0,					\
	  "the mapping has private pages (breakpoint, text relocation)",	\
	  "remove breakpoints and probes, restart; link without text relocations")\
	X(NO_HUGEPAGE, "nohugepage", 0,						\
	  "the application, or hugetext rollback, asked for small pages (MADV_NOHUGEPAGE)",\
	  "restart the process, which then must not ask for it")		\
	X(THP_DISABLED, "thp_disabled", 0,					\
	  "the process disabled huge pages (PR_SET_THP_DISABLE)",		\
	  "start it without PR_SET_THP_DISABLE")				\
	X(SPECIAL, "special_mapping", 0,					\
	  "the mapping is of a special kind",					\
	  "nothing: the kernel never puts such memory on huge pages")		\
	X(USERFAULTFD, "userfaultfd", 0,					\
	  "the mapping is watched by userfaultfd",				\
	  "it passes when userfaultfd lets go of the mapping")			\
	X(WRITABLE, "writable", 0,						\
	  "the mapping is writable or shared for writing",			\
	  "link the text without write permission, map it private")		\
	X(PAST_EOF, "past_eof", 0,						\
	  "the region reaches past the end of the file",			\
	  "only a longer file, linked with more behind its text")		\
	X(NOT_REGULAR, "not_regular", 0,					\
	  "not a regular file",							\
	  "copy the program to a file")						\
	X(FILESYSTEM, "filesystem", 0,						\
	  "this kernel cannot keep huge pages of this file system's files",	\
	  "a file system whose text can be huge here, or a newer kernel")	\
	X(ANONYMOUS_FILE, "anonymous_file", 0,					\
	  "executable memory of a memfd, which is no text of a file",		\
	  "nothing in this version")						\
	X(NO_HOOK, "no_hook", 0,						\
	  "a kernel function that is needed was not found",			\
	  "hugetext status says which function is missing; another kernel")	\
	X(OPEN_FOR_WRITE, "open_for_write", 1,					\
	  "the file is open for writing",					\
	  "it passes when the last writer closes the file")			\
	X(DIRTY, "dirty_pages", 1,						\
	  "pages of the file are not written back yet",				\
	  "it passes when the pages are written; sync")				\
	X(BUSY, "busy_pages", 1,						\
	  "pages are locked or in use by somebody else",			\
	  "it passes")								\
	X(MMAP_LOCK, "mmap_lock", 1,						\
	  "the process was changing its mappings",				\
	  "it passes")								\
	X(NO_MEMORY, "no_memory", 1,						\
	  "no free 2 MiB of memory",						\
	  "free memory; echo 1 > /proc/sys/vm/compact_memory")			\
	X(MEMCG_LIMIT, "memcg_limit", 1,					\
	  "the memory cgroup is at its limit",					\
	  "a higher memory.max and memory.high of its cgroup")			\
	X(REFUSED, "refused", 1,						\
	  "the kernel refused and did not tell why",				\
	  "unknown")								\
	X(FIXED_ADDRESS, "fixed_address", 0,					\
	  "the address is fixed by the program or its loader",			\
	  "link it as PIE, or with -z max-page-size=0x200000")			\
	X(HINT, "address_hint", 0,						\
	  "the application asked for an address",				\
	  "the application must leave the address to the kernel")		\
	X(COMPAT_TASK, "compat_task", 0,					\
	  "a 32-bit task",							\
	  "a 64-bit program")							\
	X(SMALL_TEXT, "small_text", 0,						\
	  "less than one whole 2 MiB region of text",				\
	  "only text of 2 MiB and more, or hugetext_pad_threshold")		\
	X(NO_HEADERS, "no_headers", 0,						\
	  "the program headers were not in the page cache",			\
	  "restart it")								\
	X(BAD_HEADERS, "bad_headers", 0,					\
	  "the program headers make no sense",					\
	  "link it again")							\
	X(TOO_MUCH, "too_much_text", 0,						\
	  "the process maps more text than is ever served, 4 GiB",		\
	  "nothing")								\
	X(NO_ROOM, "no_room", 0,						\
	  "no free address range of that alignment",				\
	  "more free address space; restart it")				\
	X(PADDING_OFF, "padding_off", 0,					\
	  "the region is only partly text, and padding is off",			\
	  "echo 4096 > hugetext_pad_threshold")					\
	X(LITTLE_TEXT, "little_text", 0,					\
	  "the region holds no more text than hugetext_pad_threshold",		\
	  "a lower hugetext_pad_threshold")					\
	X(RODATA, "rodata", 0,							\
	  "the region holds read-only data, and hugetext_pad_rodata is 0",	\
	  "echo 1 > hugetext_pad_rodata, which makes that data executable")	\
	X(NOT_PLAIN, "not_plain", 0,						\
	  "the mapping is not as a loader makes it (mlock, madvise, NUMA policy)",\
	  "nothing: only plain text is filled up")				\
	X(NEIGHBOUR, "neighbour", 0,						\
	  "the region holds memory beside the text that is not to be touched",	\
	  "link with -z max-page-size=0x200000 and -z separate-code")		\
	X(ADDRESS_LIMIT, "address_limit", 0,					\
	  "the process limits its address space (RLIMIT_AS)",			\
	  "no limit: ulimit -v unlimited")					\
	X(NO_EXEC, "no_exec", 0,						\
	  "the process lets no more memory become executable (PR_SET_MDWE)",	\
	  "start it without PR_SET_MDWE (systemd: MemoryDenyWriteExecute=no)")	\
	X(OFF, "off", 0,							\
	  "hugetext is not turned on",						\
	  "hugetext enable")							\
	X(ROLLED_BACK, "rolled_back", 0,					\
	  "hugetext rollback took the huge pages of this file back",		\
	  "turn hugetext off and on again")					\
	X(GIVEN_UP, "given_up", 0,						\
	  "tried too often, see the reason before it",				\
	  "turn hugetext off and on again when that reason is gone")

enum hugetext_why {
#define HUGETEXT_WHY_ENUM(name, word, passing, text, change) HUGETEXT_WHY_##name,
	HUGETEXT_WHY_TABLE(HUGETEXT_WHY_ENUM)
#undef HUGETEXT_WHY_ENUM
	HUGETEXT_WHY_NR
};

#endif /* HUGETEXT_WHY_H */
