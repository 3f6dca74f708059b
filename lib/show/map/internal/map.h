/* SPDX-License-Identifier: Apache-2.0 */
/* internal/map.h - the tree of --svg while it grows */
#ifndef MPK_MAP_INTERNAL_MAP_H
#define MPK_MAP_INTERNAL_MAP_H

#include "base/strmap.h"
#include "map/map.h"

/* How many parts of one whole are told apart; the rest of them is one part. */
enum { MPK_MAP_CHILDREN_MOST = 300 };

struct mpk_map_section {
	const char *name; /* "" of one without */
	uint64_t off;     /* in the image's bytes */
	uint64_t bytes;   /* of the file */
	size_t index;     /* among those of the file */
	bool is_code;
	size_t node;
};

struct mpk_map_maker {
	const struct mpk_view *view;
	const struct mpk_size *size;
	struct mpk_arena *arena;
	struct mpk_error *err;
	struct mpk_map_node *nodes; /* malloc'ed */
	size_t count, cap;
	size_t *modules; /* the node of each module; 0: it has none */
	struct mpk_map_section *sections;
	size_t section_count;
	struct mpk_strmap groups; /* nodes by a key, for what is put together by its name */
};

/* mpk_map_add - add a node below another
 * @out     receives its index; may be NULL
 * mpk_map_add_symbol - the same of a kernel or function, whose name is a symbol
 * mpk_map_add_smaller - add what is left of many, as "12 smaller ones"
 * Return   MPK_OK; MPK_E_NOMEM, as all below do */
enum mpk_code mpk_map_add(struct mpk_map_maker *m, size_t parent, struct mpk_map_node node,
			  size_t *out) MPK_MUST_CHECK;
enum mpk_code mpk_map_add_symbol(struct mpk_map_maker *m, size_t parent,
				 struct mpk_map_node node) MPK_MUST_CHECK;
enum mpk_code mpk_map_add_smaller(struct mpk_map_maker *m, size_t parent, size_t count,
				  uint64_t bytes) MPK_MUST_CHECK;

/* mpk_map_add_blob - add the module blob with all that is in it
 * mpk_map_add_images - below a part, the devices for which a module has code, and their kernels
 * @part    its node
 * mpk_map_add_places - below each section of GPU code of any library the same, code that getters of TVM name, and below
 * each section of code the host functions in it */
enum mpk_code mpk_map_add_blob(struct mpk_map_maker *m, size_t parent) MPK_MUST_CHECK;
enum mpk_code mpk_map_add_images(struct mpk_map_maker *m, size_t part,
				 size_t module) MPK_MUST_CHECK;
enum mpk_code mpk_map_add_places(struct mpk_map_maker *m) MPK_MUST_CHECK;

#endif
