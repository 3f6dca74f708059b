/* SPDX-License-Identifier: Apache-2.0 */
/* types.h - what a source calls types: typedefs, aliases, records, enumerations, and macros for them (internal) */
#ifndef MPK_SOURCECODE_INTERNAL_TYPES_H
#define MPK_SOURCECODE_INTERNAL_TYPES_H

#include "sourcecode/index.h"

enum mpk_source_code_type_kind {
	MPK_SOURCE_CODE_TYPE_ALIAS,  /* of words: "typedef", "using", "#define" */
	MPK_SOURCE_CODE_TYPE_RECORD, /* struct, class, union */
	MPK_SOURCE_CODE_TYPE_ENUM,
	MPK_SOURCE_CODE_TYPE_VECTOR, /* by an attribute of the compiler */
	MPK_SOURCE_CODE_TYPE_OPEN, /* the text does not tell: several, a template, a macro with arguments */
};

struct mpk_source_code_type {
	struct mpk_span name;
	enum mpk_source_code_type_kind kind;
	struct mpk_span words; /* an alias: what for; a record: its members, empty: not known; an
				* enumeration: its underlying type, or empty */
	bool is_pointer;       /* an alias: of an address of that, or of an array */
	bool is_union, is_macro;
	/* A record, once it was measured: its least size in bytes, whether an address may be in it. */
	bool measured, holds_address;
	uint64_t least_bytes;
};

/* mpk_source_code_find_type - the type of this name, or NULL: the text defines none, or there is no memory
 * for the list, or it has more than 65536 */
struct mpk_source_code_type *mpk_source_code_find_type(struct mpk_source_code_index *index,
						       struct mpk_span name);

#endif
