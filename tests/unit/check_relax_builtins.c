/* SPDX-License-Identifier: Apache-2.0 */
/* The builtins of the Relax VM one by one, at their edges. What TVM 0.27 does in each case was found
 * by calling its own. */
#include "assert_error.h"
#include "base/native.h"
#include "executor/relax/internal/relax.h"
#include "harness.h"
#include "runtime/runtime.h"
#include "value/module.h"

static const struct mpk_dtype f32 = { MPK_DTYPE_FLOAT, 32, 1 }, i64 = { MPK_DTYPE_INT, 64, 1 },
			      i32 = { MPK_DTYPE_INT, 32, 1 }, u1 = { MPK_DTYPE_UINT, 1, 1 },
			      b8 = { MPK_DTYPE_BOOL, 8, 1 }, i16 = { MPK_DTYPE_INT, 16, 1 },
			      nothing = { MPK_DTYPE_HANDLE, 0, 0 };

static struct mpk_value none(void)
{
	return (struct mpk_value){ 0 };
}

static struct mpk_value integer(int64_t i)
{
	return mpk_value_of_int(i);
}

static struct mpk_value dtype(struct mpk_dtype t)
{
	return (struct mpk_value){ .kind = MPK_VALUE_DTYPE, .dtype = t };
}

static struct mpk_value text(const char *s)
{
	struct mpk_value v = { 0 };
	struct mpk_error err = { 0 };

	ck_assert_ok(mpk_value_of_text(MPK_VALUE_STR, mpk_span_str(s), &v, &err), err);
	return v;
}

static struct mpk_value shape(size_t ndim, const int64_t *extents)
{
	struct mpk_value v = { 0 };
	struct mpk_error err = { 0 };

	ck_assert_ok(mpk_value_of_shape(extents, ndim, &v, &err), err);
	return v;
}

static struct mpk_value tensor(struct mpk_dtype t, size_t ndim, const int64_t *extents)
{
	struct mpk_tensor *made = NULL;
	struct mpk_error err = { 0 };

	ck_assert_ok(mpk_tensor_create(t, extents, ndim, MPK_STORAGE_PRIVATE, &made, &err), err);
	return mpk_value_of_tensor(made);
}

#define SHAPE(...)                                                                                 \
	shape(sizeof((const int64_t[]){ __VA_ARGS__ }) / 8, (const int64_t[]){ __VA_ARGS__ })
#define TENSOR(t, ...)                                                                             \
	tensor(t, sizeof((const int64_t[]){ __VA_ARGS__ }) / 8, (const int64_t[]){ __VA_ARGS__ })

/* Calls and drops the arguments. */
static enum mpk_code call_all(const char *name, struct mpk_value *args, size_t count,
			      struct mpk_value *result, struct mpk_error *err)
{
	const struct mpk_relax_builtin *b = mpk_relax_builtin_find(mpk_span_str(name));
	enum mpk_code code;

	ck_assert_msg(b != NULL, "%s", name);
	*result = none();
	*err = (struct mpk_error){ 0 };
	code = b->call(args, count, result, err);
	for (size_t i = 0; i < count; i++)
		mpk_value_drop(&args[i]);
	return code;
}

#define BUILTIN(name, ...)                                                                         \
	call_all("vm.builtin." name, (struct mpk_value[]){ __VA_ARGS__ },                          \
		 sizeof((struct mpk_value[]){ __VA_ARGS__ }) / sizeof(struct mpk_value), &result,  \
		 &err)

/* The call goes well. */
#define GOOD(...) ck_assert_ok(BUILTIN(__VA_ARGS__), err)
/* It raises an error of this kind. */
#define RAISES(kind, ...)                                                                          \
	do {                                                                                       \
		ck_assert_int_eq(BUILTIN(__VA_ARGS__), MPK_E_RAISED);                              \
		ck_assert_msg(strncmp(err.text, kind ": ", strlen(kind) + 2) == 0, "%s",           \
			      err.text);                                                           \
	} while (0)

static struct mpk_value result;
static struct mpk_error err;

/* Another reference to the same. */
static struct mpk_value same(struct mpk_value v)
{
	return mpk_value_hold(v);
}

START_TEST(match_shape)
{
	struct mpk_value heap = TENSOR(i64, 4);
	int64_t *slots = heap.tensor->dl.data;

	GOOD("match_shape", TENSOR(f32, 5, 3), same(heap), integer(2), integer(1), integer(0),
	     integer(0), integer(3), text("main"));
	ck_assert_int_eq(slots[0], 5);
	GOOD("match_shape", SHAPE(5, 9), same(heap), integer(2), integer(3), integer(0), integer(2),
	     integer(77), text(""));
	RAISES("RuntimeError", "match_shape", SHAPE(6, 9), same(heap), integer(2), integer(3),
	       integer(0), integer(2), integer(0), text("context"));
	ck_assert_text(err, "context: dimension 0 is 6, expected 5");
	RAISES("RuntimeError", "match_shape", SHAPE(4), same(heap), integer(1), integer(0),
	       integer(3), text(""));
	RAISES("RuntimeError", "match_shape", SHAPE(4, 4), same(heap), integer(1), integer(0),
	       integer(4), text(""));
	RAISES("IndexError", "match_shape", SHAPE(4), same(heap), integer(1), integer(1),
	       integer(4), text(""));
	RAISES("IndexError", "match_shape", SHAPE(4), same(heap), integer(1), integer(1),
	       integer(-1), text(""));
	RAISES("InternalError", "match_shape", SHAPE(4), same(heap), integer(1), integer(9),
	       integer(0), text(""));
	RAISES("InternalError", "match_shape", SHAPE(4), same(heap), integer(100), integer(1),
	       integer(0), text(""));
	RAISES("TypeError", "match_shape", SHAPE(4), none(), integer(1), integer(1), integer(0),
	       text(""));
	RAISES("TypeError", "match_shape", SHAPE(4), TENSOR(f32, 4), integer(1), integer(1),
	       integer(0), text(""));
	RAISES("TypeError", "match_shape", none(), same(heap), integer(0), text(""));
	/* no heap is needed where nothing is stored */
	GOOD("match_shape", SHAPE(4), none(), integer(1), integer(0), integer(4), text(""));
	GOOD("match_shape", tensor(f32, 0, NULL), none(), integer(0), text(""));
	mpk_value_drop(&heap);
}
END_TEST

START_TEST(prim_values)
{
	struct mpk_value heap = TENSOR(i64, 2);

	GOOD("match_prim_value", integer(7), same(heap), integer(1), integer(1), text(""));
	GOOD("make_prim_value", same(heap), integer(1), integer(1));
	ck_assert_int_eq(result.integer, 7);
	GOOD("make_prim_value", none(), integer(0), integer(-3));
	ck_assert_int_eq(result.integer, -3);
	GOOD("match_prim_value", mpk_value_of_bool(true), none(), integer(0), integer(1), text(""));
	RAISES("RuntimeError", "match_prim_value", integer(7), none(), integer(0), integer(8),
	       text(""));
	RAISES("TypeError", "match_prim_value", mpk_value_of_float(7), none(), integer(0),
	       integer(7), text(""));
	RAISES("InternalError", "make_prim_value", none(), integer(2), integer(0));
	GOOD("check_prim_value_info", integer(1), dtype(i64), text(""));
	GOOD("check_prim_value_info", mpk_value_of_bool(true), dtype(i64), text(""));
	GOOD("check_prim_value_info", integer(1), dtype(f32), text(""));
	GOOD("check_prim_value_info", integer(1), dtype(b8), text(""));
	RAISES("TypeError", "check_prim_value_info", mpk_value_of_float(1), dtype(i64), text(""));
	RAISES("TypeError", "check_prim_value_info", mpk_value_of_float(1), dtype(b8), text(""));
	RAISES("TypeError", "check_prim_value_info", TENSOR(f32, 1), dtype(f32), text(""));
	RAISES("TypeError", "check_prim_value_info", none(), dtype(i64), text(""));
	mpk_value_drop(&heap);
}
END_TEST

START_TEST(shapes)
{
	struct mpk_value heap = TENSOR(i64, 2);

	((int64_t *)heap.tensor->dl.data)[1] = 6;
	GOOD("make_shape", same(heap), integer(2), integer(1), integer(1), integer(0), integer(4));
	ck_assert_uint_eq(result.shape->ndim, 2);
	ck_assert(result.shape->extents[0] == 6 && result.shape->extents[1] == 4);
	mpk_value_drop(&result);
	GOOD("make_shape", none(), integer(0));
	ck_assert_uint_eq(result.shape->ndim, 0);
	mpk_value_drop(&result);
	RAISES("InternalError", "make_shape", none(), integer(33));
	RAISES("InternalError", "make_shape", none(), integer(2), integer(0), integer(4));
	RAISES("TypeError", "make_shape", none(), integer(1), integer(1), integer(0));
	GOOD("shape_of", TENSOR(f32, 2, 0, 5));
	ck_assert(result.shape->ndim == 3 && result.shape->extents[2] == 5);
	mpk_value_drop(&result);
	RAISES("TypeError", "shape_of", SHAPE(2));
	GOOD("check_shape_info", SHAPE(2, 3), integer(2), text(""));
	GOOD("check_shape_info", SHAPE(2, 3), integer(-1), text(""));
	RAISES("ValueError", "check_shape_info", SHAPE(2, 3), integer(3), text(""));
	RAISES("TypeError", "check_shape_info", none(), integer(2), text(""));
	mpk_value_drop(&heap);
}
END_TEST

START_TEST(check_tensor_info)
{
	GOOD("check_tensor_info", TENSOR(f32, 2, 3), integer(2), dtype(f32), text(""));
	GOOD("check_tensor_info", TENSOR(f32, 2, 3), integer(-1), none(), text(""));
	GOOD("check_tensor_info", TENSOR(f32, 2, 3), integer(-1), dtype(nothing), text(""));
	GOOD("check_tensor_info", TENSOR(f32, 2, 3), integer(2), text("three arguments"));
	/* bool has two spellings */
	GOOD("check_tensor_info", TENSOR(b8, 2), integer(1), dtype(u1), text(""));
	GOOD("check_tensor_info", TENSOR(u1, 2), integer(1), dtype(b8), text(""));
	RAISES("ValueError", "check_tensor_info", TENSOR(f32, 2), integer(2), dtype(f32), text(""));
	RAISES("ValueError", "check_tensor_info", TENSOR(i32, 2), integer(1), dtype(f32),
	       text("x"));
	ck_assert_text(err, "x: expected type float32, got int32");
	RAISES("TypeError", "check_tensor_info", integer(1), integer(0), dtype(f32), text(""));
	RAISES("TypeError", "check_tensor_info", none(), integer(0), dtype(f32), text(""));
}
END_TEST

START_TEST(tuples)
{
	struct mpk_value tuple;

	GOOD("make_tuple", integer(4), TENSOR(f32, 1));
	tuple = result;
	GOOD("tuple_getitem", same(tuple), integer(0));
	ck_assert_int_eq(result.integer, 4);
	RAISES("IndexError", "tuple_getitem", same(tuple), integer(2));
	RAISES("IndexError", "tuple_getitem", same(tuple), integer(-1));
	RAISES("TypeError", "tuple_getitem", integer(1), integer(0));
	GOOD("check_tuple_info", same(tuple), integer(2), text(""));
	RAISES("ValueError", "check_tuple_info", same(tuple), integer(3), text(""));
	RAISES("TypeError", "check_tuple_info", none(), integer(3), text(""));
	GOOD("tuple_reset_item", same(tuple), integer(1));
	ck_assert_int_eq(tuple.array->items[1].kind, MPK_VALUE_NONE);
	mpk_value_drop(&tuple);
	ck_assert_ok(call_all("vm.builtin.make_tuple", NULL, 0, &result, &err), err);
	ck_assert_uint_eq(result.array->count, 0);
	mpk_value_drop(&result);
}
END_TEST

START_TEST(conditions)
{
	static const struct {
		const char *what;
		struct mpk_dtype type;
		uint64_t bits;
		bool is_true;
	} rows[] = {
		{ "bool", { MPK_DTYPE_BOOL, 8, 1 }, 1, true },
		{ "uint1", { MPK_DTYPE_UINT, 1, 1 }, 0, false },
		{ "int8", { MPK_DTYPE_INT, 8, 1 }, 0x80, true },
		{ "int16", { MPK_DTYPE_INT, 16, 1 }, 0x100, true },
		{ "int32", { MPK_DTYPE_INT, 32, 1 }, 0x10000, true },
		{ "int64", { MPK_DTYPE_INT, 64, 1 }, UINT64_C(1) << 40, true },
		{ "uint64", { MPK_DTYPE_UINT, 64, 1 }, 0, false },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		struct mpk_value t = tensor(rows[i].type, 0, NULL);

		mpk_native_store(t.tensor->dl.data, rows[i].bits, (size_t)t.tensor->bytes);
		GOOD("read_if_cond", t);
		ck_assert_msg(result.boolean == rows[i].is_true, "%s", rows[i].what);
	}
	GOOD("read_if_cond", integer(2));
	ck_assert(result.boolean);
	RAISES("TypeError", "read_if_cond", tensor(f32, 0, NULL));
	RAISES("TypeError", "read_if_cond", TENSOR(i32, 0)); /* no first element */
	RAISES("TypeError", "read_if_cond", none());
}
END_TEST

START_TEST(shapes_out_of_tensors)
{
	struct mpk_value t = TENSOR(i16, 2);

	((int16_t *)t.tensor->dl.data)[0] = 300;
	((int16_t *)t.tensor->dl.data)[1] = -1;
	GOOD("tensor_to_shape", t);
	ck_assert(result.shape->ndim == 2 && result.shape->extents[0] == 300 &&
		  result.shape->extents[1] == -1);
	mpk_value_drop(&result);
	/* nothing is read of what has no elements: it need not have an address */
	t = TENSOR(i64, 0);
	t.tensor->dl.data = NULL;
	GOOD("tensor_to_shape", t);
	ck_assert_uint_eq(result.shape->ndim, 0);
	mpk_value_drop(&result);
	RAISES("TypeError", "tensor_to_shape", TENSOR(i64, 2, 2));
	RAISES("TypeError", "tensor_to_shape", TENSOR(f32, 2));
	RAISES("TypeError", "tensor_to_shape", TENSOR(b8, 2));
	/* a shape that is a value may be longer than the rank of any tensor */
	GOOD("tensor_to_shape", TENSOR(i64, 33));
	ck_assert_uint_eq(result.shape->ndim, 33);
	mpk_value_drop(&result);
}
END_TEST

START_TEST(reshape)
{
	struct mpk_value t = TENSOR(f32, 2, 3);

	GOOD("reshape", same(t), SHAPE(3, 2));
	ck_assert_ptr_eq(result.tensor->dl.data, t.tensor->dl.data);
	ck_assert_int_eq(result.tensor->dl.shape[0], 3);
	mpk_value_drop(&result);
	GOOD("reshape", same(t), SHAPE(5)); /* fewer elements are allowed */
	mpk_value_drop(&result);
	RAISES("ValueError", "reshape", same(t), SHAPE(7));
	RAISES("TypeError", "reshape", same(t), integer(6));
	ck_assert_int_ne(BUILTIN("reshape", same(t), SHAPE(-1)), MPK_OK);
	mpk_value_drop(&t);
}
END_TEST

START_TEST(storages)
{
	struct mpk_storage *storage = NULL;
	struct mpk_error failure = { 0 };
	struct mpk_value s;

	ck_assert_ok(mpk_storage_create(64, MPK_STORAGE_PRIVATE, &storage, &failure), failure);
	s = mpk_value_of_storage(storage);
	GOOD("alloc_tensor", same(s), integer(16), SHAPE(4, 3), dtype(f32));
	ck_assert_uint_eq(result.tensor->dl.byte_offset, 16);
	mpk_value_drop(&result);
	GOOD("alloc_tensor", same(s), integer(0), SHAPE(0), dtype(f32), text("global"));
	mpk_value_drop(&result);
	ck_assert_int_ne(BUILTIN("alloc_tensor", same(s), integer(17), SHAPE(4, 3), dtype(f32)),
			 MPK_OK);
	RAISES("ValueError", "alloc_tensor", same(s), integer(-1), SHAPE(1), dtype(f32));
	RAISES("TypeError", "alloc_tensor", none(), integer(0), SHAPE(1), dtype(f32));
	RAISES("TypeError", "alloc_tensor", same(s), integer(0), SHAPE(1), integer(0));
	RAISES("TypeError", "alloc_storage", none(), SHAPE(1), integer(0), dtype(f32), text(""));
	RAISES("TypeError", "alloc_shape_heap", integer(5), integer(1));
	mpk_value_drop(&s);
	GOOD("copy", integer(5));
	ck_assert_int_eq(result.integer, 5);
	ck_assert_ok(call_all("vm.builtin.null_value", NULL, 0, &result, &err), err);
	ck_assert_int_eq(result.kind, MPK_VALUE_NONE);
}
END_TEST

START_TEST(views_and_offsets)
{
	struct mpk_value t = TENSOR(f32, 64), view;

	ck_assert_ok(call_all("runtime.TVMTensorCreateView",
			      (struct mpk_value[]){ same(t), SHAPE(2, 4), dtype(i32), integer(64) },
			      4, &result, &err),
		     err);
	view = result;
	ck_assert_uint_eq(view.tensor->dl.byte_offset, 64);
	ck_assert_ok(call_all("vm.builtin.ensure_zero_offset", (struct mpk_value[]){ same(view) },
			      1, &result, &err),
		     err);
	ck_assert_uint_eq(result.tensor->dl.byte_offset, 0);
	ck_assert_ptr_eq(result.tensor->dl.data, (char *)t.tensor->dl.data + 64);
	mpk_value_drop(&result);
	mpk_value_drop(&view);
	ck_assert_int_eq(
		call_all("runtime.TVMArrayCreateView",
			 (struct mpk_value[]){ same(t), SHAPE(64), dtype(f32), integer(4) }, 4,
			 &result, &err),
		MPK_E_RAISED);
	mpk_value_drop(&t);
}
END_TEST

/* What has to copy needs a runtime, which the thread that calls has. */
START_TEST(copies)
{
	struct mpk_runtime *runtime = NULL;
	struct mpk_value t = TENSOR(f32, 8), view;
	struct mpk_context before;

	ck_assert_ok(mpk_runtime_create(&(struct mpk_runtime_options){ 0 }, &runtime, &err), err);
	before = mpk_context_swap((struct mpk_context){ .runtime = runtime });
	((float *)t.tensor->dl.data)[1] = 5;
	GOOD("to_device", same(t), integer(1), integer(0));
	ck_assert_ptr_ne(result.tensor->dl.data, t.tensor->dl.data);
	ck_assert_float_eq(((float *)result.tensor->dl.data)[1], 5);
	mpk_value_drop(&result);
	RAISES("ValueError", "to_device", same(t), integer(-1), integer(0));
	ck_assert_ok(call_all("runtime.TVMTensorCreateView",
			      (struct mpk_value[]){ same(t), SHAPE(2), dtype(f32), integer(4) }, 4,
			      &result, &err),
		     err);
	view = result;
	GOOD("ensure_zero_offset", view); /* four bytes are no alignment: a copy */
	ck_assert_uint_eq(result.tensor->dl.byte_offset, 0);
	ck_assert_float_eq(((float *)result.tensor->dl.data)[0], 5);
	mpk_value_drop(&result);
	(void)mpk_context_swap(before);
	mpk_value_drop(&t);
	mpk_runtime_destroy(runtime);
}
END_TEST

START_TEST(asserts)
{
	ck_assert_int_eq(call_all("relax.run.assert_op",
				  (struct mpk_value[]){ mpk_value_of_bool(false), text("why") }, 2,
				  &result, &err),
			 MPK_E_RAISED);
	ck_assert_text(err, "AssertionError: why");
	ck_assert_int_eq(call_all("relax.run.assert_op",
				  (struct mpk_value[]){ mpk_value_of_bool(false), text("") }, 2,
				  &result, &err),
			 MPK_E_RAISED);
	ck_assert_text(err, "AssertionError: Assertion Failed");
	ck_assert_int_eq(call_all("relax.run.assert_op",
				  (struct mpk_value[]){ mpk_value_of_bool(false), text("{} of {}"),
							mpk_value_of_int(5), SHAPE(7) },
				  4, &result, &err),
			 MPK_E_RAISED);
	ck_assert_text(err, "AssertionError: 5 of (7,)");
	ck_assert_int_eq(call_all("relax.run.assert_op",
				  (struct mpk_value[]){ mpk_value_of_bool(false), text(""),
							mpk_value_of_int(5), mpk_value_of_int(6) },
				  4, &result, &err),
			 MPK_E_RAISED);
	ck_assert_text(err, "AssertionError: 5, 6");
	ck_assert_ok(call_all("relax.run.assert_op",
			      (struct mpk_value[]){ mpk_value_of_bool(true), text("why") }, 2,
			      &result, &err),
		     err);
	ck_assert_ok(call_all("relax.run.shape_to_tensor", (struct mpk_value[]){ SHAPE(7, 8) }, 1,
			      &result, &err),
		     err);
	ck_assert_int_eq(((int64_t *)result.tensor->dl.data)[1], 8);
	mpk_value_drop(&result);
}
END_TEST

/* The table is in the order of names, so that a name is in it once and can be searched for; and the row
 * that a name leads to is its own, whichever family has it. */
START_TEST(the_table_is_in_order)
{
	const struct mpk_relax_builtin *a, *before = NULL;

	for (size_t i = 0; (a = mpk_relax_builtin_at(i)) != NULL; i++) {
		ck_assert_msg(!before || strcmp(before->name, a->name) < 0, "%s", a->name);
		ck_assert_ptr_eq(mpk_relax_builtin_find(mpk_span_str(a->name)), a);
		before = a;
	}
	ck_assert_ptr_nonnull(before);
	ck_assert_ptr_null(mpk_relax_builtin_find(mpk_span_str("vm.builtin.nobody")));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("relax_builtins");
	TCase *tc = tcase_create("relax_builtins");
	SRunner *r = srunner_create(s);

	tcase_add_test(tc, match_shape);
	tcase_add_test(tc, prim_values);
	tcase_add_test(tc, shapes);
	tcase_add_test(tc, check_tensor_info);
	tcase_add_test(tc, tuples);
	tcase_add_test(tc, conditions);
	tcase_add_test(tc, shapes_out_of_tensors);
	tcase_add_test(tc, reshape);
	tcase_add_test(tc, storages);
	tcase_add_test(tc, views_and_offsets);
	tcase_add_test(tc, copies);
	tcase_add_test(tc, asserts);
	tcase_add_test(tc, the_table_is_in_order);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
