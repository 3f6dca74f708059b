/* SPDX-License-Identifier: Apache-2.0 */
#include "executor/relay/internal/closure.h"

#include <stdlib.h>
#include <string.h>

#include "executor/relay/internal/inputs.h"

static enum mpk_code call(struct mpk_relay_closure *c, const struct mpk_args *args,
			  struct mpk_value *values, struct mpk_error *err)
{
	const struct mpk_array *captured = c->captured.array;
	const struct mpk_signature *model = &c->vm->program->models.items[c->function];

	for (size_t i = 0; i < captured->count; i++)
		values[i] = captured->items[i];
	return mpk_relay_inputs_order(model, captured->count, args, values + captured->count, err);
}

static enum mpk_code call_closure(struct mpk_function *self, const struct mpk_args *args,
				  struct mpk_value *result, struct mpk_error *err)
{
	struct mpk_relay_closure *c = (struct mpk_relay_closure *)self;
	size_t count = c->vm->program->callees[c->function].params.count;
	struct mpk_value few[16], *values = few;
	enum mpk_code code;

	if (count > MPK_ARRAY_COUNT(few))
		values = malloc(count * sizeof *values);
	MPK_TRY_ALLOC(values, err);
	code = call(c, args, values, err);
	if (code == MPK_OK)
		code = c->vm->invoke(c->vm, c->function, values, count, result, err);
	if (values != few)
		free(values);
	return code;
}

static void destroy_closure(struct mpk_function *self)
{
	struct mpk_relay_closure *c = (struct mpk_relay_closure *)self;
	struct mpk_relay_vm *vm = c->vm;

	mpk_value_drop(&c->captured);
	free(c);
	mpk_relay_vm_drop(vm);
}

enum mpk_code mpk_relay_closure_make(struct mpk_relay_vm *vm, size_t function,
				     struct mpk_value captured, struct mpk_function **out,
				     struct mpk_error *err)
{
	struct mpk_relay_closure *c = calloc(1, sizeof *c);

	if (!c) {
		mpk_value_drop(&captured);
		return mpk_fail_nomem(err);
	}
	c->base = (struct mpk_function){
		.refs = 1,
		.name = vm->program->callees[function].name,
		.call = call_closure,
		.destroy = destroy_closure,
		.takes_names = true,
	};
	if (captured.array->count == 0)
		c->base.signature = &vm->program->models.items[function];
	c->vm = mpk_relay_vm_hold(vm);
	c->function = function;
	c->captured = captured;
	*out = &c->base;
	return MPK_OK;
}

const struct mpk_relay_closure *mpk_relay_closure_of(const struct mpk_relay_vm *vm,
						     const struct mpk_value *v)
{
	const struct mpk_relay_closure *c;

	if (v->kind != MPK_VALUE_FUNCTION || v->function->call != call_closure)
		return NULL;
	c = (const struct mpk_relay_closure *)v->function;
	return c->vm == vm ? c : NULL;
}
