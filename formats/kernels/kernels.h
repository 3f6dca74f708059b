/* SPDX-License-Identifier: Apache-2.0 */
/* kernels.h - device code modules and their function tables (FORMAT.md) */
#ifndef MPK_FORMATS_KERNELS_KERNELS_H
#define MPK_FORMATS_KERNELS_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/cursor.h"
#include "base/error.h"
#include "base/rope.h"
#include "base/span.h"
#include "blob/blob.h"
#include "dtype/dtype.h"

/* A kernel as host code calls it. */
struct mpk_function_info {
	struct mpk_span key;  /* key of the map: the kernel's symbol */
	struct mpk_span name; /* empty if written by TVM 0.2 - 0.23 */
	const struct mpk_dtype *arg_types;
	size_t arg_count;
	const struct mpk_span *launch_tags; /* "blockIdx.x", "tirx.use_dyn_shared_memory" */
	size_t launch_tag_count;
	const int32_t *extra_tags; /* from 0.21 on; may be fewer than arg_count; 1 = tensor map */
	size_t extra_tag_count;
};

/* The text at the beginning of a METAL_013 payload. */
#define MPK_METAL_013_VERSION "0.1.0"

/* The order of the parts of a device payload (FORMAT.md 2). */
enum mpk_kernels_layout {
	MPK_KERNELS_PLAIN,        /* str fmt, fmap, str data: cuda, opencl, hip, hexagon, ... */
	MPK_KERNELS_METAL_013,    /* str "0.1.0", map<str,str>, fmap, str fmt */
	MPK_KERNELS_SOURCES,      /* str fmt, fmap, map<str,bytes>: metal from 0.24 on */
	MPK_KERNELS_WEBGPU,       /* fmap, map<str,str>; no fmt */
	MPK_KERNELS_SHADERS,      /* str fmt, fmap, map<str,{u32,vec<u32>}>: vulkan to 0.23 */
	MPK_KERNELS_SHADERS_024,  /* as SHADERS, each shader length-prefixed: vulkan from 0.24 on */
	MPK_KERNELS_OPENCL_SPIRV, /* fmap, map<str,{u32,vec<u32>}>; no fmt: opencl 0.13 - 0.23 */
};

/* An entry of the map of kernels, in layouts that have one. */
struct mpk_kernel_source {
	struct mpk_span key;
	struct mpk_span data; /* text, or SPIR-V words (a multiple of 4 bytes) */
	uint32_t flag;        /* shaders: bit 0 = scalars in a uniform buffer */
};

struct mpk_kernels {
	enum mpk_kernels_layout layout;
	enum mpk_generation gen; /* whether extra_tags are stored */
	struct mpk_span fmt;     /* "ptx", "cubin", "cl", ...; empty if not stored */
	const struct mpk_function_info *functions; /* in stored order */
	size_t function_count;
	struct mpk_span data; /* in layouts with one block of data */
	uint64_t data_off;    /* set by reading: its offset from the beginning of the payload */
	const struct mpk_rope *content; /* for writing: the block of data; NULL: use data */
	const struct mpk_kernel_source *sources; /* in layouts with a map */
	size_t source_count;
};

/* mpk_kernels_read - read a device payload from c; the layout follows from kind, gen and bytes
 * Reads exactly the payload, which legacy containers need because they store no length. If the kind
 * and generation allow several layouts, the one is used after which the bytes end or, in the older
 * generations, the kind of the next module follows; else the first that reads.
 * The caller decides whether bytes may be left in c.
 * @kind    "cuda", "opencl", "metal", ...
 * @out     views of the cursor's bytes, and arrays in arena
 * Returns  MPK_OK; MPK_E_CORRUPT with the offset; MPK_E_NOMEM. */
enum mpk_code mpk_kernels_read(struct mpk_cursor *c, struct mpk_span kind, enum mpk_generation gen,
			       struct mpk_arena *arena, struct mpk_kernels *out,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_kernels_write - append the payload to rope, with the bytes that mpk_kernels_read reads
 * The rope remembers failures. */
void mpk_kernels_write(const struct mpk_kernels *k, struct mpk_rope *rope);

/* mpk_kernels_find - the function with this key, or NULL */
const struct mpk_function_info *mpk_kernels_find(const struct mpk_kernels *k, struct mpk_span key);

/* The meaning of a launch tag (FORMAT.md 3). */
enum mpk_launch_tag {
	MPK_TAG_GRID_X,
	MPK_TAG_GRID_Y,
	MPK_TAG_GRID_Z,
	MPK_TAG_BLOCK_X,
	MPK_TAG_BLOCK_Y,
	MPK_TAG_BLOCK_Z,
	MPK_TAG_CLUSTER_X,
	MPK_TAG_CLUSTER_Y,
	MPK_TAG_CLUSTER_Z,
	MPK_TAG_PREFERRED_CLUSTER_X,
	MPK_TAG_PREFERRED_CLUSTER_Y,
	MPK_TAG_PREFERRED_CLUSTER_Z,
	MPK_TAG_DYN_SHARED,   /* takes an argument, in bytes; must be last */
	MPK_TAG_PROGRAMMATIC, /* no argument: programmatic dependent launch */
	MPK_TAG_COOPERATIVE,  /* no argument */
	MPK_TAG_WRITE_ACCESS, /* no argument: webgpu's paramWriteAccess:[...] */
	MPK_TAG_UNKNOWN,
};

/* mpk_launch_tag_parse - accepts both spellings (tir. and tirx.); MPK_TAG_UNKNOWN for others */
enum mpk_launch_tag mpk_launch_tag_parse(struct mpk_span tag);

/* mpk_launch_tag_takes_argument - whether callers pass a value for the tag */
bool mpk_launch_tag_takes_argument(enum mpk_launch_tag tag);

#endif
