/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_amdgpu - AMD's code objects, with the MessagePack in their notes */
#include "amdgpu/amdgpu.h"
#include "fuzz.h"

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	struct mpk_amdgpu amdgpu;

	(void)!mpk_amdgpu_read_head(bytes, &amdgpu, NULL);
	(void)!mpk_amdgpu_read(bytes, arena, &amdgpu, NULL);
}
