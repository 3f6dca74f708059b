/* SPDX-License-Identifier: Apache-2.0 */
/* --baseline: compares registers, memory and sizes of kernels with those in a JSON file, and exits
 * with status 1 if a kernel needs more. --update-baseline writes the current figures. No GPU is
 * needed: the figures are in the headers of machine code. */
#include <errno.h>

#include "base/num.h"
#include "base/strmap.h"
#include "common/diag.h"
#include "gate/gate.h"
#include "io/mapping.h"
#include "minspect/document.h"
#include "text/escape.h"
#include "text/markup.h"
#include "text/phrase.h"

/* The state of one run over all files. */
struct gatekeeper {
	const char *path; /* path of the baseline */
	bool update;
	double tolerance; /* percent, from --tolerance */
	struct mpk_arena arena;
	struct mpk_baseline baseline;
	struct mpk_strmap names; /* names of the files so far */
	struct mpk_strbuf junit; /* a test suite for each file that was compared */
	size_t suites;
};

static void gatekeeper_fini(struct gatekeeper *g)
{
	mpk_strmap_fini(&g->names);
	mpk_strbuf_fini(&g->junit);
	mpk_arena_fini(&g->arena);
}

/* The document is copied while it is parsed, so its file can be replaced afterwards. */
static enum mpk_code read_baseline(struct gatekeeper *g, struct mpk_error *err)
{
	struct mpk_mapping map = { .fd = -1 };
	enum mpk_code code = mpk_mapping_open(g->path, &map, err);

	if (code != MPK_OK)
		return code;
	if (g->update)
		mpk_mapping_may_be_replaced(&map);
	/* The memory limit follows the size of input files, which include the baseline. */
	minspect_memory_grow(map.bytes.len);
	code = mpk_baseline_parse(map.bytes, &g->arena, &g->baseline, err);
	mpk_mapping_close(&map);
	if (code != MPK_OK)
		mpk_error_at_file(err, g->path);
	return code;
}

/* A baseline names files without their folders, which differ between machines. So two files with
 * one name cannot be in one run. */
static int baseline_check_name(struct gatekeeper *g, const char *name, struct mpk_error *err)
{
	size_t found;
	int put = mpk_strmap_put(&g->names, mpk_span_str(name), 0, &found);

	if (put < 0) {
		(void)mpk_fail_nomem(err);
		return mpk_diag_error(err);
	}
	return put ? MPK_EXIT_OK
		   : mpk_diag_usage("two files are called '%s': a baseline tells files by names "
				    "without folders",
				    MPK_QUOTE(mpk_span_str(name)));
}

/* Returns the name in the baseline. A folder or an archive may have thousands of files with few
 * different names, so these are named by their path below it. */
static const char *name_in_baseline(const struct minspect_look *l, const char *measured)
{
	const char *name = l->view->name;
	const char *inner = strstr(name, "!/");

	if (l->folder_len)
		return name + l->folder_len;
	if (l->view->in_archive && inner && l->view->image->format == MPK_FILE_DEVICE)
		return inner + 2;
	return measured;
}

static bool have_figures(const struct mpk_kernel_list *kernels)
{
	for (size_t i = 0; i < kernels->count; i++)
		for (unsigned f = 0; f < MPK_FIGURE_COUNT; f++)
			if (kernels->items[i].figures.values[f].state == MPK_FIGURE_KNOWN)
				return true;
	return false;
}

static int update(struct gatekeeper *g, struct minspect_look *l,
		  const struct mpk_baseline_file *now)
{
	struct mpk_error err = { 0 };

	if (mpk_baseline_update(&g->baseline, now, &g->arena, &err) != MPK_OK)
		return mpk_diag_error(&err);
	if (l->json) {
		mpk_json_text(l->json, l->at, "file", now->name);
		mpk_json_text(l->json, l->at, "baseline", g->path);
		mpk_json_u64(l->json, l->at, "kernels", now->kernels.count);
		mpk_json_bool(l->json, l->at, "updated", true);
		return MPK_EXIT_OK;
	}
	mpk_escape(l->out, mpk_span_str(now->name));
	mpk_strbuf_puts(l->out, ": ");
	mpk_put_count(l->out, now->kernels.count, "kernel");
	mpk_strbuf_puts(l->out, " put into ");
	mpk_escape(l->out, mpk_span_str(g->path));
	if (now->kernels.count && !have_figures(&now->kernels))
		mpk_strbuf_puts(l->out, "; source and PTX tell no registers: only the sizes of the "
					"file and its blob are held");
	mpk_strbuf_putc(l->out, '\n');
	return MPK_EXIT_OK;
}

static int hold(const struct minspect_options *o, struct gatekeeper *g, struct minspect_look *l,
		const struct mpk_baseline_file *now)
{
	struct mpk_gate gate;
	struct mpk_error err = { 0 };

	if (mpk_gate_compare(&g->baseline, now, g->tolerance, &g->arena, &gate, &err) != MPK_OK) {
		if (err.code != MPK_E_DIFFERENT)
			return mpk_diag_error(&err);
		mpk_error_at_file(&err, g->path);
		return minspect_report(l, &err);
	}
	gate.baseline = g->path;
	minspect_answer(o, l, &mpk_answer_gate, &gate);
	mpk_answer_gate.junit(&gate, minspect_style(), &g->junit);
	g->suites++;
	return gate.worse ? MPK_EXIT_DIFFERENT : MPK_EXIT_OK;
}

static int baseline_look(const struct minspect_options *o, struct minspect_look *l)
{
	struct gatekeeper *g = l->user;
	struct mpk_error err = { 0 };
	struct mpk_baseline_file now;
	int status;

	if (mpk_baseline_measure(l->view, &g->arena, &now, &err) != MPK_OK)
		return mpk_diag_error(&err);
	now.name = mpk_arena_printf(&g->arena, "%s", name_in_baseline(l, now.name));
	if (!now.name)
		return mpk_diag_error((mpk_fail_nomem(&err), &err));
	status = baseline_check_name(g, now.name, &err);
	if (status != MPK_EXIT_OK)
		return status;
	return g->update ? update(g, l, &now) : hold(o, g, l, &now);
}

static int baseline_save(struct gatekeeper *g)
{
	struct mpk_rope content = mpk_rope_of(&g->arena);
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };
	MPK_CLEANUP(mpk_json_fini) struct mpk_json j;
	struct mpk_error err = { 0 };

	mpk_json_init(&j, 1);
	mpk_answer_baseline.json(&g->baseline, &j, j.root);
	if (mpk_json_print(&j, &text, &err) != MPK_OK)
		return mpk_diag_error(&err);
	mpk_rope_put_view(&content, mpk_span_of(text.data, text.len));
	return minspect_save(g->path, &content);
}

/* A file that could not be read has no suite, so an error is returned: the report must not look
 * complete. */
static int save_junit(struct gatekeeper *g, const char *path, size_t files)
{
	struct mpk_rope content = mpk_rope_of(&g->arena);
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };
	struct mpk_error err = { 0 };

	mpk_strbuf_puts(&text, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
	mpk_strbuf_put(&text, mpk_strbuf_text(&g->junit), g->junit.len);
	if (g->suites < files) {
		mpk_strbuf_puts(&text,
				"  <testsuite name=\"files\" tests=\"1\" failures=\"0\" "
				"errors=\"1\" skipped=\"0\" time=\"0.000000\">\n    <testcase "
				"name=\"all are compared\"");
		mpk_xml_attribute(&text, "classname", g->path);
		mpk_xml_attribute(&text, "file", g->path);
		mpk_strbuf_printf(&text,
				  " line=\"1\" time=\"0.000000\">\n      <error type=\"io\" "
				  "message=\"%zu of %zu are not\"/>\n    </testcase>\n"
				  "  </testsuite>\n",
				  files - g->suites, files);
	}
	mpk_strbuf_puts(&text, "</testsuites>\n");
	text.failed |= g->junit.failed;
	if (mpk_strbuf_status(&text, &err) != MPK_OK)
		return mpk_diag_error(&err);
	mpk_rope_put_view(&content, mpk_span_of(text.data, text.len));
	return minspect_save(path, &content);
}

static int parse_tolerance(const char *text, double *out)
{
	struct mpk_span s = mpk_span_str(text);

	/* "5%" and "5" are the same. */
	if (s.len && s.data[s.len - 1] == '%')
		s.len--;
	if (mpk_parse_f64(s, out) && *out >= 0)
		return MPK_EXIT_OK;
	return mpk_diag_usage("--tolerance takes a number of percent, such as 5 or 2.5, not '%s'",
			      MPK_QUOTE(mpk_span_str(text)));
}

int minspect_baseline(const struct minspect_options *o)
{
	static const struct minspect_action action = { .look = baseline_look };
	MPK_CLEANUP(gatekeeper_fini)
	struct gatekeeper g = { .path = o->baseline, .update = o->update_baseline };
	struct mpk_error err = { 0 };
	enum mpk_code code;
	int status = o->tolerance ? parse_tolerance(o->tolerance, &g.tolerance) : MPK_EXIT_OK;

	if (status != MPK_EXIT_OK)
		return status;
	if (o->junit && g.update)
		return mpk_diag_usage("--update-baseline compares nothing that --junit could tell");
	code = read_baseline(&g, &err);
	/* the first update creates the file */
	if (code != MPK_OK && !(code == MPK_E_IO && g.update && err.sys_errno == ENOENT))
		return mpk_diag_error(&err);
	status = minspect_each(o, &action, &g);
	if (o->junit) {
		int written = save_junit(&g, o->junit, o->file_count);

		return status ? status : written;
	}
	return status == MPK_EXIT_OK && g.update ? baseline_save(&g) : status;
}
