/* SPDX-License-Identifier: Apache-2.0 */
/* wrap_args.c - what a compiler noted of a kernel, and what the kernel takes
 *
 * A cubin has the sizes of its parameters, and every source of types is compared with these
 * sizes: notes of another cubin would otherwise make a function that passes garbage. */
#include "package/internal/wrap.h"

#include <inttypes.h>
#include <string.h>

#include "base/num.h"
#include "code/format.h"
#include "code/info.h"
#include "launch/launch.h"
#include "text/escape.h"

enum { DRIVER_ALIGN = 256 }; /* alignment of memory that a CUDA driver allocates */

/* --- lists -------------------------------------------------------------------------------- */

static struct mpk_span wrap_trimmed(struct mpk_span s)
{
	while (s.len && (s.data[0] == ' ' || s.data[0] == '\t'))
		s = mpk_span_of(s.data + 1, s.len - 1);
	while (s.len && (s.data[s.len - 1] == ' ' || s.data[s.len - 1] == '\t'))
		s.len--;
	return s;
}

enum mpk_code mpk_wrap_split(const char *text, struct mpk_arena *arena, const struct mpk_span **out,
			     size_t *count, struct mpk_error *err)
{
	struct mpk_span all = mpk_span_str(text), *list;
	size_t most = 1, used = 0, from = 0;
	unsigned depth = 0;

	for (size_t i = 0; i < all.len; i++)
		most += text[i] == ',';
	list = mpk_arena_array(arena, most, sizeof *list);
	MPK_TRY_ALLOC(list, err);
	for (size_t i = 0; i <= all.len; i++) {
		depth += text[i] == '(' || text[i] == '[';
		depth -= depth && (text[i] == ')' || text[i] == ']');
		if (text[i] && (text[i] != ',' || depth))
			continue;
		list[used++] = wrap_trimmed(mpk_span_of(all.data + from, i - from));
		from = i + 1;
	}
	if (used == 1 && !list[0].len)
		used = 0;
	*out = list;
	*count = used;
	return MPK_OK;
}

/* --- names ---------------------------------------------------------------------------------- */

static bool wrap_is_taken(const struct mpk_wrap *w, const char *name)
{
	static const char *const words[] = { "none",           "min",    "max",    "ceildiv",
					     "grid_x",         "grid_y", "grid_z", "global_scratch",
					     "profile_scratch" };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(words); i++)
		if (strcmp(name, words[i]) == 0)
			return true;
	for (size_t i = 0; i < w->given; i++)
		if (w->args[i].declaration && strcmp(name, w->args[i].text) == 0)
			return true;
	return false;
}

/* Makes a name that expressions accept and no other parameter has. */
static const char *wrap_name(struct mpk_wrap *w, struct mpk_span wish)
{
	bool named = wish.len && !(wish.data[0] >= '0' && wish.data[0] <= '9');
	char *base = named ? mpk_arena_text(w->arena, wish)
			   : mpk_arena_printf(w->arena, "p%zu", w->given);
	const char *name = base;

	for (char *p = base; p && *p; p++)
		if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
		      (*p >= '0' && *p <= '9')))
			*p = '_';
	for (unsigned n = 2; name && wrap_is_taken(w, name); n++)
		name = mpk_arena_printf(w->arena, "%s_%u", base, n);
	return name;
}

/* --- one argument ----------------------------------------------------------------------------- */

static const struct mpk_dtype handle = { MPK_DTYPE_HANDLE, 64, 1 };

/* The function's arguments are the kernel's, so there is never one too many. */
static enum mpk_code wrap_add(struct mpk_wrap *w, struct mpk_wrap_arg arg)
{
	MPK_TRY_ALLOC(arg.text && arg.title, w->err);
	if (w->given == w->kernel->param_count)
		return mpk_fail(w->err, MPK_E_CONFLICT,
				"kernel '%s' takes %zu arguments, and more are listed",
				MPK_QUOTE(w->kernel->name), w->kernel->param_count);
	w->args[w->given++] = arg;
	return MPK_OK;
}

/* Accepts a tensor of any shape, or a number. */
static enum mpk_code add_typed(struct mpk_wrap *w, const struct mpk_triton_param *p,
			       const char *direction)
{
	const char *name = wrap_name(w, p->name);
	const char *divisible = p->divisible > 1 ? mpk_arena_printf(w->arena, "divisible %u ",
								    (unsigned)p->divisible)
						 : "";
	char type[MPK_DTYPE_TEXT];

	MPK_TRY_ALLOC(name && divisible, w->err);
	if (!p->dtype.bits)
		return mpk_fail(w->err, MPK_E_UNSUPPORTED,
				"argument '%s' is %s, which no launch function passes", name,
				MPK_QUOTE(p->text));
	(void)mpk_dtype_print(p->dtype, type);
	return wrap_add(
		w,
		(struct mpk_wrap_arg){
			.text = name,
			.title = name,
			.declaration =
				mpk_arena_printf(w->arena, "%s: %s%s%s%s", name, direction,
						 divisible, type, p->is_pointer ? "[...]" : ""),
			.type = p->is_pointer ? handle : p->dtype,
			.doubt =
				p->is_pointer && p->is_signless
					? "integers with a sign, as nothing says that they have none"
					: NULL,
		});
}

/* The bytes of the notes tell their kind. */
enum mpk_code mpk_wrap_read_notes(struct mpk_wrap *w)
{
	struct mpk_span text = w->file->meta;
	struct mpk_code_info *code;

	while (text.len && text.data[0] <= ' ')
		text = mpk_span_of(text.data + 1, text.len - 1);
	if (!w->file->meta_path)
		return MPK_OK;
	if (mpk_span_starts(text, "{")) {
		/* --- notes --------------------------------------------------------------------
		 * ---------------- */
		struct mpk_triton *t = mpk_arena_alloc(w->arena, sizeof *t);

		MPK_TRY_ALLOC(t, w->err);
		MPK_TRY(mpk_triton_read(w->file->meta, w->arena, t, w->err));
		if (t->descriptor_count)
			return mpk_fail(
				w->err, MPK_E_UNSUPPORTED,
				"kernel '%s' takes descriptors of tensors, which only Triton's launcher makes",
				MPK_QUOTE(mpk_span_str(t->name)));
		if (t->global.align > DRIVER_ALIGN || t->profile.align > DRIVER_ALIGN)
			return mpk_fail(
				w->err, MPK_E_UNSUPPORTED,
				"kernel '%s' takes memory aligned to more than the %d bytes that a driver gives",
				MPK_QUOTE(mpk_span_str(t->name)), DRIVER_ALIGN);
		if (t->arch && t->arch != w->cubin->sm)
			return mpk_fail(
				w->err, MPK_E_CONFLICT,
				"Triton's metadata are for sm_%u, and the cubin for sm_%u: they are of another kernel",
				t->arch, w->cubin->sm);
		w->triton = t;
		w->ir = w->file->ir;
		return MPK_OK;
	}
	if (mpk_span_has(text, "tt.func ")) {
		w->ir = text;
		return MPK_OK;
	}
	code = mpk_arena_alloc(w->arena, sizeof *code);
	MPK_TRY_ALLOC(code, w->err);
	*code = (struct mpk_code_info){ .bytes = text };
	if (!mpk_code_is_text(text) || !mpk_span_has(text, "__global__"))
		return mpk_fail(
			w->err, MPK_E_UNSUPPORTED,
			"these are no notes of a kernel: neither Triton's metadata (.json) and IR (.ttir) nor CUDA C++ with a kernel");
	MPK_TRY(mpk_code_info_read_as(&mpk_format_cuda, w->arena, code, w->err));
	if (code->problem) {
		*w->err = *code->problem;
		return code->problem->code;
	}
	w->source = code;
	return MPK_OK;
}

/* --- a signature -------------------------------------------------------------------------------- */

static bool is_number(struct mpk_span item)
{
	double ignored;

	return mpk_parse_f64(item, &ignored);
}

/* "n: int32", as manifests have it; its own error says what is wrong. */
static enum mpk_code add_parameter(struct mpk_wrap *w, struct mpk_span item)
{
	const char *text = mpk_arena_text(w->arena, item), *name;
	struct mpk_launch_param p = { 0 };

	MPK_TRY_ALLOC(text, w->err);
	MPK_TRY(mpk_launch_param_parse(&(struct mpk_toml_str){ .text = text, .len = item.len },
				       w->arena, &p, w->err));
	name = mpk_arena_text(w->arena, p.name);
	return wrap_add(w, (struct mpk_wrap_arg){ .text = name,
						  .title = name,
						  .declaration = text,
						  .type = p.is_tensor ? handle : p.dtype });
}

/* "M", "N * 2": an integer as wide as the kernel's parameter. */
static enum mpk_code add_expression(struct mpk_wrap *w, struct mpk_span item)
{
	const struct mpk_expr *e;
	struct mpk_scan s = { .text = item };
	const char *text = mpk_arena_text(w->arena, item);
	uint32_t bytes = w->given < w->kernel->param_count ? w->kernel->params[w->given].bytes : 0;

	MPK_TRY(mpk_expr_scan(&s, w->arena, &e, w->err));
	if (s.at < item.len)
		return mpk_fail(w->err, MPK_E_SYNTAX,
				"'%s' is no type, no parameter and no expression", MPK_QUOTE(item));
	return wrap_add(w, (struct mpk_wrap_arg){
				   .text = text,
				   .title = text,
				   .type = { MPK_DTYPE_INT, bytes == 8 ? 64 : 32, 1 },
			   });
}

/* Constants, and integers that were 1, were compiled in. */
static enum mpk_code add_item(struct mpk_wrap *w, struct mpk_span item)
{
	struct mpk_triton_param p;

	if (is_number(item))
		return MPK_OK;
	if (mpk_triton_read_type(item, &p)) {
		bool compiled_in = !p.is_pointer && item.data[item.len - 1] == '1' &&
				   item.data[item.len - 2] == ':';

		return compiled_in ? MPK_OK : add_typed(w, &p, "");
	}
	return memchr(item.data, ':', item.len) ? add_parameter(w, item) : add_expression(w, item);
}

static enum mpk_code read_signature(struct mpk_wrap *w)
{
	const struct mpk_span *items;
	size_t count;

	MPK_TRY(mpk_wrap_split(w->how->signature, w->arena, &items, &count, w->err));
	for (size_t i = 0; i < count; i++) {
		enum mpk_code code = items[i].len ? add_item(w, items[i])
						  : mpk_fail(w->err, MPK_E_SYNTAX, "it is empty");

		if (code == MPK_OK)
			continue;
		mpk_error_prefix(w->err, "signature, item %zu: ", i + 1);
		w->err->at =
			(struct mpk_where){ 0 }; /* a column of that item, which is never shown */
		return code;
	}
	return MPK_OK;
}

/* Types that TileLang's headers define: "const half_t* __restrict__ A". */
static void read_tilelang(const struct mpk_code_param *p, struct mpk_triton_param *out)
{
	static const char *const types[][2] = { { "half_t", "float16" },
						{ "bfloat16_t", "bfloat16" },
						{ "fp8_e4_t", "float8_e4m3fn" },
						{ "fp8_e5_t", "float8_e5m2" } };
	struct mpk_span text = p->text;

	if (mpk_span_starts(text, "const "))
		text = wrap_trimmed(mpk_span_of(text.data + 6, text.len - 6));
	for (size_t i = 0; i < MPK_ARRAY_COUNT(types); i++) {
		size_t n = strlen(types[i][0]);
		struct mpk_span rest;

		if (!mpk_span_starts(text, types[i][0]) || text.len == n)
			continue;
		rest = wrap_trimmed(mpk_span_of(text.data + n, text.len - n));
		if (!mpk_span_starts(rest, "*") && text.data[n] != ' ')
			continue;
		out->is_pointer = mpk_span_starts(rest, "*");
		(void)mpk_dtype_parse(mpk_span_str(types[i][1]), &out->dtype);
	}
}

/* Reads CUDA C++ that declares the kernel. */
static enum mpk_code read_source(struct mpk_wrap *w)
{
	const struct mpk_code_param *list;
	size_t kernel;

	if (!mpk_code_info_find(w->source, w->kernel->name, &kernel))
		return mpk_fail(w->err, MPK_E_CONFLICT, "its source declares no kernel '%s'",
				MPK_QUOTE(w->kernel->name));
	MPK_TRY(mpk_code_info_params(w->source, kernel, w->arena, &list, w->err));
	for (size_t i = 0; i < w->source->kernels[kernel].param_count; i++) {
		const struct mpk_code_param *p = &list[i];
		struct mpk_triton_param typed = {
			.name = p->name,
			.text = p->text,
			.is_pointer = p->kind == MPK_CODE_PARAM_BUFFER,
			.dtype =
				p->kind == MPK_CODE_PARAM_BUFFER || p->kind == MPK_CODE_PARAM_NUMBER
					? p->dtype
					: (struct mpk_dtype){ 0 },
		};

		bool read_only = p->read_only || mpk_span_starts(p->text, "const ");

		if (!typed.dtype.bits && mpk_span_has(w->source->bytes, "tl_templates/"))
			read_tilelang(p, &typed);
		MPK_TRY(add_typed(w, &typed, typed.is_pointer && read_only ? "in " : ""));
	}
	return MPK_OK;
}

/* --- the whole ------------------------------------------------------------------------------------ */

/* "8, 8, 8, 4": the sizes that a cubin tells. */
static const char *sizes_text(struct mpk_wrap *w)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };
	size_t count = w->kernel->param_count < 32 ? w->kernel->param_count : 32;

	for (size_t i = 0; i < count; i++)
		mpk_strbuf_printf(&text, "%s%" PRIu32, i ? ", " : "", w->kernel->params[i].bytes);
	mpk_strbuf_puts(&text, count < w->kernel->param_count ? ", ..." : "");
	return text.failed ? NULL : mpk_arena_copy(w->arena, mpk_strbuf_text(&text), text.len);
}

enum mpk_code mpk_wrap_read_args(struct mpk_wrap *w)
{
	w->args = mpk_arena_array(w->arena, w->kernel->param_count + 1, sizeof *w->args);
	w->given = 0;
	MPK_TRY_ALLOC(w->args, w->err);
	if (w->how->signature)
		MPK_TRY(read_signature(w));
	else if (w->ir.len) {
		/* --- what a compiler left
		 * -------------------------------------------------------------------------- */
		const struct mpk_triton_param *list;
		const char *name = mpk_arena_text(w->arena, w->kernel->name);
		size_t count;

		MPK_TRY_ALLOC(name, w->err);
		MPK_TRY(mpk_triton_read_ir(w->ir, name, w->arena, &list, &count, w->err));
		for (size_t i = 0; i < count; i++)
			MPK_TRY(add_typed(w, &list[i], ""));
	} else if (w->source)
		MPK_TRY(read_source(w));
	else {
		const char *sizes = sizes_text(w);

		MPK_TRY_ALLOC(sizes, w->err);
		return mpk_fail(
			w->err, MPK_E_UNSUPPORTED,
			"nothing says what kernel '%s' takes; the cubin has sizes alone, %s bytes: give a signature, such as '*fp32, i32'%s",
			MPK_QUOTE(w->kernel->name), w->kernel->param_count ? sizes : "0",
			w->triton ? ", or the .ttir that Triton keeps beside the metadata" : "");
	}

	for (size_t i = 0; i < w->given; i++) {
		const struct mpk_wrap_arg *a = &w->args[i];
		char type[MPK_DTYPE_TEXT];

		if (mpk_dtype_bytes(a->type) != w->kernel->params[i].bytes)
			return mpk_fail(
				w->err, MPK_E_CONFLICT,
				"argument %zu of kernel '%s', '%s', is of %zu bytes (%s), and the cubin's is of %" PRIu32,
				i + 1, MPK_QUOTE(w->kernel->name), a->title,
				mpk_dtype_bytes(a->type), mpk_dtype_print(a->type, type),
				w->kernel->params[i].bytes);
	}

	if (w->triton) {
		/* Triton's launcher adds global scratch memory, then a profiler's. */
		const struct mpk_triton_scratch *scratch[] = { &w->triton->global,
							       &w->triton->profile };
		static const char *const names[] = { "global_scratch", "profile_scratch" };
		size_t given = w->given, hidden = w->kernel->param_count - given;

		for (size_t i = 0; i < MPK_ARRAY_COUNT(scratch); i++)
			if (scratch[i]->bytes && i >= hidden)
				return mpk_fail(
					w->err, MPK_E_CONFLICT,
					"Triton's metadata have a '%s', and the cubin takes none",
					names[i]);
		for (size_t i = 0; i < hidden; i++) {
			bool is_pointer = w->kernel->params[given + i].bytes == 8;

			if (i >= MPK_ARRAY_COUNT(scratch) || !is_pointer)
				return mpk_fail(
					w->err, MPK_E_CONFLICT,
					"%zu arguments are listed, and kernel '%s' takes %zu: what Triton adds are two pointers at most",
					given, MPK_QUOTE(w->kernel->name), w->kernel->param_count);
			MPK_TRY(wrap_add(w, (struct mpk_wrap_arg){
						    .text = scratch[i]->bytes ? names[i] : "none",
						    .title = names[i],
						    .type = handle,
					    }));
		}
		w->given = given;
		return MPK_OK;
	}
	if (w->given < w->kernel->param_count)
		return mpk_fail(w->err, MPK_E_CONFLICT,
				"%zu arguments are listed, and kernel '%s' takes %zu", w->given,
				MPK_QUOTE(w->kernel->name), w->kernel->param_count);
	return MPK_OK;
}
