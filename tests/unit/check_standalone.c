/* SPDX-License-Identifier: Apache-2.0 */
/* Launch functions of a standalone library (launch/standalone/): what is checked before a launch, arguments in the
 * width of the kernel, extents, errors, copies. The rows are written by hand here, and the driver is the test's. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/native.h"
#include "launch/standalone/loader.h"

/* --- the library's tables and its driver ----------------------------------------------------- */

static const unsigned char widths[][2] = { { 2, 16 }, { 4, 16 }, { 2, 32 }, { 2, 64 },
					   { 0, 32 }, { 1, 8 },  { 3, 64 } };
static const unsigned char tags[] = { 0, 4, 7, 12 };
static const unsigned char pair[][2] = { { 3, 64 }, { 3, 64 }, { 0, 32 } };

const struct mpk_sa_kernel mpk_sa_kernels[] = {
	{ .name = "pair", .types = pair, .arg_count = 3, .tags = tags, .tag_count = 1 },
	{ .name = "widths", .types = widths, .arg_count = 7, .tags = tags, .tag_count = 4 },
};
const unsigned mpk_sa_kernel_count = 2;

/* Texts by their place. */
enum { NAME = 0, A = 2, N = 4, F32 = 6, I32 = 14, TAKES = 20, WHERE = 60, PRODUCT = 101 };
const char mpk_sa_texts[200] = "f\0a\0n\0float32\0int32\0"
			       "f: takes 3 arguments, got %lld, when x\0\0"
			       "f: argument '%s' must be there, is on %s\0"
			       "n * n / 7";
const int64_t mpk_sa_words[] = { MPK_SA_NAME,   0, MPK_SA_NAME,    0,         MPK_SA_MUL,
				 MPK_SA_NUMBER, 7, MPK_SA_CEILDIV, MPK_SA_END };
/* pair(a: Tensor([n], float32), b: optional out Tensor([...], float32), k: divisible 4 int32), and
 * widths(n: int32) */
const struct mpk_sa_expr mpk_sa_exprs[] = {
	{ N, MPK_SA_NAME, 0 },      { PRODUCT, MPK_SA_WORDS, 0 }, { N, MPK_SA_NUMBER, -7 },
	{ N, MPK_SA_NUMBER, 200 },  { N, MPK_SA_NUMBER, 64 },     { N, MPK_SA_NUMBER, 2 },
	{ N, MPK_SA_NUMBER, 4096 },
};
const struct mpk_sa_param mpk_sa_params[] = {
	{ A, F32, MPK_SA_TENSOR, MPK_SA_READ, MPK_DTYPE_FLOAT, 32, 0, 4, 4, 0, 1 },
	{ N, F32, MPK_SA_TENSOR, MPK_SA_OPTIONAL | MPK_SA_ANY_SHAPE | MPK_SA_WRITTEN,
	  MPK_DTYPE_FLOAT, 32, 0, 4, 16, 0, 0 },
	{ N, I32, MPK_SA_INTEGER, 0, MPK_DTYPE_INT, 32, 0, 4, 4, 0, 0 },
	{ N, F32, MPK_SA_TENSOR, 0, MPK_DTYPE_FLOAT, 32, 0, 4, 1, 1, 1 }, /* temporary */
	{ N, I32, MPK_SA_INTEGER, 0, MPK_DTYPE_INT, 32, 0, 4, 1, 0, 0 },
};
const struct mpk_sa_var mpk_sa_vars[] = { { 0, 0 }, { 0, MPK_SA_NONE } };
const struct mpk_sa_arg mpk_sa_args[] = {
	{ MPK_SA_ARG_PARAM, 0, 0, F32 },   { MPK_SA_ARG_PARAM, 0, 1, F32 },
	{ MPK_SA_ARG_INTEGER, 0, 1, I32 }, { MPK_SA_ARG_NULL, 0, 0, F32 },
	{ MPK_SA_ARG_NULL, 0, 0, F32 },    { MPK_SA_ARG_NULL, 0, 0, F32 },
	{ MPK_SA_ARG_NULL, 0, 0, F32 },    { MPK_SA_ARG_INTEGER, 0, 2, I32 },
	{ MPK_SA_ARG_INTEGER, 0, 3, I32 }, { MPK_SA_ARG_NULL, 0, 0, F32 },
};
#define NONE MPK_SA_NONE
const struct mpk_sa_step mpk_sa_steps[] = {
	{ 0, 0, { 0, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE } },
	{ 1, 3, { 0, NONE, NONE, NONE, 4, NONE, NONE, 5, NONE, 6 } },
};
const struct mpk_sa_function mpk_sa_functions[] = {
	{ 0, NAME, TAKES, WHERE, 0, 0, 0, 3, 3, 1, 0, 0, 1 },
	{ 0, NAME, TAKES, WHERE, 0, 0, 4, 1, 0, 0, 1, 1, 1 },
	{ 1, NAME, TAKES, WHERE, 0, 0, 0, 3, 3, 1, 0, 0, 1 },
};
static const struct mpk_sa_function *const pair_row = &mpk_sa_functions[0];
static const struct mpk_sa_function *const widths_row = &mpk_sa_functions[1];
static const struct mpk_sa_function *const other_row = &mpk_sa_functions[2]; /* pair, elsewhere */

static struct mpk_sa_launch last;
static int launches, copies, others;

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
	copies++;
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
	copies--;
	return 0;
}

static int other_launch(struct mpk_sa_launch *l)
{
	(void)l;
	others++;
	return 0;
}

static void *other_alloc(int device, int64_t bytes, const void *from)
{
	(void)device;
	(void)from;
	copies++;
	return malloc((size_t)bytes + 1);
}

static int other_release(int device, void *data, void *to, int64_t bytes)
{
	(void)device;
	(void)to;
	(void)bytes;
	free(data);
	copies--;
	return 0;
}

static const struct mpk_sa_driver recorder = { record_launch, record_alloc, record_release };
static const struct mpk_sa_driver other = { other_launch, other_alloc, other_release };
const struct mpk_sa_device mpk_sa_devices[] = { { MPK_DL_CUDA, &recorder },
						{ MPK_DL_OPENCL, &other } };

/* The process has the function that errors go to. */
__attribute__((visibility("default"))) void TVMFFIErrorSetRaisedFromCStr(const char *kind,
									 const char *text);
static char raised[2000];

void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *text)
{
	(void)snprintf(raised, sizeof raised, "%s: %s", kind, text);
}

/* --- calls ------------------------------------------------------------------------------------ */

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
	const uint64_t cells[] = { cell, cell, bits_of(0.1), cell, 0, 0, 0 };
	struct mpk_sa_launch l = { .kernel = &mpk_sa_kernels[1] };
	float single;

	ck_assert_int_eq(mpk_sa_start(&recorder, &l, cells), 0);
	ck_assert_msg(value_of(0, 2) == reals[_i].f16, "%s: binary16 0x%llx", reals[_i].what,
		      (unsigned long long)value_of(0, 2));
	ck_assert_msg(value_of(1, 2) == reals[_i].bf16, "%s: bfloat16 0x%llx", reals[_i].what,
		      (unsigned long long)value_of(1, 2));
	memcpy(&single, &last.values[2], sizeof single);
	ck_assert(single == (float)0.1); /* a cast, lest the constant be wider: FLT_EVAL_METHOD */
	ck_assert_uint_eq(last.values[3], cell);
}
END_TEST

static struct mpk_sa_any integer(int64_t value)
{
	return (struct mpk_sa_any){ .type = MPK_FFI_INT, .value = (uint64_t)value };
}

START_TEST(integers_and_extents_arrive)
{
	const struct mpk_sa_any n = integer(9);

	ck_assert_int_eq(mpk_sa_call(widths_row, &n, NULL, 1), 0);
	ck_assert_int_eq((int32_t)value_of(4, 4), -7);
	ck_assert_uint_eq(value_of(5, 1), 200);
	ck_assert_uint_eq(last.index, 1);
	ck_assert_int_eq(last.device, 0);
	ck_assert_uint_eq(last.extent[0], 9);
	ck_assert_uint_eq(last.extent[4], 64);
	ck_assert_uint_eq(last.extent[MPK_SA_TAG_CLUSTER + 1], 2);
	ck_assert_uint_eq(last.extent[1], 1);
	ck_assert_uint_eq(last.extent[MPK_SA_TAG_PREFERRED_CLUSTER], 1);
	ck_assert_uint_eq(last.shared, 4096);
}
END_TEST

START_TEST(an_empty_grid_launches_nothing)
{
	const struct mpk_sa_any n = integer(0);

	ck_assert_int_eq(mpk_sa_call(widths_row, &n, NULL, 1), 0);
	ck_assert_int_eq(launches, 0);
}
END_TEST

/* --- tensors ---------------------------------------------------------------------------------- */

static float memory[8];
static int64_t shape[] = { 8 }, strides[] = { 1 };

static struct mpk_sa_tensor tensor(int32_t device_type)
{
	return (struct mpk_sa_tensor){ .data = memory,
				       .device_type = device_type,
				       .device_id = 1,
				       .ndim = 1,
				       .code = MPK_DTYPE_FLOAT,
				       .bits = 32,
				       .lanes = 1,
				       .shape = shape,
				       .strides = strides };
}

/* pair(a, b, k); no b: None */
static int call_pair(const struct mpk_sa_tensor *a, const struct mpk_sa_tensor *b, int64_t k)
{
	const struct mpk_sa_any args[] = {
		{ .type = MPK_FFI_DLTENSOR, .value = (uintptr_t)a },
		{ .type = b ? MPK_FFI_DLTENSOR : MPK_FFI_NONE, .value = (uintptr_t)b },
		integer(k),
	};
	int status;

	raised[0] = '\0';
	status = mpk_sa_call(pair_row, args, NULL, 3);
	ck_assert_int_eq(copies, 0);
	ck_assert_int_eq(status, raised[0] ? -1 : 0);
	return status;
}

START_TEST(tensors_of_the_device_are_handed_on)
{
	struct mpk_sa_tensor a = tensor(MPK_DL_CUDA);

	ck_assert_int_eq(call_pair(&a, NULL, 4), 0);
	ck_assert_int_eq(last.device, 1);
	ck_assert_uint_eq(last.values[0], (uintptr_t)memory);
	ck_assert_uint_eq(last.values[1], 0);
	ck_assert_uint_eq(last.extent[0], 8);
	ck_assert_int_eq((int)value_of(2, 4), 10); /* 64 / 7, rounded up */
}
END_TEST

/* The device's number is that of the one tensor that is there. */
START_TEST(host_tensors_are_copied)
{
	struct mpk_sa_tensor a = tensor(MPK_DL_CUDA), b = tensor(MPK_DL_CPU);

	memory[3] = 1.5f;
	ck_assert_int_eq(call_pair(&a, &b, 0), 0);
	ck_assert_uint_ne(last.values[1], (uintptr_t)memory);
	ck_assert_uint_ne(last.values[1], 0);
	/* what has no elements has no copy */
	shape[0] = 0;
	ck_assert_int_eq(call_pair(&a, &b, 0), 0);
	ck_assert_int_eq(launches, 1);
}
END_TEST

/* A function runs on the devices of its kind alone: OpenCL takes no memory of CUDA's. */
START_TEST(each_function_has_its_kind_of_device)
{
	struct mpk_sa_tensor host = tensor(MPK_DL_CPU), cuda = tensor(MPK_DL_CUDA);
	struct mpk_sa_any args[] = { { .type = MPK_FFI_DLTENSOR, .value = (uintptr_t)&host },
				     { .type = MPK_FFI_NONE },
				     integer(4) };

	ck_assert_int_eq(mpk_sa_call(other_row, args, NULL, 3), 0);
	ck_assert_int_eq(others, 1);
	ck_assert_int_eq(launches, 0);
	ck_assert_int_eq(copies, 0);
	args[0].value = (uintptr_t)&cuda;
	ck_assert_int_eq(mpk_sa_call(other_row, args, NULL, 3), -1);
	ck_assert_str_eq(raised, "ValueError: f: argument 'a' must be there, is on cuda");
	ck_assert_int_eq(others, 1);
}
END_TEST

static void set_rank(struct mpk_sa_tensor *a)
{
	a->ndim = 2;
}
static void set_type(struct mpk_sa_tensor *a)
{
	a->code = MPK_DTYPE_INT;
}
static void set_lanes(struct mpk_sa_tensor *a)
{
	a->lanes = 4;
}
static void set_device(struct mpk_sa_tensor *a)
{
	a->device_type = MPK_DL_METAL;
}
static void set_extent(struct mpk_sa_tensor *a)
{
	(void)a;
	shape[0] = -1;
}
static void set_stride(struct mpk_sa_tensor *a)
{
	(void)a;
	strides[0] = 2;
}
static void set_null(struct mpk_sa_tensor *a)
{
	a->data = NULL;
}
static void set_offset(struct mpk_sa_tensor *a)
{
	a->offset = 2;
}
static void set_large(struct mpk_sa_tensor *a)
{
	(void)a;
	shape[0] = INT64_C(1) << 40;
}

static const struct {
	void (*set)(struct mpk_sa_tensor *a);
	const char *says;
} mistakes[] = {
	{ set_rank, "ValueError: f: argument 'a': expected 1 dimension, got 2" },
	{ set_type, "TypeError: f: argument 'a': expected float32, got int32" },
	{ set_lanes, "TypeError: f: argument 'a': expected float32, got vectors of 4 lanes" },
	{ set_device, "ValueError: f: argument 'a' must be there, is on metal" },
	{ set_extent, "ValueError: f: argument 'a': dimension 0 is -1" },
	{ set_stride,
	  "ValueError: f: argument 'a': must be contiguous: stride of dimension 0 is 2, "
	  "expected 1" },
	{ set_null, "ValueError: f: argument 'a': has a null data pointer" },
	{ set_offset, "ValueError: f: argument 'a': data is not aligned to 4 bytes" },
	{ set_large, "ValueError: f: 'n * n / 7' overflows 64 bits" },
};

START_TEST(mistakes_of_tensors_raise)
{
	struct mpk_sa_tensor a = tensor(MPK_DL_CUDA);

	mistakes[_i].set(&a);
	ck_assert_int_eq(call_pair(&a, NULL, 4), -1);
	ck_assert_str_eq(raised, mistakes[_i].says);
	ck_assert_int_eq(launches, 0);
}
END_TEST

START_TEST(mistakes_raise)
{
	struct mpk_sa_tensor a = tensor(MPK_DL_CUDA), b = tensor(MPK_DL_CUDA);
	struct mpk_sa_any text = { .type = MPK_FFI_STR };

	ck_assert_int_eq(mpk_sa_call(pair_row, NULL, NULL, 2), -1);
	ck_assert_str_eq(raised, "TypeError: f: takes 3 arguments, got 2, when x");
	ck_assert_int_eq(mpk_sa_call(widths_row, &text, NULL, 1), -1);
	ck_assert_str_eq(raised,
			 "TypeError: f: argument 'n': expected an integer (int32), got object");
	ck_assert_int_eq(call_pair(NULL, NULL, 4), -1);
	ck_assert_str_eq(raised, "ValueError: f: argument 'a': is a null pointer");
	ck_assert_int_eq(call_pair(&a, NULL, 6), -1);
	ck_assert_str_eq(raised, "ValueError: f: argument 'n': 6 is no multiple of 4");
	ck_assert_int_eq(call_pair(&a, NULL, INT64_C(1) << 40), -1);
	ck_assert_str_eq(raised, "ValueError: f: argument 'n': 1099511627776 does not fit int32");
	b.device_id = 2;
	ck_assert_int_eq(call_pair(&a, &b, 4), -1);
	ck_assert_str_eq(
		raised,
		"ValueError: f: argument 'n': is on device 2, the first tensor on device 1");
	ck_assert_int_eq(launches, 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("standalone");
	TCase *tc = tcase_create("functions");

	tcase_add_loop_test(tc, reals_are_rounded_once, 0, (int)MPK_ARRAY_COUNT(reals));
	tcase_add_test(tc, integers_and_extents_arrive);
	tcase_add_test(tc, an_empty_grid_launches_nothing);
	tcase_add_test(tc, tensors_of_the_device_are_handed_on);
	tcase_add_test(tc, host_tensors_are_copied);
	tcase_add_test(tc, each_function_has_its_kind_of_device);
	tcase_add_loop_test(tc, mistakes_of_tensors_raise, 0, (int)MPK_ARRAY_COUNT(mistakes));
	tcase_add_test(tc, mistakes_raise);
	suite_add_tcase(s, tc);

	SRunner *runner = srunner_create(s);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
