/* SPDX-License-Identifier: Apache-2.0 */
/* request.c - the request that the confined reader sends to the builder: everything that a build
 * needs from a package, as bytes
 *
 * Integers are little-endian u64. Texts have a length; a missing text has the length UINT64_MAX. A
 * piece of the blob is either the number of its file, an offset and a length, or bytes.
 *
 * The request may come from an attacker who took over the reader while it parsed. So everything in
 * it is checked here before it is used. */
#include "emit/internal/emit.h"

#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/vec.h"
#include "io/copy.h"
#include "manifest/manifest.h"
#include "package/package.h"

/* --- writing --- */

/* The bytes of a file in memory, to be searched by address. */
struct region {
	uintptr_t start;
	size_t len, file;
};

/* The request as one rope: texts are copied; payloads stay views and ranges. */
struct writer {
	struct mpk_rope out;
	const struct mpk_request_file *files;
	size_t file_count;
	struct region *regions; /* ascending; in the arena */
	size_t region_count;
};

MPK_ORDER_BY(compare_regions, struct region, start)

/* Finds the file that contains a view in memory: the last file that begins before the view, if it
 * is long enough. */
static bool find_region(const struct writer *w, const struct mpk_piece *p, uint64_t *file,
			uint64_t *off)
{
	uintptr_t at = (uintptr_t)p->data;
	const struct region after = { .start = at + 1 };
	size_t next =
		mpk_lower_bound(w->regions, w->region_count, sizeof after, &after, compare_regions);

	if (!next)
		return false;
	const struct region *r = &w->regions[next - 1];
	if (at - r->start >= r->len || r->len - (at - r->start) < p->len)
		return false;
	*file = r->file;
	*off = at - r->start;
	return true;
}

/* Finds a file by its descriptor. Only large files keep one, and there are few. */
static bool find_descriptor(const struct writer *w, int fd, uint64_t *file)
{
	for (size_t i = 0; i < w->file_count; i++)
		if (w->files[i].map->fd == fd) {
			*file = i;
			return true;
		}
	return false;
}

/* Writes the bytes of a piece that is in no file, such as a header. */
static enum mpk_code put_piece(struct writer *w, const struct mpk_piece *p, struct mpk_error *err)
{
	uint64_t file, off = p->off;

	if (p->data ? find_region(w, p, &file, &off) : find_descriptor(w, p->fd, &file)) {
		mpk_rope_put_u64(&w->out, file);
		mpk_rope_put_u64(&w->out, off);
		mpk_rope_put_u64(&w->out, p->len);
		return MPK_OK;
	}
	if (!p->data)
		return mpk_fail(err, MPK_E_INTERNAL, "a part of the blob is of no known file");
	mpk_rope_put_u64(&w->out, MPK_HANDOVER_NONE);
	mpk_rope_put_u64(&w->out, p->len);
	mpk_rope_put_view(&w->out, mpk_span_of(p->data, p->len));
	return MPK_OK;
}

static void request_put_text(struct writer *w, const char *text)
{
	if (text)
		mpk_rope_put_str(&w->out, mpk_span_str(text));
	else
		mpk_rope_put_u64(&w->out, MPK_HANDOVER_NONE);
}

/* A file without an identity is a pipe, which the other process cannot open; its bytes are sent as
 * pieces. */
static void put_files(struct writer *w)
{
	struct mpk_file_identity identity;

	mpk_rope_put_u64(&w->out, w->file_count);
	for (size_t i = 0; i < w->file_count; i++) {
		bool is_there = i && mpk_mapping_identity(w->files[i].map, &identity);

		mpk_rope_put_u8(&w->out, is_there);
		if (!is_there)
			continue;
		request_put_text(w, w->files[i].path);
		mpk_rope_put_u64(&w->out, identity.device);
		mpk_rope_put_u64(&w->out, identity.inode);
		mpk_rope_put_u64(&w->out, identity.size);
		mpk_rope_put_u64(&w->out, (uint64_t)identity.modified);
	}
}

static void put_words(struct writer *w, const struct mpk_words *words)
{
	mpk_rope_put_u64(&w->out, words->count);
	for (size_t i = 0; i < words->count; i++)
		request_put_text(w, words->items[i]);
}

static void put_facts(struct writer *w, const struct mpk_request *h)
{
	const bool flags[] = { h->has_blob,     h->is_blob,     h->has_host,  h->has_sources,
			       h->has_callable, h->is_embedded, h->needs_cxx, h->has_state,
			       h->is_cpu,       h->is_packed,   h->could_load };

	mpk_rope_put_u64(&w->out, h->gen);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(flags); i++)
		mpk_rope_put_u8(&w->out, flags[i]);
	mpk_rope_put_u64(&w->out, h->module_count);
	request_put_text(w, h->name);
	request_put_text(w, h->symbol);
	request_put_text(w, h->entry);
	request_put_text(w, h->dir_named);
	request_put_text(w, h->target);
	request_put_text(w, h->base);
	request_put_text(w, h->unlinked);
	request_put_text(w, h->packing);
	put_words(w, &h->files);
	put_words(w, &h->libraries);

	mpk_rope_put_u64(&w->out, h->called_count);
	for (size_t i = 0; i < h->called_count; i++) {
		request_put_text(w, h->called[i].symbol);
		request_put_text(w, h->called[i].function);
		mpk_rope_put_u32(&w->out, h->called[i].line);
		mpk_rope_put_u32(&w->out, h->called[i].column);
	}
}

enum mpk_code mpk_request_write(const struct mpk_request *h, const struct mpk_request_file *files,
				size_t file_count, int fd, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	struct writer w = { .out = mpk_rope_of(&arena), .files = files, .file_count = file_count };

	/* Files that the other process can open. */
	MPK_TRY_ARRAY(w.regions, w.out.arena, w.file_count, err);
	for (size_t i = 0; i < w.file_count; i++) {
		const struct mpk_mapping *map = w.files[i].map;
		struct mpk_file_identity identity;

		if (map->bytes.len && (i == 0 || mpk_mapping_identity(map, &identity)))
			w.regions[w.region_count++] =
				(struct region){ (uintptr_t)map->bytes.data, map->bytes.len, i };
	}
	if (w.region_count)
		qsort(w.regions, w.region_count, sizeof *w.regions, compare_regions);

	put_facts(&w, h);
	put_files(&w);

	mpk_rope_put_u64(&w.out, h->source_count);
	for (size_t i = 0; i < h->source_count; i++) {
		request_put_text(&w, h->sources[i].path);
		put_words(&w, &h->sources[i].flags);
		mpk_rope_put_u8(&w.out, h->sources[i].text.data != NULL);
		if (!h->sources[i].text.data)
			continue;
		mpk_rope_put_u64(&w.out, h->sources[i].text.len);
		mpk_rope_put_view(&w.out, h->sources[i].text);
	}

	mpk_rope_put_u64(&w.out, h->has_blob ? h->blob.count : 0);
	for (size_t i = 0; h->has_blob && i < h->blob.count; i++)
		MPK_TRY(put_piece(&w, &h->blob.pieces[i], err));
	MPK_TRY(mpk_rope_status(&w.out, err));
	return mpk_write_pieces(fd, w.out.pieces, w.out.count, NULL, err);
}

/* --- reading --- */

struct reader {
	struct mpk_cursor c;
	const struct mpk_mapping *input;
	const struct mpk_words *granted;
	struct mpk_arena *arena;
	struct mpk_request_maps *maps; /* maps[0] stays empty: the input is already open */
};

static enum mpk_code request_refuse(const struct reader *r, const char *what, struct mpk_error *err)
{
	return mpk_fail_offset(err, MPK_E_CORRUPT, r->c.space, mpk_cursor_offset(&r->c),
			       "%s that no reader of a package would hand over", what);
}

/* Any byte other than 0 is true: accepting only 0 and 1 would gain nothing. */
static enum mpk_code get_flag(struct reader *r, bool *out, struct mpk_error *err)
{
	uint8_t value;

	MPK_TRY(mpk_read_u8(&r->c, "flag", &value, err));
	*out = value != 0;
	return MPK_OK;
}

/* Returns NULL where the text is missing. */
static enum mpk_code get_text(struct reader *r, const char *what, const char **out,
			      struct mpk_error *err)
{
	struct mpk_span text;
	uint64_t len;

	*out = NULL;
	MPK_TRY(mpk_read_u64(&r->c, what, &len, err));
	if (len == MPK_HANDOVER_NONE)
		return MPK_OK;
	MPK_TRY(mpk_read_bytes(&r->c, what, len, &text, err));
	if (text.len && memchr(text.data, 0, text.len))
		return request_refuse(r, "a text with a NUL", err);
	*out = mpk_arena_text(r->arena, text);
	MPK_TRY_ALLOC(*out, err);
	return MPK_OK;
}

static enum mpk_code get_needed(struct reader *r, const char *what, const char **out,
				struct mpk_error *err)
{
	MPK_TRY(get_text(r, what, out, err));
	return *out ? MPK_OK : request_refuse(r, "no text in a place", err);
}

/* Refuses an argument that compilers take for an option or a file of options. */
static bool is_option(const char *path)
{
	return *path == '-' || *path == '@';
}

/* @kind    the only word that the manifest allows; others are refused */
static enum mpk_code get_words(struct reader *r, const char *all, const char *what,
			       enum mpk_manifest_word kind, struct mpk_words *out,
			       struct mpk_error *err)
{
	size_t count;

	MPK_TRY(mpk_read_count(&r->c, all, sizeof(uint64_t), &count, err));
	const char **list = mpk_arena_array(r->arena, count, sizeof *list);

	MPK_TRY_ALLOC(list, err);
	for (size_t i = 0; i < count; i++) {
		MPK_TRY(get_needed(r, what, &list[i], err));
		if (!mpk_manifest_allows(kind, list[i], r->granted))
			return request_refuse(r, what, err);
	}
	*out = (struct mpk_words){ list, count };
	return MPK_OK;
}

/* These names become paths, symbols and arguments of compilers, so each is checked for its use. */
static enum mpk_code get_names(struct reader *r, struct mpk_request *out, struct mpk_error *err)
{
	MPK_TRY(get_needed(r, "name", &out->name, err));
	if (!mpk_manifest_is_name(out->name)) /* the output may get this name */
		return request_refuse(r, "a name that no file may have", err);
	MPK_TRY(get_text(r, "symbol", &out->symbol, err));
	MPK_TRY(get_text(r, "entry", &out->entry, err));
	MPK_TRY(get_needed(r, "folder", &out->dir_named, err));
	MPK_TRY(get_text(r, "target", &out->target, err));
	MPK_TRY(get_text(r, "base", &out->base, err));
	MPK_TRY(get_text(r, "reason", &out->unlinked, err));
	MPK_TRY(get_text(r, "word", &out->packing, err));
	return out->base && is_option(out->base) ? request_refuse(r, "a base", err) : MPK_OK;
}

/* The count grows before a file is opened, so that mpk_request_close finds every file that may
 * be open. */
static enum mpk_code open_files(struct reader *r, struct mpk_error *err)
{
	size_t count;

	MPK_TRY(mpk_read_count(&r->c, "files", 1, &count, err));
	MPK_TRY_ARRAY(r->maps->items, r->arena, count, err);
	for (size_t i = 0; i < count; i++) {
		bool is_there;

		MPK_TRY(get_flag(r, &is_there, err));
		if (is_there && i == 0)
			return request_refuse(r, "the input as another file", err);
		r->maps->items[r->maps->count++].fd = -1;
		if (is_there) {
			struct mpk_mapping *map = &r->maps->items[i];
			struct mpk_file_identity identity;
			const char *path;
			uint64_t modified;

			MPK_TRY(get_needed(r, "file", &path, err));
			MPK_TRY(mpk_read_u64(&r->c, "device", &identity.device, err));
			MPK_TRY(mpk_read_u64(&r->c, "inode", &identity.inode, err));
			MPK_TRY(mpk_read_u64(&r->c, "size", &identity.size, err));
			MPK_TRY(mpk_read_u64(&r->c, "time", &modified, err));
			identity.modified = (int64_t)modified;
			if (strcmp(path, "-") == 0)
				return request_refuse(r, "standard input as a file", err);
			MPK_TRY(mpk_mapping_open_same(path, &identity, map, err));
			/* a package may have more small files than a process has descriptors */
			if (map->bytes.len < MPK_LARGE_BYTES)
				mpk_mapping_close_file(map);
		}
	}
	return MPK_OK;
}
/* The reader can only choose among the generated texts on this list. */
static bool is_generated(const char *name)
{
	const char *const *known = mpk_generated_names;

	while (*known && strcmp(name, *known) != 0)
		known++;
	return *known != NULL;
}

static enum mpk_code get_source(struct reader *r, struct mpk_compile_source *s,
				struct mpk_error *err)
{
	bool is_text;
	uint64_t len;

	MPK_TRY(get_needed(r, "source", &s->path, err));
	MPK_TRY(get_words(r, "a flag", "a flag", MPK_WORD_CFLAG, &s->flags, err));
	MPK_TRY(get_flag(r, &is_text, err));
	if (mpk_source_classify(s->path, &s->kind, NULL) != MPK_OK || is_option(s->path))
		return request_refuse(r, "a source", err);
	if (is_text && !is_generated(s->path)) /* the text is written to a file of that name */
		return request_refuse(r, "the name of a text", err);
	if (!is_text)
		return MPK_OK;
	MPK_TRY(mpk_read_u64(&r->c, "text", &len, err));
	return mpk_read_bytes(&r->c, "text", len, &s->text, err);
}

static enum mpk_code get_sources(struct reader *r, struct mpk_request *out, struct mpk_error *err)
{
	size_t count;

	MPK_TRY(mpk_read_count(&r->c, "sources", sizeof(uint64_t) + 1, &count, err));
	struct mpk_compile_source *list = mpk_arena_array(r->arena, count, sizeof *list);

	MPK_TRY_ALLOC(list, err);
	for (size_t i = 0; i < count; i++)
		MPK_TRY(get_source(r, &list[i], err));
	out->sources = list;
	out->source_count = count;
	return MPK_OK;
}

/* Checks a range against the current length of the file: the length that the reader saw may be
 * outdated, or a lie. */
static enum mpk_code get_piece(struct reader *r, struct mpk_rope *rope, struct mpk_error *err)
{
	uint64_t file, off = 0, len;
	struct mpk_span view;

	MPK_TRY(mpk_read_u64(&r->c, "piece", &file, err));
	if (file != MPK_HANDOVER_NONE)
		MPK_TRY(mpk_read_u64(&r->c, "piece", &off, err));
	MPK_TRY(mpk_read_u64(&r->c, "piece", &len, err));
	if (file == MPK_HANDOVER_NONE) {
		MPK_TRY(mpk_read_bytes(&r->c, "piece", len, &view, err));
		mpk_rope_put_view(rope, view);
		return MPK_OK;
	}
	if (file >= r->maps->count)
		return request_refuse(r, "a file", err);
	const struct mpk_mapping *map = file ? &r->maps->items[file] : r->input;

	if (!mpk_span_sub(map->bytes, off, len, &view))
		return request_refuse(r, "a part of a file", err);
	if (map->fd >= 0 && map->mapped && len)
		mpk_rope_put_file(rope, map->fd, off, len);
	else
		mpk_rope_put_view(rope, view);
	return MPK_OK;
}

static enum mpk_code get_blob(struct reader *r, struct mpk_request *out, struct mpk_error *err)
{
	size_t count;

	out->blob = mpk_rope_of(r->arena);
	MPK_TRY(mpk_read_count(&r->c, "pieces", 2 * sizeof(uint64_t), &count, err));
	for (size_t i = 0; i < count; i++)
		MPK_TRY(get_piece(r, &out->blob, err));
	return mpk_rope_status(&out->blob, err);
}

enum mpk_code mpk_request_read(struct mpk_span bytes, const struct mpk_mapping *input,
			       const struct mpk_words *granted, struct mpk_arena *arena,
			       struct mpk_request *out, struct mpk_request_maps *maps,
			       struct mpk_error *err)
{
	struct reader r = { mpk_cursor_of(bytes, 0, "request"), input, granted, arena, maps };

	*out = (struct mpk_request){ .gen = MPK_GEN_CURRENT };

	/* Reads in the order of put_facts. Each count is compared with the number of bytes left
	 * before memory is allocated for it (mpk_read_count). */
	bool *const flags[] = { &out->has_blob,    &out->is_blob,      &out->has_host,
				&out->has_sources, &out->has_callable, &out->is_embedded,
				&out->needs_cxx,   &out->has_state,    &out->is_cpu,
				&out->is_packed,   &out->could_load };
	uint64_t gen, modules;

	MPK_TRY(mpk_read_u64(&r.c, "generation", &gen, err));
	if (gen >= MPK_GENERATION_COUNT)
		return request_refuse(&r, "a generation", err);
	out->gen = (enum mpk_generation)gen;
	for (size_t i = 0; i < MPK_ARRAY_COUNT(flags); i++)
		MPK_TRY(get_flag(&r, flags[i], err));
	MPK_TRY(mpk_read_u64(&r.c, "modules", &modules, err));
	out->module_count = (size_t)modules;
	MPK_TRY(get_names(&r, out, err));
	MPK_TRY(get_words(&r, "files", "file", MPK_WORD_ANY, &out->files, err));
	MPK_TRY(get_words(&r, "a library", "a library", MPK_WORD_LIBRARY, &out->libraries, err));

	struct mpk_called *list;
	size_t count;

	MPK_TRY(mpk_read_count(&r.c, "functions", 2 * (sizeof(uint64_t) + sizeof(uint32_t)), &count,
			       err));
	MPK_TRY_ARRAY(list, r.arena, count, err);
	for (size_t i = 0; i < count; i++) {
		MPK_TRY(get_needed(&r, "symbol", &list[i].symbol, err));
		MPK_TRY(get_needed(&r, "function", &list[i].function, err));
		MPK_TRY(mpk_read_u32(&r.c, "line", &list[i].line, err));
		MPK_TRY(mpk_read_u32(&r.c, "column", &list[i].column, err));
	}
	out->called = list;
	out->called_count = count;

	MPK_TRY(open_files(&r, err));
	MPK_TRY(get_sources(&r, out, err));
	MPK_TRY(get_blob(&r, out, err));
	return mpk_cursor_left(&r.c) ? request_refuse(&r, "something behind the end", err) : MPK_OK;
}

void mpk_request_close(struct mpk_request_maps *maps)
{
	for (size_t i = 0; i < maps->count; i++)
		mpk_mapping_close(&maps->items[i]);
	*maps = (struct mpk_request_maps){ .count = 0 };
}
