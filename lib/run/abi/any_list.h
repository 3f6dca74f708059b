/* SPDX-License-Identifier: Apache-2.0 */
/* any_list.h - lists of values that compiled functions of the Relax VM work on
 *
 * Their code names items by number alone and moves them through three functions of its loader,
 * so how a list looks is ours: cells of tvm-ffi, or values where the convention is the
 * legacy one.
 */
#ifndef MPK_ABI_ANY_LIST_H
#define MPK_ABI_ANY_LIST_H

#include "abi/convention.h"
#include "base/error.h"
#include "blob/blob.h"
#include "value/value.h"

struct mpk_any_list;

/* mpk_any_list_create - count items, all none; destroyed by the caller
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_any_list_create(enum mpk_convention conv, size_t count, struct mpk_any_list **out,
				  struct mpk_error *err) MPK_MUST_CHECK;
void mpk_any_list_destroy(struct mpk_any_list *list);

/* mpk_any_list_set - make item i a value; one more reference is taken
 * Returns  MPK_OK; as mpk_ffi_encode */
enum mpk_code mpk_any_list_set(struct mpk_any_list *list, size_t i, const struct mpk_value *v,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_any_list_get - item i, one more reference in *out
 * Returns  MPK_OK; as mpk_ffi_decode */
enum mpk_code mpk_any_list_get(const struct mpk_any_list *list, size_t i, struct mpk_value *out,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* An item of the legacy convention: the value, and what it looks like as an argument. */
struct mpk_legacy_item {
	struct mpk_value value;
	struct mpk_legacy_slot slot;
};

/* mpk_any_list_items - what code is given for the list, and gives to the functions that it imports for
 * it: an array of struct mpk_ffi_any, or of struct mpk_legacy_item; borrowed */
void *mpk_any_list_items(struct mpk_any_list *list);

#endif
