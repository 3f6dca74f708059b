/* SPDX-License-Identifier: Apache-2.0 */
/* what only a real NVIDIA GPU can show: launch attributes, widths, faults */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "device_kernels.h"
#include "skip.h"

static const char source[] =
	"#include <cuda_fp16.h>\n"
	"#include <cuda_bf16.h>\n"
	"#include <cooperative_groups.h>\n"
	"namespace cg = cooperative_groups;\n"
	"extern \"C\" __global__ void widths(double *out, signed char i8, unsigned char u8,\n"
	"    short i16, int i32, long long i64, unsigned u32, float f32, double f64,\n"
	"    __half f16, __nv_bfloat16 bf16, bool flag) {\n"
	"  out[0] = i8; out[1] = u8; out[2] = i16; out[3] = i32; out[4] = i64; out[5] = u32;\n"
	"  out[6] = f32; out[7] = f64; out[8] = __half2float(f16);\n"
	"  out[9] = __bfloat162float(bf16); out[10] = flag;\n}\n"
	"extern \"C\" __global__ void clusters(unsigned *out) {\n"
	"  unsigned x, y;\n"
	"  asm(\"mov.u32 %0, %%cluster_nctaid.x;\" : \"=r\"(x));\n"
	"  asm(\"mov.u32 %0, %%cluster_nctaid.y;\" : \"=r\"(y));\n"
	"  out[blockIdx.y * gridDim.x + blockIdx.x] = 100 * x + y;\n}\n"
	"extern \"C\" __global__ void together(unsigned *out) {\n"
	"  atomicAdd(&out[0], 1u);\n"
	"  cg::this_grid().sync();\n"
	"  if (threadIdx.x == 0) out[1 + blockIdx.x] = *(volatile unsigned *)&out[0];\n}\n"
	"extern \"C\" __global__ void shared(unsigned *out, int words) {\n"
	"  extern __shared__ unsigned s[];\n"
	"  for (int i = threadIdx.x; i < words; i += blockDim.x) s[i] = i;\n"
	"  __syncthreads();\n"
	"  if (threadIdx.x == 0) { unsigned sum = 0;\n"
	"    for (int i = 0; i < words; i++) sum += s[i]; out[0] = sum; }\n}\n"
	"extern \"C\" __global__ void stray(unsigned *out, long long where) { out[where] = 1; }\n";

static struct mpk_device *device;
static struct table table;

static bool has_gpu(struct mpk_error *err)
{
	return mpk_device_open(MPK_DEVICE_CUDA, 0, NULL, &device, err) == MPK_OK;
}

static struct mpk_device_kernel *kernel_here(const char *key)
{
	static const struct table_row rows[] = {
		{ "widths",
		  "handle int8 uint8 int16 int32 int64 uint32 float32 float64 float16 "
		  "bfloat16 bool",
		  "threadIdx.x" },
		{ "clusters", "handle", "blockIdx.x blockIdx.y clusterCtaIdx.x clusterCtaIdx.y" },
		{ "together", "handle", "blockIdx.x threadIdx.x tirx.use_cooperative_launch" },
		{ "shared", "handle int32",
		  "threadIdx.x tirx.use_programtic_dependent_launch "
		  "tirx.use_dyn_shared_memory" },
		{ "stray", "handle int64", "threadIdx.x" },
	};

	table.kernels.fmt = mpk_span_str("cuda");
	table.kernels.data = mpk_span_str(source);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++)
		table_add(&table, &rows[i]);
	return kernel_of(load_on(device, &table), key);
}

START_TEST(every_width_arrives)
{
	static const double want[] = { -3, 200, -30000, -2e9, -9e15, 4e9, 0.1f, 0.1, 2.5, 1.5, 1 };
	struct mpk_error err = { 0 };

	if (!has_gpu(&err))
		SKIP_TEST("%s", err.text);
	struct mpk_device_kernel *widths = kernel_here("widths");
	void *out = floats_on(device, 32, 0, 0);
	uint64_t slots[] = { slot_at(out),
			     (uint64_t)-3,
			     200,
			     (uint64_t)-30000,
			     (uint64_t)-2000000000,
			     (uint64_t)-9000000000000000,
			     4000000000u,
			     slot_of(0.1),
			     slot_of(0.1),
			     slot_of(2.5),
			     slot_of(1.5),
			     1,
			     1 };
	double got[MPK_ARRAY_COUNT(want)];

	ck_assert_ok(mpk_device_launch(widths, slots, MPK_ARRAY_COUNT(slots), &err), err);
	ck_assert_ok(mpk_device_read(device, out, 0, got, sizeof got, &err), err);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(want); i++)
		ck_assert_msg(got[i] == want[i], "argument %zu: %.17g, not %.17g", i + 1, got[i],
			      want[i]);
	mpk_device_free(device, out);
	mpk_device_close(device);
}
END_TEST

START_TEST(clusters_have_their_size)
{
	struct mpk_error err = { 0 };
	unsigned got[32];

	if (!has_gpu(&err))
		SKIP_TEST("%s", err.text);
	struct mpk_device_kernel *clusters = kernel_here("clusters");
	void *out = floats_on(device, 32, 0, 0);
	uint64_t slots[] = { slot_at(out), 8, 4, 4, 2 };

	ck_assert_ok(mpk_device_launch(clusters, slots, 5, &err), err);
	ck_assert_ok(mpk_device_read(device, out, 0, got, sizeof got, &err), err);
	for (int i = 0; i < 32; i++)
		ck_assert_uint_eq(got[i], 402);
	slots[1] = 7; /* no multiple of the cluster */
	ck_assert_int_eq(mpk_device_launch(clusters, slots, 5, &err), MPK_E_RAISED);
	mpk_device_free(device, out);
	mpk_device_close(device);
}
END_TEST

/* The copy is queued behind the kernel, the read waits for both. */
START_TEST(copies_follow_their_kernels)
{
	struct mpk_error err = { 0 };
	unsigned got = 0;

	if (!has_gpu(&err))
		SKIP_TEST("%s", err.text);
	struct mpk_device_kernel *shared = kernel_here("shared");
	void *out = floats_on(device, 1, 0, 0), *copied = floats_on(device, 4, 0, 0);
	uint64_t slots[] = { slot_at(out), 8192, 1, 8192 * sizeof(unsigned) };

	ck_assert_ok(mpk_device_launch(shared, slots, 4, &err), err);
	ck_assert_ok(mpk_device_copy(device,
				     &(struct mpk_device_copy){ copied, 12, out, 0, sizeof got },
				     &err),
		     err);
	ck_assert_ok(mpk_device_read(device, copied, 12, &got, sizeof got, &err), err);
	ck_assert_uint_eq(got, 8192 * 8191 / 2);
	mpk_device_free(device, out);
	mpk_device_free(device, copied);
	mpk_device_close(device);
}
END_TEST

START_TEST(a_cooperative_grid_waits_for_itself)
{
	struct mpk_error err = { 0 };
	unsigned got[65];

	if (!has_gpu(&err))
		SKIP_TEST("%s", err.text);
	struct mpk_device_kernel *together = kernel_here("together");
	void *out = floats_on(device, 65, 0, 0);
	uint64_t slots[] = { slot_at(out), 64, 128 };

	ck_assert_ok(mpk_device_launch(together, slots, 3, &err), err);
	ck_assert_ok(mpk_device_read(device, out, 0, got, sizeof got, &err), err);
	for (int i = 0; i < 65; i++)
		ck_assert_uint_eq(got[i], 64 * 128);
	slots[1] = 1 << 20; /* more than fits on the GPU at once */
	ck_assert_int_eq(mpk_device_launch(together, slots, 3, &err), MPK_E_RAISED);
	ck_assert_text(err, "all at once");
	mpk_device_free(device, out);
	mpk_device_close(device);
}
END_TEST

START_TEST(shared_memory_beyond_48_kib)
{
	struct mpk_error err = { 0 };

	if (!has_gpu(&err))
		SKIP_TEST("%s", err.text);
	struct mpk_device_kernel *shared = kernel_here("shared");
	void *out = floats_on(device, 1, 0, 0);

	for (unsigned kib = 16; kib <= 96; kib *= 2) {
		unsigned words = kib * 256, got = 0;
		uint64_t slots[] = { slot_at(out), words, 256, kib * 1024 };

		ck_assert_ok(mpk_device_launch(shared, slots, 4, &err), err);
		ck_assert_ok(mpk_device_read(device, out, 0, &got, sizeof got, &err), err);
		ck_assert_uint_eq(got, words * (words - 1) / 2);
	}
	mpk_device_free(device, out);
	mpk_device_close(device);
}
END_TEST

START_TEST(a_fault_is_the_kernels)
{
	struct mpk_error err = { 0 };
	uint64_t slots[] = { 0, INT64_C(1) << 40, 1 };

	if (!has_gpu(&err))
		SKIP_TEST("%s", err.text);
	struct mpk_device_kernel *stray = kernel_here("stray");
	void *out = floats_on(device, 1, 0, 0);

	slots[0] = slot_at(out);
	ck_assert_ok(mpk_device_launch(stray, slots, 3, &err), err);
	ck_assert_int_eq(mpk_device_sync(device, &err), MPK_E_RAISED);
	ck_assert_text(err, "CUDA_ERROR_ILLEGAL_ADDRESS");
	mpk_device_free(device, out);
	mpk_device_close(device);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("device_gpu");
	TCase *tc = tcase_create("gpu");
	SRunner *r = srunner_create(s);

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, every_width_arrives);
	tcase_add_test(tc, clusters_have_their_size);
	tcase_add_test(tc, copies_follow_their_kernels);
	tcase_add_test(tc, a_cooperative_grid_waits_for_itself);
	tcase_add_test(tc, shared_memory_beyond_48_kib);
	tcase_add_test(tc, a_fault_is_the_kernels);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_VERBOSE);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
