/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the outputs that a command line names before anything is done, by the rows of the
 * option table. A mistyped command must cost neither a library that lies in the place of the
 * output nor minutes of work. io/place.h holds the same rules again when the output is
 * opened. */
#include "common/outputs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/vec.h"
#include "common/diag.h"
#include "io/mapping.h"
#include "io/output.h"
#include "io/path.h"
#include "io/place.h"
#include "text/escape.h"

void mpk_outputs_begin(const char *mark, size_t len)
{
	mpk_overwrite_author(mpk_common.program, mpk_span_of(mark, len));
	/* Inputs stay known by device and inode, so that no output can replace a file that was
	 * read. */
	mpk_mappings_keep();
}

/* One value of the command line. */
struct output {
	const struct mpk_option *row;
	const char *path;
};

struct outputs {
	struct output *items;
	size_t count, cap;
};

static enum mpk_code collect_row(const struct mpk_option *row, struct outputs *out,
				 struct mpk_error *err)
{
	for (size_t i = 0; i < mpk_option_count(row); i++) {
		const char *path = mpk_option_value(row, i);

		/* --profile without a value names no file; an empty name of all others is a
		 * mistake */
		if (row->kind == MPK_OPT_MAYBE && !*path)
			continue;
		MPK_TRY_ALLOC(
			mpk_vec_reserve(&out->items, &out->cap, out->count + 1, sizeof *out->items),
			err);
		out->items[out->count++] = (struct output){ row, path };
	}
	return MPK_OK;
}

/* --- whether two names are of one file --------------------------------------------------- */

static bool is_one_file(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Of files that are not there yet: the same name in one folder. */
static bool will_be_one_file(const char *a, const char *b)
{
	char *in_a = mpk_path_folder(a), *in_b = mpk_path_folder(b);
	bool is = in_a && in_b && strcmp(mpk_path_name(a), mpk_path_name(b)) == 0 &&
		  is_one_file(in_a, in_b);

	free(in_a);
	free(in_b);
	return is;
}

/* A pipe and a terminal take more than one; standard output under its name does not, as what is
 * written there is one document. */
static bool clash(const char *a, const char *b)
{
	struct stat st;

	if (strcmp(a, b) == 0)
		return stat(a, &st) != 0 || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode);
	return (is_one_file(a, b) && stat(a, &st) == 0 && S_ISREG(st.st_mode)) ||
	       will_be_one_file(a, b);
}

/* --- the checks ------------------------------------------------------------------------- */

static int outputs_check_names(const struct outputs *o)
{
	for (size_t i = 0; i < o->count; i++) {
		const struct output *a = &o->items[i];

		if (!*a->path)
			return mpk_diag_usage("--%s: a file name is missing", a->row->name);
		/* There are a handful of outputs, so comparing each with each is quick. */
		for (size_t k = 0; k < i; k++)
			if (clash(o->items[k].path, a->path))
				return mpk_diag_usage("--%s and --%s name the same output, '%s'",
						      o->items[k].row->name, a->row->name, a->path);
	}
	return MPK_EXIT_OK;
}

/* A library is in the place of OUT: most likely the name of the output was forgotten, and getopt
 * took the input for it. */
static void outputs_explain(const struct output *o, char *const *operands, size_t count,
			    struct mpk_error *err)
{
	const char *name = o->row->name, *argument = o->row->argument;

	if (strncmp(argument, "OUT", 3) == 0 && count)
		mpk_error_prefix(
			err,
			"--%s names what to write before what to read (--%s %s %s%s %s): ", name,
			name, argument, MPK_QUOTE(mpk_span_str(o->path)), count > 1 ? " ..." : "",
			MPK_QUOTE(mpk_span_str(operands[count - 1])));
	else
		mpk_error_prefix(err, "--%s: ", name);
}

/* Whether there is a file. Where that cannot be known, err is set. */
static bool is_there(const char *path, struct stat *out, struct mpk_error *err)
{
	if (stat(path, out) == 0)
		return true;
	if (errno == EIO || errno == ENOMEM) {
		(void)mpk_fail_errno(err, MPK_E_IO, errno, "cannot look at it");
		mpk_error_at_file(err, path);
	}
	return false;
}

/* What is no input: may it be made, or replaced? */
static int check_new(const struct output *o, char *const *operands, size_t count)
{
	struct mpk_error err = { 0 };

	if (mpk_output_check_path(o->path, &err) == MPK_OK)
		return MPK_EXIT_OK;
	outputs_explain(o, operands, count, &err);
	return mpk_diag_error(&err);
}

/* Whether an output is a file that is read. They are compared as files, not as names: a link to the input is the
 * input, too. Where that cannot be known, err is set. */
static bool is_input(const char *path, const struct stat *output, struct mpk_error *err)
{
	struct stat input;

	return is_there(path, &input, err) && output->st_dev == input.st_dev &&
	       output->st_ino == input.st_ino && S_ISREG(output->st_mode);
}

/* The same for the files that options name: --diff OTHER, --baseline B.json. */
static bool is_read_by_option(const struct mpk_option *row, const struct stat *output,
			      struct mpk_error *err)
{
	for (; row->name; row++) {
		bool reads = row->path == MPK_READS_FILE || row->path == MPK_READS_PAIR;

		for (size_t i = 0; reads && i < mpk_option_count(row) && !err->code; i++) {
			const char *path = mpk_option_value(row, i);

			if (path && is_input(path, output, err))
				return true;
		}
	}
	return false;
}

static int check_replaced(const struct output *o, const struct mpk_option *options,
			  char *const *operands, size_t count)
{
	struct mpk_error err = { 0 };
	struct stat st;
	bool is_read = false;

	/* Standard output replaces no file. */
	if (strcmp(o->path, "-") == 0)
		return MPK_EXIT_OK;
	if (!is_there(o->path, &st, &err))
		return err.code ? mpk_diag_error(&err) : check_new(o, operands, count);
	for (size_t i = 0; i < count && !is_read && !err.code; i++)
		is_read = is_input(operands[i], &st, &err);
	if (is_read && o->row->path == MPK_WRITES_EDITED)
		return MPK_EXIT_OK;
	is_read = is_read || is_read_by_option(options, &st, &err);
	if (!is_read)
		return err.code ? mpk_diag_error(&err) : check_new(o, operands, count);
	(void)mpk_fail(&err, MPK_E_USAGE, "this is an input, too, and would be overwritten");
	mpk_error_at_file(&err, o->path);
	return mpk_diag_error(&err);
}

static int check_all(const struct outputs *o, const struct mpk_option *options,
		     char *const *operands, size_t count)
{
	int status = outputs_check_names(o);

	for (size_t i = 0; i < o->count && status == MPK_EXIT_OK; i++)
		if (o->items[i].row->path != MPK_WRITES_FOLDER)
			status = check_replaced(&o->items[i], options, operands, count);
	return status;
}

int mpk_outputs_check(const struct mpk_option *options, char *const *operands, size_t count)
{
	struct outputs outputs = { 0 };
	struct mpk_error err = { 0 };
	enum mpk_code code = MPK_OK;

	for (const struct mpk_option *row = options; row->name && code == MPK_OK; row++) {
		if (row->path == MPK_WRITES_FORCE && mpk_option_count(row))
			mpk_overwrite_all();
		else if (row->path >= MPK_WRITES_FILE)
			code = collect_row(row, &outputs, &err);
	}
	int status = code == MPK_OK ? check_all(&outputs, options, operands, count)
				    : mpk_diag_error(&err);

	free(outputs.items);
	return status;
}
