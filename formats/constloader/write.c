#include "constloader/constloader.h"

void mpk_const_loader_write(struct mpk_rope *r, const struct mpk_const_loader *l)
{
	mpk_rope_put_strs(r, l->consts.names);
	mpk_rope_put_u64(r, l->consts.names.count);
	for (size_t i = 0; i < l->consts.names.count; i++)
		mpk_tensor_write(r, &l->consts.tensors[i]);
	mpk_rope_put_strs(r, l->symbols);
	mpk_rope_put_u64(r, l->symbols.count);
	for (size_t i = 0; i < l->symbols.count; i++)
		mpk_rope_put_strs(r, l->needs[i]);
}
