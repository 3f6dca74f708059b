/* SPDX-License-Identifier: Apache-2.0 */
/* internal.h - functions that a library exports without being callable: of compilers and runtimes
 *
 * Before 0.22 TVM calls whatever name the dynamic linker finds in a library, so every exported
 * function is one of the module, also "_Z3fooPfi", "__fused" or "a.b$c". Left out is only what by
 * its name comes from elsewhere:
 *   - what starts and ends programs: _init, _fini, _start, _GLOBAL__..., _ITM_..., _dl_...
 *   - TVM's own: __tvm_... but for __tvm_main__, __TVM..., TVM with a capital after it
 *   - support of compilers: __cxa_..., __gcc_..., _Unwind_..., sanitizers, registration of GPU code,
 *     arithmetic such as __udivti3 and __truncsfhf2
 *   - the C++ library, and what the compiler made of C++: operators, tables, thunks; and weak functions
 *     with a C++ name, which are templates and inline functions of headers
 */
#ifndef MPK_ELF_INTERNAL_INTERNAL_H
#define MPK_ELF_INTERNAL_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* mpk_name_starts - whether a name begins with a prefix */
static inline bool mpk_name_starts(const char *name, const char *prefix)
{
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

/* mpk_name_is_one_of - whether a name is in a list of count names */
static inline bool mpk_name_is_one_of(const char *name, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(name, list[i]) == 0)
			return true;
	return false;
}

/* mpk_name_is_internal - whether a function of that name is no function of the module
 * @weak    whether its symbol is weak */
bool mpk_name_is_internal(const char *name, bool weak);

#endif
