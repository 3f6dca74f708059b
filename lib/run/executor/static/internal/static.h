/* SPDX-License-Identifier: Apache-2.0 */
/* static.h - what the files of this folder share, and nobody else includes */
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

/* What a library that was compiled ahead of time says about itself
 *
 * Its function get_c_metadata returns a pointer to structures in the library's own data (TVM 0.9 to
 * 0.19). They are read here once: every pointer is followed only where it stays within the
 * library's memory, every count is checked against what is left there.
 */

struct mpk_aot_tensor {
	struct mpk_span name;
	struct mpk_dtype dtype;
	const int64_t *shape; /* not checked */
	size_t ndim;
};

struct mpk_aot_tensors {
	const struct mpk_aot_tensor *items;
	size_t count;
};

/* A constant, and where it is wanted in the memory for all of them. */
struct mpk_aot_constant {
	uint64_t offset; /* bytes; below 2^63 */
	struct mpk_span content;
};

struct mpk_aot_metadata {
	const char *mod_name; /* "tvmgen_default": its entry is <mod_name>___tvm_main__ */
	struct mpk_aot_tensors inputs, outputs, workspaces;
	const struct mpk_aot_constant *constants;
	size_t constant_count;
};

/* mpk_aot_metadata_read - the structures at an address
 * @code    the function that returned it, of the library whose data it is
 * @out     in arena; names and contents are views of the library's data
 * Returns  MPK_OK; MPK_E_CORRUPT: a pointer that leads out of the library's data, a count that does
 *          not fit there, a constant that is no tensor; MPK_E_UNSUPPORTED: another version than
 *          1; MPK_E_NOMEM */
enum mpk_code mpk_aot_metadata_read(const void *code, const void *data, struct mpk_arena *arena,
				    struct mpk_aot_metadata *out,
				    struct mpk_error *err) MPK_MUST_CHECK;

/* A model whose tensors and memory are laid out before it runs
 *
 * Graph and AOT executors are such: their files say which storages there are, which tensors lie in
 * them, and which functions run on which tensors, in order. What is computed here from that is
 * all that a run needs to know. A program does not change once it is finished; its machines
 * (machine.c) share it.
 */

/* A storage holds the largest of its tensors, all of which begin at its first byte. */
struct mpk_static_storage {
	int32_t device_type; /* DLPack's number; 0: the main device of the model */
	uint64_t bytes;
	bool is_input;   /* an input or a parameter lies in it */
	bool is_written; /* by a step */
	bool is_result;  /* the caller receives it; then no input lies in it */
	/* one input fills the storage and no step writes there: functions may be given the caller's
	 * own memory, or the file's */
	bool is_zero_copy;
	/* its tensors: view_count indices from program->views[first_view] on */
	uint32_t first_view, view_count;
};

struct mpk_static_tensor {
	struct mpk_dtype dtype; /* bool is {bool, 8}, as in the value grammar */
	const int64_t *shape;
	size_t ndim;
	uint64_t bytes;
	uint32_t storage;
};

/* A call of a function with tensors, or a copy of the first tensor to the second. */
struct mpk_static_step {
	struct mpk_function *function; /* held; NULL: the step is a copy */
	/* indices of tensors: those that are read, then those that are written */
	const uint32_t *operands;
	size_t count;
	size_t read_count;     /* the first read_count operands are read */
	size_t result_count;   /* the next result_count are results; the rest is workspace */
	struct mpk_span label; /* the file's name for the step; may be empty */
};

/* A tensor that is filled before each run. */
struct mpk_static_input {
	struct mpk_span name;
	uint32_t tensor;
	bool has_content; /* a parameter: it has content unless a call replaces it */
	bool is_native;   /* the content is in the machine's byte order, not little-endian */
	struct mpk_span content;
};

/* Content that a storage has from the beginning: constants that no caller can name. */
struct mpk_static_fill {
	uint32_t storage;
	uint64_t offset; /* bytes */
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

/* mpk_static_add_... - build a program. What is pointed to is borrowed as long as the program lives:
 * from its arena, its host's blob or code. Indices are below the counts.
 * Return  MPK_OK; MPK_E_NOMEM, and what is said of each */

/* mpk_static_add_storage - add a storage without tensors; it grows with the tensors that are added to it */
enum mpk_code mpk_static_add_storage(struct mpk_static_program *p, int32_t device_type,
				     uint32_t *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_static_add_tensor - at the beginning of a storage
 * Also returns  MPK_E_CORRUPT: a negative extent, too many dimensions, a size beyond 2^63 */
enum mpk_code mpk_static_add_tensor(struct mpk_static_program *p, struct mpk_dtype dtype,
				    const int64_t *shape, size_t ndim, uint32_t storage,
				    uint32_t *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_static_add_step - a call of a function, of which a reference is taken, or a copy between two tensors of the
 * same number of bytes, wherever they lie
 * @step    its operands are copied
 * Also returns  MPK_E_CORRUPT: a copy of sizes that differ */
enum mpk_code mpk_static_add_step(struct mpk_static_program *p, const struct mpk_static_step *step,
				  struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_static_add_input - what the caller gives: before any parameter
 * mpk_static_add_param - what the file fills
 * @content host memory; as many bytes as the tensor has
 * @is_native   it is data of compiled code, whose numbers are in the machine's order; those of a
 *              file are little-endian
 * Also return  MPK_E_CORRUPT: content of another size */
enum mpk_code mpk_static_add_input(struct mpk_static_program *p, struct mpk_span name,
				   uint32_t tensor, struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_static_add_param(struct mpk_static_program *p, struct mpk_span name,
				   uint32_t tensor, struct mpk_span content, bool is_native,
				   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_static_add_result - add a result; callers receive results in this order */
enum mpk_code mpk_static_add_result(struct mpk_static_program *p, uint32_t tensor,
				    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_static_program_finish - compute what runs need; nothing is added afterwards
 * @name    of the function that callers call
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_static_program_finish(struct mpk_static_program *p, struct mpk_span name,
					struct mpk_error *err) MPK_MUST_CHECK;

/* --- as a loader's node ---------------------------------------------------------------------- */

/* Builds a program of a factory: what a factory's payload says, and what the node imports.
 * Returns  MPK_OK; MPK_E_CORRUPT, MPK_E_SYNTAX, MPK_E_UNSUPPORTED: what the factory says; MPK_E_LOAD: a
 *          function that nobody has; what made an import fail; MPK_E_NOMEM */
typedef enum mpk_code mpk_static_load_fn(struct mpk_static_program *p, struct mpk_node_module *node,
					 const struct mpk_factory *factory, struct mpk_error *err);

/* Shared by both executors (machine.c). */
extern const struct mpk_machine_kind mpk_static_machine;

/* mpk_static_open - as a loader's open: decode the factory
 * @load    builds the program, when the model is first looked up
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_NOMEM */
enum mpk_code mpk_static_open(struct mpk_node_module *node, mpk_static_load_fn *load,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_static_find - as a loader's find: the model by the factory's name for it, bound to a machine on
 * the devices that the runtime has for models at that time
 * Returns  MPK_OK; as load; MPK_E_DEVICE: a device that is needed does not open; MPK_E_NOMEM */
enum mpk_code mpk_static_find(struct mpk_node_module *node, const char *name,
			      struct mpk_function **out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_static_name_at, mpk_static_signature_at, mpk_static_close - as a loader's */
bool mpk_static_name_at(struct mpk_node_module *node, size_t i, struct mpk_span *out);
enum mpk_code mpk_static_signature_at(struct mpk_node_module *node, size_t i,
				      const struct mpk_signature **out,
				      struct mpk_error *err) MPK_MUST_CHECK;
void mpk_static_close(struct mpk_node_module *node);

/* mpk_static_room - the number of bytes that may be read from an address on
 * Functions of a library may return pointers to the library's data: this tells whether such a pointer may be followed.
 * @code    address of a function of the shared object whose memory counts
 * Returns  the bytes up to the end of the readable segment with the address; 0 when the object has no such segment */
size_t mpk_static_room(const void *code, const void *data);

#endif
