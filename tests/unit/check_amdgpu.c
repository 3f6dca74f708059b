/* SPDX-License-Identifier: Apache-2.0 */
/* formats/amdgpu and formats/msgpack: what clang was told, and what llvm-readelf --notes prints of it,
 * against what is read */
#include "robust.h"

#include "amdgpu/amdgpu.h"
#include "base/compiler.h"
#include "msgpack/msgpack.h"

#define DATA "tests/data/gpu/"

static struct mpk_arena arena;

static void clear(void)
{
	mpk_arena_fini(&arena);
}

static struct mpk_amdgpu open_object(const char *path)
{
	struct mpk_error err = { 0 };
	struct mpk_amdgpu a;

	ck_assert_msg(mpk_amdgpu_read(robust_load(&arena, path), &arena, &a, &err) == MPK_OK, "%s",
		      err.text);
	return a;
}

/* --- code objects ------------------------------------------------------------------------ */

/* The figures of `llvm-readelf-19 --notes`. */
static const struct {
	const char *path, *target;
	unsigned version;
	uint32_t sgprs, vgprs, vgpr_spills, wavefront;
	uint64_t kernarg_bytes, scratch_bytes;
	size_t args;
} objects[] = {
	{ DATA "mix.gfx90a.hsaco", "gfx90a", 4, 36, 48, 20, 64, 48, 84, 5 },
	{ DATA "mix.gfx906.hsaco", "gfx906", 5, 36, 24, 48, 64, 48, 196, 5 },
	{ DATA "mix.gfx11-generic.hsaco", "gfx11-generic", 6, 29, 24, 48, 32, 48, 196, 5 },
};

START_TEST(figures)
{
	struct mpk_amdgpu a = open_object(objects[_i].path);
	const struct mpk_amdgpu_kernel *k = a.kernels;

	ck_assert_str_eq(a.target, objects[_i].target);
	ck_assert_uint_eq(a.version, objects[_i].version);
	ck_assert(a.has_metadata);
	ck_assert_uint_eq(a.kernel_count, 1);
	ck_assert(mpk_span_is(k->name, "mix"));
	ck_assert(mpk_span_is(k->symbol, "mix.kd"));
	ck_assert_uint_eq(k->sgprs, objects[_i].sgprs);
	ck_assert_uint_eq(k->vgprs, objects[_i].vgprs);
	ck_assert_uint_eq(k->vgpr_spills, objects[_i].vgpr_spills);
	ck_assert_uint_eq(k->wavefront, objects[_i].wavefront);
	ck_assert_uint_eq(k->kernarg_bytes, objects[_i].kernarg_bytes);
	ck_assert_uint_eq(k->scratch_bytes, objects[_i].scratch_bytes);
	ck_assert_uint_eq(k->visible_args, objects[_i].args);
	ck_assert_uint_eq(k->max_threads, 64);
	ck_assert_uint_eq(k->block[0], 64);
	ck_assert_uint_eq(k->block[1], 1);
	ck_assert_uint_gt(k->code.len, 1000);
}
END_TEST

START_TEST(arguments)
{
	static const struct mpk_span none;
	struct mpk_amdgpu a = open_object(DATA "mix.gfx906.hsaco");
	const struct mpk_amdgpu_arg *args = a.kernels[0].args;

	ck_assert_uint_ge(a.kernels[0].arg_count, 5);
	ck_assert(mpk_span_is(args[0].name, "out"));
	ck_assert(mpk_span_is(args[0].type_name, "float*"));
	ck_assert(mpk_span_is(args[0].value_kind, "global_buffer"));
	ck_assert(mpk_span_is(args[0].address_space, "global"));
	ck_assert(mpk_span_is(args[3].value_kind, "dynamic_shared_pointer"));
	ck_assert(mpk_span_is(args[4].name, "n"));
	ck_assert_uint_eq(args[4].bytes, 16);
	ck_assert_uint_eq(args[4].offset, 32);
	ck_assert(mpk_span_equal(args[4].address_space, none));
}
END_TEST

static enum mpk_code try_object(struct mpk_span bytes, struct mpk_error *err)
{
	struct mpk_arena scratch = { 0 };
	struct mpk_amdgpu a;
	enum mpk_code code = mpk_amdgpu_read(bytes, &scratch, &a, err);

	mpk_arena_fini(&scratch);
	return code;
}

START_TEST(survives_damage)
{
	robust_check(objects[_i].path, try_object, 20000);
}
END_TEST

/* Damage in the metadata alone: most of the file is code. */
START_TEST(survives_damaged_metadata)
{
	struct mpk_span good = robust_load(&arena, DATA "mix.gfx90a.hsaco");
	uint8_t *bytes = (uint8_t *)mpk_arena_copy(&arena, good.data, good.len);
	const uint8_t *note;
	size_t at;

	ck_assert_ptr_nonnull(bytes);
	note = memmem(bytes, good.len, "AMDGPU", 7);
	ck_assert_ptr_nonnull(note);
	at = (size_t)(note - bytes);
	robust_flip(try_object, bytes, good.len, at - 12, at + 700);
}
END_TEST

START_TEST(refuses_other_files)
{
	struct mpk_span cubin = robust_load(&arena, "tests/data/device/two.sm_75.cubin");
	struct mpk_span good = robust_load(&arena, DATA "mix.gfx90a.hsaco");
	uint8_t *bytes = (uint8_t *)mpk_arena_copy(&arena, good.data, good.len);
	struct mpk_error err;
	struct mpk_amdgpu a;
	uint8_t *key;

	ck_assert_int_eq(mpk_amdgpu_read(cubin, &arena, &a, &err), MPK_E_CORRUPT);
	bytes[5] = 2; /* big-endian */
	ck_assert_int_eq(mpk_amdgpu_read(mpk_span_of(bytes, good.len), &arena, &a, &err),
			 MPK_E_UNSUPPORTED);
	bytes[5] = 1;
	key = memmem(bytes, good.len, ".sgpr_count", 11);
	ck_assert_ptr_nonnull(key);
	key[11] = 0xa1; /* a string where a number is needed */
	ck_assert_int_eq(mpk_amdgpu_read(mpk_span_of(bytes, good.len), &arena, &a, &err),
			 MPK_E_CORRUPT);
	ck_assert_str_eq(err.text, "code object: metadata: .sgpr_count");
}
END_TEST

/* --- MessagePack: examples of its specification -------------------------------------------- */

static const struct {
	const char *bytes;
	size_t len;
	enum mpk_msgpack_type type;
	uint64_t number;
	uint32_t count;
	size_t text;
} values[] = {
	{ "\x7f", 1, MPK_MSGPACK_UINT, 127, 0, 0 },
	{ "\xe0", 1, MPK_MSGPACK_INT, (uint64_t)-32, 0, 0 },
	{ "\xff", 1, MPK_MSGPACK_INT, (uint64_t)-1, 0, 0 },
	{ "\xc0", 1, MPK_MSGPACK_NIL, 0, 0, 0 },
	{ "\xc3", 1, MPK_MSGPACK_BOOL, 1, 0, 0 },
	{ "\xcc\x80", 2, MPK_MSGPACK_UINT, 128, 0, 0 },
	{ "\xcd\x12\x34", 3, MPK_MSGPACK_UINT, 0x1234, 0, 0 },
	{ "\xce\x12\x34\x56\x78", 5, MPK_MSGPACK_UINT, 0x12345678, 0, 0 },
	{ "\xcf\x80\0\0\0\0\0\0\1", 9, MPK_MSGPACK_UINT, UINT64_C(1) << 63 | 1, 0, 0 },
	{ "\xd0\x80", 2, MPK_MSGPACK_INT, (uint64_t)-128, 0, 0 },
	{ "\xd0\x7f", 2, MPK_MSGPACK_UINT, 127, 0, 0 },
	{ "\xd1\x80\0", 3, MPK_MSGPACK_INT, (uint64_t)-32768, 0, 0 },
	{ "\xd3\x80\0\0\0\0\0\0\0", 9, MPK_MSGPACK_INT, UINT64_C(1) << 63, 0, 0 },
	{ "\xcb\x3f\xf0\0\0\0\0\0\0", 9, MPK_MSGPACK_FLOAT, UINT64_C(0x3ff0) << 48, 0, 0 },
	{ "\xa3"
	  "abc",
	  4, MPK_MSGPACK_STR, 0, 0, 3 },
	{ "\xd9\2ab", 4, MPK_MSGPACK_STR, 0, 0, 2 },
	{ "\xc4\1a", 3, MPK_MSGPACK_BIN, 0, 0, 1 },
	{ "\xd4\1a", 3, MPK_MSGPACK_EXT, 0, 0, 2 },
	{ "\xc7\2\1ab", 5, MPK_MSGPACK_EXT, 0, 0, 3 },
	{ "\x92\1\2", 3, MPK_MSGPACK_ARRAY, 0, 2, 0 },
	{ "\xdc\0\1\1", 4, MPK_MSGPACK_ARRAY, 0, 1, 0 },
	{ "\x81\1\2", 3, MPK_MSGPACK_MAP, 0, 1, 0 },
	{ "\xdf\0\0\0\1\1\2", 7, MPK_MSGPACK_MAP, 0, 1, 0 },
};

START_TEST(msgpack_values)
{
	struct mpk_span s = mpk_span_of(values[_i].bytes, values[_i].len);
	struct mpk_cursor c = mpk_cursor_of(s, 0, "payload"), all = c;
	struct mpk_msgpack m;

	ck_assert_int_eq(mpk_msgpack_next(&c, &m, NULL), MPK_OK);
	ck_assert_int_eq(m.type, values[_i].type);
	ck_assert_uint_eq(m.number, values[_i].number);
	ck_assert_uint_eq(m.count, values[_i].count);
	ck_assert_uint_eq(m.bytes.len, values[_i].text);
	ck_assert_int_eq(mpk_msgpack_skip(&all, NULL), MPK_OK);
	ck_assert_uint_eq(mpk_cursor_left(&all), 0);
	for (size_t n = 0; n < s.len; n++) {
		all = mpk_cursor_of(mpk_span_of(s.data, n), 0, "payload");
		ck_assert_int_eq(mpk_msgpack_skip(&all, NULL), MPK_E_CORRUPT);
	}
}
END_TEST

START_TEST(msgpack_refuses)
{
	static const char *const bad[] = { "\xc1", "\xdd\xff\xff\xff\xff\1", "\xdf\xff\xff\xff\xff",
					   "\xdb\xff\xff\xff\xff", "\x82\1\1\1" };
	static uint8_t deep[1 << 20];
	struct mpk_cursor c;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(bad); i++) {
		c = mpk_cursor_of(mpk_span_str(bad[i]), 0, "payload");
		ck_assert_int_eq(mpk_msgpack_skip(&c, NULL), MPK_E_CORRUPT);
	}
	/* a million arrays, one in the other */
	memset(deep, 0x91, sizeof deep);
	deep[sizeof deep - 1] = 1;
	c = mpk_cursor_of(mpk_span_of(deep, sizeof deep), 0, "payload");
	ck_assert_int_eq(mpk_msgpack_skip(&c, NULL), MPK_OK);
	deep[sizeof deep - 1] = 0x91;
	c = mpk_cursor_of(mpk_span_of(deep, sizeof deep), 0, "payload");
	ck_assert_int_eq(mpk_msgpack_skip(&c, NULL), MPK_E_CORRUPT);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("amdgpu");
	TCase *tc = tcase_create("amdgpu");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, NULL, clear);
	tcase_add_loop_test(tc, figures, 0, (int)MPK_ARRAY_COUNT(objects));
	tcase_add_test(tc, arguments);
	tcase_add_loop_test(tc, survives_damage, 0, (int)MPK_ARRAY_COUNT(objects));
	tcase_add_test(tc, survives_damaged_metadata);
	tcase_add_test(tc, refuses_other_files);
	tcase_add_loop_test(tc, msgpack_values, 0, (int)MPK_ARRAY_COUNT(values));
	tcase_add_test(tc, msgpack_refuses);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
