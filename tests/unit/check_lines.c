/* SPDX-License-Identifier: Apache-2.0 */
/* lib/show/answer/lines: names of C++ in texts, and lines that fit a terminal */
#include "robust.h"

#include <stdlib.h>

#include "answer/answer.h"

static void append(const char *text, size_t len, void *out)
{
	mpk_strbuf_put(out, text, len);
}

/* The text in pieces of every size gives the same lines. */
static void check(size_t width, bool mangled, const char *text, const char *expected)
{
	for (size_t piece = 1; piece <= strlen(text); piece++) {
		struct mpk_strbuf out = { 0 };
		struct mpk_lines lines = {
			.take = append, .arg = &out, .width = width, .mangled = mangled
		};

		for (size_t at = 0; at < strlen(text); at += piece) {
			size_t rest = strlen(text) - at;

			mpk_lines_put(text + at, rest < piece ? rest : piece, &lines);
		}
		ck_assert(mpk_lines_end(&lines));
		ck_assert_str_eq(mpk_strbuf_text(&out), expected);
		mpk_strbuf_fini(&out);
	}
}

START_TEST(names)
{
	check(0, false, "  _Z5scalePfi\n", "  scale(float*, int)\n");
	check(0, true, "  _Z5scalePfi\n", "  _Z5scalePfi\n");
	check(0, false, "sm_80 _Z5scalePfi: 8 registers", "sm_80 scale(float*, int): 8 registers");
	/* what follows are parameters already */
	check(0, false, "  _Z5scalePfi(handle, i32)\n", "  scale(handle, i32)\n");
	check(0, false, "'_Z5scalePfi', _Z4nextv.\n", "'scale(float*, int)', next().\n");
	check(0, false, "_Z1fv.part.0 and _Z1gv\n", "f() [clone .part.0] and g()\n");
	/* what is pasted, places, and what is no symbol */
	check(0, false, "    minspect --run _Z5scalePfi x.so\n",
	      "    minspect --run _Z5scalePfi x.so\n");
	check(0, false, "/0#_Z5scalePfi\n", "/0#_Z5scalePfi\n");
	check(0, false, "x_Z5scalePfi _Z _Zfoo __Z5scalePfi\n",
	      "x_Z5scalePfi _Z _Zfoo __Z5scalePfi\n");
}
END_TEST

START_TEST(long_names)
{
	/* Without parameters, then without inner arguments of templates. */
	check(0, false,
	      "_ZN7cutlass6KernelI4GemmI5TilesILi128ELi256ELi64EE3RowS3_EEEvNT_6ParamsEPKfPfS8_S8_S8_S8_S8_S8_\n",
	      "cutlass::Kernel<Gemm<Tiles<128, 256, 64>, Row, Tiles<128, 256, 64>>>\n");
	check(0, false,
	      "_ZN7cutlass6KernelI4GemmI5TilesILi128ELi256ELi64ELi128ELi256ELi64ELi128ELi256ELi64ELi128ELi128ELi256ELi64ELi1024ELi1024EE3RowEEEvPf\n",
	      "cutlass::Kernel<Gemm<Tiles<...>, Row>>\n");
}
END_TEST

START_TEST(widths)
{
	check(40, false, "  f(x: f32[4, 24], y: f32[24], z: f32[24])\n",
	      "  f(x: f32[4, 24], y: f32[24],\n      z: f32[24])\n");
	check(44, false, "  f(x: f32[4, 24], y: f32[24], z: f32[24])\n",
	      "  f(x: f32[4, 24], y: f32[24], z: f32[24])\n");
	/* the lines of a tree go on; colours have no width, characters have one column */
	check(30, false, "├─ /0: code, 3 functions, 4 kernels\n",
	      "├─ /0: code, 3 functions,\n│      4 kernels\n");
	check(30, false, "└─ /0: code, 3 functions, 4 kernels\n",
	      "└─ /0: code, 3 functions,\n       4 kernels\n");
	check(30, false, "\033[1m0123456789\033[0m, \033[1m0123456789\033[0m, 345\n",
	      "\033[1m0123456789\033[0m, \033[1m0123456789\033[0m, 345\n");
	check(30, false, "äöüäöüäöüä, äöüäöüäöüä, 345678\n", "äöüäöüäöüä, äöüäöüäöüä, 345678\n");
	/* no word is broken */
	check(30, false, "0123456789012345678901234567890123456789\n",
	      "0123456789012345678901234567890123456789\n");
	check(30, false, "0123456789012345678901234567890123456789 a\n",
	      "0123456789012345678901234567890123456789\n    a\n");
	/* the last line has no end */
	check(30, false, "a, b, c, d, e, f, g, h, i, j, k, l",
	      "a, b, c, d, e, f, g, h, i, j,\n    k, l");
}
END_TEST

START_TEST(commands)
{
	check(50, false, "    minspect --run f x.so --input 4xfloat32=rand --out 4xfloat32\n",
	      "    minspect --run f x.so --input 4xfloat32=rand \\\n        --out 4xfloat32\n");
	check(40, false, "minspect --run f 'a file - here.so' --input 4xfloat32=rand\n",
	      "minspect --run f 'a file - here.so' \\\n    --input 4xfloat32=rand\n");
	check(40, false, "minspect --run a_function_with_a_name a/library/with/a/path.so\n",
	      "minspect --run a_function_with_a_name \\\n    a/library/with/a/path.so\n");
}
END_TEST

static void count_take(const char *text, size_t len, void *takes)
{
	(void)text;
	ck_assert_uint_gt(len, 0);
	++*(size_t *)takes;
}

/* A long text is passed on in pieces, so that it is not held in memory; a short one in one. */
START_TEST(pieces)
{
	static char text[1 << 20];
	size_t takes = 0;
	struct mpk_lines lines = { .take = count_take, .arg = &takes };

	memset(text, 'a', sizeof text);
	for (size_t i = 99; i < sizeof text; i += 100)
		text[i] = '\n';
	mpk_lines_put(text, 1000, &lines);
	ck_assert_uint_eq(takes, 1);
	ck_assert(mpk_lines_end(&lines));
	ck_assert_uint_eq(takes, 1);
	takes = 0;
	lines = (struct mpk_lines){ .take = count_take, .arg = &takes };
	mpk_lines_put(text, sizeof text, &lines);
	ck_assert_uint_gt(takes, 4);
	ck_assert_uint_lt(takes, sizeof text / 1000);
	ck_assert(mpk_lines_end(&lines)); /* the last line has no end */
}
END_TEST

int main(void)
{
	Suite *s = suite_create("lines");
	TCase *c = tcase_create("lines");

	tcase_add_test(c, names);
	tcase_add_test(c, long_names);
	tcase_add_test(c, widths);
	tcase_add_test(c, commands);
	tcase_add_test(c, pieces);
	suite_add_tcase(s, c);
	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
