/* SPDX-License-Identifier: Apache-2.0 */
/* bind.c - what the dynamic linker does not find when it relocates a library and what was loaded for it
 *
 * By the steps of glibc: elf/dl-version.c compares versions, elf/dl-reloc.c goes through the relocations, and
 * elf/dl-lookup.c looks for their symbols. It looks in everything that the process has and that is loaded now, so
 * what counts is whether anything of it has a definition, not which is the first. Symbols that are in the table and
 * in no relocation (std::ios_base_library_init, which GCC 13 leaves there) are not looked for.
 */
#include "compat/dso.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "elf/linking.h"

/* Of each symbol what relocations want it. */
enum { EAGER = 1, LAZY = 2 };

struct binding {
	const struct mpk_scope *scope;
	uint8_t *marks; /* of the symbols of a library */
	size_t mark_count;
	bool binds_now;
	struct mpk_unbound *items;
	size_t count, cap;
};

static void bind_take_relocation(void *arg, const struct mpk_relocation *r)
{
	struct binding *b = arg;

	if (r->symbol && r->symbol < b->mark_count)
		b->marks[r->symbol] |= r->is_lazy && !b->binds_now ? LAZY : EAGER;
}

/* A library that has lost its versions is taken as it is, unless the reference names just it: there glibc ends the
 * process (check_match in elf/dl-lookup.c). */
static bool has_lost_version(const struct mpk_dso *d, const char *name,
			     const struct mpk_version *version)
{
	return version && version->file && !d->versions.symbols_off &&
	       mpk_dso_is(d, version->file) && mpk_dso_defines(d, name);
}

enum bound { BOUND, UNBOUND, LOST };

/* What the process has comes first, as in the dynamic linker's search. */
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

/* Hidden symbols are those of the library itself, which are not looked for. */
static bool is_looked_for(const struct mpk_symbol *s)
{
	return !s->defined && !s->common && s->name[0] && s->bind != STB_LOCAL &&
	       s->visibility != STV_HIDDEN && s->visibility != STV_INTERNAL;
}

static enum mpk_code bind_one(struct binding *b, const struct mpk_dso *d, struct mpk_error *err)
{
	struct mpk_symbol s;

	/* Of a library whose tables do not read, which other checks tell, all that is undefined. */
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
		MPK_TRY_ALLOC(mpk_vec_reserve(&b->items, &b->cap, b->count + 1, sizeof *b->items),
			      err);
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

/* Version names are few: a list is searched. */
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
		MPK_TRY_ALLOC(mpk_vec_reserve(&c->items, &c->cap, c->count + 1, sizeof *c->items),
			      err);
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
