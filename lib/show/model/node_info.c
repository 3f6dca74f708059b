/* SPDX-License-Identifier: Apache-2.0 */
/* A module's table of kernels and its code are two lists by two authors. They are tied together
 * here, by name, once; views and checks ask for a kernel of the table. */
#include "model/node_info.h"

#include <string.h>

#include "code/show.h"

/* --- tensors ------------------------------------------------------------------------ */

/* The payload's own name for a tensor, else the last step of its file name. */
static const char *tensor_name(const struct mpk_extracted_file *file, struct mpk_arena *arena)
{
	const char *slash = strrchr(file->name, '/');

	if (file->title.len)
		return mpk_arena_text(arena, file->title);
	return slash ? slash + 1 : file->name;
}

/* Lists the tensors of a payload with their figures. It reads every element, so it is done once. */
static enum mpk_code node_info_measure(struct mpk_view_node *node, struct mpk_arena *arena,
				       struct mpk_error *err)
{
	/* a copy: what is there may be the empty one that nodes share */
	struct mpk_node_info info = *node->info;
	struct mpk_extracted_files files;
	struct mpk_tensor_info *list;
	size_t n = 0;

	if (!node->decoded || info.measured)
		return MPK_OK;
	MPK_TRY(mpk_payload_parts(node->payload, arena, &files, err));
	list = mpk_arena_array(arena, files.count, sizeof *list);
	MPK_TRY_ALLOC(list, err);
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

/* Most modules of a file that has very many say nothing. */
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

/* What goes with each run of code that has a kernel. */
struct figures {
	const char *indent;
	struct mpk_strbuf *out;
	struct mpk_json *j;
	struct mpk_json_at *list;
};

/* A format that knows no figures of its kernels gets no line. */
static void figure_line(const struct mpk_code_info *code, size_t kernel, void *arg)
{
	const struct figures *f = arg;

	if (!code->format || !code->format->kernel_text)
		return;
	mpk_strbuf_puts(f->out, f->indent);
	code->format->kernel_text(code, kernel, f->out);
	mpk_strbuf_putc(f->out, '\n');
}

/* "format" tells the figures of several images apart. */
static void figure_object(const struct mpk_code_info *code, size_t kernel, void *arg)
{
	const struct figures *f = arg;
	struct mpk_json_at *o;

	if (!code->format || !(code->format->kernel_json || code->format->kernel_fact_count))
		return;
	o = mpk_json_object(f->j, f->list, NULL);
	mpk_json_text(f->j, o, "format", code->format->word);
	mpk_code_kernel_json(code, kernel, f->j, o);
}

void mpk_code_figure_lines(const struct mpk_code_info *code, struct mpk_span kernel,
			   const char *indent, struct mpk_strbuf *out)
{
	struct figures f = { .indent = indent, .out = out };

	if (code)
		mpk_code_info_each(code, kernel, figure_line, &f);
}

void mpk_code_figures_json(const struct mpk_code_info *code, struct mpk_span kernel,
			   struct mpk_json *j, struct mpk_json_at *at)
{
	struct figures f = { .j = j, .list = mpk_json_array(j, at, "figures") };

	if (code)
		mpk_code_info_each(code, kernel, figure_object, &f);
}

/* --- questions ---------------------------------------------------------------------- */

/* Of several pieces for one kernel the first counts, as for loaders. */
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
	size_t low = 0, high = node->finding_count, end, first = index;

	/* a name that the table has twice has its findings at the first of its rows */
	(void)mpk_names_find(&node->info->table, kernel, &first);
	*count = 0;
	if (first != index)
		return NULL;
	/* findings are sorted by kernel: the first that is not less */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (mpk_span_compare(mpk_span_str(node->findings[middle].kernel), kernel) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low;
	     end < node->finding_count && mpk_span_is(kernel, node->findings[end].kernel); end++)
		;
	*count = end - low;
	return end > low ? &node->findings[low] : NULL;
}
