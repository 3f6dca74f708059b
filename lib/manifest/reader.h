/* reader.h - TOML tables into structures, by tables that say which key goes where
 *
 * Reports unknown keys ("did you mean"), wrong types, missing and empty values; whoever
 * adds a key to the manifest adds one row.
 */
#ifndef MPK_MANIFEST_READER_H
#define MPK_MANIFEST_READER_H

#include "base/arena.h"
#include "base/report.h"
#include "manifest/manifest.h"
#include "manifest/toml.h"

struct mpk_mreader {
	struct mpk_arena *arena;
	struct mpk_report *report;
	const char *path;
	struct mpk_manifest *manifest; /* what is being filled; [package] comes first */
	size_t row_errors;             /* errors in the report when the current table began */
	bool failed;                   /* out of memory */
};

enum mpk_mfield_kind {
	MPK_MFIELD_TEXT,   /* struct mpk_mstr: a string, not empty */
	MPK_MFIELD_EXPR,   /* struct mpk_mstr: a string or an integer, kept as text */
	MPK_MFIELD_TEXTS,  /* struct mpk_mlist: an array of such strings */
	MPK_MFIELD_EXPRS,  /* struct mpk_mlist: an array of strings and integers */
	MPK_MFIELD_BOOL,   /* bool */
	MPK_MFIELD_NUMBER, /* struct mpk_mnumber: an integer or a floating-point number */
	MPK_MFIELD_TABLE,  /* the rows' structure itself */
	MPK_MFIELD_TABLES, /* pointer to and number of the rows' structures */
};

/* A number and where it stands; absent: the position is 0:0. */
struct mpk_mnumber {
	double value;
	bool is_integer;
	struct mpk_pos pos;
};

struct mpk_mschema;

struct mpk_mfield {
	const char *name;
	enum mpk_mfield_kind kind;
	bool required;
	size_t off, count_off;          /* in the structure; bytes */
	const struct mpk_mschema *rows; /* tables */
};

struct mpk_mschema {
	const char *what;               /* "[[module]]", for messages */
	const struct mpk_mfield *fields;
	size_t field_count;
	size_t bytes;                   /* of the structure */
	size_t pos_off;                 /* of its struct mpk_pos; SIZE_MAX: it has none */
	/* May be NULL. Takes a key that no field has; false: report it as unknown. */
	bool (*unknown)(struct mpk_mreader *r, const struct mpk_toml *table,
			const struct mpk_toml_entry *entry, void *out);
	/* May be NULL. Called when a row is complete; checks what needs this row alone. */
	void (*done)(struct mpk_mreader *r, void *out);
};

/* mpk_mread_table - fill the structure at out (zeroed) from a table; problems go to the report */
void mpk_mread_table(struct mpk_mreader *r, const struct mpk_mschema *schema,
		     const struct mpk_toml *table, void *out);

/* mpk_mread_error, mpk_mread_warn - add a finding at pos */
void mpk_mread_error(struct mpk_mreader *r, struct mpk_pos pos, const char *check,
		     const char *fmt, ...) MPK_PRINTF(4, 5);
void mpk_mread_warn(struct mpk_mreader *r, struct mpk_pos pos, const char *check,
		    const char *fmt, ...) MPK_PRINTF(4, 5);

/* mpk_mread_unknown - report a key as unknown, with "did you mean" from names */
void mpk_mread_unknown(struct mpk_mreader *r, const char *what, struct mpk_mstr key,
		       const struct mpk_span *names, size_t count);

enum { MPK_MSUGGEST_BYTES = 160 };

/* mpk_msuggest - "; did you mean 'x'?" or ""
 * @out     receives it; Returns out */
const char *mpk_msuggest(struct mpk_span word, const struct mpk_span *names, size_t count,
			 char out[MPK_MSUGGEST_BYTES]);

#endif
