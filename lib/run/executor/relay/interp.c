/* SPDX-License-Identifier: Apache-2.0 */
/* interp.c - the loop over steps, the steps that go elsewhere, and what observers see of them
 *
 * Nothing is looked up here, and no index is checked, because decode.c did both. Calls keep their
 * frames in the machine, not on the native stack: TVM compiles loops to recursion, and they are to run
 * as long as memory lasts.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "executor/machine.h"
#include "executor/plan/plan.h"
#include "executor/relay/internal/relay.h"
#include "program/model.h"
#include "runtime/observer.h"
#include "runtime/stop.h"
#include "text/escape.h"
#include "value/element.h"

/* --- A machine: its devices, and calls from outside.
 *
 * Closures are functions of the program with their first arguments. What a caller looks up is a
 * closure without any, so that both are called in the same way: arguments are put in order and to
 * the devices where the parameters want them, and then a plan is run, or the byte code where there
 * is none.
 *
 * The program says for each parameter on which device it is to be, and kernels of TVM refuse
 * memory that is not compact, not aligned, or begins at an offset. What is right already is
 * shared; anything else is copied once, here, and not by each kernel that uses it. Numbers become
 * tensors of rank 0, because Relay has no other.
 */

static enum mpk_code relay_run(struct mpk_relay_vm *vm, size_t function,
			       const struct mpk_value *args, size_t count, struct mpk_value *result,
			       struct mpk_error *err);

/* --- devices ------------------------------------------------------------------------------- */

static enum mpk_code choose_device(int32_t type, const struct mpk_dldevice *devices, size_t count,
				   struct mpk_dldevice *out, struct mpk_error *err)
{
	*out = (struct mpk_dldevice){ MPK_DL_CPU, 0 };
	for (size_t i = 0; i < count; i++)
		if (devices[i].type == type) {
			*out = devices[i];
			return MPK_OK;
		}
	if (type == MPK_DL_CPU)
		return MPK_OK;
	/* a device that this program has no back end for, or one that the caller did not name */
	if (mpk_device_kind_from(type) == MPK_DEVICE_NONE)
		return mpk_fail(err, MPK_E_LOAD,
				"the model is compiled for devices of DLPack type %" PRId32
				", which do not run here",
				type);
	return mpk_fail(err, MPK_E_LOAD,
			"the model is compiled for %s and was given no such device",
			mpk_device_kind_name(mpk_device_kind_from(type)));
}

static enum mpk_code relay_vm_take_devices(struct mpk_relay_vm *vm,
					   const struct mpk_dldevice *devices, size_t count,
					   struct mpk_error *err)
{
	const struct mpk_relay_program *p = vm->program;

	for (size_t i = 0; i < p->place_count; i++) {
		MPK_TRY(choose_device(p->places[i].type, devices, count, &vm->devices[i], err));
		MPK_TRY(mpk_devices_allocator(mpk_relay_vm_devices(vm), vm->devices[i],
					      &vm->allocators[i], err));
	}
	vm->plans = mpk_plans_create(&(struct mpk_plan_places){
		.devices = mpk_relay_vm_devices(vm),
		.where = vm->devices,
		.allocators = vm->allocators,
		.count = p->place_count,
	});
	MPK_TRY_ALLOC(vm->plans, err);
	return MPK_OK;
}

/* --- life ---------------------------------------------------------------------------------- */

static enum mpk_code start_vm(struct mpk_machine *m, const struct mpk_dldevice *devices,
			      size_t count, struct mpk_error *err)
{
	struct mpk_relay_vm *vm = (struct mpk_relay_vm *)m;
	const struct mpk_relay_program *p;

	vm->program = (struct mpk_relay_program *)m->program;
	p = vm->program;
	vm->step_limit = UINT64_MAX;
	vm->frames.max = MPK_RELAY_FRAMES_MAX;
	vm->frames.stack_max = MPK_RELAY_STACK_MAX;
	vm->devices = calloc(p->place_count + 1, sizeof *vm->devices);
	vm->allocators = calloc(p->place_count + 1, sizeof(struct mpk_allocator *));
	vm->constants = calloc(p->const_count + 1, sizeof(struct mpk_tensor *));
	MPK_TRY_ALLOC(vm->devices && vm->allocators && vm->constants, err);
	return relay_vm_take_devices(vm, devices, count, err);
}

static void stop_vm(struct mpk_machine *m)
{
	struct mpk_relay_vm *vm = (struct mpk_relay_vm *)m;

	mpk_plans_destroy(vm->plans);
	for (size_t i = 0; vm->constants && i < vm->program->const_count; i++)
		mpk_tensor_drop(vm->constants[i]);
	free(vm->constants);
	free(vm->devices);
	free(vm->allocators);
	mpk_frames_fini(&vm->frames);
}

/* --- as kernels take them ------------------------------------------------------------------ */

/* Arrays within arrays, of a caller. */
enum { NEST_MAX = 256 };

/* TVM of these releases has one type for bool; arrays of others come with DLPack's. */
static bool is_dlpack_bool(struct mpk_dtype t)
{
	return t.code == MPK_DTYPE_BOOL && t.bits == 8;
}

/* On a device an offset is no obstacle: kernels there get it as it is. */
static bool kernels_take(const struct mpk_dltensor *dl)
{
	return mpk_dltensor_is_compact(dl) &&
	       (!mpk_dldevice_is_host(dl->device) ||
		(dl->byte_offset == 0 && (uintptr_t)dl->data % MPK_STORAGE_ALIGN == 0));
}

/* The same elements in memory of their own. */
static enum mpk_code copy_tensor(struct mpk_relay_vm *vm, struct mpk_tensor *t,
				 struct mpk_dldevice where, struct mpk_tensor **out,
				 struct mpk_error *err)
{
	struct mpk_tensor *from = NULL, *to = NULL;
	enum mpk_code code = MPK_OK;

	if (mpk_dldevice_is_host(t->dl.device) && !mpk_dltensor_is_compact(&t->dl))
		code = mpk_tensor_compact(t, &from, err);
	else if (!mpk_dltensor_is_compact(&t->dl))
		code = mpk_fail(err, MPK_E_UNSUPPORTED,
				"a tensor on a device whose rows are not contiguous");
	else
		from = mpk_tensor_hold(t);
	MPK_TRY(code);
	code = mpk_devices_empty(mpk_relay_vm_devices(vm), from, where, &to, err);
	if (code == MPK_OK)
		code = mpk_devices_copy(mpk_relay_vm_devices(vm), &from->dl, &to->dl, from->bytes,
					err);
	mpk_tensor_drop(from);
	if (code == MPK_OK)
		*out = to;
	else
		mpk_tensor_drop(to);
	return code;
}

static enum mpk_code take_tensor(struct mpk_relay_vm *vm, struct mpk_tensor *t, uint32_t place,
				 struct mpk_tensor **out, struct mpk_error *err)
{
	struct mpk_tensor *taken;
	enum mpk_code code;

	if (!mpk_relay_place_is_plain(&vm->program->places[place]))
		return mpk_fail(err, MPK_E_UNSUPPORTED, "an input that is to be an image, '%s'",
				MPK_QUOTE(vm->program->places[place].scope));
	if (mpk_dldevice_equal(t->dl.device, vm->devices[place]) && kernels_take(&t->dl))
		taken = mpk_tensor_hold(t);
	else
		MPK_TRY(copy_tensor(vm, t, vm->devices[place], &taken, err));
	/* kernels of these releases compare with uint1 and refuse DLPack's bool */
	if (!is_dlpack_bool(t->dl.dtype)) {
		*out = taken;
		return MPK_OK;
	}

	/* The same memory under the type that TVM's kernels know. */
	struct mpk_dltensor dl = taken->dl;

	dl.dtype = (struct mpk_dtype){ MPK_DTYPE_UINT, 1, dl.dtype.lanes };
	code = mpk_tensor_wrap(&dl, taken->storage, out, err);

	mpk_tensor_drop(taken);
	return code;
}

/* A number as TVM's own callers pass it: of the type that was said, else of 32 bits. */
static enum mpk_code relay_inputs_take_number(struct mpk_relay_vm *vm, const struct mpk_value *v,
					      uint32_t place, struct mpk_tensor **out,
					      struct mpk_error *err)
{
	bool real = v->kind == MPK_VALUE_FLOAT;
	struct mpk_element e = { .i = v->integer, .u = (uint64_t)v->integer, .f = v->real };
	struct mpk_dtype type = { real ? MPK_DTYPE_FLOAT : MPK_DTYPE_INT, 32, 1 };
	struct mpk_tensor *t;
	enum mpk_code code;

	if (v->kind == MPK_VALUE_BOOL) {
		/* take_tensor turns it into what the kernels know */
		type = (struct mpk_dtype){ MPK_DTYPE_BOOL, 8, 1 };
		e.i = v->boolean;
	} else if (v->type.bits) {
		type = v->type;
	}
	e.class = mpk_element_class(type);
	MPK_TRY(mpk_tensor_create(type, NULL, 0, MPK_STORAGE_PRIVATE, &t, err));
	mpk_element_store(type, e, t->dl.data);
	code = take_tensor(vm, t, place, out, err);
	mpk_tensor_drop(t);
	return code;
}

/* Where a value belongs. */
struct target {
	struct mpk_relay_vm *vm;
	const struct mpk_relay_callee *callee;
	size_t param;
};

static enum mpk_code wrong_kind(const struct target *to, const char *what, struct mpk_error *err)
{
	return mpk_fail(err, MPK_E_USAGE, "input '%s' of %s takes a tensor, not %s",
			MPK_QUOTE(to->callee->params.items[to->param]),
			MPK_QUOTE(mpk_span_str(to->callee->name)), what);
}

static enum mpk_code relay_inputs_take_value(const struct target *to, const struct mpk_value *v,
					     unsigned depth, struct mpk_value *out,
					     struct mpk_error *err);

static enum mpk_code take_array(const struct target *to, const struct mpk_array *array,
				unsigned depth, struct mpk_value *out, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_value_drop) struct mpk_value made = { 0 };

	/* a caller's tuples may be nested without end; this recursion may not */
	if (depth == NEST_MAX)
		return wrong_kind(to, "tuples nested too deep", err);
	MPK_TRY(mpk_value_of_array(array->count, &made, err));
	made.array->tag = array->tag;
	for (size_t i = 0; i < array->count; i++)
		MPK_TRY(relay_inputs_take_value(to, &array->items[i], depth + 1,
						&made.array->items[i], err));
	*out = made;
	made = (struct mpk_value){ 0 };
	return MPK_OK;
}

static enum mpk_code relay_inputs_take_value(const struct target *to, const struct mpk_value *v,
					     unsigned depth, struct mpk_value *out,
					     struct mpk_error *err)
{
	uint32_t place = to->callee->param_places[to->param];
	struct mpk_tensor *t;

	switch (v->kind) {
	case MPK_VALUE_TENSOR:
		MPK_TRY(take_tensor(to->vm, v->tensor, place, &t, err));
		*out = mpk_value_of_tensor(t);
		return MPK_OK;
	case MPK_VALUE_BOOL:
	case MPK_VALUE_INT:
	case MPK_VALUE_FLOAT:
		MPK_TRY(relay_inputs_take_number(to->vm, v, place, &t, err));
		*out = mpk_value_of_tensor(t);
		return MPK_OK;
	case MPK_VALUE_ARRAY:
		return take_array(to, v->array, depth, out, err);
	case MPK_VALUE_NONE:
	case MPK_VALUE_FUNCTION:
		*out = mpk_value_hold(*v);
		return MPK_OK;
	case MPK_VALUE_STR:
	case MPK_VALUE_BYTES:
	case MPK_VALUE_SHAPE:
	case MPK_VALUE_DTYPE:
	case MPK_VALUE_DEVICE:
	case MPK_VALUE_STORAGE:
	case MPK_VALUE_OPAQUE:
	case MPK_VALUE_MODULE:
	case MPK_VALUE_OBJECT:
	case MPK_VALUE_KIND_COUNT:
		break;
	}
	return wrong_kind(to, mpk_value_kind_name(v->kind), err);
}

/* Arguments as kernels take them: each on the device of its parameter, in host
 * memory compact and aligned. What is so already is shared, not copied.
 * @out     owned values, as many as args */
static enum mpk_code relay_inputs_take(struct mpk_relay_vm *vm, const struct mpk_relay_callee *c,
				       const struct mpk_value *args, struct mpk_value *out,
				       struct mpk_error *err)
{
	for (size_t i = 0; i < c->params.count; i++) {
		const struct target to = { vm, c, i };
		enum mpk_code code = relay_inputs_take_value(&to, &args[i], 0, &out[i], err);

		if (code == MPK_OK)
			continue;
		/* what was taken so far is given back: on failure nothing is owned */
		while (i-- > 0)
			mpk_value_drop(&out[i]);
		return code;
	}
	return MPK_OK;
}

/* --- calls ---------------------------------------------------------------------------------- */

enum { FEW = 16 }; /* arguments that find room without an allocation */

static enum mpk_code interpret(void *machine, size_t function, const struct mpk_value *args,
			       size_t count, struct mpk_value *result, struct mpk_error *err)
{
	return relay_run(machine, function, args, count, result, err);
}

static enum mpk_code call_planned(struct mpk_relay_vm *vm, size_t function,
				  const struct mpk_value *args, size_t count,
				  struct mpk_value *result, struct mpk_error *err)
{
	const struct mpk_plan_interpreter self = { interpret, vm, &vm->recorder };

	if (vm->base.depth > 1) {
		/* a kernel calls back: its steps are a part of what the kernel does */
		mpk_record_nothing(vm->recorder);
		return relay_run(vm, function, args, count, result, err);
	}
	/* the outermost call: nothing of the one before matters any more */
	vm->steps_left = vm->step_limit;
	vm->observers = mpk_runtime_observers(vm->program->base.runtime);
	/* observers see byte code, not the plan that would leave most of it out */
	if (vm->observers)
		return relay_run(vm, function, args, count, result, err);
	return mpk_plan_call(vm->plans, &self, function, args, count, result, err);
}

static enum mpk_code invoke_vm(struct mpk_machine *m, size_t function, const struct mpk_args *given,
			       struct mpk_value *result, struct mpk_error *err)
{
	struct mpk_relay_vm *vm = (struct mpk_relay_vm *)m;
	const struct mpk_relay_callee *callee = &vm->program->callees[function];
	struct mpk_value few[FEW], *taken = few;
	enum mpk_code code;

	if (given->count != callee->params.count)
		return mpk_fail(err, MPK_E_RAISED, "TypeError: %s takes %zu arguments, not %zu",
				MPK_QUOTE(mpk_span_str(callee->name)), callee->params.count,
				given->count);
	if (given->count > FEW)
		taken = malloc(given->count * sizeof *taken);
	MPK_TRY_ALLOC(taken, err);
	code = relay_inputs_take(vm, callee, given->values, taken, err);
	if (code == MPK_OK) {
		code = call_planned(vm, function, taken, given->count, result, err);
		for (size_t i = 0; i < given->count; i++)
			mpk_value_drop(&taken[i]);
	}
	if (taken != few)
		free(taken);
	return code;
}

const struct mpk_machine_kind mpk_relay_machine_kind = {
	.bytes = sizeof(struct mpk_relay_vm),
	.depth_max = MPK_RELAY_DEPTH_MAX,
	.start = start_vm,
	.stop = stop_vm,
	.invoke = invoke_vm,
};

/* --- steps that are observed ---------------------------------------------------------------- */

/* How a step is shown: its word, which kind of operator it is, and how many of reg[] it reads. Those
 * with a list read its registers, too. */
static const struct row {
	const char *name;
	enum mpk_operator_kind kind;
	unsigned reads;
	bool has_list;
} rows[MPK_RELAY_OPS] = {
	[MPK_RELAY_MOVE] = { "move", MPK_OPERATOR_BUILTIN, 1, false },
	[MPK_RELAY_RET] = { "return", MPK_OPERATOR_CONTROL, 1, false },
	[MPK_RELAY_INVOKE] = { "", MPK_OPERATOR_CONTROL, 0, true },
	[MPK_RELAY_INVOKE_CLOSURE] = { "invoke_closure", MPK_OPERATOR_CONTROL, 1, true },
	[MPK_RELAY_INVOKE_PACKED] = { "", MPK_OPERATOR_KERNEL, 0, true },
	[MPK_RELAY_ALLOC_TENSOR] = { "alloc_tensor", MPK_OPERATOR_BUILTIN, 2, false },
	[MPK_RELAY_ALLOC_TENSOR_REG] = { "alloc_tensor_reg", MPK_OPERATOR_BUILTIN, 3, false },
	[MPK_RELAY_ALLOC_ADT] = { "alloc_adt", MPK_OPERATOR_BUILTIN, 0, true },
	[MPK_RELAY_ALLOC_CLOSURE] = { "alloc_closure", MPK_OPERATOR_BUILTIN, 0, true },
	[MPK_RELAY_GET_FIELD] = { "get_field", MPK_OPERATOR_BUILTIN, 1, false },
	[MPK_RELAY_IF] = { "if", MPK_OPERATOR_CONTROL, 2, false },
	[MPK_RELAY_LOAD_CONST] = { "load_const", MPK_OPERATOR_BUILTIN, 0, false },
	[MPK_RELAY_GOTO] = { "goto", MPK_OPERATOR_CONTROL, 0, false },
	[MPK_RELAY_GET_TAG] = { "get_tag", MPK_OPERATOR_BUILTIN, 1, false },
	[MPK_RELAY_FATAL] = { "fatal", MPK_OPERATOR_CONTROL, 0, false },
	[MPK_RELAY_ALLOC_STORAGE] = { "alloc_storage", MPK_OPERATOR_BUILTIN, 1, false },
	[MPK_RELAY_SHAPE_OF] = { "shape_of", MPK_OPERATOR_BUILTIN, 1, false },
	[MPK_RELAY_RESHAPE_TENSOR] = { "reshape_tensor", MPK_OPERATOR_BUILTIN, 2, false },
	[MPK_RELAY_DEVICE_COPY] = { "device_copy", MPK_OPERATOR_COPY, 1, false },
	[MPK_RELAY_KILL_REGISTER] = { "kill_register", MPK_OPERATOR_BUILTIN, 0, false },
};

static struct mpk_span relay_interp_name_of(const struct mpk_relay_program *p,
					    const struct mpk_relay_step *s)
{
	if (s->op == MPK_RELAY_INVOKE_PACKED)
		return p->packed[s->index].name;
	if (s->op == MPK_RELAY_INVOKE)
		return mpk_span_str(p->callees[s->index].name);
	return mpk_span_str(rows[s->op].name);
}

/* Steps that leave something in a register; a kernel fills its arguments instead. */
static bool returns_value(const struct mpk_relay_step *s)
{
	return s->op == MPK_RELAY_INVOKE || s->op == MPK_RELAY_INVOKE_CLOSURE ||
	       (rows[s->op].kind != MPK_OPERATOR_CONTROL && s->op != MPK_RELAY_INVOKE_PACKED);
}

static void put_register(const struct mpk_relay_vm *vm, struct mpk_operand *o, uint32_t reg)
{
	o->place = (struct mpk_place){ MPK_PLACE_REGISTER, reg };
	o->value = mpk_relay_registers(vm)[reg];
}

static enum mpk_code put_number(struct mpk_operator *op, enum mpk_place_kind kind, int64_t number,
				struct mpk_error *err)
{
	MPK_TRY(mpk_operator_init(op, 1, err));
	op->operands[0].place = (struct mpk_place){ kind, number };
	return MPK_OK;
}

static enum mpk_code describe_step(const struct mpk_relay_vm *vm, const struct mpk_relay_step *s,
				   struct mpk_operator *op, struct mpk_error *err)
{
	const struct mpk_frame *f = mpk_frames_top(&vm->frames);
	const struct mpk_relay_callee *caller = &vm->program->callees[f->callee];
	const struct row *row = &rows[s->op];
	/* a storage has its size in a register, or extents */
	unsigned reads = s->op == MPK_RELAY_ALLOC_STORAGE && s->count ? 0 : row->reads;
	uint32_t listed = row->has_list ? s->count : 0;
	/* a kernel is given its inputs, then what it fills */
	uint32_t inputs = s->op == MPK_RELAY_INVOKE_PACKED ? listed - (uint32_t)s->number : listed;

	*op = (struct mpk_operator){
		.kind = row->kind,
		.name = relay_interp_name_of(vm->program, s),
		.function = mpk_span_str(caller->name),
		.index = f->at - caller->start,
	};
	if (returns_value(s))
		op->to = (struct mpk_place){ MPK_PLACE_REGISTER, s->dst };
	if (s->op == MPK_RELAY_LOAD_CONST)
		return put_number(op, MPK_PLACE_CONSTANT, s->index, err);
	if (s->op == MPK_RELAY_KILL_REGISTER)
		return put_number(op, MPK_PLACE_REGISTER, s->dst, err);
	MPK_TRY(mpk_operator_init(op, reads + listed, err));
	for (unsigned i = 0; i < reads; i++)
		put_register(vm, &op->operands[i], s->reg[i]);
	for (uint32_t i = 0; i < listed; i++) {
		put_register(vm, &op->operands[reads + i], vm->program->registers[s->first + i]);
		op->operands[reads + i].is_result = i >= inputs;
	}
	return MPK_OK;
}

/* --- steps that go elsewhere --------------------------------------------------------------- */

/* The frame that a step works in, and the result of the run once it is done. */
struct run {
	struct mpk_relay_vm *vm;
	size_t floor; /* frames below belong to other runs */
	bool done;
	struct mpk_value result;
};

/* --- steps that are observed ---------------------------------------------------------------- */

static enum mpk_code watch_step(struct mpk_relay_vm *vm, const struct mpk_relay_step *s,
				mpk_relay_op_fn *run, struct mpk_value *result,
				struct mpk_error *err)
{
	MPK_CLEANUP(mpk_operator_fini) struct mpk_operator op = { 0 };
	enum mpk_code code;

	MPK_TRY(describe_step(vm, s, &op, err));
	MPK_TRY(mpk_operator_begin(vm->observers, &op, err));
	MPK_TRY(run(vm, s, result, err));
	/* an observer that fails ends the call, whose result nobody takes then */
	code = mpk_operator_end(vm->observers, &op, result, err);
	if (code != MPK_OK)
		mpk_value_drop(result);
	return code;
}

/* --- closures --------------------------------------------------------------------------------- */

/* Arguments in the order of the parameters: named ones at their parameter's place, the others at the
 * places that are left. The first `skip` parameters have their values already. */
static enum mpk_code order_inputs(const struct mpk_signature *model, size_t skip,
				  const struct mpk_args *args, struct mpk_value *out,
				  struct mpk_error *err)
{
	struct mpk_signature left = *model;
	struct mpk_value *values;

	left.inputs += skip;
	left.input_count -= skip;
	if (!args->names && args->count == left.input_count) { /* in order as they stand */
		for (size_t i = 0; i < args->count; i++)
			out[i] = args->values[i];
		return MPK_OK;
	}
	MPK_TRY(mpk_signature_order(&left, args, &values, err));
	for (size_t i = 0; i < left.input_count; i++)
		out[i] = values[i];
	free(values);
	return MPK_OK;
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

	const struct mpk_array *captured = c->captured.array;
	const struct mpk_signature *model = &c->vm->program->signatures[c->function];

	for (size_t i = 0; i < captured->count; i++)
		values[i] = captured->items[i];
	code = order_inputs(model, captured->count, args, values + captured->count, err);

	if (code == MPK_OK)
		code = mpk_function_call(c->bound, &(struct mpk_args){ values, NULL, count },
					 result, err);
	if (values != few)
		free(values);
	return code;
}

static void destroy_closure(struct mpk_function *self)
{
	struct mpk_relay_closure *c = (struct mpk_relay_closure *)self;
	struct mpk_function *bound = c->bound;

	mpk_value_drop(&c->captured);
	free(c);
	/* last: it may be what keeps the machine */
	mpk_function_drop(bound);
}

enum mpk_code mpk_relay_closure_make(struct mpk_relay_vm *vm, size_t function,
				     struct mpk_value captured, struct mpk_function **out,
				     struct mpk_error *err)
{
	struct mpk_span name = mpk_span_str(vm->program->callees[function].name);
	struct mpk_relay_closure *c = calloc(1, sizeof *c);
	enum mpk_code code = c ? mpk_machine_bind(&vm->base, function, name, NULL, &c->bound, err)
			       : mpk_fail_nomem(err);

	if (code != MPK_OK) {
		mpk_value_drop(&captured);
		free(c);
		return code;
	}
	c->base = (struct mpk_function){
		.refs = 1,
		.name = vm->program->callees[function].name,
		.call = call_closure,
		.destroy = destroy_closure,
		.takes_names = true,
	};
	/* what a closure captured is missing in its parameters, which no signature says */
	if (captured.array->count == 0)
		c->base.signature = &vm->program->signatures[function];
	c->vm = vm;
	c->function = function;
	c->captured = captured;
	*out = &c->base;
	return MPK_OK;
}

/* The closure that a value is, when it is one of this machine; else NULL. */
static const struct mpk_relay_closure *relay_closure_of(const struct mpk_relay_vm *vm,
							const struct mpk_value *v)
{
	const struct mpk_relay_closure *c;

	/* any function may be in a register, also one of another machine */
	if (v->kind != MPK_VALUE_FUNCTION || v->function->call != call_closure)
		return NULL;
	c = (const struct mpk_relay_closure *)v->function;
	return c->vm == vm ? c : NULL;
}

/* --- steps that go elsewhere --------------------------------------------------------------- */

/* A call of a function of the program. */
static enum mpk_code push_frame(struct mpk_relay_vm *vm, size_t callee, struct mpk_error *err)
{
	const struct mpk_relay_callee *c = &vm->program->callees[callee];

	return mpk_frames_push(&vm->frames, mpk_span_str(c->name), (uint32_t)callee, c->start,
			       c->register_count, err);
}

static struct mpk_frame *frame_of(const struct run *r)
{
	return mpk_frames_top(&r->vm->frames);
}

/* A frame for a function, whose first registers are what was captured, then the arguments. */
static enum mpk_code relay_interp_enter(struct mpk_relay_vm *vm, size_t function,
					const struct mpk_relay_step *s,
					const struct mpk_array *captured, struct mpk_error *err)
{
	const uint32_t *registers = vm->program->registers + s->first;
	size_t caller = mpk_frames_top(&vm->frames)->base, at = 0;

	MPK_TRY(push_frame(vm, function, err));
	struct mpk_value *own = mpk_relay_registers(vm);

	for (size_t i = 0; captured && i < captured->count; i++)
		own[at++] = mpk_value_hold(captured->items[i]);
	for (uint32_t i = 0; i < s->count; i++)
		own[at++] = mpk_value_hold(vm->frames.stack[caller + registers[i]]);
	return MPK_OK;
}

static enum mpk_code invoke_callee(struct run *r, const struct mpk_relay_step *s,
				   struct mpk_error *err)
{
	return relay_interp_enter(r->vm, s->index, s, NULL, err);
}

static enum mpk_code invoke_closure(struct run *r, const struct mpk_relay_step *s,
				    struct mpk_error *err)
{
	struct mpk_relay_vm *vm = r->vm;
	const struct mpk_value *v = &mpk_relay_registers(vm)[s->reg[0]];
	const struct mpk_relay_closure *c = relay_closure_of(vm, v);
	size_t wanted;

	if (!c)
		return mpk_relay_fault(vm, err, "TypeError",
				       "register %" PRIu32 " must hold a closure, not %s",
				       s->reg[0], mpk_value_kind_name(v->kind));
	wanted = vm->program->callees[c->function].params.count - c->captured.array->count;
	if (s->count != wanted)
		return mpk_relay_fault(vm, err, "TypeError",
				       "a closure takes %zu arguments, not %" PRIu32, wanted,
				       s->count);
	/* the register keeps it until the new frame has what it captured */
	return relay_interp_enter(vm, c->function, s, c->captured.array, err);
}

static enum mpk_code return_value(struct run *r, const struct mpk_relay_step *s,
				  struct mpk_error *err)
{
	struct mpk_relay_vm *vm = r->vm;
	struct mpk_value v = mpk_value_hold(mpk_relay_registers(vm)[s->reg[0]]);

	(void)err;
	mpk_frames_pop(&vm->frames, vm->frames.count - 1);
	r->done = vm->frames.count == r->floor;
	if (r->done) {
		r->result = v;
		return MPK_OK;
	}
	/* the caller's frame is still at the step that called */
	mpk_frames_set(&vm->frames, vm->program->steps[frame_of(r)->at].dst, v);
	frame_of(r)->at++;
	return MPK_OK;
}

static enum mpk_code jump_if(struct run *r, const struct mpk_relay_step *s, struct mpk_error *err)
{
	struct mpk_value equal;

	MPK_TRY(mpk_relay_makers[MPK_RELAY_IF](r->vm, s, &equal, err));
	frame_of(r)->at = s->jump[!equal.boolean];
	return MPK_OK;
}

static enum mpk_code jump_to(struct run *r, const struct mpk_relay_step *s, struct mpk_error *err)
{
	(void)err;
	frame_of(r)->at = s->jump[0];
	return MPK_OK;
}

static enum mpk_code fatal(struct run *r, const struct mpk_relay_step *s, struct mpk_error *err)
{
	(void)s;
	return mpk_relay_fault(r->vm, err, "RuntimeError", "a match has no case for this value");
}

typedef enum mpk_code jump_fn(struct run *r, const struct mpk_relay_step *s, struct mpk_error *err);

static jump_fn *const jumps[MPK_RELAY_OPS] = {
	[MPK_RELAY_RET] = return_value,
	[MPK_RELAY_INVOKE] = invoke_callee,
	[MPK_RELAY_INVOKE_CLOSURE] = invoke_closure,
	[MPK_RELAY_IF] = jump_if,
	[MPK_RELAY_GOTO] = jump_to,
	[MPK_RELAY_FATAL] = fatal,
};

/* --- the loop ------------------------------------------------------------------------------ */

static enum mpk_code relay_interp_take_step(struct run *r, struct mpk_error *err)
{
	struct mpk_relay_vm *vm = r->vm;
	const struct mpk_relay_step *s = &vm->program->steps[frame_of(r)->at];
	struct mpk_value made = { 0 };

	/* a program that comes from strangers may have no end */
	if (vm->steps_left-- == 0)
		return mpk_relay_fault(vm, err, "RuntimeError", "a loop without end");
	if (vm->observers && jumps[s->op]) {
		MPK_CLEANUP(mpk_operator_fini) struct mpk_operator op = { 0 };

		MPK_TRY(describe_step(vm, s, &op, err));
		MPK_TRY(mpk_operator_control(vm->observers, &op, err));
	}
	if (jumps[s->op])
		return jumps[s->op](r, s, err);
	if (vm->observers)
		MPK_TRY(watch_step(vm, s, mpk_relay_makers[s->op], &made, err));
	else
		MPK_TRY(mpk_relay_makers[s->op](vm, s, &made, err));
	/* what a kernel made is in the tensors that it was given */
	if (s->op != MPK_RELAY_INVOKE_PACKED)
		mpk_frames_set(&vm->frames, s->dst, made);
	frame_of(r)->at++;
	return MPK_OK;
}

/* The kernel that was called before is the last one that stands before the step in its function. */
static void note_step(const struct run *r)
{
	const struct mpk_relay_program *p = r->vm->program;
	const struct mpk_frame *f = frame_of(r);
	const struct mpk_relay_callee *caller = &p->callees[f->callee];
	struct mpk_span before = { 0 };

	for (size_t at = f->at; at-- > caller->start && !before.len;)
		if (p->steps[at].op == MPK_RELAY_INVOKE_PACKED)
			before = p->packed[p->steps[at].index].name;
	mpk_failed_note(mpk_stop_get(), relay_interp_name_of(p, &p->steps[f->at]),
			mpk_span_str(caller->name), (int64_t)(f->at - caller->start), before);
}

/* Run a function in a frame of its own until it returns
 * @args    as many as it has parameters; borrowed
 * Returns  MPK_OK, *result owned; MPK_E_RAISED: what a kernel raised, registers that do not hold what
 *          a step needs, a match without a case, recursion or a loop without end; ... All frames of
 *          the run are gone then, and the machine is as before */
static enum mpk_code relay_run(struct mpk_relay_vm *vm, size_t function,
			       const struct mpk_value *args, size_t count, struct mpk_value *result,
			       struct mpk_error *err)
{
	struct run r = { .vm = vm, .floor = vm->frames.count };
	struct mpk_stop *stop = mpk_stop_get();
	enum mpk_code code = push_frame(vm, function, err);

	for (size_t i = 0; i < count && code == MPK_OK; i++)
		mpk_relay_registers(vm)[i] = mpk_value_hold(args[i]);
	while (code == MPK_OK && !r.done) {
		code = mpk_stop_check(stop, err);
		if (code != MPK_OK)
			break;
		code = relay_interp_take_step(&r, err);
		if (code != MPK_OK)
			note_step(&r);
	}
	mpk_frames_pop(&vm->frames, r.floor);
	if (code == MPK_OK)
		*result = r.result;
	return code;
}
