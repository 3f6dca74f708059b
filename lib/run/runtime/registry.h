/* SPDX-License-Identifier: Apache-2.0 */
/* registry.h - functions of the application, by the names by which code of models calls them
 *
 * A function belongs to one owner, the program of a model, or to the process. Code finds it when it is looked up, and
 * asks for what is registered at each call: a function may be exchanged for another or taken away at any time. Who
 * takes one away waits until no other thread is in it, so that its code may be unloaded.
 */
#ifndef MPK_RUNTIME_REGISTRY_H
#define MPK_RUNTIME_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

typedef void mpk_registered_code(void); /* cast by who calls it */

struct mpk_registry_entry;

/* A call under way, in memory of who calls. */
struct mpk_registry_use {
	struct mpk_registry_entry *entry;
	mpk_registered_code *code;
	void *context;
	struct mpk_registry_use *outer; /* of this thread */
};

/* mpk_registry_put - register a function, or take it away
 * @owner   NULL: the process
 * @code    NULL: take it away
 * Returns  MPK_OK; MPK_E_NOTFOUND: nothing to take away; MPK_E_NOMEM */
enum mpk_code mpk_registry_put(const void *owner, const char *name, mpk_registered_code *code,
			       void *context, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_registry_forget - all functions of an owner, none of which is being called */
void mpk_registry_forget(const void *owner);

/* mpk_registry_has - whether the owner or the process has a function of that name now */
bool mpk_registry_has(const void *owner, const char *name);

/* mpk_registry_begin - take the owner's function of that name, or that of the process, for a call
 * mpk_registry_end - after it, in the same thread, in the reverse order
 * Returns  false: there is none any more */
bool mpk_registry_begin(const void *owner, const char *name, struct mpk_registry_use *use);
void mpk_registry_end(struct mpk_registry_use *use);

#endif
