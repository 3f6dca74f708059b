/* SPDX-License-Identifier: Apache-2.0 */
/* One step of a launch function: which kernel of which module "MODULE.KERNEL" is, and how
 * it is launched: arguments, grid, block, cluster, shared memory, and the tags that carry them.
 * Programs write manifests with thousands of kernels, so names are looked up in an index. */
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "launch/internal/resolve.h"
#include "text/escape.h"
#include "toml/toml.h"

/* --- the index --------------------------------------------------------------------- */

/* By name first: the rows of one name are together, ascending by module, so that one search
 * finds a name anywhere and in one module. */
static int compare_rows(const void *a, const void *b)
{
	const struct mpk_kernel_row *x = a, *y = b;
	int r = mpk_span_compare(x->name, y->name);

	if (r)
		return r;
	return x->module != y->module ? (x->module > y->module) - (x->module < y->module)
				      : (x->row > y->row) - (x->row < y->row);
}

static void list_rows(const struct mpk_manifest *m, struct mpk_kernel_index *index)
{
	for (size_t i = 0; i < m->module_count; i++)
		for (size_t k = 0; k < m->modules[i].function_count; k++)
			index->rows[index->row_count++] = (struct mpk_kernel_row){
				mpk_toml_str_span(m->modules[i].functions[k].name), i, k
			};
	if (index->row_count)
		qsort(index->rows, index->row_count, sizeof *index->rows, compare_rows);
}

/* A module that has no id is another mistake: nobody meant it by a name. */
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
enum mpk_code mpk_kernel_index_init(const struct mpk_manifest *m, struct mpk_arena *arena,
				    struct mpk_kernel_index *index, struct mpk_error *err)
{
	size_t rows = 0;

	for (size_t i = 0; i < m->module_count; i++)
		rows += m->modules[i].function_count;
	*index = (struct mpk_kernel_index){
		.rows = mpk_arena_array(arena, rows, sizeof *index->rows),
		.ids = mpk_arena_array(arena, m->module_count, sizeof *index->ids),
		.letters_left = MPK_KERNEL_INDEX_LETTERS,
	};
	MPK_TRY_ALLOC(index->rows && index->ids && list_ids(m, index), err);
	list_rows(m, index);
	return MPK_OK;
}

/* The first row of that name in this module or, when it has none, in a later one; or NULL. */
static const struct mpk_kernel_row *step_find_row(const struct mpk_kernel_index *index,
						  struct mpk_span name, size_t module)
{
	struct mpk_kernel_row key = { name, module, 0 };
	size_t i = mpk_lower_bound(index->rows, index->row_count, sizeof key, &key, compare_rows);

	return i < index->row_count && mpk_span_equal(index->rows[i].name, name) ? &index->rows[i]
										 : NULL;
}

/* --- what was meant ------------------------------------------------------------------ */

/* Thousands of wrong names where there are thousands of others get no hints in the end. */
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

/* Rows without names are other mistakes. */
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

/* Whether what a table lacks may be due to a mistake that is reported already: the file that would
 * have completed it, or one in the module. */
static bool may_lack_rows(const struct mpk_manifest_module *module)
{
	return !module->valid || (module->data.text && !module->function_count);
}

/* A name without a module: the first module that has such a kernel was meant. */
static void bare_kernel(struct mpk_resolve *r, const struct mpk_toml_str *name)
{
	struct mpk_span text = mpk_toml_str_span(*name);
	const struct mpk_kernel_row *row = step_find_row(r->index, text, 0);

	if (row)
		MPK_COMPLAIN(r, name->pos, "'%s' names no kernel; did you mean '%s.%s'?",
			     MPK_QUOTE(text),
			     MPK_QUOTE(mpk_toml_str_span(r->manifest->modules[row->module].id)),
			     MPK_QUOTE(text));
	else
		MPK_COMPLAIN(r, name->pos, "'%s' names no kernel; it is written MODULE.KERNEL",
			     MPK_QUOTE(text));
}

/* The first dot separates: ids have none, names of kernels may. */
static const struct mpk_manifest_function *
resolve_kernel(struct mpk_resolve *r, const struct mpk_toml_str *name, struct mpk_launch_step *step)
{
	struct mpk_span text = mpk_toml_str_span(*name), id, key;
	const char *dot = memchr(name->text, '.', name->len);
	const struct mpk_manifest_module *module;
	const struct mpk_kernel_row *row;
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

/* --- extents ---------------------------------------------------------------------- */

/* A finding leaves the expression out; the rest of the step is still checked. */
static void resolve_extent(struct mpk_resolve *r, const struct mpk_toml_str *text,
			   struct mpk_launch_extent *out)
{
	out->text = mpk_toml_str_span(*text);
	(void)mpk_resolve_expr(r, text, &out->expr);
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

/* Extents that are not given are 1, which every driver takes without being asked. */
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

/* What only CUDA has, and what a tag must carry. */
static void check_attributes(struct mpk_resolve *r, const struct mpk_manifest_step *m,
			     const struct mpk_launch_step *step)
{
	const struct {
		bool given;
		enum mpk_launch_tag tag;
		const char *key, *name;
	} attributes[] = {
		{ m->cooperative, MPK_TAG_COOPERATIVE, "cooperative", "use_cooperative_launch" },
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
				     "kernel '%s' has no launch tag tirx.%s for '%s'", step->kernel,
				     attributes[i].name, attributes[i].key);
	}
}

/* A kernel's table says which values its launch takes; what the step says beyond that would
 * be dropped by the runtime. */
static void check_tags(struct mpk_resolve *r, const struct mpk_manifest_step *m,
		       const struct mpk_launch_step *step)
{
	check_carried(r, step, step->grid, "grid", "blockIdx", MPK_TAG_GRID_X, m->grid.pos);
	check_carried(r, step, step->block, "block", "threadIdx", MPK_TAG_BLOCK_X, m->block.pos);
	check_carried(r, step, step->cluster, "cluster", "clusterCtaIdx", MPK_TAG_CLUSTER_X,
		      m->cluster.pos);
	if (m->shared.text && !has_tag(step, MPK_TAG_DYN_SHARED))
		MPK_COMPLAIN(r, m->shared.pos,
			     "kernel '%s' has no launch tag for dynamic shared memory",
			     step->kernel);
	check_attributes(r, m, step);
}

static void resolve_tags(struct mpk_resolve *r, const struct mpk_manifest_function *kernel,
			 struct mpk_launch_step *step)
{
	enum mpk_launch_tag *tags = mpk_resolve_array(r, kernel->launch.count, sizeof *tags);

	for (size_t i = 0; tags && i < kernel->launch.count; i++) {
		const struct mpk_toml_str *t = &kernel->launch.items[i];

		tags[i] = mpk_launch_tag_parse(mpk_span_of(t->text, t->len));
	}
	step->tags = tags;
	step->tag_count = tags ? kernel->launch.count : 0;
}

/* Tags first, since extents are checked against them. Without the kernel only the
 * expressions are looked at. */
static void resolve_extents(struct mpk_resolve *r, const struct mpk_manifest_step *m,
			    const struct mpk_manifest_function *kernel,
			    struct mpk_launch_step *step)
{
	if (kernel)
		resolve_tags(r, kernel, step);
	resolve_list(r, &m->grid, "grid", step->grid);
	resolve_list(r, &m->block, "block", step->block);
	resolve_list(r, &m->cluster, "cluster", step->cluster);
	if (m->shared.text)
		resolve_extent(r, &m->shared, &step->shared);
	if (kernel)
		check_tags(r, m, step);
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

/* What can be said of a step without its kernel: whether the names in it are known. */
static void resolve_bare_step(struct mpk_resolve *r, const struct mpk_manifest_step *m,
			      struct mpk_launch_step *step)
{
	mpk_resolve_args(r, m, NULL, step);
	resolve_extents(r, m, NULL, step);
}

/* A kernel that is not found was reported; the rest of the step is checked as far as that
 * goes without it. */
void mpk_resolve_step(struct mpk_resolve *r, const struct mpk_manifest_step *m,
		      struct mpk_launch_step *step)
{
	const struct mpk_manifest_function *kernel;

	if (m->calls.text) {
		mpk_resolve_call(r, m, step);
		return;
	}
	if (!m->kernel.text && r->source->valid)
		MPK_COMPLAIN(r, m->pos, "no kernel is given");
	kernel = m->kernel.text ? resolve_kernel(r, &m->kernel, step) : NULL;
	if (!kernel || !r->manifest->modules[step->module].valid) {
		step->kernel = NULL;
		resolve_bare_step(r, m, step);
		return;
	}
	resolve_set_device(r, step, m->kernel.pos);
	mpk_resolve_args(r, m, kernel, step);
	resolve_extents(r, m, kernel, step);
}
