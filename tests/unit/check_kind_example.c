/* SPDX-License-Identifier: Apache-2.0 */
/* A new kind of module, as tests/examples/kind.md describes it: one file with its codec, one row in
 * formats/kinds.def. The text between the lines is that file; the row is written as in the table.
 *
 * The kind is "greeting": u8 length, that many bytes of text, u16 how often. A layout that is only
 * a list of str, vec<str> and i32 needs no codec (kinds.def, RECORD). */
#include "harness.h"
#include "payload.h"

/* --- formats/greeting/greeting.c ------------------------------------------------------------- */

/* What listings, JSON and --extract show of it; text becomes a file. */
static const struct mpk_record_schema schema = {
	.fields = { { "text", MPK_FIELD_STR, "greeting.txt" }, { "times", MPK_FIELD_I32, NULL } },
	.count = 2,
};

static enum mpk_code read_payload(struct mpk_cursor *c, struct mpk_arena *arena,
				  struct mpk_payload *out, struct mpk_error *err)
{
	struct mpk_record record = { .schema = &schema };
	uint8_t len;
	uint16_t times;

	(void)arena; /* views of the cursor's bytes need no memory */
	MPK_TRY(mpk_read_u8(c, "length of the greeting", &len, err));
	MPK_TRY(mpk_read_bytes(c, "greeting", len, &record.values[0].str, err));
	MPK_TRY(mpk_read_u16(c, "how often", &times, err));
	record.values[1].number = times;
	out->u.record = record;
	return MPK_OK;
}

extern const struct mpk_payload_reader
	mpk_reader_greeting; /* in the project the row declares both */
extern const struct mpk_codec mpk_codec_greeting;
const struct mpk_payload_reader mpk_reader_greeting = { MPK_PAYLOAD_RECORD, read_payload };
const struct mpk_codec mpk_codec_greeting = { &mpk_reader_greeting, mpk_record_files };

/* --- formats/kinds.def: X("greeting", "a greeting", EXTERN, 26, NOW, greeting, NULL) ----------- */

static const struct mpk_kind kind = { "greeting", "a greeting",    MPK_ROLE_EXTERN,
				      26,         MPK_RELEASE_NOW, &mpk_codec_greeting,
				      NULL };

/* ---------------------------------------------------------------------------------------------- */

static const char bytes[] = "\5hello\3\0";
enum { BYTES = sizeof bytes - 1 };

static enum mpk_code decode(struct mpk_span span, struct mpk_arena *arena, struct mpk_payload *p,
			    struct mpk_error *err)
{
	return mpk_payload_decode(&kind, MPK_GEN_CURRENT, (struct mpk_source){ span, 0x40 }, arena,
				  p, err);
}

START_TEST(it_reads_and_shows)
{
	struct mpk_arena arena = { 0 };
	struct mpk_error err = { 0 };
	struct mpk_payload p;
	struct mpk_extracted_files files;

	ck_assert_int_eq(decode(mpk_span_of(bytes, BYTES), &arena, &p, &err), MPK_OK);
	ck_assert_uint_eq(p.trailing, 0);
	ck_assert_int_eq(p.u.record.values[1].number, 3);
	ck_assert(mpk_span_is(p.u.record.values[0].str, "hello"));
	ck_assert_int_eq(mpk_payload_extract(&p, &arena, &files, &err), MPK_OK);
	ck_assert_uint_eq(files.count, 1);
	ck_assert_str_eq(files.items[0].name, "greeting.txt");
	ck_assert_uint_eq(files.items[0].off, 0x41);
	ck_assert(mpk_span_is(files.items[0].data, "hello"));
	mpk_arena_fini(&arena);
}
END_TEST

/* The duties of every codec: each prefix is refused with an offset, more bytes are counted. */
START_TEST(it_is_bounded)
{
	struct guarded page = guarded_create(BYTES);

	for (size_t n = 0; n < BYTES; n++) {
		struct mpk_arena arena = { 0 };
		struct mpk_error err = { 0 };
		struct mpk_payload p;

		ck_assert_int_eq(
			decode(guarded_put(&page, mpk_span_of(bytes, n)), &arena, &p, &err),
			MPK_E_CORRUPT);
		ck_assert_uint_ge(err.at.offset, 0x40);
		ck_assert_uint_le(err.at.offset, 0x40 + n);
		mpk_arena_fini(&arena);
	}
	guarded_free(&page);
}
END_TEST

START_TEST(trailing_bytes_are_counted)
{
	static const char more[] = "\5hello\3\0and more";
	struct mpk_arena arena = { 0 };
	struct mpk_error err = { 0 };
	struct mpk_payload p;

	ck_assert_int_eq(decode(mpk_span_of(more, sizeof more - 1), &arena, &p, &err), MPK_OK);
	ck_assert_uint_eq(p.trailing, strlen("and more"));
	mpk_arena_fini(&arena);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("kind_example");
	TCase *tc = tcase_create("greeting");

	tcase_add_test(tc, it_reads_and_shows);
	tcase_add_test(tc, it_is_bounded);
	tcase_add_test(tc, trailing_bytes_are_counted);
	suite_add_tcase(s, tc);

	SRunner *runner = srunner_create(s);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
