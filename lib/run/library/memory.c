/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c - the memory of models: allocators of the caller, current use, and the estimate for a
 * call
 *
 * The memory of a call is computed from the code of the model (program/memory.h), which is read
 * again for each question: the running program does not keep its plan.
 */
#include <string.h>

#include "executor/machine.h"
#include "library/internal/library.h"
#include "program/memory.h"
#include "text/escape.h"

/* --- of the caller ------------------------------------------------------------------------------ */

/* Size of the struct in the first release that had it. */
enum { MEMORY_SIZE_MIN = sizeof(struct mpkr_memory) };

static void *allocate(void *user, struct mpk_dldevice device, uint64_t bytes, uint64_t align)
{
	const struct mpkr_memory *m = user;

	return m->allocate(m->context, (struct mpkr_device){ device.type, device.id },
			   (size_t)bytes, (size_t)align);
}

static void release(void *user, struct mpk_dldevice device, void *data, uint64_t bytes)
{
	const struct mpkr_memory *m = user;

	m->release(m->context, (struct mpkr_device){ device.type, device.id }, data, (size_t)bytes);
}

static enum mpk_code take_memory(const struct mpkr_memory *from, struct mpkr_memory *kept,
				 struct mpk_memory *out, struct mpk_error *err)
{
	if (!from)
		return MPK_OK;
	if (from->size < MEMORY_SIZE_MIN)
		return mpk_fail(err, MPK_E_USAGE, "memory of %zu bytes: set its size", from->size);
	if (!from->allocate != !from->release)
		return mpk_fail(err, MPK_E_USAGE, "memory with one of allocate and release alone");
	*kept = *from;
	out->from = (struct mpk_memory_source){ .user = kept, .budget = from->budget };
	if (from->allocate) {
		out->from.allocate = allocate;
		out->from.release = release;
	}
	return MPK_OK;
}

enum mpk_code mpk_run_set_memory(struct mpkr_model *model, const struct mpkr_memory *on_host,
				 const struct mpkr_memory *on_device, struct mpk_error *err)
{
	struct mpk_devices *devices = mpk_runtime_devices(model->runtime);

	MPK_TRY(take_memory(on_host, &model->host_memory, mpk_devices_memory(devices, true), err));
	return take_memory(on_device, &model->device_memory, mpk_devices_memory(devices, false),
			   err);
}

/* OpenCL memory is an object of the driver, so callers cannot provide it. */
enum mpk_code mpk_run_check_memory(const struct mpkr_model *model, struct mpk_error *err)
{
	if (!model->device_memory.allocate || mpk_dldevice_is_host(model->where) ||
	    mpk_run_has_addresses(model->where))
		return MPK_OK;
	return mpk_fail(err, MPK_E_UNSUPPORTED,
			"memory of %s is no address that a caller could give",
			mpk_device_kind_name(mpk_device_kind_from(model->where.type)));
}

/* --- now ------------------------------------------------------------------------------------------ */

/* Fields that a caller's version does not have are not written. */
void mpk_run_hand_over(void *out, size_t room, const void *from, size_t len)
{
	memcpy((char *)out + sizeof room, (const char *)from + sizeof room,
	       (room < len ? room : len) - sizeof room);
}

int mpkr_memory_now(mpkr_model *model, int32_t device_type, struct mpkr_usage *out,
		    struct mpkr_error *err)
{
	struct mpkr_usage now = { 0 };
	struct mpk_memory *m;
	uint64_t held;

	if (!model || !out || out->size < sizeof out->size)
		return mpk_run_misuse("a pointer that is needed is NULL, or a size is not set",
				      err);
	m = mpk_devices_memory(mpk_runtime_devices(model->runtime), device_type == MPK_DL_CPU);
	now.weight_bytes = atomic_load(&m->of[MPK_PURPOSE_WEIGHTS]);
	now.cache_bytes = atomic_load(&m->of[MPK_PURPOSE_CACHE]);
	now.scratch_bytes = atomic_load(&m->of[MPK_PURPOSE_SCRATCH]);
	now.used_bytes = atomic_load(&m->used);
	now.most_bytes = atomic_load(&m->most);
	held = now.weight_bytes + now.cache_bytes + now.scratch_bytes;
	now.kept_bytes = now.used_bytes > held ? now.used_bytes - held : 0;
	mpk_run_hand_over(out, out->size, &now, sizeof now);
	return MPKR_OK;
}

void mpkr_memory_trim(mpkr_model *model)
{
	if (!model)
		return;
	for (int i = 0; i < 2; i++) {
		struct mpk_memory *m = mpk_devices_memory(mpk_runtime_devices(model->runtime), i);

		(void)m->trim(m->owner);
	}
}

/* --- before a call -------------------------------------------------------------------------------- */

struct question {
	const char *name; /* NULL means any function */
	struct mpk_memory_ask ask;
	struct mpk_arena arena;
	struct mpkr_need best;
	bool is_found;
};

static void question_fini(struct question *q)
{
	mpk_arena_fini(&q->arena);
}

static bool is_asked(const struct question *q, const struct mpk_function_memory *f)
{
	return !q->name || mpk_span_is(f->signature->name, q->name);
}

/* Reports the function that takes most memory among those asked for. */
static void answer(struct question *q, const struct mpk_model_memory *m)
{
	for (size_t i = 0; i < m->function_count; i++) {
		const struct mpk_function_memory *f = &m->functions[i];
		struct mpkr_need need = {
			/* for a graph, the storages of parameters are the weights */
			.weight_bytes = m->is_static ? 0 : m->weight_bytes,
			.cache_bytes = m->cache_bytes,
			.input_bytes = f->input_bytes,
			.scratch_bytes = f->peak_of[MPK_MEMORY_SCRATCH],
			.result_bytes = f->result_bytes,
			.is_least = f->unknown > 0,
		};

		if (!is_asked(q, f))
			continue;
		/* results alive at the peak are included; caches count once, whoever makes them */
		need.need_bytes = need.weight_bytes + need.cache_bytes + need.input_bytes +
				  f->peak_bytes - f->peak_of[MPK_MEMORY_CACHE];
		if (!q->is_found || need.need_bytes > q->best.need_bytes)
			q->best = need;
		q->is_found = true;
	}
}

static enum mpk_code ask_module(struct mpk_module *module, void *arg, struct mpk_error *err)
{
	const struct mpk_node_module *node = (const struct mpk_node_module *)module;
	struct question *q = arg;
	struct mpk_model_memory m = { 0 };
	struct mpk_payload payload;

	if (!node->loader || !node->loader->payload || !node->loader->signature_at)
		return MPK_OK;
	MPK_TRY(mpk_node_payload(node, &q->arena, &payload, err));
	MPK_TRY(mpk_memory_of(&payload, &q->ask, &q->arena, &m, err));
	answer(q, &m);
	return MPK_OK;
}

static enum mpk_code ask_modules(struct question *q, struct mpkr_model *model,
				 struct mpk_error *err)
{
	MPK_TRY(mpk_library_each_module(model->library, ask_module, q, err));
	if (q->is_found)
		return MPK_OK;
	return mpk_fail(
		err, MPK_E_NOTFOUND,
		"the file does not tell what memory %s%s%s takes: only byte code of the Relax VM and graphs do",
		q->name ? "'" : "", q->name ? MPK_QUOTE(mpk_span_str(q->name)) : "a model of it",
		q->name ? "'" : "");
}

static enum mpk_code memory_need(struct mpkr_model *model, const char *name,
				 const struct mpkr_extent *extents, size_t count,
				 struct mpkr_need *out, struct mpk_error *err)
{
	MPK_CLEANUP(question_fini) struct question q = { .name = name };
	struct mpk_extent_value *said;

	if (!model || !out || (count && !extents) || out->size < sizeof out->size)
		return mpk_fail(err, MPK_E_USAGE,
				"a pointer that is needed is NULL, or a size is not set");
	MPK_TRY_ARRAY(said, &q.arena, count + 1, err);
	for (size_t i = 0; i < count; i++) {
		if (!extents[i].name || extents[i].extent < 0)
			return mpk_fail(err, MPK_E_USAGE, "extent %zu has no name, or is below 0",
					i);
		said[i] = (struct mpk_extent_value){ mpk_span_str(extents[i].name),
						     extents[i].extent };
	}
	q.ask = (struct mpk_memory_ask){ .extents = said, .extent_count = count };
	MPK_TRY(ask_modules(&q, model, err));
	mpk_run_hand_over(out, out->size, &q.best, sizeof q.best);
	return MPK_OK;
}

int mpkr_memory_need(mpkr_model *model, const char *name, const struct mpkr_extent *extents,
		     size_t count, struct mpkr_need *out, struct mpkr_error *err)
{
	struct mpk_error failure;

	if (memory_need(model, name, extents, count, out, &failure) == MPK_OK)
		return MPKR_OK;
	return mpk_run_report(&failure, err);
}
