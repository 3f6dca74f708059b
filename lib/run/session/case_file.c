/* SPDX-License-Identifier: Apache-2.0 */
/* Which key of a case file goes where; one row a key. */
#include "session/internal/case_file.h"

#include <stddef.h>

/* An optional key of the name of its member. */
#define FIELD(structure, member, kind_)                                                            \
	{ .name = #member, .kind = (kind_), .off = offsetof(structure, member) }

#define PLACE(member, kind_)                                                                       \
	{ .name = #member, .kind = (kind_), .off = offsetof(struct mpk_case_table, place.member) }

static const struct mpk_toml_field defaults_fields[] = {
	FIELD(struct mpk_case_place, device, MPK_TOML_FIELD_TEXT),
	FIELD(struct mpk_case_place, params, MPK_TOML_FIELD_TEXT),
	FIELD(struct mpk_case_place, atol, MPK_TOML_FIELD_NUMBER),
	FIELD(struct mpk_case_place, rtol, MPK_TOML_FIELD_NUMBER),
	FIELD(struct mpk_case_place, timeout, MPK_TOML_FIELD_NUMBER),
};

static const struct mpk_toml_schema defaults_schema = {
	.what = "[defaults]",
	.fields = defaults_fields,
	.field_count = MPK_ARRAY_COUNT(defaults_fields),
	.bytes = sizeof(struct mpk_case_place),
	.pos_off = SIZE_MAX,
};

static void check_arg(struct mpk_toml_reader *r, void *row)
{
	const struct mpk_case_arg *arg = row;

	if (r->report->errors == r->row_errors && !arg->input.text == !arg->out.text)
		mpk_toml_read_error(
			r, arg->pos, "argument",
			"an argument is either { input = \"V\" } or { out = \"SPEC\" }");
}

static const struct mpk_toml_field arg_fields[] = {
	FIELD(struct mpk_case_arg, input, MPK_TOML_FIELD_TEXT),
	FIELD(struct mpk_case_arg, out, MPK_TOML_FIELD_TEXT),
};

static const struct mpk_toml_schema arg_schema = {
	.what = "args = [{ input = \"V\" }, { out = \"SPEC\" }]",
	.fields = arg_fields,
	.field_count = MPK_ARRAY_COUNT(arg_fields),
	.bytes = sizeof(struct mpk_case_arg),
	.pos_off = offsetof(struct mpk_case_arg, pos),
	.done = check_arg,
};

static void check_case(struct mpk_toml_reader *r, void *row)
{
	const struct mpk_case_table *c = row;

	if (c->raises.text && c->expect.present)
		mpk_toml_read_error(r, c->raises.pos, "raises",
				    "a call that raises has no results for 'expect'");
}

static const struct mpk_toml_field case_fields[] = {
	FIELD(struct mpk_case_table, name, MPK_TOML_FIELD_TEXT),
	{ .name = "run",
	  .kind = MPK_TOML_FIELD_TEXT,
	  .required = true,
	  .off = offsetof(struct mpk_case_table, run) },
	{ .name = "args",
	  .kind = MPK_TOML_FIELD_TABLES,
	  .rows = &arg_schema,
	  .off = offsetof(struct mpk_case_table, args),
	  .count_off = offsetof(struct mpk_case_table, arg_count) },
	FIELD(struct mpk_case_table, expect, MPK_TOML_FIELD_TEXTS),
	FIELD(struct mpk_case_table, raises, MPK_TOML_FIELD_TEXT),
	FIELD(struct mpk_case_table, skip, MPK_TOML_FIELD_TEXT),
	PLACE(device, MPK_TOML_FIELD_TEXT),
	PLACE(params, MPK_TOML_FIELD_TEXT),
	PLACE(atol, MPK_TOML_FIELD_NUMBER),
	PLACE(rtol, MPK_TOML_FIELD_NUMBER),
	PLACE(timeout, MPK_TOML_FIELD_NUMBER),
	FIELD(struct mpk_case_table, grid, MPK_TOML_FIELD_EXPRS),
	FIELD(struct mpk_case_table, block, MPK_TOML_FIELD_EXPRS),
	FIELD(struct mpk_case_table, shared, MPK_TOML_FIELD_NUMBER),
	FIELD(struct mpk_case_table, repeat, MPK_TOML_FIELD_NUMBER),
	FIELD(struct mpk_case_table, warmup, MPK_TOML_FIELD_NUMBER),
};

static const struct mpk_toml_schema case_schema = {
	.what = "[[case]]",
	.fields = case_fields,
	.field_count = MPK_ARRAY_COUNT(case_fields),
	.bytes = sizeof(struct mpk_case_table),
	.pos_off = offsetof(struct mpk_case_table, pos),
	.done = check_case,
};

static const struct mpk_toml_field file_fields[] = {
	{ .name = "defaults",
	  .kind = MPK_TOML_FIELD_TABLE,
	  .off = offsetof(struct mpk_case_file, defaults),
	  .rows = &defaults_schema },
	{ .name = "case",
	  .kind = MPK_TOML_FIELD_TABLES,
	  .required = true,
	  .off = offsetof(struct mpk_case_file, cases),
	  .count_off = offsetof(struct mpk_case_file, count),
	  .rows = &case_schema },
};

const struct mpk_toml_schema mpk_case_file_schema = {
	.what = "a case file",
	.fields = file_fields,
	.field_count = MPK_ARRAY_COUNT(file_fields),
	.bytes = sizeof(struct mpk_case_file),
	.pos_off = SIZE_MAX,
};
