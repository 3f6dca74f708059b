/* SPDX-License-Identifier: Apache-2.0 */
/* classify.h - what a symbol name means to TVM (tvm-blob(5), SYMBOLS) */
#ifndef MPK_ELF_CLASSIFY_H
#define MPK_ELF_CLASSIFY_H

#include <stdbool.h>
#include <stddef.h>

#include "blob/blob.h"
#include "elf/image.h"
#include "elf/symbols.h"

/* What the names in a symbol table say about the generation; collected one by one. */
struct mpk_marks {
	bool current, hybrid, legacy; /* symbols that only this generation has */
	bool tvm;                     /* symbols that some generation has */
};

/* mpk_marks_add - note what this symbol tells */
void mpk_marks_add(struct mpk_marks *marks, const struct mpk_symbol *s);

/* mpk_symbol_suffix - whether the name is suffix behind a system-lib prefix
 * @prefix_len  receives the length of the prefix, 0 for the plain name */
bool mpk_symbol_suffix(const char *name, const char *suffix, size_t *prefix_len);

/* mpk_symbol_is_context - a __TVM... pointer that the loader fills */
bool mpk_symbol_is_context(const struct mpk_symbol *s);

/* mpk_symbol_is_entry_name - __tvm_main__ data: names the entry function */
bool mpk_symbol_is_entry_name(const struct mpk_symbol *s);

/* mpk_symbol_function - the name under which a caller finds this function, or NULL
 * Left out: what TVM's code generators, compilers and tvm-ffi's headers put beside the
 * functions of a module. Before 0.22 functions have no prefix and any exported one is callable;
 * internal.h says which names are known to come from elsewhere. */
const char *mpk_symbol_function(const struct mpk_symbol *s, enum mpk_generation gen);

/* mpk_symbol_getter - "_metadata_add" or "_doc_add" of a function that gives a text about add; else NULL */
const char *mpk_symbol_getter(const struct mpk_symbol *s);

#endif
