/* SPDX-License-Identifier: Apache-2.0 */
/* gguf.c - GGUF files, versions 2 and 3, little-endian
 *
 * A file has keys with values, then the names, shapes and places of tensors, then their bytes.
 * Extents are stored innermost first and are reversed here. The size of a quantized tensor follows
 * from the table of block sizes; the contents of a block are not decoded here. */
#include "weights/weights.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/compiler.h"
#include "base/cursor.h"
#include "base/num.h"
#include "base/strbuf.h"
#include "text/escape.h"

enum {
	GGUF_ALIGN = 32,         /* unless general.alignment gives another */
	GGUF_NDIM_MAX = 4,       /* limit of today's writers; the field allows more */
	GGUF_NOTE_MAX = 16,      /* values of a list that are kept in a note */
	GGUF_LIST_DEPTH_MAX = 4, /* nesting of lists */
	GGUF_KEY_MIN = 8 + 4 + 1,
	GGUF_TENSOR_MIN = 8 + 4 + 4 + 8,
};

/* FORMAT.md 3. With bits the elements are plain, of DLPack's code; else block_elements
 * elements take block_bytes bytes. */
static const struct gguf_type {
	uint32_t id;
	char name[8];
	uint8_t code, bits;
	uint16_t block_elements, block_bytes;
} types[] = {
	{ 0, "F32", MPK_DTYPE_FLOAT, 32, 1, 4 },
	{ 1, "F16", MPK_DTYPE_FLOAT, 16, 1, 2 },
	{ 2, "Q4_0", 0, 0, 32, 18 },
	{ 3, "Q4_1", 0, 0, 32, 20 },
	{ 6, "Q5_0", 0, 0, 32, 22 },
	{ 7, "Q5_1", 0, 0, 32, 24 },
	{ 8, "Q8_0", 0, 0, 32, 34 },
	{ 9, "Q8_1", 0, 0, 32, 40 },
	{ 10, "Q2_K", 0, 0, 256, 84 },
	{ 11, "Q3_K", 0, 0, 256, 110 },
	{ 12, "Q4_K", 0, 0, 256, 144 },
	{ 13, "Q5_K", 0, 0, 256, 176 },
	{ 14, "Q6_K", 0, 0, 256, 210 },
	{ 15, "Q8_K", 0, 0, 256, 292 },
	{ 16, "IQ2_XXS", 0, 0, 256, 66 },
	{ 17, "IQ2_XS", 0, 0, 256, 74 },
	{ 18, "IQ3_XXS", 0, 0, 256, 98 },
	{ 19, "IQ1_S", 0, 0, 256, 50 },
	{ 20, "IQ4_NL", 0, 0, 32, 18 },
	{ 21, "IQ3_S", 0, 0, 256, 110 },
	{ 22, "IQ2_S", 0, 0, 256, 82 },
	{ 23, "IQ4_XS", 0, 0, 256, 136 },
	{ 24, "I8", MPK_DTYPE_INT, 8, 1, 1 },
	{ 25, "I16", MPK_DTYPE_INT, 16, 1, 2 },
	{ 26, "I32", MPK_DTYPE_INT, 32, 1, 4 },
	{ 27, "I64", MPK_DTYPE_INT, 64, 1, 8 },
	{ 28, "F64", MPK_DTYPE_FLOAT, 64, 1, 8 },
	{ 29, "IQ1_M", 0, 0, 256, 56 },
	{ 30, "BF16", MPK_DTYPE_BFLOAT, 16, 1, 2 },
	{ 34, "TQ1_0", 0, 0, 256, 54 },
	{ 35, "TQ2_0", 0, 0, 256, 66 },
	{ 39, "MXFP4", 0, 0, 32, 17 },
	{ 40, "NVFP4", 0, 0, 64, 36 },
	{ 41, "Q1_0", 0, 0, 128, 18 },
};

/* Numbers of types of values. */
enum { GGUF_BOOL = 7, GGUF_STRING = 8, GGUF_LIST = 9 };

static const struct {
	uint8_t bytes; /* 0: the size varies */
	char kind;     /* 'u' unsigned, 's' signed, 'f' floating point */
} values[] = {
	{ 1, 'u' }, { 1, 's' }, { 2, 'u' }, { 2, 's' }, { 4, 'u' }, { 4, 's' }, { 4, 'f' },
	{ 1, 'u' }, { 0, 0 },   { 0, 0 },   { 8, 'u' }, { 8, 's' }, { 8, 'f' },
};

static bool is_gguf(struct mpk_span file)
{
	return mpk_span_starts(file, "GGUF");
}

static enum mpk_code read_value(struct mpk_cursor *c, uint32_t type, int depth,
				struct mpk_strbuf *out, struct mpk_error *err);

/* Reads the first values of a list and their number, and skips the others. */
static enum mpk_code gguf_read_list(struct mpk_cursor *c, int depth, struct mpk_strbuf *out,
				    struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf rest = { 0 };
	uint32_t type;
	size_t count;

	MPK_TRY(mpk_read_u32(c, "type of a list", &type, err));
	if (type >= MPK_ARRAY_COUNT(values) || depth >= GGUF_LIST_DEPTH_MAX)
		return mpk_fail_offset(err, MPK_E_CORRUPT, c->space, mpk_cursor_offset(c),
				       "a list of values of type %" PRIu32 ", %d deep", type,
				       depth);
	MPK_TRY(mpk_read_count(c, "length of a list", values[type].bytes ? values[type].bytes : 8,
			       &count, err));
	mpk_strbuf_puts(out, "[");
	for (size_t i = 0; i < count; i++) {
		bool is_shown = i < GGUF_NOTE_MAX;

		if (is_shown && i)
			mpk_strbuf_puts(out, ", ");
		MPK_TRY(read_value(c, type, depth + 1, is_shown ? out : &rest, err));
		rest.len = 0;
	}
	if (count > GGUF_NOTE_MAX)
		mpk_strbuf_printf(out, ", ... %zu in all", count);
	mpk_strbuf_puts(out, "]");
	return MPK_OK;
}

static enum mpk_code read_value(struct mpk_cursor *c, uint32_t type, int depth,
				struct mpk_strbuf *out, struct mpk_error *err)
{
	struct mpk_span text;

	if (type >= MPK_ARRAY_COUNT(values))
		return mpk_fail_offset(err, MPK_E_CORRUPT, c->space, mpk_cursor_offset(c),
				       "a value of type %" PRIu32, type);
	if (type == GGUF_LIST)
		return gguf_read_list(c, depth, out, err);
	if (type != GGUF_STRING) {
		/* --- keys and values ------------------------------------------------------ */
		struct mpk_span s;
		uint64_t word = 0;
		unsigned bits = values[type].bytes * 8u;

		MPK_TRY(mpk_read_bytes(c, "value", values[type].bytes, &s, err));
		for (size_t i = s.len; i-- > 0;)
			word = word << 8 | s.data[i];
		if (type == GGUF_BOOL) {
			mpk_strbuf_puts(out, word ? "true" : "false");
		} else if (values[type].kind == 'u') {
			mpk_strbuf_printf(out, "%" PRIu64, word);
		} else if (values[type].kind == 's') {
			mpk_strbuf_printf(out, "%" PRId64,
					  (int64_t)(word << (64 - bits)) >> (64 - bits));
		} else if (bits == 32) {
			union {
				uint32_t word;
				float number;
			} f = { .word = (uint32_t)word };
			mpk_strbuf_printf(out, "%.9g", (double)f.number);
		} else {
			union {
				uint64_t word;
				double number;
			} f = { .word = word };
			mpk_strbuf_printf(out, "%.17g", f.number);
		}
		return MPK_OK;
	}
	MPK_TRY(mpk_read_str(c, "value", &text, err));
	mpk_strbuf_put(out, (const char *)text.data, text.len);
	return MPK_OK;
}

/* The alignment must be a power of two, as all writers have it. */
static enum mpk_code take_align(const struct mpk_weight_note *note, struct mpk_weights *w,
				struct mpk_error *err)
{
	uint64_t align;

	if (!mpk_span_is(note->key, "general.alignment"))
		return MPK_OK;
	if (!mpk_parse_u64(note->value, &align) || !align || (align & (align - 1)) ||
	    align > 1 << 20)
		return mpk_fail(err, MPK_E_CORRUPT, "general.alignment is %s",
				MPK_QUOTE(note->value));
	w->align = align;
	return MPK_OK;
}

static enum mpk_code read_keys(struct mpk_cursor *c, uint64_t count, struct mpk_arena *arena,
			       struct mpk_weights *w, struct mpk_error *err)
{
	struct mpk_weight_note *notes;

	if (count > mpk_cursor_left(c) / GGUF_KEY_MIN)
		return mpk_fail_offset(err, MPK_E_CORRUPT, c->space, 16,
				       "%" PRIu64 " keys do not fit in the file", count);
	MPK_TRY_ARRAY(notes, arena, (size_t)count + 1, err);
	for (size_t i = 0; i < count; i++) {
		MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };
		uint32_t type;
		const char *copy;

		MPK_TRY(mpk_read_str(c, "key", &notes[i].key, err));
		MPK_TRY(mpk_read_u32(c, "type of a value", &type, err));
		MPK_TRY(read_value(c, type, 0, &text, err));
		MPK_TRY(mpk_strbuf_status(&text, err));
		copy = mpk_arena_copy(arena, mpk_strbuf_text(&text), text.len);
		MPK_TRY_ALLOC(copy, err);
		notes[i].value = mpk_span_of(copy, text.len);
		MPK_TRY(take_align(&notes[i], w, err));
	}
	w->notes = notes;
	w->note_count = (size_t)count;
	return MPK_OK;
}

/* --- tensors ---------------------------------------------------------------------------------- */

static const struct gguf_type *type_of(uint32_t id)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(types); i++)
		if (types[i].id == id)
			return &types[i];
	return NULL;
}

/* Blocks lie along the innermost extent, whose rows have whole blocks. */
static bool bytes_of(const struct gguf_type *t, const struct mpk_weight *w, uint64_t *out)
{
	uint64_t blocks = 1, inner = w->ndim ? (uint64_t)w->shape[w->ndim - 1] : 1;

	for (size_t i = 0; i < w->ndim; i++)
		if (!mpk_mul_u64(blocks, (uint64_t)w->shape[i], &blocks))
			return false;
	if (inner % t->block_elements)
		return false;
	return mpk_mul_u64(blocks / t->block_elements, t->block_bytes, out) && *out <= INT64_MAX;
}

static enum mpk_code gguf_read_tensor(struct mpk_cursor *c, struct mpk_arena *arena,
				      struct mpk_weight *w, struct mpk_error *err)
{
	const struct gguf_type *type;
	uint32_t id;

	MPK_TRY(mpk_read_str(c, "name of a tensor", &w->name, err));

	uint32_t ndim;
	int64_t *shape;

	MPK_TRY(mpk_read_u32(c, "number of dimensions", &ndim, err));
	if (ndim > GGUF_NDIM_MAX)
		return mpk_fail_offset(err, MPK_E_UNSUPPORTED, c->space, mpk_cursor_offset(c) - 4,
				       "tensor '%s' has %" PRIu32
				       " dimensions; at most %d can be read",
				       MPK_QUOTE(w->name), ndim, GGUF_NDIM_MAX);
	MPK_TRY_ARRAY(shape, arena, ndim + 1, err);
	for (size_t i = ndim; i-- > 0;) {
		MPK_TRY(mpk_read_i64(c, "extent", &shape[i], err));
		if (shape[i] < 0)
			return mpk_fail_offset(err, MPK_E_CORRUPT, c->space,
					       mpk_cursor_offset(c) - 8,
					       "tensor '%s' has an extent of %" PRId64,
					       MPK_QUOTE(w->name), shape[i]);
	}
	w->shape = shape;
	w->ndim = ndim;

	MPK_TRY(mpk_read_u32(c, "type of a tensor", &id, err));
	type = type_of(id);
	if (!type)
		return mpk_fail_offset(err, MPK_E_UNSUPPORTED, c->space, mpk_cursor_offset(c) - 4,
				       "tensor '%s' is of the unknown type %" PRIu32,
				       MPK_QUOTE(w->name), id);
	w->type = type->name;
	w->coding = type->bits ? MPK_WEIGHT_PLAIN : MPK_WEIGHT_BLOCKS;
	if (type->bits)
		w->dtype = (struct mpk_dtype){ type->code, type->bits, 1 };
	if (!bytes_of(type, w, &w->len))
		return mpk_fail_offset(err, MPK_E_CORRUPT, c->space, mpk_cursor_offset(c) - 4,
				       "tensor '%s' of type %s has a shape that cannot be",
				       MPK_QUOTE(w->name), type->name);
	return mpk_read_u64(c, "offset of a tensor", &w->off, err);
}

static enum mpk_code read_gguf(struct mpk_span file, struct mpk_arena *arena,
			       struct mpk_weights *out, struct mpk_error *err)
{
	struct mpk_cursor c = mpk_cursor_of(file, 0, "file");
	struct mpk_weight_shard *shard = mpk_arena_alloc(arena, sizeof *shard);
	struct mpk_weight *items;
	uint64_t tensors, keys;

	MPK_TRY_ALLOC(shard, err);
	*shard = (struct mpk_weight_shard){ .has_bytes = true, .bytes = file.len };
	out->shards = shard;
	out->shard_count = 1;
	out->align = GGUF_ALIGN;

	struct mpk_span magic;
	uint32_t version;

	MPK_TRY(mpk_read_bytes(&c, "magic", 4, &magic, err));
	MPK_TRY(mpk_read_u32(&c, "version", &version, err));
	if (version != 2 && version != 3)
		return mpk_fail_offset(
			err, MPK_E_UNSUPPORTED, c.space, 4,
			version && !(version & 0xffff)
				? "a big-endian GGUF file; little-endian ones can be read"
				: "a GGUF file of version %" PRIu32 "; 2 and 3 can be read",
			version);
	MPK_TRY(mpk_read_u64(&c, "number of tensors", &tensors, err));
	MPK_TRY(mpk_read_u64(&c, "number of keys", &keys, err));

	MPK_TRY(read_keys(&c, keys, arena, out, err));
	if (tensors > mpk_cursor_left(&c) / GGUF_TENSOR_MIN)
		return mpk_fail_offset(err, MPK_E_CORRUPT, c.space, 8,
				       "%" PRIu64 " tensors do not fit in the file", tensors);
	MPK_TRY_ARRAY(items, arena, (size_t)tensors + 1, err);
	for (; out->count < tensors; out->count++)
		MPK_TRY(gguf_read_tensor(&c, arena, &items[out->count], err));
	out->items = items;
	/* in a file without tensors the padding may be missing */
	if (!mpk_align_up(mpk_cursor_offset(&c), out->align, &shard->data_off))
		return mpk_fail(err, MPK_E_CORRUPT, "the file is too long");

	/* Offsets count from the beginning of the data, which is known only now. */
	uint64_t data_off = shard->data_off;
	for (size_t i = 0; i < out->count; i++) {
		struct mpk_weight *w = &items[i];

		if (!mpk_add_u64(w->off, data_off, &w->off) || w->off > file.len ||
		    w->len > file.len - w->off)
			return mpk_fail_offset(err, MPK_E_CORRUPT, "file", data_off,
					       "tensor '%s' ends after the file",
					       MPK_QUOTE(w->name));
	}
	return MPK_OK;
}

const struct mpk_weights_format mpk_weights_gguf = { "gguf", "GGUF file", is_gguf, read_gguf };
