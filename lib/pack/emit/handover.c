/* SPDX-License-Identifier: Apache-2.0 */
/* handover.c - what another process says that a build needs of a package: nothing is believed that is not checked
 *
 * The bytes are those of handover_write.c. */
#include "emit/internal/emit.h"

#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/vec.h"
#include "io/copy.h"
#include "manifest/manifest.h"
#include "package/package.h"

struct reader {
	struct mpk_cursor c;
	const struct mpk_mapping *input;
	struct mpk_arena *arena;
	struct mpk_handover_maps *maps; /* [0] stays empty: it is the input */
};

static enum mpk_code handover_refuse(const struct reader *r, const char *what,
				     struct mpk_error *err)
{
	return mpk_fail_offset(err, MPK_E_CORRUPT, r->c.space, mpk_cursor_offset(&r->c),
			       "%s that no reader of a package would hand over", what);
}

/* Any other byte than 0 is true: there is nothing to gain from a strict reading. */
static enum mpk_code get_flag(struct reader *r, bool *out, struct mpk_error *err)
{
	uint8_t value;

	MPK_TRY(mpk_read_u8(&r->c, "flag", &value, err));
	*out = value != 0;
	return MPK_OK;
}

/* NULL where there is none. */
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
		return handover_refuse(r, "a text with a NUL", err);
	*out = mpk_arena_text(r->arena, text);
	MPK_TRY_ALLOC(*out, err);
	return MPK_OK;
}

static enum mpk_code get_needed(struct reader *r, const char *what, const char **out,
				struct mpk_error *err)
{
	MPK_TRY(get_text(r, what, out, err));
	return *out ? MPK_OK : handover_refuse(r, "no text in a place", err);
}

/* Compilers take such an argument for an option, or for a file of options. */
static bool is_option(const char *path)
{
	return *path == '-' || *path == '@';
}

/* Each of them is what the manifest's own check lets pass, or the handover is refused. */
static enum mpk_code get_words(struct reader *r, const char *what, bool (*is_one)(const char *word),
			       struct mpk_words *out, struct mpk_error *err)
{
	size_t count;

	MPK_TRY(mpk_read_count(&r->c, what, sizeof(uint64_t), &count, err));
	const char **list = mpk_arena_array(r->arena, count, sizeof *list);

	MPK_TRY_ALLOC(list, err);
	for (size_t i = 0; i < count; i++) {
		MPK_TRY(get_needed(r, what, &list[i], err));
		if (!is_one(list[i]))
			return handover_refuse(r, what, err);
	}
	*out = (struct mpk_words){ list, count };
	return MPK_OK;
}

static enum mpk_code get_list(struct reader *r, struct mpk_handover *out, struct mpk_error *err)
{
	size_t count;

	MPK_TRY(mpk_read_count(&r->c, "files", sizeof(uint64_t), &count, err));
	const char **list = mpk_arena_array(r->arena, count, sizeof *list);

	MPK_TRY_ALLOC(list, err);
	for (size_t i = 0; i < count; i++)
		MPK_TRY(get_needed(r, "file", &list[i], err));
	out->files = list;
	out->file_count = count;
	return MPK_OK;
}

/* These names become paths, symbols and arguments of compilers, so each is checked for what
 * it may be. */
static enum mpk_code get_names(struct reader *r, struct mpk_handover *out, struct mpk_error *err)
{
	MPK_TRY(get_needed(r, "name", &out->name, err));
	if (strchr(out->name, '/')) /* the output may be called so */
		return handover_refuse(r, "a path as a name", err);
	MPK_TRY(get_text(r, "symbol", &out->symbol, err));
	MPK_TRY(get_text(r, "entry", &out->entry, err));
	MPK_TRY(get_needed(r, "folder", &out->dir_named, err));
	MPK_TRY(get_text(r, "target", &out->target, err));
	MPK_TRY(get_text(r, "base", &out->base, err));
	MPK_TRY(get_text(r, "reason", &out->unlinked, err));
	MPK_TRY(get_text(r, "word", &out->packing, err));
	return out->base && is_option(out->base) ? handover_refuse(r, "a base", err) : MPK_OK;
}

static enum mpk_code get_called(struct reader *r, struct mpk_handover *out, struct mpk_error *err)
{
	struct mpk_called *list;
	size_t count;

	MPK_TRY(mpk_read_count(&r->c, "functions", 2 * (sizeof(uint64_t) + sizeof(uint32_t)),
			       &count, err));
	list = mpk_arena_array(r->arena, count, sizeof *list);
	MPK_TRY_ALLOC(list, err);
	for (size_t i = 0; i < count; i++) {
		MPK_TRY(get_needed(r, "symbol", &list[i].symbol, err));
		MPK_TRY(get_needed(r, "function", &list[i].function, err));
		MPK_TRY(mpk_read_u32(&r->c, "line", &list[i].line, err));
		MPK_TRY(mpk_read_u32(&r->c, "column", &list[i].column, err));
	}
	out->called = list;
	out->called_count = count;
	return MPK_OK;
}

/* In the order of put_facts. Counts are checked against the bytes that are left before
 * anything is allocated (mpk_read_count). */
static enum mpk_code get_facts(struct reader *r, struct mpk_handover *out, struct mpk_error *err)
{
	bool *const flags[] = { &out->has_blob,    &out->is_blob,      &out->has_host,
				&out->has_sources, &out->has_callable, &out->is_carried,
				&out->needs_cxx,   &out->is_packed };
	uint64_t gen, modules;

	MPK_TRY(mpk_read_u64(&r->c, "generation", &gen, err));
	if (gen >= MPK_GENERATION_COUNT)
		return handover_refuse(r, "a generation", err);
	out->gen = (enum mpk_generation)gen;
	for (size_t i = 0; i < MPK_ARRAY_COUNT(flags); i++)
		MPK_TRY(get_flag(r, flags[i], err));
	MPK_TRY(mpk_read_u64(&r->c, "modules", &modules, err));
	out->module_count = (size_t)modules;
	MPK_TRY(get_names(r, out, err));
	MPK_TRY(get_list(r, out, err));
	MPK_TRY(get_words(r, "a library", mpk_manifest_is_library, &out->libraries, err));
	return get_called(r, out, err);
}

static enum mpk_code handover_open_file(struct reader *r, struct mpk_mapping *map,
					struct mpk_error *err)
{
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
		return handover_refuse(r, "standard input as a file", err);
	MPK_TRY(mpk_mapping_open_same(path, &identity, map, err));
	/* a package may have more small files than a process has descriptors */
	if (map->bytes.len < MPK_LARGE_BYTES)
		mpk_mapping_close_file(map);
	return MPK_OK;
}

/* The number is counted up before a file is opened, so that mpk_handover_close finds all
 * that may be open. */
static enum mpk_code open_files(struct reader *r, struct mpk_error *err)
{
	size_t count;

	MPK_TRY(mpk_read_count(&r->c, "files", 1, &count, err));
	r->maps->items = mpk_arena_array(r->arena, count, sizeof *r->maps->items);
	MPK_TRY_ALLOC(r->maps->items, err);
	for (size_t i = 0; i < count; i++) {
		bool is_there;

		MPK_TRY(get_flag(r, &is_there, err));
		if (is_there && i == 0)
			return handover_refuse(r, "the input as another file", err);
		r->maps->items[r->maps->count++].fd = -1;
		if (is_there)
			MPK_TRY(handover_open_file(r, &r->maps->items[i], err));
	}
	return MPK_OK;
}
/* What comes from the confined reader may call a text nothing else. */
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
	MPK_TRY(get_words(r, "a flag", mpk_manifest_is_cflag, &s->flags, err));
	MPK_TRY(get_flag(r, &is_text, err));
	if (mpk_source_classify(s->path, &s->kind, NULL) != MPK_OK || is_option(s->path))
		return handover_refuse(r, "a source", err);
	if (is_text && !is_generated(s->path)) /* it becomes a file of that name */
		return handover_refuse(r, "the name of a text", err);
	if (!is_text)
		return MPK_OK;
	MPK_TRY(mpk_read_u64(&r->c, "text", &len, err));
	return mpk_read_bytes(&r->c, "text", len, &s->text, err);
}

static enum mpk_code get_sources(struct reader *r, struct mpk_handover *out, struct mpk_error *err)
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

/* A range is checked against the file as it is here: the other process may be wrong about
 * its length, or lie. */
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
		return handover_refuse(r, "a file", err);
	const struct mpk_mapping *map = file ? &r->maps->items[file] : r->input;

	if (!mpk_span_sub(map->bytes, off, len, &view))
		return handover_refuse(r, "a part of a file", err);
	if (map->fd >= 0 && map->mapped && len)
		mpk_rope_put_file(rope, map->fd, off, len);
	else
		mpk_rope_put_view(rope, view);
	return MPK_OK;
}

static enum mpk_code get_blob(struct reader *r, struct mpk_handover *out, struct mpk_error *err)
{
	size_t count;

	out->blob = mpk_rope_of(r->arena);
	MPK_TRY(mpk_read_count(&r->c, "pieces", 2 * sizeof(uint64_t), &count, err));
	for (size_t i = 0; i < count; i++)
		MPK_TRY(get_piece(r, &out->blob, err));
	return mpk_rope_status(&out->blob, err);
}

/* What the other process wrote may come from an attacker who took it over while it parsed:
 * nothing is believed that is not checked here. */
enum mpk_code mpk_handover_read(struct mpk_span bytes, const struct mpk_mapping *input,
				struct mpk_arena *arena, struct mpk_handover *out,
				struct mpk_handover_maps *maps, struct mpk_error *err)
{
	struct reader r = { mpk_cursor_of(bytes, 0, "handover"), input, arena, maps };

	*out = (struct mpk_handover){ .gen = MPK_GEN_CURRENT };
	MPK_TRY(get_facts(&r, out, err));
	MPK_TRY(open_files(&r, err));
	MPK_TRY(get_sources(&r, out, err));
	MPK_TRY(get_blob(&r, out, err));
	return mpk_cursor_left(&r.c) ? handover_refuse(&r, "something behind the end", err)
				     : MPK_OK;
}

void mpk_handover_close(struct mpk_handover_maps *maps)
{
	for (size_t i = 0; i < maps->count; i++)
		mpk_mapping_close(&maps->items[i]);
	*maps = (struct mpk_handover_maps){ .count = 0 };
}
