/* SPDX-License-Identifier: Apache-2.0 */
/* param_file.h - a file of named tensors: TVM's .params and tensor cache, NumPy's .npz, safetensors, GGUF
 *
 * The file is mapped, and those beside it that it names; of its tensors only those that somebody asks for are read.
 */
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

/* Reads an array of an .npz file: mpk_npz_read, or one that knows none that are compressed. */
typedef enum mpk_code mpk_param_read_fn(struct mpk_span zip, const struct mpk_zip_member *member,
					struct mpk_arena *arena, struct mpk_span *out,
					struct mpk_error *err);

/* mpk_param_file_open - open a file and read its names
 * @read    of arrays in .npz files: it says which compressions a program links
 * Returns  MPK_OK, one reference in *out; MPK_E_IO; MPK_E_CORRUPT: none of these, a file that
 *          does not hold together, a name that occurs twice; MPK_E_SYNTAX: JSON that does not parse;
 *          MPK_E_UNSUPPORTED as mpk_weights_read; MPK_E_NOMEM. Errors carry the file */
enum mpk_code mpk_param_file_open(const char *path, mpk_param_read_fn *read,
				  struct mpk_param_file **out,
				  struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_param_file_hold, mpk_param_file_drop - count references; NULL is fine to drop */
struct mpk_param_file *mpk_param_file_hold(struct mpk_param_file *f);
void mpk_param_file_drop(struct mpk_param_file *f);

/* mpk_param_file_path - as it was opened */
const char *mpk_param_file_path(const struct mpk_param_file *f);

/* mpk_param_file_find - whether there is a tensor of that name; *index is its number */
bool mpk_param_file_find(const struct mpk_param_file *f, struct mpk_span name, size_t *index);

/* mpk_param_file_count - how many tensors there are */
size_t mpk_param_file_count(const struct mpk_param_file *f);

/* What one of them is, without its elements. Valid as long as the file. */
struct mpk_param_entry {
	struct mpk_span name;
	bool is_known; /* else it would have to be unpacked, or cannot be read: bytes alone is set */
	struct mpk_dtype dtype;
	const int64_t *shape;
	size_t ndim;
	uint64_t bytes;
};

/* mpk_param_file_entry - of the tensor of that number, in the order of the file */
struct mpk_param_entry mpk_param_file_entry(const struct mpk_param_file *f, size_t index);

/* mpk_param_file_tensor - one of its tensors in host memory, compact
 * What lies in the file as it is wanted is not copied; the tensor then keeps the file, and what is
 * written to it does not get there.
 * @is_for_kernels  aligned to MPK_STORAGE_ALIGN: for code of the host. Else it lies anywhere, and is
 *          only read: to be sent to a device
 * Returns  MPK_OK, one reference in *out; MPK_E_CORRUPT; MPK_E_UNSUPPORTED: elements of less than a
 *          byte, opaque ones, quantized ones, a compression or an order that npy.h has not; MPK_E_NOMEM. Errors carry
 *          the file */
enum mpk_code mpk_param_file_tensor(struct mpk_param_file *f, size_t index, bool is_for_kernels,
				    struct mpk_tensor **out, struct mpk_error *err) MPK_MUST_CHECK;

/* --- a file of weights with the files beside it that it names ---
 *
 * The tensors of a model may lie in hundreds of shards. All are mapped when the set is opened, so that one that is
 * missing is found before anything is used; none is read.
 */

/* A file in which tensors lie. */
struct mpk_weight_place {
	struct mpk_mapping map; /* closed: it is the file that was named, or there is a problem */
	struct mpk_span bytes;  /* all of it; empty where there is a problem */
	bool is_writable;       /* its pages */
	const struct mpk_error *problem; /* why it cannot be used; NULL: it can */
};

struct mpk_weight_set {
	struct mpk_weights weights; /* its items have what the shards of an index say of them */
	struct mpk_weight_place *places; /* one for each shard */
};

/* mpk_weight_set_open - what a file of weights says, and the files that it names
 * @file    all of it, borrowed
 * @path    of it: shards lie in its folder
 * @arena   receives what is read
 * Returns  MPK_OK, also when shards have problems; as mpk_weights_read. mpk_weight_set_close in every case. */
enum mpk_code mpk_weight_set_open(struct mpk_span file, const char *path, struct mpk_arena *arena,
				  struct mpk_weight_set *out, struct mpk_error *err) MPK_MUST_CHECK;
void mpk_weight_set_close(struct mpk_weight_set *set);

/* mpk_weight_set_check - the first problem of a shard, or of a tensor that does not lie in its shard
 * Returns  MPK_OK; the problem's code: MPK_E_IO, MPK_E_CORRUPT, or as mpk_weights_read */
enum mpk_code mpk_weight_set_check(const struct mpk_weight_set *set,
				   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_weight_set_bytes - the stored bytes of a tensor
 * Returns  false: its shard has a problem, or ends before it */
bool mpk_weight_set_bytes(const struct mpk_weight_set *set, const struct mpk_weight *w,
			  struct mpk_span *out);

/* --- what NumPy's files hold as tensors (array.c) --- */

/* Bytes from which on content is used where it lies in a file, if it is aligned as kernels want
 * it; smaller content is copied. */
enum { MPK_IN_PLACE_FROM = 1 << 16 };

/* mpk_array_settle - give opaque elements ("V2") the type that ml_dtypes means by them: bfloat16
 * Returns  MPK_OK, also for elements that say what they are; MPK_E_UNSUPPORTED: nobody knows */
enum mpk_code mpk_array_settle(struct mpk_npy *npy, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_array_write - append an .npy file with a compact host tensor: header and elements
 * The lanes of vectors become the innermost dimension; elements of less than a byte get one each.
 * @rope    borrows the tensor's memory where elements need no change
 * Returns  MPK_OK; MPK_E_UNSUPPORTED for a type NumPy and ml_dtypes do not have; MPK_E_NOMEM */
enum mpk_code mpk_array_write(const struct mpk_tensor *t, struct mpk_rope *rope,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_array_copy - a tensor with a copy of the elements, in the byte order of this machine
 * @npy     of packed elements, where the file is NumPy's (is_opaque), each has a byte
 * Returns  MPK_OK, one reference in *out; MPK_E_RANGE, MPK_E_NOMEM */
enum mpk_code mpk_array_copy(const struct mpk_npy *npy, struct mpk_tensor **out,
			     struct mpk_error *err) MPK_MUST_CHECK;

#endif
