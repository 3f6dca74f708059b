/* SPDX-License-Identifier: Apache-2.0 */
/* read.c - computes the memory of each model of a file */
#include "memory/memory.h"

static bool has_extent(const struct mpk_model_memory *m, struct mpk_span name)
{
	for (size_t i = 0; i < m->function_count; i++)
		for (size_t k = 0; k < m->functions[i].given_count; k++)
			if (mpk_span_equal(m->functions[i].extents[k].name, name))
				return true;
	return false;
}

static const struct mpk_extent_value *
find_unused(const struct mpk_memory_ask *ask, const struct mpk_memory_model *models, size_t count)
{
	for (size_t i = 0; i < ask->extent_count; i++) {
		bool used = false;

		for (size_t k = 0; k < count; k++)
			used |= has_extent(&models[k].memory, ask->extents[i].name);
		if (!used)
			return &ask->extents[i];
	}
	return NULL;
}

/* Keeps only the functions that the filter chooses. */
static enum mpk_code choose_functions(const struct mpk_view_node *n, struct mpk_arena *arena,
				      struct mpk_model_memory *m, struct mpk_error *err)
{
	struct mpk_function_memory *kept =
		mpk_arena_array(arena, m->function_count + 1, sizeof *kept);
	size_t count = 0, most = 0;

	MPK_TRY_ALLOC(kept, err);
	for (size_t i = 0; i < m->function_count; i++)
		if (mpk_view_shows_part(n, m->functions[i].signature->name))
			kept[count++] = m->functions[i];
	for (size_t i = 0; i < count; i++)
		if (kept[i].peak_bytes + kept[i].input_bytes >
		    kept[most].peak_bytes + kept[most].input_bytes)
			most = i;
	m->functions = kept;
	m->function_count = count;
	m->most = count ? most : 0;
	return MPK_OK;
}

enum mpk_code mpk_memory_read(const struct mpk_view *view, const struct mpk_memory_ask *ask,
			      bool all, struct mpk_arena *arena, struct mpk_memory_list *out,
			      struct mpk_error *err)
{
	struct mpk_memory_model *models = mpk_arena_array(arena, view->count + 1, sizeof *models);
	struct mpk_memory_list list = {
		.name = view->name, .items = models, .all = all, .view = view
	};

	MPK_TRY_ALLOC(models, err);
	for (size_t i = 0; i < view->count; i++) {
		const struct mpk_view_node *n = &view->nodes[i];
		struct mpk_memory_model *m = &models[list.count];
		enum mpk_code code;

		if (!n->decoded || !mpk_model_is_kind(n->node->kind))
			continue;
		code = mpk_memory_of(n->payload, ask, arena, &m->memory, err);
		if (code != MPK_OK) {
			mpk_error_at_path(err, n->path);
			return code;
		}
		m->path = n->path;
		list.count++;
	}
	list.unused = find_unused(ask, models, list.count);
	for (size_t i = 0; i < view->count && view->choice; i++)
		for (size_t k = 0; k < list.count; k++)
			if (models[k].path == view->nodes[i].path)
				MPK_TRY(choose_functions(&view->nodes[i], arena, &models[k].memory,
							 err));
	list.most = 0;
	for (size_t i = 1; i < list.count; i++)
		if (models[i].memory.need_bytes > models[list.most].memory.need_bytes)
			list.most = i;
	*out = list;
	return MPK_OK;
}
