/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_key - a file of private or of public keys: the first byte chooses. PEM is libcrypto's to read. */
#include "fuzz.h"
#include "trust/key.h"

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	struct mpk_span text = fuzz_rest(bytes);
	struct mpk_public_keys keys;
	struct mpk_secret_key secret;

	(void)arena;
	if (fuzz_choice(bytes, 2)) {
		if (mpk_public_keys_parse(text, &keys, NULL) == MPK_OK)
			FUZZ_REQUIRE(keys.count > 0 && keys.count <= MPK_KEYS_MAX);
		return;
	}
	if (mpk_secret_key_parse(text, &secret, NULL) == MPK_OK)
		mpk_secret_key_wipe(&secret);
}
