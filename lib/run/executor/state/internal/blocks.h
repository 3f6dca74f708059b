/* SPDX-License-Identifier: Apache-2.0 */
/* blocks.h - the page tables of a cache: which pages have the tokens of a sequence
 *
 * A sequence is a chain of blocks, a block a list of pages. Blocks that several sequences begin with
 * are shared; only the last block of a sequence grows, and nobody shares it. All blocks but the last
 * are full pages. Pages and blocks have numbers, and freed ones are used again, the last freed first:
 * which page a token gets is what TVM's cache would have given it, as kernels and tests can see it.
 */
#ifndef MPK_EXECUTOR_STATE_INTERNAL_BLOCKS_H
#define MPK_EXECUTOR_STATE_INTERNAL_BLOCKS_H

#include "executor/state/internal/state.h"

enum { MPK_PAGE_NONE = -1 }; /* a place in a window that gets its page after the window slid */

struct mpk_block {
	struct mpk_ints pages;
	int32_t length; /* tokens in it */
	int32_t start;  /* position of its first token in the sequence */
	int32_t sink;   /* tokens at its begin that a sliding window keeps */
	int32_t offset; /* where the window begins, in tokens from the begin of the pages */
	int32_t parent; /* -1: none */
	int32_t refs;   /* sequences that end in it, and blocks that follow it */
};

struct mpk_sequence {
	int64_t id;
	int32_t last; /* block */
	int32_t length;
	int32_t window; /* -1: it does not slide */
	int32_t sink;   /* tokens of the last block that are kept when it slides */
	bool is_chain;
	bool is_committed;               /* its tree of tokens, or there is none */
	struct mpk_ints parents, depths; /* of the nodes of the tree that is not committed */
};

struct mpk_blocks {
	int32_t page_size, page_count;
	int32_t fresh; /* pages from this number on were never used */
	struct mpk_ints free_pages, free_blocks;
	struct mpk_block *items;
	size_t count, cap;
	struct mpk_sequence *sequences;
	size_t sequence_count, sequence_cap;
	/* copies the first tokens of a page into another one, in all layers */
	enum mpk_code (*copy_page)(struct mpk_blocks *b, int32_t from, int32_t to, int32_t tokens,
				   struct mpk_error *err);
};

/* mpk_blocks_fini - give the tables back */
void mpk_blocks_fini(struct mpk_blocks *b);

/* mpk_blocks_clear - no sequences, all pages free */
void mpk_blocks_clear(struct mpk_blocks *b);

/* mpk_blocks_free_pages - how many */
int32_t mpk_blocks_free_pages(const struct mpk_blocks *b);

/* mpk_blocks_get - the same; MPK_E_RAISED: there is none */
enum mpk_code mpk_blocks_get(const struct mpk_blocks *b, int64_t id, struct mpk_sequence **out,
			     struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_blocks_add, mpk_blocks_remove, mpk_blocks_fork, mpk_blocks_pop - as the builtins kv_state_... say
 * Returns  MPK_OK; MPK_E_RAISED, nothing is changed; MPK_E_NOMEM; as copy_page */
enum mpk_code mpk_blocks_add(struct mpk_blocks *b, int64_t id,
			     struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_blocks_remove(struct mpk_blocks *b, int64_t id,
				struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_blocks_fork(struct mpk_blocks *b, int64_t parent, int64_t child, int64_t at,
			      struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_blocks_pop(struct mpk_blocks *b, int64_t id, int64_t count,
			     struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_blocks_trace - append the blocks of a sequence, the first one first */
void mpk_blocks_trace(const struct mpk_blocks *b, const struct mpk_sequence *s,
		      struct mpk_ints *out);

/* mpk_blocks_grow - room for count more tokens in the last block, whose length grows by them
 * @slides  windows of sequences slide
 * Returns  MPK_OK; MPK_E_RAISED: the block is shared, or pages are out; MPK_E_NOMEM */
enum mpk_code mpk_blocks_grow(struct mpk_blocks *b, struct mpk_sequence *s, int32_t count,
			      bool slides, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_blocks_place - where in all pages a token of a block is, counted in tokens
 * @offset  from the begin of the block's pages
 * Returns  MPK_OK; MPK_E_RAISED: the block has no such page */
enum mpk_code mpk_blocks_place(const struct mpk_blocks *b, const struct mpk_block *block,
			       int32_t offset, int32_t *out, struct mpk_error *err) MPK_MUST_CHECK;

#endif
