/* SPDX-License-Identifier: Apache-2.0 */
/* save.c - writes states as bytes, and reads them into a state that the same model made
 *
 * The format: magic "MPKSTATE", u32 version, u64 x 2 digest of the model, the type as u64 length
 * and text, then the data of that type. All numbers are little-endian. The bytes are untrusted:
 * before the state is changed, each count is compared with the bytes that are left, and each number
 * with the state. Contents of memory are copied unchanged, so both machines must have the same byte
 * order. The model's digest ensures that, because it is the digest of a library, which is for one
 * machine.
 *
 * For a paged cache, the data are: the numbers that the cache was made with; blocks, parents before
 * their children; sequences; then each page of each block, layer by layer. The formats of recurrent
 * states and of the older cache are described in their files (rnn.c, window.c). */
#include <stdlib.h>
#include <string.h>

#include "executor/relax/state_globals.h"
#include "executor/state/internal/paged.h"
#include "runtime/runtime.h"
#include "text/escape.h"

static const char magic[8] = "MPKSTATE";
enum { VERSION = 1 };

/* --- writing -------------------------------------------------------------------------------------- */

void mpk_save_put(struct mpk_save *s, const void *data, size_t len)
{
	if (s->data && len)
		memcpy(s->data + s->at, data, len);
	s->at += len;
}

void mpk_save_u32(struct mpk_save *s, uint32_t v)
{
	const uint8_t bytes[] = { (uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16),
				  (uint8_t)(v >> 24) };

	mpk_save_put(s, bytes, sizeof bytes);
}

void mpk_save_u64(struct mpk_save *s, uint64_t v)
{
	mpk_save_u32(s, (uint32_t)v);
	mpk_save_u32(s, (uint32_t)(v >> 32));
}

enum mpk_code mpk_save_memory(struct mpk_save *s, struct mpk_state_bytes from,
			      struct mpk_error *err)
{
	if (s->data)
		MPK_TRY(mpk_state_copy(
			from, (struct mpk_state_bytes){ s->tensor, s->at, from.count }, err));
	s->at += from.count;
	return MPK_OK;
}

/* --- reading -------------------------------------------------------------------------------------- */

enum mpk_code mpk_load_memory(struct mpk_load *l, struct mpk_state_bytes to, struct mpk_error *err)
{
	struct mpk_state_bytes from = { l->tensor, l->cursor.pos, to.count };
	struct mpk_span ignored;

	MPK_TRY(mpk_read_bytes(&l->cursor, "content", to.count, &ignored, err));
	return mpk_state_copy(from, to, err);
}

enum mpk_code mpk_load_same(struct mpk_load *l, const char *what, int64_t own,
			    struct mpk_error *err)
{
	int64_t its;

	MPK_TRY(mpk_read_i64(&l->cursor, what, &its, err));
	return mpk_state_check(its == own, err, "the saved state has %lld as %s, this one %lld",
			       (long long)its, what, (long long)own);
}

/* Fails if the bytes cannot have been written by a state. */
#define check_whole(condition, err, ...)                                                           \
	((condition) ? MPK_OK : mpk_fail(err, MPK_E_CORRUPT, __VA_ARGS__))

/* --- caches in pages ------------------------------------------------------------------------------ */

/* Numbers that must be equal in both caches. X(name, number) */
#define SAVED(X)                                                                                   \
	X("layers", c->layer_count)                                                                \
	X("the first layer", c->layer_first)                                                       \
	X("heads", c->kv_heads)                                                                    \
	X("extent of keys", c->qk_dim)                                                             \
	X("extent of values", c->v_dim)                                                            \
	X("tokens in a page", c->blocks.page_size)                                                 \
	X("element type", c->dtype.code | c->dtype.bits << 8 | c->dtype.lanes << 16)               \
	X("rotary embedding", c->rope)

/* Returns the bytes of one page in one layer; 0 if the layer has none. */
static uint64_t page_bytes(const struct mpk_paged *c, int32_t layer)
{
	return c->pages[layer] ? c->pages[layer]->bytes / (uint64_t)c->blocks.page_count : 0;
}

static bool is_wanted(int64_t id, const int64_t *ids, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (ids[i] == id)
			return true;
	return !ids;
}

/* The blocks of the sequences to save, with their parents, numbered in written order. */
struct saved_blocks {
	struct mpk_ints order;
	int32_t *number; /* for each block; -1: it is not written */
};

static enum mpk_code choose_blocks(const struct mpk_paged *c, const int64_t *ids, size_t count,
				   struct saved_blocks *out, struct mpk_error *err)
{
	const struct mpk_blocks *b = &c->blocks;
	struct mpk_ints trace = { 0 };

	out->number = malloc((b->count + 1) * sizeof *out->number);
	MPK_TRY_ALLOC(out->number, err);
	memset(out->number, 0xff, (b->count + 1) * sizeof *out->number);
	for (size_t i = 0; i < b->sequence_count; i++) {
		if (!is_wanted(b->sequences[i].id, ids, count))
			continue;
		trace.count = 0;
		mpk_blocks_trace(b, &b->sequences[i], &trace);
		for (size_t k = 0; k < trace.count; k++)
			if (out->number[trace.items[k]] < 0) {
				out->number[trace.items[k]] = (int32_t)out->order.count;
				mpk_ints_push(&out->order, trace.items[k]);
			}
	}
	bool failed = trace.failed || out->order.failed;

	mpk_ints_fini(&trace);
	return failed ? mpk_fail_nomem(err) : MPK_OK;
}

static enum mpk_code check_wanted(const struct mpk_paged *c, const int64_t *ids, size_t count,
				  struct mpk_error *err)
{
	struct mpk_sequence *s;

	for (size_t i = 0; i < count; i++)
		MPK_TRY(mpk_blocks_get(&c->blocks, ids[i], &s, err));
	for (size_t i = 0; i < c->blocks.sequence_count; i++)
		if (is_wanted(c->blocks.sequences[i].id, ids, count))
			MPK_TRY(mpk_state_check(
				c->blocks.sequences[i].is_committed, err,
				"the tree of tokens of sequence \"%lld\" is not committed",
				(long long)c->blocks.sequences[i].id));
	return MPK_OK;
}

static void put_tables(const struct mpk_paged *c, const int64_t *ids, size_t count,
		       const struct saved_blocks *blocks, struct mpk_save *s)
{
	const struct mpk_blocks *b = &c->blocks;
	uint64_t sequences = 0;

	mpk_save_u64(s, blocks->order.count);
	for (size_t i = 0; i < blocks->order.count; i++) {
		const struct mpk_block *block = &b->items[blocks->order.items[i]];
		int32_t parent = block->parent < 0 ? -1 : blocks->number[block->parent];

		mpk_save_u32(s, (uint32_t)block->length);
		mpk_save_u32(s, (uint32_t)block->sink);
		mpk_save_u32(s, (uint32_t)block->offset);
		mpk_save_u32(s, (uint32_t)parent);
		mpk_save_u32(s, (uint32_t)block->pages.count);
	}
	for (size_t i = 0; i < b->sequence_count; i++)
		sequences += is_wanted(b->sequences[i].id, ids, count);
	mpk_save_u64(s, sequences);
	for (size_t i = 0; i < b->sequence_count; i++) {
		const struct mpk_sequence *q = &b->sequences[i];

		if (!is_wanted(q->id, ids, count))
			continue;
		mpk_save_u64(s, (uint64_t)q->id);
		mpk_save_u32(s, (uint32_t)blocks->number[q->last]);
		mpk_save_u32(s, (uint32_t)q->window);
		mpk_save_u32(s, (uint32_t)q->sink);
	}
}

static enum mpk_code put_pages(const struct mpk_paged *c, const struct saved_blocks *blocks,
			       struct mpk_save *s, struct mpk_error *err)
{
	for (size_t i = 0; i < blocks->order.count; i++) {
		const struct mpk_block *block = &c->blocks.items[blocks->order.items[i]];

		for (size_t k = 0; k < block->pages.count; k++)
			for (int32_t layer = 0; layer < c->layer_count; layer++) {
				uint64_t bytes = page_bytes(c, layer);

				if (bytes)
					MPK_TRY(mpk_save_memory(
						s,
						(struct mpk_state_bytes){
							c->pages[layer],
							(uint64_t)block->pages.items[k] * bytes,
							bytes },
						err));
			}
	}
	return MPK_OK;
}

enum mpk_code mpk_paged_save(const struct mpk_kv_state *state, const int64_t *ids, size_t count,
			     struct mpk_save *s, struct mpk_error *err)
{
	const struct mpk_paged *c = (const struct mpk_paged *)state;
	struct saved_blocks blocks = { 0 };
	enum mpk_code code;

	MPK_TRY(check_wanted(c, ids, count, err));
	code = choose_blocks(c, ids, count, &blocks, err);
	if (code == MPK_OK) {
#define PUT(name, number) mpk_save_u64(s, (uint64_t)(int64_t)(number));
		SAVED(PUT)
		put_tables(c, ids, count, &blocks, s);
		code = put_pages(c, &blocks, s, err);
	}
	mpk_ints_fini(&blocks.order);
	free(blocks.number);
	return code;
}

/* The saved data, before any of it is put into the cache. */
struct loaded {
	struct mpk_block_image *blocks;
	size_t block_count;
	struct mpk_sequence *sequences;
	size_t sequence_count;
};

/* Checks a block: it must have pages for all its tokens; with a window, for the tokens that are
 * still in the window. */
static enum mpk_code take_block(struct mpk_load *l, const struct mpk_paged *c, struct loaded *got,
				size_t i, struct mpk_error *err)
{
	struct mpk_block_image *b = &got->blocks[i];
	uint32_t pages;
	int64_t used, room;

	MPK_TRY(mpk_read_i32(&l->cursor, "length", &b->length, err));
	MPK_TRY(mpk_read_i32(&l->cursor, "sink", &b->sink, err));
	MPK_TRY(mpk_read_i32(&l->cursor, "offset", &b->offset, err));
	MPK_TRY(mpk_read_i32(&l->cursor, "parent", &b->parent, err));
	MPK_TRY(mpk_read_u32(&l->cursor, "pages", &pages, err));
	MPK_TRY(mpk_state_check(pages <= (uint32_t)c->blocks.page_count, err,
				"a saved sequence has more pages than the cache"));
	b->page_count = (int32_t)pages;
	b->total = b->length;
	used = (int64_t)b->length - b->sink + b->offset;
	room = (int64_t)pages * c->blocks.page_size;
	return check_whole(b->length >= 0 && b->sink >= 0 && b->offset >= 0 && used >= 0 &&
				   b->sink <= b->length && b->offset <= room && used <= room &&
				   (c->slides || (!b->sink && !b->offset)) && b->parent >= -1 &&
				   b->parent < (int64_t)i,
			   err, "saved block %zu does not hold together", i);
}

/* A block with children must be full, and its window must not have slid. */
static enum mpk_code check_parent(const struct mpk_paged *c, const struct loaded *got, size_t i,
				  struct mpk_error *err)
{
	const struct mpk_block_image *p;

	if (got->blocks[i].parent < 0)
		return MPK_OK;
	p = &got->blocks[got->blocks[i].parent];
	got->blocks[i].total += p->total;
	return check_whole(!p->sink && !p->offset &&
				   p->length == (int64_t)p->page_count * c->blocks.page_size,
			   err, "saved block %zu follows one that is not full", i);
}

static enum mpk_code take_sequence(struct mpk_load *l, const struct mpk_paged *c,
				   struct loaded *got, size_t i, struct mpk_error *err)
{
	struct mpk_sequence *s = &got->sequences[i], *ignored;
	int64_t length;

	*s = (struct mpk_sequence){ .is_chain = true, .is_committed = true };
	MPK_TRY(mpk_read_i64(&l->cursor, "sequence", &s->id, err));
	MPK_TRY(mpk_read_i32(&l->cursor, "block", &s->last, err));
	MPK_TRY(mpk_read_i32(&l->cursor, "window", &s->window, err));
	MPK_TRY(mpk_read_i32(&l->cursor, "sink", &s->sink, err));
	MPK_TRY(check_whole(s->last >= 0 && (size_t)s->last < got->block_count && s->window >= -1 &&
				    s->window <= MPK_PAGED_WINDOW_MAX && s->sink >= 0 &&
				    (s->window == -1 || c->slides) &&
				    (s->window == -1 ? !s->sink : s->sink <= s->window),
			    err, "saved sequence %zu does not hold together", i));
	got->blocks[s->last].is_used = true;
	length = got->blocks[s->last].total;
	s->length = (int32_t)length;
	MPK_TRY(check_whole(length <= INT32_MAX / 2, err, "a saved sequence of %lld tokens",
			    (long long)length));
	for (size_t k = 0; k < i; k++)
		MPK_TRY(check_whole(got->sequences[k].id != s->id, err,
				    "sequence \"%lld\" was saved twice", (long long)s->id));
	return mpk_state_check(mpk_blocks_get(&c->blocks, s->id, &ignored, NULL) != MPK_OK, err,
			       "sequence \"%lld\" is already in the cache", (long long)s->id);
}

/* Reads all tables, and checks that the contents of pages follow. */
static enum mpk_code take_tables(struct mpk_load *l, const struct mpk_paged *c, struct loaded *got,
				 struct mpk_error *err)
{
	uint64_t pages = 0, layers = 0, left;

#define TAKE(name, number) MPK_TRY(mpk_load_same(l, name, (int64_t)(number), err));
	SAVED(TAKE)
	MPK_TRY(mpk_read_count(&l->cursor, "blocks", 20, &got->block_count, err));
	got->blocks = calloc(got->block_count + 1, sizeof *got->blocks);
	MPK_TRY_ALLOC(got->blocks, err);
	for (size_t i = 0; i < got->block_count; i++) {
		MPK_TRY(take_block(l, c, got, i, err));
		MPK_TRY(check_parent(c, got, i, err));
		pages += (uint64_t)got->blocks[i].page_count;
	}
	MPK_TRY(mpk_read_count(&l->cursor, "sequences", 20, &got->sequence_count, err));
	got->sequences = calloc(got->sequence_count + 1, sizeof *got->sequences);
	MPK_TRY_ALLOC(got->sequences, err);
	for (size_t i = 0; i < got->sequence_count; i++)
		MPK_TRY(take_sequence(l, c, got, i, err));
	for (size_t i = got->block_count; i-- > 0;) {
		struct mpk_block_image *b = &got->blocks[i];

		if (b->parent >= 0)
			got->blocks[b->parent].is_used |= b->is_used;
		MPK_TRY(check_whole(b->is_used, err, "saved block %zu is of no sequence", i));
	}
	for (int32_t layer = 0; layer < c->layer_count; layer++)
		layers += page_bytes(c, layer);
	MPK_TRY(mpk_state_check(pages <= (uint64_t)mpk_blocks_free_pages(&c->blocks), err,
				"the cache has %d free pages for %llu that were saved",
				(int)mpk_blocks_free_pages(&c->blocks), (unsigned long long)pages));
	left = l->cursor.bytes.len - l->cursor.pos;
	return check_whole(layers ? left % layers == 0 && left / layers == pages : !left, err,
			   "the saved pages are not all there, or something follows them");
}

static enum mpk_code take_pages(struct mpk_load *l, const struct mpk_paged *c,
				const struct loaded *got, struct mpk_error *err)
{
	for (size_t i = 0; i < got->block_count; i++) {
		const struct mpk_block *block = &c->blocks.items[got->blocks[i].made];

		for (size_t k = 0; k < block->pages.count; k++)
			for (int32_t layer = 0; layer < c->layer_count; layer++) {
				uint64_t bytes = page_bytes(c, layer);

				if (bytes)
					MPK_TRY(mpk_load_memory(
						l,
						(struct mpk_state_bytes){
							c->pages[layer],
							(uint64_t)block->pages.items[k] * bytes,
							bytes },
						err));
			}
	}
	return MPK_OK;
}

/* Sequences whose contents are incomplete are removed again. */
static enum mpk_code put_into_cache(struct mpk_load *l, struct mpk_paged *c,
				    const struct loaded *got, struct mpk_error *err)
{
	enum mpk_code code, back = MPK_OK;

	MPK_TRY(mpk_blocks_restore(&c->blocks, got->blocks, got->block_count, got->sequences,
				   got->sequence_count, err));
	code = take_pages(l, c, got, err);
	for (size_t i = 0; i < got->sequence_count && code != MPK_OK && back == MPK_OK; i++)
		back = mpk_paged_sequences.remove(&c->base, got->sequences[i].id, NULL);
	return code;
}

enum mpk_code mpk_paged_load(struct mpk_kv_state *state, struct mpk_load *l, struct mpk_error *err)
{
	struct mpk_paged *c = (struct mpk_paged *)state;
	struct loaded got = { 0 };
	enum mpk_code code = take_tables(l, c, &got, err);

	if (code == MPK_OK)
		code = put_into_cache(l, c, &got, err);
	free(got.blocks);
	free(got.sequences);
	return code;
}

/* --- any state ------------------------------------------------------------------------------------ */

/* Arguments: state; ids or none; digest of the model. Returns a uint8 tensor. */
static enum mpk_code save_state(struct mpk_kv_state *state, const struct mpk_kv_call *call,
				struct mpk_error *err)
{
	static const struct mpk_dtype byte = { MPK_DTYPE_UINT, 8, 1 };
	const struct mpk_shape *ids = NULL, *digest;
	struct mpk_tensor *t = NULL;
	enum mpk_code code = MPK_OK;

	if (call->args[1].kind != MPK_VALUE_NONE)
		MPK_TRY(mpk_state_shape(call->name, call->args, 1, &ids, err));
	MPK_TRY(mpk_state_shape(call->name, call->args, 2, &digest, err));
	MPK_TRY(mpk_state_check(digest->ndim == 2 && state->ops->save, err,
				"%s: this state cannot be saved", call->name));
	/* the first round counts, the second writes */
	for (struct mpk_save s = { 0 }; code == MPK_OK; s = (struct mpk_save){ t->dl.data, 0, t }) {
		const char *type = state->object.type;
		int64_t bytes;

		mpk_save_put(&s, magic, sizeof magic);
		mpk_save_u32(&s, VERSION);
		mpk_save_u64(&s, (uint64_t)digest->extents[0]);
		mpk_save_u64(&s, (uint64_t)digest->extents[1]);
		mpk_save_u64(&s, strlen(type));
		mpk_save_put(&s, type, strlen(type));
		code = state->ops->save(state, ids ? ids->extents : NULL, ids ? ids->ndim : 0, &s,
					err);
		if (code != MPK_OK || t)
			break;
		bytes = (int64_t)s.at;
		code = mpk_tensor_create(byte, &bytes, 1, MPK_STORAGE_PRIVATE, &t, err);
	}
	if (code == MPK_OK)
		*call->result = mpk_value_of_tensor(t);
	else
		mpk_tensor_drop(t);
	return code;
}

/* Arguments: state; uint8 tensor; digest of the model. */
static enum mpk_code load_state(struct mpk_kv_state *state, const struct mpk_kv_call *call,
				struct mpk_error *err)
{
	struct mpk_load l = { 0 };

	MPK_TRY(mpk_relax_tensor(call->name, call->args, 1, &l.tensor, err));
	MPK_TRY(mpk_state_check(mpk_dldevice_is_host(l.tensor->dl.device) &&
					l.tensor->dl.dtype.bits == 8 && l.tensor->dl.ndim == 1,
				err, "%s: argument 1 must be bytes in host memory", call->name));
	l.cursor = mpk_cursor_of(
		mpk_span_of(mpk_dltensor_data(&l.tensor->dl), (size_t)l.tensor->dl.shape[0]), 0,
		"saved state");

	const struct mpk_shape *digest;
	struct mpk_span begin, type;
	uint64_t words[2];
	uint32_t version;

	MPK_TRY(mpk_state_shape(call->name, call->args, 2, &digest, err));
	MPK_TRY(mpk_read_bytes(&l.cursor, "the first bytes", sizeof magic, &begin, err));
	if (memcmp(begin.data, magic, sizeof magic) != 0)
		return mpk_fail(err, MPK_E_CORRUPT, "the bytes are no saved state");
	MPK_TRY(mpk_read_u32(&l.cursor, "version", &version, err));
	if (version != VERSION)
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"a state saved in version %u; this is version %d", version,
				VERSION);
	MPK_TRY(mpk_read_u64(&l.cursor, "digest", &words[0], err));
	MPK_TRY(mpk_read_u64(&l.cursor, "digest", &words[1], err));
	MPK_TRY(mpk_state_check(digest->ndim == 2 && words[0] == (uint64_t)digest->extents[0] &&
					words[1] == (uint64_t)digest->extents[1],
				err, "the state was saved by another model"));
	MPK_TRY(mpk_read_str(&l.cursor, "type", &type, err));
	MPK_TRY(mpk_state_check(mpk_span_is(type, state->object.type) && state->ops->load, err,
				"the saved state is a %s, this one a %s", MPK_QUOTE(type),
				state->object.type));

	return state->ops->load(state, &l, err);
}

MPK_KV_BUILTIN(kv_save, "mpk.state_save", 3, 3, &mpk_kv_every, save_state)
MPK_KV_BUILTIN(kv_load, "mpk.state_load", 3, 3, &mpk_kv_every, load_state)

/* Memory is copied by the devices of the runtime whose code calls. */
static enum mpk_code call_here(struct mpk_runtime *runtime, const struct mpk_args *args,
			       struct mpk_value *result, struct mpk_error *err, bool saves)
{
	struct mpk_context own = mpk_context_get(), before;
	enum mpk_code code;

	own.runtime = runtime;
	before = mpk_context_swap(own);
	code = (saves ? kv_save : kv_load)(args->values, args->count, result, err);
	(void)mpk_context_swap(before);
	return code;
}

static enum mpk_code global_save(struct mpk_runtime *runtime, const struct mpk_args *args,
				 struct mpk_value *result, struct mpk_error *err)
{
	return call_here(runtime, args, result, err, true);
}

static enum mpk_code global_load(struct mpk_runtime *runtime, const struct mpk_args *args,
				 struct mpk_value *result, struct mpk_error *err)
{
	return call_here(runtime, args, result, err, false);
}

const struct mpk_global mpk_state_globals[MPK_STATE_GLOBALS] = {
	{ "mpk.state_save", global_save },
	{ "mpk.state_load", global_load },
};
