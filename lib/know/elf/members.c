/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/members.h"

#include <string.h>

#include "ar/ar.h"
#include "base/strmap.h"
#include "macho/macho.h"
#include "tar/tar.h"
#include "text/escape.h"

enum mpk_code mpk_members_ar(struct mpk_span bytes, struct mpk_arena *arena,
			     struct mpk_member **out, size_t *count, struct mpk_error *err)
{
	struct mpk_member *list;
	struct mpk_ar ar;

	MPK_TRY(mpk_ar_read(bytes, arena, &ar, err));
	list = mpk_arena_array(arena, ar.member_count, sizeof *list);
	MPK_TRY_ALLOC(list, err);
	for (size_t i = 0; i < ar.member_count; i++) {
		const struct mpk_ar_member *m = &ar.members[i];

		list[i] =
			(struct mpk_member){ mpk_arena_text(arena, m->name), m->data, m->data_off };
		MPK_TRY_ALLOC(list[i].name, err);
	}
	*out = list;
	*count = ar.member_count;
	return MPK_OK;
}

enum mpk_code mpk_members_tar(struct mpk_span bytes, struct mpk_arena *arena,
			      struct mpk_member **out, size_t *count, struct mpk_error *err)
{
	struct mpk_member *list;
	struct mpk_tar tar;
	size_t n = 0;

	MPK_TRY(mpk_tar_read(bytes, arena, &tar, err));
	list = mpk_arena_array(arena, tar.member_count, sizeof *list);
	MPK_TRY_ALLOC(list, err);
	for (size_t i = 0; i < tar.member_count; i++) {
		const struct mpk_tar_member *m = &tar.members[i];

		if (m->type == MPK_TAR_FILE)
			list[n++] = (struct mpk_member){ m->name, m->data, m->data_off };
	}
	*out = list;
	*count = n;
	return MPK_OK;
}

enum mpk_code mpk_members_universal(struct mpk_span bytes, struct mpk_arena *arena,
				    struct mpk_member **out, size_t *count, struct mpk_error *err)
{
	struct mpk_macho_slice *slices;
	struct mpk_member *list;
	size_t n;

	MPK_TRY(mpk_macho_slices(bytes, arena, &slices, &n, err));
	list = mpk_arena_array(arena, n, sizeof *list);
	MPK_TRY_ALLOC(list, err);
	for (size_t i = 0; i < n; i++)
		list[i] = (struct mpk_member){ slices[i].name, slices[i].bytes, slices[i].off };
	*out = list;
	*count = n;
	return MPK_OK;
}

bool mpk_member_is_source(const char *name)
{
	static const char *const suffixes[] = { ".c", ".cc", ".cpp", ".cxx", ".cu" };
	const char *dot = strrchr(name, '.');

	for (size_t i = 0; dot && i < MPK_ARRAY_COUNT(suffixes); i++)
		if (strcmp(dot, suffixes[i]) == 0)
			return true;
	return false;
}

enum mpk_code mpk_members_find(const struct mpk_member *members, size_t count, const char *name,
			       size_t *out, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	struct mpk_span *names;
	size_t near;

	for (size_t i = 0; i < count; i++) {
		if (strcmp(members[i].name, name) == 0) {
			*out = i;
			return MPK_OK;
		}
	}
	names = mpk_arena_array(&scratch, count, sizeof *names);
	MPK_TRY_ALLOC(names, err);
	for (size_t i = 0; i < count; i++)
		names[i] = mpk_span_str(members[i].name);
	near = mpk_closest(mpk_span_str(name), names, count);
	if (near < count)
		return mpk_fail(err, MPK_E_NOTFOUND, "there is no member '%s'; did you mean '%s'?",
				MPK_QUOTE(mpk_span_str(name)), MPK_QUOTE(names[near]));
	return mpk_fail(err, MPK_E_NOTFOUND, "there is no member '%s' among the %zu",
			MPK_QUOTE(mpk_span_str(name)), count);
}
