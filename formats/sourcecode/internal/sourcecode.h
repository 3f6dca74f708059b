/* SPDX-License-Identifier: Apache-2.0 */
/* sourcecode.h - what the files of this folder share, and nobody else includes */
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

/* What of a source a compiler reads: no comments, no lines that are continued, no groups under a
 * condition that does not hold (internal)
 */

/* mpk_source_code_plain - the text with blanks where its comments stand, and continued lines put together
 * It is as long, and each word begins where it did. A comment without an end stays.
 * @nests   comments stand in comments, and nothing else is done: WGSL
 * @arena   receives the text, unless it is the same
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_source_code_plain(struct mpk_span text, bool nests, struct mpk_arena *arena,
				    struct mpk_span *out, struct mpk_error *err) MPK_MUST_CHECK;

/* A group under a condition that the text does not decide. */
struct mpk_source_code_group {
	size_t from, to;           /* in the text, bytes */
	struct mpk_span condition; /* "#ifdef NAME", "#else": the line */
	size_t around;             /* the index of the group around it; SIZE_MAX: none */
};

struct mpk_source_code_groups {
	const struct mpk_source_code_group *items; /* in the order of their beginnings */
	size_t count;
};

/* mpk_source_code_conditions - take away the groups that no compiler reads, and list those that one may not
 * A condition is decided by a number, and by a name that the text defines before it; "#ifndef" in front of the
 * "#define" of its name holds.
 * @text    plain; *out is it or a copy in arena with blanks where such groups stand
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_source_code_conditions(struct mpk_span text, struct mpk_arena *arena,
					 struct mpk_span *out,
					 struct mpk_source_code_groups *groups,
					 struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_source_code_group_at - the innermost group that a place is in, or NULL */
const struct mpk_source_code_group *
mpk_source_code_group_at(const struct mpk_source_code_groups *groups, size_t off);

/* What a source calls types: typedefs, aliases, records, enumerations, and macros for them (internal) */

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

/* Words, comments and lines of the preprocessor in a text that no lexer reads (internal)
 *
 * A lexer passes over the lines of macros, which matter here.
 */

/* Of names as compilers take them; those of types and parameters have ASCII letters alone. */
static inline bool mpk_source_code_is_name(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '$' || c >= 0x80;
}

static inline bool mpk_source_code_is_word(uint8_t c)
{
	return isalnum(c) || c == '_';
}

/* mpk_source_code_next_word - the next word; empty at the end. Everything else between words is passed over. */
static inline struct mpk_span mpk_source_code_next_word(struct mpk_span text, size_t *at)
{
	size_t from;

	while (*at < text.len && !mpk_source_code_is_word(text.data[*at]))
		++*at;
	for (from = *at; *at < text.len && mpk_source_code_is_word(text.data[*at]);)
		++*at;
	return from < text.len ? mpk_span_of(text.data + from, *at - from) : (struct mpk_span){ 0 };
}

/* mpk_source_code_skip_blanks - the first offset from i on that is no blank of a line
 * mpk_source_code_name_at - the name that begins at i, before end; may be empty */
size_t mpk_source_code_skip_blanks(struct mpk_span s, size_t i);
struct mpk_span mpk_source_code_name_at(struct mpk_span s, size_t i, size_t end);

/* A line of the preprocessor: its directive, and what follows it. */
struct mpk_source_code_directive {
	struct mpk_span name, rest;
};

/* mpk_source_code_next_directive - the next one from *at on, which is moved past it
 * Returns  false at the end */
bool mpk_source_code_next_directive(struct mpk_span s, size_t *at,
				    struct mpk_source_code_directive *out);

/* mpk_cfunction_value_read - what the declaration of a parameter or a result says
 * "void *x" says nothing of its elements: its dtype is left to a person.
 * @others  the parameters before it, which extents of arrays may name
 * @out     views of text; refusal says why the value cannot be passed, else NULL */
void mpk_cfunction_value_read(struct mpk_span text, struct mpk_source_code_index *index,
			      const struct mpk_cfunction_value *others, size_t count,
			      struct mpk_cfunction_value *out);

#endif
