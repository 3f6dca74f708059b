/* SPDX-License-Identifier: Apache-2.0 */
/* ltoir.c - NVVM IR for link-time optimisation, as nvcc -dlto writes it to .ltoir files; only its
 * header is read. */
#include <inttypes.h>
#include <stdio.h>

#include "code/cuda.h"
#include "code/info.h"
#include "ltoir/ltoir.h"

static char suffix_of(const struct mpk_ltoir *l)
{
	return l->arch_specific ? 'a' : '\0';
}

/* The kernels are in the masked part, so the list is not complete. */
static enum mpk_code read_ltoir(struct mpk_code_info *info, void *content, struct mpk_arena *arena,
				struct mpk_error *err)
{
	struct mpk_ltoir *l = content;

	(void)arena;
	MPK_TRY(mpk_ltoir_read(info->bytes, l, err));
	info->sm = l->sm;
	mpk_cuda_target_name(MPK_TARGET_LTO, l->sm, suffix_of(l), info->target,
			     sizeof info->target);
	return MPK_OK;
}

static enum mpk_code ltoir_targets(struct mpk_span bytes, struct mpk_arena *arena,
				   struct mpk_code_target **out, size_t *count,
				   struct mpk_error *err)
{
	struct mpk_code_target *t = mpk_arena_alloc(arena, sizeof *t);
	struct mpk_ltoir l;

	MPK_TRY_ALLOC(t, err);
	MPK_TRY(mpk_ltoir_read(bytes, &l, err));
	*t = (struct mpk_code_target){ .kind = MPK_TARGET_LTO,
				       .sm = l.sm,
				       .suffix = suffix_of(&l),
				       .what = "LTO IR",
				       .packing = "stored",
				       .bytes = bytes.len,
				       .plain_bytes = bytes.len };
	mpk_cuda_target_name(t->kind, t->sm, t->suffix, t->name, sizeof t->name);
	*out = t;
	*count = 1;
	return MPK_OK;
}

static void ltoir_put_text(const struct mpk_code_info *info, struct mpk_strbuf *out)
{
	const struct mpk_ltoir *l = info->content;

	mpk_strbuf_printf(
		out,
		"NVVM IR for %s, of LLVM %u.%u, masked: a link with nvcc -dlto or nvJitLink "
		"makes machine code of it",
		info->target, l->llvm_major, l->llvm_minor);
}

static void ltoir_put_json(const struct mpk_code_info *info, struct mpk_json *j,
			   struct mpk_json_at *at)
{
	const struct mpk_ltoir *l = info->content;

	mpk_json_text(j, at, "target", info->target);
	mpk_json_printf(j, at, "container", "%u.%u", l->major, l->minor);
	mpk_json_printf(j, at, "nvvm_ir", "%u.%u", l->ir_major, l->ir_minor);
	mpk_json_printf(j, at, "nvvm_debug", "%u.%u", l->debug_major, l->debug_minor);
	mpk_json_printf(j, at, "llvm", "%u.%u", l->llvm_major, l->llvm_minor);
	mpk_json_u64(j, at, "ir_bytes", l->ir_bytes);
}

static void ltoir_verify(const struct mpk_code_info *info, const struct mpk_code_verify *v)
{
	if (info->problem)
		mpk_code_say_problem(v, info, "");
}

const struct mpk_code_format mpk_format_ltoir = {
	.word = "ltoir",
	.name = "LTO IR",
	.title = "LTO IR",
	.is = mpk_ltoir_is,
	.is_file = true,
	.verifies_broken = true,
	.read = read_ltoir,
	.targets = ltoir_targets,
	.content_bytes = sizeof(struct mpk_ltoir),
	.text = ltoir_put_text,
	.json = ltoir_put_json,
	.check = "ltoir-container",
	.about = "the header of LTO IR is whole; the IR is masked and not looked into",
	.verify = ltoir_verify,
};
