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

struct mpk_kept {
	struct mpk_kept_item {
		const char *name; /* borrowed from the call */
		struct mpk_value value;
	} *items;
	size_t count, cap;
};

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

/* Seen by both processes, and shown; nothing else depends on it. */
struct mpk_child_progress {
	volatile uint64_t loaded, to_load; /* bytes */
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
	struct mpk_child_progress *progress;
};

/* mpk_session_work_in_child - do what is ordered, report each, until the last
 * @work    changed
 * Returns  MPK_OK, also when it stopped early because a device can no longer be trusted; as
 *          mpk_report_send; as mpk_wire_put */
enum mpk_code mpk_session_work_in_child(struct mpk_session_work *work, struct mpk_error *err);

/* --- the session in the child ------------------------------------------------------------------- */

/* What lives from the first call to the last, and what belongs to the current one.
 * Zero-initialised. */
struct mpk_session {
	struct mpk_session_work *work;
	pid_t process; /* the one that was started for it */
	struct mpk_arena arena;
	mpkr_model *model;
	mpkr_model *
		*providers; /* of work->library.providers, in the arena; NULL: not opened so far */
	bool is_loaded;     /* its library is; not while only kernels were called */

	struct mpk_order order;
	const struct mpk_call *call;
	mpkr_function *function;
	struct mpk_dldevice where; /* of the tensors */
	struct mpk_value *args;    /* NULL: the call's; else some were kept by the calls before */
	bool *is_placed;           /* of args: it was kept */
	struct mpk_run_call *running;
	struct mpk_kept kept; /* by the calls before */
};

/* mpk_session_call - load what s->call needs, say so (MPK_REPORT_LOADED), call it, and write the reply
 * @bytes   receives how many the reply has
 * Returns  MPK_OK; what loading, the look-up, the arguments and the call fail with (mpk_call_run lists it); as
 *          mpk_reply_write and mpk_report_send */
enum mpk_code mpk_session_call(struct mpk_session *s, uint64_t *bytes,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_report_send - of the item that was ordered
 * Returns  MPK_OK; MPK_E_RAISED: called code closed the descriptor; MPK_E_IO */
enum mpk_code mpk_report_send(const struct mpk_session *s, struct mpk_report_message m,
			      struct mpk_error *err) MPK_MUST_CHECK;

#endif
