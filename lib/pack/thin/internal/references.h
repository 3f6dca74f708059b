/* SPDX-License-Identifier: Apache-2.0 */
/* references.h - words of a library that hold addresses of device code: found by references.c, changed by move.c */
#ifndef MPK_THIN_INTERNAL_REFERENCES_H
#define MPK_THIN_INTERNAL_REFERENCES_H

#include "elf/linking.h"
#include "elf/symbols.h"
#include "thin/internal/thin.h"

/* A word of the library that is relocated, and points to a container. */
struct mpk_thin_reference {
	uint64_t address;   /* of the word */
	uint64_t target;    /* what it holds */
	uint64_t addend_at; /* file offset of the addend; 0: the word itself holds it */
	size_t container;
	bool is_symbolic; /* a symbol gives the address */
};

struct mpk_thin_references {
	struct mpk_thin_reference *items; /* malloc'ed; by address */
	size_t count, cap;
};

/* mpk_thin_target - what the dynamic linker stores by a relocation, counted from where the library is loaded
 * @symbols mpk_symtab_loaded
 * @is_target receives whether it is an address of the library
 * Returns  MPK_OK; MPK_E_CORRUPT: its symbol does not read */
enum mpk_code mpk_thin_target(const struct mpk_elf *elf, const struct mpk_symtab *symbols,
			      const struct mpk_relocation *r, uint64_t *out, bool *is_target,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_thin_is_address - whether a symbol's value is an address in the library: not of thread-local and absolute ones */
bool mpk_thin_is_address(const struct mpk_symbol *symbol);

/* mpk_thin_container_at - the container that has an address; count: none */
size_t mpk_thin_container_at(const struct mpk_thin_container *c, size_t count, uint64_t address);

/* mpk_thin_references - all words that point into containers, and which containers have to stay
 * @c       loaded containers by address; referenced and pinned are set
 * @out     items are the caller's, also on failure
 * Returns  MPK_OK; MPK_E_UNSUPPORTED: something points into the middle of a container that changes; MPK_E_CORRUPT;
 *          MPK_E_NOMEM */
enum mpk_code mpk_thin_references(const struct mpk_elf *elf, struct mpk_thin_container *c,
				  size_t count, struct mpk_thin_references *out,
				  struct mpk_error *err) MPK_MUST_CHECK;

#endif
