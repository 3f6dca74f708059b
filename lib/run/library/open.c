/* SPDX-License-Identifier: Apache-2.0 */
/* open.c - models opened from a file, from memory or from the library that carries them, and parameters from files
 *
 * Parameters are constants that a library leaves to a file, and inputs of its functions. Names decide, as far as there
 * are any. An input that no name finds is one of calls.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/arena.h"
#include "executor/executor.h"
#include "library/internal/library.h"
#include "program/device_kind.h"
#include "standalone/standalone.h"
#include "zip/zip.h"

/* --- constants that are bound late ------------------------------------------------------------ */

struct late {
	const struct mpk_run_params *params;
	bool is_on_host; /* the model is */
};

static enum mpk_code find_late(void *user, struct mpk_span name, struct mpk_tensor **out,
			       struct mpk_error *err)
{
	const struct late *late = user;
	size_t index;

	for (const struct mpk_run_params *p = late->params; p; p = p->next)
		if (mpk_param_file_find(p->file, name, &index))
			return mpk_param_file_tensor(p->file, index, late->is_on_host, out, err);
	return MPK_OK;
}

enum mpk_code mpk_run_bind_late(struct mpkr_model *model, const struct mpk_run_params *params,
				struct mpk_error *err)
{
	struct late late = { params, mpk_dldevice_is_host(model->where) };

	return params ? mpk_relay_bind_library(model->library, find_late, &late, err) : MPK_OK;
}

/* --- names in a file -------------------------------------------------------------------------- */

/* "fc1.weight" as "fc1_weight": what is no letter or digit of ASCII becomes an underscore. */
static struct mpk_span identifier_of(struct mpk_span name, struct mpk_arena *arena)
{
	char *text = mpk_arena_text(arena, name);

	for (size_t i = 0; text && i < name.len; i++)
		if (!isalnum((unsigned char)text[i]))
			text[i] = '_';
	return mpk_span_of(text, text ? name.len : 0);
}

/* Two tensors of one identifier have none: others might take the one, or the other. */
static void fill_exported(struct mpk_run_finder *f)
{
	size_t count = mpk_param_file_count(f->file), first;

	f->is_ambiguous = mpk_arena_array(f->arena, count + 1, sizeof *f->is_ambiguous);
	f->failed |= !f->is_ambiguous;
	for (size_t i = 0; f->is_ambiguous && i < count; i++) {
		struct mpk_span id = identifier_of(mpk_param_file_entry(f->file, i).name, f->arena);
		int put = id.data ? mpk_strmap_put(&f->exported, id, i, &first) : -1;

		f->failed |= put < 0;
		if (put == 0)
			f->is_ambiguous[first] = true;
	}
}

/* A parameter is "p_" and its identifier in what torch.export makes, a buffer "b_", a constant "c_". */
static bool find_exported(struct mpk_run_finder *f, struct mpk_span name, size_t *index)
{
	bool has_prefix = name.len > 2 && name.data[1] == '_' && memchr("pbc", name.data[0], 3);

	if (!f->is_ambiguous)
		fill_exported(f);
	return f->is_ambiguous &&
	       (mpk_strmap_find(&f->exported, name, index) ||
		(has_prefix &&
		 mpk_strmap_find(&f->exported, mpk_span_of(name.data + 2, name.len - 2), index))) &&
	       !f->is_ambiguous[*index];
}

bool mpk_run_find_param(struct mpk_run_finder *f, struct mpk_span name, size_t *index)
{
	return name.len &&
	       (mpk_param_file_find(f->file, name, index) || find_exported(f, name, index));
}

/* --- binding ---------------------------------------------------------------------------------- */

/* One tensor where its input is wanted: one by one, so that parameters of many GiB are not in memory twice. */
enum mpk_code mpk_run_send_param(const struct mpkr_function *f, const struct mpk_type *type,
				 struct mpk_param_file *file, size_t index, struct mpk_value *out,
				 struct mpk_error *err)
{
	struct mpk_dldevice where = f->where;
	struct mpk_tensor *host;
	enum mpk_code code;

	if (type->kind == MPK_TYPE_TENSOR && type->device && type->device != where.type)
		where = (struct mpk_dldevice){ .type = type->device };
	MPK_TRY(mpk_param_file_tensor(file, index, mpk_dldevice_is_host(where), &host, err));
	code = mpk_devices_send(mpk_runtime_devices(f->model->runtime), host, where, &out->tensor,
				err);
	mpk_tensor_drop(host);
	MPK_TRY(code);
	mpk_runtime_loaded(f->model->runtime, out->tensor->bytes);
	out->kind = MPK_VALUE_TENSOR;
	return MPK_OK;
}

/* A member that is not compressed: the library links no zlib. */
static enum mpk_code read_stored(struct mpk_span zip, const struct mpk_zip_member *m,
				 struct mpk_arena *arena, struct mpk_span *out,
				 struct mpk_error *err)
{
	static const struct mpk_zip_options options = { .space = "npz",
							.advice = "save it with numpy.savez" };

	(void)arena; /* a view needs no memory */
	return mpk_zip_stored(zip, m, &options, out, err);
}

static enum mpk_code bind_file(struct mpkr_model *model, const char *path, struct mpk_error *err)
{
	struct mpk_run_params *p;
	enum mpk_code code;

	if (model->is_found)
		return mpk_fail(err, MPK_E_USAGE,
				"parameters are bound before a function is found");
	p = calloc(1, sizeof *p);
	MPK_TRY_ALLOC(p, err);
	code = mpk_param_file_open(path, read_stored, &p->file, err);
	if (code != MPK_OK) {
		free(p);
		return mpk_failed(code);
	}
	p->next = model->params;
	model->params = p;
	return MPK_OK;
}

int mpkr_bind_params(mpkr_model *model, const char *path, struct mpkr_error *err)
{
	struct mpk_error failure;
	enum mpk_code code;

	if (!model || !path) {
		(void)mpk_fail(&failure, MPK_E_USAGE, "a pointer that is needed is NULL");
		return mpk_run_report(&failure, err);
	}
	(void)pthread_mutex_lock(&model->lock);
	code = bind_file(model, path, &failure);
	(void)pthread_mutex_unlock(&model->lock);
	return code == MPK_OK ? MPKR_OK : mpk_run_report(&failure, err);
}

uint32_t mpkr_version(void)
{
	return MPKR_VERSION;
}

/* --- options ---------------------------------------------------------------------------------- */

/* Those of the first release; a caller that was compiled with a later header has more. */
enum { OPTIONS_SIZE_MIN = offsetof(struct mpkr_options, tvm_ffi) };

static enum mpk_code take_options(const struct mpkr_options *from, struct mpkr_options *out,
				  struct mpk_error *err)
{
	*out = (struct mpkr_options){ .size = sizeof *out };
	if (!from)
		return MPK_OK;
	if (from->size < OPTIONS_SIZE_MIN)
		return mpk_fail(err, MPK_E_USAGE, "options of %zu bytes: set their size",
				from->size);
	memcpy(out, from, from->size < sizeof *out ? from->size : sizeof *out);
	if (out->flags)
		return mpk_fail(err, MPK_E_USAGE, "unknown flags in the options: 0x%x", out->flags);
	if (out->device.device_id < 0 ||
	    (out->device.device_type &&
	     mpk_device_kind_from(out->device.device_type) == MPK_DEVICE_NONE))
		return mpk_fail(
			err, MPK_E_USAGE, "device %d of type %d in the options; models run on: %s",
			out->device.device_id, out->device.device_type, mpk_device_kind_names());
	return MPK_OK;
}

/* --- devices ---------------------------------------------------------------------------------- */

enum mpk_code mpk_run_settle(struct mpkr_model *model, struct mpk_error *err)
{
	return model->stream.is_set ? MPK_OK
				    : mpk_devices_sync(mpk_runtime_devices(model->runtime), err);
}

bool mpk_run_works(const mpkr_model *model)
{
	return mpk_devices_sync(mpk_runtime_devices(model->runtime), NULL) == MPK_OK;
}

static enum mpk_code choose_device(struct mpkr_model *model, struct mpkr_device asked,
				   struct mpk_error *err)
{
	struct mpk_dldevice where = { asked.device_type, asked.device_id };

	if (!asked.device_type)
		where = mpk_devices_of(model->tree);
	return mpk_run_set_device(model, where, !asked.device_type, err);
}

/* --- opening ---------------------------------------------------------------------------------- */

/* As mpkr_open. */
static enum mpk_code model_open(struct mpk_run_source *source, const struct mpkr_options *options,
				struct mpkr_model **out, struct mpk_error *err)
{
	struct mpkr_options taken;
	struct mpkr_model *model;
	enum mpk_code code;

	if (!out || (!source->path && !source->memory.data))
		return mpk_fail(err, MPK_E_USAGE, "a pointer that is needed is NULL");
	MPK_TRY(take_options(options, &taken, err));
	source->runtime.threads = taken.threads;
	source->runtime.tvm_ffi.explicit_path = taken.tvm_ffi;
	source->runtime.cuda_home = taken.cuda_home;
	MPK_TRY(mpk_run_create(source, &model, err));
	model->stream = (struct mpk_run_stream){ taken.stream != NULL, taken.stream };
	code = mpk_run_load(model, err);
	if (code != MPK_OK && source->path)
		mpk_error_at_file(err, source->path);
	if (code == MPK_OK)
		code = choose_device(model, taken.device, err);
	if (code != MPK_OK) {
		mpk_run_model_drop(model);
		return mpk_failed(code);
	}
	model->source.path = NULL; /* the caller's */
	*out = model;
	return MPK_OK;
}

static int open_reported(struct mpk_run_source source, const struct mpkr_options *options,
			 mpkr_model **out, struct mpkr_error *err)
{
	struct mpk_error failure;

	if (model_open(&source, options, out, &failure) == MPK_OK)
		return MPKR_OK;
	return mpk_run_report(&failure, err);
}

int mpkr_open(const char *path, const struct mpkr_options *options, mpkr_model **out,
	      struct mpkr_error *err)
{
	return open_reported((struct mpk_run_source){ .path = path }, options, out, err);
}

int mpkr_open_memory(const void *bytes, size_t len, const struct mpkr_options *options,
		     mpkr_model **out, struct mpkr_error *err)
{
	return open_reported((struct mpk_run_source){ .memory = mpk_span_of(bytes, len) }, options,
			     out, err);
}

/* --- the carried library ------------------------------------------------------------------------ */

/* One a library: its archive has one copy of this file. */
static struct {
	struct mpk_arena arena;
	struct mpk_standalone parts;
	const uint8_t *blob;               /* where it was laid out */
	const struct mpkr_symbol *symbols; /* of host code that is linked in; NULL: it is not */
	size_t symbol_count;
	mpkr_model *model;
} carried;

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

static void model_take_symbols(const struct mpkr_symbol *symbols)
{
	carried.symbols = symbols;
	carried.symbol_count = 0;
	while (symbols && symbols[carried.symbol_count].name)
		carried.symbol_count++;
}

/* Pages that nothing is written to are none of the process. */
static enum mpk_code carried_lay_out(const struct mpkr_entry *entry, struct mpk_span *out,
				     struct mpk_error *err)
{
	const struct mpk_standalone *s = &carried.parts;
	size_t len = s->before.len + (size_t)s->blob_bytes + s->after.len;
	uint8_t *to = mmap(NULL, len, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	enum mpk_code code = MPK_OK;

	if (to == MAP_FAILED)
		return mpk_fail_nomem(err);
	memcpy(to, s->before.data, s->before.len);
	for (size_t i = 0; i < s->piece_count && code == MPK_OK; i++)
		if (!s->pieces[i].is_tensor)
			code = mpk_standalone_copy(&s->pieces[i], entry->decode,
						   to + s->before.len + s->pieces[i].blob_off, err);
	if (code != MPK_OK) {
		(void)munmap(to, len);
		return mpk_failed(code);
	}
	memcpy(to + s->before.len + s->blob_bytes, s->after.data, s->after.len);
	carried.blob = to + s->before.len;
	*out = mpk_span_of(to, len);
	return MPK_OK;
}

/* The symbol's size is not at hand here; the header tells it, and the linker put it there. What is packed is unpacked
 * once, for as long as the process lives. */
static enum mpk_code carried_read(const struct mpkr_entry *entry, struct mpk_error *err)
{
	MPK_TRY(mpk_standalone_read(mpk_span_of(entry->model, SIZE_MAX / 2), &carried.arena,
				    &carried.parts, err));
	return mpk_standalone_unpack_tensors(&carried.parts, entry->decode, &carried.arena, err);
}

enum mpk_code mpk_run_open_carried(const struct mpkr_entry *entry, struct mpkr_model **out,
				   struct mpk_error *err)
{
	struct mpk_run_source source = { .moved.find = find_moved };

	*out = carried.model;
	if (carried.model)
		return MPK_OK;
	if (!carried.blob) {
		MPK_TRY(carried_read(entry, err));
		MPK_TRY(carried_lay_out(entry, &source.memory, err));
	} else {
		source.memory =
			mpk_span_of(carried.blob - carried.parts.before.len,
				    carried.parts.before.len + (size_t)carried.parts.blob_bytes +
					    carried.parts.after.len);
	}
	model_take_symbols(entry->symbols);
	source.symbol = carried.symbol_count ? find_symbol : NULL;
	MPK_TRY(model_open(&source, NULL, &carried.model, err));
	*out = carried.model;
	return MPK_OK;
}
