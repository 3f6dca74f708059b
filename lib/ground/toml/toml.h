/* SPDX-License-Identifier: Apache-2.0 */
/* toml.h - TOML text as a tree in which every key and every value knows its position */
#ifndef MPK_TOML_TOML_H
#define MPK_TOML_TOML_H

#include "base/arena.h"
#include "base/error.h"
#include "base/report.h"
#include "base/span.h"
#include "toml/internal/parser.h"

/* mpk_toml_parse_by - parse TOML 1.0 text into a tree
 * @parser  the caller's (mpk_toml_open), or mpk_toml_parse_bytes
 * @text    whole document, UTF-8; need not outlive the call
 * @arena   receives the tree
 * @out     the root table
 * Returns  MPK_OK; MPK_E_SYNTAX with line and column; MPK_E_NOMEM */
enum mpk_code mpk_toml_parse_by(mpk_toml_parser *parser, struct mpk_span text,
				struct mpk_arena *arena, struct mpk_toml *out,
				struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_toml_parse - mpk_toml_parse_by with the linked C++ parser */
static inline MPK_MUST_CHECK enum mpk_code mpk_toml_parse(struct mpk_span text,
							  struct mpk_arena *memory,
							  struct mpk_toml *out,
							  struct mpk_error *err)
{
	return mpk_toml_parse_by(mpk_toml_parse_bytes, text, memory, out, err);
}

/* mpk_toml_find - the entry with this key, or NULL */
const struct mpk_toml_entry *mpk_toml_find(const struct mpk_toml *table, const char *key);

static inline struct mpk_span mpk_toml_text(const struct mpk_toml *v)
{
	return mpk_span_of(v->text, v->len);
}

static inline struct mpk_span mpk_toml_key(const struct mpk_toml_entry *e)
{
	return mpk_span_of(e->key, e->key_len);
}

/* --- tables into structures, by tables that say which key goes where ---
 *
 * Reports unknown keys ("did you mean"), wrong types, missing and empty values; whoever
 * adds a key to the manifest adds one row.
 */

/* A string value and its position. text is NULL when the key is absent, and never contains a
 * NUL. */
struct mpk_toml_str {
	const char *text;
	size_t len;         /* bytes */
	struct mpk_pos pos; /* 0:0 when the value is a default */
};

static inline struct mpk_span mpk_toml_str_span(struct mpk_toml_str s)
{
	return mpk_span_of(s.text, s.len);
}

struct mpk_toml_list {
	const struct mpk_toml_str *items;
	size_t count;
	struct mpk_pos pos;
	bool present;
};

struct mpk_toml_reader {
	struct mpk_arena *arena;
	struct mpk_report *report;
	const char *path;
	void *user;        /* the caller's data for the callbacks of its schema */
	size_t row_errors; /* number of errors in the report when the current table began */
	bool failed;       /* out of memory */
	/* the field that the last unknown key of the current table was taken for, so that it is
	 * not reported as missing; empty: none */
	struct mpk_span meant;
};

enum mpk_toml_field_kind {
	MPK_TOML_FIELD_TEXT,   /* struct mpk_toml_str: a string, not empty */
	MPK_TOML_FIELD_EXPR,   /* struct mpk_toml_str: a string or an integer, kept as text */
	MPK_TOML_FIELD_TEXTS,  /* struct mpk_toml_list: an array of such strings */
	MPK_TOML_FIELD_EXPRS,  /* struct mpk_toml_list: an array of strings and integers */
	MPK_TOML_FIELD_BOOL,   /* bool */
	MPK_TOML_FIELD_NUMBER, /* struct mpk_toml_number: an integer or a floating-point number */
	MPK_TOML_FIELD_TABLE,  /* the row's structure itself */
	MPK_TOML_FIELD_TABLES, /* pointer to the rows' structures, and their number */
};

/* A number and its position; absent: the position is 0:0. */
struct mpk_toml_number {
	double value;
	bool is_integer;
	struct mpk_pos pos;
};

struct mpk_toml_schema;

struct mpk_toml_field {
	const char *name;
	enum mpk_toml_field_kind kind;
	bool required;
	size_t off, count_off;              /* offset in the structure; bytes */
	const struct mpk_toml_schema *rows; /* tables */
};

struct mpk_toml_schema {
	const char *what; /* "[[module]]", for messages */
	const struct mpk_toml_field *fields;
	size_t field_count;
	size_t bytes;   /* of the row's structure */
	size_t pos_off; /* offset of its struct mpk_pos; SIZE_MAX: it has none */
	/* Called for a key that no field has; may be NULL. Returns false: report the key as
	 * unknown. */
	bool (*unknown)(struct mpk_toml_reader *r, const struct mpk_toml *table,
			const struct mpk_toml_entry *entry, void *out);
	/* Called when a row is complete, for checks within the row; may be NULL. */
	void (*done)(struct mpk_toml_reader *r, void *out);
};

/* mpk_toml_read_table - fill the structure at out (zeroed) from a table; problems go to the report */
void mpk_toml_read_table(struct mpk_toml_reader *r, const struct mpk_toml_schema *schema,
			 const struct mpk_toml *table, void *out);

/* mpk_toml_read_error, mpk_toml_read_warn - add a finding at pos; uses only report and path of r
 * @check   stable name of the rule; static storage */
void mpk_toml_read_error(struct mpk_toml_reader *r, struct mpk_pos pos, const char *check,
			 const char *fmt, ...) MPK_PRINTF(4, 5);
void mpk_toml_read_warn(struct mpk_toml_reader *r, struct mpk_pos pos, const char *check,
			const char *fmt, ...) MPK_PRINTF(4, 5);

/* mpk_toml_read_unknown - report a key as unknown, with "did you mean" from names */
void mpk_toml_read_unknown(struct mpk_toml_reader *r, const char *what, struct mpk_toml_str key,
			   const struct mpk_span *names, size_t count);

enum { MPK_TOML_SUGGEST_BYTES = 160 };

/* mpk_toml_suggest - "; did you mean 'x'?" or ""
 * @out     receives it; Returns out */
const char *mpk_toml_suggest(struct mpk_span word, const struct mpk_span *names, size_t count,
			     char out[MPK_TOML_SUGGEST_BYTES]);

#endif
