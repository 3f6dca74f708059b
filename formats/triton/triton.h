/* SPDX-License-Identifier: Apache-2.0 */
/* triton.h - what Triton leaves beside a cubin: how it is launched, and what the kernel takes (FORMAT.md)
 *
 * The metadata do not name the arguments' types; they are in the text of the intermediate representation that lies
 * beside them, or somebody gives them as a signature.
 */
#ifndef MPK_FORMATS_TRITON_TRITON_H
#define MPK_FORMATS_TRITON_TRITON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"
#include "dtype/dtype.h"

/* Memory of each block that the launcher allocates and passes after the arguments. */
struct mpk_triton_scratch {
	uint64_t bytes; /* 0: a null pointer is passed */
	uint64_t align;
};

struct mpk_triton {
	const char *name;    /* the kernel's symbol */
	const char *version; /* "3.9.0"; NULL: it does not say */
	unsigned arch;       /* 90 for sm_90; 0: it does not say */
	uint32_t threads;    /* of a block, all along x */
	uint32_t cluster[3]; /* blocks; the grid counts clusters along x, y and z */
	uint64_t shared_bytes;
	struct mpk_triton_scratch global, profile;
	bool cooperative, programmatic;
	size_t descriptor_count; /* of tensors, which the launcher makes on the host */
};

/* mpk_triton_read - the metadata of a kernel
 * @text    JSON; borrowed while this runs
 * @arena   receives the texts
 * Returns  MPK_OK; MPK_E_SYNTAX: no JSON; MPK_E_CORRUPT: a value is missing, or of another type or size;
 *          MPK_E_UNSUPPORTED: it is for another kind of device, or no metadata of a kernel; MPK_E_NOMEM
 * Format   FORMAT.md 1 */
enum mpk_code mpk_triton_read(struct mpk_span text, struct mpk_arena *arena, struct mpk_triton *out,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* An argument, as far as it was not compiled in. */
struct mpk_triton_param {
	struct mpk_span name; /* view; empty: it has none */
	struct mpk_span text; /* its type as it is written; view */
	bool is_pointer;
	struct mpk_dtype
		dtype; /* of the number, or of what the pointer leads to; 0 bits: none that is known here */
	bool is_signless;   /* an integer of which the text does not tell whether it has a sign */
	uint32_t divisible; /* the value, or the address, is a multiple of it; 1 otherwise */
};

/* mpk_triton_read_ir - the arguments of a kernel, from a module of MLIR ("NAME.ttir")
 * @out     *count elements in arena, views of text
 * Returns  MPK_OK; MPK_E_CONFLICT: there is no such function; MPK_E_CORRUPT: its arguments do not end, or have
 *          another form; MPK_E_NOMEM
 * Format   FORMAT.md 2 */
enum mpk_code mpk_triton_read_ir(struct mpk_span text, const char *name, struct mpk_arena *arena,
				 const struct mpk_triton_param **out, size_t *count,
				 struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_triton_read_type - one type of a signature: "*fp32:16", "i32", "fp16"
 * @out     name is left empty; text is the type without its hint
 * Returns  false: it is none
 * Format   FORMAT.md 3 */
bool mpk_triton_read_type(struct mpk_span text, struct mpk_triton_param *out);

#endif
