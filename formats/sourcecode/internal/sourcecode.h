/* SPDX-License-Identifier: Apache-2.0 */
/* sourcecode.h - declarations that the files of this room share */
#ifndef MPK_SOURCECODE_INTERNAL_SOURCECODE_H
#define MPK_SOURCECODE_INTERNAL_SOURCECODE_H

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"
#include "sourcecode/cfunction.h"
#include "sourcecode/sourcecode.h"

/* The text as a compiler reads it: without comments, line continuations and groups under conditions
 * that do not hold */

/* mpk_source_code_plain - replace comments by blanks, and join continued lines
 * The result has the same length, and each word begins at the same offset. A comment without an end
 * stays.
 * @nests   comments may contain comments, and nothing else is done (WGSL)
 * @arena   receives the result, unless it equals the text
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_source_code_plain(struct mpk_span text, bool nests, struct mpk_arena *arena,
				    struct mpk_span *out, struct mpk_error *err) MPK_MUST_CHECK;

/* A group under a condition that the text itself does not decide. */
struct mpk_source_code_group {
	size_t from, to;           /* offsets in the text, in bytes */
	struct mpk_span condition; /* the line: "#ifdef NAME", "#else" */
	size_t around;             /* index of the group around it; SIZE_MAX: none */
};

struct mpk_source_code_groups {
	const struct mpk_source_code_group *items; /* sorted by beginning */
	size_t count;
};

/* mpk_source_code_conditions - remove the groups that are never compiled, and list those that may
 * not be
 * A condition is decided if it is a number, or a name that the text defines before it; "#ifndef"
 * before the "#define" of its name holds.
 * @text    plain; *out is text, or a copy in arena in which blanks replace such groups
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_source_code_conditions(struct mpk_span text, struct mpk_arena *arena,
					 struct mpk_span *out,
					 struct mpk_source_code_groups *groups,
					 struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_source_code_group_at - the innermost group around an offset; NULL: none */
const struct mpk_source_code_group *
mpk_source_code_group_at(const struct mpk_source_code_groups *groups, size_t off);

/* The types that a text defines: typedefs, aliases, records, enumerations, and macros for them */

enum mpk_source_code_type_kind {
	MPK_SOURCE_CODE_TYPE_ALIAS,  /* an alias: "typedef", "using", "#define" */
	MPK_SOURCE_CODE_TYPE_RECORD, /* struct, class, union */
	MPK_SOURCE_CODE_TYPE_ENUM,
	MPK_SOURCE_CODE_TYPE_VECTOR, /* a vector, by an attribute of the compiler */
	MPK_SOURCE_CODE_TYPE_OPEN,   /* not known from the text: several definitions, a template, a
				    * macro with arguments */
};

struct mpk_source_code_type {
	struct mpk_span name;
	enum mpk_source_code_type_kind kind;
	struct mpk_span words; /* an alias: the type that it means; a record: its members, empty:
			        * not known; an enumeration: its underlying type, or empty */
	bool is_pointer;       /* an alias: of a pointer to that type, or of an array */
	bool is_union, is_macro;
	/* A record: it was measured; then least_bytes is its least size in bytes, and holds_address whether
	 * it may contain an address. */
	bool measured, holds_address;
	uint64_t least_bytes;
};

/* mpk_source_code_find_type - find a type by its name; NULL: the text does not define it, memory is
 * out, or the text defines more than 65536 */
struct mpk_source_code_type *mpk_source_code_find_type(struct mpk_source_code_index *index,
						       struct mpk_span name);

/* Words, comments and preprocessor lines in a text without a lexer
 *
 * A lexer would skip the lines of macros, which matter here. */

/* Bytes of names. Names of types and parameters have ASCII letters only. */
static inline bool mpk_source_code_is_name(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '$' || c >= 0x80;
}

static inline bool mpk_source_code_is_word(uint8_t c)
{
	return isalnum(c) || c == '_';
}

/* mpk_source_code_next_word - return the next word; empty at the end. Everything between words is
 * skipped. */
static inline struct mpk_span mpk_source_code_next_word(struct mpk_span text, size_t *at)
{
	size_t from;

	while (*at < text.len && !mpk_source_code_is_word(text.data[*at]))
		++*at;
	for (from = *at; *at < text.len && mpk_source_code_is_word(text.data[*at]);)
		++*at;
	return from < text.len ? mpk_span_of(text.data + from, *at - from) : (struct mpk_span){ 0 };
}

/* mpk_source_code_skip_blanks - the first offset from i on that is not a blank within a line
 * mpk_source_code_name_at - the name that begins at i, before end; may be empty */
size_t mpk_source_code_skip_blanks(struct mpk_span s, size_t i);
struct mpk_span mpk_source_code_name_at(struct mpk_span s, size_t i, size_t end);

/* A preprocessor line: its directive, and the text after it. */
struct mpk_source_code_directive {
	struct mpk_span name, rest;
};

/* mpk_source_code_next_directive - the next directive from *at on, which is moved past it
 * Returns  false at the end */
bool mpk_source_code_next_directive(struct mpk_span s, size_t *at,
				    struct mpk_source_code_directive *out);

/* mpk_cfunction_value_read - read the declaration of a parameter or a result
 * "void *x" does not name a type of elements, so a person has to give its dtype.
 * @others  the parameters before it, which extents of arrays may name
 * @out     views of text; refusal says why the value cannot be passed, else NULL */
void mpk_cfunction_value_read(struct mpk_span text, struct mpk_source_code_index *index,
			      const struct mpk_cfunction_value *others, size_t count,
			      struct mpk_cfunction_value *out);

#endif
