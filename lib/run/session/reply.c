/* SPDX-License-Identifier: Apache-2.0 */
/* reply.c - reads the reply of a call from the memory file that the child wrote
 *
 * Called code may have damaged this file. So a reply is read like any
 * untrusted file: every length is checked, outputs must have the type and shape given by the call,
 * and the calls cannot have taken longer than the parent waited. The file must have allocated
 * memory for each claimed size, and values are nested no deeper than MPK_WIRE_NEST_MAX.
 */
#include "session/internal/reply.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/num.h"
#include "base/vec.h"
#include "text/escape.h"

/* --- the file that the child wrote ----------------------------------------------------------- */

static enum mpk_code wire_damaged(struct mpk_error *err)
{
	return mpk_fail(err, MPK_E_RAISED,
			"the module damaged its process: the result that came back is broken");
}

/* Tensors in a reply hold it, so it may outlive everything else of the session. */
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

static enum mpk_code map_file(struct mpk_wire_map *m, int fd, uint64_t bytes, struct mpk_error *err)
{
	/* private: results may be modified without changing the file */
	void *data = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);

	if (data == MAP_FAILED)
		return mpk_fail_errno(err, MPK_E_NOMEM, errno, "cannot map the result");
	m->bytes = mpk_span_of(data, (size_t)bytes);
	m->is_mapped = true;
	return MPK_OK;
}

static enum mpk_code copy_file(struct mpk_wire_map *m, int fd, uint64_t bytes,
			       struct mpk_error *err)
{
	uint64_t room;
	/* as aligned as in a mapping */
	uint8_t *data = mpk_align_up(bytes ? bytes : 1, MPK_STORAGE_ALIGN, &room)
				? aligned_alloc(MPK_STORAGE_ALIGN, (size_t)room)
				: NULL;

	MPK_TRY_ALLOC(data, err);
	m->bytes = mpk_span_of(data, (size_t)bytes);
	for (uint64_t done = 0; done < bytes;) {
		ssize_t n = pread(fd, data + done, (size_t)(bytes - done), (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return mpk_fail_errno(err, MPK_E_IO, errno, "cannot read the result");
		if (n == 0)
			return wire_damaged(err); /* the file became shorter */
		done += (uint64_t)n;
	}
	return MPK_OK;
}

/* The size is checked before mapping: reading beyond the end of a file raises SIGBUS. */
enum mpk_code mpk_wire_map_fd(int fd, uint64_t bytes, bool copies, struct mpk_wire_map **out,
			      struct mpk_error *err)
{
	struct mpk_wire_map *m;
	enum mpk_code code = MPK_OK;

	/* The writer leaves no holes: a size without allocated blocks is forged, and reading it
	 * could take unlimited time and memory. */
	enum { BLOCK_BYTES = 512 };
	struct stat st;

	if (fstat(fd, &st) != 0)
		return mpk_fail_errno(err, MPK_E_IO, errno, "cannot look at the result");
	if (bytes > (uint64_t)st.st_size ||
	    (bytes + BLOCK_BYTES - 1) / BLOCK_BYTES > (uint64_t)st.st_blocks)
		return wire_damaged(err);

	m = calloc(1, sizeof *m);
	MPK_TRY_ALLOC(m, err);
	atomic_init(&m->refs, 1);
	if (copies || bytes)
		code = (copies ? copy_file : map_file)(m, fd, bytes, err);
	if (code != MPK_OK) {
		mpk_wire_map_drop(m);
		return mpk_failed(code);
	}
	*out = m;
	return MPK_OK;
}

/* --- values ----------------------------------------------------------------------------------- */

enum mpk_code mpk_wire_get(struct mpk_wire_map *m, uint64_t len, struct mpk_span *out,
			   struct mpk_error *err)
{
	if (!mpk_span_sub(m->bytes, m->pos, len, out))
		return wire_damaged(err);
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
		return wire_damaged(err);
	MPK_TRY(mpk_wire_get(m, ndim * sizeof out[0], &raw, err));
	if (raw.len)
		memcpy(out, raw.data, raw.len);
	return MPK_OK;
}

/* Makes a view of the mapped reply, which it holds. */
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

/* A kind is checked before it is converted to the enum. */
static enum mpk_code get_value(struct mpk_wire_map *m, unsigned depth, struct mpk_value *out,
			       struct mpk_error *err);

static void release_shadow(struct mpk_object *object)
{
	free(object);
}

/* Makes an opaque value of the kind, for values without content. */
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

static enum mpk_code get_counted(struct mpk_wire_map *m, const struct mpk_wire_head *h,
				 unsigned depth, struct mpk_value *out, struct mpk_error *err)
{
	struct mpk_span raw;

	if (h->kind == MPK_VALUE_TENSOR) {
		/* Type and extents are checked to give a size; the
		 * reply must have that many bytes. */
		int64_t extents[MPK_TENSOR_NDIM_MAX];
		struct mpk_span data;
		uint64_t bytes;

		MPK_TRY(get_extents(m, h->count, extents, err));
		if (!mpk_align_up(m->pos, MPK_STORAGE_ALIGN, &m->pos) ||
		    mpk_tensor_bytes_of(h->dtype, extents, (size_t)h->count, &bytes, NULL) !=
			    MPK_OK)
			return wire_damaged(err);
		MPK_TRY(mpk_wire_get(m, bytes, &data, err));
		return view_tensor(m, h->dtype, extents, (size_t)h->count, data, out, err);
	}
	if (h->kind == MPK_VALUE_ARRAY) {
		/* An item takes at least a header, so a forged count cannot allocate more than the
		 * length of the reply. */
		uint64_t count = h->count;
		MPK_CLEANUP(mpk_value_drop) struct mpk_value v = { 0 };

		if (depth == MPK_WIRE_NEST_MAX ||
		    count > (m->bytes.len - m->pos) / sizeof(struct mpk_wire_head))
			return wire_damaged(err);
		MPK_TRY(mpk_value_of_array((size_t)count, &v, err));
		for (size_t i = 0; i < v.array->count; i++)
			MPK_TRY(get_value(m, depth + 1, &v.array->items[i], err));
		*out = v;
		v = (struct mpk_value){ 0 };
		return MPK_OK;
	}
	if (h->kind == MPK_VALUE_SHAPE) {
		if (h->count > m->bytes.len / sizeof(int64_t))
			return wire_damaged(err);
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
	struct mpk_wire_head h;

	MPK_TRY(mpk_wire_get(m, sizeof h, &raw, err));
	memcpy(&h, raw.data, sizeof h);
	if (h.kind >= MPK_VALUE_KIND_COUNT)
		return wire_damaged(err);

	struct mpk_value v = { .kind = (enum mpk_value_kind)h.kind, .type = h.type };

	/* the type of a number decides how it is printed */
	if (v.type.bits > 64 || (v.type.bits && v.type.lanes != 1))
		return wire_damaged(err);
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

/* --- what is in it --------------------------------------------------------------------------- */

/* Appends v, or the items of an array one by one; takes v over. */
static enum mpk_code flatten(struct mpk_call_result *r, size_t *cap, struct mpk_value v,
			     struct mpk_error *err)
{
	enum mpk_code rc = MPK_OK;

	if (v.kind == MPK_VALUE_ARRAY) {
		for (size_t i = 0; i < v.array->count && rc == MPK_OK; i++)
			rc = flatten(r, cap, mpk_value_hold(v.array->items[i]), err);
		mpk_value_drop(&v);
		return rc;
	}
	if (!mpk_vec_reserve(&r->values, cap, r->count + 1, sizeof *r->values)) {
		mpk_value_drop(&v);
		return mpk_fail_nomem(err);
	}
	r->values[r->count++] = v;
	return MPK_OK;
}

/* Copies an output that the child shares. */
static enum mpk_code copy_shared(const struct mpk_tensor *t, struct mpk_value *out,
				 struct mpk_error *err)
{
	struct mpk_tensor *copy;

	MPK_TRY(mpk_tensor_create(t->dl.dtype, t->dl.shape, (size_t)t->dl.ndim, MPK_STORAGE_PRIVATE,
				  &copy, err));
	memcpy(copy->dl.data, t->dl.data, (size_t)t->bytes);
	*out = mpk_value_of_tensor(copy);
	return MPK_OK;
}

/* Reads an output, which must have the type and shape given by the call. */
static enum mpk_code get_output(struct mpk_wire_map *reply, const struct mpk_tensor *asked,
				struct mpk_value *out, struct mpk_error *err)
{
	const struct mpk_dltensor *want = &asked->dl, *got;

	MPK_TRY(mpk_wire_get_value(reply, out, err));
	got = out->kind == MPK_VALUE_TENSOR ? &out->tensor->dl : NULL;
	if (got && got->ndim == want->ndim &&
	    memcmp(&got->dtype, &want->dtype, sizeof got->dtype) == 0 &&
	    memcmp(got->shape, want->shape, (size_t)got->ndim * sizeof got->shape[0]) == 0)
		return MPK_OK;
	mpk_value_drop(out);
	return mpk_fail(err, MPK_E_RAISED, "the reply is damaged: another output");
}

/* @copies  the child continues, and could change shared outputs */
static enum mpk_code read_outputs(const struct mpk_call *call, struct mpk_wire_map *reply,
				  bool copies, struct mpk_call_result *r, size_t *cap,
				  struct mpk_error *err)
{
	for (size_t i = 0; i < call->arg_count; i++) {
		const struct mpk_value *arg = &call->args[i];
		struct mpk_value v = { 0 };

		if (!call->is_out[i])
			continue;
		if (!mpk_reply_shares(arg))
			MPK_TRY(get_output(reply, arg->tensor, &v, err));
		else if (copies)
			MPK_TRY(copy_shared(arg->tensor, &v, err));
		else
			v = mpk_value_hold(*arg);
		MPK_TRY(flatten(r, cap, v, err));
	}
	return MPK_OK;
}

/* Reads the seconds of calls, which cannot exceed the time that the parent waited. */
static enum mpk_code check_durations(const double *seconds, size_t count, double most,
				     struct mpk_error *err)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++) {
		if (!(seconds[i] >= 0))
			return mpk_fail(err, MPK_E_RAISED, "the reply is damaged: a call of %g s",
					seconds[i]);
		sum += seconds[i];
	}
	if (sum <= most + 1e-3)
		return MPK_OK;
	return mpk_fail(err, MPK_E_RAISED, "the reply is damaged: calls of %g s in %g s", sum,
			most);
}

/* Reads the data of observers that the child encoded. */
static enum mpk_code read_seen(const struct mpk_watch *watch, struct mpk_wire_map *reply,
			       struct mpk_seen *seen, struct mpk_error *err)
{
	struct mpk_span bytes;

	for (size_t i = 0; i < MPK_WATCHER_COUNT; i++)
		if (mpk_watchers[i]->decode && mpk_watchers[i]->is_asked(watch)) {
			struct mpk_span raw;
			uint64_t len;

			MPK_TRY(mpk_wire_get(reply, sizeof len, &raw, err));
			memcpy(&len, raw.data, sizeof len);
			MPK_TRY(mpk_wire_get(reply, len, &bytes, err));

			MPK_TRY(mpk_watchers[i]->decode(bytes, seen, err));
		}
	return MPK_OK;
}

/* Reads in the order in which the child writes. */
static enum mpk_code read_result(const struct mpk_call *call, struct mpk_wire_map *reply,
				 double seconds, bool copies, struct mpk_call_result *r,
				 struct mpk_error *err)
{
	struct mpk_value returned = { 0 };
	struct mpk_span raw;
	size_t cap = 0;

	MPK_TRY(mpk_wire_get(reply, call->repeat * sizeof *r->seconds, &raw, err));
	r->seconds = malloc(raw.len ? raw.len : 1);
	MPK_TRY_ALLOC(r->seconds, err);
	memcpy(r->seconds, raw.data, raw.len);
	r->seconds_count = raw.len / sizeof *r->seconds;
	MPK_TRY(check_durations(r->seconds, r->seconds_count, seconds, err));
	MPK_TRY(read_outputs(call, reply, copies, r, &cap, err));
	MPK_TRY(mpk_wire_get_value(reply, &returned, err));
	if (returned.kind != MPK_VALUE_NONE || !r->count)
		MPK_TRY(flatten(r, &cap, returned, err));
	return read_seen(&call->watch, reply, &r->seen, err);
}

/* If a reply is damaged, nothing of it is kept, even data before the damage. */
enum mpk_code mpk_reply_read(const struct mpk_call *call, struct mpk_wire_map *reply,
			     double seconds, bool copies, struct mpk_call_result *out,
			     struct mpk_error *err)
{
	enum mpk_code rc = read_result(call, reply, seconds, copies, out, err);

	if (rc != MPK_OK)
		mpk_call_result_fini(out);
	return rc;
}

bool mpk_reply_read_error(struct mpk_wire_map *reply, struct mpk_error *err)
{
	struct mpk_error said;
	struct mpk_span raw;

	if (mpk_wire_get(reply, sizeof said, &raw, err) != MPK_OK)
		return false;
	memcpy(&said, raw.data, sizeof said);
	mpk_escape_error(&said, MPK_E_RAISED, err);
	/* a failed call must not become a success */
	if (err->code == MPK_OK)
		err->code = MPK_E_RAISED;
	return true;
}

bool mpk_reply_take(const struct mpk_call *call, const struct mpk_reply *reply,
		    struct mpk_call_result *out, struct mpk_error *err)
{
	struct mpk_wire_map *map;
	bool is_read;

	if (mpk_wire_map_fd(reply->fd, reply->bytes, reply->copies, &map, err) != MPK_OK)
		return false;
	if (reply->is_error)
		is_read = mpk_reply_read_error(map, err);
	else
		is_read = mpk_reply_read(call, map, reply->seconds, reply->copies, out, err) ==
			  MPK_OK;
	mpk_wire_map_drop(map);
	return is_read;
}

/* Small outputs are in the child's private memory and come back in the reply. */
bool mpk_reply_shares(const struct mpk_value *arg)
{
	return arg->kind == MPK_VALUE_TENSOR && arg->tensor->storage &&
	       arg->tensor->storage->is_shared;
}
