/* SPDX-License-Identifier: Apache-2.0 */
/* vm_api.h - what compiled functions of the Relax VM import of their loader
 *
 * A call, and the items of a list of values (executor/relax/compiled.c): set_arg lends item `index` to an argument, move
 * takes what a call returned, reset makes an item none. now: objects have the layout from TVM 0.22 on, ffi021: that
 * of 0.21, tvm: the legacy convention. Return 0; -1 with the error kept (abi/raised.h).
 */
#ifndef MPK_RUNTIME_INTERNAL_VM_API_H
#define MPK_RUNTIME_INTERNAL_VM_API_H

#include "abi/convention.h"

/* mpk_now_call, ... - of tvm-ffi
 * mpk_tvm_list_... - of the legacy convention */
mpk_ffi_safe_call mpk_now_call, mpk_ffi021_call;
int mpk_ffi_list_set_arg(void *items, int index, struct mpk_ffi_any *args, int at);
int mpk_now_list_move(void *items, int index, struct mpk_ffi_any *args, int at);
int mpk_ffi021_list_move(void *items, int index, struct mpk_ffi_any *args, int at);
int mpk_now_list_reset(void *items, int index);
int mpk_ffi021_list_reset(void *items, int index);
int mpk_tvm_list_set_arg(void *items, int index, union mpk_tvm_value *args, int *codes, int at);
int mpk_tvm_list_move(void *items, int index, union mpk_tvm_value *args, int *codes, int at);
int mpk_tvm_list_reset(void *items, int index);

/* In the layout of the library that this thread runs: for host code that is linked. */
#ifdef MPK_RUN_LINKED
mpk_ffi_safe_call mpk_linked_call;
int mpk_linked_list_move(void *items, int index, struct mpk_ffi_any *args, int at);
int mpk_linked_list_reset(void *items, int index);
#endif

#endif
