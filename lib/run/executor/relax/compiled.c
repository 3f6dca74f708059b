/* SPDX-License-Identifier: Apache-2.0 */
#include "executor/relax/internal/compiled.h"

#include "abi/any_list.h"
#include "executor/relax/internal/argument.h"
#include "text/escape.h"

static enum mpk_code put_functions(struct mpk_relax_vm *vm, enum mpk_convention conv,
				   struct mpk_error *err)
{
	const struct mpk_relax_program *p = vm->program;

	MPK_TRY(mpk_any_list_create(conv, p->callee_count, &vm->function_list, err));
	for (size_t i = 0; i < p->callee_count; i++) {
		struct mpk_value v = { 0 };
		bool own;

		MPK_TRY(mpk_relax_vm_function(vm, i, &v.function, err));
		v.kind = MPK_VALUE_FUNCTION;
		own = mpk_relax_vm_owns(vm, v.function);

		enum mpk_code code = mpk_any_list_set(vm->function_list, i, &v, err);

		vm->own_refs += own && code == MPK_OK;
		mpk_value_drop(&v);
		MPK_TRY(code);
	}
	return MPK_OK;
}

static enum mpk_code put_constants(struct mpk_relax_vm *vm, enum mpk_convention conv,
				   struct mpk_error *err)
{
	const struct mpk_relax_program *p = vm->program;

	MPK_TRY(mpk_any_list_create(conv, p->x.const_count, &vm->constant_list, err));
	for (size_t i = 0; i < p->x.const_count; i++) {
		const struct mpk_value *v;

		MPK_TRY(mpk_relax_vm_constant(vm, i, &v, err));
		MPK_TRY(mpk_any_list_set(vm->constant_list, i, v, err));
	}
	return MPK_OK;
}

/* Half of a list would be taken for all of it by the next call. */
static void empty_lists(struct mpk_relax_vm *vm)
{
	struct mpk_any_list *functions = vm->function_list;

	vm->function_list = NULL;
	vm->own_refs = 0;
	mpk_any_list_destroy(functions);
	mpk_any_list_destroy(vm->constant_list);
	vm->constant_list = NULL;
}

/* All constants and all functions, made when the first compiled function runs. */
static enum mpk_code fill_lists(struct mpk_relax_vm *vm, enum mpk_convention conv,
				struct mpk_error *err)
{
	enum mpk_code code;

	if (vm->constant_list)
		return MPK_OK;
	code = put_functions(vm, conv, err);
	if (code == MPK_OK)
		code = put_constants(vm, conv, err);
	if (code != MPK_OK)
		empty_lists(vm);
	return code;
}

/* f(machine, registers, constants, functions); the result is the register behind the arguments. */
static enum mpk_code call(struct mpk_relax_vm *vm, const struct mpk_relax_callee *c,
			  struct mpk_any_list *registers, struct mpk_value *result,
			  struct mpk_error *err)
{
	struct mpk_value lists[] = {
		mpk_value_of_opaque(vm),
		mpk_value_of_opaque(mpk_any_list_items(registers)),
		mpk_value_of_opaque(mpk_any_list_items(vm->constant_list)),
		mpk_value_of_opaque(mpk_any_list_items(vm->function_list)),
	};
	struct mpk_value none = { 0 };

	MPK_TRY(mpk_function_call(c->function, &(struct mpk_args){ lists, NULL, 4 }, &none, err));
	mpk_value_drop(&none);
	return mpk_any_list_get(registers, c->arg_count, result, err);
}

enum mpk_code mpk_relax_call_compiled(struct mpk_relax_vm *vm, const struct mpk_relax_callee *c,
				      const struct mpk_value *args, size_t count,
				      struct mpk_value *result, struct mpk_error *err)
{
	enum mpk_convention conv = c->function->convention;
	struct mpk_any_list *registers;
	enum mpk_code code;

	if (count != c->arg_count)
		return mpk_relax_raise(err, "TypeError", "%s takes %u arguments, not %zu",
				       MPK_QUOTE(c->name), c->arg_count, count);
	MPK_TRY(fill_lists(vm, conv, err));
	/* one more: a function of no result may name no register for it */
	MPK_TRY(mpk_any_list_create(conv, (size_t)c->register_count + 1, &registers, err));
	code = MPK_OK;
	for (size_t i = 0; i < count && code == MPK_OK; i++)
		code = mpk_any_list_set(registers, i, &args[i], err);
	if (code == MPK_OK)
		code = call(vm, c, registers, result, err);
	mpk_any_list_destroy(registers);
	return code;
}
