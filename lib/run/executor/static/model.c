/* SPDX-License-Identifier: Apache-2.0 */
#include "executor/static/internal/model.h"

#include <stdlib.h>
#include <string.h>

#include "executor/static/internal/machine.h"
#include "payload.h"

/* What a node has: the factory, and from the first look-up on the program, with a machine for the
 * devices that were asked for last. */
struct model {
	struct mpk_arena arena;
	struct mpk_factory factory;
	mpk_static_load_fn *load;
	struct mpk_static_program *program;
	struct mpk_static_machine *machine;
	struct mpk_dldevice devices[MPK_RUNTIME_DEVICES_MAX];
	size_t device_count;
};

static void model_free(struct model *m)
{
	mpk_static_machine_drop(m->machine);
	mpk_static_program_drop(m->program);
	mpk_arena_fini(&m->arena);
	free(m);
}

static enum mpk_code decode(struct mpk_node_module *node, struct model *m, struct mpk_error *err)
{
	struct mpk_payload payload;

	MPK_TRY(mpk_payload_decode(mpk_kind_find(node->node->kind), node->host->code.tree->gen,
				   mpk_source_of(node->node), &m->arena, &payload, err));
	m->factory = payload.u.factory;
	return MPK_OK;
}

enum mpk_code mpk_static_model_open(struct mpk_node_module *node, mpk_static_load_fn *load,
				    struct mpk_error *err)
{
	struct model *m = calloc(1, sizeof *m);
	enum mpk_code code;

	if (!m)
		return mpk_fail_nomem(err);
	m->load = load;
	code = decode(node, m, err);
	if (code != MPK_OK) {
		model_free(m);
		return mpk_failed(code);
	}
	node->state = m;
	return MPK_OK;
}

void mpk_static_model_close(struct mpk_node_module *node)
{
	model_free(node->state);
}

bool mpk_static_model_name_at(struct mpk_node_module *node, size_t i, struct mpk_span *out)
{
	*out = ((struct model *)node->state)->factory.module_name;
	return i == 0;
}

/* --- the function --------------------------------------------------------------------------- */

struct bound {
	struct mpk_function base;
	struct mpk_static_machine *machine;
	char name[];
};

static enum mpk_code call_bound(struct mpk_function *self, const struct mpk_args *args,
				struct mpk_value *result, struct mpk_error *err)
{
	return mpk_static_machine_call(((struct bound *)self)->machine, args, result, err);
}

static void destroy_bound(struct mpk_function *self)
{
	struct bound *b = (struct bound *)self;
	struct mpk_static_machine *machine = b->machine;

	free(b);
	mpk_static_machine_drop(machine);
}

static enum mpk_code bind(const struct model *m, const char *name, struct mpk_function **out,
			  struct mpk_error *err)
{
	size_t len = strlen(name);
	struct bound *b = calloc(1, sizeof *b + len + 1);

	if (!b)
		return mpk_fail_nomem(err);
	memcpy(b->name, name, len + 1);
	b->base = (struct mpk_function){
		.refs = 1,
		.name = b->name,
		.call = call_bound,
		.destroy = destroy_bound,
		.takes_names = true,
		.signature = &m->program->model, /* which the machine holds */
	};
	b->machine = mpk_static_machine_hold(m->machine);
	*out = &b->base;
	return MPK_OK;
}

/* Functions that were given out keep the machine they are bound to. */
static enum mpk_code need_machine(struct model *m, const struct mpk_runtime *runtime,
				  struct mpk_error *err)
{
	size_t count;
	const struct mpk_dldevice *devices = mpk_runtime_get_devices(runtime, &count);
	struct mpk_static_machine *machine;

	if (m->machine && count == m->device_count &&
	    memcmp(devices, m->devices, count * sizeof *devices) == 0)
		return MPK_OK;
	MPK_TRY(mpk_static_machine_create(m->program, devices, count, &machine, err));
	mpk_static_machine_drop(m->machine);
	m->machine = machine;
	m->device_count = count;
	memcpy(m->devices, devices, count * sizeof *devices);
	return MPK_OK;
}

enum mpk_code mpk_static_model_find(struct mpk_node_module *node, const char *name,
				    struct mpk_function **out, struct mpk_error *err)
{
	struct model *m = node->state;

	*out = NULL;
	if (!mpk_span_is(m->factory.module_name, name))
		return MPK_OK;
	if (!m->program)
		MPK_TRY(m->load(node, &m->factory, &m->program, err));
	MPK_TRY(need_machine(m, node->host->runtime, err));
	return bind(m, name, out, err);
}
