/* SPDX-License-Identifier: Apache-2.0 */
/* standalone.h - the library inside a standalone library (FORMAT.md)
 *
 * All bytes of the library are stored in another order: first those without the blob, then the blob
 * without its large tensors, and these last. Each tensor is aligned, so that the executor uses it
 * in place. Pieces of the blob may be compressed; these are decompressed first. */
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

/* The symbol of the stored library. */
#define MPK_STANDALONE_SYMBOL "__mpk_standalone_model"

enum {
	MPK_STANDALONE_VERSION = 1,
	MPK_STANDALONE_ALIGN = 64,          /* alignment of a tensor, bytes */
	MPK_STANDALONE_TENSOR_MIN = 4096,   /* smaller tensors stay in the blob */
	MPK_STANDALONE_EXECUTOR_BYTES = 24, /* bytes of the version, with its NUL */
};

/* Consecutive bytes of the blob. */
struct mpk_standalone_piece {
	uint64_t blob_off;     /* offset in the blob */
	uint64_t plain;        /* number of bytes in the blob */
	struct mpk_span bytes; /* the stored bytes */
	bool is_tensor;        /* elements of one tensor, whole and aligned */
	bool is_packed;        /* bytes are a zstd frame */
};

struct mpk_standalone {
	enum mpk_generation gen;
	uint64_t bytes;         /* bytes of everything */
	const char *executor;   /* version of the library that runs the model, "0.1.0" */
	bool is_linked;         /* the host code is also linked into this library */
	struct mpk_span before; /* the stored library before its blob */
	struct mpk_span after;  /* and after its blob */
	uint64_t blob_bytes;    /* bytes of the blob between the two */
	const struct mpk_standalone_piece *pieces; /* the pieces of the blob, in order */
	size_t piece_count;
	bool is_packed;        /* some pieces are compressed */
	uint64_t packed_bytes; /* bytes of the compressed pieces, */
	uint64_t plain_bytes;  /* and their decompressed bytes; 0: none */
};

/* The most bytes to which all compressed pieces of a model with this many bytes may decompress: an
 * inspection holds them in memory. */
#define MPK_STANDALONE_PLAIN_MAX(bytes) ((UINT64_C(32) << 20) + 2 * (uint64_t)(bytes))

/* mpk_standalone_read - read the header and the list of pieces; the bytes of library and blob are
 * not checked
 * @bytes   of the symbol; bytes after the end that the header gives are ignored
 * @arena   receives the list of pieces; everything else is views
 * Returns  MPK_OK; MPK_E_CORRUPT with the offset; MPK_E_UNSUPPORTED: a later version; MPK_E_NOMEM */
enum mpk_code mpk_standalone_read(struct mpk_span bytes, struct mpk_arena *arena,
				  struct mpk_standalone *out, struct mpk_error *err) MPK_MUST_CHECK;

/* Decompresses a zstd frame, as ZSTD_decompress does.
 * Returns  the number of decompressed bytes; any other number if the frame is broken */
typedef size_t mpk_standalone_decoder(void *to, size_t room, const void *frame, size_t bytes);

/* mpk_standalone_copy - copy the bytes of a piece, decompressed
 * @decode  NULL: no decoder
 * @to      receives piece->plain bytes
 * Returns  MPK_OK; MPK_E_CORRUPT: its frame is broken, or decompresses to another number of bytes;
 *          MPK_E_UNSUPPORTED: it is compressed, and there is no decoder */
enum mpk_code mpk_standalone_copy(const struct mpk_standalone_piece *piece,
				  mpk_standalone_decoder *decode, void *to,
				  struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_standalone_unpack_tensors - decompress the compressed tensors into arena, with the alignment
 * that they have in the file
 * Returns  as mpk_standalone_copy; MPK_E_NOMEM */
enum mpk_code mpk_standalone_unpack_tensors(struct mpk_standalone *s,
					    mpk_standalone_decoder *decode, struct mpk_arena *arena,
					    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_standalone_library - restore the stored library
 * @out     in arena: before, blob, after
 * Returns  as mpk_standalone_copy; MPK_E_NOMEM */
enum mpk_code mpk_standalone_library(const struct mpk_standalone *s, mpk_standalone_decoder *decode,
				     struct mpk_arena *arena, struct mpk_span *out,
				     struct mpk_error *err) MPK_MUST_CHECK;

/* The elements of a tensor that are stored separately, by their place in the blob. */
struct mpk_standalone_tensor {
	uint64_t off, bytes;
};

/* Facts that are stored with the library. */
struct mpk_standalone_facts {
	enum mpk_generation gen;
	const char *executor;
	bool is_linked;
	/* Compresses a piece; an empty result means that it stays uncompressed. NULL: compress nothing */
	enum mpk_code (*pack)(struct mpk_span plain, struct mpk_arena *arena, struct mpk_span *out,
			      struct mpk_error *err);
};

/* mpk_standalone_write - append what mpk_standalone_read reads
 * @library the whole file; borrowed until out is written
 * @blob    the part of library with the blob
 * @tensors in the order of the blob, without overlaps
 * @saved   receives how many bytes compression saved
 * @out     its arena receives the compressed pieces
 * Returns  MPK_OK; MPK_E_NOMEM; the failure of pack. The rope remembers its own failures. */
enum mpk_code mpk_standalone_write(struct mpk_span library, struct mpk_span blob,
				   const struct mpk_standalone_facts *facts,
				   const struct mpk_standalone_tensor *tensors, size_t tensor_count,
				   uint64_t *saved, struct mpk_rope *out,
				   struct mpk_error *err) MPK_MUST_CHECK;

#endif
