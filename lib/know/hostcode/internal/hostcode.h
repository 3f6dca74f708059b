/* SPDX-License-Identifier: Apache-2.0 */
/* hostcode.h - declarations that the files of this room share */
#ifndef MPK_HOSTCODE_INTERNAL_HOSTCODE_H
#define MPK_HOSTCODE_INTERNAL_HOSTCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"
#include "base/strmap.h"
#include "elf/constants.h"
#include "elf/image.h"
#include "signature/signature.h"

/* What one assertion states, by its text. TVM up to 0.21 writes
 *
 *   Assert fail: CONDITION, saxpy: num_args should be 3
 *   Assert fail: CONDITION, saxpy: Expect arg[1] to be pointer
 *   Assert fail: CONDITION, saxpy.X.ndim is expected to equal 1
 *   Assert fail: CONDITION, saxpy.X.dtype is expected to be float32
 *   Assert fail: CONDITION, Argument saxpy.Y.shape[0] has an unsatisfied constraint: n == ...
 *   Assert fail: CONDITION, Argument saxpy.Y.device_type has an unsatisfied constraint: 1 == ... */

enum mpk_assertion_kind {
	MPK_ASSERT_COUNT,   /* the function takes `number` arguments */
	MPK_ASSERT_CLASS,   /* argument `number` is of class `value` ("pointer", "int", "float") */
	MPK_ASSERT_POINTER, /* `variable` is the variable of the argument that path names */
	MPK_ASSERT_RANK,    /* the tensor has `number` dimensions; `variable` is set, too */
	MPK_ASSERT_DTYPE,   /* the elements are of type `value` */
	MPK_ASSERT_SHAPE,   /* extent `number` is `value` */
	MPK_ASSERT_DEVICE,  /* the device type is `number`, as DLPack counts */
	MPK_ASSERT_STRIDES, /* the condition gives the strides, joined by "and" */
	MPK_ASSERT_DATA,    /* `value` is the product of all extents that are not plain numbers */
};

struct mpk_assertion {
	enum mpk_assertion_kind kind;
	struct mpk_span path;      /* "saxpy", or "saxpy.X" for one argument */
	struct mpk_span variable;  /* the variable of the argument in the generated code; may be
				    * empty */
	struct mpk_span value;     /* part of the assertion's text */
	struct mpk_span condition; /* the condition that is false when the assertion fails */
	int64_t number;
};

/* mpk_assertion_read - parse the text of one assertion
 * Returns  true and sets *out, views of text; false: the text is not an assertion, or one that says nothing about the
 *          function's arguments */
bool mpk_assertion_read(struct mpk_span text, struct mpk_assertion *out);

/* mpk_assertion_stride - the value that the condition gives for stride `index`
 * Returns  false when the condition does not mention it */
bool mpk_assertion_stride(struct mpk_span condition, size_t index, struct mpk_span *out);

/* One ELF file, with the functions whose signatures are searched. All readers of this room fill it. */

/* A function of the unit. */
struct mpk_unit_function {
	const struct mpk_image_function *function;
	struct mpk_span name;  /* the symbol without TVM's prefix, as texts in the code spell it */
	struct mpk_span alias; /* another name, without the prefix of the system library; empty:
			        * none */
	struct mpk_signature *found; /* NULL: no signature, or no certain one */
};

struct mpk_unit {
	const struct mpk_elf *elf;
	const struct mpk_constants *constants;
	size_t constant_count;
	struct mpk_unit_function *functions;
	size_t function_count;
	struct mpk_span prefix;         /* prefix of the system library; empty: none */
	struct mpk_strmap by_name;      /* index into functions, by names and aliases */
	struct mpk_unit_names *devices; /* places of the names of devices; NULL: not searched yet */
	uint64_t budget;                /* bytes that may still be read more than once */
	struct mpk_arena *arena;
};

/* mpk_unit_spend - take bytes from the budget, which keeps the work linear for every file
 * Returns  false if fewer bytes are left */
static inline bool mpk_unit_spend(struct mpk_unit *u, uint64_t bytes)
{
	if (bytes > u->budget)
		return false;
	u->budget -= bytes;
	return true;
}

/* mpk_unit_alias - a name without the unit's prefix; empty if it has no such prefix */
static inline struct mpk_span mpk_unit_alias(const struct mpk_unit *u, struct mpk_span name)
{
	size_t n = u->prefix.len;

	return n && name.len > n && memcmp(name.data, u->prefix.data, n) == 0
		       ? mpk_span_of(name.data + n, name.len - n)
		       : (struct mpk_span){ 0 };
}

/* A way to find signatures in a unit.
 * @read        sets `found` of functions that have none
 * Returns MPK_OK; MPK_E_NOMEM
 * @sentences   it reads texts of assertions, so it is skipped in a file without any */
struct mpk_unit_reader {
	enum mpk_code (*read)(struct mpk_unit *u, struct mpk_error *err);
	bool sentences;
};

/* The readers: prototypes in code of TVM 0.22 and later, assertions in code of older TVM,
 * TileLang's host code. */
extern const struct mpk_unit_reader mpk_unit_prototypes, mpk_unit_assertions, mpk_unit_tilelang;

#endif
