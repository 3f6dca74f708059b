/* SPDX-License-Identifier: Apache-2.0 */
/* note.h - the package note, by which a library tells what was packed into it
 *
 * ELF package metadata as systemd's ELF_PACKAGE_METADATA specifies it: section
 * .note.package, owner "FDO", type 0xcafe1a7e, a JSON object with a NUL, padded to four
 * bytes. `readelf -n` prints it and strip keeps it. Ours has four members:
 *
 *     {"type":"mpack","name":"deploy","blob":"__tvm_ffi__library_bin","xxh128":"99aa..."}
 *
 * blob is the symbol that is meant (a program may hold several), xxh128 the digest of
 * its bytes, of as many as the blob itself says (8 + nbytes), 32 lower-case hexadecimal
 * digits.
 */
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
	MPK_NOTE_OWNER "\0{\"type\":\"mpack\"" /* what a file with one of ours has in it */
#define MPK_NOTE_TYPE UINT32_C(0xcafe1a7e)

/* Most bytes of a note's text, with its NUL; and half a build id. */
enum { MPK_NOTE_TEXT_MAX = 16 * 1024, MPK_NOTE_ID_HALF = 8 };

struct mpk_note {
	const char *name;                 /* name of the package; NULL: there is no package note */
	const char *symbol;               /* symbol of the blob that it describes */
	uint8_t digest[MPK_XXH128_BYTES]; /* all zero until the blob is known */
	uint64_t digits_off;              /* offset of the digits in the ELF file */
	uint64_t id_off;                  /* offset of the build id, when it has 16 bytes and the
					   * first half are the digest's; else 0 */
};

/* mpk_note_text - the note's JSON in arena; one of MPK_NOTE_TEXT_MAX bytes or more is
 * not found again
 * @name    of the package, any bytes
 * @digest  NULL: zeros
 * Returns  NULL when memory is out */
const char *mpk_note_text(struct mpk_arena *arena, const char *name, const char *symbol,
			  const uint8_t *digest);

/* mpk_note_find - the package note of a blob symbol, or of any
 * Looks into notes by section headers, without these by program headers; of a file with
 * thousands of notes at the first ones. What is no note of ours is passed over; nothing in
 * a file makes this fail.
 * @symbol  NULL: the first note of a blob, whichever it is
 * @out     texts in arena; name NULL: none
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_note_find(const struct mpk_elf *e, const char *symbol, struct mpk_arena *arena,
			    struct mpk_note *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_note_compare - whether a blob has the digest that its note tells
 * Whoever makes another file of a blob asks first: a new note would pass damage off as
 * valid.
 * Returns  MPK_OK; MPK_E_CORRUPT with what can be done */
enum mpk_code mpk_note_compare(const struct mpk_note *note, const uint8_t digest[MPK_XXH128_BYTES],
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_note_digest - the digest that a blob has, to compare with its note's
 * @blob    as much of it as the blob itself says
 * @map     the file that the blob is in, read past its mapping; NULL: the memory
 * @tap     sees what has been read; or NULL
 * Returns  MPK_OK; MPK_E_IO; MPK_E_NOMEM */
enum mpk_code mpk_note_digest(struct mpk_span blob, const struct mpk_mapping *map,
			      const struct mpk_tap *tap, struct mpk_arena *arena,
			      uint8_t out[MPK_DIGEST_BYTES], struct mpk_error *err) MPK_MUST_CHECK;

/* --- Every note of an ELF file, one after the other --- */

struct mpk_elf_note {
	uint32_t type;
	struct mpk_span owner, text; /* owner with its NUL */
	uint64_t off;                /* of text in the ELF file */
};

/* mpk_elf_note_is - whether a note is of an owner, "FDO", and a type */
static inline bool mpk_elf_note_is(const struct mpk_elf_note *n, const char *owner, uint32_t type)
{
	/* the owner's size counts its NUL (gABI, "Note Section") */
	return n->type == type && n->owner.len == strlen(owner) + 1 &&
	       memcmp(n->owner.data, owner, n->owner.len) == 0;
}

/* mpk_elf_notes - see the notes of all sections, or, in a file without section headers, of all
 * segments; the first thousand of them
 * Nothing in a file makes this fail: what is damaged ends its list.
 * @see     returns false to end the walk */
void mpk_elf_notes(const struct mpk_elf *e, bool (*see)(void *data, const struct mpk_elf_note *n),
		   void *data);

#endif
