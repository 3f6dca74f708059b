/* SPDX-License-Identifier: Apache-2.0 */
/* kernels.c - compares kernels, those of modules and those in GPU code of any library; also images
 * for devices that only one file has, and images that differ outside their kernels
 *
 * The linker's input order determines the containers, and each holds an image for each device. So a
 * kernel is matched by name and device over all containers. Each container's kernels are kept as
 * digests: the code of two libraries would not fit in memory. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/strmap.h"
#include "diff/internal/compare.h"
#include "model/device_code.h"
#include "text/table.h"

/* --- kernels ------------------------------------------------------------------------------- */

/* The key without the path, which differs if the module moved. */
static struct mpk_span kernel_key(const void *item)
{
	const struct mpk_listed_kernel *k = item;
	size_t skip = strlen(k->path);

	return mpk_span_from(k->key, skip);
}

/* A figure that only one format has is not a change of the kernel, so it is left out. */
static size_t changes_of(const struct mpk_listed_kernel *a, const struct mpk_listed_kernel *b,
			 struct mpk_figure_change out[MPK_FIGURE_COUNT])
{
	size_t n = 0;

	for (unsigned i = 0; i < MPK_FIGURE_COUNT; i++)
		if (mpk_figures_differ(&a->figures, &b->figures, (enum mpk_figure)i))
			out[n++] = (struct mpk_figure_change){ (enum mpk_figure)i,
							       a->figures.values[i],
							       b->figures.values[i] };
	return n;
}

static void put_changes(const struct mpk_figure_change *changes, size_t count,
			struct mpk_strbuf *out)
{
	for (size_t i = 0; i < count; i++) {
		const struct mpk_figure_change *c = &changes[i];

		mpk_strbuf_printf(out, "%s%s ", i ? ", " : "", mpk_figure_row(c->figure)->label);
		mpk_figure_put_change(c->figure, c->before, c->after, out);
	}
}

/* Counts the bytes that differ between two runs of equal length; the caller compares the
 * lengths. */
static uint64_t count_differing(struct mpk_span a, struct mpk_span b)
{
	uint64_t n = 0;

	for (size_t i = 0; i < a.len; i++)
		n += a.data[i] != b.data[i];
	return n;
}

/* Returns the bytes of a kernel's machine code; 0 if its format does not tell. */
static uint64_t kernel_bytes(const struct mpk_listed_kernel *k)
{
	const struct mpk_figure_value *code = k ? &k->figures.values[MPK_FIGURE_CODE] : NULL;

	return code && code->state == MPK_FIGURE_KNOWN ? code->number : 0;
}

/* Stores the bytes of a kernel's code, if its format tells them; a or b is NULL if that file lacks
 * the kernel. */
static void note_kernel(struct mpk_difference *item, const struct mpk_listed_kernel *a,
			const struct mpk_listed_kernel *b)
{
	if (kernel_bytes(a) || kernel_bytes(b))
		mpk_differ_note_bytes(item, kernel_bytes(a), kernel_bytes(b));
}

static void compare_kernel(struct mpk_differ *d, const struct mpk_listed_kernel *a,
			   const struct mpk_listed_kernel *b)
{
	struct mpk_figure_change changes[MPK_FIGURE_COUNT];
	size_t count = changes_of(a, b, changes);
	bool other = a->has_digest && b->has_digest &&
		     memcmp(a->digest, b->digest, sizeof a->digest) != 0;
	bool rewritten = a->code.len == b->code.len && a->code.len <= d->code_left;
	struct mpk_strbuf text = { 0 };
	struct mpk_difference *item;

	/* deducted before the comparison: kernels of a hostile file may all share one long run of
	 * code */
	d->code_left -= rewritten ? a->code.len : 0;
	rewritten = rewritten && !mpk_span_equal(a->code, b->code);
	if (!count && !rewritten && !other)
		return;
	put_changes(changes, count, &text);
	/* if the size of the code changed, that line already says that the code differs */
	if (other && !mpk_figures_differ(&a->figures, &b->figures, MPK_FIGURE_CODE))
		mpk_strbuf_printf(&text, "%scode differs", count ? ", " : "");
	if (rewritten)
		mpk_strbuf_printf(&text, "%s%" PRIu64 " of %zu bytes of code differ",
				  count ? ", " : "", count_differing(a->code, b->code),
				  a->code.len);
	item = mpk_differ_add(d, MPK_DIFF_CHANGED, "kernel", a->name, mpk_differ_take(d, &text));
	if (!item)
		return;
	item->target = a->target;
	item->copy = a->copy;
	note_kernel(item, a, b);
	item->other_code = other || rewritten || a->code.len != b->code.len;
	item->figures = mpk_arena_keep(d->arena, changes, count, sizeof *changes);
	item->figure_count = item->figures ? count : 0;
	d->diff->failed |= !item->figures;
}

static void diff_kernels_compare(struct mpk_differ *d, struct mpk_span key, const void *a,
				 const void *b)
{
	(void)key;
	compare_kernel(d, a, b);
}

/* Adds a kernel's code for each of its devices to the difference reported for the kernel as a
 * whole. */
static void note_side(struct mpk_differ *d, const struct mpk_strmap *said,
		      const struct mpk_kernel_list *list, enum mpk_diff_sign sign)
{
	size_t at;

	for (size_t i = 0; i < list->count; i++) {
		const struct mpk_listed_kernel *k = &list->items[i];
		struct mpk_difference *item;

		if (!mpk_strmap_find(said, k->name, &at) || d->diff->items[at].sign != sign)
			continue;
		item = &d->diff->items[at];
		if (kernel_bytes(k))
			mpk_differ_note_bytes(
				item,
				item->older_bytes +
					(sign == MPK_DIFF_REMOVED ? kernel_bytes(k) : 0),
				item->newer_bytes + (sign == MPK_DIFF_ADDED ? kernel_bytes(k) : 0));
	}
}

/* Kernels that only one module has were reported before their code was read. */
static void note_whole(struct mpk_differ *d, size_t first, const struct mpk_kernel_list *x,
		       const struct mpk_kernel_list *y)
{
	MPK_CLEANUP(mpk_strmap_fini) struct mpk_strmap said = { 0 };

	for (size_t i = first; i < d->diff->count; i++)
		if (strcmp(d->diff->items[i].what, "kernel") == 0)
			d->diff->failed |=
				mpk_strmap_put(&said, d->diff->items[i].name, i, NULL) < 0;
	note_side(d, &said, x, MPK_DIFF_REMOVED);
	note_side(d, &said, y, MPK_DIFF_ADDED);
}

void mpk_diff_kernels(struct mpk_differ *d, enum mpk_kernels_of of, const struct mpk_view *a,
		      size_t i, const struct mpk_view *b, size_t k, size_t first)
{
	static const struct mpk_diff_thing kernel = { .what = "kernel",
						      .bytes = sizeof(struct mpk_listed_kernel),
						      .name = kernel_key,
						      .compare = diff_kernels_compare,
						      .only_matched = true };
	struct mpk_kernel_list x, y;

	if (mpk_kernel_list_read(a, of, i, d->arena, &x, NULL) != MPK_OK ||
	    mpk_kernel_list_read(b, of, k, d->arena, &y, NULL) != MPK_OK) {
		d->diff->failed = true;
		return;
	}
	note_whole(d, first, &x, &y);
	mpk_differ_match(d, &kernel, x.items, x.count, y.items, y.count);
}

/* --- GPU code of any library ------------------------------------------------------------- */

/* All images of one kind for one device. */
struct group {
	struct mpk_span name;                  /* "cubin sm_80" */
	const struct mpk_listed_image *images; /* sorted by content */
	size_t count;
	uint64_t bytes;
	size_t kernels;
	bool is_common; /* the other library has images of this group too */
	bool opaque;    /* it is unknown which code belongs to which kernel */
	bool told;      /* a difference of one of its kernels was reported */
};

/* One of the two libraries. */
struct side {
	struct mpk_kernel_list kernels;
	struct group *groups;
	size_t group_count;
	uint64_t bytes; /* bytes as stored in the file */
};

/* Sorts by device first, so that a group is one run, then by digest, so that two groups can be
 * merged like sorted lists. */
static int by_content(const void *a, const void *b)
{
	const struct mpk_listed_image *x = a, *y = b;
	int order = strcmp(x->what, y->what);

	return order ? order : memcmp(x->digest, y->digest, sizeof x->digest);
}

/* Groups the images by kind and device; each group is a run of one sorted copy. The original order
 * is that of the linker's input, which has no meaning. */
static enum mpk_code group_images(struct side *s, struct mpk_arena *arena)
{
	const struct mpk_kernel_list *from = &s->kernels;
	struct mpk_listed_image *list =
		mpk_arena_keep(arena, from->images, from->image_count, sizeof *list);
	struct group *g = NULL;

	s->groups = mpk_arena_array(arena, from->image_count, sizeof *s->groups);
	if (!list || !s->groups)
		return MPK_E_NOMEM;
	if (from->image_count)
		qsort(list, from->image_count, sizeof *list, by_content);
	for (size_t i = 0; i < from->image_count; i++) {
		if (!g || strcmp(list[i].what, list[i - 1].what) != 0) {
			g = &s->groups[s->group_count++];
			*g = (struct group){ .name = mpk_span_str(list[i].what),
					     .images = &list[i] };
		}
		g->count++;
		g->bytes += list[i].bytes;
	}
	return MPK_OK;
}

static int diff_device_by_name(const void *key, const void *item)
{
	const struct group *g = item;

	return strcmp(key, (const char *)g->name.data); /* the name is NUL-terminated */
}

/* Groups are sorted by name, so a binary search finds one. */
static struct group *find_group(const struct side *s, const char *name)
{
	return s->group_count ? bsearch(name, s->groups, s->group_count, sizeof *s->groups,
					diff_device_by_name)
			      : NULL;
}

/* Reads one library: its kernels as digests, its images by group. A group is opaque if one of its
 * kernels has no digest, since equality of its kernels cannot be proved. */
static bool read_side(struct mpk_differ *d, const struct mpk_view *view, struct side *s)
{
	*s = (struct side){ 0 };
	for (size_t i = 0; i < view->image->device_count; i++)
		s->bytes += view->image->devices[i].bytes.len;
	if (mpk_kernel_list_read(view, MPK_KERNELS_OF_DEVICES, 0, d->arena, &s->kernels, NULL) !=
		    MPK_OK ||
	    group_images(s, d->arena) != MPK_OK)
		return false;
	for (size_t i = 0; i < s->kernels.count; i++) {
		struct group *g = find_group(s, s->kernels.items[i].image);

		g->kernels++;
		g->opaque |= !s->kernels.items[i].has_digest;
	}
	return true;
}

/* For a device that only one library supports, the images are named, not each kernel. */
static void diff_device_add_kernel(struct mpk_differ *d, enum mpk_diff_sign sign,
				   const struct side *s, const struct mpk_listed_kernel *k)
{
	struct group *g = find_group(s, k->image);
	struct mpk_difference *item;

	if (!g->is_common)
		return;
	g->told = true;
	item = mpk_differ_add(d, sign, "kernel", k->name,
			      k->copy ? mpk_arena_printf(d->arena, "copy %" PRIu32, k->copy) : "");
	if (!item)
		return;
	item->target = k->target;
	note_kernel(item, sign == MPK_DIFF_REMOVED ? k : NULL, sign == MPK_DIFF_ADDED ? k : NULL);
}

/* Marks the group if a difference was reported, so that compare_group does not report the same
 * change again as a change of images. */
static void compare_matched(struct mpk_differ *d, const struct side *a,
			    const struct mpk_listed_kernel *k,
			    const struct mpk_listed_kernel *other)
{
	size_t before = d->diff->count;

	compare_kernel(d, k, other);
	if (d->diff->count > before)
		find_group(a, k->image)->told = true;
}

/* Keys are unique: the list numbers the copies of a kernel, and the number is part of the key. */
static bool index_keys(const struct mpk_kernel_list *list, struct mpk_strmap *out)
{
	for (size_t i = 0; i < list->count; i++)
		if (mpk_strmap_put(out, list->items[i].key, i, NULL) < 0)
			return false;
	return true;
}

static void compare_device_kernels(struct mpk_differ *d, const struct side *a, const struct side *b)
{
	MPK_CLEANUP(mpk_strmap_fini) struct mpk_strmap in_a = { 0 }, in_b = { 0 };
	size_t at;

	if (!index_keys(&a->kernels, &in_a) || !index_keys(&b->kernels, &in_b)) {
		d->diff->failed = true;
		return;
	}
	for (size_t i = 0; i < a->kernels.count; i++) {
		const struct mpk_listed_kernel *k = &a->kernels.items[i];

		if (mpk_strmap_find(&in_b, k->key, &at))
			compare_matched(d, a, k, &b->kernels.items[at]);
		else
			diff_device_add_kernel(d, MPK_DIFF_REMOVED, a, k);
	}
	for (size_t i = 0; i < b->kernels.count; i++)
		if (!mpk_strmap_find(&in_a, b->kernels.items[i].key, &at))
			diff_device_add_kernel(d, MPK_DIFF_ADDED, b, &b->kernels.items[i]);
}

/* --- images ------------------------------------------------------------------------------- */

/* Counts the elements of sorted list a that sorted list b lacks. */
static size_t count_missing(const struct group *a, const struct group *b)
{
	size_t n = 0, k = 0;

	for (size_t i = 0; i < a->count; i++) {
		int order = -1;

		while (k < b->count && (order = memcmp(b->images[k].digest, a->images[i].digest,
						       sizeof a->images[i].digest)) < 0)
			k++;
		if (k < b->count && order == 0)
			k++;
		else
			n++;
	}
	return n;
}

/* Images can differ although no kernel does, in constants or debug sections. This is reported only
 * if every kernel of both groups could be compared. */
static void compare_group(struct mpk_differ *d, const struct group *a, const struct group *b)
{
	size_t differing = count_missing(a, b);
	bool are_known = a->kernels && !a->opaque && !b->opaque;

	if (a->count != b->count)
		mpk_differ_note_bytes(mpk_differ_change(d, "image", a->name,
							"%zu -> %zu of them, %s -> %s", a->count,
							b->count, MPK_SIZE(a->bytes),
							MPK_SIZE(b->bytes)),
				      a->bytes, b->bytes);
	else if (differing && !a->told && !b->told) {
		struct mpk_difference *item = mpk_differ_change(
			d, "image", a->name, "%zu of %zu differ%s%s", differing, a->count,
			differing == 1 ? "s" : "", are_known ? ", but no kernel does" : "");

		if (item)
			item->other_code = a->count == 1 && !are_known;
	}
}

static uint64_t group_bytes(const void *item)
{
	return ((const struct group *)item)->bytes;
}

/* Marks the groups that both libraries have. This comes before the kernels: kernels of a group that
 * only one library has are covered by the line for the group. */
static void match_groups(struct mpk_differ *d, struct side *a, struct side *b)
{
	static const struct mpk_diff_thing image = { .what = "image",
						     .bytes = sizeof(struct group),
						     .name_at = offsetof(struct group, name),
						     .bytes_of = group_bytes };

	for (size_t i = 0; i < a->group_count; i++) {
		struct group *other = find_group(b, (const char *)a->groups[i].name.data);

		if (other)
			other->is_common = a->groups[i].is_common = true;
	}
	mpk_differ_match(d, &image, a->groups, a->group_count, b->groups, b->group_count);
}

/* The cheap test comes first: the containers of large libraries are often equal, and then nothing
 * has to be unpacked. */
static bool same_containers(const struct mpk_image *a, const struct mpk_image *b)
{
	if (a->device_count != b->device_count)
		return false;
	for (size_t i = 0; i < a->device_count; i++)
		if (!mpk_span_equal(a->devices[i].bytes, b->devices[i].bytes))
			return false;
	return true;
}

/* Groups come before kernels and images after them, because each step relies on the marks of the
 * one before it. */
void mpk_diff_devices(struct mpk_differ *d, const struct mpk_view *x, const struct mpk_view *y)
{
	size_t before = d->diff->count;
	struct mpk_difference *item;
	struct side a, b;

	if (same_containers(x->image, y->image))
		return;
	if (!read_side(d, x, &a) || !read_side(d, y, &b)) {
		d->diff->failed = true;
		return;
	}
	d->path = MPK_DEVICE_PATH;
	match_groups(d, &a, &b);
	compare_device_kernels(d, &a, &b);
	for (size_t i = 0; i < a.group_count; i++)
		if (a.groups[i].is_common)
			compare_group(d, &a.groups[i],
				      find_group(&b, (const char *)a.groups[i].name.data));
	if (d->diff->count == before) {
		item = mpk_differ_change(d, "containers", (struct mpk_span){ 0 },
					 "%s -> %s, in other containers or packed in "
					 "another way, images equal",
					 MPK_SIZE(a.bytes), MPK_SIZE(b.bytes));
		if (item)
			item->same_code = true;
	}
	d->path = "";
}
