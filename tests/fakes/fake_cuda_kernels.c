/* SPDX-License-Identifier: Apache-2.0 */
/* fake_cuda_kernels.c - the kernels of the tests' modules, done by the host
 *
 * Each thread of the grid reads and writes what the real kernel would, so that a wrong
 * pointer, width or extent shows as a wrong result or a fault.
 */
#include <stdint.h>
#include <string.h>

#include "base/half.h"
#include "device/internal/cuda_abi.h"
#include "fake_cuda.h"

static unsigned threads_of(const struct fake_launch *l)
{
	return l->grid[0] * l->block[0];
}

static unsigned long long address_at(const struct fake_launch *l, unsigned i)
{
	unsigned long long address;

	memcpy(&address, l->params[i], sizeof address);
	return address;
}

static float *floats_at(const struct fake_launch *l, unsigned i, size_t count)
{
	return fake_host(address_at(l, i), count * sizeof(float));
}

static unsigned run_add(const struct fake_launch *l)
{
	unsigned n = threads_of(l);
	const float *a = floats_at(l, 0, n), *b = floats_at(l, 1, n);
	float *c = floats_at(l, 2, n);

	if (!a || !b || !c)
		return MPK_CU_ILLEGAL_ADDRESS;
	for (unsigned i = 0; i < n; i++)
		c[i] = a[i] + b[i];
	return MPK_CU_SUCCESS;
}

static unsigned scale_add(const struct fake_launch *l, int64_t n)
{
	float alpha;

	memcpy(&alpha, l->params[2], sizeof alpha);
	if (n > (int64_t)threads_of(l))
		n = threads_of(l);
	if (n < 0)
		return MPK_CU_ILLEGAL_ADDRESS;
	const float *x = floats_at(l, 0, (size_t)n);
	float *y = floats_at(l, 1, (size_t)n);

	if (!x || !y)
		return MPK_CU_ILLEGAL_ADDRESS;
	for (int64_t i = 0; i < n; i++)
		y[i] = x[i] * alpha + y[i];
	return MPK_CU_SUCCESS;
}

static unsigned run_saxpy(const struct fake_launch *l)
{
	int64_t n;

	memcpy(&n, l->params[3], sizeof n);
	return scale_add(l, n);
}

/* The kernels of tests/data/launch/kernels.cu. */
static unsigned run_saxpy_int(const struct fake_launch *l)
{
	int32_t n;

	memcpy(&n, l->params[3], sizeof n);
	return scale_add(l, n);
}

static unsigned run_transpose(const struct fake_launch *l)
{
	enum { TILE = 16 };
	int32_t size[2];

	for (unsigned i = 0; i < 2; i++)
		memcpy(&size[i], l->params[2 + i], sizeof size[i]);
	size_t rows = (size_t)size[0], cols = (size_t)size[1];
	const float *x = floats_at(l, 0, rows * cols);
	float *y = floats_at(l, 1, rows * cols);

	if (!x || !y || l->block[0] != TILE || l->block[1] != TILE || l->grid[0] * TILE < cols ||
	    l->grid[1] * TILE < rows || l->shared_bytes < TILE * (TILE + 1) * sizeof(float))
		return MPK_CU_ILLEGAL_ADDRESS;
	for (size_t r = 0; r < rows; r++)
		for (size_t c = 0; c < cols; c++)
			y[c * rows + r] = x[r * cols + c];
	return MPK_CU_SUCCESS;
}

static unsigned run_reduce(const struct fake_launch *l)
{
	enum { BLOCK = 256 };
	int64_t n;

	memcpy(&n, l->params[2], sizeof n);
	const float *x = floats_at(l, 0, (size_t)n);
	float *part = floats_at(l, 1, l->grid[0]);

	if (!x || !part || l->block[0] != BLOCK)
		return MPK_CU_ILLEGAL_ADDRESS;
	for (unsigned b = 0; b < l->grid[0]; b++) {
		float sums[BLOCK];

		for (int64_t i = 0; i < BLOCK; i++)
			sums[i] = b * BLOCK + i < n ? x[b * BLOCK + i] : 0;
		for (unsigned step = BLOCK / 2; step > 0; step /= 2)
			for (unsigned i = 0; i < step; i++)
				sums[i] += sums[i + step];
		part[b] = sums[0];
	}
	return MPK_CU_SUCCESS;
}

/* By powers of two only, which binary16 does by its exponent: no conversions needed. */
static unsigned run_scale_half(const struct fake_launch *l)
{
	uint16_t alpha;
	int64_t n;

	memcpy(&alpha, l->params[2], sizeof alpha);
	memcpy(&n, l->params[3], sizeof n);
	const uint16_t *x = fake_host(address_at(l, 0), (size_t)n * sizeof *x);
	uint16_t *y = fake_host(address_at(l, 1), (size_t)n * sizeof *y);

	if (!x || !y || (alpha & 0x3ff))
		return MPK_CU_ILLEGAL_ADDRESS;
	for (int64_t i = 0; i < n; i++)
		y[i] = (uint16_t)(x[i] ? x[i] + alpha - 0x3c00 : 0);
	return MPK_CU_SUCCESS;
}

/* B = A reversed, through 64 floats of dynamic shared memory. */
static unsigned run_rev(const struct fake_launch *l)
{
	unsigned n = threads_of(l);
	const float *a = floats_at(l, 0, n);
	float *b = floats_at(l, 1, n);

	if (!a || !b || l->shared_bytes < n * sizeof(float))
		return MPK_CU_ILLEGAL_ADDRESS;
	for (unsigned i = 0; i < n; i++)
		b[i] = a[n - 1 - i];
	return MPK_CU_SUCCESS;
}

static unsigned run_spin(const struct fake_launch *l)
{
	(void)l;
	return MPK_CU_SUCCESS;
}

/* The kernels of tests/data/triton. What Triton's launcher adds is two pointers, null where it has nothing there. */
static int has_no_scratch(const struct fake_launch *l, unsigned first)
{
	return !address_at(l, first) && !address_at(l, first + 1);
}

static unsigned run_scaled_add(const struct fake_launch *l)
{
	enum { BLOCK = 256 };
	int32_t n;
	float alpha;

	memcpy(&n, l->params[3], sizeof n);
	memcpy(&alpha, l->params[4], sizeof alpha);
	if (n < 0 || l->block[0] != 128 || !has_no_scratch(l, 5))
		return MPK_CU_ILLEGAL_ADDRESS;
	if ((unsigned)n > l->grid[0] * BLOCK)
		n = (int32_t)(l->grid[0] * BLOCK);
	const float *x = floats_at(l, 0, (size_t)n), *y = floats_at(l, 1, (size_t)n);
	float *out = floats_at(l, 2, (size_t)n);

	if (!x || !y || !out)
		return MPK_CU_ILLEGAL_ADDRESS;
	for (int32_t i = 0; i < n; i++)
		out[i] = x[i] + alpha * y[i];
	return MPK_CU_SUCCESS;
}

/* An integer of so many bytes, as the device has it. */
static double integer_at(const struct fake_launch *l, unsigned i, unsigned bytes)
{
	int64_t v = 0;

	memcpy(&v, l->params[i], bytes);
	return (double)(v << (64 - 8 * bytes) >> (64 - 8 * bytes));
}

static unsigned run_record(const struct fake_launch *l)
{
	double *out = fake_host(address_at(l, 0), 9 * sizeof *out);
	uint8_t flag;
	uint16_t half[2];
	float f;

	if (!out || l->block[0] != 32 || !has_no_scratch(l, 10))
		return MPK_CU_ILLEGAL_ADDRESS;
	out[0] = integer_at(l, 1, 4);
	out[1] = integer_at(l, 2, 8);
	memcpy(&f, l->params[3], sizeof f);
	out[2] = (double)f;
	memcpy(&out[3], l->params[4], sizeof out[3]);
	memcpy(&flag, l->params[5], sizeof flag);
	out[4] = flag;
	out[5] = integer_at(l, 6, 1);
	out[6] = integer_at(l, 7, 2);
	memcpy(&half[0], l->params[8], sizeof half[0]);
	memcpy(&half[1], l->params[9], sizeof half[1]);
	out[7] = (double)mpk_f16_to_f32(half[0]);
	out[8] = (double)mpk_bf16_to_f32(half[1]);
	return MPK_CU_SUCCESS;
}

static unsigned run_clustered(const struct fake_launch *l)
{
	uint32_t *out = fake_host(address_at(l, 0), l->grid[0] / 2 * sizeof *out);

	if (!out || !has_no_scratch(l, 1))
		return MPK_CU_ILLEGAL_ADDRESS;
	for (unsigned i = 0; i < l->grid[0] / 2; i++)
		out[i] = l->grid[1] - 1;
	return MPK_CU_SUCCESS;
}

/* Each block has 128 bytes for its descriptor. */
static unsigned run_described(const struct fake_launch *l)
{
	enum { DESCRIPTOR = 128, BLOCK = 16 };
	size_t blocks = (size_t)l->grid[0] * l->grid[1] * l->grid[2];
	const uint16_t *x;
	uint16_t *out = fake_host(address_at(l, 1), (size_t)BLOCK * BLOCK * sizeof *out);
	int32_t size[2];

	memcpy(&size[0], l->params[2], sizeof size[0]);
	memcpy(&size[1], l->params[3], sizeof size[1]);
	x = size[0] < BLOCK || size[1] < BLOCK
		    ? NULL
		    : fake_host(address_at(l, 0), (size_t)size[0] * (size_t)size[1] * sizeof *x);
	if (!x || !out || address_at(l, 5) || !fake_host(address_at(l, 4), blocks * DESCRIPTOR))
		return MPK_CU_ILLEGAL_ADDRESS;
	for (int32_t i = 0; i < BLOCK * BLOCK; i++)
		out[i] = x[i / BLOCK * size[1] + i % BLOCK];
	return MPK_CU_SUCCESS;
}

const struct fake_kernel *fake_kernel_find(const char *name)
{
	static const struct fake_kernel kernels[] = {
		{ "vadd_kernel", { 8, 8, 8 }, run_add },
		{ "add_kernel", { 8, 8, 8 }, run_add },
		{ "saxpy_kernel", { 8, 8, 4, 8 }, run_saxpy },
		{ "rev_kernel", { 8, 8 }, run_rev },
		{ "spin_kernel", { 0 }, run_spin },
		{ "scratch_kernel", { 8, 8, 4 }, run_spin },
		{ "other_kernel", { 8 }, run_spin },
		{ "saxpy", { 8, 8, 4, 4 }, run_saxpy_int },
		{ "transpose", { 8, 8, 4, 4 }, run_transpose },
		{ "reduce", { 8, 8, 8 }, run_reduce },
		{ "scale_half", { 8, 8, 2, 8 }, run_scale_half },
		{ "scaled_add", { 8, 8, 8, 4, 4, 8, 8 }, run_scaled_add },
		{ "record", { 8, 4, 8, 4, 8, 1, 1, 2, 2, 2, 8, 8 }, run_record },
		{ "clustered", { 8, 8, 8 }, run_clustered },
		{ "described", { 8, 8, 4, 4, 8, 8 }, run_described },
	};

	for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
		if (strcmp(kernels[i].name, name) == 0)
			return &kernels[i];
	return NULL;
}
