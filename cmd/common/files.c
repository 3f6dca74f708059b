/* SPDX-License-Identifier: Apache-2.0 */
/* File access of the programs, derived from their option tables: the sandbox of an action, and the
 * outputs it may write.
 *
 * No part of an inspected file is executed. If a reader has a bug all the same, the kernel still
 * restricts the process to the files that the command line names, and to system calls that an
 * inspection needs.
 *
 * Outputs are checked before any work: a mistyped command must not destroy a library at the
 * output's path, nor cost minutes of work. io/output.h applies the same rules again when the output
 * is opened.
 */
#include "common/files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/account.h"
#include "base/compiler.h"
#include "base/vec.h"
#include "common/diag.h"
#include "io/mapping.h"
#include "io/output.h"
#include "io/path.h"
#include "sandbox/sandbox.h"
#include "text/escape.h"
#include "text/table.h"

/* --- the sandbox ------------------------------------------------------------------------ */

static void add_readable(struct mpk_confine *c, const char *path)
{
	if (MPK_VEC_ROOM(c->readable, c->readable_count, c->readable_cap))
		c->readable[c->readable_count++] = path;
	else
		c->failed = true;
}

/* In "app.whl!/pkg/lib.so", the text before each separator may be the name of the archive. */
static void add_archives(struct mpk_confine *c, const char *path)
{
	for (const char *at = strstr(path, "!/"); at; at = strstr(at + 1, "!/")) {
		char *archive = strndup(path, (size_t)(at - path));

		if (archive && access(archive, F_OK) == 0)
			add_readable(c, archive); /* lives as long as the process */
		else
			free(archive);
	}
}

void mpk_confine_input(struct mpk_confine *c, const char *path)
{
	/* "lib.a(devc.o)" names a member, so the archive must be readable. */
	const char *member = path ? strrchr(path, '(') : NULL;

	if (!path || strcmp(path, "-") == 0)
		return;
	add_readable(c, path);
	add_archives(c, path);
	if (!member || member == path || access(path, F_OK) == 0)
		return;
	/* lives as long as the process, like the command line */
	char *archive = strndup(path, (size_t)(member - path));

	if (archive)
		add_readable(c, archive);
	c->failed |= !archive;
}

void mpk_confine_output(struct mpk_confine *c, const char *path)
{
	if (!path || !*path || strcmp(path, "-") == 0 || c->writable_count == MPK_CONFINE_MAX)
		return;
	/* if the path is a link, its target is replaced */
	char *target = realpath(path, NULL), *parent = NULL;

	if (!target)
		target = strdup(path);
	/* "out/" and "out" are one folder; renaming it needs access to its parent. */
	for (size_t len = target ? strlen(target) : 0; len > 1 && target[len - 1] == '/'; len--)
		target[len - 1] = '\0';
	if (target)
		parent = mpk_path_folder(target);
	free(target);
	if (parent)
		c->writable[c->writable_count++] = parent;
	c->failed |= !parent;
}

static void confine_enter(const struct mpk_confine *c)
{
	const struct mpk_sandbox s = {
		.readable = c->readable,
		.readable_count = c->readable_count,
		.writable = (const char *const *)c->writable,
		.writable_count = c->writable_count,
		/* A new file gets the mode and owner of the file that it replaces, which needs more
		 * rights. */
		.replaces = c->writable_count > 0,
		.emptied = c->emptied,
	};
	struct mpk_sandbox_state state;

	/* A sandbox with an incomplete list would refuse files that the user named. */
	if (c->failed) {
		mpk_diag_note("no sandbox: memory is out");
		return;
	}
	state = mpk_sandbox_enter(&s);
	/* Old kernels lack some of the features; the program then uses those that exist. */
	if (!state.files)
		mpk_diag_note("files are not confined: this system has no Landlock");
	if (!state.calls)
		mpk_diag_note("system calls are not confined: this system has no seccomp");
}

void mpk_confine(struct mpk_confine *c, const struct mpk_option *options)
{
	if (options) {
		for (const struct mpk_option *row = options; row->name; row++) {
			for (size_t i = 0; row->path && i < mpk_option_count(row); i++) {
				const char *path = mpk_option_value(row, i);

				if (row->path >= MPK_WRITES_FILE)
					mpk_confine_output(c, path);
				else
					mpk_confine_input(c, path);
			}
		}
	}
	/* a sanitizer's leak detector starts a process and reads /proc */
	if (!mpk_common.no_sandbox && !MPK_IS_SANITIZED)
		confine_enter(c);
	for (size_t i = 0; i < c->writable_count; i++)
		free(c->writable[i]);
	free(c->emptied);
	free(c->readable);
	*c = (struct mpk_confine){ 0 };
}

void mpk_confine_to(const char *path, const struct mpk_option *options)
{
	struct mpk_confine c = { 0 };

	mpk_confine_input(&c, path);
	mpk_confine(&c, options);
}

/* --- outputs ---------------------------------------------------------------------------- */

void mpk_outputs_begin(const char *mark, size_t len)
{
	mpk_overwrite_author(mpk_common.program, mpk_span_of(mark, len));
	/* Keeps the device and inode of inputs, so that no output can replace an input that was
	 * read. */
	mpk_mappings_keep();
}

int mpk_outputs_limit(void)
{
	const char *given = mpk_common.max_output;
	uint64_t most = 0;

	if (given && strcmp(given, "none") == 0)
		most = MPK_OUTPUT_ANY;
	else if (given && (!mpk_size_parse(mpk_span_str(given), &most) || most == 0))
		return mpk_diag_usage(
			"--max-output takes a size such as 2GiB or 500MB, or none, not '%s'",
			MPK_QUOTE(mpk_span_str(given)));
	mpk_account_limit_output(most);
	return MPK_EXIT_OK;
}

/* One output that the command line names. */
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

		/* --profile without a value names no file; for all others an empty name is an
		 * error */
		if (row->kind == MPK_OPT_MAYBE && !*path)
			continue;
		MPK_TRY_ALLOC(MPK_VEC_ROOM(out->items, out->count, out->cap), err);
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

/* Whether two outputs that do not exist yet have the same name in one folder. */
static bool will_be_one_file(const char *a, const char *b)
{
	char *in_a = mpk_path_folder(a), *in_b = mpk_path_folder(b);
	bool is = in_a && in_b && strcmp(mpk_path_name(a), mpk_path_name(b)) == 0 &&
		  is_one_file(in_a, in_b);

	free(in_a);
	free(in_b);
	return is;
}

/* Whether two outputs conflict. A pipe and a terminal accept several outputs; "-" does not, as
 * standard output holds one document. */
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
		/* There are few outputs, so comparing all pairs is quick. */
		for (size_t k = 0; k < i; k++)
			if (clash(o->items[k].path, a->path))
				return mpk_diag_usage("--%s and --%s name the same output, '%s'",
						      o->items[k].row->name, a->row->name, a->path);
	}
	return MPK_EXIT_OK;
}

/* Whether a file exists. Sets err if that is unknown. */
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

/* Checks that an output, which is not an input, may be created or replaced. */
static int check_new(const struct output *o, char *const *operands, size_t count)
{
	struct mpk_error err = { 0 };

	if (mpk_output_check_path(o->path, &err) == MPK_OK)
		return MPK_EXIT_OK;

	/* OUT names an existing library: the user probably forgot the name of the output, so that
	 * getopt took the input for it. */
	const char *name = o->row->name, *argument = o->row->argument;

	if (strncmp(argument, "OUT", 3) == 0 && count)
		mpk_error_prefix(
			&err,
			"--%s names what to write before what to read (--%s %s %s%s %s): ", name,
			name, argument, MPK_QUOTE(mpk_span_str(o->path)), count > 1 ? " ..." : "",
			MPK_QUOTE(mpk_span_str(operands[count - 1])));
	else
		mpk_error_prefix(&err, "--%s: ", name);

	return mpk_diag_error(&err);
}

/* Whether an output is an input file. Files are compared by inode, not by name: a link to the input
 * is also the input. Sets err if that is unknown. */
static bool is_input(const char *path, const struct stat *output, struct mpk_error *err)
{
	struct stat input;

	return is_there(path, &input, err) && output->st_dev == input.st_dev &&
	       output->st_ino == input.st_ino && S_ISREG(output->st_mode);
}

/* The same for files that options name: --diff OTHER, --baseline B.json. */
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
