#include <check.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/half.h"

/* The definition of the formats, in exact arithmetic: sign, exponent, fraction. */
static double value_of(unsigned bits, int exponent_bits, int fraction_bits)
{
	unsigned fraction = bits & ((1u << fraction_bits) - 1);
	int exponent = (int)(bits >> fraction_bits & ((1u << exponent_bits) - 1));
	int bias = (1 << (exponent_bits - 1)) - 1;
	double magnitude;

	if (exponent == (1 << exponent_bits) - 1)
		magnitude = fraction ? (double)NAN : (double)INFINITY;
	else if (exponent == 0)
		magnitude = ldexp(fraction, 1 - bias - fraction_bits);
	else
		magnitude = ldexp((double)(fraction + (1u << fraction_bits)),
				  exponent - bias - fraction_bits);
	return bits & 0x8000u ? -magnitude : magnitude;
}

static const struct format {
	const char *name;
	int exponent, fraction;
	float (*widen)(uint16_t bits);
	uint16_t (*narrow)(double value);
} formats[] = {
	{ "f16", 5, 10, mpk_f16_to_f32, mpk_f64_to_f16 },
	{ "bf16", 8, 7, mpk_bf16_to_f32, mpk_f64_to_bf16 },
};

START_TEST(widening_is_exact)
{
	const struct format *f = &formats[_i];

	for (unsigned bits = 0; bits < 65536; bits++) {
		double want = value_of(bits, f->exponent, f->fraction);
		double got = (double)f->widen((uint16_t)bits);

		ck_assert_msg(isnan(want) ? isnan(got)
					  : want == got && !signbit(want) == !signbit(got),
			      "%s 0x%04x is %a, not %a", f->name, bits, want, got);
	}
}
END_TEST

START_TEST(narrowing_undoes_widening)
{
	const struct format *f = &formats[_i];

	for (unsigned bits = 0; bits < 65536; bits++) {
		double value = value_of(bits, f->exponent, f->fraction);
		uint16_t got = f->narrow(value);

		if (isnan(value))
			ck_assert_msg(isnan((double)f->widen(got)), "%s 0x%04x", f->name, bits);
		else
			ck_assert_msg(got == bits, "%s 0x%04x became 0x%04x", f->name, bits, got);
	}
}
END_TEST

/* Between two neighbours the middle decides, and a tie goes to the even one. Together
 * with the test above this fixes the result for every number. */
START_TEST(narrowing_rounds_to_nearest_even)
{
	const struct format *f = &formats[_i];
	unsigned infinity = ((1u << f->exponent) - 1) << f->fraction;

	for (unsigned bits = 0; bits < infinity; bits++) {
		double low = value_of(bits, f->exponent, f->fraction);
		/* past the largest number the next one would have stood where infinity
		 * is */
		double high = bits + 1 == infinity ? ldexp(1, 1 << (f->exponent - 1))
						   : value_of(bits + 1, f->exponent, f->fraction);
		double middle = low + (high - low) / 2;
		unsigned even = bits & 1 ? bits + 1 : bits;

		ck_assert_uint_eq(f->narrow(middle), even);
		ck_assert_uint_eq(f->narrow(nextafter(middle, 0)), bits);
		ck_assert_uint_eq(f->narrow(nextafter(middle, INFINITY)), bits + 1);
		ck_assert_uint_eq(f->narrow(-middle), even | 0x8000u);
	}
}
END_TEST

START_TEST(extremes)
{
	const struct format *f = &formats[_i];
	unsigned infinity = ((1u << f->exponent) - 1) << f->fraction;

	ck_assert_uint_eq(f->narrow(1e308), infinity);
	ck_assert_uint_eq(f->narrow(-1e308), infinity | 0x8000u);
	ck_assert_uint_eq(f->narrow(5e-324), 0);
	ck_assert_uint_eq(f->narrow(-5e-324), 0x8000u);
	ck_assert_uint_eq(f->narrow(-0.0), 0x8000u);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("half");
	TCase *tc = tcase_create("both formats");

	tcase_add_loop_test(tc, widening_is_exact, 0, 2);
	tcase_add_loop_test(tc, narrowing_undoes_widening, 0, 2);
	tcase_add_loop_test(tc, narrowing_rounds_to_nearest_even, 0, 2);
	tcase_add_loop_test(tc, extremes, 0, 2);
	suite_add_tcase(s, tc);

	SRunner *runner = srunner_create(s);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
