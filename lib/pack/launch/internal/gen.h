/* SPDX-License-Identifier: Apache-2.0 */
/* gen.h - inside mpk_launch_build: state shared by the steps of generating one function */
#ifndef MPK_LAUNCH_INTERNAL_GEN_H
#define MPK_LAUNCH_INTERNAL_GEN_H

#include "launch/internal/hostcode.h"
#include "launch/launch.h"

/* What differs between the three function ABIs (tvm-blob(5), Conventions). */
struct mpk_gen_abi {
	bool legacy;
	int64_t tensor_index;  /* type index of a Tensor object; legacy: NDArray code */
	int64_t tensor_header; /* bytes from the object to its DLTensor */
	int64_t none, opaque, integer, boolean, real;
	const char *const *type_names; /* what was passed, for messages; the last is "object" */
	size_t type_name_count;
};

/* The runtime's functions that generated code calls. */
enum mpk_gen_runtime {
	MPK_GEN_CALL,
	MPK_GEN_RAISE,
	MPK_GEN_LOOKUP,
	MPK_GEN_LOOKUP_OLD,
	MPK_GEN_ALLOC,
	MPK_GEN_FREE,
	MPK_GEN_RUNTIME_COUNT
};

struct mpk_gen {
	struct mpk_hostfn *f;
	const struct mpk_launch *launch;
	const struct mpk_gen_abi *abi;
	struct mpk_arena *arena;
	enum mpk_launch_mode mode;
	const char *ctx;            /* the context symbol */
	const char *const *runtime; /* names of the runtime's functions, by enum mpk_gen_runtime */
	const char *const *kernel_slots; /* globals that cache kernels, one a step */
	const char *device_slot;

	int args, codes; /* values: the packed arguments; codes is legacy only */
	int buf, kind;   /* slots: message text, address of the error's kind */
	int raise_label, unwind_label;
	int *dl;     /* tensors: DLTensor address; optional ones: slot holding it or 0 */
	int *data;   /* tensors: slot with the pointer that the kernel gets */
	int *scalar; /* scalars: the value, I64 or F64 */
	int *vars;   /* shape variables, I64 */
	int *temps;  /* slots with the temporaries' pointers */
	int *counts; /* tensors of any shape: slots with the number of elements */
	int device_id;
};

/* Offsets in a DLTensor (dlpack.h), LP64. */
enum {
	MPK_GEN_DL_DATA = 0,
	MPK_GEN_DL_DEVICE_TYPE = 8,
	MPK_GEN_DL_DEVICE_ID = 12,
	MPK_GEN_DL_NDIM = 16,
	MPK_GEN_DL_CODE = 20,
	MPK_GEN_DL_BITS = 21,
	MPK_GEN_DL_LANES = 22,
	MPK_GEN_DL_SHAPE = 24,
	MPK_GEN_DL_STRIDES = 32,
	MPK_GEN_DL_OFFSET = 40,
};

/* What a C function is called in generated C source, so that it hides no name there. */
#define MPK_GEN_CALLEE "mpk_callee_"

enum {
	MPK_GEN_MESSAGE = 512,
	MPK_GEN_COUNT_BYTES = 32, /* of a slot in counts, which begins with the count */
};

/* mpk_gen_literal - text for a printf format: every % doubled; arena memory, never NULL
 * (an allocation failure marks the function as failed and gives "") */
const char *mpk_gen_literal(struct mpk_gen *g, struct mpk_span text);

/* mpk_gen_format - a printf format made from literals; like mpk_arena_printf */
const char *mpk_gen_format(struct mpk_gen *g, const char *fmt, ...) MPK_PRINTF(2, 3);

/* mpk_gen_guard - unless good, raise kind with the formatted message
 * @pass    letters of the values, as mpk_host_snprintf takes them */
void mpk_gen_guard(struct mpk_gen *g, int good, const char *kind, const char *format,
		   const char *pass, const int *values);

/* Every builder appends an instruction. Where a call would have two of them as arguments, the order
 * would be that of the compiler that builds this program: they are called one by one. */

/* mpk_gen_equals - 1 when the integer value is the constant, else 0 */
int mpk_gen_equals(struct mpk_gen *g, int value, int64_t constant);

/* mpk_gen_is_null - 1 when the pointer is null, else 0 */
int mpk_gen_is_null(struct mpk_gen *g, int pointer);

/* mpk_gen_fits - 1 when the integer value fits the type, else 0; -1 (no value) for 64-bit
 * types, which every value fits: an unsigned one arrives as the same bits */
int mpk_gen_fits(struct mpk_gen *g, int value, struct mpk_dtype type);

/* mpk_gen_runtime - the address of a runtime function: what the loader put into the
 * context pointer, else the function itself where the process has it, else null */
int mpk_gen_runtime(struct mpk_gen *g, enum mpk_gen_runtime which);

/* mpk_gen_expr - value of an expression; guards against overflow and division by zero */
int mpk_gen_expr(struct mpk_gen *g, const struct mpk_expr *e, struct mpk_span text);

/* mpk_gen_takes - a format for the message that the number of arguments, %lld, is wrong; it ends with what the
 * function takes, "f(x: Tensor([n], float32), k: int32)": as TVM's code writes it, so that one reader does for both */
const char *mpk_gen_takes(struct mpk_gen *g);

/* mpk_gen_put_schema - what a function takes and returns, as metadata of tvm-ffi have it: the form of its own exporter
 * for C++, {"type_schema": TEXT}, TEXT being JSON again */
void mpk_gen_put_schema(const struct mpk_launch *l, struct mpk_strbuf *out);

/* mpk_gen_who - "vadd: argument 'A'" as a printf format */
const char *mpk_gen_who(struct mpk_gen *g, const struct mpk_launch_param *p);

/* mpk_gen_extent - extent d of the tensor at dl; d is less than its rank */
int mpk_gen_extent(struct mpk_gen *g, int dl, size_t d);

/* mpk_gen_argument - check and unpack an argument by itself, tensors as far as no shape variable is needed */
void mpk_gen_argument(struct mpk_gen *g, size_t i);

#endif
