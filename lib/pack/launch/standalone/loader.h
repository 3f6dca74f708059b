/* SPDX-License-Identifier: Apache-2.0 */
/* loader.h - the part of a standalone library that finds a driver and runs its kernels
 *
 * Two compilers see these files. The project's own build compiles each file like any other, so that
 * warnings, sanitizers and tests cover them. For a library whose manifest says `standalone = true`,
 * mpack compiles their text as one source, file after file, together with the library's table
 * mpk_sa_kernels (package/generate.c); includes in quotes are left out. So these files may only use
 * libc: the CUDA driver or the OpenCL loader is opened when the first function is called. And no
 * two of them may define the same name, static or not.
 *
 * These files share functions named mpk_sa_*, none of which is exported. A launch function is a
 * table row and a call that passes the row to mpk_sa_call, so hundreds of them compile in the time
 * of one.
 *
 * MPK_SA_LEGACY: arguments and errors in TVM's older convention (before tvm-ffi).
 * MPK_SA_HYBRID: tvm-ffi as in TVM 0.21. */
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
	MPK_SA_DEVICES_MAX = 16, /* devices of each kind */
	MPK_SA_KINDS = 2,        /* kinds of devices: CUDA and OpenCL */
	MPK_SA_ARGS_MAX = 256,
	/* tags: 0-2 are the grid; block, cluster and preferred cluster follow with three each */
	MPK_SA_TAG_BLOCK = 3,
	MPK_SA_TAG_CLUSTER = 6,
	MPK_SA_TAG_PREFERRED_CLUSTER = 9,
	MPK_SA_TAG_SHARED = 12 /* dynamic shared memory in bytes */
};

/* One kernel of the library. The table of kernels is generated together with the launch
 * functions. */
struct mpk_sa_kernel {
	const char *name;
	const char *format; /* "ptx", "cubin", "fatbin", "cl" */
	const unsigned char *data;
	uint64_t size; /* bytes */
	/* for each argument, its enum mpk_dtype_code and its bits */
	const unsigned char (*types)[2];
	unsigned arg_count;
	const unsigned char *tags; /* tags of the values that follow the arguments */
	unsigned tag_count;
	unsigned char programmatic, cooperative; /* CUDA's launch attributes */
};

extern const struct mpk_sa_kernel mpk_sa_kernels[] MPK_SA_HIDDEN;
extern const unsigned mpk_sa_kernel_count MPK_SA_HIDDEN;

/* A launch, in the form that drivers take. */
struct mpk_sa_launch {
	const struct mpk_sa_kernel *kernel;
	unsigned index;              /* index of the kernel */
	int device;                  /* its number among the devices of its kind */
	void *args[MPK_SA_ARGS_MAX]; /* addresses of the argument values */
	uint64_t values[MPK_SA_ARGS_MAX];
	unsigned extent[MPK_SA_TAG_SHARED]; /* indexed by tag; each at least 1 */
	unsigned shared;                    /* bytes */
};

/* The operations of a driver. On failure they raise an error and return -1 or NULL. Only one thread
 * calls them at a time. */
struct mpk_sa_driver {
	int (*launch)(struct mpk_sa_launch *l);
	/* allocates device memory; fills it from host memory unless that is NULL */
	void *(*alloc)(int device, int64_t bytes, const void *from);
	/* frees device memory when the kernels have ended, after copying it to host memory unless
	 * that is NULL */
	int (*release)(int device, void *data, void *to, int64_t bytes);
};

extern const struct mpk_sa_driver mpk_sa_cuda MPK_SA_HIDDEN, mpk_sa_opencl MPK_SA_HIDDEN;

/* A kind of device that functions of the library use. */
struct mpk_sa_device {
	int type; /* MPK_DL_CUDA, MPK_DL_OPENCL */
	const struct mpk_sa_driver *driver;
};
extern const struct mpk_sa_device mpk_sa_devices[] MPK_SA_HIDDEN;

/* A function of a driver. The list ends with NULL. */
struct mpk_sa_symbol {
	const char *name;
	void **slot;
	int optional; /* older drivers lack it; the pointer is then NULL */
};

/* mpk_sa_load - open the first library of names that exists, and look up every symbol
 * @install  end of the message if no library exists: "; install ...", or ""
 * Returns  0; -1 if no library exists or it lacks a required symbol */
MPK_SA_HIDDEN int mpk_sa_load(const char *const *names, const struct mpk_sa_symbol *symbols,
			      const char *install);

/* mpk_sa_raise - raise an error in the convention of the library */
MPK_SA_HIDDEN void mpk_sa_raise(const char *kind, const char *text);

/* mpk_sa_fail - raise a RuntimeError in the convention of the library
 * Returns  -1 */
MPK_SA_HIDDEN int mpk_sa_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* --- launch functions ------------------------------------------------------------------------
 *
 * Rows of tables that are generated together with the kernels (launch/rows.c). Rows refer to each
 * other by index, because pointers would have to be relocated in every process. A "text" is an
 * offset in mpk_sa_texts, where the text ends with NUL; some texts are formats, as noted there. */

enum { MPK_SA_NONE = -1 };

enum mpk_sa_op {
	MPK_SA_END,    /* end of a sequence */
	MPK_SA_NUMBER, /* the number `value`; in a sequence, the next word */
	/* the variable with index `value`; in a sequence, with the next word as index */
	MPK_SA_NAME,
	MPK_SA_WORDS, /* a sequence of operations on a stack, beginning at mpk_sa_words[value] */
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
	int32_t text; /* text of the expression, as it was written */
	int32_t op;   /* MPK_SA_NUMBER, MPK_SA_NAME or MPK_SA_WORDS */
	int64_t value;
};

enum { MPK_SA_TENSOR, MPK_SA_INTEGER, MPK_SA_REAL };
enum { MPK_SA_OPTIONAL = 1, MPK_SA_ANY_SHAPE = 2, MPK_SA_READ = 4, MPK_SA_WRITTEN = 8 };

/* A parameter or a temporary. */
struct mpk_sa_param {
	int32_t name, type;        /* texts */
	unsigned char kind, flags; /* values of the two enums above */
	/* type code and bits of an element; whether it is a bool */
	unsigned char code, bits, truth;
	int32_t bytes; /* bytes of an element */
	/* required divisor of an integer, 1: any value; alignment of a tensor's address, 1: any
	 * address */
	int32_t divisor;
	int32_t dims, rank; /* index of the first dimension in mpk_sa_exprs; number of dimensions */
};

/* The meaning of a name in an expression: a dimension of a tensor, or an integer parameter if the
 * dimension is MPK_SA_NONE. */
struct mpk_sa_var {
	int32_t param, dim;
};

enum mpk_sa_arg_kind {
	MPK_SA_ARG_PARAM,
	MPK_SA_ARG_TEMP,
	MPK_SA_ARG_INTEGER, /* the value of an expression */
	MPK_SA_ARG_REAL,    /* the value of a parameter */
	MPK_SA_ARG_LITERAL, /* the bits of a double in mpk_sa_words */
	MPK_SA_ARG_NULL
};

struct mpk_sa_arg {
	unsigned char kind, truth;
	int32_t index, type; /* type is a text: the type that the kernel takes */
};

struct mpk_sa_step {
	int32_t kernel;
	int32_t args; /* index of the first argument; their number is that of the kernel */
	/* indices in mpk_sa_exprs, or MPK_SA_NONE: grid, block and cluster in the order of their
	 * tags, then shared bytes */
	int32_t extents[10];
};

struct mpk_sa_function {
	int32_t device;               /* index in mpk_sa_devices; all kernels run on it */
	int32_t name, takes, where;   /* texts; takes and where are formats for messages */
	int32_t schema, schema_bytes; /* text of the schema for tvm-ffi, and its length */
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

/* Packed arguments, as a caller passes them. */
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

/* The state of a tensor argument. */
struct mpk_sa_slot {
	const struct mpk_sa_tensor *dl; /* NULL: absent */
	void *data;                     /* the pointer that the kernel gets */
	void *copy;                     /* device copy of a tensor in host memory; NULL: none */
	int64_t count;                  /* number of elements */
	int empty;
};

/* A call of a launch function. */
struct mpk_sa_run {
	const struct mpk_sa_function *f;
	const mpk_sa_cell *args;
	const int *codes;          /* legacy convention: type codes of args */
	int32_t count;             /* number of args */
	int device;                /* its number among the devices of its kind */
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

/* Whether a tensor is in memory that the device cannot access. */
static inline int mpk_sa_on_host(const struct mpk_sa_tensor *dl)
{
	return dl->device_type == MPK_DL_CPU || dl->device_type == MPK_DL_CUDA_HOST;
}

/* mpk_sa_refuse - raise an error of a kind in the library's convention; messages are cut to 511
 * bytes
 * Returns  -1 */
MPK_SA_HIDDEN int mpk_sa_refuse(const char *kind, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* mpk_sa_check - check all arguments, and fill the slots
 * Returns  0; -1 after raising an error */
MPK_SA_HIDDEN int mpk_sa_check(struct mpk_sa_run *r);

/* mpk_sa_eval - evaluate an expression
 * Returns  0; -1 after raising an error: overflow, or a divisor that is not positive */
MPK_SA_HIDDEN int mpk_sa_eval(const struct mpk_sa_run *r, int32_t expr, int64_t *out);

/* mpk_sa_fill - compute the arguments of a step's kernel, with integers and reals of 64 bits
 * Returns  0; -1 after raising an error */
MPK_SA_HIDDEN int mpk_sa_fill(const struct mpk_sa_run *r, const struct mpk_sa_step *s,
			      uint64_t *cells);

/* mpk_sa_start - launch kernel l->kernel
 * @l       its kernel, index and device are set; its extents are at least 1
 * @cells   one for each argument; integers and reals have 64 bits */
MPK_SA_HIDDEN int mpk_sa_start(const struct mpk_sa_driver *driver, struct mpk_sa_launch *l,
			       const uint64_t *cells);

/* mpk_sa_call - run a launch function; every generated function calls this with its row
 * Returns  0; -1 after raising an error */
MPK_SA_HIDDEN int mpk_sa_call(const struct mpk_sa_function *f, const mpk_sa_cell *args,
			      const int *codes, int32_t count);

#ifndef MPK_SA_LEGACY
/* mpk_sa_describe - return the schema of a launch function as a string of tvm-ffi; every generated
 * metadata function calls this with its row
 * Returns  0; -1 if tvm-ffi is not loaded */
MPK_SA_HIDDEN int mpk_sa_describe(const struct mpk_sa_function *f, struct mpk_sa_any *result);
#endif

#endif
