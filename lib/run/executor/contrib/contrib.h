/* SPDX-License-Identifier: Apache-2.0 */
/* contrib.h - global functions that compiled code calls for operations without a generated kernel:
 * sorting, random numbers, matrix products (tvm.contrib.*)
 *
 * TVM has them in its runtime, some only if it was built with the library in their names. */
#ifndef MPK_EXECUTOR_CONTRIB_CONTRIB_H
#define MPK_EXECUTOR_CONTRIB_CONTRIB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "dtype/dtype.h"
#include "runtime/runtime.h"
#include "value/function.h"
#include "value/value.h"

/* A family of such functions, for the runtime's table of globals. */
struct mpk_contrib_globals {
	const struct mpk_global *rows;
	size_t count;
};

/* tvm.contrib.sort.argsort(in, out, axis, is_ascend), .sort(in, out, axis, is_ascend), .topk(in,
 * values, indices, k, axis, ret_type, is_ascend), .argsort_nms(in, lengths, out, axis, is_ascend).
 * Equal elements keep their order in both directions; -0 equals 0. NaN comes last in both
 * directions (in TVM its place varies). All numeric types are supported. */
extern const struct mpk_contrib_globals mpk_contrib_sort;

/* tvm.contrib.{cblas,mkl}.matmul(a, b, c, transpose_a, transpose_b[, alpha, beta]), and
 * .batch_matmul and .batch_matmul_iterative for three dimensions: c = alpha * a b + beta * c, in
 * float32 or float64. They use plain loops, so models compiled for a BLAS run without it, but
 * slowly. */
extern const struct mpk_contrib_globals mpk_contrib_blas;

/* mpk_contrib_add_globals - let the code of a runtime call all of these functions, and:
 * tvm.contrib.random.uniform([seed, seed2,] low, high, out), .normal([seed, seed2,] mean,
 * deviation, out), .randint(low, high, out), .random_fill(out), .random_fill_for_measure(out),
 * .seed(seed)
 * Each runtime has one stream of random numbers. It begins with seed 0, so it is the same in each
 * run until .seed changes it; TVM's stream begins anywhere. A call with a seed other than (0, 0)
 * does not use the stream and gives the same numbers each time. The numbers differ from TVM's.
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_contrib_add_globals(struct mpk_runtime *runtime,
				      struct mpk_error *err) MPK_MUST_CHECK;

/* --- elements in order: keys that compare as unsigned integers, whatever their type ----------- */

/* An element; its index decides the order of equal keys. */
struct mpk_order_item {
	uint64_t key, index;
};

/* mpk_order_key - the sort key of an element of a numeric type: a < b exactly if key(a) < key(b),
 * or the reverse if descending; -0 and 0 have the same key, NaN has the largest key in both
 * directions */
uint64_t mpk_order_key(struct mpk_dtype t, const void *element, bool descending);

/* mpk_order_sort - sort so that the first `some` items are the smallest by key, then by index; the
 * order of the others is undefined
 * @items   in the order of their indexes
 * @scratch room for as many items
 * @some    at most count */
void mpk_order_sort(struct mpk_order_item *items, struct mpk_order_item *scratch, size_t count,
		    size_t some);

/* --- arguments of these functions, and how they raise: for the files of this folder --- */

/* The arguments of a call with the name of the function, for messages. */
struct mpk_contrib_args {
	const char *name;
	const struct mpk_value *values;
	size_t count;
};

/* mpk_contrib_raise - MPK_E_RAISED "KIND: name: sentence" */
enum mpk_code mpk_contrib_raise(const struct mpk_contrib_args *a, struct mpk_error *err,
				const char *kind, const char *fmt, ...)
	MPK_PRINTF(4, 5) MPK_MUST_CHECK;
#define mpk_contrib_raise(...) mpk_failed(mpk_contrib_raise(__VA_ARGS__))

/* mpk_contrib_arity - that there are least to most arguments */
enum mpk_code mpk_contrib_arity(const struct mpk_contrib_args *a, size_t least, size_t most,
				struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_contrib_int, mpk_contrib_float - a number; ints count as bools and floats, too */
enum mpk_code mpk_contrib_int(const struct mpk_contrib_args *a, size_t i, int64_t *out,
			      struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_contrib_float(const struct mpk_contrib_args *a, size_t i, double *out,
				struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_contrib_tensor - a tensor, anywhere, with memory unless it has no elements; borrowed
 * Returns  MPK_OK; MPK_E_RAISED, a TypeError */
enum mpk_code mpk_contrib_tensor(const struct mpk_contrib_args *a, size_t i,
				 struct mpk_tensor **out, struct mpk_error *err) MPK_MUST_CHECK;

#endif
