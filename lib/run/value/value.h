/* SPDX-License-Identifier: Apache-2.0 */
/* value.h - arguments and results of functions, independent of calling conventions
 *
 * A value is small and copied by assignment. The object that it points to (text, shape, tensor,
 * storage, array, function, module, object) is reference-counted: mpk_value_hold adds a reference,
 * mpk_value_drop drops one. Counts are atomic, because module code may call from several threads. */
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
	size_t len; /* length in bytes, without the NUL at the end */
	char data[];
};

struct mpk_shape {
	atomic_uint refs;
	size_t ndim;
	int64_t extents[];
};

struct mpk_function; /* declared in function.h */
struct mpk_module;   /* declared in module.h */

/* An opaque object that a module returned: it is kept alive, but its content is not accessed. */
struct mpk_object {
	atomic_uint refs;
	const char *type; /* such as "object of type 64"; static, or owned by the object */
	void *handle;
	/* releases the handle and frees object */
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

/* Zero is MPK_VALUE_NONE. */
struct mpk_value {
	enum mpk_value_kind kind;
	struct mpk_dtype type; /* INT, FLOAT: the type that the user wrote ("f32=1.5"); else 0 */
	union {
		bool boolean;
		int64_t integer;
		double real;
		struct mpk_text *text; /* for STR and BYTES */
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
	int32_t tag; /* constructor of an algebraic data type; 0: a tuple */
	size_t count;
	struct mpk_array *next_pending; /* used by mpk_value_drop */
	struct mpk_value items[];
};

/* mpk_value_kind_name - name of a kind for messages: "none", "int", "tensor", ... */
const char *mpk_value_kind_name(enum mpk_value_kind kind);

/* mpk_value_of_* - make plain values */
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

/* mpk_value_of_text - make a string or bytes (see kind) with a copy of s
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_value_of_text(enum mpk_value_kind kind, struct mpk_span s, struct mpk_value *out,
				struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_value_of_shape - make a shape with a copy of ndim extents
 * As a value a shape is a list of numbers: caches use it for sequences, lengths and layers. So the
 * limit on tensors' dimensions does not apply.
 * @extents NULL: the caller sets all of out->shape->extents
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_value_of_shape(const int64_t *extents, size_t ndim, struct mpk_value *out,
				 struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_value_of_array - make an array of count values, all none, with tag 0; the caller sets
 * out->array->items
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_value_of_array(size_t count, struct mpk_value *out,
				 struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_value_hold - add a reference to the object that v points to, and return v */
struct mpk_value mpk_value_hold(struct mpk_value v);

/* mpk_value_drop - drop the reference and set *v to none; *v may be none */
void mpk_value_drop(struct mpk_value *v);

/* mpk_value_text_span - the bytes of a STR or BYTES value */
static inline struct mpk_span mpk_value_text_span(const struct mpk_value *v)
{
	return mpk_span_of(v->text->data, v->text->len);
}

/* --- does a result hold what was expected? --- */

/* Tolerance for comparing numbers: |got - want| <= atol + rtol * |want|. */
struct mpk_tolerance {
	double atol, rtol; /* Negative: the default of the type. atol is 1e-4 for f32 and f64, 1e-3
			    * for f16, 1e-2 for bf16; rtol is 1e-5. For other types both are 0. */
};

struct mpk_comparison {
	bool is_equal;
	uint64_t differing, total; /* number of elements of a tensor; 1 for a plain value */
	uint64_t first;            /* row-major index of the first element that differs */
	double max_abs, max_rel;   /* over all elements where both numbers are finite */
};

/* mpk_value_compare - compare got with want
 * NaN equals NaN, and infinities of the same sign are equal. Tensors must be compact and in host
 * memory; their shapes and types must be equal. Plain numbers and bools are compared by value,
 * whatever their types; text, shapes, types and devices must be equal.
 * @why     if they differ, receives one sentence without a full stop
 * Returns  MPK_OK with *out set, also if they differ; MPK_E_UNSUPPORTED: values that cannot be
 *          compared (functions, objects); MPK_E_NOMEM */
enum mpk_code mpk_value_compare(const struct mpk_value *got, const struct mpk_value *want,
				struct mpk_tolerance tolerance, struct mpk_comparison *out,
				struct mpk_strbuf *why, struct mpk_error *err) MPK_MUST_CHECK;

#endif
