/* SPDX-License-Identifier: Apache-2.0 */
/* gen.h - state shared by the steps of mpk_launch_build that generate one function */
#ifndef MPK_LAUNCH_INTERNAL_GEN_H
#define MPK_LAUNCH_INTERNAL_GEN_H

#include "launch/internal/hostcode.h"
#include "launch/launch.h"

/* Properties in which the three function ABIs differ (tvm-blob(5), Conventions). */
struct mpk_gen_abi {
	bool legacy;
	int64_t tensor_index;  /* type index of a Tensor object; legacy: NDArray code */
	int64_t tensor_header; /* offset in bytes of the DLTensor in the object */
	int64_t none, opaque, integer, boolean, real;
	const char *const
		*type_names; /* names of argument types for messages; the last is "object" */
	size_t type_name_count;
};

/* Functions of the runtime that generated code calls. */
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
	const char *ctx;            /* name of the context symbol */
	const char *const *runtime; /* names of the runtime's functions, by enum mpk_gen_runtime */
	const char *const
		*kernel_slots; /* global variables that cache kernels, one for each step */
	const char *device_slot;

	int args, codes; /* value numbers of the packed arguments; codes only in the legacy ABI */
	int buf,
		kind; /* stack slots for the message text and for the address of the error's kind */
	int raise_label, unwind_label;
	int *dl;     /* for tensors: the address of the DLTensor; for optional ones a slot with the
		      * address or 0 */
	int *data;   /* for tensors: a slot with the pointer that the kernel gets */
	int *scalar; /* for scalars: the value, I64 or F64 */
	int *vars;   /* values of the shape variables, I64 */
	int *temps;  /* slots with the pointers of temporaries */
	int *counts; /* for tensors of any shape: slots with the number of elements */
	int device_id;
};

/* Offsets in a DLTensor (dlpack.h) with 64-bit pointers. */
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

/* Prefix of C functions' names in generated C source, so that they hide no other name there. */
#define MPK_GEN_CALLEE "mpk_callee_"

enum {
	MPK_GEN_MESSAGE = 512,
	MPK_GEN_COUNT_BYTES = 32, /* bytes of a slot in counts; the number is at its beginning */
};

/* mpk_gen_literal - escape text for a printf format by doubling every %; arena memory, never NULL
 * (if there is no memory, it returns "" and marks the function as failed) */
const char *mpk_gen_literal(struct mpk_gen *g, struct mpk_span text);

/* mpk_gen_format - make a printf format from literals, like mpk_arena_printf */
const char *mpk_gen_format(struct mpk_gen *g, const char *fmt, ...) MPK_PRINTF(2, 3);

/* mpk_gen_guard - generate code that raises an error of this kind unless good is set
 * @pass    letters of the message's values, as for mpk_host_snprintf */
void mpk_gen_guard(struct mpk_gen *g, int good, const char *kind, const char *format,
		   const char *pass, const int *values);

/* Every builder below appends an instruction. Never use two builders as arguments of one call: the
 * compiler would choose their order. */

/* mpk_gen_equals - whether an integer value equals a constant: 1 or 0 */
int mpk_gen_equals(struct mpk_gen *g, int value, int64_t constant);

/* mpk_gen_is_null - whether a pointer is null: 1 or 0 */
int mpk_gen_is_null(struct mpk_gen *g, int pointer);

/* mpk_gen_fits - whether an integer value fits a type: 1 or 0. It returns -1 (no value) for 64-bit
 * types, which every value fits: an unsigned integer has the same bits */
int mpk_gen_fits(struct mpk_gen *g, int value, struct mpk_dtype type);

/* mpk_gen_runtime - the address of a runtime function: from the context pointer that the loader
 * set, else the function itself if the process has it, else null */
int mpk_gen_runtime(struct mpk_gen *g, enum mpk_gen_runtime which);

/* mpk_gen_expr - compute an expression, with checks for overflow and division by zero */
int mpk_gen_expr(struct mpk_gen *g, const struct mpk_expr *e, struct mpk_span text);

/* mpk_gen_takes - the format of the message for a wrong number of arguments, %lld
 * It ends with the function's signature in the form of TVM's own code, "f(x: Tensor([n], float32),
 * k: int32)", so that one parser reads both */
const char *mpk_gen_takes(struct mpk_gen *g);

/* mpk_gen_put_schema - append the types of a function as tvm-ffi's metadata, in the form of its C++
 * exporter: {"type_schema": TEXT}, where TEXT is JSON in a string */
void mpk_gen_put_schema(const struct mpk_launch *l, struct mpk_strbuf *out);

/* mpk_gen_who - the beginning of a message as a printf format: "vadd: argument 'A'" */
const char *mpk_gen_who(struct mpk_gen *g, const struct mpk_launch_param *p);

/* mpk_gen_extent - extent d of the tensor at dl; d must be less than its rank */
int mpk_gen_extent(struct mpk_gen *g, int dl, size_t d);

/* mpk_gen_argument - generate code that checks and unpacks one argument; checks with shape
 * variables come later */
void mpk_gen_argument(struct mpk_gen *g, size_t i);

#endif
