/* SPDX-License-Identifier: Apache-2.0 */
/* Converts the tables of a case file to calls; reports every mistake with its place. */
#include "session/cases.h"

#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/strmap.h"
#include "base/vec.h"
#include "device/device.h"
#include "npy/npy.h"
#include "session/internal/session.h"
#include "text/escape.h"
#include "value/param_file.h"
#include "value/parse.h"

struct builder {
	struct mpk_toml_reader r;
	struct mpk_arena *arena;
	const char *dir;         /* folder of the case file with a trailing slash, or "" */
	struct mpk_cases *cases; /* the cases being built */
	struct mpk_case_defaults options, file;
	bool judges_only;
};

/* Reports an error of a value, at the value's place in the case file. The sentence names a file
 * that the value refers to. */
static void put_error(struct builder *b, struct mpk_pos pos, const char *check,
		      const struct mpk_error *why)
{
	const char *file = why->at.file;

	if (why->code == MPK_E_NOMEM)
		b->r.failed = true;
	else if (file[0])
		mpk_toml_read_error(&b->r, pos, check, "'%s': %s", MPK_QUOTE(mpk_span_str(file)),
				    why->text);
	else
		mpk_toml_read_error(&b->r, pos, check, "%s", why->text);
}

/* --- numbers and places ------------------------------------------------------------- */

static bool is_given(struct mpk_pos pos)
{
	return pos.line != 0;
}

/* Leaves *out unchanged if the key is missing or wrong. */
static void cases_take_number(struct builder *b, const char *key, struct mpk_toml_number n,
			      double least, double most, double *out)
{
	if (!is_given(n.pos))
		return;
	if (n.value >= least && n.value <= most)
		*out = n.value;
	else
		mpk_toml_read_error(&b->r, n.pos, "number", "'%s' takes a number from %g to %g",
				    key, least, most);
}

static void take_count(struct builder *b, const char *key, struct mpk_toml_number n, unsigned least,
		       uint64_t *out)
{
	if (!is_given(n.pos))
		return;
	if (n.is_integer && n.value >= least && n.value <= 1000000000)
		*out = (uint64_t)n.value;
	else
		mpk_toml_read_error(&b->r, n.pos, "number",
				    "'%s' takes an integer from %u to 1000000000", key, least);
}

static void take_device(struct builder *b, struct mpk_toml_str text, struct mpk_dldevice *out)
{
	enum mpk_device_kind kind;
	struct mpk_error why = { 0 };
	unsigned ordinal;

	if (!text.text)
		return;
	if (mpk_device_parse(mpk_toml_str_span(text), &kind, &ordinal, &why) == MPK_OK)
		*out = (struct mpk_dldevice){ (int32_t)kind, (int32_t)ordinal };
	else
		put_error(b, text.pos, "device", &why);
}

static void take_defaults(struct builder *b, const struct mpk_case_place *place,
			  struct mpk_case_defaults *out)
{
	take_device(b, place->device, &out->device);
	cases_take_number(b, "atol", place->atol, 0, 1e300, &out->tolerance.atol);
	cases_take_number(b, "rtol", place->rtol, 0, 1e300, &out->tolerance.rtol);
	cases_take_number(b, "timeout", place->timeout, 0.001, 1e9, &out->timeout);
}

/* Merges two sets of settings: those of over, and where it has none, those of under. */
static struct mpk_case_defaults prefer(struct mpk_case_defaults over,
				       struct mpk_case_defaults under)
{
	if (over.device.type)
		under.device = over.device;
	if (over.tolerance.atol >= 0)
		under.tolerance.atol = over.tolerance.atol;
	if (over.tolerance.rtol >= 0)
		under.tolerance.rtol = over.tolerance.rtol;
	if (over.timeout > 0)
		under.timeout = over.timeout;
	return under;
}

/* A file that several cases name is opened once. */
static struct mpk_param_file *take_params(struct builder *b, struct mpk_toml_str path)
{
	struct mpk_cases *cases = b->cases;
	struct mpk_param_file *f;
	struct mpk_error why = { 0 };
	const char *moved;

	if (!path.text)
		return NULL;
	moved = path.text[0] == '/' ? path.text
				    : mpk_arena_printf(b->arena, "%s%s", b->dir, path.text);
	b->r.failed |= !moved;
	for (size_t i = 0; moved && i < cases->param_count; i++)
		if (strcmp(mpk_param_file_path(cases->params[i]), moved) == 0)
			return cases->params[i];
	if (!moved || !mpk_vec_reserve(&cases->params, &cases->param_cap, cases->param_count + 1,
				       sizeof cases->params[0])) {
		b->r.failed = true;
		return NULL;
	}
	if (mpk_param_file_open(moved, mpk_npz_read, &f, &why) != MPK_OK) {
		put_error(b, path.pos, "params", &why);
		return NULL;
	}
	return cases->params[cases->param_count++] = f;
}

static void take_extents(struct builder *b, const char *key, const struct mpk_toml_list *list,
			 uint64_t out[3])
{
	if (!list->present)
		return;
	if (list->count < 1 || list->count > 3)
		mpk_toml_read_error(&b->r, list->pos, "extents",
				    "'%s' takes one to three extents, not %zu", key, list->count);
	for (size_t i = 0; i < list->count && i < 3; i++) {
		struct mpk_span text = mpk_toml_str_span(list->items[i]);

		if (!mpk_parse_u64(text, &out[i]) || out[i] < 1 || out[i] > INT32_MAX)
			mpk_toml_read_error(&b->r, list->items[i].pos, "extents",
					    "'%s' takes integers from 1 to 2147483647, not '%s'",
					    key, MPK_QUOTE(text));
	}
}

/* --- values ------------------------------------------------------------------------- */

/* Makes file names in a value relative to the folder of the case file. */
static const char *from_here(struct builder *b, const char *text)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf out = { 0 };
	const char *from = text, *file, *moved;
	size_t len;

	if (!b->dir[0] || !mpk_value_file(text, text, &len))
		return text;
	while ((file = mpk_value_file(text, from, &len)) != NULL) {
		mpk_strbuf_put(&out, from, (size_t)(file - from));
		mpk_strbuf_puts(&out, file[0] == '/' ? "" : b->dir);
		mpk_strbuf_put(&out, file, len);
		from = file + len;
	}
	mpk_strbuf_puts(&out, from);
	moved = mpk_arena_text(b->arena, mpk_span_of(out.data, out.len));
	b->r.failed |= !moved || out.failed;
	return moved ? moved : text;
}

/* Handles "$cache" and "cache=$cache": the argument is the result of an earlier case. */
static bool take_kept(struct builder *b, struct mpk_toml_str said, struct mpk_span *name,
		      struct mpk_span *kept)
{
	const char *value = said.text;
	struct mpk_span whole;
	size_t item;

	(void)mpk_value_split_name(said.text, name, &value);
	if (value[0] != '$')
		return false;
	*kept = mpk_span_str(value + 1);
	if (!mpk_value_split_kept(*kept, &whole, &item))
		mpk_toml_read_error(
			&b->r, said.pos, "value",
			"'%s' is no name of a kept value, as '$cache' is, or '$pair[1]'",
			MPK_QUOTE(mpk_span_str(value)));
	return true;
}

/* On a mistake, arguments made so far are freed with the case, by call.arg_count. */
static void take_args(struct builder *b, const struct mpk_case_table *t, struct mpk_case *c)
{
	struct mpk_value *args = mpk_arena_array(b->arena, t->arg_count + 1, sizeof *args);
	struct mpk_span *names = mpk_arena_array(b->arena, t->arg_count + 1, sizeof *names);
	bool *is_out = mpk_arena_array(b->arena, t->arg_count + 1, sizeof *is_out);
	struct mpk_dldevice *places = mpk_arena_array(b->arena, t->arg_count + 1, sizeof *places);

	struct mpk_span *kept = mpk_arena_array(b->arena, t->arg_count + 1, sizeof *kept);

	if (!args || !names || !is_out || !places || !kept) {
		b->r.failed = true;
		return;
	}
	c->call.args = c->args = args;
	c->call.names = names;
	c->call.is_out = is_out;
	c->call.places = places;
	c->call.kept = kept;
	for (size_t i = 0; i < t->arg_count; i++) {
		const struct mpk_case_arg *arg = &t->args[i];
		struct mpk_toml_str said = arg->out.text ? arg->out : arg->input;
		struct mpk_error why = { 0 };
		enum mpk_code rc;

		is_out[i] = arg->out.text != NULL;
		c->call.arg_count++;
		if (!arg->input.text == !arg->out.text)
			continue; /* the mistake is already reported */
		if (!is_out[i] && take_kept(b, said, &names[i], &kept[i]))
			continue;
		rc = mpk_value_parse_argument(from_here(b, said.text), is_out[i], &names[i],
					      &places[i], &args[i], &why);
		if (rc != MPK_OK)
			put_error(b, said.pos, "value", &why);
	}
}

static void take_expects(struct builder *b, const struct mpk_toml_list *list, struct mpk_case *c)
{
	c->expects = mpk_arena_array(b->arena, list->count + 1, sizeof *c->expects);
	if (!c->expects) {
		b->r.failed = true;
		return;
	}
	for (size_t i = 0; i < list->count; i++) {
		struct mpk_error why = { 0 };

		if (mpk_expect_parse(from_here(b, list->items[i].text), &c->expects[i], &why))
			put_error(b, list->items[i].pos, "value", &why);
		c->expect_count++;
	}
}

/* --- cases -------------------------------------------------------------------------- */

static void case_fini(struct mpk_case *c)
{
	for (size_t k = 0; k < c->call.arg_count; k++)
		mpk_value_drop(&c->args[k]);
	for (size_t k = 0; k < c->expect_count; k++)
		mpk_value_drop(&c->expects[k].value);
}

/* Skipped cases are checked as far as possible without opening files. */
static void take_case(struct builder *b, const struct mpk_case_table *t, size_t number,
		      struct mpk_case *c)
{
	struct mpk_case_defaults own = { .tolerance = { -1, -1 } };

	c->said = t;
	c->pos = t->pos;
	c->call.function = t->run.text ? t->run.text : "";
	c->name = t->name.text ? t->name.text
			       : mpk_arena_printf(b->arena, "%s %zu", c->call.function, number);
	b->r.failed |= !c->name;
	c->raises = t->raises.text;
	c->skip = t->skip.text;
	take_defaults(b, &t->place, &own);
	own = prefer(own, prefer(b->options, b->file));
	c->call.device = own.device;
	c->tolerance = own.tolerance;
	c->timeout = own.timeout;

	take_extents(b, "grid", &t->grid, c->extents.grid);
	take_extents(b, "block", &t->block, c->extents.block);
	take_count(b, "shared", t->shared, 0, &c->extents.shared_bytes);
	if (t->grid.present || t->block.present || is_given(t->shared.pos))
		c->call.kernel = &c->extents;

	uint64_t repeat = 1, warmup = 0;

	take_count(b, "repeat", t->repeat, 1, &repeat);
	take_count(b, "warmup", t->warmup, 0, &warmup);
	c->call.repeat = (unsigned)repeat;
	c->call.warmup = (unsigned)warmup;
	c->is_timed = is_given(t->repeat.pos) || is_given(t->warmup.pos);

	if (c->skip)
		return; /* files that it names may be missing */
	take_expects(b, &t->expect, c);
	if (b->judges_only)
		return;
	c->call.params = take_params(b, t->place.params);
	c->call.params_for_models = !c->call.params;
	if (!c->call.params)
		c->call.params = b->options.params ? b->options.params : b->file.params;
	take_args(b, t, c);

	/* The name under which later cases find this result. */
	struct mpk_span name;
	size_t item;

	if (!t->keep.text)
		return;
	if (!mpk_value_split_kept(mpk_span_str(t->keep.text), &name, &item) || item != SIZE_MAX)
		mpk_toml_read_error(&b->r, t->keep.pos, "value",
				    "'keep' takes a name of letters, digits, '_', '-' and '.'");
	c->call.keep = t->keep.text;
}

static bool is_any_named(const struct mpk_cases *cases, const char *filter)
{
	for (size_t i = 0; i < cases->count; i++)
		if (mpk_name_matches(mpk_span_str(cases->items[i].name), filter))
			return true;
	return false;
}

/* Moves the chosen cases to the front; mistakes in the others were still reported. */
static enum mpk_code cases_choose(struct mpk_cases *cases, const struct mpk_name_filter *filter,
				  struct mpk_error *err)
{
	size_t kept = 0;

	for (size_t i = 0; filter && i < filter->count && cases->count; i++)
		if (!is_any_named(cases, filter->items[i]))
			return mpk_fail(err, MPK_E_USAGE,
					"none of the %zu cases is named like '%s'", cases->count,
					MPK_QUOTE(mpk_span_str(filter->items[i])));
	for (size_t i = 0; i < cases->count; i++) {
		if (!mpk_name_is_chosen(mpk_span_str(cases->items[i].name), filter)) {
			case_fini(&cases->items[i]);
			continue;
		}
		cases->items[kept++] = cases->items[i];
	}
	cases->count = kept;
	return MPK_OK;
}

/* Defaults come first, since cases inherit from them. */
static void cases_build(struct builder *b, const struct mpk_case_file *file, struct mpk_cases *out)
{
	out->items = mpk_arena_array(b->arena, file->count + 1, sizeof *out->items);
	if (!out->items) {
		b->r.failed = true;
		return;
	}
	if (file->count == 0 && b->r.report->errors == 0)
		mpk_toml_read_error(&b->r, (struct mpk_pos){ 1, 1 }, "missing-key",
				    "a case file needs [[case]]");
	take_defaults(b, &file->defaults, &b->file);
	if (!b->judges_only)
		b->file.params = take_params(b, file->defaults.params);
	for (size_t i = 0; i < file->count; i++)
		take_case(b, &file->cases[i], i + 1, &out->items[out->count++]);

	/* Names must be unique: they choose and identify cases. */
	MPK_CLEANUP(mpk_strmap_fini) struct mpk_strmap names = { 0 };

	for (size_t i = 0; i < out->count && !b->r.failed; i++) {
		struct mpk_span name = mpk_span_str(out->items[i].name);
		struct mpk_pos pos =
			file->cases[i].name.text ? file->cases[i].name.pos : file->cases[i].pos;
		size_t first;
		int put = mpk_strmap_put(&names, name, i, &first);

		b->r.failed |= put < 0;
		if (put == 0)
			mpk_toml_read_error(&b->r, pos, "duplicate-name",
					    "the case of line %u is named '%s' too",
					    (unsigned)out->items[first].pos.line, MPK_QUOTE(name));
	}
}

static const char *directory_of(const char *path, struct mpk_arena *arena)
{
	const char *slash = strrchr(path, '/');

	return slash ? mpk_arena_copy(arena, path, (size_t)(slash - path) + 1) : "";
}

/* Syntax errors are reported like all mistakes; only memory and the filter cause an error of this
 * function. */
enum mpk_code mpk_cases_read(const struct mpk_cases_source *source, struct mpk_cases *out,
			     struct mpk_report *report, struct mpk_error *err)
{
	struct builder b = {
		.r = { .arena = &out->arena, .report = report, .path = source->path },
		.arena = &out->arena,
		.cases = out,
		.dir = directory_of(source->path, &out->arena),
		.options = source->defaults,
		.file = { .tolerance = { -1, -1 } },
		.judges_only = source->judges_only,
	};
	struct mpk_case_file *file = mpk_arena_alloc(&out->arena, sizeof *file);
	struct mpk_error why = { 0 };
	struct mpk_toml root;
	enum mpk_code rc =
		mpk_toml_parse_by(source->parser, source->text, &out->arena, &root, &why);

	if (rc == MPK_E_SYNTAX) {
		mpk_error_at_file(&why, source->path);
		mpk_report_add(report, MPK_ERROR, "syntax", &why);
		return MPK_OK;
	}
	if (rc != MPK_OK || !b.dir || !file)
		return mpk_fail_nomem(err);
	mpk_toml_read_table(&b.r, &mpk_case_file_schema, &root, file);
	out->said = &file->defaults;
	cases_build(&b, file, out);
	out->no_skip = source->no_skip;
	if (b.r.failed || report->failed)
		return mpk_fail_nomem(err);
	return report->errors ? MPK_OK : cases_choose(out, source->filter, err);
}

void mpk_cases_fini(struct mpk_cases *cases)
{
	for (size_t i = 0; cases->made && i < cases->count; i++)
		mpk_call_result_fini(&cases->made[i].result);
	for (size_t i = 0; cases->outcomes && i < cases->count; i++) {
		mpk_strbuf_fini(&cases->outcomes[i].why);
		free(cases->outcomes[i].comparisons);
	}
	free(cases->outcomes);
	free(cases->made);
	free(cases->calls);

	for (size_t i = 0; i < cases->count; i++)
		case_fini(&cases->items[i]);
	for (size_t i = 0; i < cases->param_count; i++)
		mpk_param_file_drop(cases->params[i]);
	free(cases->params);
	mpk_arena_fini(&cases->arena);
	*cases = (struct mpk_cases){ 0 };
}
