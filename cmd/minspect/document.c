/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by all inspecting actions, so that an action is a function of one opened file: the loop
 * over the command line and over the libraries of an archive, the JSON document or the texts,
 * errors in both forms, the exit status, and the warnings of --filter. */
#include "minspect/document.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "answer/answer.h"
#include "base/vec.h"
#include "common/diag.h"
#include "common/print.h"
#include "io/output.h"
#include "text/escape.h"
#include "text/phrase.h"
#include "zip/zip.h"

/* Tests the first of the locale variables that is set. The C library would read hundreds of
 * kilobytes for the same. */
static bool encoding_is_utf8(void)
{
	static const char *const variables[] = { "LC_ALL", "LC_CTYPE", "LANG" };
	const char *locale = NULL, *encoding;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(variables) && (!locale || !*locale); i++)
		locale = getenv(variables[i]);
	encoding = locale ? strchr(locale, '.') : NULL;
	return encoding &&
	       (strncasecmp(encoding, ".utf-8", 6) == 0 || strncasecmp(encoding, ".utf8", 5) == 0);
}

struct mpk_style minspect_style(void)
{
	return (struct mpk_style){
		.color = mpk_color_on(MPK_STDOUT),
		/* use Unicode lines for the tree if the terminal's encoding has them */
		.unicode = encoding_is_utf8(),
		.verbose = mpk_common.verbose > 0,
		.is_terminal = isatty(STDOUT_FILENO),
	};
}

/* Returns 0 if standard output is not a terminal, or if its width is unknown. */
static size_t terminal_columns(void)
{
	struct winsize size;

	return isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col
										     : 0;
}

bool minspect_is_whole(const struct minspect_options *o)
{
	return o->all || o->json || o->csv || o->markdown || o->outputs.count;
}

void minspect_answer(const struct minspect_options *o, struct minspect_look *l,
		     const struct mpk_answer *row, const void *what)
{
	mpk_answer_text *text = o->csv ? row->csv : o->markdown ? row->markdown : row->text;

	if (l->json) {
		row->json(what, l->json, l->at);
		return;
	}
	if (row->is_apart && !o->csv)
		minspect_separate(l);
	text(what, minspect_style(), l->out);
}

void minspect_answer_aside(const struct minspect_options *o, struct minspect_look *l,
			   struct minspect_aside *aside, const struct mpk_answer *row,
			   const void *what)
{
	struct mpk_strbuf *out = l->out;

	if (aside->is_too_much)
		return;
	l->out = &aside->text;
	minspect_answer(o, l, row, what);
	l->out = out;
	aside->is_too_much = mpk_span_count(mpk_span_of(aside->text.data, aside->text.len), '\n') >
			     MINSPECT_LINES;
}

void minspect_aside_print(struct minspect_look *l, struct minspect_aside *aside)
{
	mpk_strbuf_put(l->out, aside->text.data, aside->text.len);
	l->out->failed |= aside->text.failed;
	minspect_aside_fini(aside);
}

void minspect_aside_fini(struct minspect_aside *aside)
{
	mpk_strbuf_fini(&aside->text);
}

/* Output is written piece by piece. The first failure is stored in *arg and reported once, at the
 * end. */
static void write_piece(const char *text, size_t len, void *arg)
{
	int *failed = arg;

	if (!*failed)
		*failed = mpk_print_text(MPK_STDOUT, text, len);
}

enum { HEAD_LINES = 6 };

/* Passes the first lines of a text and counts the others. */
struct cutting {
	size_t room, dropped; /* room: lines that may still be printed */
	int *failed;
	bool keeps; /* collect the text until the head is written */
	struct mpk_strbuf kept;
};

static void cut_piece(const char *text, size_t len, void *arg)
{
	struct cutting *c = arg;
	size_t pass = 0;

	while (pass < len && c->room) {
		const char *end = memchr(text + pass, '\n', len - pass);

		pass = end ? (size_t)(end + 1 - text) : len;
		c->room -= end != NULL;
	}
	if (c->keeps)
		mpk_strbuf_put(&c->kept, text, pass);
	else
		write_piece(text, pass, c->failed);
	c->dropped += mpk_span_count(mpk_span_of(text + pass, len - pass), '\n');
}

/* Writes the rest of a text; failed is the errno of an earlier write. */
static int write_rest(const struct mpk_strbuf *out, int failed)
{
	struct mpk_error err = { 0 };

	if (mpk_strbuf_status(out, &err) != MPK_OK)
		return mpk_diag_error(&err);
	write_piece(mpk_strbuf_text(out), out->len, &failed);
	if (!failed)
		return MPK_EXIT_OK;
	mpk_print_error(failed, &err);
	return mpk_diag_error(&err);
}

/* Writes the unfinished last line of a text. */
static int write_lines(struct mpk_lines *lines, const struct mpk_strbuf *out, const int *failed)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf nothing = { 0 };

	nothing.failed = mpk_strbuf_status(out, NULL) != MPK_OK;
	mpk_lines_put(mpk_strbuf_text(out), out->len, lines);
	if (!mpk_lines_end(lines))
		nothing.failed = true;
	return write_rest(&nothing, *failed);
}

int minspect_write(const struct mpk_strbuf *out)
{
	return write_rest(out, 0);
}

const struct mpk_name_filter *minspect_names(const struct minspect_options *o,
					     struct mpk_arena *arena)
{
	size_t count = o->filters.count;
	struct mpk_name_filter *filter = count ? mpk_arena_alloc(arena, sizeof *filter) : NULL;
	const char **items = filter ? mpk_arena_array(arena, count, sizeof *items) : NULL;

	for (size_t i = 0; items && i < count; i++)
		items[i] = o->filters.items[i].value;
	if (filter)
		*filter = (struct mpk_name_filter){ items, count };
	return items ? filter : NULL;
}

void minspect_filter(struct minspect_look *l)
{
	l->filters = l->choice.filter.count > 0;
	if (l->filters)
		mpk_view_filter(l->view, &l->choice);
}

/* Prepares the choice of --filter for all files. Returns  false if memory is out */
static bool open_choice(const struct minspect_options *o, struct mpk_arena *arena,
			struct mpk_view_choice *out)
{
	const struct mpk_name_filter *names = minspect_names(o, arena);

	if (!o->filters.count)
		return true;
	out->shown = mpk_arena_array(arena, o->filters.count, sizeof *out->shown);
	if (names)
		out->filter = *names;
	return names && out->shown;
}

static void warn_of_filter(const struct minspect_look *l, const char *name)
{
	for (size_t i = 0; l->filters && i < l->choice.filter.count; i++)
		if (!l->choice.shown[i])
			mpk_diag_warn("%s: nothing that is shown of it is named like '%s'", name,
				      l->choice.filter.items[i]);
}

int minspect_report(struct minspect_look *l, const struct mpk_error *err)
{
	if (l->json) {
		mpk_json_text(l->json, l->at, "file", l->file->name);
		mpk_json_error(l->json, l->at, "error", err);
	}
	return mpk_diag_error(err);
}

void minspect_separate(struct minspect_look *l)
{
	mpk_strbuf_puts(l->out, l->out->len || l->out->passed ? "\n" : "");
}

static int print_rest(struct mpk_json *j, int failed)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf out = { 0 };
	struct mpk_error err = { 0 };
	enum mpk_code rc = mpk_json_print(j, &out, &err);

	mpk_json_fini(j);
	return rc == MPK_OK ? write_rest(&out, failed) : mpk_diag_error(&err);
}

int minspect_print_json(struct mpk_json *j)
{
	return print_rest(j, 0);
}

static enum mpk_code document_save(const char *path, const struct mpk_rope *content,
				   struct mpk_error *err)
{
	struct mpk_output *output;

	MPK_TRY(mpk_rope_status(content, err));
	MPK_TRY(mpk_output_open(path, 0666, &output, err));
	return mpk_output_finish(output, mpk_output_write_rope(output, content, NULL, err), err);
}

int minspect_save(const char *path, const struct mpk_rope *content)
{
	struct mpk_error err = { 0 };

	if (document_save(path, content, &err) == MPK_OK)
		return MPK_EXIT_OK;
	mpk_error_at_file(&err, path);
	return mpk_diag_error(&err);
}

int minspect_save_and_say(const char *path, const struct mpk_rope *content)
{
	int status = minspect_save(path, content);

	if (status == MPK_EXIT_OK)
		mpk_closing_line(path, 0, "%s", "");
	return status;
}

/* Whether the status is a result about a readable file. */
static bool is_verdict(int status)
{
	return status == MPK_EXIT_OK || status == MPK_EXIT_DIFFERENT;
}

/* State of the loop over all files. */
struct looking {
	const struct minspect_options *o;
	const struct minspect_action *action;
	struct minspect_look *l;
};

static int look_opened(struct looking *k, struct minspect_file *file, enum mpk_code code,
		       struct mpk_error *err)
{
	struct minspect_look *l = k->l;
	struct mpk_view view;

	if (code == MPK_OK)
		code = mpk_view_init(&view, file->name, file->bytes.len, &file->image, &file->tree,
				     &file->arena, err);
	view.in_archive = file->in_zip;
	l->view = &view;
	l->set->files++;
	l->set->bytes += file->bytes.len;
	int status = code == MPK_OK ? k->action->look(k->o, l)
		     : k->action->refuse && (code == MPK_E_CORRUPT || k->action->refuses_all)
			     ? k->action->refuse(k->o, l, err)
			     : minspect_report(l, err);
	/* the file changed during the inspection, so the results are invalid */
	if (is_verdict(status) && mpk_mappings_check(err) != MPK_OK)
		status = mpk_diag_error(err);
	l->set->unreadable += !is_verdict(status);
	l->view = NULL;
	return status;
}

enum mpk_code minspect_weights_open(struct minspect_file *file, struct mpk_weightfile *out,
				    struct mpk_error *err)
{
	enum mpk_code code;

	*out = (struct mpk_weightfile){ .name = file->name, .bytes = file->bytes.len };
	code = mpk_weight_set_open(file->bytes, file->name, &file->arena, &out->set, err);
	for (size_t i = 0; out->set.places && i < out->set.weights.shard_count; i++)
		minspect_memory_grow(out->set.places[i].map.bytes.len);
	if (code != MPK_OK)
		mpk_error_at_file(err, file->name);
	return code;
}

void minspect_weights_begin(const char *what, const struct mpk_weightfile *f)
{
	uint64_t bytes = f->bytes;

	for (size_t i = 0; i < f->set.weights.shard_count; i++)
		bytes += f->set.places[i].map.bytes.len;
	mpk_progress_begin(what, bytes);
}

static int look_weights(struct looking *k, struct minspect_file *file)
{
	struct mpk_weightfile f;
	struct mpk_error err = { 0 };
	enum mpk_code code = minspect_weights_open(file, &f, &err);
	bool is_refused = code == MPK_E_CORRUPT && k->action->refuse;
	int status = code == MPK_OK ? k->action->weights(k->o, k->l, &f)
		     : is_refused   ? k->action->refuse(k->o, k->l, &err)
				    : minspect_report(k->l, &err);

	if (is_verdict(status) && mpk_mappings_check(&err) != MPK_OK)
		status = mpk_diag_error(&err);
	k->l->set->files++;
	k->l->set->bytes += file->bytes.len;
	k->l->set->unreadable += !is_verdict(status);
	mpk_weight_set_close(&f.set);
	return status;
}

/* Without memory a search may find nothing, so "nothing found" is not reported. */
static int check_memory(const char *name, int status)
{
	struct mpk_error err = { 0 };

	if (status == MPK_EXIT_MALFORMED || mpk_memory_check(&err) == MPK_OK)
		return status;
	mpk_error_at_file(&err, name);
	return mpk_diag_error(&err);
}

/* Accepts libraries without a blob, functions and GPU code, and files that are cut off only in
 * parts that loaders ignore, if the action takes them. */
static enum mpk_code take_any(const struct looking *k, const struct minspect_file *file,
			      enum mpk_code code)
{
	const struct mpk_image *image = &file->image;
	bool takes = image->container == MPK_CONTAINER_ELF_SO ? k->action->takes_libraries
							      : k->action->takes_any;

	if (code == MPK_E_CORRUPT && image->cut && k->action->takes_cut) {
		bool holds = image->has_blob || image->function_count || image->embedded_count ||
			     image->device_count;

		return holds || takes ? MPK_OK : code;
	}
	takes |= image->registers && k->action->takes_registering;
	return code == MPK_E_NO_BLOB && takes && image->elf_class ? MPK_OK : code;
}

/* Returns  an exit status; -1 if it holds nothing of interest */
static int look_library(const struct minspect_file *archive, size_t library, const char *name,
			void *arg)
{
	struct looking *k = arg;
	struct minspect_look *l = k->l;
	struct mpk_error err = { 0 };
	struct minspect_file file;

	mpk_progress_all_next(archive->libraries[library].plain);
	enum mpk_code code = minspect_file_open_library(archive, library, name, false, &file, &err);
	int status = -1;

	l->file = &file;
	l->archive = archive;
	code = take_any(k, &file, code);
	/* A library of an archive that holds nothing of interest is skipped. */
	if (code != MPK_E_NO_BLOB) {
		if (l->json)
			l->at = mpk_json_object(l->json, l->files, NULL);
		status = look_opened(k, &file, code, &err);
	}
	l->file = NULL;
	l->archive = NULL;
	minspect_file_close(&file);
	return check_memory(name, status);
}

/* Looks at an archive with its members, all of which may be without interest. */
static int look_parts(const struct minspect_file *archive, struct looking *k)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	struct mpk_error err = { 0 };
	int status = MPK_EXIT_OK;

	for (size_t i = 0; i < archive->library_count; i++) {
		const char *name = minspect_zip_member(archive, i, &arena);
		int got;

		if (!name)
			return mpk_diag_error((mpk_fail_nomem(&err), &err));
		got = look_library(archive, i, name, k);
		status = status || got < 0 ? status : got;
	}
	return status;
}

/* Whether a file is skipped: it was found in a folder, and holds nothing of interest or is of
 * another kind. */
static bool is_passed_over(enum mpk_code code, bool is_found)
{
	return is_found && (code == MPK_E_NO_BLOB || code == MPK_E_UNSUPPORTED);
}

static int document_look(struct looking *k, const char *name);

static int refuse_models(const char *action, const struct minspect_file *file)
{
	return mpk_diag_usage("%s takes one model, and %s has %zu: name one as %s(%s)", action,
			      MPK_QUOTE(mpk_span_str(file->name)), file->image.prefix_count,
			      MPK_QUOTE(mpk_span_str(file->name)),
			      MPK_QUOTE(mpk_span_str(file->image.prefixes[0])));
}

/* Looks at several models linked into one file, one after the other. */
static int look_models(struct looking *k, const struct minspect_file *file)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	struct mpk_error err = { 0 };
	int status = MPK_EXIT_OK;

	for (size_t i = 0; i < file->image.prefix_count; i++) {
		const char *name =
			mpk_arena_printf(&arena, "%s(%s)", file->name, file->image.prefixes[i]);
		int got;

		if (!name)
			return mpk_diag_error((mpk_fail_nomem(&err), &err));
		k->l->is_model = true;
		k->l->is_next_model = i > 0;
		got = document_look(k, name);
		status = status || got < 0 ? status : got;
	}
	k->l->is_model = k->l->is_next_model = false;
	return status;
}

/* Returns  an exit status; -1 if nothing is to be reported */
static int document_look(struct looking *k, const char *name)
{
	struct minspect_look *l = k->l;
	struct mpk_error err = { 0 };
	struct minspect_file file;
	enum mpk_code code = minspect_file_open(name, &file, &err);
	bool is_archive = file.library_count > 0;
	int status;

	code = is_archive ? code : take_any(k, &file, code);
	l->file = &file;
	if (is_archive) {
		/* The libraries take the place of the archive. */
		uint64_t bytes = 0;

		for (size_t i = 0; i < file.library_count; i++)
			bytes += file.libraries[i].plain;
		mpk_progress_all_open(bytes, file.library_count);
	}
	l->in_set = is_archive || l->folder_len || k->o->file_count > 1;
	if (code == MPK_OK && file.image.prefix_count > 1 && !file.image.by_prefix &&
	    !file.member_alone && strcmp(name, "-") != 0 &&
	    (k->action->each_model || k->action->single) &&
	    !(k->action->is_whole && k->action->is_whole(l))) {
		status = k->action->each_model ? look_models(k, &file)
					       : refuse_models(k->action->single, &file);
	} else if (!is_archive && !(file.is_weights && k->action->weights) &&
		   is_passed_over(code, l->folder_len > 0)) {
		status = -1;
	} else if (k->action->may_hold_nothing && !l->folder_len && mpk_zip_is(file.map.bytes) &&
		   !file.in_zip) {
		status = look_parts(&file, k);
	} else if (is_archive && !k->action->archive) {
		status = minspect_zip_each(&file, k->action->single, k->action->single != NULL,
					   look_library, k);
	} else {
		if (l->json)
			l->at = mpk_json_object(l->json, l->files, NULL);
		if (is_archive) {
			/* In an archive, --filter chooses libraries. */
			k->l->filters = k->l->choice.filter.count > 0;
			status = k->action->archive(k->l);
		} else
			status = file.is_weights && k->action->weights
					 ? look_weights(k, &file)
					 : look_opened(k, &file, code, &err);
	}
	l->file = NULL;
	minspect_file_close(&file);
	return check_memory(name, status);
}

/* Begins the document, with the members before the files. */
static void begin_document(struct looking *k, struct mpk_json *j, int *failed)
{
	struct minspect_look *l = k->l;

	if (k->o->json) {
		mpk_json_init(j, 1);
		if (!k->o->json_lines)
			mpk_json_stream(j, write_piece, failed);
		l->json = j;
		l->at = j->root;
	}
	if (k->action->begin)
		k->action->begin(k->o, l);
	if (k->o->json)
		l->files = mpk_json_array(j, j->root, "files");
}

/* With --json=lines each file has its own document, which is written as soon as it is complete. */
static int end_line(struct mpk_json *j, bool is_wanted, int *failed)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf line = { 0 };
	struct mpk_error err = { 0 };
	enum mpk_code code = is_wanted ? mpk_json_line(j, &line, &err) : MPK_OK;

	mpk_json_fini(j);
	if (code != MPK_OK)
		return mpk_diag_error(&err);
	mpk_strbuf_puts(&line, is_wanted ? "\n" : "");
	write_piece(mpk_strbuf_text(&line), line.len, failed);
	return MPK_EXIT_OK;
}

/* Returns the size of a file; 0 if it is unknown in advance. */
static uint64_t bytes_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
}

/* Looks at one file; each file has its own warnings of --filter. */
static int look_at_file(struct looking *k, struct mpk_json *j, size_t i, int *failed)
{
	const struct minspect_options *o = k->o;
	struct minspect_look *l = k->l;

	l->filters = false;
	for (size_t f = 0; f < l->choice.filter.count; f++)
		l->choice.shown[f] = false;
	if (o->json_lines)
		begin_document(k, j, failed);

	l->folder_len = o->folder_lens ? o->folder_lens[i] : 0;

	mpk_progress_all_next(bytes_of(o->files[i]));

	int got = document_look(k, o->files[i]);

	/* After another error, nothing was shown, so unused filters are not reported. */
	if (is_verdict(got))
		warn_of_filter(l, o->files[i]);
	if (!o->json_lines)
		return got < 0 ? MPK_EXIT_OK : got;

	int written = end_line(j, got >= 0, failed);

	return written ? written : got < 0 ? MPK_EXIT_OK : got;
}

/* With --json=lines the members after the files are a separate line. */
static int end_files(struct looking *k, struct mpk_json *j, int *failed)
{
	struct minspect_look *l = k->l;
	int status, written = MPK_EXIT_OK;

	if (!k->action->end)
		return MPK_EXIT_OK;
	if (k->o->json_lines)
		begin_document(k, j, failed);
	status = k->action->end(k->o, l);
	if (k->o->json_lines)
		written = end_line(j, status == MPK_EXIT_DIFFERENT, failed);
	return written ? written : status;
}

/* Prints the head; all text about files was kept until then. */
static void put_head(struct looking *k, struct cutting *c, struct mpk_strbuf *out,
		     struct mpk_lines *lines)
{
	size_t room;

	mpk_lines_put(mpk_strbuf_text(out), out->len, lines);
	out->len = 0;
	room = c->room;
	c->keeps = false;
	c->room = SIZE_MAX;
	k->action->head(k->o, k->l);
	mpk_lines_put(mpk_strbuf_text(out), out->len, lines);
	out->len = 0;
	c->room = room;
	out->failed |= c->kept.failed;
	write_piece(mpk_strbuf_text(&c->kept), c->kept.len, c->failed);
}

int minspect_each(const struct minspect_options *o, const struct minspect_action *action,
		  void *user)
{
	int failed = 0;
	struct mpk_lines lines = { .take = write_piece,
				   .arg = &failed,
				   .width = terminal_columns(),
				   .mangled = mpk_common.verbose > 0 };
	MPK_CLEANUP(mpk_strbuf_fini)
	struct mpk_strbuf out = { .take = write_piece, .arg = &failed };
	struct mpk_json j = { 0 };
	struct minspect_set set = { 0 };
	struct minspect_look l = { .out = o->json ? NULL : &out,
				   .set = &set,
				   .is_whole = minspect_is_whole(o),
				   .user = user };
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	struct looking k = { o, action, &l };
	struct mpk_error err = { 0 };
	int status = MPK_EXIT_OK, written;
	bool is_for_people = !o->json && !o->csv && !o->markdown && !action->is_verbatim;

	struct cutting cutting = { .room = MINSPECT_LINES, .failed = &failed };

	if (is_for_people) {
		out.take = mpk_lines_put;
		out.arg = &lines;
	}
	/* the head, known last, is printed first; Markdown is not cut, so all of it is kept */
	if (o->markdown && action->head)
		out.take = NULL;
	if (is_for_people && action->is_cut && !minspect_is_whole(o)) {
		lines.take = cut_piece;
		lines.arg = &cutting;
		cutting.keeps = action->head != NULL;
		cutting.room -= action->head ? HEAD_LINES : 0;
	}
	if (!open_choice(o, &arena, &l.choice))
		return mpk_diag_error((mpk_fail_nomem(&err), &err));
	if (!o->json_lines)
		begin_document(&k, &j, &failed);

	/* Total work: the sizes of the files. */
	uint64_t total = 0;

	for (size_t i = 0; i < o->file_count; i++)
		total += bytes_of(o->files[i]);
	mpk_progress_all_begin(action->doing ? action->doing : "reading", total, o->file_count);

	for (size_t i = 0; i < o->file_count; i++) {
		int got = look_at_file(&k, &j, i, &failed);

		status = status ? status : got;
	}
	if (is_verdict(status)) {
		int got = end_files(&k, &j, &failed);

		status = status ? status : got;
	}
	if (lines.take == cut_piece && action->head)
		put_head(&k, &cutting, &out, &lines);
	if (o->markdown && action->head) {
		MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf body = out;

		out = (struct mpk_strbuf){ .take = write_piece, .arg = &failed };
		action->head(o, &l);
		mpk_strbuf_put(&out, mpk_strbuf_text(&body), body.len);
		out.failed |= body.failed;
	}
	if (lines.take == cut_piece) {
		/* Says how much was left out; the text that follows has no limit. */
		mpk_lines_put(mpk_strbuf_text(&out), out.len, &lines);
		out.len = 0;
		cutting.room = SIZE_MAX;
		if (cutting.dropped) {
			mpk_strbuf_puts(&out, "and ");
			mpk_put_number(&out, cutting.dropped);
			mpk_strbuf_printf(&out, " more line%s: --all\n",
					  cutting.dropped == 1 ? "" : "s");
		}
	}
	mpk_strbuf_fini(&cutting.kept);
	if (action->sum && !o->json_lines && (l.json || l.in_set || !action->sum_of_set)) {
		l.at = l.json ? j.root : NULL;
		action->sum(o, &l);
	}
	written = o->json && !o->json_lines ? print_rest(&j, failed)
		  : is_for_people           ? write_lines(&lines, &out, &failed)
					    : write_rest(&out, failed);
	mpk_progress_all_end();
	/* a failed output is worse than a difference */
	return written && is_verdict(status) ? written : status;
}
