/* SPDX-License-Identifier: Apache-2.0 */
/* devices.c - --devices: lists the devices of this machine, and which modules of a file they can
 * run */
#include "model/devices.h"

#include "amdgpu/amdgpu.h"
#include "code/format.h"
#include "offload/offload.h"
#include "session/call.h"
#include "text/escape.h"
#include "text/table.h"

/* --- devices ------------------------------------------------------------------------ */

enum mpk_code mpk_device_groups_find(struct mpk_device_groups *out, struct mpk_error *err)
{
	for (size_t i = 0; i < MPK_DEVICE_GROUPS; i++) {
		struct mpk_device_group *g = &out->items[i];

		*g = (struct mpk_device_group){ .kind = mpk_device_kinds[i],
						.first = out->list.count };
		/* other failures are stored as the reason of the group:
		 * a machine without a driver is no error */
		if (mpk_device_list_add(&out->list, mpk_device_kinds[i], &g->reason) == MPK_E_NOMEM)
			return mpk_fail_nomem(err);
		g->count = out->list.count - g->first;
	}
	return MPK_OK;
}

static void devices_text(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	const struct mpk_device_groups *groups = what;
	struct mpk_table t = { 0 };

	(void)style;
	for (size_t i = 0; i < groups->list.count; i++) {
		const struct mpk_device_info *d = &groups->list.items[i];

		mpk_table_row(&t);
		/* there is only one host, so it has no number */
		if (d->kind == MPK_DEVICE_CPU)
			mpk_table_cell(&t, "cpu");
		else
			mpk_table_cell(&t, "%s:%u", mpk_device_kind_name(d->kind), d->ordinal);
		mpk_table_cell(&t, "%s", d->name);
		mpk_table_cell(&t, "%s", d->arch);
		mpk_table_cell(&t, "%s", MPK_SIZE(d->memory_bytes));
		mpk_table_cell(&t, "%u units", d->compute_units);
		mpk_table_cell(&t, "%s", d->platform);
	}
	mpk_table_print(&t, "", out);
	mpk_table_fini(&t);
	for (size_t i = 0; i < MPK_DEVICE_GROUPS; i++)
		if (!groups->items[i].count)
			mpk_strbuf_printf(out, "%s: %s\n",
					  mpk_device_kind_name(groups->items[i].kind),
					  groups->items[i].reason.text);
}

static void devices_json(const void *what, struct mpk_json *j, struct mpk_json_at *at)
{
	const struct mpk_device_groups *groups = what;
	struct mpk_json_at *list = mpk_json_array(j, at, "devices"), *o;

	for (size_t i = 0; i < groups->list.count; i++) {
		const struct mpk_device_info *d = &groups->list.items[i];

		o = mpk_json_object(j, list, NULL);
		mpk_json_text(j, o, "kind", mpk_device_kind_name(d->kind));
		mpk_json_u64(j, o, "number", d->ordinal);
		mpk_json_text(j, o, "name", d->name);
		mpk_json_text(j, o, "platform", d->platform);
		mpk_json_text(j, o, "arch", d->arch);
		mpk_json_u64(j, o, "memory_bytes", d->memory_bytes);
		mpk_json_u64(j, o, "compute_units", d->compute_units);
		mpk_json_u64(j, o, "block_limit", d->block_limit);
		mpk_json_u64(j, o, "shared_bytes", d->shared_bytes);
	}
	/* a list of its own, so that "devices" has only usable devices */
	list = mpk_json_array(j, at, "unavailable");
	for (size_t i = 0; i < MPK_DEVICE_GROUPS; i++) {
		if (groups->items[i].count)
			continue;
		o = mpk_json_object(j, list, NULL);
		mpk_json_text(j, o, "kind", mpk_device_kind_name(groups->items[i].kind));
		mpk_json_text(j, o, "reason", groups->items[i].reason.text);
	}
}

const struct mpk_answer mpk_answer_devices = { .text = devices_text, .json = devices_json };

/* --- modules ------------------------------------------------------------------------ */

/* Checks compressed bundles, which the back end leaves to its driver. */
static enum mpk_code check_packed(const struct mpk_device_info *d,
				  const struct mpk_kernels *kernels, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	const struct mpk_code_target *targets;
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf held = { 0 };
	size_t count;

	if (d->kind != MPK_DEVICE_ROCM || !d->arch[0] || !mpk_offload_is_packed(kernels->data) ||
	    mpk_code_targets(kernels->data, &scratch, &targets, &count, NULL) != MPK_OK || !count)
		return MPK_OK;
	for (size_t i = 0; i < count; i++)
		if (mpk_amdgpu_runs(targets[i].name, d->arch))
			return MPK_OK;
	mpk_code_targets_put(targets, count, &held);
	return mpk_fail(err, MPK_E_LOAD, "the code is for %s, but %s is %s", mpk_strbuf_text(&held),
			d->name, d->arch);
}

/* Returns the first device that can run a module; NULL if none can, and *why says why. */
static const struct mpk_device_info *device_for(const struct mpk_device_groups *groups,
						const struct mpk_view_node *node,
						struct mpk_error *why)
{
	enum mpk_device_kind kind = mpk_device_kind_of(node->node->kind);
	const struct mpk_kernels *kernels = mpk_view_kernels(node);

	/* a module that cannot be decoded has its own reason */
	if (!kernels) {
		*why = node->problem ? *node->problem : (struct mpk_error){ 0 };
		return NULL;
	}
	/* this reason stays if no group is of this kind */
	(void)mpk_fail(why, MPK_E_UNSUPPORTED, "minspect runs code for %s only",
		       mpk_device_kind_names());
	for (size_t i = 0; i < MPK_DEVICE_GROUPS; i++) {
		const struct mpk_device_group *g = &groups->items[i];

		if (g->kind != kind)
			continue;
		/* if the group has devices, mpk_device_check replaces this reason */
		*why = g->reason;
		for (size_t k = 0; k < g->count; k++)
			if (mpk_device_check(&groups->list.items[g->first + k], kernels, why) ==
				    MPK_OK &&
			    check_packed(&groups->list.items[g->first + k], kernels, why) == MPK_OK)
				return &groups->list.items[g->first + k];
		mpk_hint_add(why);
	}
	return NULL;
}

static void verdict_text(const struct mpk_view_node *node, const struct mpk_device_info *d,
			 const struct mpk_error *why, struct mpk_strbuf *out)
{
	mpk_strbuf_printf(out, "  %s  ", node->path);
	mpk_escape(out, node->node->kind);
	if (d)
		mpk_strbuf_printf(out, "  runs on %s:%u (%s)\n", mpk_device_kind_name(d->kind),
				  d->ordinal, d->name);
	else
		mpk_strbuf_printf(out, "  does not run here: %s\n", why->text);
}

static void verdict_json(const struct mpk_view_node *node, const struct mpk_device_info *d,
			 const struct mpk_error *why, struct mpk_json *j, struct mpk_json_at *list)
{
	struct mpk_json_at *o = mpk_json_object(j, list, NULL);

	mpk_json_text(j, o, "path", node->path);
	mpk_json_span(j, o, "kind", node->node->kind);
	mpk_json_bool(j, o, "runs", d != NULL);
	if (d)
		mpk_json_u64(j, o, "number", d->ordinal);
	else
		mpk_json_text(j, o, "reason", why->text);
}

bool mpk_view_devices(const struct mpk_view *view, const struct mpk_device_groups *groups,
		      struct mpk_strbuf *out, struct mpk_json *j, struct mpk_json_at *at)
{
	struct mpk_json_at *list = j ? mpk_json_array(j, at, "modules") : NULL;
	bool all = true;

	for (size_t i = 0; i < view->count; i++) {
		const struct mpk_view_node *node = &view->nodes[i];
		const struct mpk_device_info *d;
		struct mpk_error why = { 0 };

		/* code of an unknown kind may or may not be for a device */
		if (!node->kind || node->kind->role != MPK_ROLE_DEVICE)
			continue;
		d = device_for(groups, node, &why);
		all &= d != NULL;
		if (j)
			verdict_json(node, d, &why, j, list);
		else
			verdict_text(node, d, &why, out);
	}
	return all;
}
