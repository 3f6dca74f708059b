/* SPDX-License-Identifier: Apache-2.0 */
/* calls.h - which functions a short piece of code calls or jumps to */
#ifndef MPK_ELF_CALLS_H
#define MPK_ELF_CALLS_H

#include "base/error.h"
#include "elf/plt.h"

/* Where a call leads. */
struct mpk_callee {
	uint64_t address;   /* in the file; of a call through the PLT that of its entry there */
	const char *symbol; /* what the PLT entry leads to; NULL: no PLT entry */
};

/* Code that a tail call fits in, with all that a compiler puts around it when it does not optimise. */
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

/* mpk_elf_object_callees - the symbols that relocations name in the code of a function, in an object of any
 * machine; most of them are called
 * @symbol  of the function
 * @out     most places, their addresses 0
 * Returns  MPK_OK, also for files that are no objects, with none; MPK_E_CORRUPT; MPK_E_NOMEM */
enum mpk_code mpk_elf_object_callees(const struct mpk_elf *e, const char *symbol,
				     struct mpk_callee *out, size_t most, size_t *count,
				     struct mpk_error *err) MPK_MUST_CHECK;

#endif
