/* SPDX-License-Identifier: Apache-2.0 */
/* profile.h - where the time of a run goes: by operator and device
 *
 * Devices work beside the host, so an operator on one is timed from its launch until the device has
 * done all that it was given. The time of operators within an operator (a closure's) is theirs alone.
 */
#ifndef MPK_OBSERVE_PROFILE_H
#define MPK_OBSERVE_PROFILE_H

#include "base/arena.h"
#include "base/strbuf.h"
#include "base/strmap.h"
#include "runtime/devices.h"
#include "runtime/observer.h"

struct mpk_profile_row {
	struct mpk_span name; /* borrowed from the profile */
	enum mpk_operator_kind kind;
	struct mpk_dldevice device;
	uint64_t calls;
	double total, min, max; /* seconds, without operators within */
};

/* One call of an operator. */
struct mpk_profile_event {
	uint32_t row;
	double start, seconds; /* start: since the first began; with operators within */
};

/* Zero-initialise; mpk_profile_fini. */
struct mpk_profile {
	struct mpk_arena arena;
	struct mpk_profile_row *rows; /* by total, the largest first, once it is decoded */
	size_t row_count, row_cap;
	struct mpk_profile_event *events; /* in the order of their ends; none unless asked for */
	size_t event_count, event_cap;
	uint64_t calls; /* of the model */
	double seconds; /* of all of them */
};

void mpk_profile_fini(struct mpk_profile *p);

struct mpk_profiler {
	struct mpk_observer base; /* first */
	struct mpk_devices *devices;
	bool keeps_events;
	struct mpk_profile profile;
	struct mpk_strmap index; /* rows by what they are distinguished by */
	struct mpk_strbuf key;
	struct mpk_profile_open {
		double start, within; /* seconds of operators within */
	} *open;                      /* operators under way */
	size_t open_count, open_cap;
	double origin; /* when the first operator began, by the monotonic clock; 0: none so far */
};

/* mpk_profiler_init - an observer that measures
 * @devices borrowed as long as it observes
 * Its functions fail as mpk_devices_sync, and with MPK_E_NOMEM. It encodes its profile. */
void mpk_profiler_init(struct mpk_profiler *p, struct mpk_devices *devices, bool keeps_events);

/* mpk_profile_decode - what a profiler encoded
 * @bytes   from a process that may have been damaged: nothing in them is believed
 * Returns  MPK_OK; MPK_E_NOMEM; MPK_E_CORRUPT. mpk_profile_fini in every case. */
enum mpk_code mpk_profile_decode(struct mpk_span bytes, struct mpk_profile *out,
				 struct mpk_error *err) MPK_MUST_CHECK;

#endif
