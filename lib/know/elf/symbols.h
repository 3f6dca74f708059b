/* SPDX-License-Identifier: Apache-2.0 */
/* symbols.h - the symbol tables of an ELF file, what the dynamic section names, and versions of symbols */
#ifndef MPK_ELF_SYMBOLS_H
#define MPK_ELF_SYMBOLS_H

#include "base/arena.h"
#include "base/error.h"
#include "elf/reader.h"
#include "object/exports.h"

/* A symbol table; a view of the file. Count 0: the file has none. */
struct mpk_symtab {
	const struct mpk_elf *elf;
	Elf_Data *symbols;
	Elf_Data *extended; /* section indices beyond 0xff00; or NULL */
	size_t count;
	struct mpk_span strings;
	uint64_t off; /* offset of the table in the file, used in messages */
};

/* mpk_symtab_dynamic - the symbols that a loader sees: .dynsym, or without section headers the
 * table that PT_DYNAMIC names, with the length that follows from the hash table
 * mpk_symtab_static - .symtab, which strip removes
 * Returns  MPK_OK, with count 0 if the file has no such table; MPK_E_CORRUPT */
enum mpk_code mpk_symtab_dynamic(const struct mpk_elf *e, struct mpk_symtab *out,
				 struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_symtab_static(const struct mpk_elf *e, struct mpk_symtab *out,
				struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_symtab_loaded - the table that PT_DYNAMIC names. If a section header describes the same
 * table, its length is used, because a hash table leaves out symbols after the last defined one.
 * Returns  as mpk_symtab_dynamic */
enum mpk_code mpk_symtab_loaded(const struct mpk_elf *e, struct mpk_symtab *out,
				struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_symtab_open - the symbol table in section index
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_NOMEM */
enum mpk_code mpk_symtab_open(const struct mpk_elf *e, size_t index, struct mpk_symtab *out,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_symtab_get - symbol index < count
 * Returns  MPK_OK; MPK_E_CORRUPT when its name lies outside the string table */
enum mpk_code mpk_symtab_get(const struct mpk_symtab *t, size_t index, struct mpk_symbol *out,
			     struct mpk_error *err) MPK_MUST_CHECK;

/* How a function of the C API is told the name of a global function that it registers. */
enum mpk_registry {
	MPK_REGISTRY_NONE,  /* it registers none */
	MPK_REGISTRY_TEXT,  /* the first argument points at the name */
	MPK_REGISTRY_BYTES, /* at a structure that begins with the name's address and length */
};

/* mpk_registry_of - what a function of tvm-ffi or TVM does, by its symbol
 * mpk_symtab_registers - whether a library calls or defines such a function */
enum mpk_registry mpk_registry_of(const char *symbol);
bool mpk_symtab_registers(const struct mpk_symtab *t);

/* mpk_symbol_bytes - the bytes of a defined data symbol
 * @out     st_size bytes; if that is 0, all to the end of the section or segment
 * @off     receives their offset in the ELF file
 * Returns  MPK_OK; MPK_E_CORRUPT if the file has no such bytes */
enum mpk_code mpk_symbol_bytes(const struct mpk_elf *e, const struct mpk_symbol *s,
			       struct mpk_span *out, uint64_t *off,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_elf_needed - the DT_NEEDED names in order
 * Returns  MPK_OK, also with none; MPK_E_CORRUPT; MPK_E_NOMEM */
enum mpk_code mpk_elf_needed(const struct mpk_elf *e, struct mpk_arena *arena,
			     const char *const **out, size_t *count,
			     struct mpk_error *err) MPK_MUST_CHECK;

/* --- PT_DYNAMIC, which loaders read; needs no section headers ------------------ */

/* mpk_dynamic_open - the dynamic section as an array
 * @count   receives 0 when the file has none
 * Returns  MPK_OK; MPK_E_CORRUPT */
enum mpk_code mpk_dynamic_open(const struct mpk_elf *e, Elf_Data **out, size_t *count,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_dynamic_find - the value of the first entry with this tag; false when there is none */
bool mpk_dynamic_find(Elf_Data *dynamic, size_t count, int64_t tag, uint64_t *value);

/* mpk_dynamic_strings - DT_STRTAB, DT_STRSZ bytes long; empty when there is none
 * Returns  MPK_OK; MPK_E_CORRUPT */
enum mpk_code mpk_dynamic_strings(const struct mpk_elf *e, Elf_Data *dynamic, size_t count,
				  struct mpk_span *out, struct mpk_error *err) MPK_MUST_CHECK;

/* --- symbol versions: those that a library requires of others, and those that it defines -------
 *
 * .gnu.version_r and .gnu.version_d, found through the dynamic section, as loaders find them */

struct mpk_version_need {
	const char *file;    /* "libc.so.6" */
	const char *version; /* "GLIBC_2.34" */
	bool weak;           /* a loader continues without it */
};

/* mpk_versions_needed, mpk_versions_defined - in file order
 * @out     names are views of the file; the list is in arena
 * Returns  MPK_OK, also with none; MPK_E_CORRUPT with the file offset; MPK_E_NOMEM */
enum mpk_code mpk_versions_needed(const struct mpk_elf *e, struct mpk_arena *arena,
				  const struct mpk_version_need **out, size_t *count,
				  struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_versions_defined(const struct mpk_elf *e, struct mpk_arena *arena,
				   const char *const **out, size_t *count,
				   struct mpk_error *err) MPK_MUST_CHECK;

/* A version with its index in the tables of a file. */
struct mpk_version {
	const char *name; /* "GLIBC_2.34"; NULL: no version has this index */
	const char *file; /* the library that must define it; NULL: the file itself does */
	bool is_hidden;   /* only a reference with this version finds the symbol */
};

/* Versions of all symbols; names are views of the file. */
struct mpk_versions {
	const struct mpk_elf *elf;
	struct mpk_version *items; /* indexed by the version's index */
	size_t count;
	uint64_t
		symbols_off; /* offset of the table with the version index of each symbol; 0: none */
	bool defines;        /* the file defines versions, perhaps only the one with its own name */
};

/* mpk_versions_read - read the versions that a file requires and defines, and find those of its
 * symbols
 * @arena   receives the list
 * Returns  MPK_OK, also with none; MPK_E_CORRUPT with the file offset; MPK_E_NOMEM */
enum mpk_code mpk_versions_read(const struct mpk_elf *e, struct mpk_arena *arena,
				struct mpk_versions *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_versions_of - the version of a dynamic symbol, by the symbol's index; NULL: none
 * @index   receives the index of the version; 0 and 1: none
 * @is_hidden  receives whether only references with this version find the symbol */
const struct mpk_version *mpk_versions_of(const struct mpk_versions *v, size_t symbol,
					  unsigned *index, bool *is_hidden);

/* An undefined dynamic symbol that another library must define. */
struct mpk_undefined {
	const char *name;
	size_t index;     /* index of the symbol */
	bool has_version; /* it has a version of a library */
	bool any_version; /* the file requires versions of some library */
};

/* mpk_versions_undefined - the undefined dynamic symbols except weak ones, in file order
 * Returns  as mpk_versions_needed */
enum mpk_code mpk_versions_undefined(const struct mpk_elf *e, struct mpk_arena *arena,
				     const struct mpk_undefined **out, size_t *count,
				     struct mpk_error *err) MPK_MUST_CHECK;

/* --- the targets of calls through the procedure linkage table -------------------------------
 *
 * A PLT entry jumps to the address in a slot of the global offset table. A relocation fills the
 * slot with the address of a symbol. The entries themselves have no names. */

/* A slot and the symbol that fills it. */
struct mpk_plt_name {
	uint64_t slot;
	size_t order; /* index of the relocation; those of DT_JMPREL come first */
	const char *name;
};

/* The slots of a file, read once: a file may have very many, and every call instruction asks for
 * one. */
struct mpk_plt_names {
	struct mpk_plt_name *items; /* sorted by slot */
	size_t count;
};

/* mpk_plt_slot - the slot that a PLT entry jumps through; x86-64, AArch64 and RISC-V
 * @address of the entry, or of any other code
 * Returns  false: the code is not a PLT entry */
bool mpk_plt_slot(const struct mpk_elf *e, uint64_t address, uint64_t *slot);

/* mpk_plt_names_read - read the symbols in DT_JMPREL and DT_RELA
 * @out     borrows from e; release it with mpk_plt_names_fini; empty on failure
 * Returns  MPK_OK, also with none; MPK_E_CORRUPT; MPK_E_NOMEM */
enum mpk_code mpk_plt_names_read(const struct mpk_elf *e, struct mpk_plt_names *out,
				 struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_plt_names_find - the symbol of a slot; if several relocations fill it, of the first
 * Returns  NULL: no relocation fills the slot with a symbol */
const char *mpk_plt_names_find(const struct mpk_plt_names *names, uint64_t slot);

/* mpk_plt_names_fini - release; safe on a zeroed structure */
void mpk_plt_names_fini(struct mpk_plt_names *names);

/* --- the functions that a short piece of code calls or jumps to --- */

/* The target of a call. */
struct mpk_callee {
	uint64_t address;   /* its offset in the file; for a call through the PLT, the offset of the
			     * PLT entry */
	const char *symbol; /* the symbol that the PLT entry calls; NULL: not a PLT entry */
};

/* The most bytes of code around a tail call, even without optimisation. */
enum { MPK_CALLER_BYTES = 96 };

/* mpk_elf_callees - the direct calls and jumps in x86-64 and AArch64 code
 * The code is searched, not decoded, so some results may not be instructions: compare them with
 * functions that exist.
 * @plt     the named slots of e
 * @bytes   length of the code; above MPK_CALLER_BYTES nothing is returned
 * @out     has space for `most` entries
 * Returns  the number of entries in out; 0 also for other machines */
size_t mpk_elf_callees(const struct mpk_elf *e, const struct mpk_plt_names *plt, uint64_t address,
		       uint64_t bytes, struct mpk_callee *out, size_t most);

#endif
