/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of one file: which a runtime can launch, under which symbol, and their rows. */
#include <inttypes.h>
#include <string.h>

#include "itanium/itanium.h"
#include "package/internal/package.h"
#include "sourcecode/sourcecode.h"
#include "spirv/spirv.h"
#include "text/escape.h"

/* Strings of TOML are those of JSON; bytes that are no UTF-8 become '?', as a manifest must
 * be UTF-8. */
void mpk_init_put_text(struct mpk_strbuf *out, struct mpk_span text)
{
	mpk_escape_json(out, text, "?");
}

/* A name that no function has yet: the wish, or the wish and a number. NULL: memory is out. */
static const char *take_function_name(struct mpk_init *in, struct mpk_span wish)
{
	const char *name = mpk_arena_text(in->arena, wish);
	size_t found;

	for (unsigned i = 2; name; i++) {
		int put = mpk_strmap_put(&in->names, mpk_span_str(name), 0, &found);

		if (put)
			return put > 0 ? name : NULL;
		name = mpk_arena_printf(in->arena, MPK_SPAN_FMT "_%u", MPK_SPAN_ARG(wish), i);
	}
	return NULL;
}

/* --- whether it can be launched ---------------------------------------------------------- */

/* Why a parameter makes a kernel useless to a runtime; the sentence becomes a comment of
 * the manifest. Launches of TVM pass buffers and numbers of 32 or 64 bits. */
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

/* A kernel's name as its source has it, without the scopes and types that its symbol carries; a name that is no
 * mangled one is its own. */
static enum mpk_code short_name_of(struct mpk_span symbol, struct mpk_arena *arena,
				   struct mpk_span *out, struct mpk_error *err)
{
	struct mpk_itanium_function f = { .name = symbol };

	if (mpk_itanium_is(symbol) && mpk_itanium_read(symbol, arena, &f, err) == MPK_E_NOMEM)
		return MPK_E_NOMEM;
	*out = f.name;
	return MPK_OK;
}

/* Sources of CUDA and HIP: the symbol that the kernel is going to have. */
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

/* Why there is no launch function: its sizes and types are a person's to say. */
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

/* Host code finds a kernel by its name, in whichever module it is.
 * Returns  1: the name is new, 0: it is not, -1: memory is out */
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

/* SPIR-V may hold kernels of OpenCL, which TVM's loaders of OpenCL do not take as such. */
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

/* Languages whose parameters no table lists: those that none passes are found all the same. */
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

/* A parameter that makes a runtime's compiler refuse the whole text. */
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

/* A kernel that is refused gets a comment, one that can be launched a row, and a function
 * where the code says enough to write one. Each reason goes before the next: who cannot
 * launch a kernel need not know what else is missing. */
static enum mpk_code init_kernels_read_kernel(struct mpk_init *in, struct mpk_init_module *m,
					      size_t i)
{
	struct mpk_init_kernel *k = &m->kernels[i];
	int taken;

	k->param_count = m->code->kernels[i].param_count;
	k->hides_params = !m->code->format->param || m->code->kernels[i].hides_params;
	MPK_TRY(mpk_code_info_params(m->code, i, in->arena, &k->params, in->err));
	MPK_TRY(init_kernels_find_symbol(in, m, i, k));
	MPK_TRY(mpk_init_read_launch(in, m, i, k));
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
		k->function = take_function_name(in, k->short_name);
		MPK_TRY_ALLOC(k->function, in->err);
	}
	return MPK_OK;
}

enum mpk_code mpk_init_read_kernels(struct mpk_init *in, struct mpk_init_module *m)
{
	if (!m->code || !m->code->kernel_count)
		return mpk_fail(in->err, MPK_E_UNSUPPORTED, "no kernel is seen in it%s",
				m->code && m->code->format->is_source
					? "; one that a macro makes takes a row written by hand"
					: "");
	m->kernel_count = m->code->kernel_count;
	m->kernels = mpk_arena_array(in->arena, m->kernel_count, sizeof *m->kernels);
	MPK_TRY_ALLOC(m->kernels, in->err);
	for (size_t i = 0; i < m->kernel_count; i++)
		MPK_TRY(init_kernels_read_kernel(in, m, i));
	return MPK_OK;
}

/* --- rows ------------------------------------------------------------------------------ */

/* A comment stays on its line whatever a name holds. */
static void init_kernels_put_comment(struct mpk_init *in, const char *indent, struct mpk_span text)
{
	mpk_strbuf_printf(in->out, "%s# ", indent);
	for (size_t i = 0; i < text.len; i++) {
		bool blank = text.data[i] <= ' ' || text.data[i] == 0x7f;

		if (!blank)
			mpk_strbuf_putc(in->out, (char)text.data[i]);
		else if (i && text.data[i - 1] > ' ')
			mpk_strbuf_putc(in->out, ' ');
	}
	mpk_strbuf_putc(in->out, '\n');
}

/* The declaration above a row, for a reader who must decide something about it. */
static void put_declaration(struct mpk_init *in, const struct mpk_init_kernel *k)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf line = { 0 };

	if (!k->text.len && mpk_span_equal(k->symbol, k->short_name))
		return;
	mpk_strbuf_put_span(&line, k->short_name);
	mpk_strbuf_putc(&line, '(');
	mpk_strbuf_put_span(&line, k->text);
	mpk_strbuf_putc(&line, ')');
	in->out->failed |= line.failed;
	if (!line.failed)
		init_kernels_put_comment(in, "  ", mpk_span_of(line.data, line.len));
}

/* What the code does not tell is marked "decide": the file is complete only when no such
 * line is left. */
static void put_args(struct mpk_init *in, const struct mpk_init_kernel *k)
{
	char type[MPK_DTYPE_TEXT];
	struct mpk_dtype t = { 0 };
	bool unknown = false;

	mpk_strbuf_puts(in->out, "  args   = [");
	for (size_t i = 0; i < k->param_count; i++) {
		(void)mpk_code_info_argument(&k->params[i], &t); /* it is no refused kernel */
		mpk_strbuf_printf(in->out, "%s\"%s\"", i ? ", " : "", mpk_dtype_print(t, type));
		unknown |= k->params[i].kind == MPK_CODE_PARAM_UNKNOWN;
	}
	mpk_strbuf_puts(in->out, "]");
	if (k->hides_params)
		mpk_strbuf_puts(in->out,
				" # decide: the buffers by their bindings, then the scalars");
	else if (unknown)
		mpk_strbuf_puts(
			in->out,
			" # decide: the code tells sizes alone; 8 bytes may be int64, 4 bytes float32");
	mpk_strbuf_putc(in->out, '\n');
}

/* As many axes as the code uses an index of, one where it does not tell. */
static void put_tags(struct mpk_init *in, const struct mpk_init_kernel *k)
{
	unsigned dims = k->dims ? k->dims : 1;

	mpk_strbuf_puts(in->out, "  launch = [");
	for (unsigned d = 0; d < dims; d++)
		mpk_strbuf_printf(in->out, "%s\"blockIdx.%c\"", d ? ", " : "", "xyz"[d]);
	for (unsigned d = 0; d < dims; d++)
		mpk_strbuf_printf(in->out, ", \"threadIdx.%c\"", "xyz"[d]);
	if (k->shared)
		mpk_strbuf_puts(in->out, ", \"tirx.use_dyn_shared_memory\"");
	mpk_strbuf_puts(in->out, "]");
	if (!k->dims || k->hides_shared)
		mpk_strbuf_printf(
			in->out, " # decide: the code does not tell %s",
			!k->hides_shared ? "the dimensions"
			: k->dims
				? "whether there is \"tirx.use_dyn_shared_memory\", too"
				: "the dimensions, nor whether there is \"tirx.use_dyn_shared_memory\", too");
	mpk_strbuf_putc(in->out, '\n');
}

/* A kernel within #if is there for some compilers and not for others. */
static void put_condition(struct mpk_init *in, const struct mpk_code_kernel *k)
{
	if (!k->condition.len || k->has_variants)
		return;
	mpk_strbuf_puts(in->out, "  # decide: it stands behind '");
	mpk_escape(in->out, k->condition);
	mpk_strbuf_puts(in->out, "': whether there is one depends on who compiles the text\n");
}

void mpk_init_put_rows(struct mpk_init *in, const struct mpk_init_module *m)
{
	for (size_t i = 0; i < m->kernel_count; i++) {
		const struct mpk_init_kernel *k = &m->kernels[i];

		mpk_strbuf_puts(in->out, m->row_count ? "\n" : "");
		put_declaration(in, k);
		if (k->refusal) {
			mpk_strbuf_puts(in->out, "  # ");
			mpk_escape(in->out, k->short_name);
			mpk_strbuf_printf(in->out, " is left out: %s\n", k->refusal);
			continue;
		}
		put_condition(in, &m->code->kernels[i]);
		mpk_strbuf_puts(in->out, "  [[module.function]]\n  name   = ");
		mpk_init_put_text(in->out, k->symbol);
		mpk_strbuf_putc(in->out, '\n');
		put_args(in, k);
		put_tags(in, k);
	}
}
