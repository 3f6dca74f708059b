/* SPDX-License-Identifier: Apache-2.0 */
/* Compares two files by meaning: the things in two lists are matched by name, so the order does not
 * matter, and each kind of thing has its own comparison.
 * Bytes are compared only if nothing else differs. */
#include "diff/diff.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "compare/compare.h"
#include "diff/internal/compare.h"
#include "model/device_code.h"
#include "model/node_info.h"
#include "text/escape.h"
#include "text/phrase.h"

/* A module and the file that contains it. */
struct node {
	const struct mpk_view *view;
	const struct mpk_view_node *node;
	size_t index;
};

/* --- parts of payloads -------------------------------------------------------------- */

/* A part of a payload, and its code if it was read as code. */
struct part {
	const struct mpk_extracted_file *file;
	const struct mpk_code_info *code; /* NULL if the part is not code */
};

static struct mpk_span part_name(const void *item)
{
	const struct part *p = item;

	return mpk_span_str(p->file->name);
}

/* A listing generated from the payload is not stored, so it has no size. */
static uint64_t part_bytes(const void *item)
{
	const struct part *p = item;

	return p->file->stored ? p->file->data.len : 0;
}

/* A listing generated from the payload is not stored, so its bytes are not compared. */
static struct mpk_diff_code_side code_side(const struct part *p)
{
	return (struct mpk_diff_code_side){ p->file->data, p->code,
					    !p->file->stored &&
						    strcmp(p->file->name, "bytecode.txt") == 0 };
}

/* graph.json is compared elsewhere, node by node. */
static void compare_parts(struct mpk_differ *d, struct mpk_span name, const void *a, const void *b)
{
	if (!mpk_span_is(name, "graph.json"))
		mpk_diff_code(d, "part", name, code_side(a), code_side(b));
}

/* Returns the name in the payload if there is one: the part's file name may have been altered to be
 * valid in a file system. */
static struct mpk_span tensor_name(const void *item)
{
	const struct part *p = item;

	return p->file->title.len ? p->file->title : mpk_span_str(p->file->name);
}

static void compare_tensors(struct mpk_differ *d, struct mpk_span name, const void *a,
			    const void *b)
{
	const struct part *x = a, *y = b;

	mpk_differ_tensors(d, name, x->file->tensor, y->file->tensor);
}

/* Finds the code that was read from a part by its address: parts and code are views of one
 * payload. */
static const struct mpk_code_info *diff_code_of(const struct mpk_node_info *info,
						struct mpk_span bytes)
{
	for (size_t i = 0; i < info->piece_count; i++)
		if (info->pieces[i].code.bytes.data == bytes.data &&
		    info->pieces[i].code.bytes.len == bytes.len)
			return &info->pieces[i].code;
	return NULL;
}

/* The parts of a module, with its tensors in a separate list. */
struct parts {
	struct part *items, *tensors;
	size_t count, tensor_count;
};

/* Tensors are listed separately, since a model has thousands of them and they are compared by
 * value. */
static struct parts parts_of(struct mpk_differ *d, const struct node *n)
{
	struct mpk_extracted_files files = { 0 };
	const struct mpk_node_info *info;
	struct parts p = { 0 };

	if (mpk_payload_parts(n->node->payload, d->arena, &files, NULL) != MPK_OK ||
	    mpk_view_info(n->view, n->index, &info, NULL) != MPK_OK) {
		d->diff->failed = true;
		return p;
	}
	p.items = mpk_arena_array(d->arena, files.count, sizeof *p.items);
	p.tensors = mpk_arena_array(d->arena, files.count, sizeof *p.tensors);
	d->diff->failed |= !p.items || !p.tensors;
	for (size_t i = 0; p.items && p.tensors && i < files.count; i++) {
		struct part part = { &files.items[i], diff_code_of(info, files.items[i].data) };

		if (part.file->tensor)
			p.tensors[p.tensor_count++] = part;
		else
			p.items[p.count++] = part;
	}
	return p;
}

/* --- kernels and functions of modules -------------------------------------------------- */

/* Compares the entries of a kernel table: arguments and launch tags. mpk_diff_kernels compares
 * registers and machine code. */
static void diff_compare_kernels(struct mpk_differ *d, struct mpk_span name, const void *a,
				 const void *b)
{
	struct mpk_strbuf x = { 0 }, y = { 0 };

	mpk_view_kernel_text(a, true, &x);
	mpk_view_kernel_text(b, true, &y);
	(void)mpk_differ_texts(d, "kernel", name, &x, &y);
}

static void compare_models(struct mpk_differ *d, struct mpk_span name, const void *a, const void *b)
{
	struct mpk_strbuf x = { 0 }, y = { 0 };

	mpk_signature_text(a, &x);
	mpk_signature_text(b, &y);
	(void)mpk_differ_texts(d, "model function", name, &x, &y);
}

/* The order leads from the caller's view to the compiler's: kernels, functions, structure, then
 * files. A payload is compared only with one of its own kind. */
static void compare_payloads(struct mpk_differ *d, const struct node *a, const struct node *b)
{
	static const struct mpk_diff_thing kernel = { .what = "kernel",
						      .bytes = sizeof(struct mpk_function_info),
						      .name_at = offsetof(struct mpk_function_info,
									  key),
						      .compare = diff_compare_kernels };
	static const struct mpk_diff_thing model = { .what = "model function",
						     .bytes = sizeof(struct mpk_signature),
						     .name_at =
							     offsetof(struct mpk_signature, name),
						     .compare = compare_models };
	static const struct mpk_diff_thing part = { .what = "part",
						    .bytes = sizeof(struct part),
						    .name = part_name,
						    .compare = compare_parts,
						    .bytes_of = part_bytes };
	static const struct mpk_diff_thing tensor = { .what = "tensor",
						      .bytes = sizeof(struct part),
						      .name = tensor_name,
						      .compare = compare_tensors,
						      .bytes_of = part_bytes };
	const struct mpk_kernels *x = mpk_view_kernels(a->node), *y = mpk_view_kernels(b->node);
	const struct mpk_models *m = &a->node->models, *n = &b->node->models;
	const struct mpk_payload_view *row = mpk_view_row(a->node);
	struct mpk_payload_content content = mpk_view_content(a->node);
	struct mpk_payload_content other = mpk_view_content(b->node);
	struct parts p = parts_of(d, a), q = parts_of(d, b);
	size_t first = d->diff->count;

	mpk_differ_match(d, &kernel, x ? x->functions : NULL, x ? x->function_count : 0,
			 y ? y->functions : NULL, y ? y->function_count : 0);
	/* the kernel table has no figures; they are read from the machine code */
	mpk_diff_kernels(d, MPK_KERNELS_OF_NODE, a->view, a->index, b->view, b->index, first);
	mpk_differ_match(d, &model, m->items, m->count, n->items, n->count);
	if (row->diff && row == mpk_view_row(b->node))
		row->diff(d, &content, &other);
	mpk_differ_match(d, &part, p.items, p.count, q.items, q.count);
	mpk_differ_match(d, &tensor, p.tensors, p.tensor_count, q.tensors, q.tensor_count);
}

/* --- modules ---------------------------------------------------------------------------- */

/* @same    kind and payload are known to be equal */
static void compare_nodes(struct mpk_differ *d, const struct node *x, const struct node *y,
			  bool same)
{
	const struct mpk_view_node *a = x->node, *b = y->node;
	size_t before;

	d->path = a->path;
	d->new_path = strcmp(a->path, b->path) == 0 ? "" : b->path;
	same = same || mpk_span_equal(a->node->payload, b->node->payload);
	if (d->new_path[0])
		(void)mpk_differ_change(
			d, "module", a->node->kind, "moved%s",
			same && a->node->child_count == b->node->child_count ? ", unchanged" : "");
	before = d->diff->count;
	if (!mpk_span_equal(a->node->kind, b->node->kind)) {
		(void)mpk_differ_change(d, "module", (struct mpk_span){ 0 }, "%s -> %s",
					MPK_QUOTE(a->node->kind), MPK_QUOTE(b->node->kind));
		return;
	}
	if (a->node->child_count != b->node->child_count)
		(void)mpk_differ_change(d, "imports", (struct mpk_span){ 0 }, "%zu -> %zu",
					a->node->child_count, b->node->child_count);
	if (same)
		return;
	if (a->decoded && b->decoded)
		compare_payloads(d, x, y);
	if (d->diff->count == before)
		mpk_differ_note_bytes(mpk_differ_bytes(d, "payload", (struct mpk_span){ 0 },
						       a->node->payload, b->node->payload),
				      a->node->payload.len, b->node->payload.len);
}

static void compare_trees(struct mpk_differ *d, const struct mpk_view *a, const struct mpk_view *b)
{
	struct mpk_module_match match;

	if (mpk_match_modules(a, b, d->arena, &match, NULL) != MPK_OK) {
		d->diff->failed = true;
		return;
	}
	for (size_t i = 0; i < a->count; i++) {
		size_t k = match.partner[i];
		struct node x = { a, &a->nodes[i], i };

		if (k != MPK_NO_MODULE) {
			compare_nodes(d, &x, &(struct node){ b, &b->nodes[k], k }, match.same[i]);
			d->new_path = "";
		} else {
			d->path = a->nodes[i].path;
			mpk_differ_note_bytes(mpk_differ_add(d, MPK_DIFF_REMOVED, "module",
							     (struct mpk_span){ 0 }, ""),
					      a->nodes[i].node->payload.len, 0);
		}
	}
	for (size_t k = 0; k < b->count; k++) {
		d->path = b->nodes[k].path;
		if (match.owner[k] == MPK_NO_MODULE)
			mpk_differ_note_bytes(mpk_differ_add(d, MPK_DIFF_ADDED, "module",
							     (struct mpk_span){ 0 }, ""),
					      0, b->nodes[k].node->payload.len);
	}
}

/* --- code beside the tree ------------------------------------------------------------- */

struct code {
	const struct mpk_view *view;
	const struct mpk_view_code *code;
	size_t index;
};

static struct mpk_span code_path(const void *item)
{
	const struct code *c = item;

	return mpk_span_str(c->code->path);
}

static void compare_code_kernels(struct mpk_differ *d, const struct code *a, const struct code *b)
{
	static const struct mpk_diff_thing kernel = { .what = "kernel",
						      .bytes = sizeof(struct mpk_code_kernel),
						      .name_at = offsetof(struct mpk_code_kernel,
									  name) };
	const struct mpk_code_info *x = mpk_view_embedded_lister(a->code);
	const struct mpk_code_info *y = mpk_view_embedded_lister(b->code);
	size_t first = d->diff->count;

	if (x && y)
		mpk_differ_match(d, &kernel, x->kernels, x->kernel_count, y->kernels,
				 y->kernel_count);
	mpk_diff_kernels(d, MPK_KERNELS_OF_EMBEDDED, a->view, a->index, b->view, b->index, first);
}

static void compare_codes(struct mpk_differ *d, struct mpk_span path, const void *left,
			  const void *right)
{
	const struct code *x = left, *y = right;
	const struct mpk_view_code *a = x->code, *b = y->code;
	size_t before = d->diff->count;

	(void)path;
	d->path = a->path;
	if (mpk_span_equal(a->at->bytes, b->at->bytes))
		return;
	if (a->code.format != b->code.format)
		mpk_differ_words(d, "code", a->code.format->name, b->code.format->name);
	else
		mpk_diff_code(d, "code", (struct mpk_span){ 0 },
			      (struct mpk_diff_code_side){ a->at->bytes, &a->code, false },
			      (struct mpk_diff_code_side){ b->at->bytes, &b->code, false });
	compare_code_kernels(d, x, y);
	if (d->diff->count == before)
		(void)mpk_differ_bytes(d, "code", (struct mpk_span){ 0 }, a->at->bytes,
				       b->at->bytes);
}

static const struct code *codes_of(struct mpk_differ *d, const struct mpk_view *view)
{
	struct code *list = mpk_arena_array(d->arena, view->image->embedded_count, sizeof *list);

	d->diff->failed |= !list;
	for (size_t i = 0; list && i < view->image->embedded_count; i++)
		list[i] = (struct code){ view, &view->embedded[i], i };
	return list;
}

static void compare_embedded(struct mpk_differ *d, const struct mpk_view *a,
			     const struct mpk_view *b)
{
	static const struct mpk_diff_thing code = { .what = "code",
						    .bytes = sizeof(struct code),
						    .name = code_path,
						    .compare = compare_codes,
						    .is_place = true };
	const struct code *x = codes_of(d, a), *y = codes_of(d, b);

	if (x && y)
		mpk_differ_match(d, &code, x, a->image->embedded_count, y,
				 b->image->embedded_count);
	d->path = "";
}

/* --- sections ----------------------------------------------------------------------------- */

struct section_names {
	struct mpk_span *items;
	size_t count;
};

/* Whether a section has no effect on a running program, so that it may differ. */
static bool is_beside_code(const char *name)
{
	static const char *const beginnings[] = { ".note",      ".comment",   ".debug",
						  ".zdebug",    ".symtab",    ".strtab",
						  ".shstrtab",  ".gnu_debug", ".gnu.build",
						  ".rela.debug" };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(beginnings); i++)
		if (strncmp(name, beginnings[i], strlen(beginnings[i])) == 0)
			return true;
	return false;
}

/* A section of type SHT_NOBITS (.bss) has a size but no bytes in the file (ELF gABI, Sections): its
 * offset must not be read. */
static bool section_bytes(const struct mpk_elf *e, size_t i, struct mpk_span *out)
{
	GElf_Shdr h;

	if (mpk_elf_section(e, i, &h, NULL) != MPK_OK)
		return false;
	if (h.sh_type == SHT_NOBITS)
		*out = mpk_span_of(NULL, 0);
	else if (!mpk_span_sub(e->bytes, h.sh_offset, h.sh_size, out))
		return false;
	return true;
}

/* Lists the sections that differ. Returns false if the files do not have the same number of
 * sections in the same order. */
static bool differing_sections(struct mpk_differ *d, const struct mpk_elf *a,
			       const struct mpk_elf *b, struct section_names *out, bool *code)
{
	uint64_t left = 4 * (uint64_t)a->bytes.len; /* sections of a hostile file may overlap */
	struct mpk_span x, y;

	out->items = mpk_arena_array(d->arena, a->section_count, sizeof *out->items);
	d->diff->failed |= !out->items;
	if (!out->items || !a->section_count || a->section_count != b->section_count)
		return false;
	for (size_t i = 1; i < a->section_count; i++) {
		const char *name = mpk_elf_section_name(a, i), *other = mpk_elf_section_name(b, i);

		if (!name || !other || strcmp(name, other) != 0 || !section_bytes(a, i, &x) ||
		    !section_bytes(b, i, &y))
			return false;
		if (x.len > left)
			return false;
		left -= x.len;
		if (mpk_span_equal(x, y))
			continue;
		out->items[out->count++] = mpk_span_str(name); /* a name from the file */
		*code |= !is_beside_code(name);
	}
	return out->count > 0;
}

/* The files differ, but not in meaning: names the sections, so that a reader sees whether the
 * difference is a build ID, debug information or something that a program may run. */
static void compare_rest(struct mpk_differ *d, const struct mpk_view *a, struct mpk_span a_bytes,
			 const struct mpk_view *b, struct mpk_span b_bytes)
{
	MPK_CLEANUP(mpk_host_code_close) struct mpk_host_code x = { 0 }, y = { 0 };
	struct mpk_strbuf text = { 0 };
	struct section_names names = { 0 };
	struct mpk_difference *item;
	bool code = false;

	if (mpk_host_code_open(a->image, d->arena, &x, NULL) != MPK_OK ||
	    mpk_host_code_open(b->image, d->arena, &y, NULL) != MPK_OK || !x.elf.elf ||
	    !y.elf.elf || !differing_sections(d, &x.elf, &y.elf, &names, &code)) {
		(void)mpk_differ_bytes(d, "bytes", (struct mpk_span){ 0 }, a_bytes, b_bytes);
		return;
	}
	mpk_strbuf_puts(&text, "in ");
	mpk_put_names(&text, names.items, names.count);
	mpk_strbuf_puts(&text, code ? "" : "; code equal");
	item = mpk_differ_add(d, MPK_DIFF_CHANGED, "bytes", (struct mpk_span){ 0 },
			      mpk_differ_take(d, &text));
	if (item)
		item->same_code = !code;
}

/* --- members of archives ------------------------------------------------------------------- */

struct member {
	struct mpk_span name, bytes;
};

static void compare_member(struct mpk_differ *d, struct mpk_span name, const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	if (mpk_span_equal(x->bytes, y->bytes))
		return;
	mpk_differ_note_bytes(mpk_differ_add(d, MPK_DIFF_CHANGED, "member", name,
					     x->bytes.len == y->bytes.len ? "other bytes" : ""),
			      x->bytes.len, y->bytes.len);
}

static uint64_t member_bytes(const void *item)
{
	return ((const struct member *)item)->bytes.len;
}

static struct member *members_of(struct mpk_differ *d, const struct mpk_image *image)
{
	struct member *out = mpk_arena_array(d->arena, image->member_count + 1, sizeof *out);

	for (size_t i = 0; out && i < image->member_count; i++)
		out[i] = (struct member){ mpk_span_str(image->members[i]), image->member_bytes[i] };
	return out;
}

/* Compares every member of two archives, including members that no other comparison covers. */
static void compare_members(struct mpk_differ *d, const struct mpk_image *a,
			    const struct mpk_image *b)
{
	static const struct mpk_diff_thing thing = { .what = "member",
						     .bytes = sizeof(struct member),
						     .name_at = offsetof(struct member, name),
						     .compare = compare_member,
						     .bytes_of = member_bytes };
	struct member *x, *y;

	if (!a->member_count || !b->member_count)
		return;
	x = members_of(d, a);
	y = members_of(d, b);
	if (x && y)
		mpk_differ_match(d, &thing, x, a->member_count, y, b->member_count);
	d->diff->failed |= !x || !y;
}

/* --- all of it -------------------------------------------------------------------------- */

static struct mpk_diff_side diff_side(const struct mpk_view *view, struct mpk_span bytes)
{
	return (struct mpk_diff_side){
		.name = view->name,
		.bytes = bytes.len,
		.blob_bytes = view->image->has_blob ? mpk_image_blob(view->image).len : 0,
	};
}

static void diff_free(struct mpk_diff *diff)
{
	free(diff->items);
}

enum mpk_code mpk_diff_views(const struct mpk_view *a, struct mpk_span a_bytes,
			     const struct mpk_view *b, struct mpk_span b_bytes,
			     struct mpk_arena *arena, struct mpk_diff *out, struct mpk_error *err)
{
	MPK_CLEANUP(diff_free) struct mpk_diff diff = { 0 }; /* freed unless it is completed */
	struct mpk_differ d = {
		&diff, arena, "", "", MPK_DIFF_LINES_MAX, 4 * (uint64_t)a_bytes.len
	};

	diff = (struct mpk_diff){ .older = diff_side(a, a_bytes), .newer = diff_side(b, b_bytes) };
	if (!mpk_span_equal(a_bytes, b_bytes)) {
		compare_members(&d, a->image, b->image);
		mpk_diff_host(&d, a, b);
		compare_trees(&d, a, b);
		compare_embedded(&d, a, b);
		mpk_diff_devices(&d, a, b);
		if (!diff.count)
			compare_rest(&d, a, a_bytes, b, b_bytes);
	}
	*out = diff;
	out->items = mpk_arena_keep(arena, diff.items, diff.count, sizeof *diff.items);
	return diff.failed || !out->items ? mpk_fail_nomem(err) : MPK_OK;
}
