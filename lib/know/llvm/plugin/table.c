/* SPDX-License-Identifier: Apache-2.0 */
#include "llvm/plugin/session.h"

MPK_EXPORT const struct mpk_llvm *mpk_llvm_table(void)
{
	static struct mpk_llvm table = {
		.emit_blob = mpk_llvm_emit_blob,
		.compile = mpk_llvm_compile,
		.disassemble = mpk_llvm_disassemble,
	};

	table.version = mpk_session_version();
	return &table;
}
