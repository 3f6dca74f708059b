/* SPDX-License-Identifier: Apache-2.0 */
/* library.h - what the files behind mpk/run.h share: models, sessions, functions
 *
 * A model is a runtime with one library in it. It is counted: its handle, its functions and every result hold
 * it, because the memory of a result may be the runtime's.
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

/* A file of parameters; the one that was bound last comes first. */
struct mpk_run_params {
	struct mpk_param_file *file;
	struct mpk_run_params *next;
	/* What becomes of them, by address: who binds none links none of it.
	 * bind_late: as mpk_run_bind_late. bind: fill f->bound; is_bound is of the inputs, all false on entry */
	enum mpk_code (*bind_late)(struct mpkr_model *model, const struct mpk_run_params *params,
				   struct mpk_error *err);
	enum mpk_code (*bind)(struct mpkr_function *f, bool *is_bound, struct mpk_error *err);
};

/* What a caller of a model sees in its list of functions; texts are in the model's arena. */
struct mpk_run_entry {
	const char *name;
	const char *signature; /* NULL: not asked for so far */
	bool is_model;         /* of an executable; else host code */
};

/* A stream of the caller's, for whose end calls do not wait. */
struct mpk_run_stream {
	bool is_set;
	void *stream;
};

/* Whom an application lets see what a model does. */
struct mpk_run_watch {
	struct mpk_observer base; /* first */
	struct mpkr_model *model;
	mpkr_watcher *watcher;
	void *context;
};

/* Times of operators, while somebody wants them. */
struct mpk_run_profile {
	struct mpk_observer base; /* first */
	struct mpkr_model *model;
	bool is_on;
	pthread_mutex_t lock; /* over what follows */
	struct mpk_arena arena;
	struct mpk_strmap index; /* kind, device and name -> row */
	struct mpkr_profile_row *rows;
	size_t count, cap;
};

/* What a model needs of who runs it; the name is in the model's arena. */
struct mpk_run_required {
	enum mpkr_requirement_kind kind;
	int32_t device_type;
	const char *name;
};

struct mpkr_model {
	atomic_uint refs;
	struct mpkr_memory host_memory, device_memory; /* as the caller said */
	pthread_mutex_t lock; /* recursive; over all below that is not constant */
	struct mpk_run_source source;
	struct mpk_runtime *runtime;
	struct mpk_library *library;      /* NULL: not loaded so far */
	struct mpk_kernel_set kernels;    /* set where one is asked for by itself */
	const struct mpk_host_code *code; /* of library */
	const struct mpk_tree *tree;      /* NULL: there is no blob */
	struct mpk_dldevice where;        /* of its tensors */
	bool is_guess;                    /* nobody named it */
	struct mpk_run_stream stream; /* of calls from now on, under the lock of their session */
	bool is_found;                /* a function of it was looked up */
	struct mpk_run_params *params;
	const struct mpk_param_file
		*late; /* of the last call's, whose late-bound constants executables have */
	struct mpk_run_session *first; /* of functions that mpkr_find gives */
	struct mpk_run_watch watch;
	struct mpk_run_profile profile;
	const char *metadata; /* in arena; NULL: not asked for so far */
	struct mpk_run_required *required;
	size_t required_count, required_cap;
	bool is_required_listed;
	struct mpk_arena arena;
	struct mpk_run_entry *entries;
	size_t entry_count, entry_cap;
	bool is_listed;
};

struct mpkr_entry;

/* mpk_run_open_carried - the model that a standalone library carries, opened at the first call; it stays open
 * @entry   one of the library's functions; borrowed for ever
 * @out     borrowed
 * Returns  MPK_OK; what mpkr_open_memory reports. One caller at a time */
enum mpk_code mpk_run_open_carried(const struct mpkr_entry *entry, struct mpkr_model **out,
				   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_run_takes - host memory that this thread takes from now on is the model's; returns whose it was, for mpk_memory_swap
 * mpk_run_lock - have the model for this thread alone, and that; mpk_run_unlock takes what it returned */
static inline struct mpk_memory *mpk_run_takes(const struct mpkr_model *model)
{
	return mpk_memory_swap(mpk_devices_memory(mpk_runtime_devices(model->runtime), true));
}
struct mpk_memory *mpk_run_lock(struct mpkr_model *model);
void mpk_run_unlock(struct mpkr_model *model, struct mpk_memory *before);

/* mpk_run_model_hold, mpk_run_model_drop - count references; at the last everything goes */
struct mpkr_model *mpk_run_model_hold(struct mpkr_model *model);
void mpk_run_model_drop(struct mpkr_model *model);

/* --- library files --------------------------------------------------------------------------- */

/* A compiled library as a file or in memory, read as far as its loader has to know it: its blob, its symbols
 * and what it imports. Nothing of it is executed. */
struct mpk_library_file;

/* mpk_library_file_open - read a file, which must not be changed while it is open
 * @prefix  of the one of several models in it that is meant; NULL: the first
 * @path    NULL: what a caller has in memory is read
 * @bytes   that, borrowed until the file is closed
 * Returns  MPK_OK; MPK_E_IO; MPK_E_LOAD: no shared library, or one for another machine; MPK_E_CORRUPT: it or
 *          its blob does not read; MPK_E_NO_BLOB: neither a blob nor functions are in it; MPK_E_NOMEM */
enum mpk_code mpk_library_file_open(const char *path, struct mpk_span bytes, const char *prefix,
				    struct mpk_library_file **out,
				    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_library_file_code - what mpk_library_open takes; borrowed, may be added to. Once that has succeeded, the file
 * is given back by what it opened, when nothing of that is left. */
struct mpk_host_code *mpk_library_file_code(struct mpk_library_file *file);

/* --- functions ------------------------------------------------------------------------------- */

/* Functions of which one runs at a time. */
struct mpk_run_session {
	atomic_uint refs;
	pthread_mutex_t lock;      /* mpk_run_enter */
	struct mpk_memory *before; /* whose memory the thread that has it took */
	struct mpk_stop stop;      /* its calls */
};

/* mpk_run_set_memory - what a caller says of a model's memory, before any is taken and the device is chosen
 * @host, @device  NULL: nothing
 * Returns  MPK_OK; MPK_E_USAGE
 * mpk_run_check_memory - whether the caller's memory does for the device that was chosen
 * Returns  MPK_OK; MPK_E_UNSUPPORTED */
enum mpk_code mpk_run_set_memory(struct mpkr_model *model, const struct mpkr_memory *on_host,
				 const struct mpkr_memory *on_device,
				 struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_run_check_memory(const struct mpkr_model *model,
				   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_run_enter - have a function's session for this thread alone, which takes memory for its model, to be given back by
 * mpk_run_leave
 * Returns  MPK_OK; MPK_E_USAGE: this thread has it, in a call from which a function of the application calls */
enum mpk_code mpk_run_enter(const struct mpkr_function *f, struct mpk_error *err) MPK_MUST_CHECK;
void mpk_run_leave(const struct mpkr_function *f);

/* An input or output as a caller passes it: what is in tuples counts by itself. */
struct mpk_run_leaf {
	const struct mpk_type *type;
	const char *name;     /* "" for none; in the arena of the function, like the next */
	const char **extents; /* names of symbolic ones, NULL for others; NULL: none is */
};

/* A parameter that mpkr_bind_params gave, where the function wants it. */
struct mpk_run_bound {
	struct mpk_span name;
	struct mpk_value value; /* owned */
};

struct mpkr_function {
	struct mpkr_model *model;
	const char *name; /* by which it was found */
	struct mpk_run_session *session;
	struct mpk_function *function;
	const struct mpk_function_info
		*kernel;           /* what a kernel with fixed extents takes; NULL: it is none */
	struct mpk_dldevice where; /* of its tensors, unless its signature says otherwise */
	struct mpk_arena arena;
	const struct mpk_type **open; /* of inputs of its signature that a call gives, in order */
	size_t open_count;
	struct mpk_run_leaf *inputs, *outputs; /* open and outputs, tuples taken apart */
	size_t input_count, output_count;
	struct mpk_run_bound *bound;
	size_t bound_count;
	uint8_t *expected; /* enum mpkr_kind, of inputs */
	size_t expected_count;
};

/* mpk_run_count_leaves - how many inputs a type counts as */
size_t mpk_run_count_leaves(const struct mpk_type *type);

/* mpk_run_function_is_model - whether the function knows what it takes, and writes to none of it */
static inline bool mpk_run_function_is_model(const struct mpkr_function *f)
{
	return f->function->signature != NULL;
}

/* mpk_run_set_device - where what is found from now on lives
 * @is_guess  nobody named it: a model may know better
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_run_set_device(struct mpkr_model *model, struct mpk_dldevice where, bool is_guess,
				 struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_run_look_up - a function by its name, on the device of the model, which is locked
 * Returns  MPK_OK, one reference in *out; as mpkr_find */
enum mpk_code mpk_run_look_up(struct mpkr_model *model, const char *name, struct mpk_function **out,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_run_bind_late - give executables the constants that the library leaves to files; before the first function is
 * looked up
 * Returns  MPK_OK; as mpk_relay_bind_library */
enum mpk_code mpk_run_bind_late(struct mpkr_model *model, const struct mpk_run_params *params,
				struct mpk_error *err) MPK_MUST_CHECK;

/* Names in a file of parameters. Zero-initialise with file and arena; mpk_strmap_fini(&finder->exported). */
struct mpk_run_finder {
	struct mpk_param_file *file;
	struct mpk_arena *arena;
	struct mpk_strmap
		exported;   /* identifiers of tensors -> index; filled when they are needed */
	bool *is_ambiguous; /* of each tensor: another one has its identifier; NULL: not filled */
	bool failed;        /* memory is out */
};

/* mpk_run_find_param - a tensor by its name, or by the name that PyTorch's exporter makes of its */
bool mpk_run_find_param(struct mpk_run_finder *f, struct mpk_span name, size_t *index);

/* mpk_run_fits_type - whether a tensor of a file may be an input of that type; what cannot be known may be */
bool mpk_run_fits_type(const struct mpk_type *t, const struct mpk_param_entry *p);

/* A tensor in a file. */
struct mpk_run_stored {
	struct mpk_param_file *file;
	size_t index;
};

/* What the files of a model have for an input: a tensor, or those of a tuple. */
struct mpk_run_match {
	const struct mpk_param *input;
	size_t place; /* among the inputs; SIZE_MAX: a parameter that the model's file has, too */
	const struct mpk_run_stored *at;
	size_t count; /* 1 unless it is a tuple */
};

/* mpk_run_match_params - which tensors of which files a function is given, as mpkr_bind_weights says
 * @params  the file that was bound last comes first
 * @arena   receives the matches
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_run_match_params(const struct mpk_run_params *params,
				   const struct mpk_signature *s, struct mpk_arena *arena,
				   struct mpk_run_match **out, size_t *count,
				   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_run_send_param - a tensor of a file where an input of that type is wanted
 * @out     zeroed; owned
 * Returns  MPK_OK; as mpk_param_file_tensor and mpk_devices_send */
enum mpk_code mpk_run_send_param(const struct mpkr_function *f, const struct mpk_type *type,
				 struct mpk_param_file *file, size_t index, struct mpk_value *out,
				 struct mpk_error *err) MPK_MUST_CHECK;

/* What a file has for an input: a tensor, or those of a tuple. */
struct mpk_run_choice {
	const struct mpk_param *input;
	const size_t *indices; /* in the file */
	size_t count;          /* 1 unless it is a tuple */
};

/* mpk_run_choose - which tensors of given->params a call needs, as mpk_run_find says
 * @m       of the function
 * @arena   receives the choices
 * Returns  MPK_OK; MPK_E_USAGE as mpk_run_find; MPK_E_NOMEM */
enum mpk_code mpk_run_choose(const struct mpk_run_given *given, const struct mpk_signature *m,
			     struct mpk_arena *arena, const struct mpk_run_choice **out,
			     size_t *count, struct mpk_error *err) MPK_MUST_CHECK;

/* How f->bound is filled where not by what mpkr_bind_params gave: an application links it only where it calls it. */
struct mpk_run_binding {
	enum mpk_code (*bind)(struct mpkr_function *f, const struct mpk_run_given *given,
			      struct mpk_error *err);
	const struct mpk_run_given *given;
};

/* mpk_run_function_create - what a caller holds of a function that was looked up
 * @name    by which it was found; copied
 * @found   taken over, also on failure; info is NULL for all but kernels with fixed extents
 * @session one more reference is taken
 * @binding parameters for one call; NULL: those that mpkr_bind_params gave
 * Returns  MPK_OK; MPK_E_NOMEM; what reading and placing parameters gave */
enum mpk_code mpk_run_function_create(struct mpkr_model *model, struct mpk_run_session *session,
				      const char *name, const struct mpk_kernel_found *found,
				      const struct mpk_run_binding *binding,
				      struct mpkr_function **out,
				      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_run_kind - what input i is; MPKR_KIND_ANY where nobody says */
enum mpkr_kind mpk_run_kind(const struct mpkr_function *f, size_t i);

/* --- calls ----------------------------------------------------------------------------------- */

/* An argument of a call under way. */
struct mpk_run_arg {
	const struct mpk_dltensor *from; /* the caller's; NULL: "none" was passed */
	struct mpk_value value;          /* owned */
	bool is_copy;                    /* value is a tensor with other memory than the caller's */
};

/* The tensors of a result, tuples taken apart, wherever they are. */
struct mpk_run_tensors {
	struct mpk_tensor **items; /* one reference each */
	size_t count, cap;
};

/* A call under way; the session is locked. Zero-initialise. */
struct mpk_run_call {
	struct mpkr_function *f;
	struct mpk_run_arg *args; /* as the caller passed them: tuples taken apart */
	size_t arg_count;
	struct mpk_value *values; /* of open inputs, then of bound parameters; tuples are owned */
	struct mpk_span *names;   /* of values; NULL: none has a name */
	size_t value_count;
	struct mpk_value result;
	bool keeps_order; /* as of mpk_run_begin */
	struct mpk_run_tensors tensors;
	struct mpk_run_arg few_args[8]; /* most functions need no allocation */
	struct mpk_value few_values[8];
};

/* What a caller passes, one after the other. */
struct mpk_run_inputs {
	const struct mpkr_tensor *const *tensors; /* count; NULL: args */
	const struct mpkr_arg *args;
	const struct mpkr_tensor *const *outs; /* that it writes to */
	size_t count, out_count;
};

/* mpk_run_call_begin - inputs as values, where the function wants them; outputs, too, of one that is no model
 * Returns  MPK_OK; MPK_E_USAGE; MPK_E_DEVICE; MPK_E_UNSUPPORTED; MPK_E_NOMEM. The caller gives c back in every case */
enum mpk_code mpk_run_call_begin(struct mpk_run_call *c, struct mpkr_function *f,
				 const struct mpk_run_inputs *in,
				 struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_run_place_plain - a number, shape or text as a value, as kind says
 * @t       checked
 * Returns  as mpk_run_call_begin */
enum mpk_code mpk_run_place_plain(enum mpkr_kind kind, const struct mpk_dltensor *t, size_t i,
				  struct mpk_value *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_run_check_value - whether an argument that is a value is nothing else, and of this model
 * Returns  MPK_OK; MPK_E_USAGE */
enum mpk_code mpk_run_check_value(const struct mpkr_model *model, const struct mpkr_arg *arg,
				  size_t i, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_run_call_value - as mpkr_call, with a result as the function gives it, whose tensors are own and compact
 * @is_sent they go where the first tensor among the inputs is; else they stay where they are
 * @stream  of this call and those after it, of a model all of whose functions are in one session; NULL: as before
 * @out     owned by the caller
 * Returns  MPK_OK; what mpkr_call_value reports */
enum mpk_code mpk_run_call_value(mpkr_function *f, const struct mpkr_arg *in, size_t n,
				 bool is_sent, const struct mpk_run_stream *stream,
				 struct mpk_value *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_run_has_addresses - whether a tensor's data on such a device is an address, of memory that every user of the
 * driver in this process sees */
static inline bool mpk_run_has_addresses(struct mpk_dldevice device)
{
	return device.type == MPK_DL_CUDA || device.type == MPK_DL_ROCM;
}

/* mpk_run_check_tensor - whether a tensor of a caller holds together
 * @what    "input", with its number for messages
 * Returns  MPK_OK; MPK_E_USAGE */
enum mpk_code mpk_run_check_tensor(const struct mpk_dltensor *t, const char *what, size_t i,
				   struct mpk_error *err) MPK_MUST_CHECK;

/* --- watched ------------------------------------------------------------------------------------- */

/* mpk_run_operator_device - where it works: where the last of its tensors is, which is a result as a rule; builtins on the
 * host
 * @result  NULL: there is none so far
 * mpk_run_set_observers - those that the model has by now */
struct mpk_dldevice mpk_run_operator_device(const struct mpk_operator *op,
					    const struct mpk_value *result);
enum mpkr_operator mpk_run_operator_kind(enum mpk_operator_kind kind);
void mpk_run_set_observers(struct mpkr_model *model);

/* mpk_run_profile_init - of a model that is being made; nothing is measured */
void mpk_run_profile_init(struct mpk_run_profile *p, struct mpkr_model *model);
void mpk_run_profile_fini(struct mpk_run_profile *p);

/* mpk_run_open_operators - how many operators of this thread have begun that a profile sees
 * mpk_run_close_operators - those that are more than there were: they failed */
unsigned mpk_run_open_operators(void);
void mpk_run_close_operators(unsigned count);

/* mpk_run_hand_over - fill a caller's struct; fields that it does not have are left
 * @room    its size, which is its first field */
void mpk_run_hand_over(void *out, size_t room, const void *from, size_t len);

/* --- functions of the application ---------------------------------------------------------------- */

/* mpk_run_call_application - as call_application of struct mpk_runtime_options, of a model */
enum mpk_code mpk_run_call_application(void *application, const char *name,
				       const struct mpk_args *args, struct mpk_value *result,
				       struct mpk_error *err);

/* --- values ---------------------------------------------------------------------------------- */

enum { MPK_RUN_NEST_MAX = 64 }; /* tuples within tuples of a result */

struct mpkr_value {
	struct mpkr_model *model; /* its memory may be the runtime's */
	struct mpk_value value;
	bool is_lent; /* for the time of a call that a model makes, which changes the memory of its tensors */
};

/* mpk_run_value - a value as a caller has it
 * @v       taken over on success
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_run_value(struct mpkr_model *model, struct mpk_value v, struct mpkr_value **out,
			    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_run_value_is_tuple - false for NULL */
static inline bool mpk_run_value_is_tuple(const struct mpkr_value *v)
{
	return v && v->value.kind == MPK_VALUE_ARRAY;
}

/* mpk_run_tensors_collect - take a result apart; what is no tensor becomes one in host memory
 * Returns  MPK_OK; MPK_E_UNSUPPORTED: something that is none; MPK_E_NOMEM */
enum mpk_code mpk_run_tensors_collect(struct mpk_run_tensors *tensors, const struct mpk_value *v,
				      struct mpk_error *err) MPK_MUST_CHECK;
void mpk_run_tensors_fini(struct mpk_run_tensors *tensors);

/* mpk_run_settle - wait for what was started on devices, unless it is on the caller's stream
 * Returns  MPK_OK; MPK_E_RAISED (a kernel faulted); MPK_E_DEVICE */
enum mpk_code mpk_run_settle(struct mpkr_model *model, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_run_own - replace a tensor by one with memory of its own, compact, where it is wanted
 * @args    count arguments, whose memory is not its own
 * @home    where it is wanted
 * Returns  MPK_OK; MPK_E_UNSUPPORTED; MPK_E_DEVICE; MPK_E_RAISED; MPK_E_NOMEM */
enum mpk_code mpk_run_own(struct mpkr_model *model, struct mpk_tensor **tensor,
			  const struct mpk_run_arg *args, size_t count, struct mpk_dldevice home,
			  struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_run_result - a tensor as a caller has it
 * @tensor  one reference is taken over on success
 * Returns  NULL when memory is out */
struct mpkr_result *mpk_run_result(struct mpkr_model *model, struct mpk_tensor *tensor);

/* --- errors ---------------------------------------------------------------------------------- */

/* mpk_run_report - an error as a caller sees it
 * @out     may be NULL
 * Returns  its enum mpkr_code */
int mpk_run_report(const struct mpk_error *err, struct mpkr_error *out);

/* mpk_run_misuse - the same of a call that is none
 * @text    what is wrong with it
 * Returns  MPKR_E_USAGE */
int mpk_run_misuse(const char *text, struct mpkr_error *out);

/* --- standalone libraries: what their code calls ---------------------------------------------- */

/* mpack writes the declarations of mpkr_... into the source of each library (pack/package/standalone.c). */

/* --- for the code of a library -------------------------------------------------------------------- */

/* Not for whoever takes the library as it is. */
#pragma GCC visibility push(hidden)

/* A symbol of host code that is linked into the library. */
struct mpkr_symbol {
	const char *name;
	const void *address;
};

/* A function of the carried model. */
struct mpkr_entry {
	const void *model; /* standalone/standalone.h; for the whole process */
	/* ascending by the bytes of their names, ended by a NULL; NULL: the code is carried, to be opened from memory */
	const struct mpkr_symbol *symbols;
	const char *name; /* as mpkr_find takes it */
	void *function;   /* what was found; NULL at first */
	/* ZSTD_decompress, where parts of the model are packed and zstd is linked in; NULL */
	size_t (*decode)(void *to, size_t room, const void *frame, size_t bytes);
};

/* mpkr_enter - call it; any thread
 * @args    count cells of 16 bytes; borrowed
 * @result  a cell, owned by the caller
 * Returns  0; -1 with the error raised, in the real libtvm_ffi.so where one is in the process */
int mpkr_enter(struct mpkr_entry *entry, const void *args, int count, void *result);

/* mpkr_answer - a text as a result */
int mpkr_answer(const char *text, void *result);

/* mpkr_raised - what failed last in this thread, "ValueError: ..."; "" when nothing has */
const char *mpkr_raised(void);

/* mpkr_item - result i of an array of results
 * @out     a cell, owned by the caller
 * Returns  0; -1: there is none */
int mpkr_item(const void *from, unsigned long i, void *out);
int mpkr_shape(const int64_t *extents, unsigned long count, void *out);

/* mpkr_forget - give a result back; its cell is none then */
void mpkr_forget(void *result);

#pragma GCC visibility pop

#endif
