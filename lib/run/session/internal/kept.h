/* SPDX-License-Identifier: Apache-2.0 */
/* kept.h - results that later calls of the same process take as arguments
 *
 * A cache or the state of a model has no form as text. So it stays in the process that made it, under the
 * name that its call gave it, and goes when that process ends.
 */
#ifndef MPK_SESSION_INTERNAL_KEPT_H
#define MPK_SESSION_INTERNAL_KEPT_H

#include <stddef.h>

#include "base/error.h"
#include "base/span.h"
#include "value/value.h"

/* Zero-initialise; mpk_kept_fini. */
struct mpk_kept {
	struct mpk_kept_item {
		const char *name; /* borrowed from the call */
		struct mpk_value value;
	} *items;
	size_t count, cap;
};

/* mpk_kept_set - keep a value; one of the same name is dropped
 * @name    borrowed until mpk_kept_fini
 * @v       tuples are copied down to MPK_WIRE_NEST_MAX, so that what is done to the result of the call
 *          changes nothing here
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_kept_set(struct mpk_kept *kept, const char *name, const struct mpk_value *v,
			   struct mpk_error *err) MPK_MUST_CHECK;

void mpk_kept_fini(struct mpk_kept *kept);

/* mpk_kept_split - "cache[1]" into the name and the number of the item
 * @item    SIZE_MAX: the value itself
 * Returns  false: it is no name of letters, digits, '_', '-' and '.', perhaps with one item */
bool mpk_kept_split(struct mpk_span text, struct mpk_span *name, size_t *item);

#endif
