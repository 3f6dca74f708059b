/* SPDX-License-Identifier: Apache-2.0 */
/* function.h - something that can be called with values, whatever it is made of
 *
 * Host code of a library, device kernels, functions of executors and closures, and the global
 * functions of the runtime are all functions. The calling conventions (abi/convention.h) give
 * module code handles for them.
 */
#ifndef MPK_VALUE_FUNCTION_H
#define MPK_VALUE_FUNCTION_H

#include <stdatomic.h>
#include <stddef.h>

#include "base/error.h"
#include "base/span.h"
#include "blob/blob.h"
#include "value/value.h"

/* The arguments of one call; all borrowed. A tensor without a storage lives as long as the
 * call: whoever keeps it copies it. */
struct mpk_args {
	const struct mpk_value *values;
	const struct mpk_span *names; /* of each value, empty: by position; NULL: none has a name */
	size_t count;
};

struct mpk_signature; /* signature/signature.h */

struct mpk_function {
	atomic_uint refs;
	const char *name; /* borrowed from what made the function, or owned by it */

	/* Calls the function. *result is none on entry and receives an owned value. May be
	 * called from several threads at once, unless what made the function says otherwise.
	 * Returns  MPK_OK; MPK_E_RAISED (what the called code raised), MPK_E_DEVICE */
	enum mpk_code (*call)(struct mpk_function *self, const struct mpk_args *args,
			      struct mpk_value *result, struct mpk_error *err);
	/* the last reference is gone; NULL: static */
	void (*destroy)(struct mpk_function *self);
	bool takes_names; /* arguments may be given by name */
	/* What a model takes, borrowed from what made the function; NULL: no model, or not known. */
	const struct mpk_signature *signature;

	/* Host code: its address and convention, so that whoever calls it often passes
	 * arguments as they are. address NULL: not host code. */
	void *address;
	enum mpk_convention convention;

	/* The same for cells of tvm-ffi as they are (mpk_ffi_safe_call, of the layout from 0.22 on),
	 * which handles of the function then call; NULL: each call is translated. */
	void *cells;

	/* What module code of each layout of objects was given for it, NULL: nothing so far;
	 * abi/convention.h owns these. */
	void *handles[2];
	void (*drop_handles)(struct mpk_function *self);
};

/* mpk_function_hold, mpk_function_drop - count references; NULL is fine */
struct mpk_function *mpk_function_hold(struct mpk_function *f);
void mpk_function_drop(struct mpk_function *f);

/* mpk_function_call - call f
 * @result  none on entry; owned afterwards, untouched on failure
 * Returns  as f->call; MPK_E_USAGE when an argument has a name and f takes none */
enum mpk_code mpk_function_call(struct mpk_function *f, const struct mpk_args *args,
				struct mpk_value *result, struct mpk_error *err) MPK_MUST_CHECK;

#endif
