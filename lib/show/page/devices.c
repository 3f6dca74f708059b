/* SPDX-License-Identifier: Apache-2.0 */
/* devices.c - writes into the page's document which devices run a file: the verdict of --check for
 * every known device, so that the page and the command always agree */
#include <stdio.h>
#include <string.h>

#include "amdgpu/amdgpu.h"
#include "check/check.h"
#include "code/cuda.h"
#include "page/internal/page.h"

enum { YES, PTX, PART, NO, WORDS, OLDEST_SM = 50 };

static const char *const words[WORDS] = { "yes", "ptx", "part", "no" };

struct asked {
	struct mpk_page *page;
	const struct mpk_view *view;
	struct mpk_arena arena;
	struct mpk_check_code code;
	struct mpk_strbuf names[WORDS];
};

static void asked_fini(struct asked *a)
{
	for (size_t i = 0; i < WORDS; i++)
		mpk_strbuf_fini(&a->names[i]);
	mpk_arena_fini(&a->arena);
}

/* @other  receives whether the file has no code for this maker's devices, so that further ones need
 * not be tried */
static enum mpk_code ask(struct asked *a, const char *name, const char *amd, unsigned sm,
			 bool *other, struct mpk_error *err)
{
	static const char *const only[] = { "device" };
	const struct mpk_there there = {
		.only = only,
		.only_count = 1,
		.device = name,
		.amd = amd,
		.cuda = { .sm = sm },
		.is_one_of_several = a->page->several,
	};
	struct mpk_check_result result = { 0 };
	enum mpk_code code =
		mpk_check_gpu_alone(a->view, &there, &a->arena, &a->code, &result, err);
	size_t word = WORDS;

	mpk_report_fini(&result.report);
	MPK_TRY(code);
	switch (result.gpu) {
	case MPK_CHECK_GPU_UNASKED:
	case MPK_CHECK_GPU_NONE:
	case MPK_CHECK_GPU_PORTABLE: /* portable code is for no device in particular */
	case MPK_CHECK_GPU_OTHER:
		*other = true;
		return MPK_OK;
	case MPK_CHECK_GPU_RUNS:
		word = result.gpu_by_ptx ? PTX : YES;
		break;
	case MPK_CHECK_GPU_PARTLY:
		word = PART;
		break;
	case MPK_CHECK_GPU_LACKS:
		word = NO;
		break;
	}
	mpk_strbuf_printf(&a->names[word], "%s%s", a->names[word].len ? " " : "", name);
	return MPK_OK;
}

enum mpk_code mpk_page_devices(struct mpk_page *page, const struct mpk_view *view,
			       struct mpk_json_at *at, struct mpk_error *err)
{
	MPK_CLEANUP(asked_fini) struct asked a = { .page = page, .view = view };
	struct mpk_json_at *runs;
	const char *processor;
	bool other = false;
	char name[24];

	for (const struct mpk_cuda_gpu *gpu = mpk_cuda_devices; gpu->sm && !other; gpu++) {
		/* current drivers no longer support these devices */
		if (gpu->sm < OLDEST_SM)
			continue;
		(void)snprintf(name, sizeof name, "sm_%u", gpu->sm);
		MPK_TRY(ask(&a, name, NULL, gpu->sm, &other, err));
	}
	other = false;
	for (size_t i = 0; !other && (processor = mpk_amdgpu_processor(i)) != NULL; i++)
		if (!strstr(processor, "generic"))
			MPK_TRY(ask(&a, processor, processor, 0, &other, err));
	runs = mpk_json_object(&page->json, at, "runs");
	for (size_t i = 0; i < WORDS; i++)
		if (a.names[i].len)
			mpk_page_shared_member(page, &page->json, runs, words[i], &a.names[i]);
	return MPK_OK;
}
