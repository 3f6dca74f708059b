#include "probe.h"

#include <stdint.h>

#include "ar/ar.h"
#include "base/compiler.h"
#include "base/cursor.h"
#include "cubin/cubin.h"
#include "deflate/deflate.h"
#include "fatbin/fatbin.h"
#include "params/magic.h"
#include "ptx/ptx.h"
#include "spirv/spirv.h"
#include "tar/tar.h"

enum { EM_AMDGPU = 224, EM_HEXAGON = 164 };

/* Texts are told by words near the beginning: the rest may be megabytes of code. */
enum { TEXT_BYTES = 65536 };

static bool has(struct mpk_span s, const char *word)
{
	return s.len && memmem(s.data, s.len, word, strlen(word));
}

static bool is_text(struct mpk_span s)
{
	while (s.len && s.data[s.len - 1] == '\0')
		s.len--;
	if (s.len > TEXT_BYTES)
		s.len = TEXT_BYTES;
	for (size_t i = 0; i < s.len; i++)
		if (s.data[i] < ' ' && (s.data[i] < '\t' || s.data[i] > '\r'))
			return false;
	return s.len > 0;
}

static bool begins_json(struct mpk_span s)
{
	size_t i = 0;

	while (i < s.len && s.data[i] <= ' ')
		i++;
	return i < s.len && s.data[i] == '{';
}

static enum mpk_probe probe_text(struct mpk_span s)
{
	if (!is_text(s))
		return MPK_PROBE_UNKNOWN;
	if (mpk_ptx_is(s))
		return MPK_PROBE_PTX;
	if (s.len > TEXT_BYTES)
		s.len = TEXT_BYTES;
	if (has(s, "__global__"))
		return MPK_PROBE_CUDA;
	if (has(s, "metal_stdlib") || has(s, "using namespace metal") || has(s, "[[buffer("))
		return MPK_PROBE_METAL;
	if (has(s, "@compute") || (has(s, "@group(") && has(s, "@binding(")))
		return MPK_PROBE_WGSL;
	if (has(s, "__kernel") || has(s, "get_global_id(") || has(s, "get_group_id("))
		return MPK_PROBE_OPENCL;
	if (has(s, "target triple = ") || has(s, "\ndefine ") || has(s, "source_filename = "))
		return MPK_PROBE_LLVM;
	return begins_json(s) ? MPK_PROBE_JSON : MPK_PROBE_TEXT;
}

static enum mpk_probe probe_elf(struct mpk_span s)
{
	unsigned machine = s.len >= 20 ? mpk_load_u16(s.data + 18) : 0;

	if (mpk_cubin_is(s))
		return MPK_PROBE_CUBIN;
	if (machine == EM_AMDGPU)
		return MPK_PROBE_HSACO;
	return machine == EM_HEXAGON ? MPK_PROBE_HEXAGON : MPK_PROBE_ELF;
}

static enum mpk_probe probe_magic(struct mpk_span s)
{
	static const struct {
		const char *bytes;
		enum mpk_probe probe;
	} magics[] = {
		{ "\x93NUMPY", MPK_PROBE_NPY },
		{ "PK\3\4", MPK_PROBE_ZIP },
		{ "MTLB", MPK_PROBE_METALLIB },
		{ "xclbin2", MPK_PROBE_XCLBIN },
		{ "BC\xc0\xde", MPK_PROBE_BITCODE },
		{ "\xde\xc0\x17\x0b", MPK_PROBE_BITCODE },
		{ "__CLANG_OFFLOAD_BUNDLE__", MPK_PROBE_HSACO },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(magics); i++)
		if (mpk_span_starts(s, magics[i].bytes))
			return magics[i].probe;
	return MPK_PROBE_UNKNOWN;
}

enum mpk_probe mpk_probe(struct mpk_span bytes)
{
	enum mpk_probe probe;

	if (!bytes.len)
		return MPK_PROBE_EMPTY;
	if (mpk_span_starts(bytes, "\177ELF"))
		return probe_elf(bytes);
	if (mpk_fatbin_is(bytes))
		return MPK_PROBE_FATBIN;
	if (mpk_spirv_is(bytes))
		return MPK_PROBE_SPIRV;
	if (mpk_ar_is(bytes))
		return MPK_PROBE_AR;
	if (mpk_gzip_is(bytes))
		return MPK_PROBE_GZIP;
	if (bytes.len >= 8 && mpk_load_u64(bytes.data) == MPK_PARAMS_MAGIC)
		return MPK_PROBE_PARAMS;
	probe = probe_magic(bytes);
	if (probe != MPK_PROBE_UNKNOWN)
		return probe;
	return mpk_tar_is(bytes) ? MPK_PROBE_TAR : probe_text(bytes);
}

const char *mpk_probe_name(enum mpk_probe probe)
{
	static const char *const names[MPK_PROBE_COUNT] = {
		[MPK_PROBE_UNKNOWN] = "an unknown format",
		[MPK_PROBE_EMPTY] = "empty",
		[MPK_PROBE_PTX] = "PTX text",
		[MPK_PROBE_CUBIN] = "a cubin",
		[MPK_PROBE_FATBIN] = "a fatbin",
		[MPK_PROBE_SPIRV] = "SPIR-V",
		[MPK_PROBE_HSACO] = "an AMD GPU code object",
		[MPK_PROBE_HEXAGON] = "a Hexagon library",
		[MPK_PROBE_ELF] = "an ELF file",
		[MPK_PROBE_AR] = "an ar archive",
		[MPK_PROBE_TAR] = "a tar archive",
		[MPK_PROBE_GZIP] = "a gzip file",
		[MPK_PROBE_ZIP] = "a zip file",
		[MPK_PROBE_NPY] = "a .npy array",
		[MPK_PROBE_PARAMS] = "a TVM parameter file",
		[MPK_PROBE_METALLIB] = "a Metal library",
		[MPK_PROBE_XCLBIN] = "an xclbin",
		[MPK_PROBE_BITCODE] = "LLVM bitcode",
		[MPK_PROBE_JSON] = "JSON",
		[MPK_PROBE_OPENCL] = "OpenCL C source",
		[MPK_PROBE_METAL] = "Metal source",
		[MPK_PROBE_WGSL] = "WGSL source",
		[MPK_PROBE_CUDA] = "CUDA C++ source",
		[MPK_PROBE_LLVM] = "LLVM IR",
		[MPK_PROBE_TEXT] = "text of an unknown language",
	};

	return names[probe];
}

bool mpk_probe_is_source(enum mpk_probe probe)
{
	return probe == MPK_PROBE_OPENCL || probe == MPK_PROBE_METAL || probe == MPK_PROBE_WGSL ||
	       probe == MPK_PROBE_CUDA || probe == MPK_PROBE_TEXT;
}
