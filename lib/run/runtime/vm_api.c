/* SPDX-License-Identifier: Apache-2.0 */
/* vm_api.c - what compiled functions of the Relax VM call most: a call, and the items of their lists
 *
 * Once for each layout of objects: who asks the thread for it in each call takes longer than the function.
 */
#include "runtime/internal/vm_api.h"

#include <stdbool.h>

#include "abi/convention.h"
#include "abi/ffi_object.h"
#include "abi/raised.h"
#include "runtime/context.h"

static int fail_call(const struct mpk_error *error)
{
	mpk_raised_set_error(error);
	return -1;
}

/* --- calls --------------------------------------------------------------------------------- */

int mpk_now_call(void *function, const struct mpk_ffi_any *args, int32_t count,
		 struct mpk_ffi_any *result)
{
	struct mpk_ffi_function_cell *cell = mpk_ffi_cell(MPK_CONV_FFI, function);

	return cell->safe_call(function, args, count, result);
}

int mpk_ffi021_call(void *function, const struct mpk_ffi_any *args, int32_t count,
		    struct mpk_ffi_any *result)
{
	struct mpk_ffi_function_cell *cell = mpk_ffi_cell(MPK_CONV_FFI021, function);

	return cell->safe_call(function, args, count, result);
}

/* --- lists of compiled functions ---------------------------------------------------------------- */

/* set_arg lends item `index` to an argument, move takes what a call returned, reset makes an item none. */

int mpk_ffi_list_set_arg(void *items, int index, struct mpk_ffi_any *args, int at)
{
	args[at] = ((struct mpk_ffi_any *)items)[index];
	return 0;
}

int mpk_now_list_reset(void *items, int index)
{
	mpk_ffi_item_drop(MPK_CONV_FFI, &((struct mpk_ffi_any *)items)[index]);
	return 0;
}

int mpk_ffi021_list_reset(void *items, int index)
{
	mpk_ffi_item_drop(MPK_CONV_FFI021, &((struct mpk_ffi_any *)items)[index]);
	return 0;
}

int mpk_now_list_move(void *items, int index, struct mpk_ffi_any *args, int at)
{
	struct mpk_ffi_any moved = args[at];

	args[at] = (struct mpk_ffi_any){ 0 };
	(void)mpk_now_list_reset(items, index);
	((struct mpk_ffi_any *)items)[index] = moved;
	return 0;
}

int mpk_ffi021_list_move(void *items, int index, struct mpk_ffi_any *args, int at)
{
	struct mpk_ffi_any moved = args[at];

	args[at] = (struct mpk_ffi_any){ 0 };
	(void)mpk_ffi021_list_reset(items, index);
	((struct mpk_ffi_any *)items)[index] = moved;
	return 0;
}

int mpk_tvm_list_set_arg(void *items, int index, union mpk_tvm_value *args, int *codes, int at)
{
	struct mpk_legacy_item *item = &((struct mpk_legacy_item *)items)[index];
	struct mpk_error error;

	return mpk_legacy_encode(&item->value, &item->slot, &args[at], &codes[at], &error) == MPK_OK
		       ? 0
		       : fail_call(&error);
}

int mpk_tvm_list_reset(void *items, int index)
{
	mpk_value_drop(&((struct mpk_legacy_item *)items)[index].value);
	return 0;
}

int mpk_tvm_list_move(void *items, int index, union mpk_tvm_value *args, int *codes, int at)
{
	struct mpk_value moved = { 0 };
	struct mpk_error error;

	if (mpk_legacy_decode(args[at], codes[at], MPK_LIFETIME_OWNED, &moved, &error) != MPK_OK)
		return fail_call(&error);
	(void)mpk_tvm_list_reset(items, index);
	((struct mpk_legacy_item *)items)[index].value = moved;
	codes[at] = MPK_TVM_NULL;
	return 0;
}

/* --- linked -------------------------------------------------------------------------------- */

/* Host code that is linked into a standalone library has these names from the linker (module_api.c). Which layout it
 * has, the thread says. */
#ifdef MPK_RUN_LINKED
#define LINKED(name, function)                                                                     \
	extern __typeof__(function) exported_##name __asm__(#name)                                 \
		__attribute__((alias(#function), visibility("hidden")))

static bool is_021(void)
{
	return mpk_context_convention() == MPK_CONV_FFI021;
}

int mpk_linked_call(void *function, const struct mpk_ffi_any *args, int32_t count,
		    struct mpk_ffi_any *result)
{
	return (is_021() ? mpk_ffi021_call : mpk_now_call)(function, args, count, result);
}

int mpk_linked_list_reset(void *items, int index)
{
	return (is_021() ? mpk_ffi021_list_reset : mpk_now_list_reset)(items, index);
}

int mpk_linked_list_move(void *items, int index, struct mpk_ffi_any *args, int at)
{
	return (is_021() ? mpk_ffi021_list_move : mpk_now_list_move)(items, index, args, at);
}

LINKED(TVMFFIFunctionCall, mpk_linked_call);
LINKED(TVMBackendAnyListResetItem, mpk_linked_list_reset);
LINKED(TVMBackendAnyListMoveFromPackedReturn, mpk_linked_list_move);
LINKED(TVMBackendAnyListSetPackedArg, mpk_ffi_list_set_arg);
#endif
