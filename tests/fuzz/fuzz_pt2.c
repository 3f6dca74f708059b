/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_pt2 - an archive as a package of PyTorch: each member is a part, whatever documents say */
#include "fuzz.h"
#include "pt2/pt2.h"

enum { HEAD = 64 };

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	struct mpk_zip_member *members;
	struct mpk_pt2 pt2;
	uint8_t head[HEAD];
	size_t count;
	bool is;

	if (mpk_zip_list(bytes, "file", arena, &members, &count, NULL) != MPK_OK)
		return;
	for (size_t i = 0; i < count && i < 8; i++)
		FUZZ_REQUIRE(mpk_zip_head(bytes, &members[i], head, sizeof head) <= sizeof head);
	if (mpk_pt2_read(bytes, members, count, arena, &is, &pt2, NULL) != MPK_OK || !is)
		return;
	FUZZ_REQUIRE(pt2.count <= count);
	fuzz_touch(pt2.root);
	fuzz_touch(pt2.version);
	for (size_t i = 0; i < pt2.count; i++) {
		fuzz_touch(pt2.parts[i].member);
		fuzz_touch(pt2.parts[i].name);
		fuzz_touch(mpk_span_str(mpk_pt2_role_words[pt2.parts[i].role]));
	}
}
