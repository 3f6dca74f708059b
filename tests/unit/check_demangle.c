/* SPDX-License-Identifier: Apache-2.0 */
/* formats/itanium: symbols as text. What is expected is what c++filt of binutils 2.40 prints, with ">>". */
#include "robust.h"

#include <stdlib.h>

#include "itanium/itanium.h"

static void check(const char *symbol, const char *expected)
{
	struct mpk_strbuf out = { 0 };
	const struct mpk_demangle_form whole = { .returns = true };

	bool known = mpk_demangle(mpk_span_str(symbol), whole, &out);
	ck_assert_msg(known == (expected != NULL), "%s", symbol);
	ck_assert_str_eq(mpk_strbuf_text(&out), expected ? expected : "");
	mpk_strbuf_fini(&out);
	/* No part of a symbol is taken for more than it is. */
	for (size_t len = 0; len < strlen(symbol); len++) {
		(void)mpk_demangle(mpk_span_of(symbol, len), whole, &out);
		mpk_strbuf_fini(&out);
	}
}

START_TEST(functions)
{
	check("_Z1fv", "f()");
	check("_Z5scalePfPKffi", "scale(float*, float const*, float, int)");
	check("_ZN3ops5inner6nestedEPhPKhj",
	      "ops::inner::nested(unsigned char*, unsigned char const*, unsigned int)");
	check("_ZN12_GLOBAL__N_13addEPf", "(anonymous namespace)::add(float*)");
	check("_ZL5localPf", "local(float*)");
	check("_ZN1A1BC1ERKS0_", "A::B::B(A::B const&)");
	check("_ZN1AIiED2Ev", "A<int>::~A()");
	check("_ZNK1AcvbEv", "A::operator bool() const");
	check("_ZNK3FooclEi", "Foo::operator()(int) const");
	check("_ZStlsIcEvT_", "void std::operator<< <char>(char)");
	check("_ZN1AB5cxx11Ev", "A[abi:cxx11]()");
	check("_Z3fooi.constprop.0.part.1", "foo(int) [clone .constprop.0] [clone .part.1]");
	check("_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()() const");
	check("_ZZ1fvE1x_0", "f()::x");
	check("_ZTV3Foo", "vtable for Foo");
	check("_ZTI3Foo", "typeinfo for Foo");
}
END_TEST

START_TEST(templates)
{
	check("_Z13shared_kernelIfEvPT_PKS0_i",
	      "void shared_kernel<float>(float*, float const*, int)");
	check("_ZN5model4fuseIfLi4EEEvPT_", "void model::fuse<float, 4>(float*)");
	check("_Z1fILb1ELj3ELln5EEvv", "void f<true, 3u, -5l>()");
	check("_Z1fILN2ns1EE2EEvv", "void f<(ns::E)2>()");
	check("_Z1fIJifdEEvDpT_", "void f<int, float, double>(int, float, double)");
	check("_Z1fIJEEvDpT_", "void f<>()");
	check("_Z1fIJifEEvDpRKT_", "void f<int, float>(int const&, float const&)");
	check("_Z1fIRiEvOT_", "void f<int&>(int&)");
	check("_Z4callIXadL_Z1gvEEEvv", "void call<&(g())>()");
	check("_Z1fI6__halfEvPS0_", "void f<__half>(__half*)");
	check("_Z1fIN7cutlass4half6tensorIfEEEvT_",
	      "void f<cutlass::half::tensor<float>>(cutlass::half::tensor<float>)");
}
END_TEST

START_TEST(types)
{
	check("_Z1fPFvifE", "f(void (*)(int, float))");
	check("_Z1fPPFvvE", "f(void (**)())");
	check("_Z1fPA3_i", "f(int (*) [3])");
	check("_Z1fRA3_A4_Ki", "f(int const (&) [3][4])");
	check("_Z1fM1AKFivE", "f(int (A::*)() const)");
	check("_Z1fM1Ai", "f(int A::*)");
	check("_Z1fDv4_f", "f(float __vector(4))");
	check("_Z1fPU3AS1f", "f(float AS1*)");
	check("_Z1fDnz", "f(decltype(nullptr), ...)");
	check("_Z1fSsSaIcE", "f(std::string, std::allocator<char>)");
	check("_Z1fu6__bf16", "f(__bf16)");
	check("_Z1fVKPrc", "f(char restrict* const volatile)");
}
END_TEST

START_TEST(no_symbols)
{
	check("", NULL);
	check("_Z", NULL);
	check("main", NULL);
	check("_Zfoo", NULL);
	check("_Z3fo", NULL);
	check("_Z99999999999999999999999f", NULL);
	check("_Z1fS_", NULL);
	check("_Z1fT_", NULL);
	check("_Z1fIiEvT0_", NULL);
	check("_Z1fiE", NULL);
	check("_Z1fDTfp_E", NULL); /* an expression */
}
END_TEST

/* What doubles with each step, and what nests, is refused before it takes time or memory. */
START_TEST(hostile)
{
	struct mpk_strbuf symbol = { 0 }, out = { 0 };
	const struct mpk_demangle_form whole = { .returns = true };

	mpk_strbuf_puts(&symbol, "_Z1fI1aS_E");
	for (int i = 0; i < 30; i++)
		mpk_strbuf_printf(&symbol, "1tIS%c_S%c_E",
				  "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i],
				  "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i]);
	(void)mpk_demangle(mpk_span_str(mpk_strbuf_text(&symbol)), whole, &out);
	ck_assert_uint_lt(out.len, 1 << 18);
	symbol.len = out.len = 0;
	mpk_strbuf_puts(&symbol, "_Z1f");
	for (int i = 0; i < 100000; i++)
		mpk_strbuf_putc(&symbol, 'P');
	mpk_strbuf_putc(&symbol, 'i');
	ck_assert(!mpk_demangle(mpk_span_str(mpk_strbuf_text(&symbol)), whole, &out));
	/* a pack of 100 that each of 20 parameters repeats; a short symbol may not take as many types as a long one */
	symbol.len = 0;
	mpk_strbuf_puts(&symbol, "_Z1fIJ");
	mpk_strbuf_fill(&symbol, 'i', 100);
	mpk_strbuf_puts(&symbol, "EEv");
	for (int i = 0; i < 20; i++)
		mpk_strbuf_puts(&symbol, "DpT_");
	ck_assert(!mpk_demangle(mpk_span_str(mpk_strbuf_text(&symbol)), whole, &out));
	symbol.len -= strlen("DpT_") * 18;
	symbol.data[symbol.len] = '\0';
	ck_assert(mpk_demangle(mpk_span_str(mpk_strbuf_text(&symbol)), whole, &out));
	mpk_strbuf_fini(&symbol);
	mpk_strbuf_fini(&out);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("demangle");
	TCase *c = tcase_create("demangle");

	tcase_add_test(c, functions);
	tcase_add_test(c, templates);
	tcase_add_test(c, types);
	tcase_add_test(c, no_symbols);
	tcase_add_test(c, hostile);
	suite_add_tcase(s, c);
	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
