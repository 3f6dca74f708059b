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
#include "elf/note.h"
#include "io/mapping.h"
#include "io/output.h"
#include "launch/launch.h"
#include "toolchain/toolchain.h"
#include "trust/seal.h"

enum mpk_emit_kind {
	MPK_EMIT_SO,   /* linked library */
	MPK_EMIT_OBJ,  /* relocatable object with only the blob symbol */
	MPK_EMIT_C,    /* C source with the blob symbol */
	MPK_EMIT_A,    /* static archive of all objects */
	MPK_EMIT_TAR,  /* tar archive of all objects, as TVM exports it */
	MPK_EMIT_BLOB, /* the bare bytes */
	MPK_EMIT_KIND_COUNT
};

/* Everything that decides the bytes of the output, and the folders to work in. Borrowed. */
struct mpk_emit {
	enum mpk_emit_kind kind;
	const char *out;  /* path, or "-" for C and BLOB */
	const char *name; /* version of the package for its note (elf/note.h); NULL: no note */
	enum mpk_generation gen;
	const struct mpk_rope *blob; /* NULL: a host-only package, which has none */
	const char *base;            /* SO: a finished library that provides the code instead of
				      * sources; NULL */
	const struct mpk_compile_source *sources;
	const char *symbol; /* symbol of the blob, if not the generation's; or NULL */
	size_t source_count;
	const struct mpk_called *called; /* SO: functions that must be defined */
	size_t called_count;
	const char *manifest;   /* the file that names them, for messages */
	unsigned align;         /* alignment of the blob in memory, bytes; 0: as TVM's */
	bool page_align;        /* SO: the blob's largest file begins at a page, see lead_of() */
	bool via_c;             /* the blob becomes an object through C, not LLVM */
	bool system_lib;        /* register the symbol when the library is loaded */
	const char *prefix;     /* prefix of the blob symbol; "" */
	const char *tmpdir;     /* folder for intermediate files */
	const char *save_temps; /* folder in which they stay instead; NULL */
	const char *
		objects; /* SO: a folder that receives the objects of the sources (mpk_objects_keep); NULL */
	struct mpk_toolchain tools;
	/* signature and provenance of an ELF library or object; NULL: none */
	const struct mpk_seal_job *seal;
	bool allow_empty; /* also host code without a function that a loader finds */
};

/* One build between its two steps. */
struct mpk_build;

/* mpk_emit_make - the first step: every tool runs, and nothing is written but in e->tmpdir
 * The same input gives the same bytes, whatever cwd, tmpdir, jobs and time are.
 * @e       borrowed until mpk_emit_close
 * @out     for mpk_emit_write, then mpk_emit_close
 * Returns  MPK_OK; MPK_E_UNSUPPORTED (an object or C source of a host-only package; a seal for what
 *          is no library or object of ELF);
 *          MPK_E_CONFLICT (an object for another machine); MPK_E_LOAD (no LLVM);
 *          MPK_E_TOOL; MPK_E_SYNTAX, MPK_E_CORRUPT (IR); MPK_E_RANGE; MPK_E_IO;
 *          MPK_E_NOMEM */
enum mpk_code mpk_emit_make(const struct mpk_emit *e, struct mpk_build **out,
			    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_emit_scratch - the folder in which the second step still makes and removes files; NULL: none */
const char *mpk_emit_scratch(const struct mpk_build *b);

/* mpk_emit_write - the second step: write e->out, whole or not at all
 * Starts no tool and no process: it reads what tools and users made, so the caller may give up all
 * rights but these first.
 * Returns  as mpk_emit_make; MPK_E_CONFLICT: a host-only package in which nothing can be called */
enum mpk_code mpk_emit_write(struct mpk_build *b, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_emit_close - remove the intermediate files; NULL is fine */
void mpk_emit_close(struct mpk_build *b);

/* mpk_emit_judge - append why no loader can call a function of the finished output: usually the name of a
 * function is nearly the one that loaders look for. Nothing is appended when one can be called, or when
 * the bytes cannot be read. */
void mpk_emit_judge(const struct mpk_emit *e, struct mpk_span bytes, struct mpk_strbuf *why);

/* The names that --emit takes, and suffixes. */
struct mpk_emit_name {
	const char *name;   /* "so" */
	const char *suffix; /* ".so" */
};

/* mpk_emit_name - the row of a kind; static storage */
const struct mpk_emit_name *mpk_emit_name(enum mpk_emit_kind kind);

/* --- writing a file with a blob packed into it, so that its package note tells the digest of the blob ---
 *
 * A small blob is read first, to be hashed. A large one is hashed while it is copied, and the
 * note, which is out by then, is written once more.
 */

/* A file made from another file by putting in a blob. Borrowed. */
struct mpk_packed {
	const struct mpk_private *file; /* the file it is made from; views of it are in rope */
	struct mpk_note note;           /* place of the note in that file; without offsets nothing
					 * is renewed */
	const struct mpk_rope *rope;    /* all bytes */
	const struct mpk_rope *blob;    /* bytes of the blob, which rope holds piece by piece */
	const struct mpk_rope *old;     /* the previous blob, which must match the digest of the
					 * note; NULL: unchecked */
};

/* mpk_packed_note - the package note of a file in memory, for struct mpk_packed
 * To be called before the file's headers are changed.
 * @symbol  of the blob
 * @id      the build id that the linker was given, 16 bytes, to be looked for; NULL: the one
 *          that the note tells
 * Returns  MPK_OK, also for what is no ELF file or has no note; MPK_E_NOMEM */
enum mpk_code mpk_packed_note(struct mpk_span file, const char *symbol, const uint8_t *id,
			      struct mpk_arena *arena, struct mpk_note *out,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_packed_write - write rope, with the note of the symbol telling the digest of blob
 * The build id follows when it began with the old digest. A file without a package note, or
 * whose note is not laid out as ours, is written as it is. s->file is changed, too.
 * Returns  MPK_OK; MPK_E_CORRUPT: old is not what the note tells, and must not be passed
 *          off as valid; MPK_E_IO; MPK_E_NOMEM */
enum mpk_code mpk_packed_write(const struct mpk_packed *s, struct mpk_output *o,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* --- what the process that reads a package hands to the one that builds of it ---
 *
 * Privilege separation: manifests, payloads and code are parsed in a process that may open files and
 * nothing else; the one that starts compilers takes what it found from bytes. Whoever took the reader
 * over decides what gets into the output, as a payload does anyway. It decides neither where the output
 * lies nor which program is started with which options.
 */

/* What a build needs of a package that has been read. Borrowed or in an arena. */
struct mpk_request {
	enum mpk_generation gen;
	struct mpk_rope blob;  /* when has_blob */
	const char *name;      /* name of the package; for a bare blob, of its file */
	const char *symbol;    /* symbol of the blob, if not the generation's; NULL */
	const char *entry;     /* function that the manifest makes the entry; NULL */
	const char *dir_named; /* prefix of the paths of its files: "sub/"; "" */
	const char *target;    /* triple; NULL: this machine */
	const char *base;      /* a finished library that provides the code; NULL */
	const struct mpk_compile_source *sources;
	size_t source_count;
	const struct mpk_called *called;
	size_t called_count;
	struct mpk_words libraries; /* words that the manifest gives to the linker */
	struct mpk_words files;     /* every file read or named, the input itself first */
	size_t module_count;
	bool has_blob;
	bool is_blob;         /* the input is a bare blob, not a manifest */
	bool has_host;        /* some module is host code */
	bool has_sources;     /* some sources are the user's, not generated */
	bool has_callable;    /* some module is more than data */
	bool is_embedded;     /* a model: it is to be carried by a library with its executor */
	bool could_load;      /* its launch functions could load their kernels but are not to
			  * (standalone) */
	bool needs_cxx;       /* carried: its objects need the C++ libraries */
	bool has_state;       /* carried: its models have caches or other states */
	bool is_cpu;          /* carried: only for the Relax VM on the CPU */
	bool is_packed;       /* carried: compressed with zstd, whose decoder is linked in */
	const char *packing;  /* carried: why compression does not pay; NULL */
	const char *unlinked; /* carried: why its objects are not linked in; NULL */
};

/* An open file that pieces of the blob are in. */
struct mpk_request_file {
	const char *path;
	const struct mpk_mapping *map;
};

/* mpk_request_write - to a descriptor, in bytes
 * @files   of which pieces are given by their place; the first is the input, which the other process has
 *          open, too. Pieces elsewhere are written out.
 * Returns  MPK_OK; MPK_E_IO; MPK_E_NOMEM */
enum mpk_code mpk_request_write(const struct mpk_request *h, const struct mpk_request_file *files,
				size_t file_count, int fd, struct mpk_error *err) MPK_MUST_CHECK;

/* The files that a request refers to. Zero-initialise; mpk_request_close. */
struct mpk_request_maps {
	struct mpk_mapping *items; /* in the arena */
	size_t count;
};

/* mpk_request_read - from bytes that are not to be believed
 * Refuses what would lead elsewhere: a name that is a path, a source that a compiler would take for an
 * option, bytes outside of their file, a file that is not the one that was read.
 * @bytes   borrowed as long as *out
 * @input   the input itself, open, as long as *out
 * @granted as of mpk_manifest_allows, which each flag is asked of
 * @arena   receives texts and lists
 * @maps    closed by the caller in every case, after *out was used
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_IO: a file cannot be opened, or has changed; MPK_E_NOMEM */
enum mpk_code mpk_request_read(struct mpk_span bytes, const struct mpk_mapping *input,
			       const struct mpk_words *granted, struct mpk_arena *arena,
			       struct mpk_request *out, struct mpk_request_maps *maps,
			       struct mpk_error *err) MPK_MUST_CHECK;

void mpk_request_close(struct mpk_request_maps *maps);

#endif
