/* SPDX-License-Identifier: Apache-2.0 */
/* standalone.h - a finished library as a standalone one carries it (FORMAT.md)
 *
 * The library is there to the byte, in another order: first its bytes without the blob, then the blob with its large
 * tensors taken out, and these last, each aligned, so that whoever runs the model uses them where they lie. Pieces of the
 * blob may be packed; then they are unpacked first.
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
	uint64_t plain;        /* how many bytes of the blob it is */
	struct mpk_span bytes; /* where it lies */
	bool is_tensor;        /* taken out: aligned, whole, and elements of one tensor */
	bool is_packed;        /* bytes are a zstd frame of it */
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
	bool is_packed;        /* some pieces are */
	uint64_t packed_bytes; /* of those as they lie, */
	uint64_t plain_bytes;  /* and of what they are; 0: none */
};

/* What all packed pieces may become, bytes, of a model of so many: an inspection holds it in memory. */
#define MPK_STANDALONE_PLAIN_MAX(bytes) ((UINT64_C(32) << 20) + 2 * (uint64_t)(bytes))

/* mpk_standalone_read - everything is checked but the bytes of library and blob
 * @bytes   of the symbol; what follows the end that the header tells is ignored
 * @arena   receives the list of pieces; all else are views
 * Returns  MPK_OK; MPK_E_CORRUPT with the offset; MPK_E_UNSUPPORTED: a later version; MPK_E_NOMEM */
enum mpk_code mpk_standalone_read(struct mpk_span bytes, struct mpk_arena *arena,
				  struct mpk_standalone *out, struct mpk_error *err) MPK_MUST_CHECK;

/* Unpacks a zstd frame, as ZSTD_decompress does.
 * Returns  how many bytes that were, or any other number when it is broken */
typedef size_t mpk_standalone_decoder(void *to, size_t room, const void *frame, size_t bytes);

/* mpk_standalone_copy - the bytes of a piece as the blob has them
 * @decode  NULL: there is none
 * @to      receives piece->plain bytes
 * Returns  MPK_OK; MPK_E_CORRUPT: its frame is broken, or becomes more or less than is said;
 *          MPK_E_UNSUPPORTED: it is packed, and there is no decoder */
enum mpk_code mpk_standalone_copy(const struct mpk_standalone_piece *piece,
				  mpk_standalone_decoder *decode, void *to,
				  struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_standalone_unpack_tensors - unpack those that are packed, into arena, aligned as they are in the file
 * Returns  as mpk_standalone_copy; MPK_E_NOMEM */
enum mpk_code mpk_standalone_unpack_tensors(struct mpk_standalone *s,
					    mpk_standalone_decoder *decode, struct mpk_arena *arena,
					    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_standalone_library - the carried library as it was
 * @out     in arena: before, blob, after
 * Returns  as mpk_standalone_copy; MPK_E_NOMEM */
enum mpk_code mpk_standalone_library(const struct mpk_standalone *s, mpk_standalone_decoder *decode,
				     struct mpk_arena *arena, struct mpk_span *out,
				     struct mpk_error *err) MPK_MUST_CHECK;

/* A tensor's elements that are to be taken out, by their place in the blob. */
struct mpk_standalone_tensor {
	uint64_t off, bytes;
};

/* What is written beside the library's own bytes. */
struct mpk_standalone_facts {
	enum mpk_generation gen;
	const char *executor;
	bool is_linked;
	/* Packs a piece; what is left empty stays as it is. NULL: nothing is packed */
	enum mpk_code (*pack)(struct mpk_span plain, struct mpk_arena *arena, struct mpk_span *out,
			      struct mpk_error *err);
};

/* mpk_standalone_write - the inverse of reading
 * @library the whole file; borrowed until out is written
 * @blob    part of it: the bytes of the blob
 * @tensors in the order of the blob, none over another
 * @saved   receives by how many bytes packing made the pieces smaller
 * @out     its arena receives what is packed
 * Returns  MPK_OK; MPK_E_NOMEM; what pack returns. Failures of the rope are remembered by it. */
enum mpk_code mpk_standalone_write(struct mpk_span library, struct mpk_span blob,
				   const struct mpk_standalone_facts *facts,
				   const struct mpk_standalone_tensor *tensors, size_t tensor_count,
				   uint64_t *saved, struct mpk_rope *out,
				   struct mpk_error *err) MPK_MUST_CHECK;

#endif
