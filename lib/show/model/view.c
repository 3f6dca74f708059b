/* SPDX-License-Identifier: Apache-2.0 */
/* view.c - what was read of a file, made ready once for all answers
 *
 * Every payload is decoded and every path written, in time linear in the size of the tree, as a hostile file
 * decides how large that is. What does not decode stays in the tree with its problem, so that the rest can
 * still be looked at. */
#include <stdio.h>
#include <string.h>

#include "base/strmap.h"
#include "code/format.h"
#include "model/device_code.h"
#include "model/view.h"

/* The first importer of a node and the node's position among its imports. */
struct step {
	size_t parent, position;
	bool known;
};

/* The way up from a node, written from its end; what does not fit is cut at the front, as
 * mpk_tree_path does. A step takes two characters at least: few fit. */
static void set_path(const struct step *steps, size_t node, char out[MPK_VIEW_PATH])
{
	size_t at = MPK_VIEW_PATH - 1, start = node;
	bool cut = false;
	char text[32];

	out[at] = '\0';
	while (node && !cut) {
		int n = steps[node].known
				? snprintf(text, sizeof text, "/%zu", steps[node].position)
				: snprintf(text, sizeof text, "#%zu", node);

		cut = (size_t)n > at;
		if (cut)
			break;
		at -= (size_t)n;
		memcpy(out + at, text, (size_t)n);
		node = steps[node].known ? steps[node].parent : 0;
	}
	if (start == 0)
		out[--at] = '/';
	if (cut)
		memcpy(out + at, "...", 3);
	memmove(out, out + at, MPK_VIEW_PATH - at);
}

/* Far down the paths are cut, and all the same where each module has one import: they are kept once. */
static const char *keep_path(const struct mpk_view *view, const struct step *steps, size_t node,
			     struct mpk_arena *arena)
{
	const char *above = steps[node].known ? view->nodes[steps[node].parent].path : "/";
	char path[MPK_VIEW_PATH];

	set_path(steps, node, path);
	return strcmp(path, above) == 0 ? above : mpk_arena_copy(arena, path, strlen(path));
}

/* Children come after their parents, so one pass reaches every node from above. */
static enum mpk_code set_paths(struct mpk_view *view, struct mpk_arena *arena,
			       struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	struct step *steps = mpk_arena_array(&scratch, view->count, sizeof *steps);

	MPK_TRY_ALLOC(steps, err);
	for (size_t i = 0; i < view->count; i++) {
		const struct mpk_node *n = view->nodes[i].node;

		for (size_t j = 0; j < n->child_count; j++)
			if (!steps[n->children[j]].known)
				steps[n->children[j]] = (struct step){ i, j, true };
		view->nodes[i].path = keep_path(view, steps, i, arena);
		MPK_TRY_ALLOC(view->nodes[i].path, err);
	}
	return MPK_OK;
}

/* Trees of a hundred thousand modules are legal, and an error is large: only those that have a
 * problem have one. */
static enum mpk_code keep_problem(struct mpk_view_node *n, struct mpk_error *problem,
				  struct mpk_arena *arena, struct mpk_error *err)
{
	mpk_error_at_path(problem, n->path);
	n->problem = problem->code == MPK_E_NOMEM
			     ? NULL
			     : mpk_arena_keep(arena, problem, 1, sizeof *problem);
	MPK_TRY_ALLOC(n->problem, err);
	return MPK_OK;
}

/* Decodes one payload. One that fails keeps its problem; a kind that is unknown has none, as
 * nothing is known to be wrong with it. */
static enum mpk_code view_decode(struct mpk_view_node *n, enum mpk_generation gen,
				 struct mpk_arena *arena, struct mpk_error *err)
{
	static const struct mpk_payload none = { .tag = MPK_PAYLOAD_EMPTY };
	struct mpk_error problem;
	struct mpk_payload payload;

	n->kind = mpk_kind_find(n->node->kind);
	n->payload = &none;
	if (!n->kind || n->node->opaque)
		return MPK_OK;
	if (mpk_payload_decode(n->kind, gen, mpk_source_of(n->node), arena, &payload, &problem) !=
	    MPK_OK)
		return keep_problem(n, &problem, arena, err);
	n->payload = mpk_arena_keep(arena, &payload, 1, sizeof payload);
	MPK_TRY_ALLOC(n->payload, err);
	n->decoded = true;
	if (mpk_models_of(n->payload, arena, &n->models, &problem) == MPK_OK)
		return MPK_OK;
	return keep_problem(n, &problem, arena, err);
}

/* Code that getters name is read once, that of any library, which may be gigabytes, when it is shown. */
static enum mpk_code read_embedded(const struct mpk_image *image, struct mpk_arena *arena,
				   const struct mpk_view_code **out, struct mpk_error *err)
{
	struct mpk_view_code *list = mpk_arena_array(arena, image->embedded_count, sizeof *list);

	MPK_TRY_ALLOC(list, err);
	for (size_t i = 0; i < image->embedded_count; i++) {
		const struct mpk_image_code *at = &image->embedded[i];

		list[i].at = at;
		list[i].path = mpk_arena_printf(arena, MPK_EMBEDDED_PATH "%s", at->name);
		MPK_TRY_ALLOC(list[i].path, err);
		/* no kind of module claims a format here: the bytes say which it is */
		MPK_TRY(mpk_code_info_read(at->bytes, at->off, NULL, arena, &list[i].code, err));
	}
	*out = list;
	return MPK_OK;
}

enum mpk_code mpk_view_init(struct mpk_view *view, const char *name, uint64_t file_bytes,
			    const struct mpk_image *image, const struct mpk_tree *tree,
			    struct mpk_arena *arena, struct mpk_error *err)
{
	struct mpk_view v = {
		.name = name, .file_bytes = file_bytes, .image = image, .arena = arena
	};

	if (tree && image->has_blob) {
		v.tree = tree;
		v.count = tree->count;
		v.nodes = mpk_arena_array(arena, v.count, sizeof *v.nodes);
		MPK_TRY_ALLOC(v.nodes, err);
	}
	for (size_t i = 0; i < v.count; i++)
		v.nodes[i].node = &tree->nodes[i];
	MPK_TRY(mpk_host_signatures(image, arena, &v.host, err));
	MPK_TRY(read_embedded(image, arena, &v.embedded, err));
	MPK_TRY(set_paths(&v, arena, err));
	for (size_t i = 0; i < v.count; i++)
		/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): no nodes without a tree */
		MPK_TRY(view_decode(&v.nodes[i], tree->gen, arena, err));
	MPK_TRY(mpk_view_infer(&v, err));
	/* last, as it looks at the models and kernels of all modules */
	MPK_TRY(mpk_view_read_names(&v, err));
	*view = v;
	return MPK_OK;
}

struct mpk_span mpk_view_format(const struct mpk_view_node *node)
{
	const struct mpk_kernels *k = mpk_view_kernels(node);

	return k ? k->fmt : (struct mpk_span){ 0 };
}

const char *mpk_view_title(const struct mpk_view_node *node)
{
	return node->kind ? node->kind->title : "unknown kind";
}

/* --- loaders ---------------------------------------------------------------------------- */

enum mpk_code mpk_view_loaders(const struct mpk_view *view, const struct mpk_span **out,
			       size_t *count, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strmap_fini) struct mpk_strmap known = { 0 };
	struct mpk_span *kinds = mpk_arena_array(view->arena, view->count, sizeof *kinds);
	size_t n = 0;

	MPK_TRY_ALLOC(kinds, err);
	for (size_t i = 0; i < view->count; i++) {
		const struct mpk_node *node = view->nodes[i].node;
		int added = node->is_lib ? 0 : mpk_strmap_put(&known, node->kind, 0, NULL);

		MPK_TRY_ALLOC(added >= 0, err);
		if (added)
			kinds[n++] = node->kind;
	}
	*out = kinds;
	*count = n;
	return MPK_OK;
}

enum mpk_code mpk_view_targets(const struct mpk_view *view, const struct mpk_view_node *node,
			       const struct mpk_code_target **out, size_t *count,
			       struct mpk_error *err)
{
	const struct mpk_kernels *k = mpk_view_kernels(node);
	struct mpk_error problem = { 0 };

	*count = 0;
	/* other layouts have a source for each kernel and no
	 * container whose header names devices */
	if (!k || k->layout != MPK_KERNELS_PLAIN || !mpk_code_kind_has_targets(node->node->kind))
		return MPK_OK;
	if (mpk_code_targets(k->data, view->arena, out, count, &problem) != MPK_OK)
		*count = 0; /* --verify tells why */
	return problem.code == MPK_E_NOMEM ? mpk_fail_nomem(err) : MPK_OK;
}

/* --- what a filter chooses --------------------------------------------------------------- */

/* A path is chosen only by a filter that looks like one, else "0" would choose half of a tree. */
static bool is_path_chosen(const char *path, const char *filter)
{
	return filter[0] == '/' && mpk_name_matches(mpk_span_str(path), filter);
}

/* Functions of executors, kernels, tensors: what the listing prints a line of. */
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

/* A module is chosen by its path or its kind, and all that is in it with it. */
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
		/* until a filter chooses the module or a part of it */
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
	/* no search ends early: every filter that matches is noted as one that chose something */
	bool any = !choice->filter.count;

	for (size_t f = 0; f < choice->filter.count; f++)
		if (mpk_name_matches(name, choice->filter.items[f]))
			any = choice->shown[f] = true;
	return any;
}

/* A module is shown: note who chose it, or something in it. */
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
	/* n->whole comes last: mpk_view_chooses also notes who chose the part */
	return !n->choice || mpk_view_chooses(n->choice, name) || n->whole;
}
