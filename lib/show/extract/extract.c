/* SPDX-License-Identifier: Apache-2.0 */
/* extract.c - plans the files that --extract writes, and their contents
 *
 * The plan is made before any file is written, so that names are known to be unique, and --show
 * finds a part under the name that --extract gives it. Packed images are unpacked only when their
 * file is written. */
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "extract/extract.h"
#include "model/device_code.h"
#include "npy/npy.h"
#include "text/facts.h"

/* Makes a device name usable in a file name: "gfx90a-xnack+". */
static const char *plain(const char *target, struct mpk_arena *arena)
{
	char *name = mpk_arena_text(arena, mpk_span_str(target));

	for (char *at = name; at && *at; at++)
		if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789_+-", *at))
			*at = '-';
	return name;
}

/* Whether bytes are a piece of the file. If not, they were unpacked, and are freed with the
 * container. */
static bool lies_in(struct mpk_span inner, struct mpk_span outer)
{
	return inner.data >= outer.data && inner.data + inner.len <= outer.data + outer.len;
}

/* --- content of an image that is packed --------------------------------------------------- */

/* Unpacks the container again, unless it is kept: the plan keeps no unpacked images, as together
 * they would not fit in memory. */
static enum mpk_code extract_make(const struct mpk_view *view, struct mpk_extract_file *file,
				  struct mpk_arena *arena, struct mpk_error *err)
{
	const struct mpk_view_code *c;

	MPK_TRY(mpk_device_borrow(view, file->container, arena, &c, err));
	if (file->image >= c->code.image_count && c->code.problem) {
		if (err)
			*err = *c->code.problem;
		return mpk_failed(c->code.problem->code);
	}
	if (file->image >= c->code.image_count)
		return mpk_fail(err, MPK_E_INTERNAL, "an image is gone");
	file->content = (struct mpk_rope){ .arena = arena };
	mpk_rope_put_view(&file->content, c->code.images[file->image].bytes);
	return mpk_rope_status(&file->content, err);
}

/* Makes the PTX from which a cubin was compiled: it is in the debug information, where a NUL ends
 * each line, and blank lines give several NULs in a row. */
static enum mpk_code make_ptx(const struct mpk_view *view, struct mpk_extract_file *file,
			      struct mpk_arena *arena, struct mpk_error *err)
{
	const struct mpk_code_info *image;
	const struct mpk_view_code *c;
	size_t len = 0;
	uint8_t *text;

	MPK_TRY(mpk_device_borrow(view, file->container, arena, &c, err));
	image = file->image < c->code.image_count ? &c->code.images[file->image] : &c->code;
	text = mpk_arena_alloc(arena, image->debug_ptx.len + 1);
	MPK_TRY_ALLOC(text, err);
	for (size_t i = 0; i < image->debug_ptx.len; i++)
		if (len || image->debug_ptx.data[i])
			text[len++] = image->debug_ptx.data[i] ? image->debug_ptx.data[i] : '\n';
	file->content = (struct mpk_rope){ .arena = arena };
	mpk_rope_put_view(&file->content, mpk_span_of(text, len));
	return mpk_rope_status(&file->content, err);
}

/* --- the plan ---------------------------------------------------------------------------- */

/* The list of a library's functions as a JSON file. The functions belong to the library, not to a
 * module. All modules of host code share one file, since a hostile file has thousands of such
 * modules. */
struct host {
	struct mpk_arena *arena;
	const struct mpk_extract_file *file; /* in arena; NULL until a module needs it */
};

struct planner {
	const struct mpk_view *view;
	struct mpk_arena *arena;
	struct host *host;
	struct mpk_span path;            /* path of the module to plan; empty means all */
	struct mpk_extract_file **files; /* malloc'ed while it grows; each file is in the arena */
	size_t count, cap;
	struct mpk_error *err;
};

static void planner_fini(struct planner *p)
{
	free(p->files);
}

static bool is_at(const struct planner *p, const char *own)
{
	return !p->path.len || mpk_span_is(p->path, own);
}

/* Adds a file; its rope allocates in the arena. */
static struct mpk_extract_file *extract_add(struct planner *p, const struct mpk_view_node *node,
					    const char *name)
{
	struct mpk_extract_file *file = mpk_arena_alloc(p->arena, sizeof *file);

	if (!name || !file ||
	    !mpk_vec_reserve(&p->files, &p->cap, p->count + 1, sizeof(struct mpk_extract_file *))) {
		(void)mpk_fail_nomem(p->err);
		return NULL;
	}
	*file = (struct mpk_extract_file){ .name = name,
					   .path = node ? node->path : NULL,
					   .content = { .arena = p->arena } };
	if (node)
		file->kind = node->node->kind;
	p->files[p->count++] = file;
	return file;
}

/* A payload that cannot be decoded is written unchanged rather than omitted. */
static enum mpk_code add_raw(struct planner *p, const struct mpk_view_node *n,
			     const char *directory)
{
	struct mpk_extract_file *f =
		extract_add(p, n, mpk_arena_printf(p->arena, "%s/payload.bin", directory));

	if (!f)
		return MPK_E_NOMEM;
	mpk_rope_put_view(&f->content, n->node->payload);
	f->stored = true;
	f->off = n->node->payload_off;
	f->bytes = n->node->payload.len;
	return mpk_rope_status(&f->content, p->err);
}

/* Makes the header of an .npy file for t without a rope of its own, whose spare room would be too
 * much for a hundred thousand tensors. Empty if NumPy has no such type. */
static enum mpk_code make_header(struct planner *p, const struct mpk_tensor_record *t,
				 struct mpk_span *out)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	struct mpk_rope rope = mpk_rope_of(&scratch);
	struct mpk_span made;
	enum mpk_code code;
	const char *kept;

	*out = (struct mpk_span){ 0 };
	code = mpk_npy_write_header(&rope, t->dtype, t->shape, t->ndim, NULL);
	if (code == MPK_E_UNSUPPORTED)
		return MPK_OK;
	MPK_TRY_ALLOC(code == MPK_OK, p->err);
	MPK_TRY(mpk_rope_flat(&rope, &made, p->err));
	kept = mpk_arena_copy(p->arena, made.data, made.len);
	MPK_TRY_ALLOC(kept, p->err);
	*out = mpk_span_of(kept, made.len);
	return MPK_OK;
}

static enum mpk_code extract_add_file(struct planner *p, const struct mpk_view_node *n,
				      const char *directory, const struct mpk_extracted_file *from)
{
	const struct mpk_tensor_record *t = from->tensor;
	struct mpk_span header = { 0 };
	struct mpk_extract_file *f;

	if (t)
		MPK_TRY(make_header(p, t, &header));
	f = extract_add(p, n,
			mpk_arena_printf(p->arena, "%s/%s%s", directory, from->name,
					 header.len ? ".npy"
					 : t        ? ".bin"
						    : ""));
	if (!f)
		return MPK_E_NOMEM;
	if (header.len)
		mpk_rope_put_view(&f->content, header);
	mpk_rope_put_view(&f->content, from->data);
	f->title = from->title;
	f->stored = from->stored;
	f->off = from->off;
	f->bytes = from->data.len;
	f->tensor = t;
	return mpk_rope_status(&f->content, p->err);
}

static enum mpk_code make_host(const struct mpk_image *image, struct mpk_arena *arena,
			       struct mpk_span *out, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };
	MPK_CLEANUP(mpk_json_fini) struct mpk_json j;
	struct mpk_json_at *list;
	const char *kept;

	mpk_json_init(&j, 0);
	list = mpk_json_array(&j, j.root, "functions");
	for (size_t i = 0; i < image->function_count; i++)
		mpk_json_text(&j, list, NULL, image->functions[i].name);
	MPK_TRY(mpk_json_print(&j, &text, err));
	kept = mpk_arena_copy(arena, text.data, text.len);
	MPK_TRY_ALLOC(kept, err);
	*out = mpk_span_of(kept, text.len);
	return MPK_OK;
}

/* The file outlives its module, since the next module of host code uses it too. */
static enum mpk_code add_first_host(struct planner *p, const struct mpk_view_node *n,
				    const char *directory)
{
	struct mpk_arena *arena = p->arena;
	struct mpk_extract_file *f;
	struct mpk_span text;

	p->arena = p->host->arena;
	f = extract_add(p, n, mpk_arena_printf(p->arena, "%s/functions.json", directory));
	p->arena = arena;
	MPK_TRY_ALLOC(f, p->err);
	MPK_TRY(make_host(p->view->image, p->host->arena, &text, p->err));
	mpk_rope_put_view(&f->content, text);
	p->host->file = f;
	return mpk_rope_status(&f->content, p->err);
}

/* Host code cannot be cut out of a library, so a file lists its functions. */
static enum mpk_code add_host(struct planner *p, const struct mpk_view_node *n,
			      const char *directory)
{
	const struct mpk_extract_file *first = p->host->file;
	struct mpk_extract_file *f;

	if (!first)
		return add_first_host(p, n, directory);
	f = extract_add(p, n, first->name);
	MPK_TRY_ALLOC(f, p->err);
	f->content = first->content;
	f->same = first;
	return MPK_OK;
}

/* Plans host code, decoded files, or the raw payload if there are no files. An empty decoded
 * payload gives no file. */
static enum mpk_code plan_node(struct planner *p, size_t index)
{
	const struct mpk_view_node *n = &p->view->nodes[index];
	struct mpk_extracted_files files = { 0 };
	const char *directory;

	if (!is_at(p, n->path))
		return MPK_OK;
	directory = mpk_node_folder(n->node, index, p->arena);
	MPK_TRY_ALLOC(directory, p->err);
	if (n->node->is_lib)
		return add_host(p, n, directory);
	if (n->decoded)
		MPK_TRY(mpk_payload_extract(n->payload, p->arena, &files, p->err));
	for (size_t i = 0; i < files.count; i++)
		MPK_TRY(extract_add_file(p, n, directory, &files.items[i]));
	if (!n->decoded || (!files.count && n->node->payload.len))
		return add_raw(p, n, directory);
	return MPK_OK;
}

/* Whether a symbol is a C identifier; others are shown by index only. */
static bool extract_is_plain(const char *name)
{
	return *name &&
	       name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				 "0123456789_.")] == '\0' &&
	       strlen(name) <= 100;
}

static enum mpk_code plan_embedded(struct planner *p, size_t index)
{
	const struct mpk_view_code *c = &p->view->embedded[index];
	const char *word = c->code.format->word, *name = c->at->name;
	struct mpk_extract_file *f;

	if (!is_at(p, c->path))
		return MPK_OK;
	f = extract_add(p, NULL,
			extract_is_plain(name) ? mpk_arena_printf(p->arena, "embedded/%zu-%s.%s",
								  index, name, word ? word : "bin")
					       : mpk_arena_printf(p->arena, "embedded/%zu.%s",
								  index, word ? word : "bin"));
	MPK_TRY_ALLOC(f, p->err);
	f->path = c->path;
	f->kind = mpk_span_str("cuda");
	f->title = mpk_span_str(name);
	f->stored = true;
	f->off = c->at->off;
	f->bytes = c->at->bytes.len;
	mpk_rope_put_view(&f->content, c->at->bytes);
	return mpk_rope_status(&f->content, p->err);
}

/* --- GPU code of any library -------------------------------------------------------------- */

/* Adds a file for one image; the caller sets its content. */
static enum mpk_code add_image(struct planner *p, const struct mpk_view_code *c, const char *name,
			       size_t container, size_t image, struct mpk_extract_file **out)
{
	struct mpk_extract_file *f = extract_add(p, NULL, name);

	MPK_TRY_ALLOC(f, p->err);
	f->path = mpk_arena_text(p->arena, mpk_span_str(c->path));
	MPK_TRY_ALLOC(f->path, p->err);
	f->kind = mpk_span_str("gpu");
	f->is_device = true;
	f->container = container;
	f->image = image;
	*out = f;
	return MPK_OK;
}

/* Bytes that are in the file get their offset, which --json shows. Packed bytes get a function that
 * unpacks them. */
static enum mpk_code extract_add_bytes(struct planner *p, const struct mpk_view_code *c,
				       const char *name, size_t container, size_t image,
				       struct mpk_span bytes)
{
	struct mpk_extract_file *f;

	MPK_TRY(add_image(p, c, name, container, image, &f));
	f->stored = lies_in(bytes, c->at->bytes);
	if (!f->stored) {
		f->make = extract_make;
		return MPK_OK;
	}
	f->off = c->at->off + (uint64_t)(bytes.data - c->at->bytes.data);
	f->bytes = bytes.len;
	mpk_rope_put_view(&f->content, bytes);
	return mpk_rope_status(&f->content, p->err);
}

static enum mpk_code add_debug_ptx(struct planner *p, const struct mpk_view_code *c,
				   const char *name, size_t container, size_t image)
{
	struct mpk_extract_file *f;

	MPK_TRY(add_image(p, c, name, container, image, &f));
	f->make = make_ptx;
	return MPK_OK;
}

/* The name contains the numbers of container and image, so it is unique without comparing it with
 * others. */
static enum mpk_code plan_image(struct planner *p, const struct mpk_view_code *c, size_t container,
				size_t i)
{
	const struct mpk_code_info *image = &c->code.images[i];
	const char *target = plain(mpk_device_target(image), p->arena);

	if (!image->bytes.len)
		return MPK_OK; /* for the host, whose code is elsewhere */
	MPK_TRY_ALLOC(target, p->err);
	if (image->debug_ptx.len)
		MPK_TRY(add_debug_ptx(p, c,
				      mpk_arena_printf(p->arena, "gpu/%zu-%zu%s%s.debug.ptx",
						       container, i, *target ? "-" : "", target),
				      container, i));
	return extract_add_bytes(p, c,
				 mpk_arena_printf(p->arena, "gpu/%zu-%zu%s%s.%s", container, i,
						  *target ? "-" : "", target,
						  mpk_device_suffix(image)),
				 container, i, image->bytes);
}

static enum mpk_code plan_device(struct planner *p, size_t index)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	const struct mpk_image_device *d = &p->view->image->devices[index];
	const char *own = mpk_device_path(d, &scratch);
	const struct mpk_view_code *c;

	MPK_TRY_ALLOC(own, p->err);
	if (!is_at(p, own))
		return MPK_OK;
	MPK_TRY(mpk_device_borrow(p->view, index, &scratch, &c, p->err));
	for (size_t i = 0; i < c->code.image_count; i++)
		MPK_TRY(plan_image(p, c, index, i));
	if (c->code.image_count)
		return MPK_OK;
	if (c->code.debug_ptx.len)
		MPK_TRY(add_debug_ptx(p, c, mpk_arena_printf(p->arena, "gpu/%zu.debug.ptx", index),
				      index, 0));
	return extract_add_bytes(
		p, c, mpk_arena_printf(p->arena, "gpu/%zu.%s", index, mpk_device_suffix(&c->code)),
		index, 0, c->at->bytes);
}

/* --- all of it ---------------------------------------------------------------------------- */

enum mpk_code mpk_extract_plan(const struct mpk_view *view, struct mpk_span path,
			       struct mpk_arena *arena, struct mpk_extract *out,
			       struct mpk_error *err)
{
	struct host host = { .arena = arena };
	MPK_CLEANUP(planner_fini)
	struct planner p = {
		.view = view, .arena = arena, .host = &host, .path = path, .err = err
	};
	struct mpk_extract_file **files;

	for (size_t i = 0; i < view->count; i++)
		MPK_TRY(plan_node(&p, i));
	for (size_t i = 0; i < view->image->embedded_count; i++)
		MPK_TRY(plan_embedded(&p, i));
	for (size_t i = 0; i < view->image->device_count; i++)
		MPK_TRY(plan_device(&p, i));
	files = mpk_arena_keep(arena, p.files, p.count, sizeof(struct mpk_extract_file *));
	MPK_TRY_ALLOC(files, err);
	*out = (struct mpk_extract){ view, files, p.count, MPK_DIGEST_KIND_COUNT };
	return MPK_OK;
}

/* The files of one module, or of one image outside modules, exist only during the call. */
static enum mpk_code hand_over(const struct mpk_view *view,
			       enum mpk_code (*plan)(struct planner *p, size_t index), size_t index,
			       struct host *host, mpk_extract_fn *fn, void *arg,
			       struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	MPK_CLEANUP(planner_fini)
	struct planner p = { .view = view, .arena = &arena, .host = host, .err = err };

	MPK_TRY(plan(&p, index));
	for (size_t i = 0; i < p.count; i++)
		MPK_TRY(fn(p.files[i], arg, err));
	return MPK_OK;
}

enum mpk_code mpk_extract_each(const struct mpk_view *view, mpk_extract_fn *fn, void *arg,
			       struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	struct host host = { .arena = &arena };

	for (size_t i = 0; i < view->count; i++)
		MPK_TRY(hand_over(view, plan_node, i, &host, fn, arg, err));
	for (size_t i = 0; i < view->image->embedded_count; i++)
		MPK_TRY(hand_over(view, plan_embedded, i, &host, fn, arg, err));
	for (size_t i = 0; i < view->image->device_count; i++)
		MPK_TRY(hand_over(view, plan_device, i, &host, fn, arg, err));
	return MPK_OK;
}

static const struct mpk_fact extract_file_facts[] = {
	{ MPK_FACT(TEXT, "name", struct mpk_extract_file, name,
		   "relative file name; modules that are host code share one") },
	{ MPK_FACT(TEXT, "path", struct mpk_extract_file, path, "tree path of the module") },
	{ MPK_FACT(SPAN, "kind", struct mpk_extract_file, kind) },
	{ MPK_FACT(SPAN_IF, "title", struct mpk_extract_file, title, "what the payload calls it") },
	{ MPK_FACT(COUNT, "bytes", struct mpk_extract_file, content.len) },
};

static void extract_put_file(const struct mpk_extract_file *f, enum mpk_digest_kind digest,
			     struct mpk_json *j, struct mpk_json_at *list)
{
	struct mpk_json_at *o = mpk_json_object(j, list, NULL);
	char type[MPK_DTYPE_TEXT];

	mpk_facts_json(MPK_FACTS(extract_file_facts), f, j, o);
	for (unsigned k = 0; k < MPK_DIGEST_KIND_COUNT; k++)
		mpk_json_text(j, o, mpk_digest_name((enum mpk_digest_kind)k),
			      k == digest ? f->digest : NULL);
	if (f->stored) {
		mpk_json_u64(j, o, "offset", f->off);
		mpk_json_u64(j, o, "stored_bytes", f->bytes);
	}
	if (!f->tensor)
		return;
	mpk_json_text(j, o, "dtype", mpk_dtype_print(f->tensor->dtype, type));
	mpk_json_i64s(j, o, "shape", f->tensor->shape, f->tensor->ndim);
}

static void extract_json(const void *what, struct mpk_json *j, struct mpk_json_at *at)
{
	const struct mpk_extract *plan = what;
	const struct mpk_image *image = plan->view->image;
	struct mpk_json_at *o, *list;

	mpk_json_text(j, at, "file", plan->view->name);
	mpk_json_text(j, at, "generation", mpk_generation_get(image->gen)->abi);
	if (image->has_blob) {
		o = mpk_json_object(j, at, "blob");
		mpk_json_u64(j, o, "offset", image->blob_off);
		mpk_json_u64(j, o, "bytes", image->blob.len);
	} else {
		mpk_json_null(j, at, "blob");
	}
	list = mpk_json_array(j, at, "files");
	for (size_t i = 0; i < plan->count; i++)
		extract_put_file(plan->files[i], plan->digest, j, list);
}

const struct mpk_answer mpk_answer_extract = { .json = extract_json };
