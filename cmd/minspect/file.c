/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a file named on the command line: a library, an object, a blob, or a member,
 * "lib.a(devc.o)" or "app.whl!/lib.so". If a file with that whole name exists, it is opened
 * instead. The content of a file decides how it is read, not its name. */
#include "elf/foreign.h"
#include "minspect/minspect.h"

#include <string.h>
#include <unistd.h>

#include "text/escape.h"
#include "weights/weights.h"
#include "zip/zip.h"

/* Splits "lib.a(devc.o)"; member is NULL if a file with the whole name exists. */
static enum mpk_code file_split(struct minspect_file *f, const char **path, const char **member,
				struct mpk_error *err)
{
	size_t len = strlen(f->name);
	const char *open = strrchr(f->name, '(');

	*path = f->name;
	*member = NULL;
	/* A file with the whole name is preferred: names with brackets are allowed. */
	if (!open || open == f->name || f->name[len - 1] != ')' || access(f->name, F_OK) == 0)
		return MPK_OK;
	*path = mpk_arena_copy(&f->arena, f->name, (size_t)(open - f->name));
	*member = mpk_arena_copy(&f->arena, open + 1, len - 2 - (size_t)(open - f->name));
	return *path && *member ? MPK_OK : mpk_fail_nomem(err);
}

static enum mpk_code nothing_in(const struct mpk_image *image, struct mpk_error *err)
{
	struct mpk_foreign f;

	/* For a file of another program, the message names its format. */
	if (mpk_foreign_find(image->bytes, &f))
		return mpk_foreign_fail(image->bytes, "", err);

	const char *what = "library";

	switch (image->container) {
	case MPK_CONTAINER_ELF_SO:
	case MPK_CONTAINER_MACHO_SO:
	case MPK_CONTAINER_PE_SO:
	case MPK_CONTAINER_WASM_SO:
	case MPK_CONTAINER_BLOB:
	case MPK_CONTAINER_DEVICE: /* always has GPU code */
		break;
	case MPK_CONTAINER_ELF_OBJ:
	case MPK_CONTAINER_MACHO_OBJ:
	case MPK_CONTAINER_COFF_OBJ:
	case MPK_CONTAINER_WASM_OBJ:
		what = "object";
		break;
	case MPK_CONTAINER_C:
		what = "source";
		break;
	case MPK_CONTAINER_ARCHIVE:
	case MPK_CONTAINER_TAR:
		what = "archive";
		break;
	}
	return mpk_fail(
		err, MPK_E_NO_BLOB,
		"this %s holds no compiled module: looked for the blob symbols %s, %s and %s, and for functions named %s* or beside %s",
		what, mpk_generation_get(MPK_GEN_CURRENT)->blob_symbol,
		mpk_generation_get(MPK_GEN_HYBRID)->blob_symbol,
		mpk_generation_get(MPK_GEN_LEGACY)->blob_symbol,
		mpk_generation_get(MPK_GEN_CURRENT)->function_prefix,
		mpk_generation_get(MPK_GEN_LEGACY)->entry);
}

static enum mpk_code open_bytes(struct minspect_file *f, const char **member, struct mpk_error *err)
{
	const char *path, *inner;

	MPK_TRY(minspect_zip_split(f, &path, &inner, err));
	if (!inner)
		MPK_TRY(file_split(f, &path, member, err));
	/* The size of piped input is unknown until it has been read. */
	minspect_memory_release();
	MPK_TRY(mpk_mapping_open(path, &f->map, err));
	f->bytes = f->map.bytes;
	minspect_memory_grow(f->bytes.len);
	f->in_zip = inner != NULL;
	return inner ? minspect_zip_enter(f, inner, member, err) : MPK_OK;
}

/* A zip archive without libraries is treated like any other file. */
static enum mpk_code open_archive(struct minspect_file *f, struct mpk_error *err)
{
	MPK_TRY(minspect_zip_list(f, err));
	return f->library_count ? mpk_fail(err, MPK_E_NO_BLOB,
					   "this is a zip archive; name a library in it: "
					   "FILE!/%s",
					   MPK_QUOTE(f->libraries[0].name))
				: MPK_OK;
}

static enum mpk_code open_image(struct minspect_file *f, const char *member, struct mpk_error *err)
{
	struct mpk_image *image = &f->image;
	const struct mpk_weights_format *weights = member ? NULL : mpk_weights_format_of(f->bytes);

	f->is_weights = weights != NULL;
	if (weights)
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"this is %s %s: it can be listed, verified, compared and given to "
				"--params, and holds no compiled module",
				strchr("aeiou", *weights->title) ? "an" : "a", weights->title);
	MPK_TRY(mpk_image_open_mapped(f->bytes, member, &f->arena, image, err));
	if (image->has_blob)
		MPK_TRY(mpk_blob_read(image->blob, image->gen, &f->arena, &f->tree, err));
	if (image->cut) {
		if (err)
			*err = *image->cut;
		return image->cut->code;
	}
	if (image->has_blob)
		return MPK_OK;
	return image->function_count || image->embedded_count || image->device_count
		       ? MPK_OK
		       : nothing_in(image, err);
}

static enum mpk_code open_all(struct minspect_file *f, struct mpk_error *err)
{
	const char *member = NULL;
	enum mpk_code code = open_bytes(f, &member, err);

	f->member_alone = member != NULL;
	if (code == MPK_OK && !f->in_zip && !member && mpk_zip_is(f->bytes))
		code = open_archive(f, err);
	if (code == MPK_OK)
		code = open_image(f, member, err);
	f->member_alone &= !f->image.by_prefix;
	if (code == MPK_E_NOTFOUND && err)
		code = err->code = MPK_E_IO; /* a missing member counts as a missing file */
	return code;
}

enum mpk_code minspect_file_open(const char *name, struct minspect_file *out, struct mpk_error *err)
{
	*out = (struct minspect_file){ .name = name, .map.fd = -1 };
	enum mpk_code code = open_all(out, err);

	if (code != MPK_OK)
		mpk_error_at_file(err, name);
	return code;
}

enum mpk_code minspect_file_open_library(const struct minspect_file *archive, size_t library,
					 const char *name, bool in_parts, struct minspect_file *out,
					 struct mpk_error *err)
{
	const struct mpk_zip_member *m = &archive->libraries[library];
	enum mpk_code code;

	/* The archive, which stays open longer, owns and closes the mapping. */
	*out = (struct minspect_file){ .name = name,
				       .map = archive->map,
				       .borrows_map = true,
				       .bytes = archive->map.bytes,
				       .in_zip = true };
	code = in_parts ? minspect_zip_open(out, m, err) : minspect_zip_read(out, m, err);
	if (code == MPK_OK)
		code = open_image(out, NULL, err);
	if (code != MPK_OK)
		mpk_error_at_file(err, name);
	return code;
}

void minspect_file_close(struct minspect_file *file)
{
	if (file->borrows_map)
		minspect_memory_shrink(file->member_bytes);
	else
		mpk_mapping_close(&file->map);
	mpk_demand_close(file->demand);
	mpk_arena_fini(&file->arena);
	mpk_loadable_close(&file->loadable);
}
