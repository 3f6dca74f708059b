/* SPDX-License-Identifier: Apache-2.0 */
/* device_code.c - GPU code of any library, whether it belongs to TVM or not: its target devices and
 * its containers
 *
 * A library may have gigabytes of compressed GPU code. So targets are read from headers only, and
 * each container is unpacked, read and freed before the next one. */
#include "model/device_code.h"

#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/strmap.h"
#include "base/vec.h"
#include "code/format.h"
#include "elf/image.h"
#include "io/copy.h"
#include "offload/offload.h"
#include "text/escape.h"

/* --- targets ---------------------------------------------------------------------------- */

/* For images in a section without a container, the section's name tells the device:
 * "__CLANG_OFFLOAD_BUNDLE__sycl-spir64". */
static void name_target(const char *section, struct mpk_code_target *t)
{
	const char *id = strstr(section, "BUNDLE__");
	struct mpk_offload_entry e = { 0 };

	if (!id || t->name[0])
		return;
	mpk_offload_split_id(mpk_span_str(id + strlen("BUNDLE__")), &e);
	(void)mpk_escape_to(e.arch.len ? e.arch : e.triple, t->name, sizeof t->name);
}

/* Makes the target of an image without a container. Its header names no device: `what` is the
 * format, and name_target adds the device if the section's name has it. */
static enum mpk_code bare_target(const struct mpk_code_format *f, struct mpk_span bytes,
				 struct mpk_arena *arena, struct mpk_code_target **out,
				 struct mpk_error *err)
{
	static const struct {
		const struct mpk_code_format *format;
		const char *what;
	} rows[] = {
		{ &mpk_format_spirv, "SPIR-V" },
		{ &mpk_format_elf, "ELF" },
		{ &mpk_format_archive, "archive" },
	};
	struct mpk_code_target *t = mpk_arena_alloc(arena, sizeof *t);

	MPK_TRY_ALLOC(t, err);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		if (f == rows[i].format) {
			*t = (struct mpk_code_target){ .kind = MPK_TARGET_OTHER,
						       .what = rows[i].what,
						       .bytes = bytes.len,
						       .plain_bytes = bytes.len };
			*out = t;
			return MPK_OK;
		}
	}
	return mpk_fail(err, MPK_E_CORRUPT, "here is %s where a container of device code should be",
			f->name);
}

enum mpk_code mpk_device_targets(const char *section, struct mpk_span bytes,
				 struct mpk_arena *arena, const struct mpk_code_target **out,
				 size_t *count, struct mpk_error *err)
{
	const struct mpk_code_format *f = mpk_code_format_of(bytes);
	struct mpk_code_target *targets = NULL;
	size_t n = 1;

	if (f->targets)
		MPK_TRY(f->targets(bytes, arena, &targets, &n, err));
	else
		MPK_TRY(bare_target(f, bytes, arena, &targets, err));
	for (size_t i = 0; i < n; i++)
		name_target(section, &targets[i]);
	*out = targets;
	*count = n;
	return MPK_OK;
}

/* --- rows ------------------------------------------------------------------------------ */

/* Rows during counting, found by a hash table, as a library may have thousands of images. */
struct counting {
	struct mpk_device_row *rows; /* malloc'ed */
	size_t count, cap;
	struct mpk_strmap by_name; /* keys are "what target" */
	struct mpk_arena *arena;
};

static void counting_fini(struct counting *c)
{
	free(c->rows);
	mpk_strmap_fini(&c->by_name);
}

static const char *device_code_packing_of(const struct mpk_code_target *t)
{
	return t->packing ? t->packing : "stored";
}

/* Returns the word for an image if its container has none:
 * code that drivers compile is PTX, everything else an image. */
static const char *what_of(const struct mpk_code_target *t)
{
	if (t->what)
		return t->what;
	return t->kind == MPK_TARGET_PTX ? "PTX" : "image";
}

/* Returns the row for an image's kind and device, and adds it if it is new. The row's target is the
 * end of its key, so one copy in the arena serves both. */
static enum mpk_code device_code_find_row(struct counting *c, const struct mpk_code_target *t,
					  size_t *row, struct mpk_error *err)
{
	const char *key = mpk_arena_printf(c->arena, "%s %s", what_of(t), t->name);
	int rc;

	MPK_TRY_ALLOC(key, err);
	rc = mpk_strmap_put(&c->by_name, mpk_span_str(key), c->count, row);
	MPK_TRY_ALLOC(rc >= 0, err);
	if (rc == 0)
		return MPK_OK;
	MPK_TRY_ALLOC(MPK_VEC_ROOM(c->rows, c->count, c->cap), err);
	c->rows[c->count++] = (struct mpk_device_row){ .target = key + strlen(what_of(t)) + 1,
						       .what = what_of(t),
						       .packing = device_code_packing_of(t) };
	return MPK_OK;
}

static enum mpk_code add_target(struct counting *c, const struct mpk_code_target *t,
				struct mpk_error *err)
{
	struct mpk_device_row *r;
	size_t row = 0;

	MPK_TRY(device_code_find_row(c, t, &row, err));
	r = &c->rows[row];
	r->images++;
	r->bytes += t->bytes;
	r->plain_bytes += t->plain_bytes;
	/* a row has one word for its compression; "several" differs from all others, so it stays */
	if (strcmp(r->packing, device_code_packing_of(t)) != 0)
		r->packing = "several";
	return MPK_OK;
}

enum mpk_code mpk_device_rows(const struct mpk_view *view, struct mpk_arena *arena,
			      struct mpk_device_rows *out, struct mpk_error *err)
{
	MPK_CLEANUP(counting_fini) struct counting c = { .arena = arena };
	struct mpk_device_rows rows = { 0 };

	for (size_t i = 0; i < view->image->device_count; i++) {
		MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
		const struct mpk_code_target *targets;
		size_t count = 0;
		const struct mpk_image_device *d = &view->image->devices[i];
		enum mpk_code code =
			mpk_device_targets(d->section, d->bytes, &scratch, &targets, &count, NULL);

		/* an unreadable container is only counted here:
		 * --verify reports it as an error */
		if (code == MPK_E_NOMEM)
			return mpk_fail_nomem(err);
		rows.broken += code != MPK_OK;
		for (size_t k = 0; code == MPK_OK && k < count; k++)
			MPK_TRY(add_target(&c, &targets[k], err));
	}
	rows.items = mpk_arena_keep(arena, c.rows, c.count, sizeof *c.rows);
	MPK_TRY_ALLOC(rows.items, err);
	rows.count = c.count;
	*out = rows;
	return MPK_OK;
}

/* --- containers ------------------------------------------------------------------------ */

const char *mpk_device_title(const struct mpk_image *image)
{
	return image->format == MPK_FILE_DEVICE ? mpk_code_format_of(image->bytes)->title : NULL;
}

/* Whether a section holds input for a device linker, which no driver takes. Clang's linker
 * wrapper and Intel's compilers also put linked code into sections of the same names, but those
 * are loaded. */
static bool is_linker_input(const char *section, bool is_loaded)
{
	static const char *const begins[] = { ".llvm.offloading", "__CLANG_OFFLOAD_BUNDLE__" };

	if (strncmp(section, "__nv_relfatbin", strlen("__nv_relfatbin")) == 0)
		return true;
	for (size_t i = 0; i < MPK_ARRAY_COUNT(begins) && !is_loaded; i++)
		if (strncmp(section, begins[i], strlen(begins[i])) == 0)
			return true;
	return false;
}

bool mpk_device_is_input(const char *section, bool is_loaded, struct mpk_span bytes)
{
	const struct mpk_code_format *f = mpk_code_format_of(bytes);

	return is_linker_input(section, is_loaded) || f == &mpk_format_bitcode ||
	       f == &mpk_format_ltoir;
}

const char *mpk_device_path(const struct mpk_image_device *d, struct mpk_arena *arena)
{
	return mpk_arena_printf(arena, "%s:%zu", MPK_QUOTE(mpk_span_str(d->section)), d->index);
}

/* Sections may have any name. To count as one without looking at the file, a text must begin like
 * the name of a symbol, file or section, and must not contain the "::" of C++. */
bool mpk_device_is_path(struct mpk_span text)
{
	const uint8_t *colon = text.len ? memrchr(text.data, ':', text.len) : NULL;
	size_t len = colon ? (size_t)(colon - text.data) : 0;
	uint64_t index;

	if (!len || text.data[0] == '/' || text.data[len - 1] == ':' ||
	    mpk_span_equal(mpk_span_of(text.data, len + 1), mpk_span_str(MPK_EMBEDDED_PATH)) ||
	    !mpk_parse_u64(mpk_span_of(colon + 1, text.len - len - 1), &index))
		return false;
	for (size_t i = 0; i < len; i++)
		if (text.data[i] <= ' ' || strchr("()<>,\"'", text.data[i]))
			return false;
	return true;
}

const char *mpk_device_target(const struct mpk_code_info *image)
{
	return image->target;
}

const char *mpk_device_suffix(const struct mpk_code_info *image)
{
	static const struct {
		const struct mpk_code_format *format;
		const char *suffix;
	} rows[] = {
		{ &mpk_format_spirv, "spv" },
		{ &mpk_format_bitcode, "bc" },
		{ &mpk_format_elf, "o" },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (image->format == rows[i].format)
			return rows[i].suffix;
	return image->format && image->format->word ? image->format->word : "bin";
}

enum mpk_code mpk_device_container(const struct mpk_image_device *d, struct mpk_arena *arena,
				   struct mpk_view_code *out, struct mpk_error *err)
{
	struct mpk_image_code *at = mpk_arena_alloc(arena, sizeof *at);

	MPK_TRY_ALLOC(at, err);
	*at = (struct mpk_image_code){ .name = d->section,
				       .bytes = d->bytes,
				       .off = d->off,
				       .room_bytes = d->bytes.len,
				       .member = d->member };
	*out = (struct mpk_view_code){ .at = at, .path = mpk_device_path(d, arena) };
	MPK_TRY_ALLOC(out->path, err);
	return mpk_code_info_read(d->bytes, d->off, NULL, arena, &out->code, err);
}

/* --- containers that are kept --------------------------------------------------------------- */

struct kept_container {
	struct mpk_arena arena;
	struct mpk_view_code code; /* path is NULL if the container is not kept */
};

struct mpk_device_kept {
	uint64_t left;                 /* bytes of images that may still be kept */
	struct kept_container items[]; /* one for each of image->devices */
};

enum mpk_code mpk_device_keep(struct mpk_view *view, uint64_t most_bytes, struct mpk_error *err)
{
	size_t count = view->image->device_count;
	struct mpk_device_kept *kept;

	if (view->kept || !count)
		return MPK_OK;
	kept = calloc(1, sizeof *kept + count * sizeof kept->items[0]);
	MPK_TRY_ALLOC(kept, err);
	kept->left = most_bytes;
	view->kept = kept;
	return MPK_OK;
}

void mpk_device_forget(struct mpk_view *view)
{
	for (size_t i = 0; view->kept && i < view->image->device_count; i++)
		mpk_arena_fini(&view->kept->items[i].arena);
	free(view->kept);
	view->kept = NULL;
}

void mpk_device_release(const struct mpk_view *view, size_t index)
{
	if (!view->kept)
		return;
	mpk_arena_fini(&view->kept->items[index].arena);
	view->kept->items[index] = (struct kept_container){ 0 };
}

enum mpk_code mpk_device_borrow(const struct mpk_view *view, size_t index, struct mpk_arena *arena,
				const struct mpk_view_code **out, struct mpk_error *err)
{
	const struct mpk_image_device *d = &view->image->devices[index];
	struct kept_container *k = view->kept ? &view->kept->items[index] : NULL;
	struct mpk_view_code *made;
	uint64_t bytes = 0;

	if (!k || (!k->code.path && !view->kept->left)) {
		made = mpk_arena_alloc(arena, sizeof *made);
		MPK_TRY_ALLOC(made, err);
		MPK_TRY(mpk_device_container(d, arena, made, err));
		*out = made;
		return MPK_OK;
	}
	if (!k->code.path) {
		MPK_TRY(mpk_device_container(d, &k->arena, &k->code, err));
		for (size_t i = 0; i < k->code.code.image_count; i++)
			bytes += k->code.code.images[i].bytes.len;
		/* the container that exceeds the limit is kept, but none after it */
		view->kept->left -= bytes < view->kept->left ? bytes : view->kept->left;
	}
	*out = &k->code;
	return MPK_OK;
}

/* Each container that is not kept has its own arena, so memory is bounded by the largest container,
 * not by their sum. */
static enum mpk_code read_one(const struct mpk_view *view, size_t index,
			      enum mpk_code (*each)(const struct mpk_view_code *c, void *arg,
						    struct mpk_error *err),
			      void *arg, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	const struct mpk_view_code *c;

	MPK_TRY(mpk_device_borrow(view, index, &scratch, &c, err));
	MPK_TRY(each(c, arg, err));
	mpk_copy_tell(view->image->devices[index].bytes.len);
	return MPK_OK;
}

enum mpk_code mpk_device_each(const struct mpk_view *view,
			      enum mpk_code (*each)(const struct mpk_view_code *c, void *arg,
						    struct mpk_error *err),
			      void *arg, struct mpk_error *err)
{
	for (size_t i = 0; i < view->image->device_count; i++)
		MPK_TRY(read_one(view, i, each, arg, err));
	return MPK_OK;
}
