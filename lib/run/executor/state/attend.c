/* SPDX-License-Identifier: Apache-2.0 */
/* attend.c - attention of a pass, put together from the kernels of the model
 *
 * New tokens attend to each other by one kernel and to pages by one for each level of blocks; results
 * are merged by the logarithms of their sums. Kernels take tables in the order of TVM's own caches.
 */
#include "executor/state/internal/paged.h"

static struct mpk_value tensor(struct mpk_tensor *t)
{
	return t ? mpk_value_of_tensor(t) : (struct mpk_value){ 0 };
}

static struct mpk_value is_inline(enum mpk_paged_rope rope)
{
	return mpk_value_of_int(rope == MPK_ROPE_INLINE);
}

/* --- among new tokens ------------------------------------------------------------------------------ */

static enum mpk_code attend_chain(struct mpk_paged *c, const struct mpk_paged_call *a,
				  enum mpk_paged_rope rope, struct mpk_error *err)
{
	const struct mpk_paged_pass *p = &c->pass;
	const struct mpk_value args[] = {
		tensor(a->q),
		tensor(p->t_ends),
		tensor(a->k),
		tensor(a->v),
		tensor(p->t_ends),
		tensor(p->t_query_positions),
		tensor(p->t_starts),
		tensor(a->output),
		tensor(a->lse),
		mpk_value_of_int(1), /* no token sees later ones */
		is_inline(rope),
		mpk_value_of_float(c->rope_scale),
		mpk_value_of_float(c->rope_theta),
		mpk_value_of_float(a->scale),
	};

	return mpk_state_call(c->kernels[MPK_PAGED_RAGGED], "attention of new tokens", args,
			      MPK_ARRAY_COUNT(args), err);
}

static enum mpk_code attend_tree(struct mpk_paged *c, const struct mpk_paged_call *a,
				 struct mpk_error *err)
{
	const struct mpk_paged_pass *p = &c->pass;
	const struct mpk_value args[] = {
		tensor(a->q),
		tensor(p->t_ends),
		tensor(a->k),
		tensor(a->v),
		tensor(p->t_ends),
		tensor(p->t_query_positions),
		tensor(p->on_device[0].tree_ends),
		tensor(p->on_device[0].tree),
		tensor(a->output),
		tensor(a->lse),
		is_inline(c->rope),
		mpk_value_of_float(c->rope_scale),
		mpk_value_of_float(c->rope_theta),
		mpk_value_of_float(a->scale),
	};

	return mpk_state_call(c->kernels[MPK_PAGED_TREE], "attention in a tree of tokens", args,
			      MPK_ARRAY_COUNT(args), err);
}

enum mpk_code mpk_paged_attend_self(struct mpk_paged *c, const struct mpk_paged_call *a,
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

static enum mpk_code call_prefill(struct mpk_paged *c, const struct level_call *l,
				  struct mpk_error *err)
{
	const struct mpk_value args[] = {
		tensor(l->call->q),
		tensor(l->t->queries),
		tensor(c->pages[l->call->layer]),
		tensor(l->page_ends),
		tensor(l->pages),
		tensor(l->lengths),
		tensor(l->positions),
		tensor(c->pass.t_query_positions),
		tensor(l->output),
		tensor(l->lse),
		mpk_value_of_int(l->is_causal),
		is_inline(c->rope),
		mpk_value_of_float(l->rope_scale),
		mpk_value_of_float(l->rope_theta),
		mpk_value_of_float(l->call->scale),
	};

	return mpk_state_call(c->kernels[l->slides ? MPK_PAGED_PREFILL_SLIDING : MPK_PAGED_PREFILL],
			      "attention to pages", args, MPK_ARRAY_COUNT(args), err);
}

static enum mpk_code call_decode(struct mpk_paged *c, const struct level_call *l,
				 struct mpk_error *err)
{
	const struct mpk_value args[] = {
		tensor(l->call->q),
		tensor(c->pages[l->call->layer]),
		tensor(l->page_ends),
		tensor(l->pages),
		tensor(l->lengths),
		tensor(l->positions),
		tensor(c->pass.t_query_positions),
		tensor(l->output),
		tensor(l->lse),
		is_inline(c->rope),
		mpk_value_of_float(l->rope_scale),
		mpk_value_of_float(l->rope_theta),
		mpk_value_of_float(l->call->scale),
	};

	return mpk_state_call(c->kernels[l->slides ? MPK_PAGED_DECODE_SLIDING : MPK_PAGED_DECODE],
			      "attention of single tokens to pages", args, MPK_ARRAY_COUNT(args),
			      err);
}

static enum mpk_code call_tree(struct mpk_paged *c, const struct level_call *l,
			       struct mpk_error *err)
{
	const struct mpk_value args[] = {
		tensor(l->call->q),
		tensor(l->t->queries),
		tensor(c->pages[l->call->layer]),
		tensor(l->page_ends),
		tensor(l->pages),
		tensor(l->lengths),
		tensor(l->positions),
		tensor(c->pass.t_query_positions),
		tensor(l->output),
		tensor(l->lse),
		is_inline(c->rope),
		mpk_value_of_float(l->rope_scale),
		mpk_value_of_float(l->rope_theta),
		mpk_value_of_float(l->call->scale),
		tensor(l->t->tree_ends),
		tensor(l->t->tree),
	};

	return mpk_state_call(c->kernels[MPK_PAGED_TREE_PAGED],
			      "attention of a tree of tokens to pages", args, MPK_ARRAY_COUNT(args),
			      err);
}

static enum mpk_code call_mla(struct mpk_paged *c, const struct level_call *l,
			      struct mpk_error *err)
{
	const struct mpk_value args[] = {
		tensor(l->call->q),
		tensor(l->t->queries),
		tensor(c->pages[l->call->layer]),
		tensor(l->page_ends),
		tensor(l->pages),
		tensor(l->lengths),
		tensor(l->output),
		tensor(l->lse),
		mpk_value_of_int(0),
		mpk_value_of_float(l->call->scale),
	};

	MPK_TRY(mpk_state_check(l->level->is_chain, err, "caches of MLA take no trees of tokens"));
	return mpk_state_call(c->kernels[MPK_PAGED_MLA], "attention of MLA", args,
			      MPK_ARRAY_COUNT(args), err);
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
	const struct mpk_value args[] = { tensor(a->output), tensor(a->lse), tensor(c->pass.output),
					  tensor(c->pass.lse) };

	return mpk_state_call(c->kernels[MPK_PAGED_MERGE], "merging two attentions", args, 4, err);
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

enum mpk_code mpk_paged_attend_cross(struct mpk_paged *c, const struct mpk_paged_call *a,
				     struct mpk_error *err)
{
	size_t count = 0;

	return attend_levels(c, a, false, &count, err);
}

enum mpk_code mpk_paged_attend_both(struct mpk_paged *c, const struct mpk_paged_call *a,
				    struct mpk_error *err)
{
	struct mpk_paged_call call = *a;
	size_t count = 0;

	call.lse = c->pass.merged_lse;
	if (!c->pass.appends_first) {
		MPK_TRY(mpk_paged_attend_self(c, &call, err));
		count++;
	}
	MPK_TRY(attend_levels(c, &call,
			      !c->pass.appends_first && a->attention == MPK_ATTENTION_SLIDING,
			      &count, err));
	return mpk_state_check(count, err, "a pass that attends to nothing");
}
