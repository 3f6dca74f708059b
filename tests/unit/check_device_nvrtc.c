/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA C++ source through NVIDIA's run-time compiler, where that is installed */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "blob/blob.h"
#include "device/internal/gpu.h"
#include "device_kernels.h"
#include "robust.h"
#include "skip.h"
#include "workdir.h"

static bool have_nvrtc;
static struct mpk_error reason;

static enum mpk_code compile_for(const char *source, unsigned sm, const char *home, char **out,
				 size_t *bytes, struct mpk_error *err)
{
	return mpk_nvrtc_compile(&(struct mpk_nvrtc_source){ mpk_span_str(source), sm, home }, out,
				 bytes, err);
}

static enum mpk_code compile(const char *source, char **out, size_t *bytes, struct mpk_error *err)
{
	return compile_for(source, 90, NULL, out, bytes, err);
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
	ck_assert_ok(mpk_nvrtc_compile(&(struct mpk_nvrtc_source){ kernels.data, 90, NULL }, &cubin,
				       &bytes, &err),
		     err);
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
	ck_assert_ok(
		compile_for("extern \"C\" __global__ void k() {}", 999, NULL, &code, &bytes, &err),
		err);
	ck_assert_ptr_nonnull(strstr(code, ".version"));
	ck_assert_ptr_nonnull(strstr(code, ".entry k"));
	free(code);
}
END_TEST

/* Features of one architecture alone: to be had on it, and on it only. */
START_TEST(suffixes)
{
	static const struct {
		unsigned sm;
		const char *source;
		bool compiles;
	} rows[] = {
		{ 90, "asm volatile(\"setmaxnreg.inc.sync.aligned.u32 104;\");", true },
		{ 80, "asm volatile(\"setmaxnreg.inc.sync.aligned.u32 104;\");", false },
		{ 80, "asm volatile(\"cp.async.wait_all;\");", true },
		{ 100, "asm volatile(\"tcgen05.wait::ld.sync.aligned;\");", true },
		{ 90, "asm volatile(\"tcgen05.wait::ld.sync.aligned;\");", false },
	};

	if (!have_nvrtc)
		SKIP_TEST("%s", reason.text);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		struct mpk_error err = { 0 };
		char source[200], *code = NULL;
		size_t bytes = 0;

		(void)snprintf(source, sizeof source, "extern \"C\" __global__ void k() { %s }",
			       rows[i].source);
		ck_assert_msg((compile_for(source, rows[i].sm, NULL, &code, &bytes, &err) ==
			       MPK_OK) == rows[i].compiles,
			      "%u: %s: %s", rows[i].sm, rows[i].source, err.text);
		free(code);
	}
}
END_TEST

/* Row: the first line of a source, what the rest needs of it, and how it ends. */
static const struct {
	const char *line;
	enum mpk_code code;
	const char *says; /* of an error; of code: a text in it */
} lines[] = {
	{ "// nvrtc_options: -DN=4", MPK_OK, "\177ELF" },
	{ "// nvrtc_options:\t--define-macro=N=4\r", MPK_OK, "\177ELF" },
	{ "// nvrtc_options: -DN=4 -arch=compute_80", MPK_OK, ".target sm_80" },
	{ "// nvrtc_options: -DN=4 --gpu-architecture=sm_80 --std=c++14", MPK_OK, "\177ELF" },
	{ "// nvrtc_options: -DN=4 --no-such-option", MPK_E_LOAD, "no-such-option" },
	{ "// nvrtc_options: -DN=4 more", MPK_E_CORRUPT, "begins with '-'" },
	{ "// no options", MPK_E_LOAD, "N" },
};

START_TEST(options_of_a_source)
{
	struct mpk_error err = { 0 };
	char source[200], *code = NULL;
	size_t bytes = 0;

	if (!have_nvrtc)
		SKIP_TEST("%s", reason.text);
	(void)snprintf(source, sizeof source,
		       "%s\nextern \"C\" __global__ void k(int *p) { *p = N; }", lines[_i].line);
	ck_assert_int_eq(compile(source, &code, &bytes, &err), lines[_i].code);
	if (lines[_i].code == MPK_OK)
		ck_assert_ptr_nonnull(memmem(code, bytes, lines[_i].says, strlen(lines[_i].says)));
	else
		ck_assert_text(err, lines[_i].says);
	free(code);
}
END_TEST

/* The headers of a toolkit that was named come first. */
START_TEST(headers_of_a_toolkit)
{
	struct mpk_error err = { 0 };
	char *code = NULL;
	size_t bytes = 0;

	if (!have_nvrtc)
		SKIP_TEST("%s", reason.text);
	workdir_enter();
	run("mkdir -p home/include && echo 'enum { ours = 1 };' >home/include/cuda_fp16.h");
	ck_assert_ok(compile_for("#include <cuda_fp16.h>\n"
				 "extern \"C\" __global__ void k(int *p) { *p = ours; }",
				 90, "home", &code, &bytes, &err),
		     err);
	workdir_leave();
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
	tcase_add_test(tc, suffixes);
	tcase_add_loop_test(tc, options_of_a_source, 0, MPK_ARRAY_COUNT(lines));
	tcase_add_test(tc, headers_of_a_toolkit);
	tcase_add_test(tc, failures_quote_the_log);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
