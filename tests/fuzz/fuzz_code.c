/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_code - device code of any format, recognised by its bytes, with all that is asked of its row */
#include "code/info.h"
#include "code/show.h"
#include "fuzz.h"

static void ask_kernels(const struct mpk_code_info *info, struct mpk_json *j,
			struct mpk_strbuf *out)
{
	const struct mpk_code_format *f = info->format;
	struct mpk_figures figures;

	for (size_t i = 0; f->kernel_text && i < info->kernel_count && i < 16; i++) {
		mpk_code_kernel_text(info, i, out);
		mpk_code_kernel_json(info, i, j, j->root);
		(void)mpk_code_figures(info, i, &figures);
		(void)mpk_code_info_defines(info, info->kernels[i].name);
		for (size_t k = 0; f->param_bytes && k < info->kernels[i].param_count && k < 16;
		     k++)
			(void)f->param_bytes(info, i, k);
	}
}

static void ask_row(const struct mpk_code_info *info)
{
	const struct mpk_code_format *f = info->format;
	struct mpk_report report = { 0 };
	const struct mpk_code_verify v = { .report = &report,
					   .file = "a",
					   .path = "/",
					   .kind = mpk_span_str("cuda"),
					   .check = "a" };
	struct mpk_strbuf out = { 0 };
	struct mpk_json j;

	mpk_json_init(&j, 1);
	mpk_code_info_text(info, &out);
	mpk_code_info_json(info, &j, j.root);
	if (f->lines && !info->problem)
		f->lines(info, "", &out);
	if (f->verify && (!info->problem || f->verifies_broken))
		f->verify(info, &v);
	ask_kernels(info, &j, &out);
	mpk_json_fini(&j);
	fuzz_printable(&out);
	mpk_strbuf_fini(&out);
	mpk_report_fini(&report);
}

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	struct mpk_code_info info;

	if (mpk_code_info_read(bytes, 0, &mpk_format_opencl, arena, &info, NULL) == MPK_OK)
		ask_row(&info);
}
