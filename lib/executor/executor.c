#include "executor/executor.h"

#include "executor/contrib/contrib.h"
#include "executor/relax/relax.h"
#include "executor/relay/relay.h"

/* One row a kind of executor; NULL ends. */
static const struct mpk_loader *const executors[] = {
	&mpk_relax_executor,
	&mpk_relay_executor,
	NULL,
};

enum mpk_code mpk_executors_add(struct mpk_runtime *runtime, struct mpk_error *err)
{
	for (size_t i = 0; executors[i]; i++)
		MPK_TRY(mpk_runtime_add_loader(runtime, executors[i], err));
	MPK_TRY(mpk_contrib_add(runtime, err));
	return mpk_relax_add_builtins(runtime, err);
}
