/* SPDX-License-Identifier: Apache-2.0 */
/* static.h - declarations shared by the files of this folder */
#ifndef MPK_EXECUTOR_STATIC_INTERNAL_STATIC_H
#define MPK_EXECUTOR_STATIC_INTERNAL_STATIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"
#include "dtype/dtype.h"
#include "executor/machine.h"
#include "factory/factory.h"
#include "signature/signature.h"
#include "value/function.h"

/* The description that a library compiled ahead of time contains of itself
 *
 * Its function get_c_metadata returns a pointer to structures in the library's own data (TVM 0.9 to
 * 0.19). They are read once. A pointer is followed only if it stays within the library's memory,
 * and every count is checked against the memory that is left. */

struct mpk_aot_tensor {
	struct mpk_span name;
	struct mpk_dtype dtype;
	const int64_t *shape; /* extents, not checked */
	size_t ndim;
};

struct mpk_aot_tensors {
	const struct mpk_aot_tensor *items;
	size_t count;
};

/* A constant, and its offset in the memory block for all constants. */
struct mpk_aot_constant {
	uint64_t offset; /* in bytes; below 2^63 */
	struct mpk_span content;
};

struct mpk_aot_metadata {
	const char *mod_name; /* such as "tvmgen_default"; the entry function is
			       * <mod_name>___tvm_main__ */
	struct mpk_aot_tensors inputs, outputs, workspaces;
	const struct mpk_aot_constant *constants;
	size_t constant_count;
};

/* mpk_aot_metadata_read - read the structures at an address
 * @code    the function that returned the address; it tells which library the data belongs to
 * @out     in arena; names and contents point into the library's data
 * Returns  MPK_OK; MPK_E_CORRUPT: a pointer out of the library's data, a count that does not fit, a
 *          constant that is not a tensor; MPK_E_UNSUPPORTED: a version other than 1; MPK_E_NOMEM */
enum mpk_code mpk_aot_metadata_read(const void *code, const void *data, struct mpk_arena *arena,
				    struct mpk_aot_metadata *out,
				    struct mpk_error *err) MPK_MUST_CHECK;

/* A model whose tensors and memory are laid out before it runs
 *
 * This holds for graph and AOT executors: their files list the storages, the tensors in them, and
 * the functions that run on these tensors, in order. The functions below compute everything that a
 * run needs. A finished program does not change; its machines (machine.c) share it. */

/* A storage is as large as its largest tensor; all its tensors begin at offset 0. */
struct mpk_static_storage {
	int32_t device_type; /* DLPack's number; 0: the main device of the model */
	uint64_t bytes;
	bool is_input;   /* an input or a parameter lies in the storage */
	bool is_written; /* a step writes to the storage */
	bool is_result;  /* the caller receives the storage; then no input lies in it */
	/* One input fills the storage and no step writes to it: functions may get the caller's memory, or
	 * the file's. */
	bool is_zero_copy;
	/* the tensors in the storage: view_count indexes from program->views[first_view] on */
	uint32_t first_view, view_count;
};

struct mpk_static_tensor {
	struct mpk_dtype dtype; /* bool is {bool, 8}, as callers write it */
	const int64_t *shape;
	size_t ndim;
	uint64_t bytes;
	uint32_t storage;
};

/* A call of a function with tensors, or a copy of the first tensor to the second. */
struct mpk_static_step {
	struct mpk_function *function; /* one reference; NULL: the step is a copy */
	/* indexes of tensors: first those that are read, then those that are written */
	const uint32_t *operands;
	size_t count;
	size_t read_count;   /* the first read_count operands are read */
	size_t result_count; /* the next result_count operands are results; the rest is workspace */
	struct mpk_span label; /* name of the step in the file; may be empty */
};

/* A tensor that is filled before each run. */
struct mpk_static_input {
	struct mpk_span name;
	uint32_t tensor;
	bool has_content; /* a parameter: it has content, which a call may replace */
	bool is_native;   /* the content has the machine's byte order instead of little-endian */
	struct mpk_span content;
};

/* Initial content of a storage: constants that have no name for callers. */
struct mpk_static_fill {
	uint32_t storage;
	uint64_t offset; /* in bytes */
	struct mpk_span content;
};

struct mpk_static_program {
	struct mpk_program base; /* must be the first member */
	struct mpk_static_storage *storages;
	size_t storage_count, storage_cap;
	struct mpk_static_tensor *tensors;
	size_t tensor_count, tensor_cap;
	struct mpk_static_step *steps;
	size_t step_count, step_cap;
	struct mpk_static_input *inputs; /* inputs without content come first, as in model */
	size_t input_count, input_cap;
	struct mpk_static_fill *fills;
	size_t fill_count, fill_cap;
	uint32_t *results; /* indices of tensors */
	size_t result_count, result_cap;
	const uint32_t *views;
	struct mpk_signature model; /* the signature that callers see */
};

/* mpk_static_add_... - build a program. Pointers are borrowed as long as the program lives; they
 * lead into its arena, or into its host's blob or code. Indexes must be below the counts.
 * Return  MPK_OK; MPK_E_NOMEM, and the errors listed with each function */

/* mpk_static_add_storage - add a storage without tensors; it grows with each tensor that is added */
enum mpk_code mpk_static_add_storage(struct mpk_static_program *p, int32_t device_type,
				     uint32_t *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_static_add_tensor - add a tensor at the beginning of a storage
 * Also returns  MPK_E_CORRUPT: a negative extent, too many dimensions, a size beyond 2^63 */
enum mpk_code mpk_static_add_tensor(struct mpk_static_program *p, struct mpk_dtype dtype,
				    const int64_t *shape, size_t ndim, uint32_t storage,
				    uint32_t *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_static_add_step - add a call of a function, to which the program takes a reference, or a copy
 * between two tensors of equal size in bytes, on any devices
 * @step    its operands are copied
 * Also returns  MPK_E_CORRUPT: a copy between tensors of different sizes */
enum mpk_code mpk_static_add_step(struct mpk_static_program *p, const struct mpk_static_step *step,
				  struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_static_add_input - add an input that callers pass; all inputs come before the first parameter
 * mpk_static_add_param - add an input whose content is in the file
 * @content host memory; as many bytes as the tensor has
 * @is_native   the content is data of compiled code, in the machine's byte order; content of files
 *          is little-endian
 * Also return  MPK_E_CORRUPT: content of another size */
enum mpk_code mpk_static_add_input(struct mpk_static_program *p, struct mpk_span name,
				   uint32_t tensor, struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_static_add_param(struct mpk_static_program *p, struct mpk_span name,
				   uint32_t tensor, struct mpk_span content, bool is_native,
				   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_static_add_result - add a result; callers receive results in this order */
enum mpk_code mpk_static_add_result(struct mpk_static_program *p, uint32_t tensor,
				    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_static_program_finish - compute everything that runs need; nothing may be added afterwards
 * @name    name of the function that callers call
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_static_program_finish(struct mpk_static_program *p, struct mpk_span name,
					struct mpk_error *err) MPK_MUST_CHECK;

/* --- as a loader's node ---------------------------------------------------------------------- */

/* Builds a program from a factory's payload and the node's imports.
 * Returns  MPK_OK; MPK_E_CORRUPT, MPK_E_SYNTAX, MPK_E_UNSUPPORTED: errors in the payload;
 *          MPK_E_LOAD: a function that does not exist; errors of imports; MPK_E_NOMEM */
typedef enum mpk_code mpk_static_load_fn(struct mpk_static_program *p, struct mpk_node_module *node,
					 const struct mpk_factory *factory, struct mpk_error *err);

/* Shared by both executors (machine.c). */
extern const struct mpk_machine_kind mpk_static_machine;

/* mpk_static_open - a loader's open: decode the factory
 * @load    builds the program when the model is first looked up
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_NOMEM */
enum mpk_code mpk_static_open(struct mpk_node_module *node, mpk_static_load_fn *load,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_static_find - a loader's find: find the model by the factory's name for it, bound to a
 * machine on the devices that the runtime has for models now
 * Returns  MPK_OK; as load; MPK_E_DEVICE: a device cannot be opened; MPK_E_NOMEM */
enum mpk_code mpk_static_find(struct mpk_node_module *node, const char *name,
			      struct mpk_function **out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_static_name_at, mpk_static_signature_at, mpk_static_close - operations of a loader */
bool mpk_static_name_at(struct mpk_node_module *node, size_t i, struct mpk_span *out);
enum mpk_code mpk_static_signature_at(struct mpk_node_module *node, size_t i,
				      const struct mpk_signature **out,
				      struct mpk_error *err) MPK_MUST_CHECK;
void mpk_static_close(struct mpk_node_module *node);

/* mpk_static_room - the number of bytes that may be read from an address
 * Functions of a library may return pointers to the library's data: this tells whether such a
 * pointer may be followed.
 * @code    address of a function in the shared object that must contain the data
 * Returns  bytes up to the end of the readable segment that contains the address; 0 if the object
 *          has no such segment */
size_t mpk_static_room(const void *code, const void *data);

#endif
