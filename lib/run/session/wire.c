/* SPDX-License-Identifier: Apache-2.0 */
/* wire.c - writes the reply of a call into a memory file for the parent
 *
 * The child writes with pwrite, so that it has its own position: processes that it forks share
 * the descriptor. Small pieces are buffered, as a system call for each would cost more than the
 * values.
 */
#include "session/internal/reply.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "session/internal/session.h"

/* --- writing ------------------------------------------------------------------------ */

static enum mpk_code wire_fail(struct mpk_error *err)
{
	if (errno == EBADF)
		return mpk_fail(err, MPK_E_RAISED,
				"the function closed the descriptor that its result goes through");
	return mpk_fail_errno(err, MPK_E_IO, errno, "cannot hand the result over");
}

/* pwrite may write less than requested. */
static enum mpk_code write_at(int fd, uint64_t off, const uint8_t *data, size_t len,
			      struct mpk_error *err)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = pwrite(fd, data + done, len - done, (off_t)(off + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return wire_fail(err);
		done += (size_t)n;
	}
	return MPK_OK;
}

/* Empties the buffer also on failure: it would be written twice. */
enum mpk_code mpk_wire_end(struct mpk_wire *w, struct mpk_error *err)
{
	size_t held = w->held;

	w->held = 0;
	return write_at(w->fd, w->off - held, w->buffer, held, err);
}

/* Larger pieces bypass the buffer. */
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

/* Only compact tensors get here; the session has copied device tensors to the host. */
static enum mpk_code wire_put_tensor(struct mpk_wire *w, struct mpk_wire_head *h,
				     const struct mpk_tensor *t, struct mpk_error *err)
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

	static const uint8_t zeros[MPK_STORAGE_ALIGN];
	size_t over = w->off % MPK_STORAGE_ALIGN;

	MPK_TRY(mpk_wire_put(w, mpk_span_of(zeros, over ? MPK_STORAGE_ALIGN - over : 0), err));

	return mpk_wire_put(w, elements, err);
}

static enum mpk_code wire_put_value(struct mpk_wire *w, const struct mpk_value *v, unsigned depth,
				    struct mpk_error *err);

static enum mpk_code put_array(struct mpk_wire *w, struct mpk_wire_head *h,
			       const struct mpk_array *a, unsigned depth, struct mpk_error *err)
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
	struct mpk_wire_head h;
	struct mpk_span content = { 0 };

	memset(&h, 0, sizeof h); /* padding bytes are written too */
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

/* --- replies ------------------------------------------------------------------------ */

static enum mpk_code put_seen(struct mpk_observer *o, struct mpk_wire *wire, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf bytes = { 0 };
	uint64_t len;

	MPK_TRY(o->encode(o, &bytes, err));
	len = bytes.len;
	MPK_TRY(mpk_wire_put(wire, mpk_span_of(&len, sizeof len), err));
	return mpk_wire_put(wire, mpk_span_of(bytes.data, bytes.len), err);
}

enum mpk_code mpk_reply_write(int fd, const struct mpk_reply_content *c, uint64_t *bytes,
			      struct mpk_error *err)
{
	struct mpk_wire wire = { .fd = fd };

	if (c->failure)
		MPK_TRY(mpk_wire_put(&wire, mpk_span_of(c->failure, sizeof *c->failure), err));
	else {
		MPK_TRY(mpk_wire_put(&wire, c->seconds, err));

		/* Outputs that are not shared with the parent. */
		const struct mpk_call *call = c->call;
		for (size_t i = 0; i < call->arg_count; i++)
			if (call->is_out[i] && !mpk_reply_shares(&call->args[i]))
				MPK_TRY(mpk_wire_put_value(&wire, &call->args[i], err));

		MPK_TRY(mpk_wire_put_value(&wire, c->returned, err));
		for (size_t i = 0; i < MPK_WATCHER_COUNT; i++)
			if (c->observers[i] && c->observers[i]->encode)
				MPK_TRY(put_seen(c->observers[i], &wire, err));
	}
	*bytes = wire.off;
	return mpk_wire_end(&wire, err);
}

/* read and write: the sandbox may forbid all other calls, see sandbox/seccomp.c */
enum mpk_code mpk_report_send(const struct mpk_session *s, struct mpk_report_message m,
			      struct mpk_error *err)
{
	ssize_t n;

	m.item = s->order.item;
	do
		n = write(s->work->channel.child, &m, sizeof m);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof m ? MPK_OK : wire_fail(err);
}
