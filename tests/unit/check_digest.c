/* SPDX-License-Identifier: Apache-2.0 */
/* lib/ground/io/digest against FIPS 180-4's examples, the reference XXH3, sha256sum and xxh128sum */
#include <check.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "io/digest.h"
#include "io/mapping.h"
#include "skip.h"

static bool hide_libcrypto;

/* Stands before the C library's own. */
void *dlopen(const char *file, int mode)
{
	void *(*real)(const char *, int);
	void *symbol = dlsym(RTLD_NEXT, "dlopen");

	memcpy(&real, &symbol, sizeof real);
	return hide_libcrypto ? NULL : real(file, mode);
}

static enum mpk_code digest_of(enum mpk_digest_kind kind, struct mpk_span bytes,
			       uint8_t out[MPK_DIGEST_BYTES], struct mpk_error *err)
{
	MPK_CLEANUP(mpk_digest_fini) struct mpk_digest d = { .state = NULL };

	MPK_TRY(mpk_digest_init(&d, kind, err));
	MPK_TRY(mpk_digest_update(&d, bytes, err));
	return mpk_digest_final(&d, out, err);
}

static const char *hex_of(enum mpk_digest_kind kind, struct mpk_span bytes)
{
	static char text[MPK_DIGEST_TEXT];
	uint8_t digest[MPK_DIGEST_BYTES];
	struct mpk_error err = { 0 };

	ck_assert_msg(digest_of(kind, bytes, digest, &err) == MPK_OK, "%s", err.text);
	return mpk_digest_print(digest, mpk_digest_bytes(kind), text);
}

/* FIPS 180-4 examples and the digest of nothing */
START_TEST(examples)
{
	static const struct {
		const char *bytes, *digest;
	} rows[] = {
		{ "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
		{ "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
		{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++)
		ck_assert_str_eq(hex_of(MPK_DIGEST_SHA256, mpk_span_str(rows[i].bytes)),
				 rows[i].digest);
	ck_assert_str_eq(hex_of(MPK_DIGEST_SHA256, mpk_span_of(NULL, 0)), rows[0].digest);
}
END_TEST

/* Python's xxhash.xxh3_128_hexdigest(bytes((i * 31 + 7) % 256 for i in range(len))), and
 * the digest of nothing. The lengths lie around the borders of XXH3's inner forms. */
static const struct {
	size_t len;
	const char *digest;
} xxh_rows[] = {
	{ 0, "99aa06d3014798d86001c324468d497f" },
	{ 1, "495b62073ef70ca44c5cca45d0f4811f" },
	{ 3, "46f66cb93538156515f7093b173d005c" },
	{ 4, "7fefeeffb4d0eab3b987ca5d9241572a" },
	{ 8, "803c675a846cc6c256bb836ceb6d4baa" },
	{ 9, "d46556872d230f224376673580310154" },
	{ 16, "650fe308c566747df853dd94614dfa07" },
	{ 17, "18217300b5132d5a78c349fe81b2f26c" },
	{ 128, "b4f87b99d2db8a511e04fad9f0cacb4d" },
	{ 129, "6881633650cd8924c51bc887976aef63" },
	{ 240, "de57aab31e77a2ff93e173833f75ab66" },
	{ 241, "92b991a7192f3f080b3b630948ce4a00" },
	{ 512, "2080c7d36a7ea4bbefc2e52d1c2ffbaa" },
	{ 1024, "4c17271c906df79223bc880ebf0d29c6" },
	{ 4097, "b074f6deb50fbb5eb319759b4671c221" },
	{ 100000, "8ce7a24d31cd94b1ccf90df7e7e37036" },
};

START_TEST(xxh128_reference)
{
	size_t len = xxh_rows[_i].len;
	uint8_t *bytes = malloc(len + 1);

	for (size_t k = 0; k < len; k++)
		bytes[k] = (uint8_t)(k * 31 + 7);
	ck_assert_str_eq(hex_of(MPK_DIGEST_XXH128, mpk_span_of(bytes, len)), xxh_rows[_i].digest);
	free(bytes);
}
END_TEST

START_TEST(in_pieces)
{
	enum mpk_digest_kind kind = (enum mpk_digest_kind)_i;
	struct mpk_digest d = { .state = NULL };
	uint8_t digest[MPK_DIGEST_BYTES], bytes[10000];
	char text[MPK_DIGEST_TEXT];

	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)(i * 7);
	ck_assert_int_eq(mpk_digest_init(&d, kind, NULL), MPK_OK);
	for (size_t i = 0, n; i < sizeof bytes; i += n) {
		n = i % 530 + 1;
		if (n > sizeof bytes - i)
			n = sizeof bytes - i;
		ck_assert_int_eq(mpk_digest_update(&d, mpk_span_of(bytes + i, n), NULL), MPK_OK);
		ck_assert_int_eq(mpk_digest_update(&d, mpk_span_of(NULL, 0), NULL), MPK_OK);
	}
	ck_assert_int_eq(mpk_digest_final(&d, digest, NULL), MPK_OK);
	mpk_digest_fini(&d);
	mpk_digest_fini(&d);
	ck_assert_str_eq(mpk_digest_print(digest, mpk_digest_bytes(kind), text),
			 hex_of(kind, mpk_span_of(bytes, sizeof bytes)));
}
END_TEST

static void count(void *data, struct mpk_span bytes)
{
	*(size_t *)data += bytes.len;
}

/* Bytes in memory and a range of a file are one sequence. */
START_TEST(of_a_rope)
{
	static const char path[] = "tests/data/relax/gelu.so";
	struct mpk_arena arena = { 0 };
	struct mpk_rope rope = mpk_rope_of(&arena);
	struct mpk_mapping map = { .fd = -1 };
	uint8_t digest[MPK_DIGEST_BYTES], whole[MPK_DIGEST_BYTES];
	size_t seen = 0;
	struct mpk_tap tap = { count, &seen };

	ck_assert_int_eq(mpk_mapping_open(path, &map, NULL), MPK_OK);
	mpk_rope_put_bytes(&rope, mpk_span_of(map.bytes.data, 1000));
	mpk_rope_put_file(&rope, map.fd, 1000, map.bytes.len - 1000);
	ck_assert_int_eq(mpk_digest_rope(MPK_DIGEST_XXH128, &rope, &tap, digest, NULL), MPK_OK);
	ck_assert_int_eq(digest_of(MPK_DIGEST_XXH128, map.bytes, whole, NULL), MPK_OK);
	ck_assert_mem_eq(digest, whole, MPK_XXH128_BYTES);
	ck_assert_uint_eq(seen, map.bytes.len);

	mpk_rope_put_file(&rope, map.fd, 0, map.bytes.len + 1);
	ck_assert_int_eq(mpk_digest_rope(MPK_DIGEST_XXH128, &rope, NULL, digest, NULL), MPK_E_IO);
	mpk_mapping_close(&map);
	mpk_arena_fini(&arena);
}
END_TEST

START_TEST(without_libcrypto)
{
	uint8_t digest[MPK_DIGEST_BYTES] = { 7 };
	struct mpk_error err;

	hide_libcrypto = true;
	ck_assert_int_eq(digest_of(MPK_DIGEST_SHA256, mpk_span_str("abc"), digest, &err),
			 MPK_E_LOAD);
	ck_assert_ptr_nonnull(strstr(err.text, "apt install libssl3"));
	ck_assert_uint_eq(digest[0], 7);
	/* and once it is installed */
	hide_libcrypto = false;
	ck_assert_int_eq(digest_of(MPK_DIGEST_SHA256, mpk_span_str("abc"), digest, &err), MPK_OK);
}
END_TEST

/* The same file by sha256sum of coreutils, and by xxh128sum where it is installed. */
START_TEST(as_other_programs)
{
	static const char path[] = "tests/data/relax/gelu.so";
	enum mpk_digest_kind kind = (enum mpk_digest_kind)_i;
	static uint8_t bytes[1 << 20];
	char want[MPK_DIGEST_TEXT] = "", command[200];
	FILE *f = fopen(path, "rb");
	size_t n;

	ck_assert_ptr_nonnull(f);
	n = fread(bytes, 1, sizeof bytes, f);
	fclose(f);
	snprintf(command, sizeof command, "%ssum %s 2>/dev/null", mpk_digest_name(kind), path);
	f = popen(command, "r");
	ck_assert_ptr_nonnull(f);
	bool there = fgets(want, (int)(2 * mpk_digest_bytes(kind) + 1), f) != NULL;
	pclose(f);
	if (!there && kind == MPK_DIGEST_XXH128)
		SKIP_TEST("xxh128sum is not installed");
	ck_assert_str_eq(hex_of(kind, mpk_span_of(bytes, n)), want);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("digest");
	TCase *tc = tcase_create("digest");
	SRunner *runner;
	int failed;

	tcase_add_test(tc, examples);
	tcase_add_loop_test(tc, xxh128_reference, 0, MPK_ARRAY_COUNT(xxh_rows));
	tcase_add_loop_test(tc, in_pieces, 0, MPK_DIGEST_KIND_COUNT);
	tcase_add_test(tc, of_a_rope);
	tcase_add_test(tc, without_libcrypto);
	tcase_add_loop_test(tc, as_other_programs, 0, MPK_DIGEST_KIND_COUNT);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
