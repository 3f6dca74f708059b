/* SPDX-License-Identifier: Apache-2.0 */
/* weights.h - named tensors in files: safetensors, GGUF, NumPy's .npz, TVM's tensor cache and parameters
 * (FORMAT.md)
 *
 * A document is read whole and its tensors are found where they lie: in the file itself, or in shards, whose names are
 * relative to its folder. What the tensors hold is not looked at.
 */
#ifndef MPK_FORMATS_WEIGHTS_WEIGHTS_H
#define MPK_FORMATS_WEIGHTS_WEIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/report.h"
#include "base/span.h"
#include "dtype/dtype.h"

/* How the bytes of a tensor become its elements. */
enum mpk_weight_coding {
	MPK_WEIGHT_PLAIN,      /* elements as they are, little-endian, row-major */
	MPK_WEIGHT_BF16_UPPER, /* each the upper half of a float32 */
	MPK_WEIGHT_BLOCKS,     /* quantized; only its own software knows how */
	MPK_WEIGHT_ELSEWHERE, /* an index names the file that says it: nothing else of it is known here */
};

struct mpk_weight {
	struct mpk_span name;
	enum mpk_weight_coding coding;
	struct mpk_dtype dtype; /* of the elements; void when coding is BLOCKS or ELSEWHERE */
	const char *type; /* the format's own name: "F32", "Q4_K"; in the arena; NULL: ELSEWHERE,
				 * and where the format has dtypes alone */
	const int64_t *shape; /* >= 0 each, outermost first */
	size_t ndim;
	size_t shard;      /* index into shards */
	uint64_t off, len; /* bytes in the shard; of the file itself they lie in it */
};

/* A file that tensors lie in. */
struct mpk_weight_shard {
	struct mpk_span name; /* relative, without ".." in it; empty: the file that was read */
	bool has_bytes;       /* the document says how long it is */
	uint64_t bytes;
	uint64_t
		data_off; /* where tensors begin in it; of a shard that an index names it is not known here */
	struct mpk_span md5; /* of all of it, 32 hexadecimal digits; empty: not said */
};

/* What a document says of itself. */
struct mpk_weight_note {
	struct mpk_span key, value; /* value: a text, or a number or a list as JSON */
};

struct mpk_weights {
	const struct mpk_weights_format *format;
	const struct mpk_weight *items; /* in the order of the document */
	size_t count;
	const struct mpk_weight_shard *shards; /* one at least */
	size_t shard_count;
	const struct mpk_weight_note *notes;
	size_t note_count;
	uint64_t align;  /* of each tensor in it, bytes; 1: any */
	bool is_gapless; /* the format allows no bytes between tensors */
	bool has_headers; /* each tensor has one of its own before it: what is between them is read */
};

/* One format: how it is called, recognised and read. */
struct mpk_weights_format {
	const char *name, *title; /* "gguf", "GGUF file" */
	bool (*is)(struct mpk_span file);
	enum mpk_code (*read)(struct mpk_span file, struct mpk_arena *arena,
			      struct mpk_weights *out, struct mpk_error *err);
};

extern const struct mpk_weights_format mpk_weights_safetensors, mpk_weights_safetensors_index,
	mpk_weights_gguf, mpk_weights_tensor_cache, mpk_weights_params, mpk_weights_npz;

/* mpk_weights_format_of - which of them a file is, by its first bytes and words; NULL: none */
const struct mpk_weights_format *mpk_weights_format_of(struct mpk_span file);

/* mpk_weights_read - the tensors of a file that mpk_weights_format_of knows
 * @out     texts are in arena or views of the file
 * Returns  MPK_OK; MPK_E_CORRUPT (offset in "file") and MPK_E_SYNTAX (line and column): no such document, two tensors
 *          of one name, a tensor whose bytes are not those of its type and shape or do not lie in the file, a name of a
 *          shard that leads out of the folder; MPK_E_UNSUPPORTED: a version, a byte order or a type that is not in
 *          FORMAT.md; MPK_E_NOMEM. In time that is linear in the file. */
enum mpk_code mpk_weights_read(struct mpk_span file, struct mpk_arena *arena,
			       struct mpk_weights *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_weights_lay_out - findings about where tensors lie: overlaps, gaps, alignment, bytes after the last
 * @bytes   of each shard, as many as shards; UINT64_MAX: not known, which checks no end
 * Checks   "tensor-bounds", "tensor-overlap", "tensor-gap", "tensor-align"
 * Returns  MPK_OK; MPK_E_NOMEM. Findings are at "file" offsets, and of shards name them. */
enum mpk_code mpk_weights_lay_out(const struct mpk_weights *w, const uint64_t *bytes,
				  struct mpk_report *report, struct mpk_error *err) MPK_MUST_CHECK;

#endif
