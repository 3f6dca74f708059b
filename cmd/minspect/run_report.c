/* SPDX-License-Identifier: Apache-2.0 */
/* Reports a call of --run: results on standard output and in files, differences on standard
 * error. Files are written first, so that a failed comparison does not lose the result that one
 * wants to look at. */
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "common/diag.h"
#include "minspect/document.h"
#include "minspect/run.h"
#include "results/results.h"
#include "value/param_file.h"

/* --- files -------------------------------------------------------------------------- */

static enum mpk_code find_tensor(size_t result, const struct mpk_call_result *r,
				 const struct mpk_tensor **out, struct mpk_error *err)
{
	const struct mpk_value *v;

	if (result >= r->count)
		return mpk_fail(err, MPK_E_USAGE, "--output: there is no result %zu; there are %zu",
				result, r->count);
	v = &r->values[result];
	if (v->kind != MPK_VALUE_TENSOR)
		return mpk_fail(err, MPK_E_USAGE,
				"--output: result %zu is no tensor but a value of type %s", result,
				mpk_value_kind_name(v->kind));
	*out = v->tensor;
	return MPK_OK;
}

/* A local header of a stored member, or its entry in the directory (formats/zip/FORMAT.md): as the entry ends with where
 * the header is, @at is NULL for a header. */
static void put_member(struct mpk_rope *out, const struct mpk_rope *content, size_t number,
		       const uint64_t *at)
{
	enum { LOCAL = 0x04034b50, CENTRAL = 0x02014b50, VERSION = 20, FIRST_OF_1980 = 0x21 };
	char name[40];
	unsigned long sum = crc32_z(0, NULL, 0);

	for (size_t i = 0; i < content->count; i++)
		sum = crc32_z(sum, content->pieces[i].data, (size_t)content->pieces[i].len);
	(void)snprintf(name, sizeof name, "arr_%zu.npy", number);
	mpk_rope_put_u32(out, at ? CENTRAL : LOCAL);
	if (at)
		mpk_rope_put_u16(out, VERSION); /* that made it; the next is needed to read it */
	mpk_rope_put_u16(out, VERSION);
	mpk_rope_put_u32(out, 0); /* no flags, stored */
	mpk_rope_put_u16(out, 0); /* midnight */
	mpk_rope_put_u16(out, FIRST_OF_1980);
	mpk_rope_put_u32(out, (uint32_t)sum);
	mpk_rope_put_u32(out, (uint32_t)content->len); /* stored */
	mpk_rope_put_u32(out, (uint32_t)content->len); /* unpacked */
	mpk_rope_put_u32(out, (uint32_t)strlen(name)); /* and no extra field */
	for (int i = 0; at && i < 5; i++)
		mpk_rope_put_u16(out, 0); /* no comment, disk 0, no attributes */
	if (at)
		mpk_rope_put_u32(out, (uint32_t)*at);
	mpk_rope_put_bytes(out, mpk_span_str(name));
}

/* As numpy.savez writes it: result N is arr_N. Without a number it has all results. */
static enum mpk_code put_archive(const struct run_save *save, const struct mpk_call_result *r,
				 struct mpk_rope *out, struct mpk_error *err)
{
	enum { END = 0x06054b50, RESERVE = 1 << 20 };
	size_t first = save->is_numbered ? save->result : 0;
	size_t end = save->is_numbered ? first + 1 : r->count;
	struct mpk_rope directory = mpk_rope_of(out->arena);
	uint64_t at;

	for (size_t i = first; i < end; i++) {
		struct mpk_rope content = mpk_rope_of(out->arena);
		const struct mpk_tensor *tensor;

		at = out->len;
		MPK_TRY(find_tensor(i, r, &tensor, err));
		MPK_TRY(mpk_array_write(tensor, &content, err));
		if (content.len >= UINT32_MAX - RESERVE - at || i - first > UINT16_MAX - 1)
			return mpk_fail(
				err, MPK_E_RANGE,
				"an archive of 4 GiB and more is not written: name a .npy file for each result");
		put_member(out, &content, i, NULL);
		mpk_rope_put_rope(out, &content);
		put_member(&directory, &content, i, &at);
	}
	at = out->len;
	mpk_rope_put_rope(out, &directory);
	mpk_rope_put_u32(out, END);
	mpk_rope_put_u32(out, 0); /* disk 0 */
	mpk_rope_put_u16(out, (uint16_t)(end - first));
	mpk_rope_put_u16(out, (uint16_t)(end - first));
	mpk_rope_put_u32(out, (uint32_t)directory.len);
	mpk_rope_put_u32(out, (uint32_t)at);
	mpk_rope_put_u16(out, 0); /* no comment */
	return mpk_rope_status(out, err);
}

static bool is_npz(const char *path)
{
	size_t len = strlen(path);

	return len > 4 && strcmp(path + len - 4, ".npz") == 0;
}

static int save_one(const struct run_save *save, const struct mpk_call_result *r)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	struct mpk_rope file = mpk_rope_of(&arena);
	const struct mpk_tensor *tensor;
	struct mpk_error err = { 0 };
	enum mpk_code code;

	if (is_npz(save->path)) {
		code = put_archive(save, r, &file, &err);
	} else {
		if (find_tensor(save->result, r, &tensor, &err) != MPK_OK)
			return mpk_diag_error(&err);
		code = mpk_array_write(tensor, &file, &err);
	}
	if (code == MPK_OK)
		return minspect_save(save->path, &file);
	if (code != MPK_E_USAGE)
		mpk_error_at_file(&err, save->path);
	return mpk_diag_error(&err);
}

static int save_all(const struct run_request *request, const struct mpk_call_result *r)
{
	int status = MPK_EXIT_OK;

	for (size_t i = 0; i < request->save_count && status == MPK_EXIT_OK; i++)
		status = save_one(&request->saves[i], r);
	return status;
}

/* What was saved to standard output must not be followed by text. */
static bool owns_stdout(const struct minspect_options *o, const struct run_request *request)
{
	if (o->profile && strcmp(o->profile, "-") == 0)
		return true;
	for (size_t i = 0; i < request->save_count; i++)
		if (strcmp(request->saves[i].path, "-") == 0)
			return true;
	return false;
}

/* --- comparison --------------------------------------------------------------------- */

static int compare_all(const struct run_request *request, const struct mpk_call_result *r,
		       struct mpk_json *j)
{
	struct mpk_json_at *list = j ? mpk_json_array(j, j->root, "comparisons") : NULL;
	int status = MPK_EXIT_OK;

	for (size_t i = 0; i < request->expect_count; i++) {
		/* One expectation against its result: a line on stderr and a member of the
		 * document. */
		const struct mpk_expect *expect = &request->expects[i];
		struct mpk_comparison c = { 0 };
		struct mpk_error err = { 0 };
		enum mpk_code rc = mpk_expect_check(expect, r, i, request->tolerance, &c, &err);

		if (j && (rc == MPK_OK || rc == MPK_E_DIFFERENT))
			mpk_comparison_json(expect->is_ignored ? NULL : &c, i, j, list);
		int one = rc == MPK_OK ? MPK_EXIT_OK : mpk_diag_error(&err);

		status = status == MPK_EXIT_OK ? one : status;
	}
	return status;
}

/* --- all of it ---------------------------------------------------------------------- */

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
		/* The status is that of the error; a failure to write the document would hide
		 * it. */
		(void)minspect_print_json(&j);
	}
	return status;
}

/* The first operator whose result is not that of the dump, on standard error. */
static int compare_operators(const struct mpk_call_result *r)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf why = { 0 };
	const struct mpk_style style = { 0 };
	struct mpk_error err = { 0 };

	if (!r->seen.comparisons)
		return MPK_EXIT_OK;
	mpk_answer_comparisons.line(r->seen.comparisons, style, &why);
	if (why.len)
		mpk_diag_warn("%s", mpk_strbuf_text(&why));
	if (!r->seen.comparisons->differing)
		return MPK_EXIT_OK;
	mpk_strbuf_fini(&why);
	mpk_answer_comparisons.text(r->seen.comparisons, style, &why);
	(void)mpk_fail(&err, MPK_E_DIFFERENT, "%s", mpk_strbuf_text(&why));
	return mpk_diag_error(&err);
}

static int save_profile(const struct minspect_options *o, const struct mpk_call_result *r)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	struct mpk_rope file = mpk_rope_of(&arena);

	if (!r->seen.profile || !o->profile[0])
		return MPK_EXIT_OK;
	mpk_profile_events(r->seen.profile, o->files[0], &text);
	file.failed |= text.failed;
	mpk_rope_put_view(&file, mpk_span_of(text.data, text.len));
	return minspect_save(o->profile, &file);
}

static int report_text(const struct minspect_options *o, const struct run_request *request,
		       struct mpk_call_result *r)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf out = { 0 };

	if (owns_stdout(o, request))
		return compare_all(request, r, NULL);
	mpk_answer_results.text(r, minspect_style(), &out);
	if (request->is_timed) {
		struct mpk_timing t = mpk_timing_of(r->seconds, r->seconds_count);

		mpk_strbuf_puts(&out, "time: ");
		mpk_timing_text(&t, r->seconds_count, &out);
		mpk_strbuf_putc(&out, '\n');
	}
	if (r->seen.profile)
		mpk_answer_profile.text(r->seen.profile, minspect_style(), &out);

	int status = minspect_write(&out);
	return status != MPK_EXIT_OK ? status : compare_all(request, r, NULL);
}

static int report_json(const struct minspect_options *o, const struct run_request *request,
		       struct mpk_call_result *r)
{
	struct mpk_json j;

	begin_json(o, &j);
	mpk_answer_results.json(r, &j, j.root);

	int status = compare_all(request, r, &j);
	if (request->is_timed) {
		struct mpk_timing t = mpk_timing_of(r->seconds, r->seconds_count);

		mpk_timing_json(&t, r->seconds_count, &j, j.root);
	}
	if (r->seen.profile)
		mpk_answer_profile.json(r->seen.profile, &j, j.root);
	if (r->seen.comparisons)
		mpk_answer_comparisons.json(r->seen.comparisons, &j, j.root);
	int printed = minspect_print_json(&j);
	return status != MPK_EXIT_OK ? status : printed;
}

int run_report(const struct minspect_options *o, const struct run_request *request,
	       struct mpk_call_result *result)
{
	if (result->seen.dump_left_out)
		mpk_diag_warn("%llu results are not in the dump: images of a device",
			      (unsigned long long)result->seen.dump_left_out);
	int saved = save_all(request, result);
	int profiled = save_profile(o, result);
	int status = o->json ? report_json(o, request, result) : report_text(o, request, result);
	int compared = compare_operators(result);

	/* An output that could not be written counts more than a difference. */
	saved = saved != MPK_EXIT_OK ? saved : profiled;
	status = status != MPK_EXIT_OK ? status : compared;
	return saved != MPK_EXIT_OK ? saved : status;
}
