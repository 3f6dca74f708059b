/* SPDX-License-Identifier: Apache-2.0 */
/* args.c - shared by caches and other states: reads arguments and tensors, and defines the builtins
 * that all of them have
 *
 * A builtin gets no virtual machine, so its devices are those of the runtime whose code calls it.
 * Memory for one forward pass comes from the device's pool. Memory that lives as long as the state
 * does not, because a pool rounds sizes up and keeps freed memory.
 *
 * Some of TVM's builtins need features that are missing here; their error says which. A model that
 * names such a builtin loads, and runs until it calls the builtin. */
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "executor/state/internal/state.h"
#include "runtime/runtime.h"

/* --- tensors ---------------------------------------------------------------------------------- */

static enum mpk_code devices_here(struct mpk_devices **out, struct mpk_error *err)
{
	struct mpk_runtime *runtime = mpk_context_get().runtime;

	if (!runtime)
		return mpk_fail(err, MPK_E_INTERNAL, "a state is used outside of any call");
	*out = mpk_runtime_devices(runtime);
	return MPK_OK;
}

void mpk_ints_push(struct mpk_ints *v, int32_t value)
{
	if (!MPK_VEC_ROOM(v->items, v->count, v->cap)) {
		v->failed = true;
		return;
	}
	v->items[v->count++] = value;
}

void mpk_ints_fini(struct mpk_ints *v)
{
	free(v->items);
	*v = (struct mpk_ints){ 0 };
}

enum mpk_code mpk_state_ints(const struct mpk_ints *v, int64_t rows, struct mpk_dldevice where,
			     struct mpk_tensor **out, struct mpk_error *err)
{
	static const struct mpk_dtype i32 = { MPK_DTYPE_INT, 32, 1 };
	int64_t shape[2] = { (int64_t)v->count, 0 };
	struct mpk_devices *devices;
	struct mpk_tensor *host;
	enum mpk_code rc;

	if (v->failed)
		return mpk_fail_nomem(err);
	if (rows) {
		shape[0] = rows;
		shape[1] = (int64_t)v->count / rows;
	}
	MPK_TRY(mpk_tensor_create(i32, shape, rows ? 2 : 1, MPK_STORAGE_PRIVATE, &host, err));
	if (v->count)
		memcpy(host->dl.data, v->items, v->count * sizeof *v->items);
	if (mpk_dldevice_is_host(where)) {
		*out = host;
		return MPK_OK;
	}
	rc = devices_here(&devices, err);
	if (rc == MPK_OK)
		rc = mpk_devices_send(devices, host, where, out, err);
	mpk_tensor_drop(host);
	return rc;
}

enum mpk_code mpk_state_empty(struct mpk_dtype dtype, const int64_t *shape, size_t ndim,
			      struct mpk_dldevice where, struct mpk_tensor **out,
			      struct mpk_error *err)
{
	struct mpk_allocator *allocator;
	struct mpk_devices *devices;
	struct mpk_storage *storage;
	enum mpk_code rc;
	uint64_t bytes;

	MPK_TRY(mpk_tensor_bytes_of(dtype, shape, ndim, &bytes, err));
	MPK_TRY(devices_here(&devices, err));
	MPK_TRY(mpk_devices_allocator(devices, where, &allocator, err));
	MPK_TRY(mpk_allocator_storage(allocator, bytes, &storage, err));
	rc = mpk_tensor_view(storage, 0, dtype, shape, ndim, out, err);
	mpk_storage_drop(storage);
	return rc;
}

enum mpk_code mpk_state_pages(struct mpk_dtype dtype, const int64_t *shape, size_t ndim,
			      struct mpk_dldevice where, struct mpk_tensor **out,
			      struct mpk_error *err)
{
	enum mpk_purpose before = mpk_purpose_swap(MPK_PURPOSE_CACHE);
	enum mpk_code rc;

	if (mpk_dldevice_is_host(where))
		rc = mpk_tensor_create(dtype, shape, ndim, MPK_STORAGE_PRIVATE, out, err);
	else
		rc = mpk_state_empty(dtype, shape, ndim, where, out, err);
	(void)mpk_purpose_swap(before);
	return rc;
}

enum mpk_code mpk_state_view(struct mpk_tensor *t, const int64_t *shape, size_t ndim,
			     struct mpk_tensor **out, struct mpk_error *err)
{
	struct mpk_dltensor dl = t->dl;
	uint64_t bytes;

	MPK_TRY(mpk_tensor_bytes_of(dl.dtype, shape, ndim, &bytes, err));
	if (bytes > t->bytes || !mpk_dltensor_is_compact(&dl))
		return mpk_relax_raise(err, "ValueError",
				       "a view of %llu bytes of a tensor of %llu%s",
				       (unsigned long long)bytes, (unsigned long long)t->bytes,
				       bytes > t->bytes ? "" : " with gaps");
	dl.ndim = (int32_t)ndim;
	dl.shape = (int64_t *)(uintptr_t)shape;
	dl.strides = NULL;
	return mpk_tensor_wrap(&dl, t->storage, out, err);
}

/* Describes a range as a tensor of bytes; shape has space for its single extent. */
static enum mpk_code bytes_of(struct mpk_state_bytes b, int64_t *shape, struct mpk_dltensor *out,
			      struct mpk_error *err)
{
	if (!mpk_dltensor_is_compact(&b.tensor->dl) || b.count > b.tensor->bytes ||
	    b.offset > b.tensor->bytes - b.count)
		return mpk_fail(err, MPK_E_INTERNAL, "a copy beyond the end of a state");
	*shape = (int64_t)b.count;
	*out = b.tensor->dl;
	out->dtype = (struct mpk_dtype){ MPK_DTYPE_UINT, 8, 1 };
	out->ndim = 1;
	out->shape = shape;
	out->strides = NULL;
	out->byte_offset += b.offset;
	return MPK_OK;
}

enum mpk_code mpk_state_copy(struct mpk_state_bytes from, struct mpk_state_bytes to,
			     struct mpk_error *err)
{
	struct mpk_dltensor source, target;
	struct mpk_devices *devices;
	int64_t extents[2];

	MPK_TRY(bytes_of(from, &extents[0], &source, err));
	MPK_TRY(bytes_of(to, &extents[1], &target, err));
	if (!to.count)
		return MPK_OK;
	MPK_TRY(devices_here(&devices, err));
	return mpk_devices_copy(devices, &source, &target, to.count, err);
}

enum mpk_code mpk_state_call(struct mpk_function *f, const char *what, const struct mpk_value *args,
			     size_t count, struct mpk_error *err)
{
	struct mpk_value none = { 0 };

	if (!f)
		return mpk_relax_raise(err, "InternalError",
				       "the model gave its cache no kernel for %s", what);
	MPK_TRY(mpk_function_call(f, &(struct mpk_args){ args, NULL, count }, &none, err));
	mpk_value_drop(&none);
	return MPK_OK;
}

static enum mpk_code state_wrong_kind(const char *name, const struct mpk_value *args, size_t i,
				      const char *wanted, struct mpk_error *err)
{
	return mpk_relax_raise(err, "TypeError", "%s: argument %zu must be %s, not %s", name, i,
			       wanted, mpk_value_kind_name(args[i].kind));
}

enum mpk_code mpk_state_real(const char *name, const struct mpk_value *args, size_t i, double *out,
			     struct mpk_error *err)
{
	if (args[i].kind == MPK_VALUE_FLOAT)
		*out = args[i].real;
	else if (args[i].kind == MPK_VALUE_INT)
		*out = (double)args[i].integer;
	else if (args[i].kind == MPK_VALUE_BOOL)
		*out = args[i].boolean;
	else
		return state_wrong_kind(name, args, i, "a number", err);
	return MPK_OK;
}

enum mpk_code mpk_state_shape(const char *name, const struct mpk_value *args, size_t i,
			      const struct mpk_shape **out, struct mpk_error *err)
{
	if (args[i].kind != MPK_VALUE_SHAPE)
		return state_wrong_kind(name, args, i, "a shape", err);
	*out = args[i].shape;
	return MPK_OK;
}

enum mpk_code mpk_state_function(const char *name, const struct mpk_value *args, size_t i,
				 struct mpk_function **out, struct mpk_error *err)
{
	if (args[i].kind != MPK_VALUE_FUNCTION)
		return state_wrong_kind(name, args, i, "a function", err);
	*out = args[i].function;
	return MPK_OK;
}

enum mpk_code mpk_state_array(const char *name, const struct mpk_value *args, size_t i,
			      struct mpk_array **out, struct mpk_error *err)
{
	if (args[i].kind != MPK_VALUE_ARRAY)
		return state_wrong_kind(name, args, i, "a tuple", err);
	*out = args[i].array;
	return MPK_OK;
}

enum mpk_code mpk_state_text(const char *name, const struct mpk_value *args, size_t i,
			     struct mpk_span *out, struct mpk_error *err)
{
	if (args[i].kind != MPK_VALUE_STR)
		return state_wrong_kind(name, args, i, "a string", err);
	*out = mpk_value_text_span(&args[i]);
	return MPK_OK;
}

enum mpk_code mpk_state_object(const char *name, const struct mpk_value *args, size_t i,
			       void (*release)(struct mpk_object *object), const char *type,
			       struct mpk_object **out, struct mpk_error *err)
{
	if (args[i].kind != MPK_VALUE_OBJECT || args[i].object->release != release)
		return mpk_relax_raise(
			err, "TypeError", "%s: argument %zu must be %s, not %s", name, i, type,
			args[i].kind == MPK_VALUE_OBJECT ? args[i].object->type
							 : mpk_value_kind_name(args[i].kind));
	*out = args[i].object;
	return MPK_OK;
}

/* --- builtins without an implementation here -------------------------------------------------------- */

static enum mpk_code needs(struct mpk_error *err, const char *what)
{
	return mpk_fail(err, MPK_E_UNSUPPORTED, "this builtin needs %s", what);
}

#define ABSENT(function, what)                                                                     \
	static enum mpk_code function(const struct mpk_value *args, size_t count,                  \
				      struct mpk_value *result, struct mpk_error *err)             \
	{                                                                                          \
		(void)args;                                                                        \
		(void)count;                                                                       \
		(void)result;                                                                      \
		return needs(err, what);                                                           \
	}

ABSENT(absent_nvshmem,
       "NVSHMEM, by which caches of several processes send each other keys and values")
ABSENT(absent_pages, "page groups, in which TVM takes a cache from one process to another")
ABSENT(absent_python, "functions of Python, which are registered in TVM's own process")

/* --- sequences: added, extended, forked and removed
 * -----------------------------------------------
 *
 * An application identifies its sequences by numbers. Before each forward pass it says which of
 * them grow and by how many tokens. It can remove tokens that turned out to be wrong. These
 * builtins check their arguments and pass them to the state. */

/* --- the state --------------------------------------------------------------------------------- */

static void release_state(struct mpk_object *object)
{
	struct mpk_kv_state *s = (struct mpk_kv_state *)object;

	s->ops->destroy(s);
	free(s);
}

void mpk_kv_init(struct mpk_kv_state *s, const struct mpk_kv_ops *ops, const char *type)
{
	atomic_init(&s->object.refs, 1);
	s->object.type = type;
	s->object.release = release_state;
	s->ops = ops;
}

const struct mpk_kv_ops mpk_kv_every = { 0 };

enum mpk_code mpk_kv_take(const char *name, const struct mpk_value *args, size_t i,
			  const struct mpk_kv_ops *ops, const char *type, struct mpk_kv_state **out,
			  struct mpk_error *err)
{
	struct mpk_object *object;

	MPK_TRY(mpk_state_object(name, args, i, release_state, type, &object, err));
	*out = (struct mpk_kv_state *)object;
	if (ops == &mpk_kv_every || (ops ? (*out)->ops == ops : (*out)->ops->sequences != NULL))
		return MPK_OK;
	if (ops && ops->sequences)
		return mpk_relax_raise(err, "TypeError", "%s: argument %zu is %s", name, i,
				       object->type);
	return mpk_relax_raise(err, "TypeError", "%s: argument %zu must be %s, not %s", name, i,
			       type, object->type);
}

enum mpk_code mpk_kv_run(const struct mpk_kv_builtin *builtin, const struct mpk_value *args,
			 size_t count, struct mpk_value *result, struct mpk_error *err)
{
	const struct mpk_kv_call call = { builtin->name, args, count, result };
	struct mpk_kv_state *s;
	struct mpk_value held;
	enum mpk_code code;

	MPK_TRY(mpk_relax_arity(builtin->name, count, builtin->least, builtin->most, err));
	MPK_TRY(mpk_kv_take(builtin->name, args, 0, builtin->ops, "a state of sequences", &s, err));
	if (atomic_exchange(&s->is_busy, true))
		return mpk_relax_raise(
			err, "InternalError",
			"%s: the state is in use, by its own kernel or by another thread",
			builtin->name);
	held = mpk_value_hold(args[0]);
	code = builtin->work(s, &call, err);
	atomic_store(&s->is_busy, false);
	mpk_value_drop(&held);
	return code;
}

/* --- builtins ---------------------------------------------------------------------------------- */

static enum mpk_code clear_state(struct mpk_kv_state *s, const struct mpk_kv_call *call,
				 struct mpk_error *err)
{
	(void)call;
	return s->ops->sequences->clear(s, err);
}

static enum mpk_code add_sequence(struct mpk_kv_state *s, const struct mpk_kv_call *call,
				  struct mpk_error *err)
{
	int64_t id;

	MPK_TRY(mpk_relax_int(call->name, call->args, 1, &id, err));
	return s->ops->sequences->add(s, id, err);
}

static enum mpk_code remove_sequence(struct mpk_kv_state *s, const struct mpk_kv_call *call,
				     struct mpk_error *err)
{
	int64_t id;

	MPK_TRY(mpk_relax_int(call->name, call->args, 1, &id, err));
	return s->ops->sequences->remove(s, id, err);
}

static enum mpk_code fork_state(struct mpk_kv_state *s, const struct mpk_kv_call *call,
				struct mpk_error *err)
{
	int64_t parent, child, at = -1;

	MPK_TRY(mpk_relax_int(call->name, call->args, 1, &parent, err));
	MPK_TRY(mpk_relax_int(call->name, call->args, 2, &child, err));
	if (call->count == 4)
		MPK_TRY(mpk_relax_int(call->name, call->args, 3, &at, err));
	return s->ops->sequences->fork(s, parent, child, at, err);
}

static enum mpk_code pop_state(struct mpk_kv_state *s, const struct mpk_kv_call *call,
			       struct mpk_error *err)
{
	int64_t id, n;

	MPK_TRY(mpk_relax_int(call->name, call->args, 1, &id, err));
	MPK_TRY(mpk_relax_int(call->name, call->args, 2, &n, err));
	MPK_TRY(mpk_state_check(n >= 0, err, "%lld tokens cannot be taken back", (long long)n));
	return s->ops->sequences->pop(s, id, n, err);
}

static enum mpk_code begin_state(struct mpk_kv_state *s, const struct mpk_kv_call *call,
				 struct mpk_error *err)
{
	const struct mpk_shape *ids, *lengths, *tree = NULL;
	struct mpk_kv_batch batch;

	MPK_TRY(mpk_state_shape(call->name, call->args, 1, &ids, err));
	MPK_TRY(mpk_state_shape(call->name, call->args, 2, &lengths, err));
	if (call->count == 4 && call->args[3].kind != MPK_VALUE_NONE)
		MPK_TRY(mpk_state_shape(call->name, call->args, 3, &tree, err));
	MPK_TRY(mpk_state_check(ids->ndim == lengths->ndim, err,
				"%zu ids of sequences and %zu lengths", ids->ndim, lengths->ndim));
	batch = (struct mpk_kv_batch){ .ids = ids->extents,
				       .lengths = lengths->extents,
				       .count = ids->ndim,
				       .parents = tree ? tree->extents : NULL,
				       .parent_count = tree ? tree->ndim : 0 };
	return s->ops->begin(s, &batch, err);
}

static enum mpk_code end_state(struct mpk_kv_state *s, const struct mpk_kv_call *call,
			       struct mpk_error *err)
{
	(void)call;
	return s->ops->end(s, err);
}

MPK_KV_BUILTIN(kv_clear, "vm.builtin.kv_state_clear", 1, 1, NULL, clear_state)
MPK_KV_BUILTIN(kv_add, "vm.builtin.kv_state_add_sequence", 2, 2, NULL, add_sequence)
MPK_KV_BUILTIN(kv_remove, "vm.builtin.kv_state_remove_sequence", 2, 2, NULL, remove_sequence)
/* TVM 0.27 requires all four arguments, but its header says that the last is optional. */
MPK_KV_BUILTIN(kv_fork, "vm.builtin.kv_state_fork_sequence", 3, 4, NULL, fork_state)
MPK_KV_BUILTIN(kv_popn, "vm.builtin.kv_state_popn", 3, 3, NULL, pop_state)
MPK_KV_BUILTIN(kv_begin, "vm.builtin.kv_state_begin_forward", 3, 4, NULL, begin_state)
MPK_KV_BUILTIN(kv_end, "vm.builtin.kv_state_end_forward", 1, 1, NULL, end_state)

static const struct mpk_relax_builtin rows[] = {
#define MPK_ROW_state(...) __VA_ARGS__,
#include "executor/relax/family.def"
};
const struct mpk_relax_builtins mpk_relax_state_builtins = { rows, MPK_ARRAY_COUNT(rows) };
