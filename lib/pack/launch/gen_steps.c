/* SPDX-License-Identifier: Apache-2.0 */
/* gen_steps.c - generated code that allocates temporaries, calls kernels and C functions, and
 * handles their results
 *
 * Every failure after the first allocation leaves through one exit that frees what is there. */
#include "launch/internal/gen.h"
#include "launch/standalone/names.h"

#include <inttypes.h>

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
	if (g->runtime[MPK_GEN_LOOKUP_OLD]) { /* TVM 0.22 - 0.25 provide the older name */
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

/* Room for the arguments of one call, in the layout of the convention. */
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

/* A failed call has raised an error itself: this code only leaves. */
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

/* Gives 1 when there is nothing to do: an empty grid, or every tensor of the step is empty. */
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
			packed_int(g, p, mpk_host_const(g->f, 1)); /* clusters */
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

/* The letter of a number's type in a call (hostcode.h). */
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

/* Results go where callers of the convention look for them. */
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

void mpk_gen_steps(struct mpk_gen *g)
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
