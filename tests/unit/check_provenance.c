/* SPDX-License-Identifier: Apache-2.0 */
/* Provenance (lib/know/trust/origin.h): written and read again, damaged by strangers, and without anything
 * that tells where or by whom something was built. */
#include <check.h>
#include <stdlib.h>

#include "base/arena.h"
#include "trust/origin.h"

static struct mpk_arena arena;
static struct mpk_error err;

static void teardown(void)
{
	mpk_arena_fini(&arena);
}

START_TEST(provenance_and_back)
{
	const struct mpk_provenance_tool tools[] = { { "mpack", "1" }, { "cc", "\"\n\\\x1b" } };
	const char *const options[] = { "--emit=so" };
	const struct mpk_provenance_input inputs[] = {
		{ "b", 1, { 2 } }, { "a", UINT64_MAX, { 3 } }, { "a", 5, { 1 } }, { "b", 1, { 2 } }
	};
	const struct mpk_provenance p = { tools, 2, options, 1, inputs, 4 };
	struct mpk_provenance back;
	const char *made;

	ck_assert_int_eq(mpk_provenance_write(&p, &arena, &made, &err), MPK_OK);
	ck_assert_msg(mpk_provenance_read(mpk_span_str(made), &arena, &back, &err) == MPK_OK, "%s",
		      err.text);
	ck_assert_uint_eq(back.tool_count, 2);
	ck_assert_str_eq(back.tools[1].version, tools[1].version);
	ck_assert_uint_eq(back.input_count, 3);
	ck_assert_str_eq(back.inputs[0].name, "a");
	ck_assert_uint_eq(back.inputs[0].sha256[0], 1);
	ck_assert_uint_eq(back.inputs[1].bytes, UINT64_MAX);
	ck_assert_str_eq(back.inputs[2].name, "b");
	ck_assert_str_eq(back.options[0], "--emit=so");
}
END_TEST

static const char *const malformed[] = {
	"",
	"{",
	"[]",
	"{}",
	"{\"type\":\"mpack-provenance\"}",
	"{\"type\":\"mpack-provenance\",\"version\":2,\"tools\":[],\"options\":[],\"inputs\":[]}",
	"{\"type\":\"mpack\",\"version\":1,\"tools\":[],\"options\":[],\"inputs\":[]}",
	"{\"type\":\"mpack-provenance\",\"version\":1,\"tools\":{},\"options\":[],\"inputs\":[]}",
	"{\"type\":\"mpack-provenance\",\"version\":1,\"tools\":[1],\"options\":[],\"inputs\":[]}",
	"{\"type\":\"mpack-provenance\",\"version\":1,\"tools\":[],\"options\":[1],\"inputs\":[]}",
	"{\"type\":\"mpack-provenance\",\"version\":1,\"tools\":[],\"options\":[],\"inputs\":[{}]}",
	"{\"type\":\"mpack-provenance\",\"version\":1,\"tools\":[],\"options\":[],\"options\":[],"
	"\"inputs\":[]}",
	"{\"type\":\"mpack-provenance\",\"version\":1,\"tools\":[],\"options\":[],"
	"\"inputs\":[{\"name\":\"a\",\"bytes\":-1,\"sha256\":\"0\"}]}",
	"{\"type\":\"mpack-provenance\",\"version\":1,\"tools\":[],\"options\":[],"
	"\"inputs\":[{\"name\":\"a\",\"bytes\":1,\"sha256\":\"0\"}]}",
};

START_TEST(malformed_provenance)
{
	struct mpk_provenance p;

	ck_assert_msg(mpk_provenance_read(mpk_span_str(malformed[_i]), &arena, &p, &err) ==
			      MPK_E_SYNTAX,
		      "%s", malformed[_i]);
}
END_TEST

START_TEST(without_paths)
{
	static const char *const rows[][2] = {
		{ "-O3", "-O3" },
		{ "-I/home/alice/x", "-I<path>" },
		{ "-Isub/x", "-I<path>" },
		{ "-isystem/usr/x", "-isystem<path>" },
		{ "--sysroot=/opt/alice", "--sysroot=<path>" },
		{ "-Wl,-rpath,/home/alice:$ORIGIN/../lib", "-Wl,-rpath,<path>" },
		{ "-DX=\"/home/alice\"", "-DX=<path>" },
		{ "/home/alice/libx.a", "<path>" },
		{ "-L/a,-L/b", "-L<path>" },
		{ "-I/home/alice's x,y=z:u", "-I<path>" },
		{ "-fdebug-prefix-map=/home/alice=.", "-fdebug-prefix-map=<path>" },
		{ "-Wl,--script=/x/y,-z,now", "-Wl,--script=<path>,-z,now" },
		{ "-march=native", "-march=native" },
		{ "", "" },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++)
		ck_assert_str_eq(mpk_provenance_option(rows[i][0], &arena), rows[i][1]);
	ck_assert_str_eq(
		mpk_provenance_version(mpk_span_str("cc  12 (/home/alice/x) y\nmore\n"), &arena),
		"cc 12 y");
	ck_assert_str_eq(mpk_provenance_version(mpk_span_str("a\x1b[1m\n"), &arena), "a\\x1b[1m");
	ck_assert_str_eq(mpk_provenance_version(mpk_span_str(""), &arena), "unknown");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("provenance");
	TCase *t = tcase_create("all");

	tcase_add_checked_fixture(t, NULL, teardown);
	tcase_add_test(t, provenance_and_back);
	tcase_add_loop_test(t, malformed_provenance, 0, MPK_ARRAY_COUNT(malformed));
	tcase_add_test(t, without_paths);
	suite_add_tcase(suite, t);

	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
