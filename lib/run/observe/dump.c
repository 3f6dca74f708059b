/* SPDX-License-Identifier: Apache-2.0 */
/* dump.c - what each operator of a run computes: written as .npy files, or compared with those of another run
 *
 * What files are called and hold must not depend on the build: kernels are numbered as they end, results of one
 * kernel in the order of its operands, names have no prefix of the build, and types that NumPy does not have are
 * written as their bytes.
 *
 * Two builds of a model, for a CPU and for a GPU, have most operators in common and not all, because compilers fuse
 * them in different ways. So results are found by the name of their operator, and those of an operator that is called
 * several times in their order. That numbers differ is what the user asked for and no failure; that types or shapes
 * differ says that the dump is of another model.
 */
#include "observe/observe.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "npy/npy.h"
#include "text/escape.h"
#include "value/array.h"
#include "value/element.h"
#include "value/parse.h"

enum {
	NEST_MAX = 16,  /* tuples within tuples */
	NAME_MAX_ = 96, /* bytes of an operator's name in a file's */
};

struct walk {
	struct mpk_result result;
	size_t total;
	mpk_result_fn *fn; /* NULL: count */
	void *user;
};

/* Tuples in tuples may be deep in a damaged model: below NEST_MAX they are left out. */
static enum mpk_code walk_value(struct walk *w, const struct mpk_value *v, unsigned depth,
				struct mpk_error *err)
{
	for (size_t i = 0; v->kind == MPK_VALUE_ARRAY && depth < NEST_MAX && i < v->array->count;
	     i++)
		MPK_TRY(walk_value(w, &v->array->items[i], depth + 1, err));
	if (v->kind != MPK_VALUE_TENSOR)
		return MPK_OK;
	if (!w->fn) {
		w->total++;
		return MPK_OK;
	}
	w->result.tensor = v->tensor;
	MPK_TRY(w->fn(w->user, &w->result, err));
	w->result.index++;
	return MPK_OK;
}

static enum mpk_code walk_all(struct walk *w, const struct mpk_value *returned,
			      struct mpk_error *err)
{
	const struct mpk_operator *op = w->result.op;

	for (size_t i = 0; i < op->count; i++)
		if (op->operands[i].is_result)
			MPK_TRY(walk_value(w, &op->operands[i].value, 0, err));
	return walk_value(w, returned, 0, err);
}

/* Those that it filled, in the order of its operands, then those that it returned; tuples flattened
 * @count   of the operators so far; one more afterwards, unless this one computes nothing */
static enum mpk_code results_each(const struct mpk_operator *op, const struct mpk_value *returned,
				  size_t *count, mpk_result_fn *fn, void *user,
				  struct mpk_error *err)
{
	struct walk w = { .result = { .op = op, .number = *count }, .user = user };

	if (op->kind != MPK_OPERATOR_KERNEL)
		return MPK_OK;
	/* once to count, so that the only result of an operator has no number in its file's name */
	MPK_TRY(walk_all(&w, returned, err));
	if (!w.total)
		return MPK_OK;
	(*count)++;
	w.result.is_only = w.total == 1;
	w.fn = fn;
	return walk_all(&w, returned, err);
}

/* Asked of the writer itself, so that no second list of types can differ from it. */
static bool numpy_has(struct mpk_dtype dtype)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	struct mpk_rope rope = mpk_rope_of(&arena);

	return mpk_npy_write_header(&rope, dtype, NULL, 0, NULL) == MPK_OK;
}

/* The same bytes under a type that NumPy has; takes the reference over. */
static enum mpk_code as_numpy(struct mpk_tensor *t, struct mpk_tensor **out, struct mpk_error *err)
{
	static const struct mpk_dtype boolean = { MPK_DTYPE_BOOL, 8, 1 },
				      byte = { MPK_DTYPE_UINT, 8, 1 };
	int64_t shape[MPK_TENSOR_NDIM_MAX + 1];
	size_t ndim = (size_t)t->dl.ndim;
	struct mpk_dltensor dl = t->dl;
	enum mpk_code code;

	if (mpk_dtype_is_bool(dl.dtype)) {
		dl.dtype = boolean;
	} else if (mpk_dtype_is_packed(dl.dtype)) {
		shape[0] = (int64_t)t->bytes;
		dl.dtype = byte;
		dl.shape = shape;
		dl.ndim = 1;
	} else if (mpk_dtype_is_narrow(dl.dtype) || !numpy_has(dl.dtype)) {
		if (ndim)
			memcpy(shape, dl.shape, ndim * sizeof shape[0]);
		shape[ndim] = (int64_t)mpk_dtype_bytes(dl.dtype);
		dl.dtype = byte;
		dl.shape = shape;
		dl.ndim++;
	}
	if (mpk_dtype_equal(dl.dtype, t->dl.dtype)) {
		*out = t;
		return MPK_OK;
	}
	dl.strides = NULL;
	code = mpk_tensor_wrap(&dl, t->storage, out, err);
	mpk_tensor_drop(t);
	return code;
}

/* A copy, as the next kernel may write to the tensor. */
static enum mpk_code result_fetch(struct mpk_devices *devices, const struct mpk_tensor *t,
				  struct mpk_tensor **out, struct mpk_error *err)
{
	struct mpk_tensor *copy;

	MPK_TRY(mpk_devices_copy_to_host(devices, &t->dl, &copy, err));
	return as_numpy(copy, out, err);
}

/* Characters that a file's name may have on every system. */
static bool dump_is_plain(uint8_t c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       c == '_' || c == '-' || c == '.';
}

/* Append the name of its file: "0003-fused_add.npy", of several "0003-split.1.npy". */
static void put_file_name(const struct mpk_result *r, struct mpk_strbuf *out)
{
	struct mpk_span name = r->op->name;

	mpk_strbuf_printf(out, "%04zu-", r->number);
	for (size_t i = 0; i < name.len && i < NAME_MAX_; i++)
		mpk_strbuf_putc(out, dump_is_plain(name.data[i]) ? (char)name.data[i] : '_');
	if (!r->is_only)
		mpk_strbuf_printf(out, ".%zu", r->index);
	mpk_strbuf_puts(out, ".npy");
}

/* --- the observer --------------------------------------------------------------------------- */

static enum mpk_code write_tensor(const struct mpk_dumper *d, const char *name,
				  const struct mpk_tensor *t, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	struct mpk_rope file = mpk_rope_of(&arena);

	MPK_TRY(mpk_npy_write_header(&file, t->dl.dtype, t->dl.shape, (size_t)t->dl.ndim, err));
	MPK_TRY(mpk_array_put(t, &file, err));
	return mpk_directory_write(d->to, name, &file, err);
}

static enum mpk_code write_result(void *user, const struct mpk_result *r, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf name = { 0 };
	struct mpk_dumper *d = user;
	struct mpk_tensor *t;
	enum mpk_code code = result_fetch(d->devices, r->tensor, &t, err);
	/* an image, say: a dump without it is still worth having, and says how many it lacks */
	if (code == MPK_E_UNSUPPORTED) {
		d->left_out++;
		return MPK_OK;
	}
	if (code != MPK_OK) {
		mpk_error_prefix(err, "operator %zu, '%s': ", r->number, MPK_QUOTE(r->op->name));
		return code;
	}
	put_file_name(r, &name);
	code = mpk_strbuf_status(&name, err);
	if (code == MPK_OK)
		code = write_tensor(d, mpk_strbuf_text(&name), t, err);
	mpk_tensor_drop(t);
	return code;
}

static enum mpk_code dump_end(struct mpk_observer *self, const struct mpk_operator *op,
			      const struct mpk_value *result, struct mpk_error *err)
{
	struct mpk_dumper *d = (struct mpk_dumper *)self;

	return results_each(op, result, &d->count, write_result, d, err);
}

static enum mpk_code dump_encode(struct mpk_observer *self, struct mpk_strbuf *out,
				 struct mpk_error *err)
{
	const struct mpk_dumper *d = (const struct mpk_dumper *)self;

	mpk_strbuf_put(out, (const char *)&d->left_out, sizeof d->left_out);
	return mpk_strbuf_status(out, err);
}

void mpk_dumper_init(struct mpk_dumper *d, struct mpk_devices *devices,
		     const struct mpk_directory *to)
{
	*d = (struct mpk_dumper){ .base = { .end = dump_end, .encode = dump_encode },
				  .devices = devices,
				  .to = to };
}

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
	MPK_TRY_ALLOC(copy && mpk_vec_reserve(&x->files, &x->cap, x->count + 1, sizeof *x->files),
		      err);
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

		MPK_TRY_ALLOC(put >= 0 && mpk_vec_reserve(&x->heads, &x->key_cap, x->key_count + 1,
							  sizeof *x->heads),
			      err);
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
				const struct mpk_tensor *got, const struct mpk_tensor *want,
				struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf has = { 0 }, had = { 0 };

	if (is_same_type(&got->dl, &want->dl))
		return MPK_OK;
	mpk_tensor_print_type(&has, &got->dl);
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
			      mpk_vec_reserve(&done->items, &done->cap, done->count + 1,
					      sizeof *done->items),
		      err);
	done->differing += !comparison->is_equal;
	done->items[done->count++] = made;
	return MPK_OK;
}

static enum mpk_code compare_with_dump(struct mpk_comparer *c, const struct mpk_result *r,
				       struct mpk_tensor *got, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf name = { 0 }, why = { 0 };
	MPK_CLEANUP(mpk_value_drop) struct mpk_value want = { 0 };
	struct mpk_value has = mpk_value_of_tensor(got);
	struct mpk_comparison comparison;
	const char *file;

	put_file_name(r, &name);
	MPK_TRY(mpk_strbuf_status(&name, err));
	file = mpk_dump_index_take(&c->dump, result_key(mpk_span_of(name.data, name.len)));
	if (!file) {
		c->done.missing++;
		return MPK_OK;
	}
	MPK_TRY(load_result(c, file, &want.tensor, err));
	want.kind = MPK_VALUE_TENSOR;
	MPK_TRY(check_type(c, r, got, want.tensor, err));
	MPK_TRY(mpk_value_compare(&has, &want, c->tolerance, &comparison, &why, err));
	return add_comparison(c, r, file, &comparison, mpk_strbuf_text(&why), err);
}

static enum mpk_code compare_result(void *user, const struct mpk_result *r, struct mpk_error *err)
{
	struct mpk_comparer *c = user;
	struct mpk_tensor *got;
	enum mpk_code code;

	code = result_fetch(c->devices, r->tensor, &got, err);
	/* images and tensors with gaps on a device cannot be read here; they count as missing */
	if (code == MPK_E_UNSUPPORTED) {
		c->done.missing++;
		return MPK_OK;
	}
	MPK_TRY(code);
	code = compare_with_dump(c, r, got, err);
	mpk_tensor_drop(got);
	return code;
}

static enum mpk_code compare_operator(struct mpk_observer *self, const struct mpk_operator *op,
				      const struct mpk_value *result, struct mpk_error *err)
{
	struct mpk_comparer *c = (struct mpk_comparer *)self;

	return results_each(op, result, &c->count, compare_result, c, err);
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

	mpk_comparisons_fini(&c->done);
	mpk_dump_index_fini(&c->dump);
}

enum mpk_code mpk_comparer_init(struct mpk_comparer *c, struct mpk_devices *devices,
				const char *dir, struct mpk_tolerance tolerance,
				struct mpk_error *err)
{
	*c = (struct mpk_comparer){ .devices = devices, .dir = dir, .tolerance = tolerance };
	c->base.end = compare_operator;
	c->base.encode = comparer_encode;
	c->base.fini = comparer_fini;
	return mpk_dump_index_read(&c->dump, dir, err);
}
