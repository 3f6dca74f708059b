/* SPDX-License-Identifier: Apache-2.0 */
/* origin.h - the notes in which a library says who signed it and what it was made from
 *
 * Both are notes of the owner "mpack" in sections that are not loaded (tvm-blob(5), SIGNATURE and
 * PROVENANCE). Everything in them is a claim until the signature has been verified with a key that the
 * reader has from elsewhere.
 */
#ifndef MPK_TRUST_ORIGIN_H
#define MPK_TRUST_ORIGIN_H

#include <stdbool.h>

#include "base/error.h"
#include "base/span.h"
#include "elf/reader.h"
#include "io/digest.h"
#include "io/mapping.h"
#include "trust/internal/ed25519.h"

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

#endif
