/* SPDX-License-Identifier: Apache-2.0 */
/* compare.c - what each operator of a run computes, against a dump of another run
 *
 * Two builds of a model, for a CPU and for a GPU, have most operators in common and not all, because compilers fuse
 * them in different ways. So results are found by the name of their operator, and those of an operator that is called
 * several times in their order. That numbers differ is what the user asked for and no failure; that types or shapes
 * differ says that the dump is of another model.
 */
#include "observe/observe.h"

#include <dirent.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "text/escape.h"
#include "value/element.h"
#include "value/parse.h"

/* --- the files of a dump, by operator ------------------------------------------------------- */

/* What TVM puts before the names of functions, of models that have no name of their own. */
static const char *const prefixes[] = { "tvmgen_default_", "vm_mod_" };

/* What results of the same operator of different builds of a model have in common: the name of a file
 * without the number in front, and without what TVM puts before names. Empty: no file of a dump. */
static struct mpk_span result_key(struct mpk_span file)
{
	static const char end[] = ".npy";
	size_t digits = 0, len = sizeof end - 1;

	while (digits < file.len && file.data[digits] >= '0' && file.data[digits] <= '9')
		digits++;
	if (digits < 4 || digits == file.len || file.data[digits] != '-' ||
	    file.len - digits < len || memcmp(file.data + file.len - len, end, len) != 0)
		return mpk_span_of(file.data, 0);
	file = mpk_span_of(file.data + digits + 1, file.len - digits - 1);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(prefixes); i++)
		if (mpk_span_starts(file, prefixes[i]))
			return mpk_span_of(file.data + strlen(prefixes[i]),
					   file.len - strlen(prefixes[i]));
	return file;
}

/* What is not of a dump is left aside: users put notes beside it. */
static enum mpk_code observe_compare_add_file(struct mpk_dump_index *x, const char *name,
					      struct mpk_error *err)
{
	const char *copy;

	if (!result_key(mpk_span_str(name)).len)
		return MPK_OK;
	copy = mpk_arena_copy(&x->arena, name, strlen(name));
	MPK_TRY_ALLOC(copy && MPK_VEC_ROOM(x->files, x->count, x->cap), err);
	x->files[x->count++].name = copy;
	return MPK_OK;
}

static enum mpk_code observe_compare_list_files(struct mpk_dump_index *x, const char *dir,
						struct mpk_error *err)
{
	const struct dirent *entry;
	enum mpk_code code = MPK_OK;
	DIR *d = opendir(dir);

	if (!d)
		return mpk_fail_errno(err, MPK_E_IO, errno, "cannot read a dump");
	while (code == MPK_OK && (entry = readdir(d)))
		code = observe_compare_add_file(x, entry->d_name, err);
	(void)closedir(d);
	if (code == MPK_OK && !x->count)
		return mpk_fail(err, MPK_E_CORRUPT, "no dump: there is no file like 0000-NAME.npy");
	return code;
}

/* By number, then by name; numbers have four digits or more. */
static int by_number(const void *a, const void *b)
{
	const struct mpk_dump_file *x = a, *y = b;
	unsigned long long i = strtoull(x->name, NULL, 10), k = strtoull(y->name, NULL, 10);

	return i != k ? (i > k ? 1 : -1) : strcmp(x->name, y->name);
}

/* From the last to the first, so that each leads to the next. */
static enum mpk_code chain(struct mpk_dump_index *x, struct mpk_error *err)
{
	for (size_t i = x->count; i-- > 0;) {
		struct mpk_span key = result_key(mpk_span_str(x->files[i].name));
		size_t at;
		int put = mpk_strmap_put(&x->keys, key, x->key_count, &at);

		MPK_TRY_ALLOC(put >= 0 && MPK_VEC_ROOM(x->heads, x->key_count, x->key_cap), err);
		if (put)
			x->heads[x->key_count++] = x->count;
		x->files[i].next = x->heads[at];
		x->heads[at] = i;
	}
	return MPK_OK;
}

enum mpk_code mpk_dump_index_read(struct mpk_dump_index *x, const char *dir, struct mpk_error *err)
{
	enum mpk_code code = observe_compare_list_files(x, dir, err);

	if (code == MPK_OK) {
		qsort(x->files, x->count, sizeof *x->files, by_number);
		code = chain(x, err);
	}
	if (code != MPK_OK)
		mpk_error_at_file(err, dir);
	return code;
}

void mpk_dump_index_fini(struct mpk_dump_index *x)
{
	mpk_arena_fini(&x->arena);
	mpk_strmap_fini(&x->keys);
	free(x->files);
	free(x->heads);
	*x = (struct mpk_dump_index){ 0 };
}

const char *mpk_dump_index_take(struct mpk_dump_index *x, struct mpk_span key)
{
	size_t at, file;

	if (!mpk_strmap_find(&x->keys, key, &at) || x->heads[at] == x->count)
		return NULL;
	file = x->heads[at];
	x->heads[at] = x->files[file].next;
	return x->files[file].name;
}

static void comparisons_fini(struct mpk_comparisons *c)
{
	mpk_arena_fini(&c->arena);
	free(c->items);
	*c = (struct mpk_comparisons){ 0 };
}

/* --- the dump -------------------------------------------------------------------------------- */

static enum mpk_code load_result(const struct mpk_comparer *c, const char *file,
				 struct mpk_tensor **out, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf path = { 0 };

	mpk_strbuf_printf(&path, "%s/%s", c->dir, file);
	MPK_TRY(mpk_strbuf_status(&path, err));
	return mpk_tensor_load_file(mpk_strbuf_text(&path), NULL, out, err);
}

/* Type, rank and extents; what lies between rows does not matter. */
static bool is_same_type(const struct mpk_dltensor *a, const struct mpk_dltensor *b)
{
	return mpk_dtype_equal(a->dtype, b->dtype) && a->ndim == b->ndim &&
	       (!a->ndim || memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof a->shape[0]) == 0);
}

/* Another type or shape is no difference in numbers but another model, or other inputs: going on
 * would report nonsense. */
static enum mpk_code check_type(const struct mpk_comparer *c, const struct mpk_result *r,
				const struct mpk_tensor *want, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf has = { 0 }, had = { 0 };

	if (is_same_type(&r->tensor->dl, &want->dl))
		return MPK_OK;
	mpk_tensor_print_type(&has, &r->tensor->dl);
	mpk_tensor_print_type(&had, &want->dl);
	mpk_fail(
		err, MPK_E_CONFLICT,
		"a dump of another model or of other inputs: operator %zu, '%s', computes %s here and %s there",
		r->number, MPK_QUOTE(r->op->name), mpk_strbuf_text(&has), mpk_strbuf_text(&had));
	mpk_error_at_file(err, c->dir);
	return MPK_E_CONFLICT;
}

/* --- the run --------------------------------------------------------------------------------- */

static enum mpk_code add_comparison(struct mpk_comparer *c, const struct mpk_result *r,
				    const char *file, const struct mpk_comparison *comparison,
				    const char *why, struct mpk_error *err)
{
	struct mpk_comparisons *done = &c->done;
	struct mpk_compared made = {
		.file = mpk_arena_copy(&done->arena, file, strlen(file)),
		.name = mpk_arena_text(&done->arena, r->op->name),
		.number = r->number,
		.difference = mpk_arena_copy(&done->arena, why, strlen(why)),
		.comparison = *comparison,
	};

	MPK_TRY_ALLOC(made.file && made.name && made.difference &&
			      MPK_VEC_ROOM(done->items, done->count, done->cap),
		      err);
	done->differing += !comparison->is_equal;
	done->items[done->count++] = made;
	return MPK_OK;
}

static enum mpk_code compare_result(void *user, const struct mpk_result *r, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf why = { 0 };
	MPK_CLEANUP(mpk_value_drop) struct mpk_value want = { 0 };
	struct mpk_comparison comparison;
	struct mpk_comparer *c = user;
	struct mpk_value has;
	const char *file = NULL;

	if (r->fetched != MPK_E_UNSUPPORTED) {
		MPK_TRY(r->fetched);
		file = mpk_dump_index_take(&c->dump, result_key(mpk_span_str(r->file)));
	}
	/* images and tensors with gaps on a device cannot be read here; they count as missing */
	if (!file) {
		c->done.missing++;
		return MPK_OK;
	}
	has = mpk_value_of_tensor(r->tensor);
	MPK_TRY(load_result(c, file, &want.tensor, err));
	want.kind = MPK_VALUE_TENSOR;
	MPK_TRY(check_type(c, r, want.tensor, err));
	MPK_TRY(mpk_value_compare(&has, &want, c->tolerance, &comparison, &why, err));
	return add_comparison(c, r, file, &comparison, mpk_strbuf_text(&why), err);
}

static enum mpk_code compare_operator(struct mpk_observer *self, const struct mpk_operator *op,
				      const struct mpk_value *result, struct mpk_error *err)
{
	struct mpk_comparer *c = (struct mpk_comparer *)self;

	return mpk_results_each(c->devices, op, result, &c->count, compare_result, c, err);
}

/* The run is over. */
static enum mpk_code comparer_end(struct mpk_comparer *c, struct mpk_error *err)
{
	c->done.unused = c->dump.count - c->done.count;
	if (c->done.count)
		return MPK_OK;
	mpk_fail(err, MPK_E_CONFLICT,
		 "a dump of another model: none of its %zu results is of an operator of this run",
		 c->dump.count);
	mpk_error_at_file(err, c->dir);
	return MPK_E_CONFLICT;
}

static void observe_compare_put_text(struct mpk_strbuf *out, const char *text)
{
	mpk_strbuf_put(out, text, strlen(text) + 1);
}

static enum mpk_code comparer_encode(struct mpk_observer *self, struct mpk_strbuf *out,
				     struct mpk_error *err)
{
	struct mpk_comparer *comparer = (struct mpk_comparer *)self;
	const struct mpk_comparisons *c = &comparer->done;

	MPK_TRY(comparer_end(comparer, err));
	mpk_strbuf_put(out, (const char *)&c->missing, sizeof c->missing);
	mpk_strbuf_put(out, (const char *)&c->unused, sizeof c->unused);
	for (size_t i = 0; i < c->count; i++) {
		const struct mpk_compared *item = &c->items[i];
		struct mpk_comparison copy;

		memset(&copy, 0, sizeof copy); /* the padding travels too */
		copy.is_equal = item->comparison.is_equal;
		copy.differing = item->comparison.differing;
		copy.total = item->comparison.total;
		copy.first = item->comparison.first;
		copy.max_abs = item->comparison.max_abs;
		copy.max_rel = item->comparison.max_rel;
		mpk_strbuf_put(out, (const char *)&copy, sizeof copy);
		mpk_strbuf_put(out, (const char *)&item->number, sizeof item->number);
		observe_compare_put_text(out, item->file);
		observe_compare_put_text(out, item->name);
		observe_compare_put_text(out, item->difference);
	}
	return mpk_strbuf_status(out, err);
}

static void comparer_fini(struct mpk_observer *self)
{
	struct mpk_comparer *c = (struct mpk_comparer *)self;

	comparisons_fini(&c->done);
	mpk_dump_index_fini(&c->dump);
}

static enum mpk_code comparer_init(struct mpk_observer *self, const struct mpk_watch *watch,
				   struct mpk_devices *devices, struct mpk_error *err)
{
	struct mpk_comparer *c = (struct mpk_comparer *)self;

	*c = (struct mpk_comparer){ .base = { .end = compare_operator,
					      .encode = comparer_encode,
					      .fini = comparer_fini },
				    .devices = devices,
				    .dir = watch->compare,
				    .tolerance = watch->tolerance };
	return mpk_dump_index_read(&c->dump, c->dir, err);
}

/* --- from bytes ------------------------------------------------------------------------------ */

static enum mpk_code observe_compare_damaged(struct mpk_error *err)
{
	return mpk_fail(err, MPK_E_CORRUPT, "the comparison that came back is broken");
}

/* A string with its NUL; one that never ends is a damaged reply. */
static enum mpk_code get_text(struct mpk_span bytes, uint64_t *at, struct mpk_arena *arena,
			      const char **out, struct mpk_error *err)
{
	struct mpk_span text;

	if (!mpk_span_text(bytes, *at, SIZE_MAX, &text))
		return observe_compare_damaged(err);
	*at += text.len + 1;
	*out = mpk_arena_text(arena, text);
	MPK_TRY_ALLOC(*out, err);
	return MPK_OK;
}

static enum mpk_code get_item(struct mpk_span bytes, uint64_t *at, struct mpk_comparisons *c,
			      struct mpk_error *err)
{
	struct mpk_compared *item;
	struct mpk_span raw;

	MPK_TRY_ALLOC(MPK_VEC_ROOM(c->items, c->count, c->cap), err);
	item = &c->items[c->count];
	*item = (struct mpk_compared){ 0 };
	if (!mpk_span_sub(bytes, *at, sizeof item->comparison + sizeof item->number, &raw))
		return observe_compare_damaged(err);
	/* a bool of a damaged process could be anything */
	/* checked in the bytes, before they become a bool: any other value in one is undefined */
	if (raw.data[offsetof(struct mpk_comparison, is_equal)] > 1)
		return observe_compare_damaged(err);
	memcpy(&item->comparison, raw.data, sizeof item->comparison);
	memcpy(&item->number, raw.data + sizeof item->comparison, sizeof item->number);
	*at += raw.len;
	MPK_TRY(get_text(bytes, at, &c->arena, &item->file, err));
	MPK_TRY(get_text(bytes, at, &c->arena, &item->name, err));
	MPK_TRY(get_text(bytes, at, &c->arena, &item->difference, err));
	c->differing += !item->comparison.is_equal;
	c->count++;
	return MPK_OK;
}

static enum mpk_code comparisons_decode(struct mpk_span bytes, struct mpk_seen *seen,
					struct mpk_error *err)
{
	struct mpk_comparisons *out = seen->comparisons = calloc(1, sizeof *out);
	struct mpk_span raw;

	MPK_TRY_ALLOC(out, err);
	if (!mpk_span_sub(bytes, 0, sizeof out->missing + sizeof out->unused, &raw))
		return observe_compare_damaged(err);
	memcpy(&out->missing, raw.data, sizeof out->missing);
	memcpy(&out->unused, raw.data + sizeof out->missing, sizeof out->unused);
	for (uint64_t at = raw.len; at < bytes.len;)
		MPK_TRY(get_item(bytes, &at, out, err));
	return MPK_OK;
}

static void seen_comparisons_fini(struct mpk_seen *seen)
{
	if (seen->comparisons)
		comparisons_fini(seen->comparisons);
	free(seen->comparisons);
	seen->comparisons = NULL;
}

static bool compare_is_asked(const struct mpk_watch *watch)
{
	return watch->compare != NULL;
}

const struct mpk_watcher mpk_watcher_compare = {
	.bytes = sizeof(struct mpk_comparer),
	.calls = MPK_WATCHED_FIRST_TIMED,
	.is_asked = compare_is_asked,
	.init = comparer_init,
	.decode = comparisons_decode,
	.fini = seen_comparisons_fini,
};
