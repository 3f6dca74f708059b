/* SPDX-License-Identifier: Apache-2.0 */
/* Which image a tensor with a memory scope is (runtime/textures.c). */
#include <check.h>

#include "assert_error.h"
#include "runtime/devices.h"

static const struct {
	const char *scope;
	int64_t shape[5];
	size_t ndim;
	bool is_array;
	unsigned bits;
	uint64_t width, height, layers; /* width 0: refused */
} rows[] = {
	{ "global.texture", { 2, 3, 5, 4 }, 4, false, 32, 5, 6, 0 },
	{ "global.texture", { 2, 3, 5, 4 }, 4, true, 32, 5, 3, 2 },
	{ "global.texture", { 8, 16, 4 }, 3, true, 32, 16, 8, 1 },
	{ "global.texture", { 1, 3, 6, 5, 4 }, 5, true, 32, 5, 6, 3 },
	{ "global.texture-weight", { 2, 3, 3, 3, 4 }, 5, true, 32, 27, 2, 1 },
	{ "global.texture-weight", { 2, 3, 4 }, 3, false, 16, 3, 2, 0 },
	{ "global.texture-nhwc", { 1, 6, 5, 3, 4 }, 5, true, 32, 15, 6, 1 },
	{ "global.texture-nhwc", { 6, 5, 4 }, 3, false, 32, 5, 6, 0 },
	{ "global.texture-nhwc", { 6, 5, 4 }, 3, true, 32, 1, 5, 6 },
	{ "global.texture", { 8, 16, 8 }, 3, true, 16, 16, 8, 1 },
	{ "global.texture", { 8, 16, 8 }, 3, true, 32, 0, 0, 0 },
	{ "global.texture", { 2, 3, 5 }, 3, false, 32, 0, 0, 0 },
	{ "global.texture", { 16, 4 }, 2, true, 32, 0, 0, 0 },
	{ "global.texture", { 4 }, 1, false, 32, 0, 0, 0 },
	{ "global.texture", { 0, 3, 4 }, 3, false, 32, 0, 0, 0 },
	{ "global.textur", { 2, 3, 4 }, 3, false, 32, 0, 0, 0 },
};

/* Where TVM puts the extents of a tensor, in both ways. */
START_TEST(textures_of_tensors)
{
	struct mpk_texture_tensor tensor = {
		.scope = mpk_span_str(rows[_i].scope),
		.dtype = { MPK_DTYPE_FLOAT, (uint8_t)rows[_i].bits, 1 },
		.shape = rows[_i].shape,
		.ndim = rows[_i].ndim,
		.is_array = rows[_i].is_array,
	};
	struct mpk_device_texture got = { 0 };
	struct mpk_error err = { 0 };
	enum mpk_code code = mpk_texture_of(&tensor, &got, &err);

	if (!rows[_i].width) {
		ck_assert_int_eq(code, MPK_E_UNSUPPORTED);
		return;
	}
	ck_assert_ok(code, err);
	ck_assert_uint_eq(got.width, rows[_i].width);
	ck_assert_uint_eq(got.height, rows[_i].height);
	ck_assert_uint_eq(got.layers, rows[_i].layers);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("texture");
	TCase *tc = tcase_create("texture");
	SRunner *r = srunner_create(s);

	tcase_add_loop_test(tc, textures_of_tensors, 0, MPK_ARRAY_COUNT(rows));
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
