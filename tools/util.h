/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Complaints, and files below /proc and /sys.
 * Every path goes through the sysroot, so that stored trees can be read.
 */
#ifndef HUGETEXT_UTIL_H
#define HUGETEXT_UTIL_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 * @text with control characters, bytes that are no character of the locale, and
 * the backslash of an \x written as \xNN, as tables for people have it. The
 * caller frees it.
 */
char *printable(const char *text);

/* As sprintf(), into memory that the caller frees. */
char *say(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *vsay(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));

/* Prints "hugetext: ...", a line of its own and printable, to stderr. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Out of memory ends the command: nothing sensible can follow. */
void *must_alloc(void *pointer);

void sysroot_set(const char *directory);

/* The path of a file of /proc or /sys below the sysroot; the caller frees it. */
char *sysroot_path(const char *format, ...) __attribute__((format(printf, 1, 2)));

bool sysroot_exists(const char *path);

/* An errno of our own, of open_regular() and what opens files with it. */
#define ERROR_NOT_REGULAR	(-1)

/* strerror(), which knows ERROR_NOT_REGULAR too. */
const char *error_text(int error);

/*
 * Opening may do harm (a tape is wound back) or wait for ever (a FIFO), so
 * that only what is a regular file is opened for reading, and looked at once
 * more. -1 with errno set.
 */
int open_regular(const char *path, uint64_t *size);

/* open_regular() below the sysroot. NULL with errno set. */
FILE *sysroot_open(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The first line of a file without its newline, or NULL with errno set. */
char *sysroot_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Write to a file that exists, at once and as it is. Return: 0 or an errno. */
int sysroot_write(const char *path, const char *text);

/* Decimal digits only, the whole string. */
bool parse_decimal(const char *string, uint64_t *value);

#endif /* HUGETEXT_UTIL_H */
