/* SPDX-License-Identifier: Apache-2.0 */
/* names.c - the names that a launch function has: reporting those it has not, with what was meant */
#include <string.h>

#include "launch/internal/resolve.h"
#include "text/escape.h"

void mpk_resolve_finding(struct mpk_resolve *r, struct mpk_error *err)
{
	mpk_error_prefix(err, "function '%s': ", r->launch->name);
	mpk_error_at_file(err, r->manifest->path);
	mpk_report_add(r->report, MPK_ERROR, "launch-function", err);
}

void *mpk_resolve_array(struct mpk_resolve *r, size_t count, size_t size)
{
	void *p = mpk_arena_array(r->arena, count ? count : 1, size);

	if (!p)
		r->nomem = true;
	return p;
}

struct mpk_scan mpk_resolve_scan(const struct mpk_toml_str *m)
{
	/* integers of the manifest are kept as text and have no quote before them */
	bool quoted = m->len == 0 || strspn(m->text, "-0123456789") < m->len;

	return (struct mpk_scan){ .text = mpk_span_of(m->text, m->len),
				  .line = m->pos.line,
				  .column = m->pos.column + (quoted ? 1 : 0) };
}

/* False when a name in it is unknown (reported). */
bool mpk_resolve_names(struct mpk_resolve *r, const struct mpk_expr *e, struct mpk_pos pos)
{
	struct mpk_span names[64];
	/* 64 names are enough to find what was meant; a function that has more is a
	 * program's */
	size_t ignored, count = r->launch->var_count < 64 ? r->launch->var_count : 64;

	bool a = !e->a || mpk_resolve_names(r, e->a, pos),
	     b = !e->b || mpk_resolve_names(r, e->b, pos);

	if (e->op != MPK_EXPR_NAME || mpk_strmap_find(&r->vars, e->name, &ignored))
		return a && b;
	if (r->incomplete)
		return false;
	for (size_t i = 0; i < count; i++)
		names[i] = r->launch->vars[i].name;

	size_t near = mpk_closest(e->name, names, count);
	if (near < count)
		MPK_COMPLAIN(r, pos, "unknown name '%s'; did you mean '%s'?", MPK_QUOTE(e->name),
			     MPK_QUOTE(names[near]));
	else
		MPK_COMPLAIN(
			r, pos,
			"'%s' is neither an integer parameter nor a dimension of a parameter that is always there",
			MPK_QUOTE(e->name));
	return false;
}
