/* SPDX-License-Identifier: Apache-2.0 */
/* place.c - which slot each storage of a recording lies in, by lifetimes */
#include <stdlib.h>
#include <string.h>

#include "executor/plan/internal/inside.h"

static int larger_first(const void *a, const void *b)
{
	const struct mpk_plan_storage *const *x = a, *const *y = b;

	if ((*x)->bytes != (*y)->bytes)
		return (*x)->bytes > (*y)->bytes ? -1 : 1;
	return (*x > *y) - (*x < *y); /* in the order of their allocation */
}

static bool overlaps(const struct mpk_plan_storage *a, const struct mpk_plan_storage *b)
{
	return a->first <= b->last && b->first <= a->last;
}

/* The largest storages first, so that they share among themselves: a storage takes the first slot
 * that no storage alive at the same time has. */
static bool assign(struct mpk_plans *plans, struct mpk_plan_storage **order, size_t count,
		   bool *taken)
{
	for (size_t i = 0; i < count; i++) {
		size_t slot;

		memset(taken, 0, MPK_PLAN_SLOTS_MAX * sizeof *taken);
		for (size_t k = 0; k < i; k++)
			taken[order[k]->slot] |= overlaps(order[i], order[k]);
		if (!mpk_plans_slot(plans, order[i]->device, taken, &slot))
			return false;
		order[i]->slot = slot;
	}
	return true;
}

bool mpk_plans_place(struct mpk_plans *plans, struct mpk_recording *r)
{
	struct mpk_plan_storage **order =
		calloc(r->storage_count + 1, sizeof(struct mpk_plan_storage *));
	bool *taken = calloc(MPK_PLAN_SLOTS_MAX, sizeof *taken);
	size_t count = 0;
	bool fits = order && taken;

	for (size_t i = 0; fits && i < r->storage_count; i++)
		if (!r->storages[i].is_result && r->storages[i].first != UINT32_MAX)
			order[count++] = &r->storages[i];
	if (fits) {
		qsort(order, count, sizeof(struct mpk_plan_storage *), larger_first);
		fits = assign(plans, order, count, taken);
	}
	free(taken);
	free(order);
	return fits;
}
