/* SPDX-License-Identifier: Apache-2.0 */
/* lib/show/check: what a library, and a set of them, come to on a device */
#include "assert_error.h"
#include "robust.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "check/set.h"
#include "elf/image.h"
#include "fatbin/fatbin.h"

static struct mpk_arena arena;

static void clear(void)
{
	mpk_arena_fini(&arena);
}

/* --- one library --------------------------------------------------------------------------------- */

/* A container with an entry for each architecture, "75 90 120a 80p 80n": p for PTX, n for a cubin of CUDA 13. The entry is
 * what counts: the image in it is always the same. */
static struct mpk_span container(const char *archs)
{
	struct mpk_rope entries = mpk_rope_of(&arena), all = mpk_rope_of(&arena);
	struct mpk_span out;

	for (const char *p = archs; *p; p += strcspn(p, " "), p += *p == ' ') {
		struct mpk_rope *image = mpk_arena_alloc(&arena, sizeof *image);
		const char *end = p + strspn(p, "0123456789");
		const struct mpk_fatbin_entry e = {
			.kind = *end == 'p' ? MPK_FATBIN_PTX : MPK_FATBIN_ELF,
			.sm = (unsigned)strtoul(p, NULL, 10),
			.arch_specific = *end == 'a',
			.family_specific = *end == 'f',
			.ir_major = 8,
		};

		ck_assert_ptr_nonnull(image);
		*image = mpk_rope_of(&arena);
		mpk_rope_put_view(
			image,
			robust_load(&arena, *end == 'p' ? "tests/data/device/two.ptx"
							: "tests/data/device/two.sm_75.cubin"));
		ck_assert_int_eq(mpk_fatbin_put_new(&entries, &e, image, *end == 'n' ? 8 : 7, NULL),
				 MPK_OK);
	}
	mpk_fatbin_put_header(&all, entries.len);
	mpk_rope_put_rope(&all, &entries);
	ck_assert_int_eq(mpk_rope_flat(&all, &out, NULL), MPK_OK);
	return out;
}

static void check_library(const char *const *containers, const struct mpk_there *there,
			  struct mpk_check_result *out)
{
	struct mpk_image *image = mpk_arena_alloc(&arena, sizeof *image);
	struct mpk_image_device *devices = mpk_arena_array(&arena, 8, sizeof *devices);
	struct mpk_view *view = mpk_arena_alloc(&arena, sizeof *view);
	struct mpk_check_code code = { 0 };
	struct mpk_error err = { 0 };

	ck_assert(image && devices && view);
	*image = (struct mpk_image){ .devices = devices };
	for (; containers[image->device_count]; image->device_count++)
		devices[image->device_count] = (struct mpk_image_device){
			.section = ".nv_fatbin",
			.index = image->device_count,
			.is_found = containers[image->device_count][0] == '@',
			.bytes = container(containers[image->device_count] +
					   (containers[image->device_count][0] == '@')),
		};
	ck_assert_int_eq(mpk_view_init(view, "lib.so", 1, image, NULL, &arena, &err), MPK_OK);
	ck_assert_int_eq(mpk_check_run(view, NULL, there, &arena, &code, out, &err), MPK_OK);
}

static const char *const only[] = { "device", "driver" };

static struct mpk_there place(unsigned sm, unsigned driver, char option)
{
	return (struct mpk_there){ .machine_name = "x86-64",
				   .device = sm ? "device" : NULL,
				   .cuda = { .sm = sm, .driver = { driver, 0 } },
				   .strict = option == 's',
				   .allow_part = option == 'p',
				   .only = only,
				   .only_count = 2 };
}

/* kernels of two.sm_75.cubin: 2 each */
static const struct {
	const char *containers[4];
	unsigned sm, driver;
	char option;
	enum mpk_check_outcome outcome;
	size_t run, extras, holes;
} libraries[] = {
	{ { "80 90 80p", "103a", "120a" }, 90, 0, 0, MPK_CHECK_OPEN, 1, 2, 0 },
	{ { "80 90 80p", "103a", "120a" }, 90, 0, 's', MPK_CHECK_RUNS_PARTLY, 1, 2, 0 },
	{ { "80 90 80p", "103a", "120a" }, 120, 0, 0, MPK_CHECK_OPEN, 2, 1, 0 },
	{ { "80", "120" }, 80, 0, 0, MPK_CHECK_OPEN, 1, 1, 0 },
	{ { "80", "100f" }, 80, 0, 0, MPK_CHECK_OPEN, 1, 1, 0 },
	{ { "90 80", "80" }, 90, 0, 0, MPK_CHECK_RUNS_PARTLY, 1, 0, 1 },
	{ { "90 80", "80" }, 90, 0, 'p', MPK_CHECK_OPEN, 1, 0, 1 },
	{ { "90 80", "80", "120a" }, 90, 0, 'p', MPK_CHECK_OPEN, 1, 1, 1 },
	/* special code beside that for older ones is no extra: somebody meant older ones to run it */
	{ { "90", "80 90a" }, 100, 0, 0, MPK_CHECK_RUNS_NOT, 0, 0, 2 },
	{ { "100", "80 90a" }, 100, 0, 0, MPK_CHECK_RUNS_PARTLY, 1, 0, 1 },
	{ { "103a", "120a" }, 90, 0, 0, MPK_CHECK_RUNS_NOT, 0, 2, 0 },
	{ { "103a", "120a" }, 90, 0, 'p', MPK_CHECK_RUNS_NOT, 0, 2, 0 },
	{ { "75p" }, 120, 0, 0, MPK_CHECK_OPEN, 1, 0, 0 },
	/* images that the program loads by itself (@): a few do not make it run, many do */
	{ { "@70", "75 80", "90a" }, 70, 0, 0, MPK_CHECK_RUNS_NOT, 0, 2, 0 },
	{ { "@70", "@75", "90a" }, 70, 0, 0, MPK_CHECK_OPEN, 1, 2, 0 },
	{ { "@70", "70", "90a" }, 70, 0, 0, MPK_CHECK_OPEN, 2, 1, 0 },
	/* the driver: a cubin of CUDA 13 is said so by its entry */
	{ { "80n" }, 80, 12, 0, MPK_CHECK_RUNS_NOT, 0, 0, 1 },
	{ { "80n" }, 0, 12, 0, MPK_CHECK_RUNS_NOT, 0, 0, 1 },
	{ { "80n" }, 80, 13, 0, MPK_CHECK_OPEN, 1, 0, 0 },
	{ { "80", "80n" }, 80, 12, 0, MPK_CHECK_RUNS_PARTLY, 1, 0, 1 },
	{ { NULL }, 80, 0, 0, MPK_CHECK_NOTHING, 0, 0, 0 },
	{ { NULL }, 0, 12, 0, MPK_CHECK_NOTHING, 0, 0, 0 },
};

START_TEST(library)
{
	const struct mpk_there there =
		place(libraries[_i].sm, libraries[_i].driver, libraries[_i].option);
	struct mpk_check_result r = { 0 };
	size_t units = 0;

	while (libraries[_i].containers[units])
		units++;
	check_library(libraries[_i].containers, &there, &r);
	ck_assert_int_eq(mpk_check_outcome(&r), libraries[_i].outcome);
	ck_assert_uint_eq(r.gpu_counts.units, units);
	ck_assert_uint_eq(r.gpu_counts.units_run, libraries[_i].run);
	ck_assert_uint_eq(r.gpu_counts.extras, libraries[_i].extras);
	ck_assert_uint_eq(r.gpu_counts.holes, libraries[_i].holes);
	ck_assert_uint_eq(r.gpu_counts.kernels, 2 * units);
	ck_assert_uint_eq(r.gpu_counts.kernels_run, 2 * libraries[_i].run);
	mpk_report_fini(&r.report);
}
END_TEST

/* --- several ---------------------------------------------------------------------------------------- */

/* What was found of a file: runs, or what else comes of its GPU code. */
static void add(struct mpk_check_set *set, const char *file, enum mpk_check_gpu gpu,
		uint64_t exports)
{
	bool has = gpu != MPK_CHECK_GPU_NONE && gpu != MPK_CHECK_GPU_OTHER;
	struct mpk_check_result r = { .file = file,
				      .there = set->places,
				      .gpu = gpu,
				      .exports = exports,
				      .gpu_counts = { .units = has,
						      .holes = gpu == MPK_CHECK_GPU_LACKS,
						      .units_run = gpu == MPK_CHECK_GPU_RUNS } };
	struct mpk_error e = { .code = MPK_E_LOAD, .text = "nothing of it runs" };

	if (gpu == MPK_CHECK_GPU_LACKS) {
		mpk_report_add(&r.report, MPK_ERROR, "device", &e);
		r.device_errors = 1;
	}
	if (gpu == MPK_CHECK_GPU_NONE)
		r.lacks = "it has no code for particular GPUs";
	ck_assert_int_eq(mpk_check_set_add(set, &r, 0, NULL), MPK_OK);
	mpk_report_fini(&r.report);
}

static void compare(struct mpk_check_set *set, enum mpk_check_outcome outcome, const char *sentence)
{
	struct mpk_strbuf out = { 0 };

	ck_assert_int_eq(mpk_check_set_sum(set, NULL), MPK_OK);
	ck_assert_int_eq(mpk_check_set_outcome(set), outcome);
	mpk_check_set_put_verdict(set, &out);
	ck_assert_str_eq(mpk_strbuf_text(&out), sentence);
	mpk_strbuf_fini(&out);
	mpk_check_set_fini(set);
}

static struct mpk_check_set set_of(const struct mpk_there *there)
{
	return (struct mpk_check_set){
		.name = "k.whl", .places = there, .device_count = 1, .arena = &arena
	};
}

/* Files without code for GPUs do not fail a set; one that has none at all does. */
START_TEST(sets)
{
	struct mpk_there there = place(90, 0, 0);
	struct mpk_check_set set;

	there.device = "sm_90";
	set = set_of(&there);
	add(&set, "k.whl!/a.so", MPK_CHECK_GPU_RUNS, 0);
	add(&set, "k.whl!/b.so", MPK_CHECK_GPU_NONE, 0);
	add(&set, "k.whl!/c.so", MPK_CHECK_GPU_OTHER, 0);
	compare(&set, MPK_CHECK_OPEN, "runs on sm_90: 1 of 1 library has code for it");

	set = set_of(&there);
	add(&set, "k.whl!/b.so", MPK_CHECK_GPU_NONE, 0);
	compare(&set, MPK_CHECK_NOTHING, "nothing checked: no file has code for particular GPUs");

	set = set_of(&there);
	add(&set, "k.whl!/c.so", MPK_CHECK_GPU_OTHER, 0);
	compare(&set, MPK_CHECK_RUNS_NOT,
		"does not run on sm_90: no file has code for GPUs of its maker");

	set = set_of(&there);
	add(&set, "k.whl!/a.so", MPK_CHECK_GPU_RUNS, 0);
	add(&set, "k.whl!/b.so", MPK_CHECK_GPU_LACKS, 0);
	compare(&set, MPK_CHECK_RUNS_NOT,
		"does not run on sm_90: 1 of 2 libraries has no code for it");
}
END_TEST

/* A library for special GPUs alone, or named by its architecture, is spared where another one runs; one for older GPUs is
 * not. */
START_TEST(spared)
{
	static const struct {
		const char *name, *containers[2];
		const char *other; /* containers of another library; NULL: there is none */
		char option;
		bool runs;
	} rows[] = {
		{ "k/libfa3.so", { "90a" }, "80 90", 0, true },
		{ "k/libfa3.so", { "100" }, "80 90", 0, true },
		{ "k/libfa3.so", { "90a" }, "80 90", 's', false },
		{ "k/libfa3.so", { "90a" }, NULL, 0, false },
		{ "k/libfa3.so", { "90a" }, "100", 0, false },
		{ "k/libold.so", { "75" }, "80 90", 0, false },
		{ "k/libold.so", { "75" }, "80 90", 'p', true },
		{ "k/libold.so", { "75" }, NULL, 'p', false },
		{ "k/sm75/ops.so", { "75" }, "80 90", 0, true },
		{ "k/libops_sm_75.so", { "75" }, "80 90", 0, true },
		{ "k/libops_sm_75.so", { "75" }, NULL, 0, false },
		{ "k/libprism75.so", { "75" }, "80 90", 0, false },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		struct mpk_there there = place(89, 0, rows[i].option);
		struct mpk_check_set set = {
			.name = "k.whl", .places = &there, .device_count = 1, .arena = &arena
		};
		const char *containers[] = { rows[i].other, NULL };
		struct mpk_check_result r = { 0 };

		check_library(rows[i].containers, &there, &r);
		r.file = rows[i].name;
		ck_assert_int_eq(mpk_check_set_add(&set, &r, 0, NULL), MPK_OK);
		mpk_report_fini(&r.report);
		if (rows[i].other) {
			r = (struct mpk_check_result){ 0 };
			check_library(containers, &there, &r);
			ck_assert_int_eq(mpk_check_set_add(&set, &r, 0, NULL), MPK_OK);
			mpk_report_fini(&r.report);
		}
		ck_assert_int_eq(mpk_check_set_sum(&set, NULL), MPK_OK);
		ck_assert_msg(mpk_check_outcome_is_error(mpk_check_set_outcome(&set)) !=
				      rows[i].runs,
			      "%s, row %zu", rows[i].name, i);
		ck_assert_uint_eq(set.devices[0].spared, rows[i].runs);
		mpk_check_set_fini(&set);
	}
}
END_TEST

/* Releases of one library are one; libraries with other functions, in other folders or without a number are not. */
START_TEST(alternatives)
{
	static const struct {
		const char *a, *b;
		uint64_t exports;
		bool is_one;
	} rows[] = {
		{ "k/libk_cuda118.so", "k/libk_cuda128.so", 7, true },
		{ "k/libk_cuda128.so", "k/libk_cuda118.so", 7, true },
		{ "k/libk.so.1", "k/libk.so.2", 7, false },
		{ "k/libk_cuda118.so", "k/libk_cuda128.so", 8, false },
		{ "k/libk_cuda118.so", "l/libk_cuda128.so", 7, false },
		{ "k/libk_cuda118.so", "k/libk_rocm128.so", 7, false },
		{ "k/liba.so", "k/libb.so", 7, false },
		{ "k/sm100/ops.so", "k/sm90/ops.so", 7, true },
		{ "k/libk_sm90a.so", "k/libk_sm_100f.so", 7, true },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		struct mpk_there there = place(100, 0, 0);
		struct mpk_check_set set;

		there.device = "sm_100";
		set = set_of(&there);
		add(&set, rows[i].a, MPK_CHECK_GPU_LACKS, 7);
		add(&set, rows[i].b, MPK_CHECK_GPU_RUNS, rows[i].exports);
		compare(&set, rows[i].is_one ? MPK_CHECK_OPEN : MPK_CHECK_RUNS_NOT,
			rows[i].is_one
				? "runs on sm_100: 1 of 1 library has code for it"
				: "does not run on sm_100: 1 of 2 libraries has no code for it");
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("device_rule");
	TCase *tc = tcase_create("check");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(tc, NULL, clear);
	tcase_add_loop_test(tc, library, 0, (int)MPK_ARRAY_COUNT(libraries));
	tcase_add_test(tc, sets);
	tcase_add_test(tc, spared);
	tcase_add_test(tc, alternatives);
	suite_add_tcase(suite, tc);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
