/* SPDX-License-Identifier: Apache-2.0 */
/* differ.h - one difference between two files, and the list of differences while it grows
 *
 * All comparisons of --diff, such as those of kernels, functions and parts of payloads, add to one
 * list, in the words that --diff prints. */
#ifndef MPK_COMPARE_DIFFER_H
#define MPK_COMPARE_DIFFER_H

#include "base/arena.h"
#include "base/strbuf.h"
#include "code/show.h"
#include "code/work.h"
#include "tensor/tensor.h"

enum mpk_diff_sign { MPK_DIFF_REMOVED, MPK_DIFF_ADDED, MPK_DIFF_CHANGED };

/* One figure of a kernel in both files. */
struct mpk_figure_change {
	enum mpk_figure figure;
	struct mpk_figure_value before, after;
};

/* Instruction counts of a kernel in both files, for the whole kernel or for a source line; work[i]
 * is set only if is_there[i]. */
struct mpk_work_change {
	/* last part of the source's path, since releases are built in different folders */
	const char *file;
	uint32_t line;    /* 0 for the whole kernel */
	bool is_there[2]; /* in the older file, in the newer file */
	struct mpk_work work[2];
};

struct mpk_tensor_diff; /* defined in compare.h */

struct mpk_difference {
	enum mpk_diff_sign sign;
	/* tree path in the older file, or in the newer file if only that has the thing; "" for the
	 * library itself */
	const char *path;
	const char
		*new_path; /* path of the changed module in the newer file if it moved; else "" */
	const char *what;  /* "function", "module", "kernel", "part", ...; static storage */
	struct mpk_span name; /* name of the thing; may be empty */
	const char *text;     /* how it changed, "4 B -> 8 B"; "" for removed and added things */
	const char *lines;    /* hunks in unified format; "" if there is no comparison by lines */
	const char *target;   /* kernels only: "sm_90"; "" if the code names no target */
	const struct mpk_figure_change *figures; /* kernels only: the figures that changed */
	size_t figure_count;
	/* kernels whose instructions are counted in both files and differ: first the whole kernel,
	 * then source lines, largest change first */
	const struct mpk_work_change *work; /* NULL if there is none */
	size_t work_count;
	const struct mpk_tensor_diff
		*elements; /* tensors whose elements were compared; else NULL */
	bool same_code;    /* the bytes differ, but the code in them is the same */
	/* disassembly can show the change (disasm/changes.h): of a kernel, an image, a host
	 * function, or the code below */
	bool other_code;
	const struct mpk_code_info *older_code,
		*newer_code; /* parts without kernels only; else NULL */
	size_t copy;         /* kernels only: copy number as in struct mpk_listed_kernel */
	bool has_bytes; /* older_bytes and newer_bytes are known; a file without the thing has 0 */
	uint64_t older_bytes, newer_bytes;
};

/* One of the two files, as the summary names it. */
struct mpk_diff_side {
	const char *name;
	uint64_t bytes, blob_bytes; /* blob_bytes is 0 if there is no blob */
	/* digest of its code if only code was compared (digest/digest.h); else NULL */
	const uint8_t *code_digest;
};

struct mpk_diff {
	struct mpk_diff_side older, newer;
	struct mpk_difference *items;
	size_t count, cap;
	bool of_weights;
	size_t equal_tensors; /* of two files of weights: equal tensors among those that both have */
	/* lines of added, of removed and of changed things that the text has; 0: no limit. The text has
	 * hunks only as far as there is room for them in three times as many lines. */
	size_t lines_most;
	/* reason why some kernels have no hunks of instructions; NULL if all have them */
	const char *no_instructions;
	bool failed;
};

/* Limit for all hunks of a comparison together, in bytes. Beyond it, only numbers of lines are
 * given. */
#define MPK_DIFF_LINES_MAX ((size_t)4 << 20)

struct mpk_differ {
	struct mpk_diff *diff;
	struct mpk_arena *arena;
	const char *path;     /* path of the module being compared; "" for the library */
	const char *new_path; /* its path in the newer file if it moved; else "" */
	size_t lines_left;    /* bytes that hunks may still use */
	/* bytes of machine code that may still be compared: a bound, since kernels of a hostile
	 * file may share their code */
	uint64_t code_left;
};

/* A kind of named thing: two lists of such things are matched by name, then compared. */
struct mpk_diff_thing {
	const char *what;
	size_t bytes; /* bytes of one item in the lists */
	/* NULL if the item holds its name as a struct mpk_span */
	struct mpk_span (*name)(const void *item);
	size_t name_at; /* offset of that struct in the item */
	/* Adds the changes between two items with equal names; NULL if such items cannot differ. */
	void (*compare)(struct mpk_differ *d, struct mpk_span name, const void *a, const void *b);
	uint64_t (*bytes_of)(const void *item); /* bytes of an item; NULL if unknown */
	bool is_place;     /* its name is a path, under which its contents are listed */
	bool only_matched; /* items in only one list are reported elsewhere */
};

/* mpk_differ_match - add removed and added items, and call compare for the others; if several have
 * one name, only the first counts */
void mpk_differ_match(struct mpk_differ *d, const struct mpk_diff_thing *t, const void *a,
		      size_t a_count, const void *b, size_t b_count);

/* mpk_differ_add - add a difference at the differ's current path
 * @text    in the arena or static; NULL means that memory ran out, which the list remembers
 * Returns  the difference, which the caller may fill further until the next one is added; NULL:
 *          memory is out */
struct mpk_difference *mpk_differ_add(struct mpk_differ *d, enum mpk_diff_sign sign,
				      const char *what, struct mpk_span name, const char *text);

/* mpk_differ_note_bytes - store the size of a thing in both files
 * @d       may be NULL, as when memory is out */
static inline void mpk_differ_note_bytes(struct mpk_difference *d, uint64_t older, uint64_t newer)
{
	if (!d)
		return;
	d->has_bytes = true;
	d->older_bytes = older;
	d->newer_bytes = newer;
}

/* mpk_differ_change - add a changed thing with a formatted text
 * Returns  as mpk_differ_add */
struct mpk_difference *mpk_differ_change(struct mpk_differ *d, const char *what,
					 struct mpk_span name, const char *fmt, ...)
	MPK_PRINTF(4, 5);

/* mpk_differ_take - copy the text of buf to the arena and empty buf
 * Returns  NULL if memory is out */
const char *mpk_differ_take(struct mpk_differ *d, struct mpk_strbuf *buf);

/* mpk_differ_words - add a change "ffi -> legacy" if two words differ */
void mpk_differ_words(struct mpk_differ *d, const char *what, const char *a, const char *b);

/* mpk_differ_texts - add a change if two texts differ; frees both
 * Returns  whether they differ */
bool mpk_differ_texts(struct mpk_differ *d, const char *what, struct mpk_span name,
		      struct mpk_strbuf *a, struct mpk_strbuf *b);

/* mpk_differ_lines - add a change of two texts, with hunks
 * @unit    word for a line: "line", "instruction" */
void mpk_differ_lines(struct mpk_differ *d, const char *what, struct mpk_span name,
		      const char *unit, struct mpk_span a, struct mpk_span b);

/* mpk_differ_tensors - add a change of two tensors with one name if their values differ */
void mpk_differ_tensors(struct mpk_differ *d, struct mpk_span name,
			const struct mpk_tensor_record *a, const struct mpk_tensor_record *b);

/* mpk_differ_add_tensor - add a tensor change whose extent is already known; frees text */
void mpk_differ_add_tensor(struct mpk_differ *d, struct mpk_span name,
			   const struct mpk_tensor_diff *found, struct mpk_strbuf *text);

/* mpk_differ_put_type - append "f32[2, 3]", or "f32[]" for a scalar, in the syntax of --run */
void mpk_differ_put_type(struct mpk_dtype dtype, const int64_t *shape, size_t ndim,
			 struct mpk_strbuf *out);

/* mpk_differ_content - add a change if two runs of bytes differ: with hunks if both are texts, else
 * as mpk_differ_bytes */
void mpk_differ_content(struct mpk_differ *d, const char *what, struct mpk_span name,
			struct mpk_span a, struct mpk_span b);

/* mpk_differ_bytes - add a change of binary data: both lengths, or the number of bytes that
 * differ */
struct mpk_difference *mpk_differ_bytes(struct mpk_differ *d, const char *what,
					struct mpk_span name, struct mpk_span a, struct mpk_span b);

#endif
