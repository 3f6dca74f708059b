/* SPDX-License-Identifier: Apache-2.0 */
/* element.h - numbers in tensors: loading, storing, parsing and printing them for every element
 * type */
#ifndef MPK_VALUE_ELEMENT_H
#define MPK_VALUE_ELEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"
#include "base/strbuf.h"
#include "dtype/dtype.h"
#include "value/tensor.h"

enum mpk_element_class {
	MPK_ELEMENT_NONE, /* complex numbers, handles, vectors: no text form, only bits */
	MPK_ELEMENT_BOOL,
	MPK_ELEMENT_INT,
	MPK_ELEMENT_UINT,
	MPK_ELEMENT_FLOAT,
};

/* A number without loss of precision; each class has its own member. */
struct mpk_element {
	enum mpk_element_class class;
	int64_t i;  /* INT; for BOOL 0 or 1 */
	uint64_t u; /* UINT */
	double f;   /* FLOAT */
};

/* mpk_element_class - the class of an element type, which tells the member for its values */
enum mpk_element_class mpk_element_class(struct mpk_dtype t);

/* mpk_element_is_plain - whether a type is an integer of 8 to 64 bits, a float of 16 to 64 bits, or
 * bool: types in whole bytes that plain NumPy has */
bool mpk_element_is_plain(struct mpk_dtype t);

/* mpk_element_load - load the number at p (any alignment); class NONE for types without a number
 * For types of less than 8 bits the element is in the lowest bits of a byte, here and below;
 * tensors pack such elements. */
struct mpk_element mpk_element_load(struct mpk_dtype t, const void *p);

/* mpk_element_store - store a number as type t; floats are rounded once. The number must fit the
 * type; unused bits of a byte become 0 */
void mpk_element_store(struct mpk_dtype t, struct mpk_element e, void *p);

enum mpk_element_parsed {
	MPK_ELEMENT_OK,
	MPK_ELEMENT_NO_NUMBER, /* not a number, or a fraction for an integer type */
	MPK_ELEMENT_NO_FIT,    /* outside the range of t */
};

/* mpk_element_parse - parse text as a number of type t; for types without a text form, their bits
 * as "0x3c"
 * bool accepts true, false, 0 and 1; floats also accept inf, nan and hexadecimal numbers
 * @out     receives mpk_dtype_bytes(t) bytes */
enum mpk_element_parsed mpk_element_parse(struct mpk_dtype t, struct mpk_span text, void *out);

/* mpk_element_print - append the shortest text that parses to the same element (any NaN is printed
 * as nan); for types without a text form, the bits in hexadecimal */
void mpk_element_print(struct mpk_strbuf *buf, struct mpk_dtype t, const void *p);

/* mpk_element_to_double - convert to double, for statistics; inexact above 2^53 */
static inline double mpk_element_to_double(struct mpk_element e)
{
	if (e.class == MPK_ELEMENT_FLOAT)
		return e.f;
	return e.class == MPK_ELEMENT_UINT ? (double)e.u : (double)e.i;
}

/* --- elements of a tensor, one after the other ------------------------------------------------- */

/* Two kinds of types need more than array access. Elements of less than a byte are packed as in
 * DLPack: the first element is in the lowest bits, and an element may span two bytes. Types with
 * several lanes are vectors; their lanes count as one more dimension, the innermost. */

/* Size in bytes of the widest scalar, which has 255 bits. */
enum { MPK_SCALAR_MAX = 32 };

/* A compact tensor in host memory, seen as a list of scalars. */
struct mpk_scalars {
	struct mpk_dtype dtype; /* type of one lane */
	int32_t ndim;
	int64_t shape[MPK_TENSOR_NDIM_MAX + 1];
	uint64_t count;
	uint8_t *data; /* NULL: no memory, or memory on a device */
};

/* mpk_scalars_of - the scalars of a tensor; shares the tensor's data */
struct mpk_scalars mpk_scalars_of(const struct mpk_dltensor *dl);

/* mpk_scalar_at - the bytes of scalar number index < count, in the form that functions of element.h
 * take
 * @raw     receives the bytes of a packed element
 * Returns  raw, or an address in data */
const void *mpk_scalar_at(const struct mpk_scalars *s, uint64_t index, uint8_t raw[MPK_SCALAR_MAX]);

/* mpk_scalars_edges - for printing with nested brackets: how many open before scalar number index <
 * count, which is how many close after the scalar before it. All open before scalar 0 */
size_t mpk_scalars_edges(const struct mpk_scalars *s, uint64_t index);

/* mpk_scalar_put - store scalar number index < count; neighbours in the same byte are not changed */
void mpk_scalar_put(const struct mpk_scalars *s, uint64_t index, const void *bytes);

/* mpk_dtype_is_packed - whether several elements or lanes may share a byte */
bool mpk_dtype_is_packed(struct mpk_dtype t);

/* mpk_dtype_size - size of count elements in bytes, as in DLPack and TVM
 * Returns  false if the size exceeds 64 bits */
bool mpk_dtype_size(struct mpk_dtype t, uint64_t count, uint64_t *bytes);

/* --- floating-point types of less than 16 bits ------------------------------------------------- */

/* The formats are those of the OCP specifications for 8-bit and microscaling formats, and the
 * additional ones of ml_dtypes. Storing rounds once, to nearest with ties to even, and gives the
 * same result as ml_dtypes for a float. A number that is too large becomes infinity; NaN if the
 * type has no infinity; or the largest number if it has neither. */

/* mpk_dtype_is_narrow - whether a type is one of these, with one lane */
bool mpk_dtype_is_narrow(struct mpk_dtype t);

/* mpk_narrow_fits - whether type t can represent a number, infinity or NaN after rounding: its
 * magnitude is not above the largest number, and the type has zero, a sign, infinity or NaN if the
 * value needs it */
bool mpk_narrow_fits(struct mpk_dtype t, double value);

#endif
