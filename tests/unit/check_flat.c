/* SPDX-License-Identifier: Apache-2.0 */
/* A rope as one run of bytes, wherever its large range begins and ends (io/reader.h) */
#include <check.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "io/reader.h"
#include "workdir.h"

START_TEST(flat_is_the_rope)
{
	enum { BIG = 3 * 4096 + 100, SECOND = 5000 };
	static const size_t offsets[] = { 0, 1, 4095, 4096, 8000 },
			    heads[] = { 0, 1, 90, 4096, 5000 };
	uint8_t big[BIG];
	int fd = open("big", O_RDWR | O_CREAT, 0600);

	for (size_t i = 0; i < BIG; i++)
		big[i] = (uint8_t)(i * 7 + i / 251);
	ck_assert_int_eq(write(fd, big, BIG), BIG);
	for (size_t o = 0; o < sizeof offsets / sizeof *offsets; o++) {
		for (size_t h = 0; h < sizeof heads / sizeof *heads; h++) {
			struct mpk_rope rope = mpk_rope_of(&arena);
			struct mpk_flat flat = { 0 };
			struct mpk_error err = { 0 };
			size_t len = BIG - offsets[o];

			mpk_rope_put_view(&rope, mpk_span_of(big, heads[h]));
			mpk_rope_put_file(&rope, fd, offsets[o], len);
			mpk_rope_put_view(&rope, mpk_span_of(big + 7, 33));
			mpk_rope_put_file(&rope, fd, 3, SECOND / 10);
			ck_assert_int_eq(mpk_flat_open(&rope, &flat, &err), MPK_OK);
			ck_assert_uint_eq(flat.bytes.len, heads[h] + len + 33 + SECOND / 10);
			ck_assert_mem_eq(flat.bytes.data, big, heads[h]);
			ck_assert_mem_eq(flat.bytes.data + heads[h], big + offsets[o], len);
			ck_assert_mem_eq(flat.bytes.data + heads[h] + len, big + 7, 33);
			ck_assert_mem_eq(flat.bytes.data + heads[h] + len + 33, big + 3,
					 SECOND / 10);
			mpk_flat_close(&flat);
			mpk_flat_close(&flat);
		}
	}
	(void)close(fd);
}
END_TEST

START_TEST(flat_of_little_maps_nothing)
{
	struct mpk_rope rope = mpk_rope_of(&arena);
	struct mpk_flat flat = { 0 };

	ck_assert_int_eq(mpk_flat_open(&rope, &flat, NULL), MPK_OK);
	ck_assert_uint_eq(flat.bytes.len, 0);
	mpk_rope_put_view(&rope, mpk_span_str("view"));
	ck_assert_int_eq(mpk_flat_open(&rope, &flat, NULL), MPK_OK);
	ck_assert_ptr_eq(flat.bytes.data, rope.pieces[0].data);
	ck_assert_ptr_null(flat.base);
	mpk_flat_close(&flat);
}
END_TEST

/* Mapped, what is missing would end in a signal. */
START_TEST(flat_of_a_file_that_is_too_short)
{
	struct mpk_flat flat = { 0 };
	struct mpk_error err = { 0 };
	int fd = open("short", O_RDWR | O_CREAT, 0600);

	for (uint64_t len = 100; len <= 100000; len *= 1000) {
		struct mpk_rope rope = mpk_rope_of(&arena);

		mpk_rope_put_file(&rope, fd, 0, len);
		ck_assert_int_eq(mpk_flat_open(&rope, &flat, &err), MPK_E_IO);
		ck_assert_ptr_null(flat.base);
	}
	(void)close(fd);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("flat");
	TCase *tc = tcase_create("flat");

	tcase_add_checked_fixture(tc, workdir_enter, workdir_leave);
	tcase_add_test(tc, flat_is_the_rope);
	tcase_add_test(tc, flat_of_little_maps_nothing);
	tcase_add_test(tc, flat_of_a_file_that_is_too_short);
	suite_add_tcase(s, tc);

	SRunner *runner = srunner_create(s);

	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
