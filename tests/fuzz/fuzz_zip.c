/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_zip - a zip archive, a wheel: its members unpacked, and one found by name */
#include "fuzz.h"
#include "zip/zip.h"

enum { LIMIT = 1 << 16 };

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	static const struct mpk_zip_options options = { .space = "file",
							.advice = "unpack it",
							.check_stored = true };
	struct mpk_zip_member *members;
	struct mpk_span content;
	size_t count;

	if (mpk_zip_list(bytes, "file", arena, &members, &count, NULL) != MPK_OK)
		return;
	for (size_t i = 0; i < count && i < 8; i++) {
		fuzz_touch(members[i].name);
		if (members[i].plain < LIMIT &&
		    mpk_zip_read(bytes, &members[i], &options, arena, &content, NULL) == MPK_OK)
			fuzz_touch(content);
	}
}
