/* SPDX-License-Identifier: Apache-2.0 */
/* fatbin.c - fatbins: CUDA images for several architectures in one file. An image is decompressed
 * and then read as the PTX or cubin that its entry says it is. */
#include <inttypes.h>
#include <stdio.h>

#include "code/cuda.h"
#include "code/info.h"
#include "code/show.h"
#include "fatbin/fatbin.h"
#include "text/escape.h"
#include "text/phrase.h"

/* Names for the kinds of entries and of compression, used in JSON. */
static const char *const kinds[] = {
	[MPK_FATBIN_PTX] = "ptx",     [MPK_FATBIN_ELF] = "cubin",   [MPK_FATBIN_LTO] = "lto",
	[MPK_FATBIN_TILE] = "tileir", [MPK_FATBIN_OTHER] = "other",
};
static const char *const packings[] = {
	[MPK_FATBIN_STORED] = "stored",
	[MPK_FATBIN_LZ4] = "lz4",
	[MPK_FATBIN_ZSTD] = "zstd",
};

/* LTO IR and unknown kinds cannot be read. */
const struct mpk_code_format *mpk_cuda_entry_format(const struct mpk_fatbin_entry *e)
{
	if (e->kind == MPK_FATBIN_PTX)
		return &mpk_format_ptx;
	if (e->kind == MPK_FATBIN_TILE)
		return &mpk_format_tileir;
	return e->kind == MPK_FATBIN_ELF ? &mpk_format_cubin : NULL;
}

/* Notes a fault of an image and reads the others: a driver may use any one of them. Only missing
 * memory ends the reading. nvcc masks LTO IR after compressing it, so an image that has no reader
 * and does not decompress stays as stored. */
static enum mpk_code fatbin_read_image(const struct mpk_fatbin_entry *e, uint64_t *left,
				       struct mpk_fatbin_unpacked *last, struct mpk_arena *arena,
				       struct mpk_code_info *out, struct mpk_error *err)
{
	const struct mpk_code_format *format = mpk_cuda_entry_format(e);
	struct mpk_error problem;

	if (!format) /* the image itself does not say, or is not read */
		mpk_cuda_target_name(mpk_cuda_entry_kind(e), e->sm, *mpk_fatbin_suffix(e),
				     out->target, sizeof out->target);
	if (mpk_fatbin_unpack(e, left, last, arena, &out->bytes, &problem) != MPK_OK) {
		if (problem.code != MPK_E_NOMEM && !format)
			return MPK_OK;
		if (problem.code != MPK_E_NOMEM)
			out->problem = mpk_arena_keep(arena, &problem, 1, sizeof problem);
		return out->problem ? MPK_OK : mpk_fail_nomem(err);
	}
	if (!format)
		return MPK_OK;
	MPK_TRY(mpk_code_info_read_as(format, arena, out, err));
	/* Code for a family looks like code for its first member: before CUDA 13 only the entry shows the
	 * difference. */
	if (e->kind == MPK_FATBIN_ELF && e->family_specific && !out->problem && out->sm == e->sm)
		mpk_cuda_target_name(MPK_TARGET_BINARY, e->sm, 'f', out->target,
				     sizeof out->target);
	return out->problem && e->packing != MPK_FATBIN_STORED
		       ? mpk_code_info_unplace(out, arena, err)
		       : MPK_OK;
}

/* Lists the kernels of one image, because all images have the same, except Tile IR, which has only
 * tile kernels. If an image is broken, the list is not known. */
static enum mpk_code read_fatbin(struct mpk_code_info *info, void *content, struct mpk_arena *arena,
				 struct mpk_error *err)
{
	struct mpk_fatbin *f = content;
	struct mpk_code_info *images;
	struct mpk_fatbin_unpacked last = { 0 };
	uint64_t left = MPK_FATBIN_TOTAL_MAX;
	bool broken = false;

	MPK_TRY(mpk_fatbin_read(info->bytes, arena, f, err));
	MPK_TRY_ARRAY(images, arena, f->entry_count, err);
	for (size_t i = 0; i < f->entry_count; i++) {
		images[i].bytes = f->entries[i].data;
		images[i].off = info->off + f->entries[i].data_off;
		MPK_TRY(fatbin_read_image(&f->entries[i], &left, &last, arena, &images[i], err));
		broken |= images[i].problem != NULL;
		if (images[i].complete &&
		    (!info->main_image || (info->main_image->format == &mpk_format_tileir &&
					   f->entries[i].kind != MPK_FATBIN_TILE)))
			info->main_image = &images[i];
	}
	if (broken)
		info->main_image = NULL;
	info->images = images;
	info->image_count = f->entry_count;
	return MPK_OK;
}

/* --- text --------------------------------------------------------------------------- */

/* Appends "sm_90a cubin", "compute_90 PTX". */
static void put_entry(const struct mpk_fatbin_entry *e, struct mpk_strbuf *out)
{
	char name[24];

	mpk_cuda_target_name(mpk_cuda_entry_kind(e), e->sm, *mpk_fatbin_suffix(e), name,
			     sizeof name);
	mpk_strbuf_printf(out, "%s %s", name, mpk_fatbin_kind_name(e->kind));
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
		if (e->kind == MPK_FATBIN_PTX || e->kind == MPK_FATBIN_TILE)
			mpk_strbuf_printf(out, " %u.%u", e->ir_major, e->ir_minor);
		mpk_strbuf_printf(out, ", %s, %" PRIu64 " B", mpk_fatbin_packing_name(e->packing),
				  mpk_fatbin_entry_bytes(e));
		if (e->packing != MPK_FATBIN_STORED)
			mpk_strbuf_printf(out, " of %" PRIu64 " B", e->plain_bytes);
		mpk_strbuf_puts(out, e->piece_bytes ? ", packed together with others" : "");
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

/* Writes every image with its own kernels, in file order. */
static void fatbin_put_json(const struct mpk_code_info *info, struct mpk_json *j,
			    struct mpk_json_at *at)
{
	const struct mpk_fatbin *f = info->content;
	struct mpk_json_at *list = mpk_json_array(j, at, "images"), *o;
	char name[24];

	for (size_t i = 0; i < f->entry_count; i++) {
		const struct mpk_fatbin_entry *e = &f->entries[i];

		o = mpk_json_object(j, list, NULL);
		mpk_json_text(j, o, "kind", kinds[e->kind]);
		mpk_cuda_target_name(mpk_cuda_entry_kind(e), e->sm, *mpk_fatbin_suffix(e), name,
				     sizeof name);
		mpk_json_text(j, o, "target", name);
		mpk_json_text(j, o, "packing", packings[e->packing]);
		mpk_json_u64(j, o, "bytes", mpk_fatbin_entry_bytes(e));
		mpk_json_u64(j, o, "plain_bytes",
			     e->packing == MPK_FATBIN_STORED ? e->data.len : e->plain_bytes);
		mpk_json_bool(j, o, "debug", e->debug);
		mpk_json_span(j, o, "name", e->name);
		if (info->images[i].format)
			mpk_code_image_json(info, i, j, mpk_json_object(j, o, "code"));
	}
}

/* --- verification ------------------------------------------------------------------- */

/* The content of an image must match its entry, because drivers choose by the entry. */
static void verify_image(const struct mpk_code_info *image, const struct mpk_fatbin_entry *e,
			 size_t i, const struct mpk_code_verify *v)
{
	char what[32];

	(void)snprintf(what, sizeof what, "image %zu: ", i);
	if (!e->data.len)
		mpk_code_say(v, MPK_ERROR, image->off, "%sit is empty", what);
	else if (image->problem)
		mpk_code_say_problem(v, image, what);
	else if (image->format && e->kind != MPK_FATBIN_TILE && image->sm != e->sm)
		mpk_code_say(v, MPK_WARNING, image->off, "%sit is for sm_%u, its entry says %u",
			     what, image->sm, e->sm);
}

/* A fatbin with only LTO IR is for the linker: no driver runs it. */
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
		loads |=
			kind == MPK_FATBIN_PTX || kind == MPK_FATBIN_ELF || kind == MPK_FATBIN_TILE;
	}
	if (!loads && !v->is_for_linker)
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
	.is_file = true,
	.verifies_broken = true,
	.claims = { { "cuda", "fatbin" } },
	.tolerated = { { "cuda", "cubin" } }, /* TVM writes fatbins under this name */
	.read = read_fatbin,
	.targets = mpk_cuda_images,
	.content_bytes = sizeof(struct mpk_fatbin),
	.text = fatbin_put_text,
	.lines = fatbin_put_lines,
	.json = fatbin_put_json,
	.check = "fatbin-image",
	.about = "a fatbin is whole, its images what their entries say",
	.verify = fatbin_verify,
};
