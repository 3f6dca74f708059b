/* SPDX-License-Identifier: Apache-2.0 */
/* spirv.h - SPIR-V modules: capabilities, entry points, workgroup sizes (FORMAT.md)
 *
 * The whole stream of instructions is checked; what they compute is not interpreted. */
#ifndef MPK_FORMATS_SPIRV_SPIRV_H
#define MPK_FORMATS_SPIRV_SPIRV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"
#include "dtype/dtype.h"

struct mpk_spirv_entry {
	const char *name;
	uint32_t model;            /* execution model: 5 GLCompute, 6 Kernel, ... */
	uint32_t function;         /* result id of its function */
	const uint32_t *interface; /* ids of the variables that it uses */
	size_t interface_count;
	uint32_t local_size[3]; /* workgroup size; zeros: not fixed */
	uint32_t size_hint[3];  /* LocalSizeHint of OpenCL kernels; zeros: none */
};

struct mpk_spirv {
	unsigned major, minor;
	uint32_t generator; /* number of the tool in the high half, its version in the low half */
	uint32_t bound;     /* all ids are below it */
	bool big_endian;
	uint32_t addressing, memory;  /* OpMemoryModel: 0 Logical ...; 1 GLSL450, 2 OpenCL, ... */
	const uint32_t *capabilities; /* in file order */
	size_t capability_count;
	const struct mpk_spirv_entry *entries; /* in file order */
	size_t entry_count;
	size_t instruction_count;
	size_t function_count; /* definitions and declarations */
};

/* mpk_spirv_is - whether the bytes begin with SPIR-V's magic number in either byte order */
bool mpk_spirv_is(struct mpk_span bytes);

/* mpk_spirv_read - check the instruction stream, and read the declarations at its beginning
 * @bytes   the module; need not be aligned; borrowed during the call only
 * @arena   receives lists and names
 * Returns  MPK_OK, also for a module without entry points; MPK_E_CORRUPT with the offset in
 *          "payload": no magic number, not a multiple of 4 bytes, an instruction without words or
 *          beyond the end, missing operands, a name without an end, an id not below the bound or
 *          with two definitions, no or two memory models, an entry point or execution mode without
 *          its function; MPK_E_NOMEM.
 * Format   FORMAT.md 1 - 3 */
enum mpk_code mpk_spirv_read(struct mpk_span bytes, struct mpk_arena *arena, struct mpk_spirv *out,
			     struct mpk_error *err) MPK_MUST_CHECK;

/* A buffer that a runtime binds, or a value that it passes, for a compute shader. */
struct mpk_spirv_param {
	bool is_buffer;         /* false: a scalar in push constants */
	bool read_only;         /* a buffer with decoration NonWritable */
	uint32_t binding;       /* binding of a buffer */
	struct mpk_dtype dtype; /* type of its elements (vectors by lanes), or of the scalar; 0
				 * bits: neither a number nor an array of numbers */
};

/* mpk_spirv_params - list the parameters of an entry point: storage buffers by their bindings, then
 * the members of its push constants, as TVM passes them
 * @bytes   as they were read into s
 * @arena   receives the list
 * @known   receives whether the module determines them. Up to SPIR-V 1.3 it must have one entry
 *          point, because entry points do not name the buffers that they use. It must have at most
 *          65536 ids and 64 entry points, because the module is walked for each entry point
 * Returns  MPK_OK; MPK_E_NOMEM
 * Format   FORMAT.md 5 */
enum mpk_code mpk_spirv_params(struct mpk_span bytes, const struct mpk_spirv *s, size_t entry,
			       struct mpk_arena *arena, const struct mpk_spirv_param **out,
			       size_t *count, bool *known, struct mpk_error *err) MPK_MUST_CHECK;

/* Tables of the specification that name numbers. */
enum mpk_spirv_table {
	MPK_SPIRV_MODEL,      /* "GLCompute" */
	MPK_SPIRV_CAPABILITY, /* "Float16" */
	MPK_SPIRV_ADDRESSING, /* "Logical" */
	MPK_SPIRV_MEMORY,     /* "GLSL450" */
};

/* mpk_spirv_name - the specification's name of a number; NULL: not known here */
const char *mpk_spirv_name(enum mpk_spirv_table table, uint32_t number);

#endif
