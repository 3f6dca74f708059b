/* SPDX-License-Identifier: Apache-2.0 */
/* inspect.h - what minspect asks of the library beyond mpk/run.h, and why no application does
 *
 * minspect calls what it is given, a file that nobody knows: kernels of libraries that do not load, functions with
 * values instead of tensors, each on another device, with weights of another file, watched. Models, functions and errors
 * are those of mpk/run.h, made in the same way; here is what comes before or between. Errors are structs, as
 * minspect's statuses follow from their codes. Nothing here locks: one thread calls.
 */
#ifndef MPK_LIBRARY_INSPECT_H
#define MPK_LIBRARY_INSPECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"
#include "blob/blob.h"
#include "mpk/run.h"
#include "runtime/library.h"
#include "runtime/observer.h"
#include "runtime/runtime.h"
#include "value/function.h"
#include "value/param_file.h"

/* --- models ---------------------------------------------------------------------------------- */

/* Where the library of a model comes from; borrowed with all it points to until nothing of the model is left. */
struct mpk_run_source {
	const char *path;       /* of its file; NULL: it is in memory */
	struct mpk_span memory; /* where there is no path */
	const char *prefix; /* of the one of several models in it that is meant; NULL: the first */
	/* What the file itself tells when it is loaded. Before that, and of files that do not load: its blob, whose
	 * kernels are called without host code. NULL: not known */
	const struct mpk_tree *tree;
	bool is_alone; /* nobody else of the process opens the file: it need not be copied */
	/* What is called in the place of the file's functions, as what describes them; NULL: these */
	const struct mpk_host_function *functions;
	size_t function_count;
	/* as of struct mpk_host_code */
	struct mpk_moved moved;
	void *(*symbol)(const char *name);
	int32_t (*device_of)(void *user, const char *name);
	void *device_user;
	/* where libtvm_ffi.so may be, a file for the copy that a sandbox does not allow, who hears of progress */
	struct mpk_runtime_options runtime;
};

/* mpk_run_create - a model whose file is neither read nor loaded so far, with a device still to be set
 * @out     to be closed by mpkr_close
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_run_create(const struct mpk_run_source *source, mpkr_model **out,
			     struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_run_load - load its library, unless it is; mpkr_open does both. For a kernel alone it need not be
 * Returns  MPK_OK; as mpkr_open */
enum mpk_code mpk_run_load(mpkr_model *model, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_run_provide - let a model call the functions of another library by their names. '_' in the name of a function stands for '.', too, which no symbol of C has
 * @from    loaded, and open as long as the model is
 * Returns  MPK_OK; MPK_E_NOTFOUND: it has none; as mpkr_find */
enum mpk_code mpk_run_provide(mpkr_model *model, mpkr_model *from,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_run_works - whether its devices have ended without a fault what was started; after one, drivers refuse all */
bool mpk_run_works(const mpkr_model *model);

/* --- functions ------------------------------------------------------------------------------- */

/* What a call will give, so that a file of parameters gives the rest. */
struct mpk_run_given {
	struct mpk_param_file *params; /* NULL: none; held by no function afterwards */
	bool is_for_models; /* it is left aside for functions that are none; else that is a mistake */
	const struct mpk_span *names; /* of the values, empty: by position; NULL: none has a name */
	size_t count;
	void (*to_load)(void *user,
			uint64_t bytes); /* hears how much of it is going to be read; or NULL */
	void *user;
	struct mpk_dldevice
		where; /* of tensors from now on: each call of a case file may name another */
	bool is_guess; /* nobody named it: a model may know better */
};

/* mpk_run_find - a function of the model, loaded, or a kernel of its blob, with parameters for one call
 * A tensor is an input's by its name, by the name that PyTorch's exporter makes of its ("p_fc1_weight" of
 * "fc1.weight"), or, named "param_0", "param_1", ..., by its place among the inputs that are left at the end. An input
 * that is a tuple of tensors takes them by the names of its fields, by "param_0" and so on, or all in the order of the
 * file. Inputs that values are named for are left to them; values without a name are for the inputs that are left. What
 * else the file has is for other functions. Constants that the library leaves to a file are taken from it, too.
 * @extents of a launch; NULL: name is of a function
 * @out     to be dropped by mpkr_drop
 * Returns  MPK_OK; as mpkr_find and mpkr_find_kernel; MPK_E_USAGE: a function that is no model; inputs that neither file
 *          nor call gives, tensors of another type or shape than their inputs (all are listed), or values that are left
 *          over; as mpk_param_file_tensor */
enum mpk_code mpk_run_find(mpkr_model *model, const char *name,
			   const struct mpk_kernel_extents *extents,
			   const struct mpk_run_given *given, mpkr_function **out,
			   struct mpk_error *err) MPK_MUST_CHECK;

struct mpk_run_facts {
	const struct mpk_function
		*function;         /* its signature, whether it is host code; until it is called */
	struct mpk_dldevice where; /* its tensors are to be */
	struct mpk_devices *devices; /* those that its model opened, for observers */
};

/* mpk_run_facts - what a function is made of; borrowed */
struct mpk_run_facts mpk_run_facts(const mpkr_function *f);

/* --- calls ----------------------------------------------------------------------------------- */

/* Values as somebody typed them. All is borrowed. */
struct mpk_run_values {
	const struct mpk_value *values; /* tensors in host memory, unless they are placed */
	const struct mpk_span *names;   /* as of struct mpk_args */
	const struct mpk_dldevice
		*places;       /* of each, type 0: where the function says; NULL: all so */
	const bool *is_placed; /* of each: passed as it is; NULL: none */
	size_t count;
};

struct mpk_signature; /* signature/signature.h */

/* A call in steps, of which the middle one is repeated and timed. */
struct mpk_run_call;

/* mpk_run_begin - values where the function wants them: where it asks for each, else where the call says, else where the
 * others are
 * @keeps_order  the devices of a guess are not numbered the other way round when the call fails: what observers have
 *          seen of it cannot be taken back
 * @out     to be ended
 * Returns  MPK_OK; MPK_E_USAGE: a place that contradicts the model; MPK_E_DEVICE; MPK_E_UNSUPPORTED; MPK_E_NOMEM */
enum mpk_code mpk_run_begin(mpkr_function *f, const struct mpk_run_values *in, bool keeps_order,
			    struct mpk_run_call **out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_run_once - call it, and wait for what it started on devices
 * @first   who sees what it does; NULL: nobody
 * @returned  receives what it returned, as it is; borrowed until the next call
 * Returns  MPK_OK; as mpk_function_call and mpk_devices_sync */
enum mpk_code mpk_run_once(struct mpk_run_call *c, struct mpk_observer *first,
			   const struct mpk_value **returned, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_run_fits - whether what it is called with, bound parameters included, is what a signature says, before anything
 * runs; also where it gives a name twice, which is another mistake */
bool mpk_run_fits(const struct mpk_run_call *c, const struct mpk_signature *signature);

/* mpk_run_fetch - bring home what it wrote and what the last call returned
 * @args    the values that were passed; those with is_out are tensors and receive what was written to them
 * @returned  a copy; tensors in it are compact and in host memory
 * Returns  MPK_OK; as mpk_devices_fetch; MPK_E_UNSUPPORTED; MPK_E_NOMEM */
enum mpk_code mpk_run_fetch(struct mpk_run_call *c, const struct mpk_value *args,
			    const bool *is_out, struct mpk_value *returned,
			    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_run_end - NULL is fine */
void mpk_run_end(struct mpk_run_call *c);

#endif
