/* SPDX-License-Identifier: Apache-2.0 */
/* triton.h - the files that Triton writes beside a cubin: how the kernel is launched, and its
 * arguments (FORMAT.md)
 *
 * The metadata do not have the types of the arguments. These are in the text of the intermediate
 * representation beside them, or users give them as a signature. */
#ifndef MPK_FORMATS_TRITON_TRITON_H
#define MPK_FORMATS_TRITON_TRITON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"
#include "dtype/dtype.h"

/* Memory for each block that the launcher allocates and passes after the arguments. */
struct mpk_triton_scratch {
	uint64_t bytes; /* 0: pass a null pointer */
	uint64_t align;
};

struct mpk_triton {
	const char *name;    /* symbol of the kernel */
	const char *version; /* "3.9.0"; NULL: not given */
	unsigned arch;       /* 90 for sm_90; 0: not given */
	uint32_t threads;    /* threads of a block, all along x */
	uint32_t cluster[3]; /* blocks of a cluster; the grid counts clusters along x, y and z */
	uint64_t shared_bytes;
	struct mpk_triton_scratch global, profile;
	bool cooperative, programmatic;
	size_t descriptor_count; /* number of tensor descriptors that the launcher makes on the host */
};

/* mpk_triton_read - read the metadata of a kernel
 * @text    JSON; borrowed during the call
 * @arena   receives the texts
 * Returns  MPK_OK; MPK_E_SYNTAX: not JSON; MPK_E_CORRUPT: a value is missing, or has the wrong type
 *          or size; MPK_E_UNSUPPORTED: for another kind of device, or not the metadata of a kernel;
 *          MPK_E_NOMEM
 * Format   FORMAT.md 1 */
enum mpk_code mpk_triton_read(struct mpk_span text, struct mpk_arena *arena, struct mpk_triton *out,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* An argument that is not a compile-time constant. */
struct mpk_triton_param {
	struct mpk_span name; /* a view; empty: none */
	struct mpk_span text; /* its type as written; a view */
	bool is_pointer;
	struct mpk_dtype
		dtype;    /* type of the number, or of the memory the pointer points to; 0 bits: not
		        * known here */
	bool is_signless; /* an integer whose sign the text does not give */
	uint32_t divisible; /* the value or address is a multiple of it; 1: any */
};

/* mpk_triton_read_ir - list the arguments of a kernel from a module of MLIR ("NAME.ttir")
 * @out     *count elements in arena, views of text
 * Returns  MPK_OK; MPK_E_CONFLICT: no such function; MPK_E_CORRUPT: its arguments do not end, or
 *          have another form; MPK_E_NOMEM
 * Format   FORMAT.md 2 */
enum mpk_code mpk_triton_read_ir(struct mpk_span text, const char *name, struct mpk_arena *arena,
				 const struct mpk_triton_param **out, size_t *count,
				 struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_triton_read_type - read one type of a signature: "*fp32:16", "i32", "fp16"
 * @out     name is empty; text is the type without its hint
 * Returns  false: not a type
 * Format   FORMAT.md 3 */
bool mpk_triton_read_type(struct mpk_span text, struct mpk_triton_param *out);

#endif
