/* SPDX-License-Identifier: Apache-2.0 */
/* rows.h - the rows of a file while they are found */
#ifndef MPK_DIGEST_INTERNAL_ROWS_H
#define MPK_DIGEST_INTERNAL_ROWS_H

#include "digest/digest.h"

struct mpk_digest_rows {
	const struct mpk_view *view;
	struct mpk_arena *arena;
	struct mpk_code_digest *items; /* malloc'ed */
	size_t count, cap;
	struct mpk_error *err;
};

/* mpk_digest_rows_add - add one; MPK_E_NOMEM */
enum mpk_code mpk_digest_rows_add(struct mpk_digest_rows *r,
				  const struct mpk_code_digest *row) MPK_MUST_CHECK;

/* mpk_digest_rows_host - add those of the host code of a library that TVM calls
 * Returns  MPK_OK; MPK_E_NOMEM; as mpk_canon_end */
enum mpk_code mpk_digest_rows_host(struct mpk_digest_rows *r) MPK_MUST_CHECK;

#endif
