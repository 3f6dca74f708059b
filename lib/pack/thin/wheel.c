/* SPDX-License-Identifier: Apache-2.0 */
/* wheel.c - a wheel, or another zip archive, whose libraries are thinned
 *
 * A library is as large as it is, and an archive may have several: each is unpacked into a file without a name,
 * thinned from there, and packed into another one, of which the new archive has ranges. So memory holds headers only.
 * A wheel lists its files with their digests in RECORD ("Recording installed projects", packaging.python.org); the
 * lines of libraries that change are written anew, and a signature of RECORD, which would be false, goes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/cursor.h"
#include "elf/note.h"
#include "io/copy.h"
#include "io/digest.h"
#include "io/reader.h"
#include "text/escape.h"
#include "text/markup.h"
#include "thin/thin.h"
#include "zip/zip.h"

#define SPACE "file"

enum {
	DEFLATE_LEVEL = 6,
	PIECE = 256 * 1024,
	DIGEST_BYTES = 32,
	/* one state of the decoder is enough: the content is seen once */
	ONE_STATE = 1 << 30,
};

/* A library that has changed. */
struct changed {
	size_t member;
	uint64_t bytes;
	uint8_t sha256[MPK_DIGEST_BYTES];
};

struct wheel {
	const struct mpk_mapping *file;
	const struct mpk_thin_scratch *scratch;
	const struct mpk_thin_options *o;
	struct mpk_arena *arena;
	struct mpk_thin_report *report;
	struct mpk_zip_member *members;
	struct mpk_zip_change *changes;
	struct changed *changed; /* in the order of members */
	size_t count, changed_count;
	uint64_t packed; /* bytes of scratch->packed so far */
	struct mpk_error *err;
};

static const struct mpk_zip_options reading = { .space = SPACE, .advice = "unpack it" };

/* --- a library out of the archive --------------------------------------------------------------- */

struct writing {
	int fd;
	int failed; /* errno */
};

static void write_unpacked(void *arg, uint64_t off, struct mpk_span piece)
{
	struct writing *w = arg;

	if (!w->failed && !mpk_write_all(w->fd, piece, &off))
		w->failed = errno;
}

static enum mpk_code unpack(struct wheel *w, const struct mpk_zip_member *m,
			    struct mpk_mapping *out)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	struct writing to = { .fd = w->scratch->plain };
	const struct mpk_deflate_sink sink = { write_unpacked, &to };
	struct mpk_deflate_index *ignored;

	if (ftruncate(to.fd, 0) != 0)
		return mpk_fail_errno(w->err, MPK_E_IO, errno, "cannot empty a file");
	MPK_TRY(mpk_zip_index(w->file->bytes, m, &reading, ONE_STATE, &sink, &scratch, &ignored,
			      w->err));
	if (to.failed)
		return mpk_fail_errno(w->err, MPK_E_IO, to.failed, "cannot unpack a library");
	return mpk_mapping_of_fd(to.fd, "an unpacked library", out, w->err);
}

/* --- and into the new one ------------------------------------------------------------------------- */

struct packing {
	struct wheel *w;
	z_stream z;
	struct mpk_digest digest;
	uint32_t checksum;
	uint64_t plain;
	bool deflates;
	uint8_t buffer[PIECE];
};

static void packing_close(struct packing *p)
{
	if (p->deflates)
		(void)deflateEnd(&p->z);
	mpk_digest_fini(&p->digest);
}

static enum mpk_code put_packed(struct packing *p, struct mpk_span bytes)
{
	if (!mpk_write_all(p->w->scratch->packed, bytes, &p->w->packed))
		return mpk_fail_errno(p->w->err, MPK_E_IO, errno, "cannot pack a library");
	p->w->packed += bytes.len;
	return MPK_OK;
}

/* @flush   Z_FINISH for the last, which has no bytes */
static enum mpk_code deflate_piece(struct packing *p, struct mpk_span bytes, int flush)
{
	p->z.next_in = (uint8_t *)(uintptr_t)bytes.data;
	p->z.avail_in = (uInt)bytes.len;
	do {
		p->z.next_out = p->buffer;
		p->z.avail_out = PIECE;
		if (deflate(&p->z, flush) == Z_STREAM_ERROR)
			return mpk_fail(p->w->err, MPK_E_INTERNAL, "zlib refused");
		MPK_TRY(put_packed(p, mpk_span_of(p->buffer, PIECE - p->z.avail_out)));
	} while (p->z.avail_out == 0);
	return MPK_OK;
}

static enum mpk_code pack_piece(struct packing *p, struct mpk_span bytes)
{
	p->checksum = (uint32_t)crc32_z(p->checksum, bytes.data, bytes.len);
	p->plain += bytes.len;
	MPK_TRY(mpk_digest_update(&p->digest, bytes, p->w->err));
	for (size_t at = 0, n; p->deflates && at < bytes.len; at += n) {
		n = bytes.len - at < PIECE ? bytes.len - at : PIECE;
		MPK_TRY(deflate_piece(p, mpk_span_of(bytes.data + at, n), Z_NO_FLUSH));
	}
	return p->deflates ? MPK_OK : put_packed(p, bytes);
}

static enum mpk_code pack_all(struct packing *p, const struct mpk_rope *content)
{
	struct mpk_reader *r = malloc(sizeof *r);
	enum mpk_code code = MPK_OK;
	struct mpk_span piece;

	MPK_TRY_ALLOC(r, p->w->err);
	mpk_reader_init(r, content);
	for (;;) {
		code = mpk_reader_next(r, &piece, p->w->err);
		if (code != MPK_OK || !piece.len)
			break;
		code = pack_piece(p, piece);
		if (code != MPK_OK)
			break;
	}
	mpk_reader_fini(r);
	free(r);
	if (code == MPK_OK && p->deflates)
		code = deflate_piece(p, (struct mpk_span){ 0 }, Z_FINISH);
	return code;
}

static enum mpk_code start_packing(struct packing *p, struct wheel *w, bool deflates)
{
	*p = (struct packing){ .w = w, .checksum = (uint32_t)crc32_z(0, NULL, 0) };
	MPK_TRY(mpk_digest_init(&p->digest, MPK_DIGEST_SHA256, w->err));
	if (!deflates)
		return MPK_OK;
	if (deflateInit2(&p->z, DEFLATE_LEVEL, Z_DEFLATED, -MAX_WBITS, MAX_MEM_LEVEL,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return mpk_fail_nomem(w->err);
	p->deflates = true;
	return MPK_OK;
}

/* How new content of a member is to be stored: as the old one was, if that is known here
 * Returns  0: as it is; 8: deflated */
static uint16_t zip_method(const struct mpk_zip_member *m)
{
	return m->method == MPK_ZIP_STORED ? MPK_ZIP_STORED : MPK_ZIP_DEFLATED;
}

static enum mpk_code pack_into(struct packing *p, size_t i, const struct mpk_rope *content)
{
	struct wheel *w = p->w;
	uint64_t begin = w->packed;
	struct mpk_rope *stored = mpk_arena_alloc(w->arena, sizeof *stored);
	struct changed *c = &w->changed[w->changed_count];

	MPK_TRY_ALLOC(stored, w->err);
	MPK_TRY(pack_all(p, content));
	MPK_TRY(mpk_digest_final(&p->digest, c->sha256, w->err));
	c->member = i;
	c->bytes = p->plain;
	w->changed_count++;
	*stored = mpk_rope_of(w->arena);
	mpk_rope_put_file(stored, w->scratch->packed, begin, w->packed - begin);
	w->changes[i] = (struct mpk_zip_change){ .content = stored,
						 .method = zip_method(&w->members[i]),
						 .checksum = p->checksum,
						 .plain = p->plain };
	return mpk_rope_status(stored, w->err);
}

static enum mpk_code pack(struct wheel *w, size_t i, const struct mpk_rope *content)
{
	struct packing *p = malloc(sizeof *p);
	enum mpk_code code;

	MPK_TRY_ALLOC(p, w->err);
	code = start_packing(p, w, zip_method(&w->members[i]) != 0);
	if (code == MPK_OK)
		code = pack_into(p, i, content);
	packing_close(p);
	free(p);
	return code;
}

/* --- libraries ------------------------------------------------------------------------------------- */

/* "libnccl.so.2": of other names nothing is unpacked to look. */
static bool is_library_name(struct mpk_span name)
{
	static const char word[] = ".so";
	const uint8_t *slash = name.len ? memrchr(name.data, '/', name.len) : NULL;
	struct mpk_span last =
		slash ? mpk_span_of(slash + 1, name.len - (size_t)(slash + 1 - name.data)) : name;
	const uint8_t *at = last.len ? memmem(last.data, last.len, word, 3) : NULL;
	size_t end = at ? (size_t)(at - last.data) + 3 : 0;

	return at && (end == last.len || last.data[end] == '.');
}

static bool is_same(const struct mpk_rope *rope, struct mpk_span bytes)
{
	return rope->count == 1 && rope->pieces[0].data == bytes.data &&
	       rope->pieces[0].len == bytes.len;
}

/* Where these are in the header of every class, and how a number of two bytes lies in this byte order. */
static bool takes(struct mpk_span file)
{
	unsigned type, machine;

	if (file.len < sizeof(Elf64_Ehdr) || !mpk_span_starts(file, ELFMAG) ||
	    file.data[EI_CLASS] != ELFCLASS64 || file.data[EI_DATA] != ELFDATA2LSB)
		return false;
	type = mpk_load_u16(file.data + offsetof(Elf64_Ehdr, e_type));
	machine = mpk_load_u16(file.data + offsetof(Elf64_Ehdr, e_machine));
	return type == ET_DYN && (machine == EM_X86_64 || machine == EM_AARCH64);
}

/* @from    the mapping that plain is a part of */
static enum mpk_code thin_bytes(struct wheel *w, size_t i, struct mpk_span plain,
				const struct mpk_mapping *from)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	struct mpk_rope rope = mpk_rope_of(&arena);

	if (!takes(plain))
		return MPK_OK;
	MPK_TRY(mpk_thin_library(plain, w->o, &arena, &rope, w->report, w->err));
	if (is_same(&rope, plain))
		return MPK_OK;
	mpk_mapping_use_file(from, &rope);
	return pack(w, i, &rope);
}

static enum mpk_code thin_member(struct wheel *w, size_t i)
{
	const struct mpk_zip_member *m = &w->members[i];
	struct mpk_mapping unpacked = { .fd = -1 };
	struct mpk_span plain;
	enum mpk_code code;

	if (zip_method(m)) {
		MPK_TRY(unpack(w, m, &unpacked));
		code = thin_bytes(w, i, unpacked.bytes, &unpacked);
		mpk_mapping_close(&unpacked);
		return code;
	}
	MPK_TRY(mpk_zip_stored(w->file->bytes, m, &reading, &plain, w->err));
	return thin_bytes(w, i, plain, w->file);
}

static enum mpk_code thin_members(struct wheel *w)
{
	for (size_t i = 0; i < w->count; i++) {
		enum mpk_code code;

		if (!is_library_name(w->members[i].name))
			continue;
		code = thin_member(w, i);
		if (code == MPK_OK)
			continue;
		if (w->err)
			w->err->at.has_offset = false; /* it counts in the member */
		mpk_error_prefix(w->err, "'%s': ", MPK_QUOTE(w->members[i].name));
		return code;
	}
	return MPK_OK;
}

/* --- RECORD ------------------------------------------------------------------------------------------ */

/* "app-1.0.dist-info/RECORD" and what follows it */
static bool is_record(struct mpk_span name, const char *suffix)
{
	static const char word[] = ".dist-info/RECORD";
	size_t len = sizeof word - 1 + strlen(suffix);

	return name.len > len && !memchr(name.data, '/', name.len - len) &&
	       memcmp(name.data + name.len - len, word, sizeof word - 1) == 0 &&
	       memcmp(name.data + name.len - strlen(suffix), suffix, strlen(suffix)) == 0;
}

static bool is_signature(struct mpk_span name)
{
	return is_record(name, ".jws") || is_record(name, ".p7s");
}

/* The file that a line is of: the first field, in quotes where it has a comma. */
static struct mpk_span path_of(struct mpk_span line)
{
	uint8_t end = line.len && line.data[0] == '"' ? '"' : ',';
	size_t begin = end == '"';
	const uint8_t *at =
		line.len > begin ? memchr(line.data + begin, end, line.len - begin) : NULL;

	return at ? mpk_span_of(line.data + begin, (size_t)(at - line.data) - begin) : line;
}

static const struct changed *find_changed(const struct wheel *w, struct mpk_span path)
{
	for (size_t i = 0; i < w->changed_count; i++)
		if (mpk_span_equal(w->members[w->changed[i].member].name, path))
			return &w->changed[i];
	return NULL;
}

/* base64 with the letters of URLs and no padding, as RECORD has digests */
static void put_digest(const uint8_t sha256[MPK_DIGEST_BYTES], struct mpk_strbuf *out)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };

	mpk_base64_put(&text, mpk_span_of(sha256, DIGEST_BYTES));
	for (const char *c = mpk_strbuf_text(&text); *c && *c != '='; c++)
		mpk_strbuf_putc(out, *c == '+' ? '-' : *c == '/' ? '_' : *c);
}

/* @line    with its end */
static void put_line(const struct wheel *w, struct mpk_span line, struct mpk_strbuf *out)
{
	struct mpk_span path = path_of(line);
	const struct changed *c = find_changed(w, path);
	size_t end = line.len;

	if (is_signature(path))
		return;
	if (!c) {
		mpk_strbuf_put_span(out, line);
		return;
	}
	while (end && (line.data[end - 1] == '\n' || line.data[end - 1] == '\r'))
		end--;
	mpk_strbuf_put(out, (const char *)line.data, path.len + (line.data[0] == '"' ? 2 : 0));
	mpk_strbuf_puts(out, ",sha256=");
	put_digest(c->sha256, out);
	mpk_strbuf_printf(out, ",%llu", (unsigned long long)c->bytes);
	mpk_strbuf_put_span(out, mpk_span_of(line.data + end, line.len - end));
}

static enum mpk_code pack_record(struct wheel *w, size_t i, struct mpk_span old)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };
	struct mpk_rope content = mpk_rope_of(w->arena);

	while (old.len) {
		const uint8_t *end = memchr(old.data, '\n', old.len);
		size_t len = end ? (size_t)(end - old.data) + 1 : old.len;

		put_line(w, mpk_span_of(old.data, len), &text);
		old = mpk_span_of(old.data + len, old.len - len);
	}
	MPK_TRY(mpk_strbuf_status(&text, w->err));
	mpk_rope_put_view(&content, mpk_span_str(mpk_strbuf_text(&text)));
	return pack(w, i, &content);
}

static enum mpk_code renew_record(struct wheel *w)
{
	struct mpk_span old;

	for (size_t i = 0; i < w->count; i++) {
		struct mpk_span name = w->members[i].name;

		if (is_signature(name)) {
			w->changes[i].is_dropped = true;
			w->report->had_record_signature = true;
		} else if (is_record(name, "")) {
			MPK_TRY(mpk_zip_read(w->file->bytes, &w->members[i], &reading, w->arena,
					     &old, w->err));
			MPK_TRY(pack_record(w, i, old));
		}
	}
	return MPK_OK;
}

/* --- the whole ------------------------------------------------------------------------------------------ */

enum mpk_code mpk_thin_wheel(const struct mpk_mapping *file, const struct mpk_thin_scratch *scratch,
			     const struct mpk_thin_options *options, struct mpk_arena *arena,
			     struct mpk_rope *out, struct mpk_thin_report *report,
			     struct mpk_error *err)
{
	struct wheel w = { .file = file,
			   .scratch = scratch,
			   .o = options,
			   .arena = arena,
			   .report = report,
			   .err = err };

	MPK_TRY(mpk_zip_list(file->bytes, SPACE, arena, &w.members, &w.count, err));
	w.changes = mpk_arena_array(arena, w.count + 1, sizeof *w.changes);
	w.changed = mpk_arena_array(arena, w.count + 1, sizeof *w.changed);
	MPK_TRY_ALLOC(w.changes && w.changed, err);
	MPK_TRY(thin_members(&w));
	if (!w.changed_count) {
		mpk_rope_put_view(out, file->bytes);
		return mpk_rope_status(out, err);
	}
	MPK_TRY(renew_record(&w));
	return mpk_zip_rewrite(file->bytes, SPACE, w.members, w.changes, w.count, out, err);
}
