/* SPDX-License-Identifier: Apache-2.0 */
/* Finds cubins and the notes of their compilers: files that are named, or a compiler's cache, in which notes have the
 * name of their cubin, or one that the compiler gives to all (TileLang; where these are in other folders, sources.c finds
 * which is whose). Links in a folder are passed over, as what
 * they lead to is there itself, or is somebody else's. */
#include "mpack/cubins.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/vec.h"
#include "common/diag.h"
#include "io/path.h"
#include "text/escape.h"

#define SOURCE "device_kernel.cu" /* TileLang's name for all */

enum { OPEN_FOLDERS = 32 };

static bool is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool mpk_cubins_are_meant(const struct mpk_cubins_options *o, const char *const *paths,
			  size_t count)
{
	const struct mpk_wrap_options *how = &o->how;
	bool asked = o->metas.count || how->signature || how->grid || how->block || how->cluster ||
		     how->shared || how->cooperative || how->programmatic;

	for (size_t i = 0; i < count; i++)
		asked |= is_folder(paths[i]);
	return asked;
}

/* --- finding --------------------------------------------------------------------------------- */

/* The same path with another end, where there is such a file; NULL: there is none. */
static const char *beside(const char *path, size_t keep, const char *end)
{
	size_t n = strlen(end);
	char *text = malloc(keep + n + 1);

	if (!text)
		return NULL;
	memcpy(text, path, keep);
	memcpy(text + keep, end, n + 1);
	if (access(text, R_OK) == 0)
		return text;
	free(text);
	return NULL;
}

/* "dir/add" of "dir/add.json" */
static size_t length_to_suffix(const char *path)
{
	const char *name = mpk_path_name(path), *dot = strrchr(name, '.');

	return dot && dot != name ? (size_t)(dot - path) : strlen(path);
}

static bool cubins_keep(struct mpk_cubins *k, const char *path, const char *meta)
{
	struct mpk_cubins_file f = { .path = strdup(path), .meta = meta ? strdup(meta) : NULL };

	if (!f.path || (meta && !f.meta) ||
	    !mpk_vec_reserve(&k->files, &k->cap, k->count + 1, sizeof *k->files)) {
		free((void *)(uintptr_t)f.path);
		free((void *)(uintptr_t)f.meta);
		return false;
	}
	if (f.meta)
		f.ir = beside(f.meta, length_to_suffix(f.meta), ".ttir");
	k->files[k->count++] = f;
	return true;
}

static bool keep_source(struct mpk_cubins *k, const char *path, size_t folder)
{
	struct mpk_cubins_source s = { .path = strdup(path),
				       .library = beside(path, folder, "executable.so") };

	if (!s.path || !mpk_vec_reserve(&k->sources, &k->source_cap, k->source_count + 1,
					sizeof *k->sources)) {
		free((void *)(uintptr_t)s.path);
		free((void *)(uintptr_t)s.library);
		return false;
	}
	k->sources[k->source_count++] = s;
	return true;
}

/* nftw() hands nothing on to whom it calls. */
static struct mpk_cubins *cubins_found;
static bool cubins_failed;

static int cubins_see(const char *path, const struct stat *st, int type, struct FTW *at)
{
	static const char *const suffixes[] = { ".cubin", NULL };
	const char *meta;

	if (type == FTW_DNR)
		mpk_diag_warn("%s: cannot be read", MPK_QUOTE(mpk_span_str(path)));
	if (type != FTW_F || !S_ISREG(st->st_mode))
		return 0;
	if (strcmp(path + at->base, SOURCE) == 0)
		cubins_failed |= !keep_source(cubins_found, path, (size_t)at->base);
	if (!mpk_path_has_suffix(path, suffixes))
		return cubins_failed;
	meta = beside(path, length_to_suffix(path), ".json");
	if (!meta)
		meta = beside(path, (size_t)at->base, SOURCE);
	cubins_failed |= !cubins_keep(cubins_found, path, meta);
	free((void *)(uintptr_t)meta);
	return cubins_failed;
}

static int compare_cubins(const void *a, const void *b)
{
	const struct mpk_cubins_file *x = a, *y = b;

	return strcmp(x->path, y->path);
}

static int compare_sources(const void *a, const void *b)
{
	const struct mpk_cubins_source *x = a, *y = b;

	return strcmp(x->path, y->path);
}

static int find_in_folder(const char *path, struct mpk_cubins *out)
{
	struct mpk_error err = { 0 };
	size_t first = out->count;

	cubins_found = out;
	cubins_failed = false;
	if (nftw(path, cubins_see, OPEN_FOLDERS, FTW_PHYS) < 0 && !cubins_failed)
		(void)mpk_fail_errno(&err, MPK_E_IO, errno, "cannot be read");
	else if (cubins_failed)
		(void)mpk_fail_nomem(&err);
	else if (out->count == first)
		(void)mpk_fail(&err, MPK_E_UNSUPPORTED,
			       "there is no file in it that ends in .cubin");
	else
		qsort(out->files + first, out->count - first, sizeof *out->files, compare_cubins);
	if (out->source_count)
		qsort(out->sources, out->source_count, sizeof *out->sources, compare_sources);
	mpk_error_at_file(&err, path);
	return err.code == MPK_OK ? MPK_EXIT_OK : mpk_diag_error(&err);
}

int mpk_cubins_find(const struct mpk_cubins_options *o, const char *const *paths, size_t count,
		    struct mpk_cubins *out)
{
	size_t metas = o->metas.count, used = 0;
	struct mpk_error err = { 0 };
	int status = MPK_EXIT_OK;

	for (size_t i = 0; i < count && status == MPK_EXIT_OK; i++) {
		if (is_folder(paths[i]))
			status = find_in_folder(paths[i], out);
		else if (!cubins_keep(out, paths[i],
				      used < metas ? o->metas.items[used++].value : NULL))
			status = mpk_diag_error((mpk_fail_nomem(&err), &err));
	}
	if (status == MPK_EXIT_OK && metas && metas != out->count)
		return mpk_diag_usage(
			"--meta is given once for each cubin, in their order: %zu for %zu", metas,
			out->count);
	if (status == MPK_EXIT_OK && o->how.signature && out->count > 1)
		return mpk_diag_usage("--signature is of one kernel, not of %zu", out->count);
	return status;
}

void mpk_cubins_confine(const struct mpk_cubins *kernels, struct mpk_confine *c)
{
	for (size_t i = 0; i < kernels->count; i++) {
		mpk_confine_input(c, kernels->files[i].path);
		mpk_confine_input(c, kernels->files[i].meta);
		mpk_confine_input(c, kernels->files[i].ir);
	}
	for (size_t i = 0; i < kernels->source_count; i++) {
		mpk_confine_input(c, kernels->sources[i].path);
		mpk_confine_input(c, kernels->sources[i].library);
	}
}

/* --- opening --------------------------------------------------------------------------------- */

/* Descriptors are limited: the bytes alone stay. */
static enum mpk_code cubins_open(const char *path, struct mpk_mapping *map, struct mpk_span *out,
				 struct mpk_error *err)
{
	if (!path)
		return MPK_OK;
	MPK_TRY(mpk_mapping_open(path, map, err));
	mpk_mapping_close_file(map);
	*out = map->bytes;
	return MPK_OK;
}

enum mpk_code mpk_cubins_manifest(const struct mpk_cubins_options *o, struct mpk_cubins *kernels,
				  const char *name, struct mpk_arena *arena, struct mpk_strbuf *out,
				  struct mpk_error *err)
{
	struct mpk_wrap_file *files = mpk_arena_array(arena, kernels->count, sizeof *files);
	struct mpk_wrap_options how = o->how;

	how.name = name;
	MPK_TRY(mpk_cubins_match(kernels, err));
	kernels->maps = calloc(kernels->count * MPK_CUBINS_PARTS, sizeof *kernels->maps);
	MPK_TRY_ALLOC(files && kernels->maps, err);
	for (size_t i = 0; i < kernels->count * MPK_CUBINS_PARTS; i++)
		kernels->maps[i].fd = -1;
	for (size_t i = 0; i < kernels->count; i++) {
		const struct mpk_cubins_file *f = &kernels->files[i];
		struct mpk_mapping *maps = &kernels->maps[i * MPK_CUBINS_PARTS];

		files[i] = (struct mpk_wrap_file){ .path = f->path, .meta_path = f->meta };
		MPK_TRY(cubins_open(f->path, &maps[0], &files[i].bytes, err));
		MPK_TRY(cubins_open(f->meta, &maps[1], &files[i].meta, err));
		MPK_TRY(cubins_open(f->ir, &maps[2], &files[i].ir, err));
	}
	return mpk_wrap_manifest(files, kernels->count, &how, arena, out, err);
}

void mpk_cubins_close(struct mpk_cubins *kernels)
{
	for (size_t i = 0; kernels->maps && i < kernels->count * MPK_CUBINS_PARTS; i++)
		mpk_mapping_close(&kernels->maps[i]);
	for (size_t i = 0; i < kernels->count; i++) {
		free((void *)(uintptr_t)kernels->files[i].path);
		free((void *)(uintptr_t)kernels->files[i].meta);
		free((void *)(uintptr_t)kernels->files[i].ir);
		free((void *)(uintptr_t)kernels->files[i].library);
	}
	for (size_t i = 0; i < kernels->source_count; i++) {
		free((void *)(uintptr_t)kernels->sources[i].path);
		free((void *)(uintptr_t)kernels->sources[i].library);
	}
	free(kernels->sources);
	free(kernels->maps);
	free(kernels->files);
	*kernels = (struct mpk_cubins){ 0 };
}
