/* SPDX-License-Identifier: Apache-2.0 */
/* lib/pack/launch: the text of host code, and of rows, is the same from every build of this program
 *
 * Arguments of one call were builders of the host code themselves once, so that their order, and
 * with it the bytes of every library, was that of the compiler that had built mpack. */
#include "harness.h"

#include <inttypes.h>

#include "io/mapping.h"
#include "launch/launch.h"
#include "package/package.h"

/* FNV-1a of the C source and of the LLVM IR, by mode, then generation; last of rows and their entries. After a wanted
 * change of the generated code this test prints the new ones. */
enum { MODES = 2 };
static const struct {
	uint64_t c, ll;
} wanted[MODES + 1][MPK_GENERATION_COUNT] = {
	{ { 0x2a2ad1781c77b2cf, 0x1ddaf002d3498c1d },
	  { 0x23c5f99634187892, 0xfe25239e10996af9 },
	  { 0xa0cf17d69b33fab0, 0xc3306b013681dbdc } },
	{ { 0xee9b92a42cca0ed8, 0x14b7d14a5a1d5e81 },
	  { 0x1a00b8890ec122c3, 0x2650c581860803e8 },
	  { 0x2dc1de10189b6617, 0x91dddc51094f8b58 } },
	{ { 0x9690d94d64a7767e, 0x2c186f8f22085adf },
	  { 0x0095aebd54898624, 0x72cb744aaae0410d },
	  { 0x914b5a537592ea8f, 0x22caf7bc1f132ec2 } },
};

static uint64_t hash(const struct mpk_strbuf *text)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < text->len; i++)
		h = (h ^ (uint8_t)text->data[i]) * UINT64_C(0x100000001b3);
	return h;
}

static void print_rows(const struct mpk_package *p, struct mpk_arena *arena, struct mpk_strbuf *c,
		       struct mpk_strbuf *ll)
{
	struct mpk_strmap kernels = { 0 };
	struct mpk_host_unit unit;
	struct mpk_error err = { 0 };

	for (size_t i = 0; i < p->launch_count; i++) {
		for (size_t k = 0; k < p->launches[i].step_count; k++) {
			const struct mpk_launch_step *s = &p->launches[i].steps[k];
			const char *key = mpk_arena_printf(arena, "%s.%s", s->id, s->kernel);

			ck_assert_ptr_nonnull(key);
			ck_assert_int_ge(mpk_strmap_put(&kernels, mpk_span_str(key), k, NULL), 0);
		}
	}
	ck_assert_int_eq(
		mpk_launch_put_rows(p->launches, p->launch_count, &kernels, arena, c, &err),
		MPK_OK);
	mpk_strmap_fini(&kernels);
	ck_assert_int_eq(mpk_launch_build_entries(p->launches, p->launch_count, arena, &unit, &err),
			 MPK_OK);
	ck_assert_int_eq(mpk_host_c.print(&unit, c, &err), MPK_OK);
	ck_assert_int_eq(mpk_host_ll.print(&unit, ll, &err), MPK_OK);
}

static void print_code(const struct mpk_package *p, enum mpk_launch_mode mode,
		       struct mpk_arena *arena, struct mpk_strbuf *c, struct mpk_strbuf *ll)
{
	struct mpk_host_unit unit;
	struct mpk_error err = { 0 };

	ck_assert_int_eq(mpk_launch_build(p->launches, p->launch_count, mode,
					  mode == MPK_LAUNCH_SYSTEM_LIB ? "prefix_" : "", arena,
					  &unit, &err),
			 MPK_OK);
	ck_assert_int_eq(mpk_host_c.print(&unit, c, &err), MPK_OK);
	ck_assert_int_eq(mpk_host_ll.print(&unit, ll, &err), MPK_OK);
}

static void print(int mode, enum mpk_generation gen, struct mpk_strbuf *c, struct mpk_strbuf *ll)
{
	static const char path[] = "tests/data/launch/standalone_cuda.toml";
	struct mpk_mapping text = { 0 };
	struct mpk_arena arena = { 0 };
	struct mpk_report report = { 0 };
	struct mpk_package package = { 0 };
	struct mpk_error err = { 0 };

	ck_assert_int_eq(mpk_mapping_open(path, &text, &err), MPK_OK);
	ck_assert_msg(mpk_package_load(&(struct mpk_package_input){ .text = text.bytes,
								    .path = path,
								    .gen = &gen },
				       &arena, &report, &package, &err) == MPK_OK,
		      "%s", err.text);
	if (mode == MODES)
		print_rows(&package, &arena, c, ll);
	else
		print_code(&package, (enum mpk_launch_mode)mode, &arena, c, ll);
	mpk_package_close(&package);
	mpk_report_fini(&report);
	mpk_arena_fini(&arena);
	mpk_mapping_close(&text);
}

START_TEST(text_is_fixed)
{
	int mode = _i / MPK_GENERATION_COUNT;
	enum mpk_generation gen = (enum mpk_generation)(_i % MPK_GENERATION_COUNT);
	struct mpk_strbuf c = { 0 }, ll = { 0 };

	print(mode, gen, &c, &ll);
	ck_assert_msg(hash(&c) == wanted[mode][gen].c && hash(&ll) == wanted[mode][gen].ll,
		      "mode %d, generation %d: { 0x%016" PRIx64 ", 0x%016" PRIx64 " }", mode,
		      (int)gen, hash(&c), hash(&ll));
	mpk_strbuf_fini(&c);
	mpk_strbuf_fini(&ll);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("launch_text");
	TCase *tc = tcase_create("C and IR");

	tcase_add_loop_test(tc, text_is_fixed, 0, (MODES + 1) * MPK_GENERATION_COUNT);
	suite_add_tcase(s, tc);

	SRunner *runner = srunner_create(s);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
