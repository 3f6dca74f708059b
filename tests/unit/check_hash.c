/* XXH64 (base/hash.h) against digests of the reference implementation (Python's xxhash). */
#include <check.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "base/hash.h"

static uint64_t digest(size_t len, uint64_t seed, size_t step)
{
	struct mpk_hash h;

	mpk_hash_init(&h, seed);
	for (size_t i = 0; i < len;) {
		uint8_t part[128];
		size_t n = step < len - i ? step : len - i;

		for (size_t k = 0; k < n; k++)
			part[k] = (uint8_t)((i + k) * 31 + 7);
		mpk_hash_add(&h, mpk_span_of(part, n));
		i += n;
	}
	return mpk_hash_get(&h);
}

/* python: xxhash.xxh64_intdigest(bytes((i * 31 + 7) % 256 for i in range(len)), seed) */
static const struct {
	size_t len;
	uint64_t seed, digest;
} rows[] = {
	{ 0, 0x0, 0xef46db3751d8e999 },
	{ 1, 0x0, 0xa96c7f0ce858bbb7 },
	{ 3, 0x0, 0x56e6957632a487f9 },
	{ 4, 0x0, 0xc60d15b1e3ff8f04 },
	{ 8, 0x5, 0xb6d7cc2c6e5751de },
	{ 14, 0x0, 0x1523f762201ba56e },
	{ 31, 0x0, 0x4a74f3a1a39ad4a1 },
	{ 32, 0x0, 0x8d57d6a4671cc43d },
	{ 33, 0x1, 0xb1575979b72c805a },
	{ 63, 0x0, 0x5c320a0d2707057f },
	{ 64, 0x0, 0x7bbabbc45729d17e },
	{ 100, 0x0, 0xefa0ad2d3e70c151 },
	{ 1000, 0xdeadbeef, 0x1def7e7546ec0903 },
	{ 4097, 0x0, 0xd42496bbbecacb1d },
};

START_TEST(reference)
{
	static const size_t steps[] = { 128, 1, 7, 32, 33 };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(steps); i++)
		ck_assert_msg(digest(rows[_i].len, rows[_i].seed, steps[i]) == rows[_i].digest,
			      "%zu bytes in steps of %zu", rows[_i].len, steps[i]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("hash");
	TCase *tc = tcase_create("xxh64");

	tcase_add_loop_test(tc, reference, 0, MPK_ARRAY_COUNT(rows));
	suite_add_tcase(suite, tc);

	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
