/* SPDX-License-Identifier: Apache-2.0 */
/* record.h - payloads that are a fixed list of strings, string lists and numbers (FORMAT.md)
 *
 * The external runtimes (dnnl_json, tensorrt, coreml, ...) and the source modules (c,
 * static_library) differ only in this list, which is in the row of their kind (kinds.def). */
#ifndef MPK_FORMATS_RECORD_RECORD_H
#define MPK_FORMATS_RECORD_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/cursor.h"
#include "base/error.h"
#include "base/rope.h"
#include "base/span.h"
#include "wire.h"

enum mpk_field_type {
	MPK_FIELD_STR,  /* u64 length, bytes */
	MPK_FIELD_STRS, /* vec<str> */
	MPK_FIELD_I32,
};

struct mpk_record_field {
	const char *name; /* "symbol", "graph_json" */
	enum mpk_field_type type;
	const char *file; /* file name for extraction, "graph.json"; NULL: not extracted */
};

enum { MPK_RECORD_FIELDS = 6 };

struct mpk_record_schema {
	struct mpk_record_field fields[MPK_RECORD_FIELDS];
	size_t count;
};

/* The value of a field; the field's type decides which member is set. */
struct mpk_record_value {
	struct mpk_span str;
	struct mpk_strs strs;
	int32_t number;
};

struct mpk_record {
	const struct mpk_record_schema *schema;
	struct mpk_record_value values[MPK_RECORD_FIELDS];
};

/* static_library: data, func_names; json_runtime: symbol, graph_json, const_names */
extern const struct mpk_record_schema mpk_schema_json_runtime, mpk_schema_static_library;

#endif
