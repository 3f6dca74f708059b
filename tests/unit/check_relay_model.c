/* SPDX-License-Identifier: Apache-2.0 */
/* Executables that TVM 0.18 wrote: a library with its kernels, and byte code alone */
#include "abi/internal/layout.h"
#include "base/native.h"
#include "executor/executor.h"
#include "executor/plan/plan.h"
#include "executor/relay/internal/relay.h"
#include "model_library.h"
#include "runtime/devices.h"

static struct mpk_plan_stats plan_stats(const struct library *l)
{
	struct mpk_module *root = mpk_library_root(l->library);

	return mpk_plans_get_stats(
		((struct mpk_relay_vm *)mpk_node_machine((const struct mpk_node_module *)root))
			->plans);
}

/* main(data, extra) -> (relu(y), sum(y)); parameters are constants. TVM's own numbers, as byte code
 * and by its plan, and no memory is asked for once the plan stands. */
START_TEST(a_model_gives_tvms_numbers)
{
	struct mpk_value args[2] = { npy_tensor("legacy/mlp.data.npy"),
				     npy_tensor("legacy/mlp.extra.npy") };
	struct mpk_value expected[2] = { npy_tensor("legacy/mlp_llvm.out0.npy"),
					 npy_tensor("legacy/mlp_llvm.out1.npy") };
	struct mpk_allocator_stats warm = { 0 };
	struct mpk_allocator *allocator;
	struct mpk_function *f;
	struct library l = { 0 };

	if (!FIXTURES_RUN_HERE)
		SKIP_TEST("the model is a library for x86-64");
	library_open(&l, "tests/data/legacy", "mlp_vm");
	ck_assert_ok(mpk_library_find(l.library, "main", &f, &err), err);
	ck_assert_ok(mpk_devices_allocator(mpk_runtime_devices(l.runtime),
					   (struct mpk_dldevice){ MPK_DL_CPU, 0 }, &allocator,
					   &err),
		     err);
	for (int i = 0; i < 20; i++) {
		struct mpk_value result = { 0 };

		if (i == 5)
			warm = mpk_allocator_get_stats(allocator);
		ck_assert_ok(
			mpk_function_call(f, &(struct mpk_args){ args, NULL, 2 }, &result, &err),
			err);
		for (size_t k = 0; k < 2; k++)
			check_floats(&result.array->items[k], &expected[k]);
		mpk_value_drop(&result);
	}
	ck_assert_uint_eq(mpk_allocator_get_stats(allocator).given, warm.given);
	ck_assert_uint_eq(plan_stats(&l).recorded, 1);
	ck_assert_uint_eq(plan_stats(&l).replayed, 18);
	mpk_function_drop(f);
	for (size_t k = 0; k < 2; k++) {
		mpk_value_drop(&args[k]);
		mpk_value_drop(&expected[k]);
	}
	library_close(&l);
}
END_TEST

/* --- byte code alone ----------------------------------------------------------------------- */

static int add(union mpk_tvm_value *args, int *codes, int count, union mpk_tvm_value *result,
	       int *result_code, void *resource)
{
	const struct mpk_dltensor *a = args[0].v_handle, *b = args[1].v_handle;
	const struct mpk_dltensor *out = args[2].v_handle;

	(void)codes, (void)result, (void)result_code, (void)resource;
	if (count != 3 || a->ndim != 1 || a->shape[0] != 4 || b->shape[0] != 4 ||
	    out->shape[0] != 4)
		return -1;
	for (int i = 0; i < 4; i++)
		((float *)out->data)[i] = ((float *)a->data)[i] + ((float *)b->data)[i];
	return 0;
}

/* main(x) = x + w, where w is a constant; the kernel stands under its name in the library, of which
 * the file has none. */
START_TEST(byte_code_runs_with_the_kernel_of_its_name)
{
	struct mpk_arena arena = { 0 };
	struct mpk_host_code code = { .convention = MPK_CONV_LEGACY };
	struct mpk_runtime *runtime = NULL;
	struct mpk_module *root, *context;
	struct mpk_module_search search = { 0 };
	struct mpk_payload payload;
	struct mpk_function *f = NULL;
	struct mpk_host *host;
	struct mpk_tree tree;
	struct mpk_span file = fixture_load("formats/25_legacy_relay_vm.blob");
	int64_t four = 4;
	float w[4];

	ck_assert_ok(mpk_blob_read(file, MPK_GEN_LEGACY, &arena, &tree, &err), err);
	ck_assert_ok(mpk_payload_decode(mpk_kind_find(tree.nodes[0].kind), tree.gen,
					mpk_source_of(&tree.nodes[0]), &arena, &payload, &err),
		     err);
	memcpy(w, payload.u.relay.consts[2].tensor.data.data, sizeof w);
	mpk_native_from_little((uint8_t *)w, sizeof w, sizeof *w);
	code.tree = &tree;
	ck_assert_ok(mpk_runtime_create(&(struct mpk_runtime_options){ 0 }, &runtime, &err), err);
	ck_assert_ok(mpk_executors_add(runtime, &err), err);
	ck_assert_ok(mpk_host_create(runtime, &code, &host, &err), err);
	ck_assert(mpk_host_register(host, "vm_mod_fused_add", (void *)(uintptr_t)add));
	ck_assert_ok(mpk_node_modules(host, &root, &context, &err), err);
	mpk_host_drop(host);
	ck_assert_ok(mpk_module_find(root, "main", &f, &search, &err), err);
	ck_assert_msg(f != NULL, "%s", search.failure.text);
	for (int i = 0; i < 5; i++) {
		struct mpk_value x = { .kind = MPK_VALUE_TENSOR }, result = { 0 };

		ck_assert_ok(mpk_tensor_create((struct mpk_dtype){ 2, 32, 1 }, &four, 1,
					       MPK_STORAGE_PRIVATE, &x.tensor, &err),
			     err);
		for (int k = 0; k < 4; k++)
			((float *)x.tensor->dl.data)[k] = (float)(10 * i + k);
		ck_assert_ok(mpk_function_call(f, &(struct mpk_args){ &x, NULL, 1 }, &result, &err),
			     err);
		for (int k = 0; k < 4; k++)
			ck_assert_float_eq(((float *)result.tensor->dl.data)[k],
					   (float)(10 * i + k) + w[k]);
		mpk_value_drop(&result);
		mpk_value_drop(&x);
	}
	mpk_function_drop(f);
	mpk_module_drop(root);
	mpk_runtime_destroy(runtime);
	mpk_arena_fini(&arena);
	fixture_free(file);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("relay_model");
	TCase *tc = tcase_create("relay_model");
	SRunner *r = srunner_create(s);

	tcase_add_test(tc, a_model_gives_tvms_numbers);
	tcase_add_test(tc, byte_code_runs_with_the_kernel_of_its_name);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
