/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_list.c - lists kernels with their figures: those of a module, of code outside the tree, or
 * of a file
 *
 * --diff and --baseline match kernels of two files by key. The key is the place, name and device of
 * a kernel, and a number if that is not unique. */
#include "model/kernel_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/strmap.h"
#include "base/vec.h"
#include "model/device_code.h"
#include "model/node_info.h"

struct lister {
	struct mpk_arena *arena;
	struct mpk_error *err;
	const char *path;
	const struct mpk_view_node *node; /* NULL if the kernels belong to no module */
	struct mpk_listed_kernel *items;  /* from malloc */
	size_t count, cap;
	struct mpk_strmap keys, names; /* keys and names used within the current path */
	const char *container;         /* NULL if the code is not freed */
	/* bytes of the image that may still be hashed: kernels of a hostile file may share code */
	uint64_t digest_left;
	const char *image;
	struct mpk_listed_image *images; /* from malloc */
	size_t image_count, image_cap;
};

static void lister_fini(struct lister *l)
{
	free(l->items);
	free(l->images);
	mpk_strmap_fini(&l->keys);
	mpk_strmap_fini(&l->names);
}

struct mpk_span mpk_kernel_key(struct mpk_arena *arena, const char *path, const char *target,
			       struct mpk_span name, size_t copy)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };

	mpk_strbuf_printf(&text, "%s %s %zu ", path, target, copy);
	mpk_strbuf_put_span(&text, name);
	return mpk_span_of(text.failed ? NULL : mpk_arena_copy(arena, text.data, text.len),
			   text.len);
}

bool mpk_kernel_shows(const struct mpk_view *view, const struct mpk_listed_kernel *k)
{
	if (k->node)
		return mpk_view_shows_part(k->node, k->name);
	return mpk_view_shows(view, mpk_span_str(k->container ? k->container : k->path)) ||
	       mpk_view_shows(view, k->name);
}

/* Numbers repeated keys. */
static enum mpk_code kernel_list_make_key(struct lister *l, struct mpk_listed_kernel *k)
{
	size_t first;

	k->key = mpk_kernel_key(l->arena, k->path, k->target, k->name, 0);
	MPK_TRY_ALLOC(k->key.data, l->err);
	if (mpk_strmap_find(&l->keys, k->key, &first)) {
		/* the first has number 0, which its key omits, so the second is number 2 */
		k->copy = ++l->items[first].copies + 1;
		k->key = mpk_kernel_key(l->arena, k->path, k->target, k->name, k->copy);
		MPK_TRY_ALLOC(k->key.data, l->err);
	}
	MPK_TRY_ALLOC(mpk_strmap_put(&l->keys, k->key, l->count, NULL) >= 0, l->err);
	return MPK_OK;
}

/* Copies what is needed of a kernel whose container is about to be freed. */
static enum mpk_code forget_code(struct lister *l, const struct mpk_code_kernel *from,
				 struct mpk_listed_kernel *k)
{
	struct mpk_span code = from->code.len ? from->code : from->text;

	k->code = (struct mpk_span){ 0 };
	k->container = l->container;
	k->image = l->image;
	k->target = k->target[0] ? mpk_arena_text(l->arena, mpk_span_str(k->target)) : "";
	MPK_TRY_ALLOC(k->target, l->err);
	/* beyond the limit a kernel has no digest, so that a hostile file takes linear time */
	if (!code.len || code.len > l->digest_left)
		return MPK_OK;
	l->digest_left -= code.len;
	k->has_digest = true;
	return mpk_digest_span(MPK_DIGEST_XXH128, code, k->digest, l->err);
}

/* Requires k->code and its figures. */
static enum mpk_code list_facts(struct lister *l, const struct mpk_code_info *code,
				const struct mpk_code_kernel *from, struct mpk_listed_kernel *k)
{
	struct mpk_kernel_facts facts = { .barriers = from->barriers,
					  .wavefront = from->wavefront,
					  .wgp_mode = from->wgp_mode };

	memcpy(facts.block, from->block, sizeof facts.block);
	memcpy(facts.max_threads, from->max_threads, sizeof facts.max_threads);
	if (code->format == &mpk_format_cubin && k->figures.values[MPK_FIGURE_STACK].number)
		facts.has_local = mpk_cubin_local_accesses(code->sm, k->code, &facts.local);
	if (!facts.block[0] && !facts.max_threads[0] && !facts.barriers && !facts.wavefront &&
	    !facts.has_local)
		return MPK_OK;
	struct mpk_kernel_facts *kept = mpk_arena_alloc(l->arena, sizeof *kept);

	MPK_TRY_ALLOC(kept, l->err);
	*kept = facts;
	k->facts = kept;
	return MPK_OK;
}

/* @code    may be NULL: the table has the kernel, but its code is unknown. */
static enum mpk_code kernel_list_add(struct lister *l, const struct mpk_code_info *code,
				     size_t kernel, struct mpk_span name)
{
	struct mpk_listed_kernel k = {
		.path = l->path, .node = l->node, .name = name, .target = ""
	};

	if (code) {
		k.target = code->target;
		const struct mpk_code_kernel *from = &code->kernels[kernel];

		k.code = from->code;
		(void)mpk_code_figures(code, kernel, &k.figures);
		MPK_TRY(list_facts(l, code, from, &k));
		if (l->container)
			MPK_TRY(forget_code(l, from, &k));
	}
	MPK_TRY(kernel_list_make_key(l, &k));
	/* a key ends with the name, so one copy serves both */
	if (l->container)
		k.name = mpk_span_of(k.key.data + k.key.len - name.len, name.len);
	else
		MPK_TRY_ALLOC(mpk_strmap_put(&l->names, name, 0, NULL) >= 0, l->err);
	MPK_TRY_ALLOC(MPK_VEC_ROOM(l->items, l->count, l->cap), l->err);
	l->items[l->count++] = k;
	return MPK_OK;
}

/* Adds the kernels of the code and of each image in it: a kernel counts once for each device. */
static enum mpk_code add_code(struct lister *l, const struct mpk_code_info *code)
{
	for (size_t i = 0; i < code->kernel_count; i++)
		MPK_TRY(kernel_list_add(l, code, i, code->kernels[i].name));
	for (size_t i = 0; i < code->image_count; i++)
		MPK_TRY(add_code(l, &code->images[i]));
	return MPK_OK;
}

/* Adds kernels of the code first, which have figures; then kernels that only the table has. A piece
 * for one kernel is listed under its key, whatever its entry point is called. */
static enum mpk_code add_node(struct lister *l, const struct mpk_view *view, size_t index)
{
	const struct mpk_view_node *n = &view->nodes[index];
	const struct mpk_kernels *table = mpk_view_kernels(n);
	const struct mpk_node_info *info;

	MPK_TRY(mpk_view_info(view, index, &info, l->err));
	l->path = n->path;
	l->node = n;
	for (size_t i = 0; i < info->piece_count; i++)
		if (!info->pieces[i].key)
			MPK_TRY(add_code(l, &info->pieces[i].code));
	for (size_t i = 0; table && i < table->function_count; i++) {
		struct mpk_span name = table->functions[i].key;

		if (!mpk_strmap_find(&l->names, name, NULL))
			MPK_TRY(kernel_list_add(l, NULL, 0, name));
	}
	return MPK_OK;
}

static enum mpk_code kernel_list_add_embedded(struct lister *l, const struct mpk_view_code *c)
{
	l->path = c->path;
	l->node = NULL;
	return add_code(l, &c->code);
}

/* --- GPU code of any library ----------------------------------------------------------- */

/* Returns the word for an image in a listing if it differs from the format's name. */
static const char *image_word(const struct mpk_code_info *image)
{
	static const struct {
		const struct mpk_code_format *format;
		const char *word;
	} words[] = {
		{ &mpk_format_ptx, "PTX" },
		{ &mpk_format_hsaco, "code object" },
		{ &mpk_format_bitcode, "LLVM bitcode" },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(words); i++)
		if (image->format == words[i].format)
			return words[i].word;
	return image->format && image->format->word ? image->format->word : "image";
}

const char *mpk_kernel_image(struct mpk_arena *arena, const struct mpk_code_info *code)
{
	const char *target = code->problem ? "" : mpk_device_target(code);

	return mpk_arena_printf(arena, "%s%s%s", image_word(code), *target ? " " : "", target);
}

/* An image has a digest of its own, so that two files can be compared
 * even if none of its kernels is known. */
static enum mpk_code kernel_list_add_image(struct lister *l, const struct mpk_code_info *code)
{
	struct mpk_listed_image image = { .bytes = code->bytes.len };

	image.what = mpk_kernel_image(l->arena, code);
	MPK_TRY_ALLOC(image.what, l->err);
	MPK_TRY(mpk_digest_span(MPK_DIGEST_XXH128, code->bytes, image.digest, l->err));
	MPK_TRY_ALLOC(MPK_VEC_ROOM(l->images, l->image_count, l->image_cap), l->err);
	l->images[l->image_count++] = image;
	l->image = image.what;
	return MPK_OK;
}

static enum mpk_code add_device_image(struct lister *l, const struct mpk_code_info *code)
{
	if (!code->bytes.len)
		return MPK_OK; /* for the host, whose code is elsewhere */
	MPK_TRY(kernel_list_add_image(l, code));
	/* kernels of real code do not overlap: four times the image is enough for all of them */
	l->digest_left = 4 * (uint64_t)code->bytes.len;
	return code->problem ? MPK_OK : add_code(l, code);
}

static enum mpk_code add_container(const struct mpk_view_code *c, void *arg, struct mpk_error *err)
{
	struct lister *l = arg;

	(void)err;
	l->container = mpk_arena_text(l->arena, mpk_span_str(c->path));
	MPK_TRY_ALLOC(l->container, l->err);
	/* code without a container is its own image, and so is an unreadable container */
	if (!c->code.image_count)
		return add_device_image(l, &c->code);
	for (size_t i = 0; i < c->code.image_count; i++)
		MPK_TRY(add_device_image(l, &c->code.images[i]));
	return MPK_OK;
}

/* All GPU code has one path: containers differ from build to build, but keys must not. */
static enum mpk_code add_devices(struct lister *l, const struct mpk_view *view)
{
	l->path = MPK_DEVICE_PATH;
	l->node = NULL;
	return mpk_device_each(view, add_container, l, l->err);
}

/* --- lists ------------------------------------------------------------------------------- */

/* Starts a new path; names are made unique within a path. */
static void next_path(struct lister *l)
{
	mpk_strmap_fini(&l->names);
	l->names = (struct mpk_strmap){ 0 };
}

static enum mpk_code add_all(struct lister *l, const struct mpk_view *view)
{
	for (size_t i = 0; i < view->count; i++) {
		MPK_TRY(add_node(l, view, i));
		next_path(l);
	}
	for (size_t i = 0; i < view->image->embedded_count; i++) {
		MPK_TRY(kernel_list_add_embedded(l, &view->embedded[i]));
		next_path(l);
	}
	return add_devices(l, view);
}

/* The lists are copied to the arena; lister_fini frees the originals. */
enum mpk_code mpk_kernel_list_read(const struct mpk_view *view, enum mpk_kernels_of of,
				   size_t index, struct mpk_arena *arena,
				   struct mpk_kernel_list *out, struct mpk_error *err)
{
	MPK_CLEANUP(lister_fini) struct lister l = { .arena = arena, .err = err };

	switch (of) {
	case MPK_KERNELS_OF_FILE:
		MPK_TRY(add_all(&l, view));
		break;
	case MPK_KERNELS_OF_NODE:
		MPK_TRY(add_node(&l, view, index));
		break;
	case MPK_KERNELS_OF_EMBEDDED:
		MPK_TRY(kernel_list_add_embedded(&l, &view->embedded[index]));
		break;
	case MPK_KERNELS_OF_DEVICES:
		MPK_TRY(add_devices(&l, view));
		break;
	}
	*out = (struct mpk_kernel_list){
		mpk_arena_keep(arena, l.items, l.count, sizeof *l.items), l.count,
		mpk_arena_keep(arena, l.images, l.image_count, sizeof *l.images), l.image_count
	};
	return out->items && out->images ? MPK_OK : mpk_fail_nomem(err);
}
