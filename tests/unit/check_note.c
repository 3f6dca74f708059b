/* SPDX-License-Identifier: Apache-2.0 */
/* The note that tells what was packed (elf/note.h), and writing it anew (emit/packed.c). The
 * notes are made by the assembler. */
#include <elf.h>

#include "elf/image.h"
#include "emit/emit.h"
#include "io/output.h"
#include "workdir.h"

#define SYMBOL "__tvm_ffi__library_bin"
#define DIGITS "00112233445566778899aabbccddeeff"
#define JSON(name, blob, digits)                                                                   \
	"{\\\"type\\\":\\\"mpack\\\",\\\"name\\\":\\\"" name "\\\",\\\"blob\\\":\\\"" blob         \
	"\\\",\\\"xxh128\\\":\\\"" digits "\\\"}"

/* A note as the assembler takes it: owner with its NUL, type, text with its NUL. */
#define NOTE(owner, type, text)                                                                    \
	".long 2f-1f, 4f-3f, " type "\n1: .asciz \"" owner "\"\n2: .balign 4\n3: .asciz \"" text   \
	"\"\n4: .balign 4\n"
#define OURS(text) NOTE("FDO", "0xcafe1a7e", text)

/* A library with the blob symbol and these notes; in arena, so that it may be changed. */
static struct mpk_span library(const char *notes)
{
	char text[4096];
	int n = snprintf(text, sizeof text,
			 ".section .note.package,\"a\",@note\n.balign 4\n%s\n"
			 ".section .rodata\n.globl " SYMBOL "\n.type " SYMBOL ",@object\n" SYMBOL
			 ": .quad 8, 0\n.size " SYMBOL ", .-" SYMBOL "\n"
			 ".section .note.GNU-stack,\"\",@progbits\n",
			 notes);

	ck_assert_int_lt(n, (int)sizeof text);
	write_file("a.s", text);
	run("gcc -shared -nostdlib -Wl,--build-id=0x00112233445566770123456789abcdef a.s -o a.so");
	return read_file("a.so");
}

static struct mpk_note note_of(struct mpk_span file)
{
	struct mpk_image image;
	struct mpk_error err = { 0 };

	ck_assert_msg(mpk_image_open(file, NULL, &arena, &image, &err) == MPK_OK, "%s", err.text);
	return image.note;
}

/* --- reading --------------------------------------------------------------------- */

static const struct {
	const char *notes, *name; /* NULL: there is no note */
} rows[] = {
	{ OURS(JSON("net", SYMBOL, DIGITS)), "net" },
	{ OURS(JSON("", SYMBOL, DIGITS)), "" },
	{ OURS(JSON("n\\\\u00e9t", SYMBOL, DIGITS)), "n\303\251t" },
	/* others may stand there, too */
	{ NOTE("GNU", "1", "abc") OURS("{\\\"type\\\":\\\"deb\\\",\\\"name\\\":\\\"x\\\"}")
		  OURS(JSON("other", "net_" SYMBOL, DIGITS)) OURS(JSON("net", SYMBOL, DIGITS)),
	  "net" },
	/* the digits stand in the name, too */
	{ OURS(JSON(DIGITS, SYMBOL, DIGITS)), DIGITS },
	{ OURS(JSON("first", SYMBOL, DIGITS)) OURS(JSON("second", SYMBOL, DIGITS)), "first" },
	/* none of ours */
	{ "", NULL },
	{ NOTE("GNU", "0xcafe1a7e", JSON("net", SYMBOL, DIGITS)), NULL },
	{ NOTE("FDO", "0xcafe1a7f", JSON("net", SYMBOL, DIGITS)), NULL },
	{ OURS(JSON("net", "other", DIGITS)), NULL },
	{ OURS(JSON("net", SYMBOL, "00112233445566778899AABBCCDDEEFF")), NULL },
	{ OURS(JSON("net", SYMBOL, "00112233445566778899aabbccddeef")), NULL },
	{ OURS(JSON("net", SYMBOL, DIGITS "0")), NULL },
	{ OURS("{"), NULL },
	{ OURS("[1]"), NULL },
	{ OURS(""), NULL },
	/* sizes that lead out of the section, and out of the file */
	{ ".long 4, 4000, 0xcafe1a7e\n.asciz \"FDO\"\n", NULL },
	{ ".long 4, 0xffffffff, 0xcafe1a7e\n.asciz \"FDO\"\n", NULL },
	{ ".long 0xffffffff, 4, 0xcafe1a7e\n.asciz \"FDO\"\n", NULL },
	{ ".long 4\n", NULL },
};

START_TEST(found)
{
	struct mpk_span bytes = library(rows[_i].notes);
	struct mpk_note s = note_of(bytes);

	if (!rows[_i].name) {
		ck_assert_ptr_null(s.name);
		return;
	}
	ck_assert_ptr_nonnull(s.name);
	ck_assert_str_eq(s.name, rows[_i].name);
	ck_assert_uint_eq(s.digest[0], 0);
	ck_assert_uint_eq(s.digest[15], 0xff);
	ck_assert_uint_ne(s.id_off, 0);
	ck_assert_int_eq(memcmp(bytes.data + s.digits_off, DIGITS "\"}", 34), 0);
}
END_TEST

/* Thousands of notes are not all looked at, whatever is in them. */
START_TEST(many_notes)
{
	struct mpk_span file = library(
		".rept 900\n" NOTE("GNU", "9", "abc") ".endr\n" OURS(JSON("net", SYMBOL, DIGITS)));

	ck_assert_ptr_nonnull(note_of(file).name);
	file = library(".rept 100\n" OURS("{}") ".endr\n" OURS(JSON("net", SYMBOL, DIGITS)));
	ck_assert_ptr_null(note_of(file).name);
	file = library(
		".rept 5000\n" NOTE("GNU", "9", "abc") ".endr\n" OURS(JSON("net", SYMBOL, DIGITS)));
	ck_assert_ptr_null(note_of(file).name);
}
END_TEST

/* Without section headers, by the program headers. */
START_TEST(without_sections)
{
	struct mpk_span file = library(OURS(JSON("net", SYMBOL, DIGITS)));
	Elf64_Ehdr *h = (Elf64_Ehdr *)(uintptr_t)file.data;
	struct mpk_note whole = note_of(file);

	h->e_shoff = 0;
	h->e_shnum = 0;
	h->e_shstrndx = 0;
	struct mpk_note s = note_of(file);
	ck_assert_ptr_nonnull(s.name);
	ck_assert_uint_eq(s.digits_off, whole.digits_off);
	ck_assert_uint_eq(s.id_off, whole.id_off);
	ck_assert_int_eq(memcmp(file.data + s.digits_off, DIGITS, 32), 0);
}
END_TEST

/* Every byte of the note changed to many values: found or not, places stay in the file. */
START_TEST(hostile)
{
	struct mpk_span file = library(NOTE("GNU", "1", "abc") OURS(JSON("net", SYMBOL, DIGITS)));
	uint8_t *at = memmem(file.data, file.len, "FDO", 4);

	ck_assert_ptr_nonnull(at);
	for (uint8_t *p = at - 32; p < at + 120; p++) {
		static const uint8_t values[] = { 0, 1, 3, 4, 0x22, 0x7f, 0x80, 0xff };
		uint8_t old = *p;

		for (size_t i = 0; i < sizeof values; i++) {
			struct mpk_arena own = { 0 };
			struct mpk_note s;

			*p = values[i];
			ck_assert_int_eq(mpk_packed_note(file, SYMBOL, NULL, &own, &s, NULL),
					 MPK_OK);
			ck_assert(!s.name || s.digits_off + 32 <= file.len);
			ck_assert(!s.name || s.id_off + 8 <= file.len);
			mpk_arena_fini(&own);
		}
		*p = old;
	}
	ck_assert_ptr_nonnull(note_of(file).name);
}
END_TEST

/* --- writing --------------------------------------------------------------------- */

/* The text parses back, whatever the name is; the bytes are ASCII. */
START_TEST(written)
{
	static const struct {
		const char *name, *text;
	} texts[] = {
		{ "a",
		  "{\"type\":\"mpack\",\"name\":\"a\",\"blob\":\"s\",\"xxh128\":\"" DIGITS "\"}" },
		{ "\"\\\n\303\251",
		  "{\"type\":\"mpack\",\"name\":\"\\\"\\\\\\n\\u00E9\",\"blob\":\"s\","
		  "\"xxh128\":\"" DIGITS "\"}" },
		{ "\xff",
		  "{\"type\":\"mpack\",\"name\":\"\\\\xff\",\"blob\":\"s\",\"xxh128\":\"" DIGITS
		  "\"}" },
	};
	uint8_t digest[MPK_XXH128_BYTES];

	for (unsigned i = 0; i < sizeof digest; i++)
		digest[i] = (uint8_t)(i * 0x11);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(texts); i++)
		ck_assert_str_eq(mpk_note_text(&arena, texts[i].name, "s", digest), texts[i].text);
	ck_assert_ptr_nonnull(
		strstr(mpk_note_text(&arena, "a", "s", NULL), "00000000000000000000000000000000"));
}
END_TEST

/* Row: bytes of the blob; hashed before, or while it is written. Also through a pipe, where
 * nothing can be patched behind. */
START_TEST(renewed)
{
	static const size_t sizes[] = { 8, 100000, 3 << 20 };
	struct mpk_span file = library(OURS(JSON("net", SYMBOL, DIGITS)));
	struct mpk_private copy = { .data = (uint8_t *)mpk_arena_copy(&arena, file.data, file.len),
				    .len = file.len };
	size_t len = sizes[_i];
	uint8_t *bytes = mpk_arena_alloc(&arena, len), digest[MPK_DIGEST_BYTES];
	struct mpk_rope blob = mpk_rope_of(&arena), rope = mpk_rope_of(&arena);
	struct mpk_packed s = {
		.file = &copy, .note = note_of(file), .rope = &rope, .blob = &blob
	};
	char text[MPK_DIGEST_TEXT];
	struct mpk_output *o = NULL;

	memset(bytes, 'b', len);
	mpk_rope_put_view(&blob, mpk_span_of(bytes, len));
	mpk_rope_put_view(&rope, mpk_span_of(copy.data, copy.len));
	mpk_rope_put_rope(&rope, &blob);
	ck_assert_int_eq(mpk_digest_rope(MPK_DIGEST_XXH128, &blob, NULL, digest, NULL), MPK_OK);
	ck_assert_int_eq(mpk_output_open("new", 0666, &o, NULL), MPK_OK);
	ck_assert_int_eq(mpk_packed_write(&s, o, NULL), MPK_OK);
	ck_assert_int_eq(mpk_output_commit(o, NULL), MPK_OK);

	memcpy(copy.data, file.data, file.len);
	run("mkfifo pipe && cat pipe >piped &");
	run("while [ ! -p pipe ]; do sleep 0.01; done");
	ck_assert_int_eq(mpk_output_open("pipe", 0666, &o, NULL), MPK_OK);
	ck_assert_int_eq(mpk_packed_write(&s, o, NULL), MPK_OK);
	ck_assert_int_eq(mpk_output_commit(o, NULL), MPK_OK);
	run("while ! cmp -s new piped; do sleep 0.01; done");

	struct mpk_span out = read_file("new");
	ck_assert_uint_eq(out.len, file.len + len);
	(void)mpk_digest_print(digest, MPK_XXH128_BYTES, text);
	ck_assert_int_eq(memcmp(out.data + s.note.digits_off, text, 32), 0);
	ck_assert_int_eq(memcmp(out.data + s.note.id_off, digest, 8), 0);
	/* nothing else has changed */
	memcpy((void *)(uintptr_t)(out.data + s.note.digits_off), DIGITS, 32);
	memcpy((void *)(uintptr_t)(out.data + s.note.id_off), "\0\x11\x22\x33\x44\x55\x66\x77", 8);
	ck_assert_int_eq(memcmp(out.data, file.data, file.len), 0);
	ck_assert_int_eq(memcmp(out.data + file.len, bytes, len), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("note");
	TCase *tc = tcase_create("note");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, workdir_enter, workdir_leave);
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, found, 0, MPK_ARRAY_COUNT(rows));
	tcase_add_test(tc, many_notes);
	tcase_add_test(tc, without_sections);
	tcase_add_test(tc, hostile);
	tcase_add_test(tc, written);
	tcase_add_loop_test(tc, renewed, 0, 3);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
