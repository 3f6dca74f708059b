/* SPDX-License-Identifier: Apache-2.0 */
#include "view/baseline.h"

#include <jansson.h>
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

static enum mpk_code no_baseline(const struct parser *p, const char *why)
{
	return mpk_fail(p->err, MPK_E_CORRUPT, "this is no baseline: %s", why);
}

static void decref(json_t **value)
{
	json_decref(*value);
}

/* A number, or its digits as a string, as they are written beyond 2^53. */
static bool number_of(const json_t *value, uint64_t *out)
{
	if (json_is_string(value))
		return mpk_parse_u64(
			mpk_span_of(json_string_value(value), json_string_length(value)), out);
	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return false;
	*out = (uint64_t)json_integer_value(value);
	return true;
}

static enum mpk_code parse_text(const struct parser *p, const json_t *object, const char *key,
				const char **out)
{
	const json_t *value = json_object_get(object, key);

	if (!json_is_string(value))
		return no_baseline(p, "a name, path or target is not there, or is no string");
	*out = mpk_arena_copy(p->arena, json_string_value(value), json_string_length(value));
	MPK_TRY_ALLOC(*out, p->err);
	return MPK_OK;
}

static enum mpk_code parse_kernel(const struct parser *p, const json_t *value,
				  struct mpk_listed_kernel *out)
{
	struct mpk_listed_kernel k = { 0 };
	const json_t *copy = json_object_get(value, "copy");
	const char *name;
	uint64_t number = 0;

	MPK_TRY(parse_text(p, value, "path", &k.path));
	MPK_TRY(parse_text(p, value, "name", &name));
	MPK_TRY(parse_text(p, value, "target", &k.target));
	if (copy && !number_of(copy, &number))
		return no_baseline(p, "a kernel's \"copy\" is no number");
	k.name = mpk_span_str(name);
	k.copy = (size_t)number;
	k.key = mpk_kernel_key(p->arena, k.path, k.target, k.name, k.copy);
	MPK_TRY_ALLOC(k.key.data, p->err);
	for (unsigned i = 0; i < MPK_FIGURE_COUNT; i++) {
		const json_t *figure = json_object_get(value, mpk_measure_word(i));

		if (figure && !number_of(figure, &number))
			return no_baseline(p, "a figure of a kernel is no number");
		if (figure)
			mpk_figures_set(&k.figures, (enum mpk_figure)i, number);
	}
	*out = k;
	return MPK_OK;
}

static enum mpk_code parse_file(const struct parser *p, const json_t *value,
				struct mpk_baseline_file *out)
{
	const json_t *kernels = json_object_get(value, "kernels");
	struct mpk_baseline_file f = { 0 };
	struct mpk_listed_kernel *list;

	MPK_TRY(parse_text(p, value, "file", &f.name));
	if (!number_of(json_object_get(value, "file_bytes"), &f.file_bytes) ||
	    !number_of(json_object_get(value, "blob_bytes"), &f.blob_bytes))
		return no_baseline(p, "\"file_bytes\" or \"blob_bytes\" of a file is no number");
	if (!json_is_array(kernels))
		return no_baseline(p, "a file has no list \"kernels\"");
	f.kernels.count = json_array_size(kernels);
	list = mpk_arena_array(p->arena, f.kernels.count, sizeof *list);
	MPK_TRY_ALLOC(list, p->err);
	for (size_t i = 0; i < f.kernels.count; i++)
		MPK_TRY(parse_kernel(p, json_array_get(kernels, i), &list[i]));
	f.kernels.items = list;
	*out = f;
	return MPK_OK;
}

static enum mpk_code parse_tolerance(const struct parser *p, const json_t *value,
				     struct mpk_baseline *out)
{
	const char *key;
	json_t *percent;

	if (value && !json_is_object(value))
		return no_baseline(p, "\"tolerance\" is no object");
	json_object_foreach((json_t *)(uintptr_t)value, key, percent)
	{
		unsigned i = 0;

		while (i < MPK_MEASURE_COUNT && strcmp(mpk_measure_word(i), key) != 0)
			i++;
		if (i == MPK_MEASURE_COUNT)
			return mpk_fail(p->err, MPK_E_CORRUPT,
					"\"tolerance\" of '%s', which nothing here measures",
					MPK_QUOTE(mpk_span_str(key)));
		if (!json_is_number(percent) || !(json_number_value(percent) >= 0))
			return no_baseline(p, "a tolerance is no number of percent from 0 on");
		out->has_tolerance[i] = true;
		out->tolerance[i] = json_number_value(percent);
	}
	return MPK_OK;
}

static enum mpk_code parse_document(const struct parser *p, const json_t *root,
				    struct mpk_baseline *out)
{
	const json_t *files = json_object_get(root, "files");
	struct mpk_baseline b = { 0 };
	struct mpk_baseline_file *list;
	uint64_t version;

	if (!number_of(json_object_get(root, "schema_version"), &version) || version != 1)
		return no_baseline(p, "its \"schema_version\" is not 1");
	if (!json_is_array(files))
		return no_baseline(p, "it has no list \"files\"");
	MPK_TRY(parse_tolerance(p, json_object_get(root, "tolerance"), &b));
	b.count = json_array_size(files);
	list = mpk_arena_array(p->arena, b.count, sizeof *list);
	MPK_TRY_ALLOC(list, p->err);
	for (size_t i = 0; i < b.count; i++)
		MPK_TRY(parse_file(p, json_array_get(files, i), &list[i]));
	b.files = list;
	*out = b;
	return MPK_OK;
}

enum mpk_code mpk_baseline_parse(struct mpk_span text, struct mpk_arena *arena,
				 struct mpk_baseline *out, struct mpk_error *err)
{
	struct parser p = { arena, err };
	json_error_t at;
	MPK_CLEANUP(decref)
	json_t *root = mpk_json_read(text, JSON_REJECT_DUPLICATES, &at);

	if (!root && json_error_code(&at) == json_error_out_of_memory)
		return mpk_fail_nomem(err);
	if (!root)
		return mpk_fail_line(err, MPK_E_SYNTAX, (uint32_t)(at.line > 0 ? at.line : 1),
				     (uint32_t)(at.column > 0 ? at.column : 1), "%s",
				     MPK_QUOTE(mpk_span_str(at.text)));
	return parse_document(&p, root, out);
}

/* --- measuring ----------------------------------------------------------------------------- */

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
	MPK_TRY(mpk_view_all_kernels(view, &scratch, &now, err));
	list = mpk_arena_array(arena, now.count, sizeof *list);
	f.name = mpk_arena_text(arena, mpk_span_str(base_name(view->name)));
	MPK_TRY_ALLOC(list && f.name, err);
	for (size_t i = 0; i < now.count; i++)
		MPK_TRY(keep_kernel(&now.items[i], arena, &list[i], err));
	f.kernels = (struct mpk_kernel_list){ list, now.count };
	*out = f;
	return MPK_OK;
}

const struct mpk_baseline_file *mpk_baseline_find(const struct mpk_baseline *b, const char *name)
{
	for (size_t i = 0; i < b->count; i++)
		if (strcmp(b->files[i].name, base_name(name)) == 0)
			return &b->files[i];
	return NULL;
}

static int by_name(const void *a, const void *b)
{
	const struct mpk_baseline_file *x = a, *y = b;

	return strcmp(x->name, y->name);
}

enum mpk_code mpk_baseline_update(struct mpk_baseline *b, const struct mpk_baseline_file *file,
				  struct mpk_arena *arena, struct mpk_error *err)
{
	struct mpk_baseline_file *list = mpk_arena_array(arena, b->count + 1, sizeof *list);
	size_t n = 0;

	MPK_TRY_ALLOC(list, err);
	for (size_t i = 0; i < b->count; i++)
		if (strcmp(b->files[i].name, file->name) != 0)
			list[n++] = b->files[i];
	list[n++] = *file;
	qsort(list, n, sizeof *list, by_name);
	b->files = list;
	b->count = n;
	return MPK_OK;
}

/* --- writing --------------------------------------------------------------------------------- */

static void kernel_json(const struct mpk_listed_kernel *k, struct mpk_json *j,
			struct mpk_json_at *at)
{
	mpk_json_text(j, at, "path", k->path);
	mpk_json_span(j, at, "name", k->name);
	mpk_json_text(j, at, "target", k->target);
	if (k->copy)
		mpk_json_u64(j, at, "copy", k->copy);
	for (unsigned i = 0; i < MPK_FIGURE_COUNT; i++)
		if (k->figures.known[i])
			mpk_json_u64(j, at, mpk_measure_word(i), k->figures.values[i]);
}

/* Whole percents stay whole numbers: what a person wrote comes out as it went in. */
static void put_percent(struct mpk_json *j, struct mpk_json_at *at, const char *key, double percent)
{
	if (percent == floor(percent) && percent < 1e9)
		mpk_json_u64(j, at, key, (uint64_t)percent);
	else
		mpk_json_f64(j, at, key, percent);
}

void mpk_baseline_json(const struct mpk_baseline *b, struct mpk_json *j, struct mpk_json_at *at)
{
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
