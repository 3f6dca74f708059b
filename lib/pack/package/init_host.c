/* SPDX-License-Identifier: Apache-2.0 */
/* What host code offers: functions of objects by their symbols, of sources by the names that stand in them. */
#include <string.h>

#include "blob/blob.h"
#include "elf/image.h"
#include "hostcode/host.h"
#include "package/internal/init_parts.h"
#include "text/escape.h"

static const char prefix[] = "__tvm_ffi_";

/* Where functions begin in a text: an exporter's macro names them, too. */
static const char *const openings[] = { prefix, "TVM_FFI_DLL_EXPORT_TYPED_FUNC(" };

static bool is_name_byte(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '.' || c == '$';
}

static void put_line(struct mpk_init *in, const struct mpk_init_file *file, struct mpk_span text)
{
	mpk_strbuf_puts(&in->host_lines, "# ");
	mpk_escape(&in->host_lines, mpk_span_str(file->path));
	mpk_strbuf_puts(&in->host_lines, ": ");
	mpk_escape(&in->host_lines, text);
	mpk_strbuf_putc(&in->host_lines, '\n');
}

/* A name that host code has is no launch function's.
 * Returns  1: it was new, 0: it was not, -1: memory is out */
static int take(struct mpk_init *in, struct mpk_span name)
{
	const char *copy = mpk_arena_text(in->arena, name);
	size_t found;

	return copy ? mpk_strmap_put(&in->names, mpk_span_str(copy), 0, &found) : -1;
}

/* A function of C++ has another symbol unless an extern "C" stands in front of it: where those end that have.
 * NULL: none has */
static const uint8_t *mangled_end(const struct mpk_init_file *file, const char *opening)
{
	static const char *const cxx[] = { ".cc", ".cpp", ".cxx", NULL };
	static const char linkage[] = "extern \"C\"";
	const uint8_t *at;

	if (opening != prefix || !mpk_init_has_suffix(file->path, cxx))
		return NULL;
	at = memmem(file->bytes.data, file->bytes.len, linkage, sizeof linkage - 1);
	return at ? at + sizeof linkage - 1 : file->bytes.data + file->bytes.len;
}

static enum mpk_code scan_text(struct mpk_init *in, const struct mpk_init_file *file,
			       const char *opening, size_t *count)
{
	const uint8_t *at = file->bytes.data, *end = at + file->bytes.len;
	const uint8_t *mangled = mangled_end(file, opening);

	while ((at = memmem(at, (size_t)(end - at), opening, strlen(opening)))) {
		struct mpk_span name = { .data = at += strlen(opening) };
		int taken;

		while (at < end && is_name_byte(*at))
			at++;
		name.len = (size_t)(at - name.data);
		/* __tvm_ffi__x is no function; '%', as in text that makes such names, no end */
		if (!name.len || name.data[0] == '_' || at == end || *at == '%' || *at == '#')
			continue;
		++*count;
		if (mangled && name.data < mangled) {
			mpk_strbuf_puts(&in->host_lines, "# decide: no loader finds the next one, "
							 "which is not extern \"C\"\n");
			put_line(in, file, name);
			continue;
		}
		taken = take(in, name);
		if (taken < 0)
			return mpk_fail_nomem(in->err);
		if (taken)
			put_line(in, file, name);
	}
	return MPK_OK;
}

static enum mpk_code read_source(struct mpk_init *in, const struct mpk_init_file *file)
{
	size_t count = 0;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(openings); i++)
		MPK_TRY(scan_text(in, file, openings[i], &count));
	if (!count)
		mpk_strbuf_printf(&in->host_lines,
				  "# decide: what loaders are to find in %s is called %sNAME\n",
				  MPK_QUOTE(mpk_span_str(file->path)), prefix);
	return MPK_OK;
}

static enum mpk_code read_object(struct mpk_init *in, const struct mpk_init_file *file)
{
	const struct mpk_signature *const *signatures;
	struct mpk_image image;

	MPK_TRY(mpk_image_open(file->bytes, NULL, in->arena, &image, in->err));
	MPK_TRY(mpk_host_signatures(&image, in->arena, &signatures, in->err));
	for (size_t i = 0; i < image.function_count; i++) {
		MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };
		const struct mpk_image_function *f = &image.functions[i];

		if (f->is_entry || f->alias_of)
			continue;
		if (signatures[i])
			mpk_signature_text(signatures[i], &text);
		else
			mpk_strbuf_puts(&text, f->name);
		MPK_TRY(mpk_strbuf_status(&text, in->err));
		put_line(in, file, mpk_span_of(text.data, text.len));
		if (take(in, mpk_span_str(f->name)) < 0)
			return mpk_fail_nomem(in->err);
	}
	if (image.function_count && image.gen_known)
		in->abi = mpk_generation_get(image.gen)->abi;
	return MPK_OK;
}

enum mpk_code mpk_init_read_host(struct mpk_init *in, const struct mpk_init_file *file)
{
	static const char *const texts[] = { ".c", ".cc", ".cpp", ".cxx", ".ll", NULL };
	static const char *const bitcode[] = { ".bc", NULL };

	if (mpk_init_has_suffix(file->path, texts))
		return read_source(in, file);
	return mpk_init_has_suffix(file->path, bitcode) ? MPK_OK : read_object(in, file);
}
