/* SPDX-License-Identifier: Apache-2.0 */
/* compiled.h - compiled functions of the Relax VM, as the byte code that they were compiled from
 *
 * Such a function (exec_mode="compiled") makes one call after the other: it puts arguments into a
 * list by TVMBackendAnyListSetPackedArg, calls a builtin or a kernel, and moves the result into a
 * register by TVMBackendAnyListMoveFromPackedReturn. These calls are recovered from x86-64 code, to
 * show how data flows; the recovered byte code is never executed. */
#ifndef MPK_HOSTCODE_COMPILED_H
#define MPK_HOSTCODE_COMPILED_H

#include "base/arena.h"
#include "base/error.h"
#include "elf/image.h"
#include "elf/wants.h"
#include "relaxvm/relaxvm.h"

/* mpk_compiled_read - replace the compiled functions of an executable by byte code, as far as their
 * code is understood
 * Functions with branches, and those with an argument list that is not certain, stay compiled
 * functions. An unknown argument is the register MPK_RELAX_REG_VOID.
 * @image   the library that contains the executable
 * @w       what its code asks for
 * @out     in arena; the functions of x come first; x itself if no function is understood
 * Returns  MPK_OK; MPK_E_NOMEM. Linear in the code of the library */
enum mpk_code mpk_compiled_read(const struct mpk_relax *x, const struct mpk_image *image,
				const struct mpk_wants *w, struct mpk_arena *arena,
				struct mpk_relax *out, struct mpk_error *err) MPK_MUST_CHECK;

#endif
