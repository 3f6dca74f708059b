/* format.h - which code format a file is in, and which kernels it has (internal) */
#ifndef MPK_PACKAGE_FORMAT_H
#define MPK_PACKAGE_FORMAT_H

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"

struct mpk_code_format {
	const char *name;        /* as in `format` */
	const char *what;        /* "PTX text", for messages */
	const char *suffixes[3]; /* ".ptx"; NULL ends */
	/* Whether the bytes can be it; NULL: any bytes can. */
	bool (*fits)(struct mpk_span bytes);
	/* Lists the kernels; NULL: the bytes do not tell. exact: a kernel that is not in the
	 * list is not in the file; else names may still come from macros. */
	bool (*list)(struct mpk_span bytes, struct mpk_arena *arena, struct mpk_span **names,
		     size_t *count);
	bool exact;
	const char *unlisted;    /* what is wrong with a name that is only mentioned; NULL: nothing */
};

/* mpk_code_format_find - the row of a format by name, or NULL */
const struct mpk_code_format *mpk_code_format_find(const char *name);

/* mpk_code_format_guess - of the formats (NULL ends, at most max) the one that the file's
 * suffix names, else the first that its bytes fit
 * Returns  NULL when none fits */
const struct mpk_code_format *mpk_code_format_guess(const char *const *formats, size_t max,
						    const char *path, struct mpk_span bytes);

/* mpk_list_* - the kernels of a file: the symbols in its order, each once or more
 * @names   receives views into bytes, the array in arena
 * Returns  false when memory is out or bytes do not parse */
bool mpk_list_ptx(struct mpk_span bytes, struct mpk_arena *arena, struct mpk_span **names,
		  size_t *count);
bool mpk_list_cubin(struct mpk_span bytes, struct mpk_arena *arena, struct mpk_span **names,
		    size_t *count);
bool mpk_list_spirv(struct mpk_span bytes, struct mpk_arena *arena, struct mpk_span **names,
		    size_t *count);
bool mpk_list_opencl(struct mpk_span bytes, struct mpk_arena *arena, struct mpk_span **names,
		     size_t *count);
bool mpk_list_metal(struct mpk_span bytes, struct mpk_arena *arena, struct mpk_span **names,
		    size_t *count);
bool mpk_list_wgsl(struct mpk_span bytes, struct mpk_arena *arena, struct mpk_span **names,
		   size_t *count);

/* mpk_text_has_word - whether an identifier stands anywhere in a source text */
bool mpk_text_has_word(struct mpk_span text, struct mpk_span word);

#endif
