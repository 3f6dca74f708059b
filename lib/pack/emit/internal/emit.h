/* SPDX-License-Identifier: Apache-2.0 */
/* emit.h - declarations shared by the files of this folder */
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
	MPK_CSOURCE_PLAIN,  /* the bytes as C: an array if small, else string literals */
	MPK_CSOURCE_INCBIN, /* file-scope assembly that includes a file: GNU C on ELF */
	MPK_CSOURCE_STUB,   /* MPK_STUB_BYTES zeros, which elf/edit.h extends; GNU C on ELF */
};

/* Largest size in bytes for an array, which every C and C++ compiler accepts. A string literal
 * compiles 17 times faster, but ISO C guarantees only 4095 characters. */
enum { MPK_CSOURCE_ARRAY_MAX = 16 * 1024 };

struct mpk_csource {
	enum mpk_csource_form form;
	const char *symbol;
	const struct mpk_rope *bytes; /* for PLAIN */
	const char *file;             /* INCBIN: path as the assembler sees it */
	unsigned align;               /* alignment in memory in bytes; TVM's is 16 */
	uint64_t size;                /* INCBIN: length of the file in bytes */
	bool lrodata;                 /* STUB: in .lrodata instead of .rodata */
	unsigned lead; /* STUB: number of zeros before the blob, so that a file begins at a page;
		       * less than a page */
	const char
		*register_fn; /* system library: function that registers name and address; NULL */
	const char *note;     /* text of the package note (elf/note.h) on ELF; NULL */
};

/* mpk_csource_store - write the source to a file
 * Returns  MPK_OK; MPK_E_IO; MPK_E_NOMEM */
enum mpk_code mpk_csource_store(const struct mpk_csource *c, const char *path,
				struct mpk_error *err) MPK_MUST_CHECK;

/* One run of mpk_emit, shared by the files of this folder
 *
 * library.c makes libraries from objects, and inserts the blob into files that tools made. emit.c
 * makes the objects and archives and chooses the kind of output. */

/* How the blob gets into its object and into the library. A blob of MPK_LARGE_BYTES or more is not
 * passed through compiler and linker. */
enum mpk_strategy {
	MPK_STRATEGY_NONE,          /* there is no blob */
	MPK_STRATEGY_FULL,          /* the object contains the whole blob */
	MPK_STRATEGY_EXTEND_OBJECT, /* the object contains a stub and is then extended to the blob */
	MPK_STRATEGY_EXTEND_LIBRARY, /* the object contains a stub in .lrodata, and the linked
				      * library is extended to the blob */
};

/* A file made by a tool, and the new file made from it. Zero-initialise; close in every case. */
struct mpk_build_file {
	struct mpk_mapping map;
	struct mpk_private data;  /* bytes of the tool's file, which may be patched */
	struct mpk_rope rope;     /* bytes of the new file */
	struct mpk_packed packed; /* the new file with its blob and note */
};

struct mpk_build {
	const struct mpk_emit *e;
	struct mpk_compilation c; /* its tools are e->tools */
	enum mpk_strategy strategy;
	bool lrodata;            /* the blob symbol is in .lrodata */
	const char *symbol;      /* symbol of the blob, with its prefix */
	const char *register_fn; /* NULL if there is none */
	const char *note;        /* text of the package note for the blob's object; NULL: none */
	uint8_t digest[MPK_DIGEST_BYTES]; /* XXH128 of the blob; zeros until known */
	uint8_t id[MPK_BUILD_ID_BYTES];   /* objects for the linker */
	const char *blob_object;          /* path; NULL without blob */
	struct mpk_arena arena;           /* memory of the whole run */
	bool is_rebase;                   /* the output is a copy of e->base with another blob */
	const char *linked;               /* SO: path of the linker's output */
	bool is_extended;                 /* SO: the library is `extended` instead of `linked` */
	struct mpk_build_file extended;   /* SO: the linked library with its stub extended to the
					   * blob */
};

/* One kind of output; each is defined in the file that writes it. */
struct mpk_emitter {
	struct mpk_emit_name name;
	bool is_linked; /* it is made from objects of blob and sources, in a scratch folder */
	bool is_blob;   /* it contains only the blob, which must exist */
	/* links the objects; NULL: nothing is linked */
	enum mpk_code (*link)(struct mpk_build *b, struct mpk_error *err);
	enum mpk_code (*write)(struct mpk_build *b, struct mpk_error *err); /* writes to e->out */
	/* writes a copy of e->base with another blob; NULL: this kind cannot have a base */
	enum mpk_code (*rebase)(struct mpk_build *b, struct mpk_error *err);
};

extern const struct mpk_emitter mpk_emitter_so;                 /* library.c */
extern const struct mpk_emitter mpk_emitter_c;                  /* csource.c */
extern const struct mpk_emitter mpk_emitter_a, mpk_emitter_tar; /* objects.c */

/* The functions below fail with MPK_E_TOOL (a compiler or linker failed), MPK_E_IO, MPK_E_NOMEM, or
 * as described for mpk_emit_make. */

/* --- request.c ------------------------------------------------------------------ */

#define MPK_HANDOVER_NONE UINT64_MAX /* no text; a piece outside of any file */

/* --- csource.c ------------------------------------------------------------------- */

/* mpk_build_blob - prepare the job that makes the blob's object, and set its path and note
 * Returns  MPK_OK; MPK_E_RANGE: the package's name is too long for the note */
enum mpk_code mpk_build_blob(struct mpk_build *b, struct mpk_job *job,
			     struct mpk_error *err) MPK_MUST_CHECK;

/* --- library.c ------------------------------------------------------------------- */

/* mpk_build_write - write a file with a renewed package note to path, completely or not at all;
 * does nothing in a dry run */
enum mpk_code mpk_build_write(struct mpk_build *b, const char *path, unsigned mode,
			      const struct mpk_packed *s, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_build_file_open - open a file without changing it
 * mpk_build_file_extend - open a file and extend its stub to the blob
 * Returns  also the errors of mpk_elf_extend */
enum mpk_code mpk_build_file_open(struct mpk_build *b, const char *path, struct mpk_build_file *out,
				  struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_build_file_extend(struct mpk_build *b, const char *path,
				    struct mpk_build_file *out,
				    struct mpk_error *err) MPK_MUST_CHECK;
void mpk_build_file_close(struct mpk_build_file *f);

#endif
