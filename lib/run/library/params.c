/* SPDX-License-Identifier: Apache-2.0 */
/* params.c - parameters from files: constants that a library leaves to them, and inputs of its functions
 *
 * Names decide, as far as there are any. An input that no name finds is one of calls.
 */
#include "library/internal/library.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "executor/relay/relay.h"
#include "npy/npy.h"

/* --- constants that are bound late ------------------------------------------------------------ */

struct late {
	const struct mpk_run_params *params;
	bool is_on_host; /* the model is */
};

static enum mpk_code find_late(void *user, struct mpk_span name, struct mpk_tensor **out,
			       struct mpk_error *err)
{
	const struct late *late = user;
	size_t index;

	for (const struct mpk_run_params *p = late->params; p; p = p->next)
		if (mpk_param_file_find(p->file, name, &index))
			return mpk_param_file_tensor(p->file, index, late->is_on_host, out, err);
	return MPK_OK;
}

enum mpk_code mpk_run_bind_late(struct mpkr_model *model, const struct mpk_run_params *params,
				struct mpk_error *err)
{
	struct late late = { params, mpk_dldevice_is_host(model->where) };

	return params ? mpk_relay_bind_library(model->library, find_late, &late, err) : MPK_OK;
}

/* --- names in a file -------------------------------------------------------------------------- */

/* "fc1.weight" as "fc1_weight": what is no letter or digit of ASCII becomes an underscore. */
static struct mpk_span identifier_of(struct mpk_span name, struct mpk_arena *arena)
{
	char *text = mpk_arena_text(arena, name);

	for (size_t i = 0; text && i < name.len; i++)
		if (!isalnum((unsigned char)text[i]))
			text[i] = '_';
	return mpk_span_of(text, text ? name.len : 0);
}

/* Two tensors of one identifier have none: others might take the one, or the other. */
static void fill_exported(struct mpk_run_finder *f)
{
	size_t count = mpk_param_file_count(f->file), first;

	f->is_ambiguous = mpk_arena_array(f->arena, count + 1, sizeof *f->is_ambiguous);
	f->failed |= !f->is_ambiguous;
	for (size_t i = 0; f->is_ambiguous && i < count; i++) {
		struct mpk_span id = identifier_of(mpk_param_file_name(f->file, i), f->arena);
		int put = id.data ? mpk_strmap_put(&f->exported, id, i, &first) : -1;

		f->failed |= put < 0;
		if (put == 0)
			f->is_ambiguous[first] = true;
	}
}

/* A parameter is "p_" and its identifier in what torch.export makes, a buffer "b_", a constant "c_". */
static bool find_exported(struct mpk_run_finder *f, struct mpk_span name, size_t *index)
{
	bool has_prefix = name.len > 2 && name.data[1] == '_' && memchr("pbc", name.data[0], 3);

	if (!f->is_ambiguous)
		fill_exported(f);
	return f->is_ambiguous &&
	       (mpk_strmap_find(&f->exported, name, index) ||
		(has_prefix &&
		 mpk_strmap_find(&f->exported, mpk_span_of(name.data + 2, name.len - 2), index))) &&
	       !f->is_ambiguous[*index];
}

bool mpk_run_find_param(struct mpk_run_finder *f, struct mpk_span name, size_t *index)
{
	return name.len &&
	       (mpk_param_file_find(f->file, name, index) || find_exported(f, name, index));
}

/* --- binding ---------------------------------------------------------------------------------- */

/* One tensor where its input is wanted: one by one, so that parameters of many GiB are not in memory twice. */
enum mpk_code mpk_run_send_param(const struct mpkr_function *f, const struct mpk_type *type,
				 struct mpk_param_file *file, size_t index, struct mpk_value *out,
				 struct mpk_error *err)
{
	struct mpk_dldevice where = f->where;
	struct mpk_tensor *host;
	enum mpk_code code;

	if (type->kind == MPK_TYPE_TENSOR && type->device && type->device != where.type)
		where = (struct mpk_dldevice){ .type = type->device };
	MPK_TRY(mpk_param_file_tensor(file, index, mpk_dldevice_is_host(where), &host, err));
	code = mpk_run_send(f->model, host, NULL, where, &out->tensor, err);
	mpk_tensor_drop(host);
	MPK_TRY(code);
	mpk_runtime_loaded(f->model->runtime, out->tensor->bytes);
	out->kind = MPK_VALUE_TENSOR;
	return MPK_OK;
}

/* Of a name in several files the one that was bound last counts. */
static enum mpk_code bind_named(struct mpkr_function *f, const struct mpk_param *inputs,
				size_t count, struct mpk_run_finder *finder, bool *is_bound,
				struct mpk_error *err)
{
	size_t index;

	for (size_t i = 0; i < count; i++) {
		struct mpk_run_bound *b = &f->bound[f->bound_count];

		if (is_bound[i] || inputs[i].type.kind == MPK_TYPE_TUPLE ||
		    !mpk_run_find_param(finder, inputs[i].name, &index))
			continue;
		MPK_TRY(mpk_run_send_param(f, &inputs[i].type, finder->file, index, &b->value,
					   err));
		b->name = inputs[i].name;
		f->bound_count++;
		is_bound[i] = true;
	}
	return finder->failed ? mpk_fail_nomem(err) : MPK_OK;
}

enum mpk_code mpk_run_bind_model(struct mpkr_function *f, bool *is_bound, struct mpk_error *err)
{
	const struct mpk_signature *s = f->function->signature;
	bool *is_param_bound =
		mpk_arena_array(&f->arena, s->param_count + 1, sizeof *is_param_bound);
	enum mpk_code code = MPK_OK;

	MPK_TRY_ALLOC(is_param_bound, err);
	for (const struct mpk_run_params *p = f->model->params; p && code == MPK_OK; p = p->next) {
		struct mpk_run_finder finder = { .file = p->file, .arena = &f->arena };

		code = bind_named(f, s->inputs, s->input_count, &finder, is_bound, err);
		if (code == MPK_OK)
			code = bind_named(f, s->params, s->param_count, &finder, is_param_bound,
					  err);
		mpk_strmap_fini(&finder.exported);
	}
	return code;
}

/* A member that is not compressed: the library links no zlib. */
static enum mpk_code read_stored(struct mpk_span zip, const struct mpk_zip_member *m,
				 struct mpk_arena *arena, struct mpk_span *out,
				 struct mpk_error *err)
{
	static const struct mpk_zip_options options = { .space = "npz",
							.advice = "save it with numpy.savez" };

	(void)arena; /* a view needs no memory */
	return mpk_zip_stored(zip, m, &options, out, err);
}

static enum mpk_code bind_file(struct mpkr_model *model, const char *path, struct mpk_error *err)
{
	struct mpk_run_params *p;
	enum mpk_code code;

	if (model->is_found)
		return mpk_fail(err, MPK_E_USAGE,
				"parameters are bound before a function is found");
	p = calloc(1, sizeof *p);
	MPK_TRY_ALLOC(p, err);
	code = mpk_param_file_open_as(path, read_stored, &p->file, err);
	if (code != MPK_OK) {
		free(p);
		return mpk_failed(code);
	}
	p->next = model->params;
	model->params = p;
	return MPK_OK;
}

int mpkr_bind_params(mpkr_model *model, const char *path, struct mpkr_error *err)
{
	struct mpk_error failure;
	enum mpk_code code;

	if (!model || !path) {
		(void)mpk_fail(&failure, MPK_E_USAGE, "a pointer that is needed is NULL");
		return mpk_run_report(&failure, err);
	}
	(void)pthread_mutex_lock(&model->lock);
	code = bind_file(model, path, &failure);
	(void)pthread_mutex_unlock(&model->lock);
	return code == MPK_OK ? MPKR_OK : mpk_run_report(&failure, err);
}
