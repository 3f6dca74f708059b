#include "view/inside.h"

#include <inttypes.h>
#include <string.h>

#include "text/escape.h"
#include "text/shell.h"
#include "text/table.h"

void mpk_view_kernel_text(const struct mpk_function_info *f, bool tags, struct mpk_strbuf *out)
{
	char type[MPK_DTYPE_TEXT];

	mpk_escape(out, f->key);
	mpk_strbuf_putc(out, '(');
	for (size_t i = 0; i < f->arg_count; i++)
		mpk_strbuf_printf(
			out, "%s%s%s", i ? ", " : "", mpk_dtype_print(f->arg_types[i], type),
			i < f->extra_tag_count && f->extra_tags[i] == 1 ? " tensormap" : "");
	mpk_strbuf_putc(out, ')');
	for (size_t i = 0; tags && i < f->launch_tag_count; i++) {
		mpk_strbuf_puts(out, i ? " " : "  ");
		mpk_escape(out, f->launch_tags[i]);
	}
}

/* A word as a shell takes it back; one that a terminal would obey loses that first. */
static void put_word(struct mpk_strbuf *out, struct mpk_span word)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf safe = { 0 };

	mpk_escape(&safe, word);
	mpk_shell_quote(out, mpk_span_of(safe.data, safe.len));
	out->failed |= safe.failed;
}

static void put_kernel_arguments(const struct mpk_function_info *f, struct mpk_strbuf *out)
{
	char type[MPK_DTYPE_TEXT];

	for (size_t i = 0; i < f->arg_count; i++) {
		if (f->arg_types[i].code == MPK_DTYPE_HANDLE)
			mpk_strbuf_puts(out, " --input SHAPExTYPE=VALUES");
		else
			mpk_strbuf_printf(out, " --input %s=VALUE",
					  mpk_dtype_print(f->arg_types[i], type));
	}
	mpk_strbuf_puts(out, " --grid X,Y,Z --block X,Y,Z");
}

static void put_value(const struct mpk_model_tensor *t, struct mpk_strbuf *out)
{
	char type[MPK_DTYPE_TEXT];

	if (!t->typed) {
		mpk_strbuf_puts(out, "SHAPExTYPE=VALUES");
		return;
	}
	for (size_t i = 0; i < t->ndim; i++)
		mpk_strbuf_printf(out, "%" PRId64 "x", t->shape[i]);
	mpk_strbuf_printf(out, "%s%s=rand", t->ndim ? "" : "[]", mpk_dtype_print(t->dtype, type));
}

static void put_model_inputs(const struct mpk_model *m, struct mpk_strbuf *out)
{
	struct mpk_strbuf word = { 0 };

	if (m->named_inputs && !m->inputs)
		mpk_strbuf_puts(out, " --input NAME=SHAPExTYPE=VALUES");
	for (size_t i = 0; m->inputs && i < m->input_count; i++) {
		word.len = 0;
		if (m->named_inputs) {
			mpk_strbuf_put_span(&word, m->inputs[i].name);
			mpk_strbuf_putc(&word, '=');
		}
		put_value(&m->inputs[i], &word);
		mpk_strbuf_puts(out, " --input ");
		put_word(out, mpk_span_of(word.data, word.len));
	}
	out->failed |= word.failed;
	mpk_strbuf_fini(&word);
}

void mpk_view_call(const struct mpk_view *view, struct mpk_span function,
		   const struct mpk_function_info *kernel, const struct mpk_model *model,
		   struct mpk_strbuf *out)
{
	mpk_strbuf_puts(out, "minspect --run ");
	put_word(out, function);
	mpk_strbuf_putc(out, ' ');
	put_word(out, mpk_span_str(view->name));
	if (kernel)
		put_kernel_arguments(kernel, out);
	else if (model)
		put_model_inputs(model, out);
	else
		mpk_strbuf_puts(out, " --input SHAPExTYPE=VALUES --out SHAPExTYPE");
}

static void put_function(const struct mpk_view *view, const struct mpk_image_function *f,
			 struct mpk_strbuf *out)
{
	mpk_strbuf_puts(out, "  ");
	mpk_escape(out, mpk_span_str(f->name));
	if (f->alias_of) {
		mpk_strbuf_puts(out, " = ");
		mpk_escape(out, mpk_span_str(f->alias_of));
	}
	if (f->is_entry)
		mpk_strbuf_puts(out, "  [entry]");
	if (f->member) {
		mpk_strbuf_puts(out, "  in ");
		mpk_escape(out, mpk_span_str(f->member));
	}
	mpk_strbuf_puts(out, "\n    ");
	mpk_view_call(view, mpk_span_str(f->alias_of ? f->alias_of : f->name), NULL, NULL, out);
	mpk_strbuf_putc(out, '\n');
}

static void put_kernels(const struct mpk_view *view, const struct mpk_view_node *n,
			struct mpk_strbuf *out)
{
	const struct mpk_kernels *k = mpk_view_kernels(n);

	if (!k)
		return;
	mpk_strbuf_printf(out, "%s: ", n->path);
	mpk_escape(out, n->node->kind);
	mpk_strbuf_printf(out, " kernels\n");
	mpk_inside_lines(n, "  ", out);
	for (size_t i = 0; i < k->function_count; i++) {
		mpk_strbuf_puts(out, "  ");
		mpk_view_kernel_text(&k->functions[i], true, out);
		mpk_strbuf_putc(out, '\n');
		mpk_inside_function_lines(n, i, "    ", out);
		mpk_strbuf_puts(out, "    ");
		mpk_view_call(view, k->functions[i].key, &k->functions[i], NULL, out);
		mpk_strbuf_putc(out, '\n');
	}
}

static void put_models(const struct mpk_view *view, const struct mpk_view_node *n,
		       struct mpk_strbuf *out)
{
	if (!n->models.count)
		return;
	mpk_strbuf_printf(out, "%s: ", n->path);
	mpk_escape(out, n->node->kind);
	mpk_strbuf_puts(
		out,
		" functions, for an executor: this minspect calls host functions and kernels\n");
	mpk_inside_lines(n, "  ", out);
	for (size_t i = 0; i < n->models.count; i++) {
		const struct mpk_model *m = &n->models.items[i];

		mpk_strbuf_puts(out, "  ");
		mpk_model_text(m, out);
		mpk_strbuf_puts(out, "\n    ");
		mpk_view_call(view, m->name, NULL, m, out);
		mpk_strbuf_putc(out, '\n');
	}
}

/* Code of modules that have neither a table of kernels nor functions to call. */
static void put_other_code(const struct mpk_view_node *n, struct mpk_strbuf *out)
{
	if (!n->inside || !n->inside->piece_count || mpk_view_kernels(n))
		return;
	mpk_strbuf_printf(out, "%s: ", n->path);
	mpk_escape(out, n->node->kind);
	mpk_strbuf_putc(out, '\n');
	mpk_inside_lines(n, "  ", out);
}

static const char *convention_text(enum mpk_convention convention)
{
	static const char *const texts[] = {
		[MPK_CONV_NONE] = "no calling convention",
		[MPK_CONV_LEGACY] = "TVMValue arrays, TVM 0.2 - 0.20",
		[MPK_CONV_FFI021] = "tvm-ffi of TVM 0.21",
		[MPK_CONV_FFI] = "tvm-ffi",
	};

	return texts[convention];
}

void mpk_view_functions(const struct mpk_view *view, struct mpk_style style, struct mpk_strbuf *out)
{
	const struct mpk_image *image = view->image;

	mpk_strbuf_puts(out, style.color ? "\033[1m" : "");
	mpk_escape(out, mpk_span_str(view->name));
	mpk_strbuf_printf(out, "%s\n", style.color ? "\033[0m" : "");
	for (size_t i = 0; i < view->count; i++)
		put_models(view, &view->nodes[i], out);
	if (image->function_count)
		mpk_strbuf_printf(out, "host functions (%s%s)\n",
				  convention_text(image->convention),
				  image->gen_known ? "" : " or tvm-ffi of TVM 0.21");
	for (size_t i = 0; i < image->function_count; i++)
		put_function(view, &image->functions[i], out);
	for (size_t i = 0; i < view->count; i++) {
		put_kernels(view, &view->nodes[i], out);
		put_other_code(&view->nodes[i], out);
	}
}
