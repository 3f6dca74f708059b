/* SPDX-License-Identifier: Apache-2.0 */
/* value.c - values: making them, counting their references, calling those that are functions
 *
 * Values are small structs that are copied; what is large in them is shared and counted. Dropping
 * one never recurses over arrays, however deep a program nested them.
 *
 * A module may be reached over several importers and is asked once, so that a diamond of n layers costs n questions
 * and not 2^n.
 */
#include "value/value.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/strmap.h"
#include "base/vec.h"
#include "text/escape.h"
#include "value/function.h"
#include "value/module.h"

const char *mpk_value_kind_name(enum mpk_value_kind kind)
{
	static const char *const names[MPK_VALUE_KIND_COUNT] = {
		[MPK_VALUE_NONE] = "none",       [MPK_VALUE_BOOL] = "bool",
		[MPK_VALUE_INT] = "int",         [MPK_VALUE_FLOAT] = "float",
		[MPK_VALUE_STR] = "str",         [MPK_VALUE_BYTES] = "bytes",
		[MPK_VALUE_SHAPE] = "shape",     [MPK_VALUE_DTYPE] = "dtype",
		[MPK_VALUE_DEVICE] = "device",   [MPK_VALUE_TENSOR] = "tensor",
		[MPK_VALUE_STORAGE] = "storage", [MPK_VALUE_ARRAY] = "array",
		[MPK_VALUE_OPAQUE] = "pointer",  [MPK_VALUE_FUNCTION] = "function",
		[MPK_VALUE_MODULE] = "module",   [MPK_VALUE_OBJECT] = "object",
	};

	return (size_t)kind < MPK_ARRAY_COUNT(names) ? names[kind] : "unknown";
}

/* One block, with a NUL after the bytes, so that module code can be given a C string. */
enum mpk_code mpk_value_of_text(enum mpk_value_kind kind, struct mpk_span s, struct mpk_value *out,
				struct mpk_error *err)
{
	struct mpk_text *text = malloc(sizeof *text + s.len + 1);

	MPK_TRY_ALLOC(text, err);
	atomic_init(&text->refs, 1);
	text->len = s.len;
	if (s.len)
		memcpy(text->data, s.data, s.len);
	text->data[s.len] = '\0';
	*out = (struct mpk_value){ .kind = kind, .text = text };
	return MPK_OK;
}

enum mpk_code mpk_value_of_shape(const int64_t *extents, size_t ndim, struct mpk_value *out,
				 struct mpk_error *err)
{
	struct mpk_shape *shape = malloc(sizeof *shape + ndim * sizeof extents[0]);

	MPK_TRY_ALLOC(shape, err);
	atomic_init(&shape->refs, 1);
	shape->ndim = ndim;
	if (ndim && extents)
		memcpy(shape->extents, extents, ndim * sizeof extents[0]);
	*out = (struct mpk_value){ .kind = MPK_VALUE_SHAPE, .shape = shape };
	return MPK_OK;
}

/* Zeroed items are none: an array that is filled half can be dropped. */
enum mpk_code mpk_value_of_array(size_t count, struct mpk_value *out, struct mpk_error *err)
{
	struct mpk_array *array = calloc(1, sizeof *array + count * sizeof array->items[0]);

	MPK_TRY_ALLOC(array, err);
	atomic_init(&array->refs, 1);
	array->count = count;
	*out = (struct mpk_value){ .kind = MPK_VALUE_ARRAY, .array = array };
	return MPK_OK;
}

/* Relaxed: who holds one reference already sees the object. */
static void hold_ref(atomic_uint *refs)
{
	(void)atomic_fetch_add_explicit(refs, 1, memory_order_relaxed);
}

/* true when that was the last reference */
static bool drop_ref(atomic_uint *refs)
{
	return atomic_fetch_sub_explicit(refs, 1, memory_order_acq_rel) == 1;
}

/* --- modules ---------------------------------------------------------------------------------- */

struct mpk_module *mpk_module_hold(struct mpk_module *m)
{
	if (m)
		(void)atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
	return m;
}

/* A chain of imports may be as long as a file is large: what m held is dropped in a loop, not
 * by recursion. */
void mpk_module_drop(struct mpk_module *m)
{
	struct mpk_module *pending = NULL;

	for (;;) {
		if (m && atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) == 1) {
			m->next_pending = pending;
			pending = m;
		}
		while (pending && !pending->import_count) {
			struct mpk_module *dead = pending;

			pending = dead->next_pending;
			free(dead->imports);
			dead->destroy(dead);
		}
		if (!pending)
			return;
		m = pending->imports[--pending->import_count];
	}
}

enum mpk_code mpk_module_set_imports(struct mpk_module *m, struct mpk_module *const *imports,
				     size_t count, struct mpk_error *err)
{
	m->imports = malloc((count ? count : 1) * sizeof(struct mpk_module *));
	MPK_TRY_ALLOC(m->imports, err);
	for (size_t i = 0; i < count; i++)
		m->imports[i] = mpk_module_hold(imports[i]);
	m->import_count = count;
	return MPK_OK;
}

/* --- the walk ------------------------------------------------------------------------ */

/* Where modules are imported; those that were met by their addresses. */
struct walk {
	struct mpk_module *const **stack;
	size_t depth, stack_cap;
	struct mpk_strmap seen;
};

static void walk_fini(struct walk *w)
{
	free(w->stack);
	mpk_strmap_fini(&w->seen);
}

/* In reverse, so that the first import is taken first. */
static enum mpk_code push_imports(struct walk *w, const struct mpk_module *m, struct mpk_error *err)
{
	MPK_TRY_ALLOC(mpk_vec_reserve(&w->stack, &w->stack_cap, w->depth + m->import_count + 1,
				      sizeof *w->stack),
		      err);
	for (size_t i = m->import_count; i-- > 0;)
		w->stack[w->depth++] = &m->imports[i];
	return MPK_OK;
}

/* A failure is remembered, not returned: another module may have the function. Without memory nobody knows who
 * has it, so that ends the search. */
static enum mpk_code ask(struct mpk_module *m, const char *name, struct mpk_function **out,
			 struct mpk_module_search *search, struct mpk_error *err)
{
	struct mpk_error why = { 0 };

	*out = NULL;
	if (!m->find) {
		if (!search->unloadable)
			search->unloadable = m;
		return MPK_OK;
	}
	if (m->find(m, name, out, &why) == MPK_OK)
		return MPK_OK;
	if (why.code == MPK_E_NOMEM)
		return mpk_fail_nomem(err);
	if (search->failure.code == MPK_OK)
		search->failure = why;
	return MPK_OK;
}

enum mpk_code mpk_module_find_import(struct mpk_module *m, const char *name,
				     struct mpk_function **out, struct mpk_module_search *search,
				     struct mpk_error *err)
{
	MPK_CLEANUP(walk_fini) struct walk w = { 0 };

	*out = NULL;
	MPK_TRY(push_imports(&w, m, err));
	while (w.depth && !*out) {
		struct mpk_module *const *at = w.stack[--w.depth];
		int put = mpk_strmap_put(&w.seen, mpk_span_of(at, sizeof *at), 0, NULL);

		MPK_TRY_ALLOC(put >= 0, err);
		if (!put)
			continue;
		MPK_TRY(ask(*at, name, out, search, err));
		MPK_TRY(push_imports(&w, *at, err));
	}
	return MPK_OK;
}

enum mpk_code mpk_module_find(struct mpk_module *m, const char *name, struct mpk_function **out,
			      struct mpk_module_search *search, struct mpk_error *err)
{
	MPK_TRY(ask(m, name, out, search, err));
	return *out ? MPK_OK : mpk_module_find_import(m, name, out, search, err);
}

/* Kinds that lie in the value itself need nothing. */
struct mpk_value mpk_value_hold(struct mpk_value v)
{
	switch (v.kind) {
	case MPK_VALUE_STR:
	case MPK_VALUE_BYTES:
		hold_ref(&v.text->refs);
		break;
	case MPK_VALUE_SHAPE:
		hold_ref(&v.shape->refs);
		break;
	case MPK_VALUE_TENSOR:
		(void)mpk_tensor_hold(v.tensor);
		break;
	case MPK_VALUE_STORAGE:
		(void)mpk_storage_hold(v.storage);
		break;
	case MPK_VALUE_MODULE:
		(void)mpk_module_hold(v.module);
		break;
	case MPK_VALUE_ARRAY:
		hold_ref(&v.array->refs);
		break;
	case MPK_VALUE_FUNCTION:
		(void)mpk_function_hold(v.function);
		break;
	case MPK_VALUE_OBJECT:
		hold_ref(&v.object->refs);
		break;
	case MPK_VALUE_NONE:
	case MPK_VALUE_BOOL:
	case MPK_VALUE_INT:
	case MPK_VALUE_FLOAT:
	case MPK_VALUE_DTYPE:
	case MPK_VALUE_DEVICE:
	case MPK_VALUE_OPAQUE:
	case MPK_VALUE_KIND_COUNT:
		break;
	}
	return v;
}

/* Arrays nest as deep as a program makes them (a list is a pair of a head and a list). One that dies
 * while another of this thread is being freed waits for its turn, so that nothing recurses. */
static _Thread_local struct {
	struct mpk_array *arrays;
	bool is_freeing;
} pending;

static void array_drop(struct mpk_array *array)
{
	if (!drop_ref(&array->refs))
		return;
	array->next_pending = pending.arrays;
	pending.arrays = array;
	if (pending.is_freeing)
		return;
	pending.is_freeing = true;
	while (pending.arrays) {
		array = pending.arrays;
		pending.arrays = array->next_pending;
		for (size_t i = 0; i < array->count; i++)
			mpk_value_drop(&array->items[i]);
		free(array);
	}
	pending.is_freeing = false;
}

/* The value is none before anything is released, so that what a release calls cannot drop it
 * again. */
void mpk_value_drop(struct mpk_value *v)
{
	struct mpk_value old = *v;

	*v = (struct mpk_value){ 0 };
	switch (old.kind) {
	case MPK_VALUE_STR:
	case MPK_VALUE_BYTES:
		if (drop_ref(&old.text->refs))
			free(old.text);
		break;
	case MPK_VALUE_SHAPE:
		if (drop_ref(&old.shape->refs))
			free(old.shape);
		break;
	case MPK_VALUE_TENSOR:
		mpk_tensor_drop(old.tensor);
		break;
	case MPK_VALUE_STORAGE:
		mpk_storage_drop(old.storage);
		break;
	case MPK_VALUE_MODULE:
		mpk_module_drop(old.module);
		break;
	case MPK_VALUE_ARRAY:
		array_drop(old.array);
		break;
	case MPK_VALUE_FUNCTION:
		mpk_function_drop(old.function);
		break;
	case MPK_VALUE_OBJECT:
		if (drop_ref(&old.object->refs))
			old.object->release(old.object);
		break;
	case MPK_VALUE_NONE:
	case MPK_VALUE_BOOL:
	case MPK_VALUE_INT:
	case MPK_VALUE_FLOAT:
	case MPK_VALUE_DTYPE:
	case MPK_VALUE_DEVICE:
	case MPK_VALUE_OPAQUE:
	case MPK_VALUE_KIND_COUNT:
		break;
	}
}

/* --- functions ------------------------------------------------------------------------------- */

struct mpk_function *mpk_function_hold(struct mpk_function *f)
{
	if (f)
		(void)atomic_fetch_add_explicit(&f->refs, 1, memory_order_relaxed);
	return f;
}

/* Handles go first: module code may hold them longer, and they then no longer lead here. */
void mpk_function_drop(struct mpk_function *f)
{
	if (!f || atomic_fetch_sub_explicit(&f->refs, 1, memory_order_acq_rel) != 1)
		return;
	if (f->drop_handles)
		f->drop_handles(f);
	if (f->destroy)
		f->destroy(f);
}

/* A function that fails may have set its result already: the caller is not given it. */
enum mpk_code mpk_function_call(struct mpk_function *f, const struct mpk_args *args,
				struct mpk_value *result, struct mpk_error *err)
{
	struct mpk_value got = { 0 };

	if (!f->takes_names) {
		/* Only models know names of arguments. */
		for (size_t i = 0; args->names && i < args->count; i++)
			if (args->names[i].len)
				return mpk_fail(
					err, MPK_E_USAGE,
					"argument %zu is named '%s': leave the name out, as this function takes arguments by position alone",
					i, MPK_QUOTE(args->names[i]));
	}
	enum mpk_code rc = f->call(f, args, &got, err);

	if (rc != MPK_OK) {
		mpk_value_drop(&got);
		return mpk_failed(rc);
	}
	*result = got;
	return MPK_OK;
}
