/* SPDX-License-Identifier: Apache-2.0 */
/* lib/pack/launch: generated host code run against a runtime of the test that records every
 * call. Each case runs the code printed as C (built with cc) and as LLVM IR (built with
 * clang-19, where installed), in both conventions. */
#include <check.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "launch/launch.h"
#include "launch_runtime.h"
#include "skip.h"

#define S(t) { .text = t, .len = sizeof t - 1, .pos = { 7, 11 } }
#define LIST(a) { .items = a, .count = MPK_ARRAY_COUNT(a), .pos = { 7, 1 }, .present = true }

static const struct mpk_dtype saxpy_args[] = { { 3, 64, 1 }, { 3, 64, 1 }, { 3, 64, 1 },
					       { 2, 32, 1 }, { 0, 32, 1 }, { 0, 64, 1 } };
static const struct mpk_dtype fill_args[] = { { 3, 64, 1 }, { 2, 32, 1 } };
static const struct mpk_toml_str launch_tags[] = { S("blockIdx.x"), S("threadIdx.x") };
static const struct mpk_toml_str shared_tags[] = { S("blockIdx.x"), S("blockIdx.y"),
						   S("threadIdx.x"),
						   S("tirx.use_dyn_shared_memory") };
static const struct mpk_manifest_function kernels[] = {
	{ .name = S("saxpy_kernel"),
	  .args = saxpy_args,
	  .arg_count = 6,
	  .launch = LIST(launch_tags) },
	{ .name = S("fill_kernel"),
	  .args = fill_args,
	  .arg_count = 2,
	  .launch = LIST(shared_tags) },
};
static const struct mpk_toml_str params[] = {
	S("alpha: float32"),
	S("X: in float32[n, 4]"),
	S("Y: inout float32[n, 4]"),
	S("Z: optional out float32[n + 1]"),
	S("k: uint8"),
};
static const struct mpk_toml_str temps[] = { S("part: float32[2 * n]") };
static const struct mpk_toml_str saxpy_call[] = { S("X"),     S("Y"),           S("Z"),
						  S("alpha"), S("n * 1000000"), S("k") };
static const struct mpk_toml_str fill_call[] = { S("part"), S("2.5") };
static const struct mpk_toml_str grid1[] = { S("ceildiv(n, 128 % 129)") }, block1[] = { S("128") };
static const struct mpk_toml_str grid2[] = { S("max(n, 1)"), S("2") }, block2[] = { S("64") };
static const struct mpk_manifest_step steps[] = {
	{ .kernel = S("k.fill_kernel"),
	  .args = LIST(fill_call),
	  .grid = LIST(grid2),
	  .block = LIST(block2),
	  .shared = S("n * 16"),
	  .pos = { 7, 1 } },
	{ .kernel = S("k.saxpy_kernel"),
	  .args = LIST(saxpy_call),
	  .grid = LIST(grid1),
	  .block = LIST(block1),
	  .pos = { 7, 1 } },
};

/* --- building ------------------------------------------------------------------------- */

static void *build(enum mpk_generation gen, bool llvm, const char *kind)
{
	struct mpk_arena arena = { 0 };
	struct mpk_report report = { 0 };
	struct mpk_manifest_module module = {
		.id = S("k"), .functions = kernels, .function_count = 2, .valid = true
	};
	struct mpk_manifest_launch source = { .name = S("saxpy"),
					      .params = LIST(params),
					      .temps = LIST(temps),
					      .steps = steps,
					      .step_count = 2,
					      .pos = { 7, 1 },
					      .valid = true };
	struct mpk_manifest manifest = { .path = "m.toml",
					 .gen = gen,
					 .modules = &module,
					 .module_count = 1,
					 .launches = &source,
					 .launch_count = 1 };
	const struct mpk_launch *launches = NULL;
	struct mpk_host_unit unit;
	struct mpk_strbuf text = { 0 };
	struct mpk_error err = { 0 };
	char dir[] = "/tmp/check_launch.XXXXXX", file[64], command[256];

	module.kind = (struct mpk_toml_str){ .text = kind, .len = strlen(kind) };
	ck_assert_msg(mpk_launch_resolve(&manifest, &arena, &report, &launches, &err) == MPK_OK,
		      "%s", report.count ? report.findings[0].error.text : err.text);
	ck_assert_int_eq(mpk_launch_build(launches, 1, MPK_LAUNCH_IMPORTS, "", &arena, &unit, &err),
			 MPK_OK);
	ck_assert_int_eq(llvm ? mpk_host_ll.print(&unit, &text, &err)
			      : mpk_host_c.print(&unit, &text, &err),
			 MPK_OK);

	ck_assert_ptr_nonnull(mkdtemp(dir));
	(void)snprintf(file, sizeof file, "%s/f.%s", dir, llvm ? "ll" : "c");
	FILE *f = fopen(file, "w");
	ck_assert_ptr_nonnull(f);
	ck_assert_int_ge(fputs(mpk_strbuf_text(&text), f), 0);
	ck_assert_int_eq(fclose(f), 0);
	(void)snprintf(command, sizeof command, "%s -O2 -fPIC -shared -o %s/f.so %s",
		       llvm ? "clang-19 -Wno-override-module" : "cc -Wall -Wextra -Werror", dir,
		       file);
	ck_assert_msg(system(command) == 0, "%s", command);
	(void)snprintf(command, sizeof command, "%s/f.so", dir);
	void *so = dlopen(command, RTLD_NOW | RTLD_LOCAL);
	ck_assert_msg(so != NULL, "%s", dlerror());
	(void)snprintf(command, sizeof command, "rm -r %s", dir);
	ck_assert_int_eq(system(command), 0);
	mpk_strbuf_fini(&text);
	mpk_report_fini(&report);
	mpk_arena_fini(&arena);
	return so;
}

static const struct variant {
	enum mpk_generation gen;
	bool llvm;
} variants[] = {
	{ MPK_GEN_CURRENT, false }, { MPK_GEN_LEGACY, false }, { MPK_GEN_HYBRID, false },
	{ MPK_GEN_CURRENT, true },  { MPK_GEN_LEGACY, true },
};

static bool runs_here(const struct variant *v)
{
	return !v->llvm || system("command -v clang-19 >/dev/null 2>&1") == 0;
}

START_TEST(right_calls)
{
	const struct variant *v = &variants[_i];
	bool legacy = v->gen == MPK_GEN_LEGACY;
	struct call c;

	if (!runs_here(v))
		SKIP_TEST("clang-19 is not installed: LLVM IR is not run");
	void *so = build(v->gen, v->llvm, "cuda");
	connect(so, legacy);
	if (v->gen == MPK_GEN_HYBRID)
		set(so, "__TVMBackendGetFuncFromEnv", (void *)(uintptr_t)rt_lookup);
	memset(&rt, 0, sizeof rt);

	set_up(&c);
	ck_assert_msg(run(so, legacy, &c) == 0, "%s", rt.error);
	ck_assert_str_eq(rt.log, "__tvm_set_device( 2 1 ) alloc(2 1 2400 2 32) "
				 "fill_kernel( TEMP 2.5 300 2 64 4800 ) "
				 "saxpy_kernel( X Y Z 1.5 300000000 200 3 128 ) free(2 1) ");
	ck_assert_int_eq(rt.lookups, 3);

	c.a[Z] = (struct any){ 0 };                               /* optional, not given */
	c.a[ALPHA] = (struct any){ .type = 1, .v = { .i = -3 } }; /* an int is a fine float */
	ck_assert_msg(run(so, legacy, &c) == 0, "%s", rt.error);
	ck_assert_ptr_nonnull(strstr(rt.log, "saxpy_kernel( X Y null -3 300000000"));
	ck_assert_int_eq(rt.lookups, 3); /* cached */

	set_up(&c); /* nothing to do for empty tensors */
	c.shape[0][0] = c.shape[1][0] = 0;
	c.shape[2][0] = 1;
	c.t[0].data = c.t[1].data = NULL;
	ck_assert_msg(run(so, legacy, &c) == 0, "%s", rt.error);
	ck_assert_ptr_null(strstr(rt.log, "kernel"));
	ck_assert_int_eq(rt.allocated, 0);

	set_up(&c); /* compact strides, and any for an extent of 1 */
	c.strides[0][0] = 4;
	c.strides[0][1] = 1;
	c.t[0].strides = c.strides[0];
	c.t[1].byte_offset = 4;
	ck_assert_msg(run(so, legacy, &c) == 0, "%s", rt.error);
	(void)dlclose(so);
}
END_TEST

static void m_count(struct call *c)
{
	c->count = 4;
}
static void m_count_more(struct call *c)
{
	c->count = 6;
}
static void m_alpha_str(struct call *c)
{
	c->a[ALPHA] = (struct any){ .type = 8, .v = { .p = c } };
}
static void m_alpha_none(struct call *c)
{
	c->a[ALPHA] = (struct any){ 0 };
}
static void m_k_float(struct call *c)
{
	c->a[K] = (struct any){ .type = 3, .v = { .f = 2 } };
}
static void m_k_big(struct call *c)
{
	c->a[K].v.i = 256;
}
static void m_k_negative(struct call *c)
{
	c->a[K].v.i = -1;
}
static void m_x_int(struct call *c)
{
	c->a[X] = (struct any){ .type = 1, .v = { .i = 3 } };
}
static void m_x_none(struct call *c)
{
	c->a[X] = (struct any){ 0 };
}
static void m_x_null(struct call *c)
{
	c->a[X].v.p = NULL;
}
static void m_x_rank(struct call *c)
{
	c->t[0].ndim = 1;
}
static void m_z_rank(struct call *c)
{
	c->t[2].ndim = 2;
}
static void m_x_double(struct call *c)
{
	c->t[0].dtype.bits = 64;
}
static void m_y_int(struct call *c)
{
	c->t[1].dtype.code = 0;
}
static void m_y_lanes(struct call *c)
{
	c->t[1].dtype.lanes = 4;
}
static void m_y_custom(struct call *c)
{
	c->t[1].dtype.code = 12;
}
static void m_x_cpu(struct call *c)
{
	c->t[0].device_type = 1;
}
static void m_y_device(struct call *c)
{
	c->t[1].device_id = 0;
}
static void m_z_device(struct call *c)
{
	c->t[2].device_id = 3;
}
static void m_y_rows(struct call *c)
{
	c->shape[1][0] = 299;
}
static void m_x_columns(struct call *c)
{
	c->shape[0][1] = 5;
}
static void m_z_size(struct call *c)
{
	c->shape[2][0] = 300;
}
static void m_negative(struct call *c)
{
	c->shape[0][0] = c->shape[1][0] = -300;
}
static void m_strides(struct call *c)
{
	c->strides[0][0] = 8;
	c->strides[0][1] = 1;
	c->t[0].strides = c->strides[0];
}
static void m_transposed(struct call *c)
{
	c->strides[1][0] = 1;
	c->strides[1][1] = 300;
	c->t[1].strides = c->strides[1];
}
static void m_x_data(struct call *c)
{
	c->t[0].data = NULL;
}
static void m_z_data(struct call *c)
{
	c->t[2].data = NULL;
}
static void m_misaligned(struct call *c)
{
	c->t[0].byte_offset = 2;
}
static void all_rows(struct call *c, int64_t n)
{
	c->shape[0][0] = c->shape[1][0] = n;
	c->shape[2][0] = n + 1;
}
static void m_int32(struct call *c)
{
	all_rows(c, 3000);
}
static void m_grid(struct call *c)
{
	all_rows(c, INT64_C(3000000000));
}
static void m_overflow(struct call *c)
{
	all_rows(c, INT64_C(1) << 61);
}
static void m_max(struct call *c)
{
	c->shape[0][0] = c->shape[1][0] = INT64_MAX;
	c->a[Z] = (struct any){ 0 };
}
static void m_lookup(struct call *c)
{
	(void)c;
	rt.lookup_fails = true;
}
static void m_call(struct call *c)
{
	(void)c;
	rt.call_fails = true;
}
static void m_memory(struct call *c)
{
	(void)c;
	rt.no_memory = true;
}

static const struct {
	void (*mutate)(struct call *c);
	const char *error; /* "": the callee raised */
} wrong[] = {
	{ m_lookup, "" }, /* first: afterwards the look-ups are cached */
	{ m_count,
	  "TypeError: saxpy: takes 5 arguments, got 4, when calling saxpy(alpha: float32, X: Tensor([n, 4], float32), Y: Tensor([n, 4], float32), Z: Tensor([n + 1], float32), k: uint8)" },
	{ m_count_more,
	  "TypeError: saxpy: takes 5 arguments, got 6, when calling saxpy(alpha: float32, X: Tensor([n, 4], float32), Y: Tensor([n, 4], float32), Z: Tensor([n + 1], float32), k: uint8)" },
	{ m_alpha_str, "TypeError: saxpy: argument 'alpha': expected a number (float32), got str" },
	{ m_alpha_none,
	  "TypeError: saxpy: argument 'alpha': expected a number (float32), got None" },
	{ m_k_float, "TypeError: saxpy: argument 'k': expected an integer (uint8), got float" },
	{ m_k_big, "ValueError: saxpy: argument 'k': 256 does not fit uint8" },
	{ m_k_negative, "ValueError: saxpy: argument 'k': -1 does not fit uint8" },
	{ m_x_int, "TypeError: saxpy: argument 'X': expected a tensor of 2 dimensions, got int" },
	{ m_x_none, "TypeError: saxpy: argument 'X': expected a tensor of 2 dimensions, got None" },
	{ m_x_null, "ValueError: saxpy: argument 'X': is a null pointer" },
	{ m_x_rank, "ValueError: saxpy: argument 'X': expected 2 dimensions, got 1" },
	{ m_z_rank, "ValueError: saxpy: argument 'Z': expected 1 dimension, got 2" },
	{ m_x_double, "TypeError: saxpy: argument 'X': expected float32, got float64" },
	{ m_y_int, "TypeError: saxpy: argument 'Y': expected float32, got int32" },
	{ m_y_lanes, "TypeError: saxpy: argument 'Y': expected float32, got vectors of 4 lanes" },
	{ m_y_custom, "TypeError: saxpy: argument 'Y': expected float32, got "
		      "float8 or other type of bits 32" },
	{ m_x_cpu, "ValueError: saxpy: argument 'X' must be on cuda, is on cpu" },
	{ m_y_device,
	  "ValueError: saxpy: argument 'Y': is on device 0, the first tensor on device 1" },
	{ m_z_device,
	  "ValueError: saxpy: argument 'Z': is on device 3, the first tensor on device 1" },
	{ m_y_rows, "ValueError: saxpy: argument 'Y': dimension 0 is 299, expected n = 300" },
	{ m_x_columns, "ValueError: saxpy: argument 'X': dimension 1 is 5, expected 4" },
	{ m_z_size, "ValueError: saxpy: argument 'Z': dimension 0 is 300, expected n + 1 = 301" },
	{ m_negative, "ValueError: saxpy: argument 'X': dimension 0 is -300" },
	{ m_strides,
	  "ValueError: saxpy: argument 'X': must be contiguous: stride of dimension 0 is 8, "
	  "expected 4" },
	{ m_transposed,
	  "ValueError: saxpy: argument 'Y': must be contiguous: stride of dimension 1 is "
	  "300, expected 1" },
	{ m_x_data, "ValueError: saxpy: argument 'X': has a null data pointer" },
	{ m_z_data, "ValueError: saxpy: argument 'Z': has a null data pointer" },
	{ m_misaligned, "ValueError: saxpy: argument 'X': data is not aligned to 4 bytes" },
	{ m_int32,
	  "ValueError: saxpy: 'n * 1000000' = 3000000000 does not fit the int32 that kernel "
	  "'saxpy_kernel' takes" },
	{ m_grid,
	  "ValueError: saxpy: grid.x 'max(n, 1)' is 3000000000; it must be 0 to 2147483647" },
	{ m_overflow, "ValueError: saxpy: temporary 'part' is too large" },
	{ m_max, "ValueError: saxpy: '2 * n' overflows 64 bits" },
	{ m_call, "" },
	{ m_memory, "RuntimeError: saxpy: no device memory for temporary 'part' of 2400 bytes" },
};

START_TEST(wrong_calls)
{
	const struct variant *v = &variants[_i];
	bool legacy = v->gen == MPK_GEN_LEGACY;

	if (!runs_here(v))
		SKIP_TEST("clang-19 is not installed: LLVM IR is not run");
	void *so = build(v->gen, v->llvm, "cuda");
	for (size_t i = 0; i < MPK_ARRAY_COUNT(wrong); i++) {
		struct call c, before;

		memset(&rt, 0, sizeof rt);
		connect(so, legacy);
		if (v->gen == MPK_GEN_HYBRID)
			set(so, "__TVMBackendGetFuncFromEnv", (void *)(uintptr_t)rt_lookup);
		set_up(&c);
		wrong[i].mutate(&c);
		before = c;
		ck_assert_msg(run(so, legacy, &c) == -1, "call %zu passed", i);
		ck_assert_str_eq(rt.error, wrong[i].error);
		ck_assert_mem_eq(&c, &before, sizeof c);
		ck_assert_int_eq(rt.allocated, 0);
		if (wrong[i].error[0])
			ck_assert_ptr_null(strstr(rt.log, "saxpy_kernel"));
	}
	(void)dlclose(so);
}
END_TEST

START_TEST(opencl_takes_no_offset)
{
	struct call c;
	void *so = build(MPK_GEN_CURRENT, false, "opencl");

	memset(&rt, 0, sizeof rt);
	connect(so, false);
	set_up(&c);
	for (int i = 0; i < 3; i++)
		c.t[i].device_type = 4;
	c.t[1].byte_offset = 4;
	ck_assert_int_eq(run(so, false, &c), -1);
	ck_assert_str_eq(rt.error,
			 "ValueError: saxpy: argument 'Y': byte_offset is 4; buffers of this "
			 "device must be passed from their start");
	c.t[1].byte_offset = 0;
	ck_assert_msg(run(so, false, &c) == 0, "%s", rt.error);
	(void)dlclose(so);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("launch");
	TCase *c = tcase_create("calls");

	tcase_set_timeout(c, 60);
	tcase_add_loop_test(c, right_calls, 0, (int)MPK_ARRAY_COUNT(variants));
	tcase_add_loop_test(c, wrong_calls, 0, (int)MPK_ARRAY_COUNT(variants));
	tcase_add_test(c, opencl_takes_no_offset);
	suite_add_tcase(s, c);

	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
