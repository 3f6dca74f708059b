/* SPDX-License-Identifier: Apache-2.0 */
/* place.h - on which devices byte code wants what it works on
 *
 * Texts of checks may name the device of a parameter (annotation.h), but they can be left out, and no text says
 * which device a number of the machine's means. Kernels check where their tensors are: what flows into
 * one is wanted there.
 */
#ifndef MPK_EXECUTOR_RELAX_INTERNAL_PLACE_H
#define MPK_EXECUTOR_RELAX_INTERNAL_PLACE_H

#include "executor/relax/internal/program.h"

/* mpk_relax_place - add to the inputs of p's signatures, and to p->devices, what the kernels that the library's
 * host code can tell of say (struct mpk_host_code); what was known before stays
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_relax_place(struct mpk_relax_program *p, struct mpk_error *err) MPK_MUST_CHECK;

#endif
