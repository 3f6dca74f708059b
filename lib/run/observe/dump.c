/* SPDX-License-Identifier: Apache-2.0 */
/* dump.c - what each operator of a run computes, as .npy files
 *
 * What files are called and hold must not depend on the build: kernels are numbered as they end, results of one
 * kernel in the order of its operands, names have no prefix of the build, and types that NumPy does not have are
 * written as their bytes.
 */
#include "observe/observe.h"

#include <string.h>

#include "npy/npy.h"
#include "text/escape.h"
#include "value/element.h"
#include "value/param_file.h"
#include "value/parse.h"

enum {
	NEST_MAX = 16,  /* tuples within tuples */
	NAME_MAX_ = 96, /* bytes of an operator's name in a file's */
};

/* --- a result as a file ---------------------------------------------------------------------- */

/* Asked of the writer itself, so that no second list of types can differ from it. */
static bool numpy_has(struct mpk_dtype dtype)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	struct mpk_rope rope = mpk_rope_of(&arena);

	return mpk_npy_write_header(&rope, dtype, NULL, 0, NULL) == MPK_OK;
}

/* A copy, as the next kernel may write to the tensor. */
static enum mpk_code result_fetch(struct mpk_devices *devices, const struct mpk_tensor *t,
				  struct mpk_tensor **out, struct mpk_error *err)
{
	struct mpk_tensor *copy;

	MPK_TRY(mpk_devices_copy_to_host(devices, &t->dl, &copy, err));

	/* The same bytes under a type that NumPy has; takes the reference over. */
	static const struct mpk_dtype boolean = { MPK_DTYPE_BOOL, 8, 1 },
				      byte = { MPK_DTYPE_UINT, 8, 1 };
	int64_t shape[MPK_TENSOR_NDIM_MAX + 1];
	size_t ndim = (size_t)copy->dl.ndim;
	struct mpk_dltensor dl = copy->dl;
	enum mpk_code code;

	if (mpk_dtype_is_bool(dl.dtype)) {
		dl.dtype = boolean;
	} else if (mpk_dtype_is_packed(dl.dtype)) {
		shape[0] = (int64_t)copy->bytes;
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
	if (mpk_dtype_equal(dl.dtype, copy->dl.dtype)) {
		*out = copy;
		return MPK_OK;
	}
	dl.strides = NULL;
	code = mpk_tensor_wrap(&dl, copy->storage, out, err);
	mpk_tensor_drop(copy);
	return code;
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

/* --- the results of an operator -------------------------------------------------------------- */

struct walk {
	struct mpk_result result;
	size_t total;
	struct mpk_devices *devices;
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
	if (w->fn) {
		const struct mpk_tensor *t = v->tensor;
		MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf name = { 0 };
		struct mpk_result *r = &w->result;
		enum mpk_code code = MPK_OK;

		r->fetched = result_fetch(w->devices, t, &r->tensor, err);
		if (r->fetched == MPK_OK) {
			put_file_name(r, &name);
			code = mpk_strbuf_status(&name, err);
		}
		r->file = mpk_strbuf_text(&name);
		if (code == MPK_OK)
			code = w->fn(w->user, r, err);
		if (r->fetched == MPK_OK)
			mpk_tensor_drop(r->tensor);
		r->index++;
		return code;
	}
	w->total++;
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

enum mpk_code mpk_results_each(struct mpk_devices *devices, const struct mpk_operator *op,
			       const struct mpk_value *returned, size_t *count, mpk_result_fn *fn,
			       void *user, struct mpk_error *err)
{
	struct walk w = { { .op = op, .number = *count }, .devices = devices, .user = user };

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

/* --- the observer --------------------------------------------------------------------------- */

static enum mpk_code write_tensor(const struct mpk_dumper *d, const char *name,
				  const struct mpk_tensor *t, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	struct mpk_rope file = mpk_rope_of(&arena);

	MPK_TRY(mpk_array_write(t, &file, err));
	return mpk_directory_write(d->to, name, &file, err);
}

static enum mpk_code write_result(void *user, const struct mpk_result *r, struct mpk_error *err)
{
	struct mpk_dumper *d = user;

	/* an image, say: a dump without it is still worth having, and says how many it lacks */
	if (r->fetched == MPK_E_UNSUPPORTED) {
		d->left_out++;
		return MPK_OK;
	}
	if (r->fetched != MPK_OK) {
		mpk_error_prefix(err, "operator %zu, '%s': ", r->number, MPK_QUOTE(r->op->name));
		return mpk_failed(r->fetched);
	}
	return write_tensor(d, r->file, r->tensor, err);
}

static enum mpk_code dump_end(struct mpk_observer *self, const struct mpk_operator *op,
			      const struct mpk_value *result, struct mpk_error *err)
{
	struct mpk_dumper *d = (struct mpk_dumper *)self;

	return mpk_results_each(d->devices, op, result, &d->count, write_result, d, err);
}

static enum mpk_code dump_encode(struct mpk_observer *self, struct mpk_strbuf *out,
				 struct mpk_error *err)
{
	const struct mpk_dumper *d = (const struct mpk_dumper *)self;

	mpk_strbuf_put(out, (const char *)&d->left_out, sizeof d->left_out);
	return mpk_strbuf_status(out, err);
}

static enum mpk_code dumper_init(struct mpk_observer *self, const struct mpk_watch *watch,
				 struct mpk_devices *devices, struct mpk_error *err)
{
	(void)err;
	*(struct mpk_dumper *)self =
		(struct mpk_dumper){ .base = { .end = dump_end, .encode = dump_encode },
				     .devices = devices,
				     .to = watch->dump };
	return MPK_OK;
}

static bool dump_is_asked(const struct mpk_watch *watch)
{
	return watch->dump != NULL;
}

static enum mpk_code dump_decode(struct mpk_span bytes, struct mpk_seen *seen,
				 struct mpk_error *err)
{
	if (bytes.len != sizeof seen->dump_left_out)
		return mpk_fail(err, MPK_E_RAISED, "the reply is damaged: its dump");
	memcpy(&seen->dump_left_out, bytes.data, sizeof seen->dump_left_out);
	return MPK_OK;
}

const struct mpk_watcher mpk_watcher_dump = {
	.bytes = sizeof(struct mpk_dumper),
	.calls = MPK_WATCHED_FIRST_TIMED,
	.is_asked = dump_is_asked,
	.init = dumper_init,
	.decode = dump_decode,
};

const struct mpk_watcher *const mpk_watchers[MPK_WATCHER_COUNT] = {
	&mpk_watcher_profile, &mpk_watcher_compare, &mpk_watcher_dump, &mpk_watcher_trace
};
