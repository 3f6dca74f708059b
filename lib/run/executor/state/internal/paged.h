/* SPDX-License-Identifier: Apache-2.0 */
/* paged.h - a cache of keys and values in pages: what it is made of, what a forward pass prepares
 *
 * vm.builtin.paged_attention_kv_cache_create of TVM 0.25 to 0.27. Tables and copies are ours; attention,
 * rotary embedding and what writes into pages are kernels of the model, given to the cache when it is
 * created. Before each pass the tables of its sequences become tensors of int32 for these kernels.
 */
#ifndef MPK_EXECUTOR_STATE_INTERNAL_PAGED_H
#define MPK_EXECUTOR_STATE_INTERNAL_PAGED_H

#include "executor/state/internal/state.h"

/* --- the page tables of a cache: which pages have the tokens of a sequence -------------------- */

/* A sequence is a chain of blocks; a block is a list of pages. Sequences with a common beginning share blocks. Only the last
 * block of a sequence grows, and it is never shared. All blocks but the last consist of full pages. Pages and blocks have
 * numbers; a freed number is used again, the last freed first. So a token gets the page that TVM's cache would give it:
 * kernels and tests can see page numbers. */

enum { MPK_PAGE_NONE = -1 }; /* a place in a window whose page comes when the window has slid */

struct mpk_block {
	struct mpk_ints pages;
	int32_t length; /* tokens in the block */
	int32_t start;  /* position of its first token in the sequence */
	int32_t sink;   /* tokens at the beginning that a sliding window keeps */
	int32_t offset; /* first token of the window, counted from the beginning of the pages */
	int32_t parent; /* the preceding block; -1: none */
	int32_t refs;   /* sequences that end in the block, plus blocks that follow it */
};

struct mpk_sequence {
	int64_t id;
	int32_t last; /* last block */
	int32_t length;
	int32_t window; /* tokens in the window; -1: the window does not slide */
	int32_t sink;   /* tokens of the last block that stay when the window slides */
	bool is_chain;
	/* the tree of tokens was committed, or the sequence has none */
	bool is_committed;
	struct mpk_ints parents, depths; /* for each node of a tree that is not committed */
};

struct mpk_blocks {
	int32_t page_size, page_count;
	int32_t fresh; /* pages with this number or a higher one were never used */
	struct mpk_ints free_pages, free_blocks;
	struct mpk_block *items;
	size_t count, cap;
	struct mpk_sequence *sequences;
	size_t sequence_count, sequence_cap;
	/* copies the first tokens of a page into another page, in all layers */
	enum mpk_code (*copy_page)(struct mpk_blocks *b, int32_t from, int32_t to, int32_t tokens,
				   struct mpk_error *err);
};

/* mpk_blocks_free_pages - the number of free pages */
int32_t mpk_blocks_free_pages(const struct mpk_blocks *b);

/* mpk_blocks_get - find a sequence; MPK_E_RAISED when there is none */
enum mpk_code mpk_blocks_get(const struct mpk_blocks *b, int64_t id, struct mpk_sequence **out,
			     struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_blocks_trace - append the blocks of a sequence, the first one first */
void mpk_blocks_trace(const struct mpk_blocks *b, const struct mpk_sequence *s,
		      struct mpk_ints *out);

/* mpk_blocks_grow - make room for count more tokens in the last block, whose length grows by count
 * @slides  whether windows of sequences slide
 * Returns  MPK_OK; MPK_E_RAISED: the block is shared, or no page is free; MPK_E_NOMEM */
enum mpk_code mpk_blocks_grow(struct mpk_blocks *b, struct mpk_sequence *s, int32_t count,
			      bool slides, struct mpk_error *err) MPK_MUST_CHECK;

/* A saved block, before it is restored into a cache. */
struct mpk_block_image {
	int32_t length, sink, offset, page_count;
	int32_t parent; /* index of the preceding image, lower than its own; -1: none */
	int64_t total;  /* tokens in the block and in all blocks before it */
	int32_t made;   /* receives the block's number in the cache */
	bool is_used;   /* a sequence uses the block */
};

/* mpk_blocks_restore - add blocks with pages of their own, and sequences that end in these blocks
 * The caller has checked that enough pages are free and that no sequence has one of the ids.
 * Returns  MPK_OK; MPK_E_NOMEM: nothing is changed */
enum mpk_code mpk_blocks_restore(struct mpk_blocks *b, struct mpk_block_image *images, size_t count,
				 const struct mpk_sequence *sequences, size_t sequence_count,
				 struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_blocks_place - the position of a token of a block among all pages, in tokens
 * @offset  from the beginning of the block's pages, in tokens
 * Returns  MPK_OK; MPK_E_RAISED: the block has no such page */
enum mpk_code mpk_blocks_place(const struct mpk_blocks *b, const struct mpk_block *block,
			       int32_t offset, int32_t *out, struct mpk_error *err) MPK_MUST_CHECK;

enum {
	MPK_PAGED_DEPTHS = 2,     /* levels of shared blocks that kernels treat separately */
	MPK_PAGED_TREE_MAX = 256, /* nodes in the tree of one sequence */
	/* small enough that a sum of a few of them fits 31 bits */
	MPK_PAGED_PAGE_MAX = 1 << 24, /* tokens in a page */
	MPK_PAGED_PASS_MAX =
		1 << 24, /* tokens of a pass that windows may take beyond their pages */
	MPK_PAGED_WINDOW_MAX = 1 << 30, /* tokens in a window */
};

/* Kinds of attention that a model computes in a layer. */
enum mpk_attention {
	MPK_ATTENTION_MHA,
	MPK_ATTENTION_MLA,     /* keys and values compressed to one vector */
	MPK_ATTENTION_LINEAR,  /* TVM reserves the number and does not use it */
	MPK_ATTENTION_SLIDING, /* multi-head attention over a window of the last tokens */
	MPK_ATTENTION_COUNT
};

enum mpk_paged_rope {
	MPK_ROPE_NONE,
	MPK_ROPE_NORMAL, /* before attention, by a kernel of its own */
	MPK_ROPE_INLINE, /* in the attention kernels */
};

/* The model's kernels, by purpose. */
enum mpk_paged_kernel {
	MPK_PAGED_APPEND,     /* write keys and values into pages */
	MPK_PAGED_APPEND_MLA, /* the same for MLA */
	MPK_PAGED_RAGGED,     /* attention among the new tokens */
	MPK_PAGED_PREFILL,    /* attention of new tokens to pages */
	MPK_PAGED_DECODE,     /* attention of one new token of each sequence to pages */
	MPK_PAGED_PREFILL_SLIDING,
	MPK_PAGED_DECODE_SLIDING,
	MPK_PAGED_TREE_PAGED,
	MPK_PAGED_TREE,
	MPK_PAGED_MLA,
	MPK_PAGED_MERGE,     /* merge two attentions */
	MPK_PAGED_MERGE_MLA, /* the same, for attention_kv_cache_merge_attn_output_inplace */
	/* split a tensor into queries, keys and values, with rotary embedding */
	MPK_PAGED_SPLIT,
	MPK_PAGED_COPY,    /* copy a page */
	MPK_PAGED_DEBUG,   /* read keys and values of a sequence in order */
	MPK_PAGED_COMPACT, /* move the accepted tokens of a tree together */
	MPK_PAGED_KERNEL_COUNT
};

/* The page tables of one level of blocks in a pass, in the order in which kernels see the blocks. */
struct mpk_paged_level {
	struct mpk_ints queries;                   /* new tokens before each block */
	struct mpk_ints page_ends, pages;          /* pages before each block; then all pages */
	struct mpk_ints slid_ends, slid_pages;     /* the same for the windows of sliding layers */
	struct mpk_ints last_lengths;              /* tokens in the last page */
	struct mpk_ints offsets, sinks;            /* of each window */
	struct mpk_ints positions, slid_positions; /* position of each block's first key */
	struct mpk_ints tree_ends, tree; /* nodes before each sequence; order of each node */
	bool is_chain;
	bool decodes; /* each sequence has one new token, so the decode kernel applies */
};

/* The same tables as tensors. */
struct mpk_paged_tensors {
	struct mpk_tensor *queries, *page_ends, *pages, *slid_ends, *slid_pages;
	struct mpk_tensor *lengths, *slid_lengths, *positions, *slid_positions, *tree_ends, *tree;
};

/* The current pass: from begin_forward until the next begin_forward. */
struct mpk_paged_pass {
	bool is_begun, is_synced;
	int64_t *ids;           /* ids of the sequences */
	struct mpk_ints counts; /* new tokens of each sequence */
	int32_t total;          /* new tokens of all sequences */
	size_t depth_count;
	bool appends_first; /* keys and values are written into pages before attention */
	struct mpk_paged_level levels[MPK_PAGED_DEPTHS];
	struct mpk_ints starts; /* position of the first new token of each sequence */
	struct mpk_ints query_positions,
		places;       /* of each new token: position in its sequence, and among all pages */
	struct mpk_ints ends; /* new tokens before each sequence */
	/* tensors for kernels, made at the first kernel that needs them */
	struct mpk_paged_tensors on_device[MPK_PAGED_DEPTHS];
	struct mpk_tensor *t_starts, *t_query_positions, *t_places, *t_ends;
	struct mpk_tensor *q, *k, *v, *output, *lse, *merged_lse; /* scratch */
};

struct mpk_paged {
	struct mpk_kv_state base; /* must be the first member */
	int32_t layer_first, layer_count;
	int64_t query_heads, kv_heads, qk_dim, v_dim;
	int64_t chunk; /* most tokens in a pass */
	bool slides;   /* sequences may have sliding windows */
	bool layers_slide;
	bool has_heads;       /* a layer has multi-head attention */
	int64_t layer_window; /* tokens of the window of sliding layers */
	/* enum mpk_attention of each layer, by the layer's number in the model */
	uint8_t *attention;
	enum mpk_paged_rope rope;
	double rope_scale, rope_theta;
	struct mpk_tensor *rope_factors; /* NULL: none */
	struct mpk_dtype dtype;
	struct mpk_dldevice where;
	struct mpk_function *kernels[MPK_PAGED_KERNEL_COUNT];
	struct mpk_tensor **pages; /* layer_count tensors */
	struct mpk_blocks blocks;
	struct mpk_paged_pass pass;
};

/* mpk_paged_ops - caches of this kind (forward.c)
 * mpk_paged_sequences - what they do with sequences, in which nothing is changed where it fails with MPK_E_RAISED (blocks.c)
 */
extern const struct mpk_kv_ops mpk_paged_ops;
extern const struct mpk_kv_sequences mpk_paged_sequences;

/* mpk_paged_save, mpk_paged_load - of struct mpk_kv_ops (save.c) */
enum mpk_code mpk_paged_save(const struct mpk_kv_state *state, const int64_t *ids, size_t count,
			     struct mpk_save *s, struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_paged_load(struct mpk_kv_state *state, struct mpk_load *l,
			     struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_paged_pass_fini - end the pass and drop its tensors (forward.c) */
void mpk_paged_pass_fini(struct mpk_paged_pass *p);

/* mpk_paged_sync - make the tensors of the current pass, unless they are made (forward.c)
 * Returns  MPK_OK; MPK_E_RAISED: no pass began, or it has more tokens than the cache is made for;
 *          as mpk_state_ints */
enum mpk_code mpk_paged_sync(struct mpk_paged *c, struct mpk_error *err) MPK_MUST_CHECK;

struct mpk_paged_trace {
	struct mpk_ints blocks;
};

/* mpk_paged_block_at - the block of a sequence on a level; -1: it has none there */
static inline int32_t mpk_paged_block_at(const struct mpk_paged_trace *trace, size_t depth)
{
	return depth < trace->blocks.count ? trace->blocks.items[depth] : -1;
}

#endif
