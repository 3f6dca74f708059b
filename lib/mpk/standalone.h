/* SPDX-License-Identifier: Apache-2.0 */
/* mpk/standalone.h - call a model that carries its executor, by dlopen(3) and dlsym(3) alone
 *
 *     void *library = dlopen("./deploy.so", RTLD_NOW | RTLD_LOCAL);
 *     mpks_function *forward = (mpks_function *)dlsym(library, "__tvm_ffi_forward");
 *     mpks_error *error = (mpks_error *)dlsym(library, MPK_STANDALONE_ERROR);
 *     mpks_drop *drop = (mpks_drop *)dlsym(library, MPK_STANDALONE_DROP);
 *     struct mpks_cell in = mpks_tensor(&x), out = { 0 };       x: a DLTensor
 *
 *     if (forward(NULL, &in, 1, &out))
 *             ... error() says why ...
 *     ... (DLTensor *)mpks_result(&out) ...
 *     drop(&out);
 *
 * `mpack build model.so --standalone` makes such libraries. They need libc and libm; those of a finished library /proc
 * as well, those of objects (model.tar) not. Functions have the convention of
 * the current tvm-ffi, so that Python's tvm_ffi.load_module() and C++ programs with its headers call them
 * as well; this header is for programs that have neither. It is C99, and C++ as it is.
 *
 * Threads: every function may be called from every thread; calls of the functions of one library wait for each other.
 * The library stays in the process: dlclose(3) may be called, and results stay good.
 */
#ifndef MPK_STANDALONE_H
#define MPK_STANDALONE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a cell holds; tvm-ffi's numbers. */
enum {
	MPKS_NONE = 0,
	MPKS_INT = 1,
	MPKS_BOOL = 2,
	MPKS_FLOAT = 3,
	MPKS_DLTENSOR = 7, /* an argument: the address of a DLTensor */
	MPKS_TEXT = 8,     /* an argument: UTF-8 that a NUL ends */
	MPKS_SHAPE = 69,   /* of mpks_shape */
	MPKS_TENSOR = 70,  /* a result */
	MPKS_ARRAY = 71    /* several results */
};

/* An argument or a result, 16 bytes: tvm-ffi's TVMFFIAny. */
struct mpks_cell {
	int32_t type;  /* MPKS_... */
	uint32_t zero; /* 0 */
	union {
		int64_t i;
		double f;
		const void *p;
	} v;
};

/* Dynamic symbol "__tvm_ffi_NAME" of each function of the model. Where its models have caches or other states, also of the
 * builtins that work on them between calls, such as "vm.builtin.kv_state_begin_forward". What is none of the above, such
 * as a cache, is a cell of another type: it is passed on as it is, and dropped like any result.
 * @self    NULL
 * @args    count of them, borrowed for the call and not written. Tensors are DLTensors in host memory: those
 *          that begin at a multiple of 64 bytes and have no gaps are used where they lie, others are copied.
 *          A tuple among the inputs is given as what is in it, one after the other.
 * @result  zeroed; owned by the caller afterwards, who gives it back with mpks_drop
 * Returns  0; another value on failure, which mpks_error tells */
typedef int mpks_function(void *self, const struct mpks_cell *args, int32_t count,
			  struct mpks_cell *result);

/* What failed last in this thread: "ValueError: input 'x' takes float32[4, 24], not ...". Never NULL; valid until the
 * next call of this thread. */
#define MPK_STANDALONE_ERROR "__mpk_standalone_error"
typedef const char *mpks_error(void);

/* Result i of an MPKS_ARRAY, from 0; *out is owned by the caller, like every result.
 * Returns  0; another value: there is no such result, or memory is out */
#define MPK_STANDALONE_ITEM "__mpk_standalone_item"
typedef int mpks_item(const struct mpks_cell *array, unsigned long i, struct mpks_cell *out);

/* A shape, of n extents, which are copied, as an argument; given back with mpks_drop.
 * Returns  0; another value: memory is out */
#define MPK_STANDALONE_SHAPE "__mpk_standalone_shape"
typedef int mpks_shape(const int64_t *extents, unsigned long n, struct mpks_cell *out);

/* Give a result back; the cell is MPKS_NONE then. */
#define MPK_STANDALONE_DROP "__mpk_standalone_drop"
typedef void mpks_drop(struct mpks_cell *result);

/* mpks_tensor - a DLTensor as an argument; borrowed */
static inline struct mpks_cell mpks_tensor(const void *dltensor)
{
	struct mpks_cell cell;

	cell.type = MPKS_DLTENSOR;
	cell.zero = 0;
	cell.v.p = dltensor;
	return cell;
}

/* mpks_result - the DLTensor of a result, row-major without gaps, in host memory unless an argument was in a
 * device's; valid until the result is dropped. NULL: the result is no tensor */
static inline const void *mpks_result(const struct mpks_cell *result)
{
	enum { HEADER_BYTES = 24 }; /* of an object of tvm-ffi */

	return result->type == MPKS_TENSOR ? (const char *)result->v.p + HEADER_BYTES : NULL;
}

#ifdef __cplusplus
}
#endif

#endif
