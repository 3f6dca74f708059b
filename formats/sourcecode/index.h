/* SPDX-License-Identifier: Apache-2.0 */
/* index.h - what is anywhere in the text of a source: words, macros, types
 *
 * Readers ask for each kernel and each parameter. Each list is made when it is first asked for, in one pass
 * over the text; most texts are never asked.
 */
#ifndef MPK_FORMATS_SOURCECODE_INDEX_H
#define MPK_FORMATS_SOURCECODE_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/span.h"

enum mpk_source_code_list {
	MPK_SOURCE_CODE_WORDS,     /* outside of comments, also in the lines of macros */
	MPK_SOURCE_CODE_MACROS,    /* what a "#define" makes */
	MPK_SOURCE_CODE_TYPEDEFS,  /* what a typedef may make: all its words outside of braces */
	MPK_SOURCE_CODE_CLASSES,   /* structs, classes and unions */
	MPK_SOURCE_CODE_CONSTANTS, /* what the lines "#define" and "#undef" name, with its number */
	MPK_SOURCE_CODE_LISTS,
};

struct mpk_source_code_words;
struct mpk_source_code_types; /* types.h */

/* Set bytes and arena, with zeros after them. The text is borrowed. */
struct mpk_source_code_index {
	struct mpk_span bytes;
	struct mpk_arena *arena; /* receives the lists, which end with it */
	const struct mpk_source_code_words *lists[MPK_SOURCE_CODE_LISTS];
	const struct mpk_source_code_types *types; /* NULL: not listed yet */
	bool has_directives;                       /* what follows is known */
	bool defines, pastes;  /* a "#define" with something after it; one with "##" */
	bool includes, quotes; /* an "#include"; one of a file in quotes */
};

/* mpk_source_code_index_has - whether a word is in a list of the text
 * Returns  true also when memory is out: nobody can tell then. Answers are "may" everywhere but for classes,
 *          whose caller asks for mpk_source_code_index_tells, too. */
bool mpk_source_code_index_has(struct mpk_source_code_index *index, enum mpk_source_code_list list,
			       struct mpk_span word);

/* mpk_source_code_index_tells - whether there is memory for a list */
bool mpk_source_code_index_tells(struct mpk_source_code_index *index,
				 enum mpk_source_code_list list);

/* mpk_source_code_constant - a number as it is, "64" or "64u", or a word that the text defines once, under no
 * condition, as such a number
 * Returns  false when the word is anything else, or memory is out */
bool mpk_source_code_constant(struct mpk_source_code_index *index, struct mpk_span word,
			      uint32_t *out);

/* mpk_source_code_may_hold - whether a kernel of this name may be in a text of any language
 * Returns  false when the text names it nowhere outside of comments, joins no names with
 *          ## and includes no file of its own; true also for names that C++ makes
 * mpk_source_code_may_define - the same for a text in which the reader found no such kernel: false
 * also when there are no macros, that could make one */
bool mpk_source_code_may_hold(struct mpk_source_code_index *index, struct mpk_span name);
bool mpk_source_code_may_define(struct mpk_source_code_index *index, struct mpk_span name);

#endif
