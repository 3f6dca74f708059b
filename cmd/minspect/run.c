/* SPDX-License-Identifier: Apache-2.0 */
/* --run: parses the options of a call, makes the call in a child process, which may crash without
 * harm, and prints the results. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/num.h"
#include "common/diag.h"
#include "common/print.h"
#include "common/signals.h"
#include "io/output.h"
#include "minspect/document.h"
#include "minspect/run.h"
#include "npy/npy.h"
#include "results/results.h"
#include "text/escape.h"
#include "value/param_file.h"
#include "value/parse.h"
#include "verify/verify.h"

/* --- Reports a call of --run: results on standard output and in files, differences on standard
 * error. Files are written first, so that a failed comparison does not lose the results. */

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

/* Writes the local header of a stored member, or its entry in the central directory
 * (formats/zip/FORMAT.md). The entry ends with the offset of the local header; @at is NULL for a
 * local header. */
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
	/* version that made it; the next field is the version needed to read it */
	if (at)
		mpk_rope_put_u16(out, VERSION);
	mpk_rope_put_u16(out, VERSION);
	mpk_rope_put_u32(out, 0); /* no flags, method: stored */
	mpk_rope_put_u16(out, 0); /* time: midnight */
	mpk_rope_put_u16(out, FIRST_OF_1980);
	mpk_rope_put_u32(out, (uint32_t)sum);
	mpk_rope_put_u32(out, (uint32_t)content->len); /* compressed size */
	mpk_rope_put_u32(out, (uint32_t)content->len); /* unpacked size */
	mpk_rope_put_u32(out, (uint32_t)strlen(name)); /* and no extra field */
	for (int i = 0; at && i < 5; i++)
		mpk_rope_put_u16(out, 0); /* no comment, disk 0, no attributes */
	if (at)
		mpk_rope_put_u32(out, (uint32_t)*at);
	mpk_rope_put_bytes(out, mpk_span_str(name));
}

/* Writes an archive like numpy.savez: result N is arr_N. Without a number it contains all
 * results. */
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

/* If results were saved to standard output, no text may follow. */
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
		/* One expectation and its result: a line on stderr and a member of the
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
		/* The status is that of the error, which a failure to write the document must not
		 * replace. */
		(void)minspect_print_json(&j);
	}
	return status;
}

/* Reports the first operator whose result differs from the dump, on standard error. */
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
	mpk_answer_results.text(&(struct mpk_shown_results){ r, o->full }, minspect_style(), &out);
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
	mpk_answer_results.json(&(struct mpk_shown_results){ r, o->full }, &j, j.root);

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

	/* A failed output is worse than a difference. */
	saved = saved != MPK_EXIT_OK ? saved : profiled;
	status = status != MPK_EXIT_OK ? status : compared;
	return saved != MPK_EXIT_OK ? saved : status;
}

/* --- the command line --------------------------------------------------------------- */

static enum mpk_code parse_number(const char *option, const char *text, double least, double most,
				  double *out, struct mpk_error *err)
{
	double value;

	if (!text)
		return MPK_OK;
	if (!mpk_parse_f64(mpk_span_str(text), &value) || !(value >= least && value <= most))
		return mpk_fail(err, MPK_E_USAGE, "--%s: expected a number from %g to %g, got '%s'",
				option, least, most, MPK_QUOTE(mpk_span_str(text)));
	*out = value;
	return MPK_OK;
}

static enum mpk_code parse_count(const char *option, const char *text, uint64_t least,
				 unsigned *out, struct mpk_error *err)
{
	uint64_t value;

	if (!text)
		return MPK_OK;
	if (!mpk_parse_u64(mpk_span_str(text), &value) || value < least || value > 1000000000)
		return mpk_fail(err, MPK_E_USAGE,
				"--%s: expected a number from %u to 1000000000, got '%s'", option,
				(unsigned)least, MPK_QUOTE(mpk_span_str(text)));
	*out = (unsigned)value;
	return MPK_OK;
}

/* Parses "X", "X,Y" or "X,Y,Z", each from 1 to 2^31 - 1. */
static enum mpk_code parse_device(const struct minspect_options *o, struct run_device *out,
				  struct mpk_error *err)
{
	struct run_device where = { .is_kernel = o->grid || o->block || o->shared };
	enum mpk_device_kind kind = MPK_DEVICE_NONE;
	unsigned ordinal = 0;

	if (o->device && mpk_device_parse(mpk_span_str(o->device), &kind, &ordinal, err)) {
		mpk_error_prefix(err, "--device: ");
		return MPK_E_USAGE;
	}
	/* Device kind none means that --device was not given; mpk_call_choose_device then
	 * chooses. */
	where.device = (struct mpk_dldevice){ (int32_t)kind, (int32_t)ordinal };
	MPK_TRY(run_parse_extents("grid", o->grid, where.extents.grid, err));
	MPK_TRY(run_parse_extents("block", o->block, where.extents.block, err));
	if (o->shared && (!mpk_parse_u64(mpk_span_str(o->shared), &where.extents.shared_bytes) ||
			  where.extents.shared_bytes > INT32_MAX))
		return mpk_fail(
			err, MPK_E_USAGE,
			"--shared: expected a number of bytes from 0 to 2147483647, got '%s'",
			MPK_QUOTE(mpk_span_str(o->shared)));
	*out = where;
	return MPK_OK;
}

static enum mpk_code parse_argument(const struct mpk_option_item *item, bool is_out,
				    struct mpk_span *name, struct mpk_dldevice *where,
				    struct mpk_value *out, struct mpk_error *err)
{
	enum mpk_code rc = mpk_value_parse_argument(item->value, is_out, name, where, out, err);

	if (rc == MPK_OK)
		return MPK_OK;
	mpk_error_prefix(err, "--%s: ", item->option->name);
	/* A wrong value on the command line is a usage error; one in a file that it names is an
	 * error of the file; out of memory is neither. */
	bool is_text = !strchr(item->value, '@');
	if (err && is_text && (rc == MPK_E_SYNTAX || rc == MPK_E_RANGE))
		err->code = MPK_E_USAGE;
	return is_text && err ? mpk_failed(err->code) : rc;
}

enum mpk_code run_request_parse_expects(const struct minspect_options *o, struct run_request *r,
					struct mpk_error *err)
{
	r->expects = calloc(o->expects.count + 1, sizeof *r->expects);
	MPK_TRY_ALLOC(r->expects, err);
	for (size_t i = 0; i < o->expects.count; i++) {
		const char *text = o->expects.items[i].value;

		if (mpk_expect_parse(text, &r->expects[i], err) != MPK_OK) {
			mpk_error_prefix(err, "--expect: ");
			return err->code;
		}
		r->expect_count++;
	}
	return MPK_OK;
}

/* Parses "[N=][@]FILE". */
static enum mpk_code parse_saves(const struct minspect_options *o, struct run_request *r,
				 struct mpk_error *err)
{
	r->saves = calloc(o->outputs.count + 1, sizeof *r->saves);
	MPK_TRY_ALLOC(r->saves, err);
	for (size_t i = 0; i < o->outputs.count; i++) {
		const char *text = o->outputs.items[i].value;
		size_t digits = strspn(text, "0123456789");
		/* Without a number, the first --output is for result 0, the second for result 1. */
		uint64_t number = i;

		if (digits && text[digits] == '=') {
			if (!mpk_parse_u64(mpk_span_of(text, digits), &number))
				return mpk_fail(err, MPK_E_USAGE,
						"--output: '%s' is no number of a result",
						MPK_QUOTE(mpk_span_of(text, digits)));
		}
		r->saves[r->save_count++] =
			(struct run_save){ (size_t)number, digits && text[digits] == '=',
					   mpk_option_value(o->outputs.items[i].option, i) };
	}
	return MPK_OK;
}

enum mpk_code run_request_parse(const struct minspect_options *o, struct run_request *out,
				struct mpk_error *err)
{
	/* A negative tolerance means that none was given. */
	*out = (struct run_request){ .tolerance = { -1, -1 }, .repeat = 1 };
	out->is_timed = o->repeat || o->warmup;
	MPK_TRY(parse_number("atol", o->atol, 0, 1e300, &out->tolerance.atol, err));
	MPK_TRY(parse_number("rtol", o->rtol, 0, 1e300, &out->tolerance.rtol, err));
	MPK_TRY(parse_number("timeout", o->timeout, 0.001, 1e9, &out->timeout, err));
	MPK_TRY(parse_count("repeat", o->repeat, 1, &out->repeat, err));
	MPK_TRY(parse_count("warmup", o->warmup, 0, &out->warmup, err));
	MPK_TRY(parse_device(o, &out->device, err));
	MPK_TRY(parse_saves(o, out, err));

	size_t room = o->arguments.count + 1;

	out->args = calloc(room, sizeof *out->args);
	out->is_out = calloc(room, sizeof *out->is_out);
	out->names = calloc(room, sizeof *out->names);
	out->places = calloc(room, sizeof *out->places);
	MPK_TRY_ALLOC(out->args && out->is_out && out->names && out->places, err);
	for (size_t i = 0; i < o->arguments.count; i++) {
		const struct mpk_option_item *item = &o->arguments.items[i];

		out->is_out[i] = strcmp(item->option->name, "out") == 0;
		MPK_TRY(parse_argument(item, out->is_out[i], &out->names[i], &out->places[i],
				       &out->args[i], err));
		out->arg_count++;
	}

	if (o->params)
		MPK_TRY(mpk_param_file_open(o->params, mpk_npz_read, &out->params, err));
	/* Isolated code must not find the expected results in the memory that its process
	 * copies. */
	return o->isolate ? MPK_OK : run_request_parse_expects(o, out, err);
}

void run_request_fini(struct run_request *r)
{
	for (size_t i = 0; i < r->arg_count; i++)
		mpk_value_drop(&r->args[i]);
	for (size_t i = 0; i < r->expect_count; i++)
		mpk_value_drop(&r->expects[i].value);
	mpk_param_file_drop(r->params);
	free(r->args);
	free(r->is_out);
	free(r->names);
	free(r->places);
	free(r->expects);
	free(r->saves);
}

/* --- the call ----------------------------------------------------------------------- */

enum mpk_code run_file_open(const char *action, const char *name, struct minspect_file *file,
			    struct mpk_error *err)
{
	struct mpk_file_identity identity;

	if (strcmp(name, "-") == 0)
		return mpk_fail(err, MPK_E_USAGE, "%s needs a file, not standard input", action);

	enum mpk_code code = minspect_file_open(name, file, err);

	/* The loader opens the file again, and a pipe's data would be gone then. */
	if (code == MPK_OK && file->map.origin && !mpk_mapping_identity(&file->map, &identity)) {
		code = mpk_fail(err, MPK_E_USAGE, "%s needs a file, not a pipe or a device",
				action);
		mpk_error_at_file(err, name);
		return code;
	}
	/* The dynamic loader opens files by path, and a member of an archive has none. */
	if (file->in_zip || file->library_count) {
		code = mpk_fail(err, MPK_E_USAGE,
				"%s loads libraries from files alone: unpack the archive first",
				action);
		mpk_error_at_file(err, name);
		return code;
	}
	/* The exports of sources are known only after compilation, so a file without a known
	 * function may still have some. */
	if (code != MPK_E_NO_BLOB || !mpk_loadable_is_needed(&file->image))
		return code;
	/* The error that nothing was found no longer applies. */
	*err = (struct mpk_error){ 0 };
	return MPK_OK;
}

/* Shows progress while the library, its parameters and constants are loaded. Constants are loaded
 * when first used, which is in the first call. */
static void show_load(void *user, const struct mpk_child_state *state)
{
	static uint64_t before;
	bool loads = state->phase == MPK_CHILD_LOADING || state->loaded != before;

	(void)user;
	before = state->loaded;
	if (loads)
		mpk_progress_show("loading", state->loaded, state->to_load);
	else
		mpk_progress_end();
}

/* The code's output must be visible even if it crashes later. */
static void enter_child(void)
{
	mpk_signals_fork();
	mpk_print_by_lines();
}

/* Lists the files that were named; they are searched when the model is loaded. */
static enum mpk_code fill_providers(const struct mpk_option_list *named, struct mpk_arena *arena,
				    struct mpk_library_options *out, struct mpk_error *err)
{
	const char **paths = mpk_arena_array(arena, named->count + 1, sizeof *paths);

	MPK_TRY_ALLOC(paths, err);
	for (size_t i = 0; i < named->count; i++)
		paths[i] = named->items[i].value;
	out->providers = paths;
	out->provider_count = named->count;
	return MPK_OK;
}

enum mpk_code run_library_fill(const struct minspect_options *o, struct minspect_file *file,
			       bool code, struct mpk_library_options *out, struct mpk_error *err)
{
	struct mpk_error unloadable = { 0 };

	if (code)
		/* Objects that cannot be linked may still have kernels to call. */
		unloadable.code = run_file_link(file, &unloadable);
	*out = (struct mpk_library_options){
		.path = run_file_path(file),
		.image = &file->image,
		.tree = file->image.has_blob ? &file->tree : NULL,
		/* a trace has the terminal to itself */
		.watch = o->trace ? NULL : show_load,
		.unloadable = unloadable,
		.enter_child = enter_child,
	};
	MPK_TRY_ALLOC(out->path, err);
	MPK_TRY(fill_providers(&o->provide, &file->arena, out, err));
	return run_runtime_fill(o, &file->arena, &out->runtime, err);
}

static enum mpk_code minspect_run_call(const struct minspect_options *o,
				       const struct run_request *r,
				       const struct mpk_directory *dump, struct minspect_file *file,
				       struct mpk_call_result *result, struct mpk_error *err)
{
	struct mpk_library_options library;
	struct mpk_call call = {
		.function = o->run,
		.args = r->args,
		.names = r->names,
		.is_out = r->is_out,
		.places = r->places,
		.arg_count = r->arg_count,
		.params = r->params,
		.device = r->device.device,
		.kernel = r->device.is_kernel ? &r->device.extents : NULL,
		.watch = {
			.profiles = o->profile != NULL,
			.keeps_events = o->profile && o->profile[0],
			.traces = o->trace,
			.trace_fd = STDERR_FILENO,
			.dump = dump,
			.compare = o->compare,
			.tolerance = r->tolerance,
		},
		.warmup = r->warmup,
		.repeat = r->repeat,
	};

	MPK_TRY(run_library_fill(o, file, !r->device.is_kernel, &library, err));
	/* for users who type a call; case files must get the function's own message */
	library.explains_calls = true;
	if (o->isolate)
		MPK_TRY(isolate_fill(&library, &file->arena, err));
	MPK_TRY(mpk_call_choose_device(&library, &call, err));
	enum mpk_code code = mpk_call_run(&library, &call, r->timeout, result, err);

	mpk_progress_end();
	return code;
}

/* The directory of a dump appears only when it is complete. */
static enum mpk_code call_and_dump(const struct minspect_options *o, const struct run_request *r,
				   struct minspect_file *file, struct mpk_call_result *result,
				   struct mpk_error *err)
{
	MPK_CLEANUP(mpk_directory_abandon) struct mpk_directory d = { 0 };

	if (!o->dump)
		return minspect_run_call(o, r, NULL, file, result, err);
	MPK_TRY(mpk_directory_open(o->dump, &d, err));
	MPK_TRY(minspect_run_call(o, r, &d, file, result, err));
	return mpk_directory_commit(&d, err);
}

/* Code that runs relies on the properties that --verify checks. The digest is skipped: it would
 * read a gigabyte of weights before the first call. */
enum mpk_code run_check_file(struct minspect_file *file, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_report_fini) struct mpk_report report = { 0 };
	const struct mpk_verify_file how = { .map = &file->map, .skips_digest = true };
	const struct mpk_library_options library = { .image = &file->image };
	struct mpk_view view;

	MPK_TRY(mpk_view_init(&view, file->name, file->bytes.len, &file->image, &file->tree,
			      &file->arena, err));
	MPK_TRY(mpk_verify_run(&view, &how, &file->arena, &report, err));
	if (!report.errors)
		return MPK_OK;
	/* If the library is for another machine, that explains more than any finding in it. */
	if (file->image.container == MPK_CONTAINER_ELF_SO)
		MPK_TRY(mpk_library_check(&library, err));
	mpk_report_sort(&report);
	for (size_t i = 0; i < report.count; i++) {
		if (report.findings[i].severity != MPK_ERROR)
			continue;
		*err = report.findings[i].error;
		break;
	}
	mpk_error_prefix(err, "not run, as verify finds %zu error%s; --force runs it anyway: ",
			 report.errors, report.errors == 1 ? "" : "s");
	return mpk_failed(err->code);
}

static enum mpk_code run_file(const struct minspect_options *o, struct run_request *r,
			      struct mpk_call_result *result, struct mpk_error *err)
{
	struct minspect_file file = { .map.fd = -1 };
	enum mpk_code rc;

	if (o->isolate)
		/* Before anything is parsed: the texts are also in the arguments of this
		 * process. */
		MPK_TRY(isolate_hide(&minspect_options.expects, err));
	MPK_TRY(run_request_parse(o, r, err));
	rc = run_file_open("run", o->files[0], &file, err);
	if (rc == MPK_OK && !o->force)
		rc = run_check_file(&file, err);
	if (rc == MPK_OK)
		rc = call_and_dump(o, r, &file, result, err);
	if (rc == MPK_OK && o->isolate)
		rc = run_request_parse_expects(o, r, err);
	if (rc != MPK_OK)
		mpk_error_at_file(err, o->files[0]);
	minspect_file_close(&file);
	return rc;
}

int minspect_run(const struct minspect_options *o)
{
	struct run_request request = { 0 };
	struct mpk_call_result result = { 0 };
	struct mpk_error err = { 0 };
	int status;

	if (o->file_count != 1)
		return mpk_diag_usage("run takes one file, not %zu", o->file_count);
	if (o->isolate && (o->dump || o->compare))
		return mpk_diag_usage("--isolate leaves the called code no files: not with --%s",
				      o->dump ? "dump" : "compare");
	if (o->dump)
		mpk_interrupt_catch(NULL);
	enum mpk_code code = run_file(o, &request, &result, &err);

	/* After the temporary folder of a dump was removed. */
	mpk_interrupt_raise();
	if (code == MPK_OK)
		status = run_report(o, &request, &result);
	else
		status = run_report_error(o, &err);
	mpk_call_result_fini(&result);
	run_request_fini(&request);
	return status;
}
