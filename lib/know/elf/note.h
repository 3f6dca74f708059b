/* SPDX-License-Identifier: Apache-2.0 */
/* note.h - the package note, which names what was packed into a library
 *
 * ELF package metadata as systemd's ELF_PACKAGE_METADATA specifies it: section .note.package, owner
 * "FDO", type 0xcafe1a7e, a JSON object with a NUL, padded to four bytes. `readelf -n` prints it,
 * and strip keeps it. mpack's has four members:
 *
 *     {"type":"mpack","name":"deploy","blob":"__tvm_ffi__library_bin","xxh128":"99aa..."}
 *
 * blob is the symbol of the blob (a program may have several); xxh128 is the digest of its bytes in
 * 32 lower-case hexadecimal digits. The number of bytes is what the blob states (8 + nbytes). */
#ifndef MPK_ELF_NOTE_H
#define MPK_ELF_NOTE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"
#include "elf/reader.h"
#include "io/digest.h"

struct mpk_elf;
struct mpk_mapping;
struct mpk_tap;

#define MPK_NOTE_SECTION ".note.package"
#define MPK_NOTE_OWNER "FDO"
#define MPK_NOTE_MARK                                                                              \
	MPK_NOTE_OWNER "\0{\"type\":\"mpack\"" /* bytes that a file with mpack's note contains */
#define MPK_NOTE_TYPE UINT32_C(0xcafe1a7e)

/* The most bytes of a note's text, with its NUL; and half of a build id in bytes. */
enum { MPK_NOTE_TEXT_MAX = 16 * 1024, MPK_NOTE_ID_HALF = 8 };

struct mpk_note {
	const char *name;                 /* name of the package; NULL: there is no package note */
	const char *symbol;               /* symbol of the blob that it describes */
	uint8_t digest[MPK_XXH128_BYTES]; /* zeros until the blob is written */
	uint64_t digits_off;              /* offset of the digits in the ELF file */
	uint64_t id_off;                  /* offset of the build id, if it has 16 bytes and begins
					   * with the first half of the digest; else 0 */
};

/* mpk_note_text - the note's JSON in arena. A text of MPK_NOTE_TEXT_MAX bytes or more is ignored by
 * mpk_note_find
 * @name    of the package, any bytes
 * @digest  NULL: zeros
 * Returns  NULL when memory is out */
const char *mpk_note_text(struct mpk_arena *arena, const char *name, const char *symbol,
			  const uint8_t *digest);

/* mpk_note_find - the package note for a blob symbol, or the first one
 * Reads the notes of sections, or without section headers those of segments; only the first
 * thousand. Other notes are skipped; no content of a file is an error.
 * @symbol  NULL: the first note of a blob
 * @out     texts in arena; name NULL: none
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_note_find(const struct mpk_elf *e, const char *symbol, struct mpk_arena *arena,
			    struct mpk_note *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_note_compare - compare the digest of a blob with its note's
 * Callers that make another file from a blob must call it first: a new note would present damaged
 * bytes as valid.
 * Returns  MPK_OK; MPK_E_CORRUPT with advice */
enum mpk_code mpk_note_compare(const struct mpk_note *note, const uint8_t digest[MPK_XXH128_BYTES],
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_note_digest - compute the digest of a blob, to compare it with its note's
 * @blob    up to the length that the blob itself states
 * @map     the file that contains the blob, read through its descriptor; NULL: read from memory
 * @tap     receives the bytes as they are read; or NULL
 * Returns  MPK_OK; MPK_E_IO; MPK_E_NOMEM */
enum mpk_code mpk_note_digest(struct mpk_span blob, const struct mpk_mapping *map,
			      const struct mpk_tap *tap, struct mpk_arena *arena,
			      uint8_t out[MPK_DIGEST_BYTES], struct mpk_error *err) MPK_MUST_CHECK;

/* --- all notes of an ELF file --- */

struct mpk_elf_note {
	uint32_t type;
	struct mpk_span owner, text; /* owner includes its NUL */
	uint64_t off;                /* offset of text in the ELF file */
};

/* mpk_elf_note_is - whether a note has this owner ("FDO") and type */
static inline bool mpk_elf_note_is(const struct mpk_elf_note *n, const char *owner, uint32_t type)
{
	/* the size of the owner counts its NUL (gABI, "Note Section") */
	return n->type == type && n->owner.len == strlen(owner) + 1 &&
	       memcmp(n->owner.data, owner, n->owner.len) == 0;
}

/* mpk_elf_notes - call see for the notes of all sections, or without section headers of all
 * segments; for a thousand at most
 * No content of a file is an error: a damaged list ends there.
 * @see     returns false to end the walk */
void mpk_elf_notes(const struct mpk_elf *e, bool (*see)(void *data, const struct mpk_elf_note *n),
		   void *data);

#endif
