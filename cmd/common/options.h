/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - one table per command drives parsing, --help, completion and the man check */
#ifndef MPK_CMD_COMMON_OPTIONS_H
#define MPK_CMD_COMMON_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

/* The kind says whether an option may be given again. One that takes no value may, for it says the same
 * again, and a list may; what takes one value is refused a second, lest one of two be dropped silently. */
enum mpk_option_kind {
	MPK_OPT_FLAG,  /* bool *target; no argument */
	MPK_OPT_COUNT, /* unsigned *target; counts how often it stands */
	MPK_OPT_TEXT,  /* const char **target; takes an argument, once */
	MPK_OPT_MAYBE, /* const char **target; argument optional (--name=ARG), "" without; once */
	MPK_OPT_LIST,  /* struct mpk_option_list *target; repeatable, in order; several
			  * options may share a list to keep their common order */
	MPK_OPT_WHEN,  /* enum mpk_when *target; auto, always or never; once */
};

/* Joined to a kind: what the option's value names that the command writes. It is looked at before anything
 * is done (common/outputs.h). */
enum mpk_option_writes {
	MPK_WRITES_FILE = 16,   /* a file that is made or replaced; "-": standard output */
	MPK_WRITES_EDITED = 32, /* the same, and it may be one that is read */
	MPK_WRITES_RESULT = 48, /* the same as the first, as "[N=][@]FILE" */
	MPK_WRITES_FOLDER = 64, /* a folder that is made, or is empty */
	MPK_WRITES_FORCE = 80,  /* of a flag: what is not read may be replaced, whatever it is */
	MPK_WRITES = 112,       /* all bits of them */
};

struct mpk_option {
	char letter;      /* 'o', or 0 for none */
	const char *name; /* "output" */
	unsigned kind;    /* of enum mpk_option_kind, joined with one of enum mpk_option_writes */
	const char *argument; /* "FILE"; NULL for flags */
	const char *help;     /* one line, no full stop */
	void *target;
};

static inline enum mpk_option_kind mpk_option_kind(const struct mpk_option *row)
{
	return (enum mpk_option_kind)(row->kind & ~(unsigned)MPK_WRITES);
}

static inline unsigned mpk_option_writes(const struct mpk_option *row)
{
	return row->kind & MPK_WRITES;
}

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
};

/* mpk_options_parse - fill the targets; common options (-v -q --color --progress --help
 * --version) are understood in every command
 * @argv    argv[0] is the command's name; permuted so that operands stand last
 * @first   receives the index of the first operand
 * @status  receives what to exit with where there is nothing left to do
 * Returns  false then: MPK_EXIT_OK after help or version, MPK_EXIT_USAGE after a message,
 *          with "did you mean" */
bool mpk_options_parse(const struct mpk_command *command, int argc, char **argv, int *first,
		       int *status);

/* mpk_options_fini - free the lists of a command */
void mpk_options_fini(const struct mpk_command *command);

/* mpk_version_program, mpk_version_llvm - "0.1.0 (commit 1234abcd)", "19.1.7": as --version prints
 * them; static. That of LLVM is "" in a build without it. */
const char *mpk_version_program(void);
const char *mpk_version_llvm(void);

#endif
