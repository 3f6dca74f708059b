/* SPDX-License-Identifier: Apache-2.0 */
/* image.c - opens a file in any format that may hold a module: library, object, archive, bare blob
 *
 * The bytes decide what a file is, never its name. Only members of archives are taken for C by
 * their suffix, because the text of C may be anything. From an archive the member with a blob is
 * opened; the functions and device code of the other members are added, because a linker would link
 * them together. */
#include "elf/image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ar/ar.h"
#include "base/strmap.h"
#include "base/vec.h"
#include "code/format.h"
#include "deflate/deflate.h"
#include "elf/foreign.h"
#include "elf/internal/elf.h"
#include "fatbin/fatbin.h"
#include "object/object.h"
#include "tar/tar.h"
#include "text/escape.h"

/* A file in an archive or in a universal file. */
struct mpk_member {
	const char *name; /* in the arena */
	struct mpk_span bytes;
	uint64_t off; /* in the archive */
};

/* --- members ------------------------------------------------------------------------- */

/* Names are copied, as those of an archive have no NUL. */
static enum mpk_code list_ar(struct mpk_span bytes, struct mpk_arena *arena,
			     struct mpk_member **out, size_t *count, struct mpk_error *err)
{
	struct mpk_member *list;
	struct mpk_ar ar;

	MPK_TRY(mpk_ar_read(bytes, arena, &ar, err));
	MPK_TRY_ARRAY(list, arena, ar.member_count, err);
	for (size_t i = 0; i < ar.member_count; i++) {
		const struct mpk_ar_member *m = &ar.members[i];

		list[i] =
			(struct mpk_member){ mpk_arena_text(arena, m->name), m->data, m->data_off };
		MPK_TRY_ALLOC(list[i].name, err);
	}
	*out = list;
	*count = ar.member_count;
	return MPK_OK;
}

/* Directories and links hold no code. */
static enum mpk_code list_tar(struct mpk_span bytes, struct mpk_arena *arena,
			      struct mpk_member **out, size_t *count, struct mpk_error *err)
{
	struct mpk_member *list;
	struct mpk_tar tar;
	size_t n = 0;

	MPK_TRY(mpk_tar_read(bytes, arena, &tar, err));
	MPK_TRY_ARRAY(list, arena, tar.member_count, err);
	for (size_t i = 0; i < tar.member_count; i++) {
		const struct mpk_tar_member *m = &tar.members[i];

		if (m->type == MPK_TAR_FILE)
			list[n++] = (struct mpk_member){ m->name, m->data, m->data_off };
	}
	*out = list;
	*count = n;
	return MPK_OK;
}

/* Lists the files in a universal Mach-O file, by their architectures
 * Returns  as mpk_macho_slices */
static enum mpk_code list_universal(struct mpk_span bytes, struct mpk_arena *arena,
				    struct mpk_member **out, size_t *count, struct mpk_error *err)
{
	struct mpk_macho_slice *slices;
	struct mpk_member *list;
	size_t n;

	MPK_TRY(mpk_macho_slices(bytes, arena, &slices, &n, err));
	MPK_TRY_ARRAY(list, arena, n, err);
	for (size_t i = 0; i < n; i++)
		list[i] = (struct mpk_member){ slices[i].name, slices[i].bytes, slices[i].off };
	*out = list;
	*count = n;
	return MPK_OK;
}

/* The suffixes that compilers accept for C, C++ and CUDA. */
static bool is_source_name(const char *name)
{
	static const char *const suffixes[] = { ".c", ".cc", ".cpp", ".cxx", ".cu" };
	const char *dot = strrchr(name, '.');

	for (size_t i = 0; dot && i < MPK_ARRAY_COUNT(suffixes); i++)
		if (strcmp(dot, suffixes[i]) == 0)
			return true;
	return false;
}

/* Finds the member with this name
 * Returns  MPK_OK; MPK_E_NOTFOUND with "did you mean"; MPK_E_NOMEM */
static enum mpk_code find_member(const struct mpk_member *members, size_t count, const char *name,
				 size_t *out, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	struct mpk_span *names;
	size_t near;

	for (size_t i = 0; i < count; i++) {
		if (strcmp(members[i].name, name) == 0) {
			*out = i;
			return MPK_OK;
		}
	}
	MPK_TRY_ARRAY(names, &scratch, count, err);
	for (size_t i = 0; i < count; i++)
		names[i] = mpk_span_str(members[i].name);
	near = mpk_closest(mpk_span_str(name), names, count);
	if (near < count)
		return mpk_fail(err, MPK_E_NOTFOUND, "there is no member '%s'; did you mean '%s'?",
				MPK_QUOTE(mpk_span_str(name)), MPK_QUOTE(names[near]));
	return mpk_fail(err, MPK_E_NOTFOUND, "there is no member '%s' among the %zu",
			MPK_QUOTE(mpk_span_str(name)), count);
}

/* The most bytes that a compressed archive may decompress to; real objects have far fewer. */
#define UNPACKED_MAX ((uint64_t)1 << 30)

/* Deflate can expand bytes a thousandfold. The limit follows from that and from the size of real
 * archives. */
static uint64_t unpacked_max(uint64_t packed)
{
	uint64_t limit = mpk_deflate_limit(packed);

	return limit < UNPACKED_MAX ? limit : UNPACKED_MAX;
}

/* @prefix  the prefix of the wanted blob, if an ELF file has several; NULL: the first */
static enum mpk_code read_file_of(enum mpk_file_format format, struct mpk_span bytes, uint64_t off,
				  const char *prefix, const enum mpk_generation *gen,
				  struct mpk_arena *arena, struct mpk_image *out,
				  struct mpk_error *err)
{
	static const struct mpk_image_reader *const readers[] = {
		[MPK_FILE_BLOB] = &mpk_blob_images,    [MPK_FILE_ELF] = &mpk_elf_images,
		[MPK_FILE_MACHO] = &mpk_object_images, [MPK_FILE_COFF] = &mpk_object_images,
		[MPK_FILE_PE] = &mpk_object_images,    [MPK_FILE_C] = &mpk_object_images,
		[MPK_FILE_WASM] = &mpk_object_images,  [MPK_FILE_DEVICE] = &mpk_device_images,
	};
	struct mpk_image image = { .prefix = prefix };

	MPK_TRY(readers[format]->read(format, bytes, off, gen, arena, &image, err));
	*out = image;
	return MPK_OK;
}

static enum mpk_code read_file(enum mpk_file_format format, struct mpk_span bytes, uint64_t off,
			       const enum mpk_generation *gen, struct mpk_arena *arena,
			       struct mpk_image *out, struct mpk_error *err)
{
	return read_file_of(format, bytes, off, NULL, gen, arena, out, err);
}

/* --- archives -------------------------------------------------------------------- */

/* Returns the format of the bytes. GPU code is tried first, because it may be an ELF file, too. */
static enum mpk_file_format format_of_bytes(struct mpk_span bytes)
{
	return mpk_file_is_device(bytes) ? MPK_FILE_DEVICE : mpk_file_format_of(bytes);
}

/* A C file has no magic number: the text is searched for the names that its blob or functions must
 * have. */
static bool file_is_csource(struct mpk_span bytes)
{
	if (!mpk_code_is_text(bytes))
		return false;
	for (unsigned g = 0; g < MPK_GENERATION_COUNT; g++) {
		const struct mpk_generation_info *info = mpk_generation_get((enum mpk_generation)g);

		if (mpk_span_has(bytes, info->blob_symbol) || mpk_span_has(bytes, info->ctx_symbol))
			return true;
	}
	return mpk_span_has(bytes, mpk_generation_get(MPK_GEN_CURRENT)->function_prefix);
}

/* Returns the format of a member; MPK_FILE_BLOB: it is not linked. C sources are recognised by
 * their names. */
static enum mpk_file_format image_format_of(const struct mpk_member *m)
{
	enum mpk_file_format format = format_of_bytes(m->bytes);

	if (format == MPK_FILE_BLOB && is_source_name(m->name) && file_is_csource(m->bytes))
		return MPK_FILE_C;
	return format;
}

/* A blob counts more than functions, GPU code counts as much as functions. */
static unsigned worth(const struct mpk_image *image)
{
	return image->has_blob
		       ? 2
		       : image->function_count || image->embedded_count || image->device_count;
}

/* Chooses the first member with a blob, else the first with functions, else the first object. */
static enum mpk_code image_choose(const struct mpk_member *members, size_t count,
				  const char *prefix, struct mpk_arena *arena, size_t *chosen,
				  struct mpk_image *out, struct mpk_error *err)
{
	*chosen = count;
	for (size_t i = 0; i < count && (*chosen == count || worth(out) < 2); i++) {
		enum mpk_file_format format = image_format_of(&members[i]);
		struct mpk_image image;
		enum mpk_code code;

		if (format == MPK_FILE_BLOB)
			continue;
		code = read_file_of(format, members[i].bytes, members[i].off, prefix, NULL, arena,
				    &image, err);
		if (code != MPK_OK) {
			mpk_error_prefix(err,
					 "member '%s': ", MPK_QUOTE(mpk_span_str(members[i].name)));
			return code;
		}
		if (*chosen == count || worth(&image) > worth(out)) {
			*out = image;
			*chosen = i;
		}
	}
	return MPK_OK;
}

/* Collects the prefixes of the blobs of all members, each once. */
static enum mpk_code add_prefixes(struct mpk_image *image, const struct mpk_image *other,
				  struct mpk_arena *arena, struct mpk_error *err)
{
	size_t count = image->prefix_count;
	const char **all = mpk_arena_array(arena, count + other->prefix_count, sizeof *all);

	if (!other->prefix_count)
		return MPK_OK;
	MPK_TRY_ALLOC(all, err);
	for (size_t i = 0; i < count; i++)
		all[i] = image->prefixes[i];
	for (size_t i = 0; i < other->prefix_count; i++) {
		size_t at = 0;

		while (at < count && strcmp(all[at], other->prefixes[i]) < 0)
			at++;
		if (at < count && strcmp(all[at], other->prefixes[i]) == 0)
			continue;
		memmove(all + at + 1, all + at, (count - at) * sizeof *all);
		all[at] = other->prefixes[i];
		count++;
	}
	image->prefixes = all;
	image->prefix_count = count;
	return MPK_OK;
}

/* Keeps the functions of the chosen model, without its prefix. A function belongs to the longest
 * prefix that its name begins with. */
static void keep_own(struct mpk_image *image, struct mpk_image_function *functions, size_t *count)
{
	size_t own = strlen(image->prefix), kept = 0;

	for (size_t i = 0; i < *count; i++) {
		struct mpk_image_function f = functions[i];
		const char *name = f.name;
		const char *longest = "";

		for (size_t k = 0; f.member && k < image->prefix_count; k++)
			if (strlen(image->prefixes[k]) > strlen(longest) &&
			    mpk_name_starts(name, image->prefixes[k]))
				longest = image->prefixes[k];
		if (f.member && image->prefix_count && strcmp(longest, image->prefix) != 0) {
			if (image->prefix_count > 1)
				continue;
		} else if (f.member && name[own]) {
			f.name += own;
		}
		functions[kept++] = f;
	}
	*count = kept;
}

/* What is collected from the members before it is copied to the arena: an archive may have ten
 * thousand members. */
struct gathered {
	struct mpk_image_function *functions;
	struct mpk_image_code *codes;
	struct mpk_image_device *devices;
	size_t function_count, function_cap, code_count, code_cap, device_count, device_cap;
};

static void gathered_fini(struct gathered *g)
{
	free(g->functions);
	free(g->codes);
	free(g->devices);
}

static enum mpk_code add_functions(struct gathered *g, const struct mpk_image *image,
				   const char *member, struct mpk_error *err)
{
	MPK_TRY_ALLOC(mpk_vec_reserve(&g->functions, &g->function_cap,
				      g->function_count + image->function_count,
				      sizeof *g->functions),
		      err);
	for (size_t i = 0; i < image->function_count; i++) {
		g->functions[g->function_count] = image->functions[i];
		if (member)
			g->functions[g->function_count].member = member;
		g->function_count++;
	}
	return MPK_OK;
}

static enum mpk_code image_add_embedded(struct gathered *g, const struct mpk_image *image,
					const char *member, struct mpk_error *err)
{
	MPK_TRY_ALLOC(mpk_vec_reserve(&g->codes, &g->code_cap,
				      g->code_count + image->embedded_count, sizeof *g->codes),
		      err);
	for (size_t i = 0; i < image->embedded_count; i++) {
		g->codes[g->code_count] = image->embedded[i];
		if (member)
			g->codes[g->code_count].member = member;
		g->code_count++;
	}
	return MPK_OK;
}

/* Numbers the containers again, in the order of the whole archive. */
static enum mpk_code add_devices(struct gathered *g, const struct mpk_image *image,
				 const char *member, struct mpk_error *err)
{
	MPK_TRY_ALLOC(mpk_vec_reserve(&g->devices, &g->device_cap,
				      g->device_count + image->device_count, sizeof *g->devices),
		      err);
	for (size_t i = 0; i < image->device_count; i++) {
		g->devices[g->device_count] = image->devices[i];
		g->devices[g->device_count].index = g->device_count;
		g->devices[g->device_count++].member = member;
	}
	return MPK_OK;
}

/* Adds what the other members hold: objects of one archive are linked together, so their functions
 * are callable, too. */
static enum mpk_code add_others(const struct mpk_member *members, size_t count, size_t chosen,
				struct mpk_arena *arena, struct mpk_image *image,
				struct mpk_error *err)
{
	MPK_CLEANUP(gathered_fini) struct gathered all = { 0 };

	MPK_TRY(add_functions(&all, image, NULL, err));
	MPK_TRY(image_add_embedded(&all, image, NULL, err));
	MPK_TRY(add_devices(&all, image, NULL, err));
	for (size_t i = 0; i < count; i++) {
		const struct mpk_member *m = &members[i];
		enum mpk_file_format format = image_format_of(m);
		struct mpk_image other;

		if (i == chosen || format == MPK_FILE_BLOB)
			continue;
		MPK_TRY(read_file(format, m->bytes, m->off, image->gen_known ? &image->gen : NULL,
				  arena, &other, err));
		MPK_TRY(add_prefixes(image, &other, arena, err));
		if (image->gen_known && !other.has_blob && other.function_count) {
			MPK_TRY(add_functions(&all, &other, m->name, err));
			image->has_ctx |= other.has_ctx;
		}
		MPK_TRY(image_add_embedded(&all, &other, m->name, err));
		MPK_TRY(add_devices(&all, &other, m->name, err));
	}

	/* Each kind becomes one list in the arena. The functions are sorted again, because each member was
	 * sorted by itself. */
	struct mpk_image_function *functions;

	keep_own(image, all.functions, &all.function_count);
	functions = mpk_arena_keep(arena, all.functions, all.function_count, sizeof *all.functions);
	image->embedded = mpk_arena_keep(arena, all.codes, all.code_count, sizeof *all.codes);
	image->devices = mpk_arena_keep(arena, all.devices, all.device_count, sizeof *all.devices);
	MPK_TRY_ALLOC(functions && image->embedded && image->devices, err);
	mpk_image_sort_functions(functions, all.function_count);
	image->functions = functions;
	image->function_count = all.function_count;
	image->embedded_count = all.code_count;
	image->device_count = all.device_count;
	return MPK_OK;
}

static enum mpk_code read_one(const struct mpk_member *m, struct mpk_arena *arena,
			      struct mpk_image *out, struct mpk_error *err);

/* @linked  true: the members are linked together, like objects; false: they are alternatives */
static enum mpk_code read_members(const struct mpk_member *members, size_t count, bool linked,
				  const char *wanted, struct mpk_arena *arena,
				  struct mpk_image *out, struct mpk_error *err)
{
	const char **names = mpk_arena_array(arena, count, sizeof *names);
	struct mpk_span *contents = mpk_arena_array(arena, count, sizeof *contents);
	struct mpk_image image = { .prefix = "" };
	size_t chosen = 0;

	MPK_TRY_ALLOC(names && contents, err);
	for (size_t i = 0; i < count; i++) {
		names[i] = members[i].name;
		contents[i] = members[i].bytes;
	}
	if (wanted && find_member(members, count, wanted, &chosen, NULL) == MPK_OK) {
		MPK_TRY(read_one(&members[chosen], arena, &image, err));
	} else {
		MPK_TRY(image_choose(members, count, linked ? wanted : NULL, arena, &chosen, &image,
				     err));
		if (wanted && (!linked || !image.has_blob))
			return find_member(members, count, wanted, &chosen, err);
		if ((image.gen_known || image.device_count) && linked)
			MPK_TRY(add_others(members, count, chosen, arena, &image, err));
	}
	image.member = chosen < count ? members[chosen].name : NULL;
	image.members = names;
	image.member_bytes = contents;
	image.member_count = count;
	*out = image;
	return MPK_OK;
}

/* --- what kind of file ------------------------------------------------------------ */

/* Checks that the headers of a file that is only GPU code read. A broken member of an archive is
 * left to --verify, as the other members are still of use.
 * @image   made by mpk_device_images
 * Returns  as mpk_code_targets, with offsets in "file" */
static enum mpk_code device_file_check(const struct mpk_image *image, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	const struct mpk_image_device *d = &image->devices[0];
	const struct mpk_code_target *targets;
	size_t count;
	enum mpk_code code = mpk_code_targets(d->bytes, &scratch, &targets, &count, err);

	if (code == MPK_E_CORRUPT && err && err->at.has_offset) {
		(void)snprintf(err->at.space, sizeof err->at.space, "file");
		err->at.offset += d->off;
	}
	return code;
}

/* Opens a member, or a whole input, which has no name: it is recognised as C by its text. */
static enum mpk_code read_one(const struct mpk_member *m, struct mpk_arena *arena,
			      struct mpk_image *out, struct mpk_error *err)
{
	enum mpk_file_format format = m->name ? image_format_of(m) : format_of_bytes(m->bytes);
	struct mpk_foreign ignored;
	struct mpk_image image;

	if (format != MPK_FILE_BLOB) {
		MPK_TRY(read_file(format, m->bytes, m->off, NULL, arena, &image, err));
		if (format == MPK_FILE_DEVICE)
			MPK_TRY(device_file_check(&image, err));
		*out = image;
		return MPK_OK;
	}
	if (file_is_csource(m->bytes) && !mpk_foreign_find(m->bytes, &ignored))
		return read_file(MPK_FILE_C, m->bytes, m->off, NULL, arena, out, err);
	return read_file(MPK_FILE_BLOB, m->bytes, m->off, NULL, arena, out, err);
}

/* Opens the first file with a module. A loader chooses one of the files by its machine. */
static enum mpk_code read_universal(struct mpk_span bytes, const char *member,
				    struct mpk_arena *arena, struct mpk_image *out,
				    struct mpk_error *err)
{
	struct mpk_member *members;
	size_t count;

	MPK_TRY(list_universal(bytes, arena, &members, &count, err));
	MPK_TRY(read_members(members, count, false, member, arena, out, err));
	if (out->format != MPK_FILE_MACHO)
		out->container = MPK_CONTAINER_MACHO_SO;
	return MPK_OK;
}

/* Opens one of several models that were linked into one file, by its prefix. */
static enum mpk_code read_prefix(struct mpk_span bytes, const char *prefix, struct mpk_arena *arena,
				 struct mpk_image *out, struct mpk_error *err)
{
	struct mpk_image image = { 0 };

	if (format_of_bytes(bytes) == MPK_FILE_ELF) {
		MPK_TRY(read_file_of(MPK_FILE_ELF, bytes, 0, prefix, NULL, arena, &image, err));
		if (image.has_blob && !image.carrier.len && strcmp(image.prefix, prefix) == 0) {
			*out = image;
			return MPK_OK;
		}
	}
	return mpk_fail(
		err, MPK_E_NOTFOUND,
		"a member '%s' was asked for, but the file is no archive, and has no model of that prefix",
		MPK_QUOTE(mpk_span_str(prefix)));
}

/* gzip is removed first: TVM exports .tar.gz files. */
enum mpk_code mpk_image_open_mapped(struct mpk_span bytes, const char *member,
				    struct mpk_arena *arena, struct mpk_image *out,
				    struct mpk_error *err)
{
	struct mpk_span content = bytes;
	bool packed = mpk_gzip_is(bytes);

	if (packed)
		MPK_TRY(mpk_gzip_read(bytes, unpacked_max(bytes.len), arena, &content, err));
	if (mpk_ar_is(content) || mpk_tar_is(content)) {
		/* Only the list of members depends on the kind of the archive. */
		bool is_ar = mpk_ar_is(content);
		struct mpk_member *members;
		size_t count;

		MPK_TRY((is_ar ? list_ar : list_tar)(content, arena, &members, &count, err));
		MPK_TRY(read_members(members, count, true, member, arena, out, err));
		out->container = is_ar ? MPK_CONTAINER_ARCHIVE : MPK_CONTAINER_TAR;
	} else if (mpk_macho_is_universal(content))
		MPK_TRY(read_universal(content, member, arena, out, err));
	else if (member)
		MPK_TRY(read_prefix(content, member, arena, out, err));
	else
		MPK_TRY(read_one(&(struct mpk_member){ .bytes = content }, arena, out, err));
	out->is_packed |= packed;
	out->by_prefix = member && out->has_blob && out->prefix_count > 1 &&
			 strcmp(out->prefix, member) == 0 &&
			 !(out->member && strcmp(out->member, member) == 0);
	return MPK_OK;
}

enum mpk_code mpk_image_open(struct mpk_span bytes, const char *member, struct mpk_arena *arena,
			     struct mpk_image *out, struct mpk_error *err)
{
	struct mpk_image image;

	MPK_TRY(mpk_image_open_mapped(bytes, member, arena, &image, err));
	if (image.cut && err)
		*err = *image.cut;
	if (image.cut)
		return image.cut->code;
	*out = image;
	return MPK_OK;
}

/* strip and objcopy can drop a symbol and keep the note that names it. */
enum mpk_code mpk_image_check_symbol(const struct mpk_image *image, struct mpk_error *err)
{
	if (!image->lost_blob)
		return MPK_OK;
	return mpk_fail(
		err, MPK_E_CORRUPT,
		"the package note tells of a blob, '%s', and no symbol has that name: loaders find no module",
		MPK_QUOTE(mpk_span_str(image->lost_blob)));
}

/* Without a note there is nothing to compare with, which is no error. */
enum mpk_code mpk_image_check_digest(const struct mpk_image *image, const struct mpk_mapping *map,
				     struct mpk_arena *arena, struct mpk_error *err)
{
	uint8_t digest[MPK_DIGEST_BYTES];

	if (!image->has_blob || !image->note.name)
		return MPK_OK;
	MPK_TRY(mpk_note_digest(mpk_image_noted(image), map, NULL, arena, digest, err));
	return mpk_note_compare(&image->note, digest, err);
}

enum mpk_code mpk_image_check_single(const struct mpk_image *image, struct mpk_error *err)
{
	if (image->prefix_count < 2)
		return MPK_OK;
	return mpk_fail(
		err, MPK_E_UNSUPPORTED,
		"it holds %zu models, with the prefixes '%s', '%s'%s, and a standalone library carries one: link each by itself",
		image->prefix_count, MPK_QUOTE(mpk_span_str(image->prefixes[0])),
		MPK_QUOTE(mpk_span_str(image->prefixes[1])),
		image->prefix_count > 2 ? " and more" : "");
}
