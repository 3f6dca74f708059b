/* SPDX-License-Identifier: Apache-2.0 */
/* What the launch functions of a standalone library call (launch/standalone/calls.c): look-up,
 * arguments in the width of the kernel, extents, errors. A driver of the test stands behind it. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/native.h"
#include "launch/standalone/loader.h"

/* --- the library's table and its driver ------------------------------------------------------ */

static const unsigned char widths[][2] = { { 2, 16 }, { 4, 16 }, { 2, 32 }, { 2, 64 },
					   { 0, 32 }, { 1, 8 },  { 3, 64 } };
static const unsigned char tags[] = { 0, 4, 7, 12 };

const struct mpk_sa_kernel mpk_sa_kernels[] = {
	{ .name = "first", .types = widths },
	{ .name = "widths", .types = widths, .arg_count = 7, .tags = tags, .tag_count = 4 },
};
const unsigned mpk_sa_kernel_count = 2;
const int mpk_sa_device_type = MPK_DL_CUDA;

static struct mpk_sa_launch last;
static int launches;

static int record_launch(struct mpk_sa_launch *l)
{
	for (unsigned i = 0; i < l->kernel->arg_count; i++)
		ck_assert_ptr_eq(l->args[i], &l->values[i]);
	last = *l;
	launches++;
	return 0;
}

static void *record_alloc(int device, int64_t bytes, const void *from)
{
	void *data = malloc((size_t)bytes + 1);

	ck_assert_int_eq(device, 1);
	ck_assert_ptr_nonnull(data);
	if (from)
		memcpy(data, from, (size_t)bytes);
	return data;
}

static int record_release(int device, void *data, void *to, int64_t bytes)
{
	ck_assert_int_eq(device, 1);
	if (to)
		memcpy(to, data, (size_t)bytes);
	free(data);
	return 0;
}

const struct mpk_sa_driver mpk_sa_cuda = { record_launch, record_alloc, record_release };
const struct mpk_sa_driver mpk_sa_opencl = { NULL, NULL, NULL };

/* The process has the function that errors go to. */
__attribute__((visibility("default"))) void TVMFFIErrorSetRaisedFromCStr(const char *kind,
									 const char *text);
static char raised[2000];

void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *text)
{
	(void)snprintf(raised, sizeof raised, "%s: %s", kind, text);
}

/* --- calls ------------------------------------------------------------------------------------ */

enum { CELLS = 11 };

static void *look_up(const char *name)
{
	void *f = NULL;

	ck_assert_int_eq(mpk_sa_lookup(NULL, name, &f), 0);
	ck_assert_ptr_nonnull(f);
	return f;
}

static uint64_t bits_of(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof bits);
	return bits;
}

/* An argument as the driver copies it: its first bytes. */
static uint64_t value_of(size_t i, size_t bytes)
{
	return mpk_native_load(&last.values[i], bytes);
}

static int call(void *f, const uint64_t *cells, int32_t n)
{
	struct mpk_sa_any args[CELLS] = { 0 }, result = { .type = 5 };

	ck_assert_int_le(n, CELLS);
	for (int32_t i = 0; i < n; i++)
		args[i].value = cells[i];
	return mpk_sa_call(f, args, n, &result);
}

/* What the kernel gets of one real number, in each width. */
static const struct {
	const char *what;
	uint64_t cell;
	uint16_t f16, bf16;
} reals[] = {
	{ "1.5", 0x3ff8000000000000, 0x3e00, 0x3fc0 },
	{ "all ones, a NaN, became -0 once", UINT64_MAX, 0xfe00, 0xffc0 },
	{ "a NaN whose payload a float loses", 0x7ff0000000000001, 0x7e00, 0x7fc0 },
	{ "1 + 2^-8 + 2^-30 was rounded twice", 0x3ff0100000400000, 0x3c04, 0x3f81 },
	{ "1 + 2^-8, a tie", 0x3ff0100000000000, 0x3c04, 0x3f80 },
	{ "1 + 2^-11 + 2^-40", 0x3ff0020000001000, 0x3c01, 0x3f80 },
	{ "-infinity", 0xfff0000000000000, 0xfc00, 0xff80 },
	{ "65520, beyond binary16", 0x40effe0000000000, 0x7c00, 0x4780 },
	{ "2^-24, the least binary16", 0x3e70000000000000, 0x0001, 0x3380 },
	{ "-0", 0x8000000000000000, 0x8000, 0x8000 },
};

START_TEST(reals_are_rounded_once)
{
	uint64_t cell = reals[_i].cell;
	const uint64_t cells[CELLS] = { cell, cell, bits_of(0.1), cell, 0, 0, 0, 1, 1, 1, 0 };
	float single;

	ck_assert_int_eq(call(look_up("widths"), cells, CELLS), 0);
	ck_assert_msg(value_of(0, 2) == reals[_i].f16, "%s: binary16 0x%llx", reals[_i].what,
		      (unsigned long long)value_of(0, 2));
	ck_assert_msg(value_of(1, 2) == reals[_i].bf16, "%s: bfloat16 0x%llx", reals[_i].what,
		      (unsigned long long)value_of(1, 2));
	memcpy(&single, &last.values[2], sizeof single);
	ck_assert(single == (float)0.1); /* a cast, lest the constant be wider: FLT_EVAL_METHOD */
	ck_assert_uint_eq(last.values[3], cell);
}
END_TEST

START_TEST(integers_and_extents_arrive)
{
	const uint64_t cells[CELLS] = {
		0, 0, 0, 0, (uint64_t)-7, 200, 0x1234567890, 9, 64, 2, 4096
	};
	const uint64_t device[] = { MPK_DL_CUDA, 3 };

	ck_assert_int_eq(call(look_up("__tvm_set_device"), device, 2), 0);
	ck_assert_int_eq(call(look_up("widths"), cells, CELLS), 0);
	ck_assert_int_eq((int32_t)value_of(4, 4), -7);
	ck_assert_uint_eq(value_of(5, 1), 200);
	ck_assert_uint_eq(last.values[6], 0x1234567890);
	ck_assert_uint_eq(last.index, 1);
	ck_assert_int_eq(last.device, 3);
	ck_assert_uint_eq(last.extent[0], 9);
	ck_assert_uint_eq(last.extent[4], 64);
	ck_assert_uint_eq(last.extent[MPK_SA_TAG_CLUSTER + 1], 2);
	ck_assert_uint_eq(last.extent[1], 1);
	ck_assert_uint_eq(last.extent[MPK_SA_TAG_PREFERRED_CLUSTER], 1);
	ck_assert_uint_eq(last.shared, 4096);
}
END_TEST

START_TEST(an_empty_extent_counts_as_one)
{
	const uint64_t cells[CELLS] = { 0 };

	ck_assert_int_eq(call(look_up("widths"), cells, CELLS), 0);
	ck_assert_uint_eq(last.extent[0], 1);
	ck_assert_uint_eq(last.extent[4], 1);
}
END_TEST

START_TEST(mistakes_raise)
{
	const uint64_t cells[CELLS] = { 0 };
	void *f = NULL;

	ck_assert_int_eq(mpk_sa_lookup(NULL, "nobody", &f), -1);
	ck_assert_str_eq(raised, "RuntimeError: the library has no kernel nobody");
	ck_assert_int_eq(call(look_up("widths"), cells, CELLS - 1), -1);
	ck_assert_str_eq(raised, "RuntimeError: kernel widths: 11 arguments expected, 10 given");
	ck_assert_int_eq(mpk_sa_call(look_up("widths"), NULL, -1, &(struct mpk_sa_any){ 0 }), -1);
	ck_assert_str_eq(raised, "RuntimeError: too many arguments");
	ck_assert_int_eq(launches, 0);
}
END_TEST

START_TEST(host_tensors_are_staged)
{
	const char host[] = "0123456", *copied;
	char back[sizeof host] = "";
	void *in = mpk_sa_stage(1, (void *)(uintptr_t)host, sizeof host, 1);
	void *out = mpk_sa_stage(1, back, sizeof back, 0);

	ck_assert_ptr_nonnull(in);
	ck_assert_ptr_nonnull(out);
	copied = in;
	ck_assert_str_eq(copied, host);
	memcpy(out, in, sizeof host);
	ck_assert_int_eq(mpk_sa_unstage(1, in, NULL, sizeof host, 0), 0);
	ck_assert_int_eq(mpk_sa_unstage(1, out, back, sizeof back, 1), 0);
	ck_assert_str_eq(back, host);
	ck_assert_int_eq(mpk_sa_free(2, 1, mpk_sa_alloc(2, 1, 100, 2, 32)), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("standalone");
	TCase *tc = tcase_create("calls");

	tcase_add_loop_test(tc, reals_are_rounded_once, 0, (int)MPK_ARRAY_COUNT(reals));
	tcase_add_test(tc, integers_and_extents_arrive);
	tcase_add_test(tc, an_empty_extent_counts_as_one);
	tcase_add_test(tc, mistakes_raise);
	tcase_add_test(tc, host_tensors_are_staged);
	suite_add_tcase(s, tc);

	SRunner *runner = srunner_create(s);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
