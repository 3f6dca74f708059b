/* SPDX-License-Identifier: Apache-2.0 */
/* rows.c - launch functions as rows of tables, in C (launch/standalone/loader.h), and functions
 * that hand them over
 *
 * The generated code of a function costs a compiler 30 ms, a row and its function a third of
 * one. Where no C compiler is available, and where TVM's runtime calls kernels, functions are
 * code (build.c). */
#include "launch/launch.h"

#include <inttypes.h>
#include <string.h>

#include "launch/internal/gen.h"
#include "launch/standalone/loader.h"
#include "text/escape.h"

struct rows {
	struct mpk_gen gen; /* context of the current function; its code stays empty */
	struct mpk_hostfn none;
	const struct mpk_strmap *kernels;
	struct mpk_strbuf texts, words, exprs, params, vars, args, steps, functions, devices;
	struct mpk_strmap known;
	/* number of rows in each table; bytes of texts */
	size_t text_bytes, word_count, expr_count, param_count, var_count, arg_count, step_count;
	int32_t types[MPK_SA_KINDS]; /* of the devices, in the order of their table */
	size_t device_count;
	bool failed;
};

static void rows_fini(struct rows *r)
{
	struct mpk_strbuf *all[] = { &r->texts, &r->words, &r->exprs,     &r->params, &r->vars,
				     &r->args,  &r->steps, &r->functions, &r->devices };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(all); i++)
		mpk_strbuf_fini(all[i]);
	mpk_strmap_fini(&r->known);
}

/* --- texts and expressions ---------------------------------------------------------------------- */

/* Returns its offset in mpk_sa_texts; equal texts share one. */
static size_t rows_text(struct rows *r, struct mpk_span text)
{
	const char *kept = mpk_arena_text(r->gen.arena, text);
	size_t at = r->text_bytes;
	int put = kept ? mpk_strmap_put(&r->known, mpk_span_of(kept, text.len), at, &at) : -1;

	r->failed |= put < 0;
	if (put <= 0)
		return at;
	mpk_strbuf_puts(&r->texts, "\t");
	mpk_escape_c(&r->texts, mpk_span_str(kept));
	mpk_strbuf_puts(&r->texts, " \"\\0\"\n");
	r->text_bytes += text.len + 1;
	return at;
}

static size_t rows_type(struct rows *r, struct mpk_dtype type)
{
	char name[MPK_DTYPE_TEXT];

	return rows_text(r, mpk_span_str(mpk_dtype_print(type, name)));
}

static void rows_word(struct rows *r, int64_t word)
{
	/* The least number has no literal of its own in C. */
	mpk_strbuf_printf(&r->words, " %" PRId64 "%s,", word == INT64_MIN ? word + 1 : word,
			  word == INT64_MIN ? " - 1" : "");
	r->word_count++;
}

static int64_t rows_variable(struct rows *r, struct mpk_span name)
{
	const struct mpk_launch *l = r->gen.launch;

	for (size_t i = 0; i < l->var_count; i++)
		if (mpk_span_equal(l->vars[i].name, name))
			return (int64_t)i;
	r->failed = true; /* mpk_launch_resolve has excluded this. */
	return 0;
}

/* Prints operands before their operation, as a stack wants them. */
static void rows_sequence(struct rows *r, const struct mpk_expr *e)
{
	static const enum mpk_sa_op ops[] = {
		[MPK_EXPR_ADD] = MPK_SA_ADD, [MPK_EXPR_SUB] = MPK_SA_SUB,
		[MPK_EXPR_MUL] = MPK_SA_MUL, [MPK_EXPR_DIV] = MPK_SA_DIV,
		[MPK_EXPR_MOD] = MPK_SA_MOD, [MPK_EXPR_MIN] = MPK_SA_MIN,
		[MPK_EXPR_MAX] = MPK_SA_MAX, [MPK_EXPR_CEILDIV] = MPK_SA_CEILDIV,
	};

	if (e->op == MPK_EXPR_NUMBER || e->op == MPK_EXPR_NAME) {
		bool number = e->op == MPK_EXPR_NUMBER;

		rows_word(r, number ? MPK_SA_NUMBER : MPK_SA_NAME);
		rows_word(r, number ? e->value : rows_variable(r, e->name));
		return;
	}
	rows_sequence(r, e->a);
	rows_sequence(r, e->b);
	rows_word(r, ops[e->op]);
}

/* Its place in mpk_sa_exprs. */
static size_t rows_expr(struct rows *r, const struct mpk_expr *e, struct mpk_span text)
{
	enum mpk_sa_op op = e->op == MPK_EXPR_NUMBER ? MPK_SA_NUMBER
			    : e->op == MPK_EXPR_NAME ? MPK_SA_NAME
						     : MPK_SA_WORDS;
	int64_t value = op == MPK_SA_NUMBER ? e->value
			: op == MPK_SA_NAME ? rows_variable(r, e->name)
					    : (int64_t)r->word_count;

	if (op == MPK_SA_WORDS) {
		rows_sequence(r, e);
		rows_word(r, MPK_SA_END);
	}
	mpk_strbuf_printf(&r->exprs, "\t{ %zu, %d, %" PRId64 " },\n", rows_text(r, text), (int)op,
			  value);
	return r->expr_count++;
}

/* --- parameters and temporaries ------------------------------------------------------------------ */

static unsigned rows_flags(const struct mpk_launch_param *p)
{
	return (p->optional ? MPK_SA_OPTIONAL : 0) | (p->any_shape ? MPK_SA_ANY_SHAPE : 0) |
	       (p->direction != MPK_LAUNCH_OUT ? MPK_SA_READ : 0) |
	       (p->direction != MPK_LAUNCH_IN ? MPK_SA_WRITTEN : 0);
}

/* Divisor of a tensor's address: the least multiple that the element and the parameter require. */
static size_t rows_alignment(const struct mpk_launch *l, const struct mpk_launch_param *p)
{
	size_t bytes = mpk_dtype_bytes(p->dtype), align = bytes;

	while (p->divisible && align % p->divisible)
		align += bytes;
	return l->plain_pointers && align ? align : 1;
}

static void rows_param(struct rows *r, const struct mpk_launch_param *p)
{
	bool real = p->dtype.code == MPK_DTYPE_FLOAT || p->dtype.code == MPK_DTYPE_BFLOAT;
	unsigned kind = p->is_tensor ? MPK_SA_TENSOR : real ? MPK_SA_REAL : MPK_SA_INTEGER;
	size_t first = r->expr_count, name = rows_text(r, p->name), type = rows_type(r, p->dtype);

	for (size_t d = 0; d < p->rank; d++)
		(void)rows_expr(r, p->dims[d], p->dim_texts[d]);
	mpk_strbuf_printf(&r->params, "\t{ %zu, %zu, %u, %u, %u, %u, %d, %zu, %zu, %zu, %zu },\n",
			  name, type, kind, rows_flags(p), p->dtype.code, p->dtype.bits,
			  mpk_dtype_is_bool(p->dtype), mpk_dtype_bytes(p->dtype),
			  p->is_tensor ? rows_alignment(r->gen.launch, p) : (size_t)p->divisible,
			  first, p->rank);
	r->param_count++;
}

/* --- steps ----------------------------------------------------------------------------------------- */

static void rows_arg(struct rows *r, const struct mpk_launch_arg *a)
{
	static const enum mpk_sa_arg_kind kinds[] = {
		[MPK_ARG_PARAM] = MPK_SA_ARG_PARAM,     [MPK_ARG_TEMP] = MPK_SA_ARG_TEMP,
		[MPK_ARG_INT] = MPK_SA_ARG_INTEGER,     [MPK_ARG_REAL] = MPK_SA_ARG_REAL,
		[MPK_ARG_LITERAL] = MPK_SA_ARG_LITERAL, [MPK_ARG_NULL] = MPK_SA_ARG_NULL,
	};
	size_t index = a->index;
	int64_t bits;

	if (a->kind == MPK_ARG_INT) {
		index = rows_expr(r, a->expr, a->text);
	} else if (a->kind == MPK_ARG_LITERAL) {
		memcpy(&bits, &a->literal, sizeof bits);
		index = r->word_count;
		rows_word(r, bits);
	}
	mpk_strbuf_printf(&r->args, "\t{ %d, %d, %zu, %zu },\n", (int)kinds[a->kind],
			  mpk_dtype_is_bool(a->dtype), index, rows_type(r, a->dtype));
	r->arg_count++;
}

static size_t rows_kernel(struct rows *r, const struct mpk_launch_step *s)
{
	const char *key = mpk_arena_printf(r->gen.arena, "%s.%s", s->id, s->kernel);
	size_t i = 0;

	r->failed |= !key || !mpk_strmap_find(r->kernels, mpk_span_str(key), &i);
	return i;
}

static void rows_step(struct rows *r, const struct mpk_launch_step *s)
{
	const struct mpk_launch_extent *sources[] = { s->grid, s->block, s->cluster, &s->shared };
	size_t first = r->arg_count;

	for (size_t i = 0; i < s->arg_count; i++)
		rows_arg(r, &s->args[i]);
	mpk_strbuf_printf(&r->steps, "\t{ %zu, %zu, {", rows_kernel(r, s), first);
	for (size_t i = 0; i < 10; i++) {
		const struct mpk_launch_extent *e = &sources[i / 3][i % 3];

		if (e->expr)
			mpk_strbuf_printf(&r->steps, " %zu,", rows_expr(r, e->expr, e->text));
		else
			mpk_strbuf_printf(&r->steps, " %d,", MPK_SA_NONE);
	}
	mpk_strbuf_puts(&r->steps, " } },\n");
	r->step_count++;
}

/* --- functions ---------------------------------------------------------------------------------------- */

/* Names its function, so that minspect can tell its device. */
static const char *rows_where(struct rows *r)
{
	const struct mpk_launch *l = r->gen.launch;
	const char *device = l->plain_pointers ? mpk_dl_device_name(l->device_type) : "";

	return mpk_gen_format(&r->gen, "%s: argument '%%s' must be %s%s%sin host memory, is on %%s",
			      l->name, *device ? "on " : "", device, *device ? " or " : "");
}

/* Its place in mpk_sa_devices. */
static size_t rows_device(struct rows *r, int32_t type)
{
	size_t i = 0;

	while (i < r->device_count && r->types[i] != type)
		i++;
	if (i == r->device_count && i < MPK_SA_KINDS) {
		r->types[r->device_count++] = type;
		mpk_strbuf_printf(&r->devices, "\t{ %" PRId32 ", &mpk_sa_%s },\n", type,
				  mpk_dl_device_name(type));
	}
	return i;
}

static void rows_function(struct rows *r, const struct mpk_launch *l)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf schema = { 0 };
	size_t params = r->param_count, temps, vars = r->var_count, steps = r->step_count;
	size_t name, takes, where; /* One after another: arguments of a call have no order. */

	r->gen.launch = l;
	for (size_t k = 0; k < l->param_count; k++)
		rows_param(r, &l->params[k]);
	temps = r->param_count;
	for (size_t k = 0; k < l->temp_count; k++)
		rows_param(r, &l->temps[k]);

	for (size_t i = 0; i < l->var_count; i++) {
		const struct mpk_launch_var *v = &l->vars[i];

		mpk_strbuf_printf(&r->vars, "\t{ %zu, %" PRId64 " },\n", v->param,
				  v->dim == SIZE_MAX ? MPK_SA_NONE : (int64_t)v->dim);
		r->var_count++;
	}

	for (size_t k = 0; k < l->step_count; k++)
		rows_step(r, &l->steps[k]);
	if (l->gen == MPK_GEN_CURRENT)
		mpk_gen_put_schema(l, &schema);
	r->failed |= schema.failed;
	name = rows_text(r, mpk_span_str(l->name));
	takes = rows_text(r, mpk_span_str(mpk_gen_takes(&r->gen)));
	where = rows_text(r, mpk_span_str(rows_where(r)));
	mpk_strbuf_printf(
		&r->functions,
		"\t{ %zu, %zu, %zu, %zu, %zu, %zu, %zu, %zu, %zu, %zu, %zu, %zu, %zu },\n",
		rows_device(r, l->device_type), name, takes, where,
		rows_text(r, mpk_span_str(mpk_strbuf_text(&schema))), schema.len, params,
		l->param_count, temps, l->temp_count, vars, steps, l->step_count);
}

static void rows_table(struct mpk_strbuf *out, const char *type, const char *name,
		       const struct mpk_strbuf *rows, const char *last)
{
	mpk_strbuf_printf(out, "const %s mpk_sa_%s[] = {\n", type, name);
	mpk_strbuf_put(out, mpk_strbuf_text(rows), rows->len);
	mpk_strbuf_printf(out, "%s};\n", last);
}

enum mpk_code mpk_launch_put_rows(const struct mpk_launch *launches, size_t count,
				  const struct mpk_strmap *kernels, struct mpk_arena *arena,
				  struct mpk_strbuf *out, struct mpk_error *err)
{
	MPK_CLEANUP(rows_fini) struct rows r = { .gen = { .arena = arena }, .kernels = kernels };
	const struct mpk_strbuf *all[] = { &r.texts, &r.words, &r.exprs,     &r.params, &r.vars,
					   &r.args,  &r.steps, &r.functions, &r.devices };

	r.none.arena = arena;
	r.gen.f = &r.none;
	for (size_t i = 0; i < count; i++)
		rows_function(&r, &launches[i]);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(all); i++)
		r.failed |= all[i]->failed;
	if (r.failed || r.none.failed)
		return mpk_fail_nomem(err);

	/* A table may have no rows, and C has no empty arrays: a last row is zeros. */
	static const char zeros[] = "\t{ 0 },\n";

	mpk_strbuf_puts(out, "const char mpk_sa_texts[] =\n");
	mpk_strbuf_put(out, mpk_strbuf_text(&r.texts), r.texts.len);
	mpk_strbuf_puts(out, "\t;\n");
	rows_table(out, "int64_t", "words", &r.words, " 0 ");
	rows_table(out, "struct mpk_sa_expr", "exprs", &r.exprs, zeros);
	rows_table(out, "struct mpk_sa_param", "params", &r.params, zeros);
	rows_table(out, "struct mpk_sa_var", "vars", &r.vars, zeros);
	rows_table(out, "struct mpk_sa_arg", "args", &r.args, zeros);
	rows_table(out, "struct mpk_sa_step", "steps", &r.steps, zeros);
	rows_table(out, "struct mpk_sa_function", "functions", &r.functions, zeros);
	rows_table(out, "struct mpk_sa_device", "devices", &r.devices, zeros);

	return mpk_strbuf_status(out, err);
}

/* --- entries -------------------------------------------------------------------------------------------- */

enum { ENTRY_ROW, ENTRY_CALL, ENTRY_DESCRIBE, ENTRY_EXTERNS };

static const struct mpk_host_extern entry_externs[] = {
	[ENTRY_ROW] = { .name = "mpk_sa_functions", .link = MPK_HOST_HIDDEN },
	[ENTRY_CALL] = { .name = "mpk_sa_call", .link = MPK_HOST_HIDDEN },
	[ENTRY_DESCRIBE] = { .name = "mpk_sa_describe", .link = MPK_HOST_HIDDEN },
};

/* The address of its row. */
static int entry_begin(struct mpk_hostfn *f, size_t i, const char *symbol, const char *params)
{
	int offset, rows;

	f->symbol = symbol;
	f->params = params;
	f->plain = true;
	f->failed |= !symbol;
	offset = mpk_host_const(f, (int64_t)(i * sizeof(struct mpk_sa_function)));
	rows = mpk_host_function(f, entry_externs[ENTRY_ROW].name);
	return mpk_host_op2(f, MPK_OP_OFFSET, rows, offset);
}

static void entry_end(struct mpk_hostfn *f, int status)
{
	int failed = mpk_host_label(f);

	mpk_host_jump_if(f, status, failed);
	MPK_HOST_EFFECT(f, .op = MPK_OP_RETURN, .imm = 0);
	mpk_host_set_label(f, failed);
	MPK_HOST_EFFECT(f, .op = MPK_OP_RETURN, .imm = -1);
}

static void entry_build(struct mpk_hostfn *f, const struct mpk_launch *l, size_t i)
{
	bool legacy = l->gen == MPK_GEN_LEGACY;
	int row =
		entry_begin(f, i,
			    mpk_arena_printf(f->arena, "%s%s",
					     mpk_generation_get(l->gen)->function_prefix, l->name),
			    legacy ? "PPiPPP" : "PPiP");
	int args = mpk_host_arg(f, legacy ? 0 : 1, MPK_HOST_PTR);
	int codes = legacy ? mpk_host_arg(f, 1, MPK_HOST_PTR)
			   : MPK_HOST_VALUE(f, .op = MPK_OP_NULL, .type = MPK_HOST_PTR);
	int count = mpk_host_arg(f, 2, MPK_HOST_I64);
	int call = mpk_host_function(f, entry_externs[ENTRY_CALL].name);

	entry_end(f, mpk_host_call(f, call, 'i', "pppi", (int[]){ row, args, codes, count }));
}

static void entry_build_metadata(struct mpk_hostfn *f, const struct mpk_launch *l, size_t i)
{
	int row = entry_begin(f, i, mpk_arena_printf(f->arena, "__tvm_ffi__metadata_%s", l->name),
			      "PPiP");
	int result = mpk_host_arg(f, 3, MPK_HOST_PTR);
	int describe = mpk_host_function(f, entry_externs[ENTRY_DESCRIBE].name);

	entry_end(f, mpk_host_call(f, describe, 'i', "pp", (int[]){ row, result }));
}

enum mpk_code mpk_launch_build_entries(const struct mpk_launch *launches, size_t count,
				       struct mpk_arena *arena, struct mpk_host_unit *out,
				       struct mpk_error *err)
{
	struct mpk_hostfn *functions = mpk_arena_array(arena, 2 * count + 1, sizeof *functions);
	bool metadata = count && launches[0].gen == MPK_GEN_CURRENT;

	MPK_TRY_ALLOC(functions, err);
	for (size_t i = 0; i < count; i++) {
		functions[i] = (struct mpk_hostfn){ .arena = arena };
		entry_build(&functions[i], &launches[i], i);
		functions[count + i] = (struct mpk_hostfn){ .arena = arena };
		if (metadata)
			entry_build_metadata(&functions[count + i], &launches[i], i);
	}
	*out = (struct mpk_host_unit){
		.functions = functions,
		.function_count = metadata ? 2 * count : count,
		.externs = entry_externs,
		.extern_count = metadata ? ENTRY_EXTERNS : ENTRY_DESCRIBE,
		.source_name = "launch.c",
	};
	return MPK_OK;
}
