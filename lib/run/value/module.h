/* SPDX-License-Identifier: Apache-2.0 */
/* module.h - a loaded module: its functions by name, and its imports
 *
 * Nodes of a loaded tree are modules; a function may also create a module, such as a loaded model.
 * A module holds references to its imports; imports are never cyclic. */
#ifndef MPK_VALUE_MODULE_H
#define MPK_VALUE_MODULE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/span.h"
#include "value/function.h"

struct mpk_module {
	atomic_uint refs;
	struct mpk_span kind; /* kind as in the blob; for a module created by a function, TVM's name
			       * of it */

	/* Finds the module's own function of that name; imports are not searched.
	 * Returns  MPK_OK with one reference in *out, NULL if there is no such function;
	 *          MPK_E_DEVICE, MPK_E_LOAD, MPK_E_CORRUPT, ...: the function cannot be loaded.
	 * NULL: this program cannot load modules of this kind. */
	enum mpk_code (*find)(struct mpk_module *self, const char *name, struct mpk_function **out,
			      struct mpk_error *err);
	/* Called when the last reference is gone: frees everything and self. */
	void (*destroy)(struct mpk_module *self);

	struct mpk_module **imports; /* one reference each; the array is owned, from malloc */
	size_t import_count;
	struct mpk_module *next_pending; /* used by mpk_module_drop */
};

/* mpk_module_hold, mpk_module_drop - add or drop a reference; m may be NULL */
struct mpk_module *mpk_module_hold(struct mpk_module *m);
void mpk_module_drop(struct mpk_module *m);

/* mpk_module_set_imports - set the modules that m imports; takes one reference to each
 * Call it once, before m is used.
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_module_set_imports(struct mpk_module *m, struct mpk_module *const *imports,
				     size_t count, struct mpk_error *err) MPK_MUST_CHECK;

/* Modules that may contain a function that was not found. Zero-initialise. */
struct mpk_module_search {
	struct mpk_error failure; /* error of the first module that could not be loaded */
	const struct mpk_module *unloadable; /* first module of a kind that this program cannot
					      * load; borrowed */
};

/* mpk_module_find - find a function in m, then in its imports, depth first, each module once: TVM's
 * order (module["f"])
 * @search  receives the reasons why modules were not searched
 * Returns  MPK_OK with one reference in *out, NULL if no module has the function; MPK_E_NOMEM */
enum mpk_code mpk_module_find(struct mpk_module *m, const char *name, struct mpk_function **out,
			      struct mpk_module_search *search,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_module_find_import - find a function only in the imports of m, as code of m does */
enum mpk_code mpk_module_find_import(struct mpk_module *m, const char *name,
				     struct mpk_function **out, struct mpk_module_search *search,
				     struct mpk_error *err) MPK_MUST_CHECK;

#endif
