/* SPDX-License-Identifier: Apache-2.0 */
/* What is to be written goes through the checks of what was read: each payload is seen whole, as it
 * will stand in the blob, and decoded by its kind's own reader. */
#include "io/flat.h"
#include "verify/verify.h"

#include <stdio.h>
#include <string.h>

#include "model/node_info.h"

/* The tree as if it had been read, and what its payloads lie in. */
struct written {
	struct mpk_arena arena;
	struct mpk_tree tree;
	struct mpk_node *nodes;
	struct mpk_flat *flats;
};

static void written_fini(struct written *w)
{
	for (size_t i = 0; w->flats && i < w->tree.count; i++)
		mpk_flat_close(&w->flats[i]);
	mpk_arena_fini(&w->arena);
}

/* A kind without a row is any bytes, which need not be looked at. */
static enum mpk_code read_back(struct written *w, const struct mpk_tree *tree,
			       struct mpk_error *err)
{
	w->tree = *tree;
	w->nodes = mpk_arena_array(&w->arena, tree->count, sizeof *w->nodes);
	w->flats = mpk_arena_array(&w->arena, tree->count, sizeof *w->flats);
	MPK_TRY_ALLOC(w->nodes && w->flats, err);
	w->tree.nodes = w->nodes;
	for (size_t i = 0; i < tree->count; i++) {
		const struct mpk_node *n = &tree->nodes[i];

		w->nodes[i] = *n;
		w->nodes[i].content = NULL;
		w->nodes[i].payload = (struct mpk_span){ 0 };
		w->nodes[i].payload_off = 0;
		w->nodes[i].opaque = !n->content || !mpk_kind_find(n->kind);
		if (w->nodes[i].opaque)
			continue;
		MPK_TRY(mpk_flat_open(n->content, &w->flats[i], err));
		w->nodes[i].payload = w->flats[i].bytes;
	}
	return MPK_OK;
}

static void place_finding(const struct mpk_view *view, struct mpk_error *e,
			  void (*place)(void *data, size_t node, struct mpk_error *error),
			  void *data)
{
	if (strcmp(e->at.space, "blob") == 0)
		(void)snprintf(e->at.space, sizeof e->at.space, "payload");
	for (size_t i = 0; place && i < view->count; i++) {
		if (strcmp(view->nodes[i].path, e->at.path) == 0) {
			place(data, i, e);
			return;
		}
	}
}

enum mpk_code mpk_verify_contents(const struct mpk_tree *tree, const char *name, bool standalone,
				  struct mpk_report *report,
				  void (*place)(void *data, size_t node, struct mpk_error *error),
				  void *data, struct mpk_error *err)
{
	MPK_CLEANUP(written_fini) struct written w = { 0 };
	struct mpk_image image = { .container = MPK_CONTAINER_BLOB,
				   .has_blob = true,
				   .standalone = standalone };
	struct mpk_view view;
	size_t from = report->count;

	MPK_TRY(read_back(&w, tree, err));
	MPK_TRY(mpk_view_init(&view, name, 0, &image, &w.tree, &w.arena, err));
	MPK_TRY(mpk_verify_payloads(&view, &w.arena, report, err));
	for (size_t i = from; i < report->count; i++)
		place_finding(&view, &report->findings[i].error, place, data);
	return MPK_OK;
}
