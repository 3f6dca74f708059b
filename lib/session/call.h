/* call.h - one call of a function in a library: load, call, bring the results back */
#ifndef MPK_SESSION_CALL_H
#define MPK_SESSION_CALL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "runtime/devices.h"
#include "runtime/library.h"
#include "session/child.h"
#include "value/value.h"

struct mpk_call {
	const char *function;
	const struct mpk_value *args; /* outputs made by mpk_value_parse_out */
	const bool *is_out;           /* arg_count; which arguments are results */
	size_t arg_count;
	struct mpk_dldevice device; /* where tensors live; type 0: nobody said, the CPU or
				       * what the kernel is for */
	const struct mpk_kernel_extents *kernel; /* function is a kernel of the tree, called
				       * without host code; NULL: one of the library */
	unsigned warmup;                         /* calls before those that are timed */
	unsigned repeat;                         /* timed calls, at least 1 */
};

struct mpk_call_result {
	struct mpk_value *values; /* the outputs in order, then what the last call
				       * returned, arrays flattened; none is left out
				       * unless it is all there is */
	size_t count;
	double *seconds; /* of each timed call, in order */
	size_t seconds_count;
};

/* Figures over the timed calls, in seconds. */
struct mpk_timing {
	double min, median, p95, mean;
};

/* mpk_call_place - unless the call says where it takes place: on the device that the tree's
 * code is for; a kernel finds its device itself
 * Returns  MPK_OK; MPK_E_DEVICE as mpk_devices_default says */
enum mpk_code mpk_call_place(const struct mpk_library_options *library, struct mpk_call *call,
			     struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_call_run - load the library in a child process and call the function there
 * For a kernel only library->tree is used.
 * Returns  MPK_OK; all that mpk_devices_kernel, mpk_library_open, mpk_library_find,
 *          mpk_function_call and mpk_child_run say. Nothing of the library is executed in
 *          this process. */
enum mpk_code mpk_call_run(const struct mpk_library_options *library, const struct mpk_call *call,
			   double timeout, struct mpk_call_result *out,
			   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_call_result_fini - drop the values; safe on a zeroed result */
void mpk_call_result_fini(struct mpk_call_result *r);

/* mpk_timing_of - the figures; p95 is the smallest time that 95 of 100 calls stay within.
 * Sorts seconds. count > 0. */
struct mpk_timing mpk_timing_of(double *seconds, size_t count);

#endif
