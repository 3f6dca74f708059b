/* SPDX-License-Identifier: Apache-2.0 */
/* what devices have in common: names, host memory, the rules of a launch */
#include <check.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "base/native.h"
#include "device/internal/backend.h"
#include "device_kernels.h"

START_TEST(device_names_parse)
{
	static const struct {
		const char *text;
		enum mpk_device_kind kind;
		unsigned ordinal;
	} good[] = {
		{ "cpu", MPK_DEVICE_CPU, 0 },
		{ "opencl", MPK_DEVICE_OPENCL, 0 },
		{ "opencl:3", MPK_DEVICE_OPENCL, 3 },
		{ "cuda:0", MPK_DEVICE_CUDA, 0 },
	};
	static const char *const bad[] = {
		"", "cud", "opencl:", "opencl:x", "cuda:-1", "cuda:4294967296", "cuda:1:2", "CUDA"
	};
	enum mpk_device_kind kind = MPK_DEVICE_NONE;
	struct mpk_error err = { 0 };
	unsigned ordinal = 99;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(bad); i++) {
		ck_assert_int_eq(mpk_device_parse(mpk_span_str(bad[i]), &kind, &ordinal, &err),
				 MPK_E_USAGE);
		ck_assert_int_eq(kind, MPK_DEVICE_NONE);
		ck_assert_uint_eq(ordinal, 99);
	}
	ck_assert_int_eq(mpk_device_parse(mpk_span_str("cudo"), &kind, &ordinal, &err),
			 MPK_E_USAGE);
	ck_assert_text(err, "did you mean 'cuda'");
	for (size_t i = 0; i < MPK_ARRAY_COUNT(good); i++) {
		ck_assert_ok(mpk_device_parse(mpk_span_str(good[i].text), &kind, &ordinal, &err),
			     err);
		ck_assert_int_eq(kind, good[i].kind);
		ck_assert_uint_eq(ordinal, good[i].ordinal);
	}
}
END_TEST

START_TEST(cpu_is_memory)
{
	struct mpk_error err = { 0 };
	struct mpk_device *cpu = NULL;
	struct mpk_kernels kernels = { .fmt = mpk_span_str("cl") };
	struct mpk_device_module *module = NULL;
	float got[3] = { 0 };

	ck_assert_int_eq(mpk_device_open(MPK_DEVICE_CPU, 1, NULL, &cpu, &err), MPK_E_DEVICE);
	ck_assert_ok(mpk_device_open(MPK_DEVICE_CPU, 0, NULL, &cpu, &err), err);
	void *a = floats_on(cpu, 4, 1, 1), *b = floats_on(cpu, 4, 0, 0);
	struct mpk_device_copy copy = { b, 4, a, 8, 8 }, beside = { a, 0, a, 8, 8 };
	struct mpk_device_copy onto = { a, 0, a, 7, 8 }, nothing = { a, 7, a, 7, 0 };

	ck_assert_uint_eq((uintptr_t)a % MPK_DEVICE_ALIGN, 0);
	ck_assert_ok(mpk_device_copy(cpu, &copy, &err), err);
	ck_assert_ok(mpk_device_read(cpu, b, 0, got, sizeof got, &err), err);
	ck_assert_float_eq(got[0], 0);
	ck_assert_float_eq(got[1], 3);
	ck_assert_float_eq(got[2], 4);
	ck_assert_ok(mpk_device_copy(cpu, &beside, &err), err);
	ck_assert_ok(mpk_device_read(cpu, a, 0, got, sizeof got, &err), err);
	ck_assert_float_eq(got[0], 3);
	ck_assert_float_eq(got[1], 4);
	ck_assert_float_eq(got[2], 3);
	ck_assert_ok(mpk_device_copy(cpu, &nothing, &err), err);
	ck_assert_int_eq(mpk_device_copy(cpu, &onto, &err), MPK_E_RANGE);
	ck_assert_text(err, "copy of 8 bytes at 7 to 0 of the same memory: the ranges overlap");
	ck_assert_int_eq(mpk_device_load(cpu, &kernels, &module, &err), MPK_E_UNSUPPORTED);
	ck_assert_int_eq(mpk_device_set_stream(cpu, cpu, &err), MPK_E_UNSUPPORTED);
	ck_assert_int_eq(mpk_device_alloc(cpu, UINT64_MAX, &a, &err), MPK_E_NOMEM);
	mpk_device_free(cpu, a);
	mpk_device_free(cpu, b);
	mpk_device_free(cpu, NULL);
	mpk_device_close(cpu);
	mpk_device_close(NULL);
}
END_TEST

static enum mpk_code plan_of(const char *types, const char *tags, struct mpk_arena *arena,
			     struct mpk_launch_plan *plan, struct mpk_error *err)
{
	struct table *t = mpk_arena_alloc(arena, sizeof *t);

	table_add(t, &(struct table_row){ "k", types, tags });
	return mpk_launch_plan_make(&t->functions[0], arena, plan, err);
}

START_TEST(extents_follow_the_tags)
{
	struct mpk_arena arena = { 0 };
	struct mpk_error err = { 0 };
	struct mpk_launch_plan plan;
	struct mpk_launch_shape shape;

	ck_assert_ok(plan_of("handle int32",
			     "threadIdx.y tirx.use_cooperative_launch blockIdx.x "
			     "clusterCtaIdx.z tir.use_programtic_dependent_launch "
			     "tirx.use_dyn_shared_memory",
			     &arena, &plan, &err),
		     err);
	ck_assert_uint_eq(plan.tag_count, 4);
	ck_assert_uint_eq(plan.work_dim, 2);
	ck_assert(plan.cooperative);
	ck_assert(plan.programmatic);
	uint64_t slots[6] = { 1, 2, 16, 0, 4, 1000 };

	ck_assert_ok(mpk_launch_shape_of(&plan, slots, 6, &shape, &err), err);
	ck_assert_uint_eq(shape.block[0], 1);
	ck_assert_uint_eq(shape.block[1], 16);
	ck_assert_uint_eq(shape.grid[0], 1); /* 0 counts as 1 */
	ck_assert_uint_eq(shape.cluster[2], 4);
	ck_assert_uint_eq(shape.preferred_cluster[2], 1);
	ck_assert_uint_eq(shape.shared_bytes, 1000);
	ck_assert_uint_eq(mpk_launch_block_size(&shape), 16);

	ck_assert_int_eq(mpk_launch_shape_of(&plan, slots, 5, &shape, &err), MPK_E_RANGE);
	ck_assert_text(err, "6 values (2 arguments, 4 launch extents), but 5");
	slots[2] = (uint64_t)-3;
	ck_assert_int_eq(mpk_launch_shape_of(&plan, slots, 6, &shape, &err), MPK_E_RANGE);
	ck_assert_text(err, "-3");
	mpk_arena_fini(&arena);
}
END_TEST

/* A convolution of TVM: nine axes and more, threadIdx.z .y .x once a stage. */
START_TEST(an_axis_may_stand_several_times)
{
	struct mpk_arena arena = { 0 };
	struct mpk_error err = { 0 };
	struct mpk_launch_plan plan;
	struct mpk_launch_shape shape;
	uint64_t slots[] = { 2, 3, 4, 1, 4, 8, 1, 0, 16, 1, 4, 0, 1, 4, 32, 1, 4, 0, 64 };

	ck_assert_ok(
		plan_of("",
			"blockIdx.z blockIdx.y blockIdx.x threadIdx.z threadIdx.y threadIdx.x "
			"threadIdx.z threadIdx.y threadIdx.x threadIdx.z threadIdx.y threadIdx.x "
			"threadIdx.z threadIdx.y threadIdx.x threadIdx.z threadIdx.y threadIdx.x "
			"tir.use_dyn_shared_memory",
			&arena, &plan, &err),
		err);
	ck_assert_uint_eq(plan.tag_count, 19);
	ck_assert_ok(mpk_launch_shape_of(&plan, slots, 19, &shape, &err), err);
	ck_assert_uint_eq(shape.grid[2], 2);
	ck_assert_uint_eq(shape.grid[0], 4);
	ck_assert_uint_eq(shape.block[2], 1);
	ck_assert_uint_eq(shape.block[1], 4);
	ck_assert_uint_eq(shape.block[0], 32); /* the last that is not 0 */
	ck_assert_uint_eq(shape.shared_bytes, 64);
	mpk_arena_fini(&arena);
}
END_TEST

START_TEST(products_do_not_wrap)
{
	struct mpk_arena arena = { 0 };
	struct mpk_error err = { 0 };
	struct mpk_launch_plan plan;
	struct mpk_launch_shape shape;
	uint64_t slots[3] = { UINT64_C(1) << 40, UINT64_C(1) << 40, 1 };

	ck_assert_ok(plan_of("", "threadIdx.x threadIdx.y blockIdx.z", &arena, &plan, &err), err);
	ck_assert_uint_eq(plan.work_dim, 3);
	ck_assert_int_eq(mpk_launch_shape_of(&plan, slots, 3, &shape, &err), MPK_E_RAISED);
	mpk_arena_fini(&arena);
}
END_TEST

START_TEST(odd_tables_are_refused)
{
	static const struct {
		const char *types, *tags;
		enum mpk_code code;
		const char *text;
	} rows[] = {
		{ "int32x4", "", MPK_E_UNSUPPORTED, "parameter 0 has type int32x4" },
		{ "handle int4", "", MPK_E_UNSUPPORTED, "parameter 1" },
		{ "handle", "blockIdx.w", MPK_E_UNSUPPORTED, "unknown launch tag 'blockIdx.w'" },
		{ "", "tir.use_dyn_shared_memory tirx.use_dyn_shared_memory", MPK_E_CORRUPT,
		  "stands twice" },
	};
	struct mpk_arena arena = { 0 };
	struct mpk_launch_plan plan;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		struct mpk_error err = { 0 };

		ck_assert_int_eq(plan_of(rows[i].types, rows[i].tags, &arena, &plan, &err),
				 rows[i].code);
		ck_assert_text(err, rows[i].text);
	}
	mpk_arena_fini(&arena);
}
END_TEST

START_TEST(arguments_get_their_width)
{
	static const struct {
		const char *type;
		double real;      /* of float types */
		uint64_t integer; /* of others */
		unsigned bytes;
		uint64_t value;
	} rows[] = {
		{ "handle", 0, UINT64_C(0x123456789abcdef0), 8, UINT64_C(0x123456789abcdef0) },
		{ "int64", 0, UINT64_MAX, 8, UINT64_MAX },
		{ "int32", 0, (uint64_t)-2, 4, 0xfffffffe },
		{ "uint32", 0, 0xffffffff, 4, 0xffffffff },
		{ "int16", 0, (uint64_t)-2, 2, 0xfffe },
		{ "uint8", 0, 255, 1, 255 },
		{ "bool", 0, 1, 1, 1 },
		{ "float64", 2.5, 0, 8, UINT64_C(0x4004000000000000) },
		{ "float32", 2.5, 0, 4, 0x40200000 },
		{ "float16", 2.5, 0, 2, 0x4100 },
		{ "float16", 65520, 0, 2, 0x7c00 },
		{ "bfloat16", 2.5, 0, 2, 0x4020 },
	};
	struct mpk_arena arena = { 0 };
	struct mpk_launch_plan plan;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		struct mpk_error err = { 0 };
		bool real = strstr(rows[i].type, "float") != NULL;
		uint64_t value;

		ck_assert_ok(plan_of(rows[i].type, "", &arena, &plan, &err), err);
		mpk_launch_pack(&plan.args[0], real ? slot_of(rows[i].real) : rows[i].integer,
				&value);
		ck_assert_msg(plan.args[0].bytes == rows[i].bytes, "row %zu: %s", i, rows[i].type);
		/* a driver copies the first bytes */
		value = mpk_native_load(&value, rows[i].bytes);
		ck_assert_msg(value == rows[i].value, "row %zu: %s gave %#llx", i, rows[i].type,
			      (unsigned long long)value);
	}
	mpk_arena_fini(&arena);
}
END_TEST

START_TEST(module_kinds_have_devices)
{
	ck_assert_int_eq(mpk_device_kind_of(mpk_span_str("cuda")), MPK_DEVICE_CUDA);
	ck_assert_int_eq(mpk_device_kind_of(mpk_span_str("opencl")), MPK_DEVICE_OPENCL);
	ck_assert_int_eq(mpk_device_kind_of(mpk_span_str("metal")), MPK_DEVICE_NONE);
	ck_assert_int_eq(mpk_device_kind_from(4), MPK_DEVICE_OPENCL);
	ck_assert_int_eq(mpk_device_kind_from(8), MPK_DEVICE_NONE);
	ck_assert_str_eq(mpk_device_kind_name(MPK_DEVICE_CUDA), "cuda");
	ck_assert_str_eq(mpk_device_kind_name(MPK_DEVICE_NONE), "none");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("device");
	TCase *tc = tcase_create("device");
	SRunner *r = srunner_create(s);

	tcase_add_test(tc, device_names_parse);
	tcase_add_test(tc, cpu_is_memory);
	tcase_add_test(tc, extents_follow_the_tags);
	tcase_add_test(tc, an_axis_may_stand_several_times);
	tcase_add_test(tc, products_do_not_wrap);
	tcase_add_test(tc, odd_tables_are_refused);
	tcase_add_test(tc, arguments_get_their_width);
	tcase_add_test(tc, module_kinds_have_devices);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
