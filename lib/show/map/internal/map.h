/* SPDX-License-Identifier: Apache-2.0 */
/* internal/map.h - the tree of --svg while it is built */
#ifndef MPK_MAP_INTERNAL_MAP_H
#define MPK_MAP_INTERNAL_MAP_H

#include "base/strmap.h"
#include "map/map.h"

/* Maximum number of children shown for a node; the others are one node. */
enum { MPK_MAP_CHILDREN_MOST = 300 };

struct mpk_map_maker {
	const struct mpk_view *view;
	const struct mpk_size *size;
	struct mpk_arena *arena;
	struct mpk_error *err;
	struct mpk_map_node *nodes; /* malloc'ed */
	size_t count, cap;
	size_t *modules; /* for each module: its node; 0 if none */
	/* for each module: the node of its part "kernels.*" that holds the code of all kernels; 0
	 * if none */
	size_t *code_parts;
	size_t *sections;          /* for each section by number: its node; 0 if none */
	size_t section_room;       /* allocated length of sections */
	struct mpk_strmap groups;  /* maps keys to nodes that collect things with one name */
	struct mpk_strmap symbols; /* maps each symbol to its first node */
};

/* mpk_map_collect - add the nodes of the file and its contents, in any order; each node has the
 * index of its parent
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_map_collect(struct mpk_map_maker *m) MPK_MUST_CHECK;

#endif
