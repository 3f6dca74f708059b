/* SPDX-License-Identifier: Apache-2.0 */
/* arguments.c - parameters of launch functions, and the arguments that their steps pass on
 *
 * It resolves parameters and their shape variables, expressions, the arguments of kernels and C
 * functions, and how a kernel is launched: grid, block, cluster, shared memory, and the tags that
 * pass them. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/vec.h"
#include "launch/internal/resolve.h"
#include "text/escape.h"
#include "toml/toml.h"

/* --- expressions ---------------------------------------------------------------------- */

static enum mpk_code parse_expr(const struct mpk_toml_str *text, struct mpk_arena *arena,
				const struct mpk_expr **out, struct mpk_error *err)
{
	/* Integers of the manifest are stored as text, without a quote before them. */
	bool quoted = text->len == 0 || strspn(text->text, "-0123456789") < text->len;
	struct mpk_scan s = { .text = mpk_toml_str_span(*text),
			      .line = text->pos.line,
			      .column = text->pos.column + quoted };

	MPK_TRY(mpk_expr_scan(&s, arena, out, err));
	if (s.at < s.text.len)
		return mpk_fail_line(err, MPK_E_SYNTAX, text->pos.line, text->pos.column,
				     "'%s' is no expression", MPK_QUOTE(s.text));
	return MPK_OK;
}

/* Returns false after reporting an unknown name in the expression. */
static bool resolve_names(struct mpk_resolve *r, const struct mpk_expr *e, struct mpk_pos pos)
{
	struct mpk_span names[64];
	/* 64 names are enough for a suggestion; a function with more was written by a program */
	size_t ignored, count = r->launch->var_count < 64 ? r->launch->var_count : 64;

	bool a = !e->a || resolve_names(r, e->a, pos), b = !e->b || resolve_names(r, e->b, pos);

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

/* Parses a text of the manifest as an expression over the names of a function; also sets out if a
 * name is unknown.
 * Returns  false after reporting that it is not an expression */
static bool resolve_expr(struct mpk_resolve *r, const struct mpk_toml_str *text,
			 const struct mpk_expr **out)
{
	struct mpk_error err;

	if (parse_expr(text, r->arena, out, &err) == MPK_OK)
		return resolve_names(r, *out, text->pos);
	mpk_resolve_finding(r, &err);
	return false;
}

/* --- parameters and variables ------------------------------------------------------ */

/* The keys point into the manifest's text, which lives longer than the map. */
static void resolve_add_name(struct mpk_resolve *r, struct mpk_strmap *names, struct mpk_span name,
			     size_t i)
{
	size_t ignored;

	r->nomem |= mpk_strmap_put(names, name, i, &ignored) < 0;
}

/* A parameter that does not parse still reserves its name, so that its uses are not reported too. */
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

/* The first dimension with a name sets its value; the generated code compares each later one with
 * it. */
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

/* Scalars first, because their values are available without a tensor. */
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
			(void)resolve_names(r, params[i].dims[d], params[i].pos);
}

void mpk_resolve_params(struct mpk_resolve *r)
{
	const struct mpk_manifest_launch *m = r->source;
	struct mpk_launch *l = r->launch;
	size_t ignored;

	l->params = parse_list(r, &m->params, false, &l->param_count);
	l->temps = parse_list(r, &m->temps, true, &l->temp_count);
	if (r->nomem)
		return;
	for (size_t i = 0; i < l->temp_count; i++)
		if (mpk_strmap_find(&r->params, l->temps[i].name, &ignored))
			MPK_COMPLAIN(r, l->temps[i].pos, "'%s' is a parameter already",
				     MPK_QUOTE(l->temps[i].name));
	bind_all(r);
	check_dims(r, l->params, l->param_count);
	check_dims(r, l->temps, l->temp_count);
}

/* --- arguments ------------------------------------------------------------------------ */

static const char *args_taker(const struct mpk_launch_step *step)
{
	return step->callee ? "C function" : "kernel";
}

/* Recognises an argument that is the bare name of a parameter or temporary. */
static bool named_arg(struct mpk_resolve *r, struct mpk_launch_arg *a, struct mpk_span name)
{
	const struct mpk_launch *l = r->launch;
	size_t i, t;
	bool param = mpk_strmap_find(&r->params, name, &i);

	if (param && l->params[i].is_tensor) {
		a->kind = MPK_ARG_PARAM;
		a->index = i;
	} else if (mpk_strmap_find(&r->temps, name, &t)) {
		a->kind = MPK_ARG_TEMP;
		a->index = t;
	} else if (param && mpk_dtype_is_real(l->params[i].dtype)) {
		a->kind = MPK_ARG_REAL;
		a->index = i;
	} else {
		return false;
	}
	return true;
}

/* A driver copies as many bytes as the kernel declares: a tensor passed for a number would make the
 * kernel compute with an address. */
static void check_arg_type(struct mpk_resolve *r, const struct mpk_launch_arg *a,
			   struct mpk_pos pos, const struct mpk_launch_step *step)
{
	char want[MPK_DTYPE_TEXT];
	bool handle = a->dtype.code == MPK_DTYPE_HANDLE;
	bool tensor =
		a->kind == MPK_ARG_PARAM || a->kind == MPK_ARG_TEMP || a->kind == MPK_ARG_NULL;
	bool real = a->kind == MPK_ARG_REAL || a->kind == MPK_ARG_LITERAL;

	if (tensor == handle && real == (!handle && mpk_dtype_is_real(a->dtype)))
		return;
	if (a->kind == MPK_ARG_INT && mpk_dtype_is_real(a->dtype))
		return; /* an integer may be passed as a floating-point number */
	MPK_COMPLAIN(r, pos, "'%s' is a%s, but %s '%s' takes %s there", MPK_QUOTE(a->text),
		     a->kind == MPK_ARG_NULL ? " null pointer"
		     : tensor                ? " tensor"
		     : real                  ? " real number"
					     : "n integer",
		     args_taker(step), step->kernel,
		     handle ? "a buffer" : mpk_dtype_print(a->dtype, want));
}

/* Returns the name that is the whole text, without blanks; empty: the text is something else.
 * ASCII only, whatever the locale. */
static struct mpk_span bare_name(struct mpk_span text)
{
	while (text.len && (text.data[text.len - 1] == ' ' || text.data[text.len - 1] == '\t'))
		text.len--;
	while (text.len && (text.data[0] == ' ' || text.data[0] == '\t'))
		text = mpk_span_from(text, 1);
	for (size_t i = 0; i < text.len; i++)
		if (text.data[i] != '_' && !isalpha(text.data[i]) && (!i || !isdigit(text.data[i])))
			return (struct mpk_span){ 0 };
	return text;
}

/* Whether the argument is a handle without a tensor, for memory that the kernel does not use. */
static bool is_null(const struct mpk_launch_arg *a)
{
	return mpk_span_is(a->text, "none") ||
	       (a->dtype.code == MPK_DTYPE_HANDLE && mpk_span_is(a->text, "0"));
}

/* Returns false after reporting an unknown argument. */
static bool resolve_arg(struct mpk_resolve *r, const struct mpk_toml_str *text,
			struct mpk_launch_arg *a)
{
	struct mpk_span name = bare_name(mpk_toml_str_span(*text));

	a->text = mpk_toml_str_span(*text);
	if (is_null(a)) {
		a->kind = MPK_ARG_NULL;
		return true;
	}
	if (name.len && named_arg(r, a, name))
		return true;
	if (memchr(text->text, '.', text->len) && mpk_parse_f64(a->text, &a->literal)) {
		a->kind = MPK_ARG_LITERAL;
		return true;
	}
	a->kind = MPK_ARG_INT;
	return resolve_expr(r, text, &a->expr);
}

/* Checks the number of arguments first: otherwise each later one would be compared with the
 * wrong parameter. */
static void resolve_args(struct mpk_resolve *r, const struct mpk_manifest_step *m,
			 const struct mpk_manifest_function *kernel, struct mpk_launch_step *step)
{
	struct mpk_launch_arg *args = mpk_resolve_array(r, m->args.count, sizeof *args);

	if (!args)
		return;
	for (size_t i = 0; !kernel && i < m->args.count; i++)
		(void)resolve_arg(r, &m->args.items[i], &args[i]);
	if (!kernel)
		return;
	step->args = args;
	step->arg_count = m->args.count;
	if (!m->args.present && !r->source->valid)
		return; /* The missing ones are reported already. */
	if (m->args.count != kernel->arg_count) {
		MPK_COMPLAIN(r, m->args.present ? m->args.pos : m->pos,
			     "%s '%s' takes %zu argument%s, %zu given", args_taker(step),
			     step->kernel, kernel->arg_count, kernel->arg_count == 1 ? "" : "s",
			     m->args.count);
		return;
	}
	if (m->args.count > MPK_LAUNCH_ARGS_MAX) {
		MPK_COMPLAIN(r, m->args.pos, "more than %d arguments", MPK_LAUNCH_ARGS_MAX);
		return;
	}
	for (size_t i = 0; i < m->args.count; i++) {
		args[i].dtype = kernel->args[i];
		if (resolve_arg(r, &m->args.items[i], &args[i]))
			check_arg_type(r, &args[i], m->args.items[i].pos, step);
	}
}

/* --- extents ---------------------------------------------------------------------- */

/* A finding drops the expression; the rest of the step is still checked. */
static void resolve_extent(struct mpk_resolve *r, const struct mpk_toml_str *text,
			   struct mpk_launch_extent *out)
{
	out->text = mpk_toml_str_span(*text);
	(void)resolve_expr(r, text, &out->expr);
}

/* An empty grid launches nothing, which is useful for empty tensors; a block has at least
 * one thread. */
static void resolve_list(struct mpk_resolve *r, const struct mpk_toml_list *list, const char *what,
			 struct mpk_launch_extent out[3])
{
	if (list->count > 3) {
		MPK_COMPLAIN(r, list->pos, "%s has more than three extents", what);
		return;
	}
	int64_t least = strcmp(what, "grid") != 0, value;

	for (size_t i = 0; i < list->count; i++) {
		resolve_extent(r, &list->items[i], &out[i]);
		if (out[i].expr && mpk_expr_constant(out[i].expr, &value) && value < least)
			MPK_COMPLAIN(r, list->items[i].pos, "a %s extent is at least %d, not %lld",
				     what, (int)least, (long long)value);
	}
}

static bool has_tag(const struct mpk_launch_step *step, enum mpk_launch_tag tag)
{
	for (size_t i = 0; i < step->tag_count; i++)
		if (step->tags[i] == tag)
			return true;
	return false;
}

/* A missing extent is 1, which every driver accepts. */
static bool is_one(const struct mpk_launch_extent *extent)
{
	int64_t value;

	return !extent->expr || (mpk_expr_constant(extent->expr, &value) && value == 1);
}

/* Extents that no tag carries would be lost. */
static void check_carried(struct mpk_resolve *r, const struct mpk_launch_step *step,
			  const struct mpk_launch_extent extents[3], const char *what,
			  const char *tag, enum mpk_launch_tag first, struct mpk_pos pos)
{
	for (unsigned i = 0; i < 3; i++)
		if (!is_one(&extents[i]) && !has_tag(step, (enum mpk_launch_tag)(first + i)))
			MPK_COMPLAIN(r, pos, "kernel '%s' has no launch tag %s.%c for its %s",
				     step->kernel, tag, "xyz"[i], what);
}

/* Tags first, because extents are checked against them. Without the kernel only the expressions
 * are checked. */
static void resolve_extents(struct mpk_resolve *r, const struct mpk_manifest_step *m,
			    const struct mpk_manifest_function *kernel,
			    struct mpk_launch_step *step)
{
	if (kernel) {
		enum mpk_launch_tag *tags =
			mpk_resolve_array(r, kernel->launch.count, sizeof *tags);

		for (size_t i = 0; tags && i < kernel->launch.count; i++) {
			const struct mpk_toml_str *t = &kernel->launch.items[i];

			tags[i] = mpk_launch_tag_parse(mpk_span_of(t->text, t->len));
		}
		step->tags = tags;
		step->tag_count = tags ? kernel->launch.count : 0;
	}
	resolve_list(r, &m->grid, "grid", step->grid);
	resolve_list(r, &m->block, "block", step->block);
	resolve_list(r, &m->cluster, "cluster", step->cluster);
	if (m->shared.text)
		resolve_extent(r, &m->shared, &step->shared);
	if (kernel) {
		/* A kernel's table says which values its launch takes; the runtime would drop
		 * any other value of the step. */
		check_carried(r, step, step->grid, "grid", "blockIdx", MPK_TAG_GRID_X, m->grid.pos);
		check_carried(r, step, step->block, "block", "threadIdx", MPK_TAG_BLOCK_X,
			      m->block.pos);
		check_carried(r, step, step->cluster, "cluster", "clusterCtaIdx", MPK_TAG_CLUSTER_X,
			      m->cluster.pos);
		if (m->shared.text && !has_tag(step, MPK_TAG_DYN_SHARED))
			MPK_COMPLAIN(r, m->shared.pos,
				     "kernel '%s' has no launch tag for dynamic shared memory",
				     step->kernel);

		/* Checks values that only CUDA has, and that a tag must carry. */
		const struct {
			bool given;
			enum mpk_launch_tag tag;
			const char *key, *name;
		} attributes[] = {
			{ m->cooperative, MPK_TAG_COOPERATIVE, "cooperative",
			  "use_cooperative_launch" },
			{ m->pdl, MPK_TAG_PROGRAMMATIC, "pdl", "use_programtic_dependent_launch" },
		};
		bool cuda = r->launch->device_type == MPK_DL_CUDA;

		if (m->cluster.present && !cuda)
			MPK_COMPLAIN(r, m->cluster.pos, "only cuda kernels have clusters");
		for (size_t i = 0; i < MPK_ARRAY_COUNT(attributes); i++) {
			if (attributes[i].given && !cuda)
				MPK_COMPLAIN(r, m->kernel.pos, "'%s' is for cuda kernels",
					     attributes[i].key);
			else if (attributes[i].given && !has_tag(step, attributes[i].tag))
				MPK_COMPLAIN(r, m->kernel.pos,
					     "kernel '%s' has no launch tag tirx.%s for '%s'",
					     step->kernel, attributes[i].name, attributes[i].key);
		}
	}
}

void mpk_resolve_args(struct mpk_resolve *r, const struct mpk_manifest_step *m,
		      const struct mpk_manifest_function *kernel, struct mpk_launch_step *step)
{
	resolve_args(r, m, kernel, step);
	if (!m->calls.text)
		resolve_extents(r, m, kernel, step);
}
