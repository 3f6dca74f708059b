/* SPDX-License-Identifier: Apache-2.0 */
/* file.h - a compiled library as a file or in memory, read as far as its loader has to know it
 *
 * For programs that open a library of this machine and nothing else: its blob, its symbols and what it
 * imports are read, nothing of it is executed. A program that has read the file in its own way fills
 * struct mpk_host_code itself.
 */
#ifndef MPK_RUNTIME_FILE_H
#define MPK_RUNTIME_FILE_H

#include "base/error.h"
#include "base/span.h"
#include "runtime/host.h"

struct mpk_library_file;

/* mpk_library_file_open - read a file; it must not be changed while it is open
 * mpk_library_file_of_memory - read what a caller has in memory
 * @bytes   borrowed until the file is closed
 * @moved   where tensors of its blob are instead of there; NULL: they are there
 * @symbol  as of struct mpk_host_code; NULL: it is opened
 * Returns  MPK_OK; MPK_E_IO; MPK_E_LOAD: no shared library, or one for another machine; MPK_E_CORRUPT: it or
 *          its blob does not read; MPK_E_NO_BLOB: neither a blob nor functions are in it; MPK_E_NOMEM */
enum mpk_code mpk_library_file_open(const char *path, struct mpk_library_file **out,
				    struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_library_file_of_memory(struct mpk_span bytes, const struct mpk_moved *moved,
					 void *(*symbol)(const char *name),
					 struct mpk_library_file **out,
					 struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_library_file_code - what mpk_library_open takes; borrowed. Once that has succeeded, the file is given
 * back by what it opened, when nothing of that is left, and no longer by mpk_library_file_close. */
const struct mpk_host_code *mpk_library_file_code(const struct mpk_library_file *file);

/* mpk_library_file_close - for a file of which nothing was opened. NULL is fine */
void mpk_library_file_close(struct mpk_library_file *file);

#endif
