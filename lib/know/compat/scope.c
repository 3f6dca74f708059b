/* SPDX-License-Identifier: Apache-2.0 */
/* scope.c - which libraries a process would have after dlopen, and where they would be found
 *
 * The rules are those of ld.so(8): the directories of DT_RPATH, those that are given, those of DT_RUNPATH, then
 * /etc/ld.so.cache, then those that are built in. Nothing is loaded, as that would run constructors
 * of strange libraries: files are opened and read. A candidate of another machine, class or byte
 * order is passed over, as the dynamic linker does.
 *
 * Each library is read once and kept in a list, in the order in which dlopen would load it; what it
 * needs is appended, so that the walk is breadth first and ends when no new name appears.
 */
#include "compat/dso.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cursor.h"
#include "base/strmap.h"
#include "base/vec.h"
#include "elf/symbols.h"
#include "io/mapping.h"
#include "io/path.h"

#define CACHE "/etc/ld.so.cache"
#define CACHE_MAGIC "glibc-ld.so.cache1.1"

/* A cache's header and rows, as glibc's sysdeps/generic/dl-cache.h lays them out. */
enum { CACHE_HEADER = 48, CACHE_ROW = 24, ROW_KEY = 4, ROW_VALUE = 8 };

static const char *const system_dirs[] = {
	"/lib64",
	"/usr/lib64",
	"/lib",
	"/usr/lib",
#if defined __x86_64__
	"/lib/x86_64-linux-gnu",
	"/usr/lib/x86_64-linux-gnu",
#elif defined __aarch64__
	"/lib/aarch64-linux-gnu",
	"/usr/lib/aarch64-linux-gnu",
#endif
	"/usr/local/lib",
};

/* Reads no more than the first 20 bytes: e_machine ends there, and it is at the same place in
 * both classes. */
static bool scope_fits(const char *path, const GElf_Ehdr *like)
{
	uint8_t head[20];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, head, sizeof head);
	(void)close(fd);
	if (n != sizeof head || memcmp(head, ELFMAG, SELFMAG) != 0 ||
	    head[EI_CLASS] != like->e_ident[EI_CLASS] || head[EI_DATA] != like->e_ident[EI_DATA])
		return false;
	return like->e_machine == (head[EI_DATA] == ELFDATA2MSB
					   ? (uint16_t)(head[18] << 8 | head[19])
					   : mpk_load_u16(head + 18));
}

/* A name that is too long for a path cannot be opened by the dynamic linker, either. */
static enum mpk_code try_dir(const char *dir, const char *name, const GElf_Ehdr *like,
			     struct mpk_arena *arena, const char **out, struct mpk_error *err)
{
	char path[PATH_MAX]; /* a longer one cannot be opened */
	bool ends = *dir && dir[strlen(dir) - 1] == '/';
	int len = snprintf(path, sizeof path, "%s%s%s", dir, ends ? "" : "/", name);

	if (len < 0 || (size_t)len >= sizeof path || !scope_fits(path, like))
		return MPK_OK;
	*out = mpk_arena_text(arena, mpk_span_str(path));
	return *out ? MPK_OK : mpk_fail_nomem(err);
}

/* A string of the cache, which counts from its header; NULL: it does not end. */
static const char *cache_text(struct mpk_span cache, const uint8_t *row, size_t field)
{
	return mpk_elf_string(cache, mpk_load_u32(row + field));
}

/* Rows of the cache are sorted by name for a binary search. A linear one needs no trust in that
 * order: the file is read as it is. */
static enum mpk_code search_cache(struct mpk_span file, const char *name, const GElf_Ehdr *like,
				  struct mpk_arena *arena, const char **out, struct mpk_error *err)
{
	/* old caches stand in front of the newer one */
	const uint8_t *begin = memmem(file.data, file.len, CACHE_MAGIC, strlen(CACHE_MAGIC));
	struct mpk_span cache;
	size_t rows;

	if (!begin)
		return MPK_OK;
	cache = mpk_span_of(begin, file.len - (size_t)(begin - file.data));
	if (cache.len < CACHE_HEADER)
		return MPK_OK;
	rows = mpk_load_u32(cache.data + strlen(CACHE_MAGIC));
	for (size_t i = 0; i < rows && i < (cache.len - CACHE_HEADER) / CACHE_ROW; i++) {
		const uint8_t *row = cache.data + CACHE_HEADER + i * CACHE_ROW;
		const char *key = cache_text(cache, row, ROW_KEY);
		const char *path = cache_text(cache, row, ROW_VALUE);

		if (!key || !path || strcmp(key, name) != 0 || !scope_fits(path, like))
			continue;
		*out = mpk_arena_text(arena, mpk_span_str(path));
		return *out ? MPK_OK : mpk_fail_nomem(err);
	}
	return MPK_OK;
}

/* musl's loader is the C library, too, and takes these names as its own. NULL: this is another one. */
static const char *own_library(const char *name)
{
#ifndef __GLIBC__
	static const char *const names[] = { "libc.",  "libpthread.", "librt.",  "libm.",
					     "libdl.", "libutil.",    "libxnet." };
	Dl_info info;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(names); i++)
		if (strncmp(name, names[i], strlen(names[i])) == 0)
			return dladdr(dlsym(RTLD_DEFAULT, "dladdr"), &info) &&
					       info.dli_fname[0] == '/'
				       ? info.dli_fname
				       : NULL;
#else
	(void)name;
#endif
	return NULL;
}

/* With musl there is no cache, and its own names come first. The built-in directories are last,
 * as in ld.so. */
static enum mpk_code search_system(const char *name, const GElf_Ehdr *like, struct mpk_arena *arena,
				   const char **out, struct mpk_error *err)
{
	struct mpk_mapping map = { .fd = -1 };
	enum mpk_code code = MPK_OK;
	const char *own = own_library(name);

	if (own && scope_fits(own, like)) {
		*out = mpk_arena_text(arena, mpk_span_str(own));
		return *out ? MPK_OK : mpk_fail_nomem(err);
	}
	if (mpk_mapping_open(CACHE, &map, NULL) == MPK_OK) {
		code = search_cache(map.bytes, name, like, arena, out, err);
		mpk_mapping_close(&map);
	}
	for (size_t i = 0; code == MPK_OK && !*out && i < MPK_ARRAY_COUNT(system_dirs); i++)
		code = try_dir(system_dirs[i], name, like, arena, out, err);
	return code;
}

/* A name with a slash is a path and is not searched for (ld.so(8)). */
enum mpk_code mpk_search_find(const struct mpk_search *search, const char *name,
			      const GElf_Ehdr *like, struct mpk_arena *arena, const char **out,
			      struct mpk_error *err)
{
	*out = NULL;
	if (strchr(name, '/')) {
		*out = scope_fits(name, like) ? name : NULL;
		return MPK_OK;
	}
	for (size_t i = 0; !*out && i < search->dir_count; i++)
		MPK_TRY(try_dir(search->dirs[i], name, like, arena, out, err));
	return *out || !search->system ? MPK_OK : search_system(name, like, arena, out, err);
}

/* --- DT_RPATH and DT_RUNPATH ----------------------------------------------------------------- */

/* One directory of the list, $ORIGIN or ${ORIGIN} at its beginning replaced. */
static char *expand(struct mpk_span dir, const char *path, struct mpk_arena *arena)
{
	static const char *const words[] = { "$ORIGIN", "${ORIGIN}" };
	const char *name = mpk_path_name(path);
	int origin = (int)(name - path) - (name - path > 1); /* without the last slash */

	for (size_t i = 0; i < MPK_ARRAY_COUNT(words); i++)
		if (mpk_span_starts(dir, words[i]))
			return mpk_arena_printf(arena, "%s%.*s%.*s", name == path ? "." : "",
						origin < 0 ? 0 : origin, path,
						(int)(dir.len - strlen(words[i])),
						(const char *)dir.data + strlen(words[i]));
	return mpk_arena_text(arena, dir);
}

static enum mpk_code list_dirs(const char *list, const char *path, struct mpk_arena *arena,
			       const char *const **out, size_t *count, struct mpk_error *err)
{
	const char **dirs;
	size_t most = 1;

	if (!list)
		return MPK_OK;
	for (const char *p = list; *p; p++)
		most += *p == ':';
	dirs = mpk_arena_array(arena, most, sizeof *dirs);
	MPK_TRY_ALLOC(dirs, err);
	*out = dirs;

	/* Appends what a list names: each directory that is there once, as a file may name
	 * thousands that are not, or one again and again in other words, and every name would be
	 * looked for in all of them. */
	MPK_CLEANUP(mpk_strmap_fini) struct mpk_strmap known = { 0 };

	for (size_t len, found; *list; list += len + (list[len] == ':')) {
		struct stat st;
		const char *dir, *id;
		int added;

		len = strcspn(list, ":");
		if (!len)
			continue;
		dir = expand(mpk_span_of(list, len), path, arena);
		MPK_TRY_ALLOC(dir, err);
		if (stat(dir, &st) != 0)
			continue;
		id = mpk_arena_printf(arena, "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
		MPK_TRY_ALLOC(id, err);
		added = mpk_strmap_put(&known, mpk_span_str(id), 0, &found);
		MPK_TRY_ALLOC(added >= 0, err);
		if (added)
			dirs[(*count)++] = dir;
	}
	return MPK_OK;
}

static enum mpk_code read_dirs(struct mpk_dso *d, struct mpk_arena *arena, struct mpk_error *err)
{
	if (d->is_searched)
		return MPK_OK;
	d->is_searched = true;
	MPK_TRY(list_dirs(d->rpath, d->path, arena, &d->rpaths, &d->rpath_count, err));
	return list_dirs(d->runpath, d->path, arena, &d->runpaths, &d->runpath_count, err);
}

static enum mpk_code try_dirs(const char *const *dirs, size_t count, const char *name,
			      const GElf_Ehdr *like, struct mpk_arena *arena, const char **out,
			      struct mpk_error *err)
{
	for (size_t i = 0; !*out && i < count; i++)
		MPK_TRY(try_dir(dirs[i], name, like, arena, out, err));
	return MPK_OK;
}

/* The folders of DT_RPATH are those of whoever was loaded for whom, those of DT_RUNPATH are for one library alone.
 * @by      NULL: the process */
static enum mpk_code find_for(struct mpk_scope *scope, struct mpk_dso *by, const char *name,
			      const char **out, struct mpk_span *bytes, struct mpk_error *err)
{
	const struct mpk_search *search = scope->search;
	const GElf_Ehdr *like = scope->like;
	struct mpk_arena *arena = scope->arena;

	*out = NULL;
	if (by)
		MPK_TRY(read_dirs(by, arena, err));
	if (by && name[0] == '$') {
		name = expand(mpk_span_str(name), by->path, arena);
		MPK_TRY_ALLOC(name, err);
	}
	if (strchr(name, '/')) {
		*out = scope_fits(name, like) ? name : NULL;
		return MPK_OK;
	}
	for (const struct mpk_dso *d = by; d && !by->runpath; d = d->by)
		if (!d->runpath)
			MPK_TRY(try_dirs(d->rpaths, d->rpath_count, name, like, arena, out, err));
	MPK_TRY(try_dirs(search->dirs, search->dir_count, name, like, arena, out, err));
	if (by)
		MPK_TRY(try_dirs(by->runpaths, by->runpath_count, name, like, arena, out, err));
	if (!*out && search->sibling)
		MPK_TRY(search->sibling(search->sibling_arg, name,
					by            ? by->path
					: scope->file ? scope->file->path
						      : "",
					arena, out, bytes, err));
	return *out || !search->system || (by && by->no_system)
		       ? MPK_OK
		       : search_system(name, like, arena, out, err);
}

/* --- what is loaded ------------------------------------------------------------------------- */

/* By DT_SONAME, or by the name that it was found by, which is what a second DT_NEEDED is compared with. */
bool mpk_dso_is(const struct mpk_dso *d, const char *name)
{
	return (d->soname && strcmp(d->soname, name) == 0) ||
	       (d->name && strcmp(d->name, name) == 0) || strcmp(mpk_path_name(d->path), name) == 0;
}

const struct mpk_dso *mpk_scope_dso(const struct mpk_scope *scope, const char *name)
{
	for (const struct mpk_dso *d = scope->first; d; d = d->next)
		if (mpk_dso_is(d, name))
			return d;
	return scope->file && mpk_dso_is(scope->file, name) ? scope->file : NULL;
}

static bool is_assumed(const struct mpk_scope *scope, const char *name)
{
	for (size_t i = 0; i < scope->assumed_count; i++)
		if (strcmp(scope->assumed[i], name) == 0)
			return true;
	return strncmp(name, "ld-linux", 8) == 0; /* whatever loads libraries is there */
}

/* NULL in *out: it is missing, or does not read. */
static enum mpk_code open_one(struct mpk_scope *scope, struct mpk_dso *by, const char *name,
			      struct mpk_dso **out, struct mpk_error *err)
{
	struct mpk_error problem = { 0 };
	struct mpk_span bytes = { 0 };
	struct mpk_dso *dso;
	const char *path;
	enum mpk_code code;

	*out = NULL;
	MPK_TRY(find_for(scope, by, name, &path, &bytes, err));
	if (!path)
		return MPK_OK;
	dso = mpk_arena_alloc(scope->arena, sizeof *dso);
	MPK_TRY_ALLOC(dso, err);
	code = bytes.len ? mpk_dso_of(bytes, 0, path, scope->arena, dso, &problem)
			 : mpk_dso_read(path, scope->arena, dso, &problem);
	if (code == MPK_OK)
		*out = dso;
	return problem.code == MPK_E_NOMEM ? mpk_fail_nomem(err) : MPK_OK;
}

/* Beyond the limits a name counts as found or assumed: a hostile library must not keep the
 * search going. */
static enum mpk_code need_one(struct mpk_scope *scope, struct mpk_dso *by, const char *name,
			      enum mpk_scope_state *state, struct mpk_error *err)
{
	struct mpk_dso *dso;

	*state = MPK_SCOPE_FOUND;
	if (mpk_scope_dso(scope, name) || scope->count >= MPK_SCOPE_MAX)
		return MPK_OK;
	for (size_t i = 0; i < scope->missing_count; i++)
		if (strcmp(scope->missing[i].name, name) == 0) {
			*state = MPK_SCOPE_MISSING;
			return MPK_OK;
		}
	if (scope->searched == MPK_SCOPE_SEARCHES) {
		*state = MPK_SCOPE_ASSUMED;
		scope->guessed = true;
		return MPK_OK;
	}
	scope->searched++;
	MPK_TRY(open_one(scope, by, name, &dso, err));
	if (!dso) {
		*state = is_assumed(scope, name) ? MPK_SCOPE_ASSUMED : MPK_SCOPE_MISSING;
		scope->guessed |= *state == MPK_SCOPE_ASSUMED;
		return MPK_OK;
	}
	dso->by = by;
	dso->name = name;
	dso->is_new = by && by->is_new;
	if (scope->last)
		scope->last->next = dso;
	else
		scope->first = dso;
	scope->last = dso;
	scope->count++;
	return MPK_OK;
}

/* What was read is appended, so that one pass reaches the needs of needs.
 * @from    the first of them
 * @gap     receives the first that is missing, when its name is NULL
 * @keeps   whether all are listed in the scope */
static enum mpk_code need_all(struct mpk_scope *scope, struct mpk_dso *from, bool keeps,
			      struct mpk_scope_gap *gap, struct mpk_error *err)
{
	enum mpk_scope_state state;

	for (struct mpk_dso *d = from; d; d = d == scope->file ? scope->first : d->next) {
		for (size_t i = 0; i < d->needed_count; i++) {
			size_t before = scope->searched;

			MPK_TRY(need_one(scope, d, d->needed[i], &state, err));
			if (state != MPK_SCOPE_MISSING)
				continue;
			if (!gap->name)
				*gap = (struct mpk_scope_gap){ d->needed[i], d };
			if (!keeps || before == scope->searched)
				continue;
			MPK_TRY_ALLOC(mpk_vec_reserve(&scope->missing, &scope->missing_cap,
						      scope->missing_count + 1,
						      sizeof *scope->missing),
				      err);
			scope->missing[scope->missing_count++] =
				(struct mpk_scope_gap){ d->needed[i], d };
		}
	}
	return MPK_OK;
}

enum mpk_code mpk_scope_need(struct mpk_scope *scope, const char *name, enum mpk_scope_state *state,
			     struct mpk_scope_gap *gap, struct mpk_error *err)
{
	struct mpk_dso *before = scope->last;
	struct mpk_scope_gap found = { 0 };

	MPK_TRY(need_one(scope, NULL, name, state, err));
	*gap = (struct mpk_scope_gap){ .name = name };
	if (*state == MPK_SCOPE_MISSING || scope->last == before)
		return MPK_OK;
	MPK_TRY(need_all(scope, before ? before->next : scope->first, false, &found, err));
	if (found.name) {
		*state = MPK_SCOPE_MISSING;
		*gap = found;
	}
	return MPK_OK;
}

enum mpk_code mpk_scope_load(struct mpk_scope *scope, struct mpk_dso *file, struct mpk_error *err)
{
	struct mpk_scope_gap ignored = { 0 };

	file->is_new = true;
	scope->file = file;
	return need_all(scope, file, true, &ignored, err);
}

void mpk_scope_fini(struct mpk_scope *scope)
{
	for (struct mpk_dso *d = scope->first; d; d = d->next)
		mpk_dso_close(d);
	free(scope->missing);
	scope->first = scope->last = NULL;
	scope->missing = NULL;
	scope->count = scope->missing_count = scope->missing_cap = 0;
}
