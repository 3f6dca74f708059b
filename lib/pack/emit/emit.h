/* SPDX-License-Identifier: Apache-2.0 */
/* emit.h - writes a blob and host sources as a library, an object, C source or an archive */
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
	MPK_EMIT_SO,   /* linked shared library */
	MPK_EMIT_OBJ,  /* relocatable object with only the blob symbol */
	MPK_EMIT_C,    /* C source with the blob symbol */
	MPK_EMIT_A,    /* static archive of all objects */
	MPK_EMIT_TAR,  /* tar archive of all objects, as TVM exports it */
	MPK_EMIT_BLOB, /* the blob's bytes without a container */
	MPK_EMIT_KIND_COUNT
};

/* Everything that determines the bytes of the output, and the folders to work in. Borrowed. */
struct mpk_emit {
	enum mpk_emit_kind kind;
	const char *out;  /* path, or "-" for C and BLOB */
	const char *name; /* name and version of the package for its note (elf/note.h); NULL: no
			   * note */
	enum mpk_generation gen;
	const struct mpk_rope *blob; /* NULL: a package of host code only, which has no blob */
	const char *base;            /* SO: a finished library that provides the code instead of
				      * sources; NULL */
	const struct mpk_compile_source *sources;
	const char *symbol; /* symbol of the blob; NULL: the default of its generation */
	size_t source_count;
	const struct mpk_called *called; /* SO: functions that must be defined */
	size_t called_count;
	const char *manifest;   /* the file that names these functions, for messages */
	unsigned align;         /* alignment of the blob in memory in bytes; 0: TVM's alignment */
	bool page_align;        /* SO: place the blob so that its largest file begins at a page, see
				 * lead_of() */
	bool via_c;             /* make the blob's object with a C compiler instead of LLVM */
	bool system_lib;        /* register the symbol when the library is loaded */
	const char *prefix;     /* prefix of the blob symbol; "" */
	const char *tmpdir;     /* folder for intermediate files */
	const char *save_temps; /* folder to keep intermediate files in; NULL: they are removed */
	const char
		*objects; /* SO: folder that receives the objects of the sources (mpk_objects_keep);
			  * NULL */
	struct mpk_toolchain tools;
	/* signature and provenance of an ELF library or object; NULL: none */
	const struct mpk_seal_job *seal;
	bool allow_empty; /* also accept host code that has no function for loaders */
};

/* State of a build between its two steps. */
struct mpk_build;

/* mpk_emit_make - first step: run all tools; files are written only in e->tmpdir
 * The same input gives the same bytes, independent of working folder, tmpdir, number of jobs and
 * time.
 * @e       borrowed until mpk_emit_close
 * @out     for mpk_emit_write, then mpk_emit_close
 * Returns  MPK_OK; MPK_E_UNSUPPORTED (an object or C source of a package without a blob; a seal for
 *          an output that is not an ELF library or object); MPK_E_CONFLICT (an object for another
 *          machine); MPK_E_LOAD (no LLVM); MPK_E_TOOL; MPK_E_SYNTAX, MPK_E_CORRUPT (IR);
 *          MPK_E_RANGE; MPK_E_IO; MPK_E_NOMEM */
enum mpk_code mpk_emit_make(const struct mpk_emit *e, struct mpk_build **out,
			    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_emit_scratch - the folder in which the second step makes and removes files; NULL: it needs
 * none */
const char *mpk_emit_scratch(const struct mpk_build *b);

/* mpk_emit_write - second step: write e->out, completely or not at all
 * This step starts no tool and no process. It reads files from tools and users, so before it the
 * caller may give up all rights but reading and writing these files.
 * Returns  as mpk_emit_make; MPK_E_CONFLICT: a package of host code without a function to call */
enum mpk_code mpk_emit_write(struct mpk_build *b, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_emit_close - remove the intermediate files; b may be NULL */
void mpk_emit_close(struct mpk_build *b);

/* mpk_emit_judge - append the reason why loaders find no function in the finished output
 * Usually a function's name is almost the one that loaders look for. Nothing is appended if loaders
 * find a function or the bytes cannot be read. */
void mpk_emit_judge(const struct mpk_emit *e, struct mpk_span bytes, struct mpk_strbuf *why);

/* A kind of output: its name for --emit, and its file suffix. */
struct mpk_emit_name {
	const char *name;   /* such as "so" */
	const char *suffix; /* such as ".so" */
};

/* mpk_emit_name - name and suffix of a kind; static storage */
const struct mpk_emit_name *mpk_emit_name(enum mpk_emit_kind kind);

/* --- Writing a file with a blob inserted, and its digest in the package note ---
 *
 * A small blob is read and hashed first. A large one is hashed while it is copied; then the note,
 * which is already written, is written again. */

/* A file made by inserting a blob into another file. Borrowed. */
struct mpk_packed {
	const struct mpk_private *file; /* the other file; rope has views of it */
	struct mpk_note note;           /* position of the note in that file; without offsets the
					 * note is not renewed */
	const struct mpk_rope *rope;    /* all bytes of the new file */
	const struct mpk_rope *blob;    /* bytes of the blob; rope contains the same pieces */
	const struct mpk_rope *old;     /* the previous blob, whose digest must equal the one in the
					 * note; NULL: not checked */
};

/* mpk_packed_note - find the package note of a file in memory, for struct mpk_packed
 * Call it before the file's headers are changed.
 * @symbol  symbol of the blob
 * @id      the build id that the linker was given, 16 bytes, which must be in the file; NULL: the
 *          one given by the note
 * Returns  MPK_OK, also if the file is not ELF or has no note; MPK_E_NOMEM */
enum mpk_code mpk_packed_note(struct mpk_span file, const char *symbol, const uint8_t *id,
			      struct mpk_arena *arena, struct mpk_note *out,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_packed_write - write rope, with the blob's digest in the symbol's note
 * If the build id began with the old digest, it is renewed too. A file without a package note, or
 * with a note in another layout, is written unchanged. s->file is modified as well.
 * Returns  MPK_OK; MPK_E_CORRUPT: old does not match the digest in the note, so the file must not
 *          get a valid one; MPK_E_IO; MPK_E_NOMEM */
enum mpk_code mpk_packed_write(const struct mpk_packed *s, struct mpk_output *o,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* --- The request that the process which reads a package sends to the process that builds it ---
 *
 * Privilege separation: manifests, payloads and code are parsed in a process that can only open
 * files. The process that starts compilers gets the results as bytes. An attacker who controls the
 * first process can choose the content of the output, as a payload can anyway. He can choose
 * neither the output's path nor which program starts with which options. */

/* Everything that a build needs from a package that was read. Borrowed, or in an arena. */
struct mpk_request {
	enum mpk_generation gen;
	struct mpk_rope blob;  /* set if has_blob */
	const char *name;      /* name of the package; for a bare blob, of its file */
	const char *symbol;    /* symbol of the blob; NULL: the default of its generation */
	const char *entry;     /* the entry function that the manifest names; NULL */
	const char *dir_named; /* prefix of its files' paths, such as "sub/"; "" */
	const char *target;    /* triple; NULL: this machine */
	const char *base;      /* a finished library that provides the host code; NULL */
	const struct mpk_compile_source *sources;
	size_t source_count;
	const struct mpk_called *called;
	size_t called_count;
	struct mpk_words libraries; /* words that the manifest gives to the linker */
	struct mpk_words files; /* every file that was read or named; the input itself is first */
	size_t module_count;
	bool has_blob;
	bool is_blob;         /* the input is a bare blob, not a manifest */
	bool has_host;        /* some module is host code */
	bool has_sources;     /* some sources are the user's, not generated */
	bool has_callable;    /* some module contains more than data */
	bool is_embedded;     /* a model that gets an executor in its library */
	bool could_load;      /* standalone: its launch functions could load their kernels, but
			       * shall not */
	bool needs_cxx;       /* standalone: its objects need the C++ libraries */
	bool has_state;       /* standalone: its models have caches or other states */
	bool is_cpu;          /* standalone: it has only Relax VM models for the CPU */
	bool is_packed;       /* standalone: compressed with zstd, whose decoder is linked in */
	const char *packing;  /* standalone: the reason why compression does not pay; NULL */
	const char *unlinked; /* standalone: the reason why its objects are not linked in; NULL */
};

/* An open file that contains pieces of the blob. */
struct mpk_request_file {
	const char *path;
	const struct mpk_mapping *map;
};

/* mpk_request_write - write a request to a descriptor
 * @files   pieces in these files are written as offset and length; the first is the input, which
 *          the other process has open too. Pieces elsewhere are written as bytes.
 * Returns  MPK_OK; MPK_E_IO; MPK_E_NOMEM */
enum mpk_code mpk_request_write(const struct mpk_request *h, const struct mpk_request_file *files,
				size_t file_count, int fd, struct mpk_error *err) MPK_MUST_CHECK;

/* The files that a request refers to. Zero-initialise; close with mpk_request_close. */
struct mpk_request_maps {
	struct mpk_mapping *items; /* in the arena */
	size_t count;
};

/* mpk_request_read - read a request from untrusted bytes
 * It refuses a name that is a path, a source that a compiler would take for an option, bytes
 * outside of their file, and a file that is not the one that was read.
 * @bytes   borrowed as long as *out
 * @input   the open input; borrowed as long as *out
 * @granted as for mpk_manifest_allows, which checks each flag
 * @arena   receives strings and lists
 * @maps    must be closed by the caller in every case, when *out is no longer used
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_IO: a file cannot be opened, or has changed; MPK_E_NOMEM */
enum mpk_code mpk_request_read(struct mpk_span bytes, const struct mpk_mapping *input,
			       const struct mpk_words *granted, struct mpk_arena *arena,
			       struct mpk_request *out, struct mpk_request_maps *maps,
			       struct mpk_error *err) MPK_MUST_CHECK;

void mpk_request_close(struct mpk_request_maps *maps);

#endif
