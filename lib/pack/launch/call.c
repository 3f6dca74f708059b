/* SPDX-License-Identifier: Apache-2.0 */
/* call.c - steps that call C functions
 *
 * A prototype gives the function: it has the types that a kernel table has of a kernel, and also
 * what pointers point to. */
#include <string.h>

#include "launch/internal/resolve.h"
#include "text/escape.h"

/* Returns the place in the manifest of a part of the prototype; the place of its beginning if it
 * has several lines. */
static struct mpk_pos part_pos(const struct mpk_toml_str *calls, const char *copy,
			       struct mpk_span part)
{
	struct mpk_pos pos = calls->pos;
	const char *at = (const char *)part.data;

	if (at > copy && at < copy + calls->len && !strchr(calls->text, '\n'))
		pos.column += 1 + (uint32_t)(at - copy); /* after the quote */
	return pos;
}

/* Names that the generated code uses itself, or that its headers declare. */
static bool is_own_name(const char *name)
{
	static const char *const names[] = { "snprintf", "memcpy", "memset" };
	static const char *const prefixes[] = { "mpk_", "__", "TVM" };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	for (size_t i = 0; i < MPK_ARRAY_COUNT(prefixes); i++)
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

static bool is_symbol(struct mpk_span name)
{
	for (size_t i = 0; i < name.len; i++)
		if (!((name.data[i] >= 'a' && name.data[i] <= 'z') ||
		      (name.data[i] >= 'A' && name.data[i] <= 'Z') || name.data[i] == '_' ||
		      (i && name.data[i] >= '0' && name.data[i] <= '9')))
			return false;
	return name.len > 0;
}

/* Returns the function that the prototype declares, or NULL (reported). */
static const struct mpk_cfunction *
read_prototype(struct mpk_resolve *r, const struct mpk_toml_str *calls, const char *copy)
{
	const struct mpk_cfunction *f = NULL;
	size_t count = 0;
	struct mpk_error err;
	enum mpk_code code =
		mpk_cfunctions_read(mpk_span_str(copy), false, r->arena, &f, &count, &err);

	r->nomem |= code == MPK_E_NOMEM;
	if (r->nomem)
		return NULL;
	if (code != MPK_OK || count != 1 || f->is_defined || !is_symbol(f->name)) {
		MPK_COMPLAIN(
			r, calls->pos,
			"'%s' declares no C function; it is written as in \"int f(const float *x, int n)\"",
			MPK_QUOTE(mpk_toml_str_span(*calls)));
		return NULL;
	}
	if (f->refusal) {
		MPK_COMPLAIN(r, calls->pos, "'%s' %s", MPK_QUOTE(f->name), f->refusal);
		return NULL;
	}
	return f;
}

/* @return  whether every part of it can be passed */
static bool check_prototype(struct mpk_resolve *r, const struct mpk_toml_str *calls,
			    const char *copy, const struct mpk_cfunction *f)
{
	bool fine = true;
	const char *name = mpk_arena_text(r->arena, f->name);

	r->nomem |= !name;
	if (!name)
		return false;
	if (is_own_name(name)) {
		MPK_COMPLAIN(
			r, part_pos(calls, copy, f->name),
			"'%s' is a name of the runtime's or of generated code; call it by another",
			name);
		fine = false;
	}
	const struct mpk_generation_info *gen = mpk_generation_get(r->manifest->gen);

	if (!*gen->function_prefix && strcmp(name, r->launch->name) == 0) {
		MPK_COMPLAIN(
			r, part_pos(calls, copy, f->name),
			"functions of ABI %s have their names as symbols: give it another name than that of the C function it calls",
			gen->abi);
		fine = false;
	}
	for (size_t i = 0; i < f->param_count; i++) {
		const struct mpk_cfunction_value *p = &f->params[i];

		if (!p->refusal)
			continue;
		MPK_COMPLAIN(r, part_pos(calls, copy, p->text), "parameter '%s' of '%s' %s",
			     MPK_QUOTE(p->text), name, p->refusal);
		fine = false;
	}
	return fine;
}

/* The types of the prototype in the form of a kernel's row. */
static bool as_kernel(struct mpk_resolve *r, const struct mpk_cfunction *f,
		      struct mpk_manifest_function *out)
{
	struct mpk_dtype *args = mpk_resolve_array(r, f->param_count, sizeof *args);

	if (!args)
		return false;
	for (size_t i = 0; i < f->param_count; i++)
		args[i] = f->params[i].kind == MPK_CFUNCTION_POINTER
				  ? (struct mpk_dtype){ MPK_DTYPE_HANDLE, 64, 1 }
				  : f->params[i].dtype;
	*out = (struct mpk_manifest_function){ .args = args, .arg_count = f->param_count };
	return true;
}

/* Without 'args', each parameter of the C function gets the parameter of its name. */
static bool take_names(struct mpk_resolve *r, const struct mpk_cfunction *f,
		       struct mpk_manifest_step *m)
{
	struct mpk_toml_str *items = mpk_resolve_array(r, f->param_count, sizeof *items);

	for (size_t i = 0; items && i < f->param_count; i++) {
		struct mpk_span name = f->params[i].name;

		if (!name.len) {
			MPK_COMPLAIN(
				r, m->calls.pos,
				"parameter %zu of '%s' has no name: say in 'args' what is passed",
				i, MPK_QUOTE(f->name));
			return false;
		}
		items[i] = (struct mpk_toml_str){ mpk_arena_text(r->arena, name), name.len,
						  m->calls.pos };
		r->nomem |= !items[i].text;
	}
	m->args = (struct mpk_toml_list){ items, f->param_count, m->calls.pos, true };
	return items && !r->nomem;
}

/* An int may be a status or a number, so a person must decide. */
static void resolve_returns(struct mpk_resolve *r, const struct mpk_manifest_step *m,
			    struct mpk_launch_step *step)
{
	const struct mpk_cfunction_value *v = &step->callee->result;
	struct mpk_span word = mpk_toml_str_span(m->returns);
	bool number = v->kind == MPK_CFUNCTION_NUMBER, real = mpk_dtype_is_real(v->dtype);
	bool last = m + 1 == r->source->steps + r->source->step_count;

	if (v->kind == MPK_CFUNCTION_OTHER) {
		MPK_COMPLAIN(r, m->calls.pos, "the result of '%s' %s", step->kernel, v->refusal);
	} else if (!word.len) {
		if (number && v->dtype.code == MPK_DTYPE_INT && v->dtype.bits == 32)
			MPK_COMPLAIN(
				r, m->calls.pos,
				"'%s' returns an int: say returns = \"status\" (anything but 0 is an error), \"value\" or \"nothing\"",
				step->kernel);
		else if (v->kind == MPK_CFUNCTION_POINTER)
			MPK_COMPLAIN(
				r, m->calls.pos,
				"'%s' returns a pointer, which nobody could free: say returns = \"nothing\"",
				step->kernel);
		step->returns = number ? MPK_RETURNS_VALUE : MPK_RETURNS_NOTHING;
	} else if (mpk_span_is(word, "status")) {
		step->returns = MPK_RETURNS_STATUS;
		if (!number || real)
			MPK_COMPLAIN(r, m->returns.pos,
				     "'%s' returns no integer that could be a status",
				     step->kernel);
	} else if (mpk_span_is(word, "value")) {
		step->returns = MPK_RETURNS_VALUE;
		if (!number)
			MPK_COMPLAIN(r, m->returns.pos, "'%s' returns no number", step->kernel);
	} else if (!mpk_span_is(word, "nothing")) {
		MPK_COMPLAIN(r, m->returns.pos, "'returns' is status, value or nothing, not '%s'",
			     MPK_QUOTE(word));
	}
	if (step->returns == MPK_RETURNS_VALUE && !last)
		MPK_COMPLAIN(r, m->returns.pos.line ? m->returns.pos : m->calls.pos,
			     "only the last step gives the function its result");
}

void mpk_resolve_call(struct mpk_resolve *r, const struct mpk_manifest_step *m,
		      struct mpk_launch_step *step)
{
	const char *copy = mpk_arena_printf(r->arena, "%s;", m->calls.text);
	const struct mpk_cfunction *f = copy ? read_prototype(r, &m->calls, copy) : NULL;
	struct mpk_manifest_function kernel;
	struct mpk_manifest_step own = *m;

	r->nomem |= !copy;

	/* All steps of a function run on one device. */
	struct mpk_pos pos = m->calls.pos;
	struct mpk_launch *l = r->launch;

	if (l->device_type && l->device_type != MPK_DL_CPU)
		MPK_COMPLAIN(r, pos, "its steps need different devices");
	l->device_type = MPK_DL_CPU;
	l->on_host = l->plain_pointers = true;

	if (!f || !check_prototype(r, &m->calls, copy, f) || !as_kernel(r, f, &kernel)) {
		mpk_resolve_args(r, m, NULL, step);
		return;
	}
	step->callee = f;
	step->kernel = mpk_arena_text(r->arena, f->name);
	r->nomem |= !step->kernel;
	if (r->nomem || (!m->args.present && !take_names(r, f, &own)))
		return;
	mpk_resolve_args(r, &own, &kernel, step);
	if (step->arg_count == f->param_count) {
		/* Memory of another type would be misread; "void *" takes any. */
		char have[MPK_DTYPE_TEXT], want[MPK_DTYPE_TEXT];

		for (size_t i = 0; i < step->arg_count; i++) {
			const struct mpk_launch_arg *a = &step->args[i];
			const struct mpk_cfunction_value *c = &step->callee->params[i];
			const struct mpk_launch_param *p =
				a->kind == MPK_ARG_PARAM  ? &r->launch->params[a->index]
				: a->kind == MPK_ARG_TEMP ? &r->launch->temps[a->index]
							  : NULL;

			if (!p || c->kind != MPK_CFUNCTION_POINTER || !p->dtype.bits)
				continue;
			if (c->dtype.bits &&
			    (c->dtype.code != p->dtype.code || c->dtype.bits != p->dtype.bits))
				MPK_COMPLAIN(
					r, own.args.items[i].pos,
					"'%s' is of %s, but C function '%s' takes a pointer to %s there",
					MPK_QUOTE(p->name), mpk_dtype_print(p->dtype, have),
					step->kernel, mpk_dtype_print(c->dtype, want));
			else if (c->read_only && p->direction == MPK_LAUNCH_OUT)
				MPK_COMPLAIN(
					r, own.args.items[i].pos,
					"'%s' is out, but C function '%s' takes a pointer to const there",
					MPK_QUOTE(p->name), step->kernel);
		}
	}
	resolve_returns(r, m, step);
}
