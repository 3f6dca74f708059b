/* SPDX-License-Identifier: Apache-2.0 */
/* build.h - `mpack build`: its options, its input (a manifest with its files, or a finished blob),
 * and its steps */
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

/* Zero-initialise, fill with mpk_input_load, free with mpk_input_close. */
struct mpk_input {
	struct mpk_arena arena;
	struct mpk_report report;
	struct mpk_words granted;   /* compiler flags that the user allows in the manifest */
	const char *path;           /* path of the manifest or blob, as given */
	struct mpk_mapping text;    /* bytes of that file */
	struct mpk_package package; /* the manifest, if this process parsed it */
	struct mpk_compile_source
		*sources;             /* sources of the package, with room for generated ones */
	struct mpk_request parts;     /* the parts to build */
	struct mpk_mapping handed;    /* the bytes of parts, if another process read them */
	struct mpk_request_maps maps; /* the files that parts then refers to */
	struct mpk_mapping *watched;  /* mappings of inputs that were hashed for provenance */
	size_t watched_count;
};

/* Options that decide how the input is read. */
struct mpk_input_options {
	const char *abi; /* generation that overrides the manifest's ("ffi", ...); NULL if none */
	const char *target; /* triple that overrides the manifest's; NULL if none */
	const char *prefix; /* prefix of a system library; "" otherwise */
	bool system_lib;
	bool via_c;     /* generate launch functions as C instead of LLVM IR */
	bool has_flags; /* the user passes flags to compilers */
	const struct mpk_option_list *granted; /* from --allow-cflag; NULL if none */
	/* set if the input is a finished library to embed: version of the executor; NULL for a
	 * manifest or a blob */
	const char *executor;
	/* archive of the run library, if the objects of the library are available; else NULL */
	const char *archive;
	bool compress;   /* with executor: compress the embedded library */
	bool only_check; /* only check the input: nothing is generated */
	/* set if the input is a cubin or a folder of cubins, from which the manifest is made; else
	 * NULL */
	const struct mpk_cubins_options *cubins;
};

/* mpk_input_load - read and check path: a .blob or a manifest, "-" for either on standard input
 * Modules go through the payload and code checks of minspect --verify. The input is read and
 * checked in a separate process, which can only open files; this process then parses no byte of
 * a payload (emit/emit.h). With --no-sandbox that process is not confined. Prints every finding
 * and error.
 * Returns  the exit status; MPK_EXIT_OK: loaded; MPK_EXIT_INTERNAL also if that process crashed */
int mpk_input_load(const char *path, const struct mpk_input_options *o, struct mpk_input *in);

/* mpk_input_read - read and check in->text; runs in the separate process */
int mpk_input_read(const struct mpk_input_options *o, struct mpk_input *in);

void mpk_input_close(struct mpk_input *in);

struct mpk_build_options {
	const char *output, *emit, *via, *abi, *target, *cc, *cxx, *jobs, *prefix, *depfile;
	const char *save_temps, *compress;
	/* name of the output in the dependency file; NULL means the output */
	const char *depfile_of;
	bool plain;       /* ignore standalone in a manifest with models */
	bool says_output; /* print the output's name, since the user did not give it */
	const char *keep; /* folder that receives the objects of a library to embed; NULL if none */
	const char *objects; /* that folder for the embedded library; may be empty; NULL if none */
	struct mpk_option_list cflags, ldflags, granted;
	struct mpk_cubins_options cubins;
	const char *sign;
	bool page_align, standalone, system_lib, dry_run, print_commands, fsync, check_repro,
		provenance, allow_empty, force;
};

/* mpk_build_run - read an input, build the output, print what was written
 * @o       may be changed during the call
 * @executor version of the executor to embed the input, a library, with; NULL if nothing is
 *           embedded
 * @carried receives the name of a package whose library must contain its executor, for
 *          mpk_build_standalone: then nothing was built; free it. NULL: build it without
 * Returns  the exit status */
int mpk_build_run(struct mpk_build_options *o, enum mpk_emit_kind kind, const char *input,
		  const char *executor, char **carried);

/* mpk_build_standalone - build a library that contains its executor: from a finished library in one
 * step, from a manifest, an object or an archive in two
 * mpk_build_carrying - the same for a manifest, whose package has this name
 * @o       output may be changed during the call
 * Returns  the exit status */
int mpk_build_standalone(struct mpk_build_options *o, const char *input);
int mpk_build_carrying(struct mpk_build_options *o, const char *input, const char *name);

/* mpk_origin_describe - make the provenance of a build, as the text of its note
 * Runs the compiler and the linker to get their versions. The inputs are hashed and watched
 * until the process ends: if one of them changed, the build is refused (io/mapping.h).
 * @out     in in->arena
 * Returns  MPK_OK; MPK_E_LOAD: no libcrypto; MPK_E_IO; MPK_E_RANGE; MPK_E_NOMEM */
enum mpk_code mpk_origin_describe(const struct mpk_build_options *o, struct mpk_input *in,
				  const struct mpk_emit *e, const char **out,
				  struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_depfile_write - write "OUT: FILE ..." for make, ninja and similar tools
 * @headers files that compilers read, written after the files, without duplicates; NULL if none
 * Returns  MPK_OK; MPK_E_UNSUPPORTED: a name that make cannot read; MPK_E_IO; MPK_E_NOMEM */
enum mpk_code mpk_depfile_write(const char *path, const char *out, const struct mpk_words *files,
				const struct mpk_words *headers,
				struct mpk_error *err) MPK_MUST_CHECK;

#endif
