/* SPDX-License-Identifier: Apache-2.0 */
/* vm_api.c - what compiled functions of the Relax VM call most: a call, and the items of their lists
 *
 * Once for each layout of objects: who asks the thread for it in each call takes longer than the function.
 */
#include <stdbool.h>

#include "abi/convention.h"
#include "abi/ffi_object.h"
#include "runtime/internal/runtime.h"
#include "runtime/runtime.h"
#include "runtime/stop.h"

static int fail_vm_call(const struct mpk_error *error)
{
	mpk_raised_set_error(error);
	return -1;
}

/* --- calls --------------------------------------------------------------------------------- */

/* What a compiled function calls is what byte code has as instructions. */
static int fail_stopped(const struct mpk_stop *s)
{
	struct mpk_error error;

	(void)mpk_stop_fail(s, &error);
	return fail_vm_call(&error);
}

/* In compiled code, of whose steps nothing else is known. */
static void note_failure(struct mpk_stop *stop, enum mpk_convention conv, void *function)
{
	const char *name = mpk_ffi_function_name(conv, function);

	if (name)
		mpk_failed_note(stop, mpk_span_str(name), (struct mpk_span){ 0 }, -1,
				(struct mpk_span){ 0 });
}

static int now_call(void *function, const struct mpk_ffi_any *args, int32_t count,
		    struct mpk_ffi_any *result)
{
	struct mpk_ffi_function_cell *cell = mpk_ffi_cell(MPK_CONV_FFI, function);
	struct mpk_stop *stop = mpk_stop_get();
	int rc;

	if (mpk_stop_is_due(stop))
		return fail_stopped(stop);
	rc = cell->safe_call(function, args, count, result);
	if (rc)
		note_failure(stop, MPK_CONV_FFI, function);
	return rc;
}

static int ffi021_call(void *function, const struct mpk_ffi_any *args, int32_t count,
		       struct mpk_ffi_any *result)
{
	struct mpk_ffi_function_cell *cell = mpk_ffi_cell(MPK_CONV_FFI021, function);
	struct mpk_stop *stop = mpk_stop_get();
	int rc;

	if (mpk_stop_is_due(stop))
		return fail_stopped(stop);
	rc = cell->safe_call(function, args, count, result);
	if (rc)
		note_failure(stop, MPK_CONV_FFI021, function);
	return rc;
}

/* --- lists of compiled functions ---------------------------------------------------------------- */

/* set_arg lends item `index` to an argument, move takes what a call returned, reset makes an item none. All return 0;
 * -1 with the error kept (abi/ffi_object.h). */

static int ffi_list_set_arg(void *items, int index, struct mpk_ffi_any *args, int at)
{
	args[at] = ((struct mpk_ffi_any *)items)[index];
	return 0;
}

static int now_list_reset(void *items, int index)
{
	mpk_ffi_item_drop(MPK_CONV_FFI, &((struct mpk_ffi_any *)items)[index]);
	return 0;
}

static int ffi021_list_reset(void *items, int index)
{
	mpk_ffi_item_drop(MPK_CONV_FFI021, &((struct mpk_ffi_any *)items)[index]);
	return 0;
}

static int now_list_move(void *items, int index, struct mpk_ffi_any *args, int at)
{
	struct mpk_ffi_any moved = args[at];

	args[at] = (struct mpk_ffi_any){ 0 };
	(void)now_list_reset(items, index);
	((struct mpk_ffi_any *)items)[index] = moved;
	return 0;
}

static int ffi021_list_move(void *items, int index, struct mpk_ffi_any *args, int at)
{
	struct mpk_ffi_any moved = args[at];

	args[at] = (struct mpk_ffi_any){ 0 };
	(void)ffi021_list_reset(items, index);
	((struct mpk_ffi_any *)items)[index] = moved;
	return 0;
}

static int tvm_list_set_arg(void *items, int index, union mpk_tvm_value *args, int *codes, int at)
{
	struct mpk_legacy_item *item = &((struct mpk_legacy_item *)items)[index];
	struct mpk_error error;

	return mpk_legacy_encode(&item->value, &item->slot, &args[at], &codes[at], &error) == MPK_OK
		       ? 0
		       : fail_vm_call(&error);
}

static int tvm_list_reset(void *items, int index)
{
	mpk_value_drop(&((struct mpk_legacy_item *)items)[index].value);
	return 0;
}

static int tvm_list_move(void *items, int index, union mpk_tvm_value *args, int *codes, int at)
{
	struct mpk_value moved = { 0 };
	struct mpk_error error;

	if (mpk_legacy_decode(args[at], codes[at], MPK_LIFETIME_OWNED, &moved, &error) != MPK_OK)
		return fail_vm_call(&error);
	(void)tvm_list_reset(items, index);
	((struct mpk_legacy_item *)items)[index].value = moved;
	codes[at] = MPK_TVM_NULL;
	return 0;
}

/* --- linked -------------------------------------------------------------------------------- */

/* Host code that is linked into a standalone library has these names from the linker (module_api.c). Which layout it
 * has, the thread says. */
#ifdef MPK_RUN_LINKED
static bool is_021(void)
{
	return mpk_context_convention() == MPK_CONV_FFI021;
}

static int linked_call(void *function, const struct mpk_ffi_any *args, int32_t count,
		       struct mpk_ffi_any *result)
{
	return (is_021() ? ffi021_call : now_call)(function, args, count, result);
}

static int linked_list_reset(void *items, int index)
{
	return (is_021() ? ffi021_list_reset : now_list_reset)(items, index);
}

static int linked_list_move(void *items, int index, struct mpk_ffi_any *args, int at)
{
	return (is_021() ? ffi021_list_move : now_list_move)(items, index, args, at);
}

/* clang-format off */
MPK_API_LINKED(TVMFFIFunctionCall, linked_call)
MPK_API_LINKED(TVMBackendAnyListResetItem, linked_list_reset)
MPK_API_LINKED(TVMBackendAnyListMoveFromPackedReturn, linked_list_move)
MPK_API_LINKED(TVMBackendAnyListSetPackedArg, ffi_list_set_arg)
/* clang-format on */
#endif

/* --- their names ------------------------------------------------------------------------------- */

/* now: objects have the layout from TVM 0.22 on, ffi021: that of 0.21, tvm: the legacy convention. */
/* clang-format off */
static const struct mpk_module_symbol rows[] = {
	MPK_API_ROW(FFI_NOW, "TVMFFIFunctionCall", now_call)
	MPK_API_ROW(FFI_021, "TVMFFIFunctionCall", ffi021_call)
	MPK_API_ROW(FFI_NOW, "TVMBackendAnyListMoveFromPackedReturn", now_list_move)
	MPK_API_ROW(FFI_021, "TVMBackendAnyListMoveFromPackedReturn", ffi021_list_move)
	MPK_API_ROW(FFI_NOW, "TVMBackendAnyListResetItem", now_list_reset)
	MPK_API_ROW(FFI_021, "TVMBackendAnyListResetItem", ffi021_list_reset)
	MPK_API_ROW(FFI, "TVMBackendAnyListSetPackedArg", ffi_list_set_arg)
#ifdef MPK_RUN_LINKED
	/* in no part: the linker leaves out what nobody refers to */
	MPK_API_ROW(NONE, "TVMFFIFunctionCall", linked_call)
	MPK_API_ROW(NONE, "TVMBackendAnyListMoveFromPackedReturn", linked_list_move)
	MPK_API_ROW(NONE, "TVMBackendAnyListResetItem", linked_list_reset)
#endif
	MPK_API_ROW(LEGACY, "TVMBackendAnyListSetPackedArg", tvm_list_set_arg)
	MPK_API_ROW(LEGACY, "TVMBackendAnyListMoveFromPackedReturn", tvm_list_move)
	MPK_API_ROW(LEGACY, "TVMBackendAnyListResetItem", tvm_list_reset)
};
/* clang-format on */

const struct mpk_module_symbols mpk_vm_api = { rows, MPK_ARRAY_COUNT(rows) };
