/* SPDX-License-Identifier: Apache-2.0 */
#include "session/batch.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/vec.h"
#include "session/session.h"
#include "session/watch.h"
#include "text/escape.h"

/* --- one result --------------------------------------------------------------------- */

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

/* A number of seconds that a clock may have measured: the child could write others. */
static bool is_duration(double seconds)
{
	return seconds >= 0 && seconds < 1e9;
}

/* What a call left in the reply from off on, and in its outputs. */
static enum mpk_code read_result(const struct mpk_call *call, struct mpk_wire_map *reply,
				 struct mpk_call_result *r, struct mpk_error *err)
{
	struct mpk_value returned = { 0 };
	struct mpk_span raw;
	size_t cap = 0;

	MPK_TRY(mpk_wire_get(reply, call->repeat * sizeof *r->seconds, &raw, err));
	r->seconds = malloc(raw.len);
	MPK_TRY_ALLOC(r->seconds, err);
	memcpy(r->seconds, raw.data, raw.len);
	r->seconds_count = call->repeat;
	for (size_t i = 0; i < r->seconds_count; i++)
		if (!is_duration(r->seconds[i]))
			return mpk_fail(err, MPK_E_RAISED, "the reply is damaged: no duration");
	for (size_t i = 0; i < call->arg_count; i++)
		if (call->is_out[i])
			MPK_TRY(flatten(r, &cap, mpk_value_hold(call->args[i]), err));
	MPK_TRY(mpk_wire_get_value(reply, &returned, err));
	if (returned.kind != MPK_VALUE_NONE || !r->count)
		MPK_TRY(flatten(r, &cap, returned, err));
	return mpk_watch_read(&call->watch, reply, r, err);
}

/* A result the child damaged is the call's failure, like any other. */
static void collect(struct mpk_batch_item *item, const struct mpk_session_slot *slot,
		    struct mpk_wire_map *reply)
{
	enum mpk_code rc;

	mpk_escape_error(&slot->error, MPK_E_RAISED, &item->error);
	item->seconds = slot->ended - slot->started;
	if (!is_duration(item->seconds))
		item->seconds = 0;
	if (item->error.code != MPK_OK)
		return;
	if (!reply || slot->reply_off > reply->bytes.len) {
		(void)mpk_fail(&item->error, MPK_E_RAISED, "the reply is damaged");
		return;
	}
	reply->pos = slot->reply_off;
	rc = read_result(item->call, reply, &item->result, &item->error);
	if (rc != MPK_OK)
		mpk_call_result_fini(&item->result);
}

/* --- one child ---------------------------------------------------------------------- */

struct batch {
	struct mpk_session_work work;
	struct mpk_batch_item *items;
	bool *is_known; /* of count: the item has its outcome */
};

static size_t next_waiting(const struct batch *b, size_t from)
{
	while (from < b->work.count && b->is_known[from])
		from++;
	return from;
}

/* The process ended in the middle of this item. */
static void record_crash(struct batch *b, size_t i, const struct mpk_error *why)
{
	const struct mpk_session_slot *slot = &b->work.slots[i];
	struct mpk_batch_item *item = &b->items[i];

	mpk_call_result_fini(&item->result);
	item->error = *why;
	item->crashed = true;
	item->seconds = mpk_session_clock() - slot->started;
	/* the next child would end at the same place */
	if (slot->state == MPK_SLOT_LOADING)
		(void)mpk_fail(&b->work.unloadable, why->code, "not called: %s", why->text);
}

/* Take over what a child has done. Returns how many items it brought to an end. */
static size_t read_results(struct batch *b, struct mpk_wire_map *reply, enum mpk_code rc,
			   const struct mpk_error *why)
{
	size_t known = 0, last = b->work.count;
	bool in_call = false;

	for (size_t i = next_waiting(b, 0); i < b->work.count; i = next_waiting(b, i + 1)) {
		struct mpk_session_slot *slot = &b->work.slots[i];

		if (slot->state == MPK_SLOT_WAITING)
			continue;
		b->is_known[i] = true;
		known++;
		last = i;
		if (slot->state == MPK_SLOT_DONE) {
			collect(&b->items[i], slot, reply);
			continue;
		}
		in_call = true;
		record_crash(b, i, why);
		slot->state = MPK_SLOT_DONE;
	}
	/* it ended badly behind its last call, which is where that call left it */
	if (rc != MPK_OK && !in_call && last < b->work.count)
		record_crash(b, last, why);
	return known;
}

/* The time of all that waits: the child moves its deadline from call to call, and must not move it
 * out of reach. */
static double time_limit(const struct batch *b)
{
	double limit = 0;

	for (size_t i = next_waiting(b, 0); i < b->work.count; i = next_waiting(b, i + 1)) {
		if (b->items[i].timeout <= 0)
			return 0;
		limit += b->items[i].timeout + 1; /* a second to come to the next one */
	}
	return limit;
}

static enum mpk_code run_child(struct batch *b, size_t first, struct mpk_error *err)
{
	const struct mpk_batch_item *item = &b->items[first];
	struct mpk_child_options options = {
		.timeout = item->timeout,
		.limit = time_limit(b),
		.what = item->call->function,
		.keep_reply = true,
		.watch = b->work.library.watch,
		.watch_user = b->work.library.watch_user,
	};
	struct mpk_wire_map *reply = NULL;
	struct mpk_error why = { 0 };
	enum mpk_code rc =
		mpk_child_run(mpk_session_work_in_child, &b->work, &options, &reply, &why);
	bool again = rc == MPK_E_AGAIN && !b->work.library.runtime.use_real_tvm_ffi;
	size_t known = read_results(b, reply, again ? MPK_OK : rc, &why);

	mpk_wire_map_drop(reply);
	if (again)
		b->work.library.runtime.use_real_tvm_ffi = true;
	else if (rc != MPK_OK && !known) {
		*err = why;
		return rc;
	} else if (!known)
		return mpk_fail(err, MPK_E_INTERNAL, "a child process did nothing");
	return MPK_OK;
}

/* --- all of them -------------------------------------------------------------------- */

static enum mpk_code run_all(struct batch *b, struct mpk_error *err)
{
	struct mpk_error failure = { 0 };

	for (size_t i = 0; i < b->work.count; i++)
		if (!b->items[i].call) {
			b->work.slots[i].state = MPK_SLOT_DONE;
			b->is_known[i] = true;
		}
	for (size_t i = next_waiting(b, 0); i < b->work.count; i = next_waiting(b, i)) {
		enum mpk_code rc = run_child(b, i, &failure);

		if (rc != MPK_OK && err)
			*err = failure;
		MPK_TRY(rc);
	}
	return MPK_OK;
}

/* Whether a standalone library's call failed in its own loader, which raises RuntimeError
 * and nothing else does: mistakes in arguments are of other kinds. */
static bool may_lack_driver(const struct mpk_batch_item *item)
{
	return item->call && !item->crashed && item->error.code == MPK_E_RAISED &&
	       mpk_span_starts(mpk_span_str(item->error.text), "RuntimeError: ");
}

/* A standalone library that finds no driver raises an error like any other; for the caller
 * it is the lack of a device. */
static void explain_standalone(const struct mpk_library_options *library,
			       struct mpk_batch_item *items, size_t count)
{
	struct mpk_device_list list = { 0 };
	struct mpk_dldevice device = { 0 };
	struct mpk_error why = { 0 };
	size_t i = 0;

	while (i < count && !may_lack_driver(&items[i]))
		i++;
	if (i == count || !library->image->standalone)
		return;
	if (mpk_devices_default(library->tree, &device, NULL) == MPK_OK &&
	    mpk_device_list_add(&list, mpk_device_kind_from(device.type), &why) == MPK_E_DEVICE)
		for (; i < count; i++)
			if (may_lack_driver(&items[i]))
				items[i].error = why;
	mpk_device_list_fini(&list);
}

enum mpk_code mpk_batch_run(const struct mpk_library_options *library, struct mpk_batch_item *items,
			    size_t count, struct mpk_error *err)
{
	struct batch b = { .items = items };
	size_t bytes;
	void *shared;
	enum mpk_code rc;

	if (count == 0)
		return MPK_OK;
	if (__builtin_mul_overflow(count, sizeof *b.work.slots, &bytes))
		return mpk_fail_nomem(err);
	b.is_known = calloc(count, sizeof *b.is_known);
	shared = b.is_known ? mmap(NULL, bytes, PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
			    : MAP_FAILED;
	if (shared == MAP_FAILED) {
		free(b.is_known);
		return mpk_fail_nomem(err);
	}
	b.work = (struct mpk_session_work){
		.library = *library,
		.items = items,
		.slots = shared,
		.count = count,
	};
	rc = run_all(&b, err);
	if (rc == MPK_OK)
		explain_standalone(library, items, count);
	(void)munmap(shared, bytes);
	free(b.is_known);
	return rc;
}
