/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the source that a cubin was made of, where a compiler's cache has both in folders of different names.
 *
 * TileLang 0.1.15 names a cubin's folder after a digest of its source, options and target, and the source's folder after
 * one of the program that it was made from: neither name leads to the other. But beside a source is a library with the
 * host code, and in it the cubin, byte for byte. So each library is searched for ELF files, which are compared with the
 * cubins of the same header. A lone source without a library is of a lone cubin; the names of kernels are compared later.
 */
#include <stdlib.h>
#include <string.h>

#include "base/strmap.h"
#include "common/files.h"
#include "io/mapping.h"
#include "mpack/cubins.h"

enum { ELF_HEADER = 64, MAGIC_BYTES = 4 };

/* A cubin that nothing was found for yet. */
struct lone {
	size_t file;
	struct mpk_mapping map;
	size_t next; /* of the same header; the number of all: none */
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

/* Descriptors are limited: the bytes alone stay. */
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

/* All cubins of one header that a library has at a place. */
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

static enum mpk_code match_last(struct matching *m)
{
	struct mpk_cubins_source *source = NULL;
	struct lone *lone = NULL;
	size_t sources = 0, cubins = 0;

	for (size_t i = 0; i < m->kernels->source_count; i++) {
		struct mpk_cubins_source *s = &m->kernels->sources[i];

		if (!s->taken && !s->library) {
			source = s;
			sources++;
		}
	}
	for (size_t i = 0; i < m->count; i++) {
		if (m->kernels->files[m->lone[i].file].meta)
			continue;
		lone = &m->lone[i];
		cubins++;
	}
	return sources == 1 && cubins == 1 ? give_source(m, lone, source) : MPK_OK;
}

static int compare_path(const void *key, const void *item)
{
	const struct mpk_cubins_source *s = item;

	return strcmp(key, s->path);
}

/* A source beside a cubin is that one's. */
static void skip_taken(struct mpk_cubins *kernels)
{
	for (size_t i = 0; i < kernels->count; i++) {
		const char *meta = kernels->files[i].meta;
		struct mpk_cubins_source *s =
			meta ? bsearch(meta, kernels->sources, kernels->source_count,
				       sizeof *kernels->sources, compare_path)
			     : NULL;

		if (s)
			s->taken = true;
	}
}

enum mpk_code mpk_cubins_match(struct mpk_cubins *kernels, struct mpk_error *err)
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
	skip_taken(kernels);
	for (size_t i = 0; i < kernels->source_count; i++)
		if (!kernels->sources[i].taken)
			MPK_TRY(search_library(&m, &kernels->sources[i]));
	return match_last(&m);
}
