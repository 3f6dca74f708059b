/* SPDX-License-Identifier: Apache-2.0 */
/* json.c - what the documents of the summary and of --functions have in common (minspect.schema.json,
 * minspect-functions.schema.json): functions, kernels, models, and what is known of a module */
#include <inttypes.h>

#include "code/show.h"
#include "graphjson/graphjson.h"
#include "list/internal/members.h"

/* --- the file ---------------------------------------------------------------------------- */

static const char *container_word(enum mpk_container container)
{
	static const char *const names[] = {
		[MPK_CONTAINER_ELF_SO] = "elf-so",
		[MPK_CONTAINER_ELF_OBJ] = "elf-object",
		[MPK_CONTAINER_ARCHIVE] = "archive",
		[MPK_CONTAINER_TAR] = "tar",
		[MPK_CONTAINER_BLOB] = "blob",
		[MPK_CONTAINER_MACHO_SO] = "macho-library",
		[MPK_CONTAINER_MACHO_OBJ] = "macho-object",
		[MPK_CONTAINER_PE_SO] = "pe-library",
		[MPK_CONTAINER_COFF_OBJ] = "coff-object",
		[MPK_CONTAINER_C] = "c-source",
	};

	return names[container];
}

static const char *convention_word(enum mpk_convention convention)
{
	static const char *const names[] = {
		[MPK_CONV_NONE] = "none",
		[MPK_CONV_LEGACY] = "legacy",
		[MPK_CONV_FFI021] = "ffi-0.21",
		[MPK_CONV_FFI] = "ffi",
	};

	return names[convention];
}

/* What the documents of the summary and of --functions have in common. */
void mpk_list_head_json(const struct mpk_view *v, struct mpk_json *j, struct mpk_json_at *at)
{
	const struct mpk_image *image = v->image;

	mpk_json_text(j, at, "file", v->name);
	mpk_json_u64(j, at, "bytes", v->file_bytes);
	mpk_json_text(j, at, "container", container_word(image->container));
	mpk_json_text(j, at, "member", image->member);
	mpk_json_text(j, at, "generation",
		      image->gen_known ? mpk_generation_get(image->gen)->abi : NULL);
	mpk_json_text(j, at, "convention", convention_word(image->convention));
}

/* --- signatures -------------------------------------------------------------------------- */

/* Extents are numbers, symbolic ones their names. */
static void put_shape(const struct mpk_type *t, struct mpk_json *j, struct mpk_json_at *at)
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

static void put_params(const struct mpk_param *list, size_t count, const char *key,
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
		put_shape(t, j, o);
		if (t->kind == MPK_TYPE_NAMED)
			mpk_json_span(j, o, "title", t->title);
		/* only OpenCL images have a scope; null where the kernel does not say which */
		if (t->scope)
			mpk_json_text(j, o, "scope", *t->scope ? t->scope : NULL);
		if (t->kind == MPK_TYPE_TUPLE)
			put_params(t->fields, t->field_count, "fields", j, o);
	}
}

/* The line of the listing, for those who show a signature and do not take it apart. */
static void put_text(const struct mpk_signature *s, struct mpk_json *j, struct mpk_json_at *at)
{
	struct mpk_strbuf text = { 0 };

	mpk_signature_text(s, &text);
	mpk_json_take(j, at, "signature", &text);
}

/* "signature", "inputs" and "device"; null: not known. */
static void put_signature(const struct mpk_signature *s, struct mpk_json *j, struct mpk_json_at *at)
{
	mpk_json_text(j, at, "device", s ? mpk_dl_device_name(s->device) : NULL);
	if (!s) {
		mpk_json_null(j, at, "signature");
		mpk_json_null(j, at, "inputs");
		return;
	}
	put_text(s, j, at);
	put_params(s->inputs, s->input_count, "inputs", j, at);
}

/* --- what can be called ------------------------------------------------------------------ */

/* Returns the object, to which --functions adds what the summary has not. */
struct mpk_json_at *mpk_list_function_json(const struct mpk_view *view, size_t index,
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
	put_signature(mpk_view_host(view, index), j, o);
	return o;
}

/* A kernel as its table has it. Launch tags stay texts, so that tags which
 * are new to this program are shown, too. */
struct mpk_json_at *mpk_list_kernel_json(const struct mpk_function_info *f, struct mpk_json *j,
					 struct mpk_json_at *list)
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

/* A function of an executor. Returns the object, to which
 * --functions adds the module and a call. */
struct mpk_json_at *mpk_list_model_json(const struct mpk_signature *m, struct mpk_json *j,
					struct mpk_json_at *list)
{
	struct mpk_json_at *o = mpk_json_object(j, list, NULL);

	mpk_json_span(j, o, "name", m->name);
	put_text(m, j, o);
	mpk_json_bool(j, o, "named_inputs", m->named_inputs);
	put_params(m->inputs, m->input_count, "inputs", j, o);
	/* null: not known; an empty list would say that nothing is returned */
	if (m->outputs_known)
		put_params(m->outputs, m->output_count, "outputs", j, o);
	else
		mpk_json_null(j, o, "outputs");
	return o;
}

/* --- code --------------------------------------------------------------------------- */

/* Kernels that the code lists and the table does not. */
static void put_unlisted(const struct mpk_node_info *info, const struct mpk_code_info *code,
			 struct mpk_json *j, struct mpk_json_at *at)
{
	const struct mpk_code_info *lister = mpk_code_info_lister(code);
	struct mpk_json_at *list = NULL, *o;

	for (size_t i = 0; lister && i < lister->kernel_count; i++) {
		struct mpk_span name = lister->kernels[i].name;

		if (mpk_names_find(&info->table, name, NULL))
			continue;
		list = list ? list : mpk_json_array(j, at, "unlisted");
		o = mpk_json_object(j, list, NULL);
		mpk_json_span(j, o, "name", name);
		mpk_code_figures_json(code, name, j, o);
	}
}

/* An object for each run of code; "kernel" is null where it is for all kernels of the table. */
static void put_pieces(const struct mpk_node_info *info, struct mpk_json *j, struct mpk_json_at *at)
{
	struct mpk_json_at *list = mpk_json_array(j, at, "code"), *o;

	for (size_t i = 0; i < info->piece_count; i++) {
		const struct mpk_code_piece *p = &info->pieces[i];

		o = mpk_json_object(j, list, NULL);
		if (p->key)
			mpk_json_span(j, o, "kernel", *p->key);
		else
			mpk_json_null(j, o, "kernel");
		mpk_code_info_json(&p->code, j, o);
		/* a piece for one kernel is described with that kernel alone */
		if (!p->key && !p->code.problem)
			put_unlisted(info, &p->code, j, o);
	}
}

/* What --verify found of this kernel, so that its readers need no second document. */
static void put_findings(const struct mpk_view_node *node, size_t index, struct mpk_json *j,
			 struct mpk_json_at *at)
{
	struct mpk_json_at *list = mpk_json_array(j, at, "findings"), *o;
	size_t count;
	const struct mpk_view_finding *f = mpk_node_findings(node, index, &count);

	for (size_t i = 0; i < count; i++) {
		o = mpk_json_object(j, list, NULL);
		mpk_json_text(j, o, "check", f[i].check);
		mpk_json_text(j, o, "severity", mpk_severity_name(f[i].severity));
		mpk_json_text(j, o, "message", f[i].text);
	}
}

void mpk_node_kernel_json(const struct mpk_view_node *node, size_t index, struct mpk_json *j,
			  struct mpk_json_at *at)
{
	static const char *const states[] = {
		[MPK_CODE_DEFINED] = "yes",
		[MPK_CODE_FUNCTION] = "not-launchable",
		[MPK_CODE_POSSIBLE] = "unknown",
		[MPK_CODE_MISSING] = "no",
	};
	const struct mpk_kernels *table = mpk_view_kernels(node);

	if (!node->show_info || !table)
		return;
	mpk_json_text(j, at, "in_code", states[mpk_node_info_defines(node->info, table, index)]);
	mpk_code_figures_json(mpk_node_code(node->info, table, index), table->functions[index].key,
			      j, at);
	put_findings(node, index, j, at);
}

/* --- tensors ------------------------------------------------------------------------ */

/* null when there is no number to give */
static void put_range(const struct mpk_stats *s, struct mpk_json *j, struct mpk_json_at *o)
{
	if (s->kind == MPK_STATS_NONE || s->count == s->nans + s->infs) {
		mpk_json_null(j, o, "min");
		mpk_json_null(j, o, "max");
		mpk_json_null(j, o, "mean");
		return;
	}
	/* integers stay integers: a double would round those of 64 bits */
	if (s->kind == MPK_STATS_FLOAT) {
		mpk_json_f64(j, o, "min", s->range.f.min);
		mpk_json_f64(j, o, "max", s->range.f.max);
	} else if (s->kind == MPK_STATS_SIGNED) {
		mpk_json_i64(j, o, "min", s->range.i.min);
		mpk_json_i64(j, o, "max", s->range.i.max);
	} else {
		mpk_json_u64(j, o, "min", s->range.u.min);
		mpk_json_u64(j, o, "max", s->range.u.max);
	}
	mpk_json_f64(j, o, "mean", s->mean);
}

/* NaNs and infinities are counted apart, as JSON has no numbers for them (RFC 8259, 6). */
static void put_tensors(const struct mpk_node_info *info, struct mpk_json *j,
			struct mpk_json_at *at)
{
	struct mpk_json_at *list = mpk_json_array(j, at, "tensors"), *o;
	char type[MPK_DTYPE_TEXT];

	for (size_t i = 0; i < info->tensor_count; i++) {
		const struct mpk_tensor_info *t = &info->tensors[i];

		o = mpk_json_object(j, list, NULL);
		mpk_json_text(j, o, "name", t->name);
		mpk_json_text(j, o, "dtype", mpk_dtype_print(t->record->dtype, type));
		mpk_json_i64s(j, o, "shape", t->record->shape, t->record->ndim);
		mpk_json_u64(j, o, "bytes", t->record->data.len);
		put_range(&t->stats, j, o);
		mpk_json_u64(j, o, "nans", t->stats.nans);
		mpk_json_u64(j, o, "infinities", t->stats.infs);
	}
}

void mpk_node_json(const struct mpk_view_node *node, struct mpk_json *j, struct mpk_json_at *at)
{
	const struct mpk_payload_view *row = mpk_view_row(node);
	struct mpk_payload_content content = mpk_view_content(node);

	if (!node->show_info)
		return;
	if (node->info->piece_count)
		put_pieces(node->info, j, at);
	if (row->json)
		row->json(&content, j, at);
	if (node->info->tensor_count)
		put_tensors(node->info, j, at);
}
