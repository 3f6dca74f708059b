/* SPDX-License-Identifier: Apache-2.0 */
/* info.c - for all formats: reading code by its row, names of kernels, findings. Rows are used only
 * through pointers, so that a row may call this file: a fatbin reads its images with it. */
#include "code/info.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

struct mpk_names_item {
	struct mpk_span name;
	size_t row;
};

static int compare_items(const void *left, const void *right)
{
	const struct mpk_names_item *a = left, *b = right;
	int order = mpk_span_compare(a->name, b->name);

	return order ? order : (a->row > b->row) - (a->row < b->row);
}

enum mpk_code mpk_names_of(const void *rows, size_t stride, size_t count, struct mpk_arena *arena,
			   struct mpk_names *out, struct mpk_error *err)
{
	struct mpk_names_item *items = mpk_arena_array(arena, count, sizeof *items);

	MPK_TRY_ALLOC(items, err);
	for (size_t i = 0; i < count; i++) {
		memcpy(&items[i].name, (const uint8_t *)rows + i * stride, sizeof items[i].name);
		items[i].row = i;
	}
	if (count)
		qsort(items, count, sizeof *items, compare_items);
	*out = (struct mpk_names){ items, count };
	return MPK_OK;
}

bool mpk_names_find(const struct mpk_names *names, struct mpk_span name, size_t *row)
{
	const struct mpk_names_item key = { .name = name };
	size_t at = mpk_lower_bound(names->items, names->count, sizeof key, &key, compare_items);

	if (at == names->count || !mpk_span_equal(names->items[at].name, name))
		return false;
	if (row)
		*row = names->items[at].row;
	return true;
}

/* A kernel of an image. There may be as many images as kernels, each with another kernel, so a
 * look-up cannot search every image. */
struct mpk_image_kernel {
	struct mpk_span name;
	size_t image, kernel;
};

static int info_by_name(const void *a, const void *b)
{
	const struct mpk_image_kernel *x = a, *y = b;
	int order = mpk_span_compare(x->name, y->name);

	if (!order)
		order = (x->image > y->image) - (x->image < y->image);
	return order ? order : (x->kernel > y->kernel) - (x->kernel < y->kernel);
}

/* Returns the first kernel of a name; the end of the list if there is none. */
static size_t first_image_kernel(const struct mpk_code_info *info, struct mpk_span name)
{
	const struct mpk_image_kernel key = { .name = name };

	return mpk_lower_bound(info->image_kernels, info->image_kernel_count, sizeof key, &key,
			       info_by_name);
}

static bool is_image_kernel(const struct mpk_code_info *info, size_t at, struct mpk_span name)
{
	return at < info->image_kernel_count && mpk_span_equal(info->image_kernels[at].name, name);
}

static enum mpk_code keep_problem(const struct mpk_error *problem, struct mpk_arena *arena,
				  struct mpk_code_info *out, struct mpk_error *err)
{
	struct mpk_error *kept = mpk_arena_alloc(arena, sizeof *kept);

	MPK_TRY_ALLOC(kept, err);
	*kept = *problem;
	out->problem = kept;
	return MPK_OK;
}

enum mpk_code mpk_code_info_read_as(const struct mpk_code_format *f, struct mpk_arena *arena,
				    struct mpk_code_info *out, struct mpk_error *err)
{
	struct mpk_code_info empty = {
		.bytes = out->bytes, .off = out->off, .format = f, .pointer_bytes = 8
	};
	void *content = mpk_arena_alloc(arena, f->content_bytes);
	struct mpk_error problem = { 0 };
	enum mpk_code code;

	MPK_TRY_ALLOC(content, err);
	if (f->is_source) {
		empty.source = mpk_arena_alloc(arena, sizeof *empty.source);
		MPK_TRY_ALLOC(empty.source, err);
		empty.source->index.bytes = out->bytes;
		empty.source->index.arena = arena;
	}
	*out = empty;
	out->content = content;
	code = f->read ? f->read(out, content, arena, &problem) : MPK_OK;
	if (code == MPK_E_NOMEM)
		return mpk_fail_nomem(err);
	if (code != MPK_OK) {
		*out = empty;
		MPK_TRY(keep_problem(&problem, arena, out, err));
	}

	struct mpk_image_kernel *list;
	size_t most = 0, count = 0;

	for (size_t i = 0; i < out->image_count; i++)
		most += out->images[i].kernel_count;
	MPK_TRY_ARRAY(list, arena, most, err);
	for (size_t i = 0; i < out->image_count; i++)
		for (size_t k = 0; k < out->images[i].kernel_count; k++)
			list[count++] =
				(struct mpk_image_kernel){ out->images[i].kernels[k].name, i, k };
	if (count)
		qsort(list, count, sizeof *list, info_by_name);
	out->image_kernels = list;
	out->image_kernel_count = count;

	_Static_assert(offsetof(struct mpk_code_kernel, name) == 0, "names stand first in rows");
	MPK_TRY(mpk_names_of(out->kernels, sizeof *out->kernels, out->kernel_count, arena,
			     &out->kernel_names, err));
	return mpk_names_of(out->functions, sizeof *out->functions, out->function_count, arena,
			    &out->function_names, err);
}

enum mpk_code mpk_code_info_unplace(struct mpk_code_info *info, struct mpk_arena *arena,
				    struct mpk_error *err)
{
	struct mpk_error problem = *info->problem;

	problem.at.has_offset = false;
	return keep_problem(&problem, arena, info, err);
}

struct mpk_code_kernel *mpk_code_info_add_kernels(struct mpk_code_info *info, size_t count,
						  struct mpk_arena *arena)
{
	struct mpk_code_kernel *kernels = mpk_arena_array(arena, count, sizeof *kernels);

	info->kernels = kernels;
	info->kernel_count = kernels ? count : 0;
	return kernels;
}

const struct mpk_error *mpk_code_info_problem(const struct mpk_code_info *info)
{
	for (size_t i = 0; !info->problem && i < info->image_count; i++)
		if (info->images[i].problem)
			return info->images[i].problem;
	return info->problem;
}

const struct mpk_code_info *mpk_code_info_lister(const struct mpk_code_info *info)
{
	return info->image_count ? info->main_image : info;
}

bool mpk_code_info_find(const struct mpk_code_info *info, struct mpk_span name, size_t *kernel)
{
	return mpk_names_find(&info->kernel_names, name, kernel) ||
	       (info->format && info->format->find_symbol &&
		info->format->find_symbol(info, name, kernel));
}

void mpk_code_info_each(const struct mpk_code_info *info, struct mpk_span name,
			void (*fn)(const struct mpk_code_info *code, size_t kernel, void *arg),
			void *arg)
{
	const struct mpk_image_kernel *last = NULL;
	size_t kernel;

	if (mpk_code_info_find(info, name, &kernel))
		fn(info, kernel, arg);
	for (size_t i = first_image_kernel(info, name); is_image_kernel(info, i, name); i++) {
		const struct mpk_image_kernel *k = &info->image_kernels[i];

		if (!last || last->image != k->image)
			fn(&info->images[k->image], k->kernel, arg);
		last = k;
	}
}

enum mpk_code_defines mpk_code_info_defines(const struct mpk_code_info *info, struct mpk_span name)
{
	const struct mpk_code_info *lister = mpk_code_info_lister(info);
	bool (*may_define)(const struct mpk_code_info *, struct mpk_span) =
		info->format->may_define;

	if (!name.len)
		return MPK_CODE_POSSIBLE;
	if (mpk_names_find(&info->kernel_names, name, NULL))
		return MPK_CODE_DEFINED;
	if (is_image_kernel(info, first_image_kernel(info, name), name))
		return MPK_CODE_DEFINED;
	if (!lister)
		return MPK_CODE_POSSIBLE;
	if (mpk_names_find(&lister->function_names, name, NULL))
		return MPK_CODE_FUNCTION;
	if (lister->complete)
		return MPK_CODE_MISSING;
	return may_define && !may_define(info, name) ? MPK_CODE_MISSING : MPK_CODE_POSSIBLE;
}

void mpk_code_say(const struct mpk_code_verify *v, enum mpk_severity severity, uint64_t off,
		  const char *fmt, ...)
{
	struct mpk_error e = { 0 };
	char text[sizeof e.text];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	(void)mpk_fail_offset(&e, MPK_E_CORRUPT, v->space ? v->space : "blob", off, "%s", text);
	mpk_error_at_file(&e, v->file);
	mpk_error_at_path(&e, v->path);
	mpk_report_add(v->report, severity, v->check, &e);
}

void mpk_code_say_problem(const struct mpk_code_verify *v, const struct mpk_code_info *info,
			  const char *what)
{
	const struct mpk_error *e = info->problem;
	char line[32] = "";

	if (e->at.line)
		(void)snprintf(line, sizeof line, "line %u: ", (unsigned)e->at.line);
	mpk_code_say(v, MPK_ERROR, info->off + (e->at.has_offset ? e->at.offset : 0), "%s%s%s",
		     what, line, e->text);
}
