/* SPDX-License-Identifier: Apache-2.0 */
/* build.c - launch functions as host code: their common parts, and the frame of each
 *
 * Everything that is passed is checked before anything is used: the count, each argument by
 * itself (gen_args.c), then shapes, which relate tensors to each other. gen_steps.c calls the
 * kernels; gen.c has expressions and the parts that both need. */
#include "launch/launch.h"

#include "base/strmap.h"
#include "dtype/type_index.h"
#include "launch/internal/gen.h"
#include "launch/standalone/names.h"

/* --- metadata --------------------------------------------------------------------- */

/* Python reads from __tvm_ffi__metadata_<function> what a launch function takes. */

static void host_return(struct mpk_gen *g, int32_t status)
{
	MPK_HOST_EFFECT(g->f, .op = MPK_OP_RETURN, .imm = status);
}

static void build_metadata_body(struct mpk_gen *g, const char *string_from_bytes)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf schema = { 0 };
	int failed = mpk_host_label(g->f), bytes, make, result, out;
	const char *text;

	mpk_gen_put_schema(g->launch, &schema);
	text = mpk_arena_copy(g->arena, mpk_strbuf_text(&schema), schema.len);
	if (schema.failed || !text) {
		g->f->failed = true;
		return;
	}
	out = mpk_host_arg(g->f, 3, MPK_HOST_PTR);
	bytes = mpk_host_slot(g->f, 16); /* TVMFFIByteArray */
	mpk_host_store(g->f, MPK_MEM_PTR, bytes, 0, mpk_host_text(g->f, text));
	mpk_host_store(g->f, MPK_MEM_I64, bytes, 8, mpk_host_const(g->f, (int64_t)schema.len));
	make = mpk_host_function(g->f, string_from_bytes);
	mpk_host_jump_if(g->f, mpk_gen_is_null(g, make), failed);
	result = mpk_host_call(g->f, make, 'i', "pp", (int[]){ bytes, out });
	mpk_host_jump_if(g->f, result, failed);
	host_return(g, 0);
	mpk_host_set_label(g->f, failed);
	host_return(g, -1);
}

/* Type indices and codes by value (tvm-blob(5), Conventions); the last name is for
 * all others. */
static const char *const ffi_names[] = { MPK_SA_FFI_NAMES };
static const char *const legacy_names[] = { MPK_SA_LEGACY_NAMES };

static const struct mpk_gen_abi abis[MPK_GENERATION_COUNT] = {
	[MPK_GEN_LEGACY] = { .legacy = true,
			     .tensor_index = MPK_TVM_NDARRAY,
			     .none = MPK_TVM_NULL,
			     .opaque = MPK_TVM_HANDLE,
			     .integer = MPK_TVM_INT,
			     .boolean = MPK_TVM_BOOL,
			     .real = MPK_TVM_FLOAT,
			     .type_names = legacy_names,
			     .type_name_count = MPK_ARRAY_COUNT(legacy_names) },
#define FFI(tensor, header)                                                                        \
	{ .tensor_index = (tensor),                                                                \
	  .tensor_header = (header),                                                               \
	  .none = MPK_FFI_NONE,                                                                    \
	  .opaque = MPK_FFI_OPAQUE,                                                                \
	  .integer = MPK_FFI_INT,                                                                  \
	  .boolean = MPK_FFI_BOOL,                                                                 \
	  .real = MPK_FFI_FLOAT,                                                                   \
	  .type_names = ffi_names,                                                                 \
	  .type_name_count = MPK_ARRAY_COUNT(ffi_names) }
	[MPK_GEN_HYBRID] = FFI(MPK_FFI021_TENSOR, 16),
	[MPK_GEN_CURRENT] = FFI(MPK_FFI_TENSOR, 24),
#undef FFI
};

/* The imported functions of the runtime; context pointers put "__" before the name. */
static const char *const runtime_names[MPK_GENERATION_COUNT][MPK_GEN_RUNTIME_COUNT] = {
	[MPK_GEN_LEGACY] = { "TVMFuncCall", "TVMAPISetLastError", "TVMBackendGetFuncFromEnv", NULL,
			     "TVMBackendAllocWorkspace", "TVMBackendFreeWorkspace" },
	[MPK_GEN_HYBRID] = { "TVMFFIFunctionCall", "TVMFFIErrorSetRaisedFromCStr",
			     "TVMBackendGetFuncFromEnv", NULL, "TVMBackendAllocWorkspace",
			     "TVMBackendFreeWorkspace" },
	[MPK_GEN_CURRENT] = { "TVMFFIFunctionCall", "TVMFFIErrorSetRaisedFromCStr",
			      "TVMFFIEnvModLookupFromImports", "TVMBackendGetFuncFromEnv",
			      "TVMBackendAllocWorkspace", "TVMBackendFreeWorkspace" },
};

/* makes a string; only metadata calls it */
static const char string_from_bytes[] = "TVMFFIStringFromByteArray";

/* State that the functions of one unit share. */
struct unit {
	struct mpk_arena *arena;
	enum mpk_launch_mode mode;
	const char *prefix;
	struct mpk_host_global *globals;
	struct mpk_host_extern *externs;
	size_t global_count, extern_count;
	const char *ctx, *device_slot;
	const char *const *names;
	struct mpk_strmap callees;
	bool failed;
};

static void unit_fini(struct unit *u)
{
	mpk_strmap_fini(&u->callees);
}

/* Joins three texts in the arena; "" when memory is out, which is noted. */
static const char *text(struct unit *u, const char *a, const char *b, const char *c)
{
	const char *t = mpk_arena_printf(u->arena, "%s%s%s", a, b, c);

	u->failed |= !t;
	return t ? t : "";
}

static void add_global(struct unit *u, const char *name, bool weak)
{
	u->globals[u->global_count++] = (struct mpk_host_global){ .name = name, .weak = weak };
}

/* Whether the runtime's function of this name is called: a pointer to it looks like a call to
 * anybody who inspects the library, and plain tvm-ffi has no workspace. */
static bool is_called(const struct mpk_launch *launches, size_t count, unsigned name)
{
	bool of_temps = name == MPK_GEN_ALLOC || name == MPK_GEN_FREE;

	for (size_t i = 0; i < count; i++)
		if (of_temps ? launches[i].temp_count > 0 : !launches[i].on_host)
			return true;
	return name == MPK_GEN_RAISE;
}

/* Declares what all functions of a unit share: the context, the globals that cache look-ups, and
 * the runtime's functions that they call. */
static void shared_names(struct unit *u, const struct mpk_launch *launches, size_t count)
{
	enum mpk_generation gen = launches[0].gen;
	bool imports = u->mode == MPK_LAUNCH_IMPORTS;
	const char **names = mpk_arena_array(u->arena, MPK_GEN_RUNTIME_COUNT, sizeof *names);

	if (!names) {
		u->failed = true;
		return;
	}
	u->names = names;
	u->device_slot = "mpk_set_device_slot";
	u->ctx = text(u, u->prefix, mpk_generation_get(gen)->ctx_symbol, "");
	add_global(u, u->ctx, true);
	add_global(u, u->device_slot, false);
	for (unsigned i = 0; i < MPK_GEN_RUNTIME_COUNT; i++) {
		const char *name = runtime_names[gen][i];

		/* A linked program has one release of TVM, so no older name. */
		if (!name || (i == MPK_GEN_LOOKUP_OLD && !imports) ||
		    !is_called(launches, count, i))
			continue;
		names[i] = name;
		/* Functions without temporaries run where there is no workspace. */
		bool optional = imports || i == MPK_GEN_ALLOC || i == MPK_GEN_FREE;
		u->externs[u->extern_count++] = (struct mpk_host_extern){
			.name = name, .link = optional ? MPK_HOST_WEAK : MPK_HOST_STRONG
		};
		if (imports)
			add_global(u, text(u, "__", name, ""), true);
	}
}

/* Lists the C functions that are called, each once. */
static void list_callees(struct unit *u, const struct mpk_launch *launches, size_t count)
{
	size_t ignored;

	for (size_t i = 0; i < count; i++) {
		for (size_t s = 0; s < launches[i].step_count; s++) {
			const struct mpk_launch_step *step = &launches[i].steps[s];
			int put = step->callee
					  ? mpk_strmap_put(&u->callees, mpk_span_str(step->kernel),
							   0, &ignored)
					  : 0;

			u->failed |= put < 0;
			if (put <= 0)
				continue;
			u->externs[u->extern_count++] = (struct mpk_host_extern){
				.name = step->kernel,
				.label = text(u, MPK_GEN_CALLEE, step->kernel, ""),
				.link = MPK_HOST_STRONG,
			};
		}
	}
}

/* Declares a global for the kernel of each step, so that a process looks it up by name once. */
static const char *const *kernel_slots(struct unit *u, size_t function, size_t count)
{
	const char **slots = mpk_arena_array(u->arena, count ? count : 1, sizeof *slots);

	for (size_t i = 0; slots && i < count; i++) {
		slots[i] = mpk_arena_printf(u->arena, "mpk_kernel_slot_%zu_%zu", function, i);
		u->failed |= !slots[i];
		add_global(u, slots[i], false);
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

/* Makes everything that both exits need before the first jump. */
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
	g->counts = numbers(g, l->param_count);
	for (size_t i = 0; g->temps && i < l->temp_count; i++)
		g->temps[i] = mpk_host_slot(g->f, 16);
}

static void release_temp(struct mpk_gen *g, int slot)
{
	int none = mpk_host_label(g->f);
	int p = mpk_host_load(g->f, MPK_MEM_PTR, slot, 0);
	/* From here on the slot keeps the device number, for both exits. */
	int id = mpk_host_load(g->f, MPK_MEM_I64, slot, 8);

	mpk_host_jump_if(g->f, mpk_gen_is_null(g, p), none);
	int type = mpk_host_const(g->f, g->launch->device_type);
	(void)mpk_host_call(g->f, mpk_gen_runtime(g, MPK_GEN_FREE), 'i', "iip",
			    (int[]){ type, id, p });
	mpk_host_set_label(g->f, none);
}

/* On both ways out. */
static void gen_release(struct mpk_gen *g)
{
	for (size_t i = g->launch->temp_count; i-- > 0;)
		release_temp(g, g->temps[i]);
}

static void check_shape(struct mpk_gen *g, size_t i, int dl)
{
	const struct mpk_launch_param *p = &g->launch->params[i];

	if (!g->launch->on_host) {
		int id = mpk_host_load(g->f, MPK_MEM_I32, dl, MPK_GEN_DL_DEVICE_ID);
		int good = mpk_host_op2(g->f, MPK_OP_EQ, id, g->device_id);

		mpk_gen_guard(g, good, "ValueError",
			      mpk_gen_format(
				      g, "%s: is on device %%lld, the first tensor on device %%lld",
				      mpk_gen_who(g, p)),
			      "ll", (int[]){ id, g->device_id });
	}
	for (size_t d = 0; d < p->rank; d++) {
		int extent = mpk_gen_extent(g, dl, d);
		int want = mpk_gen_expr(g, p->dims[d], p->dim_texts[d]);

		const char *name = p->dims[d]->op == MPK_EXPR_NUMBER
					   ? ""
					   : mpk_gen_literal(g, p->dim_texts[d]);

		mpk_gen_guard(g, mpk_host_op2(g->f, MPK_OP_EQ, extent, want), "ValueError",
			      mpk_gen_format(g, "%s: dimension %zu is %%lld, expected %s%s%%lld",
					     mpk_gen_who(g, p), d, name, *name ? " = " : ""),
			      "ll", (int[]){ extent, want });
	}
}

/* Returns the device number of the first tensor that is always present. */
static int device_of_first(struct mpk_gen *g)
{
	const struct mpk_launch *l = g->launch;

	for (size_t i = 0; i < l->param_count; i++)
		if (l->params[i].is_tensor && !l->params[i].optional)
			return mpk_host_load(g->f, MPK_MEM_I32, g->dl[i], MPK_GEN_DL_DEVICE_ID);
	return mpk_host_const(g->f, 0);
}

static void check_arguments(struct mpk_gen *g)
{
	/* --- arguments, and shapes that relate tensors to each other
	 * ------------------------------------ */
	int count = mpk_host_arg(g->f, 2, MPK_HOST_I64);
	const char *takes = mpk_gen_takes(g);

	mpk_gen_guard(g, mpk_gen_equals(g, count, (int64_t)g->launch->param_count), "TypeError",
		      takes, "l", &count);

	for (size_t i = 0; i < g->launch->param_count; i++)
		mpk_gen_argument(g, i);
	g->device_id = device_of_first(g);
	mpk_host_comment(g->f, "shapes");

	for (size_t i = 0; i < g->launch->var_count; i++) {
		const struct mpk_launch_var *v = &g->launch->vars[i];

		g->vars[i] = v->dim == SIZE_MAX ? g->scalar[v->param]
						: mpk_gen_extent(g, g->dl[v->param], v->dim);
	}

	for (size_t i = 0; i < g->launch->param_count; i++) {
		const struct mpk_launch_param *p = &g->launch->params[i];
		int absent = mpk_host_label(g->f), dl = g->dl[i];

		if (!p->is_tensor)
			continue;
		if (p->optional) {
			dl = mpk_host_load(g->f, MPK_MEM_PTR, dl, 0);
			mpk_host_jump_if(g->f, mpk_gen_is_null(g, dl), absent);
		}
		check_shape(g, i, dl);
		mpk_host_set_label(g->f, absent);
	}
}

static void build_function(struct unit *u, const struct mpk_launch *l, size_t index,
			   struct mpk_hostfn *f)
{
	struct mpk_gen g = {
		.f = f,
		.launch = l,
		.abi = &abis[l->gen],
		.arena = u->arena,
		.mode = u->mode,
		.ctx = u->ctx,
		.runtime = u->names,
		.device_slot = u->device_slot,
		.codes = -1,
		.kernel_slots = kernel_slots(u, index, l->step_count),
	};

	*f = (struct mpk_hostfn){
		.arena = u->arena,
		.symbol = text(u, mpk_generation_get(l->gen)->function_prefix, u->prefix, l->name),
		.params = g.abi->legacy ? "PPiPPP" : "PPiP",
	};
	if (u->failed)
		return;
	open_function(&g);
	if (f->failed)
		return;
	check_arguments(&g);
	mpk_gen_steps(&g);

	/* Two ways out. */
	gen_release(&g);
	host_return(&g, 0);
	mpk_host_set_label(g.f, g.raise_label);

	/* Raises the error in buf and kind. */
	int kind = mpk_host_load(g.f, MPK_MEM_PTR, g.kind, 0);
	int raise = mpk_gen_runtime(&g, MPK_GEN_RAISE);

	mpk_host_jump_if(g.f, mpk_gen_is_null(&g, raise), g.unwind_label);
	if (g.abi->legacy) { /* one text: "TypeError: ..." */
		int whole = mpk_host_slot(g.f, MPK_GEN_MESSAGE + 64);

		mpk_host_snprintf(g.f, whole, MPK_GEN_MESSAGE + 64, "%s: %s",
				  (int[]){ kind, g.buf }, "pp");
		(void)mpk_host_call(g.f, raise, 'v', "p", &whole);
	} else {
		(void)mpk_host_call(g.f, raise, 'v', "pp", (int[]){ kind, g.buf });
	}

	mpk_host_set_label(g.f, g.unwind_label);
	gen_release(&g);
	host_return(&g, -1);

	u->failed |= f->failed;
}

/* Only tvm-ffi libraries that are loaded have metadata; a linked program knows its own
 * functions. */
static bool has_metadata(const struct mpk_launch *l, enum mpk_launch_mode mode)
{
	return l->gen == MPK_GEN_CURRENT && mode != MPK_LAUNCH_SYSTEM_LIB;
}

/* A function of its own beside each launch function. */
static void build_metadata(struct unit *u, const struct mpk_launch *l, struct mpk_hostfn *f)
{
	struct mpk_gen g = { .f = f, .launch = l, .arena = u->arena, .mode = u->mode };

	*f = (struct mpk_hostfn){
		.arena = u->arena,
		.symbol = text(u, "__tvm_ffi__metadata_", u->prefix, l->name),
		.params = "PPiP",
	};
	if (!u->failed)
		build_metadata_body(&g, string_from_bytes);
	u->failed |= f->failed;
}

enum mpk_code mpk_launch_build(const struct mpk_launch *launches, size_t count,
			       enum mpk_launch_mode mode, const char *prefix,
			       struct mpk_arena *arena, struct mpk_host_unit *out,
			       struct mpk_error *err)
{
	struct mpk_hostfn *functions = mpk_arena_array(arena, 2 * count + 1, sizeof *functions);
	bool metadata = count && has_metadata(&launches[0], mode);
	MPK_CLEANUP(unit_fini) struct unit u = { .arena = arena, .mode = mode, .prefix = prefix };
	size_t globals = MPK_GEN_RUNTIME_COUNT + 2, externs = MPK_GEN_RUNTIME_COUNT + 1;

	for (size_t i = 0; i < count; i++) {
		globals += launches[i].step_count;
		externs += launches[i].step_count;
	}
	u.globals = mpk_arena_array(arena, globals, sizeof *u.globals);
	u.externs = mpk_arena_array(arena, externs, sizeof *u.externs);
	MPK_TRY_ALLOC(functions && u.globals && u.externs, err);
	if (count)
		shared_names(&u, launches, count);
	list_callees(&u, launches, count);
	for (size_t i = 0; !u.failed && i < count; i++)
		build_function(&u, &launches[i], i, &functions[i]);
	for (size_t i = 0; !u.failed && metadata && i < count; i++)
		build_metadata(&u, &launches[i], &functions[count + i]);
	if (metadata)
		u.externs[u.extern_count++] = (struct mpk_host_extern){ .name = string_from_bytes,
									.link = MPK_HOST_WEAK };
	if (u.failed)
		return mpk_fail_nomem(err);
	*out = (struct mpk_host_unit){
		.functions = functions,
		.function_count = metadata ? 2 * count : count,
		.globals = u.globals,
		.global_count = u.global_count,
		.externs = u.externs,
		.extern_count = u.extern_count,
		.source_name = "launch.c",
		.context = mode == MPK_LAUNCH_SYSTEM_LIB && count ? u.ctx : NULL,
		.register_function = mode == MPK_LAUNCH_SYSTEM_LIB && count
					     ? mpk_generation_get(launches[0].gen)->register_symbol
					     : NULL,
	};
	return MPK_OK;
}
