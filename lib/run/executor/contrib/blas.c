/* SPDX-License-Identifier: Apache-2.0 */
/* blas.c - matrix products by plain loops
 *
 * Models that were compiled for a BLAS library call it by these names; they run without the
 * library, but slowly. Sums are computed in double precision for all types, so results are at least
 * as exact as the library's. The innermost loop runs along rows of b, so compilers can vectorise it
 * if b is not transposed. */
#include <inttypes.h>
#include <stdlib.h>

#include "executor/contrib/contrib.h"

/* A batch of matrices; strides are in elements. */
struct matrices {
	void *data;
	int64_t count, rows, columns;
	int64_t next, row, column; /* stride to the next matrix, row and column */
};

/* A tensor without strides is compact: the last dimension is contiguous. */
static int64_t stride_of(const struct mpk_dltensor *dl, int32_t axis)
{
	int64_t stride = 1;

	if (dl->strides)
		return dl->strides[axis];
	for (int32_t i = dl->ndim - 1; i > axis; i--)
		stride *= dl->shape[i];
	return stride;
}

/* Reads argument i as matrices. All arguments must have the type of the first. */
static enum mpk_code blas_take(const struct mpk_contrib_args *a, size_t i, int32_t ndim,
			       struct matrices *out, struct mpk_dtype *type, struct mpk_error *err)
{
	static double nothing; /* address for a matrix without elements */
	const struct mpk_dltensor *dl;
	struct mpk_tensor *t;
	char name[MPK_DTYPE_TEXT];

	MPK_TRY(mpk_contrib_tensor(a, i, &t, err));
	dl = &t->dl;
	if (!mpk_dldevice_is_host(dl->device) || dl->ndim != ndim ||
	    dl->dtype.code != MPK_DTYPE_FLOAT || dl->dtype.lanes != 1 ||
	    (dl->dtype.bits != 32 && dl->dtype.bits != 64) ||
	    (type->bits && !mpk_dtype_equal(dl->dtype, *type)))
		return mpk_contrib_raise(
			a, err, "TypeError",
			"argument %zu must be float32 or float64, as the others, of %d dimensions in host memory, not %s of %d",
			i, ndim, mpk_dtype_print(dl->dtype, name), dl->ndim);
	*type = dl->dtype;
	*out = (struct matrices){ .data = dl->data ? mpk_dltensor_data(dl) : &nothing,
				  .count = ndim == 3 ? dl->shape[0] : 1,
				  .rows = dl->shape[ndim - 2],
				  .columns = dl->shape[ndim - 1],
				  .next = ndim == 3 ? stride_of(dl, 0) : 0,
				  .row = stride_of(dl, ndim - 2),
				  .column = stride_of(dl, ndim - 1) };
	return MPK_OK;
}

/* Exchanges rows and columns and their strides; no element is moved. */
static void transpose(struct matrices *m)
{
	struct matrices was = *m;

	m->rows = was.columns;
	m->columns = was.rows;
	m->row = was.column;
	m->column = was.row;
}

/* c = alpha * a b + beta * c */
struct product {
	struct matrices a, b, c;
	double alpha, beta;
	struct mpk_dtype type;
	double *sums; /* one row of c */
};

/* Loads either type as double, because sums of many float32 would lose digits. */
static double blas_load(const struct product *p, const struct matrices *m, int64_t at)
{
	return p->type.bits == 64 ? ((const double *)m->data)[at]
				  : (double)((const float *)m->data)[at];
}

static void store(const struct product *p, int64_t at, double sum)
{
	/* if beta is 0, c is not read, because it may be uninitialised */
	double value = p->alpha * sum + (p->beta != 0 ? p->beta * blas_load(p, &p->c, at) : 0);

	if (p->type.bits == 64)
		((double *)p->c.data)[at] = value;
	else
		((float *)p->c.data)[at] = (float)value;
}

/* Adds x times a row of b to sums. */
static void blas_add_row(const struct product *p, int64_t row, double x)
{
	const float *singles = (const float *)p->b.data + (p->type.bits == 32 ? row : 0);
	const double *doubles = (const double *)p->b.data + (p->type.bits == 64 ? row : 0);
	int64_t n = p->b.columns, step = p->b.column;

	if (p->type.bits == 32 && step == 1)
		for (int64_t j = 0; j < n; j++)
			p->sums[j] += x * (double)singles[j];
	else if (p->type.bits == 32)
		for (int64_t j = 0; j < n; j++)
			p->sums[j] += x * (double)singles[j * step];
	else
		for (int64_t j = 0; j < n; j++)
			p->sums[j] += x * doubles[j * step];
}

/* Multiplies matrix i of the batch; a batch of one is used for every i. */
static void multiply(const struct product *p, int64_t i)
{
	int64_t a = p->a.count == 1 ? 0 : i * p->a.next, b = p->b.count == 1 ? 0 : i * p->b.next;

	for (int64_t row = 0; row < p->c.rows; row++) {
		for (int64_t j = 0; j < p->c.columns; j++)
			p->sums[j] = 0;
		for (int64_t k = 0; k < p->a.columns; k++)
			blas_add_row(p, b + k * p->b.row,
				     blas_load(p, &p->a, a + row * p->a.row + k * p->a.column));
		for (int64_t j = 0; j < p->c.columns; j++)
			store(p, i * p->c.next + row * p->c.row + j * p->c.column, p->sums[j]);
	}
}

static enum mpk_code blas_check(const struct mpk_contrib_args *args, const struct product *p,
				struct mpk_error *err)
{
	const struct matrices *a = &p->a, *b = &p->b, *c = &p->c;

	if (a->columns == b->rows && c->rows == a->rows && c->columns == b->columns &&
	    (a->count == c->count || a->count == 1) && (b->count == c->count || b->count == 1))
		return MPK_OK;
	return mpk_contrib_raise(args, err, "ValueError",
				 "%" PRId64 "x%" PRId64 "x%" PRId64 " times %" PRId64 "x%" PRId64
				 "x%" PRId64 " is not %" PRId64 "x%" PRId64 "x%" PRId64,
				 a->count, a->rows, a->columns, b->count, b->rows, b->columns,
				 c->count, c->rows, c->columns);
}

static enum mpk_code blas_call(const char *name, int32_t ndim, const struct mpk_args *args,
			       struct mpk_error *err)
{
	const struct mpk_contrib_args a = { name, args->values, args->count };
	struct product p = { .alpha = 1 };

	int64_t transposed[2];

	MPK_TRY(mpk_contrib_arity(&a, 5, 7, err));
	MPK_TRY(blas_take(&a, 0, ndim, &p.a, &p.type, err));
	MPK_TRY(blas_take(&a, 1, ndim, &p.b, &p.type, err));
	MPK_TRY(blas_take(&a, 2, ndim, &p.c, &p.type, err));
	MPK_TRY(mpk_contrib_int(&a, 3, &transposed[0], err));
	MPK_TRY(mpk_contrib_int(&a, 4, &transposed[1], err));
	if (a.count > 5)
		MPK_TRY(mpk_contrib_float(&a, 5, &p.alpha, err));
	if (a.count > 6)
		MPK_TRY(mpk_contrib_float(&a, 6, &p.beta, err));
	if (transposed[0])
		transpose(&p.a);
	if (transposed[1])
		transpose(&p.b);
	MPK_TRY(blas_check(&a, &p, err));

	p.sums = calloc((size_t)p.c.columns + 1, sizeof *p.sums);
	MPK_TRY_ALLOC(p.sums, err);
	for (int64_t i = 0; i < p.c.count; i++)
		multiply(&p, i);
	free(p.sums);
	return MPK_OK;
}

static enum mpk_code matmul(struct mpk_runtime *runtime, const struct mpk_args *args,
			    struct mpk_value *result, struct mpk_error *err)
{
	(void)runtime;
	(void)result;
	return blas_call("matmul", 2, args, err);
}

static enum mpk_code batch_matmul(struct mpk_runtime *runtime, const struct mpk_args *args,
				  struct mpk_value *result, struct mpk_error *err)
{
	(void)runtime;
	(void)result;
	return blas_call("batch_matmul", 3, args, err);
}

static const struct mpk_global rows[] = {
	{ "tvm.contrib.cblas.batch_matmul", batch_matmul },
	{ "tvm.contrib.cblas.batch_matmul_iterative", batch_matmul },
	{ "tvm.contrib.cblas.matmul", matmul },
	{ "tvm.contrib.mkl.batch_matmul", batch_matmul },
	{ "tvm.contrib.mkl.batch_matmul_iterative", batch_matmul },
	{ "tvm.contrib.mkl.matmul", matmul },
};

const struct mpk_contrib_globals mpk_contrib_blas = { rows, MPK_ARRAY_COUNT(rows) };
