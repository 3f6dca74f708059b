/* SPDX-License-Identifier: Apache-2.0 */
/* prototype.h - the text that host code of TVM 0.22 and later shows when a call is wrong:
 *
 *   saxpy(alpha: float32, X: Tensor([n], float32), Y: Tensor([n, T.int64(8)], float32))
 */
#ifndef MPK_SIGNATURE_PROTOTYPE_H
#define MPK_SIGNATURE_PROTOTYPE_H

#include "base/arena.h"
#include "base/error.h"
#include "signature/signature.h"

/* mpk_prototype_read - one prototype
 * @text    all of it, from the name to the last parenthesis
 * @out     its name is a view of text; lists live in arena; texts in either
 * Returns  MPK_OK; MPK_E_SYNTAX: text is no prototype, or a cut one; MPK_E_NOMEM */
enum mpk_code mpk_prototype_read(struct mpk_span text, struct mpk_arena *arena,
				 struct mpk_signature *out, struct mpk_error *err) MPK_MUST_CHECK;

#endif
