/* SPDX-License-Identifier: Apache-2.0 */
/* wire.c - values through a file in memory, from the child that made them to its parent
 *
 * The child writes with pwrite, so that its position is its own; what it forks shares the
 * descriptor. Small pieces are gathered, as a system call for each would cost more than the
 * values. The reading end trusts nothing: it checks that the file has memory for each size that it
 * claims, and nests no deeper than MPK_WIRE_NEST_MAX.
 */
#include "session/internal/reply.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/num.h"

/* What comes before each value. Both ends are this very program, so the layout is free to be the
 * compiler's. */
struct head {
	uint32_t kind;
	struct mpk_dtype type;
	uint64_t count; /* text: bytes; shape, tensor: dimensions; array: items */
	union {
		int64_t integer;
		double real;
		struct mpk_dtype dtype;
		struct mpk_dldevice device;
	};
};

/* --- writing ------------------------------------------------------------------------ */

enum mpk_code mpk_wire_fail(struct mpk_error *err)
{
	if (errno == EBADF)
		return mpk_fail(err, MPK_E_RAISED,
				"the function closed the descriptor that its result goes through");
	return mpk_fail_errno(err, MPK_E_IO, errno, "cannot hand the result over");
}

/* pwrite may write less than asked for. */
static enum mpk_code write_at(int fd, uint64_t off, const uint8_t *data, size_t len,
			      struct mpk_error *err)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = pwrite(fd, data + done, len - done, (off_t)(off + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return mpk_wire_fail(err);
		done += (size_t)n;
	}
	return MPK_OK;
}

/* Forgets what is held also on failure: it would be written twice. */
enum mpk_code mpk_wire_end(struct mpk_wire *w, struct mpk_error *err)
{
	size_t held = w->held;

	w->held = 0;
	return write_at(w->fd, w->off - held, w->buffer, held, err);
}

/* Larger pieces go past the buffer. */
enum mpk_code mpk_wire_put(struct mpk_wire *w, struct mpk_span bytes, struct mpk_error *err)
{
	if (bytes.len > sizeof w->buffer - w->held)
		MPK_TRY(mpk_wire_end(w, err));
	if (bytes.len > sizeof w->buffer) {
		MPK_TRY(write_at(w->fd, w->off, bytes.data, bytes.len, err));
	} else if (bytes.len) {
		memcpy(w->buffer + w->held, bytes.data, bytes.len);
		w->held += bytes.len;
	}
	w->off += bytes.len;
	return MPK_OK;
}

static enum mpk_code put_padding(struct mpk_wire *w, struct mpk_error *err)
{
	static const uint8_t zeros[MPK_STORAGE_ALIGN];
	size_t over = w->off % MPK_STORAGE_ALIGN;

	return mpk_wire_put(w, mpk_span_of(zeros, over ? MPK_STORAGE_ALIGN - over : 0), err);
}

/* Only compact tensors come here; the session has fetched those of devices. */
static enum mpk_code wire_put_tensor(struct mpk_wire *w, struct head *h, const struct mpk_tensor *t,
				     struct mpk_error *err)
{
	const struct mpk_dltensor *dl = &t->dl;
	struct mpk_span elements = mpk_tensor_span(t);

	if (!mpk_dldevice_is_host(dl->device))
		return mpk_fail(err, MPK_E_UNSUPPORTED, "a result lies on a device of type %d",
				dl->device.type);
	if (elements.len && !elements.data)
		return mpk_fail(err, MPK_E_RAISED, "a result of %zu bytes has no data",
				elements.len);
	h->count = (uint64_t)dl->ndim;
	h->dtype = dl->dtype;
	MPK_TRY(mpk_wire_put(w, mpk_span_of(h, sizeof *h), err));
	MPK_TRY(mpk_wire_put(w, mpk_span_of(dl->shape, (size_t)dl->ndim * sizeof dl->shape[0]),
			     err));
	MPK_TRY(put_padding(w, err));
	return mpk_wire_put(w, elements, err);
}

static enum mpk_code wire_put_value(struct mpk_wire *w, const struct mpk_value *v, unsigned depth,
				    struct mpk_error *err);

static enum mpk_code put_array(struct mpk_wire *w, struct head *h, const struct mpk_array *a,
			       unsigned depth, struct mpk_error *err)
{
	if (depth == MPK_WIRE_NEST_MAX)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "a result of arrays nested deeper than %d",
				MPK_WIRE_NEST_MAX);
	h->count = a->count;
	MPK_TRY(mpk_wire_put(w, mpk_span_of(h, sizeof *h), err));
	for (size_t i = 0; i < a->count; i++)
		MPK_TRY(wire_put_value(w, &a->items[i], depth + 1, err));
	return MPK_OK;
}

static enum mpk_code wire_put_value(struct mpk_wire *w, const struct mpk_value *v, unsigned depth,
				    struct mpk_error *err)
{
	struct head h;
	struct mpk_span content = { 0 };

	memset(&h, 0, sizeof h); /* the padding travels too */
	h.kind = (uint32_t)v->kind;
	h.type = v->type;
	switch (v->kind) {
	case MPK_VALUE_TENSOR:
		return wire_put_tensor(w, &h, v->tensor, err);
	case MPK_VALUE_ARRAY:
		return put_array(w, &h, v->array, depth, err);
	case MPK_VALUE_STR:
	case MPK_VALUE_BYTES:
		content = mpk_value_text_span(v);
		h.count = content.len;
		break;
	case MPK_VALUE_SHAPE:
		content = mpk_span_of(v->shape->extents,
				      v->shape->ndim * sizeof v->shape->extents[0]);
		h.count = v->shape->ndim;
		break;
	case MPK_VALUE_BOOL:
		h.integer = v->boolean;
		break;
	case MPK_VALUE_INT:
		h.integer = v->integer;
		break;
	case MPK_VALUE_FLOAT:
		h.real = v->real;
		break;
	case MPK_VALUE_DTYPE:
		h.dtype = v->dtype;
		break;
	case MPK_VALUE_DEVICE:
		h.device = v->device;
		break;
	case MPK_VALUE_NONE:
	case MPK_VALUE_STORAGE:
	case MPK_VALUE_OPAQUE:
	case MPK_VALUE_FUNCTION:
	case MPK_VALUE_MODULE:
	case MPK_VALUE_OBJECT:
	case MPK_VALUE_KIND_COUNT:
		break;
	}
	MPK_TRY(mpk_wire_put(w, mpk_span_of(&h, sizeof h), err));
	return mpk_wire_put(w, content, err);
}

enum mpk_code mpk_wire_put_value(struct mpk_wire *w, const struct mpk_value *v,
				 struct mpk_error *err)
{
	return wire_put_value(w, v, 0, err);
}

/* --- reading ------------------------------------------------------------------------ */

enum mpk_code mpk_wire_damaged(struct mpk_error *err)
{
	return mpk_fail(err, MPK_E_RAISED,
			"the module damaged its process: the result that came back is broken");
}

/* Tensors made of a reply hold it, so it may outlive everything else of the session. */
void mpk_wire_map_drop(struct mpk_wire_map *m)
{
	void *data;

	if (!m || atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) != 1)
		return;
	data = (void *)(uintptr_t)m->bytes.data;
	if (m->is_mapped)
		(void)munmap(data, m->bytes.len);
	else
		free(data);
	free(m);
}

enum mpk_code mpk_wire_get(struct mpk_wire_map *m, uint64_t len, struct mpk_span *out,
			   struct mpk_error *err)
{
	if (!mpk_span_sub(m->bytes, m->pos, len, out))
		return mpk_wire_damaged(err);
	m->pos += len;
	return MPK_OK;
}

static void release_map(void *map)
{
	mpk_wire_map_drop(map);
}

/* At most as many as a tensor may have, so that they fit on the stack. */
static enum mpk_code get_extents(struct mpk_wire_map *m, uint64_t ndim, int64_t *out,
				 struct mpk_error *err)
{
	struct mpk_span raw;

	if (ndim > MPK_TENSOR_NDIM_MAX)
		return mpk_wire_damaged(err);
	MPK_TRY(mpk_wire_get(m, ndim * sizeof out[0], &raw, err));
	if (raw.len)
		memcpy(out, raw.data, raw.len);
	return MPK_OK;
}

/* A view of the mapped reply, which it keeps. */
static enum mpk_code view_tensor(struct mpk_wire_map *m, struct mpk_dtype dtype,
				 const int64_t *extents, size_t ndim, struct mpk_span data,
				 struct mpk_value *out, struct mpk_error *err)
{
	struct mpk_storage *storage;
	struct mpk_tensor *t;

	MPK_TRY(mpk_storage_wrap((void *)(uintptr_t)data.data, data.len,
				 (struct mpk_dldevice){ MPK_DL_CPU, 0 }, m, release_map, &storage,
				 err));
	(void)atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
	enum mpk_code rc = mpk_tensor_view(storage, 0, dtype, extents, ndim, &t, err);

	mpk_storage_drop(storage);
	if (rc == MPK_OK)
		*out = mpk_value_of_tensor(t);
	return rc;
}

/* The size follows from type and extents, which are checked to give one; the reply must have
 * that many bytes. */
static enum mpk_code get_tensor(struct mpk_wire_map *m, const struct head *h, struct mpk_value *out,
				struct mpk_error *err)
{
	int64_t extents[MPK_TENSOR_NDIM_MAX];
	struct mpk_span data;
	uint64_t bytes;

	MPK_TRY(get_extents(m, h->count, extents, err));
	if (!mpk_align_up(m->pos, MPK_STORAGE_ALIGN, &m->pos) ||
	    mpk_tensor_bytes_of(h->dtype, extents, (size_t)h->count, &bytes, NULL) != MPK_OK)
		return mpk_wire_damaged(err);
	MPK_TRY(mpk_wire_get(m, bytes, &data, err));
	return view_tensor(m, h->dtype, extents, (size_t)h->count, data, out, err);
}

/* A kind is checked before it becomes one of the enum. */
static enum mpk_code get_value(struct mpk_wire_map *m, unsigned depth, struct mpk_value *out,
			       struct mpk_error *err);

/* An item takes at least a head, so a count that is made up cannot allocate more than the reply
 * is long. */
static enum mpk_code get_array(struct mpk_wire_map *m, uint64_t count, unsigned depth,
			       struct mpk_value *out, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_value_drop) struct mpk_value v = { 0 };

	if (depth == MPK_WIRE_NEST_MAX || count > (m->bytes.len - m->pos) / sizeof(struct head))
		return mpk_wire_damaged(err);
	MPK_TRY(mpk_value_of_array((size_t)count, &v, err));
	for (size_t i = 0; i < v.array->count; i++)
		MPK_TRY(get_value(m, depth + 1, &v.array->items[i], err));
	*out = v;
	v = (struct mpk_value){ 0 };
	return MPK_OK;
}

static void release_shadow(struct mpk_object *object)
{
	free(object);
}

/* What cannot travel is shown by its kind. */
static enum mpk_code get_shadow(enum mpk_value_kind kind, struct mpk_value *out,
				struct mpk_error *err)
{
	struct mpk_object *object = calloc(1, sizeof *object);

	MPK_TRY_ALLOC(object, err);
	atomic_init(&object->refs, 1);
	object->type = mpk_value_kind_name(kind);
	object->release = release_shadow;
	*out = (struct mpk_value){ .kind = MPK_VALUE_OBJECT, .object = object };
	return MPK_OK;
}

static enum mpk_code get_counted(struct mpk_wire_map *m, const struct head *h, unsigned depth,
				 struct mpk_value *out, struct mpk_error *err)
{
	struct mpk_span raw;

	if (h->kind == MPK_VALUE_TENSOR)
		return get_tensor(m, h, out, err);
	if (h->kind == MPK_VALUE_ARRAY)
		return get_array(m, h->count, depth, out, err);
	if (h->kind == MPK_VALUE_SHAPE) {
		if (h->count > m->bytes.len / sizeof(int64_t))
			return mpk_wire_damaged(err);
		MPK_TRY(mpk_wire_get(m, h->count * sizeof(int64_t), &raw, err));
		MPK_TRY(mpk_value_of_shape(NULL, (size_t)h->count, out, err));
		if (raw.len)
			memcpy(out->shape->extents, raw.data, raw.len);
		return MPK_OK;
	}
	MPK_TRY(mpk_wire_get(m, h->count, &raw, err));
	return mpk_value_of_text((enum mpk_value_kind)h->kind, raw, out, err);
}

static enum mpk_code get_value(struct mpk_wire_map *m, unsigned depth, struct mpk_value *out,
			       struct mpk_error *err)
{
	struct mpk_span raw;
	struct head h;

	MPK_TRY(mpk_wire_get(m, sizeof h, &raw, err));
	memcpy(&h, raw.data, sizeof h);
	if (h.kind >= MPK_VALUE_KIND_COUNT)
		return mpk_wire_damaged(err);

	struct mpk_value v = { .kind = (enum mpk_value_kind)h.kind, .type = h.type };

	/* the type of a number is how it is printed */
	if (v.type.bits > 64 || (v.type.bits && v.type.lanes != 1))
		return mpk_wire_damaged(err);
	switch (v.kind) {
	case MPK_VALUE_NONE:
		break;
	case MPK_VALUE_BOOL:
		v.boolean = h.integer != 0;
		break;
	case MPK_VALUE_INT:
		v.integer = h.integer;
		break;
	case MPK_VALUE_FLOAT:
		v.real = h.real;
		break;
	case MPK_VALUE_DTYPE:
		v.dtype = h.dtype;
		break;
	case MPK_VALUE_DEVICE:
		v.device = h.device;
		break;
	case MPK_VALUE_STR:
	case MPK_VALUE_BYTES:
	case MPK_VALUE_SHAPE:
	case MPK_VALUE_TENSOR:
	case MPK_VALUE_ARRAY:
		return get_counted(m, &h, depth, out, err);
	case MPK_VALUE_STORAGE:
	case MPK_VALUE_OPAQUE:
	case MPK_VALUE_FUNCTION:
	case MPK_VALUE_MODULE:
	case MPK_VALUE_OBJECT:
	case MPK_VALUE_KIND_COUNT:
		return get_shadow(v.kind, out, err);
	}
	*out = v;
	return MPK_OK;
}

enum mpk_code mpk_wire_get_value(struct mpk_wire_map *m, struct mpk_value *out,
				 struct mpk_error *err)
{
	return get_value(m, 0, out, err);
}
