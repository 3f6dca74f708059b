/* SPDX-License-Identifier: Apache-2.0 */
/* params.c - TVM's own parameter files as weights (../params/FORMAT.md) */
#include "params/params.h"

#include "base/cursor.h"
#include "weights/weights.h"

static bool weights_is_params(struct mpk_span file)
{
	return file.len >= 8 && mpk_load_u64(file.data) == MPK_PARAMS_MAGIC;
}

static enum mpk_code weights_read_params(struct mpk_span file, struct mpk_arena *arena,
					 struct mpk_weights *out, struct mpk_error *err)
{
	struct mpk_weight_shard *shard = mpk_arena_alloc(arena, sizeof *shard);
	struct mpk_weight *items;
	struct mpk_params params;

	MPK_TRY_ALLOC(shard, err);
	MPK_TRY(mpk_params_read(file, arena, &params, err));
	items = mpk_arena_array(arena, params.names.count + 1, sizeof *items);
	MPK_TRY_ALLOC(items, err);
	for (size_t i = 0; i < params.names.count; i++) {
		const struct mpk_tensor_record *r = &params.tensors[i];

		items[i] = (struct mpk_weight){ .name = params.names.items[i],
						.dtype = r->dtype,
						.shape = r->shape,
						.ndim = r->ndim,
						.off = r->data_off,
						.len = r->data.len };
	}
	*shard = (struct mpk_weight_shard){ .has_bytes = true, .bytes = file.len };
	out->items = items;
	out->count = params.names.count;
	out->shards = shard;
	out->shard_count = 1;
	out->has_headers = true;
	return MPK_OK;
}

const struct mpk_weights_format mpk_weights_params = { "params", "file of TVM parameters",
						       weights_is_params, weights_read_params };
