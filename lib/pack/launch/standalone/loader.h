/* SPDX-License-Identifier: Apache-2.0 */
/* loader.h - the part of a standalone library that finds a driver and runs its kernels
 *
 * Two compilers see these files. The project's own build compiles each like any other, so that
 * warnings, sanitizers and tests see them. Into a library whose manifest says
 * `standalone = true` mpack compiles their text, one file after the other, together with the
 * table mpk_sa_kernels of that library (package/generate.c); includes in quotes are left out
 * there. So they need libc and nothing else - the CUDA driver or the OpenCL loader is opened when
 * the first function is called - and no two may define the same name, static or not.
 *
 * Functions named mpk_sa_* are what the generated launch functions call, or what these files
 * share; none is exported.
 *
 * MPK_SA_LEGACY: arguments and errors in TVM's older convention (before tvm-ffi).
 */
#ifndef MPK_LAUNCH_STANDALONE_LOADER_H
#define MPK_LAUNCH_STANDALONE_LOADER_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdint.h>

#include "dtype/dlpack.h"

#define MPK_SA_HIDDEN __attribute__((visibility("hidden")))

enum {
	MPK_SA_DEVICES_MAX = 16,
	MPK_SA_ARGS_MAX = 256,
	/* tags: 0-2 grid, then, three each, block, cluster and preferred cluster */
	MPK_SA_TAG_BLOCK = 3,
	MPK_SA_TAG_CLUSTER = 6,
	MPK_SA_TAG_PREFERRED_CLUSTER = 9,
	MPK_SA_TAG_SHARED = 12 /* dynamic shared bytes */
};

/* One kernel of the library; the table is generated beside the launch functions. */
struct mpk_sa_kernel {
	const char *name;
	const char *format; /* "ptx", "cubin", "fatbin", "cl" */
	const unsigned char *data;
	uint64_t size;                   /* bytes */
	const unsigned char (*types)[2]; /* enum mpk_dtype_code and bits of each argument */
	unsigned arg_count;
	const unsigned char *tags; /* of the values after the arguments */
	unsigned tag_count;
	unsigned char programmatic, cooperative; /* CUDA's launch attributes */
	const char *module; /* its module's id; NULL: no other has a kernel of its name */
};

extern const struct mpk_sa_kernel mpk_sa_kernels[] MPK_SA_HIDDEN;
extern const unsigned mpk_sa_kernel_count MPK_SA_HIDDEN;
extern const int mpk_sa_device_type MPK_SA_HIDDEN; /* MPK_DL_CUDA, MPK_DL_OPENCL */

/* A launch as a driver wants it. */
struct mpk_sa_launch {
	const struct mpk_sa_kernel *kernel;
	unsigned index; /* of the kernel */
	int device;
	void *args[MPK_SA_ARGS_MAX]; /* addresses of the values */
	uint64_t values[MPK_SA_ARGS_MAX];
	unsigned extent[MPK_SA_TAG_SHARED]; /* by tag; at least 1 each */
	unsigned shared;                    /* bytes */
};

/* What each driver does; failures raise an error and give -1 or NULL. One thread at a time. */
struct mpk_sa_driver {
	int (*launch)(struct mpk_sa_launch *l);
	/* device memory, filled from host memory unless that is NULL */
	void *(*alloc)(int device, int64_t bytes, const void *from);
	/* free it when the kernels have ended, after copying it to host memory unless that is NULL */
	int (*release)(int device, void *data, void *to, int64_t bytes);
};

extern const struct mpk_sa_driver mpk_sa_cuda MPK_SA_HIDDEN, mpk_sa_opencl MPK_SA_HIDDEN;

/* A function of a driver; NULL ends. */
struct mpk_sa_symbol {
	const char *name;
	void **slot;
	int optional; /* older drivers lack it: the slot becomes NULL */
};

/* mpk_sa_load - open the first library of names that exists and look up every symbol
 * Returns  0; -1 when one that is not optional is missing */
MPK_SA_HIDDEN int mpk_sa_load(const char *const *names, const struct mpk_sa_symbol *symbols);

/* mpk_sa_fail - raise a RuntimeError in the convention of the library
 * Returns  -1 */
MPK_SA_HIDDEN int mpk_sa_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* For generated code: what it calls instead of a runtime's functions, with their parameters and
 * results. mpk_sa_call is TVMFFIFunctionCall or, legacy, TVMFuncCall. */
MPK_SA_HIDDEN void mpk_sa_raise(const char *kind, const char *text);
MPK_SA_HIDDEN int mpk_sa_lookup(void *ctx, const char *name, void **out);
MPK_SA_HIDDEN void *mpk_sa_alloc(int32_t type, int32_t id, int64_t bytes, int32_t code,
				 int32_t bits);
MPK_SA_HIDDEN int mpk_sa_free(int32_t type, int32_t id, void *p);
MPK_SA_HIDDEN void *mpk_sa_stage(int32_t id, void *host, int64_t bytes, int32_t copy);
MPK_SA_HIDDEN int mpk_sa_unstage(int32_t id, void *device, void *host, int64_t bytes, int32_t copy);

#ifdef MPK_SA_LEGACY
/* mpk_sa_call - the legacy form */
MPK_SA_HIDDEN int mpk_sa_call(void *f, const uint64_t *args, const int *codes, int32_t n, void *ret,
			      int *ret_code);
#else
struct mpk_sa_any { /* TVMFFIAny */
	int32_t type;
	uint32_t padding;
	uint64_t value;
};

/* mpk_sa_call - the form of tvm-ffi */
MPK_SA_HIDDEN int mpk_sa_call(void *f, const struct mpk_sa_any *args, int32_t n,
			      struct mpk_sa_any *result);
#endif

#endif
