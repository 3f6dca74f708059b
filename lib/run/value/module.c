/* SPDX-License-Identifier: Apache-2.0 */
/* module.c - the walk over imports: a module may be reached over several importers and is asked
 * once, so that a diamond of n layers costs n questions and not 2^n */
#include "value/module.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/vec.h"

struct mpk_module *mpk_module_hold(struct mpk_module *m)
{
	if (m)
		(void)atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
	return m;
}

/* A chain of imports may be as long as a file is large: what m held is dropped in a loop, not
 * by recursion. */
void mpk_module_drop(struct mpk_module *m)
{
	struct mpk_module *pending = NULL;

	for (;;) {
		if (m && atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) == 1) {
			m->next_pending = pending;
			pending = m;
		}
		while (pending && !pending->import_count) {
			struct mpk_module *dead = pending;

			pending = dead->next_pending;
			free(dead->imports);
			dead->destroy(dead);
		}
		if (!pending)
			return;
		m = pending->imports[--pending->import_count];
	}
}

enum mpk_code mpk_module_set_imports(struct mpk_module *m, struct mpk_module *const *imports,
				     size_t count, struct mpk_error *err)
{
	m->imports = malloc((count ? count : 1) * sizeof(struct mpk_module *));
	MPK_TRY_ALLOC(m->imports, err);
	for (size_t i = 0; i < count; i++)
		m->imports[i] = mpk_module_hold(imports[i]);
	m->import_count = count;
	return MPK_OK;
}

/* --- the walk ------------------------------------------------------------------------ */

/* `seen` is a hash table of addresses, open addressing, at most half full. */
struct walk {
	struct mpk_module **stack, **seen;
	size_t depth, stack_cap, seen_count, seen_cap;
};

static void walk_fini(struct walk *w)
{
	free(w->stack);
	free(w->seen);
}

static struct mpk_module **value_module_slot_of(struct mpk_module **table, size_t cap,
						struct mpk_module *m)
{
	/* blocks of malloc are 16 bytes apart: the low bits say nothing */
	size_t at = ((uintptr_t)m >> 4) * UINT64_C(0x9e3779b97f4a7c15) & (cap - 1);

	while (table[at] && table[at] != m)
		at = (at + 1) & (cap - 1);
	return &table[at];
}

static bool value_module_make_room(struct walk *w)
{
	size_t cap = w->seen_cap ? 2 * w->seen_cap : 64;
	struct mpk_module **table = calloc(cap, sizeof(struct mpk_module *));

	if (!table)
		return false;
	for (size_t i = 0; i < w->seen_cap; i++)
		if (w->seen[i])
			*value_module_slot_of(table, cap, w->seen[i]) = w->seen[i];
	free(w->seen);
	w->seen = table;
	w->seen_cap = cap;
	return true;
}

/* Sets *is_new when m was not met before. */
static enum mpk_code meet(struct walk *w, struct mpk_module *m, bool *is_new, struct mpk_error *err)
{
	struct mpk_module **slot;

	if (2 * w->seen_count >= w->seen_cap && !value_module_make_room(w))
		return mpk_fail_nomem(err);
	slot = value_module_slot_of(w->seen, w->seen_cap, m);
	*is_new = !*slot;
	w->seen_count += *is_new;
	*slot = m;
	return MPK_OK;
}

/* In reverse, so that the first import is taken first. */
static enum mpk_code push_imports(struct walk *w, const struct mpk_module *m, struct mpk_error *err)
{
	MPK_TRY_ALLOC(mpk_vec_reserve(&w->stack, &w->stack_cap, w->depth + m->import_count + 1,
				      sizeof(struct mpk_module *)),
		      err);
	for (size_t i = m->import_count; i-- > 0;)
		w->stack[w->depth++] = m->imports[i];
	return MPK_OK;
}

/* A failure is remembered, not returned: another module may have the function. Without memory nobody knows who
 * has it, so that ends the search. */
static enum mpk_code ask(struct mpk_module *m, const char *name, struct mpk_function **out,
			 struct mpk_module_search *search, struct mpk_error *err)
{
	struct mpk_error why = { 0 };

	*out = NULL;
	if (!m->find) {
		if (!search->unloadable)
			search->unloadable = m;
		return MPK_OK;
	}
	if (m->find(m, name, out, &why) == MPK_OK)
		return MPK_OK;
	if (why.code == MPK_E_NOMEM)
		return mpk_fail_nomem(err);
	if (search->failure.code == MPK_OK)
		search->failure = why;
	return MPK_OK;
}

static enum mpk_code value_module_walk(struct mpk_module *from, const char *name,
				       struct mpk_function **out, struct mpk_module_search *search,
				       struct mpk_error *err)
{
	MPK_CLEANUP(walk_fini) struct walk w = { 0 };

	*out = NULL;
	MPK_TRY(push_imports(&w, from, err));
	while (w.depth && !*out) {
		struct mpk_module *m = w.stack[--w.depth];
		bool is_new;

		MPK_TRY(meet(&w, m, &is_new, err));
		if (!is_new)
			continue;
		MPK_TRY(ask(m, name, out, search, err));
		MPK_TRY(push_imports(&w, m, err));
	}
	return MPK_OK;
}

enum mpk_code mpk_module_find_import(struct mpk_module *m, const char *name,
				     struct mpk_function **out, struct mpk_module_search *search,
				     struct mpk_error *err)
{
	return value_module_walk(m, name, out, search, err);
}

enum mpk_code mpk_module_find(struct mpk_module *m, const char *name, struct mpk_function **out,
			      struct mpk_module_search *search, struct mpk_error *err)
{
	MPK_TRY(ask(m, name, out, search, err));
	return *out ? MPK_OK : value_module_walk(m, name, out, search, err);
}
