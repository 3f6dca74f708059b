/* SPDX-License-Identifier: Apache-2.0 */
/* launch.c - the keys of [[function]] and [[function.steps]]
 *
 * A step runs a kernel or calls a C function. Which of the two it is decides which other keys it takes.
 */
#include <stddef.h>

#include "base/compiler.h"
#include "manifest/internal/schema.h"

#define STEP_FIELDS(type, member)                                                                  \
	STEP(TEXT, type, member, kernel), STEP(TEXT, type, member, calls),                         \
		STEP(TEXT, type, member, returns), STEP(EXPRS, type, member, args),                \
		STEP(EXPRS, type, member, grid), STEP(EXPRS, type, member, block),                 \
		STEP(EXPRS, type, member, cluster), STEP(EXPR, type, member, shared),              \
		STEP(BOOL, type, member, cooperative), STEP(BOOL, type, member, pdl)
#define STEP(kind_, type, member, key)                                                             \
	{ .name = #key, .kind = MPK_TOML_FIELD_##kind_, .off = offsetof(type, member key) }

/* --- a step ---------------------------------------------------------------------------------- */

static void need(struct mpk_toml_reader *r, struct mpk_pos pos, bool present, const char *table,
		 const char *key)
{
	if (!present)
		mpk_toml_read_error(r, pos, "missing-key", "%s needs '%s'", table, key);
}

/* A C function runs where it is called, once. */
static void refuse_extents(struct mpk_toml_reader *r, const struct mpk_manifest_step *s)
{
	const struct {
		struct mpk_pos pos;
		const char *key;
	} keys[] = {
		{ s->kernel.pos, "kernel" }, { s->grid.pos, "grid" },
		{ s->block.pos, "block" },   { s->cluster.pos, "cluster" },
		{ s->shared.pos, "shared" },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(keys); i++)
		if (keys[i].pos.line)
			mpk_toml_read_error(
				r, keys[i].pos, "misplaced-key",
				"'%s' has no place here: 'calls' names a C function, which is no kernel",
				keys[i].key);
	if (s->cooperative || s->pdl)
		mpk_toml_read_error(
			r, s->calls.pos, "misplaced-key",
			"'%s' has no place here: 'calls' names a C function, which is no kernel",
			s->cooperative ? "cooperative" : "pdl");
}

/* What is missing is asked for by the table that lacks it. */
static void check_step(struct mpk_toml_reader *r, const struct mpk_manifest_step *s,
		       const char *table)
{
	if (s->calls.text) {
		refuse_extents(r, s);
		return;
	}
	if (!s->kernel.text)
		mpk_toml_read_error(r, s->pos, "missing-key", "%s needs 'kernel' (or 'calls')",
				    table);
	need(r, s->pos, s->args.present, table, "args");
	need(r, s->pos, s->grid.present, table, "grid");
	need(r, s->pos, s->block.present, table, "block");
	if (s->returns.pos.line)
		mpk_toml_read_error(r, s->returns.pos, "misplaced-key",
				    "'returns' has no place here: kernels return nothing");
}

static void finish_step(struct mpk_toml_reader *r, void *out)
{
	check_step(r, out, "[[function.steps]]");
}

static const struct mpk_toml_field step_fields[] = { STEP_FIELDS(struct mpk_manifest_step, ) };

static const struct mpk_toml_schema step_schema = {
	.what = "[[function.steps]]",
	.fields = step_fields,
	.field_count = MPK_ARRAY_COUNT(step_fields),
	.bytes = sizeof(struct mpk_manifest_step),
	.pos_off = offsetof(struct mpk_manifest_step, pos),
	.done = finish_step,
};

/* --- a function -------------------------------------------------------------------------------- */

static const struct mpk_toml_field launch_fields[] = {
	{ .name = "name",
	  .kind = MPK_TOML_FIELD_TEXT,
	  .required = true,
	  .off = offsetof(struct mpk_manifest_launch_row, launch.name) },
	{ .name = "params",
	  .kind = MPK_TOML_FIELD_TEXTS,
	  .required = true,
	  .off = offsetof(struct mpk_manifest_launch_row, launch.params) },
	{ .name = "temps",
	  .kind = MPK_TOML_FIELD_TEXTS,
	  .off = offsetof(struct mpk_manifest_launch_row, launch.temps) },
	STEP_FIELDS(struct mpk_manifest_launch_row, own.),
	{ .name = "steps",
	  .kind = MPK_TOML_FIELD_TABLES,
	  .off = offsetof(struct mpk_manifest_launch_row, launch.steps),
	  .count_off = offsetof(struct mpk_manifest_launch_row, launch.step_count),
	  .rows = &step_schema },
};

/* The first key of a step in [[function]] itself, for a finding about it; line 0: there is
 * none. */
static struct mpk_pos own_step_pos(const struct mpk_manifest_step *own)
{
	const struct mpk_pos positions[] = { own->kernel.pos,  own->calls.pos, own->returns.pos,
					     own->args.pos,    own->grid.pos,  own->block.pos,
					     own->cluster.pos, own->shared.pos };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(positions); i++)
		if (positions[i].line)
			return positions[i];
	return (struct mpk_pos){ 0 };
}

/* A function of one step has no [[function.steps]]: its keys are in the table itself and
 * become one step. */
static void take_own_step(struct mpk_toml_reader *r, struct mpk_manifest_launch_row *row)
{
	struct mpk_manifest_step *step = mpk_arena_alloc(r->arena, sizeof *step);

	if (!step) {
		r->failed = true;
		return;
	}
	*step = row->own;
	step->pos = row->launch.pos;
	check_step(r, step, "[[function]]");
	row->launch.steps = step;
	row->launch.step_count = 1;
}

/* Either steps or the keys of one step; both would leave open which comes first. */
static void finish_launch(struct mpk_toml_reader *r, void *out)
{
	struct mpk_manifest_launch_row *row = out;
	struct mpk_pos own = own_step_pos(&row->own);

	if (!row->launch.steps)
		take_own_step(r, row);
	else if (own.line)
		mpk_toml_read_error(r, own, "steps",
				    "'steps' holds the kernels; this belongs into one of them");
	else if (!row->launch.step_count)
		mpk_toml_read_error(r, row->launch.pos, "steps", "'steps' is empty");
	row->launch.valid = r->report->errors == r->row_errors;
}

const struct mpk_toml_schema mpk_manifest_launch_schema = {
	.what = "[[function]]",
	.fields = launch_fields,
	.field_count = MPK_ARRAY_COUNT(launch_fields),
	.bytes = sizeof(struct mpk_manifest_launch_row),
	.pos_off = offsetof(struct mpk_manifest_launch_row, launch.pos),
	.done = finish_launch,
};
