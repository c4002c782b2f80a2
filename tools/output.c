// SPDX-License-Identifier: GPL-2.0
/*
 * The two ways out: tables (for people, or raw for scripts) and JSON.
 * JSON is always valid UTF-8, whatever bytes a file name holds.
 */
#include <inttypes.h>
#include <libsmartcols.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "util.h"

struct table {
	struct libscols_table *scols;
	struct libscols_line *line;
	size_t cell;
	bool raw;
};

struct table *table_new(const struct table_column *columns, unsigned int nr, bool raw)
{
	struct table *table = must_alloc(calloc(1, sizeof(*table)));
	unsigned int i;

	table->raw = raw;
	table->scols = must_alloc(scols_new_table());
	scols_table_enable_raw(table->scols, raw);
	for (i = 0; i < nr; i++)
		must_alloc(scols_table_new_column(table->scols, columns[i].name, 0,
						  columns[i].right ? SCOLS_FL_RIGHT : 0));
	return table;
}

void table_row(struct table *table)
{
	table->line = must_alloc(scols_table_new_line(table->scols, NULL));
	table->cell = 0;
}

/* libsmartcols leaves a backslash alone in raw tables; then \x20 is no proof. */
static char *double_meaning_removed(char *text)
{
	char *safe = must_alloc(malloc(4 * strlen(text) + 1)), *to = safe;
	const char *from;

	for (from = text; *from; from++) {
		if ((unsigned char)*from <= ' ' || *from == '\\' || *from == 0x7f)
			to += sprintf(to, "\\x%02x", (unsigned char)*from);
		else
			*to++ = *from;
	}
	*to = '\0';
	free(text);
	return safe;
}

void table_cell(struct table *table, const char *format, ...)
{
	va_list arguments;
	char *text;

	va_start(arguments, format);
	text = vsay(format, arguments);
	va_end(arguments);

	if (table->raw) {
		text = double_meaning_removed(text);
		if (!*text) {
			free(text);
			text = must_alloc(strdup("-"));
		}
	}
	if (scols_line_refer_data(table->line, table->cell++, text))
		must_alloc(NULL);
}

/*
 * Raw tables are written here: libsmartcols would escape what is escaped
 * already.
 */
static void print_raw(struct libscols_table *scols)
{
	struct libscols_iter *lines = must_alloc(scols_new_iter(SCOLS_ITER_FORWARD));
	size_t i, nr = scols_table_get_ncols(scols);
	struct libscols_line *line;

	for (i = 0; i < nr; i++) {
		struct libscols_column *column = scols_table_get_column(scols, i);

		printf("%s%s", i ? " " : "",
		       scols_cell_get_data(scols_column_get_header(column)));
	}
	putchar('\n');
	while (!scols_table_next_line(scols, lines, &line)) {
		for (i = 0; i < nr; i++)
			printf("%s%s", i ? " " : "",
			       scols_cell_get_data(scols_line_get_cell(line, i)));
		putchar('\n');
	}
	scols_free_iter(lines);
}

void table_print_and_free(struct table *table)
{
	if (table->raw)
		print_raw(table->scols);
	else
		scols_print_table(table->scols);
	scols_unref_table(table->scols);
	free(table);
}

void json_begin(struct json *json, FILE *out)
{
	json->out = out;
	json->depth = 0;
	json->follows = false;
	json_open(json, NULL, '{');
}

/* Length of the valid UTF-8 sequence at @s, or 0. */
static unsigned int utf8_length(const unsigned char *s)
{
	static const uint32_t lowest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned int i, length;
	uint32_t code;

	if (s[0] < 0x80)
		return 1;
	if (s[0] >= 0xf0 && s[0] < 0xf8)
		length = 4;
	else if (s[0] >= 0xe0 && s[0] < 0xf0)
		length = 3;
	else if (s[0] >= 0xc0 && s[0] < 0xe0)
		length = 2;
	else
		return 0;

	code = s[0] & (0x7f >> length);
	for (i = 1; i < length; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (s[i] & 0x3f);
	}
	if (code < lowest[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return 0;
	return length;
}

static void quote(FILE *out, const char *string)
{
	const unsigned char *s = (const unsigned char *)string;
	unsigned int length;

	fputc('"', out);
	for (; *s; s += length ? length : 1) {
		length = utf8_length(s);
		if (!length)
			fputs("\\ufffd", out);
		else if (*s == '"' || *s == '\\')
			fprintf(out, "\\%c", *s);
		else if (*s < ' ' || *s == 0x7f)
			fprintf(out, "\\u%04x", *s);
		else
			fwrite(s, 1, length, out);
	}
	fputc('"', out);
}

static void start_item(struct json *json, const char *name)
{
	if (json->follows)
		fputc(',', json->out);
	if (json->depth)
		fprintf(json->out, "\n%*s", (int)(3 * json->depth), "");
	if (name) {
		quote(json->out, name);
		fputs(": ", json->out);
	}
	json->follows = true;
}

void json_open(struct json *json, const char *name, char bracket)
{
	start_item(json, name);
	fputc(bracket, json->out);
	json->depth++;
	json->follows = false;
}

void json_close(struct json *json, char bracket)
{
	json->depth--;
	if (json->follows)
		fprintf(json->out, "\n%*s", (int)(3 * json->depth), "");
	fputc(bracket, json->out);
	json->follows = true;
}

void json_string(struct json *json, const char *name, const char *value)
{
	start_item(json, name);
	if (value)
		quote(json->out, value);
	else
		fputs("null", json->out);
}

void json_number(struct json *json, const char *name, uint64_t value)
{
	start_item(json, name);
	fprintf(json->out, "%" PRIu64, value);
}

void json_tenths(struct json *json, const char *name, uint64_t tenths)
{
	start_item(json, name);
	fprintf(json->out, "%" PRIu64 ".%" PRIu64, tenths / 10, tenths % 10);
}

void json_bool(struct json *json, const char *name, bool value)
{
	start_item(json, name);
	fputs(value ? "true" : "false", json->out);
}

void json_end(struct json *json)
{
	json_close(json, '}');
	fputc('\n', json->out);
}
