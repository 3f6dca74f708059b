/* SPDX-License-Identifier: Apache-2.0 */
/* loadable.h - objects as a library that this machine can load, for as long as that is needed
 *
 * An object, an archive and a .tar that TVM exported hold the code of a library that nobody has
 * linked yet. They are linked as TVM's own exporter would do it, into a file of ours that is gone
 * when the caller is, whatever ends it. The library that a standalone one carries is written there as it is.
 */
#ifndef MPK_TOOLCHAIN_LOADABLE_H
#define MPK_TOOLCHAIN_LOADABLE_H

#include "elf/image.h"
#include "process/process.h"
#include "toolchain/toolchain.h"

struct mpk_loadable_options {
	const char *path;              /* the file */
	const struct mpk_image *image; /* of it; borrowed */
	bool member_alone;             /* of an archive, link image->member and nothing else */
	struct mpk_words cc, cxx;      /* the compiler drivers, at least one word each */
	struct mpk_words headers;      /* for sources in a .tar: as in struct mpk_toolchain */
	const char *tmpdir;            /* where the library may go */
	const char *llvm;              /* path of libexec/mpack/llvm.so, for IR in a .tar */
	const char *objects;           /* as of mpk_objects_keep; NULL */
};

/* Zero-initialise; mpk_loadable_link; mpk_loadable_close. */
struct mpk_loadable {
	struct mpk_scratch scratch;
	char *path; /* of the library; absolute */
};

/* mpk_loadable_is_needed - whether the file has to be linked before it can be loaded: an object,
 * or an archive that holds objects or sources; or written out: what a standalone library carries */
bool mpk_loadable_is_needed(const struct mpk_image *image);

/* mpk_loadable_link - compile the sources of a .tar, link all of it
 * Symbols that nobody defines are left to whoever loads the library. What compiler and linker
 * print is not shown; its first line that says why is in the error.
 * @out     to be closed in every case
 * Returns  MPK_OK; MPK_E_LOAD: an object for another machine, what cannot be compiled or linked,
 *          no compiler; MPK_E_CORRUPT (a broken object); MPK_E_IO; MPK_E_NOMEM */
enum mpk_code mpk_loadable_link(const struct mpk_loadable_options *options,
				struct mpk_loadable *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_loadable_close - remove the library; safe on a zeroed or closed one */
void mpk_loadable_close(struct mpk_loadable *l);

#endif
