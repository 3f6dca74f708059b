/* SPDX-License-Identifier: Apache-2.0 */
/* call.h - one call of a function in a library: load, call, fetch the results */
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

/* What a child is doing, and its progress in loading. */
struct mpk_child_state {
	enum mpk_child_phase phase;
	uint64_t loaded, to_load; /* bytes, as reported by the child; to_load is 0 if unknown */
};

struct mpk_library_options {
	/* the library's file; relative to the working directory, never searched in library paths */
	const char *path;
	const struct mpk_image *image; /* image of that file; borrowed */
	const struct mpk_tree *tree;   /* modules of its blob; NULL if there is none; borrowed */
	/* the reason if it is known that it cannot be loaded; else MPK_OK */
	struct mpk_error unloadable;
	bool explains_calls; /* add an example call to the error of a wrong call */
	const struct mpk_sandbox
		*sandbox; /* rights of the called code; NULL: all rights of the user */
	struct mpk_runtime_options runtime;
	const char *const
		*providers; /* provider_count libraries whose functions it may call; borrowed */
	size_t provider_count;
	/* called every tenth of a second while the child runs; may be NULL */
	void (*watch)(void *user, const struct mpk_child_state *state);
	void *watch_user;
	void (*enter_child)(void); /* called first in the child; may be NULL */
};

/* mpk_library_check - check from the image whether this machine can load the library.
 * Returns  MPK_OK; the error in options->unloadable; MPK_E_LOAD: another machine (both named), an
 *          object or archive (toolchain/toolchain.h links a library from it), a bare blob;
 *          MPK_E_NO_BLOB: neither blob nor functions */
enum mpk_code mpk_library_check(const struct mpk_library_options *options,
				struct mpk_error *err) MPK_MUST_CHECK;

struct mpk_param_file; /* value/param_file.h */

struct mpk_call_result {
	/* the outputs in order, then the last call's result with arrays flattened; a "none" is
	 * omitted unless it is the only result */
	struct mpk_value *values;
	size_t count;
	double *seconds; /* seconds of each timed call, in order */
	size_t seconds_count;
	struct mpk_seen seen; /* data of the observers */
};

/* Figures over the timed calls, in seconds. */
struct mpk_timing {
	double min, median, p95, mean;
};

/* mpk_call_result_fini - drop the values; safe on a zeroed result */
void mpk_call_result_fini(struct mpk_call_result *r);

/* mpk_timing_of - compute the figures; p95 is the smallest time that 95 of 100 calls do not exceed.
 * Sorts seconds. count > 0. */
struct mpk_timing mpk_timing_of(double *seconds, size_t count);
struct mpk_call {
	const char *function;
	const struct mpk_value *args; /* arguments; outputs are made by mpk_value_parse_argument */
	/* name of each argument, empty means by position; NULL if none */
	const struct mpk_span *names;
	const bool *is_out; /* arg_count flags: the argument is an output */
	/* device of each argument, type 0: `device` and the function decide; NULL if all are so */
	const struct mpk_dldevice *places;
	/* for each argument: the kept value to pass, "cache", "cache[1]"; empty: the value is in
	 * args; NULL if all are so */
	const struct mpk_span *kept;
	/* name under which later calls find the result, without the "$"; NULL if it is not kept */
	const char *keep;
	size_t arg_count;
	/* file of inputs by name, for inputs that the call does not name; NULL if none */
	struct mpk_param_file *params;
	/* ignore params if the function is not a model; else that is an error */
	bool params_for_models;
	/* device of tensors; type 0 if not chosen: the CPU, or the device of the kernel */
	struct mpk_dldevice device;
	bool device_is_guess; /* device was guessed from the tree's code, not chosen */
	/* set if function is a kernel of the tree, called without host code; NULL if it is one of
	 * the library */
	const struct mpk_kernel_extents *kernel;
	struct mpk_watch watch; /* requested observations; these need a model */
	unsigned warmup;        /* number of calls before the timed ones */
	unsigned repeat;        /* number of timed calls, at least 1 */
};

/* mpk_call_choose_device - unless the call has a device, choose the one that the tree's code is
 * for; a kernel finds its device itself
 * Returns  MPK_OK; MPK_E_DEVICE as mpk_devices_default; MPK_E_USAGE: a device with an isolated
 *          library (sandbox) */
enum mpk_code mpk_call_choose_device(const struct mpk_library_options *library,
				     struct mpk_call *call, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_call_run - load the library in a child process and call the function there, on the chosen
 * device
 * For a kernel only library->tree is used.
 * Returns  MPK_OK; all errors of mpk_kernel_set_find, mpk_library_open, mpk_library_find,
 *          mpk_params_choose, mpk_param_file_tensor and mpk_function_call; how the child ended
 *          otherwise (MPK_E_RAISED, MPK_E_TIMEOUT); errors of the observers of call->watch
 *          (lib/run/observe). No code of the library is executed in this process. */
enum mpk_code mpk_call_run(const struct mpk_library_options *library, const struct mpk_call *call,
			   double timeout, struct mpk_call_result *out,
			   struct mpk_error *err) MPK_MUST_CHECK;

/* --- what a call is to give --------------------------------------------------------------------- */

/* Zero-initialise; free with mpk_value_drop(&expect->value). */
struct mpk_expect {
	bool is_ignored; /* accept any result */
	struct mpk_value value;
};

/* mpk_expect_parse - parse a value, or "ignored" (or "(ignored)", as it is printed)
 * Returns  as mpk_value_parse */
enum mpk_code mpk_expect_parse(const char *text, struct mpk_expect *out,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_expect_check - compare result number i, counted from 0
 * @out     unchanged for ignored results; all 0 if there is no such result
 * Returns  MPK_OK; MPK_E_DIFFERENT: "result N: " and one sentence;
 *          as mpk_value_compare */
enum mpk_code mpk_expect_check(const struct mpk_expect *expect,
			       const struct mpk_call_result *results, size_t i,
			       struct mpk_tolerance tolerance, struct mpk_comparison *out,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* --- many calls in one child process ----------------------------------------------------------- */

/* One call of a batch. After a crash, a timeout or a device error, the following calls run in a new
 * child. */

struct mpk_batch_item {
	const struct mpk_call *call; /* NULL means skipped */
	double timeout;              /* time limit in seconds; 0 means none */

	/* the fields below are set by mpk_batch_run */
	struct mpk_error error; /* code MPK_OK if the function returned */
	bool crashed;           /* the process ended in the call: error says how */
	double seconds;         /* seconds of the whole call, including arguments and warm-up */
	struct mpk_call_result result; /* set if it returned */
};

/* mpk_batch_run - make the calls of count items, in order
 * The library is loaded for the first item that needs it; if that fails, all such items get that
 * error.
 * @items   no two calls may share an output
 * Returns  MPK_OK whatever the calls did; MPK_E_IO, MPK_E_NOMEM: the child could not be started */
enum mpk_code mpk_batch_run(const struct mpk_library_options *library, struct mpk_batch_item *items,
			    size_t count, struct mpk_error *err) MPK_MUST_CHECK;

/* --- what a user of minspect can do about an error -------------------------------------------- */

/* Errors of the run library do not mention options, since an application has none. These functions
 * add the option that helps. */

/* mpk_hint_add - add the helpful option to a known error; other errors, and those that have it, are
 * unchanged err may be NULL. A text that does not fit is cut. */
void mpk_hint_add(struct mpk_error *err);

/* mpk_hint_add_call - add a correct call to an error of a call that does not fit the signature;
 * nothing for a function without inputs */
void mpk_hint_add_call(const struct mpk_signature *signature, struct mpk_error *err);

#endif
