/* SPDX-License-Identifier: Apache-2.0 */
/* info.h - what code contains, read once for all callers
 *
 * Fields that any format may have are here; those of one format only are in content, for the
 * functions of its row. */
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

/* --- sorted names: code may have thousands of kernels ------------------- */

struct mpk_names_item;

struct mpk_names {
	const struct mpk_names_item *items;
	size_t count;
};

/* mpk_names_of - sort the names at the beginning of structures
 * @rows    count structures of stride bytes, each with a struct mpk_span at its beginning
 * @out     in arena; the names are borrowed
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_names_of(const void *rows, size_t stride, size_t count, struct mpk_arena *arena,
			   struct mpk_names *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_names_find - find a name; *row receives the index of the first structure that has it
 * @row     may be NULL; untouched if there is none */
bool mpk_names_find(const struct mpk_names *names, struct mpk_span name, size_t *row);

/* --- code and its kernels ----------------------------------------------------------------------- */

struct mpk_code_symbol;
struct mpk_image_kernel;

struct mpk_code_kernel {
	struct mpk_span name;
	size_t param_count;
	bool hides_params;    /* the code does not show parameters; param_count is 0 */
	struct mpk_span text; /* text of the definition, if the code is a text and contains it; else
			       * empty */
	uint64_t code_bytes;  /* bytes of machine code; 0 unless the format has_code_bytes */
	struct mpk_span code; /* that machine code; empty: the format does not separate it */
	struct mpk_span
		condition; /* source: the line that decides whether the kernel is compiled, "#ifdef
			    * NAME"; empty: none */
	bool has_variants; /* the source has another kernel of this name, under another condition */
	uint32_t block[3]; /* the only block size that the kernel runs with; zeros: any */
	uint32_t max_threads[3]; /* launch bound: the product is the most threads of a block; zeros:
				  * none */
	uint32_t barriers;       /* most threads of a block; 0: none, or unknown */
	uint32_t wavefront;      /* AMD: lanes of a wave; 0: not known */
	bool wgp_mode; /* AMD: a block may use both compute units of a work group processor */
};

/* The text of a source, kept for questions about its kernels. */
struct mpk_code_source {
	struct mpk_source_code_index index;
	/* Hashes of the symbols that a compiler gives to the kernels (a symbol may be longer than the
	 * text), made at the first look-up. */
	const struct mpk_code_symbol *symbols;
	size_t symbol_count;
	bool has_symbols;
	/* The parameter that was read last: parameter param_count of kernel `kernel`, and the offset of the
	 * next one. */
	size_t kernel, param_count, at;
	struct mpk_span param;
};

struct mpk_code_info {
	struct mpk_span bytes;
	uint64_t off; /* offset of bytes in the blob */

	const struct mpk_code_format *format; /* NULL: not read, such as LTO IR */
	bool presumed;                        /* a text in an unknown language, read as the language
					       * that its module names */
	const struct mpk_error *problem;      /* why the code does not read; NULL: it reads. If set,
					       * all fields below are empty */

	/* Set by the format's read function, if it has one. */
	const void *content;
	struct mpk_code_source *source; /* source text, even if it does not read; else NULL */
	struct mpk_span debug_ptx; /* the PTX that a cubin with debug information was made from,
				    * with a NUL after each line; else empty */
	char target[40];           /* "sm_90a", "gfx90a:xnack+"; empty: none */
	unsigned sm;               /* CUDA: 90 for sm_90 */
	unsigned pointer_bytes;    /* bytes of a pointer in a launch; 8 unless the format sets it */
	const struct mpk_code_kernel *kernels; /* in file order */
	size_t kernel_count;
	const struct mpk_span
		*definitions; /* source: the texts of all kernels in file order, including repeated
			       * ones */
	size_t definition_count;
	const struct mpk_span *functions; /* functions that no driver can launch, such as a .func of
					   * PTX */
	size_t function_count;
	bool complete;                      /* the code has no kernels but those listed */
	const struct mpk_code_info *images; /* the images in a container, such as a fatbin */
	size_t image_count;
	const struct mpk_code_info *main_image; /* the image whose kernels are listed, since all
						 * have the same; NULL: none is, or an image is
						 * broken */

	struct mpk_names kernel_names, function_names; /* made from kernels and functions */
	const struct mpk_image_kernel *image_kernels;  /* kernels of all images, sorted by name */
	size_t image_kernel_count;
};

enum mpk_code_defines {
	MPK_CODE_DEFINED,  /* a kernel of the code */
	MPK_CODE_FUNCTION, /* a function that no driver can launch */
	MPK_CODE_POSSIBLE, /* perhaps: the format has no list, or macros of the source may define it */
	MPK_CODE_MISSING, /* certainly not a kernel of the code */
};

/* mpk_code_info_read - recognise the format of code, and read it
 * @bytes   borrowed: names and lists are views of them
 * @off     offset of bytes in the blob, or 0
 * @claimed the format that its module names, which decides for texts that may be in any language;
 *          or NULL
 * @arena   receives everything that is allocated
 * Returns  MPK_OK, also for code that does not read: then out->problem says why; MPK_E_NOMEM */
enum mpk_code mpk_code_info_read(struct mpk_span bytes, uint64_t off,
				 const struct mpk_code_format *claimed, struct mpk_arena *arena,
				 struct mpk_code_info *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_code_info_read_as - read code in a known format; out->bytes and off are set */
enum mpk_code mpk_code_info_read_as(const struct mpk_code_format *f, struct mpk_arena *arena,
				    struct mpk_code_info *out,
				    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_code_info_add_kernels - for read functions: give info count kernels, zeroed
 * Returns  the kernels, to be filled; NULL: memory is out */
struct mpk_code_kernel *mpk_code_info_add_kernels(struct mpk_code_info *info, size_t count,
						  struct mpk_arena *arena);

/* mpk_code_info_unplace - remove the offset from a problem, if it counts in decompressed bytes,
 * which users cannot see
 * @info    has a problem
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_code_info_unplace(struct mpk_code_info *info, struct mpk_arena *arena,
				    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_code_info_problem - why the code, or one of its images, does not read; NULL: all read */
const struct mpk_error *mpk_code_info_problem(const struct mpk_code_info *info);

/* mpk_code_info_lister - the info that has the kernels and functions of the code: itself, or its
 * main image; NULL: not known */
const struct mpk_code_info *mpk_code_info_lister(const struct mpk_code_info *info);

/* mpk_code_info_defines - whether the code has a kernel of this name */
enum mpk_code_defines mpk_code_info_defines(const struct mpk_code_info *info, struct mpk_span name);

/* mpk_code_info_find - find a kernel of the code itself; of several with one name the first.
 * Kernels of a source are also found by the symbols that a C++ compiler gives them.
 * Returns  whether there is one; kernels of images are not searched */
bool mpk_code_info_find(const struct mpk_code_info *info, struct mpk_span name, size_t *kernel);

/* mpk_code_info_each - call fn for the kernel of a name in the code itself, as mpk_code_info_find
 * finds it, then for that of each image, in their order
 * @fn      kernel is an index into code->kernels */
void mpk_code_info_each(const struct mpk_code_info *info, struct mpk_span name,
			void (*fn)(const struct mpk_code_info *code, size_t kernel, void *arg),
			void *arg);

/* --- where verify functions of code formats report --- */

struct mpk_code_verify {
	struct mpk_report *report;
	const char *file;     /* as the user named it */
	const char *path;     /* path of the module in the tree */
	const char *space;    /* space in which offsets count; NULL: "blob" */
	struct mpk_span kind; /* kind of the module, which decides what a runtime looks for */
	const char *check;    /* check name of the findings */
	bool is_for_linker;   /* a linker of GPU code reads the section, and no driver does */
};

/* mpk_code_say - report a finding
 * @off     offset in the blob, or in v->space, in bytes */
void mpk_code_say(const struct mpk_code_verify *v, enum mpk_severity severity, uint64_t off,
		  const char *fmt, ...) MPK_PRINTF(4, 5);

/* mpk_code_say_problem - report an error: why code does not read
 * @info    has a problem
 * @what    text before the problem: "image 0: ", or "" */
void mpk_code_say_problem(const struct mpk_code_verify *v, const struct mpk_code_info *info,
			  const char *what);

/* --- parameters of a kernel, as far as the code shows them
 * ----------------------------------------
 *
 * A source shows everything, PTX the sizes and types of registers, machine code only sizes. The
 * symbols of C++ kernels have the types that PTX and machine code lack. */

enum mpk_code_param_kind {
	MPK_CODE_PARAM_UNKNOWN, /* an address or a number; at most its size is known */
	MPK_CODE_PARAM_BUFFER,
	MPK_CODE_PARAM_IMAGE,
	MPK_CODE_PARAM_NUMBER,
	MPK_CODE_PARAM_LOCAL, /* memory of a work-group, which runtimes do not pass */
	MPK_CODE_PARAM_VALUE, /* a struct or a vector by value, which runtimes do not pass */
};

struct mpk_code_param {
	enum mpk_code_param_kind kind;
	struct mpk_span name;   /* empty: no name, or one that a compiler made */
	struct mpk_dtype dtype; /* type of the number or of a buffer's elements; 0 bits: not known.
				 * For UNKNOWN the most likely type */
	bool read_only;         /* a buffer or image that the kernel does not write */
	uint64_t bytes;         /* bytes in a launch; 0: not known */
	uint64_t least_bytes;   /* for a value: its least number of bytes; 0: not known */
	bool holds_address;     /* for a value: it may be an address */
	struct mpk_span text;   /* its declaration; empty: the code has none */
	const char *refused; /* the part of its type for which OpenCL C refuses the whole text; or
			      * NULL */
};

/* mpk_code_info_params - list the parameters of a kernel: kernels[kernel].param_count of them
 * @info    has the kernel (mpk_code_info_lister)
 * @arena   receives the list; names are views of the code
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_code_info_params(const struct mpk_code_info *info, size_t kernel,
				   struct mpk_arena *arena, const struct mpk_code_param **out,
				   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_code_info_argument - the type that a kernel table lists for a parameter: "handle", or that of
 * a number
 * Returns  false if runtimes cannot pass the parameter, or nothing is known of it */
bool mpk_code_info_argument(const struct mpk_code_param *p, struct mpk_dtype *out);

#endif
