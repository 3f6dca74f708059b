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
 * Functions named mpk_sa_* are what these files share; none is exported. A launch function is a row of tables and a
 * call that hands it over: hundreds of them compile in the time of one.
 *
 * MPK_SA_LEGACY: arguments and errors in TVM's older convention (before tvm-ffi).
 * MPK_SA_HYBRID: tvm-ffi as TVM 0.21 has it.
 */
#ifndef MPK_LAUNCH_STANDALONE_LOADER_H
#define MPK_LAUNCH_STANDALONE_LOADER_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdint.h>

#include "dtype/dlpack.h"
#include "dtype/type_index.h"

#define MPK_SA_HIDDEN __attribute__((visibility("hidden")))

enum {
	MPK_SA_DEVICES_MAX = 16, /* of a kind */
	MPK_SA_KINDS = 2,        /* of devices: CUDA and OpenCL */
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
};

extern const struct mpk_sa_kernel mpk_sa_kernels[] MPK_SA_HIDDEN;
extern const unsigned mpk_sa_kernel_count MPK_SA_HIDDEN;

/* A launch as a driver wants it. */
struct mpk_sa_launch {
	const struct mpk_sa_kernel *kernel;
	unsigned index;              /* of the kernel */
	int device;                  /* its number among those of its kind */
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

/* A kind of device that functions of the library run on. */
struct mpk_sa_device {
	int type; /* MPK_DL_CUDA, MPK_DL_OPENCL */
	const struct mpk_sa_driver *driver;
};
extern const struct mpk_sa_device mpk_sa_devices[] MPK_SA_HIDDEN;

/* A function of a driver; NULL ends. */
struct mpk_sa_symbol {
	const char *name;
	void **slot;
	int optional; /* older drivers lack it: the slot becomes NULL */
};

/* mpk_sa_load - open the first library of names that exists and look up every symbol
 * @install  ends the message where there is none: "; install ...", or ""
 * Returns  0; -1 when one that is not optional is missing */
MPK_SA_HIDDEN int mpk_sa_load(const char *const *names, const struct mpk_sa_symbol *symbols,
			      const char *install);

/* mpk_sa_raise - raise an error in the convention of the library */
MPK_SA_HIDDEN void mpk_sa_raise(const char *kind, const char *text);

/* mpk_sa_fail - raise a RuntimeError in the convention of the library
 * Returns  -1 */
MPK_SA_HIDDEN int mpk_sa_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* --- launch functions ------------------------------------------------------------------------
 *
 * Rows of tables that are generated beside the kernels (launch/rows.c). Indices lead from row to row, as a pointer
 * would be relocated in every process. What is called texts are places in mpk_sa_texts, NUL at the end; those that
 * are formats say so.
 */

enum { MPK_SA_NONE = -1 };

enum mpk_sa_op {
	MPK_SA_END,    /* of a sequence */
	MPK_SA_NUMBER, /* the value; in a sequence the next word */
	MPK_SA_NAME,   /* of variable `value`; in a sequence the next word */
	MPK_SA_WORDS,  /* a sequence of operations on a stack, from mpk_sa_words[value] on */
	MPK_SA_ADD,
	MPK_SA_SUB,
	MPK_SA_MUL,
	MPK_SA_DIV,
	MPK_SA_MOD,
	MPK_SA_MIN,
	MPK_SA_MAX,
	MPK_SA_CEILDIV
};

struct mpk_sa_expr {
	int32_t text; /* as it was written */
	int32_t op;   /* MPK_SA_NUMBER, MPK_SA_NAME or MPK_SA_WORDS */
	int64_t value;
};

enum { MPK_SA_TENSOR, MPK_SA_INTEGER, MPK_SA_REAL };
enum { MPK_SA_OPTIONAL = 1, MPK_SA_ANY_SHAPE = 2, MPK_SA_READ = 4, MPK_SA_WRITTEN = 8 };

/* A parameter, or a temporary. */
struct mpk_sa_param {
	int32_t name, type;              /* texts */
	unsigned char kind, flags;       /* of the two enums above */
	unsigned char code, bits, truth; /* of an element; whether it is a bool */
	int32_t bytes;                   /* of an element */
	int32_t divisor;    /* of an integer, 1: any; of a tensor's address, 1: any is good */
	int32_t dims, rank; /* the first in mpk_sa_exprs, and how many */
};

/* What a name in an expression is: a dimension of a tensor, or, where that is MPK_SA_NONE, an integer. */
struct mpk_sa_var {
	int32_t param, dim;
};

enum mpk_sa_arg_kind {
	MPK_SA_ARG_PARAM,
	MPK_SA_ARG_TEMP,
	MPK_SA_ARG_INTEGER, /* an expression */
	MPK_SA_ARG_REAL,    /* a parameter */
	MPK_SA_ARG_LITERAL, /* the bits of a double in mpk_sa_words */
	MPK_SA_ARG_NULL
};

struct mpk_sa_arg {
	unsigned char kind, truth;
	int32_t index, type; /* the latter a text: what the kernel takes */
};

struct mpk_sa_step {
	int32_t kernel;
	int32_t args; /* the first; as many as the kernel takes */
	/* in mpk_sa_exprs, or MPK_SA_NONE: grid, block, cluster, as tags number them; shared bytes */
	int32_t extents[10];
};

struct mpk_sa_function {
	int32_t device;               /* in mpk_sa_devices; of all its kernels */
	int32_t name, takes, where;   /* texts; takes and where are formats for messages */
	int32_t schema, schema_bytes; /* a text for tvm-ffi */
	int32_t params, param_count, temps, temp_count, vars, steps, step_count;
};

extern const struct mpk_sa_function mpk_sa_functions[] MPK_SA_HIDDEN;
extern const char mpk_sa_texts[] MPK_SA_HIDDEN;
extern const int64_t mpk_sa_words[] MPK_SA_HIDDEN;
extern const struct mpk_sa_expr mpk_sa_exprs[] MPK_SA_HIDDEN;
extern const struct mpk_sa_param mpk_sa_params[] MPK_SA_HIDDEN;
extern const struct mpk_sa_var mpk_sa_vars[] MPK_SA_HIDDEN;
extern const struct mpk_sa_arg mpk_sa_args[] MPK_SA_HIDDEN;
extern const struct mpk_sa_step mpk_sa_steps[] MPK_SA_HIDDEN;

/* Packed arguments as a caller has them. */
#ifdef MPK_SA_LEGACY
typedef uint64_t mpk_sa_cell;
#else
struct mpk_sa_any { /* TVMFFIAny */
	int32_t type;
	uint32_t padding;
	uint64_t value;
};
typedef struct mpk_sa_any mpk_sa_cell;
#endif

/* DLTensor */
struct mpk_sa_tensor {
	void *data;
	int32_t device_type, device_id, ndim;
	uint8_t code, bits;
	uint16_t lanes;
	int64_t *shape, *strides;
	uint64_t offset;
};

/* What became of a tensor that was passed. */
struct mpk_sa_slot {
	const struct mpk_sa_tensor *dl; /* NULL: absent */
	void *data;                     /* what the kernel gets */
	void *copy;                     /* on the device, of one in host memory; NULL: none */
	int64_t count;                  /* of elements */
	int empty;
};

/* A call of a launch function. */
struct mpk_sa_run {
	const struct mpk_sa_function *f;
	const mpk_sa_cell *args;
	const int *codes;          /* legacy: the types of args */
	int32_t count;             /* of args */
	int device;                /* its number among those of its kind */
	struct mpk_sa_slot *slots; /* one for each parameter */
	void **temps;
};

static inline const char *mpk_sa_text(int32_t at)
{
	return mpk_sa_texts + at;
}

static inline const struct mpk_sa_device *mpk_sa_device_of(const struct mpk_sa_run *r)
{
	return &mpk_sa_devices[r->f->device];
}

/* Whether a tensor is in memory that the device cannot be handed. */
static inline int mpk_sa_on_host(const struct mpk_sa_tensor *dl)
{
	return dl->device_type == MPK_DL_CPU || dl->device_type == MPK_DL_CUDA_HOST;
}

/* mpk_sa_refuse - raise an error of a kind in the convention of the library; no more than 511 bytes of it arrive
 * Returns  -1 */
MPK_SA_HIDDEN int mpk_sa_refuse(const char *kind, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* mpk_sa_check - check all that was passed, and fill the slots
 * Returns  0; -1 after an error was raised */
MPK_SA_HIDDEN int mpk_sa_check(struct mpk_sa_run *r);

/* mpk_sa_eval - the value of an expression; -1 after an error was raised (overflow, a divisor that is not positive) */
MPK_SA_HIDDEN int mpk_sa_eval(const struct mpk_sa_run *r, int32_t expr, int64_t *out);

/* mpk_sa_fill - what a step's kernel gets, an argument each, integers and reals of 64 bits; -1 after an error was raised */
MPK_SA_HIDDEN int mpk_sa_fill(const struct mpk_sa_run *r, const struct mpk_sa_step *s,
			      uint64_t *cells);

/* mpk_sa_start - launch kernel l->kernel
 * @l       its kernel, index and device are set, its extents at least 1
 * @cells   an argument each, integers and reals of 64 bits */
MPK_SA_HIDDEN int mpk_sa_start(const struct mpk_sa_driver *driver, struct mpk_sa_launch *l,
			       const uint64_t *cells);

/* mpk_sa_call - what a launch function does: it is this with its row
 * Returns  0; -1 after an error was raised */
MPK_SA_HIDDEN int mpk_sa_call(const struct mpk_sa_function *f, const mpk_sa_cell *args,
			      const int *codes, int32_t count);

#ifndef MPK_SA_LEGACY
/* mpk_sa_describe - the schema of a launch function as a string of tvm-ffi; its metadata function is this with its row
 * Returns  0; -1: there is no tvm-ffi */
MPK_SA_HIDDEN int mpk_sa_describe(const struct mpk_sa_function *f, struct mpk_sa_any *result);
#endif

#endif
