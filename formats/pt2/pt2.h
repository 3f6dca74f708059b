/* SPDX-License-Identifier: Apache-2.0 */
/* pt2.h - packages of PyTorch: zip archives of compiled libraries, kernels, weights and JSON (FORMAT.md)
 *
 * What torch.export.save and AOTInductor write. The place of a member says what it is; names of weights are in JSON
 * documents beside them.
 */
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
	MPK_PT2_WEIGHT,   /* of a parameter or buffer */
	MPK_PT2_CONSTANT, /* a tensor, or an object of a class of its own */
	MPK_PT2_MODEL,    /* the exported program, as JSON */
	MPK_PT2_ARTIFACT, /* what a compiler left: libraries, kernels, C++, JSON */
	MPK_PT2_SAMPLE,   /* sample inputs */
	MPK_PT2_OTHER,    /* JSON that describes the others, and what else there is */
	MPK_PT2_ROLES
};

struct mpk_pt2_part {
	enum mpk_pt2_role role;
	struct mpk_span member; /* its name in the archive */
	struct mpk_span
		name;   /* of a weight or constant, "fc.weight"; empty: the package tells none */
	uint64_t bytes; /* unpacked */
};

struct mpk_pt2 {
	struct mpk_span root;    /* "model/", in front of all members; may be empty */
	struct mpk_span version; /* of the archive; empty: it tells none */
	struct mpk_pt2_part
		*parts; /* all members but folders, in the order of the archive's directory */
	size_t count;
};

/* mpk_pt2_read - see what the members of an archive are, if it is a package
 * @bytes, @members  the archive, and its list by mpk_zip_list; borrowed
 * @arena   receives the parts and texts that are unpacked
 * @is      receives whether it is one: *out is filled then
 * Returns  MPK_OK, also where a document does not read that has names: they are empty then; MPK_E_NOMEM
 * Format   FORMAT.md 1 - 3 */
enum mpk_code mpk_pt2_read(struct mpk_span bytes, const struct mpk_zip_member *members,
			   size_t count, struct mpk_arena *arena, bool *is, struct mpk_pt2 *out,
			   struct mpk_error *err) MPK_MUST_CHECK;

extern const char *const mpk_pt2_role_words[MPK_PT2_ROLES]; /* "weight", "constant", ... */

#endif
