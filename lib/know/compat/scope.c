/* SPDX-License-Identifier: Apache-2.0 */
#include "compat/scope.h"

#include <string.h>

#include "io/path.h"

const struct mpk_dso *mpk_scope_dso(const struct mpk_scope *scope, const char *name)
{
	for (const struct mpk_dso *d = scope->first; d; d = d->next)
		if ((d->soname && strcmp(d->soname, name) == 0) ||
		    strcmp(mpk_path_name(d->path), name) == 0)
			return d;
	return NULL;
}

bool mpk_scope_defines(const struct mpk_scope *scope, const char *symbol)
{
	for (const struct mpk_dso *d = scope->first; d; d = d->next)
		if (mpk_dso_defines(d, symbol))
			return true;
	return false;
}

static bool is_assumed(const struct mpk_scope *scope, const char *name)
{
	for (size_t i = 0; i < scope->assumed_count; i++)
		if (strcmp(scope->assumed[i], name) == 0)
			return true;
	return strncmp(name, "ld-linux", 8) == 0; /* whatever loads libraries is there */
}

/* NULL in *out: it is missing, or does not read. */
static enum mpk_code open_one(struct mpk_scope *scope, const char *name, struct mpk_dso **out,
			      struct mpk_error *err)
{
	struct mpk_error problem = { 0 };
	struct mpk_dso *dso;
	const char *path;

	*out = NULL;
	MPK_TRY(mpk_search_find(scope->search, name, scope->like, scope->arena, &path, err));
	if (!path)
		return MPK_OK;
	dso = mpk_arena_alloc(scope->arena, sizeof *dso);
	MPK_TRY_ALLOC(dso, err);
	if (mpk_dso_read(path, scope->arena, dso, &problem) == MPK_OK)
		*out = dso;
	return problem.code == MPK_E_NOMEM ? mpk_fail_nomem(err) : MPK_OK;
}

static enum mpk_code need_one(struct mpk_scope *scope, const char *name,
			      enum mpk_scope_state *state, struct mpk_error *err)
{
	struct mpk_dso *dso;

	*state = MPK_SCOPE_FOUND;
	if (mpk_scope_dso(scope, name) || scope->count >= MPK_SCOPE_MAX)
		return MPK_OK;
	if (scope->searched == MPK_SCOPE_SEARCHES) {
		*state = MPK_SCOPE_ASSUMED;
		scope->guessed = true;
		return MPK_OK;
	}
	scope->searched++;
	MPK_TRY(open_one(scope, name, &dso, err));
	if (!dso) {
		*state = is_assumed(scope, name) ? MPK_SCOPE_ASSUMED : MPK_SCOPE_MISSING;
		scope->guessed |= *state == MPK_SCOPE_ASSUMED;
		return MPK_OK;
	}
	if (scope->last)
		scope->last->next = dso;
	else
		scope->first = dso;
	scope->last = dso;
	scope->count++;
	return MPK_OK;
}

enum mpk_code mpk_scope_need(struct mpk_scope *scope, const char *name, enum mpk_scope_state *state,
			     struct mpk_scope_gap *gap, struct mpk_error *err)
{
	const struct mpk_dso *before = scope->last, *d;
	enum mpk_scope_state each;

	MPK_TRY(need_one(scope, name, state, err));
	*gap = (struct mpk_scope_gap){ .name = name };
	/* what was read is appended, so that one pass reaches the needs of needs */
	for (d = before ? before->next : scope->first; d; d = d->next) {
		for (size_t i = 0; i < d->needed_count; i++) {
			MPK_TRY(need_one(scope, d->needed[i], &each, err));
			if (each != MPK_SCOPE_MISSING || *state == MPK_SCOPE_MISSING)
				continue;
			*state = MPK_SCOPE_MISSING;
			*gap = (struct mpk_scope_gap){ d->needed[i], d };
		}
	}
	return MPK_OK;
}

void mpk_scope_fini(struct mpk_scope *scope)
{
	for (struct mpk_dso *d = scope->first; d; d = d->next)
		mpk_dso_close(d);
	scope->first = scope->last = NULL;
	scope->count = 0;
}
