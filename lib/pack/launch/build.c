/* SPDX-License-Identifier: Apache-2.0 */
/* build.c - generates host code of launch functions: each function's frame, checks of shapes, and
 * kernel calls
 *
 * A function checks all arguments before it uses any: their number, each argument by itself
 * (gen.c), then the shapes, which relate tensors to each other. */
#include <inttypes.h>

#include "base/strmap.h"
#include "dtype/type_index.h"
#include "launch/internal/gen.h"
#include "launch/launch.h"
#include "launch/standalone/names.h"

/* --- Generated code that allocates temporaries, calls kernels and C functions, and handles their
 * results.
 *
 * After the first allocation, every failure leaves through one exit, which frees what was
 * allocated. */

/* --- calling what the environment provides --------------------------------------------- */

static int null_pointer(struct mpk_gen *g)
{
	return MPK_HOST_VALUE(g->f, .op = MPK_OP_NULL, .type = MPK_HOST_PTR);
}

/* Looks up a function by name among the imports, cached in a global, and leaves it in `slot`. A
 * failed look-up has raised its own error. */
static void look_up(struct mpk_gen *g, const char *cache, const char *name, int slot)
{
	int have = mpk_host_label(g->f), found = mpk_host_label(g->f);
	int address = mpk_host_global(g->f, cache);
	int cached = MPK_HOST_VALUE(g->f, .op = MPK_OP_ACQUIRE, .type = MPK_HOST_PTR, .a = address);
	int text = mpk_host_text(g->f, name);

	mpk_host_store(g->f, MPK_MEM_PTR, slot, 0, cached);
	mpk_host_jump_if(g->f, mpk_gen_equals(g, mpk_gen_is_null(g, cached), 0), have);

	int ctx = mpk_host_load(g->f, MPK_MEM_PTR, mpk_host_global(g->f, g->ctx), 0);
	int fn = mpk_gen_runtime(g, MPK_GEN_LOOKUP);
	if (g->runtime[MPK_GEN_LOOKUP_OLD]) { /* TVM 0.22 to 0.25 provide the older name */
		int old = mpk_gen_runtime(g, MPK_GEN_LOOKUP_OLD);
		fn = mpk_host_select(g->f, mpk_gen_is_null(g, fn), old, fn, MPK_HOST_PTR);
	}
	mpk_gen_guard(
		g, mpk_gen_equals(g, mpk_gen_is_null(g, fn), 0), "RuntimeError",
		mpk_gen_format(g, "%s: the loader provides no import look-up", g->launch->name), "",
		NULL);
	int rc = mpk_host_call(g->f, fn, 'i', "ppp", (int[]){ ctx, text, slot });
	mpk_host_jump_if(g->f, mpk_gen_equals(g, rc, 0), found);
	mpk_host_jump(g->f, g->unwind_label);
	mpk_host_set_label(g->f, found);
	/* Pairs with the acquire: other threads see the whole kernel that one thread looked up. */
	int whole = mpk_host_load(g->f, MPK_MEM_PTR, slot, 0);
	MPK_HOST_EFFECT(g->f, .op = MPK_OP_RELEASE, .a = address, .b = whole);
	mpk_host_set_label(g->f, have);
}

/* Packed arguments being collected for one call. */
struct packed {
	int args, codes, result, result_code;
	size_t count;
};

/* Reserves space for the arguments of one call, in the layout of the calling convention. */
static struct packed packed_begin(struct mpk_gen *g, size_t most)
{
	struct packed p = { .codes = -1, .result_code = -1 };

	p.args = mpk_host_slot(g->f, (g->abi->legacy ? 8 : 16) * (most ? most : 1));
	p.result = mpk_host_slot(g->f, 16);
	if (g->abi->legacy) {
		p.codes = mpk_host_slot(g->f, 4 * (most ? most : 1));
		p.result_code = mpk_host_slot(g->f, 16);
	}
	return p;
}

static void packed_add(struct mpk_gen *g, struct packed *p, int type, enum mpk_host_mem mem,
		       int value)
{
	int64_t at = (int64_t)p->count++;

	if (g->abi->legacy) {
		mpk_host_store(g->f, MPK_MEM_I32, p->codes, 4 * at, type);
		mpk_host_store(g->f, mem, p->args, 8 * at, value);
		return;
	}
	mpk_host_store(g->f, MPK_MEM_I32, p->args, 16 * at, type);
	mpk_host_store(g->f, MPK_MEM_I32, p->args, 16 * at + 4, mpk_host_const(g->f, 0));
	mpk_host_store(g->f, mem, p->args, 16 * at + 8, value);
}

static void packed_int(struct mpk_gen *g, struct packed *p, int value)
{
	packed_add(g, p, mpk_host_const(g->f, g->abi->integer), MPK_MEM_I64, value);
}

/* A failed call has already raised an error, so this code only leaves. */
static void packed_call(struct mpk_gen *g, const struct packed *p, int slot)
{
	int done = mpk_host_label(g->f);
	int fn = mpk_host_load(g->f, MPK_MEM_PTR, slot, 0), call = mpk_gen_runtime(g, MPK_GEN_CALL);
	int count = mpk_host_const(g->f, (int64_t)p->count), rc;

	mpk_gen_guard(g, mpk_gen_equals(g, mpk_gen_is_null(g, call), 0), "RuntimeError",
		      mpk_gen_format(g, "%s: the loader provides no way to call functions",
				     g->launch->name),
		      "", NULL);
	if (g->abi->legacy)
		rc = mpk_host_call(
			g->f, call, 'i', "pppipp",
			(int[]){ fn, p->args, p->codes, count, p->result, p->result_code });
	else
		rc = mpk_host_call(g->f, call, 'i', "ppip",
				   (int[]){ fn, p->args, count, p->result });
	mpk_host_jump_if(g->f, mpk_gen_equals(g, rc, 0), done);
	mpk_host_jump(g->f, g->unwind_label);
	mpk_host_set_label(g->f, done);
}

/* TVM's kernels launch on the thread's current device, which need not be the tensors' device. */
static void gen_steps_set_device(struct mpk_gen *g)
{
	int slot = mpk_host_slot(g->f, 16);
	struct packed p = packed_begin(g, 2);

	look_up(g, g->device_slot, "__tvm_set_device", slot);
	packed_int(g, &p, mpk_host_const(g->f, g->launch->device_type));
	packed_int(g, &p, g->device_id);
	packed_call(g, &p, slot);
}

/* --- temporaries -------------------------------------------------------------------------- */

/* Sizes come from the caller's shapes, so each product is checked. */
static int temp_bytes(struct mpk_gen *g, const struct mpk_launch_param *t)
{
	int bytes = mpk_host_const(g->f, (int64_t)mpk_dtype_bytes(t->dtype));
	int zero = mpk_host_const(g->f, 0);

	for (size_t d = 0; d < t->rank; d++) {
		int extent = mpk_gen_expr(g, t->dims[d], t->dim_texts[d]);

		mpk_gen_guard(g, mpk_host_op2(g->f, MPK_OP_LE, zero, extent), "ValueError",
			      mpk_gen_format(g, "%s: temporary '%.*s': dimension %zu is %%lld",
					     g->launch->name, MPK_SPAN_ARG(t->name), d),
			      "l", &extent);
		int wraps = mpk_host_op2(g->f, MPK_OP_MUL_OVER, bytes, extent);
		mpk_gen_guard(g, mpk_gen_equals(g, wraps, 0), "ValueError",
			      mpk_gen_format(g, "%s: temporary '%.*s' is too large",
					     g->launch->name, MPK_SPAN_ARG(t->name)),
			      "", NULL);
		bytes = mpk_host_op2(g->f, MPK_OP_MUL, bytes, extent);
	}
	return bytes;
}

/* --- kernels --------------------------------------------------------------------------------- */

/* The kernel's integer has fewer bits than the argument: a value that does not fit is refused,
 * never cut. */
static void narrow(struct mpk_gen *g, const struct mpk_launch_step *s,
		   const struct mpk_launch_arg *a, int value)
{
	char name[MPK_DTYPE_TEXT];
	int good = mpk_gen_fits(g, value, a->dtype);

	if (good >= 0)
		mpk_gen_guard(g, good, "ValueError",
			      mpk_gen_format(
				      g,
				      "%s: '%s' = %%lld does not fit the %s that kernel '%s' takes",
				      g->launch->name, mpk_gen_literal(g, a->text),
				      mpk_dtype_print(a->dtype, name),
				      mpk_gen_literal(g, mpk_span_str(s->kernel))),
			      "l", &value);
}

/* Passes a null pointer as None, so that its type says that nothing is there. */
static void add_pointer(struct mpk_gen *g, struct packed *p, int slot)
{
	int value = mpk_host_load(g->f, MPK_MEM_PTR, slot, 0);
	int opaque = mpk_host_const(g->f, g->abi->opaque);
	int none = mpk_host_const(g->f, g->abi->none);
	int type = mpk_host_select(g->f, mpk_gen_is_null(g, value), none, opaque, MPK_HOST_I64);

	packed_add(g, p, type, MPK_MEM_PTR, value);
}

static void add_argument(struct mpk_gen *g, const struct mpk_launch_step *s,
			 const struct mpk_launch_arg *a, struct packed *p)
{
	int real = mpk_host_const(g->f, g->abi->real), value;

	switch (a->kind) {
	case MPK_ARG_PARAM:
		add_pointer(g, p, g->data[a->index]);
		break;
	case MPK_ARG_TEMP:
		add_pointer(g, p, g->temps[a->index]);
		break;
	case MPK_ARG_REAL:
		packed_add(g, p, real, MPK_MEM_F64, g->scalar[a->index]);
		break;
	case MPK_ARG_NULL:
		packed_add(g, p, mpk_host_const(g->f, g->abi->none), MPK_MEM_PTR, null_pointer(g));
		break;
	case MPK_ARG_LITERAL:
		packed_add(g, p, real, MPK_MEM_F64,
			   MPK_HOST_VALUE(g->f, .op = MPK_OP_FCONST, .type = MPK_HOST_F64,
					  .fimm = a->literal));
		break;
	case MPK_ARG_INT:
		value = mpk_gen_expr(g, a->expr, a->text);
		if (a->dtype.code == MPK_DTYPE_FLOAT || a->dtype.code == MPK_DTYPE_BFLOAT) {
			packed_add(g, p, real, MPK_MEM_F64,
				   mpk_host_convert(g->f, MPK_OP_TO_F64, value));
		} else {
			narrow(g, s, a, value);
			packed_int(g, p, value);
		}
		break;
	}
}

/* Extents of one step, by axis as tags number them: grid 0-2, block 3-5, cluster 6-8; missing
 * cluster extents are -1. */
struct extents {
	int value[9];
};

static int extent(struct mpk_gen *g, const struct mpk_launch_extent *e, const char *what,
		  int64_t low, int64_t high)
{
	if (!e->expr)
		return mpk_host_const(g->f, 1);

	int value = mpk_gen_expr(g, e->expr, e->text);
	int fits_high = mpk_host_op2(g->f, MPK_OP_LE, value, mpk_host_const(g->f, high));
	int fits_low = mpk_host_op2(g->f, MPK_OP_LE, mpk_host_const(g->f, low), value);
	int good = mpk_host_op2(g->f, MPK_OP_AND, fits_low, fits_high);
	mpk_gen_guard(g, good, "ValueError",
		      mpk_gen_format(g, "%s: %s '%s' is %%lld; it must be %" PRId64 " to %" PRId64,
				     g->launch->name, what, mpk_gen_literal(g, e->text), low, high),
		      "l", &value);
	return value;
}

static struct extents step_extents(struct mpk_gen *g, const struct mpk_launch_step *s)
{
	static const char *const names[9] = { MPK_SA_AXIS_NAMES };
	static const int64_t cuda[9] = { MPK_SA_CUDA_EXTENTS };
	const struct mpk_launch_extent *sources[3] = { s->grid, s->block, s->cluster };
	bool is_cuda = g->launch->device_type == MPK_DL_CUDA;
	struct extents e;
	int threads = mpk_host_const(g->f, 1);

	for (unsigned i = 0; i < 9; i++)
		e.value[i] = i >= 6 && !s->cluster[i - 6].expr
				     ? -1
				     : extent(g, &sources[i / 3][i % 3], names[i], i >= 3,
					      is_cuda ? cuda[i] : INT32_MAX);
	for (unsigned i = 3; i < 6; i++)
		threads = mpk_host_op2(g->f, MPK_OP_MUL, threads, e.value[i]);
	if (is_cuda)
		mpk_gen_guard(
			g,
			mpk_host_op2(g->f, MPK_OP_LE, threads,
				     mpk_host_const(g->f, MPK_SA_CUDA_THREADS)),
			"ValueError",
			mpk_gen_format(g, "%s: a block of %%lld threads; at most %d are possible",
				       g->launch->name, MPK_SA_CUDA_THREADS),
			"l", &threads);
	return e;
}

/* Generates 1 if there is nothing to do: the grid is empty, or every tensor of the step is. */
static int nothing_to_do(struct mpk_gen *g, const struct mpk_launch_step *s,
			 const struct extents *e)
{
	int empty = mpk_host_const(g->f, 0), all = -1, one = mpk_host_const(g->f, 1);

	for (unsigned i = 0; i < 3; i++)
		empty = mpk_host_op2(g->f, MPK_OP_OR, empty, mpk_gen_equals(g, e->value[i], 0));
	for (size_t i = 0; i < s->arg_count; i++) {
		const struct mpk_launch_arg *a = &s->args[i];
		int size = one;

		if (a->kind != MPK_ARG_PARAM && a->kind != MPK_ARG_TEMP)
			continue;
		const struct mpk_launch_param *p = a->kind == MPK_ARG_PARAM
							   ? &g->launch->params[a->index]
							   : &g->launch->temps[a->index];
		if (p->any_shape)
			size = mpk_gen_equals(g,
					      mpk_gen_equals(g,
							     mpk_host_load(g->f, MPK_MEM_I64,
									   g->counts[a->index], 0),
							     0),
					      0);
		for (size_t d = 0; d < p->rank; d++) {
			int zero =
				mpk_gen_equals(g, mpk_gen_expr(g, p->dims[d], p->dim_texts[d]), 0);

			size = mpk_host_op2(g->f, MPK_OP_AND, size, mpk_gen_equals(g, zero, 0));
		}
		int none = mpk_gen_equals(g, size, 0);
		all = all < 0 ? none : mpk_host_op2(g->f, MPK_OP_AND, all, none);
	}
	return all < 0 ? empty : mpk_host_op2(g->f, MPK_OP_OR, empty, all);
}

static void add_extents(struct mpk_gen *g, const struct mpk_launch_step *s, const struct extents *e,
			struct packed *p)
{
	for (size_t i = 0; i < s->tag_count; i++) {
		enum mpk_launch_tag tag = s->tags[i];

		if (tag <= MPK_TAG_CLUSTER_Z && e->value[tag] >= 0)
			packed_int(g, p, e->value[tag]);
		else if (tag == MPK_TAG_DYN_SHARED)
			packed_int(g, p,
				   s->shared.expr ? extent(g, &s->shared, "shared", 0, INT32_MAX)
						  : mpk_host_const(g->f, 0));
		else if (mpk_launch_tag_takes_argument(tag))
			packed_int(g, p, mpk_host_const(g->f, 1)); /* number of clusters */
	}
}

/* Checks extents before the kernel is looked up, and launches nothing for empty tensors: drivers
 * refuse a grid of 0. */
static void launch_step(struct mpk_gen *g, size_t i, int slot)
{
	const struct mpk_launch_step *s = &g->launch->steps[i];
	int skip = mpk_host_label(g->f);

	mpk_host_comment(g->f, mpk_gen_format(g, "kernel %s", s->kernel));
	struct extents e = step_extents(g, s);
	struct packed p = packed_begin(g, s->arg_count + s->tag_count);

	mpk_host_jump_if(g->f, nothing_to_do(g, s, &e), skip);
	look_up(g, g->kernel_slots[i], s->kernel, slot);
	for (size_t a = 0; a < s->arg_count; a++)
		add_argument(g, s, &s->args[a], &p);
	add_extents(g, s, &e, &p);
	packed_call(g, &p, slot);
	mpk_host_set_label(g->f, skip);
}

/* --- C functions ------------------------------------------------------------------------ */

/* Returns the letter of a number's type in a call (hostcode.h). */
static char call_letter(struct mpk_dtype t)
{
	const char *letters = t.code == MPK_DTYPE_INT ? "bhil" : "BHIL";

	if (mpk_dtype_is_bool(t))
		return 'z';
	if (t.code == MPK_DTYPE_FLOAT)
		return t.bits == 32 ? 'f' : 'd';
	return letters[t.bits == 8 ? 0 : t.bits == 16 ? 1 : t.bits == 32 ? 2 : 3];
}

static int call_argument(struct mpk_gen *g, const struct mpk_launch_step *s,
			 const struct mpk_launch_arg *a)
{
	switch (a->kind) {
	case MPK_ARG_PARAM:
		return mpk_host_load(g->f, MPK_MEM_PTR, g->data[a->index], 0);
	case MPK_ARG_TEMP:
		return mpk_host_load(g->f, MPK_MEM_PTR, g->temps[a->index], 0);
	case MPK_ARG_NULL:
		return MPK_HOST_VALUE(g->f, .op = MPK_OP_NULL, .type = MPK_HOST_PTR);
	case MPK_ARG_REAL:
		return g->scalar[a->index];
	case MPK_ARG_LITERAL:
		return MPK_HOST_VALUE(g->f, .op = MPK_OP_FCONST, .type = MPK_HOST_F64,
				      .fimm = a->literal);
	case MPK_ARG_INT:
		break;
	}

	/* A value that does not fit the parameter is refused, never cut. */
	int value = mpk_gen_expr(g, a->expr, a->text), good;
	char name[MPK_DTYPE_TEXT];

	if (mpk_dtype_is_real(a->dtype))
		return mpk_host_convert(g->f, MPK_OP_TO_F64, value);
	good = mpk_gen_fits(g, value, a->dtype);
	if (good >= 0)
		mpk_gen_guard(
			g, good, "ValueError",
			mpk_gen_format(
				g,
				"%s: '%s' = %%lld does not fit the %s that C function '%s' takes",
				g->launch->name, mpk_gen_literal(g, a->text),
				mpk_dtype_print(a->dtype, name), s->kernel),
			"l", &value);
	return value;
}

/* Stores the result where callers of the convention expect it. */
static void call_give(struct mpk_gen *g, struct mpk_dtype t, int value)
{
	bool real = mpk_dtype_is_real(t), boolean = mpk_dtype_is_bool(t) && !g->abi->legacy;
	enum mpk_host_mem mem = real ? MPK_MEM_F64 : MPK_MEM_I64;
	int type = mpk_host_const(g->f, real      ? g->abi->real
					: boolean ? g->abi->boolean
						  : g->abi->integer);
	int result = mpk_host_arg(g->f, 3, MPK_HOST_PTR);

	if (g->abi->legacy) {
		mpk_host_store(g->f, mem, result, 0, value);
		mpk_host_store(g->f, MPK_MEM_I32, mpk_host_arg(g->f, 4, MPK_HOST_PTR), 0, type);
		return;
	}
	mpk_host_store(g->f, MPK_MEM_I32, result, 0, type);
	mpk_host_store(g->f, MPK_MEM_I32, result, 4, mpk_host_const(g->f, 0));
	mpk_host_store(g->f, mem, result, 8, value);
}

static void gen_call(struct mpk_gen *g, const struct mpk_launch_step *s)
{
	const struct mpk_cfunction_value *result = &s->callee->result;
	const char **label = mpk_arena_array(g->arena, 1, sizeof *label);
	char *pass = mpk_arena_array(g->arena, s->arg_count + 1, 1);
	int *args = mpk_arena_array(g->arena, s->arg_count + 1, sizeof *args), function, value;

	if (!label || !pass || !args) {
		g->f->failed = true;
		return;
	}
	*label = mpk_gen_format(g, MPK_GEN_CALLEE "%s", s->kernel);
	mpk_host_comment(g->f, mpk_gen_format(g, "C function %s", s->kernel));
	for (size_t i = 0; i < s->arg_count; i++) {
		pass[i] = s->callee->params[i].kind == MPK_CFUNCTION_POINTER
				  ? 'p'
				  : call_letter(s->args[i].dtype);
		args[i] = call_argument(g, s, &s->args[i]);
	}
	function = MPK_HOST_VALUE(g->f, .op = MPK_OP_FUNCTION, .type = MPK_HOST_PTR,
				  .text = s->kernel, .names = label, .name_count = 1);
	value = mpk_host_call(g->f, function,
			      s->returns == MPK_RETURNS_NOTHING ? 'v' : call_letter(result->dtype),
			      pass, args);
	if (s->returns == MPK_RETURNS_STATUS)
		mpk_gen_guard(g, mpk_gen_equals(g, value, 0), "RuntimeError",
			      mpk_gen_format(g, "%s: C function '%s' returned %%lld",
					     g->launch->name, s->kernel),
			      "l", &value);
	else if (s->returns == MPK_RETURNS_VALUE)
		call_give(g, result->dtype, value);
}

/* Generates the allocation of temporaries and the kernel calls. */
static void gen_steps(struct mpk_gen *g)
{
	int slot = mpk_host_slot(g->f, 16);

	if (!g->launch->on_host)
		gen_steps_set_device(g);
	for (size_t i = 0; i < g->launch->temp_count; i++) {
		mpk_host_store(g->f, MPK_MEM_I64, g->temps[i], 8, g->device_id);

		/* An empty temporary has no memory. The workspace takes bytes and a type hint
		 * (TVMBackendAllocWorkspace), for which any type will do. */
		const struct mpk_launch_param *t = &g->launch->temps[i];
		int bytes = temp_bytes(g, t), none = mpk_host_label(g->f);
		int alloc = mpk_gen_runtime(g, MPK_GEN_ALLOC);

		mpk_host_jump_if(g->f, mpk_gen_equals(g, bytes, 0), none);
		mpk_gen_guard(
			g, mpk_gen_equals(g, mpk_gen_is_null(g, alloc), 0), "RuntimeError",
			mpk_gen_format(g, "%s: the loader provides no workspace", g->launch->name),
			"", NULL);
		int type = mpk_host_const(g->f, g->launch->device_type);
		int code = mpk_host_const(g->f, MPK_DTYPE_FLOAT), bits = mpk_host_const(g->f, 32);
		int p = mpk_host_call(g->f, alloc, 'p', "iilii",
				      (int[]){ type, g->device_id, bytes, code, bits });
		mpk_gen_guard(g, mpk_gen_equals(g, mpk_gen_is_null(g, p), 0), "RuntimeError",
			      mpk_gen_format(
				      g, "%s: no device memory for temporary '%.*s' of %%lld bytes",
				      g->launch->name, MPK_SPAN_ARG(t->name)),
			      "l", &bytes);
		mpk_host_store(g->f, MPK_MEM_PTR, g->temps[i], 0, p);
		mpk_host_set_label(g->f, none);
	}
	for (size_t i = 0; i < g->launch->step_count; i++) {
		if (g->launch->steps[i].callee)
			gen_call(g, &g->launch->steps[i]);
		else
			launch_step(g, i, slot);
	}
}

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

/* Type indexes and codes by value (tvm-blob(5), Conventions); the last name stands for all others. */
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

/* makes a string; only metadata functions call it */
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

/* Joins three texts in the arena; returns "" and sets a flag if there is no memory. */
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

/* Whether the runtime's function of this name is called. Unused functions are not declared: an
 * inspector would take the pointer for a call, and plain tvm-ffi has no workspace functions. */
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

		/* A linked program contains one release of TVM, so it has no older name. */
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

/* Generates the values that both exits use, before the first jump. */
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

/* Generates the release of temporaries, for both exits. */
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
	/* --- arguments, and shapes that relate tensors to each other ---------------------- */
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
	gen_steps(&g);

	/* the two exits: success and failure */
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

/* Generates a separate metadata function for a launch function. */
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
