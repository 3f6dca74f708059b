/* SPDX-License-Identifier: Apache-2.0 */
/* info.h - what code says about itself, read once for all callers
 *
 * Parts that every format may have are here in one form; what only one format has is in content,
 * for the functions of its row. */
#ifndef MPK_CODE_INFO_H
#define MPK_CODE_INFO_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/report.h"
#include "base/span.h"
#include "code/format.h"
#include "kernels/kernels.h"
#include "sourcecode/sourcecode.h"

/* --- names in order, to be searched: code may have thousands of kernels ------------------- */

struct mpk_names_item;

struct mpk_names {
	const struct mpk_names_item *items;
	size_t count;
};

/* mpk_names_of - sort the names that rows begin with
 * @rows    count structures of stride bytes, each with a struct mpk_span at its beginning
 * @out     in arena; the names are borrowed
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_names_of(const void *rows, size_t stride, size_t count, struct mpk_arena *arena,
			   struct mpk_names *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_names_find - whether there is such a name; *row is the first row that has it
 * @row     may be NULL; untouched when there is none */
bool mpk_names_find(const struct mpk_names *names, struct mpk_span name, size_t *row);

/* --- a run of code ------------------------------------------------------------------------ */

struct mpk_code_symbol;
struct mpk_image_kernel;

struct mpk_code_kernel {
	struct mpk_span name;
	size_t param_count;
	bool hides_params;    /* parameters are unknown: param_count is 0 */
	struct mpk_span text; /* its definition, where the code is text and has it; else empty */
	uint64_t code_bytes;  /* bytes of machine code, where the format has_code_bytes */
	struct mpk_span code; /* that code; empty: the format does not separate it */
	struct mpk_span
		condition; /* source: the line that decides whether a compiler reads it, "#ifdef
			    * NAME"; empty: none */
	bool has_variants; /* another condition defines a kernel of this name, too */
	uint32_t block[3]; /* the only block size that it runs with; zeros: any */
	uint32_t max_threads[3]; /* its product is the most threads of a block; zeros: no bound */
	uint32_t barriers;       /* most threads of a block; 0: none, or unknown */
	uint32_t wavefront;      /* AMD: lanes of a wave; 0: the format does not tell */
	bool wgp_mode; /* AMD: a block may use both compute units of a work group processor */
};

/* The text of a source as a whole, for questions about its kernels. */
struct mpk_code_source {
	struct mpk_source_code_index index;
	/* The symbols that a compiler gives to the kernels, as hashes: symbols may be longer
	 * than the text. Made at the first look-up. */
	const struct mpk_code_symbol *symbols;
	size_t symbol_count;
	bool has_symbols;
	/* The parameter that was read last, the param_count-th of its kernel, and where the next
	 * begins. */
	size_t kernel, param_count, at;
	struct mpk_span param;
};

struct mpk_code_info {
	struct mpk_span bytes;
	uint64_t off; /* offset of bytes in the blob */

	const struct mpk_code_format *format; /* NULL: not read, such as LTO IR */
	bool presumed;                        /* a text in an unknown language, read as its module
					       * claims */
	const struct mpk_error *problem;      /* why it is unreadable, or NULL; everything below is
					       * empty then */

	/* What the format's read function fills, where it exists. */
	const void *content;
	struct mpk_code_source *source; /* source text, also of an unreadable one; else NULL */
	struct mpk_span debug_ptx; /* of a cubin with debug information: the PTX that it was made
					 * of, a NUL ends each line; else empty */
	char target[40];           /* "sm_90a", "gfx90a:xnack+"; empty: none named */
	unsigned sm;               /* CUDA: 90 for sm_90 */
	unsigned pointer_bytes;    /* bytes of a pointer in a launch; 8 unless set */
	const struct mpk_code_kernel *kernels; /* in file order */
	size_t kernel_count;
	const struct mpk_span
		*definitions; /* source: the texts of all kernels in it, in file order, including
			       * repeated ones */
	size_t definition_count;
	const struct mpk_span *functions; /* functions that no driver can launch, such as a .func */
	size_t function_count;
	bool complete;                      /* the list of kernels is complete */
	const struct mpk_code_info *images; /* images in the same container: a fatbin's */
	size_t image_count;
	const struct mpk_code_info *main_image; /* the image that lists the kernels, which are the
						 * same in all; NULL: none does, or one is broken */

	struct mpk_names kernel_names, function_names; /* made from the lists above */
	const struct mpk_image_kernel *image_kernels;  /* kernels of all images, by name */
	size_t image_kernel_count;
};

enum mpk_code_defines {
	MPK_CODE_DEFINED,  /* a kernel of it */
	MPK_CODE_FUNCTION, /* a function that no driver can launch */
	MPK_CODE_POSSIBLE, /* the format has no list, or the source's macros may make it */
	MPK_CODE_MISSING,  /* certainly not one of its kernels */
};

/* mpk_code_info_read - recognise a run of code and read it
 * @bytes   borrowed: names and lists are views of them
 * @off     of bytes in the blob, or 0
 * @claimed what its module says it is; decides for texts that could be in any language; or NULL
 * @arena   receives what the readers make
 * Returns  MPK_OK, also for code that does not read: its problem says why; MPK_E_NOMEM */
enum mpk_code mpk_code_info_read(struct mpk_span bytes, uint64_t off,
				 const struct mpk_code_format *claimed, struct mpk_arena *arena,
				 struct mpk_code_info *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_code_info_read_as - the same for a format that is known; out->bytes and off are set */
enum mpk_code mpk_code_info_read_as(const struct mpk_code_format *f, struct mpk_arena *arena,
				    struct mpk_code_info *out,
				    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_code_info_add_kernels - for read functions: room for count kernels, zeroed, which info has
 * from then on
 * Returns  what to fill; NULL: memory is out */
struct mpk_code_kernel *mpk_code_info_add_kernels(struct mpk_code_info *info, size_t count,
						  struct mpk_arena *arena);

/* mpk_code_info_unplace - the same problem without its offset, which counts in what was unpacked: nobody
 * can look there
 * @info    has a problem
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_code_info_unplace(struct mpk_code_info *info, struct mpk_arena *arena,
				    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_code_info_problem - why the code or one of its images does not read, or NULL */
const struct mpk_error *mpk_code_info_problem(const struct mpk_code_info *info);

/* mpk_code_info_lister - whose kernels and functions are those of the code: itself, or its main
 * image; NULL: nobody can tell */
const struct mpk_code_info *mpk_code_info_lister(const struct mpk_code_info *info);

/* mpk_code_info_defines - whether the code has a kernel of this name */
enum mpk_code_defines mpk_code_info_defines(const struct mpk_code_info *info, struct mpk_span name);

/* mpk_code_info_find - the index of a kernel of the code itself; of several with one name the
 * first. A source's kernels are also found under the symbols that a compiler of C++ gives them.
 * Returns  whether there is one; the kernels of images are asked of each image */
bool mpk_code_info_find(const struct mpk_code_info *info, struct mpk_span name, size_t *kernel);

/* mpk_code_info_each - call fn for a kernel of the code itself, as mpk_code_info_find finds it, then for that of each
 * image that has one, in their order
 * @fn      kernel is an index into code->kernels */
void mpk_code_info_each(const struct mpk_code_info *info, struct mpk_span name,
			void (*fn)(const struct mpk_code_info *code, size_t kernel, void *arg),
			void *arg);

/* --- where the verify functions of code formats put what they find --- */

struct mpk_code_verify {
	struct mpk_report *report;
	const char *file;     /* as the user named it */
	const char *path;     /* path of the module in the tree */
	const char *space;    /* what offsets count in; NULL: "blob" */
	struct mpk_span kind; /* kind of the module: decides what a runtime looks for */
	const char *check;    /* check name of the findings */
	bool is_for_linker;   /* the section is read by a linker of GPU code, and by no driver */
};

/* mpk_code_say - report a finding
 * @off     where in the blob, or in v->space, bytes */
void mpk_code_say(const struct mpk_code_verify *v, enum mpk_severity severity, uint64_t off,
		  const char *fmt, ...) MPK_PRINTF(4, 5);

/* mpk_code_say_problem - report as an error why code does not read
 * @info    has a problem
 * @what    is in front: "image 0: ", or "" */
void mpk_code_say_problem(const struct mpk_code_verify *v, const struct mpk_code_info *info,
			  const char *what);

/* --- what a kernel takes, as far as its code tells ----------------------------------------
 *
 * Sources tell all of it, PTX sizes and types of registers, machine code sizes alone; symbols of C++
 * carry the types that PTX and machine code lack. */

enum mpk_code_param_kind {
	MPK_CODE_PARAM_UNKNOWN, /* only its size is known, if that: an address or a number */
	MPK_CODE_PARAM_BUFFER,
	MPK_CODE_PARAM_IMAGE,
	MPK_CODE_PARAM_NUMBER,
	MPK_CODE_PARAM_LOCAL, /* memory of a work-group, which no runtime passes */
	MPK_CODE_PARAM_VALUE, /* a struct or a vector by value, which no runtime passes */
};

struct mpk_code_param {
	enum mpk_code_param_kind kind;
	struct mpk_span name;   /* empty: a person gave it no name */
	struct mpk_dtype dtype; /* type of the number or of a buffer's elements; 0 bits: unknown;
				 * for UNKNOWN the most frequent type */
	bool read_only;         /* a buffer or image that the kernel does not write */
	uint64_t bytes;         /* bytes in a launch; 0: unknown */
	uint64_t least_bytes;   /* a value: it has at least this many bytes; 0: unknown */
	bool holds_address;     /* a value: it can only be an address, which a launch passes */
	struct mpk_span text;   /* its declaration; empty: the code has none */
	const char *refused; /* the part of its type that makes OpenCL C refuse the whole text; or
			       * NULL */
};

/* mpk_code_info_params - the parameters of a kernel, kernels[kernel].param_count of them
 * @info    that lists the kernel (mpk_code_info_lister)
 * @arena   receives the list; names are views of the code
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_code_info_params(const struct mpk_code_info *info, size_t kernel,
				   struct mpk_arena *arena, const struct mpk_code_param **out,
				   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_code_info_argument - the type under which a table lists a parameter: "handle", a number's
 * Returns  false when no table can: it is none that a runtime passes, or nothing is known */
bool mpk_code_info_argument(const struct mpk_code_param *p, struct mpk_dtype *out);

#endif
