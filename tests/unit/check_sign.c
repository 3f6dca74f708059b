/* SPDX-License-Identifier: Apache-2.0 */
/* Keys and signatures (lib/know/trust, text/markup.h) against RFC 4648, RFC 8032, openssl and ssh-keygen: what
 * others sign verifies here, what is signed here verifies there, and nothing else is taken for a key. */
#include <dlfcn.h>

#include "skip.h"
#include "text/markup.h"
#include "trust/key.h"
#include "trust/seal.h"
#include "workdir.h"

static struct mpk_error err;
static bool hide_libcrypto;

/* Stands before the C library's own. */
void *dlopen(const char *file, int mode)
{
	void *(*real)(const char *, int);
	void *symbol = dlsym(RTLD_NEXT, "dlopen");

	memcpy(&real, &symbol, sizeof real);
	return hide_libcrypto ? NULL : real(file, mode);
}

static void setup(void)
{
	workdir_enter();
	memset(&err, 0, sizeof err);
}

/* --- base64 ---------------------------------------------------------------------- */

START_TEST(base64_of_rfc_4648)
{
	static const char *const rows[][2] = {
		{ "", "" },
		{ "f", "Zg==" },
		{ "fo", "Zm8=" },
		{ "foo", "Zm9v" },
		{ "foob", "Zm9vYg==" },
		{ "fooba", "Zm9vYmE=" },
		{ "foobar", "Zm9vYmFy" },
		{ "\xff\xfe\xfb", "//77" },
	};
	uint8_t out[16];
	size_t len;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		struct mpk_strbuf text = { 0 };

		mpk_base64_put(&text, mpk_span_str(rows[i][0]));
		ck_assert_str_eq(mpk_strbuf_text(&text), rows[i][1]);
		mpk_strbuf_fini(&text);
		ck_assert(mpk_base64_read(mpk_span_str(rows[i][1]), out, sizeof out, &len));
		ck_assert(mpk_span_is(mpk_span_of(out, len), rows[i][0]));
	}
	ck_assert(mpk_base64_read(mpk_span_str(" Zm9v\r\nYg =\t=\n"), out, sizeof out, &len));
	ck_assert(mpk_span_is(mpk_span_of(out, len), "foob"));
}
END_TEST

/* One text for each value, and never more than there is room for. */
START_TEST(base64_is_strict)
{
	static const char *const rows[] = { "Zg",   "Zg=",   "Zg===",     "Z===", "Zh==",
					    "Zm9=", "Zm9v=", "Zg==Zg==",  "Zm9-", "Zm9_",
					    "=",    "Z",     "Zm9vYmFy!", "====" };
	uint8_t out[16];
	size_t len;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++)
		ck_assert_msg(!mpk_base64_read(mpk_span_str(rows[i]), out, sizeof out, &len), "%s",
			      rows[i]);
	ck_assert(!mpk_base64_read(mpk_span_of("Zm\0v", 4), out, sizeof out, &len));
	ck_assert(mpk_base64_read(mpk_span_str("Zm9v"), out, 3, &len));
	ck_assert(!mpk_base64_read(mpk_span_str("Zm9v"), out, 2, &len));
}
END_TEST

/* --- Ed25519 --------------------------------------------------------------------- */

static void from_hex(const char *text, uint8_t *out)
{
	for (size_t i = 0; text[2 * i]; i++) {
		unsigned byte;

		ck_assert_int_eq(sscanf(text + 2 * i, "%2x", &byte), 1);
		out[i] = (uint8_t)byte;
	}
}

/* RFC 8032, 7.1: tests 1 to 3 */
START_TEST(vectors_of_rfc_8032)
{
	static const char *const rows[][4] = {
		{ "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
		  "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
		  "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b" },
		{ "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
		  "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "r",
		  "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00" },
		{ "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
		  "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "\xaf\x82",
		  "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a" },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		struct mpk_secret_key key = { 0 };
		uint8_t want[64], got[64], public_key[32];
		struct mpk_span message = mpk_span_str(rows[i][2]);

		from_hex(rows[i][0], key.seed);
		from_hex(rows[i][1], public_key);
		from_hex(rows[i][3], want);
		ck_assert_msg(mpk_ed25519_public(&key, &err) == MPK_OK, "%s", err.text);
		ck_assert_mem_eq(key.public_key.bytes, public_key, 32);
		ck_assert_int_eq(mpk_ed25519_sign(&key, message, got, &err), MPK_OK);
		ck_assert_mem_eq(got, want, 64);
		ck_assert_int_eq(mpk_ed25519_verify(&key.public_key, message, got, &err), MPK_OK);
		for (size_t bit = 0; bit < 512; bit++) {
			got[bit / 8] ^= (uint8_t)(1 << bit % 8);
			ck_assert_int_eq(mpk_ed25519_verify(&key.public_key, message, got, &err),
					 MPK_E_DIFFERENT);
			got[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
		ck_assert_int_eq(mpk_ed25519_verify(&key.public_key, mpk_span_str("x"), got, &err),
				 MPK_E_DIFFERENT);
		mpk_secret_key_wipe(&key);
		for (size_t k = 0; k < sizeof key; k++)
			ck_assert_uint_eq(((const uint8_t *)&key)[k], 0);
	}
}
END_TEST

/* --- files of keys --------------------------------------------------------------- */

static enum mpk_code read_secret(const char *name, struct mpk_secret_key *out)
{
	memset(&err, 0, sizeof err);
	return mpk_secret_key_read(name, out, &err);
}

static enum mpk_code read_public(const char *name, struct mpk_public_keys *out)
{
	memset(&err, 0, sizeof err);
	return mpk_public_keys_read(name, out, &err);
}

static bool has_program(const char *name)
{
	char command[64];

	(void)snprintf(command, sizeof command, "command -v %s >/dev/null", name);
	return system(command) == 0;
}

START_TEST(keys_of_openssl)
{
	struct mpk_public_keys keys, again;
	struct mpk_secret_key key;

	if (!has_program("openssl"))
		SKIP_TEST("openssl is not installed");
	run("openssl genpkey -algorithm ed25519 -out key.pem 2>/dev/null && "
	    "openssl pkey -in key.pem -pubout -out pub.pem && openssl pkey -in key.pem >pipe.pem && "
	    "openssl genpkey -algorithm ed25519 2>/dev/null | openssl pkey -pubout >other.pem && "
	    "cat other.pem pub.pem >both.pem");
	ck_assert_msg(read_secret("key.pem", &key) == MPK_OK, "%s", err.text);
	ck_assert_msg(read_public("pub.pem", &keys) == MPK_OK, "%s", err.text);
	ck_assert_uint_eq(keys.count, 1);
	ck_assert_mem_eq(&keys.items[0], &key.public_key, 32);
	ck_assert_int_eq(read_public("both.pem", &again), MPK_OK);
	ck_assert_uint_eq(again.count, 2);
	ck_assert_mem_eq(&again.items[1], &key.public_key, 32);
	run("openssl pkey -in key.pem -aes256 -passout pass:x -out enc.pem");
	ck_assert_int_eq(read_secret("enc.pem", &key), MPK_E_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(err.text, "encrypted"));
	ck_assert_str_eq(err.at.file, "enc.pem");
	run("openssl ecparam -name prime256v1 -genkey -noout -out ec.pem && "
	    "openssl ec -in ec.pem -pubout -out ecpub.pem 2>/dev/null");
	ck_assert_int_eq(read_secret("ec.pem", &key), MPK_E_SYNTAX);
	ck_assert_ptr_nonnull(strstr(err.text, "EC"));
	ck_assert_int_eq(read_public("ecpub.pem", &keys), MPK_E_SYNTAX);
	ck_assert_int_eq(read_secret("pub.pem", &key), MPK_E_SYNTAX);
	ck_assert_ptr_nonnull(strstr(err.text, "public"));
	ck_assert_int_eq(read_public("key.pem", &keys), MPK_E_SYNTAX);
	ck_assert_ptr_nonnull(strstr(err.text, "private"));
}
END_TEST

/* The example of RFC 8410, 10.3, and the same key with its public one, as some programs write it. libcrypto reads neither:
 * it would leave the text in memory. What is nearly one of them is for libcrypto to judge. */
START_TEST(keys_of_rfc_8410)
{
	static const char *const forms[] = {
		"MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC",
		"MFECAQEwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC"
		"\ngSEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=",
	};
	static const char begin[] = "-----BEGIN PRIVATE KEY-----\n",
			  end[] = "\n-----END PRIVATE KEY-----\n";
	static const uint8_t public_key[] = { 0x19, 0xbf, 0x44, 0x09, 0x69, 0x84, 0xcd, 0xfe,
					      0x85, 0x41, 0xba, 0xc1, 0x67, 0xdc, 0x3b, 0x96,
					      0xc8, 0x50, 0x86, 0xaa, 0x30, 0xb6, 0xb6, 0xcb,
					      0x0c, 0x5c, 0x38, 0xad, 0x70, 0x31, 0x66, 0xe1 };
	struct mpk_secret_key key;
	char text[300];

	for (size_t i = 0; i < MPK_ARRAY_COUNT(forms); i++) {
		(void)snprintf(text, sizeof text, "a comment\n%s%s%s", begin, forms[i], end);
		ck_assert_msg(mpk_secret_key_parse(mpk_span_str(text), &key, &err) == MPK_OK, "%s",
			      err.text);
		ck_assert_mem_eq(key.public_key.bytes, public_key, sizeof public_key);
		ck_assert_uint_eq(key.seed[0], 0xd4);
		ck_assert_uint_eq(key.seed[31], 0x42);
	}
	/* cut, of another kind, without its end */
	(void)snprintf(text, sizeof text,
		       "%sMC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVg=%s",
		       begin, end);
	ck_assert_int_eq(mpk_secret_key_parse(mpk_span_str(text), &key, &err), MPK_E_SYNTAX);
	(void)snprintf(text, sizeof text,
		       "%sMC4CAQAwBQYDK2VuBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC%s",
		       begin, end);
	ck_assert_int_eq(mpk_secret_key_parse(mpk_span_str(text), &key, &err), MPK_E_SYNTAX);
	ck_assert_ptr_nonnull(strstr(err.text, "X25519"));
	(void)snprintf(text, sizeof text, "%s%s", begin, forms[0]);
	ck_assert_int_eq(mpk_secret_key_parse(mpk_span_str(text), &key, &err), MPK_E_SYNTAX);
	(void)snprintf(text, sizeof text, "%s%s%s", end + 1, forms[0], begin);
	ck_assert_int_eq(mpk_secret_key_parse(mpk_span_str(text), &key, &err), MPK_E_SYNTAX);
}
END_TEST

static void make_ssh_keys(void)
{
	run("ssh-keygen -q -t ed25519 -N '' -C 'a comment' -f ssh && "
	    "ssh-keygen -q -t ed25519 -N secret -f locked && "
	    "ssh-keygen -q -t ecdsa -N '' -f ecdsa");
}

START_TEST(keys_of_openssh)
{
	struct mpk_strbuf line = { 0 }, name = { 0 };
	uint8_t digest[MPK_DIGEST_BYTES];
	struct mpk_public_keys keys;
	struct mpk_secret_key key;

	if (!has_program("ssh-keygen"))
		SKIP_TEST("ssh-keygen is not installed");
	make_ssh_keys();
	ck_assert_msg(read_secret("ssh", &key) == MPK_OK, "%s", err.text);
	ck_assert_msg(read_public("ssh.pub", &keys) == MPK_OK, "%s", err.text);
	ck_assert_uint_eq(keys.count, 1);
	ck_assert_mem_eq(&keys.items[0], &key.public_key, 32);
	mpk_ssh_key_put(&key.public_key, &line);
	ck_assert(mpk_span_starts(read_file("ssh.pub"), mpk_strbuf_text(&line)));
	ck_assert_int_eq(mpk_ssh_key_digest(&key.public_key, digest, &err), MPK_OK);
	mpk_ssh_fingerprint_put(digest, &name);
	run("test \"$(ssh-keygen -lf ssh.pub | cut -d' ' -f2)\" = %s", mpk_strbuf_text(&name));
	mpk_strbuf_fini(&line);
	mpk_strbuf_fini(&name);
	ck_assert_int_eq(read_secret("locked", &key), MPK_E_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(err.text, "encrypted"));
	ck_assert_int_eq(read_secret("ecdsa", &key), MPK_E_SYNTAX);
	ck_assert_int_eq(read_secret("ssh.pub", &key), MPK_E_SYNTAX);
	ck_assert_int_eq(read_public("ecdsa.pub", &keys), MPK_E_SYNTAX);
	ck_assert_int_eq(read_public("ssh", &keys), MPK_E_SYNTAX);
	run("(echo '# of the team'; echo; cat ssh.pub locked.pub; printf 'x y\\n') >team");
	ck_assert_int_eq(read_public("team", &keys), MPK_E_SYNTAX);
	ck_assert_uint_eq(err.at.line, 5);
	run("sed -i '$d' team");
	ck_assert_int_eq(read_public("team", &keys), MPK_OK);
	ck_assert_uint_eq(keys.count, 2);
}
END_TEST

/* Every prefix and every changed character of a key: no crash, and never another private key. */
START_TEST(damaged_keys)
{
	struct mpk_secret_key key, got;
	struct guarded g = guarded_create(4096);
	struct mpk_span text;
	uint8_t changed[4096];

	if (!has_program("ssh-keygen"))
		SKIP_TEST("ssh-keygen is not installed");
	make_ssh_keys();
	text = read_file("ssh");
	ck_assert_uint_le(text.len, sizeof changed);
	ck_assert_int_eq(read_secret("ssh", &key), MPK_OK);
	for (size_t len = 0; len < text.len; len++)
		if (mpk_secret_key_parse(guarded_put(&g, mpk_span_of(text.data, len)), &got,
					 &err) == MPK_OK)
			ck_assert_mem_eq(&got, &key, sizeof key); /* the last line feed */
	for (size_t i = 0; i < text.len; i++) {
		memcpy(changed, text.data, text.len);
		changed[i] ^= 1;
		if (mpk_secret_key_parse(guarded_put(&g, mpk_span_of(changed, text.len)), &got,
					 &err) != MPK_OK)
			continue;
		/* a character of the comment, or of the numbers that are compared */
		ck_assert_mem_eq(&got, &key, sizeof key);
	}
	text = read_file("ssh.pub");
	for (size_t len = 0; len < text.len; len++) {
		struct mpk_public_keys keys;

		(void)!mpk_public_keys_parse(guarded_put(&g, mpk_span_of(text.data, len)), &keys,
					     &err);
	}
	guarded_free(&g);
}
END_TEST

START_TEST(no_keys)
{
	struct mpk_public_keys keys;
	struct mpk_secret_key key;

	ck_assert_int_eq(read_secret("none", &key), MPK_E_IO);
	ck_assert_str_eq(err.at.file, "none");
	ck_assert_int_eq(read_public(".", &keys), MPK_E_IO);
	write_file("empty", "");
	ck_assert_int_eq(read_secret("empty", &key), MPK_E_SYNTAX);
	ck_assert_int_eq(read_public("empty", &keys), MPK_E_SYNTAX);
	write_file("pem", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n");
	ck_assert_int_eq(read_secret("pem", &key), MPK_E_SYNTAX);
	write_file("pem", "-----BEGIN PUBLIC KEY-----\nAAAA\n");
	ck_assert_int_eq(read_public("pem", &keys), MPK_E_SYNTAX);
	run("head -c 70000 /dev/zero >large");
	ck_assert_int_eq(read_secret("large", &key), MPK_E_SYNTAX);
	run("for i in $(seq 65); do echo ssh-ed25519 "
	    "AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f; done >many");
	ck_assert_int_eq(read_public("many", &keys), MPK_E_UNSUPPORTED);
}
END_TEST

START_TEST(without_libcrypto)
{
	struct mpk_secret_key key = { 0 };
	uint8_t signature[64] = { 0 };

	hide_libcrypto = true;
	ck_assert_int_eq(mpk_ed25519_prepare(&err), MPK_E_LOAD);
	ck_assert_ptr_nonnull(strstr(err.text, "install OpenSSL"));
	ck_assert_int_eq(mpk_ed25519_public(&key, &err), MPK_E_LOAD);
	ck_assert_int_eq(mpk_ed25519_sign(&key, mpk_span_str("x"), signature, &err), MPK_E_LOAD);
	ck_assert_int_eq(mpk_ed25519_verify(&key.public_key, mpk_span_str("x"), signature, &err),
			 MPK_E_LOAD);
	hide_libcrypto = false;
}
END_TEST

/* --- OpenSSH's signatures -------------------------------------------------------- */

START_TEST(ssh_keygen_verifies)
{
	uint8_t digest[MPK_DIGEST_BYTES], message[MPK_SSHSIG_MESSAGE_BYTES], signature[64];
	MPK_CLEANUP(mpk_digest_fini) struct mpk_digest d = { 0 };
	struct mpk_strbuf armor = { 0 };
	struct mpk_secret_key key;

	if (!has_program("ssh-keygen"))
		SKIP_TEST("ssh-keygen is not installed");
	make_ssh_keys();
	write_file("message", "some bytes\n");
	ck_assert_int_eq(read_secret("ssh", &key), MPK_OK);
	ck_assert_int_eq(mpk_digest_init(&d, MPK_DIGEST_SHA256, &err), MPK_OK);
	ck_assert_int_eq(mpk_digest_update(&d, mpk_span_str("some bytes\n"), &err), MPK_OK);
	ck_assert_int_eq(mpk_digest_final(&d, digest, &err), MPK_OK);
	mpk_sshsig_message(digest, message);
	ck_assert_int_eq(
		mpk_ed25519_sign(&key, mpk_span_of(message, sizeof message), signature, &err),
		MPK_OK);
	mpk_sshsig_put(&key.public_key, signature, &armor);
	write_file("message.sig", mpk_strbuf_text(&armor));
	mpk_strbuf_fini(&armor);
	run("(printf 'me '; cat ssh.pub) >signers");
	run("ssh-keygen -q -Y verify -f signers -I me -n mpack-library-v1 -s message.sig <message");
	run("! ssh-keygen -Y verify -f signers -I me -n file -s message.sig <message >/dev/null 2>&1");
	/* the same bytes that ssh-keygen writes: Ed25519 leaves no choice */
	run("ssh-keygen -q -Y sign -O hashalg=sha256 -f ssh -n mpack-library-v1 <message 2>/dev/null "
	    ">theirs && cmp theirs message.sig");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sign");
	TCase *t = tcase_create("all");

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, workdir_leave);
	tcase_add_test(t, base64_of_rfc_4648);
	tcase_add_test(t, base64_is_strict);
	tcase_add_test(t, vectors_of_rfc_8032);
	tcase_add_test(t, keys_of_openssl);
	tcase_add_test(t, keys_of_rfc_8410);
	tcase_add_test(t, keys_of_openssh);
	tcase_add_test(t, damaged_keys);
	tcase_add_test(t, no_keys);
	tcase_add_test(t, without_libcrypto);
	tcase_add_test(t, ssh_keygen_verifies);
	suite_add_tcase(suite, t);

	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
