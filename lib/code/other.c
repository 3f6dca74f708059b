/* SPDX-License-Identifier: Apache-2.0 */
/* Formats that are recognised and not read: machine code that drivers load as it is, and files
 * that are no code but turn up where code was expected. */
#include "base/cursor.h"
#include "code/format.h"
#include "deflate/deflate.h"
#include "params/magic.h"
#include "tar/tar.h"

/* --- code --------------------------------------------------------------------------- */

static bool is_elf(struct mpk_span bytes)
{
	return mpk_span_starts(bytes, "\177ELF");
}

static bool is_elf_for(struct mpk_span bytes, unsigned machine)
{
	return is_elf(bytes) && bytes.len >= 20 && mpk_load_u16(bytes.data + 18) == machine;
}

static bool is_hexagon(struct mpk_span bytes)
{
	return is_elf_for(bytes, 164);
}

const struct mpk_code_format mpk_format_hexagon = {
	.word = "hexagon",
	.name = "a Hexagon library",
	.is = is_hexagon,
	.claims = { { "hexagon", "so" }, { "hex", "so" } },
};

const struct mpk_code_format mpk_format_elf = {
	.word = "elf",
	.name = "an ELF file",
	.is = is_elf,
};

const struct mpk_code_format mpk_format_metallib = {
	.word = "metallib",
	.name = "a Metal library",
	.magics = { "MTLB" },
	.claims = { { "metal", "metallib" } },
};

const struct mpk_code_format mpk_format_xclbin = {
	.word = "xclbin",
	.name = "an xclbin",
	.magics = { "xclbin2" },
	.claims = { { "opencl", "xclbin" },
		    { "opencl", "awsxclbin" },
		    { "sdaccel", "xclbin" },
		    { "sdaccel", "awsxclbin" } },
};

const struct mpk_code_format mpk_format_bitcode = {
	.name = "LLVM bitcode",
	.magics = { "BC\xc0\xde", "\xde\xc0\x17\x0b" },
};

const struct mpk_code_format mpk_format_llvm = {
	.name = "LLVM IR",
	.words = { "target triple = ", "\ndefine ", "source_filename = " },
	.is_text = true,
};

/* --- other files -------------------------------------------------------------------- */

static bool is_params(struct mpk_span bytes)
{
	return bytes.len >= 8 && mpk_load_u64(bytes.data) == MPK_PARAMS_MAGIC;
}

static bool is_json(struct mpk_span bytes)
{
	size_t i = 0;

	while (i < bytes.len && bytes.data[i] <= ' ')
		i++;
	return i < bytes.len && bytes.data[i] == '{';
}

const struct mpk_code_format mpk_format_gzip = { .name = "a gzip file", .is = mpk_gzip_is };
const struct mpk_code_format mpk_format_zip = { .name = "a zip file", .magics = { "PK\3\4" } };
const struct mpk_code_format mpk_format_npy = { .name = "a .npy array", .magics = { "\x93NUMPY" } };
const struct mpk_code_format mpk_format_params = { .name = "a TVM parameter file",
						   .is = is_params };
const struct mpk_code_format mpk_format_tar = { .name = "a tar archive", .is = mpk_tar_is };
const struct mpk_code_format mpk_format_json = { .name = "JSON", .is = is_json, .is_text = true };
const struct mpk_code_format mpk_format_empty = { .name = "empty" };
const struct mpk_code_format mpk_format_unknown = { .name = "an unknown format" };
