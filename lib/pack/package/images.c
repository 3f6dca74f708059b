/* SPDX-License-Identifier: Apache-2.0 */
/* Combines code for several GPUs into one container, and replaces code in a container. The
 * architecture of an image is read from its bytes, never from the name of its file. */
#include "package/images.h"

#include <string.h>

#include "code/format.h"
#include "fatbin/fatbin.h"
#include "io/reader.h"
#include "offload/offload.h"
#include "text/escape.h"

/* Compression levels of zstd and zlib for bundles that are compressed again: default and
 * highest. */
enum { PACKING_LEVEL = 6, LAST_ZLIB = 9, LAST_ZSTD = 19 };

/* The images of one file. */
struct listed {
	const struct mpk_code_target *targets;
	size_t count;
};

static enum mpk_code list_file(const struct mpk_image_file *f, struct mpk_arena *arena,
			       struct listed *out, struct mpk_error *err)
{
	enum mpk_code code = mpk_code_targets(f->bytes, arena, &out->targets, &out->count, err);

	if (code == MPK_OK && !out->count)
		code = mpk_fail(
			err, MPK_E_UNSUPPORTED,
			"this is no code for a GPU: a cubin, PTX, a fatbin or a code object");
	if (code != MPK_OK)
		mpk_error_at_file(err, f->name);
	return code;
}

/* --- a fatbin of files ----------------------------------------------------------------------- */

/* Refuses two images for the same target: the driver would load one of them, and which one is
 * undefined. */
static enum mpk_code check_twice(const struct mpk_image_file *files, const struct listed *lists,
				 size_t at, struct mpk_error *err)
{
	for (size_t i = 0; i < at; i++)
		for (size_t k = 0; k < lists[i].count * lists[at].count; k++) {
			const char *name = lists[at].targets[k / lists[i].count].name;

			if (strcmp(name, lists[i].targets[k % lists[i].count].name) != 0)
				continue;
			(void)mpk_fail(err, MPK_E_CONFLICT, "'%s' has an image for %s, too",
				       MPK_QUOTE(mpk_span_str(files[i].name)), name);
			mpk_error_at_file(err, files[at].name);
			return MPK_E_CONFLICT;
		}
	return MPK_OK;
}

/* Copies an entry of a fatbin unchanged. Images that are compressed together are copied with the
 * first of them. */
static void put_entry(const struct mpk_fatbin *f, size_t i, struct mpk_rope *out)
{
	const struct mpk_fatbin_entry *e = &f->entries[i];

	if (!e->piece_bytes)
		mpk_rope_put_view(out, e->whole);
	else if (!i || f->entries[i - 1].piece.data != e->piece.data)
		mpk_rope_put_view(out, e->piece);
}

/* Copies images of a fatbin together with their headers, because a newer toolkit may store more in
 * a header than this code knows. */
static enum mpk_code join_file(const struct mpk_image_file *f, const struct listed *l,
			       struct mpk_rope *out, struct mpk_error *err)
{
	const struct mpk_code_target *t = l->targets;
	struct mpk_rope image = mpk_rope_of(out->arena);
	struct mpk_fatbin_entry e = { .sm = t->sm,
				      .arch_specific = t->suffix == 'a',
				      .family_specific = t->suffix == 'f',
				      .ir_major = t->ptx_major,
				      .ir_minor = t->ptx_minor };
	struct mpk_fatbin fatbin;

	if (mpk_fatbin_is(f->bytes)) {
		MPK_TRY(mpk_fatbin_read(f->bytes, out->arena, &fatbin, err));
		for (size_t i = 0; i < fatbin.entry_count; i++)
			put_entry(&fatbin, i, out);
		return mpk_rope_status(out, err);
	}
	if (l->count != 1 || !t->sm || t->relocatable ||
	    (t->kind != MPK_TARGET_BINARY && t->kind != MPK_TARGET_PTX))
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				t->relocatable ? "it is relocatable: link it first (nvlink)"
					       : "a fatbin takes cubins, PTX and other fatbins");
	e.kind = t->kind == MPK_TARGET_PTX ? MPK_FATBIN_PTX : MPK_FATBIN_ELF;
	mpk_rope_put_view(&image, f->bytes);
	return mpk_fatbin_put_new(out, &e, &image, t->abi, err);
}

enum mpk_code mpk_images_join(const struct mpk_image_file *files, size_t count,
			      struct mpk_rope *out, struct mpk_error *err)
{
	struct listed *lists = mpk_arena_array(out->arena, count + 1, sizeof *lists);
	struct mpk_rope entries = mpk_rope_of(out->arena);

	MPK_TRY_ALLOC(lists, err);
	for (size_t i = 0; i < count; i++) {
		MPK_TRY(list_file(&files[i], out->arena, &lists[i], err));
		MPK_TRY(check_twice(files, lists, i, err));
		if (join_file(&files[i], &lists[i], &entries, err) != MPK_OK) {
			mpk_error_at_file(err, files[i].name);
			return mpk_failed(err->code);
		}
	}
	mpk_fatbin_put_header(out, entries.len);
	mpk_rope_put_rope(out, &entries);
	return mpk_rope_status(out, err);
}

/* --- other images in a container -------------------------------------------------------------- */

struct replacing {
	const struct mpk_image_file *files;
	size_t count;
	bool *used;    /* whether each file has been used */
	bool smallest; /* Compress with the highest level. */
	struct mpk_rope *out;
	struct mpk_error *err;
};

/* Returns the file that replaces an image; NULL if the image stays. */
static const struct mpk_image_file *file_for(struct replacing *r, const struct mpk_code_target *t)
{
	for (size_t i = 0; i < r->count; i++)
		if (strcmp(r->files[i].target, t->name) == 0) {
			if (r->used[i])
				(void)mpk_fail(r->err, MPK_E_USAGE,
					       "there are several images for %s in it", t->name);
			r->used[i] = true;
			return &r->files[i];
		}
	return NULL;
}

/* Whether the new image equals the existing one. The existing one is then kept, because the toolkit
 * may have compressed it better than this code could. */
static enum mpk_code has_same_image(struct replacing *r, const struct mpk_fatbin_entry *e,
				    struct mpk_span bytes, bool *same)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	uint64_t left = MPK_FATBIN_TOTAL_MAX;
	struct mpk_span plain;
	enum mpk_code code;

	*same = false;
	if (e->packing == MPK_FATBIN_STORED || e->plain_bytes != bytes.len)
		return MPK_OK;
	code = mpk_fatbin_unpack(e, &left, NULL, &scratch, &plain, NULL);
	*same = code == MPK_OK && mpk_span_equal(plain, bytes);
	return code == MPK_E_NOMEM ? mpk_fail_nomem(r->err) : MPK_OK;
}

static enum mpk_code replace_entry(struct replacing *r, const struct mpk_fatbin_entry *e,
				   const struct mpk_image_file *f, struct mpk_rope *out)
{
	struct mpk_rope image = mpk_rope_of(out->arena);
	enum mpk_fatbin_packing packing = e->packing;
	struct mpk_span bytes = f->bytes;
	bool same;

	MPK_TRY(has_same_image(r, e, bytes, &same));
	if (same) {
		mpk_rope_put_view(out, e->whole);
		return mpk_rope_status(out, r->err);
	}
	if (packing != MPK_FATBIN_STORED)
		MPK_TRY(mpk_fatbin_pack(f->bytes, packing, r->smallest, out->arena, &bytes,
					r->err));
	if (bytes.len >= f->bytes.len) {
		bytes = f->bytes;
		packing = MPK_FATBIN_STORED;
	}
	mpk_rope_put_view(&image, bytes);
	return mpk_fatbin_put_image(out, e, &image, packing, f->bytes.len, e->debug, r->err);
}

/* Replaces images that are compressed together, and compresses the result together again.
 * @count   receives the number of these entries */
static enum mpk_code replace_together(struct replacing *r, const struct mpk_fatbin_entry *e,
				      const struct mpk_code_target *targets, size_t left,
				      size_t *count, struct mpk_rope *out)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	struct mpk_fatbin_unpacked last = { 0 };
	uint64_t room = MPK_FATBIN_TOTAL_MAX;
	const struct mpk_fatbin_entry **list;
	struct mpk_span *images;
	bool *debug, is_same = true;

	for (*count = 0; *count < left && e[*count].piece.data == e->piece.data;)
		++*count;
	list = mpk_arena_array(&scratch, *count, sizeof(void *));
	images = mpk_arena_array(&scratch, *count, sizeof *images);
	debug = mpk_arena_array(&scratch, *count, sizeof *debug);
	MPK_TRY_ALLOC(list && images && debug, r->err);
	for (size_t i = 0; i < *count; i++) {
		const struct mpk_image_file *f = file_for(r, &targets[i]);
		struct mpk_span bytes;

		list[i] = &e[i];
		debug[i] = e[i].debug;
		MPK_TRY(mpk_fatbin_unpack(&e[i], &room, &last, &scratch, &images[i], r->err));
		bytes = f ? f->bytes : images[i];
		is_same &= mpk_span_equal(bytes, images[i]);
		images[i] = bytes;
	}
	if (is_same) {
		mpk_rope_put_view(out, e->piece);
		return mpk_rope_status(out, r->err);
	}
	return mpk_fatbin_put_together(out, list, images, debug, *count, r->err);
}

static enum mpk_code replace_in_fatbin(struct replacing *r, struct mpk_span container)
{
	struct mpk_rope entries = mpk_rope_of(r->out->arena);
	const struct mpk_code_target *targets;
	struct mpk_fatbin fatbin;
	size_t count;

	MPK_TRY(mpk_fatbin_read(container, r->out->arena, &fatbin, r->err));
	MPK_TRY(mpk_code_targets(container, r->out->arena, &targets, &count, r->err));
	for (size_t i = 0, n = 1; i < fatbin.entry_count; i += n, n = 1) {
		const struct mpk_image_file *f = i < count ? file_for(r, &targets[i]) : NULL;

		if (fatbin.entries[i].piece_bytes && fatbin.entry_count == count)
			MPK_TRY(replace_together(r, &fatbin.entries[i], &targets[i], count - i, &n,
						 &entries));
		else if (f)
			MPK_TRY(replace_entry(r, &fatbin.entries[i], f, &entries));
		else
			put_entry(&fatbin, i, &entries);
	}
	mpk_fatbin_put_header(r->out, entries.len);
	mpk_rope_put_rope(r->out, &entries);
	return mpk_rope_status(r->out, r->err);
}

/* Host entries have no target: their code is outside the bundle. */
static enum mpk_code replace_in_bundle(struct replacing *r, struct mpk_span bytes,
				       struct mpk_rope *out)
{
	const struct mpk_code_target *targets;
	struct mpk_offload_entry *entries;
	struct mpk_offload bundle;
	size_t count, k = 0;
	bool *keep;

	MPK_TRY(mpk_offload_read(bytes, out->arena, &bundle, r->err));
	MPK_TRY(mpk_code_targets(bytes, out->arena, &targets, &count, r->err));
	entries = mpk_arena_keep(out->arena, bundle.entries, bundle.entry_count, sizeof *entries);
	keep = mpk_arena_array(out->arena, bundle.entry_count + 1, sizeof *keep);
	MPK_TRY_ALLOC(entries && keep, r->err);
	for (size_t i = 0; i < bundle.entry_count; i++) {
		const struct mpk_image_file *f =
			entries[i].is_host || k == count ? NULL : file_for(r, &targets[k]);

		k += !entries[i].is_host;
		keep[i] = true;
		if (f)
			entries[i].data = f->bytes;
	}
	return mpk_offload_put_bundle(out, entries, keep, bundle.entry_count, r->err);
}

static enum mpk_code replace_in_packed(struct replacing *r, struct mpk_span container)
{
	struct mpk_rope rope = mpk_rope_of(r->out->arena);
	struct mpk_offload_packed p;
	struct mpk_span bundle, packed;
	int level = PACKING_LEVEL;

	MPK_TRY(mpk_offload_read_packed(container, &p, r->err));
	MPK_TRY(mpk_offload_unpack(&p, SIZE_MAX, r->out->arena, &bundle, r->err));
	MPK_TRY(replace_in_bundle(r, bundle, &rope));
	MPK_TRY(mpk_rope_flat(&rope, &bundle, r->err));
	if (r->smallest)
		level = p.method == MPK_OFFLOAD_ZSTD ? LAST_ZSTD : LAST_ZLIB;
	MPK_TRY(mpk_offload_pack(&p, bundle, level, r->out->arena, &packed, r->err));
	mpk_rope_put_view(r->out, packed);
	return mpk_rope_status(r->out, r->err);
}

static enum mpk_code replace_in(struct replacing *r, struct mpk_span container)
{
	enum mpk_code code;

	for (size_t i = 0; i < r->count; i++) {
		const struct mpk_image_file *f = &r->files[i];
		struct listed l;

		MPK_TRY(list_file(f, r->out->arena, &l, r->err));
		if (l.count == 1 && strcmp(l.targets->name, f->target) == 0)
			continue;
		(void)mpk_fail(r->err, MPK_E_CONFLICT, "it is for %s%s, not for %s",
			       l.targets->name, l.count > 1 ? " and others" : "",
			       MPK_QUOTE(mpk_span_str(f->target)));
		mpk_error_at_file(r->err, f->name);
		return MPK_E_CONFLICT;
	}
	r->err->code = MPK_OK;
	if (mpk_fatbin_is(container))
		code = replace_in_fatbin(r, container);
	else if (mpk_offload_is_packed(container))
		code = replace_in_packed(r, container);
	else if (mpk_span_starts(container, "__CLANG_OFFLOAD_BUNDLE__"))
		code = replace_in_bundle(r, container, r->out);
	else
		return mpk_fail(r->err, MPK_E_UNSUPPORTED,
				"it is no container of several images: name a fatbin or a bundle");
	if (code == MPK_OK)
		code = r->err->code; /* the result of file_for */
	for (size_t i = 0; code == MPK_OK && i < r->count; i++)
		if (!r->used[i])
			code = mpk_fail(r->err, MPK_E_USAGE,
					"there is no image for %s in it; minspect lists them",
					MPK_QUOTE(mpk_span_str(r->files[i].target)));
	return code;
}

/* --- containers of a file ----------------------------------------------------------------------- */

/* Whether the file is a single container, which may therefore grow. */
static bool is_alone(const struct mpk_image *image)
{
	return image->container == MPK_CONTAINER_DEVICE && image->device_count == 1;
}

/* Returns the space for a container in bytes, including the zeros before the next container of its
 *         section. */
static uint64_t room_of(const struct mpk_image *image, size_t index)
{
	const struct mpk_image_device *d = &image->devices[index], *next = d + 1;

	if (!d->is_found && index + 1 < image->device_count &&
	    strcmp(next->section, d->section) == 0 && next->off - d->off > d->bytes.len &&
	    next->off > d->off)
		return next->off - d->off;
	return d->bytes.len;
}

static enum mpk_code place_container(const struct mpk_image *image, size_t index,
				     const struct mpk_rope *content, const struct mpk_private *file,
				     struct mpk_rope *out, struct mpk_error *err)
{
	const struct mpk_image_device *d = &image->devices[index];
	size_t end = (size_t)d->off + d->bytes.len;
	uint64_t room = room_of(image, index);
	struct mpk_span flat;

	if (is_alone(image)) {
		mpk_rope_put_view(out, mpk_span_of(file->data, (size_t)d->off));
		mpk_rope_put_rope(out, content);
		mpk_rope_put_view(out, mpk_span_of(file->data + end, file->len - end));
		return mpk_rope_status(out, err);
	}
	if (content->len > room)
		return mpk_fail(
			err, MPK_E_RANGE,
			"it would be larger than its room, by %llu bytes, as small as the same packing makes it: leave out what it has for debuggers (-lineinfo, -g), or link the library anew",
			(unsigned long long)(content->len - room));
	MPK_TRY(mpk_rope_load(content, out->arena, &flat, err));
	MPK_TRY(mpk_private_touch(file, d->off, flat.len > d->bytes.len ? flat.len : d->bytes.len,
				  err));
	memcpy(file->data + d->off, flat.data, flat.len);
	if (flat.len < d->bytes.len)
		memset(file->data + d->off + flat.len, 0, d->bytes.len - flat.len);
	return MPK_OK;
}

/* Lists the files for one container, and adds their number to *done. */
static enum mpk_code pick_files(const struct mpk_image_device *d,
				const struct mpk_image_file *files, size_t count,
				struct mpk_arena *arena, struct replacing *r, size_t *done)
{
	const char *path = mpk_arena_printf(arena, "%s:%zu", d->section, d->index);
	struct mpk_image_file *picked = mpk_arena_array(arena, count, sizeof *picked);

	r->used = mpk_arena_array(arena, count, sizeof *r->used);
	MPK_TRY_ALLOC(path && picked && r->used, r->err);
	for (size_t i = 0; i < count; i++)
		if (strcmp(files[i].container, path) == 0)
			picked[r->count++] = files[i];
	r->files = picked;
	*done += r->count;
	return MPK_OK;
}

enum mpk_code mpk_images_replace(const struct mpk_image *image, const struct mpk_private *file,
				 const struct mpk_image_file *files, size_t count,
				 struct mpk_rope *out, struct mpk_error *err)
{
	struct mpk_error ignored = { 0 };
	size_t done = 0;

	err = err ? err : &ignored;
	for (size_t i = 0; i < image->device_count; i++) {
		MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
		const struct mpk_image_device *d = &image->devices[i];
		struct mpk_rope content = mpk_rope_of(out->arena);
		struct replacing r = { .out = &content, .err = err };
		enum mpk_code code;

		MPK_TRY(pick_files(d, files, count, &scratch, &r, &done));
		if (!r.count)
			continue;
		code = replace_in(&r, d->bytes);
		if (code == MPK_OK && !is_alone(image) && content.len > room_of(image, i)) {
			content = mpk_rope_of(out->arena);
			memset(r.used, 0, r.count * sizeof *r.used);
			r.smallest = true;
			code = replace_in(&r, d->bytes);
		}
		if (code == MPK_OK)
			code = place_container(image, i, &content, file, out, err);
		if (code != MPK_OK) {
			mpk_error_prefix(err, "%s:%zu: ", d->section, d->index);
			return code;
		}
	}
	if (done == count)
		return MPK_OK;
	return mpk_fail(
		err, MPK_E_USAGE,
		"not all containers of GPU code that are named are in it; minspect lists them");
}
