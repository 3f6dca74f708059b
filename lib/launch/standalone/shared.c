/* The part of a standalone library that finds a driver and runs the library's kernels.
 *
 * mpack compiles this text - shared.c, cuda.c, opencl.c and calls.c, one behind the other -
 * into libraries whose manifest says `standalone = true`, together with the table
 * mpk_sa_kernels of that library. It needs libc and nothing else: the
 * CUDA driver or the OpenCL loader is opened when the first function is called. Functions
 * named mpk_sa_* are what the generated launch functions call; none is exported.
 *
 * MPK_SA_LEGACY: arguments and errors in TVM's older convention (before tvm-ffi).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HIDDEN __attribute__((visibility("hidden")))

/* One kernel of the library; the table is generated beside the launch functions. */
struct mpk_sa_kernel {
	const char *name;
	const char *format; /* "ptx", "cubin", "fatbin", "cl" */
	const unsigned char *data;
	uint64_t size;                   /* bytes */
	const unsigned char (*types)[2]; /* DLPack code and bits of each argument */
	unsigned arg_count;
	const unsigned char *tags; /* 0-2 grid, 3-5 block, 12 dynamic shared bytes */
	unsigned tag_count;
};

extern const struct mpk_sa_kernel mpk_sa_kernels[] HIDDEN;
extern const unsigned mpk_sa_kernel_count HIDDEN;
extern const int mpk_sa_device_type HIDDEN; /* 2 CUDA, 4 OpenCL */

HIDDEN void mpk_sa_raise(const char *kind, const char *text);
HIDDEN int mpk_sa_lookup(void *ctx, const char *name, void **out);
HIDDEN void *mpk_sa_alloc(int32_t type, int32_t id, int64_t bytes, int32_t code, int32_t bits);
HIDDEN int mpk_sa_free(int32_t type, int32_t id, void *p);
HIDDEN void *mpk_sa_stage(int32_t id, void *host, int64_t bytes, int32_t copy);
HIDDEN int mpk_sa_unstage(int32_t id, void *device, void *host, int64_t bytes, int32_t copy);

enum { DEVICES_MAX = 16, ARGS_MAX = 256, CUDA = 2, TAG_BLOCK = 3, TAG_SHARED = 12 };

/* --- errors ------------------------------------------------------------------------------- */

#ifdef MPK_SA_LEGACY
__attribute__((weak, visibility("default"))) void (*__TVMAPISetLastError)(const char *);
extern __attribute__((weak)) void TVMAPISetLastError(const char *text);

void mpk_sa_raise(const char *kind, const char *text)
{
	char whole[1200];

	(void)snprintf(whole, sizeof whole, "%s: %s", kind, text);
	if (__TVMAPISetLastError)
		__TVMAPISetLastError(whole);
	else if (TVMAPISetLastError)
		TVMAPISetLastError(whole);
}
#else
__attribute__((weak, visibility("default"))) void (*__TVMFFIErrorSetRaisedFromCStr)(const char *,
										    const char *);
extern __attribute__((weak)) void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *text);

void mpk_sa_raise(const char *kind, const char *text)
{
	if (__TVMFFIErrorSetRaisedFromCStr)
		__TVMFFIErrorSetRaisedFromCStr(kind, text);
	else if (TVMFFIErrorSetRaisedFromCStr)
		TVMFFIErrorSetRaisedFromCStr(kind, text);
}
#endif

__attribute__((format(printf, 1, 2))) static int fail(const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	mpk_sa_raise("RuntimeError", text);
	return -1;
}

/* --- what both drivers share ------------------------------------------------------------- */

/* Guards everything below: loading happens once, and OpenCL kernels keep their arguments. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local int current_device;

/* A launch as the driver wants it. */
struct launch {
	const struct mpk_sa_kernel *kernel;
	unsigned index;       /* of the kernel */
	void *args[ARGS_MAX]; /* addresses of the values */
	uint64_t values[ARGS_MAX];
	unsigned extent[6]; /* grid, block */
	unsigned shared;    /* bytes */
};

static uint64_t half_bits(double x);

/* A driver's symbols, all or none. */
struct symbol {
	const char *name;
	void **slot;
};

static int load_symbols(const char *const *names, const struct symbol *symbols)
{
	void *so = NULL;

	for (unsigned i = 0; names[i] && !so; i++)
		so = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!so)
		return fail("cannot open %s: %s", names[0], dlerror());
	for (unsigned i = 0; symbols[i].name; i++) {
		*symbols[i].slot = dlsym(so, symbols[i].name);
		if (!*symbols[i].slot)
			return fail("%s has no %s: the driver is too old", names[0],
				    symbols[i].name);
	}
	return 0;
}
