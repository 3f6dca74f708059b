/* SPDX-License-Identifier: Apache-2.0 */
/* standalone.c - the entries of a library that carries its model: called as tvm-ffi calls functions
 *
 * The library's own code is C that mpack wrote (pack/package/standalone.c); it calls the functions of
 * library/internal/standalone.h, of which the archive has one copy a library. At the first call the carried library is
 * laid out in memory as it was, but for its large tensors, which stay where the file has them, and opened as
 * any library in memory is. Where its host code is linked into the new library as well, it is only read there, and
 * nothing is opened. It stays as long as the process: results are tensors that anybody may keep.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "abi/convention.h"
#include "library/internal/standalone.h"
#include "runtime/library.h"
#include "standalone/standalone.h"

/* --- the carried library ------------------------------------------------------------------------ */

/* One a library: its archive has one copy of this file. */
static struct {
	struct mpk_arena arena;
	struct mpk_standalone parts;
	const uint8_t *blob; /* where it was laid out */
	struct mpk_moved moved;
	const struct mpkr_symbol *symbols; /* of host code that is linked in; NULL: it is not */
	size_t symbol_count;
	mpkr_model *model;
} carried;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The piece that content is all or part of, when it is one that stayed in the file. */
static struct mpk_span find_moved(const void *user, struct mpk_span content)
{
	const struct mpk_standalone *s = &carried.parts;
	size_t low = 0, high = s->piece_count;
	uint64_t off;

	(void)user;
	if (content.data < carried.blob || content.data >= carried.blob + s->blob_bytes)
		return content;
	off = (uint64_t)(content.data - carried.blob);
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (s->pieces[middle].blob_off <= off)
			low = middle;
		else
			high = middle;
	}
	const struct mpk_standalone_piece *p = &s->pieces[low];

	off -= p->blob_off;
	if (!p->is_tensor || off > p->bytes.len || content.len > p->bytes.len - off)
		return content;
	return mpk_span_of(p->bytes.data + off, content.len);
}

static int compare_symbol(const void *name, const void *symbol)
{
	return strcmp(name, ((const struct mpkr_symbol *)symbol)->name);
}

static void *find_symbol(const char *name)
{
	const struct mpkr_symbol *found =
		bsearch(name, carried.symbols, carried.symbol_count, sizeof *found, compare_symbol);

	return found ? (void *)(uintptr_t)found->address : NULL;
}

static void standalone_take_symbols(const struct mpkr_symbol *symbols)
{
	carried.symbols = symbols;
	carried.symbol_count = 0;
	while (symbols && symbols[carried.symbol_count].name)
		carried.symbol_count++;
}

/* Pages that nothing is written to are none of the process. */
static enum mpk_code carried_lay_out(struct mpk_span *out, struct mpk_error *err)
{
	const struct mpk_standalone *s = &carried.parts;
	size_t len = s->before.len + (size_t)s->blob_bytes + s->after.len;
	uint8_t *to = mmap(NULL, len, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (to == MAP_FAILED)
		return mpk_fail_nomem(err);
	memcpy(to, s->before.data, s->before.len);
	for (size_t i = 0; i < s->piece_count; i++)
		if (!s->pieces[i].is_tensor)
			memcpy(to + s->before.len + s->pieces[i].blob_off, s->pieces[i].bytes.data,
			       s->pieces[i].bytes.len);
	memcpy(to + s->before.len + s->blob_bytes, s->after.data, s->after.len);
	carried.blob = to + s->before.len;
	*out = mpk_span_of(to, len);
	return MPK_OK;
}

/* The symbol's size is not at hand here; the header tells it, and the linker put it there. */
static enum mpk_code open_carried(const struct mpkr_entry *entry, struct mpk_error *err)
{
	struct mpk_run_origin origin = { .moved = &carried.moved };

	if (carried.model)
		return MPK_OK;
	if (!carried.blob) {
		MPK_TRY(mpk_standalone_read(mpk_span_of(entry->model, SIZE_MAX / 2), &carried.arena,
					    &carried.parts, err));
		MPK_TRY(carried_lay_out(&origin.memory, err));
	} else {
		origin.memory =
			mpk_span_of(carried.blob - carried.parts.before.len,
				    carried.parts.before.len + (size_t)carried.parts.blob_bytes +
					    carried.parts.after.len);
	}
	carried.moved.find = find_moved;
	standalone_take_symbols(entry->symbols);
	origin.symbol = carried.symbol_count ? find_symbol : NULL;
	return mpk_run_model_open(&origin, NULL, &carried.model, err);
}

static enum mpk_code find_entry(struct mpkr_entry *entry, mpkr_function **out,
				struct mpk_error *err)
{
	mpkr_function *f = __atomic_load_n(&entry->function, __ATOMIC_ACQUIRE);
	struct mpk_kernel_found found = { 0 };
	enum mpk_code code;

	*out = f;
	if (f)
		return MPK_OK;
	(void)pthread_mutex_lock(&lock);
	code = open_carried(entry, err);
	if (code == MPK_OK)
		code = mpk_run_look_up(carried.model, entry->name, &found.function, err);
	if (code == MPK_OK) {
		found.where = carried.model->where;
		code = mpk_run_function_create(carried.model, carried.model->first, &found, &f,
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

/* Host functions write into what they are given, and take what no signature tells: their arguments are passed on. */
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

static enum mpk_code call_model(mpkr_function *f, const struct mpk_ffi_any *args, size_t count,
				struct mpk_value *out, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_run_cells_fini) struct mpk_run_cells a = { 0 };
	enum mpk_code code;

	MPK_TRY(mpk_run_cells_take(&a, args, count, err));
	for (size_t i = 0; i < a.count; i++)
		if ((a.scalars[i] || !a.tensors[i]) && mpk_run_kind(f, i) == MPKR_KIND_TENSOR)
			return mpk_fail(err, MPK_E_CONFLICT, "input %zu takes a tensor", i);
	code = mpk_run_call_value(f, a.tensors, a.count, out, err);
	if (code == MPK_E_USAGE && a.count != f->input_count)
		err->code = code = MPK_E_CONFLICT; /* as Python calls a wrong number of arguments */
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
		code = mpk_run_cell_put(&out, result, &err);
	mpk_value_drop(&out);
	return code == MPK_OK ? 0 : mpk_run_cell_fail(&err);
}
