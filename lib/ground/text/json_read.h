/* SPDX-License-Identifier: Apache-2.0 */
/* json_read.h - reading JSON documents of others (RFC 8259)
 *
 * A document is checked once, without allocating; then values are found in the text itself. No
 * tree is built, so a reader pays only for the values that it asks for. */
#ifndef MPK_TEXT_JSON_READ_H
#define MPK_TEXT_JSON_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"

/* The deepest nesting of arrays and objects that is accepted. */
enum { MPK_JSON_DEPTH_MAX = 2048 };

enum mpk_json_type {
	MPK_JSON_NONE, /* no value: zeroed, or not found */
	MPK_JSON_NULL,
	MPK_JSON_BOOLEAN,
	MPK_JSON_NUMBER,
	MPK_JSON_STRING,
	MPK_JSON_ARRAY,
	MPK_JSON_OBJECT,
};

/* A value of a document: a borrowed view of its text. Zeroed means no value; all functions accept
 * that and find nothing in it. */
struct mpk_json_value {
	struct mpk_span text;
};

/* mpk_json_read - check a document: UTF-8, one value, at most MPK_JSON_DEPTH_MAX deep
 * Numbers may have any size; mpk_json_value_i64 and _f64 check whether one fits. Strings contain
 * no NUL.
 * @out     may be any value, also a number
 * Returns  MPK_OK; MPK_E_SYNTAX with line and column (in bytes), both from 1 */
enum mpk_code mpk_json_read(struct mpk_span text, struct mpk_json_value *out,
			    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_json_value_type - the type of v; MPK_JSON_NONE for no value */
enum mpk_json_type mpk_json_value_type(struct mpk_json_value v);

/* The elements of an array or members of an object, in the order of the document. */
struct mpk_json_items {
	struct mpk_json_value key; /* name of the member returned last: a string */
	struct mpk_span rest;
	bool in_object;
};

/* mpk_json_items - begin iterating; empty unless v is an array or object
 * mpk_json_next - the next element or member
 * Returns  false when there are no more */
struct mpk_json_items mpk_json_items(struct mpk_json_value v);
bool mpk_json_next(struct mpk_json_items *items, struct mpk_json_value *out);

/* mpk_json_value_count - how many elements or members; 0 for all but arrays and objects */
size_t mpk_json_value_count(struct mpk_json_value v);

/* mpk_json_value_get - the member of an object with this name
 * Returns  no value when there is none, or when the name occurs twice, because readers
 *          disagree about which one counts. */
struct mpk_json_value mpk_json_value_get(struct mpk_json_value object, const char *name);

/* mpk_json_value_is - whether v is a string with this text, however it is escaped */
bool mpk_json_value_is(struct mpk_json_value v, const char *text);

/* mpk_json_value_text - a string, unescaped
 * @out     NUL-terminated UTF-8, in arena; NULL when v is no string
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_json_value_text(struct mpk_json_value v, struct mpk_arena *arena,
				  const char **out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_json_value_i64 - a number without fraction and exponent
 * mpk_json_value_f64 - a number of at most 127 characters, rounded
 * Returns  false, *out untouched, when v is no such number or does not fit */
bool mpk_json_value_i64(struct mpk_json_value v, int64_t *out);
bool mpk_json_value_f64(struct mpk_json_value v, double *out);

#endif
