/* SPDX-License-Identifier: Apache-2.0 */
/* disasm.h - --disasm: instructions of functions, kernels and byte code */
#ifndef MPK_CMD_MINSPECT_DISASM_H
#define MPK_CMD_MINSPECT_DISASM_H

#include "minspect/minspect.h"

int minspect_disasm(const struct minspect_options *o);

/* minspect_disasm_take_name - "--disasm vadd deploy.so": the first operand is the name, unless there is such
 * a file */
void minspect_disasm_take_name(struct minspect_options *o);

/* minspect_disasm_prepare - before the sandbox: start what --disasm may need */
void minspect_disasm_prepare(const struct minspect_options *o);

#endif
