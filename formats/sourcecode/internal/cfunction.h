/* SPDX-License-Identifier: Apache-2.0 */
/* cfunction.h - what the readers of C functions share, and nobody else includes */
#ifndef MPK_SOURCECODE_INTERNAL_CFUNCTION_H
#define MPK_SOURCECODE_INTERNAL_CFUNCTION_H

#include "sourcecode/cfunction.h"
#include "sourcecode/internal/sourcecode.h"

/* mpk_cfunction_value_read - what a parameter's or a result's declaration says
 * @others  the parameters before it, which extents of arrays may name */
void mpk_cfunction_value_read(struct mpk_span text, struct mpk_source_code_index *index,
			      const struct mpk_cfunction_value *others, size_t count,
			      struct mpk_cfunction_value *out);

/* mpk_cfunction_body_read - what the body says of results, and of extents that the declaration leaves open
 * Of a body beyond 256 KiB, or with macros in it, nothing is said.
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_cfunction_body_read(struct mpk_span body, struct mpk_source_code_index *index,
				      struct mpk_cfunction *f, struct mpk_cfunction_value *params,
				      struct mpk_error *err) MPK_MUST_CHECK;

#endif
