/* SPDX-License-Identifier: Apache-2.0 */
/* output.h - files and directories that appear whole or not at all
 *
 * The bytes go to an unnamed file in the target's directory (O_TMPFILE), so that even
 * SIGKILL leaves nothing; commit gives it a name and renames it over the target.
 * Where the file system has no unnamed files, a temporary name beside the target is
 * used (mpk_temporary_name), which mpk_output_abandon_all removes from a signal handler, and the next
 * output of that name when a killed process could not.
 * "-" and targets that are not regular files (/dev/stdout, a pipe) are written through.
 * A file that is replaced hands its owner and its permissions on; one that a link leads to is replaced
 * where it lies, and a link that leads to no file is refused. So is a file that is or was read
 * (mpk_mappings_find), and what looks like no output of ours (mpk_overwrite_check).
 * What is written is charged to the account of base/account.h first. What tools made (mpk_output_take) is not: it is an
 * input that becomes an output.
 * Nothing is fsync'ed unless mpk_output_make_durable was called: "whole" is meant against crashes of
 * programs, not of the machine.
 */
#ifndef MPK_IO_OUTPUT_H
#define MPK_IO_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/rope.h"
#include "base/span.h"
#include "io/copy.h"

struct mpk_output;

/* mpk_output_make_durable - from now on, commit waits until the file and its name are on the disk
 * (fsync(2)); applies to the whole process */
void mpk_output_make_durable(void);
bool mpk_output_is_durable(void);

/* mpk_output_check_path - the checks of mpk_output_open, before any work is done: may the existing
 * file be replaced?
 * Returns  MPK_OK; MPK_E_USAGE with the file name: it is an input, or we did not write
 *          it; MPK_E_IO; MPK_E_NOMEM */
enum mpk_code mpk_output_check_path(const char *path, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_output_open - begin writing path
 * @mode    permissions of a file that is new, before the umask: 0666 or 0777
 * @out     receives the output; end it with commit or abandon
 * Returns  MPK_OK; MPK_E_USAGE as mpk_output_check_path; MPK_E_IO; both with the file name; MPK_E_NOMEM */
enum mpk_code mpk_output_open(const char *path, unsigned mode, struct mpk_output **out,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_output_fd - the descriptor to write to (seekable unless written through) */
int mpk_output_fd(const struct mpk_output *o);

/* mpk_output_is_through - whether written bytes leave at once and cannot be taken back: standard
 * output, a pipe, a device */
bool mpk_output_is_through(const struct mpk_output *o);

/* mpk_output_write, mpk_output_write_rope - append; file ranges as mpk_copy_range does
 * @tap     sees every byte; may be NULL
 * Returns  MPK_OK; MPK_E_UNSUPPORTED: more than the limit of output; MPK_E_IO (also
 *          when a file range ends early) */
enum mpk_code mpk_output_write(struct mpk_output *o, struct mpk_span bytes,
			       struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_output_write_rope(struct mpk_output *o, const struct mpk_rope *rope,
				    const struct mpk_tap *tap,
				    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_output_take - move an existing file into the output
 * Nothing may have been written yet. Within one file system the file is renamed, so its size costs
 * nothing; otherwise it is copied.
 * Returns  MPK_OK; MPK_E_IO; MPK_E_NOMEM */
enum mpk_code mpk_output_take(struct mpk_output *o, const char *file,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_output_commit - give the file its name, replacing an old one; always frees o
 * Returns  MPK_OK; the errors of mpk_mappings_check: an input has changed; MPK_E_IO
 *          (the old file is untouched, unless the last step failed, making the new name
 *          durable) */
enum mpk_code mpk_output_commit(struct mpk_output *o, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_output_abandon - drop everything written; the old file stays; NULL is fine */
void mpk_output_abandon(struct mpk_output *o);

/* mpk_output_finish - commit when code is MPK_OK, else abandon; the last call of a writer
 * Returns  code; MPK_E_IO as mpk_output_commit */
enum mpk_code mpk_output_finish(struct mpk_output *o, enum mpk_code code,
				struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_output_store - write a whole file
 * Returns  MPK_OK; MPK_E_UNSUPPORTED as mpk_output_write; MPK_E_IO; MPK_E_NOMEM */
enum mpk_code mpk_output_store(const char *path, struct mpk_span bytes,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_output_abandon_all - remove every temporary name; async-signal-safe, for handlers */
void mpk_output_abandon_all(void);

/* --- the place of an output: which files it may take the place of, and what is there until it is finished ---
 *
 * A mistyped command must not cost a library. What this program wrote before may be replaced, and what
 * outputs look like that are no libraries: text, an array of NumPy, an empty file. Anything else is
 * refused: ELF, archives, whatever is not known.
 *
 * That a file was written by this program is recorded in an extended attribute of it, which holds as long as
 * size and time of modification stay; and, where the file system keeps none or the file was copied, by a
 * mark in it, if the program's files have one.
 *
 * Something unfinished is beside its target, under a name that tells whose it is and that it is
 * partial, and is locked (flock) by the process that makes it. A lock ends with its process, whatever
 * ended that: what nobody has locked was abandoned. File systems that know no such locks keep theirs.
 */

/* mpk_overwrite_author - name the writing program; applies to the whole process
 * @program "mpack"; static
 * @mark    bytes in the first or last megabyte of every ELF file or archive that the
 *          program wrote; may be empty; static */
void mpk_overwrite_author(const char *program, struct mpk_span mark);

/* mpk_overwrite_all - allow every file to be replaced; applies to the whole process */
void mpk_overwrite_all(void);

/* mpk_overwrite_check - whether an output may replace a file
 * @file    of path; a regular file
 * Returns  MPK_OK; MPK_E_USAGE with the file name and what it is; MPK_E_IO; MPK_E_NOMEM */
enum mpk_code mpk_overwrite_check(const char *path, const struct stat *file,
				  struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_overwrite_check_folder - whether files may be written into an existing folder: it is empty,
 * or this program made it for that
 * Returns  MPK_OK; MPK_E_IO with the name */
enum mpk_code mpk_overwrite_check_folder(const char *path, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_overwrite_claim - record in an extended attribute that this program wrote the file or made
 * the folder. Does nothing on file systems without attributes. */
void mpk_overwrite_claim(int fd);

enum { MPK_RANDOM_LETTERS = 6 };

/* mpk_random_letters - unpredictable lower case letters and digits, and a NUL */
void mpk_random_letters(char out[MPK_RANDOM_LETTERS + 1]);

/* mpk_temporary_name - ".NAME.XXXXXX.partial" beside path, in memory for free(); NULL when memory is out
 * The NAME is cut where it would leave no room for the rest. */
char *mpk_temporary_name(const char *path);

/* mpk_temporary_lock - mark the file of fd as in use, until fd is closed
 * Returns  false: another process has locked it */
bool mpk_temporary_lock(int fd);

/* mpk_temporary_sweep - remove temporary files of path that no process has locked
 * Failures do not concern the caller and are not reported. */
void mpk_temporary_sweep(const char *path);

/* mpk_remove_all - remove a file, or a directory with its content; links are not followed
 * Returns  whether nothing is left */
bool mpk_remove_all(const char *path);

/* --- a directory of files that appears whole or not at all ---
 *
 * Files are written below a temporary directory beside the target, which commit renames.
 * A target that exists is accepted only when it is an empty directory: nothing of the
 * user's is ever overwritten or mixed with. What a killed run left of the same target,
 * ".NAME.N.partial", is removed by the next.
 */

/* Zero-initialise; mpk_directory_open; commit or abandon. */
struct mpk_directory {
	char *path; /* the target */
	char *temp; /* where files are written until commit; NULL when closed */
	/* descriptor of temp, locked: other runs see that this run is alive */
	int fd;
	const struct mpk_tap *tap; /* sees every byte written; may be NULL */
};

/* mpk_directory_open - begin writing a directory
 * Returns  MPK_OK; MPK_E_IO with the name: the target is a file, is not empty, or its
 *          parent does not exist; MPK_E_NOMEM */
enum mpk_code mpk_directory_open(const char *path, struct mpk_directory *out,
				 struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_directory_write - write one file; makes the directories above it
 * @name    relative, "params/w1.npy": no part may be empty, "." or ".."
 * Returns  MPK_OK; MPK_E_RANGE: such a part; MPK_E_UNSUPPORTED as mpk_output_write;
 *          MPK_E_IO; MPK_E_NOMEM */
enum mpk_code mpk_directory_write(const struct mpk_directory *d, const char *name,
				  const struct mpk_rope *content,
				  struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_directory_append - append to a file that mpk_directory_write began
 * Returns  as mpk_directory_write */
enum mpk_code mpk_directory_append(const struct mpk_directory *d, const char *name,
				   const struct mpk_rope *content,
				   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_directory_commit - rename the directory to the target; always closes d
 * Returns  MPK_OK; MPK_E_IO, and nothing is left */
enum mpk_code mpk_directory_commit(struct mpk_directory *d, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_directory_abandon - remove everything written; safe on a closed one */
void mpk_directory_abandon(struct mpk_directory *d);

#endif
