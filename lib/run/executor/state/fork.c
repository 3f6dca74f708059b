/* SPDX-License-Identifier: Apache-2.0 */
/* fork.c - a sequence that begins as another one does
 *
 * Full pages up to the fork are shared: where the fork is within a block, the block is split. The page in
 * which the fork is gets copied as far as the child has it.
 */
#include <stdlib.h>
#include <string.h>

#include "executor/state/internal/fork.h"

static enum mpk_code check_fork(const struct mpk_blocks *b, int64_t parent, int64_t child,
				int64_t at, struct mpk_sequence **out, struct mpk_error *err)
{
	struct mpk_sequence *s;

	MPK_TRY(mpk_blocks_get(b, parent, &s, err));
	MPK_TRY(mpk_state_check(!mpk_blocks_find(b, child), err,
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

/* The parent goes on in a block of its own, as the one that it ends in will be shared. */
static enum mpk_code end_in_new_block(struct mpk_blocks *b, struct mpk_sequence *s,
				      struct mpk_error *err)
{
	int32_t made;

	MPK_TRY(mpk_blocks_take(b, &made, err));
	b->items[made].start = s->length;
	b->items[made].parent = s->last;
	b->items[made].refs = 1;
	s->last = made;
	return MPK_OK;
}

/* The first pages of a block become a block before it, which both sequences have. */
static enum mpk_code split(struct mpk_blocks *b, int32_t index, int32_t pages, int32_t *out,
			   struct mpk_error *err)
{
	struct mpk_block *block, *first;
	int32_t tokens = pages * b->page_size;

	MPK_TRY(mpk_blocks_take(b, out, err));
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

/* Where the fork is: the block, and how many of its tokens come before. */
static int32_t find_block(const struct mpk_blocks *b, const struct mpk_ints *trace, int32_t *tokens)
{
	size_t i = 0;

	while (i + 1 < trace->count && b->items[trace->items[i]].length <= *tokens)
		*tokens -= b->items[trace->items[i++]].length;
	return trace->items[i];
}

struct fork {
	int32_t at;     /* position */
	int32_t block;  /* that is forked */
	int32_t tokens; /* of the block that come before the fork */
};

/* The child's block: its parent, and its part of a page. */
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
	MPK_TRY(mpk_blocks_take_page(b, &page, err));
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

	/* full blocks end where a page ends, so that the page of the fork is known */
	MPK_TRY(mpk_state_check(at % b->page_size == 0 || mpk_blocks_free_pages(b), err,
				"the cache is full: all of its %d pages are used",
				(int)b->page_count));
	if (at == s->length && at % b->page_size == 0 && b->items[s->last].length > 0)
		MPK_TRY(end_in_new_block(b, s, err));
	MPK_TRY(mpk_blocks_take(b, &made, err));
	mpk_blocks_trace(b, s, &trace);
	bool failed = trace.failed;

	if (!failed)
		f.block = find_block(b, &trace, &f.tokens);
	mpk_ints_fini(&trace);
	if (failed)
		return mpk_fail_nomem(err);
	MPK_TRY(make_child(b, s, &f, made, err));
	return mpk_blocks_insert(b, child, made, err);
}

enum mpk_code mpk_blocks_fork(struct mpk_blocks *b, int64_t parent, int64_t child, int64_t at,
			      struct mpk_error *err)
{
	struct mpk_sequence *s;

	MPK_TRY(check_fork(b, parent, child, at, &s, err));
	return fork_here(b, s, child, at == -1 ? s->length : (int32_t)at, err);
}
