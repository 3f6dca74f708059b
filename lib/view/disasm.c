/* SPDX-License-Identifier: Apache-2.0 */
/* A name may be that of several things: of a function of byte code and of the host function that it
 * calls, of a kernel in several images. All of them are listed, modules in the order of the tree. */
#include "view/disasm.h"

#include <stdlib.h>
#include <string.h>

#include "ar/ar.h"
#include "elf/object_image.h"
#include "text/escape.h"
#include "view/embedded.h"
#include "view/node_info.h"

enum { NAMES_MOST = 20000 }; /* of symbols, for "did you mean" */

static bool is_here(const struct mpk_disasm_job *j, const char *path)
{
	return !j->wanted.path.len || mpk_span_is(j->wanted.path, path);
}

static bool is_wanted(const struct mpk_disasm_job *j, struct mpk_span name)
{
	return !j->wanted.name.len || mpk_span_equal(j->wanted.name, name);
}

/* --- host code ------------------------------------------------------------------------------------ */

/* The files that host functions are in: of an archive, one a member. */
struct host {
	const char *path;
	struct mpk_code_file file;
	const char *member; /* that file is of; NULL: the image's own */
	bool is_open;
};

static void host_fini(struct host *h)
{
	mpk_code_file_close(&h->file);
}

static enum mpk_code open_host(struct mpk_disasm_job *j, struct host *h, const char *member)
{
	const struct mpk_image *image = j->view->image;
	struct mpk_span bytes = image->bytes;
	enum mpk_file_format format = image->format;

	if (h->is_open &&
	    (h->member == member || (h->member && member && strcmp(h->member, member) == 0)))
		return MPK_OK;
	mpk_code_file_close(&h->file);
	for (size_t i = 0; member && i < image->member_count; i++)
		if (strcmp(image->members[i], member) == 0) {
			bytes = image->member_bytes[i];
			format = mpk_file_format_of(bytes);
			break;
		}
	h->member = member;
	h->is_open = true;
	return mpk_code_file_open(bytes, format, j->view->arena, &h->file, j->err);
}

/* A symbol whose bytes are somewhere else, such as a descriptor of big-endian PowerPC. */
static enum mpk_code no_code(struct mpk_disasm_job *j, struct mpk_span name)
{
	struct mpk_error err = { 0 };
	enum mpk_code code =
		mpk_fail(&err, MPK_E_UNSUPPORTED,
			 "the symbol of '%s' does not lead to code in this file", MPK_QUOTE(name));

	return mpk_disasm_note(j, code, &err);
}

static enum mpk_code exported(struct mpk_disasm_job *j, struct host *h)
{
	const struct mpk_image *image = j->view->image;
	struct mpk_code_function found;

	for (size_t i = 0; i < image->function_count; i++) {
		const struct mpk_image_function *f = &image->functions[i];
		struct mpk_span name = mpk_span_str(f->name);

		mpk_part_names_add(&j->names, name);
		if (f->alias_of || (!is_wanted(j, name) && !mpk_span_is(j->wanted.name, f->symbol)))
			continue;
		MPK_TRY(open_host(j, h, f->member));
		MPK_TRY(mpk_code_file_find(&h->file, f->symbol, &found)
				? mpk_disasm_function(j, h->path, name, image->machine_name,
						      &h->file, &found)
				: no_code(j, name));
	}
	return MPK_OK;
}

/* A function that is not exported, by its symbol. */
static enum mpk_code internal(struct mpk_disasm_job *j, struct host *h)
{
	const struct mpk_image *image = j->view->image;
	const char *symbol = mpk_arena_text(j->view->arena, j->wanted.name);
	struct mpk_code_function found;
	struct mpk_span *names;
	size_t count;

	MPK_TRY_ALLOC(symbol, j->err);
	MPK_TRY(open_host(j, h, NULL));
	if (mpk_code_file_find(&h->file, symbol, &found))
		return mpk_disasm_function(j, h->path, j->wanted.name, image->machine_name,
					   &h->file, &found);
	names = mpk_arena_array(j->view->arena, NAMES_MOST, sizeof *names);
	MPK_TRY_ALLOC(names, j->err);
	count = mpk_code_file_symbols(&h->file, names, NAMES_MOST);
	for (size_t i = 0; i < count; i++)
		mpk_part_names_add(&j->names, names[i]);
	return MPK_OK;
}

static bool has_machine_code(const struct mpk_image *image)
{
	return image->format != MPK_FILE_BLOB && image->format != MPK_FILE_C;
}

static enum mpk_code host_code(struct mpk_disasm_job *j, const char *path)
{
	MPK_CLEANUP(host_fini) struct host h = { .path = path };
	size_t before = j->found;

	if (j->view->image->format == MPK_FILE_C && j->view->image->function_count) {
		struct mpk_error err = { 0 };
		enum mpk_code code = mpk_fail(
			&err, MPK_E_UNSUPPORTED,
			"the host code is C, which no compiler has seen; it stands in the file");

		return j->wanted.name.len ? MPK_OK : mpk_disasm_note(j, code, &err);
	}
	if (!has_machine_code(j->view->image))
		return MPK_OK;
	MPK_TRY(exported(j, &h));
	return j->found == before && j->wanted.name.len ? internal(j, &h) : MPK_OK;
}

/* --- modules ------------------------------------------------------------------------------------------ */

static enum mpk_code put_bytecode(struct mpk_disasm_job *j, const struct mpk_view_node *n,
				  struct mpk_span name, size_t index)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };
	const struct mpk_payload *p = n->payload;

	if (p->tag == MPK_PAYLOAD_RELAX && name.len)
		mpk_relax_dump_func(&p->u.relax, index, &text);
	else if (p->tag == MPK_PAYLOAD_RELAX)
		mpk_relax_dump(&p->u.relax, &text);
	else if (name.len)
		mpk_relay_dump_func(&p->u.relay, index, &text);
	else
		mpk_relay_dump(&p->u.relay, &text);
	MPK_TRY(mpk_strbuf_status(&text, j->err));
	const struct mpk_listing l = { .path = n->path,
				       .name = name,
				       .format = "byte code",
				       .target = "",
				       .text = mpk_span_of(text.data, text.len) };
	return mpk_disasm_put(j, &l);
}

static enum mpk_code bytecode(struct mpk_disasm_job *j, const struct mpk_view_node *n)
{
	const struct mpk_payload *p = n->payload;
	bool relax = p->tag == MPK_PAYLOAD_RELAX;

	if (!relax && p->tag != MPK_PAYLOAD_RELAY)
		return MPK_OK;
	if (!j->wanted.name.len)
		return put_bytecode(j, n, (struct mpk_span){ 0 }, 0);
	for (size_t i = 0; i < (relax ? p->u.relax.func_count : p->u.relay.func_count); i++) {
		struct mpk_span name =
			relax ? p->u.relax.funcs[i].name : p->u.relay.funcs[i].info.items[0];

		/* functions that are only called are the host's or the machine's */
		if (relax && p->u.relax.funcs[i].kind == MPK_RELAX_PACKED)
			continue;
		mpk_part_names_add(&j->names, name);
		if (is_wanted(j, name))
			return put_bytecode(j, n, name, i);
	}
	return MPK_OK;
}

/* Objects of a static library that was packed as a module. */
static enum mpk_code library(struct mpk_disasm_job *j, const char *path,
			     const struct mpk_code_info *code)
{
	const struct mpk_ar *ar = code->content;

	for (size_t i = 0; ar && i < ar->member_count; i++) {
		struct mpk_code_info member = { 0 };

		if (mpk_file_format_of(ar->members[i].data) != MPK_FILE_ELF)
			continue;
		member.bytes = ar->members[i].data;
		member.format = &mpk_format_elf;
		MPK_TRY(mpk_disasm_device(j, path, &member));
	}
	return MPK_OK;
}

static enum mpk_code module(struct mpk_disasm_job *j, size_t index)
{
	const struct mpk_view_node *n = &j->view->nodes[index];
	const struct mpk_kernels *table = mpk_view_kernels(n);
	const struct mpk_node_info *info;

	if (n->node->is_lib)
		return host_code(j, n->path);
	if (n->decoded)
		MPK_TRY(bytecode(j, n));
	MPK_TRY(mpk_view_info(j->view, index, &info, j->err));
	for (size_t i = 0; i < info->piece_count; i++) {
		const struct mpk_code_info *code = &info->pieces[i].code;

		if (info->pieces[i].key && !is_wanted(j, *info->pieces[i].key))
			continue;
		if (code->format == &mpk_format_archive && !code->problem)
			MPK_TRY(library(j, n->path, code));
		else
			MPK_TRY(mpk_disasm_device(j, n->path, code));
	}
	for (size_t i = 0; table && i < table->function_count; i++)
		mpk_part_names_add(&j->names, table->functions[i].key);
	return MPK_OK;
}

static bool has_host_node(const struct mpk_view *view)
{
	for (size_t i = 0; i < view->count; i++)
		if (view->nodes[i].node->is_lib)
			return true;
	return false;
}

static enum mpk_code modules(struct mpk_disasm_job *j)
{
	if (!j->wanted.path.len && !has_host_node(j->view))
		MPK_TRY(host_code(j, ""));
	for (size_t i = 0; i < j->view->count; i++)
		if (is_here(j, j->view->nodes[i].path))
			MPK_TRY(module(j, i));
	for (size_t i = 0; i < j->view->image->embedded_count; i++) {
		const struct mpk_view_code *c = &j->view->embedded[i];

		if (!is_here(j, c->path))
			continue;
		MPK_TRY(mpk_disasm_device(j, c->path, &c->code));
		mpk_part_names_add_code(&j->names, &c->code);
	}
	return mpk_disasm_devices(j);
}

static const char *host_path(const struct mpk_view *view)
{
	for (size_t i = 0; i < view->count; i++)
		if (view->nodes[i].node->is_lib)
			return view->nodes[i].path;
	return "";
}

static enum mpk_code disassemble(struct mpk_disasm_job *j, const char *text)
{
	const struct mpk_image *image = j->view->image;
	struct mpk_part_place place;

	if (!text && image->function_count && has_machine_code(image))
		return host_code(j, host_path(j->view));
	if (j->wanted.path.len)
		MPK_TRY(mpk_part_place(j->view, j->wanted.path, &place, j->err));
	MPK_TRY(modules(j));
	if (j->found)
		return MPK_OK;
	if (j->wanted.name.len)
		return mpk_part_miss(j->view, &j->names, j->wanted, false, j->err);
	return mpk_fail(j->err, MPK_E_UNSUPPORTED,
			text ? "this module holds no code" : "there is no code in this file");
}

enum mpk_code mpk_view_disasm(const struct mpk_view *view, const char *text, struct mpk_disasm *d,
			      const struct mpk_disasm_sink *sink, struct mpk_error *err)
{
	struct mpk_disasm_job j = {
		.view = view, .d = d, .sink = sink, .arena = view->arena, .err = err
	};
	enum mpk_code code;

	if (text)
		j.wanted = mpk_part_split(text);
	code = disassemble(&j, text);
	mpk_part_names_fini(&j.names);
	if (code == MPK_OK && j.failure != MPK_OK) {
		if (err)
			*err = j.error;
		return mpk_failed(j.failure);
	}
	return code;
}
