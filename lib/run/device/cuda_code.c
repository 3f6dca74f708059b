/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_code.c - which architectures CUDA code is for, and whether a device can run it
 *
 * Asked before a driver loads it (mpk_device_check), and to say more than the driver does when it refuses.
 */
#include "device/internal/cuda.h"

#include <stdio.h>

#include "base/arena.h"
#include "code/cuda.h"
#include "code/cuda_images.h"

struct images {
	struct mpk_code_target *items;
	size_t count; /* 0: the bytes are no CUDA code that this program reads */
};

static struct images cuda_code_images_of(struct mpk_span code, struct mpk_arena *arena)
{
	struct images images = { 0 };

	if (mpk_cuda_images(code, arena, &images.items, &images.count, NULL) != MPK_OK ||
	    (images.count && !images.items[0].sm))
		images.count = 0;
	return images;
}

/* As NVIDIA's tools name architectures, "sm_90a", with the form in brackets. */
static int cuda_code_describe(const struct mpk_code_target *t, char *out, size_t room)
{
	const char *form = t->kind == MPK_TARGET_BINARY ? "cubin" : "not run by drivers";
	char ptx[32];

	if (t->kind == MPK_TARGET_PTX) {
		(void)snprintf(ptx, sizeof ptx, "PTX %u.%u", t->ptx_major, t->ptx_minor);
		form = ptx;
	}
	return snprintf(out, room, "sm_%u%.*s (%s)", t->sm, t->suffix ? 1 : 0, &t->suffix, form);
}

const char *mpk_cuda_code_describe(struct mpk_span code, char out[MPK_CUDA_CODE_TEXT])
{
	struct mpk_arena arena = { 0 };
	struct images images = cuda_code_images_of(code, &arena);
	size_t used = 0;

	out[0] = '\0';
	for (size_t i = 0; i < images.count && used + 2 < MPK_CUDA_CODE_TEXT; i++) {
		int n = snprintf(out + used, MPK_CUDA_CODE_TEXT - used, "%s", i ? ", " : "");

		used += (size_t)n;
		n = cuda_code_describe(&images.items[i], out + used, MPK_CUDA_CODE_TEXT - used);
		used += n < 0                                   ? 0
			: (size_t)n < MPK_CUDA_CODE_TEXT - used ? (size_t)n
								: MPK_CUDA_CODE_TEXT - used - 1;
	}
	mpk_arena_fini(&arena);
	return out;
}

/* The rule by which a driver chooses among images is that of code/cuda.h; bytes that nobody here
 * understands are left to the driver. */
enum mpk_code mpk_cuda_code_check(struct mpk_span code, const struct mpk_device_info *info,
				  struct mpk_error *err)
{
	const struct mpk_cuda_place place = { .sm = info->sm };
	struct mpk_arena arena = { 0 };
	struct images images = cuda_code_images_of(code, &arena);
	bool runs =
		!images.count || mpk_cuda_choose(images.items, images.count, &place) < images.count;
	char held[MPK_CUDA_CODE_TEXT];

	mpk_arena_fini(&arena);
	if (runs)
		return MPK_OK;
	return mpk_fail(
		err, MPK_E_LOAD,
		"the code is for %s, but %s is %s: build it for that architecture, or as PTX of it or an earlier one",
		mpk_cuda_code_describe(code, held), info->name, info->arch);
}
