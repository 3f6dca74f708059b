/* SPDX-License-Identifier: Apache-2.0 */
/* Two folders or two archives on one page. A page of the files of both would mix two releases, so
 * it shows the newer one, and what differs from the older one. */
#include "minspect/draw_sets.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "diff/diff.h"

enum {
	ROWS_MOST = 2000, /* rows of differences in all files */
	PAIR_ROWS_MOST = 100,
	FILES_MOST = 2000,
	TEXT_MOST = 300, /* bytes of a row's text */
};

/* A kernel or image that differs; its texts are in the arena. */
struct drawn_row {
	enum mpk_diff_sign sign;
	const char *what, *name, *target, *text;
};

/* A file of both sets that differs. */
struct minspect_drawn_pair {
	struct minspect_diff_totals totals;
	struct drawn_row *rows;
	size_t row_count, row_cap;
	size_t left_out; /* rows without room */
};

/* --- the two sets ------------------------------------------------------------------------ */

/* Returns the number of files that the first set has, if there are exactly two folders or two
 * archives; else 0. */
static size_t split_sets(const struct minspect_options *o)
{
	size_t len = o->folder_lens && o->file_count ? o->folder_lens[0] : 0, first = 0;

	if (!len)
		return o->file_count == 2 && !(o->folder_lens && o->folder_lens[1]) &&
		       minspect_is_zip(o->files[0]) && minspect_is_zip(o->files[1]);
	while (first < o->file_count && o->folder_lens[first] == len &&
	       strncmp(o->files[first], o->files[0], len) == 0)
		first++;
	for (size_t i = first; i < o->file_count; i++)
		if (!o->folder_lens[i] || o->folder_lens[i] != o->folder_lens[first] ||
		    strncmp(o->files[i], o->files[first], o->folder_lens[i]) != 0)
			return 0;
	return first < o->file_count && o->file_count > 2 ? first : 0;
}

static enum mpk_code read_one(const struct minspect_options *o, size_t at, struct mpk_arena *arena,
			      struct minspect_set_of_files *out, struct mpk_error *err)
{
	size_t len = o->folder_lens ? o->folder_lens[at] : 0;
	const char *name = o->files[at];

	if (len)
		name = mpk_arena_copy(arena, name, len - 1);
	MPK_TRY_ALLOC(name, err);
	return minspect_set_read(name, len > 0, out, err);
}

enum mpk_code minspect_drawn_sets_begin(struct minspect_options *o, struct minspect_drawn_sets *s,
					struct mpk_error *err)
{
	size_t first = split_sets(o);

	if (!first)
		return MPK_OK;
	MPK_TRY(read_one(o, 0, &s->arena, &s->older, err));
	MPK_TRY(read_one(o, first, &s->arena, &s->newer, err));
	MPK_TRY(minspect_sets_compare(&s->older, &s->newer, &s->arena, &s->changes, err));
	/* two packages, not two releases of one */
	if (!s->changes.changed && !s->changes.equal)
		return MPK_OK;
	s->are_two = true;
	s->totals.arena = &s->arena;
	if (!s->older.is_folder && minspect_file_open(s->older.name, &s->archive, NULL) != MPK_OK)
		for (size_t i = 0; i < s->archive.library_count; i++)
			MPK_TRY_ALLOC(mpk_strmap_put(&s->libraries, s->archive.libraries[i].name, i,
						     NULL) >= 0,
				      err);
	o->files += first;
	o->file_count -= first;
	o->folder_lens += o->folder_lens ? first : 0;
	return MPK_OK;
}

void minspect_drawn_sets_fini(struct minspect_drawn_sets *s)
{
	for (size_t i = 0; i < s->pair_count; i++)
		free(s->pairs[i].rows);
	free(s->pairs);
	mpk_strmap_fini(&s->pair_names);
	mpk_strmap_fini(&s->libraries);
	minspect_file_close(&s->archive);
	minspect_set_fini(&s->older);
	minspect_set_fini(&s->newer);
	mpk_arena_fini(&s->arena);
}

/* --- one pair ---------------------------------------------------------------------------- */

/* Returns the path of a file below its folder or in its archive. */
static const char *key_of(const struct minspect_look *l)
{
	const char *inner = strstr(l->file->name, "!/");

	return l->folder_len ? l->file->name + l->folder_len : inner ? inner + 2 : l->file->name;
}

/* @out     call minspect_file_close in every case */
static enum mpk_code open_older(struct minspect_drawn_sets *s, const char *key,
				struct minspect_file *out, struct mpk_error *err)
{
	const char *path;
	size_t at;

	*out = (struct minspect_file){ .map.fd = -1 };
	if (s->older.is_folder) {
		path = mpk_arena_printf(&s->arena, "%s/%s", s->older.name, key);
		MPK_TRY_ALLOC(path, err);
		return minspect_file_open(path, out, err);
	}
	if (!mpk_strmap_find(&s->libraries, mpk_span_str(key), &at))
		return mpk_fail(err, MPK_E_NOTFOUND, "there is no such file");
	path = minspect_zip_member(&s->archive, at, &s->arena);
	MPK_TRY_ALLOC(path, err);
	return minspect_file_open_library(&s->archive, at, path, false, out, err);
}

static enum mpk_code add_row(struct minspect_drawn_sets *s, struct minspect_drawn_pair *pair,
			     const struct mpk_difference *d, struct mpk_error *err)
{
	size_t len = strlen(d->text);

	if (s->row_count == ROWS_MOST || pair->row_count == PAIR_ROWS_MOST) {
		pair->left_out++;
		return MPK_OK;
	}
	MPK_TRY_ALLOC(MPK_VEC_ROOM(pair->rows, pair->row_count, pair->row_cap), err);

	struct drawn_row *row = &pair->rows[pair->row_count];

	*row = (struct drawn_row){
		.sign = d->sign,
		.what = d->what,
		.name = mpk_arena_text(&s->arena, d->name),
		.target = mpk_arena_text(&s->arena, mpk_span_str(d->target)),
		.text = mpk_arena_copy(&s->arena, d->text, len < TEXT_MOST ? len : TEXT_MOST),
	};
	MPK_TRY_ALLOC(row->name && row->target && row->text, err);
	pair->row_count++;
	s->row_count++;
	return MPK_OK;
}

/* Whether the page names a difference: kernels with other code, and images that came or went. */
static bool is_row(const struct mpk_difference *d)
{
	return (strcmp(d->what, "kernel") == 0 && !d->same_code) ||
	       (strcmp(d->what, "image") == 0 && d->sign != MPK_DIFF_CHANGED);
}

static enum mpk_code add_pair(struct minspect_drawn_sets *s, const char *key,
			      const struct mpk_diff *found, struct mpk_error *err)
{
	struct minspect_drawn_pair *pair;
	const char *kept = mpk_arena_text(&s->arena, mpk_span_str(key));

	MPK_TRY_ALLOC(kept && MPK_VEC_ROOM(s->pairs, s->pair_count, s->pair_cap) &&
			      mpk_strmap_put(&s->pair_names, mpk_span_str(kept), s->pair_count,
					     NULL) >= 0,
		      err);
	pair = &s->pairs[s->pair_count++];
	*pair = (struct minspect_drawn_pair){ .totals.arena = &s->arena };
	MPK_TRY(minspect_totals_add(&s->totals, found, err));
	MPK_TRY(minspect_totals_add(&pair->totals, found, err));
	/* figures that changed say most */
	for (int figures = 1; figures >= 0; figures--)
		for (size_t i = 0; i < found->count; i++)
			if (is_row(&found->items[i]) &&
			    (found->items[i].figure_count > 0) == (figures == 1))
				MPK_TRY(add_row(s, pair, &found->items[i], err));
	return MPK_OK;
}

enum mpk_code minspect_drawn_sets_add(struct minspect_drawn_sets *s, struct minspect_look *l,
				      struct mpk_error *err)
{
	struct minspect_file older;
	struct mpk_diff found = { 0 };
	struct mpk_view view;
	enum mpk_code code = open_older(s, key_of(l), &older, NULL);

	if (code == MPK_OK || (code == MPK_E_NO_BLOB && older.image.elf_class)) {
		code = mpk_view_init(&view, older.name, older.bytes.len, &older.image,
				     older.image.has_blob ? &older.tree : NULL, &older.arena, err);
		if (code == MPK_OK)
			code = mpk_diff_views(&view, older.bytes, l->view, l->file->bytes,
					      &l->file->arena, &found, err);
		if (code == MPK_OK && found.count)
			code = add_pair(s, key_of(l), &found, err);
	} else if (code != MPK_E_NOMEM)
		code = MPK_OK; /* the list of files says that it was added or differs */
	minspect_file_close(&older);
	return code;
}

/* --- the document ------------------------------------------------------------------------ */

static void put_side(const struct minspect_set_of_files *s, const char *name, struct mpk_json *j,
		     struct mpk_json_at *at)
{
	struct mpk_json_at *o = mpk_json_object(j, at, name);

	mpk_json_text(j, o, "name", s->name);
	mpk_json_u64(j, o, "bytes", s->bytes);
}

static void put_rows(const struct minspect_drawn_pair *pair, struct mpk_json *j,
		     struct mpk_json_at *at)
{
	static const char *const signs[] = { [MPK_DIFF_REMOVED] = "removed",
					     [MPK_DIFF_ADDED] = "added",
					     [MPK_DIFF_CHANGED] = "changed" };
	struct mpk_json_at *rows = mpk_json_array(j, at, "rows"), *row;

	for (size_t i = 0; i < pair->row_count; i++) {
		const struct drawn_row *r = &pair->rows[i];

		row = mpk_json_array(j, rows, NULL);
		mpk_json_text(j, row, NULL, signs[r->sign]);
		mpk_json_text(j, row, NULL, r->what);
		mpk_json_text(j, row, NULL, r->name);
		mpk_json_text(j, row, NULL, r->target);
		mpk_json_text(j, row, NULL, r->text);
	}
	if (pair->left_out)
		mpk_json_u64(j, at, "left_out", pair->left_out);
}

static void put_change(const struct minspect_drawn_sets *s, const struct minspect_set_change *c,
		       struct mpk_json *j, struct mpk_json_at *list)
{
	struct mpk_json_at *o = mpk_json_object(j, list, NULL);
	struct mpk_span name = (c->older ? c->older : c->newer)->name;
	size_t at;

	mpk_json_name(j, o, "name", name);
	if (c->older)
		mpk_json_u64(j, o, "before", c->older->bytes);
	if (c->newer)
		mpk_json_u64(j, o, "after", c->newer->bytes);
	if (!mpk_strmap_find(&s->pair_names, name, &at))
		return;
	minspect_totals_json(&s->pairs[at].totals, j, o);
	put_rows(&s->pairs[at], j, o);
}

enum mpk_code minspect_drawn_sets_put(const struct minspect_drawn_sets *s, struct mpk_json *j,
				      struct mpk_error *err)
{
	struct mpk_json_at *at = mpk_json_object(j, j->root, "sets"), *files;
	size_t shown = s->changes.count < FILES_MOST ? s->changes.count : FILES_MOST;

	put_side(&s->older, "older", j, at);
	put_side(&s->newer, "newer", j, at);
	mpk_json_u64(j, at, "added", s->changes.added);
	mpk_json_u64(j, at, "removed", s->changes.removed);
	mpk_json_u64(j, at, "changed", s->changes.changed);
	mpk_json_u64(j, at, "equal", s->changes.equal);
	minspect_totals_json(&s->totals, j, at);
	files = mpk_json_array(j, at, "files");
	for (size_t i = 0; i < shown; i++)
		put_change(s, &s->changes.items[i], j, files);
	return j->failed ? mpk_fail_nomem(err) : MPK_OK;
}
