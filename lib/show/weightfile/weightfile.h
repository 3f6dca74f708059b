/* SPDX-License-Identifier: Apache-2.0 */
/* weightfile.h - files of weights: what is in them, whether they hold together, how two differ */
#ifndef MPK_WEIGHTFILE_WEIGHTFILE_H
#define MPK_WEIGHTFILE_WEIGHTFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "answer/answer.h"
#include "base/report.h"
#include "compare/differ.h"
#include "io/copy.h"
#include "text/phrase.h"
#include "value/param_file.h"

/* A file of weights that is looked at. */
struct mpk_weightfile {
	const char *name; /* as the user named it, not escaped */
	uint64_t bytes;   /* of it alone, without its shards */
	struct mpk_weight_set set;
	const struct mpk_name_filter *filter; /* chooses tensors by name; NULL: all */
	bool has_figures;                     /* with the figures of elements, too */
};

/* of struct mpk_weightfile: a line of the whole, one for each type, one for each tensor; in verbose text what the
 * document says of itself, and of each tensor its least, greatest and mean element and how many are no numbers, for
 * which all of it is read. In JSON the same (minspect.schema.json, "weights"). */
extern const struct mpk_answer mpk_answer_weights;

/* Values that words of 32 bits hold, from the lowest bits on, with a scale for each group of them along one axis. */
struct mpk_weight_groups {
	unsigned bits;  /* of a value, 4 or 8: it is (stored - (2^(bits-1) - 1)) * scale */
	uint64_t group; /* values of a group */
	struct mpk_span words, scales; /* all of both tensors */
	struct mpk_dtype scale_type;
	size_t axis;                      /* along which the groups lie */
	uint64_t words_long, scales_long; /* extents of that axis */
	uint64_t inner;                   /* words from one to the next along it */
};

/* mpk_weight_groups_of - whether a tensor is the words of quantized values: its name ends in "q_weight", and a tensor
 * near it whose name ends in "q_scale" has their scales
 * Returns  false: it is not, or its words are not at hand */
bool mpk_weight_groups_of(const struct mpk_weight_set *set, const struct mpk_weight *w,
			  struct mpk_weight_groups *out);

/* mpk_weight_groups_read - the values of some of the words, 32 / bits of each
 * @first   word; first + words: at most as many as there are */
void mpk_weight_groups_read(const struct mpk_weight_groups *g, uint64_t first, size_t words,
			    double *out);

/* A quantized type of GGUF: so many elements in so many bytes. */
struct mpk_block_type {
	const char *type;
	uint16_t elements, bytes;
	uint16_t scale_at; /* of a block, where its scale lies */
	bool is_f32;       /* the scale is a float32, else a float16 */
	void (*read)(const uint8_t *block,
		     float *out); /* all elements; NULL: the scale alone is known */
};

/* mpk_block_type_of - a type by its name in the format; NULL: it is not known here
 * mpk_block_scale - what scales a block */
const struct mpk_block_type *mpk_block_type_of(const char *type);
double mpk_block_scale(const struct mpk_block_type *type, const uint8_t *block);

enum {
	MPK_WEIGHT_RUN = 2048
}; /* elements that are turned into numbers at a time: a multiple of every block */

/* The numbers that a tensor stands for, in row-major order. */
struct mpk_weight_values {
	const struct mpk_block_type *blocks; /* NULL: elements of a plain type */
	struct mpk_dtype type;
	struct mpk_span bytes;
	uint64_t count;
};

/* mpk_weight_values_open - look at the numbers of a tensor
 * Returns  false: they are complex or packed, quantized by rules that are not known here, or do not lie in their file */
bool mpk_weight_values_open(const struct mpk_weight_set *set, const struct mpk_weight *w,
			    struct mpk_weight_values *out);

/* mpk_weight_values_read - read a run of them
 * @first   a multiple of MPK_WEIGHT_RUN, less than count
 * @out     MPK_WEIGHT_RUN numbers
 * Returns  how many there are: fewer at the end alone */
size_t mpk_weight_values_read(const struct mpk_weight_values *v, uint64_t first, double *out);

/* Bin i of a distribution counts magnitudes from 2^(MPK_WEIGHT_BIN_FIRST + i - 1) up to twice that; the first and the
 * last also what is smaller and larger. Zeros are in none. */
enum { MPK_WEIGHT_BIN_FIRST = -23, MPK_WEIGHT_BINS = 40 };

/* Of the elements of a tensor. */
struct mpk_weight_figures {
	bool of_scales;  /* quantized: of the scales of its blocks */
	unsigned bits;   /* quantized in groups: of the values, which have so many bits; else 0 */
	uint64_t group;  /* values of a group */
	size_t axis;     /* along which they lie */
	uint64_t blocks; /* quantized in blocks whose values are known: how many; else 0 */
	uint64_t block_elements;
	bool has_scales; /* one of their scales at least is a finite number */
	double least_scale, greatest_scale, mean_scale; /* of those that are */
	uint64_t count, not_finite;                     /* all; those that are NaN or infinite */
	uint64_t nans, infinities, zeros;
	bool has_range; /* one at least is a number */
	double least, greatest, mean,
		deviation; /* of those that are; deviation: of the whole population */
	uint64_t bins[MPK_WEIGHT_BINS];
};

/* mpk_weight_figures_of - read all elements, of quantized tensors the values that they stand for where
 * mpk_weight_groups_of tells them or their type is known, else the scales of their blocks
 * Returns  false: they are complex or packed, quantized by rules that are not known here, or do not lie in their file;
 *          memory is out */
bool mpk_weight_figures_of(const struct mpk_weight_set *set, const struct mpk_weight *w,
			   struct mpk_weight_figures *out);

/* mpk_weight_stored - the type of the elements as they are stored */
static inline struct mpk_dtype mpk_weight_stored(const struct mpk_weight *w)
{
	return w->coding == MPK_WEIGHT_BF16_UPPER ? (struct mpk_dtype){ MPK_DTYPE_BFLOAT, 16, 1 }
						  : w->dtype;
}

/* mpk_weightfile_verify - findings about tensors that do not lie in their files, lie over one another or leave gaps
 * (mpk_weights_lay_out); "shard": one is missing, of another size or with another checksum; "not-finite": warnings
 * about elements that are no numbers
 * @tap     sees what is read; may be NULL
 * Returns  MPK_OK, whatever was found; MPK_E_LOAD: what computes checksums is not installed; MPK_E_NOMEM */
enum mpk_code mpk_weightfile_verify(const struct mpk_weightfile *f, const struct mpk_tap *tap,
				    struct mpk_report *report,
				    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_weightfile_diff - tensors that only one of two files has, and those whose type, shape or elements differ
 * @arena   receives the differences
 * @out     as mpk_diff_views fills it: mpk_answer_diff prints it
 * Returns  MPK_OK; as mpk_weight_set_check; MPK_E_NOMEM */
enum mpk_code mpk_weightfile_diff(const struct mpk_weightfile *older,
				  const struct mpk_weightfile *newer, struct mpk_arena *arena,
				  struct mpk_diff *out, struct mpk_error *err) MPK_MUST_CHECK;

#endif
