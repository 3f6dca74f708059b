/* SPDX-License-Identifier: Apache-2.0 */
/* canon.h - digests of GPU code that are equal for two builds of one source: "code-digest 1" (FORMAT.md)
 *
 * The digests ignore line tables, debug sections, notes of tools, paths, times, numbers of symbols and sections, the order of
 * sections and kernels, compression, and the parts of names that compilers add to make names unique. */
#ifndef MPK_KNOW_CANON_CANON_H
#define MPK_KNOW_CANON_CANON_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"
#include "base/strbuf.h"
#include "code/info.h"
#include "io/digest.h"

/* The name of the algorithm, as it is printed. */
#define MPK_CANON_NAME "code-digest-1"

enum mpk_canon_what {
	/* a kernel with everything that it calls and refers to, as far as the code shows */
	MPK_CANON_KERNEL,
	MPK_CANON_IMAGE, /* an image without its kernels: variables, constants, other functions */
	MPK_CANON_CODE,  /* code in a format that is not parsed: its bytes */
};

struct mpk_canon_row {
	enum mpk_canon_what what;
	/* name of a kernel, without the parts that only make it unique; else empty */
	struct mpk_span name;
	const char *target; /* "sm_90"; "": the code names no target */
	uint8_t digest[MPK_DIGEST_BYTES];
};

struct mpk_canon_rows {
	const struct mpk_canon_row *items; /* in no particular order */
	size_t count;
};

/* mpk_canon_code - the digests of some code and of all images in it
 * @info    the code after reading; code with a problem gets one row, for its bytes
 * @arena   receives rows and names
 * Returns  MPK_OK; MPK_E_LOAD: libcrypto is not installed; MPK_E_INTERNAL; MPK_E_NOMEM. Code that
 *          breaks the rules of its format is digested by its bytes. */
enum mpk_code mpk_canon_code(const struct mpk_code_info *info, struct mpk_arena *arena,
			     struct mpk_canon_rows *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_canon_name - append a symbol's name without hashes of files and paths:
 * "_ZN10_INTERNAL_6helperEf" for "_ZN31_INTERNAL_5d0836e2_4_a_cu_table6helperEf"
 * Format   FORMAT.md 2 */
void mpk_canon_name(struct mpk_span name, struct mpk_strbuf *out);

#endif
