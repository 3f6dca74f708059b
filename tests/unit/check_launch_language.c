/* SPDX-License-Identifier: Apache-2.0 */
/* lib/pack/launch: the language of parameters and expressions */
#include <check.h>
#include <inttypes.h>
#include <stdlib.h>

#include "launch/launch.h"

static const struct {
	const char *param;
	uint32_t column; /* of the error; 0: fine */
	const char *text;
} texts[] = {
	{ "A: float32[n]", 0, NULL },
	{ "A:f16[]", 0, NULL },
	{ "A : in optional int8 [ n, (m+1)*2 ]", 0, NULL },
	{ "A: float32[...]", 0, NULL },
	{ "A: in divisible 16 float32[ ... ]", 0, NULL },
	{ "n: divisible 4096 int32", 0, NULL },
	{ "A: float32[..]", 112, "expected a number, a name or '('" },
	{ "A: float32[..., n]", 115, "expected ']'" },
	{ "A: float32[n, ...]", 115, "expected a number, a name or '('" },
	{ "n: divisible int32", 114, "divisible is by a number from 1 to 4096" },
	{ "n: divisible 0 int32", 114, "divisible is by a number from 1 to 4096" },
	{ "n: divisible 4097 int32", 114, "divisible is by a number from 1 to 4096" },
	{ "a: divisible 2 float32", 101, "'a' is a real number, which nothing divides" },
	{ "", 101, "expected \"NAME: TYPE\" or \"NAME: TYPE[SHAPE]\"" },
	{ "1A: int8", 101, "expected \"NAME: TYPE\" or \"NAME: TYPE[SHAPE]\"" },
	{ "A float32", 103, "expected ':' after 'A'" },
	{ "A:", 103, "expected a type such as float32" },
	{ "A: float33", 104, "'float33' is no element type; did you mean 'float32'?" },
	{ "A: half[n]", 104, "'half' is no element type; did you mean 'float16'?" },
	{ "A: thing", 104, "'thing' is no element type" },
	{ "A: handle[n]", 104, "'handle' is no element type" },
	{ "A: float32[n", 113, "expected ',' or ']'" },
	{ "A: float32[n]]", 114, "unexpected ']'" },
	{ "A: float32[,]", 112, "expected a number, a name or '('" },
	{ "A: float32[n+]", 114, "expected a number, a name or '('" },
	{ "A: float32[(n]", 114, "expected ')' in the expression" },
	{ "A: float32[min(n)]", 117, "expected ',' in the expression" },
	{ "A: float32[log(n, 2)]", 112, "unknown function 'log'; there are min, max and ceildiv" },
	{ "A: float32[99999999999999999999]", 112, "'99999999999999999999' is no 64-bit integer" },
	{ "A: float32x4[n]", 101, "vector element types cannot be passed" },
	{ "A: optional float32", 101, "'A' is a scalar: in, out and optional are for tensors" },
};

START_TEST(parameter_language)
{
	struct mpk_arena arena = { 0 };
	struct mpk_launch_param p;
	struct mpk_error err = { 0 };
	struct mpk_toml_str m = { .text = texts[_i].param,
				  .len = strlen(texts[_i].param),
				  .pos = { 7, 100 } };
	enum mpk_code code = mpk_launch_param_parse(&m, &arena, &p, &err);

	ck_assert_msg((code == MPK_OK) == (texts[_i].column == 0), "'%s': %s", m.text, err.text);
	if (texts[_i].column) {
		ck_assert_str_eq(err.text, texts[_i].text);
		ck_assert_msg(err.at.line == 7 && err.at.column == texts[_i].column,
			      "'%s': column %" PRIu32, m.text, err.at.column);
	}
	mpk_arena_fini(&arena);
}
END_TEST

START_TEST(deep_expressions_are_refused)
{
	struct mpk_arena arena = { 0 };
	const struct mpk_expr *e = NULL;
	char deep[2000];
	struct mpk_scan s = { .line = 1, .column = 1 };

	memset(deep, '(', sizeof deep);
	s.text = mpk_span_of(deep, 200);
	ck_assert_int_eq(mpk_expr_scan(&s, &arena, &e, NULL), MPK_E_SYNTAX);
	s = (struct mpk_scan){ .text = mpk_span_of(deep, sizeof deep), .line = 1, .column = 1 };
	ck_assert_int_eq(mpk_expr_scan(&s, &arena, &e, NULL), MPK_E_SYNTAX);
	mpk_arena_fini(&arena);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("launch_language");
	TCase *t = tcase_create("language");

	tcase_add_loop_test(t, parameter_language, 0, (int)MPK_ARRAY_COUNT(texts));
	tcase_add_test(t, deep_expressions_are_refused);
	suite_add_tcase(s, t);

	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
