/* SPDX-License-Identifier: Apache-2.0 */
/* seal.c - the notes that say where a library comes from, and its signature, in OpenSSH's terms
 *
 * Anybody may have written the notes: sizes and versions are compared before a field is taken, and more than one of a
 * kind is counted, as two statements are none. A tool that changes a library leaves a note of zeros in its place.
 *
 * What is signed is the SHA-256 of the whole ELF file with the 64 bytes of the signature zeroed, in the message that
 * `ssh-keygen -Y sign` would sign (PROTOCOL.sshsig): OpenSSH alone can check it. The key and its fingerprint are covered.
 *
 * A signature proves only what it covers. Therefore the place of the note must not itself be where
 * the file says how it is read (check_place), and a file with two signatures is refused. */
#include "trust/seal.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "elf/edit.h"
#include "elf/note.h"
#include "io/copy.h"
#include "text/markup.h"
#include "trust/origin.h"

static const char algorithm[] = "ssh-ed25519";

/* --- the notes ------------------------------------------------------------------------------ */

/* Emptied, not removed: removing a section would move everything after it. */
static bool is_empty(struct mpk_span text)
{
	for (size_t i = 0; i < text.len; i++)
		if (text.data[i])
			return false;
	return true;
}

/* What begins with another version is counted and reported as unknown, not as missing. */
static void see_seal(struct mpk_origin *o, const struct mpk_elf_note *n)
{
	static const uint8_t head[MPK_SEAL_KEY_AT] = { MPK_SEAL_VERSION, 1, 0, 0 };
	const uint8_t *text = n->text.data;

	if (n->text.len == MPK_SEAL_BYTES && is_empty(n->text)) {
		o->has_room = true;
		o->room_off = n->off;
		return;
	}
	o->seal_count++;
	if (n->text.len != MPK_SEAL_BYTES || memcmp(text, head, sizeof head) != 0) {
		o->is_unknown = true;
		return;
	}
	if (o->has_seal)
		return;
	o->has_seal = true;
	o->seal.off = n->off;
	memcpy(o->seal.key.bytes, text + MPK_SEAL_KEY_AT, sizeof o->seal.key.bytes);
	memcpy(o->seal.fingerprint, text + MPK_SEAL_FINGERPRINT_AT, sizeof o->seal.fingerprint);
	memcpy(o->seal.signature, text + MPK_SEAL_SIGNATURE_AT, sizeof o->seal.signature);
}

/* With two of them none is shown: which one is true cannot be known. */
static void see_provenance(struct mpk_origin *o, const struct mpk_elf_note *n)
{
	size_t len = strnlen((const char *)n->text.data, n->text.len);

	if (is_empty(n->text))
		return;
	o->provenance_count++;
	o->provenance = o->provenance_count == 1 && len <= MPK_PROVENANCE_MAX
				? mpk_span_of(n->text.data, len)
				: (struct mpk_span){ 0 };
	o->provenance_off = n->off;
}

static bool see_note(void *data, const struct mpk_elf_note *n)
{
	if (mpk_elf_note_is(n, MPK_ORIGIN_OWNER, MPK_SEAL_TYPE))
		see_seal(data, n);
	else if (mpk_elf_note_is(n, MPK_ORIGIN_OWNER, MPK_PROVENANCE_TYPE))
		see_provenance(data, n);
	return true;
}

/* One walk over the notes finds both. */
void mpk_origin_find(const struct mpk_elf *e, struct mpk_origin *out)
{
	*out = (struct mpk_origin){ 0 };
	mpk_elf_notes(e, see_note, out);
}

/* The inverse of see_seal, byte for byte. */
void mpk_seal_write(const struct mpk_seal *seal, uint8_t out[MPK_SEAL_BYTES])
{
	memset(out, 0, MPK_SEAL_BYTES);
	out[0] = MPK_SEAL_VERSION;
	out[1] = 1;
	memcpy(out + MPK_SEAL_KEY_AT, seal->key.bytes, sizeof seal->key.bytes);
	memcpy(out + MPK_SEAL_FINGERPRINT_AT, seal->fingerprint, sizeof seal->fingerprint);
	memcpy(out + MPK_SEAL_SIGNATURE_AT, seal->signature, sizeof seal->signature);
}

/* --- emptying -------------------------------------------------------------------- */

/* As found first, and emptied then: what is emptied may be a part of another note. */
enum { EMPTIED_MAX = 16 };

struct emptying {
	struct {
		uint64_t off, len;
	} ranges[EMPTIED_MAX];
	size_t count;
};

/* Sixteen are far more than mpack writes; what is beyond is left as it is. */
static bool see_own(void *data, const struct mpk_elf_note *n)
{
	struct emptying *e = data;

	if (!mpk_elf_note_is(n, MPK_ORIGIN_OWNER, MPK_SEAL_TYPE) &&
	    !mpk_elf_note_is(n, MPK_ORIGIN_OWNER, MPK_PROVENANCE_TYPE))
		return true;
	if (is_empty(n->text))
		return true;
	e->ranges[e->count].off = n->off;
	e->ranges[e->count++].len = n->text.len;
	return e->count < EMPTIED_MAX;
}

/* Whoever changes a library calls this first: a signature of other bytes, and the provenance of
 * another build, would be false from then on. */
enum mpk_code mpk_origin_void(const struct mpk_private *file, bool *had, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_elf_close) struct mpk_elf elf = { 0 };
	struct emptying e = { .count = 0 };
	uint64_t keep_end = file->keep_off + file->keep_len;

	if (had)
		*had = false;
	if (mpk_elf_open(mpk_span_of(file->data, file->len), 0, &elf, NULL) != MPK_OK)
		return MPK_OK;
	mpk_elf_notes(&elf, see_own, &e);
	for (size_t i = 0; i < e.count; i++) {
		uint64_t off = e.ranges[i].off, end = off + e.ranges[i].len;

		if (off < keep_end && end > file->keep_off)
			return mpk_fail_offset(err, MPK_E_CORRUPT, "file", off,
					       "a note of mpack stands within the blob");
		MPK_TRY(mpk_private_touch(file, off, e.ranges[i].len, err));
		memset(file->data + off, 0, (size_t)e.ranges[i].len);
	}
	if (had)
		*had = e.count > 0;
	return MPK_OK;
}

enum { ARMOR_COLUMNS = 70, SSHSIG_BYTES = 300 };

_Static_assert(MPK_SSH_KEY_BYTES == 4 + sizeof algorithm - 1 + 4 + MPK_ED25519_KEY_BYTES,
	       "two strings");
_Static_assert(sizeof MPK_SSHSIG_NAMESPACE - 1 == 16, "MPK_SSHSIG_MESSAGE_BYTES counts on it");

/* OpenSSH's string: its length, most significant byte first, and its bytes. Returns its end. */
static uint8_t *seal_put_string(uint8_t *at, const void *bytes, size_t len)
{
	for (unsigned i = 0; i < 4; i++)
		at[i] = (uint8_t)(len >> (24 - 8 * i));
	memcpy(at + 4, bytes, len);
	return at + 4 + len;
}

static uint8_t *seal_put_text(uint8_t *at, const char *text)
{
	return seal_put_string(at, text, strlen(text));
}

/* PROTOCOL.sshsig, "Signed Data": magic, namespace, reserved, hash algorithm, digest. */
void mpk_sshsig_message(const uint8_t sha256[MPK_DIGEST_BYTES],
			uint8_t out[MPK_SSHSIG_MESSAGE_BYTES])
{
	uint8_t *at = out + 6;

	memcpy(out, "SSHSIG", 6);
	at = seal_put_text(at, MPK_SSHSIG_NAMESPACE);
	at = seal_put_text(at, ""); /* reserved */
	at = seal_put_text(at, "sha256");
	(void)seal_put_string(at, sha256, MPK_DIGEST_BYTES);
}

/* A public key as OpenSSH encodes it, without base64 */
static void ssh_key_encode(const struct mpk_public_key *key, uint8_t out[MPK_SSH_KEY_BYTES])
{
	(void)seal_put_string(seal_put_text(out, algorithm), key->bytes, sizeof key->bytes);
}

/* PROTOCOL.sshsig, "Blob format": magic and version 1, key, namespace, reserved, hash algorithm,
 * signature; in base64 with lines of 70 characters. */
void mpk_sshsig_put(const struct mpk_public_key *key, const uint8_t signature[MPK_ED25519_BYTES],
		    struct mpk_strbuf *out)
{
	uint8_t bytes[SSHSIG_BYTES] = "SSHSIG\0\0\0\1", encoded[MPK_SSH_KEY_BYTES],
		*at = bytes + 10;
	uint8_t inner[4 + sizeof algorithm - 1 + 4 + MPK_ED25519_BYTES];
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };

	ssh_key_encode(key, encoded);
	(void)seal_put_string(seal_put_text(inner, algorithm), signature, MPK_ED25519_BYTES);
	at = seal_put_string(at, encoded, sizeof encoded);
	at = seal_put_text(at, MPK_SSHSIG_NAMESPACE);
	at = seal_put_text(at, "");
	at = seal_put_text(at, "sha256");
	at = seal_put_string(at, inner, sizeof inner);
	mpk_base64_put(&text, mpk_span_of(bytes, (size_t)(at - bytes)));
	out->failed |= text.failed;
	mpk_strbuf_puts(out, "-----BEGIN SSH SIGNATURE-----\n");
	for (size_t i = 0; i < text.len; i += ARMOR_COLUMNS) {
		size_t left = text.len - i;

		mpk_strbuf_put(out, text.data + i, left < ARMOR_COLUMNS ? left : ARMOR_COLUMNS);
		mpk_strbuf_putc(out, '\n');
	}
	mpk_strbuf_puts(out, "-----END SSH SIGNATURE-----\n");
}

void mpk_ssh_key_put(const struct mpk_public_key *key, struct mpk_strbuf *out)
{
	uint8_t encoded[MPK_SSH_KEY_BYTES];

	ssh_key_encode(key, encoded);
	mpk_strbuf_printf(out, "%s ", algorithm);
	mpk_base64_put(out, mpk_span_of(encoded, sizeof encoded));
}

/* What `ssh-keygen -l` shows: the digest of the encoded key, type name included. */
enum mpk_code mpk_ssh_key_digest(const struct mpk_public_key *key, uint8_t out[MPK_DIGEST_BYTES],
				 struct mpk_error *err)
{
	uint8_t encoded[MPK_SSH_KEY_BYTES];

	ssh_key_encode(key, encoded);
	return mpk_digest_span(MPK_DIGEST_SHA256, mpk_span_of(encoded, sizeof encoded), out, err);
}

/* ssh-keygen leaves the padding out. */
void mpk_ssh_fingerprint_put(const uint8_t digest[MPK_DIGEST_BYTES], struct mpk_strbuf *out)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };

	mpk_base64_put(&text, mpk_span_of(digest, MPK_DIGEST_BYTES));
	out->failed |= text.failed;
	mpk_strbuf_puts(out, "SHA256:");
	mpk_strbuf_put(out, mpk_strbuf_text(&text), strcspn(mpk_strbuf_text(&text), "="));
}

/* --- digest ---------------------------------------------------------------------- */

/* So much at a time: what is hashed need not stay in memory, and somebody may watch. */
enum { STEP_BYTES = 8 << 20 };

static enum mpk_code seal_add(struct mpk_digest *d, struct mpk_span bytes,
			      const struct mpk_tap *tap, struct mpk_error *err)
{
	while (bytes.len) {
		size_t len = bytes.len < STEP_BYTES ? bytes.len : STEP_BYTES;
		struct mpk_span some = mpk_span_of(bytes.data, len);

		MPK_TRY(mpk_digest_update(d, some, err));
		if (tap)
			tap->see(tap->data, some);
		bytes = mpk_span_from(bytes, len);
	}
	return MPK_OK;
}

/* SHA-256 of a file with its signature zeroed
 * @file    the ELF file that the seal was found in
 * @tap     sees the bytes as they are; or NULL */
static enum mpk_code seal_digest(struct mpk_span file, const struct mpk_seal *seal,
				 const struct mpk_tap *tap, uint8_t out[MPK_DIGEST_BYTES],
				 struct mpk_error *err)
{
	static const uint8_t zeros[MPK_ED25519_BYTES];
	MPK_CLEANUP(mpk_digest_fini) struct mpk_digest d = { .state = NULL };
	size_t at = (size_t)seal->off + MPK_SEAL_SIGNATURE_AT, end = at + MPK_ED25519_BYTES;

	MPK_TRY(mpk_digest_init(&d, MPK_DIGEST_SHA256, err));
	MPK_TRY(seal_add(&d, mpk_span_of(file.data, at), tap, err));
	MPK_TRY(seal_add(&d, mpk_span_of(zeros, sizeof zeros), NULL, err));
	MPK_TRY(seal_add(&d, mpk_span_from(file, end), tap, err));
	return mpk_digest_final(&d, out, err);
}

/* --- sealing --------------------------------------------------------------------- */

/* Where a signature is to stand in a file that has a note for it already.
 * Returns  MPK_OK, with *off 0 when there is none */
static enum mpk_code find_room(struct mpk_span file, uint64_t *off, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_elf_close) struct mpk_elf elf = { 0 };
	struct mpk_origin origin;

	*off = 0;
	MPK_TRY(mpk_elf_open(file, 0, &elf, err));
	mpk_origin_find(&elf, &origin);
	if (origin.is_unknown || origin.seal_count > 1)
		return mpk_fail(
			err, MPK_E_UNSUPPORTED,
			"it has a signature that this mpack did not make; remove it first: objcopy --remove-section " MPK_SEAL_SECTION);
	if (origin.has_seal)
		*off = origin.seal.off;
	else if (origin.has_room)
		*off = origin.room_off;
	return MPK_OK;
}

/* Where the notes go is computed on a private copy, which append.c changes; only what it returns
 * is written to the file. */
static enum mpk_code plan(struct mpk_span file, const struct mpk_mapping *map,
			  const struct mpk_elf_append *notes, size_t count, struct mpk_arena *arena,
			  struct mpk_elf_appended *out, struct mpk_error *err)
{
	struct mpk_private data;

	MPK_TRY(mpk_private_open(map, file, &data, err));
	enum mpk_code code = mpk_elf_append(&data, notes, count, arena, out, err);
	mpk_private_close(map, &data);
	return code;
}

static enum mpk_code write_at(int fd, struct mpk_span bytes, uint64_t off, struct mpk_error *err)
{
	return mpk_write_all(fd, bytes, &off)
		       ? MPK_OK
		       : mpk_fail_errno(err, MPK_E_IO, errno, "cannot write");
}

/* The notes in the file, empty; *seal_off is where the signature's text is. */
static enum mpk_code add_notes(int fd, const struct mpk_seal_job *job, struct mpk_arena *arena,
			       uint64_t *seal_off, struct mpk_error *err)
{
	static const uint8_t empty[MPK_SEAL_BYTES];
	MPK_CLEANUP(mpk_mapping_close) struct mpk_mapping map = { .fd = -1 };
	struct mpk_elf_append notes[2];
	struct mpk_elf_appended more;
	size_t count = 0;

	MPK_TRY(mpk_mapping_of_fd(fd, "output", &map, err));
	if (!mpk_span_starts(map.bytes, ELFMAG))
		return mpk_fail(
			err, MPK_E_UNSUPPORTED,
			"only libraries and objects of ELF have room for a signature and provenance");
	MPK_TRY(find_room(map.bytes, seal_off, err));
	if (job->provenance)
		notes[count++] = (struct mpk_elf_append){
			MPK_PROVENANCE_SECTION, MPK_ORIGIN_OWNER, MPK_PROVENANCE_TYPE,
			mpk_span_of(job->provenance, strlen(job->provenance) + 1)
		};
	if (job->key && !*seal_off)
		notes[count++] =
			(struct mpk_elf_append){ MPK_SEAL_SECTION, MPK_ORIGIN_OWNER, MPK_SEAL_TYPE,
						 mpk_span_of(empty, sizeof empty) };
	if (!count)
		return MPK_OK;
	MPK_TRY(plan(map.bytes, &map, notes, count, arena, &more, err));
	MPK_TRY(write_at(fd, more.tail, more.tail_at, err));
	MPK_TRY(write_at(fd, more.header, 0, err));
	if (job->key && !*seal_off)
		*seal_off = more.text_off[count - 1];
	return MPK_OK;
}

/* The key is in the file before the file is signed: it is a part of what is. */
static enum mpk_code sign(int fd, const struct mpk_secret_key *key, uint64_t seal_off,
			  struct mpk_error *err)
{
	struct mpk_seal seal = { .key = key->public_key, .off = seal_off };
	uint8_t text[MPK_SEAL_BYTES], digest[MPK_DIGEST_BYTES], message[MPK_SSHSIG_MESSAGE_BYTES];

	MPK_TRY(mpk_ssh_key_digest(&seal.key, seal.fingerprint, err));
	mpk_seal_write(&seal, text);
	MPK_TRY(write_at(fd, mpk_span_of(text, sizeof text), seal_off, err));

	/* The file as it is on the disk now, with key and notes written: it is mapped again. */
	MPK_CLEANUP(mpk_mapping_close) struct mpk_mapping map = { .fd = -1 };

	MPK_TRY(mpk_mapping_of_fd(fd, "output", &map, err));
	MPK_TRY(seal_digest(map.bytes, &seal, NULL, digest, err));
	mpk_sshsig_message(digest, message);
	MPK_TRY(mpk_ed25519_sign(key, mpk_span_of(message, sizeof message), seal.signature, err));
	return write_at(fd, mpk_span_of(seal.signature, sizeof seal.signature),
			seal_off + MPK_SEAL_SIGNATURE_AT, err);
}

enum mpk_code mpk_seal_file(int fd, const struct mpk_seal_job *job, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	uint64_t seal_off = 0;

	MPK_TRY(add_notes(fd, job, &arena, &seal_off, err));
	return job->key ? sign(fd, job->key, seal_off, err) : MPK_OK;
}

/* --- checking -------------------------------------------------------------------- */

static bool overlaps(uint64_t at, uint64_t len, uint64_t off, uint64_t bytes)
{
	return at < off + bytes && off < at + len;
}

/* What says where the signature is must be covered by it: else the same file could be read in two
 * ways. */
static enum mpk_code check_place(const struct mpk_elf *e, const struct mpk_seal *seal,
				 struct mpk_error *err)
{
	const GElf_Ehdr *h = &e->header;
	uint64_t at = seal->off + MPK_SEAL_SIGNATURE_AT, len = MPK_ED25519_BYTES;

	if (!overlaps(at, len, 0, gelf_fsize(e->elf, ELF_T_EHDR, 1, EV_CURRENT)) &&
	    !overlaps(at, len, h->e_shoff,
		      gelf_fsize(e->elf, ELF_T_SHDR, e->section_count, EV_CURRENT)) &&
	    !overlaps(at, len, h->e_phoff,
		      gelf_fsize(e->elf, ELF_T_PHDR, e->segment_count, EV_CURRENT)))
		return MPK_OK;
	return mpk_fail_offset(
		err, MPK_E_DIFFERENT, "file", at,
		"the signature stands in the headers of the file: it proves nothing");
}

/* The one signature that the file has, in a form that is known; or the reason why there is none. */
static enum mpk_code find_seal(const struct mpk_elf *e, struct mpk_seal *out, struct mpk_error *err)
{
	struct mpk_origin origin;

	mpk_origin_find(e, &origin);
	if (!origin.seal_count)
		return mpk_fail(
			err, MPK_E_DIFFERENT,
			origin.has_room
				? "not signed: a signature was there before the file was changed"
				: "not signed");
	if (origin.seal_count > 1)
		return mpk_fail(err, MPK_E_DIFFERENT, "%zu signatures, where a file has one",
				origin.seal_count);
	if (!origin.has_seal)
		return mpk_fail(err, MPK_E_DIFFERENT,
				"the signature is of a form that this program does not know");
	*out = origin.seal;
	return check_place(e, out, err);
}

/* Public keys are no secrets: memcmp may take its time from where they differ. */
static bool has_key(const struct mpk_public_keys *keys, const struct mpk_public_key *key)
{
	for (size_t i = 0; i < keys->count; i++)
		if (memcmp(&keys->items[i], key, sizeof *key) == 0)
			return true;
	return false;
}

/* The fingerprint first: without it a file could name one key and be signed by another. Whether
 * the key is trusted is asked before the file is hashed, which takes long. */
enum mpk_code mpk_seal_check(const struct mpk_elf *file, const struct mpk_public_keys *keys,
			     const struct mpk_tap *tap, struct mpk_error *err)
{
	uint8_t digest[MPK_DIGEST_BYTES], message[MPK_SSHSIG_MESSAGE_BYTES];
	struct mpk_seal seal = { 0 };

	MPK_TRY(find_seal(file, &seal, err));
	MPK_TRY(mpk_ssh_key_digest(&seal.key, digest, err));
	if (memcmp(digest, seal.fingerprint, sizeof digest) != 0)
		return mpk_fail_offset(
			err, MPK_E_DIFFERENT, "file", seal.off,
			"the fingerprint beside the signature is not that of its key");
	if (!has_key(keys, &seal.key)) {
		MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf name = { 0 };

		mpk_ssh_fingerprint_put(seal.fingerprint, &name);
		return mpk_fail_offset(err, MPK_E_DIFFERENT, "file", seal.off,
				       "signed by another key: %s", mpk_strbuf_text(&name));
	}
	MPK_TRY(seal_digest(file->bytes, &seal, tap, digest, err));
	mpk_sshsig_message(digest, message);
	enum mpk_code code = mpk_ed25519_verify(&seal.key, mpk_span_of(message, sizeof message),
						seal.signature, err);

	if (code != MPK_E_DIFFERENT)
		return code;
	return mpk_fail_offset(
		err, MPK_E_DIFFERENT, "file", seal.off,
		"the signature does not match: the file was changed after it was signed");
}
