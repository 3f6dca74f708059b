/* SPDX-License-Identifier: Apache-2.0 */
/* formats/tileir and formats/ltoir: what cuda-tile and nvcc wrote */
#include "robust.h"

#include <stdlib.h>
#include <string.h>

#include "assert_error.h"
#include "base/compiler.h"
#include "ltoir/ltoir.h"
#include "tileir/tileir.h"

#define DATA "tests/data/device/"

static struct mpk_arena arena;

static void clear(void)
{
	mpk_arena_fini(&arena);
}

static void assert_span(struct mpk_span s, const char *text)
{
	ck_assert_msg(mpk_span_is(s, text), "'" MPK_SPAN_FMT "' is not '%s'", MPK_SPAN_ARG(s),
		      text);
}

static struct mpk_tileir open_tileir(const char *path)
{
	struct mpk_error err = { 0 };
	struct mpk_tileir t;

	ck_assert_msg(mpk_tileir_read(robust_load(&arena, path), &arena, &t, &err) == MPK_OK,
		      "%s: %s", path, err.text);
	return t;
}

/* --- Tile IR ---------------------------------------------------------------------------------- */

static const struct {
	const char *path;
	unsigned minor;
	size_t hints;
} versions[] = {
	{ DATA "vadd.131.tileirbc", 1, 1 },
	{ DATA "vadd.134.tileirbc", 4, 2 },
};

/* An array is a pointer, its length and its stride; alpha is a number. */
START_TEST(functions)
{
	static const char *const names[] = { "vadd_128", "vadd_256" };
	struct mpk_tileir t = open_tileir(versions[_i].path);
	struct mpk_span bytes = robust_load(&arena, versions[_i].path);

	ck_assert_uint_eq(t.major, 13);
	ck_assert_uint_eq(t.minor, versions[_i].minor);
	ck_assert_uint_eq(t.section_count, 5);
	ck_assert_uint_eq(t.function_count, 2);
	ck_assert_uint_eq(t.kernel_count, 2);
	ck_assert_uint_eq(t.used, bytes.len);
	ck_assert(t.has_debug);
	ck_assert_uint_eq(t.hint_count, versions[_i].hints);
	assert_span(t.hints[0], "sm_100");
	for (size_t f = 0; f < 2; f++) {
		const struct mpk_tileir_function *k = &t.functions[f];

		assert_span(k->name, names[f]);
		ck_assert(k->is_kernel && !k->is_private && k->has_params);
		ck_assert_uint_eq(k->param_count, 10);
		for (size_t i = 0; i < k->param_count; i++) {
			bool is_pointer = i < 9 && i % 3 == 0;

			ck_assert_int_eq(k->params[i].is_pointer, is_pointer);
			ck_assert_uint_eq(k->params[i].dtype.bits, 32);
			ck_assert_uint_eq(k->params[i].dtype.code,
					  is_pointer || i == 9 ? MPK_DTYPE_FLOAT : MPK_DTYPE_INT);
		}
		ck_assert_uint_gt(k->body_bytes, 100);
	}
}
END_TEST

START_TEST(section_names)
{
	ck_assert_str_eq(mpk_tileir_section_name(2), "functions");
	ck_assert_ptr_null(mpk_tileir_section_name(0));
	ck_assert_ptr_null(mpk_tileir_section_name(99));
}
END_TEST

static void assert_corrupt(struct mpk_span bytes, const char *text)
{
	struct mpk_error err = { 0 };
	struct mpk_tileir t;

	ck_assert_int_eq(mpk_tileir_read(bytes, &arena, &t, &err), MPK_E_CORRUPT);
	ck_assert(err.at.has_offset);
	ck_assert_msg(strstr(err.text, text), "%s", err.text);
}

#define HEAD "\x7fTileIR\0\x0d\1\0\0"
#define STRINGS "\1\4\0\0\0\0" /* none, and padding */
#define TYPES "\5\4\0\0\0\0"
#define BYTES(text) mpk_span_of(text, sizeof text - 1)

START_TEST(refuses)
{
	assert_corrupt(BYTES("\x7fTileIX\0\x0d\1\0\0"), "no Tile IR");
	assert_corrupt(BYTES(HEAD), "the end of the sections");
	assert_corrupt(BYTES(HEAD "\0"), "no section of strings");
	assert_corrupt(BYTES(HEAD "\1\5a"), "a section");
	assert_corrupt(BYTES(HEAD "\x81\1\3\0\0\0\0"), "no power of two");
	assert_corrupt(BYTES(HEAD STRINGS STRINGS "\0"), "twice");
	assert_corrupt(BYTES(HEAD STRINGS "\0"), "no section of types");
	assert_corrupt(BYTES(HEAD STRINGS TYPES "\0"), "no section of functions");
	assert_corrupt(BYTES(HEAD STRINGS TYPES "\2\1\5\0"), "does not fit in the");
	assert_corrupt(BYTES(HEAD STRINGS TYPES "\2\7\1\0\0\0\0\0\0\0"), "not among the strings");
	assert_corrupt(BYTES(HEAD STRINGS TYPES "\2\2\0\0\0"), "follow the last");
	assert_corrupt(BYTES(HEAD STRINGS TYPES "\2\7\1\0\0\4\0\x20\0\0"), "an unknown kind");
	assert_corrupt(BYTES(HEAD "\1\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f"), "64 bits");
}
END_TEST

/* Arrays in arrays: a byte or two each. */
START_TEST(deep)
{
	uint8_t bytes[256] = HEAD STRINGS TYPES "\2\xdd\1\1\0\0\4\0";
	size_t at = sizeof HEAD STRINGS TYPES - 1 + 8;

	while (at < 248) { /* the section's end */
		bytes[at++] = 6;
		bytes[at++] = 1;
	}
	assert_corrupt(mpk_span_of(bytes, sizeof bytes), "nested too deep");
}
END_TEST

static enum mpk_code read_tileir(struct mpk_span bytes, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena own = { 0 };
	struct mpk_tileir t;

	return mpk_tileir_read(bytes, &own, &t, err);
}

START_TEST(damage)
{
	robust_check(versions[_i].path, read_tileir, 20000);
}
END_TEST

/* --- LTO IR ------------------------------------------------------------------------------------ */

static const struct {
	const char *path;
	unsigned sm, llvm;
	bool arch_specific;
} containers[] = {
	{ DATA "tiny.lto_90.ltoir", 90, 7, false },
	{ DATA "tiny.lto_100a.ltoir", 100, 20, true },
};

START_TEST(lto_header)
{
	struct mpk_span bytes = robust_load(&arena, containers[_i].path);
	struct mpk_error err = { 0 };
	struct mpk_ltoir l;

	ck_assert(mpk_ltoir_is(bytes));
	ck_assert_ok(mpk_ltoir_read(bytes, &l, &err), err);
	ck_assert_uint_eq(l.sm, containers[_i].sm);
	ck_assert_int_eq(l.arch_specific, containers[_i].arch_specific);
	ck_assert_uint_eq(l.llvm_major, containers[_i].llvm);
	ck_assert_uint_eq(l.debug_major, 3);
	ck_assert_uint_eq(l.debug_minor, 2);
	ck_assert_uint_gt(l.ir_bytes, 1000);
}
END_TEST

START_TEST(lto_refuses)
{
	static const struct {
		size_t at;
		uint8_t value;
		const char *text;
	} changes[] = {
		{ 0, 0, "no container" },
		{ 12, 0, "beyond the file" },
		{ 17, 0xff, "beyond the file" },
		{ 23, 0xff, "beyond the file" },
		{ 26, 0x85, "for which architecture" },
		{ 24, 0x55, "for which architecture" },
	};
	struct mpk_span good = robust_load(&arena, containers[0].path);

	for (size_t i = 0; i < MPK_ARRAY_COUNT(changes); i++) {
		uint8_t *bytes = (uint8_t *)mpk_arena_copy(&arena, good.data, good.len);
		struct mpk_error err = { 0 };
		struct mpk_ltoir l;

		bytes[changes[i].at] = changes[i].value;
		ck_assert_int_eq(mpk_ltoir_read(mpk_span_of(bytes, good.len), &l, &err),
				 MPK_E_CORRUPT);
		ck_assert_msg(strstr(err.text, changes[i].text), "%zu: %s", i, err.text);
	}
}
END_TEST

static enum mpk_code read_ltoir(struct mpk_span bytes, struct mpk_error *err)
{
	struct mpk_ltoir l;

	return mpk_ltoir_read(bytes, &l, err);
}

START_TEST(lto_damage)
{
	robust_check(containers[_i].path, read_ltoir, 20000);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("tileir");
	TCase *tc = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, NULL, clear);
	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, functions, 0, MPK_ARRAY_COUNT(versions));
	tcase_add_test(tc, section_names);
	tcase_add_test(tc, refuses);
	tcase_add_test(tc, deep);
	tcase_add_loop_test(tc, damage, 0, MPK_ARRAY_COUNT(versions));
	tcase_add_loop_test(tc, lto_header, 0, MPK_ARRAY_COUNT(containers));
	tcase_add_test(tc, lto_refuses);
	tcase_add_loop_test(tc, lto_damage, 0, MPK_ARRAY_COUNT(containers));
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
