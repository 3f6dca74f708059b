/* SPDX-License-Identifier: Apache-2.0 */
/* baseline.c - the file of --baseline: sizes and figures of kernels that a library is held to, read, measured,
 * brought up to date and written
 *
 * It is JSON that people review in a commit. So it is sorted, and it has only what the gate compares. */
#include "gate/gate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "text/escape.h"
#include "text/json_read.h"

const char *mpk_measure_word(unsigned measure)
{
	if (measure < MPK_FIGURE_COUNT)
		return mpk_figure_row((enum mpk_figure)measure)->word;
	return measure == MPK_MEASURE_FILE_BYTES ? "file_bytes" : "blob_bytes";
}

/* --- reading ------------------------------------------------------------------------------ */

struct parser {
	struct mpk_arena *arena;
	struct mpk_error *err;
};

/* One form for all mistakes of structure; JSON that does not parse has a line and column from its
 * reader. */
static enum mpk_code no_baseline(const struct parser *p, const char *why)
{
	return mpk_fail(p->err, MPK_E_CORRUPT, "this is no baseline: %s", why);
}

/* A number, or its digits as a string, as they are written beyond 2^53.
 * Returns  MPK_OK; MPK_E_CORRUPT: no_baseline(why); MPK_E_NOMEM */
static enum mpk_code number_of(const struct parser *p, struct mpk_json_value value, const char *why,
			       uint64_t *out)
{
	const char *digits;
	int64_t number;

	if (mpk_json_value_i64(value, &number) && number >= 0) {
		*out = (uint64_t)number;
		return MPK_OK;
	}
	MPK_TRY(mpk_json_value_text(value, p->arena, &digits, p->err));
	if (!digits || !mpk_parse_u64(mpk_span_str(digits), out))
		return no_baseline(p, why);
	return MPK_OK;
}

/* Each name must be there: an empty default would match a kernel that has none. */
static enum mpk_code parse_text(const struct parser *p, struct mpk_json_value object,
				const char *key, const char **out)
{
	MPK_TRY(mpk_json_value_text(mpk_json_value_get(object, key), p->arena, out, p->err));
	if (!*out)
		return no_baseline(p, "a name, path or target is not there, or is no string");
	return MPK_OK;
}

/* A missing figure is one that the format does not have; null is one that nobody could know,
 * which is worse than any number. */
static enum mpk_code parse_kernel(const struct parser *p, struct mpk_json_value value,
				  struct mpk_listed_kernel *out)
{
	struct mpk_listed_kernel k = { 0 };
	struct mpk_json_value copy = mpk_json_value_get(value, "copy");
	const char *name;
	uint64_t number = 0;

	MPK_TRY(parse_text(p, value, "path", &k.path));
	MPK_TRY(parse_text(p, value, "name", &name));
	MPK_TRY(parse_text(p, value, "target", &k.target));
	if (mpk_json_value_type(copy) != MPK_JSON_NONE)
		MPK_TRY(number_of(p, copy, "a kernel's \"copy\" is no number", &number));
	k.name = mpk_span_str(name);
	k.copy = (size_t)number;
	k.key = mpk_kernel_key(p->arena, k.path, k.target, k.name, k.copy);
	MPK_TRY_ALLOC(k.key.data, p->err);
	for (unsigned i = 0; i < MPK_FIGURE_COUNT; i++) {
		struct mpk_json_value figure = mpk_json_value_get(value, mpk_measure_word(i));

		enum mpk_json_type type = mpk_json_value_type(figure);

		if (type == MPK_JSON_NONE)
			continue;
		if (type != MPK_JSON_NULL)
			MPK_TRY(number_of(p, figure, "a figure of a kernel is no number", &number));
		k.figures.values[i] = mpk_figure_told(type != MPK_JSON_NULL, number);
	}
	*out = k;
	return MPK_OK;
}

static enum mpk_code parse_file(const struct parser *p, struct mpk_json_value value,
				struct mpk_baseline_file *out)
{
	static const char no_bytes[] = "\"file_bytes\" or \"blob_bytes\" of a file is no number";
	struct mpk_json_value kernels = mpk_json_value_get(value, "kernels"), kernel;
	struct mpk_json_items items = mpk_json_items(kernels);
	struct mpk_baseline_file f = { 0 };
	struct mpk_listed_kernel *list;

	MPK_TRY(parse_text(p, value, "file", &f.name));
	MPK_TRY(number_of(p, mpk_json_value_get(value, "file_bytes"), no_bytes, &f.file_bytes));
	MPK_TRY(number_of(p, mpk_json_value_get(value, "blob_bytes"), no_bytes, &f.blob_bytes));
	if (mpk_json_value_type(kernels) != MPK_JSON_ARRAY)
		return no_baseline(p, "a file has no list \"kernels\"");
	f.kernels.count = mpk_json_value_count(kernels);
	list = mpk_arena_array(p->arena, f.kernels.count, sizeof *list);
	MPK_TRY_ALLOC(list, p->err);
	for (size_t i = 0; mpk_json_next(&items, &kernel); i++)
		MPK_TRY(parse_kernel(p, kernel, &list[i]));
	f.kernels.items = list;
	*out = f;
	return MPK_OK;
}

/* Unknown names are refused: a misspelt one would otherwise allow nothing and say nothing. */
static enum mpk_code parse_tolerance(const struct parser *p, struct mpk_json_value value,
				     struct mpk_baseline *out)
{
	enum mpk_json_type type = mpk_json_value_type(value);
	struct mpk_json_items items = mpk_json_items(value);
	struct mpk_json_value percent;
	const char *key;

	if (type != MPK_JSON_NONE && type != MPK_JSON_OBJECT)
		return no_baseline(p, "\"tolerance\" is no object");
	while (mpk_json_next(&items, &percent)) {
		unsigned i = 0;

		while (i < MPK_MEASURE_COUNT && !mpk_json_value_is(items.key, mpk_measure_word(i)))
			i++;
		MPK_TRY(mpk_json_value_text(items.key, p->arena, &key, p->err));
		if (i == MPK_MEASURE_COUNT)
			return mpk_fail(p->err, MPK_E_CORRUPT,
					"\"tolerance\" of '%s', which nothing here measures",
					MPK_QUOTE(mpk_span_str(key)));
		if (out->has_tolerance[i])
			return mpk_fail(p->err, MPK_E_CORRUPT, "\"tolerance\" of '%s' twice", key);
		if (!mpk_json_value_f64(percent, &out->tolerance[i]) || out->tolerance[i] < 0)
			return no_baseline(p, "a tolerance is no number of percent from 0 on");
		out->has_tolerance[i] = true;
	}
	return MPK_OK;
}

/* By name, each of which is there once. */
static bool are_sorted(const struct mpk_baseline_file *files, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (strcmp(files[i - 1].name, files[i].name) >= 0)
			return false;
	return true;
}

/* The version comes first, so that a file of a later one is refused for that and not for a member
 * that changed. */
static enum mpk_code parse_document(const struct parser *p, struct mpk_json_value root,
				    struct mpk_baseline *out)
{
	static const char no_version[] = "its \"schema_version\" is not 1";
	struct mpk_json_value files = mpk_json_value_get(root, "files"), file;
	struct mpk_json_items items = mpk_json_items(files);
	struct mpk_baseline b = { 0 };
	struct mpk_baseline_file *list;
	uint64_t version;

	MPK_TRY(number_of(p, mpk_json_value_get(root, "schema_version"), no_version, &version));
	if (version != 1)
		return no_baseline(p, no_version);
	if (mpk_json_value_type(files) != MPK_JSON_ARRAY)
		return no_baseline(p, "it has no list \"files\"");
	MPK_TRY(parse_tolerance(p, mpk_json_value_get(root, "tolerance"), &b));
	b.count = mpk_json_value_count(files);
	list = mpk_arena_array(p->arena, b.count, sizeof *list);
	MPK_TRY_ALLOC(list, p->err);
	for (size_t i = 0; mpk_json_next(&items, &file); i++)
		MPK_TRY(parse_file(p, file, &list[i]));
	b.files = list;
	b.is_sorted = are_sorted(list, b.count);
	*out = b;
	return MPK_OK;
}

enum mpk_code mpk_baseline_parse(struct mpk_span text, struct mpk_arena *arena,
				 struct mpk_baseline *out, struct mpk_error *err)
{
	struct parser p = { arena, err };
	struct mpk_json_value root;

	MPK_TRY(mpk_json_read(text, &root, err));
	return parse_document(&p, root, out);
}

/* --- measuring ----------------------------------------------------------------------------- */

/* Builds are in different folders on different machines; the name of the file is what stays. */
static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* The list's names are views of the file: copies outlive it. Names that are no UTF-8 are compared as they
 * are written, escaped. */
static enum mpk_code keep_kernel(const struct mpk_listed_kernel *from, struct mpk_arena *arena,
				 struct mpk_listed_kernel *out, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf name = { 0 };
	const char *path = mpk_arena_text(arena, mpk_span_str(from->path));
	const char *target = mpk_arena_text(arena, mpk_span_str(from->target));
	const char *copy;

	mpk_escape(&name, from->name);
	copy = name.failed ? NULL : mpk_arena_copy(arena, mpk_strbuf_text(&name), name.len);
	MPK_TRY_ALLOC(path && target && copy, err);
	*out = (struct mpk_listed_kernel){ .path = path,
					   .target = target,
					   .name = mpk_span_str(copy),
					   .figures = from->figures,
					   .copy = from->copy };
	out->key = mpk_kernel_key(arena, path, target, out->name, from->copy);
	MPK_TRY_ALLOC(out->key.data, err);
	return MPK_OK;
}

enum mpk_code mpk_baseline_measure(const struct mpk_view *view, struct mpk_arena *arena,
				   struct mpk_baseline_file *out, struct mpk_error *err)
{
	struct mpk_baseline_file f = { .file_bytes = view->file_bytes };
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	struct mpk_kernel_list now;
	struct mpk_listed_kernel *list;

	if (view->image->has_blob)
		f.blob_bytes = mpk_image_blob(view->image).len;
	MPK_TRY(mpk_kernel_list_read(view, MPK_KERNELS_OF_FILE, 0, &scratch, &now, err));
	list = mpk_arena_array(arena, now.count, sizeof *list);
	f.name = mpk_arena_text(arena, mpk_span_str(base_name(view->name)));
	MPK_TRY_ALLOC(list && f.name, err);
	for (size_t i = 0; i < now.count; i++)
		MPK_TRY(keep_kernel(&now.items[i], arena, &list[i], err));
	f.kernels = (struct mpk_kernel_list){ .items = list, .count = now.count };
	*out = f;
	return MPK_OK;
}

static int baseline_by_name(const void *a, const void *b)
{
	const struct mpk_baseline_file *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/* Documents that a person edited may be in any order. */
const struct mpk_baseline_file *mpk_baseline_find(const struct mpk_baseline *b, const char *name)
{
	const struct mpk_baseline_file key = { .name = name };

	if (b->is_sorted && b->count)
		return bsearch(&key, b->files, b->count, sizeof key, baseline_by_name);
	for (size_t i = 0; i < b->count; i++)
		if (strcmp(b->files[i].name, name) == 0)
			return &b->files[i];
	return NULL;
}

static enum mpk_code make_room(struct mpk_baseline *b, struct mpk_arena *arena,
			       struct mpk_error *err)
{
	size_t room = b->count < 8 ? 16 : b->count * 2;
	struct mpk_baseline_file *list;

	if (b->count < b->room)
		return MPK_OK;
	list = mpk_arena_array(arena, room, sizeof *list);
	MPK_TRY_ALLOC(list, err);
	if (b->count)
		memcpy(list, b->files, b->count * sizeof *list);
	b->files = list;
	b->room = room;
	return MPK_OK;
}

/* A list in no order, of which a person may have made two files of one name, without all of the given one. */
static void sort_files(struct mpk_baseline *b, const char *without)
{
	size_t n = 0;

	for (size_t i = 0; i < b->count; i++)
		if (strcmp(b->files[i].name, without) != 0)
			b->files[n++] = b->files[i];
	if (n)
		qsort(b->files, n, sizeof *b->files, baseline_by_name);
	b->count = n;
	b->is_sorted = are_sorted(b->files, n);
}

/* Sorted by name, so that an update changes as few lines of the committed file as possible. Thousands of files come in
 * the order of their names: the place of a new one is looked for from the end. */
enum mpk_code mpk_baseline_update(struct mpk_baseline *b, const struct mpk_baseline_file *file,
				  struct mpk_arena *arena, struct mpk_error *err)
{
	const struct mpk_baseline_file *old;
	size_t at;

	MPK_TRY(make_room(b, arena, err));
	if (!b->is_sorted)
		sort_files(b, file->name);
	old = mpk_baseline_find(b, file->name);
	if (old) {
		b->files[old - b->files] = *file;
		return MPK_OK;
	}
	for (at = b->count; at && strcmp(b->files[at - 1].name, file->name) > 0; at--)
		b->files[at] = b->files[at - 1];
	b->files[at] = *file;
	b->count++;
	return MPK_OK;
}

/* --- writing --------------------------------------------------------------------------------- */

/* Figures that the format does not have are left out by mpk_figure_json, so that reading the file
 * gives what was measured. */
static void kernel_json(const struct mpk_listed_kernel *k, struct mpk_json *j,
			struct mpk_json_at *at)
{
	mpk_json_text(j, at, "path", k->path);
	mpk_json_span(j, at, "name", k->name);
	mpk_json_text(j, at, "target", k->target);
	if (k->copy)
		mpk_json_u64(j, at, "copy", k->copy);
	for (unsigned i = 0; i < MPK_FIGURE_COUNT; i++)
		mpk_figure_json(j, at, mpk_measure_word(i), k->figures.values[i]);
}

/* Whole percents stay whole numbers: what a person wrote comes out as it went in. */
static void put_percent(struct mpk_json *j, struct mpk_json_at *at, const char *key, double percent)
{
	if (percent == floor(percent) && percent < 1e9)
		mpk_json_u64(j, at, key, (uint64_t)percent);
	else
		mpk_json_f64(j, at, key, percent);
}

static void baseline_json(const void *what, struct mpk_json *j, struct mpk_json_at *at)
{
	const struct mpk_baseline *b = what;
	struct mpk_json_at *o = mpk_json_object(j, at, "tolerance"), *list, *kernels;

	for (unsigned i = 0; i < MPK_MEASURE_COUNT; i++)
		if (b->has_tolerance[i])
			put_percent(j, o, mpk_measure_word(i), b->tolerance[i]);
	list = mpk_json_array(j, at, "files");
	for (size_t i = 0; i < b->count; i++) {
		const struct mpk_baseline_file *f = &b->files[i];

		o = mpk_json_object(j, list, NULL);
		mpk_json_text(j, o, "file", f->name);
		mpk_json_u64(j, o, "file_bytes", f->file_bytes);
		mpk_json_u64(j, o, "blob_bytes", f->blob_bytes);
		kernels = mpk_json_array(j, o, "kernels");
		for (size_t k = 0; k < f->kernels.count; k++)
			kernel_json(&f->kernels.items[k], j, mpk_json_object(j, kernels, NULL));
	}
}

const struct mpk_answer mpk_answer_baseline = { .json = baseline_json };
