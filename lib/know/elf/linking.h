/* SPDX-License-Identifier: Apache-2.0 */
/* linking.h - what the dynamic linker does to a library: the entries that it follows, the words that it relocates,
 * the hash table by which symbols are found in it. For those who tell beforehand whether it can. */
#ifndef MPK_ELF_LINKING_H
#define MPK_ELF_LINKING_H

#include "elf/reader.h"
#include "elf/symbols.h"

/* gABI; musl 1.2.3 and glibc before 2.36 do not know them */
#define MPK_DT_RELRSZ 35
#define MPK_DT_RELR 36

/* The dynamic section of a library; views of the file. */
struct mpk_linking {
	const struct mpk_elf *elf;
	Elf_Data *dynamic;
	size_t count; /* of its entries */
	uint64_t off; /* where it is in the ELF file */
	struct mpk_span strings;
	/* functions of the machine are called through data that point at them (64-bit PowerPC with ELFv1, IA-64,
	 * PA-RISC) */
	bool has_descriptors;
};

/* mpk_linking_open - the dynamic section, as the dynamic linker finds it in memory
 * Returns  MPK_OK; MPK_E_CORRUPT: there is none, or not at its address, it has no end, or its strings lie outside
 *          the file; MPK_E_NOMEM */
enum mpk_code mpk_linking_open(const struct mpk_elf *e, struct mpk_linking *out,
			       struct mpk_error *err) MPK_MUST_CHECK;

struct mpk_relocation {
	uint64_t address; /* what is relocated */
	uint64_t symbol;  /* its index; 0: none */
	uint32_t type;    /* of the machine; 0 for those of DT_RELR */
	bool is_relative; /* adds where the library is loaded; false also where that type is not known */
	bool is_call; /* stores what a function returns (STT_GNU_IFUNC); false as above */
	bool is_lazy; /* of DT_JMPREL: unless mpk_linking_binds_now, its symbol is looked for when it is called */
	bool is_static_tls; /* wants a place in the block of variables that every thread has from its beginning */
	bool is_foreign; /* no dynamic linker of the machine knows this type; false where its types are not known here */
	bool has_addend; /* false: it is at address */
	int64_t addend;
	uint64_t off; /* of the relocation in the ELF file */
};

/* mpk_linking_relocations - all that the dynamic section names: DT_RELA, DT_REL, DT_RELR, DT_JMPREL
 * @take    called for each, in file order of each table
 * Returns  MPK_OK, also with none; MPK_E_CORRUPT: a table lies outside the file or has no whole entries;
 *          MPK_E_NOMEM */
enum mpk_code mpk_linking_relocations(const struct mpk_linking *l,
				      void (*take)(void *arg, const struct mpk_relocation *r),
				      void *arg, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_linking_binds_now - whether all symbols are looked for when it is loaded (DT_BIND_NOW, DF_BIND_NOW, DF_1_NOW) */
bool mpk_linking_binds_now(const struct mpk_linking *l);

/* mpk_linking_refusal - why dlopen refuses a file by its kind or its flags: a program, or one that says so (DF_1_NOOPEN)
 * Returns  a sentence without its subject, "is a program"; NULL: it does not */
const char *mpk_linking_refusal(const struct mpk_linking *l);

/* What every thread has from its beginning of a library's variables (R_X86_64_TPOFF64, "initial exec"): the dynamic
 * linker has little room for it once a process runs. */
struct mpk_linking_tls {
	uint64_t bytes, alignment; /* 0: nothing */
};

/* mpk_linking_static_tls - how much of that a library wants
 * Returns  MPK_OK; as mpk_linking_relocations */
enum mpk_code mpk_linking_static_tls(const struct mpk_linking *l, const struct mpk_symtab *symbols,
				     struct mpk_linking_tls *out,
				     struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_linking_check_header - what glibc's dynamic linker refuses in the header of a file of its machine: systems and
 * versions of their interfaces that it does not know, and padding that is not zero
 * Returns  MPK_OK; MPK_E_CORRUPT */
enum mpk_code mpk_linking_check_header(const struct mpk_elf *e,
				       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_linking_check_hash - whether DT_GNU_HASH leads to every symbol that it is for
 * Time and memory grow with the table alone, however its chains run.
 * Returns  MPK_OK, also without that table; MPK_E_CORRUPT */
enum mpk_code mpk_linking_check_hash(const struct mpk_linking *l, const struct mpk_symtab *symbols,
				     struct mpk_error *err) MPK_MUST_CHECK;

/* --- whether the dynamic linker finds a symbol of a library, by the table that it looks in (DT_GNU_HASH) ---
 *
 * It believes the table: of one that is damaged it does not find some symbols, or reads where nothing is
 * loaded when it looks for a name. Both show when that name is looked for, not before. */

enum mpk_hash_found {
	MPK_HASH_FOUND,
	MPK_HASH_LOST,   /* it is said not to be there */
	MPK_HASH_STRAYS, /* the search leaves what is loaded: the process ends */
};

struct mpk_hash {
	const struct mpk_elf *elf;
	const struct mpk_symtab *symbols;
	uint64_t bloom, buckets, chains; /* addresses */
	uint32_t bucket_count, first, bloom_count, shift;
	bool exists;        /* false: there is no such table, or its head is not loaded */
	bool stops_loading; /* the dynamic linker ends the process at the sight of its head */
	uint64_t left;      /* links of chains that are followed at most, in all searches */
};

/* mpk_hash_open - find the table
 * @symbols mpk_symtab_loaded; borrowed */
void mpk_hash_open(const struct mpk_linking *l, const struct mpk_symtab *symbols,
		   struct mpk_hash *out);

/* mpk_hash_next - the symbols of a name, one after the other: of several each has a version of its own
 * @after   0, or what the last call gave
 * Returns  the number of the next; 0: there is none, or no table */
size_t mpk_hash_next(struct mpk_hash *h, const char *name, size_t after);

/* mpk_hash_find - look for a name as the dynamic linker does
 * Without a table, and when no more chains are followed, all is found. */
enum mpk_hash_found mpk_hash_find(struct mpk_hash *h, const char *name);

#endif
