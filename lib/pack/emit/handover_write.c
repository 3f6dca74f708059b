/* SPDX-License-Identifier: Apache-2.0 */
/* handover_write.c - what a build needs of a package, in bytes
 *
 * Integers are little-endian u64, texts have a length; a text that is not there has length UINT64_MAX. A
 * piece of the blob is the number of its file, where it begins there and its length, or bytes. */
#include "emit/internal/emit.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "io/copy.h"
#include "manifest/manifest.h"
#include "package/package.h"

/* Where the bytes of a file are in memory, for a search. */
struct region {
	uintptr_t start;
	size_t len, file;
};

/* What is said to the other process, as one rope: texts are copied, payloads stay views and
 * ranges. */
struct writer {
	struct mpk_rope out;
	const struct mpk_handover_file *files;
	size_t file_count;
	struct region *regions; /* ascending; in the arena */
	size_t region_count;
};

static int compare_regions(const void *a, const void *b)
{
	const struct region *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* Those that another process can open. */
static enum mpk_code list_regions(struct writer *w, struct mpk_error *err)
{
	w->regions = mpk_arena_array(w->out.arena, w->file_count, sizeof *w->regions);
	MPK_TRY_ALLOC(w->regions, err);
	for (size_t i = 0; i < w->file_count; i++) {
		const struct mpk_mapping *map = w->files[i].map;
		struct mpk_file_identity identity;

		if (map->bytes.len && (i == 0 || mpk_mapping_identity(map, &identity)))
			w->regions[w->region_count++] =
				(struct region){ (uintptr_t)map->bytes.data, map->bytes.len, i };
	}
	if (w->region_count)
		qsort(w->regions, w->region_count, sizeof *w->regions, compare_regions);
	return MPK_OK;
}

/* The file that a view in memory is a part of: the one that begins last before the view, if
 * it is long enough. */
static bool find_region(const struct writer *w, const struct mpk_piece *p, uint64_t *file,
			uint64_t *off)
{
	uintptr_t at = (uintptr_t)p->data;
	const struct region after = { .start = at + 1 };
	size_t next =
		mpk_lower_bound(w->regions, w->region_count, sizeof after, &after, compare_regions);

	if (!next)
		return false;
	const struct region *r = &w->regions[next - 1];
	if (at - r->start >= r->len || r->len - (at - r->start) < p->len)
		return false;
	*file = r->file;
	*off = at - r->start;
	return true;
}

/* Files stay open when they are large, which few are. */
static bool find_descriptor(const struct writer *w, int fd, uint64_t *file)
{
	for (size_t i = 0; i < w->file_count; i++)
		if (w->files[i].map->fd == fd) {
			*file = i;
			return true;
		}
	return false;
}

/* A piece that is in no file, such as a header that was built, is handed over as bytes. */
static enum mpk_code put_piece(struct writer *w, const struct mpk_piece *p, struct mpk_error *err)
{
	uint64_t file, off = p->off;

	if (p->data ? find_region(w, p, &file, &off) : find_descriptor(w, p->fd, &file)) {
		mpk_rope_put_u64(&w->out, file);
		mpk_rope_put_u64(&w->out, off);
		mpk_rope_put_u64(&w->out, p->len);
		return MPK_OK;
	}
	if (!p->data)
		return mpk_fail(err, MPK_E_INTERNAL, "a part of the blob is of no known file");
	mpk_rope_put_u64(&w->out, MPK_HANDOVER_NONE);
	mpk_rope_put_u64(&w->out, p->len);
	mpk_rope_put_view(&w->out, mpk_span_of(p->data, p->len));
	return MPK_OK;
}

static void handover_put_text(struct writer *w, const char *text)
{
	if (text)
		mpk_rope_put_str(&w->out, mpk_span_str(text));
	else
		mpk_rope_put_u64(&w->out, MPK_HANDOVER_NONE);
}

/* A file without an identity is a pipe, which nobody can open again; its bytes are handed
 * over as pieces. */
static void put_files(struct writer *w)
{
	struct mpk_file_identity identity;

	mpk_rope_put_u64(&w->out, w->file_count);
	for (size_t i = 0; i < w->file_count; i++) {
		bool is_there = i && mpk_mapping_identity(w->files[i].map, &identity);

		mpk_rope_put_u8(&w->out, is_there);
		if (!is_there)
			continue;
		handover_put_text(w, w->files[i].path);
		mpk_rope_put_u64(&w->out, identity.device);
		mpk_rope_put_u64(&w->out, identity.inode);
		mpk_rope_put_u64(&w->out, identity.size);
		mpk_rope_put_u64(&w->out, (uint64_t)identity.modified);
	}
}

static void put_words(struct writer *w, const struct mpk_words *words)
{
	mpk_rope_put_u64(&w->out, words->count);
	for (size_t i = 0; i < words->count; i++)
		handover_put_text(w, words->items[i]);
}

static void put_sources(struct writer *w, const struct mpk_handover *h)
{
	mpk_rope_put_u64(&w->out, h->source_count);
	for (size_t i = 0; i < h->source_count; i++) {
		handover_put_text(w, h->sources[i].path);
		put_words(w, &h->sources[i].flags);
		mpk_rope_put_u8(&w->out, h->sources[i].text.data != NULL);
		if (!h->sources[i].text.data)
			continue;
		mpk_rope_put_u64(&w->out, h->sources[i].text.len);
		mpk_rope_put_view(&w->out, h->sources[i].text);
	}
}

static void put_called(struct writer *w, const struct mpk_handover *h)
{
	mpk_rope_put_u64(&w->out, h->called_count);
	for (size_t i = 0; i < h->called_count; i++) {
		handover_put_text(w, h->called[i].symbol);
		handover_put_text(w, h->called[i].function);
		mpk_rope_put_u32(&w->out, h->called[i].line);
		mpk_rope_put_u32(&w->out, h->called[i].column);
	}
}

static void put_facts(struct writer *w, const struct mpk_handover *h)
{
	const bool flags[] = { h->has_blob,     h->is_blob,    h->has_host,  h->has_sources,
			       h->has_callable, h->is_carried, h->needs_cxx, h->is_packed };

	mpk_rope_put_u64(&w->out, h->gen);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(flags); i++)
		mpk_rope_put_u8(&w->out, flags[i]);
	mpk_rope_put_u64(&w->out, h->module_count);
	handover_put_text(w, h->name);
	handover_put_text(w, h->symbol);
	handover_put_text(w, h->entry);
	handover_put_text(w, h->dir_named);
	handover_put_text(w, h->target);
	handover_put_text(w, h->base);
	handover_put_text(w, h->unlinked);
	handover_put_text(w, h->packing);
	mpk_rope_put_u64(&w->out, h->file_count);
	for (size_t i = 0; i < h->file_count; i++)
		handover_put_text(w, h->files[i]);
	put_words(w, &h->libraries);
	put_called(w, h);
}

enum mpk_code mpk_handover_write(const struct mpk_handover *h,
				 const struct mpk_handover_file *files, size_t file_count, int fd,
				 struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	struct writer w = { .out = mpk_rope_of(&arena), .files = files, .file_count = file_count };

	MPK_TRY(list_regions(&w, err));
	put_facts(&w, h);
	put_files(&w);
	put_sources(&w, h);
	mpk_rope_put_u64(&w.out, h->has_blob ? h->blob.count : 0);
	for (size_t i = 0; h->has_blob && i < h->blob.count; i++)
		MPK_TRY(put_piece(&w, &h->blob.pieces[i], err));
	MPK_TRY(mpk_rope_status(&w.out, err));
	return mpk_write_pieces(fd, w.out.pieces, w.out.count, NULL, err);
}
