/* SPDX-License-Identifier: Apache-2.0 */
/* runtime.c - what the libraries of one program share: global functions, loaders, devices; and what all runtimes share
 *
 * A runtime is a value and not the process: two of them in one process do not see each other. What
 * module code asks without saying who it is (struct mpk_context) is answered by the runtime that its thread
 * has entered, which is the only state of a thread here.
 *
 * This code may be in a shared object that its process closes while it has threads, and forks when
 * other threads are in it. Handlers of fork are registered for the object that they are in, so glibc
 * forgets them when it is closed; musl closes nothing.
 *
 * Before a fork every lock is taken that is held for moments, and the child goes on from there. Locks
 * that are held while others' code runs, which may itself fork, are not waited for: in a child they
 * are free, and what they guard is as its threads left it.
 */
#include "runtime/runtime.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/lock.h"
#include "base/vec.h"
#include "io/mapping.h"
#include "runtime/devices.h"
#include "runtime/internal/runtime.h"
#include "runtime/library.h"
#include "runtime/observer.h"
#include "runtime/registry.h"
#include "runtime/stop.h"

/* --- the context of a thread ----------------------------------------------------------------- */

static _Thread_local struct mpk_context thread_context = { .convention = MPK_CONV_FFI };

struct mpk_context mpk_context_get(void)
{
	return thread_context;
}

enum mpk_convention mpk_context_convention(void)
{
	return thread_context.convention;
}

struct mpk_context mpk_context_swap(struct mpk_context context)
{
	struct mpk_context before = thread_context;

	thread_context = context;
	return before;
}

/* --- what stops a thread ----------------------------------------------------------------------- */

static _Thread_local struct mpk_stop *thread_stop;

struct mpk_stop *mpk_stop_get(void)
{
	return thread_stop;
}

struct mpk_stop *mpk_stop_swap(struct mpk_stop *s)
{
	struct mpk_stop *before = thread_stop;

	thread_stop = s;
	return before;
}

enum mpk_code mpk_stop_fail(const struct mpk_stop *s, struct mpk_error *err)
{
	return mpk_fail(err, MPK_E_TIMEOUT, "%s",
			atomic_load(&s->is_asked) ? "the call was stopped"
						  : "the call was stopped at its deadline");
}

static void copy_name(char *out, size_t room, struct mpk_span name)
{
	size_t len = name.len < room ? name.len : room - 1;

	if (len)
		memcpy(out, name.data, len);
	out[len] = '\0';
}

/* Tasks of a loop may fail at the same time. */
void mpk_failed_note(struct mpk_stop *s, struct mpk_span name, struct mpk_span function,
		     int64_t instruction, struct mpk_span before)
{
	if (!s || atomic_exchange(&s->failed_at.is_noted, true))
		return;
	copy_name(s->failed_at.name, sizeof s->failed_at.name, name);
	copy_name(s->failed_at.function, sizeof s->failed_at.function, function);
	copy_name(s->failed_at.before, sizeof s->failed_at.before, before);
	s->failed_at.instruction = instruction;
}

void mpk_failed_note_function(struct mpk_stop *s, struct mpk_span function)
{
	if (s && atomic_load(&s->failed_at.is_noted) && !s->failed_at.function[0])
		copy_name(s->failed_at.function, sizeof s->failed_at.function, function);
}

struct mpk_runtime {
	struct mpk_runtime_options options;
	struct mpk_devices *devices;
	struct mpk_dldevice model_devices[MPK_RUNTIME_DEVICES_MAX];
	size_t model_device_count;
	bool devices_are_guessed;
	struct mpk_observer *observers;
	const struct mpk_loader **loaders;
	size_t loader_count, loader_cap;
	struct mpk_function **provided; /* by other libraries, the first first */
	size_t provided_count, provided_cap;
	struct mpk_function **globals; /* the latest last */
	size_t global_count, global_cap;
	pthread_mutex_t found_lock;  /* over what follows: code looks up while it runs */
	struct mpk_function **found; /* functions of the application */
	size_t found_count, found_cap;
};

/* --- global functions ----------------------------------------------------------------- */

/* A row, bound to a runtime. */
struct bound {
	struct mpk_function base;
	struct mpk_runtime *runtime;
	const struct mpk_global *row;
};

/* A row of a table does not know its runtime; the function that was made of it does. */
static enum mpk_code call_bound(struct mpk_function *self, const struct mpk_args *args,
				struct mpk_value *result, struct mpk_error *err)
{
	struct bound *b = (struct bound *)self;

	return b->row->call(b->runtime, args, result, err);
}

static void destroy_bound(struct mpk_function *self)
{
	free(self);
}

/* Takes the reference over, also on failure. */
enum mpk_code mpk_runtime_add_function(struct mpk_runtime *runtime, struct mpk_function *f,
				       struct mpk_error *err)
{
	if (!mpk_vec_reserve(&runtime->globals, &runtime->global_cap, runtime->global_count + 1,
			     sizeof runtime->globals[0])) {
		mpk_function_drop(f);
		return mpk_fail_nomem(err);
	}
	runtime->globals[runtime->global_count++] = f;
	return MPK_OK;
}

/* One function object a row, so that code can hold it like any other. */
enum mpk_code mpk_runtime_add_globals(struct mpk_runtime *runtime, const struct mpk_global *rows,
				      size_t count, struct mpk_error *err)
{
	for (size_t i = 0; i < count; i++) {
		struct bound *b = calloc(1, sizeof *b);

		MPK_TRY_ALLOC(b, err);
		b->base = (struct mpk_function){
			.refs = 1,
			.name = rows[i].name,
			.call = call_bound,
			.destroy = destroy_bound,
		};
		b->runtime = runtime;
		b->row = &rows[i];
		MPK_TRY(mpk_runtime_add_function(runtime, &b->base, err));
	}
	return MPK_OK;
}

/* --- functions of the application ------------------------------------------------------------ */

/* A name by which code calls; what is called is asked for each time. */
struct application_function {
	struct mpk_function base;
	struct mpk_runtime *runtime;
	char name[];
};

static enum mpk_code call_application(struct mpk_function *self, const struct mpk_args *args,
				      struct mpk_value *result, struct mpk_error *err)
{
	const struct application_function *f = (const struct application_function *)self;
	const struct mpk_runtime_options *options = &f->runtime->options;
	struct mpk_context before = mpk_context_get();
	enum mpk_code code =
		options->call_application(options->application, f->name, args, result, err);

	/* what it called in turn may have left another one */
	(void)mpk_context_swap(before);
	return code;
}

/* With the lock. */
static enum mpk_code add_found(struct mpk_runtime *runtime, const char *name,
			       struct mpk_function **out, struct mpk_error *err)
{
	size_t len = strlen(name);
	struct application_function *f;

	MPK_TRY_ALLOC(mpk_vec_reserve(&runtime->found, &runtime->found_cap,
				      runtime->found_count + 1, sizeof runtime->found[0]),
		      err);
	f = calloc(1, sizeof *f + len + 1);
	MPK_TRY_ALLOC(f, err);
	memcpy(f->name, name, len);
	f->base = (struct mpk_function){
		.refs = 1, .name = f->name, .call = call_application, .destroy = destroy_bound
	};
	f->runtime = runtime;
	*out = runtime->found[runtime->found_count++] = &f->base;
	return MPK_OK;
}

static enum mpk_code find_application(struct mpk_runtime *runtime, const char *name,
				      struct mpk_function **out, struct mpk_error *err)
{
	enum mpk_code code = MPK_OK;

	if (!runtime->options.call_application ||
	    !mpk_registry_has(runtime->options.application, name))
		return MPK_OK;
	(void)pthread_mutex_lock(&runtime->found_lock);
	for (size_t i = 0; i < runtime->found_count && !*out; i++)
		if (strcmp(runtime->found[i]->name, name) == 0)
			*out = runtime->found[i];
	if (!*out)
		code = add_found(runtime, name, out, err);
	(void)pthread_mutex_unlock(&runtime->found_lock);
	return code;
}

/* --- functions of other libraries ------------------------------------------------------------ */

enum mpk_code mpk_runtime_add_provided(struct mpk_runtime *runtime, struct mpk_function *f,
				       struct mpk_error *err)
{
	if (!mpk_vec_reserve(&runtime->provided, &runtime->provided_cap,
			     runtime->provided_count + 1, sizeof runtime->provided[0])) {
		mpk_function_drop(f);
		return mpk_fail_nomem(err);
	}
	runtime->provided[runtime->provided_count++] = f;
	return MPK_OK;
}

/* "my.op" is my_op in C. */
static bool is_spelled(const char *symbol, const char *name)
{
	while (*symbol && (*symbol == *name || (*symbol == '_' && *name == '.'))) {
		symbol++;
		name++;
	}
	return !*symbol && !*name;
}

/* One of the very name goes before one that is spelled like it. */
static struct mpk_function *find_provided(const struct mpk_runtime *runtime, const char *name)
{
	for (size_t i = 0; i < runtime->provided_count; i++)
		if (strcmp(runtime->provided[i]->name, name) == 0)
			return runtime->provided[i];
	for (size_t i = 0; i < runtime->provided_count; i++)
		if (is_spelled(runtime->provided[i]->name, name))
			return runtime->provided[i];
	return NULL;
}

/* From the last one on: a later function replaces one of the same name. */
enum mpk_code mpk_runtime_find_global(struct mpk_runtime *runtime, const char *name,
				      struct mpk_function **out, struct mpk_error *err)
{
	*out = NULL;
	MPK_TRY(find_application(runtime, name, out, err));
	if (!*out)
		*out = find_provided(runtime, name);
	for (size_t i = runtime->global_count; i-- > 0 && !*out;)
		if (strcmp(runtime->globals[i]->name, name) == 0)
			*out = runtime->globals[i];
	return MPK_OK;
}

/* --- loaders and devices --------------------------------------------------------------- */

/* Models number their devices; what they call device 0 is the first here. */
enum mpk_code mpk_runtime_set_devices(struct mpk_runtime *runtime,
				      const struct mpk_dldevice *devices, size_t count,
				      bool are_guessed, struct mpk_error *err)
{
	if (!count || count > MPK_RUNTIME_DEVICES_MAX)
		return mpk_fail(err, MPK_E_RANGE, "%zu devices; at least 1, at most %d", count,
				MPK_RUNTIME_DEVICES_MAX);
	memcpy(runtime->model_devices, devices, count * sizeof *devices);
	runtime->model_device_count = count;
	runtime->devices_are_guessed = are_guessed;
	return MPK_OK;
}

const struct mpk_dldevice *mpk_runtime_get_devices(const struct mpk_runtime *runtime, size_t *count,
						   bool *are_guessed)
{
	if (are_guessed)
		*are_guessed = runtime->devices_are_guessed;
	*count = runtime->model_device_count;
	return runtime->model_devices;
}

void mpk_runtime_set_observers(struct mpk_runtime *runtime, struct mpk_observer *first)
{
	runtime->observers = first;
}

struct mpk_observer *mpk_runtime_observers(const struct mpk_runtime *runtime)
{
	return runtime->observers;
}

void mpk_runtime_loaded(const struct mpk_runtime *runtime, uint64_t bytes)
{
	if (runtime->options.loaded)
		runtime->options.loaded(runtime->options.loaded_user, bytes);
}

enum mpk_code mpk_runtime_add_loader(struct mpk_runtime *runtime, const struct mpk_loader *loader,
				     struct mpk_error *err)
{
	MPK_TRY_ALLOC(mpk_vec_reserve(&runtime->loaders, &runtime->loader_cap,
				      runtime->loader_count + 1, sizeof runtime->loaders[0]),
		      err);
	runtime->loaders[runtime->loader_count++] = loader;
	return MPK_OK;
}

/* In the order in which they were added: kernels first, then executors. */
const struct mpk_loader *mpk_runtime_find_loader(const struct mpk_runtime *runtime,
						 struct mpk_span kind)
{
	for (size_t i = 0; i < runtime->loader_count; i++)
		if (runtime->loaders[i]->accepts(kind))
			return runtime->loaders[i];
	return NULL;
}

/* --- the process ----------------------------------------------------------------------------- */

static const struct mpk_process_part *const parts[] = {
	&mpk_devices_part,    &mpk_cores_part, &mpk_workers_part,
	&mpk_workspaces_part, &mpk_link_part,  &mpk_registry_part,
};

/* Held while the last runtime takes all else with it, so that the next one waits for that. */
static pthread_mutex_t runtimes_lock = PTHREAD_MUTEX_INITIALIZER;
static size_t runtime_count;
static pthread_once_t watched = PTHREAD_ONCE_INIT;

static void at_fork(enum mpk_fork_moment moment)
{
	if (moment == MPK_FORK_PREPARE)
		mpk_lock_at_fork(&runtimes_lock, moment);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(parts); i++)
		parts[i]->at_fork(moment);
	mpk_mappings_at_fork(moment);
	if (moment != MPK_FORK_PREPARE)
		mpk_lock_at_fork(&runtimes_lock, moment);
}

static void before_fork(void)
{
	at_fork(MPK_FORK_PREPARE);
}

static void after_fork(void)
{
	at_fork(MPK_FORK_PARENT);
}

static void in_child(void)
{
	at_fork(MPK_FORK_CHILD);
}

/* Without memory for it a child is on its own. */
static void watch(void)
{
	(void)pthread_atfork(before_fork, after_fork, in_child);
}

void mpk_process_watch_forks(void)
{
	(void)pthread_once(&watched, watch);
}

/* With the lock. */
static void end_parts(bool code_goes)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(parts); i++)
		if (parts[i]->end)
			parts[i]->end(!runtime_count, code_goes);
}

/* When nothing else of it is left. */
static void end_runtime(struct mpk_devices *devices)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(parts); i++)
		if (parts[i]->leave)
			parts[i]->leave(devices);
	mpk_devices_destroy(devices);
	(void)pthread_mutex_lock(&runtimes_lock);
	if (!--runtime_count)
		end_parts(false);
	(void)pthread_mutex_unlock(&runtimes_lock);
}

/* When the shared object is closed, or the program ends, where runtimes may be open and threads in
 * loops: those are left alone. */
__attribute__((destructor)) static void end_process(void)
{
	(void)pthread_mutex_lock(&runtimes_lock);
	end_parts(true);
	(void)pthread_mutex_unlock(&runtimes_lock);
}

/* --- life ------------------------------------------------------------------------------------ */

/* Functions before devices: what they hold may lie there. Threads and their memory go last, with the
 * last runtime. */
void mpk_runtime_destroy(struct mpk_runtime *runtime)
{
	if (!runtime)
		return;
	for (size_t i = 0; i < runtime->found_count; i++)
		mpk_function_drop(runtime->found[i]);
	for (size_t i = 0; i < runtime->global_count; i++)
		mpk_function_drop(runtime->globals[i]);
	free(runtime->found);
	for (size_t k = 0; k < runtime->provided_count; k++)
		mpk_function_drop(runtime->provided[k]);
	free(runtime->provided);
	free(runtime->globals);
	(void)pthread_mutex_destroy(&runtime->found_lock);
	free(runtime->loaders);
	if (runtime->devices) /* it was counted */
		end_runtime(runtime->devices);
	free(runtime);
}

/* For programs that bring their own functions, and for fuzzers: nothing but the CPU until code
 * asks. */
enum mpk_code mpk_runtime_create_empty(const struct mpk_runtime_options *options,
				       struct mpk_runtime **out, struct mpk_error *err)
{
	struct mpk_runtime *runtime = calloc(1, sizeof *runtime);

	MPK_TRY_ALLOC(runtime, err);
	runtime->options = *options;
	(void)pthread_mutex_init(&runtime->found_lock, NULL);
	runtime->model_devices[0].type = MPK_DL_CPU;
	runtime->model_device_count = 1;
	/* before a lock is taken that a fork in another thread would leave so in its child */
	mpk_process_watch_forks();
	enum mpk_code code = mpk_devices_create(options->cuda_home, &runtime->devices, err);

	if (code != MPK_OK) {
		mpk_runtime_destroy(runtime);
		return mpk_failed(code);
	}

	for (size_t i = 0; i < MPK_ARRAY_COUNT(parts); i++)
		if (parts[i]->begin)
			parts[i]->begin();
	(void)pthread_mutex_lock(&runtimes_lock);
	runtime_count++;
	(void)pthread_mutex_unlock(&runtimes_lock);

	*out = runtime;
	return MPK_OK;
}

/* Generated host code calls this before it launches kernels. */
static enum mpk_code runtime_set_device(struct mpk_runtime *runtime, const struct mpk_args *args,
					struct mpk_value *result, struct mpk_error *err)
{
	const struct mpk_value *v = args->values;

	(void)result;
	if (args->count != 2 || v[0].kind != MPK_VALUE_INT || v[1].kind != MPK_VALUE_INT)
		return mpk_fail(err, MPK_E_RAISED, "__tvm_set_device takes two integers");
	return mpk_devices_use(
		mpk_runtime_devices(runtime),
		(struct mpk_dldevice){ (int32_t)v[0].integer, (int32_t)v[1].integer }, err);
}

/* What module code looks up by name wherever it runs; devices.h has two more. */
static const struct mpk_global common_globals[] = {
	{ "__tvm_set_device", runtime_set_device },
};

enum mpk_code mpk_runtime_create(const struct mpk_runtime_options *options,
				 struct mpk_runtime **out, struct mpk_error *err)
{
	struct mpk_runtime *runtime;

	MPK_TRY(mpk_runtime_create_empty(options, &runtime, err));
	enum mpk_code code = mpk_runtime_add_globals(runtime, common_globals,
						     MPK_ARRAY_COUNT(common_globals), err);

	if (code == MPK_OK)
		code = mpk_runtime_add_globals(runtime, mpk_texture_globals, MPK_TEXTURE_GLOBALS,
					       err);
	if (code == MPK_OK)
		code = mpk_runtime_add_loader(runtime, &mpk_kernel_loader, err);
	if (code != MPK_OK) {
		mpk_runtime_destroy(runtime);
		return mpk_failed(code);
	}
	*out = runtime;
	return MPK_OK;
}

const struct mpk_runtime_options *mpk_runtime_options(const struct mpk_runtime *runtime)
{
	return &runtime->options;
}

struct mpk_devices *mpk_runtime_devices(struct mpk_runtime *runtime)
{
	return runtime->devices;
}

/* --- operators, as observers see them ---------------------------------------------------------- */

enum mpk_code mpk_operator_init(struct mpk_operator *op, size_t count, struct mpk_error *err)
{
	op->operands = calloc(count + 1, sizeof *op->operands);
	MPK_TRY_ALLOC(op->operands, err);
	op->count = count;
	return MPK_OK;
}

void mpk_operator_fini(struct mpk_operator *op)
{
	free(op->operands);
	op->operands = NULL;
	op->count = 0;
}

enum mpk_code mpk_operator_begin(struct mpk_observer *first, const struct mpk_operator *op,
				 struct mpk_error *err)
{
	for (struct mpk_observer *o = first; o; o = o->next)
		if (o->begin)
			MPK_TRY(o->begin(o, op, err));
	return MPK_OK;
}

/* Innermost first, the reverse of begin: by recursion, as the list is short and linked one way. */
enum mpk_code mpk_operator_end(struct mpk_observer *first, const struct mpk_operator *op,
			       const struct mpk_value *result, struct mpk_error *err)
{
	if (!first)
		return MPK_OK;
	MPK_TRY(mpk_operator_end(first->next, op, result, err));
	return first->end ? first->end(first, op, result, err) : MPK_OK;
}

enum mpk_code mpk_operator_control(struct mpk_observer *first, const struct mpk_operator *op,
				   struct mpk_error *err)
{
	for (struct mpk_observer *o = first; o; o = o->next)
		if (o->control)
			MPK_TRY(o->control(o, op, err));
	return MPK_OK;
}
