/* SPDX-License-Identifier: Apache-2.0 */
/* weights.h - named tensors in files: safetensors, GGUF, NumPy's .npz, TVM's tensor cache and
 * parameters (FORMAT.md)
 *
 * The whole document is read. The tensors are in the file itself, or in shards, whose names are
 * relative to its folder. The elements of tensors are not read. */
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

/* How the bytes of a tensor are decoded. */
enum mpk_weight_coding {
	MPK_WEIGHT_PLAIN,      /* plain elements, little-endian, row-major */
	MPK_WEIGHT_BF16_UPPER, /* each element is the upper half of a float32 */
	MPK_WEIGHT_BLOCKS,     /* quantized blocks, whose decoding depends on their type */
	MPK_WEIGHT_ELSEWHERE,  /* not known here: an index only names the file of the tensor */
};

struct mpk_weight {
	struct mpk_span name;
	enum mpk_weight_coding coding;
	struct mpk_dtype dtype; /* type of the elements; void if coding is BLOCKS or ELSEWHERE */
	const char *type; /* the format's own name, "F32", "Q4_K"; in the arena; NULL: ELSEWHERE, or
			   * the format has only dtypes */
	const int64_t *shape; /* each >= 0, outermost first */
	size_t ndim;
	size_t shard;      /* index in shards */
	uint64_t off, len; /* in bytes, in the shard; checked if it is the file itself */
};

/* A file with tensors. */
struct mpk_weight_shard {
	struct mpk_span name; /* relative, without ".."; empty: the file that was read */
	bool has_bytes;       /* the document gives its length */
	uint64_t bytes;
	uint64_t data_off; /* offset of the first tensor in it; not known for a shard that an index
			   * names */
	struct mpk_span md5; /* MD5 of the whole shard, 32 hexadecimal digits; empty: not given */
};

/* A fact in a document about itself. */
struct mpk_weight_note {
	struct mpk_span key, value; /* value: a text; a number or a list as JSON */
};

struct mpk_weights {
	const struct mpk_weights_format *format;
	const struct mpk_weight *items; /* in the order of the document */
	size_t count;
	const struct mpk_weight_shard *shards; /* at least one */
	size_t shard_count;
	const struct mpk_weight_note *notes;
	size_t note_count;
	uint64_t align;   /* alignment of each tensor in bytes; 1: any */
	bool is_gapless;  /* the format allows no bytes between tensors */
	bool has_headers; /* each tensor has a header before it, so the bytes between tensors are
			   * used */
};

/* A format: its name, and how it is recognised and read. */
struct mpk_weights_format {
	const char *name, *title; /* "gguf", "GGUF file" */
	bool (*is)(struct mpk_span file);
	enum mpk_code (*read)(struct mpk_span file, struct mpk_arena *arena,
			      struct mpk_weights *out, struct mpk_error *err);
};

extern const struct mpk_weights_format mpk_weights_safetensors, mpk_weights_safetensors_index,
	mpk_weights_gguf, mpk_weights_tensor_cache, mpk_weights_params, mpk_weights_npz;

/* mpk_weights_format_of - the format of a file, by its first bytes and words; NULL: none */
const struct mpk_weights_format *mpk_weights_format_of(struct mpk_span file);

/* mpk_weights_read - list the tensors of a file in a known format
 * @out     texts are in arena or views of the file
 * Returns  MPK_OK; MPK_E_CORRUPT (offset in "file") and MPK_E_SYNTAX (line and column): not such a
 *          document, two tensors of one name, a tensor whose bytes do not fit its type and shape or
 *          do not lie in the file, a name of a shard outside of the folder; MPK_E_UNSUPPORTED: a
 *          version, a byte order or a type that is not in FORMAT.md; MPK_E_NOMEM. Time is linear in
 *          the file. */
enum mpk_code mpk_weights_read(struct mpk_span file, struct mpk_arena *arena,
			       struct mpk_weights *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_weights_lay_out - check the layout of tensors: overlaps, gaps, alignment, bytes after the
 * last
 * @bytes   of each shard, as many as shards; UINT64_MAX: not known, and the end is not checked
 * Checks   "tensor-bounds", "tensor-overlap", "tensor-gap", "tensor-align"
 * Returns  MPK_OK; MPK_E_NOMEM. Findings have "file" offsets; those about shards name them. */
enum mpk_code mpk_weights_lay_out(const struct mpk_weights *w, const uint64_t *bytes,
				  struct mpk_report *report, struct mpk_error *err) MPK_MUST_CHECK;

#endif
