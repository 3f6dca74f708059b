/* SPDX-License-Identifier: Apache-2.0 */
/* session.h - the calls of a batch as their child process makes them, and how parent and child talk; case files
 *
 * The parent orders one call at a time, and the next when it has what came of the last. So it alone knows
 * which call runs and since when: a child that lies can lie about that call and no other. Messages are
 * packets of one size, which arrive whole or not at all.
 */
#ifndef MPK_SESSION_INTERNAL_SESSION_H
#define MPK_SESSION_INTERNAL_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/span.h"
#include "library/inspect.h"
#include "session/call.h"
#include "toml/toml.h"
#include "value/value.h"

struct mpk_child_side; /* session/internal/reply.h */

/* --- a case file: its tables with the places of their values (case_file.c) ---------------------- */

/* What a case may say itself or leave to [defaults]. */
struct mpk_case_place {
	struct mpk_toml_str device, params;
	struct mpk_toml_number atol, rtol, timeout;
};

struct mpk_case_arg { /* one of the two is there */
	struct mpk_toml_str input, out;
	struct mpk_pos pos;
};

struct mpk_case_table { /* [[case]] */
	struct mpk_case_place place;
	struct mpk_toml_str name, run, keep, raises, skip;
	struct mpk_case_arg *args;
	size_t arg_count;
	struct mpk_toml_list expect, grid, block;
	struct mpk_toml_number shared, repeat, warmup;
	struct mpk_pos pos;
};

struct mpk_case_file {
	struct mpk_case_place defaults;
	struct mpk_case_table *cases;
	size_t count;
};

/* mpk_case_file_schema - for mpk_toml_read_table into a struct mpk_case_file */
extern const struct mpk_toml_schema mpk_case_file_schema;

/* --- results that later calls of the same process take as arguments ----------------------------
 *
 * A cache or the state of a model has no form as text. So it stays in the process that made it, under the
 * name that its call gave it, and goes when that process ends. */

/* Zero-initialise; mpk_kept_fini. */
struct mpk_kept {
	struct mpk_kept_item {
		const char *name; /* borrowed from the call */
		struct mpk_value value;
	} *items;
	size_t count, cap;
};

/* mpk_kept_set - keep a value; one of the same name is dropped
 * @name    borrowed until mpk_kept_fini
 * @v       tuples are copied down to MPK_WIRE_NEST_MAX, so that what is done to the result of the call
 *          changes nothing here
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_kept_set(struct mpk_kept *kept, const char *name, const struct mpk_value *v,
			   struct mpk_error *err) MPK_MUST_CHECK;

void mpk_kept_fini(struct mpk_kept *kept);

/* mpk_kept_split - "cache[1]" into the name and the number of the item
 * @item    SIZE_MAX: the value itself
 * Returns  false: it is no name of letters, digits, '_', '-' and '.', perhaps with one item */
bool mpk_kept_split(struct mpk_span text, struct mpk_span *name, size_t *item);

/* --- orders and reports ------------------------------------------------------------------------ */

/* From the parent. */
struct mpk_order {
	uint32_t item;
	uint32_t is_last; /* the child ends after it */
};

enum mpk_report_kind {
	MPK_REPORT_LOADED,   /* the library is: now the function is called */
	MPK_REPORT_RETURNED, /* the reply is the result */
	MPK_REPORT_FAILED,   /* the reply is a struct mpk_error */
};

/* From the child. */
struct mpk_report_message {
	uint32_t kind; /* enum mpk_report_kind */
	uint32_t item; /* that was ordered */
	uint32_t ends; /* the child takes no further order */
	uint32_t pad;
	uint64_t reply_bytes;
};

/* Both ends; each process has a copy of both. */
struct mpk_channel {
	int parent, child;
};

struct mpk_session_work {
	struct mpk_library_options library;
	const struct mpk_batch_item *items;
	struct mpk_error
		unloadable; /* why the library cannot be loaded, once that is known; else MPK_OK */
	struct mpk_channel channel; /* where orders come from and reports go to */
	int spare; /* a file in memory that isolated code's library may be copied to; -1: none */
	/* A file in memory, in which each reply (session/internal/reply.h) takes the place of the one before. */
	int reply;
};

/* mpk_session_work_in_child - do what is ordered, report each, until the last
 * @work    struct mpk_session_work; changed
 * Returns  MPK_OK, also when it stopped early because a device can no longer be trusted; as
 *          mpk_channel_report; as mpk_wire_put */
enum mpk_code mpk_session_work_in_child(struct mpk_child_side *side, void *work,
					struct mpk_error *err);

/* --- the function and its arguments (arguments.c) ---------------------------------------------- */

/* What lives from the first call to the last, and what belongs to the current one.
 * Zero-initialised. */
struct mpk_session {
	struct mpk_session_work *work;
	struct mpk_child_side *side;
	pid_t process; /* the one that was started for it */
	struct mpk_arena arena;
	mpkr_model *model;
	bool is_loaded; /* its library is; not while only kernels were called */

	struct mpk_order order;
	const struct mpk_call *call;
	mpkr_function *function;
	struct mpk_dldevice where; /* of the tensors */
	struct mpk_value *args;    /* NULL: the call's; else some were kept by the calls before */
	bool *is_placed;           /* of args: it was kept */
	struct mpk_run_call *running;
	struct mpk_kept kept; /* by the calls before */
};

/* mpk_session_open - the model of the library, which is not loaded yet
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_session_open(struct mpk_session *s, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_session_begin_call - open what s->call calls and put its arguments where they belong
 * Returns  MPK_OK; what loading, the look-up and the arguments fail with (mpk_call_run lists it).
 *          mpk_session_end_call in every case */
enum mpk_code mpk_session_begin_call(struct mpk_session *s, struct mpk_error *err) MPK_MUST_CHECK;
void mpk_session_end_call(struct mpk_session *s);

/* mpk_watch_is_asked - whether a call asks for any observer */
static inline bool mpk_watch_is_asked(const struct mpk_watch *watch)
{
	for (size_t i = 0; i < MPK_WATCHER_COUNT; i++)
		if (mpk_watchers[i]->is_asked(watch))
			return true;
	return false;
}

/* mpk_session_hint_add - to the error of a call whose arguments do not fit the signature of its function: a call
 * that works (hint.c) */
void mpk_session_hint_add(struct mpk_session *s, struct mpk_error *err);

#endif
