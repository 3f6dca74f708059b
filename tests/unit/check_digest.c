/* lib/text/digest against FIPS 180-4's examples and sha256sum */
#include <check.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "text/digest.h"

static bool hide_libcrypto;

/* Stands before the C library's own. */
void *dlopen(const char *file, int mode)
{
	void *(*real)(const char *, int);
	void *symbol = dlsym(RTLD_NEXT, "dlopen");

	memcpy(&real, &symbol, sizeof real);
	return hide_libcrypto ? NULL : real(file, mode);
}

static const char *hex_of(struct mpk_span bytes)
{
	static char text[MPK_DIGEST_TEXT];
	uint8_t digest[MPK_DIGEST_BYTES];
	struct mpk_error err = { 0 };

	ck_assert_msg(mpk_digest_of(bytes, digest, &err) == MPK_OK, "%s", err.text);
	return mpk_digest_print(digest, text);
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
		ck_assert_str_eq(hex_of(mpk_span_str(rows[i].bytes)), rows[i].digest);
	ck_assert_str_eq(hex_of(mpk_span_of(NULL, 0)), rows[0].digest);
}
END_TEST

START_TEST(in_pieces)
{
	struct mpk_digest d = { 0 };
	uint8_t digest[MPK_DIGEST_BYTES], bytes[1000];
	char text[MPK_DIGEST_TEXT];

	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)(i * 7);
	ck_assert_int_eq(mpk_digest_init(&d, NULL), MPK_OK);
	for (size_t i = 0, n; i < sizeof bytes; i += n) {
		n = i % 130 + 1;
		if (n > sizeof bytes - i)
			n = sizeof bytes - i;
		ck_assert_int_eq(mpk_digest_update(&d, mpk_span_of(bytes + i, n), NULL), MPK_OK);
	}
	ck_assert_int_eq(mpk_digest_final(&d, digest, NULL), MPK_OK);
	mpk_digest_fini(&d);
	mpk_digest_fini(&d);
	ck_assert_str_eq(mpk_digest_print(digest, text), hex_of(mpk_span_of(bytes, sizeof bytes)));
}
END_TEST

START_TEST(without_libcrypto)
{
	uint8_t digest[MPK_DIGEST_BYTES] = { 7 };
	struct mpk_error err;

	hide_libcrypto = true;
	ck_assert_int_eq(mpk_digest_of(mpk_span_str("abc"), digest, &err), MPK_E_LOAD);
	ck_assert_ptr_nonnull(strstr(err.text, "apt install libssl3"));
	ck_assert_uint_eq(digest[0], 7);
	/* and once it is installed */
	hide_libcrypto = false;
	ck_assert_int_eq(mpk_digest_of(mpk_span_str("abc"), digest, &err), MPK_OK);
}
END_TEST

/* The same file by sha256sum of coreutils. */
START_TEST(as_sha256sum)
{
	static const char path[] = "tests/data/relax/gelu.so";
	static uint8_t bytes[1 << 20];
	char want[MPK_DIGEST_TEXT] = "", command[200];
	FILE *f = fopen(path, "rb");
	size_t n;

	ck_assert_ptr_nonnull(f);
	n = fread(bytes, 1, sizeof bytes, f);
	fclose(f);
	snprintf(command, sizeof command, "sha256sum %s", path);
	f = popen(command, "r");
	ck_assert_ptr_nonnull(f);
	ck_assert_ptr_nonnull(fgets(want, sizeof want, f));
	pclose(f);
	ck_assert_str_eq(hex_of(mpk_span_of(bytes, n)), want);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("digest");
	TCase *tc = tcase_create("sha256");
	SRunner *runner;
	int failed;

	tcase_add_test(tc, examples);
	tcase_add_test(tc, in_pieces);
	tcase_add_test(tc, without_libcrypto);
	tcase_add_test(tc, as_sha256sum);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
