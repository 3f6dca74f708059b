/* SPDX-License-Identifier: Apache-2.0 */
/* launch.h - from the 64-bit values of a packed call to what a driver's launch wants
 *
 * Drivers share these rules (tvm-blob(5), CALLING KERNELS): which slot is which extent,
 * how wide an argument is, what counts as 1.
 */
#ifndef MPK_DEVICE_INTERNAL_LAUNCH_H
#define MPK_DEVICE_INTERNAL_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "kernels/kernels.h"

/* How a slot becomes the bytes of an argument. */
enum mpk_param_form {
	MPK_PARAM_HANDLE, /* 8 bytes as they are */
	MPK_PARAM_BITS,   /* the low `bytes` of an integer */
	MPK_PARAM_FLOAT64,
	MPK_PARAM_FLOAT32,
	MPK_PARAM_FLOAT16,
	MPK_PARAM_BFLOAT16,
	MPK_PARAM_TENSOR_MAP, /* the handle is the address of 128 bytes to pass by value */
};

struct mpk_kernel_param {
	enum mpk_param_form form;
	uint8_t bytes;
};

/* What is known of a kernel before it is called. */
struct mpk_launch_plan {
	struct mpk_span key; /* for messages */
	struct mpk_kernel_param *args;
	size_t arg_count;
	enum mpk_launch_tag *tags; /* those that take a slot, in order; an axis may stand several
				    * times, and takes a slot each time */
	size_t tag_count;
	unsigned work_dim; /* 1 - 3: the highest axis the tags use */
	bool cooperative, programmatic, takes_shared;
};

/* The extents of one launch; 1 where unset, shared_bytes 0. All are at least 1. */
struct mpk_launch_shape {
	uint64_t grid[3], block[3], cluster[3], preferred_cluster[3];
	uint64_t shared_bytes;
};

/* mpk_launch_plan_make - study a function table's entry
 * @plan    arrays live in arena; key is borrowed from info
 * Returns  MPK_OK; MPK_E_UNSUPPORTED (argument type, tag; both named); MPK_E_CORRUPT
 *          (dynamic shared memory twice); MPK_E_NOMEM */
enum mpk_code mpk_launch_plan_make(const struct mpk_function_info *info, struct mpk_arena *arena,
				   struct mpk_launch_plan *plan,
				   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_launch_shape_of - extents from the slots behind the arguments; of several slots of one axis
 * the last that is not 0 counts
 * @slots   plan->arg_count + plan->tag_count values
 * Returns  MPK_OK; MPK_E_RANGE (count differs, negative extent); MPK_E_RAISED (block or grid overflow) */
enum mpk_code mpk_launch_shape_of(const struct mpk_launch_plan *plan, const uint64_t *slots,
				  size_t count, struct mpk_launch_shape *shape,
				  struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_launch_pack - the bytes of argument i, in this machine's order, from the first byte of
 * *value, the others 0. MPK_PARAM_HANDLE and MPK_PARAM_TENSOR_MAP: the slot itself. */
void mpk_launch_pack(const struct mpk_kernel_param *arg, uint64_t slot, uint64_t *value);

/* mpk_launch_block_size - threads in one block; cannot wrap after mpk_launch_shape_of */
uint64_t mpk_launch_block_size(const struct mpk_launch_shape *shape);

#endif
