/* SPDX-License-Identifier: Apache-2.0 */
/* eu_search.c - what the static libelf of Debian 13 lacks: elfutils 0.192 calls helpers of its own that are in none of
 * the archives of that package. A tree begins with its root and may have a lock after it, which nothing needs that
 * has an ELF handle in one thread at a time. Linked after libelf, where it is asked for these names alone. */
#include <search.h>
#include <stddef.h>

struct search_tree {
	void *root;
};

typedef int compare_fn(const void *, const void *);

void eu_search_tree_init(struct search_tree *tree);
void eu_search_tree_fini(struct search_tree *tree, void (*free_node)(void *));
void *eu_tsearch(const void *key, struct search_tree *tree, compare_fn *compare);
void *eu_tdelete(const void *key, struct search_tree *tree, compare_fn *compare);

void eu_search_tree_init(struct search_tree *tree)
{
	tree->root = NULL;
}

void eu_search_tree_fini(struct search_tree *tree, void (*free_node)(void *))
{
	tdestroy(tree->root, free_node);
}

void *eu_tsearch(const void *key, struct search_tree *tree, compare_fn *compare)
{
	return tsearch(key, &tree->root, compare);
}

void *eu_tdelete(const void *key, struct search_tree *tree, compare_fn *compare)
{
	return tdelete(key, &tree->root, compare);
}
