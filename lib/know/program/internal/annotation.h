/* SPDX-License-Identifier: Apache-2.0 */
/* annotation.h - the types that the compiler wrote into the texts of its checks
 *
 * Checks of parameters and results carry a text for their messages, such as
 *   ErrorContext(fn=main, loc=param[0], param=x, annotation=R.Tensor((n, 4), dtype="float32"))
 * (relax::VMShapeLower of apache/tvm). It is the only place where symbolic extents have names.
 */
#ifndef MPK_PROGRAM_INTERNAL_ANNOTATION_H
#define MPK_PROGRAM_INTERNAL_ANNOTATION_H

#include "base/arena.h"
#include "signature/signature.h"

struct mpk_relax_annotation {
	struct mpk_span function;
	bool is_return;
	size_t param; /* its number, unless is_return */
	struct mpk_type type;
};

/* mpk_relax_annotation_read - take such a text apart
 * @out     views of text and arena
 * Returns  false when it is none, or one of another form; a type that is not understood is
 *          MPK_TYPE_ANY */
bool mpk_relax_annotation_read(struct mpk_span text, struct mpk_arena *arena,
			       struct mpk_relax_annotation *out);

#endif
