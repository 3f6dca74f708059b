#include <llvm-c/Core.h>
#include <stdio.h>

#include "llvm/session.h"

MPK_EXPORT const struct mpk_llvm *mpk_llvm_table(void)
{
	static char version[24];
	static struct mpk_llvm table = {
		.version = version,
		.emit_blob = mpk_llvm_emit_blob,
		.compile = mpk_llvm_compile,
	};
	unsigned major, minor, patch;

	if (!version[0]) {
		LLVMGetVersion(&major, &minor, &patch);
		(void)snprintf(version, sizeof version, "%u.%u.%u", major, minor, patch);
	}
	return &table;
}
