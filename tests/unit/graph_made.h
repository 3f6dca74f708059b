/* SPDX-License-Identifier: Apache-2.0 */
/* graph_made.h - small graphs: their JSON, and kernels that tests can look into */
#ifndef MPK_TESTS_UNIT_GRAPH_MADE_H
#define MPK_TESTS_UNIT_GRAPH_MADE_H

#include "factory_made.h"

/* --- JSON ---------------------------------------------------------------------------------- */

#define INPUT(name) "{\"op\":\"null\",\"name\":\"" name "\",\"inputs\":[]}"
/* an operator; flat is "0" or "1", inputs "[0,0,0],[1,0,0]" */
#define OPERATOR(name, function, outputs, flat, inputs)                                            \
	"{\"op\":\"tvm_op\",\"name\":\"" name "\",\"attrs\":{\"func_name\":\"" function            \
	"\",\"num_inputs\":\"1\",\"num_outputs\":\"" outputs "\",\"flatten_data\":\"" flat         \
	"\"},\"inputs\":[" inputs "]}"
/* arguments, outputs and rows are lists of numbers without brackets; so are what is said of each
 * tensor: types, storages, shapes. more begins with a comma. */
#define GRAPH(nodes, arguments, outputs, rows, types, storages, shapes, more)                      \
	"{\"nodes\":[" nodes "],\"arg_nodes\":[" arguments "],\"heads\":[" outputs                 \
	"],\"node_row_ptr\":[" rows "],\"attrs\":{\"dltype\":[\"list_str\",[" types                \
	"]],\"storage_id\":[\"list_int\",[" storages "]],\"shape\":[\"list_shape\",[" shapes       \
	"]]" more "}}"
#define F32 "\"float32\""

/* --- kernels -------------------------------------------------------------------------------- */

/* What a kernel was called with last. */
static struct {
	struct mpk_dltensor args[4];
	int64_t extents[4]; /* the first of each */
	int count, calls;
} seen;

HARNESS_FN void look(union mpk_tvm_value *args, const int *codes, int count)
{
	seen.count = count;
	seen.calls++;
	for (int i = 0; i < count && i < 4; i++) {
		ck_assert_int_eq(codes[i], MPK_TVM_DLTENSOR);
		ck_assert_ptr_null(ARG(i)->strides);
		ck_assert_uint_eq(ARG(i)->byte_offset, 0);
		ck_assert_uint_eq((uintptr_t)ARG(i)->data % 64, 0);
		seen.args[i] = *ARG(i);
		seen.extents[i] = ARG(i)->ndim ? ARG(i)->shape[0] : 1;
	}
}

HARNESS_FN int64_t count_of(const struct mpk_dltensor *t)
{
	int64_t n = 1;

	for (int32_t i = 0; i < t->ndim; i++)
		n *= t->shape[i];
	return n;
}

/* c = a + b */
KERNEL(add)
{
	UNUSED_KERNEL_ARGS;
	look(args, codes, count);
	ck_assert_int_eq(count, 3);
	for (int64_t i = 0; i < count_of(ARG(2)); i++)
		((float *)ARG(2)->data)[i] =
			((const float *)ARG(0)->data)[i] + ((const float *)ARG(1)->data)[i];
	return 0;
}

/* b = 2 * a */
KERNEL(twice)
{
	UNUSED_KERNEL_ARGS;
	look(args, codes, count);
	ck_assert_int_eq(count, 2);
	for (int64_t i = 0; i < count_of(ARG(1)); i++)
		((float *)ARG(1)->data)[i] = 2 * ((const float *)ARG(0)->data)[i];
	return 0;
}

/* b = a + 1, c = a - 1 */
KERNEL(both)
{
	UNUSED_KERNEL_ARGS;
	look(args, codes, count);
	ck_assert_int_eq(count, 3);
	for (int64_t i = 0; i < count_of(ARG(0)); i++) {
		((float *)ARG(1)->data)[i] = ((const float *)ARG(0)->data)[i] + 1;
		((float *)ARG(2)->data)[i] = ((const float *)ARG(0)->data)[i] - 1;
	}
	return 0;
}

KERNEL(negate)
{
	UNUSED_KERNEL_ARGS;
	look(args, codes, count);
	for (int64_t i = 0; i < count_of(ARG(1)); i++)
		((uint8_t *)ARG(1)->data)[i] = !((const uint8_t *)ARG(0)->data)[i];
	return 0;
}

static bool is_failing;

KERNEL(raise_some)
{
	UNUSED_KERNEL_ARGS;
	(void)count;
	return is_failing ? -1 : 0;
}

static const struct made_kernel kernels[] = {
	{ "add", add },       { "twice", twice },      { "both", both },
	{ "negate", negate }, { "raise", raise_some }, { NULL, NULL },
};

/* --- models --------------------------------------------------------------------------------- */

/* out = 2 * (x + y), four elements */
#define ADD_TWICE                                                                                  \
	GRAPH(INPUT("x") "," INPUT("y") "," OPERATOR(                                              \
		      "sum", "add", "1", "0", "[0,0,0],[1,0,0]") "," OPERATOR("out", "twice", "1", \
									      "0", "[2,0,0]"),     \
	      "0,1", "[3,0,0]", "0,1,2,3,4", F32 "," F32 "," F32 "," F32, "0,1,2,3",               \
	      "[4],[4],[4],[4]", "")

HARNESS_FN void open_graph(struct made_model *m, const char *graph)
{
	made_open(m, &(struct made_factory){ .graph = graph }, kernels);
}

/* The model's answer to one tensor that holds first, first + 1, ... */
HARNESS_FN struct mpk_value call_one(struct made_model *m, int64_t count, float first)
{
	struct mpk_value x = f32_made(count, first);
	struct mpk_value result = made_call(m, &x, NULL, 1);

	mpk_value_drop(&x);
	return result;
}

HARNESS_FN enum mpk_code try_call(struct made_model *m, const struct mpk_value *values,
				  size_t count, struct mpk_error *err)
{
	struct mpk_value result = { 0 };

	return mpk_function_call(m->run, &(struct mpk_args){ values, NULL, count }, &result, err);
}

/* --- a model with a parameter --------------------------------------------------------------- */

static const float weights[4] = { 100, 200, 300, 400 };
/* as a file has them */
static const uint8_t stored_weights[16] = { 0, 0, 0xc8, 0x42, 0, 0, 0x48, 0x43,
					    0, 0, 0x96, 0x43, 0, 0, 0xc8, 0x43 };
static const int64_t four[1] = { 4 };
static const struct mpk_span weight_name[1] = { { (const uint8_t *)"w", 1 } };

HARNESS_FN struct mpk_tensor_record weight_record(void)
{
	return (struct mpk_tensor_record){
		.dtype = { MPK_DTYPE_FLOAT, 32, 1 },
		.shape = four,
		.ndim = 1,
		.data = mpk_span_of(stored_weights, sizeof stored_weights),
	};
}

/* out = x + w */
#define ADD_WEIGHT                                                                                 \
	GRAPH(INPUT("w") "," INPUT("x") "," OPERATOR("out", "add", "1", "0", "[1,0,0],[0,0,0]"),   \
	      "0,1", "[2,0,0]", "0,1,2,3", F32 "," F32 "," F32, "0,1,2", "[4],[4],[4]", "")

#endif
