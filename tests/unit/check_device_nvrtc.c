/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA C++ source through NVIDIA's run-time compiler, where that is installed */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "blob/blob.h"
#include "device/nvrtc.h"
#include "device_kernels.h"
#include "robust.h"
#include "skip.h"

static bool have_nvrtc;
static struct mpk_error reason;

static enum mpk_code compile(const char *source, char **out, size_t *bytes, struct mpk_error *err)
{
	return mpk_nvrtc_compile(mpk_span_str(source), 90, out, bytes, err);
}

START_TEST(source_becomes_machine_code)
{
	struct mpk_error err = { 0 };
	char *cubin = NULL;
	size_t bytes = 0;

	if (!have_nvrtc)
		SKIP_TEST("%s", reason.text);
	ck_assert_ok(compile("extern \"C\" __global__ void k(float *p) { p[threadIdx.x] = 1; }",
			     &cubin, &bytes, &err),
		     err);
	ck_assert_uint_gt(bytes, 64);
	ck_assert_mem_eq(cubin, "\177ELF", 4);
	ck_assert_uint_eq((uint8_t)cubin[18], 190); /* EM_CUDA */
	ck_assert_ptr_nonnull(memmem(cubin, bytes, ".text.k", 7));
	free(cubin);
}
END_TEST

/* TVM's source includes headers that lie beside the compiler's library. */
START_TEST(source_of_a_real_module_compiles)
{
	struct mpk_arena arena = { 0 };
	struct mpk_error err = { 0 };
	struct mpk_tree tree;
	struct mpk_kernels kernels = { 0 };
	char *cubin = NULL;
	size_t bytes = 0;

	if (!have_nvrtc)
		SKIP_TEST("%s", reason.text);
	struct mpk_span blob =
		robust_load(&arena, "tests/data/formats/02_cuda_source_dynshmem.blob");

	ck_assert_ok(mpk_blob_read(blob, MPK_GEN_CURRENT, &arena, &tree, &err), err);
	for (size_t i = 0; i < tree.count; i++) {
		struct mpk_cursor c = mpk_cursor_of(tree.nodes[i].payload, 0, "payload");

		if (mpk_span_is(tree.nodes[i].kind, "cuda"))
			ck_assert_ok(mpk_kernels_read(&c, tree.nodes[i].kind, tree.gen, &arena,
						      &kernels, &err),
				     err);
	}
	ck_assert(mpk_span_is(kernels.fmt, "cuda"));
	ck_assert_ok(mpk_nvrtc_compile(kernels.data, 90, &cubin, &bytes, &err), err);
	ck_assert_ptr_nonnull(memmem(cubin, bytes, ".text.rev_kernel", 16));
	free(cubin);
	mpk_arena_fini(&arena);
}
END_TEST

/* What sources of TVM have, which were made for a compilation with host headers. */
static const char *const probes[] = {
	"extern \"C\" __global__ void k(float *p) { p[0] = INFINITY; p[1] = -NAN; }",
	"extern \"C\" __global__ void k(const __grid_constant__ CUtensorMap map, float *p) { *p = 1; }",
	"#include <cuda.h>\nextern \"C\" __global__ void k(const __grid_constant__ CUtensorMap m) {}",
	"extern \"C\" __global__ void k(__int128 *p) { *p = *p * 3; }",
	("float twice(float x) { return x + x; }\n"
	 "extern \"C\" __global__ void k(float *p) { *p = twice(*p); }"),
	/* of sm_90a alone */
	"extern \"C\" __global__ void k() { asm volatile(\"setmaxnreg.inc.sync.aligned.u32 104;\"); }",
	"#include <cuda_fp16.h>\nextern \"C\" __global__ void k(half *p) { *p = __hadd(*p, *p); }",
	"#include <mma.h>\nextern \"C\" __global__ void k(float *p) { *p = 1; }",
};

START_TEST(sources_of_tvm_compile)
{
	struct mpk_error err = { 0 };
	char *cubin = NULL;
	size_t bytes = 0;

	if (!have_nvrtc)
		SKIP_TEST("%s", reason.text);
	ck_assert_ok(compile(probes[_i], &cubin, &bytes, &err), err);
	ck_assert_mem_eq(cubin, "\177ELF", 4);
	free(cubin);
}
END_TEST

/* An architecture that no compiler knows gets what the driver compiles. */
START_TEST(newer_devices_get_ptx)
{
	struct mpk_error err = { 0 };
	char *code = NULL;
	size_t bytes = 0;

	if (!have_nvrtc)
		SKIP_TEST("%s", reason.text);
	ck_assert_ok(mpk_nvrtc_compile(mpk_span_str("extern \"C\" __global__ void k() {}"), 999,
				       &code, &bytes, &err),
		     err);
	ck_assert_ptr_nonnull(strstr(code, ".version"));
	ck_assert_ptr_nonnull(strstr(code, ".entry k"));
	free(code);
}
END_TEST

START_TEST(failures_quote_the_log)
{
	struct mpk_error err = { 0 };
	char *cubin = NULL;
	size_t bytes = 0;

	if (!have_nvrtc)
		SKIP_TEST("%s", reason.text);
	ck_assert_int_eq(compile("extern \"C\" __global__ void k(float *p) { *p = nowhere; }",
				 &cubin, &bytes, &err),
			 MPK_E_LOAD);
	ck_assert_text(err, "CUDA source does not compile for sm_90");
	ck_assert_text(err, "nowhere");
	ck_assert_ptr_null(cubin);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("device_nvrtc");
	TCase *tc = tcase_create("nvrtc");
	SRunner *r = srunner_create(s);
	size_t bytes;
	char *cubin = NULL;

	have_nvrtc = compile("", &cubin, &bytes, &reason) == MPK_OK ||
		     !strstr(reason.text, "needs NVIDIA's run-time compiler");
	free(cubin);
	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, source_becomes_machine_code);
	tcase_add_test(tc, source_of_a_real_module_compiles);
	tcase_add_loop_test(tc, sources_of_tvm_compile, 0, MPK_ARRAY_COUNT(probes));
	tcase_add_test(tc, newer_devices_get_ptx);
	tcase_add_test(tc, failures_quote_the_log);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
