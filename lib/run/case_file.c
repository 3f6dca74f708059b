/* Which key of a case file goes where; one row a key. */
#include "run/case_file.h"

#include <stddef.h>

/* An optional key of the name of its member. */
#define FIELD(structure, member, kind_)                                                  \
	{ .name = #member, .kind = (kind_), .off = offsetof(structure, member) }

#define PLACE(member, kind_)                                                             \
	{ .name = #member, .kind = (kind_),                                              \
	  .off = offsetof(struct mpk_case_table, place.member) }

static const struct mpk_mfield defaults_fields[] = {
	FIELD(struct mpk_case_place, device, MPK_MFIELD_TEXT),
	FIELD(struct mpk_case_place, atol, MPK_MFIELD_NUMBER),
	FIELD(struct mpk_case_place, rtol, MPK_MFIELD_NUMBER),
	FIELD(struct mpk_case_place, timeout, MPK_MFIELD_NUMBER),
};

static const struct mpk_mschema defaults_schema = {
	.what = "[defaults]",
	.fields = defaults_fields, .field_count = MPK_ARRAY_COUNT(defaults_fields),
	.bytes = sizeof(struct mpk_case_place), .pos_off = SIZE_MAX,
};

static void check_arg(struct mpk_mreader *r, void *row)
{
	const struct mpk_case_arg *arg = row;

	if (r->report->errors == r->row_errors && !arg->input.text == !arg->out.text)
		mpk_mread_error(r, arg->pos, "argument",
				"an argument is either { input = \"V\" } or "
				"{ out = \"SPEC\" }");
}

static const struct mpk_mfield arg_fields[] = {
	FIELD(struct mpk_case_arg, input, MPK_MFIELD_TEXT),
	FIELD(struct mpk_case_arg, out, MPK_MFIELD_TEXT),
};

static const struct mpk_mschema arg_schema = {
	.what = "args = [{ input = \"V\" }, { out = \"SPEC\" }]",
	.fields = arg_fields, .field_count = MPK_ARRAY_COUNT(arg_fields),
	.bytes = sizeof(struct mpk_case_arg),
	.pos_off = offsetof(struct mpk_case_arg, pos),
	.done = check_arg,
};

static void check_case(struct mpk_mreader *r, void *row)
{
	const struct mpk_case_table *c = row;

	if (c->raises.text && c->expect.present)
		mpk_mread_error(r, c->raises.pos, "raises",
				"a call that raises has no results for 'expect'");
}

static const struct mpk_mfield case_fields[] = {
	FIELD(struct mpk_case_table, name, MPK_MFIELD_TEXT),
	{ .name = "run", .kind = MPK_MFIELD_TEXT, .required = true,
	  .off = offsetof(struct mpk_case_table, run) },
	{ .name = "args", .kind = MPK_MFIELD_TABLES, .rows = &arg_schema,
	  .off = offsetof(struct mpk_case_table, args),
	  .count_off = offsetof(struct mpk_case_table, arg_count) },
	FIELD(struct mpk_case_table, expect, MPK_MFIELD_TEXTS),
	FIELD(struct mpk_case_table, raises, MPK_MFIELD_TEXT),
	FIELD(struct mpk_case_table, skip, MPK_MFIELD_TEXT),
	PLACE(device, MPK_MFIELD_TEXT),
	PLACE(atol, MPK_MFIELD_NUMBER),
	PLACE(rtol, MPK_MFIELD_NUMBER),
	PLACE(timeout, MPK_MFIELD_NUMBER),
	FIELD(struct mpk_case_table, grid, MPK_MFIELD_EXPRS),
	FIELD(struct mpk_case_table, block, MPK_MFIELD_EXPRS),
	FIELD(struct mpk_case_table, shared, MPK_MFIELD_NUMBER),
	FIELD(struct mpk_case_table, repeat, MPK_MFIELD_NUMBER),
	FIELD(struct mpk_case_table, warmup, MPK_MFIELD_NUMBER),
};

static const struct mpk_mschema case_schema = {
	.what = "[[case]]",
	.fields = case_fields, .field_count = MPK_ARRAY_COUNT(case_fields),
	.bytes = sizeof(struct mpk_case_table),
	.pos_off = offsetof(struct mpk_case_table, pos),
	.done = check_case,
};

static const struct mpk_mfield file_fields[] = {
	{ .name = "defaults", .kind = MPK_MFIELD_TABLE,
	  .off = offsetof(struct mpk_case_file, defaults), .rows = &defaults_schema },
	{ .name = "case", .kind = MPK_MFIELD_TABLES, .required = true,
	  .off = offsetof(struct mpk_case_file, cases),
	  .count_off = offsetof(struct mpk_case_file, count), .rows = &case_schema },
};

const struct mpk_mschema mpk_case_file_schema = {
	.what = "a case file",
	.fields = file_fields, .field_count = MPK_ARRAY_COUNT(file_fields),
	.bytes = sizeof(struct mpk_case_file), .pos_off = SIZE_MAX,
};
