#include "launch/launch.h"

#include <string.h>

#include "launch/gen.h"

/* Type indices and codes by value (FORMATS 5.1, 5.3); the last name stands for the rest. */
static const char *const ffi_names[] = {
	"None", "int", "bool", "float", "pointer", "dtype", "device", "DLTensor", "str",
	"bytes", "rvalue", "str", "bytes", "object",
};
static const char *const legacy_names[] = {
	"int", "unsigned int", "float", "pointer", "None", "dtype", "device", "DLTensor", "object",
	"module", "function", "str", "bytes", "NDArray", "rvalue", "bool", "object",
};

static const struct mpk_gen_abi abis[MPK_GENERATION_COUNT] = {
	[MPK_GEN_LEGACY] = { .legacy = true, .tensor_index = 13, .none = 4, .opaque = 3,
			     .boolean = 15, .real = 2, .type_names = legacy_names,
			     .type_name_count = MPK_ARRAY_COUNT(legacy_names) },
	[MPK_GEN_HYBRID] = { .tensor_index = 72, .tensor_header = 16, .opaque = 4, .integer = 1,
			     .boolean = 2, .real = 3, .type_names = ffi_names,
			     .type_name_count = MPK_ARRAY_COUNT(ffi_names) },
	[MPK_GEN_CURRENT] = { .tensor_index = 70, .tensor_header = 24, .opaque = 4, .integer = 1,
			      .boolean = 2, .real = 3, .type_names = ffi_names,
			      .type_name_count = MPK_ARRAY_COUNT(ffi_names) },
};

/* The runtime's functions that generated code calls. */
enum { F_CALL, F_RAISE, F_LOOKUP, F_LOOKUP_OLD, F_ALLOC, F_FREE, F_COUNT };

static const char *const runtime_names[MPK_GENERATION_COUNT][F_COUNT] = {
	[MPK_GEN_LEGACY] = { "TVMFuncCall", "TVMAPISetLastError", "TVMBackendGetFuncFromEnv", NULL,
			     "TVMBackendAllocWorkspace", "TVMBackendFreeWorkspace" },
	[MPK_GEN_HYBRID] = { "TVMFFIFunctionCall", "TVMFFIErrorSetRaisedFromCStr",
			     "TVMBackendGetFuncFromEnv", NULL, "TVMBackendAllocWorkspace",
			     "TVMBackendFreeWorkspace" },
	[MPK_GEN_CURRENT] = { "TVMFFIFunctionCall", "TVMFFIErrorSetRaisedFromCStr",
			      "TVMFFIEnvModLookupFromImports", "TVMBackendGetFuncFromEnv",
			      "TVMBackendAllocWorkspace", "TVMBackendFreeWorkspace" },
};

/* Everything the functions of one unit share. */
struct unit {
	struct mpk_arena *arena;
	struct mpk_host_global *globals;
	size_t global_count;
	const char *ctx, *names[F_COUNT], *device_slot;
	bool failed;
};

static const char *text(struct unit *u, const char *a, const char *b, const char *c)
{
	const char *t = mpk_arena_printf(u->arena, "%s%s%s", a, b, c);

	u->failed |= !t;
	return t ? t : "";
}

static void runtime_globals(struct unit *u, enum mpk_generation gen, bool system_lib,
			    const char *prefix)
{
	u->ctx = text(u, prefix, mpk_generation_get(gen)->ctx_symbol, "");
	u->globals[u->global_count++] = (struct mpk_host_global){ .name = u->ctx, .weak = true };
	for (unsigned i = 0; i < F_COUNT; i++) {
		const char *name = runtime_names[gen][i];

		if (!name || (system_lib && i == F_LOOKUP_OLD))
			continue;
		u->names[i] = system_lib ? text(u, "mpk_", name, "") : text(u, "__", name, "");
		u->globals[u->global_count++] = (struct mpk_host_global){
			.name = u->names[i], .weak = !system_lib,
			.function = system_lib ? name : NULL,
		};
	}
	u->device_slot = "mpk_set_device_slot";
	u->globals[u->global_count++] = (struct mpk_host_global){ .name = u->device_slot };
}

static const char *const *kernel_slots(struct unit *u, size_t function, size_t count)
{
	const char **slots = mpk_arena_array(u->arena, count ? count : 1, sizeof *slots);

	for (size_t i = 0; slots && i < count; i++) {
		slots[i] = mpk_arena_printf(u->arena, "mpk_kernel_slot_%zu_%zu", function, i);
		u->failed |= !slots[i];
		u->globals[u->global_count++] = (struct mpk_host_global){ .name = slots[i] };
	}
	u->failed |= !slots;
	return slots;
}

static int *numbers(struct mpk_gen *g, size_t count)
{
	int *n = mpk_arena_array(g->arena, count ? count : 1, sizeof *n);

	if (!n)
		g->f->failed = true;
	return n;
}

/* Raises what buf and kind hold. */
static void raise_error(struct mpk_gen *g)
{
	int kind = mpk_host_load(g->f, MPK_MEM_PTR, g->kind, 0);
	int raise = mpk_host_load(g->f, MPK_MEM_PTR, mpk_host_global(g->f, g->raise), 0);
	int absent = mpk_host_op2(g->f, MPK_OP_EQ, mpk_host_convert(g->f, MPK_OP_ADDRESS, raise),
				  mpk_host_const(g->f, 0));

	mpk_host_jump_if(g->f, absent, g->unwind_label);
	if (g->abi->legacy) { /* one text: "TypeError: ..." */
		int whole = mpk_host_slot(g->f, MPK_GEN_MESSAGE + 64);

		mpk_host_snprintf(g->f, whole, MPK_GEN_MESSAGE + 64, "%s: %s",
				  (int[]){ kind, g->buf }, "pp");
		(void)mpk_host_call(g->f, raise, 'v', "p", &whole);
	} else {
		(void)mpk_host_call(g->f, raise, 'v', "pp", (int[]){ kind, g->buf });
	}
}

static void open_function(struct mpk_gen *g)
{
	const struct mpk_launch *l = g->launch;

	g->args = mpk_host_arg(g->f, g->abi->legacy ? 0 : 1, MPK_HOST_PTR);
	if (g->abi->legacy)
		g->codes = mpk_host_arg(g->f, 1, MPK_HOST_PTR);
	g->buf = mpk_host_slot(g->f, MPK_GEN_MESSAGE);
	g->kind = mpk_host_slot(g->f, 16);
	g->raise_label = mpk_host_label(g->f);
	g->unwind_label = mpk_host_label(g->f);
	g->dl = numbers(g, l->param_count);
	g->data = numbers(g, l->param_count);
	g->scalar = numbers(g, l->param_count);
	g->vars = numbers(g, l->var_count);
	g->temps = numbers(g, l->temp_count);
	for (size_t i = 0; g->temps && i < l->temp_count; i++)
		g->temps[i] = mpk_host_slot(g->f, 16);
}

static void close_function(struct mpk_gen *g)
{
	mpk_gen_release_temps(g);
	mpk_host_return(g->f, 0);
	mpk_host_place(g->f, g->raise_label);
	raise_error(g);
	mpk_host_place(g->f, g->unwind_label);
	mpk_gen_release_temps(g);
	mpk_host_return(g->f, -1);
}

static void build_function(struct unit *u, const struct mpk_launch *l, size_t index,
			   const char *prefix, struct mpk_hostfn *f)
{
	struct mpk_gen g = {
		.f = f, .launch = l, .abi = &abis[l->gen], .arena = u->arena, .ctx = u->ctx,
		.lookup = u->names[F_LOOKUP], .lookup_old = u->names[F_LOOKUP_OLD],
		.call = u->names[F_CALL], .raise = u->names[F_RAISE], .alloc = u->names[F_ALLOC],
		.free = u->names[F_FREE], .device_slot = u->device_slot, .codes = -1,
		.kernel_slots = kernel_slots(u, index, l->step_count),
	};

	*f = (struct mpk_hostfn){
		.arena = u->arena,
		.symbol = text(u, mpk_generation_get(l->gen)->function_prefix, prefix, l->name),
		.params = g.abi->legacy ? "PPiPPP" : "PPiP",
	};
	if (u->failed)
		return;
	open_function(&g);
	if (f->failed)
		return;
	mpk_gen_arguments(&g);
	mpk_gen_steps(&g);
	close_function(&g);
	u->failed |= f->failed;
}

enum mpk_code mpk_launch_build(const struct mpk_launch *launches, size_t count, bool system_lib,
			       const char *prefix, struct mpk_arena *arena,
			       struct mpk_host_unit *out, struct mpk_error *err)
{
	struct mpk_hostfn *functions = mpk_arena_array(arena, count ? count : 1, sizeof *functions);
	struct unit u = { .arena = arena };
	size_t globals = F_COUNT + 2;

	for (size_t i = 0; i < count; i++)
		globals += launches[i].step_count;
	u.globals = mpk_arena_array(arena, globals, sizeof *u.globals);
	if (!functions || !u.globals)
		return mpk_fail_nomem(err);
	if (count)
		runtime_globals(&u, launches[0].gen, system_lib, prefix);
	for (size_t i = 0; i < count; i++)
		build_function(&u, &launches[i], i, prefix, &functions[i]);
	if (u.failed)
		return mpk_fail_nomem(err);
	*out = (struct mpk_host_unit){
		.functions = functions, .function_count = count, .globals = u.globals,
		.global_count = u.global_count, .source_name = "launch.c",
		.register_function = system_lib && count
			? mpk_generation_get(launches[0].gen)->register_symbol : NULL,
	};
	return MPK_OK;
}
