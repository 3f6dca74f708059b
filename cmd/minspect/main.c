/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the action that a command line requests, refuses options that the action does not accept,
 * enters the sandbox, and calls the action. Everything that an inspection needs from outside the
 * sandbox is opened first: helpers of the disassembler, keys, libraries that compute digests. */
#include <errno.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/account.h"
#include "base/strbuf.h"
#include "base/strmap.h"
#include "common/diag.h"
#include "common/files.h"
#include "common/signals.h"
#include "io/output.h"
#include "minspect/minspect.h"
#include "text/escape.h"
#include "text/phrase.h"

static const struct mpk_action summary = { minspect_show, .inspects = true };
static const struct mpk_option summary_row = { .name = "", .action = &summary };

/* Returns the row of the requested action; NULL after an error for two actions. */
static const struct mpk_option *choose_action(void)
{
	const struct mpk_option *chosen = &summary_row;

	for (const struct mpk_option *row = minspect_command.options; row->name; row++) {
		if (!row->action || !mpk_option_count(row))
			continue;
		/* Two actions would print two documents on one standard output. */
		if (chosen != &summary_row) {
			(void)mpk_diag_usage(
				"%s and %s are two different actions; give one of them",
				chosen->name, row->name);
			return NULL;
		}
		chosen = row;
	}
	return chosen;
}

static int fail_belonging(const struct mpk_option *row)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };

	for (const char *word = row->with; *word; word += *word == ' ') {
		int len = (int)strcspn(word, " ");

		if (strncmp(word, "none", 4) == 0)
			mpk_strbuf_puts(&text,
					word > row->with ? ", or with no action" : "no action");
		else
			mpk_strbuf_printf(&text, "%s%.*s", word > row->with ? " or " : "", len,
					  word);
		word += len;
	}
	return mpk_diag_usage("--%s goes with %s", row->name, mpk_strbuf_text(&text));
}

/* Refuses options that the action does not accept: if they were ignored, a requested check would
 * silently be skipped. */
static int check_belongings(const struct mpk_option *action)
{
	const char *word = *action->name ? action->name : "none";

	for (const struct mpk_option *row = minspect_command.options; row->name; row++) {
		if (!mpk_option_count(row) || mpk_option_goes_with(row, word))
			continue;
		if (action->action->act == minspect_cases && row->is_case_key)
			return mpk_diag_usage("--%s is for run; a case says that in its file",
					      row->name);
		return fail_belonging(row);
	}
	return MPK_EXIT_OK;
}

/* Returns the action whose name is most similar to a word; NULL if none is. */
static const char *nearest_action(const char *word)
{
	struct mpk_span names[MPK_OPTIONS_MAX] = { 0 };
	const char *words[MPK_OPTIONS_MAX];
	size_t count = 0, near;

	for (const struct mpk_option *row = minspect_command.options;
	     row->name && count < MPK_OPTIONS_MAX; row++) {
		if (!row->word)
			continue;
		words[count] = row->name;
		names[count++] = mpk_span_str(row->name);
	}
	near = mpk_closest(mpk_span_str(word), names, count);
	return near < count ? words[near] : NULL;
}

static bool is_of_mpack(const char *word)
{
	static const char *const commands[] = { "build", "check", "edit",  "init",
						"sign",  "thin",  "unpack" };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(commands); i++)
		if (strcmp(word, commands[i]) == 0)
			return true;
	return false;
}

/* Returns the action that other programs call by this word. */
static const char *synonym(const char *word)
{
	static const struct {
		const char *word, *action;
	} rows[] = {
		{ "compare", "diff" },
		{ "delta", "diff" },
		{ "disassemble", "disasm" },
		{ "objdump", "disasm" },
		{ "sass", "disasm" },
		{ "digest", "code-digest" },
		{ "hash", "code-digest" },
		{ "sha256", "code-digest" },
		{ "validate", "verify" },
		{ "lint", "verify" },
		{ "test", "cases" },
		{ "call", "run" },
		{ "exec", "run" },
		{ "bench", "run" },
		{ "profile", "run" },
		{ "nm", "functions" },
		{ "symbols", "functions" },
		{ "kernels", "functions" },
		{ "resources", "functions" },
		{ "sizes", "size" },
		{ "bloat", "size" },
		{ "du", "size" },
		{ "page", "html" },
		{ "report", "html" },
		{ "view", "show" },
		{ "cat", "show" },
		{ "print", "show" },
		{ "unzip", "extract" },
		{ "gpus", "devices" },
		{ "graph", "dot" },
		{ "compatible", "check" },
		{ "why", "explain" },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++)
		if (strcasecmp(word, rows[i].word) == 0)
			return rows[i].action;
	return NULL;
}

/* Whether a word is one for printing the summary, which needs no action. */
static bool means_listing(const char *word)
{
	static const char *const words[] = { "list",    "ls",   "info", "inspect",
					     "summary", "dump", "tree", "open" };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(words); i++)
		if (strcasecmp(word, words[i]) == 0)
			return true;
	return false;
}

/* Prints the suggested command, with the given operands. */
static int meant(const char *word, const char *action)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf line = { 0 };
	const struct minspect_options *o = &minspect_options;

	mpk_strbuf_printf(&line, "minspect%s%s", *action ? " " : "", action);
	/* the only operand is the file, and the action takes another operand before it */
	for (const struct mpk_option *row = minspect_command.options; row->name; row++)
		if (strcmp(row->name, action) == 0 && row->kind == MPK_OPT_TEXT &&
		    o->file_count == 2)
			mpk_strbuf_printf(&line, " %s", row->argument);
	for (size_t i = 1; i < o->file_count && i < 4; i++) {
		mpk_strbuf_putc(&line, ' ');
		mpk_put_word(&line, mpk_span_str(o->files[i]));
	}
	mpk_strbuf_puts(&line, o->file_count == 1 ? " FILE" : o->file_count > 4 ? " ..." : "");
	return mpk_diag_usage("there is no action and no file '%s'; did you mean '%s'?", word,
			      mpk_strbuf_text(&line));
}

/* Checks whether the first operand is a misspelt action, unless a file of that name exists.
 * Returns  MPK_EXIT_OK if it is not */
static int check_first(const char *word)
{
	const char *near = nearest_action(word);

	/* A word with a dot or a slash is a file name, whether the file exists or not. */
	if (strpbrk(word, "./") || access(word, F_OK) == 0)
		return MPK_EXIT_OK;
	if (synonym(word))
		return meant(word, synonym(word));
	if (means_listing(word))
		return meant(word, "");
	if (is_of_mpack(word))
		return mpk_diag_usage("there is no file '%s'; did you mean 'mpack %s'?", word,
				      word);
	if (near)
		return meant(word, near);
	if (minspect_options.file_count > 1)
		return mpk_diag_usage("there is no action and no file '%s'", word);
	return MPK_EXIT_OK;
}

/* The shards of weights that a JSON document names are in its folder. */
static void confine_shards(struct mpk_confine *c, const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	size_t len = path ? strlen(path) : 0;
	char *folder;

	if (len < 5 || strcmp(path + len - 5, ".json") != 0)
		return;
	/* lives as long as the process, like the command line */
	folder = slash ? strndup(path, (size_t)(slash + 1 - path)) : strdup(".");
	mpk_confine_input(c, folder);
	c->failed |= !folder;
}

/* An inspection reads the files of its command line, and writes temporary files next to its
 * outputs. */
static void confine_action(char *const *named, size_t named_count)
{
	const struct minspect_options *o = &minspect_options;
	struct mpk_confine c = { 0 };

	for (size_t i = 0; i < named_count; i++) {
		mpk_confine_input(&c, named[i]);
		confine_shards(&c, named[i]);
	}
	confine_shards(&c, o->diff);
	if (o->update_baseline) /* the baseline is both input and output */
		mpk_confine_output(&c, o->baseline);
	if (o->check) /* the libraries that FILE needs may be in any folder */
		mpk_confine_input(&c, "/");
	/* These start processes or open libraries, which the sandbox forbids. */
	minspect_extract_prepare(o);
	minspect_disasm_prepare(o);
	minspect_bom_prepare(o);
	minspect_code_digest_prepare(o);
	/* check_belongings ensured that all given options belong to this action. */
	mpk_confine(&c, minspect_command.options);
}

/* Prepares for any action. */
static int prepare(const struct mpk_option *action)
{
	struct minspect_options *o = &minspect_options;
	char *const *named = o->files;
	size_t named_count = o->file_count;
	int status;

	/* --call-metadata calls getters of FILE in a child process, so it is not an inspection. */
	if (!action->action->inspects || o->call_metadata) {
		/* FILE is read before its code is called, with the limits of an inspection */
		mpk_account_begin(NULL);
		/* the results of its code may have any size */
		if (!mpk_common.max_output)
			mpk_account_limit_output(MPK_OUTPUT_ANY);
		if (!o->max_memory)
			return MPK_EXIT_OK;
		return o->isolate
			       ? minspect_memory_parse(o->max_memory)
			       : mpk_diag_usage(
					 "--max-memory is for inspection and goes with --isolate; "
					 "%s alone has no such limit",
					 action->name);
	}
	status = minspect_memory_init(o->max_memory);
	if (status == MPK_EXIT_OK)
		status = minspect_verify_prepare(o);
	if (status != MPK_EXIT_OK)
		return status;
	confine_action(named, named_count);
	return minspect_folders_expand(o);
}

/* Whether -o names a file for the printed output of the action. --run saves results there, --show a
 * part; for actions that write files, the value of -o has become theirs. */
static bool prints_to_file(const struct mpk_option *action)
{
	return minspect_options.outputs.count && action->action->act != minspect_run &&
	       action->action->act != minspect_part;
}

/* Runs the action with standard output redirected to a file, which is created when output
 * exists. */
static int act_into_file(const struct mpk_option *action)
{
	const struct mpk_option_list *outputs = &minspect_options.outputs;
	const char *path = mpk_option_value(outputs->items[0].option, 0);
	struct mpk_error err = { 0 };
	struct mpk_output *output;

	if (outputs->count > 1)
		return mpk_diag_usage("one answer has one output, not %zu", outputs->count);
	if (mpk_output_open(path, 0666, &output, &err) != MPK_OK)
		return mpk_diag_error(&err);
	if (dup2(mpk_output_fd(output), STDOUT_FILENO) < 0)
		(void)mpk_fail_errno(&err, MPK_E_IO, errno, "cannot write there");
	int status = err.code == MPK_OK ? action->action->act(&minspect_options)
					: mpk_exit_status(err.code);

	if (status != MPK_EXIT_OK && status != MPK_EXIT_DIFFERENT) {
		mpk_output_abandon(output);
		return err.code == MPK_OK ? status : mpk_diag_error(&err);
	}
	return mpk_output_commit(output, &err) == MPK_OK ? status : mpk_diag_error(&err);
}

/* Interprets --json. "lines" is only for actions on files; --run and --cases have one result. */
static int choose_form(const struct mpk_option *action)
{
	struct minspect_options *o = &minspect_options;

	o->json = o->json_form != NULL;
	o->json_lines = o->json && strcmp(o->json_form, "lines") == 0;
	if (o->json && *o->json_form && !o->json_lines)
		return mpk_diag_usage("--json takes lines, or nothing, not '%s'",
				      MPK_QUOTE(mpk_span_str(o->json_form)));
	if (o->json_lines && !action->action->inspects)
		return mpk_diag_usage("--json=lines is for actions that look at files; %s has one "
				      "document",
				      action->name);
	return MPK_EXIT_OK;
}

static int act(void)
{
	const struct mpk_option *action = choose_action();
	int status = action ? check_belongings(action) : MPK_EXIT_USAGE;

	if (status == MPK_EXIT_OK)
		status = choose_form(action);

	if (status != MPK_EXIT_OK)
		return status;
	if (minspect_options.file_count == 0 && !action->action->alone) {
		/* "minspect diff lib.so" took the only file for the value of diff. */
		if (action->kind != MPK_OPT_TEXT) {
			const struct mpk_option_list *filters = &minspect_options.filters;
			const char *last =
				filters->count ? filters->items[filters->count - 1].value : NULL;

			/* "functions --filter lib.so" */
			if (last && access(last, F_OK) == 0)
				return mpk_diag_usage(
					"--filter took '%s' as NAME; FILE is missing: minspect %s "
					"--filter NAME FILE",
					last, action->name);
			return mpk_diag_usage("no file given");
		}
		return mpk_diag_usage("%s took '%s' as %s; FILE is missing: minspect %s %s FILE",
				      action->name, *(const char *const *)action->target,
				      action->argument, action->name, action->argument);
	}
	if (action == &summary_row)
		status = check_first(minspect_options.files[0]);
	if (status == MPK_EXIT_OK)
		status = prepare(action);
	if (status != MPK_EXIT_OK)
		return status;
	return prints_to_file(action) ? act_into_file(action)
				      : action->action->act(&minspect_options);
}

int main(int argc, char **argv)
{
	int first, status;

	mpk_common.program = "minspect";
	mpk_signals_init();
	/* minspect marks its files with an extended attribute, not with bytes in
	 * them. */
	mpk_outputs_begin("", 0);
	if (mpk_options_parse(&minspect_command, argc, argv, &first, &status)) {
		minspect_options.files = argv + first;
		minspect_options.file_count = (size_t)(argc - first);
		/* Must run before the operands are interpreted as files. */
		minspect_disasm_take_name(&minspect_options);
		status = act();
	}
	mpk_options_fini(&minspect_command);
	return status;
}
