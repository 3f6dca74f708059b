/* SPDX-License-Identifier: Apache-2.0 */
/* arguments.c - checks the arguments of a launch function: their number, their types, each tensor
 * separately, then the shapes that relate tensors to each other. Nothing is used before it is
 * checked. Then evaluates expressions and computes the arguments of kernels. */
#include <string.h>

#include "launch/standalone/loader.h"
#include "launch/standalone/names.h"

/* Two format strings come from the library's tables. */
#pragma GCC diagnostic ignored "-Wformat-nonliteral"

#define SA_COUNT(a) ((int)(sizeof(a) / sizeof *(a)))

/* Type codes of the convention, and the place of the DLTensor in a tensor's object. */
#ifdef MPK_SA_LEGACY
enum {
	SA_TYPE_NONE = MPK_TVM_NULL,
	SA_TYPE_INTEGER = MPK_TVM_INT,
	SA_TYPE_BOOL = MPK_TVM_BOOL,
	SA_TYPE_REAL = MPK_TVM_FLOAT,
	SA_TYPE_POINTER = MPK_TVM_HANDLE,
	SA_TYPE_TENSOR = MPK_TVM_NDARRAY,
	SA_TENSOR_HEADER = 0
};
static const char *const sa_type_names[] = { MPK_SA_LEGACY_NAMES };
#else
enum {
	SA_TYPE_NONE = MPK_FFI_NONE,
	SA_TYPE_INTEGER = MPK_FFI_INT,
	SA_TYPE_BOOL = MPK_FFI_BOOL,
	SA_TYPE_REAL = MPK_FFI_FLOAT,
	SA_TYPE_POINTER = MPK_FFI_OPAQUE,
#ifdef MPK_SA_HYBRID
	SA_TYPE_TENSOR = MPK_FFI021_TENSOR,
	SA_TENSOR_HEADER = 16
#else
	SA_TYPE_TENSOR = MPK_FFI_TENSOR,
	SA_TENSOR_HEADER = 24
#endif
};
static const char *const sa_type_names[] = { MPK_SA_FFI_NAMES };
#endif

static int32_t sa_type_at(const struct mpk_sa_run *r, int32_t i)
{
#ifdef MPK_SA_LEGACY
	return r->codes[i];
#else
	return r->args[i].type;
#endif
}

static uint64_t sa_value_at(const struct mpk_sa_run *r, int32_t i)
{
#ifdef MPK_SA_LEGACY
	return r->args[i];
#else
	return r->args[i].value;
#endif
}

static int sa_is_whole(int32_t type)
{
	return type == SA_TYPE_INTEGER || type == SA_TYPE_BOOL;
}

/* Returns a number argument, integer or real, as a double. */
static double sa_real(const struct mpk_sa_run *r, int32_t i)
{
	uint64_t bits = sa_value_at(r, i);
	double real;

	if (sa_is_whole(sa_type_at(r, i)))
		return (double)(int64_t)bits;
	memcpy(&real, &bits, sizeof real);
	return real;
}

/* Whether a type with so many bits can hold the value; 64 bits hold every value. */
static int sa_fits(int64_t value, unsigned code, unsigned bits, unsigned truth)
{
	unsigned width = truth ? 1 : bits, is_signed = code == MPK_DTYPE_INT && !truth;
	int64_t high;

	if (width == 0 || width >= 64)
		return 1;
	high = (int64_t)((UINT64_C(1) << (width - is_signed)) - 1);
	return value <= high && value >= (is_signed ? -high - 1 : 0);
}

/* Raises "f: argument 'x'" and what is wrong with it, from a format and its values. */
#define SA_REFUSE(r, p, kind, fmt, ...)                                                            \
	mpk_sa_refuse(kind, "%s: argument '%s'" fmt, mpk_sa_text((r)->f->name),                    \
		      mpk_sa_text((p)->name), __VA_ARGS__)

static int sa_wrong_type(const struct mpk_sa_run *r, const struct mpk_sa_param *p, int32_t type)
{
	const int last = SA_COUNT(sa_type_names) - 1;
	const char *name = sa_type_names[type >= 0 && type < last ? type : last];
	const char *none = p->flags & MPK_SA_OPTIONAL ? " or None" : "";

	if (p->kind == MPK_SA_INTEGER)
		return SA_REFUSE(r, p, "TypeError", ": expected an integer (%s), got %s",
				 mpk_sa_text(p->type), name);
	if (p->kind == MPK_SA_REAL)
		return SA_REFUSE(r, p, "TypeError", ": expected a number (%s), got %s",
				 mpk_sa_text(p->type), name);
	if (p->flags & MPK_SA_ANY_SHAPE)
		return SA_REFUSE(r, p, "TypeError", ": expected a tensor%s, got %s", none, name);
	return SA_REFUSE(r, p, "TypeError", ": expected a tensor of %d dimension%s%s, got %s",
			 p->rank, p->rank == 1 ? "" : "s", none, name);
}

/* --- numbers --------------------------------------------------------------------------------- */

/* A bool is taken as an integer, as Python takes True for 1. */
static int sa_check_number(const struct mpk_sa_run *r, const struct mpk_sa_param *p, int32_t i)
{
	int32_t type = sa_type_at(r, i);
	int64_t value = (int64_t)sa_value_at(r, i);

	if (!sa_is_whole(type) && (p->kind == MPK_SA_INTEGER || type != SA_TYPE_REAL))
		return sa_wrong_type(r, p, type);
	if (p->kind == MPK_SA_REAL)
		return 0;
	if (!sa_fits(value, p->code, p->bits, p->truth))
		return SA_REFUSE(r, p, "ValueError", ": %lld does not fit %s", (long long)value,
				 mpk_sa_text(p->type));
	if (p->divisor > 1 && value % p->divisor)
		return SA_REFUSE(r, p, "ValueError", ": %lld is no multiple of %d",
				 (long long)value, p->divisor);
	return 0;
}

/* --- each tensor separately ------------------------------------------------------------------- */

static int sa_check_type(const struct mpk_sa_run *r, const struct mpk_sa_param *p,
			 const struct mpk_sa_tensor *dl)
{
	static const char *const codes[] = { MPK_SA_CODE_NAMES };
	const int last = SA_COUNT(codes) - 1;

	/* TVM up to 0.22 writes bool as uint1. */
	if (!(dl->code == p->code && dl->bits == p->bits) &&
	    !(p->truth && dl->code == MPK_DTYPE_UINT && dl->bits == 1))
		return SA_REFUSE(r, p, "TypeError", ": expected %s, got %s%d", mpk_sa_text(p->type),
				 codes[dl->code < last ? dl->code : last], dl->bits);
	if (dl->lanes != 1)
		return SA_REFUSE(r, p, "TypeError", ": expected %s, got vectors of %d lanes",
				 mpk_sa_text(p->type), dl->lanes);
	return 0;
}

/* The device of an OpenCL buffer cannot be checked: its handle may belong to any context, and
 * asking the driver about it is not safe. */
static int sa_check_device(const struct mpk_sa_run *r, const struct mpk_sa_param *p,
			   const struct mpk_sa_tensor *dl)
{
	const char *name = MPK_SA_OTHER_DEVICE;
	int type = mpk_sa_device_of(r)->type;

	if (mpk_sa_on_host(dl) || (type == MPK_DL_CUDA && dl->device_type == type))
		return 0;
	switch (dl->device_type) {
#define SA_DEVICE(member, number, text)                                                            \
	case number:                                                                               \
		name = text;                                                                       \
		break;
		MPK_DL_DEVICES(SA_DEVICE)
#undef SA_DEVICE
	default:
		break;
	}
	return mpk_sa_refuse("ValueError", mpk_sa_text(r->f->where), mpk_sa_text(p->name), name);
}

/* Requires compact row-major strides. An extent of 1 may have any stride, and so may an empty
 * tensor. */
static int sa_check_strides(const struct mpk_sa_run *r, const struct mpk_sa_param *p,
			    const struct mpk_sa_slot *s)
{
	const struct mpk_sa_tensor *dl = s->dl;
	int64_t expected = 1;

	if (!dl->strides || s->empty)
		return 0;
	for (int32_t d = dl->ndim; d-- > 0;) {
		if (dl->shape[d] != 1 && dl->strides[d] != expected)
			return SA_REFUSE(
				r, p, "ValueError",
				": must be contiguous: stride of dimension %d is %lld, expected %lld",
				d, (long long)dl->strides[d], (long long)expected);
		expected = (int64_t)((uint64_t)expected * (uint64_t)dl->shape[d]);
	}
	return 0;
}

/* Checks the rank first, because shape and strides have that many elements. */
static int sa_check_shape(const struct mpk_sa_run *r, const struct mpk_sa_param *p,
			  struct mpk_sa_slot *s)
{
	const struct mpk_sa_tensor *dl = s->dl;

	if (dl->ndim < 0)
		return SA_REFUSE(r, p, "ValueError", ": has %d dimensions", dl->ndim);
	s->count = 1;
	for (int32_t d = 0; d < dl->ndim; d++) {
		if (dl->shape[d] < 0)
			return SA_REFUSE(r, p, "ValueError", ": dimension %d is %lld", d,
					 (long long)dl->shape[d]);
		s->count = (int64_t)((uint64_t)s->count * (uint64_t)dl->shape[d]);
		s->empty |= dl->shape[d] == 0;
	}
	return sa_check_strides(r, p, s);
}

/* Computes the pointer for the kernel, after checking byte_offset and alignment. */
static int sa_check_data(const struct mpk_sa_run *r, const struct mpk_sa_param *p,
			 struct mpk_sa_slot *s)
{
	const struct mpk_sa_tensor *dl = s->dl;

	if (!dl->data && s->count)
		return SA_REFUSE(r, p, "ValueError", ": has a null data pointer%s", "");
	s->data = (void *)((uintptr_t)dl->data + dl->offset);
	if (!mpk_sa_on_host(dl) && (uintptr_t)s->data % (uintptr_t)p->divisor)
		return SA_REFUSE(r, p, "ValueError", ": data is not aligned to %d bytes",
				 p->divisor);
	return 0;
}

static int sa_check_tensor(const struct mpk_sa_run *r, const struct mpk_sa_param *p, int32_t i)
{
	struct mpk_sa_slot *s = &r->slots[i];
	int32_t type = sa_type_at(r, i);
	uintptr_t at = (uintptr_t)sa_value_at(r, i);

	if (type == SA_TYPE_NONE && p->flags & MPK_SA_OPTIONAL)
		return 0;
	if (type != MPK_FFI_DLTENSOR && type != SA_TYPE_POINTER && type != SA_TYPE_TENSOR)
		return sa_wrong_type(r, p, type);
	if (type == SA_TYPE_TENSOR)
		at += SA_TENSOR_HEADER;
	s->dl = (const struct mpk_sa_tensor *)at;
	if (!s->dl)
		return SA_REFUSE(r, p, "ValueError", ": is a null pointer%s", "");
	if (!(p->flags & MPK_SA_ANY_SHAPE) && s->dl->ndim != p->rank)
		return SA_REFUSE(r, p, "ValueError", ": expected %d dimension%s, got %d", p->rank,
				 p->rank == 1 ? "" : "s", s->dl->ndim);
	if (sa_check_type(r, p, s->dl) || sa_check_device(r, p, s->dl) || sa_check_shape(r, p, s))
		return -1;
	return sa_check_data(r, p, s);
}

/* --- expressions ----------------------------------------------------------------------------- */

/* expressions nest at most 64 levels deep, and each level keeps at most one operand */
enum { SA_STACK = 160 };

static int64_t sa_variable(const struct mpk_sa_run *r, int64_t i)
{
	const struct mpk_sa_var *v = &mpk_sa_vars[r->f->vars + i];

	return v->dim == MPK_SA_NONE ? (int64_t)sa_value_at(r, v->param)
				     : r->slots[v->param].dl->shape[v->dim];
}

/* Division where b is neither 0 nor -1, so that no machine traps. */
static int sa_divide(const struct mpk_sa_run *r, int64_t op, int64_t *a, int64_t b, int32_t text)
{
	int64_t rest;

	if (b <= 0)
		return mpk_sa_refuse("ValueError", "%s: '%s' divides by %lld",
				     mpk_sa_text(r->f->name), mpk_sa_text(text), (long long)b);
	rest = *a % b;
	*a = op == MPK_SA_MOD ? rest : *a / b + (op == MPK_SA_CEILDIV && rest > 0);
	return 0;
}

/* Computes a op b, and stores the result in a. */
static int sa_apply(const struct mpk_sa_run *r, int64_t op, int64_t *a, int64_t b, int32_t text)
{
	int over = 0;

	switch (op) {
	case MPK_SA_ADD:
		over = __builtin_add_overflow(*a, b, a);
		break;
	case MPK_SA_SUB:
		over = __builtin_sub_overflow(*a, b, a);
		break;
	case MPK_SA_MUL:
		over = __builtin_mul_overflow(*a, b, a);
		break;
	case MPK_SA_MIN:
		*a = *a < b ? *a : b;
		break;
	case MPK_SA_MAX:
		*a = *a < b ? b : *a;
		break;
	default:
		return sa_divide(r, op, a, b, text);
	}
	if (over)
		return mpk_sa_refuse("ValueError", "%s: '%s' overflows 64 bits",
				     mpk_sa_text(r->f->name), mpk_sa_text(text));
	return 0;
}

/* Operands are evaluated in written order, so that the first error is reported. */
static int sa_eval_words(const struct mpk_sa_run *r, const struct mpk_sa_expr *e, int64_t *out)
{
	int64_t stack[SA_STACK];
	int n = 0;

	stack[0] = 0;
	for (const int64_t *w = &mpk_sa_words[e->value]; *w != MPK_SA_END; w++) {
		if (*w == MPK_SA_NUMBER)
			stack[n++] = *++w;
		else if (*w == MPK_SA_NAME)
			stack[n++] = sa_variable(r, *++w);
		else if (n--, sa_apply(r, *w, &stack[n - 1], stack[n], e->text))
			return -1;
	}
	*out = stack[0];
	return 0;
}

int mpk_sa_eval(const struct mpk_sa_run *r, int32_t expr, int64_t *out)
{
	const struct mpk_sa_expr *e = &mpk_sa_exprs[expr];

	if (e->op == MPK_SA_WORDS)
		return sa_eval_words(r, e, out);
	*out = e->op == MPK_SA_NUMBER ? e->value : sa_variable(r, e->value);
	return 0;
}

/* --- tensors compared with each other --------------------------------------------------------- */

/* Returns the device number of the first tensor that is always present and is on the device; 0 if
 *         all tensors are in host memory. */
static int sa_device_of(const struct mpk_sa_run *r, const struct mpk_sa_param *params)
{
	for (int32_t i = 0; i < r->f->param_count; i++)
		if (params[i].kind == MPK_SA_TENSOR && !(params[i].flags & MPK_SA_OPTIONAL) &&
		    !mpk_sa_on_host(r->slots[i].dl))
			return r->slots[i].dl->device_id;
	return 0;
}

static int sa_check_dims(const struct mpk_sa_run *r, const struct mpk_sa_param *p,
			 const struct mpk_sa_tensor *dl)
{
	if (!mpk_sa_on_host(dl) && dl->device_id != r->device)
		return SA_REFUSE(r, p, "ValueError",
				 ": is on device %d, the first tensor on device %d", dl->device_id,
				 r->device);
	for (int32_t d = 0; d < p->rank; d++) {
		const struct mpk_sa_expr *e = &mpk_sa_exprs[p->dims + d];
		int named = e->op != MPK_SA_NUMBER;
		int64_t want;

		if (mpk_sa_eval(r, p->dims + d, &want))
			return -1;
		if (dl->shape[d] != want)
			return SA_REFUSE(r, p, "ValueError",
					 ": dimension %d is %lld, expected %s%s%lld", d,
					 (long long)dl->shape[d], named ? mpk_sa_text(e->text) : "",
					 named ? " = " : "", (long long)want);
	}
	return 0;
}

int mpk_sa_check(struct mpk_sa_run *r)
{
	const struct mpk_sa_param *params = &mpk_sa_params[r->f->params];

	if (r->count != r->f->param_count)
		return mpk_sa_refuse("TypeError", mpk_sa_text(r->f->takes), (long long)r->count);
	for (int32_t i = 0; i < r->count; i++) {
		const struct mpk_sa_param *p = &params[i];

		if (p->kind == MPK_SA_TENSOR ? sa_check_tensor(r, p, i) : sa_check_number(r, p, i))
			return -1;
	}
	r->device = sa_device_of(r, params);
	for (int32_t i = 0; i < r->count; i++)
		if (params[i].kind == MPK_SA_TENSOR && r->slots[i].dl &&
		    sa_check_dims(r, &params[i], r->slots[i].dl))
			return -1;
	return 0;
}

/* --- arguments of a kernel -------------------------------------------------------------------- */

static uint64_t sa_real_bits(double real)
{
	uint64_t bits;

	memcpy(&bits, &real, sizeof bits);
	return bits;
}

/* The kernel's integer may have fewer bits. A value that does not fit is refused, never
 * truncated. */
static int sa_integer(const struct mpk_sa_run *r, const struct mpk_sa_kernel *k, unsigned i,
		      const struct mpk_sa_arg *a, uint64_t *cell)
{
	const unsigned char *type = k->types[i];
	int64_t value;

	if (mpk_sa_eval(r, a->index, &value))
		return -1;
	*cell = (uint64_t)value;
	if (type[0] == MPK_DTYPE_FLOAT || type[0] == MPK_DTYPE_BFLOAT)
		*cell = sa_real_bits((double)value);
	else if (!sa_fits(value, type[0], type[1], a->truth))
		return mpk_sa_refuse(
			"ValueError", "%s: '%s' = %lld does not fit the %s that kernel '%s' takes",
			mpk_sa_text(r->f->name), mpk_sa_text(mpk_sa_exprs[a->index].text),
			(long long)value, mpk_sa_text(a->type), k->name);
	return 0;
}

int mpk_sa_fill(const struct mpk_sa_run *r, const struct mpk_sa_step *s, uint64_t *cells)
{
	const struct mpk_sa_kernel *k = &mpk_sa_kernels[s->kernel];

	for (unsigned i = 0; i < k->arg_count; i++) {
		const struct mpk_sa_arg *a = &mpk_sa_args[s->args + (int32_t)i];

		cells[i] = 0;
		if (a->kind == MPK_SA_ARG_PARAM)
			cells[i] = (uintptr_t)r->slots[a->index].data;
		else if (a->kind == MPK_SA_ARG_TEMP)
			cells[i] = (uintptr_t)r->temps[a->index];
		else if (a->kind == MPK_SA_ARG_REAL)
			cells[i] = sa_real_bits(sa_real(r, a->index));
		else if (a->kind == MPK_SA_ARG_LITERAL)
			cells[i] = (uint64_t)mpk_sa_words[a->index];
		else if (a->kind == MPK_SA_ARG_INTEGER && sa_integer(r, k, i, a, &cells[i]))
			return -1;
	}
	return 0;
}
