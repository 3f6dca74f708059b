/* SPDX-License-Identifier: Apache-2.0 */
/* pt2.h - packages of PyTorch: zip archives of compiled libraries, kernels, weights and JSON
 * (FORMAT.md)
 *
 * Written by torch.export.save and AOTInductor. The path of a member shows its role; the names of
 * weights are in JSON documents beside them. */
#ifndef MPK_FORMATS_PT2_PT2_H
#define MPK_FORMATS_PT2_PT2_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"
#include "zip/zip.h"

enum mpk_pt2_role {
	MPK_PT2_WEIGHT,   /* a parameter or buffer */
	MPK_PT2_CONSTANT, /* a tensor, or an object of a user-defined class */
	MPK_PT2_MODEL,    /* the exported program, as JSON */
	MPK_PT2_ARTIFACT, /* files of a compiler: libraries, kernels, C++, JSON */
	MPK_PT2_SAMPLE,   /* sample inputs */
	MPK_PT2_OTHER,    /* JSON that describes the others, and everything else */
	MPK_PT2_ROLES
};

struct mpk_pt2_part {
	enum mpk_pt2_role role;
	struct mpk_span member; /* its name in the archive */
	struct mpk_span
		name;   /* name of a weight or constant, "fc.weight"; empty: the package does not
			 * say */
	uint64_t bytes; /* bytes after decompression */
};

struct mpk_pt2 {
	struct mpk_span root;    /* path before all members, "model/"; may be empty */
	struct mpk_span version; /* version of the archive format; empty: not given */
	struct mpk_pt2_part
		*parts; /* all members except folders, in the order of the archive's directory */
	size_t count;
};

/* mpk_pt2_read - find the roles of the members of an archive, if it is a package
 * @bytes, @members  the archive, and its list by mpk_zip_list; borrowed
 * @arena   receives the parts and decompressed texts
 * @is      receives whether it is a package; then *out is set
 * Returns  MPK_OK, also if a document with names does not read: then names are empty; MPK_E_NOMEM
 * Format   FORMAT.md 1 - 3 */
enum mpk_code mpk_pt2_read(struct mpk_span bytes, const struct mpk_zip_member *members,
			   size_t count, struct mpk_arena *arena, bool *is, struct mpk_pt2 *out,
			   struct mpk_error *err) MPK_MUST_CHECK;

extern const char *const mpk_pt2_role_words[MPK_PT2_ROLES]; /* "weight", "constant", ... */

#endif
