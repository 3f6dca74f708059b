/* SPDX-License-Identifier: Apache-2.0 */
/* batch.h - many calls in one child process, which loads the library once
 *
 * What one call does to its process ends with that call: after a crash, a timeout or an
 * error on a device the calls after it go on in a fresh child.
 */
#ifndef MPK_SESSION_BATCH_H
#define MPK_SESSION_BATCH_H

#include "session/call.h"

struct mpk_batch_item {
	const struct mpk_call *call; /* NULL: left out */
	double timeout;              /* seconds; 0: none */

	/* what mpk_batch_run found out */
	struct mpk_error error;        /* code MPK_OK: the function returned */
	bool crashed;                  /* the process ended in the call: error says how */
	double seconds;                /* all of it, arguments and warm-up included */
	struct mpk_call_result result; /* when it returned */
};

/* mpk_batch_run - make the calls of count items, in their order
 * The library is loaded for the first item that needs it; when that fails, all such items
 * have the failure as their error.
 * @items   the calls' outputs must be their own: no two calls share one
 * Returns  MPK_OK whatever the calls did; MPK_E_IO, MPK_E_NOMEM: there was no child */
enum mpk_code mpk_batch_run(const struct mpk_library_options *library, struct mpk_batch_item *items,
			    size_t count, struct mpk_error *err) MPK_MUST_CHECK;

#endif
