/* SPDX-License-Identifier: Apache-2.0 */
/* path.h - the objects of one path through byte code, with extents in place of contents; for relax_memory.c
 *
 * A tensor is a shape, a type and the storage in which it lies. References are counted as a machine counts them, so that
 * a storage is freed where it would be.
 */
#ifndef MPK_PROGRAM_INTERNAL_PATH_H
#define MPK_PROGRAM_INTERNAL_PATH_H

#include "program/internal/memory.h"
#include "program/internal/program.h"

enum { MPK_PATH_HEAP_MAX = 1 << 16 }; /* extents of one heap */

struct mpk_path_extent {
	int64_t value;
	bool known;
};

enum mpk_path_value_kind {
	MPK_PATH_NONE,
	MPK_PATH_UNKNOWN, /* nothing is known of the value */
	MPK_PATH_INT,
	MPK_PATH_CONST, /* index of a constant that is not a tensor, a shape or an integer */
	MPK_PATH_FUNC,  /* index of a function */
	MPK_PATH_OBJECT,
};

struct mpk_path_value {
	enum mpk_path_value_kind kind;
	struct mpk_path_extent number;
	size_t index;
	struct mpk_path_object *object;
};

enum mpk_path_object_kind {
	MPK_PATH_TENSOR,
	MPK_PATH_SHAPE,
	MPK_PATH_STORAGE,
	MPK_PATH_TUPLE,
	MPK_PATH_CLOSURE, /* items: a function and what it captured */
	MPK_PATH_HEAP,
	MPK_PATH_STATE, /* items: its storages */
};

/* Lives in the arena of its path: references say when its memory is freed, not when the object is. */
struct mpk_path_object {
	enum mpk_path_object_kind kind;
	size_t refs;
	struct mpk_dtype dtype; /* of a tensor */
	/* of a tensor: its storage; NULL: memory of the caller or of a constant */
	struct mpk_path_object *memory;
	const struct mpk_tensor_record *constant;
	/* of a tensor, shape, heap; NULL: even their number is unknown */
	struct mpk_path_extent *extents;
	size_t extent_count;
	struct mpk_path_value *items; /* of a tuple, closure, state */
	size_t item_count;
	size_t storage; /* number of a storage in the timeline */
	bool sized;     /* of a storage: its size is known; else it grows with its tensors */
	const struct mpk_span *texts; /* of a heap: extent_count texts that name slots */
};

/* One path through a function. */
struct mpk_path {
	const struct mpk_relax *x;
	const struct mpk_memory_ask *ask;
	struct mpk_arena *arena; /* of this path */
	struct mpk_timeline *timeline;
	struct mpk_span **texts; /* for each function: what its checks call the slots of its heap;
				  * NULL: not read */
	size_t *text_counts;     /* elements of texts[i] */
	/* for each constant: its object, made at the first use; else NULL */
	struct mpk_path_object **constants;
	uint64_t steps, parts; /* how many more the path may take and make */
	uint64_t path;         /* bit i: the side taken at condition i */
	size_t forks;          /* conditions met so far */
	size_t unknown;        /* extents and sizes that are not known */
	const char *why;       /* reason of the first of them; static text */
	bool nomem, too_large;
};

static inline void mpk_path_note_unknown(struct mpk_path *r, const char *why)
{
	r->unknown++;
	if (!r->why)
		r->why = why;
}

static inline struct mpk_path_value mpk_path_value_of(struct mpk_path_object *o)
{
	return (struct mpk_path_value){ .kind = o ? MPK_PATH_OBJECT : MPK_PATH_UNKNOWN,
					.object = o };
}

static inline struct mpk_path_value mpk_path_hold(struct mpk_path_value v)
{
	if (v.kind == MPK_PATH_OBJECT)
		v.object->refs++;
	return v;
}

static inline const struct mpk_path_object *mpk_path_object_of(const struct mpk_path_value *v,
							       enum mpk_path_object_kind kind)
{
	return v->kind == MPK_PATH_OBJECT && v->object->kind == kind ? v->object : NULL;
}

/* mpk_path_parts - zeroed memory of the path; the number of its parts is bounded
 * Returns  NULL when the path has too many parts, which ends it, or without memory, which sets nomem */
void *mpk_path_parts(struct mpk_path *r, size_t count, size_t size);

/* mpk_path_make - a new object with one reference; NULL as for mpk_path_parts */
struct mpk_path_object *mpk_path_make(struct mpk_path *r, enum mpk_path_object_kind kind);

/* mpk_path_drop - release a reference; a storage without references is freed in the timeline */
void mpk_path_drop(struct mpk_path *r, struct mpk_path_value v);

/* mpk_path_tensor_bytes - the bytes of a tensor
 * Returns  false when an extent is unknown or negative, or the product does not fit 64 bits */
bool mpk_path_tensor_bytes(const struct mpk_path_object *t, uint64_t *out);

/* mpk_path_make_tensor - a tensor without memory
 * @like    NULL: its extents are unknown; else a tensor or shape that has them */
struct mpk_path_object *mpk_path_make_tensor(struct mpk_path *r, const struct mpk_path_object *like,
					     struct mpk_dtype dtype);

/* mpk_path_make_storage - a storage, allocated in the timeline
 * @sized   false: it is as large as the tensors that are put into it */
struct mpk_path_object *mpk_path_make_storage(struct mpk_path *r, uint64_t bytes, bool sized,
					      int64_t device, enum mpk_memory_kind kind);

/* mpk_path_put_tensor - place a tensor at a byte of a storage, which it references from now on */
void mpk_path_put_tensor(struct mpk_path *r, struct mpk_path_object *t,
			 struct mpk_path_object *memory, uint64_t offset);

/* mpk_path_new_tensor - a tensor with a storage of its own */
struct mpk_path_value mpk_path_new_tensor(struct mpk_path *r, const struct mpk_path_object *like,
					  struct mpk_dtype dtype, int64_t device,
					  enum mpk_memory_kind kind);

/* mpk_path_read_texts - read what the checks of a function call the slots of its heap
 * match_shape compares slots with names and expressions; the results are in texts and text_counts of the path. */
void mpk_path_read_texts(struct mpk_path *r, size_t func);

/* mpk_path_read_slot - the extent in a slot of a heap; where nothing set it, by the expression that a text has for it */
struct mpk_path_extent mpk_path_read_slot(struct mpk_path *r, const struct mpk_path_value *v,
					  int64_t slot);

/* Extents by name, each once: those that the caller gave, then the others, which are 1. */
struct mpk_path_names {
	struct mpk_extent_value *items;
	size_t count, cap, given;
	bool nomem;
};

/* mpk_path_take_names - add the extents that a type names; an integer goes by the name of its parameter */
void mpk_path_take_names(struct mpk_path_names *n, const struct mpk_memory_ask *ask,
			 const struct mpk_type *t, struct mpk_span name, unsigned depth);

/* mpk_path_make_input - an argument of this type
 * @bytes   raised by the bytes of its tensors */
struct mpk_path_value mpk_path_make_input(struct mpk_path *r, const struct mpk_type *t,
					  struct mpk_span name,
					  const struct mpk_extent_values *values, uint64_t *bytes,
					  unsigned depth);

#endif
