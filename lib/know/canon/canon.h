/* SPDX-License-Identifier: Apache-2.0 */
/* canon.h - digests of GPU code that are equal for two builds of one source: "code-digest 1" (FORMAT.md)
 *
 * They do not see line tables, debug sections, notes of tools, paths, times, the numbers of symbols and sections,
 * the order of sections and kernels, packing, and what compilers put into names to make them unique.
 */
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

/* What digests of this algorithm are called, wherever they are printed. */
#define MPK_CANON_NAME "code-digest-1"

enum mpk_canon_what {
	MPK_CANON_KERNEL, /* with all that it calls and refers to, as far as the code tells */
	MPK_CANON_IMAGE, /* all of an image but its kernels: variables, constants, other functions */
	MPK_CANON_CODE,  /* code whose format is not read here: its bytes */
};

struct mpk_canon_row {
	enum mpk_canon_what what;
	struct mpk_span name; /* of a kernel, without what only made it unique; else empty */
	const char *target;   /* "sm_90"; "": the code names none */
	uint8_t digest[MPK_DIGEST_BYTES];
};

struct mpk_canon_rows {
	const struct mpk_canon_row *items; /* in no particular order */
	size_t count;
};

/* mpk_canon_code - the digests of a run of code with all of its images
 * @info    that was read; one with a problem has a row of its bytes
 * @arena   receives rows and names
 * Returns  MPK_OK; MPK_E_LOAD: libcrypto is not installed; MPK_E_INTERNAL; MPK_E_NOMEM. Code that does not hold
 *          what its format wants is taken by its bytes. */
enum mpk_code mpk_canon_code(const struct mpk_code_info *info, struct mpk_arena *arena,
			     struct mpk_canon_rows *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_canon_name - append a symbol's name without hashes of files and paths: "_ZN10_INTERNAL_6helperEf" of
 * "_ZN31_INTERNAL_5d0836e2_4_a_cu_table6helperEf"
 * Format   FORMAT.md 2 */
void mpk_canon_name(struct mpk_span name, struct mpk_strbuf *out);

#endif
