/* SPDX-License-Identifier: Apache-2.0 */
/* table.c - the rows of a kernel table that a manifest leaves out
 *
 * A [[function]] says which kernel it launches, with which arguments and extents; the code says how
 * many parameters the kernel has, and of what size or type. Together that is a row, so that nobody
 * needs to write it again. Where no function tells, a row can only be proposed.
 */
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/strbuf.h"
#include "code/info.h"
#include "package/loader.h"
#include "text/escape.h"

/* A module's table on its way; code is that of the module's data. */
struct table {
	struct mpk_loader *l;
	struct mpk_manifest_module *m;
	const struct mpk_code_info *code;
	struct mpk_manifest_function *rows;
	size_t count;
};

/* Shaders and the like have no list of parameters as a caller passes them. */
static bool tells_params(const struct mpk_code_info *code)
{
	return code->format->param_bytes || code->format->param_dtype;
}

static bool has_row(const struct table *t, struct mpk_span name)
{
	for (size_t i = 0; i < t->count; i++)
		if (mpk_span_equal(mpk_toml_str_span(t->rows[i].name), name))
			return true;
	return false;
}

/* --- parameters ------------------------------------------------------------------------------ */

/* What a name is among a function's parameters and temporaries: its type, or a handle. */
static bool type_of_name(const struct mpk_loader *l, const struct mpk_manifest_launch *launch,
			 struct mpk_span name, struct mpk_dtype *out)
{
	const struct mpk_toml_list *lists[] = { &launch->params, &launch->temps };

	for (size_t k = 0; k < MPK_ARRAY_COUNT(lists); k++)
		for (size_t i = 0; i < lists[k]->count; i++) {
			struct mpk_launch_param p = { 0 };

			/* a tensor without a type is a tensor */
			if (mpk_launch_param_parse(&lists[k]->items[i], l->arena, &p, NULL) ==
				    MPK_E_NOMEM ||
			    !p.name.len || !mpk_span_equal(p.name, name))
				continue;
			*out = p.is_tensor ? (struct mpk_dtype){ MPK_DTYPE_HANDLE, 64, 1 }
					   : p.dtype;
			return true;
		}
	return false;
}

/* The type of an argument as it is written; int64 for an expression. */
static struct mpk_dtype type_of_argument(const struct mpk_loader *l,
					 const struct mpk_manifest_launch *launch,
					 struct mpk_span text)
{
	struct mpk_dtype t = { MPK_DTYPE_INT, 64, 1 };
	double number;

	if (mpk_span_is(text, "none"))
		return (struct mpk_dtype){ MPK_DTYPE_HANDLE, 64, 1 };
	if (type_of_name(l, launch, text, &t))
		return t;
	if (text.len && memchr(text.data, '.', text.len) && mpk_parse_f64(text, &number))
		t.code = MPK_DTYPE_FLOAT;
	return t;
}

/* What the code says of a parameter goes before what an argument looks like, but only an argument
 * tells a pointer from a number of its size. */
static struct mpk_dtype join(const struct table *t, size_t kernel, size_t i,
			     const struct mpk_manifest_launch *launch, struct mpk_span text)
{
	struct mpk_dtype arg = type_of_argument(t->l, launch, text);
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

static struct mpk_toml_str text_of(struct mpk_loader *l, const char *text, struct mpk_pos pos)
{
	const char *copy = mpk_arena_printf(l->arena, "%s", text);

	l->failed |= !copy;
	return (struct mpk_toml_str){ copy, copy ? strlen(copy) : 0, pos };
}

/* The tags that carry what a step says, in the order in which TVM writes them: the size of shared
 * memory is the last value. */
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
			tags[list.count++] = text_of(l, axes[k][i], list.pos);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(attributes); i++) {
		(void)snprintf(text, sizeof text, "%s.%s", spelling, attributes[i].name);
		if (attributes[i].given)
			tags[list.count++] = text_of(l, text, list.pos);
	}
	return list;
}

static void add_row(struct table *t, const struct mpk_manifest_launch *launch,
		    const struct mpk_manifest_step *step, struct mpk_span name)
{
	struct mpk_manifest_function *row = &t->rows[t->count];
	const char *text = mpk_arena_copy(t->l->arena, (const char *)name.data, name.len);
	size_t kernel, count;

	if (!mpk_code_info_find(t->code, name, &kernel))
		return; /* whoever looks the kernel up says so */
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

/* The kernel's name in "MODULE.KERNEL" when the module is this one. */
static struct mpk_span kernel_here(const struct table *t, struct mpk_toml_str name)
{
	struct mpk_span id = mpk_toml_str_span(t->m->id), text = mpk_toml_str_span(name);

	if (!name.text || text.len <= id.len + 1 || !mpk_span_starts(text, t->m->id.text) ||
	    text.data[id.len] != '.')
		return (struct mpk_span){ 0 };
	return mpk_span_of(text.data + id.len + 1, text.len - id.len - 1);
}

static void add_rows(struct table *t)
{
	for (size_t i = 0; i < t->l->manifest->launch_count; i++) {
		const struct mpk_manifest_launch *launch = &t->l->manifest->launches[i];

		for (size_t s = 0; s < launch->step_count; s++) {
			struct mpk_span name = kernel_here(t, launch->steps[s].kernel);

			if (name.len && !has_row(t, name))
				add_row(t, launch, &launch->steps[s], name);
		}
	}
}

static size_t count_steps(const struct mpk_manifest *manifest)
{
	size_t count = 0;

	for (size_t i = 0; i < manifest->launch_count; i++)
		count += manifest->launches[i].step_count;
	return count;
}

void mpk_loader_complete_table(struct mpk_loader *l, struct mpk_manifest_module *m,
			       const struct mpk_file *data)
{
	size_t own = m->function_count;
	struct mpk_code_info found;
	struct table t = { .l = l, .m = m, .count = own };

	if (!count_steps(l->manifest))
		return;
	t.rows = mpk_arena_array(l->arena, own + count_steps(l->manifest), sizeof *t.rows);
	if (!t.rows ||
	    mpk_code_info_read(data->map.bytes, 0, NULL, l->arena, &found, NULL) != MPK_OK) {
		l->failed = true;
		return;
	}
	t.code = mpk_code_info_lister(&found);
	if (!t.code || !tells_params(t.code) || mpk_code_info_problem(&found))
		return; /* reported where kernels are looked for */
	if (own)
		memcpy(t.rows, m->functions, own * sizeof *t.rows);
	add_rows(&t);
	m->functions = t.rows;
	m->function_count = t.count;
}

/* --- a proposal ------------------------------------------------------------------------------ */

/* What is known of a parameter, as text: a size alone is most often that of an integer, and 8 bytes
 * that of an address; "?" where a person must decide. */
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
static void put_row(const struct mpk_code_info *code, size_t kernel, struct mpk_strbuf *out)
{
	char text[MPK_DTYPE_TEXT];

	mpk_strbuf_puts(out, "{ name = \"");
	mpk_escape(out, code->kernels[kernel].name);
	mpk_strbuf_puts(out, "\", args = [");
	for (size_t i = 0; i < code->kernels[kernel].param_count; i++)
		mpk_strbuf_printf(out, "%s\"%s\"", i ? ", " : "", proposed(code, kernel, i, text));
	mpk_strbuf_puts(out, "], launch = [\"blockIdx.x\", \"threadIdx.x\"] }");
}

void mpk_loader_missing_table(struct mpk_loader *l, const struct mpk_manifest_module *m,
			      const struct mpk_file *data)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf rows = { 0 };
	struct mpk_code_info found = { 0 };
	const struct mpk_code_info *code = NULL;

	if (data && mpk_code_info_read(data->map.bytes, 0, NULL, l->arena, &found, NULL) != MPK_OK)
		l->failed = true;
	else if (data && !mpk_code_info_problem(&found))
		code = mpk_code_info_lister(&found);
	if (code && !tells_params(code))
		code = NULL;
	/* as many as a line takes; whoever has more writes the others like these */
	for (size_t i = 0; code && i < code->kernel_count && rows.len < 480; i++) {
		mpk_strbuf_puts(&rows, i ? ", " : "; here: function = [");
		put_row(code, i, &rows);
	}
	if (rows.len)
		mpk_strbuf_puts(&rows, "]");
	mpk_loader_error(
		l, m->pos, MPK_E_SYNTAX, "missing-key",
		"[[module]] of kind '%s' needs [[module.function]]: a code file does not say how its kernels are launched%s",
		MPK_QUOTE(mpk_toml_str_span(m->kind)), mpk_strbuf_text(&rows));
	l->failed |= rows.failed;
}
