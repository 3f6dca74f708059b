/* SPDX-License-Identifier: Apache-2.0 */
/* Parses a command line by the rows of its table (options.h), and prints --help, --help=table
 * and --version. getopt_long does the splitting; what it cannot do is here: lists, values that
 * may be given once, and "did you mean" for unknown options. */
#include "common/options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strmap.h"
#include "base/vec.h"
#include "blob/blob.h"
#include "common/config.h"
#include "common/diag.h"
#include "common/outputs.h"
#include "common/print.h"
#include "sandbox/sandbox.h"

/* More rows than any command has; table_add takes no more. */
enum { OPTIONS_MAX = 96 };

static bool version_wanted;
static const char *help_wanted;

static const struct mpk_option common_options[] = {
	{ 'v', "verbose", MPK_OPT_COUNT, NULL, "say more on stderr (repeatable)",
	  .target = &mpk_common.verbose },
	{ 'q', "quiet", MPK_OPT_FLAG, NULL, "print errors only", .target = &mpk_common.quiet },
	{ 0, "color", MPK_OPT_WHEN, "WHEN", "auto, always or never", .target = &mpk_common.color },
	{ 0, "no-sandbox", MPK_OPT_FLAG, NULL, "keep all rights of a program, even unused",
	  .target = &mpk_common.no_sandbox },
	{ 0, "progress", MPK_OPT_WHEN, "WHEN", "auto, always or never",
	  .target = &mpk_common.progress },
	{ 'h', "help", MPK_OPT_MAYBE, "all", "this help; --help=all lists every option",
	  .target = &help_wanted, .values = "words: all" },
	{ 'V', "version", MPK_OPT_FLAG, NULL, "program, commit, library versions",
	  .target = &version_wanted },
	{ 0 },
};

/* The command's rows and the common ones as one array. */
struct table {
	const struct mpk_option *rows[OPTIONS_MAX];
	size_t count;
	bool given[OPTIONS_MAX];
	struct option longs[OPTIONS_MAX + 1];
	char shorts[2 * OPTIONS_MAX + 2];
};

static bool takes_argument(enum mpk_option_kind kind)
{
	return kind == MPK_OPT_TEXT || kind == MPK_OPT_LIST || kind == MPK_OPT_WHEN;
}

/* These kinds take one value. A second one is an error, because one of the two would be dropped
 * silently. */
static bool takes_one_value(enum mpk_option_kind kind)
{
	return kind == MPK_OPT_TEXT || kind == MPK_OPT_MAYBE || kind == MPK_OPT_WHEN;
}

static void table_add(struct table *t, const struct mpk_option *rows)
{
	size_t at = strlen(t->shorts);

	for (; rows->name && t->count < OPTIONS_MAX; rows++) {
		t->longs[t->count] = (struct option){
			.name = rows->name,
			.has_arg = rows->kind == MPK_OPT_MAYBE  ? optional_argument
				   : takes_argument(rows->kind) ? required_argument
								: no_argument,
			/* Values from 256 on are indices of rows, which no letter can be
			 * confused with. */
			.val = 256 + (int)t->count,
		};
		if (rows->letter) {
			t->shorts[at++] = rows->letter;
			if (takes_argument(rows->kind))
				t->shorts[at++] = ':';
		}
		t->rows[t->count++] = rows;
	}
	t->shorts[at] = '\0';
}

static bool set_when(const struct mpk_option *o, const char *value)
{
	static const char *const words[] = { "auto", "always", "never" };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(words); i++) {
		if (strcmp(value, words[i]) == 0) {
			*(enum mpk_when *)o->target = (enum mpk_when)i;
			return true;
		}
	}
	(void)mpk_diag_usage("--%s takes auto, always or never, not '%s'", o->name, value);
	return false;
}

static bool options_set(const struct mpk_option *o, const char *value, struct mpk_error *err)
{
	struct mpk_option_list *list;

	switch (o->kind) {
	case MPK_OPT_FLAG:
		*(bool *)o->target = true;
		return true;
	case MPK_OPT_COUNT:
		++*(unsigned *)o->target;
		return true;
	case MPK_OPT_TEXT:
	case MPK_OPT_MAYBE:
		*(const char **)o->target = value ? value : "";
		return true;
	case MPK_OPT_LIST:
		list = o->target;
		if (!mpk_vec_reserve(&list->items, &list->cap, list->count + 1,
				     sizeof *list->items)) {
			(void)mpk_fail_nomem(err);
			return false;
		}
		/* Only the pointer is kept: words of the command line live as long as the
		 * process. */
		list->items[list->count++] = (struct mpk_option_item){ o, value };
		return true;
	case MPK_OPT_WHEN:
		return set_when(o, value);
	}
	return false;
}

static int unknown_option(const struct table *t, const char *word)
{
	struct mpk_span names[OPTIONS_MAX];
	const char *name = word + strspn(word, "-");
	struct mpk_span typed = mpk_span_of(name, strcspn(name, "="));

	for (size_t i = 0; i < t->count; i++)
		names[i] = mpk_span_str(t->rows[i]->name);

	/* A single letter is near to every other letter, so only long names get a proposal. */
	size_t near = word[1] == '-' ? mpk_closest(typed, names, t->count) : t->count;
	if (near < t->count)
		return mpk_diag_usage("unknown option '%s'; did you mean --%s?", word,
				      t->rows[near]->name);
	return mpk_diag_usage("unknown option '%s'", word);
}

/* The index of the row that a value of getopt_long means; t->count: none. */
static size_t by_value(const struct table *t, int value)
{
	size_t i = 0;

	if (value >= 256)
		return (size_t)(value - 256);
	while (i < t->count && t->rows[i]->letter != value)
		i++;
	return i;
}

static int bad_option(const struct table *t, int got, char **argv)
{
	size_t at = optopt ? by_value(t, optopt) : t->count;
	const struct mpk_option *o = at < t->count ? t->rows[at] : NULL;
	char letter[3] = { '-', (char)optopt, 0 };

	if (got == ':' && o)
		return mpk_diag_usage("option '--%s' needs an argument: %s", o->name, o->argument);
	if (o && optopt >= 256)
		return mpk_diag_usage("option '--%s' takes no argument", o->name);
	return unknown_option(t, optopt && optopt < 256 ? letter : argv[optind - 1]);
}

/* MPK_EXIT_OK: all of them are understood. */
static int parse(struct table *t, int argc, char **argv)
{
	struct mpk_error err = { 0 };
	int got;

	/* Errors are printed by us, with a proposal. optind = 0 makes glibc forget an earlier
	 * call. */
	opterr = 0;
	optind = 0;
	while ((got = getopt_long(argc, argv, t->shorts, t->longs, NULL)) != -1) {
		if (got == '?' || got == ':')
			return bad_option(t, got, argv);
		size_t at = by_value(t, got);

		if (t->given[at] && takes_one_value(t->rows[at]->kind))
			return mpk_diag_usage("--%s is given twice, and takes one value",
					      t->rows[at]->name);
		t->given[at] = true;
		/* An empty name usually comes from an unset variable of a script. */
		if (t->rows[at]->path >= MPK_WRITES_FILE && optarg && !*optarg)
			return mpk_diag_usage("--%s: a file name is missing", t->rows[at]->name);
		if (!options_set(t->rows[at], optarg, &err))
			return err.code == MPK_OK ? MPK_EXIT_USAGE : mpk_diag_error(&err);
	}
	return MPK_EXIT_OK;
}

size_t mpk_option_count(const struct mpk_option *row)
{
	const struct mpk_option_list *list = row->target;
	size_t count = 0;

	switch (row->kind) {
	case MPK_OPT_FLAG:
		return *(const bool *)row->target;
	case MPK_OPT_COUNT:
		return *(const unsigned *)row->target;
	case MPK_OPT_WHEN:
		return 1; /* it has a default */
	case MPK_OPT_TEXT:
	case MPK_OPT_MAYBE:
		return *(const char *const *)row->target != NULL;
	case MPK_OPT_LIST:
		/* several options may share a list, as --input and --out do */
		for (size_t i = 0; i < list->count; i++)
			count += list->items[i].option == row;
		return count;
	}
	return 0;
}

/* The file of "[N=][@]FILE": N is the number of a result. */
static const char *result_file(const char *value)
{
	size_t digits = strspn(value, "0123456789");

	if (digits && value[digits] == '=')
		value += digits + 1;
	return value + (value[0] == '@');
}

static const char *raw_value(const struct mpk_option *row, size_t i)
{
	const struct mpk_option_list *list = row->target;

	if (row->kind == MPK_OPT_TEXT || row->kind == MPK_OPT_MAYBE)
		return *(const char *const *)row->target;
	for (size_t k = 0; row->kind == MPK_OPT_LIST && k < list->count; k++)
		if (list->items[k].option == row && i-- == 0)
			return list->items[k].value;
	return NULL;
}

const char *mpk_option_value(const struct mpk_option *row, size_t i)
{
	const char *value = raw_value(row, i), *equals;

	if (value && row->path == MPK_WRITES_RESULT)
		return result_file(value);
	if (value && row->path == MPK_READS_PAIR) {
		equals = strchr(value, '=');
		return equals ? equals + 1 : NULL;
	}
	return value;
}

/* For scripts/completion, which would have to guess from the help: a line an option, and in it
 * between tabs the letter, the name, "=" where the value is optional, the word for the value,
 * .values and the help. */
static void print_rows(const struct mpk_option *rows)
{
	for (; rows->name; rows++) {
		char letter[2] = { rows->letter, 0 };

		(void)mpk_print(MPK_STDOUT, "%s\t%s\t%s\t%s\t%s\t%s\n", letter, rows->name,
				rows->kind == MPK_OPT_MAYBE ? "=" : "",
				rows->argument ? rows->argument : "",
				rows->values ? rows->values : "", rows->help);
	}
}

static void help_rows(const struct mpk_option *rows, size_t most)
{
	for (size_t i = 0; i < most && rows[i].name; i++) {
		char left[64], letter[8] = "    ";
		const char *again = rows[i].kind == MPK_OPT_LIST ? "..." : "";

		if (rows[i].letter)
			(void)snprintf(letter, sizeof letter, "-%c, ", rows[i].letter);
		(void)snprintf(left, sizeof left, "%s--%s%s%s%s%s%s", letter, rows[i].name,
			       rows[i].kind == MPK_OPT_MAYBE ? "[=" : "",
			       rows[i].argument && rows[i].kind != MPK_OPT_MAYBE ? " " : "",
			       rows[i].argument ? rows[i].argument : "",
			       rows[i].kind == MPK_OPT_MAYBE ? "]" : "", again);
		(void)mpk_print(MPK_STDOUT, "  %-28s %s\n", left, rows[i].help);
	}
}

/* All options, or the first screen of at most 24 lines. */
static void print_help(const struct mpk_command *command, bool all)
{
	/* With the usage, the common lines and three examples, 14 rows make a screen of 24
	 * lines. */
	size_t count = 0, most = command->screen ? command->screen : 14;

	while (command->options[count].name)
		count++;
	(void)mpk_print(MPK_STDOUT, "usage: %s\n%s\n%s", command->usage, command->summary,
			count ? "\n" : "");
	help_rows(command->options, all ? OPTIONS_MAX : most);
	if (all)
		help_rows(common_options, OPTIONS_MAX);
	else if (count > most)
		(void)mpk_print(MPK_STDOUT, "  %-28s %s\n", "    --help=all", "every option");
	(void)mpk_print(MPK_STDOUT, "\nexamples:\n%s", command->examples);
}

const char *mpk_version_number(void)
{
	return MPK_VERSION;
}

const char *mpk_version_program(void)
{
	return MPK_VERSION " (commit " MPK_COMMIT ")";
}

const char *mpk_version_llvm(void)
{
	return MPK_LLVM_VERSION;
}

static void print_version(void)
{
	(void)mpk_print(MPK_STDOUT, "%s %s\nlibelf %s\nLLVM %s\n", mpk_common.program,
			mpk_version_program(), MPK_LIBELF_VERSION,
			*mpk_version_llvm() ? mpk_version_llvm() : "none");
	/* What the kernel offers, not what this call uses: --version enters no sandbox. */
	const struct mpk_sandbox_state can = mpk_sandbox_support();

	(void)mpk_print(MPK_STDOUT, "sandbox %s\n",
			can.files && can.calls ? "files (Landlock), system calls (seccomp)"
			: can.files            ? "files (Landlock)"
			: can.calls            ? "system calls (seccomp)"
					       : "none on this system");
	if (can.namespaces)
		(void)mpk_print(MPK_STDOUT, "namespaces %snetwork, IPC, mount%s\n",
				can.own_user ? "user, " : "",
				can.own_root ? "" : "; without a root folder of their own");
	else
		(void)mpk_print(MPK_STDOUT, "namespaces none on this system\n");
	for (unsigned g = 0; g < MPK_GENERATION_COUNT; g++) {
		const struct mpk_generation_info *info = mpk_generation_get((enum mpk_generation)g);

		(void)mpk_print(MPK_STDOUT, "generation %-8s %s (%s)\n", info->abi,
				info->blob_symbol, info->releases);
	}
}

bool mpk_options_parse(const struct mpk_command *command, int argc, char **argv, int *first,
		       int *status)
{
	struct table t = { .shorts = ":" };

	table_add(&t, command->options);
	table_add(&t, common_options);
	*status = parse(&t, argc, argv);
	/* Outputs are checked before any work, which may take minutes. Help needs no outputs. */
	if (*status == MPK_EXIT_OK && !help_wanted && !version_wanted)
		*status =
			mpk_outputs_check(command->options, argv + optind, (size_t)(argc - optind));
	if (*status != MPK_EXIT_OK)
		return false;
	*first = optind;
	if (help_wanted && strcmp(help_wanted, "table") == 0) {
		print_rows(command->options);
		print_rows(common_options);
	} else if (help_wanted) {
		print_help(command, strcmp(help_wanted, "all") == 0);
	} else if (version_wanted) {
		print_version();
	} else {
		return true;
	}
	/* Help and version were printed without looking at errors; printing nothing once more
	 * reports a full disk or a closed pipe. */
	int failed = mpk_print(MPK_STDOUT, "%s", "");
	if (failed) {
		struct mpk_error err = { 0 };

		(void)mpk_fail_errno(&err, MPK_E_IO, failed, "cannot write to standard output");
		*status = mpk_diag_error(&err);
	}
	return false;
}

void mpk_options_fini(const struct mpk_command *command)
{
	for (const struct mpk_option *row = command->options; row->name; row++) {
		struct mpk_option_list *list = row->target;

		if (row->kind != MPK_OPT_LIST)
			continue;
		free(list->items);
		memset(list, 0, sizeof *list);
	}
}
