/* SPDX-License-Identifier: Apache-2.0 */
/* package.h - a manifest with everything it names: from files to the tree and its blob */
#ifndef MPK_PACKAGE_PACKAGE_H
#define MPK_PACKAGE_PACKAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/report.h"
#include "base/rope.h"
#include "blob/blob.h"
#include "io/mapping.h"
#include "launch/launch.h"
#include "manifest/manifest.h"

/* Host code to be compiled or linked. */
struct mpk_host_source {
	const char *path;   /* to open it: the manifest's folder and the path written there */
	size_t module;      /* index in the manifest */
	struct mpk_pos pos; /* where the manifest names it */
};

/* An input file, open until the package is closed. */
struct mpk_file {
	struct mpk_mapping map;
	const char *path;
	const struct mpk_code_info *code; /* as its reader found it; NULL: it was not asked */
	struct mpk_file *next;
};

/* Zero-initialise; fill with mpk_package_load; mpk_package_close. Everything but the
 * open files is in the arena of load. */
struct mpk_package {
	struct mpk_manifest manifest;
	struct mpk_tree tree;
	const size_t *node_module; /* of each node the index in the manifest; SIZE_MAX: host code */
	bool needs_blob;           /* false: host code alone, for which TVM writes no blob */
	struct mpk_rope blob;      /* its bytes, header included; large payloads are file ranges */
	const struct mpk_host_source *sources; /* of the modules that root reaches, in order */
	size_t source_count;
	const struct mpk_launch *launches; /* functions whose host code is generated */
	size_t launch_count;
	const char *base;          /* the finished library that gives the code, or NULL */
	const char *const *inputs; /* every file read or named, in order, for --depfile */
	size_t input_count;
	struct mpk_file *files; /* what the blob's pieces lie in */
};

/* An in-memory file: what a name of the manifest means instead of a file on disk. */
struct mpk_memory_file {
	const char *name;      /* as the manifest names it */
	struct mpk_span bytes; /* borrowed as long as the package */
};

struct mpk_package_input {
	struct mpk_span text; /* the manifest, TOML */
	const char *path;     /* names it in findings; paths in it are relative to its folder */
	const enum mpk_generation *gen; /* instead of what it says; NULL: as it says */
	const struct mpk_memory_file
		*memory_files; /* taken before files of the same name; may be NULL */
	size_t memory_file_count;
};

/* mpk_package_load - read a manifest and every payload, build the tree and the blob
 * A file that cannot be read, a payload that is not what its format says and a kernel
 * that is not in it are findings with line and column of the manifest, like its own errors;
 * all of them are reported. Host sources and base are only looked for: what is in them is for the
 * compiler. Payloads are mapped, not read.
 * @arena   receives tree, small payloads and lists; must live as long as the package
 * @report  receives the findings
 * Returns  MPK_OK when report gained no errors; else the code of the first error, which err
 *          carries too: MPK_E_IO when files that cannot be read are all that is wrong, else
 *          MPK_E_SYNTAX, MPK_E_CORRUPT or MPK_E_CONFLICT; MPK_E_NOMEM. *out is to be
 *          closed in every case. */
enum mpk_code mpk_package_load(const struct mpk_package_input *input, struct mpk_arena *arena,
			       struct mpk_report *report, struct mpk_package *out,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_package_close - close the payload files; ends the life of blob and tree. Safe on a
 * zeroed or closed package. */
void mpk_package_close(struct mpk_package *package);

#endif
