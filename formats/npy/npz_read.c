/* SPDX-License-Identifier: Apache-2.0 */
/* npz_read.c - arrays of archives, also those that numpy.savez_compressed writes */
#include "npy/npy.h"

#include "base/strbuf.h"
#include "base/strmap.h"
#include "text/escape.h"

enum mpk_code mpk_npz_read(struct mpk_span zip, const struct mpk_zip_member *m,
			   struct mpk_arena *arena, struct mpk_span *out, struct mpk_error *err)
{
	static const struct mpk_zip_options options = { .space = "npz",
							.advice = "save it with numpy.savez" };

	return mpk_zip_read(zip, m, &options, arena, out, err);
}

enum mpk_code mpk_npz_find(struct mpk_span bytes, const char *key, struct mpk_arena *arena,
			   struct mpk_span *out, struct mpk_error *err)
{
	struct mpk_span word = mpk_npz_name(mpk_span_str(key ? key : ""));
	struct mpk_zip_member *members;
	size_t count, found;

	MPK_TRY(mpk_npz_list(bytes, arena, &members, &count, err));
	found = count;
	for (size_t i = 0; i < count; i++)
		if (word.len ? mpk_span_equal(members[i].name, word) : count == 1)
			found = i;
	if (found == count) {
		MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf list = { 0 };
		struct mpk_span *names = mpk_arena_array(arena, count + 1, sizeof *names);
		size_t close;

		MPK_TRY_ALLOC(names, err);
		for (size_t i = 0; i < count; i++)
			names[i] = members[i].name;
		close = word.len ? mpk_closest(word, names, count) : count;
		for (size_t i = 0; i < count && i < 16; i++)
			mpk_strbuf_printf(&list, "%s%s", i ? ", " : "", MPK_QUOTE(names[i]));
		if (!word.len)
			return mpk_fail(err, MPK_E_NOTFOUND,
					"the archive holds %zu arrays; name one as FILE:KEY (%s)",
					count, mpk_strbuf_text(&list));
		if (close < count)
			return mpk_fail(err, MPK_E_NOTFOUND,
					"the archive has no array '%s'; did you mean '%s'?",
					MPK_QUOTE(word), MPK_QUOTE(names[close]));
		return mpk_fail(err, MPK_E_NOTFOUND, "the archive has no array '%s' (it has: %s)",
				MPK_QUOTE(word), mpk_strbuf_text(&list));
	}
	return mpk_npz_read(bytes, &members[found], arena, out, err);
}
