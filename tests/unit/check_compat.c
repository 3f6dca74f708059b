/* SPDX-License-Identifier: Apache-2.0 */
/* What runs where: CUDA images on devices and with drivers, loaders and symbols of releases. */
#include "code/cuda.h"
#include "compat/release.h"
#include "harness.h"
#include "kinds.h"

/* --- CUDA: every pair of image and device ----------------------------------------------- */

/* By hand from the Programming Guide; the devices are those of ALL, in this order. */
#define ALL                                                                                        \
	" 20 21 30 32 35 37 50 52 53 60 61 62 70 72 75 80 86 87 88 89 90 100 101 103 107 110 120 121 "
#define FROM_90 " 90 100 101 103 107 110 120 121 "

static const struct {
	unsigned sm;
	char suffix;
	bool ptx;
	const char *runs_on;
} images[] = {
	{ 20, 0, false, " 20 21 " },
	{ 30, 0, false, " 30 35 37 " },
	{ 32, 0, false, " 32 " },
	{ 35, 0, false, " 35 37 " },
	{ 50, 0, false, " 50 52 " },
	{ 52, 0, false, " 52 " },
	{ 53, 0, false, " 53 " },
	{ 60, 0, false, " 60 61 " },
	{ 61, 0, false, " 61 " },
	{ 62, 0, false, " 62 " },
	{ 70, 0, false, " 70 75 " },
	{ 72, 0, false, " 72 " },
	{ 75, 0, false, " 75 " },
	{ 80, 0, false, " 80 86 89 " },
	{ 86, 0, false, " 86 89 " },
	{ 87, 0, false, " 87 " },
	{ 88, 0, false, " 88 " },
	{ 89, 0, false, " 89 " },
	{ 90, 0, false, " 90 " },
	{ 90, 'a', false, " 90 " },
	{ 100, 0, false, " 100 103 107 " },
	{ 100, 'a', false, " 100 " },
	{ 100, 'f', false, " 100 103 107 " },
	{ 101, 0, false, " 101 " },
	{ 101, 'a', false, " 101 " },
	{ 101, 'f', false, " 101 " },
	{ 103, 0, false, " 103 107 " },
	{ 103, 'f', false, " 103 107 " },
	{ 107, 0, false, " 107 " },
	{ 110, 0, false, " 110 " },
	{ 110, 'a', false, " 110 " },
	{ 110, 'f', false, " 110 " },
	{ 120, 0, false, " 120 121 " },
	{ 120, 'a', false, " 120 " },
	{ 120, 'f', false, " 120 121 " },
	{ 121, 0, false, " 121 " },
	{ 121, 'a', false, " 121 " },
	{ 121, 'f', false, " 121 " },
	{ 20, 0, true, ALL },
	{ 75, 0, true, " 75 80 86 87 88 89" FROM_90 },
	{ 80, 0, true, " 80 86 87 88 89" FROM_90 },
	{ 87, 0, true, " 87 88 89" FROM_90 },
	{ 89, 0, true, " 89" FROM_90 },
	{ 90, 0, true, FROM_90 },
	{ 90, 'a', true, " 90 " },
	{ 100, 0, true, " 100 101 103 107 110 120 121 " },
	{ 100, 'a', true, " 100 " },
	{ 100, 'f', true, " 100 103 107 " },
	{ 103, 'f', true, " 103 107 " },
	{ 110, 0, true, " 110 120 121 " },
	{ 110, 'f', true, " 110 " },
	{ 120, 'f', true, " 120 121 " },
	{ 121, 0, true, " 121 " },
};

static struct mpk_code_target target_of(size_t i)
{
	return (struct mpk_code_target){ .kind = images[i].ptx ? MPK_TARGET_PTX : MPK_TARGET_BINARY,
					 .sm = images[i].sm,
					 .suffix = images[i].suffix,
					 .ptx_major = 1 };
}

START_TEST(every_pair)
{
	const struct mpk_code_target t = target_of((size_t)_i);
	size_t seen = 0;

	for (const struct mpk_cuda_gpu *d = mpk_cuda_devices; d->sm; d++, seen++) {
		const struct mpk_cuda_place place = { .sm = d->sm };
		char word[8];
		bool runs = mpk_cuda_fit(&t, &place) <= MPK_CUDA_COMPILES;

		snprintf(word, sizeof word, " %u ", d->sm);
		ck_assert_msg(strstr(ALL, word) != NULL, "sm_%u is not in the test's list", d->sm);
		ck_assert_msg(runs == (strstr(images[_i].runs_on, word) != NULL), "%s_%u%c on %u",
			      images[_i].ptx ? "compute" : "sm", t.sm, t.suffix ? t.suffix : ' ',
			      d->sm);
	}
	ck_assert_uint_eq(seen, 28);
}
END_TEST

/* No driver runs these, on any device. */
START_TEST(nothing_to_run)
{
	static const struct {
		struct mpk_code_target image;
		enum mpk_cuda_fit fit;
	} rows[] = {
		{ { .kind = MPK_TARGET_LTO, .sm = 80 }, MPK_CUDA_LTO },
		{ { .kind = MPK_TARGET_OTHER, .sm = 80, .kind_code = 64 }, MPK_CUDA_UNKNOWN },
		{ { .kind = MPK_TARGET_BINARY, .sm = 80, .relocatable = true }, MPK_CUDA_UNLINKED },
	};
	const struct mpk_cuda_place here = { .sm = 80, .driver = { 13, 4 } }, anywhere = { 0 };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		ck_assert_int_eq(mpk_cuda_fit(&rows[i].image, &here), rows[i].fit);
		ck_assert_int_eq(mpk_cuda_fit(&rows[i].image, &anywhere), rows[i].fit);
		ck_assert_uint_eq(mpk_cuda_choose(&rows[i].image, 1, &anywhere), 1);
	}
}
END_TEST

START_TEST(the_image_that_a_driver_takes)
{
	static const struct mpk_code_target fatbin[] = {
		{ .kind = MPK_TARGET_PTX, .sm = 80, .ptx_major = 8 },
		{ .kind = MPK_TARGET_BINARY, .sm = 80 },
		{ .kind = MPK_TARGET_BINARY, .sm = 86 },
		{ .kind = MPK_TARGET_PTX, .sm = 90, .ptx_major = 8, .ptx_minor = 4 },
		{ .kind = MPK_TARGET_BINARY, .sm = 90, .suffix = 'a' },
	};
	static const struct {
		unsigned sm, chosen;
	} rows[] = { { 75, 5 }, { 80, 1 }, { 86, 2 }, { 87, 0 }, { 89, 2 }, { 90, 4 }, { 100, 3 } };
	const struct mpk_cuda_place old = { .sm = 100, .driver = { 12, 3 } };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		const struct mpk_cuda_place place = { .sm = rows[i].sm };

		ck_assert_uint_eq(mpk_cuda_choose(fatbin, 5, &place), rows[i].chosen);
	}
	ck_assert_uint_eq(mpk_cuda_choose(fatbin, 5, &old), 0); /* PTX 8.4 is too new for it */
}
END_TEST

/* What runs there may not be what is asked for: machine code of the very device, or PTX for all later ones. */
START_TEST(own_code_and_code_for_later_devices)
{
	static const struct {
		struct mpk_code_target image;
		struct mpk_cuda_place place;
		enum mpk_cuda_fit fit;
	} rows[] = {
		{ { .sm = 80 }, { MPK_CUDA_OWN, 80, { 0 } }, MPK_CUDA_RUNS },
		{ { .sm = 90, .suffix = 'a' }, { MPK_CUDA_OWN, 90, { 0 } }, MPK_CUDA_RUNS },
		{ { .sm = 80 }, { MPK_CUDA_OWN, 86, { 0 } }, MPK_CUDA_OTHERS },
		{ { .sm = 80 }, { MPK_CUDA_OWN, 90, { 0 } }, MPK_CUDA_OTHER_MAJOR },
		{ { MPK_TARGET_PTX, .sm = 80 }, { MPK_CUDA_OWN, 80, { 0 } }, MPK_CUDA_JIT },
		{ { MPK_TARGET_PTX, .sm = 90 }, { MPK_CUDA_OWN, 80, { 0 } }, MPK_CUDA_LATER },
		{ { MPK_TARGET_PTX, .sm = 80 }, { MPK_CUDA_AHEAD, 90, { 0 } }, MPK_CUDA_COMPILES },
		{ { MPK_TARGET_PTX, .sm = 90 }, { MPK_CUDA_AHEAD, 80, { 0 } }, MPK_CUDA_LATER },
		{ { MPK_TARGET_PTX, .sm = 90, .suffix = 'a' },
		  { MPK_CUDA_AHEAD, 90, { 0 } },
		  MPK_CUDA_NOT_AHEAD },
		{ { .sm = 90 }, { MPK_CUDA_AHEAD, 90, { 0 } }, MPK_CUDA_NOT_AHEAD },
		{ { MPK_TARGET_PTX, .sm = 80, .ptx_major = 9 },
		  { MPK_CUDA_AHEAD, 80, { 12, 4 } },
		  MPK_CUDA_PTX_VERSION },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++)
		ck_assert_msg(mpk_cuda_fit(&rows[i].image, &rows[i].place) == rows[i].fit,
			      "row %zu", i);
}
END_TEST

/* --- CUDA: drivers ---------------------------------------------------------------------- */

START_TEST(drivers)
{
	static const struct {
		struct mpk_code_target image;
		struct mpk_cuda_version driver;
		enum mpk_cuda_fit fit;
	} rows[] = {
		{ { .kind = MPK_TARGET_PTX, .sm = 50, .ptx_major = 8, .ptx_minor = 4 },
		  { 12, 4 },
		  MPK_CUDA_COMPILES },
		{ { .kind = MPK_TARGET_PTX, .sm = 50, .ptx_major = 8, .ptx_minor = 4 },
		  { 12, 3 },
		  MPK_CUDA_PTX_VERSION },
		{ { .kind = MPK_TARGET_PTX, .sm = 50, .ptx_major = 8, .ptx_minor = 5 },
		  { 12, 6 },
		  MPK_CUDA_COMPILES },
		{ { .kind = MPK_TARGET_PTX, .sm = 50, .ptx_major = 9, .ptx_minor = 0 },
		  { 12, 9 },
		  MPK_CUDA_PTX_VERSION },
		{ { .kind = MPK_TARGET_PTX, .sm = 50, .ptx_major = 9, .ptx_minor = 9 },
		  { 14, 0 }, /* newer than what is known: nothing is said against it */
		  MPK_CUDA_COMPILES },
		{ { .kind = MPK_TARGET_BINARY, .sm = 50, .zstd = true },
		  { 12, 3 },
		  MPK_CUDA_PACKED },
		{ { .kind = MPK_TARGET_BINARY, .sm = 50, .zstd = true }, { 12, 4 }, MPK_CUDA_RUNS },
		{ { .kind = MPK_TARGET_BINARY, .sm = 50, .abi = 8 }, { 12, 9 }, MPK_CUDA_TOOLKIT },
		{ { .kind = MPK_TARGET_BINARY, .sm = 50, .abi = 8 }, { 13, 0 }, MPK_CUDA_RUNS },
		{ { .kind = MPK_TARGET_BINARY, .sm = 50, .abi = 7 }, { 13, 0 }, MPK_CUDA_RUNS },
		/* for Blackwell CUDA 12.8 writes version 8, too */
		{ { .kind = MPK_TARGET_BINARY, .sm = 100, .abi = 8 }, { 12, 8 }, MPK_CUDA_RUNS },
		{ { .kind = MPK_TARGET_BINARY, .sm = 120, .abi = 8, .toolkit = 12 },
		  { 12, 9 },
		  MPK_CUDA_RUNS },
		{ { .kind = MPK_TARGET_BINARY, .sm = 100, .abi = 8, .toolkit = 13 },
		  { 12, 9 },
		  MPK_CUDA_TOOLKIT },
		{ { .kind = MPK_TARGET_BINARY, .sm = 100, .abi = 8, .toolkit = 13 },
		  { 13, 0 },
		  MPK_CUDA_RUNS },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		const struct mpk_cuda_place place = { .driver = rows[i].driver };

		ck_assert_msg(mpk_cuda_fit(&rows[i].image, &place) == rows[i].fit, "row %zu", i);
	}
}
END_TEST

START_TEST(tables_ascend)
{
	for (const struct mpk_cuda_gpu *d = mpk_cuda_devices; d[1].sm; d++)
		ck_assert_uint_lt(d->sm, d[1].sm);
	for (const struct mpk_cuda_driver *d = mpk_cuda_drivers; d[1].cuda.major; d++) {
		ck_assert_int_lt(mpk_cuda_compare(d->cuda, d[1].cuda), 0);
		ck_assert_int_le(mpk_cuda_compare(d->ptx, d[1].ptx), 0);
		ck_assert(!d[1].branch || d->branch < d[1].branch);
	}
}
END_TEST

/* Near ones of a number that is no device: below and above, or the last alone. */
START_TEST(near_devices)
{
	unsigned near[2];

	ck_assert_uint_eq(mpk_cuda_device_near("sm_91", near), 2);
	ck_assert_uint_eq(near[0], 90);
	ck_assert_uint_eq(near[1], 100);
	ck_assert_uint_eq(mpk_cuda_device_near("sm_999", near), 1);
	ck_assert_uint_eq(near[0], 121);
}
END_TEST

START_TEST(parses_devices)
{
	static const struct {
		const char *text;
		unsigned sm;
	} rows[] = {
		{ "sm_90", 90 },      { "sm_90a", 90 },  { "90", 90 },
		{ "9.0", 90 },        { "12.1", 121 },   { "sm_100f", 100 },
		{ "compute_86", 86 }, { "sm_130", 130 }, { "sm_91", 0 },
		{ "sm_", 0 },         { "", 0 },         { "sm_90b", 0 },
		{ "8.6.1", 0 },       { "ada", 0 },      { "sm_9000", 0 },
		{ "sm_777", 0 },      { "sm_999", 0 },   { "sm_107", 107 },
		{ "-80", 0 },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++)
		ck_assert_msg(mpk_cuda_device_parse(rows[i].text) == rows[i].sm, "%s",
			      rows[i].text);
}
END_TEST

START_TEST(parses_drivers)
{
	static const struct {
		const char *text;
		unsigned major, minor;
	} rows[] = {
		{ "12.4", 12, 4 },  { "13", 13, 0 },      { "550.54.14", 12, 4 }, { "551", 12, 4 },
		{ "580.1", 13, 0 }, { "15.2", 15, 2 },    { "12.x", 0, 0 },       { "", 0, 0 },
		{ "4.2", 0, 0 },    { "550.54-1", 0, 0 }, { "r550", 0, 0 },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		struct mpk_cuda_version v = { 0 };

		ck_assert_msg(mpk_cuda_driver_parse(rows[i].text, &v) == (rows[i].major > 0), "%s",
			      rows[i].text);
		ck_assert_msg(v.major == rows[i].major && v.minor == rows[i].minor, "%s",
			      rows[i].text);
	}
}
END_TEST

/* --- releases --------------------------------------------------------------------------- */

static struct mpk_release release(const char *text)
{
	struct mpk_release r;

	ck_assert_msg(mpk_release_parse(text, &r), "%s", text);
	return r;
}

START_TEST(releases)
{
	struct mpk_release r;

	ck_assert_uint_eq(release("0.27").minor, 27);
	ck_assert_uint_eq(release("v0.25.0.post1").minor, 25);
	ck_assert_uint_eq(release("26").minor, 26);
	ck_assert_str_eq(release("ffi").name, "tvm-ffi");
	ck_assert_str_eq(release("0.18").name, "TVM 0.18");
	ck_assert_int_eq(release("0.20").reads, MPK_GEN_LEGACY);
	ck_assert_int_eq(release("0.21").reads, MPK_GEN_HYBRID);
	ck_assert_int_eq(release("0.22").reads, MPK_GEN_CURRENT);
	ck_assert_int_eq(release("tvm-ffi").reads, MPK_GEN_CURRENT);
	ck_assert(!mpk_release_parse("0.28", &r));
	ck_assert(!mpk_release_parse("0.1", &r));
	ck_assert(!mpk_release_parse("1.0", &r));
	ck_assert(!mpk_release_parse("0.27x", &r));
	ck_assert(!mpk_release_parse("", &r));
}
END_TEST

START_TEST(loaders)
{
	static const struct {
		const char *release, *kind;
		enum mpk_loader_state state;
	} rows[] = {
		{ "0.27", "relax.VMExecutable", MPK_LOADER_THERE },
		{ "0.27", "const_loader", MPK_LOADER_THERE },
		{ "0.27", "cuda", MPK_LOADER_SIDECAR },
		{ "0.27", "opencl", MPK_LOADER_WHEEL },
		{ "0.24", "opencl", MPK_LOADER_BUILD },
		{ "0.24", "relax.VMExecutable", MPK_LOADER_THERE },
		{ "0.27", "relax.Executable", MPK_LOADER_OTHER },
		{ "0.19", "relax.Executable", MPK_LOADER_THERE },
		{ "0.27", "GraphExecutorFactory", MPK_LOADER_OTHER },
		{ "0.18", "GraphExecutorFactory", MPK_LOADER_THERE },
		{ "0.18", "cuda", MPK_LOADER_BUILD },
		{ "0.18", "hexagon", MPK_LOADER_OTHER },
		{ "0.27", "acme_npu", MPK_LOADER_NONE },
		{ "0.18", "aocl", MPK_LOADER_NONE }, /* written and never read */
		{ "ffi", "const_loader", MPK_LOADER_OTHER },
		{ "ffi", "cuda", MPK_LOADER_OTHER },
		{ "ffi", "acme_npu", MPK_LOADER_NONE },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		const struct mpk_release r = release(rows[i].release);
		struct mpk_loader_info info;

		ck_assert_msg(mpk_release_loader(&r, mpk_span_str(rows[i].kind), &info) ==
				      rows[i].state,
			      "%s in %s", rows[i].kind, rows[i].release);
	}
}
END_TEST

/* A loader is of no use for a kind that is not known, and no release reads before it writes. */
START_TEST(loaders_are_of_known_kinds)
{
	for (const struct mpk_kind *k = mpk_kinds; k->name; k++) {
		const struct mpk_release newest = release("0.27");
		struct mpk_loader_info info;

		if (mpk_release_loader(&newest, mpk_span_str(k->name), &info) == MPK_LOADER_NONE)
			continue;
		ck_assert_msg(info.last >= k->last || info.last + 1 >= k->first, "%s", k->name);
		ck_assert_uint_le(info.first, info.last);
	}
}
END_TEST

START_TEST(symbols)
{
	static const struct {
		const char *release, *name;
		bool there;
	} rows[] = {
		{ "ffi", "TVMFFIFunctionCall", true },
		{ "ffi", "TVMBackendAllocWorkspace", false },
		{ "0.27", "TVMBackendAllocWorkspace", true },
		{ "0.25", "TVMBackendGetFuncFromEnv", true },
		{ "0.26", "TVMBackendGetFuncFromEnv", false },
		{ "0.27", "TVMFFIBigIntFromByteArray", true },
		{ "0.25", "TVMFFIBigIntFromByteArray", false },
		{ "0.22", "TVMFFIHandleInitOnce", false },
		{ "0.23", "TVMFFIHandleInitOnce", true },
		{ "0.18", "TVMFuncCall", true },
		{ "0.18", "TVMFFIFunctionCall", false },
		{ "0.27", "TVMFuncCall", false },
		{ "0.27", "printf", false },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		const struct mpk_release r = release(rows[i].release);

		ck_assert_msg(mpk_release_symbol(&r, rows[i].name) == rows[i].there, "%s in %s",
			      rows[i].name, rows[i].release);
	}
	ck_assert_str_eq(mpk_symbol_owner("cuLaunchKernel"), "the CUDA driver (libcuda.so.1)");
	ck_assert_str_eq(mpk_symbol_owner("__cudaRegisterFunction"),
			 "the CUDA runtime (libcudart)");
	ck_assert_str_eq(mpk_symbol_owner("__hipPushCallConfiguration"),
			 "the HIP runtime (libamdhip64)");
	ck_assert_str_eq(mpk_symbol_owner("hipMalloc"), "the HIP runtime (libamdhip64)");
	ck_assert_str_eq(mpk_symbol_owner("hipblasCreate"), "hipBLAS");
	ck_assert_str_eq(mpk_symbol_owner("cusolverDnCreate"), "cuSOLVER");
	ck_assert_str_eq(mpk_symbol_owner("clFinish"), "OpenCL (libOpenCL.so.1)");
	ck_assert_str_eq(mpk_symbol_owner("_ZN3tvm3ffi5ErrorE"), "tvm-ffi");
	ck_assert_ptr_null(mpk_symbol_owner("clock"));
	ck_assert_ptr_null(mpk_symbol_owner("customer"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("compat");
	TCase *tc = tcase_create("compat");
	SRunner *runner;
	int failed;

	tcase_add_loop_test(tc, every_pair, 0, (int)MPK_ARRAY_COUNT(images));
	tcase_add_test(tc, nothing_to_run);
	tcase_add_test(tc, the_image_that_a_driver_takes);
	tcase_add_test(tc, own_code_and_code_for_later_devices);
	tcase_add_test(tc, drivers);
	tcase_add_test(tc, tables_ascend);
	tcase_add_test(tc, parses_devices);
	tcase_add_test(tc, near_devices);
	tcase_add_test(tc, parses_drivers);
	tcase_add_test(tc, releases);
	tcase_add_test(tc, loaders);
	tcase_add_test(tc, loaders_are_of_known_kinds);
	tcase_add_test(tc, symbols);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
