/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_tar - a tar file */
#include "fuzz.h"
#include "tar/tar.h"

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	struct mpk_tar tar;

	(void)mpk_tar_is(bytes);
	if (mpk_tar_read(bytes, arena, &tar, NULL) != MPK_OK)
		return;
	for (size_t i = 0; i < tar.member_count; i++) {
		fuzz_touch(mpk_span_str(tar.members[i].name));
		fuzz_touch(tar.members[i].data);
	}
}
