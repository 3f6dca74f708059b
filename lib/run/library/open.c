/* SPDX-License-Identifier: Apache-2.0 */
/* open.c - opens models from a file, from memory, or from the standalone library that contains
 * them */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/arena.h"
#include "library/internal/library.h"
#include "program/device_kind.h"
#include "standalone/standalone.h"

uint32_t mpkr_version(void)
{
	return MPKR_VERSION;
}

/* --- options ---------------------------------------------------------------------------------- */

/* Size in the first release; callers compiled with a later header have more fields. */
enum { OPTIONS_SIZE_MIN = offsetof(struct mpkr_options, tvm_ffi) };

/* Checks the device before any driver is asked. */
static enum mpk_code check_device(struct mpkr_device d, struct mpk_error *err)
{
	enum mpk_device_kind kind = mpk_device_kind_from(d.device_type);

	if (!mpk_device_runs(kind))
		return mpk_fail(err, MPK_E_DEVICE,
				"this build has no back end for %s (device type %d)",
				mpk_device_kind_name(kind), d.device_type);
	if (d.device_type == MPK_DL_CPU && d.device_id)
		return mpk_fail(err, MPK_E_DEVICE, "there is one CPU, 0, and no CPU %d",
				d.device_id);
	return MPK_OK;
}

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
	if (out->flags & ~(uint32_t)(MPKR_BY_PATH | MPKR_PERF_MAP))
		return mpk_fail(err, MPK_E_USAGE, "unknown flags in the options: 0x%x", out->flags);
	if (out->device.device_id < 0 ||
	    (out->device.device_type &&
	     mpk_device_kind_from(out->device.device_type) == MPK_DEVICE_NONE))
		return mpk_fail(
			err, MPK_E_USAGE, "device %d of type %d in the options; models run on: %s",
			out->device.device_id, out->device.device_type, mpk_device_kind_names());
	return out->device.device_type ? check_device(out->device, err) : MPK_OK;
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

/* Implements mpkr_open. */
static enum mpk_code model_open(struct mpk_run_source *source, const struct mpkr_options *options,
				struct mpkr_model **out, struct mpk_error *err)
{
	struct mpkr_options taken;
	struct mpk_memory *before;
	struct mpkr_model *model;
	enum mpk_code code;

	if (!out || (!source->path && !source->memory.data))
		return mpk_fail(err, MPK_E_USAGE, "a pointer that is needed is NULL");
	MPK_TRY(take_options(options, &taken, err));
	source->is_alone |= (taken.flags & MPKR_BY_PATH) != 0;
	source->runtime.writes_perf_map = (taken.flags & MPKR_PERF_MAP) != 0;
	source->runtime.threads = taken.threads;
	source->runtime.loaded = taken.loaded;
	source->runtime.loaded_user = taken.loaded_context;
	source->runtime.log = taken.log;
	source->runtime.log_user = taken.log_context;
	source->runtime.parallel_for = taken.parallel_for;
	source->runtime.parallel_user = taken.parallel_context;
	source->runtime.tvm_ffi.explicit_path = taken.tvm_ffi;
	source->runtime.cuda_home = taken.cuda_home;
	MPK_TRY(mpk_run_create(source, &model, err));
	model->stream = (struct mpk_run_stream){ taken.stream != NULL, taken.stream };
	code = mpk_run_set_memory(model, taken.host_memory, taken.device_memory, err);
	before = mpk_run_takes(model);
	if (code == MPK_OK)
		code = mpk_run_load(model, err);
	if (code != MPK_OK && source->path)
		mpk_error_at_file(err, source->path);
	if (code == MPK_OK)
		code = choose_device(model, taken.device, err);
	if (code == MPK_OK)
		code = mpk_run_check_memory(model, err);
	(void)mpk_memory_swap(before);
	if (code != MPK_OK) {
		mpk_run_model_drop(model);
		return mpk_failed(code);
	}
	model->source.path = NULL; /* the path belongs to the caller */
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

/* One for each library, since each links its own copy of this file. */
static struct {
	struct mpk_arena arena;
	struct mpk_standalone parts;
	const uint8_t *blob; /* address of the unpacked blob */
	/* symbols of host code that is linked in; NULL if none is */
	const struct mpkr_symbol *symbols;
	size_t symbol_count;
	mpkr_model *model;
} carried;

/* Returns the piece of the file that contains content, if it was left in the file. */
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

/* Pages that are never written take no memory. */
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

/* The header gives the size, and the linker placed the data there. Compressed parts are unpacked
 * once, for the lifetime of the process. */
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
