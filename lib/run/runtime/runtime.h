/* SPDX-License-Identifier: Apache-2.0 */
/* runtime.h - what the libraries of one program share: devices, global functions, loaders
 *
 * Several runtimes may live in a process, each with libraries of its own. A runtime must
 * outlive all that was loaded into it.
 *
 * What is left in the process: threads of parallel loops, which wait for the next one, and scratch
 * memory that each thread keeps. The last runtime that is destroyed takes all of it along. A shared
 * object that has this code in it may be closed at any time when none of its functions is being
 * called, also with threads that have called it; one of them must not be ending just then.
 *
 * A child of fork may go on with runtimes and what was loaded into them on the CPU, as far as no other
 * thread was using the same model at that moment. It has none of the threads, and makes its own.
 * Other devices do not work in a child, if the parent had opened them: that is a rule of their drivers.
 * A task of a parallel loop that forks can only start another program there.
 */
#ifndef MPK_RUNTIME_RUNTIME_H
#define MPK_RUNTIME_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "blob/blob.h"
#include "value/function.h"

struct mpk_devices;
struct mpk_host;
struct mpk_node_module;
struct mpk_observer;
struct mpk_payload_reader;
struct mpk_runtime;
struct mpk_signature;

/* What the C and C++ code of tvm-ffi is in, of every release. */
#define MPK_TVM_FFI_SONAME "libtvm_ffi.so"

/* Where the real libtvm_ffi.so is looked for when a library needs it. */
struct mpk_tvm_ffi_search {
	const char *explicit_path; /* named by the user: only this; NULL: not named */
	const char *const *paths;  /* files to try after the linker's own search */
	size_t path_count;
};

struct mpk_runtime_options {
	struct mpk_tvm_ffi_search tvm_ffi;
	/* descriptor of an empty file in memory, for the first copy of a library where the process may make
	 * none; it is taken and -1 written. NULL: it may */
	int *spare_file;
	bool writes_perf_map;  /* of copies of libraries: MPKR_PERF_MAP of mpk/run.h */
	const char *cuda_home; /* a CUDA toolkit, for sources that are compiled; NULL: none */
	unsigned threads;      /* of parallel loops; 0: one for each core that this process
				* may use */
	void (*loaded)(void *user,
		       uint64_t bytes); /* hears of content that was loaded; NULL: nobody */
	void *loaded_user;
	void (*log)(void *user, const char *text); /* hears what a model prints; NULL: nobody */
	void *log_user;
	/* calls a function of the application (registry.h), which code finds before those of the runtime; NULL: it has
	 * none */
	enum mpk_code (*call_application)(void *application, const char *name,
					  const struct mpk_args *args, struct mpk_value *result,
					  struct mpk_error *err);
	void *application; /* owner of such functions */
	/* runs task(argument, i) for each i below count, in any threads, and returns when all have ended; NULL: threads
	 * of loops are those of parallel.h */
	void (*parallel_for)(void *user, size_t count, void (*task)(void *argument, size_t i),
			     void *argument);
	void *parallel_user;
};

/* How nodes of some kinds come to life; one row a kind of loader, static storage. */
struct mpk_loader {
	/* whether this loader is for nodes of that kind */
	bool (*accepts)(struct mpk_span kind);

	/* What reads their payloads (payload.h); NULL where the loader reads them by itself. */
	const struct mpk_payload_reader *payload;

	/* Whether the payload of a node has a function that a caller means by this name: it then
	 * goes before host code and kernels of the name. The node need not be open.
	 * Returns  MPK_OK, also for a payload that nobody can read; MPK_E_NOMEM.
	 * NULL: the functions of these nodes go before nothing */
	enum mpk_code (*has)(struct mpk_node_module *node, const char *name, bool *out,
			     struct mpk_error *err);

	/* Reads the payload and makes the module ready; sets node->state. Called at most once
	 * a node, before its first find, never for nodes that are not needed.
	 * Returns  MPK_OK; MPK_E_DEVICE, MPK_E_LOAD, MPK_E_CORRUPT, ... */
	enum mpk_code (*open)(struct mpk_node_module *node, struct mpk_error *err);

	/* The node's own function of that name, one reference in *out, or NULL in *out. */
	enum mpk_code (*find)(struct mpk_node_module *node, const char *name,
			      struct mpk_function **out, struct mpk_error *err);

	/* The name of function number i, false after the last; for suggestions. NULL: it has
	 * none that a user would name. */
	bool (*name_at)(struct mpk_node_module *node, size_t i, struct mpk_span *out);

	/* What function number i takes, in the order of name_at; NULL in *out after the last, or where it is
	 * not known. No device is opened for it. Borrowed from the node.
	 * Returns  MPK_OK; what makes the module ready failed with. NULL: nobody asks */
	enum mpk_code (*signature_at)(struct mpk_node_module *node, size_t i,
				      const struct mpk_signature **out, struct mpk_error *err);

	/* Undoes open; called when open succeeded and the module's last reference is gone. */
	void (*close)(struct mpk_node_module *node);
};

/* A function that module code may look up by name wherever it runs; static storage. */
struct mpk_global {
	const char *name;
	/* As mpk_function.call; the runtime is that of the code that calls. */
	enum mpk_code (*call)(struct mpk_runtime *runtime, const struct mpk_args *args,
			      struct mpk_value *result, struct mpk_error *err);
};

/* mpk_runtime_create - with the loader of device code and the global functions that every runtime
 * has (create.c); no device is opened yet
 * @options borrowed, with what it points to, until destroy
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_runtime_create(const struct mpk_runtime_options *options,
				 struct mpk_runtime **out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_runtime_create_empty - the same without a loader and without functions */
enum mpk_code mpk_runtime_create_empty(const struct mpk_runtime_options *options,
				       struct mpk_runtime **out,
				       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_runtime_destroy - close devices; all modules and tensors must be gone. NULL is fine */
void mpk_runtime_destroy(struct mpk_runtime *runtime);

/* mpk_runtime_options, mpk_runtime_devices - what it was made with, and the devices it has opened:
 * borrowed */
const struct mpk_runtime_options *mpk_runtime_options(const struct mpk_runtime *runtime);
struct mpk_devices *mpk_runtime_devices(struct mpk_runtime *runtime);

/* mpk_runtime_add_loader - let nodes that it accepts come to life by loader; before any library is
 * opened. The first that accepts a kind has it.
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_runtime_add_loader(struct mpk_runtime *runtime, const struct mpk_loader *loader,
				     struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_runtime_find_loader - the loader for a kind, or NULL */
const struct mpk_loader *mpk_runtime_find_loader(const struct mpk_runtime *runtime,
						 struct mpk_span kind);

enum { MPK_RUNTIME_DEVICES_MAX = 8 };

/* mpk_runtime_set_devices - where models that are looked up from now on live: the first is for
 * tensors, the others are those that the model names by their number
 * @are_guessed  they were not named but guessed: a model may then know better
 * Returns  MPK_OK; MPK_E_RANGE: more than MPK_RUNTIME_DEVICES_MAX */
enum mpk_code mpk_runtime_set_devices(struct mpk_runtime *runtime,
				      const struct mpk_dldevice *devices, size_t count,
				      bool are_guessed, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_runtime_get_devices - those devices, at least one; count in *count; borrowed
 * @are_guessed  as it was said last, at first false; NULL: not asked */
const struct mpk_dldevice *mpk_runtime_get_devices(const struct mpk_runtime *runtime, size_t *count,
						   bool *are_guessed);

/* mpk_runtime_set_observers - who sees what models do from the next call on (observer.h)
 * @first   borrowed with those after it until others are set; NULL: nobody
 * mpk_runtime_observers - the first of them, or NULL */
void mpk_runtime_set_observers(struct mpk_runtime *runtime, struct mpk_observer *first);
struct mpk_observer *mpk_runtime_observers(const struct mpk_runtime *runtime);

/* mpk_runtime_loaded - report content that was loaded: constants of models, parameters */
void mpk_runtime_loaded(const struct mpk_runtime *runtime, uint64_t bytes);

/* mpk_runtime_add_function - a global function by its own name; a reference is taken over
 * Returns  MPK_OK; MPK_E_NOMEM, the reference is dropped */
enum mpk_code mpk_runtime_add_function(struct mpk_runtime *runtime, struct mpk_function *f,
				       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_runtime_add_globals - global functions; a later one of the same name wins
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_runtime_add_globals(struct mpk_runtime *runtime, const struct mpk_global *rows,
				      size_t count, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_runtime_add_provided - one of another library, which goes before all others; '_' in its name stands for '.', too
 * Returns  as mpk_runtime_add_function */
enum mpk_code mpk_runtime_add_provided(struct mpk_runtime *runtime, struct mpk_function *f,
				       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_runtime_find_global - one that was added, or one of the application
 * @out     borrowed until destroy; NULL when nobody has it
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_runtime_find_global(struct mpk_runtime *runtime, const char *name,
				      struct mpk_function **out,
				      struct mpk_error *err) MPK_MUST_CHECK;

/* --- for whom the code of this thread runs ---
 *
 * Most functions that module code imports get no argument that says whose code called them
 * (memory for a workspace, the layout of an object, a parallel loop). The thread knows: whoever
 * calls module code says so first and takes it back afterwards. Nothing here is shared between
 * threads, so two libraries of one process do not meet.
 */

struct mpk_context {
	struct mpk_runtime *runtime; /* NULL: a thread that the module started itself */
	enum mpk_convention convention;
	struct mpk_host *loading; /* whose constructors run; else NULL */
};

/* mpk_context_get - this thread's; the current convention and nothing else when nobody said */
struct mpk_context mpk_context_get(void);

/* mpk_context_convention - its convention alone, which every call of a compiled function asks for */
enum mpk_convention mpk_context_convention(void);

/* mpk_context_swap - set this thread's; returns the one before, to be set again afterwards */
struct mpk_context mpk_context_swap(struct mpk_context context);

#endif
