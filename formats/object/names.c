/* SPDX-License-Identifier: Apache-2.0 */
/* names.c - the names of functions that are not functions of a module, as GCC, Clang, NVCC and
 * TVM's releases write them
 *
 * Not all names with underscores are excluded, because TVM calls some: kernels of C++ keep their
 * mangled names, and compiled functions of the Relax VM are called __vmtir__NAME. */
#include "object/exports.h"

#include <ctype.h>

#include "base/compiler.h"

static bool starts_with_one_of(const char *name, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (mpk_name_starts(name, list[i]))
			return true;
	return false;
}

/* --- arithmetic: __<operation><mode>[<mode>][<operands>] -------------------------------------- */

/* Whether a name ends after the modes of its operands, or with their number. */
static bool are_modes(const char *at)
{
	static const char *const modes[] = { "qi", "hi", "si", "di", "ti", "hf", "bf", "sf",
					     "df", "xf", "tf", "hc", "sc", "dc", "xc", "tc" };
	size_t count = 0;

	while (count < 2 && strlen(at) >= 2) {
		char mode[3] = { at[0], at[1], '\0' };

		if (!mpk_name_is_one_of(mode, modes, MPK_ARRAY_COUNT(modes)))
			break;
		at += 2;
		count++;
	}
	at += *at >= '2' && *at <= '6';
	return count && !*at;
}

static bool is_arithmetic(const char *name)
{
	static const char *const operations[] = {
		"abs",   "absv", "add",    "addo",     "addv",    "ashl",     "ashr", "bswap",
		"clrsb", "clz",  "cmp",    "ctz",      "div",     "divmod",   "eq",   "extend",
		"ffs",   "fix",  "fixuns", "float",    "floatun", "floatuns", "ge",   "gt",
		"le",    "lshr", "lt",     "mod",      "mul",     "mulo",     "mulv", "ne",
		"neg",   "negv", "parity", "popcount", "powi",    "sub",      "subo", "subv",
		"trunc", "ucmp", "udiv",   "udivmod",  "umod",    "unord",
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(operations); i++)
		if (mpk_name_starts(name + 2, operations[i]) &&
		    are_modes(name + 2 + strlen(operations[i])))
			return true;
	return false;
}

/* --- C++ ---------------------------------------------------------------------------------------- */

/* --- names by their prefix ---------------------------------------------------------------- */

static const char *const families[] = {
	/* linkers and C libraries */
	"_GLOBAL__",
	"_ITM_",
	"_dl_",
	"_Unwind_",
	"__libc_",
	"__do_global_",
	"__frame_dummy",
	"__stack_chk_",
	"__tls_",
	"__emutls_",
	"__register_frame",
	"__deregister_frame",
	/* compilers */
	"__cxa_",
	"__cxx_",
	"__gxx_",
	"__gcc_",
	"__gnu_",
	"__clang_",
	"__x86.",
	"__x86_",
	"__aarch64_",
	"__arm_sme",
	"__arm_tpidr2",
	"__atomic_",
	"__sync_",
	"__kmpc_",
	"__llvm_",
	"__gcov_",
	"__cyg_profile_",
	"__morestack",
	"__splitstack_",
	/* sanitizers */
	"__asan_",
	"__hwasan_",
	"__lsan_",
	"__msan_",
	"__tsan_",
	"__ubsan_",
	"__sanitizer_",
	"__sancov_",
	"__interceptor_",
	/* registration of GPU code */
	"__cuda",
	"__nv_",
	"__hip_",
	"__hip",
	"__device_stub__",
	"__sti____",
	"__fatbin",
	"__NV_",
	/* TVM and standalone libraries */
	"__tvm_",
	"__TVM",
	"__mpk_",
};

bool mpk_name_is_internal(const char *name, bool weak)
{
	static const char *const names[] = { "_init",   "_fini",          "_start",
					     "_mcount", "__gmon_start__", "__libc_start_main" };

	if (strcmp(name, "__tvm_main__") == 0)
		return false;
	if (mpk_name_starts(name, "TVM"))
		return isupper((unsigned char)name[3]); /* a runtime that is linked in */
	if (mpk_name_starts(name, "_Z")) {
		/* C++ names, after "_Z": what the entity is, and its namespace */
		/* tables, thunks and guards; operators new and delete; namespaces of the C++ library, and TVM's own
		 * if its runtime is linked in */
		static const char *const special[] = {
			"T", "GV", "GR", "GT", "nw", "na", "dl", "da"
		};
		static const char *const spaces[] = { "St",           "Sa",         "Sb",
						      "Ss",           "Si",         "So",
						      "Sd",           "9__gnu_cxx", "10__cxxabiv1",
						      "3tvm7runtime", "3tvm3ffi",   "3dmlc" };
		const char *at = name + 2;

		if (weak || starts_with_one_of(at, special, MPK_ARRAY_COUNT(special)))
			return true;
		if (*at == 'N')
			at += 1 + strspn(at + 1, "rVKRO");
		return starts_with_one_of(at, spaces, MPK_ARRAY_COUNT(spaces));
	}
	return mpk_name_is_one_of(name, names, MPK_ARRAY_COUNT(names)) ||
	       starts_with_one_of(name, families, MPK_ARRAY_COUNT(families)) ||
	       (mpk_name_starts(name, "__") && is_arithmetic(name));
}
