/* SPDX-License-Identifier: Apache-2.0 */
/* Parses a command line according to its table (options.h). getopt_long splits it; the rest is
 * here: lists, values that may be given only once, "did you mean" for unknown options, options
 * written as words, and -o, which gives the output of any action. */
#include "common/options.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/strmap.h"
#include "base/vec.h"
#include "common/diag.h"
#include "common/files.h"
#include "common/print.h"

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
	{ 0, "max-output", MPK_OPT_TEXT, "SIZE",
	  "how much may be written (default: 64 MiB and 64 times what is read)",
	  .target = &mpk_common.max_output },
	{ 'h', "help", MPK_OPT_MAYBE, "all", "this help; --help=all lists every option",
	  .target = &help_wanted, .word = MPK_WORD_ALONE, .values = "words: all" },
	{ 'V', "version", MPK_OPT_FLAG, NULL, "program, commit, library versions",
	  .target = &version_wanted, .word = MPK_WORD_ALONE },
	{ 0 },
};

/* The rows of the command and the common rows in one array. */
struct table {
	const struct mpk_option *rows[MPK_OPTIONS_MAX];
	size_t count;
	bool given[MPK_OPTIONS_MAX];
	struct option longs[MPK_OPTIONS_MAX + 1];
	char shorts[2 * MPK_OPTIONS_MAX + 2];
};

static bool takes_argument(enum mpk_option_kind kind)
{
	return kind == MPK_OPT_TEXT || kind == MPK_OPT_LIST || kind == MPK_OPT_WHEN;
}

/* Whether an option takes one value. A second value is an error, because one of the two would be
 * silently dropped. */
static bool takes_one_value(enum mpk_option_kind kind)
{
	return kind == MPK_OPT_TEXT || kind == MPK_OPT_MAYBE || kind == MPK_OPT_WHEN;
}

/* @has_o  -o gives the output, so the word after --html is an operand */
static void table_add(struct table *t, const struct mpk_option *rows, bool has_o)
{
	size_t at = strlen(t->shorts);

	for (; rows->name && t->count < MPK_OPTIONS_MAX; rows++) {
		t->longs[t->count] = (struct option){
			.name = rows->name,
			.has_arg = rows->kind == MPK_OPT_MAYBE || (has_o && mpk_option_has_o(rows))
					   ? optional_argument
				   : takes_argument(rows->kind) ? required_argument
								: no_argument,
			/* Values from 256 on are row numbers, which cannot be
			 * confused with letters. */
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
		/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): getopt ensured it */
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
		if (!MPK_VEC_ROOM(list->items, list->count, list->cap)) {
			(void)mpk_fail_nomem(err);
			return false;
		}
		/* Only the pointer is stored: words of the command line live as long as the
		 * process. */
		list->items[list->count++] = (struct mpk_option_item){ o, value };
		return true;
	case MPK_OPT_WHEN:
		return set_when(o, value);
	}
	return false;
}

/* Returns the number of the row for a value of getopt_long; t->count if none. */
static size_t by_value(const struct table *t, int value)
{
	size_t i = 0;

	if (value >= 256)
		return (size_t)(value - 256);
	while (i < t->count && t->rows[i]->letter != value)
		i++;
	return i;
}

/* Finds a negative number, such as an OpenCL status, that getopt took for an option: it is in the
 * current word, or in the one before if that was read to its end. */
static int number_as_option(char **argv)
{
	const char *word = argv[optind];

	if (!word || word[0] != '-' || word[1] < '0' || word[1] > '9')
		word = argv[optind - 1];
	return mpk_diag_usage("'%s' is no option; a number is written behind '--': -- %s", word,
			      word);
}

static int bad_option(const struct table *t, int got, char **argv)
{
	size_t at = optopt ? by_value(t, optopt) : t->count;
	const struct mpk_option *o = at < t->count ? t->rows[at] : NULL;
	char letter[3] = { '-', (char)optopt, 0 };

	if (!o && optopt >= '0' && optopt <= '9')
		return number_as_option(argv);
	if (got == ':' && o)
		return mpk_diag_usage("option '--%s' needs an argument: %s", o->name, o->argument);
	if (o && optopt >= 256)
		return mpk_diag_usage("option '--%s' takes no argument", o->name);

	const char *word = optopt && optopt < 256 ? letter : argv[optind - 1];
	struct mpk_span names[MPK_OPTIONS_MAX];
	const char *name = word + strspn(word, "-");
	struct mpk_span typed = mpk_span_of(name, strcspn(name, "="));

	for (size_t i = 0; i < t->count; i++)
		names[i] = mpk_span_str(t->rows[i]->name);

	/* A single letter is similar to every other, so only long names get a suggestion. */
	size_t near = word[1] == '-' ? mpk_closest(typed, names, t->count) : t->count;
	if (near < t->count)
		return mpk_diag_usage("unknown option '%s'; did you mean --%s?", word,
				      t->rows[near]->name);
	return mpk_diag_usage("unknown option '%s'", word);
}

/* Returns MPK_EXIT_OK if all options are known. */
static int parse(struct table *t, int argc, char **argv)
{
	struct mpk_error err = { 0 };
	int got;

	/* Errors are printed here, with a suggestion. optind = 0 resets glibc's state from an
	 * earlier call. */
	opterr = 0;
	optind = 0;
	while ((got = getopt_long(argc, argv, t->shorts, t->longs, NULL)) != -1) {
		if (got == '?' || got == ':')
			return bad_option(t, got, argv);
		size_t at = by_value(t, got);

		/* NOLINTBEGIN(clang-analyzer-core.NullDereference): getopt returns only values of
		 * rows */
		if (t->given[at] && takes_one_value(t->rows[at]->kind))
			return mpk_diag_usage("--%s is given twice, and takes one value",
					      t->rows[at]->name);
		t->given[at] = true;
		/* An empty name usually comes from an unset variable of a script. */
		if (t->rows[at]->path >= MPK_WRITES_FILE && optarg && !*optarg)
			return mpk_diag_usage("--%s: a file name is missing", t->rows[at]->name);
		/* NOLINTEND(clang-analyzer-core.NullDereference) */
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
		/* several options may share a list, such as --input and --out */
		for (size_t i = 0; i < list->count; i++)
			count += list->items[i].option == row;
		return count;
	}
	return 0;
}

/* Returns the file of "[N=][@]FILE", where N is the number of a result. */
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

bool mpk_option_goes_with(const struct mpk_option *row, const char *action)
{
	const char *words = row->with;
	size_t len = strlen(action);

	for (; words && *words; words += strcspn(words, " "), words += *words == ' ')
		if (strcspn(words, " ") == len && strncmp(words, action, len) == 0)
			return true;
	return !words || strcmp(row->with, "*") == 0;
}

/* --- words ----------------------------------------------------------------------------------- */

/* Whether the command line has -o or --output. This is searched before getopt runs, as it changes
 * the parsing. */
static bool has_o(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strncmp(argv[i], "-o", 2) == 0 || strcmp(argv[i], "--output") == 0 ||
		    strncmp(argv[i], "--output=", 9) == 0)
			return true;
	return false;
}

static bool has_action(const struct table *t)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->given[i] && t->rows[i]->action)
			return true;
	return false;
}

/* Returns the row whose name is the first operand; t->count if the operand is a file. A call with
 * operands after the word has the same meaning whatever files exist in the folder. If no
 * such call is possible, an existing file of that name is opened. */
static size_t find_word(const struct table *t, char **operands, size_t count)
{
	size_t i = 0;
	struct stat st;

	if (!count)
		return t->count;
	while (i < t->count && (!t->rows[i]->word || strcmp(t->rows[i]->name, operands[0]) != 0))
		i++;
	if (i == t->count || t->rows[i]->word == MPK_WORD_ALONE || help_wanted)
		return i;
	return (count == 1 || has_action(t)) && stat(operands[0], &st) == 0 && S_ISREG(st.st_mode)
		       ? t->count
		       : i;
}

/* Whether the first operand is the optional value of a word: "sbom spdx FILE". Other rows of that
 * kind examine their operands themselves. */
static bool is_value(const struct mpk_option *row, const char *operand)
{
	const char *at =
		row->values && strncmp(row->values, "words: ", 7) == 0 ? row->values + 6 : "";
	size_t len = strlen(operand);

	if (row->target == &help_wanted)
		return true;
	for (; *at; at += strcspn(at, " "))
		if (*++at && strcspn(at, " ") == len && strncmp(at, operand, len) == 0)
			return true;
	return false;
}

/* Takes the value that follows a word; *count decreases by the words taken.
 * Returns  NULL after a message */
static const char *word_value(const struct mpk_option *row, bool o_given, char **operands,
			      size_t *count)
{
	if (row->kind == MPK_OPT_FLAG ||
	    (row->kind == MPK_OPT_TEXT && o_given && mpk_option_has_o(row)))
		return "";
	if (row->kind == MPK_OPT_MAYBE && (!*count || !is_value(row, operands[0])))
		return "";
	/* "html FILE": the page goes to standard output */
	if (*count == 1 && mpk_option_has_o(row) && row->path == MPK_WRITES_FILE)
		return "-";
	if (*count == 1 && mpk_option_has_o(row)) {
		(void)mpk_diag_usage("%s: where to? %s %s %s -o %s", row->name, mpk_common.program,
				     row->name, operands[0], row->argument);
		return NULL;
	}
	if (!*count) {
		(void)mpk_diag_usage("%s: %s is missing: %s %s %s FILE", row->name, row->argument,
				     mpk_common.program, row->name, row->argument);
		return NULL;
	}
	--*count;
	return operands[0];
}

/* Takes a word and its value from the operands. */
static int take_word(struct table *t, char **argv, int argc)
{
	size_t count = (size_t)(argc - optind);
	size_t at = find_word(t, argv + optind, count), left = count - 1;
	const struct mpk_option *row = at < t->count ? t->rows[at] : NULL;
	struct mpk_error err = { 0 };
	const char *value = "";

	if (!row)
		return MPK_EXIT_OK;
	if (t->given[at] && takes_one_value(row->kind))
		return mpk_diag_usage("%s is given twice, and takes one value", row->name);
	t->given[at] = true;
	/* "run --help": the help says what is missing. */
	if (!help_wanted)
		value = word_value(row, has_o(argc, argv), argv + optind + 1, &left);
	else if (!*help_wanted)
		help_wanted = row->name;
	optind = argc - (int)left;
	if (!value)
		return MPK_EXIT_USAGE;
	if (help_wanted || options_set(row, value, &err))
		return MPK_EXIT_OK;
	return mpk_diag_error(&err);
}

/* Makes the value of -o the output of the given action, if that writes a file or folder. */
static int take_file_of_o(const struct table *t)
{
	const struct mpk_option *action = NULL, *output = NULL;

	for (size_t i = 0; i < t->count; i++) {
		if (t->given[i] && mpk_option_has_o(t->rows[i]))
			action = t->rows[i];
		if (t->given[i] && t->rows[i]->path == MPK_WRITES_RESULT)
			output = t->rows[i];
	}
	if (!action || !output)
		return MPK_EXIT_OK;
	if (mpk_option_count(output) != 1 || **(const char **)action->target)
		return mpk_diag_usage("--%s has one output", action->name);
	*(const char **)action->target = mpk_option_value(output, 0);
	((struct mpk_option_list *)output->target)->count = 0;
	return MPK_EXIT_OK;
}

bool mpk_options_parse(const struct mpk_command *command, int argc, char **argv, int *first,
		       int *status)
{
	struct table t = { .shorts = ":" };
	bool names_output = command->has_words && has_o(argc, argv);

	table_add(&t, command->options, names_output);
	table_add(&t, common_options, names_output);
	*status = parse(&t, argc, argv);
	if (*status == MPK_EXIT_OK && command->has_words)
		*status = take_word(&t, argv, argc);
	if (*status == MPK_EXIT_OK && (help_wanted || version_wanted)) {
		*status = mpk_help_print(command, common_options, help_wanted,
					 optind < argc ? argv[optind] : NULL);
		return false;
	}
	/* Outputs are checked before any work, which may take minutes. */
	if (*status == MPK_EXIT_OK && names_output)
		*status = take_file_of_o(&t);
	if (*status == MPK_EXIT_OK)
		*status = mpk_outputs_limit();
	if (*status == MPK_EXIT_OK)
		*status =
			mpk_outputs_check(command->options, argv + optind, (size_t)(argc - optind));
	*first = optind;
	mpk_closing_begin();
	return *status == MPK_EXIT_OK;
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
