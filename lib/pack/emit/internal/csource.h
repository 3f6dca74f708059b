/* SPDX-License-Identifier: Apache-2.0 */
/* csource.h - a blob as C source */
#ifndef MPK_EMIT_INTERNAL_CSOURCE_H
#define MPK_EMIT_INTERNAL_CSOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/rope.h"

enum mpk_csource_form {
	MPK_CSOURCE_PLAIN,  /* the bytes as C: arrays when small, string literals when not */
	MPK_CSOURCE_INCBIN, /* file-scope assembly that includes a file: GNU C on ELF */
	MPK_CSOURCE_STUB,   /* MPK_STUB_BYTES of zeros, for elf/extend.h; GNU C on ELF, too */
};

/* Up to this many bytes an array is used, which every C and C++ compiler takes. A string
 * literal is 17 times faster to compile, but ISO C promises only 4095 characters. */
enum { MPK_CSOURCE_ARRAY_MAX = 16 * 1024 };

struct mpk_csource {
	enum mpk_csource_form form;
	const char *symbol;
	const struct mpk_rope *bytes; /* PLAIN */
	const char *file;             /* INCBIN: its path, as the assembler will open it */
	uint64_t size;                /* INCBIN: of the file, bytes */
	bool lrodata;                 /* STUB: in .lrodata, not .rodata */
	const char *register_fn;      /* system library: called with name and address; NULL */
	const char *note;             /* text of the note (elf/note.h), for ELF; NULL */
};

/* mpk_csource_store - write the source to a file
 * Returns  MPK_OK; MPK_E_IO; MPK_E_NOMEM */
enum mpk_code mpk_csource_store(const struct mpk_csource *c, const char *path,
				struct mpk_error *err) MPK_MUST_CHECK;

#endif
