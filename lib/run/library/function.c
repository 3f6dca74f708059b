/* SPDX-License-Identifier: Apache-2.0 */
/* function.c - lists and finds the functions of a model
 *
 * Functions of executables come first, in file order: callers look for them, and the host functions
 * of such a library are mostly their kernels.
 */
#include "library/internal/library.h"

#include <string.h>

#include "base/strbuf.h"
#include "base/vec.h"
#include "executor/machine.h"
#include "runtime/library.h"

static bool has_entry(const struct mpkr_model *model, struct mpk_span name)
{
	for (size_t i = 0; i < model->entry_count; i++)
		if (mpk_span_is(name, model->entries[i].name))
			return true;
	return false;
}

static enum mpk_code list_name(struct mpkr_model *model, struct mpk_span name, bool is_model,
			       struct mpk_error *err)
{
	const char *text;

	if (!name.len || has_entry(model, name))
		return MPK_OK;
	text = mpk_arena_text(&model->arena, name);
	MPK_TRY_ALLOC(text && MPK_VEC_ROOM(model->entries, model->entry_count, model->entry_cap),
		      err);
	model->entries[model->entry_count++] =
		(struct mpk_run_entry){ .name = text, .is_model = is_model };
	return MPK_OK;
}

/* An executable's names are read when it is opened, as any look-up does. If it cannot be opened, it
 * lists no functions; finding one of its functions reports why. */
static enum mpk_code add_executable(struct mpk_module *module, void *arg, struct mpk_error *err)
{
	struct mpk_node_module *node = (struct mpk_node_module *)module;
	struct mpkr_model *model = arg;
	struct mpk_function *none = NULL;
	struct mpk_error why = { 0 };
	struct mpk_span name;

	if (!node->loader || !node->loader->has || !node->loader->name_at)
		return MPK_OK;
	if (!node->is_open && node->base.find(&node->base, "", &none, &why) == MPK_OK)
		mpk_function_drop(none);
	if (why.code == MPK_E_NOMEM)
		return mpk_fail_nomem(err);
	for (size_t i = 0; node->is_open && node->loader->name_at(node, i, &name); i++)
		MPK_TRY(list_name(model, name, true, err));
	return MPK_OK;
}

/* Fills the list of functions if it is empty; the caller holds the model's lock. */
static enum mpk_code run_list(struct mpkr_model *model, struct mpk_error *err)
{
	const struct mpk_host_code *code = model->code;

	if (model->is_listed)
		return MPK_OK;
	MPK_TRY(mpk_library_each_module(model->library, add_executable, model, err));
	for (size_t i = 0; i < code->function_count; i++)
		if (!code->functions[i].alias_of)
			MPK_TRY(list_name(model, mpk_span_str(code->functions[i].name), false,
					  err));
	model->is_listed = true;
	return MPK_OK;
}

/* --- for callers ------------------------------------------------------------------------------ */

/* The caller holds the model's lock. */
static struct mpk_run_entry *entry_at(mpkr_model *model, size_t i)
{
	if (run_list(model, NULL) != MPK_OK || i >= model->entry_count)
		return NULL;
	return &model->entries[i];
}

size_t mpkr_function_count(mpkr_model *model)
{
	struct mpk_memory *before;
	size_t count;

	if (!model)
		return 0;
	before = mpk_run_lock(model);
	count = run_list(model, NULL) == MPK_OK ? model->entry_count : 0;
	mpk_run_unlock(model, before);
	return count;
}

const char *mpkr_function_name(mpkr_model *model, size_t i)
{
	const struct mpk_run_entry *entry;
	struct mpk_memory *before;
	const char *name;

	if (!model)
		return NULL;
	before = mpk_run_lock(model);
	entry = entry_at(model, i);
	name = entry ? entry->name : NULL;
	mpk_run_unlock(model, before);
	return name;
}

int mpkr_function_is_model(mpkr_model *model, size_t i)
{
	const struct mpk_run_entry *entry;
	struct mpk_memory *before;
	int is_model;

	if (!model)
		return 0;
	before = mpk_run_lock(model);
	entry = entry_at(model, i);
	is_model = entry && entry->is_model;
	mpk_run_unlock(model, before);
	return is_model;
}

/* A function that cannot be found because a device is missing is still listed. Its signature may
 * include inputs with bound parameters, since it comes from the file. */
static const char *signature_of(struct mpkr_model *model, const char *name)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };
	struct mpk_function *f = NULL;
	struct mpk_error why = { 0 };
	char *copy;

	if (mpk_run_look_up(model, name, &f, &why) != MPK_OK && why.code == MPK_E_NOMEM)
		return NULL;
	if (f && f->signature)
		mpk_signature_text(f->signature, &text);
	else
		mpk_strbuf_printf(&text, "%s(...)", name);
	mpk_function_drop(f);
	copy = text.failed ? NULL : mpk_arena_copy(&model->arena, text.data, text.len);
	return copy;
}

const char *mpkr_function_signature(mpkr_model *model, size_t i)
{
	struct mpk_run_entry *entry;
	const char *signature = NULL;
	struct mpk_memory *before;

	if (!model)
		return NULL;
	before = mpk_run_lock(model);
	entry = entry_at(model, i);
	if (entry && !entry->signature)
		entry->signature = signature_of(model, entry->name);
	if (entry)
		signature = entry->signature;
	mpk_run_unlock(model, before);
	return signature;
}

/* --- look-up ---------------------------------------------------------------------------------- */

enum mpk_code mpk_run_set_device(struct mpkr_model *model, struct mpk_dldevice where, bool is_guess,
				 struct mpk_error *err)
{
	model->where = where;
	model->is_guess = is_guess;
	MPK_TRY(mpk_runtime_set_devices(model->runtime, &where, 1, is_guess, err));
	return MPK_OK;
}

/* The device is activated before the look-up, as code that asks for "the current device" means this
 * one. */
enum mpk_code mpk_run_look_up(struct mpkr_model *model, const char *name, struct mpk_function **out,
			      struct mpk_error *err)
{
	if (!model->is_found && model->params) {
		enum mpk_purpose before = mpk_purpose_swap(MPK_PURPOSE_WEIGHTS);
		enum mpk_code code = model->params->bind_late(model, model->params, err);

		(void)mpk_purpose_swap(before);
		MPK_TRY(code);
	}
	model->is_found = true;
	MPK_TRY(mpk_devices_use(mpk_runtime_devices(model->runtime), model->where, err));
	return mpk_library_find(model->library, name, out, err);
}

enum mpk_code mpk_run_provide(struct mpkr_model *model, struct mpkr_model *from,
			      struct mpk_error *err)
{
	size_t count = 0;

	MPK_TRY(mpk_run_set_device(from, (struct mpk_dldevice){ .type = MPK_DL_CPU }, true, err));
	MPK_TRY(run_list(from, err));
	for (size_t i = 0; i < from->entry_count; i++) {
		struct mpk_function *f;

		MPK_TRY(mpk_run_look_up(from, from->entries[i].name, &f, err));
		MPK_TRY(mpk_runtime_add_provided(model->runtime, f, err));
		count++;
	}
	if (!count)
		return mpk_fail(err, MPK_E_NOTFOUND, "no function in it can be called by name");
	return MPK_OK;
}

/* --- what it takes ---------------------------------------------------------------------------- */

size_t mpk_run_count_leaves(const struct mpk_type *type)
{
	size_t count = 0;

	if (type->kind != MPK_TYPE_TUPLE)
		return 1;
	for (size_t i = 0; i < type->field_count; i++)
		count += mpk_run_count_leaves(&type->fields[i].type);
	return count;
}

/* --- for callers ------------------------------------------------------------------------------ */

static enum mpk_code find_function(struct mpkr_model *model, const char *name,
				   struct mpkr_function **out, struct mpk_error *err)
{
	struct mpk_kernel_found found = { .where = model->where };

	if (!name) {
		MPK_TRY(run_list(model, err));
		if (!model->entry_count)
			return mpk_fail(err, MPK_E_NOTFOUND, "no function can be called by name");
		name = model->entries[0].name;
	}
	MPK_TRY(mpk_run_look_up(model, name, &found.function, err));
	return mpk_run_function_create(model, model->first, name, &found, NULL, out, err);
}

int mpkr_find(mpkr_model *model, const char *name, mpkr_function **out, struct mpkr_error *err)
{
	struct mpk_memory *before;
	struct mpk_error failure;
	enum mpk_code code;

	if (!model || !out)
		return mpk_run_misuse("a pointer that is needed is NULL", err);
	before = mpk_run_lock(model);
	code = find_function(model, name, out, &failure);
	mpk_run_unlock(model, before);
	return code == MPK_OK ? MPKR_OK : mpk_run_report(&failure, err);
}
