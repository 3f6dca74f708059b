/* SPDX-License-Identifier: Apache-2.0 */
/* Line programs (dwarf/dwarf.h). What compilers write is compared with llvm-objdump by the command-line
 * cases; here are programs made by hand, and damaged ones. */
#include "robust.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/compiler.h"
#include "dwarf/dwarf.h"

static struct mpk_arena arena;

static void clear(void)
{
	mpk_arena_fini(&arena);
}

/* A unit of version 3: directory "d", files "a.c" in it and "/b.c"; addresses 0x1000 to 0x1030. */
static const char version_3_text[] =
	"\x46\0\0\0"         /* length */
	"\3\0"               /* version */
	"\x21\0\0\0"         /* header length */
	"\1\1\373\16\12"     /* step, is_stmt, line base -5, line range 14, opcode base 10 */
	"\0\1\1\1\1\0\0\0\1" /* operands */
	"d\0\0"              /* directories */
	"a.c\0\1\0\0"        /* files */
	"/b.c\0\0\0\0\0"
	"\0\11\2\0\20\0\0\0\0\0\0" /* set_address 0x1000 */
	"\3\11\1"                  /* line 10, copy */
	"\200"                     /* special: address 0x1008, line 11 */
	"\4\2\2\10\1"              /* file 2, 8 on, copy: 0x1010 */
	"\11\20\0\3\160\1"         /* 0x1020, line -5, copy */
	"\2\20\0\1\1";             /* 0x1030, the end */
enum { VERSION_3_BYTES = sizeof version_3_text - 1 };

static enum mpk_code rows_of(struct mpk_span line, uint64_t from, uint64_t to,
			     const struct mpk_dwarf_row **rows, size_t *count,
			     struct mpk_error *err)
{
	const struct mpk_dwarf d = { .line = line };
	uint64_t budget = 1 << 20;

	return mpk_dwarf_rows(&d, from, to, &budget, &arena, rows, count, err);
}

START_TEST(made)
{
	static const struct {
		uint64_t from, to;
		uint32_t line;
		const char *file;
	} want[] = {
		{ 0x1000, 0x1008, 10, "d/a.c" },
		{ 0x1008, 0x1010, 11, "d/a.c" },
		{ 0x1010, 0x1020, 11, "/b.c" },
	};
	struct mpk_span all = mpk_span_of(version_3_text, VERSION_3_BYTES);
	const struct mpk_dwarf_row *rows;
	struct mpk_error err = { 0 };
	size_t count;

	ck_assert_msg(rows_of(all, 0, UINT64_MAX, &rows, &count, &err) == MPK_OK, "%s", err.text);
	ck_assert_uint_eq(count, MPK_ARRAY_COUNT(want)); /* a line below 1 is none */
	for (size_t i = 0; i < count; i++) {
		ck_assert_uint_eq(rows[i].from, want[i].from);
		ck_assert_uint_eq(rows[i].to, want[i].to);
		ck_assert_uint_eq(rows[i].line, want[i].line);
		ck_assert_str_eq(rows[i].file, want[i].file);
	}
	/* what was not asked for is left out */
	ck_assert_int_eq(rows_of(all, 0x1008, 0x1010, &rows, &count, &err), MPK_OK);
	ck_assert_uint_eq(count, 1);
	ck_assert_uint_eq(rows[0].line, 11);
	ck_assert_int_eq(rows_of(all, 0x1030, 0x2000, &rows, &count, &err), MPK_OK);
	ck_assert_uint_eq(count, 0);
}
END_TEST

/* Many functions of a large file share what may be read. */
START_TEST(shared_budget)
{
	const struct mpk_dwarf d = { .line = mpk_span_of(version_3_text, VERSION_3_BYTES) };
	const struct mpk_dwarf_row *rows;
	uint64_t left = VERSION_3_BYTES + 100;
	size_t count;

	ck_assert_int_eq(mpk_dwarf_rows(&d, 0, UINT64_MAX, &left, &arena, &rows, &count, NULL),
			 MPK_OK);
	ck_assert_uint_eq(count, 3);
	ck_assert_int_eq(mpk_dwarf_rows(&d, 0, UINT64_MAX, &left, &arena, &rows, &count, NULL),
			 MPK_OK);
	ck_assert_uint_eq(count, 0);
}
END_TEST

START_TEST(refused)
{
	static const struct {
		size_t at;
		uint8_t value;
		const char *text;
	} rows[] = {
		{ 0, 0x47, "unit" },
		{ 6, 0xff, "header ends behind" },
		{ 6, 0x02, "longer than it says" },
		{ 13, 0, "of 0" },
		{ 14, 0, "of 0" },
	};
	const struct mpk_dwarf_row *out;
	size_t count;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		uint8_t bytes[VERSION_3_BYTES];
		struct mpk_error err = { 0 };

		memcpy(bytes, version_3_text, sizeof bytes);
		bytes[rows[i].at] = rows[i].value;
		ck_assert_int_eq(rows_of(mpk_span_of(bytes, sizeof bytes), 0, UINT64_MAX, &out,
					 &count, &err),
				 MPK_E_CORRUPT);
		ck_assert_msg(strstr(err.text, rows[i].text) != NULL, "%zu: %s", i, err.text);
		ck_assert_str_eq(err.at.space, "debug_line");
	}
	/* of a version to come nothing is known */
	uint8_t next[VERSION_3_BYTES];

	memcpy(next, version_3_text, sizeof next);
	next[4] = 6;
	ck_assert_int_eq(rows_of(mpk_span_of(next, sizeof next), 0, UINT64_MAX, &out, &count, NULL),
			 MPK_OK);
	ck_assert_uint_eq(count, 0);
}
END_TEST

static enum mpk_code read_any(struct mpk_span bytes, struct mpk_error *err)
{
	struct mpk_arena own = { 0 };
	const struct mpk_dwarf d = { bytes, bytes, bytes };
	const struct mpk_dwarf_row *rows;
	uint64_t budget = 1 << 22;
	size_t count;
	enum mpk_code code = mpk_dwarf_rows(&d, 0, UINT64_MAX, &budget, &own, &rows, &count, err);

	for (size_t i = 0; code == MPK_OK && i < count; i++)
		ck_assert(rows[i].from < rows[i].to && *rows[i].file);
	mpk_arena_fini(&own);
	return code;
}

/* The program above, and what the compiler here writes of version 4 and 5. */
START_TEST(hostile)
{
	char path[] = "/tmp/check_dwarf.XXXXXX";
	int fd = mkstemp(path);
	char command[512];

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(close(fd), 0);
	if (_i) {
		(void)snprintf(
			command, sizeof command,
			"printf 'int f(int x) { return x +\\n 1; }\\n' | cc -gdwarf-%d -c -x c -o %s.o - && "
			"objcopy -O binary --only-section=.debug_line --set-section-flags "
			".debug_line=alloc %s.o %s; rm -f %s.o",
			_i + 3, path, path, path, path);
		ck_assert_int_eq(system(command), 0);
	} else {
		FILE *f = fopen(path, "w");

		ck_assert_ptr_nonnull(f);
		ck_assert_uint_eq(fwrite(version_3_text, 1, VERSION_3_BYTES, f), VERSION_3_BYTES);
		ck_assert_int_eq(fclose(f), 0);
	}
	robust_check(path, read_any, 20000);
	ck_assert_int_eq(unlink(path), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("dwarf");
	TCase *tc = tcase_create("dwarf");

	tcase_add_checked_fixture(tc, NULL, clear);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, made);
	tcase_add_test(tc, shared_budget);
	tcase_add_test(tc, refused);
	tcase_add_loop_test(tc, hostile, 0, 3);
	suite_add_tcase(s, tc);

	SRunner *sr = srunner_create(s);

	srunner_run_all(sr, CK_NORMAL);
	int failed = srunner_ntests_failed(sr);

	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
