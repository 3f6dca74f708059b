/* SPDX-License-Identifier: Apache-2.0 */
/* standalone.c - entry points of a standalone library, which contains its model; called in
 * tvm-ffi's convention
 *
 * The library's own code is C that mpack generated (pack/package/standalone.c). It calls the
 * functions of library/internal/library.h; each library links its own copy of the archive. At the
 * first call the embedded library is unpacked to memory, except its large tensors, which stay in
 * the file, and opened like any library in memory. If its host code is linked into the new library,
 * it is only read, and nothing is opened. It stays until the process ends: callers may keep results
 * as long as they like.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/convention.h"
#include "abi/ffi_object.h"
#include "base/vec.h"
#include "library/internal/library.h"
#include "runtime/library.h"
#include "runtime/runtime.h"

/* Arguments and results are cells of tvm-ffi. The caller may or may not have the real
 * libtvm_ffi.so. Cells, tensors, shapes and texts have the same layout in both cases; arrays, and
 * errors that Python sees, belong to the real library. It is searched whenever it is needed,
 * because it may be loaded after the first call. */

/* --- the real tvm-ffi --------------------------------------------------------------------------- */

typedef int allocate_fn(struct mpk_dltensor *like, void **out);
typedef void *allocator_fn(void);
typedef void *get_stream_fn(int32_t device_type, int32_t device_id);

/* The functions of it that are used; zero if it is not loaded. */
struct real {
	void *handle; /* keeps it loaded */
	mpk_ffi_raise_fn *raise;
	mpk_ffi_get_global_fn *get_global;
	allocator_fn *allocator; /* returns the allocator that the caller has set, if any */
	allocate_fn *allocate;
	get_stream_fn *get_stream;
};

/* Searches the list of loaded libraries: a look-up by name would search the disk. */
struct loaded {
	unsigned long long adds; /* number of libraries loaded so far */
	bool is_count;           /* only read adds */
	char path[1024];         /* path of the real library; "" if not found */
};

static int see_library(struct dl_phdr_info *info, size_t size, void *data)
{
	struct loaded *l = data;
	const char *base = strrchr(info->dlpi_name, '/');

	(void)size;
	l->adds = info->dlpi_adds;
	if (l->is_count)
		return 1;
	if (!base || strcmp(base + 1, MPK_TVM_FFI_SONAME) != 0 ||
	    strlen(info->dlpi_name) >= sizeof l->path)
		return 0;
	memcpy(l->path, info->dlpi_name, strlen(info->dlpi_name) + 1);
	return 1;
}

static bool look_for_real(struct real *r)
{
	static atomic_ullong adds; /* value of adds when it was not found */
	struct loaded loaded = { .is_count = true };
	void *handle;

	(void)dl_iterate_phdr(see_library, &loaded);
	if (loaded.adds == atomic_load_explicit(&adds, memory_order_relaxed))
		return false;
	loaded.is_count = false;
	(void)dl_iterate_phdr(see_library, &loaded);
	if (!loaded.path[0]) {
		atomic_store_explicit(&adds, loaded.adds, memory_order_relaxed);
		return false;
	}
	handle = r->handle = dlopen(loaded.path, RTLD_LAZY | RTLD_NOLOAD);

	if (!handle || !dlsym(handle, "TVMFFIGetVersion"))
		return false;
	r->raise = MPK_CODE(mpk_ffi_raise_fn, dlsym(handle, "TVMFFIErrorSetRaisedFromCStr"));
	r->get_global = MPK_CODE(mpk_ffi_get_global_fn, dlsym(handle, "TVMFFIFunctionGetGlobal"));
	r->allocator =
		MPK_CODE(allocator_fn, dlsym(handle, "TVMFFIEnvGetDLPackManagedTensorAllocator"));
	r->allocate = MPK_CODE(allocate_fn, dlsym(handle, "TVMFFIEnvTensorAlloc"));
	r->get_stream = MPK_CODE(get_stream_fn, dlsym(handle, "TVMFFIEnvGetStream"));
	return true;
}

/* Once found it is kept: it is never unloaded, as its C++ objects are in use. */
static struct real find_real(void)
{
	static atomic_flag is_taken = ATOMIC_FLAG_INIT;
	static atomic_bool is_known;
	static struct real known;
	struct real r = { 0 };

	if (atomic_load_explicit(&is_known, memory_order_acquire))
		return known;
	if (look_for_real(&r) && !atomic_flag_test_and_set(&is_taken)) {
		known = r;
		atomic_store_explicit(&is_known, true, memory_order_release);
	}
	return r;
}

/* @out     owned; an error raised there stays raised */
static bool call_real(const char *name, const struct mpk_ffi_any *args, int32_t count,
		      struct mpk_ffi_any *out)
{
	const struct mpk_ffi_bytes key = { name, strlen(name) };
	const struct real real = find_real();
	const struct mpk_ffi_function_cell *cell;
	void *function = NULL;
	int status;

	*out = (struct mpk_ffi_any){ 0 };
	if (!real.get_global || real.get_global(&key, &function) != 0 || !function)
		return false;
	cell = mpk_ffi_cell(MPK_CONV_FFI, function);
	status = cell->safe_call(function, args, count, out);
	mpk_ffi_drop(MPK_CONV_FFI, function);
	return status == 0;
}

/* --- errors --------------------------------------------------------------------------------------- */

static _Thread_local char raised[sizeof((struct mpk_error *)0)->text + 80];

/* The error kinds of TVM's virtual machine and of Python. */
static const char *error_kind(enum mpk_code code)
{
	static const char *const kinds[MPK_CODE_COUNT] = {
		[MPK_E_USAGE] = "ValueError",   [MPK_E_RANGE] = "ValueError",
		[MPK_E_CONFLICT] = "TypeError", [MPK_E_NOMEM] = "MemoryError",
		[MPK_E_IO] = "OSError",         [MPK_E_NOTFOUND] = "AttributeError",
	};

	return kinds[code] ? kinds[code] : "RuntimeError";
}

/* Returns the length of the kind in "ValueError: text", an error of the model's own code. */
static size_t kind_bytes(const char *text)
{
	size_t len = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");

	return len > 5 && len < 60 && strncmp(text + len - 5, "Error", 5) == 0 &&
			       strncmp(text + len, ": ", 2) == 0
		       ? len
		       : 0;
}

/* Raises an error with TVM's and Python's name for its kind */
static int cell_fail(const struct mpk_error *err)
{
	const struct real real = find_real();
	size_t len = err->code == MPK_E_RAISED ? kind_bytes(err->text) : 0;
	const char *message = err->text + (len ? len + 2 : 0);
	char kind[64];

	(void)snprintf(kind, sizeof kind, "%.*s", len ? (int)len : (int)sizeof kind - 1,
		       len ? err->text : error_kind(err->code));
	(void)snprintf(raised, sizeof raised, "%s: %s", kind, message);
	if (real.raise)
		real.raise(kind, message);
	return -1;
}

/* --- arguments ------------------------------------------------------------------------------------ */

/* A cell other than a tensor, converted to a tensor. */
struct scalar {
	struct mpkr_tensor tensor;
	int64_t value[1];
	int64_t extent;
};

/* Arguments as tensors, for mpk_run_call_value; each element of an array counts by itself.
 * Zero-initialise. */
struct cells {
	struct mpkr_arg *args;
	struct scalar **scalars; /* NULL for tensors */
	size_t count, cap, scalar_cap;
	struct mpk_ffi_any *items; /* elements of arrays, owned */
	size_t item_count, item_cap;
	struct mpkr_model *model;
	struct mpkr_value **values; /* caches and other objects */
	size_t value_count, value_cap;
};

static void cells_fini(struct cells *a)
{
	for (size_t i = 0; i < a->count; i++)
		free(a->scalars[i]);
	for (size_t i = 0; i < a->item_count; i++)
		mpk_ffi_any_drop(MPK_CONV_FFI, &a->items[i]);
	for (size_t i = 0; i < a->value_count; i++)
		mpkr_value_drop(a->values[i]);
	free(a->args);
	free(a->scalars);
	free(a->items);
	free(a->values);
}

static enum mpk_code push_argument(struct cells *a, const struct mpkr_tensor *t,
				   struct scalar *owned, struct mpk_error *err)
{
	if (!MPK_VEC_ROOM(a->args, a->count, a->cap) ||
	    !mpk_vec_reserve(&a->scalars, &a->scalar_cap, a->count + 1, sizeof(void *))) {
		free(owned);
		return mpk_fail_nomem(err);
	}
	a->args[a->count] = (struct mpkr_arg){ .tensor = t };
	a->scalars[a->count++] = owned;
	return MPK_OK;
}

/* @data    elements of ndim 0 or 1; NULL: the value is in the scalar */
static enum mpk_code push_scalar(struct cells *a, struct mpkr_dtype type, const void *data,
				 int64_t value, int64_t extent, struct mpk_error *err)
{
	struct scalar *s = calloc(1, sizeof *s);

	MPK_TRY_ALLOC(s, err);
	s->value[0] = value;
	s->extent = extent;
	s->tensor = (struct mpkr_tensor){ .data = (void *)(uintptr_t)(data ? data : s->value),
					  .device = { MPKR_DEVICE_CPU, 0 },
					  .ndim = extent >= 0,
					  .dtype = type,
					  .shape = &s->extent };
	return push_argument(a, &s->tensor, s, err);
}

static enum mpk_code push_text(struct cells *a, const char *text, size_t len, struct mpk_error *err)
{
	return push_scalar(a, (struct mpkr_dtype){ MPKR_DTYPE_UINT, 8, 1 }, text, 0, (int64_t)len,
			   err);
}

/* Passes on an object that a call returned, such as a cache. */
static enum mpk_code push_object(struct cells *a, const struct mpk_value *object,
				 struct mpk_error *err)
{
	struct mpkr_value *v;

	MPK_TRY_ALLOC(mpk_vec_reserve(&a->values, &a->value_cap, a->value_count + 1,
				      sizeof(struct mpkr_value *)),
		      err);
	v = calloc(1, sizeof *v);
	MPK_TRY_ALLOC(v, err);
	v->model = mpk_run_model_hold(a->model);
	v->value = mpk_value_hold(*object);
	a->values[a->value_count++] = v;
	MPK_TRY(push_argument(a, NULL, NULL, err));
	a->args[a->count - 1].value = v;
	return MPK_OK;
}

static enum mpk_code push_cell(struct cells *a, const struct mpk_ffi_any *cell, size_t i, int depth,
			       struct mpk_error *err);

/* Adds each element of an array. */
static enum mpk_code push_array(struct cells *a, const struct mpk_ffi_any *array, size_t i,
				int depth, struct mpk_error *err)
{
	struct mpk_ffi_any args[2] = { *array, { .type_index = MPK_FFI_INT } }, size;
	const struct mpk_value *own = mpk_ffi_box_value(MPK_CONV_FFI, array->v_ptr);

	if (own)
		return push_object(a, own, err);
	if (depth > 16 || !call_real("ffi.ArraySize", args, 1, &size))
		return mpk_fail(err, MPK_E_CONFLICT, "argument %zu is an array that cannot be read",
				i);
	for (int64_t k = 0; k < size.v_int64; k++) {
		args[1].v_int64 = k;
		MPK_TRY_ALLOC(MPK_VEC_ROOM(a->items, a->item_count, a->item_cap), err);
		if (!call_real("ffi.ArrayGetItem", args, 2, &a->items[a->item_count]))
			return mpk_fail(err, MPK_E_CONFLICT, "item %lld of argument %zu is missing",
					(long long)k, i);
		const struct mpk_ffi_any item = a->items[a->item_count++];

		MPK_TRY(push_cell(a, &item, i, depth + 1, err));
	}
	return MPK_OK;
}

static enum mpk_code push_cell(struct cells *a, const struct mpk_ffi_any *cell, size_t i, int depth,
			       struct mpk_error *err)
{
	static const struct mpkr_dtype integer = { MPKR_DTYPE_INT, 64, 1 };
	const struct mpk_ffi_text_cell *text;
	const struct mpk_ffi_shape_cell *shape;

	switch (cell->type_index) {
	case MPK_FFI_NONE:
		return push_argument(a, NULL, NULL, err);
	case MPK_FFI_DLTENSOR:
		return push_argument(a, cell->v_ptr, NULL, err);
	case MPK_FFI_TENSOR:
		return push_argument(a, mpk_ffi_cell(MPK_CONV_FFI, cell->v_ptr), NULL, err);
	case MPK_FFI_INT:
		return push_scalar(a, integer, NULL, cell->v_int64, -1, err);
	case MPK_FFI_BOOL:
		return push_scalar(a, (struct mpkr_dtype){ MPKR_DTYPE_BOOL, 8, 1 }, NULL,
				   cell->v_int64 != 0, -1, err);
	case MPK_FFI_FLOAT:
		return push_scalar(a, (struct mpkr_dtype){ MPKR_DTYPE_FLOAT, 64, 1 }, NULL,
				   cell->v_int64, -1, err);
	case MPK_FFI_SHAPE:
		shape = mpk_ffi_cell(MPK_CONV_FFI, cell->v_ptr);
		return push_scalar(a, integer, shape->data, 0, (int64_t)shape->size, err);
	case MPK_FFI_RAW_STR:
		return push_text(a, cell->v_c_str, strlen(cell->v_c_str), err);
	case MPK_FFI_STR:
		text = mpk_ffi_cell(MPK_CONV_FFI, cell->v_ptr);
		return push_text(a, text->data, text->size, err);
	case MPK_FFI_ARRAY:
		return push_array(a, cell, i, depth, err);
	default:
		break;
	}
	if (cell->type_index == MPK_FFI_SMALL_STR && cell->small_len <= MPK_FFI_SMALL_MAX)
		return push_scalar(a, (struct mpkr_dtype){ MPKR_DTYPE_UINT, 8, 1 }, NULL,
				   cell->v_int64, cell->small_len, err);
	if (cell->type_index >= MPK_FFI_OBJECT && cell->v_ptr) {
		const struct mpk_value *object = mpk_ffi_box_value(MPK_CONV_FFI, cell->v_ptr);

		if (object)
			return push_object(a, object, err);
	}
	return mpk_fail(err, MPK_E_CONFLICT,
			"argument %zu is nothing that a model takes (type %d of tvm-ffi)", i,
			cell->type_index);
}

/* Reads count cells, borrowed until mpk_run_cells_fini */
static enum mpk_code cells_take(struct cells *a, const struct mpk_ffi_any *cells, size_t count,
				struct mpk_error *err)
{
	for (size_t i = 0; i < count; i++)
		MPK_TRY(push_cell(a, &cells[i], i, 0, err));
	return MPK_OK;
}

/* --- results -------------------------------------------------------------------------------------- */

/* If the caller has set an allocator for tensors, allocates the result with it, so that it belongs
 * to the caller. */
static bool put_allocated(const struct mpk_tensor *t, struct mpk_ffi_any *out)
{
	struct mpk_dltensor like = t->dl;
	void *made = NULL;
	struct real real;

	if (!mpk_dldevice_is_host(t->dl.device))
		return false;
	real = find_real();
	if (!real.allocator || !real.allocate || !real.allocator() ||
	    real.allocate(&like, &made) != 0 || !made)
		return false;
	mpk_tensor_copy_to(t, mpk_ffi_cell(MPK_CONV_FFI, made));
	*out = (struct mpk_ffi_any){ .type_index = MPK_FFI_TENSOR, .v_ptr = made };
	return true;
}

static enum mpk_code cell_put(const struct mpk_value *v, struct mpk_ffi_any *out,
			      struct mpk_error *err);

/* Arrays are made by the real library; without it, the caller gets an array that only
 * __mpk_standalone_item reads. */
static enum mpk_code put_results(const struct mpk_value *v, struct mpk_ffi_any *out,
				 struct mpk_error *err)
{
	size_t count = v->array->count;
	struct mpk_ffi_any *cells;
	enum mpk_code code = MPK_OK;

	if (!find_real().get_global)
		return mpk_ffi_encode(MPK_CONV_FFI, v, out, err);
	cells = calloc(count + 1, sizeof *cells);
	MPK_TRY_ALLOC(cells, err);
	for (size_t i = 0; i < count && code == MPK_OK; i++)
		code = cell_put(&v->array->items[i], &cells[i], err);
	if (code == MPK_OK && !call_real("ffi.Array", cells, (int32_t)count, out))
		code = mpk_fail(err, MPK_E_UNSUPPORTED, "this libtvm_ffi.so makes no arrays");
	for (size_t i = 0; i < count; i++)
		mpk_ffi_any_drop(MPK_CONV_FFI, &cells[i]);
	free(cells);
	return code;
}

/* Makes a cell of a result, with the caller's allocator for tensors if one is set */
static enum mpk_code cell_put(const struct mpk_value *v, struct mpk_ffi_any *out,
			      struct mpk_error *err)
{
	if (v->kind == MPK_VALUE_ARRAY)
		return put_results(v, out, err);
	if (v->kind == MPK_VALUE_TENSOR && put_allocated(v->tensor, out))
		return MPK_OK;
	return mpk_ffi_encode(MPK_CONV_FFI, v, out, err);
}

/* --- for the library's own code ----------------------------------------------------------------- */

int mpkr_answer(const char *text, void *result)
{
	struct mpk_value v = { 0 };
	struct mpk_error err = { 0 };
	enum mpk_code code = mpk_value_of_text(MPK_VALUE_STR, mpk_span_str(text), &v, &err);

	if (code == MPK_OK)
		code = mpk_ffi_encode(MPK_CONV_FFI, &v, result, &err);
	mpk_value_drop(&v);
	return code == MPK_OK ? 0 : cell_fail(&err);
}

const char *mpkr_raised(void)
{
	return raised;
}

int mpkr_item(const void *from, unsigned long i, void *out)
{
	const struct mpk_ffi_any *cell = from;
	const struct mpk_value *v;
	struct mpk_error err = { 0 };
	struct mpk_ffi_any args[2] = { *cell,
				       { .type_index = MPK_FFI_INT, .v_int64 = (int64_t)i } };
	enum mpk_code code = MPK_OK;

	v = cell->type_index == MPK_FFI_ARRAY ? mpk_ffi_box_value(MPK_CONV_FFI, cell->v_ptr) : NULL;
	if (v && i < v->array->count)
		code = cell_put(&v->array->items[i], out, &err);
	else if (v || cell->type_index != MPK_FFI_ARRAY ||
		 !call_real("ffi.ArrayGetItem", args, 2, out))
		code = mpk_fail(&err, MPK_E_RANGE, "there is no result %lu", i);
	return code == MPK_OK ? 0 : cell_fail(&err);
}

int mpkr_shape(const int64_t *extents, unsigned long count, void *out)
{
	void *shape = mpk_ffi_make_shape(MPK_CONV_FFI, extents, count);
	struct mpk_error err = { 0 };
	enum mpk_code code = shape ? MPK_OK : mpk_fail_nomem(&err);

	if (code != MPK_OK)
		return cell_fail(&err);
	*(struct mpk_ffi_any *)out =
		(struct mpk_ffi_any){ .type_index = MPK_FFI_SHAPE, .v_ptr = shape };
	return 0;
}

void mpkr_forget(void *result)
{
	mpk_ffi_any_drop(MPK_CONV_FFI, result);
}

/* --- functions of the carried library ------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects opening and finding */

static enum mpk_code find_entry(struct mpkr_entry *entry, mpkr_function **out,
				struct mpk_error *err)
{
	mpkr_function *f = __atomic_load_n(&entry->function, __ATOMIC_ACQUIRE);
	struct mpk_kernel_found found = { 0 };
	struct mpkr_model *model;
	enum mpk_code code;

	*out = f;
	if (f)
		return MPK_OK;
	(void)pthread_mutex_lock(&lock);
	code = mpk_run_open_carried(entry, &model, err);
	if (code == MPK_OK)
		code = mpk_run_look_up(model, entry->name, &found.function, err);
	if (code == MPK_OK) {
		found.where = model->where;
		code = mpk_run_function_create(model, model->first, entry->name, &found, NULL, &f,
					       err);
	}
	if (code == MPK_OK) {
		*out = f;
		__atomic_store_n(&entry->function, f, __ATOMIC_RELEASE);
	}
	(void)pthread_mutex_unlock(&lock);
	return code;
}

/* --- calls ------------------------------------------------------------------------------------------ */

/* Host functions write to their arguments and have no signature, so the arguments are passed on
 * unchanged. */
static enum mpk_code call_host(mpkr_function *f, const struct mpk_ffi_any *args, size_t count,
			       struct mpk_value *out, struct mpk_error *err)
{
	struct mpk_value *values = calloc(count + 1, sizeof *values);
	enum mpk_code code = MPK_OK;

	MPK_TRY_ALLOC(values, err);
	for (size_t i = 0; i < count && code == MPK_OK; i++)
		code = mpk_ffi_decode(MPK_CONV_FFI, &args[i], MPK_LIFETIME_CALL, &values[i], err);
	if (code == MPK_OK)
		code = mpk_function_call(f->function, &(struct mpk_args){ values, NULL, count },
					 out, err);
	for (size_t i = 0; i < count; i++)
		mpk_value_drop(&values[i]);
	free(values);
	return code;
}

/* Returns the stream that the caller has set in tvm-ffi, such as PyTorch's current one; without
 * tvm-ffi none can be set. */
static struct mpk_run_stream stream_of(const mpkr_function *f)
{
	struct real real;

	if (!mpk_run_has_addresses(f->where))
		return (struct mpk_run_stream){ 0 };
	real = find_real();
	if (!real.get_stream)
		return (struct mpk_run_stream){ 0 };
	return (struct mpk_run_stream){ true, real.get_stream(f->where.type, f->where.id) };
}

static enum mpk_code call_model(mpkr_function *f, const struct mpk_ffi_any *args, size_t count,
				struct mpk_value *out, struct mpk_error *err)
{
	MPK_CLEANUP(cells_fini) struct cells a = { .model = f->model };
	const struct mpk_run_stream stream = stream_of(f);
	enum mpk_code code;

	MPK_TRY(cells_take(&a, args, count, err));
	for (size_t i = 0; i < a.count; i++)
		if ((a.scalars[i] || (!a.args[i].tensor && !a.args[i].value)) &&
		    mpk_run_kind(f, i) == MPKR_KIND_TENSOR)
			return mpk_fail(err, MPK_E_CONFLICT, "input %zu takes a tensor", i);
	code = mpk_run_call_value(f, a.args, a.count, true, &stream, out, err);
	/* the error kind that Python uses for a wrong number of arguments */
	if (code == MPK_E_USAGE && a.count != f->input_count)
		err->code = code = MPK_E_CONFLICT;
	return code;
}

int mpkr_enter(struct mpkr_entry *entry, const void *args, int count, void *result)
{
	struct mpk_value out = { 0 };
	struct mpk_error err = { 0 };
	mpkr_function *f;
	enum mpk_code code = MPK_OK;

	if (count < 0 || count > MPK_ARGS_MAX)
		code = mpk_fail(&err, MPK_E_CONFLICT, "%d arguments; at most %d are passed", count,
				MPK_ARGS_MAX);
	if (code == MPK_OK)
		code = find_entry(entry, &f, &err);
	if (code == MPK_OK)
		code = (mpk_run_function_is_model(f) ? call_model : call_host)(
			f, args, (size_t)count, &out, &err);
	if (code == MPK_OK)
		code = cell_put(&out, result, &err);
	mpk_value_drop(&out);
	return code == MPK_OK ? 0 : cell_fail(&err);
}
