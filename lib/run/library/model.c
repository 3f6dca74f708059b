/* SPDX-License-Identifier: Apache-2.0 */
/* model.c - models and their functions: creation, reference counts, sessions
 *
 * Each model has its own runtime, so two models in one process share only the code of this library,
 * and the device of one does not affect the other.
 *
 * A function handle stores everything that calls need and do not change: the inputs to pass, with
 * tuples taken apart, and the bound parameters on their devices.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/lock.h"
#include "elfdyn/elfdyn.h"
#include "executor/executor.h"
#include "executor/machine.h"
#include "io/mapping.h"
#include "library/internal/library.h"
#include "object/exports.h"
#include "runtime/registry.h"
#include "standalone/standalone.h"
#include "text/escape.h"

/* --- inputs ----------------------------------------------------------------------------------- */

/* Sets the inputs of a kernel from the kernel table. */
static enum mpk_code run_kernel_inputs(struct mpkr_function *f, struct mpk_error *err)
{
	size_t count = f->kernel->arg_count;
	struct mpk_type *types = mpk_arena_array(&f->arena, count + 1, sizeof *types);

	f->inputs = mpk_arena_array(&f->arena, count + 1, sizeof *f->inputs);
	MPK_TRY_ALLOC(types && f->inputs, err);
	for (size_t i = 0; i < count; i++) {
		struct mpk_dtype taken = f->kernel->arg_types[i];

		types[i] = (struct mpk_type){ .kind = MPK_TYPE_TENSOR };
		if (taken.code != MPK_DTYPE_HANDLE)
			types[i] = (struct mpk_type){ .kind = MPK_TYPE_SCALAR, .dtype = taken };
		f->inputs[i] = (struct mpk_run_leaf){ .type = &types[i], .name = "" };
	}
	f->input_count = count;
	return MPK_OK;
}

/* --- sessions --------------------------------------------------------------------------------- */

static enum mpk_code run_session_create(struct mpk_run_session **out, struct mpk_error *err)
{
	struct mpk_run_session *session = calloc(1, sizeof *session);

	MPK_TRY_ALLOC(session, err);
	atomic_init(&session->refs, 1);
	mpk_lock_init_checked(&session->lock);
	*out = session;
	return MPK_OK;
}

enum mpk_code mpk_run_enter(const struct mpkr_function *f, struct mpk_error *err)
{
	if (pthread_mutex_lock(&f->session->lock) == 0) {
		f->session->before = mpk_run_takes(f->model);
		return MPK_OK;
	}
	return mpk_fail(
		err, MPK_E_USAGE,
		"a call that is under way in this thread has the session of '%s': open another one",
		MPK_QUOTE(mpk_span_str(f->name)));
}

void mpk_run_leave(const struct mpkr_function *f)
{
	(void)mpk_memory_swap(f->session->before);
	(void)pthread_mutex_unlock(&f->session->lock);
}

struct mpk_memory *mpk_run_lock(struct mpkr_model *model)
{
	(void)pthread_mutex_lock(&model->lock);
	return mpk_run_takes(model);
}

void mpk_run_unlock(struct mpkr_model *model, struct mpk_memory *before)
{
	(void)mpk_memory_swap(before);
	(void)pthread_mutex_unlock(&model->lock);
}

static void run_session_drop(struct mpk_run_session *session)
{
	if (!session || mpk_refs_drop(&session->refs))
		return;
	(void)pthread_mutex_destroy(&session->lock);
	free(session);
}

/* Reads the symbols as the dynamic linker will see them: they tell the place of the blob, its
 * generation, and the functions (object/exports.h). Lists, names and the tree are in one arena, and
 * views refer to the bytes, so a file is freed as one object. */

struct mpk_library_file {
	struct mpk_arena arena;
	struct mpk_mapping mapping; /* closed if the bytes are the caller's */
	struct mpk_elfdyn object;
	struct mpk_tree tree;
	struct mpk_host_code code;
	char *path;
};

/* Frees a file from which no library was opened; NULL does nothing. */
static void library_file_close(struct mpk_library_file *file)
{
	if (!file)
		return;
	mpk_mapping_close(&file->mapping);
	mpk_arena_fini(&file->arena);
	free(file);
}

static void file_release(void *owner)
{
	library_file_close(owner);
}

static enum mpk_code file_functions(struct mpk_library_file *file, const struct mpk_exports *e,
				    struct mpk_error *err)
{
	struct mpk_host_function *functions =
		mpk_arena_array(&file->arena, e->function_count + 1, sizeof *functions);

	MPK_TRY_ALLOC(functions, err);
	for (size_t i = 0; i < e->function_count; i++) {
		const struct mpk_image_function *f = &e->functions[i];

		functions[i] =
			(struct mpk_host_function){ f->name, f->symbol, f->is_entry, f->alias_of };
	}
	file->code.functions = functions;
	file->code.function_count = e->function_count;
	return MPK_OK;
}

static enum mpk_code file_read(struct mpk_library_file *file, struct mpk_span bytes,
			       const char *prefix, struct mpk_error *err)
{
	struct mpk_survey found = { .wanted = prefix };
	struct mpk_exports e;

	MPK_TRY(mpk_elfdyn_read(bytes, &file->arena, &file->object, err));
	const struct mpk_symbol_source source = mpk_elfdyn_source(&file->object);

	MPK_TRY(mpk_symbols_survey(&source, &found, err));
	MPK_TRY(mpk_exports_read(&source, &found, NULL, &file->arena, &e, err));
	if (!e.has_blob && !e.function_count)
		return mpk_fail(err, MPK_E_NO_BLOB,
				"neither a module blob nor a callable function is in it");
	/* a standalone library loads its kernels itself */
	if (e.has_blob && !e.standalone) {
		MPK_TRY(mpk_blob_read(e.blob, e.gen, &file->arena, &file->tree, err));
		file->code.tree = &file->tree;
	}
	file->code.path = file->path;
	file->code.object = &file->object;
	file->code.wants_copy = true;
	file->code.gen = e.gen;
	file->code.convention = e.convention;
	file->code.prefix = e.prefix;
	file->code.owner = file;
	file->code.release = file_release;
	return file_functions(file, &e, err);
}

enum mpk_code mpk_library_file_open(const char *path, struct mpk_span bytes, const char *prefix,
				    struct mpk_library_file **out, struct mpk_error *err)
{
	struct mpk_library_file *file = calloc(1, sizeof *file);
	enum mpk_code rc = MPK_OK;

	MPK_TRY_ALLOC(file, err);
	file->mapping.fd = -1;
	if (path) {
		rc = mpk_mapping_open(path, &file->mapping, err);
		bytes = file->mapping.bytes;
		file->path = mpk_arena_text(&file->arena, mpk_span_str(path));
	}
	if (rc == MPK_OK && path && !file->path)
		rc = mpk_fail_nomem(err);
	if (rc == MPK_OK)
		rc = file_read(file, bytes, prefix, err);
	if (rc != MPK_OK) {
		library_file_close(file);
		return mpk_failed(rc);
	}
	*out = file;
	return MPK_OK;
}

struct mpk_host_code *mpk_library_file_code(struct mpk_library_file *file)
{
	return &file->code;
}

/* --- life ------------------------------------------------------------------------------------- */

struct mpkr_model *mpk_run_model_hold(struct mpkr_model *model)
{
	mpk_refs_hold(&model->refs);
	return model;
}

/* Everything that uses the runtime's memory or code holds the model, so nothing uses it now. */
void mpk_run_model_drop(struct mpkr_model *model)
{
	if (!model || mpk_refs_drop(&model->refs))
		return;
	mpk_kernel_set_fini(&model->kernels);
	mpk_library_close(model->library);
	mpk_runtime_destroy(model->runtime);
	mpk_registry_forget(model);
	while (model->params) {
		struct mpk_run_params *next = model->params->next;

		mpk_param_file_drop(model->params->file);
		free(model->params);
		model->params = next;
	}
	run_session_drop(model->first);
	free(model->entries);
	free(model->required);
	mpk_run_profile_fini(&model->profile);
	mpk_arena_fini(&model->arena);
	(void)pthread_mutex_destroy(&model->lock);
	free(model);
}

void mpkr_close(mpkr_model *model)
{
	mpk_run_model_drop(model);
}

/* --- opening ---------------------------------------------------------------------------------- */

/* The file is read when its library is loaded; the loaded library then owns it. */
enum mpk_code mpk_run_load(struct mpkr_model *model, struct mpk_error *err)
{
	const struct mpk_run_source *from = &model->source;
	struct mpk_library_file *file = NULL;
	enum mpk_code code = MPK_OK;

	if (model->library)
		return MPK_OK;
	code = mpk_library_file_open(from->path, from->memory, from->prefix, &file, err);
	if (code == MPK_OK) {
		file->code.symbol = from->symbol;
		file->code.moved = from->moved;
		if (from->functions) {
			file->code.functions = from->functions;
			file->code.function_count = from->function_count;
		}
		file->code.device_of = from->device_of;
		file->code.device_user = from->device_user;
		file->code.wants_copy = !from->is_alone;
		code = mpk_library_open(model->runtime, &file->code, &model->library, err);
	}
	if (code != MPK_OK) {
		library_file_close(file);
		return mpk_failed(code);
	}
	model->code = &file->code;
	if (!model->tree)
		model->tree = file->code.tree;
	return MPK_OK;
}

static enum mpk_code fill_model(struct mpkr_model *model, struct mpk_error *err)
{
	MPK_TRY(run_session_create(&model->first, err));
	MPK_TRY(mpk_runtime_create(&model->source.runtime, &model->runtime, err));
	return mpk_executors_add(model->runtime, err);
}

enum mpk_code mpk_run_create(const struct mpk_run_source *source, struct mpkr_model **out,
			     struct mpk_error *err)
{
	struct mpkr_model *model = calloc(1, sizeof *model);
	enum mpk_code code;

	MPK_TRY_ALLOC(model, err);
	atomic_init(&model->refs, 1);
	mpk_lock_init_recursive(&model->lock);
	mpk_run_profile_init(&model->profile, model);
	model->source = *source;
	model->tree = source->tree;
	if (!model->source.runtime.call_application)
		model->source.runtime.call_application = mpk_run_call_application;
	model->source.runtime.application = model;
	code = fill_model(model, err);
	if (code != MPK_OK) {
		mpk_run_model_drop(model);
		return mpk_failed(code);
	}
	*out = model;
	return MPK_OK;
}

/* --- what it takes ---------------------------------------------------------------------------- */

/* "?" and "_" are not names: each stands for a different extent. */
static bool put_extents(struct mpkr_function *f, struct mpk_run_leaf *leaf)
{
	const struct mpk_type *t = leaf->type;

	if ((t->kind != MPK_TYPE_TENSOR && t->kind != MPK_TYPE_SHAPE) || !t->ranked || !t->symbols)
		return true;
	leaf->extents = mpk_arena_array(&f->arena, t->ndim + 1, sizeof *leaf->extents);
	for (size_t i = 0; leaf->extents && i < t->ndim; i++) {
		struct mpk_span symbol = mpk_type_symbol(t, i);

		if (!symbol.len || mpk_span_is(symbol, "?") || mpk_span_is(symbol, "_"))
			continue;
		leaf->extents[i] = mpk_arena_text(&f->arena, symbol);
		if (!leaf->extents[i])
			return false;
	}
	return leaf->extents != NULL;
}

/* An element of a tuple gets the name of its field, else that of the tuple. */
static bool put_leaves(struct mpkr_function *f, const struct mpk_type *type, struct mpk_span name,
		       struct mpk_run_leaf **at)
{
	if (type->kind != MPK_TYPE_TUPLE) {
		(*at)->type = type;
		(*at)->name = mpk_arena_text(&f->arena, name);
		return put_extents(f, *at) && (*at)++->name != NULL;
	}
	for (size_t i = 0; i < type->field_count; i++) {
		struct mpk_span own = type->fields[i].name;

		if (!put_leaves(f, &type->fields[i].type, own.len ? own : name, at))
			return false;
	}
	return true;
}

/* @params  count of them, without those that bound marks
 * @leaves, @leaf_count  receive the inputs */
static enum mpk_code take_leaves(struct mpkr_function *f, const struct mpk_param *params,
				 size_t count, const bool *is_bound, struct mpk_run_leaf **leaves,
				 size_t *leaf_count, struct mpk_error *err)
{
	struct mpk_run_leaf *at;
	size_t total = 0;

	for (size_t i = 0; i < count; i++)
		total += is_bound && is_bound[i] ? 0 : mpk_run_count_leaves(&params[i].type);
	*leaves = at = mpk_arena_array(&f->arena, total + 1, sizeof **leaves);
	MPK_TRY_ALLOC(at, err);
	for (size_t i = 0; i < count; i++)
		if (!is_bound || !is_bound[i])
			MPK_TRY_ALLOC(put_leaves(f, &params[i].type, params[i].name, &at), err);
	*leaf_count = total;
	return MPK_OK;
}

static enum mpk_code bind_weights(struct mpkr_function *f, bool *is_bound, struct mpk_error *err)
{
	enum mpk_purpose before = mpk_purpose_swap(MPK_PURPOSE_WEIGHTS);
	enum mpk_code code = f->model->params->bind(f, is_bound, err);

	(void)mpk_purpose_swap(before);
	return code;
}

static enum mpk_code read_signature(struct mpkr_function *f, const struct mpk_run_binding *binding,
				    struct mpk_error *err)
{
	const struct mpk_signature *s = f->function->signature;
	bool *is_bound;

	if (!s && binding)
		MPK_TRY(binding->bind(f, binding->given, err));
	if (!s)
		return f->kernel ? run_kernel_inputs(f, err) : MPK_OK;
	is_bound = mpk_arena_array(&f->arena, s->input_count + 1, sizeof *is_bound);
	f->open = mpk_arena_array(&f->arena, s->input_count + 1, sizeof *f->open);
	f->bound =
		mpk_arena_array(&f->arena, s->input_count + s->param_count + 1, sizeof *f->bound);
	MPK_TRY_ALLOC(is_bound && f->open && f->bound, err);
	if (binding)
		MPK_TRY(binding->bind(f, binding->given, err));
	else if (f->model->params)
		MPK_TRY(bind_weights(f, is_bound, err));
	for (size_t i = 0; i < s->input_count; i++)
		if (!is_bound[i])
			f->open[f->open_count++] = &s->inputs[i].type;
	MPK_TRY(take_leaves(f, s->inputs, s->input_count, is_bound, &f->inputs, &f->input_count,
			    err));
	if (!s->outputs_known)
		return MPK_OK;
	return take_leaves(f, s->outputs, s->output_count, NULL, &f->outputs, &f->output_count,
			   err);
}

/* --- life ------------------------------------------------------------------------------------- */

void mpkr_drop(mpkr_function *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->bound_count; i++)
		mpk_value_drop(&f->bound[i].value);
	mpk_function_drop(f->function);
	run_session_drop(f->session);
	free(f->expected);
	mpk_arena_fini(&f->arena);
	mpk_run_model_drop(f->model);
	free(f);
}

enum mpk_code mpk_run_function_create(struct mpkr_model *model, struct mpk_run_session *session,
				      const char *name, const struct mpk_kernel_found *found,
				      const struct mpk_run_binding *binding,
				      struct mpkr_function **out, struct mpk_error *err)
{
	struct mpkr_function *f = calloc(1, sizeof *f);
	enum mpk_code code;

	if (!f) {
		mpk_function_drop(found->function);
		return mpk_fail_nomem(err);
	}
	f->model = mpk_run_model_hold(model);
	mpk_refs_hold(&session->refs);
	f->session = session;
	f->function = found->function;
	f->kernel = found->info;
	f->where = found->where;
	f->name = mpk_arena_text(&f->arena, mpk_span_str(name));
	code = f->name ? read_signature(f, binding, err) : mpk_fail_nomem(err);
	if (code != MPK_OK) {
		mpkr_drop(f);
		return mpk_failed(code);
	}
	*out = f;
	return MPK_OK;
}

/* --- for callers ------------------------------------------------------------------------------ */

/* Copies what the caller set about the inputs. */
static enum mpk_code copy_expected(const struct mpkr_function *from, struct mpkr_function *to,
				   struct mpk_error *err)
{
	if (!from->expected_count)
		return MPK_OK;
	to->expected = malloc(from->expected_count);
	MPK_TRY_ALLOC(to->expected, err);
	memcpy(to->expected, from->expected, from->expected_count);
	to->expected_count = from->expected_count;
	return MPK_OK;
}

/* The caller holds the model's lock. */
static enum mpk_code open_session(const struct mpkr_function *f, struct mpkr_function **out,
				  struct mpk_error *err)
{
	struct mpk_kernel_found again = { NULL, f->kernel, f->where };
	struct mpk_run_session *session;
	struct mpkr_function *made;
	enum mpk_code code;

	MPK_TRY(mpk_machine_again(f->function, &again.function, err));
	if (!again.function)
		again.function = mpk_function_hold(f->function);
	code = run_session_create(&session, err);
	if (code != MPK_OK) {
		mpk_function_drop(again.function);
		return mpk_failed(code);
	}
	code = mpk_run_function_create(f->model, session, f->name, &again, NULL, &made, err);
	/* the function holds it */
	run_session_drop(session);
	MPK_TRY(code);
	code = copy_expected(f, made, err);
	if (code != MPK_OK) {
		mpkr_drop(made);
		return mpk_failed(code);
	}
	*out = made;
	return MPK_OK;
}

int mpkr_session(mpkr_function *function, mpkr_function **out, struct mpkr_error *err)
{
	struct mpk_memory *before;
	struct mpk_error failure;
	enum mpk_code code;
	bool is_calling;

	if (!function || !out)
		return mpk_run_misuse("a pointer that is needed is NULL", err);
	/* a call in progress may replace the machine, unless the application asks from within that
	 * call */
	is_calling = mpk_run_enter(function, NULL) != MPK_OK;
	before = mpk_run_lock(function->model);
	code = open_session(function, out, &failure);
	mpk_run_unlock(function->model, before);
	if (!is_calling)
		mpk_run_leave(function);
	return code == MPK_OK ? MPKR_OK : mpk_run_report(&failure, err);
}
