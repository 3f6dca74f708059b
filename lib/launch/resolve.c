/* SPDX-License-Identifier: Apache-2.0 */
/* resolve.c - [[function]] against the kernel tables: names, types, extents
 *
 * Everything that can be known without calling is found here, with its position in the manifest,
 * so that generated code checks only what depends on the arguments.
 */
#include "launch/launch.h"

#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/strmap.h"
#include "text/escape.h"

/* What is being resolved; findings go to the report with the check's name. */
struct resolve {
	const struct mpk_manifest *manifest;
	const struct mpk_manifest_launch *source;
	struct mpk_arena *arena;
	struct mpk_report *report;
	struct mpk_launch *launch;
	bool nomem;
};

static void finding(struct resolve *r, struct mpk_error *err)
{
	mpk_error_prefix(err, "function '%s': ", r->launch->name);
	mpk_error_at_file(err, r->manifest->path);
	mpk_report_add(r->report, MPK_ERROR, "launch-function", err);
}

#define COMPLAIN(r, position, ...)                                                                 \
	do {                                                                                       \
		struct mpk_error complaint_;                                                       \
		(void)mpk_fail_line(&complaint_, MPK_E_SYNTAX, (position).line, (position).column, \
				    __VA_ARGS__);                                                  \
		finding((r), &complaint_);                                                         \
	} while (0)

static void *array(struct resolve *r, size_t count, size_t size)
{
	void *p = mpk_arena_array(r->arena, count ? count : 1, size);

	if (!p)
		r->nomem = true;
	return p;
}

static struct mpk_scan scan_of(const struct mpk_toml_str *m)
{
	/* integers of the manifest are kept as text and have no quote before them */
	bool quoted = m->len == 0 || strspn(m->text, "-0123456789") < m->len;

	return (struct mpk_scan){ .text = mpk_span_of(m->text, m->len),
				  .line = m->pos.line,
				  .column = m->pos.column + (quoted ? 1 : 0) };
}

static bool is_real(struct mpk_dtype t)
{
	return t.code == MPK_DTYPE_FLOAT || t.code == MPK_DTYPE_BFLOAT;
}

/* --- parameters and variables ------------------------------------------------------ */

static size_t find_param(const struct mpk_launch_param *params, size_t count, struct mpk_span name)
{
	size_t i = 0;

	while (i < count && !mpk_span_equal(params[i].name, name))
		i++;
	return i;
}

static struct mpk_launch_param *parse_list(struct resolve *r, const struct mpk_toml_list *list,
					   bool temps, size_t *count)
{
	struct mpk_launch_param *params = array(r, list->count, sizeof *params);
	struct mpk_error err;

	*count = 0;
	for (size_t i = 0; params && i < list->count; i++) {
		struct mpk_launch_param *p = &params[*count];

		if (mpk_launch_param_parse(&list->items[i], r->arena, p, &err) != MPK_OK)
			finding(r, &err);
		else if (find_param(params, *count, p->name) < *count)
			COMPLAIN(r, p->pos, "'%s' stands twice", MPK_QUOTE(p->name));
		else if (temps && (!p->is_tensor || p->optional))
			COMPLAIN(r, p->pos, "a temporary is a tensor: \"%s: float32[n]\"",
				 MPK_QUOTE(p->name));
		else
			++*count;
	}
	return params;
}

static size_t find_var(const struct mpk_launch *l, struct mpk_span name)
{
	size_t i = 0;

	while (i < l->var_count && !mpk_span_equal(l->vars[i].name, name))
		i++;
	return i;
}

static void bind(struct mpk_launch *l, struct mpk_launch_var *vars, struct mpk_span name,
		 size_t param, size_t dim)
{
	if (find_var(l, name) < l->var_count)
		return;
	vars[l->var_count++] = (struct mpk_launch_var){ name, param, dim };
}

/* Scalars first: they are the plainest source of a value. */
static void bind_all(struct resolve *r)
{
	struct mpk_launch *l = r->launch;
	size_t most = 0;

	for (size_t i = 0; i < l->param_count; i++)
		most += l->params[i].rank + 1;
	struct mpk_launch_var *vars = array(r, most, sizeof *vars);
	if (!vars)
		return;
	l->vars = vars;
	for (size_t i = 0; i < l->param_count; i++) {
		const struct mpk_launch_param *p = &l->params[i];

		if (!p->is_tensor && !is_real(p->dtype))
			bind(l, vars, p->name, i, SIZE_MAX);
	}
	for (size_t i = 0; i < l->param_count; i++) {
		const struct mpk_launch_param *p = &l->params[i];

		for (size_t d = 0; !p->optional && d < p->rank; d++)
			if (p->dims[d]->op == MPK_EXPR_NAME)
				bind(l, vars, p->dims[d]->name, i, d);
	}
}

/* False when a name in it is unknown (reported). */
static bool check_names(struct resolve *r, const struct mpk_expr *e, struct mpk_pos pos)
{
	struct mpk_span names[64];
	size_t count = r->launch->var_count < 64 ? r->launch->var_count : 64;

	bool a = !e->a || check_names(r, e->a, pos), b = !e->b || check_names(r, e->b, pos);

	if (e->op != MPK_EXPR_NAME || find_var(r->launch, e->name) < r->launch->var_count)
		return a && b;
	for (size_t i = 0; i < count; i++)
		names[i] = r->launch->vars[i].name;

	size_t near = mpk_closest(e->name, names, count);
	if (near < count)
		COMPLAIN(r, pos, "unknown name '%s'; did you mean '%s'?", MPK_QUOTE(e->name),
			 MPK_QUOTE(names[near]));
	else
		COMPLAIN(
			r, pos,
			"'%s' is neither an integer parameter nor a dimension of a parameter that is always there",
			MPK_QUOTE(e->name));
	return false;
}

static void check_dims(struct resolve *r, const struct mpk_launch_param *params, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t d = 0; d < params[i].rank; d++)
			(void)check_names(r, params[i].dims[d], params[i].pos);
}

/* --- kernels ----------------------------------------------------------------------- */

static const struct {
	const char *kind;
	int32_t device_type;
	bool plain_pointers;
} devices[] = {
	{ "cuda", MPK_DL_CUDA, true },      { "opencl", MPK_DL_OPENCL, false },
	{ "vulkan", MPK_DL_VULKAN, false }, { "metal", MPK_DL_METAL, false },
	{ "rocm", MPK_DL_ROCM, true },      { "hip", MPK_DL_ROCM, true },
	{ "hsaco", MPK_DL_ROCM, true },
};

static const struct mpk_manifest_function *
find_kernel(struct resolve *r, const struct mpk_toml_str *name, struct mpk_launch_step *step)
{
	struct mpk_span text = mpk_span_of(name->text, name->len);
	const char *dot = memchr(name->text, '.', name->len);
	struct mpk_span id = mpk_span_of(text.data, dot ? (size_t)(dot - name->text) : 0);
	struct mpk_span key = dot ? mpk_span_of(dot + 1, text.len - id.len - 1) : text;

	for (size_t m = 0; dot && m < r->manifest->module_count; m++) {
		const struct mpk_manifest_module *module = &r->manifest->modules[m];

		if (!mpk_span_equal(id, mpk_span_of(module->id.text, module->id.len)))
			continue;
		for (size_t k = 0; k < module->function_count; k++) {
			const struct mpk_toml_str *n = &module->functions[k].name;

			if (mpk_span_equal(key, mpk_span_of(n->text, n->len))) {
				step->module = m;
				step->kernel = n->text;
				return &module->functions[k];
			}
		}
		COMPLAIN(r, name->pos, "module '%s' lists no kernel '%s'", MPK_QUOTE(id),
			 MPK_QUOTE(key));
		return NULL;
	}
	COMPLAIN(r, name->pos, "'%s' names no kernel; it is written MODULE.KERNEL",
		 MPK_QUOTE(text));
	return NULL;
}

static void set_device(struct resolve *r, const struct mpk_launch_step *step, struct mpk_pos pos)
{
	const struct mpk_toml_str *kind = &r->manifest->modules[step->module].kind;
	struct mpk_launch *l = r->launch;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(devices); i++) {
		if (strcmp(kind->text, devices[i].kind) != 0)
			continue;
		if (l->device_type && l->device_type != devices[i].device_type)
			COMPLAIN(r, pos, "its steps need different devices");
		l->device_type = devices[i].device_type;
		l->plain_pointers = devices[i].plain_pointers;
		return;
	}
	COMPLAIN(r, pos, "modules of kind '%s' cannot be launched", kind->text);
}

/* An argument that is the bare name of a parameter or temporary; false otherwise. */
static bool named_arg(struct resolve *r, struct mpk_launch_arg *a, struct mpk_span name)
{
	const struct mpk_launch *l = r->launch;
	size_t i = find_param(l->params, l->param_count, name);
	size_t t = find_param(l->temps, l->temp_count, name);

	if (i < l->param_count && l->params[i].is_tensor) {
		a->kind = MPK_ARG_PARAM;
		a->index = i;
	} else if (t < l->temp_count) {
		a->kind = MPK_ARG_TEMP;
		a->index = t;
	} else if (i < l->param_count && is_real(l->params[i].dtype)) {
		a->kind = MPK_ARG_REAL;
		a->index = i;
	} else {
		return false;
	}
	return true;
}

static void check_arg_type(struct resolve *r, const struct mpk_launch_arg *a, struct mpk_pos pos,
			   const char *kernel)
{
	char want[MPK_DTYPE_TEXT];
	bool handle = a->dtype.code == MPK_DTYPE_HANDLE;
	bool tensor = a->kind == MPK_ARG_PARAM || a->kind == MPK_ARG_TEMP;
	bool real = a->kind == MPK_ARG_REAL || a->kind == MPK_ARG_LITERAL;

	if (tensor == handle && real == (!handle && is_real(a->dtype)))
		return;
	if (a->kind == MPK_ARG_INT && is_real(a->dtype))
		return; /* an integer is a fine real number */
	COMPLAIN(r, pos, "'%s' is a%s, but kernel '%s' takes %s there", MPK_QUOTE(a->text),
		 tensor ? " tensor"
		 : real ? " real number"
			: "n integer",
		 kernel, handle ? "a buffer" : mpk_dtype_print(a->dtype, want));
}

/* False when it cannot be told what the argument is (reported). */
static bool resolve_arg(struct resolve *r, const struct mpk_toml_str *text,
			struct mpk_launch_arg *a)
{
	struct mpk_scan s = scan_of(text);
	struct mpk_error err;
	struct mpk_span name = mpk_scan_name(&s);

	a->text = s.text;
	if (name.len && !mpk_scan_space(&s) && named_arg(r, a, name))
		return true;
	if (memchr(text->text, '.', text->len) && mpk_parse_f64(s.text, &a->literal)) {
		a->kind = MPK_ARG_LITERAL;
		return true;
	}
	s.at = 0;
	a->kind = MPK_ARG_INT;
	if (mpk_expr_scan(&s, r->arena, &a->expr, &err) != MPK_OK)
		finding(r, &err);
	else if (mpk_scan_space(&s))
		COMPLAIN(r, text->pos, "'%s' is no expression", MPK_QUOTE(s.text));
	else
		return check_names(r, a->expr, text->pos);
	return false;
}

static void resolve_args(struct resolve *r, const struct mpk_manifest_step *m,
			 const struct mpk_manifest_function *kernel, struct mpk_launch_step *step)
{
	struct mpk_launch_arg *args = array(r, m->args.count, sizeof *args);

	if (!args)
		return;
	step->args = args;
	step->arg_count = m->args.count;
	if (m->args.count != kernel->arg_count) {
		COMPLAIN(r, m->args.present ? m->args.pos : m->pos,
			 "kernel '%s' takes %zu argument%s, %zu given", step->kernel,
			 kernel->arg_count, kernel->arg_count == 1 ? "" : "s", m->args.count);
		return;
	}
	if (m->args.count > MPK_LAUNCH_ARGS_MAX) {
		COMPLAIN(r, m->args.pos, "more than %d arguments", MPK_LAUNCH_ARGS_MAX);
		return;
	}
	for (size_t i = 0; i < m->args.count; i++) {
		args[i].dtype = kernel->args[i];
		if (resolve_arg(r, &m->args.items[i], &args[i]))
			check_arg_type(r, &args[i], m->args.items[i].pos, step->kernel);
	}
}

/* --- extents ------------------------------------------------------------------------ */

static void resolve_extent(struct resolve *r, const struct mpk_toml_str *text,
			   struct mpk_launch_extent *out)
{
	struct mpk_scan s = scan_of(text);
	struct mpk_error err;

	out->text = s.text;
	if (mpk_expr_scan(&s, r->arena, &out->expr, &err) != MPK_OK)
		finding(r, &err);
	else if (mpk_scan_space(&s))
		COMPLAIN(r, text->pos, "'%s' is no expression", MPK_QUOTE(s.text));
	else
		(void)check_names(r, out->expr, text->pos);
}

static void resolve_extents(struct resolve *r, const struct mpk_toml_list *list, const char *what,
			    struct mpk_launch_extent out[3])
{
	if (list->count > 3) {
		COMPLAIN(r, list->pos, "%s has more than three extents", what);
		return;
	}
	int64_t least = strcmp(what, "block") == 0, value;

	for (size_t i = 0; i < list->count; i++) {
		resolve_extent(r, &list->items[i], &out[i]);
		if (out[i].expr && mpk_expr_constant(out[i].expr, &value) && value < least)
			COMPLAIN(r, list->items[i].pos, "a %s extent is at least %d, not %lld",
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

/* Every extent that is given must have a tag that carries it, else it would be lost. */
static void check_tags(struct resolve *r, const struct mpk_manifest_step *m,
		       const struct mpk_launch_step *step)
{
	static const char axes[] = "xyz";

	for (unsigned i = 0; i < 3; i++) {
		int64_t one;
		bool grid_one = !step->grid[i].expr ||
				(mpk_expr_constant(step->grid[i].expr, &one) && one == 1);
		bool block_one = !step->block[i].expr ||
				 (mpk_expr_constant(step->block[i].expr, &one) && one == 1);

		if (!grid_one && !has_tag(step, (enum mpk_launch_tag)(MPK_TAG_GRID_X + i)))
			COMPLAIN(r, m->grid.pos,
				 "kernel '%s' has no launch tag blockIdx.%c for its grid",
				 step->kernel, axes[i]);
		if (!block_one && !has_tag(step, (enum mpk_launch_tag)(MPK_TAG_BLOCK_X + i)))
			COMPLAIN(r, m->block.pos,
				 "kernel '%s' has no launch tag threadIdx.%c for its block",
				 step->kernel, axes[i]);
	}
	if (m->shared.text && !has_tag(step, MPK_TAG_DYN_SHARED))
		COMPLAIN(r, m->shared.pos,
			 "kernel '%s' has no launch tag for dynamic shared memory", step->kernel);
}

static void resolve_tags(struct resolve *r, const struct mpk_manifest_function *kernel,
			 struct mpk_launch_step *step)
{
	enum mpk_launch_tag *tags = array(r, kernel->launch.count, sizeof *tags);

	for (size_t i = 0; tags && i < kernel->launch.count; i++) {
		const struct mpk_toml_str *t = &kernel->launch.items[i];

		tags[i] = mpk_launch_tag_parse(mpk_span_of(t->text, t->len));
	}
	step->tags = tags;
	step->tag_count = tags ? kernel->launch.count : 0;
}

static void resolve_step(struct resolve *r, const struct mpk_manifest_step *m,
			 struct mpk_launch_step *step)
{
	const struct mpk_manifest_function *kernel;

	if (!m->kernel.text) {
		COMPLAIN(r, m->pos, "no kernel is given");
		return;
	}
	kernel = find_kernel(r, &m->kernel, step);
	if (!kernel)
		return;
	set_device(r, step, m->kernel.pos);
	resolve_tags(r, kernel, step);
	resolve_args(r, m, kernel, step);
	resolve_extents(r, &m->grid, "grid", step->grid);
	resolve_extents(r, &m->block, "block", step->block);
	if (m->shared.text)
		resolve_extent(r, &m->shared, &step->shared);
	check_tags(r, m, step);
}

static void check_anchor(struct resolve *r)
{
	for (size_t i = 0; i < r->launch->param_count; i++)
		if (r->launch->params[i].is_tensor && !r->launch->params[i].optional)
			return;
	COMPLAIN(r, r->source->pos,
		 "it needs one tensor parameter that is not optional, which tells the device");
}

static void resolve_one(struct resolve *r)
{
	const struct mpk_manifest_launch *m = r->source;
	struct mpk_launch *l = r->launch;
	struct mpk_launch_step *steps = array(r, m->step_count, sizeof *steps);

	l->name = m->name.text ? m->name.text : "?";
	l->gen = r->manifest->gen;
	l->params = parse_list(r, &m->params, false, &l->param_count);
	l->temps = parse_list(r, &m->temps, true, &l->temp_count);
	if (r->nomem || !steps)
		return;
	for (size_t i = 0; i < l->temp_count; i++)
		if (find_param(l->params, l->param_count, l->temps[i].name) < l->param_count)
			COMPLAIN(r, l->temps[i].pos, "'%s' is a parameter already",
				 MPK_QUOTE(l->temps[i].name));
	bind_all(r);
	check_dims(r, l->params, l->param_count);
	check_dims(r, l->temps, l->temp_count);
	check_anchor(r);
	l->steps = steps;
	l->step_count = m->step_count;
	for (size_t i = 0; i < m->step_count; i++)
		resolve_step(r, &m->steps[i], &steps[i]);
}

enum mpk_code mpk_launch_resolve(const struct mpk_manifest *manifest, struct mpk_arena *arena,
				 struct mpk_report *report, const struct mpk_launch **out,
				 struct mpk_error *err)
{
	size_t errors = report->errors;
	struct mpk_launch *launches = mpk_arena_array(
		arena, manifest->launch_count ? manifest->launch_count : 1, sizeof *launches);

	MPK_TRY_ALLOC(launches, err);
	for (size_t i = 0; i < manifest->launch_count; i++) {
		struct resolve r = { .manifest = manifest,
				     .source = &manifest->launches[i],
				     .arena = arena,
				     .report = report,
				     .launch = &launches[i] };

		resolve_one(&r);
		if (r.nomem)
			return mpk_fail_nomem(err);
	}
	if (report->errors > errors)
		return mpk_fail(err, MPK_E_SYNTAX, "launch functions do not hold");
	*out = launches;
	return MPK_OK;
}
