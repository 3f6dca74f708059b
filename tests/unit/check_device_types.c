/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a device without half, double or images is said to run sources that use them. */
#include <check.h>

#include "assert_error.h"
#include "base/compiler.h"
#include "device/device.h"

enum { HALF = 1, DOUBLE = 2, IMAGES = 4 };

static const struct {
	const char *source;
	unsigned needs;
} rows[] = {
	{ "__kernel void f(__global float *x) {}", 0 },
	{ "__kernel void f(__global half *x) { half y; }", HALF },
	{ "__kernel void f(__global const half *x) { float y = vload_half(0, x); }", 0 },
	{ "__kernel void f(__global float *x) { vstore_half(x[0], 0, x); }", 0 },
	{ "__kernel void f(__global float *x) { double4 d; }", DOUBLE },
	{ "__kernel void f(__global float *x) {} // double", 0 },
	{ "__kernel void f(__read_only image2d_array_t i) {}", IMAGES },
	{ "__kernel void f(image2d_t i, double d) {}", IMAGES | DOUBLE },
	/* as TVM writes it: without the type the compiler stops */
	{ "#ifdef cl_khr_fp16\n#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n#else\n#error \"no half\"\n"
	  "#endif\n__kernel void f(__global half *x) { half4 y; }",
	  HALF },
	/* whoever asks has an answer for both */
	{ "#ifdef cl_khr_fp64\ntypedef double real;\n#else\ntypedef float real;\n#endif\n", 0 },
};

START_TEST(types_of_a_source)
{
	struct mpk_kernels k = { .layout = MPK_KERNELS_PLAIN,
				 .fmt = mpk_span_str("cl"),
				 .data = mpk_span_str(rows[_i].source) };

	for (unsigned has = 0; has < 8; has++) {
		struct mpk_device_info info = { .kind = MPK_DEVICE_OPENCL,
						.name = "d",
						.has_half = has & HALF,
						.has_double = has & DOUBLE,
						.has_images = has & IMAGES };
		struct mpk_error err = { 0 };
		enum mpk_code code = mpk_device_check(&info, &k, &err);

		ck_assert_int_eq(code, rows[_i].needs & ~has ? MPK_E_UNSUPPORTED : MPK_OK);
		if (code != MPK_OK)
			ck_assert_text(err, "which 'd' does not have");
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("device_types");
	TCase *tc = tcase_create("device_types");
	SRunner *r = srunner_create(s);

	tcase_add_loop_test(tc, types_of_a_source, 0, MPK_ARRAY_COUNT(rows));
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
