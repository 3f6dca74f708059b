/* SPDX-License-Identifier: Apache-2.0 */
/* order.h - elements in order: keys that compare as unsigned integers, whatever their type */
#ifndef MPK_EXECUTOR_CONTRIB_ORDER_H
#define MPK_EXECUTOR_CONTRIB_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dtype/dtype.h"

/* An element: its place in the list decides where keys are equal. */
struct mpk_order_item {
	uint64_t key, index;
};

/* mpk_order_key - of an element of a type that has numbers: a < b exactly if key(a) < key(b), or the
 * other way round when descending; -0 and 0 have one key, NaN the largest in both directions */
uint64_t mpk_order_key(struct mpk_dtype t, const void *element, bool descending);

/* mpk_order_sort - by key, then by index
 * @items   in the order of their indices
 * @scratch room for as many */
void mpk_order_sort(struct mpk_order_item *items, struct mpk_order_item *scratch, size_t count);

/* mpk_order_first - make the first `some` items those that sorting would put there, in order; the
 * others are undefined
 * @some    at most count */
void mpk_order_first(struct mpk_order_item *items, struct mpk_order_item *scratch, size_t count,
		     size_t some);

#endif
