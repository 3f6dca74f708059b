/* SPDX-License-Identifier: Apache-2.0 */
/* payload.c - a payload of any kind: decoded by the codec of its kind, and the files that it
 * consists of */
#include "payload.h"

#include <stdlib.h>

#include "base/compiler.h"
#include "base/strbuf.h"
#include "base/strmap.h"
#include "base/vec.h"
#include "kinds.h"

static enum mpk_code read_empty(struct mpk_cursor *c, struct mpk_arena *arena,
				struct mpk_payload *out, struct mpk_error *err)
{
	(void)c, (void)arena, (void)out, (void)err;
	return MPK_OK;
}

const struct mpk_payload_reader mpk_reader_empty = { MPK_PAYLOAD_EMPTY, read_empty };
const struct mpk_codec mpk_codec_empty = { &mpk_reader_empty, NULL };

/* Sets every field that a reader may use, then reads. */
static enum mpk_code decode(const struct mpk_payload *start,
			    const struct mpk_payload_reader *reader, struct mpk_source bytes,
			    struct mpk_arena *arena, struct mpk_payload *out, struct mpk_error *err)
{
	struct mpk_cursor c = mpk_cursor_of(bytes.span, bytes.off, "blob");
	struct mpk_payload p = *start;

	MPK_TRY(reader->read(&c, arena, &p, err));
	p.source = bytes;
	p.trailing += mpk_cursor_left(&c);
	*out = p;
	return MPK_OK;
}

enum mpk_code mpk_payload_decode(const struct mpk_kind *kind, enum mpk_generation gen,
				 struct mpk_source bytes, struct mpk_arena *arena,
				 struct mpk_payload *out, struct mpk_error *err)
{
	const struct mpk_payload_reader *reader = kind->codec->reader;
	const struct mpk_payload start = { .tag = reader->tag, .kind = kind, .gen = gen };

	return decode(&start, reader, bytes, arena, out, err);
}

enum mpk_code mpk_payload_decode_as(const struct mpk_payload_reader *reader,
				    enum mpk_generation gen, struct mpk_source bytes,
				    struct mpk_arena *arena, struct mpk_payload *out,
				    struct mpk_error *err)
{
	const struct mpk_payload start = { .tag = reader->tag, .gen = gen };

	return decode(&start, reader, bytes, arena, out, err);
}

/* --- the table of kinds, from kinds.def ------------------------------------------------------- */

#include "kinds.def"

#define DECLARE(key, title, role, first, last, codec, schema)                                      \
	extern const struct mpk_codec mpk_codec_##codec;
MPK_KINDS(DECLARE)

const struct mpk_kind mpk_kinds[] = {
#define ROW(key, title, role, first, last, codec, schema)                                          \
	{ key, title, MPK_ROLE_##role, first, last, &mpk_codec_##codec, schema },
	MPK_KINDS(ROW) /* the end: */ { 0 },
};

const struct mpk_kind *mpk_kind_find(struct mpk_span name)
{
	for (const struct mpk_kind *k = mpk_kinds; k->name; k++)
		if (mpk_span_is(name, k->name))
			return k;
	return NULL;
}

/* --- the files of a decoded payload ----------------------------------------------------------- */

/* Names come from the payload and may be hostile ("..", a slash, 64 KiB long, twice the same name).
 * Characters that a file system may refuse are replaced, and the name gets a number; the title
 * keeps the original name. */

static void files_fini(struct mpk_files *b)
{
	free(b->files);
	mpk_strmap_fini(&b->names);
}

static bool file_char(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '-' || c == '.';
}

/* Most bytes of a title in a file name: file systems allow 255. */
enum { STEM_MAX = 120 };

/* Returns the part of a title that can be in a file name; *same: it is the whole title. */
static const char *file_stem(struct mpk_arena *arena, struct mpk_span title, bool *same)
{
	size_t len = title.len < STEM_MAX ? title.len : STEM_MAX;
	char *stem = mpk_arena_copy(arena, title.data, len);

	*same = len == title.len && len > 0;
	for (size_t i = 0; stem && i < len; i++) {
		bool dots = stem[i] == '.' && (i == 0 || stem[i - 1] == '.');

		if (file_char(title.data[i]) && !dots)
			continue;
		stem[i] = '_';
		*same = false;
	}
	return stem;
}

/* Returns dir/title.suffix, with the number of the file before the suffix if the title was changed
 * or the name exists already. */
const char *mpk_files_name(struct mpk_files *b, const char *dir, struct mpk_span title,
			   const char *suffix)
{
	bool same;
	size_t found;
	const char *stem = file_stem(b->arena, title, &same);
	const char *number = same ? "" : mpk_arena_printf(b->arena, "-%zu", b->count);
	const char *name = NULL;

	while (stem && number) {
		name = mpk_arena_printf(b->arena, "%s%s%s%s", dir, stem, number, suffix);
		if (!name || !mpk_strmap_find(&b->names, mpk_span_str(name), &found))
			break;
		number = mpk_arena_printf(b->arena, "%s-%zu", number, b->count);
		name = NULL;
	}
	return name;
}

const char *mpk_node_folder(const struct mpk_node *node, size_t index, struct mpk_arena *arena)
{
	enum { KIND_MAX = 40 };
	char kind[KIND_MAX + 1] = "host";
	size_t len = node->kind.len < KIND_MAX ? node->kind.len : KIND_MAX;

	for (size_t i = 0; i < len && !node->is_lib; i++)
		kind[i] = (char)(file_char(node->kind.data[i]) ? node->kind.data[i] : '_');
	if (!node->is_lib)
		kind[len] = '\0';
	return mpk_arena_printf(arena, "%zu-%s", index, kind);
}

enum mpk_code mpk_files_add(struct mpk_files *b, const char *name, struct mpk_extracted_file file)
{
	const uint8_t *bytes = b->p->source.span.data;
	size_t len = b->p->source.span.len, at;
	size_t ignored;

	if (!name || !MPK_VEC_ROOM(b->files, b->count, b->cap) ||
	    mpk_strmap_put(&b->names, mpk_span_str(name), b->count, &ignored) < 0)
		return mpk_fail_nomem(b->err);
	file.name = name;
	if (file.stored && bytes && file.data.data) {
		at = (size_t)((uintptr_t)file.data.data - (uintptr_t)bytes);
		file.off = at <= len ? b->p->source.off + at : 0;
	}
	b->files[b->count++] = file;
	return MPK_OK;
}

enum mpk_code mpk_files_add_bytes(struct mpk_files *b, const char *name, struct mpk_span data)
{
	return mpk_files_add(b, name, (struct mpk_extracted_file){ .data = data, .stored = true });
}

/* Copies the text to the arena, and frees it. */
enum mpk_code mpk_files_add_text(struct mpk_files *b, const char *name, struct mpk_strbuf *text)
{
	char *copy = text->failed ? NULL : mpk_arena_copy(b->arena, text->data, text->len);
	struct mpk_extracted_file file = { .data = mpk_span_of(copy, text->len) };

	mpk_strbuf_fini(text);
	return copy ? mpk_files_add(b, name, file) : mpk_fail_nomem(b->err);
}

enum mpk_code mpk_files_add_tensor(struct mpk_files *b, const char *name, struct mpk_span title,
				   const struct mpk_tensor_record *t)
{
	return mpk_files_add(
		b, name,
		(struct mpk_extracted_file){
			.data = t->data, .stored = true, .tensor = t, .title = title });
}

enum mpk_code mpk_files_add_params(struct mpk_files *b, const char *dir, const struct mpk_params *p)
{
	for (size_t i = 0; i < p->names.count; i++) {
		struct mpk_span title = p->names.items[i];

		MPK_TRY(mpk_files_add_tensor(b, mpk_files_name(b, dir, title, ""), title,
					     &p->tensors[i]));
	}
	return MPK_OK;
}

static enum mpk_code extract(const struct mpk_payload *p, bool with_tables, struct mpk_arena *arena,
			     struct mpk_extracted_files *out, struct mpk_error *err)
{
	struct mpk_files b MPK_CLEANUP(
		files_fini) = { .p = p, .arena = arena, .with_tables = with_tables, .err = err };
	const struct mpk_codec *codec = p->kind->codec;
	struct mpk_extracted_file *items;

	if (codec->files)
		MPK_TRY(codec->files(p, &b));
	items = mpk_arena_keep(arena, b.files, b.count, sizeof *items);
	MPK_TRY_ALLOC(items, err);
	*out = (struct mpk_extracted_files){ items, b.count };
	return MPK_OK;
}

enum mpk_code mpk_payload_extract(const struct mpk_payload *p, struct mpk_arena *arena,
				  struct mpk_extracted_files *out, struct mpk_error *err)
{
	return extract(p, true, arena, out, err);
}

enum mpk_code mpk_payload_parts(const struct mpk_payload *p, struct mpk_arena *arena,
				struct mpk_extracted_files *out, struct mpk_error *err)
{
	return extract(p, false, arena, out, err);
}
