/* SPDX-License-Identifier: Apache-2.0 */
/* host.h - the compiled host code of one library, opened in this process
 *
 * What is known of the file comes from the caller (struct mpk_host_code): nothing here reads
 * ELF. Everything that came out of the library holds its host code; when the last of it is
 * gone the shared object is closed.
 */
#ifndef MPK_RUNTIME_HOST_H
#define MPK_RUNTIME_HOST_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "blob/blob.h"
#include "runtime/context.h"
#include "runtime/runtime.h"
#include "value/function.h"
#include "value/module.h"

struct mpk_elfdyn; /* elfdyn/elfdyn.h */

struct mpk_host_function {
	const char *name; /* as a caller says it */
	const char *symbol;
	bool is_entry;        /* what "main" and "__tvm_main__" mean */
	const char *alias_of; /* the function that it is another name of; NULL: it is one itself */
};

/* Where the content of tensors of the blob really lies, when it is not in it. */
struct mpk_moved {
	/* content as it is, or what stands for it elsewhere */
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

/* mpk_host_context - what a thread that runs its code is to say (context.h) */
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

#endif
