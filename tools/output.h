/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The two ways out: tables (for people, or raw for scripts) and JSON.
 * The subcommands say what goes where; how it looks is decided here.
 */
#ifndef HUGETEXT_OUTPUT_H
#define HUGETEXT_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum output_form {
	OUTPUT_TABLE,
	OUTPUT_RAW,
	OUTPUT_JSON,
};

struct table_column {
	const char *name;
	bool right;		/* numbers */
};

struct table;

/*
 * Raw tables have one line per row, cells separated by one space; a space,
 * a control character or a backslash in a cell is written as \xNN.
 */
struct table *table_new(const struct table_column *columns, unsigned int nr, bool raw);
void table_row(struct table *table);
/* Sets the next cell of the row. An empty one becomes "-" in raw tables. */
void table_cell(struct table *table, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Prints nothing for a table without rows, except the header of a raw one. */
void table_print_and_free(struct table *table);

struct json {
	FILE *out;
	unsigned int depth;
	bool follows;		/* something stands before in this object or array */
};

/* Inside arrays @name is NULL. A NULL @value of a string is null. */
void json_begin(struct json *json, FILE *out);
void json_open(struct json *json, const char *name, char bracket);
void json_close(struct json *json, char bracket);
void json_string(struct json *json, const char *name, const char *value);
void json_number(struct json *json, const char *name, uint64_t value);
void json_tenths(struct json *json, const char *name, uint64_t tenths);
void json_bool(struct json *json, const char *name, bool value);
void json_end(struct json *json);

#endif /* HUGETEXT_OUTPUT_H */
