/* SPDX-License-Identifier: Apache-2.0 */
/* param_file.h - files of named tensors: TVM's .params and tensor cache, NumPy's .npz, safetensors,
 * GGUF
 *
 * The file and its shards are mapped. Tensors are read only when they are requested. */
#ifndef MPK_VALUE_PARAM_FILE_H
#define MPK_VALUE_PARAM_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/rope.h"
#include "base/span.h"
#include "io/mapping.h"
#include "npy/npy.h"
#include "value/tensor.h"
#include "weights/weights.h"

struct mpk_param_file;
struct mpk_zip_member;

/* Reads an array of an .npz file: mpk_npz_read, or a function that does not support compression. */
typedef enum mpk_code mpk_param_read_fn(struct mpk_span zip, const struct mpk_zip_member *member,
					struct mpk_arena *arena, struct mpk_span *out,
					struct mpk_error *err);

/* mpk_param_file_open - open a file and read the names of its tensors
 * @read    reads arrays of .npz files; it determines which decompressors a program links
 * Returns  MPK_OK, one reference in *out; MPK_E_IO; MPK_E_CORRUPT: none of the formats, an
 *          inconsistent file, a name that occurs twice; MPK_E_SYNTAX: invalid JSON;
 *          MPK_E_UNSUPPORTED as mpk_weights_read; MPK_E_NOMEM. Errors name the file */
enum mpk_code mpk_param_file_open(const char *path, mpk_param_read_fn *read,
				  struct mpk_param_file **out,
				  struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_param_file_hold, mpk_param_file_drop - add or drop a reference; NULL may be dropped */
struct mpk_param_file *mpk_param_file_hold(struct mpk_param_file *f);
void mpk_param_file_drop(struct mpk_param_file *f);

/* mpk_param_file_path - the path that the file was opened by */
const char *mpk_param_file_path(const struct mpk_param_file *f);

/* mpk_param_file_find - find a tensor by name; *index receives its number */
bool mpk_param_file_find(const struct mpk_param_file *f, struct mpk_span name, size_t *index);

/* mpk_param_file_count - the number of tensors */
size_t mpk_param_file_count(const struct mpk_param_file *f);

/* Properties of a tensor in the file. Valid as long as the file. */
struct mpk_param_entry {
	struct mpk_span name;
	bool is_known; /* false: the tensor is compressed or cannot be read, and only bytes is set */
	struct mpk_dtype dtype;
	const int64_t *shape;
	size_t ndim;
	uint64_t bytes;
};

/* mpk_param_file_entry - properties of tensor number index, in the order of the file */
struct mpk_param_entry mpk_param_file_entry(const struct mpk_param_file *f, size_t index);

/* mpk_param_file_tensor - read a tensor to host memory, compact
 * If the file has the tensor in the required form, it is not copied: the tensor then keeps the file
 * mapped, and writes to it do not change the file.
 * @is_for_kernels  align it to MPK_STORAGE_ALIGN, for host code. Otherwise it may have any
 *          alignment and must only be read, to be sent to a device
 * Returns  MPK_OK, one reference in *out; MPK_E_CORRUPT; MPK_E_UNSUPPORTED: elements of less than a
 *          byte, opaque or quantized elements, a compression or element order that npy.h does not
 *          support; MPK_E_NOMEM. Errors name the file */
enum mpk_code mpk_param_file_tensor(struct mpk_param_file *f, size_t index, bool is_for_kernels,
				    struct mpk_tensor **out, struct mpk_error *err) MPK_MUST_CHECK;

/* --- A file of weights, with the other files that it names (shards) ---
 *
 * A model's tensors may be in hundreds of shards. All are mapped when the set is opened, so that a
 * missing one is found at once; none is read. */

/* A file that contains tensors. */
struct mpk_weight_place {
	struct mpk_mapping map; /* closed if this is the named file itself, or there is a problem */
	struct mpk_span bytes;  /* the whole file; empty if there is a problem */
	bool is_writable;       /* its pages may be written */
	const struct mpk_error *problem; /* the reason why the file cannot be used; NULL: it can */
};

struct mpk_weight_set {
	struct mpk_weights weights; /* all tensors, with what an index says about those in shards */
	struct mpk_weight_place *places; /* one for each shard */
};

/* mpk_weight_set_open - read the description of weights from a file, and map the files that it
 * names
 * @file    the whole file, borrowed
 * @path    its path; shards are in the same folder
 * @arena   receives the description
 * Returns  MPK_OK, also if shards have problems; as mpk_weights_read. Call mpk_weight_set_close in
 *          every case. */
enum mpk_code mpk_weight_set_open(struct mpk_span file, const char *path, struct mpk_arena *arena,
				  struct mpk_weight_set *out, struct mpk_error *err) MPK_MUST_CHECK;
void mpk_weight_set_close(struct mpk_weight_set *set);

/* mpk_weight_set_check - report the first problem of a shard, or the first tensor that is not
 * inside its shard
 * Returns  MPK_OK; the problem's code: MPK_E_IO, MPK_E_CORRUPT, or as mpk_weights_read */
enum mpk_code mpk_weight_set_check(const struct mpk_weight_set *set,
				   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_weight_set_bytes - the stored bytes of a tensor
 * Returns  false: its shard has a problem or is too short */
bool mpk_weight_set_bytes(const struct mpk_weight_set *set, const struct mpk_weight *w,
			  struct mpk_span *out);

/* --- what NumPy's files hold as tensors (array.c) --- */

/* Content of at least this many bytes is used in place in the file if it is aligned for kernels;
 * smaller content is copied. */
enum { MPK_IN_PLACE_FROM = 1 << 16 };

/* mpk_array_settle - give opaque elements ("V2") the type that ml_dtypes stores as such: bfloat16
 * Returns  MPK_OK, also if the elements have a type; MPK_E_UNSUPPORTED: the type is unknown */
enum mpk_code mpk_array_settle(struct mpk_npy *npy, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_array_write - append a compact host tensor as an .npy file: header and elements
 * Lanes of vectors become the innermost dimension; elements of less than a byte get a byte each.
 * @rope    borrows the tensor's memory if elements need no conversion
 * Returns  MPK_OK; MPK_E_UNSUPPORTED: a type that NumPy and ml_dtypes do not have; MPK_E_NOMEM */
enum mpk_code mpk_array_write(const struct mpk_tensor *t, struct mpk_rope *rope,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_array_copy - make a tensor with a copy of the elements, in the machine's byte order
 * @npy     in NumPy's own files (is_opaque) packed elements have a byte each
 * Returns  MPK_OK, one reference in *out; MPK_E_RANGE, MPK_E_NOMEM */
enum mpk_code mpk_array_copy(const struct mpk_npy *npy, struct mpk_tensor **out,
			     struct mpk_error *err) MPK_MUST_CHECK;

#endif
