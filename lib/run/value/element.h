/* SPDX-License-Identifier: Apache-2.0 */
/* element.h - single numbers of tensors, of every type that text can hold */
#ifndef MPK_VALUE_ELEMENT_H
#define MPK_VALUE_ELEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"
#include "base/strbuf.h"
#include "dtype/dtype.h"
#include "value/tensor.h"

enum mpk_element_class {
	MPK_ELEMENT_NONE, /* complex, handles, vectors: no text form, bits only */
	MPK_ELEMENT_BOOL,
	MPK_ELEMENT_INT,
	MPK_ELEMENT_UINT,
	MPK_ELEMENT_FLOAT,
};

/* A number, exactly: each class has its member. */
struct mpk_element {
	enum mpk_element_class class;
	int64_t i;  /* INT; BOOL 0 or 1 */
	uint64_t u; /* UINT */
	double f;   /* FLOAT */
};

/* mpk_element_class - which member holds the values of a type */
enum mpk_element_class mpk_element_class(struct mpk_dtype t);

/* mpk_element_is_plain - integers of 8 to 64 bits, floats of 16 to 64, bool: what lies in whole bytes
 * and what NumPy has without help */
bool mpk_element_is_plain(struct mpk_dtype t);

/* mpk_element_load - the number at p (any alignment); class NONE for types without one
 * A type of less than 8 bits has the lowest bits of a byte, here and below; tensors pack them
 *. */
struct mpk_element mpk_element_load(struct mpk_dtype t, const void *p);

/* mpk_element_store - write it as t, floats rounded once; the caller chose one that
 * fits; higher bits of a byte become 0 */
void mpk_element_store(struct mpk_dtype t, struct mpk_element e, void *p);

enum mpk_element_parsed {
	MPK_ELEMENT_OK,
	MPK_ELEMENT_NO_NUMBER, /* not a number at all, or a fraction for an integer */
	MPK_ELEMENT_NO_FIT,    /* outside of what t holds */
};

/* mpk_element_parse - text as the bytes of a number of type t; "0x3c", its bits, for types without another form
 * bool takes true, false, 0 and 1; floats take inf, nan and hexadecimal forms too
 * @out     mpk_dtype_bytes(t) bytes */
enum mpk_element_parsed mpk_element_parse(struct mpk_dtype t, struct mpk_span text, void *out);

/* mpk_element_print - the shortest text that parses to the same element of type t (NaN is
 * nan, whatever its bits); bits in hexadecimal for a type without text form */
void mpk_element_print(struct mpk_strbuf *buf, struct mpk_dtype t, const void *p);

/* mpk_element_to_double - for statistics; not exact above 2^53 */
static inline double mpk_element_to_double(struct mpk_element e)
{
	if (e.class == MPK_ELEMENT_FLOAT)
		return e.f;
	return e.class == MPK_ELEMENT_UINT ? (double)e.u : (double)e.i;
}

/* --- elements of a tensor, one after the other ------------------------------------------------- */

/* Two things make numbers of a tensor's bytes more than an array. Types of less than a byte are packed, the
 * first element in the lowest bits, as DLPack has it; an element may lie across two bytes. Types of
 * several lanes are vectors, whose lanes count as one more dimension, the innermost. */

/* Bytes of the widest scalar: 255 bits. */
enum { MPK_SCALAR_MAX = 32 };

/* A compact tensor in host memory as scalars. */
struct mpk_scalars {
	struct mpk_dtype dtype; /* of one lane, where it has lanes */
	int32_t ndim;
	int64_t shape[MPK_TENSOR_NDIM_MAX + 1];
	uint64_t count;
	uint8_t *data; /* NULL: no memory, or on a device */
};

/* mpk_scalars_of - the scalars of a tensor; data is the tensor's */
struct mpk_scalars mpk_scalars_of(const struct mpk_dltensor *dl);

/* mpk_scalar_at - the bytes of scalar index < count, as the functions of element.h take them
 * @raw     holds them where they are packed
 * Returns  raw, or a place in data */
const void *mpk_scalar_at(const struct mpk_scalars *s, uint64_t index, uint8_t raw[MPK_SCALAR_MAX]);

/* mpk_scalars_edges - how many brackets open before scalar index < count of a tensor with as many dimensions as
 * it has brackets, which is how many close after the scalar before it; of scalar 0 all */
size_t mpk_scalars_edges(const struct mpk_scalars *s, uint64_t index);

/* mpk_scalar_put - write the bytes of scalar index < count; its neighbours stay as they are */
void mpk_scalar_put(const struct mpk_scalars *s, uint64_t index, const void *bytes);

/* mpk_dtype_is_packed - whether several elements, or lanes, may share a byte */
bool mpk_dtype_is_packed(struct mpk_dtype t);

/* mpk_dtype_size - bytes of count elements, as DLPack and TVM have them
 * Returns  false when there are more than 2^64 */
bool mpk_dtype_size(struct mpk_dtype t, uint64_t count, uint64_t *bytes);

/* --- floating-point types of less than 16 bits ------------------------------------------------- */

/* The formats are those of the OCP specifications of 8-bit and microscaling formats, and the
 * variants that ml_dtypes has beside them. Storing rounds once, to nearest with ties to even, and
 * gives what ml_dtypes gives for a float: beyond the largest number infinity, or NaN where there
 * is none, or the largest number where there is neither. */

/* mpk_dtype_is_narrow - one of these types, of one lane */
bool mpk_dtype_is_narrow(struct mpk_dtype t);

/* mpk_narrow_fits - whether a number, infinity or NaN is one of type t after rounding: not above the
 * largest, and zero, a sign, infinity or NaN only where the type has it */
bool mpk_narrow_fits(struct mpk_dtype t, double value);

#endif
