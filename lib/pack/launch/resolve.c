/* SPDX-License-Identifier: Apache-2.0 */
/* resolve.c - resolves the steps of each [[function]]: finds the kernel for each "MODULE.KERNEL"
 * and checks the step against the kernel tables
 *
 * Everything that is known before a call is checked here, and reported with its position in the
 * manifest. Generated code checks only what depends on arguments. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/vec.h"
#include "launch/internal/resolve.h"
#include "text/escape.h"
#include "toml/toml.h"

/* --- Steps that call C functions.
 *
 * A prototype describes the function: it gives the types that a kernel table gives for a kernel,
 * and also the types that pointers point to. */

/* Returns the position in the manifest of a part of the prototype; the position of its beginning if
 * the prototype has several lines. */
static struct mpk_pos part_pos(const struct mpk_toml_str *calls, const char *copy,
			       struct mpk_span part)
{
	struct mpk_pos pos = calls->pos;
	const char *at = (const char *)part.data;

	if (at > copy && at < copy + calls->len && !strchr(calls->text, '\n'))
		pos.column += 1 + (uint32_t)(at - copy); /* starts after the quote */
	return pos;
}

/* Whether the generated code uses the name itself, or its headers declare it. */
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

/* Returns the function that the prototype declares; NULL after reporting an error. */
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

/* @return  whether a call can pass every part of the prototype */
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

/* Converts the types of the prototype to the form of a kernel's row. */
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

/* An int may be a status or a number, so the manifest must tell which. */
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

/* Resolves a step that calls a C function; mistakes are reported. */
static void resolve_call(struct mpk_resolve *r, const struct mpk_manifest_step *m,
			 struct mpk_launch_step *step)
{
	const char *copy = mpk_arena_printf(r->arena, "%s;", m->calls.text);
	const struct mpk_cfunction *f = copy ? read_prototype(r, &m->calls, copy) : NULL;
	struct mpk_manifest_function kernel;
	struct mpk_manifest_step own = *m;

	r->nomem |= !copy;

	/* All steps of a function run on the same device. */
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
		/* A pointer to another type would misread memory; "void *" accepts any. */
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

/* --- the index of kernels ------------------------------------------------------------- */

/* Programs write manifests with thousands of kernels, so kernels are looked up in an index. */

/* A row of a kernel table. */
struct kernel_row {
	struct mpk_span name;
	size_t module, row; /* index in the manifest; index in its table */
};

/* The index for looking up "MODULE.KERNEL". */
struct mpk_kernel_index {
	struct mpk_strmap modules; /* ids to indices */
	struct mpk_span *ids;      /* ids of the modules that have one */
	struct kernel_row *rows;   /* rows of all modules, by name, module and row */
	size_t id_count, row_count;
	bool lacks_ids; /* a module without an id exists, and may be the one that was meant */
	uint64_t letters_left; /* limits the comparisons for suggestions: letters of names that may
			        * still be compared */
};

enum { INDEX_LETTERS = 64 * 1024 * 1024 }; /* a third of a second */

/* Sorts by name, then by module, so that one search finds a name anywhere or in one module. */
static int compare_rows(const void *a, const void *b)
{
	const struct kernel_row *x = a, *y = b;
	int r = mpk_span_compare(x->name, y->name);

	if (r)
		return r;
	return x->module != y->module ? (x->module > y->module) - (x->module < y->module)
				      : (x->row > y->row) - (x->row < y->row);
}

/* A module without an id is reported elsewhere; no name refers to it. */
static bool list_ids(const struct mpk_manifest *m, struct mpk_kernel_index *index)
{
	size_t ignored;

	for (size_t i = 0; i < m->module_count; i++) {
		struct mpk_span id = mpk_toml_str_span(m->modules[i].id);

		index->lacks_ids |= !id.len;
		if (!id.len)
			continue;
		index->ids[index->id_count++] = id;
		if (mpk_strmap_put(&index->modules, id, i, &ignored) < 0)
			return false;
	}
	return true;
}

/* One index for all functions of a manifest, made once. */
static enum mpk_code index_init(const struct mpk_manifest *m, struct mpk_arena *arena,
				struct mpk_kernel_index *index, struct mpk_error *err)
{
	size_t rows = 0;

	for (size_t i = 0; i < m->module_count; i++)
		rows += m->modules[i].function_count;
	*index = (struct mpk_kernel_index){
		.rows = mpk_arena_array(arena, rows, sizeof *index->rows),
		.ids = mpk_arena_array(arena, m->module_count, sizeof *index->ids),
		.letters_left = INDEX_LETTERS,
	};
	MPK_TRY_ALLOC(index->rows && index->ids && list_ids(m, index), err);

	for (size_t i = 0; i < m->module_count; i++)
		for (size_t k = 0; k < m->modules[i].function_count; k++)
			index->rows[index->row_count++] = (struct kernel_row){
				mpk_toml_str_span(m->modules[i].functions[k].name), i, k
			};
	if (index->row_count)
		qsort(index->rows, index->row_count, sizeof *index->rows, compare_rows);

	return MPK_OK;
}

/* Returns the first row of that name in this module, or else in a later one; or NULL. */
static const struct kernel_row *step_find_row(const struct mpk_kernel_index *index,
					      struct mpk_span name, size_t module)
{
	struct kernel_row key = { name, module, 0 };
	size_t i = mpk_lower_bound(index->rows, index->row_count, sizeof key, &key, compare_rows);

	return i < index->row_count && mpk_span_equal(index->rows[i].name, name) ? &index->rows[i]
										 : NULL;
}

/* --- what was meant ------------------------------------------------------------------ */

/* Suggests a similar name. If thousands of names are wrong among thousands of others, the last ones
 * get no suggestion. */
static const char *suggest(struct mpk_resolve *r, struct mpk_span word,
			   const struct mpk_span *names, size_t count,
			   char near[MPK_TOML_SUGGEST_BYTES])
{
	uint64_t letters = 0;

	for (size_t i = 0; i < count; i++)
		letters += (uint64_t)word.len * names[i].len;
	if (letters > r->index->letters_left)
		count = 0;
	r->index->letters_left -= count ? letters : r->index->letters_left;
	return mpk_toml_suggest(word, names, count, near);
}

/* Rows without names are reported elsewhere. */
static const char *suggest_kernel(struct mpk_resolve *r, struct mpk_span word,
				  const struct mpk_manifest_module *module,
				  char near[MPK_TOML_SUGGEST_BYTES])
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	size_t count = r->index->letters_left ? module->function_count : 0, used = 0;
	struct mpk_span *names = mpk_arena_array(&scratch, count, sizeof *names);

	r->nomem |= !names;
	for (size_t k = 0; names && k < count; k++)
		if (module->functions[k].name.len)
			names[used++] = mpk_toml_str_span(module->functions[k].name);
	return suggest(r, word, names, used, near);
}

/* Whether the missing row may be due to a mistake that is reported already: in the file that
 * would have completed the table, or in the module. */
static bool may_lack_rows(const struct mpk_manifest_module *module)
{
	return !module->valid || (module->data.text && !module->function_count);
}

/* If a name has no module, suggests the first module with such a kernel. */
static void bare_kernel(struct mpk_resolve *r, const struct mpk_toml_str *name)
{
	struct mpk_span text = mpk_toml_str_span(*name);
	const struct kernel_row *row = step_find_row(r->index, text, 0);

	if (row)
		MPK_COMPLAIN(r, name->pos, "'%s' names no kernel; did you mean '%s.%s'?",
			     MPK_QUOTE(text),
			     MPK_QUOTE(mpk_toml_str_span(r->manifest->modules[row->module].id)),
			     MPK_QUOTE(text));
	else
		MPK_COMPLAIN(r, name->pos, "'%s' names no kernel; it is written MODULE.KERNEL",
			     MPK_QUOTE(text));
}

/* The first dot separates module and kernel: ids contain no dots, names of kernels may. */
static const struct mpk_manifest_function *
resolve_kernel(struct mpk_resolve *r, const struct mpk_toml_str *name, struct mpk_launch_step *step)
{
	struct mpk_span text = mpk_toml_str_span(*name), id, key;
	const char *dot = memchr(name->text, '.', name->len);
	const struct mpk_manifest_module *module;
	const struct kernel_row *row;
	char near[MPK_TOML_SUGGEST_BYTES];

	if (!dot) {
		bare_kernel(r, name);
		return NULL;
	}
	id = mpk_span_of(text.data, (size_t)(dot - name->text));
	key = mpk_span_of(dot + 1, text.len - id.len - 1);
	if (!mpk_strmap_find(&r->index->modules, id, &step->module)) {
		if (!r->index->lacks_ids)
			MPK_COMPLAIN(r, name->pos, "no module '%s'%s", MPK_QUOTE(id),
				     suggest(r, id, r->index->ids,
					     r->index->letters_left ? r->index->id_count : 0,
					     near));
		return NULL;
	}
	module = &r->manifest->modules[step->module];
	row = step_find_row(r->index, key, step->module);
	if (!row || row->module != step->module) {
		if (!may_lack_rows(module))
			MPK_COMPLAIN(r, name->pos, "module '%s' lists no kernel '%s'%s",
				     MPK_QUOTE(id), MPK_QUOTE(key),
				     suggest_kernel(r, key, module, near));
		return NULL;
	}
	step->kernel = module->functions[row->row].name.text;
	step->id = module->id.text;
	step->row = row->row;
	return &module->functions[row->row];
}

/* --- devices ---------------------------------------------------------- */

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

/* All steps of a function run on the device of its tensors. */
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

/* A missing kernel was reported; the rest of the step is checked as far as possible. */
static void resolve_step(struct mpk_resolve *r, const struct mpk_manifest_step *m,
			 struct mpk_launch_step *step)
{
	const struct mpk_manifest_function *kernel;

	if (m->calls.text) {
		resolve_call(r, m, step);
		return;
	}
	if (!m->kernel.text && r->source->valid)
		MPK_COMPLAIN(r, m->pos, "no kernel is given");
	kernel = m->kernel.text ? resolve_kernel(r, &m->kernel, step) : NULL;
	if (!kernel || !r->manifest->modules[step->module].valid) {
		step->kernel = NULL;
		mpk_resolve_args(r, m, NULL, step);
		return;
	}
	resolve_set_device(r, step, m->kernel.pos);
	mpk_resolve_args(r, m, kernel, step);
}

/* --- functions ---------------------------------------------------------------------- */

/* Generated code takes the device number from a tensor that is always present. A standalone
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
	const struct mpk_manifest_launch *m = r->source;
	struct mpk_launch *l = r->launch;
	struct mpk_launch_step *steps = mpk_resolve_array(r, m->step_count, sizeof *steps);

	l->name = m->name.text ? m->name.text : "?";
	r->incomplete = !m->valid; /* its parameters may be incomplete */
	l->gen = r->manifest->gen;
	if (!r->nomem)
		mpk_resolve_params(r);
	if (r->nomem)
		return;
	check_anchor(r);
	l->steps = steps;
	l->step_count = m->step_count;
	for (size_t i = 0; i < m->step_count; i++)
		resolve_step(r, &m->steps[i], &steps[i]);
}

/* The names of one function; kernel names are in the common index. */
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

/* Checks all functions, also after a failure, so that one run finds all mistakes. */
enum mpk_code mpk_launch_resolve(const struct mpk_manifest *manifest, struct mpk_arena *arena,
				 struct mpk_report *report, const struct mpk_launch **out,
				 struct mpk_error *err)
{
	size_t errors = report->errors;
	struct mpk_launch *launches = mpk_arena_array(
		arena, manifest->launch_count ? manifest->launch_count : 1, sizeof *launches);

	MPK_CLEANUP(index_fini) struct mpk_kernel_index index = { 0 };

	MPK_TRY_ALLOC(launches, err);
	MPK_TRY(index_init(manifest, arena, &index, err));
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
