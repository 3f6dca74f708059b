/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - everything that is known of an option, in one row of its command's table
 *
 * Parsing, --help, completion, the check of the manual page, the check of what an option goes with, the check of
 * outputs before the work, and the sandbox go by these rows. To add an option is to add a row and the text in the
 * manual (tests/examples/option.md). */
#ifndef MPK_CMD_COMMON_OPTIONS_H
#define MPK_CMD_COMMON_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

/* How an option is parsed. Flags, counters and lists may be repeated. An option that takes one value is refused
 * a second time, because one of the two values would be dropped silently. */
enum mpk_option_kind {
	MPK_OPT_FLAG,  /* bool *target; no argument */
	MPK_OPT_COUNT, /* unsigned *target; counts how often it is given */
	MPK_OPT_TEXT,  /* const char **target; takes an argument, once */
	MPK_OPT_MAYBE, /* const char **target; argument optional (--name=ARG), "" without; once */
	MPK_OPT_LIST,  /* struct mpk_option_list *target; repeatable, in order; several
			  * options may share a list to keep their common order */
	MPK_OPT_WHEN,  /* enum mpk_when *target; auto, always or never; once */
};

/* Which file or folder an option's value names. Inputs become readable in the sandbox, and outputs are checked
 * before anything is done and become writable in the sandbox (common/files.h). */
enum mpk_option_path {
	MPK_NO_PATH,       /* none, or one that is read before the program enters its sandbox */
	MPK_READS_FILE,    /* a file or folder that is read in the sandbox */
	MPK_READS_PAIR,    /* the same, as "PATH=FILE" */
	MPK_WRITES_FILE,   /* a file that is made or replaced; "-": standard output */
	MPK_WRITES_EDITED, /* the same, and it may be the file that the command reads */
	MPK_WRITES_RESULT, /* as MPK_WRITES_FILE, written "[N=][@]FILE" */
	MPK_WRITES_FOLDER, /* a folder that is made, or is empty */
	MPK_WRITES_FORCE,  /* of a flag: what is not read may be replaced, whatever it is */
};

/* Whether the name of an option may stand in front of the operands without its dashes, "minspect verify FILE". */
enum mpk_word {
	MPK_NO_WORD,
	MPK_WORD,       /* it may; operands follow */
	MPK_WORD_ALONE, /* it may, and then needs none: "minspect devices" */
};

/* What an option does that is an action; the program defines it, and this folder only asks whether there is one. */
struct mpk_action;

/* A row gives the first five fields by position, all others by name, and those that do not apply not at all. */
struct mpk_option {
	char letter;      /* 'o', or 0 for none */
	const char *name; /* "output" */
	enum mpk_option_kind kind;
	const char *argument; /* "FILE"; NULL for flags */
	const char *help;     /* one line, no full stop */
	void *target;         /* as the kind says */
	enum mpk_option_path path;
	enum mpk_word word;
	const struct mpk_action *action; /* NULL: it belongs to actions (with) */
	const char *
		with; /* the actions that understand the option, "run cases"; the word "none" is for
			     * no action. NULL: every action does; "*": too, and their help has it among
			     * their own */
	const char *values; /* what completion offers for the value, as scripts/completion lists it:
			     * "functions", "words: a b". NULL: what argument and help say */
	bool is_case_key;   /* minspect: with --cases each case has a key of this name instead */
	bool decides_bytes; /* mpack build: the output depends on it, so --check-repro repeats it */
};

/* More rows than any command has; no more are read. */
enum { MPK_OPTIONS_MAX = 112 };

/* mpk_option_goes_with - whether an action understands an option, by the row's "with" */
bool mpk_option_goes_with(const struct mpk_option *row, const char *action);

/* mpk_option_has_o - whether it is an action that writes a file or folder, which -o may name as well:
 * "--html OUT FILE", "--html FILE -o OUT" */
static inline bool mpk_option_has_o(const struct mpk_option *row)
{
	return row->action && row->kind == MPK_OPT_TEXT && row->path >= MPK_WRITES_FILE;
}

/* mpk_option_count - how many values of an option were given; of a flag 1 when it was given
 * mpk_option_value - the i-th of them; for MPK_WRITES_RESULT the file in it, for MPK_READS_PAIR the file,
 *                    NULL where the value has no "="; NULL also for flags */
size_t mpk_option_count(const struct mpk_option *row);
const char *mpk_option_value(const struct mpk_option *row, size_t i);

struct mpk_option_item {
	const struct mpk_option *option;
	const char *value;
};

/* Zero-initialise; mpk_options_fini frees the array. */
struct mpk_option_list {
	struct mpk_option_item *items;
	size_t count, cap;
};

/* A command: its table and the texts of its help. */
struct mpk_command {
	const char *name;                 /* "build"; "" for minspect, which has none */
	const char *usage;                /* "mpack build [MANIFEST] -o OUT" */
	const char *summary;              /* one line */
	const char *examples;             /* three lines */
	const struct mpk_option *options; /* ended by a row with name NULL */
	size_t screen;                    /* how many rows the first screen shows; 0: 14, which with
				 * three examples makes 24 lines */
	bool has_words; /* the first operand may be the name of an option (enum mpk_word) */
};

/* mpk_options_parse - fill the targets; common options (-v -q --color --progress --help
 * --version) are understood in every command
 *
 * Where a command has words, the first operand may be one, "run FN FILE" for "--run FN FILE". A file of that name
 * is opened instead where it is the only operand, or an action was given as an option; "./run" is a file always.
 * The value of an option with a letter 'o' and several meanings (MPK_WRITES_RESULT) becomes that of an action that
 * writes a file or folder: "html FILE -o OUT" is "--html OUT FILE".
 * @argv    argv[0] is the command's name; permuted so that operands come last
 * @first   receives the index of the first operand
 * @status  receives what to exit with where there is nothing left to do
 * Returns  false then: MPK_EXIT_OK after help or version, MPK_EXIT_USAGE after a message,
 *          with "did you mean" */
bool mpk_options_parse(const struct mpk_command *command, int argc, char **argv, int *first,
		       int *status);

/* mpk_options_fini - free the lists of a command */
void mpk_options_fini(const struct mpk_command *command);

/* mpk_version_number - "0.1.0": what builds of other commits have, too
 * mpk_version_program, mpk_version_llvm - "0.1.0 (commit 1234abcd)", "19.1.7": as --version prints
 * them; static. That of LLVM is "" in a build without it. */
const char *mpk_version_number(void);
const char *mpk_version_program(void);
const char *mpk_version_llvm(void);

/* mpk_help_print - print the help of a command
 * @common  the rows that all commands have
 * @topic   NULL: not the help but the version, of the program, libraries and generations; "": the first screen, at most 24 lines; "all": every option; "table": the rows for scripts/completion;
 *          else the name of an action: its options, ten a screen
 * @screen  of an action's options, "2"; NULL: the first
 * Returns  an exit status: MPK_EXIT_USAGE after a message where there is no such topic; MPK_EXIT_FILE when standard
 *          output cannot be written */
int mpk_help_print(const struct mpk_command *command, const struct mpk_option *common,
		   const char *topic, const char *screen);

/* mpk_explain - print what messages mean; all of them, one a line, where no word asks for one
 * @first   the value of the option, "" when it has none
 * @more    the operands: further words
 * @json    one document instead of text
 * Returns  an exit status: MPK_EXIT_USAGE, after a message, when there is no such message */
int mpk_explain(const char *first, char *const *more, size_t count, bool json);

#endif
