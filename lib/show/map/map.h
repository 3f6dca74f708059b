/* SPDX-License-Identifier: Apache-2.0 */
/* map.h - minspect --svg: where a file's bytes are, as a tree and as a picture
 *
 * The tree nests all that --size knows: the file, its sections, modules, parts, devices, kernels
 * and functions. The page of --html draws the same tree. */
#ifndef MPK_MAP_MAP_H
#define MPK_MAP_MAP_H

#include "size/size.h"

/* A thing that takes bytes. */
struct mpk_map_node {
	const char *kind;     /* a kind known to mpk_map_kind_title */
	struct mpk_span name; /* demangled; not escaped */
	/* symbol of a kernel or function if it differs from the name; else empty */
	struct mpk_span symbol;
	const char *path;     /* path of the module or of code outside the tree; else NULL */
	uint64_t bytes;       /* bytes in the file */
	uint64_t plain_bytes; /* unpacked size of packed code; else 0 */
	size_t parent;        /* index; the first node is its own parent */
	size_t first,
		/* index of its largest child, and of the next smaller child of its parent; 0 if
		 * none */
		next;
	unsigned depth; /* 0 for the first node */
};

/* The first node is the file. Children fill their parent: bytes without a name are a node of kind
 * "rest". */
struct mpk_map {
	const struct mpk_map_node *nodes;
	size_t count;
};

/* mpk_map_read - build the tree
 * @size    of the view (mpk_size_read)
 * @arena   receives the tree
 * Returns  MPK_OK; MPK_E_NOMEM. A section whose parts overlap gets no children. */
enum mpk_code mpk_map_read(const struct mpk_view *view, const struct mpk_size *size,
			   struct mpk_arena *arena, struct mpk_map *out,
			   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_map_kind_title - the title of a kind, "host code" for "function"; static storage */
const char *mpk_map_kind_title(const char *kind);

/* A map and the title of its picture. */
struct mpk_map_picture {
	const char *file; /* the name that the user gave */
	const struct mpk_map *map;
};

/* Printer of struct mpk_map_picture: a self-contained SVG document, without scripts or references.
 * The area of a box is its share of the file, and its title describes it. Dark if the viewer
 * prefers dark. */
extern const struct mpk_answer mpk_answer_map;

#endif
