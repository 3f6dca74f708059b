/* SPDX-License-Identifier: Apache-2.0 */
/* blocks.c - the sequences of a cache: adds and removes them, extends them page by page, and forks
 * them
 *
 * Everything that can fail is checked before anything is changed, so a cache stays consistent after
 * an error. Only a fork takes more than one step. Full pages before the fork are shared; if the
 * fork is within a block, the block is split. The page that contains the fork is copied as far as
 * the child shares its tokens. */
#include "executor/state/internal/paged.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

static void sequence_fini(struct mpk_sequence *s)
{
	mpk_ints_fini(&s->parents);
	mpk_ints_fini(&s->depths);
}

static struct mpk_blocks *blocks_of(struct mpk_kv_state *cache)
{
	return &((struct mpk_paged *)cache)->blocks;
}

/* Removes all sequences and frees all pages. */
static enum mpk_code blocks_clear(struct mpk_kv_state *cache, struct mpk_error *err)
{
	struct mpk_blocks *b = blocks_of(cache);

	(void)err;
	mpk_paged_pass_fini(&((struct mpk_paged *)cache)->pass);
	for (size_t i = 0; i < b->sequence_count; i++)
		sequence_fini(&b->sequences[i]);
	for (size_t i = 0; i < b->count; i++)
		mpk_ints_fini(&b->items[i].pages);
	free(b->sequences);
	free(b->items);
	b->sequences = NULL;
	b->items = NULL;
	b->sequence_count = b->sequence_cap = b->count = b->cap = 0;
	mpk_ints_fini(&b->free_pages);
	mpk_ints_fini(&b->free_blocks);
	b->fresh = 0;
	return MPK_OK;
}

int32_t mpk_blocks_free_pages(const struct mpk_blocks *b)
{
	return b->page_count - b->fresh + (int32_t)b->free_pages.count;
}

/* Returns the sequence with an id; NULL if there is none. Valid until a sequence is added or
 *         removed. */
static struct mpk_sequence *blocks_find(const struct mpk_blocks *b, int64_t id)
{
	for (size_t i = 0; i < b->sequence_count; i++)
		if (b->sequences[i].id == id)
			return &b->sequences[i];
	return NULL;
}

enum mpk_code mpk_blocks_get(const struct mpk_blocks *b, int64_t id, struct mpk_sequence **out,
			     struct mpk_error *err)
{
	*out = blocks_find(b, id);
	return mpk_state_check(*out, err, "sequence \"%lld\" is not in the cache", (long long)id);
}

/* --- pages and blocks ---------------------------------------------------------------------------- */

static enum mpk_code blocks_take_page(struct mpk_blocks *b, int32_t *out, struct mpk_error *err)
{
	if (b->free_pages.count)
		*out = b->free_pages.items[--b->free_pages.count];
	else if (b->fresh < b->page_count)
		*out = b->fresh++;
	else
		return mpk_relax_raise(err, "InternalError",
				       "the cache is full: all of its %d pages are used",
				       (int)b->page_count);
	return MPK_OK;
}

/* Takes a free block, which is empty and has no parent. Blocks may be moved in memory. */
static enum mpk_code blocks_take(struct mpk_blocks *b, int32_t *out, struct mpk_error *err)
{
	struct mpk_block *block;

	if (b->free_blocks.count) {
		*out = b->free_blocks.items[--b->free_blocks.count];
	} else {
		if (b->count >= INT32_MAX || !MPK_VEC_ROOM(b->items, b->count, b->cap))
			return mpk_fail_nomem(err);
		b->items[b->count] = (struct mpk_block){ 0 };
		*out = (int32_t)b->count++;
	}
	block = &b->items[*out];
	block->pages.count = 0;
	*block = (struct mpk_block){ .pages = block->pages, .parent = -1 };
	return MPK_OK;
}

/* Makes the lists of free pages and blocks large enough for all of them, so that freeing cannot
 * fail. */
static enum mpk_code room_to_free(struct mpk_blocks *b, struct mpk_error *err)
{
	if (mpk_vec_reserve(&b->free_pages.items, &b->free_pages.cap, (size_t)b->fresh + 1,
			    sizeof(int32_t)) &&
	    mpk_vec_reserve(&b->free_blocks.items, &b->free_blocks.cap, b->count + 1,
			    sizeof(int32_t)))
		return MPK_OK;
	return mpk_fail_nomem(err);
}

static void free_page(struct mpk_blocks *b, int32_t page)
{
	if (page != MPK_PAGE_NONE)
		b->free_pages.items[b->free_pages.count++] = page;
}

static void free_block(struct mpk_blocks *b, int32_t index)
{
	struct mpk_block *block = &b->items[index];

	for (size_t i = 0; i < block->pages.count; i++)
		free_page(b, block->pages.items[i]);
	block->pages.count = 0;
	b->free_blocks.items[b->free_blocks.count++] = index;
}

/* --- sequences ----------------------------------------------------------------------------------- */

/* Adds a sequence; its length is the sum of its blocks' lengths. */
static enum mpk_code blocks_insert(struct mpk_blocks *b, int64_t id, int32_t last,
				   struct mpk_error *err)
{
	struct mpk_sequence *s;

	if (!MPK_VEC_ROOM(b->sequences, b->sequence_count, b->sequence_cap))
		return mpk_fail_nomem(err);
	s = &b->sequences[b->sequence_count++];
	*s = (struct mpk_sequence){
		.id = id, .last = last, .window = -1, .is_chain = true, .is_committed = true
	};
	for (int32_t at = last; at != -1; at = b->items[at].parent)
		s->length += b->items[at].length;
	b->items[last].refs++;
	return MPK_OK;
}

static enum mpk_code blocks_add(struct mpk_kv_state *cache, int64_t id, struct mpk_error *err)
{
	struct mpk_blocks *b = blocks_of(cache);
	int32_t block;

	MPK_TRY(mpk_state_check(!blocks_find(b, id), err,
				"sequence \"%lld\" is already in the cache", (long long)id));
	MPK_TRY(blocks_take(b, &block, err));
	return blocks_insert(b, id, block, err);
}

static enum mpk_code blocks_remove(struct mpk_kv_state *cache, int64_t id, struct mpk_error *err)
{
	struct mpk_blocks *b = blocks_of(cache);
	struct mpk_sequence *s;
	int32_t at;

	MPK_TRY(mpk_blocks_get(b, id, &s, err));
	MPK_TRY(room_to_free(b, err));
	at = s->last;
	while (at != -1 && b->items[at].refs == 1) {
		free_block(b, at);
		at = b->items[at].parent;
	}
	if (at != -1)
		b->items[at].refs--;
	sequence_fini(s);
	*s = b->sequences[--b->sequence_count];
	return MPK_OK;
}

static enum mpk_code blocks_fork(struct mpk_kv_state *cache, int64_t parent, int64_t child,
				 int64_t at, struct mpk_error *err);

/* The remaining tokens are in blocks that other sequences share, so the sequence is replaced by a
 * fork of itself. */
static enum mpk_code pop_shared(struct mpk_kv_state *cache, int64_t id, int32_t length,
				struct mpk_error *err)
{
	int64_t other = -1 - id;
	struct mpk_sequence *s;

	MPK_TRY(blocks_fork(cache, id, other, length, err));
	MPK_TRY(blocks_remove(cache, id, err));
	MPK_TRY(mpk_blocks_get(blocks_of(cache), other, &s, err));
	s->id = id;
	return MPK_OK;
}

/* Frees the last pages of a block that only this sequence has. */
static void shorten(struct mpk_blocks *b, struct mpk_block *block, int32_t count)
{
	int32_t kept = (block->length - count + b->page_size - 1) / b->page_size;

	while ((int64_t)block->pages.count > kept)
		free_page(b, block->pages.items[--block->pages.count]);
	block->length -= count;
}

static enum mpk_code blocks_pop(struct mpk_kv_state *cache, int64_t id, int64_t count,
				struct mpk_error *err)
{
	struct mpk_blocks *b = blocks_of(cache);
	struct mpk_sequence *s;
	int32_t left;

	MPK_TRY(mpk_blocks_get(b, id, &s, err));
	MPK_TRY(mpk_state_check(
		count <= s->length, err,
		"sequence \"%lld\" has %d tokens, of which %lld cannot be taken back",
		(long long)id, (int)s->length, (long long)count));
	MPK_TRY(room_to_free(b, err));
	left = (int32_t)count;
	while (left && b->items[s->last].refs == 1) {
		struct mpk_block *block = &b->items[s->last];

		if (left <= block->length || block->parent == -1) {
			shorten(b, block, left <= block->length ? left : block->length);
			s->length -= left;
			return MPK_OK;
		}
		left -= block->length;
		s->length -= block->length;
		free_block(b, s->last);
		s->last = block->parent;
	}
	return left ? pop_shared(cache, id, s->length - left, err) : MPK_OK;
}

void mpk_blocks_trace(const struct mpk_blocks *b, const struct mpk_sequence *s,
		      struct mpk_ints *out)
{
	size_t first = out->count;

	for (int32_t at = s->last; at != -1; at = b->items[at].parent)
		mpk_ints_push(out, at);
	for (size_t i = first, k = out->count; !out->failed && i + 1 < k; i++) {
		int32_t block = out->items[i];

		out->items[i] = out->items[--k];
		out->items[k] = block;
	}
}

/* --- growing ------------------------------------------------------------------------------------- */

/* Removes the tokens that leave the window, except those that are always kept. */
static enum mpk_code slide(struct mpk_blocks *b, struct mpk_sequence *s, struct mpk_error *err)
{
	struct mpk_block *block = &b->items[s->last];
	int32_t by = s->length - s->window, sinks, first;

	if (by <= 0)
		return MPK_OK;
	if (s->sink > 0 && !block->sink)
		block->sink = block->offset = s->sink;
	MPK_TRY(mpk_state_check(block->length - by >= block->sink, err,
				"the window of sequence \"%lld\" slides beyond its last block",
				(long long)s->id));
	sinks = (block->sink + b->page_size - 1) / b->page_size;
	first = (block->offset + by) / b->page_size;
	block->offset = (block->offset + by) % b->page_size;
	for (; first > sinks && (size_t)sinks < block->pages.count; first--) {
		int32_t *gone = &block->pages.items[sinks];

		free_page(b, *gone);
		memmove(gone, gone + 1, (--block->pages.count - (size_t)sinks) * sizeof *gone);
	}
	block->offset += first * b->page_size;
	block->length -= by;
	s->length = s->window;
	return MPK_OK;
}

enum mpk_code mpk_blocks_grow(struct mpk_blocks *b, struct mpk_sequence *s, int32_t count,
			      bool slides, struct mpk_error *err)
{
	struct mpk_block *block = &b->items[s->last];
	int64_t used = (int64_t)block->length - block->sink + block->offset;
	bool moves = slides && s->window != -1;

	MPK_TRY(mpk_state_check(block->refs == 1, err,
				"the last block of sequence \"%lld\" is shared and cannot grow",
				(long long)s->id));
	MPK_TRY(room_to_free(b, err));

	/* A sliding window needs pages for its new tokens before it slides and frees old ones. */
	int64_t pages = (used + count + b->page_size - 1) / b->page_size;
	while ((int64_t)block->pages.count < pages) {
		int32_t page = MPK_PAGE_NONE;

		if (!moves || mpk_blocks_free_pages(b))
			MPK_TRY(blocks_take_page(b, &page, err));
		mpk_ints_push(&block->pages, page);
		if (block->pages.failed) {
			free_page(b, page);
			block->pages.failed = false;
			return mpk_fail_nomem(err);
		}
	}

	block->length += count;
	if (!moves)
		return MPK_OK;
	MPK_TRY(room_to_free(b, err));
	MPK_TRY(slide(b, s, err));
	for (size_t i = 0; i < block->pages.count; i++)
		if (block->pages.items[i] == MPK_PAGE_NONE)
			MPK_TRY(blocks_take_page(b, &block->pages.items[i], err));
	return MPK_OK;
}

/* --- places -------------------------------------------------------------------------------------- */

enum mpk_code mpk_blocks_place(const struct mpk_blocks *b, const struct mpk_block *block,
			       int32_t offset, int32_t *out, struct mpk_error *err)
{
	size_t page = (size_t)(offset / b->page_size);

	if (offset < 0 || page >= block->pages.count || block->pages.items[page] < 0)
		return mpk_relax_raise(err, "InternalError",
				       "the cache has no page for token %d of a block",
				       (int)offset);
	*out = block->pages.items[page] * b->page_size + offset % b->page_size;
	return MPK_OK;
}

/* --- forks ------------------------------------------------------------------------------------ */

static enum mpk_code check_fork(const struct mpk_blocks *b, int64_t parent, int64_t child,
				int64_t at, struct mpk_sequence **out, struct mpk_error *err)
{
	struct mpk_sequence *s;

	MPK_TRY(mpk_blocks_get(b, parent, &s, err));
	MPK_TRY(mpk_state_check(!blocks_find(b, child), err,
				"sequence \"%lld\" is already in the cache", (long long)child));
	MPK_TRY(mpk_state_check(at >= -1 && at <= s->length, err,
				"sequence \"%lld\" of %d tokens cannot be forked at %lld",
				(long long)parent, (int)s->length, (long long)at));
	MPK_TRY(mpk_state_check(s->is_committed, err,
				"the tree of tokens of sequence \"%lld\" is not committed",
				(long long)parent));
	*out = s;
	if (s->window == -1)
		return MPK_OK;
	int32_t kept = s->length - b->items[s->last].length + s->sink;

	return mpk_state_check(
		(at == -1 ? s->length : at) <= kept, err,
		"sequence \"%lld\" has a window that slides, so that it can be forked "
		"within its first %d tokens alone",
		(long long)parent, (int)kept);
}

/* The parent continues in a new block, because its last block will be shared. */
static enum mpk_code end_in_new_block(struct mpk_blocks *b, struct mpk_sequence *s,
				      struct mpk_error *err)
{
	int32_t made;

	MPK_TRY(blocks_take(b, &made, err));
	b->items[made].start = s->length;
	b->items[made].parent = s->last;
	b->items[made].refs = 1;
	s->last = made;
	return MPK_OK;
}

/* Moves the first pages of a block to a new block before it, which both sequences share. */
static enum mpk_code split(struct mpk_blocks *b, int32_t index, int32_t pages, int32_t *out,
			   struct mpk_error *err)
{
	struct mpk_block *block, *first;
	int32_t tokens = pages * b->page_size;

	MPK_TRY(blocks_take(b, out, err));
	block = &b->items[index];
	first = &b->items[*out];
	for (int32_t i = 0; i < pages; i++)
		mpk_ints_push(&first->pages, block->pages.items[i]);
	if (first->pages.failed)
		return mpk_fail_nomem(err);
	block->pages.count -= (size_t)pages;
	memmove(block->pages.items, block->pages.items + pages,
		block->pages.count * sizeof *block->pages.items);
	first->parent = block->parent;
	first->refs = 2;
	first->start = block->start;
	first->length = tokens;
	block->parent = *out;
	block->start += tokens;
	block->length -= tokens;
	return MPK_OK;
}

struct fork {
	int32_t at;     /* position */
	int32_t block;  /* the block that is forked */
	int32_t tokens; /* number of the block's tokens before the fork */
};

/* Makes the child's block: sets its parent, and copies its part of a page. */
static enum mpk_code make_child(struct mpk_blocks *b, struct mpk_sequence *s, const struct fork *f,
				int32_t child, struct mpk_error *err)
{
	int32_t in_page = f->tokens % b->page_size, pages = f->tokens / b->page_size;
	int32_t before = b->items[f->block].parent, page;

	MPK_TRY(mpk_state_check((size_t)(pages + !!in_page) <= b->items[f->block].pages.count, err,
				"sequence \"%lld\" has lost pages", (long long)s->id));
	if (pages) {
		MPK_TRY(split(b, f->block, pages, &before, err));
		if (s->window != -1 && f->block == s->last)
			s->sink -= f->tokens - in_page;
	} else if (before != -1) {
		b->items[before].refs++;
	}
	b->items[child].parent = before;
	b->items[child].start = f->at - in_page;
	b->items[child].length = in_page;
	if (!in_page)
		return MPK_OK;
	MPK_TRY(blocks_take_page(b, &page, err));
	mpk_ints_push(&b->items[child].pages, page);
	if (b->items[child].pages.failed)
		return mpk_fail_nomem(err);
	return b->copy_page(b, b->items[f->block].pages.items[0], page, in_page, err);
}

static enum mpk_code fork_here(struct mpk_blocks *b, struct mpk_sequence *s, int64_t child,
			       int32_t at, struct mpk_error *err)
{
	struct fork f = { .at = at, .tokens = at };
	struct mpk_ints trace = { 0 };
	int32_t made;

	/* full blocks end at the end of a page, so the page of the fork is known */
	MPK_TRY(mpk_state_check(at % b->page_size == 0 || mpk_blocks_free_pages(b), err,
				"the cache is full: all of its %d pages are used",
				(int)b->page_count));
	if (at == s->length && at % b->page_size == 0 && b->items[s->last].length > 0)
		MPK_TRY(end_in_new_block(b, s, err));
	MPK_TRY(blocks_take(b, &made, err));
	mpk_blocks_trace(b, s, &trace);
	bool failed = trace.failed;

	if (!failed) {
		/* Find the block of the fork, and how many of its tokens precede the fork. */
		int32_t *tokens = &f.tokens;
		size_t i = 0;

		while (i + 1 < trace.count && b->items[trace.items[i]].length <= *tokens)
			*tokens -= b->items[trace.items[i++]].length;
		f.block = trace.items[i];
	}
	mpk_ints_fini(&trace);
	if (failed)
		return mpk_fail_nomem(err);
	MPK_TRY(make_child(b, s, &f, made, err));
	return blocks_insert(b, child, made, err);
}

static enum mpk_code blocks_fork(struct mpk_kv_state *cache, int64_t parent, int64_t child,
				 int64_t at, struct mpk_error *err)
{
	struct mpk_blocks *b = blocks_of(cache);
	struct mpk_sequence *s;

	MPK_TRY(check_fork(b, parent, child, at, &s, err));
	return fork_here(b, s, child, at == -1 ? s->length : (int32_t)at, err);
}

/* --- restoring a saved cache ------------------------------------------------------------------ */

static enum mpk_code restore_block(struct mpk_blocks *b, struct mpk_block_image *images, size_t i,
				   struct mpk_error *err)
{
	struct mpk_block_image *image = &images[i];
	struct mpk_block *block;
	int32_t page;

	MPK_TRY(blocks_take(b, &image->made, err));
	block = &b->items[image->made];
	for (int32_t k = 0; k < image->page_count; k++) {
		MPK_TRY(blocks_take_page(b, &page, err));
		mpk_ints_push(&block->pages, page);
		if (block->pages.failed) {
			block->pages.failed = false;
			free_page(b, page);
			return mpk_fail_nomem(err);
		}
	}
	block->length = image->length;
	block->sink = image->sink;
	block->offset = image->offset;
	if (image->parent < 0)
		return MPK_OK;
	block->parent = images[image->parent].made;
	block->start = b->items[block->parent].start + b->items[block->parent].length;
	b->items[block->parent].refs++;
	return MPK_OK;
}

enum mpk_code mpk_blocks_restore(struct mpk_blocks *b, struct mpk_block_image *images, size_t count,
				 const struct mpk_sequence *sequences, size_t sequence_count,
				 struct mpk_error *err)
{
	enum mpk_code code = MPK_OK;

	/* enough for all to be freed again, and for all sequences */
	MPK_TRY_ALLOC(mpk_vec_reserve(&b->free_pages.items, &b->free_pages.cap,
				      (size_t)b->page_count + 1, sizeof(int32_t)) &&
			      mpk_vec_reserve(&b->free_blocks.items, &b->free_blocks.cap,
					      b->count + count + 1, sizeof(int32_t)) &&
			      mpk_vec_reserve(&b->sequences, &b->sequence_cap,
					      b->sequence_count + sequence_count + 1,
					      sizeof *b->sequences),
		      err);
	for (size_t i = 0; i < count; i++)
		images[i].made = -1;
	for (size_t i = 0; i < count && code == MPK_OK; i++)
		code = restore_block(b, images, i, err);
	for (size_t i = count; i-- > 0 && code != MPK_OK;)
		if (images[i].made >= 0)
			free_block(b, images[i].made);
	MPK_TRY(code);
	for (size_t i = 0; i < sequence_count; i++) {
		struct mpk_sequence *s = &b->sequences[b->sequence_count++];

		*s = sequences[i];
		s->last = images[s->last].made;
		b->items[s->last].refs++;
	}
	return MPK_OK;
}

const struct mpk_kv_sequences mpk_paged_sequences = { .clear = blocks_clear,
						      .add = blocks_add,
						      .remove = blocks_remove,
						      .fork = blocks_fork,
						      .pop = blocks_pop };
