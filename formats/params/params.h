/* SPDX-License-Identifier: Apache-2.0 */
/* params.h - named tensors: parameter files and the lists inside payloads (FORMAT.md) */
#ifndef MPK_FORMATS_PARAMS_PARAMS_H
#define MPK_FORMATS_PARAMS_PARAMS_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/cursor.h"
#include "base/error.h"
#include "base/rope.h"
#include "base/span.h"
#include "tensor/tensor.h"
#include "wire.h"

/* The number that a parameter file begins with. */
#define MPK_PARAMS_MAGIC UINT64_C(0xF7E58D4F05049CB7)

struct mpk_params {
	uint64_t reserved;     /* of a file: 0 */
	struct mpk_strs names; /* as many as tensors, in the same order */
	const struct mpk_tensor_record *tensors;
	uint64_t tensors_off; /* after reading a file: where the first tensor begins in it */
	const struct mpk_rope *content; /* for writing: the tensors as stored; NULL: tensors */
};

/* mpk_params_read - a whole .params file: magic, names, tensors
 * @space   what offsets count in, "file"
 * Returns  MPK_OK; MPK_E_CORRUPT, also for bytes behind the last tensor; MPK_E_NOMEM */
enum mpk_code mpk_params_read(struct mpk_span file, struct mpk_arena *arena, struct mpk_params *out,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_params_write - the inverse, to the byte */
void mpk_params_write(struct mpk_rope *r, const struct mpk_params *p);

/* mpk_tensors_read - the tensors that belong to names which were read before
 * @count   how many tensors the payload announces; another number than names' is refused
 * @out     as many as names, in arena; data are views of the bytes
 * Returns  MPK_OK; MPK_E_CORRUPT with the offset in the cursor's space; MPK_E_NOMEM */
enum mpk_code mpk_tensors_read(struct mpk_cursor *c, struct mpk_strs names, uint64_t count,
			       struct mpk_arena *arena, const struct mpk_tensor_record **out,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_tensors_write - the tensors of p one after the other; borrowed until r is written */
void mpk_tensors_write(struct mpk_rope *r, const struct mpk_params *p);

/* mpk_params_find - the index of a name, or names.count */
size_t mpk_params_find(const struct mpk_params *p, struct mpk_span name);

#endif
