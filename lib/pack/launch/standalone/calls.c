/* SPDX-License-Identifier: Apache-2.0 */
/* calls.c - what launch functions ask of a driver, one thread at a time */
#include <pthread.h>
#include <string.h>

#include "base/half.h"
#include "launch/standalone/loader.h"

/* Guards the drivers: loading happens once, and OpenCL kernels keep their arguments. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The bits of one kernel argument in the width that the kernel declares: the low bits. */
static uint64_t narrowed(const unsigned char type[2], uint64_t cell)
{
	double real;
	float single;
	uint32_t word;

	memcpy(&real, &cell, sizeof real);
	if (type[0] == MPK_DTYPE_BFLOAT)
		return mpk_f64_to_bf16(real);
	if (type[0] != MPK_DTYPE_FLOAT || type[1] == 64)
		return cell;
	if (type[1] == 16)
		return mpk_f64_to_f16(real);
	single = (float)real;
	memcpy(&word, &single, sizeof word);
	return word;
}

/* A driver copies as many bytes as the argument has, from the first on: where the lowest bits of
 * an integer stand last, they move there. */
static uint64_t as_copied(const unsigned char type[2], uint64_t bits)
{
	if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ || type[1] >= 64)
		return bits;
	return bits << (64 - (type[1] + 7u) / 8 * 8);
}

int mpk_sa_start(struct mpk_sa_launch *l, const uint64_t *cells)
{
	const struct mpk_sa_kernel *k = l->kernel;
	int rc;

	for (unsigned i = 0; i < k->arg_count; i++) {
		l->values[i] = as_copied(k->types[i], narrowed(k->types[i], cells[i]));
		l->args[i] = &l->values[i];
	}
	pthread_mutex_lock(&lock);
	rc = mpk_sa_driver->launch(l);
	pthread_mutex_unlock(&lock);
	return rc;
}

void *mpk_sa_stage(int32_t id, const void *from, int64_t bytes)
{
	void *p;

	pthread_mutex_lock(&lock);
	p = mpk_sa_driver->alloc(id, bytes, from);
	pthread_mutex_unlock(&lock);
	return p;
}

int mpk_sa_unstage(int32_t id, void *device, void *to, int64_t bytes)
{
	int rc;

	pthread_mutex_lock(&lock);
	rc = mpk_sa_driver->release(id, device, to, bytes);
	pthread_mutex_unlock(&lock);
	return rc;
}
