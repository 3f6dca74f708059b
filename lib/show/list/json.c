/* SPDX-License-Identifier: Apache-2.0 */
/* The summary and --functions as JSON (minspect.schema.json, minspect-functions.schema.json). */
#include <elf.h>

#include "code/target.h"
#include "model/device_code.h"
#include "model/embedded.h"
#include "model/filter.h"
#include "model/node_info.h"
#include "model/origin.h"

/* The note with the name and the digest of the blob; null where the file has none. */
static void list_json_put_note(const struct mpk_note *note, struct mpk_json *j,
			       struct mpk_json_at *at)
{
	char digits[MPK_DIGEST_TEXT];
	struct mpk_json_at *o;

	if (!note->name) {
		mpk_json_null(j, at, "stamp");
		return;
	}
	o = mpk_json_object(j, at, "stamp");
	mpk_json_text(j, o, "name", note->name);
	mpk_json_text(j, o, "xxh128", mpk_digest_print(note->digest, MPK_XXH128_BYTES, digits));
}

/* null for a file without a blob: a member that is always there spares readers a case. */
static void put_blob(const struct mpk_view *v, struct mpk_json *j, struct mpk_json_at *at)
{
	const struct mpk_image *image = v->image;
	struct mpk_json_at *o;

	if (!image->has_blob) {
		mpk_json_null(j, at, "blob");
		return;
	}
	o = mpk_json_object(j, at, "blob");
	mpk_json_text(j, o, "symbol", image->blob_symbol);
	mpk_json_text(j, o, "prefix", image->prefix);
	mpk_json_text(j, o, "section", image->blob_section);
	mpk_json_u64(j, o, "offset", image->blob_off);
	mpk_json_u64(j, o, "address", image->blob_address);
	mpk_json_u64(j, o, "bytes", image->blob.len);
	/* what the tree takes of "bytes"; less where something follows it */
	mpk_json_u64(j, o, "used", v->tree ? v->tree->used : 0);
	list_json_put_note(&image->note, j, o);
}

/* null for files of other formats, which "format" and "machine" describe. */
static void put_elf(const struct mpk_image *image, struct mpk_json *j, struct mpk_json_at *at)
{
	struct mpk_json_at *o;

	if (!image->elf_class) {
		mpk_json_null(j, at, "elf");
		return;
	}
	o = mpk_json_object(j, at, "elf");
	mpk_json_text(j, o, "machine", image->machine_name);
	mpk_json_u64(j, o, "machine_number", image->machine);
	mpk_json_u64(j, o, "class", image->elf_class);
	mpk_json_text(j, o, "byte_order", image->big_endian ? "big" : "little");
	mpk_json_text(j, o, "type",
		      image->type == ET_REL    ? "REL"
		      : image->type == ET_EXEC ? "EXEC"
		      : image->type == ET_DYN  ? "DYN"
					       : "other");
}

static void list_json_put_names(struct mpk_json *j, struct mpk_json_at *at, const char *key,
				const char *const *names, size_t count)
{
	struct mpk_json_at *list = mpk_json_array(j, at, key);

	for (size_t i = 0; i < count; i++)
		mpk_json_text(j, list, NULL, names[i]);
}

static void list_json_put_signature(const struct mpk_signature *s, struct mpk_json *j,
				    struct mpk_json_at *at);

/* Returns the object, to which --functions adds what the summary has not. */
static struct mpk_json_at *list_json_put_function(const struct mpk_view *view, size_t index,
						  struct mpk_json *j, struct mpk_json_at *list)
{
	const struct mpk_image_function *f = &view->image->functions[index];
	struct mpk_json_at *o = mpk_json_object(j, list, NULL);

	mpk_json_text(j, o, "name", f->name);
	mpk_json_text(j, o, "symbol", f->symbol);
	mpk_json_u64(j, o, "address", f->address);
	mpk_json_u64(j, o, "bytes", f->bytes);
	mpk_json_bool(j, o, "entry", f->is_entry);
	mpk_json_text(j, o, "alias_of", f->alias_of);
	mpk_json_text(j, o, "member", f->member);
	list_json_put_signature(mpk_view_host(view, index), j, o);
	return o;
}

/* A kernel as its table has it. Launch tags stay texts, so that tags which
 * are new to this program are shown, too. */
static struct mpk_json_at *list_json_put_kernel(const struct mpk_function_info *f,
						struct mpk_json *j, struct mpk_json_at *list)
{
	struct mpk_json_at *o = mpk_json_object(j, list, NULL), *sub;
	char type[MPK_DTYPE_TEXT];

	mpk_json_span(j, o, "name", f->key);
	sub = mpk_json_array(j, o, "arguments");
	for (size_t i = 0; i < f->arg_count; i++)
		mpk_json_text(j, sub, NULL, mpk_dtype_print(f->arg_types[i], type));
	mpk_json_spans(j, o, "launch", f->launch_tags, f->launch_tag_count);
	sub = mpk_json_array(j, o, "extra_tags");
	for (size_t i = 0; i < f->extra_tag_count; i++)
		mpk_json_i64(j, sub, NULL, f->extra_tags[i]);
	return o;
}

/* Extents are numbers, symbolic ones their names. */
static void list_json_put_shape(const struct mpk_type *t, struct mpk_json *j,
				struct mpk_json_at *at)
{
	struct mpk_json_at *array;

	if (!t->ranked) {
		mpk_json_null(j, at, "shape");
		return;
	}
	array = mpk_json_array(j, at, "shape");
	for (size_t i = 0; i < t->ndim; i++) {
		struct mpk_span symbol = mpk_type_symbol(t, i);

		if (symbol.len)
			mpk_json_span(j, array, NULL, symbol);
		else
			mpk_json_i64(j, array, NULL, t->shape[i]);
	}
}

static void list_json_put_params(const struct mpk_param *list, size_t count, const char *key,
				 struct mpk_json *j, struct mpk_json_at *at)
{
	static const char *const kinds[] = {
		[MPK_TYPE_ANY] = "any",       [MPK_TYPE_TENSOR] = "tensor",
		[MPK_TYPE_SHAPE] = "shape",   [MPK_TYPE_SCALAR] = "scalar",
		[MPK_TYPE_TUPLE] = "tuple",   [MPK_TYPE_FUNCTION] = "function",
		[MPK_TYPE_STRING] = "string", [MPK_TYPE_NAMED] = "named",
	};
	struct mpk_json_at *array = mpk_json_array(j, at, key), *o;
	char name[MPK_DTYPE_TEXT];

	for (size_t i = 0; i < count; i++) {
		const struct mpk_type *t = &list[i].type;

		o = mpk_json_object(j, array, NULL);
		mpk_json_span(j, o, "name", list[i].name);
		mpk_json_text(j, o, "kind", kinds[t->kind]);
		/* a type of 0 bits is one that is not known */
		mpk_json_text(j, o, "dtype",
			      t->dtype.bits ? mpk_dtype_print(t->dtype, name) : NULL);
		list_json_put_shape(t, j, o);
		if (t->kind == MPK_TYPE_NAMED)
			mpk_json_span(j, o, "title", t->title);
		/* only OpenCL images have a scope; null where the kernel does not say which */
		if (t->scope)
			mpk_json_text(j, o, "scope", *t->scope ? t->scope : NULL);
		if (t->kind == MPK_TYPE_TUPLE)
			list_json_put_params(t->fields, t->field_count, "fields", j, o);
	}
}

/* The line of the listing, for those who show a signature and do not take it apart. */
static void list_json_put_text(const struct mpk_signature *s, struct mpk_json *j,
			       struct mpk_json_at *at)
{
	struct mpk_strbuf text = { 0 };

	mpk_signature_text(s, &text);
	j->failed |= text.failed;
	mpk_json_text(j, at, "signature", mpk_strbuf_text(&text));
	mpk_strbuf_fini(&text);
}

/* "signature", "inputs" and "device"; null: not known. */
static void list_json_put_signature(const struct mpk_signature *s, struct mpk_json *j,
				    struct mpk_json_at *at)
{
	mpk_json_text(j, at, "device", s ? mpk_dl_device_name(s->device) : NULL);
	if (!s) {
		mpk_json_null(j, at, "signature");
		mpk_json_null(j, at, "inputs");
		return;
	}
	list_json_put_text(s, j, at);
	list_json_put_params(s->inputs, s->input_count, "inputs", j, at);
}

/* A function of an executor. Returns the object, to which
 * --functions adds the module and a call. */
static struct mpk_json_at *put_model(const struct mpk_signature *m, struct mpk_json *j,
				     struct mpk_json_at *list)
{
	struct mpk_json_at *o = mpk_json_object(j, list, NULL);

	mpk_json_span(j, o, "name", m->name);
	list_json_put_text(m, j, o);
	mpk_json_bool(j, o, "named_inputs", m->named_inputs);
	list_json_put_params(m->inputs, m->input_count, "inputs", j, o);
	/* null: not known; an empty list would say that nothing is returned */
	if (m->outputs_known)
		list_json_put_params(m->outputs, m->output_count, "outputs", j, o);
	else
		mpk_json_null(j, o, "outputs");
	return o;
}

const char *mpk_view_role_name(const struct mpk_kind *kind)
{
	static const char *const names[] = {
		[MPK_ROLE_HOST] = "host",         [MPK_ROLE_DEVICE] = "device",
		[MPK_ROLE_EXECUTOR] = "executor", [MPK_ROLE_DATA] = "data",
		[MPK_ROLE_EXTERN] = "extern",     [MPK_ROLE_SOURCE] = "source",
		[MPK_ROLE_UNKNOWN] = "unknown",
	};

	return names[kind ? kind->role : MPK_ROLE_UNKNOWN];
}

void mpk_view_targets_json(const struct mpk_view *view, const struct mpk_view_node *n,
			   struct mpk_json *j, struct mpk_json_at *at)
{
	const struct mpk_code_target *targets;
	struct mpk_json_at *list, *o;
	size_t count;

	j->failed |= mpk_view_targets(view, n, &targets, &count, NULL) != MPK_OK;
	/* modules without GPU code have no such member */
	if (!count)
		return;
	list = mpk_json_array(j, at, "targets");
	for (size_t i = 0; i < count; i++) {
		o = mpk_json_object(j, list, NULL);
		mpk_json_text(j, o, "name", targets[i].name);
		/* the version of the PTX language, which decides whether a driver can compile it */
		if (targets[i].kind == MPK_TARGET_PTX)
			mpk_json_printf(j, o, "ptx", "%u.%u", targets[i].ptx_major,
					targets[i].ptx_minor);
		else
			mpk_json_null(j, o, "ptx");
	}
}

/* "index" and "children" count in the file: a filter hides modules,
 * but gives none another number. */
static void put_node(const struct mpk_view *view, size_t index, struct mpk_json *j,
		     struct mpk_json_at *list)
{
	const struct mpk_view_node *n = &view->nodes[index];
	const struct mpk_kernels *k = mpk_view_kernels(n);
	struct mpk_json_at *o = mpk_json_object(j, list, NULL), *sub;

	mpk_json_u64(j, o, "index", index);
	mpk_json_text(j, o, "path", n->path);
	mpk_json_span(j, o, "kind", n->node->kind);
	mpk_json_text(j, o, "role", mpk_view_role_name(n->kind));
	mpk_json_u64(j, o, "offset", n->node->payload_off);
	mpk_json_u64(j, o, "bytes", n->node->payload.len);
	sub = mpk_json_array(j, o, "children");
	for (size_t i = 0; i < n->node->child_count; i++)
		mpk_json_u64(j, sub, NULL, n->node->children[i]);
	if (mpk_view_format(n).len)
		mpk_json_span(j, o, "format", mpk_view_format(n));
	mpk_view_targets_json(view, n, j, o);
	if (k) {
		sub = mpk_json_array(j, o, "kernels");
		for (size_t i = 0; i < k->function_count; i++)
			if (mpk_view_shows_part(n, k->functions[i].key))
				mpk_node_kernel_json(
					n, i, j, list_json_put_kernel(&k->functions[i], j, sub));
	}
	if (n->models.count) {
		sub = mpk_json_array(j, o, "models");
		for (size_t i = 0; i < n->models.count; i++)
			if (mpk_view_shows_part(n, n->models.items[i].name))
				(void)put_model(&n->models.items[i], j, sub);
	}
	/* where a part was chosen, nothing is said of the whole */
	if (mpk_view_shows_whole(n))
		mpk_node_json(n, j, o);
	if (n->problem)
		mpk_json_error(j, o, "problem", n->problem);
}

/* What the documents of the summary and of --functions have in common. */
static void list_json_put_head(const struct mpk_view *v, struct mpk_json *j, struct mpk_json_at *at)
{
	const struct mpk_image *image = v->image;

	mpk_json_text(j, at, "file", v->name);
	mpk_json_u64(j, at, "bytes", v->file_bytes);
	mpk_json_text(j, at, "container", mpk_view_container(image->container));
	mpk_json_text(j, at, "member", image->member);
	mpk_json_text(j, at, "generation",
		      image->gen_known ? mpk_generation_get(image->gen)->abi : NULL);
	mpk_json_text(j, at, "convention", mpk_view_convention(image->convention));
}

/* The page has this, too, and lists functions and modules in its own way. */
void mpk_view_about_json(const struct mpk_view *view, struct mpk_json *j, struct mpk_json_at *at)
{
	const struct mpk_image *image = view->image;
	const struct mpk_span *loaders;
	size_t count;

	list_json_put_head(view, j, at);
	mpk_json_text(j, at, "releases",
		      image->gen_known ? mpk_generation_get(image->gen)->releases : NULL);
	mpk_json_text(j, at, "format", mpk_view_format_name(image->format));
	mpk_json_text(j, at, "machine", image->machine_name);
	if (mpk_view_loaders(view, &loaders, &count, NULL) == MPK_OK)
		mpk_json_spans(j, at, "loaders", loaders, count);
	else
		j->failed = true;
	put_elf(image, j, at);
	list_json_put_names(j, at, "members", image->members, image->member_count);
	put_blob(view, j, at);
}

void mpk_view_summary_json(const struct mpk_view *view, struct mpk_json *j, struct mpk_json_at *at)
{
	const struct mpk_image *image = view->image;
	struct mpk_json_at *list;

	mpk_view_about_json(view, j, at);
	list = mpk_json_array(j, at, "functions");
	for (size_t i = 0; i < image->function_count; i++)
		if (mpk_view_shows(view, mpk_span_str(image->functions[i].name)))
			(void)list_json_put_function(view, i, j, list);
	list_json_put_names(j, at, "context_symbols", image->context_symbols,
			    image->context_symbol_count);
	list_json_put_names(j, at, "undefined", image->undefined, image->undefined_count);
	list_json_put_names(j, at, "needed", image->needed, image->needed_count);
	mpk_view_origin_json(view, j, at);
	list = mpk_json_array(j, at, "tree");
	for (size_t i = 0; i < view->count; i++)
		if (mpk_view_shows_node(&view->nodes[i]))
			put_node(view, i, j, list);
	mpk_view_embedded_json(view, j, at);
	/* devices alone: the containers may be gigabytes, and --functions is what reads them */
	mpk_device_rows_json(view, j, at);
	if (view->tree && view->tree->warning.code != MPK_OK)
		mpk_json_error(j, at, "warning", &view->tree->warning);
}

/* Puts a command line and frees it. */
static void list_json_put_line(struct mpk_strbuf *call, struct mpk_json *j, struct mpk_json_at *at)
{
	j->failed |= call->failed;
	mpk_json_text(j, at, "call", mpk_strbuf_text(call));
	mpk_strbuf_fini(call);
}

static void list_json_put_call(const struct mpk_view *view, struct mpk_span name,
			       const struct mpk_signature *signature, struct mpk_json *j,
			       struct mpk_json_at *at)
{
	struct mpk_strbuf call = { 0 };

	mpk_view_call(view, name, signature, &call);
	list_json_put_line(&call, j, at);
}

static void put_kernel_call(const struct mpk_view *view, const struct mpk_view_node *node,
			    size_t index, struct mpk_json *j, struct mpk_json_at *at)
{
	struct mpk_strbuf call = { 0 };

	mpk_view_kernel_call(view, node, index, &call);
	list_json_put_line(&call, j, at);
}

/* What is known of those modules that hold code or run it. */
static void put_modules(const struct mpk_view *view, struct mpk_json *j, struct mpk_json_at *at)
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

void mpk_view_functions_json(const struct mpk_view *view, struct mpk_json *j,
			     struct mpk_json_at *at)
{
	const struct mpk_image *image = view->image;
	struct mpk_json_at *list, *o;

	list_json_put_head(view, j, at);
	list = mpk_json_array(j, at, "functions");
	for (size_t i = 0; i < image->function_count; i++) {
		const struct mpk_image_function *f = &image->functions[i];

		/* --run takes the name for an executor's function first:
		 * the call has its arguments */
		const struct mpk_signature *model = mpk_view_called_instead(view, i);

		if (!mpk_view_shows(view, mpk_span_str(f->name)))
			continue;
		o = list_json_put_function(view, i, j, list);
		if (mpk_view_doc(view, i).len)
			mpk_json_span(j, o, "doc", mpk_view_doc(view, i));
		list_json_put_call(view,
				   model ? model->name : mpk_span_str(mpk_view_called(view, i)),
				   model ? model : mpk_view_host(view, i), j, o);
	}
	if (view->texts && view->texts->unassigned_count)
		mpk_json_spans(j, at, "unassigned_metadata", view->texts->unassigned,
			       view->texts->unassigned_count);
	/* one list for all modules: who looks for a name need not walk the tree */
	list = mpk_json_array(j, at, "models");
	for (size_t n = 0; n < view->count; n++) {
		const struct mpk_models *m = &view->nodes[n].models;

		for (size_t i = 0; i < m->count; i++) {
			if (!mpk_view_shows_part(&view->nodes[n], m->items[i].name))
				continue;
			o = put_model(&m->items[i], j, list);
			mpk_json_text(j, o, "module", view->nodes[n].path);
			mpk_json_span(j, o, "kind", view->nodes[n].node->kind);
			list_json_put_call(view, m->items[i].name, &m->items[i], j, o);
		}
	}
	list = mpk_json_array(j, at, "kernels");
	for (size_t n = 0; n < view->count; n++) {
		const struct mpk_kernels *k = mpk_view_kernels(&view->nodes[n]);

		for (size_t i = 0; k && i < k->function_count; i++) {
			if (!mpk_view_shows_part(&view->nodes[n], k->functions[i].key))
				continue;
			o = list_json_put_kernel(&k->functions[i], j, list);
			mpk_node_kernel_json(&view->nodes[n], i, j, o);
			mpk_json_text(j, o, "module", view->nodes[n].path);
			mpk_json_span(j, o, "kind", view->nodes[n].node->kind);
			put_kernel_call(view, &view->nodes[n], i, j, o);
		}
	}
	put_modules(view, j, at);
	mpk_view_embedded_json(view, j, at);
	mpk_device_rows_json(view, j, at);
	mpk_device_json(view, j, at);
}
