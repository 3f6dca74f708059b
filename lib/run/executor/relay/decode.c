/* SPDX-License-Identifier: Apache-2.0 */
/* decode.c - decodes the instructions of a program into steps
 *
 * mpk_relay_check has checked registers, constants, packed functions and jumps. This file checks
 * the rest: devices, types, shapes, the number of arguments of each function, and that every
 * function ends. Fields are numbered as in formats/relayvm/code.c. */
#include "executor/relay/internal/relay.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "text/escape.h"

/* Device types that TVM 0.8 may have written are below this number. */
enum { TYPES_MAX = 64 };

struct decoder {
	struct mpk_relay_program *p;
	struct mpk_relay_place *places;
	const struct mpk_relay_func *f;
	const struct mpk_relay_instr *instr;
	uint32_t start; /* index of the function's first step */
	size_t at;      /* index of the current instruction in the function */
	uint32_t register_count, extent_count, number_count; /* elements filled so far */
	struct mpk_error *err;
};

static int64_t field(const struct decoder *d, size_t i)
{
	return mpk_relay_word(d->instr, i + 1);
}

/* Returns a field that mpk_relay_check has checked as a register or an index. */
static uint32_t reg(const struct decoder *d, size_t i)
{
	return (uint32_t)field(d, i);
}

static size_t field_count(const struct decoder *d)
{
	return d->instr->count - 1;
}

static enum mpk_code fault(const struct decoder *d, const char *fmt, ...) MPK_PRINTF(2, 3);

static enum mpk_code fault(const struct decoder *d, const char *fmt, ...)
{
	char text[160];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	return mpk_fail(d->err, MPK_E_CORRUPT, "function \"%s\", instruction %zu: %s",
			MPK_QUOTE(d->f->info.items[0]), d->at, text);
}

/* --- devices ------------------------------------------------------------------------------- */

static bool decode_place_of(struct decoder *d, int64_t device, uint32_t *out)
{
	/* later layouts have a table of virtual devices and name them by index */
	if (d->p->x.layout == MPK_RELAY_08) {
		/* TVM 0.8 gives a device only by its type; each type that occurs becomes a place. */
		size_t i = 0;

		if (device <= 0 || device >= TYPES_MAX)
			return false;
		while (i < d->p->place_count && d->places[i].type != device)
			i++;
		if (i == d->p->place_count)
			d->places[d->p->place_count++] =
				(struct mpk_relay_place){ .type = (int32_t)device };
		*out = (uint32_t)i;
		return true;
	}
	if (device < 0 || (uint64_t)device >= d->p->place_count)
		return false;
	*out = (uint32_t)device;
	return true;
}

/* Reads the devices of parameters or constants, one word each. For a closure TVM 0.8 gives devices
 * only of captured values: the other arguments are on the device of the first parameter. */
static enum mpk_code places_of(struct decoder *d, struct mpk_span words, size_t count,
			       const char *what, const uint32_t **out)
{
	uint32_t *list = mpk_arena_array(&d->p->base.arena, count + 1, sizeof *list);
	size_t known = words.len / 8;

	MPK_TRY_ALLOC(list, d->err);
	if (known > count || (known < count && d->p->x.layout != MPK_RELAY_08))
		return mpk_fail(d->err, MPK_E_CORRUPT, "devices of %zu %s for %zu", known, what,
				count);
	for (size_t i = 0; i < known; i++) {
		int64_t device = (int64_t)mpk_load_u64(words.data + 8 * i);

		if (!decode_place_of(d, device, &list[i]))
			return mpk_fail(d->err, MPK_E_CORRUPT,
					"device %" PRId64 " of %s %zu does not exist", device, what,
					i);
	}
	for (size_t i = known; i < count; i++)
		list[i] = known ? list[0] : d->p->host_place;
	*out = list;
	return MPK_OK;
}

static enum mpk_code decode_places(struct decoder *d)
{
	struct mpk_relay_program *p = d->p;
	const struct mpk_relay *x = &p->x;
	size_t room = x->layout == MPK_RELAY_08 ? TYPES_MAX : x->device_count;
	int64_t host = x->layout == MPK_RELAY_08 ? MPK_DL_CPU : x->host_device;

	MPK_TRY_ARRAY(d->places, &p->base.arena, room + 1, d->err);
	p->places = d->places;
	for (; x->layout != MPK_RELAY_08 && p->place_count < x->device_count; p->place_count++)
		d->places[p->place_count] =
			(struct mpk_relay_place){ x->devices[p->place_count].type,
						  x->devices[p->place_count].scope };
	if (!decode_place_of(d, host, &p->host_place))
		return mpk_fail(d->err, MPK_E_CORRUPT,
				"the host device, %" PRId64 ", does not exist", host);
	if (p->places[p->host_place].type != MPK_DL_CPU)
		return mpk_fail(d->err, MPK_E_UNSUPPORTED,
				"scalars and shapes on a device of type %" PRId32,
				p->places[p->host_place].type);
	return places_of(d, x->const_devices, x->const_count, "constants", &p->const_places);
}

/* --- fields -------------------------------------------------------------------------------- */

static enum mpk_code take_extents(struct decoder *d, struct mpk_relay_step *s, size_t from)
{
	s->first = d->extent_count;
	s->count = (uint32_t)(field_count(d) - from);
	if (s->count > MPK_TENSOR_NDIM_MAX)
		return fault(d, "a tensor of %" PRIu32 " dimensions", s->count);
	for (size_t i = from; i < field_count(d); i++) {
		if (field(d, i) < 0)
			return fault(d, "extent %" PRId64, field(d, i));
		d->p->extents[d->extent_count++] = field(d, i);
	}
	return MPK_OK;
}

/* Reads code, bits and lanes. */
static enum mpk_code take_dtype(struct decoder *d, struct mpk_relay_step *s, size_t from)
{
	int64_t code = field(d, from), bits = field(d, from + 1), lanes = field(d, from + 2);

	if (code < 0 || code > UINT8_MAX || bits < 1 || bits > UINT8_MAX || lanes < 1 ||
	    lanes > UINT16_MAX)
		return fault(d, "no type has code %" PRId64 ", %" PRId64 " bits, %" PRId64 " lanes",
			     code, bits, lanes);
	s->dtype = (struct mpk_dtype){ (uint8_t)code, (uint8_t)bits, (uint16_t)lanes };
	return MPK_OK;
}

static enum mpk_code take_place(struct decoder *d, size_t i, uint32_t *out)
{
	return decode_place_of(d, field(d, i), out)
		       ? MPK_OK
		       : fault(d, "device %" PRId64 " does not exist", field(d, i));
}

static enum mpk_code take_jump(struct decoder *d, size_t i, uint32_t *out)
{
	/* a jump to itself is the only loop that certainly never ends */
	if (field(d, i) == 0)
		return fault(d, "jumps to itself");
	*out = (uint32_t)(d->start + (int64_t)d->at + field(d, i));
	return MPK_OK;
}

/* --- instructions -------------------------------------------------------------------------- */

/* Checks a function's index and its number of arguments: all parameters, or those that a closure
 * captures. */
static enum mpk_code decode_function_index(struct decoder *d, struct mpk_relay_step *s)
{
	uint64_t index = (uint64_t)field(d, 0), given = (uint64_t)field(d, 1), taken;

	if (index >= d->p->callee_count)
		return fault(d, "function %" PRIu64 " does not exist", index);
	taken = d->p->x.funcs[index].params.count;
	if (given > taken || (s->op == MPK_RELAY_INVOKE && given < taken))
		return fault(d, "function %" PRIu64 " takes %" PRIu64 " arguments, not %" PRIu64,
			     index, taken, given);
	s->index = (uint32_t)index;
	return MPK_OK;
}

static enum mpk_code decode_invoke_packed(struct decoder *d, struct mpk_relay_step *s)
{
	int64_t outputs = field(d, 2);

	if (outputs < 0 || outputs > field(d, 1) || outputs > INT32_MAX)
		return fault(d, "%" PRId64 " outputs among %" PRId64 " arguments", outputs,
			     field(d, 1));
	s->index = reg(d, 0);
	s->number = (int32_t)outputs;
	return MPK_OK;
}

static enum mpk_code decode_alloc_tensor(struct decoder *d, struct mpk_relay_step *s)
{
	MPK_TRY(take_dtype(d, s, 2));
	return take_extents(d, s, 7);
}

static enum mpk_code decode_alloc_tensor_reg(struct decoder *d, struct mpk_relay_step *s)
{
	return take_dtype(d, s, 3);
}

/* The alignment in field 1 is ignored: it is 64, or 128 before 0.9. Every storage is aligned to 64,
 * and no machine instruction needs more. If there is a shape, the size register in field 0 is
 * undefined. */
static enum mpk_code decode_alloc_storage(struct decoder *d, struct mpk_relay_step *s)
{
	bool has_rank = d->p->x.layout == MPK_RELAY_14;

	MPK_TRY(take_dtype(d, s, 2));
	MPK_TRY(take_place(d, 5, &s->index));
	s->dst = reg(d, has_rank ? 7 : 6);
	MPK_TRY(take_extents(d, s, has_rank ? 8 : 7));
	if (!s->count)
		s->reg[0] = reg(d, 0);
	return MPK_OK;
}

static enum mpk_code decode_alloc_adt(struct decoder *d, struct mpk_relay_step *s)
{
	s->number = (int32_t)(uint32_t)(uint64_t)field(d, 0); /* truncated as TVM does */
	return MPK_OK;
}

static enum mpk_code decode_get_field(struct decoder *d, struct mpk_relay_step *s)
{
	if (field(d, 1) < 0 || field(d, 1) > UINT32_MAX)
		return fault(d, "field %" PRId64, field(d, 1));
	s->index = (uint32_t)field(d, 1);
	return MPK_OK;
}

static enum mpk_code decode_if(struct decoder *d, struct mpk_relay_step *s)
{
	MPK_TRY(take_jump(d, 2, &s->jump[0]));
	return take_jump(d, 3, &s->jump[1]);
}

static enum mpk_code decode_goto(struct decoder *d, struct mpk_relay_step *s)
{
	return take_jump(d, 0, &s->jump[0]);
}

/* Since 0.14 the instruction also has a device, which is ignored because the constant has one. */
static enum mpk_code decode_load_const(struct decoder *d, struct mpk_relay_step *s)
{
	s->index = reg(d, 0);
	s->dst = reg(d, field_count(d) - 1);
	return MPK_OK;
}

static enum mpk_code decode_load_consti(struct decoder *d, struct mpk_relay_step *s)
{
	s->op = MPK_RELAY_LOAD_CONST;
	s->index = (uint32_t)d->p->x.const_count + d->number_count;
	d->p->numbers[d->number_count++] = field(d, 0);
	return MPK_OK;
}

static enum mpk_code decode_device_copy(struct decoder *d, struct mpk_relay_step *s)
{
	MPK_TRY(take_place(d, 1, &s->from));
	return take_place(d, 2, &s->index);
}

enum { NONE = -1 };

/* Which fields of an instruction are registers: the first `reads` fields are read, `dst` receives
 * the result, and the fields from `list` on are a list. The instruction's own decoder handles its
 * other fields. */
static const struct {
	int8_t reads, dst, list;
	enum mpk_code (*rest)(struct decoder *d, struct mpk_relay_step *s);
} layouts[MPK_RELAY_OPS] = {
	[MPK_RELAY_MOVE] = { 1, 1, NONE, NULL },
	[MPK_RELAY_RET] = { 1, NONE, NONE, NULL },
	[MPK_RELAY_INVOKE] = { 0, 2, 3, decode_function_index },
	[MPK_RELAY_INVOKE_CLOSURE] = { 1, 2, 3, NULL },
	[MPK_RELAY_INVOKE_PACKED] = { 0, NONE, 3, decode_invoke_packed },
	[MPK_RELAY_ALLOC_TENSOR] = { 2, 6, NONE, decode_alloc_tensor },
	[MPK_RELAY_ALLOC_TENSOR_REG] = { 3, 6, NONE, decode_alloc_tensor_reg },
	[MPK_RELAY_ALLOC_ADT] = { 0, 2, 3, decode_alloc_adt },
	[MPK_RELAY_ALLOC_CLOSURE] = { 0, 2, 3, decode_function_index },
	[MPK_RELAY_GET_FIELD] = { 1, 2, NONE, decode_get_field },
	[MPK_RELAY_IF] = { 2, NONE, NONE, decode_if },
	[MPK_RELAY_LOAD_CONST] = { 0, NONE, NONE, decode_load_const },
	[MPK_RELAY_GOTO] = { 0, NONE, NONE, decode_goto },
	[MPK_RELAY_GET_TAG] = { 1, 1, NONE, NULL },
	[MPK_RELAY_LOAD_CONSTI] = { 0, 1, NONE, decode_load_consti },
	[MPK_RELAY_FATAL] = { 0, NONE, NONE, NULL },
	[MPK_RELAY_ALLOC_STORAGE] = { 0, NONE, NONE, decode_alloc_storage },
	[MPK_RELAY_SHAPE_OF] = { 1, 1, NONE, NULL },
	[MPK_RELAY_RESHAPE_TENSOR] = { 2, 2, NONE, NULL },
	[MPK_RELAY_DEVICE_COPY] = { 1, 3, NONE, decode_device_copy },
	[MPK_RELAY_KILL_REGISTER] = { 0, 0, NONE, NULL },
};

static enum mpk_code decode_instruction(struct decoder *d, struct mpk_relay_step *s)
{
	enum mpk_relay_op op = (enum mpk_relay_op)mpk_relay_word(d->instr, 0);

	s->op = op;
	for (int8_t i = 0; i < layouts[op].reads; i++)
		s->reg[i] = reg(d, (size_t)i);
	if (layouts[op].dst != NONE)
		s->dst = reg(d, (size_t)layouts[op].dst);
	if (layouts[op].list != NONE) {
		/* Checks the registers from field `from` to the last. */
		size_t from = (size_t)layouts[op].list;

		s->first = d->register_count;
		s->count = (uint32_t)(field_count(d) - from);
		for (size_t i = from; i < field_count(d); i++)
			d->p->registers[d->register_count++] = reg(d, i);
	}
	return layouts[op].rest ? layouts[op].rest(d, s) : MPK_OK;
}

/* --- functions ----------------------------------------------------------------------------- */

/* Refuses a register count above what instructions and arguments can address: it comes from a
 * damaged file and would only waste memory. */
static enum mpk_code check_registers(const struct decoder *d)
{
	uint64_t most = d->f->params.count + 4096;

	for (size_t i = 0; i < d->f->instr_count; i++)
		most += d->f->instrs[i].count;
	if (d->f->register_file_size <= most)
		return MPK_OK;
	return mpk_fail(d->err, MPK_E_CORRUPT, "function \"%s\" has %" PRIu64 " registers",
			MPK_QUOTE(d->f->info.items[0]), d->f->register_file_size);
}

static enum mpk_code decode_function(struct decoder *d, struct mpk_relay_callee *c)
{
	MPK_TRY(check_registers(d));
	c->name = mpk_arena_text(&d->p->base.arena, d->f->info.items[0]);
	MPK_TRY_ALLOC(c->name, d->err);
	c->start = d->start;
	c->end = d->start + (uint32_t)d->f->instr_count;
	c->register_count = (uint32_t)d->f->register_file_size;
	c->params = d->f->params;
	MPK_TRY(places_of(d, d->f->param_devices, c->params.count, "parameters", &c->param_places));
	/* the step of an instruction is the function's start plus the instruction's index, so jumps need
	 * only an addition */
	for (d->at = 0; d->at < d->f->instr_count; d->at++) {
		d->instr = &d->f->instrs[d->at];
		MPK_TRY(decode_instruction(d, &d->p->steps[d->start + d->at]));
	}

	/* Checks the last instruction: a function without an end would run on into the next one. */
	size_t count = d->f->instr_count;
	enum mpk_relay_op last = count ? d->p->steps[d->start + count - 1].op : MPK_RELAY_OPS;

	if (last == MPK_RELAY_RET || last == MPK_RELAY_GOTO || last == MPK_RELAY_IF ||
	    last == MPK_RELAY_FATAL)
		return MPK_OK;
	return mpk_fail(d->err, MPK_E_CORRUPT, "function \"%s\" does not end in a return",
			MPK_QUOTE(d->f->info.items[0]));
}

/* --- the program ---------------------------------------------------------------------------- */

/* The order matters: decoding relies on the checks of mpk_relay_check. */
static enum mpk_code load_program(struct mpk_program *base, struct mpk_node_module *node,
				  struct mpk_error *err)
{
	struct mpk_relay_program *p = (struct mpk_relay_program *)base;
	struct mpk_payload payload;

	MPK_TRY(mpk_node_payload(node, &p->base.arena, &payload, err));
	p->x = payload.u.relay;
	MPK_TRY(mpk_relay_check(&p->x, err));
	MPK_TRY(mpk_relay_signatures(&p->x, &p->base.arena, &p->signatures, err));

	struct decoder d = { .p = p, .err = err };

	/* Upper bound for the lists: each word of an instruction is at most one element. */
	uint64_t steps = 0, words = 0;

	for (size_t i = 0; i < p->x.func_count; i++) {
		steps += p->x.funcs[i].instr_count;
		for (size_t k = 0; k < p->x.funcs[i].instr_count; k++)
			words += p->x.funcs[i].instrs[k].count;
	}
	/* steps have 32-bit indexes */
	if (words + p->x.const_count > UINT32_MAX / 2)
		return mpk_fail(err, MPK_E_CORRUPT, "byte code of %" PRIu64 " words", words);
	p->callee_count = p->x.func_count;
	p->step_count = (size_t)steps;
	p->callees = mpk_arena_array(&p->base.arena, p->callee_count + 1, sizeof *p->callees);
	p->steps = mpk_arena_array(&p->base.arena, p->step_count + 1, sizeof *p->steps);
	p->registers = mpk_arena_array(&p->base.arena, (size_t)words + 1, sizeof *p->registers);
	p->extents = mpk_arena_array(&p->base.arena, (size_t)words + 1, sizeof *p->extents);
	p->numbers = mpk_arena_array(&p->base.arena, p->step_count + 1, sizeof *p->numbers);
	MPK_TRY_ALLOC(p->callees && p->steps && p->registers && p->extents && p->numbers, err);

	MPK_TRY(decode_places(&d));
	for (size_t i = 0; i < p->callee_count; i++) {
		d.f = &p->x.funcs[i];
		MPK_TRY(decode_function(&d, &p->callees[i]));
		d.start = p->callees[i].end;
	}
	p->const_count = p->x.const_count + d.number_count;

	p->late =
		mpk_arena_array(&p->base.arena, p->x.const_count + 1, sizeof(struct mpk_tensor *));
	MPK_TRY_ALLOC(p->late, err);

	/* Kernels come only from imported modules: TVM does not look up global functions for them. */
	p->packed_count = p->x.primitives.count;
	MPK_TRY_ARRAY(p->packed, &p->base.arena, p->packed_count + 1, err);
	for (size_t i = 0; i < p->packed_count; i++) {
		struct mpk_module_search search = { 0 };
		const char *name = mpk_arena_text(&p->base.arena, p->x.primitives.items[i]);

		MPK_TRY_ALLOC(name, err);
		p->packed[i].name = p->x.primitives.items[i];
		MPK_TRY(mpk_module_find_import(&node->base, name, &p->packed[i].function, &search,
					       err));
	}
	return MPK_OK;
}

static void relay_vm_unload_program(struct mpk_program *base)
{
	struct mpk_relay_program *p = (struct mpk_relay_program *)base;

	for (size_t i = 0; p->packed && i < p->packed_count; i++)
		mpk_function_drop(p->packed[i].function);
	for (size_t i = 0; p->late && i < p->x.const_count; i++)
		mpk_tensor_drop(p->late[i]);
}

const struct mpk_model_kind mpk_relay_kind = {
	.program_bytes = sizeof(struct mpk_relay_program),
	.machine = &mpk_relay_machine_kind,
	.load = load_program,
	.unload = relay_vm_unload_program,
};
