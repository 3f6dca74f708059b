/* SPDX-License-Identifier: Apache-2.0 */
/* resolve.c - [[function]] against the kernel tables: names, types, extents
 *
 * Everything that can be known without calling is found here, with its position in the manifest,
 * so that generated code checks only what depends on the arguments.
 */
#include <string.h>

#include "base/num.h"
#include "launch/internal/resolve.h"
#include "text/escape.h"

/* --- findings, memory, names ---------------------------------------------------------- */

void mpk_resolve_finding(struct mpk_resolve *r, struct mpk_error *err)
{
	mpk_error_prefix(err, "function '%s': ", r->launch->name);
	mpk_error_at_file(err, r->manifest->path);
	mpk_report_add(r->report, MPK_ERROR, "launch-function", err);
}

void *mpk_resolve_array(struct mpk_resolve *r, size_t count, size_t size)
{
	void *p = mpk_arena_array(r->arena, count ? count : 1, size);

	if (!p)
		r->nomem = true;
	return p;
}

/* False when a name in it is unknown (reported). */
bool mpk_resolve_names(struct mpk_resolve *r, const struct mpk_expr *e, struct mpk_pos pos)
{
	struct mpk_span names[64];
	/* 64 names are enough to find what was meant; a function that has more is a
	 * program's */
	size_t ignored, count = r->launch->var_count < 64 ? r->launch->var_count : 64;

	bool a = !e->a || mpk_resolve_names(r, e->a, pos),
	     b = !e->b || mpk_resolve_names(r, e->b, pos);

	if (e->op != MPK_EXPR_NAME || mpk_strmap_find(&r->vars, e->name, &ignored))
		return a && b;
	if (r->incomplete)
		return false;
	for (size_t i = 0; i < count; i++)
		names[i] = r->launch->vars[i].name;

	size_t near = mpk_closest(e->name, names, count);
	if (near < count)
		MPK_COMPLAIN(r, pos, "unknown name '%s'; did you mean '%s'?", MPK_QUOTE(e->name),
			     MPK_QUOTE(names[near]));
	else
		MPK_COMPLAIN(
			r, pos,
			"'%s' is neither an integer parameter nor a dimension of a parameter that is always there",
			MPK_QUOTE(e->name));
	return false;
}

/* --- parameters and variables ------------------------------------------------------ */

/* Views of the manifest's text, which outlives the map. */
static void resolve_add_name(struct mpk_resolve *r, struct mpk_strmap *names, struct mpk_span name,
			     size_t i)
{
	size_t ignored;

	r->nomem |= mpk_strmap_put(names, name, i, &ignored) < 0;
}

/* A parameter that does not parse still takes its name, where it has one, so that uses of
 * it are no further findings. */
static struct mpk_launch_param *parse_list(struct mpk_resolve *r, const struct mpk_toml_list *list,
					   bool temps, size_t *count)
{
	struct mpk_strmap *names = temps ? &r->temps : &r->params;
	struct mpk_launch_param *params = mpk_resolve_array(r, list->count, sizeof *params);
	struct mpk_error err;
	size_t ignored;

	*count = 0;
	for (size_t i = 0; params && i < list->count; i++) {
		struct mpk_launch_param *p = &params[*count];

		*p = (struct mpk_launch_param){ 0 };
		if (mpk_launch_param_parse(&list->items[i], r->arena, p, &err) != MPK_OK) {
			mpk_resolve_finding(r, &err);
			r->incomplete |= !p->name.len;
		}
		if (!p->name.len)
			continue;
		if (mpk_strmap_find(names, p->name, &ignored)) {
			MPK_COMPLAIN(r, p->pos, "'%s' stands twice", MPK_QUOTE(p->name));
		} else if (temps && (!p->is_tensor || p->optional || p->any_shape)) {
			MPK_COMPLAIN(r, p->pos, "a temporary is a tensor: \"%s: float32[n]\"",
				     MPK_QUOTE(p->name));
		} else {
			resolve_add_name(r, names, p->name, (*count)++);
		}
	}
	return params;
}

/* The first that binds a name gives its value; each later dimension of that name is checked
 * against it in the generated code. */
static void bind(struct mpk_resolve *r, struct mpk_launch_var *vars, struct mpk_span name,
		 size_t param, size_t dim)
{
	struct mpk_launch *l = r->launch;
	size_t ignored;

	if (mpk_strmap_find(&r->vars, name, &ignored))
		return;
	resolve_add_name(r, &r->vars, name, l->var_count);
	vars[l->var_count++] = (struct mpk_launch_var){ name, param, dim };
}

/* Scalars first: they are the plainest source of a value. */
static void bind_all(struct mpk_resolve *r)
{
	struct mpk_launch *l = r->launch;
	size_t most = 0;

	for (size_t i = 0; i < l->param_count; i++)
		most += l->params[i].rank + 1;
	struct mpk_launch_var *vars = mpk_resolve_array(r, most, sizeof *vars);
	if (!vars)
		return;
	l->vars = vars;
	for (size_t i = 0; i < l->param_count; i++) {
		const struct mpk_launch_param *p = &l->params[i];

		if (!p->is_tensor && !mpk_dtype_is_real(p->dtype))
			bind(r, vars, p->name, i, SIZE_MAX);
	}
	for (size_t i = 0; i < l->param_count; i++) {
		const struct mpk_launch_param *p = &l->params[i];

		for (size_t d = 0; !p->optional && d < p->rank; d++)
			if (p->dims[d]->op == MPK_EXPR_NAME)
				bind(r, vars, p->dims[d]->name, i, d);
	}
}

/* Every name in a shape must be bound by then, as shapes are checked after all parameters. */
static void check_dims(struct mpk_resolve *r, const struct mpk_launch_param *params, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t d = 0; d < params[i].rank; d++)
			(void)mpk_resolve_names(r, params[i].dims[d], params[i].pos);
}

/* --- functions ---------------------------------------------------------------------- */

/* Generated code takes the device number from a tensor that is always there. A standalone
 * library has its own default, device 0. */
static void check_anchor(struct mpk_resolve *r)
{
	for (size_t i = 0; i < r->launch->param_count; i++)
		if (r->launch->params[i].is_tensor && !r->launch->params[i].optional)
			return;
	if (r->incomplete || r->manifest->standalone || !r->source->valid ||
	    (r->source->step_count && r->source->steps[0].calls.text))
		return;
	MPK_COMPLAIN(r, r->source->pos,
		     "it needs one tensor parameter that is not optional, which tells the device");
}

static void resolve_one(struct mpk_resolve *r)
{
	size_t ignored;
	const struct mpk_manifest_launch *m = r->source;
	struct mpk_launch *l = r->launch;
	struct mpk_launch_step *steps = mpk_resolve_array(r, m->step_count, sizeof *steps);

	l->name = m->name.text ? m->name.text : "?";
	r->incomplete = !m->valid; /* there may be parameters that it lacks */
	l->gen = r->manifest->gen;
	l->params = parse_list(r, &m->params, false, &l->param_count);
	l->temps = parse_list(r, &m->temps, true, &l->temp_count);
	if (r->nomem || !steps)
		return;
	for (size_t i = 0; i < l->temp_count; i++)
		if (mpk_strmap_find(&r->params, l->temps[i].name, &ignored))
			MPK_COMPLAIN(r, l->temps[i].pos, "'%s' is a parameter already",
				     MPK_QUOTE(l->temps[i].name));
	bind_all(r);
	check_dims(r, l->params, l->param_count);
	check_dims(r, l->temps, l->temp_count);
	check_anchor(r);
	l->steps = steps;
	l->step_count = m->step_count;
	for (size_t i = 0; i < m->step_count; i++)
		mpk_resolve_step(r, &m->steps[i], &steps[i]);
}

/* The names of one function; those of kernels are in the index of all. */
static void resolve_fini(struct mpk_resolve *r)
{
	mpk_strmap_fini(&r->params);
	mpk_strmap_fini(&r->temps);
	mpk_strmap_fini(&r->vars);
}

static void index_fini(struct mpk_kernel_index *index)
{
	mpk_strmap_fini(&index->modules);
}

/* All functions are looked at, also after one that does not hold, so that one run finds all
 * mistakes. */
enum mpk_code mpk_launch_resolve(const struct mpk_manifest *manifest, struct mpk_arena *arena,
				 struct mpk_report *report, const struct mpk_launch **out,
				 struct mpk_error *err)
{
	size_t errors = report->errors;
	struct mpk_launch *launches = mpk_arena_array(
		arena, manifest->launch_count ? manifest->launch_count : 1, sizeof *launches);

	MPK_CLEANUP(index_fini) struct mpk_kernel_index index = { 0 };

	MPK_TRY_ALLOC(launches, err);
	MPK_TRY(mpk_kernel_index_init(manifest, arena, &index, err));
	for (size_t i = 0; i < manifest->launch_count; i++) {
		MPK_CLEANUP(resolve_fini)
		struct mpk_resolve r = { .manifest = manifest,
					 .source = &manifest->launches[i],
					 .arena = arena,
					 .report = report,
					 .launch = &launches[i],
					 .index = &index };
		size_t before = report->errors;

		resolve_one(&r);
		launches[i].broken = report->errors > before || !manifest->launches[i].valid;
		if (r.nomem)
			return mpk_fail_nomem(err);
	}
	*out = launches;
	if (report->errors > errors)
		return mpk_fail(err, MPK_E_SYNTAX, "launch functions do not hold");
	return MPK_OK;
}

enum mpk_code mpk_launch_called(const struct mpk_manifest *manifest,
				const struct mpk_launch *launches, struct mpk_arena *arena,
				const struct mpk_called **out, size_t *count, struct mpk_error *err)
{
	struct mpk_called *list;
	size_t most = 0;

	*count = 0;
	for (size_t i = 0; i < manifest->launch_count; i++)
		most += manifest->launches[i].step_count;
	list = mpk_arena_array(arena, most, sizeof *list);
	MPK_TRY_ALLOC(list, err);
	for (size_t i = 0; i < manifest->launch_count; i++) {
		const struct mpk_launch *l = &launches[i];

		for (size_t k = 0; k < l->step_count; k++) {
			struct mpk_pos pos = manifest->launches[i].steps[k].calls.pos;

			if (l->steps[k].callee)
				list[(*count)++] = (struct mpk_called){ l->steps[k].kernel, l->name,
									pos.line, pos.column };
		}
	}
	*out = list;
	return MPK_OK;
}
