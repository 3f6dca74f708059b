/* SPDX-License-Identifier: Apache-2.0 */
/* library.h - declarations shared by the implementation of mpk/run.h: models, sessions, functions
 *
 * A model is a runtime with one library in it. It is reference-counted: its handle, its functions
 * and every result hold a reference, because the memory of a result may belong to the runtime.
 */
#ifndef MPK_LIBRARY_INTERNAL_LIBRARY_H
#define MPK_LIBRARY_INTERNAL_LIBRARY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/strmap.h"
#include "library/inspect.h"
#include "mpk/run.h"
#include "runtime/devices.h"
#include "runtime/library.h"
#include "runtime/observer.h"
#include "runtime/runtime.h"
#include "runtime/stop.h"
#include "signature/signature.h"
#include "value/memory.h"
#include "value/param_file.h"
#include "value/value.h"

/* --- models ---------------------------------------------------------------------------------- */

/* A file of parameters; a list in reverse order of binding. */
struct mpk_run_params {
	struct mpk_param_file *file;
	struct mpk_run_params *next;
	/* Functions that use the files, as pointers: a program that binds no parameters does not
	 * link them. bind_late: as mpk_run_bind_late. bind: fills f->bound; is_bound has a flag for
	 * each input, all false on entry */
	enum mpk_code (*bind_late)(struct mpkr_model *model, const struct mpk_run_params *params,
				   struct mpk_error *err);
	enum mpk_code (*bind)(struct mpkr_function *f, bool *is_bound, struct mpk_error *err);
};

/* An entry in the list of functions that callers see; texts are in the model's arena. */
struct mpk_run_entry {
	const char *name;
	const char *signature; /* NULL until requested */
	bool is_model;         /* a function of an executable; else host code */
};

/* A stream of the caller; calls on it do not wait for its end. */
struct mpk_run_stream {
	bool is_set;
	void *stream;
};

/* An observer that the application registered. */
struct mpk_run_watch {
	struct mpk_observer base; /* must be the first field */
	struct mpkr_model *model;
	mpkr_watcher *watcher;
	void *context;
};

/* Accumulated times of operators, while the application wants them. */
struct mpk_run_profile {
	struct mpk_observer base; /* must be the first field */
	struct mpkr_model *model;
	bool is_on;
	pthread_mutex_t lock; /* protects the fields below */
	struct mpk_arena arena;
	struct mpk_strmap index; /* maps kind, device and name to a row */
	struct mpkr_profile_row *rows;
	size_t count, cap;
};

/* A function that a model needs from the application; the name is in the model's arena. */
struct mpk_run_required {
	enum mpkr_requirement_kind kind;
	int32_t device_type;
	const char *name;
};

struct mpkr_model {
	atomic_uint refs;
	struct mpkr_memory host_memory, device_memory; /* given by the caller */
	pthread_mutex_t lock; /* recursive; protects everything below that is not constant */
	struct mpk_run_source source;
	struct mpk_runtime *runtime;
	struct mpk_library *library;      /* NULL until loaded */
	struct mpk_kernel_set kernels;    /* set when a kernel is requested by itself */
	const struct mpk_host_code *code; /* code of library */
	const struct mpk_tree *tree;      /* NULL if there is no blob */
	struct mpk_dldevice where;        /* device of its tensors */
	bool is_guess;                    /* where was guessed, not chosen by the caller */
	/* stream of further calls, protected by the lock of their session */
	struct mpk_run_stream stream;
	bool is_found; /* a function was looked up */
	struct mpk_run_params *params;
	const struct mpk_param_file
		*late; /* file whose late-bound constants the executables have; of the last call */
	struct mpk_run_session *first; /* session of functions from mpkr_find */
	struct mpk_run_watch watch;
	struct mpk_run_profile profile;
	const char *metadata; /* in arena; NULL until requested */
	struct mpk_run_required *required;
	size_t required_count, required_cap;
	bool is_required_listed;
	struct mpk_arena arena;
	struct mpk_run_entry *entries;
	size_t entry_count, entry_cap;
	bool is_listed;
};

struct mpkr_entry;

/* mpk_run_open_carried - open the model inside a standalone library at the first call; it stays
 * open
 * @entry   one of the library's functions; borrowed forever
 * @out     borrowed
 * Returns  MPK_OK; errors of mpkr_open_memory. Not thread-safe */
enum mpk_code mpk_run_open_carried(const struct mpkr_entry *entry, struct mpkr_model **out,
				   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_run_takes - charge host memory that this thread allocates to the model; returns the previous
 * owner, for mpk_memory_swap
 * mpk_run_lock - lock the model for this thread, and do that; pass the result to mpk_run_unlock */
static inline struct mpk_memory *mpk_run_takes(const struct mpkr_model *model)
{
	return mpk_memory_swap(mpk_devices_memory(mpk_runtime_devices(model->runtime), true));
}
struct mpk_memory *mpk_run_lock(struct mpkr_model *model);
void mpk_run_unlock(struct mpkr_model *model, struct mpk_memory *before);

/* mpk_run_model_hold, mpk_run_model_drop - count references; the last drop frees everything */
struct mpkr_model *mpk_run_model_hold(struct mpkr_model *model);
void mpk_run_model_drop(struct mpkr_model *model);

/* --- library files --------------------------------------------------------------------------- */

/* A compiled library in a file or in memory, of which everything was read that its loader needs:
 * its blob, its symbols and its imports. No code of it is executed. */
struct mpk_library_file;

/* mpk_library_file_open - read a file, which must not change while it is open
 * @prefix  prefix of the wanted model, if the library has several; NULL means the first
 * @path    NULL: read bytes, which are in the caller's memory
 * @bytes   borrowed until the file is closed
 * Returns  MPK_OK; MPK_E_IO; MPK_E_LOAD: not a shared library, or for another machine;
 *          MPK_E_CORRUPT: it or its blob cannot be read; MPK_E_NO_BLOB: it has neither a blob nor
 *          functions; MPK_E_NOMEM */
enum mpk_code mpk_library_file_open(const char *path, struct mpk_span bytes, const char *prefix,
				    struct mpk_library_file **out,
				    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_library_file_code - the argument of mpk_library_open; borrowed, and may be extended. After a
 * successful mpk_library_open, the opened library frees the file when its last reference is
 * dropped. */
struct mpk_host_code *mpk_library_file_code(struct mpk_library_file *file);

/* --- functions ------------------------------------------------------------------------------- */

/* A set of functions of which only one runs at a time. */
struct mpk_run_session {
	atomic_uint refs;
	pthread_mutex_t lock; /* taken by mpk_run_enter */
	/* previous owner of the memory that the locking thread allocates */
	struct mpk_memory *before;
	struct mpk_stop stop; /* stops its calls */
};

/* mpk_run_set_memory - set the caller's allocators for a model, before any memory is allocated and
 * the device is chosen
 * @host, @device  NULL for the defaults
 * Returns  MPK_OK; MPK_E_USAGE
 * mpk_run_check_memory - whether the caller's allocator supports the chosen device
 * Returns  MPK_OK; MPK_E_UNSUPPORTED */
enum mpk_code mpk_run_set_memory(struct mpkr_model *model, const struct mpkr_memory *on_host,
				 const struct mpkr_memory *on_device,
				 struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_run_check_memory(const struct mpkr_model *model,
				   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_run_enter - lock a function's session for this thread, and charge its memory to the model;
 * undo with mpk_run_leave
 * Returns  MPK_OK; MPK_E_USAGE: this thread already holds it, in a function of the application that
 *          a call called */
enum mpk_code mpk_run_enter(const struct mpkr_function *f, struct mpk_error *err) MPK_MUST_CHECK;
void mpk_run_leave(const struct mpkr_function *f);

/* An input or output as callers pass it: each element of a tuple counts by itself. */
struct mpk_run_leaf {
	const struct mpk_type *type;
	const char *name; /* "" if none; in the arena of the function, like extents */
	/* names of symbolic extents, NULL for others; NULL if there are none */
	const char **extents;
};

/* A parameter from mpkr_bind_params, on the device where the function wants it. */
struct mpk_run_bound {
	struct mpk_span name;
	struct mpk_value value; /* owned */
};

struct mpkr_function {
	struct mpkr_model *model;
	const char *name; /* name by which it was found */
	struct mpk_run_session *session;
	struct mpk_function *function;
	const struct mpk_function_info
		*kernel; /* parameters of a kernel with fixed extents; NULL if it is none */
	struct mpk_dldevice where; /* device of its tensors, unless the signature says otherwise */
	struct mpk_arena arena;
	const struct mpk_type **open; /* types of the inputs that a call passes, in order */
	size_t open_count;
	/* inputs that a call passes, and outputs, with tuples taken apart */
	struct mpk_run_leaf *inputs, *outputs;
	size_t input_count, output_count;
	struct mpk_run_bound *bound;
	size_t bound_count;
	uint8_t *expected; /* enum mpkr_kind for each input */
	size_t expected_count;
};

/* mpk_run_count_leaves - the number of inputs as which a type counts */
size_t mpk_run_count_leaves(const struct mpk_type *type);

/* mpk_run_function_is_model - whether the function has a signature and does not write to its
 * arguments */
static inline bool mpk_run_function_is_model(const struct mpkr_function *f)
{
	return f->function->signature != NULL;
}

/* mpk_run_set_device - set the device of functions that are found from now on
 * @is_guess  the device was guessed, not chosen: a model may know better
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_run_set_device(struct mpkr_model *model, struct mpk_dldevice where, bool is_guess,
				 struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_run_look_up - find a function by name, on the device of the model; the caller holds the
 * model's lock
 * Returns  MPK_OK, one reference in *out; as mpkr_find */
enum mpk_code mpk_run_look_up(struct mpkr_model *model, const char *name, struct mpk_function **out,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_run_bind_late - give executables the constants that the library leaves to files; call it
 * before the first function is looked up
 * Returns  MPK_OK; as mpk_relay_bind_library */
enum mpk_code mpk_run_bind_late(struct mpkr_model *model, const struct mpk_run_params *params,
				struct mpk_error *err) MPK_MUST_CHECK;

/* The names in a file of parameters. Zero-initialise with file and arena; free with
 * mpk_strmap_fini(&finder->exported). */
struct mpk_run_finder {
	struct mpk_param_file *file;
	struct mpk_arena *arena;
	struct mpk_strmap
		exported; /* maps identifiers of tensors to indexes; filled on first use */
	/* for each tensor: another one has the same identifier; NULL if not filled */
	bool *is_ambiguous;
	bool failed; /* memory is out */
};

/* mpk_run_find_param - find a tensor by its name, or by the name that PyTorch's exporter makes of
 * it */
bool mpk_run_find_param(struct mpk_run_finder *f, struct mpk_span name, size_t *index);

/* mpk_run_fits_type - whether a tensor of a file fits an input's type; unknown properties count as
 * fitting */
bool mpk_run_fits_type(const struct mpk_type *t, const struct mpk_param_entry *p);

/* A tensor in a file. */
struct mpk_run_stored {
	struct mpk_param_file *file;
	size_t index;
};

/* The tensors for an input in the files of a model: one tensor, or those of a tuple. */
struct mpk_run_match {
	const struct mpk_param *input;
	/* index of the input; SIZE_MAX: a parameter that the model's own file has too */
	size_t place;
	const struct mpk_run_stored *at;
	size_t count; /* 1 unless the input is a tuple */
};

/* mpk_run_match_params - match the tensors of the files to the inputs of a function, as
 * mpkr_bind_weights describes
 * @params  files in reverse order of binding
 * @arena   receives the matches
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_run_match_params(const struct mpk_run_params *params,
				   const struct mpk_signature *s, struct mpk_arena *arena,
				   struct mpk_run_match **out, size_t *count,
				   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_run_send_param - copy a tensor of a file to the device of an input with that type
 * @out     zeroed; owned
 * Returns  MPK_OK; as mpk_param_file_tensor and mpk_devices_send */
enum mpk_code mpk_run_send_param(const struct mpkr_function *f, const struct mpk_type *type,
				 struct mpk_param_file *file, size_t index, struct mpk_value *out,
				 struct mpk_error *err) MPK_MUST_CHECK;

/* The tensors for an input in one file: one tensor, or those of a tuple. */
struct mpk_run_choice {
	const struct mpk_param *input;
	const size_t *indices; /* indexes in the file */
	size_t count;          /* 1 unless the input is a tuple */
};

/* mpk_run_choose - choose the tensors of given->params that a call needs, as mpk_run_find describes
 * @m       signature of the function
 * @arena   receives the choices
 * Returns  MPK_OK; MPK_E_USAGE as mpk_run_find; MPK_E_NOMEM */
enum mpk_code mpk_run_choose(const struct mpk_run_given *given, const struct mpk_signature *m,
			     struct mpk_arena *arena, const struct mpk_run_choice **out,
			     size_t *count, struct mpk_error *err) MPK_MUST_CHECK;

/* Fills f->bound in a way other than from mpkr_bind_params; a pointer, so that only programs that
 * call it link it. */
struct mpk_run_binding {
	enum mpk_code (*bind)(struct mpkr_function *f, const struct mpk_run_given *given,
			      struct mpk_error *err);
	const struct mpk_run_given *given;
};

/* mpk_run_function_create - make the caller's handle of a function that was looked up
 * @name    name by which it was found; copied
 * @found   taken over, also on failure; info is NULL except for kernels with fixed extents
 * @session receives one more reference
 * @binding parameters for one call; NULL: those of mpkr_bind_params
 * Returns  MPK_OK; MPK_E_NOMEM; errors of reading and placing parameters */
enum mpk_code mpk_run_function_create(struct mpkr_model *model, struct mpk_run_session *session,
				      const char *name, const struct mpk_kernel_found *found,
				      const struct mpk_run_binding *binding,
				      struct mpkr_function **out,
				      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_run_kind - the kind of input i; MPKR_KIND_ANY if unknown */
enum mpkr_kind mpk_run_kind(const struct mpkr_function *f, size_t i);

/* --- calls ----------------------------------------------------------------------------------- */

/* An argument of a call in progress. */
struct mpk_run_arg {
	const struct mpk_dltensor *from; /* the caller's tensor; NULL if "none" was passed */
	struct mpk_value value;          /* owned */
	bool is_copy;                    /* value is a tensor whose memory is not the caller's */
};

/* The tensors of a result, with tuples taken apart, on any device. */
struct mpk_run_tensors {
	struct mpk_tensor **items; /* one reference to each */
	size_t count, cap;
};

/* A call in progress; its session is locked. Zero-initialise. */
struct mpk_run_call {
	struct mpkr_function *f;
	struct mpk_run_arg *args; /* as the caller passed them, with tuples taken apart */
	size_t arg_count;
	/* first of passed inputs, then of bound parameters; tuples are owned */
	struct mpk_value *values;
	struct mpk_span *names; /* name of each value; NULL if none has a name */
	size_t value_count;
	struct mpk_value result;
	bool keeps_order; /* as in mpk_run_begin */
	struct mpk_run_tensors tensors;
	struct mpk_run_arg few_args[8]; /* avoids an allocation for most functions */
	struct mpk_value few_values[8];
};

/* The arguments of a caller, in order. */
struct mpk_run_inputs {
	const struct mpkr_tensor *const *tensors; /* count elements; NULL: use args */
	const struct mpkr_arg *args;
	const struct mpkr_tensor *const *outs; /* tensors that the function writes to */
	size_t count, out_count;
};

/* mpk_run_call_begin - convert inputs to values on the devices where the function wants them; also
 * outputs, unless the function is a model
 * Returns  MPK_OK; MPK_E_USAGE; MPK_E_DEVICE; MPK_E_UNSUPPORTED; MPK_E_NOMEM. The caller frees c in
 *          every case */
enum mpk_code mpk_run_call_begin(struct mpk_run_call *c, struct mpkr_function *f,
				 const struct mpk_run_inputs *in,
				 struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_run_place_plain - convert a number, shape or text to a value of the given kind
 * @t       checked before
 * Returns  as mpk_run_call_begin */
enum mpk_code mpk_run_place_plain(enum mpkr_kind kind, const struct mpk_dltensor *t, size_t i,
				  struct mpk_value *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_run_check_value - check that an argument with a value has no other content, and that the
 * value is from this model
 * Returns  MPK_OK; MPK_E_USAGE */
enum mpk_code mpk_run_check_value(const struct mpkr_model *model, const struct mpkr_arg *arg,
				  size_t i, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_run_call_value - as mpkr_call, but the result is not taken apart; its tensors have their own
 * memory and are compact
 * @is_sent copy the result to the device of the first input tensor; else it stays where it is
 * @stream  stream of this and later calls, for a model whose functions share one session; NULL:
 *          unchanged
 * @out     owned by the caller
 * Returns  MPK_OK; errors of mpkr_call_value */
enum mpk_code mpk_run_call_value(mpkr_function *f, const struct mpkr_arg *in, size_t n,
				 bool is_sent, const struct mpk_run_stream *stream,
				 struct mpk_value *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_run_has_addresses - whether the data pointer of a tensor on this device is an address that
 * every user of the driver in this process can use */
static inline bool mpk_run_has_addresses(struct mpk_dldevice device)
{
	return device.type == MPK_DL_CUDA || device.type == MPK_DL_ROCM;
}

/* mpk_run_check_tensor - check the consistency of a caller's tensor
 * @what    "input"; used with its number in messages
 * Returns  MPK_OK; MPK_E_USAGE */
enum mpk_code mpk_run_check_tensor(const struct mpk_dltensor *t, const char *what, size_t i,
				   struct mpk_error *err) MPK_MUST_CHECK;

/* --- watched ------------------------------------------------------------------------------------- */

/* mpk_run_operator_device - the device of an operator: that of its last tensor, which usually is a
 * result; builtins run on the host
 * @result  NULL if there is none yet
 * mpk_run_set_observers - set the current observers of the model */
struct mpk_dldevice mpk_run_operator_device(const struct mpk_operator *op,
					    const struct mpk_value *result);
enum mpkr_operator mpk_run_operator_kind(enum mpk_operator_kind kind);
void mpk_run_set_observers(struct mpkr_model *model);

/* mpk_run_profile_init - initialise the profile of a new model; nothing is measured yet */
void mpk_run_profile_init(struct mpk_run_profile *p, struct mpkr_model *model);
void mpk_run_profile_fini(struct mpk_run_profile *p);

/* mpk_run_open_operators - the number of running operators of this thread that a profile measures
 * mpk_run_close_operators - discard those above the given number: they failed */
unsigned mpk_run_open_operators(void);
void mpk_run_close_operators(unsigned count);

/* mpk_run_hand_over - copy to a caller's struct, omitting fields beyond its size
 * @room    its size, which is its first field */
void mpk_run_hand_over(void *out, size_t room, const void *from, size_t len);

/* --- functions of the application ---------------------------------------------------------------- */

/* mpk_run_call_application - implements call_application of struct mpk_runtime_options for a
 * model */
enum mpk_code mpk_run_call_application(void *application, const char *name,
				       const struct mpk_args *args, struct mpk_value *result,
				       struct mpk_error *err);

/* --- values ---------------------------------------------------------------------------------- */

enum { MPK_RUN_NEST_MAX = 64 }; /* maximum depth of tuples in a result */

struct mpkr_value {
	struct mpkr_model *model; /* held, since the memory may belong to its runtime */
	struct mpk_value value;
	/* valid only during a call that the model makes, since its tensors' memory is reused
	 * afterwards */
	bool is_lent;
};

/* mpk_run_value - make the caller's handle of a value
 * @v       taken over on success
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_run_value(struct mpkr_model *model, struct mpk_value v, struct mpkr_value **out,
			    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_run_value_is_tuple - whether a value is a tuple; false for NULL */
static inline bool mpk_run_value_is_tuple(const struct mpkr_value *v)
{
	return v && v->value.kind == MPK_VALUE_ARRAY;
}

/* mpk_run_tensors_collect - take a result apart; values that are not tensors become host tensors
 * Returns  MPK_OK; MPK_E_UNSUPPORTED: a value cannot become a tensor; MPK_E_NOMEM */
enum mpk_code mpk_run_tensors_collect(struct mpk_run_tensors *tensors, const struct mpk_value *v,
				      struct mpk_error *err) MPK_MUST_CHECK;
void mpk_run_tensors_fini(struct mpk_run_tensors *tensors);

/* mpk_run_settle - wait for work that was started on devices, except on the caller's stream
 * Returns  MPK_OK; MPK_E_RAISED (a kernel faulted); MPK_E_DEVICE */
enum mpk_code mpk_run_settle(struct mpkr_model *model, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_run_own - replace a tensor by a compact one with its own memory on the wanted device
 * @args    count arguments, whose memory it must not share
 * @home    the wanted device
 * Returns  MPK_OK; MPK_E_UNSUPPORTED; MPK_E_DEVICE; MPK_E_RAISED; MPK_E_NOMEM */
enum mpk_code mpk_run_own(struct mpkr_model *model, struct mpk_tensor **tensor,
			  const struct mpk_run_arg *args, size_t count, struct mpk_dldevice home,
			  struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_run_result - make the caller's handle of a tensor
 * @tensor  one reference is taken over on success
 * Returns  NULL if memory is out */
struct mpkr_result *mpk_run_result(struct mpkr_model *model, struct mpk_tensor *tensor);

/* --- errors ---------------------------------------------------------------------------------- */

/* mpk_run_report - convert an error to the caller's struct
 * @out     may be NULL
 * Returns  its enum mpkr_code */
int mpk_run_report(const struct mpk_error *err, struct mpkr_error *out);

/* mpk_run_misuse - report an invalid call
 * @text    what is wrong with it
 * Returns  MPKR_E_USAGE */
int mpk_run_misuse(const char *text, struct mpkr_error *out);

/* --- standalone libraries: what their code calls ---------------------------------------------- */

/* mpack writes the declarations of mpkr_... into the source of each library (pack/package/standalone.c). */

/* --- for the code of a library -------------------------------------------------------------------- */

/* Not for code that only uses the library. */
#pragma GCC visibility push(hidden)

/* A symbol of host code that is linked into the library. */
struct mpkr_symbol {
	const char *name;
	const void *address;
};

/* A function of the embedded model. */
struct mpkr_entry {
	const void *model; /* as in standalone/standalone.h; for the whole process */
	/* sorted by the bytes of their names, ended by a NULL; NULL: the embedded code must be
	 * opened from memory */
	const struct mpkr_symbol *symbols;
	const char *name; /* name for mpkr_find */
	void *function;   /* the function that was found; NULL before the first call */
	/* ZSTD_decompress, if parts of the model are compressed and zstd is linked in; else NULL */
	size_t (*decode)(void *to, size_t room, const void *frame, size_t bytes);
};

/* mpkr_enter - call the function; may be used by any thread
 * @args    count cells of 16 bytes; borrowed
 * @result  a cell, owned by the caller
 * Returns  0; -1 with the error raised, in the real libtvm_ffi.so if the process has one */
int mpkr_enter(struct mpkr_entry *entry, const void *args, int count, void *result);

/* mpkr_answer - return a text as a result */
int mpkr_answer(const char *text, void *result);

/* mpkr_raised - the last failure in this thread, "ValueError: ..."; "" if there was none */
const char *mpkr_raised(void);

/* mpkr_item - get result i of an array of results
 * @out     a cell, owned by the caller
 * Returns  0; -1 if there is none */
int mpkr_item(const void *from, unsigned long i, void *out);
int mpkr_shape(const int64_t *extents, unsigned long count, void *out);

/* mpkr_forget - free a result; its cell becomes none */
void mpkr_forget(void *result);

#pragma GCC visibility pop

#endif
