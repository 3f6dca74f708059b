/* SPDX-License-Identifier: Apache-2.0 */
/* constants.h - the constant data of compiled code, and which of it a function's code points at */
#ifndef MPK_ELF_CONSTANTS_H
#define MPK_ELF_CONSTANTS_H

#include "base/arena.h"
#include "elf/reader.h"

/* Constant bytes: a read-only section, or a part of one. */
struct mpk_constants {
	struct mpk_span bytes; /* of the file; borrowed */
	uint64_t address;      /* address in memory; 0 in objects */
};

/* mpk_elf_constants - where the texts of code can be: sections with contents that are neither code
 * nor writable; in a file without section headers, its loaded segments
 * @skip    bytes of the file to leave out (the blob); may be empty
 * @out     in the order of the file; lives in arena
 * Returns  MPK_OK, also with none; MPK_E_NOMEM. Sections that cannot be read are left out; so are
 *          overlapping ones, once the total exceeds twice the size of the file. */
enum mpk_code mpk_elf_constants(const struct mpk_elf *e, struct mpk_span skip,
				struct mpk_arena *arena, struct mpk_constants **out, size_t *count,
				struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_constants_budget - how many bytes of constants, and of code that points at them, may be read
 * in total: a few times their size. Texts can overlap, and any number of addresses can point at one
 * text, so without a limit the work would not be linear. */
uint64_t mpk_constants_budget(const struct mpk_constants *constants, size_t count);

/* mpk_elf_code_first - find the first place at which code computes an address: a displacement from
 * the program counter on x86-64; adr, or adrp and add, on AArch64
 * @address, @bytes  the code
 * Returns  the offset in the code, in bytes; UINT64_MAX: none, another machine, an object, or code
 *          that the file does not hold */
uint64_t mpk_elf_code_first(const struct mpk_elf *e, uint64_t address, uint64_t bytes,
			    uint64_t target);

struct mpk_code_address {
	uint64_t from; /* address of the instruction */
	uint64_t to;   /* address that it computes */
};

/* mpk_elf_code_addresses - the addresses that code computes relative to the program counter, in the
 * order of the code
 * @code    receives the bytes of the code, if there are any
 * @out     receives the first max addresses; the code is not decoded, so some may be wrong
 * Returns  the number of addresses in out; 0 for objects, and for machines whose code is not
 *          searched */
size_t mpk_elf_code_addresses(const struct mpk_elf *e, uint64_t address, uint64_t bytes,
			      struct mpk_span *code, struct mpk_code_address *out, size_t max);

#endif
