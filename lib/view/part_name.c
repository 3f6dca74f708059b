/* SPDX-License-Identifier: Apache-2.0 */
/* Names of parts as users give them, and what was nearly meant where there is none. */
#include "view/part.h"

#include <stdlib.h>
#include <string.h>

#include "base/strmap.h"
#include "base/vec.h"
#include "text/escape.h"
#include "view/device_code.h"
#include "view/embedded.h"

enum { KEPT_MOST = 20000 }; /* names of code that is read and forgotten; libraries have millions */

/* --- names --------------------------------------------------------------------------------- */

struct mpk_part_name mpk_part_split(const char *text)
{
	struct mpk_span all = mpk_span_str(text);
	const char *mark = strchr(text, '#');

	if (mark)
		return (struct mpk_part_name){
			.path = mpk_span_of(text, (size_t)(mark - text)),
			.name = mpk_span_str(mark + 1),
		};
	if (*text == '/' || mpk_span_starts(all, MPK_EMBEDDED_PATH) || mpk_device_is_path(all))
		return (struct mpk_part_name){ .path = all };
	return (struct mpk_part_name){ .name = all };
}

void mpk_part_names_add(struct mpk_part_names *names, struct mpk_span name)
{
	if (names->keep) {
		if (names->count >= KEPT_MOST)
			return;
		name.data = (const uint8_t *)mpk_arena_text(names->keep, name);
		names->failed |= !name.data;
	}
	if (names->failed ||
	    !mpk_vec_reserve(&names->items, &names->cap, names->count + 1, sizeof *names->items))
		names->failed = true;
	else
		names->items[names->count++] = name;
}

void mpk_part_names_add_code(struct mpk_part_names *names, const struct mpk_code_info *code)
{
	for (size_t i = 0; i < code->kernel_count; i++)
		mpk_part_names_add(names, code->kernels[i].name);
	for (size_t i = 0; i < code->image_count; i++)
		mpk_part_names_add_code(names, &code->images[i]);
}

void mpk_part_names_fini(struct mpk_part_names *names)
{
	free(names->items);
	*names = (struct mpk_part_names){ 0 };
}

enum mpk_code mpk_part_miss(const struct mpk_part_names *names, struct mpk_part_name wanted,
			    struct mpk_error *err)
{
	size_t near = mpk_closest(wanted.name, names->items, names->count);
	const char *in = wanted.path.len ? " in " : "";

	if (names->failed)
		return mpk_fail_nomem(err);
	if (near < names->count)
		return mpk_fail(err, MPK_E_NOTFOUND, "there is no '%s'%s%s; did you mean '%s'?",
				MPK_QUOTE(wanted.name), in, MPK_QUOTE(wanted.path),
				MPK_QUOTE(names->items[near]));
	return mpk_fail(err, MPK_E_NOTFOUND,
			"there is no '%s'%s%s; minspect FILE lists what there is",
			MPK_QUOTE(wanted.name), in, MPK_QUOTE(wanted.path));
}

/* --- paths --------------------------------------------------------------------------------- */

enum mpk_code mpk_part_place(const struct mpk_view *view, struct mpk_span path,
			     struct mpk_part_place *out, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_part_names_fini) struct mpk_part_names names = { 0 };
	const char *what = mpk_device_is_path(path) ? "container" : "module";
	size_t near;

	for (size_t i = 0; i < view->count; i++) {
		struct mpk_span own = mpk_span_str(view->nodes[i].path);

		if (mpk_span_equal(own, path)) {
			*out = (struct mpk_part_place){ .node = &view->nodes[i], .index = i };
			return MPK_OK;
		}
		mpk_part_names_add(&names, own);
	}
	for (size_t i = 0; i < view->image->embedded_count; i++) {
		struct mpk_span own = mpk_span_str(view->embedded[i].path);

		if (mpk_span_equal(own, path)) {
			*out = (struct mpk_part_place){ .embedded = &view->embedded[i] };
			return MPK_OK;
		}
		mpk_part_names_add(&names, own);
	}
	for (size_t i = 0; i < view->image->device_count; i++) {
		const struct mpk_image_device *d = &view->image->devices[i];
		const char *own = mpk_device_path(d, view->arena);

		MPK_TRY_ALLOC(own, err);
		if (mpk_span_is(path, own)) {
			*out = (struct mpk_part_place){ .device = d };
			return MPK_OK;
		}
		mpk_part_names_add(&names, mpk_span_str(own));
	}
	near = mpk_closest(path, names.items, names.count);
	if (near < names.count)
		return mpk_fail(err, MPK_E_NOTFOUND, "there is no %s '%s'; did you mean '%s'?",
				what, MPK_QUOTE(path), MPK_QUOTE(names.items[near]));
	return mpk_fail(err, MPK_E_NOTFOUND, "there is no %s '%s'; minspect FILE lists them", what,
			MPK_QUOTE(path));
}
