/* SPDX-License-Identifier: Apache-2.0 */
/* profile.c - measures operators, adds them up by name and device, and carries the sums to another process
 *
 * Devices work while the host goes on, so a clock that is read when a launch returns says nothing. An
 * operator on a device is waited for at its beginning, to keep out what was queued before, and at its
 * end. That makes a profiled run slower than a plain one, and its parts comparable.
 */
#include "observe/observe.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/cursor.h"
#include "base/vec.h"

static void profile_fini(struct mpk_profile *p)
{
	mpk_arena_fini(&p->arena);
	free(p->rows);
	free(p->events);
	*p = (struct mpk_profile){ 0 };
}

/* --- measuring ------------------------------------------------------------------------------ */

/* Tuples are looked into, not those within them: kernels have none. */
static bool on_device(const struct mpk_value *v, struct mpk_dldevice *out)
{
	for (size_t i = 0; v->kind == MPK_VALUE_ARRAY && i < v->array->count; i++)
		if (v->array->items[i].kind == MPK_VALUE_TENSOR &&
		    on_device(&v->array->items[i], out))
			return true;
	if (v->kind != MPK_VALUE_TENSOR || mpk_dldevice_is_host(v->tensor->dl.device))
		return false;
	*out = v->tensor->dl.device;
	return true;
}

/* Where an operator works: the first device other than the host's that any of its tensors lies on; a
 * builtin, or where there is none, the host. @result: what it returned; NULL: nothing so far */
static struct mpk_dldevice operator_device(const struct mpk_operator *op,
					   const struct mpk_value *result)
{
	struct mpk_dldevice device = { MPK_DL_CPU, 0 };

	if (op->kind == MPK_OPERATOR_BUILTIN)
		return device;
	for (size_t i = 0; i < op->count; i++)
		if (on_device(&op->operands[i].value, &device))
			return device;
	if (result)
		(void)on_device(result, &device);
	return device;
}

/* The host's own operators are done when they return. */
static enum mpk_code wait_for(struct mpk_profiler *p, struct mpk_dldevice device,
			      struct mpk_error *err)
{
	return mpk_dldevice_is_host(device) ? MPK_OK : mpk_devices_sync(p->devices, err);
}

static enum mpk_code profile_begin(struct mpk_observer *self, const struct mpk_operator *op,
				   struct mpk_error *err)
{
	struct mpk_profiler *p = (struct mpk_profiler *)self;

	MPK_TRY_ALLOC(MPK_VEC_ROOM(p->open, p->open_count, p->open_cap), err);
	/* what was queued before, an input's copy, is not this operator's */
	MPK_TRY(wait_for(p, operator_device(op, NULL), err));
	p->open[p->open_count] = (struct mpk_profile_open){ .start = mpk_clock_seconds() };
	if (p->origin == 0)
		p->origin = p->open[0].start;
	p->open_count++;
	return MPK_OK;
}

/* A row for each name on each device: the key is both as text, made anew in one buffer. */
static enum mpk_code profile_find_row(struct mpk_profiler *p, const struct mpk_operator *op,
				      struct mpk_dldevice device, size_t *out,
				      struct mpk_error *err)
{
	const char *key;
	int put;

	mpk_strbuf_fini(&p->key);
	mpk_strbuf_printf(&p->key, "%d %" PRId32 " %" PRId32 " ", (int)op->kind, device.type,
			  device.id);
	mpk_strbuf_put_span(&p->key, op->name);
	MPK_TRY(mpk_strbuf_status(&p->key, err));
	if (mpk_strmap_find(&p->index, mpk_span_of(p->key.data, p->key.len), out))
		return MPK_OK;
	key = mpk_arena_copy(&p->profile.arena, p->key.data, p->key.len);
	MPK_TRY_ALLOC(key, err);
	put = mpk_strmap_put(&p->index, mpk_span_of(key, p->key.len), p->profile.row_count, out);
	MPK_TRY_ALLOC(put > 0, err);

	struct mpk_profile *profile = &p->profile;
	char *name = mpk_arena_text(&profile->arena, op->name);

	MPK_TRY_ALLOC(name && MPK_VEC_ROOM(profile->rows, profile->row_count, profile->row_cap),
		      err);
	profile->rows[profile->row_count++] = (struct mpk_profile_row){
		.name = mpk_span_of(name, op->name.len), .kind = op->kind, .device = device
	};
	return MPK_OK;
}

static enum mpk_code profile_end(struct mpk_observer *self, const struct mpk_operator *op,
				 const struct mpk_value *result, struct mpk_error *err)
{
	struct mpk_profiler *p = (struct mpk_profiler *)self;
	struct mpk_dldevice device = operator_device(op, result);
	struct mpk_profile_open *open;
	struct mpk_profile_row *r;
	double seconds, own;
	size_t row;

	MPK_TRY(wait_for(p, device, err));
	/* what operators within took is theirs; the one around them keeps the rest */
	open = &p->open[--p->open_count];
	seconds = mpk_clock_seconds() - open->start;
	own = seconds > open->within ? seconds - open->within : 0;
	if (p->open_count)
		p->open[p->open_count - 1].within += seconds;
	MPK_TRY(profile_find_row(p, op, device, &row, err));
	r = &p->profile.rows[row];
	r->min = r->calls && r->min < own ? r->min : own;
	r->max = r->max > own ? r->max : own;
	r->total += own;
	r->calls++;

	double start = open->start;
	struct mpk_profile *profile = &p->profile;

	if (!p->keeps_events)
		return MPK_OK;
	MPK_TRY_ALLOC(MPK_VEC_ROOM(profile->events, profile->event_count, profile->event_cap), err);
	profile->events[profile->event_count++] =
		(struct mpk_profile_event){ (uint32_t)row, start - p->origin, seconds };
	return MPK_OK;
}

/* --- as bytes ------------------------------------------------------------------------------- */

/* Both ends are this very program. */
struct head {
	uint64_t rows, events, calls;
	double seconds;
};

struct row {
	uint64_t name_len, calls;
	int32_t kind, device_type, device_id;
	double total, min, max;
};

static void profile_put(struct mpk_strbuf *out, const void *data, size_t len)
{
	mpk_strbuf_put(out, data, len);
}

static enum mpk_code profile_encode(struct mpk_observer *self, struct mpk_strbuf *out,
				    struct mpk_error *err)
{
	const struct mpk_profile *p = &((const struct mpk_profiler *)self)->profile;
	struct head head = { p->row_count, p->event_count, p->calls, p->seconds };

	profile_put(out, &head, sizeof head);
	for (size_t i = 0; i < p->row_count; i++) {
		const struct mpk_profile_row *r = &p->rows[i];
		struct row row;

		memset(&row, 0, sizeof row); /* the padding travels too */
		row.name_len = r->name.len;
		row.calls = r->calls;
		row.kind = (int32_t)r->kind;
		row.device_type = r->device.type;
		row.device_id = r->device.id;
		row.total = r->total;
		row.min = r->min;
		row.max = r->max;
		profile_put(out, &row, sizeof row);
		mpk_strbuf_put_span(out, r->name);
	}
	if (p->event_count)
		profile_put(out, p->events, p->event_count * sizeof *p->events);
	return mpk_strbuf_status(out, err);
}

/* --- the observer --------------------------------------------------------------------------- */

static void profiler_fini(struct mpk_observer *self)
{
	struct mpk_profiler *p = (struct mpk_profiler *)self;

	profile_fini(&p->profile);
	mpk_strmap_fini(&p->index);
	mpk_strbuf_fini(&p->key);
	free(p->open);
	p->open = NULL;
}

static enum mpk_code profiler_init(struct mpk_observer *self, const struct mpk_watch *watch,
				   struct mpk_devices *devices, struct mpk_error *err)
{
	(void)err;
	*(struct mpk_profiler *)self = (struct mpk_profiler){ .base = { .begin = profile_begin,
									.end = profile_end,
									.encode = profile_encode,
									.fini = profiler_fini },
							      .devices = devices,
							      .keeps_events = watch->keeps_events };
	return MPK_OK;
}

/* For shares of the whole time: operators are measured by themselves. */
static void profile_timed(struct mpk_observer *self, double seconds)
{
	struct mpk_profile *p = &((struct mpk_profiler *)self)->profile;

	p->calls++;
	p->seconds += seconds;
}

/* --- from bytes ----------------------------------------------------------------------------- */

static enum mpk_code profile_damaged(struct mpk_error *err)
{
	return mpk_fail(err, MPK_E_CORRUPT, "the profile that came back is broken");
}

static enum mpk_code profile_get(struct mpk_cursor *c, void *out, size_t len, struct mpk_error *err)
{
	struct mpk_span raw;

	if (mpk_read_bytes(c, "profile", len, &raw, NULL) != MPK_OK)
		return profile_damaged(err);
	if (len)
		memcpy(out, raw.data, len);
	return MPK_OK;
}

static enum mpk_code get_row(struct mpk_cursor *c, struct mpk_profile *p,
			     struct mpk_profile_row *out, struct mpk_error *err)
{
	struct mpk_span name;
	char *copy;
	struct row row;

	MPK_TRY(profile_get(c, &row, sizeof row, err));
	if (row.kind < 0 || row.kind > MPK_OPERATOR_CONTROL ||
	    mpk_read_bytes(c, "profile", row.name_len, &name, NULL) != MPK_OK)
		return profile_damaged(err);
	copy = mpk_arena_text(&p->arena, name);
	MPK_TRY_ALLOC(copy, err);
	*out = (struct mpk_profile_row){
		.name = mpk_span_of(copy, name.len),
		.kind = (enum mpk_operator_kind)row.kind,
		.device = { row.device_type, row.device_id },
		.calls = row.calls,
		.total = row.total,
		.min = row.min,
		.max = row.max,
	};
	return MPK_OK;
}

/* By total; rows of the same by name, so that the order is always the same. */
static int profile_larger_first(const void *a, const void *b)
{
	const struct mpk_profile_row *const *x = a, *const *y = b;

	if ((*x)->total != (*y)->total)
		return (*x)->total > (*y)->total ? -1 : 1;
	int order = mpk_span_compare((*x)->name, (*y)->name);
	return order ? order : (*x > *y) - (*x < *y); /* as they came */
}

static enum mpk_code profile_decode(struct mpk_span bytes, struct mpk_seen *seen,
				    struct mpk_error *err)
{
	struct mpk_cursor c = mpk_cursor_of(bytes, 0, "profile");
	struct mpk_profile *out = seen->profile = calloc(1, sizeof *out);
	struct head head;

	MPK_TRY_ALLOC(out, err);
	MPK_TRY(profile_get(&c, &head, sizeof head, err));
	/* before anything is allocated: a row takes at least its own size */
	if (head.rows > mpk_cursor_left(&c) / sizeof(struct row))
		return profile_damaged(err);
	out->rows = calloc((size_t)head.rows + 1, sizeof *out->rows);
	MPK_TRY_ALLOC(out->rows, err);
	out->calls = head.calls;
	out->seconds = head.seconds;
	for (; out->row_count < head.rows; out->row_count++)
		MPK_TRY(get_row(&c, out, &out->rows[out->row_count], err));

	uint64_t count = head.events;

	/* events come last and fill the rest: any other count is a damaged one */
	if (count != mpk_cursor_left(&c) / sizeof *out->events ||
	    mpk_cursor_left(&c) % sizeof *out->events)
		return profile_damaged(err);
	out->events = calloc((size_t)count + 1, sizeof *out->events);
	MPK_TRY_ALLOC(out->events, err);
	out->event_count = (size_t)count;
	MPK_TRY(profile_get(&c, out->events, (size_t)count * sizeof *out->events, err));
	for (size_t i = 0; i < out->event_count; i++)
		if (out->events[i].row >= out->row_count)
			return profile_damaged(err);

	/* Events name rows by number, so the numbers change with the order. */
	struct mpk_profile_row *sorted = calloc(out->row_count + 1, sizeof *sorted);
	const struct mpk_profile_row **order =
		calloc(out->row_count + 1, sizeof(const struct mpk_profile_row *));
	uint32_t *at = calloc(out->row_count + 1, sizeof *at);
	bool ok = sorted && order && at;

	for (size_t i = 0; ok && i < out->row_count; i++)
		order[i] = &out->rows[i];
	if (ok)
		qsort(order, out->row_count, sizeof order[0], profile_larger_first);
	for (size_t i = 0; ok && i < out->row_count; i++) {
		sorted[i] = *order[i];
		at[order[i] - out->rows] = (uint32_t)i;
	}
	for (size_t i = 0; ok && i < out->event_count; i++)
		out->events[i].row = at[out->events[i].row];
	free(order);
	free(at);
	if (!ok) {
		free(sorted);
		return mpk_fail_nomem(err);
	}
	free(out->rows);
	out->rows = sorted;
	return MPK_OK;
}

static void seen_profile_fini(struct mpk_seen *seen)
{
	if (seen->profile)
		profile_fini(seen->profile);
	free(seen->profile);
	seen->profile = NULL;
}

static bool profile_is_asked(const struct mpk_watch *watch)
{
	return watch->profiles;
}

const struct mpk_watcher mpk_watcher_profile = {
	.bytes = sizeof(struct mpk_profiler),
	.calls = MPK_WATCHED_TIMED,
	.is_asked = profile_is_asked,
	.init = profiler_init,
	.timed = profile_timed,
	.decode = profile_decode,
	.fini = seen_profile_fini,
};
