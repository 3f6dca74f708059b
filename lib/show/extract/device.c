/* SPDX-License-Identifier: Apache-2.0 */
/* Containers are read twice: once to learn which images there are, and once more when one is written. In
 * between none of what was unpacked is kept. */
#include "extract/internal/device.h"

#include <string.h>

#include "model/device_code.h"

struct planning {
	const struct mpk_view *view;
	struct mpk_arena *arena;
	enum mpk_code (*each)(const struct mpk_extract_file *file, void *arg);
	void *arg;
	size_t container;
};

/* A device's name as a part of a file's: "gfx90a-xnack+". */
static const char *plain(const char *target, struct mpk_arena *arena)
{
	char *name = mpk_arena_text(arena, mpk_span_str(target));

	for (char *at = name; at && *at; at++)
		if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789_+-", *at))
			*at = '-';
	return name;
}

static bool lies_in(struct mpk_span inner, struct mpk_span outer)
{
	return inner.data >= outer.data && inner.data + inner.len <= outer.data + outer.len;
}

/* --- content of an image that is packed --------------------------------------------------- */

static enum mpk_code make(const struct mpk_view *view, struct mpk_extract_file *file,
			  struct mpk_arena *arena, struct mpk_error *err)
{
	const struct mpk_image_device *d = &view->image->devices[file->container];
	struct mpk_code_info code;

	MPK_TRY(mpk_code_info_read(d->bytes, d->off, NULL, arena, &code, err));
	if (file->image >= code.image_count)
		return mpk_fail(err, MPK_E_INTERNAL, "an image is gone");
	file->content = (struct mpk_rope){ .arena = arena };
	mpk_rope_put_view(&file->content, code.images[file->image].bytes);
	return mpk_rope_status(&file->content, err);
}

/* --- the plan ---------------------------------------------------------------------------- */

static enum mpk_code plan_bytes(struct planning *p, const struct mpk_view_code *c,
				struct mpk_extract_file *file, struct mpk_span bytes,
				struct mpk_error *err)
{
	file->path = mpk_arena_text(p->arena, mpk_span_str(c->path));
	MPK_TRY_ALLOC(file->name && file->path, err);
	file->kind = mpk_span_str("gpu");
	file->content = (struct mpk_rope){ .arena = p->arena };
	file->is_device = true;
	file->container = p->container;
	if (lies_in(bytes, c->at->bytes)) {
		file->stored = true;
		file->off = c->at->off + (uint64_t)(bytes.data - c->at->bytes.data);
		file->bytes = bytes.len;
		mpk_rope_put_view(&file->content, bytes);
		MPK_TRY(mpk_rope_status(&file->content, err));
	} else {
		file->make = make;
	}
	return p->each(file, p->arg);
}

static enum mpk_code plan_image(struct planning *p, const struct mpk_view_code *c, size_t i,
				struct mpk_error *err)
{
	const struct mpk_code_info *image = &c->code.images[i];
	const char *target = plain(mpk_device_target(image), p->arena);
	struct mpk_extract_file file = { .image = i };

	if (!image->bytes.len)
		return MPK_OK; /* of the host, whose code is elsewhere */
	MPK_TRY_ALLOC(target, err);
	file.name = mpk_arena_printf(p->arena, "gpu/%zu-%zu%s%s.%s", p->container, i,
				     *target ? "-" : "", target, mpk_device_suffix(image));
	return plan_bytes(p, c, &file, image->bytes, err);
}

static enum mpk_code plan(struct planning *p, const struct mpk_view_code *c, struct mpk_error *err)
{
	struct mpk_extract_file file = { 0 };

	for (size_t i = 0; i < c->code.image_count; i++)
		MPK_TRY(plan_image(p, c, i, err));
	if (!c->code.image_count) {
		file.name = mpk_arena_printf(p->arena, "gpu/%zu.%s", p->container,
					     mpk_device_suffix(&c->code));
		MPK_TRY(plan_bytes(p, c, &file, c->at->bytes, err));
	}
	return MPK_OK;
}

static enum mpk_code plan_device(struct planning *p, struct mpk_span path, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	const struct mpk_image_device *d = &p->view->image->devices[p->container];
	const char *own = mpk_device_path(d, &scratch);
	struct mpk_view_code c;

	MPK_TRY_ALLOC(own, err);
	if (path.len && !mpk_span_is(path, own))
		return MPK_OK;
	MPK_TRY(mpk_device_container(d, &scratch, &c, err));
	return plan(p, &c, err);
}

enum mpk_code
mpk_extract_devices(const struct mpk_view *view, struct mpk_span path, struct mpk_arena *arena,
		    enum mpk_code (*each)(const struct mpk_extract_file *file, void *arg),
		    void *arg, struct mpk_error *err)
{
	struct planning p = { view, arena, each, arg, 0 };

	for (; p.container < view->image->device_count; p.container++)
		MPK_TRY(plan_device(&p, path, err));
	return MPK_OK;
}
