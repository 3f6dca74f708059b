/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c - the memory of a call over time: from events to a peak; and graphs, whose storages have no time
 *
 * Whoever follows a model notes what happens in its order: a storage is allocated, a step runs, a storage is freed.
 * What a storage takes may be known only after the last tensor was put into it, so that bytes are added up at the end.
 */
#include "program/memory.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "graphjson/graphjson.h"
#include "program/internal/memory.h"
#include "program/model.h"

bool mpk_memory_bytes(struct mpk_dtype dtype, const int64_t *shape, size_t ndim, uint64_t *out)
{
	uint64_t bytes = mpk_dtype_bytes(dtype);

	for (size_t i = 0; i < ndim; i++)
		if (shape[i] < 0 || __builtin_mul_overflow(bytes, (uint64_t)shape[i], &bytes))
			return false;
	*out = bytes;
	return true;
}

/* --- what happens ------------------------------------------------------------------------------ */

void mpk_timeline_fini(struct mpk_timeline *t)
{
	free(t->events);
	free(t->steps);
	free(t->storages);
	*t = (struct mpk_timeline){ 0 };
}

static bool note(struct mpk_timeline *t, enum mpk_memory_event_kind kind, size_t index)
{
	if (!MPK_VEC_ROOM(t->events, t->event_count, t->event_cap))
		return false;
	t->events[t->event_count++] = (struct mpk_memory_event){ kind, (uint32_t)index };
	return true;
}

bool mpk_timeline_alloc(struct mpk_timeline *t, const struct mpk_memory_storage *s, size_t *out)
{
	if (t->storage_count == UINT32_MAX ||
	    !MPK_VEC_ROOM(t->storages, t->storage_count, t->storage_cap) ||
	    !note(t, MPK_MEMORY_ALLOC, t->storage_count))
		return false;
	*out = t->storage_count;
	t->storages[t->storage_count] = *s;
	t->storages[t->storage_count].first = t->step_count;
	t->storages[t->storage_count++].end = SIZE_MAX;
	return true;
}

bool mpk_timeline_free(struct mpk_timeline *t, size_t storage)
{
	t->storages[storage].end = t->step_count;
	return note(t, MPK_MEMORY_FREE, storage);
}

bool mpk_timeline_step(struct mpk_timeline *t, const struct mpk_memory_step *s)
{
	if (t->step_count == UINT32_MAX || !MPK_VEC_ROOM(t->steps, t->step_count, t->step_cap) ||
	    !note(t, MPK_MEMORY_STEP, t->step_count))
		return false;
	t->steps[t->step_count++] = *s;
	return true;
}

/* --- adding up --------------------------------------------------------------------------------- */

/* Returns  false: the sum fits no 64 bits */
static bool take_event(struct mpk_timeline *t, const struct mpk_memory_event *e, uint64_t *now,
		       uint64_t of[MPK_MEMORY_CACHE + 1], uint64_t *total)
{
	struct mpk_memory_storage *s;

	if (e->kind == MPK_MEMORY_STEP) {
		t->steps[e->index].bytes = *now;
		return true;
	}
	s = &t->storages[e->index];
	if (e->kind == MPK_MEMORY_FREE) {
		*now -= s->bytes;
		of[s->kind] -= s->bytes;
		return true;
	}
	if (__builtin_add_overflow(*total, s->bytes, total))
		return false;
	*now += s->bytes;
	of[s->kind] += s->bytes;
	return true;
}

bool mpk_timeline_sum(struct mpk_timeline *t, struct mpk_function_memory *out)
{
	uint64_t now = 0, of[MPK_MEMORY_CACHE + 1] = { 0 }, best_step = 0;
	size_t steps = 0;

	out->peak_bytes = out->total_bytes = 0;
	out->peak_step = 0;
	for (size_t i = 0; i < t->event_count; i++) {
		if (!take_event(t, &t->events[i], &now, of, &out->total_bytes))
			return false;
		/* the step that runs at the peak, rather than the next one after an allocation for later */
		if (t->events[i].kind == MPK_MEMORY_STEP) {
			steps++;
			if (now == out->peak_bytes && best_step < now) {
				out->peak_step = steps - 1;
				best_step = now;
			}
		} else if (now > out->peak_bytes) {
			out->peak_bytes = now;
			out->peak_step = steps;
			memcpy(out->peak_of, of, sizeof of);
		}
	}
	for (size_t i = 0; i < t->storage_count; i++) {
		struct mpk_memory_storage *s = &t->storages[i];

		if (s->end == SIZE_MAX)
			s->end = steps;
		if (s->kind == MPK_MEMORY_RESULT)
			out->result_bytes += s->bytes;
		if (s->kind == MPK_MEMORY_CACHE)
			out->cache_bytes += s->bytes;
	}
	return true;
}

bool mpk_timeline_keep(const struct mpk_timeline *t, struct mpk_arena *arena,
		       struct mpk_function_memory *out)
{
	out->steps = mpk_arena_keep(arena, t->steps, t->step_count, sizeof *t->steps);
	out->step_count = t->step_count;
	out->storages = mpk_arena_keep(arena, t->storages, t->storage_count, sizeof *t->storages);
	out->storage_count = t->storage_count;
	return out->steps && out->storages;
}

/* --- graphs ------------------------------------------------------------------------------------ */

/* An entry of a graph and the number of its storage. */
struct graph_place {
	int64_t storage_id;
	size_t entry;
};

MPK_ORDER_BY2(by_storage, struct graph_place, storage_id, entry)

/* Where the graph executor puts storages: each as large as the largest entry that has its number; inputs and
 * parameters have some, too.
 * @places  as many as entries, by storage
 * @is_result  of each entry, whether the graph hands it out: then its storage stays as it is until the next call */
static enum mpk_code graph_storages(const struct mpk_graph_json *g,
				    const struct graph_place *places, const bool *is_result,
				    struct mpk_timeline *t, struct mpk_error *err)
{
	for (size_t i = 0; i < g->entry_count; i++) {
		const struct mpk_graph_entry *e = &g->entries[places[i].entry];
		struct mpk_memory_storage s = {
			.device = e->device_type,
			.type = mpk_type_tensor(e->dtype, e->shape, e->ndim, NULL),
		};
		size_t k = t->storage_count - 1;

		if (!mpk_memory_bytes(e->dtype, e->shape, e->ndim, &s.bytes))
			return mpk_fail(err, MPK_E_RANGE, "entry %zu of the graph fits no 64 bits",
					places[i].entry);
		if (!i || places[i - 1].storage_id != places[i].storage_id)
			MPK_TRY_ALLOC(mpk_timeline_alloc(t, &s, &k), err);
		t->storages[k].tensor_count++;
		if (is_result[places[i].entry])
			t->storages[k].kind = MPK_MEMORY_RESULT;
		if (t->storages[k].bytes < s.bytes) {
			t->storages[k].bytes = s.bytes;
			t->storages[k].type = s.type;
		}
	}
	return MPK_OK;
}

static enum mpk_code graph_allocate(const struct mpk_graph_json *g, struct mpk_timeline *t,
				    struct mpk_error *err)
{
	struct graph_place *places = calloc(g->entry_count + 1, sizeof *places);
	bool *is_result = calloc(g->entry_count + 1, sizeof *is_result);
	enum mpk_code code;

	if (places && is_result) {
		for (size_t i = 0; i < g->entry_count; i++)
			places[i] = (struct graph_place){ g->entries[i].storage_id, i };
		for (size_t i = 0; i < g->head_count; i++)
			is_result[mpk_graph_json_entry(g, g->heads[i])] = true;
		qsort(places, g->entry_count, sizeof *places, by_storage);
		code = graph_storages(g, places, is_result, t, err);
	} else {
		code = mpk_fail_nomem(err);
	}
	free(is_result);
	free(places);
	return code;
}

static enum mpk_code graph_memory(const struct mpk_graph_json *g, struct mpk_arena *arena,
				  struct mpk_function_memory *out, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_timeline_fini) struct mpk_timeline t = { 0 };

	MPK_TRY(graph_allocate(g, &t, err));
	for (size_t i = 0; i < g->node_count; i++)
		if (!g->nodes[i].is_input)
			MPK_TRY_ALLOC(
				mpk_timeline_step(
					&t,
					&(struct mpk_memory_step){
						.name = mpk_span_str(g->nodes[i].func_name
									     ? g->nodes[i].func_name
									     : g->nodes[i].name),
						.instruction = -1 }),
				err);
	if (!mpk_timeline_sum(&t, out))
		return mpk_fail(err, MPK_E_RANGE, "the storages of the graph fit no 64 bits");
	MPK_TRY_ALLOC(mpk_timeline_keep(&t, arena, out), err);
	return MPK_OK;
}

static enum mpk_code factory_memory(const struct mpk_payload *p, const struct mpk_models *models,
				    const struct mpk_memory_ask *ask, struct mpk_arena *arena,
				    struct mpk_model_memory *out, struct mpk_error *err)
{
	const struct mpk_params *params = &p->u.factory.params;
	struct mpk_function_memory *f;

	(void)ask; /* the sizes of a graph are known */
	for (size_t i = 0; i < params->names.count; i++)
		out->weight_bytes += params->tensors[i].data.len;
	out->weight_count = params->names.count;
	if (!models->graph) {
		out->untold = "compiled functions, whose code is not read";
		out->unknown = 1;
		return MPK_OK;
	}
	f = mpk_arena_alloc(arena, sizeof *f);
	MPK_TRY_ALLOC(f, err);
	f->signature = models->items;
	f->paths = 1;
	MPK_TRY(graph_memory(models->graph, arena, f, err));
	out->functions = f;
	out->function_count = 1;
	out->is_static = true;
	return MPK_OK;
}

/* --- a model ----------------------------------------------------------------------------------- */

static enum mpk_code sum_functions(struct mpk_model_memory *m, struct mpk_error *err)
{
	uint64_t most = 0;

	m->most = m->function_count;
	m->cache_bytes = 0;
	for (size_t i = 0; i < m->function_count; i++) {
		const struct mpk_function_memory *f = &m->functions[i];
		/* what a function leaves as a cache is there for all of them, and counted once */
		uint64_t bytes = f->peak_bytes - f->peak_of[MPK_MEMORY_CACHE];

		if (__builtin_add_overflow(bytes, f->input_bytes, &bytes) ||
		    __builtin_add_overflow(m->cache_bytes, f->cache_bytes, &m->cache_bytes))
			return mpk_fail(err, MPK_E_RANGE,
					"the memory of the model fits no 64 bits");
		if (m->most == m->function_count || bytes > most) {
			m->most = i;
			most = bytes;
		}
		m->unknown += f->unknown;
	}
	/* of a graph the storages of parameters are the weights */
	if (__builtin_add_overflow(m->is_static ? 0 : m->weight_bytes, m->cache_bytes,
				   &m->need_bytes) ||
	    __builtin_add_overflow(m->need_bytes, most, &m->need_bytes))
		return mpk_fail(err, MPK_E_RANGE, "the memory of the model fits no 64 bits");
	return MPK_OK;
}

static enum mpk_code relax_memory(const struct mpk_payload *p, const struct mpk_models *models,
				  const struct mpk_memory_ask *ask, struct mpk_arena *arena,
				  struct mpk_model_memory *m, struct mpk_error *err)
{
	return mpk_relax_memory(&p->u.relax, models, ask, arena, m, err);
}

static enum mpk_code relay_memory(const struct mpk_payload *p, const struct mpk_models *models,
				  const struct mpk_memory_ask *ask, struct mpk_arena *arena,
				  struct mpk_model_memory *m, struct mpk_error *err)
{
	(void)p, (void)ask, (void)arena, (void)err;
	if (models->count)
		*m = (struct mpk_model_memory){
			.unknown = 1, .untold = "byte code of Relay, which is not followed"
		};
	return MPK_OK;
}

typedef enum mpk_code memory_fn(const struct mpk_payload *p, const struct mpk_models *models,
				const struct mpk_memory_ask *ask, struct mpk_arena *arena,
				struct mpk_model_memory *m, struct mpk_error *err);

enum mpk_code mpk_memory_of(const struct mpk_payload *p, const struct mpk_memory_ask *ask,
			    struct mpk_arena *arena, struct mpk_model_memory *out,
			    struct mpk_error *err)
{
	static memory_fn *const executors[] = {
		[MPK_PAYLOAD_FACTORY] = factory_memory,
		[MPK_PAYLOAD_RELAX] = relax_memory,
		[MPK_PAYLOAD_RELAY] = relay_memory,
	};
	struct mpk_model_memory m = { 0 };
	struct mpk_models models;

	MPK_TRY(mpk_models_of(p, arena, &models, err));
	if (p->tag < MPK_ARRAY_COUNT(executors) && executors[p->tag])
		MPK_TRY(executors[p->tag](p, &models, ask, arena, &m, err));
	MPK_TRY(sum_functions(&m, err));
	*out = m;
	return MPK_OK;
}
