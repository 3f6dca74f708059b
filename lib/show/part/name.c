/* SPDX-License-Identifier: Apache-2.0 */
/* Parses names of parts that users give, and suggests similar names if there is no such part. */
#include "part/part.h"

#include <stdlib.h>
#include <string.h>

#include "base/strmap.h"
#include "base/vec.h"
#include "itanium/itanium.h"
#include "model/device_code.h"
#include "model/kernel_list.h"
#include "model/node_info.h"
#include "text/escape.h"

enum { KEPT_MOST = 20000 }; /* limit on kept names of code that is freed; libraries have millions */

/* --- names --------------------------------------------------------------------------------- */

/* The first '#' separates path and name: paths contain none, kernel names may. Without '#', a text
 * is a path if it looks like one. */
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
	if (names->failed || !MPK_VEC_ROOM(names->items, names->count, names->cap))
		names->failed = true;
	else
		names->items[names->count++] = name;
}

/* An image can contain images, whose kernels are found by name too. */
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

/* Searches both the table and the code: they may disagree, and the user may have read either. */
static bool has_kernel(const struct mpk_view_node *n, const struct mpk_node_info *info,
		       struct mpk_span name)
{
	const struct mpk_kernels *table = mpk_view_kernels(n);
	size_t at;

	for (size_t i = 0; table && i < table->function_count; i++)
		if (mpk_span_equal(table->functions[i].key, name))
			return true;
	for (size_t i = 0; i < info->piece_count; i++)
		if (mpk_code_info_find(&info->pieces[i].code, name, &at))
			return true;
	return false;
}

/* Returns the module that has a kernel of this name; NULL if there is none or memory is out. */
static const char *module_with(const struct mpk_view *view, struct mpk_span name)
{
	const struct mpk_node_info *info;

	for (size_t i = 0; i < view->count; i++)
		if (mpk_view_info(view, i, &info, NULL) == MPK_OK &&
		    has_kernel(&view->nodes[i], info, name))
			return view->nodes[i].path;
	return NULL;
}

/* The listing shows host functions, so users expect --show to find them. */
static bool is_host_function(const struct mpk_image *image, struct mpk_span name)
{
	for (size_t i = 0; i < image->function_count; i++)
		if (mpk_span_is(name, image->functions[i].name))
			return true;
	return false;
}

enum mpk_code mpk_part_miss(const struct mpk_view *view, const struct mpk_part_names *names,
			    struct mpk_part_name wanted, bool is_text, struct mpk_error *err)
{
	size_t near = mpk_closest(wanted.name, names->items, names->count);
	const char *in = wanted.path.len ? " in " : "", *other;

	if (names->failed)
		return mpk_fail_nomem(err);
	other = wanted.path.len ? module_with(view, wanted.name) : NULL;
	if (other)
		return mpk_fail(err, MPK_E_NOTFOUND, "there is no '%s' in %s; it is in %s",
				MPK_QUOTE(wanted.name), MPK_QUOTE(wanted.path), other);
	if (is_text && is_host_function(view->image, wanted.name))
		return mpk_fail(
			err, MPK_E_UNSUPPORTED,
			"'%s' is a function of the host code, whose text is not in the file: disasm %s shows its instructions",
			MPK_QUOTE(wanted.name), MPK_QUOTE(wanted.name));
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
	/* every one-digit path is similar to the root */
	if (near < names.count && !mpk_span_is(names.items[near], "/"))
		return mpk_fail(err, MPK_E_NOTFOUND, "there is no %s '%s'; did you mean '%s'?",
				what, MPK_QUOTE(path), MPK_QUOTE(names.items[near]));
	return mpk_fail(err, MPK_E_NOTFOUND, "there is no %s '%s'; minspect FILE lists them", what,
			MPK_QUOTE(path));
}

/* --- kernels by the names that texts show ----------------------------------------------------- */

/* Finds the symbol for "scale<float>(float*, int)". Every kernel of the file is demangled and
 * compared, since only compilers can mangle reliably, and a C++ name can be spelled in few ways. */

/* Whether a symbol demangles to this name, with or without its parameters. */
static bool is_spelled(struct mpk_span symbol, struct mpk_span name)
{
	bool with_params = memchr(name.data, '(', name.len);
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };
	const struct mpk_demangle_form form = { .no_params = !with_params };

	return mpk_demangle(symbol, form, &text) && mpk_span_is(name, mpk_strbuf_text(&text));
}

/* Whether a name contains characters that no symbol has. */
static bool is_name_of_cxx(struct mpk_span name)
{
	return mpk_span_has(name, "(") || mpk_span_has(name, "<") || mpk_span_has(name, "::");
}

enum mpk_code mpk_part_symbol(const struct mpk_view *view, const char *text,
			      struct mpk_arena *arena, const char **out, struct mpk_error *err)
{
	struct mpk_part_name wanted = mpk_part_split(text);
	struct mpk_kernel_list list;

	*out = text;
	if (!is_name_of_cxx(wanted.name))
		return MPK_OK;
	MPK_TRY(mpk_kernel_list_read(view, MPK_KERNELS_OF_FILE, 0, arena, &list, err));
	for (size_t i = 0; i < list.count; i++) {
		struct mpk_span symbol = list.items[i].name;

		if (!is_spelled(symbol, wanted.name))
			continue;
		*out = mpk_arena_printf(arena, "%.*s%s%.*s", (int)wanted.path.len,
					wanted.path.len ? (const char *)wanted.path.data : "",
					wanted.path.len ? "#" : "", (int)symbol.len,
					(const char *)symbol.data);
		return *out ? MPK_OK : mpk_fail_nomem(err);
	}
	return MPK_OK;
}
