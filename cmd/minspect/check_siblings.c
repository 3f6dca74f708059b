/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries of the packages that are checked: what one needs is in the same wheel, or in another one of the command line,
 * wherever an installation puts them. Of several with one name the one is taken whose path has most in common with
 * that of the library that needs it. Members of archives are unpacked when they are needed, and kept. */
#include "minspect/check_there.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "io/path.h"
#include "minspect/document.h"

/* The best of what was seen so far. */
struct candidate {
	const char *path;
	size_t common;
	const struct minspect_file *archive; /* NULL: path is that of a file */
	size_t member;
};

static void consider(struct candidate *best, const char *path, const char *by,
		     const struct minspect_file *archive, size_t member)
{
	size_t common = 0;

	while (path[common] && path[common] == by[common])
		common++;

	if (!best->path || common > best->common)
		*best = (struct candidate){ path, common, archive, member };
}

static bool is_named(struct mpk_span path, const char *name)
{
	size_t len = strlen(name);

	return path.len >= len && memcmp(path.data + path.len - len, name, len) == 0 &&
	       (path.len == len || path.data[path.len - len - 1] == '/');
}

static enum mpk_code consider_members(struct candidate *best, const struct minspect_file *archive,
				      const char *name, const char *by, struct mpk_arena *arena,
				      struct mpk_error *err)
{
	for (size_t i = 0; i < archive->library_count; i++) {
		const char *path;

		if (!is_named(archive->libraries[i].name, name))
			continue;
		path = minspect_zip_member(archive, i, arena);
		MPK_TRY_ALLOC(path, err);
		consider(best, path, by, archive, i);
	}
	return MPK_OK;
}

/* The other archives of the command line, once somebody asks. One that does not read has nothing: its own check says
 * why. */
static enum mpk_code open_archives(struct minspect_siblings *s, struct mpk_error *err)
{
	s->is_open = true;
	s->archives = calloc(s->options->file_count + 1, sizeof *s->archives);
	MPK_TRY_ALLOC(s->archives, err);
	for (size_t i = 0; i < s->options->file_count; i++) {
		struct minspect_file *f = &s->archives[s->archive_count];
		const char *name = s->options->files[i];
		enum mpk_code code;

		if ((s->archive && strcmp(s->archive->name, name) == 0) || !minspect_is_zip(name))
			continue;
		code = minspect_file_open(name, f, NULL);
		s->archive_count++;
		if (code == MPK_E_NOMEM)
			return mpk_fail_nomem(err);
	}
	return MPK_OK;
}

static enum mpk_code unpack(struct minspect_siblings *s, const struct candidate *c,
			    struct mpk_span *bytes, struct mpk_error *err)
{
	const struct mpk_zip_member *m = &c->archive->libraries[c->member];
	struct mpk_error problem = { 0 };
	struct minspect_file *f;

	for (size_t i = 0; i < s->unpacked_count; i++)
		if (strcmp(s->unpacked[i]->name, c->path) == 0) {
			*bytes = s->unpacked[i]->bytes;
			return MPK_OK;
		}
	MPK_TRY_ALLOC(mpk_vec_reserve(&s->unpacked, &s->unpacked_cap, s->unpacked_count + 1,
				      sizeof *s->unpacked),
		      err);
	f = mpk_arena_alloc(&s->arena, sizeof *f);
	MPK_TRY_ALLOC(f, err);
	*f = (struct minspect_file){ .map = c->archive->map,
				     .borrows_map = true,
				     .bytes = c->archive->map.bytes,
				     .in_zip = true };
	f->name = mpk_arena_text(&s->arena, mpk_span_str(c->path));
	MPK_TRY_ALLOC(f->name, err);
	if (minspect_zip_open(f, m, &problem) != MPK_OK)
		f->bytes = (struct mpk_span){ 0 };
	s->unpacked[s->unpacked_count++] = f;
	*bytes = f->bytes;
	return problem.code == MPK_E_NOMEM ? mpk_fail_nomem(err) : MPK_OK;
}

static enum mpk_code find_sibling(void *arg, const char *name, const char *by,
				  struct mpk_arena *arena, const char **path,
				  struct mpk_span *bytes, struct mpk_error *err)
{
	struct minspect_siblings *s = arg;
	const struct minspect_options *o = s->options;
	struct candidate best = { 0 };

	if (s->archive)
		MPK_TRY(consider_members(&best, s->archive, name, by, arena, err));
	if (!s->is_open)
		MPK_TRY(open_archives(s, err));
	for (size_t i = 0; i < s->archive_count; i++)
		MPK_TRY(consider_members(&best, &s->archives[i], name, by, arena, err));
	for (size_t i = 0; i < o->file_count; i++)
		if (o->folder_lens && o->folder_lens[i] &&
		    is_named(mpk_span_str(o->files[i]), name))
			consider(&best, o->files[i], by, NULL, 0);
	if (!best.path)
		return MPK_OK;
	if (best.archive)
		MPK_TRY(unpack(s, &best, bytes, err));
	if (!best.archive || bytes->len)
		*path = best.path;
	return MPK_OK;
}

void minspect_siblings_init(struct minspect_siblings *s, const struct minspect_options *o,
			    struct minspect_places *places)
{
	*s = (struct minspect_siblings){ .options = o };
	for (size_t i = 0; i < places->count; i++) {
		places->items[i].search.sibling = find_sibling;
		places->items[i].search.sibling_arg = s;
	}
	places->siblings = s;
}

/* What was unpacked of another archive goes with it; others may come. */
void minspect_siblings_enter(struct minspect_siblings *s, const struct minspect_file *archive)
{
	if (s->archive == archive)
		return;
	minspect_siblings_fini(s);
	s->archive = archive;
}

void minspect_siblings_fini(struct minspect_siblings *s)
{
	for (size_t i = 0; i < s->unpacked_count; i++)
		minspect_file_close(s->unpacked[i]);
	for (size_t i = 0; i < s->archive_count; i++)
		minspect_file_close(&s->archives[i]);
	free(s->unpacked);
	free(s->archives);
	mpk_arena_fini(&s->arena);
	*s = (struct minspect_siblings){ .options = s->options };
}
