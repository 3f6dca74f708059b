/* SPDX-License-Identifier: Apache-2.0 */
#include "abi/any_list.h"

#include <stdlib.h>

#include "abi/convention.h"
#include "abi/ffi_object.h"
#include "abi/raised.h"

/* An item of the legacy convention: the value, and what it looks like as an argument. */
struct legacy_item {
	struct mpk_value value;
	struct mpk_legacy_slot slot;
};

struct mpk_any_list {
	enum mpk_convention conv;
	size_t count;
	struct mpk_ffi_any *cells;
	struct legacy_item *items;
};

enum mpk_code mpk_any_list_create(enum mpk_convention conv, size_t count, struct mpk_any_list **out,
				  struct mpk_error *err)
{
	struct mpk_any_list *list = calloc(1, sizeof *list);

	MPK_TRY_ALLOC(list, err);
	list->conv = conv;
	list->count = count;
	if (conv == MPK_CONV_LEGACY)
		list->items = calloc(count + 1, sizeof *list->items);
	else
		list->cells = calloc(count + 1, sizeof *list->cells);
	if (!list->items && !list->cells) {
		free(list);
		return mpk_fail_nomem(err);
	}
	*out = list;
	return MPK_OK;
}

void mpk_any_list_destroy(struct mpk_any_list *list)
{
	if (!list)
		return;
	for (size_t i = 0; i < list->count; i++) {
		if (list->cells)
			mpk_ffi_any_drop(list->conv, &list->cells[i]);
		else
			mpk_value_drop(&list->items[i].value);
	}
	free(list->cells);
	free(list->items);
	free(list);
}

enum mpk_code mpk_any_list_set(struct mpk_any_list *list, size_t i, const struct mpk_value *v,
			       struct mpk_error *err)
{
	if (list->cells) {
		mpk_ffi_any_drop(list->conv, &list->cells[i]);
		return mpk_ffi_encode(list->conv, v, &list->cells[i], err);
	}
	mpk_value_drop(&list->items[i].value);
	list->items[i].value = mpk_value_hold(*v);
	return MPK_OK;
}

enum mpk_code mpk_any_list_get(const struct mpk_any_list *list, size_t i, struct mpk_value *out,
			       struct mpk_error *err)
{
	if (list->cells)
		return mpk_ffi_decode(list->conv, &list->cells[i], MPK_LIFETIME_OWNED, out, err);
	*out = mpk_value_hold(list->items[i].value);
	return MPK_OK;
}

void *mpk_any_list_items(struct mpk_any_list *list)
{
	return list->cells ? (void *)list->cells : (void *)list->items;
}

/* --- what code imports --------------------------------------------------------------------- */

int mpk_any_list_ffi_set_arg(void *items, int index, struct mpk_ffi_any *args, int at)
{
	args[at] = ((struct mpk_ffi_any *)items)[index];
	return 0;
}

int mpk_any_list_ffi_reset(void *items, int index, enum mpk_convention conv)
{
	mpk_ffi_any_drop(conv, &((struct mpk_ffi_any *)items)[index]);
	return 0;
}

int mpk_any_list_ffi_move(void *items, int index, struct mpk_ffi_any *args, int at,
			  enum mpk_convention conv)
{
	struct mpk_ffi_any moved = args[at];

	args[at] = (struct mpk_ffi_any){ 0 };
	(void)mpk_any_list_ffi_reset(items, index, conv);
	((struct mpk_ffi_any *)items)[index] = moved;
	return 0;
}

static int fail(const struct mpk_error *error)
{
	mpk_raised_set_error(error);
	return -1;
}

int mpk_any_list_legacy_set_arg(void *items, int index, union mpk_tvm_value *args, int *codes,
				int at)
{
	struct legacy_item *item = &((struct legacy_item *)items)[index];
	struct mpk_error error;

	return mpk_legacy_encode(&item->value, &item->slot, &args[at], &codes[at], &error) == MPK_OK
		       ? 0
		       : fail(&error);
}

int mpk_any_list_legacy_reset(void *items, int index)
{
	mpk_value_drop(&((struct legacy_item *)items)[index].value);
	return 0;
}

int mpk_any_list_legacy_move(void *items, int index, union mpk_tvm_value *args, int *codes, int at)
{
	struct mpk_value moved = { 0 };
	struct mpk_error error;

	if (mpk_legacy_decode(args[at], codes[at], MPK_LIFETIME_OWNED, &moved, &error) != MPK_OK)
		return fail(&error);
	(void)mpk_any_list_legacy_reset(items, index);
	((struct legacy_item *)items)[index].value = moved;
	codes[at] = MPK_TVM_NULL;
	return 0;
}
