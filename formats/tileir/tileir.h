/* SPDX-License-Identifier: Apache-2.0 */
/* tileir.h - bytecode of CUDA Tile IR: version, sections, functions with their parameters
 * (FORMAT.md)
 *
 * A driver compiles the bytecode for its device. Bodies of functions are not read. */
#ifndef MPK_FORMATS_TILEIR_TILEIR_H
#define MPK_FORMATS_TILEIR_TILEIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"
#include "dtype/dtype.h"

struct mpk_tileir_param {
	bool is_pointer;        /* a tile of pointers without dimensions */
	struct mpk_dtype dtype; /* type of the number, or of the memory it points to; 0 bits:
				 * another type */
};

struct mpk_tileir_function {
	struct mpk_span name;
	bool is_kernel, is_private;
	bool has_params; /* the type of the function was read: params is complete */
	const struct mpk_tileir_param *params;
	size_t param_count;
	uint64_t body_bytes;
};

struct mpk_tileir_section {
	unsigned id;
	uint64_t off; /* offset of its content in the bytecode */
	uint64_t bytes;
};

struct mpk_tileir {
	unsigned major, minor, tag;
	const struct mpk_tileir_section *sections; /* in file order */
	size_t section_count;
	const struct mpk_tileir_function *functions; /* in file order */
	size_t function_count, kernel_count;
	size_t global_count, constant_count, type_count, string_count;
	bool has_debug; /* a function has debug information */
	/* Processors that optimisation hints name, "sm_100", each once. Drivers may ignore hints. */
	const struct mpk_span *hints;
	size_t hint_count;
	uint64_t used; /* bytes up to the end mark */
};

/* mpk_tileir_is - whether the bytes begin with the magic number of Tile IR bytecode */
bool mpk_tileir_is(struct mpk_span bytes);

/* mpk_tileir_read - read the sections, and the tables of functions, types and strings
 * @bytes   more bytes may follow; borrowed: names are views of it
 * @arena   receives the lists
 * Returns  MPK_OK; MPK_E_CORRUPT with the offset in "payload": no magic number, a section beyond
 *          the end or given twice, an alignment that is not a power of two, no end mark, no table
 *          of functions, types or strings, a function beyond its section, an invalid name;
 *          MPK_E_NOMEM
 * Format   FORMAT.md */
enum mpk_code mpk_tileir_read(struct mpk_span bytes, struct mpk_arena *arena,
			      struct mpk_tileir *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_tileir_section_name - "function table"; NULL: not known */
const char *mpk_tileir_section_name(unsigned id);

#endif
