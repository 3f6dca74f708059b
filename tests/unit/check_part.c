/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of GPU code by their names (part/part.h): what --extract plans is found under the names that it has, and
 * damaged libraries are survived. */
#include "robust.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "extract/extract.h"
#include "part/part.h"

static struct mpk_arena arena;

static void clear(void)
{
	mpk_arena_fini(&arena);
}

static const char *const files[] = { "tests/data/gpu/cuda.so",   "tests/data/gpu/cuda-rdc.o",
				     "tests/data/gpu/hip.so",    "tests/data/gpu/hip-packed.so",
				     "tests/data/gpu/offload.o", "tests/data/gpu/bundled.o" };

static enum mpk_code open_view(struct mpk_span bytes, struct mpk_arena *in, struct mpk_image *image,
			       struct mpk_view *view, struct mpk_error *err)
{
	MPK_TRY(mpk_image_open(bytes, NULL, in, image, err));
	return mpk_view_init(view, "x", bytes.len, image, NULL, in, err);
}

static struct mpk_span flat(const struct mpk_rope *rope)
{
	struct mpk_span out;

	ck_assert_int_eq(mpk_rope_flat(rope, &out, NULL), MPK_OK);
	return out;
}

static void is_part(const struct mpk_view *view, const char *name, bool raw, struct mpk_span want)
{
	struct mpk_error err = { 0 };
	struct mpk_rope out;

	ck_assert_msg(mpk_part_find(view, name, raw, &arena, &out, &err) == MPK_OK, "%s: %s", name,
		      err.text);
	ck_assert_msg(mpk_span_equal(flat(&out), want), "%s", name);
}

START_TEST(planned)
{
	struct mpk_image image;
	struct mpk_extract plan;
	struct mpk_view view;
	char name[256];

	ck_assert_int_eq(open_view(robust_load(&arena, files[_i]), &arena, &image, &view, NULL),
			 MPK_OK);
	ck_assert_uint_gt(image.device_count, 0);
	ck_assert_int_eq(mpk_extract_plan(&view, (struct mpk_span){ 0 }, &arena, &plan, NULL),
			 MPK_OK);
	ck_assert_uint_gt(plan.count, 0);
	for (size_t i = 0; i < plan.count; i++) {
		struct mpk_extract_file *f = plan.files[i];

		ck_assert(f->is_device);
		if (f->make)
			ck_assert_int_eq(f->make(&view, f, &arena, NULL), MPK_OK);
		struct mpk_span content = flat(&f->content);

		ck_assert_uint_gt(content.len, 0);
		is_part(&view, f->name, false, content);
		(void)snprintf(name, sizeof name, "%s#%s", f->path, f->name + strlen("gpu/"));
		is_part(&view, name, false, content);
		is_part(&view, f->path, true, image.devices[f->container].bytes);
	}
}
END_TEST

START_TEST(splits)
{
	static const struct {
		const char *text, *path, *name;
	} rows[] = {
		{ ".nv_fatbin:3", ".nv_fatbin:3", "" },
		{ ".nv_fatbin:3#sm_90", ".nv_fatbin:3", "sm_90" },
		{ "__nv_relfatbin:0", "__nv_relfatbin:0", "" },
		{ "__CLANG_OFFLOAD_BUNDLE__hip-amdgcn-amd-amdhsa--gfx90a:0",
		  "__CLANG_OFFLOAD_BUNDLE__hip-amdgcn-amd-amdhsa--gfx90a:0", "" },
		{ "__CLANG_OFFLOAD_BUNDLE__host-x86_64:0", "__CLANG_OFFLOAD_BUNDLE__host-x86_64:0",
		  "" },
		{ ".nv_fatbin", "", ".nv_fatbin" },
		{ ".nv_fatbin:", "", ".nv_fatbin:" },
		{ ".nv_fatbin:x", "", ".nv_fatbin:x" },
		/* any section may have code */
		{ ".text:0", ".text:0", "" },
		{ "conv:0", "conv:0", "" },
		{ "f(int, int):0", "", "f(int, int):0" },
		{ "ns::f::0", "", "ns::f::0" },
		{ ":0", "", ":0" },
		{ "/0", "/0", "" },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		struct mpk_part_name got = mpk_part_split(rows[i].text);

		ck_assert_msg(mpk_span_is(got.path, rows[i].path), "%s", rows[i].text);
		ck_assert_msg(mpk_span_is(got.name, rows[i].name), "%s", rows[i].text);
	}
}
END_TEST

START_TEST(targets)
{
	static const struct {
		const struct mpk_code_format *format;
		const char *target, *name;
		bool is;
	} rows[] = {
		{ &mpk_format_cubin, "sm_90", "sm_90", true },
		{ &mpk_format_cubin, "sm_90a", "sm_90", false },
		{ &mpk_format_cubin, "sm_90", "compute_90", false },
		{ &mpk_format_ptx, "compute_90", "compute_90", true },
		{ &mpk_format_ptx, "compute_90", "sm_90", false },
		{ &mpk_format_hsaco, "gfx90a:xnack+", "gfx90a:xnack+", true },
		{ &mpk_format_hsaco, "gfx90a:xnack+", "gfx90a", true },
		{ &mpk_format_hsaco, "gfx90a:xnack+", "gfx90", false },
		{ &mpk_format_hsaco, "gfx90a:xnack+", "gfx90a:xnack-", false },
		{ &mpk_format_hsaco, "gfx90a", "gfx90a:xnack+", false },
		{ &mpk_format_spirv, "", "", false },
		{ NULL, "sm_90", "sm_90", false },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		struct mpk_code_info image = { .format = rows[i].format };

		(void)snprintf(image.target, sizeof image.target, "%s", rows[i].target);
		ck_assert_msg(mpk_part_is_image(&image, mpk_span_str(rows[i].name)) == rows[i].is,
			      "%s as %s", rows[i].target, rows[i].name);
	}
}
END_TEST

static enum mpk_code find_all(struct mpk_span bytes, struct mpk_error *err)
{
	static const char *const names[] = {
		"#sm_90", "#gfx90a", "second", "nothing", ".hip_fatbin:1", ".nv_fatbin:0#compute_90"
	};
	enum mpk_code first = MPK_OK;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(names); i++) {
		MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
		struct mpk_image image;
		struct mpk_view view;
		struct mpk_error own = { 0 };
		struct mpk_rope out;

		MPK_TRY(open_view(bytes, &scratch, &image, &view, err));
		enum mpk_code code = mpk_part_find(&view, names[i], false, &scratch, &out, &own);

		if (code == MPK_OK) {
			(void)flat(&out);
		} else if (first == MPK_OK) {
			first = code;
			*err = own;
		}
	}
	return first;
}

START_TEST(damaged)
{
	struct mpk_span bytes = robust_load(&arena, files[_i]);
	uint8_t *copy = mpk_arena_alloc(&arena, bytes.len);
	uint64_t state = 7 + (uint64_t)_i;

	ck_assert_ptr_nonnull(copy);
	for (size_t n = 0; n < 60; n++) {
		memcpy(copy, bytes.data, bytes.len);
		for (size_t k = 0; k < 3; k++) {
			state = state * 6364136223846793005u + 1442695040888963407u;
			copy[(state >> 20) % bytes.len] ^= (uint8_t)(state >> 12) | 1;
		}
		robust_try(find_all, mpk_span_of(copy, bytes.len), "damaged");
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("part");
	TCase *t = tcase_create("part");

	tcase_add_checked_fixture(t, NULL, clear);
	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, planned, 0, (int)MPK_ARRAY_COUNT(files));
	tcase_add_test(t, splits);
	tcase_add_test(t, targets);
	tcase_add_loop_test(t, damaged, 0, (int)MPK_ARRAY_COUNT(files));
	suite_add_tcase(s, t);

	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
