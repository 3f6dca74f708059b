/* SPDX-License-Identifier: Apache-2.0 */
#include "mpack/key.h"

#include <sys/mman.h>
#include <sys/stat.h>

/* Compilers get nothing of our memory, but LLVM works in a fork. Where the kernel has no such advice (before
 * Linux 4.14) the key is in that fork, too. */
struct mpk_secret_key *mpk_key_memory(void)
{
	struct mpk_secret_key *key =
		mmap(NULL, sizeof *key, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (key == MAP_FAILED)
		return NULL;
	(void)madvise(key, sizeof *key, MADV_WIPEONFORK);
	return key;
}

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
