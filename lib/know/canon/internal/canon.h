/* SPDX-License-Identifier: Apache-2.0 */
/* canon.h - what the files of this room share: digests of parts, and of what refers to each other */
#ifndef MPK_CANON_INTERNAL_CANON_H
#define MPK_CANON_INTERNAL_CANON_H

#include "canon/canon.h"
#include "canon/hash.h"

/* mpk_canon_spend - count bytes that are read of what may still be: parts of a hostile file overlap
 * @format  begins the error
 * Returns  MPK_OK; MPK_E_CORRUPT: too many */
enum mpk_code mpk_canon_spend(uint64_t *left, const char *format, uint64_t bytes,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* --- parts of things, in whatever order they were found -------------------------------------------- */

/* Something that belongs to node `to`. */
struct mpk_canon_part {
	uint32_t to;
	uint8_t digest[MPK_DIGEST_BYTES];
};

struct mpk_canon_parts {
	struct mpk_canon_part *items; /* malloc'ed */
	size_t count, cap;
};

/* mpk_canon_part - add one; false: memory is out */
bool mpk_canon_part(struct mpk_canon_parts *parts, size_t to,
		    const uint8_t digest[MPK_DIGEST_BYTES]) MPK_MUST_CHECK;

/* mpk_canon_sum - of each of count nodes the digest of its parts, by their digests (FORMAT.md 1.1)
 * @parts   is sorted
 * @own     NULL, or a further digest of each node, which is in front */
enum mpk_code mpk_canon_sum(struct mpk_canon_parts *parts, size_t count,
			    const uint8_t (*own)[MPK_DIGEST_BYTES],
			    uint8_t (*out)[MPK_DIGEST_BYTES], struct mpk_error *err) MPK_MUST_CHECK;

/* --- what refers to each other (FORMAT.md 1.2) ------------------------------------------------------ */

struct mpk_canon_edge {
	uint32_t from, to;
};

struct mpk_canon_edges {
	struct mpk_canon_edge *items; /* malloc'ed */
	size_t count, cap;
};

/* mpk_canon_edge - add one, unless it leads to where it begins; false: memory is out */
bool mpk_canon_edge(struct mpk_canon_edges *edges, size_t from, size_t to) MPK_MUST_CHECK;

/* mpk_canon_reach - of each of count nodes the digest of it and all that can be reached from it
 * In time that is linear in nodes and edges, but for sorting.
 * @edges   are sorted
 * @local   of each node alone
 * Returns  MPK_OK; MPK_E_NOMEM; as mpk_canon_end */
enum mpk_code mpk_canon_reach(struct mpk_canon_edges *edges, size_t count,
			      const uint8_t (*local)[MPK_DIGEST_BYTES],
			      uint8_t (*out)[MPK_DIGEST_BYTES],
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_canon_kernel - the digest of a kernel: its name, and the digest of all that it reaches
 * Returns  as mpk_canon_end */
enum mpk_code mpk_canon_kernel(struct mpk_span name, const uint8_t code[MPK_DIGEST_BYTES],
			       struct mpk_canon_row *row, struct mpk_error *err) MPK_MUST_CHECK;

/* --- formats ---------------------------------------------------------------------------------------- */

/* How code of a format is taken.
 * @rows    room for info->kernel_count + 1, of which the digests are set; the last is that of the image
 * Returns  MPK_OK; MPK_E_CORRUPT, MPK_E_SYNTAX: it does not hold what is wanted, and is to be taken by its bytes; as
 *          mpk_canon_end */
struct mpk_canon_reader {
	const struct mpk_code_format *format;
	enum mpk_code (*read)(const struct mpk_code_info *info, struct mpk_arena *arena,
			      struct mpk_canon_row *rows, struct mpk_error *err);
};

extern const struct mpk_canon_reader mpk_canon_cubin, mpk_canon_ptx, mpk_canon_amdgpu;

#endif
