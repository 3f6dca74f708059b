/* SPDX-License-Identifier: Apache-2.0 */
/* weightfile.h - files of weights: lists, checks and compares them */
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

/* An opened file of weights. */
struct mpk_weightfile {
	const char *name; /* the name that the user gave, not escaped */
	uint64_t bytes;   /* bytes of the file itself, without its shards */
	struct mpk_weight_set set;
	const struct mpk_name_filter *filter; /* chooses tensors by name; NULL means all */
	bool has_figures;                     /* also compute statistics of elements */
};

/* Printers of struct mpk_weightfile: one line for the whole, one for each type, one for each
 * tensor. Verbose text adds the document's metadata and, for each tensor, the minimum, maximum and
 * mean element and the number of elements that are not finite, for which all bytes are read. JSON
 * has the same (minspect.schema.json, "weights"). */
extern const struct mpk_answer mpk_answer_weights;

/* Values packed into 32-bit words, from the lowest bits on, with a scale for each group of values
 * along one axis. */
struct mpk_weight_groups {
	unsigned bits; /* bits of a value, 4 or 8; a value is (stored - (2^(bits-1) - 1)) * scale */
	uint64_t group;                /* number of values in a group */
	struct mpk_span words, scales; /* all bytes of both tensors */
	struct mpk_dtype scale_type;
	size_t axis;                      /* index of the axis along which groups lie */
	uint64_t words_long, scales_long; /* extents of that axis */
	uint64_t inner;                   /* distance in words between neighbours along the axis */
};

/* mpk_weight_groups_of - whether a tensor holds the words of quantized values: its name ends in
 * "q_weight", and a nearby tensor whose name ends in "q_scale" has the scales
 * Returns  false if it does not, or if its words cannot be accessed */
bool mpk_weight_groups_of(const struct mpk_weight_set *set, const struct mpk_weight *w,
			  struct mpk_weight_groups *out);

/* mpk_weight_groups_read - unpack the values of some words, 32 / bits of each
 * @first   index of the first word; first + words is at most their number */
void mpk_weight_groups_read(const struct mpk_weight_groups *g, uint64_t first, size_t words,
			    double *out);

/* How a block stores its scales. */
enum mpk_block_scale {
	MPK_SCALE_F16,
	MPK_SCALE_F32,
	MPK_SCALE_E8M0,  /* a byte: the exponent of a power of two, biased by 127 */
	MPK_SCALE_UE4M3, /* four bytes: four unsigned floats of 4 bits exponent, 3 bits mantissa */
	MPK_SCALE_IQ1_M, /* a float16 in four pieces */
};

/* A quantized type of GGUF: a block of `bytes` holds `elements` values. */
struct mpk_block_type {
	const char *type;
	uint16_t elements, bytes;
	enum mpk_block_scale scale;
	uint16_t scale_at;                              /* offset of the scales in a block */
	void (*read)(const uint8_t *block, float *out); /* unpacks all elements of a block */
};

enum { MPK_BLOCK_SCALES = 4 }; /* the most scales of a block */

/* mpk_block_type_of - the type with this name in the format; NULL if it is unknown
 * mpk_block_scales - read the scales of a block. Returns their number, 1 or 4 */
const struct mpk_block_type *mpk_block_type_of(const char *type);
size_t mpk_block_scales(const struct mpk_block_type *type, const uint8_t *block,
			double out[MPK_BLOCK_SCALES]);

enum {
	MPK_WEIGHT_RUN = 2048
}; /* elements converted to numbers at a time: a multiple of every block length */

/* The values of a tensor, in row-major order. */
struct mpk_weight_values {
	const struct mpk_block_type *blocks; /* NULL if the elements have a plain type */
	struct mpk_dtype type;
	struct mpk_span bytes;
	uint64_t count;
};

/* mpk_weight_values_open - prepare reading the values of a tensor
 * Returns  false: they are complex or packed, quantized in an unknown way, or outside their file */
bool mpk_weight_values_open(const struct mpk_weight_set *set, const struct mpk_weight *w,
			    struct mpk_weight_values *out);

/* mpk_weight_values_read - read a run of values
 * @first   index of the first: a multiple of MPK_WEIGHT_RUN, less than count
 * @out     MPK_WEIGHT_RUN numbers
 * Returns  the number of values read, which is smaller only at the end */
size_t mpk_weight_values_read(const struct mpk_weight_values *v, uint64_t first, double *out);

/* Bin i of a distribution counts magnitudes from 2^(MPK_WEIGHT_BIN_FIRST + i - 1) up to twice that.
 * The first and the last bin also count smaller and larger ones. Zeros are not counted. */
enum { MPK_WEIGHT_BIN_FIRST = -23, MPK_WEIGHT_BINS = 40 };

/* Statistics of the elements of a tensor. */
struct mpk_weight_figures {
	/* quantized in groups: bits of a value, and the figures are of the values; else 0 */
	unsigned bits;
	uint64_t group;  /* number of values in a group */
	size_t axis;     /* axis along which groups lie */
	uint64_t blocks; /* if quantized in blocks that can be unpacked: number of blocks; else 0 */
	uint64_t block_elements;
	bool has_scales;                                /* at least one of their scales is finite */
	double least_scale, greatest_scale, mean_scale; /* of those that are */
	/* number of all elements, and of those that are NaN or infinite */
	uint64_t count, not_finite;
	uint64_t nans, infinities, zeros;
	bool has_range; /* at least one element is finite */
	double least, greatest, mean,
		deviation; /* of the finite elements; deviation: of the whole population */
	uint64_t bins[MPK_WEIGHT_BINS];
};

/* mpk_weight_figures_of - read all elements: of quantized tensors the values if
 * mpk_weight_groups_of or their type can unpack them
 * Returns  false: elements are complex or packed, quantized in an unknown way, or outside their
 *          file; or memory is out */
bool mpk_weight_figures_of(const struct mpk_weight_set *set, const struct mpk_weight *w,
			   struct mpk_weight_figures *out);

/* mpk_weight_stored - the type of the elements as they are stored */
static inline struct mpk_dtype mpk_weight_stored(const struct mpk_weight *w)
{
	return w->coding == MPK_WEIGHT_BF16_UPPER ? (struct mpk_dtype){ MPK_DTYPE_BFLOAT, 16, 1 }
						  : w->dtype;
}

/* mpk_weightfile_verify - report tensors that are outside their files, overlap or leave gaps
 * (mpk_weights_lay_out); "shard": a shard is missing, or its size or checksum is wrong;
 * "not-finite": warnings about NaN and infinite elements
 * @tap     receives the bytes that are read; may be NULL
 * Returns  MPK_OK, whatever was found; MPK_E_LOAD: the library for checksums is not installed;
 *          MPK_E_NOMEM */
enum mpk_code mpk_weightfile_verify(const struct mpk_weightfile *f, const struct mpk_tap *tap,
				    struct mpk_report *report,
				    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_weightfile_diff - list tensors that only one of two files has, and those whose type, shape or
 * elements differ
 * @arena   receives the differences
 * @out     filled as by mpk_diff_views, and printed by mpk_answer_diff
 * Returns  MPK_OK; as mpk_weight_set_check; MPK_E_NOMEM */
enum mpk_code mpk_weightfile_diff(const struct mpk_weightfile *older,
				  const struct mpk_weightfile *newer, struct mpk_arena *arena,
				  struct mpk_diff *out, struct mpk_error *err) MPK_MUST_CHECK;

#endif
