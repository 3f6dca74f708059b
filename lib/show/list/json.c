/* SPDX-License-Identifier: Apache-2.0 */
/* json.c - the parts shared by the JSON documents of the summary and of --functions
 * (minspect.schema.json, minspect-functions.schema.json): functions, kernels, models, and details
 * of modules */
#include <elf.h>
#include <inttypes.h>

#include "code/format.h"
#include "code/show.h"
#include "graphjson/graphjson.h"
#include "hostcode/registered.h"
#include "list/list.h"
#include "text/facts.h"

/* --- global functions ------------------------------------------------------------------- */

void mpk_list_registered_json(const struct mpk_view *view, struct mpk_json *j,
			      struct mpk_json_at *at)
{
	const struct mpk_global_names *r = view->registered;
	struct mpk_json_at *list;

	if (!r)
		return;
	list = mpk_json_array(j, at, "registered");
	for (size_t i = 0; i < r->count; i++)
		if (mpk_view_shows(view, r->names[i]))
			mpk_json_span(j, list, NULL, r->names[i]);
	mpk_json_bool(j, at, "registered_more", r->has_more);
}

/* --- the file ---------------------------------------------------------------------------- */

static const char *const containers[] = {
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
	[MPK_CONTAINER_WASM_SO] = "wasm-module",
	[MPK_CONTAINER_WASM_OBJ] = "wasm-object",
	[MPK_CONTAINER_DEVICE] = "gpu-code",
};

static const char *const conventions[] = {
	[MPK_CONV_NONE] = "none",
	[MPK_CONV_LEGACY] = "legacy",
	[MPK_CONV_FFI021] = "ffi-0.21",
	[MPK_CONV_FFI] = "ffi",
};

/* Writes the note with the name and digest of the blob; null if the file has none. */
static void put_note(const struct mpk_note *note, struct mpk_json *j, struct mpk_json_at *at)
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

static const struct mpk_fact blob_facts[] = {
	{ MPK_FACT(TEXT_OR_NULL, "symbol", struct mpk_image, blob_symbol) },
	{ MPK_FACT(TEXT, "prefix", struct mpk_image, prefix) },
	{ MPK_FACT(TEXT_OR_NULL, "section", struct mpk_image, blob_section) },
	{ MPK_FACT(COUNT, "offset", struct mpk_image, blob_off,
		   "in the file; of a compressed archive: in what it unpacks to") },
	{ MPK_FACT(COUNT, "address", struct mpk_image, blob_address) },
	{ MPK_FACT(COUNT, "bytes", struct mpk_image, blob.len) },
};

/* Writes null for a file without a blob: the member is always present. */
static void put_blob_json(const struct mpk_view *v, struct mpk_json *j, struct mpk_json_at *at)
{
	const struct mpk_image *image = v->image;
	struct mpk_json_at *o;

	if (!image->has_blob) {
		mpk_json_null(j, at, "blob");
		return;
	}
	o = mpk_json_object(j, at, "blob");
	mpk_facts_json(MPK_FACTS(blob_facts), image, j, o);
	/* bytes of the blob that the tree uses; less than "bytes" if data follows the tree */
	mpk_json_u64(j, o, "used", v->tree ? v->tree->used : 0);
	put_note(&image->note, j, o);
}

static const char *const byte_orders[] = { "little", "big" };

static const struct mpk_fact elf_facts[] = {
	{ MPK_FACT(TEXT, "machine", struct mpk_image, machine_name) },
	{ MPK_FACT(COUNT, "machine_number", struct mpk_image, machine) },
	{ MPK_FACT(COUNT, "class", struct mpk_image, elf_class) },
	{ MPK_FACT_WORDS("byte_order", struct mpk_image, big_endian, byte_orders) },
};

/* Writes null for non-ELF files, which "format" and "machine" describe. */
static void put_elf(const struct mpk_image *image, struct mpk_json *j, struct mpk_json_at *at)
{
	struct mpk_json_at *o;

	if (!image->elf_class) {
		mpk_json_null(j, at, "elf");
		return;
	}
	o = mpk_json_object(j, at, "elf");
	mpk_facts_json(MPK_FACTS(elf_facts), image, j, o);
	mpk_json_text(j, o, "type",
		      image->type == ET_REL    ? "REL"
		      : image->type == ET_EXEC ? "EXEC"
		      : image->type == ET_DYN  ? "DYN"
					       : "other");
}

static const char *const formats[] = {
	[MPK_FILE_BLOB] = NULL,   [MPK_FILE_ELF] = "elf",   [MPK_FILE_MACHO] = "macho",
	[MPK_FILE_COFF] = "coff", [MPK_FILE_PE] = "pe",     [MPK_FILE_C] = "c",
	[MPK_FILE_WASM] = "wasm", [MPK_FILE_DEVICE] = NULL,
};

/* The page needs all of it, but lists functions and modules in its own way. */
void mpk_list_about_json(const struct mpk_view *view, bool in_full, struct mpk_json *j,
			 struct mpk_json_at *at)
{
	const struct mpk_image *image = view->image;
	const struct mpk_generation_info *gen =
		image->gen_known ? mpk_generation_get(image->gen) : NULL;
	const struct mpk_span *loaders;
	size_t count;

	mpk_json_text(j, at, "file", view->name);
	mpk_json_u64(j, at, "bytes", view->file_bytes);
	mpk_json_text(j, at, "container", containers[image->container]);
	mpk_json_text(j, at, "member", image->member);
	mpk_json_text(j, at, "generation", gen ? gen->abi : NULL);
	mpk_json_text(j, at, "convention", conventions[image->convention]);
	if (!in_full)
		return;
	mpk_json_text(j, at, "releases", gen ? gen->releases : NULL);
	mpk_json_text(j, at, "format", formats[image->format]);
	mpk_json_text(j, at, "machine", image->machine_name);
	if (mpk_view_loaders(view, &loaders, &count, NULL) == MPK_OK)
		mpk_json_spans(j, at, "loaders", loaders, count);
	else
		j->failed = true;
	put_elf(image, j, at);
	mpk_json_texts(j, at, "members", image->members, image->member_count);
	put_blob_json(view, j, at);
}

/* --- signatures -------------------------------------------------------------------------- */

/* Known extents are numbers, symbolic extents are strings. */
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
		/* a type of 0 bits is unknown */
		mpk_json_text(j, o, "dtype",
			      t->dtype.bits ? mpk_dtype_print(t->dtype, name) : NULL);
		put_shape(t, j, o);
		if (t->kind == MPK_TYPE_NAMED)
			mpk_json_span(j, o, "title", t->title);
		/* only OpenCL images have a scope; null if the kernel does not tell it */
		if (t->scope)
			mpk_json_text(j, o, "scope", *t->scope ? t->scope : NULL);
		if (t->kind == MPK_TYPE_TUPLE)
			put_params(t->fields, t->field_count, "fields", j, o);
	}
}

/* Writes the signature as one line, for programs that only display it. */
static void put_text(const struct mpk_signature *s, struct mpk_json *j, struct mpk_json_at *at)
{
	struct mpk_strbuf text = { 0 };

	mpk_signature_text(s, &text);
	mpk_json_take(j, at, "signature", &text);
}

/* --- what can be called ------------------------------------------------------------------ */

void mpk_list_call_json(const struct mpk_view *view, struct mpk_span function,
			const struct mpk_signature *signature, struct mpk_json *j,
			struct mpk_json_at *at)
{
	struct mpk_strbuf call = { 0 };

	mpk_view_call(view, function, signature, &call);
	mpk_json_take(j, at, "call", &call);
}

/* "signature", "inputs" and "device" are null if the file does not tell them. --run prefers an
 * executor's function of the same name, so "call" has that function's arguments. */
void mpk_list_function_json(const struct mpk_view *view, size_t index, unsigned details,
			    struct mpk_json *j, struct mpk_json_at *list)
{
	const struct mpk_image_function *f = &view->image->functions[index];
	const struct mpk_signature *s = mpk_view_host(view, index);
	const struct mpk_signature *model = mpk_view_called_instead(view, index);
	struct mpk_json_at *o = mpk_json_object(j, list, NULL);

	mpk_json_text(j, o, "name", f->name);
	mpk_json_text(j, o, "symbol", f->symbol);
	if (details & MPK_LIST_INPUTS)
		mpk_json_u64(j, o, "address", f->address);
	mpk_json_u64(j, o, "bytes", f->bytes);
	mpk_json_bool(j, o, "entry", f->is_entry);
	mpk_json_text(j, o, "alias_of", f->alias_of);
	mpk_json_text(j, o, "member", f->member);
	mpk_json_text(j, o, "device", s ? mpk_dl_device_name(s->device) : NULL);
	if (s)
		put_text(s, j, o);
	else
		mpk_json_null(j, o, "signature");
	if (s && details & MPK_LIST_INPUTS)
		put_params(s->inputs, s->input_count, "inputs", j, o);
	else if (details & MPK_LIST_INPUTS)
		mpk_json_null(j, o, "inputs");
	if (!(details & MPK_LIST_CALL))
		return;
	if (mpk_view_doc(view, index).len)
		mpk_json_span(j, o, "doc", mpk_view_doc(view, index));
	mpk_list_call_json(view, model ? model->name : mpk_span_str(mpk_view_called(view, index)),
			   model ? model : s, j, o);
}

/* Writes a kernel from its table. Launch tags are texts, so that tags unknown to this program are
 * shown too. */
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

/* Writes a function of an executor. Returns the object, to which
 * --functions adds the module and a call. */
/* Writes nothing if the function uses none. */
static void put_uses(const struct mpk_signature *s, struct mpk_json *j, struct mpk_json_at *at)
{
	struct mpk_json_at *list = s->uses ? mpk_json_array(j, at, "uses") : NULL;
	const char *use;

	for (unsigned i = 0; list && (use = mpk_signature_use_text(i)) != NULL; i++)
		if (s->uses >> i & 1)
			mpk_json_text(j, list, NULL, use);
}

struct mpk_json_at *mpk_list_model_json(const struct mpk_signature *m, struct mpk_json *j,
					struct mpk_json_at *list)
{
	struct mpk_json_at *o = mpk_json_object(j, list, NULL);

	mpk_json_span(j, o, "name", m->name);
	put_text(m, j, o);
	mpk_json_bool(j, o, "named_inputs", m->named_inputs);
	put_uses(m, j, o);
	put_params(m->inputs, m->input_count, "inputs", j, o);
	/* null if unknown; an empty list means that nothing is returned */
	if (m->outputs_known)
		put_params(m->outputs, m->output_count, "outputs", j, o);
	else
		mpk_json_null(j, o, "outputs");
	return o;
}

/* --- modules ------------------------------------------------------------------------------- */

/* Modules without GPU code have no member "targets". */
static void put_targets(const struct mpk_view *view, const struct mpk_view_node *n,
			struct mpk_json *j, struct mpk_json_at *at)
{
	const struct mpk_code_target *targets;
	struct mpk_json_at *list, *o;
	size_t count;

	j->failed |= mpk_view_targets(view, n, &targets, &count, NULL) != MPK_OK;
	if (!count)
		return;
	list = mpk_json_array(j, at, "targets");
	for (size_t i = 0; i < count; i++) {
		o = mpk_json_object(j, list, NULL);
		mpk_json_text(j, o, "name", targets[i].name);
		/* version of the PTX language, which decides whether a driver can compile it */
		if (targets[i].kind == MPK_TARGET_PTX)
			mpk_json_printf(j, o, "ptx", "%u.%u", targets[i].ptx_major,
					targets[i].ptx_minor);
		else
			mpk_json_null(j, o, "ptx");
	}
}

void mpk_list_module_json(const struct mpk_view *view, const struct mpk_view_node *n, bool for_page,
			  struct mpk_json *j, struct mpk_json_at *o)
{
	struct mpk_strbuf counts = { 0 };
	struct mpk_json_at *children;

	mpk_json_text(j, o, "path", n->path);
	mpk_json_span(j, o, "kind", n->node->kind);
	if (for_page)
		mpk_json_text(j, o, "title", mpk_view_title(n));
	mpk_json_text(j, o, "role", mpk_view_role(n));
	mpk_json_u64(j, o, "offset", n->node->payload_off);
	mpk_json_u64(j, o, "bytes", n->node->payload.len);
	if (for_page) {
		mpk_view_counts(n, &counts);
		mpk_json_take(j, o, "counts", &counts);
	}
	children = mpk_json_array(j, o, "children");
	for (size_t i = 0; i < n->node->child_count; i++)
		mpk_json_u64(j, children, NULL, n->node->children[i]);
	if (mpk_view_format(n).len)
		mpk_json_span(j, o, "format", mpk_view_format(n));
	put_targets(view, n, j, o);
}

/* --- code --------------------------------------------------------------------------- */

/* Lists kernels that are in the code but not in the table. */
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

/* Writes an object for each piece of code; "kernel" is null if it is for all kernels of the
 * table. */
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
		/* a piece for one kernel is described in that kernel's object */
		if (!p->key && !p->code.problem)
			put_unlisted(info, &p->code, j, o);
	}
}

/* Adds the findings of --verify about this kernel, so that readers need no second document. */
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

/* Writes null if there is no number. */
static void put_range(const struct mpk_stats *s, struct mpk_json *j, struct mpk_json_at *o)
{
	if (s->kind == MPK_STATS_NONE || s->count == s->nans + s->infs) {
		mpk_json_null(j, o, "min");
		mpk_json_null(j, o, "max");
		mpk_json_null(j, o, "mean");
		return;
	}
	/* integers stay integers: a double would round 64-bit values */
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

/* Counts NaNs and infinities separately, as JSON has no numbers for them (RFC 8259, 6). */
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
