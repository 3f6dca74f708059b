/* SPDX-License-Identifier: Apache-2.0 */
/* session.h - the child's side of a batch, the messages between parent and child, and case files
 *
 * The parent orders one call at a time, and the next one after it has the outcome of the last. So
 * only the parent knows which call runs and since when: a lying child can lie only about that call.
 * Messages are packets of one size, which arrive whole or not at all.
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

/* Settings of a case or of [defaults]. */
struct mpk_case_place {
	struct mpk_toml_str device, params;
	struct mpk_toml_number atol, rtol, timeout;
};

struct mpk_case_arg { /* exactly one of the two is set */
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

/* mpk_case_file_schema - schema for mpk_toml_read_table into a struct mpk_case_file */
extern const struct mpk_toml_schema mpk_case_file_schema;

/* --- results that later calls of the same process take as arguments ----------------------------
 *
 * A cache or the state of a model has no text form. So it stays in the process that made it, under
 * the name that its call gave it, until that process ends. */

struct mpk_kept {
	struct mpk_kept_item {
		const char *name; /* borrowed from the call */
		struct mpk_value value;
	} *items;
	size_t count, cap;
};

/* --- orders and reports ------------------------------------------------------------------------ */

/* An order from the parent. */
struct mpk_order {
	uint32_t item;
	uint32_t is_last; /* the child ends after this call */
};

enum mpk_report_kind {
	MPK_REPORT_LOADED,   /* the library is loaded, and the function is called now */
	MPK_REPORT_RETURNED, /* the reply is the result */
	MPK_REPORT_FAILED,   /* the reply is a struct mpk_error */
};

/* A report from the child. */
struct mpk_report_message {
	uint32_t kind; /* enum mpk_report_kind */
	uint32_t item; /* item of the order */
	uint32_t ends; /* the child takes no further orders */
	uint32_t pad;
	uint64_t reply_bytes;
};

/* Both ends; each process has a copy of both. */
struct mpk_channel {
	int parent, child;
};

/* Shared between both processes, for the progress line only. */
struct mpk_child_progress {
	volatile uint64_t loaded, to_load; /* bytes */
};

struct mpk_session_work {
	struct mpk_library_options library;
	const struct mpk_batch_item *items;
	/* the reason if it is known that the library cannot be loaded; else MPK_OK */
	struct mpk_error unloadable;
	struct mpk_channel channel; /* carries orders and reports */
	int spare; /* memory file to which an isolated library may be copied; -1 if none */
	/* A memory file, in which each reply (session/internal/reply.h) overwrites the one
	 * before. */
	int reply;
	struct mpk_child_progress *progress;
};

/* mpk_session_work_in_child - take orders and report each outcome, until the last order
 * @work    modified
 * Returns  MPK_OK, also if it stopped early because a device can no longer be trusted; as
 *          mpk_report_send; as mpk_wire_put */
enum mpk_code mpk_session_work_in_child(struct mpk_session_work *work, struct mpk_error *err);

/* --- the session in the child ------------------------------------------------------------------- */

/* The state of the child from the first call to the last, and of the current call.
 * Zero-initialised. */
struct mpk_session {
	struct mpk_session_work *work;
	pid_t process; /* the process started for it */
	struct mpk_arena arena;
	mpkr_model *model;
	/* one for each of work->library.providers, in the arena; NULL until opened */
	mpkr_model **providers;
	bool is_loaded; /* the library is loaded; false while only kernels were called */

	struct mpk_order order;
	const struct mpk_call *call;
	mpkr_function *function;
	struct mpk_dldevice where; /* device of the tensors */
	struct mpk_value *args; /* NULL: the call's args; else a copy that includes kept values */
	bool *is_placed;        /* for each of args: it is a kept value */
	struct mpk_run_call *running;
	struct mpk_kept kept; /* values kept by earlier calls */
};

/* mpk_session_call - load what s->call needs, report it (MPK_REPORT_LOADED), call the function, and
 * write the reply
 * @bytes   receives the length of the reply
 * Returns  MPK_OK; errors of loading, the look-up, the arguments and the call (see mpk_call_run);
 *          as mpk_reply_write and mpk_report_send */
enum mpk_code mpk_session_call(struct mpk_session *s, uint64_t *bytes,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_report_send - send a report about the ordered item
 * Returns  MPK_OK; MPK_E_RAISED: called code closed the descriptor; MPK_E_IO */
enum mpk_code mpk_report_send(const struct mpk_session *s, struct mpk_report_message m,
			      struct mpk_error *err) MPK_MUST_CHECK;

#endif
