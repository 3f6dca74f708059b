/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_sourcecode - kernels as source; the first byte is the language */
#include "fuzz.h"
#include "sourcecode/sourcecode.h"

static void ask_kernel(const struct mpk_source_code_kernel *kernel,
		       enum mpk_source_code_language language, struct mpk_source_code_index *index,
		       struct mpk_strbuf *symbol)
{
	struct mpk_source_code_resolved resolved;
	struct mpk_source_code_param p;

	(void)mpk_source_code_symbol(kernel, index, symbol);
	for (size_t k = 0; k < kernel->param_count && k < 16; k++) {
		struct mpk_span text = mpk_source_code_param(kernel, k);

		mpk_source_code_param_read(text, &p);
		(void)mpk_source_code_resolve(text, language, index, &resolved);
		(void)mpk_source_code_param_is_made(text, index);
	}
}

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	static const enum mpk_source_code_language languages[] = { MPK_SOURCE_CODE_OPENCL,
								   MPK_SOURCE_CODE_METAL,
								   MPK_SOURCE_CODE_WGSL,
								   MPK_SOURCE_CODE_CUDA };
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf symbol = { 0 };
	struct mpk_span text = fuzz_rest(bytes), words[MPK_SOURCE_CODE_NVRTC_MAX];
	const struct mpk_source_code_piece *pieces;
	struct mpk_source_code_index index = { .arena = arena };
	enum mpk_source_code_language language =
		languages[fuzz_choice(bytes, MPK_ARRAY_COUNT(languages))];
	struct mpk_source_code source;
	size_t count;

	(void)!mpk_source_code_split(text, arena, &pieces, &count, NULL);
	(void)mpk_source_code_nvrtc(text, words, &count);
	if (mpk_source_code_read(text, language, arena, &source, NULL) != MPK_OK ||
	    mpk_source_code_drop_copies(&source, text, arena, NULL) != MPK_OK)
		return;
	index.bytes = source.plain;
	(void)mpk_source_code_may_define(&index, mpk_span_str("k"));
	for (size_t i = 0; i < source.kernel_count && i < 16; i++)
		ask_kernel(&source.kernels[i], language, &index, &symbol);
}
