/* SPDX-License-Identifier: Apache-2.0 */
/* blob.h - the module blob: a tree of modules as a sequence of bytes (FORMAT.md)
 *
 * Three containers hold the same tree. Readers return views of the blob; writers take payloads as
 * ropes and never copy them. */
#ifndef MPK_FORMATS_BLOB_BLOB_H
#define MPK_FORMATS_BLOB_BLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/rope.h"
#include "base/span.h"

enum mpk_generation {
	MPK_GEN_LEGACY, /* TVM 0.2 - 0.20: item list, __tvm_dev_mblob */
	MPK_GEN_HYBRID, /* TVM 0.21: legacy items, tvm-ffi calls, __tvm_ffi_library_bin */
	MPK_GEN_CURRENT, /* TVM 0.22 and later, and tvm-ffi: length-prefixed, __tvm_ffi__library_bin */
	MPK_GENERATION_COUNT
};

/* The calling convention of a library's functions. */
enum mpk_convention {
	MPK_CONV_NONE,   /* neither a blob nor functions */
	MPK_CONV_LEGACY, /* TVMValue arrays (tvm-blob(5), Conventions) */
	MPK_CONV_FFI021, /* first tvm-ffi, plain symbol names */
	MPK_CONV_FFI,    /* tvm-ffi, __tvm_ffi_ symbols */
};

/* The names of a generation; one row for each enum value. */
struct mpk_generation_info {
	const char *abi;               /* value of --abi: "legacy", "ffi-0.21", "ffi" */
	const char *releases;          /* "TVM 0.2 - 0.20" */
	const char *blob_symbol;       /* "__tvm_dev_mblob" */
	const char *standalone_symbol; /* the blob in a library that mpack gave its own loader: a
				        * name that no runtime looks for */
	const char *ctx_symbol;        /* "__tvm_module_ctx" */
	const char *function_prefix;   /* "" or "__tvm_ffi_" */
	const char *entry;             /* symbol of the default entry function */
	const char *register_symbol;   /* system-lib registration function */
};

/* mpk_generation_get - the row of a generation; static storage, never NULL */
const struct mpk_generation_info *mpk_generation_get(enum mpk_generation gen);

/* The keys of two items that are not modules: the library's own code, and before 0.22 the import
 * tree, which has no module index. */
#define MPK_KIND_LIB "_lib"
#define MPK_KIND_TREE "_import_tree"

/* One module. In a tree that was read, kind and payload are views of the blob. */
struct mpk_node {
	struct mpk_span kind;
	struct mpk_span payload;        /* trees that were read: bytes of the payload; empty for
					 * _lib */
	const struct mpk_rope *content; /* trees to write: the payload; NULL: use payload */
	uint64_t kind_off;      /* trees that were read: offset of the kind's length field in the
				 * blob */
	uint64_t payload_off;   /* trees that were read: offset of payload in the blob */
	const size_t *children; /* node indices; ascending and unique if TVM wrote them */
	size_t child_count;
	bool is_lib;
	bool opaque; /* legacy container: the kind is unknown, and the end of the payload was
		      * guessed from the bytes after it, or is the end of the blob */
};

struct mpk_tree {
	enum mpk_generation gen;
	struct mpk_node *nodes; /* in index order; node 0 is the root */
	size_t count;
	bool has_tree;            /* false: legacy blob without _import_tree; then the library is
				   * the root and imports every module, and the reader adds a _lib
				   * node at index 0 */
	bool implied_lib;         /* node 0 is that library, and is not in the bytes */
	bool truncated;           /* legacy blob: nodes after one of unknown kind are missing, with
				   * the edges to them; see warning */
	uint64_t nbytes;          /* value of the header: number of bytes after the first 8 */
	uint64_t used;            /* bytes of the blob that were read, header included */
	struct mpk_error warning; /* about the first opaque node; code MPK_OK: there is none */
};

/* mpk_blob_read - read a blob with its header (nbytes)
 * @blob    at least 8 bytes; may be longer than nbytes (the rest of a section)
 * @arena   receives nodes and lists of children; views point into blob
 * Returns  MPK_OK; MPK_E_CORRUPT with the offset in "blob"; MPK_E_NOMEM.
 *          A legacy blob with a module of unknown kind is MPK_OK with a warning: the module is
 *          opaque, and the tree is truncated if the modules after it cannot be separated.
 *          Refused: nbytes beyond the blob, counts beyond the bytes left, row pointers that do not
 *          start at 0, descend or end beyond the list of children, child indices out of range, a
 *          child not after its parent (a cycle), no modules.
 * Format   FORMAT.md 3 */
enum mpk_code mpk_blob_read(struct mpk_span blob, enum mpk_generation gen, struct mpk_arena *arena,
			    struct mpk_tree *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_blob_read_bare - read a blob without a header, as IR JSON embeds it (FORMAT.md 3.3): no
 * nbytes; current: import tree first, legacy: item count first
 * Returns  as mpk_blob_read */
enum mpk_code mpk_blob_read_bare(struct mpk_span blob, enum mpk_generation gen,
				 struct mpk_arena *arena, struct mpk_tree *out,
				 struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_blob_guess - guess the generation of a bare blob, which has no symbol that shows it
 * Legacy and 0.21 have the same container: the result is 0.21 if a FunctionInfo reads only with
 * arg_extra_tags, else legacy.
 * Returns  MPK_OK; MPK_E_CORRUPT: no container fits */
enum mpk_code mpk_blob_guess(struct mpk_span blob, enum mpk_generation *out,
			     struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_blob_write - append the blob of tree to rope, as TVM's serializer writes it
 * Uses gen, nodes (kind, content or payload, is_lib, children) and count. A legacy tree of a single
 * _lib without children is written without a tree (count 0), as FORMAT.md 3.1 says. A tree that was
 * read with an implied _lib is written without it.
 * The caller decides the order of the nodes: see manifest/manifest.h.
 * Returns  MPK_OK; MPK_E_NOMEM; MPK_E_RANGE (a size beyond 2^63); MPK_E_UNSUPPORTED for a truncated
 *          tree */
enum mpk_code mpk_blob_write(const struct mpk_tree *tree, struct mpk_rope *rope,
			     struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_blob_write_bare - append the blob without a header
 * Returns  as mpk_blob_write */
enum mpk_code mpk_blob_write_bare(const struct mpk_tree *tree, struct mpk_rope *rope,
				  struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_tree_path - print a path from the root to a node, by positions of children: "/", "/0", "/0/1"
 * If there are several paths, the importer with the lowest index is used. A node that nothing
 * imports, and that is not the root, is "#3".
 * @out     size bytes, size >= 8; NUL-terminated; the beginning of a long path is replaced by "..."
 * Returns  out */
const char *mpk_tree_path(const struct mpk_tree *tree, size_t node, char *out, size_t size);

/* mpk_tree_find - find the node at a complete path of mpk_tree_path; false: there is none */
bool mpk_tree_find(const struct mpk_tree *tree, const char *path, size_t *node);

#endif
