/* SPDX-License-Identifier: Apache-2.0 */
/* standalone.h - a finished library as a standalone one carries it (FORMAT.md)
 *
 * The library is there to the byte, in another order: first its bytes without the blob, then the blob with its large
 * tensors taken out, and these last, each aligned, so that whoever runs the model uses them where they lie.
 */
#ifndef MPK_FORMATS_STANDALONE_STANDALONE_H
#define MPK_FORMATS_STANDALONE_STANDALONE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/rope.h"
#include "base/span.h"
#include "blob/blob.h"

/* The symbol that holds it. */
#define MPK_STANDALONE_SYMBOL "__mpk_standalone_model"

enum {
	MPK_STANDALONE_VERSION = 1,
	MPK_STANDALONE_ALIGN = 64,          /* of a tensor, bytes */
	MPK_STANDALONE_TENSOR_MIN = 4096,   /* smaller ones stay where they are */
	MPK_STANDALONE_EXECUTOR_BYTES = 24, /* of the version, with its NUL */
};

/* A run of bytes of the blob. */
struct mpk_standalone_piece {
	uint64_t blob_off;     /* where it is in the blob */
	struct mpk_span bytes; /* where it lies */
	bool is_tensor;        /* taken out: aligned, whole, and elements of one tensor */
};

struct mpk_standalone {
	enum mpk_generation gen;
	uint64_t bytes;         /* of all of it */
	const char *executor;   /* the version of the library that runs it, "0.1.0" */
	bool is_linked;         /* its host code is linked in beside it, too */
	struct mpk_span before; /* of the carried library: what precedes its blob */
	struct mpk_span after;  /* and what follows */
	uint64_t blob_bytes;    /* between the two */
	const struct mpk_standalone_piece *pieces; /* which make up the blob, in its order */
	size_t piece_count;
};

/* mpk_standalone_read - everything is checked but the bytes of library and blob
 * @bytes   of the symbol; what follows the end that the header tells is ignored
 * @arena   receives the list of pieces; all else are views
 * Returns  MPK_OK; MPK_E_CORRUPT with the offset; MPK_E_UNSUPPORTED: a later version; MPK_E_NOMEM */
enum mpk_code mpk_standalone_read(struct mpk_span bytes, struct mpk_arena *arena,
				  struct mpk_standalone *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_standalone_library - the carried library as it was
 * @out     in arena: before, blob, after
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_standalone_library(const struct mpk_standalone *s, struct mpk_arena *arena,
				     struct mpk_span *out, struct mpk_error *err) MPK_MUST_CHECK;

/* A tensor's elements that are to be taken out, by their place in the blob. */
struct mpk_standalone_tensor {
	uint64_t off, bytes;
};

/* What is written beside the library's own bytes. */
struct mpk_standalone_facts {
	enum mpk_generation gen;
	const char *executor;
	bool is_linked;
};

/* mpk_standalone_write - the inverse of reading
 * @library the whole file; borrowed until out is written
 * @blob    part of it: the bytes of the blob
 * @tensors in the order of the blob, none over another
 * Failures are remembered by the rope. */
void mpk_standalone_write(struct mpk_span library, struct mpk_span blob,
			  const struct mpk_standalone_facts *facts,
			  const struct mpk_standalone_tensor *tensors, size_t tensor_count,
			  struct mpk_rope *out);

#endif
