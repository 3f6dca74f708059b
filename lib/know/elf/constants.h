/* SPDX-License-Identifier: Apache-2.0 */
/* constants.h - the constant data of compiled code, and which of it a function's code points at */
#ifndef MPK_ELF_CONSTANTS_H
#define MPK_ELF_CONSTANTS_H

#include "base/arena.h"
#include "elf/reader.h"

/* Bytes that no code writes: a read-only section, or a piece of one. */
struct mpk_constants {
	struct mpk_span bytes; /* of the file; borrowed */
	uint64_t address;      /* where a loader maps them; of objects 0 */
};

/* mpk_elf_constants - where texts of code can stand: sections with contents that are neither
 * code nor writable; of a file without section headers, what its loaded segments hold
 * @skip    bytes of the file to leave out (the blob); may be empty
 * @out     in the order of the file; lives in arena
 * Returns  MPK_OK, also with none; MPK_E_NOMEM. Sections that cannot be read are left out, and where they
 *          overlap, those that together have more than twice the file's bytes. */
enum mpk_code mpk_elf_constants(const struct mpk_elf *e, struct mpk_span skip,
				struct mpk_arena *arena, struct mpk_constants **out, size_t *count,
				struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_constants_budget - how many bytes of constants, and of the code that points at them, may be looked at
 * more than once: a few times what there is, which keeps the work linear whatever a file holds. Texts can
 * overlap, and as many addresses as a file likes point at one. */
uint64_t mpk_constants_budget(const struct mpk_constants *constants, size_t count);

/* mpk_elf_code_first - where the code at address, of so many bytes, computes target first: a displacement to
 * the program counter on x86-64, adr, or adrp and add, on AArch64
 * Returns  the bytes of code before; UINT64_MAX: nowhere, or another machine, an object, or code that the file
 *          does not hold */
uint64_t mpk_elf_code_first(const struct mpk_elf *e, uint64_t address, uint64_t bytes,
			    uint64_t target);

struct mpk_code_address {
	uint64_t from; /* of the instruction */
	uint64_t to;   /* what it computes */
};

/* mpk_elf_code_addresses - the addresses that code computes relative to its own, in the order of the code
 * @code    receives the code, if there are any
 * @out     receives the first max of them; some may be by chance
 * Returns  how many there are in out; 0 for objects and machines whose code is not searched */
size_t mpk_elf_code_addresses(const struct mpk_elf *e, uint64_t address, uint64_t bytes,
			      struct mpk_span *code, struct mpk_code_address *out, size_t max);

#endif
