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

/* A sequence is a chain of blocks, a block a list of pages. Blocks that several sequences begin with
 * are shared; only the last block of a sequence grows, and nobody shares it. All blocks but the last
 * are full pages. Pages and blocks have numbers, and freed ones are used again, the last freed first:
 * which page a token gets is what TVM's cache would have given it, as kernels and tests can see it. */

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

/* mpk_blocks_free_pages - how many */
int32_t mpk_blocks_free_pages(const struct mpk_blocks *b);

/* mpk_blocks_get - the same; MPK_E_RAISED: there is none */
enum mpk_code mpk_blocks_get(const struct mpk_blocks *b, int64_t id, struct mpk_sequence **out,
			     struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_blocks_trace - append the blocks of a sequence, the first one first */
void mpk_blocks_trace(const struct mpk_blocks *b, const struct mpk_sequence *s,
		      struct mpk_ints *out);

/* mpk_blocks_grow - room for count more tokens in the last block, whose length grows by them
 * @slides  windows of sequences slide
 * Returns  MPK_OK; MPK_E_RAISED: the block is shared, or pages are out; MPK_E_NOMEM */
enum mpk_code mpk_blocks_grow(struct mpk_blocks *b, struct mpk_sequence *s, int32_t count,
			      bool slides, struct mpk_error *err) MPK_MUST_CHECK;

/* A block that is not in a cache so far. */
struct mpk_block_image {
	int32_t length, sink, offset, page_count;
	int32_t parent; /* among the images, before it; -1: none */
	int64_t total;  /* tokens in it and in those before it */
	int32_t made;   /* receives its number in the cache */
	bool is_used;   /* a sequence has it */
};

/* mpk_blocks_restore - blocks with pages of their own, and sequences that end in them, whose last is among the images
 * There are enough free pages, and no sequence of these ids.
 * Returns  MPK_OK; MPK_E_NOMEM: nothing is changed */
enum mpk_code mpk_blocks_restore(struct mpk_blocks *b, struct mpk_block_image *images, size_t count,
				 const struct mpk_sequence *sequences, size_t sequence_count,
				 struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_blocks_place - where in all pages a token of a block is, counted in tokens
 * @offset  from the begin of the block's pages
 * Returns  MPK_OK; MPK_E_RAISED: the block has no such page */
enum mpk_code mpk_blocks_place(const struct mpk_blocks *b, const struct mpk_block *block,
			       int32_t offset, int32_t *out, struct mpk_error *err) MPK_MUST_CHECK;

enum {
	MPK_PAGED_DEPTHS = 2,     /* levels of shared blocks that kernels see apart */
	MPK_PAGED_TREE_MAX = 256, /* nodes in the tree of one sequence */
	/* so that sums of a few of them have 31 bits */
	MPK_PAGED_PAGE_MAX = 1 << 24, /* tokens in a page */
	MPK_PAGED_PASS_MAX =
		1 << 24, /* tokens in a pass beyond what pages hold, for windows that slide */
	MPK_PAGED_WINDOW_MAX = 1 << 30, /* tokens in a window */
};

/* What the model computes with a layer. */
enum mpk_attention {
	MPK_ATTENTION_MHA,
	MPK_ATTENTION_MLA,     /* keys and values compressed to one vector */
	MPK_ATTENTION_LINEAR,  /* has a number, and no use so far */
	MPK_ATTENTION_SLIDING, /* as MHA, over a window of the last tokens */
	MPK_ATTENTION_COUNT
};

enum mpk_paged_rope {
	MPK_ROPE_NONE,
	MPK_ROPE_NORMAL, /* before attention, by a kernel of its own */
	MPK_ROPE_INLINE, /* in the attention kernels */
};

/* The kernels, by what they are for. */
enum mpk_paged_kernel {
	MPK_PAGED_APPEND,     /* keys and values into pages */
	MPK_PAGED_APPEND_MLA, /* the same of MLA */
	MPK_PAGED_RAGGED,     /* attention of new tokens among each other */
	MPK_PAGED_PREFILL,    /* of new tokens to pages */
	MPK_PAGED_DECODE,     /* of one new token of each sequence to pages */
	MPK_PAGED_PREFILL_SLIDING,
	MPK_PAGED_DECODE_SLIDING,
	MPK_PAGED_TREE_PAGED,
	MPK_PAGED_TREE,
	MPK_PAGED_MLA,
	MPK_PAGED_MERGE,     /* two attentions into one */
	MPK_PAGED_MERGE_MLA, /* the same, as attention_kv_cache_merge_attn_output_inplace asks */
	MPK_PAGED_SPLIT,     /* queries, keys, values from one tensor, with rotary embedding */
	MPK_PAGED_COPY,      /* of a page */
	MPK_PAGED_DEBUG,     /* keys and values of a sequence, in a row */
	MPK_PAGED_COMPACT,   /* tokens of a tree that were accepted */
	MPK_PAGED_KERNEL_COUNT
};

/* What a pass says of one level of blocks: for kernels in the order of blocks. */
struct mpk_paged_level {
	struct mpk_ints queries;                   /* tokens before each block */
	struct mpk_ints page_ends, pages;          /* pages before each block; all of them */
	struct mpk_ints slid_ends, slid_pages;     /* the same of the window of sliding layers */
	struct mpk_ints last_lengths;              /* tokens in the last page */
	struct mpk_ints offsets, sinks;            /* of windows */
	struct mpk_ints positions, slid_positions; /* of the first key */
	struct mpk_ints tree_ends, tree; /* nodes before each sequence; order of each node */
	bool is_chain;
	bool decodes; /* one new token each: the kernel for that */
};

/* The same as tensors. */
struct mpk_paged_tensors {
	struct mpk_tensor *queries, *page_ends, *pages, *slid_ends, *slid_pages;
	struct mpk_tensor *lengths, *slid_lengths, *positions, *slid_positions, *tree_ends, *tree;
};

/* A pass, from begin_forward until the next one. */
struct mpk_paged_pass {
	bool is_begun, is_synced;
	int64_t *ids;           /* of its sequences */
	struct mpk_ints counts; /* new tokens of each */
	int32_t total;          /* of all */
	size_t depth_count;
	bool appends_first; /* keys and values are in pages before attention */
	struct mpk_paged_level levels[MPK_PAGED_DEPTHS];
	struct mpk_ints starts; /* position of the first new token of each sequence */
	struct mpk_ints query_positions,
		places;       /* of each new token: in its sequence, in all pages */
	struct mpk_ints ends; /* new tokens before each sequence */
	/* for kernels, made when the first one needs them */
	struct mpk_paged_tensors on_device[MPK_PAGED_DEPTHS];
	struct mpk_tensor *t_starts, *t_query_positions, *t_places, *t_ends;
	struct mpk_tensor *q, *k, *v, *output, *lse, *merged_lse; /* scratch */
};

struct mpk_paged {
	struct mpk_kv_state base; /* first */
	int32_t layer_first, layer_count;
	int64_t query_heads, kv_heads, qk_dim, v_dim;
	int64_t chunk; /* tokens in a pass, at most */
	bool slides;   /* sequences may have windows */
	bool layers_slide;
	bool has_heads;       /* a layer has multi-head attention */
	int64_t layer_window; /* tokens that sliding layers see */
	uint8_t *attention;   /* enum mpk_attention of each layer, from layer 0 of the model on */
	enum mpk_paged_rope rope;
	double rope_scale, rope_theta;
	struct mpk_tensor *rope_factors; /* NULL: none */
	struct mpk_dtype dtype;
	struct mpk_dldevice where;
	struct mpk_function *kernels[MPK_PAGED_KERNEL_COUNT];
	struct mpk_tensor **pages; /* layer_count */
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

/* mpk_paged_pass_fini - the pass is over, and its tensors go (forward.c) */
void mpk_paged_pass_fini(struct mpk_paged_pass *p);

/* mpk_paged_sync - make the tensors of the pass that began, unless they are there (forward.c)
 * Returns  MPK_OK; MPK_E_RAISED: none began, or it has more tokens than the cache is made for;
 *          as mpk_state_ints */
enum mpk_code mpk_paged_sync(struct mpk_paged *c, struct mpk_error *err) MPK_MUST_CHECK;

struct mpk_paged_trace {
	struct mpk_ints blocks;
};

/* mpk_paged_block_at - the block of a sequence on a level; -1: none */
static inline int32_t mpk_paged_block_at(const struct mpk_paged_trace *trace, size_t depth)
{
	return depth < trace->blocks.count ? trace->blocks.items[depth] : -1;
}

#endif
