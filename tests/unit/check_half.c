/* SPDX-License-Identifier: Apache-2.0 */
/* 16-bit floating numbers (base/half.h), against the definition of the formats and a search
 * through all their numbers. The text of the header is what standalone libraries convert with. */
#include <check.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/half.h"
#include "harness.h"

#ifdef __FLT16_MAX__
__extension__ typedef _Float16 compiler_half;
#endif

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

static uint16_t quiet_nan(const struct format *f)
{
	return (uint16_t)(0x7fffu ^ ((1u << (f->fraction - 1)) - 1));
}

/* Sign and payload of a NaN stay when it is widened; narrowed, it has none but its sign. */
START_TEST(nan_stays_nan)
{
	const struct format *f = &formats[_i];
	uint64_t state = 11;

	for (unsigned bits = 0; bits < 65536; bits++) {
		float wide = f->widen((uint16_t)bits);
		uint32_t got;

		if (!isnan(value_of(bits, f->exponent, f->fraction)))
			continue;
		memcpy(&got, &wide, sizeof got);
		ck_assert_uint_eq(got >> (23 - f->fraction) & ((1u << f->fraction) - 1),
				  bits & ((1u << f->fraction) - 1));
		ck_assert_uint_eq(got >> 31, bits >> 15);
		ck_assert(isnan(wide));
		ck_assert_uint_eq(f->narrow((double)wide), (bits & 0x8000u) | quiet_nan(f));
	}
	/* payloads of a double, also those of which nothing is left in the upper bits */
	for (unsigned i = 0; i < 52 + 1000; i++) {
		uint64_t payload = i < 52 ? UINT64_C(1) << i : random_next(&state) >> 12 | 1;
		uint64_t bits = UINT64_C(0x7ff0000000000000) | payload | (uint64_t)(i & 1) << 63;
		double value;

		memcpy(&value, &bits, sizeof value);
		ck_assert_uint_eq(f->narrow(value), (bits >> 48 & 0x8000u) | quiet_nan(f));
	}
}
END_TEST

/* The nearest number by search: magnitudes are ordered as their bits are. The differences are
 * exact where they decide. */
static uint16_t nearest(const double *values, unsigned infinity, double x)
{
	unsigned low = 0, high = infinity, sign = signbit(x) ? 0x8000u : 0;
	double m = fabs(x);

	if (m >= values[infinity])
		return (uint16_t)(sign | infinity);
	while (high - low > 1) {
		unsigned middle = low + (high - low) / 2;

		if (values[middle] <= m)
			low = middle;
		else
			high = middle;
	}
	double below = m - values[low], above = values[high] - m;

	if (below == above)
		return (uint16_t)(sign | (low & 1 ? high : low));
	return (uint16_t)(sign | (below < above ? low : high));
}

/* A double that may be hard: any at all, one around the format's range, a float, one beside the
 * middle between two neighbours. */
static double sample(const struct format *f, const double *values, unsigned i, uint64_t *state)
{
	uint64_t bits = random_next(state), range = UINT64_C(1) << f->exponent;
	size_t low = (size_t)random_below(state, ((1u << f->exponent) - 1) << f->fraction);
	float single;
	double x;

	if (i % 4 == 0)
		bits = (bits & ~(UINT64_C(0x7ff) << 52)) |
		       (1023 - range / 2 - 12 + random_below(state, range + 14)) << 52;
	memcpy(&x, &bits, sizeof x);
	if (i % 4 == 1) {
		memcpy(&single, &bits, sizeof single);
		x = (double)single;
	} else if (i % 4 == 2) {
		x = values[low] + (values[low + 1] - values[low]) / 2;
		for (uint64_t steps = random_below(state, 3); steps > 0; steps--)
			x = nextafter(x, bits & 1 ? INFINITY : 0);
	}
	return x;
}

START_TEST(a_million_numbers_are_rounded_once)
{
	static double values[32768];
	const struct format *f = &formats[_i];
	unsigned infinity = ((1u << f->exponent) - 1) << f->fraction;
	uint64_t state = 2026;

	for (unsigned bits = 0; bits < infinity; bits++)
		values[bits] = value_of(bits, f->exponent, f->fraction);
	/* where the next number would be: a tie with it goes to infinity, which is even */
	values[infinity] = ldexp(1, 1 << (f->exponent - 1));
	for (unsigned i = 0; i < 1000000; i++) {
		double x = sample(f, values, i, &state);

		if (isnan(x))
			continue;
		uint16_t got = f->narrow(x), want = nearest(values, infinity, x);

		if (got != want) /* an assertion a number would take longer than all the rest */
			ck_abort_msg("%s %a became 0x%04x, not 0x%04x", f->name, x, got, want);
#ifdef __FLT16_MAX__
		compiler_half half = (compiler_half)x;

		if (f->exponent == 5 && memcmp(&half, &got, sizeof got) != 0)
			ck_abort_msg("the compiler makes something else of %a", x);
#endif
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

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, widening_is_exact, 0, 2);
	tcase_add_loop_test(tc, narrowing_undoes_widening, 0, 2);
	tcase_add_loop_test(tc, narrowing_rounds_to_nearest_even, 0, 2);
	tcase_add_loop_test(tc, nan_stays_nan, 0, 2);
	tcase_add_loop_test(tc, a_million_numbers_are_rounded_once, 0, 2);
	tcase_add_loop_test(tc, extremes, 0, 2);
	suite_add_tcase(s, tc);

	SRunner *runner = srunner_create(s);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
