/* SPDX-License-Identifier: Apache-2.0 */
/* filter.c - applies --filter: chooses modules of a file, and functions, kernels and tensors in
 * them */
#include "model/view.h"

/* A path is compared only with filters that look like one; else "0" would choose half of a tree. */
static bool is_path_chosen(const char *path, const char *filter)
{
	return filter[0] == '/' && mpk_name_matches(mpk_span_str(path), filter);
}

/* Whether the filter chooses a function of an executor, a kernel or a tensor, which the listing
 * prints as lines. */
static bool has_part(const struct mpk_view_node *n, const char *filter)
{
	const struct mpk_payload_view *row = mpk_view_row(n);
	struct mpk_span name;

	for (size_t i = 0; i < n->models.count; i++)
		if (mpk_name_matches(n->models.items[i].name, filter))
			return true;
	for (size_t i = 0; row->part && row->part(n->payload, i, &name); i++)
		if (mpk_name_matches(name, filter))
			return true;
	return false;
}

/* A filter that matches a module's path or kind chooses the whole module. */
static bool chooses_whole(const struct mpk_view_node *n, const char *filter)
{
	return is_path_chosen(n->path, filter) || mpk_name_matches(n->node->kind, filter);
}

void mpk_view_filter(struct mpk_view *view, struct mpk_view_choice *choice)
{
	view->choice = choice;
	for (size_t i = 0; i < view->count; i++) {
		struct mpk_view_node *n = &view->nodes[i];

		n->choice = choice;
		n->whole = false;
		/* hidden until a filter chooses the module or a part of it */
		n->hidden = true;
		/* all filters are tried: one may choose the module and another only a part of it */
		for (size_t f = 0; f < choice->filter.count; f++) {
			const char *filter = choice->filter.items[f];
			bool whole = chooses_whole(n, filter);

			n->whole |= whole;
			n->hidden &= !whole && !has_part(n, filter);
		}
	}
}

bool mpk_view_chooses(struct mpk_view_choice *choice, struct mpk_span name)
{
	/* the search does not stop early: every filter that matches is noted as used */
	bool any = !choice->filter.count;

	for (size_t f = 0; f < choice->filter.count; f++)
		if (mpk_name_matches(name, choice->filter.items[f]))
			any = choice->shown[f] = true;
	return any;
}

/* Notes which filters chose a shown module or something in it. */
static void note_node(const struct mpk_view_node *n)
{
	struct mpk_view_choice *c = n->choice;

	for (size_t f = 0; f < c->filter.count; f++)
		c->shown[f] = c->shown[f] || chooses_whole(n, c->filter.items[f]) ||
			      has_part(n, c->filter.items[f]);
}

bool mpk_view_shows(const struct mpk_view *view, struct mpk_span name)
{
	return !view->choice || mpk_view_chooses(view->choice, name);
}

bool mpk_view_shows_node(const struct mpk_view_node *n)
{
	if (n->choice && !n->hidden)
		note_node(n);
	return !n->choice || !n->hidden;
}

bool mpk_view_shows_whole(const struct mpk_view_node *n)
{
	return !n->choice || n->whole;
}

bool mpk_view_shows_part(const struct mpk_view_node *n, struct mpk_span name)
{
	if (n->choice && n->whole)
		note_node(n);
	/* n->whole comes last, since mpk_view_chooses also notes which filter chose the part */
	return !n->choice || mpk_view_chooses(n->choice, name) || n->whole;
}
