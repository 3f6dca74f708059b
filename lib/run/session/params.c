/* SPDX-License-Identifier: Apache-2.0 */
/* params.c - which tensors of a file of parameters the inputs of a function take
 *
 * Names decide, as far as there are any. What does not fit is said all at once, because whoever feeds a model from a
 * file has one mistake in a hundred places: the missing, those of another type or shape, and what the file has that
 * nobody wants, as that is often the same under another name. */
#include "session/internal/session.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/strmap.h"
#include "text/escape.h"
#include "text/phrase.h"
#include "value/param_file.h"

/* The inputs of a function, and what becomes of them. */
struct inputs {
	const struct mpk_call *call;
	struct mpk_arena *arena;
	struct mpk_strmap
		exported;   /* identifiers of tensors -> index; filled when they are needed */
	bool *is_ambiguous; /* of each tensor: another one has its identifier; NULL: not filled */
	struct mpk_param_choice *chosen;
	size_t chosen_count;
	const struct mpk_param **left; /* nothing has a value for them by name; in order */
	size_t left_count;
	struct mpk_strbuf wrong; /* what does not fit its input */
	size_t wrong_count;
	bool failed; /* memory is out */
};

enum { WRONG_MAX = 8 }; /* are said, and how many more */

/* --- by name -------------------------------------------------------------------------------- */

static bool arguments_is_named(const struct mpk_call *call, struct mpk_span name)
{
	for (size_t i = 0; call->names && i < call->arg_count; i++)
		if (call->names[i].len && mpk_span_equal(call->names[i], name))
			return true;
	return false;
}

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
static void fill_exported(struct inputs *in)
{
	size_t count = mpk_param_file_count(in->call->params), first;

	in->is_ambiguous = mpk_arena_array(in->arena, count + 1, sizeof *in->is_ambiguous);
	in->failed |= !in->is_ambiguous;
	for (size_t i = 0; in->is_ambiguous && i < count; i++) {
		struct mpk_span id =
			identifier_of(mpk_param_file_name(in->call->params, i), in->arena);
		int put = id.data ? mpk_strmap_put(&in->exported, id, i, &first) : -1;

		in->failed |= put < 0;
		if (put == 0)
			in->is_ambiguous[first] = true;
	}
}

/* A parameter is "p_" and its identifier in what torch.export makes, a buffer "b_", a constant "c_". */
static bool find_exported(struct inputs *in, struct mpk_span name, size_t *index)
{
	bool has_prefix = name.len > 2 && name.data[1] == '_' && memchr("pbc", name.data[0], 3);

	if (!in->is_ambiguous)
		fill_exported(in);
	return in->is_ambiguous &&
	       (mpk_strmap_find(&in->exported, name, index) ||
		(has_prefix && mpk_strmap_find(&in->exported,
					       mpk_span_of(name.data + 2, name.len - 2), index))) &&
	       !in->is_ambiguous[*index];
}

static bool find_tensor(struct inputs *in, struct mpk_span name, size_t *index)
{
	return name.len && (mpk_param_file_find(in->call->params, name, index) ||
			    find_exported(in, name, index));
}

static bool find_numbered(const struct inputs *in, size_t number, size_t *index)
{
	char name[32];

	(void)snprintf(name, sizeof name, "param_%zu", number);
	return mpk_param_file_find(in->call->params, mpk_span_str(name), index);
}

/* --- whether it fits -------------------------------------------------------------------------- */

static bool fits(const struct mpk_type *t, struct mpk_dtype dtype, const int64_t *shape,
		 size_t ndim)
{
	if (t->kind != MPK_TYPE_TENSOR)
		return true;
	if (t->dtype.bits && !mpk_dtype_equal(t->dtype, dtype) &&
	    !(mpk_dtype_is_bool(t->dtype) && mpk_dtype_is_bool(dtype)))
		return false;
	if (!t->ranked)
		return true;
	for (size_t i = 0; t->ndim == ndim && i < ndim; i++)
		if (!mpk_type_symbol(t, i).len && t->shape[i] != shape[i])
			return false;
	return t->ndim == ndim;
}

/* What cannot be known without unpacking it is held against its input when it is called. */
static void check_fit(struct inputs *in, struct mpk_span name, const struct mpk_type *t,
		      size_t index)
{
	struct mpk_dtype dtype;
	const int64_t *shape;
	size_t ndim;

	if (!mpk_param_file_type(in->call->params, index, &dtype, &shape, &ndim) ||
	    fits(t, dtype, shape, ndim))
		return;
	if (in->wrong_count++ >= WRONG_MAX)
		return;

	struct mpk_type has = mpk_type_tensor(dtype, shape, ndim, NULL);

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
		(struct mpk_param_choice){ .name = input->name,
					   .is_tuple = input->type.kind == MPK_TYPE_TUPLE,
					   .indices = indices,
					   .count = indices ? count : 0 };
}

static void choose_one(struct inputs *in, const struct mpk_param *input, size_t index)
{
	size_t *indices = mpk_arena_keep(in->arena, &index, 1, sizeof index);

	in->failed |= !indices;
	add_choice(in, input, indices, 1);
	check_fit(in, input->name, &input->type, index);
}

/* What the call names itself comes before the file. */
static bool choose_by_name(struct inputs *in, const struct mpk_param *input)
{
	size_t index;

	if (arguments_is_named(in->call, input->name))
		return true;
	if (input->type.kind == MPK_TYPE_TUPLE || !find_tensor(in, input->name, &index))
		return false;
	choose_one(in, input, index);
	return true;
}

/* The tensors of a tuple: by the names of its fields, by numbers, or all of the file. */
static bool find_field(struct inputs *in, const struct mpk_type *tuple, size_t field, size_t *index)
{
	if (find_tensor(in, tuple->fields[field].name, index) || find_numbered(in, field, index))
		return true;
	*index = field;
	return mpk_param_file_count(in->call->params) == tuple->field_count;
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
		check_fit(in, mpk_param_file_name(in->call->params, indices[i]), &t->fields[i].type,
			  indices[i]);
	add_choice(in, input, indices, t->field_count);
	return true;
}

static size_t count_unnamed(const struct mpk_call *call)
{
	size_t count = 0;

	for (size_t i = 0; i < call->arg_count; i++)
		count += !call->names || !call->names[i].len;
	return count;
}

/* Weights follow other inputs by custom, so what is still open at the end is filled first. */
static void choose_left(struct inputs *in)
{
	size_t given = count_unnamed(in->call), numbered = 0, index;

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

/* --- what is said ------------------------------------------------------------------------------ */

/* Names that nobody asked for, if there are any: often what is missing has one of them. */
static void put_unused(const struct inputs *in, struct mpk_strbuf *out)
{
	size_t count = mpk_param_file_count(in->call->params), unused = 0;
	bool *used = mpk_arena_array(in->arena, count + 1, sizeof *used);
	struct mpk_span *names = mpk_arena_array(in->arena, count + 1, sizeof *names);

	if (!used || !names)
		return;
	for (size_t i = 0; i < in->chosen_count; i++)
		for (size_t k = 0; k < in->chosen[i].count; k++)
			used[in->chosen[i].indices[k]] = true;
	for (size_t i = 0; i < count; i++)
		if (!used[i])
			names[unused++] = mpk_param_file_name(in->call->params, i);
	if (!unused)
		return;
	mpk_strbuf_puts(out, "; it also has: ");
	mpk_put_names(out, names, unused);
}

/* All at once: users fill them in one go. */
static enum mpk_code refuse_params(const struct inputs *in, size_t given, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };
	const char *path = mpk_param_file_path(in->call->params);
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
	const char *path = mpk_param_file_path(in->call->params);
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
	size_t count = m->input_count + m->param_count, given = count_unnamed(in->call);

	in->chosen = mpk_arena_array(in->arena, count + 1, sizeof *in->chosen);
	in->left = mpk_arena_array(in->arena, m->input_count + 1, sizeof *in->left);
	MPK_TRY_ALLOC(in->chosen && in->left, err);
	for (size_t i = 0; i < m->input_count; i++)
		if (!choose_by_name(in, &m->inputs[i]))
			in->left[in->left_count++] = &m->inputs[i];
	for (size_t i = 0; i < m->param_count; i++)
		(void)choose_by_name(in, &m->params[i]);
	choose_left(in);
	MPK_TRY_ALLOC(!in->failed && !in->wrong.failed, err);
	/* Values without a name fill, in order, the inputs that nothing else gives. */
	if (given < in->left_count || in->wrong_count)
		return refuse_params(in, given, err);
	return given > in->left_count ? left_over(in, given, err) : MPK_OK;
}

enum mpk_code mpk_params_choose(const struct mpk_call *call, const struct mpk_signature *m,
				struct mpk_arena *arena, const struct mpk_param_choice **out,
				size_t *count, struct mpk_error *err)
{
	struct inputs in = { .call = call, .arena = arena };
	enum mpk_code code;

	if (!m)
		return mpk_fail(
			err, MPK_E_USAGE,
			"'%s' is no model: its arguments have no names that parameters of a file could have",
			MPK_QUOTE(mpk_span_str(call->function)));
	code = choose_all(&in, m, err);
	mpk_strmap_fini(&in.exported);
	mpk_strbuf_fini(&in.wrong);
	MPK_TRY(code);
	*out = in.chosen;
	*count = in.chosen_count;
	return MPK_OK;
}
