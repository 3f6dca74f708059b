/* SPDX-License-Identifier: Apache-2.0 */
/* wrap.c - manifests that make cubins callable: which kernels, how they are launched, and the text */
#include "package/wrap.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "code/format.h"
#include "code/info.h"
#include "io/path.h"
#include "launch/launch.h"
#include "package/internal/package.h"
#include "package/internal/wrap.h"
#include "text/escape.h"
#include "text/phrase.h"

enum { DRIVER_ALIGN = 256 }; /* of memory that a CUDA driver allocates */

struct wraps {
	const struct mpk_wrap_options *how;
	struct mpk_arena *arena;
	struct mpk_strbuf *out, functions; /* the latter come after all modules */
	struct mpk_error *err;
	struct mpk_strmap ids, names; /* to indices of next */
	uint32_t *next;               /* malloc'ed: the number that the next of a name gets */
	size_t next_count, next_cap;
};

/* --- names ------------------------------------------------------------------------------------ */

/* The wish, or the wish and a number; thousands may have the same wish.
 * Returns  NULL: memory is out */
static const char *wrap_take(struct wraps *ws, struct mpk_strmap *map, const char *wish)
{
	const char *name = wish;
	size_t at = 0;
	int put = mpk_strmap_put(map, mpk_span_str(wish), ws->next_count, &at);

	if (put < 0 ||
	    !mpk_vec_reserve(&ws->next, &ws->next_cap, ws->next_count + 1, sizeof *ws->next))
		return NULL;
	ws->next[ws->next_count++] = 2;
	while (put == 0) {
		name = mpk_arena_printf(ws->arena, "%s_%" PRIu32, wish, ws->next[at]++);
		put = name ? mpk_strmap_put(map, mpk_span_str(name), ws->next_count - 1, NULL) : -1;
	}
	return put > 0 ? name : NULL;
}

/* A function's name, or a module's, of the letters that both may have. */
static const char *as_identifier(struct mpk_arena *arena, struct mpk_span text)
{
	char *name = mpk_arena_text(arena, text);

	for (char *p = name; p && *p; p++)
		if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
		      (*p >= '0' && *p <= '9')))
			*p = '_';
	return name && !*name ? "kernels" : name;
}

/* "add" of "cache/XYZ/add.cubin", "cache" of "a/cache/" */
static const char *wrap_stem(struct mpk_arena *arena, const char *path)
{
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		len--;
	path = mpk_arena_copy(arena, path, len);
	path = path ? mpk_path_name(path) : NULL;
	return path ? as_identifier(arena, mpk_span_of(path, strcspn(path, "."))) : NULL;
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
		       const struct mpk_wrap_launch *l)
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

/* Where what follows comes from, and what a reader may want to change. */
static void put_origin(struct mpk_strbuf *out, const struct mpk_wrap *w)
{
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
}

static void put_params(struct mpk_strbuf *out, const struct mpk_wrap *w,
		       const struct mpk_wrap_launch *l)
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

static void put_temps(struct mpk_strbuf *out, const struct mpk_wrap *w,
		      const struct mpk_wrap_launch *l)
{
	const char *between = "temps   = [";

	for (size_t i = w->given; w->triton && i < w->kernel->param_count; i++) {
		if (strcmp(w->args[i].text, "none") == 0)
			continue;
		mpk_strbuf_printf(out, "%s\"%s: uint8[%s * %" PRIu64 "]\"", between,
				  w->args[i].text, l->blocks,
				  i == w->given ? w->triton->global.bytes
						: w->triton->profile.bytes);
		between = ", ";
	}
	mpk_strbuf_puts(out, *between == ',' ? "]\n" : "");
}

static enum mpk_code put_wrapped(struct wraps *ws, const struct mpk_wrap *w, const char *id)
{
	struct mpk_strbuf *out = &ws->functions;
	const char *wish = as_identifier(ws->arena, w->kernel->name), *name;
	struct mpk_wrap_launch l;

	MPK_TRY(mpk_wrap_choose_launch(w, &l));
	name = wish ? wrap_take(ws, &ws->names, wish) : NULL;
	MPK_TRY_ALLOC(name, ws->err);
	put_kernel(ws->out, w, &l);
	put_origin(out, w);
	mpk_strbuf_printf(out, "[[function]]\nname    = \"%s\"\nkernel  = ", name);

	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf kernel = { 0 };
	mpk_strbuf_printf(&kernel, "%s.", id);
	mpk_strbuf_put_span(&kernel, w->kernel->name);
	MPK_TRY(mpk_strbuf_status(&kernel, ws->err));
	mpk_init_put_text(out, mpk_span_of(kernel.data, kernel.len));
	put_params(out, w, &l);
	put_temps(out, w, &l);
	put_list(out, "grid", l.grid);
	put_list(out, "block", l.block);
	put_list(out, "cluster", l.cluster);
	if (l.shared)
		mpk_strbuf_printf(out, "shared  = \"%s\"\n", l.shared);
	mpk_strbuf_puts(out, l.cooperative ? "cooperative = true\n" : "");
	mpk_strbuf_puts(out, l.programmatic ? "pdl     = true\n" : "");
	return MPK_OK;
}

/* --- a file ------------------------------------------------------------------------------------------- */

static enum mpk_code read_triton(struct wraps *ws, struct mpk_wrap *w)
{
	struct mpk_triton *t = mpk_arena_alloc(ws->arena, sizeof *t);

	MPK_TRY_ALLOC(t, ws->err);
	MPK_TRY(mpk_triton_read(w->file->meta, ws->arena, t, ws->err));
	if (t->descriptor_count)
		return mpk_fail(
			ws->err, MPK_E_UNSUPPORTED,
			"kernel '%s' takes descriptors of tensors, which only Triton's launcher makes",
			MPK_QUOTE(mpk_span_str(t->name)));
	if (t->global.align > DRIVER_ALIGN || t->profile.align > DRIVER_ALIGN)
		return mpk_fail(
			ws->err, MPK_E_UNSUPPORTED,
			"kernel '%s' takes memory aligned to more than the %d bytes that a driver gives",
			MPK_QUOTE(mpk_span_str(t->name)), DRIVER_ALIGN);
	if (t->arch && t->arch != w->cubin->sm)
		return mpk_fail(
			ws->err, MPK_E_CONFLICT,
			"Triton's metadata are for sm_%u, and the cubin for sm_%u: they are of another kernel",
			t->arch, w->cubin->sm);
	w->triton = t;
	w->ir = w->file->ir;
	return MPK_OK;
}

/* What the notes are, their bytes tell. */
static enum mpk_code read_notes(struct wraps *ws, struct mpk_wrap *w)
{
	struct mpk_span text = w->file->meta;
	struct mpk_code_info *code;

	while (text.len && text.data[0] <= ' ')
		text = mpk_span_of(text.data + 1, text.len - 1);
	if (!w->file->meta_path)
		return MPK_OK;
	if (mpk_span_starts(text, "{"))
		return read_triton(ws, w);
	if (mpk_span_has(text, "tt.func ")) {
		w->ir = text;
		return MPK_OK;
	}
	code = mpk_arena_alloc(ws->arena, sizeof *code);
	MPK_TRY_ALLOC(code, ws->err);
	*code = (struct mpk_code_info){ .bytes = text };
	if (!mpk_code_is_text(text) || !mpk_span_has(text, "__global__"))
		return mpk_fail(
			ws->err, MPK_E_UNSUPPORTED,
			"these are no notes of a kernel: neither Triton's metadata (.json) and IR (.ttir) nor CUDA C++ with a kernel");
	MPK_TRY(mpk_code_info_read_as(&mpk_format_cuda, ws->arena, code, ws->err));
	if (code->problem) {
		*ws->err = *code->problem;
		return code->problem->code;
	}
	w->source = code;
	return MPK_OK;
}

static enum mpk_code read_cubin(struct wraps *ws, const struct mpk_wrap_file *file,
				struct mpk_cubin *out)
{
	if (!mpk_cubin_is(file->bytes))
		return mpk_fail(ws->err, MPK_E_UNSUPPORTED, "this is %s, and notes go with a cubin",
				mpk_code_format_of(file->bytes)->name);
	MPK_TRY(mpk_cubin_read(file->bytes, ws->arena, out, ws->err));
	if (out->relocatable)
		return mpk_fail(ws->err, MPK_E_UNSUPPORTED,
				"it is relocatable code, which no driver loads before nvlink");
	if (!out->kernel_count)
		return mpk_fail(ws->err, MPK_E_UNSUPPORTED, "it has no kernel");
	return MPK_OK;
}

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
		MPK_TRY(mpk_wrap_read_args(w));
		MPK_TRY(put_wrapped(ws, w, id));
		done++;
	}
	return done ? MPK_OK
		    : mpk_fail(ws->err, MPK_E_CONFLICT, "the cubin has no kernel '%s'",
			       MPK_QUOTE(mpk_span_str(w->triton->name)));
}

static enum mpk_code wrap_file(struct wraps *ws, const struct mpk_wrap_file *file)
{
	const char *stem = wrap_stem(ws->arena, file->path), *id;
	struct mpk_cubin cubin;
	struct mpk_wrap w = {
		.file = file, .how = ws->how, .cubin = &cubin, .arena = ws->arena, .err = ws->err
	};

	MPK_TRY(read_cubin(ws, file, &cubin));
	if (read_notes(ws, &w) != MPK_OK) {
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
	const char *name = wrap_stem(arena, how->name ? how->name : files[0].path);

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
