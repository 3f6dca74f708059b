/* SPDX-License-Identifier: Apache-2.0 */
/* infer_state.c - which state a compiled function of a model takes
 *
 * Compiled code has no byte code that gives an input to a builtin, but it looks its builtins up by name. Where it comes
 * to those of one sort of state, and the texts of its checks leave one input without a type, that is the state.
 */
#include <stdlib.h>
#include <string.h>

#include "base/strmap.h"
#include "elf/wants.h"
#include "model/view.h"
#include "program/model.h"

/* The only input of which nothing is known; the count: none, or several, or there is a state among the others. */
static size_t open_input(const struct mpk_signature *s)
{
	size_t found = s->input_count;

	for (size_t i = 0; i < s->input_count; i++) {
		if (s->inputs[i].type.kind == MPK_TYPE_NAMED)
			return s->input_count;
		if (s->inputs[i].type.kind != MPK_TYPE_ANY)
			continue;
		if (found != s->input_count)
			return s->input_count;
		found = i;
	}
	return found;
}

static bool is_compiled(const struct mpk_view_node *n)
{
	if (!n->decoded || n->payload->tag != MPK_PAYLOAD_RELAX)
		return false;
	for (size_t i = 0; i < n->payload->u.relax.func_count; i++)
		if (n->payload->u.relax.funcs[i].kind == MPK_RELAX_TIR)
			return true;
	return false;
}

static bool is_asked(const struct mpk_view *view)
{
	for (size_t i = 0; i < view->count; i++)
		for (size_t k = 0; is_compiled(&view->nodes[i]) && k < view->nodes[i].models.count;
		     k++) {
			const struct mpk_signature *s = &view->nodes[i].models.items[k];

			if (open_input(s) < s->input_count)
				return true;
		}
	return false;
}

/* Pieces of code that come to builtins of one sort of state. */
static enum mpk_code mark_pieces(const struct mpk_wants *w, const char *title, bool *marked,
				 bool *any, struct mpk_error *err)
{
	*any = false;
	memset(marked, 0, w->reach.count * sizeof *marked);
	for (size_t i = 0; i < w->count; i++) {
		const char *of = w->items[i].kind == MPK_WANT_NAME
					 ? mpk_relax_state_title(mpk_span_str(w->items[i].name))
					 : NULL;

		if (!of || strcmp(of, title) != 0)
			continue;
		marked[w->items[i].piece] = *any = true;
	}
	return *any ? mpk_want_edges_spread(w->edges, w->edge_count, marked, w->reach.count, err)
		    : MPK_OK;
}

/* The same signature, its open input a state. */
static enum mpk_code set_state(struct mpk_signature *s, const char *title, struct mpk_arena *arena,
			       struct mpk_error *err)
{
	struct mpk_param *inputs = mpk_arena_keep(arena, s->inputs, s->input_count, sizeof *inputs);

	MPK_TRY_ALLOC(inputs, err);
	inputs[open_input(s)].type =
		(struct mpk_type){ .kind = MPK_TYPE_NAMED, .title = mpk_span_str(title) };
	s->inputs = inputs;
	return MPK_OK;
}

static enum mpk_code infer_node(const struct mpk_view *view, struct mpk_view_node *n,
				const struct mpk_strmap *pieces, const bool *marked,
				const char *title, struct mpk_error *err)
{
	struct mpk_signature *items;
	size_t piece;

	if (!is_compiled(n))
		return MPK_OK;
	items = mpk_arena_keep(view->arena, n->models.items, n->models.count, sizeof *items);
	MPK_TRY_ALLOC(items, err);
	for (size_t i = 0; i < n->models.count; i++) {
		const char *symbol =
			mpk_arena_printf(view->arena, "__vmtir__%.*s", (int)items[i].name.len,
					 (const char *)items[i].name.data);

		MPK_TRY_ALLOC(symbol, err);
		if (open_input(&items[i]) < items[i].input_count &&
		    mpk_strmap_find(pieces, mpk_span_str(symbol), &piece) && marked[piece])
			MPK_TRY(set_state(&items[i], title, view->arena, err));
	}
	n->models.items = items;
	return MPK_OK;
}

static enum mpk_code infer_all(const struct mpk_view *view, const struct mpk_wants *w,
			       struct mpk_error *err)
{
	static const char *const titles[] = { "KV cache", "recurrent state",
					      "KV cache or recurrent state" };
	MPK_CLEANUP(mpk_strmap_fini) struct mpk_strmap pieces = { 0 };
	bool *marked = mpk_arena_array(view->arena, w->reach.count + 1, sizeof *marked), any;

	MPK_TRY_ALLOC(marked, err);
	for (size_t i = 0; i < view->image->function_count; i++) {
		const struct mpk_image_function *f = &view->image->functions[i];
		size_t piece = mpk_reach_piece(&w->reach, f->address);

		if (piece < w->reach.count)
			MPK_TRY_ALLOC(mpk_strmap_put(&pieces, mpk_span_str(f->name), piece, NULL) >=
					      0,
				      err);
	}
	for (size_t t = 0; t < MPK_ARRAY_COUNT(titles); t++) {
		MPK_TRY(mark_pieces(w, titles[t], marked, &any, err));
		for (size_t i = 0; any && i < view->count; i++)
			MPK_TRY(infer_node(view, &view->nodes[i], &pieces, marked, titles[t], err));
	}
	return MPK_OK;
}

enum mpk_code mpk_view_infer_states(const struct mpk_view *view, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_elf_close) struct mpk_elf elf = { 0 };
	MPK_CLEANUP(mpk_wants_fini) struct mpk_wants wants = { 0 };
	struct mpk_error problem;
	enum mpk_code code;

	if (view->image->container != MPK_CONTAINER_ELF_SO || !is_asked(view))
		return MPK_OK;
	code = mpk_elf_open(view->image->bytes, 0, &elf, &problem);
	if (code == MPK_OK)
		code = mpk_wants_read(&elf, &wants, &problem);
	if (code == MPK_E_NOMEM)
		return mpk_fail_nomem(err);
	/* code that does not read says nothing here; --verify has an error of it */
	return code == MPK_OK ? infer_all(view, &wants, err) : MPK_OK;
}
