/* SPDX-License-Identifier: Apache-2.0 */
/* linking.h - what the dynamic linker does with a library: the entries that it follows, the words
 * that it relocates, the hash table in which it finds symbols. For answers to whether a library
 * loads. */
#ifndef MPK_ELF_LINKING_H
#define MPK_ELF_LINKING_H

#include "elf/reader.h"
#include "elf/symbols.h"

/* gABI; musl 1.2.3 and glibc before 2.36 do not define them */
#define MPK_DT_RELRSZ 35
#define MPK_DT_RELR 36

/* The dynamic section of a library; views of the file. */
struct mpk_linking {
	const struct mpk_elf *elf;
	Elf_Data *dynamic;
	size_t count; /* number of its entries */
	uint64_t off; /* its offset in the ELF file */
	struct mpk_span strings;
	/* on this machine a function pointer is the address of a descriptor (64-bit PowerPC with ELFv1,
	 * IA-64, PA-RISC) */
	bool has_descriptors;
};

/* mpk_linking_open - find the dynamic section, by address, as the dynamic linker does
 * Returns  MPK_OK; MPK_E_CORRUPT: there is none, it is not at its address, it has no end, or its
 *          strings lie outside the file; MPK_E_NOMEM */
enum mpk_code mpk_linking_open(const struct mpk_elf *e, struct mpk_linking *out,
			       struct mpk_error *err) MPK_MUST_CHECK;

struct mpk_relocation {
	uint64_t address; /* address of the word that is relocated */
	uint64_t symbol;  /* index of its symbol; 0: none */
	uint32_t type;    /* type, a number of the machine; 0 for relocations of DT_RELR */
	bool is_relative; /* adds the address at which the library is loaded; false also if the type
			   * is not known */
	bool is_call; /* stores the result of calling a function (STT_GNU_IFUNC); false also if the
		       * type is not known */
	bool is_lazy; /* from DT_JMPREL: unless mpk_linking_binds_now, its symbol is looked up at
		       * the first call */
	bool is_static_tls; /* needs a place in the static TLS block, which every thread has from
			     * its start */
	bool is_foreign; /* no dynamic linker of the machine knows this type; false if the machine's
			  * types are not known here */
	bool has_addend; /* false: the addend is the word at address */
	int64_t addend;
	uint64_t off; /* offset of the relocation in the ELF file */
};

/* mpk_linking_relocations - walk the relocations of DT_RELA, DT_REL, DT_RELR and DT_JMPREL
 * @take    called for each, in file order of each table
 * Returns  MPK_OK, also with none; MPK_E_CORRUPT: a table lies outside the file or ends with a part
 *          of an entry; MPK_E_NOMEM */
enum mpk_code mpk_linking_relocations(const struct mpk_linking *l,
				      void (*take)(void *arg, const struct mpk_relocation *r),
				      void *arg, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_linking_binds_now - whether all symbols are looked up when the library is loaded
 * (DT_BIND_NOW, DF_BIND_NOW, DF_1_NOW) */
bool mpk_linking_binds_now(const struct mpk_linking *l);

/* mpk_linking_refusal - why dlopen refuses a file because of its kind or flags: a program, or a
 * library with DF_1_NOOPEN
 * Returns  a predicate, "is a program"; NULL: dlopen accepts it */
const char *mpk_linking_refusal(const struct mpk_linking *l);

/* The static TLS block of a library: thread-local variables at a fixed offset from the thread
 * pointer (R_X86_64_TPOFF64, "initial exec"). Once a process runs, the dynamic linker has little
 * space for more. */
struct mpk_linking_tls {
	uint64_t bytes, alignment; /* in bytes; 0: the library needs none */
};

/* mpk_linking_static_tls - how much static TLS a library needs
 * Returns  MPK_OK; as mpk_linking_relocations */
enum mpk_code mpk_linking_static_tls(const struct mpk_linking *l, const struct mpk_symtab *symbols,
				     struct mpk_linking_tls *out,
				     struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_linking_check_header - check the ELF header as glibc's dynamic linker does: known OS ABI and
 * version, padding of zeros
 * Returns  MPK_OK; MPK_E_CORRUPT */
enum mpk_code mpk_linking_check_header(const struct mpk_elf *e,
				       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_linking_check_hash - check that every symbol can be found through DT_GNU_HASH
 * Time and memory are linear in the size of the table, however its chains run.
 * Returns  MPK_OK, also without that table; MPK_E_CORRUPT */
enum mpk_code mpk_linking_check_hash(const struct mpk_linking *l, const struct mpk_symtab *symbols,
				     struct mpk_error *err) MPK_MUST_CHECK;

/* --- whether the dynamic linker finds a symbol in a library through DT_GNU_HASH ---
 *
 * The dynamic linker does not check the table: if it is damaged, some symbols are not found, or
 * memory outside the library is read. Either happens only when such a name is looked up. */

enum mpk_hash_found {
	MPK_HASH_FOUND,
	MPK_HASH_LOST,   /* the name is not found */
	MPK_HASH_STRAYS, /* the search reads outside of the loaded segments: the process ends */
};

struct mpk_hash {
	const struct mpk_elf *elf;
	const struct mpk_symtab *symbols;
	uint64_t bloom, buckets, chains; /* addresses of these parts of the table */
	uint32_t bucket_count, first, bloom_count, shift;
	bool exists;        /* false: there is no such table, or its header is not loaded */
	bool stops_loading; /* the dynamic linker ends the process when it reads the header */
	uint64_t left;      /* number of chain links that may still be followed, in all searches */
};

/* mpk_hash_open - find the table of a library
 * @symbols the table of mpk_symtab_loaded; borrowed */
void mpk_hash_open(const struct mpk_linking *l, const struct mpk_symtab *symbols,
		   struct mpk_hash *out);

/* mpk_hash_next - walk the symbols of one name; each has another version
 * @after   0, or the last result
 * Returns  the index of the next; 0: there is none, or no table */
size_t mpk_hash_next(struct mpk_hash *h, const char *name, size_t after);

/* mpk_hash_find - look for a name as the dynamic linker does
 * Returns  MPK_HASH_FOUND also without a table, and after h->left links: nothing is known then */
enum mpk_hash_found mpk_hash_find(struct mpk_hash *h, const char *name);

#endif
