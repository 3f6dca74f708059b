/* SPDX-License-Identifier: Apache-2.0 */
#include "executor/plan/internal/origin.h"

#include <stdlib.h>

static struct mpk_plan_known *entry_of(struct mpk_plan_known *table, size_t cap,
				       const struct mpk_storage *s)
{
	size_t at = ((uintptr_t)s >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 20 & (cap - 1);

	while (table[at].storage && table[at].storage != s)
		at = (at + 1) & (cap - 1);
	return &table[at];
}

static bool grow(struct mpk_plan_origins *o)
{
	size_t cap = o->cap ? 2 * o->cap : 64;
	struct mpk_plan_known *table = calloc(cap, sizeof *table);

	if (!table)
		return false;
	for (size_t i = 0; i < o->cap; i++)
		if (o->items[i].storage)
			*entry_of(table, cap, o->items[i].storage) = o->items[i];
	free(o->items);
	o->items = table;
	o->cap = cap;
	return true;
}

bool mpk_plan_origins_put(struct mpk_plan_origins *o, const struct mpk_plan_known *known)
{
	struct mpk_plan_known *e;

	if (2 * o->count >= o->cap && !grow(o))
		return false;
	e = entry_of(o->items, o->cap, known->storage);
	o->count += !e->storage;
	*e = *known;
	return true;
}

struct mpk_plan_known mpk_plan_origins_get(const struct mpk_plan_origins *o,
					   const struct mpk_storage *storage)
{
	if (!storage || !o->cap)
		return (struct mpk_plan_known){ 0 };
	return *entry_of(o->items, o->cap, storage);
}

void mpk_plan_origins_fini(struct mpk_plan_origins *o)
{
	free(o->items);
}
