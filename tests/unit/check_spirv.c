/* SPDX-License-Identifier: Apache-2.0 */
/* formats/spirv: modules of spirv-as, which spirv-val accepts */
#include "robust.h"

#include <endian.h>

#include "base/compiler.h"
#include "base/cursor.h"
#include "base/strbuf.h"
#include "spirv/spirv.h"

#define DATA "tests/data/device/"

static struct mpk_arena arena;

static void clear(void)
{
	mpk_arena_fini(&arena);
}

static struct mpk_spirv open_spirv(const char *path)
{
	struct mpk_error err = { 0 };
	struct mpk_spirv s;

	ck_assert_msg(mpk_spirv_read(robust_load(&arena, path), &arena, &s, &err) == MPK_OK,
		      "%s: %s", path, err.text);
	return s;
}

static void assert_size(const uint32_t size[3], uint32_t x, uint32_t y, uint32_t z)
{
	ck_assert_uint_eq(size[0], x);
	ck_assert_uint_eq(size[1], y);
	ck_assert_uint_eq(size[2], z);
}

static const char *const both_orders[] = { DATA "compute.spv", DATA "compute_be.spv" };

START_TEST(compute)
{
	static const char *const capabilities[] = {
		"Shader",
		"Int16",
		"StorageBuffer16BitAccess",
		"GroupNonUniformArithmetic",
	};
	struct mpk_spirv s = open_spirv(both_orders[_i]);

	ck_assert_uint_eq(s.big_endian, (unsigned)_i);
	ck_assert_uint_eq(s.major, 1);
	ck_assert_uint_eq(s.minor, 4);
	ck_assert_uint_eq(s.generator >> 16, 7); /* Khronos SPIR-V Tools Assembler */
	ck_assert_str_eq(mpk_spirv_name(MPK_SPIRV_ADDRESSING, s.addressing), "Logical");
	ck_assert_str_eq(mpk_spirv_name(MPK_SPIRV_MEMORY, s.memory), "GLSL450");
	ck_assert_uint_eq(s.capability_count, MPK_ARRAY_COUNT(capabilities));
	for (size_t i = 0; i < s.capability_count; i++)
		ck_assert_str_eq(mpk_spirv_name(MPK_SPIRV_CAPABILITY, s.capabilities[i]),
				 capabilities[i]);
	ck_assert_uint_eq(s.function_count, 2);
	ck_assert_uint_eq(s.entry_count, 3);
	ck_assert_str_eq(s.entries[0].name, "plain");
	ck_assert_str_eq(s.entries[1].name, "by_id");
	ck_assert_str_eq(s.entries[2].name, "again");
	for (size_t i = 0; i < 3; i++)
		ck_assert_str_eq(mpk_spirv_name(MPK_SPIRV_MODEL, s.entries[i].model), "GLCompute");
	assert_size(s.entries[0].local_size, 64, 2, 1);
	assert_size(s.entries[1].local_size, 8, 4, 1);
	assert_size(s.entries[2].local_size, 64, 2, 1);
	ck_assert_uint_eq(s.entries[0].interface_count, 1);
	ck_assert_uint_eq(s.entries[1].interface_count, 0);
	ck_assert_str_eq(s.entries[1].name, "by_id");
}
END_TEST

START_TEST(workgroup_size_constant)
{
	struct mpk_spirv s = open_spirv(DATA "builtin.spv");

	ck_assert_uint_eq(s.minor, 3);
	assert_size(s.entries[0].local_size, 32, 4, 2);
}
END_TEST

START_TEST(kernel)
{
	struct mpk_spirv s = open_spirv(DATA "kernel.spv");

	ck_assert_str_eq(s.entries[0].name, "a_kernel_with_a_name");
	ck_assert_str_eq(mpk_spirv_name(MPK_SPIRV_MODEL, s.entries[0].model), "Kernel");
	assert_size(s.entries[0].local_size, 0, 0, 0);
	assert_size(s.entries[0].size_hint, 16, 8, 4);
	ck_assert_str_eq(mpk_spirv_name(MPK_SPIRV_ADDRESSING, s.addressing), "Physical64");
	ck_assert_str_eq(mpk_spirv_name(MPK_SPIRV_MEMORY, s.memory), "OpenCL");
	ck_assert_uint_eq(s.instruction_count, 15);
}
END_TEST

START_TEST(unknown_numbers_have_no_name)
{
	ck_assert_ptr_null(mpk_spirv_name(MPK_SPIRV_MODEL, 77777));
	ck_assert_ptr_null(mpk_spirv_name(MPK_SPIRV_CAPABILITY, 77777));
	ck_assert_ptr_null(mpk_spirv_name(MPK_SPIRV_ADDRESSING, 77777));
	ck_assert_ptr_null(mpk_spirv_name(MPK_SPIRV_MEMORY, 77777));
}
END_TEST

/* words are those of the file: little-endian. The word that begins the n-th instruction with this opcode. */
static size_t find_op(const uint32_t *words, size_t count, uint16_t op, size_t n)
{
	for (size_t i = 5; i < count; i += le32toh(words[i]) >> 16)
		if ((le32toh(words[i]) & 0xffff) == op && n-- == 0)
			return i;
	ck_abort_msg("no instruction %u", op);
}

START_TEST(refuses)
{
	enum { CAPABILITY = 17, MODEL = 14, ENTRY = 15, MODE = 16, FUNCTION = 54, CONSTANT = 43 };
	static const struct {
		uint16_t op; /* 0: the header */
		size_t nth, word;
		uint32_t value;
		const char *text;
	} rows[] = {
		{ 0, 0, 0, 1, "SPIR-V: no SPIR-V magic number" },
		{ CAPABILITY, 0, 0, CAPABILITY, "SPIR-V: an instruction of 0 words" },
		{ FUNCTION, 0, 0, 0xffff0036, "SPIR-V: an instruction reaches beyond the end" },
		{ CAPABILITY, 0, 0, 2 << 16, "SPIR-V: no memory model" },
		{ CONSTANT, 0, 2, 0, "SPIR-V: an id is 0 or not below the bound" },
		{ CONSTANT, 0, 2, 0xffffff, "SPIR-V: an id is 0 or not below the bound" },
		{ ENTRY, 0, 3, 0x41414141, "SPIR-V: a name has no end" },
		{ ENTRY, 0, 2, 5, "SPIR-V: entry point 'AAAA' has no function" },
		{ MODE, 0, 1, 5, "SPIR-V: an execution mode without its function" },
	};
	struct mpk_span good = robust_load(&arena, DATA "builtin.spv");
	size_t count = good.len / 4;
	uint32_t *words = mpk_arena_alloc(&arena, good.len);
	struct mpk_spirv s = { .bound = 7 };
	struct mpk_error err;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		size_t at = 0;

		memcpy(words, good.data, good.len);
		if (rows[i].op)
			at = find_op(words, count, rows[i].op, rows[i].nth);
		words[at + rows[i].word] = htole32(rows[i].value);
		if (i == 3) /* the memory model becomes something else as well */
			words[find_op(words, count, MODEL, 0)] = htole32(3 << 16);
		if (i == 6) /* "main" and its NUL fill two words */
			words[at + 4] = 0x41414141;
		if (i == 7)
			words[at + 3] = 0x41414141;
		ck_assert_int_eq(mpk_spirv_read(mpk_span_of(words, good.len), &arena, &s, &err),
				 MPK_E_CORRUPT);
		ck_assert_str_eq(err.text, rows[i].text);
		ck_assert_uint_eq(s.bound, 7);
	}
	ck_assert_int_eq(mpk_spirv_read(mpk_span_of(good.data, good.len - 1), &arena, &s, &err),
			 MPK_E_CORRUPT);
	ck_assert_str_eq(err.text, "SPIR-V: not a multiple of 4 bytes; it was cut off");
	ck_assert_int_eq(mpk_spirv_read(mpk_span_of(good.data, 16), &arena, &s, &err),
			 MPK_E_CORRUPT);
	ck_assert_str_eq(err.text, "SPIR-V: cut off inside its header");
}
END_TEST

START_TEST(refuses_twice)
{
	struct mpk_span good = robust_load(&arena, DATA "builtin.spv");
	uint32_t *words = mpk_arena_alloc(&arena, good.len);
	struct mpk_spirv s;
	struct mpk_error err;
	size_t first, second;

	memcpy(words, good.data, good.len);
	first = find_op(words, good.len / 4, 43, 0);
	second = find_op(words, good.len / 4, 43, 1);
	words[second + 2] = words[first + 2];
	ck_assert_int_eq(mpk_spirv_read(mpk_span_of(words, good.len), &arena, &s, &err),
			 MPK_E_CORRUPT);
	ck_assert_str_eq(err.text, "SPIR-V: an id is defined a second time");
	ck_assert_uint_eq(err.at.offset, second * 4);
	memcpy(words, good.data, good.len);
	first = find_op(words, good.len / 4, 71, 1); /* a decoration of 4 words */
	words[first] = htole32(3 << 16 | 14);
	words[first + 3] = htole32(1 << 16);
	ck_assert_int_eq(mpk_spirv_read(mpk_span_of(words, good.len), &arena, &s, &err),
			 MPK_E_CORRUPT);
	ck_assert_str_eq(err.text, "SPIR-V: a second memory model");
}
END_TEST

/* "in float32", "float32x4", "float32": a buffer, then scalars behind a '|' */
static const char *params_of(const char *path, size_t entry)
{
	struct mpk_span bytes = robust_load(&arena, path);
	struct mpk_spirv s = open_spirv(path);
	const struct mpk_spirv_param *params;
	struct mpk_strbuf out = { 0 };
	char type[MPK_DTYPE_TEXT];
	const char *text;
	bool known;
	size_t n;

	ck_assert(mpk_spirv_params(bytes, &s, entry, &arena, &params, &n, &known, NULL) == MPK_OK);
	for (size_t i = 0; i < n; i++)
		mpk_strbuf_printf(&out, "%s%s%s%s", i ? ", " : "", params[i].is_buffer ? "[]" : "",
				  params[i].read_only ? "in " : "",
				  params[i].dtype.bits ? mpk_dtype_print(params[i].dtype, type)
						       : "?");
	text = known ? mpk_arena_printf(&arena, "%s", mpk_strbuf_text(&out)) : "unknown";
	mpk_strbuf_fini(&out);
	return text;
}

START_TEST(parameters)
{
	ck_assert_str_eq(params_of(DATA "buffers.spv", 0),
			 "[]in float32, []float32x4, float32, int32");
	/* each entry point names what it uses; the same in the other byte order */
	for (size_t i = 0; i < 2; i++) {
		ck_assert_str_eq(params_of(both_orders[i], 0), "[]float32");
		ck_assert_str_eq(params_of(both_orders[i], 1), "");
	}
	/* before SPIR-V 1.4 none does */
	ck_assert_str_eq(params_of(DATA "builtin.spv", 0), "");
}
END_TEST

static enum mpk_code try_spirv(struct mpk_span bytes, struct mpk_error *err)
{
	struct mpk_arena a = { 0 };
	struct mpk_spirv s;
	enum mpk_code code = mpk_spirv_read(bytes, &a, &s, err);
	const struct mpk_spirv_param *params;
	bool known;
	size_t n;

	for (size_t i = 0; code == MPK_OK && i < s.entry_count; i++)
		code = mpk_spirv_params(bytes, &s, i, &a, &params, &n, &known, err);
	mpk_arena_fini(&a);
	return code;
}

START_TEST(hostile)
{
	static const char *const paths[] = {
		DATA "compute.spv", DATA "compute_be.spv", DATA "builtin.spv",
		DATA "kernel.spv",  DATA "buffers.spv",
	};

	robust_check(paths[_i], try_spirv, 100000);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("spirv");
	TCase *tc = tcase_create("spirv");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, NULL, clear);
	tcase_add_loop_test(tc, compute, 0, 2);
	tcase_add_test(tc, workgroup_size_constant);
	tcase_add_test(tc, kernel);
	tcase_add_test(tc, unknown_numbers_have_no_name);
	tcase_add_test(tc, refuses);
	tcase_add_test(tc, refuses_twice);
	tcase_add_test(tc, parameters);
	tcase_add_loop_test(tc, hostile, 0, 5);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
