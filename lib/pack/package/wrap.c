/* SPDX-License-Identifier: Apache-2.0 */
/* wrap.c - writes manifests that make cubins callable: which kernels they have, and how these are
 * launched */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/strmap.h"
#include "base/vec.h"
#include "code/format.h"
#include "code/info.h"
#include "cubin/cubin.h"
#include "io/path.h"
#include "launch/launch.h"
#include "manifest/manifest.h"
#include "package/internal/package.h"
#include "package/wrap.h"
#include "text/escape.h"
#include "text/phrase.h"
#include "triton/triton.h"

/* One argument of a kernel. */
struct mpk_wrap_arg {
	/* the value that the function passes: a name, an expression, or "none" */
	const char *text;
	/* type of the parameter of that name; NULL: the argument is not a parameter */
	const char *declaration;
	const char *title;     /* its name, else its number; for messages */
	const char *doubt;     /* a sentence that warns the reader of the manifest; NULL: none */
	struct mpk_dtype type; /* its type in the kernel's table */
};

/* A kernel that is being described. */
struct mpk_wrap {
	const struct mpk_wrap_file *file;
	const struct mpk_wrap_options *how;
	const struct mpk_cubin *cubin;
	const struct mpk_cubin_kernel *kernel;
	const struct mpk_triton *triton; /* NULL: the kernel is not from Triton */
	/* CUDA C++ source that declares the kernel; NULL: none */
	const struct mpk_code_info *source;
	struct mpk_span ir;
	struct mpk_arena *arena;
	struct mpk_error *err;
	struct mpk_wrap_arg *args; /* as many arguments as the kernel takes */
	/* number of arguments that the caller passes; the launcher adds the rest */
	size_t given;
};

/* --- The kernel's parameters, from the files that its compiler wrote.
 *
 * A cubin has the sizes of its kernels' parameters. Types from any other source are compared with
 * these sizes, because a file that belongs to another cubin would produce a function that passes
 * garbage. */

enum { DRIVER_ALIGN = 256 }; /* alignment of memory that a CUDA driver allocates */

/* --- lists -------------------------------------------------------------------------------- */

static struct mpk_span wrap_trimmed(struct mpk_span s)
{
	while (s.len && (s.data[0] == ' ' || s.data[0] == '\t'))
		s = mpk_span_from(s, 1);
	while (s.len && (s.data[s.len - 1] == ' ' || s.data[s.len - 1] == '\t'))
		s.len--;
	return s;
}

/* Splits a list at the commas outside of brackets, and drops blanks around the items
 * @out     *count items in arena; views of text
 * Returns  MPK_OK; MPK_E_NOMEM */
static enum mpk_code wrap_split(const char *text, struct mpk_arena *arena,
				const struct mpk_span **out, size_t *count, struct mpk_error *err)
{
	struct mpk_span all = mpk_span_str(text), *list;
	size_t most = 1, used = 0, from = 0;
	unsigned depth = 0;

	for (size_t i = 0; i < all.len; i++)
		most += text[i] == ',';
	MPK_TRY_ARRAY(list, arena, most, err);
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

/* Returns a name that is valid in expressions and that no other parameter has. */
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

/* Adds an argument. There is space, because a function has as many arguments as the kernel has
 * parameters. */
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

/* Adds a tensor of any shape, or a number. */
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

/* Reads the file that belongs to the cubin, and sets triton, ir or source. The bytes of the file
 * tell its kind.
 * Returns  as mpk_wrap_manifest */
static enum mpk_code wrap_read_notes(struct mpk_wrap *w)
{
	struct mpk_span text = w->file->meta;
	struct mpk_code_info *code;

	while (text.len && text.data[0] <= ' ')
		text = mpk_span_from(text, 1);
	if (!w->file->meta_path)
		return MPK_OK;
	if (mpk_span_starts(text, "{")) {
		/* --- the compiler's notes -------------------------------------------------- */
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

/* Adds a parameter in a manifest's syntax, such as "n: int32". On failure, err describes the
 * mistake. */
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

/* Adds an expression such as "M" or "N * 2": an integer as wide as the kernel's parameter. */
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

/* Adds an item of a signature, and skips parameters that the compiler removed: constants, and
 * integers that were 1. */
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

	MPK_TRY(wrap_split(w->how->signature, w->arena, &items, &count, w->err));
	for (size_t i = 0; i < count; i++) {
		enum mpk_code code = items[i].len ? add_item(w, items[i])
						  : mpk_fail(w->err, MPK_E_SYNTAX, "it is empty");

		if (code == MPK_OK)
			continue;
		mpk_error_prefix(w->err, "signature, item %zu: ", i + 1);
		/* its column is within the item and would be misleading */
		w->err->at = (struct mpk_where){ 0 };
		return code;
	}
	return MPK_OK;
}

/* Reads types that TileLang's headers define, as in "const half_t* __restrict__ A". */
static void read_tilelang(const struct mpk_code_param *p, struct mpk_triton_param *out)
{
	static const char *const types[][2] = { { "half_t", "float16" },
						{ "bfloat16_t", "bfloat16" },
						{ "fp8_e4_t", "float8_e4m3fn" },
						{ "fp8_e5_t", "float8_e5m2" } };
	struct mpk_span text = p->text;

	if (mpk_span_starts(text, "const "))
		text = wrap_trimmed(mpk_span_from(text, 6));
	for (size_t i = 0; i < MPK_ARRAY_COUNT(types); i++) {
		size_t n = strlen(types[i][0]);
		struct mpk_span rest;

		if (!mpk_span_starts(text, types[i][0]) || text.len == n)
			continue;
		rest = wrap_trimmed(mpk_span_from(text, n));
		if (!mpk_span_starts(rest, "*") && text.data[n] != ' ')
			continue;
		out->is_pointer = mpk_span_starts(rest, "*");
		(void)mpk_dtype_parse(mpk_span_str(types[i][1]), &out->dtype);
	}
}

/* Reads CUDA C++ source that declares the kernel. */
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

/* --- all parameters of a kernel --------------------------------------------------------------- */

/* Returns "8, 8, 8, 4": the parameter sizes that the cubin records. */
static const char *sizes_text(struct mpk_wrap *w)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };
	size_t count = w->kernel->param_count < 32 ? w->kernel->param_count : 32;

	for (size_t i = 0; i < count; i++)
		mpk_strbuf_printf(&text, "%s%" PRIu32, i ? ", " : "", w->kernel->params[i].bytes);
	mpk_strbuf_puts(&text, count < w->kernel->param_count ? ", ..." : "");
	return text.failed ? NULL : mpk_arena_copy(w->arena, mpk_strbuf_text(&text), text.len);
}

/* Reads the kernel's parameters from a signature, the IR or a declaration, and compares them with
 * the sizes in the cubin.
 * Returns  as mpk_wrap_manifest */
static enum mpk_code wrap_read_args(struct mpk_wrap *w)
{
	w->args = mpk_arena_array(w->arena, w->kernel->param_count + 1, sizeof *w->args);
	w->given = 0;
	MPK_TRY_ALLOC(w->args, w->err);
	if (w->how->signature)
		MPK_TRY(read_signature(w));
	else if (w->ir.len) {
		/* --- parameters that a compiler removed --------------------------------------------------- */
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
		/* Triton's launcher appends global scratch memory, then the profiler's. */
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

struct wraps {
	const struct mpk_wrap_options *how;
	struct mpk_arena *arena;
	/* the manifest so far; functions are printed after all modules */
	struct mpk_strbuf *out, functions;
	struct mpk_error *err;
	struct mpk_strmap ids, names; /* map a name to an index of next */
	/* malloc'ed: for each name, the number that its next duplicate gets */
	uint32_t *next;
	size_t next_count, next_cap;
};

/* --- names ------------------------------------------------------------------------------------ */

/* Returns the wish, or the wish with a number. Thousands of kernels may have the same wish. NULL if
 *         memory is out. */
static const char *wrap_take(struct wraps *ws, struct mpk_strmap *map, const char *wish)
{
	const char *name = wish;
	size_t at = 0;
	int put = mpk_strmap_put(map, mpk_span_str(wish), ws->next_count, &at);

	if (put < 0 || !MPK_VEC_ROOM(ws->next, ws->next_count, ws->next_cap))
		return NULL;
	ws->next[ws->next_count++] = 2;
	while (put == 0) {
		name = mpk_arena_printf(ws->arena, "%s_%" PRIu32, wish, ws->next[at]++);
		put = name ? mpk_strmap_put(map, mpk_span_str(name), ws->next_count - 1, NULL) : -1;
	}
	return put > 0 ? name : NULL;
}

/* Makes a name of characters that are allowed in names of functions and of modules. */
static const char *as_identifier(struct mpk_arena *arena, struct mpk_span text)
{
	char *name = mpk_arena_text(arena, text);

	for (char *p = name; p && *p; p++)
		if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
		      (*p >= '0' && *p <= '9')))
			*p = '_';
	return name && !*name ? "kernels" : name;
}

/* Returns "add" for "cache/XYZ/add.cubin", "cache" for "a/cache/". */
static const char *wrap_stem(struct mpk_arena *arena, const char *path)
{
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		len--;
	path = mpk_arena_copy(arena, path, len);
	path = path ? mpk_path_name(path) : NULL;
	return path ? as_identifier(arena, mpk_span_of(path, strcspn(path, "."))) : NULL;
}

/* --- How a kernel is launched.
 *
 * From the compiler's notes, from attributes in the code, or from the user's options. If none of
 * them tells, this is an error, as a wrong block or too little shared memory causes a fault on the
 * device. */

/* How a kernel is launched: expressions, in arena. */
struct wrap_launch {
	const char *grid[3], *block[3], *cluster[3]; /* NULL: not given, 1 */
	const char *shared;                          /* NULL: none */
	const char *blocks; /* the extents of the whole grid, for the sizes of temporaries */
	bool cooperative, programmatic, grid_is_argument;
};

/* Reads up to three expressions; their names are checked when the manifest is read. */
static enum mpk_code read_expressions(const struct mpk_wrap *w, const char *text, const char *what,
				      const char *out[3])
{
	const struct mpk_span *items;
	size_t count;

	MPK_TRY(wrap_split(text, w->arena, &items, &count, w->err));
	if (!count || count > 3)
		return mpk_fail(w->err, MPK_E_SYNTAX, "%s: up to three expressions, not %zu", what,
				count);
	for (size_t i = 0; i < count; i++) {
		struct mpk_scan s = { .text = items[i] };
		const struct mpk_expr *e;
		enum mpk_code code = mpk_expr_scan(&s, w->arena, &e, w->err);

		w->err->at = (struct mpk_where){ 0 };
		if (code == MPK_OK && s.at < items[i].len)
			code = mpk_fail(w->err, MPK_E_SYNTAX, "'%s' is no expression",
					MPK_QUOTE(items[i]));
		if (code != MPK_OK) {
			mpk_error_prefix(w->err, "%s: ", what);
			return code;
		}
		out[i] = mpk_arena_text(w->arena, items[i]);
		MPK_TRY_ALLOC(out[i], w->err);
	}
	return MPK_OK;
}

static enum mpk_code put_numbers(const struct mpk_wrap *w, const uint32_t *numbers, size_t count,
				 const char *out[3])
{
	for (size_t i = 0; i < count; i++) {
		out[i] = mpk_arena_printf(w->arena, "%" PRIu32, numbers[i]);
		MPK_TRY_ALLOC(out[i], w->err);
	}
	return MPK_OK;
}

/* Whether the block is the one that TileLang promised to the compiler. The code tells the number of
 * dimensions, because it reads indices along y or z. */
static bool is_tilelang_block(const struct mpk_wrap *w)
{
	struct mpk_span text = w->source ? w->source->bytes : (struct mpk_span){ 0 };

	return mpk_span_has(text, "tl_templates/") && !mpk_span_has(text, "threadIdx.y") &&
	       !mpk_span_has(text, "threadIdx.z") && w->kernel->max_threads[0] &&
	       w->kernel->max_threads[1] <= 1 && w->kernel->max_threads[2] <= 1;
}

static enum mpk_code choose_block(const struct mpk_wrap *w, struct wrap_launch *l)
{
	const struct mpk_cubin_kernel *k = w->kernel;

	if (w->triton && k->block[0] &&
	    (k->block[0] != w->triton->threads || k->block[1] > 1 || k->block[2] > 1))
		return mpk_fail(w->err, MPK_E_CONFLICT,
				"Triton's metadata have blocks of %" PRIu32
				" threads, and the cubin is made for %" PRIu32 "x%" PRIu32
				"x%" PRIu32 ": they are of another kernel",
				w->triton->threads, k->block[0], k->block[1], k->block[2]);
	if (w->triton)
		return put_numbers(w, &w->triton->threads, 1, l->block);
	if (w->how->block)
		return read_expressions(w, w->how->block, "block", l->block);
	if (k->block[0])
		return put_numbers(w, k->block,
				   k->block[2] > 1   ? 3
				   : k->block[1] > 1 ? 2
						     : 1,
				   l->block);
	if (is_tilelang_block(w))
		return put_numbers(w, k->max_threads, 1, l->block);
	return mpk_fail(w->err, MPK_E_UNSUPPORTED,
			"nothing says which block kernel '%s' is launched with: give it",
			MPK_QUOTE(k->name));
}

/* Returns an extent of the grid as a factor: a name or a number unchanged, anything else in
 *         brackets. */
static const char *factor(const struct mpk_wrap *w, const struct wrap_launch *l, unsigned i)
{
	const char *text = l->grid[i] ? l->grid[i] : "1", *bracketed;

	if (!strpbrk(text, " +-*/%"))
		return text;
	bracketed = mpk_arena_printf(w->arena, "(%s)", text);
	/* if memory is out, the next allocation fails and reports it */
	return bracketed ? bracketed : text;
}

static enum mpk_code choose_cluster(const struct mpk_wrap *w, struct wrap_launch *l)
{
	const uint32_t *cluster = w->triton ? w->triton->cluster : NULL;

	if (w->how->cluster)
		return read_expressions(w, w->how->cluster, "cluster", l->cluster);
	if (cluster && (cluster[0] > 1 || cluster[1] > 1 || cluster[2] > 1)) {
		/* Triton's grid counts clusters. */
		for (unsigned i = 0; i < 3; i++) {
			if (cluster[i] == 1)
				continue;
			l->grid[i] = mpk_arena_printf(w->arena, "%s * %" PRIu32, factor(w, l, i),
						      cluster[i]);
			MPK_TRY_ALLOC(l->grid[i], w->err);
		}
		return put_numbers(w, cluster, 3, l->cluster);
	}
	/* A cluster size that is compiled in needs no attribute. */
	return MPK_OK;
}

static enum mpk_code choose_grid(const struct mpk_wrap *w, struct wrap_launch *l)
{
	if (w->how->grid)
		return read_expressions(w, w->how->grid, "grid", l->grid);
	l->grid[0] = "grid_x";
	l->grid[1] = "grid_y";
	l->grid[2] = "grid_z";
	l->grid_is_argument = true;
	return MPK_OK;
}

static enum mpk_code choose_launch(const struct mpk_wrap *w, struct wrap_launch *l)
{
	const struct mpk_wrap_options *how = w->how;

	*l = (struct wrap_launch){ .cooperative = how->cooperative,
				   .programmatic = how->programmatic };
	if (w->triton &&
	    (how->block || how->cluster || how->shared || how->cooperative || how->programmatic))
		return mpk_fail(
			w->err, MPK_E_USAGE,
			"Triton's metadata have the block, the cluster, the shared memory and attributes: only a grid and a signature can be given");
	if (w->triton) {
		l->cooperative = w->triton->cooperative;
		l->programmatic = w->triton->programmatic;
	}
	MPK_TRY(choose_grid(w, l));
	MPK_TRY(choose_block(w, l));
	MPK_TRY(choose_cluster(w, l));

	/* The code does not tell the size of dynamic shared memory. The compiler's notes have it,
	 * or the user gives it. */
	const char *texts[3] = { 0 };

	if (w->triton && w->triton->shared_bytes) {
		l->shared = mpk_arena_printf(w->arena, "%" PRIu64, w->triton->shared_bytes);
		MPK_TRY_ALLOC(l->shared, w->err);
	} else if (w->how->shared) {
		MPK_TRY(read_expressions(w, w->how->shared, "shared", texts));
		l->shared = texts[0];
	} else if (w->source && mpk_span_has(w->source->bytes, "extern __shared__")) {
		return mpk_fail(
			w->err, MPK_E_UNSUPPORTED,
			"its source has dynamic shared memory, and nothing says of how many bytes: give them, also when they are 0");
	}

	l->blocks = mpk_arena_printf(w->arena, "%s * %s * %s", factor(w, l, 0), factor(w, l, 1),
				     factor(w, l, 2));
	MPK_TRY_ALLOC(l->blocks, w->err);
	return MPK_OK;
}

/* --- the manifest ------------------------------------------------------------------------------------ */

static void put_list(struct mpk_strbuf *out, const char *key, const char *const list[3])
{
	if (!list[0])
		return;
	mpk_strbuf_printf(out, "%-7s = [", key);
	for (unsigned i = 0; i < 3 && list[i]; i++) {
		mpk_strbuf_puts(out, i ? ", " : "");
		mpk_init_put_text(out, mpk_span_str(list[i]));
	}
	mpk_strbuf_puts(out, "]\n");
}

static void put_tags_of(struct mpk_strbuf *out, const char *tag, const char *const list[3])
{
	for (unsigned i = 0; i < 3 && list[i]; i++)
		mpk_strbuf_printf(out, "%s\"%s.%c\"", *tag == 'b' && !i ? "" : ", ", tag, "xyz"[i]);
}

static void put_kernel(struct mpk_strbuf *out, const struct mpk_wrap *w,
		       const struct wrap_launch *l)
{
	char type[MPK_DTYPE_TEXT];

	mpk_strbuf_puts(out, "\n  [[module.function]]\n  name   = ");
	mpk_init_put_text(out, w->kernel->name);
	mpk_strbuf_puts(out, "\n  args   = [");
	for (size_t i = 0; i < w->kernel->param_count; i++)
		mpk_strbuf_printf(out, "%s\"%s\"", i ? ", " : "",
				  mpk_dtype_print(w->args[i].type, type));
	mpk_strbuf_puts(out, "]\n  launch = [");
	put_tags_of(out, "blockIdx", l->grid);
	put_tags_of(out, "threadIdx", l->block);
	put_tags_of(out, "clusterCtaIdx", l->cluster);
	mpk_strbuf_puts(out, l->shared ? ", \"tirx.use_dyn_shared_memory\"" : "");
	mpk_strbuf_puts(out, l->cooperative ? ", \"tirx.use_cooperative_launch\"" : "");
	mpk_strbuf_puts(out, l->programmatic ? ", \"tirx.use_programtic_dependent_launch\"" : "");
	mpk_strbuf_puts(out, "]\n");
}

static void put_params(struct mpk_strbuf *out, const struct mpk_wrap *w,
		       const struct wrap_launch *l)
{
	const char *between = "";

	mpk_strbuf_puts(out, "\nparams  = [");
	for (size_t i = 0; i < w->given; i++) {
		if (!w->args[i].declaration)
			continue;
		mpk_strbuf_puts(out, between);
		mpk_init_put_text(out, mpk_span_str(w->args[i].declaration));
		between = ", ";
	}
	for (unsigned i = 0; i < 3 && l->grid_is_argument; i++) {
		mpk_strbuf_printf(out, "%s\"grid_%c: int32\"", between, "xyz"[i]);
		between = ", ";
	}
	mpk_strbuf_puts(out, "]\nargs    = [");
	for (size_t i = 0; i < w->kernel->param_count; i++) {
		mpk_strbuf_puts(out, i ? ", " : "");
		mpk_init_put_text(out, mpk_span_str(w->args[i].text));
	}
	mpk_strbuf_puts(out, "]\n");
}

static enum mpk_code put_wrapped(struct wraps *ws, const struct mpk_wrap *w, const char *id)
{
	struct mpk_strbuf *out = &ws->functions;
	const char *wish = as_identifier(ws->arena, w->kernel->name), *name;
	struct wrap_launch l;

	MPK_TRY(choose_launch(w, &l));
	name = wish ? wrap_take(ws, &ws->names, wish) : NULL;
	MPK_TRY_ALLOC(name, ws->err);
	put_kernel(ws->out, w, &l);

	/* Comments say where the following values come from, and what a reader may want to
	 * change. */
	bool tensors = false;

	mpk_strbuf_puts(out, "\n# ");
	mpk_escape(out, mpk_span_str(w->file->meta_path ? w->file->meta_path : w->file->path));
	if (w->triton)
		mpk_strbuf_printf(out, ": Triton%s%s, for sm_%u", w->triton->version ? " " : "",
				  w->triton->version ? w->triton->version : "", w->cubin->sm);
	mpk_strbuf_putc(out, '\n');
	for (size_t i = 0; i < w->given; i++) {
		tensors |= w->args[i].declaration && w->args[i].type.code == MPK_DTYPE_HANDLE;
		if (w->args[i].doubt)
			mpk_strbuf_printf(out, "# decide: '%s': %s\n", w->args[i].text,
					  w->args[i].doubt);
	}
	if (tensors)
		mpk_strbuf_puts(
			out,
			"# decide: 'in' or 'out' before a type where the kernel only reads or only writes a tensor\n");

	mpk_strbuf_printf(out, "[[function]]\nname    = \"%s\"\nkernel  = ", name);

	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf kernel = { 0 };
	mpk_strbuf_printf(&kernel, "%s.", id);
	mpk_strbuf_put_span(&kernel, w->kernel->name);
	MPK_TRY(mpk_strbuf_status(&kernel, ws->err));
	mpk_init_put_text(out, mpk_span_of(kernel.data, kernel.len));
	put_params(out, w, &l);

	const char *between = "temps   = [";

	for (size_t i = w->given; w->triton && i < w->kernel->param_count; i++) {
		if (strcmp(w->args[i].text, "none") == 0)
			continue;
		mpk_strbuf_printf(out, "%s\"%s: uint8[%s * %" PRIu64 "]\"", between,
				  w->args[i].text, l.blocks,
				  i == w->given ? w->triton->global.bytes
						: w->triton->profile.bytes);
		between = ", ";
	}
	mpk_strbuf_puts(out, *between == ',' ? "]\n" : "");

	put_list(out, "grid", l.grid);
	put_list(out, "block", l.block);
	put_list(out, "cluster", l.cluster);
	if (l.shared)
		mpk_strbuf_printf(out, "shared  = \"%s\"\n", l.shared);
	mpk_strbuf_puts(out, l.cooperative ? "cooperative = true\n" : "");
	mpk_strbuf_puts(out, l.programmatic ? "pdl     = true\n" : "");
	return MPK_OK;
}

/* --- one file --------------------------------------------------------------------------------- */

static bool is_meant(const struct mpk_wrap *w, size_t i)
{
	return !w->triton || mpk_span_is(w->cubin->kernels[i].name, w->triton->name);
}

static enum mpk_code wrap_kernels(struct wraps *ws, struct mpk_wrap *w, const char *id)
{
	size_t done = 0;

	if (ws->how->signature && !w->triton && w->cubin->kernel_count > 1)
		return mpk_fail(ws->err, MPK_E_UNSUPPORTED,
				"it has %zu kernels, and a signature is of one",
				w->cubin->kernel_count);
	for (size_t i = 0; i < w->cubin->kernel_count; i++) {
		w->kernel = &w->cubin->kernels[i];
		if (!is_meant(w, i))
			continue;
		MPK_TRY(wrap_read_args(w));
		MPK_TRY(put_wrapped(ws, w, id));
		done++;
	}
	return done ? MPK_OK
		    : mpk_fail(
			      ws->err, MPK_E_CONFLICT, "the cubin has no kernel '%s'",
			      /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): only Triton means one of several */
			      MPK_QUOTE(mpk_span_str(w->triton->name)));
}

static enum mpk_code wrap_file(struct wraps *ws, const struct mpk_wrap_file *file)
{
	const char *stem = wrap_stem(ws->arena, file->path), *id;
	struct mpk_cubin cubin;
	struct mpk_wrap w = {
		.file = file, .how = ws->how, .cubin = &cubin, .arena = ws->arena, .err = ws->err
	};

	if (!mpk_cubin_is(file->bytes))
		return mpk_fail(ws->err, MPK_E_UNSUPPORTED, "this is %s, and notes go with a cubin",
				mpk_code_format_of(file->bytes)->name);
	MPK_TRY(mpk_cubin_read(file->bytes, ws->arena, &cubin, ws->err));
	if (cubin.relocatable)
		return mpk_fail(ws->err, MPK_E_UNSUPPORTED,
				"it is relocatable code, which no driver loads before nvlink");
	if (!cubin.kernel_count)
		return mpk_fail(ws->err, MPK_E_UNSUPPORTED, "it has no kernel");
	if (wrap_read_notes(&w) != MPK_OK) {
		mpk_error_at_file(ws->err, file->meta_path);
		return ws->err->code;
	}
	id = stem ? wrap_take(ws, &ws->ids, stem) : NULL;
	MPK_TRY_ALLOC(id, ws->err);
	mpk_strbuf_printf(ws->out,
			  "\n[[module]]\nid     = \"%s\"\nkind   = \"cuda\"\nformat = \"cubin\"\n"
			  "data   = ",
			  id);
	mpk_init_put_text(ws->out, mpk_span_str(file->path));
	mpk_strbuf_putc(ws->out, '\n');
	return wrap_kernels(ws, &w, id);
}

static void wraps_fini(struct wraps *ws)
{
	mpk_strbuf_fini(&ws->functions);
	mpk_strmap_fini(&ws->ids);
	mpk_strmap_fini(&ws->names);
	free(ws->next);
}

enum mpk_code mpk_wrap_manifest(const struct mpk_wrap_file *files, size_t count,
				const struct mpk_wrap_options *how, struct mpk_arena *arena,
				struct mpk_strbuf *out, struct mpk_error *err)
{
	struct mpk_error own = { 0 };
	MPK_CLEANUP(wraps_fini)
	struct wraps ws = { .how = how, .arena = arena, .out = out, .err = err ? err : &own };
	const char *name =
		mpk_manifest_name(wrap_stem(arena, how->name ? how->name : files[0].path));

	MPK_TRY_ALLOC(name, err);
	mpk_strbuf_printf(out, "[package]\nname       = \"%s\"\nstandalone = true\n", name);
	for (size_t i = 0; i < count; i++) {
		enum mpk_code code = wrap_file(&ws, &files[i]);

		if (code != MPK_OK) {
			mpk_error_at_file(ws.err, files[i].path);
			return code;
		}
	}
	if (ws.functions.failed)
		return mpk_fail_nomem(err);
	mpk_strbuf_put(out, mpk_strbuf_text(&ws.functions), ws.functions.len);
	return mpk_strbuf_status(out, err);
}
