/* SPDX-License-Identifier: Apache-2.0 */
/* emit.h - a blob and host sources as a library, an object, C source or an archive */
#ifndef MPK_EMIT_EMIT_H
#define MPK_EMIT_EMIT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/rope.h"
#include "base/span.h"
#include "blob/blob.h"
#include "toolchain/toolchain.h"
#include "trust/seal.h"

enum mpk_emit_kind {
	MPK_EMIT_SO,   /* linked library */
	MPK_EMIT_OBJ,  /* relocatable object with the blob symbol alone */
	MPK_EMIT_C,    /* C source with the blob symbol */
	MPK_EMIT_A,    /* static archive of all objects */
	MPK_EMIT_TAR,  /* tar archive of all objects, as TVM exports it */
	MPK_EMIT_BLOB, /* the bare bytes */
	MPK_EMIT_KIND_COUNT
};

/* Where the caller of mpk_emit has a say. */
struct mpk_emit_hooks {
	void *data;
	/* No tool and no other process will be started any more: what is left is to read what tools
	 * and users made, and to write the output. May be NULL.
	 * @scratch  the folder in which files still change; NULL: there is none */
	void (*settled)(void *data, const char *scratch);
	/* A package without a blob, made of host code alone: the library or archive before it takes its
	 * name, which it does not get when this fails. May be NULL. */
	enum mpk_code (*accept)(void *data, struct mpk_span bytes, struct mpk_error *err);
};

/* Everything that decides the output's bytes, and where to work. All borrowed. */
struct mpk_emit {
	enum mpk_emit_kind kind;
	const char *out;  /* path, or "-" for C and BLOB */
	const char *name; /* of the package, for its note (elf/note.h); NULL: no note is made */
	enum mpk_generation gen;
	const struct mpk_rope *blob; /* NULL: a host-only package, which has none */
	const char *base;            /* SO: a finished library that gives the code, instead of
					  * sources; NULL */
	const struct mpk_compile_source *sources;
	const char *symbol; /* of the blob, instead of the generation's; or NULL */
	size_t source_count;
	bool via_c;             /* the blob becomes an object through C, not LLVM */
	bool system_lib;        /* register the symbol at start */
	const char *prefix;     /* of the blob symbol; "" */
	const char *tmpdir;     /* where intermediate files may go */
	const char *save_temps; /* where they go and stay instead; NULL */
	struct mpk_toolchain tools;
	/* what a library or object of ELF gets before it takes its name; NULL: nothing */
	const struct mpk_seal_job *seal;
	const struct mpk_emit_hooks *hooks; /* NULL: none */
};

/* mpk_emit - write e->out, whole or not at all
 * The same input gives the same bytes, whatever cwd, tmpdir, jobs and time are.
 * Returns  MPK_OK; MPK_E_UNSUPPORTED (an object or C source of a host-only package; a seal for what
 *          is no library or object of ELF);
 *          MPK_E_CONFLICT (an object for another machine); MPK_E_LOAD (no LLVM);
 *          MPK_E_TOOL; MPK_E_SYNTAX, MPK_E_CORRUPT (IR); MPK_E_RANGE; MPK_E_IO;
 *          MPK_E_NOMEM */
enum mpk_code mpk_emit(const struct mpk_emit *e, struct mpk_error *err) MPK_MUST_CHECK;

/* The names that --emit and suffixes have. */
struct mpk_emit_name {
	const char *name;   /* "so" */
	const char *suffix; /* ".so" */
};

/* mpk_emit_name - the row of a kind; static storage */
const struct mpk_emit_name *mpk_emit_name(enum mpk_emit_kind kind);

#endif
