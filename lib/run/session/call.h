/* SPDX-License-Identifier: Apache-2.0 */
/* call.h - one call of a function in a library: load, call, bring the results back */
#ifndef MPK_SESSION_CALL_H
#define MPK_SESSION_CALL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "blob/blob.h"
#include "elf/image.h"
#include "library/inspect.h"
#include "observe/observe.h"
#include "sandbox/sandbox.h"
#include "signature/signature.h"
#include "value/value.h"

/* --- the file whose functions are called: what is known of it, and how it is loaded ----------- */

/* What the child is doing. */
enum mpk_child_phase { MPK_CHILD_LOADING, MPK_CHILD_CALLING, MPK_CHILD_ENDING };

/* What a child is at, and how much of what it loads is there. */
struct mpk_child_state {
	enum mpk_child_phase phase;
	uint64_t loaded, to_load; /* bytes, as the child says; to_load 0: nobody knows */
};

struct mpk_library_options {
	const char *path;              /* the library's file; relative to the working
					* directory, never searched for */
	const struct mpk_image *image; /* of that file; borrowed */
	const struct mpk_tree *tree;   /* of its blob; NULL without one; borrowed */
	struct mpk_error unloadable;   /* why nobody can load it, when that is known; else MPK_OK */
	bool explains_calls; /* add a call that works to the error of a function called otherwise */
	const struct mpk_sandbox
		*sandbox; /* what the called code keeps; NULL: all that the user has */
	struct mpk_runtime_options runtime;
	const char *const
		*providers; /* provider_count libraries, whose functions it may call; borrowed */
	size_t provider_count;
	/* called every tenth of a second while the child runs; NULL: nothing is */
	void (*watch)(void *user, const struct mpk_child_state *state);
	void *watch_user;
	void (*enter_child)(void); /* called in the child before all else; NULL */
};

/* mpk_library_check - can this machine load it at all? Reads the image only.
 * Returns  MPK_OK; what options->unloadable says; MPK_E_LOAD: another machine (both named), an
 *          object or archive (toolchain/toolchain.h makes a library of it), a bare blob;
 *          MPK_E_NO_BLOB: neither blob nor functions */
enum mpk_code mpk_library_check(const struct mpk_library_options *options,
				struct mpk_error *err) MPK_MUST_CHECK;

struct mpk_param_file; /* value/param_file.h */

struct mpk_call_result {
	struct mpk_value *values; /* the outputs in order, then what the last call
				       * returned, arrays flattened; none is left out
				       * unless it is all there is */
	size_t count;
	double *seconds; /* of each timed call, in order */
	size_t seconds_count;
	struct mpk_seen seen; /* by who watched */
};

/* Figures over the timed calls, in seconds. */
struct mpk_timing {
	double min, median, p95, mean;
};

/* mpk_call_result_fini - drop the values; safe on a zeroed result */
void mpk_call_result_fini(struct mpk_call_result *r);

/* mpk_timing_of - the figures; p95 is the smallest time that 95 of 100 calls stay within.
 * Sorts seconds. count > 0. */
struct mpk_timing mpk_timing_of(double *seconds, size_t count);
struct mpk_call {
	const char *function;
	const struct mpk_value *args; /* outputs made by mpk_value_parse_argument */
	const struct mpk_span *names; /* of each argument, empty: by position; NULL: none */
	const bool *is_out;           /* arg_count; which arguments are results */
	const struct mpk_dldevice
		*places; /* of each argument, type 0: where `device` and the function
					    * say; NULL: all so */
	const struct mpk_span
		*kept;    /* of each argument: the kept value that it is, "cache", "cache[1]";
				      * empty: args has it; NULL: all so */
	const char *keep; /* the name under which later calls find the result; NULL: none.
				      * Without the "$" */
	size_t arg_count;
	struct mpk_param_file *params; /* inputs by name, where the call itself has none of that
					* name; NULL: none */
	bool params_for_models; /* params are left aside when the function is no model; else that
				 * is a mistake */
	struct mpk_dldevice device; /* where tensors live; type 0: nobody said, the CPU or
				       * what the kernel is for */
	bool device_is_guess;       /* nobody named it: the tree's code is for it */
	const struct mpk_kernel_extents *kernel; /* function is a kernel of the tree, called
				       * without host code; NULL: one of the library */
	struct mpk_watch watch;                  /* asked for, the function must be a model */
	unsigned warmup;                         /* calls before those that are timed */
	unsigned repeat;                         /* timed calls, at least 1 */
};

/* mpk_call_choose_device - unless the call says so itself, its tensors live on the device that the
 * tree's code is for; a kernel finds its device itself
 * Returns  MPK_OK; MPK_E_DEVICE as mpk_devices_default says; MPK_E_USAGE: a device, and library is isolated (sandbox) */
enum mpk_code mpk_call_choose_device(const struct mpk_library_options *library,
				     struct mpk_call *call, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_call_run - load the library in a child process and call the function there, once its device is chosen
 * For a kernel only library->tree is used.
 * Returns  MPK_OK; all that mpk_kernel_set_find, mpk_library_open, mpk_library_find,
 *          mpk_params_choose, mpk_param_file_tensor and mpk_function_call say, how the child ended otherwise
 *          (MPK_E_RAISED, MPK_E_TIMEOUT), and what the observers of call->watch fail with (lib/run/observe). Nothing
 *          of the library is executed in this process. */
enum mpk_code mpk_call_run(const struct mpk_library_options *library, const struct mpk_call *call,
			   double timeout, struct mpk_call_result *out,
			   struct mpk_error *err) MPK_MUST_CHECK;

/* --- what a call is to give --------------------------------------------------------------------- */

/* Zero-initialise; mpk_value_drop(&expect->value). */
struct mpk_expect {
	bool is_ignored; /* any result is right */
	struct mpk_value value;
};

/* mpk_expect_parse - a value, or "ignored" (also as it is printed, "(ignored)")
 * Returns  as mpk_value_parse */
enum mpk_code mpk_expect_parse(const char *text, struct mpk_expect *out,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_expect_check - compare result number i, counted from 0
 * @out     untouched for what is ignored; all 0 when there is no such result
 * Returns  MPK_OK; MPK_E_DIFFERENT: "result N: " and one sentence;
 *          as mpk_value_compare */
enum mpk_code mpk_expect_check(const struct mpk_expect *expect,
			       const struct mpk_call_result *results, size_t i,
			       struct mpk_tolerance tolerance, struct mpk_comparison *out,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* --- many calls in one child process ----------------------------------------------------------- */

/* What one call does to its process ends with that call: after a crash, a timeout or an
 * error on a device the calls after it go on in a fresh child. */

struct mpk_batch_item {
	const struct mpk_call *call; /* NULL: left out */
	double timeout;              /* seconds; 0: none */

	/* what mpk_batch_run found out */
	struct mpk_error error;        /* code MPK_OK: the function returned */
	bool crashed;                  /* the process ended in the call: error says how */
	double seconds;                /* all of it, arguments and warm-up included */
	struct mpk_call_result result; /* when it returned */
};

/* mpk_batch_run - make the calls of count items, in their order
 * The library is loaded for the first item that needs it; when that fails, all such items
 * have the failure as their error.
 * @items   the calls' outputs must be their own: no two calls share one
 * Returns  MPK_OK whatever the calls did; MPK_E_IO, MPK_E_NOMEM: there was no child */
enum mpk_code mpk_batch_run(const struct mpk_library_options *library, struct mpk_batch_item *items,
			    size_t count, struct mpk_error *err) MPK_MUST_CHECK;

/* --- what a user of minspect can do about an error -------------------------------------------- */

/* An error of what runs models ends at the fact, since an application that links it has no options. Here the
 * option is added that helps. */

/* mpk_hint_add - to an error whose fact is known here what helps; others, and those that have it, stay as they are
 * NULL is fine. A text that would not fit is cut at its end. */
void mpk_hint_add(struct mpk_error *err);

/* mpk_hint_add_call - to an error of a call that does not fit the signature: a call that does. Nothing for a
 * function without inputs */
void mpk_hint_add_call(const struct mpk_signature *signature, struct mpk_error *err);

#endif
