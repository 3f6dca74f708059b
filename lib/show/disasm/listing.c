/* SPDX-License-Identifier: Apache-2.0 */
/* listing.c - --disasm: finds what a name means, and lists it
 *
 * A name may mean several things: a function of byte code and the host function that it calls, or a
 * kernel in several images. All are listed, modules in the order of the tree. */
#include "disasm/internal/job.h"

#include <stdlib.h>
#include <string.h>

#include "ar/ar.h"
#include "base/strmap.h"
#include "elf/foreign.h"
#include "model/device_code.h"
#include "model/node_info.h"
#include "text/escape.h"

enum { NAMES_MOST = 20000 }; /* maximum number of symbols searched for "did you mean" */

static bool listing_is_here(const struct mpk_disasm_job *j, const char *path)
{
	return !j->wanted.path.len || mpk_span_is(j->wanted.path, path);
}

static bool is_wanted(const struct mpk_disasm_job *j, struct mpk_span name)
{
	return !j->wanted.name.len || mpk_span_equal(j->wanted.name, name);
}

/* --- host code ------------------------------------------------------------------------------------ */

/* The files that contain host functions: for an archive its members, each opened once; then the
 * image itself. */
struct host {
	const char *path;
	struct mpk_code_file **files; /* member_count + 1 files; NULL: not open yet */
	size_t count;
	struct mpk_strmap by_member;
	uint64_t line_budget; /* shared by all files */
};

static void host_fini(struct host *h)
{
	for (size_t i = 0; i < h->count; i++)
		if (h->files[i])
			mpk_code_file_close(h->files[i]);
	mpk_strmap_fini(&h->by_member);
}

/* Members are found by name with a hash table, as an archive may have thousands of them. */
static enum mpk_code host_init(struct mpk_disasm_job *j, struct host *h)
{
	const struct mpk_image *image = j->view->image;

	h->line_budget = MPK_CODE_LINE_BYTES;
	h->files = mpk_arena_array(j->view->arena, image->member_count + 1,
				   sizeof(struct mpk_code_file *));
	MPK_TRY_ALLOC(h->files, j->err);
	h->count = image->member_count + 1;
	for (size_t i = 0; i < image->member_count; i++)
		MPK_TRY_ALLOC(mpk_strmap_put(&h->by_member, mpk_span_str(image->members[i]), i,
					     NULL) >= 0,
			      j->err);
	return MPK_OK;
}

/* Returns the file that contains a function: a member of the archive, or the image itself. Each
 * file is opened once for all its functions. */
static enum mpk_code open_host(struct mpk_disasm_job *j, struct host *h, const char *member,
			       struct mpk_code_file **out)
{
	const struct mpk_image *image = j->view->image;
	struct mpk_span bytes = image->bytes;
	enum mpk_file_format format = image->format;
	size_t at = image->member_count;

	if (member && mpk_strmap_find(&h->by_member, mpk_span_str(member), &at)) {
		bytes = image->member_bytes[at];
		format = mpk_file_format_of(bytes);
	}
	*out = h->files[at];
	if (*out)
		return MPK_OK;
	*out = mpk_arena_alloc(j->view->arena, sizeof **out);
	MPK_TRY_ALLOC(*out, j->err);
	h->files[at] = *out;
	return mpk_code_file_open(bytes, format, j->view->arena, *out, j->err);
}

/* Lists a function. The budget limits the source lines, since many functions may read the same
 * ones. */
static enum mpk_code listing_put_function(struct mpk_disasm_job *j, struct host *h,
					  struct mpk_code_file *file, struct mpk_span name,
					  const struct mpk_code_function *found)
{
	enum mpk_code code;

	/* the shared budget moves along with the current file */
	file->line_budget = h->line_budget;
	code = mpk_disasm_function(j, h->path, name, j->view->image->machine_name, file, found,
				   NULL);
	h->line_budget = file->line_budget;
	return code;
}

/* Reports a symbol whose bytes are elsewhere, such as a descriptor of big-endian PowerPC. */
static enum mpk_code no_code(struct mpk_disasm_job *j, struct mpk_span name)
{
	struct mpk_error err = { 0 };
	enum mpk_code code =
		mpk_fail(&err, MPK_E_UNSUPPORTED,
			 "the symbol of '%s' does not lead to code in this file", MPK_QUOTE(name));

	return mpk_disasm_note(j, code, &err);
}

static bool is_function_wanted(const struct mpk_disasm_job *j, struct mpk_span name,
			       const char *symbol)
{
	size_t at;

	return j->only ? mpk_strmap_find(j->only, name, &at)
		       : is_wanted(j, name) || mpk_span_is(j->wanted.name, symbol);
}

/* Lists exported functions, by the name that users know or by symbol.
 * An alias has no code of its own. */
static enum mpk_code exported(struct mpk_disasm_job *j, struct host *h)
{
	const struct mpk_image *image = j->view->image;
	struct mpk_code_function found;
	struct mpk_code_file *file;

	for (size_t i = 0; i < image->function_count; i++) {
		const struct mpk_image_function *f = &image->functions[i];
		struct mpk_span name = mpk_span_str(f->name);

		if (!j->only)
			mpk_part_names_add(&j->names, name);
		if (f->alias_of || !is_function_wanted(j, name, f->symbol))
			continue;
		MPK_TRY(open_host(j, h, f->member, &file));
		MPK_TRY(mpk_code_file_find(file, f->symbol, &found)
				? listing_put_function(j, h, file, name, &found)
				: no_code(j, name));
	}
	return MPK_OK;
}

/* Lists a local function by its symbol. */
static enum mpk_code internal(struct mpk_disasm_job *j, struct host *h)
{
	const char *symbol = mpk_arena_text(j->view->arena, j->wanted.name);
	struct mpk_code_function found;
	struct mpk_code_file *file;
	struct mpk_span *names;
	size_t count;

	MPK_TRY_ALLOC(symbol, j->err);
	MPK_TRY(open_host(j, h, NULL, &file));
	if (mpk_code_file_find(file, symbol, &found))
		return listing_put_function(j, h, file, j->wanted.name, &found);
	/* no such function: offer symbols with similar spelling */
	MPK_TRY_ARRAY(names, j->view->arena, NAMES_MOST, j->err);
	count = mpk_code_file_symbols(file, names, NAMES_MOST);
	for (size_t i = 0; i < count; i++)
		mpk_part_names_add(&j->names, names[i]);
	return MPK_OK;
}

/* A bare blob has no host code, nor has a file of GPU code, and C source is not compiled yet. */
static bool has_machine_code(const struct mpk_image *image)
{
	return image->format != MPK_FILE_BLOB && image->format != MPK_FILE_C &&
	       image->format != MPK_FILE_DEVICE;
}

enum mpk_code mpk_disasm_host(struct mpk_disasm_job *j)
{
	MPK_CLEANUP(host_fini) struct host h = { .path = "" };

	if (!has_machine_code(j->view->image))
		return MPK_OK;
	MPK_TRY(host_init(j, &h));
	MPK_TRY(exported(j, &h));
	for (size_t i = 0; i < j->inner_count; i++) {
		j->wanted.name = j->inner[i];
		MPK_TRY(internal(j, &h));
	}
	return MPK_OK;
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

		/* the name may still be a kernel's */
		return j->wanted.name.len ? MPK_OK : mpk_disasm_note(j, code, &err);
	}
	if (!has_machine_code(j->view->image))
		return MPK_OK;
	MPK_TRY(host_init(j, &h));
	MPK_TRY(exported(j, &h));
	/* local symbols come last: a name should mean what can be called */
	return j->found == before && j->wanted.name.len ? internal(j, &h) : MPK_OK;
}

/* --- modules ------------------------------------------------------------------------------------------ */

/* @index   index of the function; MPK_ALL_FUNCTIONS with an empty name means all of them */
static enum mpk_code put_bytecode(struct mpk_disasm_job *j, const struct mpk_view_node *n,
				  struct mpk_span name, size_t index)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };

	mpk_view_row(n)->disasm(n->payload, index, &text);
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
	const struct mpk_payload_view *row = mpk_view_row(n);
	struct mpk_payload_function f;

	if (!row->function)
		return MPK_OK;
	if (!j->wanted.name.len)
		return put_bytecode(j, n, (struct mpk_span){ 0 }, MPK_ALL_FUNCTIONS);
	for (size_t i = 0; row->function(n->payload, i, &f); i++) {
		/* imported functions are in the host code or in the virtual machine */
		if (f.kind == MPK_FUNCTION_IMPORTED)
			continue;
		mpk_part_names_add(&j->names, f.name);
		if (is_wanted(j, f.name))
			return put_bytecode(j, n, f.name, i);
	}
	return MPK_OK;
}

/* Lists the objects of a static library that was packed as a module. */
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

/* Lists a module. The library's own module has host code; others have byte code, device code or
 * objects. */
static enum mpk_code module(struct mpk_disasm_job *j, size_t index)
{
	const struct mpk_view_node *n = &j->view->nodes[index];
	const struct mpk_kernels *table = mpk_view_kernels(n);
	const struct mpk_node_info *info;

	if (n->node->is_lib)
		return host_code(j, n->path);
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

/* GPU code of any library is read one container at a time, and freed before the next. */
static enum mpk_code disasm_container(struct mpk_disasm_job *j, const struct mpk_image_device *d)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	const char *path = mpk_device_path(d, &scratch);
	struct mpk_view_code c;
	enum mpk_code status;

	MPK_TRY_ALLOC(path, j->err);
	if (j->wanted.path.len && !mpk_span_is(j->wanted.path, path))
		return MPK_OK;
	MPK_TRY(mpk_device_container(d, &scratch, &c, j->err));
	j->arena = &scratch;
	/* names for "did you mean" are printed at the end, when this container has been freed */
	j->names.keep = j->view->arena;
	status = mpk_disasm_device(j, c.path, &c.code);
	mpk_part_names_add_code(&j->names, &c.code);
	j->names.keep = NULL;
	j->arena = j->view->arena;
	return status;
}

static bool has_host_node(const struct mpk_view *view)
{
	for (size_t i = 0; i < view->count; i++)
		if (view->nodes[i].node->is_lib)
			return true;
	return false;
}

/* Lists in the order of the output: the tree, code outside it, GPU code of any library. */
static enum mpk_code modules(struct mpk_disasm_job *j)
{
	/* a library without a blob has host code but no module for it */
	if (!j->wanted.path.len && !has_host_node(j->view))
		MPK_TRY(host_code(j, ""));
	for (size_t i = 0; i < j->view->count; i++)
		if (listing_is_here(j, j->view->nodes[i].path))
			MPK_TRY(module(j, i));
	for (size_t i = 0; i < j->view->image->embedded_count; i++) {
		const struct mpk_view_code *c = &j->view->embedded[i];

		if (!listing_is_here(j, c->path))
			continue;
		MPK_TRY(mpk_disasm_device(j, c->path, &c->code));
		mpk_part_names_add_code(&j->names, &c->code);
	}
	for (size_t i = 0; i < j->view->image->device_count; i++)
		MPK_TRY(disasm_container(j, &j->view->image->devices[i]));
	return MPK_OK;
}

/* Returns the path of the module under which host code is listed; "" if there is none. */
static const char *host_path(const struct mpk_view *view)
{
	for (size_t i = 0; i < view->count; i++)
		if (view->nodes[i].node->is_lib)
			return view->nodes[i].path;
	return "";
}

/* If the user names nothing, host functions are listed; without host functions, modules and
 * kernels. */
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

/* After all listings: if nothing was listed, the first failure is the result. */
static enum mpk_code end_job(struct mpk_disasm_job *j, enum mpk_code code)
{
	mpk_part_names_fini(&j->names);
	if (code != MPK_OK || j->failure == MPK_OK)
		return code;
	if (j->err)
		*j->err = j->error;
	return mpk_failed(j->failure);
}

enum mpk_code mpk_view_disasm(const struct mpk_view *view, const char *text, struct mpk_disasm *d,
			      const struct mpk_disasm_sink *sink, struct mpk_error *err)
{
	struct mpk_disasm_job j = {
		.view = view, .d = d, .sink = sink, .arena = view->arena, .err = err
	};

	if (text)
		j.wanted = mpk_part_split(text);
	return end_job(&j, disassemble(&j, text));
}

enum mpk_code mpk_view_disasm_container(const struct mpk_view *view,
					const struct mpk_image_device *container,
					struct mpk_disasm *d, const struct mpk_disasm_sink *sink,
					struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	struct mpk_disasm_job j = {
		.view = view, .d = d, .sink = sink, .arena = view->arena, .err = err
	};
	const char *path = mpk_device_path(container, &scratch);
	enum mpk_code code;

	MPK_TRY_ALLOC(path, err);
	j.wanted = mpk_part_split(path);
	code = disasm_container(&j, container);
	if (code == MPK_OK && !j.found)
		code = mpk_fail(err, MPK_E_UNSUPPORTED, "this module holds no code");
	return end_job(&j, code);
}
