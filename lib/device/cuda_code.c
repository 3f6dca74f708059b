/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_code.c - which architectures CUDA code is for, and whether a device can run it
 *
 * Asked before a driver is there (--check), and to say more than the driver does when it refuses.
 */
#include "device/cuda_code.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "cubin/cubin.h"
#include "fatbin/fatbin.h"
#include "ptx/ptx.h"

/* One image: its architecture, and who may run it. */
struct image {
	unsigned sm;
	bool is_ptx;
	unsigned major, minor; /* PTX: its .version */
	char suffix;           /* 'a': this architecture alone; 'f': its family; NUL */
};

/* Calls visit for every image that a driver could choose.
 * Returns  false when the bytes are no CUDA code this program reads */
typedef void visitor(const struct image *image, void *user);

static bool visit_fatbin(struct mpk_span code, struct mpk_arena *arena, visitor *visit, void *user)
{
	struct mpk_fatbin fatbin;

	if (mpk_fatbin_read(code, arena, &fatbin, NULL) != MPK_OK)
		return false;
	for (size_t i = 0; i < fatbin.entry_count; i++) {
		const struct mpk_fatbin_entry *e = &fatbin.entries[i];
		struct image image = {
			.sm = e->sm,
			.is_ptx = e->kind == MPK_FATBIN_PTX,
			.major = e->ptx_major,
			.minor = e->ptx_minor,
			.suffix = e->arch_specific     ? 'a'
				  : e->family_specific ? 'f'
						       : '\0',
		};

		if (e->kind == MPK_FATBIN_PTX || e->kind == MPK_FATBIN_ELF)
			visit(&image, user);
	}
	return true;
}

static bool visit_images(struct mpk_span code, struct mpk_arena *arena, visitor *visit, void *user)
{
	struct mpk_cubin cubin;
	struct mpk_ptx ptx;

	if (mpk_fatbin_is(code))
		return visit_fatbin(code, arena, visit, user);
	if (mpk_cubin_is(code)) {
		if (mpk_cubin_read(code, arena, &cubin, NULL) != MPK_OK)
			return false;
		visit(&(struct image){ .sm = cubin.sm, .suffix = cubin.arch_specific ? 'a' : '\0' },
		      user);
		return true;
	}
	if (!mpk_ptx_is(code) || mpk_ptx_read(code, arena, &ptx, NULL) != MPK_OK)
		return false;
	visit(&(struct image){ .sm = ptx.sm,
			       .is_ptx = true,
			       .major = ptx.major,
			       .minor = ptx.minor,
			       .suffix = ptx.suffix },
	      user);
	return true;
}

/* --- describing --------------------------------------------------------------------------- */

struct text {
	char *out;
	size_t used;
};

static void append(const struct image *image, void *user)
{
	struct text *t = user;
	size_t left = MPK_CUDA_CODE_TEXT - t->used;
	char form[32] = "cubin";
	char suffix[2] = { image->suffix, '\0' };

	if (image->is_ptx && image->major)
		(void)snprintf(form, sizeof form, "PTX %u.%u", image->major, image->minor);
	else if (image->is_ptx)
		(void)snprintf(form, sizeof form, "PTX");
	int n = snprintf(t->out + t->used, left, "%ssm_%u%s (%s)", t->used ? ", " : "", image->sm,
			 suffix, form);

	t->used += n < 0 ? 0 : (size_t)n < left ? (size_t)n : left - 1;
}

const char *mpk_cuda_code_describe(struct mpk_span code, char out[MPK_CUDA_CODE_TEXT])
{
	struct mpk_arena arena = { 0 };
	struct text text = { .out = out };

	out[0] = '\0';
	(void)visit_images(code, &arena, append, &text);
	mpk_arena_fini(&arena);
	return out;
}

/* --- judging ------------------------------------------------------------------------------- */

struct verdict {
	unsigned device_sm;
	bool runs;
};

/* PTX runs on its own and every later architecture, machine code on the same major one with
 * the same or a later minor; what has a suffix on less. */
static void judge(const struct image *image, void *user)
{
	struct verdict *v = user;
	bool same_major = image->sm / 10 == v->device_sm / 10;

	if (image->sm > v->device_sm)
		return;
	if (image->suffix == 'a')
		v->runs |= image->sm == v->device_sm;
	else
		v->runs |= same_major || (image->is_ptx && !image->suffix);
}

enum mpk_code mpk_cuda_code_check(struct mpk_span code, const struct mpk_device_info *info,
				  struct mpk_error *err)
{
	struct mpk_arena arena = { 0 };
	struct verdict verdict = { .device_sm = info->sm };
	char held[MPK_CUDA_CODE_TEXT];
	bool known = visit_images(code, &arena, judge, &verdict);

	mpk_arena_fini(&arena);
	if (!known || verdict.runs)
		return MPK_OK;
	return mpk_fail(
		err, MPK_E_LOAD,
		"the code is for %s, but %s is %s: build it for that architecture, or as PTX of it or an earlier one",
		mpk_cuda_code_describe(code, held), info->name, info->arch);
}

bool mpk_cuda_code_is_func(struct mpk_span code, struct mpk_span name)
{
	struct mpk_arena arena = { 0 };
	struct mpk_ptx ptx;
	bool found = false;

	if (mpk_ptx_is(code) && mpk_ptx_read(code, &arena, &ptx, NULL) == MPK_OK)
		for (size_t i = 0; i < ptx.function_count && !found; i++)
			found = mpk_span_equal(ptx.functions[i], name);
	mpk_arena_fini(&arena);
	return found;
}
