/* SPDX-License-Identifier: Apache-2.0 */
/* wheel.c - removes GPU code from the libraries of a wheel or another zip archive
 *
 * An archive may contain several large libraries. Each is unpacked to an unnamed file, thinned
 * there, and compressed to another file, from which ranges are copied to the new archive. So only
 * headers are in memory. A wheel lists its files and their digests in RECORD ("Recording installed
 * projects", packaging.python.org). The lines of changed libraries are rewritten. A signature of
 * RECORD would no longer be valid, so it is dropped. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/account.h"
#include "base/cursor.h"
#include "base/strmap.h"
#include "csv/csv.h"
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
	/* A row of RECORD takes as long to process as this many unpacked bytes, even if it is one
	 * byte long. */
	RECORD_COST = 8,
	/* The content is read once, from beginning to end, so one saved decoder state is enough. */
	ONE_STATE = 1 << 30,
};

/* A member with its new content. */
struct changed {
	bool is_set;
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
	struct changed *changed; /* for each member */
	struct mpk_strmap names; /* maps names to members */
	size_t count, changed_count;
	uint64_t packed; /* number of bytes in scratch->packed */
	struct mpk_error *err;
};

static const struct mpk_zip_options reading = { .space = SPACE, .advice = "unpack it" };

/* --- unpacking a library ---------------------------------------------------------------------- */

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

/* --- compressing a library -------------------------------------------------------------------- */

struct packing {
	struct wheel *w;
	z_stream z;
	struct mpk_digest digest;
	uint32_t checksum;
	uint64_t plain;
	bool deflates;
	uint8_t buffer[PIECE];
};

static enum mpk_code put_packed(struct packing *p, struct mpk_span bytes)
{
	if (!mpk_write_all(p->w->scratch->packed, bytes, &p->w->packed))
		return mpk_fail_errno(p->w->err, MPK_E_IO, errno, "cannot pack a library");
	p->w->packed += bytes.len;
	return MPK_OK;
}

/* @flush   Z_FINISH for the last call, which has no bytes */
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

/* Returns the compression method for the new content of a member: the old method if it is
 *         supported; else 0: stored, 8: deflated. */
static uint16_t zip_method(const struct mpk_zip_member *m)
{
	return m->method == MPK_ZIP_STORED ? MPK_ZIP_STORED : MPK_ZIP_DEFLATED;
}

static enum mpk_code pack_into(struct packing *p, size_t i, const struct mpk_rope *content)
{
	struct wheel *w = p->w;
	uint64_t begin = w->packed;
	struct mpk_rope *stored = mpk_arena_alloc(w->arena, sizeof *stored);
	struct changed *c = &w->changed[i];

	MPK_TRY_ALLOC(stored, w->err);
	MPK_TRY(pack_all(p, content));
	MPK_TRY(mpk_digest_final(&p->digest, c->sha256, w->err));
	c->is_set = true;
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
	if (p->deflates)
		(void)deflateEnd(&p->z);
	mpk_digest_fini(&p->digest);
	free(p);
	return code;
}

/* --- libraries ------------------------------------------------------------------------------------- */

/* Matches names such as "libnccl.so.2". Members with other names are not unpacked. */
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

/* Whether the file may be thinned. The fields that are read have the same offset in all ELF
 * classes; two bytes are read in the file's byte order. */
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

/* @from    the mapping that contains plain */
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
	uint64_t sum = 0;

	/* fail before any work is done that would be lost */
	for (size_t i = 0; i < w->count; i++)
		if (is_library_name(w->members[i].name) && zip_method(&w->members[i]) &&
		    __builtin_add_overflow(sum, w->members[i].plain, &sum))
			sum = UINT64_MAX / 4;
	MPK_TRY(mpk_account_has(sum, w->err));
	for (size_t i = 0; i < w->count; i++) {
		enum mpk_code code;

		if (!is_library_name(w->members[i].name))
			continue;
		code = thin_member(w, i);
		if (code == MPK_OK)
			continue;
		if (w->err)
			/* the offset is relative to the member, not to the archive */
			w->err->at.has_offset = false;
		mpk_error_prefix(w->err, "'%s': ", MPK_QUOTE(w->members[i].name));
		return code;
	}
	return MPK_OK;
}

/* --- RECORD ------------------------------------------------------------------------------------------ */

/* Matches "app-1.0.dist-info/RECORD" and its signatures. */
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

/* Writes a digest as RECORD has it: base64 in the alphabet for URLs, without padding. */
static void put_digest(const uint8_t sha256[MPK_DIGEST_BYTES], struct mpk_strbuf *out)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };

	mpk_base64_put(&text, mpk_span_of(sha256, DIGEST_BYTES));
	for (const char *c = mpk_strbuf_text(&text); *c && *c != '='; c++)
		mpk_strbuf_putc(out, *c == '+' ? '-' : *c == '/' ? '_' : *c);
	out->failed |= text.failed;
}

/* If several members have the same name, the last counts, as when unpacking. */
static enum mpk_code name_members(const struct mpk_zip_member *members, size_t count,
				  struct mpk_strmap *names, struct mpk_error *err)
{
	for (size_t i = count; i--;)
		if (mpk_strmap_put(names, members[i].name, i, NULL) < 0)
			return mpk_fail_nomem(err);
	return MPK_OK;
}

static enum mpk_code fail_in_record(struct mpk_span name, const struct mpk_csv_row *row,
				    const char *what, struct mpk_error *err)
{
	return mpk_fail(err, MPK_E_CORRUPT, "'%s', line %zu: %s", MPK_QUOTE(name), row->line, what);
}

/* Writes a row without a line end. */
static void put_row(struct mpk_span path, const struct changed *c, struct mpk_strbuf *out)
{
	mpk_csv_put(out, path);
	mpk_strbuf_puts(out, ",sha256=");
	put_digest(c->sha256, out);
	mpk_strbuf_printf(out, ",%llu", (unsigned long long)c->bytes);
}

/* Writes RECORD: new rows for changed libraries, all others byte for byte. */
static enum mpk_code put_record(const struct wheel *w, size_t i, struct mpk_span old,
				struct mpk_strbuf *out)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf scratch = { 0 };
	struct mpk_csv csv = mpk_csv_of(old);
	struct mpk_csv_row row;
	size_t member;

	MPK_TRY(mpk_account_take(RECORD_COST * (uint64_t)old.len, w->err));
	while (mpk_csv_next(&csv, &row)) {
		struct mpk_span path = mpk_csv_text(row.fields[0], &scratch);

		MPK_TRY(mpk_strbuf_status(&scratch, w->err));
		if (row.is_open)
			return fail_in_record(w->members[i].name, &row, "a quote is not closed",
					      w->err);
		if (is_signature(path))
			continue;
		if (path.len && mpk_strmap_find(&w->names, path, &member) &&
		    w->changed[member].is_set) {
			put_row(path, &w->changed[member], out);
			mpk_strbuf_put_span(out, row.end);
		} else {
			mpk_strbuf_put_span(out, row.bytes);
		}
	}
	return mpk_strbuf_status(out, w->err);
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

			MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };
			struct mpk_rope content = mpk_rope_of(w->arena);

			MPK_TRY(put_record(w, i, old, &text));
			mpk_rope_put_view(&content, mpk_span_of(text.data, text.len));
			MPK_TRY(mpk_rope_status(&content, w->err));
			MPK_TRY(pack(w, i, &content));
		}
	}
	return MPK_OK;
}

/* --- checking the output ---------------------------------------------------------------------- */

enum mpk_code mpk_thin_confirm(struct mpk_span made, const struct mpk_thin_options *options,
			       struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	const struct mpk_thin_options again = { .keep = options->keep,
						.keep_count = options->keep_count,
						.device_count = options->device_count,
						.drop_relocatable = options->drop_relocatable,
						.allow_missing = true };
	struct mpk_rope rope = mpk_rope_of(&arena);
	struct mpk_thin_report report = { 0 };
	struct mpk_error why = { 0 };
	enum mpk_code code = mpk_thin_library(made, &again, &arena, &rope, &report, &why);

	mpk_strbuf_fini(&report.present);
	if (code == MPK_E_NOMEM)
		return mpk_fail_nomem(err);
	if (code == MPK_OK && is_same(&rope, made))
		return MPK_OK;
	return mpk_fail(err, MPK_E_INTERNAL, "what was written does not read as what was meant%s%s",
			why.text[0] ? ": " : "", why.text);
}

static enum mpk_code confirm_content(struct wheel *w, size_t i, struct mpk_span plain)
{
	struct changed *c = &w->changed[i];

	if (takes(plain))
		MPK_TRY(mpk_thin_confirm(plain, w->o, w->err));
	MPK_TRY(mpk_digest_span(MPK_DIGEST_SHA256, plain, c->sha256, w->err));
	c->bytes = plain.len;
	c->is_set = true;
	return MPK_OK;
}

static enum mpk_code confirm_member(struct wheel *w, size_t i)
{
	struct mpk_mapping unpacked = { .fd = -1 };
	struct mpk_span plain;
	enum mpk_code code;

	if (!zip_method(&w->members[i])) {
		MPK_TRY(mpk_zip_stored(w->file->bytes, &w->members[i], &reading, &plain, w->err));
		return confirm_content(w, i, plain);
	}
	MPK_TRY(unpack(w, &w->members[i], &unpacked));
	code = confirm_content(w, i, unpacked.bytes);
	mpk_mapping_close(&unpacked);
	return code;
}

/* Checks that the row of a changed library describes the new member, and that other rows are
 * unchanged. */
static bool same_row(struct wheel *w, const struct mpk_csv_row *was, const struct mpk_csv_row *now)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf old_path = { 0 };
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf new_path = { 0 };
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf expected = { 0 };
	struct mpk_span path = mpk_csv_text(now->fields[0], &new_path);
	size_t member;

	if (!path.len || !mpk_strmap_find(&w->names, path, &member) || !w->changed[member].is_set)
		return mpk_span_equal(was->bytes, now->bytes);
	mpk_strbuf_puts(&expected, "sha256=");
	put_digest(w->changed[member].sha256, &expected);
	mpk_strbuf_printf(&expected, ",%llu", (unsigned long long)w->changed[member].bytes);
	return mpk_span_equal(mpk_csv_text(was->fields[0], &old_path), path) && now->count == 3 &&
	       mpk_span_equal(mpk_span_of(now->fields[1].data,
					  now->fields[1].len + 1 + now->fields[2].len),
			      mpk_span_of(expected.data, expected.len)) &&
	       mpk_span_equal(was->end, now->end);
}

static bool next_kept(struct mpk_csv *csv, struct mpk_csv_row *row)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf scratch = { 0 };

	while (mpk_csv_next(csv, row))
		if (!is_signature(mpk_csv_text(row->fields[0], &scratch)))
			return true;
	return false;
}

static enum mpk_code confirm_record(struct wheel *w, size_t i, struct mpk_span was,
				    struct mpk_span now)
{
	struct mpk_csv before = mpk_csv_of(was), after = mpk_csv_of(now);
	struct mpk_csv_row old, made;

	while (mpk_csv_next(&after, &made))
		if (!next_kept(&before, &old) || !same_row(w, &old, &made))
			return fail_in_record(w->members[i].name, &made,
					      "what was written is not what was meant", w->err);
	if (next_kept(&before, &old))
		return fail_in_record(w->members[i].name, &old, "this row got lost", w->err);
	return MPK_OK;
}

static bool is_changed(const struct mpk_zip_member *was, const struct mpk_zip_member *now)
{
	return was->checksum != now->checksum || was->plain != now->plain ||
	       was->stored != now->stored;
}

enum mpk_code mpk_thin_confirm_wheel(const struct mpk_mapping *file, const struct mpk_mapping *made,
				     const struct mpk_thin_scratch *scratch,
				     const struct mpk_thin_options *options, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	struct wheel w = {
		.file = made, .scratch = scratch, .o = options, .arena = &arena, .err = err
	};
	struct mpk_zip_member *old;
	struct mpk_span was, now;
	size_t old_count, at = 0;
	enum mpk_code code = MPK_OK;

	if (mpk_span_equal(file->bytes, made->bytes)) /* nothing was removed */
		return MPK_OK;
	MPK_TRY(mpk_zip_list(file->bytes, SPACE, &arena, &old, &old_count, err));
	MPK_TRY(mpk_zip_list(made->bytes, SPACE, &arena, &w.members, &w.count, err));
	MPK_TRY_ARRAY(w.changed, &arena, w.count + 1, err);
	for (size_t i = 0; i < w.count && code == MPK_OK; i++, at++) {
		while (at < old_count && is_signature(old[at].name))
			at++;
		if (at == old_count || !mpk_span_equal(old[at].name, w.members[i].name))
			return mpk_fail(err, MPK_E_INTERNAL,
					"what was written has other members than was meant");
		if (is_record(old[at].name, "") || !is_changed(&old[at], &w.members[i]))
			continue;
		code = confirm_member(&w, i);
	}
	if (code == MPK_OK)
		code = name_members(w.members, w.count, &w.names, err);
	at = 0;
	for (size_t i = 0; i < w.count && code == MPK_OK; i++, at++) {
		while (is_signature(old[at].name))
			at++;
		if (!is_record(w.members[i].name, ""))
			continue;
		code = mpk_zip_read(file->bytes, &old[at], &reading, &arena, &was, err);
		if (code == MPK_OK)
			code = mpk_zip_read(made->bytes, &w.members[i], &reading, &arena, &now,
					    err);
		if (code == MPK_OK)
			code = confirm_record(&w, i, was, now);
	}
	mpk_strmap_fini(&w.names);
	return code;
}

/* --- the whole archive ------------------------------------------------------------------------ */

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
	enum mpk_code code;

	MPK_TRY(mpk_zip_list(file->bytes, SPACE, arena, &w.members, &w.count, err));
	w.changes = mpk_arena_array(arena, w.count + 1, sizeof *w.changes);
	w.changed = mpk_arena_array(arena, w.count + 1, sizeof *w.changed);
	MPK_TRY_ALLOC(w.changes && w.changed, err);
	MPK_TRY(thin_members(&w));
	if (!w.changed_count) {
		mpk_rope_put_view(out, file->bytes);
		return mpk_rope_status(out, err);
	}
	code = name_members(w.members, w.count, &w.names, err);
	if (code == MPK_OK)
		code = renew_record(&w);
	mpk_strmap_fini(&w.names);
	return code == MPK_OK ? mpk_zip_rewrite(file->bytes, SPACE, w.members, w.changes, w.count,
						out, err)
			      : code;
}
