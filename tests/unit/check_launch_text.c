/* SPDX-License-Identifier: Apache-2.0 */
/* lib/launch: the text of host code is the same from every build of this program
 *
 * Arguments of one call were builders of the host code themselves once, so that their order, and
 * with it the bytes of every library, was that of the compiler that had built mpack. */
#include "harness.h"

#include <inttypes.h>

#include "io/mapping.h"
#include "launch/launch.h"
#include "package/package.h"

/* FNV-1a of the C source and of the LLVM IR; by mode, then generation. After a wanted change of the
 * generated code this test prints the new ones. */
static const struct {
	uint64_t c, ll;
} wanted[3][MPK_GENERATION_COUNT] = {
	{ { 0x880cd8acb1cd139a, 0x7f80ffe1265721f8 },
	  { 0x24f3b2c4958f92f5, 0xfad7c045da6ed62b },
	  { 0x749a416f9d9d366f, 0x6c5ca50af57cb13b } },
	{ { 0x3d57fd58b5e618a6, 0x661007ba29464862 },
	  { 0x411808e00c2c4687, 0xd5d568a3dafdeaaa },
	  { 0xa86f7219a1bcddd3, 0x11f1a0a089e8223c } },
	{ { 0x45b83a1adc46125b, 0x1e20c8c5f9a9838c },
	  { 0xf2b9b5c2419b9ec5, 0x9aff4525e7bea0df },
	  { 0x82ac7325cda7a754, 0xb6670ab2ce726b9e } },
};

static uint64_t hash(const struct mpk_strbuf *text)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < text->len; i++)
		h = (h ^ (uint8_t)text->data[i]) * UINT64_C(0x100000001b3);
	return h;
}

static void print(enum mpk_launch_mode mode, enum mpk_generation gen, struct mpk_strbuf *c,
		  struct mpk_strbuf *ll)
{
	static const char path[] = "tests/data/launch/cuda.toml";
	struct mpk_mapping text = { 0 };
	struct mpk_arena arena = { 0 };
	struct mpk_report report = { 0 };
	struct mpk_package package = { 0 };
	struct mpk_host_unit unit;
	struct mpk_error err = { 0 };

	ck_assert_int_eq(mpk_mapping_open(path, &text, &err), MPK_OK);
	ck_assert_msg(mpk_package_load(&(struct mpk_package_input){ .text = text.bytes,
								    .path = path,
								    .gen = &gen },
				       &arena, &report, &package, &err) == MPK_OK,
		      "%s", err.text);
	ck_assert_int_eq(mpk_launch_build(package.launches, package.launch_count, mode,
					  mode == MPK_LAUNCH_SYSTEM_LIB ? "prefix_" : "", &arena,
					  &unit, &err),
			 MPK_OK);
	ck_assert_int_eq(mpk_host_print_c(&unit, c, &err), MPK_OK);
	ck_assert_int_eq(mpk_host_print_ll(&unit, ll, &err), MPK_OK);
	mpk_package_close(&package);
	mpk_report_fini(&report);
	mpk_arena_fini(&arena);
	mpk_mapping_close(&text);
}

START_TEST(text_is_fixed)
{
	enum mpk_launch_mode mode = (enum mpk_launch_mode)(_i / MPK_GENERATION_COUNT);
	enum mpk_generation gen = (enum mpk_generation)(_i % MPK_GENERATION_COUNT);
	struct mpk_strbuf c = { 0 }, ll = { 0 };

	print(mode, gen, &c, &ll);
	ck_assert_msg(hash(&c) == wanted[mode][gen].c && hash(&ll) == wanted[mode][gen].ll,
		      "mode %d, generation %d: { 0x%016" PRIx64 ", 0x%016" PRIx64 " }", (int)mode,
		      (int)gen, hash(&c), hash(&ll));
	mpk_strbuf_fini(&c);
	mpk_strbuf_fini(&ll);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("launch_text");
	TCase *tc = tcase_create("C and IR");

	tcase_add_loop_test(tc, text_is_fixed, 0, 3 * MPK_GENERATION_COUNT);
	suite_add_tcase(s, tc);

	SRunner *runner = srunner_create(s);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
