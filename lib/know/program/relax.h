/* SPDX-License-Identifier: Apache-2.0 */
/* relax.h - what a function in byte code takes and gives, read from its own checks */
#ifndef MPK_PROGRAM_RELAX_H
#define MPK_PROGRAM_RELAX_H

#include "base/error.h"
#include "relaxvm/relaxvm.h"
#include "signature/signature.h"

/* mpk_relax_signatures - of each function that can be called: byte code and compiled
 * A function in byte code begins with checks of its parameters; what it returns is followed from
 * where it is made as far as there are no branches. Of compiled functions only the texts of their
 * checks say something. Byte code that makes no sense gives no types.
 * @x       need not have passed mpk_relax_check
 * @out     x->func_count places; receives *count signatures in table order, in arena
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_relax_signatures(const struct mpk_relax *x, struct mpk_arena *arena,
				   struct mpk_signature *out, size_t *count,
				   struct mpk_error *err) MPK_MUST_CHECK;

#endif
