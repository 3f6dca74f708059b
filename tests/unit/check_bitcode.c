/* SPDX-License-Identifier: Apache-2.0 */
/* formats/bitcode: modules of llvm-as and clang 19, and streams made here of what older releases wrote */
#include "robust.h"

#include <stdlib.h>
#include <string.h>

#include "assert_error.h"
#include "base/compiler.h"
#include "bitcode/bitcode.h"

#define DATA "tests/data/device/"

static struct mpk_arena arena;

static void clear(void)
{
	mpk_arena_fini(&arena);
}

static struct mpk_bitcode open_bitcode(const char *path)
{
	struct mpk_error err = { 0 };
	struct mpk_bitcode b;

	ck_assert_msg(mpk_bitcode_verify(robust_load(&arena, path), &arena, &b, &err) == MPK_OK,
		      "%s: %s", path, err.text);
	return b;
}

static void assert_span(struct mpk_span s, const char *text)
{
	ck_assert_msg(mpk_span_is(s, text), "'" MPK_SPAN_FMT "' is not '%s'", MPK_SPAN_ARG(s),
		      text);
}

/* As llvm-nm and llvm-dis print them. */
START_TEST(nvptx)
{
	static const struct {
		const char *name;
		bool is_kernel, is_declared, is_local;
	} wanted[] = {
		{ "curve", false, true, false },  { "half", false, false, true },
		{ "twice", false, false, false }, { "scale", true, false, false },
		{ "shift", true, false, false },
	};
	struct mpk_bitcode b = open_bitcode(DATA "scale.nvptx.bc");

	assert_span(b.producer, "LLVM19.1.7");
	assert_span(b.compiler, "clang version 19.1.7");
	assert_span(b.triple, "nvptx64-nvidia-cuda");
	assert_span(b.layout, "e-i64:64-i128:128-v16:16-v32:32-n16:32:64");
	assert_span(b.source, "scale.cu");
	assert_span(b.cpu, "sm_90");
	ck_assert_uint_eq(b.function_count, MPK_ARRAY_COUNT(wanted));
	ck_assert_uint_eq(b.defined_count, 4);
	ck_assert_uint_eq(b.kernel_count, 2);
	ck_assert_uint_eq(b.global_count, 1);
	ck_assert_uint_eq(b.module_count, 1);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(wanted); i++) {
		assert_span(b.functions[i].name, wanted[i].name);
		ck_assert_int_eq(b.functions[i].is_kernel, wanted[i].is_kernel);
		ck_assert_int_eq(b.functions[i].is_declared, wanted[i].is_declared);
		ck_assert_int_eq(b.functions[i].is_local, wanted[i].is_local);
	}
	assert_span(b.functions[0].cpu, "");
	assert_span(b.functions[1].cpu, "sm_90");
}
END_TEST

START_TEST(amdgpu)
{
	struct mpk_bitcode b = open_bitcode(DATA "scale.gfx90a.bc");

	assert_span(b.triple, "amdgcn-amd-amdhsa");
	assert_span(b.cpu, "gfx90a");
	ck_assert_uint_eq(b.kernel_count, 2);
	ck_assert_uint_eq(b.defined_count, 3);
}
END_TEST

static const struct {
	const char *path, *triple;
	bool is_wrapped;
} hosts[] = {
	{ DATA "answer.bc", "x86_64-unknown-linux-gnu", false },
	{ DATA "answer.wrapped.bc", "x86_64-apple-macosx13.0.0", true },
};

START_TEST(host)
{
	struct mpk_span bytes = robust_load(&arena, hosts[_i].path);
	struct mpk_bitcode b = open_bitcode(hosts[_i].path);

	assert_span(b.triple, hosts[_i].triple);
	ck_assert_int_eq(b.is_wrapped, hosts[_i].is_wrapped);
	ck_assert_uint_eq(b.kernel_count, 0);
	ck_assert_uint_eq(b.function_count, 2);
	assert_span(b.functions[0].name, "answer");
	assert_span(b.functions[1].name, "main");
	ck_assert_uint_le(b.used, bytes.len);
	ck_assert_uint_gt(b.used, bytes.len - 16);
}
END_TEST

/* The head has what stands in front of the first function, and no list. */
START_TEST(head)
{
	struct mpk_error err = { 0 };
	struct mpk_bitcode b;

	ck_assert_ok(
		mpk_bitcode_head(robust_load(&arena, DATA "scale.gfx90a.bc"), &arena, &b, &err),
		err);
	assert_span(b.triple, "amdgcn-amd-amdhsa");
	assert_span(b.cpu, "gfx90a");
	ck_assert_uint_eq(b.function_count, 0);
}
END_TEST

/* Two modules one after the other, each with its own table of names. */
START_TEST(concatenated)
{
	struct mpk_span one = robust_load(&arena, DATA "scale.nvptx.bc");
	struct mpk_span two = robust_load(&arena, DATA "answer.bc");
	size_t len = one.len + two.len - 4;
	uint8_t *both = mpk_arena_alloc(&arena, len);
	struct mpk_error err = { 0 };
	struct mpk_bitcode b;

	memcpy(both, one.data, one.len);
	memcpy(both + one.len, two.data + 4, two.len - 4);
	ck_assert_ok(mpk_bitcode_read(mpk_span_of(both, len), &arena, &b, &err), err);
	ck_assert_uint_eq(b.module_count, 2);
	ck_assert_uint_eq(b.function_count, 7);
	assert_span(b.functions[5].name, "answer");
	ck_assert(b.has_cpus);
	assert_span(b.cpu, "");
}
END_TEST

/* --- streams that are made here ------------------------------------------------------------- */

struct bits {
	uint8_t bytes[4096];
	size_t at; /* bits */
};

static void put(struct bits *b, uint64_t value, unsigned width)
{
	for (unsigned i = 0; i < width; i++, b->at++)
		if (value >> i & 1)
			b->bytes[b->at / 8] |= (uint8_t)(1u << b->at % 8);
}

static void put_vbr(struct bits *b, uint64_t value, unsigned width)
{
	uint64_t high = UINT64_C(1) << (width - 1);

	for (; value >= high; value >>= width - 1)
		put(b, (value & (high - 1)) | high, width);
	put(b, value, width);
}

static void put_align(struct bits *b)
{
	b->at = (b->at + 31) / 32 * 32;
}

static void begin(struct bits *b)
{
	memset(b, 0, sizeof *b);
	memcpy(b->bytes, "BC\xc0\xde", 4);
	b->at = 32;
}

/* Returns where its length is. */
static size_t open_block(struct bits *b, unsigned outer, unsigned id)
{
	size_t at;

	put(b, 1, outer);
	put_vbr(b, id, 8);
	put_vbr(b, 3, 4);
	put_align(b);
	at = b->at;
	put(b, 0, 32);
	return at;
}

static void close_block(struct bits *b, size_t at)
{
	size_t end;

	put(b, 0, 3);
	put_align(b);
	end = b->at;
	b->at = at;
	put(b, (end - at - 32) / 32, 32);
	b->at = end;
}

static void put_record(struct bits *b, unsigned code, const uint64_t *ops, size_t count)
{
	put(b, 3, 3);
	put_vbr(b, code, 6);
	put_vbr(b, count, 6);
	for (size_t i = 0; i < count; i++)
		put_vbr(b, ops[i], 6);
}

static void put_named(struct bits *b, unsigned code, uint64_t first, const char *name)
{
	uint64_t ops[64] = { first };
	size_t len = strlen(name);

	for (size_t i = 0; i < len; i++)
		ops[i + 1] = (uint8_t)name[i];
	put_record(b, code, ops, len + 1);
}

static struct mpk_span bits_of(const struct bits *b)
{
	return mpk_span_of(b->bytes, b->at / 8);
}

/* As LLVM 3 wrote it: no table of strings, names in a table of symbols, each string of metadata in a record. */
START_TEST(before_tables_of_strings)
{
	static const uint64_t version[] = { 1 }, variable[] = { 0, 0, 0 };
	static const uint64_t function[] = { 0, 0, 0, 0, 0 }, declared[] = { 0, 0, 1, 0, 0 };
	static const uint64_t value[] = { 0, 1 }, number[] = { 0, 9 }, node[] = { 2, 1, 3 };
	static const uint64_t named[] = { 3 };
	static const uint64_t kernel[] = { 'k', 'e', 'r', 'n', 'e', 'l' };
	static const char annotations[] = "nvvm.annotations";
	uint64_t name[sizeof annotations - 1];
	struct mpk_error err = { 0 };
	struct mpk_bitcode b;
	struct bits s;
	size_t module, inner;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(name); i++)
		name[i] = (uint8_t)annotations[i];
	begin(&s);
	module = open_block(&s, 2, 8);
	put_record(&s, 1, version, 1);
	put_record(&s, 7, variable, 3);
	put_record(&s, 8, function, 5);
	put_record(&s, 8, declared, 5);
	inner = open_block(&s, 3, 15);
	put_record(&s, 1, kernel, 6); /* 0 */
	put_record(&s, 2, value, 2);  /* 1: value 1, the first function */
	put_record(&s, 2, number, 2); /* 2 */
	put_record(&s, 3, node, 3);   /* 3: function, "kernel", number */
	put_record(&s, 4, name, MPK_ARRAY_COUNT(name));
	put_record(&s, 10, named, 1);
	close_block(&s, inner);
	inner = open_block(&s, 3, 14);
	put_named(&s, 1, 1, "run");
	put_named(&s, 1, 2, "sin");
	put_named(&s, 1, 77, "nobody");
	close_block(&s, inner);
	close_block(&s, module);

	ck_assert_ok(mpk_bitcode_verify(bits_of(&s), &arena, &b, &err), err);
	ck_assert_uint_eq(b.function_count, 2);
	assert_span(b.functions[0].name, "run");
	ck_assert(b.functions[0].is_kernel);
	assert_span(b.functions[1].name, "sin");
	ck_assert(!b.functions[1].is_kernel && b.functions[1].is_declared);
	assert_span(b.producer, "");
	assert_span(b.triple, "");
}
END_TEST

/* Zeros behind the last block are padding. */
START_TEST(padded)
{
	struct mpk_span good = robust_load(&arena, DATA "answer.bc");
	uint8_t *more = mpk_arena_alloc(&arena, good.len + 64);
	struct mpk_error err = { 0 };
	struct mpk_bitcode b;

	memcpy(more, good.data, good.len);
	ck_assert_ok(mpk_bitcode_read(mpk_span_of(more, good.len + 64), &arena, &b, &err), err);
	ck_assert_uint_eq(b.used, good.len);
}
END_TEST

static void assert_corrupt(struct mpk_span bytes, const char *text)
{
	struct mpk_error err = { 0 };
	struct mpk_bitcode b;

	ck_assert_int_eq(mpk_bitcode_verify(bytes, &arena, &b, &err), MPK_E_CORRUPT);
	ck_assert(err.at.has_offset);
	ck_assert_str_eq(err.at.space, "payload");
	ck_assert_msg(strstr(err.text, text), "%s", err.text);
}

/* A definition of an abbreviation in a module: its operands by the caller. */
static size_t begin_abbreviation(struct bits *s, unsigned operands)
{
	size_t module;

	begin(s);
	module = open_block(s, 2, 8);
	put(s, 2, 3);
	put_vbr(s, operands, 5);
	return module;
}

static void put_coding(struct bits *s, unsigned coding)
{
	put(s, 0, 1);
	put(s, coding, 3);
}

START_TEST(refuses)
{
	enum { FIXED = 1, ARRAY = 3, BLOB = 5 };
	static const uint64_t named[] = { 1000, 5, 0, 0, 0, 0, 0 }, version[] = { 2 };
	struct mpk_span good = robust_load(&arena, DATA "answer.wrapped.bc");
	uint8_t *bytes;
	struct bits s;
	size_t module, strings;

	assert_corrupt(mpk_span_str("BC\xc0\xde"), "no block");
	assert_corrupt(mpk_span_str("text"), "no LLVM bitcode");

	bytes = (uint8_t *)mpk_arena_copy(&arena, good.data, good.len);
	bytes[12] = bytes[13] = 0xff; /* the wrapper's length */
	assert_corrupt(mpk_span_of(bytes, good.len), "the wrapper");

	begin(&s); /* longer than the file */
	module = open_block(&s, 2, 8);
	close_block(&s, module);
	s.bytes[module / 8] = 9;
	assert_corrupt(bits_of(&s), "a block reaches beyond");

	begin(&s); /* shorter than its records */
	module = open_block(&s, 2, 8);
	put_record(&s, 1, version, 1);
	put_record(&s, 1, version, 1);
	close_block(&s, module);
	s.bytes[module / 8]++;
	s.at += 32;
	assert_corrupt(bits_of(&s), "ends before its length");

	begin(&s); /* an abbreviation that nobody defined */
	module = open_block(&s, 2, 8);
	put(&s, 7, 3);
	close_block(&s, module);
	assert_corrupt(bits_of(&s), "not defined");

	begin(&s); /* no module */
	module = open_block(&s, 2, 13);
	close_block(&s, module);
	assert_corrupt(bits_of(&s), "no module");

	module =
		begin_abbreviation(&s, 3); /* elements without bits cost nothing, and memory each */
	put(&s, 1, 1);
	put_vbr(&s, 8, 8);
	put_coding(&s, ARRAY);
	put_coding(&s, FIXED);
	put_vbr(&s, 0, 5);
	close_block(&s, module);
	assert_corrupt(bits_of(&s), "without bits");

	module = begin_abbreviation(&s, 2); /* a code that is a blob */
	put_coding(&s, BLOB);
	put(&s, 1, 1);
	put_vbr(&s, 8, 8);
	close_block(&s, module);
	assert_corrupt(bits_of(&s), "has no code");

	begin(&s); /* a name that its table does not have */
	module = open_block(&s, 2, 8);
	put_record(&s, 1, version, 1);
	put_record(&s, 8, named, 7);
	close_block(&s, module);
	strings = open_block(&s, 2, 23);
	put_record(&s, 1, NULL, 0);
	close_block(&s, strings);
	assert_corrupt(bits_of(&s), "beyond the table of names");

	begin(&s); /* nesting */
	put(&s, 1, 2);
	for (size_t i = 0; i < 60; i++) {
		put_vbr(&s, 8, 8);
		put_vbr(&s, 3, 4);
		put_align(&s);
		put(&s, (sizeof s.bytes * 8 - s.at - 32) / 32, 32);
		put(&s, 1, 3);
	}
	assert_corrupt(mpk_span_of(s.bytes, sizeof s.bytes), "nested deeper");
}
END_TEST

/* --- damage ---------------------------------------------------------------------------------- */

static enum mpk_code read_once(struct mpk_span bytes, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena own = { 0 };
	struct mpk_bitcode b;

	MPK_TRY(mpk_bitcode_head(bytes, &own, &b, err));
	MPK_TRY(mpk_bitcode_read(bytes, &own, &b, err));
	return mpk_bitcode_verify(bytes, &own, &b, err);
}

static const char *const damaged[] = { DATA "scale.nvptx.bc", DATA "scale.gfx90a.bc",
				       DATA "answer.wrapped.bc" };

START_TEST(damage)
{
	robust_check(damaged[_i], read_once, 20000);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bitcode");
	TCase *tc = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, NULL, clear);
	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, nvptx);
	tcase_add_test(tc, amdgpu);
	tcase_add_loop_test(tc, host, 0, MPK_ARRAY_COUNT(hosts));
	tcase_add_test(tc, head);
	tcase_add_test(tc, concatenated);
	tcase_add_test(tc, before_tables_of_strings);
	tcase_add_test(tc, padded);
	tcase_add_test(tc, refuses);
	tcase_add_loop_test(tc, damage, 0, MPK_ARRAY_COUNT(damaged));
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
