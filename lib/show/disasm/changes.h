/* SPDX-License-Identifier: Apache-2.0 */
/* changes.h - what --diff says of kernels and host functions whose code differs, instruction by instruction */
#ifndef MPK_DISASM_CHANGES_H
#define MPK_DISASM_CHANGES_H

#include "compare/differ.h"
#include "disasm/listing.h"

/* mpk_disasm_changes - put hunks of instructions into what of a comparison has other code: kernels, images and
 * host functions
 * Addresses do not count, nor do numbers of registers, labels and values: how many instructions differ in those
 * alone is counted. Registers of host functions do. Of at most 64 of all, and images of 64 MiB; a hunk list has 16 KiB,
 * 2 KiB of a host function.
 * @a, @b   the views that were compared, the older first
 * @diff    receives hunks and counts in items that have none; and why some have none (no_instructions)
 * Returns  MPK_OK, also where there is no disassembler; MPK_E_NOMEM */
enum mpk_code mpk_disasm_changes(struct mpk_disasm *d, const struct mpk_view *a,
				 const struct mpk_view *b, struct mpk_arena *arena,
				 struct mpk_diff *diff, struct mpk_error *err) MPK_MUST_CHECK;

#endif
