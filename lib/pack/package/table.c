/* SPDX-License-Identifier: Apache-2.0 */
/* table.c - makes the rows of a kernel table that a manifest omits
 *
 * A [[function]] says which kernel it launches, with which arguments and extents. The code says how
 * many parameters the kernel has, and their sizes or types. Together these make a complete row. If
 * no function launches a kernel, its row can only be proposed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/strbuf.h"
#include "base/strmap.h"
#include "base/vec.h"
#include "code/info.h"
#include "package/internal/package.h"
#include "text/escape.h"

/* State while the table of a module is made; code is the code of the module's data. */
struct table {
	struct mpk_loader *l;
	struct mpk_manifest_module *m;
	const struct mpk_code_info *code;
	struct mpk_manifest_function *rows;
	size_t count;
	const struct mpk_manifest_launch
		*launch; /* the launch function whose names are listed, with the type of each
		          * name */
	struct mpk_strmap names;
	struct mpk_dtype *types;
};

static void table_fini(struct table *t)
{
	mpk_strmap_fini(&t->names);
}

/* Whether the code lists parameters. Shaders and the like have none that a caller could pass. */
static bool tells_params(const struct mpk_code_info *code)
{
	return code->format->param_bytes || code->format->param_dtype;
}

/* --- parameters ------------------------------------------------------------------------------ */

/* Lists the types of a function's parameters and temporaries by name. The steps of one function are
 * consecutive, so the list is made once for them. */
static bool list_names(struct table *t, const struct mpk_manifest_launch *launch)
{
	const struct mpk_toml_list *lists[] = { &launch->params, &launch->temps };
	size_t most = launch->params.count + launch->temps.count, used = 0, ignored;

	mpk_strmap_fini(&t->names);
	t->types = mpk_arena_array(t->l->arena, most, sizeof *t->types);
	for (size_t k = 0; t->types && k < MPK_ARRAY_COUNT(lists); k++)
		for (size_t i = 0; i < lists[k]->count; i++) {
			struct mpk_launch_param p = { 0 };

			/* A tensor of unknown element type is still a tensor. */
			if (mpk_launch_param_parse(&lists[k]->items[i], t->l->arena, &p, NULL) ==
				    MPK_E_NOMEM ||
			    !p.name.len)
				continue;
			t->types[used] = p.is_tensor ? (struct mpk_dtype){ MPK_DTYPE_HANDLE, 64, 1 }
						     : p.dtype;
			if (mpk_strmap_put(&t->names, p.name, used++, &ignored) < 0)
				return false;
		}
	t->launch = launch;
	return t->types != NULL;
}

static bool type_of_name(struct table *t, const struct mpk_manifest_launch *launch,
			 struct mpk_span name, struct mpk_dtype *out)
{
	size_t i;

	if (t->launch != launch && !list_names(t, launch)) {
		t->l->failed = true;
		return false;
	}
	if (!name.len || !mpk_strmap_find(&t->names, name, &i))
		return false;
	*out = t->types[i];
	return true;
}

/* Returns the type of an argument from its text; an expression is int64. */
static struct mpk_dtype type_of_argument(struct table *t, const struct mpk_manifest_launch *launch,
					 struct mpk_span text)
{
	struct mpk_dtype type = { MPK_DTYPE_INT, 64, 1 };
	double number;

	if (mpk_span_is(text, "none"))
		return (struct mpk_dtype){ MPK_DTYPE_HANDLE, 64, 1 };
	if (type_of_name(t, launch, text, &type))
		return type;
	if (text.len && memchr(text.data, '.', text.len) && mpk_parse_f64(text, &number))
		type.code = MPK_DTYPE_FLOAT;
	return type;
}

/* Returns the type that the code declares, if any, else the argument's type. But only the argument
 *         tells a pointer from a number of the same size. */
static struct mpk_dtype join(struct table *t, size_t kernel, size_t i,
			     const struct mpk_manifest_launch *launch, struct mpk_span text)
{
	struct mpk_dtype arg = type_of_argument(t, launch, text);
	const struct mpk_code_format *f = t->code->format;
	struct mpk_dtype own;
	uint64_t bytes = f->param_bytes ? f->param_bytes(t->code, kernel, i) : 0;
	bool known = f->param_dtype && f->param_dtype(t->code, kernel, i, &own);

	if (arg.code == MPK_DTYPE_HANDLE)
		return arg;
	if (known && (own.code != MPK_DTYPE_HANDLE || mpk_span_is(text, "0")))
		return own;
	if (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8)
		arg.bits = (uint8_t)(bytes * 8);
	if (mpk_dtype_is_real(arg) && arg.bits < 16)
		arg.code = MPK_DTYPE_INT;
	return arg;
}

/* --- rows ------------------------------------------------------------------------------------ */

/* Makes a string that is in no file. It gets the position of the step, so that findings about it
 * point there. */
static struct mpk_toml_str package_table_text_of(struct mpk_loader *l, const char *text,
						 struct mpk_pos pos)
{
	const char *copy = mpk_arena_printf(l->arena, "%s", text);

	l->failed |= !copy;
	return (struct mpk_toml_str){ copy, copy ? strlen(copy) : 0, pos };
}

/* Returns the tags for the values that a step passes, in TVM's order: the size of shared memory
 *         comes last. */
static struct mpk_toml_list tags_of(struct mpk_loader *l, const struct mpk_manifest_step *step)
{
	static const char *const axes[3][3] = {
		{ "blockIdx.x", "blockIdx.y", "blockIdx.z" },
		{ "threadIdx.x", "threadIdx.y", "threadIdx.z" },
		{ "clusterCtaIdx.x", "clusterCtaIdx.y", "clusterCtaIdx.z" },
	};
	const struct mpk_toml_list *extents[3] = { &step->grid, &step->block, &step->cluster };
	const char *spelling = l->manifest->gen == MPK_GEN_CURRENT ? "tirx" : "tir";
	const struct {
		bool given;
		const char *name;
	} attributes[] = {
		{ step->pdl, "use_programtic_dependent_launch" },
		{ step->cooperative, "use_cooperative_launch" },
		{ step->shared.text != NULL, "use_dyn_shared_memory" },
	};
	struct mpk_toml_str *tags = mpk_arena_array(l->arena, 12, sizeof *tags);
	struct mpk_toml_list list = { .items = tags, .pos = step->kernel.pos, .present = true };
	char text[64];

	if (!tags) {
		l->failed = true;
		return list;
	}
	for (size_t k = 0; k < 3; k++)
		for (size_t i = 0; i < extents[k]->count && i < 3; i++)
			tags[list.count++] = package_table_text_of(l, axes[k][i], list.pos);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(attributes); i++) {
		(void)snprintf(text, sizeof text, "%s.%s", spelling, attributes[i].name);
		if (attributes[i].given)
			tags[list.count++] = package_table_text_of(l, text, list.pos);
	}
	return list;
}

/* Makes a row for a kernel from the first step that names it. The code decides the number of
 * arguments; a step with too few is reported when its arguments are checked. */
static void package_table_add_row(struct table *t, const struct mpk_manifest_launch *launch,
				  const struct mpk_manifest_step *step, struct mpk_span name)
{
	struct mpk_manifest_function *row = &t->rows[t->count];
	const char *text = mpk_arena_copy(t->l->arena, (const char *)name.data, name.len);
	size_t kernel, count;

	if (!mpk_code_info_find(t->code, name, &kernel))
		return; /* the caller that looks up the kernel reports it */
	count = t->code->kernels[kernel].param_count;
	struct mpk_dtype *args = mpk_arena_array(t->l->arena, count, sizeof *args);
	if (!args || !text) {
		t->l->failed = true;
		return;
	}
	for (size_t i = 0; i < count; i++) {
		struct mpk_span arg = { 0 };

		if (i < step->args.count)
			arg = mpk_toml_str_span(step->args.items[i]);
		args[i] = join(t, kernel, i, launch, arg);
	}
	*row = (struct mpk_manifest_function){
		.name = { text, name.len, step->kernel.pos },
		.args = args,
		.arg_count = count,
		.launch = tags_of(t->l, step),
		.pos = step->kernel.pos,
	};
	t->count++;
}

/* --- the steps that launch kernels of a module ----------------------------------------------- */

/* Sorts steps by module. Steps of one module keep their order in the manifest, which is their order
 * in the array. */
static int compare_steps(const void *a, const void *b)
{
	const struct mpk_loader_step *x = a, *y = b;
	int r = mpk_span_compare(x->id, y->id);

	if (r)
		return r;
	if (x->launch != y->launch)
		return x->launch < y->launch ? -1 : 1;
	return (x->step > y->step) - (x->step < y->step);
}

/* Returns an upper bound: steps without a kernel are counted, too. */
static size_t count_steps(const struct mpk_manifest *manifest)
{
	size_t count = 0;

	for (size_t i = 0; i < manifest->launch_count; i++)
		count += manifest->launches[i].step_count;
	return count;
}

/* Returns the steps of module m; *count of them. */
static const struct mpk_loader_step *steps_of(struct mpk_loader *l,
					      const struct mpk_manifest_module *m, size_t *count)
{
	struct mpk_loader_step key = { .id = mpk_toml_str_span(m->id) };
	size_t first, end;

	if (!l->steps) {
		l->step_count = 0;
		/* All steps are sorted once, because each device module asks for its own steps, and
		 * there may be thousands of both. */
		struct mpk_loader_step *steps =
			mpk_arena_array(l->arena, count_steps(l->manifest), sizeof *steps);

		for (size_t i = 0; steps && i < l->manifest->launch_count; i++) {
			const struct mpk_manifest_launch *launch = &l->manifest->launches[i];

			for (size_t s = 0; s < launch->step_count; s++) {
				struct mpk_span text = mpk_toml_str_span(launch->steps[s].kernel);
				const uint8_t *dot =
					text.len ? memchr(text.data, '.', text.len) : NULL;
				size_t id = dot ? (size_t)(dot - text.data) : 0;

				if (id && text.len > id + 1)
					steps[l->step_count++] = (struct mpk_loader_step){
						.id = mpk_span_of(text.data, id),
						.kernel = mpk_span_of(dot + 1, text.len - id - 1),
						.launch = launch,
						.step = &launch->steps[s],
					};
			}
		}
		if (steps && l->step_count)
			qsort(steps, l->step_count, sizeof *steps, compare_steps);
		l->steps = steps;
		l->failed |= !steps;
	}
	first = end = mpk_lower_bound(l->steps, l->step_count, sizeof key, &key, compare_steps);

	while (end < l->step_count && mpk_span_equal(l->steps[end].id, key.id))
		end++;
	*count = end - first;
	return &l->steps[first];
}

static void add_rows(struct table *t, const struct mpk_loader_step *steps, size_t count)
{
	MPK_CLEANUP(mpk_strmap_fini) struct mpk_strmap names = { 0 };
	size_t ignored;
	int is_new;

	for (size_t i = 0; i < t->count; i++)
		t->l->failed |=
			mpk_strmap_put(&names, mpk_toml_str_span(t->rows[i].name), i, &ignored) < 0;
	for (size_t i = 0; i < count && !t->l->failed; i++) {
		is_new = mpk_strmap_put(&names, steps[i].kernel, i, &ignored);
		t->l->failed |= is_new < 0;
		if (is_new > 0)
			package_table_add_row(t, steps[i].launch, steps[i].step, steps[i].kernel);
	}
}

/* Completes the table: rows of the manifest come first, unchanged. */
static void complete_table(struct mpk_loader *l, struct mpk_manifest_module *m,
			   struct mpk_file *data)
{
	size_t own = m->function_count, count;
	const struct mpk_loader_step *steps = steps_of(l, m, &count);
	const struct mpk_code_info *found;
	MPK_CLEANUP(table_fini) struct table t = { .l = l, .m = m, .count = own };

	if (!count)
		return;
	t.rows = mpk_arena_array(l->arena, own + count, sizeof *t.rows);
	found = t.rows ? mpk_loader_code(l, data) : NULL;
	if (!found) {
		l->failed = true;
		return;
	}
	t.code = mpk_code_info_lister(found);
	if (!t.code || !tells_params(t.code) || mpk_code_info_problem(found))
		return; /* reported when kernels are looked up */
	if (own)
		memcpy(t.rows, m->functions, own * sizeof *t.rows);
	add_rows(&t, steps, count);
	m->functions = t.rows;
	m->function_count = t.count;
}

/* --- proposed rows --------------------------------------------------------------------------- */

/* Returns the proposed type of a parameter. If only its size is known, 8 bytes are usually an
 *         address and other sizes an integer. "?" means that the user must decide. */
static const char *proposed(const struct mpk_code_info *code, size_t kernel, size_t i,
			    char text[MPK_DTYPE_TEXT])
{
	const struct mpk_code_format *f = code->format;
	uint64_t bytes = f->param_bytes ? f->param_bytes(code, kernel, i) : 0;
	struct mpk_dtype t = { MPK_DTYPE_INT, (uint8_t)(bytes * 8), 1 };

	if (f->param_dtype && f->param_dtype(code, kernel, i, &t))
		return mpk_dtype_print(t, text);
	if (bytes == 8)
		return "handle";
	return bytes == 1 || bytes == 2 || bytes == 4 ? mpk_dtype_print(t, text) : "?";
}

/* { name = "f", args = ["handle", "int32"], launch = ["blockIdx.x", "threadIdx.x"] } */
static void package_table_put_row(const struct mpk_code_info *code, size_t kernel,
				  struct mpk_strbuf *out)
{
	char text[MPK_DTYPE_TEXT];

	mpk_strbuf_puts(out, "{ name = \"");
	mpk_escape(out, code->kernels[kernel].name);
	mpk_strbuf_puts(out, "\", args = [");
	for (size_t i = 0; i < code->kernels[kernel].param_count; i++)
		mpk_strbuf_printf(out, "%s\"%s\"", i ? ", " : "", proposed(code, kernel, i, text));
	mpk_strbuf_puts(out, "], launch = [\"blockIdx.x\", \"threadIdx.x\"] }");
}

static void report_missing_table(struct mpk_loader *l, const struct mpk_manifest_module *m,
				 struct mpk_file *data)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf rows = { 0 };
	const struct mpk_code_info *found = data ? mpk_loader_code(l, data) : NULL;
	const struct mpk_code_info *code = NULL;

	if (found && !mpk_code_info_problem(found))
		code = mpk_code_info_lister(found);
	if (code && !tells_params(code))
		code = NULL;
	/* Print only as many rows as fit on a line; the user writes the others in the same way. */
	for (size_t i = 0; code && i < code->kernel_count && rows.len < 480; i++) {
		mpk_strbuf_puts(&rows, i ? ", " : "; here: function = [");
		package_table_put_row(code, i, &rows);
	}
	if (rows.len)
		mpk_strbuf_puts(&rows, "]");
	mpk_loader_error(
		l, m->pos, MPK_E_SYNTAX, "missing-key",
		"[[module]] of kind '%s' needs [[module.function]]: a code file does not say how its kernels are launched%s",
		MPK_QUOTE(mpk_toml_str_span(m->kind)), mpk_strbuf_text(&rows));
	l->failed |= rows.failed;
}

void mpk_loader_fill_table(struct mpk_loader *l, struct mpk_manifest_module *m,
			   struct mpk_file *data, bool valid)
{
	if (data && valid)
		complete_table(l, m, data);
	/* A file that can be read would have got its rows from functions. */
	if (!m->function_count && (valid || !l->manifest->launch_count))
		report_missing_table(l, m, valid ? data : NULL);
}
