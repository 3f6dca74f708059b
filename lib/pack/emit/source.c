/* SPDX-License-Identifier: Apache-2.0 */
/* Host sources by themselves: what they are, and whether they are for the machine. */
#include <string.h>

#include "ar/ar.h"
#include "emit/emit.h"
#include "emit/internal/build.h"
#include "io/mapping.h"
#include "text/escape.h"

enum mpk_code mpk_source_classify(const char *path, enum mpk_source_kind *out,
				  struct mpk_error *err)
{
	static const struct {
		const char *suffix;
		enum mpk_source_kind kind;
	} rows[] = {
		{ ".ll", MPK_SOURCE_IR },      { ".bc", MPK_SOURCE_IR },
		{ ".c", MPK_SOURCE_C },        { ".o", MPK_SOURCE_OBJECT },
		{ ".obj", MPK_SOURCE_OBJECT }, { ".a", MPK_SOURCE_ARCHIVE },
		{ ".cc", MPK_SOURCE_CXX },     { ".cpp", MPK_SOURCE_CXX },
		{ ".cxx", MPK_SOURCE_CXX },
	};
	const char *base = mpk_path_name(path);
	const char *dot = strrchr(base, '.'), *suffix = dot ? dot : "";

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		if (strcmp(suffix, rows[i].suffix) == 0) {
			*out = rows[i].kind;
			return MPK_OK;
		}
	}
	if (strcmp(suffix, ".so") == 0 || strstr(base, ".so."))
		return mpk_fail(
			err, MPK_E_UNSUPPORTED,
			"a shared library cannot become part of another; give its objects or its .a, or link against it with --ldflag");
	if (strcmp(suffix, ".cu") == 0)
		return mpk_fail(
			err, MPK_E_UNSUPPORTED,
			"only C and C++ are compiled here; compile '%s' to an object and name that",
			MPK_QUOTE(mpk_span_str(base)));
	return mpk_fail(err, MPK_E_UNSUPPORTED,
			"a host source is .ll, .bc, .c, .cc, .cpp, .o or .a, which '%s' is not",
			MPK_QUOTE(mpk_span_str(base)));
}

static enum mpk_code check_bytes(const struct mpk_target *target, struct mpk_span bytes,
				 struct mpk_arena *arena, struct mpk_error *err)
{
	struct mpk_ar ar;

	if (!mpk_ar_is(bytes))
		return mpk_target_check(target, bytes, err);
	MPK_TRY(mpk_ar_read(bytes, arena, &ar, err));
	for (size_t i = 0; i < ar.member_count; i++) {
		enum mpk_code code = mpk_target_check(target, ar.members[i].data, err);

		if (code != MPK_OK) {
			mpk_error_prefix(err, "%s: ", MPK_QUOTE(ar.members[i].name));
			return code;
		}
	}
	return MPK_OK;
}

enum mpk_code mpk_source_check(const char *path, const struct mpk_target *target,
			       struct mpk_error *err)
{
	MPK_CLEANUP(mpk_mapping_close) struct mpk_mapping map = { 0 };
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };

	MPK_TRY(mpk_mapping_open(path, &map, err));
	enum mpk_code code = check_bytes(target, map.bytes, &arena, err);
	if (code != MPK_OK)
		mpk_error_at_file(err, path);
	return code;
}
