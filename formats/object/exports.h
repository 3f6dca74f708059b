/* SPDX-License-Identifier: Apache-2.0 */
/* exports.h - what the symbols of a file tell: its blob, generation, calling convention and functions
 *
 * Symbols come from whatever format the file has; they are described in ELF's terms (STT_FUNC,
 * STB_GLOBAL), which say all that the others can.
 */
#ifndef MPK_FORMATS_OBJECT_EXPORTS_H
#define MPK_FORMATS_OBJECT_EXPORTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"
#include "blob/blob.h"

struct mpk_symbol {
	const char *name; /* "" when it has none */
	uint64_t value, bytes;
	size_t section;                 /* 0: undefined or not in a section */
	uint8_t type, bind, visibility; /* STT_, STB_, STV_ */
	bool defined;
	bool common; /* room for it is made by the linker */
};

/* mpk_symbol_suffix - whether a name ends so: of a library for one system the same names begin with a prefix
 * @prefix_len  receives the length of the prefix, 0 for the plain name */
bool mpk_symbol_suffix(const char *name, const char *suffix, size_t *prefix_len);

/* mpk_elf_check_names - refuse names that overlap, the end of one being another: a linker saves some bytes with
 * that, never most, and whoever reads all of them reads the same ones again and again
 * @whose   "symbols"
 * @base    of the file in its container
 * @size    of the file; a megabyte of names is for files that are small
 * @count   names that were read so far, which have bytes bytes
 * Returns  MPK_OK; MPK_E_CORRUPT */
enum mpk_code mpk_elf_check_names(const char *whose, uint64_t base, uint64_t size, size_t count,
				  uint64_t bytes, struct mpk_error *err) MPK_MUST_CHECK;

/* --- What symbols are read from --- */

/* The symbols of one file. */
struct mpk_symbol_source {
	const void *self; /* handed to the functions below */
	size_t count;
	uint64_t base; /* where the file begins in the input: offsets count from there */
	uint64_t size; /* of the file */
	/* One symbol; its name lives as long as what is read from it.
	 * Returns  MPK_OK; MPK_E_CORRUPT */
	enum mpk_code (*get)(const void *self, size_t index, struct mpk_symbol *out,
			     struct mpk_error *err);
	/* The bytes of a defined data symbol, and where they stand in the file; all up to the end
	 * of its section when its size is not known.
	 * Returns  MPK_OK; MPK_E_CORRUPT, MPK_E_SYNTAX: there are none; MPK_E_NOMEM */
	enum mpk_code (*bytes)(const void *self, const struct mpk_symbol *s, struct mpk_span *out,
			       uint64_t *off, struct mpk_error *err);
	/* The name of a symbol's section, or NULL. */
	const char *(*section)(const void *self, const struct mpk_symbol *s);
};

/* What the names in a symbol table say about the generation; collected one by one. */
struct mpk_marks {
	bool current, hybrid, legacy; /* symbols that only this generation has */
	bool tvm; /* symbols that modules alone have; false: it may call TVM, as TVM's own libraries do */
};

/* What all symbols of a file say together. Zero-initialise. */
struct mpk_survey {
	const char *wanted;     /* the prefix of the blob that is to be taken; NULL: the first */
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

/* --- What they tell --- */

struct mpk_image_function {
	const char *name; /* as a caller says it: symbol without the generation's prefix */
	const char *symbol;
	uint64_t address; /* st_value */
	uint64_t bytes;   /* st_size; 0 when unknown */
	bool weak;
	bool is_entry;        /* __tvm_ffi_main, __tvm_main__ */
	const char *alias_of; /* __tvm_main__ data symbol: the function it names, else NULL */
	const char *member;   /* archive or tar member that defines it; NULL: the image's own */
	size_t order;         /* before the last sort */
};

/* What the name of a getter begins with, after the prefix of all functions. */
#define MPK_GETTER_METADATA "_metadata_"
#define MPK_GETTER_DOC "_doc_"

struct mpk_exports {
	bool has_blob;
	enum mpk_generation gen;    /* of the blob; without one: of the functions */
	bool gen_known;             /* false: neither blob nor symbols tell the generation */
	bool standalone;            /* the library loads the blob's kernels itself */
	struct mpk_span blob;       /* as mpk_symbol_source.bytes gives it */
	uint64_t blob_off;          /* in the input */
	uint64_t blob_address;      /* st_value */
	uint64_t blob_symbol_bytes; /* st_size; 0 when unknown */
	const char *blob_symbol;    /* with the system-lib prefix, if any */
	const char *blob_section;   /* NULL when its name is not known */
	const char *prefix;         /* system-lib prefix; "" when none */
	const char *const *
		prefixes; /* of all blobs, sorted, each once: several system libraries linked into one */
	size_t prefix_count;
	enum mpk_convention convention;
	/* sorted by name (text/phrase.h); TVM's own helper symbols and ctx pointers left out */
	const struct mpk_image_function *functions;
	size_t function_count;
	/* functions that give a text about another: its name after "_metadata_" or "_doc_" */
	const struct mpk_image_function *getters;
	size_t getter_count;
	const char *const *context_symbols; /* __TVM... pointers the loader must fill */
	size_t context_symbol_count;
	bool has_ctx;                 /* __tvm_ffi__library_ctx or an older name */
	const char *const *undefined; /* undefined symbols, weak ones left out; by name */
	size_t undefined_count;
};

/* mpk_exports_read - blob, generation, convention and functions
 * @found   the survey of this source
 * @gen     generation that functions are to be taken as, when the file itself does not
 *          tell (objects of an archive whose blob is in another member); may be NULL
 * @arena   receives the lists
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_SYNTAX; MPK_E_NOMEM */
enum mpk_code mpk_exports_read(const struct mpk_symbol_source *source,
			       const struct mpk_survey *found, const enum mpk_generation *gen,
			       struct mpk_arena *arena, struct mpk_exports *out,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_image_sort_functions - by name, in the order of mpk_natural_compare, then symbol, then as
 * they came, which qsort alone does not promise */
void mpk_image_sort_functions(struct mpk_image_function *functions, size_t count);

/* Functions that a library exports without being callable: of compilers and runtimes
 *
 * Before 0.22 TVM calls whatever name the dynamic linker finds in a library, so every exported
 * function is one of the module, also "_Z3fooPfi", "__fused" or "a.b$c". Left out is only what by
 * its name comes from elsewhere:
 *   - what starts and ends programs: _init, _fini, _start, _GLOBAL__..., _ITM_..., _dl_...
 *   - TVM's own: __tvm_... but for __tvm_main__, __TVM..., TVM with a capital after it
 *   - support of compilers: __cxa_..., __gcc_..., _Unwind_..., sanitizers, registration of GPU code,
 *     arithmetic such as __udivti3 and __truncsfhf2
 *   - the C++ library, and what the compiler made of C++: operators, tables, thunks; and weak functions
 *     with a C++ name, which are templates and inline functions of headers
 */

/* mpk_name_starts - whether a name begins with a prefix */
static inline bool mpk_name_starts(const char *name, const char *prefix)
{
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

/* mpk_name_is_one_of - whether a name is in a list of count names */
static inline bool mpk_name_is_one_of(const char *name, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(name, list[i]) == 0)
			return true;
	return false;
}

/* mpk_name_is_internal - whether a function of that name is no function of the module
 * @weak    whether its symbol is weak */
bool mpk_name_is_internal(const char *name, bool weak);

#endif
