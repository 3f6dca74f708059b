/* SPDX-License-Identifier: Apache-2.0 */
/* given.c - finds functions together with data from the caller: kernels with their launch extents,
 * models with parameters for one call
 *
 * Normally host code computes the launch extents from the shapes of its tensors. Without host code,
 * the caller gives them once, when the kernel is found; a call then passes only the kernel's own
 * parameters.
 *
 * The caller of a model says which inputs it gives itself; all others must come from the file of
 * parameters. All mismatches are reported at once, because one mistake usually affects many inputs:
 * missing tensors, wrong types or shapes, and tensors that no input uses, which are often the
 * missing ones under another name.
 */
#include "library/internal/library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "text/escape.h"
#include "text/phrase.h"

/* The inputs of a function, and the source of each. */
struct inputs {
	const struct mpk_run_given *given;
	struct mpk_arena *arena;
	struct mpk_run_finder finder;
	struct mpk_run_choice *chosen;
	size_t chosen_count;
	const struct mpk_param **left; /* inputs without a value by name; in order */
	size_t left_count;
	struct mpk_strbuf wrong; /* messages about tensors that do not fit their inputs */
	size_t wrong_count;
	bool failed; /* memory is out */
};

enum { WRONG_MAX = 8 }; /* listed; further ones are only counted */

/* --- by name -------------------------------------------------------------------------------- */

static bool arguments_is_named(const struct mpk_run_given *given, struct mpk_span name)
{
	for (size_t i = 0; given->names && i < given->count; i++)
		if (given->names[i].len && mpk_span_equal(given->names[i], name))
			return true;
	return false;
}

static bool find_numbered(const struct inputs *in, size_t number, size_t *index)
{
	char name[32];

	(void)snprintf(name, sizeof name, "param_%zu", number);
	return mpk_param_file_find(in->given->params, mpk_span_str(name), index);
}

/* --- whether it fits -------------------------------------------------------------------------- */

/* Checks a tensor against its input. Properties that are unknown before unpacking are checked at
 * the call. */
static void check_fit(struct inputs *in, struct mpk_span name, const struct mpk_type *t,
		      size_t index)
{
	struct mpk_param_entry p = mpk_param_file_entry(in->given->params, index);

	if (mpk_run_fits_type(t, &p))
		return;
	if (in->wrong_count++ >= WRONG_MAX)
		return;

	struct mpk_type has = mpk_type_tensor(p.dtype, p.shape, p.ndim, NULL);

	mpk_strbuf_puts(&in->wrong, in->wrong_count > 1 ? "; " : "");
	mpk_escape(&in->wrong, name);
	mpk_strbuf_puts(&in->wrong, " is ");
	mpk_type_text(&has, &in->wrong);
	mpk_strbuf_puts(&in->wrong, ", not ");
	mpk_type_text(t, &in->wrong);
}

/* --- choices ---------------------------------------------------------------------------------- */

static void add_choice(struct inputs *in, const struct mpk_param *input, const size_t *indices,
		       size_t count)
{
	in->chosen[in->chosen_count++] =
		(struct mpk_run_choice){ input, indices, indices ? count : 0 };
}

static void choose_one(struct inputs *in, const struct mpk_param *input, size_t index)
{
	size_t *indices = mpk_arena_keep(in->arena, &index, 1, sizeof index);

	in->failed |= !indices;
	add_choice(in, input, indices, 1);
	check_fit(in, input->name, &input->type, index);
}

/* A value named by the call takes precedence over the file. */
static bool choose_by_name(struct inputs *in, const struct mpk_param *input)
{
	size_t index;

	if (arguments_is_named(in->given, input->name))
		return true;
	if (input->type.kind == MPK_TYPE_TUPLE ||
	    !mpk_run_find_param(&in->finder, input->name, &index))
		return false;
	choose_one(in, input, index);
	return true;
}

/* Finds the tensors of a tuple: by the names of its fields, by numbers, or all tensors of the file
 * in order. */
static bool find_field(struct inputs *in, const struct mpk_type *tuple, size_t field, size_t *index)
{
	if (mpk_run_find_param(&in->finder, tuple->fields[field].name, index) ||
	    find_numbered(in, field, index))
		return true;
	*index = field;
	return mpk_param_file_count(in->given->params) == tuple->field_count;
}

static bool choose_tuple(struct inputs *in, const struct mpk_param *input)
{
	const struct mpk_type *t = &input->type;
	size_t *indices;

	if (t->kind != MPK_TYPE_TUPLE || !input->name.len || !t->field_count)
		return false;
	indices = mpk_arena_array(in->arena, t->field_count, sizeof *indices);
	in->failed |= !indices;
	for (size_t i = 0; indices && i < t->field_count; i++)
		if (!find_field(in, t, i, &indices[i]))
			return false;
	for (size_t i = 0; indices && i < t->field_count; i++)
		check_fit(in, mpk_param_file_entry(in->given->params, indices[i]).name,
			  &t->fields[i].type, indices[i]);
	add_choice(in, input, indices, t->field_count);
	return true;
}

static size_t count_unnamed(const struct mpk_run_given *given)
{
	size_t count = 0;

	for (size_t i = 0; i < given->count; i++)
		count += !given->names || !given->names[i].len;
	return count;
}

/* Weights usually follow other inputs, so the last open inputs are filled first. */
static void choose_left(struct inputs *in)
{
	size_t given = count_unnamed(in->given), numbered = 0, index;

	for (size_t i = in->left_count; i-- > 0 && in->left_count > given;)
		if (choose_tuple(in, in->left[i])) {
			memmove(&in->left[i], &in->left[i + 1],
				(in->left_count - i - 1) * sizeof *in->left);
			in->left_count--;
		}
	while (numbered + given < in->left_count && find_numbered(in, numbered, &index))
		numbered++;
	if (!numbered || numbered + given != in->left_count)
		return;
	for (size_t i = 0; i < numbered; i++) {
		const struct mpk_param *input = in->left[given + i];

		if (!input->name.len || input->type.kind == MPK_TYPE_TUPLE)
			return;
	}
	for (size_t i = 0; i < numbered; i++)
		if (find_numbered(in, i, &index))
			choose_one(in, in->left[given + i], index);
	in->left_count = given;
}

/* --- messages --------------------------------------------------------------------------------- */

/* Lists unused names of the file: a missing tensor often has one of them. */
static void put_unused(const struct inputs *in, struct mpk_strbuf *out)
{
	size_t count = mpk_param_file_count(in->given->params), unused = 0;
	bool *used = mpk_arena_array(in->arena, count + 1, sizeof *used);
	struct mpk_span *names = mpk_arena_array(in->arena, count + 1, sizeof *names);

	if (!used || !names)
		return;
	for (size_t i = 0; i < in->chosen_count; i++)
		for (size_t k = 0; k < in->chosen[i].count; k++)
			used[in->chosen[i].indices[k]] = true;
	for (size_t i = 0; i < count; i++)
		if (!used[i])
			names[unused++] = mpk_param_file_entry(in->given->params, i).name;
	if (!unused)
		return;
	mpk_strbuf_puts(out, "; it also has: ");
	mpk_put_names(out, names, unused);
}

/* Reports all missing inputs at once. */
static enum mpk_code refuse_params(const struct inputs *in, size_t given, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };
	const char *path = mpk_param_file_path(in->given->params);
	size_t missing = given < in->left_count ? in->left_count - given : 0;
	struct mpk_span *names = mpk_arena_array(in->arena, missing + 1, sizeof *names);

	MPK_TRY_ALLOC(names, err);
	for (size_t i = 0; i < missing; i++)
		names[i] = in->left[given + i]->name;
	if (missing) {
		mpk_strbuf_puts(&text, "inputs that neither '");
		mpk_escape(&text, mpk_span_str(path));
		mpk_strbuf_puts(&text, "' nor the call gives: ");
		mpk_put_names(&text, names, missing);
	}
	if (in->wrong_count)
		mpk_strbuf_printf(&text, "%stensors that are not what the inputs take: %s",
				  missing ? "; " : "", mpk_strbuf_text(&in->wrong));
	if (in->wrong_count > WRONG_MAX)
		mpk_strbuf_printf(&text, "; and %zu more", in->wrong_count - WRONG_MAX);
	if (missing)
		put_unused(in, &text);
	return mpk_fail(err, MPK_E_USAGE, "%s", mpk_strbuf_text(&text));
}

static enum mpk_code left_over(const struct inputs *in, size_t given, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf names = { 0 };
	const char *path = mpk_param_file_path(in->given->params);
	struct mpk_span *list = mpk_arena_array(in->arena, in->left_count + 1, sizeof *list);

	MPK_TRY_ALLOC(list, err);
	for (size_t i = 0; i < in->left_count; i++)
		list[i] = in->left[i]->name;
	if (in->left_count)
		mpk_strbuf_puts(&names, ": ");
	mpk_put_names(&names, list, in->left_count);
	return mpk_fail(err, MPK_E_USAGE,
			"%zu value%s without a name for %zu input%s that '%s' leaves open%s", given,
			given == 1 ? "" : "s", in->left_count, in->left_count == 1 ? "" : "s",
			MPK_QUOTE(mpk_span_str(path)), mpk_strbuf_text(&names));
}

static enum mpk_code choose_all(struct inputs *in, const struct mpk_signature *m,
				struct mpk_error *err)
{
	size_t count = m->input_count + m->param_count, given = count_unnamed(in->given);

	in->chosen = mpk_arena_array(in->arena, count + 1, sizeof *in->chosen);
	in->left = mpk_arena_array(in->arena, m->input_count + 1, sizeof *in->left);
	MPK_TRY_ALLOC(in->chosen && in->left, err);
	for (size_t i = 0; i < m->input_count; i++)
		if (!choose_by_name(in, &m->inputs[i]))
			in->left[in->left_count++] = &m->inputs[i];
	for (size_t i = 0; i < m->param_count; i++)
		(void)choose_by_name(in, &m->params[i]);
	choose_left(in);
	MPK_TRY_ALLOC(!in->failed && !in->finder.failed && !in->wrong.failed, err);
	/* Values without a name fill, in order, the inputs that have no other source. */
	if (given < in->left_count || in->wrong_count)
		return refuse_params(in, given, err);
	return given > in->left_count ? left_over(in, given, err) : MPK_OK;
}

enum mpk_code mpk_run_choose(const struct mpk_run_given *given, const struct mpk_signature *m,
			     struct mpk_arena *arena, const struct mpk_run_choice **out,
			     size_t *count, struct mpk_error *err)
{
	struct inputs in = { .given = given,
			     .arena = arena,
			     .finder = { .file = given->params, .arena = arena } };
	enum mpk_code code = choose_all(&in, m, err);

	mpk_strmap_fini(&in.finder.exported);
	mpk_strbuf_fini(&in.wrong);
	*out = in.chosen;
	*count = in.chosen_count;
	return code;
}

/* --- binding ---------------------------------------------------------------------------------- */

static enum mpk_code bind_choice(struct mpkr_function *f, struct mpk_param_file *file,
				 const struct mpk_run_choice *chosen, struct mpk_error *err)
{
	struct mpk_run_bound *b = &f->bound[f->bound_count];
	const struct mpk_type *type = &chosen->input->type;

	if (type->kind == MPK_TYPE_TUPLE)
		MPK_TRY(mpk_value_of_array(chosen->count, &b->value, err));
	b->name = chosen->input->name;
	f->bound_count++; /* from here on it is freed with the others */
	if (type->kind != MPK_TYPE_TUPLE)
		return mpk_run_send_param(f, type, file, chosen->indices[0], &b->value, err);
	for (size_t i = 0; i < chosen->count; i++)
		MPK_TRY(mpk_run_send_param(f, &type->fields[i].type, file, chosen->indices[i],
					   &b->value.array->items[i], err));
	return MPK_OK;
}

static enum mpk_code bind_call(struct mpkr_function *f, const struct mpk_run_given *given,
			       struct mpk_error *err)
{
	const struct mpk_signature *m = f->function->signature;
	struct mpk_param_file *file = given->params;
	const struct mpk_run_choice *chosen;
	size_t count;

	if (!file || (!m && given->is_for_models))
		return MPK_OK;
	if (!m)
		return mpk_fail(
			err, MPK_E_USAGE,
			"'%s' is no model: its arguments have no names that parameters of a file could have",
			MPK_QUOTE(mpk_span_str(f->name)));
	MPK_TRY(mpk_run_choose(given, m, &f->arena, &chosen, &count, err));
	for (size_t i = 0; given->to_load && i < count; i++)
		for (size_t k = 0; k < chosen[i].count; k++)
			given->to_load(given->user,
				       mpk_param_file_entry(file, chosen[i].indices[k]).bytes);
	for (size_t i = 0; i < count; i++)
		MPK_TRY(bind_choice(f, file, &chosen[i], err));
	return MPK_OK;
}

/* --- kernels by themselves -------------------------------------------------------------------- */

static enum mpk_code take_launch(const struct mpkr_launch *from, struct mpk_kernel_extents *out,
				 struct mpk_error *err)
{
	*out = (struct mpk_kernel_extents){ 0 };
	if (!from)
		return MPK_OK;
	if (from->size < sizeof *from)
		return mpk_fail(err, MPK_E_USAGE, "a launch of %zu bytes: set its size",
				from->size);
	memcpy(out->grid, from->grid, sizeof out->grid);
	memcpy(out->block, from->block, sizeof out->block);
	out->shared_bytes = from->shared_bytes;
	return MPK_OK;
}

/* The model's device decides where its tensors go. If it was only guessed, kernels for another
 * device can still be called. */
static enum mpk_code run_find_kernel(struct mpkr_model *model, const char *name,
				     const struct mpk_kernel_extents *extents,
				     struct mpk_kernel_found *out, struct mpk_error *err)
{
	static const struct mpk_dldevice any;
	struct mpk_dldevice asked = model->is_guess ? any : model->where;
	enum mpk_code code;

	if (!model->tree)
		return mpk_fail(err, MPK_E_NOTFOUND,
				"no kernel '%s': the library has no blob, so there are no modules",
				MPK_QUOTE(mpk_span_str(name)));
	model->kernels.runtime = model->runtime;
	model->kernels.tree = model->tree;
	MPK_TRY(mpk_kernel_set_find(&model->kernels, name, extents, asked, out, err));
	code = mpk_devices_use(mpk_runtime_devices(model->runtime), out->where, err);
	if (code != MPK_OK)
		mpk_function_drop(out->function);
	return code;
}

static enum mpk_code find_launched(struct mpkr_model *model, const char *name,
				   const struct mpkr_launch *launch, struct mpkr_function **out,
				   struct mpk_error *err)
{
	struct mpk_kernel_extents extents;
	struct mpk_kernel_found found;

	MPK_TRY(take_launch(launch, &extents, err));
	MPK_TRY(run_find_kernel(model, name, &extents, &found, err));
	return mpk_run_function_create(model, model->first, name, &found, NULL, out, err);
}

int mpkr_find_kernel(mpkr_model *model, const char *name, const struct mpkr_launch *launch,
		     mpkr_function **out, struct mpkr_error *err)
{
	struct mpk_memory *before;
	struct mpk_error failure;
	enum mpk_code code;

	if (!model || !name || !out)
		return mpk_run_misuse("a pointer that is needed is NULL", err);
	before = mpk_run_lock(model);
	code = find_launched(model, name, launch, out, &failure);
	mpk_run_unlock(model, before);
	return code == MPK_OK ? MPKR_OK : mpk_run_report(&failure, err);
}

/* --- look-up ---------------------------------------------------------------------------------- */

enum mpk_code mpk_run_find(mpkr_model *model, const char *name,
			   const struct mpk_kernel_extents *extents,
			   const struct mpk_run_given *given, mpkr_function **out,
			   struct mpk_error *err)
{
	const struct mpk_run_params late = { .file = given->params };
	const struct mpk_run_binding binding = { bind_call, given };
	struct mpk_kernel_found found = { .where = given->where };

	MPK_TRY(mpk_run_set_device(model, given->where, given->is_guess, err));
	if (extents) {
		MPK_TRY(run_find_kernel(model, name, extents, &found, err));
	} else {
		if (given->params && given->params != model->late)
			MPK_TRY(mpk_run_bind_late(model, &late, err));
		model->late = given->params;
		MPK_TRY(mpk_run_look_up(model, name, &found.function, err));
	}
	return mpk_run_function_create(model, model->first, name, &found, &binding, out, err);
}

struct mpk_run_facts mpk_run_facts(const mpkr_function *f)
{
	return (struct mpk_run_facts){ f->function, f->where,
				       mpk_runtime_devices(f->model->runtime) };
}
