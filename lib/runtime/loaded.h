/* loaded.h - the inside of a loaded library; for the files of lib/runtime that make it up */
#ifndef MPK_RUNTIME_LOADED_H
#define MPK_RUNTIME_LOADED_H

#include <pthread.h>

#include "runtime/library.h"
#include "runtime/stub.h"

/* A name that leads to a function; owned. */
struct mpk_binding {
	const struct mpk_instance *where; /* whose imports; NULL: everybody's */
	char *name;
	struct mpk_function *function;
};

/* A symbol that a system library's constructor registered; the name is the module's. */
struct mpk_registered {
	const char *name;
	void *address;
};

struct mpk_library {
	struct mpk_library_options options;
	enum mpk_convention convention;
	void *handle;                   /* of dlopen */
	struct mpk_instance *instances; /* one a node; one alone without a blob */
	size_t count;
	size_t edges; /* children of all nodes */
	struct mpk_binding *globals, *imports;
	size_t global_count, global_cap, import_count, import_cap;
	struct mpk_registered *registered;
	size_t registered_count, registered_cap;
	pthread_mutex_t lock; /* recursive: over bindings and opening of nodes */
};

/* mpk_library_active - the one library of this process, NULL when none is open */
struct mpk_library *mpk_library_active(void);

static inline bool mpk_instance_is_host(const struct mpk_instance *inst)
{
	return !inst->node || inst->node->is_lib;
}

/* mpk_library_find_host - the library's own function, one reference in *out
 * Returns  MPK_OK, *out untouched when it has none of this name; MPK_E_NOMEM */
enum mpk_code mpk_library_find_host(struct mpk_library *lib, const char *name,
				    struct mpk_function **out, struct mpk_error *err);

/* mpk_library_link - open the shared object and everything it needs (link.c); fills
 * lib->handle. Returns as mpk_library_open. */
enum mpk_code mpk_library_link(struct mpk_library *lib, struct mpk_error *err);

/* mpk_stub_functions - what the runtime stubs forward to and context pointers point at
 * (backend.c) */
const struct mpk_stub_table *mpk_stub_functions(void);

/* mpk_library_fill_context - store our functions in the library's __TVM... pointers and
 * the host instance in its context symbol (backend.c) */
void mpk_library_fill_context(struct mpk_library *lib);

/* mpk_library_add_builtins - the global functions every loader has (backend.c)
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_library_add_builtins(struct mpk_library *lib, struct mpk_error *err);

#endif
