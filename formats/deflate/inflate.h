/* SPDX-License-Identifier: Apache-2.0 */
/* inflate.h - what the readers of deflated bytes share; for this folder only */
#ifndef MPK_FORMATS_DEFLATE_INFLATE_H
#define MPK_FORMATS_DEFLATE_INFLATE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"

/* windowBits of inflateInit2 (zlib.h) */
enum { MPK_WINDOW_RAW = -15, MPK_WINDOW_GZIP = 15 + 16 };

/* Of input at a time: zlib's counters have 32 bits. */
enum { MPK_INFLATE_PIECE = 4 << 20 };

/* mpk_inflate_fail - the error for what inflate returned
 * @bytes   all of the input
 * @in_pos  how much of it inflate has taken
 * @detail  z_stream.msg, or NULL
 * Returns  MPK_E_CORRUPT with the offset in "file"; MPK_E_NOMEM */
enum mpk_code mpk_inflate_fail(struct mpk_span bytes, size_t in_pos, int rc, const char *detail,
			       struct mpk_error *err);

/* mpk_inflate_fail_limit - the error for more than limit bytes of output: MPK_E_UNSUPPORTED */
enum mpk_code mpk_inflate_fail_limit(uint64_t limit, struct mpk_error *err);

/* mpk_inflate_check_end - whether a bare stream has used up its bytes
 * Returns  MPK_OK; MPK_E_CORRUPT with the offset in "file" */
enum mpk_code mpk_inflate_check_end(struct mpk_span bytes, size_t in_pos,
				    struct mpk_error *err) MPK_MUST_CHECK;

#endif
