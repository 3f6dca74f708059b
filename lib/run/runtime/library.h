/* SPDX-License-Identifier: Apache-2.0 */
/* library.h - a compiled library, opened in this process and ready to be called: its host code, the nodes of its tree
 * as modules, its kernels as functions
 *
 * Opening executes the library's constructors; a program that does not trust them opens it in a
 * child process (session/session.c). Several libraries may be open at a time, of different
 * conventions too, and one file several times: each is then a copy of its own.
 */
#ifndef MPK_RUNTIME_LIBRARY_H
#define MPK_RUNTIME_LIBRARY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "blob/blob.h"
#include "kernels/kernels.h"
#include "runtime/runtime.h"
#include "value/function.h"
#include "value/module.h"

struct mpk_elfdyn; /* elfdyn/elfdyn.h */

/* --- the host code -------------------------------------------------------------------------------
 *
 * What is known of the file comes from the caller (struct mpk_host_code): nothing here reads
 * ELF. Everything that came out of the library holds its host code; when the last of it is
 * gone the shared object is closed. */

struct mpk_host_function {
	const char *name; /* as a caller says it */
	const char *symbol;
	bool is_entry;        /* what "main" and "__tvm_main__" mean */
	const char *alias_of; /* the function that it is another name of; NULL: it is one itself */
};

/* Where the content of tensors of the blob really lies, when it is not in it. */
struct mpk_moved {
	/* the content itself, or a description of it where it is elsewhere */
	struct mpk_span (*find)(const void *user, struct mpk_span content);
	const void *user;
};

/* What a library's file says about its code. Everything is borrowed as long as anything of the
 * library lives; `owner` is then given back to `release`. */
struct mpk_host_code {
	/* of the file, relative to the working directory, never searched for; NULL: there is an object alone */
	const char *path;
	const struct mpk_elfdyn *object; /* of the file's bytes; NULL: they are read from path */
	bool wants_copy; /* others of this process may open the same file with a loader of their own: a copy of
			  * it is opened, unless it would be large */
	enum mpk_generation gen;
	enum mpk_convention convention;
	const char *prefix; /* of a system library's symbols; "" when none */
	const struct mpk_host_function *functions;
	size_t function_count;
	const struct mpk_tree *tree; /* of its blob; NULL without one */
	struct mpk_moved moved;      /* find NULL: all of the blob is where it should be */
	/* where the code is a part of this program already: the address of a symbol, NULL where it has none of that name;
	 * NULL: the library is opened */
	void *(*symbol)(const char *name);
	/* DLPack's number of the device on which the host function of that name wants its tensors; 0:
	 * not known. NULL: all of the library's code runs on the CPU, or nobody knows */
	int32_t (*device_of)(void *user, const char *name);
	void *device_user;
	void *owner;
	void (*release)(void *owner); /* NULL: nothing is to be released */
};

/* A symbol that a system library's constructor registered; the name is the module's. */
struct mpk_registered {
	const char *name;
	void *address;
};

struct mpk_host {
	atomic_uint refs;
	struct mpk_runtime *runtime;
	struct mpk_host_code code;
	void *handle;    /* of dlopen; NULL while it is not open */
	void **ctx_slot; /* the library's context symbol, holding one of its modules */
	int copy;        /* descriptor of the copy that is open (copy.c); -1: none */
	bool stays_open; /* objects of its own C++ code may be left: it is never closed */
	struct mpk_registered *registered;
	size_t registered_count, registered_cap;
	pthread_mutex_t lock; /* recursive: over what its modules look up and make ready */
};

/* mpk_host_create - not opened yet (link.h)
 * Returns  MPK_OK, one reference in *out; MPK_E_NOMEM, nothing of code released */
enum mpk_code mpk_host_create(struct mpk_runtime *runtime, const struct mpk_host_code *code,
			      struct mpk_host **out, struct mpk_error *err) MPK_MUST_CHECK;

struct mpk_host *mpk_host_hold(struct mpk_host *host);
void mpk_host_drop(struct mpk_host *host);

/* mpk_host_context - what a thread that runs its code is to say (struct mpk_context) */
struct mpk_context mpk_host_context(const struct mpk_host *host);

/* mpk_host_register - a symbol that its constructor registers
 * Returns  false when memory is out */
bool mpk_host_register(struct mpk_host *host, const char *name, void *address);

/* mpk_host_find - a function of the code itself
 * @module  what the function belongs to; it holds it
 * Returns  MPK_OK, one reference in *out, NULL when the code has none of this name;
 *          MPK_E_NOMEM */
enum mpk_code mpk_host_find(struct mpk_host *host, struct mpk_module *module, const char *name,
			    struct mpk_function **out, struct mpk_error *err) MPK_MUST_CHECK;

/* --- the nodes of its tree as modules -------------------------------------------------------------
 *
 * Host nodes (_lib) look into the library's code; a node of another kind gets a loader,
 * which is asked only when a function is looked up in it. A node that nobody can load makes
 * no failure until something is looked up that only it could have. */

/* What module code of a node looked up; kept, because it keeps the handle. */
struct mpk_binding {
	char *name;
	struct mpk_function *function;
};

/* Marks a context that is ours, not another pointer. */
#define MPK_NODE_MAGIC UINT64_C(0x6d706b206e6f6465)

struct mpk_node_module {
	struct mpk_module base;
	uint64_t magic; /* MPK_NODE_MAGIC */
	struct mpk_host *host;
	const struct mpk_node *node;     /* NULL: a library without a blob */
	size_t index;                    /* in host->code.tree */
	const struct mpk_loader *loader; /* NULL: host code, or nobody can load the kind */
	bool is_open;
	struct mpk_error failure; /* of opening; MPK_OK: none so far */
	void *state;              /* the loader's own */
	struct mpk_binding *bindings;
	size_t binding_count, binding_cap;
};

/* mpk_node_modules - a module for each node of the library's tree, or one of its code alone
 * @root    receives the root, one reference
 * @context receives what the library's context symbol is to hold: the host node; of several the
 *          last, as TVM's own loader leaves it; the root when there is none. Borrowed
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_node_modules(struct mpk_host *host, struct mpk_module **root,
			       struct mpk_module **context, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_node_of_context - the module that module code passes as its context; NULL: none of ours. It may pass what its
 * own library left there, when another loader opened it first. */
static inline struct mpk_node_module *mpk_node_of_context(void *context)
{
	struct mpk_node_module *node = context;

	return node && node->magic == MPK_NODE_MAGIC ? node : NULL;
}

static inline bool mpk_node_is_host(const struct mpk_node_module *node)
{
	return !node->node || node->node->is_lib;
}

/* mpk_node_import - what code of a module sees under a name: depth-first its imports, then the
 * global functions of the runtime. The answer is kept and owned by the module.
 * Returns  MPK_OK; MPK_E_LOAD naming where it was looked for; what made the module that may
 *          have it fail */
enum mpk_code mpk_node_import(struct mpk_node_module *node, const char *name,
			      struct mpk_function **out, struct mpk_error *err) MPK_MUST_CHECK;

/* --- device code of a tree: kernels as functions -------------------------------------------------- */

/* Brings nodes with kernels to life. Their functions take what a launch takes: a value for
 * each parameter, then one for each launch tag that takes one. */
extern const struct mpk_loader mpk_kernel_loader;

/* What a direct call of a kernel says beside its arguments. 0: not given, counts as 1 */
struct mpk_kernel_extents {
	uint64_t grid[3], block[3];
	uint64_t shared_bytes;
};

struct mpk_kernel_codes; /* payloads that are decoded */

/* The device code of a tree whose host code stays closed. Set runtime and tree, which are borrowed until mpk_kernel_set_fini;
 * the rest is zero. Payloads are decoded when a kernel is looked for, and loaded on a device once, however many calls
 * follow. */
struct mpk_kernel_set {
	struct mpk_runtime *runtime;
	const struct mpk_tree *tree;
	struct mpk_kernel_codes *codes; /* NULL: no kernel was looked for so far */
};

/* mpk_kernel_set_fini - functions of it stay as long as they are held */
void mpk_kernel_set_fini(struct mpk_kernel_set *set);

/* A kernel that was found. */
struct mpk_kernel_found {
	struct mpk_function *function; /* one reference */
	const struct mpk_function_info
		*info;             /* its row of the module's table; while the function is held */
	struct mpk_dldevice where; /* where it runs, and its tensors are to be */
};

/* mpk_kernel_set_find - a kernel of any node with kernels as a function of its own
 * parameters alone (tensors, numbers); the extents are fixed
 * @name    of the kernel, or "/0#name" of the module at a path (mpk_tree_path)
 * @asked   the device; type 0: the first of the kind that the code is for. Of several modules that have the
 *          name, the one for this kind is meant
 * Returns  MPK_OK; MPK_E_NOTFOUND with "did you mean", also when there is no
 *          such module; MPK_E_USAGE: an extent for an axis that the kernel does not have, a name
 *          of several kernels, which are named, or code for another kind of device than asked; MPK_E_CORRUPT;
 *          MPK_E_NOMEM */
enum mpk_code mpk_kernel_set_find(struct mpk_kernel_set *set, const char *name,
				  const struct mpk_kernel_extents *extents,
				  struct mpk_dldevice asked, struct mpk_kernel_found *out,
				  struct mpk_error *err) MPK_MUST_CHECK;

/* --- the library ----------------------------------------------------------------------------------- */

struct mpk_library;

/* mpk_library_open - load the library and what module code expects of its loader
 * @code    borrowed with all it points to until nothing of the library is left: code->release
 *          is called then. Not called when opening fails
 * Returns  MPK_OK; MPK_E_LOAD: unresolved symbols (all named), a missing shared library,
 *          no libtvm_ffi.so (with where it was looked for), what mpk_elfdyn_read says; MPK_E_CORRUPT;
 *          MPK_E_IO: the file cannot be read; MPK_E_NOMEM */
enum mpk_code mpk_library_open(struct mpk_runtime *runtime, const struct mpk_host_code *code,
			       struct mpk_library **out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_library_close - give the library back; its modules, functions and results stay as long as
 * somebody holds them. NULL is fine. */
void mpk_library_close(struct mpk_library *library);

/* mpk_library_root - the module that calls from outside start at; borrowed */
struct mpk_module *mpk_library_root(struct mpk_library *library);

/* mpk_library_modules - the modules of the library's tree, by the index of their node; NULL
 * where nothing leads from the root
 * @out     to be freed; the modules are borrowed
 * Returns  MPK_OK, no modules for a library without a blob; MPK_E_NOMEM */
enum mpk_code mpk_library_modules(struct mpk_library *library, struct mpk_module ***out,
				  size_t *count, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_library_each_module - hand fn those that there are, until one fails
 * Returns  MPK_OK; what fn returned; MPK_E_NOMEM */
enum mpk_code mpk_library_each_module(struct mpk_library *library,
				      enum mpk_code (*fn)(struct mpk_module *module, void *arg,
							  struct mpk_error *err),
				      void *arg, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_library_find - the function a user named
 * It is, of these the first that is there: the function of this name of an executable in the tree, of
 * several the first; the host function of this name or symbol; for "main", "__tvm_main__" and
 * "__tvm_ffi_main" the entry of the host code; for "PATH#NAME" what the module at that path of the tree
 * itself has; what TVM finds in the tree, such as a kernel; a global function of the runtime, such as a
 * builtin of the Relax VM.
 * Returns  MPK_OK, one reference in *out; MPK_E_NOTFOUND with "did you mean", also of a model's
 *          functions, and, when the tree has a model that nobody here runs, its kind; what made a
 *          module fail that may have it */
enum mpk_code mpk_library_find(struct mpk_library *library, const char *name,
			       struct mpk_function **out, struct mpk_error *err) MPK_MUST_CHECK;

#endif
