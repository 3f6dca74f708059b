/* SPDX-License-Identifier: Apache-2.0 */
/* relay_made.h - executables of the Relay VM, written by hand
 *
 * A program is put together as the compiler would (functions, constants, instructions), encoded and
 * loaded like the payload of a file. Its kernels are functions of the test.
 */
#ifndef MPK_TESTS_UNIT_RELAY_MADE_H
#define MPK_TESTS_UNIT_RELAY_MADE_H

#include <endian.h>

#include "base/native.h"
#include "executor/executor.h"
#include "executor/relay/internal/relay.h"
#include "model_made.h"
#include "payload_write.h"
#include "relayvm/relayvm.h"

enum { FUNCS_MAX = 12, INSTRS_MAX = 256, WORDS_MAX = 2048, CONSTS_MAX = 32, PARAMS_MAX = 8 };

/* A program while it is written. Initialise with program_init. */
struct program {
	enum mpk_relay_layout layout;
	struct mpk_relay_func funcs[FUNCS_MAX];
	struct mpk_span info[FUNCS_MAX][3], params[FUNCS_MAX][PARAMS_MAX], globals[FUNCS_MAX];
	int64_t param_devices[FUNCS_MAX][PARAMS_MAX];
	char numbers[FUNCS_MAX][2][24];
	size_t func_count;
	struct mpk_relay_instr instrs[INSTRS_MAX];
	size_t instr_count;
	int64_t words[WORDS_MAX]; /* words as in a file: little-endian */
	size_t word_count;
	struct mpk_relay_const consts[CONSTS_MAX];
	int64_t const_devices[CONSTS_MAX], const_shapes[CONSTS_MAX][4];
	float const_floats[CONSTS_MAX][64];
	int64_t const_numbers[CONSTS_MAX];
	size_t const_count;
	struct mpk_relay_device devices[4];
	size_t device_count;
	struct mpk_span packed[INSTRS_MAX];
	size_t packed_count;
};

static const struct mpk_dtype f32 = { MPK_DTYPE_FLOAT, 32, 1 };
static const struct mpk_dtype i64 = { MPK_DTYPE_INT, 64, 1 };
static const struct mpk_dtype i32 = { MPK_DTYPE_INT, 32, 1 };

/* An empty program of a layout, on one device, the CPU. */
HARNESS_FN void program_init(struct program *p, enum mpk_relay_layout layout)
{
	memset(p, 0, sizeof *p);
	p->layout = layout;
	p->devices[p->device_count++] = (struct mpk_relay_device){ .type = MPK_DL_CPU };
}

/* What a device field holds: an index, or in 0.8 a type. */
HARNESS_FN int64_t device_field(const struct program *p, size_t device)
{
	return p->layout == MPK_RELAY_08 ? p->devices[device].type : (int64_t)device;
}

/* A function whose parameters are the words of params; instructions put from now on belong to it. */
HARNESS_FN int64_t function(struct program *p, const char *name, int registers, const char *params)
{
	size_t i = p->func_count++;
	struct mpk_relay_func *f = &p->funcs[i];

	(void)snprintf(p->numbers[i][0], 24, "%d", registers);
	p->info[i][0] = mpk_span_str(name);
	p->info[i][1] = mpk_span_str(p->numbers[i][0]);
	p->globals[i] = p->info[i][0];
	f->info = (struct mpk_strs){ p->info[i], 3 };
	f->register_file_size = (uint64_t)registers;
	f->instrs = &p->instrs[p->instr_count];
	for (const char *at = params + strspn(params, " "); *at; at += strspn(at, " ")) {
		p->param_devices[i][f->params.count] = device_field(p, 0);
		p->params[i][f->params.count++] = mpk_span_of(at, strcspn(at, " "));
		at += strcspn(at, " ");
	}
	f->params.items = p->params[i];
	f->param_devices = mpk_span_of(p->param_devices[i], f->params.count * 8);
	return (int64_t)i;
}

HARNESS_FN void put_instr(struct program *p, const int64_t *words, size_t count)
{
	struct mpk_relay_func *f = &p->funcs[p->func_count - 1];

	ck_assert_uint_le(p->word_count + count, WORDS_MAX);
	for (size_t i = 0; i < count; i++)
		p->words[p->word_count + i] = (int64_t)htole64((uint64_t)words[i]);
	p->instrs[p->instr_count++] =
		(struct mpk_relay_instr){ (const uint8_t *)&p->words[p->word_count], count };
	p->word_count += count;
	f->instr_count++;
}

#define OP(p, ...)                                                                                 \
	put_instr(p, (const int64_t[]){ __VA_ARGS__ }, sizeof((const int64_t[]){ __VA_ARGS__ }) / 8)
#define MOVE(p, from, dst) OP(p, MPK_RELAY_MOVE, from, dst)
#define RET(p, reg) OP(p, MPK_RELAY_RET, reg)
#define KILL(p, reg) OP(p, MPK_RELAY_KILL_REGISTER, reg)
#define GOTO(p, offset) OP(p, MPK_RELAY_GOTO, offset)
#define IF(p, test, target, yes, no) OP(p, MPK_RELAY_IF, test, target, yes, no)
#define CONSTI(p, value, dst) OP(p, MPK_RELAY_LOAD_CONSTI, value, dst)

HARNESS_FN int64_t packed(struct program *p, const char *name)
{
	for (size_t i = 0; i < p->packed_count; i++)
		if (mpk_span_is(p->packed[i], name))
			return (int64_t)i;
	p->packed[p->packed_count] = mpk_span_str(name);
	return (int64_t)p->packed_count++;
}

/* Constants on the first device. */
HARNESS_FN int64_t float_const(struct program *p, int64_t count, float first)
{
	size_t i = p->const_count++;

	for (int64_t k = 0; k < count; k++)
		p->const_floats[i][k] = first + (float)k;
	p->const_shapes[i][0] = count;
	p->const_devices[i] = device_field(p, 0);
	p->consts[i].tensor =
		(struct mpk_tensor_record){ .dtype = f32,
					    .shape = p->const_shapes[i],
					    .ndim = 1,
					    .data = mpk_span_of(p->const_floats[i],
								(size_t)count * sizeof(float)) };
	return (int64_t)i;
}

HARNESS_FN int64_t number_const(struct program *p, int64_t value)
{
	size_t i = p->const_count++;

	p->const_numbers[i] = value;
	p->const_devices[i] = device_field(p, 0);
	p->consts[i].tensor = (struct mpk_tensor_record){
		.dtype = i64, .data = mpk_span_of(&p->const_numbers[i], sizeof value)
	};
	return (int64_t)i;
}

HARNESS_FN int64_t late_const(struct program *p, const char *name)
{
	size_t i = p->const_count++;

	p->const_devices[i] = device_field(p, 0);
	p->consts[i] = (struct mpk_relay_const){ .late_bound = true, .name = mpk_span_str(name) };
	return (int64_t)i;
}

HARNESS_FN void load(struct program *p, int64_t constant, int64_t dst)
{
	if (p->layout == MPK_RELAY_14)
		OP(p, MPK_RELAY_LOAD_CONST, constant, 0, dst);
	else
		OP(p, MPK_RELAY_LOAD_CONST, constant, dst);
}

/* A storage of as many bytes as register `size` says. */
HARNESS_FN void storage(struct program *p, int64_t size, int64_t dst)
{
	int64_t device = device_field(p, 0);

	if (p->layout == MPK_RELAY_14)
		OP(p, MPK_RELAY_ALLOC_STORAGE, size, 64, 2, 32, 1, device, 0, dst);
	else
		OP(p, MPK_RELAY_ALLOC_STORAGE, size, 64, 2, 32, 1, device, dst);
}

/* A tensor of count floats at byte 0 of a storage of its own; takes registers dst - 1 and dst. */
HARNESS_FN void floats(struct program *p, int64_t count, int64_t dst)
{
	int64_t device = device_field(p, 0);

	CONSTI(p, count * 4, dst);
	if (p->layout == MPK_RELAY_14) /* the size is what was in memory, as TVM writes it */
		OP(p, MPK_RELAY_ALLOC_STORAGE, 94489728812624, 64, 2, 32, 1, device, 1, dst - 1,
		   count);
	else
		storage(p, dst, dst - 1);
	CONSTI(p, 0, dst);
	OP(p, MPK_RELAY_ALLOC_TENSOR, dst - 1, dst, 2, 32, 1, 1, dst, count);
	if (p->layout != MPK_RELAY_08)
		KILL(p, dst - 1);
}

/* A call with one output, the last register. */
#define CALL(p, name, ...)                                                                         \
	OP(p, MPK_RELAY_INVOKE_PACKED, packed(p, name),                                            \
	   sizeof((const int64_t[]){ __VA_ARGS__ }) / 8, 1, __VA_ARGS__)

/* --- loading ------------------------------------------------------------------------------- */

/* Numbers of the test as a file has them: little-endian. */
HARNESS_FN struct mpk_span filed(struct mpk_arena *arena, struct mpk_span numbers, size_t each)
{
	uint8_t *copy = mpk_arena_alloc(arena, numbers.len + 1);

	ck_assert_ptr_nonnull(copy);
	if (numbers.len)
		memcpy(copy, numbers.data, numbers.len);
	mpk_native_from_little(copy, numbers.len, each);
	return mpk_span_of(copy, numbers.len);
}

HARNESS_FN struct mpk_span program_encode(struct program *p, uint8_t **out)
{
	static const char *const versions[] = { "0.8.0", "0.9.0", "0.18.0" };
	struct mpk_arena arena = { 0 };
	struct mpk_relay_const consts[CONSTS_MAX];
	struct mpk_relay_func funcs[FUNCS_MAX];
	struct mpk_relay x = {
		.layout = p->layout,
		.version = mpk_span_str(versions[p->layout]),
		.devices = p->devices,
		.device_count = p->device_count,
		.globals = { p->globals, p->func_count },
		.consts = consts,
		.const_count = p->const_count,
		.const_devices =
			filed(&arena, mpk_span_of(p->const_devices, p->const_count * 8), 8),
		.primitives = { p->packed, p->packed_count },
		.funcs = funcs,
		.func_count = p->func_count,
	};
	struct mpk_rope rope = mpk_rope_of(&arena);
	struct mpk_error err = { 0 };
	struct mpk_span flat;

	for (size_t i = 0; i < p->func_count; i++) {
		(void)snprintf(p->numbers[i][1], 24, "%zu", p->funcs[i].instr_count);
		p->info[i][2] = mpk_span_str(p->numbers[i][1]);
		funcs[i] = p->funcs[i];
		funcs[i].param_devices = filed(&arena, funcs[i].param_devices, 8);
	}
	for (size_t i = 0; i < p->const_count; i++) {
		struct mpk_tensor_record *t = &consts[i].tensor;

		consts[i] = p->consts[i];
		t->data = filed(&arena, t->data, mpk_dtype_number_bytes(t->dtype));
	}
	relay_write(&rope, &x);
	ck_assert_ok(mpk_rope_flat(&rope, &flat, &err), err);
	*out = malloc(flat.len);
	ck_assert_ptr_nonnull(*out);
	memcpy(*out, flat.data, flat.len);
	mpk_arena_fini(&arena);
	return mpk_span_of(*out, flat.len);
}

HARNESS_FN void model_open(struct model *m, struct program *p, const struct made_kernel *kernels)
{
	struct mpk_span payload = program_encode(p, &m->payload);

	model_open_payload(m, "VMExecutable", MPK_GEN_LEGACY, payload, kernels);
}

HARNESS_FN struct mpk_relay_vm *machine_of(const struct model *m)
{
	return (struct mpk_relay_vm *)mpk_node_machine((const struct mpk_node_module *)m->root);
}

/* --- values -------------------------------------------------------------------------------- */

HARNESS_FN struct mpk_value float_tensor(int64_t count, float first)
{
	struct mpk_tensor *t = NULL;
	struct mpk_error err = { 0 };

	ck_assert_ok(mpk_tensor_create(f32, &count, 1, MPK_STORAGE_PRIVATE, &t, &err), err);
	for (int64_t i = 0; i < count; i++)
		((float *)t->dl.data)[i] = first + (float)i;
	return mpk_value_of_tensor(t);
}

HARNESS_FN struct mpk_value number_tensor(int64_t value)
{
	struct mpk_tensor *t = NULL;
	struct mpk_error err = { 0 };

	ck_assert_ok(mpk_tensor_create(i64, NULL, 0, MPK_STORAGE_PRIVATE, &t, &err), err);
	*(int64_t *)t->dl.data = value;
	return mpk_value_of_tensor(t);
}

HARNESS_FN float float_at(const struct mpk_value *v, size_t i)
{
	ck_assert_int_eq(v->kind, MPK_VALUE_TENSOR);
	return ((const float *)mpk_dltensor_data(&v->tensor->dl))[i];
}

HARNESS_FN int64_t number_at(const struct mpk_value *v, size_t i)
{
	ck_assert_int_eq(v->kind, MPK_VALUE_TENSOR);
	return ((const int64_t *)mpk_dltensor_data(&v->tensor->dl))[i];
}

#endif
