/* SPDX-License-Identifier: Apache-2.0 */
/* executor.c - the table of executors, and what a runtime needs so that models run in it
 *
 * A runtime can also be had without executors: then it runs host code and kernels alone, and this
 * object, with all that it links, stays out of the program.
 */
#include "executor/executor.h"

#include "executor/contrib/contrib.h"
#include "executor/relax/relax.h"
#include "executor/relay/relay.h"
#include "executor/static/static.h"

/* One row a kind of executor; NULL ends. */
static const struct mpk_loader *const executors[] = {
	&mpk_aot_executor, &mpk_graph_executor, &mpk_relax_executor, &mpk_relay_executor, NULL,
};

/* Families of global functions that are rows of a table; random numbers have a state and are
 * added apart. */
static const struct mpk_contrib_globals *const contribs[] = { &mpk_contrib_sort,
							      &mpk_contrib_blas };

enum mpk_code mpk_executors_add(struct mpk_runtime *runtime, struct mpk_error *err)
{
	for (size_t i = 0; executors[i]; i++)
		MPK_TRY(mpk_runtime_add_loader(runtime, executors[i], err));
	for (size_t i = 0; i < MPK_ARRAY_COUNT(contribs); i++)
		MPK_TRY(mpk_runtime_add_globals(runtime, contribs[i]->rows, contribs[i]->count,
						err));
	MPK_TRY(mpk_contrib_add_random(runtime, err));
	return mpk_relax_add_builtins(runtime, err);
}

bool mpk_executors_have(struct mpk_span kind)
{
	for (size_t i = 0; executors[i]; i++)
		if (executors[i]->accepts(kind))
			return true;
	return false;
}
