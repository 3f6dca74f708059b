/* SPDX-License-Identifier: Apache-2.0 */
/* symbols.h - the symbol tables of an ELF file, what the dynamic section names, and versions of symbols */
#ifndef MPK_ELF_SYMBOLS_H
#define MPK_ELF_SYMBOLS_H

#include "base/arena.h"
#include "base/error.h"
#include "elf/reader.h"
#include "object/exports.h"

/* One symbol table; views into the file. Zero count: there is none. */
struct mpk_symtab {
	const struct mpk_elf *elf;
	Elf_Data *symbols;
	Elf_Data *extended; /* section indices beyond 0xff00, or NULL */
	size_t count;
	struct mpk_span strings;
	uint64_t off; /* offset of the table in the file, for messages */
};

/* mpk_symtab_dynamic - what a loader sees: .dynsym, or without section headers the table
 * that PT_DYNAMIC names, its length taken from the hash table
 * mpk_symtab_static - .symtab, which strip removes
 * Returns  MPK_OK, with count 0 when the file has no such table; MPK_E_CORRUPT */
enum mpk_code mpk_symtab_dynamic(const struct mpk_elf *e, struct mpk_symtab *out,
				 struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_symtab_static(const struct mpk_elf *e, struct mpk_symtab *out,
				struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_symtab_loaded - the table that PT_DYNAMIC names, whatever section headers say; their table is taken where it
 * is the same one, as a hash table leaves out symbols after the last that is defined
 * Returns  as those */
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

/* mpk_symbol_bytes - where a defined data symbol's bytes stand in the file
 * @out     its st_size bytes; when that is 0, all to the end of its section or segment
 * @off     receives their offset in the ELF file
 * Returns  MPK_OK; MPK_E_CORRUPT when there are no such bytes */
enum mpk_code mpk_symbol_bytes(const struct mpk_elf *e, const struct mpk_symbol *s,
			       struct mpk_span *out, uint64_t *off,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_elf_needed - the DT_NEEDED names in order
 * Returns  MPK_OK, also with none; MPK_E_CORRUPT; MPK_E_NOMEM */
enum mpk_code mpk_elf_needed(const struct mpk_elf *e, struct mpk_arena *arena,
			     const char *const **out, size_t *count,
			     struct mpk_error *err) MPK_MUST_CHECK;

/* --- PT_DYNAMIC, the loader's table of contents; needs no section headers ------------------ */

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

/* --- symbol versions: which a library wants of others, which it has ---------------------------
 *
 * .gnu.version_r and .gnu.version_d, found through the dynamic section, as a loader finds them */

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

/* A version by its index, as the tables of a file have it. */
struct mpk_version {
	const char *name; /* "GLIBC_2.34"; NULL: the file has no such index */
	const char *file; /* library that it is required of; NULL: the file defines it */
	bool is_hidden;   /* required by exactly this name */
};

/* Versions of symbols; names are views of the file. */
struct mpk_versions {
	const struct mpk_elf *elf;
	struct mpk_version *items; /* by index */
	size_t count;
	uint64_t symbols_off; /* offset of the table that gives each symbol its index; 0: none */
	bool defines;         /* it defines versions, perhaps only its own name */
};

/* mpk_versions_read - both tables, and where those of symbols are
 * @arena   receives the list
 * Returns  MPK_OK, also with none; MPK_E_CORRUPT with the file offset; MPK_E_NOMEM */
enum mpk_code mpk_versions_read(const struct mpk_elf *e, struct mpk_arena *arena,
				struct mpk_versions *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_versions_of - the version of a dynamic symbol, by its number; NULL: it has none
 * @index   receives that of the version; 0 and 1: none
 * @is_hidden  receives whether it is found by that version alone */
const struct mpk_version *mpk_versions_of(const struct mpk_versions *v, size_t symbol,
					  unsigned *index, bool *is_hidden);

/* An undefined dynamic symbol that a loader must find. */
struct mpk_undefined {
	const char *name;
	size_t index;     /* of the symbol */
	bool has_version; /* it belongs to a library with symbol versions */
	bool any_version; /* the file requires versions of some library */
};

/* mpk_versions_undefined - the undefined dynamic symbols but weak ones, in file order
 * Returns  as mpk_versions_needed */
enum mpk_code mpk_versions_undefined(const struct mpk_elf *e, struct mpk_arena *arena,
				     const struct mpk_undefined **out, size_t *count,
				     struct mpk_error *err) MPK_MUST_CHECK;

/* --- where calls through the procedure linkage table lead --------------------------------
 *
 * An entry jumps to what is in a slot of the global offset table, which a relocation fills with a
 * symbol. Nothing names the entries themselves. */

/* A slot and the symbol that fills it. */
struct mpk_plt_name {
	uint64_t slot;
	size_t order; /* index of its relocation; those of DT_JMPREL first */
	const char *name;
};

/* The slots of a file, read once: every call asks, and the file may have as many of both as fit. */
struct mpk_plt_names {
	struct mpk_plt_name *items; /* by slot */
	size_t count;
};

/* mpk_plt_slot - the slot that an entry jumps through; x86-64, AArch64 and RISC-V
 * @address where the entry is, or any other code
 * Returns  false: that is no entry */
bool mpk_plt_slot(const struct mpk_elf *e, uint64_t address, uint64_t *slot);

/* mpk_plt_names_read - the symbols of both tables, DT_JMPREL and DT_RELA
 * @out     borrows from e; release it with mpk_plt_names_fini; empty on failure
 * Returns  MPK_OK, also with none; MPK_E_CORRUPT; MPK_E_NOMEM */
enum mpk_code mpk_plt_names_read(const struct mpk_elf *e, struct mpk_plt_names *out,
				 struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_plt_names_find - of several relocations that fill a slot the first
 * Returns  NULL: none fills it with a symbol */
const char *mpk_plt_names_find(const struct mpk_plt_names *names, uint64_t slot);

/* mpk_plt_names_fini - safe on a zeroed structure */
void mpk_plt_names_fini(struct mpk_plt_names *names);

/* --- Which functions a short piece of code calls or jumps to --- */

/* Where a call leads. */
struct mpk_callee {
	uint64_t address;   /* offset in the file; for a call through the PLT that of its entry */
	const char *symbol; /* the symbol that the PLT entry calls; NULL: not a PLT entry */
};

/* Most code around a tail call, with everything that a compiler adds without optimisation. */
enum { MPK_CALLER_BYTES = 96 };

/* mpk_elf_callees - direct calls and jumps of x86-64 and AArch64 code
 * Code is searched, not decoded: some of what is found may be no instruction. Compare it with what there
 * is to be called.
 * @plt     the slots of e that have names
 * @bytes   of code; more than MPK_CALLER_BYTES give nothing
 * @out     most places
 * Returns  how many are filled; 0 also for other machines */
size_t mpk_elf_callees(const struct mpk_elf *e, const struct mpk_plt_names *plt, uint64_t address,
		       uint64_t bytes, struct mpk_callee *out, size_t most);

#endif
