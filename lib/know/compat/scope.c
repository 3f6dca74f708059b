/* SPDX-License-Identifier: Apache-2.0 */
/* scope.c - which libraries a process has after dlopen, and where they are found
 *
 * The rules are those of ld.so(8): first the directories of DT_RPATH, then those of the caller,
 * those of DT_RUNPATH, /etc/ld.so.cache, and the built-in ones. Nothing is loaded, because that
 * would run constructors of unknown libraries: files are opened and read. A file for another
 * machine, class or byte order is skipped, as the dynamic linker skips it.
 *
 * Each library is read once and kept in a list, in the order in which dlopen would load it. The
 * libraries that it needs are appended, so the walk is breadth first and ends when no new name
 * appears. */
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
#include "compat/dso.h"
#include "elf/linking.h"
#include "elf/symbols.h"
#include "io/mapping.h"
#include "io/path.h"

/* --- The references that the dynamic linker cannot bind when it relocates a library and the
 * libraries loaded for it.
 *
 * The steps are those of glibc: elf/dl-version.c compares versions, elf/dl-reloc.c walks the
 * relocations, and elf/dl-lookup.c looks up their symbols in everything that the process has
 * loaded. So it matters whether any library has a definition, not which is the first. A symbol that
 * is in no relocation (std::ios_base_library_init, which GCC 13 adds) is not looked up. */

/* Which relocations refer to a symbol. */
enum { EAGER = 1, LAZY = 2 };

struct binding {
	const struct mpk_scope *scope;
	uint8_t *marks; /* marks of the symbols of a library */
	size_t mark_count;
	bool binds_now;
	struct mpk_unbound *items;
	size_t count, cap;
};

static bool dso_is(const struct mpk_dso *d, const char *name);

static void bind_take_relocation(void *arg, const struct mpk_relocation *r)
{
	struct binding *b = arg;

	if (r->symbol && r->symbol < b->mark_count)
		b->marks[r->symbol] |= r->is_lazy && !b->binds_now ? LAZY : EAGER;
}

/* Whether a library was linked with versions and has none now. glibc accepts it, unless the
 * reference names this library: then it ends the process (check_match in elf/dl-lookup.c). */
static bool has_lost_version(const struct mpk_dso *d, const char *name,
			     const struct mpk_version *version)
{
	return version && version->file && !d->versions.symbols_off && dso_is(d, version->file) &&
	       mpk_dso_defines(d, name);
}

enum bound { BOUND, UNBOUND, LOST };

/* The libraries of the process come first, as in the dynamic linker's search. */
static enum bound find_definition(const struct mpk_scope *scope, const char *name,
				  const struct mpk_version *version)
{
	bool is_file_next = true;

	for (const struct mpk_dso *d = scope->first; d || is_file_next; d = d ? d->next : NULL) {
		if (is_file_next && (!d || d->is_new)) {
			is_file_next = false;
			if (scope->file && mpk_dso_binds(scope->file, name, version))
				return BOUND;
			if (!d)
				return UNBOUND;
		}
		if (has_lost_version(d, name, version))
			return LOST;
		if (mpk_dso_binds(d, name, version))
			return BOUND;
	}
	return UNBOUND;
}

/* Hidden symbols belong to the library itself and are not looked up. */
static bool is_looked_for(const struct mpk_symbol *s)
{
	return !s->defined && !s->common && s->name[0] && s->bind != STB_LOCAL &&
	       s->visibility != STV_HIDDEN && s->visibility != STV_INTERNAL;
}

static enum mpk_code bind_one(struct binding *b, const struct mpk_dso *d, struct mpk_error *err)
{
	struct mpk_symbol s;

	/* If the tables do not read, which other checks report, all undefined symbols count. */
	struct mpk_error problem = { 0 };
	struct mpk_linking l;
	enum mpk_code code = mpk_linking_open(&d->elf, &l, &problem);

	b->mark_count = d->table.count;
	if (b->mark_count)
		memset(b->marks, 0, b->mark_count);
	if (code == MPK_OK) {
		b->binds_now = mpk_linking_binds_now(&l);
		code = mpk_linking_relocations(&l, bind_take_relocation, b, &problem);
	}
	if (code == MPK_E_NOMEM)
		return mpk_fail_nomem(err);
	if (code != MPK_OK && b->mark_count)
		memset(b->marks, EAGER, b->mark_count);

	for (size_t i = 1; i < d->table.count; i++) {
		const struct mpk_version *version;
		enum bound found;
		unsigned index;
		bool is_hidden;

		if (!b->marks[i] || mpk_symtab_get(&d->table, i, &s, NULL) != MPK_OK ||
		    !is_looked_for(&s))
			continue;
		version = mpk_versions_of(&d->versions, i, &index, &is_hidden);
		found = find_definition(b->scope, s.name, version);
		if (found == BOUND || (found == UNBOUND && s.bind == STB_WEAK))
			continue;
		MPK_TRY_ALLOC(MPK_VEC_ROOM(b->items, b->count, b->cap), err);
		b->items[b->count++] =
			(struct mpk_unbound){ s.name, version, d, !(b->marks[i] & EAGER) };
	}
	return MPK_OK;
}

static enum mpk_code bind_with(struct binding *b, const struct mpk_dso *d, struct mpk_error *err)
{
	enum mpk_code code;

	if (!d->is_new)
		return MPK_OK;
	b->marks = malloc(d->table.count + 1);
	MPK_TRY_ALLOC(b->marks, err);
	code = bind_one(b, d, err);
	free(b->marks);
	return code;
}

enum mpk_code mpk_scope_bind(const struct mpk_scope *scope, const struct mpk_unbound **out,
			     size_t *count, struct mpk_error *err)
{
	struct binding b = { .scope = scope };
	enum mpk_code code = scope->file ? bind_with(&b, scope->file, err) : MPK_OK;

	for (const struct mpk_dso *d = scope->first; d && code == MPK_OK; d = d->next)
		code = bind_with(&b, d, err);
	if (code == MPK_OK) {
		*out = mpk_arena_keep(scope->arena, b.items, b.count, sizeof *b.items);
		*count = b.count;
		code = *out ? MPK_OK : mpk_fail_nomem(err);
	}
	free(b.items);
	return code;
}

/* --- versions ------------------------------------------------------------------------------- */

struct comparison {
	struct mpk_unversioned *items;
	size_t count, cap;
};

/* A library has few version names, so the list is searched. */
static bool has_version(const struct mpk_dso *d, const char *version)
{
	for (size_t i = 0; i < d->versions.count; i++)
		if (d->versions.items[i].name && !d->versions.items[i].file &&
		    strcmp(d->versions.items[i].name, version) == 0)
			return true;
	return d->soname && strcmp(d->soname, version) == 0;
}

static enum mpk_code compare_one(const struct mpk_scope *scope, const struct mpk_dso *d,
				 struct comparison *c, struct mpk_error *err)
{
	struct mpk_error problem = { 0 };
	const struct mpk_version_need *needs;
	size_t count;

	if (!d->is_new)
		return MPK_OK;
	if (mpk_versions_needed(&d->elf, scope->arena, &needs, &count, &problem) != MPK_OK)
		return problem.code == MPK_E_NOMEM ? mpk_fail_nomem(err) : MPK_OK;
	for (size_t i = 0; i < count; i++) {
		const struct mpk_dso *of = mpk_scope_dso(scope, needs[i].file);

		if (needs[i].weak || !of || !of->versions.defines ||
		    has_version(of, needs[i].version))
			continue;
		MPK_TRY_ALLOC(MPK_VEC_ROOM(c->items, c->count, c->cap), err);
		c->items[c->count++] = (struct mpk_unversioned){ needs[i].version, of, d };
	}
	return MPK_OK;
}

enum mpk_code mpk_scope_versions(const struct mpk_scope *scope, const struct mpk_unversioned **out,
				 size_t *count, struct mpk_error *err)
{
	struct comparison c = { 0 };
	enum mpk_code code = scope->file ? compare_one(scope, scope->file, &c, err) : MPK_OK;

	for (const struct mpk_dso *d = scope->first; d && code == MPK_OK; d = d->next)
		code = compare_one(scope, d, &c, err);
	if (code == MPK_OK) {
		*out = mpk_arena_keep(scope->arena, c.items, c.count, sizeof *c.items);
		*count = c.count;
		code = *out ? MPK_OK : mpk_fail_nomem(err);
	}
	free(c.items);
	return code;
}

#define CACHE "/etc/ld.so.cache"
#define CACHE_MAGIC "glibc-ld.so.cache1.1"

/* The header and the rows of a cache, as in glibc's sysdeps/generic/dl-cache.h. */
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

/* Reads only the first 20 bytes, up to e_machine, whose offset is the same in both classes. */
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

/* A name that is too long for a path is skipped: the dynamic linker cannot open it, either. */
static enum mpk_code try_dir(const char *dir, const char *name, const GElf_Ehdr *like,
			     struct mpk_arena *arena, const char **out, struct mpk_error *err)
{
	char path[PATH_MAX]; /* a longer path cannot be opened */
	bool ends = *dir && dir[strlen(dir) - 1] == '/';
	int len = snprintf(path, sizeof path, "%s%s%s", dir, ends ? "" : "/", name);

	if (len < 0 || (size_t)len >= sizeof path || !scope_fits(path, like))
		return MPK_OK;
	*out = mpk_arena_text(arena, mpk_span_str(path));
	return *out ? MPK_OK : mpk_fail_nomem(err);
}

/* Returns a string of the cache, whose offset counts from the header; NULL: it has no end. */
static const char *cache_text(struct mpk_span cache, const uint8_t *row, size_t field)
{
	return mpk_elf_string(cache, mpk_load_u32(row + field));
}

/* The rows of the cache are sorted by name. They are searched in order, because the file's order is
 * not trusted. */
static enum mpk_code search_cache(struct mpk_span file, const char *name, const GElf_Ehdr *like,
				  struct mpk_arena *arena, const char **out, struct mpk_error *err)
{
	/* an old cache comes before the newer one in the file */
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

/* musl's dynamic linker is also the C library, and these names mean itself. Returns NULL for other
 * names. */
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

/* musl has no cache, and its own names come first. The built-in directories come last, as in ld.so. */
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

/* --- DT_RPATH and DT_RUNPATH ----------------------------------------------------------------- */

/* Returns a directory of the list, with $ORIGIN or ${ORIGIN} at its beginning replaced. */
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
	MPK_TRY_ARRAY(dirs, arena, most, err);
	*out = dirs;

	/* Appends the directories of a list that exist, each once. A file may name thousands that do not
	 * exist, or one in many spellings, and every library would be searched in all of them. */
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

/* Searches for a library. DT_RPATH applies to the library that has it and to all that it loads,
 * DT_RUNPATH only to the library that has it.
 * @by      the library that needs it; NULL: the process */
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
	if (strchr(name, '/')) { /* a path, which is not searched (ld.so(8)) */
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

/* --- the libraries that are loaded ----------------------------------------------------------- */

/* Whether a library is the one of this name: by DT_SONAME, or by the name under which it was found,
 * which a later DT_NEEDED is compared with, too. */
static bool dso_is(const struct mpk_dso *d, const char *name)
{
	return (d->soname && strcmp(d->soname, name) == 0) ||
	       (d->name && strcmp(d->name, name) == 0) || strcmp(mpk_path_name(d->path), name) == 0;
}

const struct mpk_dso *mpk_scope_dso(const struct mpk_scope *scope, const char *name)
{
	for (const struct mpk_dso *d = scope->first; d; d = d->next)
		if (dso_is(d, name))
			return d;
	return scope->file && dso_is(scope->file, name) ? scope->file : NULL;
}

static bool is_assumed(const struct mpk_scope *scope, const char *name)
{
	for (size_t i = 0; i < scope->assumed_count; i++)
		if (strcmp(scope->assumed[i], name) == 0)
			return true;
	return strncmp(name, "ld-linux", 8) == 0; /* the dynamic linker itself is always loaded */
}

/* *out is NULL if the library is missing or does not read. */
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

/* Beyond the limits a name counts as found or assumed, so that a hostile library cannot keep the
 * search running. */
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

/* Libraries that were read are appended to the list, so one pass reaches all indirect needs.
 * @from    the first library whose needs are searched
 * @gap     receives the first missing library, if its name is NULL
 * @keeps   whether all missing ones are listed in the scope */
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
			MPK_TRY_ALLOC(MPK_VEC_ROOM(scope->missing, scope->missing_count,
						   scope->missing_cap),
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
