/* SPDX-License-Identifier: Apache-2.0 */
/* Byte code of the Relay VM that is loaded and run, with kernels that read all they are given and write
 * their last tensor.
 *
 * Each instruction of a file has a hash, which no changed byte survives. So the input is not a file but
 * what a program is put together from: opcodes, registers, numbers. */
#include <stdio.h>
#include <string.h>

#include "../unit/payload_write.h"
#include "abi/internal/layout.h"
#include "executor/executor.h"
#include "executor/relay/internal/relay.h"
#include "payload.h"
#include "relayvm/relayvm.h"
#include "runtime.h"
#include "runtime/library.h"

enum { STEPS = 200, BYTES_MAX = 1 << 16, FUNCS = 3, INSTRS = 40, FIELDS = 24 };

/* --- kernels ------------------------------------------------------------------------------- */

static volatile uint8_t sink;

static int touch(union mpk_tvm_value *args, int *codes, int count, union mpk_tvm_value *result,
		 int *result_code, void *resource)
{
	(void)codes, (void)result, (void)result_code, (void)resource;
	for (int i = 0; i < count; i++) {
		const struct mpk_dltensor *t = args[i].v_handle;
		uint8_t *data = mpk_dltensor_data(t);
		uint64_t bytes;

		FUZZ_REQUIRE(mpk_tensor_bytes_of(t->dtype, t->shape, (size_t)t->ndim, &bytes,
						 NULL) == MPK_OK);
		for (uint64_t k = 0; k < bytes && bytes <= BYTES_MAX; k++)
			sink ^= data[k];
		if (i + 1 == count && bytes && bytes <= BYTES_MAX)
			memset(data, 1, (size_t)bytes);
	}
	return 0;
}

static void destroy(struct mpk_function *self)
{
	free(self);
}

static bool accepts(struct mpk_span kind)
{
	return mpk_span_is(kind, "fuzz.kernels");
}

static enum mpk_code open_node(struct mpk_node_module *node, struct mpk_error *err)
{
	(void)node;
	(void)err;
	return MPK_OK;
}

static enum mpk_code find(struct mpk_node_module *node, const char *name, struct mpk_function **out,
			  struct mpk_error *err)
{
	struct mpk_function *f;

	(void)node;
	*out = NULL;
	if (strcmp(name, "touch") != 0)
		return MPK_OK;
	f = calloc(1, sizeof *f);
	if (!f)
		return mpk_fail_nomem(err);
	*f = (struct mpk_function){ .refs = 1,
				    .name = "touch",
				    .destroy = destroy,
				    .address = (void *)(uintptr_t)touch,
				    .convention = MPK_CONV_LEGACY };
	*out = f;
	return MPK_OK;
}

static const struct mpk_loader kernels = { .accepts = accepts, .open = open_node, .find = find };

/* --- a program ----------------------------------------------------------------------------- */

struct input {
	const uint8_t *data;
	size_t size;
};

static uint8_t next(struct input *in)
{
	if (!in->size)
		return 0;
	in->size--;
	return *in->data++;
}

/* What does harm, where a program may be broken anywhere. */
static int64_t harm(struct input *in)
{
	static const int64_t special[] = {
		64, 128, 4096, INT32_MAX, INT64_MAX, INT64_MIN, INT64_C(1) << 32, INT64_C(1) << 40
	};
	uint8_t byte = next(in);

	return byte < 240 ? (int8_t)byte : special[byte % 8];
}

struct program {
	bool wild; /* any field may be anything: most such programs are refused */
	enum mpk_relay_layout layout;
	size_t param_counts[FUNCS];
	int64_t words[FUNCS][INSTRS][FIELDS];
	struct mpk_relay_instr instrs[FUNCS][INSTRS];
	struct mpk_span info[FUNCS][3];
	struct mpk_relay_func funcs[FUNCS];
	char counts[FUNCS][8];
};

static const char *const names[] = { "main", "g", "h" };
static const struct mpk_span params[] = { { (const uint8_t *)"x", 1 },
					  { (const uint8_t *)"y", 1 } };
static const int64_t on_first[8] = { 0 }, on_cpu[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };

/* A field that names something names something that is there; left is the number of instructions
 * behind this one. */
static int64_t sound_field(struct input *in, char letter, int64_t left)
{
	switch (letter) {
	case 'f':
		return next(in) % FUNCS;
	case 'p':
		return next(in) & 15 ? 0 : 1; /* the other is missing */
	case 'c':
		return next(in) % 4;
	case 'j':
		return next(in) & 7 || left < 2 ? 1 : 1 + next(in) % left;
	default:
		return next(in) % 16;
	}
}

static void make_type(struct input *in, int64_t *words)
{
	words[0] = next(in) % 3;
	words[1] = 8 << next(in) % 4;
	words[2] = 1;
}

/* What goes together in an instruction, where it is to be sound. */
static void mend(struct input *in, const struct program *p, int64_t *words)
{
	int64_t device = p->layout == MPK_RELAY_08 ? 1 : next(in) & 1;

	switch (words[0]) {
	case MPK_RELAY_INVOKE:
		words[2] = (int64_t)p->param_counts[words[1]];
		break;
	case MPK_RELAY_ALLOC_CLOSURE:
		words[2] = next(in) % (int64_t)(p->param_counts[words[1]] + 1);
		break;
	case MPK_RELAY_INVOKE_PACKED:
		words[3] = next(in) % (words[2] + 1);
		break;
	case MPK_RELAY_DEVICE_COPY:
		words[2] = device;
		words[3] = p->layout == MPK_RELAY_08 ? 1 : next(in) & 1;
		break;
	case MPK_RELAY_ALLOC_STORAGE:
		words[6] = device;
		make_type(in, &words[3]);
		break;
	case MPK_RELAY_ALLOC_TENSOR:
		make_type(in, &words[3]);
		break;
	case MPK_RELAY_ALLOC_TENSOR_REG:
		make_type(in, &words[4]);
		break;
	default:
		break;
	}
}

/* An instruction with as many fields as its opcode has. */
static size_t make_instr(struct input *in, const struct program *p, int64_t left, int64_t *words)
{
	const struct mpk_relay_shape *shape;
	size_t count = 1;
	const char *n;

	words[0] = next(in) % MPK_RELAY_OPS;
	shape = mpk_relay_shape(words[0], p->layout);
	for (const char *f = shape->fields; *f; f++)
		words[count++] = p->wild && *f != 'n' ? harm(in)
				 : *f == 'n'          ? next(in) % 7
						      : sound_field(in, *f, left);
	if (words[0] == MPK_RELAY_LOAD_CONSTI)
		words[1] = harm(in);
	if (!p->wild)
		mend(in, p, words);
	n = strchr(shape->fields, 'n');
	for (int64_t i = 0; n && i < words[1 + (n - shape->fields)]; i++)
		words[count++] = p->wild ? harm(in) : next(in) % 16;
	return count;
}

static void make_function(struct input *in, struct program *p, size_t f)
{
	size_t count = next(in) % (INSTRS - 1);

	for (size_t i = 0; i < count; i++) {
		size_t words = make_instr(in, p, (int64_t)(count - i), p->words[f][i]);

		p->instrs[f][i] =
			(struct mpk_relay_instr){ (const uint8_t *)p->words[f][i], words };
	}
	p->words[f][count][0] = MPK_RELAY_RET;
	p->words[f][count][1] = next(in) % 16;
	p->instrs[f][count] = (struct mpk_relay_instr){ (const uint8_t *)p->words[f][count], 2 };
	(void)snprintf(p->counts[f], sizeof p->counts[f], "%zu", count + 1);
	p->info[f][0] = mpk_span_str(names[f]);
	p->info[f][1] = mpk_span_str("16");
	p->info[f][2] = mpk_span_str(p->counts[f]);
	p->funcs[f] = (struct mpk_relay_func){
		.info = { p->info[f], 3 },
		.params = { params, p->param_counts[f] },
		.param_devices = mpk_span_of(p->layout == MPK_RELAY_08 ? on_cpu : on_first,
					     8 * p->param_counts[f]),
		.instrs = p->instrs[f],
		.instr_count = count + 1,
		.register_file_size = 16,
	};
}

static void make_program(struct input *in, struct program *p)
{
	p->wild = next(in) % 4 == 0;
	p->layout = (enum mpk_relay_layout)(next(in) % MPK_RELAY_LAYOUTS);
	for (size_t f = 0; f < FUNCS; f++)
		p->param_counts[f] = next(in) % 3;
	for (size_t f = 0; f < FUNCS; f++)
		make_function(in, p, f);
}

static struct mpk_span encode(const struct program *p, struct mpk_arena *arena)
{
	static const struct mpk_relay_device devices[] = { { .type = MPK_DL_CPU },
							   { .type = MPK_DL_CPU } };
	static const int64_t two = 2, shape[] = { 2, 3 }, bytes = 64;
	static const float six[6] = { 0, 1, 2, 3, 4, 5 };
	static const struct mpk_dtype i64 = { MPK_DTYPE_INT, 64, 1 },
				      f32 = { MPK_DTYPE_FLOAT, 32, 1 };
	static const char *const versions[] = { "0.8.0", "0.9.0", "0.18.0" };
	const struct mpk_relay_const consts[] = {
		{ .tensor = { .dtype = i64,
			      .shape = &two,
			      .ndim = 1,
			      .data = { (const void *)shape, 16 } } },
		{ .tensor = { .dtype = i64, .data = { (const void *)&bytes, 8 } } },
		{ .tensor = { .dtype = f32,
			      .shape = shape,
			      .ndim = 2,
			      .data = { (const void *)six, 24 } } },
		{ .late_bound = p->layout != MPK_RELAY_08,
		  .name = mpk_span_str("late"),
		  .tensor = { .dtype = i64, .data = { (const void *)&bytes, 8 } } },
	};
	const struct mpk_span globals[] = { p->info[0][0], p->info[1][0], p->info[2][0] };
	const struct mpk_span packed[] = { mpk_span_str("touch"), mpk_span_str("missing") };
	const struct mpk_relay x = {
		.layout = p->layout,
		.version = mpk_span_str(versions[p->layout]),
		.devices = devices,
		.device_count = 2,
		.globals = { globals, FUNCS },
		.consts = consts,
		.const_count = 4,
		.const_devices = mpk_span_of(p->layout == MPK_RELAY_08 ? on_cpu : on_first, 32),
		.primitives = { packed, 2 },
		.funcs = p->funcs,
		.func_count = FUNCS,
	};
	struct mpk_rope rope = mpk_rope_of(arena);
	struct mpk_span flat;

	relay_write(&rope, &x);
	FUZZ_REQUIRE(mpk_rope_flat(&rope, &flat, NULL) == MPK_OK);
	return flat;
}

/* --- a run --------------------------------------------------------------------------------- */

static struct mpk_value tensor(struct mpk_dtype dtype, const int64_t *shape, size_t ndim)
{
	struct mpk_tensor *t;

	FUZZ_REQUIRE(mpk_tensor_create(dtype, shape, ndim, MPK_STORAGE_PRIVATE, &t, NULL) ==
		     MPK_OK);
	return mpk_value_of_tensor(t);
}

/* Three times: as byte code, recorded, by its plan. */
static void run(struct mpk_function *f, size_t count)
{
	static const int64_t shape[] = { 2, 3 };
	struct mpk_value args[2] = { tensor((struct mpk_dtype){ MPK_DTYPE_FLOAT, 32, 1 }, shape,
					    2) };

	FUZZ_REQUIRE(mpk_value_of_array(2, &args[1], NULL) == MPK_OK);
	args[1].array->tag = 5;
	args[1].array->items[0] = mpk_value_hold(args[0]);
	args[1].array->items[1] = tensor((struct mpk_dtype){ MPK_DTYPE_INT, 64, 1 }, NULL, 0);
	for (int i = 0; i < 3; i++) {
		struct mpk_value result = { 0 };
		struct mpk_error err;

		if (mpk_function_call(f, &(struct mpk_args){ args, NULL, count }, &result, &err) ==
		    MPK_OK)
			mpk_value_drop(&result);
	}
	mpk_value_drop(&args[0]);
	mpk_value_drop(&args[1]);
}

static void run_all(struct mpk_module *root, const struct program *p)
{
	struct mpk_node_module *node = (struct mpk_node_module *)root;

	for (size_t i = 0; i < FUNCS; i++) {
		struct mpk_module_search search = { 0 };
		struct mpk_function *f;
		struct mpk_error err;

		FUZZ_REQUIRE(mpk_module_find(root, names[i], &f, &search, &err) == MPK_OK);
		if (!f)
			continue;
		((struct mpk_relay_vm *)mpk_node_machine(node))->step_limit = STEPS;
		run(f, p->param_counts[i]);
		if (p->wild) /* refused */
			run(f, (p->param_counts[i] + 1) % 3);
		mpk_function_drop(f);
	}
}

static void bind(struct mpk_module *root)
{
	struct mpk_value late = tensor((struct mpk_dtype){ MPK_DTYPE_INT, 64, 1 }, NULL, 0);
	struct mpk_relay_binding binding = { mpk_span_str("late"), late.tensor };
	struct mpk_error err;

	(void)!mpk_relay_bind(root, &binding, 1, &err);
	mpk_value_drop(&late);
}

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	static struct program p;
	struct input in = { bytes.data, bytes.len };
	size_t child = 1;
	bool binds = next(&in) & 1;

	make_program(&in, &p);
	struct mpk_node nodes[] = {
		{ .kind = mpk_span_str("VMExecutable"),
		  .payload = encode(&p, arena),
		  .children = &child,
		  .child_count = 1 },
		{ .kind = mpk_span_str("fuzz.kernels") },
	};
	struct mpk_tree tree = { .gen = MPK_GEN_LEGACY, .nodes = nodes, .count = 2 };
	struct mpk_host_code code = { .tree = &tree, .convention = MPK_CONV_LEGACY };
	struct mpk_module *root, *context;
	struct mpk_host *host;

	FUZZ_REQUIRE(mpk_host_create(fuzz_runtime(&kernels), &code, &host, NULL) == MPK_OK);
	FUZZ_REQUIRE(mpk_node_modules(host, &root, &context, NULL) == MPK_OK);
	mpk_host_drop(host);
	if (binds)
		bind(root);
	run_all(root, &p);
	mpk_module_drop(root);
}
