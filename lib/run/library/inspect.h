/* SPDX-License-Identifier: Apache-2.0 */
/* inspect.h - the additional interface that minspect needs beyond mpk/run.h
 *
 * minspect calls unknown files: kernels of libraries that do not load, functions with values
 * instead of tensors, each possibly on another device, with weights from another file, under
 * observation. Models, functions and errors are those of mpk/run.h; this header adds the steps
 * before and between. Errors are structs, as minspect's exit statuses follow from their codes.
 * Nothing here locks: all calls come from one thread.
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

/* The origin of a model's library; it and all that it points to must live as long as the model and
 * its functions. */
struct mpk_run_source {
	const char *path;       /* path of its file; NULL if it is in memory */
	struct mpk_span memory; /* the library if path is NULL */
	/* prefix of the wanted model, if the library has several; NULL means the first */
	const char *prefix;
	/* modules of the file's blob, whose kernels can be called without host code before the
	 * library is loaded, or if it cannot be. NULL if not known */
	const struct mpk_tree *tree;
	bool is_alone; /* no other code in the process opens the file, so it need not be copied */
	/* functions to call instead of those of the file, such as its metadata getters; NULL: those
	 * of the file */
	const struct mpk_host_function *functions;
	size_t function_count;
	/* as in struct mpk_host_code */
	struct mpk_moved moved;
	void *(*symbol)(const char *name);
	int32_t (*device_of)(void *user, const char *name);
	void *device_user;
	/* possible paths of libtvm_ffi.so, a file for the copy if the sandbox forbids others, the
	 * receiver of progress */
	struct mpk_runtime_options runtime;
};

/* mpk_run_create - make a model whose file is neither read nor loaded yet; its device must still be
 * set
 * @out     close with mpkr_close
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_run_create(const struct mpk_run_source *source, mpkr_model **out,
			     struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_run_load - load the library unless it is loaded; mpkr_open does both. A kernel can be called
 * without it
 * Returns  MPK_OK; as mpkr_open */
enum mpk_code mpk_run_load(mpkr_model *model, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_run_provide - let a model call the functions of another library by name. A '_' in a
 * function's name also stands for '.', which C symbols cannot contain
 * @from    loaded; must stay open as long as the model
 * Returns  MPK_OK; MPK_E_NOTFOUND: it has no functions; as mpkr_find */
enum mpk_code mpk_run_provide(mpkr_model *model, mpkr_model *from,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_run_works - whether all work on its devices ended without a fault; after a fault, drivers
 * refuse everything */
bool mpk_run_works(const mpkr_model *model);

/* --- functions ------------------------------------------------------------------------------- */

/* The data that a call will pass; a file of parameters gives the rest. */
struct mpk_run_given {
	struct mpk_param_file *params; /* NULL if none; not needed after the function was found */
	/* ignore params if the function is not a model; else that is an error */
	bool is_for_models;
	/* name of each value, empty means by position; NULL if none has a name */
	const struct mpk_span *names;
	size_t count;
	void (*to_load)(void *user,
			/* called with the number of bytes that will be read; may be NULL */
			uint64_t bytes);
	void *user;
	/* device of tensors from now on: each call of a case file may choose another */
	struct mpk_dldevice where;
	bool is_guess; /* where was guessed, not chosen by the user: a model may know better */
};

/* mpk_run_find - find a function of the loaded model, or a kernel of its blob, with parameters for
 * one call
 * A tensor of the file belongs to the input with its name, or with the name that PyTorch's
 * exporter makes of it ("p_fc1_weight" for "fc1.weight"). Tensors "param_0", "param_1", ...
 * belong, by number, to the inputs that are left at the end. An input that is a tuple of tensors
 * takes them by the names of its fields, by "param_0" and so on, or all in file order. Inputs
 * with a named value are skipped; unnamed values fill the inputs that are left. Other tensors of
 * the file are for other functions. Constants that the library leaves to a file are taken from
 * it too.
 * @extents launch extents of a kernel; NULL if name is a function
 * @out     free with mpkr_drop
 * Returns  MPK_OK; as mpkr_find and mpkr_find_kernel; MPK_E_USAGE: the function is not a model;
 *          inputs that neither file nor call gives, tensors whose type or shape does not fit (all
 *          are listed), or unused values; as mpk_param_file_tensor */
enum mpk_code mpk_run_find(mpkr_model *model, const char *name,
			   const struct mpk_kernel_extents *extents,
			   const struct mpk_run_given *given, mpkr_function **out,
			   struct mpk_error *err) MPK_MUST_CHECK;

struct mpk_run_facts {
	/* gives the signature, and whether it is host code; valid until the call */
	const struct mpk_function *function;
	struct mpk_dldevice where;   /* device of its tensors */
	struct mpk_devices *devices; /* the devices opened by its model, for observers */
};

/* mpk_run_facts - properties of a function; borrowed */
struct mpk_run_facts mpk_run_facts(const mpkr_function *f);

/* --- calls ----------------------------------------------------------------------------------- */

/* Values of a call that the user gave as text. All is borrowed. */
struct mpk_run_values {
	const struct mpk_value *values; /* tensors in host memory, except those with is_placed */
	const struct mpk_span *names;   /* as in struct mpk_args */
	const struct mpk_dldevice
		*places; /* device of each, type 0 means the function decides; NULL if all are so */
	const bool *is_placed; /* for each: pass it as it is; NULL if none */
	size_t count;
};

struct mpk_signature; /* declared in signature/signature.h */

/* A call in steps; the middle step can be repeated and timed. */
struct mpk_run_call;

/* mpk_run_begin - copy values to the devices where the function wants them: where it requires it,
 * else where the call says, else where the others are
 * @keeps_order  if the call fails, do not try the other numbering of guessed devices: observers
 *               cannot undo what they have seen
 * @out     free with mpk_run_end
 * Returns  MPK_OK; MPK_E_USAGE: a place that contradicts the model; MPK_E_DEVICE;
 *          MPK_E_UNSUPPORTED; MPK_E_NOMEM */
enum mpk_code mpk_run_begin(mpkr_function *f, const struct mpk_run_values *in, bool keeps_order,
			    struct mpk_run_call **out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_run_once - call the function, and wait for the work that it started on devices
 * @first   first observer of the call; NULL if none
 * @returned  receives the result, not copied; borrowed until the next call
 * Returns  MPK_OK; as mpk_function_call and mpk_devices_sync */
enum mpk_code mpk_run_once(struct mpk_run_call *c, struct mpk_observer *first,
			   const struct mpk_value **returned, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_run_fits - whether all arguments, including bound parameters, fit a signature, before
 * anything runs; also true if a name is given twice, which is another error */
bool mpk_run_fits(const struct mpk_run_call *c, const struct mpk_signature *signature);

/* mpk_run_fetch - copy written arguments and the last result to the host
 * @args    the passed values; tensors with is_out receive what was written to them
 * @returned  a copy; its tensors are compact and in host memory
 * Returns  MPK_OK; as mpk_devices_fetch; MPK_E_UNSUPPORTED; MPK_E_NOMEM */
enum mpk_code mpk_run_fetch(struct mpk_run_call *c, const struct mpk_value *args,
			    const bool *is_out, struct mpk_value *returned,
			    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_run_end - free the call; NULL does nothing */
void mpk_run_end(struct mpk_run_call *c);

#endif
