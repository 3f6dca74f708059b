/* SPDX-License-Identifier: Apache-2.0 */
/* session.h - the calls of a batch as their child process makes them, and how parent and child talk
 *
 * The parent orders one call at a time, and the next when it has what came of the last. So it alone knows
 * which call runs and since when: a child that lies can lie about that call and no other. Messages are
 * packets of one size, which arrive whole or not at all.
 */
#ifndef MPK_SESSION_INTERNAL_SESSION_H
#define MPK_SESSION_INTERNAL_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "runtime/kernels.h"
#include "runtime/library.h"
#include "session/call.h"
#include "session/internal/kept.h"
#include "signature/signature.h"
#include "value/module.h"

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
	struct mpk_runtime *runtime;
	struct mpk_library *library;    /* NULL while only kernels were called */
	struct mpk_kernel_set *kernels; /* NULL while no kernel was called by itself */

	struct mpk_order order;
	const struct mpk_call *call;
	struct mpk_function *function;
	struct mpk_dldevice where; /* of the tensors */
	bool is_turned;            /* the model's first device is the CPU, against the guess */
	struct mpk_value *args;    /* the call's, then those of its file of parameters */
	struct mpk_span *names;    /* of args; NULL: none has one */
	size_t arg_count;
	struct mpk_kept kept;               /* by the calls before */
	const struct mpk_param_file *bound; /* whose late-bound constants executables have */
};

/* mpk_session_begin_call - open what s->call calls and put its arguments where they belong
 * Returns  MPK_OK; what loading, the look-up and the arguments fail with (mpk_call_run lists it).
 *          mpk_session_end_call in every case */
enum mpk_code mpk_session_begin_call(struct mpk_session *s, struct mpk_error *err) MPK_MUST_CHECK;
void mpk_session_end_call(struct mpk_session *s);

/* mpk_watch_is_asked - whether a call asks for any observer */
static inline bool mpk_watch_is_asked(const struct mpk_watch *watch)
{
	return watch->profiles || watch->traces || watch->dump || watch->compare;
}

/* mpk_session_name_missing - to the error of compiled code that looked up what nobody has: all that is missing
 * (missing.c) */
void mpk_session_name_missing(struct mpk_session *s, struct mpk_error *err);

/* mpk_session_hint_add - to the error of a call whose arguments do not fit the signature of its function: a call
 * that works (hint.c) */
void mpk_session_hint_add(struct mpk_session *s, const struct mpk_args *args,
			  struct mpk_error *err);

/* --- inputs from a file of parameters (params.c) ------------------------------------------------ */

/* What the file has for an input of the function: a tensor, or those of a tuple. */
struct mpk_param_choice {
	struct mpk_span name; /* of the input; borrowed from its signature */
	bool is_tuple;
	const size_t *indices; /* in the file */
	size_t count;          /* 1 unless it is a tuple */
};

/* mpk_params_choose - which tensors of call->params the call needs: those of inputs, and of
 * parameters that the library has, to which the call itself gives nothing by name
 * A tensor is an input's by its name, by the name that PyTorch's exporter makes of its ("p_fc1_weight" of
 * "fc1.weight"), or, named "param_0", "param_1", ..., by its place among the inputs that are left at the end. An input that
 * is a tuple of tensors takes them by the names of its fields, by "param_0" and so on, or all in the order of the file.
 * What else the file has is for other functions. Values without a name are for the inputs that are
 * left.
 * @m       of the function; NULL: it is no model
 * @arena   receives the choices
 * Returns  MPK_OK; MPK_E_USAGE: no model; inputs that neither the file nor the call gives, tensors of another type or
 *          shape than their inputs (all are listed), or values that are left over; MPK_E_NOMEM */
enum mpk_code mpk_params_choose(const struct mpk_call *call, const struct mpk_signature *m,
				struct mpk_arena *arena, const struct mpk_param_choice **out,
				size_t *count, struct mpk_error *err) MPK_MUST_CHECK;

#endif
