/* SPDX-License-Identifier: Apache-2.0 */
/* sourcecode.h - kernels as source text: OpenCL C, Metal, WGSL, CUDA C++ (FORMAT.md) */
#ifndef MPK_FORMATS_SOURCECODE_SOURCECODE_H
#define MPK_FORMATS_SOURCECODE_SOURCECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"
#include "base/strbuf.h"
#include "base/strmap.h"
#include "dtype/dtype.h"

/* --- words, macros and types of a source ----------------------------------------------------
 *
 * They are needed for each kernel and each parameter. Each list is made at its first use, in one
 * pass over the text; most texts never need one. */

enum mpk_source_code_list {
	MPK_SOURCE_CODE_WORDS,     /* names outside of comments, also in the lines of macros */
	MPK_SOURCE_CODE_MACROS,    /* names that a "#define" defines */
	MPK_SOURCE_CODE_TYPEDEFS,  /* possible typedef names: all words of a typedef outside of
				    * braces */
	MPK_SOURCE_CODE_CLASSES,   /* structs, classes and unions */
	MPK_SOURCE_CODE_CONSTANTS, /* names of "#define" and "#undef" lines, with their numbers */
	MPK_SOURCE_CODE_LISTS,
};

struct mpk_source_code_words;
struct mpk_source_code_types; /* in types.c */

/* Words of a text. Set bytes and arena, and zero the other fields. The text is borrowed. */
struct mpk_source_code_index {
	struct mpk_span bytes;
	struct mpk_arena *arena; /* receives the lists, which are freed with it */
	const struct mpk_source_code_words *lists[MPK_SOURCE_CODE_LISTS];
	const struct mpk_source_code_types *types; /* NULL: not made yet */
	bool has_directives;                       /* the following fields are set */
	bool defines, pastes;                      /* a "#define" has a value; one has "##" in it */
	bool includes, quotes; /* there is an "#include"; there is one with quotes */
};

/* mpk_source_code_index_has - whether a word is in a list of the text
 * Returns  true also when memory is out, since all lists mean "may be" except that of classes,
 *          which then is empty */
bool mpk_source_code_index_has(struct mpk_source_code_index *index, enum mpk_source_code_list list,
			       struct mpk_span word);

/* mpk_source_code_constant - the value of a number, "64" or "64u", or of a word that the text
 * defines once, under no condition, as such a number
 * Returns  false for any other word, or when memory is out */
bool mpk_source_code_constant(struct mpk_source_code_index *index, struct mpk_span word,
			      uint32_t *out);

/* mpk_source_code_may_hold - whether a text in any language may define a kernel of this name
 * Returns  false if the name is nowhere outside of comments, and the text neither joins names with
 *          ## nor includes a file in quotes; true also for names that C++ makes
 * mpk_source_code_may_define - as mpk_source_code_may_hold for a text in which the reader found no
 * such kernel: false also if the text has no macros that could define one */
bool mpk_source_code_may_hold(struct mpk_source_code_index *index, struct mpk_span name);
bool mpk_source_code_may_define(struct mpk_source_code_index *index, struct mpk_span name);

/* --- kernels of a source --------------------------------------------------------------------- */

enum mpk_source_code_language {
	MPK_SOURCE_CODE_OPENCL,
	MPK_SOURCE_CODE_METAL,
	MPK_SOURCE_CODE_WGSL,
	MPK_SOURCE_CODE_CUDA,
};

enum { MPK_SOURCE_CODE_SCOPES = 4 };

/* A definition of a kernel; declarations without a body are left out. */
struct mpk_source_code_kernel {
	struct mpk_span name;
	struct mpk_span params; /* the text between the parentheses */
	size_t param_count;
	uint32_t line;          /* line of the name, from 1 */
	uint32_t group[3];      /* @workgroup_size, reqd_work_group_size; an omitted number is 1;
				 * zeros: not given, or not as numbers */
	uint32_t max_threads;   /* __launch_bounds__; 0: not given, or not as a number */
	bool hides_group;       /* group is given, but not by numbers */
	bool hides_max_threads; /* max_threads is given, but not by a number */
	struct mpk_span body;   /* from the end of the parameters to the end of the definition */
	struct mpk_span text; /* the definition without changes, from its first word or attribute */
	/* The innermost line that decides whether the kernel is compiled, "#ifdef NAME"; empty: none that
	 * the text itself does not decide. */
	struct mpk_span condition;

	/* CUDA C++: what its symbol depends on. */
	bool extern_c;                                  /* the name itself is the symbol */
	bool is_template, is_static;                    /* a template has no symbol, a static kernel
							 * has one that other files cannot use */
	struct mpk_span scopes[MPK_SOURCE_CODE_SCOPES]; /* names of the namespaces around it, the
							 * outermost first */
	size_t scope_count; /* larger than MPK_SOURCE_CODE_SCOPES: too many namespaces, or one
			     * without a name */
};

struct mpk_source_code {
	const struct mpk_source_code_kernel *kernels; /* in file order */
	size_t kernel_count;
	/* The text that was read, of the same length: comments and groups that are not compiled are blanks
	 * (plain.c). All views but "text" of a kernel are views of it. */
	struct mpk_span plain;
};

/* One of several programs in an OpenCL or Metal text that TVM wrote. */
struct mpk_source_code_piece {
	struct mpk_span name; /* the name after "// Function: " */
	struct mpk_span text; /* from the line after it up to the next delimiter */
	size_t off;           /* offset of text in the whole text, in bytes */
};

#define MPK_SOURCE_CODE_DELIMITER "// Function: "
#define MPK_SOURCE_CODE_NVRTC "// nvrtc_options:"

/* mpk_source_code_read - list the kernels that a text defines
 * @bytes   the text; NULs at its end do not count; borrowed
 * @arena   receives the list and the plain text, which names and parameters are views of
 * Returns  MPK_OK, also for a text without kernels; MPK_E_SYNTAX with line and column (a comment or
 *          a kernel's parentheses without end); MPK_E_CORRUPT with the offset in "payload" (a NUL
 *          inside the text); MPK_E_NOMEM.
 *          Nothing is preprocessed: a kernel that a macro defines is not found.
 * Format   FORMAT.md 1 */
enum mpk_code mpk_source_code_read(struct mpk_span bytes, enum mpk_source_code_language language,
				   struct mpk_arena *arena, struct mpk_source_code *out,
				   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_source_code_next_param - the text of the parameter at *at, which is moved to the next one;
 * begin with 0
 * Returns  false after the last one
 * mpk_source_code_param - the text of parameter i, from 0; empty if there is none */
bool mpk_source_code_next_param(const struct mpk_source_code_kernel *kernel, size_t *at,
				struct mpk_span *out);
struct mpk_span mpk_source_code_param(const struct mpk_source_code_kernel *kernel, size_t i);

enum mpk_source_code_param_kind {
	MPK_SOURCE_CODE_BUFFER, /* a pointer, except to the memory of a work-group */
	MPK_SOURCE_CODE_IMAGE,
	MPK_SOURCE_CODE_LOCAL, /* a pointer to the memory of a work-group */
	MPK_SOURCE_CODE_NUMBER,
	MPK_SOURCE_CODE_VALUE, /* passed by value and not a number: a struct, a vector, a sampler */
	MPK_SOURCE_CODE_UNKNOWN, /* not known from its words and the text */
};

struct mpk_source_code_param {
	enum mpk_source_code_param_kind kind;
	struct mpk_span name;       /* empty: none */
	struct mpk_span class_name; /* name of its type, if the language does not define it; may be
				 * empty */
	struct mpk_dtype dtype;     /* type of the number, or of the elements behind one pointer; 0
				 * bits: not known */
	unsigned pointers;          /* number of '*' */
	bool is_global;             /* OpenCL: its own words say that it points to global memory */
	bool read_only;             /* the kernel does not write the memory that it points to */
	/* The type for which OpenCL C refuses the parameter (OpenCL C 6.11), and with it the whole text:
	 * "size_t", ..., "a pointer to pointers"; NULL: none, as far as the words show. */
	const char *refused;
};

/* mpk_source_code_param_read - read the declaration of a parameter by its words. Macros and
 * typedefs are not resolved (mpk_source_code_resolve), so kind is never UNKNOWN: a word that the
 * language does not define is a value. */
void mpk_source_code_param_read(struct mpk_span param, struct mpk_source_code_param *out);

/* A parameter after typedefs, records and macros of the text have been resolved. */
struct mpk_source_code_resolved {
	enum mpk_source_code_param_kind kind;
	struct mpk_dtype dtype; /* as in mpk_source_code_param */
	bool read_only;
	/* For a value: its least size in bytes, 0: not known; and whether it may consist of an address
	 * only, so that a number of 8 bytes can be passed for it. */
	uint64_t least_bytes;
	bool holds_address;
	const char *refused; /* as in mpk_source_code_param */
};

/* mpk_source_code_resolve - resolve the type of a parameter
 * Returns  false when memory is out; kind is UNKNOWN then */
bool mpk_source_code_resolve(struct mpk_span param, enum mpk_source_code_language language,
			     struct mpk_source_code_index *index,
			     struct mpk_source_code_resolved *out);

/* mpk_source_code_param_is_made - whether one of its words is a macro or a typedef of the text */
bool mpk_source_code_param_is_made(struct mpk_span param, struct mpk_source_code_index *index);

/* Which elements the threads of a kernel touch, as far as plain forms of its text show. */
struct mpk_source_code_reach {
	/* For x, y and z: the index of the parameter that a thread's index is compared with, as in "if (i <
	 * n)"; SIZE_MAX: none, or several. */
	size_t bound[3];
	bool guarded; /* a value computed from the index is compared with a parameter */
	/* For each parameter: it is used; it is used otherwise than as "x[i]" with the index along x; it is
	 * used in a comparison or a subscript. */
	bool *used, *otherwise, *reaches;
	/* Arrays in the memory of a work-group: whether there are any; their smallest extent; whether an
	 * extent is not a number. */
	bool group_memory;
	uint32_t group_extent;
	bool hides_group_memory;
};

/* mpk_source_code_reach_read - read the body of a kernel
 * @index   words of its text, to find macros
 * @arena   receives the lists
 * Returns  MPK_OK; MPK_E_NOMEM. A body of more than 256 KiB is not read. */
enum mpk_code mpk_source_code_reach_read(const struct mpk_source_code_kernel *kernel,
					 struct mpk_source_code_index *index,
					 struct mpk_arena *arena, struct mpk_source_code_reach *out,
					 struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_source_code_includes - the first file in quotes that the text includes, which a run-time
 * compiler cannot find; empty: none */
struct mpk_span mpk_source_code_includes(struct mpk_span bytes);

/* mpk_source_code_symbol - append the symbol that CUDA C++ compilers give a kernel
 * @index   words of its text, to find classes
 * Returns  false, with out unchanged, if the words of the text do not determine it: a template, a
 *          static kernel, a typedef or a class in a namespace among its parameters */
bool mpk_source_code_symbol(const struct mpk_source_code_kernel *kernel,
			    struct mpk_source_code_index *index, struct mpk_strbuf *out);

/* mpk_source_code_split - split a text at its delimiters, as TVM's loader does
 * Text before the first delimiter belongs to no piece. If two pieces have one name, both are
 * listed; the loader uses the first.
 * @arena   receives the list; names and texts are views of bytes
 * @count   0 if there is no delimiter
 * Returns  MPK_OK; MPK_E_NOMEM
 * Format   FORMAT.md 2 */
enum mpk_code mpk_source_code_split(struct mpk_span bytes, struct mpk_arena *arena,
				    const struct mpk_source_code_piece **pieces, size_t *count,
				    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_source_code_drop_copies - list each kernel once, for a text with a program for each kernel,
 * most of which define all kernels: the kernel in the program of its name, which a loader uses;
 * else the first
 * @bytes   the text that s was read from
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_source_code_drop_copies(struct mpk_source_code *s, struct mpk_span bytes,
					  struct mpk_arena *arena,
					  struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_source_code_mentions - whether a word is in the text, outside of comments
 * @as_value  the word is a type, and must not be followed by '*' */
bool mpk_source_code_mentions(struct mpk_span bytes, const char *word, bool as_value);

/* mpk_source_code_mentions_any - whether one of many words is in the text */
bool mpk_source_code_mentions_any(struct mpk_span bytes, const struct mpk_strmap *words);

/* mpk_source_code_nvrtc - the options that a CUDA C++ text has for the run-time compiler: the words
 * after "// nvrtc_options:" in its first line
 * @words   receives at most MPK_SOURCE_CODE_NVRTC_MAX, views of bytes
 * @count   0 if there is no such line
 * Returns  false if there are more, or one does not begin with '-'
 * Format   FORMAT.md 3 */
enum { MPK_SOURCE_CODE_NVRTC_MAX = 32 };
bool mpk_source_code_nvrtc(struct mpk_span bytes, struct mpk_span words[MPK_SOURCE_CODE_NVRTC_MAX],
			   size_t *count);

/* mpk_source_code_language_name - "OpenCL C", "Metal", "WGSL", "CUDA C++" */
const char *mpk_source_code_language_name(enum mpk_source_code_language language);

#endif
