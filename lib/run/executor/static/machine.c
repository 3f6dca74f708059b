/* SPDX-License-Identifier: Apache-2.0 */
/* machine.c - runs a model whose tensors and memory are laid out
 *
 * The arguments of all steps are laid out once. A run patches the addresses of inputs and results,
 * and calls the functions. Storages are reused in each run, except those of results that the caller
 * still holds. A run does not wait for devices between steps. */
#include "executor/static/internal/static.h"

#include <stdlib.h>
#include <string.h>

#include "abi/convention.h"
#include "base/lock.h"
#include "executor/machine.h"
#include "runtime/devices.h"
#include "runtime/observer.h"
#include "runtime/stop.h"

/* A storage of the program in this machine. */
struct memory {
	struct mpk_dldevice device;
	struct mpk_allocator *allocator;
	struct mpk_storage *own; /* memory owned by the machine; NULL: not needed so far */
	void *data;              /* address in its tensors: of own, or of memory of the caller or
				  * the file */
};

/* A step of the program with its arguments. */
struct call {
	struct mpk_packed packed; /* for host code */
	struct mpk_value *values; /* for other functions; the tensors are the machine's */
};

struct static_machine {
	struct mpk_machine base;            /* must be the first member */
	struct mpk_static_program *program; /* the same as base.program */
	struct mpk_devices *devices;
	struct mpk_arena arena;
	struct memory *memories;     /* one for each storage */
	struct mpk_tensor **tensors; /* arguments of steps; only their addresses change */
	struct call *calls;          /* one for each step */
	struct mpk_storage *
		*contents; /* for each input that the file fills; NULL: not used so far */
	const struct mpk_value **bound; /* for each input: its value in the current call */
	bool is_ready;                  /* memory is allocated and initial content is written */
};

/* --- life ----------------------------------------------------------------------------------- */

/* Returns the device for a storage: the first one of its type that was named, else the first one.
 * TVM would use the model's own device, whose memory the kernels would then refuse. */
static struct mpk_dldevice device_for(int32_t type, const struct mpk_dldevice *devices,
				      size_t count)
{
	if (!type)
		return devices[0];
	for (size_t i = 0; i < count; i++)
		if (devices[i].type == type)
			return devices[i];
	return (struct mpk_dldevice){ type, 0 };
}

static enum mpk_code machine_take_devices(struct static_machine *m,
					  const struct mpk_dldevice *devices, size_t count,
					  struct mpk_error *err)
{
	const struct mpk_static_program *p = m->program;

	for (size_t i = 0; i < p->storage_count; i++) {
		struct memory *memory = &m->memories[i];

		memory->device = device_for(p->storages[i].device_type, devices, count);
		MPK_TRY(mpk_devices_allocator(m->devices, memory->device, &memory->allocator, err));
	}
	return MPK_OK;
}

/* Lays out the arguments of a step: cells for code at an address, values for other functions. Both
 * point to the machine's tensors, whose addresses change from call to call. */
static enum mpk_code lay_out(struct static_machine *m, size_t i, struct mpk_error *err)
{
	const struct mpk_static_step *s = &m->program->steps[i];
	struct call *c = &m->calls[i];
	void *memory;

	if (!s->function)
		return MPK_OK;
	if (!s->function->address) {
		c->values = mpk_arena_array(&m->arena, s->count + 1, sizeof *c->values);
		if (!c->values)
			return mpk_fail_nomem(err);
		for (size_t k = 0; k < s->count; k++)
			c->values[k] = mpk_value_of_tensor(m->tensors[s->operands[k]]);
		return MPK_OK;
	}
	memory =
		mpk_arena_alloc(&m->arena, mpk_packed_bytes(s->function->convention, s->count) + 1);
	if (!memory)
		return mpk_fail_nomem(err);
	c->packed = mpk_packed_at(s->function->convention, memory, s->count);
	for (size_t k = 0; k < s->count; k++)
		mpk_packed_set_tensor(&c->packed, k, &m->tensors[s->operands[k]]->dl);
	return MPK_OK;
}

static enum mpk_code machine_start(struct mpk_machine *base, const struct mpk_dldevice *devices,
				   size_t count, struct mpk_error *err)
{
	struct static_machine *m = (struct static_machine *)base;
	const struct mpk_static_program *p = (const struct mpk_static_program *)base->program;

	m->program = (struct mpk_static_program *)base->program;
	m->devices = mpk_runtime_devices(p->base.runtime);
	m->memories = mpk_arena_array(&m->arena, p->storage_count + 1, sizeof *m->memories);
	m->tensors = mpk_arena_array(&m->arena, p->tensor_count + 1, sizeof(struct mpk_tensor *));
	m->calls = mpk_arena_array(&m->arena, p->step_count + 1, sizeof *m->calls);
	m->contents = mpk_arena_array(&m->arena, p->input_count + 1, sizeof(struct mpk_storage *));
	m->bound = mpk_arena_array(&m->arena, p->input_count + 1, sizeof(struct mpk_value *));
	if (!m->memories || !m->tensors || !m->calls || !m->contents || !m->bound)
		return mpk_fail_nomem(err);
	MPK_TRY(machine_take_devices(m, devices, count, err));
	for (size_t i = 0; i < p->tensor_count; i++) {
		/* A tensor as functions expect it. Releases with the legacy calling convention have bool as one
		 * bit, and NULL strides for compact tensors. */
		static const struct mpk_dtype legacy_bool = { MPK_DTYPE_UINT, 1, 1 };
		const struct mpk_static_tensor *t = &m->program->tensors[i];
		struct mpk_dltensor dl = {
			.device = m->memories[t->storage].device,
			.ndim = (int32_t)t->ndim,
			.dtype = t->dtype,
			.shape = (int64_t *)(uintptr_t)t->shape, /* functions get a copy of the
								  * DLTensor */
		};

		if (m->program->base.context.convention == MPK_CONV_LEGACY &&
		    mpk_dtype_is_bool(t->dtype))
			dl.dtype = legacy_bool;
		MPK_TRY(mpk_tensor_wrap(&dl, NULL, &m->tensors[i], err));
		m->tensors[i]->dl.strides = NULL;
	}
	for (size_t i = 0; i < p->step_count; i++)
		MPK_TRY(lay_out(m, i, err));
	return MPK_OK;
}

static void stop(struct mpk_machine *base)
{
	struct static_machine *m = (struct static_machine *)base;
	const struct mpk_static_program *p = m->program;

	for (size_t i = 0; m->tensors && i < p->tensor_count; i++)
		mpk_tensor_drop(m->tensors[i]);
	for (size_t i = 0; m->memories && i < p->storage_count; i++)
		mpk_storage_drop(m->memories[i].own);
	for (size_t i = 0; m->contents && i < p->input_count; i++)
		mpk_storage_drop(m->contents[i]);
	mpk_arena_fini(&m->arena);
}

/* --- memory --------------------------------------------------------------------------------- */

static void set_data(struct static_machine *m, size_t storage, void *data)
{
	const struct mpk_static_storage *s = &m->program->storages[storage];
	const uint32_t *views = &m->program->views[s->first_view];

	/* most storages keep their address from call to call */
	if (m->memories[storage].data == data)
		return;
	m->memories[storage].data = data;
	for (uint32_t i = 0; i < s->view_count; i++)
		m->tensors[views[i]]->dl.data = data;
}

/* Gives a storage memory that the machine owns. */
static enum mpk_code use_own(struct static_machine *m, size_t storage, struct mpk_error *err)
{
	struct memory *memory = &m->memories[storage];

	/* allocated at the first need: an input that is never copied needs none */
	if (!memory->own)
		MPK_TRY(mpk_allocator_storage(
			memory->allocator, m->program->storages[storage].bytes, &memory->own, err));
	set_data(m, storage, memory->own->data);
	return MPK_OK;
}

static enum mpk_code machine_fill(struct static_machine *m, const struct mpk_static_fill *f,
				  struct mpk_error *err)
{
	const struct memory *memory = &m->memories[f->storage];
	struct mpk_device *device;

	MPK_TRY(mpk_devices_get(m->devices, memory->device, &device, err));
	return mpk_device_write(device, memory->own->data, f->offset, f->content, err);
}

/* Does once what all runs need. */
static enum mpk_code machine_prepare(struct static_machine *m, struct mpk_error *err)
{
	const struct mpk_static_program *p = m->program;

	if (m->is_ready)
		return MPK_OK;
	for (size_t i = 0; i < p->storage_count; i++)
		if (!p->storages[i].is_zero_copy)
			MPK_TRY(use_own(m, i, err));
	for (size_t i = 0; i < p->fill_count; i++)
		MPK_TRY(machine_fill(m, &p->fills[i], err));
	m->is_ready = true;
	return MPK_OK;
}

/* --- inputs --------------------------------------------------------------------------------- */

/* Whether functions can use a tensor's memory in place; *data is the address for them. Kernels need
 * an offset of 0, and on some devices an offset cannot be added to the address. */
static bool lies_well(const struct mpk_dltensor *t, struct mpk_dldevice device, void **data)
{
	if (!mpk_dltensor_is_compact(t) || !t->data)
		return false;
	if (mpk_dldevice_is_host(device)) {
		*data = mpk_dltensor_data(t);
		return mpk_dldevice_is_host(t->device) && (uintptr_t)*data % MPK_STORAGE_ALIGN == 0;
	}
	*data = t->data;
	return mpk_dldevice_equal(t->device, device) && t->byte_offset == 0;
}

/* Places a parameter's content from the file. */
static enum mpk_code place_content(struct static_machine *m, size_t i, struct mpk_error *err)
{
	static const struct mpk_dtype bytes = { MPK_DTYPE_UINT, 8, 1 };
	const struct mpk_static_input *in = &m->program->inputs[i];
	const struct mpk_tensor *to = m->tensors[in->tensor];
	uint32_t storage = m->program->tensors[in->tensor].storage;

	if (!m->contents[i])
		MPK_TRY(mpk_program_constant(&m->program->base, in->content,
					     in->is_native ? bytes : to->dl.dtype,
					     m->memories[storage].device, &m->contents[i], err));
	if (m->program->storages[storage].is_zero_copy) {
		set_data(m, storage, m->contents[i]->data);
		return MPK_OK;
	}
	struct mpk_dltensor from = to->dl;

	from.data = m->contents[i]->data;
	return mpk_devices_copy(m->devices, &from, &to->dl, to->bytes, err);
}

static enum mpk_code place_input(struct static_machine *m, size_t i, struct mpk_error *err)
{
	const struct mpk_static_input *in = &m->program->inputs[i];
	uint32_t storage = m->program->tensors[in->tensor].storage;
	struct mpk_tensor *came;
	void *data;

	if (!m->bound[i])
		return place_content(m, i, err);
	came = m->bound[i]->tensor;
	if (m->program->storages[storage].is_zero_copy &&
	    lies_well(&came->dl, m->memories[storage].device, &data)) {
		set_data(m, storage, data);
		return MPK_OK;
	}
	/* kernels cannot use the content in place, or they write to its storage */
	MPK_TRY(use_own(m, storage, err));

	const struct mpk_tensor *to = m->tensors[in->tensor];
	struct mpk_tensor *compact;
	enum mpk_code code;

	if (mpk_dltensor_is_compact(&came->dl))
		return mpk_devices_copy(m->devices, &came->dl, &to->dl, to->bytes, err);
	if (!mpk_dldevice_is_host(came->dl.device))
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"an input on a device whose rows are not contiguous");
	MPK_TRY(mpk_tensor_compact(came, &compact, err));
	code = mpk_devices_copy(m->devices, &compact->dl, &to->dl, to->bytes, err);
	mpk_tensor_drop(compact);
	return code;
}

/* --- results -------------------------------------------------------------------------------- */

/* Gives a result new memory if the caller still holds the previous one. */
static enum mpk_code refresh_result(struct static_machine *m, uint32_t tensor,
				    struct mpk_error *err)
{
	uint32_t storage = m->program->tensors[tensor].storage;
	struct memory *memory = &m->memories[storage];

	if (mpk_refs_is_only(&memory->own->refs))
		return MPK_OK;
	mpk_storage_drop(memory->own);
	memory->own = NULL;
	m->is_ready = false; /* in case the allocation fails */
	MPK_TRY(use_own(m, storage, err));
	m->is_ready = true;
	return MPK_OK;
}

static enum mpk_code machine_make_result(struct static_machine *m, uint32_t tensor,
					 struct mpk_value *out, struct mpk_error *err)
{
	const struct mpk_static_tensor *t = &m->program->tensors[tensor];
	struct mpk_dltensor dl = m->tensors[tensor]->dl;
	struct mpk_tensor *made;

	/* callers see bool as 8 bits, kernels as their release has it */
	dl.dtype = t->dtype;
	MPK_TRY(mpk_tensor_wrap(&dl, m->memories[t->storage].own, &made, err));
	*out = mpk_value_of_tensor(made);
	return MPK_OK;
}

static enum mpk_code make_results(struct static_machine *m, struct mpk_value *result,
				  struct mpk_error *err)
{
	const struct mpk_static_program *p = m->program;

	if (p->result_count == 1)
		return machine_make_result(m, p->results[0], result, err);
	MPK_TRY(mpk_value_of_array(p->result_count, result, err));
	for (size_t i = 0; i < p->result_count; i++)
		MPK_TRY(machine_make_result(m, p->results[i], &result->array->items[i], err));
	return MPK_OK;
}

/* --- a run ---------------------------------------------------------------------------------- */

static enum mpk_code run_step(struct static_machine *m, size_t i, struct mpk_error *err)
{
	const struct mpk_static_step *s = &m->program->steps[i];
	const struct call *c = &m->calls[i];
	struct mpk_value none = { 0 };

	if (!s->function) {
		const struct mpk_tensor *from = m->tensors[s->operands[0]];

		return mpk_devices_copy(m->devices, &from->dl, &m->tensors[s->operands[1]]->dl,
					from->bytes, err);
	}
	if (s->function->address)
		return mpk_packed_call(&c->packed, s->function->address, NULL, err);
	MPK_TRY(mpk_function_call(s->function, &(struct mpk_args){ c->values, NULL, s->count },
				  &none, err));
	mpk_value_drop(&none);
	return MPK_OK;
}

/* Describes a step for observers. */
static enum mpk_code machine_describe(const struct static_machine *m, size_t i,
				      struct mpk_operator *op, struct mpk_error *err)
{
	const struct mpk_static_step *s = &m->program->steps[i];

	*op = (struct mpk_operator){
		.kind = s->function ? MPK_OPERATOR_KERNEL : MPK_OPERATOR_COPY,
		.name = mpk_span_str(s->function ? s->function->name : "copy"),
		.label = s->label,
		.index = i,
	};
	MPK_TRY(mpk_operator_init(op, s->count, err));
	for (size_t k = 0; k < s->count; k++)
		op->operands[k] = (struct mpk_operand){
			.place = { MPK_PLACE_TENSOR, s->operands[k] },
			.value = mpk_value_of_tensor(m->tensors[s->operands[k]]),
			.is_result = k >= s->read_count && k < s->read_count + s->result_count,
		};
	return MPK_OK;
}

static enum mpk_code run_observed(struct static_machine *m, struct mpk_observer *observers,
				  size_t i, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_operator_fini) struct mpk_operator op;
	const struct mpk_value none = { 0 };

	MPK_TRY(machine_describe(m, i, &op, err));
	MPK_TRY(mpk_operator_begin(observers, &op, err));
	MPK_TRY(run_step(m, i, err));
	return mpk_operator_end(observers, &op, &none, err);
}

static const char *step_name(const struct mpk_static_program *p, size_t i)
{
	return p->steps[i].function ? p->steps[i].function->name : "copy";
}

static enum mpk_code fail_at(const struct static_machine *m, size_t i, enum mpk_code code)
{
	const struct mpk_static_program *p = m->program;

	mpk_failed_note(mpk_stop_get(), mpk_span_str(step_name(p, i)), (struct mpk_span){ 0 },
			(int64_t)i, mpk_span_str(i ? step_name(p, i - 1) : ""));
	return mpk_failed(code);
}

static enum mpk_code invoke(struct mpk_machine *base, size_t function, const struct mpk_args *args,
			    struct mpk_value *result, struct mpk_error *err)
{
	struct static_machine *m = (struct static_machine *)base;
	const struct mpk_static_program *p = m->program;
	struct mpk_observer *observers = mpk_runtime_observers(p->base.runtime);
	struct mpk_stop *stop = mpk_stop_get();
	enum mpk_code code = MPK_OK;

	(void)function; /* the model has only one function */
	MPK_TRY(mpk_signature_bind(&p->model, args, m->bound, err));
	MPK_TRY(machine_prepare(m, err));
	for (size_t i = 0; i < p->result_count; i++)
		MPK_TRY(refresh_result(m, p->results[i], err));
	for (size_t i = 0; i < p->input_count; i++)
		MPK_TRY(place_input(m, i, err));
	for (size_t i = 0; i < p->step_count; i++) {
		MPK_TRY(mpk_stop_check(stop, err));
		code = observers ? run_observed(m, observers, i, err) : run_step(m, i, err);
		if (code != MPK_OK)
			return fail_at(m, i, code);
	}
	return make_results(m, result, err);
}

/* Nested calls are refused: a kernel that calls its own model would change the tensors of the
 * current call. */
const struct mpk_machine_kind mpk_static_machine = {
	.bytes = sizeof(struct static_machine),
	.depth_max = 1,
	.start = machine_start,
	.stop = stop,
	.invoke = invoke,
};
