/* SPDX-License-Identifier: Apache-2.0 */
/* interp.c - the interpreter: calls from outside, the loop over steps, jumps and calls, and events
 * for observers
 *
 * The loop looks nothing up and checks no index, because decode.c did both. Calls keep their frames
 * in the machine instead of on the native stack: TVM compiles loops to recursion, whose depth only
 * memory should limit. */
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
 * A closure is a function with its first arguments. A function that a caller looks up is a closure
 * without any, so both are called in the same way. A call orders the arguments and copies them to
 * the devices of the parameters. Then it runs a plan, or the byte code if there is no plan.
 *
 * The program states a device for each parameter, and TVM's kernels refuse memory that is not
 * compact, not aligned, or begins at an offset. Suitable arguments are shared; each other one is
 * copied once here, so that no kernel needs to copy it. Numbers become tensors of rank 0, because
 * Relay has no other numbers. */

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
	/* the program has no back end for the device, or the caller did not name it */
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

/* most levels of nested arrays in an argument */
enum { NEST_MAX = 256 };

/* TVM of these releases has one type for bool; arrays from elsewhere have DLPack's. */
static bool is_dlpack_bool(struct mpk_dtype t)
{
	return t.code == MPK_DTYPE_BOOL && t.bits == 8;
}

/* Kernels on a device accept an offset; kernels on the host do not. */
static bool kernels_take(const struct mpk_dltensor *dl)
{
	return mpk_dltensor_is_compact(dl) &&
	       (!mpk_dldevice_is_host(dl->device) ||
		(dl->byte_offset == 0 && (uintptr_t)dl->data % MPK_STORAGE_ALIGN == 0));
}

/* Copies the elements to new memory. */
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
	/* kernels of these releases expect uint1 and refuse DLPack's bool */
	if (!is_dlpack_bool(t->dl.dtype)) {
		*out = taken;
		return MPK_OK;
	}

	/* A tensor over the same memory, with the type that TVM's kernels expect. */
	struct mpk_dltensor dl = taken->dl;

	dl.dtype = (struct mpk_dtype){ MPK_DTYPE_UINT, 1, dl.dtype.lanes };
	code = mpk_tensor_wrap(&dl, taken->storage, out, err);

	mpk_tensor_drop(taken);
	return code;
}

/* Converts a number as TVM's own callers do: to the stated type, else to 32 bits. */
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
		/* take_tensor converts the type to the one that kernels expect */
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

/* The required device and type of a value. */
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

	/* bounds the recursion, because a caller may nest tuples without limit */
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

/* Converts arguments to values that kernels accept: each on the device of its parameter, and
 * compact and aligned in host memory. Suitable values are shared, not copied.
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
		/* on failure the values converted so far are dropped: the caller owns nothing */
		while (i-- > 0)
			mpk_value_drop(&out[i]);
		return code;
	}
	return MPK_OK;
}

/* --- calls ---------------------------------------------------------------------------------- */

enum { FEW = 16 }; /* arguments that fit without an allocation */

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
		/* a kernel calls back: these steps belong to the kernel, not to the recorded call */
		mpk_record_nothing(vm->recorder);
		return relay_run(vm, function, args, count, result, err);
	}
	/* for the outermost call, state of earlier calls is reset */
	vm->steps_left = vm->step_limit;
	vm->observers = mpk_runtime_observers(vm->program->base.runtime);
	/* observers need every step, and a plan would omit most */
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

/* For each opcode: its name for observers, its kind of operator, and how many elements of reg[] it
 * reads. Steps with a list also read the registers of the list. */
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

/* Whether a step leaves a value in a register. A kernel writes to its arguments instead. */
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
	/* the size of a storage is in a register or in extents */
	unsigned reads = s->op == MPK_RELAY_ALLOC_STORAGE && s->count ? 0 : row->reads;
	uint32_t listed = row->has_list ? s->count : 0;
	/* a kernel's arguments are its inputs, then its outputs */
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

/* One run of the loop: its frames, and its result at the end. */
struct run {
	struct mpk_relay_vm *vm;
	size_t floor; /* frames below this index belong to other runs */
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
	/* an observer that fails ends the call; the result is dropped */
	code = mpk_operator_end(vm->observers, &op, result, err);
	if (code != MPK_OK)
		mpk_value_drop(result);
	return code;
}

/* --- closures --------------------------------------------------------------------------------- */

/* Puts arguments into the order of the parameters: named ones at their parameters, the others at
 * those that are left. The first `skip` parameters already have values. */
static enum mpk_code order_inputs(const struct mpk_signature *model, size_t skip,
				  const struct mpk_args *args, struct mpk_value *out,
				  struct mpk_error *err)
{
	struct mpk_signature left = *model;
	struct mpk_value *values;

	left.inputs += skip;
	left.input_count -= skip;
	if (!args->names && args->count == left.input_count) { /* without names the order is already
							        * right */
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
	/* dropped last, because it may hold the last reference to the machine */
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
	/* a signature that omitted captured parameters would be wrong, so a closure with captured values
	 * has none */
	if (captured.array->count == 0)
		c->base.signature = &vm->program->signatures[function];
	c->vm = vm;
	c->function = function;
	c->captured = captured;
	*out = &c->base;
	return MPK_OK;
}

/* Returns the closure in a value if it belongs to this machine, else NULL. */
static const struct mpk_relay_closure *relay_closure_of(const struct mpk_relay_vm *vm,
							const struct mpk_value *v)
{
	const struct mpk_relay_closure *c;

	/* a register may hold any function, even of another machine */
	if (v->kind != MPK_VALUE_FUNCTION || v->function->call != call_closure)
		return NULL;
	c = (const struct mpk_relay_closure *)v->function;
	return c->vm == vm ? c : NULL;
}

/* --- steps that go elsewhere --------------------------------------------------------------- */

/* Calls a function of the program. */
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

/* Pushes a frame for a function: its first registers are the captured values, then the arguments. */
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
	/* the register keeps the closure alive until the new frame has copied the captured values */
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
	/* the caller's frame still points to the calling step */
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

	/* untrusted programs may loop forever */
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
	/* a kernel wrote its results to its arguments */
	if (s->op != MPK_RELAY_INVOKE_PACKED)
		mpk_frames_set(&vm->frames, s->dst, made);
	frame_of(r)->at++;
	return MPK_OK;
}

/* Notes the step for error messages, with the kernel called before it: the last kernel call that
 * precedes the step in its function. */
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

/* Runs a function in a new frame until it returns.
 * @args    one value for each parameter; borrowed
 * Returns  MPK_OK, *result owned; MPK_E_RAISED: an error of a kernel, registers of the wrong kind,
 *          a match without a case, recursion too deep or a loop without end; ... On failure all
 *          frames of the run are gone and the machine is as before */
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
