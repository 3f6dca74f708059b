/* SPDX-License-Identifier: Apache-2.0 */
/* function.c - functions: found, given a session, dropped
 *
 * A function that a caller holds has what calls of it need and no call changes: the inputs that are open, with
 * tuples taken apart, and the bound parameters, where it wants them.
 */
#include "library/internal/library.h"

#include <stdlib.h>
#include <string.h>

#include "abi/convention.h"
#include "base/refs.h"
#include "executor/machine.h"

/* --- sessions --------------------------------------------------------------------------------- */

enum mpk_code mpk_run_session_create(struct mpk_run_session **out, struct mpk_error *err)
{
	struct mpk_run_session *session = calloc(1, sizeof *session);

	MPK_TRY_ALLOC(session, err);
	atomic_init(&session->refs, 1);
	(void)pthread_mutex_init(&session->lock, NULL);
	*out = session;
	return MPK_OK;
}

void mpk_run_session_drop(struct mpk_run_session *session)
{
	if (!session || mpk_refs_drop(&session->refs))
		return;
	(void)pthread_mutex_destroy(&session->lock);
	free(session);
}

/* --- look-up ---------------------------------------------------------------------------------- */

/* The device is used before the look-up, as code that asks for "the current device" means this one. */
enum mpk_code mpk_run_look_up(struct mpkr_model *model, const char *name, struct mpk_function **out,
			      struct mpk_error *err)
{
	if (!model->is_found)
		MPK_TRY(mpk_run_bind_late(model, model->params, err));
	model->is_found = true;
	MPK_TRY(mpk_devices_use(mpk_runtime_devices(model->runtime), model->where, err));
	return mpk_library_find(model->library, name, out, err);
}

/* Compiled functions do not say in which order they number devices. */
enum mpk_code mpk_run_turn(const struct mpkr_function *f, struct mpk_function **out,
			   struct mpk_error *err)
{
	struct mpkr_model *model = f->model;
	const struct mpk_dldevice turned[] = { { .type = MPK_DL_CPU }, model->where };
	enum mpk_code code, back;

	(void)pthread_mutex_lock(&model->lock);
	code = mpk_runtime_set_devices(model->runtime, turned, MPK_ARRAY_COUNT(turned), err);
	if (code == MPK_OK)
		code = mpk_library_find(model->library, f->name, out, err);
	back = mpk_runtime_set_devices(model->runtime, &model->where, 1, NULL);
	(void)pthread_mutex_unlock(&model->lock);
	(void)back; /* fewer than before always fit */
	return code;
}

/* --- what it takes ---------------------------------------------------------------------------- */

size_t mpk_run_count_leaves(const struct mpk_type *type)
{
	size_t count = 0;

	if (type->kind != MPK_TYPE_TUPLE)
		return 1;
	for (size_t i = 0; i < type->field_count; i++)
		count += mpk_run_count_leaves(&type->fields[i].type);
	return count;
}

/* What is in a tuple has the name of its field, or that of the tuple. */
static bool put_leaves(struct mpkr_function *f, const struct mpk_type *type, struct mpk_span name,
		       struct mpk_run_leaf **at)
{
	if (type->kind != MPK_TYPE_TUPLE) {
		(*at)->type = type;
		(*at)->name = mpk_arena_text(&f->arena, name);
		return (*at)++->name != NULL;
	}
	for (size_t i = 0; i < type->field_count; i++) {
		struct mpk_span own = type->fields[i].name;

		if (!put_leaves(f, &type->fields[i].type, own.len ? own : name, at))
			return false;
	}
	return true;
}

/* @params  count, some left out where bound says that they are
 * @leaves, @leaf_count  receive them */
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

static enum mpk_code read_signature(struct mpkr_function *f, const struct mpk_run_binding *binding,
				    struct mpk_error *err)
{
	const struct mpk_signature *s = f->function->signature;
	bool *is_bound;

	if (!s && binding)
		MPK_TRY(binding->bind(f, binding->given, err));
	if (!s)
		return f->kernel ? mpk_run_kernel_inputs(f, err) : MPK_OK;
	is_bound = mpk_arena_array(&f->arena, s->input_count + 1, sizeof *is_bound);
	f->open = mpk_arena_array(&f->arena, s->input_count + 1, sizeof *f->open);
	f->bound =
		mpk_arena_array(&f->arena, s->input_count + s->param_count + 1, sizeof *f->bound);
	MPK_TRY_ALLOC(is_bound && f->open && f->bound, err);
	if (binding)
		MPK_TRY(binding->bind(f, binding->given, err));
	else
		MPK_TRY(mpk_run_bind_model(f, is_bound, err));
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
	mpk_run_session_drop(f->session);
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

static enum mpk_code find_function(struct mpkr_model *model, const char *name,
				   struct mpkr_function **out, struct mpk_error *err)
{
	struct mpk_kernel_found found = { .where = model->where };

	if (!name) {
		MPK_TRY(mpk_run_list(model, err));
		if (!model->entry_count)
			return mpk_fail(err, MPK_E_NOTFOUND, "no function can be called by name");
		name = model->entries[0].name;
	}
	MPK_TRY(mpk_run_look_up(model, name, &found.function, err));
	return mpk_run_function_create(model, model->first, name, &found, NULL, out, err);
}

int mpkr_find(mpkr_model *model, const char *name, mpkr_function **out, struct mpkr_error *err)
{
	struct mpk_error failure;
	enum mpk_code code;

	if (!model || !out) {
		(void)mpk_fail(&failure, MPK_E_USAGE, "a pointer that is needed is NULL");
		return mpk_run_report(&failure, err);
	}
	(void)pthread_mutex_lock(&model->lock);
	code = find_function(model, name, out, &failure);
	(void)pthread_mutex_unlock(&model->lock);
	return code == MPK_OK ? MPKR_OK : mpk_run_report(&failure, err);
}

/* What was said of inputs holds for the copy, too. */
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

/* The model is locked. */
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
	code = mpk_run_session_create(&session, err);
	if (code != MPK_OK) {
		mpk_function_drop(again.function);
		return mpk_failed(code);
	}
	code = mpk_run_function_create(f->model, session, f->name, &again, NULL, &made, err);
	/* the function holds it */
	mpk_run_session_drop(session);
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
	struct mpk_error failure;
	enum mpk_code code;

	if (!function || !out) {
		(void)mpk_fail(&failure, MPK_E_USAGE, "a pointer that is needed is NULL");
		return mpk_run_report(&failure, err);
	}
	/* a call under way may exchange the machine */
	(void)pthread_mutex_lock(&function->session->lock);
	(void)pthread_mutex_lock(&function->model->lock);
	code = open_session(function, out, &failure);
	(void)pthread_mutex_unlock(&function->model->lock);
	(void)pthread_mutex_unlock(&function->session->lock);
	return code == MPK_OK ? MPKR_OK : mpk_run_report(&failure, err);
}

/* --- what inputs and outputs are to a caller, and what he says of them himself ----------------- */

static enum mpkr_kind public_kind(const struct mpk_type *type)
{
	switch (type->kind) {
	case MPK_TYPE_ANY:
	case MPK_TYPE_NAMED:
		break;
	case MPK_TYPE_TENSOR:
		return MPKR_KIND_TENSOR;
	case MPK_TYPE_SHAPE:
		return MPKR_KIND_SHAPE;
	case MPK_TYPE_SCALAR:
		return MPKR_KIND_NUMBER;
	case MPK_TYPE_STRING:
		return MPKR_KIND_TEXT;
	case MPK_TYPE_TUPLE:
	case MPK_TYPE_FUNCTION:
		return MPKR_KIND_OTHER;
	}
	return MPKR_KIND_ANY;
}

enum mpkr_kind mpk_run_kind(const struct mpkr_function *f, size_t i)
{
	enum mpkr_kind kind = i < f->input_count ? public_kind(f->inputs[i].type) : MPKR_KIND_ANY;

	if (kind == MPKR_KIND_ANY && i < f->expected_count)
		return (enum mpkr_kind)f->expected[i];
	return kind;
}

static void put_extents(const struct mpk_type *type, struct mpkr_type *out)
{
	if (!type->ranked || type->ndim > MPKR_RANK_MAX)
		return;
	out->ndim = (int32_t)type->ndim;
	for (size_t i = 0; i < type->ndim; i++)
		out->shape[i] = mpk_type_symbol(type, i).len ? -1 : type->shape[i];
}

static int describe(const struct mpk_run_leaf *leaf, enum mpkr_kind kind, struct mpkr_type *out)
{
	*out = (struct mpkr_type){
		.kind = kind,
		.name = leaf->name,
		.dtype = mpk_run_public_type(leaf->type->dtype),
		.ndim = -1,
	};
	put_extents(leaf->type, out);
	return MPKR_OK;
}

int mpkr_input(const mpkr_function *f, size_t i, struct mpkr_type *out)
{
	if (!f || !out || i >= f->input_count)
		return MPKR_E_NOT_FOUND;
	return describe(&f->inputs[i], mpk_run_kind(f, i), out);
}

int mpkr_output(const mpkr_function *f, size_t i, struct mpkr_type *out)
{
	if (!f || !out || i >= f->output_count)
		return MPKR_E_NOT_FOUND;
	return describe(&f->outputs[i], public_kind(f->outputs[i].type), out);
}

static enum mpk_code expect_kind(struct mpkr_function *f, size_t i, enum mpkr_kind kind,
				 struct mpk_error *err)
{
	uint8_t *grown;

	if ((unsigned)kind > MPKR_KIND_TEXT)
		return mpk_fail(err, MPK_E_USAGE, "a kind that no input can have: %d", (int)kind);
	if (i >= MPK_ARGS_MAX)
		return mpk_fail(err, MPK_E_USAGE, "input %zu: at most %d are passed", i,
				MPK_ARGS_MAX);
	if (i < f->input_count && public_kind(f->inputs[i].type) != MPKR_KIND_ANY) {
		if (kind == public_kind(f->inputs[i].type))
			return MPK_OK;
		return mpk_fail(err, MPK_E_USAGE, "the file says what input %zu is", i);
	}
	if (i >= f->expected_count) {
		grown = realloc(f->expected, i + 1);
		MPK_TRY_ALLOC(grown, err);
		memset(grown + f->expected_count, MPKR_KIND_ANY, i + 1 - f->expected_count);
		f->expected = grown;
		f->expected_count = i + 1;
	}
	f->expected[i] = (uint8_t)kind;
	return MPK_OK;
}

int mpkr_expect(mpkr_function *f, size_t i, enum mpkr_kind kind, struct mpkr_error *err)
{
	struct mpk_error failure;

	if (!f)
		(void)mpk_fail(&failure, MPK_E_USAGE, "a pointer that is needed is NULL");
	else if (expect_kind(f, i, kind, &failure) == MPK_OK)
		return MPKR_OK;
	return mpk_run_report(&failure, err);
}
