/* SPDX-License-Identifier: Apache-2.0 */
/* The actions that print the contents of a file. Without an option that is a summary; for a zip
 * archive it is a line for each library in it. --functions lists functions and kernels.
 * --call-metadata gets metadata that tvm-ffi's exporter does not store: getters return it, which
 * are called in the child process of --run. No other code of the file is called. */
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/strmap.h"
#include "common/diag.h"
#include "common/print.h"
#include "hostcode/registered.h"
#include "list/list.h"
#include "list/templates.h"
#include "minspect/document.h"
#include "minspect/listing.h"
#include "minspect/run.h"
#include "model/node_info.h"
#include "pt2/pt2.h"
#include "session/call.h"
#include "text/escape.h"
#include "text/table.h"
#include "verify/verify.h"
#include "zip/zip.h"

/* --- zip archives ----------------------------------------------------------------------------- */

/* Opens one library of the archive and adds a row with its contents. A library that cannot be read
 * does not end the listing. */
static int list_library(struct minspect_look *l, size_t i, struct minspect_listing *listing,
			struct mpk_json_at *list)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	const struct mpk_zip_member *m = &l->file->libraries[i];
	const char *name = minspect_zip_member(l->file, i, &scratch);
	struct mpk_error err = { 0 };
	struct minspect_file file;
	struct mpk_view view;
	struct mpk_json_at *o = l->json ? mpk_json_object(l->json, list, NULL) : NULL;
	int status = MPK_EXIT_OK;
	enum mpk_code code;

	if (!name)
		return mpk_diag_error((mpk_fail_nomem(&err), &err));
	mpk_progress_all_next(m->plain);
	/* text counts kernels, which needs most bytes of a library */
	code = minspect_file_open_library(l->file, i, name, l->json != NULL, &file, &err);
	bool is_empty = code == MPK_E_NO_BLOB;
	if (code == MPK_OK || is_empty)
		code = mpk_view_init(&view, name, file.bytes.len, &file.image, &file.tree,
				     &file.arena, &err);
	if (l->json) {
		mpk_json_text(l->json, o, "file", name);
		mpk_json_u64(l->json, o, "bytes", m->plain);
		mpk_json_u64(l->json, o, "packed_bytes", m->stored);
		if (code == MPK_OK)
			mpk_answer_brief.json(&view, l->json, o);
		else
			mpk_json_error(l->json, o, "error", &err);
	} else if (code == MPK_OK) {
		code = minspect_listing_add(listing, m->name, m->plain, &view, &err);
	} else {
		MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };
		struct mpk_error memory = { 0 };

		mpk_strbuf_printf(&text, "cannot be read: %s", err.text);
		if (minspect_listing_add_text(listing, m->name, m->plain, mpk_strbuf_text(&text),
					      &memory) != MPK_OK)
			status = mpk_diag_error(&memory);
	}
	if (code != MPK_OK)
		status = mpk_diag_error(&err);
	minspect_file_close(&file);
	return status;
}

/* @pt2     NULL if it is not a package of PyTorch */
static void put_archive(const struct minspect_file *f, const struct mpk_pt2 *pt2,
			const struct minspect_listing *listing, struct mpk_strbuf *out)
{
	size_t libraries = f->library_count - f->device_count;
	uint64_t plain = 0;

	for (size_t i = 0; i < f->library_count; i++)
		plain += f->libraries[i].plain;

	mpk_escape(out, mpk_span_str(f->name));
	mpk_strbuf_puts(out, pt2 ? ": PyTorch package" : ": zip archive");
	if (pt2 && pt2->version.len)
		mpk_strbuf_printf(out, ", version %s", MPK_QUOTE(pt2->version));
	mpk_strbuf_printf(out, ", %s", MPK_SIZE(f->map.bytes.len));
	if (libraries)
		mpk_strbuf_printf(out, ", %zu %s", libraries,
				  libraries == 1 ? "library" : "libraries");
	if (f->device_count)
		mpk_strbuf_printf(out, ", %zu %s of GPU code", f->device_count,
				  f->device_count == 1 ? "file" : "files");
	if (!f->device_count)
		minspect_listing_put_machine(listing, out);
	mpk_strbuf_printf(out, " (%s)", MPK_SIZE(plain));
	if (!f->device_count && listing->totals.files)
		mpk_strbuf_printf(out, ", %zu with GPU code", listing->totals.files);
	mpk_strbuf_puts(out, "; look at one as FILE!/MEMBER\n");
}

static enum mpk_code read_package(const struct minspect_file *f, struct mpk_arena *arena, bool *is,
				  struct mpk_pt2 *out, struct mpk_error *err)
{
	struct mpk_zip_member *members;
	size_t count;

	MPK_TRY(mpk_zip_list(f->bytes, "file", arena, &members, &count, err));
	return mpk_pt2_read(f->bytes, members, count, arena, is, out, err);
}

static int list_archive(struct minspect_look *l)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	MPK_CLEANUP(minspect_listing_fini) struct minspect_listing listing = { 0 };
	struct mpk_json_at *list = NULL;
	struct mpk_error err = { 0 };
	int status = MPK_EXIT_OK;
	struct mpk_pt2 pt2;
	bool is_package;

	if (read_package(l->file, &arena, &is_package, &pt2, &err) != MPK_OK)
		return minspect_report(l, &err);

	if (l->json) {
		mpk_json_text(l->json, l->at, "file", l->file->name);
		mpk_json_u64(l->json, l->at, "bytes", l->file->map.bytes.len);
		mpk_json_text(l->json, l->at, "container", "zip");
		list = mpk_json_array(l->json, l->at, "libraries");
	}
	for (size_t i = 0; i < l->file->library_count; i++) {
		/* --filter chooses libraries of an archive by their names. */
		if (!mpk_view_chooses(&l->choice, l->file->libraries[i].name))
			continue;

		int got = list_library(l, i, &listing, list);

		status = status ? status : got;
	}
	if (!l->json) {
		minspect_separate(l);
		put_archive(l->file, is_package ? &pt2 : NULL, &listing, l->out);
		minspect_listing_put(&listing, l->is_whole, l->out);
	}
	if (is_package && l->json)
		mpk_answer_package.json(&pt2, l->json, l->at);
	else if (is_package)
		mpk_answer_package.text(&pt2, minspect_style(), l->out);
	return status;
}

/* --- --call-metadata ---------------------------------------------------------------------------- */

static void batch_fini(struct mpk_batch_item *items, size_t count)
{
	for (size_t i = 0; items && i < count; i++)
		mpk_call_result_fini(&items[i].result);
	free(items);
}

/* Makes an image whose functions are the getters, so that they can be called like functions. */
static enum mpk_code call_getters(const struct minspect_options *o, struct minspect_file *file,
				  struct mpk_batch_item *items, struct mpk_call *calls,
				  struct mpk_error *err)
{
	MPK_CLEANUP(run_request_fini) struct run_request request = { 0 };
	struct mpk_image image = file->image;
	struct mpk_library_options library;
	enum mpk_code code;

	image.functions = image.getters;
	image.function_count = image.getter_count;
	MPK_TRY(run_request_parse(o, &request, err));
	if (!o->force)
		MPK_TRY(run_check_file(file, err));
	MPK_TRY(run_library_fill(o, file, false, &library, err));
	if (o->isolate)
		MPK_TRY(isolate_fill(&library, &file->arena, err));
	library.image = &image;
	for (size_t i = 0; i < image.getter_count; i++) {
		calls[i] = (struct mpk_call){ .function = image.getters[i].name, .repeat = 1 };
		items[i].call = &calls[i];
		items[i].timeout = request.timeout;
	}
	code = mpk_batch_run(&library, items, image.getter_count, err);
	mpk_progress_end();
	return code;
}

static enum mpk_code take_getter_text(const struct mpk_image *image,
				      const struct mpk_image_function *getter,
				      const struct mpk_call_result *result, struct mpk_arena *arena,
				      struct mpk_host_texts *texts, struct mpk_error *err)
{
	const struct mpk_value *v = result->count ? result->values : NULL;
	const char *copy;
	bool is_doc;
	size_t i = mpk_host_texts_function(image, getter, &is_doc);

	if (i == image->function_count || !v || v->kind != MPK_VALUE_STR)
		return MPK_OK;
	copy = mpk_arena_copy(arena, v->text->data, v->text->len);
	MPK_TRY_ALLOC(copy, err);
	*(is_doc ? &texts->docs[i] : &texts->metadata[i]) = mpk_span_of(copy, v->text->len);
	return MPK_OK;
}

/* A failing getter is skipped with a warning; a library that cannot be loaded is an error. */
static enum mpk_code take_getter_texts(struct minspect_file *file,
				       const struct mpk_batch_item *items, struct mpk_view *view,
				       struct mpk_error *err)
{
	const struct mpk_image *image = &file->image;
	struct mpk_host_texts *texts = mpk_arena_alloc(&file->arena, sizeof *texts);

	MPK_TRY_ALLOC(texts, err);
	MPK_TRY(mpk_host_texts_read(image, &file->arena, texts, err));
	for (size_t i = 0; i < image->getter_count; i++) {
		const struct mpk_batch_item *item = &items[i];

		/* Such an error is the same for every getter, so it is reported once, for the
		 * file. */
		if (item->error.code == MPK_E_LOAD || item->error.code == MPK_E_NOMEM) {
			*err = item->error;
			return err->code;
		}
		if (item->error.code != MPK_OK)
			mpk_diag_warn("%s: %s: %s", file->name, image->getters[i].name,
				      item->error.text);
		else
			MPK_TRY(take_getter_text(image, &image->getters[i], &item->result,
						 &file->arena, texts, err));
	}
	return mpk_view_read_texts(view, texts, err);
}

static enum mpk_code call_metadata(const struct minspect_options *o, struct minspect_file *file,
				   struct mpk_view *view, struct mpk_error *err)
{
	size_t count = file->image.getter_count;
	struct mpk_batch_item *items;
	struct mpk_call *calls;
	enum mpk_code code;

	if (!count)
		return MPK_OK;
	items = calloc(count, sizeof *items);
	calls = mpk_arena_array(&file->arena, count, sizeof *calls);
	code = items && calls ? call_getters(o, file, items, calls, err) : mpk_fail_nomem(err);
	if (code == MPK_OK)
		code = take_getter_texts(file, items, view, err);
	batch_fini(items, count);
	if (code != MPK_OK)
		mpk_error_at_file(err, file->name);
	return code;
}

/* --- the actions -------------------------------------------------------------------------- */

/* Several single files: printed in full up to MINSPECT_LINES, else as rows. */
struct files {
	struct minspect_aside aside;
	struct minspect_listing listing;
	bool is_whole; /* each file is printed in full when it is found */
};

static void files_fini(struct files *f)
{
	minspect_aside_fini(&f->aside);
	minspect_listing_fini(&f->listing);
}

/* Returns the name of a file below the folder of the command line. */
static const char *name_below(const struct minspect_look *l)
{
	return l->file->name + l->folder_len;
}

static int summarize_one_of(const struct minspect_options *o, struct minspect_look *l,
			    struct files *f)
{
	struct mpk_error err = { 0 };

	minspect_answer_aside(o, l, &f->aside, &mpk_answer_summary, l->view);
	if (minspect_listing_add(&f->listing, mpk_span_str(name_below(l)), l->file->bytes.len,
				 l->view, &err) != MPK_OK)
		return mpk_diag_error(&err);
	return MPK_EXIT_OK;
}

static void sum_files(const struct minspect_options *o, struct minspect_look *l)
{
	struct files *f = l->user;
	size_t len = o->folder_lens && o->file_count ? o->folder_lens[0] : 0;
	uint64_t bytes = 0;

	if (l->json || !f->listing.count)
		return;
	if (!f->aside.is_too_much) {
		minspect_aside_print(l, &f->aside);
		return;
	}
	for (size_t i = 0; i < f->listing.count; i++)
		bytes += f->listing.items[i].bytes;
	minspect_separate(l);
	if (len) {
		mpk_escape(l->out, mpk_span_of(o->files[0], len > 1 ? len - 1 : len));
		mpk_strbuf_puts(l->out, ": ");
	}
	mpk_put_count(l->out, f->listing.count, "file");
	minspect_listing_put_machine(&f->listing, l->out);
	mpk_strbuf_printf(l->out, ", %s", MPK_SIZE(bytes));
	if (f->listing.totals.files)
		mpk_strbuf_printf(l->out, ", %zu with GPU code", f->listing.totals.files);
	mpk_strbuf_puts(l->out, "; each in full: --all\n");
	minspect_listing_put(&f->listing, false, l->out);
}

static int summarize(const struct minspect_options *o, struct minspect_look *l)
{
	struct mpk_error err = { 0 };

	if (o->stats) {
		(void)mpk_fail(&err, MPK_E_UNSUPPORTED,
			       "it is no file of weights, whose tensors 'stats' could measure");
		mpk_error_at_file(&err, l->file->name);
		return minspect_report(l, &err);
	}
	minspect_filter(l);
	if (mpk_common.verbose && (mpk_view_show_info(l->view, true, &err) != MPK_OK ||
				   mpk_verify_kernels(l->view, &err) != MPK_OK))
		return mpk_diag_error(&err);

	struct files *f = l->user;

	if (mpk_view_read_registered(l->view, &err) != MPK_OK)
		return mpk_diag_error(&err);
	if (l->in_set && !l->json && !f->is_whole)
		return summarize_one_of(o, l, f);
	minspect_answer(o, l, &mpk_answer_summary, l->view);
	return MPK_EXIT_OK;
}

static enum mpk_code show_read_functions(const struct minspect_options *o, struct minspect_look *l,
					 struct mpk_error *err)
{
	MPK_TRY(mpk_view_show_info(l->view, false, err));
	MPK_TRY(mpk_view_mark_images(l->view, err));
	MPK_TRY(mpk_view_read_registered(l->view, err));
	if (o->call_metadata)
		MPK_TRY(call_metadata(o, l->file, l->view, err));
	return mpk_view_read_texts(l->view, NULL, err);
}

/* The functions of all files: printed in full up to MINSPECT_LINES, else as a table. */
struct functions {
	/* the full texts of all files; marked as too long if the table was requested */
	struct minspect_aside aside;
	bool is_whole; /* print everything, however long */
	struct mpk_templates *templates;
	struct mpk_strbuf names; /* the first functions, one on each line */
	size_t named, models, host, registered;
};

enum { NAMES_SHOWN = 12 };

static void functions_fini(struct functions *f)
{
	minspect_aside_fini(&f->aside);
	mpk_strbuf_fini(&f->names);
	mpk_templates_destroy(f->templates);
}

/* @aside   receives the text up to MINSPECT_LINES; NULL: all of it is printed */
static int list_in_full(const struct minspect_options *o, struct minspect_look *l,
			struct minspect_aside *aside)
{
	struct mpk_error err = { 0 };

	if (show_read_functions(o, l, &err) != MPK_OK)
		return minspect_report(l, &err);
	if (mpk_verify_kernels(l->view, &err) != MPK_OK)
		return mpk_diag_error(&err);
	if (aside)
		minspect_answer_aside(o, l, aside, &mpk_answer_functions, l->view);
	else
		minspect_answer(o, l, &mpk_answer_functions, l->view);
	return MPK_EXIT_OK;
}

static enum mpk_code add_functions(struct functions *f, struct minspect_look *l,
				   struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	struct mpk_kernel_list list;

	MPK_TRY(mpk_view_read_texts(l->view, NULL, err));
	MPK_TRY(mpk_view_read_registered(l->view, err));

	/* Functions of executors come before host functions, as --run prefers them. */
	const struct mpk_view *view = l->view;
	for (size_t n = 0; n < view->count; n++) {
		const struct mpk_models *m = &view->nodes[n].models;

		for (size_t i = 0; i < m->count; i++) {
			if (!mpk_view_shows_part(&view->nodes[n], m->items[i].name))
				continue;
			f->models++;
			if (f->named++ >= NAMES_SHOWN)
				continue;
			mpk_strbuf_puts(&f->names, "  ");
			mpk_signature_text(&m->items[i], &f->names);
			mpk_strbuf_putc(&f->names, '\n');
		}
	}
	for (size_t i = 0; i < view->image->function_count; i++) {
		if (!mpk_view_shows(view, mpk_span_str(view->image->functions[i].name)))
			continue;
		f->host++;
		if (f->named++ >= NAMES_SHOWN)
			continue;
		mpk_strbuf_puts(&f->names, "  ");
		mpk_view_host_text(view, i, " = ", &f->names);
		mpk_strbuf_putc(&f->names, '\n');
	}

	for (size_t i = 0; view->registered && i < view->registered->count; i++) {
		if (!mpk_view_shows(view, view->registered->names[i]))
			continue;
		f->registered++;
		if (f->named++ >= NAMES_SHOWN)
			continue;
		mpk_strbuf_puts(&f->names, "  ");
		mpk_escape(&f->names, view->registered->names[i]);
		mpk_strbuf_putc(&f->names, '\n');
	}

	MPK_TRY(mpk_kernel_list_read(l->view, MPK_KERNELS_OF_FILE, 0, &scratch, &list, err));
	return mpk_templates_add(f->templates, l->view, &list, err);
}

static int list_functions(const struct minspect_options *o, struct minspect_look *l)
{
	struct functions *f = l->user;
	struct mpk_error err = { 0 };

	minspect_filter(l);
	if (f->is_whole)
		return list_in_full(o, l, NULL);
	if (add_functions(f, l, &err) != MPK_OK)
		return minspect_report(l, &err);
	/* each kernel has at least one line for each device, so the text is known to be too long
	 * before it is written */
	if (mpk_templates_rows(f->templates) > MINSPECT_LINES)
		f->aside.is_too_much = true;
	return f->aside.is_too_much ? MPK_EXIT_OK : list_in_full(o, l, &f->aside);
}

static void put_named(const struct functions *f, struct mpk_strbuf *out)
{
	if (!f->named)
		return;
	const struct {
		size_t count;
		const char *one, *many;
	} sorts[] = {
		{ f->models, "function of models", "functions of models" },
		{ f->host, "host function", "host functions" },
		{ f->registered, "global function that it registers",
		  "global functions, registered when loaded" },
	};
	const char *before = "";

	for (size_t i = 0; i < MPK_ARRAY_COUNT(sorts); i++) {
		if (!sorts[i].count)
			continue;
		mpk_strbuf_puts(out, before);
		mpk_put_number(out, sorts[i].count);
		mpk_strbuf_printf(out, " %s", sorts[i].count == 1 ? sorts[i].one : sorts[i].many);
		before = ", ";
	}
	mpk_strbuf_puts(out, f->named > NAMES_SHOWN ? "; the first are\n" : "\n");
	mpk_strbuf_put(out, f->names.data, f->names.len);
	if (f->named > NAMES_SHOWN) {
		mpk_strbuf_puts(out, "  and ");
		mpk_put_number(out, f->named - NAMES_SHOWN);
		mpk_strbuf_puts(out, " more: --all, --filter NAME\n");
	}
}

static void sum_functions(const struct minspect_options *o, struct minspect_look *l)
{
	struct functions *f = l->user;
	struct mpk_templates_form form = { .table = f->templates,
					   .file = o->file_count == 1 ? o->files[0] : "FILE...",
					   .many = l->in_set };
	uint64_t top = 0;

	/* errors said all that is known */
	if (f->is_whole || l->set->files == l->set->unreadable)
		return;
	if (!f->aside.is_too_much) {
		minspect_aside_print(l, &f->aside);
		return;
	}
	for (size_t i = 0; o->sort && i < MPK_TEMPLATES_ORDERS; i++)
		if (strcmp(o->sort, mpk_templates_orders[i]) == 0)
			form.order = (enum mpk_templates_order)i;
	if (o->top && mpk_parse_u64(mpk_span_str(o->top), &top))
		form.top = (size_t)top;
	if (o->spills)
		mpk_answer_spills.text(&form, minspect_style(), l->out);
	else if (mpk_templates_rows(f->templates) || !f->named)
		mpk_answer_templates.text(&form, minspect_style(), l->out);
	l->out->failed |= f->names.failed;
	if (!o->spills && !o->top && !o->sort)
		put_named(f, l->out);
}

/* Parses --sort and --top. Returns  an exit status */
static int check_table(const struct minspect_options *o)
{
	struct mpk_span words[MPK_TEMPLATES_ORDERS];
	uint64_t top;
	bool is_known = !o->sort;

	for (size_t i = 0; i < MPK_TEMPLATES_ORDERS; i++) {
		words[i] = mpk_span_str(mpk_templates_orders[i]);
		is_known |= o->sort && strcmp(o->sort, mpk_templates_orders[i]) == 0;
	}
	if (!is_known) {
		size_t near = mpk_closest(mpk_span_str(o->sort), words, MPK_TEMPLATES_ORDERS);

		return mpk_diag_usage(
			"--sort takes code, registers, stack, shared, variants or name, not "
			"'%s'%s%s%s",
			MPK_QUOTE(mpk_span_str(o->sort)),
			near < MPK_TEMPLATES_ORDERS ? "; did you mean " : "",
			near < MPK_TEMPLATES_ORDERS ? mpk_templates_orders[near] : "",
			near < MPK_TEMPLATES_ORDERS ? "?" : "");
	}
	if (o->top && (!mpk_parse_u64(mpk_span_str(o->top), &top) || !top || top > 1000000))
		return mpk_diag_usage("--top takes a number of rows, not '%s'",
				      MPK_QUOTE(mpk_span_str(o->top)));
	if ((o->json || o->all) && (o->spills || o->sort || o->top))
		return mpk_diag_usage(
			"--%s is for the table; %s has every kernel in the order of the file",
			o->spills ? "spills"
			: o->sort ? "sort"
				  : "top",
			o->json ? "--json" : "--all");
	return MPK_EXIT_OK;
}

static int list_weights(const struct minspect_options *o, struct minspect_look *l,
			const struct mpk_weightfile *f)
{
	struct mpk_weightfile shown = *f;

	shown.filter = l->choice.filter.count ? &l->choice.filter : NULL;
	shown.has_figures = o->stats || mpk_common.verbose > 0;
	minspect_answer(o, l, &mpk_answer_weights, &shown);
	return MPK_EXIT_OK;
}

int minspect_show(const struct minspect_options *o)
{
	static const struct minspect_action action = { .look = summarize,
						       .each_model = true,
						       .takes_registering = true,
						       .archive = list_archive,
						       .weights = list_weights,
						       .sum = sum_files,
						       .sum_of_set = true,
						       .is_cut = true };
	MPK_CLEANUP(files_fini) struct files f = { 0 };

	f.is_whole = minspect_is_whole(o) || mpk_common.verbose > 0;
	return minspect_each(o, &action, &f);
}

int minspect_functions(const struct minspect_options *o)
{
	struct minspect_action action = { .look = list_functions,
					  .each_model = true,
					  .takes_registering = true };
	MPK_CLEANUP(functions_fini) struct functions f = { 0 };
	struct mpk_error err = { 0 };
	int status = check_table(o);

	if (status != MPK_EXIT_OK)
		return status;
	/* a user who calls code for metadata wants to see all of it */
	f.is_whole = minspect_is_whole(o) || o->call_metadata;
	f.aside.is_too_much = o->spills || o->sort || o->top;
	f.templates = mpk_templates_create();
	if (!f.templates)
		return mpk_diag_error((mpk_fail_nomem(&err), &err));
	if (!f.is_whole)
		action.sum = sum_functions;
	return minspect_each(o, &action, &f);
}
