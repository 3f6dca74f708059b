/* SPDX-License-Identifier: Apache-2.0 */
/* Finds one part of a file. It is first searched in the plan of --extract, so that both give the
 * same bytes under the same names; then among things that the plan does not list: one kernel of
 * several, an image, one function. */
#include "part/part.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "extract/extract.h"
#include "model/device_code.h"
#include "model/kernel_list.h"
#include "model/node_info.h"
#include "sourcecode/sourcecode.h"
#include "text/escape.h"

/* --- parts that --extract has --------------------------------------------------------------- */

struct finder {
	const struct mpk_view *view;
	struct mpk_part_name wanted;
	struct mpk_arena *arena;
	struct mpk_rope *out;
	struct mpk_extract plan;
	size_t next; /* index of the first of its files whose container was not searched */
	struct mpk_extract_file *image; /* image of a container that was found by its target */
	struct mpk_part_names names;    /* existing names, for the error message */
	bool found;
	/* code that has the kernel, but not as text; then its path, and the name by which --show
	 * gives all of it */
	const struct mpk_code_format *whole;
	const char *whole_path, *whole_part;
	struct mpk_error *err;
};

/* Whether a path may match. Without a path all modules are searched, and the first that has the
 * name is taken. */
static bool part_is_here(const struct finder *f, const char *path)
{
	return !f->wanted.path.len || mpk_span_is(f->wanted.path, path);
}

/* Returns "params/w1.npy" of "1-GraphExecutorFactory/params/w1.npy". */
static struct mpk_span inner_name(const struct mpk_extract_file *file)
{
	const char *slash = strchr(file->name, '/');

	return mpk_span_str(slash ? slash + 1 : file->name);
}

/* Removes ".npy" or ".bin", which --extract adds. */
static struct mpk_span without_suffix(struct mpk_span name)
{
	bool has = name.len > 4 && (memcmp(name.data + name.len - 4, ".npy", 4) == 0 ||
				    memcmp(name.data + name.len - 4, ".bin", 4) == 0);

	return mpk_span_of(name.data, name.len - (has ? 4 : 0));
}

/* Returns "w1" of "params/w1": a tensor may be named without its folder. */
static struct mpk_span last_step(struct mpk_span name)
{
	const uint8_t *slash = name.len ? memrchr(name.data, '/', name.len) : NULL;
	size_t skip = slash ? (size_t)(slash + 1 - name.data) : 0;

	return mpk_span_from(name, skip);
}

static bool part_is_named(const struct mpk_extract_file *file, struct mpk_span name)
{
	struct mpk_span inner = inner_name(file);

	if (file->title.len && mpk_span_equal(file->title, name))
		return true;
	if (mpk_span_equal(inner, name) || mpk_span_is(name, file->name))
		return true;
	inner = without_suffix(inner);
	return mpk_span_equal(inner, name) ||
	       (file->tensor && mpk_span_equal(last_step(inner), name));
}

/* Unpacks packed bytes now; they stay as long as the result. */
static enum mpk_code part_put_file(struct finder *f, struct mpk_extract_file *file)
{
	if (file->make)
		MPK_TRY(file->make(f->view, file, f->arena, f->err));
	mpk_rope_put_rope(f->out, &file->content);
	f->found = true;
	return MPK_OK;
}

/* Collects names on the way, for the hint if nothing is found. */
static enum mpk_code find_file(struct finder *f)
{
	for (size_t i = 0; i < f->plan.count && !f->found; i++) {
		struct mpk_extract_file *file = f->plan.files[i];

		if (!part_is_here(f, file->path))
			continue;
		if (part_is_named(file, f->wanted.name))
			MPK_TRY(part_put_file(f, file));
		mpk_part_names_add(&f->names, file->title.len ? file->title : inner_name(file));
	}
	return MPK_OK;
}

/* Ranks the parts that a module without a name may mean: 0 is the best. */
static unsigned rank_of(const struct mpk_extract_file *file)
{
	static const char *const best[] = { "bytecode.txt", "graph.json", "kernels." };
	struct mpk_span name = inner_name(file);

	for (size_t i = 0; i < MPK_ARRAY_COUNT(best); i++)
		if (mpk_span_starts(name, best[i]))
			return 0;
	return mpk_span_is(name, "functions.json") || mpk_span_has(name, "debug.ptx") ? 2 : 1;
}

static enum mpk_code fail_several(const struct finder *f, size_t count)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };
	bool is_device = mpk_device_is_path(f->wanted.path);
	size_t said = 0;

	for (size_t i = 0; i < f->plan.count && said < 3; i++) {
		const struct mpk_extract_file *file = f->plan.files[i];

		if (!part_is_here(f, file->path) || rank_of(file) > 1)
			continue;
		mpk_strbuf_puts(&text, said++ ? ", " : "");
		mpk_strbuf_printf(&text, "%s#%s", MPK_QUOTE(f->wanted.path),
				  MPK_QUOTE(file->title.len ? file->title : inner_name(file)));
	}
	MPK_TRY(mpk_strbuf_status(&text, f->err));
	return mpk_fail(f->err, MPK_E_USAGE,
			"this %s has %zu parts; name one (%s%s), or give --raw for %s",
			is_device ? "container" : "module", count, mpk_strbuf_text(&text),
			said < count ? ", ..." : "", is_device ? "all of it" : "the payload");
}

/* A module with one obvious part needs no name. If several are equally good, the user has to
 * choose; the message lists the first ones. */
static enum mpk_code find_main(struct finder *f)
{
	struct mpk_extract_file *best = NULL;
	size_t count = 0;

	for (size_t i = 0; i < f->plan.count; i++) {
		struct mpk_extract_file *file = f->plan.files[i];

		if (!part_is_here(f, file->path))
			continue;
		count += rank_of(file) == 1;
		if (!best || rank_of(file) < rank_of(best))
			best = file;
	}
	if (best && rank_of(best) == 1 && count > 1)
		return fail_several(f, count);
	/* no file at all: the payload is empty */
	return best ? part_put_file(f, best) : MPK_OK;
}

/* --- parts of parts --------------------------------------------------------------------------- */

/* Compares processor and features, "gfx90a:xnack+"; a name without features matches any. */
static bool is_target(const char *target, struct mpk_span name)
{
	size_t processor = strcspn(target, ":");

	return mpk_span_is(name, target) ||
	       (name.len == processor && memcmp(name.data, target, processor) == 0);
}

bool mpk_part_is_image(const struct mpk_code_info *image, struct mpk_span name)
{
	return image->format && *image->target && is_target(image->target, name);
}

/* Copies a definition as a text of its own, whose last line must end. */
static void part_put_definition(struct finder *f, struct mpk_span text)
{
	mpk_rope_put_view(f->out, text);
	mpk_rope_put_bytes(f->out, mpk_span_str("\n"));
	f->found = true;
}

/* Remembers the first code that has the kernel, but not as text: if nothing better is found, the
 * message names it. */
static void not_as_text(struct finder *f, const struct mpk_code_info *code, const char *path)
{
	if (f->whole)
		return;
	f->whole = code->format;
	f->whole_path = f->whole_part = path;
}

/* Finds a kernel that macros generate, in a text that marks where each kernel's program begins. */
static enum mpk_code find_program(struct finder *f, const struct mpk_code_info *code)
{
	const struct mpk_source_code_piece *pieces;
	size_t count;

	if (!code->format || !code->format->is_source || f->found)
		return MPK_OK;
	MPK_TRY(mpk_source_code_split(code->bytes, f->arena, &pieces, &count, f->err));
	for (size_t i = 0; i < count && !f->found; i++) {
		if (!mpk_span_equal(pieces[i].name, f->wanted.name))
			continue;
		mpk_rope_put_view(f->out, pieces[i].text);
		f->found = true;
	}
	return MPK_OK;
}

/* Looks for the whole container first, then for an image's name, then for a kernel's: the outermost
 * match is the largest. */
static void find_in_code(struct finder *f, const struct mpk_code_info *code, const char *path)
{
	size_t kernel;

	for (size_t i = 0; i < code->image_count && !f->found; i++) {
		if (!mpk_part_is_image(&code->images[i], f->wanted.name))
			continue;
		mpk_rope_put_view(f->out, code->images[i].bytes);
		f->found = true;
	}
	if (!f->found && mpk_code_info_find(code, f->wanted.name, &kernel)) {
		if (code->kernels[kernel].text.len)
			part_put_definition(f, code->kernels[kernel].text);
		else
			not_as_text(f, code, path);
	}
	for (size_t i = 0; i < code->image_count && !f->found; i++)
		find_in_code(f, &code->images[i], path);
}

static void part_put_text(struct finder *f, struct mpk_strbuf *text)
{
	mpk_rope_put_bytes(f->out, mpk_span_of(text->data, text->len));
	f->out->failed |= text->failed;
	f->found = true;
}

/* A function of byte code has no bytes of its own, so its listing is the result. */
static void part_find_function(struct finder *f, const struct mpk_view_node *n)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };
	const struct mpk_payload_view *row = mpk_view_row(n);
	struct mpk_payload_function function;

	for (size_t i = 0; row->function && !f->found && row->function(n->payload, i, &function);
	     i++) {
		mpk_part_names_add(&f->names, function.name);
		if (!mpk_span_equal(function.name, f->wanted.name))
			continue;
		row->disasm(n->payload, i, &text);
		part_put_text(f, &text);
	}
}

/* Handles code that does not list its kernels, or not this one, although the module's table names
 * it. */
static void find_in_table(struct finder *f, const struct mpk_view_node *n,
			  const struct mpk_node_info *info)
{
	const struct mpk_kernels *table = mpk_view_kernels(n);

	for (size_t i = 0; table && i < table->function_count; i++) {
		mpk_part_names_add(&f->names, table->functions[i].key);
		if (info->piece_count && info->pieces[0].code.format &&
		    mpk_span_equal(table->functions[i].key, f->wanted.name))
			not_as_text(f, &info->pieces[0].code, n->path);
	}
}

static enum mpk_code find_inside(struct finder *f)
{
	const struct mpk_view *view = f->view;

	for (size_t i = 0; i < view->count && !f->found; i++) {
		const struct mpk_view_node *n = &view->nodes[i];
		const struct mpk_node_info *info;

		if (!part_is_here(f, n->path))
			continue;
		part_find_function(f, n);
		MPK_TRY(mpk_view_info(view, i, &info, f->err));
		for (size_t k = 0; k < info->piece_count && !f->found; k++) {
			find_in_code(f, &info->pieces[k].code, n->path);
			MPK_TRY(find_program(f, &info->pieces[k].code));
			mpk_part_names_add_code(&f->names, &info->pieces[k].code);
		}
		find_in_table(f, n, info);
	}
	for (size_t i = 0; i < view->image->embedded_count && !f->found; i++) {
		const struct mpk_view_code *c = &view->embedded[i];

		if (!part_is_here(f, c->path))
			continue;
		find_in_code(f, &c->code, c->path);
		mpk_part_names_add_code(&f->names, &c->code);
	}
	return MPK_OK;
}

/* --- GPU code of any library -------------------------------------------------------------------- */

/* Returns the file of --extract for an image of a container; both are visited in file order. */
static struct mpk_extract_file *part_file_of(struct finder *f, size_t container, size_t image)
{
	for (; f->next < f->plan.count; f->next++) {
		struct mpk_extract_file *file = f->plan.files[f->next];

		if (!file->is_device || file->container < container ||
		    (file->container == container && file->image < image))
			continue;
		return file->container == container && file->image == image ? file : NULL;
	}
	return NULL;
}

/* The container is freed afterwards: a text in it is copied, an image is remembered by its file. */
static enum mpk_code find_in_image(struct finder *f, const struct mpk_view_code *c,
				   const struct mpk_code_info *image, struct mpk_extract_file *file)
{
	struct mpk_span text;
	size_t kernel;

	mpk_part_names_add_code(&f->names, image);
	if (mpk_part_is_image(image, f->wanted.name)) {
		f->image = file;
		return MPK_OK;
	}
	if (!mpk_code_info_find(image, f->wanted.name, &kernel))
		return MPK_OK;
	text = image->kernels[kernel].text;
	if (text.len) {
		text.data = mpk_arena_keep(f->arena, text.data, text.len, 1);
		MPK_TRY_ALLOC(text.data, f->err);
		part_put_definition(f, text);
	} else if (!f->whole) {
		not_as_text(f, image, mpk_arena_text(f->arena, mpk_span_str(c->path)));
		f->whole_part = mpk_arena_printf(f->arena, "%s#%.*s", c->path,
						 MPK_SPAN_ARG(inner_name(file)));
		MPK_TRY_ALLOC(f->whole_path && f->whole_part, f->err);
	}
	return MPK_OK;
}

static enum mpk_code find_in_container(struct finder *f, size_t index)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	const struct mpk_image_device *d = &f->view->image->devices[index];
	const char *path = mpk_device_path(d, &scratch);
	struct mpk_view_code c;
	size_t count;

	MPK_TRY_ALLOC(path, f->err);
	if (!part_is_here(f, path))
		return MPK_OK;
	MPK_TRY(mpk_device_container(d, &scratch, &c, f->err));
	count = c.code.image_count;
	for (size_t i = 0; i < (count ? count : 1) && !f->found && !f->image; i++) {
		struct mpk_extract_file *file = part_file_of(f, index, i);

		if (file)
			MPK_TRY(find_in_image(f, &c, count ? &c.code.images[i] : &c.code, file));
	}
	return MPK_OK;
}

static enum mpk_code find_in_devices(struct finder *f)
{
	enum mpk_code code = MPK_OK;

	f->names.keep = f->arena;
	for (size_t i = 0; i < f->view->image->device_count && code == MPK_OK; i++) {
		code = find_in_container(f, i);
		if (f->found || f->image)
			break;
	}
	f->names.keep = NULL;
	/* only now, so that the unpacked bytes are not in memory twice */
	return code == MPK_OK && f->image ? part_put_file(f, f->image) : code;
}

static enum mpk_code find_name(struct finder *f)
{
	MPK_TRY(find_file(f));
	if (!f->found)
		MPK_TRY(find_inside(f));
	if (!f->found)
		MPK_TRY(find_in_devices(f));
	if (f->found)
		return MPK_OK;
	if (f->whole)
		return mpk_fail(
			f->err, MPK_E_UNSUPPORTED,
			"a kernel cannot be cut out of %s: show %s gives all of it, disasm %s#%s what the kernel does",
			f->whole->name, f->whole_part, f->whole_path, MPK_QUOTE(f->wanted.name));
	return mpk_part_miss(f->view, &f->names, f->wanted, true, f->err);
}

static enum mpk_code find_raw(struct finder *f)
{
	struct mpk_part_place place;

	if (f->wanted.name.len)
		return mpk_fail(f->err, MPK_E_USAGE,
				"--raw gives a whole payload; give it a path without a name");
	MPK_TRY(mpk_part_place(f->view, f->wanted.path, &place, f->err));
	mpk_rope_put_view(f->out, place.node       ? place.node->node->payload
				  : place.embedded ? place.embedded->at->bytes
						   : place.device->bytes);
	return MPK_OK;
}

static enum mpk_code part_find(struct finder *f, bool raw)
{
	struct mpk_part_place place;

	if (raw)
		return find_raw(f);
	if (f->wanted.path.len)
		MPK_TRY(mpk_part_place(f->view, f->wanted.path, &place, f->err));
	MPK_TRY(mpk_extract_plan(f->view, f->wanted.path, f->arena, &f->plan, f->err));
	return f->wanted.name.len ? find_name(f) : find_main(f);
}

/* "conv:0" may be a tensor or code in a section "conv"; it is code if such a section has code. */
static struct mpk_part_name split_for(const struct mpk_view *view, const char *text)
{
	struct mpk_part_name n = mpk_part_split(text);
	const char *colon = strrchr(text, ':');

	if (!n.path.len || n.name.len || !colon || strchr("./_", *text) || strchr(text, '#') ||
	    !mpk_device_is_path(n.path))
		return n;
	for (size_t i = 0; i < view->image->device_count; i++)
		if (mpk_span_is(mpk_span_of(text, (size_t)(colon - text)),
				view->image->devices[i].section))
			return n;
	return (struct mpk_part_name){ .name = n.path };
}

enum mpk_code mpk_part_find(const struct mpk_view *view, const char *text, bool raw,
			    struct mpk_arena *arena, struct mpk_rope *out, struct mpk_error *err)
{
	struct mpk_rope content = { .arena = arena };
	struct finder f = { .view = view,
			    .wanted = split_for(view, text),
			    .arena = arena,
			    .out = &content,
			    .err = err };

	if (!f.wanted.path.len && !f.wanted.name.len)
		return mpk_fail(err, MPK_E_USAGE,
				"a path such as /0/1 is wanted, with or without #NAME");
	enum mpk_code code = part_find(&f, raw);

	mpk_part_names_fini(&f.names);
	MPK_TRY(code);
	MPK_TRY(mpk_rope_status(&content, err));
	*out = content;
	return MPK_OK;
}
