/* SPDX-License-Identifier: Apache-2.0 */
/* emit.h - what the files of this folder share, and nobody else includes */
#ifndef MPK_EMIT_INTERNAL_EMIT_H
#define MPK_EMIT_INTERNAL_EMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/rope.h"
#include "emit/emit.h"
#include "io/mapping.h"
#include "io/output.h"
#include "toolchain/toolchain.h"

/* --- A blob as C source --- */

enum mpk_csource_form {
	MPK_CSOURCE_PLAIN,  /* the bytes as C: arrays when small, string literals when not */
	MPK_CSOURCE_INCBIN, /* file-scope assembly that includes a file: GNU C on ELF */
	MPK_CSOURCE_STUB,   /* MPK_STUB_BYTES of zeros, for elf/edit.h; GNU C on ELF, too */
};

/* Up to this many bytes an array is used, which every C and C++ compiler takes. A string
 * literal is 17 times faster to compile, but ISO C promises only 4095 characters. */
enum { MPK_CSOURCE_ARRAY_MAX = 16 * 1024 };

struct mpk_csource {
	enum mpk_csource_form form;
	const char *symbol;
	const struct mpk_rope *bytes; /* PLAIN */
	const char *file;             /* INCBIN: path for the assembler */
	unsigned align;               /* alignment in memory, bytes; 16: as in TVM */
	uint64_t size;                /* INCBIN: length of the file, bytes */
	bool lrodata;                 /* STUB: in .lrodata, not .rodata */
	unsigned
		lead; /* STUB: zeros before it, so that a file begins at a page; less than a page */
	const char *register_fn; /* system library: function that gets name and address; NULL */
	const char *note;        /* text of the note (elf/note.h), for ELF; NULL */
};

/* mpk_csource_store - write the source to a file
 * Returns  MPK_OK; MPK_E_IO; MPK_E_NOMEM */
enum mpk_code mpk_csource_store(const struct mpk_csource *c, const char *path,
				struct mpk_error *err) MPK_MUST_CHECK;

/* One run of mpk_emit, shared by the files of this room
 *
 * From below: library.c reads what tools made, puts a blob into it and writes, and makes
 * libraries of the objects; emit.c makes the objects, archives of them, and decides which output.
 */

/* How the blob gets into its object and the library. From MPK_LARGE_BYTES on compiler and linker
 * do not see it. */
enum mpk_strategy {
	MPK_STRATEGY_NONE,           /* there is no blob */
	MPK_STRATEGY_FULL,           /* as it is */
	MPK_STRATEGY_EXTEND_OBJECT,  /* a stub; the object is extended */
	MPK_STRATEGY_EXTEND_LIBRARY, /* a stub in .lrodata; the linked library is extended */
};

/* A file that a tool made, and the file made from it. Zero-initialise; close in every case. */
struct mpk_build_file {
	struct mpk_mapping map;
	struct mpk_private data;  /* its bytes, where it may be patched */
	struct mpk_rope rope;     /* the new file */
	struct mpk_packed packed; /* the same, with the blob */
};

struct mpk_build {
	const struct mpk_emit *e;
	struct mpk_compilation c; /* its tools are e->tools */
	enum mpk_strategy strategy;
	bool lrodata;            /* the blob symbol's section */
	const char *symbol;      /* symbol of the blob, with its prefix */
	const char *register_fn; /* or NULL */
	const char *note;        /* text of the package note in the blob's object; NULL: none */
	uint8_t digest[MPK_DIGEST_BYTES]; /* XXH128 of the blob; zeros while unknown */
	uint8_t id[MPK_BUILD_ID_BYTES];   /* objects for the linker */
	const char *blob_object;          /* path; NULL without blob */
	struct mpk_arena arena;           /* everything of the run */
	bool is_rebase;                   /* the output is e->base with another blob */
	const char *linked;               /* SO: path of what the linker made */
	bool is_extended;                 /* SO: extended is the library, else linked is */
	struct mpk_build_file extended;   /* SO: the linked stub, extended to the blob */
};

/* An output that mpack can write; the row is in the file that writes it. */
struct mpk_emitter {
	struct mpk_emit_name name;
	bool is_linked; /* made from objects of blob and sources, in a scratch folder */
	bool is_blob;   /* contains only the blob, which must exist */
	/* links the objects; NULL: nothing is linked */
	enum mpk_code (*link)(struct mpk_build *b, struct mpk_error *err);
	enum mpk_code (*write)(struct mpk_build *b, struct mpk_error *err); /* to e->out */
	/* writes a copy of e->base with another blob; NULL: e->base does not fit */
	enum mpk_code (*rebase)(struct mpk_build *b, struct mpk_error *err);
};

extern const struct mpk_emitter mpk_emitter_so;                 /* library.c */
extern const struct mpk_emitter mpk_emitter_c;                  /* csource.c */
extern const struct mpk_emitter mpk_emitter_a, mpk_emitter_tar; /* objects.c */

/* What follows fails with MPK_E_TOOL (a compiler or linker did), MPK_E_IO, MPK_E_NOMEM, or
 * as mpk_emit says. */

/* --- request.c ------------------------------------------------------------------ */

#define MPK_HANDOVER_NONE UINT64_MAX /* no text; a piece outside of any file */

/* --- csource.c ------------------------------------------------------------------- */

/* mpk_build_blob - the job that makes the blob's object; its path and its note are known then
 * Returns  MPK_OK; MPK_E_RANGE: the package's name is too long for the note */
enum mpk_code mpk_build_blob(struct mpk_build *b, struct mpk_job *job,
			     struct mpk_error *err) MPK_MUST_CHECK;

/* --- library.c ------------------------------------------------------------------- */

/* mpk_build_write - a file with its package note renewed to path; whole or not at all, and not in a
 * dry run */
enum mpk_code mpk_build_write(struct mpk_build *b, const char *path, unsigned mode,
			      const struct mpk_packed *s, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_build_file_open - the file as it is
 * mpk_build_file_extend - open it and extend its stub to the blob
 * Returns  as mpk_elf_extend, too */
enum mpk_code mpk_build_file_open(struct mpk_build *b, const char *path, struct mpk_build_file *out,
				  struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_build_file_extend(struct mpk_build *b, const char *path,
				    struct mpk_build_file *out,
				    struct mpk_error *err) MPK_MUST_CHECK;
void mpk_build_file_close(struct mpk_build_file *f);

#endif
