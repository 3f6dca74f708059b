/* SPDX-License-Identifier: Apache-2.0 */
/* inflate.h - deflate without zlib, for code that applications link: into memory of a known size
 * (FORMAT.md 5) */
#ifndef MPK_FORMATS_DEFLATE_INFLATE_H
#define MPK_FORMATS_DEFLATE_INFLATE_H

#include <stdint.h>

#include "base/error.h"
#include "base/span.h"

/* mpk_inflate - decompress a bare deflate stream
 * @packed  the stream; nothing may follow it
 * @out     len bytes, which the content must fill; undefined on failure
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_NOMEM
 * Format   RFC 1951 */
enum mpk_code mpk_inflate(struct mpk_span packed, uint8_t *out, size_t len,
			  struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_inflate_sum - the CRC-32 of bytes, as in zip and gzip (RFC 1952, 8) */
uint32_t mpk_inflate_sum(struct mpk_span bytes);

#endif
