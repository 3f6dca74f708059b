/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the action that a command line asks for, refuses options that the action does not
 * understand, enters the sandbox, and calls the action. Everything that an inspection needs from
 * outside the sandbox is opened before: helpers of the disassembler, keys, libraries that
 * compute digests. */
#include <string.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "base/strmap.h"
#include "common/confine.h"
#include "common/diag.h"
#include "common/explain.h"
#include "common/outputs.h"
#include "common/signals.h"
#include "minspect/minspect.h"

/* The operands of --explain are words, no files. */
static int explain_operand(const struct minspect_options *o)
{
	return mpk_explain(o->explain, o->files, o->file_count, o->json);
}

/* A row for each action: its option, its function, and whether it only inspects, so that nothing
 * of FILE is executed and the sandbox can be entered. */
static const struct action {
	const char *option;
	int (*act)(const struct minspect_options *o);
	bool inspects; /* nothing of FILE is executed */
} actions[] = {
	{ "functions", minspect_functions, true },
	{ "size", minspect_size, true },
	{ "diff", minspect_diff, true },
	{ "show", minspect_part, true },
	{ "disasm", minspect_disasm, true },
	{ "extract", minspect_extract, true },
	{ "verify", minspect_verify, true },
	{ "check", minspect_check, true },
	{ "baseline", minspect_baseline, true },
	{ "header", minspect_header, true },
	{ "run", minspect_run, false },
	{ "cases", minspect_cases, false },
	{ "devices", minspect_devices, false },
	{ "explain", explain_operand, false },
	{ "sbom", minspect_sbom, true },
	{ "attestation", minspect_attestation, true },
	{ "html", minspect_html, true },
	{ "dot", minspect_dot, true },
};

static const struct action summary = { "", minspect_show, true };

/* The action asked for; NULL after two. */
static const struct action *choose_action(void)
{
	const struct action *chosen = &summary;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(actions); i++) {
		if (!mpk_option_count(minspect_option(actions[i].option)))
			continue;
		/* Two actions would be two documents on one standard output. */
		if (chosen != &summary) {
			(void)mpk_diag_usage(
				"--%s and --%s are two different actions; give one of them",
				chosen->option, actions[i].option);
			return NULL;
		}
		chosen = &actions[i];
	}
	return chosen;
}

/* Whether the words of a row's "with" have one, "run" in "run cases". */
static bool has_word(const char *words, const char *word)
{
	size_t len = strlen(word);

	for (; *words; words += strcspn(words, " "), words += *words == ' ')
		if (strcspn(words, " ") == len && strncmp(words, word, len) == 0)
			return true;
	return false;
}

static int fail_belonging(const struct mpk_option *row)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };

	for (const char *word = row->with; *word; word += *word == ' ') {
		int len = (int)strcspn(word, " ");

		if (strncmp(word, "none", 4) == 0)
			mpk_strbuf_puts(&text, ", or with no action");
		else
			mpk_strbuf_printf(&text, "%s--%.*s", word > row->with ? " or " : "", len,
					  word);
		word += len;
	}
	return mpk_diag_usage("--%s goes with %s", row->name, mpk_strbuf_text(&text));
}

/* Options that the action does not understand. They are an error, because a check that was meant
 * to be made would pass without having been made. */
static int check_belongings(const struct action *action)
{
	const char *word = *action->option ? action->option : "none";

	for (const struct mpk_option *row = minspect_command.options; row->name; row++) {
		if (!row->with || !mpk_option_count(row) || has_word(row->with, word))
			continue;
		if (action->act == minspect_cases && row->is_case_key)
			return mpk_diag_usage("--%s is for --run; a case says that in its file",
					      row->name);
		return fail_belonging(row);
	}
	return MPK_EXIT_OK;
}

/* "minspect --diff lib.so" has taken the only file for the value of --diff. */
static int no_file(const struct action *action)
{
	const struct mpk_option *row = minspect_option(action->option);

	if (!row || row->kind != MPK_OPT_TEXT)
		return mpk_diag_usage("no file given");
	return mpk_diag_usage("--%s took '%s' as %s; FILE is missing: minspect --%s %s FILE",
			      row->name, *(const char *const *)row->target, row->argument,
			      row->name, row->argument);
}

/* The action whose option a word is, or nearly is; NULL: none. */
static const struct action *nearest_action(const char *word)
{
	struct mpk_span names[MPK_ARRAY_COUNT(actions)];
	size_t near;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(actions); i++)
		names[i] = mpk_span_str(actions[i].option);
	near = mpk_closest(mpk_span_str(word), names, MPK_ARRAY_COUNT(actions));
	return near < MPK_ARRAY_COUNT(actions) ? &actions[near] : NULL;
}

static bool is_of_mpack(const char *word)
{
	static const char *const commands[] = {
		"build", "check", "edit", "init", "sign", "unpack"
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(commands); i++)
		if (strcmp(word, commands[i]) == 0)
			return true;
	return false;
}

/* "minspect verify deploy.so": the first operand is an action, unless there is such a file.
 * Returns  MPK_EXIT_OK: it is none */
static int check_first(const char *word)
{
	const struct action *near = nearest_action(word);

	/* A word with a dot or a slash was meant as a file, whether there is one or not. */
	if (strpbrk(word, "./") || access(word, F_OK) == 0)
		return MPK_EXIT_OK;
	if (near)
		return mpk_diag_usage("there is no file '%s'; did you mean --%s?", word,
				      near->option);
	if (is_of_mpack(word))
		return mpk_diag_usage("there is no file '%s'; did you mean 'mpack %s'?", word,
				      word);
	return MPK_EXIT_OK;
}

/* The shards of weights that a JSON document names lie in its folder. */
static void confine_shards(struct mpk_confine *c, const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	size_t len = path ? strlen(path) : 0;
	char *folder;

	if (len < 5 || strcmp(path + len - 5, ".json") != 0)
		return;
	/* lives as long as the process, as command lines do */
	folder = slash ? strndup(path, (size_t)(slash + 1 - path)) : strdup(".");
	mpk_confine_input(c, folder);
	c->failed |= !folder;
}

/* An inspection reads the files of its command line, and writes next to its outputs. */
static void confine_action(void)
{
	const struct minspect_options *o = &minspect_options;
	struct mpk_confine c = { 0 };

	for (size_t i = 0; i < o->file_count; i++) {
		mpk_confine_input(&c, o->files[i]);
		confine_shards(&c, o->files[i]);
	}
	confine_shards(&c, o->diff);
	/* All options that were given belong to this action: check_belongings saw to it. */
	mpk_confine_options(&c, minspect_command.options);
	if (o->update_baseline) /* makes an output of an input */
		mpk_confine_output(&c, o->baseline);
	if (o->check) /* the libraries that FILE needs may be in any folder */
		mpk_confine_input(&c, "/");
	/* These start processes or open libraries, which the sandbox forbids. */
	minspect_extract_prepare(o);
	minspect_disasm_prepare(o);
	minspect_bom_prepare(o);
	mpk_confine(&c);
}

static int act(void)
{
	const struct action *action = choose_action();
	int status = action ? check_belongings(action) : MPK_EXIT_USAGE;

	if (status != MPK_EXIT_OK)
		return status;
	if (minspect_options.file_count == 0 && action->act != minspect_devices &&
	    action->act != explain_operand)
		return no_file(action);
	if (action == &summary)
		status = check_first(minspect_options.files[0]);
	/* --call-metadata runs getters of FILE in a child process, so it is no inspection. */
	if (status == MPK_EXIT_OK && action->inspects && !minspect_options.call_metadata) {
		status = minspect_memory_init(minspect_options.max_memory);
		if (status == MPK_EXIT_OK)
			status = minspect_verify_prepare(&minspect_options);
		confine_action();
	} else if (status == MPK_EXIT_OK && minspect_options.max_memory) {
		status =
			minspect_options.isolate
				? minspect_memory_parse(minspect_options.max_memory)
				: mpk_diag_usage(
					  "--max-memory is for inspection and goes with --isolate; "
					  "--%s alone has no such limit",
					  action->option);
	}
	return status == MPK_EXIT_OK ? action->act(&minspect_options) : status;
}

int main(int argc, char **argv)
{
	int first, status;

	mpk_common.program = "minspect";
	mpk_signals_init();
	/* minspect writes no file with a mark of its own in it; it knows its files by their
	 * attribute. */
	mpk_outputs_begin("", 0);
	if (mpk_options_parse(&minspect_command, argc, argv, &first, &status)) {
		minspect_options.files = argv + first;
		minspect_options.file_count = (size_t)(argc - first);
		/* Before the operands are taken for files. */
		minspect_disasm_take_name(&minspect_options);
		status = act();
	}
	mpk_options_fini(&minspect_command);
	return status;
}
