/* SPDX-License-Identifier: Apache-2.0 */
/* build.h - `mpack build`: its options, what it starts from (a manifest with its files, or a bare blob), and its parts */
#ifndef MPK_CMD_MPACK_BUILD_H
#define MPK_CMD_MPACK_BUILD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/report.h"
#include "common/options.h"
#include "emit/emit.h"
#include "io/mapping.h"
#include "mpack/cubins.h"
#include "package/package.h"

/* Zero-initialise; mpk_input_load; mpk_input_close. */
struct mpk_input {
	struct mpk_arena arena;
	struct mpk_report report;
	struct mpk_words granted;   /* flags that the user allows a manifest */
	const char *path;           /* path of the manifest or blob, as the user typed it */
	struct mpk_mapping text;    /* its bytes */
	struct mpk_package package; /* the manifest, if this process has read it */
	struct mpk_compile_source
		*sources;             /* sources of the package, with room for generated ones */
	struct mpk_request parts;     /* what is to be built of */
	struct mpk_mapping handed;    /* the bytes of parts, when another process has read them */
	struct mpk_request_maps maps; /* the files that parts refers to, then */
	struct mpk_mapping *watched;  /* digests of those files that were hashed for provenance */
	size_t watched_count;
};

/* Options of the command line that decide how the input is read. */
struct mpk_input_options {
	const char *abi;    /* generation instead of the manifest's ("ffi", ...), or NULL */
	const char *target; /* triple instead of the manifest's, or NULL */
	const char *prefix; /* prefix of a system library, "" otherwise */
	bool system_lib;
	bool via_c;                            /* launch functions become C, not LLVM IR */
	bool has_flags;                        /* the user gives flags to compilers */
	const struct mpk_option_list *granted; /* of --allow-cflag; NULL: none */
	const char *executor; /* the input is a finished library, to embed with an executor of this
			       * version; NULL: a manifest or a blob */
	const char *archive;  /* archive of the run library, when the objects of the library are
			  * available; NULL */
	bool compress;        /* with executor: compress the embedded library */
	bool only_check;      /* only check: parts need nothing that is generated */
	const struct mpk_cubins_options
		*cubins; /* the input is a cubin or a folder of them, from which the manifest is
			 * made; NULL */
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

struct mpk_build_options {
	const char *output, *emit, *via, *abi, *target, *cc, *cxx, *jobs, *prefix, *depfile;
	const char *save_temps, *compress;
	const char *depfile_of; /* name of the output in messages; NULL: the output */
	bool plain;             /* ignore standalone in a manifest with models */
	bool says_output;       /* although it is named: it was not by the user */
	const char *keep;       /* a folder that receives the objects of a library to embed; NULL */
	const char *objects;    /* that folder for the embedded library, which may be empty; NULL */
	struct mpk_option_list cflags, ldflags, granted;
	struct mpk_cubins_options cubins;
	const char *sign;
	bool page_align, standalone, system_lib, dry_run, print_commands, fsync, check_repro,
		provenance, allow_empty, force;
};

/* mpk_build_run - read an input, emit it, say what was written
 * @o       may be changed while it runs
 * @executor its version: the input is a library that is to be carried with it; NULL: it is not
 * @carried receives the name of a package whose library has to carry its executor, for
 *          mpk_build_standalone: then nothing was built; free it. NULL: it is built as it is
 * Returns  the exit status */
int mpk_build_run(struct mpk_build_options *o, enum mpk_emit_kind kind, const char *input,
		  const char *executor, char **carried);

/* mpk_build_standalone - what the input gives as a library that carries its executor: from a finished library in one step,
 * from a manifest, an object or an archive in two
 * mpk_build_carrying - the same of a manifest, whose package has this name
 * @o       output may be changed while it runs
 * Returns  the exit status */
int mpk_build_standalone(struct mpk_build_options *o, const char *input);
int mpk_build_carrying(struct mpk_build_options *o, const char *input, const char *name);

/* mpk_origin_describe - the provenance of a build, as the text of its note
 * Runs compiler and linker to ask for their versions. The inputs are hashed, and stay under watch until
 * the process ends: a build of files that changed meanwhile is refused (io/mapping.h).
 * @out     in in->arena
 * Returns  MPK_OK; MPK_E_LOAD: no libcrypto; MPK_E_IO; MPK_E_RANGE; MPK_E_NOMEM */
enum mpk_code mpk_origin_describe(const struct mpk_build_options *o, struct mpk_input *in,
				  const struct mpk_emit *e, const char **out,
				  struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_depfile_write - "OUT: FILE ..." for make, ninja and their kin
 * @headers what compilers read, named after the files where it is none of them; NULL: nothing
 * Returns  MPK_OK; MPK_E_UNSUPPORTED: a name that make cannot read; MPK_E_IO; MPK_E_NOMEM */
enum mpk_code mpk_depfile_write(const char *path, const char *out, const struct mpk_words *files,
				const struct mpk_words *headers,
				struct mpk_error *err) MPK_MUST_CHECK;

#endif
