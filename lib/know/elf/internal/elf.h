/* SPDX-License-Identifier: Apache-2.0 */
/* elf.h - what the files of this folder share, and nobody else includes */
#ifndef MPK_ELF_INTERNAL_ELF_H
#define MPK_ELF_INTERNAL_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/arena.h"
#include "base/rope.h"
#include "elf/code.h"
#include "elf/image.h"
#include "elf/reader.h"
#include "elf/symbols.h"
#include "io/mapping.h"

/* --- The tables of lib/know/elf/code.h; for its files only --- */

/* There may be millions: they are kept small. */
struct mpk_code_symbol {
	uint64_t address;
	uint64_t bytes;
	const char *name;
	const uint8_t *content; /* of files that are not ELF: its bytes */
	uint32_t
		section; /* 0 but for objects, so that addresses of different sections stay apart */
	uint32_t home;   /* the section that it is in */
	uint8_t rank;    /* of several at one address the least is meant */
	bool is_function, thumb;
};

/* Code or data begins: "$x", "$d". */
struct mpk_code_mark {
	uint64_t address;
	uint32_t section;
	bool is_data;
};

struct mpk_code_fixups {
	size_t target, index; /* section headers */
};

struct mpk_code_relocation {
	uint64_t off; /* from the section's beginning */
	int64_t addend;
	const char *name;
};

/* mpk_code_read_fixups - note which sections have relocations for which
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_code_read_fixups(struct mpk_code_file *f, struct mpk_error *err) MPK_MUST_CHECK;

/* --- An ELF file as an image --- */

/* mpk_image_read_elf - fill all parts of an image that one ELF file tells, member left out
 * @elf     open; may be closed afterwards
 * @gen     as mpk_image_read_symbols
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_NOMEM */
enum mpk_code mpk_image_read_elf(const struct mpk_elf *elf, const enum mpk_generation *gen,
				 struct mpk_arena *arena, struct mpk_image *image,
				 struct mpk_error *err) MPK_MUST_CHECK;

/* Which symbols of a library are its blob, its functions and its helpers
 *
 * Symbols come from whatever format the file has; they are described in ELF's terms (STT_FUNC,
 * STB_GLOBAL), which say all that the others can.
 */

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
	 * of its section when its size is not known.
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

/* An ELF file changed in place: what extending a stub and replacing a blob share
 *
 * The file is read through elf/reader.h, so by libelf and with every size checked, like any
 * other. It is not written by libelf, whose elf_update() lays a file out anew: here every byte
 * that has no reason to change stays, so single fields are overwritten where they stand.
 */

/* Where a field lies in its structure, for the file's class. */
struct mpk_patch_field {
	size_t off, size;
};

#define MPK_PATCH_FIELD(p, type, name)                                                             \
	((p)->wide ? (struct mpk_patch_field){ offsetof(Elf64_##type, name),                       \
					       sizeof(((Elf64_##type *)0)->name) }                 \
		   : (struct mpk_patch_field){ offsetof(Elf32_##type, name),                       \
					       sizeof(((Elf32_##type *)0)->name) })
#define MPK_PATCH_SIZE(p, type) ((p)->wide ? sizeof(Elf64_##type) : sizeof(Elf32_##type))

/* Zero-initialise; mpk_patch_open; mpk_patch_close. What has been patched is not to be read
 * again through elf: libelf may or may not have a copy. */
struct mpk_patch {
	struct mpk_elf elf;
	const struct mpk_private *file; /* the bytes of elf */
	bool wide, big;
	bool linked; /* ET_DYN, not ET_REL */
};

/* A data symbol: its section and its entries in .symtab and .dynsym. */
struct mpk_patch_symbol {
	size_t section;
	GElf_Shdr home;      /* of the section */
	uint64_t entries[2]; /* file offsets */
	size_t count;
	uint64_t value, size; /* st_value, st_size */
};

/* mpk_patch_open - check the headers and every section
 * @file    borrowed
 * Returns  MPK_OK; MPK_E_UNSUPPORTED (no shared library or object, or of unusual form);
 *          MPK_E_CORRUPT; MPK_E_NOMEM. On failure *out stays closed. */
enum mpk_code mpk_patch_open(const struct mpk_private *file, struct mpk_patch *out,
			     struct mpk_error *err) MPK_MUST_CHECK;
void mpk_patch_close(struct mpk_patch *p);

/* mpk_patch_put - set a field of the structure at file offset base
 * Returns  MPK_OK; MPK_E_RANGE: the file's class cannot hold the value; MPK_E_CORRUPT: it
 *          is where the file is not to be changed
 * mpk_patch_store - the same in a structure of our own */
enum mpk_code mpk_patch_put(const struct mpk_patch *p, uint64_t base, struct mpk_patch_field f,
			    uint64_t v, struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_patch_store(const struct mpk_patch *p, uint8_t *at, struct mpk_patch_field f,
			      uint64_t v, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_patch_section_at, mpk_patch_segment_at - the file offset of a header */
uint64_t mpk_patch_section_at(const struct mpk_patch *p, size_t index);
uint64_t mpk_patch_segment_at(const struct mpk_patch *p, size_t index);

/* mpk_patch_section - section index < elf.section_count, which mpk_patch_open has checked */
GElf_Shdr mpk_patch_section(const struct mpk_patch *p, size_t index);

/* mpk_patch_has_bytes - whether a section takes room in the file */
bool mpk_patch_has_bytes(const GElf_Shdr *s);

/* mpk_patch_symbols - look at every symbol of every symbol table
 * @see     gets the file offset of the symbol; what it returns but MPK_OK ends the walk
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_NOMEM; what see returned */
typedef enum mpk_code mpk_patch_see_fn(void *data, const struct mpk_symbol *s, uint64_t at,
				       struct mpk_error *err);
enum mpk_code mpk_patch_symbols(const struct mpk_patch *p, mpk_patch_see_fn *see, void *data,
				struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_patch_find - the symbol of this name
 * Returns  MPK_OK; MPK_E_UNSUPPORTED (not there, undefined, several that differ);
 *          MPK_E_CORRUPT; MPK_E_NOMEM */
enum mpk_code mpk_patch_find(const struct mpk_patch *p, const char *symbol,
			     struct mpk_patch_symbol *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_patch_put_zeros - append zeros to a rope */
void mpk_patch_put_zeros(struct mpk_rope *out, uint64_t count);

#endif
