/* SPDX-License-Identifier: Apache-2.0 */
/* plain.h - what of a source a compiler reads: no comments, no lines that are continued, no groups under a
 * condition that does not hold (internal)
 */
#ifndef MPK_SOURCECODE_INTERNAL_PLAIN_H
#define MPK_SOURCECODE_INTERNAL_PLAIN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"

/* mpk_source_code_plain - the text with blanks where its comments stand, and continued lines put together
 * It is as long, and each word begins where it did. A comment without an end stays.
 * @nests   comments stand in comments, and nothing else is done: WGSL
 * @arena   receives the text, unless it is the same
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_source_code_plain(struct mpk_span text, bool nests, struct mpk_arena *arena,
				    struct mpk_span *out, struct mpk_error *err) MPK_MUST_CHECK;

/* A group under a condition that the text does not decide. */
struct mpk_source_code_group {
	size_t from, to;           /* in the text, bytes */
	struct mpk_span condition; /* "#ifdef NAME", "#else": the line */
	size_t around;             /* the index of the group around it; SIZE_MAX: none */
};

struct mpk_source_code_groups {
	const struct mpk_source_code_group *items; /* in the order of their beginnings */
	size_t count;
};

/* mpk_source_code_conditions - take away the groups that no compiler reads, and list those that one may not
 * A condition is decided by a number, and by a name that the text defines before it; "#ifndef" in front of the
 * "#define" of its name holds.
 * @text    plain; *out is it or a copy in arena with blanks where such groups stand
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_source_code_conditions(struct mpk_span text, struct mpk_arena *arena,
					 struct mpk_span *out,
					 struct mpk_source_code_groups *groups,
					 struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_source_code_group_at - the innermost group that a place is in, or NULL */
const struct mpk_source_code_group *
mpk_source_code_group_at(const struct mpk_source_code_groups *groups, size_t off);

#endif
