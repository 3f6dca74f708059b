/* SPDX-License-Identifier: Apache-2.0 */
/* hash.h - whether the dynamic linker finds a symbol of a library, by the table that it looks in (DT_GNU_HASH)
 *
 * It believes the table: of one that is damaged it does not find some symbols, or reads where nothing is
 * loaded when it looks for a name. Both show when that name is looked for, not before.
 */
#ifndef MPK_ELF_HASH_H
#define MPK_ELF_HASH_H

#include "elf/linking.h"

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
	bool exists;   /* false: there is no such table, or its head is not loaded */
	uint64_t left; /* links of chains that are followed at most, in all searches */
};

/* mpk_hash_open - find the table
 * @symbols mpk_symtab_loaded; borrowed */
void mpk_hash_open(const struct mpk_linking *l, const struct mpk_symtab *symbols,
		   struct mpk_hash *out);

/* mpk_hash_stops_loading - whether the dynamic linker ends the process at the sight of its head */
bool mpk_hash_stops_loading(const struct mpk_hash *h);

/* mpk_hash_find - look for a name as the dynamic linker does
 * Without a table, and when no more chains are followed, all is found. */
enum mpk_hash_found mpk_hash_find(struct mpk_hash *h, const char *name);

#endif
