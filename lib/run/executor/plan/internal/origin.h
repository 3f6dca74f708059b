/* SPDX-License-Identifier: Apache-2.0 */
/* origin.h - where the storages of a recorded call came from; for record.c
 *
 * Storages are told apart by their address. One that was freed and given out again is a new one,
 * because its allocation was recorded, too.
 */
#ifndef MPK_EXECUTOR_PLAN_INTERNAL_ORIGIN_H
#define MPK_EXECUTOR_PLAN_INTERNAL_ORIGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "value/storage.h"

/* What is known of a storage in this call. */
enum mpk_plan_origin {
	MPK_ORIGIN_UNKNOWN,  /* memory that a function brought itself */
	MPK_ORIGIN_INPUT,    /* index: which tensor among the arguments */
	MPK_ORIGIN_CONSTANT, /* stays, with its content, beyond the call */
	MPK_ORIGIN_STORAGE,  /* allocated by the call; index: of the plan's storages */
	MPK_ORIGIN_HEAP,     /* symbolic extents, which the call changes as it goes */
	MPK_ORIGIN_KNOWN,    /* its content follows from the key and is final */
};

struct mpk_plan_known {
	const struct mpk_storage *storage; /* NULL: a free entry */
	enum mpk_plan_origin origin;
	uint32_t index;
};

/* A hash table by address. Zero-initialise; mpk_plan_origins_fini. */
struct mpk_plan_origins {
	struct mpk_plan_known *items;
	size_t count, cap;
};

/* mpk_plan_origins_put - what is known of a storage from now on; false when memory is out */
bool mpk_plan_origins_put(struct mpk_plan_origins *origins, const struct mpk_plan_known *known);

/* mpk_plan_origins_get - what is known of a storage; MPK_ORIGIN_UNKNOWN also for NULL */
struct mpk_plan_known mpk_plan_origins_get(const struct mpk_plan_origins *origins,
					   const struct mpk_storage *storage);

void mpk_plan_origins_fini(struct mpk_plan_origins *origins);

#endif
