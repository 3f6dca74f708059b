/* SPDX-License-Identifier: Apache-2.0 */
/* compiled.h - functions of exec_mode="compiled": byte code that became code of the library
 *
 * Such a function works on lists of values that only the functions of abi/any_list.h look into, and
 * finds builtins and kernels by name like any code of the library.
 */
#ifndef MPK_EXECUTOR_RELAX_INTERNAL_COMPILED_H
#define MPK_EXECUTOR_RELAX_INTERNAL_COMPILED_H

#include "executor/relax/internal/vm.h"

/* mpk_relax_call_compiled - call one
 * Returns  as mpk_relax_vm_invoke */
enum mpk_code mpk_relax_call_compiled(struct mpk_relax_vm *vm, const struct mpk_relax_callee *c,
				      const struct mpk_value *args, size_t count,
				      struct mpk_value *result,
				      struct mpk_error *err) MPK_MUST_CHECK;

#endif
