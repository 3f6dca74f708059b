/* SPDX-License-Identifier: Apache-2.0 */
/* formats/itanium: symbols that g++ and nvcc made, and what is none */
#include "robust.h"

#include <stdlib.h>

#include "itanium/itanium.h"

static struct mpk_arena arena;

static void clear(void)
{
	mpk_arena_fini(&arena);
}

/* "name(f*, c f*, S)": 'c' for const, the letter or the class, a '*' a pointer. */
static const char *text_of(const char *symbol)
{
	struct mpk_strbuf out = { 0 };
	struct mpk_itanium_function f;
	struct mpk_error err = { 0 };
	const char *text;

	if (mpk_itanium_read(mpk_span_str(symbol), &arena, &f, &err) != MPK_OK) {
		ck_assert_int_eq(err.code, MPK_E_UNSUPPORTED);
		return "none";
	}
	mpk_strbuf_put_span(&out, f.name);
	mpk_strbuf_putc(&out, '(');
	for (size_t i = 0; i < f.param_count; i++) {
		const struct mpk_itanium_type *t = &f.params[i];

		mpk_strbuf_puts(&out, i ? ", " : "");
		mpk_strbuf_puts(&out, t->is_const ? "c " : "");
		if (t->builtin)
			mpk_strbuf_putc(&out, t->builtin);
		else
			mpk_strbuf_put_span(&out, t->name);
		if (t->lanes > 1)
			mpk_strbuf_printf(&out, "x%u", t->lanes);
		for (unsigned p = 0; p < t->pointers; p++)
			mpk_strbuf_putc(&out, '*');
	}
	mpk_strbuf_putc(&out, ')');
	text = mpk_arena_printf(&arena, "%s", mpk_strbuf_text(&out));
	mpk_strbuf_fini(&out);
	return text;
}

START_TEST(functions)
{
	ck_assert_str_eq(text_of("_Z4vaddPKfS0_Pfi"), "vadd(c f*, c f*, f*, i)");
	ck_assert_str_eq(text_of("_Z4nonev"), "none()");
	ck_assert_str_eq(text_of("_ZN3ops4onceEPdS0_PKdxm"), "once(d*, d*, c d*, x, m)");
	ck_assert_str_eq(text_of("_ZN12_GLOBAL__N_14nameEPf"), "name(f*)");
	ck_assert_str_eq(text_of("_ZL6hiddenPfPS_"), "hidden(f*, f**)");
	ck_assert_str_eq(text_of("_Z5boxes3BoxPS_PKS_6float4PS3_"),
			 "boxes(Box, Box*, c Box*, float4, float4*)");
	ck_assert_str_eq(text_of("_Z4halfPK6__halfPS_Dv4_f"), "half(c __half*, __half*, fx4)");
	ck_assert_str_eq(text_of("_Z3refRKfOi"), "ref(c f*, i*)");
	ck_assert_str_eq(text_of("_Z4pairNSt3abcIiLi4EE1xEPS1_"), "pair(x, x*)");
	ck_assert_str_eq(text_of("_Z4namePf.kd"), "name(f*)");
}
END_TEST

START_TEST(templates)
{
	/* template <typename T, int N> void sum(const T *, T *, int), in a namespace and outside of one */
	ck_assert_str_eq(text_of("_Z3sumIfLi256EEvPKT_PS0_i"), "sum(c f*, f*, i)");
	ck_assert_str_eq(text_of("_ZN3ops3sumIfLi256EEEvPKT_PS1_i"), "sum(c f*, f*, i)");
	ck_assert_str_eq(text_of("_Z4castI6__halfdEvPKT_PT0_m"), "cast(c __half*, d*, m)");
	ck_assert_str_eq(text_of("_Z4withILb1ELm18446744073709551615EEvPf"), "with(f*)");
	ck_assert_str_eq(text_of("_Z4packIJifEEvPf"), "pack(f*)");
}
END_TEST

/* Packs may stand in packs: not as deep as a symbol is long. */
START_TEST(deep)
{
	size_t levels = 300000;
	char *symbol = malloc(levels + 6);
	struct mpk_itanium_function f;

	ck_assert_ptr_nonnull(symbol);
	memcpy(symbol, "_Z1fI", 5);
	memset(symbol + 5, 'J', levels);
	symbol[5 + levels] = '\0';
	ck_assert_int_eq(mpk_itanium_read(mpk_span_str(symbol), &arena, &f, NULL),
			 MPK_E_UNSUPPORTED);
	free(symbol);
}
END_TEST

START_TEST(refused)
{
	static const char *const symbols[] = {
		"",
		"_Z",
		"vadd",
		"_Z4vadd",
		"_Z9vaddPf",
		"_Z4vaddPfq",
		"_Z4vaddS_",
		"_Z4vaddT_",
		"_ZplRK3BoxS1_",
		"_Z1fPFviE",
		"_Z1fM3Boxi",
		"_Z1fA4_f",
		"_ZZ1fvE1g",
		"_Z1fIXE",
		"_Z1fDv0_f",
		"_Z1fDv4f",
		"_Z0Pf",
		"_Z1fS1_",
		"_Z1fSZZZZZZZZZZZZZZZZ_",
		"_Z99999999999999999999999999f",
		"_ZN",
		"_ZN1f",
		"_Z1fN",
		"_Z1fPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPf", /* levels */
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(symbols); i++)
		ck_assert_msg(strcmp(text_of(symbols[i]), "none") == 0, "%s: %s", symbols[i],
			      text_of(symbols[i]));
}
END_TEST

static enum mpk_code read_any(struct mpk_span bytes, struct mpk_error *err)
{
	struct mpk_itanium_function f;

	return mpk_itanium_read(bytes, &arena, &f, err);
}

/* Every prefix and every changed byte of a symbol ends somehow, at the edge of readable memory. */
START_TEST(damaged)
{
	static const char symbol[] =
		"_ZN3ops3sumI6__halfLi256EJifEEEvPKT_PS1_Dv4_fNSt3abcIiE1xERKSt4pairIS5_iE";
	struct robust_page page = robust_page_of(sizeof symbol);

	for (size_t n = 0; n < sizeof symbol; n++) {
		uint8_t *at = page.map + page.room - n;

		memcpy(at, symbol, n);
		robust_try(read_any, mpk_span_of(at, n), "a prefix");
		for (unsigned c = 0; n && c < 256; c++) {
			at[n - 1] = (uint8_t)c;
			robust_try(read_any, mpk_span_of(at, n), "a changed byte");
		}
	}
	munmap(page.map, page.room + (size_t)sysconf(_SC_PAGESIZE));
}
END_TEST

START_TEST(many_substitutions)
{
	struct mpk_strbuf symbol = { 0 };

	mpk_strbuf_puts(&symbol, "_Z1f");
	for (unsigned i = 0; i < 100; i++)
		mpk_strbuf_printf(&symbol, "2a%u", i % 10);
	ck_assert_str_eq(text_of(mpk_strbuf_text(&symbol)), "none");
	mpk_strbuf_fini(&symbol);
}
END_TEST

/* What is written reads as what it was made from; the symbols are those of g++. */
START_TEST(written)
{
	const struct mpk_itanium_type box = { .name = { (const uint8_t *)"Box", 3 }, .lanes = 1 };
	struct mpk_itanium_type box_pointer = box, const_box = box;
	const struct mpk_itanium_type f = { 'f', { 0 }, 1, 1, false };
	const struct mpk_itanium_type cf = { 'f', { 0 }, 1, 1, true };
	const struct mpk_itanium_type ff = { 'f', { 0 }, 1, 2, false };
	struct mpk_span scopes[] = { mpk_span_str("a"), mpk_span_str("b") };
	struct mpk_strbuf out = { 0 };

	box_pointer.pointers = const_box.pointers = 1;
	const_box.is_const = true;
	const struct mpk_itanium_type params[] = { f,   cf,        f,  cf,          ff,
						   box, const_box, ff, box_pointer, box };
	const struct mpk_itanium_function k = { mpk_span_str("k"), params,
						MPK_ARRAY_COUNT(params) };
	const struct mpk_itanium_function none = { mpk_span_str("k"), NULL, 0 };

	mpk_itanium_write(NULL, 0, &k, &out);
	ck_assert_str_eq(mpk_strbuf_text(&out), "_Z1kPfPKfS_S1_PS_3BoxPKS3_S2_PS3_S3_");
	ck_assert_str_eq(text_of(mpk_strbuf_text(&out)),
			 "k(f*, c f*, f*, c f*, f**, Box, c Box*, f**, Box*, Box)");
	out.len = 0;
	mpk_itanium_write(scopes, 2, &k, &out);
	ck_assert_str_eq(mpk_strbuf_text(&out), "_ZN1a1b1kEPfPKfS1_S3_PS1_3BoxPKS5_S4_PS5_S5_");
	out.len = 0;
	mpk_itanium_write(NULL, 0, &none, &out);
	ck_assert_str_eq(mpk_strbuf_text(&out), "_Z1kv");
	mpk_strbuf_fini(&out);
}
END_TEST

START_TEST(dtypes)
{
	struct mpk_itanium_function f;
	char text[MPK_DTYPE_TEXT];
	struct mpk_dtype t;
	static const char *const expected[] = { "bool",    "int8",     "int8",    "uint8",
						"int16",   "uint16",   "int32",   "uint32",
						"int64",   "uint64",   "int64",   "uint64",
						"float32", "float64",  "float16", "bfloat16",
						"float16", "float32x4" };

	ck_assert(mpk_itanium_read(
			  mpk_span_str("_Z1kbcahstijlmxyfdDF16_13__nv_bfloat166__halfDv4_fv"),
			  &arena, &f, NULL) == MPK_OK);
	ck_assert_uint_eq(f.param_count, MPK_ARRAY_COUNT(expected) + 1);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(expected); i++) {
		ck_assert(mpk_itanium_dtype(&f.params[i], &t));
		ck_assert_str_eq(mpk_dtype_print(t, text), expected[i]);
	}
	ck_assert(!mpk_itanium_dtype(&f.params[f.param_count - 1], &t));
	ck_assert(mpk_itanium_is(mpk_span_str("_Z1kv")) && !mpk_itanium_is(mpk_span_str("k")));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("itanium");
	TCase *tc = tcase_create("itanium");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, NULL, clear);
	tcase_add_test(tc, functions);
	tcase_add_test(tc, templates);
	tcase_add_test(tc, deep);
	tcase_add_test(tc, refused);
	tcase_add_test(tc, damaged);
	tcase_add_test(tc, many_substitutions);
	tcase_add_test(tc, written);
	tcase_add_test(tc, dtypes);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
