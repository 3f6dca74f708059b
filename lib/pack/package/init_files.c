/* SPDX-License-Identifier: Apache-2.0 */
/* init_files.c - the kind of each file of a manifest, and the functions of host code: functions
 * that loaders find, and C functions that a launch function can call
 *
 * The bytes of a file decide its kind; its suffix counts only where a text could be several. A
 * source that exports functions for loaders is complete; for any other the C functions are
 * proposed. */
#include <string.h>

#include "ar/ar.h"
#include "base/vec.h"
#include "blob/blob.h"
#include "elf/image.h"
#include "elf/symbols.h"
#include "hostcode/host.h"
#include "io/path.h"
#include "package/internal/package.h"
#include "text/escape.h"

static const char prefix[] = "__tvm_ffi_";

/* Where functions begin in a text: the macro of an exporter names them, too. */
static const char *const openings[] = { prefix, "TVM_FFI_DLL_EXPORT_TYPED_FUNC(" };

/* Characters of C names and of symbols: compilers put '.' and '$' into names. */
static bool is_name_byte(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '.' || c == '$';
}

static void init_put_line(struct mpk_init *in, const struct mpk_init_file *file,
			  struct mpk_span text)
{
	mpk_strbuf_puts(&in->host_lines, "# ");
	mpk_escape(&in->host_lines, mpk_span_str(file->path));
	mpk_strbuf_puts(&in->host_lines, ": ");
	mpk_escape(&in->host_lines, text);
	mpk_strbuf_putc(&in->host_lines, '\n');
}

/* Reserves a name of host code, so that no launch function takes it.
 * Returns  1: it was new, 0: it was not, -1: memory is out */
static int init_take(struct mpk_init *in, struct mpk_span name)
{
	const char *copy = mpk_arena_text(in->arena, name);
	size_t found;

	return copy ? mpk_strmap_put(&in->names, mpk_span_str(copy), 0, &found) : -1;
}

/* A C++ function outside of extern "C" has a mangled symbol. Returns where the extern "C" parts
 * end; NULL: there are none */
static const uint8_t *mangled_end(const struct mpk_init_file *file, const char *opening)
{
	static const char *const cxx[] = { ".cc", ".cpp", ".cxx", NULL };
	static const char linkage[] = "extern \"C\"";
	const uint8_t *at;

	if (opening != prefix || !mpk_path_has_suffix(file->path, cxx))
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
		/* __tvm_ffi__x is not a function, and a '%' after the prefix belongs to text
		 * that makes such names. */
		if (!name.len || name.data[0] == '_' || at == end || *at == '%' || *at == '#')
			continue;
		++*count;
		if (mangled && name.data < mangled) {
			mpk_strbuf_puts(&in->host_lines, "# decide: no loader finds the next one, "
							 "which is not extern \"C\"\n");
			init_put_line(in, file, name);
			continue;
		}
		taken = init_take(in, name);
		if (taken < 0)
			return mpk_fail_nomem(in->err);
		if (taken)
			init_put_line(in, file, name);
	}
	return MPK_OK;
}

/* --- C functions -------------------------------------------------------------------- */

/* Of declarations and definitions in several files the definition counts, else the first. */
static enum mpk_code add_call(struct mpk_init *in, const struct mpk_init_file *file,
			      const struct mpk_cfunction *f, bool is_header)
{
	struct mpk_init_call call = { f, file, is_header };
	size_t at = in->call_count;
	int put = mpk_strmap_put(&in->call_names, f->name, in->call_count, &at);

	MPK_TRY_ALLOC(put >= 0 && mpk_vec_reserve(&in->calls, &in->call_cap, in->call_count + 1,
						  sizeof *in->calls),
		      in->err);
	if (put) {
		in->calls[in->call_count++] = call;
		return MPK_OK;
	}
	is_header |= in->calls[at].is_header;
	if (f->is_defined && !in->calls[at].f->is_defined)
		in->calls[at] = call;
	in->calls[at].is_header = is_header;
	return MPK_OK;
}

/* @count   receives the number that can be called */
static enum mpk_code read_functions(struct mpk_init *in, const struct mpk_init_file *file,
				    size_t *count)
{
	static const char *const c[] = { ".c", NULL };
	static const char *const headers[] = { ".h", NULL };
	bool is_header = !mpk_path_has_suffix(file->path, c);
	bool is_cxx = is_header && !mpk_path_has_suffix(file->path, headers);
	static const char *const sources[] = { ".cc", ".cpp", ".cxx", NULL };
	const struct mpk_cfunction *list;
	size_t all;

	is_header &= !mpk_path_has_suffix(file->path, sources);
	MPK_TRY(mpk_cfunctions_read(file->bytes, is_cxx, in->arena, &list, &all, in->err));
	for (size_t i = 0; i < all; i++) {
		*count += list[i].is_defined && !list[i].refusal;
		MPK_TRY(add_call(in, file, &list[i], is_header));
	}
	return MPK_OK;
}

/* Lists what an object defines for others: C functions that a header declares. */
static enum mpk_code list_defined(struct mpk_init *in, struct mpk_span object)
{
	MPK_CLEANUP(mpk_elf_close) struct mpk_elf elf = { 0 };
	struct mpk_symtab table;
	struct mpk_symbol s;
	size_t ignored;

	if (!mpk_span_starts(object, ELFMAG)) {
		in->hides_symbols = true;
		return MPK_OK;
	}
	MPK_TRY(mpk_elf_open(object, 0, &elf, in->err));
	MPK_TRY(mpk_symtab_static(&elf, &table, in->err));
	for (size_t i = 1; i < table.count; i++) {
		MPK_TRY(mpk_symtab_get(&table, i, &s, in->err));
		if (s.defined && s.name[0] && (s.bind == STB_GLOBAL || s.bind == STB_WEAK))
			MPK_TRY_ALLOC(mpk_strmap_put(&in->defined, mpk_span_str(s.name), 0,
						     &ignored) >= 0,
				      in->err);
	}
	return MPK_OK;
}

static enum mpk_code read_symbols(struct mpk_init *in, const struct mpk_init_file *file)
{
	struct mpk_ar ar;

	if (!mpk_ar_is(file->bytes))
		return list_defined(in, file->bytes);
	MPK_TRY(mpk_ar_read(file->bytes, in->arena, &ar, in->err));
	for (size_t i = 0; i < ar.member_count; i++)
		MPK_TRY(list_defined(in, ar.members[i].data));
	return MPK_OK;
}

/* --- host code ------------------------------------------------------------------------- */

static enum mpk_code init_read_source(struct mpk_init *in, const struct mpk_init_file *file)
{
	static const char *const ir[] = { ".ll", NULL };
	size_t count = 0;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(openings); i++)
		MPK_TRY(scan_text(in, file, openings[i], &count));
	if (!count && !mpk_path_has_suffix(file->path, ir))
		MPK_TRY(read_functions(in, file, &count));
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

	MPK_TRY(read_symbols(in, file));
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
		init_put_line(in, file, mpk_span_of(text.data, text.len));
		if (init_take(in, mpk_span_str(f->name)) < 0)
			return mpk_fail_nomem(in->err);
	}
	if (image.function_count && image.gen_known)
		in->abi = mpk_generation_get(image.gen)->abi;
	return MPK_OK;
}

static enum mpk_code read_host(struct mpk_init *in, const struct mpk_init_file *file)
{
	static const char *const texts[] = { ".c", ".cc", ".cpp", ".cxx", ".ll", NULL };
	static const char *const bitcode[] = { ".bc", NULL };
	static const char *const headers[] = { ".h", ".hh", ".hpp", ".hxx", NULL };
	static const char *const ir[] = { ".ll", NULL };
	size_t ignored = 0;

	if (mpk_path_has_suffix(file->path, headers))
		return read_functions(in, file, &ignored);
	in->hides_symbols |=
		mpk_path_has_suffix(file->path, ir) || mpk_path_has_suffix(file->path, bitcode);
	if (mpk_path_has_suffix(file->path, texts))
		return init_read_source(in, file);
	return mpk_path_has_suffix(file->path, bitcode) ? MPK_OK : read_object(in, file);
}

/* --- all files ----------------------------------------------------------------------- */

/* "dir/my kernel.cl": "my_kernel" */
static const char *stem_of(struct mpk_arena *arena, const char *path)
{
	const char *base = mpk_path_name(path);
	size_t len = strcspn(base + (*base == '.'), ".") + (*base == '.');
	char *name = mpk_arena_copy(arena, base, len);

	for (char *p = name; p && *p; p++)
		if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
		      (*p >= '0' && *p <= '9') || *p == '-'))
			*p = '_';
	return name && !*name ? "package" : name;
}

/* Modules are few. */
static const char *choose_id(struct mpk_init *in, const char *path)
{
	const char *stem = stem_of(in->arena, path), *id = stem;

	for (unsigned n = 2; id; n++) {
		bool taken = strcmp(id, "host") == 0;

		for (size_t i = 0; i < in->module_count; i++)
			taken |= strcmp(in->modules[i].id, id) == 0;
		if (!taken)
			return id;
		id = mpk_arena_printf(in->arena, "%s_%u", stem, n);
	}
	return NULL;
}

/* Returns the language of a text by its suffix, where its words do not tell. */
static const struct mpk_code_format *init_format_of(const struct mpk_init_file *file)
{
	static const char *const cl[] = { ".cl", NULL };
	static const char *const cu[] = { ".cu", ".cuh", NULL };
	const struct mpk_code_format *f = mpk_code_format_of(file->bytes);
	bool text = mpk_code_is_text(file->bytes);

	if (text && mpk_path_has_suffix(file->path, cl))
		return &mpk_format_opencl;
	if (text && mpk_path_has_suffix(file->path, cu))
		return &mpk_format_cuda;
	return f;
}

static bool is_host_code(const struct mpk_init_file *file, const struct mpk_code_format *f)
{
	static const char *const sources[] = { ".c", ".cc", ".cpp", ".cxx", ".ll", ".bc", NULL };
	static const char *const objects[] = { ".o", ".a", NULL };

	return mpk_path_has_suffix(file->path, sources) ||
	       (mpk_path_has_suffix(file->path, objects) &&
		(f == &mpk_format_elf || f == &mpk_format_archive));
}

/* Of the images of a fatbin, which hold the same kernels, PTX tells most. */
static const struct mpk_code_info *most_telling(const struct mpk_code_info *code)
{
	const struct mpk_code_info *lister = mpk_code_info_lister(code);

	for (size_t i = 0; lister && i < code->image_count; i++)
		if (code->images[i].format == &mpk_format_ptx && code->images[i].kernel_count)
			return &code->images[i];
	return lister;
}

static enum mpk_code add_base(struct mpk_init *in, const struct mpk_init_file *file)
{
	struct mpk_image image;

	MPK_TRY(mpk_image_open(file->bytes, NULL, in->arena, &image, in->err));
	if (!image.has_blob)
		return mpk_fail(
			in->err, MPK_E_UNSUPPORTED,
			"a library without a blob is no part of a package: name the objects or sources it was linked from");
	if (in->base)
		return mpk_fail(in->err, MPK_E_UNSUPPORTED,
				"a package has the code of one finished library; '%s' is another",
				in->base->path);
	if (in->count == 1)
		return mpk_fail(
			in->err, MPK_E_UNSUPPORTED,
			"its modules are in it, not in files: 'mpack unpack FILE -o DIR' writes both them and a manifest");
	in->base = file;
	in->abi = mpk_generation_get(image.gen)->abi;
	return MPK_OK;
}

static enum mpk_code init_add_file(struct mpk_init *in, const struct mpk_init_file *file)
{
	static const char *const library[] = { ".so", NULL };
	static const char *const headers[] = { ".h", ".hh", ".hpp", ".hxx", NULL };
	const struct mpk_code_format *f = init_format_of(file);

	if (!file->bytes.len)
		return mpk_fail(in->err, MPK_E_UNSUPPORTED, "the file is empty");
	if (mpk_path_has_suffix(file->path, headers)) {
		in->header = in->header ? in->header : file;
		return read_host(in, file);
	}
	if (is_host_code(file, f)) {
		in->hosts[in->host_count++] = file;
		return read_host(in, file);
	}
	if (f == &mpk_format_elf)
		return add_base(in, file);
	if (f->claims[0].kind && f->read) {
		static const char *const hip[] = { ".hip", NULL };
		struct mpk_init_module *m = &in->modules[in->module_count];
		struct mpk_code_info *code = mpk_arena_alloc(in->arena, sizeof *code);
		const struct mpk_error *problem;

		MPK_TRY_ALLOC(code, in->err);
		*m = (struct mpk_init_module){ .file = file,
					       .id = choose_id(in, file->path),
					       .kind = f->claims[0].kind,
					       .format = f->claims[0].format };
		MPK_TRY_ALLOC(m->id, in->err);
		if (f == &mpk_format_cuda && mpk_path_has_suffix(file->path, hip))
			m->kind = m->format = "hip";
		*code = (struct mpk_code_info){ .bytes = file->bytes };
		MPK_TRY(mpk_code_info_read_as(f, in->arena, code, in->err));
		problem = mpk_code_info_problem(code);
		if (problem) {
			*in->err = *problem;
			return problem->code;
		}
		m->code = most_telling(code);
		MPK_TRY(mpk_init_read_kernels(in, m));
		in->module_count++;
		return MPK_OK;
	}
	if (mpk_path_has_suffix(file->path, library))
		return add_base(in, file);
	return mpk_fail(
		in->err, MPK_E_UNSUPPORTED,
		"this is %s: neither kernels nor host code that a manifest could be filled in from",
		f->name);
}

enum mpk_code mpk_init_read_files(struct mpk_init *in)
{
	in->name = mpk_manifest_name(stem_of(in->arena, in->files[0].path));
	in->hosts = mpk_arena_array(in->arena, in->count, sizeof *in->hosts);
	in->modules = mpk_arena_array(in->arena, in->count, sizeof *in->modules);
	MPK_TRY_ALLOC(in->name && in->hosts && in->modules, in->err);
	for (size_t i = 0; i < in->count; i++) {
		enum mpk_code code = init_add_file(in, &in->files[i]);

		if (code != MPK_OK) {
			mpk_error_at_file(in->err, in->files[i].path);
			return code;
		}
	}
	return MPK_OK;
}
