#include "view/view.h"

#include <stdio.h>
#include <string.h>

/* path + "/" + position; a path that grows too long loses its head, as mpk_tree_path does. */
static void set_path(struct mpk_view_node *child, const struct mpk_view_node *parent,
		     size_t position)
{
	char whole[MPK_VIEW_PATH + 32];
	const char *up = strcmp(parent->path, "/") == 0 ? "" : parent->path;
	size_t len = (size_t)snprintf(whole, sizeof whole, "%s/%zu", up, position);

	if (len < MPK_VIEW_PATH) {
		memcpy(child->path, whole, len + 1);
		return;
	}
	memcpy(child->path, whole + len - (MPK_VIEW_PATH - 1), MPK_VIEW_PATH);
	memcpy(child->path, "...", 3);
}

/* Children stand behind their parents, so one pass reaches every node from above. */
static void set_paths(struct mpk_view *view)
{
	for (size_t i = 0; i < view->count; i++) {
		struct mpk_view_node *n = &view->nodes[i];

		if (i == 0)
			(void)snprintf(n->path, sizeof n->path, "/");
		else if (!n->path[0])
			(void)snprintf(n->path, sizeof n->path, "#%zu", i);
		for (size_t j = 0; j < n->node->child_count; j++) {
			struct mpk_view_node *child = &view->nodes[n->node->children[j]];

			if (!child->path[0])
				set_path(child, n, j);
		}
	}
}

static void decode(struct mpk_view_node *n, enum mpk_generation gen, struct mpk_arena *arena)
{
	n->kind = mpk_kind_find(n->node->kind);
	if (!n->kind || n->node->opaque)
		return;
	n->decoded = mpk_payload_decode(n->kind, gen, mpk_source_of(n->node), arena,
					&n->payload, &n->problem) == MPK_OK;
	if (!n->decoded ||
	    mpk_models_of(&n->payload, arena, &n->models, &n->problem) != MPK_OK)
		mpk_error_at_path(&n->problem, n->path);
}

enum mpk_code mpk_view_init(struct mpk_view *view, const char *name, uint64_t file_bytes,
			    const struct mpk_image *image, const struct mpk_tree *tree,
			    struct mpk_arena *arena, struct mpk_error *err)
{
	struct mpk_view v = { .name = name, .file_bytes = file_bytes, .image = image };

	if (tree && image->has_blob) {
		v.tree = tree;
		v.count = tree->count;
		v.nodes = mpk_arena_array(arena, v.count, sizeof *v.nodes);
		if (!v.nodes)
			return mpk_fail_nomem(err);
	}
	for (size_t i = 0; i < v.count; i++)
		v.nodes[i].node = &tree->nodes[i];
	set_paths(&v);
	for (size_t i = 0; i < v.count; i++) {
		decode(&v.nodes[i], tree->gen, arena);
		if (v.nodes[i].problem.code == MPK_E_NOMEM)
			return mpk_fail_nomem(err);
	}
	*view = v;
	return MPK_OK;
}

const struct mpk_kernels *mpk_view_kernels(const struct mpk_view_node *node)
{
	if (!node->decoded || node->payload.tag != MPK_PAYLOAD_KERNELS)
		return NULL;
	return &node->payload.u.kernels;
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

const char *mpk_view_container(enum mpk_container container)
{
	static const char *const names[] = {
		[MPK_CONTAINER_ELF_SO] = "elf-so",  [MPK_CONTAINER_ELF_OBJ] = "elf-object",
		[MPK_CONTAINER_ARCHIVE] = "archive", [MPK_CONTAINER_TAR] = "tar",
		[MPK_CONTAINER_BLOB] = "blob",
	};

	return names[container];
}

const char *mpk_view_convention(enum mpk_convention convention)
{
	static const char *const names[] = {
		[MPK_CONV_NONE] = "none",
		[MPK_CONV_LEGACY] = "legacy",
		[MPK_CONV_FFI021] = "ffi-0.21",
		[MPK_CONV_FFI] = "ffi",
	};

	return names[convention];
}
