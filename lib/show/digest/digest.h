/* SPDX-License-Identifier: Apache-2.0 */
/* digest.h - minspect --code-digest: digests of a file's code, which a clean rebuild of the same
 * source reproduces; and --diff --ignore=noise, which compares two files by them
 * (know/canon/FORMAT.md) */
#ifndef MPK_SHOW_DIGEST_DIGEST_H
#define MPK_SHOW_DIGEST_DIGEST_H

#include "answer/answer.h"
#include "canon/canon.h"
#include "compare/differ.h"
#include "model/view.h"

/* A thing with a digest: a kernel, the part of an image outside its kernels, a module, a
 * function. */
struct mpk_code_digest {
	const char *path;     /* "/1", "cubin:NAME", "gpu"; "" for the library itself */
	const char *what;     /* "kernel", "image", "code", "module", "function", "inner functions",
			       * "host code"; static storage */
	struct mpk_span name; /* not escaped; may be empty */
	const char *target;   /* "sm_90"; "" if none */
	uint8_t digest[MPK_DIGEST_BYTES];
};

struct mpk_code_digests {
	const char *name;                    /* name of the file */
	uint8_t digest[MPK_DIGEST_BYTES];    /* digest of the whole file */
	const struct mpk_code_digest *items; /* sorted by path, what, target, name, digest */
	size_t count;
};

/* mpk_code_digests_read - compute the digests of a file: of its modules, their code, GPU code of
 * any library, and host functions that TVM calls
 * @arena   receives the list; containers of GPU code are read one at a time and then freed
 * Returns  MPK_OK; MPK_E_LOAD: libcrypto is not installed; MPK_E_INTERNAL; MPK_E_NOMEM */
enum mpk_code mpk_code_digests_read(const struct mpk_view *view, struct mpk_arena *arena,
				    struct mpk_code_digests *out,
				    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_code_digests_compare - find the code that differs between two files
 * @a, @b   the older and the newer file; out borrows their arenas too
 * @out     one change for each kernel, image, module or function; none if the code is the same.
 *          Names and digests of the files are set, sizes are not.
 * Returns  as mpk_code_digests_read */
enum mpk_code mpk_code_digests_compare(const struct mpk_view *a, const struct mpk_view *b,
				       struct mpk_arena *arena, struct mpk_diff *out,
				       struct mpk_error *err) MPK_MUST_CHECK;

/* Printers of struct mpk_code_digests: one line for the file; in full also a line for each thing in
 * it; "algorithm", "digest" and "parts" in JSON */
extern const struct mpk_answer mpk_answer_code_digest;

#endif
