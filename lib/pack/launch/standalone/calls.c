/* SPDX-License-Identifier: Apache-2.0 */
/* calls.c - what the launch functions call
 *
 * They speak to a runtime's functions in every other library; here these take their parts and
 * call the library's own kernels.
 */
#include <pthread.h>
#include <string.h>

#include "base/half.h"
#include "launch/standalone/loader.h"

/* Guards the drivers: loading happens once, and OpenCL kernels keep their arguments. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local int current_device;

static char set_device_handle;

/* "MODULE.KERNEL", where modules have kernels of one name */
static int is_called(const struct mpk_sa_kernel *k, const char *name)
{
	size_t n = k->module ? strlen(k->module) : 0;

	if (n && (strncmp(name, k->module, n) != 0 || name[n] != '.'))
		return 0;
	return strcmp(k->name, name + (n ? n + 1 : 0)) == 0;
}

int mpk_sa_lookup(void *ctx, const char *name, void **out)
{
	(void)ctx;
	if (strcmp(name, "__tvm_set_device") == 0) {
		*out = &set_device_handle;
		return 0;
	}
	for (unsigned i = 0; i < mpk_sa_kernel_count; i++) {
		if (is_called(&mpk_sa_kernels[i], name)) {
			*out = (void *)(uintptr_t)&mpk_sa_kernels[i];
			return 0;
		}
	}
	return mpk_sa_fail("the library has no kernel %s", name);
}

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

static const struct mpk_sa_driver *driver(void)
{
	return mpk_sa_device_type == MPK_DL_CUDA ? &mpk_sa_cuda : &mpk_sa_opencl;
}

static int launch(const struct mpk_sa_kernel *k, const uint64_t *cells, int n)
{
	struct mpk_sa_launch l = { .kernel = k,
				   .index = (unsigned)(k - mpk_sa_kernels),
				   .device = current_device,
				   .extent = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 } };
	int rc;

	if (k->arg_count > MPK_SA_ARGS_MAX || (unsigned)n < k->arg_count ||
	    (unsigned)n - k->arg_count != k->tag_count)
		return mpk_sa_fail("kernel %s: %u arguments expected, %d given", k->name,
				   k->arg_count + k->tag_count, n);
	for (unsigned i = 0; i < k->arg_count; i++) {
		l.values[i] = as_copied(k->types[i], narrowed(k->types[i], cells[i]));
		l.args[i] = &l.values[i];
	}
	for (unsigned i = 0; i < k->tag_count; i++) {
		unsigned value = (unsigned)cells[k->arg_count + i];

		if (k->tags[i] < MPK_SA_TAG_SHARED)
			l.extent[k->tags[i]] = value ? value : l.extent[k->tags[i]];
		else if (k->tags[i] == MPK_SA_TAG_SHARED)
			l.shared = value;
	}
	pthread_mutex_lock(&lock);
	rc = driver()->launch(&l);
	pthread_mutex_unlock(&lock);
	return rc;
}

static int call(void *f, const uint64_t *cells, int n)
{
	if (f == &set_device_handle) {
		current_device = n == 2 ? (int)cells[1] : 0;
		return 0;
	}
	return launch(f, cells, n);
}

#ifdef MPK_SA_LEGACY
int mpk_sa_call(void *f, const uint64_t *args, const int *codes, int32_t n, void *ret,
		int *ret_code)
{
	enum { NOTHING = 4 };

	(void)codes;
	(void)ret;
	*ret_code = NOTHING;
	return call(f, args, n);
}
#else
int mpk_sa_call(void *f, const struct mpk_sa_any *args, int32_t n, struct mpk_sa_any *result)
{
	uint64_t cells[MPK_SA_ARGS_MAX + 16];

	if (n < 0 || n > MPK_SA_ARGS_MAX + 16)
		return mpk_sa_fail("too many arguments");
	for (int32_t i = 0; i < n; i++)
		cells[i] = args[i].value;
	result->type = 0;
	return call(f, cells, n);
}
#endif

void *mpk_sa_stage(int32_t id, void *host, int64_t bytes, int32_t copy)
{
	void *p;

	pthread_mutex_lock(&lock);
	p = driver()->alloc(id, bytes, copy ? host : NULL);
	pthread_mutex_unlock(&lock);
	return p;
}

int mpk_sa_unstage(int32_t id, void *device, void *host, int64_t bytes, int32_t copy)
{
	int rc;

	pthread_mutex_lock(&lock);
	rc = driver()->release(id, device, copy ? host : NULL, bytes);
	pthread_mutex_unlock(&lock);
	return rc;
}

void *mpk_sa_alloc(int32_t type, int32_t id, int64_t bytes, int32_t code, int32_t bits)
{
	(void)type;
	(void)code;
	(void)bits;
	return mpk_sa_stage(id, NULL, bytes, 0);
}

int mpk_sa_free(int32_t type, int32_t id, void *p)
{
	(void)type;
	return mpk_sa_unstage(id, p, NULL, 0, 0);
}
