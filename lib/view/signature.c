/* SPDX-License-Identifier: Apache-2.0 */
/* How a function is written down: its signature, and a command line that calls it. */
#include "signature/signature.h"
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
		   const struct mpk_function_info *kernel, const struct mpk_signature *model,
		   struct mpk_strbuf *out)
{
	mpk_strbuf_puts(out, "minspect --run ");
	mpk_put_word(out, function);
	mpk_strbuf_putc(out, ' ');
	mpk_put_word(out, mpk_span_str(view->name));
	if (kernel)
		put_kernel_arguments(kernel, out);
	else if (model)
		mpk_signature_options(model, out);
	else
		mpk_strbuf_puts(out, " --input SHAPExTYPE=VALUES --out SHAPExTYPE");
}
