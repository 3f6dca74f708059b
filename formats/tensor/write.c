/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/tensor.h"

#include "tensor/internal/magic.h"

void mpk_tensor_write(struct mpk_rope *r, const struct mpk_tensor_record *t)
{
	mpk_rope_put_u64(r, MPK_TENSOR_MAGIC);
	mpk_rope_put_u64(r, t->reserved);
	mpk_rope_put_u32(r, MPK_DL_CPU); /* the CPU, wherever the tensor lived */
	mpk_rope_put_u32(r, (uint32_t)t->device_id);
	mpk_rope_put_u32(r, (uint32_t)t->ndim);
	mpk_dtype_write(r, t->dtype);
	for (size_t i = 0; i < t->ndim; i++)
		mpk_rope_put_u64(r, (uint64_t)t->shape[i]);
	mpk_rope_put_u64(r, t->content ? t->content->len : t->data.len);
	if (t->content)
		mpk_rope_put_rope(r, t->content);
	else
		mpk_rope_put_view(r, t->data);
}
