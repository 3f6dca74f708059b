/* SPDX-License-Identifier: Apache-2.0 */
/* plt.h - where calls through the procedure linkage table lead
 *
 * An entry jumps to what is in a slot of the global offset table, which a relocation fills with a
 * symbol. Nothing names the entries themselves.
 */
#ifndef MPK_ELF_PLT_H
#define MPK_ELF_PLT_H

#include "base/error.h"
#include "elf/reader.h"
#include "elf/symbols.h"

/* A slot and the symbol that fills it. */
struct mpk_plt_name {
	uint64_t slot;
	size_t order; /* of its relocation; those of DT_JMPREL first */
	const char *name;
};

/* All of a file: calls ask for one after the other, and there are as many of both as the file has room for. */
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

#endif
