/* SPDX-License-Identifier: Apache-2.0 */
/* output.h - a file that appears whole or not at all
 *
 * The bytes go to an unnamed file in the target's directory (O_TMPFILE), so that even
 * SIGKILL leaves nothing; commit gives it a name and renames it over the target.
 * Where the file system has no unnamed files, a temporary name beside the target is
 * used (io/place.h), which mpk_output_abandon_all removes from a signal handler, and the next
 * output of that name when a killed process could not.
 * "-" and targets that are not regular files (/dev/stdout, a pipe) are written through.
 * A file that is replaced hands its owner and its permissions on; one that a link leads to is replaced
 * where it lies, and a link that leads to no file is refused. So is a file that is or was read
 * (mpk_mappings_find), and what looks like no output of ours (io/place.h).
 * Nothing is fsync'ed unless mpk_output_make_durable was called: "whole" is meant against crashes of
 * programs, not of the machine.
 */
#ifndef MPK_IO_OUTPUT_H
#define MPK_IO_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/rope.h"
#include "base/span.h"
#include "io/copy.h"

struct mpk_output;

/* mpk_output_make_durable - from now on, commit returns when the file and its name are on the disk
 * (fsync(2)); for the whole process */
void mpk_output_make_durable(void);
bool mpk_output_is_durable(void);

/* mpk_output_check_path - what mpk_output_open asks at its time, asked before the work is done: whether
 * what is there may be replaced
 * Returns  MPK_OK; MPK_E_USAGE with the file name: it is an input, or no output of ours; MPK_E_IO; MPK_E_NOMEM */
enum mpk_code mpk_output_check_path(const char *path, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_output_open - begin writing path
 * @mode    permissions of a file that is new, before the umask: 0666 or 0777
 * @out     receives the output; end it with commit or abandon
 * Returns  MPK_OK; MPK_E_USAGE as mpk_output_check_path; MPK_E_IO; both with the file name; MPK_E_NOMEM */
enum mpk_code mpk_output_open(const char *path, unsigned mode, struct mpk_output **out,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_output_fd - the descriptor to write to (seekable unless written through) */
int mpk_output_fd(const struct mpk_output *o);

/* mpk_output_is_through - whether what is written is out at once, and for good: to standard
 * output, a pipe, a device */
bool mpk_output_is_through(const struct mpk_output *o);

/* mpk_output_write, mpk_output_write_rope - append; file ranges as mpk_copy_range does
 * @tap     sees every byte; may be NULL
 * Returns  MPK_OK; MPK_E_IO (also when a file range ends early) */
enum mpk_code mpk_output_write(struct mpk_output *o, struct mpk_span bytes,
			       struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_output_write_rope(struct mpk_output *o, const struct mpk_rope *rope,
				    const struct mpk_tap *tap,
				    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_output_take - make an existing file the content, and remove it there
 * Nothing may have been written yet. Within one file system the file is renamed, so that
 * its size costs nothing; else it is copied.
 * Returns  MPK_OK; MPK_E_IO; MPK_E_NOMEM */
enum mpk_code mpk_output_take(struct mpk_output *o, const char *file,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_output_commit - give the file its name, replacing an old one; frees o in any case
 * Returns  MPK_OK; as mpk_mappings_check: an input has changed; MPK_E_IO (the old file is untouched then, unless it was the last step, making the
 *          new name durable, that failed) */
enum mpk_code mpk_output_commit(struct mpk_output *o, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_output_abandon - drop everything written; the old file stays; NULL is fine */
void mpk_output_abandon(struct mpk_output *o);

/* mpk_output_finish - commit when code is MPK_OK, else abandon; how a writer ends
 * Returns  code; MPK_E_IO as mpk_output_commit */
enum mpk_code mpk_output_finish(struct mpk_output *o, enum mpk_code code,
				struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_output_store - a whole file of some bytes
 * Returns  MPK_OK; MPK_E_IO; MPK_E_NOMEM */
enum mpk_code mpk_output_store(const char *path, struct mpk_span bytes,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_output_abandon_all - remove every temporary name; async-signal-safe, for handlers */
void mpk_output_abandon_all(void);

#endif
