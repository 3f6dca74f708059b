/* SPDX-License-Identifier: Apache-2.0 */
/* compiled.c - functions of exec_mode="compiled", whose byte code was compiled to code of the
 * library
 *
 * They work on lists of values that only this file and their loader access, and they look up
 * builtins and kernels by name like any code of a library. */
#include "executor/relax/internal/relax.h"

#include <stdlib.h>
#include <string.h>

#include "abi/convention.h"
#include "abi/ffi_object.h"
#include "runtime/stop.h"
#include "text/escape.h"

enum { LISTS = 4 }; /* arguments of a compiled function */

/* --- lists of values ------------------------------------------------------------------------- */

/* Compiled functions refer to items only by number and move them through three functions of their
 * loader. So the form of a list is free: cells of tvm-ffi, or values with the legacy convention. */
struct mpk_any_list {
	enum mpk_convention conv;
	size_t count;
	struct mpk_legacy_item *items; /* legacy convention; else NULL */
	struct mpk_ffi_any cells[];
};

static enum mpk_code any_list_create(enum mpk_convention conv, size_t count,
				     struct mpk_any_list **out, struct mpk_error *err)
{
	bool has_cells = conv != MPK_CONV_LEGACY;
	size_t bytes =
		sizeof(struct mpk_any_list) + has_cells * (count + 1) * sizeof(struct mpk_ffi_any);
	struct mpk_any_list *list = malloc(bytes);

	MPK_TRY_ALLOC(list, err);
	memset(list, 0, bytes);
	list->conv = conv;
	list->count = count;
	if (!has_cells) {
		list->items = calloc(count + 1, sizeof *list->items);
		if (!list->items) {
			free(list);
			return mpk_fail_nomem(err);
		}
	}
	*out = list;
	return MPK_OK;
}

static void any_list_empty(struct mpk_any_list *list)
{
	for (size_t i = 0; list->items && i < list->count; i++)
		mpk_value_drop(&list->items[i].value);
	for (size_t i = 0; !list->items && i < list->count; i++)
		if (list->cells[i].type_index != MPK_FFI_NONE)
			mpk_ffi_item_drop(list->conv, &list->cells[i]);
}

static void any_list_destroy(struct mpk_any_list *list)
{
	if (!list)
		return;
	any_list_empty(list);
	free(list->items);
	free(list);
}

/* Drops the old item first, so that a list never holds more items than its count. */
static enum mpk_code any_list_set(struct mpk_any_list *list, size_t i, const struct mpk_value *v,
				  struct mpk_error *err)
{
	if (!list->items) {
		mpk_ffi_any_drop(list->conv, &list->cells[i]);
		return mpk_ffi_encode(list->conv, v, &list->cells[i], err);
	}
	mpk_value_drop(&list->items[i].value);
	list->items[i].value = mpk_value_hold(*v);
	return MPK_OK;
}

/* Returns the pointer that compiled code gets for a list and passes to the loader's functions. */
static void *any_list_items(struct mpk_any_list *list)
{
	return list->items ? (void *)list->items : (void *)list->cells;
}

/* --- compiled functions --------------------------------------------------------------------- */

static enum mpk_code relax_vm_put_functions(struct mpk_relax_vm *vm, enum mpk_convention conv,
					    struct mpk_error *err)
{
	const struct mpk_relax_program *p = vm->program;

	MPK_TRY(any_list_create(conv, p->callee_count, &vm->function_list, err));
	for (size_t i = 0; i < p->callee_count; i++) {
		struct mpk_value v = { 0 };
		bool own;

		MPK_TRY(mpk_relax_vm_function(vm, i, &v.function, err));
		v.kind = MPK_VALUE_FUNCTION;
		/* the list's references to its own machine are counted, to detect when no others are left */
		own = mpk_machine_owns(&vm->base, v.function);

		enum mpk_code code = any_list_set(vm->function_list, i, &v, err);

		vm->base.own_refs += own && code == MPK_OK;
		mpk_value_drop(&v);
		MPK_TRY(code);
	}
	return MPK_OK;
}

static enum mpk_code put_constants(struct mpk_relax_vm *vm, enum mpk_convention conv,
				   struct mpk_error *err)
{
	const struct mpk_relax_program *p = vm->program;

	MPK_TRY(any_list_create(conv, p->x.const_count, &vm->constant_list, err));
	for (size_t i = 0; i < p->x.const_count; i++) {
		const struct mpk_value *v;

		MPK_TRY(mpk_relax_vm_constant(vm, i, &v, err));
		MPK_TRY(any_list_set(vm->constant_list, i, v, err));
	}
	return MPK_OK;
}

/* Drops incomplete lists: the next call_with_lists would use them as if they were complete. */
static void drop_lists(struct mpk_relax_vm *vm)
{
	struct mpk_any_list *functions = vm->function_list, *constants = vm->constant_list;

	vm->function_list = vm->constant_list = NULL;
	vm->base.own_refs = 0;
	any_list_destroy(functions);
	any_list_destroy(constants);
}

/* Fills the lists of all constants and all functions, when the first compiled function runs. */
static enum mpk_code fill_lists(struct mpk_relax_vm *vm, enum mpk_convention conv,
				struct mpk_error *err)
{
	enum mpk_code code;

	if (vm->constant_list)
		return MPK_OK;
	if (!vm->kept)
		vm->kept = calloc(1, sizeof *vm->kept + vm->program->callee_count *
								sizeof vm->kept->functions[0]);
	MPK_TRY_ALLOC(vm->kept, err);
	code = relax_vm_put_functions(vm, conv, err);
	if (code == MPK_OK)
		code = put_constants(vm, conv, err);
	if (code != MPK_OK)
		drop_lists(vm);
	return code;
}

/* Calls code at an address with pointer arguments, which need no object. */
static enum mpk_code call_at_address(const struct mpk_function *f, void *const *lists,
				     struct mpk_error *err)
{
	_Alignas(16) char memory[LISTS * sizeof(struct mpk_ffi_any)];
	struct mpk_packed p = mpk_packed_at(f->convention, memory, LISTS);

	for (size_t i = 0; i < LISTS; i++)
		mpk_packed_set_pointer(&p, i, lists[i]);
	return mpk_packed_call(&p, f->address, NULL, err);
}

static enum mpk_code call_with_values(struct mpk_function *f, void *const *lists,
				      struct mpk_error *err)
{
	struct mpk_value args[LISTS], none = { 0 };

	for (size_t i = 0; i < LISTS; i++)
		args[i] = mpk_value_of_opaque(lists[i]);
	MPK_TRY(mpk_function_call(f, &(struct mpk_args){ args, NULL, LISTS }, &none, err));
	mpk_value_drop(&none);
	return MPK_OK;
}

/* Calls f(machine, registers, constants, functions). The result is in the register after the
 * arguments. */
static enum mpk_code call_with_lists(struct mpk_relax_vm *vm, const struct mpk_relax_callee *c,
				     struct mpk_any_list *registers, struct mpk_value *result,
				     struct mpk_error *err)
{
	void *lists[LISTS] = { vm, any_list_items(registers), any_list_items(vm->constant_list),
			       any_list_items(vm->function_list) };

	if (c->function->address)
		MPK_TRY(call_at_address(c->function, lists, err));
	else
		MPK_TRY(call_with_values(c->function, lists, err));

	size_t i = c->arg_count;

	if (!registers->items)
		return mpk_ffi_decode(registers->conv, &registers->cells[i], MPK_LIFETIME_OWNED,
				      result, err);
	*result = mpk_value_hold(registers->items[i].value);
	return MPK_OK;
}

/* The list has one register more than the function: a function without a result may still write
 * one. The list of the previous call is reused, except in nested calls. */
static enum mpk_code take_register_list(struct mpk_relax_vm *vm, const struct mpk_relax_callee *c,
					struct mpk_any_list **out, struct mpk_error *err)
{
	size_t count = (size_t)c->register_count + 1;

	*out = vm->register_list;
	vm->register_list = NULL;
	if (*out && (*out)->count == count)
		return MPK_OK;
	any_list_destroy(*out);
	return any_list_create(c->function->convention, count, out, err);
}

/* Switches to the function's own sites for kept objects during the call. */
static enum mpk_code call_with_sites(struct mpk_relax_vm *vm, const struct mpk_relax_callee *c,
				     struct mpk_any_list *registers, struct mpk_value *result,
				     struct mpk_error *err)
{
	struct mpk_relax_sites *before = vm->kept->now;
	size_t at = before ? before->at : 0;
	enum mpk_code code;

	vm->kept->now = &vm->kept->functions[c - vm->program->callees];
	vm->kept->now->at = 0;
	code = call_with_lists(vm, c, registers, result, err);
	if (code != MPK_OK)
		mpk_failed_note_function(mpk_stop_get(), c->name);
	vm->kept->now = before;
	if (before)
		before->at = at;
	return code;
}

enum mpk_code mpk_relax_call_compiled(struct mpk_relax_vm *vm, const struct mpk_relax_callee *c,
				      const struct mpk_value *args, size_t count,
				      struct mpk_value *result, struct mpk_error *err)
{
	struct mpk_any_list *registers;
	enum mpk_code code;

	if (count != c->arg_count)
		return mpk_relax_raise(err, "TypeError", "%s takes %u arguments, not %zu",
				       MPK_QUOTE(c->name), c->arg_count, count);
	MPK_TRY(fill_lists(vm, c->function->convention, err));
	MPK_TRY(take_register_list(vm, c, &registers, err));
	code = MPK_OK;
	for (size_t i = 0; i < count && code == MPK_OK; i++)
		code = any_list_set(registers, i, &args[i], err);
	if (code == MPK_OK)
		code = call_with_sites(vm, c, registers, result, err);
	any_list_empty(registers);
	any_list_destroy(vm->register_list);
	vm->register_list = registers;
	return code;
}

void mpk_relax_compiled_fini(struct mpk_relax_vm *vm)
{
	drop_lists(vm);
	any_list_destroy(vm->register_list);
	vm->register_list = NULL;
	mpk_relax_kept_destroy(vm->kept, vm->program->callee_count);
	vm->kept = NULL;
}
