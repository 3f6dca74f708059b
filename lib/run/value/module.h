/* SPDX-License-Identifier: Apache-2.0 */
/* module.h - a module that lives: functions by name, and the modules that it imports
 *
 * The nodes of a loaded tree are modules, and so is what a function of one of them makes (a
 * loaded model is a new module). A module holds what it imports; imports never lead back.
 */
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
	struct mpk_span kind; /* as the blob spells it; of a made one what TVM calls it */

	/* The module's own function of that name; its imports are not asked.
	 * Returns  MPK_OK with one reference in *out, NULL when it has none of that name;
	 *          MPK_E_DEVICE, MPK_E_LOAD, MPK_E_CORRUPT, ... : it cannot be made ready.
	 * NULL: nobody here can load modules of this kind. */
	enum mpk_code (*find)(struct mpk_module *self, const char *name, struct mpk_function **out,
			      struct mpk_error *err);
	/* The last reference is gone: gives back what is the kind's own and frees self. */
	void (*destroy)(struct mpk_module *self);

	struct mpk_module **imports; /* one reference each; owned, from malloc */
	size_t import_count;
	struct mpk_module *next_pending; /* for mpk_module_drop */
};

/* mpk_module_hold, mpk_module_drop - count references; NULL is fine */
struct mpk_module *mpk_module_hold(struct mpk_module *m);
void mpk_module_drop(struct mpk_module *m);

/* mpk_module_set_imports - the modules that m imports, one reference taken to each
 * Returns  MPK_OK; MPK_E_NOMEM. Once, before m is used. */
enum mpk_code mpk_module_set_imports(struct mpk_module *m, struct mpk_module *const *imports,
				     size_t count, struct mpk_error *err) MPK_MUST_CHECK;

/* Who might have had a function that was not found. Zero-initialise. */
struct mpk_module_search {
	struct mpk_error failure;            /* of the first that could not be made ready */
	const struct mpk_module *unloadable; /* the first that nobody can load; borrowed */
};

/* mpk_module_find - the function of m itself, then depth-first of its imports, each asked once
 * TVM's order (module["f"]).
 * @search  receives why modules were not asked
 * Returns  MPK_OK with one reference in *out, NULL when no module has it; MPK_E_NOMEM */
enum mpk_code mpk_module_find(struct mpk_module *m, const char *name, struct mpk_function **out,
			      struct mpk_module_search *search,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_module_find_import - the same without m itself: what code of m sees */
enum mpk_code mpk_module_find_import(struct mpk_module *m, const char *name,
				     struct mpk_function **out, struct mpk_module_search *search,
				     struct mpk_error *err) MPK_MUST_CHECK;

#endif
