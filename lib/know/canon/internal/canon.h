/* SPDX-License-Identifier: Apache-2.0 */
/* canon.h - declarations that the files of this room share: digests of parts, and of nodes that
 * refer to each other */
#ifndef MPK_CANON_INTERNAL_CANON_H
#define MPK_CANON_INTERNAL_CANON_H

#include "canon/canon.h"
#include "canon/hash.h"

/* mpk_canon_spend - take bytes from the budget for reading: parts of a hostile file overlap
 * @format  first word of the error
 * Returns  MPK_OK; MPK_E_CORRUPT: too few bytes are left */
enum mpk_code mpk_canon_spend(uint64_t *left, const char *format, uint64_t bytes,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* --- the digest of parts does not depend on their order ------------------------------------------ */

/* The digest of a part of node `to`. */
struct mpk_canon_part {
	uint32_t to;
	uint8_t digest[MPK_DIGEST_BYTES];
};

struct mpk_canon_parts {
	struct mpk_canon_part *items; /* malloc'ed */
	size_t count, cap;
};

/* mpk_canon_part - add a part; false: memory is out */
bool mpk_canon_part(struct mpk_canon_parts *parts, size_t to,
		    const uint8_t digest[MPK_DIGEST_BYTES]) MPK_MUST_CHECK;

/* mpk_canon_sum - for each of count nodes, the digest of its parts' digests (FORMAT.md 1.1)
 * @parts   is sorted
 * @own     NULL, or for each node a digest that comes before those of its parts */
enum mpk_code mpk_canon_sum(struct mpk_canon_parts *parts, size_t count,
			    const uint8_t (*own)[MPK_DIGEST_BYTES],
			    uint8_t (*out)[MPK_DIGEST_BYTES], struct mpk_error *err) MPK_MUST_CHECK;

/* --- nodes that refer to each other (FORMAT.md 1.2) --------------------------------------- */

struct mpk_canon_edge {
	uint32_t from, to;
};

struct mpk_canon_edges {
	struct mpk_canon_edge *items; /* malloc'ed */
	size_t count, cap;
};

/* mpk_canon_edge - add an edge, unless it leads back to its own node; false: memory is out */
bool mpk_canon_edge(struct mpk_canon_edges *edges, size_t from, size_t to) MPK_MUST_CHECK;

/* mpk_canon_reach - for each of count nodes, the digest of the node and of all nodes that can be reached from it
 * Takes time linear in nodes and edges, apart from sorting.
 * @edges   is sorted
 * @local   for each node: its own digest
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

/* Computes the rows for code of one format.
 * @rows    has space for info->kernel_count + 1 rows, whose digests are set; the last row is for
 *          the rest of the image
 * Returns  MPK_OK; MPK_E_CORRUPT, MPK_E_SYNTAX: the code breaks the rules of its format, and the
 *          caller digests its bytes; as mpk_canon_end */
struct mpk_canon_reader {
	const struct mpk_code_format *format;
	enum mpk_code (*read)(const struct mpk_code_info *info, struct mpk_arena *arena,
			      struct mpk_canon_row *rows, struct mpk_error *err);
};

extern const struct mpk_canon_reader mpk_canon_cubin, mpk_canon_ptx, mpk_canon_amdgpu;

#endif
