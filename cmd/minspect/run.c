/* SPDX-License-Identifier: Apache-2.0 */
/* --run: parses what the command line says of a call, makes the call in a child process, which
 * may crash without harm, and hands the result to run_report.c. */
#include "minspect/run.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "common/diag.h"
#include "common/print.h"
#include "common/signals.h"
#include "io/output.h"
#include "npy/npy.h"
#include "text/escape.h"
#include "value/param_file.h"
#include "value/parse.h"
#include "verify/verify.h"

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

/* "X", "X,Y" or "X,Y,Z", each from 1 to 2^31 - 1 */
enum mpk_code run_parse_extents(const char *option, const char *text, uint64_t out[3],
				struct mpk_error *err)
{
	const char *at = text;

	for (unsigned axis = 0; text && axis < 3; axis++) {
		size_t len = strcspn(at, ",");

		if (!mpk_parse_u64(mpk_span_of(at, len), &out[axis]) || out[axis] == 0 ||
		    out[axis] > INT32_MAX)
			break;
		at += len;
		if (!*at)
			return MPK_OK;
		at++;
	}
	if (!text)
		return MPK_OK;
	return mpk_fail(err, MPK_E_USAGE,
			"--%s: expected X, X,Y or X,Y,Z, each from 1 to 2147483647, got '%s'",
			option, MPK_QUOTE(mpk_span_str(text)));
}

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
	/* A device of kind none means that --device was not given; mpk_call_choose_device then
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
	/* A wrong value on the command line is a mistake of usage; one in a file that it names
	 * is the file's; no memory is neither. */
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

/* "[N=][@]FILE" */
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
	/* Isolated code must not find what is expected in the memory that its process copies. */
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
	if (strcmp(name, "-") == 0)
		return mpk_fail(err, MPK_E_USAGE, "--%s needs a file, not standard input", action);

	enum mpk_code code = minspect_file_open(name, file, err);

	/* The dynamic loader opens files by their path, and a member of an archive has none. */
	if (file->in_zip || file->library_count) {
		code = mpk_fail(err, MPK_E_USAGE,
				"--%s loads libraries from files alone: unpack the archive first",
				action);
		mpk_error_at_file(err, name);
		return code;
	}
	/* Sources say what they export only when they are compiled, so a file without a known
	 * function may still have some. */
	if (code != MPK_E_NO_BLOB || !mpk_loadable_is_needed(&file->image))
		return code;
	/* The error that nothing was found is no error any more. */
	*err = (struct mpk_error){ 0 };
	return MPK_OK;
}

/* A line while the library, its parameters and constants are loaded: constants when they are first
 * used, which is in the first call. */
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

/* What the code prints before it crashes is to be seen, as on a terminal. */
static void enter_child(void)
{
	mpk_signals_fork();
	mpk_print_by_lines();
}

/* As they were named; the files are looked for when the model is loaded. */
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
		/* a trace has the terminal for itself */
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
	/* for whoever types a call; case files want to see what the function itself says */
	library.explains_calls = true;
	if (o->isolate)
		MPK_TRY(isolate_fill(&library, &file->arena, err));
	MPK_TRY(mpk_call_choose_device(&library, &call, err));
	enum mpk_code code = mpk_call_run(&library, &call, r->timeout, result, err);

	mpk_progress_end();
	return code;
}

/* The directory of a dump appears when all of it is there. */
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

/* Code that is run relies on what --verify looks at. The digest is left out: it would read a
 * gigabyte of weights before the first call. */
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
	/* That a library is for another machine explains more than any finding in it. */
	if (file->image.container == MPK_CONTAINER_ELF_SO)
		MPK_TRY(mpk_library_check(&library, err));
	mpk_report_sort(&report);
	for (size_t i = 0; i < report.count; i++) {
		if (report.findings[i].severity != MPK_ERROR)
			continue;
		*err = report.findings[i].error;
		break;
	}
	mpk_error_prefix(err, "not run, as --verify finds %zu error%s; --force runs it anyway: ",
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
		return mpk_diag_usage("--run takes one file, not %zu", o->file_count);
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
