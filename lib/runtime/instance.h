/* instance.h - the modules of a tree, loaded: who answers for which function
 *
 * Every node of the tree becomes an instance. Host nodes (_lib) look into the library; a
 * node of another kind gets a node loader, which is asked only when a function is looked
 * up in it. A node nobody can load makes no failure until something is looked up
 * that only it could have.
 */
#ifndef MPK_RUNTIME_INSTANCE_H
#define MPK_RUNTIME_INSTANCE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "blob/blob.h"
#include "value/function.h"
#include "value/value.h"

struct mpk_library;
struct mpk_instance;

/* How nodes of some kinds come to life: one per back end. */
struct mpk_node_loader {
	/* whether this loader is for nodes of that kind */
	bool (*accepts)(struct mpk_span kind, void *user);

	/* Reads the payload and makes inst ready; sets inst->state. Called at most once
	 * per node, before its first find, never for nodes that are not needed.
	 * Returns  MPK_OK; MPK_E_DEVICE, MPK_E_LOAD, MPK_E_CORRUPT, ... */
	enum mpk_code (*open)(struct mpk_instance *inst, void *user, struct mpk_error *err);

	/* The node's own function of that name, one reference in *out, or NULL in *out.
	 * Names stay valid as long as the library is open. */
	enum mpk_code (*find)(struct mpk_instance *inst, const char *name,
			      struct mpk_function **out, struct mpk_error *err);

	/* Undoes open; called only when open succeeded. May be NULL. */
	void (*close)(struct mpk_instance *inst);

	void *user;
};

/* One node of the tree in a loaded library. */
struct mpk_instance {
	struct mpk_library *library;
	const struct mpk_node *node; /* NULL: a library without a blob */
	size_t index;
	const struct mpk_node_loader *loader; /* NULL: nobody can load this kind */
	bool opened;
	struct mpk_error failure; /* of open; MPK_OK: none */
	void *state;              /* the loader's own */
};

/* mpk_instance_find - the function `name` of inst itself, then depth-first of its imports
 * (each node asked once); what a caller from outside sees
 * Returns  MPK_OK with one reference in *out, NULL when no node has it; the failure of a
 *          node that may have had it but could not be opened, when no other has it */
enum mpk_code mpk_instance_find(struct mpk_instance *inst, const char *name,
				struct mpk_function **out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_instance_import - what module code of inst sees: depth-first each import in order,
 * then the global functions of the library. The answer is kept and owned by inst.
 * Returns  MPK_OK; MPK_E_NOTFOUND naming where it was looked for; a node's failure */
enum mpk_code mpk_instance_import(struct mpk_instance *inst, const char *name,
				  struct mpk_function **out, struct mpk_error *err) MPK_MUST_CHECK;

#endif
