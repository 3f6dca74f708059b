/* SPDX-License-Identifier: Apache-2.0 */
/* lib/pack/launch: the text of host code is the same from every build of this program
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
	{ { 0x9a0aadc437b951fd, 0xa5de5664c4ed7714 },
	  { 0xd246561fa5ab5851, 0x7e6626b1f252197e },
	  { 0x9bc5ba2869812003, 0x098c66d53612396a } },
	{ { 0xa2e114c481215be6, 0x576cd8a8eefa3b13 },
	  { 0x2dfc472115d4c61e, 0x2a908257498c6713 },
	  { 0x506651331c117c3c, 0xde4b6f4da3451d71 } },
	{ { 0x7f15167affe4daba, 0xd064aa3935b33611 },
	  { 0x14411b79008d6ea5, 0xbfc465cd695f8302 },
	  { 0x0c36435db5a8dc66, 0x9bacb22de317f2f5 } },
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
	static const char path[] = "tests/data/launch/standalone_cuda.toml";
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
	ck_assert_int_eq(mpk_host_c.print(&unit, c, &err), MPK_OK);
	ck_assert_int_eq(mpk_host_ll.print(&unit, ll, &err), MPK_OK);
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
