/* SPDX-License-Identifier: Apache-2.0 */
/* compiled.h - compiled functions of the Relax VM, as the byte code that they were compiled from
 *
 * Such a function (exec_mode="compiled") makes one call after the other: it puts arguments into a list by
 * TVMBackendAnyListSetPackedArg, calls a builtin or a kernel, and moves the result into a register by
 * TVMBackendAnyListMoveFromPackedReturn. These calls are found again in code for x-86-64, for those who want to know
 * what goes where; nothing runs by them.
 */
#ifndef MPK_HOSTCODE_COMPILED_H
#define MPK_HOSTCODE_COMPILED_H

#include "base/arena.h"
#include "base/error.h"
#include "elf/image.h"
#include "elf/wants.h"
#include "relaxvm/relaxvm.h"

/* mpk_compiled_read - an executable whose compiled functions are byte code, as far as their code is understood
 * Functions with branches stay compiled ones, and so do those of which one argument list is not known for certain. An
 * argument that is not known is the register MPK_RELAX_REG_VOID.
 * @image   the library that it is in
 * @w       what its code wants
 * @out     in arena, with the functions of x in front; x itself where none is understood
 * Returns  MPK_OK; MPK_E_NOMEM. Linear in the code of the library */
enum mpk_code mpk_compiled_read(const struct mpk_relax *x, const struct mpk_image *image,
				const struct mpk_wants *w, struct mpk_arena *arena,
				struct mpk_relax *out, struct mpk_error *err) MPK_MUST_CHECK;

#endif
