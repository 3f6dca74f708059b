/* SPDX-License-Identifier: Apache-2.0 */
/* launch.c - the keys of kernels and launch functions: kernels of a module, [[module.function]],
 * and [[function]] with its steps
 *
 * A step either runs a kernel or calls a C function. Which one it does decides which other keys it
 * accepts. */
#include <string.h>

#include "kernels/kernels.h"
#include "manifest/internal/schema.h"
#include "text/escape.h"

#define QUOTE(mstr) MPK_QUOTE(mpk_toml_str_span(mstr))

#define STEP_FIELDS(type, member)                                                                  \
	STEP(TEXT, type, member, kernel), STEP(TEXT, type, member, calls),                         \
		STEP(TEXT, type, member, returns), STEP(EXPRS, type, member, args),                \
		STEP(EXPRS, type, member, grid), STEP(EXPRS, type, member, block),                 \
		STEP(EXPRS, type, member, cluster), STEP(EXPR, type, member, shared),              \
		STEP(BOOL, type, member, cooperative), STEP(BOOL, type, member, pdl)
#define STEP(kind_, type, member, key)                                                             \
	{ .name = #key, .kind = MPK_TOML_FIELD_##kind_, .off = offsetof(type, member key) }

static void read_args(struct mpk_toml_reader *r, struct mpk_manifest_function *f)
{
	struct mpk_dtype *args = mpk_arena_array(r->arena, f->arg_names.count, sizeof *args);

	if (!args) {
		r->failed = true;
		return;
	}
	for (size_t i = 0; i < f->arg_names.count; i++) {
		struct mpk_toml_str name = f->arg_names.items[i];

		if (!mpk_dtype_parse(mpk_toml_str_span(name), &args[i])) {
			/* --- the rules of [[module.function]] ------------------------------------- */
			const char *meant = mpk_dtype_suggest(mpk_toml_str_span(name));

			if (meant)
				mpk_toml_read_error(r, name.pos, "dtype",
						    "'%s' is no data type; did you mean '%s'?",
						    QUOTE(name), meant);
			else
				mpk_toml_read_error(
					r, name.pos, "dtype",
					"'%s' is no data type: handle for a buffer, or float32, int64, uint8, ...",
					QUOTE(name));
		}
	}
	f->args = args;
	f->arg_count = f->arg_names.count;
}

static void unknown_tag(struct mpk_toml_reader *r, struct mpk_toml_str tag)
{
	static const char *const known[] = {
		"blockIdx.x",
		"blockIdx.y",
		"blockIdx.z",
		"threadIdx.x",
		"threadIdx.y",
		"threadIdx.z",
		"clusterCtaIdx.x",
		"clusterCtaIdx.y",
		"clusterCtaIdx.z",
		"tirx.use_dyn_shared_memory",
		"tirx.use_cooperative_launch",
		"tirx.use_programtic_dependent_launch",
	};
	struct mpk_span names[MPK_ARRAY_COUNT(known)];
	char near[MPK_TOML_SUGGEST_BYTES];

	for (size_t i = 0; i < MPK_ARRAY_COUNT(known); i++)
		names[i] = mpk_span_str(known[i]);
	mpk_toml_read_error(
		r, tag.pos, "launch-tag", "'%s' is no launch tag%s", QUOTE(tag),
		mpk_toml_suggest(mpk_toml_str_span(tag), names, MPK_ARRAY_COUNT(names), near));
}

static void check_function(struct mpk_toml_reader *r, void *function)
{
	struct mpk_manifest_function *f = function;

	read_args(r, f);

	/* An axis may occur several times, as in TVM's own tables; each occurrence takes a
	 * value. */
	bool shared = false;

	for (size_t i = 0; i < f->launch.count; i++) {
		struct mpk_toml_str text = f->launch.items[i];
		enum mpk_launch_tag tag = mpk_launch_tag_parse(mpk_toml_str_span(text));

		if (tag == MPK_TAG_UNKNOWN) {
			unknown_tag(r, text);
			continue;
		}
		if (shared)
			mpk_toml_read_error(
				r, text.pos, "launch-tag",
				"'%s' stands behind dynamic shared memory, which is the last value a caller passes",
				QUOTE(text));

		/* Older loaders know the prefix tir., newer ones tirx. Releases 0.22 and 0.23 write
		 * the new container with tir., so the prefix can only be checked for the old
		 * containers. Code that loads its own kernels knows both. */
		if (strncmp(text.text, "tirx.", 5) == 0 &&
		    mpk_manifest_package(r)->gen != MPK_GEN_CURRENT &&
		    !mpk_manifest_package(r)->standalone)
			mpk_toml_read_warn(r, text.pos, "launch-tag",
					   "loaders of ABI %s know it as 'tir.%s'",
					   mpk_generation_get(mpk_manifest_package(r)->gen)->abi,
					   QUOTE(text) + 5);

		shared |= tag == MPK_TAG_DYN_SHARED;
	}
}

static const struct mpk_toml_field function_fields[] = {
	MPK_SCHEMA_KEY(TEXT, struct mpk_manifest_function, name, true),
	{ .name = "args",
	  .kind = MPK_TOML_FIELD_TEXTS,
	  .required = true,
	  .off = offsetof(struct mpk_manifest_function, arg_names) },
	MPK_SCHEMA_KEY(TEXTS, struct mpk_manifest_function, launch, true),
	MPK_SCHEMA_KEY(TEXT, struct mpk_manifest_function, data, false),
	MPK_SCHEMA_KEY(BOOL, struct mpk_manifest_function, uniform_buffer, false),
};

const struct mpk_toml_schema mpk_manifest_kernel_schema = {
	MPK_SCHEMA_OF("[[module.function]]", struct mpk_manifest_function, function_fields),
	.done = check_function,
};

/* --- a step ---------------------------------------------------------------------------------- */

static void need(struct mpk_toml_reader *r, struct mpk_pos pos, bool present, const char *table,
		 const char *key)
{
	if (!present && !mpk_span_is(r->meant, key))
		mpk_toml_read_error(r, pos, "missing-key", "%s needs '%s'", table, key);
}

/* Reports a missing key at the position of the table that lacks it. */
static void check_step(struct mpk_toml_reader *r, const struct mpk_manifest_step *s,
		       const char *table)
{
	if (s->calls.text) {
		/* A C function runs once, on the host, so it has no extents. */
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
	MPK_SCHEMA_OF("[[function.steps]]", struct mpk_manifest_step, step_fields),
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

/* Returns the position of the first step key that is directly in [[function]], for a finding about
 *         it; line 0 if there is none. */
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

/* A function with a single step may omit [[function.steps]]: the step's keys are then in
 * [[function]] itself, and are moved into a step here. */
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

/* A function has steps or the keys of a single step. With both, their order would be undefined. */
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
