/* SPDX-License-Identifier: Apache-2.0 */
/* provenance.h - what a library was made from, by which tools, as the text of its note
 *
 *     {"type":"mpack-provenance","version":1,
 *      "tools":[{"name":"mpack","version":"..."}],
 *      "options":["--emit=so",...],
 *      "inputs":[{"name":"mpack.toml","bytes":120,"sha256":"..."},...]}
 *
 * No time, no path, no name of a user or machine: the same inputs, tools and options give the same text.
 */
#ifndef MPK_TRUST_PROVENANCE_H
#define MPK_TRUST_PROVENANCE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"
#include "io/digest.h"

struct mpk_provenance_tool {
	const char *name;    /* "mpack", "llvm", "cc", "ld" */
	const char *version; /* its own words, without paths */
};

struct mpk_provenance_input {
	const char *name; /* of the file, without its folders */
	uint64_t bytes;
	uint8_t sha256[MPK_DIGEST_BYTES];
};

struct mpk_provenance {
	const struct mpk_provenance_tool *tools;
	size_t tool_count;
	const char *const *options; /* those that decide the output's bytes, written out */
	size_t option_count;
	const struct mpk_provenance_input *inputs;
	size_t input_count;
};

/* mpk_provenance_option - an option as it may be published: whatever in it looks like a path is
 * "<path>", for folders tell who built where
 * Returns  in arena; NULL: memory is out */
const char *mpk_provenance_option(const char *option, struct mpk_arena *arena);

/* mpk_provenance_version - what a tool said of itself: its first line, cut to a sane length, without
 * words that are paths
 * Returns  in arena; NULL: memory is out */
const char *mpk_provenance_version(struct mpk_span said, struct mpk_arena *arena);

/* mpk_provenance_write - the text, in arena; inputs are sorted by name and digest, and one that is
 * there twice is written once
 * Returns  MPK_OK; MPK_E_RANGE: longer than a note is read; MPK_E_NOMEM */
enum mpk_code mpk_provenance_write(const struct mpk_provenance *p, struct mpk_arena *arena,
				   const char **out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_provenance_read - the same back, from a file of a stranger; other members are passed over
 * Returns  MPK_OK; MPK_E_SYNTAX: it is not JSON of this form, with the reason; MPK_E_NOMEM */
enum mpk_code mpk_provenance_read(struct mpk_span text, struct mpk_arena *arena,
				  struct mpk_provenance *out, struct mpk_error *err) MPK_MUST_CHECK;

#endif
