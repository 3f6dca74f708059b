/* SPDX-License-Identifier: Apache-2.0 */
/* baseline.c - the file of --baseline: limits on the sizes and kernel figures of a library; parses,
 * measures, updates, writes and compares it. People review this JSON in commits, so it is sorted
 * and holds only what counts. */
#include "gate/gate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/strmap.h"
#include "base/vec.h"
#include "text/escape.h"
#include "text/json_read.h"

static const char *measure_word(unsigned measure)
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

/* One message for all mistakes of structure; the JSON reader reports syntax errors with line and
 * column. */
static enum mpk_code no_baseline(const struct parser *p, const char *why)
{
	return mpk_fail(p->err, MPK_E_CORRUPT, "this is no baseline: %s", why);
}

/* Reads a number. Numbers above 2^53 are written as strings of digits.
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

/* Each name is mandatory: an empty default would match a kernel without one. */
static enum mpk_code parse_text(const struct parser *p, struct mpk_json_value object,
				const char *key, const char **out)
{
	MPK_TRY(mpk_json_value_text(mpk_json_value_get(object, key), p->arena, out, p->err));
	if (!*out)
		return no_baseline(p, "a name, path or target is not there, or is no string");
	return MPK_OK;
}

/* A missing figure does not exist in the format. A figure of null is unknown, which is worse than
 * any number. */
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
	k.copy = (uint32_t)number;
	k.key = mpk_kernel_key(p->arena, k.path, k.target, k.name, k.copy);
	MPK_TRY_ALLOC(k.key.data, p->err);
	for (unsigned i = 0; i < MPK_FIGURE_COUNT; i++) {
		struct mpk_json_value figure = mpk_json_value_get(value, measure_word(i));
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
	MPK_TRY_ARRAY(list, p->arena, f.kernels.count, p->err);
	for (size_t i = 0; mpk_json_next(&items, &kernel); i++)
		MPK_TRY(parse_kernel(p, kernel, &list[i]));
	f.kernels.items = list;
	*out = f;
	return MPK_OK;
}

/* The objects of a baseline that map each measure's name to a value. */
enum rule { RULE_TOLERANCE, RULE_LEAST, RULE_MOST, RULE_COUNT };

static const char *const rules[] = { "tolerance", "least", "most" };

static enum mpk_code parse_measure(const struct parser *p, enum rule rule, unsigned measure,
				   struct mpk_json_value value, struct mpk_baseline *out)
{
	if (rule == RULE_LEAST)
		return number_of(p, value, "\"least\" has no whole number from 0 on",
				 &out->least[measure]);
	out->has_most[measure] |= rule == RULE_MOST;
	if (rule == RULE_MOST)
		return number_of(p, value, "\"most\" has no whole number from 0 on",
				 &out->most[measure]);
	if (!mpk_json_value_f64(value, &out->tolerance[measure]) || out->tolerance[measure] < 0)
		return no_baseline(p, "a tolerance is no number of percent from 0 on");
	out->has_tolerance[measure] = true;
	return MPK_OK;
}

/* Refuses unknown names: a misspelt limit would otherwise be silently ignored. */
static enum mpk_code parse_rule(const struct parser *p, enum rule rule, struct mpk_json_value value,
				struct mpk_baseline *out)
{
	enum mpk_json_type type = mpk_json_value_type(value);
	struct mpk_json_items items = mpk_json_items(value);
	bool met[MPK_MEASURE_COUNT] = { false };
	struct mpk_json_value number;
	const char *key;

	if (type != MPK_JSON_NONE && type != MPK_JSON_OBJECT)
		return mpk_fail(p->err, MPK_E_CORRUPT, "this is no baseline: \"%s\" is no object",
				rules[rule]);
	while (mpk_json_next(&items, &number)) {
		unsigned i = 0;

		while (i < MPK_MEASURE_COUNT && !mpk_json_value_is(items.key, measure_word(i)))
			i++;
		MPK_TRY(mpk_json_value_text(items.key, p->arena, &key, p->err));
		if (i == MPK_MEASURE_COUNT)
			return mpk_fail(p->err, MPK_E_CORRUPT,
					"\"%s\" of '%s', which nothing here measures", rules[rule],
					MPK_QUOTE(mpk_span_str(key)));
		if (met[i])
			return mpk_fail(p->err, MPK_E_CORRUPT, "\"%s\" of '%s' twice", rules[rule],
					key);
		met[i] = true;
		MPK_TRY(parse_measure(p, rule, i, number, out));
	}
	return MPK_OK;
}

static enum mpk_code parse_keep(const struct parser *p, struct mpk_json_value value,
				struct mpk_baseline *out)
{
	enum mpk_json_type type = mpk_json_value_type(value);
	struct mpk_json_items items = mpk_json_items(value);
	struct mpk_json_value word;

	if (type != MPK_JSON_NONE && type != MPK_JSON_ARRAY)
		return no_baseline(p, "\"keep\" is no list");
	while (mpk_json_next(&items, &word)) {
		if (mpk_json_value_is(word, "targets"))
			out->keeps_targets = true;
		else if (mpk_json_value_is(word, "kernels"))
			out->keeps_kernels = true;
		else
			return no_baseline(p,
					   "\"keep\" takes the words \"targets\" and \"kernels\"");
	}
	return MPK_OK;
}

/* Whether the files are sorted by name, without duplicates. */
static bool are_sorted(const struct mpk_baseline_file *files, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (strcmp(files[i - 1].name, files[i].name) >= 0)
			return false;
	return true;
}

/* Reads the version first, so that a file of a later version is refused for its version, not for a
 * member that changed. */
enum mpk_code mpk_baseline_parse(struct mpk_span text, struct mpk_arena *arena,
				 struct mpk_baseline *out, struct mpk_error *err)
{
	static const char no_version[] = "its \"schema_version\" is not 1";
	const struct parser parser = { arena, err }, *p = &parser;
	struct mpk_json_value root, files, file;
	struct mpk_json_items items;
	struct mpk_baseline b = { 0 };
	struct mpk_baseline_file *list;
	uint64_t version;

	MPK_TRY(mpk_json_read(text, &root, err));
	files = mpk_json_value_get(root, "files");
	items = mpk_json_items(files);
	MPK_TRY(number_of(p, mpk_json_value_get(root, "schema_version"), no_version, &version));
	if (version != 1)
		return no_baseline(p, no_version);
	if (mpk_json_value_type(files) != MPK_JSON_ARRAY)
		return no_baseline(p, "it has no list \"files\"");
	for (enum rule rule = 0; rule < RULE_COUNT; rule++)
		MPK_TRY(parse_rule(p, rule, mpk_json_value_get(root, rules[rule]), &b));
	MPK_TRY(parse_keep(p, mpk_json_value_get(root, "keep"), &b));
	b.count = mpk_json_value_count(files);
	MPK_TRY_ARRAY(list, p->arena, b.count, p->err);
	for (size_t i = 0; mpk_json_next(&items, &file); i++)
		MPK_TRY(parse_file(p, file, &list[i]));
	b.files = list;
	b.is_sorted = are_sorted(list, b.count);
	*out = b;
	return MPK_OK;
}

/* --- measuring ----------------------------------------------------------------------------- */

/* Copies a kernel, since its names are views of the file and must outlive it. Names in invalid
 * UTF-8 are compared as they are written, escaped. */
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
	const char *slash = strrchr(view->name, '/');
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	struct mpk_kernel_list now;
	struct mpk_listed_kernel *list;

	if (view->image->has_blob)
		f.blob_bytes = mpk_image_blob(view->image).len;
	MPK_TRY(mpk_kernel_list_read(view, MPK_KERNELS_OF_FILE, 0, &scratch, &now, err));
	list = mpk_arena_array(arena, now.count, sizeof *list);
	/* builds are in different folders on different machines, so only the file name is kept */
	f.name = mpk_arena_text(arena, mpk_span_str(slash && slash[1] ? slash + 1 : view->name));
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

/* Searches linearly: an edited document may be in any order. */
static const struct mpk_baseline_file *find_file(const struct mpk_baseline *b, const char *name)
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
	MPK_TRY_ARRAY(list, arena, room, err);
	if (b->count)
		memcpy(list, b->files, b->count * sizeof *list);
	b->files = list;
	b->room = room;
	return MPK_OK;
}

/* Sorts an unsorted list, in which an edit may have duplicated names, and removes the file of the
 * given name. */
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

/* Keeps the files sorted by name, so that an update changes few lines of the committed file.
 * Thousands of files are added in the order of their names, so the search for the place begins at
 * the end. */
enum mpk_code mpk_baseline_update(struct mpk_baseline *b, const struct mpk_baseline_file *file,
				  struct mpk_arena *arena, struct mpk_error *err)
{
	const struct mpk_baseline_file *old;
	size_t at;

	MPK_TRY(make_room(b, arena, err));
	if (!b->is_sorted)
		sort_files(b, file->name);
	old = find_file(b, file->name);
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

/* mpk_figure_json omits figures that the format does not have, so that reading the file gives the
 * measured values. */
static void kernel_json(const struct mpk_listed_kernel *k, struct mpk_json *j,
			struct mpk_json_at *at)
{
	mpk_json_text(j, at, "path", k->path);
	mpk_json_span(j, at, "name", k->name);
	mpk_json_text(j, at, "target", k->target);
	if (k->copy)
		mpk_json_u64(j, at, "copy", k->copy);
	for (unsigned i = 0; i < MPK_FIGURE_COUNT; i++)
		mpk_figure_json(j, at, measure_word(i), k->figures.values[i]);
}

/* Writes whole percents as integers, so that an edited value is written unchanged. */
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
			put_percent(j, o, measure_word(i), b->tolerance[i]);
	o = NULL;
	for (unsigned i = 0; i < MPK_MEASURE_COUNT; i++)
		if (b->least[i])
			mpk_json_u64(j, o = o ? o : mpk_json_object(j, at, rules[RULE_LEAST]),
				     measure_word(i), b->least[i]);
	o = NULL;
	for (unsigned i = 0; i < MPK_MEASURE_COUNT; i++)
		if (b->has_most[i])
			mpk_json_u64(j, o = o ? o : mpk_json_object(j, at, rules[RULE_MOST]),
				     measure_word(i), b->most[i]);
	if (b->keeps_targets || b->keeps_kernels) {
		list = mpk_json_array(j, at, "keep");
		if (b->keeps_targets)
			mpk_json_text(j, list, NULL, "targets");
		if (b->keeps_kernels)
			mpk_json_text(j, list, NULL, "kernels");
	}
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

/* --- comparing ------------------------------------------------------------------------- */

struct judge {
	const struct mpk_baseline *baseline;
	double tolerance;
	struct mpk_gate *gate;
	bool failed;
};

/* Remembers a failed allocation, which is reported once at the end, as in --diff. */
static void gate_add(struct judge *j, struct mpk_gate_finding f)
{
	struct mpk_gate *g = j->gate;

	if (!MPK_VEC_ROOM(g->items, g->count, g->cap)) {
		j->failed = true;
		return;
	}
	g->items[g->count++] = f;
}

static void gate_add_whole(struct judge *j, enum mpk_gate_verdict verdict,
			   const struct mpk_listed_kernel *k)
{
	gate_add(j, (struct mpk_gate_finding){
			    .verdict = verdict, .kernel = k, .measure = MPK_MEASURE_COUNT });
}

/* A tolerance in the file, which was reviewed, overrides the one on the command line. */
static double tolerance_of(const struct judge *j, unsigned measure)
{
	return j->baseline->has_tolerance[measure] ? j->baseline->tolerance[measure] : j->tolerance;
}

/* An unknown value is worse than any number, and no tolerance allows it. */
static enum mpk_gate_verdict verdict_of(struct mpk_figure_value before,
					struct mpk_figure_value after, bool is_gain, double allowed)
{
	/* 64 bits of mantissa where long double has them: double would round differences between
	 * large files */
	long double grown = (long double)after.number - (long double)before.number;

	if (before.state != after.state)
		return after.state == MPK_FIGURE_KNOWN ? MPK_GATE_BETTER : MPK_GATE_WORSE;
	if (is_gain)
		grown = -grown;
	if (grown < 0)
		return MPK_GATE_BETTER;
	return grown * 100 > (long double)before.number * (long double)allowed ? MPK_GATE_WORSE
									       : MPK_GATE_GROWN;
}

/* Judges two different values; returns whether the new one is worse. */
static bool gate_judge(struct judge *j, const struct mpk_listed_kernel *kernel, unsigned measure,
		       struct mpk_figure_value before, struct mpk_figure_value after)
{
	bool is_gain =
		measure < MPK_FIGURE_COUNT && mpk_figure_row((enum mpk_figure)measure)->is_gain;
	double allowed = tolerance_of(j, measure);
	enum mpk_gate_verdict verdict = verdict_of(before, after, is_gain, allowed);
	bool worse = verdict == MPK_GATE_WORSE;

	gate_add(j, (struct mpk_gate_finding){ .verdict = verdict,
					       .kernel = kernel,
					       .measure = measure,
					       .word = measure_word(measure),
					       .before = before,
					       .after = after,
					       .tolerance = allowed });
	j->gate->worse |= worse;
	return worse;
}

/* Judges a value against absolute limits; an unknown value exceeds every limit. Returns whether a
 * limit is exceeded. */
static bool judge_limits(struct judge *j, const struct mpk_listed_kernel *kernel, unsigned measure,
			 struct mpk_figure_value now)
{
	bool is_known = now.state == MPK_FIGURE_KNOWN;
	uint64_t least = j->baseline->least[measure], most = j->baseline->most[measure];
	bool is_less = least && (!is_known || now.number < least);
	bool is_more = j->baseline->has_most[measure] && (!is_known || now.number > most);

	if (now.state == MPK_FIGURE_NONE || (!is_less && !is_more))
		return false;
	gate_add(j, (struct mpk_gate_finding){ .verdict = MPK_GATE_LIMIT,
					       .kernel = kernel,
					       .measure = measure,
					       .word = measure_word(measure),
					       .before = now,
					       .after = now,
					       .is_least = is_less,
					       .limit = is_less ? least : most });
	j->gate->worse = true;
	return true;
}

/* File sizes are always known, so they follow the same rule as figures. */
static void judge_size(struct judge *j, unsigned measure, uint64_t before, uint64_t after)
{
	if (before != after)
		(void)gate_judge(j, NULL, measure, mpk_figure_of(before), mpk_figure_of(after));
	(void)judge_limits(j, NULL, measure, mpk_figure_of(after));
}

/* Judges only figures that are a cost or a gain: more registers are worse, but a smaller value is
 * not better for every figure. */
static void judge_kernel(struct judge *j, const struct mpk_listed_kernel *before,
			 const struct mpk_listed_kernel *now)
{
	bool worse = false;

	if (!before)
		gate_add_whole(j, MPK_GATE_NEW, now);
	for (unsigned i = 0; i < MPK_FIGURE_COUNT; i++) {
		const struct mpk_figure_row *row = mpk_figure_row((enum mpk_figure)i);

		worse |= judge_limits(j, now, i, now->figures.values[i]);
		if (before && (row->is_cost || row->is_gain) &&
		    mpk_figures_differ(&before->figures, &now->figures, (enum mpk_figure)i))
			worse |= gate_judge(j, now, i, before->figures.values[i],
					    now->figures.values[i]);
	}
	j->gate->worse_kernels += worse;
}

/* Findings are in the order of the new list, with removed kernels at the end. The printers rely on
 * the findings of one kernel being adjacent. */
static void judge_kernels(struct judge *j, const struct mpk_kernel_list *before,
			  const struct mpk_kernel_list *now)
{
	MPK_CLEANUP(mpk_strmap_fini) struct mpk_strmap old = { 0 }, new = { 0 };
	size_t at;

	for (size_t i = 0; i < before->count; i++)
		j->failed |= mpk_strmap_put(&old, before->items[i].key, i, &at) < 0;
	for (size_t i = 0; i < now->count; i++) {
		const struct mpk_listed_kernel *k = &now->items[i];

		j->failed |= mpk_strmap_put(&new, k->key, i, &at) < 0;
		judge_kernel(j, mpk_strmap_find(&old, k->key, &at) ? &before->items[at] : NULL, k);
	}
	for (size_t i = 0; i < before->count; i++) {
		if (mpk_strmap_find(&new, before->items[i].key, &at))
			continue;
		gate_add_whole(j, j->baseline->keeps_kernels ? MPK_GATE_LOST : MPK_GATE_GONE,
			       &before->items[i]);
		j->gate->worse |= j->baseline->keeps_kernels;
		j->gate->worse_kernels += j->baseline->keeps_kernels;
	}
}

/* Devices that no longer have code come before the kernels, like all findings about the file. */
static void judge_targets(struct judge *j, const struct mpk_kernel_list *before,
			  const struct mpk_kernel_list *now)
{
	MPK_CLEANUP(mpk_strmap_fini) struct mpk_strmap met = { 0 };

	for (size_t i = 0; i < now->count; i++)
		j->failed |= mpk_strmap_put(&met, mpk_span_str(now->items[i].target), 0, NULL) < 0;
	for (size_t i = 0; i < before->count; i++) {
		const char *target = before->items[i].target;
		int put = mpk_strmap_put(&met, mpk_span_str(target), 0, NULL);

		j->failed |= put < 0;
		if (put <= 0 || !target[0])
			continue;
		gate_add(j, (struct mpk_gate_finding){ .verdict = MPK_GATE_LOST,
						       .target = target,
						       .measure = MPK_MEASURE_COUNT });
		j->gate->worse = true;
	}
}

enum mpk_code mpk_gate_compare(const struct mpk_baseline *b, const struct mpk_baseline_file *now,
			       double tolerance, struct mpk_arena *arena, struct mpk_gate *out,
			       struct mpk_error *err)
{
	const struct mpk_baseline_file *before = find_file(b, now->name);
	/* freed unless it is completed */
	struct mpk_gate gate = { .file = now->name, .now = &now->kernels };
	struct judge j = { .baseline = b, .tolerance = tolerance, .gate = &gate };

	if (!before)
		return mpk_fail(err, MPK_E_DIFFERENT,
				"'%s' is not in the baseline; --update-baseline puts it there",
				MPK_QUOTE(mpk_span_str(now->name)));
	judge_size(&j, MPK_MEASURE_FILE_BYTES, before->file_bytes, now->file_bytes);
	judge_size(&j, MPK_MEASURE_BLOB_BYTES, before->blob_bytes, now->blob_bytes);
	if (b->keeps_targets)
		judge_targets(&j, &before->kernels, &now->kernels);
	judge_kernels(&j, &before->kernels, &now->kernels);
	*out = gate;
	out->items = mpk_arena_keep(arena, gate.items, gate.count, sizeof *gate.items);
	free(gate.items);
	return j.failed || !out->items ? mpk_fail_nomem(err) : MPK_OK;
}
