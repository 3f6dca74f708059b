/* SPDX-License-Identifier: Apache-2.0 */
/* watch.h - the observers that a call asks for, and what they found out, on its way to the parent */
#ifndef MPK_SESSION_INTERNAL_WATCH_H
#define MPK_SESSION_INTERNAL_WATCH_H

#include "observe/compare.h"
#include "observe/dump.h"
#include "observe/profile.h"
#include "observe/trace.h"
#include "session/call.h"
#include "session/internal/wire.h"

/* In the child, from before the first call until after the last. */
struct mpk_watchers {
	const struct mpk_call *call;
	struct mpk_tracer tracer;
	struct mpk_dumper dumper;
	struct mpk_comparer comparer;
	struct mpk_profiler profiler;
};

/* mpk_watch_is_asked - whether a call asks for any */
bool mpk_watch_is_asked(const struct mpk_watch *watch);

/* mpk_watchers_init - make the observers; mpk_watchers_fini in every case
 * @call    borrowed
 * Returns  MPK_OK; as mpk_comparer_init */
enum mpk_code mpk_watchers_init(struct mpk_watchers *w, const struct mpk_call *call,
				struct mpk_devices *devices, struct mpk_error *err) MPK_MUST_CHECK;
void mpk_watchers_fini(struct mpk_watchers *w);

/* mpk_watchers_of - those that look at call number i, warm-up included; NULL: nobody does
 * A trace has all calls, a profile those that are timed, a dump or a comparison the first of those. */
struct mpk_observer *mpk_watchers_of(struct mpk_watchers *w, unsigned i);

/* mpk_watchers_timed - how long a timed call took */
void mpk_watchers_timed(struct mpk_watchers *w, double seconds);

/* mpk_watchers_reply - write down what they found out
 * Returns  MPK_OK; as mpk_comparer_end and mpk_wire_put; MPK_E_NOMEM */
enum mpk_code mpk_watchers_reply(struct mpk_watchers *w, struct mpk_wire *wire,
				 struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_watch_read - read what mpk_watchers_reply wrote, into r
 * Returns  MPK_OK; MPK_E_RAISED, MPK_E_CORRUPT: it is damaged; MPK_E_NOMEM */
enum mpk_code mpk_watch_read(const struct mpk_watch *watch, struct mpk_wire_map *reply,
			     struct mpk_call_result *r, struct mpk_error *err) MPK_MUST_CHECK;

#endif
