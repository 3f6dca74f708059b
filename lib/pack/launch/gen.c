/* SPDX-License-Identifier: Apache-2.0 */
/* gen.c - generated code for one function: raising errors, expressions, the checks of each argument */
#include <stdarg.h>
#include <stdio.h>

#include "dtype/type_index.h"
#include "launch/internal/gen.h"
#include "launch/launch.h"
#include "launch/standalone/names.h"

const char *mpk_gen_literal(struct mpk_gen *g, struct mpk_span text)
{
	char *out = mpk_arena_array(g->arena, text.len + 1, 2);
	size_t n = 0;

	if (!out) {
		g->f->failed = true;
		return "";
	}
	for (size_t i = 0; i < text.len; i++) {
		if (text.data[i] == '%')
			out[n++] = '%';
		out[n++] = (char)text.data[i];
	}
	return out;
}

/* Cuts the format to the size of a message. */
const char *mpk_gen_format(struct mpk_gen *g, const char *fmt, ...)
{
	va_list ap;
	char text[MPK_GEN_MESSAGE];

	va_start(ap, fmt);
	int n = vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);

	char *copy = n < 0 ? NULL : mpk_arena_printf(g->arena, "%s", text);
	if (!copy)
		g->f->failed = true;
	return copy ? copy : "";
}

void mpk_gen_guard(struct mpk_gen *g, int good, const char *kind, const char *format,
		   const char *pass, const int *values)
{
	int fine = mpk_host_label(g->f);

	mpk_host_jump_if(g->f, good, fine);
	mpk_host_store(g->f, MPK_MEM_PTR, g->kind, 0, mpk_host_text(g->f, kind));
	mpk_host_snprintf(g->f, g->buf, MPK_GEN_MESSAGE, format, values, pass);
	mpk_host_jump(g->f, g->raise_label);
	mpk_host_set_label(g->f, fine);
}

/* Comparisons give 0 or 1 as 64-bit integers, so that AND and OR can combine them. */
int mpk_gen_equals(struct mpk_gen *g, int value, int64_t constant)
{
	return mpk_host_op2(g->f, MPK_OP_EQ, value, mpk_host_const(g->f, constant));
}

int mpk_gen_is_null(struct mpk_gen *g, int pointer)
{
	return mpk_gen_equals(g, mpk_host_convert(g->f, MPK_OP_ADDRESS, pointer), 0);
}

int mpk_gen_runtime(struct mpk_gen *g, enum mpk_gen_runtime which)
{
	int function = mpk_host_function(g->f, g->runtime[which]);

	if (g->mode != MPK_LAUNCH_IMPORTS)
		return function;

	const char *pointer = mpk_gen_format(g, "__%s", g->runtime[which]);
	int given = mpk_host_load(g->f, MPK_MEM_PTR, mpk_host_global(g->f, pointer), 0);
	return mpk_host_select(g->f, mpk_gen_is_null(g, given), function, given, MPK_HOST_PTR);
}

int mpk_gen_fits(struct mpk_gen *g, int value, struct mpk_dtype type)
{
	unsigned bits = mpk_dtype_is_bool(type) ? 1 : type.bits;
	bool is_signed = type.code == MPK_DTYPE_INT;

	if (bits == 0 || bits >= 64)
		return -1;

	int64_t high = (int64_t)((UINT64_C(1) << (bits - (is_signed ? 1 : 0))) - 1);
	int low = mpk_host_const(g->f, is_signed ? -high - 1 : 0);
	int fits_high = mpk_host_op2(g->f, MPK_OP_LE, value, mpk_host_const(g->f, high));
	int fits_low = mpk_host_op2(g->f, MPK_OP_LE, low, value);
	return mpk_host_op2(g->f, MPK_OP_AND, fits_low, fits_high);
}

/* Tests for overflow before the operation, which itself wraps and so is always defined. */
static int checked(struct mpk_gen *g, enum mpk_host_op over, enum mpk_host_op op, int a, int b,
		   struct mpk_span text)
{
	int wraps = mpk_host_op2(g->f, over, a, b);
	int zero = mpk_host_const(g->f, 0);

	mpk_gen_guard(g, mpk_host_op2(g->f, MPK_OP_EQ, wraps, zero), "ValueError",
		      mpk_gen_format(g, "%s: '%s' overflows 64 bits", g->launch->name,
				     mpk_gen_literal(g, text)),
		      "", NULL);
	return mpk_host_op2(g->f, op, a, b);
}

/* Division where b is neither 0 nor -1, so that no machine traps. */
static int divided(struct mpk_gen *g, enum mpk_expr_op op, int a, int b, struct mpk_span text)
{
	int zero = mpk_host_const(g->f, 0);

	mpk_gen_guard(g, mpk_host_op2(g->f, MPK_OP_LT, zero, b), "ValueError",
		      mpk_gen_format(g, "%s: '%s' divides by %%lld", g->launch->name,
				     mpk_gen_literal(g, text)),
		      "l", &b);
	if (op == MPK_EXPR_MOD)
		return mpk_host_op2(g->f, MPK_OP_REM, a, b);

	int quotient = mpk_host_op2(g->f, MPK_OP_DIV, a, b);
	if (op == MPK_EXPR_DIV)
		return quotient;
	int rest = mpk_host_op2(g->f, MPK_OP_REM, a, b);
	return mpk_host_op2(g->f, MPK_OP_ADD, quotient, mpk_host_op2(g->f, MPK_OP_LT, zero, rest));
}

/* Evaluates operands in written order, so that the first that fails is reported. */
int mpk_gen_expr(struct mpk_gen *g, const struct mpk_expr *e, struct mpk_span text)
{
	if (e->op == MPK_EXPR_NUMBER)
		return mpk_host_const(g->f, e->value);
	if (e->op == MPK_EXPR_NAME) {
		struct mpk_span name = e->name;
		for (size_t i = 0; i < g->launch->var_count; i++)
			if (mpk_span_equal(g->launch->vars[i].name, name))
				return g->vars[i];
		g->f->failed = true; /* mpk_launch_resolve has excluded this */
		return -1;
	}

	int a = mpk_gen_expr(g, e->a, text), b = mpk_gen_expr(g, e->b, text);
	int less;

	switch (e->op) {
	case MPK_EXPR_ADD:
		return checked(g, MPK_OP_ADD_OVER, MPK_OP_ADD, a, b, text);
	case MPK_EXPR_SUB:
		return checked(g, MPK_OP_SUB_OVER, MPK_OP_SUB, a, b, text);
	case MPK_EXPR_MUL:
		return checked(g, MPK_OP_MUL_OVER, MPK_OP_MUL, a, b, text);
	case MPK_EXPR_MIN:
	case MPK_EXPR_MAX:
		less = mpk_host_op2(g->f, MPK_OP_LT, a, b);
		return e->op == MPK_EXPR_MIN ? mpk_host_select(g->f, less, a, b, MPK_HOST_I64)
					     : mpk_host_select(g->f, less, b, a, MPK_HOST_I64);
	case MPK_EXPR_DIV:
	case MPK_EXPR_MOD:
	case MPK_EXPR_CEILDIV:
		return divided(g, e->op, a, b, text);
	case MPK_EXPR_NUMBER:
	case MPK_EXPR_NAME:
		break;
	}
	return -1;
}

/* Returns the type of the function's result; bits is 0 if there is none. */
static struct mpk_dtype result_type(const struct mpk_launch *l)
{
	const struct mpk_launch_step *last = l->step_count ? &l->steps[l->step_count - 1] : NULL;

	return last && last->callee && last->returns == MPK_RETURNS_VALUE
		       ? last->callee->result.dtype
		       : (struct mpk_dtype){ 0 };
}

/* --- prototypes ------------------------------------------------------------------- */

/* "x: Tensor([n, 4], float32)" */
static void gen_put_param(struct mpk_gen *g, const struct mpk_launch_param *p,
			  struct mpk_strbuf *out)
{
	char type[MPK_DTYPE_TEXT];

	mpk_strbuf_put_span(out, p->name);
	mpk_strbuf_puts(out, p->is_tensor ? ": Tensor([" : ": ");
	mpk_strbuf_puts(out, p->any_shape ? "..." : "");
	for (size_t i = 0; i < p->rank; i++) {
		mpk_strbuf_puts(out, i ? ", " : "");
		mpk_strbuf_puts(out, mpk_gen_literal(g, p->dim_texts[i]));
	}
	mpk_strbuf_puts(out, p->is_tensor ? "], " : "");
	mpk_strbuf_puts(out, mpk_dtype_print(p->dtype, type));
	mpk_strbuf_puts(out, p->is_tensor ? ")" : "");
}

static void gen_put_prototype(struct mpk_gen *g, struct mpk_strbuf *out)
{
	const struct mpk_launch *l = g->launch;
	struct mpk_dtype result = result_type(l);
	char type[MPK_DTYPE_TEXT];

	mpk_strbuf_printf(out, "%s(", l->name);
	for (size_t i = 0; i < l->param_count; i++) {
		mpk_strbuf_puts(out, i ? ", " : "");
		gen_put_param(g, &l->params[i], out);
	}
	mpk_strbuf_putc(out, ')');
	if (result.bits)
		mpk_strbuf_printf(out, " -> (%s)", mpk_dtype_print(result, type));
}

/* The message ends with the prototype, where minspect reads it, in every ABI. */
const char *mpk_gen_takes(struct mpk_gen *g)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf said = { 0 };
	const struct mpk_launch *l = g->launch;
	const char *text;

	mpk_strbuf_printf(&said, "%s: takes %zu argument%s, got %%lld, when calling ", l->name,
			  l->param_count, l->param_count == 1 ? "" : "s");
	gen_put_prototype(g, &said);
	text = mpk_arena_copy(g->arena, mpk_strbuf_text(&said), said.len);
	g->f->failed |= said.failed || !text;
	return text ? text : "";
}

static const char *number_name(struct mpk_dtype t)
{
	if (mpk_dtype_is_bool(t))
		return "bool";
	return t.code == MPK_DTYPE_FLOAT || t.code == MPK_DTYPE_BFLOAT ? "float" : "int";
}

static const char *result_name(const struct mpk_launch *l)
{
	struct mpk_dtype result = result_type(l);

	return result.bits ? number_name(result) : "None";
}

/* The value of type_schema is JSON in a string, so it is escaped once more. */
void mpk_gen_put_schema(const struct mpk_launch *l, struct mpk_strbuf *out)
{
	mpk_strbuf_printf(
		out,
		"{\"type_schema\":\"{\\\"type\\\":\\\"ffi.Function\\\",\\\"named_args\\\":"
		"{\\\"return\\\":[{\\\"type\\\":\\\"%s\\\"}],\\\"params\\\":[",
		result_name(l));
	for (size_t i = 0; i < l->param_count; i++) {
		const struct mpk_launch_param *p = &l->params[i];

		mpk_strbuf_puts(out, i ? "," : "");
		mpk_strbuf_puts(out,
				p->optional ? "{\\\"type\\\":\\\"Optional\\\",\\\"args\\\":[" : "");
		mpk_strbuf_printf(out, "{\\\"type\\\":\\\"%s\\\"}",
				  p->is_tensor ? "DLTensor*" : number_name(p->dtype));
		mpk_strbuf_puts(out, p->optional ? "]}" : "");
	}
	mpk_strbuf_puts(out, "]}}\"}");
}

/* Returns "vadd: argument 'A'" as a printf format. */
const char *mpk_gen_who(struct mpk_gen *g, const struct mpk_launch_param *p)
{
	return mpk_gen_format(g, "%s: argument '%.*s'", g->launch->name, MPK_SPAN_ARG(p->name));
}

int mpk_gen_extent(struct mpk_gen *g, int dl, size_t d)
{
	int shape = mpk_host_load(g->f, MPK_MEM_PTR, dl, MPK_GEN_DL_SHAPE);

	return mpk_host_load(g->f, MPK_MEM_I64, shape, 8 * (int64_t)d);
}

/* --- Generated code that checks and unpacks one argument.
 *
 * All checks come before any use. MPK_FFI_DLTENSOR has the same number in every convention. */

static int either(struct mpk_gen *g, int a, int b)
{
	return mpk_host_op2(g->f, MPK_OP_OR, a, b);
}

static int both(struct mpk_gen *g, int a, int b)
{
	return mpk_host_op2(g->f, MPK_OP_AND, a, b);
}

/* Generates the address of the constant C string names[index]. */
static int name_at(struct mpk_gen *g, const char *const *names, size_t count, int index)
{
	return MPK_HOST_VALUE(g->f, .op = MPK_OP_NAMES, .type = MPK_HOST_PTR, .names = names,
			      .name_count = count, .a = index);
}

static int gen_args_type_of(struct mpk_gen *g, size_t i)
{
	return g->abi->legacy ? mpk_host_load(g->f, MPK_MEM_I32, g->codes, 4 * (int64_t)i)
			      : mpk_host_load(g->f, MPK_MEM_I32, g->args, 16 * (int64_t)i);
}

/* Returns the offset of argument i's value: legacy has an array of 8-byte values and one of type
 * codes, tvm-ffi has cells of 16 bytes with both. */
static int64_t cell(const struct mpk_gen *g, size_t i)
{
	return g->abi->legacy ? 8 * (int64_t)i : 16 * (int64_t)i + 8;
}

static void gen_args_wrong_type(struct mpk_gen *g, const struct mpk_launch_param *p, int good,
				int type, const char *expected)
{
	int fine = mpk_host_label(g->f);

	mpk_host_jump_if(g->f, good, fine);

	/* Name for any type index. */
	int64_t last = (int64_t)g->abi->type_name_count - 1;
	int below = mpk_host_op2(g->f, MPK_OP_LT, type, mpk_host_const(g->f, last));
	int known = both(g, mpk_host_op2(g->f, MPK_OP_LE, mpk_host_const(g->f, 0), type), below);
	int index = mpk_host_select(g->f, known, type, mpk_host_const(g->f, last), MPK_HOST_I64);

	int name = name_at(g, g->abi->type_names, g->abi->type_name_count, index);

	mpk_gen_guard(g, mpk_host_const(g->f, 0), "TypeError",
		      mpk_gen_format(g, "%s: expected %s, got %%s", mpk_gen_who(g, p), expected),
		      "p", &name);
	mpk_host_set_label(g->f, fine);
}

/* --- scalars ------------------------------------------------------------------------ */

static void int_range(struct mpk_gen *g, const struct mpk_launch_param *p, int value)
{
	char name[MPK_DTYPE_TEXT];
	int good = mpk_gen_fits(g, value, p->dtype);

	if (good >= 0)
		mpk_gen_guard(g, good, "ValueError",
			      mpk_gen_format(g, "%s: %%lld does not fit %s", mpk_gen_who(g, p),
					     mpk_dtype_print(p->dtype, name)),
			      "l", &value);
}

/* Generates both comparisons, because a jump would cost more than the second one. */
static int one_of(struct mpk_gen *g, int value, int64_t a, int64_t b)
{
	int is_b = mpk_gen_equals(g, value, b), is_a = mpk_gen_equals(g, value, a);

	return mpk_host_op2(g->f, MPK_OP_OR, is_a, is_b);
}

/* A bool is accepted as an integer, as Python accepts True for 1. */
static int int_scalar(struct mpk_gen *g, size_t i)
{
	const struct mpk_launch_param *p = &g->launch->params[i];
	int type = gen_args_type_of(g, i);
	char name[MPK_DTYPE_TEXT];
	int good = one_of(g, type, g->abi->integer, g->abi->boolean);

	gen_args_wrong_type(g, p, good, type,
			    mpk_gen_format(g, "an integer (%s)", mpk_dtype_print(p->dtype, name)));
	int value = mpk_host_load(g->f, MPK_MEM_I64, g->args, cell(g, i));
	int_range(g, p, value);
	if (p->divisible > 1)
		mpk_gen_guard(g,
			      mpk_gen_equals(g,
					     mpk_host_op2(g->f, MPK_OP_REM, value,
							  mpk_host_const(g->f, p->divisible)),
					     0),
			      "ValueError",
			      mpk_gen_format(g, "%s: %%lld is no multiple of %u", mpk_gen_who(g, p),
					     (unsigned)p->divisible),
			      "l", &value);
	return value;
}

static int real_scalar(struct mpk_gen *g, size_t i)
{
	const struct mpk_launch_param *p = &g->launch->params[i];
	int type = gen_args_type_of(g, i);
	char name[MPK_DTYPE_TEXT];
	int whole = one_of(g, type, g->abi->integer, g->abi->boolean);

	gen_args_wrong_type(g, p, either(g, whole, mpk_gen_equals(g, type, g->abi->real)), type,
			    mpk_gen_format(g, "a number (%s)", mpk_dtype_print(p->dtype, name)));
	int as_int = mpk_host_convert(g->f, MPK_OP_TO_F64,
				      mpk_host_load(g->f, MPK_MEM_I64, g->args, cell(g, i)));
	int as_real = mpk_host_load(g->f, MPK_MEM_F64, g->args, cell(g, i));
	return mpk_host_select(g->f, whole, as_int, as_real, MPK_HOST_F64);
}

/* --- tensors ------------------------------------------------------------------------ */

/* Finds the DLTensor of argument i, in whatever form it was passed. */
static int tensor_address(struct mpk_gen *g, size_t i, int type)
{
	int p = mpk_host_load(g->f, MPK_MEM_PTR, g->args, cell(g, i));
	int object = mpk_gen_equals(g, type, g->abi->tensor_index);
	int zero = mpk_host_const(g->f, 0);
	int header = mpk_host_select(g->f, object, mpk_host_const(g->f, g->abi->tensor_header),
				     zero, MPK_HOST_I64);

	return mpk_host_op2(g->f, MPK_OP_OFFSET, p, header);
}

static int is_type(struct mpk_gen *g, int code, int64_t want_code, int bits, int64_t want_bits)
{
	int same_bits = mpk_gen_equals(g, bits, want_bits);

	return both(g, mpk_gen_equals(g, code, want_code), same_bits);
}

static void check_dtype(struct mpk_gen *g, const struct mpk_launch_param *p, int dl)
{
	static const char *const codes[] = { MPK_SA_CODE_NAMES };
	char want[MPK_DTYPE_TEXT];
	int code = mpk_host_load(g->f, MPK_MEM_U8, dl, MPK_GEN_DL_CODE);
	int bits = mpk_host_load(g->f, MPK_MEM_U8, dl, MPK_GEN_DL_BITS);
	int lanes = mpk_host_load(g->f, MPK_MEM_U16, dl, MPK_GEN_DL_LANES);
	int good = is_type(g, code, p->dtype.code, bits, p->dtype.bits);
	int fine = mpk_host_label(g->f);

	if (mpk_dtype_is_bool(p->dtype)) /* TVM up to 0.22 writes bool as uint1. */
		good = either(g, good, is_type(g, code, MPK_DTYPE_UINT, bits, 1));
	mpk_host_jump_if(g->f, good, fine);
	int last = mpk_host_const(g->f, MPK_ARRAY_COUNT(codes) - 1);
	int index = mpk_host_select(g->f, mpk_host_op2(g->f, MPK_OP_LT, code, last), code, last,
				    MPK_HOST_I64);
	int name = name_at(g, codes, MPK_ARRAY_COUNT(codes), index);
	mpk_gen_guard(g, mpk_host_const(g->f, 0), "TypeError",
		      mpk_gen_format(g, "%s: expected %s, got %%s%%lld", mpk_gen_who(g, p),
				     mpk_dtype_print(p->dtype, want)),
		      "pl", (int[]){ name, bits });
	mpk_host_set_label(g->f, fine);
	mpk_gen_guard(g, mpk_gen_equals(g, lanes, 1), "TypeError",
		      mpk_gen_format(g, "%s: expected %s, got vectors of %%lld lanes",
				     mpk_gen_who(g, p), mpk_dtype_print(p->dtype, want)),
		      "l", &lanes);
}

static int is_on_host(struct mpk_gen *g, int dl)
{
	int device = mpk_host_load(g->f, MPK_MEM_I32, dl, MPK_GEN_DL_DEVICE_TYPE);

	return one_of(g, device, MPK_DL_CPU, MPK_DL_CUDA_HOST);
}

/* Generates the name of the device type that was passed. Types without a name share one. */
static int device_name(struct mpk_gen *g, int device)
{
	enum { TYPES = MPK_DL_ROCM + 2 };
	const char **names = mpk_arena_array(g->arena, TYPES, sizeof *names);

	if (!names) {
		g->f->failed = true;
		return -1;
	}
	for (int i = 0; i < TYPES; i++) {
		const char *name = mpk_dl_device_name(i);

		names[i] = name && i < TYPES - 1 ? name : MPK_SA_OTHER_DEVICE;
	}
	int last = mpk_host_const(g->f, TYPES - 1), zero = mpk_host_const(g->f, 0);
	int below = mpk_host_op2(g->f, MPK_OP_LT, device, last);
	int known = both(g, mpk_host_op2(g->f, MPK_OP_LE, zero, device), below);
	int index = mpk_host_select(g->f, known, device, last, MPK_HOST_I64);

	return name_at(g, names, TYPES, index);
}

/* Generates the pointer for the kernel, after checks of byte_offset and alignment. */
static void check_data(struct mpk_gen *g, size_t i, int dl, int elements)
{
	const struct mpk_launch_param *p = &g->launch->params[i];
	int data = mpk_host_load(g->f, MPK_MEM_PTR, dl, MPK_GEN_DL_DATA);
	int offset = mpk_host_load(g->f, MPK_MEM_I64, dl, MPK_GEN_DL_OFFSET);
	int present = mpk_gen_equals(g, mpk_gen_is_null(g, data), 0);

	mpk_gen_guard(g, either(g, present, mpk_gen_equals(g, elements, 0)), "ValueError",
		      mpk_gen_format(g, "%s: has a null data pointer", mpk_gen_who(g, p)), "",
		      NULL);
	int whole = mpk_host_op2(g->f, MPK_OP_OFFSET, data, offset);
	if (!g->launch->plain_pointers)
		mpk_gen_guard(
			g, mpk_gen_equals(g, offset, 0), "ValueError",
			mpk_gen_format(
				g,
				"%s: byte_offset is %%lld; buffers of this device must be passed from their start",
				mpk_gen_who(g, p)),
			"l", &offset);
	else {
		size_t bytes = mpk_dtype_bytes(p->dtype), align = bytes;
		int address = mpk_host_convert(g->f, MPK_OP_ADDRESS, whole);

		while (p->divisible && align % p->divisible) /* the least common multiple */
			align += bytes;
		int rest = mpk_host_op2(g->f, MPK_OP_REM, address,
					mpk_host_const(g->f, (int64_t)align));

		mpk_gen_guard(g, mpk_gen_equals(g, rest, 0), "ValueError",
			      mpk_gen_format(g, "%s: data is not aligned to %zu bytes",
					     mpk_gen_who(g, p), align),
			      "", NULL);
	}
	mpk_host_store(g->f, MPK_MEM_PTR, g->data[i], 0, whole);
}

/* --- extents and strides -----------------------------------------------------------------
 *
 * For a parameter with dimensions the rank is known, and the code has no loop. For a parameter of
 * any shape the code loops from the last dimension to the first. Each iteration passes its values
 * to the next in memory, because a value can be set only once. */

static int check_extents(struct mpk_gen *g, const struct mpk_launch_param *p, int dl)
{
	int elements = mpk_host_const(g->f, 1), zero = mpk_host_const(g->f, 0);

	for (size_t d = 0; d < p->rank; d++) {
		int extent = mpk_gen_extent(g, dl, d);

		mpk_gen_guard(g, mpk_host_op2(g->f, MPK_OP_LE, zero, extent), "ValueError",
			      mpk_gen_format(g, "%s: dimension %zu is %%lld", mpk_gen_who(g, p), d),
			      "l", &extent);
		elements = mpk_host_op2(g->f, MPK_OP_MUL, elements, extent);
	}
	return elements;
}

/* --- any shape ------------------------------------------------------------------------ */

/* Offsets of the values that an iteration leaves in memory, 8 bytes each. */
enum { COUNT = 0, LEFT = 8, WRONG = 16, EXPECTED = 24 };

static int at(struct mpk_gen *g, int pointer, int index)
{
	int offset = mpk_host_op2(g->f, MPK_OP_MUL, index, mpk_host_const(g->f, 8));

	return mpk_host_load(g->f, MPK_MEM_I64, mpk_host_op2(g->f, MPK_OP_OFFSET, pointer, offset),
			     0);
}

static void check_any_turn(struct mpk_gen *g, const struct mpk_launch_param *p, int slot, int dl)
{
	int shape = mpk_host_load(g->f, MPK_MEM_PTR, dl, MPK_GEN_DL_SHAPE);
	int strides = mpk_host_load(g->f, MPK_MEM_PTR, dl, MPK_GEN_DL_STRIDES);
	int left = mpk_host_load(g->f, MPK_MEM_I64, slot, LEFT);
	int d = mpk_host_op2(g->f, MPK_OP_SUB, left, mpk_host_const(g->f, 1));
	int extent = at(g, shape, d), zero = mpk_host_const(g->f, 0);

	mpk_host_store(g->f, MPK_MEM_I64, slot, LEFT, d);
	mpk_gen_guard(g, mpk_host_op2(g->f, MPK_OP_LE, zero, extent), "ValueError",
		      mpk_gen_format(g, "%s: dimension %%lld is %%lld", mpk_gen_who(g, p)), "ll",
		      (int[]){ d, extent });

	/* Remembers the innermost stride that is not compact: whether that is an error is known only after
	 * all extents. */
	int fine = mpk_host_label(g->f), one = mpk_host_const(g->f, 1);
	int wrong = mpk_host_load(g->f, MPK_MEM_I64, slot, WRONG);

	mpk_host_jump_if(g->f, mpk_gen_is_null(g, strides), fine);
	mpk_host_jump_if(g->f, wrong, fine);
	mpk_host_jump_if(g->f, mpk_host_op2(g->f, MPK_OP_LE, extent, one), fine);
	int expected = mpk_host_load(g->f, MPK_MEM_I64, slot, COUNT);
	mpk_host_jump_if(g->f, mpk_host_op2(g->f, MPK_OP_EQ, at(g, strides, d), expected), fine);
	mpk_host_store(g->f, MPK_MEM_I64, slot, WRONG, mpk_host_op2(g->f, MPK_OP_ADD, d, one));
	mpk_host_store(g->f, MPK_MEM_I64, slot, EXPECTED, expected);
	mpk_host_set_label(g->f, fine);

	int count = mpk_host_load(g->f, MPK_MEM_I64, slot, COUNT);
	mpk_host_store(g->f, MPK_MEM_I64, slot, COUNT,
		       mpk_host_op2(g->f, MPK_OP_MUL, count, extent));
}

static int check_any_shape(struct mpk_gen *g, size_t i, int dl)
{
	const struct mpk_launch_param *p = &g->launch->params[i];
	int again = mpk_host_label(g->f), done = mpk_host_label(g->f), fine = mpk_host_label(g->f);
	int rank = mpk_host_load(g->f, MPK_MEM_I32, dl, MPK_GEN_DL_NDIM);
	int zero = mpk_host_const(g->f, 0), slot = g->counts[i];

	mpk_gen_guard(g, mpk_host_op2(g->f, MPK_OP_LE, zero, rank), "ValueError",
		      mpk_gen_format(g, "%s: has %%lld dimensions", mpk_gen_who(g, p)), "l", &rank);
	mpk_host_store(g->f, MPK_MEM_I64, slot, COUNT, mpk_host_const(g->f, 1));
	mpk_host_store(g->f, MPK_MEM_I64, slot, LEFT, rank);
	mpk_host_set_label(g->f, again);
	int left = mpk_host_load(g->f, MPK_MEM_I64, slot, LEFT);
	mpk_host_jump_if(g->f, mpk_gen_equals(g, left, 0), done);
	check_any_turn(g, p, slot, dl);
	mpk_host_jump(g->f, again);
	mpk_host_set_label(g->f, done);
	int count = mpk_host_load(g->f, MPK_MEM_I64, slot, COUNT);
	int wrong = mpk_host_load(g->f, MPK_MEM_I64, slot, WRONG);
	mpk_host_jump_if(g->f, either(g, mpk_gen_equals(g, wrong, 0), mpk_gen_equals(g, count, 0)),
			 fine);
	int d = mpk_host_op2(g->f, MPK_OP_SUB, wrong, mpk_host_const(g->f, 1));
	int strides = mpk_host_load(g->f, MPK_MEM_PTR, dl, MPK_GEN_DL_STRIDES);
	int stride = at(g, strides, d), expected = mpk_host_load(g->f, MPK_MEM_I64, slot, EXPECTED);
	mpk_gen_guard(
		g, mpk_host_const(g->f, 0), "ValueError",
		mpk_gen_format(
			g,
			"%s: must be contiguous: stride of dimension %%lld is %%lld, expected %%lld",
			mpk_gen_who(g, p)),
		"lll", (int[]){ d, stride, expected });
	mpk_host_set_label(g->f, fine);
	return count;
}

static int check_own_shape(struct mpk_gen *g, size_t i, int dl)
{
	const struct mpk_launch_param *p = &g->launch->params[i];
	int elements;

	if (p->any_shape)
		return check_any_shape(g, i, dl);
	elements = check_extents(g, p, dl);

	/* Requires compact row-major strides; an extent of 1 may have any stride, and so may an
	 * empty tensor. */
	int strides = mpk_host_load(g->f, MPK_MEM_PTR, dl, MPK_GEN_DL_STRIDES);
	int expected = mpk_host_const(g->f, 1), one = mpk_host_const(g->f, 1);
	int empty = mpk_gen_equals(g, elements, 0);
	int free_choice = either(g, mpk_gen_is_null(g, strides), empty);
	int done = mpk_host_label(g->f);

	mpk_host_jump_if(g->f, free_choice, done);
	for (size_t d = p->rank; d-- > 0;) {
		int extent = mpk_gen_extent(g, dl, d);
		int stride = mpk_host_load(g->f, MPK_MEM_I64, strides, 8 * (int64_t)d);
		int compact = mpk_host_op2(g->f, MPK_OP_EQ, stride, expected);
		int good = either(g, mpk_host_op2(g->f, MPK_OP_EQ, extent, one), compact);

		mpk_gen_guard(
			g, good, "ValueError",
			mpk_gen_format(
				g,
				"%s: must be contiguous: stride of dimension %zu is %%lld, expected %%lld",
				mpk_gen_who(g, p), d),
			"ll", (int[]){ stride, expected });
		expected = mpk_host_op2(g->f, MPK_OP_MUL, expected, extent);
	}
	mpk_host_set_label(g->f, done);

	return elements;
}

/* Checks everything about one tensor that needs no shape variable. */
static void check_tensor(struct mpk_gen *g, size_t i, int dl)
{
	const struct mpk_launch_param *p = &g->launch->params[i];
	mpk_gen_guard(g, mpk_gen_equals(g, mpk_gen_is_null(g, dl), 0), "ValueError",
		      mpk_gen_format(g, "%s: is a null pointer", mpk_gen_who(g, p)), "", NULL);

	/* Rank first, because shape and strides are only read up to it. */
	int ndim = mpk_host_load(g->f, MPK_MEM_I32, dl, MPK_GEN_DL_NDIM);

	if (!p->any_shape)
		mpk_gen_guard(g, mpk_gen_equals(g, ndim, (int64_t)p->rank), "ValueError",
			      mpk_gen_format(g, "%s: expected %zu dimension%s, got %%lld",
					     mpk_gen_who(g, p), p->rank, p->rank == 1 ? "" : "s"),
			      "l", &ndim);
	check_dtype(g, p, dl);

	int32_t type = g->launch->device_type;
	const char *where = mpk_gen_format(g, "on %s", mpk_dl_device_name(type));
	int device = mpk_host_load(g->f, MPK_MEM_I32, dl, MPK_GEN_DL_DEVICE_TYPE);
	int good = g->launch->on_host ? is_on_host(g, dl) : mpk_gen_equals(g, device, type);
	int fine = mpk_host_label(g->f);

	mpk_host_jump_if(g->f, good, fine);
	int name = device_name(g, device);
	mpk_gen_guard(g, mpk_host_const(g->f, 0), "ValueError",
		      mpk_gen_format(g, "%s must be %s, is on %%s", mpk_gen_who(g, p), where), "p",
		      &name);
	mpk_host_set_label(g->f, fine);

	check_data(g, i, dl, check_own_shape(g, i, dl));
}

static const char *described(struct mpk_gen *g, const struct mpk_launch_param *p)
{
	const char *text = p->any_shape ? "a tensor"
					: mpk_gen_format(g, "a tensor of %zu dimension%s", p->rank,
							 p->rank == 1 ? "" : "s");

	return p->optional ? mpk_gen_format(g, "%s or None", text) : text;
}

static void unpack_tensor(struct mpk_gen *g, size_t i)
{
	const struct mpk_launch_param *p = &g->launch->params[i];
	int type = gen_args_type_of(g, i), done = mpk_host_label(g->f);
	int object = mpk_gen_equals(g, type, g->abi->tensor_index);
	int good = either(g, one_of(g, type, MPK_FFI_DLTENSOR, g->abi->opaque), object);

	g->data[i] = mpk_host_slot(g->f, 16);
	if (p->any_shape)
		g->counts[i] = mpk_host_slot(g->f, MPK_GEN_COUNT_BYTES);
	if (p->optional) {
		g->dl[i] = mpk_host_slot(g->f, 16);
		mpk_host_jump_if(g->f, mpk_gen_equals(g, type, g->abi->none), done);
	}
	gen_args_wrong_type(g, p, good, type, described(g, p));
	int dl = tensor_address(g, i, type);
	check_tensor(g, i, dl);
	if (p->optional)
		mpk_host_store(g->f, MPK_MEM_PTR, g->dl[i], 0, dl);
	else
		g->dl[i] = dl;
	mpk_host_set_label(g->f, done);
}

void mpk_gen_argument(struct mpk_gen *g, size_t i)
{
	const struct mpk_launch_param *p = &g->launch->params[i];

	mpk_host_comment(g->f, mpk_gen_format(g, "argument %.*s", MPK_SPAN_ARG(p->name)));
	if (p->is_tensor)
		unpack_tensor(g, i);
	else if (p->dtype.code == MPK_DTYPE_FLOAT || p->dtype.code == MPK_DTYPE_BFLOAT)
		g->scalar[i] = real_scalar(g, i);
	else
		g->scalar[i] = int_scalar(g, i);
}
