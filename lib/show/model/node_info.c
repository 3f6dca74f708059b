/* SPDX-License-Identifier: Apache-2.0 */
/* node_info.c - reads the code and the tensors of a module. The kernel table and the code are
 * independent lists, which are matched here by name, once. Views and checks then ask for a kernel
 * of the table. */
#include "model/node_info.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "code/show.h"
#include "code/work.h"

/* --- tensors ------------------------------------------------------------------------ */

/* Returns the payload's own name for a tensor, else the last step of its file name. */
static const char *tensor_name(const struct mpk_extracted_file *file, struct mpk_arena *arena)
{
	const char *slash = strrchr(file->name, '/');

	if (file->title.len)
		return mpk_arena_text(arena, file->title);
	return slash ? slash + 1 : file->name;
}

/* Lists the tensors of a payload with their figures. This reads every element, so it is done
 * once. */
static enum mpk_code node_info_measure(struct mpk_view_node *node, struct mpk_arena *arena,
				       struct mpk_error *err)
{
	/* a copy, since several nodes may share the present one, which is empty */
	struct mpk_node_info info = *node->info;
	struct mpk_extracted_files files;
	struct mpk_tensor_info *list;
	size_t n = 0;

	if (!node->decoded || info.measured)
		return MPK_OK;
	MPK_TRY(mpk_payload_parts(node->payload, arena, &files, err));
	MPK_TRY_ARRAY(list, arena, files.count, err);
	for (size_t i = 0; i < files.count; i++) {
		const struct mpk_extracted_file *file = &files.items[i];

		if (!file->tensor)
			continue;
		list[n] = (struct mpk_tensor_info){ tensor_name(file, arena), file->tensor,
						    mpk_stats_of(file->tensor) };
		MPK_TRY_ALLOC(list[n++].name, err);
	}
	info.measured = true;
	info.tensors = list;
	info.tensor_count = n;
	node->info = mpk_arena_keep(arena, &info, 1, sizeof info);
	MPK_TRY_ALLOC(node->info, err);
	return MPK_OK;
}

/* --- views -------------------------------------------------------------------------- */

/* In a file with very many modules, most have no info. */
static enum mpk_code node_info(const struct mpk_view *view, size_t index, struct mpk_error *err)
{
	static const struct mpk_node_info nothing = { 0 };
	struct mpk_view_node *node = &view->nodes[index];
	const struct mpk_payload_view *row = mpk_view_row(node);
	struct mpk_payload_content content = mpk_view_content(node);
	struct mpk_node_info info = { 0 };

	if (node->info)
		return MPK_OK;
	if (row->read)
		MPK_TRY(row->read(&content, view->arena, &info, err));
	node->info = info.piece_count || info.table.count || info.storage_count
			     ? mpk_arena_keep(view->arena, &info, 1, sizeof info)
			     : &nothing;
	MPK_TRY_ALLOC(node->info, err);
	return MPK_OK;
}

enum mpk_code mpk_view_info(const struct mpk_view *view, size_t index,
			    const struct mpk_node_info **out, struct mpk_error *err)
{
	MPK_TRY(node_info(view, index, err));
	*out = view->nodes[index].info;
	return MPK_OK;
}

enum mpk_code mpk_view_show_info(struct mpk_view *view, bool tensors, struct mpk_error *err)
{
	for (size_t i = 0; i < view->count; i++) {
		MPK_TRY(node_info(view, i, err));
		if (tensors)
			MPK_TRY(node_info_measure(&view->nodes[i], view->arena, err));
		view->nodes[i].show_info = true;
	}
	return MPK_OK;
}

/* --- figures ------------------------------------------------------------------------ */

/* The parameters of a kernel in one of its images, as JSON; other images are compared with it. */
struct params {
	struct mpk_json json;
	size_t image; /* index in the list of the first image with these parameters */
};

enum { PARAMS_KEPT = 4 }; /* machine code of two vendors, and PTX */

/* The state of writing the figures of a kernel, for each piece of code that has it. */
struct figures {
	const char *indent;
	bool with_work;
	struct mpk_strbuf *out;
	struct mpk_json *j;
	struct mpk_json_at *list;
	struct params params[PARAMS_KEPT];
	size_t params_count, count;
};

/* A format without kernel figures gets no line. */
static void figure_line(const struct mpk_code_info *code, size_t kernel, void *arg)
{
	const struct figures *f = arg;
	struct mpk_work work;

	if (!code->format || !code->format->kernel_text)
		return;
	mpk_strbuf_puts(f->out, f->indent);
	mpk_code_kernel_text(code, kernel, f->out);
	mpk_strbuf_putc(f->out, '\n');
	if (!f->with_work || !mpk_code_work(code, kernel, &work))
		return;
	mpk_strbuf_printf(f->out, "%s  ", f->indent);
	mpk_work_put(&work, f->out);
	mpk_strbuf_putc(f->out, '\n');
}

/* Images for thirty devices have the same parameters, which would be most of the document, so they
 * are written once. */
static void put_params(const struct mpk_code_info *code, size_t kernel, struct figures *f,
		       struct mpk_json_at *at)
{
	struct params *last = &f->params[f->params_count];

	if (f->params_count == PARAMS_KEPT) {
		mpk_code_params_json(code, kernel, f->j, at);
		return;
	}
	mpk_json_init(&last->json, 0);
	mpk_code_params_json(code, kernel, &last->json, last->json.root);
	f->j->failed |= last->json.failed || last->json.text.failed;
	last->image = f->count;
	for (size_t i = 0; i < f->params_count; i++) {
		if (!mpk_span_equal(mpk_json_so_far(&f->params[i].json),
				    mpk_json_so_far(&last->json)))
			continue;
		mpk_json_u64(f->j, at, "parameters_as", f->params[i].image);
		mpk_json_fini(&last->json);
		return;
	}
	f->params_count++;
	mpk_code_params_json(code, kernel, f->j, at);
}

static void figures_fini(struct figures *f)
{
	for (size_t i = 0; i < f->params_count; i++)
		mpk_json_fini(&f->params[i].json);
}

/* "format" tells the figures of several images apart. */
static void figure_object(const struct mpk_code_info *code, size_t kernel, void *arg)
{
	struct figures *f = arg;
	struct mpk_json_at *o;

	if (!code->format || !(code->format->kernel_json || code->format->kernel_fact_count))
		return;
	o = mpk_json_object(f->j, f->list, NULL);
	mpk_json_text(f->j, o, "format", code->format->word);
	mpk_code_kernel_json(code, kernel, f->j, o);
	if (code->format->params_json)
		put_params(code, kernel, f, o);
	f->count++;
}

void mpk_code_figure_lines(const struct mpk_code_info *code, struct mpk_span kernel,
			   const char *indent, bool with_work, struct mpk_strbuf *out)
{
	struct figures f = { .indent = indent, .with_work = with_work, .out = out };

	if (code)
		mpk_code_info_each(code, kernel, figure_line, &f);
}

void mpk_code_figures_json(const struct mpk_code_info *code, struct mpk_span kernel,
			   struct mpk_json *j, struct mpk_json_at *at)
{
	MPK_CLEANUP(figures_fini)
	struct figures f = { .j = j, .list = mpk_json_array(j, at, "figures") };

	if (code)
		mpk_code_info_each(code, kernel, figure_object, &f);
}

/* --- questions ---------------------------------------------------------------------- */

/* If there are several pieces for one kernel, the first counts, as for loaders. */
static const struct mpk_code_info *node_info_code_of(const struct mpk_node_info *info,
						     struct mpk_span kernel)
{
	size_t i = 0;

	if (info->piece_names.count || !info->piece_count)
		return mpk_names_find(&info->piece_names, kernel, &i) ? &info->pieces[i].code
								      : NULL;
	return &info->pieces[0].code;
}

const struct mpk_code_info *mpk_node_code(const struct mpk_node_info *info,
					  const struct mpk_kernels *table, size_t index)
{
	return node_info_code_of(info, table->functions[index].key);
}

void mpk_node_info_each(const struct mpk_node_info *info, const struct mpk_kernels *table,
			size_t index,
			void (*fn)(const struct mpk_code_info *code, size_t kernel, void *arg),
			void *arg)
{
	const struct mpk_code_info *code = mpk_node_code(info, table, index);

	if (code)
		mpk_code_info_each(code, table->functions[index].key, fn, arg);
}

enum mpk_code_defines mpk_node_info_defines(const struct mpk_node_info *info,
					    const struct mpk_kernels *table, size_t index)
{
	struct mpk_span name = table->functions[index].key;
	const struct mpk_code_info *code = node_info_code_of(info, name);

	return code ? mpk_code_info_defines(code, name) : MPK_CODE_MISSING;
}

const struct mpk_view_finding *mpk_node_findings(const struct mpk_view_node *node, size_t index,
						 size_t *count)
{
	struct mpk_span kernel = mpk_view_kernels(node)->functions[index].key;
	size_t low, end, first = index;

	/* if the table has a name twice, the first row has the findings */
	(void)mpk_names_find(&node->info->table, kernel, &first);
	*count = 0;
	if (first != index)
		return NULL;
	/* findings are sorted by kernel: find the first that is not less */
	MPK_FIND_FIRST(low, node->finding_count, i,
		       mpk_span_compare(mpk_span_str(node->findings[i].kernel), kernel) < 0);
	for (end = low;
	     end < node->finding_count && mpk_span_is(kernel, node->findings[end].kernel); end++)
		;
	*count = end - low;
	return end > low ? &node->findings[low] : NULL;
}

/* --- which tensors are images -----------------------------------------------------------------
 *
 * Host code checks shapes and types, but not whether a tensor is an image, and a driver crashes if
 * it is not. Only the kernels tell. TVM names the kernels of function f "f_kernel", "f_kernel_1",
 * ..., and their parameters like those of the function, with the suffix "_ptr". */

/* A kernel, by the name of its function. */
struct kernel {
	struct mpk_span function;
	const struct mpk_view_node *node;
	size_t index; /* index in the node's table */
	size_t order;
};

/* The kernels of all modules, sorted by function: there may be as many functions as kernels. */
struct kernels {
	struct kernel *items;
	size_t count;
};

/* Finds "f" in "f_kernel", "f_kernel_" and "f_kernel_1". Returns false if the name has none of
 * these forms. */
static bool function_of(struct mpk_span kernel, struct mpk_span *out)
{
	static const char suffix[] = "_kernel";
	size_t n = sizeof suffix - 1, end = kernel.len;

	while (end && isdigit(kernel.data[end - 1]))
		end--;
	if (end && kernel.data[end - 1] == '_')
		end--;
	else if (end < kernel.len)
		return false;
	if (end < n || memcmp(kernel.data + end - n, suffix, n) != 0)
		return false;
	*out = mpk_span_of(kernel.data, end - n);
	return true;
}

/* Sorts by function, then in file order: qsort is not stable. */
static int images_by_function(const void *a, const void *b)
{
	const struct kernel *x = a, *y = b;
	int order = mpk_span_compare(x->function, y->function);

	return order ? order : (x->order > y->order) - (x->order < y->order);
}

static bool is_opencl(const struct mpk_view_node *node)
{
	return mpk_view_kernels(node) && mpk_span_is(node->node->kind, "opencl");
}

static enum mpk_code list_kernels(const struct mpk_view *view, struct mpk_arena *arena,
				  struct kernels *out, struct mpk_error *err)
{
	size_t most = 0;

	for (size_t n = 0; n < view->count; n++)
		if (is_opencl(&view->nodes[n]))
			most += mpk_view_kernels(&view->nodes[n])->function_count;
	*out = (struct kernels){ .items = mpk_arena_array(arena, most, sizeof *out->items) };
	MPK_TRY_ALLOC(out->items, err);
	for (size_t n = 0; n < view->count; n++) {
		const struct mpk_view_node *node = &view->nodes[n];
		const struct mpk_kernels *table = mpk_view_kernels(node);

		for (size_t i = 0; is_opencl(node) && i < table->function_count; i++) {
			struct kernel k = { .node = node, .index = i, .order = out->count };

			if (function_of(table->functions[i].key, &k.function))
				out->items[out->count++] = k;
		}
	}
	if (out->count)
		qsort(out->items, out->count, sizeof *out->items, images_by_function);
	return MPK_OK;
}

/* --- what they say -------------------------------------------------------------------------- */

static bool is_param_of(struct mpk_span kernel, struct mpk_span function)
{
	return mpk_span_equal(kernel, function) ||
	       (kernel.len == function.len + 4 && function.len &&
		memcmp(kernel.data, function.data, function.len) == 0 &&
		memcmp(kernel.data + function.len, "_ptr", 4) == 0);
}

/* The tensors of one function, while its kernels are searched for them. */
struct tensors {
	struct mpk_param *inputs;
	size_t count;
	struct mpk_arena *arena;
	bool failed, found;
};

/* Images of up to three dimensions have the same layout in every scope. */
static const char *scope_of(const struct mpk_type *t)
{
	return t->ranked && t->ndim <= 3 ? "texture" : "";
}

static void ask_kernel(const struct mpk_code_info *code, size_t kernel, void *arg)
{
	struct tensors *t = arg;
	const struct mpk_code_param *params;

	if (mpk_code_info_params(code, kernel, t->arena, &params, NULL) != MPK_OK) {
		t->failed = true;
		return;
	}
	for (size_t k = 0; k < code->kernels[kernel].param_count; k++)
		for (size_t i = 0; params[k].kind == MPK_CODE_PARAM_IMAGE && i < t->count; i++) {
			struct mpk_type *type = &t->inputs[i].type;

			if (type->kind != MPK_TYPE_TENSOR ||
			    !is_param_of(params[k].name, t->inputs[i].name))
				continue;
			type->scope = scope_of(type);
			t->found = true;
		}
}

static void ask_kernels(const struct kernels *all, struct mpk_span function, struct tensors *t)
{
	/* order 0 is the least, so the search finds the first kernel of the function */
	const struct kernel key = { .function = function };
	size_t at = mpk_lower_bound(all->items, all->count, sizeof key, &key, images_by_function);

	for (; at < all->count && mpk_span_equal(all->items[at].function, function); at++) {
		const struct kernel *k = &all->items[at];

		mpk_node_info_each(k->node->info, mpk_view_kernels(k->node), k->index, ask_kernel,
				   t);
	}
}

/* Replaces *s by a signature with scopes if there are any. */
static enum mpk_code mark(const struct kernels *all, struct mpk_arena *arena,
			  const struct mpk_signature **s, struct mpk_error *err)
{
	struct tensors t = { .count = (*s)->input_count, .arena = arena };
	struct mpk_signature *copy;

	t.inputs = mpk_arena_keep(arena, (*s)->inputs, t.count, sizeof *t.inputs);
	MPK_TRY_ALLOC(t.inputs, err);
	ask_kernels(all, (*s)->name, &t);
	if (t.failed)
		return mpk_fail_nomem(err);
	/* most functions have no image, and keep their signature */
	if (!t.found)
		return MPK_OK;
	copy = mpk_arena_alloc(arena, sizeof *copy);
	MPK_TRY_ALLOC(copy, err);
	*copy = **s;
	copy->inputs = t.inputs;
	*s = copy;
	return MPK_OK;
}

/* Most files have no image. A search in the source is cheap, and saves reading the parameters of
 * the kernels. */
static bool has_images(const struct mpk_view *view)
{
	for (size_t n = 0; n < view->count; n++) {
		const struct mpk_kernels *k = mpk_view_kernels(&view->nodes[n]);

		if (is_opencl(&view->nodes[n]) && k->data.len &&
		    memmem(k->data.data, k->data.len, " image", 6))
			return true;
	}
	return false;
}

enum mpk_code mpk_view_mark_images(struct mpk_view *view, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	const struct mpk_signature **list;
	struct kernels all;

	if (!has_images(view))
		return MPK_OK;
	list = mpk_arena_keep(view->arena, view->host, view->image->function_count, sizeof *list);
	MPK_TRY_ALLOC(list, err);
	MPK_TRY(list_kernels(view, &scratch, &all, err));
	for (size_t i = 0; i < view->image->function_count; i++)
		if (list[i])
			MPK_TRY(mark(&all, view->arena, &list[i], err));
	view->host = list;
	return MPK_OK;
}
