/* SPDX-License-Identifier: Apache-2.0 */
#include "session/internal/watch.h"

#include <stdlib.h>
#include <string.h>

bool mpk_watch_is_asked(const struct mpk_watch *watch)
{
	return watch->profiles || watch->traces || watch->dump || watch->compare;
}

enum mpk_code mpk_watchers_init(struct mpk_watchers *w, const struct mpk_call *call,
				struct mpk_devices *devices, struct mpk_error *err)
{
	const struct mpk_watch *watch = &call->watch;

	*w = (struct mpk_watchers){ .call = call };
	mpk_tracer_init(&w->tracer, watch->trace_fd);
	mpk_dumper_init(&w->dumper, devices, watch->dump);
	mpk_profiler_init(&w->profiler, devices, watch->keeps_events);
	if (!watch->compare)
		return MPK_OK;
	return mpk_comparer_init(&w->comparer, devices, watch->compare, watch->tolerance, err);
}

void mpk_watchers_fini(struct mpk_watchers *w)
{
	mpk_tracer_fini(&w->tracer);
	mpk_comparer_fini(&w->comparer);
	mpk_profiler_fini(&w->profiler);
}

/* In front: it begins before those that are there, and ends after them. */
static void put_first(struct mpk_observer **first, struct mpk_observer *o, bool looks)
{
	if (!looks)
		return;
	o->next = *first;
	*first = o;
}

struct mpk_observer *mpk_watchers_of(struct mpk_watchers *w, unsigned i)
{
	const struct mpk_watch *watch = &w->call->watch;
	bool is_first = i == w->call->warmup, is_timed = i >= w->call->warmup;
	struct mpk_observer *first = NULL;

	/* the profile is innermost: what the others do is not measured */
	put_first(&first, &w->profiler.base, watch->profiles && is_timed);
	put_first(&first, &w->comparer.base, watch->compare && is_first);
	put_first(&first, &w->dumper.base, watch->dump && is_first);
	put_first(&first, &w->tracer.base, watch->traces);
	return first;
}

void mpk_watchers_timed(struct mpk_watchers *w, double seconds)
{
	w->profiler.profile.calls++;
	w->profiler.profile.seconds += seconds;
}

/* --- the reply ------------------------------------------------------------------------------ */

static enum mpk_code put(struct mpk_wire *wire, const struct mpk_strbuf *bytes,
			 struct mpk_error *err)
{
	uint64_t len = bytes->len;

	MPK_TRY(mpk_wire_put(wire, mpk_span_of(&len, sizeof len), err));
	return mpk_wire_put(wire, mpk_span_of(bytes->data, bytes->len), err);
}

static enum mpk_code get(struct mpk_wire_map *reply, struct mpk_span *out, struct mpk_error *err)
{
	struct mpk_span raw;
	uint64_t len;

	MPK_TRY(mpk_wire_get(reply, sizeof len, &raw, err));
	memcpy(&len, raw.data, sizeof len);
	return mpk_wire_get(reply, len, out, err);
}

enum mpk_code mpk_watchers_reply(struct mpk_watchers *w, struct mpk_wire *wire,
				 struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf profile = { 0 }, comparisons = { 0 };

	if (w->call->watch.profiles) {
		MPK_TRY(mpk_profile_encode(&w->profiler.profile, &profile, err));
		MPK_TRY(put(wire, &profile, err));
	}
	if (w->call->watch.dump)
		MPK_TRY(mpk_wire_put(
			wire, mpk_span_of(&w->dumper.left_out, sizeof w->dumper.left_out), err));
	if (!w->call->watch.compare)
		return MPK_OK;
	MPK_TRY(mpk_comparer_end(&w->comparer, err));
	MPK_TRY(mpk_comparisons_encode(&w->comparer.done, &comparisons, err));
	return put(wire, &comparisons, err);
}

enum mpk_code mpk_watch_read(const struct mpk_watch *watch, struct mpk_wire_map *reply,
			     struct mpk_call_result *r, struct mpk_error *err)
{
	struct mpk_span bytes;

	if (watch->profiles) {
		MPK_TRY(get(reply, &bytes, err));
		r->profile = calloc(1, sizeof *r->profile);
		MPK_TRY_ALLOC(r->profile, err);
		MPK_TRY(mpk_profile_decode(bytes, r->profile, err));
	}
	if (watch->dump) {
		MPK_TRY(mpk_wire_get(reply, sizeof r->dump_left_out, &bytes, err));
		memcpy(&r->dump_left_out, bytes.data, sizeof r->dump_left_out);
	}
	if (!watch->compare)
		return MPK_OK;
	MPK_TRY(get(reply, &bytes, err));
	r->comparisons = calloc(1, sizeof *r->comparisons);
	MPK_TRY_ALLOC(r->comparisons, err);
	return mpk_comparisons_decode(bytes, r->comparisons, err);
}
