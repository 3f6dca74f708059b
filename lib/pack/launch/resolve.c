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
		} else if (temps && (!p->is_tensor || p->optional)) {
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

/* All steps of a function run on one device, that of its tensors. */
static void resolve_set_device(struct mpk_resolve *r, const struct mpk_launch_step *step,
			       struct mpk_pos pos)
{
	const struct mpk_toml_str *kind = &r->manifest->modules[step->module].kind;
	struct mpk_launch *l = r->launch;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(devices); i++) {
		if (strcmp(kind->text, devices[i].kind) != 0)
			continue;
		if (l->device_type && l->device_type != devices[i].device_type)
			MPK_COMPLAIN(r, pos, "its steps need different devices");
		l->device_type = devices[i].device_type;
		l->plain_pointers = devices[i].plain_pointers;
		return;
	}
	MPK_COMPLAIN(r, pos, "modules of kind '%s' cannot be launched", kind->text);
}

/* An argument that is the bare name of a parameter or temporary; false otherwise. */
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

/* A driver copies as many bytes as the kernel declares: a tensor in the place of a number
 * would be a pointer that it computes with. */
static void check_arg_type(struct mpk_resolve *r, const struct mpk_launch_arg *a,
			   struct mpk_pos pos, const char *kernel)
{
	char want[MPK_DTYPE_TEXT];
	bool handle = a->dtype.code == MPK_DTYPE_HANDLE;
	bool tensor =
		a->kind == MPK_ARG_PARAM || a->kind == MPK_ARG_TEMP || a->kind == MPK_ARG_NULL;
	bool real = a->kind == MPK_ARG_REAL || a->kind == MPK_ARG_LITERAL;

	if (tensor == handle && real == (!handle && mpk_dtype_is_real(a->dtype)))
		return;
	if (a->kind == MPK_ARG_INT && mpk_dtype_is_real(a->dtype))
		return; /* an integer is a fine real number */
	MPK_COMPLAIN(r, pos, "'%s' is a%s, but kernel '%s' takes %s there", MPK_QUOTE(a->text),
		     a->kind == MPK_ARG_NULL ? " null pointer"
		     : tensor                ? " tensor"
		     : real                  ? " real number"
					     : "n integer",
		     kernel, handle ? "a buffer" : mpk_dtype_print(a->dtype, want));
}

/* A handle without a tensor: scratch memory that a kernel takes and does not use. */
static bool is_null(const struct mpk_launch_arg *a)
{
	return mpk_span_is(a->text, "none") ||
	       (a->dtype.code == MPK_DTYPE_HANDLE && mpk_span_is(a->text, "0"));
}

/* False when the argument is nothing that is known (reported). */
static bool resolve_arg(struct mpk_resolve *r, const struct mpk_toml_str *text,
			struct mpk_launch_arg *a)
{
	struct mpk_scan s = mpk_resolve_scan(text);
	struct mpk_error err;
	struct mpk_span name = mpk_scan_name(&s);

	a->text = s.text;
	if (is_null(a)) {
		a->kind = MPK_ARG_NULL;
		return true;
	}
	if (name.len && !mpk_scan_space(&s) && named_arg(r, a, name))
		return true;
	if (memchr(text->text, '.', text->len) && mpk_parse_f64(s.text, &a->literal)) {
		a->kind = MPK_ARG_LITERAL;
		return true;
	}
	s.at = 0;
	a->kind = MPK_ARG_INT;
	if (mpk_expr_scan(&s, r->arena, &a->expr, &err) != MPK_OK)
		mpk_resolve_finding(r, &err);
	else if (mpk_scan_space(&s))
		MPK_COMPLAIN(r, text->pos, "'%s' is no expression", MPK_QUOTE(s.text));
	else
		return mpk_resolve_names(r, a->expr, text->pos);
	return false;
}

/* The number of arguments is checked first: without that, each later one would be compared
 * with the wrong parameter. */
static void resolve_args(struct mpk_resolve *r, const struct mpk_manifest_step *m,
			 const struct mpk_manifest_function *kernel, struct mpk_launch_step *step)
{
	struct mpk_launch_arg *args = mpk_resolve_array(r, m->args.count, sizeof *args);

	if (!args)
		return;
	step->args = args;
	step->arg_count = m->args.count;
	if (!m->args.present && !r->source->valid)
		return; /* that they are missing is reported already */
	if (m->args.count != kernel->arg_count) {
		MPK_COMPLAIN(r, m->args.present ? m->args.pos : m->pos,
			     "kernel '%s' takes %zu argument%s, %zu given", step->kernel,
			     kernel->arg_count, kernel->arg_count == 1 ? "" : "s", m->args.count);
		return;
	}
	if (m->args.count > MPK_LAUNCH_ARGS_MAX) {
		MPK_COMPLAIN(r, m->args.pos, "more than %d arguments", MPK_LAUNCH_ARGS_MAX);
		return;
	}
	for (size_t i = 0; i < m->args.count; i++) {
		args[i].dtype = kernel->args[i];
		if (resolve_arg(r, &m->args.items[i], &args[i]))
			check_arg_type(r, &args[i], m->args.items[i].pos, step->kernel);
	}
}

/* What can be said of a step without its kernel: whether the names in it are known. */
static void resolve_bare_step(struct mpk_resolve *r, const struct mpk_manifest_step *m,
			      struct mpk_launch_step *step)
{
	for (size_t i = 0; i < m->args.count; i++) {
		struct mpk_launch_arg ignored = { 0 };

		(void)resolve_arg(r, &m->args.items[i], &ignored);
	}
	mpk_resolve_extents(r, m, NULL, step);
}

/* A kernel that is not found was reported; the rest of the step is checked as far as that
 * goes without it. */
static void resolve_step(struct mpk_resolve *r, const struct mpk_manifest_step *m,
			 struct mpk_launch_step *step)
{
	const struct mpk_manifest_function *kernel;

	if (!m->kernel.text && r->source->valid)
		MPK_COMPLAIN(r, m->pos, "no kernel is given");
	kernel = m->kernel.text ? mpk_resolve_kernel(r, &m->kernel, step) : NULL;
	if (!kernel || !r->manifest->modules[step->module].valid) {
		step->kernel = NULL;
		resolve_bare_step(r, m, step);
		return;
	}
	resolve_set_device(r, step, m->kernel.pos);
	resolve_args(r, m, kernel, step);
	mpk_resolve_extents(r, m, kernel, step);
}

/* Generated code takes the device number from a tensor that is always there. A standalone
 * library has its own default, device 0. */
static void check_anchor(struct mpk_resolve *r)
{
	for (size_t i = 0; i < r->launch->param_count; i++)
		if (r->launch->params[i].is_tensor && !r->launch->params[i].optional)
			return;
	if (r->incomplete || r->manifest->standalone || !r->source->valid)
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
		resolve_step(r, &m->steps[i], &steps[i]);
}

/* The names of one function; those of kernels are in the index of all. */
static void resolve_fini(struct mpk_resolve *r)
{
	mpk_strmap_fini(&r->params);
	mpk_strmap_fini(&r->temps);
	mpk_strmap_fini(&r->vars);
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

	MPK_CLEANUP(mpk_kernel_index_fini) struct mpk_kernel_index index = { 0 };

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
