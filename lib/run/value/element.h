/* SPDX-License-Identifier: Apache-2.0 */
/* element.h - single numbers of tensors, of every type that text can hold */
#ifndef MPK_VALUE_ELEMENT_H
#define MPK_VALUE_ELEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"
#include "base/strbuf.h"
#include "dtype/dtype.h"

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
 * (scalars.h). */
struct mpk_element mpk_element_load(struct mpk_dtype t, const void *p);

/* mpk_element_store - write it as t, floats rounded once; the caller chose one that
 * fits; higher bits of a byte become 0 */
void mpk_element_store(struct mpk_dtype t, struct mpk_element e, void *p);

enum mpk_element_parsed {
	MPK_ELEMENT_OK,
	MPK_ELEMENT_NO_NUMBER, /* not a number at all, or a fraction for an integer */
	MPK_ELEMENT_NO_FIT,    /* outside of what t holds */
};

/* mpk_element_parse - text as a number of type t
 * bool takes true, false, 0 and 1; floats take inf, nan and hexadecimal forms too */
enum mpk_element_parsed mpk_element_parse(struct mpk_dtype t, struct mpk_span text,
					  struct mpk_element *out);

/* mpk_element_parse_bits - "0x3c" as the bits of an element, for types without another form
 * @out     mpk_dtype_bytes(t) bytes */
enum mpk_element_parsed mpk_element_parse_bits(struct mpk_dtype t, struct mpk_span text, void *out);

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

#endif
