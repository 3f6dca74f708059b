/* SPDX-License-Identifier: Apache-2.0 */
/* open.c - loading the plug-in that holds LLVM
 *
 * It stays open until the process ends. RTLD_LOCAL keeps LLVM's symbols apart from those of other
 * libraries that bring an LLVM of their own.
 */
#include "llvm/llvm.h"

#include <dlfcn.h>

#include "text/escape.h"

enum mpk_code mpk_llvm_open(const char *path, const struct mpk_llvm **out, struct mpk_error *err)
{
	void *handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	const struct mpk_llvm *(*table)(void) = NULL;

	if (handle)
		*(void **)&table = dlsym(handle, "mpk_llvm_table");
	if (!table)
		return mpk_fail(
			err, MPK_E_LOAD,
			"cannot load LLVM (%s); install libLLVM 19 (Debian: libllvm19, which mpack-tvm-llvm brings), or build without IR sources and with --via c",
			MPK_QUOTE(mpk_span_str(dlerror())));
	*out = table();
	return MPK_OK;
}
