/* SPDX-License-Identifier: Apache-2.0 */
/* input.h - what a build starts from: a manifest with its files, or a bare blob */
#ifndef MPK_CMD_MPACK_INPUT_H
#define MPK_CMD_MPACK_INPUT_H

#include "base/arena.h"
#include "base/report.h"
#include "emit/emit.h"
#include "io/mapping.h"
#include "mpack/cubins.h"
#include "package/package.h"

/* Zero-initialise; mpk_input_load; mpk_input_close. */
struct mpk_input {
	struct mpk_arena arena;
	struct mpk_report report;
	const char *path;                   /* of the manifest or the blob, as the user named it */
	struct mpk_mapping text;            /* its bytes */
	struct mpk_package package;         /* of a manifest that this process has read */
	struct mpk_compile_source *sources; /* of the package, with room for those generated */
	struct mpk_handover parts;          /* what is to be built of */
	struct mpk_mapping handed;     /* the bytes of parts, when another process has read them */
	struct mpk_handover_maps maps; /* the files that parts refers to, then */
	struct mpk_mapping *watched;   /* of those files that were hashed for provenance */
	size_t watched_count;
};

/* What of the command line decides how the input is read. */
struct mpk_input_options {
	const char *abi;    /* generation instead of the manifest's ("ffi", ...), or NULL */
	const char *target; /* triple instead of the manifest's, or NULL */
	const char *prefix; /* of a system library, "" otherwise */
	bool system_lib;
	bool via_c;           /* launch functions become C, not LLVM IR */
	bool has_flags;       /* compilers are given some of the user's */
	const char *executor; /* it is a finished library, to be carried with an executor of this
			       * version; NULL: it is a manifest or a blob */
	const char *
		archive; /* of the run library, when the objects of that library are at hand; NULL */
	bool compress;   /* with executor: pack what is carried */
	bool only_check; /* nothing is built of it: parts need not have what is generated */
	const struct mpk_cubins_options *
		cubins; /* it is a cubin or a folder of them, from which the manifest is made; NULL */
};

/* mpk_input_load - read and check path: a .blob or a manifest, "-" for either on standard input
 * Modules go through the checks of payloads and code that minspect --verify has. What will be built of is read and
 * checked in a process of its own, which can open files and do nothing else: here no byte of a payload is
 * parsed then (emit/emit.h). With --no-sandbox it is a process like others.
 * Prints every finding and error.
 * Returns  the exit status; MPK_EXIT_OK: loaded; MPK_EXIT_INTERNAL also when that process crashed */
int mpk_input_load(const char *path, const struct mpk_input_options *o, struct mpk_input *in);

/* mpk_input_read - what is in in->text; the part of it that is done in that process */
int mpk_input_read(const struct mpk_input_options *o, struct mpk_input *in);

void mpk_input_close(struct mpk_input *in);

#endif
