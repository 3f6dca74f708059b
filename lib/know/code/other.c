/* SPDX-License-Identifier: Apache-2.0 */
/* other.c - formats that are recognised but not read: machine code that drivers load, and files
 * that are not code but occur where code was expected. */
#include <string.h>

#include "ar/ar.h"
#include "base/cursor.h"
#include "code/format.h"
#include "code/info.h"
#include "deflate/deflate.h"
#include "tar/tar.h"
#include "tensor/tensor.h"
#include "text/escape.h"
#include "text/facts.h"
#include "text/phrase.h"

/* --- code --------------------------------------------------------------------------- */

static bool is_elf(struct mpk_span bytes)
{
	return mpk_span_starts(bytes, "\177ELF");
}

static bool is_hexagon(struct mpk_span bytes)
{
	return is_elf(bytes) && bytes.len >= 20 && mpk_load_u16(bytes.data + 18) == 164;
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

/* Returns the text of a file after a byte order mark and blanks. */
static struct mpk_span begin_of(struct mpk_span bytes)
{
	size_t i = mpk_span_starts(bytes, "\xef\xbb\xbf") ? 3 : 0;

	while (i < bytes.len && bytes.data[i] <= ' ')
		i++;
	return mpk_span_from(bytes, i);
}

static bool is_letter(uint8_t c)
{
	return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

/* Kernels in no language begin with a tag. */
static bool is_markup(struct mpk_span bytes)
{
	struct mpk_span s = begin_of(bytes);

	return s.len > 1 && s.data[0] == '<' && (is_letter(s.data[1]) || strchr("!?/", s.data[1]));
}

/* Whether the text after "#" is a directive in no language of kernels. */
static bool is_heading(struct mpk_span line)
{
	static const char *const directives[] = { "define", "else",   "elif",      "endif",
						  "error",  "embed",  "extension", "ident",
						  "if",     "import", "include",   "line",
						  "pragma", "undef",  "version",   "warning" };
	size_t i = 1;

	while (i < line.len && (line.data[i] == ' ' || line.data[i] == '\t'))
		i++;
	line = mpk_span_from(line, i);
	for (size_t k = 0; k < MPK_ARRAY_COUNT(directives); k++)
		if (mpk_span_starts(line, directives[k]))
			return false;
	/* A "#" alone is a directive, and so is "# 1 "file"", which a preprocessor writes. */
	return line.len && line.data[0] >= ' ' && (line.data[0] < '0' || line.data[0] > '9');
}

/* Whether a text begins with a heading of Markdown, or with a comment of a shell or Python. A
 * manifest may begin in the same way: the table after it decides. */
static bool is_prose(struct mpk_span bytes)
{
	struct mpk_span s = begin_of(bytes);

	if (!s.len || s.data[0] != '#' || !is_heading(s))
		return false;
	while (s.len && s.data[0] == '#') {
		const uint8_t *end = memchr(s.data, '\n', s.len);

		s = end ? begin_of(mpk_span_of(end, s.len - (size_t)(end - s.data)))
			: mpk_span_of(s.data + s.len, 0);
	}
	return !mpk_span_starts(s, "[package]") && !mpk_span_starts(s, "[[");
}

const struct mpk_code_format mpk_format_markup = {
	.name = "HTML or XML",
	.is = is_markup,
	.is_text = true,
};
const struct mpk_code_format mpk_format_prose = {
	.name = "Markdown or a script",
	.is = is_prose,
	.is_text = true,
};
const struct mpk_code_format mpk_format_gzip = { .name = "a gzip file", .is = mpk_gzip_is };
const struct mpk_code_format mpk_format_zip = { .name = "a zip file", .magics = { "PK\3\4" } };
const struct mpk_code_format mpk_format_npy = { .name = "a .npy array", .magics = { "\x93NUMPY" } };
const struct mpk_code_format mpk_format_params = { .name = "a TVM parameter file",
						   .is = is_params };
const struct mpk_code_format mpk_format_tar = { .name = "a tar archive", .is = mpk_tar_is };
const struct mpk_code_format mpk_format_json = { .name = "JSON", .is = is_json, .is_text = true };
const struct mpk_code_format mpk_format_empty = { .name = "empty" };
const struct mpk_code_format mpk_format_unknown = { .name = "an unknown format" };

/* --- archives of objects, as modules of kind static_library hold them ---------------------- */

static enum mpk_code read_archive(struct mpk_code_info *info, void *content,
				  struct mpk_arena *arena, struct mpk_error *err)
{
	return mpk_ar_read(info->bytes, arena, content, err);
}

static void archive_put_text(const struct mpk_code_info *info, struct mpk_strbuf *out)
{
	const struct mpk_ar *ar = info->content;

	mpk_strbuf_puts(out, "archive, ");
	mpk_put_count(out, ar->member_count, "member");
	mpk_put_also(out, ar->symbol_count, "symbol");
}

static void archive_put_lines(const struct mpk_code_info *info, const char *indent,
			      struct mpk_strbuf *out)
{
	const struct mpk_ar *ar = info->content;

	for (size_t i = 0; i < ar->member_count; i++) {
		mpk_strbuf_printf(out, "%s  ", indent);
		mpk_escape(out, ar->members[i].name);
		mpk_strbuf_printf(out, ", %zu B\n", ar->members[i].data.len);
	}
}

static const struct mpk_fact archive_member_facts[] = {
	{ MPK_FACT(SPAN, "name", struct mpk_ar_member, name) },
	{ MPK_FACT(COUNT, "bytes", struct mpk_ar_member, data.len) },
};

static void archive_put_json(const struct mpk_code_info *info, struct mpk_json *j,
			     struct mpk_json_at *at)
{
	const struct mpk_ar *ar = info->content;

	mpk_facts_json_list(MPK_FACTS(archive_member_facts), "members", ar->members,
			    ar->member_count, sizeof *ar->members, j, at);
	mpk_json_u64(j, at, "symbols", ar->symbol_count);
}

const struct mpk_code_format mpk_format_archive = {
	.word = "archive",
	.name = "an ar archive",
	.is = mpk_ar_is,
	.read = read_archive,
	.content_bytes = sizeof(struct mpk_ar),
	.text = archive_put_text,
	.lines = archive_put_lines,
	.json = archive_put_json,
};
