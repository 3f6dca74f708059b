/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - the plans of one machine: by key, and the slots that they share */
#include "executor/plan/internal/inside.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

struct mpk_plans *mpk_plans_create(const struct mpk_plan_places *places)
{
	struct mpk_plans *plans = calloc(1, sizeof *plans);

	if (plans)
		plans->places = *places;
	return plans;
}

void mpk_plans_destroy(struct mpk_plans *plans)
{
	if (!plans)
		return;
	for (size_t i = 0; i < MPK_PLANS_MAX; i++)
		mpk_plan_free(plans, plans->items[i]);
	for (size_t i = 0; i < plans->slot_count; i++)
		mpk_storage_drop(plans->slots[i].storage);
	free(plans->slots);
	mpk_plan_key_fini(&plans->key);
	free(plans);
}

/* --- by key -------------------------------------------------------------------------------- */

/* A plan may stand in one of a few places of its hash; the one used longest ago makes room. */
enum { WAYS = 4 };

static struct mpk_plan **set_of(struct mpk_plans *plans, uint64_t hash)
{
	return &plans->items[hash % (MPK_PLANS_MAX / WAYS) * WAYS];
}

/* Whether a key came before; remembers it. The same few places of its hash, the latest first, so that
 * keys which share a place do not put each other out in turn. */
static bool came_before(struct mpk_plans *plans, uint64_t hash)
{
	uint64_t *set = &plans->seen[hash % (MPK_PLANS_SEEN / WAYS) * WAYS];
	int at = 0;

	while (at < WAYS - 1 && set[at] != hash)
		at++;
	bool before = set[at] == hash;

	for (; at > 0; at--)
		set[at] = set[at - 1];
	set[0] = hash;
	return before;
}

struct mpk_plan *mpk_plan_find(struct mpk_plans *plans, size_t function,
			       const struct mpk_value *args, size_t count, bool *record)
{
	struct mpk_plan **set;

	*record = false;
	if (function < MPK_PLANS_FUNCTIONS && plans->unplannable >> function & 1)
		return NULL;
	if (!mpk_plan_key_make(&plans->key, function, args, count))
		return NULL;
	set = set_of(plans, plans->key.hash);
	for (int way = 0; way < WAYS; way++)
		if (set[way] && mpk_plan_key_equal(&set[way]->key, &plans->key)) {
			set[way]->used = ++plans->clock;
			return set[way];
		}
	*record = came_before(plans, plans->key.hash);
	return NULL;
}

void mpk_plans_add(struct mpk_plans *plans, struct mpk_plan *plan)
{
	struct mpk_plan **set = set_of(plans, plan->key.hash), **oldest = &set[0];

	for (int way = 0; way < WAYS && *oldest; way++)
		if (!set[way] || set[way]->used < (*oldest)->used)
			oldest = &set[way];
	plans->stats.kept += !*oldest;
	mpk_plan_free(plans, *oldest);
	*oldest = plan;
	plan->used = ++plans->clock;
	plans->stats.recorded++;
}

struct mpk_plan_stats mpk_plans_get_stats(const struct mpk_plans *plans)
{
	struct mpk_plan_stats stats = plans->stats;

	for (const struct mpk_plan_tape *t = plans->tapes; t; t = t->next)
		stats.tapes++;
	return stats;
}

/* --- slots --------------------------------------------------------------------------------- */

bool mpk_plans_slot(struct mpk_plans *plans, size_t device, const bool *taken, size_t *out)
{
	size_t i = 0;

	while (i < plans->slot_count && (taken[i] || plans->slots[i].device != device))
		i++;
	if (i == plans->slot_count) {
		if (i == MPK_PLAN_SLOTS_MAX ||
		    !mpk_vec_reserve(&plans->slots, &plans->slot_cap, i + 1, sizeof *plans->slots))
			return false;
		plans->slots[plans->slot_count++] = (struct mpk_plan_slot){ .device = device };
	}
	*out = i;
	return true;
}

enum mpk_code mpk_plans_fill_slot(struct mpk_plans *plans, size_t slot, uint64_t bytes,
				  struct mpk_error *err)
{
	struct mpk_plan_slot *s = &plans->slots[slot];

	if (s->storage && s->storage->bytes >= bytes &&
	    atomic_load_explicit(&s->storage->refs, memory_order_acquire) == 1)
		return MPK_OK; /* else a function kept a tensor of the call before */
	mpk_storage_drop(s->storage);
	s->storage = NULL;
	return mpk_allocator_storage(plans->places.allocators[s->device], bytes, &s->storage, err);
}
