/* SPDX-License-Identifier: Apache-2.0 */
/* Builtins as compiled functions of the Relax VM call them, by cells of tvm-ffi: what they give, that errors are
 * those of the builtins, and which objects come back in the next call */
#include "abi/ffi_object.h"
#include "executor/relax/builtin.h"
#include "executor/relax/internal/relax.h"
#include "relax_made.h"

enum { BYTES = 48, LARGE = 64 << 10 };

static struct mpk_ffi_any machine; /* of the call under way */
static void (*steps)(void);        /* what the compiled function does */

static enum mpk_code body(const struct mpk_args *args, struct mpk_value *result,
			  struct mpk_error *err)
{
	(void)result, (void)err;
	machine = (struct mpk_ffi_any){ .type_index = MPK_FFI_OPAQUE,
					.v_ptr = args->values[0].opaque };
	steps();
	return MPK_OK;
}

static const struct made_kernel kernels[] = { { .name = "__vmtir__body", .call = body },
					      { .name = NULL } };

/* Calls a compiled function that does this, so many times in one machine. */
static void run(void (*what)(void), int times)
{
	struct mpk_value result = { 0 };
	struct made program = { 0 };
	struct mpk_error err = { 0 };
	struct model m = { 0 };

	program.funcs[program.func_count++] = (struct mpk_relax_func){ .kind = MPK_RELAX_TIR,
								       .name = mpk_span_str("body"),
								       .register_file_size = 1 };
	steps = what;
	model_open(&m, &program, kernels);
	for (int i = 0; i < times; i++)
		ck_assert_ok(model_call(&m, "body", NULL, 0, &result, &err), err);
	model_close(&m);
}

/* --- cells --------------------------------------------------------------------------------- */

static struct mpk_ffi_any any_int(int64_t i)
{
	return (struct mpk_ffi_any){ .type_index = MPK_FFI_INT, .v_int64 = i };
}

static struct mpk_ffi_any any_text(const char *s)
{
	return (struct mpk_ffi_any){ .type_index = MPK_FFI_RAW_STR, .v_c_str = s };
}

static struct mpk_ffi_any any_type(uint8_t code, uint8_t bits)
{
	struct mpk_ffi_any any = { .type_index = MPK_FFI_DTYPE };

	any.v_dtype = (struct mpk_dtype){ code, bits, 1 };
	return any;
}

static struct mpk_ffi_any any_shape(int64_t a, int64_t b)
{
	return (struct mpk_ffi_any){ .type_index = MPK_FFI_SHAPE,
				     .v_ptr = mpk_ffi_make_shape(
					     MPK_CONV_FFI, (const int64_t[]){ a, b }, b ? 2 : 1) };
}

static void drop(struct mpk_ffi_any *any)
{
	mpk_ffi_item_drop(MPK_CONV_FFI, any);
}

static int try_call(const char *name, const struct mpk_ffi_any *args, int32_t count,
		    struct mpk_ffi_any *result)
{
	struct mpk_function *f;
	struct mpk_error err = { 0 };
	void *handle;
	int rc;

	ck_assert_ok(
		mpk_relax_builtin_function(mpk_relax_builtin_find(mpk_span_str(name)), &f, &err),
		err);
	handle = mpk_conv_handle(MPK_CONV_FFI, f);
	ck_assert_ptr_nonnull(handle);
	*result = (struct mpk_ffi_any){ 0 };
	rc = ((struct mpk_ffi_function_cell *)mpk_ffi_cell(MPK_CONV_FFI, handle))
		     ->safe_call(handle, args, count, result);
	mpk_function_drop(f);
	return rc;
}

static struct mpk_ffi_any call(const char *name, const struct mpk_ffi_any *args, int32_t count)
{
	struct mpk_ffi_any result;

	ck_assert_msg(try_call(name, args, count, &result) == 0, "%s: %s", name,
		      mpk_raised_get()->message);
	return result;
}

#define CALL_CELLS(name, ...)                                                                      \
	call("vm.builtin." name, (const struct mpk_ffi_any[]){ __VA_ARGS__ },                      \
	     sizeof((const struct mpk_ffi_any[]){ __VA_ARGS__ }) / sizeof(struct mpk_ffi_any))
#define FAIL_CELLS(name, text, ...)                                                                \
	do {                                                                                       \
		struct mpk_ffi_any failed;                                                         \
		ck_assert_int_eq(try_call("vm.builtin." name,                                      \
					  (const struct mpk_ffi_any[]){ __VA_ARGS__ },             \
					  sizeof((const struct mpk_ffi_any[]){ __VA_ARGS__ }) /    \
						  sizeof(struct mpk_ffi_any),                      \
					  &failed),                                                \
				 -1);                                                              \
		ck_assert_msg(strstr(mpk_raised_get()->message, text), "%s",                       \
			      mpk_raised_get()->message);                                          \
	} while (0)

static struct mpk_ffi_any storage_of(int64_t bytes)
{
	struct mpk_ffi_any shape = any_shape(bytes, 0);
	struct mpk_ffi_any got = CALL_CELLS("alloc_storage", machine, shape, any_int(0),
					    any_type(MPK_DTYPE_UINT, 8), any_text("global"));

	drop(&shape);
	ck_assert_int_eq(got.type_index, MPK_FFI_STORAGE);
	return got;
}

static struct mpk_ffi_any tensor_in(struct mpk_ffi_any storage, int64_t rows, int64_t columns)
{
	struct mpk_ffi_any shape = any_shape(rows, columns);
	struct mpk_ffi_any got = CALL_CELLS("alloc_tensor", storage, any_int(0), shape,
					    any_type(MPK_DTYPE_FLOAT, 32));
	const struct mpk_dltensor *t = mpk_ffi_cell(MPK_CONV_FFI, got.v_ptr);

	drop(&shape);
	ck_assert_int_eq(got.type_index, MPK_FFI_TENSOR);
	ck_assert_int_eq(t->ndim, 2);
	ck_assert_int_eq(t->shape[0], rows);
	ck_assert_int_eq(t->shape[1], columns);
	ck_assert_int_eq(t->strides[0], columns);
	ck_assert_int_eq(t->strides[1], 1);
	ck_assert_ptr_nonnull(t->data);
	memset(t->data, 0x5a, (size_t)(rows * columns) * 4);
	return got;
}

/* --- what comes back ----------------------------------------------------------------------- */

static struct mpk_ffi_any held;
static void *seen[8];
static int calls;

static void take_and_drop(void)
{
	struct mpk_ffi_any storage = storage_of(BYTES), tensor = tensor_in(storage, 2, 3);
	int at = calls++;

	seen[2 * at] = storage.v_ptr;
	seen[2 * at + 1] = tensor.v_ptr;
	if (at == 1) {
		held = tensor;
		mpk_ffi_hold(MPK_CONV_FFI, held.v_ptr);
	}
	drop(&storage);
	drop(&tensor);
	if (at == 3)
		mpk_ffi_drop(MPK_CONV_FFI, held.v_ptr);
}

/* The third call finds that somebody has the tensor of the second. */
START_TEST(idle_objects_come_back)
{
	calls = 0;
	run(take_and_drop, 4);
	ck_assert_int_eq(calls, 4);
	ck_assert_ptr_eq(seen[0], seen[2]);
	ck_assert_ptr_eq(seen[1], seen[3]);
	ck_assert_ptr_ne(seen[3], seen[5]);
	ck_assert_ptr_eq(seen[4], seen[6]);
	ck_assert_ptr_eq(seen[5], seen[7]);
}
END_TEST

static void take_many(void)
{
	struct mpk_ffi_any large = storage_of(LARGE), storage = storage_of(BYTES * 8), tensors[12];

	ck_assert(mpk_ffi_is_only(large.v_ptr));
	ck_assert(!mpk_ffi_is_only(storage.v_ptr));
	for (int i = 0; i < 12; i++)
		tensors[i] = tensor_in(storage, i % 6 + 1, 8 - i % 3);
	for (int i = 0; i < 12; i++)
		for (int j = 0; j < i; j++)
			ck_assert_ptr_ne(tensors[i].v_ptr, tensors[j].v_ptr);
	for (int i = 0; i < 12; i++)
		drop(&tensors[i]);
	for (int i = 0; i < 50; i++) {
		tensors[0] = tensor_in(storage, i % 7 + 1, 3);
		drop(&tensors[0]);
	}
	drop(&storage);
	drop(&large);
	calls++;
}

/* More tensors at once, and of more shapes, than a storage keeps; a storage that is too large to be kept. */
START_TEST(many_tensors_in_one_storage)
{
	calls = 0;
	run(take_many, 3);
	ck_assert_int_eq(calls, 3);
}
END_TEST

static void take_more_and_less(void)
{
	struct mpk_ffi_any first[4];
	int count = calls++ % 3 + 1;

	for (int i = 0; i < count; i++) {
		first[i] = storage_of(BYTES << (calls % 2 * 4));
		for (int j = 0; j < i; j++)
			ck_assert_ptr_ne(first[i].v_ptr, first[j].v_ptr);
	}
	for (int i = 0; i < count; i++)
		drop(&first[i]);
}

START_TEST(another_order_is_no_error)
{
	calls = 0;
	run(take_more_and_less, 30);
	ck_assert_int_eq(calls, 30);
}
END_TEST

/* --- extents ------------------------------------------------------------------------------- */

static void match_and_make(void)
{
	struct mpk_ffi_any heap = CALL_CELLS("alloc_shape_heap", machine, any_int(3));
	const struct mpk_dltensor *t = mpk_ffi_cell(MPK_CONV_FFI, heap.v_ptr);
	struct mpk_ffi_any shape = any_shape(2 + calls, 7), made;
	const struct mpk_ffi_shape_cell *cell;

	ck_assert_int_eq(t->shape[0], 3);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(((int64_t *)t->data)[i], 0);
	(void)CALL_CELLS("match_shape", shape, heap, any_int(2), any_int(1), any_int(2), any_int(0),
			 any_int(7), any_text("where"));
	made = CALL_CELLS("make_shape", heap, any_int(2), any_int(0), any_int(5), any_int(1),
			  any_int(2));
	cell = mpk_ffi_cell(MPK_CONV_FFI, made.v_ptr);
	ck_assert_uint_eq(cell->size, 2);
	ck_assert_int_eq(cell->data[0], 5);
	ck_assert_int_eq(cell->data[1], 2 + calls);
	(void)CALL_CELLS("match_shape", made, heap, any_int(2), any_int(2), any_int(0), any_int(3),
			 any_int(2), any_text("where"));
	FAIL_CELLS("match_shape", "where: dimension 1 is 7, expected 8", shape, heap, any_int(2),
		   any_int(2), any_int(0), any_int(0), any_int(8), any_text("where"));
	FAIL_CELLS("match_shape", "expected 1 dimensions, got 2", shape, heap, any_int(1),
		   any_int(2), any_int(0), any_text("where"));
	FAIL_CELLS("match_shape", "slot 3 of a shape heap of 3", shape, heap, any_int(2),
		   any_int(1), any_int(3), any_int(2), any_int(0), any_text(""));
	FAIL_CELLS("make_shape", "slot -1 of a shape heap of 3", heap, any_int(1), any_int(1),
		   any_int(-1));
	FAIL_CELLS("make_shape", "make code 9", heap, any_int(1), any_int(9), any_int(0));
	seen[calls] = made.v_ptr;
	drop(&made);
	drop(&shape);
	drop(&heap);
	calls++;
}

START_TEST(extents_are_matched_and_made)
{
	calls = 0;
	run(match_and_make, 3);
	ck_assert_ptr_eq(seen[0], seen[1]);
	ck_assert_ptr_eq(seen[0], seen[2]);
}
END_TEST

/* --- the others ---------------------------------------------------------------------------- */

static void call_others(void)
{
	struct mpk_ffi_any storage = storage_of(BYTES), tensor = tensor_in(storage, 2, 3), got;
	struct mpk_ffi_any shape = any_shape(6, 0), large = any_shape(7, 0);
	const struct mpk_dltensor *t = mpk_ffi_cell(MPK_CONV_FFI, tensor.v_ptr), *view;

	got = CALL_CELLS("reshape", tensor, shape);
	view = mpk_ffi_cell(MPK_CONV_FFI, got.v_ptr);
	ck_assert_ptr_eq(view->data, t->data);
	ck_assert_int_eq(view->ndim, 1);
	ck_assert_int_eq(view->shape[0], 6);
	drop(&got);
	FAIL_CELLS("reshape", "28 bytes of a tensor of 24", tensor, large);
	FAIL_CELLS("reshape", "argument 0 must be a tensor", shape, shape);
	got = CALL_CELLS("copy", tensor);
	ck_assert_ptr_eq(got.v_ptr, tensor.v_ptr);
	drop(&got);
	got = CALL_CELLS("copy", any_text("text"));
	ck_assert_int_eq(got.type_index, MPK_FFI_SMALL_STR);
	got = call("vm.builtin.null_value", NULL, 0);
	ck_assert_int_eq(got.type_index, MPK_FFI_NONE);
	(void)CALL_CELLS("check_tensor_info", tensor, any_int(2), any_type(MPK_DTYPE_FLOAT, 32),
			 any_text("where"));
	(void)CALL_CELLS("check_tensor_info", tensor, any_int(-1), any_text("where"));
	FAIL_CELLS("check_tensor_info", "where: expected 3 dimensions, got 2", tensor, any_int(3),
		   any_type(MPK_DTYPE_FLOAT, 32), any_text("where"));
	FAIL_CELLS("check_tensor_info", "expected type", tensor, any_int(2),
		   any_type(MPK_DTYPE_INT, 32), any_text(""));
	FAIL_CELLS("check_tensor_info", "expected a tensor, got shape", shape, any_int(2),
		   any_type(MPK_DTYPE_INT, 32), any_text(""));
	FAIL_CELLS("alloc_tensor", "of a storage of", storage, any_int(44), shape,
		   any_type(MPK_DTYPE_FLOAT, 32));
	FAIL_CELLS("alloc_tensor", "offset -4", storage, any_int(-4), shape,
		   any_type(MPK_DTYPE_FLOAT, 32));
	FAIL_CELLS("alloc_tensor", "argument 0 must be a storage", shape, any_int(0), shape,
		   any_type(MPK_DTYPE_FLOAT, 32));
	FAIL_CELLS("alloc_storage", "device 9 of", machine, shape, any_int(9),
		   any_type(MPK_DTYPE_UINT, 8));
	FAIL_CELLS("alloc_shape_heap", "slots", machine, any_int(-1));
	drop(&shape);
	drop(&large);
	drop(&tensor);
	drop(&storage);
}

START_TEST(results_and_errors_are_those_of_the_builtins)
{
	run(call_others, 2);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("relax_cells");
	TCase *tc = tcase_create("relax_cells");
	SRunner *r = srunner_create(s);

	tcase_add_test(tc, idle_objects_come_back);
	tcase_add_test(tc, many_tensors_in_one_storage);
	tcase_add_test(tc, another_order_is_no_error);
	tcase_add_test(tc, extents_are_matched_and_made);
	tcase_add_test(tc, results_and_errors_are_those_of_the_builtins);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_ENV);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
