/* SPDX-License-Identifier: Apache-2.0 */
/* libraries in this process: several at a time, of all conventions, again and again; values both
 * ways; what a context may be. The modules are tests/modules, built beside this program. */
#include <dlfcn.h>
#include <pthread.h>

#include "abi/convention.h"
#include "globals.h"
#include "library/internal/library.h"
#include "module_made.h"
#include "robust.h"
#include "runtime/internal/runtime.h"
#include "runtime/library.h"
#include "runtime/runtime.h"

/* How many files went because the last of their library was gone. */
static int released;
static void (*release_file)(void *owner);

static void release(void *owner)
{
	release_file(owner);
	released++;
}

static enum mpk_code library_open(struct mpk_runtime *runtime, const char *name,
				  struct mpk_library **out, struct mpk_error *err)
{
	struct mpk_library_file *file;
	struct mpk_host_code *code;
	char path[4100];
	enum mpk_code rc;

	(void)snprintf(path, sizeof path, "%s/%s.so", modules, name);
	ck_assert_ok(mpk_library_file_open(path, (struct mpk_span){ 0 }, NULL, &file, err), *err);
	code = mpk_library_file_code(file);
	code->wants_copy = false;
	release_file = code->release;
	code->release = release;
	rc = mpk_library_open(runtime, code, out, err);
	if (rc != MPK_OK)
		release_file(file);
	return rc;
}

static struct mpk_runtime *runtime_open(void)
{
	static struct mpk_runtime_options options;
	struct mpk_runtime *runtime = NULL;
	struct mpk_error err = { 0 };

	ck_assert_ok(mpk_runtime_create(&options, &runtime, &err), err);
	return runtime;
}

static struct mpk_value call(struct mpk_library *library, const char *name, struct mpk_value arg)
{
	struct mpk_args args = { &arg, NULL, 1 };
	struct mpk_function *f = NULL;
	struct mpk_value result = { 0 };
	struct mpk_error err = { 0 };

	ck_assert_ok(mpk_library_find(library, name, &f, &err), err);
	ck_assert_ok(mpk_function_call(f, &args, &result, &err), err);
	mpk_function_drop(f);
	return result;
}

/* One also as it is linked where functions are bound when a library is opened, or their addresses taken. */
static const char *const conventions[] = { "ffi", "ffi021", "legacy", "ffi_now", "ffi_noplt" };
enum { CONVENTIONS = MPK_ARRAY_COUNT(conventions) };

/* The context that each has is its own: the look-up of one does not answer for another. */
START_TEST(all_conventions_at_once)
{
	struct mpk_runtime *runtime = runtime_open();
	struct mpk_library *libraries[CONVENTIONS];
	struct mpk_error err = { 0 };

	for (int i = 0; i < CONVENTIONS; i++)
		ck_assert_ok(library_open(runtime, conventions[i], &libraries[i], &err), err);
	for (int round = 0; round < 3; round++)
		for (int i = 0; i < CONVENTIONS; i++) {
			struct mpk_function *f = NULL;
			struct mpk_value got =
				call(libraries[i], "echo", mpk_value_of_int(round * 10 + i));

			ck_assert_int_eq(got.integer, round * 10 + i);
			ck_assert_ok(mpk_library_find(libraries[i], "find_nobody", &f, &err), err);
			ck_assert_int_ne(mpk_function_call(f, &(struct mpk_args){ 0 }, &got, &err),
					 MPK_OK);
			mpk_function_drop(f);
		}
	for (int i = 0; i < CONVENTIONS; i++)
		mpk_library_close(libraries[i]);
	mpk_runtime_destroy(runtime);
}
END_TEST

/* One file is opened once by the linker: a second library of it is a copy with pointers of its own. */
START_TEST(one_file_twice)
{
	struct mpk_runtime *a = runtime_open(), *b = runtime_open();
	struct mpk_library *first = NULL, *second = NULL, *third = NULL;
	struct mpk_error err = { 0 };

	ck_assert_ok(library_open(a, conventions[_i], &first, &err), err);
	ck_assert_ok(library_open(b, conventions[_i], &second, &err), err);
	ck_assert_ok(library_open(b, conventions[_i], &third, &err), err);
	ck_assert_int_eq(call(first, "echo", mpk_value_of_int(5)).integer, 5);
	ck_assert_int_eq(call(second, "echo", mpk_value_of_int(6)).integer, 6);
	mpk_library_close(first);
	ck_assert_int_eq(call(third, "echo", mpk_value_of_int(7)).integer, 7);
	mpk_library_close(third);
	ck_assert_int_eq(call(second, "echo", mpk_value_of_int(8)).integer, 8);
	mpk_library_close(second);
	mpk_runtime_destroy(a);
	mpk_runtime_destroy(b);
}
END_TEST

/* Read without libelf, from the file and from memory; from memory there is no file that could be opened. */
START_TEST(files_of_their_own)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	struct mpk_runtime *runtime = runtime_open();
	struct mpk_library_file *files[2] = { 0 };
	struct mpk_library *libraries[2] = { 0 };
	struct mpk_error err = { 0 };
	char path[4100];

	(void)snprintf(path, sizeof path, "%s/%s.so", modules, conventions[_i]);
	ck_assert_ok(mpk_library_file_open(path, (struct mpk_span){ 0 }, NULL, &files[0], &err),
		     err);
	ck_assert_ok(mpk_library_file_open(NULL, robust_load(&arena, path), NULL, &files[1], &err),
		     err);
	for (int i = 0; i < 2; i++) {
		ck_assert_ok(mpk_library_open(runtime, mpk_library_file_code(files[i]),
					      &libraries[i], &err),
			     err);
		ck_assert_int_eq(call(libraries[i], "echo", mpk_value_of_int(i)).integer, i);
	}
	/* nobody finds what they import */
	ck_assert_ptr_null(dlsym(RTLD_DEFAULT, "TVMFFIErrorSetRaisedFromCStr"));
	ck_assert_ptr_null(dlsym(RTLD_DEFAULT, "TVMBackendGetFuncFromEnv"));
	for (int i = 0; i < 2; i++)
		mpk_library_close(libraries[i]);
	mpk_runtime_destroy(runtime);
}
END_TEST

/* Its constructor calls what its loader has: before that the slot is written. */
START_TEST(a_constructor_registers)
{
	struct mpk_runtime *runtime = runtime_open();
	struct mpk_library_file *file;
	struct mpk_library *library;
	struct mpk_error err = { 0 };
	char path[4100];

	(void)snprintf(path, sizeof path, "%s/system.so", modules);
	ck_assert_int_eq(mpk_library_file_open(path, (struct mpk_span){ 0 }, NULL, &file, &err),
			 MPK_OK);
	ck_assert_ok(mpk_library_open(runtime, mpk_library_file_code(file), &library, &err), err);
	ck_assert_int_eq(call(library, "echo", mpk_value_of_int(9)).integer, 9);
	mpk_library_close(library);
	mpk_runtime_destroy(runtime);
}
END_TEST

/* Static slots of the library hold handles of the loader: a fresh loader needs fresh slots. */
START_TEST(load_call_close_a_thousand_times)
{
	struct mpk_runtime *runtime = runtime_open();

	released = 0;
	for (int i = 0; i < 1000; i++) {
		struct mpk_library *library = NULL;
		struct mpk_error err = { 0 };
		struct mpk_value got;

		ck_assert_ok(library_open(runtime, conventions[i % CONVENTIONS], &library, &err),
			     err);
		got = call(library, "set_device", mpk_value_of_int(MPK_DL_CPU));
		mpk_value_drop(&got);
		mpk_library_close(library);
		ck_assert_int_eq(released, i + 1);
	}
	mpk_runtime_destroy(runtime);
}
END_TEST

/* Whoever holds a function may call it, whatever else was closed. */
START_TEST(a_function_keeps_its_library)
{
	struct mpk_runtime *runtime = runtime_open();
	struct mpk_library *library = NULL;
	struct mpk_function *f = NULL;
	struct mpk_value arg = mpk_value_of_int(7), got = { 0 };
	struct mpk_args args = { &arg, NULL, 1 };
	struct mpk_error err = { 0 };

	released = 0;
	ck_assert_ok(library_open(runtime, "ffi", &library, &err), err);
	ck_assert_ok(mpk_library_find(library, "echo", &f, &err), err);
	mpk_library_close(library);
	ck_assert_int_eq(released, 0);
	ck_assert_ok(mpk_function_call(f, &args, &got, &err), err);
	ck_assert_int_eq(got.integer, 7);
	mpk_function_drop(f);
	ck_assert_int_eq(released, 1);
	mpk_runtime_destroy(runtime);
}
END_TEST

/* --- values both ways ---------------------------------------------------------------------- */

static enum mpk_code nothing(struct mpk_function *self, const struct mpk_args *args,
			     struct mpk_value *result, struct mpk_error *err)
{
	(void)self;
	(void)args;
	(void)result;
	(void)err;
	return MPK_OK;
}

static void leave(struct mpk_module *self)
{
	(void)self;
}

/* An array that holds one of everything. */
static struct mpk_value everything(struct mpk_function *function, struct mpk_module *module)
{
	static const int64_t extents[] = { 2, 3 };
	static const struct mpk_dtype f32 = { MPK_DTYPE_FLOAT, 32, 1 };
	struct mpk_value all = { 0 };
	struct mpk_error err = { 0 };
	struct mpk_tensor *t = NULL;

	ck_assert_ok(mpk_value_of_array(7, &all, &err), err);
	struct mpk_value *items = all.array->items;

	ck_assert_ok(mpk_value_of_shape(extents, 2, &items[0], &err), err);
	ck_assert_ok(mpk_value_of_text(MPK_VALUE_STR, mpk_span_str("longer than seven"), &items[1],
				       &err),
		     err);
	ck_assert_ok(mpk_tensor_create(f32, extents, 2, MPK_STORAGE_PRIVATE, &t, &err), err);
	items[2] = mpk_value_of_tensor(t);
	items[3] = mpk_value_of_storage(mpk_storage_hold(t->storage));
	items[4] = mpk_value_of_function(mpk_function_hold(function));
	items[5] = mpk_value_of_module(mpk_module_hold(module));
	ck_assert_ok(mpk_value_of_array(0, &items[6], &err), err);
	return all;
}

static bool is_same(const struct mpk_value *a, const struct mpk_value *b)
{
	if (a->kind != b->kind)
		return false;
	if (a->kind == MPK_VALUE_SHAPE)
		return a->shape->ndim == b->shape->ndim &&
		       memcmp(a->shape->extents, b->shape->extents,
			      a->shape->ndim * sizeof a->shape->extents[0]) == 0;
	if (a->kind == MPK_VALUE_STR)
		return mpk_span_equal(mpk_value_text_span(a), mpk_value_text_span(b));
	if (a->kind == MPK_VALUE_TENSOR)
		return a->tensor->bytes == b->tensor->bytes;
	return a->opaque == b->opaque; /* the very same object */
}

START_TEST(every_kind_of_value_crosses_both_ways)
{
	struct mpk_function function = { .refs = 1, .name = "f", .call = nothing };
	struct mpk_module module = { .refs = 1, .destroy = leave };
	struct mpk_value all = everything(&function, &module);
	struct mpk_runtime *runtime = runtime_open();

	for (int i = 0; i < CONVENTIONS; i++) {
		struct mpk_library *library = NULL;
		struct mpk_error err = { 0 };
		struct mpk_value got;

		ck_assert_ok(library_open(runtime, conventions[i], &library, &err), err);
		got = call(library, "echo", all);
		ck_assert_int_eq(got.kind, MPK_VALUE_ARRAY);
		ck_assert_ptr_eq(got.array, all.array);
		mpk_value_drop(&got);
		for (size_t k = 0; k < all.array->count; k++) {
			got = call(library, "echo", all.array->items[k]);
			ck_assert_msg(is_same(&got, &all.array->items[k]), "%s: item %zu",
				      conventions[i], k);
			mpk_value_drop(&got);
		}
		mpk_library_close(library);
	}
	mpk_value_drop(&all);
	mpk_function_drop(&function);
	ck_assert_uint_eq(module.refs, 1);
	mpk_runtime_destroy(runtime);
}
END_TEST

/* Arguments laid out once, the tensor's own DLTensor passed, called many times. */
START_TEST(packed_calls_allocate_no_objects)
{
	static const struct mpk_dtype f32 = { MPK_DTYPE_FLOAT, 32, 1 };
	static const int64_t extent = 4;
	struct mpk_runtime *runtime = runtime_open();

	for (int i = 0; i < CONVENTIONS; i++) {
		struct mpk_library *library = NULL;
		struct mpk_function *f = NULL;
		struct mpk_tensor *a = NULL, *b = NULL;
		struct mpk_error err = { 0 };
		_Alignas(16) char memory[64];

		ck_assert_ok(library_open(runtime, conventions[i], &library, &err), err);
		ck_assert_ok(mpk_library_find(library, "add_one", &f, &err), err);
		ck_assert_ok(mpk_tensor_create(f32, &extent, 1, MPK_STORAGE_PRIVATE, &a, &err),
			     err);
		ck_assert_ok(mpk_tensor_create(f32, &extent, 1, MPK_STORAGE_PRIVATE, &b, &err),
			     err);
		a->dl.strides = b->dl.strides = NULL;
		ck_assert_uint_le(mpk_packed_bytes(f->convention, 2), sizeof memory);
		struct mpk_packed p = mpk_packed_at(f->convention, memory, 2);
		const struct mpk_value one = mpk_value_of_int(1);

		for (int n = 0; n < 100; n++) {
			mpk_packed_set_tensor(&p, 0, n % 2 ? &b->dl : &a->dl);
			mpk_packed_set_tensor(&p, 1, n % 2 ? &a->dl : &b->dl);
			ck_assert_ok(mpk_packed_call(&p, f->address, NULL, &err), err);
		}
		ck_assert_float_eq(((float *)a->dl.data)[3], 100);
		ck_assert_ok(mpk_packed_set(&p, 0, &one, &err), err);
		ck_assert_int_eq(mpk_packed_call(&p, f->address, NULL, &err), MPK_E_RAISED);
		mpk_tensor_drop(a);
		mpk_tensor_drop(b);
		mpk_function_drop(f);
		mpk_library_close(library);
	}
	mpk_runtime_destroy(runtime);
}
END_TEST

/* --- contexts ------------------------------------------------------------------------------ */

static void *context_elsewhere(void *out)
{
	*(struct mpk_context *)out = mpk_context_get();
	return NULL;
}

START_TEST(a_context_belongs_to_its_thread)
{
	struct mpk_runtime *runtime = runtime_open();
	struct mpk_context mine = { .runtime = runtime, .convention = MPK_CONV_FFI021 };
	struct mpk_context before = mpk_context_swap(mine), other = mine;
	pthread_t thread;

	ck_assert_ptr_eq(mpk_context_get().runtime, runtime);
	ck_assert_int_eq(pthread_create(&thread, NULL, context_elsewhere, &other), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_ptr_null(other.runtime);
	(void)mpk_context_swap(before);
	ck_assert_ptr_null(mpk_context_get().runtime);
	mpk_runtime_destroy(runtime);
}
END_TEST

/* A library may pass what it likes: NULL before it was loaded, or the context of another loader. */
START_TEST(a_foreign_context_finds_nothing)
{
	static uint64_t foreign[64];
	int (*look_up)(void *, const char *, void **) =
		(int (*)(void *, const char *, void **))mpk_module_api_find(
			"TVMBackendGetFuncFromEnv", MPK_API_BACKEND);
	int (*enter)(const char *, void *) = (int (*)(const char *, void *))mpk_module_api_find(
		"TVMBackendRegisterSystemLibSymbol", MPK_API_BACKEND);
	void *out = NULL;

	ck_assert_int_ne(look_up(NULL, "f", &out), 0);
	ck_assert_int_ne(look_up(foreign, "f", &out), 0);
	ck_assert_ptr_null(out);
	/* outside of a constructor nobody is registered for */
	ck_assert_int_eq(enter("f", foreign), 0);
}
END_TEST

static enum mpk_code answer(struct mpk_runtime *runtime, const struct mpk_args *args,
			    struct mpk_value *result, struct mpk_error *err)
{
	(void)runtime;
	(void)args;
	(void)err;
	*result = mpk_value_of_int(42);
	return MPK_OK;
}

static enum mpk_code other_answer(struct mpk_runtime *runtime, const struct mpk_args *args,
				  struct mpk_value *result, struct mpk_error *err)
{
	(void)runtime;
	(void)args;
	(void)err;
	*result = mpk_value_of_int(43);
	return MPK_OK;
}

START_TEST(the_latest_global_wins)
{
	static const struct mpk_global rows[] = { { "answer", answer },
						  { "answer", other_answer } };
	struct mpk_runtime *runtime = runtime_open();
	struct mpk_value result = { 0 };
	struct mpk_error err = { 0 };

	ck_assert_ptr_null(global_named(runtime, "answer"));
	ck_assert_ok(mpk_runtime_add_globals(runtime, rows, 2, &err), err);
	ck_assert_ok(mpk_function_call(global_named(runtime, "answer"), &(struct mpk_args){ 0 },
				       &result, &err),
		     err);
	ck_assert_int_eq(result.integer, 43);
	ck_assert_ptr_nonnull(global_named(runtime, "__tvm_set_device"));
	mpk_runtime_destroy(runtime);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("runtime");
	TCase *tc = tcase_create("runtime");
	SRunner *r = srunner_create(s);

	if (!find_modules())
		return 1;
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, all_conventions_at_once);
	tcase_add_loop_test(tc, one_file_twice, 0, CONVENTIONS);
	tcase_add_test(tc, a_constructor_registers);
	tcase_add_loop_test(tc, files_of_their_own, 0, CONVENTIONS);
	tcase_add_test(tc, load_call_close_a_thousand_times);
	tcase_add_test(tc, a_function_keeps_its_library);
	tcase_add_test(tc, every_kind_of_value_crosses_both_ways);
	tcase_add_test(tc, packed_calls_allocate_no_objects);
	tcase_add_test(tc, a_context_belongs_to_its_thread);
	tcase_add_test(tc, a_foreign_context_finds_nothing);
	tcase_add_test(tc, the_latest_global_wins);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
