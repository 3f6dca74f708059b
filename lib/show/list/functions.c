/* SPDX-License-Identifier: Apache-2.0 */
/* functions.c - --functions: lists what can be called, by whom, with a command line to paste */
#include <string.h>

#include "hostcode/registered.h"
#include "list/list.h"
#include "model/device_code.h"
#include "program/model.h"
#include "text/escape.h"
#include "text/phrase.h"

/* Writes the text line by line, unchanged. */
static void put_doc(struct mpk_span doc, struct mpk_strbuf *out)
{
	while (doc.len) {
		const uint8_t *newline = memchr(doc.data, '\n', doc.len);
		size_t line = newline ? (size_t)(newline - doc.data) : doc.len;

		mpk_strbuf_puts(out, line ? "    | " : "    |");
		mpk_escape(out, mpk_span_of(doc.data, line));
		mpk_strbuf_putc(out, '\n');
		line += newline != NULL;
		doc = mpk_span_from(doc, line);
	}
}

/* Writes a function and, below it, the command line that calls it. If an executor has a function of
 * the same name, --run calls that one, so there is no command line. */
static void functions_put_function(const struct mpk_view *view, size_t index,
				   struct mpk_style style, struct mpk_strbuf *out)
{
	const struct mpk_image_function *f = &view->image->functions[index];

	mpk_strbuf_puts(out, "  ");
	mpk_view_host_text(view, index, " = ", out);
	if (f->is_entry)
		mpk_strbuf_puts(out, "  [entry]");
	if (f->member) {
		mpk_strbuf_puts(out, "  in ");
		mpk_escape(out, mpk_span_str(f->member));
	}
	mpk_strbuf_puts(out, "\n    ");
	const struct mpk_signature *model = mpk_view_called_instead(view, index);

	if (model && !mpk_span_is(model->name, mpk_view_called(view, index)))
		mpk_strbuf_puts(out, "the compiled body of an executor's function");
	else if (model)
		mpk_strbuf_puts(out, "run calls the executor's function of this name");
	else
		mpk_view_call(view, mpk_span_str(mpk_view_called(view, index)),
			      mpk_view_host(view, index), out);
	mpk_strbuf_putc(out, '\n');
	if (style.verbose)
		put_doc(mpk_view_doc(view, index), out);
}

/* Counts metadata texts that belong to an unknown function. If every function is described in
 * another way, as in standalone libraries, these texts add nothing. */
static size_t count_unassigned(const struct mpk_view *view)
{
	size_t told = 0;

	while (told < view->image->function_count && mpk_view_host(view, told))
		told++;
	return view->texts && told < view->image->function_count ? view->texts->unassigned_count
								 : 0;
}

/* Writes the texts as types. They could be parsed when they were found, so the parsed form is only
 * needed here. */
static void put_unassigned(const struct mpk_view *view, struct mpk_strbuf *out)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	size_t count = count_unassigned(view);
	struct mpk_signature s;

	if (count)
		mpk_strbuf_puts(out, "  metadata that no function is known to give:\n");
	for (size_t i = 0; i < count; i++) {
		mpk_strbuf_puts(out, "    ");
		if (mpk_signature_read(view->texts->unassigned[i], &scratch, &s, NULL) == MPK_OK)
			mpk_signature_text(&s, out);
		else
			out->failed = true; /* memory is out */
		mpk_strbuf_putc(out, '\n');
	}
}

/* Asks whether the module is chosen only if all of it is shown:
 * asking notes which filter chose it. */
static bool is_whole(const struct mpk_view_node *n)
{
	return mpk_view_shows_whole(n) && mpk_view_shows_node(n);
}

/* Writes a module's title before the first item shown; if the whole module is shown, also the text
 * about the module. */
static void functions_put_title(const struct mpk_view_node *n, const char *what,
				struct mpk_strbuf *out)
{
	mpk_strbuf_printf(out, "%s: ", n->path);
	mpk_escape(out, n->node->kind);
	mpk_strbuf_puts(out, what);
	if (mpk_view_shows_whole(n))
		mpk_node_lines(n, "  ", out);
}

/* If the whole module is chosen, its title is always printed;
 * else it is printed before the first kernel shown. */
static void functions_put_kernels(const struct mpk_view *view, const struct mpk_view_node *n,
				  struct mpk_strbuf *out)
{
	const struct mpk_kernels *k = mpk_view_kernels(n);
	bool begun = k && is_whole(n);

	if (begun)
		functions_put_title(n, " kernels\n", out);
	for (size_t i = 0; k && i < k->function_count; i++) {
		if (!mpk_view_shows_part(n, k->functions[i].key))
			continue;
		if (!begun)
			functions_put_title(n, " kernels\n", out);
		begun = true;
		mpk_strbuf_puts(out, "  ");
		mpk_view_kernel_text(&k->functions[i], true, out);
		mpk_strbuf_putc(out, '\n');
		mpk_node_kernel_lines(n, i, "    ", out);
		mpk_strbuf_puts(out, "    ");
		mpk_view_kernel_call(view, n, i, out);
		mpk_strbuf_putc(out, '\n');
		mpk_strbuf_pass(out);
	}
}

/* "    uses weights by name, random numbers" */
static void functions_put_uses(const struct mpk_signature *s, struct mpk_strbuf *out)
{
	const char *use, *before = "    uses ";

	for (unsigned i = 0; (use = mpk_signature_use_text(i)) != NULL; i++)
		if (s->uses >> i & 1) {
			mpk_strbuf_printf(out, "%s%s", before, use);
			before = ", ";
		}
	mpk_strbuf_puts(out, s->uses ? "\n" : "");
}

/* Lists the functions of executors, also those that --run cannot interpret: their parameters are
 * known. */
static void put_models(const struct mpk_view *view, const struct mpk_view_node *n,
		       struct mpk_strbuf *out)
{
	const char *what = mpk_model_is_kind(n->node->kind)
				   ? " functions\n"
				   : " functions, for an executor that this minspect has not\n";
	bool begun = n->models.count && is_whole(n);

	if (begun)
		functions_put_title(n, what, out);
	for (size_t i = 0; i < n->models.count; i++) {
		const struct mpk_signature *m = &n->models.items[i];

		if (!mpk_view_shows_part(n, m->name))
			continue;
		if (!begun)
			functions_put_title(n, what, out);
		begun = true;
		mpk_strbuf_puts(out, "  ");
		mpk_signature_text(m, out);
		mpk_strbuf_puts(out, "\n    ");
		mpk_view_call(view, m->name, m, out);
		mpk_strbuf_putc(out, '\n');
		functions_put_uses(m, out);
		mpk_strbuf_pass(out);
	}
}

/* Lists the code of modules that have neither a kernel table nor functions. */
static void put_other_code(const struct mpk_view_node *n, struct mpk_strbuf *out)
{
	if (!n->show_info || !n->info->piece_count || mpk_view_kernels(n) ||
	    !mpk_view_shows_node(n))
		return;
	mpk_strbuf_printf(out, "%s: ", n->path);
	mpk_escape(out, n->node->kind);
	mpk_strbuf_putc(out, '\n');
	mpk_node_lines(n, "  ", out);
}

static const char *const conventions[] = {
	[MPK_CONV_NONE] = "no calling convention",
	[MPK_CONV_LEGACY] = "TVMValue arrays, TVM 0.2 - 0.20",
	[MPK_CONV_FFI021] = "tvm-ffi of TVM 0.21",
	[MPK_CONV_FFI] = "tvm-ffi",
};

static void functions_put_functions(const struct mpk_view *view, struct mpk_style style,
				    struct mpk_strbuf *out)
{
	const struct mpk_image *image = view->image;
	size_t shown = 0;

	for (size_t i = 0; i < image->function_count; i++) {
		if (!mpk_view_shows(view, mpk_span_str(image->functions[i].name)))
			continue;
		if (!shown++)
			mpk_strbuf_printf(out, "host functions (%s%s)\n",
					  conventions[image->convention],
					  image->gen_known ? "" : " or tvm-ffi of TVM 0.21");
		functions_put_function(view, i, style, out);
		mpk_strbuf_pass(out);
	}
}

/* Writes the global functions that the library registers. They are called by name, not through the file. */
static void functions_put_registered(const struct mpk_view *view, struct mpk_strbuf *out)
{
	const struct mpk_global_names *r = view->registered;
	size_t shown = 0;

	for (size_t i = 0; r && i < r->count; i++) {
		if (!mpk_view_shows(view, r->names[i]))
			continue;
		if (!shown++)
			mpk_strbuf_puts(out,
					"global functions, which it registers when it is loaded\n");
		mpk_strbuf_puts(out, "  ");
		mpk_escape(out, r->names[i]);
		mpk_strbuf_putc(out, '\n');
		mpk_strbuf_pass(out);
	}
	if (r && r->has_more && !view->choice)
		mpk_strbuf_printf(out,
				  "%s functions whose names, or conditions, only a run tells\n",
				  r->count ? "  and" : "global functions: it may register");
}

/* Functions of executors come first, as --run prefers them to host functions of the same name. */
static void functions_text(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	const struct mpk_view *view = what;

	mpk_strbuf_puts(out, style.color ? "\033[1m" : "");
	mpk_escape(out, mpk_span_str(view->name));
	mpk_strbuf_printf(out, "%s\n", style.color ? "\033[0m" : "");
	for (size_t i = 0; i < view->count; i++)
		put_models(view, &view->nodes[i], out);
	functions_put_functions(view, style, out);
	functions_put_registered(view, out);
	/* without a function there is no name that a filter could choose */
	if (!view->choice)
		put_unassigned(view, out);
	for (size_t i = 0; i < view->count; i++) {
		functions_put_kernels(view, &view->nodes[i], out);
		put_other_code(&view->nodes[i], out);
		mpk_strbuf_pass(out);
	}
	mpk_answer_embedded.text(view, style, out);
	mpk_answer_device_code.text(view, style, out);
}

/* --- JSON --------------------------------------------------------------------------------- */

static void put_kernel_call_json(const struct mpk_view *view, const struct mpk_view_node *node,
				 size_t index, struct mpk_json *j, struct mpk_json_at *at)
{
	struct mpk_strbuf call = { 0 };

	mpk_view_kernel_call(view, node, index, &call);
	mpk_json_take(j, at, "call", &call);
}

/* Writes the details of modules that hold or run code. */
static void put_known(const struct mpk_view *view, struct mpk_json *j, struct mpk_json_at *at)
{
	struct mpk_json_at *list = mpk_json_array(j, at, "modules"), *o;

	for (size_t i = 0; i < view->count; i++) {
		const struct mpk_view_node *n = &view->nodes[i];

		if (!n->show_info || (!n->info->piece_count && !n->models.count) ||
		    !mpk_view_shows_whole(n) || !mpk_view_shows_node(n))
			continue;
		o = mpk_json_object(j, list, NULL);
		mpk_json_text(j, o, "module", n->path);
		mpk_json_span(j, o, "kind", n->node->kind);
		mpk_node_json(n, j, o);
	}
}

static void functions_json(const void *what, struct mpk_json *j, struct mpk_json_at *at)
{
	const struct mpk_view *view = what;
	const struct mpk_image *image = view->image;
	struct mpk_json_at *list, *o;

	mpk_list_about_json(view, false, j, at);
	list = mpk_json_array(j, at, "functions");
	for (size_t i = 0; i < image->function_count; i++)
		if (mpk_view_shows(view, mpk_span_str(image->functions[i].name)))
			mpk_list_function_json(view, i, MPK_LIST_INPUTS | MPK_LIST_CALL, j, list);
	if (count_unassigned(view))
		mpk_json_spans(j, at, "unassigned_metadata", view->texts->unassigned,
			       count_unassigned(view));
	mpk_list_registered_json(view, j, at);
	/* one list for all modules, so that a search for a name need not walk the tree */
	list = mpk_json_array(j, at, "models");
	for (size_t n = 0; n < view->count; n++) {
		const struct mpk_models *m = &view->nodes[n].models;

		for (size_t i = 0; i < m->count; i++) {
			if (!mpk_view_shows_part(&view->nodes[n], m->items[i].name))
				continue;
			o = mpk_list_model_json(&m->items[i], j, list);
			mpk_json_text(j, o, "module", view->nodes[n].path);
			mpk_json_span(j, o, "kind", view->nodes[n].node->kind);
			mpk_list_call_json(view, m->items[i].name, &m->items[i], j, o);
		}
	}
	list = mpk_json_array(j, at, "kernels");
	for (size_t n = 0; n < view->count; n++) {
		const struct mpk_kernels *k = mpk_view_kernels(&view->nodes[n]);

		for (size_t i = 0; k && i < k->function_count; i++) {
			if (!mpk_view_shows_part(&view->nodes[n], k->functions[i].key))
				continue;
			o = mpk_list_kernel_json(&k->functions[i], j, list);
			mpk_node_kernel_json(&view->nodes[n], i, j, o);
			mpk_json_text(j, o, "module", view->nodes[n].path);
			mpk_json_span(j, o, "kind", view->nodes[n].node->kind);
			put_kernel_call_json(view, &view->nodes[n], i, j, o);
		}
	}
	put_known(view, j, at);
	mpk_answer_embedded.json(view, j, at);
	mpk_device_rows_json(view, j, at);
	mpk_answer_device_code.json(view, j, at);
}

const struct mpk_answer mpk_answer_functions = { .text = functions_text,
						 .json = functions_json,
						 .is_apart = true };
