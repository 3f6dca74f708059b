/* SPDX-License-Identifier: Apache-2.0 */
/* function.h - a function that can be called with values, whatever implements it
 *
 * Host code of a library, device kernels, functions of executors, closures and global functions of
 * the runtime are all represented by this type. For module code, calling conventions make handles
 * of them (abi/convention.h). */
#ifndef MPK_VALUE_FUNCTION_H
#define MPK_VALUE_FUNCTION_H

#include <stdatomic.h>
#include <stddef.h>

#include "base/error.h"
#include "base/span.h"
#include "blob/blob.h"
#include "value/value.h"

/* The arguments of one call; all borrowed. A tensor without a storage is valid only during the
 * call: copy it to keep it. */
struct mpk_args {
	const struct mpk_value *values;
	const struct mpk_span *names; /* name of each value, empty if it is passed by position;
				       * NULL: no value has a name */
	size_t count;
};

struct mpk_signature; /* declared in signature/signature.h */

struct mpk_function {
	atomic_uint refs;
	const char *name; /* borrowed from the creator of the function, or owned by the function */

	/* Calls the function. *result is none on entry and receives an owned value. Several threads may
	 * call at once, unless the creator of the function says otherwise.
	 * Returns  MPK_OK; MPK_E_RAISED (an error of the called code), MPK_E_DEVICE */
	enum mpk_code (*call)(struct mpk_function *self, const struct mpk_args *args,
			      struct mpk_value *result, struct mpk_error *err);
	/* called when the last reference is gone; NULL: the function is static */
	void (*destroy)(struct mpk_function *self);
	bool takes_names; /* arguments may be given by name */
	/* Signature of a model's function, borrowed from its creator; NULL: not a model, or unknown. */
	const struct mpk_signature *signature;

	/* For host code: its address and calling convention, so that frequent callers can pass arguments
	 * without conversion. address is NULL for other functions. */
	void *address;
	enum mpk_convention convention;

	/* For functions that take tvm-ffi cells directly (mpk_ffi_safe_call, layout from 0.22 on): handles
	 * of the function call it without conversion. NULL: each call is converted. */
	void *cells;

	/* Handles that module code got for the function, one for each object layout; NULL: none yet. Owned
	 * by abi/convention.h. */
	void *handles[2];
	void (*drop_handles)(struct mpk_function *self);
};

/* mpk_function_hold, mpk_function_drop - add or drop a reference; f may be NULL */
struct mpk_function *mpk_function_hold(struct mpk_function *f);
void mpk_function_drop(struct mpk_function *f);

/* mpk_function_call - call a function
 * @result  none on entry; owned afterwards, unchanged on failure
 * Returns  as f->call; MPK_E_USAGE: an argument has a name, but f accepts no names */
enum mpk_code mpk_function_call(struct mpk_function *f, const struct mpk_args *args,
				struct mpk_value *result, struct mpk_error *err) MPK_MUST_CHECK;

#endif
