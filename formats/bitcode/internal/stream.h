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

/* Longer records keep their first operands; no name and no list of kernels is longer. */
enum { MPK_BITSTREAM_OPERANDS = 1 << 20 };

struct mpk_bitstream_record {
	unsigned block; /* id of the block that contains it */
	unsigned depth; /* nesting of that block, from 1 */
	uint64_t code;
	const uint64_t *ops; /* valid until the next record */
	size_t count;
	struct mpk_span blob; /* a view of the bytes */
};

/* The functions that a walk calls. A failure of one ends the walk. */
struct mpk_bitstream_visitor {
	void *arg;
	/* Whether to read a block; else it is skipped by its length. NULL: read all. */
	bool (*enter)(void *arg, unsigned block, unsigned depth);
	enum mpk_code (*leave)(void *arg, unsigned block, unsigned depth, struct mpk_error *err);
	enum mpk_code (*record)(void *arg, const struct mpk_bitstream_record *r,
				struct mpk_error *err);
	bool done; /* set by record to end the walk with MPK_OK */
};

/* mpk_bitstream_walk - walk every block and record after the magic number
 * @bytes   begins with the magic number
 * @used    receives the bytes up to the end of the last block; zeros, or no block, follow
 * Returns  MPK_OK; MPK_E_CORRUPT with the offset in "payload": a block beyond the end of the one
 *          around it or longer than its records, an invalid abbreviation, more than 32 nested
 *          blocks; the failure of record; MPK_E_NOMEM */
enum mpk_code mpk_bitstream_walk(struct mpk_span bytes, struct mpk_bitstream_visitor *visitor,
				 uint64_t *used, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_bitstream_vbr - read a number in pieces of width bits, outside of a walk, such as the lengths
 * of metadata strings; sets *failed if the bytes end before it does */
uint64_t mpk_bitstream_vbr(struct mpk_span bytes, uint64_t *bit, unsigned width, bool *failed);

#endif
