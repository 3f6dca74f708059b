/* SPDX-License-Identifier: Apache-2.0 */
#include "mpack/key.h"

#include <sys/stat.h>

/* No output refuses its name for a key, which is open no longer when it appears. */
static bool is_same(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

enum mpk_code mpk_key_open(const char *path, const char *output, struct mpk_secret_key *key,
			   struct mpk_error *err)
{
	MPK_TRY(mpk_secret_key_read(path, key, err));
	if (output && is_same(path, output)) {
		enum mpk_code code =
			mpk_fail(err, MPK_E_USAGE, "this is the key, and would be overwritten");

		mpk_error_at_file(err, output);
		return code;
	}
	return mpk_ed25519_prepare(err);
}
