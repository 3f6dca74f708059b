/* SPDX-License-Identifier: Apache-2.0 */
/* changes.h - instruction hunks for kernels and host functions whose code differs in --diff */
#ifndef MPK_DISASM_CHANGES_H
#define MPK_DISASM_CHANGES_H

#include "compare/differ.h"
#include "disasm/listing.h"

/* mpk_disasm_changes - add hunks of instructions to the differences of kernels, images and host
 * functions
 * Addresses and the numbers of registers, labels and values do not count; instructions that
 * differ only in those are counted separately. In host functions, registers do count. Limits: 64
 * differences, images of 64 MiB, hunks of 16 KiB for each kernel or image and 2 KiB for each
 * host function.
 * @a, @b   the compared views, the older first
 * @diff    its items receive hunks and counts; no_instructions tells why some have none
 * Returns  MPK_OK, also without a disassembler; MPK_E_NOMEM */
enum mpk_code mpk_disasm_changes(struct mpk_disasm *d, const struct mpk_view *a,
				 const struct mpk_view *b, struct mpk_arena *arena,
				 struct mpk_diff *diff, struct mpk_error *err) MPK_MUST_CHECK;

#endif
