/* SPDX-License-Identifier: Apache-2.0 */
/* toml.c - the parser's C interface, checks that the parser lacks, and tables read into structures
 *
 * Only the parser (parser.cc) is C++: mpack links it, and minspect loads it only to read cases. It
 * limits neither the length of dotted keys nor memory, and does not escape what its messages
 * quote; this file does. */
#include "toml/toml.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/strmap.h"
#include "text/escape.h"

/* A value takes two bytes of the file and some hundreds of bytes of memory. */
enum { KEY_PARTS_MAX = 64, VALUES_MIN = 180000, BYTES_PER_VALUE = 8 };

static void *alloc_in_arena(void *context, size_t size)
{
	return mpk_arena_alloc(context, size);
}

static void unescape_backslashes(char *text)
{
	for (char *from = text; (*text = *from); text++, from++)
		from += from[0] == '\\' && from[1] == '\\';
}

/* Returns the length of the string or comment that begins at s; 0 when none does. The parser
 * reports what is wrong inside. */
static size_t opaque_length(struct mpk_span s)
{
	const char *text = (const char *)s.data;
	char quote = text[0];
	bool tripled = s.len >= 3 && text[1] == quote && text[2] == quote;
	size_t quotes = 0, want = tripled ? 3 : 1, i = want;

	if (quote == '#') {
		const char *end = memchr(text, '\n', s.len);
		return end ? (size_t)(end - text) : s.len;
	}
	if (quote != '"' && quote != '\'')
		return 0;
	for (; i < s.len && quotes < want; i++) {
		if (!tripled && text[i] == '\n')
			break;
		quotes = text[i] == quote ? quotes + 1 : 0;
		i += quote == '"' && text[i] == '\\';
	}
	return i < s.len ? i : s.len;
}

/* The parser recurses for each part of a dotted key, and its memory grows with the number of
 * values; it limits neither. So signs outside strings are counted: every value and every part of a
 * key has one.
 * Returns  what exceeds a limit, or NULL; *line is where */
static const char *find_excess(struct mpk_span text, uint32_t *line)
{
	static const char ends[] = "\n=,[{"; /* what may follow a key */
	size_t dots = 0, signs = 0;
	size_t most = text.len / BYTES_PER_VALUE;
	bool begins_line = true;

	most = most > VALUES_MIN ? most : VALUES_MIN;
	*line = 1;
	for (size_t i = 0; text.data && i < text.len;) {
		struct mpk_span rest = mpk_span_from(text, i);
		size_t skip = opaque_length(rest);

		for (size_t k = 0; k < skip; k++)
			*line += rest.data[k] == '\n';
		i += skip;
		if (skip)
			continue;
		*line += rest.data[0] == '\n';
		if (memchr(ends, rest.data[0], sizeof ends - 1))
			dots = 0;
		if (rest.data[0] == '.' && ++dots >= KEY_PARTS_MAX)
			return "a key of more than 64 parts";
		/* A table with its own header takes twice as much. */
		signs += memchr("=,[{.", rest.data[0], 5) != NULL;
		signs += rest.data[0] == '[' && begins_line;
		begins_line = rest.data[0] == '\n' ||
			      (begins_line && (rest.data[0] == ' ' || rest.data[0] == '\t'));
		if (signs > most)
			return "more values, tables and parts of keys than a file of this size may have: 180000, or one in 8 bytes";
		i++;
	}
	return NULL;
}

static bool is_word_byte(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || mpk_is_digit(c) ||
	       memchr("_-./", c, 4);
}

/* Returns  the bare word at a position where a value should be: a letter, then
 *          characters of names and paths. */
static struct mpk_span bare_word(struct mpk_span text, struct mpk_pos pos)
{
	size_t at = 0, end;

	for (uint32_t line = 1; line < pos.line && at < text.len; at++)
		line += text.data[at] == '\n';
	for (end = at; end < text.len && text.data[end] != '\n' && text.data[end] != '='; end++)
		;
	/* The parser may point past the word, which begins after "=". */
	at = end < text.len && text.data[end] == '=' ? end + 1 : text.len;
	while (at < text.len && (text.data[at] == ' ' || text.data[at] == '\t'))
		at++;
	for (end = at; end < text.len && is_word_byte(text.data[end]); end++)
		;
	bool is_word = end > at && !mpk_is_digit(text.data[at]) && text.data[at] != '-';

	return mpk_span_of(text.data + at, is_word && end - at < 64 ? end - at : 0);
}

enum mpk_code mpk_toml_parse_by(mpk_toml_parser *parser, struct mpk_span text,
				struct mpk_arena *arena, struct mpk_toml *out,
				struct mpk_error *err)
{
	const struct mpk_toml_memory memory = { .alloc = alloc_in_arena, .context = arena };
	const char *bytes = text.data ? (const char *)text.data : "";
	struct mpk_toml_fault fault = { 0 };
	char escaped[sizeof fault.text];
	uint32_t line;
	const char *excess = find_excess(text, &line);

	if (excess)
		return mpk_fail_line(err, MPK_E_SYNTAX, line, 1, "%s", excess);
	switch (parser(bytes, text.len, &memory, out, &fault)) {
	case MPK_TOML_PARSED:
		return MPK_OK;
	case MPK_TOML_NO_MEMORY:
		return mpk_fail_nomem(err);
	case MPK_TOML_INVALID:
		break;
	}
	/* by its first letter the parser takes a bare word for false, inf, nan or true */
	if (strstr(fault.text, "could not determine value type") ||
	    strstr(fault.text, "while parsing boolean") ||
	    strstr(fault.text, "while parsing floating-point")) {
		struct mpk_span word = bare_word(text, fault.pos);

		if (word.len)
			return mpk_fail_line(err, MPK_E_SYNTAX, fault.pos.line, fault.pos.column,
					     "not TOML: a string needs quotes: \"%s\"",
					     MPK_QUOTE(word));
	}
	/* the parser escapes what it quotes, and only that has backslashes */
	mpk_escape_to(mpk_span_str(fault.text), escaped, sizeof escaped);
	unescape_backslashes(escaped);
	return mpk_fail_line(err, MPK_E_SYNTAX, fault.pos.line, fault.pos.column, "%s", escaped);
}

const struct mpk_toml_entry *mpk_toml_find(const struct mpk_toml *table, const char *key)
{
	for (size_t i = 0; i < table->count; i++)
		if (mpk_span_is(mpk_toml_key(&table->entries[i]), key))
			return &table->entries[i];
	return NULL;
}

/* --- tables into structures: what a schema says is checked here once, for every table ---------- */

enum { FIELDS_MAX = 24 };

/* Every finding about the manifest passes here. */
static void toml_report(struct mpk_toml_reader *r, struct mpk_pos pos, struct mpk_finding finding)
{
	finding.error.at.line = pos.line;
	finding.error.at.column = pos.column;
	finding.error.code = MPK_E_SYNTAX;
	mpk_error_at_file(&finding.error, r->path);
	mpk_report_add(r->report, finding.severity, finding.check, &finding.error);
}

#define PUT(r, pos, severity_, check_, fmt)                                                        \
	do {                                                                                       \
		struct mpk_finding f_ = { .severity = (severity_), .check = (check_) };            \
		va_list ap_;                                                                       \
                                                                                                   \
		va_start(ap_, fmt);                                                                \
		(void)vsnprintf(f_.error.text, sizeof f_.error.text, fmt, ap_);                    \
		va_end(ap_);                                                                       \
		toml_report(r, pos, f_);                                                           \
	} while (0)

/* The caller passes the position of the key or value that is wrong. */
void mpk_toml_read_error(struct mpk_toml_reader *r, struct mpk_pos pos, const char *check,
			 const char *fmt, ...)
{
	PUT(r, pos, MPK_ERROR, check, fmt);
}

void mpk_toml_read_warn(struct mpk_toml_reader *r, struct mpk_pos pos, const char *check,
			const char *fmt, ...)
{
	PUT(r, pos, MPK_WARNING, check, fmt);
}

/* Returns  an empty text when no name is near: a wild guess would be worse than no
 *          hint. */
const char *mpk_toml_suggest(struct mpk_span word, const struct mpk_span *names, size_t count,
			     char out[MPK_TOML_SUGGEST_BYTES])
{
	size_t near = mpk_closest(word, names, count);

	out[0] = '\0';
	if (near < count)
		(void)snprintf(out, MPK_TOML_SUGGEST_BYTES, "; did you mean '%s'?",
			       MPK_QUOTE(names[near]));
	return out;
}

void mpk_toml_read_unknown(struct mpk_toml_reader *r, const char *what, struct mpk_toml_str key,
			   const struct mpk_span *names, size_t count)
{
	char near[MPK_TOML_SUGGEST_BYTES];
	struct mpk_span word = mpk_toml_str_span(key);
	size_t at = mpk_closest(word, names, count);

	r->meant = at < count ? names[at] : (struct mpk_span){ 0 };
	mpk_toml_read_error(r, key.pos, "unknown-key", "%s has no key '%s'%s", what,
			    MPK_QUOTE(word), mpk_toml_suggest(word, names, count, near));
}

static const char *toml_type_name(enum mpk_toml_type type)
{
	static const char *const names[] = {
		[MPK_TOML_STRING] = "a string",
		[MPK_TOML_INTEGER] = "an integer",
		[MPK_TOML_FLOAT] = "a floating-point number",
		[MPK_TOML_BOOLEAN] = "true or false",
		[MPK_TOML_DATETIME] = "a date and time",
		[MPK_TOML_LOCAL_DATETIME] = "a date and time",
		[MPK_TOML_DATE] = "a date",
		[MPK_TOML_TIME] = "a time",
		[MPK_TOML_ARRAY] = "an array",
		[MPK_TOML_TABLE] = "a table",
	};

	return names[type];
}

static void reader_wrong_type(struct mpk_toml_reader *r, const char *name, const char *wanted,
			      const struct mpk_toml *got)
{
	mpk_toml_read_error(r, got->pos, "wrong-type", "'%s' takes %s, not %s", name, wanted,
			    toml_type_name(got->type));
}

/* Reads a string that is a name or a path; where expressions are allowed, also an integer. */
static bool reader_read_text(struct mpk_toml_reader *r, const char *name, bool expression,
			     const struct mpk_toml *v, struct mpk_toml_str *out)
{
	char number[32];

	if (expression && v->type == MPK_TOML_INTEGER) {
		int n = snprintf(number, sizeof number, "%" PRId64, v->integer);

		*out = (struct mpk_toml_str){ mpk_arena_copy(r->arena, number, (size_t)n),
					      (size_t)n, v->pos };
		r->failed |= !out->text;
		return out->text != NULL;
	}
	if (v->type != MPK_TOML_STRING) {
		reader_wrong_type(r, name, expression ? "a string or an integer" : "a string", v);
		return false;
	}
	if (v->len == 0 || memchr(v->text, 0, v->len)) {
		mpk_toml_read_error(r, v->pos, "empty-value", "'%s' %s", name,
				    v->len ? "holds a NUL character" : "is empty");
		return false;
	}
	*out = (struct mpk_toml_str){ v->text, v->len, v->pos };
	return true;
}

/* Reports and skips wrong items, and still reads the rest of the list. */
static void read_list(struct mpk_toml_reader *r, const char *name, bool expressions,
		      const struct mpk_toml *v, struct mpk_toml_list *out)
{
	if (v->type != MPK_TOML_ARRAY) {
		reader_wrong_type(r, name, expressions ? "an array" : "an array of strings", v);
		return;
	}

	struct mpk_toml_str *items = mpk_arena_array(r->arena, v->count, sizeof *items);
	if (!items) {
		r->failed = true;
		return;
	}
	*out = (struct mpk_toml_list){ .items = items, .pos = v->pos, .present = true };
	for (size_t i = 0; i < v->count; i++)
		out->count += reader_read_text(r, name, expressions, &v->entries[i].value,
					       &items[out->count]);
}

/* Reads an array of tables into an array of structures, with size and fields of the schema. */
static void reader_read_rows(struct mpk_toml_reader *r, const struct mpk_toml_field *f,
			     const struct mpk_toml *v, char *out)
{
	const struct mpk_toml_schema *schema = f->rows;
	size_t count = 0;

	if (v->type != MPK_TOML_ARRAY) {
		mpk_toml_read_error(r, v->pos, "wrong-type",
				    "'%s' takes an array of tables, not %s: write %s", f->name,
				    toml_type_name(v->type), schema->what);
		return;
	}

	char *rows = mpk_arena_array(r->arena, v->count, schema->bytes);
	if (!rows) {
		r->failed = true;
		return;
	}
	for (size_t i = 0; i < v->count; i++) {
		const struct mpk_toml *row = &v->entries[i].value;

		if (row->type == MPK_TOML_TABLE)
			mpk_toml_read_table(r, schema, row, rows + schema->bytes * count++);
		else
			reader_wrong_type(r, f->name, "tables", row);
	}
	/* memcpy, because the member is a pointer to another type */
	memcpy(out + f->off, &rows, sizeof rows);
	memcpy(out + f->count_off, &count, sizeof count);
}

/* Records whether the number was written as an integer: for a count, 1 and 1.0 differ. */
static void reader_read_number(struct mpk_toml_reader *r, const char *name,
			       const struct mpk_toml *v, struct mpk_toml_number *out)
{
	if (v->type == MPK_TOML_INTEGER)
		*out = (struct mpk_toml_number){ (double)v->integer, true, v->pos };
	else if (v->type == MPK_TOML_FLOAT)
		*out = (struct mpk_toml_number){ v->number, false, v->pos };
	else
		reader_wrong_type(r, name, "a number", v);
}

static void read_field(struct mpk_toml_reader *r, const struct mpk_toml_field *f,
		       const struct mpk_toml *v, char *out)
{
	void *at = out + f->off;

	switch (f->kind) {
	case MPK_TOML_FIELD_TEXT:
	case MPK_TOML_FIELD_EXPR:
		(void)reader_read_text(r, f->name, f->kind == MPK_TOML_FIELD_EXPR, v, at);
		return;
	case MPK_TOML_FIELD_TEXTS:
	case MPK_TOML_FIELD_EXPRS:
		read_list(r, f->name, f->kind == MPK_TOML_FIELD_EXPRS, v, at);
		return;
	case MPK_TOML_FIELD_BOOL:
		if (v->type == MPK_TOML_BOOLEAN)
			*(bool *)at = v->boolean;
		else
			reader_wrong_type(r, f->name, "true or false", v);
		return;
	case MPK_TOML_FIELD_NUMBER:
		reader_read_number(r, f->name, v, at);
		return;
	case MPK_TOML_FIELD_TABLE:
		if (v->type == MPK_TOML_TABLE)
			mpk_toml_read_table(r, f->rows, v, at);
		else
			reader_wrong_type(r, f->name, "a table", v);
		return;
	case MPK_TOML_FIELD_TABLES:
		reader_read_rows(r, f, v, out);
		return;
	}
}

/* A schema may accept keys that it does not list. Otherwise an unknown key is probably a slip, so
 * the nearest key is suggested. */
static void read_unknown(struct mpk_toml_reader *r, const struct mpk_toml_schema *schema,
			 const struct mpk_toml *table, const struct mpk_toml_entry *e, void *out)
{
	struct mpk_span names[FIELDS_MAX];

	if (schema->unknown && schema->unknown(r, table, e, out))
		return;
	for (size_t i = 0; i < schema->field_count; i++)
		names[i] = mpk_span_str(schema->fields[i].name);
	mpk_toml_read_unknown(r, schema->what, (struct mpk_toml_str){ e->key, e->key_len, e->pos },
			      names, schema->field_count);
}

static bool is_field(const struct mpk_toml_schema *schema, const struct mpk_toml_entry *e)
{
	for (size_t i = 0; i < schema->field_count; i++)
		if (mpk_span_is(mpk_toml_key(e), schema->fields[i].name))
			return true;
	return false;
}

/* Whether an unknown key of the table was taken for a misspelling of this field. */
static bool misspells(const struct mpk_toml_schema *schema, const struct mpk_toml *table,
		      const char *field)
{
	struct mpk_span names[FIELDS_MAX];

	if (schema->unknown)
		return false;
	for (size_t i = 0; i < schema->field_count; i++)
		names[i] = mpk_span_str(schema->fields[i].name);
	for (size_t i = 0; i < table->count; i++) {
		size_t near;

		if (is_field(schema, &table->entries[i]))
			continue;
		near = mpk_closest(mpk_toml_key(&table->entries[i]), names, schema->field_count);
		if (near < schema->field_count && strcmp(schema->fields[near].name, field) == 0)
			return true;
	}
	return false;
}

/* Iterates over fields, not keys, so that findings about missing keys come in the order of the
 * schema. */
void mpk_toml_read_table(struct mpk_toml_reader *r, const struct mpk_toml_schema *schema,
			 const struct mpk_toml *table, void *out)
{
	size_t outer_errors = r->row_errors;

	r->meant = (struct mpk_span){ 0 };
	r->row_errors = r->report->errors;
	for (size_t i = 0; i < schema->field_count; i++) {
		const struct mpk_toml_field *f = &schema->fields[i];
		const struct mpk_toml_entry *e = mpk_toml_find(table, f->name);

		if (e)
			read_field(r, f, &e->value, out);
		else if (f->required) {
			struct mpk_pos pos = table->pos;

			/* a misspelt key was reported already */
			if (misspells(schema, table, f->name))
				continue;
			if (f->rows)
				mpk_toml_read_error(r, pos, "missing-key", "%s needs %s",
						    schema->what, f->rows->what);
			else
				mpk_toml_read_error(r, pos, "missing-key", "%s needs '%s'",
						    schema->what, f->name);
		}
	}
	for (size_t i = 0; i < table->count; i++)
		if (!is_field(schema, &table->entries[i]))
			read_unknown(r, schema, table, &table->entries[i], out);
	if (schema->pos_off != SIZE_MAX)
		memcpy((char *)out + schema->pos_off, &table->pos, sizeof table->pos);
	if (schema->done)
		schema->done(r, out);
	r->row_errors = outer_errors;
}
