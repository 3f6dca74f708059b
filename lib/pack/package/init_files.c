/* SPDX-License-Identifier: Apache-2.0 */
/* init_files.c - finds the kind of each file of a manifest, and the functions in host code:
 * functions that loaders find by name, and C functions that a launch function can call
 *
 * The bytes of a file decide its kind. The suffix counts only for text that several kinds accept.
 * If a source already exports functions for loaders, nothing is proposed for it. Otherwise launch
 * functions are proposed for its C functions. */
#include <string.h>

#include "ar/ar.h"
#include "base/vec.h"
#include "blob/blob.h"
#include "elf/image.h"
#include "elf/symbols.h"
#include "hostcode/host.h"
#include "io/path.h"
#include "itanium/itanium.h"
#include "package/internal/package.h"
#include "ptx/ptx.h"
#include "sourcecode/sourcecode.h"
#include "spirv/spirv.h"
#include "text/escape.h"

/* --- Kernels of one file: which kernels a runtime can launch, how, and by which symbol. --- */

/* --- what a kernel's code tells about its launch: dimensions, blocks, bounds, shared memory --- */

/* A plain text search suffices, because its results are only proposals that a person reads. */
static bool contains(struct mpk_span text, const char *word)
{
	return text.len && memmem(text.data, text.len, word, strlen(word));
}

/* The names of the indices along y and z in each language. */
static const char *const indices[][2][3] = {
	{ { "get_global_id(1)", "get_group_id(1)", "get_local_id(1)" },
	  { "get_global_id(2)", "get_group_id(2)", "get_local_id(2)" } },
	{ { "blockIdx.y", "threadIdx.y", NULL }, { "blockIdx.z", "threadIdx.z", NULL } },
	{ { "%ctaid.y", "%tid.y", NULL }, { "%ctaid.z", "%tid.z", NULL } },
};

/* Returns the highest dimension whose index is used, or whose extent a fixed block sets. */
static unsigned count_dims(struct mpk_span code, const char *const names[2][3],
			   const uint32_t block[3])
{
	unsigned dims = block[2] > 1 ? 3 : block[1] > 1 ? 2 : 1;

	for (unsigned d = 0; d < 2; d++)
		for (size_t i = 0; i < 3 && names[d][i]; i++)
			if (contains(code, names[d][i]))
				dims = d + 2 > dims ? d + 2 : dims;
	return dims;
}

/* Returns the text of one kernel, as far as it can be separated from the text that follows. */
static struct mpk_span ptx_body(const struct mpk_init_module *m, const struct mpk_code_kernel *k)
{
	struct mpk_span all = m->code->bytes;
	size_t from = (size_t)(k->name.data - all.data);
	const uint8_t *end = memmem(k->name.data, all.len - from, ".entry", 6);

	return mpk_span_of(k->name.data, end ? (size_t)(end - k->name.data) : all.len - from);
}

static bool is_word_byte(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

/* Guesses whether the kernel compares its index with an integer, so that threads do not run past
 * the end. Without source text, a kernel with an integer parameter and a fixed block is assumed to
 * do so. */
static bool has_bound(const struct mpk_init_kernel *k, struct mpk_span body)
{
	for (size_t i = 0; i < k->param_count; i++) {
		const struct mpk_code_param *p = &k->params[i];

		if (p->kind == MPK_CODE_PARAM_NUMBER &&
		    (p->dtype.code == MPK_DTYPE_INT || p->dtype.code == MPK_DTYPE_UINT))
			return body.len ? contains(body, "setp.") : k->block[0] != 0;
	}
	return false;
}

/* --- dynamic shared memory ------------------------------------------------------------------ */

static enum mpk_code init_launch_add_shared(struct mpk_init *in, struct mpk_init_module *m,
					    struct mpk_span name)
{
	size_t found;

	return mpk_strmap_put(&m->shared, name, 0, &found) < 0 ? mpk_fail_nomem(in->err) : MPK_OK;
}

/* A variable outside of kernels counts for each kernel that names it, and for each kernel that
 * calls a function which may name it. */
static enum mpk_code find_ptx_shared(struct mpk_init *in, struct mpk_init_module *m, size_t kernel,
				     struct mpk_span body, bool *out)
{
	if (!m->has_shared) {
		/* PTX declares shared memory for a kernel or for the module; an array without a
		 * size is dynamic. */
		bool *owns = mpk_arena_array(in->arena, m->code->kernel_count, sizeof *owns);
		struct mpk_ptx p;

		MPK_TRY_ALLOC(owns, in->err);
		MPK_TRY(mpk_ptx_read(m->code->bytes, in->arena, &p, in->err));
		for (size_t i = 0; i < p.shared_count; i++) {
			const struct mpk_ptx_shared *v = &p.shared[i];

			if (v->dynamic && v->kernel == MPK_PTX_MODULE)
				MPK_TRY(init_launch_add_shared(in, m, v->name));
			else if (v->dynamic && v->kernel < m->code->kernel_count)
				owns[v->kernel] = true;
		}
		m->owns_shared = owns;
		m->has_shared = true;
	}
	*out = m->owns_shared[kernel] ||
	       (m->shared.count &&
		(mpk_source_code_mentions_any(body, &m->shared) || contains(body, "call")));
	return MPK_OK;
}

/* Returns the name before the bracket in "extern __shared__ float s[];". */
static struct mpk_span name_before(const uint8_t *begin, const uint8_t *bracket)
{
	const uint8_t *end = bracket;

	while (end > begin && end[-1] <= ' ')
		end--;
	for (bracket = end; end > begin && is_word_byte(end[-1]);)
		end--;
	return mpk_span_of(end, (size_t)(bracket - end));
}

static enum mpk_code find_source_shared(struct mpk_init *in, struct mpk_init_module *m,
					struct mpk_span body, bool *out)
{
	if (!m->has_shared) {
		static const char opening[] = "extern __shared__";
		struct mpk_span text = m->code->source->index.bytes;
		const uint8_t *at = text.data, *end = at + text.len, *bracket = at;

		m->has_shared = true;
		while ((at = memmem(at, (size_t)(end - at), opening, sizeof opening - 1))) {
			struct mpk_span name;

			at += sizeof opening - 1;
			if (bracket < at) /* else the name that was found before */
				bracket = memchr(at, '[', (size_t)(end - at));
			if (!bracket)
				break;
			name = name_before(at, bracket);
			if (name.len)
				MPK_TRY(init_launch_add_shared(in, m, name));
		}
	}
	*out = contains(body, "HIP_DYNAMIC_SHARED") ||
	       mpk_source_code_mentions_any(body, &m->shared);
	return MPK_OK;
}

static enum mpk_code read_launch(struct mpk_init *in, struct mpk_init_module *m, size_t i,
				 struct mpk_init_kernel *k)
{
	const struct mpk_code_kernel *code = &m->code->kernels[i];
	const struct mpk_code_format *f = m->code->format;
	struct mpk_span body = { 0 };
	uint64_t threads = code->max_threads[0];

	memcpy(k->block, code->block, sizeof k->block);
	threads *= code->max_threads[1] ? code->max_threads[1] : 1;
	threads *= code->max_threads[2] ? code->max_threads[2] : 1;
	k->threads = threads < 1024 ? (uint32_t)threads : 1024;
	if (f->is_source) {
		/* --- a kernel ----------------------------------------------------------------- --- */
		const struct mpk_source_code *source = m->code->content;
		const struct mpk_source_code_kernel *s = &source->kernels[i];
		struct mpk_source_code_reach *reach = mpk_arena_alloc(in->arena, sizeof *reach);

		MPK_TRY_ALLOC(reach, in->err);
		MPK_TRY(mpk_source_code_reach_read(s, &m->code->source->index, in->arena, reach,
						   in->err));
		k->reach = reach;
		k->text = s->params;
		k->hides_block = s->hides_group;
		k->hides_threads = s->hides_max_threads;
		k->bounded = reach->guarded;
		if (m->code->format == &mpk_format_cuda)
			MPK_TRY(find_source_shared(in, m, s->body, &k->shared));
		k->dims = count_dims(
			s->body, indices[m->code->format == &mpk_format_opencl ? 0 : 1], k->block);
		return MPK_OK;
	}
	if (f == &mpk_format_ptx) {
		body = ptx_body(m, code);
		MPK_TRY(find_ptx_shared(in, m, i, body, &k->shared));
	}
	k->dims = count_dims(body, indices[2], k->block);
	if (!body.len && k->dims == 1)
		k->dims = 0; /* Machine code does not tell the number of dimensions. */
	k->hides_shared = !body.len && f->param_bytes && strcmp(m->kind, "opencl") != 0;
	k->bounded = has_bound(k, body);
	return MPK_OK;
}

/* --- whether it can be launched ---------------------------------------------------------- */

/* Returns the reason why a runtime cannot pass a parameter, as a comment for the manifest. TVM
 *         passes buffers and numbers of 32 or 64 bits. */
static const char *refusal_of(struct mpk_init *in, const struct mpk_code_param *p, size_t i)
{
	struct mpk_span name = p->name;
	char type[MPK_DTYPE_TEXT];
	struct mpk_dtype t;
	const char *label =
		name.len ? mpk_arena_text(in->arena, name) : mpk_arena_printf(in->arena, "%zu", i);

	if (mpk_code_info_argument(p, &t) || !label)
		return NULL;
	switch (p->kind) {
	case MPK_CODE_PARAM_LOCAL:
		return mpk_arena_printf(
			in->arena,
			"its parameter %s is memory of a work-group, which no runtime passes; declare an array in the kernel",
			label);
	case MPK_CODE_PARAM_VALUE:
		return mpk_arena_printf(
			in->arena,
			"its parameter %s is a struct, vector or sampler by value, which no runtime passes; pass its numbers, or a buffer",
			label);
	case MPK_CODE_PARAM_NUMBER:
		return mpk_arena_printf(
			in->arena,
			"its parameter %s is %s, which no runtime passes; take one of 32 or 64 bits",
			label, mpk_dtype_print(p->dtype, type));
	case MPK_CODE_PARAM_UNKNOWN:
	case MPK_CODE_PARAM_BUFFER:
	case MPK_CODE_PARAM_IMAGE:
		break;
	}
	return mpk_arena_printf(
		in->arena,
		"the type of its parameter %s is not to be seen in the text, which is not preprocessed",
		label);
}

/* Returns a kernel's name as its source spells it, without the scopes and types in its symbol. A
 *         name that is not mangled is returned unchanged. */
static enum mpk_code short_name_of(struct mpk_span symbol, struct mpk_arena *arena,
				   struct mpk_span *out, struct mpk_error *err)
{
	struct mpk_itanium_function f = { .name = symbol };

	if (mpk_itanium_is(symbol) && mpk_itanium_read(symbol, arena, &f, err) == MPK_E_NOMEM)
		return MPK_E_NOMEM;
	*out = f.name;
	return MPK_OK;
}

/* Returns the symbol that a kernel of CUDA or HIP source will have. */
static enum mpk_code init_kernels_find_symbol(struct mpk_init *in, const struct mpk_init_module *m,
					      size_t i, struct mpk_init_kernel *k)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf symbol = { 0 };
	const struct mpk_source_code *source = m->code->content;
	const char *text;

	k->symbol = m->code->kernels[i].name;
	if (m->code->format != &mpk_format_cuda)
		return short_name_of(k->symbol, in->arena, &k->short_name, in->err);
	k->short_name = k->symbol;
	if (!mpk_source_code_symbol(&source->kernels[i], &m->code->source->index, &symbol)) {
		k->refusal =
			source->kernels[i].is_template
				? "it is a template, which has no symbol until something instantiates it"
				: "its C++ symbol takes a compiler to tell; declare it extern \"C\"";
		return MPK_OK;
	}
	MPK_TRY(mpk_strbuf_status(&symbol, in->err));
	text = mpk_arena_copy(in->arena, symbol.data, symbol.len);
	MPK_TRY_ALLOC(text, in->err);
	k->symbol = mpk_span_of(text, symbol.len);
	return MPK_OK;
}

/* Returns the reason why there is no launch function: a size or type that a person must give. */
static const char *open_question(const struct mpk_init_kernel *k)
{
	size_t buffers = 0;

	if (k->hides_block)
		return "the block that it demands is no number in the text";
	for (size_t i = 0; i < k->param_count; i++) {
		const struct mpk_code_param *p = &k->params[i];

		if (p->kind == MPK_CODE_PARAM_IMAGE)
			return "it takes images, which launch functions do not pass";
		if (p->kind == MPK_CODE_PARAM_UNKNOWN ||
		    (p->kind == MPK_CODE_PARAM_BUFFER && !p->dtype.bits))
			return "the code does not tell the types of its buffers";
		buffers += p->kind == MPK_CODE_PARAM_BUFFER;
	}
	return buffers ? NULL : "it has no buffer that would tell the device";
}

/* Takes a kernel's symbol. Host code finds a kernel by name in any module, so names must be unique.
 * Returns  1: the name is new, 0: it is taken, -1: memory is out */
static int take_symbol(struct mpk_init *in, const struct mpk_init_kernel *k)
{
	size_t found;

	return k->refusal ? 1 : mpk_strmap_put(&in->symbols, k->symbol, 0, &found);
}

/* The kinds for which launch functions can be generated (launch/resolve.c). */
static bool is_launched(const char *kind)
{
	static const char *const kinds[] = { "cuda", "opencl", "vulkan", "metal", "hip" };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(kinds); i++)
		if (strcmp(kind, kinds[i]) == 0)
			return true;
	return false;
}

/* SPIR-V modules may contain OpenCL kernels, which TVM's OpenCL loaders do not accept. */
static enum mpk_code check_model(struct mpk_init *in, const struct mpk_init_module *m, size_t i,
				 struct mpk_init_kernel *k)
{
	enum { GL_COMPUTE = 5 };
	struct mpk_spirv s;

	if (m->code->format != &mpk_format_spirv)
		return MPK_OK;
	MPK_TRY(mpk_spirv_read(m->code->bytes, in->arena, &s, in->err));
	if (s.entries[i].model != GL_COMPUTE)
		k->refusal =
			"it is no compute shader of Vulkan; OpenCL's SPIR-V is no format of a module";
	return MPK_OK;
}

/* Checks kernels of languages whose readers list no parameters: finds parameters that no runtime
 * can pass. */
static const char *check_unpassable(struct mpk_init *in, const struct mpk_init_module *m, size_t i)
{
	const struct mpk_code_format *f = m->code->format;

	for (size_t p = 0; f->unpassable && p < m->code->kernels[i].param_count; p++) {
		struct mpk_span text = f->unpassable(m->code, i, p);

		if (text.len)
			return mpk_arena_printf(
				in->arena, "its parameter %zu is '%s', which no runtime passes", p,
				MPK_QUOTE(text));
	}
	return NULL;
}

/* Finds a parameter type that makes a runtime's compiler refuse the whole text. */
static const char *check_types(struct mpk_init *in, const struct mpk_init_module *m,
			       const struct mpk_init_kernel *k)
{
	for (size_t i = 0; m->code->format == &mpk_format_opencl && i < k->param_count; i++) {
		const char *type = k->params[i].refused;

		if (type)
			return mpk_arena_printf(
				in->arena,
				"a parameter of it is %s, which OpenCL C refuses, and no kernel of the file builds as long as it is",
				type);
	}
	return NULL;
}

/* A refused kernel becomes a comment. A launchable kernel becomes a row, and also a function if the
 * code tells enough. Only the first reason is printed: if a kernel cannot be launched, missing
 * facts do not matter. */
static enum mpk_code init_kernels_read_kernel(struct mpk_init *in, struct mpk_init_module *m,
					      size_t i)
{
	struct mpk_init_kernel *k = &m->kernels[i];
	int taken;

	k->param_count = m->code->kernels[i].param_count;
	k->hides_params = !m->code->format->param || m->code->kernels[i].hides_params;
	MPK_TRY(mpk_code_info_params(m->code, i, in->arena, &k->params, in->err));
	MPK_TRY(init_kernels_find_symbol(in, m, i, k));
	MPK_TRY(read_launch(in, m, i, k));
	MPK_TRY(check_model(in, m, i, k));
	if (!k->refusal)
		k->refusal = check_types(in, m, k);
	if (!k->refusal && k->hides_params)
		k->refusal = check_unpassable(in, m, i);
	for (size_t p = 0; p < k->param_count && !k->hides_params && !k->refusal; p++)
		k->refusal = refusal_of(in, &k->params[p], p);
	taken = take_symbol(in, k);
	if (taken < 0)
		return mpk_fail_nomem(in->err);
	m->twin_count += !taken;
	if (!taken)
		k->refusal =
			"there is a kernel of this name above, and host code tells kernels by names";
	k->open = k->refusal ? k->refusal : open_question(k);
	if (in->base)
		k->open = "the code of a finished library takes no more functions";
	if (k->hides_params)
		k->open = "the code does not tell what it takes";
	if (!k->open && !is_launched(m->kind))
		k->open = "launch functions are not for modules of this kind";
	m->row_count += !k->refusal;
	m->function_count += !k->open;
	if (!k->refusal) {
		k->function = mpk_init_take_name(in, k->short_name);
		MPK_TRY_ALLOC(k->function, in->err);
	}
	return MPK_OK;
}

/* Lists the kernels of a module whose code is set
 * Returns  MPK_OK; MPK_E_UNSUPPORTED: it has no kernels; MPK_E_NOMEM */
static enum mpk_code init_read_kernels(struct mpk_init *in, struct mpk_init_module *m)
{
	if (!m->code || !m->code->kernel_count)
		return mpk_fail(in->err, MPK_E_UNSUPPORTED, "no kernel is seen in it%s",
				m->code && m->code->format->is_source
					? "; one that a macro makes takes a row written by hand"
					: "");
	m->kernel_count = m->code->kernel_count;
	MPK_TRY_ARRAY(m->kernels, in->arena, m->kernel_count, in->err);
	for (size_t i = 0; i < m->kernel_count; i++)
		MPK_TRY(init_kernels_read_kernel(in, m, i));
	return MPK_OK;
}

static const char prefix[] = "__tvm_ffi_";

/* Texts that precede a function's name: the prefix, or an exporter's macro. */
static const char *const openings[] = { prefix, "TVM_FFI_DLL_EXPORT_TYPED_FUNC(" };

/* Characters in C names and in symbols; compilers also use '.' and '$' in symbols. */
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

/* A C++ function outside of extern "C" has a mangled symbol. Returns the end of the last extern "C"
 * part; NULL if there is none. */
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

/* If several files have the same function, its definition counts, else its first declaration. */
static enum mpk_code add_call(struct mpk_init *in, const struct mpk_init_file *file,
			      const struct mpk_cfunction *f, bool is_header)
{
	struct mpk_init_call call = { f, file, is_header };
	size_t at = in->call_count;
	int put = mpk_strmap_put(&in->call_names, f->name, in->call_count, &at);

	MPK_TRY_ALLOC(put >= 0 && MPK_VEC_ROOM(in->calls, in->call_count, in->call_cap), in->err);
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

/* @count   receives the number of functions that can be called */
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

/* Lists the symbols that an object exports: C functions that some header declares. */
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

/* Returns "my_kernel" for "dir/my kernel.cl". */
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

/* Compares with every other id, as there are few modules. */
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

/* Returns the format that the suffix of a text names, if the text itself does not tell. */
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

/* All images of a fatbin have the same kernels. Returns PTX if there is some, because it tells most
 * about them. */
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
		MPK_TRY(init_read_kernels(in, m));
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
