/* SPDX-License-Identifier: Apache-2.0 */
/* map.h - minspect --svg: where a file's bytes are, as a tree and as a picture
 *
 * From the file over its sections to modules, parts, devices, kernels and functions: what --size knows, one
 * within the other. The page of --html draws the same tree. */
#ifndef MPK_MAP_MAP_H
#define MPK_MAP_MAP_H

#include "size/size.h"

/* Something that takes bytes. */
struct mpk_map_node {
	const char *kind;       /* a word of mpk_map_kind_title */
	struct mpk_span name;   /* as people read it; not escaped */
	struct mpk_span symbol; /* of a kernel or function, where that is another; else empty */
	const char *path;       /* of the module, the code beside the tree, or NULL */
	uint64_t bytes;         /* of the file */
	uint64_t plain_bytes;   /* of what is packed, its size unpacked; else 0 */
	size_t parent;          /* of the first node, itself */
	size_t first,
		next;   /* its largest child, and the next smaller child of its parent; 0: none */
	unsigned depth; /* of the first 0 */
};

/* The first node is the file. What is within a node fills it: what has no name is a node of kind "rest". */
struct mpk_map {
	const struct mpk_map_node *nodes;
	size_t count;
};

/* mpk_map_read - build the tree
 * @size    of the view (mpk_size_read)
 * @arena   receives it
 * Returns  MPK_OK; MPK_E_NOMEM. A section whose parts overlap has none. */
enum mpk_code mpk_map_read(const struct mpk_view *view, const struct mpk_size *size,
			   struct mpk_arena *arena, struct mpk_map *out,
			   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_map_kind_title - "host code" for "function": what a kind is called; static storage */
const char *mpk_map_kind_title(const char *kind);

/* What is drawn. */
struct mpk_map_picture {
	const char *file; /* as the user named it */
	const struct mpk_map *map;
};

/* of struct mpk_map_picture: an SVG document that stands alone, without a script or a reference; the area of a box is
 * its share of the file, and its title says what it is. Dark where the viewer prefers that. */
extern const struct mpk_answer mpk_answer_map;

#endif
