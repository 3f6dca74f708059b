/* SPDX-License-Identifier: Apache-2.0 */
/* The devices that code is for, read from headers alone: of files that nvcc, ptxas and TVM wrote, and of AMD
 * code objects as LLVM's manual lays them out. */
#include "amdgpu/amdgpu.h"
#include "code/format.h"
#include "harness.h"
#include "robust.h"

static struct mpk_arena arena;

static void clear(void)
{
	mpk_arena_fini(&arena);
}

static const char *put(struct mpk_span bytes)
{
	const struct mpk_code_target *targets;
	struct mpk_strbuf out = { 0 };
	struct mpk_error err = { 0 };
	const char *text;
	size_t count;

	ck_assert_msg(mpk_code_targets(bytes, &arena, &targets, &count, &err) == MPK_OK, "%s",
		      err.text);
	mpk_code_targets_put(targets, count, &out);
	text = mpk_arena_copy(&arena, mpk_strbuf_text(&out), out.len);
	mpk_strbuf_fini(&out);
	return text;
}

static const struct {
	const char *path, *text;
} files[] = {
	{ "tests/data/device/two.sm_75.cubin", "sm_75" },
	{ "tests/data/device/two.sm_90a.cuda12.cubin", "sm_90a" },
	{ "tests/data/device/tiny.sm_120a.cubin", "sm_120a" },
	{ "tests/data/device/two.ptx", "9.0 sm_90" },
	{ "tests/data/device/tiny.lto.fatbin", NULL },
	{ "tests/data/device/tiny.size.fatbin", NULL },
	{ "tests/data/device/kernel.spv", "" },
};

START_TEST(of_files)
{
	const char *text = put(robust_load(&arena, files[_i].path));

	if (files[_i].text)
		ck_assert_str_eq(text, files[_i].text);
	else
		ck_assert_msg(strstr(text, "_") != NULL, "%s: %s", files[_i].path, text);
}
END_TEST

/* What listings show: binaries first, PTX by its version with what it is for at least. */
START_TEST(in_short)
{
	static const struct mpk_code_target targets[] = {
		{ .kind = MPK_TARGET_PTX, .name = "compute_80", .sm = 80, .ptx_major = 8 },
		{ .kind = MPK_TARGET_BINARY, .name = "sm_80", .sm = 80 },
		{ .kind = MPK_TARGET_BINARY, .name = "sm_90a", .sm = 90, .suffix = 'a' },
	};
	struct mpk_strbuf out = { 0 };

	mpk_code_targets_put(targets, 3, &out);
	ck_assert_str_eq(mpk_strbuf_text(&out), "sm_80 sm_90a + PTX 8.0 (compute_80)");
	mpk_strbuf_fini(&out);
}
END_TEST

/* A target behind code is none that a driver takes, and the code before it is not read. */
START_TEST(ptx_without_a_head)
{
	static const char *const texts[] = {
		".version 8.0\n.visible .entry k(.param .u64 a)\n{ ret; }\n.target sm_80\n",
		".version 8.0\n.func f;\n",
		".version 8.0\n",
		".version 8.0\n.target sm_",
	};
	const struct mpk_code_target *targets;
	size_t count;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(texts); i++)
		ck_assert_int_eq(
			mpk_code_targets(mpk_span_str(texts[i]), &arena, &targets, &count, NULL),
			MPK_E_SYNTAX);
}
END_TEST

/* --- AMD ---------------------------------------------------------------------------------- */

static struct mpk_span object_of(uint32_t flags, uint8_t abi)
{
	static uint8_t bytes[64];

	memset(bytes, 0, sizeof bytes);
	memcpy(bytes, "\177ELF\2\1\1\100", 8);
	bytes[8] = abi;
	bytes[18] = 224;
	for (size_t i = 0; i < 4; i++)
		bytes[48 + i] = (uint8_t)(flags >> 8 * i);
	return mpk_span_of(bytes, sizeof bytes);
}

/* Numbers of LLVM's EF_AMDGPU_MACH_AMDGCN_*, EF_AMDGPU_FEATURE_*_V4. */
static const struct {
	uint32_t flags;
	uint8_t abi;
	const char *text;
} objects[] = {
	{ 0x20, 2, "gfx600" },
	{ 0x28, 2, "gfx801" },
	{ 0x3f, 2, "gfx90a" },
	{ 0x33f, 2, "gfx90a:xnack+" },
	{ 0xa3f, 2, "gfx90a:sramecc-:xnack-" },
	{ 0xa3f, 1, "gfx90a:sramecc+" }, /* version 3 has a bit for each */
	{ 0x13f, 1, "gfx90a:xnack+" },
	{ 0x33f, 0, "gfx90a" }, /* version 2 says it elsewhere */
	{ 0x53f, 2, "gfx90a" }, /* either sort */
	{ 0x4a, 2, "gfx1151" },
	{ 0x4c, 2, "gfx942" },
	{ 0x51, 4, "gfx9-generic" },
	{ 0x5f, 4, "gfx9-4-generic" },
	{ 0x49, 2, "gfx1250" },
	{ 0x57, 2, "gfx1154" },
	{ 0x5b, 4, "gfx12-5-generic" },
	{ 0x63, 4, "gfx13-generic" },
	{ 0x27, 2, "processor 0x27" },
	{ 0x60, 2, "processor 0x60" },
	{ 0x1f, 2, "processor 0x1f" },
};

START_TEST(amd_objects)
{
	ck_assert_str_eq(put(object_of(objects[_i].flags, objects[_i].abi)), objects[_i].text);
}
END_TEST

static struct mpk_span bundle(void)
{
	static uint8_t bytes[512];
	static const char *const names[] = { "host-x86_64-unknown-linux--",
					     "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+",
					     "hip-amdgcn-amd-amdhsa-gfx1100" };
	size_t at = 32;

	memset(bytes, 0, sizeof bytes);
	memcpy(bytes, "__CLANG_OFFLOAD_BUNDLE__\3", 25);
	for (size_t i = 0; i < 3; i++) {
		bytes[at] = (uint8_t)(200 + i);
		bytes[at + 16] = (uint8_t)strlen(names[i]);
		memcpy(bytes + at + 24, names[i], strlen(names[i]));
		at += 24 + strlen(names[i]);
	}
	return mpk_span_of(bytes, 256);
}

START_TEST(amd_bundle)
{
	ck_assert_str_eq(put(bundle()), "gfx90a:xnack+ gfx1100");
}
END_TEST

static enum mpk_code try_amdgpu(struct mpk_span bytes, struct mpk_error *err)
{
	const struct mpk_code_target *targets;
	size_t count;
	enum mpk_code code = mpk_code_targets(bytes, &arena, &targets, &count, err);

	mpk_arena_fini(&arena);
	return code;
}

static void prefixes(struct mpk_span good)
{
	struct guarded page = guarded_create(good.len);

	for (size_t n = 0; n <= good.len; n++)
		robust_try(try_amdgpu, guarded_put(&page, mpk_span_of(good.data, n)), "a prefix");
	guarded_free(&page);
}

START_TEST(hostile)
{
	prefixes(bundle());
	prefixes(object_of(0x3f, 2));
}
END_TEST

START_TEST(amd_runs)
{
	static const struct {
		const char *target, *device;
		bool runs;
	} pairs[] = {
		{ "gfx90a", "gfx90a", true },
		{ "gfx90a", "gfx908", false },
		{ "gfx90a", "gfx90", false },
		{ "gfx90a:xnack+", "gfx90a", true },
		{ "gfx90a:xnack+", "gfx90a:xnack-", false },
		{ "gfx90a:xnack+", "gfx90a:sramecc+:xnack+", true },
		{ "gfx90a:sramecc-", "gfx90a:sramecc+:xnack+", false },
		{ "gfx90a", "gfx90a:xnack-", true },
		{ "gfx9-generic", "gfx906", true },
		{ "gfx9-generic", "gfx90a", false },
		{ "gfx11-generic", "gfx1151:xnack-", true },
		{ "gfx10-3-generic", "gfx1012", false },
		{ "gfx906", "gfx9-generic", false },
		{ "gfx12-5-generic", "gfx1251", true },
		{ "gfx12-5-generic", "gfx1201", false },
		{ "gfx11-7-generic", "gfx1170", true },
		{ "gfx11-generic", "gfx1170", false },
		{ "gfx11-generic", "gfx1154", true },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(pairs); i++)
		ck_assert_msg(mpk_amdgpu_runs(pairs[i].target, pairs[i].device) == pairs[i].runs,
			      "%s on %s", pairs[i].target, pairs[i].device);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("targets");
	TCase *tc = tcase_create("targets");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, NULL, clear);
	tcase_add_loop_test(tc, of_files, 0, (int)MPK_ARRAY_COUNT(files));
	tcase_add_test(tc, in_short);
	tcase_add_test(tc, ptx_without_a_head);
	tcase_add_loop_test(tc, amd_objects, 0, (int)MPK_ARRAY_COUNT(objects));
	tcase_add_test(tc, amd_bundle);
	tcase_add_test(tc, amd_runs);
	tcase_add_test(tc, hostile);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
