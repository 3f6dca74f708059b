/* How a function is written down: its signature, and a command line that calls it. */
#include <inttypes.h>

#include "executor/model_text.h"
#include "text/escape.h"
#include "text/phrase.h"
#include "view/view.h"

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

void mpk_view_put_type(struct mpk_dtype dtype, const int64_t *shape, size_t ndim,
		       struct mpk_strbuf *out)
{
	char type[MPK_DTYPE_TEXT];

	mpk_strbuf_printf(out, "%s[", mpk_dtype_print(dtype, type));
	for (size_t i = 0; i < ndim; i++)
		mpk_strbuf_printf(out, "%s%" PRId64, i ? ", " : "", shape[i]);
	mpk_strbuf_putc(out, ']');
}

static void put_tensors(const struct mpk_model_tensor *list, size_t count, struct mpk_strbuf *out)
{
	for (size_t i = 0; list && i < count; i++) {
		mpk_strbuf_puts(out, i ? ", " : "");
		mpk_escape(out, list[i].name);
		if (!list[i].typed)
			continue;
		mpk_strbuf_puts(out, list[i].name.len ? ": " : "");
		mpk_model_type_text(&list[i], out);
	}
	mpk_strbuf_putc(out, ')');
}

void mpk_view_model_text(const struct mpk_model *m, struct mpk_strbuf *out)
{
	mpk_escape(out, m->name);
	mpk_strbuf_puts(out, m->named_inputs && !m->inputs ? "(..." : "(");
	put_tensors(m->inputs, m->input_count, out);
	if (!m->outputs_known)
		return;
	mpk_strbuf_puts(out, " -> (");
	put_tensors(m->outputs, m->output_count, out);
}

/* --- a call to paste ---------------------------------------------------------------- */

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

void mpk_view_call(const struct mpk_view *view, struct mpk_span function,
		   const struct mpk_function_info *kernel, const struct mpk_model *model,
		   struct mpk_strbuf *out)
{
	mpk_strbuf_puts(out, "minspect --run ");
	mpk_put_word(out, function);
	mpk_strbuf_putc(out, ' ');
	mpk_put_word(out, mpk_span_str(view->name));
	if (kernel)
		put_kernel_arguments(kernel, out);
	else if (model)
		mpk_model_options(model, out);
	else
		mpk_strbuf_puts(out, " --input SHAPExTYPE=VALUES --out SHAPExTYPE");
}
