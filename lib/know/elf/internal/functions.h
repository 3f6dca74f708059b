/* SPDX-License-Identifier: Apache-2.0 */
/* functions.h - which symbols of a library are its blob, its functions and its helpers
 *
 * Symbols come from whatever format the file has; they are told in ELF's terms (STT_FUNC,
 * STB_GLOBAL), which say all that the others can.
 */
#ifndef MPK_ELF_INTERNAL_FUNCTIONS_H
#define MPK_ELF_INTERNAL_FUNCTIONS_H

#include "base/arena.h"
#include "elf/image.h"
#include "elf/symbols.h"

/* What the names in a symbol table say about the generation; collected one by one. */
struct mpk_marks {
	bool current, hybrid, legacy; /* symbols that only this generation has */
	bool tvm;                     /* symbols that some generation has */
};

/* The symbols of one file. */
struct mpk_symbol_source {
	const void *self; /* handed to the functions below */
	size_t count;
	uint64_t base; /* where the file begins in the input: offsets count from there */
	uint64_t size; /* of the file */
	/* One symbol; its name lives as long as the image.
	 * Returns  MPK_OK; MPK_E_CORRUPT */
	enum mpk_code (*get)(const void *self, size_t index, struct mpk_symbol *out,
			     struct mpk_error *err);
	/* The bytes of a defined data symbol, and where they stand in the file; all up to the end
	 * of its section when its size is not told.
	 * Returns  MPK_OK; MPK_E_CORRUPT, MPK_E_SYNTAX: there are none; MPK_E_NOMEM */
	enum mpk_code (*bytes)(const void *self, const struct mpk_symbol *s, struct mpk_span *out,
			       uint64_t *off, struct mpk_error *err);
	/* The name of a symbol's section, or NULL. */
	const char *(*section)(const void *self, const struct mpk_symbol *s);
};

/* What all symbols of a file say together. Zero-initialise. */
struct mpk_survey {
	struct mpk_symbol blob; /* when rank is not 0 */
	enum mpk_generation gen;
	size_t prefix; /* length of the system-lib prefix */
	unsigned rank; /* 0: there is no blob */
	struct mpk_marks marks;
	bool has_ctx;
};

/* mpk_symbols_survey - look through all symbols; adds to *out
 * Returns  MPK_OK; MPK_E_CORRUPT, also when the names of all symbols, one by one, are longer than any real
 *          file's can be: they may overlap, and whoever looks at each would not come to an end */
enum mpk_code mpk_symbols_survey(const struct mpk_symbol_source *source, struct mpk_survey *out,
				 struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_image_read_symbols - fill what symbols tell: blob, generation, convention, functions
 * @found   the survey of this source
 * @gen     generation that functions are to be taken as, when the file itself does not
 *          tell (objects of an archive whose blob is in another member); may be NULL
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_SYNTAX; MPK_E_NOMEM */
enum mpk_code mpk_image_read_symbols(const struct mpk_symbol_source *source,
				     const struct mpk_survey *found, const enum mpk_generation *gen,
				     struct mpk_arena *arena, struct mpk_image *image,
				     struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_image_sort_functions - by name, in the order of mpk_natural_compare, then symbol, then as
 * they came, which qsort alone does not promise */
void mpk_image_sort_functions(struct mpk_image_function *functions, size_t count);

#endif
