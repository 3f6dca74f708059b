/* SPDX-License-Identifier: Apache-2.0 */
/* Which exported names before TVM 0.22 are functions of a module, and which come from elsewhere. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "object/exports.h"

struct row {
	const char *name;
	bool weak;
};

/* TVM calls them all. */
static const struct row functions[] = {
	{ "add", false },
	{ "add", true },
	{ "main", false },
	{ "__tvm_main__", false },
	{ "_", false },
	{ "__", false },
	{ "_add", false },
	{ "__add", false },
	{ "__add", true },
	{ "___add", false },
	{ "_Z3fooPfi", false },
	{ "_Z3fooIfEvPT_i", false },
	{ "_ZN3net4fuseEPf", false },
	{ "_ZNK3net4fuseEPf", false },
	{ "_ZN3StaE", false },
	{ "__vmtir__main", false },
	{ "_lookup_linked_param", false },
	{ "_initial", false },
	{ "_finish", false },
	{ "__divide", false },
	{ "__additive", false },
	{ "__mulhi_kernel", false },
	{ "__truncated", false },
	{ "__fixture", false },
	{ "__powidf2_of_mine", false },
	{ "a.b", false },
	{ "a$b", false },
	{ "$a", false },
	{ ".a", false },
	{ "TVMadd", false },
	{ "tvmgen_default_fused_add", false },
};

static const struct row internals[] = {
	{ "_init", false },
	{ "_fini", false },
	{ "_start", false },
	{ "_GLOBAL__sub_I_a", false },
	{ "_ITM_registerTMCloneTable", false },
	{ "_Unwind_Resume", false },
	{ "__libc_csu_init", false },
	{ "__do_global_dtors_aux", false },
	{ "__register_frame_info", false },
	{ "__stack_chk_fail", false },
	{ "__cxa_guard_acquire", false },
	{ "__gxx_personality_v0", false },
	{ "__clang_call_terminate", true },
	{ "__x86.get_pc_thunk.bx", false },
	{ "__aarch64_ldadd4_acq_rel", false },
	{ "__kmpc_fork_call", false },
	{ "__llvm_profile_runtime_user", false },
	{ "__asan_init", false },
	{ "__sanitizer_print_stack_trace", false },
	{ "__cudaRegisterFatBinary", false },
	{ "__hipRegisterFunction", false },
	{ "__device_stub__Z3fooPfi", false },
	{ "__tvm_module_startup", false },
	{ "__tvm_parallel_lambda", false },
	{ "__TVMFuncCall", false },
	{ "TVMFuncCall", false },
	{ "TVMBackendGetFuncFromEnv", false },
	{ "__truncsfhf2", true },
	{ "__extendhfsf2", true },
	{ "__truncdfbf2", false },
	{ "__udivti3", false },
	{ "__udivmodti4", false },
	{ "__floattidf", false },
	{ "__fixunsxfti", false },
	{ "__muldc3", false },
	{ "__powidf2", false },
	{ "__popcountdi2", false },
	{ "__gnu_f2h_ieee", true },
	{ "_Znwm", false },
	{ "_ZdlPv", false },
	{ "_ZTv0_n24_N1A1fEv", false },
	{ "_ZThn8_N1A1fEv", false },
	{ "_ZGVZ1fvE1x", false },
	{ "_ZNSt6vectorIfE4pushEf", false },
	{ "_ZNKSs4sizeEv", false },
	{ "_ZSt4sortIPfEvT_S1_", false },
	{ "_ZN9__gnu_cxx13new_allocatorIfEC1Ev", false },
	{ "_ZN3tvm7runtime6Module4LoadEv", false },
	{ "_ZN3net7inlinedEv", true },
};

START_TEST(functions_of_a_module)
{
	ck_assert_msg(!mpk_name_is_internal(functions[_i].name, functions[_i].weak), "%s",
		      functions[_i].name);
}
END_TEST

START_TEST(names_from_elsewhere)
{
	ck_assert_msg(mpk_name_is_internal(internals[_i].name, internals[_i].weak), "%s",
		      internals[_i].name);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("internal");
	SRunner *r = srunner_create(s);
	TCase *tc = tcase_create("names");
	int failed;

	tcase_add_loop_test(tc, functions_of_a_module, 0, MPK_ARRAY_COUNT(functions));
	tcase_add_loop_test(tc, names_from_elsewhere, 0, MPK_ARRAY_COUNT(internals));
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
