/* SPDX-License-Identifier: Apache-2.0 */
/* signature.c - how a function is written down: its signature, what its getters say of it, and a command line
 * that calls it */
#include "signature/signature.h"

#include "model/internal/names.h"
#include "model/view.h"
#include "program/device_kind.h"
#include "text/escape.h"
#include "text/phrase.h"

void mpk_view_host_text(const struct mpk_view *view, size_t index, const char *names,
			struct mpk_strbuf *out)
{
	const struct mpk_image_function *f = &view->image->functions[index];
	const struct mpk_signature *signature = mpk_view_host(view, index);

	if (f->alias_of) {
		mpk_escape(out, mpk_span_str(f->name));
		mpk_strbuf_puts(out, names);
	}
	if (signature)
		mpk_signature_text(signature, out);
	else
		mpk_escape(out, mpk_span_str(f->alias_of ? f->alias_of : f->name));
}

/* --- a call to paste ---------------------------------------------------------------- */

/* A name that several modules have goes with the path of its own. */
static void put_kernel_name(const struct mpk_view *view, const struct mpk_view_node *node,
			    struct mpk_span key, struct mpk_strbuf *out)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf name = { 0 };

	if (mpk_view_kernel_is_shared(view, key))
		mpk_strbuf_printf(&name, "%s#", node->path);
	mpk_strbuf_put_span(&name, key);
	if (mpk_strbuf_status(&name, NULL) == MPK_OK)
		mpk_put_word(out, mpk_span_of(name.data, name.len));
	else
		out->failed = true;
}

/* Where --run puts tensors when nobody says, unless that is where the function wants them. */
static void put_device(const struct mpk_view *view, const struct mpk_signature *s,
		       struct mpk_strbuf *out)
{
	if (mpk_device_kind_from(s->device) == MPK_DEVICE_NONE)
		return;
	if (view->names->device.type != s->device)
		mpk_strbuf_printf(out, " --device %s", mpk_dl_device_name(s->device));
}

/* The host code of a bare blob is elsewhere, and no file of another system is loaded here. */
static bool can_run(const struct mpk_image *image, bool kernel)
{
	if (image->format != MPK_FILE_ELF && image->format != MPK_FILE_C &&
	    image->format != MPK_FILE_BLOB)
		return false;
	return kernel || image->container != MPK_CONTAINER_BLOB;
}

void mpk_view_call_begin(const struct mpk_view *view, struct mpk_span function,
			 const struct mpk_view_node *node, struct mpk_strbuf *out)
{
	mpk_strbuf_puts(out, "minspect --run ");
	if (node)
		put_kernel_name(view, node, function, out);
	else
		mpk_put_word(out, function);
	mpk_strbuf_putc(out, ' ');
	/* a placeholder where --run does not take this file */
	if (!view->in_archive && can_run(view->image, node != NULL))
		mpk_put_word(out, mpk_span_str(view->name));
	else
		mpk_strbuf_puts(out, "LIBRARY.so");
}

void mpk_view_call(const struct mpk_view *view, struct mpk_span function,
		   const struct mpk_signature *signature, struct mpk_strbuf *out)
{
	mpk_view_call_begin(view, function, NULL, out);
	if (signature) {
		mpk_signature_options(signature, out);
		put_device(view, signature, out);
	} else {
		/* nothing is known: a template, whose capitals the user replaces */
		mpk_strbuf_puts(out, " --input SHAPExTYPE=VALUES --out SHAPExTYPE");
	}
}

/* --- what getters say ------------------------------------------------------------------- */

enum mpk_code mpk_view_read_texts(struct mpk_view *view, struct mpk_error *err)
{
	struct mpk_host_texts *texts;

	if (view->texts || !view->image->getter_count)
		return MPK_OK;
	texts = mpk_arena_alloc(view->arena, sizeof *texts);
	MPK_TRY_ALLOC(texts, err);
	MPK_TRY(mpk_host_texts_read(view->image, view->arena, texts, err));
	view->texts = texts;
	return MPK_OK;
}

enum mpk_code mpk_view_take_texts(struct mpk_view *view, const struct mpk_host_texts *texts,
				  struct mpk_error *err)
{
	const struct mpk_image *image = view->image;
	/* the list of a view is constant: a copy takes what is new */
	const struct mpk_signature **list =
		mpk_arena_keep(view->arena, view->host, image->function_count, sizeof *list);

	MPK_TRY_ALLOC(list, err);
	for (size_t i = 0; i < image->function_count; i++)
		if (!list[i])
			MPK_TRY(mpk_host_texts_signature(image, texts, i, view->arena, &list[i],
							 err));
	view->host = list;
	view->texts = texts;
	return MPK_OK;
}

struct mpk_span mpk_view_doc(const struct mpk_view *view, size_t index)
{
	return view->texts ? view->texts->docs[index] : (struct mpk_span){ 0 };
}
