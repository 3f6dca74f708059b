/* SPDX-License-Identifier: Apache-2.0 */
#include "factory/factory.h"

enum mpk_code mpk_factory_read(struct mpk_cursor *c, bool has_graph, struct mpk_arena *arena,
			       struct mpk_factory *out, struct mpk_error *err)
{
	struct mpk_factory f = { .has_graph = has_graph };
	struct mpk_cursor at = *c;
	uint64_t count;

	if (has_graph)
		MPK_TRY(mpk_read_str(&at, "graph", &f.graph_json, err));
	MPK_TRY(mpk_read_u64(&at, "parameter count", &count, err));
	MPK_TRY(mpk_read_strs(&at, "parameter names", arena, &f.params.names, err));
	MPK_TRY(mpk_tensors_read(&at, f.params.names, count, arena, &f.params.tensors, err));
	MPK_TRY(mpk_read_str(&at, "module name", &f.module_name, err));
	*out = f;
	*c = at;
	return MPK_OK;
}
