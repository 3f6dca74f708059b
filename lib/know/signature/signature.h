/* SPDX-License-Identifier: Apache-2.0 */
/* signature.h - what a function takes and gives
 *
 * Signatures are read from what compilers leave in a file: payloads of models, tables of kernels,
 * texts of host code. None is complete everywhere, so each part may be unknown.
 */
#ifndef MPK_SIGNATURE_SIGNATURE_H
#define MPK_SIGNATURE_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"
#include "base/strbuf.h"
#include "dtype/dlpack.h"
#include "dtype/dtype.h"

enum mpk_type_kind {
	MPK_TYPE_ANY, /* nothing is known */
	MPK_TYPE_TENSOR,
	MPK_TYPE_SHAPE,
	MPK_TYPE_SCALAR,
	MPK_TYPE_TUPLE,
	MPK_TYPE_FUNCTION,
	MPK_TYPE_STRING,
	MPK_TYPE_NAMED, /* only the title is known: "Optional[ffi.Tensor]" */
};

struct mpk_type {
	enum mpk_type_kind kind;
	struct mpk_dtype dtype; /* of a tensor's elements, or of a scalar; 0 bits: any */
	/* tensor, shape: ndim is known; otherwise the members below are 0 */
	bool ranked;
	size_t ndim;
	const int64_t *shape; /* ndim extents */
	/* ndim names: an extent with a name is symbolic, "n" or "n * 2", and what is in shape
	 * for it does not count; it is the same wherever a call has the name, but for "?", which is
	 * any extent, and "_", which is one that only the code knows. NULL: all are fixed */
	const struct mpk_span *symbols;
	/* tensor: the memory it has to be in, "texture"; "" for an image of a scope that is not
	 * known; NULL: plain memory */
	const char *scope;
	/* tensor: DLPack's number of the device on which it must be; 0: any, or not known */
	int32_t device;
	struct mpk_span title;          /* of MPK_TYPE_NAMED */
	bool optional;                  /* of MPK_TYPE_NAMED: none is allowed, too */
	const struct mpk_param *fields; /* of a tuple */
	size_t field_count;
};

struct mpk_param {
	struct mpk_span name; /* may be empty */
	struct mpk_type type;
};

/* What a function uses in addition to its arguments. */
enum mpk_signature_use {
	MPK_USES_WEIGHTS = 1, /* tensors that the runtime keeps by name */
	MPK_USES_RANDOM = 2,  /* random numbers, for sampling */
};

struct mpk_signature {
	struct mpk_span name; /* as --run takes it: "main", "default" */
	unsigned uses;        /* enum mpk_signature_use: the uses that are known */
	bool named_inputs;    /* inputs are set by name (executors), not by position */
	/* results are written into tensors among the inputs, by custom the last */
	bool fills_inputs;
	bool outputs_known;
	/* a symbolic extent is local to an input: "n" of two inputs may differ */
	bool names_are_local;
	/* DLPack's number of the device on which host code expects tensors; 0: not known */
	int32_t device;
	const struct mpk_param *inputs; /* without the parameters that the file holds */
	size_t input_count;
	const struct mpk_param *outputs;
	size_t output_count;
	/* parameters that the file holds, and that a call may replace by name; NULL: not known, or none */
	const struct mpk_param *params;
	size_t param_count;
};

/* mpk_type_tensor - a tensor of known rank; shape and symbols are borrowed */
static inline struct mpk_type mpk_type_tensor(struct mpk_dtype dtype, const int64_t *shape,
					      size_t ndim, const struct mpk_span *symbols)
{
	return (struct mpk_type){ .kind = MPK_TYPE_TENSOR,
				  .dtype = dtype,
				  .ranked = true,
				  .ndim = ndim,
				  .shape = shape,
				  .symbols = symbols };
}

/* mpk_type_symbol - the name of extent i, empty for one that is fixed; i < ndim */
static inline struct mpk_span mpk_type_symbol(const struct mpk_type *t, size_t i)
{
	return t->symbols ? t->symbols[i] : (struct mpk_span){ 0 };
}

/* mpk_type_text - append "float32[2, n]", "tensor[...]", "shape[n]", "int64",
 * "(float32[4], float32[4])"; "any value" when nothing is known */
void mpk_type_text(const struct mpk_type *t, struct mpk_strbuf *out);

/* mpk_signature_text - append "main(x: f32[1, 16]) -> (f32[1, 4])": types as --input takes them */
void mpk_signature_text(const struct mpk_signature *s, struct mpk_strbuf *out);

/* mpk_signature_use_text - a use in words, such as "weights by name"; NULL: there is no such use
 * @index   counts the uses of this signature, from 0 */
const char *mpk_signature_use_text(unsigned index);

/* mpk_signature_options - append " --input data=2x20xfloat32=rand --input ...": the options of a call
 * that is right, as a shell takes them. Symbolic names are 1, or so much that no extent is empty;
 * capitals stand for what is not known. */
void mpk_signature_options(const struct mpk_signature *s, struct mpk_strbuf *out);

/* What the metadata that tvm-ffi's exporter puts beside functions begins with: {"type_schema": TEXT}
 *
 * TEXT is JSON again: {"type": "ffi.Function", "named_args": {"return": [T], "params": [T, ...]}}, a T being
 * {"type": "int"} or {"type": "Optional", "args": [T]}. Parameters have no names, tensors no shapes. */
#define MPK_SCHEMA_BEGIN "{\"type_schema\":"

/* mpk_signature_read - the signature that a text tells: metadata, or a prototype as host code of TVM 0.22 and
 * later shows when a call is wrong:
 *
 *   saxpy(alpha: float32, X: Tensor([n], float32), Y: Tensor([n, T.int64(8)], float32))
 *
 * @text    all of it; of a prototype from the name to the last parenthesis
 * @out     its name is a view of text, of metadata empty; lists live in arena; texts in either
 * Returns  MPK_OK; MPK_E_SYNTAX: text is neither, or a cut one; MPK_E_NOMEM */
enum mpk_code mpk_signature_read(struct mpk_span text, struct mpk_arena *arena,
				 struct mpk_signature *out, struct mpk_error *err) MPK_MUST_CHECK;

/* --- symbolic extents as TVM writes them: "n", "n * 2", "T.max(n, T.int64(4))", and as launch functions do: "n / 2",
 * "n %% 2", in a format for printf
 *
 * +, -, *, //, /, %, %%, parentheses, min, max, floordiv, floormod, truncdiv, truncmod, ceildiv, and casts
 * to integer types, which change nothing here. --- */

/* What names are known to be. */
struct mpk_extent_value {
	struct mpk_span name;
	int64_t value;
};

struct mpk_extent_values {
	const struct mpk_extent_value *items;
	size_t count;
	int64_t others; /* what every other name is; 0: not known */
};

/* mpk_extent_compute - what an extent is when its names are values
 * Returns  true and sets *out; false: it is none of the above, a name is not known, a divisor is 0
 *          or a number does not fit */
bool mpk_extent_compute(struct mpk_span text, const struct mpk_extent_values *values, int64_t *out);

/* mpk_extent_is_name - whether it is one name and nothing else */
bool mpk_extent_is_name(struct mpk_span text);

/* mpk_extent_shorten - without what says nothing to a reader: "T.int64(4)" is "4", "T.max" "max"
 * @out     lives in arena, or is text
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_extent_shorten(struct mpk_span text, struct mpk_arena *arena,
				 struct mpk_span *out, struct mpk_error *err) MPK_MUST_CHECK;

#endif
