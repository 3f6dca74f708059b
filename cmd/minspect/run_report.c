/* What --run says: results as text, JSON and files, differences, times. */
#include "minspect/run.h"

#include <string.h>

#include "common/diag.h"
#include "io/output.h"
#include "minspect/document.h"
#include "npy/npy.h"
#include "text/escape.h"
#include "value/element.h"
#include "value/parse.h"

/* --- files -------------------------------------------------------------------------- */

static enum mpk_code write_npy(struct mpk_output *output, const struct mpk_tensor *t,
			       struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	struct mpk_rope rope = mpk_rope_of(&arena);

	MPK_TRY(mpk_npy_write_header(&rope, t->dl.dtype, t->dl.shape, (size_t)t->dl.ndim, err));
	mpk_rope_put_view(&rope, mpk_tensor_span(t));
	MPK_TRY(mpk_rope_status(&rope, err));
	return mpk_output_write_rope(output, &rope, err);
}

static enum mpk_code save_tensor(const char *path, const struct mpk_tensor *t,
				 struct mpk_error *err)
{
	struct mpk_output *output;
	enum mpk_code rc;

	MPK_TRY(mpk_output_open(path, 0666, &output, err));
	rc = write_npy(output, t, err);
	if (rc != MPK_OK) {
		mpk_output_abandon(output);
		return rc;
	}
	return mpk_output_commit(output, err);
}

static enum mpk_code save_one(const struct run_save *save, const struct mpk_call_result *r,
			      struct mpk_error *err)
{
	const struct mpk_value *v;
	enum mpk_code rc;

	if (save->result >= r->count)
		return mpk_fail(err, MPK_E_USAGE, "--output: there is no result %zu; there are %zu",
				save->result, r->count);
	v = &r->values[save->result];
	if (v->kind != MPK_VALUE_TENSOR)
		return mpk_fail(err, MPK_E_USAGE,
				"--output: result %zu is no tensor but a value of type %s",
				save->result, mpk_value_kind_name(v->kind));
	rc = save_tensor(save->path, v->tensor, err);
	if (rc != MPK_OK)
		mpk_error_at_file(err, save->path);
	return rc;
}

static int save_all(const struct run_request *request, const struct mpk_call_result *r)
{
	struct mpk_error err = { 0 };

	for (size_t i = 0; i < request->save_count; i++)
		if (save_one(&request->saves[i], r, &err) != MPK_OK)
			return mpk_diag_error(&err);
	return MPK_EXIT_OK;
}

/* --- JSON --------------------------------------------------------------------------- */

static void put_element(struct mpk_json *j, struct json_t *at, struct mpk_dtype t, const void *p)
{
	struct mpk_element e = mpk_element_load(t, p);
	struct mpk_strbuf bits = { 0 };

	switch (e.class) {
	case MPK_ELEMENT_BOOL:
		mpk_json_bool(j, at, NULL, e.i != 0);
		break;
	case MPK_ELEMENT_INT:
		mpk_json_i64(j, at, NULL, e.i);
		break;
	case MPK_ELEMENT_UINT:
		mpk_json_u64(j, at, NULL, e.u);
		break;
	case MPK_ELEMENT_FLOAT:
		mpk_json_f64(j, at, NULL, e.f);
		break;
	case MPK_ELEMENT_NONE:
		mpk_element_print(&bits, t, p);
		mpk_json_text(j, at, NULL, mpk_strbuf_text(&bits));
		mpk_strbuf_fini(&bits);
		break;
	}
}

static void put_tensor(struct mpk_json *j, struct json_t *at, const struct mpk_tensor *t)
{
	uint64_t count = mpk_tensor_count(t);
	bool all = count <= MPK_PRINT_ELEMENTS_MAX;
	size_t each = mpk_dtype_bytes(t->dl.dtype);
	const uint8_t *data = t->dl.data;
	char name[MPK_DTYPE_TEXT];
	struct json_t *list;

	mpk_json_text(j, at, "dtype", mpk_dtype_print(t->dl.dtype, name));
	list = mpk_json_array(j, at, "shape");
	for (int32_t i = 0; i < t->dl.ndim; i++)
		mpk_json_i64(j, list, NULL, t->dl.shape[i]);
	list = mpk_json_array(j, at, "values");
	for (uint64_t i = 0; i < count && i < MPK_PRINT_ELEMENTS_MAX; i++)
		put_element(j, list, t->dl.dtype, data + i * each);
	mpk_json_bool(j, at, "complete", all);
}

static void put_shape(struct mpk_json *j, struct json_t *at, const struct mpk_shape *shape)
{
	struct json_t *list = mpk_json_array(j, at, "value");

	for (size_t i = 0; i < shape->ndim; i++)
		mpk_json_i64(j, list, NULL, shape->extents[i]);
}

/* Values that JSON has no form of their own for, as they are printed. */
static void put_printed(struct mpk_json *j, struct json_t *at, const struct mpk_value *v)
{
	struct mpk_strbuf text = { 0 };
	const char *value;

	mpk_value_print(&text, v, 0);
	value = strchr(mpk_strbuf_text(&text), '=');
	mpk_json_text(j, at, "value", value ? value + 1 : mpk_strbuf_text(&text));
	mpk_strbuf_fini(&text);
}

static void put_value(struct mpk_json *j, struct json_t *at, const struct mpk_value *v)
{
	mpk_json_text(j, at, "type", mpk_value_kind_name(v->kind));
	switch (v->kind) {
	case MPK_VALUE_NONE:
		mpk_json_null(j, at, "value");
		break;
	case MPK_VALUE_BOOL:
		mpk_json_bool(j, at, "value", v->boolean);
		break;
	case MPK_VALUE_INT:
		mpk_json_i64(j, at, "value", v->integer);
		break;
	case MPK_VALUE_FLOAT:
		mpk_json_f64(j, at, "value", v->real);
		break;
	case MPK_VALUE_STR:
		mpk_json_span(j, at, "value", mpk_value_text_span(v));
		break;
	case MPK_VALUE_SHAPE:
		put_shape(j, at, v->shape);
		break;
	case MPK_VALUE_TENSOR:
		put_tensor(j, at, v->tensor);
		break;
	case MPK_VALUE_BYTES:
	case MPK_VALUE_DTYPE:
	case MPK_VALUE_DEVICE:
	case MPK_VALUE_ARRAY:
	case MPK_VALUE_STORAGE:
	case MPK_VALUE_OPAQUE:
	case MPK_VALUE_FUNCTION:
	case MPK_VALUE_MODULE:
	case MPK_VALUE_OBJECT:
	case MPK_VALUE_KIND_COUNT:
		put_printed(j, at, v);
		break;
	}
}

int run_print_json(struct mpk_json *j)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf out = { 0 };
	struct mpk_error err = { 0 };
	enum mpk_code rc = mpk_json_print(j, &out, &err);

	mpk_json_fini(j);
	return rc == MPK_OK ? minspect_write(&out) : mpk_diag_error(&err);
}

static void begin_json(const struct minspect_options *o, struct mpk_json *j)
{
	mpk_json_init(j, 1);
	mpk_json_text(j, j->root, "file", o->files[0]);
	mpk_json_text(j, j->root, "function", o->run);
}

int run_report_error(const struct minspect_options *o, const struct mpk_error *err)
{
	int status = mpk_diag_error(err);
	struct mpk_json j;

	if (o->json) {
		begin_json(o, &j);
		mpk_json_error(&j, j.root, "error", err);
		(void)run_print_json(&j);
	}
	return status;
}

/* --- comparison --------------------------------------------------------------------- */

void run_json_comparison(struct mpk_json *j, struct json_t *list, size_t i, bool is_ignored,
			 const struct mpk_comparison *c)
{
	struct json_t *at = mpk_json_object(j, list, NULL);

	mpk_json_u64(j, at, "result", i);
	if (is_ignored) {
		mpk_json_bool(j, at, "ignored", true);
		return;
	}
	mpk_json_bool(j, at, "equal", c->is_equal);
	mpk_json_u64(j, at, "differing", c->differing);
	mpk_json_u64(j, at, "total", c->total);
	mpk_json_f64(j, at, "max_abs_error", c->max_abs);
	mpk_json_f64(j, at, "max_rel_error", c->max_rel);
}

/* One expectation against its result: a line on stderr and a member of the document. */
static int compare_one(const struct run_request *request, const struct mpk_call_result *r, size_t i,
		       struct mpk_json *j, struct json_t *list)
{
	const struct mpk_expect *expect = &request->expects[i];
	struct mpk_comparison c = { 0 };
	struct mpk_error err = { 0 };
	enum mpk_code rc = mpk_expect_check(expect, r, i, request->tolerance, &c, &err);

	if (j && (rc == MPK_OK || rc == MPK_E_DIFFERENT))
		run_json_comparison(j, list, i, expect->is_ignored, &c);
	return rc == MPK_OK ? MPK_EXIT_OK : mpk_diag_error(&err);
}

static int compare_all(const struct run_request *request, const struct mpk_call_result *r,
		       struct mpk_json *j)
{
	struct json_t *list = j ? mpk_json_array(j, j->root, "comparisons") : NULL;
	int status = MPK_EXIT_OK;

	for (size_t i = 0; i < request->expect_count; i++) {
		int one = compare_one(request, r, i, j, list);

		status = status == MPK_EXIT_OK ? one : status;
	}
	return status;
}

/* --- all of it ---------------------------------------------------------------------- */

void run_put_seconds(struct mpk_strbuf *out, double seconds)
{
	static const struct {
		double scale;
		const char *unit;
	} units[] = { { 1, "s" }, { 1e3, "ms" }, { 1e6, "us" }, { 1e9, "ns" } };
	size_t i = 0;

	while (i + 1 < MPK_ARRAY_COUNT(units) && seconds * units[i].scale < 1)
		i++;
	mpk_strbuf_printf(out, "%.3g %s", seconds * units[i].scale, units[i].unit);
}

void run_put_timing(struct mpk_strbuf *out, size_t calls, const struct mpk_timing *t)
{
	const struct {
		const char *name;
		double seconds;
	} figures[] = {
		{ "min", t->min },
		{ "median", t->median },
		{ "p95", t->p95 },
		{ "mean", t->mean },
	};

	mpk_strbuf_printf(out, "%zu calls", calls);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(figures); i++) {
		mpk_strbuf_printf(out, ", %s ", figures[i].name);
		run_put_seconds(out, figures[i].seconds);
	}
}

void run_json_seconds(struct mpk_json *j, struct json_t *at, size_t calls,
		      const struct mpk_timing *t)
{
	at = mpk_json_object(j, at, "seconds");
	mpk_json_u64(j, at, "calls", calls);
	mpk_json_f64(j, at, "min", t->min);
	mpk_json_f64(j, at, "median", t->median);
	mpk_json_f64(j, at, "p95", t->p95);
	mpk_json_f64(j, at, "mean", t->mean);
}

/* A result that was saved to standard output must not be followed by text. */
static bool owns_stdout(const struct run_request *request)
{
	for (size_t i = 0; i < request->save_count; i++)
		if (strcmp(request->saves[i].path, "-") == 0)
			return true;
	return false;
}

static int report_text(const struct run_request *request, struct mpk_call_result *r)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf out = { 0 };

	if (owns_stdout(request))
		return compare_all(request, r, NULL);
	for (size_t i = 0; i < r->count; i++) {
		mpk_value_print(&out, &r->values[i], MPK_PRINT_ELEMENTS_MAX);
		mpk_strbuf_putc(&out, '\n');
	}
	if (request->is_timed) {
		struct mpk_timing t = mpk_timing_of(r->seconds, r->seconds_count);

		mpk_strbuf_puts(&out, "time: ");
		run_put_timing(&out, r->seconds_count, &t);
		mpk_strbuf_putc(&out, '\n');
	}

	int status = minspect_write(&out);
	return status != MPK_EXIT_OK ? status : compare_all(request, r, NULL);
}

static int report_json(const struct minspect_options *o, const struct run_request *request,
		       struct mpk_call_result *r)
{
	struct mpk_json j;
	struct json_t *at;

	begin_json(o, &j);
	at = mpk_json_array(&j, j.root, "results");
	for (size_t i = 0; i < r->count; i++)
		put_value(&j, mpk_json_object(&j, at, NULL), &r->values[i]);

	int status = compare_all(request, r, &j);
	if (request->is_timed) {
		struct mpk_timing t = mpk_timing_of(r->seconds, r->seconds_count);

		run_json_seconds(&j, j.root, r->seconds_count, &t);
	}
	int printed = run_print_json(&j);
	return status != MPK_EXIT_OK ? status : printed;
}

int run_report(const struct minspect_options *o, const struct run_request *request,
	       struct mpk_call_result *result)
{
	int saved = save_all(request, result);
	int status = o->json ? report_json(o, request, result) : report_text(request, result);

	return saved != MPK_EXIT_OK ? saved : status;
}
