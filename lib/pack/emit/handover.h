/* SPDX-License-Identifier: Apache-2.0 */
/* handover.h - what the process that reads a package hands to the one that builds of it
 *
 * Privilege separation: manifests, payloads and code are parsed in a process that may open files and
 * nothing else; the one that starts compilers takes what it found from bytes. Whoever took the reader
 * over decides what gets into the output, as a payload does anyway. It decides neither where the output
 * lies nor which program is started with which options.
 */
#ifndef MPK_EMIT_HANDOVER_H
#define MPK_EMIT_HANDOVER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/rope.h"
#include "base/span.h"
#include "blob/blob.h"
#include "emit/emit.h"
#include "io/mapping.h"

/* A package that has been read: what a build needs of it. Borrowed or in an arena. */
struct mpk_handover {
	enum mpk_generation gen;
	struct mpk_rope blob;  /* when has_blob */
	const char *name;      /* of the package; of a bare blob that of its file */
	const char *symbol;    /* of the blob, when it is not the generation's; NULL */
	const char *entry;     /* function that the manifest calls so; NULL */
	const char *dir_named; /* as the paths of its files begin: "sub/"; "" */
	const char *target;    /* triple; NULL: this machine */
	const char *base;      /* a finished library that gives the code; NULL */
	const struct mpk_compile_source *sources;
	size_t source_count;
	const char *const *files; /* every file read or named, the input itself first */
	size_t file_count;
	size_t module_count;
	bool has_blob;
	bool is_blob;      /* the input is a bare blob, not a manifest */
	bool has_host;     /* a module is host code */
	bool has_sources;  /* some sources are the user's, not generated */
	bool has_callable; /* a module is not data alone */
};

/* A file that pieces of the blob lie in, open. */
struct mpk_handover_file {
	const char *path;
	const struct mpk_mapping *map;
};

/* mpk_handover_write - to a descriptor, in bytes
 * @files   of which pieces are given by their place; the first is the input, which the other process has
 *          open, too. Pieces elsewhere are written out.
 * Returns  MPK_OK; MPK_E_IO; MPK_E_NOMEM */
enum mpk_code mpk_handover_write(const struct mpk_handover *h,
				 const struct mpk_handover_file *files, size_t file_count, int fd,
				 struct mpk_error *err) MPK_MUST_CHECK;

/* The files that a handover refers to. Zero-initialise; mpk_handover_close. */
struct mpk_handover_maps {
	struct mpk_mapping *items; /* in the arena */
	size_t count;
};

/* mpk_handover_read - from bytes that are not to be believed
 * Refuses what would lead elsewhere: a name that is a path, a source that a compiler would take for an
 * option, bytes outside of their file, a file that is not the one that was read.
 * @bytes   borrowed as long as *out
 * @input   the input itself, open, as long as *out
 * @arena   receives texts and lists
 * @maps    closed by the caller in every case, after *out was used
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_IO: a file cannot be opened, or has changed; MPK_E_NOMEM */
enum mpk_code mpk_handover_read(struct mpk_span bytes, const struct mpk_mapping *input,
				struct mpk_arena *arena, struct mpk_handover *out,
				struct mpk_handover_maps *maps,
				struct mpk_error *err) MPK_MUST_CHECK;

void mpk_handover_close(struct mpk_handover_maps *maps);

#endif
