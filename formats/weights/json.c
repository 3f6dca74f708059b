/* SPDX-License-Identifier: Apache-2.0 */
/* json.c - weights described by a JSON document: files of safetensors, whose header is JSON; the
 * index of a model in several such files; and the tensor caches of TVM and MLC-LLM, which list
 * shards */
#include "weights/weights.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/cursor.h"
#include "base/num.h"
#include "base/strmap.h"
#include "text/escape.h"
#include "text/json_read.h"

enum { NDIM_MAX = 32 };

/* --- values of JSON documents -------------------------------------------------------------- */

/* Reads an array of extents, outermost first.
 * @what    the value's name in errors: "tensor 'a': shape" */
static enum mpk_code weight_take_shape(struct mpk_json_value v, const char *what,
				       struct mpk_arena *arena, struct mpk_weight *w,
				       struct mpk_error *err)
{
	struct mpk_json_items items = mpk_json_items(v);
	struct mpk_json_value extent;
	size_t count = mpk_json_value_count(v);
	int64_t *shape;

	if (mpk_json_value_type(v) != MPK_JSON_ARRAY)
		return mpk_fail(err, MPK_E_CORRUPT, "%s: no list of extents", what);
	if (count > NDIM_MAX)
		return mpk_fail(err, MPK_E_CORRUPT, "%s: %zu dimensions; at most %d can be read",
				what, count, NDIM_MAX);
	MPK_TRY_ARRAY(shape, arena, count + 1, err);
	for (size_t i = 0; mpk_json_next(&items, &extent); i++)
		if (!mpk_json_value_i64(extent, &shape[i]) || shape[i] < 0)
			return mpk_fail(err, MPK_E_CORRUPT, "%s: extent %zu is %s", what, i,
					MPK_QUOTE(extent.text));
	w->shape = shape;
	w->ndim = count;
	return MPK_OK;
}

/* Reads a string that is not empty. */
static enum mpk_code weight_take_text(struct mpk_json_value v, const char *what,
				      struct mpk_arena *arena, struct mpk_span *out,
				      struct mpk_error *err)
{
	const char *text;

	MPK_TRY(mpk_json_value_text(v, arena, &text, err));
	if (!text || !*text)
		return mpk_fail(err, MPK_E_CORRUPT, "%s: no text", what);
	*out = mpk_span_str(text);
	return MPK_OK;
}

static bool has_part(const char *path, const char *part)
{
	size_t len = strlen(part);

	for (; *path; path += strcspn(path, "/"), path += *path == '/')
		if (strcspn(path, "/") == len && strncmp(path, part, len) == 0)
			return true;
	return false;
}

/* The document may be hostile, and names files that are read: only files in its own folder are
 * allowed. */
static enum mpk_code weight_take_shard(struct mpk_json_value v, const char *what,
				       struct mpk_arena *arena, struct mpk_span *out,
				       struct mpk_error *err)
{
	MPK_TRY(weight_take_text(v, what, arena, out, err));
	const char *path = (const char *)out->data;

	if (*path == '/' || has_part(path, ".."))
		return mpk_fail(err, MPK_E_CORRUPT, "%s: '%s' leads out of the folder of this file",
				what, MPK_QUOTE(*out));
	return MPK_OK;
}

/* Reads the members of an object as notes; none if the value is not an object. */
static enum mpk_code weight_take_notes(struct mpk_json_value v, struct mpk_arena *arena,
				       struct mpk_weights *w, struct mpk_error *err)
{
	size_t count = mpk_json_value_type(v) == MPK_JSON_OBJECT ? mpk_json_value_count(v) : 0;
	struct mpk_json_items items = mpk_json_items(v);
	struct mpk_weight_note *notes = mpk_arena_array(arena, count + 1, sizeof *notes);
	struct mpk_json_value value;

	MPK_TRY_ALLOC(notes, err);
	for (size_t i = 0; i < count && mpk_json_next(&items, &value); i++) {
		const char *key, *text;

		MPK_TRY(mpk_json_value_text(items.key, arena, &key, err));
		MPK_TRY(mpk_json_value_text(value, arena, &text, err));
		notes[i].key = mpk_span_str(key);
		notes[i].value = text ? mpk_span_str(text) : value.text;
	}
	w->notes = notes;
	w->note_count = count;
	return MPK_OK;
}

/* --- safetensors --- */

/* The format's own readers refuse longer headers, too. */
#define HEADER_MAX (UINT64_C(100) << 20)

/* FORMAT.md 1. The numbers are DLPack's; dtype.c has their names. */
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

/* Elements of less than a byte are packed; the last byte is padded. */
static bool weight_bytes(struct mpk_dtype dtype, const int64_t *shape, size_t ndim, uint64_t *out)
{
	uint64_t bits = (uint64_t)dtype.bits * dtype.lanes;

	for (size_t i = 0; i < ndim; i++)
		if (shape[i] < 0 || !mpk_mul_u64(bits, (uint64_t)shape[i], &bits))
			return false;
	if (bits > (uint64_t)INT64_MAX - 7)
		return false;
	*out = (bits + 7) / 8;
	return true;
}

/* Reads two offsets, which count from the end of the header. */
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
	if (!weight_bytes(w->dtype, w->shape, w->ndim, &bytes) || bytes != w->len)
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
	MPK_TRY(weight_take_shape(mpk_json_value_get(v, "shape"), what, arena, w, err));
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
			MPK_TRY(weight_take_notes(v, arena, out, err));
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
		MPK_TRY(weight_take_shard(v, "weight_map", arena, &file, err));
		*w = (struct mpk_weight){ .name = mpk_span_str(name),
					  .coding = MPK_WEIGHT_ELSEWHERE };

		/* Returns the index of a file's name, and adds a new name to the list. */
		int put = mpk_strmap_put(&names, file, out->shard_count, &w->shard);

		MPK_TRY_ALLOC(put >= 0, err);
		if (put)
			shards[out->shard_count++].name = file;
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
	MPK_TRY(weight_take_notes(mpk_json_value_get(root, "metadata"), arena, out, err));
	out->is_gapless = true;
	return read_weight_map(map, arena, out, err);
}

const struct mpk_weights_format mpk_weights_safetensors_index = { "safetensors-index",
								  "index of safetensors files",
								  is_index, read_index };

/* --- tensor-cache.json and ndarray-cache.json: shards, and the tensors in each --- */

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

static enum mpk_code cache_take_tensor(struct mpk_json_value v, size_t shard,
				       struct mpk_arena *arena, struct mpk_weight *w,
				       struct mpk_error *err)
{
	struct mpk_span type;
	char what[160];
	uint64_t end;

	MPK_TRY(weight_take_text(mpk_json_value_get(v, "name"), "name of a tensor", arena, &w->name,
				 err));
	(void)snprintf(what, sizeof what, "tensor '%.120s'", MPK_QUOTE(w->name));
	MPK_TRY(weight_take_text(mpk_json_value_get(v, "dtype"), what, arena, &type, err));
	if (!mpk_dtype_parse(type, &w->dtype))
		return mpk_fail(err, MPK_E_UNSUPPORTED, "%s: unknown type '%s'", what,
				MPK_QUOTE(type));
	w->type = (const char *)type.data;
	w->shard = shard;
	MPK_TRY(weight_take_shape(mpk_json_value_get(v, "shape"), what, arena, w, err));
	MPK_TRY(take_bytes(v, "nbytes", what, &w->len, err));
	MPK_TRY(take_bytes(v, "byteOffset", what, &w->off, err));
	if (!mpk_add_u64(w->off, w->len, &end))
		return mpk_fail(err, MPK_E_CORRUPT, "%s: byteOffset is %" PRIu64, what, w->off);

	/* Reads the coding of the elements, and checks that it fits their bytes. */
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
	if (!weight_bytes(stored, w->shape, w->ndim, &bytes) || bytes != w->len)
		return mpk_fail(err, MPK_E_CORRUPT,
				"%s: nbytes is %" PRIu64
				", which is not that of its type and shape",
				what, w->len);
	return MPK_OK;
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
	MPK_TRY(weight_take_shard(mpk_json_value_get(v, "dataPath"), what, arena, &shard->name,
				  err));
	MPK_TRY(mpk_json_value_text(md5, arena, &text, err));
	shard->md5 = mpk_span_str(text ? text : "");
	shard->has_bytes = mpk_json_value_type(mpk_json_value_get(v, "nbytes")) != MPK_JSON_NONE;
	return shard->has_bytes ? take_bytes(v, "nbytes", what, &shard->bytes, err) : MPK_OK;
}

/* Counts the tensors of all shards, before the list is allocated. */
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
	return weight_take_notes(mpk_json_value_get(root, "metadata"), arena, out, err);
}

const struct mpk_weights_format mpk_weights_tensor_cache = { "tensor-cache", "tensor cache of TVM",
							     is_cache, read_cache };
