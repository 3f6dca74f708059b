/* SPDX-License-Identifier: Apache-2.0 */
/* Finds cubins and their compilers' notes, among named files or in a compiler's cache. In a cache
 * the notes have the same name as their cubin, or one name that the compiler always uses
 * (TileLang). If the source is in a folder of another name, it is found by its contents. Links in a
 * folder are skipped: their targets are either in the folder too, or do not belong to it. */
#include "mpack/cubins.h"

#include <errno.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/strmap.h"
#include "base/vec.h"
#include "common/diag.h"
#include "io/path.h"
#include "text/escape.h"

#define SOURCE "device_kernel.cu" /* the name that TileLang always uses */

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

/* Returns the path with another suffix if such a file exists; else NULL. */
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

/* Returns the length of "dir/add" in "dir/add.json". */
static size_t length_to_suffix(const char *path)
{
	const char *name = mpk_path_name(path), *dot = strrchr(name, '.');

	return dot && dot != name ? (size_t)(dot - path) : strlen(path);
}

static bool cubins_keep(struct mpk_cubins *k, const char *path, const char *meta)
{
	struct mpk_cubins_file f = { .path = strdup(path), .meta = meta ? strdup(meta) : NULL };

	if (!f.path || (meta && !f.meta) || !MPK_VEC_ROOM(k->files, k->count, k->cap)) {
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

	if (!s.path || !MPK_VEC_ROOM(k->sources, k->source_count, k->source_cap)) {
		free((void *)(uintptr_t)s.path);
		free((void *)(uintptr_t)s.library);
		return false;
	}
	k->sources[k->source_count++] = s;
	return true;
}

/* nftw() passes no argument to its callback. */
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

/* --- sources in folders of their own -------------------------------------------------------------
 *
 * Finds the source of a cubin if a compiler's cache has them in folders of different names.
 *
 * TileLang 0.1.15 names a cubin's folder after a digest of its source, options and target, and the
 * source's folder after a digest of the program it was made from: neither name leads to the other.
 * But next to the source is a library with the host code, which contains a copy of the cubin. So
 * each library is searched for ELF files, which are compared with the cubins that have the same
 * header. A single source without a library belongs to a single cubin; kernel names are compared
 * later.
 */

enum { ELF_HEADER = 64, MAGIC_BYTES = 4 };

/* A cubin that has no notes yet. */
struct lone {
	size_t file;
	struct mpk_mapping map;
	/* index of the next one with the same header; the total number if there is none */
	size_t next;
};

struct matching {
	struct mpk_cubins *kernels;
	struct lone *lone; /* malloc'ed */
	size_t count;
	struct mpk_strmap by_header;
	struct mpk_error *err;
};

static void matching_fini(struct matching *m)
{
	for (size_t i = 0; i < m->count; i++)
		mpk_mapping_close(&m->lone[i].map);
	mpk_strmap_fini(&m->by_header);
	free(m->lone);
}

/* Closes the file but keeps its bytes, since descriptors are limited. */
static enum mpk_code open_lone(struct matching *m, size_t file)
{
	struct lone *lone = &m->lone[m->count];
	size_t first = m->count;
	int rc;

	*lone = (struct lone){ .file = file, .map = { .fd = -1 }, .next = SIZE_MAX };
	if (mpk_mapping_open(m->kernels->files[file].path, &lone->map, m->err) != MPK_OK) {
		mpk_error_at_file(m->err, m->kernels->files[file].path);
		return m->err->code;
	}
	mpk_mapping_close_file(&lone->map);
	m->count++;
	if (lone->map.bytes.len < ELF_HEADER)
		return MPK_OK;
	rc = mpk_strmap_put(&m->by_header, mpk_span_of(lone->map.bytes.data, ELF_HEADER), first,
			    &first);
	MPK_TRY_ALLOC(rc >= 0, m->err);
	if (!rc) {
		lone->next = m->lone[first].next;
		m->lone[first].next = m->count - 1;
	}
	return MPK_OK;
}

static enum mpk_code give_source(struct matching *m, struct lone *lone,
				 struct mpk_cubins_source *source)
{
	struct mpk_cubins_file *f = &m->kernels->files[lone->file];

	if (f->meta)
		return MPK_OK;
	f->meta = strdup(source->path);
	f->library = source->library ? strdup(source->library) : NULL;
	MPK_TRY_ALLOC(f->meta && (f->library || !source->library), m->err);
	source->taken = true;
	return MPK_OK;
}

/* Finds the cubins with the given header in a library. */
static enum mpk_code match_at(struct matching *m, struct mpk_span rest,
			      struct mpk_cubins_source *source)
{
	size_t i;

	if (rest.len < ELF_HEADER ||
	    !mpk_strmap_find(&m->by_header, mpk_span_of(rest.data, ELF_HEADER), &i))
		return MPK_OK;
	for (; i != SIZE_MAX; i = m->lone[i].next) {
		struct mpk_span cubin = m->lone[i].map.bytes;

		if (cubin.len <= rest.len && memcmp(cubin.data, rest.data, cubin.len) == 0)
			MPK_TRY(give_source(m, &m->lone[i], source));
	}
	return MPK_OK;
}

static enum mpk_code search_library(struct matching *m, struct mpk_cubins_source *source)
{
	MPK_CLEANUP(mpk_mapping_close) struct mpk_mapping map = { .fd = -1 };
	const uint8_t *at, *end;

	if (!source->library)
		return MPK_OK;
	if (mpk_mapping_open(source->library, &map, m->err) != MPK_OK) {
		mpk_error_at_file(m->err, source->library);
		return m->err->code;
	}
	at = map.bytes.data;
	end = at + map.bytes.len;
	while (at && (size_t)(end - at) > MAGIC_BYTES) {
		at = memmem(at + 1, (size_t)(end - at) - 1, "\177ELF", MAGIC_BYTES);
		if (at)
			MPK_TRY(match_at(m, mpk_span_of(at, (size_t)(end - at)), source));
	}
	return MPK_OK;
}

static int compare_path(const void *key, const void *item)
{
	const struct mpk_cubins_source *s = item;

	return strcmp(key, s->path);
}

/* Finds the source of each cubin without notes; a missing source is not an error. */
static enum mpk_code match_sources(struct mpk_cubins *kernels, struct mpk_error *err)
{
	MPK_CLEANUP(matching_fini) struct matching m = { .kernels = kernels, .err = err };

	if (!kernels->source_count)
		return MPK_OK;
	m.lone = calloc(kernels->count + 1, sizeof *m.lone);
	MPK_TRY_ALLOC(m.lone, err);
	for (size_t i = 0; i < kernels->count; i++)
		if (!kernels->files[i].meta)
			MPK_TRY(open_lone(&m, i));
	if (!m.count)
		return MPK_OK;
	/* Skips sources that lie next to a cubin: they belong to it. */
	for (size_t i = 0; i < kernels->count; i++) {
		const char *meta = kernels->files[i].meta;
		struct mpk_cubins_source *s =
			meta ? bsearch(meta, kernels->sources, kernels->source_count,
				       sizeof *kernels->sources, compare_path)
			     : NULL;

		if (s)
			s->taken = true;
	}
	for (size_t i = 0; i < kernels->source_count; i++)
		if (!kernels->sources[i].taken)
			MPK_TRY(search_library(&m, &kernels->sources[i]));

	struct mpk_cubins_source *source = NULL;
	struct lone *lone = NULL;
	size_t sources = 0, cubins = 0;

	for (size_t i = 0; i < m.kernels->source_count; i++) {
		struct mpk_cubins_source *s = &m.kernels->sources[i];

		if (!s->taken && !s->library) {
			source = s;
			sources++;
		}
	}
	for (size_t i = 0; i < m.count; i++) {
		if (m.kernels->files[m.lone[i].file].meta)
			continue;
		lone = &m.lone[i];
		cubins++;
	}
	return sources == 1 && cubins == 1 ? give_source(&m, lone, source) : MPK_OK;
}

/* --- opening --------------------------------------------------------------------------------- */

/* Closes the file but keeps its bytes, since descriptors are limited. */
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
	MPK_TRY(match_sources(kernels, err));
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
