/* SPDX-License-Identifier: Apache-2.0 */
/* spirv.h - SPIR-V modules: capabilities, entry points, workgroup sizes (FORMAT.md)
 *
 * The stream of instructions is walked from end to end; what they compute is not read.
 */
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
	const uint32_t *interface; /* ids of the variables it uses */
	size_t interface_count;
	uint32_t local_size[3]; /* workgroup size; zeros: not fixed */
	uint32_t size_hint[3];  /* LocalSizeHint of OpenCL kernels; zeros: none */
};

struct mpk_spirv {
	unsigned major, minor;
	uint32_t generator; /* tool number in the high half, its version in the low */
	uint32_t bound;     /* all ids are below */
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

/* mpk_spirv_read - check the instruction stream and read what stands at its beginning
 * @bytes   the module; need not be aligned; borrowed only during the call
 * @arena   receives lists and names
 * Returns  MPK_OK, also for a module without entry points;
 *          MPK_E_CORRUPT with the offset in "payload": no magic, not a multiple of 4
 *          bytes, an instruction without words or beyond the end, operands missing, a
 *          name without end, an id not below the bound or with two definitions, no or
 *          two memory models, an entry point or execution mode without its function;
 *          MPK_E_NOMEM.
 * Format   FORMAT.md 1 - 3 */
enum mpk_code mpk_spirv_read(struct mpk_span bytes, struct mpk_arena *arena, struct mpk_spirv *out,
			     struct mpk_error *err) MPK_MUST_CHECK;

/* What a runtime binds or passes to a compute shader. */
struct mpk_spirv_param {
	bool is_buffer;         /* else a scalar of the push constants */
	bool read_only;         /* a buffer: decorated NonWritable */
	uint32_t binding;       /* of a buffer */
	struct mpk_dtype dtype; /* of its elements, vectors by lanes; of the scalar; 0 bits: it is
				 * neither a number nor an array of such */
};

/* mpk_spirv_params - the parameters of an entry point: storage buffers by their bindings, then the members of
 * its push constants, as TVM passes them
 * @bytes   as they were read into s
 * @arena   receives the list
 * @known   receives whether the module tells: up to SPIR-V 1.3 only where it has one entry point, as those
 *          do not name the buffers they use; and for modules of at most 65536 ids and 64 entry points,
 *          since all of it is walked for each
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

/* mpk_spirv_name - the specification's name of a number, or NULL when it is not known here */
const char *mpk_spirv_name(enum mpk_spirv_table table, uint32_t number);

#endif
