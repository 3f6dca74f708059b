/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the container: what the reader accepts but a writer would not write, and kinds that
 * no loader knows */
#include "verify/verify.h"

#include <inttypes.h>

#include "text/escape.h"

/* The reader goes on after a fault where it can and keeps one warning; a tree that was cut
 * short is an error, since modules are missing. */
static void container(struct mpk_verify *v)
{
	const struct mpk_tree *tree = v->view->tree;

	if (tree && tree->warning.code != MPK_OK)
		mpk_verify_say_at(v, tree->truncated ? MPK_ERROR : MPK_WARNING,
				  (struct mpk_verify_position){ tree->warning.at.space,
								tree->warning.at.offset, NULL },
				  "%s", tree->warning.text);
}

/* A finding about the container has an offset and no module. */
static struct mpk_verify_position in_blob(uint64_t offset)
{
	return (struct mpk_verify_position){ "blob", offset, NULL };
}

static void blob_tail(struct mpk_verify *v)
{
	const struct mpk_tree *tree = v->view->tree;

	if (tree && !tree->truncated && tree->used < tree->nbytes + 8)
		mpk_verify_say_at(v, MPK_WARNING, in_blob(tree->used),
				  "%" PRIu64 " bytes follow the last module",
				  tree->nbytes + 8 - tree->used);
	/* in a library that is the symbol's size, which blob-size looks at */
	const struct mpk_image *image = v->view->image;
	if (tree && image->container == MPK_CONTAINER_BLOB && image->blob.len > tree->nbytes + 8)
		mpk_verify_say_at(v, MPK_WARNING, in_blob(tree->nbytes + 8),
				  "the file goes on behind the blob: %" PRIu64 " bytes more",
				  image->blob.len - (tree->nbytes + 8));
}

/* The second one is reported, and not each further one: a hostile tree has thousands. */
static void several_libs(struct mpk_verify *v)
{
	size_t libs = 0;

	for (size_t i = 0; i < v->view->count; i++) {
		const struct mpk_view_node *n = &v->view->nodes[i];

		if (n->node->is_lib && libs++ == 1)
			mpk_verify_say_at(
				v, MPK_WARNING,
				(struct mpk_verify_position){ "blob", n->node->kind_off, n->path },
				"a second _lib: only TVM 0.7 writes several, and TVM 0.8 - 0.20 refuse them");
	}
}

/* Nodes that nothing imports, other than the root: TVM loads them for nothing. */
static void unreached(struct mpk_verify *v)
{
	const struct mpk_view *view = v->view;
	bool *seen = mpk_arena_array(v->arena, view->count + 1, sizeof *seen);

	if (!seen || !view->tree || view->tree->truncated) {
		v->report->failed |= !seen;
		return;
	}
	for (size_t i = 0; i < view->count; i++) {
		const struct mpk_node *n = view->nodes[i].node;

		for (size_t k = 0; k < n->child_count; k++)
			seen[n->children[k]] = true;
		if (i && !seen[i])
			mpk_verify_say_at(v, MPK_WARNING,
					  (struct mpk_verify_position){ "blob", n->kind_off,
									view->nodes[i].path },
					  "nothing imports this module");
	}
}

/* A note: TVM since 0.8 writes the imports of a module sorted. Another order comes from an
 * older TVM or from another writer, and loads all the same. */
static void child_order(struct mpk_verify *v, const struct mpk_view_node *n)
{
	for (size_t k = 1; k < n->node->child_count; k++)
		if (n->node->children[k - 1] >= n->node->children[k]) {
			mpk_verify_say(
				v, MPK_NOTE,
				"imports are not ascending and unique, as TVM since 0.8 writes them");
			return;
		}
}

/* No error: a program may register a loader of its own, and then the kind is known where it
 * matters. */
static void known_kind(struct mpk_verify *v, const struct mpk_view_node *n)
{
	if (!n->kind)
		mpk_verify_say(
			v, MPK_WARNING,
			"kind '%s' is unknown: its payload cannot be checked, and loading needs a runtime that registers it",
			MPK_QUOTE(n->node->kind));
}

/* The first release of the generation, and of the one after it. */
static const unsigned first_release[MPK_GENERATION_COUNT + 1] = {
	[MPK_GEN_LEGACY] = 0,
	[MPK_GEN_HYBRID] = 21,
	[MPK_GEN_CURRENT] = 22,
	[MPK_GENERATION_COUNT] = MPK_RELEASE_NOW,
};

/* A blob of a generation with a kind that its releases never wrote was edited, or the kind's name
 * is used for something else. */
static void kind_release(struct mpk_verify *v, const struct mpk_view_node *n)
{
	enum mpk_generation gen = v->view->tree->gen;

	if (n->kind &&
	    (n->kind->last < first_release[gen] || n->kind->first >= first_release[gen + 1]))
		mpk_verify_say(
			v, MPK_WARNING,
			"modules of kind '%s' were written by TVM 0.%u - 0.%u, this blob is of %s",
			n->kind->name, n->kind->first, n->kind->last,
			mpk_generation_get(gen)->releases);
}

const struct mpk_check mpk_checks_tree[] = {
	{ "container", "every module could be told from the next", .whole = container },
	{ "blob-tail", "nothing follows the last module", .whole = blob_tail },
	{ "several-libs", "there is one _lib", .whole = several_libs },
	{ "unreached", "the root reaches every module", .whole = unreached },
	{ "child-order", "imports are in the order TVM writes", .node = child_order },
	{ "kind", "every kind is known", .node = known_kind },
	{ "kind-release", "kinds are of the generation", .node = kind_release },
	{ 0 },
};
