/* SPDX-License-Identifier: Apache-2.0 */
/* What is read of a container is forgotten before the next: of a kernel stay its name, its device and
 * the digest of its code. */
#include "size/internal/device.h"

#include <stdlib.h>
#include <string.h>

#include "base/strmap.h"
#include "base/vec.h"
#include "io/digest.h"
#include "model/device_code.h"

enum { SAME_MIN = 64 }; /* shorter code is alike by chance */

/* One kernel of one image. */
struct seen {
	const char *path, *target;
	struct mpk_span name;
	uint64_t bytes;
	uint8_t digest[MPK_XXH128_BYTES];
};

struct reading {
	const struct mpk_size_sink *sink;
	struct mpk_strmap names; /* kernel names are the same in every image of a container */
	const char **kept;       /* by the number in names; malloc'ed */
	size_t kept_cap;
	struct seen *seen; /* malloc'ed */
	size_t count, cap;
};

static void reading_fini(struct reading *r)
{
	mpk_strmap_fini(&r->names);
	free(r->kept);
	free(r->seen);
}

/* --- reading --------------------------------------------------------------------------- */

/* One copy of each text in the arena: a library has a million kernels of some thousand names. */
static enum mpk_code size_device_keep(struct reading *r, struct mpk_span text, const char **out,
				      struct mpk_error *err)
{
	size_t n;
	const char *copy;

	if (mpk_strmap_find(&r->names, text, &n)) {
		*out = r->kept[n];
		return MPK_OK;
	}
	copy = mpk_arena_text(r->sink->arena, text);
	MPK_TRY_ALLOC(copy, err);
	MPK_TRY_ALLOC(mpk_vec_reserve(&r->kept, &r->kept_cap, r->names.count + 1, sizeof *r->kept),
		      err);
	r->kept[r->names.count] = copy;
	if (mpk_strmap_put(&r->names, mpk_span_of(copy, text.len), r->names.count, &n) < 0)
		return mpk_fail_nomem(err);
	*out = copy;
	return MPK_OK;
}

/* Machine code of less than SAME_MIN bytes is listed and not compared. */
static enum mpk_code size_device_add_kernel(struct reading *r, const char *path, const char *target,
					    const struct mpk_code_kernel *k, struct mpk_error *err)
{
	struct seen s = { .path = path, .target = target, .bytes = k->code_bytes };
	const char *name;

	MPK_TRY(size_device_keep(r, k->name, &name, err));
	s.name = mpk_span_of(name, k->name.len);
	MPK_TRY(r->sink->kernel(
		r->sink->arg,
		(struct mpk_size_item){ .path = path, .name = s.name, .bytes = s.bytes }));
	if (k->code.len < SAME_MIN)
		return MPK_OK;
	MPK_TRY(mpk_digest_span(MPK_DIGEST_XXH128, k->code, s.digest, err));
	MPK_TRY_ALLOC(mpk_vec_reserve(&r->seen, &r->cap, r->count + 1, sizeof s), err);
	r->seen[r->count++] = s;
	return MPK_OK;
}

/* An image by itself, or all of a container that has no images. */
static enum mpk_code size_device_add_image(struct reading *r, const char *container,
					   const struct mpk_code_info *image, struct mpk_error *err)
{
	const char *target, *path;

	if (!image->format || !image->format->has_code_bytes || !image->kernel_count)
		return MPK_OK;
	MPK_TRY(size_device_keep(r, mpk_span_str(mpk_device_target(image)), &target, err));
	path = mpk_arena_printf(r->sink->arena, "%s %s", container, target);
	MPK_TRY_ALLOC(path, err);
	for (size_t i = 0; i < image->kernel_count; i++)
		MPK_TRY(size_device_add_kernel(r, path, target, &image->kernels[i], err));
	return MPK_OK;
}

/* Parts are containers as they stand in the file: what is equal packed is equal unpacked. */
static enum mpk_code read_container(const struct mpk_view_code *c, void *arg, struct mpk_error *err)
{
	struct reading *r = arg;
	const char *path, *name;

	MPK_TRY(size_device_keep(r, mpk_span_str(c->path), &path, err));
	MPK_TRY(size_device_keep(
		r, mpk_span_str(c->code.format->word ? c->code.format->word : "other"), &name,
		err));
	MPK_TRY(r->sink->part(r->sink->arg, (struct mpk_size_item){ .path = path,
								    .name = mpk_span_str(name),
								    .data = c->at->bytes,
								    .bytes = c->at->bytes.len }));
	if (!c->code.image_count)
		return size_device_add_image(r, path, &c->code, err);
	for (size_t i = 0; i < c->code.image_count; i++)
		MPK_TRY(size_device_add_image(r, path, &c->code.images[i], err));
	return MPK_OK;
}

/* --- what is the same ------------------------------------------------------------------- */

/* Digest first, as it separates nearly all; the rest makes the order complete, so that the output
 * does not depend on qsort. */
static int by_code(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;
	int order = memcmp(x->digest, y->digest, sizeof x->digest);

	if (!order)
		order = mpk_span_compare(x->name, y->name);
	if (!order)
		order = strcmp(x->target, y->target);
	return order ? order : strcmp(x->path, y->path);
}

/* Equal digests of 128 bits count as equal code: the code itself is forgotten by now. */
static bool size_device_is_same(const struct seen *a, const struct seen *b)
{
	return a->bytes == b->bytes && memcmp(a->digest, b->digest, sizeof a->digest) == 0 &&
	       mpk_span_equal(a->name, b->name) && strcmp(a->target, b->target) == 0;
}

/* By what could be saved: one copy stays, so that a kernel counts one time less than it is
 * there. */
static int most_first(const void *a, const void *b)
{
	const struct mpk_size_kernel *x = a, *y = b;
	uint64_t left = x->item.bytes * (x->count - 1), right = y->item.bytes * (y->count - 1);
	int order;

	if (left != right)
		return left > right ? -1 : 1;
	order = mpk_span_compare(x->item.name, y->item.name);
	if (!order)
		order = strcmp(x->target, y->target);
	return order ? order : strcmp(x->item.path, y->item.path);
}

/* Groups need two members, so that half of the kernels is room enough. */
static enum mpk_code find_same(struct reading *r, struct mpk_size *out, struct mpk_error *err)
{
	struct mpk_size_kernel *same = mpk_arena_array(r->sink->arena, r->count / 2, sizeof *same);
	size_t n = 0, end;

	MPK_TRY_ALLOC(same, err);
	if (r->count)
		qsort(r->seen, r->count, sizeof *r->seen, by_code);
	for (size_t i = 0; i < r->count; i = end) {
		const struct seen *s = &r->seen[i];

		for (end = i + 1; end < r->count && size_device_is_same(s, &r->seen[end]);)
			end++;
		if (end == i + 1)
			continue;
		same[n++] = (struct mpk_size_kernel){
			.item = { .path = s->path, .name = s->name, .bytes = s->bytes },
			.target = s->target,
			.count = end - i,
		};
	}
	if (n)
		qsort(same, n, sizeof *same, most_first);
	out->same_kernels = same;
	out->same_kernel_count = n;
	return MPK_OK;
}

/* A line for each device and sort of code, "sm_90 cubin", from the same rows that the listing
 * shows. */
static enum mpk_code size_device_read_rows(const struct mpk_view *view, struct mpk_arena *arena,
					   struct mpk_size *out, struct mpk_error *err)
{
	struct mpk_device_rows rows;
	struct mpk_size_item *items;

	MPK_TRY(mpk_device_rows(view, arena, &rows, err));
	items = mpk_arena_array(arena, rows.count, sizeof *items);
	MPK_TRY_ALLOC(items, err);
	for (size_t i = 0; i < rows.count; i++) {
		const char *name =
			mpk_arena_printf(arena, "%s %s", rows.items[i].target, rows.items[i].what);

		MPK_TRY_ALLOC(name, err);
		items[i] = (struct mpk_size_item){ .name = mpk_span_str(name),
						   .bytes = rows.items[i].bytes };
	}
	out->gpu = (struct mpk_size_list){ items, rows.count };
	return MPK_OK;
}

enum mpk_code mpk_size_read_devices(const struct mpk_view *view, const struct mpk_size_sink *sink,
				    struct mpk_size *out, struct mpk_error *err)
{
	MPK_CLEANUP(reading_fini) struct reading r = { .sink = sink };

	if (!view->image->device_count)
		return MPK_OK;
	MPK_TRY(size_device_read_rows(view, sink->arena, out, err));
	MPK_TRY(mpk_device_each(view, read_container, &r, err));
	return find_same(&r, out, err);
}
