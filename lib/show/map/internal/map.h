/* SPDX-License-Identifier: Apache-2.0 */
/* internal/map.h - the tree of --svg while it grows */
#ifndef MPK_MAP_INTERNAL_MAP_H
#define MPK_MAP_INTERNAL_MAP_H

#include "base/strmap.h"
#include "map/map.h"

/* How many parts of one whole are told apart; the rest of them is one part. */
enum { MPK_MAP_CHILDREN_MOST = 300 };

struct mpk_map_maker {
	const struct mpk_view *view;
	const struct mpk_size *size;
	struct mpk_arena *arena;
	struct mpk_error *err;
	struct mpk_map_node *nodes; /* malloc'ed */
	size_t count, cap;
	size_t *modules; /* the node of each module; 0: it has none */
	size_t *code_parts; /* of each module, its part "kernels.*" that has the code of all; 0: none */
	size_t *sections;          /* the node of each section by its number; 0: it has none */
	size_t section_room;       /* of sections */
	struct mpk_strmap groups;  /* nodes by a key, for what is put together by its name */
	struct mpk_strmap symbols; /* the first node of each symbol */
};

/* mpk_map_collect - add the file and all that is in it, in no order; nodes know their parents
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_map_collect(struct mpk_map_maker *m) MPK_MUST_CHECK;

#endif
