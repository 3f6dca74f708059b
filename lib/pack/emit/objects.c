/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/internal/build.h"

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
		if (!e->sources_checked)
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
