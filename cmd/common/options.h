/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - option tables: one row describes everything about an option
 *
 * The rows are used for parsing, --help, completion, the check of the manual page, the check which
 * options belong to an action, the check of outputs before the work, and the sandbox. A new option
 * needs a row and a text in the manual (tests/examples/option.md). */
#ifndef MPK_CMD_COMMON_OPTIONS_H
#define MPK_CMD_COMMON_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

/* How an option is parsed. Flags, counters and lists may be repeated. An option with a single value
 * may not, because one of the two values would be silently dropped. */
enum mpk_option_kind {
	MPK_OPT_FLAG,  /* bool *target; no argument */
	MPK_OPT_COUNT, /* unsigned *target; counts the occurrences */
	MPK_OPT_TEXT,  /* const char **target; takes an argument; not repeatable */
	/* const char **target; argument optional (--name=ARG), "" if missing; not repeatable */
	MPK_OPT_MAYBE,
	/* struct mpk_option_list *target; repeatable, in order; several options may share a list to
	 * keep their common order */
	MPK_OPT_LIST,
	MPK_OPT_WHEN, /* enum mpk_when *target; auto, always or never; not repeatable */
};

/* The file or folder that an option's value names. Inputs become readable in the sandbox. Outputs
 * are checked before any work, and become writable in the sandbox (common/files.h). */
enum mpk_option_path {
	MPK_NO_PATH,       /* no file, or one that is read before the program enters its sandbox */
	MPK_READS_FILE,    /* a file or folder that is read in the sandbox */
	MPK_READS_PAIR,    /* the same, written "PATH=FILE" */
	MPK_WRITES_FILE,   /* a file that is created or replaced; "-": standard output */
	MPK_WRITES_EDITED, /* the same, but it may also be the file that the command reads */
	MPK_WRITES_RESULT, /* as MPK_WRITES_FILE, written "[N=][@]FILE" */
	MPK_WRITES_FOLDER, /* a folder that is created, or exists and is empty */
	MPK_WRITES_FORCE,  /* a flag: any existing file may be replaced, unless it is an input */
};

/* Whether an option's name may be written in front of the operands without dashes, "minspect verify
 * FILE". */
enum mpk_word {
	MPK_NO_WORD,
	MPK_WORD,       /* allowed; operands follow */
	MPK_WORD_ALONE, /* allowed, also without operands: "minspect devices" */
};

/* The action that an option selects. The program defines the struct; this folder only tests the
 * pointer for NULL. */
struct mpk_action;

/* A row gives the first five fields by position and all others by name; omitted fields do not
 * apply. */
struct mpk_option {
	char letter;      /* 'o'; 0 if none */
	const char *name; /* "output" */
	enum mpk_option_kind kind;
	const char *argument; /* "FILE"; NULL for flags */
	const char *help;     /* one line, no full stop */
	void *target;         /* type depends on kind */
	enum mpk_option_path path;
	enum mpk_word word;
	const struct mpk_action *action; /* NULL if the option belongs to actions (with) */
	/* the actions that accept the option, "run cases"; the word "none" means no action. NULL
	 * means every action; "*" means every action, and that their help lists it among their own
	 * options */
	const char *with;
	/* what completion offers for the value, in the words of scripts/completion: "functions",
	 * "words: a b". NULL: derived from argument and help */
	const char *values;
	bool is_case_key; /* minspect: --cases refuses it, since each case has a key of this name */
	bool decides_bytes; /* mpack build: the output depends on it, so --check-repro repeats it */
};

/* Maximum number of rows of a command; further rows are ignored. */
enum { MPK_OPTIONS_MAX = 112 };

/* mpk_option_goes_with - whether an action accepts an option, according to the row's "with" */
bool mpk_option_goes_with(const struct mpk_option *row, const char *action);

/* mpk_option_has_o - whether an option is an action that writes a file or folder, which -o may also
 * name: "--html OUT FILE", "--html FILE -o OUT" */
static inline bool mpk_option_has_o(const struct mpk_option *row)
{
	return row->action && row->kind == MPK_OPT_TEXT && row->path >= MPK_WRITES_FILE;
}

/* mpk_option_count - how many values of an option were given; for a flag, 1 if it was given
 * mpk_option_value - the i-th value; for MPK_WRITES_RESULT the file in it; for MPK_READS_PAIR the
 * file,
 *                    NULL if the value has no "="; NULL for flags */
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

/* A command: its option table and the texts of its help. */
struct mpk_command {
	const char *name;                 /* "build"; "" for minspect, which has no commands */
	const char *usage;                /* "mpack build [MANIFEST] -o OUT" */
	const char *summary;              /* one line */
	const char *examples;             /* three lines */
	const struct mpk_option *options; /* ends with a row whose name is NULL */
	/* number of rows on the first screen; 0 means 14, which makes 24 lines with three
	 * examples */
	size_t screen;
	bool has_words; /* the first operand may be the name of an option (enum mpk_word) */
};

/* mpk_options_parse - parse a command line into the targets; common options (-v -q --color
 * --progress --help --version) are accepted in every command
 *
 * If a command has words, the first operand may be one, "run FN FILE" for "--run FN FILE". If it is
 * the only operand, or an action was given as an option, an existing file of that name is opened
 * instead; "./run" is always a file. An option with letter 'o' and several meanings
 * (MPK_WRITES_RESULT) gives its value to an action that writes a file or folder: "html FILE -o OUT"
 * is "--html OUT FILE".
 * @argv    argv[0] is the command's name; permuted so that operands come last
 * @first   receives the index of the first operand
 * @status  receives the exit status if there is nothing left to do
 * Returns  false if there is nothing left to do; *status is MPK_EXIT_OK after help or version,
 *          MPK_EXIT_USAGE after a message, with "did you mean" */
bool mpk_options_parse(const struct mpk_command *command, int argc, char **argv, int *first,
		       int *status);

/* mpk_options_fini - free the lists of a command */
void mpk_options_fini(const struct mpk_command *command);

/* mpk_version_number - "0.1.0", without the commit
 * mpk_version_program, mpk_version_llvm - "0.1.0 (commit 1234abcd)", "19.1.7": as --version prints
 * them; static. The LLVM version is "" in a build without LLVM. */
const char *mpk_version_number(void);
const char *mpk_version_program(void);
const char *mpk_version_llvm(void);

/* mpk_help_print - print the help of a command
 * @common  the rows that all commands share
 * @topic   NULL: print the versions of program, libraries and generations instead; "": the first
 *          screen, at most 24 lines; "all": every option; "table": the rows for scripts/completion;
 *          else the name of an action: its options, ten on each screen
 * @screen  number of the screen of an action's options, "2"; NULL: the first
 * Returns  an exit status: MPK_EXIT_USAGE after a message if there is no such topic; MPK_EXIT_FILE
 *          if standard output cannot be written */
int mpk_help_print(const struct mpk_command *command, const struct mpk_option *common,
		   const char *topic, const char *screen);

/* mpk_explain - print entries of the message catalogue; without words, all of them, one on each
 * line
 * @first   the value of the option, "" if it has none
 * @more    the operands: further words
 * @json    print one document instead of text
 * Returns  an exit status: MPK_EXIT_USAGE, after a message, if there is no such message */
int mpk_explain(const char *first, char *const *more, size_t count, bool json);

#endif
