/* SPDX-License-Identifier: Apache-2.0 */
#include "params/magic.h"
#include "params/params.h"

void mpk_tensors_write(struct mpk_rope *r, const struct mpk_params *p)
{
	if (p->content) {
		mpk_rope_put_rope(r, p->content);
		return;
	}
	for (size_t i = 0; i < p->names.count; i++)
		mpk_tensor_write(r, &p->tensors[i]);
}

void mpk_params_write(struct mpk_rope *r, const struct mpk_params *p)
{
	mpk_rope_put_u64(r, MPK_PARAMS_MAGIC);
	mpk_rope_put_u64(r, p->reserved);
	mpk_rope_put_strs(r, p->names);
	mpk_rope_put_u64(r, p->names.count);
	mpk_tensors_write(r, p);
}
