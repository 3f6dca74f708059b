/* The readers of device code and archives; the first byte picks one. */
#include <stddef.h>
#include <stdint.h>

#include "ar/ar.h"
#include "base/arena.h"
#include "base/compiler.h"
#include "clsource/clsource.h"
#include "cubin/cubin.h"
#include "deflate/deflate.h"
#include "fatbin/fatbin.h"
#include "probe.h"
#include "ptx/ptx.h"
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
	struct mpk_spirv spirv;

	return mpk_spirv_read(bytes, arena, &spirv, NULL);
}

static enum mpk_code read_source(struct mpk_span bytes, struct mpk_arena *arena)
{
	const struct mpk_clsource_piece *pieces;
	struct mpk_clsource source;
	size_t count;

	MPK_TRY(mpk_clsource_split(bytes, arena, &pieces, &count, NULL));
	for (int l = MPK_CLSOURCE_OPENCL; l <= MPK_CLSOURCE_CUDA; l++)
		MPK_TRY(mpk_clsource_read(bytes, (enum mpk_clsource_language)l, arena, &source,
					  NULL));
	return MPK_OK;
}

static enum mpk_code read_any(struct mpk_span bytes, struct mpk_arena *arena)
{
	struct mpk_probe_names names;

	return mpk_probe_kernels(bytes, arena, &names, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static enum mpk_code (*const readers[])(struct mpk_span, struct mpk_arena *) = {
		read_any,    read_ar,  read_tar,   read_gzip,   read_cubin,
		read_fatbin, read_ptx, read_spirv, read_source,
	};
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };

	if (size)
		(void)!readers[data[0] % MPK_ARRAY_COUNT(readers)](mpk_span_of(data + 1, size - 1),
								   &arena);
	return 0;
}
