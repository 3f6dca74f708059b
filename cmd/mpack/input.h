/* SPDX-License-Identifier: Apache-2.0 */
/* input.h - what a build starts from: a manifest with its files, or a bare blob */
#ifndef MPK_CMD_MPACK_INPUT_H
#define MPK_CMD_MPACK_INPUT_H

#include "base/arena.h"
#include "base/report.h"
#include "emit/emit.h"
#include "io/mapping.h"
#include "package/package.h"

/* Zero-initialise; mpk_input_load; mpk_input_close. */
struct mpk_input {
	struct mpk_arena arena;
	struct mpk_report report;
	const char *path;           /* of the manifest or the blob, as the user named it */
	struct mpk_mapping text;    /* its bytes */
	struct mpk_package package; /* of a manifest */
	bool is_blob;
	size_t module_count; /* of a bare blob */

	enum mpk_generation gen;
	struct mpk_rope blob; /* when has_blob */
	bool has_blob;
	const char *name;   /* of the package; of a bare blob that of its file */
	const char *symbol; /* of the blob, when it is not the generation's */
	const char *dir;    /* of the manifest, absolute; NULL: a bare blob */
	const char *target; /* triple, or NULL: this machine */
	const char *base;   /* a finished library that gives the code, or NULL */
	struct mpk_emit_source *sources;
	size_t source_count;
	const char *const *files; /* every file read, the input itself first */
	size_t file_count;
	struct mpk_mapping *watched; /* of those files that were hashed for provenance */
	size_t watched_count;
};

/* What of the command line decides how the input is read. */
struct mpk_input_options {
	const char *abi;    /* generation instead of the manifest's ("ffi", ...), or NULL */
	const char *target; /* triple instead of the manifest's, or NULL */
	const char *prefix; /* of a system library, "" otherwise */
	bool system_lib;
	bool via_c; /* launch functions become C, not LLVM IR */
	/* told what the input is before its payloads are read: a manifest, or NULL for a bare blob; NULL:
	 * nobody is */
	void (*known)(void *data, const struct mpk_manifest *manifest);
	void *data;
};

/* mpk_input_load - read and check path: a .blob or a manifest, "-" for either on standard input
 * Modules go through the checks of payloads and code that minspect --verify has.
 * Prints every finding and error.
 * Returns  the exit status; MPK_EXIT_OK: loaded */
int mpk_input_load(const char *path, const struct mpk_input_options *o, struct mpk_input *in);

/* mpk_input_refuse - a library, a kernel or a model in a manifest's place gets better words than
 * a TOML parser has for it; prints them
 * Returns  MPK_EXIT_OK: it may be a manifest; else the exit status */
int mpk_input_refuse(const char *path, struct mpk_span bytes);

void mpk_input_close(struct mpk_input *in);

#endif
