/* SPDX-License-Identifier: Apache-2.0 */
/* The readers of device code and archives; the first byte picks one. */
#include <stddef.h>
#include <stdint.h>

#include "ar/ar.h"
#include "base/arena.h"
#include "base/compiler.h"
#include "code/show.h"
#include "code/verify.h"
#include "cubin/cubin.h"
#include "deflate/deflate.h"
#include "fatbin/fatbin.h"
#include "itanium/itanium.h"
#include "ptx/ptx.h"
#include "sourcecode/sourcecode.h"
#include "spirv/spirv.h"
#include "tar/tar.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum mpk_code read_ar(struct mpk_span bytes, struct mpk_arena *arena)
{
	struct mpk_ar ar;

	return mpk_ar_read(bytes, arena, &ar, NULL);
}

static enum mpk_code read_tar(struct mpk_span bytes, struct mpk_arena *arena)
{
	struct mpk_tar tar;

	return mpk_tar_read(bytes, arena, &tar, NULL);
}

static enum mpk_code read_gzip(struct mpk_span bytes, struct mpk_arena *arena)
{
	struct mpk_span out;

	return mpk_gzip_read(bytes, 1 << 20, arena, &out, NULL);
}

static enum mpk_code read_cubin(struct mpk_span bytes, struct mpk_arena *arena)
{
	struct mpk_cubin cubin;

	return mpk_cubin_read(bytes, arena, &cubin, NULL);
}

static enum mpk_code read_fatbin(struct mpk_span bytes, struct mpk_arena *arena)
{
	struct mpk_fatbin fatbin;

	return mpk_fatbin_read(bytes, arena, &fatbin, NULL);
}

static enum mpk_code read_ptx(struct mpk_span bytes, struct mpk_arena *arena)
{
	struct mpk_ptx ptx;

	return mpk_ptx_read(bytes, arena, &ptx, NULL);
}

static enum mpk_code read_spirv(struct mpk_span bytes, struct mpk_arena *arena)
{
	const struct mpk_spirv_param *params;
	struct mpk_spirv spirv;
	size_t count;
	bool known;

	MPK_TRY(mpk_spirv_read(bytes, arena, &spirv, NULL));
	for (size_t i = 0; i < spirv.entry_count; i++)
		MPK_TRY(mpk_spirv_params(bytes, &spirv, i, arena, &params, &count, &known, NULL));
	return MPK_OK;
}

static void ask_kernels(const struct mpk_source_code *source, struct mpk_span bytes)
{
	struct mpk_strbuf symbol = { 0 };
	struct mpk_source_code_param p;

	for (size_t i = 0; i < source->kernel_count; i++) {
		(void)mpk_source_code_symbol(&source->kernels[i], bytes, &symbol);
		for (size_t k = 0; k < source->kernels[i].param_count && k < 64; k++)
			mpk_source_code_param_read(mpk_source_code_param(&source->kernels[i], k),
						   &p);
	}
	mpk_strbuf_fini(&symbol);
}

static enum mpk_code read_source(struct mpk_span bytes, struct mpk_arena *arena)
{
	const struct mpk_source_code_piece *pieces;
	struct mpk_source_code source;
	size_t count;

	MPK_TRY(mpk_source_code_split(bytes, arena, &pieces, &count, NULL));
	for (int l = MPK_SOURCE_CODE_OPENCL; l <= MPK_SOURCE_CODE_CUDA; l++)
		MPK_TRY(mpk_source_code_read(bytes, (enum mpk_source_code_language)l, arena,
					     &source, NULL));
	ask_kernels(&source, bytes);
	return MPK_OK;
}

static enum mpk_code read_symbol(struct mpk_span bytes, struct mpk_arena *arena)
{
	struct mpk_itanium_function f;

	return mpk_itanium_read(bytes, arena, &f, NULL);
}

/* Everything that is asked of the row that takes the bytes. */
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
	for (size_t i = 0; f->kernel_text && i < info->kernel_count; i++) {
		f->kernel_text(info, i, &out);
		f->kernel_json(info, i, &j, j.root);
		(void)mpk_code_info_defines(info, info->kernels[i].name);
		for (size_t k = 0; f->param_bytes && k < info->kernels[i].param_count; k++)
			(void)f->param_bytes(info, i, k);
	}
	mpk_json_fini(&j);
	mpk_strbuf_fini(&out);
	mpk_report_fini(&report);
}

static enum mpk_code read_any(struct mpk_span bytes, struct mpk_arena *arena)
{
	struct mpk_code_info info;

	MPK_TRY(mpk_code_info_read(bytes, 0, &mpk_format_opencl, arena, &info, NULL));
	ask_row(&info);
	return MPK_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static enum mpk_code (*const readers[])(struct mpk_span, struct mpk_arena *) = {
		read_any,    read_ar,  read_tar,   read_gzip,   read_cubin,
		read_fatbin, read_ptx, read_spirv, read_source, read_symbol,
	};
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };

	if (size)
		(void)!readers[data[0] % MPK_ARRAY_COUNT(readers)](mpk_span_of(data + 1, size - 1),
								   &arena);
	return 0;
}
