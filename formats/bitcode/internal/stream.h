/* SPDX-License-Identifier: Apache-2.0 */
/* stream.h - LLVM's bitstream: blocks of records, whose abbreviations it defines itself (FORMAT.md 1) */
#ifndef MPK_FORMATS_BITCODE_STREAM_H
#define MPK_FORMATS_BITCODE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"

/* Of a longer record the first operands are kept; no name and no list of kernels is longer. */
enum { MPK_BITSTREAM_OPERANDS = 1 << 20 };

struct mpk_bitstream_record {
	unsigned block; /* id of the block that it is in */
	unsigned depth; /* of that block: 1 outside of all others */
	uint64_t code;
	const uint64_t *ops; /* until the next record */
	size_t count;
	struct mpk_span blob; /* a view of the bytes */
};

/* Who looks at a stream. Each function may end the walk by a failure. */
struct mpk_bitstream_visitor {
	void *arg;
	/* Whether a block is to be read; its length says where the next thing is. NULL: all are. */
	bool (*enter)(void *arg, unsigned block, unsigned depth);
	enum mpk_code (*leave)(void *arg, unsigned block, unsigned depth, struct mpk_error *err);
	enum mpk_code (*record)(void *arg, const struct mpk_bitstream_record *r,
				struct mpk_error *err);
	bool done; /* set by record: the rest is not wanted, and the walk ends with MPK_OK */
};

/* mpk_bitstream_walk - every block and record from the first byte, which follows the magic number, on
 * @bytes   begins with the magic number
 * @used    receives the bytes up to the end of the last block; what follows is zeros or no block
 * Returns  MPK_OK; MPK_E_CORRUPT with the offset in "payload": a block beyond the end of the one around it or
 *          longer than its records, an abbreviation that is none, nesting beyond 32; what record returns;
 *          MPK_E_NOMEM */
enum mpk_code mpk_bitstream_walk(struct mpk_span bytes, struct mpk_bitstream_visitor *visitor,
				 uint64_t *used, struct mpk_error *err) MPK_MUST_CHECK;

/* Bits that are no blocks: the lengths of the strings of metadata.
 * mpk_bitstream_vbr - a number in pieces of width bits; *failed is set where the bytes end before it does */
uint64_t mpk_bitstream_vbr(struct mpk_span bytes, uint64_t *bit, unsigned width, bool *failed);

#endif
