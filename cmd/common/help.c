/* SPDX-License-Identifier: Apache-2.0 */
/* Prints --help, --version and --explain. The help is generated from the option tables: the first
 * screen, all options, and the options of one action, ten on each screen. Lines have at most 80
 * columns. --explain prints entries of the message catalogue (lib/show/explain): in full for given
 * words, else one line for each message. */
#include "common/options.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/strmap.h"
#include "blob/blob.h"
#include "common/config.h"
#include "common/diag.h"
#include "common/print.h"
#include "explain/messages.h"
#include "sandbox/sandbox.h"

enum { WIDTH = 80, WORDS = 20, OPTIONS = 28, ROWS_OF_A_SCREEN = 10 };

/* Prints the table for scripts/completion: one line for each option, with tab-separated fields: the
 * letter, the name, "=" if the value is optional, the word for the value, .values, "word" if the
 * name may be written without dashes ("output" if -o may also give its value), and
 * the help. */
static void print_table(const struct mpk_option *rows)
{
	for (; rows->name; rows++) {
		char letter[2] = { rows->letter, 0 };

		(void)mpk_print(MPK_STDOUT, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", letter, rows->name,
				rows->kind == MPK_OPT_MAYBE ? "=" : "",
				rows->argument ? rows->argument : "",
				rows->values ? rows->values : "",
				!rows->word              ? ""
				: mpk_option_has_o(rows) ? "output"
							 : "word",
				rows->help);
	}
}

/* Prints a name, padded to some columns, and next to it its explanation, wrapped at blanks. */
static void print_beside(int columns, const char *left, const char *text)
{
	const size_t width = (size_t)(WIDTH - columns - 3);
	int pad = 0;

	if (strlen(left) > (size_t)columns) {
		(void)mpk_print(MPK_STDOUT, "  %s\n", left);
		pad = columns + 2;
	} else {
		(void)mpk_print(MPK_STDOUT, "  %-*s", columns, left);
	}
	for (; *text; pad = columns + 2) {
		size_t len = strlen(text);

		if (len > width) {
			for (len = width; len && text[len] != ' '; len--)
				;
			len = len ? len : strcspn(text, " ");
		}
		(void)mpk_print(MPK_STDOUT, "%*s %.*s\n", pad, "", (int)len, text);
		text += len + strspn(text + len, " ");
	}
}

/* "-o, --output FILE..." */
static void print_option(const struct mpk_option *row, const char *text)
{
	char left[64], letter[8] = "    ";
	bool maybe = row->kind == MPK_OPT_MAYBE;

	if (row->letter)
		(void)snprintf(letter, sizeof letter, "-%c, ", row->letter);
	(void)snprintf(left, sizeof left, "%s--%s%s%s%s%s", letter, row->name,
		       maybe           ? "[="
		       : row->argument ? " "
				       : "",
		       row->argument ? row->argument : "", maybe ? "]" : "",
		       row->kind == MPK_OPT_LIST ? "..." : "");
	print_beside(OPTIONS, left, text);
}

/* --- the first screen, and every option -------------------------------------------------------- */

static void print_help(const struct mpk_command *command, const struct mpk_option *common, bool all)
{
	/* With the usage, the common lines and three examples, 14 rows fill a screen of 24
	 * lines. */
	size_t count = 0, most = command->screen ? command->screen : 14;

	while (command->options[count].name)
		count++;
	(void)mpk_print(MPK_STDOUT, "usage: %s\n%s\n%s", command->usage, command->summary,
			count ? "\n" : "");
	if (command->has_words && !all) {
		/* Actions written as words; if the screen is full, only their names. */
		char names[4 * WIDTH] = ""; /* printed in as many lines as needed */
		size_t shown = 0;

		for (const struct mpk_option *row = command->options; row->name; row++) {
			size_t len = strlen(names);

			if (!row->word)
				continue;
			if (shown++ < command->screen) {
				/* "run FN" */
				char left[64];
				bool maybe = row->kind == MPK_OPT_MAYBE;

				(void)snprintf(left, sizeof left, "%s%s%s%s", row->name,
					       maybe           ? " ["
					       : row->argument ? " "
							       : "",
					       row->argument ? row->argument : "",
					       maybe ? "]" : "");
				print_beside(WORDS, left, row->help);
			} else
				(void)snprintf(names + len, sizeof names - len, "%s%s",
					       len ? ", " : "", row->name);
		}
		print_beside(WORDS, "more actions", names);
		print_beside(WORDS, "help ACTION", "its options; --help=all: every option");
	} else {
		for (size_t i = 0; i < count && (all || i < most); i++)
			print_option(&command->options[i], command->options[i].help);
		for (; all && common->name; common++)
			print_option(common, common->help);
		if (!all && count > most)
			print_beside(OPTIONS, "    --help=all", "every option");
	}
	(void)mpk_print(MPK_STDOUT, "\nexamples:\n%s", command->examples);
}

/* Returns an option's help without the name of its action, which the reader knows. */
static const char *own_help(const struct mpk_option *row)
{
	const char *colon = strncmp(row->help, "with --", 7) == 0 ? strchr(row->help, ':') : NULL;

	return colon ? colon + 2 : row->help;
}

/* The range of an action's rows that make up a screen. */
struct screen {
	size_t first, count; /* count: rows of all screens */
};

/* Prints the options that belong only to this action, or those that belong to every action. */
static void print_screen(struct screen *s, const struct mpk_option *rows, const char *action,
			 bool of_all)
{
	for (; rows->name; rows++) {
		if (rows->action || of_all == (rows->with != NULL) ||
		    !mpk_option_goes_with(rows, action))
			continue;
		if (s->count >= s->first && s->count < s->first + ROWS_OF_A_SCREEN)
			print_option(rows, own_help(rows));
		s->count++;
	}
}

static int print_topic(const struct mpk_command *command, const struct mpk_option *common,
		       const char *topic, const char *screen)
{
	struct mpk_span names[MPK_OPTIONS_MAX] = { 0 };
	size_t count = 0, near;

	for (const struct mpk_option *row = command->options; row->name; row++) {
		if (row->word && strcmp(row->name, topic) == 0) {
			uint64_t number = 1;
			struct screen s = { 0 };
			size_t end;

			if (screen && (!mpk_parse_u64(mpk_span_str(screen), &number) || !number ||
				       number > 99))
				return mpk_diag_usage(
					"help %s takes the number of a screen, not '%s'", row->name,
					screen);
			s.first = (size_t)(number - 1) * ROWS_OF_A_SCREEN;
			end = s.first + ROWS_OF_A_SCREEN;

			/* --- an action ---------------------------------------------------- */
			const char *name = row->name, *program = mpk_common.program;
			const char *file = row->word == MPK_WORD_ALONE ? "" : " FILE";

			if (mpk_option_has_o(row))
				(void)mpk_print(MPK_STDOUT, "usage: %s %s FILE -o %s\n", program,
						name, row->argument);
			else if (row->kind == MPK_OPT_MAYBE)
				(void)mpk_print(MPK_STDOUT, "usage: %s %s [%s]%s\n", program, name,
						row->argument, file);
			else
				(void)mpk_print(MPK_STDOUT, "usage: %s %s%s%s%s\n", program, name,
						row->argument ? " " : "",
						row->argument ? row->argument : "", file);
			(void)mpk_print(MPK_STDOUT, "%c%s.\n\n", toupper(row->help[0]),
					row->help + 1);

			print_screen(&s, command->options, row->name, false);
			print_screen(&s, command->options, row->name, true);
			print_screen(&s, common, row->name, true);
			if (s.count > end)
				(void)mpk_print(MPK_STDOUT, "\n%zu more: %s help %s %zu\n",
						s.count - end, mpk_common.program, row->name,
						(size_t)number + 1);
			return MPK_EXIT_OK;
		}
		if (row->word && count < MPK_OPTIONS_MAX)
			names[count++] = mpk_span_str(row->name);
	}
	for (const struct mpk_option *row = common; row->name; row++) {
		if (row->word && strcmp(row->name, topic) == 0) {
			print_help(command, common, false);
			return MPK_EXIT_OK;
		}
	}
	near = mpk_closest(mpk_span_str(topic), names, count);
	if (near < count)
		return mpk_diag_usage("there is no help on '%s'; did you mean %.*s?", topic,
				      (int)names[near].len, (const char *)names[near].data);
	return mpk_diag_usage("there is no help on '%s'%s", topic,
			      count ? "" : "; --help=all lists every option");
}

/* --- the version ----------------------------------------------------------------------------------- */

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

int mpk_help_print(const struct mpk_command *command, const struct mpk_option *common,
		   const char *topic, const char *screen)
{
	int status = MPK_EXIT_OK;

	if (!topic) {
		(void)mpk_print(MPK_STDOUT, "%s %s\nlibelf %s\nLLVM %s\n", mpk_common.program,
				mpk_version_program(), MPK_LIBELF_VERSION,
				*mpk_version_llvm() ? mpk_version_llvm() : "none");
		/* Shows what the kernel offers: --version itself enters no sandbox. */
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
			const struct mpk_generation_info *info =
				mpk_generation_get((enum mpk_generation)g);

			(void)mpk_print(MPK_STDOUT, "generation %-8s %s (%s)\n", info->abi,
					info->blob_symbol, info->releases);
		}
	} else if (strcmp(topic, "table") == 0) {
		print_table(command->options);
		print_table(common);
	} else if (!*topic || strcmp(topic, "all") == 0) {
		print_help(command, common, *topic);
	} else {
		status = print_topic(command, common, topic, screen);
	}

	/* Help and version were printed without checking for errors; printing an empty text reports
	 * a full disk or a closed pipe. */
	int failed = mpk_print(MPK_STDOUT, "%s", "");
	struct mpk_error err = { 0 };

	if (!failed)
		return status;
	mpk_print_error(failed, &err);
	return mpk_diag_error(&err);
}

/* --- --explain -------------------------------------------------------------------------- */

/* The destination: a text, or the list of a document. */
struct answer {
	struct mpk_strbuf text;
	struct mpk_json json;
	struct mpk_json_at *list; /* NULL if text is printed */
};

static void explain_put(struct answer *a, const struct mpk_message *m, bool in_full)
{
	const struct mpk_answer *row = &mpk_answer_message;

	if (a->list)
		row->json(m, &a->json, mpk_json_object(&a->json, a->list, NULL));
	else
		(in_full ? row->text : row->line)(m, (struct mpk_style){ 0 }, &a->text);
}

static int explain_put_word(struct answer *a, const char *word)
{
	const char *near = mpk_message_nearest(word);
	bool found = false;

	/* A word may match several messages, such as an exit status that several codes share. */
	for (const struct mpk_message *m = mpk_messages; m->name; m++) {
		if (!mpk_message_is(m, word))
			continue;
		if (a->text.len)
			mpk_strbuf_putc(&a->text, '\n');
		explain_put(a, m, true);
		found = true;
	}
	if (found)
		return MPK_EXIT_OK;
	if (near)
		return mpk_diag_usage("there is no message '%s'; did you mean '%s'?", word, near);
	return mpk_diag_usage("there is no message '%s'; %s --explain lists them", word,
			      mpk_common.program);
}

static int explain_print(struct answer *a)
{
	struct mpk_error err = { 0 };

	if ((a->list && mpk_json_print(&a->json, &a->text, &err) != MPK_OK) ||
	    mpk_strbuf_status(&a->text, &err) != MPK_OK)
		return mpk_diag_error(&err);
	int failed = mpk_print_text(MPK_STDOUT, mpk_strbuf_text(&a->text), a->text.len);
	if (!failed)
		return MPK_EXIT_OK;
	mpk_print_error(failed, &err);
	return mpk_diag_error(&err);
}

int mpk_explain(const char *first, char *const *more, size_t count, bool json)
{
	struct answer a = { 0 };
	int status = MPK_EXIT_OK;

	if (json) {
		mpk_json_init(&a.json, 1);
		a.list = mpk_json_array(&a.json, a.json.root, "messages");
	}
	if (!*first && !count) {
		for (const struct mpk_message *m = mpk_messages; m->name; m++)
			if (!m->is_status)
				explain_put(&a, m, false);
	}
	if (*first)
		status = explain_put_word(&a, first);
	for (size_t i = 0; i < count && status == MPK_EXIT_OK; i++)
		status = explain_put_word(&a, more[i]);
	if (status == MPK_EXIT_OK)
		status = explain_print(&a);
	if (json)
		mpk_json_fini(&a.json);
	mpk_strbuf_fini(&a.text);
	return status;
}
