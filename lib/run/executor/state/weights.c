/* SPDX-License-Identifier: Apache-2.0 */
/* weights.c - tensors by name, which an application stores for models of the same runtime
 *
 * TVM has one such pool for each process. Here each runtime has its own. It is stored as a global
 * function of the runtime, whose type only this file knows, because a runtime has no other place
 * for data that only a few builtins need. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "executor/state/internal/state.h"
#include "runtime/runtime.h"
#include "text/escape.h"
#include "value/module.h"
#include "value/param_file.h"

struct pool {
	struct mpk_function base; /* must be the first field */
	struct weight {
		struct mpk_value name, tensor;
	} *items;
	size_t count, cap;
};

/* --- the pool ---------------------------------------------------------------------------------- */

static void pool_clear(struct pool *p)
{
	for (size_t i = 0; i < p->count; i++) {
		mpk_value_drop(&p->items[i].name);
		mpk_value_drop(&p->items[i].tensor);
	}
	p->count = 0;
}

static void destroy_pool(struct mpk_function *self)
{
	struct pool *p = (struct pool *)self;

	pool_clear(p);
	free(p->items);
	free(p);
}

static enum mpk_code call_pool(struct mpk_function *self, const struct mpk_args *args,
			       struct mpk_value *result, struct mpk_error *err)
{
	(void)self;
	(void)args;
	(void)result;
	return mpk_relax_raise(err, "TypeError", "the pool of weights cannot be called");
}

/* Returns the pool of the runtime whose code calls; makes it at the first call. */
static enum mpk_code pool_here(struct pool **out, struct mpk_error *err)
{
	static const char name[] = "mpk.weights";
	struct mpk_runtime *runtime = mpk_context_get().runtime;
	struct mpk_function *f;
	struct pool *p;

	if (!runtime)
		return mpk_fail(err, MPK_E_INTERNAL, "weights are asked for outside of any call");
	MPK_TRY(mpk_runtime_find_global(runtime, name, &f, err));
	if (!f) {
		p = calloc(1, sizeof *p);
		MPK_TRY_ALLOC(p, err);
		p->base = (struct mpk_function){
			.refs = 1, .name = name, .call = call_pool, .destroy = destroy_pool
		};
		MPK_TRY(mpk_runtime_add_function(runtime, &p->base, err));
		f = &p->base;
	}
	*out = (struct pool *)f;
	return MPK_OK;
}

static struct weight *find_weight(const struct pool *p, struct mpk_span name)
{
	for (size_t i = 0; i < p->count; i++)
		if (mpk_span_equal(mpk_value_text_span(&p->items[i].name), name))
			return &p->items[i];
	return NULL;
}

static enum mpk_code get_weight(const struct pool *p, struct mpk_span name, const char *kind,
				struct mpk_value *out, struct mpk_error *err)
{
	const struct weight *w = find_weight(p, name);

	if (!w)
		return mpk_relax_raise(err, kind, "the pool of weights has no '%s'",
				       MPK_QUOTE(name));
	*out = mpk_value_hold(w->tensor);
	return MPK_OK;
}

/* --- one weight ---------------------------------------------------------------------------------- */

static enum mpk_code weight_get(const struct mpk_value *args, size_t count,
				struct mpk_value *result, struct mpk_error *err)
{
	static const char name[] = "vm.builtin.tensor_cache.get";
	const struct weight *w;
	struct mpk_span key;
	struct pool *p;

	MPK_TRY(mpk_relax_arity(name, count, 1, 1, err));
	MPK_TRY(mpk_state_text(name, args, 0, &key, err));
	MPK_TRY(pool_here(&p, err));
	w = find_weight(p, key);
	if (w)
		*result = mpk_value_hold(w->tensor);
	return MPK_OK;
}

static enum mpk_code put_weight(struct pool *p, const struct mpk_value *name,
				const struct mpk_value *tensor, bool replaces,
				struct mpk_error *err)
{
	struct weight *w = find_weight(p, mpk_value_text_span(name));
	struct mpk_value old;

	if (!w) {
		if (!MPK_VEC_ROOM(p->items, p->count, p->cap))
			return mpk_fail_nomem(err);
		p->items[p->count++] = (struct weight){ .name = mpk_value_hold(*name),
							.tensor = mpk_value_hold(*tensor) };
		return MPK_OK;
	}
	MPK_TRY(mpk_state_check(replaces, err, "the pool of weights has '%s' already",
				MPK_QUOTE(mpk_value_text_span(name))));
	old = w->tensor;
	w->tensor = mpk_value_hold(*tensor);
	mpk_value_drop(&old);
	return MPK_OK;
}

static enum mpk_code weight_update(const struct mpk_value *args, size_t count,
				   struct mpk_value *result, struct mpk_error *err)
{
	static const char name[] = "vm.builtin.tensor_cache.update";
	struct mpk_tensor *t;
	int64_t replaces = 0;
	struct mpk_span key;
	struct pool *p;

	(void)result;
	MPK_TRY(mpk_relax_arity(name, count, 2, 3, err));
	MPK_TRY(mpk_state_text(name, args, 0, &key, err));
	MPK_TRY(mpk_relax_tensor(name, args, 1, &t, err));
	if (count == 3)
		MPK_TRY(mpk_relax_int(name, args, 2, &replaces, err));
	MPK_TRY(mpk_state_check(t->storage, err, "%s: the tensor lives no longer than the call",
				name));
	MPK_TRY(pool_here(&p, err));
	return put_weight(p, &args[0], &args[1], replaces != 0, err);
}

static enum mpk_code weight_remove(const struct mpk_value *args, size_t count,
				   struct mpk_value *result, struct mpk_error *err)
{
	static const char name[] = "vm.builtin.tensor_cache.remove";
	struct mpk_span key;
	struct weight *w;
	struct pool *p;

	(void)result;
	MPK_TRY(mpk_relax_arity(name, count, 1, 1, err));
	MPK_TRY(mpk_state_text(name, args, 0, &key, err));
	MPK_TRY(pool_here(&p, err));
	w = find_weight(p, key);
	if (!w)
		return MPK_OK;
	mpk_value_drop(&w->name);
	mpk_value_drop(&w->tensor);
	*w = p->items[--p->count];
	return MPK_OK;
}

static enum mpk_code weight_clear(const struct mpk_value *args, size_t count,
				  struct mpk_value *result, struct mpk_error *err)
{
	struct pool *p;

	(void)args;
	(void)result;
	MPK_TRY(mpk_relax_arity("vm.builtin.tensor_cache.clear", count, 0, 0, err));
	MPK_TRY(pool_here(&p, err));
	pool_clear(p);
	return MPK_OK;
}

/* --- weights from a file ---------------------------------------------------------------------- */

/* A tensor cache refers to no members of .npz files. */
static enum mpk_code read_none(struct mpk_span zip, const struct mpk_zip_member *m,
			       struct mpk_arena *arena, struct mpk_span *out, struct mpk_error *err)
{
	(void)zip;
	(void)m;
	(void)arena;
	(void)out;
	return mpk_fail(err, MPK_E_UNSUPPORTED, "an archive is no tensor cache");
}

/* If the file's bytes can be used unchanged on the host, they are not copied. */
static enum mpk_code tensor_of(struct mpk_param_file *file, size_t index, struct mpk_dldevice where,
			       struct mpk_tensor **out, struct mpk_error *err)
{
	bool is_here = mpk_dldevice_is_host(where);
	struct mpk_tensor *host, *there;
	enum mpk_code code;

	MPK_TRY(mpk_param_file_tensor(file, index, is_here, &host, err));
	if (is_here) {
		*out = host;
		return MPK_OK;
	}
	code = mpk_state_empty(host->dl.dtype, host->dl.shape, (size_t)host->dl.ndim, where, &there,
			       err);
	if (code == MPK_OK) {
		code = mpk_state_copy((struct mpk_state_bytes){ host, 0, host->bytes },
				      (struct mpk_state_bytes){ there, 0, host->bytes }, err);
		if (code == MPK_OK)
			*out = there;
		else
			mpk_tensor_drop(there);
	}
	mpk_tensor_drop(host);
	return code;
}

/* Adds the tensors of a file under their names, and replaces tensors of the pool with the same
 * names. */
static enum mpk_code put_file(struct pool *p, struct mpk_param_file *file,
			      struct mpk_dldevice where, struct mpk_error *err)
{
	for (size_t i = 0; i < mpk_param_file_count(file); i++) {
		struct mpk_value name = { 0 }, tensor = { .kind = MPK_VALUE_TENSOR };
		enum mpk_code code;

		MPK_TRY(tensor_of(file, i, where, &tensor.tensor, err));
		code = mpk_value_of_text(MPK_VALUE_STR, mpk_param_file_entry(file, i).name, &name,
					 err);
		if (code == MPK_OK)
			code = put_weight(p, &name, &tensor, true, err);
		mpk_value_drop(&name);
		mpk_value_drop(&tensor);
		MPK_TRY(code);
	}
	return MPK_OK;
}

/* Arguments: folder, type of the device, its number. */
static enum mpk_code load_index(const char *name, const char *index, const struct mpk_value *args,
				size_t count, struct mpk_error *err)
{
	struct mpk_param_file *file;
	struct mpk_dldevice where;
	struct mpk_strbuf path = { 0 };
	struct mpk_span folder;
	int64_t type, id;
	struct pool *p;
	enum mpk_code code;

	MPK_TRY(mpk_relax_arity(name, count, 3, 3, err));
	MPK_TRY(mpk_state_text(name, args, 0, &folder, err));
	MPK_TRY(mpk_relax_int(name, args, 1, &type, err));
	MPK_TRY(mpk_relax_int(name, args, 2, &id, err));
	MPK_TRY(mpk_state_check(type > 0 && type <= INT32_MAX && id >= 0 && id <= INT32_MAX, err,
				"%s: no device has type %lld and number %lld", name,
				(long long)type, (long long)id));
	where = (struct mpk_dldevice){ (int32_t)type, (int32_t)id };
	MPK_TRY(pool_here(&p, err));
	mpk_strbuf_put_span(&path, folder);
	mpk_strbuf_printf(&path, "/%s", index);
	code = path.failed ? mpk_fail_nomem(err)
			   : mpk_param_file_open(mpk_strbuf_text(&path), read_none, &file, err);
	mpk_strbuf_fini(&path);
	if (code == MPK_OK) {
		code = put_file(p, file, where, err);
		mpk_param_file_drop(file); /* the tensors that refer to the file keep it open */
	}

	/* An error in a file is an error of the call that names the file. */
	if (code == MPK_OK || code == MPK_E_NOMEM || code == MPK_E_DEVICE)
		return code;
	return mpk_relax_raise(err, "ValueError", "%s: %s", name, err->text);
}

static enum mpk_code weight_load(const struct mpk_value *args, size_t count,
				 struct mpk_value *result, struct mpk_error *err)
{
	(void)result;
	return load_index("vm.builtin.tensor_cache.load", "tensor-cache.json", args, count, err);
}

/* The signature up to TVM 0.22. */
static enum mpk_code weight_load_old(const struct mpk_value *args, size_t count,
				     struct mpk_value *result, struct mpk_error *err)
{
	(void)result;
	return load_index("vm.builtin.ndarray_cache.load", "ndarray-cache.json", args, count, err);
}

/* --- several weights -------------------------------------------------------------------------- */

/* Gets PREFIX_0, PREFIX_1, ...: count of them, or all if count is -1. */
static enum mpk_code take_numbered(const struct pool *p, struct mpk_span prefix, int64_t wanted,
				   struct mpk_value *out, struct mpk_error *err)
{
	int64_t count = 0;
	char name[256];

	MPK_TRY(mpk_state_check(prefix.len < sizeof name - 32 && wanted >= -1 &&
					wanted <= INT32_MAX,
				err, "%lld weights of one name", (long long)wanted));
	for (int64_t i = 0; wanted == -1 || i < wanted; i++) {
		(void)snprintf(name, sizeof name, "%.*s_%lld", (int)prefix.len,
			       (const char *)prefix.data, (long long)i);
		if (!find_weight(p, mpk_span_str(name)))
			break;
		count++;
	}
	if (count < wanted)
		return mpk_relax_raise(err, "InternalError", "the pool of weights has no '%s'",
				       MPK_QUOTE(mpk_span_str(name)));
	MPK_TRY(mpk_value_of_array((size_t)count, out, err));
	for (int64_t i = 0; i < count; i++) {
		(void)snprintf(name, sizeof name, "%.*s_%lld", (int)prefix.len,
			       (const char *)prefix.data, (long long)i);
		out->array->items[i] = mpk_value_hold(find_weight(p, mpk_span_str(name))->tensor);
	}
	return MPK_OK;
}

static enum mpk_code numbered(const char *name, const struct mpk_value *args, size_t count,
			      struct mpk_value *out, struct mpk_error *err)
{
	struct mpk_span prefix;
	int64_t wanted;
	struct pool *p;

	MPK_TRY(mpk_relax_arity(name, count, 2, 2, err));
	MPK_TRY(mpk_state_text(name, args, 0, &prefix, err));
	MPK_TRY(mpk_relax_int(name, args, 1, &wanted, err));
	MPK_TRY(pool_here(&p, err));
	return take_numbered(p, prefix, wanted, out, err);
}

static enum mpk_code weights_named(const char *name, const struct mpk_value *names, size_t count,
				   struct mpk_value *out, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_value_drop) struct mpk_value made = { 0 };
	struct pool *p;

	MPK_TRY(pool_here(&p, err));
	MPK_TRY(mpk_value_of_array(count, &made, err));
	for (size_t i = 0; i < count; i++) {
		struct mpk_span key;

		MPK_TRY(mpk_state_text(name, names, i, &key, err));
		MPK_TRY(get_weight(p, key, "ValueError", &made.array->items[i], err));
	}
	*out = made;
	made = (struct mpk_value){ 0 };
	return MPK_OK;
}

static enum mpk_code named_in_array(const char *name, const struct mpk_value *args, size_t count,
				    struct mpk_value *out, struct mpk_error *err)
{
	struct mpk_array *names;

	MPK_TRY(mpk_relax_arity(name, count, 1, 1, err));
	MPK_TRY(mpk_state_array(name, args, 0, &names, err));
	return weights_named(name, names->items, names->count, out, err);
}

static enum mpk_code params(const struct mpk_value *args, size_t count, struct mpk_value *result,
			    struct mpk_error *err)
{
	return numbered("vm.builtin.param_array_from_cache", args, count, result, err);
}

static enum mpk_code params_named(const struct mpk_value *args, size_t count,
				  struct mpk_value *result, struct mpk_error *err)
{
	return named_in_array("vm.builtin.param_array_from_cache_by_name", args, count, result,
			      err);
}

static enum mpk_code params_unpacked(const struct mpk_value *args, size_t count,
				     struct mpk_value *result, struct mpk_error *err)
{
	return weights_named("vm.builtin.param_array_from_cache_by_name_unpacked", args, count,
			     result, err);
}

/* --- weights as a module ---------------------------------------------------------------------- */

/* A module with one function, get_params, which returns the tensors. */
struct params_module {
	struct mpk_module base; /* must be the first field */
	struct mpk_value tensors;
};

struct get_params {
	struct mpk_function base; /* must be the first field */
	struct mpk_value tensors;
};

static enum mpk_code call_get(struct mpk_function *self, const struct mpk_args *args,
			      struct mpk_value *result, struct mpk_error *err)
{
	(void)args;
	(void)err;
	*result = mpk_value_hold(((struct get_params *)self)->tensors);
	return MPK_OK;
}

static void destroy_get(struct mpk_function *self)
{
	mpk_value_drop(&((struct get_params *)self)->tensors);
	free(self);
}

static enum mpk_code find_get(struct mpk_module *self, const char *name, struct mpk_function **out,
			      struct mpk_error *err)
{
	struct get_params *f;

	*out = NULL;
	if (strcmp(name, "get_params") != 0)
		return MPK_OK;
	f = calloc(1, sizeof *f);
	MPK_TRY_ALLOC(f, err);
	f->base = (struct mpk_function){
		.refs = 1, .name = "get_params", .call = call_get, .destroy = destroy_get
	};
	f->tensors = mpk_value_hold(((struct params_module *)self)->tensors);
	*out = &f->base;
	return MPK_OK;
}

static void destroy_params(struct mpk_module *self)
{
	mpk_value_drop(&((struct params_module *)self)->tensors);
	free(self);
}

/* Takes ownership of the tensors. */
static enum mpk_code module_of(struct mpk_value *tensors, struct mpk_value *result,
			       struct mpk_error *err)
{
	struct params_module *m = calloc(1, sizeof *m);

	if (!m) {
		mpk_value_drop(tensors);
		return mpk_fail_nomem(err);
	}
	atomic_init(&m->base.refs, 1);
	m->base.kind = mpk_span_str("param_module");
	m->base.find = find_get;
	m->base.destroy = destroy_params;
	m->tensors = *tensors;
	*result = mpk_value_of_module(&m->base);
	return MPK_OK;
}

static enum mpk_code param_module(const struct mpk_value *args, size_t count,
				  struct mpk_value *result, struct mpk_error *err)
{
	struct mpk_value tensors = { 0 };

	MPK_TRY(numbered("vm.builtin.param_module_from_cache", args, count, &tensors, err));
	return module_of(&tensors, result, err);
}

static enum mpk_code param_module_named(const struct mpk_value *args, size_t count,
					struct mpk_value *result, struct mpk_error *err)
{
	struct mpk_value tensors = { 0 };

	MPK_TRY(named_in_array("vm.builtin.param_module_from_cache_by_name", args, count, &tensors,
			       err));
	return module_of(&tensors, result, err);
}

static const struct mpk_relax_builtin rows[] = {
#define MPK_ROW_weights(...) __VA_ARGS__,
#include "executor/relax/family.def"
};
const struct mpk_relax_builtins mpk_relax_weights_builtins = { rows, MPK_ARRAY_COUNT(rows) };
