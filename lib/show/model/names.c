/* SPDX-License-Identifier: Apache-2.0 */
/* A file of some megabytes has a hundred thousand modules or functions when somebody wants it to: a name that is
 * looked for in all of them, for each of them, takes minutes. */
#include "model/internal/names.h"

#include <stdlib.h>
#include <string.h>

#include "base/strmap.h"
#include "base/vec.h"
#include "kernels/kernels.h"
#include "program/device_kind.h"
#include "program/model.h"

/* A list while it grows; malloc'ed. */
struct spans {
	struct mpk_span *items;
	size_t count, cap;
};

static void spans_fini(struct spans *s)
{
	free(s->items);
}

static int by_text(const void *a, const void *b)
{
	return mpk_span_compare(*(const struct mpk_span *)a, *(const struct mpk_span *)b);
}

/* --- kernels ---------------------------------------------------------------------------------- */

/* Notes the keys of module `index`: first has each with the module that had it first, several those that
 * another module has, too. */
static enum mpk_code add_kernels(const struct mpk_kernels *k, size_t index,
				 struct mpk_strmap *first, struct mpk_strmap *several,
				 struct spans *shared, struct mpk_error *err)
{
	for (size_t i = 0; i < k->function_count; i++) {
		struct mpk_span key = k->functions[i].key;
		size_t owner, ignored;
		int added;

		MPK_TRY_ALLOC(mpk_strmap_put(first, key, index, &owner) >= 0, err);
		if (owner == index)
			continue;
		added = mpk_strmap_put(several, key, 0, &ignored);
		MPK_TRY_ALLOC(added >= 0, err);
		if (!added)
			continue;
		MPK_TRY_ALLOC(mpk_vec_reserve(&shared->items, &shared->cap, shared->count + 1,
					      sizeof *shared->items),
			      err);
		shared->items[shared->count++] = key;
	}
	return MPK_OK;
}

/* Sorts the names that several modules have. Only such a name needs a path in a command line, and
 * with one module there is none. */
static enum mpk_code find_shared(const struct mpk_view *view, struct mpk_view_names *names,
				 struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strmap_fini) struct mpk_strmap first = { 0 };
	MPK_CLEANUP(mpk_strmap_fini) struct mpk_strmap several = { 0 };
	MPK_CLEANUP(spans_fini) struct spans shared = { 0 };
	size_t modules = 0;

	for (size_t i = 0; i < view->count; i++)
		modules += mpk_view_kernels(&view->nodes[i]) != NULL;
	for (size_t i = 0; modules > 1 && i < view->count; i++) {
		const struct mpk_kernels *k = mpk_view_kernels(&view->nodes[i]);

		if (k)
			MPK_TRY(add_kernels(k, i, &first, &several, &shared, err));
	}
	if (shared.count)
		qsort(shared.items, shared.count, sizeof *shared.items, by_text);
	names->shared =
		mpk_arena_keep(view->arena, shared.items, shared.count, sizeof *shared.items);
	MPK_TRY_ALLOC(names->shared, err);
	names->shared_count = shared.count;
	return MPK_OK;
}

bool mpk_view_kernel_is_shared(const struct mpk_view *view, struct mpk_span key)
{
	const struct mpk_view_names *n = view->names;

	return n->shared_count &&
	       bsearch(&key, n->shared, n->shared_count, sizeof key, by_text) != NULL;
}

/* --- functions of executors ------------------------------------------------------------------- */

static int model_names_by_name(const void *a, const void *b)
{
	const struct mpk_view_model_name *x = a, *y = b;

	return mpk_span_compare(x->name, y->name);
}

/* Of one name the first in the tree, which --run calls. */
static enum mpk_code find_models(const struct mpk_view *view, struct mpk_view_names *names,
				 struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strmap_fini) struct mpk_strmap known = { 0 };
	struct mpk_view_model_name *models;
	size_t most = 0, n = 0, ignored;

	for (size_t i = 0; i < view->count; i++)
		if (view->nodes[i].models.count && mpk_model_is_kind(view->nodes[i].node->kind))
			most += view->nodes[i].models.count;
	models = mpk_arena_array(view->arena, most, sizeof *models);
	MPK_TRY_ALLOC(models, err);
	for (size_t i = 0; most && i < view->count; i++) {
		const struct mpk_models *m = &view->nodes[i].models;

		for (size_t k = 0; k < m->count && mpk_model_is_kind(view->nodes[i].node->kind);
		     k++) {
			int added = mpk_strmap_put(&known, m->items[k].name, 0, &ignored);

			MPK_TRY_ALLOC(added >= 0, err);
			if (added)
				models[n++] = (struct mpk_view_model_name){ m->items[k].name,
									    &m->items[k] };
		}
	}
	if (n)
		qsort(models, n, sizeof *models, model_names_by_name);
	names->models = models;
	names->model_count = n;
	return MPK_OK;
}

const struct mpk_signature *mpk_view_model(const struct mpk_view *view, struct mpk_span name)
{
	/* so TVM's CodeGenVMTIR calls the compiled body of a Relax function */
	static const char compiled[] = "__vmtir__";
	size_t prefix = mpk_span_starts(name, compiled) ? strlen(compiled) : 0;
	const struct mpk_view_model_name key = { .name = mpk_span_of(name.data + prefix,
								     name.len - prefix) };
	const struct mpk_view_names *n = view->names;
	const struct mpk_view_model_name *found =
		n->model_count
			? bsearch(&key, n->models, n->model_count, sizeof key, model_names_by_name)
			: NULL;

	return found ? found->signature : NULL;
}

/* --- host functions --------------------------------------------------------------------------- */

const char *mpk_view_called(const struct mpk_view *view, size_t index)
{
	const struct mpk_image_function *f = &view->image->functions[index];

	return f->alias_of ? f->alias_of : f->name;
}

const struct mpk_signature *mpk_view_called_instead(const struct mpk_view *view, size_t index)
{
	return mpk_view_model(view, mpk_span_str(mpk_view_called(view, index)));
}

/* Aliases may stand for others; of a hostile file, around in a circle. */
static size_t model_names_target_of(const struct mpk_image *image,
				    const struct mpk_strmap *by_name_of, size_t index)
{
	for (size_t steps = 0; steps <= image->function_count; steps++) {
		const char *other = image->functions[index].alias_of;

		if (!other)
			return index;
		if (!mpk_strmap_find(by_name_of, mpk_span_str(other), &index))
			break;
	}
	return SIZE_MAX;
}

/* For each function the index of the one that it leads to.
 * A file without aliases needs no table. */
static enum mpk_code find_targets(const struct mpk_view *view, struct mpk_view_names *names,
				  struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strmap_fini) struct mpk_strmap map = { 0 };
	const struct mpk_image *image = view->image;
	size_t *targets, aliases = 0, ignored;

	for (size_t i = 0; i < image->function_count; i++)
		aliases += image->functions[i].alias_of != NULL;
	if (!aliases)
		return MPK_OK;
	targets = mpk_arena_array(view->arena, image->function_count, sizeof *targets);
	MPK_TRY_ALLOC(targets, err);
	for (size_t i = 0; i < image->function_count; i++) {
		const struct mpk_image_function *f = &image->functions[i];

		/* an alias of its own name is skipped: the name means
		 * the function that it leads to */
		if (!f->alias_of || strcmp(f->alias_of, f->name) != 0)
			MPK_TRY_ALLOC(mpk_strmap_put(&map, mpk_span_str(f->name), i, &ignored) >= 0,
				      err);
	}
	for (size_t i = 0; i < image->function_count; i++)
		targets[i] = model_names_target_of(image, &map, i);
	names->targets = targets;
	return MPK_OK;
}

/* --- all of them ------------------------------------------------------------------------------ */

enum mpk_code mpk_view_read_names(struct mpk_view *view, struct mpk_error *err)
{
	struct mpk_view_names *names = mpk_arena_alloc(view->arena, sizeof *names);

	MPK_TRY_ALLOC(names, err);
	*names = (struct mpk_view_names){ .device = { .type = MPK_DL_CPU } };
	MPK_TRY(find_shared(view, names, err));
	MPK_TRY(find_models(view, names, err));
	MPK_TRY(find_targets(view, names, err));
	if (!view->image->standalone &&
	    mpk_devices_default(view->tree, &names->device, NULL) != MPK_OK)
		/* no device of DLPack has number 0: a command line then
		 * names the device of its function */
		names->device.type = 0;
	view->names = names;
	return MPK_OK;
}
