/* SPDX-License-Identifier: Apache-2.0 */
/* files.h - what a program may do to files: the sandbox of its action, and which outputs it may write */
#ifndef MPK_CMD_COMMON_FILES_H
#define MPK_CMD_COMMON_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "common/options.h"

/* --- the sandbox: the program reads what was named and writes one place --- */

enum { MPK_CONFINE_MAX = 5 };

/* Zero-initialise; fill by the functions below; mpk_confine. */
struct mpk_confine {
	const char **readable; /* from malloc */
	size_t readable_count, readable_cap;
	char *writable[MPK_CONFINE_MAX]; /* folders, from malloc */
	size_t writable_count;
	char *emptied; /* a folder whose content may be removed, malloc'ed */
	bool failed;   /* memory is out */
};

/* mpk_confine_input - a file, or a folder with all below it, that will be read; NULL is fine. Of
 * "lib.a(devc.o)" and "app.whl!/lib.so" the archive. Borrowed.
 * mpk_confine_output - a file or folder that will appear, through a temporary name beside it; NULL and
 * "-" are fine */
void mpk_confine_input(struct mpk_confine *c, const char *path);
void mpk_confine_output(struct mpk_confine *c, const char *path);

/* mpk_confine_to - enter the sandbox of a command that reads one file and what its options name
 * @options NULL: they name none */
void mpk_confine_to(const char *path, const struct mpk_option *options);

/* mpk_confine - enter the sandbox, unless --no-sandbox was given; c is emptied
 * @options to which is added every input and output that the options which were given name, by their rows; NULL: none.
 *          Those that depend on more than one option, and the operands, were added by the functions above.
 * Where a system has no sandbox, the program goes on without one, and -v says so. */
void mpk_confine(struct mpk_confine *c, const struct mpk_option *options);

/* --- what a command line would write, looked at before anything is done ---
 *
 * The rows of a command's table say which values name outputs. Those must have names, all different; no
 * file is overwritten that the command reads, nor one that the program did not write (io/output.h). An
 * output is asked again when it is opened: this here only comes before the work. */

/* mpk_outputs_begin - at the start of a program: who it is, by mpk_common.program
 * @mark    what its files have in them, as mpk_overwrite_author takes it; "" for none
 * @len     of mark */
void mpk_outputs_begin(const char *mark, size_t len);

/* mpk_outputs_limit - limit how much is written, as --max-output says
 * Returns  MPK_EXIT_OK; MPK_EXIT_USAGE after a message */
int mpk_outputs_limit(void);

/* mpk_outputs_check - whether all that the options name can be written
 * @operands  count words, of which each may be a file
 * Returns  MPK_EXIT_OK, or another after a message */
int mpk_outputs_check(const struct mpk_option *options, char *const *operands, size_t count);

#endif
