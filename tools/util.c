// SPDX-License-Identifier: GPL-2.0
/*
 * Complaints, and files below /proc and /sys.
 * Every path goes through the sysroot, so that stored trees can be read.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wchar.h>
#include <wctype.h>

#include "hugetext.h"
#include "util.h"

static const char *sysroot = "";

/* How many bytes at @text make one character that may be shown as it is, or 0. */
static size_t printable_length(const char *text)
{
	mbstate_t state = { 0 };
	size_t length;
	wchar_t wide;

	/* What is printed as an escape must be none. */
	if (text[0] == '\\' && text[1] == 'x')
		return 0;
	length = mbrtowc(&wide, text, strlen(text), &state);
	if (length == (size_t)-1 || length == (size_t)-2 || !iswprint(wide))
		return 0;
	return length;
}

char *printable(const char *text)
{
	char *safe = must_alloc(malloc(4 * strlen(text) + 1)), *to = safe;
	size_t length;

	while (*text) {
		length = printable_length(text);
		if (length) {
			memcpy(to, text, length);
			to += length;
			text += length;
		} else {
			to += sprintf(to, "\\x%02x", (unsigned char)*text++);
		}
	}
	*to = '\0';
	return safe;
}

char *vsay(const char *format, va_list arguments)
{
	char *text;

	if (vasprintf(&text, format, arguments) < 0)
		must_alloc(NULL);
	return text;
}

char *say(const char *format, ...)
{
	va_list arguments;
	char *text;

	va_start(arguments, format);
	text = vsay(format, arguments);
	va_end(arguments);
	return text;
}

void complain(const char *format, ...)
{
	va_list arguments;
	char *text, *safe;

	va_start(arguments, format);
	text = vsay(format, arguments);
	va_end(arguments);
	safe = printable(text);
	fflush(stdout);
	fprintf(stderr, "hugetext: %s\n", safe);
	free(safe);
	free(text);
}

void *must_alloc(void *pointer)
{
	if (!pointer) {
		fputs("hugetext: out of memory\n", stderr);
		exit(HUGETEXT_TROUBLE);
	}
	return pointer;
}

void sysroot_set(const char *directory)
{
	sysroot = directory;
}

static char *path_from(const char *format, va_list arguments)
{
	char *path = vsay(format, arguments), *whole = say("%s%s", sysroot, path);

	free(path);
	return whole;
}

char *sysroot_path(const char *format, ...)
{
	va_list arguments;
	char *path;

	va_start(arguments, format);
	path = path_from(format, arguments);
	va_end(arguments);
	return path;
}

bool sysroot_exists(const char *path)
{
	char *whole = sysroot_path("%s", path);
	bool exists = access(whole, F_OK) == 0;

	free(whole);
	return exists;
}

const char *error_text(int error)
{
	return error == ERROR_NOT_REGULAR ? "not a regular file" : strerror(error);
}

/* 0 or an errno. */
static int look_regular(int result, const struct stat *status)
{
	if (result)
		return errno;
	if (S_ISREG(status->st_mode))
		return 0;
	return S_ISDIR(status->st_mode) ? EISDIR : ERROR_NOT_REGULAR;
}

int open_regular(const char *path, uint64_t *size)
{
	struct stat status;
	int error = look_regular(stat(path, &status), &status);
	int fd;

	if (error) {
		errno = error;
		return -1;
	}
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	error = look_regular(fstat(fd, &status), &status);
	if (error) {
		close(fd);
		errno = error;
		return -1;
	}
	*size = status.st_size;
	return fd;
}

static FILE *open_from(const char *format, va_list arguments)
{
	char *path = path_from(format, arguments);
	uint64_t size;
	int fd = open_regular(path, &size);
	FILE *file = fd < 0 ? NULL : must_alloc(fdopen(fd, "r"));
	int error = errno;

	free(path);
	errno = error;
	return file;
}

FILE *sysroot_open(const char *format, ...)
{
	va_list arguments;
	FILE *file;

	va_start(arguments, format);
	file = open_from(format, arguments);
	va_end(arguments);
	return file;
}

char *sysroot_line(const char *format, ...)
{
	char *line = NULL;
	size_t size = 0;
	va_list arguments;
	ssize_t length;
	FILE *file;
	int error;

	va_start(arguments, format);
	file = open_from(format, arguments);
	va_end(arguments);
	if (!file)
		return NULL;

	errno = 0;
	length = getline(&line, &size, file);
	error = errno;
	fclose(file);
	if (length < 0) {
		free(line);
		errno = error ? error : ENODATA;
		return NULL;
	}
	if (length && line[length - 1] == '\n')
		line[length - 1] = '\0';
	return line;
}

int sysroot_write(const char *path, const char *text)
{
	char *whole = sysroot_path("%s", path);
	int fd = open(whole, O_WRONLY | O_CLOEXEC), error = 0;
	size_t length = strlen(text);

	free(whole);
	if (fd < 0)
		return errno;
	errno = 0;
	if (write(fd, text, length) != (ssize_t)length)
		error = errno ? errno : EIO;
	close(fd);
	return error;
}

bool parse_decimal(const char *string, uint64_t *value)
{
	uint64_t sum = 0;

	if (!*string)
		return false;
	for (; *string; string++) {
		if (*string < '0' || *string > '9')
			return false;
		if (__builtin_mul_overflow(sum, 10, &sum) ||
		    __builtin_add_overflow(sum, (uint64_t)(*string - '0'), &sum))
			return false;
	}
	*value = sum;
	return true;
}
