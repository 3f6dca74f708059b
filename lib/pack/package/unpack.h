/* SPDX-License-Identifier: Apache-2.0 */
/* unpack.h - the way back: from a module tree to a manifest with its payload files */
#ifndef MPK_PACKAGE_UNPACK_H
#define MPK_PACKAGE_UNPACK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"
#include "blob/blob.h"
#include "package/package.h"

/* What the manifest is called, and the copy of the library that gives the host code. */
#define MPK_UNPACK_MANIFEST "mpack.toml"
#define MPK_UNPACK_BASE "base.so"

struct mpk_unpack_input {
	const struct mpk_tree *tree; /* as it was read from blob */
	struct mpk_span blob;        /* header included; what follows nbytes is ignored */
	const char *name;            /* of the package; characters that no name has are changed */
	struct mpk_span library;     /* the finished library that has the host code; empty: the
				      * code is not at hand, and host modules get no sources */
	const struct mpk_memory_file *objects; /* instead of a library: objects and C sources with
						* the code, and what to call them */
	size_t object_count;
	const char *target; /* triple of the objects, when they are for another machine; or NULL */
	bool has_tvm_headers; /* a source includes headers of TVM, which a compiler must be able to find */
	bool standalone; /* the library brings its own loader */
	bool host_only;  /* there is no blob: tree is one _lib, and objects are all there is */
};

struct mpk_unpack {
	const struct mpk_memory_file *files; /* the manifest is the last of them */
	size_t count;
	const char *const *notes; /* sentences: why a module stayed its payload */
	size_t note_count;
};

/* mpk_unpack_plan - files that mpk_package_load turns back into the same blob, byte for byte
 * One folder a module, "<index>-<kind>", as minspect --extract names them. Device modules
 * become format, code and kernel table, graph and AOT executors their graph and
 * parameters, wherever that gives the same payload again; every other module is its
 * payload as it is. The package is rebuilt in memory and compared before this returns.
 * @arena   receives the list, names and what was made; other contents are views of the input
 * Returns  MPK_OK; MPK_E_UNSUPPORTED, with the reason, for a blob that no manifest gives:
 *          modules that could not be read or that nothing imports, no import tree (TVM 0.7
 *          and older), a kind that cannot be said; MPK_E_NOMEM */
enum mpk_code mpk_unpack_plan(const struct mpk_unpack_input *input, struct mpk_arena *arena,
			      struct mpk_unpack *out, struct mpk_error *err) MPK_MUST_CHECK;

#endif
