/* SPDX-License-Identifier: Apache-2.0 */
/* require.c - the metadata of a model, and the functions that it needs from the application
 *
 * Names come from the file, so they are available before any function is found, and even if the
 * model cannot run on this machine. Which of them exist is checked at each request, since the
 * application may have registered more.
 */
#include <string.h>

#include "base/vec.h"
#include "executor/machine.h"
#include "executor/relax/builtin.h"
#include "graphjson/graphjson.h"
#include "library/internal/library.h"
#include "program/device_kind.h"

/* --- metadata ----------------------------------------------------------------------------------- */

/* The caller holds the model's lock and the session of its first functions. */
static enum mpk_code call_metadata(struct mpkr_model *model, const char **out,
				   struct mpk_error *err)
{
	struct mpk_value said = { 0 };
	struct mpk_span text = { 0 };
	struct mpk_function *f;
	enum mpk_code code;

	MPK_TRY(mpk_run_look_up(model, "_metadata", &f, err));
	code = mpk_function_call(f, &(struct mpk_args){ NULL, NULL, 0 }, &said, err);
	mpk_function_drop(f);
	MPK_TRY(code);
	if (said.kind == MPK_VALUE_STR)
		text = mpk_value_text_span(&said);
	*out = text.data ? mpk_arena_text(&model->arena, text) : NULL;
	mpk_value_drop(&said);
	return *out ? MPK_OK : mpk_fail(err, MPK_E_NOTFOUND, "the model has no metadata");
}

int mpkr_metadata(mpkr_model *model, const char **out, struct mpkr_error *err)
{
	struct mpk_memory *before;
	struct mpk_error failure;
	enum mpk_code code = MPK_OK;

	if (!model || !out)
		return mpk_run_misuse("a pointer that is needed is NULL", err);
	if (pthread_mutex_lock(&model->first->lock) != 0)
		return mpk_run_misuse("a call of the model is under way", err);
	before = mpk_run_lock(model);
	if (!model->metadata)
		code = call_metadata(model, &model->metadata, &failure);
	mpk_run_unlock(model, before);
	(void)pthread_mutex_unlock(&model->first->lock);
	if (code != MPK_OK)
		return mpk_run_report(&failure, err);
	*out = model->metadata;
	return MPKR_OK;
}

/* --- requirements ------------------------------------------------------------------------------- */

static enum mpk_code put(struct mpkr_model *model, enum mpkr_requirement_kind kind,
			 struct mpk_span name, int32_t device_type, struct mpk_error *err)
{
	struct mpk_run_required *list;
	const char *text;

	for (size_t i = 0; i < model->required_count; i++)
		if (model->required[i].kind == kind && mpk_span_is(name, model->required[i].name))
			return MPK_OK;
	text = mpk_arena_text(&model->arena, name);
	MPK_TRY_ALLOC(text && mpk_vec_reserve(&model->required, &model->required_cap,
					      model->required_count + 1, sizeof *list),
		      err);
	model->required[model->required_count++] =
		(struct mpk_run_required){ kind, device_type, text };
	return MPK_OK;
}

static enum mpk_code put_devices(struct mpkr_model *model, struct mpk_error *err)
{
	for (size_t i = 0; model->tree && i < model->tree->count; i++) {
		enum mpk_device_kind kind = mpk_device_kind_of(model->tree->nodes[i].kind);

		if (kind > MPK_DEVICE_CPU)
			MPK_TRY(put(model, MPKR_REQUIRES_DEVICE,
				    mpk_span_str(mpk_device_kind_name(kind)), (int32_t)kind, err));
	}
	return MPK_OK;
}

static bool is_state(struct mpk_span name)
{
	static const char *const begins[] = { "vm.builtin.paged_attention_kv_cache",
					      "vm.builtin.attention_kv_cache",
					      "vm.builtin.kv_state_", "vm.builtin.rnn_state_" };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(begins); i++)
		if (mpk_span_starts(name, begins[i]))
			return true;
	return false;
}

static bool file_has(const struct mpkr_model *model, struct mpk_span name)
{
	for (size_t i = 0; i < model->code->function_count; i++)
		if (mpk_span_is(name, model->code->functions[i].name))
			return true;
	return false;
}

static enum mpk_code put_function(struct mpkr_model *model, struct mpk_span name,
				  struct mpk_error *err)
{
	if (file_has(model, name))
		return MPK_OK;
	return put(model, is_state(name) ? MPKR_REQUIRES_STATE : MPKR_REQUIRES_FUNCTION, name, 0,
		   err);
}

/* Names with two leading underscores are not functions: a copy, or a no-op. */
static enum mpk_code put_graph(struct mpkr_model *model, struct mpk_span text,
			       struct mpk_arena *arena, struct mpk_error *err)
{
	struct mpk_graph_json g;

	MPK_TRY(mpk_graph_json_read(text, arena, &g, err));
	for (size_t i = 0; i < g.node_count; i++)
		if (!g.nodes[i].is_input && strncmp(g.nodes[i].func_name, "__", 2) != 0)
			MPK_TRY(put_function(model, mpk_span_str(g.nodes[i].func_name), err));
	return MPK_OK;
}

static enum mpk_code put_functions(struct mpk_module *module, void *arg, struct mpk_error *err)
{
	const struct mpk_node_module *node = (const struct mpk_node_module *)module;
	struct mpkr_model *model = arg;
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	struct mpk_payload payload;

	if (!node->loader || !node->loader->payload || !node->loader->signature_at)
		return MPK_OK;
	MPK_TRY(mpk_node_payload(node, &arena, &payload, err));
	for (size_t i = 0; payload.tag == MPK_PAYLOAD_RELAX && i < payload.u.relax.func_count; i++)
		if (payload.u.relax.funcs[i].kind == MPK_RELAX_PACKED)
			MPK_TRY(put_function(model, payload.u.relax.funcs[i].name, err));
	for (size_t i = 0; payload.tag == MPK_PAYLOAD_RELAY && i < payload.u.relay.primitives.count;
	     i++)
		MPK_TRY(put_function(model, payload.u.relay.primitives.items[i], err));
	if (payload.tag == MPK_PAYLOAD_FACTORY && payload.u.factory.has_graph)
		return put_graph(model, payload.u.factory.graph_json, &arena, err);
	return MPK_OK;
}

static enum mpk_code list_required(struct mpkr_model *model, struct mpk_error *err)
{
	if (model->is_required_listed)
		return MPK_OK;
	MPK_TRY(put_devices(model, err));
	MPK_TRY(mpk_library_each_module(model->library, put_functions, model, err));
	model->is_required_listed = true;
	return MPK_OK;
}

static enum mpk_code required_at(struct mpkr_model *model, size_t i, struct mpkr_requirement *out,
				 struct mpk_error *err)
{
	const struct mpk_run_required *r;
	struct mpk_function *f = NULL;

	MPK_TRY(list_required(model, err));
	if (i >= model->required_count)
		return mpk_fail(err, MPK_E_NOTFOUND, "a model of %zu requirements has no %zu",
				model->required_count, i);
	r = &model->required[i];
	out->kind = r->kind;
	out->name = r->name;
	out->device_type = r->device_type;
	if (r->kind == MPKR_REQUIRES_DEVICE) {
		out->is_met = mpk_device_runs(mpk_device_kind_from(r->device_type));
		return MPK_OK;
	}
	out->is_met = mpk_relax_builtin_find(mpk_span_str(r->name)) != NULL;
	if (!out->is_met)
		MPK_TRY(mpk_runtime_find_global(model->runtime, r->name, &f, err));
	out->is_met |= f != NULL;
	return MPK_OK;
}

int mpkr_requirement_at(mpkr_model *model, size_t i, struct mpkr_requirement *out,
			struct mpkr_error *err)
{
	struct mpkr_requirement found = { 0 };
	struct mpk_memory *before;
	struct mpk_error failure;
	enum mpk_code code;

	if (!model || !out || out->size < sizeof out->size)
		return mpk_run_misuse("a pointer that is needed is NULL, or a size is not set",
				      err);
	before = mpk_run_lock(model);
	code = required_at(model, i, &found, &failure);
	mpk_run_unlock(model, before);
	if (code != MPK_OK)
		return mpk_run_report(&failure, err);
	mpk_run_hand_over(out, out->size, &found, sizeof found);
	return MPKR_OK;
}
