/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors.c - files of safetensors, and the index of those that are split
 *
 * The length of a JSON header, the header, then the bytes of all tensors. */
#include <inttypes.h>
#include <stdio.h>

#include "base/compiler.h"
#include "base/cursor.h"
#include "base/strmap.h"
#include "text/escape.h"
#include "weights/internal/read.h"

/* More than this its own readers refuse, too. */
#define HEADER_MAX (UINT64_C(100) << 20)

/* FORMAT.md 1. The numbers are DLPack's, for which dtype.c has names. */
static const struct {
	char type[8];
	uint8_t code, bits;
} types[] = {
	{ "BOOL", MPK_DTYPE_BOOL, 8 },
	{ "U8", MPK_DTYPE_UINT, 8 },
	{ "I8", MPK_DTYPE_INT, 8 },
	{ "U16", MPK_DTYPE_UINT, 16 },
	{ "I16", MPK_DTYPE_INT, 16 },
	{ "U32", MPK_DTYPE_UINT, 32 },
	{ "I32", MPK_DTYPE_INT, 32 },
	{ "U64", MPK_DTYPE_UINT, 64 },
	{ "I64", MPK_DTYPE_INT, 64 },
	{ "F16", MPK_DTYPE_FLOAT, 16 },
	{ "BF16", MPK_DTYPE_BFLOAT, 16 },
	{ "F32", MPK_DTYPE_FLOAT, 32 },
	{ "F64", MPK_DTYPE_FLOAT, 64 },
	{ "C64", MPK_DTYPE_COMPLEX, 64 },
	{ "F8_E4M3", 10, 8 },
	{ "F8_E5M2", 12, 8 },
	{ "F8_E8M0", 14, 8 },
	{ "F6_E2M3", 15, 6 },
	{ "F6_E3M2", 16, 6 },
	{ "F4", 17, 4 },
};

static bool is_safetensors(struct mpk_span file)
{
	return file.len > 9 && file.data[8] == '{' && mpk_load_u64(file.data) <= file.len - 8;
}

static enum mpk_code safetensors_take_type(struct mpk_json_value v, const char *what,
					   struct mpk_weight *w, struct mpk_error *err)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(types); i++) {
		if (!mpk_json_value_is(v, types[i].type))
			continue;
		w->type = types[i].type;
		w->dtype = (struct mpk_dtype){ types[i].code, types[i].bits, 1 };
		return MPK_OK;
	}
	if (mpk_json_value_type(v) != MPK_JSON_STRING)
		return mpk_fail(err, MPK_E_CORRUPT, "%s: dtype is no text", what);
	return mpk_fail(err, MPK_E_UNSUPPORTED, "%s: unknown type %s", what, MPK_QUOTE(v.text));
}

/* Two offsets after the header. */
static enum mpk_code take_place(struct mpk_json_value v, const char *what, uint64_t header_end,
				uint64_t file_bytes, struct mpk_weight *w, struct mpk_error *err)
{
	struct mpk_json_items items = mpk_json_items(v);
	struct mpk_json_value first, second;
	int64_t begin, end;
	uint64_t bytes;

	if (mpk_json_value_count(v) != 2 || !mpk_json_next(&items, &first) ||
	    !mpk_json_next(&items, &second) || !mpk_json_value_i64(first, &begin) ||
	    !mpk_json_value_i64(second, &end) || begin < 0 || end < begin)
		return mpk_fail(err, MPK_E_CORRUPT, "%s: data_offsets are %s", what,
				MPK_QUOTE(v.text));
	w->len = (uint64_t)(end - begin);
	if ((uint64_t)end > file_bytes - header_end)
		return mpk_fail_offset(err, MPK_E_CORRUPT, "file", header_end,
				       "%s: ends %" PRId64
				       " bytes after the header, where the file has %" PRIu64,
				       what, end, file_bytes - header_end);
	w->off = header_end + (uint64_t)begin;
	if (!mpk_weight_bytes(w->dtype, w->shape, w->ndim, &bytes) || bytes != w->len)
		return mpk_fail_offset(err, MPK_E_CORRUPT, "file", w->off,
				       "%s: %" PRIu64
				       " bytes, which are not those of its type and shape",
				       what, w->len);
	return MPK_OK;
}

static enum mpk_code safetensors_take_tensor(struct mpk_json_value key, struct mpk_json_value v,
					     uint64_t header_end, uint64_t file_bytes,
					     struct mpk_arena *arena, struct mpk_weight *w,
					     struct mpk_error *err)
{
	const char *name;
	char what[160];

	MPK_TRY(mpk_json_value_text(key, arena, &name, err));
	w->name = mpk_span_str(name);
	(void)snprintf(what, sizeof what, "tensor '%.120s'", MPK_QUOTE(w->name));
	if (mpk_json_value_type(v) != MPK_JSON_OBJECT)
		return mpk_fail(err, MPK_E_CORRUPT, "%s: no object", what);
	MPK_TRY(safetensors_take_type(mpk_json_value_get(v, "dtype"), what, w, err));
	MPK_TRY(mpk_weight_take_shape(mpk_json_value_get(v, "shape"), what, arena, w, err));
	return take_place(mpk_json_value_get(v, "data_offsets"), what, header_end, file_bytes, w,
			  err);
}

static enum mpk_code read_safetensors(struct mpk_span file, struct mpk_arena *arena,
				      struct mpk_weights *out, struct mpk_error *err)
{
	uint64_t header = mpk_load_u64(file.data);
	struct mpk_weight_shard *shard = mpk_arena_alloc(arena, sizeof *shard);
	struct mpk_json_value root, v;
	struct mpk_weight *items;

	if (header > HEADER_MAX)
		return mpk_fail_offset(err, MPK_E_UNSUPPORTED, "file", 0,
				       "a header of %" PRIu64 " bytes; at most %" PRIu64
				       " can be read",
				       header, HEADER_MAX);
	MPK_TRY(mpk_json_read(mpk_span_of(file.data + 8, (size_t)header), &root, err));
	items = mpk_arena_array(arena, mpk_json_value_count(root) + 1, sizeof *items);
	MPK_TRY_ALLOC(shard && items, err);
	for (struct mpk_json_items each = mpk_json_items(root); mpk_json_next(&each, &v);) {
		if (mpk_json_value_is(each.key, "__metadata__"))
			MPK_TRY(mpk_weight_take_notes(v, arena, out, err));
		else
			MPK_TRY(safetensors_take_tensor(each.key, v, 8 + header, file.len, arena,
							&items[out->count++], err));
	}
	*shard = (struct mpk_weight_shard){ .has_bytes = true,
					    .bytes = file.len,
					    .data_off = 8 + header };
	out->items = items;
	out->shards = shard;
	out->shard_count = 1;
	out->is_gapless = true;
	return MPK_OK;
}

const struct mpk_weights_format mpk_weights_safetensors = { "safetensors", "safetensors file",
							    is_safetensors, read_safetensors };

/* --- the index of a model in several files ---------------------------------------------------- */

static bool is_index(struct mpk_span file)
{
	return file.len && file.data[0] == '{' && mpk_span_has(file, "\"weight_map\"");
}

/* The number of a file's name, a new one where it is named first. */
static enum mpk_code index_shard(struct mpk_strmap *map, struct mpk_span name,
				 struct mpk_weight_shard *shards, size_t *count, size_t *out,
				 struct mpk_error *err)
{
	int put = mpk_strmap_put(map, name, *count, out);

	MPK_TRY_ALLOC(put >= 0, err);
	if (put)
		shards[(*count)++].name = name;
	return MPK_OK;
}

static enum mpk_code read_weight_map(struct mpk_json_value map, struct mpk_arena *arena,
				     struct mpk_weights *out, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strmap_fini) struct mpk_strmap names = { 0 };
	size_t count = mpk_json_value_count(map);
	struct mpk_weight *items = mpk_arena_array(arena, count + 1, sizeof *items);
	struct mpk_weight_shard *shards = mpk_arena_array(arena, count + 1, sizeof *shards);
	struct mpk_json_value v;

	MPK_TRY_ALLOC(items && shards, err);
	for (struct mpk_json_items each = mpk_json_items(map); mpk_json_next(&each, &v);) {
		struct mpk_weight *w = &items[out->count++];
		const char *name;
		struct mpk_span file;

		MPK_TRY(mpk_json_value_text(each.key, arena, &name, err));
		MPK_TRY(mpk_weight_take_shard(v, "weight_map", arena, &file, err));
		*w = (struct mpk_weight){ .name = mpk_span_str(name),
					  .coding = MPK_WEIGHT_ELSEWHERE };
		MPK_TRY(index_shard(&names, file, shards, &out->shard_count, &w->shard, err));
	}
	out->items = items;
	out->shards = shards;
	return MPK_OK;
}

static enum mpk_code read_index(struct mpk_span file, struct mpk_arena *arena,
				struct mpk_weights *out, struct mpk_error *err)
{
	struct mpk_json_value root, map;

	MPK_TRY(mpk_json_read(file, &root, err));
	map = mpk_json_value_get(root, "weight_map");
	if (mpk_json_value_type(map) != MPK_JSON_OBJECT)
		return mpk_fail(err, MPK_E_CORRUPT, "weight_map is no object");
	MPK_TRY(mpk_weight_take_notes(mpk_json_value_get(root, "metadata"), arena, out, err));
	out->is_gapless = true;
	return read_weight_map(map, arena, out, err);
}

const struct mpk_weights_format mpk_weights_safetensors_index = { "safetensors-index",
								  "index of safetensors files",
								  is_index, read_index };
