/* SPDX-License-Identifier: Apache-2.0 */
/* window.c - the older cache: one tensor that grows along its first dimension or wraps around
 *
 * When the tensor is full, appending doubles its memory. A cache with a maximum size continues at
 * its first entry, or after the entries that it always keeps ("attention sinks"). An entry is a
 * whole row of the first dimension. */
#include <stdlib.h>
#include <string.h>

#include "executor/state/internal/state.h"

struct window_cache {
	struct mpk_kv_state base; /* must be the first field */
	struct mpk_tensor *data;
	int64_t filled, next; /* number of entries; index of the next one after wrapping around */
};

static const struct mpk_kv_ops window_ops;

static void window_destroy(struct mpk_kv_state *state)
{
	mpk_tensor_drop(((struct window_cache *)state)->data);
}

static enum mpk_code take_cache(const char *name, const struct mpk_value *args, size_t i,
				struct window_cache **out, struct mpk_error *err)
{
	struct mpk_kv_state *state;

	MPK_TRY(mpk_kv_take(name, args, i, &window_ops, "a cache of one tensor", &state, err));
	*out = (struct window_cache *)state;
	return MPK_OK;
}

/* Reads entries of the cache's type and shape as a compact tensor. */
static enum mpk_code take_entries(const char *name, const struct window_cache *c,
				  const struct mpk_value *args, size_t i, struct mpk_tensor **out,
				  struct mpk_error *err)
{
	const struct mpk_dltensor *dl, *own = &c->data->dl;

	MPK_TRY(mpk_relax_tensor(name, args, i, out, err));
	dl = &(*out)->dl;
	MPK_TRY(mpk_state_check(mpk_dtype_equal(dl->dtype, own->dtype) && dl->ndim == own->ndim &&
					mpk_dltensor_is_compact(dl),
				err, "%s: entries have another type than the cache", name));
	for (int32_t k = 1; k < dl->ndim; k++)
		MPK_TRY(mpk_state_check(dl->shape[k] == own->shape[k], err,
					"%s: extent %d of the entries is %lld, not %lld", name,
					(int)k, (long long)dl->shape[k], (long long)own->shape[k]));
	return MPK_OK;
}

/* Copies the entries of a tensor to a place in the cache, which has space for them. */
static enum mpk_code put_entries(struct window_cache *c, struct mpk_tensor *from, int64_t first,
				 int64_t count, int64_t at, struct mpk_error *err)
{
	uint64_t bytes;

	/* The bytes of an entry follow from its shape, also for an empty cache. */
	MPK_TRY(mpk_tensor_bytes_of(c->data->dl.dtype, c->data->dl.shape + 1,
				    (size_t)c->data->dl.ndim - 1, &bytes, err));
	return mpk_state_copy(
		(struct mpk_state_bytes){ from, (uint64_t)first * bytes, (uint64_t)count * bytes },
		(struct mpk_state_bytes){ c->data, (uint64_t)at * bytes, (uint64_t)count * bytes },
		err);
}

static enum mpk_code make_room(struct window_cache *c, int64_t entries, struct mpk_error *err)
{
	int64_t shape[MPK_TENSOR_NDIM_MAX], room = c->data->dl.shape[0];
	struct mpk_tensor *made, *old = c->data;
	enum mpk_code rc;

	if (entries <= room)
		return MPK_OK;
	MPK_TRY(mpk_state_check(room > 0, err, "a cache without room cannot be doubled"));
	while (room < entries && room <= INT64_MAX / 2)
		room *= 2;
	memcpy(shape, old->dl.shape, (size_t)old->dl.ndim * sizeof *shape);
	shape[0] = room;
	MPK_TRY(mpk_state_pages(old->dl.dtype, shape, (size_t)old->dl.ndim, old->dl.device, &made,
				err));
	rc = mpk_state_copy((struct mpk_state_bytes){ old, 0, old->bytes },
			    (struct mpk_state_bytes){ made, 0, old->bytes }, err);
	if (rc != MPK_OK) {
		mpk_tensor_drop(made);
		return rc;
	}
	c->data = made;
	mpk_tensor_drop(old);
	return MPK_OK;
}

static enum mpk_code append_entries(struct window_cache *c, struct mpk_tensor *t,
				    struct mpk_error *err)
{
	int64_t count = t->dl.shape[0];

	MPK_TRY(mpk_state_check(count <= INT64_MAX - c->filled, err, "too many entries"));
	MPK_TRY(make_room(c, c->filled + count, err));
	MPK_TRY(put_entries(c, t, 0, count, c->filled, err));
	c->filled += count;
	return MPK_OK;
}

/* --- as bytes ------------------------------------------------------------------------------------
 *
 * i64 element type, dimensions, each extent but the first; i64 number of entries, index of the next
 * one; then the contents of as many entries as the larger of these two numbers. */

static int64_t type_number(const struct mpk_dltensor *dl)
{
	return dl->dtype.code | dl->dtype.bits << 8 | (int64_t)dl->dtype.lanes << 16;
}

/* After wrapping around, removed entries may be read again. */
static int64_t kept_entries(const struct window_cache *c)
{
	return c->next > c->filled ? c->next : c->filled;
}

static enum mpk_code window_save(const struct mpk_kv_state *state, const int64_t *ids, size_t count,
				 struct mpk_save *to, struct mpk_error *err)
{
	const struct window_cache *c = (const struct window_cache *)state;
	const struct mpk_dltensor *dl = &c->data->dl;
	uint64_t bytes;

	(void)count;
	MPK_TRY(mpk_state_check(!ids, err, "a cache of one tensor has no sequences"));
	mpk_save_u64(to, (uint64_t)type_number(dl));
	mpk_save_u64(to, (uint64_t)dl->ndim);
	for (int32_t i = 1; i < dl->ndim; i++)
		mpk_save_u64(to, (uint64_t)dl->shape[i]);
	mpk_save_u64(to, (uint64_t)c->filled);
	mpk_save_u64(to, (uint64_t)c->next);
	MPK_TRY(mpk_tensor_bytes_of(dl->dtype, dl->shape + 1, (size_t)dl->ndim - 1, &bytes, err));
	return mpk_save_memory(
		to, (struct mpk_state_bytes){ c->data, 0, (uint64_t)kept_entries(c) * bytes }, err);
}

/* Replaces the content of the cache, which is a single sequence. */
static enum mpk_code window_load(struct mpk_kv_state *state, struct mpk_load *from,
				 struct mpk_error *err)
{
	struct window_cache *c = (struct window_cache *)state, read = { 0 };
	const struct mpk_dltensor *dl = &c->data->dl;
	int64_t shape[MPK_TENSOR_NDIM_MAX];
	size_t left;
	uint64_t bytes;
	enum mpk_code code;

	MPK_TRY(mpk_load_same(from, "element type", type_number(dl), err));
	MPK_TRY(mpk_load_same(from, "dimensions", dl->ndim, err));
	for (int32_t i = 1; i < dl->ndim; i++)
		MPK_TRY(mpk_load_same(from, "extent of an entry", dl->shape[i], err));
	MPK_TRY(mpk_read_i64(&from->cursor, "entries", &read.filled, err));
	MPK_TRY(mpk_read_i64(&from->cursor, "place", &read.next, err));
	MPK_TRY(mpk_tensor_bytes_of(dl->dtype, dl->shape + 1, (size_t)dl->ndim - 1, &bytes, err));
	left = from->cursor.bytes.len - from->cursor.pos;
	/* entries of no bytes: any number that memory can count is valid */
	if (read.filled < 0 || read.next < 0 || kept_entries(&read) > INT32_MAX ||
	    (uint64_t)kept_entries(&read) * bytes != left)
		return mpk_fail(err, MPK_E_CORRUPT, "the saved entries do not hold together");
	memcpy(shape, dl->shape, (size_t)dl->ndim * sizeof *shape);
	if (shape[0] < kept_entries(&read))
		shape[0] = kept_entries(&read);
	MPK_TRY(mpk_state_pages(dl->dtype, shape, (size_t)dl->ndim, dl->device, &read.data, err));
	code = mpk_load_memory(from, (struct mpk_state_bytes){ read.data, 0, left }, err);
	if (code != MPK_OK) {
		mpk_tensor_drop(read.data);
		return code;
	}
	mpk_tensor_drop(c->data);
	c->data = read.data;
	c->filled = read.filled;
	c->next = read.next;
	return MPK_OK;
}

static const struct mpk_kv_ops window_ops = { .save = window_save,
					      .load = window_load,
					      .destroy = window_destroy };

/* --- builtins ------------------------------------------------------------------------------------ */

static enum mpk_code fill_window(struct window_cache *c, const char *name,
				 const struct mpk_value *args, struct mpk_error *err)
{
	struct mpk_tensor *init, *entries;
	const struct mpk_shape *room;
	int64_t filled;

	MPK_TRY(mpk_relax_tensor(name, args, 0, &init, err));
	MPK_TRY(mpk_state_shape(name, args, 1, &room, err));
	MPK_TRY(mpk_relax_int(name, args, 2, &filled, err));
	MPK_TRY(mpk_state_check(room->ndim > 0 && room->ndim <= MPK_TENSOR_NDIM_MAX, err,
				"%s: a cache of %zu dimensions", name, room->ndim));
	MPK_TRY(mpk_state_pages(init->dl.dtype, room->extents, room->ndim, init->dl.device,
				&c->data, err));
	MPK_TRY(take_entries(name, c, args, 0, &entries, err));
	MPK_TRY(append_entries(c, entries, err));
	if (filled < 0)
		return MPK_OK;
	MPK_TRY(mpk_state_check(filled <= c->data->dl.shape[0], err,
				"%s: %lld entries of %lld are filled", name, (long long)filled,
				(long long)c->data->dl.shape[0]));
	c->filled = c->next = filled;
	return MPK_OK;
}

static enum mpk_code window_create(const struct mpk_value *args, size_t count,
				   struct mpk_value *result, struct mpk_error *err)
{
	static const char name[] = "vm.builtin.attention_kv_cache_create";
	struct mpk_value made = { .kind = MPK_VALUE_OBJECT };
	struct window_cache *c;
	enum mpk_code rc;

	MPK_TRY(mpk_relax_arity(name, count, 3, 3, err));
	c = calloc(1, sizeof *c);
	MPK_TRY_ALLOC(c, err);
	mpk_kv_init(&c->base, &window_ops, "relax.vm.AttentionKVCacheLegacy");
	made.object = &c->base.object;
	rc = fill_window(c, name, args, err);
	if (rc != MPK_OK)
		mpk_value_drop(&made);
	else
		*result = made;
	return rc;
}

static enum mpk_code window_append(const struct mpk_value *args, size_t count,
				   struct mpk_value *result, struct mpk_error *err)
{
	static const char name[] = "vm.builtin.attention_kv_cache_append";
	struct window_cache *c;
	struct mpk_tensor *t;

	MPK_TRY(mpk_relax_arity(name, count, 2, 2, err));
	MPK_TRY(take_cache(name, args, 0, &c, err));
	MPK_TRY(take_entries(name, c, args, 1, &t, err));
	MPK_TRY(append_entries(c, t, err));
	*result = mpk_value_hold(args[0]);
	return MPK_OK;
}

static enum mpk_code window_update(const struct mpk_value *args, size_t count,
				   struct mpk_value *result, struct mpk_error *err)
{
	static const char name[] = "vm.builtin.attention_kv_cache_update";
	struct window_cache *c;
	struct mpk_tensor *t;

	MPK_TRY(mpk_relax_arity(name, count, 2, 2, err));
	MPK_TRY(take_cache(name, args, 0, &c, err));
	MPK_TRY(take_entries(name, c, args, 1, &t, err));
	MPK_TRY(mpk_state_check(t->dl.shape[0] == c->filled, err,
				"%s: %lld entries for the %lld that are filled", name,
				(long long)t->dl.shape[0], (long long)c->filled));
	MPK_TRY(put_entries(c, t, 0, c->filled, 0, err));
	*result = mpk_value_hold(args[0]);
	return MPK_OK;
}

/* Entries that do not fit before the maximum size are put at the beginning, after the entries that
 * are kept. */
static enum mpk_code put_round(struct window_cache *c, struct mpk_tensor *t, int64_t most,
			       int64_t kept, struct mpk_error *err)
{
	int64_t count = t->dl.shape[0], first = most - c->next;

	MPK_TRY(mpk_state_check(kept >= 0 && kept <= most && count <= most - kept &&
					c->next <= most,
				err, "%lld entries for a window of %lld that keeps %lld",
				(long long)count, (long long)most, (long long)kept));
	if (first > count)
		first = count;
	MPK_TRY(make_room(c, c->filled + count < most ? c->filled + count : most, err));
	MPK_TRY(put_entries(c, t, 0, first, c->next, err));
	c->filled = c->filled + count < most ? c->filled + count : most;
	c->next += first;
	if (first == count)
		return MPK_OK;
	MPK_TRY(put_entries(c, t, first, count - first, kept, err));
	c->next = count - first + kept;
	return MPK_OK;
}

static enum mpk_code override(const char *name, const struct mpk_value *args, size_t count,
			      struct mpk_value *result, struct mpk_error *err)
{
	struct window_cache *c;
	struct mpk_tensor *t;
	int64_t most, kept = 0;

	MPK_TRY(take_cache(name, args, 0, &c, err));
	MPK_TRY(take_entries(name, c, args, 1, &t, err));
	MPK_TRY(mpk_relax_int(name, args, 2, &most, err));
	if (count == 4)
		MPK_TRY(mpk_relax_int(name, args, 3, &kept, err));
	MPK_TRY(put_round(c, t, most, kept, err));
	*result = mpk_value_hold(args[0]);
	return MPK_OK;
}

static enum mpk_code window_override(const struct mpk_value *args, size_t count,
				     struct mpk_value *result, struct mpk_error *err)
{
	static const char name[] = "vm.builtin.attention_kv_cache_window_override";

	MPK_TRY(mpk_relax_arity(name, count, 3, 3, err));
	return override(name, args, count, result, err);
}

static enum mpk_code window_sinks(const struct mpk_value *args, size_t count,
				  struct mpk_value *result, struct mpk_error *err)
{
	static const char name[] = "vm.builtin.attention_kv_cache_window_override_with_sinks";

	MPK_TRY(mpk_relax_arity(name, count, 4, 4, err));
	return override(name, args, count, result, err);
}

/* Returns a view: later writes to it change the cache, as in TVM. */
static enum mpk_code window_view(const struct mpk_value *args, size_t count,
				 struct mpk_value *result, struct mpk_error *err)
{
	static const char name[] = "vm.builtin.attention_kv_cache_view";
	int64_t shape[MPK_TENSOR_NDIM_MAX];
	const struct mpk_shape *asked;
	struct window_cache *c;
	struct mpk_tensor *t;

	MPK_TRY(mpk_relax_arity(name, count, 1, 2, err));
	MPK_TRY(take_cache(name, args, 0, &c, err));
	memcpy(shape, c->data->dl.shape, (size_t)c->data->dl.ndim * sizeof *shape);
	shape[0] = c->filled;
	if (count == 2) {
		MPK_TRY(mpk_state_shape(name, args, 1, &asked, err));
		MPK_TRY(mpk_state_check(
			asked->ndim == (size_t)c->data->dl.ndim &&
				memcmp(asked->extents, shape, asked->ndim * sizeof *shape) == 0,
			err, "%s: %lld entries are filled, and the shape is another", name,
			(long long)c->filled));
	}
	MPK_TRY(mpk_state_view(c->data, shape, (size_t)c->data->dl.ndim, &t, err));
	*result = mpk_value_of_tensor(t);
	return MPK_OK;
}

/* @count   number of entries to remove from each; -1: all */
static enum mpk_code pop_all(const char *name, const struct mpk_value *args, int64_t count,
			     struct mpk_error *err)
{
	struct window_cache *c;
	struct mpk_array *all;

	MPK_TRY(mpk_state_array(name, args, 0, &all, err));
	for (size_t i = 0; i < all->count; i++) {
		MPK_TRY(take_cache(name, all->items, i, &c, err));
		if (count == -1)
			c->next = c->filled = 0;
		MPK_TRY(mpk_state_check(count <= c->filled, err,
					"%s: %lld of %lld entries cannot be taken back", name,
					(long long)count, (long long)c->filled));
		if (count > 0)
			c->filled -= count;
	}
	return MPK_OK;
}

static enum mpk_code window_popn(const struct mpk_value *args, size_t count,
				 struct mpk_value *result, struct mpk_error *err)
{
	static const char name[] = "vm.builtin.attention_kv_cache_array_popn";
	int64_t n;

	(void)result;
	MPK_TRY(mpk_relax_arity(name, count, 2, 2, err));
	MPK_TRY(mpk_relax_int(name, args, 1, &n, err));
	MPK_TRY(mpk_state_check(n >= 0, err, "%s: %lld entries", name, (long long)n));
	return pop_all(name, args, n, err);
}

static enum mpk_code window_clear(const struct mpk_value *args, size_t count,
				  struct mpk_value *result, struct mpk_error *err)
{
	static const char name[] = "vm.builtin.attention_kv_cache_array_clear";

	(void)result;
	MPK_TRY(mpk_relax_arity(name, count, 1, 1, err));
	return pop_all(name, args, -1, err);
}

static const struct mpk_relax_builtin rows[] = {
#define MPK_ROW_window(...) __VA_ARGS__,
#include "executor/relax/family.def"
};
const struct mpk_relax_builtins mpk_relax_window_builtins = { rows, MPK_ARRAY_COUNT(rows) };
