/* SPDX-License-Identifier: Apache-2.0 */
/* code_toy.h - the worked example of CONTRIBUTING.md for a code format: what would be lib/know/code/toy.c
 *
 * Toy code: "TOY1", the most threads of a block as a byte, the number of kernels as a byte; for each
 * kernel the number of its parameters and the length of its name, a byte each, and the name.
 */
#ifndef MPK_TESTS_UNIT_CODE_TOY_H
#define MPK_TESTS_UNIT_CODE_TOY_H

#include "base/cursor.h"
#include "code/info.h"
#include "code/show.h"
#include "text/phrase.h"

struct toy {
	uint8_t threads, kernels;
};

static enum mpk_code read_toy(struct mpk_code_info *info, void *content, struct mpk_arena *arena,
			      struct mpk_error *err)
{
	struct mpk_cursor c = mpk_cursor_of(info->bytes, 0, "payload");
	struct toy *toy = content;
	struct mpk_code_kernel *kernels;
	struct mpk_span magic;
	uint8_t params, len;

	MPK_TRY(mpk_read_bytes(&c, "toy: magic", 4, &magic, err));
	MPK_TRY(mpk_read_u8(&c, "toy: threads", &toy->threads, err));
	MPK_TRY(mpk_read_u8(&c, "toy: kernels", &toy->kernels, err));
	kernels = mpk_code_info_add_kernels(info, toy->kernels, arena);
	MPK_TRY_ALLOC(kernels, err);
	for (size_t i = 0; i < toy->kernels; i++) {
		MPK_TRY(mpk_read_u8(&c, "toy: parameters", &params, err));
		MPK_TRY(mpk_read_u8(&c, "toy: length of a name", &len, err));
		MPK_TRY(mpk_read_bytes(&c, "toy: name", len, &kernels[i].name, err));
		kernels[i].param_count = params;
	}
	info->complete = true; /* no other kernels than those listed */
	return MPK_OK;
}

static uint64_t toy_param_bytes(const struct mpk_code_info *info, size_t kernel, size_t i)
{
	(void)info, (void)kernel, (void)i;
	return 8;
}

static void toy_text(const struct mpk_code_info *info, struct mpk_strbuf *out)
{
	mpk_strbuf_puts(out, "toy code, ");
	mpk_put_count(out, info->kernel_count, "kernel");
}

static void toy_kernel_text(const struct mpk_code_info *info, size_t kernel, struct mpk_strbuf *out)
{
	const struct toy *toy = info->content;

	mpk_strbuf_puts(out, "toy: ");
	mpk_put_count(out, info->kernels[kernel].param_count, "parameter");
	mpk_strbuf_printf(out, ", at most %u threads", toy->threads);
}

static void toy_kernel_json(const struct mpk_code_info *info, size_t kernel, struct mpk_json *j,
			    struct mpk_json_at *at)
{
	const struct toy *toy = info->content;

	mpk_json_u64(j, at, "parameter_count", info->kernels[kernel].param_count);
	mpk_json_u64(j, at, "max_threads", toy->threads);
}

static void toy_verify(const struct mpk_code_info *info, const struct mpk_code_verify *v)
{
	const struct toy *toy = info->content;

	if (!toy->threads)
		mpk_code_say(v, MPK_ERROR, info->off + 4, "no block is small enough for this code");
}

static const struct mpk_code_format mpk_format_toy = {
	.word = "toy",
	.name = "toy code",
	.magics = { "TOY1" },
	.claims = { { "opencl", "toy" } },
	.read = read_toy,
	.content_bytes = sizeof(struct toy),
	.param_bytes = toy_param_bytes,
	.text = toy_text,
	.kernel_text = toy_kernel_text,
	.kernel_json = toy_kernel_json,
	.check = "toy-block",
	.about = "toy code runs in some block",
	.verify = toy_verify,
};

#endif
