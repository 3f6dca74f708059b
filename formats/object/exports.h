/* SPDX-License-Identifier: Apache-2.0 */
/* exports.h - what the symbols of a file show: its blob, generation, calling convention and
 * functions
 *
 * Symbols of all formats are described in ELF's terms (STT_FUNC, STB_GLOBAL), which cover the
 * others. */
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
	const char *name; /* "": none */
	uint64_t value, bytes;
	size_t section;                 /* 0: undefined or not in a section */
	uint8_t type, bind, visibility; /* STT_, STB_, STV_ */
	bool defined;
	bool common; /* the linker allocates it */
};

/* mpk_symbol_suffix - whether a name ends with suffix: in a system library the names have a prefix
 * @prefix_len  receives the length of the prefix; 0 for the plain name */
bool mpk_symbol_suffix(const char *name, const char *suffix, size_t *prefix_len);

/* mpk_elf_check_names - refuse names that overlap so much that reading all of them would take
 * quadratic time. Linkers let the end of one name be another, which saves some bytes, never most
 * @whose   "symbols"
 * @base    offset of the file in its container
 * @size    of the file; a megabyte of names is allowed for small files
 * @count   number of names read so far, with `bytes` bytes in total
 * Returns  MPK_OK; MPK_E_CORRUPT */
enum mpk_code mpk_elf_check_names(const char *whose, uint64_t base, uint64_t size, size_t count,
				  uint64_t bytes, struct mpk_error *err) MPK_MUST_CHECK;

/* --- Where symbols are read from --- */

/* The symbols of one file. */
struct mpk_symbol_source {
	const void *self; /* passed to the functions below */
	size_t count;
	uint64_t base; /* offset of the file in the input; offsets in errors count from there */
	uint64_t size; /* of the file */
	/* Reads a symbol; its name lives as long as the file.
	 * Returns  MPK_OK; MPK_E_CORRUPT */
	enum mpk_code (*get)(const void *self, size_t index, struct mpk_symbol *out,
			     struct mpk_error *err);
	/* Finds the bytes of a defined data symbol, and their offset in the file; all up to the end of its
	 * section if its size is not known.
	 * Returns  MPK_OK; MPK_E_CORRUPT, MPK_E_SYNTAX: there are none; MPK_E_NOMEM */
	enum mpk_code (*bytes)(const void *self, const struct mpk_symbol *s, struct mpk_span *out,
			       uint64_t *off, struct mpk_error *err);
	/* Returns the name of a symbol's section, or NULL. */
	const char *(*section)(const void *self, const struct mpk_symbol *s);
};

/* What the names in a symbol table say about the generation. */
struct mpk_marks {
	bool current, hybrid, legacy; /* there are symbols that only this generation has */
	bool tvm; /* there are symbols that only modules have; false: it may be a caller of TVM,
		   * such as TVM's own libraries */
};

/* What all symbols of a file say. Zero-initialise. */
struct mpk_survey {
	const char *wanted;     /* prefix of the blob to choose; NULL: the first blob */
	struct mpk_symbol blob; /* valid if rank is not 0 */
	enum mpk_generation gen;
	size_t prefix; /* length of the system-lib prefix */
	unsigned rank; /* 0: no blob */
	struct mpk_marks marks;
	bool has_ctx;
};

/* mpk_symbols_survey - read all symbols; adds to *out
 * Returns  MPK_OK; MPK_E_CORRUPT, also if the names of all symbols together are longer than those
 *          of any real file: they may overlap, and reading each would take quadratic time */
enum mpk_code mpk_symbols_survey(const struct mpk_symbol_source *source, struct mpk_survey *out,
				 struct mpk_error *err) MPK_MUST_CHECK;

/* --- The results --- */

struct mpk_image_function {
	const char *name; /* name that callers use: the symbol without the generation's prefix */
	const char *symbol;
	uint64_t address; /* st_value */
	uint64_t bytes;   /* st_size; 0 when unknown */
	bool weak;
	bool is_entry;        /* __tvm_ffi_main, __tvm_main__ */
	const char *alias_of; /* for the data symbol __tvm_main__: the function that it names; else
			       * NULL */
	const char *member;   /* archive or tar member that defines it; NULL: the image itself */
	size_t order;         /* index before the last sort */
};

/* Beginnings of the names of getters, after the prefix of all functions. */
#define MPK_GETTER_METADATA "_metadata_"
#define MPK_GETTER_DOC "_doc_"

struct mpk_exports {
	bool has_blob;
	enum mpk_generation gen; /* generation of the blob, or without one of the functions */
	bool gen_known;          /* false: neither the blob nor the symbols show the generation */
	bool standalone;         /* the library itself loads the kernels of the blob */
	struct mpk_span blob;    /* as mpk_symbol_source.bytes returns it */
	uint64_t blob_off;       /* offset in the input */
	uint64_t blob_address;   /* st_value */
	uint64_t blob_symbol_bytes; /* st_size; 0 when unknown */
	const char *blob_symbol;    /* with the system-lib prefix, if there is one */
	const char *blob_section;   /* NULL: not known */
	const char *prefix;         /* system-lib prefix; "": none */
	const char *const
		*prefixes; /* prefixes of all blobs, sorted, each once: several system libraries may
			   * be linked into one */
	size_t prefix_count;
	enum mpk_convention convention;
	/* sorted by mpk_natural_compare (text/phrase.h); without TVM's own helper symbols and context
	 * pointers */
	const struct mpk_image_function *functions;
	size_t function_count;
	/* functions that return a text about another function, whose name follows "_metadata_" or "_doc_"
	 * in theirs */
	const struct mpk_image_function *getters;
	size_t getter_count;
	const char *const *context_symbols; /* pointers named __TVM..., which the loader must set */
	size_t context_symbol_count;
	bool has_ctx;                 /* the library has __tvm_ffi__library_ctx or an older name of
				       * it */
	const char *const *undefined; /* undefined symbols, except weak ones; sorted by name */
	size_t undefined_count;
};

/* mpk_exports_read - find the blob, generation, convention and functions
 * @found   the survey of this source
 * @gen     the generation to assume if the file does not show it (objects of an archive whose blob
 *          is in another member); may be NULL
 * @arena   receives the lists
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_SYNTAX; MPK_E_NOMEM */
enum mpk_code mpk_exports_read(const struct mpk_symbol_source *source,
			       const struct mpk_survey *found, const enum mpk_generation *gen,
			       struct mpk_arena *arena, struct mpk_exports *out,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_image_sort_functions - sort by name in the order of mpk_natural_compare, then by symbol;
 * equal ones keep their order, which qsort alone does not ensure */
void mpk_image_sort_functions(struct mpk_image_function *functions, size_t count);

/* Functions that a library exports although they are not functions of a module: those of compilers
 * and runtimes
 *
 * Before 0.22 TVM calls any name that the dynamic linker finds in a library, so every exported
 * function is a function of the module, also "_Z3fooPfi", "__fused" or "a.b$c". Left out are only
 * functions whose name shows that they come from elsewhere:
 *   - beginning and end of programs: _init, _fini, _start, _GLOBAL__..., _ITM_..., _dl_...
 *   - TVM's own: __tvm_... except __tvm_main__, __TVM..., TVM with a capital after it
 *   - support of compilers: __cxa_..., __gcc_..., _Unwind_..., sanitizers, registration of GPU
 *   code,
 *     arithmetic such as __udivti3 and __truncsfhf2
 *   - the C++ library, and what compilers generate for C++: operators, tables, thunks; and weak
 *   functions
 *     with a C++ name, which are templates and inline functions of headers */

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

/* mpk_name_is_internal - whether a function of this name is not a function of the module
 * @weak    whether its symbol is weak */
bool mpk_name_is_internal(const char *name, bool weak);

#endif
