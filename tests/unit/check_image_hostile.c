/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are no libraries, and broken ones: a clean error with a place, or a correct
 * answer (elf/image.h) */
#include "image_made.h"

static const struct {
	const char *bytes;
	size_t len;
	enum mpk_code code;
	const char *text; /* part of the message */
} refused[] = {
	{ "", 0, MPK_E_CORRUPT, "no bytes" },
	{ "\x7f"
	  "ELF",
	  4, MPK_E_CORRUPT, "ELF header ends beyond" },
	{ "\x7f"
	  "ELF\3\1\1\0\0\0\0\0\0\0\0\0",
	  16, MPK_E_CORRUPT, "neither 32 nor 64" },
	{ "\x7f"
	  "ELF\2\3\1\0\0\0\0\0\0\0\0\0",
	  16, MPK_E_CORRUPT, "byte order" },
	{ "\x7f"
	  "ELF\2\1\7\0\0\0\0\0\0\0\0\0",
	  16, MPK_E_CORRUPT, "version" },
	{ "a library?\n", 11, MPK_E_CORRUPT, "neither a library or object" },
	{ "#!/bin/sh\n", 10, MPK_E_UNSUPPORTED, "a script" },
	{ "\xcf\xfa\xed\xfe\7\0\0\1", 8, MPK_E_CORRUPT, "header is cut off" },
	{ "\xfe\xed\xfa\xcf\1\0\0\7", 8, MPK_E_UNSUPPORTED, "big-endian Mach-O" },
	{ "MZ\x90\0", 4, MPK_E_UNSUPPORTED, "a DOS program" },
	{ "\0asm\x0d\0\1\0", 8, MPK_E_UNSUPPORTED, "WebAssembly component" },
	{ "BC\xc0\xde", 4, MPK_E_CORRUPT, "no block" },
	{ "PK\3\4", 4, MPK_E_UNSUPPORTED, "zip" },
};

START_TEST(refuses)
{
	struct mpk_image image = { .machine = 77 };
	struct mpk_error err = { 0 };

	ck_assert_int_eq(mpk_image_open(mpk_span_of(refused[_i].bytes, refused[_i].len), NULL,
					&arena, &image, &err),
			 refused[_i].code);
	ck_assert_msg(strstr(err.text, refused[_i].text) != NULL, "%s", err.text);
	ck_assert_uint_eq(image.machine, 77);
}
END_TEST

/* One field of a sound library made unsound. */
static const struct {
	const char *what;
	const char *section; /* patch this section's header, or NULL: the ELF header */
	size_t field, bytes;
	uint64_t value;
	const char *text;
} wounds[] = {
	{ "entry size 0", ".dynsym", offsetof(Elf64_Shdr, sh_entsize), 8, 0, "impossible size" },
	{ "entry size 23", ".dynsym", offsetof(Elf64_Shdr, sh_entsize), 8, 23, "impossible size" },
	{ "half a symbol", ".dynsym", offsetof(Elf64_Shdr, sh_size), 8, 36, "no multiple" },
	{ "table beyond the end", ".dynsym", offsetof(Elf64_Shdr, sh_offset), 8, 1ULL << 40,
	  "ends beyond the end" },
	{ "offset and size wrap", ".dynsym", offsetof(Elf64_Shdr, sh_size), 8, UINT64_MAX - 15,
	  "ends beyond the end" },
	{ "no such string table", ".dynsym", offsetof(Elf64_Shdr, sh_link), 4, 4000,
	  "there are only" },
	{ "no string table at all", ".dynsym", offsetof(Elf64_Shdr, sh_link), 4, 0,
	  "there are only" },
	{ "not a string table", ".dynstr", offsetof(Elf64_Shdr, sh_type), 4, SHT_PROGBITS,
	  "serves as string table" },
	{ "names cut off", ".dynstr", offsetof(Elf64_Shdr, sh_size), 8, 3,
	  "outside the string table" },
	{ "section headers beyond", NULL, offsetof(Elf64_Ehdr, e_shoff), 8, 1ULL << 40,
	  "section headers end beyond" },
	{ "section header size", NULL, offsetof(Elf64_Ehdr, e_shentsize), 2, 63,
	  "impossible size" },
	{ "program headers beyond", NULL, offsetof(Elf64_Ehdr, e_phoff), 8, 1ULL << 40,
	  "program headers" },
	{ "program header size", NULL, offsetof(Elf64_Ehdr, e_phentsize), 2, 1, "impossible size" },
};

static void patch(uint8_t *at, size_t bytes, uint64_t value)
{
	for (size_t i = 0; i < bytes; i++)
		at[i] = (uint8_t)(value >> 8 * i);
}

/* Fields of an ELF header and of section headers, in the file's order of bytes, not in ours. */
static uint64_t number_at(struct mpk_span s, uint64_t at, size_t bytes)
{
	uint64_t value = 0;

	ck_assert_uint_le(at + bytes, s.len);
	for (size_t i = bytes; i-- > 0;)
		value = value << 8 | s.data[at + i];
	return value;
}

static size_t section_header(struct mpk_span s, const char *name)
{
	uint64_t table = number_at(s, offsetof(Elf64_Ehdr, e_shoff), 8);
	uint64_t count = number_at(s, offsetof(Elf64_Ehdr, e_shnum), 2);
	uint64_t strings =
		table + number_at(s, offsetof(Elf64_Ehdr, e_shstrndx), 2) * sizeof(Elf64_Shdr);
	uint64_t names = number_at(s, strings + offsetof(Elf64_Shdr, sh_offset), 8);

	for (size_t i = 1; i < count; i++) {
		uint64_t at = table + i * sizeof(Elf64_Shdr);
		uint64_t text = names + number_at(s, at + offsetof(Elf64_Shdr, sh_name), 4);

		if (strcmp((const char *)s.data + text, name) == 0)
			return at;
	}
	ck_abort_msg("no section %s", name);
}

START_TEST(wounded)
{
	struct mpk_image image;
	struct mpk_error err = { 0 };
	struct mpk_span bytes;
	size_t at;

	bytes = fixture_load("formats/01_opencl_scale.so");
	at = wounds[_i].section ? section_header(bytes, wounds[_i].section) : 0;
	patch((uint8_t *)(uintptr_t)bytes.data + at + wounds[_i].field, wounds[_i].bytes,
	      wounds[_i].value);
	ck_assert_msg(mpk_image_open(bytes, NULL, &arena, &image, &err) == MPK_E_CORRUPT, "%s",
		      wounds[_i].what);
	ck_assert_msg(strstr(err.text, wounds[_i].text) != NULL, "%s: %s", wounds[_i].what,
		      err.text);
	ck_assert(err.at.has_offset);
	fixture_free(bytes);
}
END_TEST

/* A blob symbol that names bytes which are not there. */
START_TEST(blob_without_bytes)
{
	struct mpk_image image;
	struct mpk_error err = { 0 };

	ck_assert(
		run("cd %s && printf '.globl __tvm_dev_mblob\\n.type __tvm_dev_mblob,%%%%object\\n"
		    ".bss\\n__tvm_dev_mblob: .zero 64\\n.size __tvm_dev_mblob,64\\n' >b.s && "
		    "gcc -c b.s -o b.o && gcc -shared -nostdlib b.o -o b.so && "
		    "printf '.globl __tvm_dev_mblob\\n.type __tvm_dev_mblob,%%%%object\\n"
		    ".data\\n__tvm_dev_mblob: .byte 1\\n.size __tvm_dev_mblob,1000000\\n' >c.s && "
		    "gcc -c c.s -o c.o",
		    dir));
	ck_assert_int_eq(mpk_image_open(load_made("b.o"), NULL, &arena, &image, &err),
			 MPK_E_CORRUPT);
	ck_assert_str_eq(err.text, "symbol __tvm_dev_mblob stands in a section without bytes");
	ck_assert_int_eq(mpk_image_open(load_made("b.so"), NULL, &arena, &image, &err),
			 MPK_E_CORRUPT);
	ck_assert_str_eq(err.text, "symbol __tvm_dev_mblob lies outside of what the file loads");
	ck_assert_int_eq(mpk_image_open(load_made("c.o"), NULL, &arena, &image, &err),
			 MPK_E_CORRUPT);
	ck_assert_str_eq(err.text,
			 "symbol __tvm_dev_mblob ends beyond the bytes of its section or segment");
}
END_TEST

/* Any answer but a crash, a read beyond the end, or an error without a place. */
static void survive(struct mpk_span bytes)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	struct mpk_error err = { 0 };
	struct mpk_image image;
	enum mpk_code code = mpk_image_open(bytes, NULL, &scratch, &image, &err);

	ck_assert_msg(code == MPK_OK || code == MPK_E_CORRUPT || code == MPK_E_UNSUPPORTED,
		      "%d: %s", code, err.text);
	if (code == MPK_E_CORRUPT)
		ck_assert(err.at.has_offset);
	if (code == MPK_OK && image.has_blob) {
		ck_assert(image.blob.data >= image.bytes.data);
		ck_assert_uint_le(image.blob.len, image.bytes.len);
	}
}

static const char *const hostile[] = { "formats/01_opencl_scale.so", "a.o", "a.so", "bare.so" };

static struct mpk_span hostile_bytes(int i)
{
	struct mpk_span bytes;

	if (i == 0) {
		bytes = fixture_load(hostile[0]);
		struct mpk_span copy =
			mpk_span_of(mpk_arena_copy(&arena, bytes.data, bytes.len), bytes.len);

		fixture_free(bytes);
		return copy;
	}
	write_source(&sources[1], "", true);
	ck_assert(
		build(i == 1 ? "gcc" : "gcc -Wl,-z,max-page-size=4096", "-Wl,-z,noseparate-code"));
	bytes = load_made(i == 1 ? "a.o" : "a.so");
	return i == 3 ? without_sections(bytes) : bytes;
}

START_TEST(every_prefix)
{
	struct mpk_span bytes = hostile_bytes(_i);
	struct guarded g = guarded_create(bytes.len);

	for (size_t len = 0; len < bytes.len; len++)
		survive(guarded_put(&g, mpk_span_of(bytes.data, len)));
	guarded_free(&g);
}
END_TEST

START_TEST(every_byte_changed)
{
	struct mpk_span bytes = hostile_bytes(_i);
	struct guarded g = guarded_create(bytes.len);
	struct mpk_span put = guarded_put(&g, bytes);
	uint8_t *at = (uint8_t *)(uintptr_t)put.data;
	static const uint8_t flips[] = { 0x01, 0x80, 0xff };

	for (size_t i = 0; i < put.len; i++) {
		uint8_t flip = flips[i % 3];

		at[i] ^= flip;
		survive(put);
		at[i] ^= flip;
	}
	guarded_free(&g);
}
END_TEST

/* Headers and tables matter most: several random changes at once within the first and the
 * last kilobytes, where they stand. */
START_TEST(random_changes)
{
	struct mpk_span bytes = hostile_bytes(_i);
	struct guarded g = guarded_create(bytes.len);
	uint64_t state = 1 + (uint64_t)_i;

	for (int round = 0; round < 3000 && bytes.len; round++) {
		struct mpk_span put = guarded_put(&g, bytes);
		uint64_t window = bytes.len < 2048 ? bytes.len : 2048;

		for (uint64_t n = 1 + random_below(&state, 8); n; n--) {
			uint64_t from = random_below(&state, 2) ? bytes.len - window : 0;

			((uint8_t *)(uintptr_t)put.data)[from + random_below(&state, window)] =
				(uint8_t)random_next(&state);
		}
		survive(put);
	}
	guarded_free(&g);
}
END_TEST

int main(void)
{
	const struct {
		const TTest *fn;
		int rows;
	} tests[] = {
		{ refuses, (int)MPK_ARRAY_COUNT(refused) },
		{ wounded, (int)MPK_ARRAY_COUNT(wounds) },
		{ blob_without_bytes, 1 },
		{ every_prefix, (int)MPK_ARRAY_COUNT(hostile) },
		{ every_byte_changed, (int)MPK_ARRAY_COUNT(hostile) },
		{ random_changes, (int)MPK_ARRAY_COUNT(hostile) },
	};
	Suite *s = suite_create("image_hostile");
	TCase *tc = tcase_create("image_hostile");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 120);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(tests); i++)
		tcase_add_loop_test(tc, tests[i].fn, 0, tests[i].rows);
	suite_add_tcase(s, tc);

	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
