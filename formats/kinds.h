/* kinds.h - every module kind that TVM ever wrote: who wrote it, how its payload reads
 *
 * One row per (kind, layout). A new payload kind is one codec in formats/ and one row.
 */
#ifndef MPK_FORMATS_KINDS_H
#define MPK_FORMATS_KINDS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/cursor.h"
#include "base/error.h"
#include "base/span.h"
#include "blob/blob.h"
#include "kernels/kernels.h"

/* What a module is for; decides how a tree is drawn and what can run it. */
enum mpk_role {
	MPK_ROLE_HOST,     /* _lib: the library's own code */
	MPK_ROLE_DEVICE,   /* kernels for a device: struct mpk_kernels */
	MPK_ROLE_EXECUTOR, /* graph, AOT or VM executable */
	MPK_ROLE_DATA,     /* constants, parameters, metadata */
	MPK_ROLE_EXTERN,   /* JSON runtimes and other bring-your-own code generators */
	MPK_ROLE_SOURCE,   /* c, static_library: host code in header-less blobs */
	MPK_ROLE_UNKNOWN,
};

struct mpk_kind {
	const char *name;      /* the key in the blob */
	const char *title;     /* "CUDA kernels" */
	enum mpk_role role;
	unsigned first, last;  /* TVM minor releases that write it, 0.<first> - 0.<last> */
	/* Reads past one payload and checks all of it; allocates from arena only. */
	enum mpk_code (*skip)(struct mpk_cursor *c, const struct mpk_kind *kind,
			      enum mpk_generation gen, struct mpk_arena *arena,
			      struct mpk_error *err);
};

/* mpk_kind_find - the row for a kind, or NULL for kinds this program does not know */
const struct mpk_kind *mpk_kind_find(struct mpk_span name);

/* mpk_kind_at - the i-th row, NULL past the end; for lists and "did you mean" */
const struct mpk_kind *mpk_kind_at(size_t i);

#endif
