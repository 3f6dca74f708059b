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

/* --- what is anywhere in the text of a source: words, macros, types -------------------------
 *
 * Readers ask for each kernel and each parameter. Each list is made when it is first asked for, in one pass
 * over the text; most texts are never asked. */

enum mpk_source_code_list {
	MPK_SOURCE_CODE_WORDS,     /* names outside of comments, also in the lines of macros */
	MPK_SOURCE_CODE_MACROS,    /* what a "#define" makes */
	MPK_SOURCE_CODE_TYPEDEFS,  /* possible typedef names: all words of a typedef outside of
				    * braces */
	MPK_SOURCE_CODE_CLASSES,   /* structs, classes and unions */
	MPK_SOURCE_CODE_CONSTANTS, /* names of "#define" and "#undef" lines, with their numbers */
	MPK_SOURCE_CODE_LISTS,
};

struct mpk_source_code_words;
struct mpk_source_code_types; /* types.c */

/* Set bytes and arena, with zeros after them. The text is borrowed. */
struct mpk_source_code_index {
	struct mpk_span bytes;
	struct mpk_arena *arena; /* receives the lists, which are freed with it */
	const struct mpk_source_code_words *lists[MPK_SOURCE_CODE_LISTS];
	const struct mpk_source_code_types *types; /* NULL: not listed yet */
	bool has_directives;                       /* what follows is known */
	bool defines, pastes;  /* a "#define" with something after it; one with "##" */
	bool includes, quotes; /* an "#include"; one of a file in quotes */
};

/* mpk_source_code_index_has - whether a word is in a list of the text
 * Returns  true also when memory is out: nobody can tell then. Answers are "may" everywhere but for classes,
 *          of which there are none then. */
bool mpk_source_code_index_has(struct mpk_source_code_index *index, enum mpk_source_code_list list,
			       struct mpk_span word);

/* mpk_source_code_constant - a number as it is, "64" or "64u", or a word that the text defines once, under no
 * condition, as such a number
 * Returns  false when the word is anything else, or memory is out */
bool mpk_source_code_constant(struct mpk_source_code_index *index, struct mpk_span word,
			      uint32_t *out);

/* mpk_source_code_may_hold - whether a kernel of this name may be in a text of any language
 * Returns  false when the text names it nowhere outside of comments, joins no names with
 *          ## and includes no file of its own; true also for names that C++ makes
 * mpk_source_code_may_define - the same for a text in which the reader found no such kernel: false
 * also when there are no macros, that could make one */
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

/* One definition; declarations without a body are left out. */
struct mpk_source_code_kernel {
	struct mpk_span name;
	struct mpk_span params; /* the text between the parentheses */
	size_t param_count;
	uint32_t line;          /* line of the name, from 1 */
	uint32_t group[3];      /* @workgroup_size, reqd_work_group_size; zeros: not given
				    * or not as numbers; 1 where left out */
	uint32_t max_threads;   /* __launch_bounds__; 0: not given, or not as a number */
	bool hides_group;       /* group is given, but by words that only a preprocessor knows */
	bool hides_max_threads; /* as max_threads */
	struct mpk_span body;   /* from after the parameters to the end of the definition */
	struct mpk_span text;   /* the definition as it is, from its first word or attribute */
	/* "#ifdef NAME": the innermost line that decides whether a compiler reads it; empty: none that the
	 * text leaves open */
	struct mpk_span condition;

	/* CUDA C++: what decides about its symbol. */
	bool extern_c;                                  /* the name itself is the symbol */
	bool is_template, is_static;                    /* no symbol, or one local to this file */
	struct mpk_span scopes[MPK_SOURCE_CODE_SCOPES]; /* namespaces, the outermost first */
	size_t scope_count; /* more than MPK_SOURCE_CODE_SCOPES: too many to list, or one without a name */
};

struct mpk_source_code {
	const struct mpk_source_code_kernel *kernels; /* in file order */
	size_t kernel_count;
	/* The text as it was read: as long, with blanks in place of comments and of groups that no compiler
	 * reads (plain.c). All views but "text" of a kernel are of it. */
	struct mpk_span plain;
};

/* One program of an OpenCL or Metal text that TVM wrote. */
struct mpk_source_code_piece {
	struct mpk_span name; /* what follows "// Function: " */
	struct mpk_span text; /* from the next line up to the next delimiter */
	size_t off;           /* of text in the whole, bytes */
};

#define MPK_SOURCE_CODE_DELIMITER "// Function: "
#define MPK_SOURCE_CODE_NVRTC "// nvrtc_options:"

/* mpk_source_code_read - find the kernels that a text defines
 * @bytes   the text; NULs at its end do not count; borrowed
 * @arena   receives the list and the plain text, which names and parameters are views of
 * Returns  MPK_OK, also for a text without kernels; MPK_E_SYNTAX with line and column
 *          (a comment or a kernel's parentheses without end); MPK_E_CORRUPT with the
 *          offset in "payload" (a NUL inside the text); MPK_E_NOMEM.
 *          Nothing is preprocessed: a kernel that a macro makes is not found.
 * Format   FORMAT.md 1 */
enum mpk_code mpk_source_code_read(struct mpk_span bytes, enum mpk_source_code_language language,
				   struct mpk_arena *arena, struct mpk_source_code *out,
				   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_source_code_next_param - the text of the parameter that begins at *at, which is moved to the next one;
 * 0 for the first
 * Returns  false when there is none
 * mpk_source_code_param - the text of parameter i, counted from the first one; empty when there is none */
bool mpk_source_code_next_param(const struct mpk_source_code_kernel *kernel, size_t *at,
				struct mpk_span *out);
struct mpk_span mpk_source_code_param(const struct mpk_source_code_kernel *kernel, size_t i);

enum mpk_source_code_param_kind {
	MPK_SOURCE_CODE_BUFFER, /* a pointer, except with LOCAL */
	MPK_SOURCE_CODE_IMAGE,
	MPK_SOURCE_CODE_LOCAL, /* a pointer to the memory of a work-group */
	MPK_SOURCE_CODE_NUMBER,
	MPK_SOURCE_CODE_VALUE, /* passed by value and not a number: a struct, a vector, a sampler */
	MPK_SOURCE_CODE_UNKNOWN, /* unknown from its words and the text */
};

struct mpk_source_code_param {
	enum mpk_source_code_param_kind kind;
	struct mpk_span name; /* empty: it has none */
	struct mpk_span
		class_name;     /* name of a type that is not the language's own; may be empty */
	struct mpk_dtype dtype; /* of the number, or of what one pointer leads to; 0 bits: its words
				     * do not tell */
	unsigned pointers;      /* how many '*' */
	bool is_global;         /* OpenCL: its own words say that it points to global memory */
	bool read_only;         /* the kernel does not write the memory it points to */
	/* The type that OpenCL C refuses as a parameter's (OpenCL C 6.11), and with it the whole text: "size_t",
	 * ..., "a pointer to pointers"; NULL: it does not, as far as the words tell. */
	const char *refused;
};

/* mpk_source_code_param_read - a parameter's declaration, as far as its words tell; what a macro or a
 * typedef makes of them is not asked (mpk_source_code_resolve). Kind is none of UNKNOWN: a word that is not the
 * language's is a value. */
void mpk_source_code_param_read(struct mpk_span param, struct mpk_source_code_param *out);

/* What a parameter is once typedefs, records and macros of the text stand for what they are. */
struct mpk_source_code_resolved {
	enum mpk_source_code_param_kind kind;
	struct mpk_dtype dtype; /* as in mpk_source_code_param */
	bool read_only;
	/* Of a value: its least size in bytes, 0: not known; whether an address may be all that is in it,
	 * so that one that is passed as a number of 8 bytes gets there. */
	uint64_t least_bytes;
	bool holds_address;
	const char *refused; /* of OpenCL C; as in mpk_source_code_param */
};

/* mpk_source_code_resolve - what a parameter of a kernel in the text is
 * Returns  false when memory is out; kind is UNKNOWN then */
bool mpk_source_code_resolve(struct mpk_span param, enum mpk_source_code_language language,
			     struct mpk_source_code_index *index,
			     struct mpk_source_code_resolved *out);

/* mpk_source_code_param_is_made - whether the text makes one of its words by a macro or a typedef */
bool mpk_source_code_param_is_made(struct mpk_span param, struct mpk_source_code_index *index);

/* Which elements a kernel's threads touch, as far as the plain forms of its text tell. */
struct mpk_source_code_reach {
	/* Along x, y and z the parameter that a thread's index is compared with, as in "if (i < n)";
	 * SIZE_MAX: there is none, or several. */
	size_t bound[3];
	bool guarded; /* something computed from the index is compared with parameters */
	/* Of each parameter: it is mentioned; other than by its element at the index along x, as
	 * "x[i]"; in a comparison or in a subscript. */
	bool *used, *otherwise, *reaches;
	/* Arrays in the memory of a work-group: there are some; the smallest of their extents; one of
	 * them is no number. */
	bool group_memory;
	uint32_t group_extent;
	bool hides_group_memory;
};

/* mpk_source_code_reach_read - read the body of a kernel
 * @index   of the text it is in, where macros are looked for
 * @arena   receives the lists
 * Returns  MPK_OK; MPK_E_NOMEM. Of a body beyond 256 KiB nothing is said. */
enum mpk_code mpk_source_code_reach_read(const struct mpk_source_code_kernel *kernel,
					 struct mpk_source_code_index *index,
					 struct mpk_arena *arena, struct mpk_source_code_reach *out,
					 struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_source_code_includes - the first file in quotes that the text includes, which a compiler at run time
 * does not find; empty when there is none */
struct mpk_span mpk_source_code_includes(struct mpk_span bytes);

/* mpk_source_code_symbol - append the symbol that a compiler of CUDA C++ gives a kernel
 * @index   of the text it is in, where classes are looked for
 * Returns  false, with out as it was, when that takes more than this text's words: a template, a static
 *          kernel, a typedef or a class in a namespace among its parameters */
bool mpk_source_code_symbol(const struct mpk_source_code_kernel *kernel,
			    struct mpk_source_code_index *index, struct mpk_strbuf *out);

/* mpk_source_code_split - the pieces of a text with delimiters, as TVM's loader splits it
 * Text before the first delimiter belongs to no piece. Of two pieces with one name the
 * loader takes the first; both are listed.
 * @arena   receives the list; names and texts are views of bytes
 * @count   0 when there is no delimiter
 * Returns  MPK_OK; MPK_E_NOMEM
 * Format   FORMAT.md 2 */
enum mpk_code mpk_source_code_split(struct mpk_span bytes, struct mpk_arena *arena,
				    const struct mpk_source_code_piece **pieces, size_t *count,
				    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_source_code_drop_copies - list each kernel of a text once that has a program for each of them, of which
 * most hold all kernels: the one in the program of its name, which is what a loader takes; else the first
 * @bytes   the text that s was read from
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_source_code_drop_copies(struct mpk_source_code *s, struct mpk_span bytes,
					  struct mpk_arena *arena,
					  struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_source_code_mentions - whether a word is in the text, outside of comments
 * @as_value  of a type: where no '*' follows, so that values of it are there and not mere addresses */
bool mpk_source_code_mentions(struct mpk_span bytes, const char *word, bool as_value);

/* mpk_source_code_mentions_any - whether one of many words does */
bool mpk_source_code_mentions_any(struct mpk_span bytes, const struct mpk_strmap *words);

/* mpk_source_code_nvrtc - the options that CUDA C++ asks its run-time compiler for: the words after
 * "// nvrtc_options:" in the first line
 * @words   receives at most MPK_SOURCE_CODE_NVRTC_MAX, views of bytes
 * @count   0 when there is no such line
 * Returns  false when there are more, or one is no option: it does not begin with '-'
 * Format   FORMAT.md 3 */
enum { MPK_SOURCE_CODE_NVRTC_MAX = 32 };
bool mpk_source_code_nvrtc(struct mpk_span bytes, struct mpk_span words[MPK_SOURCE_CODE_NVRTC_MAX],
			   size_t *count);

/* mpk_source_code_language_name - "OpenCL C", "Metal", "WGSL", "CUDA C++" */
const char *mpk_source_code_language_name(enum mpk_source_code_language language);

#endif
