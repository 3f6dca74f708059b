/* SPDX-License-Identifier: Apache-2.0 */
/* The readers of device code, archives and object files; the first byte picks one. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "amdgpu/amdgpu.h"
#include "ar/ar.h"
#include "base/arena.h"
#include "base/compiler.h"
#include "code/show.h"
#include "code/verify.h"
#include "coff/coff.h"
#include "csource/csource.h"
#include "cubin/cubin.h"
#include "deflate/deflate.h"
#include "dwarf/dwarf.h"
#include "fatbin/fatbin.h"
#include "itanium/itanium.h"
#include "macho/macho.h"
#include "msgpack/msgpack.h"
#include "offload/offload.h"
#include "ptx/ptx.h"
#include "sourcecode/sourcecode.h"
#include "spirv/spirv.h"
#include "tar/tar.h"
#include "zip/zip.h"

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

/* Every byte that a symbol is said to have is there. */
static void touch(const struct mpk_object *o)
{
	volatile uint8_t sum = 0;

	for (size_t i = 0; i < o->symbol_count; i++) {
		const struct mpk_object_symbol *s = &o->symbols[i];

		sum = (uint8_t)(sum + strlen(s->name));
		if (s->content.len)
			sum = (uint8_t)(sum + s->content.data[0] +
					s->content.data[s->content.len - 1]);
	}
	for (size_t i = 0; i < o->needed_count; i++)
		sum = (uint8_t)(sum + strlen(o->needed[i]));
}

static enum mpk_code read_macho(struct mpk_span bytes, struct mpk_arena *arena)
{
	struct mpk_macho_slice *slices;
	struct mpk_object object;
	size_t count;

	if (mpk_macho_is_universal(bytes))
		return mpk_macho_slices(bytes, arena, &slices, &count, NULL);
	MPK_TRY(mpk_macho_read(bytes, arena, &object, NULL));
	touch(&object);
	return MPK_OK;
}

static enum mpk_code read_coff(struct mpk_span bytes, struct mpk_arena *arena)
{
	struct mpk_object object;

	MPK_TRY((mpk_pe_is(bytes) ? mpk_pe_read : mpk_coff_read)(bytes, arena, &object, NULL));
	touch(&object);
	return MPK_OK;
}

static enum mpk_code read_csource(struct mpk_span bytes, struct mpk_arena *arena)
{
	struct mpk_object object;
	struct mpk_span out;

	MPK_TRY(mpk_csource_strings(bytes, arena, &out, NULL));
	MPK_TRY(mpk_csource_read(bytes, arena, &object, NULL));
	touch(&object);
	for (size_t i = 0; i < object.symbol_count; i++)
		if (object.symbols[i].content.len)
			(void)!mpk_csource_bytes(&object.symbols[i], arena, &out, NULL);
	return MPK_OK;
}

static enum mpk_code read_symbol(struct mpk_span bytes, struct mpk_arena *arena)
{
	struct mpk_itanium_function f;

	return mpk_itanium_read(bytes, arena, &f, NULL);
}

static enum mpk_code read_amdgpu(struct mpk_span bytes, struct mpk_arena *arena)
{
	struct mpk_amdgpu amdgpu;

	return mpk_amdgpu_read(bytes, arena, &amdgpu, NULL);
}

static enum mpk_code read_offload(struct mpk_span bytes, struct mpk_arena *arena)
{
	struct mpk_offload_packed packed;
	struct mpk_offload list;
	const uint64_t *sizes;
	struct mpk_span head;

	if (!mpk_offload_is_packed(bytes))
		return mpk_offload_read(bytes, arena, &list, NULL);
	MPK_TRY(mpk_offload_read_packed(bytes, &packed, NULL));
	if (packed.plain_bytes > 1 << 20) /* memory of the fuzzer, not of the reader */
		return MPK_OK;
	MPK_TRY(mpk_offload_unpack_head(&packed, 4096, arena, &head, NULL));
	MPK_TRY(mpk_offload_list_head(head, arena, &list, &sizes, NULL));
	MPK_TRY(mpk_offload_unpack(&packed, arena, &head, NULL));
	return mpk_offload_read(head, arena, &list, NULL);
}

static enum mpk_code read_msgpack(struct mpk_span bytes, struct mpk_arena *arena)
{
	struct mpk_cursor c = mpk_cursor_of(bytes, 0, "payload");

	(void)arena;
	while (mpk_cursor_left(&c))
		MPK_TRY(mpk_msgpack_skip(&c, NULL));
	return MPK_OK;
}

static enum mpk_code read_zip(struct mpk_span bytes, struct mpk_arena *arena)
{
	static const struct mpk_zip_options options = { "file", "unpack it", true };
	struct mpk_zip_member *members;
	struct mpk_span content;
	size_t count;

	MPK_TRY(mpk_zip_list(bytes, "file", arena, &members, &count, NULL));
	for (size_t i = 0; i < count && i < 16; i++)
		if (members[i].plain < 1 << 20)
			(void)!mpk_zip_read(bytes, &members[i], &options, arena, &content, NULL);
	return MPK_OK;
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

/* The names stand in the same bytes. */
static enum mpk_code read_dwarf(struct mpk_span bytes, struct mpk_arena *arena)
{
	const struct mpk_dwarf d = { bytes, bytes, bytes };
	const struct mpk_dwarf_row *rows;
	uint64_t budget = 1 << 22;
	size_t count;

	return mpk_dwarf_rows(&d, 0, UINT64_MAX, &budget, arena, &rows, &count, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static enum mpk_code (*const readers[])(struct mpk_span, struct mpk_arena *) = {
		read_any,     read_ar,     read_tar,     read_gzip,   read_cubin,   read_fatbin,
		read_ptx,     read_spirv,  read_source,  read_symbol, read_macho,   read_coff,
		read_csource, read_amdgpu, read_offload, read_zip,    read_msgpack, read_dwarf,
	};
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };

	if (size)
		(void)!readers[data[0] % MPK_ARRAY_COUNT(readers)](mpk_span_of(data + 1, size - 1),
								   &arena);
	return 0;
}
