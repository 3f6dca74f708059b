/* SPDX-License-Identifier: Apache-2.0 */
/* files.h - file access of a program: the sandbox of its action, and the outputs it may write */
#ifndef MPK_CMD_COMMON_FILES_H
#define MPK_CMD_COMMON_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "common/options.h"

/* --- the sandbox: the program reads what was named and writes one place --- */

enum { MPK_CONFINE_MAX = 5 };

/* Zero-initialise, fill with the functions below, then call mpk_confine. */
struct mpk_confine {
	const char **readable; /* malloc'ed */
	size_t readable_count, readable_cap;
	char *writable[MPK_CONFINE_MAX]; /* folders, malloc'ed */
	size_t writable_count;
	char *emptied; /* folder whose content may be removed, malloc'ed */
	bool failed;   /* memory is out */
};

/* mpk_confine_input - allow reading a file, or a folder with everything below it; NULL does
 * nothing. For "lib.a(devc.o)" and "app.whl!/lib.so" it allows the archive. Borrowed.
 * mpk_confine_output - allow creating a file or folder, through a temporary name next to it; NULL
 * and "-" do nothing */
void mpk_confine_input(struct mpk_confine *c, const char *path);
void mpk_confine_output(struct mpk_confine *c, const char *path);

/* mpk_confine_to - enter the sandbox of a command that reads one file and the files that its
 * options name
 * @options NULL if there are none */
void mpk_confine_to(const char *path, const struct mpk_option *options);

/* mpk_confine - enter the sandbox, unless --no-sandbox was given; empties c
 * @options adds the inputs and outputs of all given options, according to their rows; NULL if there
 *          are none. The caller must have added operands, and files that depend on several options.
 *          If the system has no sandbox, the program continues without one, and -v reports that. */
void mpk_confine(struct mpk_confine *c, const struct mpk_option *options);

/* --- checks of the outputs, before any work ---
 *
 * The rows of a command's table tell which values name outputs. Outputs must have different names.
 * A command never overwrites a file that it reads, nor one that the program did not write
 * (io/output.h). The rules are checked again when an output is opened. */

/* mpk_outputs_begin - set at program start how the program recognises its own files
 * (mpk_common.program)
 * @mark    bytes that its files contain, as for mpk_overwrite_author; "" if none
 * @len     bytes of mark */
void mpk_outputs_begin(const char *mark, size_t len);

/* mpk_outputs_limit - limit the bytes written, according to --max-output
 * Returns  MPK_EXIT_OK; MPK_EXIT_USAGE after a message */
int mpk_outputs_limit(void);

/* mpk_outputs_check - check that all outputs named by options can be written
 * @operands  count words, each of which may be a file
 * Returns  MPK_EXIT_OK, or another status after a message */
int mpk_outputs_check(const struct mpk_option *options, char *const *operands, size_t count);

#endif
