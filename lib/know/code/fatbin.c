/* SPDX-License-Identifier: Apache-2.0 */
/* Fatbins: CUDA images for several architectures in one piece. An image, unpacked where it is
 * packed, is read as the PTX or cubin that its entry announces. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/vec.h"
#include "code/show.h"
#include "code/target.h"
#include "code/verify.h"
#include "fatbin/fatbin.h"
#include "text/escape.h"
#include "text/phrase.h"

/* What entries are and how they stand there, for people and for documents. */
static const char *const kinds[][2] = {
	[MPK_FATBIN_PTX] = { "PTX", "ptx" },
	[MPK_FATBIN_ELF] = { "cubin", "cubin" },
	[MPK_FATBIN_LTO] = { "LTO IR", "lto" },
	[MPK_FATBIN_OTHER] = { "other", "other" },
};
static const char *const packings[][2] = {
	[MPK_FATBIN_STORED] = { "stored", "stored" },
	[MPK_FATBIN_LZ4] = { "LZ4", "lz4" },
	[MPK_FATBIN_ZSTD] = { "zstd", "zstd" },
};

/* LTO IR and unknown kinds have no reader. */
static const struct mpk_code_format *image_format(const struct mpk_fatbin_entry *e)
{
	if (e->kind == MPK_FATBIN_PTX)
		return &mpk_format_ptx;
	return e->kind == MPK_FATBIN_ELF ? &mpk_format_cubin : NULL;
}

/* What one image lacks is noted with it, and the others are read: a driver takes any one of
 * them. Only missing memory ends the reading. */
static enum mpk_code fatbin_read_image(const struct mpk_fatbin_entry *e, uint64_t *left,
				       struct mpk_arena *arena, struct mpk_code_info *out,
				       struct mpk_error *err)
{
	const struct mpk_code_format *format = image_format(e);
	struct mpk_error problem;

	if (mpk_fatbin_unpack(e, left, arena, &out->bytes, &problem) != MPK_OK) {
		if (problem.code != MPK_E_NOMEM)
			out->problem = mpk_arena_keep(arena, &problem, 1, sizeof problem);
		return out->problem ? MPK_OK : mpk_fail_nomem(err);
	}
	if (!format)
		return MPK_OK;
	MPK_TRY(mpk_code_info_read_as(format, arena, out, err));
	return out->problem && e->packing != MPK_FATBIN_STORED
		       ? mpk_code_info_unplace(out, arena, err)
		       : MPK_OK;
}

/* The kernels are listed from one image, as all have the same; when one is broken nobody can
 * tell whether that is so. */
static enum mpk_code read_fatbin(struct mpk_code_info *info, void *content, struct mpk_arena *arena,
				 struct mpk_error *err)
{
	struct mpk_fatbin *f = content;
	struct mpk_code_info *images;
	uint64_t left = MPK_FATBIN_TOTAL_MAX;
	bool broken = false;

	MPK_TRY(mpk_fatbin_read(info->bytes, arena, f, err));
	images = mpk_arena_array(arena, f->entry_count, sizeof *images);
	MPK_TRY_ALLOC(images, err);
	for (size_t i = 0; i < f->entry_count; i++) {
		images[i].bytes = f->entries[i].data;
		images[i].off = info->off + f->entries[i].data_off;
		MPK_TRY(fatbin_read_image(&f->entries[i], &left, arena, &images[i], err));
		broken |= images[i].problem != NULL;
		if (!info->main_image && images[i].complete)
			info->main_image = &images[i];
	}
	if (broken)
		info->main_image = NULL;
	info->images = images;
	info->image_count = f->entry_count;
	return MPK_OK;
}

/* "a": this architecture alone; "f": its family (PTX ISA, "Target-specific features"). */
static const char *suffix(const struct mpk_fatbin_entry *e)
{
	return e->arch_specific ? "a" : e->family_specific ? "f" : "";
}

/* --- targets ------------------------------------------------------------------------ */

struct target_list {
	struct mpk_code_target *items;
	size_t count, cap;
};

/* What the entries announce: drivers choose by that. */
static enum mpk_code add_target(const struct mpk_fatbin_entry *e, void *arg, struct mpk_error *err)
{
	static const struct {
		enum mpk_code_target_kind kind;
		const char *prefix;
	} rows[] = {
		[MPK_FATBIN_PTX] = { MPK_TARGET_PTX, "compute" },
		[MPK_FATBIN_ELF] = { MPK_TARGET_BINARY, "sm" },
		[MPK_FATBIN_LTO] = { MPK_TARGET_LTO, "lto" },
		[MPK_FATBIN_OTHER] = { MPK_TARGET_OTHER, "other" },
	};
	struct target_list *list = arg;
	struct mpk_code_target *t;

	MPK_TRY_ALLOC(mpk_vec_reserve(&list->items, &list->cap, list->count + 1, sizeof *t), err);
	t = &list->items[list->count++];
	*t = (struct mpk_code_target){ .kind = rows[e->kind].kind,
				       .sm = e->sm,
				       .ptx_major = e->ptx_major,
				       .ptx_minor = e->ptx_minor,
				       .kind_code = e->kind_code,
				       .zstd = e->packing == MPK_FATBIN_ZSTD };
	t->what = kinds[e->kind][0];
	t->packing = packings[e->packing][0];
	t->bytes = e->data.len;
	t->plain_bytes = e->plain_bytes;
	t->suffix = e->arch_specific ? 'a' : e->family_specific ? 'f' : '\0';
	(void)snprintf(t->name, sizeof t->name, "%s_%u%s", rows[e->kind].prefix, e->sm, suffix(e));
	return MPK_OK;
}

/* From the head of the container alone: nothing is unpacked, so that the listing of a large
 * library is quick. */
static enum mpk_code fatbin_targets(struct mpk_span bytes, struct mpk_arena *arena,
				    struct mpk_code_target **out, size_t *count,
				    struct mpk_error *err)
{
	struct target_list list = { 0 };
	enum mpk_code code = mpk_fatbin_head(bytes, add_target, &list, err);

	if (code == MPK_OK) {
		*out = mpk_arena_keep(arena, list.items, list.count, sizeof *list.items);
		*count = list.count;
		code = *out ? MPK_OK : mpk_fail_nomem(err);
	}
	free(list.items);
	return code;
}

/* --- text --------------------------------------------------------------------------- */

/* "sm_90a cubin", "compute_90 PTX" */
static void put_entry(const struct mpk_fatbin_entry *e, struct mpk_strbuf *out)
{
	mpk_strbuf_printf(out, "%s_%u%s %s",
			  e->kind == MPK_FATBIN_PTX   ? "compute"
			  : e->kind == MPK_FATBIN_LTO ? "lto"
						      : "sm",
			  e->sm, suffix(e), kinds[e->kind][0]);
}

static void fatbin_put_text(const struct mpk_code_info *info, struct mpk_strbuf *out)
{
	const struct mpk_fatbin *f = info->content;

	mpk_strbuf_puts(out, "fatbin: ");
	for (size_t i = 0; i < f->entry_count && i < MPK_NAMES_SHOWN; i++) {
		mpk_strbuf_puts(out, i ? ", " : "");
		put_entry(&f->entries[i], out);
	}
	mpk_put_more(out, f->entry_count);
	mpk_strbuf_puts(out, f->entry_count ? "" : "no images");
}

static void fatbin_put_lines(const struct mpk_code_info *info, const char *indent,
			     struct mpk_strbuf *out)
{
	const struct mpk_fatbin *f = info->content;

	for (size_t i = 0; i < f->entry_count; i++) {
		const struct mpk_fatbin_entry *e = &f->entries[i];

		mpk_strbuf_printf(out, "%s  %zu: ", indent, i);
		put_entry(e, out);
		if (e->kind == MPK_FATBIN_PTX)
			mpk_strbuf_printf(out, " %u.%u", e->ptx_major, e->ptx_minor);
		mpk_strbuf_printf(out, ", %s, %zu B", packings[e->packing][0], e->data.len);
		if (e->packing != MPK_FATBIN_STORED)
			mpk_strbuf_printf(out, " of %" PRIu64 " B", e->plain_bytes);
		mpk_strbuf_puts(out, e->debug ? ", with debug information" : "");
		if (e->name.len) {
			mpk_strbuf_puts(out, ", from ");
			mpk_escape(out, e->name);
		}
		if (info->images[i].problem)
			mpk_strbuf_printf(out, ", broken: %s", info->images[i].problem->text);
		mpk_strbuf_putc(out, '\n');
	}
}

/* --- JSON --------------------------------------------------------------------------- */

/* Every image with its own reading, in the order of the file. */
static void fatbin_put_json(const struct mpk_code_info *info, struct mpk_json *j,
			    struct mpk_json_at *at)
{
	const struct mpk_fatbin *f = info->content;
	struct mpk_json_at *list = mpk_json_array(j, at, "images"), *o;

	for (size_t i = 0; i < f->entry_count; i++) {
		const struct mpk_fatbin_entry *e = &f->entries[i];

		o = mpk_json_object(j, list, NULL);
		mpk_json_text(j, o, "kind", kinds[e->kind][1]);
		mpk_json_printf(j, o, "target", "%s_%u%s",
				e->kind == MPK_FATBIN_PTX ? "compute" : "sm", e->sm, suffix(e));
		mpk_json_text(j, o, "packing", packings[e->packing][1]);
		mpk_json_u64(j, o, "bytes", e->data.len);
		mpk_json_u64(j, o, "plain_bytes",
			     e->packing == MPK_FATBIN_STORED ? e->data.len : e->plain_bytes);
		mpk_json_bool(j, o, "debug", e->debug);
		mpk_json_span(j, o, "name", e->name);
		if (info->images[i].format)
			mpk_code_info_json(&info->images[i], j, mpk_json_object(j, o, "code"));
	}
}

/* --- verification ------------------------------------------------------------------- */

/* What is in an image must be what its entry announces: drivers choose by that. */
static void verify_image(const struct mpk_code_info *image, const struct mpk_fatbin_entry *e,
			 size_t i, const struct mpk_code_verify *v)
{
	char what[32];

	(void)snprintf(what, sizeof what, "image %zu: ", i);
	if (!e->data.len)
		mpk_code_say(v, MPK_ERROR, image->off, "%sit is empty", what);
	else if (image->problem)
		mpk_code_say_problem(v, image, what);
	else if (image->format && image->sm != e->sm)
		mpk_code_say(v, MPK_WARNING, image->off, "%sit is for sm_%u, its entry says %u",
			     what, image->sm, e->sm);
}

/* A fatbin of LTO IR alone is for the linker: no driver takes it. */
static void fatbin_verify(const struct mpk_code_info *info, const struct mpk_code_verify *v)
{
	const struct mpk_fatbin *f = info->content;
	bool loads = false;

	if (info->problem) {
		mpk_code_say_problem(v, info, "");
		return;
	}
	for (size_t i = 0; i < f->entry_count; i++) {
		enum mpk_fatbin_kind kind = f->entries[i].kind;

		verify_image(&info->images[i], &f->entries[i], i, v);
		loads |= kind == MPK_FATBIN_PTX || kind == MPK_FATBIN_ELF;
	}
	if (!loads)
		mpk_code_say(v, MPK_ERROR, info->off,
			     "the fatbin has no image that a driver can load");
	if (info->bytes.len > f->used)
		mpk_code_say(v, MPK_NOTE, info->off + f->used,
			     "%" PRIu64 " bytes follow the fatbin", info->bytes.len - f->used);
}

const struct mpk_code_format mpk_format_fatbin = {
	.word = "fatbin",
	.name = "a fatbin",
	.is = mpk_fatbin_is,
	.verifies_broken = true,
	.claims = { { "cuda", "fatbin" } },
	.tolerated = { { "cuda", "cubin" } }, /* TVM labels fatbins so */
	.read = read_fatbin,
	.targets = fatbin_targets,
	.content_bytes = sizeof(struct mpk_fatbin),
	.text = fatbin_put_text,
	.lines = fatbin_put_lines,
	.json = fatbin_put_json,
	.check = "fatbin-image",
	.about = "a fatbin is whole, its images what their entries say",
	.verify = fatbin_verify,
};
