#include "package/format.h"

#include <string.h>

#include "base/compiler.h"
#include "base/cursor.h"

enum {
	ELF_MACHINE_OFF = 18, ELF_MIN = 52, EM_CUDA_CODE = 190, EM_AMDGPU_CODE = 224,
	EM_HEXAGON_CODE = 164, SPIRV_HEADER = 20,
};
#define FATBIN_MAGIC UINT32_C(0xba55ed50)
#define SPIRV_MAGIC UINT32_C(0x07230203)

static bool is_elf_for(struct mpk_span s, unsigned machine)
{
	return s.len >= ELF_MIN && memcmp(s.data, "\177ELF", 4) == 0 &&
	       mpk_load_u16(s.data + ELF_MACHINE_OFF) == machine;
}

/* Source text: no NUL but at the very end, where some tools leave one. */
static bool is_text(struct mpk_span s)
{
	while (s.len && s.data[s.len - 1] == 0)
		s.len--;
	return s.len && !memchr(s.data, 0, s.len);
}

static bool has_directive(struct mpk_span s, const char *word)
{
	size_t n = strlen(word);
	const uint8_t *at = s.data, *end = s.data + s.len;

	while (at < end && (at = memmem(at, (size_t)(end - at), word, n))) {
		if (at == s.data || strchr(" \t\r\n", at[-1]))
			return true;
		at += n;
	}
	return false;
}

static bool is_ptx(struct mpk_span s)
{
	return is_text(s) && has_directive(s, ".version") && has_directive(s, ".target");
}

static bool is_fatbin(struct mpk_span s)
{
	return s.len >= 4 && mpk_load_u32(s.data) == FATBIN_MAGIC;
}

/* TVM labels what nvcc -fatbin gives "cubin" too; the driver tells them apart. */
static bool is_cubin(struct mpk_span s)
{
	return is_elf_for(s, EM_CUDA_CODE) || is_fatbin(s);
}

static bool is_cuda(struct mpk_span s)
{
	return is_text(s) && !is_ptx(s);
}

static bool is_xclbin(struct mpk_span s)
{
	return s.len > 7 && memcmp(s.data, "xclbin", 6) == 0;
}

static bool is_metallib(struct mpk_span s)
{
	return s.len > 4 && memcmp(s.data, "MTLB", 4) == 0;
}

static bool is_spirv(struct mpk_span s)
{
	return s.len >= SPIRV_HEADER && s.len % 4 == 0 && mpk_load_u32(s.data) == SPIRV_MAGIC;
}

static bool is_hsaco(struct mpk_span s)
{
	static const char bundle[] = "__CLANG_OFFLOAD_BUNDLE__";

	return is_elf_for(s, EM_AMDGPU_CODE) ||
	       (s.len >= sizeof bundle && memcmp(s.data, bundle, sizeof bundle - 1) == 0);
}

static bool is_hexagon(struct mpk_span s)
{
	return is_elf_for(s, EM_HEXAGON_CODE);
}

static const struct mpk_code_format formats[] = {
	/* PTX not exact: TVM writes kernels as .func, which is no entry, and means them */
	{ "ptx", "PTX text", { ".ptx" }, is_ptx, mpk_list_ptx, false,
	  "is a function in it, but no .entry: the driver will not find it" },
	{ "cubin", "a cubin", { ".cubin" }, is_cubin, mpk_list_cubin, true, NULL },
	{ "fatbin", "a fatbin", { ".fatbin" }, is_fatbin, NULL, false, NULL },
	{ "cuda", "CUDA source", { ".cu", ".cuda" }, is_cuda, NULL, false, NULL },
	{ "cl", "OpenCL C source", { ".cl" }, is_text, mpk_list_opencl, false, NULL },
	{ "xclbin", "an xclbin", { ".xclbin" }, is_xclbin, NULL, false, NULL },
	{ "awsxclbin", "an awsxclbin", { ".awsxclbin" }, NULL, NULL, false, NULL },
	{ "aocx", "an aocx", { ".aocx" }, NULL, NULL, false, NULL },
	{ "metal", "Metal source", { ".metal" }, is_text, mpk_list_metal, false, NULL },
	{ "metallib", "a Metal library", { ".metallib" }, is_metallib, NULL, false, NULL },
	{ "vulkan", "SPIR-V", { ".spv", ".spirv" }, is_spirv, mpk_list_spirv, true, NULL },
	{ "hsaco", "an AMD GPU code object", { ".hsaco", ".co" }, is_hsaco, NULL, false, NULL },
	{ "hip", "HIP code", { ".hip" }, NULL, NULL, false, NULL },
	{ "wgsl", "WGSL source", { ".wgsl" }, is_text, mpk_list_wgsl, false, NULL },
	{ "so", "a Hexagon library", { ".so" }, is_hexagon, NULL, false, NULL },
};

const struct mpk_code_format *mpk_code_format_find(const char *name)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(formats); i++)
		if (strcmp(formats[i].name, name) == 0)
			return &formats[i];
	return NULL;
}

static bool suffix_fits(const struct mpk_code_format *f, const char *path)
{
	size_t len = strlen(path);

	for (size_t i = 0; i < MPK_ARRAY_COUNT(f->suffixes) && f->suffixes[i]; i++) {
		size_t n = strlen(f->suffixes[i]);

		if (len >= n && strcmp(path + len - n, f->suffixes[i]) == 0)
			return true;
	}
	return false;
}

const struct mpk_code_format *mpk_code_format_guess(const char *const *names, size_t max,
						    const char *path, struct mpk_span bytes)
{
	for (size_t i = 0; i < max && names[i]; i++) {
		const struct mpk_code_format *f = mpk_code_format_find(names[i]);

		if (f && suffix_fits(f, path))
			return f;
	}
	for (size_t i = 0; i < max && names[i]; i++) {
		const struct mpk_code_format *f = mpk_code_format_find(names[i]);

		if (f && f->fits && f->fits(bytes))
			return f;
	}
	return NULL;
}
