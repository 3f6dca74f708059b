/* SPDX-License-Identifier: Apache-2.0 */
/* json_read.h - JSON documents that others wrote (RFC 8259)
 *
 * A document is looked over once, whole, without a byte of memory; then its values are found where
 * they stand. Nothing is built of it, so a document costs its reader what he takes from it.
 */
#ifndef MPK_TEXT_JSON_READ_H
#define MPK_TEXT_JSON_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"

/* Arrays and objects within each other: more is refused. */
enum { MPK_JSON_DEPTH_MAX = 2048 };

enum mpk_json_type {
	MPK_JSON_NONE, /* no value: a zeroed one, or one that was not found */
	MPK_JSON_NULL,
	MPK_JSON_BOOLEAN,
	MPK_JSON_NUMBER,
	MPK_JSON_STRING,
	MPK_JSON_ARRAY,
	MPK_JSON_OBJECT,
};

/* A value of a document: its text, from its first byte to its last. Borrowed. Zeroed: no value, of
 * which all functions here can be asked, and nothing is found in it. */
struct mpk_json_value {
	struct mpk_span text;
};

/* mpk_json_read - a document: UTF-8, one value, at most MPK_JSON_DEPTH_MAX deep
 * Numbers may be of any size here; whoever takes one learns whether it fits. Strings hold no NUL.
 * @out     may be any value, also a number
 * Returns  MPK_OK; MPK_E_SYNTAX with line and column (in bytes), both from 1 */
enum mpk_code mpk_json_read(struct mpk_span text, struct mpk_json_value *out,
			    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_json_value_type - what v is; of no value MPK_JSON_NONE */
enum mpk_json_type mpk_json_value_type(struct mpk_json_value v);

/* The elements of an array or members of an object, in the order of the document. */
struct mpk_json_items {
	struct mpk_json_value key; /* of an object's member that was found last: a string */
	struct mpk_span rest;
	bool in_object;
};

/* mpk_json_items - before the first element or member; without any, unless v is array or object
 * mpk_json_next - the next one
 * Returns  false when there are no more */
struct mpk_json_items mpk_json_items(struct mpk_json_value v);
bool mpk_json_next(struct mpk_json_items *items, struct mpk_json_value *out);

/* mpk_json_value_count - how many elements or members; 0 for all but arrays and objects */
size_t mpk_json_value_count(struct mpk_json_value v);

/* mpk_json_value_get - the member of an object with this name
 * Returns  no value when there is none. A name that occurs twice has none, either: others might
 *          take the one, or the other. */
struct mpk_json_value mpk_json_value_get(struct mpk_json_value object, const char *name);

/* mpk_json_value_is - whether v is this string, however it is written */
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
