/* SPDX-License-Identifier: Apache-2.0 */
/* npz.c - archives of numpy.savez, and TVM's parameter files, as weights
 *
 * In an archive each array is a stored member (../npy/FORMAT.md). Members of numpy.savez_compressed
 * have no bytes in the file that are their elements, so they are refused here; npy/npy.h
 * decompresses one. */
#include "npy/npy.h"

#include <string.h>

#include "base/cursor.h"
#include "tensor/tensor.h"
#include "text/escape.h"
#include "weights/weights.h"

/* Tests the name in the first member's header, so that other archives are not accepted. */
static bool weights_is_npz(struct mpk_span file)
{
	enum { NAME_LEN = 26, NAME = 30 };
	size_t len;

	if (!mpk_npz_is(file) || file.len < NAME)
		return false;
	len = mpk_load_u16(file.data + NAME_LEN);
	return len >= 4 && len <= file.len - NAME &&
	       memcmp(file.data + NAME + len - 4, ".npy", 4) == 0;
}

static enum mpk_code read_array(struct mpk_span file, const struct mpk_zip_member *m,
				struct mpk_arena *arena, struct mpk_weight *out,
				struct mpk_error *err)
{
	static const struct mpk_zip_options options = { .space = "file",
							.advice = "save it with numpy.savez" };
	struct mpk_span content;
	struct mpk_npy npy;
	int64_t *shape;

	MPK_TRY(mpk_zip_stored(file, m, &options, &content, err));
	MPK_TRY(mpk_npy_read(content, &npy, err));
	if (npy.is_big)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "elements in big-endian order");
	MPK_TRY_ARRAY(shape, arena, npy.ndim + 1, err);
	for (size_t i = 0; i < npy.ndim; i++)
		shape[i] = npy.shape[i];
	*out = (struct mpk_weight){ .name = m->name,
				    .dtype = npy.dtype,
				    .shape = shape,
				    .ndim = npy.ndim,
				    .off = (uint64_t)(npy.data.data - file.data),
				    .len = npy.data.len };
	if (npy.is_opaque) {
		out->coding = MPK_WEIGHT_BLOCKS;
		out->type = "void";
		out->dtype = (struct mpk_dtype){ 0 };
	}
	return MPK_OK;
}

static enum mpk_code weights_read_npz(struct mpk_span file, struct mpk_arena *arena,
				      struct mpk_weights *out, struct mpk_error *err)
{
	struct mpk_weight_shard *shard = mpk_arena_alloc(arena, sizeof *shard);
	struct mpk_zip_member *members;
	struct mpk_weight *items;
	size_t count;

	MPK_TRY_ALLOC(shard, err);
	MPK_TRY(mpk_npz_list(file, arena, &members, &count, err));
	MPK_TRY_ARRAY(items, arena, count + 1, err);
	for (size_t i = 0; i < count; i++) {
		enum mpk_code code = read_array(file, &members[i], arena, &items[i], err);

		if (code != MPK_OK) {
			mpk_error_prefix(err, "array '%s': ", MPK_QUOTE(members[i].name));
			return code;
		}
	}
	*shard = (struct mpk_weight_shard){ .has_bytes = true, .bytes = file.len };
	out->items = items;
	out->count = count;
	out->shards = shard;
	out->shard_count = 1;
	out->has_headers = true;
	return MPK_OK;
}

const struct mpk_weights_format mpk_weights_npz = { "npz", "file of NumPy arrays", weights_is_npz,
						    weights_read_npz };

/* --- TVM's parameter files (../tensor/FORMAT.md, 3) --------------------------------------- */

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
	MPK_TRY_ARRAY(items, arena, params.names.count + 1, err);
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
