/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions as --diff compares them: what disassemblers print, without addresses and numbers of registers, and that
 * any text is taken, wherever it ends. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "disasm/internal/job.h"

static const char sass[] = "//--------------------- .text.f --------------------------\n"
			   "\t.section\t.text.f,\"ax\",@progbits\n"
			   "f:\n.text.f:\n"
			   "        /*0000*/                   MOV R1, c[0x0][0x28] ;\n"
			   "\t//## File \"/src/f.cu\", line 3\n"
			   ".L_x_41:\n"
			   "        /*0010*/               @!P0 BRA `(.L_x_43) ;\n"
			   "        /*0020*/                   STG.E [R2.64+0x4], UR12 ;\n"
			   "        /*0030*/                   BRA `(.L_x_41) ;\n"
			   ".L_x_43:\n"
			   "        /*0040*/                   NOP;\n"
			   "        /*0050*/                   NOP;\n";

static const char ptx[] =
	".visible .entry f(\n)\n{\n\t.reg .b32 \t%r<5>;\n\t.loc 1 3 4\n"
	"\tmov.u32 %r12, %tid.x;\n$L__BB0_2:\n\tadd.s32 %r1, %r12, 7; // seven\n\tret;\n}\n";

static const char spirv[] = "; SPIR-V\n%12 = OpFAdd %float %_struct_7 %uint_64\n";

static void lines_of(const char *format, const char *text, size_t len, struct mpk_disasm_lines *out)
{
	/* of its own size, so that a sanitizer sees a byte too far */
	uint8_t *copy = malloc(len ? len : 1);
	struct mpk_listing l = { .path = "", .format = format, .target = "" };

	ck_assert_ptr_nonnull(copy);
	memcpy(copy, text, len);
	l.text = mpk_span_of(copy, len);
	mpk_disasm_lines_add(out, &l);
	free(copy);
	ck_assert(!out->failed);
	for (size_t i = 0, from = 0; i < out->count; from = out->ends[i++])
		ck_assert_uint_lt(from, out->ends[i]);
	ck_assert_uint_eq(out->count ? out->ends[out->count - 1] : 0, out->shown.len);
}

static void check_lines(const char *format, const char *text, const char *shown, const char *plain)
{
	struct mpk_disasm_lines l = { 0 };

	lines_of(format, text, strlen(text), &l);
	ck_assert_str_eq(mpk_strbuf_text(&l.shown), shown);
	ck_assert_str_eq(mpk_strbuf_text(&l.plain), plain);
	mpk_disasm_lines_fini(&l);
	for (size_t len = 0; len < strlen(text); len++) {
		lines_of(format, text, len, &l);
		mpk_disasm_lines_fini(&l);
	}
}

START_TEST(languages)
{
	check_lines(
		"cubin", sass,
		"MOV R1, c[0x0][0x28] ;\n.L0:\n@!P0 BRA `(.L1) ;\nSTG.E [R2.64+0x4], UR12 ;\n"
		"BRA `(.L0) ;\n",
		"MOV R, c[0x0][0x28] ;\n.L:\n@!P BRA `(.L) ;\nSTG.E [R.64+0x4], UR ;\nBRA `(.L) ;\n");
	check_lines(
		"ptx", ptx,
		".visible .entry f(\n)\n{\nmov.u32 %r12, %tid.x;\n$L__BB0_2:\n"
		"add.s32 %r1, %r12, 7; // seven\nret;\n}\n",
		".visible .entry f(\n)\n{\nmov.u32 %r, %tid.x;\n$:\nadd.s32 %r, %r, 7; // seven\n"
		"ret;\n}\n");
	/* values that are named after what they are have a number that means something */
	check_lines("spirv", spirv, "%12 = OpFAdd %float %_struct_7 %uint_64\n",
		    "% = OpFAdd %float %_struct_ %uint_64\n");
	check_lines("opencl", "x1 = R2;\n", "x1 = R2;\n", "x1 = R2;\n");
}
END_TEST

/* A label that stands for itself, comments that do not end, words of nothing but digits. */
START_TEST(odd_texts)
{
	check_lines("cubin", "/*00", "/*00\n", "/*00\n");
	check_lines("cubin", ".L_x_:\n.L_x_1:\nR1 ;\n", ".L_x_:\n.L0:\nR1 ;\n",
		    ".L_x_:\n.L:\nR ;\n");
	check_lines("cubin", "NOP;\n", "", "");
	check_lines("cubin", "\n\n:\n", "", "");
	check_lines("spirv", "%7%8 12 %\n", "%7%8 12 %\n", "%7%8 12 %\n");
}
END_TEST

/* More than is kept: said, and no longer text. */
START_TEST(too_long)
{
	struct mpk_disasm_lines l = { 0 };
	size_t len = 2 * (size_t)MPK_DISASM_LINES_BYTES;
	char *text = malloc(len);

	ck_assert_ptr_nonnull(text);
	memset(text, '\n', len);
	for (size_t i = 0; i < len; i += 2)
		text[i] = 'R';
	lines_of("cubin", text, len, &l);
	ck_assert(l.is_cut);
	ck_assert_uint_le(l.shown.len, MPK_DISASM_LINES_BYTES + 2);
	mpk_disasm_lines_fini(&l);
	free(text);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("disasm_lines");
	TCase *tc = tcase_create("disasm_lines");
	SRunner *r = srunner_create(s);

	tcase_add_test(tc, languages);
	tcase_add_test(tc, odd_texts);
	tcase_add_test(tc, too_long);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
