/* SPDX-License-Identifier: Apache-2.0 */
/* tensor_cache.c - tensor-cache.json and ndarray-cache.json, as TVM and MLC-LLM store weights
 *
 * A JSON document lists shards, and for each the tensors that lie in it. */
#include <inttypes.h>
#include <stdio.h>

#include "base/num.h"
#include "text/escape.h"
#include "weights/internal/read.h"

static bool is_cache(struct mpk_span file)
{
	return file.len && file.data[0] == '{' && mpk_span_has(file, "\"records\"") &&
	       mpk_span_has(file, "\"dataPath\"");
}

static enum mpk_code take_bytes(struct mpk_json_value object, const char *key, const char *what,
				uint64_t *out, struct mpk_error *err)
{
	int64_t n;

	if (!mpk_json_value_i64(mpk_json_value_get(object, key), &n) || n < 0)
		return mpk_fail(err, MPK_E_CORRUPT, "%s: no number of bytes '%s'", what, key);
	*out = (uint64_t)n;
	return MPK_OK;
}

/* How the elements are stored, and that the bytes are theirs. */
static enum mpk_code take_coding(struct mpk_json_value v, const char *what, struct mpk_weight *w,
				 struct mpk_error *err)
{
	struct mpk_json_value format = mpk_json_value_get(v, "format");
	struct mpk_dtype stored = w->dtype;
	uint64_t bytes;

	if (mpk_json_value_is(format, "f32-to-bf16")) {
		if (w->dtype.code == MPK_DTYPE_FLOAT && w->dtype.bits == 32) {
			w->coding = MPK_WEIGHT_BF16_UPPER;
			stored.bits = 16;
		}
	} else if (!mpk_json_value_is(format, "raw")) {
		return mpk_fail(err, MPK_E_UNSUPPORTED, "%s: unknown format %s", what,
				MPK_QUOTE(format.text));
	}
	if (!mpk_weight_bytes(stored, w->shape, w->ndim, &bytes) || bytes != w->len)
		return mpk_fail(err, MPK_E_CORRUPT,
				"%s: nbytes is %" PRIu64
				", which is not that of its type and shape",
				what, w->len);
	return MPK_OK;
}

static enum mpk_code cache_take_tensor(struct mpk_json_value v, size_t shard,
				       struct mpk_arena *arena, struct mpk_weight *w,
				       struct mpk_error *err)
{
	struct mpk_span type;
	char what[160];
	uint64_t end;

	MPK_TRY(mpk_weight_take_text(mpk_json_value_get(v, "name"), "name of a tensor", arena,
				     &w->name, err));
	(void)snprintf(what, sizeof what, "tensor '%.120s'", MPK_QUOTE(w->name));
	MPK_TRY(mpk_weight_take_text(mpk_json_value_get(v, "dtype"), what, arena, &type, err));
	if (!mpk_dtype_parse(type, &w->dtype))
		return mpk_fail(err, MPK_E_UNSUPPORTED, "%s: unknown type '%s'", what,
				MPK_QUOTE(type));
	w->type = (const char *)type.data;
	w->shard = shard;
	MPK_TRY(mpk_weight_take_shape(mpk_json_value_get(v, "shape"), what, arena, w, err));
	MPK_TRY(take_bytes(v, "nbytes", what, &w->len, err));
	MPK_TRY(take_bytes(v, "byteOffset", what, &w->off, err));
	if (!mpk_add_u64(w->off, w->len, &end))
		return mpk_fail(err, MPK_E_CORRUPT, "%s: byteOffset is %" PRIu64, what, w->off);
	return take_coding(v, what, w, err);
}

static enum mpk_code take_shard(struct mpk_json_value v, size_t index, struct mpk_arena *arena,
				struct mpk_weight_shard *shard, struct mpk_error *err)
{
	struct mpk_json_value md5 = mpk_json_value_get(v, "md5sum");
	const char *text;
	char what[64];

	(void)snprintf(what, sizeof what, "records[%zu]", index);
	if (mpk_json_value_type(md5) == MPK_JSON_NONE)
		md5 = mpk_json_value_get(v, "md5Sum");
	MPK_TRY(mpk_weight_take_shard(mpk_json_value_get(v, "dataPath"), what, arena, &shard->name,
				      err));
	MPK_TRY(mpk_json_value_text(md5, arena, &text, err));
	shard->md5 = mpk_span_str(text ? text : "");
	shard->has_bytes = mpk_json_value_type(mpk_json_value_get(v, "nbytes")) != MPK_JSON_NONE;
	return shard->has_bytes ? take_bytes(v, "nbytes", what, &shard->bytes, err) : MPK_OK;
}

/* The tensors of all shards together, which are counted first. */
static size_t count_tensors(struct mpk_json_value records)
{
	struct mpk_json_value v;
	size_t count = 0;

	for (struct mpk_json_items each = mpk_json_items(records); mpk_json_next(&each, &v);)
		count += mpk_json_value_count(mpk_json_value_get(v, "records"));
	return count;
}

static enum mpk_code read_cache(struct mpk_span file, struct mpk_arena *arena,
				struct mpk_weights *out, struct mpk_error *err)
{
	struct mpk_json_value root, records, v, t;
	struct mpk_weight_shard *shards;
	struct mpk_weight *items;

	MPK_TRY(mpk_json_read(file, &root, err));
	records = mpk_json_value_get(root, "records");
	if (mpk_json_value_type(records) != MPK_JSON_ARRAY)
		return mpk_fail(err, MPK_E_CORRUPT, "records is no list");
	items = mpk_arena_array(arena, count_tensors(records) + 1, sizeof *items);
	shards = mpk_arena_array(arena, mpk_json_value_count(records) + 1, sizeof *shards);
	MPK_TRY_ALLOC(items && shards, err);
	for (struct mpk_json_items each = mpk_json_items(records); mpk_json_next(&each, &v);) {
		size_t shard = out->shard_count++;
		struct mpk_json_items tensors = mpk_json_items(mpk_json_value_get(v, "records"));

		MPK_TRY(take_shard(v, shard, arena, &shards[shard], err));
		while (mpk_json_next(&tensors, &t))
			MPK_TRY(cache_take_tensor(t, shard, arena, &items[out->count++], err));
	}
	out->items = items;
	out->shards = shards;
	return mpk_weight_take_notes(mpk_json_value_get(root, "metadata"), arena, out, err);
}

const struct mpk_weights_format mpk_weights_tensor_cache = { "tensor-cache", "tensor cache of TVM",
							     is_cache, read_cache };
