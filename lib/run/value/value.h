/* SPDX-License-Identifier: Apache-2.0 */
/* value.h - what goes into a function and what comes out, in no calling convention
 *
 * A value is small and copied by assignment; what it points to (text, shape, tensor, storage,
 * array, function, module, object) is reference-counted. mpk_value_hold adds a reference,
 * mpk_value_drop gives one back. Counts are atomic: module code may call from threads.
 */
#ifndef MPK_VALUE_VALUE_H
#define MPK_VALUE_VALUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"
#include "base/strbuf.h"
#include "value/tensor.h"

struct mpk_text {
	atomic_uint refs;
	size_t len; /* bytes without the NUL after them */
	char data[];
};

struct mpk_shape {
	atomic_uint refs;
	size_t ndim;
	int64_t extents[];
};

struct mpk_function; /* function.h */
struct mpk_module;   /* module.h */

/* Anything else that a module returned: kept alive, never looked into. */
struct mpk_object {
	atomic_uint refs;
	const char *type; /* "object of type 64"; static or owned by the object */
	void *handle;
	/* gives the handle back and frees object */
	void (*release)(struct mpk_object *object);
};

enum mpk_value_kind {
	MPK_VALUE_NONE,
	MPK_VALUE_BOOL,
	MPK_VALUE_INT,
	MPK_VALUE_FLOAT,
	MPK_VALUE_STR,
	MPK_VALUE_BYTES,
	MPK_VALUE_SHAPE,
	MPK_VALUE_DTYPE,
	MPK_VALUE_DEVICE,
	MPK_VALUE_TENSOR,
	MPK_VALUE_STORAGE,
	MPK_VALUE_ARRAY,
	MPK_VALUE_OPAQUE,
	MPK_VALUE_FUNCTION,
	MPK_VALUE_MODULE,
	MPK_VALUE_OBJECT,
	MPK_VALUE_KIND_COUNT
};

/* Zero-initialised it is MPK_VALUE_NONE. */
struct mpk_value {
	enum mpk_value_kind kind;
	struct mpk_dtype type; /* INT, FLOAT: as the user wrote it ("f32=1.5"); else 0 */
	union {
		bool boolean;
		int64_t integer;
		double real;
		struct mpk_text *text; /* STR, BYTES */
		struct mpk_shape *shape;
		struct mpk_dtype dtype;
		struct mpk_dldevice device;
		struct mpk_tensor *tensor;
		struct mpk_storage *storage;
		struct mpk_array *array;
		void *opaque;
		struct mpk_function *function;
		struct mpk_module *module;
		struct mpk_object *object;
	};
};

struct mpk_array {
	atomic_uint refs;
	int32_t tag; /* of an algebraic data type: which constructor made it; 0: a tuple */
	size_t count;
	struct mpk_array *next_pending; /* for mpk_value_drop */
	struct mpk_value items[];
};

/* mpk_value_kind_name - "none", "int", "tensor", ...; for messages */
const char *mpk_value_kind_name(enum mpk_value_kind kind);

/* mpk_value_of_* - plain values */
static inline struct mpk_value mpk_value_of_int(int64_t i)
{
	return (struct mpk_value){ .kind = MPK_VALUE_INT, .integer = i };
}

static inline struct mpk_value mpk_value_of_bool(bool b)
{
	return (struct mpk_value){ .kind = MPK_VALUE_BOOL, .boolean = b };
}

static inline struct mpk_value mpk_value_of_float(double f)
{
	return (struct mpk_value){ .kind = MPK_VALUE_FLOAT, .real = f };
}

static inline struct mpk_value mpk_value_of_opaque(void *p)
{
	return (struct mpk_value){ .kind = MPK_VALUE_OPAQUE, .opaque = p };
}

static inline struct mpk_value mpk_value_of_tensor(struct mpk_tensor *t)
{
	return (struct mpk_value){ .kind = MPK_VALUE_TENSOR, .tensor = t };
}

static inline struct mpk_value mpk_value_of_storage(struct mpk_storage *s)
{
	return (struct mpk_value){ .kind = MPK_VALUE_STORAGE, .storage = s };
}

static inline struct mpk_value mpk_value_of_function(struct mpk_function *f)
{
	return (struct mpk_value){ .kind = MPK_VALUE_FUNCTION, .function = f };
}

static inline struct mpk_value mpk_value_of_module(struct mpk_module *m)
{
	return (struct mpk_value){ .kind = MPK_VALUE_MODULE, .module = m };
}

/* mpk_value_of_text - a string or bytes (kind says which) holding a copy of s
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_value_of_text(enum mpk_value_kind kind, struct mpk_span s, struct mpk_value *out,
				struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_value_of_shape - a shape holding a copy of ndim extents
 * A shape that is a value is a list of numbers: caches take sequences, lengths and layers as such. The limit of
 * tensors' ranks is not its limit.
 * @extents NULL: they are the caller's to fill in out->shape->extents, all of them
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_value_of_shape(const int64_t *extents, size_t ndim, struct mpk_value *out,
				 struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_value_of_array - an array of count values, all none, tag 0; fill out->array->items
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_value_of_array(size_t count, struct mpk_value *out,
				 struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_value_hold - v itself with one more reference to what it points to */
struct mpk_value mpk_value_hold(struct mpk_value v);

/* mpk_value_drop - give the reference back and make *v none; safe on none */
void mpk_value_drop(struct mpk_value *v);

/* mpk_value_text_span - the bytes of a STR or BYTES value */
static inline struct mpk_span mpk_value_text_span(const struct mpk_value *v)
{
	return mpk_span_of(v->text->data, v->text->len);
}

/* --- does a result hold what was expected? --- */

/* How far numbers may lie apart: |got - want| <= atol + rtol * |want|. */
struct mpk_tolerance {
	double atol, rtol; /* negative: by the type: atol 1e-4 for f32 and f64, 1e-3 for f16, 1e-2
			    * for bf16, rtol 1e-5; 0 and 0 for everything else */
};

struct mpk_comparison {
	bool is_equal;
	uint64_t differing, total; /* elements of a tensor; 1 for a plain value */
	uint64_t first;            /* row-major index of the first that differs */
	double max_abs, max_rel;   /* over the elements where both are finite */
};

/* mpk_value_compare - compare got with want
 * NaN equals NaN, infinities of the same sign are equal. Tensors are compact and in host memory;
 * they must agree in shape and type. Plain numbers and bools compare by value, whatever their type; text,
 * shapes, types and devices must be equal.
 * @why     receives, when they differ, one sentence without a full stop
 * Returns  MPK_OK, *out filled, also when they differ; MPK_E_UNSUPPORTED for values that
 *          cannot be compared (functions, objects); MPK_E_NOMEM */
enum mpk_code mpk_value_compare(const struct mpk_value *got, const struct mpk_value *want,
				struct mpk_tolerance tolerance, struct mpk_comparison *out,
				struct mpk_strbuf *why, struct mpk_error *err) MPK_MUST_CHECK;

#endif
