/* SPDX-License-Identifier: Apache-2.0 */
/* Models compiled ahead of time, made by hand: what the entry receives, and metadata that leads
 * elsewhere. Its structures are data of this program, whose functions stand for the library's. */
#include "executor/static/internal/static.h"
#include "factory_made.h"
#include "tensor/tensor.h"

/* --- metadata as a compiler writes it ------------------------------------------------------- */

struct c_tensor {
	const char *name;
	const int64_t *shape;
	int64_t ndim;
	struct mpk_dtype dtype;
};

struct c_constant {
	const char *name;
	int64_t offset, bytes;
	const void *data;
};

struct c_metadata {
	int64_t version;
	const struct c_tensor *inputs;
	int64_t input_count;
	const struct c_tensor *outputs;
	int64_t output_count;
	const struct c_tensor *workspaces;
	int64_t workspace_count;
	const struct c_constant *constants;
	int64_t constant_count;
	const char *mod_name;
};

#define F32 { MPK_DTYPE_FLOAT, 32, 1 }

static int64_t four[] = { 4 }, three[] = { 3 }, huge[] = { INT64_MAX, 2 }, negative[] = { -4 };
static struct c_tensor inputs[2], outputs[1], workspaces[2];
static struct c_constant constants[2];
static uint8_t records[2][128];
static struct c_metadata metadata;
static void *returned; /* by get_c_metadata */
static int returned_code;

/* x: float32[4], weight_0: float32[4] -> float32[4], of module "made"; nothing else */
static void reset_metadata(void)
{
	inputs[0] = (struct c_tensor){ "x", four, 1, F32 };
	inputs[1] = (struct c_tensor){ "weight_0", four, 1, F32 };
	outputs[0] = (struct c_tensor){ "output", four, 1, F32 };
	workspaces[0] = (struct c_tensor){ "pool", four, 1, F32 };
	workspaces[1] = (struct c_tensor){ "other", three, 1, { MPK_DTYPE_UINT, 8, 1 } };
	metadata = (struct c_metadata){ .version = 1,
					.inputs = inputs,
					.input_count = 2,
					.outputs = outputs,
					.output_count = 1,
					.mod_name = "made" };
	returned = &metadata;
	returned_code = MPK_TVM_HANDLE;
}

/* A constant of count bytes at an offset of their memory. */
static void set_constant(size_t i, int64_t offset, const char *bytes, int64_t count)
{
	static const struct mpk_dtype u8 = { MPK_DTYPE_UINT, 8, 1 };
	struct mpk_tensor_record record = {
		.dtype = u8, .shape = &count, .ndim = 1, .data = mpk_span_of(bytes, (size_t)count)
	};
	struct mpk_arena arena = { 0 };
	struct mpk_rope rope = mpk_rope_of(&arena);
	struct mpk_error err = { 0 };
	struct mpk_span flat;

	mpk_tensor_write(&rope, &record);
	ck_assert_ok(mpk_rope_flat(&rope, &flat, &err), err);
	ck_assert_uint_le(flat.len, sizeof records[i]);
	memcpy(records[i], flat.data, flat.len);
	constants[i] = (struct c_constant){ "c", offset, (int64_t)flat.len, records[i] };
	mpk_arena_fini(&arena);
}

/* --- the library ---------------------------------------------------------------------------- */

static struct mpk_dltensor seen[8];
static int64_t seen_extents[8];
static int seen_count;

KERNEL(get_c_metadata)
{
	UNUSED_KERNEL_ARGS;
	ck_assert_int_eq(count, 0);
	result->v_handle = returned;
	*result_code = returned_code;
	return 0;
}

/* output = x + weight_0 */
KERNEL(entry)
{
	UNUSED_KERNEL_ARGS;
	seen_count = count;
	for (int i = 0; i < count; i++) {
		ck_assert_int_eq(codes[i], MPK_TVM_DLTENSOR);
		ck_assert_uint_eq((uintptr_t)ARG(i)->data % 64, 0);
		ck_assert_int_eq(ARG(i)->ndim, 1);
		seen[i] = *ARG(i);
		seen_extents[i] = ARG(i)->shape[0];
	}
	for (int k = 0; k < 4; k++)
		((float *)ARG(2)->data)[k] =
			((const float *)ARG(0)->data)[k] + ((const float *)ARG(1)->data)[k];
	return 0;
}

static const struct made_kernel library[] = {
	{ "get_c_metadata", get_c_metadata },
	{ "made___tvm_main__", entry },
	{ NULL, NULL },
};

static enum mpk_code try_open(struct made_model *m, const struct made_factory *f,
			      struct mpk_error *err)
{
	*m = (struct made_model){ 0 };
	made_load(m, "AotExecutorFactory", made_payload(&m->arena, f, 0), library);
	return made_find(m, err);
}

static void open_model(struct made_model *m, const struct made_factory *f)
{
	struct mpk_error err = { 0 };

	ck_assert_ok(try_open(m, f, &err), err);
}

static const struct made_factory plain;

/* --- what the entry receives ---------------------------------------------------------------- */

START_TEST(inputs_and_outputs)
{
	const struct mpk_span names[] = { mpk_span_str("weight_0"), { 0 } };
	struct mpk_value values[] = { f32_made(4, 1), f32_made(4, 10) }, held;
	struct made_model m;

	reset_metadata();
	open_model(&m, &plain);
	held = made_call(&m, values, NULL, 2);
	ck_assert_int_eq(seen_count, 3);
	ck_assert_ptr_eq(seen[0].data, values[0].tensor->dl.data);
	ck_assert_ptr_eq(seen[1].data, values[1].tensor->dl.data);

	struct mpk_value r = made_call(&m, values, names, 2);

	ck_assert_ptr_eq(seen[0].data, values[1].tensor->dl.data);
	/* the result of the call before is still what it was */
	ck_assert_ptr_ne(r.tensor->dl.data, held.tensor->dl.data);
	for (size_t k = 0; k < 4; k++) {
		ck_assert_float_eq(element(&held, k), (float)(11 + 2 * k));
		ck_assert_float_eq(element(&r, k), (float)(11 + 2 * k));
	}
	mpk_value_drop(&held);
	mpk_value_drop(&r);
	mpk_value_drop(&values[0]);
	mpk_value_drop(&values[1]);
	made_close(&m);
}
END_TEST

/* The compiler writes names that C takes: "weight:0" of the factory is weight_0. */
START_TEST(parameters_by_the_compilers_spelling)
{
	/* 100, 200, 300, 400 as a file has them */
	static const uint8_t weights[] = { 0, 0, 0xc8, 0x42, 0, 0, 0x48, 0x43,
					   0, 0, 0x96, 0x43, 0, 0, 0xc8, 0x43 };
	const struct mpk_span name = mpk_span_str("weight:0");
	const struct mpk_tensor_record record = {
		.dtype = F32, .shape = four, .ndim = 1, .data = mpk_span_of(weights, sizeof weights)
	};
	struct mpk_value x = f32_made(4, 1), r;
	struct made_model m;

	reset_metadata();
	open_model(&m, &(struct made_factory){
			       .params = &record, .param_names = &name, .param_count = 1 });
	r = made_call(&m, &x, NULL, 1);
	ck_assert_float_eq(element(&r, 3), 404);
	mpk_value_drop(&r);
	mpk_value_drop(&x);
	made_close(&m);
}
END_TEST

/* With workspaces come the constants: one memory for all of them, before the workspaces. */
START_TEST(workspaces_and_constants)
{
	struct mpk_value values[] = { f32_made(4, 1), f32_made(4, 10) }, r;
	struct made_model m;

	reset_metadata();
	set_constant(0, 8, "abcdef", 6);
	set_constant(1, 2, "xyz", 3);
	metadata.constants = constants;
	metadata.constant_count = 2;
	metadata.workspaces = workspaces;
	metadata.workspace_count = 2;
	open_model(&m, &plain);
	for (int round = 0; round < 2; round++) {
		r = made_call(&m, values, NULL, 2);
		ck_assert_int_eq(seen_count, 6);
		for (int i = 3; i < 6; i++) {
			ck_assert_int_eq(seen[i].dtype.code, MPK_DTYPE_UINT);
			ck_assert_int_eq(seen[i].dtype.bits, 8);
		}
		ck_assert_int_eq(seen_extents[3], 14);
		ck_assert_mem_eq((char *)seen[3].data + 8, "abcdef", 6);
		ck_assert_mem_eq((char *)seen[3].data + 2, "xyz", 3);
		ck_assert_int_eq(seen_extents[4], 16);
		ck_assert_int_eq(seen_extents[5], 3);
		memset(seen[4].data, 1, 16);
		memset(seen[5].data, 1, 3);
		mpk_value_drop(&r);
	}
	made_close(&m);
	/* code that has no workspaces has its constants itself */
	metadata.workspace_count = 0;
	open_model(&m, &plain);
	r = made_call(&m, values, NULL, 2);
	ck_assert_int_eq(seen_count, 3);
	mpk_value_drop(&r);
	made_close(&m);
	/* and workspaces without constants follow an empty memory of them */
	metadata.workspace_count = 1;
	metadata.constant_count = 0;
	open_model(&m, &plain);
	r = made_call(&m, values, NULL, 2);
	ck_assert_int_eq(seen_count, 5);
	ck_assert_int_eq(seen_extents[3], 0);
	mpk_value_drop(&r);
	mpk_value_drop(&values[0]);
	mpk_value_drop(&values[1]);
	made_close(&m);
}
END_TEST

/* --- metadata that cannot be ---------------------------------------------------------------- */

static void *on_the_heap; /* holds metadata that would be sound */

static void refused(enum mpk_code code, const char *said)
{
	struct made_model m;
	struct mpk_error err = { 0 };

	ck_assert_int_eq(try_open(&m, &plain, &err), code);
	ck_assert_text(err, said);
	made_close(&m);
	reset_metadata();
}

START_TEST(what_get_c_metadata_returns)
{
	reset_metadata();
	returned = NULL;
	returned_code = MPK_TVM_NULL;
	refused(MPK_E_CORRUPT, "get_c_metadata returned none");
	returned_code = MPK_TVM_INT;
	refused(MPK_E_CORRUPT, "get_c_metadata returned int");
	on_the_heap = malloc(sizeof metadata);
	memcpy(on_the_heap, &metadata, sizeof metadata);
	returned = on_the_heap;
	refused(MPK_E_CORRUPT, "what get_c_metadata returned leads out");
	free(on_the_heap);
	metadata.version = 2;
	refused(MPK_E_UNSUPPORTED, "metadata of version 2");
}
END_TEST

START_TEST(counts_and_pointers)
{
	reset_metadata();
	metadata.input_count = -1;
	refused(MPK_E_CORRUPT, "the list of inputs");
	metadata.input_count = INT64_MAX / 8;
	refused(MPK_E_CORRUPT, "the list of inputs");
	metadata.inputs = NULL;
	refused(MPK_E_CORRUPT, "the list of inputs");
	metadata.output_count = 1 << 30;
	refused(MPK_E_CORRUPT, "the list of outputs");
	metadata.workspace_count = 1;
	refused(MPK_E_CORRUPT, "the list of workspaces");
	metadata.constant_count = 1;
	refused(MPK_E_CORRUPT, "the constants");
	metadata.mod_name = NULL;
	refused(MPK_E_CORRUPT, "the name of the module");
	metadata.mod_name = "another";
	refused(MPK_E_LOAD, "'another___tvm_main__'");
	inputs[1].name = (const char *)(uintptr_t)16;
	refused(MPK_E_CORRUPT, "the name of a tensor");
	inputs[0].shape = NULL;
	refused(MPK_E_CORRUPT, "the shape of a tensor");
	outputs[0].ndim = -1;
	refused(MPK_E_CORRUPT, "the shape of a tensor");
}
END_TEST

START_TEST(sizes)
{
	reset_metadata();
	outputs[0].shape = huge;
	outputs[0].ndim = 2;
	refused(MPK_E_CORRUPT, "metadata: 'output': a tensor of more than 2^63 bytes");
	inputs[0].shape = negative;
	refused(MPK_E_CORRUPT, "metadata: 'x': extent -4");
	metadata.workspaces = workspaces;
	metadata.workspace_count = 1;
	workspaces[0].shape = negative;
	refused(MPK_E_CORRUPT, "metadata: workspace 'pool' has no size");
}
END_TEST

START_TEST(constants_that_are_none)
{
	for (int i = 0; i < 4; i++) {
		reset_metadata();
		set_constant(0, 8, "abcdef", 6);
		metadata.constants = constants;
		metadata.constant_count = 1;
		metadata.workspaces = workspaces;
		metadata.workspace_count = 1;
		if (i == 0)
			records[0][0] ^= 1;
		else if (i == 1)
			constants[0].bytes = -1;
		else if (i == 2)
			constants[0].offset = INT64_MAX;
		else
			constants[0].data = NULL;
		refused(MPK_E_CORRUPT, i == 0   ? "no tensor begins here"
				       : i == 2 ? "a constant that ends behind 2^63"
						: "a constant leads out");
	}
}
END_TEST

START_TEST(a_library_without_metadata)
{
	struct made_model m = { 0 };
	struct mpk_error err = { 0 };

	made_load(&m, "AotExecutorFactory", made_payload(&m.arena, &plain, 0), NULL);
	ck_assert_int_eq(made_find(&m, &err), MPK_E_LOAD);
	ck_assert_text(err, "'get_c_metadata'");
	made_close(&m);
}
END_TEST

/* --- the memory of a shared object ---------------------------------------------------------- */

START_TEST(segments)
{
	static const char text[] = "abc";
	const void *code = (const void *)(uintptr_t)entry;
	char *heap = malloc(16);

	ck_assert_uint_ge(mpk_static_room(code, text), sizeof text);
	ck_assert_uint_eq(mpk_static_room(code, text + 1), mpk_static_room(code, text) - 1);
	ck_assert_uint_ge(mpk_static_room(code, &metadata), sizeof metadata);
	ck_assert_uint_eq(mpk_static_room(code, NULL), 0);
	ck_assert_uint_eq(mpk_static_room(code, heap), 0);
	ck_assert_uint_eq(mpk_static_room(code, &heap), 0);
	/* another object's */
	ck_assert_uint_eq(mpk_static_room(code, (const void *)(uintptr_t)getppid), 0);
	ck_assert_uint_eq(mpk_static_room(heap, text), 0);
	free(heap);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("aot_executor");
	TCase *tc = tcase_create("aot_executor");
	SRunner *r = srunner_create(s);

	tcase_add_test(tc, inputs_and_outputs);
	tcase_add_test(tc, parameters_by_the_compilers_spelling);
	tcase_add_test(tc, workspaces_and_constants);
	tcase_add_test(tc, what_get_c_metadata_returns);
	tcase_add_test(tc, counts_and_pointers);
	tcase_add_test(tc, sizes);
	tcase_add_test(tc, constants_that_are_none);
	tcase_add_test(tc, a_library_without_metadata);
	tcase_add_test(tc, segments);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
