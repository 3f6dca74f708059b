/* SPDX-License-Identifier: Apache-2.0 */
/* metadata.h - what a library that was compiled ahead of time says about itself
 *
 * Its function get_c_metadata returns a pointer to structures in the library's own data (TVM 0.9 to
 * 0.19). They are read here once: every pointer is followed only where it stays within the
 * library's memory, every count is checked against what is left there.
 */
#ifndef MPK_EXECUTOR_STATIC_INTERNAL_METADATA_H
#define MPK_EXECUTOR_STATIC_INTERNAL_METADATA_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"
#include "dtype/dtype.h"

struct mpk_aot_tensor {
	struct mpk_span name;
	struct mpk_dtype dtype;
	const int64_t *shape; /* not checked */
	size_t ndim;
};

struct mpk_aot_tensors {
	const struct mpk_aot_tensor *items;
	size_t count;
};

/* A constant, and where it is wanted in the memory for all of them. */
struct mpk_aot_constant {
	uint64_t offset; /* bytes; below 2^63 */
	struct mpk_span content;
};

struct mpk_aot_metadata {
	const char *mod_name; /* "tvmgen_default": its entry is <mod_name>___tvm_main__ */
	struct mpk_aot_tensors inputs, outputs, workspaces;
	const struct mpk_aot_constant *constants;
	size_t constant_count;
};

/* mpk_aot_metadata_read - the structures at an address
 * @code    the function that returned it, of the library whose data it is
 * @out     in arena; names and contents are views of the library's data
 * Returns  MPK_OK; MPK_E_CORRUPT: a pointer that leads out of the library's data, a count that does
 *          not fit there, a constant that is no tensor; MPK_E_UNSUPPORTED: another version than
 *          1; MPK_E_NOMEM */
enum mpk_code mpk_aot_metadata_read(const void *code, const void *data, struct mpk_arena *arena,
				    struct mpk_aot_metadata *out,
				    struct mpk_error *err) MPK_MUST_CHECK;

#endif
