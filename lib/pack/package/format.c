/* SPDX-License-Identifier: Apache-2.0 */
/* format.c - the format of a code file: its suffix decides where the kind has that format; and OpenCL source in the
 * form that a loader wants */
#include "package/internal/package.h"

#include "base/compiler.h"
#include "code/format.h"
#include "sourcecode/sourcecode.h"

static const struct {
	const char *suffix, *format;
} suffixes[] = {
	{ ".ptx", "ptx" },       { ".cubin", "cubin" },         { ".fatbin", "fatbin" },
	{ ".cu", "cuda" },       { ".cuda", "cuda" },           { ".cl", "cl" },
	{ ".xclbin", "xclbin" }, { ".awsxclbin", "awsxclbin" }, { ".aocx", "aocx" },
	{ ".metal", "metal" },   { ".metallib", "metallib" },   { ".spv", "vulkan" },
	{ ".spirv", "vulkan" },  { ".hsaco", "hsaco" },         { ".co", "hsaco" },
	{ ".hip", "hip" },       { ".wgsl", "wgsl" },           { ".so", "so" },
};

/* A suffix is what the user says the file is; the bytes are compared with it afterwards
 * (device.c). */
static const char *format_of_suffix(const char *path)
{
	const char *dot = strrchr(path, '.');

	for (size_t i = 0; dot && i < MPK_ARRAY_COUNT(suffixes); i++)
		if (strcmp(dot, suffixes[i].suffix) == 0)
			return suffixes[i].format;
	return NULL;
}

static const char *format_find(const char *const *formats, size_t max, const char *name)
{
	for (size_t i = 0; name && i < max && formats[i]; i++)
		if (strcmp(formats[i], name) == 0)
			return formats[i];
	return NULL;
}

/* The bytes decide where the suffix says nothing, or names a format that the kind does not
 * have. */
const char *mpk_code_format_guess(const char *const *formats, size_t max, const char *kind,
				  const char *path, struct mpk_span bytes)
{
	const char *format = format_find(formats, max, format_of_suffix(path));

	return format ? format
		      : format_find(formats, max,
				    mpk_code_format_label(mpk_span_str(kind),
							  mpk_code_format_of(bytes)));
}

/* TVM's OpenCL loader compiles each kernel of a module by itself: it splits the source at
 * lines "// Function: NAME" (SplitKernels in src/runtime) and wants one part for each kernel. */
void mpk_pieces_put(struct mpk_rope *rope, struct mpk_span kernel, struct mpk_span source)
{
	while (source.len && source.data[source.len - 1] == 0)
		source.len--;
	mpk_rope_put_bytes(rope, mpk_span_str(MPK_SOURCE_CODE_DELIMITER));
	mpk_rope_put_bytes(rope, kernel);
	mpk_rope_put_bytes(rope, mpk_span_str("\n"));
	mpk_rope_put_view(rope, source);
	if (source.len && source.data[source.len - 1] != '\n')
		mpk_rope_put_bytes(rope, mpk_span_str("\n"));
}
