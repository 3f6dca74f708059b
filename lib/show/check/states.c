/* SPDX-License-Identifier: Apache-2.0 */
/* states.c - what functions of models keep from one call to the next: who makes such a state, and who takes it
 *
 * No runtime is asked for it: a caller has to know, as it is the caller who carries a cache from one call to the next.
 */
#include <string.h>

#include "check/internal/run.h"
#include "text/escape.h"

static bool has_title(const struct mpk_param *list, size_t count, struct mpk_span title)
{
	for (size_t i = 0; i < count; i++)
		if (list[i].type.kind == MPK_TYPE_NAMED &&
		    mpk_span_equal(list[i].type.title, title))
			return true;
	return false;
}

/* The state of a title; made when it is the first. States are few: what is not known has no name. */
static struct mpk_check_held *held_of(struct mpk_check_state *s, struct mpk_span title)
{
	struct mpk_check_result *r = s->result;
	struct mpk_check_held *h;

	for (size_t i = 0; i < r->held_count; i++)
		if (mpk_span_is(title, r->held[i].title))
			return &r->held[i];
	if (r->held_count == MPK_CHECK_HELD)
		return NULL;
	h = &r->held[r->held_count];
	h->title = mpk_arena_text(s->arena, title);
	if (!h->title)
		return NULL;
	r->held_count++;
	return h;
}

static enum mpk_code states_add_function(struct mpk_check_state *s,
					 struct mpk_check_functions *list,
					 const struct mpk_signature *f, struct mpk_error *err)
{
	const char **items = mpk_arena_array(s->arena, list->count + 1, sizeof *items);
	const char *name = mpk_arena_text(s->arena, f->name);

	MPK_TRY_ALLOC(items && name, err);
	if (list->count)
		memcpy(items, list->items, list->count * sizeof *items);
	items[list->count++] = name;
	list->items = items;
	return MPK_OK;
}

static enum mpk_code states_add_all(struct mpk_check_state *s, const struct mpk_signature *f,
				    const struct mpk_param *list, size_t count, bool takes,
				    struct mpk_error *err)
{
	for (size_t i = 0; i < count; i++) {
		struct mpk_span title = list[i].type.title;
		struct mpk_check_held *h;

		/* each once; what is taken and returned again is not made */
		if (list[i].type.kind != MPK_TYPE_NAMED || has_title(list, i, title) ||
		    (!takes && has_title(f->inputs, f->input_count, title)))
			continue;
		h = held_of(s, title);
		if (h)
			MPK_TRY(states_add_function(s, takes ? &h->takers : &h->makers, f, err));
	}
	return MPK_OK;
}

static enum mpk_code add_uses(struct mpk_check_state *s, const struct mpk_signature *f,
			      struct mpk_error *err)
{
	const char *use;

	for (unsigned i = 0; (use = mpk_signature_use_text(i)) != NULL; i++) {
		struct mpk_check_held *h = f->uses >> i & 1 ? held_of(s, mpk_span_str(use)) : NULL;

		if (h)
			MPK_TRY(states_add_function(s, &h->takers, f, err));
	}
	return MPK_OK;
}

enum mpk_code mpk_check_read_states(struct mpk_check_state *s, struct mpk_error *err)
{
	for (size_t n = 0; n < s->view->count; n++) {
		const struct mpk_models *m = &s->view->nodes[n].models;

		if (!mpk_view_relax(&s->view->nodes[n]))
			continue; /* only of these states are known */
		for (size_t i = 0; i < m->count; i++) {
			const struct mpk_signature *f = &m->items[i];

			MPK_TRY(states_add_all(s, f, f->inputs, f->input_count, true, err));
			MPK_TRY(states_add_all(s, f, f->outputs, f->output_count, false, err));
			MPK_TRY(add_uses(s, f, err));
		}
	}
	return MPK_OK;
}

/* --- as text and JSON ------------------------------------------------------------------------ */

static void put_functions(const char *what, const struct mpk_check_functions *list,
			  struct mpk_strbuf *out)
{
	for (size_t i = 0; i < list->count; i++) {
		mpk_strbuf_puts(out, !i ? what : i + 1 == list->count ? " and " : ", ");
		mpk_escape(out, mpk_span_str(list->items[i]));
	}
}

void mpk_check_put_states(const struct mpk_check_result *r, struct mpk_strbuf *out)
{
	for (size_t i = 0; i < r->held_count; i++) {
		const struct mpk_check_held *h = &r->held[i];

		mpk_escape(out, mpk_span_str(r->file));
		mpk_strbuf_puts(out, ": ");
		mpk_escape(out, mpk_span_str(h->title));
		put_functions(": made by ", &h->makers, out);
		put_functions(h->makers.count ? ", taken by " : ": taken by ", &h->takers, out);
		mpk_strbuf_putc(out, '\n');
	}
}

void mpk_check_states_json(const struct mpk_check_result *r, struct mpk_json *j,
			   struct mpk_json_at *at)
{
	struct mpk_json_at *list = mpk_json_array(j, at, "states"), *o;

	for (size_t i = 0; i < r->held_count; i++) {
		const struct mpk_check_held *h = &r->held[i];

		o = mpk_json_object(j, list, NULL);
		mpk_json_text(j, o, "state", h->title);
		mpk_json_texts(j, o, "made_by", h->makers.items, h->makers.count);
		mpk_json_texts(j, o, "taken_by", h->takers.items, h->takers.count);
	}
}
