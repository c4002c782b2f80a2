// SPDX-License-Identifier: GPL-2.0
/*
 * For LD_PRELOAD: a disk that cannot read what lies behind FAIL_FROM bytes.
 * Only the calls with which the command and libelf read files.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/types.h>

ssize_t pread(int fd, void *buffer, size_t size, off_t offset);
ssize_t pread64(int fd, void *buffer, size_t size, off_t offset);

ssize_t pread(int fd, void *buffer, size_t size, off_t offset)
{
	ssize_t (*real)(int fd, void *buffer, size_t size, off_t offset);
	const char *from = getenv("FAIL_FROM");

	if (from && offset >= atoll(from)) {
		errno = EIO;
		return -1;
	}
	*(void **)&real = dlsym(RTLD_NEXT, "pread");
	return real(fd, buffer, size, offset);
}

ssize_t pread64(int fd, void *buffer, size_t size, off_t offset)
{
	return pread(fd, buffer, size, offset);
}
