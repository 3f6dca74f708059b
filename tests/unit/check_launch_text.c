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
	{ { 0x0ba46b28d1c78978, 0x424da8d16088a81a },
	  { 0x899cc58994c819a7, 0xa31fad0efc6c18f3 },
	  { 0x30be1208652ad512, 0x02657c048f9b8f0c } },
	{ { 0x99bbb1baf2b010e5, 0x1f051472bcbf4c1b },
	  { 0x14fb7938599540c9, 0x48f36faa71cfc16a },
	  { 0xb2eba1a198b3c463, 0xcc0b205da6547af6 } },
	{ { 0x9b1cdc0695d6c0ff, 0x0f82ba519e4e6ced },
	  { 0xcfcb0614e74fdbec, 0x8628afa8897db0d2 },
	  { 0x7c780ab5da870752, 0x619f3c0dac1cd5d2 } },
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
