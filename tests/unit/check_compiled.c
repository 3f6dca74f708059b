/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled functions of the Relax VM, read back: what TVM says of the same model as byte code, and code that makes no
 * sense */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "elf/image.h"
#include "elf/wants.h"
#include "harness.h"
#include "hostcode/compiled.h"

/* Of two_calls.so: its .text, the function with the calls, and where TVMBackendAnyListMoveFromPackedReturn is called by. */
enum { CODE = 0x570, BODY = 0x1790, CODE_END = 0x2170, MOVE_RESULT = 0x540 };

static const struct mpk_relax_const constants[7] = {
	[0] = { .kind = MPK_RELAX_DTYPE, .u.dtype = { MPK_DTYPE_FLOAT, 32, 1 } },
	[1] = { .kind = MPK_RELAX_STRING },
	[2] = { .kind = MPK_RELAX_SHAPE },
	[3] = { .kind = MPK_RELAX_DTYPE, .u.dtype = { MPK_DTYPE_UINT, 8, 1 } },
	[4] = { .kind = MPK_RELAX_STRING },
	[5] = { .kind = MPK_RELAX_SHAPE },
	[6] = { .kind = MPK_RELAX_INT },
};

/* The functions "main" of a library, read back, and listed. */
static void list_compiled_functions(struct mpk_span library, size_t functions,
				    struct mpk_strbuf *out)
{
	struct mpk_relax_func funcs[16];
	struct mpk_relax read, x = { .funcs = funcs, .consts = constants, .const_count = 7 };
	struct mpk_arena arena = { 0 };
	struct mpk_wants wants = { 0 };
	struct mpk_elf elf = { 0 };
	struct mpk_image image;
	struct mpk_error err;

	for (; x.func_count < functions; x.func_count++)
		funcs[x.func_count] = (struct mpk_relax_func){ .kind = MPK_RELAX_TIR,
							       .name = mpk_span_str("main"),
							       .num_args = 1 };
	ck_assert_int_eq(mpk_image_open(library, NULL, &arena, &image, &err), MPK_OK);
	ck_assert_int_eq(mpk_elf_open(library, 0, &elf, &err), MPK_OK);
	ck_assert_int_eq(mpk_wants_read(&elf, &wants, &err), MPK_OK);
	ck_assert_int_eq(mpk_compiled_read(&x, &image, &wants, &arena, &read, &err), MPK_OK);
	mpk_relax_dump(&read, 0, out);
	mpk_wants_fini(&wants);
	mpk_elf_close(&elf);
	mpk_arena_fini(&arena);
}

/* Lines of calls, with every register called "%": the compiled function has one more, for its result, and the machine
 * that byte code names is known to code by other means. */
static void put_lines_of_calls(struct mpk_span text, struct mpk_strbuf *out)
{
	const char *at = (const char *)text.data, *end = at + text.len;

	for (const char *next; at < end; at = next) {
		next = memchr(at, '\n', (size_t)(end - at));
		next = next ? next + 1 : end;
		if (memcmp(at, "  call", next - at < 6 ? (size_t)(next - at) : 6) != 0)
			continue;
		for (; at < next; at++) {
			mpk_strbuf_put(out, at, 1);
			if (*at == '%')
				at += strspn(at + 1, "vmoid0123456789");
		}
	}
}

START_TEST(calls_are_those_of_the_byte_code)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf out = { 0 }, ours = { 0 }, theirs = { 0 };
	struct mpk_span library = fixture_load("compiled/two_calls.so");
	struct mpk_span text = fixture_load("compiled/two_calls.as_text");

	list_compiled_functions(library, 1, &out);
	put_lines_of_calls(mpk_span_of(out.data, out.len), &ours);
	put_lines_of_calls(text, &theirs);
	mpk_strbuf_puts(&theirs, "  call  vm.builtin.copy  in: %           dst: %\n");
	ck_assert_str_eq(mpk_strbuf_text(&ours), mpk_strbuf_text(&theirs));
	fixture_free(text);
	fixture_free(library);
}
END_TEST

/* Results that no call has made used to be offsets of a null pointer. */
START_TEST(code_without_calls_has_no_arguments)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf out = { 0 };
	struct mpk_span library = fixture_load("compiled/two_calls.so");
	struct guarded g = guarded_create(library.len);
	struct mpk_span copy = guarded_put(&g, library);
	uint8_t *bytes = g.map + (g.room - library.len);

	for (size_t i = BODY; i + 5 <= CODE_END; i++) {
		int32_t by;

		memcpy(&by, &bytes[i + 1], sizeof by);
		if (bytes[i] == 0x41 && bytes[i + 1] == 0xff && (bytes[i + 2] & 0xf8) == 0xd0)
			memset(&bytes[i], 0x90, 3); /* call *%r13 */
		else if (bytes[i] == 0xe8 && (int64_t)i + 5 + by != MOVE_RESULT)
			memset(&bytes[i], 0x90, 5);
	}
	list_compiled_functions(copy, 1, &out);
	ck_assert_ptr_nonnull(strstr(mpk_strbuf_text(&out),
				     "  call  vm.builtin.null_value in:              dst: %2\n"));
	guarded_free(&g);
	fixture_free(library);
}
END_TEST

/* Changed anywhere in its code, and with more functions than it has: no byte is read that is not there. */
START_TEST(any_code_is_read)
{
	struct mpk_span library = fixture_load("compiled/two_calls.so");
	struct guarded g = guarded_create(library.len);
	uint8_t *bytes = g.map + (g.room - library.len);
	uint64_t random = 31;

	for (int i = 0; i < 500; i++) {
		MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf out = { 0 };
		struct mpk_span copy = guarded_put(&g, library);

		for (uint64_t k = random_below(&random, 8) + 1; k; k--)
			bytes[CODE + random_below(&random, CODE_END - CODE)] =
				(uint8_t)random_next(&random);
		list_compiled_functions(copy, 1 + random_below(&random, 16), &out);
	}
	guarded_free(&g);
	fixture_free(library);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("compiled");
	TCase *t = tcase_create("compiled");
	SRunner *runner;
	int failed;

	tcase_add_test(t, calls_are_those_of_the_byte_code);
	tcase_add_test(t, code_without_calls_has_no_arguments);
	tcase_add_test(t, any_code_is_read);
	suite_add_tcase(suite, t);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
