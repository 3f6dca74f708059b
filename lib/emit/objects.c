/* SPDX-License-Identifier: Apache-2.0 */
#include "ar/ar.h"
#include "emit/build.h"
#include "text/escape.h"

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

static enum mpk_code collect_jobs(struct mpk_build *b, struct mpk_job *jobs, size_t *count,
				  struct mpk_error *err)
{
	const struct mpk_emit *e = b->e;

	/* The blob first: it is the largest and may come from LLVM, which starts slowly. */
	if (b->strategy != MPK_STRATEGY_NONE)
		MPK_TRY(mpk_build_blob_job(b, &jobs[(*count)++], err));
	for (size_t i = 0; i < e->source_count && e->kind != MPK_EMIT_OBJ; i++) {
		const struct mpk_emit_source *s = &e->sources[i];

		if (s->kind == MPK_SOURCE_C || s->kind == MPK_SOURCE_CXX ||
		    s->kind == MPK_SOURCE_IR) {
			MPK_TRY(mpk_build_source_job(b, i, &jobs[(*count)++], err));
			continue;
		}
		b->objects[i] = s->path;
		MPK_TRY(mpk_source_check(s->path, &e->target, err));
	}
	return MPK_OK;
}

enum mpk_code mpk_build_objects(struct mpk_build *b, struct mpk_error *err)
{
	size_t most = b->e->source_count + 1, count = 0;
	struct mpk_job *jobs = mpk_arena_array(b->arena, most, sizeof *jobs);

	b->objects = mpk_arena_array(b->arena, most, sizeof *b->objects);
	MPK_TRY_ALLOC(jobs && b->objects, err);
	MPK_TRY(collect_jobs(b, jobs, &count, err));
	return b->e->dry_run ? MPK_OK : mpk_jobs_run(jobs, count, b->e->jobs, err);
}
