#include "factory/factory.h"

void mpk_factory_write(struct mpk_rope *r, const struct mpk_factory *f)
{
	if (f->has_graph)
		mpk_rope_put_blob(r, f->graph_json);
	mpk_rope_put_u64(r, f->params.names.count);
	mpk_rope_put_strs(r, f->params.names);
	for (size_t i = 0; i < f->params.names.count; i++)
		mpk_tensor_write(r, &f->params.tensors[i]);
	mpk_rope_put_str(r, f->module_name);
}
