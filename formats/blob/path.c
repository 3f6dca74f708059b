/* SPDX-License-Identifier: Apache-2.0 */
/* path.c - "/0/1", as users name modules; "#7" for those that the root does not reach */
#include "blob/blob.h"

#include <stdio.h>
#include <string.h>

#include "base/num.h"

/* The importer of the lowest index and the position of node among its imports. */
static bool find_parent(const struct mpk_tree *tree, size_t node, size_t *parent, size_t *position)
{
	for (size_t i = 0; i < node; i++) {
		const struct mpk_node *n = &tree->nodes[i];

		for (size_t j = 0; j < n->child_count; j++) {
			if (n->children[j] == node) {
				*parent = i;
				*position = j;
				return true;
			}
		}
	}
	return false;
}

/* The text is at out + at; its head does not fit. */
static const char *cut_head(char *out, size_t size, size_t at)
{
	memmove(out, out + at, size - at);
	if (size - at < sizeof "...")
		snprintf(out, size, "...");
	else
		memset(out, '.', 3);
	return out;
}

const char *mpk_tree_path(const struct mpk_tree *tree, size_t node, char *out, size_t size)
{
	size_t at = size - 1, parent, position;
	char step[32];

	out[at] = '\0';
	if (node == 0) {
		snprintf(out, size, "/");
		return out;
	}
	/* from the node up, so the text grows towards the front */
	for (;;) {
		bool up = node != 0 && find_parent(tree, node, &parent, &position);
		int n = up ? snprintf(step, sizeof step, "/%zu", position)
			   : snprintf(step, sizeof step, "#%zu", node);

		if (!up && node == 0)
			break;
		if ((size_t)n > at) {
			return cut_head(out, size, at);
		}
		at -= (size_t)n;
		memcpy(out + at, step, (size_t)n);
		if (!up)
			break;
		node = parent;
	}
	memmove(out, out + at, size - at);
	return out;
}

/* One step of the path: digits up to the next slash or the end. */
static bool blob_take_step(struct mpk_span *path, uint64_t *out)
{
	struct mpk_span digits = mpk_span_of(path->data, 0);

	while (digits.len < path->len && path->data[digits.len] >= '0' &&
	       path->data[digits.len] <= '9')
		digits.len++;
	*path = mpk_span_of(path->data + digits.len, path->len - digits.len);
	return (path->len == 0 || path->data[0] == '/') && mpk_parse_u64(digits, out);
}

bool mpk_tree_find(const struct mpk_tree *tree, const char *path, size_t *node)
{
	struct mpk_span rest = mpk_span_str(path);
	uint64_t at = 0, step;

	if (rest.len == 0 || tree->count == 0)
		return false;
	if (rest.data[0] == '#') {
		rest = mpk_span_of(rest.data + 1, rest.len - 1);
		if (!blob_take_step(&rest, &at) || at >= tree->count)
			return false;
	} else if (mpk_span_is(rest, "/")) {
		rest.len = 0;
	}
	while (rest.len) {
		rest = mpk_span_of(rest.data + 1, rest.len - 1);
		if (!blob_take_step(&rest, &step) || step >= tree->nodes[at].child_count)
			return false;
		at = tree->nodes[at].children[step];
	}
	*node = (size_t)at;
	return true;
}
