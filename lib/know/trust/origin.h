/* SPDX-License-Identifier: Apache-2.0 */
/* origin.h - the notes in which a library says who signed it and what it was made from
 *
 * Both are notes of the owner "mpack" in sections that are not loaded (tvm-blob(5), SIGNATURE and
 * PROVENANCE). Everything in them is a claim until the signature has been verified with a key that the
 * reader has from elsewhere.
 *
 * Provenance says what a library was made from, by which tools:
 *
 *     {"type":"mpack-provenance","version":1,
 *      "tools":[{"name":"mpack","version":"..."}],
 *      "options":["--emit=so",...],
 *      "inputs":[{"name":"mpack.toml","bytes":120,"sha256":"..."},...]}
 *
 * No time, no path, no name of a user or machine: the same inputs, tools and options give the same text.
 */
#ifndef MPK_TRUST_ORIGIN_H
#define MPK_TRUST_ORIGIN_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"
#include "elf/reader.h"
#include "io/digest.h"
#include "io/mapping.h"
#include "text/json.h"
#include "trust/key.h"

#define MPK_ORIGIN_OWNER "mpack"
#define MPK_SEAL_SECTION ".note.mpack.signature"
#define MPK_PROVENANCE_SECTION ".note.mpack.provenance"

/* "mpk" and a number, which no other owner's types are named like by readelf. */
#define MPK_SEAL_TYPE UINT32_C(0x6d706b01)
#define MPK_PROVENANCE_TYPE UINT32_C(0x6d706b02)

/* The text of the signature's note: version, algorithm (1: Ed25519), two zeros, and what follows. */
enum {
	MPK_SEAL_VERSION = 1,
	MPK_SEAL_KEY_AT = 4,
	MPK_SEAL_FINGERPRINT_AT = 36,
	MPK_SEAL_SIGNATURE_AT = 68,
	MPK_SEAL_BYTES = 132,
	MPK_PROVENANCE_MAX = 1 << 20, /* bytes; a longer one is not read */
};

/* A signature as the file claims it. */
struct mpk_seal {
	struct mpk_public_key key;
	uint8_t fingerprint[MPK_DIGEST_BYTES]; /* of the key, as the note says */
	uint8_t signature[MPK_ED25519_BYTES];
	uint64_t off; /* of the note's text in the ELF file */
};

struct mpk_origin {
	/* the first signature; notes that were emptied do not count */
	bool has_seal;
	struct mpk_seal seal;
	size_t seal_count;
	bool is_unknown;   /* a note of another version or algorithm is there */
	bool has_room;     /* a note that was emptied is there */
	uint64_t room_off; /* of its text */

	struct mpk_span provenance; /* JSON, as it is; empty: none, too long, or several */
	uint64_t provenance_off;
	size_t provenance_count;
};

/* mpk_origin_find - what the notes of a file say
 * Nothing in a file makes this fail.
 * @out     borrows the file's bytes */
void mpk_origin_find(const struct mpk_elf *e, struct mpk_origin *out);

/* mpk_seal_write - the text of a note */
void mpk_seal_write(const struct mpk_seal *seal, uint8_t out[MPK_SEAL_BYTES]);

/* mpk_origin_void - empty the notes of a file that is about to become another: it is not what was
 * signed, nor what was built from those inputs
 * @file    changed in place; bytes that are no ELF file are left alone
 * @had     receives whether there was anything to empty; may be NULL
 * Returns  MPK_OK; MPK_E_CORRUPT: a note is in what is not to be changed */
enum mpk_code mpk_origin_void(const struct mpk_private *file, bool *had,
			      struct mpk_error *err) MPK_MUST_CHECK;

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

/* mpk_provenance_json - put "tools", "options" and "inputs" into an object, as they are */
void mpk_provenance_json(const struct mpk_provenance *p, struct mpk_json *j,
			 struct mpk_json_at *at);

/* mpk_provenance_read - the same back, from a file of a stranger; other members are passed over
 * Returns  MPK_OK; MPK_E_SYNTAX: it is not JSON of this form, with the reason; MPK_E_NOMEM */
enum mpk_code mpk_provenance_read(struct mpk_span text, struct mpk_arena *arena,
				  struct mpk_provenance *out, struct mpk_error *err) MPK_MUST_CHECK;

#endif
