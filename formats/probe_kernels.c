#include "probe.h"

#include <stddef.h>

#include "base/compiler.h"
#include "clsource/clsource.h"
#include "cubin/cubin.h"
#include "fatbin/fatbin.h"
#include "ptx/ptx.h"
#include "spirv/spirv.h"

/* The member `name` of each row; NULL: memory is out. */
#define NAMES_OF(rows, count, arena)                                                               \
	copy_names(rows, sizeof *(rows), offsetof(__typeof__(*(rows)), name), count, arena)

static struct mpk_span *copy_names(const void *rows, size_t stride, size_t off, size_t count,
				   struct mpk_arena *arena)
{
	struct mpk_span *names = mpk_arena_array(arena, count, sizeof *names);

	for (size_t i = 0; names && i < count; i++)
		memcpy(&names[i], (const uint8_t *)rows + i * stride + off, sizeof *names);
	return names;
}

static enum mpk_code list_ptx(struct mpk_span bytes, struct mpk_arena *arena,
			      struct mpk_probe_names *out, struct mpk_error *err)
{
	struct mpk_ptx ptx;
	struct mpk_span *names;

	MPK_TRY(mpk_ptx_read(bytes, arena, &ptx, err));
	names = NAMES_OF(ptx.kernels, ptx.kernel_count, arena);
	if (!names)
		return mpk_fail_nomem(err);
	*out = (struct mpk_probe_names){ .names = names,
					 .count = ptx.kernel_count,
					 .functions = ptx.functions,
					 .function_count = ptx.function_count,
					 .complete = true };
	return MPK_OK;
}

static enum mpk_code list_cubin(struct mpk_span bytes, struct mpk_arena *arena,
				struct mpk_probe_names *out, struct mpk_error *err)
{
	struct mpk_cubin cubin;
	struct mpk_span *names;

	MPK_TRY(mpk_cubin_read(bytes, arena, &cubin, err));
	names = NAMES_OF(cubin.kernels, cubin.kernel_count, arena);
	if (!names)
		return mpk_fail_nomem(err);
	*out = (struct mpk_probe_names){ .names = names,
					 .count = cubin.kernel_count,
					 .complete = true };
	return MPK_OK;
}

/* All images of a fatbin hold the same kernels: the first one that can be read counts,
 * but all that can be are checked. */
static enum mpk_code list_fatbin(struct mpk_span bytes, struct mpk_arena *arena,
				 struct mpk_probe_names *out, struct mpk_error *err)
{
	struct mpk_fatbin fatbin;
	struct mpk_probe_names found, first = { 0 };

	MPK_TRY(mpk_fatbin_read(bytes, arena, &fatbin, err));
	for (size_t i = 0; i < fatbin.entry_count; i++) {
		const struct mpk_fatbin_entry *e = &fatbin.entries[i];

		if (e->packing != MPK_FATBIN_STORED)
			continue;
		if (e->kind == MPK_FATBIN_PTX)
			MPK_TRY(list_ptx(e->data, arena, &found, err));
		else if (e->kind == MPK_FATBIN_ELF)
			MPK_TRY(list_cubin(e->data, arena, &found, err));
		else
			continue;
		if (!first.complete)
			first = found;
	}
	*out = first;
	return MPK_OK;
}

static enum mpk_code list_spirv(struct mpk_span bytes, struct mpk_arena *arena,
				struct mpk_probe_names *out, struct mpk_error *err)
{
	struct mpk_spirv spirv;
	struct mpk_span *names;

	MPK_TRY(mpk_spirv_read(bytes, arena, &spirv, err));
	names = mpk_arena_array(arena, spirv.entry_count, sizeof *names);
	if (!names)
		return mpk_fail_nomem(err);
	for (size_t i = 0; i < spirv.entry_count; i++)
		names[i] = mpk_span_str(spirv.entries[i].name);
	*out = (struct mpk_probe_names){ .names = names,
					 .count = spirv.entry_count,
					 .complete = true };
	return MPK_OK;
}

static enum mpk_code list_source(struct mpk_span bytes, enum mpk_clsource_language language,
				 struct mpk_arena *arena, struct mpk_probe_names *out,
				 struct mpk_error *err)
{
	struct mpk_clsource source;
	struct mpk_span *names;

	MPK_TRY(mpk_clsource_read(bytes, language, arena, &source, err));
	names = NAMES_OF(source.kernels, source.kernel_count, arena);
	if (!names)
		return mpk_fail_nomem(err);
	*out = (struct mpk_probe_names){ .names = names,
					 .count = source.kernel_count,
					 .source = bytes };
	return MPK_OK;
}

enum mpk_code mpk_probe_kernels(struct mpk_span bytes, struct mpk_arena *arena,
				struct mpk_probe_names *out, struct mpk_error *err)
{
	enum mpk_probe probe = mpk_probe(bytes);

	if (probe == MPK_PROBE_PTX)
		return list_ptx(bytes, arena, out, err);
	if (probe == MPK_PROBE_CUBIN)
		return list_cubin(bytes, arena, out, err);
	if (probe == MPK_PROBE_FATBIN)
		return list_fatbin(bytes, arena, out, err);
	if (probe == MPK_PROBE_SPIRV)
		return list_spirv(bytes, arena, out, err);
	if (probe == MPK_PROBE_OPENCL)
		return list_source(bytes, MPK_CLSOURCE_OPENCL, arena, out, err);
	if (probe == MPK_PROBE_METAL)
		return list_source(bytes, MPK_CLSOURCE_METAL, arena, out, err);
	if (probe == MPK_PROBE_WGSL)
		return list_source(bytes, MPK_CLSOURCE_WGSL, arena, out, err);
	if (probe == MPK_PROBE_CUDA)
		return list_source(bytes, MPK_CLSOURCE_CUDA, arena, out, err);
	*out = (struct mpk_probe_names){ .source = probe == MPK_PROBE_TEXT
							   ? bytes
							   : (struct mpk_span){ 0 } };
	return MPK_OK;
}

static bool is_among(struct mpk_span name, const struct mpk_span *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (mpk_span_equal(names[i], name))
			return true;
	return false;
}

enum mpk_probe_kernel mpk_probe_find(const struct mpk_probe_names *names, struct mpk_span name)
{
	if (is_among(name, names->names, names->count))
		return MPK_PROBE_DEFINED;
	if (is_among(name, names->functions, names->function_count))
		return MPK_PROBE_FUNCTION;
	if (names->complete || (names->source.len && !mpk_clsource_may_define(names->source, name)))
		return MPK_PROBE_MISSING;
	return MPK_PROBE_POSSIBLE;
}
