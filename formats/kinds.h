/* SPDX-License-Identifier: Apache-2.0 */
/* kinds.h - the kinds of modules that TVM ever wrote: which releases wrote them, and how their
 * payloads are read
 *
 * One row for each kind, in kinds.def. A new kind whose payload is a list of fields, or kernels in
 * a known layout, is a row; one with another layout also needs a file with its codec (payload.h). */
#ifndef MPK_FORMATS_KINDS_H
#define MPK_FORMATS_KINDS_H

#include <stddef.h>

#include "base/span.h"

/* The purpose of a module, which decides how a tree is drawn and what can run it. */
enum mpk_role {
	MPK_ROLE_HOST,     /* _lib: the library's own code */
	MPK_ROLE_DEVICE,   /* kernels for a device: struct mpk_kernels */
	MPK_ROLE_EXECUTOR, /* graph, AOT or VM executable */
	MPK_ROLE_DATA,     /* constants, parameters, metadata */
	MPK_ROLE_EXTERN,   /* JSON runtimes and other bring-your-own code generators */
	MPK_ROLE_SOURCE,   /* c, static_library: host code in header-less blobs */
	MPK_ROLE_UNKNOWN,
};

/* The first release of a range is 0.<first>; as the last one this means "still written". */
enum { MPK_RELEASE_NOW = 99 };

struct mpk_codec;         /* payload.h */
struct mpk_record_schema; /* record/record.h */

struct mpk_kind {
	const char *name;  /* key in the blob */
	const char *title; /* "CUDA kernels" */
	enum mpk_role role;
	unsigned first, last;          /* TVM minor releases that write it, 0.<first> - 0.<last> */
	const struct mpk_codec *codec; /* reads the payload */
	const struct mpk_record_schema *schema; /* fields of a kind that is a plain record; else
						 * NULL */
};

/* mpk_kind_find - the row of a kind; NULL: unknown */
const struct mpk_kind *mpk_kind_find(struct mpk_span name);

/* All rows; the last has no name. */
extern const struct mpk_kind mpk_kinds[];

#endif
