/* SPDX-License-Identifier: Apache-2.0 */
/* fake_cuda_kernels.c - the kernels of the tests' modules, done by the host
 *
 * Each thread of the grid reads and writes what the real kernel would, so that a wrong
 * pointer, width or extent shows as a wrong result or a fault.
 */
#include <stdint.h>
#include <string.h>

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
	};

	for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
		if (strcmp(kernels[i].name, name) == 0)
			return &kernels[i];
	return NULL;
}
