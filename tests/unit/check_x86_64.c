/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions of x86-64 as GNU as encodes them: their lengths are those that objdump gives them */
#include "elf/instructions.h"
#include <check.h>
#include <stdlib.h>

#include "harness.h"

/* Encoded by GNU as 2.40; what follows is no instruction. */
static const struct {
	const char *text, *bytes;
	size_t len;
} rows[] = {
	{ "push %r15", "\x41\x57", 2 },
	{ "mov %rcx,0x10(%rsp)", "\x48\x89\x4c\x24\x10", 5 },
	{ "mov %r15,(%rsp)", "\x4c\x89\x3c\x24", 4 },
	{ "movq $1,0x10(%rbx)", "\x48\xc7\x43\x10\x01\x00\x00\x00", 8 },
	{ "movl $0,4(%rsi)", "\xc7\x46\x04\x00\x00\x00\x00", 7 },
	{ "movw $5,(%rax)", "\x66\xc7\x00\x05\x00", 5 },
	{ "movabs $-1,%rax", "\x48\xb8\xff\xff\xff\xff\xff\xff\xff\xff", 10 },
	{ "mov $5,%ax", "\x66\xb8\x05\x00", 4 },
	{ "mov 0x1234(%rip),%rax", "\x48\x8b\x05\x34\x12\x00\x00", 7 },
	{ "lea 0x28(%rbx,%rcx,8),%rdi", "\x48\x8d\x7c\xcb\x28", 5 },
	{ "mov 0x1000(,%rax,4),%ecx", "\x8b\x0c\x85\x00\x10\x00\x00", 7 },
	{ "call *0(%r13)", "\x41\xff\x55\x00", 4 },
	{ "jne .+0x1000", "\x0f\x85\xfa\x0f\x00\x00", 6 },
	{ "testb $1,(%rdi)", "\xf6\x07\x01", 3 },
	{ "notl (%rdi)", "\xf7\x17", 2 },
	{ "testw $1,(%rdi)", "\x66\xf7\x07\x01\x00", 5 },
	{ "movups %xmm0,0x80(%rbx)", "\x0f\x11\x83\x80\x00\x00\x00", 7 },
	{ "pshufd $5,%xmm1,%xmm2", "\x66\x0f\x70\xd1\x05", 5 },
	{ "pshufb %xmm1,%xmm2", "\x66\x0f\x38\x00\xd1", 5 },
	{ "palignr $3,%xmm1,%xmm2", "\x66\x0f\x3a\x0f\xd1\x03", 6 },
	{ "vmovups %ymm0,(%rbx)", "\xc5\xfc\x11\x03", 4 },
	{ "vperm2f128 $1,%ymm9,%ymm8,%ymm8", "\xc4\x43\x3d\x06\xc1\x01", 6 },
	{ "vmovups %zmm0,0x40(%rbx)", "\x62\xf1\x7c\x48\x11\x43\x01", 7 },
	{ "lock cmpxchg %rcx,(%rdx)", "\xf0\x48\x0f\xb1\x0a", 5 },
	{ "nopw %cs:0(%rax,%rax,1)", "\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00", 10 },
	{ "enter $16,$0", "\xc8\x10\x00\x00", 4 },
	{ "movabs 0x1122334455667788,%al", "\xa0\x88\x77\x66\x55\x44\x33\x22\x11", 9 },
	{ "ud2", "\x0f\x0b", 2 },
};

START_TEST(lengths_are_those_of_the_assembler)
{
	struct mpk_x86 i;

	ck_assert_msg(mpk_x86_read(mpk_span_of((const uint8_t *)rows[_i].bytes, rows[_i].len), &i),
		      "%s", rows[_i].text);
	ck_assert_uint_eq(i.len, rows[_i].len);
	for (size_t n = 0; n < rows[_i].len; n++)
		ck_assert_msg(!mpk_x86_read(mpk_span_of(rows[_i].bytes, n), &i), "%zu bytes of %s",
			      n, rows[_i].text);
}
END_TEST

static struct mpk_x86 read_one(const char *bytes, size_t len)
{
	struct mpk_x86 i;

	ck_assert(mpk_x86_read(mpk_span_of(bytes, len), &i));
	return i;
}

START_TEST(operands_are_told)
{
	/* mov %r13d,-8(%r12) */
	struct mpk_x86 i = read_one("\x45\x89\x6c\x24\xf8", 5);

	ck_assert(i.is_memory && !i.wide && !i.is_rip && !i.is_indexed);
	ck_assert_uint_eq(i.reg, 13);
	ck_assert_uint_eq(i.rm, 12);
	ck_assert_int_eq(i.disp, -8);
	i = read_one("\x48\x83\xec\x78", 4); /* sub $0x78,%rsp */
	ck_assert(i.wide && !i.is_memory);
	ck_assert_uint_eq(i.reg, 5);
	ck_assert_uint_eq(i.rm, MPK_X86_RSP);
	ck_assert_uint_eq(i.imm, 0x78);
	i = read_one("\xe8\xf0\xff\xff\xff", 5); /* call, backwards */
	ck_assert_int_eq((int64_t)i.imm, -16);
	ck_assert(!i.has_modrm);
	i = read_one("\x42\x8b\x04\x20", 4); /* mov (%rax,%r12,1),%eax */
	ck_assert(i.is_indexed);
}
END_TEST

START_TEST(what_is_no_instruction_is_told)
{
	struct mpk_x86 i;

	/* push %es, daa, a far call, what no processor has */
	ck_assert(!mpk_x86_read(mpk_span_str("\x06"), &i));
	ck_assert(!mpk_x86_read(mpk_span_str("\x27"), &i));
	ck_assert(!mpk_x86_read(mpk_span_str("\x9a\x01\x02\x03\x04\x05\x06"), &i));
	ck_assert(!mpk_x86_read(mpk_span_str("\x0f\x04\x01\x01\x01"), &i));
	ck_assert(!mpk_x86_read(mpk_span_str("\x66\x66\x66\x66\x66\x66\x66"), &i));
	ck_assert(!mpk_x86_read(mpk_span_of(NULL, 0), &i));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("x86_64");
	TCase *t = tcase_create("x86_64");
	SRunner *runner;
	int failed;

	tcase_add_loop_test(t, lengths_are_those_of_the_assembler, 0,
			    (int)(sizeof rows / sizeof rows[0]));
	tcase_add_test(t, operands_are_told);
	tcase_add_test(t, what_is_no_instruction_is_told);
	suite_add_tcase(suite, t);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
