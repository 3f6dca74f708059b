/* SPDX-License-Identifier: Apache-2.0 */
#include "session/internal/params.h"

#include <stdlib.h>

#include "executor/relay/relay.h"
#include "text/escape.h"
#include "text/phrase.h"
#include "value/param_file.h"

/* The inputs of a function, and what becomes of them. */
struct inputs {
	const struct mpk_call *call;
	struct mpk_param_choice *chosen;
	size_t chosen_count;
	struct mpk_span *left; /* nothing has a value for them by name; in order */
	size_t left_count;
};

static bool is_named(const struct mpk_call *call, struct mpk_span name)
{
	for (size_t i = 0; call->names && i < call->arg_count; i++)
		if (call->names[i].len && mpk_span_equal(call->names[i], name))
			return true;
	return false;
}

static bool choose(struct inputs *in, struct mpk_span name)
{
	struct mpk_param_choice *c = &in->chosen[in->chosen_count];

	c->name = name;
	if (is_named(in->call, name))
		return true;
	if (!name.len || !mpk_param_file_find(in->call->params, name, &c->index))
		return false;
	in->chosen_count++;
	return true;
}

static size_t count_unnamed(const struct mpk_call *call)
{
	size_t count = 0;

	for (size_t i = 0; i < call->arg_count; i++)
		count += !call->names || !call->names[i].len;
	return count;
}

static enum mpk_code missing(const struct inputs *in, size_t given, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf names = { 0 };
	const char *path = mpk_param_file_path(in->call->params);

	mpk_put_names(&names, in->left + given, in->left_count - given);
	return mpk_fail(err, MPK_E_USAGE, "inputs that neither '%s' nor the call gives: %s",
			MPK_QUOTE(mpk_span_str(path)), mpk_strbuf_text(&names));
}

static enum mpk_code left_over(const struct inputs *in, size_t given, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf names = { 0 };
	const char *path = mpk_param_file_path(in->call->params);

	if (in->left_count)
		mpk_strbuf_puts(&names, ": ");
	mpk_put_names(&names, in->left, in->left_count);
	return mpk_fail(err, MPK_E_USAGE,
			"%zu value%s without a name for %zu input%s that '%s' leaves open%s", given,
			given == 1 ? "" : "s", in->left_count, in->left_count == 1 ? "" : "s",
			MPK_QUOTE(mpk_span_str(path)), mpk_strbuf_text(&names));
}

static enum mpk_code check_left(const struct inputs *in, struct mpk_error *err)
{
	size_t given = count_unnamed(in->call);

	if (given < in->left_count)
		return missing(in, given, err);
	return given > in->left_count ? left_over(in, given, err) : MPK_OK;
}

enum mpk_code mpk_params_choose(const struct mpk_call *call, const struct mpk_signature *m,
				struct mpk_param_choice **out, size_t *count, struct mpk_error *err)
{
	struct inputs in = { .call = call };
	enum mpk_code code = MPK_OK;

	if (!m)
		return mpk_fail(
			err, MPK_E_USAGE,
			"'%s' is no model: its arguments have no names that parameters of a file could have",
			MPK_QUOTE(mpk_span_str(call->function)));
	in.chosen = calloc(m->input_count + m->param_count + 1, sizeof *in.chosen);
	in.left = calloc(m->input_count + 1, sizeof *in.left);
	if (!in.chosen || !in.left)
		code = mpk_fail_nomem(err);
	for (size_t i = 0; code == MPK_OK && i < m->input_count; i++)
		if (!choose(&in, m->inputs[i].name))
			in.left[in.left_count++] = m->inputs[i].name;
	for (size_t i = 0; code == MPK_OK && i < m->param_count; i++)
		(void)choose(&in, m->params[i].name);
	if (code == MPK_OK)
		code = check_left(&in, err);
	free(in.left);
	if (code != MPK_OK) {
		free(in.chosen);
		return mpk_failed(code);
	}
	*out = in.chosen;
	*count = in.chosen_count;
	return MPK_OK;
}

/* --- late-bound constants ------------------------------------------------------------------- */

static enum mpk_code find_constant(void *user, struct mpk_span name, struct mpk_tensor **out,
				   struct mpk_error *err)
{
	struct mpk_param_file *file = user;
	size_t index;

	if (!mpk_param_file_find(file, name, &index))
		return MPK_OK;
	return mpk_param_file_tensor(file, index, true, out, err);
}

enum mpk_code mpk_params_bind_late(struct mpk_param_file *file, struct mpk_module *const *modules,
				   size_t count, struct mpk_error *err)
{
	for (size_t i = 0; i < count; i++)
		if (modules[i] && mpk_relay_has_late(modules[i]))
			MPK_TRY(mpk_relay_bind_found(modules[i], find_constant, file, err));
	return MPK_OK;
}
