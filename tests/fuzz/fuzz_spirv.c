/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_spirv - a SPIR-V module, and the parameters of its entry points */
#include "fuzz.h"
#include "spirv/spirv.h"

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	const struct mpk_spirv_param *params;
	struct mpk_spirv spirv;
	size_t count;
	bool known;

	if (mpk_spirv_read(bytes, arena, &spirv, NULL) != MPK_OK)
		return;
	for (size_t i = 0; i < spirv.entry_count && i < 16; i++)
		(void)!mpk_spirv_params(bytes, &spirv, i, arena, &params, &count, &known, NULL);
}
