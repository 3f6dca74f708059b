/* SPDX-License-Identifier: Apache-2.0 */
#include "executor/aot/aot.h"

#include "executor/aot/internal/load.h"
#include "executor/model.h"

static bool accepts(struct mpk_span kind)
{
	return mpk_span_is(kind, "AotExecutorFactory");
}

static enum mpk_code open_node(struct mpk_node_module *node, struct mpk_error *err)
{
	return mpk_static_model_open(node, mpk_aot_load, err);
}

const struct mpk_loader mpk_aot_executor = {
	.accepts = accepts,
	.has = mpk_model_node_has,
	.open = open_node,
	.find = mpk_static_model_find,
	.name_at = mpk_static_model_name_at,
	.close = mpk_static_model_close,
};
