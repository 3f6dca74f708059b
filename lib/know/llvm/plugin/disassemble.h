/* SPDX-License-Identifier: Apache-2.0 */
/* disassemble.h - machine code as text */
#ifndef MPK_LLVM_PLUGIN_DISASSEMBLE_H
#define MPK_LLVM_PLUGIN_DISASSEMBLE_H

#include "llvm/llvm.h"

/* mpk_llvm_plugin_disassemble - entry `disassemble` of the plug-in's table, once the back end is initialised
 * @version of LLVM, for errors */
enum mpk_code mpk_llvm_plugin_disassemble(const char *version, const struct mpk_llvm_code *code,
					  void (*each)(const struct mpk_llvm_instruction *i,
						       void *arg),
					  void *arg, struct mpk_error *err) MPK_MUST_CHECK;

#endif
