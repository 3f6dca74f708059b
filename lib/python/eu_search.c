/* SPDX-License-Identifier: Apache-2.0 */
/* eu_search.c - functions that the static libelf of Debian 13 lacks
 * elfutils 0.192 calls internal helpers that no archive of that package contains. A tree here
 * begins with its root and may have a lock after it; the lock is not needed, because each ELF
 * handle is used by one thread at a time. This file is linked after libelf, so only these missing
 * names are taken from it. */
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
