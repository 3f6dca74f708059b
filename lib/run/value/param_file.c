/* SPDX-License-Identifier: Apache-2.0 */
/* param_file.c - tensors by name from a file: .params of TVM, .npz of NumPy, safetensors, GGUF,
 * TVM's tensor cache
 *
 * The first bytes of the file tell its format. Files stay mapped: a large tensor that is aligned in
 * the file is a view of the mapping. Other tensors are copied when they are requested. Several
 * calls may request the same tensor. Files that an index or a cache refers to are mapped when it is
 * opened, so that a missing one is reported before any code runs. */
#include "value/param_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cursor.h"
#include "base/native.h"
#include "base/strmap.h"
#include "io/mapping.h"
#include "tensor/tensor.h"
#include "text/escape.h"
#include "value/element.h"

struct mpk_param_file {
	atomic_uint refs;
	char *path;
	struct mpk_mapping map;
	mpk_param_read_fn *read;
	bool is_writable; /* the pages are writable, because code may write into its inputs */
	struct mpk_arena arena;
	struct mpk_strmap names;
	/* one of the three is set, depending on the format */
	const struct mpk_tensor_record *records; /* .params */
	struct mpk_strs record_names;
	const struct mpk_zip_member *members; /* .npz */
	const struct mpk_weight *weights;     /* all other formats; in set */
	struct mpk_weight_set set;
};

/* --- opening -------------------------------------------------------------------------------- */

static enum mpk_code param_file_add_name(struct mpk_param_file *f, struct mpk_span name,
					 size_t index, struct mpk_error *err)
{
	size_t first;
	int put = mpk_strmap_put(&f->names, name, index, &first);

	MPK_TRY_ALLOC(put >= 0, err);
	if (put == 0)
		return mpk_fail(err, MPK_E_CORRUPT, "two tensors are named '%s'", MPK_QUOTE(name));
	return MPK_OK;
}

static enum mpk_code read_npz(struct mpk_param_file *f, struct mpk_error *err)
{
	struct mpk_zip_member *members;
	size_t count;

	MPK_TRY(mpk_npz_list(f->map.bytes, &f->arena, &members, &count, err));
	for (size_t i = 0; i < count; i++)
		MPK_TRY(param_file_add_name(f, members[i].name, i, err));
	f->members = members;
	return MPK_OK;
}

static enum mpk_code param_file_read_params(struct mpk_param_file *f, struct mpk_error *err)
{
	struct mpk_params params;

	MPK_TRY(mpk_params_read(f->map.bytes, &f->arena, &params, err));
	for (size_t i = 0; i < params.names.count; i++)
		MPK_TRY(param_file_add_name(f, params.names.items[i], i, err));
	f->records = params.tensors;
	f->record_names = params.names;
	return MPK_OK;
}

static enum mpk_code read_weights(struct mpk_param_file *f, struct mpk_error *err)
{
	MPK_TRY(mpk_weight_set_open(f->map.bytes, f->path, &f->arena, &f->set, err));
	MPK_TRY(mpk_weight_set_check(&f->set, err));
	for (size_t i = 0; i < f->set.weights.count; i++)
		MPK_TRY(param_file_add_name(f, f->set.weights.items[i].name, i, err));
	f->weights = f->set.weights.items;
	return MPK_OK;
}

static enum mpk_code param_file_open_file(struct mpk_param_file *f, const char *path,
					  struct mpk_error *err)
{
	const struct mpk_weights_format *format;
	enum mpk_code code;
	struct mpk_span bytes;

	f->path = strdup(path);
	MPK_TRY_ALLOC(f->path, err);
	MPK_TRY(mpk_mapping_open(path, &f->map, err));
	bytes = f->map.bytes;
	format = mpk_weights_format_of(bytes);
	if (mpk_npz_is(bytes))
		code = read_npz(f, err);
	else if (format == &mpk_weights_params)
		code = param_file_read_params(f, err);
	else if (format)
		code = read_weights(f, err);
	else
		code = mpk_fail(
			err, MPK_E_CORRUPT,
			"this is no file of parameters; those of TVM, .npz, safetensors and GGUF can be read");
	if (code != MPK_OK)
		mpk_error_at_file(err, path);
	return code;
}

enum mpk_code mpk_param_file_open(const char *path, mpk_param_read_fn *read,
				  struct mpk_param_file **out, struct mpk_error *err)
{
	struct mpk_param_file *f = calloc(1, sizeof *f);
	enum mpk_code code;

	MPK_TRY_ALLOC(f, err);
	atomic_init(&f->refs, 1);
	f->read = read;
	code = param_file_open_file(f, path, err);
	if (code != MPK_OK) {
		mpk_param_file_drop(f);
		return code;
	}
	*out = f;
	return MPK_OK;
}

struct mpk_param_file *mpk_param_file_hold(struct mpk_param_file *f)
{
	(void)atomic_fetch_add_explicit(&f->refs, 1, memory_order_relaxed);
	return f;
}

void mpk_param_file_drop(struct mpk_param_file *f)
{
	if (!f || atomic_fetch_sub_explicit(&f->refs, 1, memory_order_acq_rel) != 1)
		return;
	mpk_strmap_fini(&f->names);
	mpk_weight_set_close(&f->set);
	mpk_arena_fini(&f->arena);
	mpk_mapping_close(&f->map);
	free(f->path);
	free(f);
}

const char *mpk_param_file_path(const struct mpk_param_file *f)
{
	return f->path;
}

bool mpk_param_file_find(const struct mpk_param_file *f, struct mpk_span name, size_t *index)
{
	return mpk_strmap_find(&f->names, name, index);
}

size_t mpk_param_file_count(const struct mpk_param_file *f)
{
	return f->names.count;
}

struct mpk_param_entry mpk_param_file_entry(const struct mpk_param_file *f, size_t index)
{
	if (f->members)
		return (struct mpk_param_entry){ .name = f->members[index].name,
						 .bytes = f->members[index].plain };
	if (f->records) {
		const struct mpk_tensor_record *r = &f->records[index];

		return (struct mpk_param_entry){
			f->record_names.items[index], true, r->dtype, r->shape, r->ndim, r->data.len
		};
	}
	const struct mpk_weight *w = &f->weights[index];

	return (struct mpk_param_entry){ w->name,  w->coding != MPK_WEIGHT_BLOCKS,
					 w->dtype, w->shape,
					 w->ndim,  w->len };
}

/* --- tensors -------------------------------------------------------------------------------- */

/* Converts a record to an array. TVM of these releases has only one type for bool. */
static enum mpk_code of_record(const struct mpk_tensor_record *r, struct mpk_npy *out,
			       struct mpk_error *err)
{
	static const struct mpk_dtype boolean = { MPK_DTYPE_BOOL, 8, 1 };
	uint64_t bytes;

	if (r->ndim > MPK_NPY_NDIM_MAX)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "a tensor of %zu dimensions", r->ndim);
	*out = (struct mpk_npy){ .dtype = mpk_dtype_is_bool(r->dtype) ? boolean : r->dtype,
				 .ndim = r->ndim,
				 .data = r->data };
	if (r->ndim)
		memcpy(out->shape, r->shape, r->ndim * sizeof out->shape[0]);
	MPK_TRY(mpk_tensor_bytes_of(out->dtype, out->shape, out->ndim, &bytes, err));
	/* For packed elements TVM writes one byte for each element, but only the first bytes
	 * contain data. */
	if (bytes > r->data.len || (bytes < r->data.len && !mpk_dtype_is_packed(out->dtype)))
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"a tensor of %zu bytes, whose type and shape take %llu",
				r->data.len, (unsigned long long)bytes);
	return MPK_OK;
}

static enum mpk_code of_member(struct mpk_param_file *f, const struct mpk_zip_member *m,
			       struct mpk_arena *unpacked, struct mpk_npy *out,
			       struct mpk_error *err)
{
	struct mpk_span file;

	MPK_TRY(f->read(f->map.bytes, m, unpacked, &file, err));
	MPK_TRY(mpk_npy_read(file, out, err));
	return mpk_array_settle(out, err);
}

/* Converts little-endian elements to an array. */
static enum mpk_code of_weight(const struct mpk_param_file *f, const struct mpk_weight *w,
			       struct mpk_npy *out, struct mpk_error *err)
{
	struct mpk_span data;

	if (w->coding == MPK_WEIGHT_BLOCKS)
		return mpk_fail(
			err, MPK_E_UNSUPPORTED,
			"tensor '%s' is quantized as %s: only the software that wrote it reads that",
			MPK_QUOTE(w->name), w->type);
	if (w->ndim > MPK_NPY_NDIM_MAX)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "a tensor of %zu dimensions", w->ndim);
	if (!mpk_weight_set_bytes(&f->set, w, &data)) /* cannot fail: the set was checked */
		return mpk_fail(err, MPK_E_CORRUPT, "tensor '%s' does not lie in its file",
				MPK_QUOTE(w->name));
	*out = (struct mpk_npy){ .dtype = w->dtype, .ndim = w->ndim, .data = data };
	if (w->ndim)
		memcpy(out->shape, w->shape, w->ndim * sizeof out->shape[0]);
	return MPK_OK;
}

/* Converts bfloat16 to float32: caches of weights may store only the upper halves of float32. */
static enum mpk_code widen(const struct mpk_npy *npy, struct mpk_tensor **out,
			   struct mpk_error *err)
{
	uint32_t *to;

	MPK_TRY(mpk_tensor_create(npy->dtype, npy->shape, npy->ndim, MPK_STORAGE_PRIVATE, out,
				  err));
	to = mpk_dltensor_data(&(*out)->dl);
	for (size_t i = 0; i < npy->data.len / 2; i++)
		to[i] = (uint32_t)mpk_load_u16(npy->data.data + 2 * i) << 16;
	return MPK_OK;
}

static bool lies_in(struct mpk_span file, struct mpk_span data)
{
	return file.data && data.data >= file.data && data.data < file.data + file.len;
}

/* Makes the pages writable; written pages become private copies. */
static bool make_writable(const struct mpk_mapping *map, bool *is_writable)
{
	if (!*is_writable)
		*is_writable = map->mapped && mprotect((void *)(uintptr_t)map->bytes.data,
						       map->bytes.len, PROT_READ | PROT_WRITE) == 0;
	return *is_writable;
}

static bool is_native(const struct mpk_npy *npy)
{
	return npy->is_big == MPK_BIG_ENDIAN || mpk_dtype_number_bytes(npy->dtype) == 1;
}

/* Returns the shard with a weight; NULL if the weight is in the file itself. */
static struct mpk_weight_place *place_of(const struct mpk_param_file *f, size_t index)
{
	struct mpk_weight_place *place =
		f->weights ? &f->set.places[f->weights[index].shard] : NULL;

	return place && place->map.bytes.data ? place : NULL;
}

static bool can_stay(struct mpk_param_file *f, size_t index, const struct mpk_npy *npy,
		     bool is_for_kernels)
{
	struct mpk_weight_place *place = place_of(f, index);
	const struct mpk_mapping *map = place ? &place->map : &f->map;

	if (!is_native(npy) || !lies_in(map->bytes, npy->data))
		return false;
	return !is_for_kernels ||
	       (npy->data.len >= MPK_IN_PLACE_FROM &&
		(uintptr_t)npy->data.data % MPK_STORAGE_ALIGN == 0 &&
		make_writable(map, place ? &place->is_writable : &f->is_writable));
}

static void release_file(void *file)
{
	mpk_param_file_drop(file);
}

static enum mpk_code view(struct mpk_param_file *f, const struct mpk_npy *npy,
			  struct mpk_tensor **out, struct mpk_error *err)
{
	struct mpk_param_file *keeper = mpk_param_file_hold(f);
	struct mpk_storage *storage;
	enum mpk_code code = mpk_storage_wrap((void *)(uintptr_t)npy->data.data, npy->data.len,
					      (struct mpk_dldevice){ MPK_DL_CPU, 0 }, keeper,
					      release_file, &storage, err);

	if (code != MPK_OK) {
		mpk_param_file_drop(keeper);
		return code;
	}
	code = mpk_tensor_view(storage, 0, npy->dtype, npy->shape, npy->ndim, out, err);
	mpk_storage_drop(storage);
	return code;
}

static enum mpk_code find_array(struct mpk_param_file *f, size_t index, struct mpk_arena *unpacked,
				struct mpk_npy *out, struct mpk_error *err)
{
	if (f->records)
		return of_record(&f->records[index], out, err);
	return f->members ? of_member(f, &f->members[index], unpacked, out, err)
			  : of_weight(f, &f->weights[index], out, err);
}

enum mpk_code mpk_param_file_tensor(struct mpk_param_file *f, size_t index, bool is_for_kernels,
				    struct mpk_tensor **out, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena unpacked = { 0 };
	bool widens = f->weights && f->weights[index].coding == MPK_WEIGHT_BF16_UPPER;
	struct mpk_npy npy;
	enum mpk_code code = find_array(f, index, &unpacked, &npy, err);

	if (code == MPK_OK)
		code = widens                                     ? widen(&npy, out, err)
		       : can_stay(f, index, &npy, is_for_kernels) ? view(f, &npy, out, err)
								  : mpk_array_copy(&npy, out, err);
	if (code != MPK_OK)
		mpk_error_at_file(err, f->path);
	return code;
}
