/* SPDX-License-Identifier: Apache-2.0 */
/* attend.c - attention of a pass, put together from the kernels of the model
 *
 * New tokens attend to each other by one kernel and to pages by one for each level of blocks; results
 * are merged by the logarithms of their sums. Kernels take tables in the order of TVM's own caches.
 */
#include "executor/state/internal/paged.h"

/* The arguments of a kernel, in the order in which TVM's caches pass them. */
struct kernel_args {
	struct mpk_value items[16];
	size_t count;
};

static void put_value(struct kernel_args *k, struct mpk_value v)
{
	k->items[k->count++] = v;
}

static void put_tensor(struct kernel_args *k, struct mpk_tensor *t)
{
	put_value(k, t ? mpk_value_of_tensor(t) : (struct mpk_value){ 0 });
}

/* How kernels embed positions, and by what they scale. */
static void put_scales(struct kernel_args *k, enum mpk_paged_rope rope, double rope_scale,
		       double rope_theta, double scale)
{
	put_value(k, mpk_value_of_int(rope == MPK_ROPE_INLINE));
	put_value(k, mpk_value_of_float(rope_scale));
	put_value(k, mpk_value_of_float(rope_theta));
	put_value(k, mpk_value_of_float(scale));
}

/* --- among new tokens ------------------------------------------------------------------------------ */

static void put_new_tokens(struct kernel_args *k, const struct mpk_paged_pass *p,
			   const struct mpk_paged_call *a)
{
	put_tensor(k, a->q);
	put_tensor(k, p->t_ends);
	put_tensor(k, a->k);
	put_tensor(k, a->v);
	put_tensor(k, p->t_ends);
	put_tensor(k, p->t_query_positions);
}

static enum mpk_code attend_chain(struct mpk_paged *c, const struct mpk_paged_call *a,
				  enum mpk_paged_rope rope, struct mpk_error *err)
{
	struct kernel_args k = { .count = 0 };

	put_new_tokens(&k, &c->pass, a);
	put_tensor(&k, c->pass.t_starts);
	put_tensor(&k, a->output);
	put_tensor(&k, a->lse);
	put_value(&k, mpk_value_of_int(1)); /* no token sees later ones */
	put_scales(&k, rope, c->rope_scale, c->rope_theta, a->scale);
	return mpk_state_call(c->kernels[MPK_PAGED_RAGGED], "attention of new tokens", k.items,
			      k.count, err);
}

static enum mpk_code attend_tree(struct mpk_paged *c, const struct mpk_paged_call *a,
				 struct mpk_error *err)
{
	struct kernel_args k = { .count = 0 };

	put_new_tokens(&k, &c->pass, a);
	put_tensor(&k, c->pass.on_device[0].tree_ends);
	put_tensor(&k, c->pass.on_device[0].tree);
	put_tensor(&k, a->output);
	put_tensor(&k, a->lse);
	put_scales(&k, c->rope, c->rope_scale, c->rope_theta, a->scale);
	return mpk_state_call(c->kernels[MPK_PAGED_TREE], "attention in a tree of tokens", k.items,
			      k.count, err);
}

static enum mpk_code attend_self(struct mpk_paged *c, const struct mpk_paged_call *a,
				 struct mpk_error *err)
{
	bool is_chain = c->pass.levels[0].is_chain;

	if (a->attention == MPK_ATTENTION_MHA || a->attention == MPK_ATTENTION_SLIDING)
		return is_chain ? attend_chain(c, a, c->rope, err) : attend_tree(c, a, err);
	MPK_TRY(mpk_state_check(is_chain, err, "caches of MLA take no trees of tokens"));
	return attend_chain(c, a, MPK_ROPE_NONE, err);
}

/* --- to pages -------------------------------------------------------------------------------------- */

/* One level of blocks as its kernel gets it. */
struct level_call {
	const struct mpk_paged_call *call;
	const struct mpk_paged_level *level;
	const struct mpk_paged_tensors *t;
	struct mpk_tensor *page_ends, *pages, *lengths, *positions;
	double rope_scale, rope_theta;
	bool is_causal, slides;
	struct mpk_tensor *output, *lse;
};

static void put_pages(struct kernel_args *k, struct mpk_paged *c, const struct level_call *l)
{
	put_tensor(k, c->pages[l->call->layer]);
	put_tensor(k, l->page_ends);
	put_tensor(k, l->pages);
	put_tensor(k, l->lengths);
}

static void put_output(struct kernel_args *k, const struct level_call *l)
{
	put_tensor(k, l->output);
	put_tensor(k, l->lse);
}

static void put_positions(struct kernel_args *k, struct mpk_paged *c, const struct level_call *l)
{
	put_tensor(k, l->positions);
	put_tensor(k, c->pass.t_query_positions);
	put_output(k, l);
}

static enum mpk_code call_prefill(struct mpk_paged *c, const struct level_call *l,
				  struct mpk_error *err)
{
	struct kernel_args k = { .count = 0 };

	put_tensor(&k, l->call->q);
	put_tensor(&k, l->t->queries);
	put_pages(&k, c, l);
	put_positions(&k, c, l);
	put_value(&k, mpk_value_of_int(l->is_causal));
	put_scales(&k, c->rope, l->rope_scale, l->rope_theta, l->call->scale);
	return mpk_state_call(c->kernels[l->slides ? MPK_PAGED_PREFILL_SLIDING : MPK_PAGED_PREFILL],
			      "attention to pages", k.items, k.count, err);
}

static enum mpk_code call_decode(struct mpk_paged *c, const struct level_call *l,
				 struct mpk_error *err)
{
	struct kernel_args k = { .count = 0 };

	put_tensor(&k, l->call->q);
	put_pages(&k, c, l);
	put_positions(&k, c, l);
	put_scales(&k, c->rope, l->rope_scale, l->rope_theta, l->call->scale);
	return mpk_state_call(c->kernels[l->slides ? MPK_PAGED_DECODE_SLIDING : MPK_PAGED_DECODE],
			      "attention of single tokens to pages", k.items, k.count, err);
}

static enum mpk_code call_tree(struct mpk_paged *c, const struct level_call *l,
			       struct mpk_error *err)
{
	struct kernel_args k = { .count = 0 };

	put_tensor(&k, l->call->q);
	put_tensor(&k, l->t->queries);
	put_pages(&k, c, l);
	put_positions(&k, c, l);
	put_scales(&k, c->rope, l->rope_scale, l->rope_theta, l->call->scale);
	put_tensor(&k, l->t->tree_ends);
	put_tensor(&k, l->t->tree);
	return mpk_state_call(c->kernels[MPK_PAGED_TREE_PAGED],
			      "attention of a tree of tokens to pages", k.items, k.count, err);
}

static enum mpk_code call_mla(struct mpk_paged *c, const struct level_call *l,
			      struct mpk_error *err)
{
	struct kernel_args k = { .count = 0 };

	MPK_TRY(mpk_state_check(l->level->is_chain, err, "caches of MLA take no trees of tokens"));
	put_tensor(&k, l->call->q);
	put_tensor(&k, l->t->queries);
	put_pages(&k, c, l);
	put_output(&k, l);
	put_value(&k, mpk_value_of_int(0));
	put_value(&k, mpk_value_of_float(l->call->scale));
	return mpk_state_call(c->kernels[MPK_PAGED_MLA], "attention of MLA", k.items, k.count, err);
}

/* Layers whose window is part of the model have a rotary embedding of their own. */
static struct level_call level_of(struct mpk_paged *c, const struct mpk_paged_call *a, size_t depth)
{
	const struct mpk_paged_tensors *t = &c->pass.on_device[depth];
	bool layer_slides = a->attention == MPK_ATTENTION_SLIDING;

	return (struct level_call){
		.call = a,
		.level = &c->pass.levels[depth],
		.t = t,
		.page_ends = layer_slides ? t->slid_ends : t->page_ends,
		.pages = layer_slides ? t->slid_pages : t->pages,
		.lengths = layer_slides ? t->slid_lengths : t->lengths,
		.positions = layer_slides ? t->slid_positions : t->positions,
		.rope_scale = layer_slides ? 1 : c->rope_scale,
		.rope_theta = layer_slides ? 10000 : c->rope_theta,
		.slides = c->slides || layer_slides,
	};
}

static enum mpk_code call_level(struct mpk_paged *c, const struct level_call *l,
				struct mpk_error *err)
{
	if (l->call->attention == MPK_ATTENTION_MLA || l->call->attention == MPK_ATTENTION_LINEAR)
		return call_mla(c, l, err);
	if (c->pass.appends_first && !l->level->is_chain)
		return call_tree(c, l, err);
	return l->level->decodes ? call_decode(c, l, err) : call_prefill(c, l, err);
}

static enum mpk_code merge(struct mpk_paged *c, const struct mpk_paged_call *a,
			   struct mpk_error *err)
{
	struct kernel_args k = { .count = 0 };

	put_tensor(&k, a->output);
	put_tensor(&k, a->lse);
	put_tensor(&k, c->pass.output);
	put_tensor(&k, c->pass.lse);
	return mpk_state_call(c->kernels[MPK_PAGED_MERGE], "merging two attentions", k.items,
			      k.count, err);
}

/* @count   attentions that output and lse have already; counts on */
static enum mpk_code attend_levels(struct mpk_paged *c, const struct mpk_paged_call *a,
				   bool is_causal, size_t *count, struct mpk_error *err)
{
	for (size_t d = 0; d < c->pass.depth_count; d++) {
		struct level_call l = level_of(c, a, d);

		if (!c->pass.levels[d].pages.count)
			continue;
		l.is_causal = is_causal;
		l.output = *count ? c->pass.output : a->output;
		l.lse = *count ? c->pass.lse : a->lse;
		MPK_TRY(call_level(c, &l, err));
		if ((*count)++)
			MPK_TRY(merge(c, a, err));
	}
	return MPK_OK;
}

static enum mpk_code attend_both(struct mpk_paged *c, const struct mpk_paged_call *a,
				 struct mpk_error *err)
{
	struct mpk_paged_call call = *a;
	size_t count = 0;

	call.lse = c->pass.merged_lse;
	if (!c->pass.appends_first) {
		MPK_TRY(attend_self(c, &call, err));
		count++;
	}
	MPK_TRY(attend_levels(c, &call,
			      !c->pass.appends_first && a->attention == MPK_ATTENTION_SLIDING,
			      &count, err));
	return mpk_state_check(count, err, "a pass that attends to nothing");
}

enum mpk_code mpk_paged_attend(struct mpk_paged *c, enum mpk_paged_keys keys,
			       const struct mpk_paged_call *a, struct mpk_error *err)
{
	size_t count = 0;

	if (keys == MPK_PAGED_KEYS_NEW)
		return attend_self(c, a, err);
	if (keys == MPK_PAGED_KEYS_OLD)
		return attend_levels(c, a, false, &count, err);
	return attend_both(c, a, err);
}
